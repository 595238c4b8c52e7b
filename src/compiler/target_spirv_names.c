// What SPIR-V says about its source, made fit for drivers and validators: the source language, and the names of structs.
#include "compiler/target.h"

// SPIR-V's OpSource says "Slang" as number 11, which older validators and drivers do not know: 0 is "unknown".
SPYI_FN void spyi_code_patch_source(uint32_t *words, size_t count) {
    if (count < 5 || words[0] != 0x07230203u) return;
    for (size_t i = 5; i < count;) {
        uint32_t op = words[i] & 0xffffu, length = words[i] >> 16;
        if (length == 0 || op == SPYI_OP_FUNCTION) return; // no OpSource behind it
        if (op == 3 && length >= 2 && i + 1 < count) words[i + 1] = 0;
        i += length;
    }
}

// Mesa 22.3 compares structs by name as well: OpCopyLogical between "X_natural" and "X_natural_logical", which Slang emits
// without its optimiser, fails there ("Type mismatch for SPIR-V SSA value"). Without names all structs are called the same.
SPYI_FN size_t spyi_code_drop_struct_names(uint32_t *words, size_t count) {
    if (!spyi_spirv_is_known(words, count)) return count;
    uint8_t *is_struct = (uint8_t *)spyi_calloc(words[3] + 1, 1);
    if (!is_struct) return count;
    size_t to = 5;
    for (int pass = 0; pass < 2; pass++) {
        for (size_t i = 5, length; i < count; i += length) {
            uint32_t op = words[i] & 0xffffu;
            length = spyi_spirv_length(words, count, i);
            if (length == 0) { // not SPIR-V as we know it: leave it alone
                free(is_struct);
                return count;
            }
            bool named = length >= 2 && words[i + 1] < words[3];
            if (pass == 0 && op == SPYI_OP_TYPE_STRUCT && named) is_struct[words[i + 1]] = 1;
            if (pass == 0 && op == SPYI_OP_FUNCTION) break;
            if (pass == 0 || (op == SPYI_OP_NAME && named && is_struct[words[i + 1]])) continue;
            memmove(words + to, words + i, length * sizeof *words);
            to += length;
        }
    }
    free(is_struct);
    return to;
}

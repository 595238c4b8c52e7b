// Changes what SPIR-V says about its source and older drivers and validators cannot read: the source
// language, and the names of structs.
#include "compiler/target.h"

SPYI_FN void spyi_code_patch_source(uint32_t *words, size_t count) {
    if (count < 5 || words[0] != 0x07230203u) return;
    for (spyi_spirv_at i = spyi_spirv_first(words, count); spyi_spirv_next(&i);) {
        if (i.op == SPYI_OP_FUNCTION) return; // OpSource stands before all functions
        if (i.op == SPYI_OP_SOURCE && i.length >= 2) words[i.at + 1] = 0;
    }
}

// Mesa 22.3 compares structs by name too. OpCopyLogical between "X_natural" and "X_natural_logical", which
// Slang emits without its optimiser, fails there ("Type mismatch for SPIR-V SSA value"). Structs without
// names are equal to it.
SPYI_FN size_t spyi_code_drop_struct_names(uint32_t *words, size_t count) {
    if (!spyi_spirv_is_known(words, count)) return count;
    uint8_t *is_struct = (uint8_t *)spyi_calloc(words[3] + 1, 1);
    if (!is_struct) return count;
    size_t to = 5;
    for (int pass = 0; pass < 2; pass++) {
        spyi_spirv_at i = spyi_spirv_first(words, count);
        while (spyi_spirv_next(&i)) {
            bool named = i.length >= 2 && i.w[1] < words[3];
            if (pass == 0 && i.op == SPYI_OP_TYPE_STRUCT && named) is_struct[i.w[1]] = 1;
            if (pass == 0 && i.op == SPYI_OP_FUNCTION) break;
            if (pass == 0 || (i.op == SPYI_OP_NAME && named && is_struct[i.w[1]])) continue;
            memmove(words + to, i.w, i.length * sizeof *words);
            to += i.length;
        }
        if (i.broken) { // damaged SPIR-V is left as it is
            free(is_struct);
            return count;
        }
    }
    free(is_struct);
    return to;
}

// Everything that depends on the target of the code that Slang makes: SPIR-V words (target_spirv*.c) or CUDA
// text (target_cuda*.c). The target's files read such code and repair it before a driver gets it; for CUDA
// the backend has the repairs (spyi_backend.mend). All other files use the target's table (spyi_code_target).
#ifndef SPYI_COMPILER_TARGET_H
#define SPYI_COMPILER_TARGET_H

#include "compiler/internal.h"

// >>the table of a target

// The state of a walk over an entry point's parameters, in order; all zero before the first one.
typedef struct spyi_sl_params {
    size_t end;
    bool moved; // an earlier parameter was an unsized array, so the offsets of reflection are wrong from here
                // on
} spyi_sl_params;

struct spyi_code_target {
    int32_t format;      // the code format of Slang's session, SPYI_SL_TARGET_*
    const char *profile; // Slang's profile of the target; NULL means that the target has none
    // Adds the target's compile options to a session's.
    void (*add_options)(const spy_compile_options *options, spyi_sl_option *out, uint32_t *count);
    spy_status (*check_options)(const spyi_unit *unit, spyi_text *notes, spyi_text *error);
    // Returns whether spirv-opt changes the unit's code; then mend() cannot repair its derivatives. Call it
    // inside a task.
    bool (*optimizes)(const spyi_unit *unit);
    bool (*has_derivative)(const void *code, size_t size);
    // Returns whether libslang can make code of the program; on false `messages` says why not.
    bool (*prepare)(spyi_unit *unit, spyi_sl_live *live, spyi_sl_component *linked, spyi_text *messages);
    // Repairs the code as it came from Slang. Behind its end there is space for SPYI_CODE_ROOM words.
    void (*mend)(const spyi_compiler *compiler, spyi_code *code, spyi_code_faults *faults);
    // Finds out which shader parameters the code uses, and gives them the bindings that backends expect.
    bool (*place)(spyi_code *code, const spyi_sl_binding *bindings, spyi_text *messages);
    // These functions say where variables lie in memory. size() returns the bytes of a variable. is_moved()
    // returns whether the fields of a struct have other offsets than reflection says; field() then returns
    // the byte offset of field `index` (`last` tells that unsized arrays come last). param() returns the byte
    // offset of the entry point's next parameter.
    size_t (*size)(spyi_unit *unit, spyi_sl_type_layout *layout);
    bool (*is_moved)(spyi_unit *unit, spyi_sl_type_layout *layout);
    size_t (*field)(spyi_unit *unit, spyi_sl_type_layout *layout, bool last, unsigned index);
    size_t (*param)(spyi_unit *unit, spyi_sl_variable_layout *param, spyi_sl_params *params);
};

// These tables are defined in target_spirv.c and target_cuda.c.
SPYI_FN const spyi_code_target *spyi_code_spirv(void);
SPYI_FN const spyi_code_target *spyi_code_cuda(void);

// The number of words by which place() may lengthen the code.
enum { SPYI_CODE_ROOM = 16 };

// >>SPIR-V: numbers of the operations that target_spirv*.c read
enum {
    SPYI_OP_SOURCE = 3,
    SPYI_OP_NAME = 5,
    SPYI_OP_EXT_INST = 12,
    SPYI_OP_CAPABILITY = 17,
    SPYI_OP_TYPE_INT = 21,
    SPYI_OP_TYPE_FLOAT = 22,
    SPYI_OP_TYPE_VECTOR = 23,
    SPYI_OP_TYPE_MATRIX = 24,
    SPYI_OP_TYPE_IMAGE = 25,
    SPYI_OP_TYPE_SAMPLER = 26,
    SPYI_OP_TYPE_SAMPLED_IMAGE = 27,
    SPYI_OP_TYPE_ARRAY = 28,
    SPYI_OP_TYPE_RUNTIME_ARRAY = 29,
    SPYI_OP_TYPE_STRUCT = 30,
    SPYI_OP_TYPE_POINTER = 32,
    SPYI_OP_TYPE_FUNCTION = 33,
    SPYI_OP_CONSTANT = 43,
    SPYI_OP_CONSTANT_COMPOSITE = 44,
    SPYI_OP_CONSTANT_NULL = 46,
    SPYI_OP_FUNCTION = 54,
    SPYI_OP_PARAMETER = 55,
    SPYI_OP_FUNCTION_END = 56,
    SPYI_OP_CALL = 57,
    SPYI_OP_VARIABLE = 59,
    SPYI_OP_TEXEL_POINTER = 60,
    SPYI_OP_LOAD = 61,
    SPYI_OP_STORE = 62,
    SPYI_OP_COPY_MEMORY = 63,
    SPYI_OP_ACCESS_CHAIN = 65,
    SPYI_OP_IN_BOUNDS_ACCESS_CHAIN = 66,
    SPYI_OP_DECORATE = 71,
    SPYI_OP_MEMBER_DECORATE = 72,
    SPYI_OP_SHUFFLE = 79,
    SPYI_OP_CONSTRUCT = 80,
    SPYI_OP_EXTRACT = 81,
    SPYI_OP_INSERT = 82,
    SPYI_OP_COPY_OBJECT = 83,
    SPYI_OP_ADD = 129,
    SPYI_OP_PHI = 245,
    SPYI_OP_LABEL = 248,
    SPYI_OP_BRANCH = 249,
    SPYI_OP_SWITCH = 251,
    SPYI_OP_RETURN = 254,
    SPYI_OP_COPY_LOGICAL = 400
};

// Returns whether the words begin as SPIR-V does and its bound of ids, words[3], is small enough for a table
// of all ids.
static inline bool spyi_spirv_is_known(const uint32_t *words, size_t count) {
    return count >= 5 && words[0] == 0x07230203u && words[3] <= count * 4;
}

static inline bool spyi_spirv_is_chain(uint32_t op) {
    return op == SPYI_OP_ACCESS_CHAIN || op == SPYI_OP_IN_BOUNDS_ACCESS_CHAIN;
}

// An iterator over instructions: for (spyi_spirv_at i = spyi_spirv_first(words, count); spyi_spirv_next(&i);)
typedef struct spyi_spirv_at {
    const uint32_t *words, *w; // `w` is the first word of the instruction
    size_t count, at;          // `at` is the number of the word `w`
    size_t length;             // the number of words of the instruction
    uint32_t op;
    bool broken; // the code is cut off or damaged, so the loop ended early
} spyi_spirv_at;

// Returns an iterator over the instructions from word `begin` to word `end`.
static inline spyi_spirv_at spyi_spirv_from(const uint32_t *words, size_t begin, size_t end) {
    spyi_spirv_at i;
    memset(&i, 0, sizeof i);
    i.words = words;
    i.count = end;
    i.at = begin;
    return i;
}

static inline spyi_spirv_at spyi_spirv_first(const uint32_t *words, size_t count) {
    return spyi_spirv_from(words, 5, count); // the header has five words
}

static inline bool spyi_spirv_next(spyi_spirv_at *i) {
    i->at += i->length;
    if (i->at >= i->count) return false;
    i->w = i->words + i->at;
    i->length = i->w[0] >> 16;
    i->op = i->w[0] & 0xffffu;
    i->broken = i->length == 0 || i->length > i->count - i->at;
    return !i->broken;
}

// spyi_spirv_op() returns the operation of the instruction at word `at`, or 0 when `at` is 0.
// spyi_spirv_word() returns word `n` of that instruction, or 0 when it is shorter.
static inline uint32_t spyi_spirv_op(const uint32_t *words, uint32_t at) {
    return at ? words[at] & 0xffffu : 0;
}
static inline uint32_t spyi_spirv_word(const uint32_t *words, uint32_t at, uint32_t n) {
    return n < words[at] >> 16 ? words[at + n] : 0;
}

// >>target_spirv_names.c

// Sets the source language in OpSource to 0, "unknown": older validators and drivers do not know Slang's
// number, 11.
SPYI_FN void spyi_code_patch_source(uint32_t *words, size_t count);
// Removes the names of structs, in place. Returns the new number of words.
SPYI_FN size_t spyi_code_drop_struct_names(uint32_t *words, size_t count);

// >>target_spirv_bindings.c

// Gives the bindings new numbers, in the code and in `inputs`, and records which inputs the code uses. On
// false `messages` says why not. The code may grow by SPYI_CODE_ROOM words.
SPYI_FN bool spyi_code_remap(uint32_t *words, size_t *count, spyi_inputs *inputs,
                             const spyi_sl_binding *bindings, spyi_text *messages);

// >>target_spirv_saved.c

// Corrects the indices by which the code finds values that it saved in nested loops for the derivative.
// Returns false when they may be wrong and the code is left as it was. `words` may be replaced by another
// block, with space for `room` words behind its end.
SPYI_FN bool spyi_code_order_saved(uint32_t **words, size_t *count, size_t room);

// >>target_spirv_additions.c

// Returns whether the code has a function that Slang made as a backward derivative, and its name.
SPYI_FN bool spyi_code_is_derivative(const uint32_t *words, size_t count);

// Turns the stores by which a derivative collects the gradients of an array's elements into additions.
// Returns false when such gradients may be wrong and the code is left as it was. `words` may be replaced by
// another block, with space for `room` words behind its end. The structs must still have their names.
SPYI_FN bool spyi_code_add_elements(uint32_t **words, size_t *count, size_t room);

// >>target_spirv_sparse.c

// Replaces sums of two arrays, one of which is zero but for one element, by the sum of that element. Works in
// place: the SPIR-V only becomes shorter.
SPYI_FN void spyi_code_sparse_sums(uint32_t *words, size_t *count);

// >>target_cuda_bindings.c

// Like spyi_code_remap() for CUDA text, where there are no bindings to number.
SPYI_FN bool spyi_code_read_text(const char *body, spyi_inputs *inputs, const spyi_sl_binding *bindings,
                                 spyi_text *messages);

// >>target_cuda_layout.c

// These functions are the members size, is_moved, field and param of CUDA's spyi_code_target.
SPYI_FN size_t spyi_sl_cuda_size(spyi_unit *unit, spyi_sl_type_layout *layout);
// Returns whether the layout is that of an unsized array, or of a struct that contains one.
SPYI_FN bool spyi_sl_has_unsized(spyi_unit *unit, spyi_sl_type_layout *layout);
SPYI_FN size_t spyi_sl_cuda_field(spyi_unit *unit, spyi_sl_type_layout *layout, bool last, unsigned index);
SPYI_FN size_t spyi_sl_cuda_param(spyi_unit *unit, spyi_sl_variable_layout *param, spyi_sl_params *params);

#endif // SPYI_COMPILER_TARGET_H

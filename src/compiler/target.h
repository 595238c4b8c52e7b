// Code that Slang has made, read and mended before a driver gets it: SPIR-V words in target_spirv*.c, CUDA text in
// target_cuda*.c. Nothing else of the library reads a target's own text, or knows what Slang does for one target alone; the
// others ask the target's table.
#ifndef SPYI_COMPILER_TARGET_H
#define SPYI_COMPILER_TARGET_H

#include "compiler/internal.h"

// >>names that Slang gives in both: those of the derivatives begin with the first. Structs with the second in their names hold
// values that do not depend on gradients. Functions with the third give a zero.
#define SPYI_ADDITION_BACKWARD "s_bwdProp_"
#define SPYI_ADDITION_CONTEXT "s_bwdCallableCtx_"
#define SPYI_ADDITION_ZERO "dzero"

// >>the table of a target

// Where an entry point's parameters lie, asked for one after another; all zero before the first.
typedef struct spyi_sl_params {
    size_t end;
    bool moved; // an unsized array came before
} spyi_sl_params;

// What mending could not put right.
typedef struct spyi_code_faults {
    bool saved;     // what is saved of nested loops of different length
    bool additions; // gradients of elements that are read at several indices
} spyi_code_faults;

struct spyi_code_target {
    int32_t format;      // of Slang's session
    const char *profile; // what Slang may use of the target; NULL: the target has no such names
    // Compile options: what a session is asked for beside what all targets are, and whether a module's can be had.
    void (*add_options)(const spy_compile_options *options, spyi_sl_option *out, uint32_t *count);
    spy_status (*check_options)(const spyi_unit *unit, spyi_text *notes, spyi_text *error);
    // Whether spirv-opt goes over the unit's code, which mend() could then not read where it has derivatives. Within a task.
    bool (*optimizes)(const spyi_unit *unit);
    bool (*has_derivative)(const void *code, size_t size);
    // Whether libslang can make code of the program; false: `messages` says why not.
    bool (*prepare)(spyi_unit *unit, spyi_sl_live *live, spyi_sl_component *linked, spyi_text *messages);
    // The code as it came from Slang, with SPYI_CODE_ROOM words of space behind its end, to what a backend takes.
    void (*mend)(spyi_code *code, spyi_code_faults *faults);
    // What the code uses of its shader parameters, and their bindings as backends want them.
    bool (*place)(spyi_code *code, const spyi_sl_binding *bindings, spyi_text *messages);
    // Where variables lie: bytes of one; whether a struct's fields lie elsewhere than reflection says, and then where field
    // number `index` does (`last`: unsized arrays come last); where an entry point's next parameter does.
    size_t (*size)(spyi_unit *unit, spyi_sl_type_layout *layout);
    bool (*is_moved)(spyi_unit *unit, spyi_sl_type_layout *layout);
    size_t (*field)(spyi_unit *unit, spyi_sl_type_layout *layout, bool last, unsigned index);
    size_t (*param)(spyi_unit *unit, spyi_sl_variable_layout *param, spyi_sl_params *params);
};

// target_spirv.c and target_cuda.c
SPYI_FN const spyi_code_target *spyi_code_spirv(void);
SPYI_FN const spyi_code_target *spyi_code_cuda(void);

// The code may grow by so many words when it is placed.
enum { SPYI_CODE_ROOM = 8 };

enum { SPYI_MOST_INDICES = 24 }; // of a value that is saved of nested loops

// >>SPIR-V: the operations that the files know
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
    SPYI_OP_TYPE_ARRAY = 28,
    SPYI_OP_TYPE_RUNTIME_ARRAY = 29,
    SPYI_OP_TYPE_STRUCT = 30,
    SPYI_OP_TYPE_POINTER = 32,
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

// Whether words are SPIR-V whose ids, all below words[3], can be kept in a table.
static inline bool spyi_spirv_is_known(const uint32_t *words, size_t count) {
    return count >= 5 && words[0] == 0x07230203u && words[3] <= count * 4;
}

static inline bool spyi_spirv_is_chain(uint32_t op) {
    return op == SPYI_OP_ACCESS_CHAIN || op == SPYI_OP_IN_BOUNDS_ACCESS_CHAIN;
}

// One instruction after another:
//     for (spyi_spirv_at i = spyi_spirv_first(words, count); spyi_spirv_next(&i);)
typedef struct spyi_spirv_at {
    const uint32_t *words, *w; // w: the instruction
    size_t count, at;          // at: word number of the instruction
    size_t length;             // its words
    uint32_t op;
    bool broken; // the code is not whole: the loop has ended early
} spyi_spirv_at;

// The instructions from word `begin` to word `end`.
static inline spyi_spirv_at spyi_spirv_from(const uint32_t *words, size_t begin, size_t end) {
    spyi_spirv_at i;
    memset(&i, 0, sizeof i);
    i.words = words;
    i.count = end;
    i.at = begin;
    return i;
}

static inline spyi_spirv_at spyi_spirv_first(const uint32_t *words, size_t count) {
    return spyi_spirv_from(words, 5, count); // behind the header
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

// The operation of the instruction at word `at`, and its word number `n`; `at` 0 is no instruction.
static inline uint32_t spyi_spirv_op(const uint32_t *words, uint32_t at) {
    return at ? words[at] & 0xffffu : 0;
}
static inline uint32_t spyi_spirv_word(const uint32_t *words, uint32_t at, uint32_t n) {
    return n < words[at] >> 16 ? words[at + n] : 0;
}

// >>target_spirv_names.c

// SPIR-V's OpSource says "Slang" as number 11, which older validators and drivers do not know: 0 is "unknown".
SPYI_FN void spyi_code_patch_source(uint32_t *words, size_t count);
// Takes the names of structs away, in place; the new number of words.
SPYI_FN size_t spyi_code_drop_struct_names(uint32_t *words, size_t count);

// >>target_spirv_bindings.c

// Numbers the bindings anew, in the code and in `inputs`, and tells what the code uses. false: `messages` says why not.
// The code may grow by SPYI_CODE_ROOM words.
SPYI_FN bool spyi_code_remap(uint32_t *words, size_t *count, spyi_inputs *inputs,
                             const spyi_sl_binding *bindings, spyi_text *messages);

// >>target_spirv_saved.c

// Puts the indices right by which the code finds what it saved of nested loops for the derivative. False: they may be wrong, and
// the code is as it was. `words` may become another block, with space for `room` words behind its end.
SPYI_FN bool spyi_code_order_saved(uint32_t **words, size_t *count, size_t room);

// >>target_spirv_additions.c

// Whether SPIR-V has functions that Slang made as backward derivatives, with their names.
SPYI_FN bool spyi_code_is_derivative(const uint32_t *words, size_t count);

// Makes additions of the stores by which a derivative gathers the gradients of an array's elements. False: they may be wrong, and the
// code is as it was. `words` may become another block, with space for `room` words behind its end. The structs have their names.
SPYI_FN bool spyi_code_add_elements(uint32_t **words, size_t *count, size_t room);

// >>target_spirv_sparse.c

// Sums of arrays of which one has one element become sums of that element. In place, as it makes SPIR-V shorter.
SPYI_FN void spyi_code_sparse_sums(uint32_t *words, size_t *count);

// >>target_cuda_bindings.c

// As spyi_code_remap(), for CUDA text: nothing has to be numbered anew there.
SPYI_FN bool spyi_code_read_text(const char *body, spyi_inputs *inputs, const spyi_sl_binding *bindings,
                                 spyi_text *messages);

// >>target_cuda_saved.c

// As spyi_code_order_saved(), for CUDA text.
SPYI_FN bool spyi_code_order_saved_text(char *body);

// >>target_cuda_additions.c

// As spyi_code_add_elements(), for CUDA text of `size` bytes with its NUL, which begins with `prelude` bytes that are no part of it.
SPYI_FN bool spyi_code_add_elements_text(char **text, size_t *size, size_t prelude);

// >>target_cuda_layout.c

// spyi_code_target's size, is_moved, field and param.
SPYI_FN size_t spyi_sl_cuda_size(spyi_unit *unit, spyi_sl_type_layout *layout);
// Whether a variable of that layout is an unsized array, or a struct that holds one.
SPYI_FN bool spyi_sl_has_unsized(spyi_unit *unit, spyi_sl_type_layout *layout);
SPYI_FN size_t spyi_sl_cuda_field(spyi_unit *unit, spyi_sl_type_layout *layout, bool last, unsigned index);
SPYI_FN size_t spyi_sl_cuda_param(spyi_unit *unit, spyi_sl_variable_layout *param, spyi_sl_params *params);

#endif // SPYI_COMPILER_TARGET_H

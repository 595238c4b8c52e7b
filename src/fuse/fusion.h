// A graph of calls while it is recorded: its steps, and the functions of src/fuse that work on them.
#ifndef SPYI_FUSION_H
#define SPYI_FUSION_H

#include "api/fuse.h"
#include "call/call.h"
#include "kinds/kinds.h"

typedef enum spyi_step_kind {
    SPYI_STEP_INPUT,    // a parameter of the fused function
    SPYI_STEP_CONSTANT, // a number, which the text repeats wherever it is used
    SPYI_STEP_CALL,     // a Slang function
    SPYI_STEP_OUT,      // the value that the call `operands[0]` left in its out parameter `name`
    SPYI_STEP_MAKE,     // a constructor, Type(...)
    SPYI_STEP_FIELDS,   // a struct, made field by field
    SPYI_STEP_OPERATOR, // an operator, or one of Slang's own functions
    SPYI_STEP_MEMBER    // a field or a swizzle
} spyi_step_kind;

// One parameter of the overload that a call has chosen. The names are copies, since a reload frees those of
// the function.
typedef struct spyi_step_param {
    char *name;
    const spyi_type *type;
    bool in, out, has_default;
    int32_t operand; // the number of the operand that feeds the parameter; -1 means that there is none
} spyi_step_param;

// How an operator is written, and which types it takes and gives.
typedef enum spyi_operator_form {
    SPYI_FORM_ARITHMETIC, // such as a + b
    SPYI_FORM_COMPARE,    // such as a < b, which gives a bool or a vector of bool
    SPYI_FORM_LOGIC,      // such as a && b, which is and(a, b) for vectors
    SPYI_FORM_BITS,       // such as a & b
    SPYI_FORM_SIGN,       // -a
    SPYI_FORM_NOT,        // !a
    SPYI_FORM_INVERT,     // ~a
    SPYI_FORM_INDEX,      // a[i]
    SPYI_FORM_CHOOSE,     // select(c, a, b)
    SPYI_FORM_NO_DIFF,    // detach(a)
    SPYI_FORM_BUILT_IN    // name(...)
} spyi_operator_form;

typedef struct spyi_fused_step {
    uint8_t kind;          // a spyi_step_kind
    uint8_t form;          // the spyi_operator_form of a SPYI_STEP_OPERATOR
    const spyi_type *type; // NULL means that the type is not known yet
    char *name;            // the name of the input, member, operator or type, depending on `kind`
    uint32_t *operands;    // the numbers of the steps that are operands
    char **names;          // the names of the operands; NULL means that no operand has a name
    uint32_t count;        // the number of operands
    // These members belong to a SPYI_STEP_CALL.
    spy_function *function;
    spyi_callee callee;
    char *spelling;
    spyi_step_param *params;
    uint32_t param_count;
    const spyi_type *result;
    bool no_diff; // the step's derivative is not taken
    // These members belong to a SPYI_STEP_CONSTANT.
    spy_dtype dtype;
    bool typed; // the number has a type; otherwise it takes the type of the other operand
    union {
        double f;
        int64_t i;
        uint64_t u;
    } value;
} spyi_fused_step;

typedef struct spyi_fused_output {
    char *name;
    uint32_t step;
} spyi_fused_output;

struct spy_fusion {
    spyi_object object;
    uint32_t number; // unique in the process
    char *name;
    spy_module **modules; // retained modules, in the order in which they are named
    uint32_t module_count;
    spyi_fused_step *steps; // steps[0] is not used, so that 0 means no step
    uint32_t count, capacity;
    spyi_fused_output *outputs;
    uint32_t output_count;
    spy_fuse_reduction reduction;
    spy_dims dims;
    spy_fuse_backward backward;
    bool failed; // a step has reported an error
    spy_fusion *previous, *next;
};

// >>types.c
// Finds all types of steps that follow from the types known so far. Returns false when a step is impossible,
// with the reason in `error`.
SPYI_FN bool spyi_fusion_settle(spy_fusion *g, spyi_text *error);
// Adds the module to those that the graph names and retains it. Returns false when out of memory.
SPYI_FN bool spyi_fusion_uses(spy_fusion *g, spy_module *module);
// Finds a type by its name in the modules of the graph. Returns NULL when there is none.
SPYI_FN const spyi_type *spyi_fusion_type(spy_fusion *g, const char *name);
SPYI_FN bool spyi_operator_find(const char *op, uint32_t count, spyi_operator_form *form);
// Writes how messages name a step: "input 'x'", "the result of tone_map".
SPYI_FN void spyi_step_text(const spy_fusion *g, uint32_t step, spyi_text *out);
SPYI_FN bool spyi_type_has_floats(const spyi_type *type);

// >>write.c
// Writes the module's text. With `differentiable` the function is marked [Differentiable].
SPYI_FN void spyi_fusion_write(const spy_fusion *g, const char *name, bool differentiable, spyi_text *out);

// Gives a struct by fields its type; false means that the fields are not those of the type.
SPYI_FN bool spyi_fields_given(spy_fusion *g, uint32_t step, const spyi_type *type, spyi_text *error);

// >>reduce.c
SPYI_FN const spyi_fused_table *spyi_reductions(void);

#endif // SPYI_FUSION_H

// Declarations for the files that list shader parameters: a walk through Slang's layout, and the list that it
// fills.
#ifndef SPYI_COMPILER_INPUTS_H
#define SPYI_COMPILER_INPUTS_H

#include "compiler/target.h"

enum { SPYI_SL_DEEPEST_INPUT = 16 };

// The position of a walk in Slang's layout.
typedef struct spyi_sl_at {
    size_t set, binding;           // the numbers of the next descriptor
    size_t offset;                 // byte offset in the uniform buffer
    size_t data_set, data_binding; // the numbers of the uniform buffer
    size_t data_size;              // the bytes of the uniform buffer
    uint32_t holder; // with rules->by_address: number of the uniform buffer, as in spyi_parameter_place
    bool parameter;
    size_t entry_set, entry_binding; // the numbers of the entry point's first parameter
    int depth;
} spyi_sl_at;

typedef struct spyi_sl_walk {
    spyi_unit *unit;
    spyi_sl_live *live;
    const spyi_sl_library *lib;
    spyi_inputs *inputs;
    spyi_sl_binding *bindings;
    uint32_t capacity;
    const spyi_rules *rules;
    const spyi_code_target *target;
    bool failed; // out of memory
} spyi_sl_walk;

// Appends an input and its binding, and returns the binding (inputs.c). Returns NULL when out of memory.
SPYI_FN spyi_sl_binding *spyi_sl_add_input(spyi_sl_walk *w, spyi_input_kind kind, const char *path,
                                           const spyi_type *type, const spyi_sl_at *at);
// With rules->by_address: appends a uniform buffer whose address lies at `at`, and moves `at` into it.
SPYI_FN void spyi_sl_add_uniform(spyi_sl_walk *w, spyi_sl_at *at, uint32_t holder, size_t size);
// input_walk.c: appends the inputs of a variable. The path "" stands for the variable that holds all globals.
SPYI_FN void spyi_sl_walk_input(spyi_sl_walk *w, spyi_sl_variable_layout *variable, const char *path,
                                spyi_sl_at at);

#endif // SPYI_COMPILER_INPUTS_H

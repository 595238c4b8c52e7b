// What the files that list shader parameters share: a walk through Slang's layout, and the list that it fills.
#ifndef SPYI_COMPILER_INPUTS_H
#define SPYI_COMPILER_INPUTS_H

#include "compiler/target.h"

enum { SPYI_SL_DEEPEST_INPUT = 16 };

// Where a walk stands.
typedef struct spyi_sl_at {
    size_t set, binding;           // of the next descriptor
    size_t offset;                 // bytes in the uniform buffer
    size_t data_set, data_binding; // of the uniform buffer
    size_t data_size;              // its bytes
    uint32_t holder; // where rules->by_address: number of the uniform buffer, as spyi_parameter_place has it
    bool parameter;
    size_t entry_set, entry_binding; // of the entry point's first parameter
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

// inputs.c: one more input, and its binding; NULL: out of memory.
SPYI_FN spyi_sl_binding *spyi_sl_add_input(spyi_sl_walk *w, spyi_input_kind kind, const char *path,
                                           const spyi_type *type, const spyi_sl_at *at);
// Where rules->by_address: one more uniform buffer, whose address lies where `at` stands.
SPYI_FN void spyi_sl_add_uniform(spyi_sl_walk *w, spyi_sl_at *at, uint32_t holder, size_t size);
// input_walk.c: the inputs of a variable. Path "": all globals.
SPYI_FN void spyi_sl_walk_input(spyi_sl_walk *w, spyi_sl_variable_layout *variable, const char *path,
                                spyi_sl_at at);

#endif // SPYI_COMPILER_INPUTS_H

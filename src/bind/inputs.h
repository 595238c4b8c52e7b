// Shader parameters: an input by its path, and the values that a call gives to inputs bound to them.
#ifndef SPYI_BIND_INPUTS_H
#define SPYI_BIND_INPUTS_H

#include "bind/bind.h"

// input_path.c
// A path's place among the inputs of a kernel or module.
typedef struct spyi_found {
    const spyi_input *input;
    const spyi_type *type;
    uint32_t offset;  // bytes in the uniform buffer
    uint32_t element; // of an unsized array, if
    bool part;        // it is one
} spyi_found;

// The input, or the part of its plain data, that the path names; `parameter`: of the entry point, else a global.
SPYI_FN bool spyi_find_input(const spyi_inputs *inputs, const char *path, bool parameter, spyi_found *found);
SPYI_FN bool spyi_is_parted(const spyi_type *type); // whether its parts follow as inputs of their own
// The error for a path that names none; `shown`: how the message names it.
SPYI_FN spy_status spyi_no_input(const spyi_inputs *inputs, const char *path, const char *shown,
                                 spyi_text *error);

// bind_input.c
// One leaf of a value for an input. Which kernel has it, and where, is not known yet.
typedef struct spyi_input_leaf {
    spyi_leaf leaf;   // its path is ours
    const char *root; // path of the input that the value is for, not ours
    uint32_t shown;   // so many characters of the leaf's path, which is for messages, stand for the root
    bool parameter;   // of the entry point, else a global
} spyi_input_leaf;

typedef struct spyi_input_leaves {
    spyi_input_leaf *items;
    uint32_t count, capacity;
} spyi_input_leaves;

// Adds the leaves of value number `index`, given to the input `root`, which messages call `shown`.
SPYI_FN spy_status spyi_bind_to_input(spy_function *function, const spyi_values *values, uint32_t index,
                                      const spyi_inputs *inputs, bool parameter, const char *root,
                                      const char *shown, spyi_input_leaves *leaves, spyi_text *error);
// Adds the leaves of all values of globals. `partial`: there may be more inputs than these, so unknown names are left out.
SPYI_FN spy_status spyi_bind_globals(spy_function *function, const spyi_values *values,
                                     const spyi_inputs *inputs, bool partial, spyi_input_leaves *leaves,
                                     spyi_text *error);
// Where a leaf is among the inputs. The text gets its path as they have it.
SPYI_FN bool spyi_find_leaf(const spyi_inputs *inputs, const spyi_input_leaf *leaf, spyi_text *path,
                            spyi_found *found);
SPYI_FN void spyi_input_leaves_free(spyi_input_leaves *leaves);

// globals.c
// What reflection knows of a call's globals before there is a kernel: whether the module has them, and what they take.
SPYI_FN spy_status spyi_globals_check(spy_function *function, const spyi_values *values, spyi_text *error);
// A line for each that is given, and for each that the module has besides.
SPYI_FN void spyi_globals_text(spy_function *function, const spyi_values *values, spyi_text *out);

#endif // SPYI_BIND_INPUTS_H

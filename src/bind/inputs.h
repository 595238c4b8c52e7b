// Inputs are the shader parameters of a kernel or module. These functions find an input by its path, and bind
// the values that a call gives to inputs.
#ifndef SPYI_BIND_INPUTS_H
#define SPYI_BIND_INPUTS_H

#include "bind/bind.h"

// input_path.c: the part of a kernel's or module's inputs that a path names.
typedef struct spyi_found {
    const spyi_input *input;
    const spyi_type *type;
    uint32_t offset;  // the offset of the part in the uniform buffer, in bytes
    uint32_t element; // the index of the element, if `part`
    bool part;        // the path names an element of an unsized array
} spyi_found;

// Finds the input, or the part of an input's plain data, that the path names. With `parameter` true it is a
// parameter of the entry point, otherwise a global. Returns false if there is none.
SPYI_FN bool spyi_find_input(const spyi_inputs *inputs, const char *path, bool parameter, spyi_found *found);
// Returns whether the parts of an input of this type follow it as inputs of their own.
SPYI_FN bool spyi_is_parted(const spyi_type *type);
// Writes and returns the error for a path that names no input. The message names the path as `shown`.
SPYI_FN spy_status spyi_no_input(const spyi_inputs *inputs, const char *path, const char *shown,
                                 spyi_text *error);

// bind_input.c: one leaf of a value for an input, before it is known where a kernel has that input.
typedef struct spyi_input_leaf {
    spyi_leaf leaf;   // leaf.path is owned
    const char *root; // the path of the value's input, borrowed
    uint32_t shown;   // leaf.path is for messages: its first `shown` characters stand for the root
    bool parameter;   // the input is a parameter of the entry point, otherwise a global
} spyi_input_leaf;

typedef struct spyi_input_leaves {
    spyi_input_leaf *items;
    uint32_t count, capacity;
} spyi_input_leaves;

// Adds the leaves of value number `index`, which is given for the input `root`. Messages call the input
// `shown`.
SPYI_FN spy_status spyi_bind_to_input(spy_function *function, const spyi_values *values, uint32_t index,
                                      const spyi_inputs *inputs, bool parameter, const char *root,
                                      const char *shown, spyi_input_leaves *leaves, spyi_text *error);
// Adds the leaves of all values of globals. With `partial`, `inputs` may be incomplete, and values for
// unknown names are left out.
SPYI_FN spy_status spyi_bind_globals(spy_function *function, const spyi_values *values,
                                     const spyi_inputs *inputs, bool partial, spyi_input_leaves *leaves,
                                     spyi_text *error);
// Finds the input of a leaf. `path` gets the path of the leaf in the inputs' spelling. Returns false if there
// is none.
SPYI_FN bool spyi_find_leaf(const spyi_inputs *inputs, const spyi_input_leaf *leaf, spyi_text *path,
                            spyi_found *found);
SPYI_FN void spyi_input_leaves_free(spyi_input_leaves *leaves);

// globals.c: checks a call's globals by reflection, before there is a kernel: the module must have them, and
// the values must fit.
SPYI_FN spy_status spyi_globals_check(spy_function *function, const spyi_values *values, spyi_text *error);
// Writes a line for each global that the call gives, and for each other global of the module.
SPYI_FN void spyi_globals_text(spy_function *function, const spyi_values *values, spyi_text *out);

#endif // SPYI_BIND_INPUTS_H

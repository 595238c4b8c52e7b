// A value describes one argument, or one field of an argument. Values lie in the order of the arguments, a
// struct before its fields.
#ifndef SPYI_VALUE_H
#define SPYI_VALUE_H

#include "data/device.h"

typedef struct spyi_value_kind spyi_value_kind;

typedef struct spyi_value {
    const spy_arg *arg; // the argument's data; NULL in the copies that compile threads use
    const char *name;   // NULL means that the argument is given by position
    uint8_t kind;       // a spy_arg_kind
    uint8_t direction;  // a spy_direction
    uint8_t rank;       // the rank of tensors, host arrays and custom values
    uint8_t map_count;
    bool whole;           // the argument was mapped by spy_vmap() without dimensions or by spy_map_value(),
                          // so all of it is one value
    bool one_value;       // the argument was mapped by spy_map_value(), so the call runs over it when no
                          // overload takes it as one value
    bool inherited;       // its mapping is that of the struct or pair that it is a part of
    uint8_t passed_count; // the number of dimensions of the mapping that its parts have inherited; 0 means
                          // none
    uint32_t child_count; // the number of fields of a struct, which follow
    // The bytes of a SPY_ARG_KIND_DATA, or of a SPY_ARG_KIND_RESULT that goes in. The kind of a
    // SPY_ARG_KIND_CUSTOM sets it, and it is in the key.
    uint32_t size;
    const int8_t *map;
    const char *cast;      // an explicit Slang type, or NULL
    const spyi_type *type; // the type of a number, or of the elements of a tensor or host array
    const int64_t *dims;   // the sizes; -1, in custom values only, means any size
    spy_tensor *tensor;
    const spyi_value_kind *custom; // the kind of a SPY_ARG_KIND_CUSTOM
    const spyi_type *texel;        // the type of a texture's texels; `type` is the texture's type
    // The objects to which a SPY_ARG_KIND_CUSTOM points, or NULL; NULL in the copies that compile threads
    // use.
    spyi_object *held[2];
    // The indices of the values of a tensor's gradients, in calls that look at gradients. These values lie
    // behind all arguments; 0 means that there is none.
    uint32_t grads[2];
} spyi_value;

// Returns the value's rank and sizes; the rank is 0 for values without dimensions.
SPYI_FN spy_shape spyi_value_shape(const spyi_value *value);
// Returns the index of the first value behind this one and its fields.
SPYI_FN uint32_t spyi_value_end(const spyi_value *values, uint32_t index);
// Writes the value for messages: "float3 tensor (480, 640)", "int number", "struct of 2 fields".
SPYI_FN void spyi_value_text(const spyi_value *value, spyi_text *out);

#endif // SPYI_VALUE_H

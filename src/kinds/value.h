// A value describes one argument, or one field of an argument. Values lie in the order of the arguments, a
// struct before its fields.
#ifndef SPYI_VALUE_H
#define SPYI_VALUE_H

#include "data/device.h"

typedef struct spyi_value_kind spyi_value_kind;

typedef struct spyi_value {
    const spy_arg *arg; // has the data; NULL in the copies that compile threads use
    const char *name;   // NULL means given by position
    uint8_t kind;       // spy_arg_kind
    uint8_t direction;  // spy_direction
    uint8_t rank;       // rank of tensors, host arrays and custom values
    uint8_t map_count;
    bool whole;           // spy_vmap() without dimensions, or spy_map_value(): all of it is one value
    bool one_value;       // spy_map_value(): the call runs over it when no overload takes it as one value
    bool inherited;       // its mapping is that of the struct or pair that it is a part of
    uint8_t passed_count; // dimensions of the mapping that its parts have inherited from it; 0 if there is
                          // none
    uint32_t child_count; // for a struct: number of its fields, which follow
    // SPY_ARG_KIND_DATA, SPY_ARG_KIND_RESULT that goes in: bytes. SPY_ARG_KIND_CUSTOM: what its kind sets; it
    // is in the key.
    uint32_t size;
    const int8_t *map;
    const char *cast;      // explicit Slang type, or NULL
    const spyi_type *type; // type of a number, or of the elements of a tensor or host array
    const int64_t *dims;   // sizes; -1, in custom values only: any size
    spy_tensor *tensor;
    const spyi_value_kind *custom; // SPY_ARG_KIND_CUSTOM: its kind
    const spyi_type *texel;        // for a texture: the type of its texels; `type` is the texture's type
    // SPY_ARG_KIND_CUSTOM: the objects that it points to, or NULL; NULL in the copies that compile threads
    // use.
    spyi_object *held[2];
    // In calls that look at gradients: indices of the values of a tensor's gradients, which lie behind all
    // arguments; 0 if there is none.
    uint32_t grads[2];
} spyi_value;

// Returns the value's rank and sizes; rank 0 for values without dimensions.
SPYI_FN spy_shape spyi_value_shape(const spyi_value *value);
// Returns the index of the first value behind this one and its fields.
SPYI_FN uint32_t spyi_value_end(const spyi_value *values, uint32_t index);
// Writes the value for messages: "float3 tensor (480, 640)", "int number", "struct of 2 fields".
SPYI_FN void spyi_value_text(const spyi_value *value, spyi_text *out);

#endif // SPYI_VALUE_H

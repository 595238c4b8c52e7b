// What an argument is: one value. Values lie in the order in which arguments are written, a struct before its fields.
#ifndef SPYI_VALUE_H
#define SPYI_VALUE_H

#include "data/device.h"

typedef struct spyi_value_kind spyi_value_kind;

typedef struct spyi_value {
    const spy_arg *arg; // where its data is; NULL in the copies that compile threads use
    const char *name;   // NULL: by position
    uint8_t kind;       // spy_arg_kind
    uint8_t direction;  // spy_direction
    uint8_t rank;       // tensors and host arrays
    uint8_t map_count;
    bool whole;           // an explicit mapping of no dimensions
    bool one_value;       // ... of a value that is run over where no overload takes it whole
    uint32_t child_count; // struct: its fields, which follow
    uint32_t size;        // SPY_ARG_KIND_DATA: bytes
    const int8_t *map;
    const char *cast;      // explicit Slang type, or NULL
    const spyi_type *type; // element of tensors, host arrays and numbers; else NULL
    const int64_t *dims;   // of tensors, host arrays and custom values; theirs may be -1: any size
    spy_tensor *tensor;
    const spyi_value_kind *custom; // SPY_ARG_KIND_CUSTOM
    // In calls that compute gradients: the numbers of a tensor's gradients, which are values behind all arguments; 0: none.
    uint32_t grads[2];
} spyi_value;

// The sizes of a tensor or host array; rank 0 of any other value.
SPYI_FN spy_shape spyi_value_shape(const spyi_value *value);
// Index of the value after this one and its fields.
SPYI_FN uint32_t spyi_value_end(const spyi_value *values, uint32_t index);
// "float3 tensor (480, 640)", "int 3", "struct of 2 fields": for messages.
SPYI_FN void spyi_value_text(const spyi_value *value, spyi_text *out);

#endif // SPYI_VALUE_H

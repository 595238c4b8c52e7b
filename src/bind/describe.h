// The values of one call, and the key that its plan is found by: what describing a call's arguments gives.
#ifndef SPYI_DESCRIBE_H
#define SPYI_DESCRIBE_H

#include "bind/threads.h"
#include "kinds/kind.h"

// Values that a hook sets. Kept from call to call: they do not allocate.
struct spy_globals {
    spy_arg *items;
    uint32_t count, capacity;
    bool failed; // out of memory
};

// The values of one call and the key that its plan is found by. Owned by the cache and reused: calls do not allocate.
typedef struct spyi_values {
    spyi_value *items;
    uint32_t count, capacity;
    uint8_t *key;
    uint32_t key_size, key_capacity;
    const spy_call_options *options; // NULL: none
    uint32_t global_count;           // values of globals and their fields, behind the arguments
    uint32_t grad_count;             // gradients of tensors, behind those
    struct spy_globals written;      // what the options' hook has set
    spy_shape thread_count;          // theirs
    const spyi_threads *threads;     // of a dispatch; NULL: a call
    struct spyi_values *next;        // among the cache's spare ones
} spyi_values;

// Fills `values` from `args` and `options` (may be NULL); on failure an error naming the argument.
SPYI_FN spy_status spyi_describe(spy_function *function, spy_args args, const spy_call_options *options,
                                 const spyi_threads *threads, spyi_values *values, spyi_text *error);
// Values of arguments alone, for no call.
SPYI_FN spy_status spyi_describe_args(spy_device *device, spy_args args, spyi_values *values,
                                      spyi_text *error);
SPYI_FN bool spyi_key_bytes(spyi_values *values, const void *bytes, size_t size); // false: out of memory
SPYI_FN spy_call_mode spyi_mode_of(const spyi_values *values);
// Which gradients a tensor has, as calls that look at them tell apart; never 0.
SPYI_FN uint8_t spyi_gradients_of(const spy_tensor *tensor);
// Whether a call looks at its tensors' gradients: they are values then, too.
SPYI_FN bool spyi_looks_at_gradients(const spy_function *function, const spyi_values *values);
// Appends trailing sizes of tensors and arrays to the key, for calls whose types depend on them: `sizes[i]` of value i.
SPYI_FN bool spyi_key_add_sizes(spyi_values *values, const uint8_t *sizes);
// How many values are arguments, globals, or parts of these; and how many there are with gradients behind them.
SPYI_FN uint32_t spyi_values_given(const spyi_values *values);
SPYI_FN uint32_t spyi_values_all(const spyi_values *values);
SPYI_FN void spyi_values_free(spyi_values *values);

#endif // SPYI_DESCRIBE_H

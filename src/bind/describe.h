// Describing a call: its arguments become values, and a key by which its plan is found.
#ifndef SPYI_DESCRIBE_H
#define SPYI_DESCRIBE_H

#include "bind/threads.h"
#include "kinds/kind.h"

// The globals that options.write_globals sets. The list is kept, so that calls do not allocate.
struct spy_globals {
    spy_arg *items;
    uint32_t count, capacity;
    bool failed; // an allocation has failed
};

// The values of one call and the key of its plan. The cache reuses such objects, so that calls do not
// allocate. `count` counts arguments and their fields; globals lie behind them, and gradients last.
typedef struct spyi_values {
    spyi_value *items;
    uint32_t count, capacity;
    uint8_t *key;
    uint32_t key_size, key_capacity;
    const spy_call_options *options; // NULL if there are none
    uint32_t global_count;           // the values of globals and of their fields
    uint32_t grad_count;             // the values of gradients of tensors
    struct spy_globals written;      // globals that options->write_globals has set
    spy_shape thread_count;          // options->thread_count
    const spyi_threads *threads;     // threads of a dispatch; NULL means that this is a call
    struct spyi_values *next;        // next one in the cache's list of unused objects
} spyi_values;

// Fills `values` from `args` and `options` (may be NULL). On failure `error` names the argument.
SPYI_FN spy_status spyi_describe(spy_function *function, spy_args args, const spy_call_options *options,
                                 const spyi_threads *threads, spyi_values *values, spyi_text *error);
// Fills `values` from `args` alone, without a function and options.
SPYI_FN spy_status spyi_describe_args(spy_device *device, spy_args args, spyi_values *values,
                                      spyi_text *error);
// Describes another argument in the place of a value without fields. Returns false unless the argument's part
// of the key is the same except for its name, which the caller compares; if false, the value must not be used
// any more.
SPYI_FN bool spyi_describe_again(spy_device *device, const spy_arg *arg, spyi_value *value);
// Appends bytes to the key. Returns false when out of memory.
SPYI_FN bool spyi_key_bytes(spyi_values *values, const void *bytes, size_t size);
SPYI_FN spy_call_mode spyi_mode_of(const spyi_values *values);
// Returns bits that say which gradients a tensor has: 1 grad_in, 2 grad_out, 4 both are the same or missing.
// Never 0.
SPYI_FN uint8_t spyi_gradients_of(const spy_tensor *tensor);
// Returns whether a call depends on its tensors' gradients, which are then values, too.
SPYI_FN bool spyi_looks_at_gradients(const spy_function *function, const spyi_values *values);
// Appends the last sizes[i] dimensions of each value i to the key, for calls whose types depend on sizes.
// Returns false when out of memory.
SPYI_FN bool spyi_key_add_sizes(spyi_values *values, const uint8_t *sizes);
// Return the number of values of arguments, globals and their fields; and this number including the values of
// gradients.
SPYI_FN uint32_t spyi_values_given(const spyi_values *values);
SPYI_FN uint32_t spyi_values_all(const spyi_values *values);
SPYI_FN void spyi_values_free(spyi_values *values);

#endif // SPYI_DESCRIBE_H

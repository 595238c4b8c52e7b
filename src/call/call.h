// The stages of one call of a function, and the table through which a command list records calls.
#ifndef SPYI_CALL_CALL_H
#define SPYI_CALL_CALL_H

#include "api/resolve.h"
#include "plan/cache.h"

// >>recording: where a call goes when it is recorded instead of run

typedef struct spyi_sink spyi_sink;

// Functions by which a command list records calls. src/list defines them.
typedef struct spyi_sink_table {
    spy_status (*check_open)(const spyi_sink *sink,
                             spyi_text *error); // returns an error if the list is finished
    spy_status (*begin_call)(spyi_sink *sink, spyi_text *error);
    spy_status (*append_work)(spyi_sink *sink, spyi_plan *plan, const spyi_variant *variant,
                              const spyi_work *work, const spyi_use *uses, uint32_t use_count, bool untracked,
                              spyi_text *error);
    void (*end_call)(spyi_sink *sink, spyi_plan *plan, const spyi_values *values);
    void (*drop_call)(spyi_sink *sink); // removes the records of a failed call
    // Records a draw, whose pipeline is among its uses. `name` is the name of the list's operation.
    spy_status (*append_draw)(spyi_sink *sink, const char *name, const spyi_work *work, const spyi_use *uses,
                              uint32_t use_count, bool untracked, spyi_text *error);
} spyi_sink_table;

// The first member of a command list, by which a call uses the list.
struct spyi_sink {
    spyi_object object;
    const spyi_sink_table *table;
};

// run.c: runs the call, or records it into `sink` if that is not NULL.
SPYI_FN spy_status spyi_run(spyi_plan *plan, const spyi_values *values, spyi_sink *sink, bool timed,
                            uint64_t *gpu_time_ns, spyi_text *error);

// again.c: makes the call if it repeats one of the plan's launches; otherwise returns false and does nothing.
// The call's options must be those of the plan. Like spyi_cache_again(), it allocates nothing but the tensor
// of a new result.
SPYI_FN bool spyi_call_again(spyi_plan *plan, spy_args args, spy_status *status, spyi_text *error);
// Makes the call if it repeats one of the last few plans of the function; returns false if it does not.
SPYI_FN bool spyi_cache_again(spy_function *function, spy_args args, const spy_call_options *options,
                              spy_status *status, spyi_text *error);
// Makes the call if it repeats a declared function's last call; faster than spyi_cache_again(), and for fewer
// calls; see again.c.
SPYI_FN bool spyi_call_direct(spy_function *function, spy_args args, spy_status *status, spyi_text *error);

// call.c: reports a failed call with the public function, the Slang function, and the error text, which it
// frees.
SPYI_FN spy_status spyi_call_failed(spy_function *function, spy_status status, const char *public_name,
                                    spyi_text *error);
// Runs the stages of a call, or of a dispatch if `threads` is given. The caller has entered the device.
SPYI_FN spy_status spyi_call_inside(spy_function *function, spy_args args, const spy_call_options *options,
                                    const spyi_threads *threads, const char *public_name);
// Enters the device, makes the call, and leaves the device. With `timed` it also measures the GPU's time.
SPYI_FN spy_status spyi_call(spy_function *function, spy_args args, const spy_call_options *options,
                             const char *public_name, bool timed, uint64_t *gpu_time_ns);

// Do the same as spy_dispatch() and spy_dispatch_indirect(), with errors that name another public function.
SPYI_FN spy_status spyi_dispatch_threads(spy_function *function, spy_uint3 threads, spy_args args,
                                         const spy_call_options *options, const char *public_name);
SPYI_FN spy_status spyi_dispatch_indirect(spy_function *function, spy_tensor *groups, int64_t index,
                                          spy_args args, const spy_call_options *options,
                                          const char *public_name);

// Functions by which src/fuse makes calls of functions that end in a reduction. The caller has left the
// device.
typedef struct spyi_fused_table {
    spy_status (*call)(spy_function *function, spy_args args, const spy_call_options *options,
                       const char *public_name, bool timed, uint64_t *gpu_time_ns);
    size_t (*explain)(spy_function *function, spy_args args, const spy_call_options *options, char *text,
                      size_t capacity);
    spy_resolution *(*resolve)(spy_function *function, spy_args args, const spy_call_options *options);
} spyi_fused_table;

// call.c: called by a public function that has entered the device, for a function that ends in a reduction.
// Retains the function's module, because another thread may release it, leaves the device, and returns the
// table of functions that make the call. The caller releases the module.
SPYI_FN const spyi_fused_table *spyi_leave_for_reduction(spy_function *function);

// sums.c: moves the list of tensors that the last call has added to, at most SPYI_MOST_SUMMED, to `summed`,
// which gets a reference to each tensor; returns their number. The caller has entered the device.
SPYI_FN uint32_t spyi_sums_take(spy_device *device, spyi_summed *summed);
// Adds the sums to the gradients if `status`, the status of the call, is SPY_OK, by calls with the same
// options, and releases the tensors. The caller has left the device. Returns `status`, or the status of the
// first call that failed.
SPYI_FN spy_status spyi_sums_finish(spy_device *device, const spyi_summed *summed, uint32_t count,
                                    const spy_call_options *options, spy_status status, const char *name);

#endif // SPYI_CALL_CALL_H

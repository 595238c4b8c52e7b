// One call of a function.
#ifndef SPYI_CALL_CALL_H
#define SPYI_CALL_CALL_H

#include "plan/cache.h"

// >>recording: what a call goes to instead of being run

typedef struct spyi_sink spyi_sink;

// What a command list does with the calls that are recorded into it. list/ fills it.
typedef struct spyi_sink_table {
    spy_status (*check_open)(const spyi_sink *sink,
                             spyi_text *error); // an error: nothing more can be recorded
    spy_status (*begin_call)(spyi_sink *sink, spyi_text *error);
    spy_status (*append_work)(spyi_sink *sink, spyi_plan *plan, const spyi_variant *variant,
                              const spyi_work *work, const spyi_use *uses, uint32_t use_count, bool untracked,
                              spyi_text *error);
    void (*end_call)(spyi_sink *sink, spyi_plan *plan);
    void (*drop_call)(spyi_sink *sink); // takes back what has been recorded of a call that has failed
} spyi_sink_table;

// The beginning of a command list.
struct spyi_sink {
    spyi_object object;
    const spyi_sink_table *table;
};

// run.c
// `sink`: records the call instead of running it; or NULL.
SPYI_FN spy_status spyi_run(spyi_plan *plan, const spyi_values *values, spyi_sink *sink, bool timed,
                            uint64_t *gpu_time_ns, spyi_text *error);

// again.c
// The call, if it repeats one of the plan's launches; false: nothing was done. The options are the plan's. Neither allocates,
// but for a new result.
SPYI_FN bool spyi_call_again(spyi_plan *plan, spy_args args, spy_status *status, spyi_text *error);
// The call, if it repeats one of the function's last few plans.
SPYI_FN bool spyi_cache_again(spy_function *function, spy_args args, const spy_call_options *options,
                              spy_status *status, spyi_text *error);

// call.c: the stages of a call, or of a dispatch when `threads` is given, inside the device
SPYI_FN spy_status spyi_call_inside(spy_function *function, spy_args args, const spy_call_options *options,
                                    const spyi_threads *threads, const char *public_name);
// The same from outside the device. `timed`: with the GPU's time.
SPYI_FN spy_status spyi_call(spy_function *function, spy_args args, const spy_call_options *options,
                             const char *public_name, bool timed, uint64_t *gpu_time_ns);

#endif // SPYI_CALL_CALL_H

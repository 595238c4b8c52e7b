// The device: what belongs to it, and what it does with its GPU's queue.
#ifndef SPYI_DEVICE_H
#define SPYI_DEVICE_H

#include "data/tensor.h"

// spy_arg._map_count, where it is not the number of dimensions in _map.
#define SPYI_MAP_WHOLE 255u // spy_map() without dimensions: the whole argument is one value
#define SPYI_MAP_VALUE 254u // spy_map_value()

// What tensors ask of the module that their desc names; module/ gives it to the device.
typedef struct spyi_module_table {
    const spyi_type *(*find_type)(void *module,
                                  const char *name); // may leave the device; NULL: there is none
    const char *(*name)(const spy_module *module);
} spyi_module_table;

typedef struct spyi_build spyi_build; // build.c: a kernel that is being made

typedef struct spyi_builds {
    spyi_mutex lock;     // guards what follows, and whether builds are done
    spyi_signal changed; // one is done
    spyi_build *left;    // whose callers have left
    bool released;       // the device has been: the last build that is not done frees it
} spyi_builds;

struct spy_device {
    spyi_context ctx; // first: begins with spyi_object
    const spy_backend *backend;
    spyi_gpu *gpu;
    spyi_gpu_base *base; // the same object: limits and counters
    spyi_types *types;
    const spyi_type *scalars[SPY_DTYPE_COUNT]; // interned once: calls must not lock the table
    spyi_pool pool;
    spyi_storage *readback;            // results to host memory of the running call
    uint64_t readback_submit;          // batch of a call that was left before they came; 0: none
    struct spyi_print_buffer *printer; // data/gpu_print.h; NULL: desc.enable_print is off
    struct spyi_bounds *bounds;        // data/bounds.h; NULL: desc.check_bounds is off
    uint32_t launch_graphs;            // that plans keep of calls of several dispatches
    bool barrier_owed;                 // an operation that should have brought one failed
    uint64_t epoch;                    // of hazards, from 1
    spyi_transition *transitions;      // before the last work, `transition_count` of them
    uint32_t transition_count, transition_capacity;
    uint64_t last_submit;               // batch of the last work whose uses were noted
    uint64_t untracked_epoch;           // of the last work that may have written anywhere; 0: none
    uint64_t untracked_submit;          // its batch: what is read back waits for it
    uint64_t counts_epoch;              // that began with the last barrier for indirect group counts
    spy_tensor *tensors;                // alive
    spy_tensor *dead_first, *dead_last; // released headers, reused oldest first
    uint32_t dead_count;
    struct spyi_cursor_range *cursor_ranges;
    uint64_t last_tensor_serial;
    spyi_mutex dump_lock; // guards dump_directory: compile threads read it
    char *dump_directory;
    spyi_builds builds;
    bool
        keep_programs; // kernels keep their code in host memory, from which recipes are written (plan/recipe.h)
    spy_device_stats stats;
    // What the rooms above keep here. This room does not look into it.
    const spyi_module_table *modules_of; // module/
    spy_module *modules;
    struct spyi_compiler *compiler;
    uint32_t next_function_id;
    struct spyi_dropped_unit *
        dropped_units; // code not needed any more: freed by the next thread that has to wait for the compiler anyway
    spy_reload_hook reload;
    uint64_t reload_looked_ns;                   // last look at the files
    bool reload_looking;                         // ... has found changes that are not all dealt with
    struct spyi_reload_job *reload_job;          // NULL: none is under way
    const struct spyi_code_listener *listener;   // who is told when code changes
    struct spyi_cache *cache;                    // plan/
    struct spy_prepared *prepared;               // call/
    struct spy_command_list *lists;              // list/
    struct spyi_close_callback *close_callbacks; // device/
};

// Records work with what must come before it, and notes its uses.
static inline spy_status spyi_record_with(spy_device *device, spyi_work *work, const spyi_use *uses,
                                          uint32_t count, bool untracked, spyi_text *error) {
    work->before = spyi_take_uses(device, uses, count, untracked);
    spy_status status = spyi_record(device->backend, device->gpu, work, error);
    spyi_uses_done(device, &work->before, untracked, status);
    if (!SPYI_LIKELY(status == SPY_OK) && work->before.transition_count)
        spyi_transitions_failed(&work->before, uses, count);
    return status;
}

// >>queue.c
// Waits for the batch of a call's results. SPY_ERROR_INTERRUPTED: desc.interrupt has ended the wait.
SPYI_FN spy_status spyi_wait_for_results(spy_device *device, uint64_t submit, spyi_text *error);
// spyi_core.take_reported
SPYI_FN spy_status spyi_take_reported(spy_device *device, const char *function);

// >>device.c
SPYI_FN void spyi_device_free(spy_device *device); // the last part of its release

// >>build.c
// The backend's compile and load, on a thread of its own. SPY_ERROR_INTERRUPTED or SPY_ERROR_TIMEOUT: this call has left it, and
// the thread goes on. `what` is for messages. Free-threaded. `profile` NULL: desc->code is a blob, which is only loaded. `blob`,
// which may be NULL, gets what compile has made where device->keep_programs says so; else it is empty.
SPYI_FN spy_status spyi_build_kernel(spy_device *device, const spyi_profile *profile,
                                     const spyi_kernel_desc *desc, const char *what, spyi_kernel **kernel,
                                     spyi_text *blob, spyi_text *error);
SPYI_FN void spyi_builds_init(spy_device *device);
// When the device is released, and nobody waits for a build: false: a build is not done, whose thread calls
// spyi_device_free() when it is.
SPYI_FN bool spyi_builds_release(spy_device *device);
SPYI_FN void spyi_builds_free(spy_device *device); // all builds are done

// >>print.c
// One scalar as text, floats with the fewest digits that tell it from others.
SPYI_FN void spyi_scalar_text(const void *scalar, spy_dtype dtype, spyi_text *out);

// >>cursor.c
SPYI_FN void spyi_cursors_attach(spy_device *device);
SPYI_FN void spyi_cursor_range_free(struct spyi_cursor_range *range);

// >>clock.c
SPYI_FN uint64_t spyi_ticks_to_ns(uint64_t ticks, double period_ns);

// >>import.c
SPYI_FN const spyi_core *spyi_device_core(void); // what backends may ask of a device

// >>args.c
SPYI_FN spy_arg spyi_custom_arg(const char *name,
                                const struct spyi_value_kind *kind); // SPY_ARG_KIND_CUSTOM, its dims 0

// >>packed.c
SPYI_FN spy_packed *spyi_packed_make(const spy_arg *arg, const char **problem); // NULL: *problem says why

#endif // SPYI_DEVICE_H

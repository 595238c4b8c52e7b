// struct spy_device, how work is recorded on its queue, and the functions of src/data that need a device.
#ifndef SPYI_DEVICE_H
#define SPYI_DEVICE_H

#include "api/texture.h"
#include "data/tensor.h"

// The values of spy_arg._map_count that are not the number of dimensions in spy_arg._map.
#define SPYI_MAP_WHOLE 255u // the value of spy_vmap() without dimensions: the whole argument is one value
#define SPYI_MAP_VALUE 254u // the value of spy_map_value()
#define SPYI_MAP_TWICE 253u // the value of a mapping around a mapping, which the call refuses

// Functions that tensors call on the module that their desc names; src/module gives them to the device.
typedef struct spyi_module_table {
    // The call may leave the device meanwhile. Returns NULL when the module has no such type.
    const spyi_type *(*find_type)(void *module, const char *name);
    const char *(*name)(const spy_module *module);
} spyi_module_table;

typedef struct spyi_build spyi_build; // one kernel that a thread makes (build.c)

// The builds of a device whose callers have stopped waiting for them.
typedef struct spyi_builds {
    spyi_mutex lock;     // guards the members below, and `done` of every build
    spyi_signal changed; // a build is done
    spyi_build *left;    // the list of these builds
    bool released;       // the device has been released, so the last build that ends frees it
    spyi_atomic opening; // 1 from the first spyi_builds_open_compiler() on
    spyi_thread opener;  // opens the driver's compiler
    bool opener_started;
} spyi_builds;

#define SPYI_MOST_ARCHS 16

struct spyi_values; // the described arguments of a call (bind/describe.h)

struct spy_device {
    spyi_context ctx; // the first member, which itself begins with spyi_object
    const spy_backend *backend;
    spyi_gpu *gpu;
    spyi_gpu_base *base; // the same object as `gpu`, with its limits and counters
    spyi_types *types;
    const spyi_type *scalars[SPY_DTYPE_COUNT]; // interned once, so that calls need not lock `types`
    spyi_pool pool;
    spyi_storage *readback;            // memory for results that the running call reads back
    uint64_t readback_submit;          // the batch of the call that left `readback` without waiting; 0 means
                                       // that there is none
    struct spyi_print_buffer *printer; // the buffer of data/gpu_print.h; NULL means that desc.enable_print is
                                       // off
    struct spyi_bounds *bounds; // the record of data/bounds.h; NULL means that desc.check_bounds is off
    uint32_t launch_graphs;     // the number of launch graphs that plans keep
    bool barrier_owed;          // the next work needs a barrier, because earlier work failed or was untracked
    uint64_t epoch;             // the number of the current hazard epoch, from 1 (hazards.c)
    spyi_transition *transitions; // transitions that come before the last work
    uint32_t transition_count, transition_capacity;
    size_t texture_parts;     // parts of all textures; transitions have room for as many
    uint64_t last_submit;     // the batch of the last work whose uses were noted
    uint64_t untracked_epoch; // the epoch of the last work that may have written anywhere; 0 means that there
                              // was none
    uint64_t untracked_submit; // the batch of the last untracked work, for which reading back waits
    uint64_t counts_epoch;     // epoch that began with the last barrier for indirect group counts
    spy_tensor *tensors;       // a list of the living tensors
    spy_texture *textures;     // a list of the living textures (texture.h)
    spy_sampler *samplers;     // a list of the living samplers
    struct spyi_sampler_object *sampler_objects;
    struct spyi_texture_image *waiting_images; // images without references whose work may not have finished
    uint64_t image_bytes;                      // device memory of all images
    struct spyi_texture_image *listed_images;  // images with handles
    uint32_t listed_count;
    uint64_t last_texture_serial;
#define SPYI_MOST_SUMMED 64               // as many as one call can have leaves
    spyi_summed summed[SPYI_MOST_SUMMED]; // exact sums that the call in progress adds to (call/sums.c)
    uint32_t summed_count;
    spy_function *finish_sums; // the function that adds the sums to gradients; NULL means not loaded yet
    spy_tensor *dead_first, *dead_last; // released headers, reused oldest first
    uint32_t dead_count;
    struct spyi_cursor_range *cursor_ranges;
    uint64_t last_tensor_serial;
    uint64_t last_like;   // the last number that was given to a spyi_launch_leaf.like
    spyi_mutex dump_lock; // guards dump_directory, which compile threads read
    char *dump_directory;
    spyi_builds builds;
    // Recipes (plan/recipe.h): returns the signature of a call, which its plan then has; kernels keep their code
    // in host memory, from which recipes are written. NULL where no recipes are written.
    uint64_t (*sign_call)(const spy_function *function, const struct spyi_values *values);
    // The compute capabilities for which kernels are compiled, in order, when the device records a pack. With
    // `offline` there is no GPU, and its kernels are not loaded (device/device.c).
    uint32_t pack_archs[SPYI_MOST_ARCHS];
    uint32_t pack_arch_count;
    bool offline;
    spy_backend offline_backend; // for an offline device: backend/offline.h with the compiler of another
                                 // backend
    char *record_path;           // the path to which the pack is written when the device is released; NULL
                                 // means that no pack is written
    spy_device_stats stats;
    // The members of later stages; a comment names the stage at its first member. src/data uses only
    // modules_of.
    const spyi_module_table *modules_of; // functions of src/module
    spy_module *modules;
    struct spyi_compiler *compiler;
    uint32_t next_function_id;
    // Compiled code that is not needed any more. The next thread that waits for the compiler anyway frees it.
    struct spyi_dropped_unit *dropped_units;
    spy_reload_hook reload;
    uint64_t reload_looked_ns;                 // time of the last look at the modules' files
    bool reload_looking;                       // some modules are still to be reloaded
    struct spyi_reload_job *reload_job;        // the reload in progress; NULL means that there is none
    const struct spyi_code_listener *listener; // functions to call when code changes
    struct spyi_cache *cache;                  // belongs to src/plan
    struct spy_prepared *prepared;             // belongs to src/call
    struct spy_raster *rasters;
    spy_function *draw_ids[2]; // the two functions that draw the numbers of triangles; NULL if not loaded yet
    struct spyi_pipeline *waiting_pipelines; // pipelines without references whose work may not have finished
    void (*free_pipelines)(spy_device *device);  // frees pipelines whose work has finished
    struct spy_fusion *fusions;                  // belongs to src/fuse
    const struct spyi_fused_table *fused_table;  // functions for calls of functions that end in a reduction
    struct spy_command_list *lists;              // belongs to src/list
    struct spyi_close_callback *close_callbacks; // belongs to src/device
};

// Records `work` behind the barrier and transitions that its `count` uses call for, and notes the uses. With
// `untracked` the work may also use memory that `uses` does not list.
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
// Waits for batch `submit`, which writes a call's results. Returns SPY_ERROR_INTERRUPTED when desc.interrupt
// has ended the wait.
SPYI_FN spy_status spyi_wait_for_results(spy_device *device, uint64_t submit, spyi_text *error);
// Implements spyi_core.take_reported for backends.
SPYI_FN spy_status spyi_take_reported(spy_device *device, const char *function);

// >>device.c
SPYI_FN void spyi_device_free(spy_device *device); // is the last step of the device's release

// >>build.c
// Compiles and loads a kernel on a thread of its own. `what` names it in messages. `profile` NULL means that
// desc->code is a compiled blob, which is only loaded. `blob`, which may be NULL, receives the compiled code
// where device->sign_call is set, and otherwise becomes empty. Returns SPY_ERROR_INTERRUPTED or
// SPY_ERROR_TIMEOUT when the caller is to wait no longer; the thread then goes on. Threads: any.
SPYI_FN spy_status spyi_build_kernel(spy_device *device, const spyi_profile *profile,
                                     const spyi_kernel_desc *desc, const char *what, spyi_kernel **kernel,
                                     spyi_text *blob, spyi_text *error);
SPYI_FN void spyi_builds_init(spy_device *device);
// Opens the driver's compiler on a thread, once, so that it is ready when libslang has made a kernel's text.
// Threads: any.
SPYI_FN void spyi_builds_open_compiler(spy_device *device);
// Called when the device is released and nobody waits for a build. Returns false when a build is not done:
// its thread then calls spyi_device_free() at its end.
SPYI_FN bool spyi_builds_release(spy_device *device);
SPYI_FN void spyi_builds_free(spy_device *device); // frees `left`; all builds must be done

// >>print.c
// Appends one scalar as text. A float gets the fewest digits that distinguish it from all others of its
// dtype.
SPYI_FN void spyi_scalar_text(const void *scalar, spy_dtype dtype, spyi_text *out);

// >>cursor.c
SPYI_FN void spyi_cursors_attach(spy_device *device);
SPYI_FN void spyi_cursor_range_free(struct spyi_cursor_range *range);

// >>clock.c
SPYI_FN uint64_t spyi_ticks_to_ns(uint64_t ticks, double period_ns);

// >>import.c
SPYI_FN const spyi_core *spyi_device_core(void); // returns the functions of a device that backends may call

// >>args.c
// Returns an argument of SPY_ARG_KIND_CUSTOM with zeroed dims.
SPYI_FN spy_arg spyi_custom_arg(const char *name, const struct spyi_value_kind *kind);

// >>packed.c
// Returns a packed copy of `arg` with one reference. NULL means that there is none; *problem then says why.
SPYI_FN spy_packed *spyi_packed_make(const spy_arg *arg, const char **problem);

#endif // SPYI_DEVICE_H

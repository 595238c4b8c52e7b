// The device and what belongs to it: memory blocks with their hazards, tensors, modules, functions.
#ifndef SPYI_DEVICE_H
#define SPYI_DEVICE_H

#include "compiler/compiler.h"

typedef struct spyi_cache spyi_cache; // call/: compiled calls

// >>storage: a block of device memory, recycled as a whole, so that the hazards of its former use stay with it.
// Hazards are counted in epochs; each recorded barrier begins a new one. Two uses conflict when they fall into the same
// epoch, their byte ranges meet and one of them writes.
typedef struct spyi_storage spyi_storage;
struct spyi_storage {
    spyi_chunk chunk;                          // the driver's memory that this block lies in
    uint64_t offset, size;                     // the block in the chunk
    uint64_t read_epoch, read_begin, read_end; // bytes from the block's start
    uint64_t write_epoch, write_begin, write_end;
    uint64_t write_submit; // batch of the last write: a read back waits for it
    uint64_t use_submit;   // batch of the last use: freeing waits for it
    // The batch of the last use in an engine's command buffer, which keeps the block from being used again; 0: there is none.
    uint64_t held_submit;
    int32_t references;    // tensors on it, guarded by the device's turns
    int32_t size_class;    // free list that it returns to; -1: imported
    spyi_memory memory;
    struct spyi_slab *slab; // whose chunk it was cut from; NULL: has its chunk alone
    spyi_storage *next;     // in a free list, the list of waiting ones, or that of imported ones
};

typedef struct spyi_slab {
    spyi_chunk chunk;
    uint64_t used; // bytes cut off
    int32_t live;  // blocks in use
    struct spyi_slab *next;
} spyi_slab;

#define SPYI_SIZE_CLASSES 160

typedef struct spyi_pool {
    spyi_storage *free_blocks[2][SPYI_SIZE_CLASSES]; // by spyi_memory
    spyi_slab *slabs[2];
    spyi_storage *imported;
    spyi_storage *waiting; // freed, but used by recordings that have not been reported as executed
    uint64_t held_bytes, used_bytes;
    uint64_t waiting_bytes; // of the former; part of neither of the latter's free blocks nor of used_bytes
} spyi_pool;

struct spy_tensor {
    spyi_object object;
    spyi_storage *storage;
    uint64_t serial;          // never again another tensor of the device, nor this one after it changed
    const spyi_type *type;    // element
    spy_shape shape, strides; // strides in elements; dims beyond the rank are 0
    uint64_t offset_bytes;    // of element 0 in the storage
    uint64_t begin_bytes, end_bytes; // what elements touch in the storage; equal when there are none
    int64_t element_count;           // up to here a tensor's geometry: compared as bytes
    bool contiguous;
    const char *label;           // ours, or ""
    spy_tensor *previous, *next; // in device.tensors; next also among the dead
    spy_tensor *grads[2];        // SPYI_GRAD_IN, SPYI_GRAD_OUT: one reference each; NULL: none
    int64_t grad_shift[2]; // of a view being made: bytes from its elements to those of its parent's gradients
    const spyi_type *grad_type; // ... the parent's element type
    bool grads_follow;          // ... the gradients are to be seen in the same way
};

// Gradients of a tensor: what calls read, and what they add to. Both may be the same tensor.
enum { SPYI_GRAD_IN, SPYI_GRAD_OUT };

typedef struct spyi_reflection spyi_reflection; // reflect.c: trees of declarations

struct spy_module {
    spyi_object object;
    spyi_unit *unit;
    spyi_reflection *reflection; // NULL until asked for
    bool strict_broadcasting;
    char *name;
    spy_function *functions; // found so far
    spy_module **link;       // retained
    size_t link_count;
    uint32_t generation; // reloads so far
    bool reloading;      // one of those that the reload under way replaces
    bool stale;          // its last reload failed: its files are newer than its code
    bool tried;          // ... in the poll under way
    spyi_unit *fresh;    // what it will have then
    uint32_t users;      // threads outside of the device that work with its unit: it stays until they are back
    spy_module *previous, *next;
};

#define SPYI_RECENT_PLANS 4

struct spy_function {
    spyi_object object;
    spy_module *module;
    char *name;
    uint32_t id;              // part of the plan key
    spyi_overloads overloads; // none: gone with a reload
    spyi_entry entry;         // once it has been dispatched
    bool entry_known;
    struct spyi_plan *recent[SPYI_RECENT_PLANS]; // tried before the table, most recent first
    spy_function *next;
};

// What a thread does for a call without holding the device, compiling above all: other threads use the device meanwhile.
// Lies on that thread's stack, or in what a compile thread works on.
typedef struct spyi_outside {
    volatile uintptr_t thread; // spyi_thread_id(); of a compile thread: once it runs
    spy_module *module;        // retained, and keeps its code until the end; NULL: none
    const void *work;          // with the bytes of the key: what is being made; NULL: nothing that others wait for
    const void *key;
    size_t key_size;
    struct spyi_outside *previous, *next; // in device.outside
} spyi_outside;

typedef struct spyi_dropped_unit {
    spyi_unit *unit;
    struct spyi_dropped_unit *next;
} spyi_dropped_unit;

typedef struct spyi_grave {
    spyi_object *object;
    size_t size;
    struct spyi_grave *next;
} spyi_grave;

typedef struct spyi_close_callback {
    void (*func)(spy_device *device, void *user_data);
    void *user_data;
    struct spyi_close_callback *next;
} spyi_close_callback;

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
    spyi_compiler *compiler;
    spyi_pool pool;
    spyi_cache *cache;
    spyi_storage *readback;             // results to host memory of the running call
    uint64_t readback_submit;           // batch of a call that was left before they came; 0: none
    struct spyi_print_buffer *printer;  // data/gpu_print.h; NULL: desc.enable_print is off
    struct spyi_bounds *bounds;         // data/bounds.h; NULL: desc.check_bounds is off
    bool barrier_owed;                  // an operation that should have brought one failed
    uint64_t epoch;                     // of hazards, from 1
    uint64_t untracked_epoch;           // of the last work that may have written anywhere; 0: none
    uint64_t untracked_submit;          // its batch: what is read back waits for it
    uint64_t counts_epoch;              // that began with the last barrier for indirect group counts
    spy_tensor *tensors;                // alive
    spy_tensor *dead_first, *dead_last; // released headers, reused oldest first
    uint32_t dead_count;
    spy_module *modules;
    struct spy_prepared *prepared;
    struct spyi_cursor_range *cursor_ranges;
    struct spy_command_list *lists;
    uint32_t next_function_id;
    uint64_t last_tensor_serial;
    spyi_outside *outside;             // work under way
    spyi_dropped_unit *dropped_units;  // not needed any more: freed by the next thread that has to wait for the compiler anyway
    spyi_mutex release_lock; // guards the next two
    spyi_object *release_queue;
    spyi_atomic release_count; // entries of release_queue, read without the lock
    spyi_close_callback *close_callbacks;
    spyi_grave *graves; // of modules, functions and prepared calls, in debug builds
    spyi_mutex dump_lock; // guards dump_directory: compile threads read it
    char *dump_directory;
    spy_reload_hook reload;
    uint64_t reload_looked_ns; // last look at the files
    bool reload_looking;       // ... has found changes that are not all dealt with
    spyi_builds builds;
    struct spyi_reload_job *reload_job; // reload.c; NULL: none is under way
    spy_device_stats stats;
};

// >>pool.c
// A block of at least `size` bytes, references 0; NULL: `error` says why. Frees cached memory and tries again once.
SPYI_FN spyi_storage *spyi_pool_take(spy_device *device, spyi_memory memory, uint64_t size, const char *label,
                                     spyi_text *error, spy_status *status);
SPYI_FN void spyi_pool_give(
    spy_device *device,
    spyi_storage *storage); // no waiting for the GPU: later users are ordered by hazards
SPYI_FN void spyi_pool_release_held(spy_device *device); // frees blocks whose recordings have all been reported
SPYI_FN void spyi_pool_trim(spy_device *device);    // frees all unused memory; the GPU must be idle
SPYI_FN void spyi_pool_destroy(spy_device *device); // all blocks have been given back
SPYI_FN spyi_storage *spyi_pool_import(spy_device *device,
                                       const spyi_chunk *chunk); // finds the same handle again

// A use of bytes [begin, end) of a block by work about to be recorded: does it need a barrier before it?
SPYI_FN bool spyi_hazard(const spy_device *device, const spyi_storage *storage, uint64_t begin, uint64_t end,
                         bool writes);
// ... and note the use, after the epoch was advanced if a barrier was needed.
SPYI_FN void spyi_note_use(spy_device *device, spyi_storage *storage, uint64_t begin, uint64_t end,
                           bool writes, uint64_t submit);

// One operation's use of a block.
typedef struct spyi_use {
    spyi_storage *storage;
    uint64_t begin, end; // bytes from the block's start
    bool reads, writes;
    bool counts; // holds the group counts of an indirect dispatch
} spyi_use;
// All uses of an operation about to be recorded: whether to record it with a barrier, and notes them. `untracked`: it may
// use other memory too, which nobody knows.
SPYI_FN bool spyi_take_uses(spy_device *device, const spyi_use *uses, uint32_t count, bool untracked);
// After the operation.
SPYI_FN void spyi_uses_done(spy_device *device, bool barrier, bool untracked, spy_status status);

// Begins the next epoch if a barrier is needed, or still owed; gives what to hand to the backend.
SPYI_FN bool spyi_take_barrier(spy_device *device, bool needed);
// After the operation that the barrier went with.
SPYI_FN void spyi_barrier_done(spy_device *device, bool barrier, spy_status status);

// >>build.c
// The backend's create_kernel, on a thread of its own. SPY_ERROR_INTERRUPTED or SPY_ERROR_TIMEOUT: this call has left it, and
// the thread goes on. `what` is for messages. Free-threaded.
SPYI_FN spy_status spyi_build_kernel(spy_device *device, const spyi_kernel_desc *desc, const char *what,
                                     spyi_kernel **kernel, spyi_text *error);
SPYI_FN void spyi_builds_init(spy_device *device);
// When the device is released, and nobody waits for a build: false: a build is not done, whose thread calls
// spyi_device_free() when it is.
SPYI_FN bool spyi_builds_release(spy_device *device);
SPYI_FN void spyi_builds_free(spy_device *device); // all builds are done

// >>device.c
// Waits for the batch of a call's results. SPY_ERROR_INTERRUPTED: desc.interrupt has ended the wait.
SPYI_FN spy_status spyi_wait_for_results(spy_device *device, uint64_t submit, spyi_text *error);
SPYI_FN void spyi_device_free(spy_device *device);                // the last part of its release
SPYI_FN spyi_object *spyi_as(const void *object, spyi_kind kind); // NULL: not a living object of that kind
// Reports `error` under a function's name and frees it: "spy_call: ...".
SPYI_FN spy_status spyi_fail_text(spy_device *device, spy_status status, const char *function,
                                  spyi_text *error);

// A reference less, from any thread at any time; the last one queues the object for whoever enters the device next.
SPYI_FN void spyi_object_release(spyi_object *object);
SPYI_FN void spyi_object_retain(const void *object, spyi_kind kind,
                                const char *function); // likewise; reports a bad one
SPYI_FN void spyi_drain_releases(spy_device *device);  // frees what any thread released
// Leaves the device for work that does not need it, and comes back. Nothing that other threads may change or free can be
// relied on in between but the module, plans (call/), and what the caller has retained itself. Linked modules are
// counted in their `users` by the caller.
SPYI_FN void spyi_step_out(spy_device *device, spyi_outside *outside, spy_module *module);
// Likewise, to make what `work` and the bytes at `key` stand for: spyi_is_under_way() finds it meanwhile.
SPYI_FN void spyi_step_out_to_make(spy_device *device, spyi_outside *outside, spy_module *module,
                                   const void *work, const void *key, size_t key_size);
SPYI_FN void spyi_step_in(spy_device *device, spyi_outside *outside);
// The two halves of that, for work on another thread: both inside the device.
SPYI_FN void spyi_outside_begin(spy_device *device, spyi_outside *outside, spy_module *module);
SPYI_FN void spyi_outside_end(spy_device *device, spyi_outside *outside);
// Another thread is making the same thing.
SPYI_FN bool spyi_is_under_way(const spy_device *device, const void *work, const void *key, size_t key_size);
// Waits outside of the device until no thread makes it.
SPYI_FN void spyi_await_work(spy_device *device, spy_module *module, const void *work, const void *key,
                             size_t key_size);
// Leaves the device until something of it has changed, and comes back. `seen`: spyi_turns_events() from before the caller
// found that it must wait. The code and the plans of `module` stay meanwhile; it may be NULL.
SPYI_FN void spyi_await_outside(spy_device *device, spy_module *module, int32_t seen);
SPYI_FN void spyi_drop_unit(spy_device *device, spyi_unit *unit); // releases it, now or later, without waiting
SPYI_FN void spyi_release_units(spyi_context *ctx, spyi_dropped_unit *dropped); // these, now; NULL: none
// Frees a released object. Debug builds keep its header, tagged dead, until the device goes, so that a later use is told.
SPYI_FN void spyi_bury(spy_device *device, spyi_object *object, size_t size);

// >>tensor.c
SPYI_FN void spyi_tensor_unlink(spy_tensor *tensor); // out of the list of the living, before spyi_tensor_free
SPYI_FN spy_tensor *spyi_tensor_new(
    spy_device *device); // header with reference 1 and no storage; NULL: out of memory
SPYI_FN void spyi_tensor_free(spy_tensor *tensor); // at reference 0, inside the device
// A contiguous tensor on fresh memory.
SPYI_FN spy_tensor *spyi_tensor_make(spy_device *device, const spyi_type *type, const spy_shape *shape,
                                     const char *label, spyi_text *error, spy_status *status);
// Computes element_count, contiguous, begin_bytes and end_bytes of a tensor whose type, shape, strides and offset are set.
SPYI_FN void spyi_tensor_measure(spy_tensor *tensor);
SPYI_FN spy_shape spyi_row_major(const spy_shape *shape);
// A shape stands for at most this many bytes, also where broadcasting repeats elements: sums and products of sizes,
// offsets and strides then fit into 63 bits, and no place that computes with them has to look again.
#define SPYI_MOST_BYTES ((int64_t)1 << 60)
SPYI_FN int64_t
spyi_shape_count(const spy_shape *shape); // -1: negative size or more than SPYI_MOST_BYTES elements
// Whether elements of that type, in host or device layout, stay within SPYI_MOST_BYTES, and no size is negative.
SPYI_FN bool spyi_shape_holds(const spy_shape *shape, const spyi_type *type);
// Says why spyi_shape_holds() said no; `name`: what the shape is, "desc.shape".
SPYI_FN spy_status spyi_fail_too_large(const spy_shape *shape, const spyi_type *type, const char *name,
                                       spyi_text *error);
SPYI_FN void spyi_shape_text(const spy_shape *shape, spyi_text *out); // "(480, 640)"
// A tensor's element type from a desc: dtype or name; NULL: error reported under `function`.
SPYI_FN const spyi_type *spyi_element_type(spy_device *device, spy_module *module, spy_dtype dtype,
                                           const char *type, const char *function);

// The name of an element type as spy_create_tensor takes it.
SPYI_FN const char *spyi_type_user_name(const spyi_type *type);
// Whether `size_bytes` bytes are what `count` elements of the tensor have in C's layout.
SPYI_FN spy_status spyi_check_transfer(const spy_tensor *tensor, int64_t count, const void *data,
                                       size_t size_bytes, spyi_text *error);
// Elements first .. first + count are the tensor's; else SPY_ERROR_OUT_OF_RANGE, reported.
SPYI_FN spy_status spyi_check_elements(spy_tensor *tensor, const char *function, int64_t first,
                                       int64_t count);

// >>meet.c
// Whether two elements of the tensor can lie at one place. Exact for slices, transposes and broadcasts; for stranger
// strides it may say so though they do not.
SPYI_FN bool spyi_tensor_meets_itself(const spy_tensor *tensor);
// Whether an element of one can touch an element of the other.
SPYI_FN bool spyi_tensors_meet(const spy_tensor *a, const spy_tensor *b);

// >>transfer.c
// Elements first .. first + count in row-major order, to or from packed host memory in C's layout.
SPYI_FN spy_status spyi_tensor_move(spy_tensor *tensor, int64_t first, int64_t count, void *data, bool upload,
                                    spyi_text *error);
SPYI_FN spy_status spyi_tensor_download(spy_tensor *tensor, void *data, spyi_text *error); // all of them
SPYI_FN spy_status spyi_tensor_upload(spy_tensor *tensor, const void *data, spyi_text *error);
// A grid of a tensor's elements from its first one on. Rank as for a tensor with each dimension cut in two.
typedef struct spyi_box {
    uint32_t rank;
    int64_t dims[2 * SPY_MAX_RANK], strides[2 * SPY_MAX_RANK]; // strides in elements
} spyi_box;
SPYI_FN spy_status spyi_tensor_download_box(spy_tensor *tensor, const spyi_box *box, void *data,
                                            spyi_text *error);

// >>copy.c
// Every scalar set to `value`; and whether the GPU can do that by repeating `pattern`.
SPYI_FN spy_status spyi_fill_tensor(spy_tensor *tensor, double value, spyi_text *error);
SPYI_FN spy_status spyi_fill_pattern(const spy_tensor *tensor, double value, bool *repeats, uint32_t *pattern,
                                     spyi_text *error);
// Sets each element to one value in C's layout; NULL: to zeros.
SPYI_FN spy_status spyi_tensor_repeat(spy_tensor *tensor, const void *element, spyi_text *error);

// >>view.c
// A view of `parent`, like it in everything; the caller changes it and measures it. NULL: reported.
SPYI_FN spy_tensor *spyi_view_new(spy_tensor *parent, const char *function);

// >>gradient.c
// The type of a value's gradient, in Slang T.Differential: NULL where it has none. `unit` is for structs, and may be NULL.
SPYI_FN const spyi_type *spyi_differential(spyi_types *types, spyi_unit *unit, const spyi_type *type);
// The gradients that a new tensor's desc asks for; false: reported.
SPYI_FN bool spyi_gradients_make(spy_tensor *tensor, const spy_tensor_desc *desc, const char *function);
// A view that is being made gets views of its parent's gradients as soon as it is measured.
SPYI_FN void spyi_gradients_inherit(spy_tensor *view, const spy_tensor *parent);
SPYI_FN void spyi_gradients_follow(spy_tensor *view);
SPYI_FN void spyi_gradients_drop(spy_tensor *tensor);
SPYI_FN void spyi_gradients_share(spy_tensor *tensor, const spy_tensor *from); // the same ones

// >>print.c
// One scalar as text, floats with the fewest digits that tell it from others.
SPYI_FN void spyi_scalar_text(const void *scalar, spy_dtype dtype, spyi_text *out);

// >>cursor.c
SPYI_FN void spyi_cursor_range_free(struct spyi_cursor_range *range);

// >>clock.c
SPYI_FN uint64_t spyi_ticks_to_ns(uint64_t ticks, double period_ns);

// >>args.c
SPYI_FN spy_arg spyi_custom_arg(const char *name,
                                const struct spyi_value_kind *kind); // SPY_ARG_CUSTOM, its dims 0

// >>packed.c
SPYI_FN spy_packed *spyi_packed_make(const spy_arg *arg, const char **problem); // NULL: *problem says why

// >>module.c
SPYI_FN void spyi_module_free(spy_module *module);
// A type by its name in the module; NULL: there is none. Leaves the device meanwhile, as it may wait for the compiler.
SPYI_FN const spyi_type *spyi_module_type(spy_module *module, const char *name);
SPYI_FN void spyi_module_drop(spy_module *module); // one reference less; frees it at the last

// >>reflect.c
SPYI_FN void spyi_reflection_free(spyi_reflection *reflection); // NULL is fine

// >>reload.c
typedef struct spyi_reload_job spyi_reload_job;
SPYI_FN void spyi_reload_abandon(spy_device *device); // waits for what compiles, and forgets it; the device goes

// >>call/prepare.c
// All within the device, without waiting. After a reload: has threads compile the new code of prepared calls.
SPYI_FN void spyi_prepared_reloaded(spy_device *device);
SPYI_FN void spyi_prepared_collect(spy_device *device); // takes over what threads have finished
SPYI_FN bool spyi_prepared_renewing(const spy_device *device); // a thread compiles new code of one
SPYI_FN bool spyi_prepared_compiles(struct spy_prepared *prepared); // its thread has not ended yet
SPYI_FN void spyi_prepared_finish_all(spy_device *device); // waits for all compile threads; the device goes

// >>call/cache.c
SPYI_FN spyi_cache *spyi_cache_create(spy_device *device, uint32_t max_plans);
SPYI_FN void spyi_cache_destroy(spy_device *device);
SPYI_FN void spyi_cache_forget_function(spy_device *device, const spy_function *function);
SPYI_FN void spyi_prepared_free(struct spy_prepared *prepared);
SPYI_FN void spyi_prepared_free_all(spy_device *device);

// >>call/list.c
SPYI_FN void spyi_list_free(struct spy_command_list *list);

#endif // SPYI_DEVICE_H

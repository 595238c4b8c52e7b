// Devices: a GPU with its memory pool, its compiler sessions and its cache of compiled calls.
#ifndef SPY_API_DEVICE_H
#define SPY_API_DEVICE_H

#include "api/base.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct spy_device spy_device;
struct spy_module;                       // in module.h
typedef struct spyi_backend spy_backend; // from spy_vk_backend(), spy_cuda_backend(), spy_d3d12_backend()

// What a GPU is; in a desc, which ones will do.
typedef enum spy_adapter_type {
    SPY_ADAPTER_TYPE_DEFAULT = 0, // a discrete GPU before an integrated one before a CPU
    SPY_ADAPTER_TYPE_DISCRETE,
    SPY_ADAPTER_TYPE_INTEGRATED,
    SPY_ADAPTER_TYPE_CPU // a software device such as Mesa's lavapipe
} spy_adapter_type;

// A file's contents, as spy_file_hook.open gives them.
typedef struct spy_file {
    const void *data; // not necessarily ended by a NUL
    size_t size_bytes;
    void *handle; // the hook's own
} spy_file;

// Gives Slang files by path, for programs that keep them in archives: a module's own file, what it imports (asked as
// NAME.slang-module, then NAME.slang) and what it includes, in each search path in turn. Asked before the disk.
// Threads: whichever loads or reloads a module, one at a time; after spy_poll_reload() a thread of the library. The library
// holds a lock meanwhile: a hook must not call it.
typedef struct spy_file_hook {
    // Fill `file` and give true, or give false: the disk is asked. `path` is valid during the call. What `file` points
    // to must stay as it is until the library has copied it and calls `close`, on the same thread, before the next open.
    bool (*open)(const char *path, spy_file *file, void *user_data);
    void (*close)(spy_file *file, void *user_data); // NULL: there is nothing to free
    // A number that is another one when the file has changed; 0: the hook has no such file. For spy_poll_reload();
    // NULL: changes of the hook's files are not noticed.
    uint64_t (*stamp)(const char *path, void *user_data);
    void *user_data;
} spy_file_hook;

// Told of each reload of a module (see spy_reload_module), on the thread that asked for it, when all modules of that
// reload are in place. `message`: "" or the compiler's text. The device and the module may be used inside.
typedef struct spy_reload_hook {
    void (*func)(struct spy_module *module, spy_status status, const char *message,
                 void *user_data); // NULL: none
    void *user_data;
} spy_reload_hook;

// How to make a device. All but `backend` may stay zero.
typedef struct spy_device_desc {
    const spy_backend *backend; // required: which API drives the GPU
    const void *backend_desc; // spy_vk_desc ... to bring one's own API objects; NULL: the library makes them
    uint32_t adapter;         // 1 is the first of spy_enumerate_adapters(); 0: chosen by the next two
    const char *adapter_name; // part of the adapter's name, case ignored; NULL: any
    spy_adapter_type adapter_type;    // only this type; default: the best there is
    spy_log log;                      // sees every error and warning, also of a failed creation
    spy_progress progress;            // called around slow steps
    spy_blocking blocking;            // called around compilers and waits
    spy_allocator allocator;          // default: malloc
    const char *slang_library;        // path of libslang-compiler; NULL: searched (see the guide)
    const char *const *include_paths; // searched by `import` and #include after the module's own folder
    size_t include_path_count;
    spy_file_hook files;        // asked for Slang files before the disk
    spy_reload_hook reload;     // told when a module has been reloaded, or failed to be
    const char *dump_directory; // an existing folder; generated kernels are written there as NAME.slang and
                                // NAME.spv; NULL: none
    uint32_t max_plans;         // compiled calls kept; 0: 1024; the least recently used leaves
    bool enable_validation;     // Vulkan validation layer, when installed; its messages go to the log
    const char *label;          // name in debug tools and messages
    bool enable_print;          // print() in Slang reaches the log (see api/print.h); else it is empty
    size_t print_buffer_bytes;  // what can be printed between two deliveries; 0: 1 MiB
    spy_interrupt interrupt;    // asked during waits for compilers whether to leave
    // Seconds that the Slang compiler may take for one module or kernel, and the driver's compiler or NVRTC for one kernel;
    // then the call fails with SPY_ERROR_TIMEOUT. 0: 600; negative: no limit. What is left runs on in a thread of its own
    // until it ends by itself, and keeps its memory (the Slang compiler about 150 MB; the log says so). The next module or
    // kernel takes about 0.3 s more where the Slang compiler was left, to open it again; where a driver was left, the next
    // call that needs the very kernel waits for it, or finds it done.
    double compile_timeout_s;
    bool check_bounds; // for debugging: tensors taken whole check their indices in the kernel, see guide 25
    bool single_threaded; // the program uses the device from one thread at a time by itself: calls leave out the lock
                          // that makes others wait (releases still come from any thread)
    uint64_t _end_canary; // must be 0, as all that is not set: finds a struct that was not zeroed
} spy_device_desc;

// Create a device. NULL on failure; spy_take_error(NULL) then says why, and desc->log has been told.
// Threads: any. Cost: about 0.02-0.2 s; the Slang compiler is loaded with the first module.
SPY_API spy_device *spy_create_device(const spy_device_desc *desc);

// One more holder of the device, which then needs one more release: for parts of a program that share a device and end in any
// order. Threads: any.
SPY_API void spy_retain_device(spy_device *device);

// The last release ends the device and everything that was made from it, in whatever order the program left that; it waits for
// its work. NULL is ignored. From then on every handle that came from the device is freed memory: tensors, modules, functions, prepared
// calls, command lists, cursors and packed values must not be used any more, nor retained or released. What the program wants
// to release itself it releases before. Does not wait for a driver's compiler that a call has left (desc.interrupt,
// desc.compile_timeout_s), but where the driver's objects or the host memory are the program's: with desc.allocator, and on
// an engine's VkInstance or VkDevice, a CUDA context or stream that the program has given.
// Threads: one, the last one that uses the device. A thread that still waits for its turn gets SPY_ERROR_RELEASED.
SPY_API void spy_release_device(spy_device *device);

// The first error since the last call, then forgotten. NULL asks for this thread's errors on NULL or
// released objects, failed device creations, SPY_ERROR_BUSY (which the device keeps, too) and uses of a device in the child of
// a fork. Threads: any.
SPY_API spy_error spy_take_error(spy_device *device);

// A point in the device's order of work. 0: before everything.
typedef uint64_t spy_submit_id;

// Hand all recorded work to the GPU without waiting. Gives the id of that work; 0 on error. Threads: any.
SPY_API spy_submit_id spy_flush(spy_device *device);
// Submit and wait for all work. Threads: any.
SPY_API spy_status spy_wait(spy_device *device);
// Wait for the work up to `id`, at most timeout_ns nanoseconds; SPY_ERROR_NOT_READY when that passes first.
SPY_API spy_status spy_wait_for_submit(spy_device *device, spy_submit_id id, uint64_t timeout_ns);
// Whether the work up to `id` has finished. Never waits.
SPY_API bool spy_is_submit_finished(spy_device *device, spy_submit_id id);

// Call `func` when the device is released, before its objects go. Threads: any.
SPY_API spy_status spy_add_close_callback(spy_device *device,
                                          void (*func)(spy_device *device, void *user_data), void *user_data);

// Give unused pooled memory back to the driver. Waits for the GPU. Threads: any.
SPY_API spy_status spy_trim(spy_device *device);

// Write kernels that are generated from now on to another directory than desc.dump_directory; NULL: to none.
// Errors: SPY_ERROR_IO when it does not exist.
// Threads: any.
SPY_API spy_status spy_set_dump_directory(spy_device *device, const char *directory);

// Bits of spy_device_info.features: what kernels may use on the device.
typedef enum spy_feature {
    SPY_FEATURE_NONE = 0,
    SPY_FEATURE_FLOAT16 = 1 << 0, // element types
    SPY_FEATURE_FLOAT64 = 1 << 1,
    SPY_FEATURE_INT8 = 1 << 2,
    SPY_FEATURE_INT16 = 1 << 3,
    SPY_FEATURE_INT64 = 1 << 4,
    SPY_FEATURE_ATOMIC_FLOAT32_ADD = 1 << 5,
    SPY_FEATURE_TIMESTAMPS = 1 << 6, // GPU times: spy_list_timestamp(), spy_get_calibration(), spy_time_call()
    SPY_FEATURE_SUBGROUPS = 1 << 7,  // arithmetic of a wave's lanes
    SPY_FEATURE_POINTERS = 1 << 8    // addresses of tensors, and tensors that a function takes whole
} spy_feature;

// What a device or an adapter is.
typedef struct spy_device_info {
    const char *backend;             // "vulkan", "null"
    char name[256];                  // the adapter's name
    char driver[256];                // driver name and version
    spy_adapter_type type;           // never DEFAULT
    uint32_t api_version;            // the backend's own encoding
    uint32_t features;               // bits of spy_feature
    uint32_t subgroup_size;          // lanes of a wave
    uint32_t max_group_size;         // threads in a group
    uint32_t max_group_count;        // groups in one dimension of a dispatch; larger calls are folded
    uint32_t max_inline_block_bytes; // parameters that travel with a dispatch (push constants)
    uint64_t memory_bytes;           // of the largest device-local heap
    uint64_t max_binding_bytes;      // largest range of one structured buffer
    double timestamp_period_ns;      // length of one tick of the GPU's clock; 0: no timestamps
} spy_device_info;

// What the device is. NULL device: all zero. Threads: any.
SPY_API spy_device_info spy_get_device_info(const spy_device *device);

// List the adapters of a backend: fills at most `capacity` entries of `infos` (may be NULL) and returns how many
// there are. 0 with an error for spy_take_error(NULL) when the driver cannot be opened. Threads: any.
SPY_API size_t spy_enumerate_adapters(const spy_backend *backend, spy_device_info *infos, size_t capacity);

// Counts since the device was made, for tests and tuning. Threads: any.
typedef struct spy_device_stats {
    uint64_t calls;              // spy_call and prepared calls that reached the GPU
    uint64_t plan_hits;          // ... whose plan was found ready
    uint64_t plans_built;        // bound and emitted
    uint64_t kernels_built;      // compiled to pipelines
    uint64_t dispatches;         // recorded
    uint64_t barriers;           // recorded
    uint64_t submits;            // queue submissions
    uint64_t plan_count;         // plans alive
    uint64_t pool_bytes;         // device memory held from the driver
    uint64_t used_bytes;         // of which tensors and temporaries use now
    uint64_t driver_allocations; // memory allocations asked from the driver
    uint64_t compiler_loads;  // times the Slang library was opened
    uint64_t driver_bytes;    // memory held from the driver: the pool's, and that of parameters, uploads and downloads
    uint64_t recordings;      // into an engine's command buffers, not reported by spy_vk_recording_finished() yet
    uint64_t recording_bytes; // memory that waits for these reports: parameters, uploads, freed tensors and temporaries
} spy_device_stats;

// What the device has counted so far. NULL device: all zero. Threads: any.
SPY_API spy_device_stats spy_get_device_stats(spy_device *device);

// One moment on two clocks: the GPU's, as spy_list_read_timestamps() gives it, and the host's monotonic one
// (CLOCK_MONOTONIC, QueryPerformanceCounter).
typedef struct spy_calibration {
    uint64_t gpu_ns;
    uint64_t host_ns;
} spy_calibration;

// Waits for all work, then asks the GPU for its time: right to within such a wait, some 10 us. SPY_ERROR_UNSUPPORTED
// without SPY_FEATURE_TIMESTAMPS. Threads: any.
SPY_API spy_status spy_get_calibration(spy_device *device, spy_calibration *calibration);

#ifdef __cplusplus
}
#endif

#endif // SPY_API_DEVICE_H

// Devices: a device is a GPU with its memory pool, its compiler sessions and its cache of compiled calls.
#ifndef SPY_API_DEVICE_H
#define SPY_API_DEVICE_H

#include "api/base.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct spy_device spy_device;
struct spy_module;                       // declared in module.h
typedef struct spyi_backend spy_backend; // made by spy_vk_backend(), spy_cuda_backend(), spy_d3d12_backend()

// The type of an adapter. In spy_device_desc it is the type that the device must have.
typedef enum spy_adapter_type {
    SPY_ADAPTER_TYPE_DEFAULT = 0, // any; a discrete GPU is preferred to an integrated one, and that to a CPU
    SPY_ADAPTER_TYPE_DISCRETE,
    SPY_ADAPTER_TYPE_INTEGRATED,
    SPY_ADAPTER_TYPE_CPU // a software device such as Mesa's lavapipe
} spy_adapter_type;

// The contents of a file, filled by spy_file_hook.open.
typedef struct spy_file {
    const void *data; // need not end with a NUL
    size_t size_bytes;
    void *handle; // for the hook's own use
} spy_file;

// Provides Slang files by path, for programs that keep them in archives. The library asks it before it looks
// on the disk: for a module's own file, for what the module imports (as NAME.slang-module, then as
// NAME.slang) and for what it includes, in each search path in turn. The library holds a lock meanwhile, so a
// hook must not call the library. Threads: one at a time, the thread that loads or reloads a module; after
// spy_poll_reload() a thread of the library.
typedef struct spy_file_hook {
    // Fills `file` and returns true, or returns false: the library then looks on the disk. `path` is valid
    // during the call. What `file` points to must stay unchanged until the library, which copies it, calls
    // `close` on the same thread, before the next `open`.
    bool (*open)(const char *path, spy_file *file, void *user_data);
    void (*close)(spy_file *file, void *user_data); // NULL means that nothing is to be freed
    // Returns a number that differs when the file has changed, or 0 if the hook has no such file.
    // spy_poll_reload() asks for it. NULL means that changes of the hook's files are not noticed.
    uint64_t (*stamp)(const char *path, void *user_data);
    void *user_data;
} spy_file_hook;

// Called after each reload of a module (see spy_reload_module), on the thread that asked for the reload, when
// all modules of that reload are in place. `message` is "" or the compiler's text. The function may use the
// device and the module.
typedef struct spy_reload_hook {
    void (*func)(struct spy_module *module, spy_status status, const char *message,
                 void *user_data); // NULL means that it is not called
    void *user_data;
} spy_reload_hook;

// Options of spy_create_device(). All members but `backend` may stay zero.
typedef struct spy_device_desc {
    const spy_backend *backend; // required: the API that drives the GPU
    const void *backend_desc;   // spy_vk_desc or spy_cuda_desc, to bring one's own API objects; NULL means
                                // that the library creates them
    uint32_t adapter;           // 1 is the first of spy_enumerate_adapters(); 0 means that adapter_name and
                                // adapter_type choose
    const char *adapter_name;   // a part of the adapter's name, case ignored; NULL means any name
    spy_adapter_type adapter_type;  // only this type; default: the best available
    spy_log log;                    // receives errors and warnings, also those of a failed creation
    spy_progress progress;          // called around slow steps
    spy_blocking blocking;          // called around compilers and waits
    spy_allocator allocator;        // default: malloc
    const char *slang_library;      // the path of libslang-compiler; NULL means that it is searched (see the
                                    // guide)
    const char *const *slang_paths; // folders or files that the search tries after the program's own folder
    size_t slang_path_count;
    const char *const *include_paths; // searched by `import` and #include after the module's own folder
    size_t include_path_count;
    spy_file_hook files;        // provides Slang files, before the disk
    spy_reload_hook reload;     // called when a module was reloaded, or its reload failed
    const char *dump_directory; // an existing folder, to which generated kernels are written as NAME.slang
                                // and NAME.spv; NULL if there is none
    uint32_t max_plans;         // the number of compiled calls to keep (0 means 1024); the least recently
                                // used one is dropped
    bool enable_validation;     // use the Vulkan validation layer, when installed; its messages go to the log
    const char *label;          // the name in debug tools and messages
    bool enable_print;          // print() in Slang reaches the log (see api/print.h); false means that
                                // print() does nothing
    size_t print_buffer_bytes;  // the capacity for what is printed between two deliveries; 0 means 1 MiB
    spy_interrupt interrupt;    // asked during waits whether to stop waiting
    // The time limit, in seconds, of the Slang compiler for one module or kernel, and of the driver's
    // compiler or NVRTC for one kernel. When it passes, the call fails with SPY_ERROR_TIMEOUT. 0 means 600,
    // and a negative number means no limit. The compilation continues in a thread of its own until it ends by
    // itself, and keeps its memory until then (the Slang compiler about 150 MB; the log says so). After a
    // timeout of the Slang compiler, the next module or kernel takes about 0.3 s more, to open the compiler
    // again. After a timeout of the driver's compiler, the next call that needs the same kernel waits for it,
    // or finds it done.
    double compile_timeout_s;
    bool check_bounds; // for debugging: kernels check the indices of tensors that a function indexes itself;
                       // see chapter 26 of the guide
    bool single_threaded; // the program promises to use the device from one thread at a time, so that calls
                          // need no lock (releases may still come from any thread)
    // A folder of this user's in which compiled code and the compiler's answers are kept, so that a later start of
    // a program needs neither libslang nor NVRTC for what it has called before. NULL means the environment
    // variable SLANGPY_CACHE or, without it, `slangpy` in the user's cache folder. "" or "off": nothing is kept.
    const char *cache_path;
    uint64_t cache_size_bytes; // above this size, files that were not used for longest are removed; 0 means 1
                               // GiB
    // A device with a pack (api/pack.h) never opens the Slang compiler, and reads no Slang file: modules and
    // calls are found in the pack. Without cache_path it keeps nothing on disk.
    const char *pack; // the pack's file; NULL means pack_data, or no pack
    const void
        *pack_data; // a pack in memory, which must stay unchanged until the device is released; NULL if there
                    // is none
    size_t pack_size_bytes; // the size of pack_data in bytes
    bool record_pack;       // record the modules and calls that spy_save_pack() writes
    // With record_pack or a pack: the device needs no GPU and no driver. Calls are checked and compute
    // nothing. Tensors hold what the program writes; textures read as zeros.
    bool offline;
    // CUDA, with record_pack: the compute capabilities (90 for sm_90) to compile kernels for; the smallest one also
    // serves all devices that are not named, as PTX. NULL means the device's own.
    const uint32_t *pack_archs;
    size_t pack_arch_count;
    uint64_t _end_canary; // must be 0, like all unset members: detects a struct that was not zeroed
} spy_device_desc;

// Creates a device. Returns NULL on failure; spy_take_error(NULL) then has the reason, in the place of any
// earlier error of this thread, and desc->log has received it. The caller releases the device. Threads: any.
// Cost: about 0.02-0.2 s; the Slang compiler is loaded with the first module.
SPY_API spy_device *spy_create_device(const spy_device_desc *desc);

// Adds one reference to the device, which then needs one more release: for parts of a program that share a
// device and end in any order. Threads: any.
SPY_API void spy_retain_device(spy_device *device);

// Drops one reference. The last release waits for the device's work and frees the device and all objects that
// were created from it. From then on every handle that came from the device is freed memory: tensors,
// modules, functions, prepared calls, command lists, cursors and packed values must not be used, retained or
// released any more. A program that releases such objects itself must do so before. NULL is ignored. It does
// not wait for a driver's compilation that a call has stopped waiting for (desc.interrupt,
// desc.compile_timeout_s), except where that compilation uses what belongs to the program: desc.allocator, an
// engine's VkInstance or VkDevice, or a CUDA context or stream of the program.
// Threads: only the last thread that uses the device. A thread whose call still waits for another call gets
// SPY_ERROR_RELEASED.
SPY_API void spy_release_device(spy_device *device);

// Returns the first error since the last spy_take_error() and clears it. With a NULL device it returns this
// thread's errors that belong to no device: uses of NULL or released objects, failed device creations,
// SPY_ERROR_BUSY (which the device keeps, too) and uses of a device in the child of a fork. Threads: any.
SPY_API spy_error spy_take_error(spy_device *device);
// Returns the names of what a call needs and was not given, when that is the error that spy_take_error() returned
// last: parameters, or global shader parameters, such as "gain" and "block.color". Each name ends with a NUL, and
// an empty name ends the list: `for (const char *n = spy_missing_names(device); *n; n += strlen(n) + 1)`. The list
// is empty for other errors, for NULL, and from its 2,048th byte on. It stays valid until the next spy_take_error().
// Threads: as spy_take_error.
SPY_API const char *spy_missing_names(const spy_device *device);

// A point in the device's order of work. 0 means before all work.
typedef uint64_t spy_submit_id;

// Submits all recorded work to the GPU without waiting. Returns the id of that work; 0 on error. Threads:
// any.
SPY_API spy_submit_id spy_flush(spy_device *device);
// Submits all recorded work and waits until all work is done. Threads: any.
SPY_API spy_status spy_wait(spy_device *device);
// Waits for the work up to `id`, for at most timeout_ns nanoseconds; SPY_ERROR_NOT_READY when the time passes
// first. Threads: any.
SPY_API spy_status spy_wait_for_submit(spy_device *device, spy_submit_id id, uint64_t timeout_ns);
// Returns whether the work up to `id` has finished. Never waits. Threads: any.
SPY_API bool spy_is_submit_finished(spy_device *device, spy_submit_id id);

// Registers `func` to be called when the device is released, before its objects are freed. Threads: any.
SPY_API spy_status spy_add_close_callback(spy_device *device,
                                          void (*func)(spy_device *device, void *user_data), void *user_data);

// Returns unused pooled memory to the driver. Waits for the GPU. Threads: any.
SPY_API spy_status spy_trim(spy_device *device);

// Writes kernels that are generated from now on to `directory` instead of desc.dump_directory; NULL means
// that none are written. Returns SPY_ERROR_IO when the directory does not exist. Threads: any.
SPY_API spy_status spy_set_dump_directory(spy_device *device, const char *directory);

// The bits of spy_device_info.features: features that kernels can use on the device.
typedef enum spy_feature {
    SPY_FEATURE_NONE = 0,
    SPY_FEATURE_FLOAT16 = 1 << 0, // this bit and the next four are element types of tensors
    SPY_FEATURE_FLOAT64 = 1 << 1,
    SPY_FEATURE_INT8 = 1 << 2,
    SPY_FEATURE_INT16 = 1 << 3,
    SPY_FEATURE_INT64 = 1 << 4,
    SPY_FEATURE_ATOMIC_FLOAT32_ADD = 1 << 5,
    SPY_FEATURE_TIMESTAMPS = 1 << 6, // GPU times: spy_list_timestamp(), spy_get_calibration(),
                                     // spy_time_call()
    SPY_FEATURE_SUBGROUPS = 1 << 7,  // arithmetic over the lanes of a wave
    SPY_FEATURE_POINTERS = 1 << 8,   // the addresses of tensors, and tensors that a function indexes itself
    SPY_FEATURE_HANDLES = 1 << 9,    // DescriptorHandle<T>: see spy_texture_handle()
    // Vulkan: linalg.CoopMat with 16 x 16 elements of a subgroup, whose inputs are half and whose sums are float
    SPY_FEATURE_COOPERATIVE_MATRIX = 1 << 10,
    // Vulkan: CoopMat.convertUse() between them (VK_NV_cooperative_matrix2)
    SPY_FEATURE_COOPERATIVE_MATRIX_CONVERSIONS = 1 << 11
} spy_feature;

// The properties of a device or an adapter.
typedef struct spy_device_info {
    const char *backend;             // "vulkan", "cuda" or "null"
    char name[256];                  // the adapter's name
    char driver[256];                // driver name and version
    spy_adapter_type type;           // never DEFAULT
    uint32_t api_version;            // in the backend's own encoding
    uint32_t features;               // bits of spy_feature
    uint32_t subgroup_size;          // lanes of a wave
    uint32_t max_group_size;         // threads in a group
    uint32_t max_group_count;        // groups in one dimension of a dispatch; larger calls are folded into
                                     // several dimensions
    uint32_t max_inline_block_bytes; // largest parameter block that is part of the dispatch (push constants)
    uint64_t memory_bytes;           // the size of the largest device-local heap
    uint64_t max_binding_bytes;      // largest range of one structured buffer
    double timestamp_period_ns;      // nanoseconds of one tick of the GPU's clock; 0 means no timestamps
    uint32_t multiprocessor_count;   // parts of the GPU that run groups at the same time; 0 if not known. A
                                     // kernel whose groups take several portions of work each (a persistent
                                     // kernel) is dispatched with a multiple of this number of groups
    uint32_t max_shared_bytes;       // largest spy_call_options.shared_bytes, CUDA only; 0 if there is none
    uint32_t max_groupshared_bytes;  // largest size of all groupshared variables of a kernel
} spy_device_info;

// Returns the properties of the device; all zero for NULL. Threads: any.
SPY_API spy_device_info spy_get_device_info(const spy_device *device);

// Lists the adapters of a backend: fills at most `capacity` entries of `infos` (which may be NULL) and
// returns the number of adapters. Returns 0 with an error for spy_take_error(NULL) when the driver cannot be
// opened. Threads: any.
SPY_API size_t spy_enumerate_adapters(const spy_backend *backend, spy_device_info *infos, size_t capacity);

// Counts since the device was created, for tests and tuning.
typedef struct spy_device_stats {
    uint64_t calls;              // calls that reached the GPU, by spy_call() and its variants
    uint64_t plan_hits;          // calls whose plan (the compiled call) was in the cache
    uint64_t plans_built;        // plans that were made: arguments bound, kernel text generated
    uint64_t kernels_built;      // kernels that were compiled to pipelines
    uint64_t dispatches;         // dispatches that were recorded
    uint64_t barriers;           // barriers that were recorded
    uint64_t submits;            // queue submissions
    uint64_t plan_count;         // plans that exist now
    uint64_t pool_bytes;         // device memory that the pool holds from the driver
    uint64_t used_bytes;         // the part of pool_bytes that tensors and temporaries use now
    uint64_t driver_allocations; // memory allocations requested from the driver
    uint64_t compiler_loads;     // times that the Slang library was opened
    uint64_t driver_bytes;    // memory held from the driver: the pool's, and that for parameters, uploads and
                              // downloads
    uint64_t recordings;      // recordings into an engine's command buffers that spy_vk_recording_finished()
                              // has not reported
    uint64_t recording_bytes; // memory that is kept until these reports: parameters, uploads, freed tensors
                              // and temporaries
    uint64_t cache_hits;      // kernels whose code came from the cache on disk (desc.cache_path)
    uint64_t cache_misses;    // kernels that were compiled and are in the cache from now on
    uint64_t cache_writes;    // files written to the cache: code, and answers of the compiler about modules
    uint64_t texture_bytes; // the part of driver_bytes that textures have, with released ones whose work has
                            // not finished
} spy_device_stats;

// Returns the device's counts so far; all zero for NULL. Threads: any.
SPY_API spy_device_stats spy_get_device_stats(spy_device *device);

// One moment on two clocks, in nanoseconds: the GPU's clock, as in spy_list_read_timestamps(), and the host's
// monotonic clock (CLOCK_MONOTONIC, QueryPerformanceCounter).
typedef struct spy_calibration {
    uint64_t gpu_ns;
    uint64_t host_ns;
} spy_calibration;

// Waits for all work, then reads both clocks into *calibration; the two times differ by at most the duration
// of a wait for the GPU, about 10 us. SPY_ERROR_UNSUPPORTED without SPY_FEATURE_TIMESTAMPS. Threads: any.
SPY_API spy_status spy_get_calibration(spy_device *device, spy_calibration *calibration);

#ifdef __cplusplus
}
#endif

#endif // SPY_API_DEVICE_H

// Modules and functions: Slang source code by name.
#ifndef SPY_API_MODULE_H
#define SPY_API_MODULE_H

#include "api/device.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct spy_module spy_module;
typedef struct spy_function spy_function;

// A preprocessor macro.
typedef struct spy_define {
    const char *name;
    const char *value; // NULL: "1"
} spy_define;

// How far SPIR-V is optimised before the driver sees it. Drivers optimise themselves, so that the default is none.
// LOW to HIGHEST need Slang's library slang-glslang beside the compiler; without it they are as NONE, and the device's log
// gets one warning. Kernels with backward derivatives are always as NONE: what the library puts right in them (chapter 23 of the
// guide) cannot be put right behind the optimiser. On CUDA NVRTC optimises fully whatever is asked; a warning says so.
typedef enum spy_optimization {
    SPY_OPTIMIZATION_DEFAULT = 0, // as NONE
    SPY_OPTIMIZATION_NONE,
    SPY_OPTIMIZATION_LOW,
    SPY_OPTIMIZATION_HIGH,
    SPY_OPTIMIZATION_HIGHEST
} spy_optimization;

// What kernels carry for debuggers and profilers. LINES and FULL use SPIR-V's non-semantic debug information: Vulkan
// 1.3, or the extension VK_KHR_shader_non_semantic_info. On CUDA they are NVRTC's -lineinfo and -G, with the lines of
// the Slang sources; -G turns optimisations off.
typedef enum spy_debug_info {
    SPY_DEBUG_INFO_DEFAULT = 0, // as NONE
    SPY_DEBUG_INFO_NONE,
    SPY_DEBUG_INFO_LINES, // lines of functions
    SPY_DEBUG_INFO_FULL   // variables and the sources too
} spy_debug_info;

// How exactly floating-point code is kept.
typedef enum spy_float_mode {
    SPY_FLOAT_MODE_DEFAULT = 0, // the driver, or NVRTC, may fuse a * b + c
    SPY_FLOAT_MODE_PRECISE,     // it may not. To drivers Slang before 2026.14 cannot say so: SPY_ERROR_UNSUPPORTED
    SPY_FLOAT_MODE_FAST         // infinities and NaN may be taken not to occur, and on CUDA (NVRTC's -use_fast_math) sin,
                                // exp, / and others are approximate, denormals 0. No effect on SPIR-V: a warning says so
} spy_float_mode;

// How a module and the kernels made for it are compiled. Zero is the default of each. Matrices are always row-major,
// memory is always laid out by the scalar rules. An option that the target or the Slang library at hand cannot honour
// is an error or a logged warning.
typedef struct spy_compile_options {
    spy_optimization optimization;
    spy_debug_info debug_info;
    spy_float_mode float_mode;
    bool warnings_as_errors;    // of the module's code, and of what it imports
    bool experimental_features; // of the language
} spy_compile_options;

// Where a module comes from and how it is compiled. One of path, source and precompiled is needed.
typedef struct spy_module_desc {
    const char *path;                  // a .slang or .slang-module file; may be NULL when source or precompiled is given.
                                       // When it is relative and not there, the include paths are searched for it
    const char *source;                // Slang text; NULL: read from path
    size_t source_size_bytes;          // 0: source ends at its NUL
    const void *precompiled;           // contents of a .slang-module file instead of source
    size_t precompiled_size_bytes;
    const char *name;                  // module name; default: the file's name without folder and ending, or "module"
    const char *const *include_paths;  // searched before the device's
    size_t include_path_count;
    const spy_define *defines;         // preprocessor macros
    size_t define_count;
    spy_module *const *link;           // further modules whose exports complete this one's externs. Parameters cannot have
                                       // types that only a link completes
    size_t link_count;
    const char *const *conformances;   // "Circle : IShape" or "Circle : IShape = 3" (the id that createDynamicObject takes):
                                       // kernels know these types behind the interface and no others; default: all
    size_t conformance_count;
    spy_compile_options options;
    bool strict_broadcasting;          // arguments must have the call's full rank; missing leading dimensions are errors
    // Precompiled modules (this one and what it imports) may lack the seal that spy_save_module() and spy_serialize_module()
    // write, as slangc's do. Slang crashes on many that are damaged; a seal tells before.
    bool trust_precompiled;
    uint64_t _end_canary; // must be 0, as all that is not set: finds a struct that was not zeroed
} spy_module_desc;

// Load a module. NULL on failure; the device's error then carries the compiler's text with file and line.
// A precompiled module needs the Slang version that wrote it; its imports are searched for as .slang-module and .slang.
// Released by the caller, or with the device. Threads: any.
// Cost: 5-50 ms; the first one of a process about 0.3 s more, for loading the compiler.
SPY_API spy_module *spy_load_module(spy_device *device, const spy_module_desc *desc);
// One more holder of the module, which then needs one more release. Threads: any.
SPY_API void spy_retain_module(spy_module *module);
// Before the device is released, as all uses of its objects. The last release ends the module's functions. Threads: any,
// at any time. NULL is ignored.
SPY_API void spy_release_module(spy_module *module);

// Write a module in compiled form, as a .slang-module file that spy_load_module, slangc and `import` of the same Slang
// version take in place of its source. It holds this module alone: what it imports stays needed.
// SPY_ERROR_IO: `path` cannot be written. Threads: any.
SPY_API spy_status spy_save_module(spy_module *module, const char *path);
// The same into memory. Works like snprintf, as spy_explain_call() does: writes at most `capacity_bytes` bytes to `data`, which
// may be NULL when that is 0, and returns how many there are; 0 on error. Threads: any.
SPY_API size_t spy_serialize_module(spy_module *module, void *data, size_t capacity_bytes);

// >>reload

// Load a module's code again: its file, or the text or bytes that it was loaded from, and what it imports, includes and
// links as far as that has changed. Modules that link or import it follow. `source`: new text (NUL-terminated), or NULL;
// a module that was loaded from memory keeps it for later reloads, one from a file goes back to the file when that
// changes or is asked for by NULL. Either all modules concerned are replaced or, when one does not compile, none: then
// everything stays as it was, and the error carries the compiler's text.
// Function handles stay valid and mean the new code. One whose function has gone says so when it is next called, until
// a later reload brings it back. Work in flight keeps the old code. Prepared calls are compiled anew for the kinds of
// arguments that they were last given, and keep running the old kernel until that is done; a call that gives other kinds
// after a reload has them prepared then. Tensors stay; one of a struct whose layout has changed fits only functions that
// still know the old layout: a call says so.
// Returns when everything is compiled, prepared calls too; other threads use the device meanwhile. Does not wait for the
// GPU. Threads: any. Cost: as loading.
SPY_API spy_status spy_reload_module(spy_module *module, const char *source);

// What a look for changed files has found.
typedef struct spy_reload_info {
    uint32_t reloaded;  // modules that have new code
    uint32_t failed;    // reloads that failed; those modules keep their code, and are tried again after the next change
    uint32_t compiling; // modules, or prepared calls of reloaded ones, that a thread still compiles
} spy_reload_info;

// Reload in the background all modules whose files have changed on disk, or in the file hook: those that a module was made
// of, and those that were looked for in vain. Looks at most once in `interval_ns` nanoseconds (0: each time), so that it may
// be called each frame. What has changed is compiled by a thread of the library while calls go on with the old code; a later
// spy_poll_reload() finds it done, puts it in place and counts it in `info` (may be NULL). Neither compiles nor waits.
// SPY_OK: nothing has failed since the last poll. Else as spy_reload_module(), for the first that failed.
// Threads: any. Cost: without a look 0.1 us, a look about 2 us a file.
SPY_API spy_status spy_poll_reload(spy_device *device, uint64_t interval_ns, spy_reload_info *info);

// The same, waiting: when it looks, it returns after all that has changed is reloaded, prepared calls too.
// Threads: any; others use the device meanwhile. Cost: without a look 0.1 us, without a change 2 us a file, else as loading.
SPY_API spy_status spy_reload_changed(spy_device *device, uint64_t interval_ns, spy_reload_info *info);

// Find a function by name: "f", "ns::f", "Type::method", or specialised, "f<float, 4>". NULL if there is none;
// the error lists the nearest names. Borrowed: lives as long as its module. Threads: any.
SPY_API spy_function *spy_find_function(spy_module *module, const char *name);
SPY_API const char *spy_function_name(const spy_function *function);
SPY_API spy_module *spy_function_module(const spy_function *function);

// Whether the module can see a type of that name ("Particle", "float3", "Foo<3>"). No error is raised.
SPY_API bool spy_has_type(spy_module *module, const char *name);
// Bytes of one element of that type in C's layout, which host data is given in; 0 and an error if unknown.
SPY_API size_t spy_type_size_bytes(spy_module *module, const char *name);

#ifdef __cplusplus
}
#endif

#endif // SPY_API_MODULE_H

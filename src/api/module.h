// Modules and functions: loads Slang code, reloads it when it changes, and finds functions and types by name.
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
    const char *value; // NULL means "1"
} spy_define;

// How much Slang optimises SPIR-V before the driver compiles it. Drivers optimise too, so the default is
// NONE. LOW to HIGHEST need Slang's library slang-glslang beside the compiler; without it they act as NONE,
// and the device's log gets one warning. Kernels with backward derivatives always use NONE: the library
// corrects their SPIR-V (chapter 9 of the guide), which is not possible after the optimiser. On CUDA, NVRTC
// always optimises fully; a warning says so.
typedef enum spy_optimization {
    SPY_OPTIMIZATION_DEFAULT = 0, // same as NONE
    SPY_OPTIMIZATION_NONE,
    SPY_OPTIMIZATION_LOW,
    SPY_OPTIMIZATION_HIGH,
    SPY_OPTIMIZATION_HIGHEST
} spy_optimization;

// The debug information in kernels, for debuggers and profilers. LINES and FULL use SPIR-V's non-semantic
// debug information, which needs Vulkan 1.3 or the extension VK_KHR_shader_non_semantic_info. On CUDA they
// are NVRTC's -lineinfo and -G, with the lines of the Slang sources; -G turns optimisations off.
typedef enum spy_debug_info {
    SPY_DEBUG_INFO_DEFAULT = 0, // same as NONE
    SPY_DEBUG_INFO_NONE,
    SPY_DEBUG_INFO_LINES, // source lines
    SPY_DEBUG_INFO_FULL   // source lines, variables and the source text
} spy_debug_info;

// How strictly compilers keep floating-point expressions.
typedef enum spy_float_mode {
    SPY_FLOAT_MODE_DEFAULT = 0, // the driver, or NVRTC, may fuse a * b + c
    SPY_FLOAT_MODE_PRECISE,     // fusing is forbidden. On Vulkan this needs Slang 2026.14 or later, and gives
                                // SPY_ERROR_UNSUPPORTED otherwise
    SPY_FLOAT_MODE_FAST         // compilers may assume that infinities and NaN do not occur; on CUDA (NVRTC's
                                // -use_fast_math) sin, exp, / and others are approximate and denormals are 0.
                                // No effect on SPIR-V: a warning says so
} spy_float_mode;

// How a module and its kernels are compiled; zero is the default of each option. Matrices are always
// row-major, and memory always has Slang's scalar layout. An option that the target or the Slang library does
// not support is an error or a logged warning.
typedef struct spy_compile_options {
    spy_optimization optimization;
    spy_debug_info debug_info;
    spy_float_mode float_mode;
    bool warnings_as_errors;    // treat warnings as errors, in the module's code and in what it imports
    bool experimental_features; // allow experimental features of the Slang language
} spy_compile_options;

// The source of a module, and how it is compiled. One of path, source and precompiled is required.
typedef struct spy_module_desc {
    const char *path;                  // a .slang or .slang-module file; may be NULL when source or
                                       // precompiled is given. A relative path that does not exist is
                                       // searched for in the include paths
    const char *source;                // Slang text; NULL means that the text is read from `path`
    size_t source_size_bytes;          // 0 means that `source` ends at its NUL
    const void *precompiled;           // contents of a .slang-module file, instead of source
    size_t precompiled_size_bytes;
    const char *name;                  // module name; default: the file's name without folder and ending, or
                                       // "module"
    const char *const *include_paths;  // folders that are searched before the device's include paths
    size_t include_path_count;
    const spy_define *defines;         // preprocessor macros
    size_t define_count;
    spy_module *const *link;           // further modules, whose exports define this module's externs.
                                       // Function parameters cannot have types that are defined only by
                                       // linking
    size_t link_count;
    const char *const *conformances;   // "Circle : IShape" or "Circle : IShape = 3" (the id for
                                       // createDynamicObject): the types that values of the interface may
                                       // have in kernels; default: all
    size_t conformance_count;
    spy_compile_options options;
    bool strict_broadcasting;          // arguments must have the call's full rank: missing leading dimensions
                                       // are errors
    bool zero_missing;                 // numbers of shader parameters that are not given are 0, and so
                                       // are fields that are missing from structs; by default both are errors
    // Accept precompiled modules (this one and its imports) without the seal, a checksum that
    // spy_save_module() and spy_serialize_module() write and slangc does not. Slang crashes on many damaged
    // modules; the seal detects damage before Slang reads the module.
    bool trust_precompiled;
    uint64_t _end_canary; // must be 0, like all unset members: detects a struct that was not zeroed
} spy_module_desc;

// Loads a module. Returns NULL on failure; the device's error then has the compiler's text with file and
// line. A precompiled module needs the Slang version that wrote it; its imports are searched for as
// .slang-module and .slang. The caller releases it, or it is released with the device. Threads: any. Cost:
// 5-50 ms; the first one of a process about 0.3 s more, for loading the compiler.
SPY_API spy_module *spy_load_module(spy_device *device, const spy_module_desc *desc);
// Adds one reference to the module, which then needs one more release. Threads: any.
SPY_API void spy_retain_module(spy_module *module);
// Drops one reference; the last one frees the module and its functions. Call it before the device is
// released. NULL is ignored. Threads: any, at any time.
SPY_API void spy_release_module(spy_module *module);

// Writes a module in compiled form to the file `path` (.slang-module), which spy_load_module, slangc and
// `import` of the same Slang version accept instead of the source. The file holds only this module; its
// imports are still needed. Returns SPY_ERROR_IO when `path` cannot be written. Threads: any.
SPY_API spy_status spy_save_module(spy_module *module, const char *path);
// Writes a module in compiled form to memory. Works like snprintf: writes at most `capacity_bytes` bytes to
// `data`, which may be NULL when capacity_bytes is 0, and returns the size of the compiled module in bytes; 0
// on error. Threads: any.
SPY_API size_t spy_serialize_module(spy_module *module, void *data, size_t capacity_bytes);

// >>reload

// Loads a module's code again: its file, or the text or bytes that it was loaded from, and those of its
// imports, includes and links that have changed. Modules that link or import it are reloaded too. `source` is
// new text (NUL-terminated) or NULL. A module that was loaded from memory keeps the new text for later
// reloads; a module from a file returns to the file when the file changes, or when `source` is NULL. When one
// of these modules does not compile, none is replaced, and the error has the compiler's text.
// Function handles stay valid and refer to the new code. When the new code lacks the function, calls of the
// handle fail until a later reload brings the function back. Work in flight keeps the old code. Prepared
// calls are compiled again for the kinds of their last arguments, and run the old kernel until that is done;
// a call with other kinds of arguments after a reload is prepared then. Tensors stay valid; a tensor of a
// struct whose layout has changed fits only functions that still have the old layout, and other calls fail.
// Returns when everything is compiled, including prepared calls; other threads can use the device meanwhile.
// Does not wait for the GPU. Threads: any. Cost: as loading.
SPY_API spy_status spy_reload_module(spy_module *module, const char *source);

// The result of a check for changed files.
typedef struct spy_reload_info {
    uint32_t reloaded;  // the number of modules that have new code
    uint32_t failed;    // the number of modules whose reload failed; they keep their code, and are tried
                        // again after the next change
    uint32_t compiling; // the number of modules, and of prepared calls of reloaded modules, that a thread
                        // still compiles
} spy_reload_info;

// Reloads in the background all modules whose files have changed on disk or in the file hook. It checks the
// files that a module was made of, and paths at which a file was searched for but did not exist. It checks at
// most once in `interval_ns` nanoseconds (0 means at each call), so it may be called each frame. A thread of
// the library compiles changed modules while calls use the old code; a later spy_poll_reload() puts the new
// code in place and counts it in `info` (which may be NULL). This function neither compiles nor waits.
// Returns SPY_OK when no reload has failed since the last poll, else the error of spy_reload_module() for the
// first module that failed. Threads: any. Cost: 0.1 us without a check; a check takes about 2 us for each
// file.
SPY_API spy_status spy_poll_reload(spy_device *device, uint64_t interval_ns, spy_reload_info *info);

// Like spy_poll_reload(), but when it finds changes it waits until all changed modules and their prepared
// calls are reloaded. Threads: any; other threads can use the device meanwhile. Cost: 0.1 us without a check,
// 2 us for each file without a change, else as loading.
SPY_API spy_status spy_reload_changed(spy_device *device, uint64_t interval_ns, spy_reload_info *info);

// Finds a function by name: "f", "ns::f", "Type::method", or with generic arguments, "f<float, 4>". Returns
// NULL if there is none; the error lists the nearest names. Borrowed: the function lives as long as its
// module. Threads: any.
SPY_API spy_function *spy_find_function(spy_module *module, const char *name);
SPY_API const char *spy_function_name(const spy_function *function);
SPY_API spy_module *spy_function_module(const spy_function *function);

// Returns whether a type of that name ("Particle", "float3", "Foo<3>") is visible in the module. Raises no
// error for an unknown type.
SPY_API bool spy_has_type(spy_module *module, const char *name);
// Returns the size in bytes of one element of a type in C's layout, the layout of host data; 0 with an error
// for an unknown type.
SPY_API size_t spy_type_size_bytes(spy_module *module, const char *name);

#ifdef __cplusplus
}
#endif

#endif // SPY_API_MODULE_H

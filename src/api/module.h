// Modules and functions: Slang source code by name.
#ifndef SPY_API_MODULE_H
#define SPY_API_MODULE_H

#include "api/device.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct spy_module spy_module;
typedef struct spy_function spy_function;

typedef struct spy_define {
    const char *name;
    const char *value; // NULL: "1"
} spy_define;

typedef struct spy_module_desc {
    const char *path;                  // a .slang file; may be NULL when source is given
    const char *source;                // Slang text; NULL: read from path
    size_t source_size_bytes;          // 0: source ends at its NUL
    const char *name;                  // module name; default: the file's name without folder and ending, or "module"
    const char *const *include_paths;  // searched before the device's
    size_t include_path_count;
    const spy_define *defines;         // preprocessor macros
    size_t define_count;
    spy_module *const *link;           // further modules whose exports complete this one's externs
    size_t link_count;
    bool strict_broadcasting;          // arguments must have the call's full rank; missing leading dimensions are errors
} spy_module_desc;

// Load a module. NULL on failure; the device's error then carries the compiler's text with file and line.
// Released by the caller, or with the device. Threads: one at a time a device.
// Cost: 5-50 ms; the first one of a process about 0.3 s more, for loading the compiler.
spy_module *spy_load_module(spy_device *device, const spy_module_desc *desc);
void spy_retain_module(spy_module *module);
void spy_release_module(spy_module *module);

// Find a function by name: "f", "ns::f", "Type::method", or specialised, "f<float, 4>". NULL if there is none;
// the error lists the nearest names. Borrowed: lives as long as its module. Threads: one at a time a device.
spy_function *spy_find_function(spy_module *module, const char *name);
const char *spy_function_name(const spy_function *function);
spy_module *spy_function_module(const spy_function *function);

// Whether the module can see a type of that name ("Particle", "float3", "Foo<3>"). No error is raised.
bool spy_has_type(spy_module *module, const char *name);
// Bytes of one element of that type in C's layout, which host data is given in; 0 and an error if unknown.
size_t spy_type_size_bytes(spy_module *module, const char *name);

#ifdef __cplusplus
}
#endif

#endif // SPY_API_MODULE_H

// Resolving: finds out how a call would be made (overload, types, mapping, shape) without making it, for
// tools, tests and bindings to other languages.
#ifndef SPY_API_RESOLVE_H
#define SPY_API_RESOLVE_H

#include "api/call.h"

#ifdef __cplusplus
extern "C" {
#endif

// >>resolving

// One entry for a parameter that got an argument, for "_result", or for a field of a struct that is given by
// fields.
typedef struct spy_binding {
    const char *path;        // "x", "light.color", "_result"
    const char *type;        // Slang type of the value for one element of the call: "float3", "float[4]",
                             // "Light"
    spy_direction direction; // the parameter's direction; SPY_DIRECTION_DEFAULT means in
    spy_arg_kind kind;       // the argument's kind; after SPY_ARG_KIND_STRUCT the entries of its fields
                             // follow, with depth + 1
    const char *argument;    // readable description of the argument: "float tensor (100, 3)"
    uint32_t depth;          // 0 for a parameter or "_result", 1 for their fields, and so on
    spy_dims map;            // dimension i of the argument is dimension map.dims[i] of the call
    uint32_t consumed_rank;  // the number of trailing dimensions of the argument that feed the type
} spy_binding;

// The result of spy_resolve(). Generic and interface-typed parameters have their concrete types here.
typedef struct spy_resolution {
    const char *signature;   // the chosen overload: "float3 scale(float3 v, float s)"
    const char *result_type; // the function's return type: "float3"; "void" if it returns nothing
    // The parameters in their order, each followed by its fields; then "_result". Parameters that keep their
    // default value are not listed.
    const spy_binding *bindings;
    uint32_t binding_count;
    spy_shape shape; // the call's shape: the function runs once for each element; sizes may be 0
} spy_resolution;

// Resolves a call as spy_call_with() does, without compiling a kernel, and without running anything but the
// write_globals hook. `options` may be NULL. A later call with these arguments and options reuses the result.
// NULL on failure, with the errors of spy_call_with(), except those from compiling, from overlapping memory,
// from append_to and from values that do not fit (300 for a uint8_t), which are not checked. The result is
// one separate block of memory: it may outlive the device, and the caller frees it by
// spy_release_resolution(). Threads: any. Cost: a few us if the call is cached, otherwise 0.01-1 ms.
SPY_API spy_resolution *spy_resolve(spy_function *function, spy_args args, const spy_call_options *options);
// Frees the result of spy_resolve(). NULL is ignored. Threads: any.
SPY_API void spy_release_resolution(spy_resolution *resolution);

#ifdef __cplusplus
}
#endif

#endif // SPY_API_RESOLVE_H

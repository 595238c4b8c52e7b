// Resolving: what a call would be (overload, types, mapping, shape), for tools, tests and bindings to other languages.
#ifndef SPY_API_RESOLVE_H
#define SPY_API_RESOLVE_H

#include "api/call.h"

#ifdef __cplusplus
extern "C" {
#endif

// >>resolving

// One parameter that got an argument, "_result", or a field of a struct given by fields.
typedef struct spy_binding {
    const char *path;        // "x", "light.color", "_result"
    const char *type;        // Slang type that each element of the call gets: "float3", "float[4]", "Light"
    spy_direction direction; // of the parameter: SPY_DIRECTION_DEFAULT is in
    spy_arg_kind kind;       // of the argument; SPY_ARG_KIND_STRUCT: its fields follow, one depth below
    const char *argument;    // what came, for people: "float tensor (100, 3)"
    uint32_t depth;          // 0: parameter or "_result"; 1: their fields; ...
    spy_dims map;            // argument dimension i is run over as dimension map.dims[i] of the call
    uint32_t consumed_rank;  // trailing argument dimensions that feed the type
} spy_binding;

// A call as it is understood. Generic and interface-typed parameters have their concrete types here.
typedef struct spy_resolution {
    const char *signature;   // the chosen overload: "float3 scale(float3 v, float s)"
    const char *result_type; // of the function: "float3"; "void"
    // Parameters in their order, each followed by its fields; then "_result". Those that keep their default
    // value are not listed.
    const spy_binding *bindings;
    uint32_t binding_count;
    spy_shape shape; // of the call: one run of the function for each of its elements; sizes may be 0
} spy_resolution;

// Resolve a call as spy_call_with() does, without compiling a kernel or running anything but write_globals; a call with
// these arguments and options (which may be NULL) then finds the work done. The same errors as the call's, but for those
// that come from compiling, from overlapping memory, from append_to and from values, which are not looked at (300 for a
// uint8_t). NULL on failure.
// The result is one block of memory of its own: it outlives the device, and spy_release_resolution() frees it.
// Threads: any. Cost: a few us when cached, else 0.01-1 ms.
SPY_API spy_resolution *spy_resolve(spy_function *function, spy_args args, const spy_call_options *options);
// Threads: any. NULL is ignored.
SPY_API void spy_release_resolution(spy_resolution *resolution);

#ifdef __cplusplus
}
#endif

#endif // SPY_API_RESOLVE_H

// Fusion: several calls, with arithmetic between them, become one Slang function and so one kernel.
#ifndef SPY_API_FUSE_H
#define SPY_API_FUSE_H

#include "api/call.h"

#ifdef __cplusplus
extern "C" {
#endif

// A graph of calls that is being recorded: inputs, then steps that take inputs and the results of earlier
// steps, then outputs. spy_fuse_end() makes a Slang function of it, which is an ordinary spy_function from
// then on: every way to call, map, record, prepare and differentiate a function works for it.
//
//     // example.slang:  float3 sample_texture(float2 uv) {...}
//     //                 float3 tone_map(float3 color, float filmic, float saturation) {...}
//     spy_fusion *g = spy_fuse_begin(device, &(spy_fuse_desc){ .name = "tone_map_sample" });
//     spy_node uv = spy_fuse_input(g, "uv", NULL);
//     spy_node color = spy_fuse_call(g, sample_texture, SPY_ARGS(spy_arg_node(NULL, uv)));
//     spy_node out = spy_fuse_call(g, tone_map, SPY_ARGS(spy_arg_node(NULL, color), spy_arg_f32(NULL, 1),
//                                                        spy_arg_f32("saturation", 0.5f)));
//     spy_fuse_output(g, "_result", spy_arg_node(NULL, out));
//     spy_function *tone_map_sample = spy_fuse_end(g);
//     spy_call(tone_map_sample, SPY_ARGS(spy_arg_tensor("uv", uvs), spy_out_tensor("_result", &colors)));
//     spy_release_module(spy_function_module(tone_map_sample));
//
// A step that fails reports its error and gives a node with graph 0. Later steps of that graph do nothing,
// and spy_fuse_end() returns NULL, so a program may check that one result.
// Threads: any, but one graph is recorded by one thread at a time.
typedef struct spy_fusion spy_fusion;

// A value of a graph: an input, or the result of a step. Plain data without a release.
typedef struct spy_node {
    uint32_t graph; // the number of its graph; 0 means no value
    uint32_t index; // the number of its step in the graph, from 1
} spy_node;

// How a backward call gets the values between the steps of a fused function.
typedef enum spy_fuse_backward {
    SPY_FUSE_BACKWARD_DEFAULT = 0, // the compiler chooses for each step
    SPY_FUSE_BACKWARD_RECOMPUTE,   // each step is computed again where its value is needed
    SPY_FUSE_BACKWARD_STORE        // each step is computed once, and its value is kept in the thread
} spy_fuse_backward;

// Options of spy_fuse_begin(). All members may stay zero.
typedef struct spy_fuse_desc {
    const char *name; // the name of the function, an identifier; NULL means "fused"
    spy_fuse_backward backward;
    uint64_t _end_canary; // must be 0, like all unset members: detects a struct that was not zeroed
} spy_fuse_desc;

// Begins a graph. `desc` may be NULL. spy_fuse_end() or spy_fuse_cancel() ends it, or the release of the
// device. Threads: any.
SPY_API spy_fusion *spy_fuse_begin(spy_device *device, const spy_fuse_desc *desc);

// Lets names of types, and of Slang's own functions, be looked up in a module before a function of it is
// called. Without it they are looked up in the modules of the functions that have been called.
// Threads: any, one at a time for one graph.
SPY_API spy_status spy_fuse_use(spy_fusion *fusion, spy_module *module);

// Adds a parameter to the fused function. `type` is its Slang type, or NULL: the type is that of the first
// parameter of a called function that takes the input and has one type in all overloads. spy_fuse_end() fails
// and names the input when there is none. Threads: any, one at a time for one graph.
SPY_API spy_node spy_fuse_input(spy_fusion *fusion, const char *name, const char *type);

// Makes an argument of a value of a graph, for the functions of this file. A spy_call() with such an argument
// is an error that says that a traced value has left its graph. Threads: any.
SPY_API spy_arg spy_arg_node(const char *name, spy_node node);

// Calls a Slang function. `args` are nodes, numbers, host arrays of 1 to 4 numbers (a vector) and structs by
// their fields (spy_arg_struct), by position or name; the instance of a method is its first argument. The
// overload is the one that Slang chooses for these types. Functions of several modules of one device can
// meet in a graph. The node is the return value; spy_fuse_out() gives out parameters.
// Threads: any, one at a time for one graph.
SPY_API spy_node spy_fuse_call(spy_fusion *fusion, spy_function *function, spy_args args);
// Returns the value that a call leaves in its out or inout parameter `name`. An out parameter takes no
// argument, and the argument of an inout parameter stays as it is. Threads: any, one at a time for one graph.
SPY_API spy_node spy_fuse_out(spy_fusion *fusion, spy_node call, const char *name);
// Returns the name of a call's out or inout parameter number `index`, counted among these from 0; NULL means
// that the call has fewer, or nothing says its overload yet. The name lives as long as the graph.
// Threads: any, one at a time for one graph.
SPY_API const char *spy_fuse_out_name(spy_fusion *fusion, spy_node call, uint32_t index);

// Makes a value of a type: "float2" of its components, a struct by its constructor, or, when all of `args`
// have names, a struct of all its fields. Threads: any, one at a time for one graph.
SPY_API spy_node spy_fuse_make(spy_fusion *fusion, const char *type, spy_args args);

// Applies an operator: "+", "-", "*", "/", "%", "<", "<=", ">", ">=", "==", "!=", "&&", "||", "!", "&", "|",
// "^", "~", "<<", ">>" with one or two arguments; "[]" of a vector, matrix or array and an index; "?" of a
// condition and two values, which chooses for each component; "no_diff" of one value, whose gradient is then
// 0; or one of Slang's own functions, such as "sin" or "pow". A number takes the scalar type of the value
// beside it. Threads: any, one at a time for one graph.
SPY_API spy_node spy_fuse_op(spy_fusion *fusion, const char *op, spy_args args);
// Returns a field of a struct, or a swizzle of a vector such as "x" or "zyx". Threads: any, one at a time for
// one graph.
SPY_API spy_node spy_fuse_member(spy_fusion *fusion, spy_node value, const char *name);

// Returns the Slang type of a value, which lives as long as the device. NULL, without an error, if the value
// belongs to another graph or its type is not known yet. Threads: any, one at a time for one graph.
SPY_API const char *spy_fuse_type(spy_fusion *fusion, spy_node value);

// Makes a value an output: "_result" is what the fused function returns, any other name an out parameter.
// Threads: any, one at a time for one graph.
SPY_API spy_status spy_fuse_output(spy_fusion *fusion, const char *name, spy_arg value);

// The operation that makes one value of the results of all elements.
typedef enum spy_fuse_reduction {
    SPY_FUSE_REDUCTION_NONE = 0,
    SPY_FUSE_REDUCTION_SUM,
    SPY_FUSE_REDUCTION_MEAN, // the sum, divided by the number of elements that are summed
    SPY_FUSE_REDUCTION_MIN,
    SPY_FUSE_REDUCTION_MAX
} spy_fuse_reduction;

// Like spy_fuse_output(), for a graph that ends in a reduction; the value is then the only output. A call of
// the fused function gives one value for all its elements. With dims.count > 0, the call's dimensions
// `dims`, which may count from the end (-1), disappear, and "_result" has the others. The value is a float,
// a double or a vector of floats. The kernel that computes the elements also reduces them; a sum adds up
// groups of threads in a fixed order and then, unless spy_call_options.deterministic is set, atomically.
// spy_call_backward() gives the gradients of a sum or mean from that of "_result". Such a function can be
// called and timed, with spy_call_options.append_to too; it cannot be prepared, dispatched or be part of another graph.
// A call that fails leaves "_result" as it was. Threads: any, one at a time for one graph.
SPY_API spy_status spy_fuse_reduce(spy_fusion *fusion, spy_fuse_reduction reduction, spy_dims dims,
                                   spy_arg value);

// Ends the graph, which is gone afterwards. Returns the function; NULL on failure, with an error that names
// the graph. spy_function_module() is a module of its own, which the caller releases. The module's text is
// readable Slang, which spy_explain_call() shows. Cost: as spy_load_module(). Threads: any, one at a time for one
// graph.
SPY_API spy_function *spy_fuse_end(spy_fusion *fusion);
// Drops a graph that shall not become a function. NULL is ignored. Threads: any, one at a time for one graph.
SPY_API void spy_fuse_cancel(spy_fusion *fusion);
// Returns the Slang text of a fused function, which lives as long as its module; NULL, without an error, for
// other functions. Threads: any.
SPY_API const char *spy_fuse_text(const spy_function *function);

#ifdef __cplusplus
}
#endif

#endif // SPY_API_FUSE_H

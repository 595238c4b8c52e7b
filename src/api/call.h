// Calls of Slang functions: arguments by name or position, results, options, dispatches and prepared calls.
#ifndef SPY_API_CALL_H
#define SPY_API_CALL_H

#include "api/cursor.h"

#ifdef __cplusplus
extern "C" {
#endif

// >>arguments

typedef struct spy_arg spy_arg;
struct spy_result;

// A list of arguments; see SPY_ARGS.
typedef struct spy_args {
    const spy_arg *items;
    size_t count;
} spy_args;

// The kind of an argument, which determines the member of spy_arg.value that it uses. Set by the spy_arg_*,
// spy_out_* and spy_inout_* functions below.
typedef enum spy_arg_kind {
    SPY_ARG_KIND_NONE = 0,
    SPY_ARG_KIND_BOOL,    // value.u
    SPY_ARG_KIND_INT,     // value.i
    SPY_ARG_KIND_UINT,    // value.u
    SPY_ARG_KIND_FLOAT,   // value.f
    SPY_ARG_KIND_TENSOR,  // value.tensor
    SPY_ARG_KIND_ARRAY,   // host array of scalars: dtype, shape, pointer
    SPY_ARG_KIND_DATA,    // the bytes of one value in host memory, in C's layout
    SPY_ARG_KIND_STRUCT,  // value.fields: a struct's fields, by name
    SPY_ARG_KIND_NEW,     // value.new_tensor: a new tensor is made for an output
    SPY_ARG_KIND_CUSTOM,  // the values that the kernel computes, such as generators
    SPY_ARG_KIND_RESULT,  // value.result: an output or inout value of any type
    SPY_ARG_KIND_PAIR     // value.fields[0] is a value, value.fields[1] its gradient
} spy_arg_kind;

// The direction in which data goes between an argument and the call.
typedef enum spy_direction {
    SPY_DIRECTION_DEFAULT = 0, // in
    SPY_DIRECTION_OUT,
    SPY_DIRECTION_INOUT,
    SPY_DIRECTION_ANY, // host arrays only: the parameter's direction; the memory is written when that is out
                       // or inout
    SPY_DIRECTION_IN,  // tensors only: a call that would write the tensor is an error; by default tensors may
                       // be read and written
    SPY_DIRECTION_DROP // numbers, host arrays and bytes only: an input, also of an out or inout parameter, and
                       // what the parameter becomes is dropped
} spy_direction;

// One argument: plain data that must live only during the call. The functions below fill all members. Members
// that begin with '_' are private; their contents may change from release to release.
struct spy_arg {
    const char *name;          // parameter's or field's name; NULL means that the argument is given by
                               // position
    spy_arg_kind kind;
    spy_direction direction;
    spy_dtype dtype;           // element type of a scalar or host array
    uint32_t _map_count;       // set by spy_vmap() and spy_map_value(); 0 means that no mapping is given
    int8_t _map[SPY_MAX_RANK]; // kernel dimension of each mapped argument dimension
    const char *type;          // Slang type of an element, set by spy_vcast(); NULL means that the library
                               // chooses
    const struct spyi_value_kind *_custom; // SPY_ARG_KIND_CUSTOM: the kind of value
    union {
        int64_t i;
        uint64_t u;
        double f;
        spy_tensor *tensor;
        spy_tensor **new_tensor;
        struct spy_result *result;
        const void *data;
        void *out;
        const spy_arg *fields;
    } value;
    size_t count;              // the bytes of data, number of fields, or rank of a host array
    int64_t dims[SPY_MAX_RANK]; // the sizes of a host array; SPY_ARG_KIND_CUSTOM: private data
};

// SPY_ARGS(spy_arg_f32("a", 2), spy_arg_tensor("x", x)) makes a list of arguments, for the call in which it
// is written.
//
// To keep a list, give the array a name. This works in C and in C++:
//
//     const spy_arg items[] = { spy_arg_f32("a", 2), spy_arg_tensor("x", x) };
//     spy_args args = { items, 2 };
//
// In C, SPY_ARGS is a compound literal: `spy_args args = SPY_ARGS(...)` is valid until the end of its block
// and dangles afterwards, so never assign it to a variable of an outer block. In C++, SPY_ARGS is a temporary
// object that holds the arguments until the end of its statement: `spy_args args = SPY_ARGS(...)` does not
// compile there; `auto list = SPY_ARGS(...)` makes a copy that can be kept.
#ifdef __cplusplus
} // extern "C"

// The type of SPY_ARGS in C++. `Inner` is true when an argument points to a list that is a temporary of the
// same statement. The overloads of api/args_cpp.h accept both variants.
template <size_t N, bool Inner> struct spyi_arg_list {
    spy_arg items[N];
    operator spy_args() const & {
        static_assert(!Inner, "spy_arg_struct() and spy_arg_diff_pair() of a kept list point to a SPY_ARGS(...) that is gone: "
                              "keep the inner list by an auto of its own, too");
        return { items, N };
    }
    operator spy_args() const && {
        static_assert(N == size_t(-1), "SPY_ARGS(...) is gone at the end of this statement, and spy_args only points to it: "
                                       "write auto list = SPY_ARGS(...) and use the list");
        return { nullptr, 0 };
    }
};

// The result of spy_arg_struct() and spy_arg_diff_pair() for a temporary list: an argument that can only be
// used in the same statement.
struct spyi_inner_arg {
    spy_arg inner;
    template <class T> operator T() const {
        static_assert(sizeof(T) == 0, "this argument points to a SPY_ARGS(...) that is gone at the end of this statement: "
                                      "keep the inner list by auto fields = SPY_ARGS(...)");
        return T();
    }
};
inline const spy_arg &spyi_plain_arg(const spy_arg &arg) {
    return arg;
}
inline const spy_arg &spyi_plain_arg(const spyi_inner_arg &arg) {
    return arg.inner;
}
template <class... T> struct spyi_any_inner {
    static const bool value = false;
};
template <class First, class... T> struct spyi_any_inner<First, T...> : spyi_any_inner<T...> {};
template <class... T> struct spyi_any_inner<spyi_inner_arg, T...> {
    static const bool value = true;
};
template <class... T> inline spyi_arg_list<sizeof...(T), spyi_any_inner<T...>::value> spyi_make_args(const T &...args) {
    return { { spyi_plain_arg(args)... } };
}
inline spy_args spyi_no_args() {
    return { nullptr, 0 };
}
#define SPY_ARGS(...) spyi_make_args(__VA_ARGS__)
#define SPY_NO_ARGS spyi_no_args()
extern "C" {
#else
#define SPY_ARGS(...)                                                                                         \
    ((spy_args){ (const spy_arg[]){ __VA_ARGS__ }, sizeof((spy_arg[]){ __VA_ARGS__ }) / sizeof(spy_arg) })
#define SPY_NO_ARGS ((spy_args){ NULL, 0 })
#endif

// Scalars. The number is converted to the parameter's type; a number that does not fit (300 for uint8_t, 2.5
// for int) makes the call fail with SPY_ERROR_OUT_OF_RANGE.
SPY_API spy_arg spy_arg_bool(const char *name, bool value);
SPY_API spy_arg spy_arg_i32(const char *name, int32_t value);
SPY_API spy_arg spy_arg_u32(const char *name, uint32_t value);
SPY_API spy_arg spy_arg_i64(const char *name, int64_t value);
SPY_API spy_arg spy_arg_u64(const char *name, uint64_t value);
SPY_API spy_arg spy_arg_f32(const char *name, float value);
SPY_API spy_arg spy_arg_f64(const char *name, double value);

// A tensor in device memory. Its trailing dimensions feed the parameter's type; the call runs over all other
// dimensions.
SPY_API spy_arg spy_arg_tensor(const char *name, spy_tensor *tensor);

// A host array of scalars, row-major. Its trailing dimensions feed vectors, matrices and arrays; the call
// runs over the others. The data is read during the call. float64 data for a float parameter is converted.
SPY_API spy_arg spy_arg_array(const char *name, const void *data, spy_shape shape, spy_dtype dtype);
// A host array of one dimension with `count` elements: spy_arg_f32n("v", (float[]){ 1, 2, 3 }, 3) for a
// float3 or float[3].
SPY_API spy_arg spy_arg_f32n(const char *name, const float *values, uint32_t count);
SPY_API spy_arg spy_arg_i32n(const char *name, const int32_t *values, uint32_t count);

// A complete struct: `size_bytes` bytes in C's layout of the parameter's type.
SPY_API spy_arg spy_arg_data(const char *name, const void *data, size_t size_bytes);
// A struct, field by field. Each field may be any argument, also a tensor or another struct; all fields must
// be given. A vector can be given in the same way, by x, y, z and w. The list must stay alive until the call.
SPY_API spy_arg spy_arg_struct(const char *name, spy_args fields);

// Results in host memory: `name` is an out parameter or "_result", the function's return value. The call
// waits for the GPU and then writes *value. A call without "_result" drops the return value.
SPY_API spy_arg spy_out_bool(const char *name, bool *value);
SPY_API spy_arg spy_out_i32(const char *name, int32_t *value);
SPY_API spy_arg spy_out_u32(const char *name, uint32_t *value);
SPY_API spy_arg spy_out_i64(const char *name, int64_t *value);
SPY_API spy_arg spy_out_u64(const char *name, uint64_t *value);
SPY_API spy_arg spy_out_f32(const char *name, float *value);
SPY_API spy_arg spy_out_f64(const char *name, double *value);
// A vector, matrix or array (SPY_SHAPE(3) for a float3), or the results of all elements of the call
// (SPY_SHAPE(100, 3)), row-major.
SPY_API spy_arg spy_out_array(const char *name, void *data, spy_shape shape, spy_dtype dtype);
// One value of any type in C's layout: a struct, or a scalar type that has no function above, such as half (2
// bytes) or uint8_t.
SPY_API spy_arg spy_out_data(const char *name, void *data, size_t size_bytes);
// A result in a new tensor of the call's shape. *tensor is set when the call succeeds and is unchanged
// otherwise. The caller releases the tensor.
SPY_API spy_arg spy_out_tensor(const char *name, spy_tensor **tensor);

// The size of the largest value that spy_result can hold, in bytes.
#define SPY_RESULT_BYTES 256

// A result for callers that do not know the function. It holds the value itself when the call has one element
// and the value has at most SPY_RESULT_BYTES bytes; otherwise it holds a new tensor of the call's shape,
// which the caller releases.
typedef struct spy_result {
    spy_tensor *tensor;     // NULL means that the value is in data
    const char *type;       // Slang's name of the value's or the tensor element's type, which lives as long
                            // as the device; NULL means that the function returns nothing
    spy_dtype dtype;        // scalar type of a scalar, vector or matrix; for other types SPY_DTYPE_DEFAULT
    uint32_t rows, columns; // the sizes of a scalar, vector or matrix (a vector's components are columns);
                            // for other types 0
    size_t size_bytes;      // the bytes of the value in `data`; 0 means no value
    uint64_t data[SPY_RESULT_BYTES / 8]; // the value in C's layout
} spy_result;

// A result of unknown type: `name` is "_result" or an out parameter. Set *result to zero before the call;
// the call writes it when it succeeds. "_result" is legal for a function that returns nothing, which leaves
// *result unchanged. A call that returns a value waits for it.
SPY_API spy_arg spy_out_result(const char *name, spy_result *result);
// A value of unknown type for an inout, out or in parameter. Before the call, result->data holds
// result->size_bytes bytes of scalars of type result->dtype, as many scalars as the parameter has; they are
// converted by the rules for spy_arg_*. After the call, *result describes and holds the value in the
// parameter's type.
SPY_API spy_arg spy_inout_result(const char *name, spy_result *result);

// Values for inout parameters: the call reads *value, waits for the GPU and writes the new value back.
SPY_API spy_arg spy_inout_bool(const char *name, bool *value);
SPY_API spy_arg spy_inout_i32(const char *name, int32_t *value);
SPY_API spy_arg spy_inout_u32(const char *name, uint32_t *value);
SPY_API spy_arg spy_inout_i64(const char *name, int64_t *value);
SPY_API spy_arg spy_inout_u64(const char *name, uint64_t *value);
SPY_API spy_arg spy_inout_f32(const char *name, float *value);
SPY_API spy_arg spy_inout_f64(const char *name, double *value);
SPY_API spy_arg spy_inout_array(const char *name, void *data, spy_shape shape, spy_dtype dtype);
SPY_API spy_arg spy_inout_data(const char *name, void *data, size_t size_bytes);

// Returns `arg` with an explicit mapping: dimension i of the argument becomes dimension dims[i] of the call,
// and the remaining trailing dimensions feed the parameter. spy_vmap(spy_arg_tensor("a", a), SPY_DIMS(0))
// together with "b" at SPY_DIMS(1) makes an outer product. With no dimensions (`dims` all zero) the call runs
// over none: the complete argument is one value. Around a struct, or around a value with its gradient, it is
// the mapping of each part that is run over and has no mapping of its own. A call fails when `dims` names a
// dimension twice, has more or fewer dimensions than those that are run over, or when `arg` has a mapping
// already.
SPY_API spy_arg spy_vmap(spy_arg arg, spy_dims dims);
// Short for spy_vmap() with the dimensions 0 to count - 1 in this order: spy_vdim(arg, 2) is spy_vmap(arg,
// SPY_DIMS(0, 1)).
SPY_API spy_arg spy_vdim(spy_arg arg, uint32_t count);
// Returns `arg` with an explicit Slang type for one element, e.g. "float3" for a float tensor of shape (N,
// 3); the mapping follows from it. The parameter must have this type, so that it also selects an overload and
// the type of a generic parameter. For a struct that is given by fields, it is the name of the struct. `type`
// must stay alive until the call. Of two casts around an argument the outer one counts.
SPY_API spy_arg spy_vcast(spy_arg arg, const char *type);
// Returns `arg`, a host array, marked as one value such as a float3: overloads whose parameter takes the
// complete array are preferred. Only when there is none does the call run over the array: two arrays of 3
// floats for f(float, float) make a call of 3 elements.
SPY_API spy_arg spy_map_value(spy_arg arg);

// >>packed arguments

typedef struct spy_packed spy_packed;

// Returns a copy of an argument and of all that it points to (host data, fields, names; tensors are
// retained), so that many calls can use it without building it again. Returns NULL on failure: outputs and
// grids cannot be packed. The caller releases the copy.
SPY_API spy_packed *spy_pack(spy_device *device, spy_arg arg);
SPY_API spy_arg spy_arg_packed(const char *name, const spy_packed *packed);
// Adds one reference to the copy, which then needs one more release. Threads: any.
SPY_API void spy_retain_packed(spy_packed *packed);
// Drops one reference; the last one frees the copy. Call it before the device is released. NULL is ignored.
// Threads: any.
SPY_API void spy_release_packed(spy_packed *packed);

// >>calling

// Calls `function` once for each element of the broadcast shape of its arguments. The first call with
// arguments of certain kinds, types and ranks compiles a kernel; later calls take it from a cache. Returns
// before the GPU is done, unless results go to host memory. Errors found before the launch leave every output
// unchanged. Threads: any; calls on one device run one after the other. Cost: below 1 us and no allocation
// when the kernel is cached.
SPY_API spy_status spy_call(spy_function *function, spy_args args);

// The set of global shader parameters of one call; a write_globals hook fills it by spy_set_global().
typedef struct spy_globals spy_globals;

// What a call computes; see api/gradient.h.
typedef enum spy_call_mode {
    SPY_CALL_MODE_DEFAULT = 0,  // call the function itself
    SPY_CALL_MODE_BACKWARD,     // like spy_call_backward()
    SPY_CALL_MODE_FORWARD_DIFF // like spy_call_forward_diff()
} spy_call_mode;

// The options of a call, beyond its arguments. The struct can be kept, changed and used again. All zero means
// that the call is made as by spy_call().
typedef struct spy_call_options {
    const char *prelude;             // Slang text that is placed into the generated kernel, after its imports
    spy_args constants;              // numbers, or host arrays for vectors, for the module's `extern static
                                     // const`, by name; they are compiled into the kernel
    spy_args globals;                // the values for the module's global shader parameters, by name or path
                                     // ("gain", "params.light.color", "lights[2]"): structs by bytes or by
                                     // fields, tensors for buffers
    void (*write_globals)(spy_globals *globals, void *user_data); // called at each call, to set further
                                                                  // globals; NULL if there is none
    void *write_user_data;
    const char *const *conformances; // "Circle : IShape": types that values of an interface type may have at
                                     // run time
    size_t conformance_count;
    // threads of a group in x, y and z; x runs along the call's last dimension. 0 means that the library
    // chooses (for y and z: 1). When set, each element has a thread of its own; threads beyond the call's end
    // return at once, so kernels with barriers need call sizes that are multiples of the group's
    uint32_t thread_group_size[3];
    spy_shape call_group_shape;      // the sizes of a call group, whose elements run next to each other; rank
                                     // 0 means no groups
    spy_shape thread_count;          // extends the call's shape like an argument of these sizes; rank 0 means
                                     // that it is not used
    struct spy_command_list *append_to; // record the call in this list (api/list.h); NULL means that the call
                                        // runs now
    spy_call_mode mode;
    bool deterministic;              // backward: sum gradients in a fixed order, so that each run returns the
                                     // same bits
    // backward: the gradients of inputs are written instead of added to, so that their memory need not be set
    // before. The call is refused with SPY_ERROR_UNSUPPORTED, before it writes, if a gradient is a sum of
    // several elements, shares its memory with another one, is a number's, or is one to which the function
    // itself adds (a DiffTensor). Not for draws and recorded calls
    bool store_gradients;
    uint32_t shared_bytes;           // the bytes of dynamic shared memory for each group, at most
                                     // spy_device_info.max_shared_bytes with its groupshared variables. CUDA
                                     // text in the module reaches it: see chapter 18 of the guide. 0 if there
                                     // is none
    uint64_t _end_canary; // must be 0, like all unset members: detects a struct that was not zeroed
} spy_call_options;

// Like spy_call(), with options; `options` may be NULL. A change of an option compiles a new kernel, except
// for the sizes of thread_count, the values of globals, and append_to.
SPY_API spy_status spy_call_with(spy_function *function, spy_args args, const spy_call_options *options);

// Sets a global shader parameter from within a write_globals hook, like an entry of spy_call_options.globals.
// Of several values for the same path the last one counts. `path`, and what `value` points to, must live
// until the call returns. The hook must not call any other function of the device. Threads: the hook's.
SPY_API spy_status spy_set_global(spy_globals *globals, const char *path, spy_arg value);

// >>declared functions

// Stands for an argument of any kind in the list of spy_declare(). `name` is as for all arguments.
SPY_API spy_arg spy_arg_any(const char *name);
// Returns `function` with mappings and types that its calls need not say. `parameters` is a list of
// spy_arg_any(), by position or by name ("_result" for the result), each plain or within spy_vmap(),
// spy_vdim() or spy_vcast():
//
//     spy_function *tonemap2d = spy_declare(tonemap, SPY_ARGS(spy_vdim(spy_arg_any("color"), 2)));
//     spy_call(tonemap2d, SPY_ARGS(spy_arg_tensor("color", image), ...));
//
// What it returns is a function like any other: it can be called, differentiated, recorded, prepared,
// explained and declared further, and it has the name of `function`. An argument of its calls for a declared
// parameter must not have a mapping or type of its own. It lives as long as the function's module and follows
// its reloads; equal declarations are one function. NULL on failure: an unknown name or type, a dimension
// that is named twice, more parameters than the function has. Threads: any. Cost: a look-up of the function;
// make it once, not for each call.
SPY_API spy_function *spy_declare(spy_function *function, spy_args parameters);

// >>dispatching

// Three sizes or three indices, one for each dimension.
typedef struct spy_uint3 {
    uint32_t x, y, z;
} spy_uint3;

// Runs `function` once in each of threads.x * threads.y * threads.z threads. Every thread gets the complete
// arguments: nothing is broadcast, and results go to tensors that the function itself indexes (RWTensor,
// RWStructuredBuffer, pointers). A compute shader keeps its [numthreads] and runs in complete groups, so it
// must check the bounds itself; a plain function runs in exactly these threads. Parameters with
// SV_DispatchThreadID, SV_GroupID, SV_GroupThreadID or SV_GroupIndex are filled by the library and are not
// among `args`; so is a plain function's first parameter if its name is dispatchThreadID. `options` may be NULL.
// Errors and threads as spy_call().
// The CUDA backend also runs a function marked [CudaKernel]. Its groups have options->thread_group_size
// threads (64 if 0), which the kernel reads as cudaBlockDim(). It runs in complete groups: for a grid of (gx,
// gy, gz) blocks of (x, y, z) threads, pass (gx * x, gy * y, gz * z) as `threads`. TensorView<T> and
// DiffTensorView<T> parameters take tensors of T, or of T's scalars, whose last dimensions are then T's
// components. As in slang-torch, T's components are dimensions of the view in both cases. A view has at most
// 5 dimensions, no negative stride, and spans less than 4 GiB. The gradient of a DiffTensorView is that of
// the tensor or of spy_arg_diff_pair(), if any. For derivatives, write a [CudaKernel] that calls bwd_diff(f)
// or fwd_diff(f), or use spy_call_backward(). spy_call_with() also runs a [CudaKernel], in exactly
// options->thread_count.dims[0] threads; thread_count must have one dimension.
SPY_API spy_status spy_dispatch(spy_function *function, spy_uint3 threads, spy_args args,
                                const spy_call_options *options);

// Like spy_dispatch(), but the GPU reads the number of groups from `groups` when it runs the work. `groups`
// is a contiguous tensor of uint32; the three elements from `index` on are the numbers of groups in x, y and
// z. Each must be at most spy_device_info.max_group_count, which is not checked. Complete groups run, also of
// plain functions.
SPY_API spy_status spy_dispatch_indirect(spy_function *function, spy_tensor *groups, int64_t index,
                                         spy_args args, const spy_call_options *options);

// Like spy_call_with(), then waits and sets *gpu_time_ns to the time that the GPU took, in nanoseconds.
// `options` may be NULL; an append_to in it is SPY_ERROR_INVALID_ARGUMENT.
SPY_API spy_status spy_time_call(spy_function *function, spy_args args, const spy_call_options *options,
                                 uint64_t *gpu_time_ns);

// Describes what spy_call_with() would do: a table of parameters, Slang types, arguments and mappings, the
// call's shape, the kernel's variant and the kernel's text. Works like snprintf: writes at most `capacity`
// bytes including the NUL, and returns the text's length without the NUL. When the call cannot be made, the
// text is that of the error. Runs no kernel, only the write_globals hook. `options` may be NULL.
SPY_API size_t spy_explain_call(spy_function *function, spy_args args, const spy_call_options *options,
                                char *text, size_t capacity);

// >>prepared calls

typedef struct spy_prepared spy_prepared;

// Options of spy_prepare(). All members may stay zero.
typedef struct spy_prepare_desc {
    bool async; // compile on a thread of the library; spy_prepared_ready() tells when it is done
    // as for spy_call_with(), copied with all that they point to (tensors are retained); NULL if there is
    // none. append_to must be NULL. Each call uses the values in `globals`; write_globals is called by
    // spy_prepare() and at each call, and its values replace them
    const spy_call_options *options;
    uint64_t _end_canary; // must be 0, like all unset members: detects a struct that was not zeroed
} spy_prepare_desc;

// Compiles the kernel of a call without running it. The kinds, types and shapes of the arguments matter,
// their values do not. `desc` may be NULL. Returns NULL on failure (with desc->async, spy_prepared_ready()
// returns the error). The result is released by the caller, or with the device.
SPY_API spy_prepared *spy_prepare(spy_function *function, spy_args args, const spy_prepare_desc *desc);
// Returns SPY_OK when calls run the module's current code without compiling, SPY_ERROR_NOT_READY while that
// code is still being compiled (for the first time or after a reload), and otherwise the reason why it
// failed. Never waits.
SPY_API spy_status spy_prepared_ready(spy_prepared *prepared);
// Makes a prepared call without looking up names. The arguments, and the globals that the hook sets, must
// have the same kinds, types and ranks in the same order as those of spy_prepare(); otherwise the call fails.
// Waits for an unfinished first compilation; other threads can use the device meanwhile. After a reload of
// the module, the old kernel runs until a thread of the library has compiled the new one. A call that the old
// kernel cannot make, because its arguments have other kinds or need another variant of the kernel, waits for
// the new kernel, which is made for these arguments.
SPY_API spy_status spy_call_prepared(spy_prepared *prepared, spy_args args);
// Adds one reference to the prepared call, which then needs one more release. Threads: any.
SPY_API void spy_retain_prepared(spy_prepared *prepared);
// Drops one reference; the last one frees the prepared call. Call it before the device is released. NULL is
// ignored. A compilation under way goes on, and plain calls with such arguments wait for it and use its kernel.
// Threads: any, at any time.
SPY_API void spy_release_prepared(spy_prepared *prepared);

#ifdef __cplusplus
}
#endif

#endif // SPY_API_CALL_H

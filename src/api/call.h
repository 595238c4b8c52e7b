// Calls: arguments by name or position, results, and the kernel that a call becomes.
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

// What an argument is. Filled by the spy_arg_*, spy_out_* and spy_inout_* functions below.
typedef enum spy_arg_kind {
    SPY_ARG_KIND_NONE = 0,
    SPY_ARG_KIND_BOOL,    // value.u
    SPY_ARG_KIND_INT,     // value.i
    SPY_ARG_KIND_UINT,    // value.u
    SPY_ARG_KIND_FLOAT,   // value.f
    SPY_ARG_KIND_TENSOR,  // value.tensor
    SPY_ARG_KIND_ARRAY,   // host array of scalars: dtype, shape, pointer
    SPY_ARG_KIND_DATA,    // host bytes of one value in C's layout
    SPY_ARG_KIND_STRUCT,  // named fields
    SPY_ARG_KIND_NEW,     // a new tensor is made for an output
    SPY_ARG_KIND_CUSTOM,  // generators and their like
    SPY_ARG_KIND_RESULT,  // an output of whatever kind: value.result
    SPY_ARG_KIND_PAIR     // fields[0] a value, fields[1] its gradient
} spy_arg_kind;

// Which way data goes between the host memory of the argument and the call.
typedef enum spy_direction {
    SPY_DIRECTION_DEFAULT = 0, // in
    SPY_DIRECTION_OUT,
    SPY_DIRECTION_INOUT,
    SPY_DIRECTION_ANY, // of host arrays: as the parameter says; the memory is written when that is out or inout
    SPY_DIRECTION_IN   // of tensors, which else go both ways: never written; what would write them is an error
} spy_direction;

// One argument. Plain data that lives only during the call. The functions below fill all of it; members that begin with '_' are
// private: what they hold may change from release to release.
struct spy_arg {
    const char *name;          // parameter's or field's name; NULL: by position
    spy_arg_kind kind;
    spy_direction direction;
    spy_dtype dtype;           // of scalars and host arrays
    uint32_t _map_count;       // of spy_map() and spy_map_value(): 0: no mapping is given
    int8_t _map[SPY_MAX_RANK]; // kernel dimension of each mapped argument dimension
    const char *type;          // explicit Slang type of the element, spy_cast(); NULL: chosen
    const struct spyi_value_kind *_custom; // SPY_ARG_KIND_CUSTOM: what kind of value it is
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
    size_t count;              // bytes of data, number of fields, or rank of a host array
    int64_t dims[SPY_MAX_RANK]; // host array: its sizes; SPY_ARG_KIND_CUSTOM: the kind's own
};

// SPY_ARGS(spy_arg_f32("a", 2), spy_arg_tensor("x", x)): a list of arguments, for the call that it stands in.
//
// To keep a list, give the array a name, in C and in C++:
//
//     const spy_arg items[] = { spy_arg_f32("a", 2), spy_arg_tensor("x", x) };
//     spy_args args = { items, 2 };
//
// In C, SPY_ARGS is a compound literal: `spy_args args = SPY_ARGS(...)` is good until the end of the block that it stands in, and
// dangles after it: never assign it to a variable of an outer block. In C++ it is a temporary that holds the arguments, good until
// the end of its statement: `spy_args args = SPY_ARGS(...)` does not compile there, `auto list = SPY_ARGS(...)` is a copy to keep.
#ifdef __cplusplus
} // extern "C"

// What SPY_ARGS is in C++. `Inner`: an argument points to a list that is a temporary of the same statement. Functions take
// either by the overloads of api/args_cpp.h.
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

// What spy_arg_struct() and spy_arg_diff_pair() of a temporary list give: an argument for the same statement only.
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

// Scalars. A number takes the parameter's type: one that does not fit (300 for uint8_t, 2.5 for int) is an error.
SPY_API spy_arg spy_arg_bool(const char *name, bool value);
SPY_API spy_arg spy_arg_i32(const char *name, int32_t value);
SPY_API spy_arg spy_arg_u32(const char *name, uint32_t value);
SPY_API spy_arg spy_arg_i64(const char *name, int64_t value);
SPY_API spy_arg spy_arg_u64(const char *name, uint64_t value);
SPY_API spy_arg spy_arg_f32(const char *name, float value);
SPY_API spy_arg spy_arg_f64(const char *name, double value);

// Device arrays. Dimensions beyond those that the parameter's type takes are run over by the kernel.
SPY_API spy_arg spy_arg_tensor(const char *name, spy_tensor *tensor);

// A host array of scalars, row-major. Its trailing dimensions feed vectors, matrices and arrays; the others are run
// over. It is read during the call. float64 data for a float parameter is converted.
SPY_API spy_arg spy_arg_array(const char *name, const void *data, spy_shape shape, spy_dtype dtype);
// A short vector: spy_arg_f32n("v", (float[]){ 1, 2, 3 }, 3) for a float3 or float[3].
SPY_API spy_arg spy_arg_f32n(const char *name, const float *values, uint32_t count);
SPY_API spy_arg spy_arg_i32n(const char *name, const int32_t *values, uint32_t count);

// A struct given whole: `size_bytes` bytes in C's layout of the parameter's type.
SPY_API spy_arg spy_arg_data(const char *name, const void *data, size_t size_bytes);
// A struct given field by field; each field is any argument, tensors and further structs included. All fields must
// be given. A vector, too, by x, y, z and w. The list must stay alive until the call.
SPY_API spy_arg spy_arg_struct(const char *name, spy_args fields);

// Results into host memory: `name` is an out parameter or "_result". The call then waits for its result. Without
// "_result" the return value is dropped.
SPY_API spy_arg spy_out_bool(const char *name, bool *value);
SPY_API spy_arg spy_out_i32(const char *name, int32_t *value);
SPY_API spy_arg spy_out_u32(const char *name, uint32_t *value);
SPY_API spy_arg spy_out_i64(const char *name, int64_t *value);
SPY_API spy_arg spy_out_u64(const char *name, uint64_t *value);
SPY_API spy_arg spy_out_f32(const char *name, float *value);
SPY_API spy_arg spy_out_f64(const char *name, double *value);
// A vector, matrix or array (SPY_SHAPE(3) for a float3), or those of all elements of the call (SPY_SHAPE(100, 3)).
SPY_API spy_arg spy_out_array(const char *name, void *data, spy_shape shape, spy_dtype dtype);
// One value of any type in C's layout: a struct, but also a half (2 bytes) or uint8_t, which have no function above.
SPY_API spy_arg spy_out_data(const char *name, void *data, size_t size_bytes);
// A result in a new tensor of the call's shape: *tensor is set when the call succeeds, else left as it was.
SPY_API spy_arg spy_out_tensor(const char *name, spy_tensor **tensor);

// Bytes of a value that spy_result holds at most.
#define SPY_RESULT_BYTES 256

// A result as the call gives it, for callers that do not know the function: a value when the call has one element and the
// value has at most SPY_RESULT_BYTES, else a new tensor of the call's shape, which the caller releases.
typedef struct spy_result {
    spy_tensor *tensor;     // NULL: the value is in data
    const char *type;       // Slang's name of the value's or the element's type; NULL: the function returns nothing. Lives as
                            // long as the device
    spy_dtype dtype;        // of a scalar, vector or matrix; else SPY_DTYPE_DEFAULT
    uint32_t rows, columns; // of these; a vector's components are columns; else 0
    size_t size_bytes;      // of data; 0: there is none
    uint64_t data[SPY_RESULT_BYTES / 8]; // the value in C's layout
} spy_result;

// "_result" or an out parameter; "_result" of a function that returns nothing is legal, and *result, which is all zero before
// the call, then stays so. It is written when the call succeeds. A call that gives a value waits for it.
SPY_API spy_arg spy_out_result(const char *name, spy_result *result);
// An inout parameter; also an out one, or one that only goes in. Going in, result->data holds result->size_bytes of scalars of result->dtype, as many as
// the parameter has; they are converted as those of spy_arg_* are. Coming back it is what the parameter's type is.
SPY_API spy_arg spy_inout_result(const char *name, spy_result *result);

// Values that go in and come back, for inout parameters. The call waits.
SPY_API spy_arg spy_inout_bool(const char *name, bool *value);
SPY_API spy_arg spy_inout_i32(const char *name, int32_t *value);
SPY_API spy_arg spy_inout_u32(const char *name, uint32_t *value);
SPY_API spy_arg spy_inout_i64(const char *name, int64_t *value);
SPY_API spy_arg spy_inout_u64(const char *name, uint64_t *value);
SPY_API spy_arg spy_inout_f32(const char *name, float *value);
SPY_API spy_arg spy_inout_f64(const char *name, double *value);
SPY_API spy_arg spy_inout_array(const char *name, void *data, spy_shape shape, spy_dtype dtype);
SPY_API spy_arg spy_inout_data(const char *name, void *data, size_t size_bytes);

// Say how an argument is run over: its dimension i becomes dimension dims[i] of the kernel; the remaining trailing
// dimensions feed the parameter. spy_map(spy_arg_tensor("a", a), SPY_DIMS(0)) with "b" at SPY_DIMS(1): outer product.
// No dimensions (all zero): none is run over, the whole argument is one value.
SPY_API spy_arg spy_map(spy_arg arg, spy_dims dims);
// `arg`, a host array, as one value such as a float3: overloads that take it whole go first. Only where none does is it run
// over as any array is: two of 3 floats for f(float, float) make 3 calls.
SPY_API spy_arg spy_map_value(spy_arg arg);
// Say which Slang type one element of the argument is loaded as, e.g. "float3" for a float tensor (N, 3).
// A struct given by fields is looked up by this name.
SPY_API spy_arg spy_cast(spy_arg arg, const char *type);

// >>packed arguments

typedef struct spy_packed spy_packed;

// A copy of an argument with all that it points to (host data, fields, names; tensors are retained), to be given to many
// calls without building it again. NULL on failure: outputs and grids cannot be packed. Released by the caller.
SPY_API spy_packed *spy_pack(spy_device *device, spy_arg arg);
SPY_API spy_arg spy_arg_packed(const char *name, const spy_packed *packed);
// One more holder of the copy, which then needs one more release. Threads: any.
SPY_API void spy_retain_packed(spy_packed *packed);
// Before the device is released. Threads: any. NULL is ignored.
SPY_API void spy_release_packed(spy_packed *packed);

// >>calling

// Call `function` once for each element of the broadcast shape of its arguments. Binds and compiles at the first call
// of each kind of arguments, then runs from the cache. Returns before the GPU is done, unless results go to host memory.
// Errors found before the launch leave every output as it was.
// Threads: any; calls on one device wait their turn. Cost: below 1 us and no allocation when cached.
SPY_API spy_status spy_call(spy_function *function, spy_args args);

// What a write_globals hook sets values in.
typedef struct spy_globals spy_globals;

// What a call computes; see api/gradient.h.
typedef enum spy_call_mode {
    SPY_CALL_MODE_DEFAULT = 0,  // the function
    SPY_CALL_MODE_BACKWARD,     // spy_call_backward() is short for it
    SPY_CALL_MODE_FORWARD_DIFF  // spy_call_forward_diff() is short for it
} spy_call_mode;

// How a call is made, beyond its arguments: a value that can be kept, changed and used again. All zero: as spy_call() does.
typedef struct spy_call_options {
    const char *prelude;             // Slang text at the head of the generated kernel, after its imports
    spy_args constants;              // numbers for the module's `extern static const`, by name; fixed when it is compiled
    spy_args globals;                // values for the module's global shader parameters, by name or path: "gain",
                                     // "params.light.color", "lights[2]"; structs whole or by fields; tensors for buffers
    void (*write_globals)(spy_globals *globals, void *user_data); // called at each call, to set further ones; NULL: none
    void *write_user_data;
    const char *const *conformances; // "Circle : IShape": types that interface-typed values may have at run time
    size_t conformance_count;
    uint32_t thread_group_size[3];   // threads of a group in x, y, z, x along the last dimension; 0: chosen (y, z: 1)
                                     // with it each element has a thread of its own; threads beyond the call's end return
                                     // at once, so that barriers need sizes that are multiples of the group
    spy_shape call_group_shape;      // elements of a call group: they run next to each other; rank 0: none
    spy_shape thread_count;          // joins the call's shape as an argument of these sizes would; rank 0: none
    struct spy_command_list *append_to; // record the call there (api/list.h) instead of making it; NULL: make it
    spy_call_mode mode;
    bool deterministic;              // backward: sum gradients in a fixed order, so that each run gives the same bits
    uint64_t _end_canary; // must be 0, as all that is not set: finds a struct that was not zeroed
} spy_call_options;

// As spy_call(), made in another way. `options` may be NULL. All of them but thread_count's sizes, the globals' values and
// append_to belong to the kind of call: other ones bind and compile again.
SPY_API spy_status spy_call_with(spy_function *function, spy_args args, const spy_call_options *options);

// Within a write_globals hook: give a global a value, as an entry of `globals` would. Of values for the same place the
// last one counts. `path`, and what `value` points to, must live until the call returns; no other function of the device
// may be called meanwhile. Threads: the hook's.
SPY_API spy_status spy_set_global(spy_globals *globals, const char *path, spy_arg value);

// >>dispatching

// Sizes or numbers in three dimensions.
typedef struct spy_uint3 {
    uint32_t x, y, z;
} spy_uint3;

// Run `function` once in each of threads.x * y * z threads, its arguments passed whole: nothing is broadcast, and results go
// to tensors that it takes whole (RWTensor, RWStructuredBuffer, pointers). A compute shader keeps its [numthreads] and runs in
// whole groups, so that it must look for the end itself; a plain function runs in exactly these threads. Parameters with
// SV_DispatchThreadID, SV_GroupID, SV_GroupThreadID or SV_GroupIndex are filled and are not among `args`. `options` may be
// NULL. Errors and threads as spy_call().
// A [CudaKernel] runs too, on the CUDA backend: in groups of options->thread_group_size (64 if 0), which it sees as
// cudaBlockDim(), and in whole groups, so that blocks in a grid of (gx, gy, gz) are threads of (gx * x, gy * y, gz * z). Its
// TensorView<T> and DiffTensorView<T> parameters take tensors of T, or of T's scalars, whose last dimensions are then T's
// components. As in slang-torch these are dimensions of the view in any case; it has at most 5, none with a negative
// stride, and spans less than 4 GiB. A DiffTensorView's gradient is the tensor's, or that of spy_arg_diff_pair(), if any.
// For derivatives write a [CudaKernel] that calls bwd_diff(f) or fwd_diff(f), or call it by spy_call_backward().
// spy_call_with() runs a [CudaKernel], too, once in each of options->thread_count.dims[0] threads and in no further one;
// thread_count must have one dimension.
SPY_API spy_status spy_dispatch(spy_function *function, spy_uint3 threads, spy_args args,
                                const spy_call_options *options);

// As spy_dispatch(), over as many groups as stand in GPU memory when it runs: three uint32 (x, y, z) from element `index` of
// `groups` on, a contiguous tensor of uint32. Each must be within spy_device_info.max_group_count; nothing checks that. Whole
// groups run, of plain functions too.
SPY_API spy_status spy_dispatch_indirect(spy_function *function, spy_tensor *groups, int64_t index,
                                         spy_args args, const spy_call_options *options);

// As spy_call_with(), then waits and tells how long the GPU took, in nanoseconds. `options` may be NULL; one with append_to
// is SPY_ERROR_INVALID_ARGUMENT.
SPY_API spy_status spy_time_call(spy_function *function, spy_args args, const spy_call_options *options,
                                 uint64_t *gpu_time_ns);

// What spy_call_with() would do: a table of parameters, Slang types, arguments and mappings, the call shape, the kernel's
// variant and its text. Works like snprintf: writes at most `capacity` bytes with the NUL, returns the text's length
// without it. When the call cannot be made, the text is the error's. Nothing runs but write_globals; `options` may be NULL.
SPY_API size_t spy_explain_call(spy_function *function, spy_args args, const spy_call_options *options,
                                char *text, size_t capacity);

// >>prepared calls

typedef struct spy_prepared spy_prepared;

// How a call is prepared.
typedef struct spy_prepare_desc {
    bool async; // compile on a thread of its own; spy_prepared_ready() says when it is done
    const spy_call_options *options; // as of spy_call_with(), copied with all that they point to, tensors retained; NULL:
                                     // none. append_to must be NULL. The values in `globals` are given to every call;
                                     // write_globals is called by spy_prepare() and at each call, and gives newer ones
    uint64_t _end_canary; // must be 0, as all that is not set: finds a struct that was not zeroed
} spy_prepare_desc;

// Bind and compile a call without running it. `desc` may be NULL. The arguments say kinds, types and shapes; values do
// not matter. NULL on failure (when async: see spy_prepared_ready). Released by the caller, or with the device.
SPY_API spy_prepared *spy_prepare(spy_function *function, spy_args args, const spy_prepare_desc *desc);
// SPY_OK: calls run the module's code of today, without compiling. SPY_ERROR_NOT_READY: that is still being compiled, for the
// first time or after a reload. Else: why it failed. Never waits.
SPY_API spy_status spy_prepared_ready(spy_prepared *prepared);
// Call with arguments, and globals of the hook, of the same kinds, types and ranks in the same order: no look-up. Other
// ones are an error.
// Waits for an unfinished first compilation, without keeping the device. When the module was reloaded since, the old kernel
// runs until a thread has compiled the new one. A call that the old kernel cannot make, with arguments of other kinds or
// that need another variant of it, waits for the new one, which is made for these arguments.
SPY_API spy_status spy_call_prepared(spy_prepared *prepared, spy_args args);
// One more holder of the prepared call, which then needs one more release. Threads: any.
SPY_API void spy_retain_prepared(spy_prepared *prepared);
// Before the device is released, as all uses of its objects. Threads: any, at any time. NULL is ignored.
SPY_API void spy_release_prepared(spy_prepared *prepared);

#ifdef __cplusplus
}
#endif

#endif // SPY_API_CALL_H

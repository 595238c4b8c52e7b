// Basic public types: status codes, errors, logging, progress, memory, element types, shapes.
#ifndef SPY_API_BASE_H
#define SPY_API_BASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

// The library's version as one number: major * 10000 + minor * 100 + patch.
#define SPY_VERSION 100

// The linkage of each public function; empty by default. A program that puts the library into a DLL or a
// shared library of its own defines it before it includes the headers (chapter 2 of the guide says how).
#ifndef SPY_API
#define SPY_API
#endif

// >>status

// Every status with its value and its text. 0 is success, errors are negative. spy_status and
// spy_status_text() are generated from this list.
#define SPY_STATUS_LIST(X)                                                                                   \
    X(SPY_OK, 0, "no error")                                                                                 \
    X(SPY_ERROR_INVALID_ARGUMENT, -1, "an argument is invalid")                                              \
    X(SPY_ERROR_NOT_FOUND, -2, "a name, file or object was not found")                                       \
    X(SPY_ERROR_TYPE_MISMATCH, -3, "a type does not fit")                                                    \
    X(SPY_ERROR_SHAPE_MISMATCH, -4, "shapes do not fit")                                                     \
    X(SPY_ERROR_OUT_OF_RANGE, -5, "a value does not fit its type, or an index its range")                    \
    X(SPY_ERROR_AMBIGUOUS, -6, "more than one overload or mapping fits")                                     \
    X(SPY_ERROR_COMPILE, -7, "Slang code does not compile")                                                  \
    X(SPY_ERROR_NO_COMPILER, -8, "the Slang compiler library is missing or unusable")                        \
    X(SPY_ERROR_NO_DEVICE, -9, "no suitable GPU device")                                                     \
    X(SPY_ERROR_DEVICE_LOST, -10, "the GPU device is lost")                                                  \
    X(SPY_ERROR_OUT_OF_MEMORY, -11, "out of host memory")                                                    \
    X(SPY_ERROR_OUT_OF_DEVICE_MEMORY, -12, "out of device memory")                                           \
    X(SPY_ERROR_BUSY, -13, "this thread is in a call of the device already")                                 \
    X(SPY_ERROR_UNSUPPORTED, -14, "the backend or device cannot do this")                                    \
    X(SPY_ERROR_RELEASED, -15, "the object has been released")                                               \
    X(SPY_ERROR_IO, -16, "a file cannot be read or written")                                                 \
    X(SPY_ERROR_NOT_READY, -17, "the work is still under way")                                               \
    X(SPY_ERROR_INTERNAL, -18, "an internal error of the library")                                           \
    X(SPY_ERROR_INTERRUPTED, -19, "desc.interrupt asked to leave")                                           \
    X(SPY_ERROR_TIMEOUT, -20, "the time limit has passed")                                                   \
    X(SPY_ERROR_WRONG_GRADIENT, -21, "a gradient is not that of central differences")

// The result of a function: SPY_OK, or the reason why it failed. SPY_STATUS_LIST has the text of each status.
typedef enum spy_status {
#define SPYI_STATUS_ENUM(name, value, text) name = value,
    SPY_STATUS_LIST(SPYI_STATUS_ENUM)
#undef SPYI_STATUS_ENUM
    SPY_STATUS_FORCE_INT = 0x7fffffff
} spy_status;

// Returns the text of a status, e.g. "shapes do not fit". Threads: any.
SPY_API const char *spy_status_text(spy_status status);

// An error: its code and its full text. `message` is "" when code is SPY_OK. The text stays valid until the
// next spy_take_error() on the same device (for a NULL device: by the same thread), or until the device is
// released.
typedef struct spy_error {
    spy_status code;
    const char *message;
} spy_error;

// >>log

// The severity of a message. In spy_log it is the threshold: the log receives messages of this severity and
// above.
typedef enum spy_log_level {
    SPY_LOG_LEVEL_DEFAULT = 0, // as a threshold, the same as SPY_LOG_LEVEL_WARNING
    SPY_LOG_LEVEL_ERROR,
    SPY_LOG_LEVEL_WARNING,
    SPY_LOG_LEVEL_INFO,
    SPY_LOG_LEVEL_DEBUG
} spy_log_level;

// Called for each message at or above the threshold. `message` has no final newline and is valid during the
// call. The function must not use the device: that fails with SPY_ERROR_BUSY. Threads: it is called on the
// thread that causes the message, and on threads of the library that compile (spy_prepare, spy_poll_reload).
typedef void (*spy_log_func)(spy_log_level level, const char *message, void *user_data);

// The log function of a device, which receives errors, warnings and other messages.
typedef struct spy_log {
    spy_log_func func;   // NULL means that messages are dropped
    void *user_data;     // handed to func
    spy_log_level level; // least severe level to report; default: warnings and errors
} spy_log;

// A ready spy_log_func: writes "slangpy: error: ..." lines to stderr. Threads: any.
SPY_API void spy_log_stderr(spy_log_level level, const char *message, void *user_data);

// Called when a slow step begins (`finished` is false) and when it ends (true). `step` is "load compiler",
// "load module NAME", "compile NAME" or "pipeline NAME". Threads: the same as for spy_log_func.
typedef void (*spy_progress_func)(const char *step, bool finished, void *user_data);

// The receiver of the beginnings and ends of slow steps.
typedef struct spy_progress {
    spy_progress_func func; // NULL means that progress is not reported
    void *user_data;
} spy_progress;

// Called with `begins` = true when the calling thread is about to be blocked, and with false when that is
// over: around compilers, waits for the GPU that last longer than about 50 us, large copies to host memory,
// and waits for other threads' calls. It is meant for programs whose threads hold a lock of their own, such
// as an interpreter's, which they can release meanwhile. Calls come in pairs, on the blocked thread; pairs
// may be nested. `func` must not call the library. Threads: the same as for spy_log_func.
typedef void (*spy_blocking_func)(bool begins, void *user_data);

// The receiver of the beginnings and ends of blocking steps.
typedef struct spy_blocking {
    spy_blocking_func func; // NULL means that waits are not reported
    void *user_data;
} spy_blocking;

// Asks the program about every 50 ms whether to stop waiting; it is called on the thread that waits.
// Returning true ends the wait, and the call fails with SPY_ERROR_INTERRUPTED. It is meant for programs that
// must react to a Ctrl-C or a button. It is called while the library waits for the Slang compiler or for the
// driver's compiler (vkCreateComputePipelines, NVRTC, cuModuleLoadData). On Vulkan it is also called while
// spy_call() and similar functions wait for results in host memory, and while a read waits for the work that
// writes the tensor, because lavapipe compiles a kernel only when it first executes it. An interrupted
// compilation continues in a thread of the library until it ends by itself (see
// spy_device_desc.compile_timeout_s); the device and its modules can be used at once. `func` must not call
// the library. Threads: as spy_log_func.
typedef bool (*spy_interrupt_func)(void *user_data);

// The function that decides whether to stop a wait.
typedef struct spy_interrupt {
    spy_interrupt_func func; // NULL means that waits cannot be interrupted
    void *user_data;
} spy_interrupt;

// >>memory

// Functions that provide host memory for objects, tensors, pools and calls. Set all three functions or none.
// `alignment` is a power of two, at most 64. `old_size_bytes` in reallocate and `size_bytes` in free are the
// sizes that were requested for this memory before.
typedef struct spy_allocator {
    void *(*allocate)(size_t size_bytes, size_t alignment, void *user_data);
    void *(*reallocate)(void *memory, size_t old_size_bytes, size_t new_size_bytes, size_t alignment, void *user_data);
    void (*free)(void *memory, size_t size_bytes, void *user_data);
    void *user_data;
} spy_allocator;

// >>elements and shapes

// A scalar element type. In host memory scalars have C's layout: bool has 1 byte, float16 has 2 bytes (IEEE
// 754 half).
typedef enum spy_dtype {
    SPY_DTYPE_DEFAULT = 0, // float32
    SPY_DTYPE_BOOL,
    SPY_DTYPE_INT8,
    SPY_DTYPE_UINT8,
    SPY_DTYPE_INT16,
    SPY_DTYPE_UINT16,
    SPY_DTYPE_INT32,
    SPY_DTYPE_UINT32,
    SPY_DTYPE_INT64,
    SPY_DTYPE_UINT64,
    SPY_DTYPE_FLOAT16,
    SPY_DTYPE_FLOAT32,
    SPY_DTYPE_FLOAT64,
    SPY_DTYPE_COUNT
} spy_dtype;

// Returns the size of a scalar in host memory, in bytes; 0 for an unknown dtype. Threads: any.
SPY_API size_t spy_dtype_size_bytes(spy_dtype dtype);
// Returns Slang's name of a scalar type ("float", "int8_t"); "?" for an unknown dtype. Threads: any.
SPY_API const char *spy_dtype_name(spy_dtype dtype);

// Converts `count` numbers of from_type at `from` to to_type at `to`, by the rules for arguments. The two
// ranges must not overlap. Returns SPY_ERROR_OUT_OF_RANGE when a number does not fit (300 for uint8_t, 2.5
// for int); the error goes to spy_take_error(NULL).
// Threads: any.
SPY_API spy_status spy_convert_numbers(void *to, spy_dtype to_type, const void *from, spy_dtype from_type,
                                       size_t count);

// The largest number of dimensions of a tensor, a host array or a call.
#define SPY_MAX_RANK 8

// A shape: `rank` sizes. The last dimension varies fastest (row-major). Rank 0 is one element. The struct
// also holds strides, which are counted in elements.
typedef struct spy_shape {
    uint32_t rank;
    int64_t dims[SPY_MAX_RANK];
} spy_shape;

// A list of dimensions for spy_vmap(): argument dimension i goes to kernel dimension dims[i].
typedef struct spy_dims {
    uint32_t count;
    int32_t dims[SPY_MAX_RANK];
} spy_dims;

#ifdef __cplusplus
} // extern "C"

template <class... T> inline spy_shape spyi_make_shape(T... dims) {
    static_assert(sizeof...(T) <= SPY_MAX_RANK, "a shape has at most SPY_MAX_RANK dimensions");
    spy_shape s = { uint32_t(sizeof...(T)), { int64_t(dims)... } };
    return s;
}
template <class... T> inline spy_dims spyi_make_dims(T... dims) {
    static_assert(sizeof...(T) <= SPY_MAX_RANK, "a mapping has at most SPY_MAX_RANK dimensions");
    spy_dims s = { uint32_t(sizeof...(T)), { int32_t(dims)... } };
    return s;
}
#define SPY_SHAPE(...) spyi_make_shape(__VA_ARGS__)
#define SPY_DIMS(...) spyi_make_dims(__VA_ARGS__)
#else
// SPY_SHAPE(480, 640): a spy_shape value of rank 2. SPY_DIMS(1, 0): a spy_dims value.
#define SPY_SHAPE(...)                                                                                        \
    ((spy_shape){ (uint32_t)(sizeof((int64_t[]){ __VA_ARGS__ }) / sizeof(int64_t)), { __VA_ARGS__ } })
#define SPY_DIMS(...)                                                                                         \
    ((spy_dims){ (uint32_t)(sizeof((int32_t[]){ __VA_ARGS__ }) / sizeof(int32_t)), { __VA_ARGS__ } })
#endif

#endif // SPY_API_BASE_H

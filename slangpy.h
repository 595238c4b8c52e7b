// slangpy.h: call Slang functions from C and C++: the core, which knows no graphics API.
// Generated from src/ by tools/amalgamate; do not edit. Every `>>` line names the file that follows.
// MIT license; its text is at the end of this file.

#ifndef SLANGPY_H
#define SLANGPY_H

// >>api/guide.h ---------------------------------------------------------------------------------------------

// slangpy.h: call Slang functions on the GPU, by name, from C and C++.
//
//      1 quick start                 6 arguments                    11 order of work, waiting, cost
//      2 one implementation file     7 mapping and broadcast        12 prepared calls
//      3 devices                     8 results                      13 bringing your own Vulkan
//      4 modules, the compiler       9 errors and logs              14 looking at kernels
//      5 tensors and layouts        10 threads
//
// Search for ">>" to go from section to section, here and in the declarations.
//
// >>guide 1: quick start
//
// Slang (shader-slang.org) is a shading language. Its functions need nothing special to be called:
//
//     // saxpy.slang
//     float saxpy(float a, float x, float y) { return a * x + y; }
//
//     // main.c
//     #define SLANGPY_IMPLEMENTATION
//     #include "slangpy_vk.h"
//     #include <stdio.h>
//     int main(void) {
//         spy_device *dev = spy_create_device(&(spy_device_desc){ .backend = spy_vk_backend() });
//         spy_module *mod = spy_load_module(dev, &(spy_module_desc){ .path = "saxpy.slang" });
//         const float data[4] = { 1, 2, 3, 4 };
//         spy_tensor *x = spy_create_tensor(dev, &(spy_tensor_desc){ .shape = SPY_SHAPE(4), .data = data });
//         spy_tensor *result = NULL;
//         spy_call(spy_find_function(mod, "saxpy"),
//                  SPY_ARGS(spy_arg_f32("a", 2), spy_arg_tensor("x", x), spy_arg_f32("y", 1),
//                           spy_out_tensor("_result", &result)));
//         float y[4] = { 0 };
//         spy_tensor_read(result, y, sizeof y);
//         spy_error err = spy_take_error(dev);
//         if (err.code != SPY_OK) fprintf(stderr, "%s\n", err.message);
//         else printf("%g %g %g %g\n", y[0], y[1], y[2], y[3]); // 3 5 7 9
//         spy_release_device(dev);
//         return err.code != SPY_OK;
//     }
//
//     gcc -std=c11 -I/usr/include/stb main.c -lpthread -ldl -lm
//     SLANGPY_SLANG_LIBRARY=/path/to/libslang-compiler.so ./a.out
//
// `x` is one float for the function and four for the call: the call runs over them. The library writes one
// Slang kernel for this kind of call (loads, the call of saxpy, stores), compiles it, and keeps it for the
// next time.
//
// >>guide 2: one implementation file
//
// One file of a program says `#define SLANGPY_IMPLEMENTATION` before it includes the headers; all others
// include them without it. That one file is C11 or C++17 and later; declarations are C99 and C++11. It needs
// on the include path stb_ds.h and, for slangpy_vk.h, volk.h and vulkan/vulkan.h (Debian: libstb-dev,
// libvulkan-volk-dev, libvulkan-dev), and links pthread, dl and m. libvulkan is opened at run time, not
// linked.
//
// In that file our headers come before vulkan.h, volk.h and stb_ds.h; a wrong order is an #error. Our copies
// of stb_ds and volk carry other names, so a program may use its own in any file, and may link libvulkan.
//
// Each backend's header includes slangpy.h. Public names begin with spy_ and SPY_; what begins with spyi_ is
// private. Ownership: what create_*, load_*, spy_prepare and spy_out_tensor give is released by the caller,
// or with the device; what find_* gives is borrowed and lives as long as its module. Calls keep the memory
// that they use: a tensor may be released right after the call.
//
// SPY_ARGS in C is a compound literal: `spy_args a = SPY_ARGS(...)` is good until the end of its block. In
// C++ it is a temporary that holds the arguments: keep it by `auto list = SPY_ARGS(...)`, never by spy_args,
// and a list of fields that is inside a kept list needs an `auto` of its own. Descs are filled by assignment
// there.
//
// >>guide 3: devices
//
// A device is one GPU with its memory pool, its compiler sessions and its cache of compiled calls. There is
// no default device and no global state. Which GPU: desc.adapter (a number from spy_enumerate_adapters, from
// 1), or desc.adapter_name and desc.adapter_type; else the first discrete one, then integrated, then CPU
// (lavapipe). There is no silent fallback: a backend or adapter that is not there is an error that lists what
// was found.
//
// Tensors, modules and functions belong to their device; two devices are independent. spy_release_device
// waits for the GPU and releases everything that was made from it, in any order that the program left.
//
// >>guide 4: modules and finding the compiler
//
// spy_load_module takes a file, or text by desc.source; `import` looks in the file's folder, in
// desc.include_paths, then in those of the device. spy_find_function knows "f", "ns::f",
// "Type::static_method", and generics made concrete: "f<float, 4>". Overloads and generics without brackets
// are resolved at the call, by its arguments. "Type.method" takes its instance as the parameter "this"; "Type" finds the
// constructors.
//
// spy_reflect_module gives all that a module declares as a tree of plain structs: names, types, layouts,
// attributes, default values. spy_find_decl finds one declaration, spy_reflect_type describes a type.
//
// Further sources: desc.files of the device is a hook that gives files out of an archive; a .slang-module
// file (spy_save_module, or slangc -o x.slang-module) or its bytes load without the source. desc.link
// completes `extern` declarations with what other modules `export`; desc.options says how the module and its
// kernels are compiled; desc.conformances lists (and numbers) the types behind an interface.
//
// Reload: spy_poll_reload(device, interval, NULL), called each frame, reloads what has changed on disk or in
// the hook, spy_reload_module one module. Functions stay the same objects and mean the new code; a reload
// that does not compile changes nothing. The device's desc.reload hears of both. A tensor of a struct that
// changed its fields is refused by the new code, with an error that says so: make it again.
//
// The compiler, libslang, is a library of its own that is opened with the first module. It is looked for at
//     1. desc.slang_library              2. the environment variable SLANGPY_SLANG_LIBRARY
//     3. beside the program              4. where the system's loader looks (LD_LIBRARY_PATH, /usr/lib, ...)
// When 1 or 2 names a file, only that is tried. The error lists every place. To get it: `tools/setup`, or
//     python3 -m pip download --no-deps slangtorch==1.3.22
// and unpack slangtorch/bin/libslang-compiler.so.* from that wheel (a zip file). One process uses one
// libslang.
//
// >>guide 5: tensors and layouts
//
// A tensor is an N-dimensional strided array in device memory: a shape of rank 0 (one element) to 8,
// row-major, and an element type. That is a scalar (desc.dtype, default float), or any Slang type of plain
// data by name: desc.type = "float3", "float4x4", "int[5]", "Particle". A struct also needs desc.module,
// which declares it.
//
// A float tensor of shape (100, 3) and a float3 tensor of shape (100) are equally good for a float3
// parameter.
//
// Host memory is always in C's layout: struct fields where C puts them, float3 as 3 floats without padding,
// matrices row by row, bool 1 byte, half 2 bytes. The library asks Slang for the device's layout of each type
// and converts where the two differ (bool has 4 bytes there). spy_type_size_bytes tells a type's size in C, a
// good assertion against sizeof. spy_tensor_info.element_size_bytes is the size on the device.
//
// spy_create_tensor leaves memory undefined without desc.data and desc.zeroed; desc.like takes shape and type
// from another tensor. spy_tensor_write copies before it returns; spy_tensor_read waits for the work that
// writes the tensor and no more; _read_range and _write_range move some of the elements. spy_tensor_fill,
// _fill_data and spy_tensor_copy work on the device. Memory comes from a pool and returns to it; spy_trim gives
// unused blocks back to the driver. A buffer of bytes is a tensor of uint8_t, one of structs a tensor of the
// struct; spy_tensor_address gives the GPU's address.
//
// Views share memory and keep it alive; each is released on its own, and all are as numpy has them:
//     spy_create_slice, _select           x[2:8:3] or x[::-1], x[5], in one dimension
//     spy_create_indexed                  x[2, 1:8, ..., None] in one step
//     spy_create_transpose, _broadcast    dimensions in another order, or stretched
//     spy_create_reshape                  other sizes, where no copy is needed; else an error says why
//     spy_create_view_as, _flat_view      the bytes as another type; vectors and structs as their scalars
//     spy_create_view                     any shape, strides and offset within the tensor
//
// spy_tensor_print describes contents as numpy prints arrays. Cursors (spy_create_cursor, spy_cursor_over)
// read and write fields of structs in host memory by name, with conversions: "lights[3].color".
//
// >>guide 6: arguments
//
// By name, or by position with NULL for the name. Positions count the unnamed arguments from the first
// parameter on, whatever was named before. "_result" names the return value, always by name; without it the
// return value is dropped. Parameters with default values may be left out from the end.
//
//     argument                         feeds spy_arg_bool, _i32, _u32, _i64,  a scalar of any type that has
//     the value: 300 for uint8_t and 2.5 for int
//       _u64, _f32, _f64               are errors, 0.1 for half is rounded, other than 0 is true. Also an
//       enum (its
//                                      number), and a vector or matrix (each component)
//     spy_arg_f32n, spy_arg_i32n       a short vector or array from host memory spy_arg_array
//     host scalars with a shape, row-major: the trailing dimensions feed vectors,
//                                      matrices and arrays; the others are run over, and are then uploaded at
//                                      each call. Converted as numbers are, each value checked
//     spy_arg_tensor                   device memory, for in, out and inout alike. Scalars are converted as
//     in C,
//                                      but never to fewer bits, from float to int or to bool: uint8_t feeds
//                                      int, int feeds uint and float; double does not feed float. Outputs are
//                                      not converted
//     spy_arg_data                     one struct (or any other value) as bytes in C's layout, of the type's
//     size spy_arg_struct                   a struct field by field, by name or position, all of them:
//     numbers, arrays,
//                                      tensors, further structs. For outputs too, with tensors or spy_out_*
//     spy_out_*, spy_inout_*           `out` and `inout` parameters and "_result", see 8
//     spy_cast(arg, "float3")          that argument for a parameter of exactly this type: chooses between
//                                      overloads, and the T of a generic
//     spy_map(arg, SPY_DIMS(1, 0))     that argument, run over as 7 says
//
// Slang type parameters that cannot be passed yet: textures, samplers, buffers, interfaces as values. A struct given whole or field by field may nest 16 deep; a call has at most 64 leaves.
//
// >>guide 7: mapping and broadcast
//
// Each parameter's type takes as many of its argument's trailing dimensions as it needs: float takes none of
// a float tensor's, float3 and float[8] one, float4x4 two; of a float3 tensor, float3 takes none and
// float3[8] one. Their sizes must be the type's. The dimensions that remain are run over by the call, once
// for each element.
//
// The call's shape comes from these remaining dimensions by numpy's rule: align at the last one; equal sizes
// match, size 1 is stretched, missing leading dimensions are added. Any other pair of sizes is an error that
// names both arguments. Numbers, structs as bytes and single vectors have no dimensions: all elements see
// them.
//
//     float add(float a, float b)              float3 scale(float3 v, float s)        (float tensors)
//     a (480, 640)   b (640)       (480, 640)  v (100, 3)     s number    calls (100)
//     a (480, 1)     b (640)       (480, 640)  v (100, 3)     s (100)     calls (100)
//     a (480, 640)   b number      (480, 640)  v (20, 100, 3) s (20, 1)   calls (20, 100)
//     a (4, 3)       b (4)         error       v (100, 2)     s number    error: dimension 1 must be 3
//     a (0, 3)       b number      (0, 3): nothing is done, no error
//
// Outputs that are given count as well: their shape takes part, and each must have a place of its own for
// every element, so an output that the others would stretch is an error. With
// spy_module_desc.strict_broadcasting missing dimensions are errors too (numbers are still allowed).
//
// spy_map says it explicitly: the argument's dimension i becomes the kernel's dimension dims[i]. As many
// dimensions must be named as are run over; arguments without a map stay aligned at the last dimension.
//
//     add: spy_map(a (4), SPY_DIMS(0)), spy_map(b (3), SPY_DIMS(1))       (4, 3): every a with every b
//     add: spy_map(a (4, 3), SPY_DIMS(1, 0)), b (4)                       (3, 4): a transposed
//
// An output may be the same memory as an input if both are the same elements (in-place updates). Any other
// overlap is an error, because threads run in any order. One call has at most 2^31 - 1 elements.
//
// >>guide 8: results
//
// Four ways to receive "_result" and out parameters:
//     spy_arg_tensor("_result", t)    into an existing tensor. Nothing is waited for
//     spy_out_tensor("_result", &t)   into a new tensor of the call's shape, its element type the
//     parameter's. It is
//                                     released by the caller. Nothing is waited for. `t` is written only when
//                                     the call succeeds, and whatever it was is forgotten
//     spy_out_f32("_result", &f) ...  one number of exactly the parameter's type, into host memory
//     spy_out_array, spy_out_data     into host memory: a vector, matrix or array, or those of all elements /
//     one
//                                     value of any type as bytes (half, uint8_t and structs too)
// Results into host memory are there when spy_call returns: the call waits for the GPU. inout parameters take
// spy_inout_* the same way, or a tensor, which is changed in place.
//
// >>guide 9: errors and logs
//
// Functions return a spy_status or NULL, and the device keeps its first error until spy_take_error(device)
// reads it. So a program may check each call, or once. Everything accepts the NULL that a failed function
// gave, and then does nothing but note an error of the thread: spy_take_error(NULL) reads that one. Failed
// device creations, functions of released objects and SPY_ERROR_BUSY are found there as well.
//
// A message names the function, the argument, what was expected and what came; for calls also the candidates
// or the table of arguments; for Slang code the compiler's text with file and line. An error that is found
// before the launch leaves all outputs as they were. desc.log receives every error and warning as it happens;
// spy_log_stderr is a ready function for it. Nothing aborts or prints by itself.
//
// >>guide 10: threads
//
// No function has to be called from a special thread, but one device serves one thread at a time: a call that
// finds it in use returns SPY_ERROR_BUSY at once (see 9), without waiting. Give each thread a device, or take
// turns with a lock of your own. spy_release_tensor and spy_retain_tensor may come from any thread at any
// time.
//
// >>guide 11: order of work, submission, waiting, and what costs what
//
// Work on a device happens in the order of the calls, with barriers where one call needs another's memory.
// Calls are recorded and handed to the GPU by themselves: at once when it is idle, else when enough has come
// together, and whenever something waits. spy_flush hands over what there is and gives it a number for
// spy_wait_for_submit and spy_is_submit_finished; spy_wait waits for everything.
//
//     waits for the GPU     spy_tensor_read, results into host memory, spy_wait, spy_wait_for_submit,
//                           spy_time_call, spy_trim, spy_release_device
//     compiles (10-100 ms)  the first call with each new kind of arguments: other types, ranks, names,
//     directions
//                           or order. Values and sizes are free, except where a size picks a generic's type;
//                           very different sizes or strides can need one more variant of the kernel
//     copies host memory    spy_arg_array that is run over, spy_tensor_write, desc.data
//     cheap (about 1 us)    all other calls: no allocation, no driver call but recording
//
// A loop is fast when its data stays in tensors, its results go to tensors, and it reads at the end.
//
// >>guide 12: prepared calls
//
// spy_prepare binds and compiles a call without running it; spy_call_prepared runs it with arguments of the
// same kinds, types, ranks, names and order, without a look-up. With desc.async a thread compiles, and
// spy_prepared_ready says when it is done: SPY_ERROR_NOT_READY is an answer there and is not kept as an
// error. Sizes given to spy_prepare choose the variant that is compiled first.
//
// >>guide 13: bringing your own Vulkan
//
// Put a spy_vk_desc into desc.backend_desc. The VkDevice must have been made with what
// spy_vk_required_features lists; optional features that were turned on are named in
// spy_vk_desc.enabled_features. Give lock_queue and unlock_queue if other threads use the queue.
// spy_vk_create_tensor makes a tensor over a VkBuffer.
//
// spy_vk_set_command_buffer records the following calls into a command buffer of the engine; NULL ends that.
// The engine submits it and, once it has been executed, calls spy_vk_external_submit_finished. Until then
// reads of these results return SPY_ERROR_NOT_READY, so calls recorded this way must not have results into
// host memory. Barriers between our work and the engine's own commands are the engine's.
// spy_vk_wait_semaphore and spy_vk_signal_semaphore order our submissions among those of the engine.
// examples/04_engine_vulkan has it all.
//
// >>guide 14: looking at kernels
//
// spy_explain_call prints how a call is understood, without running it: each parameter with its Slang type,
// argument and kernel dimensions, the call's shape, and the kernel's text. spy_resolve gives the same as data,
// for programs: the overload, each parameter's concrete type, mapping and consumed dimensions, and the call's
// shape; nothing is compiled for it. desc.dump_directory (an existing
// folder) receives every kernel as NAME.slang and its SPIR-V as NAME.spv. desc.progress tells of slow steps,
// spy_get_device_stats counts calls, compiled kernels, barriers and bytes. desc.enable_validation turns on
// Vulkan's validation layer, whose messages go to the log.
//
// >>guide 15: command lists
//
// A command list records calls, copies, fills, writes, labels and timestamps once; spy_list_submit does them
// all again, without looking at arguments, shapes or the cache, and without allocating.
//
//     spy_command_list *list = spy_create_command_list(dev, NULL);
//     spy_list_call(list, step, SPY_ARGS(spy_arg_tensor("x", x), spy_arg_tensor("_result", y)));
//     spy_list_copy(list, x, y);
//     spy_list_finish(list);
//     for (int i = 0; i < 1000; i++) spy_list_submit(list);
//
// A submission stands in the device's order of work where a call would: direct calls, reads and other lists
// may come between, and barriers are put where memory asks for them. What is in the tensors counts at each
// submission; numbers and host arrays are those of the recording. spy_flush gives an id to wait for.
// spy_list_read_timestamps tells what the parts of a list took on the GPU, spy_get_calibration how that clock
// stands to the host's.

// >>api/base.h ----------------------------------------------------------------------------------------------

// Basic public types: status codes, errors, logging, progress, memory, element types, shapes.

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

// The library's version as one number: major * 10000 + minor * 100 + patch.
#define SPY_VERSION 100

// >>status

// Every status with its text. 0 is good, errors are negative. Source of spy_status and spy_status_text().
#define SPY_STATUS_LIST(X)                                                                                    \
    X(SPY_OK, 0, "no error")                                                                                  \
    X(SPY_ERROR_INVALID_ARGUMENT, -1, "an argument is invalid")                                               \
    X(SPY_ERROR_NOT_FOUND, -2, "a name, file or object was not found")                                        \
    X(SPY_ERROR_TYPE_MISMATCH, -3, "a type does not fit")                                                     \
    X(SPY_ERROR_SHAPE_MISMATCH, -4, "shapes do not fit")                                                      \
    X(SPY_ERROR_OUT_OF_RANGE, -5, "a value does not fit its type, or an index its range")                     \
    X(SPY_ERROR_AMBIGUOUS, -6, "more than one overload or mapping fits")                                      \
    X(SPY_ERROR_COMPILE, -7, "Slang code does not compile")                                                   \
    X(SPY_ERROR_NO_COMPILER, -8, "the Slang compiler library is missing or unusable")                         \
    X(SPY_ERROR_NO_DEVICE, -9, "no suitable GPU device")                                                      \
    X(SPY_ERROR_DEVICE_LOST, -10, "the GPU device is lost")                                                   \
    X(SPY_ERROR_OUT_OF_MEMORY, -11, "out of host memory")                                                     \
    X(SPY_ERROR_OUT_OF_DEVICE_MEMORY, -12, "out of device memory")                                            \
    X(SPY_ERROR_BUSY, -13, "another thread is using the device")                                              \
    X(SPY_ERROR_UNSUPPORTED, -14, "the backend or device cannot do this")                                     \
    X(SPY_ERROR_RELEASED, -15, "the object has been released")                                                \
    X(SPY_ERROR_IO, -16, "a file cannot be read or written")                                                  \
    X(SPY_ERROR_NOT_READY, -17, "the work is still under way")                                                \
    X(SPY_ERROR_INTERNAL, -18, "an internal error of the library")

typedef enum spy_status {
#define SPYI_STATUS_ENUM(name, value, text) name = value,
    SPY_STATUS_LIST(SPYI_STATUS_ENUM)
#undef SPYI_STATUS_ENUM
    SPY_STATUS_FORCE_INT = 0x7fffffff
} spy_status;

// The text of a status, e.g. "shapes do not fit". Threads: any.
const char *spy_status_text(spy_status status);

// An error: its code and its whole text. `message` is "" when code is SPY_OK; it stays valid until the next
// spy_take_error() on the same device (for a NULL device: by the same thread) or the device's release.
typedef struct spy_error {
    spy_status code;
    const char *message;
} spy_error;

// >>log

typedef enum spy_log_level {
    SPY_LOG_DEFAULT = 0, // as SPY_LOG_WARNING when used as a threshold
    SPY_LOG_ERROR,
    SPY_LOG_WARNING,
    SPY_LOG_INFO,
    SPY_LOG_DEBUG
} spy_log_level;

// Called for each message at or above the threshold. `message` is one text without a final newline, valid
// during the call. Threads: from the thread that causes it, and from compile threads of spy_prepare().
typedef void (*spy_log_func)(spy_log_level level, const char *message, void *user_data);

typedef struct spy_log {
    spy_log_func func;   // NULL: silent
    void *user_data;     // handed to func
    spy_log_level level; // least severe level to report; default: warnings and errors
} spy_log;

// A ready spy_log_func: writes "slangpy: error: ..." lines to stderr. Threads: any.
void spy_log_stderr(spy_log_level level, const char *message, void *user_data);

// A slow step that begins or ends: "load compiler", "load module NAME", "compile NAME", "pipeline NAME". Threads: as spy_log_func.
typedef void (*spy_progress_func)(const char *step, bool finished, void *user_data);

typedef struct spy_progress {
    spy_progress_func func; // NULL: none
    void *user_data;
} spy_progress;

// >>memory

// Host memory for objects, tensors, pools and calls. All three functions or none. `alignment` is a power of
// two, at most 64. `size_bytes` in reallocate and free is what was asked for before.
typedef struct spy_allocator {
    void *(*allocate)(size_t size_bytes, size_t alignment, void *user_data);
    void *(*reallocate)(void *memory, size_t old_size_bytes, size_t new_size_bytes, size_t alignment, void *user_data);
    void (*free)(void *memory, size_t size_bytes, void *user_data);
    void *user_data;
} spy_allocator;

// >>elements and shapes

// A scalar element type. Host layout is C's: bool 1 byte, float16 2 bytes (IEEE 754 half).
typedef enum spy_dtype {
    SPY_DTYPE_DEFAULT = 0, // float32
    SPY_BOOL,
    SPY_INT8,
    SPY_UINT8,
    SPY_INT16,
    SPY_UINT16,
    SPY_INT32,
    SPY_UINT32,
    SPY_INT64,
    SPY_UINT64,
    SPY_FLOAT16,
    SPY_FLOAT32,
    SPY_FLOAT64,
    SPY_DTYPE_COUNT
} spy_dtype;

// Host size of a scalar in bytes; 0 for an unknown dtype. Threads: any.
size_t spy_dtype_size_bytes(spy_dtype dtype);
// Slang's name of a scalar ("float", "int8_t"); "?" for an unknown dtype. Threads: any.
const char *spy_dtype_name(spy_dtype dtype);

#define SPY_MAX_RANK 8

// A shape: `rank` sizes, the last dimension varies fastest (row-major). Rank 0 is one element. Also used for
// strides, which are counted in elements.
typedef struct spy_shape {
    uint32_t rank;
    int64_t dims[SPY_MAX_RANK];
} spy_shape;

// A list of dimensions for spy_map(): argument dimension i goes to kernel dimension dims[i].
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

// >>api/device.h --------------------------------------------------------------------------------------------

// Devices: a GPU with its memory pool, its compiler sessions and its cache of compiled calls.

#ifdef __cplusplus
extern "C" {
#endif

typedef struct spy_device spy_device;
struct spy_module; // in module.h
typedef struct spyi_backend spy_backend; // from spy_vk_backend(), spy_cuda_backend(), spy_d3d12_backend()

typedef enum spy_adapter_type {
    SPY_ADAPTER_DEFAULT = 0, // a discrete GPU before an integrated one before a CPU
    SPY_ADAPTER_DISCRETE,
    SPY_ADAPTER_INTEGRATED,
    SPY_ADAPTER_CPU // a software device such as Mesa's lavapipe
} spy_adapter_type;

// A file's contents, as spy_file_hook.open gives them.
typedef struct spy_file {
    const void *data; // not necessarily ended by a NUL
    size_t size_bytes;
    void *handle;     // the hook's own
} spy_file;

// Gives Slang files by path, for programs that keep them in archives: a module's own file, what it imports (asked as
// NAME.slang-module, then NAME.slang) and what it includes, in each search path in turn. Asked before the disk.
// Threads: whichever loads a module. The library holds a lock meanwhile: a hook must not call it.
typedef struct spy_file_hook {
    // Fill `file` and give true, or give false: the disk is asked. `path` is valid during the call. What `file` points
    // to must stay as it is until the library has copied it and calls `close`, on the same thread, before the next open.
    bool (*open)(const char *path, spy_file *file, void *user_data);
    void (*close)(spy_file *file, void *user_data); // NULL: there is nothing to free
    // A number that is another one when the file has changed; 0: the hook has no such file. For spy_poll_reload();
    // NULL: changes of the hook's files are not noticed.
    uint64_t (*stamp)(const char *path, void *user_data);
    void *user_data;
} spy_file_hook;

// Told of each reload of a module (see spy_reload_module), on the thread that asked for it, when all modules of that
// reload are in place. `message`: "" or the compiler's text. The device and the module may be used inside.
typedef struct spy_reload_hook {
    void (*func)(struct spy_module *module, spy_status status, const char *message, void *user_data); // NULL: none
    void *user_data;
} spy_reload_hook;

typedef struct spy_device_desc {
    const spy_backend *backend;         // required: which API drives the GPU
    const void *backend_desc;           // spy_vk_desc ... to bring one's own API objects; NULL: the library makes them
    uint32_t adapter;                   // 1 is the first of spy_enumerate_adapters(); 0: chosen by the next two
    const char *adapter_name;           // part of the adapter's name, case ignored; NULL: any
    spy_adapter_type adapter_type;      // only this type; default: the best there is
    spy_log log;                        // sees every error and warning, also of a failed creation
    spy_progress progress;              // called around slow steps
    spy_allocator allocator;            // default: malloc
    const char *slang_library;          // path of libslang-compiler; NULL: searched (see the guide)
    const char *const *include_paths;   // searched by `import` and #include after the module's own folder
    size_t include_path_count;
    spy_file_hook files;                // asked for Slang files before the disk
    spy_reload_hook reload;             // told when a module has been reloaded, or failed to be
    const char *dump_directory;         // generated kernels are written there as NAME.slang and NAME.spv; NULL: none
    uint32_t max_plans;                 // compiled calls kept; 0: 1024; the least recently used leaves
    bool enable_validation;             // Vulkan validation layer, when installed; its messages go to the log
    const char *label;                  // name in debug tools and messages
} spy_device_desc;

// Create a device. NULL on failure; spy_take_error(NULL) then says why, and desc->log has been told.
// Threads: any. Cost: about 0.02-0.2 s; the Slang compiler is loaded with the first module.
spy_device *spy_create_device(const spy_device_desc *desc);

// Release the device and everything that was made from it; waits for its work. NULL is ignored.
// Threads: one, while no other thread uses the device or its objects.
void spy_release_device(spy_device *device);

// The first error since the last call, then forgotten. NULL asks for this thread's errors on NULL or
// released objects, failed device creations and SPY_ERROR_BUSY. Threads: any.
spy_error spy_take_error(spy_device *device);

// A point in the device's order of work. 0: before everything.
typedef uint64_t spy_submit_id;

// Hand all recorded work to the GPU without waiting. Gives the id of that work; 0 on error. Threads: one at a time.
spy_submit_id spy_flush(spy_device *device);
// Submit and wait for all work. Threads: one at a time.
spy_status spy_wait(spy_device *device);
// Wait for the work up to `id`, at most timeout_ns nanoseconds; SPY_ERROR_NOT_READY when that passes first.
spy_status spy_wait_for_submit(spy_device *device, spy_submit_id id, uint64_t timeout_ns);
// Whether the work up to `id` has finished. Never waits.
bool spy_is_submit_finished(spy_device *device, spy_submit_id id);

// Call `func` when the device is released, before its objects go. Threads: one at a time.
spy_status spy_add_close_callback(spy_device *device, void (*func)(spy_device *device, void *user_data), void *user_data);

// Give unused pooled memory back to the driver. Waits for the GPU. Threads: one at a time.
spy_status spy_trim(spy_device *device);

// Bits of spy_device_info.features: element types that kernels may use, and atomics.
#define SPY_FEATURE_FLOAT16 0x1u
#define SPY_FEATURE_FLOAT64 0x2u
#define SPY_FEATURE_INT8 0x4u
#define SPY_FEATURE_INT16 0x8u
#define SPY_FEATURE_INT64 0x10u
#define SPY_FEATURE_ATOMIC_FLOAT32_ADD 0x20u
#define SPY_FEATURE_TIMESTAMPS 0x40u
#define SPY_FEATURE_SUBGROUPS 0x80u
#define SPY_FEATURE_POINTERS 0x100u

typedef struct spy_device_info {
    const char *backend;             // "vulkan", "null"
    char name[256];                  // the adapter's name
    char driver[256];                // driver name and version
    spy_adapter_type type;           // never DEFAULT
    uint32_t api_version;            // the backend's own encoding
    uint32_t features;               // SPY_FEATURE_*
    uint32_t subgroup_size;          // lanes of a wave
    uint32_t max_group_size;         // threads in a group
    uint32_t max_group_count;        // groups in one dimension of a dispatch; larger calls are folded
    uint32_t max_inline_block_bytes; // parameters that travel with a dispatch (push constants)
    uint64_t memory_bytes;           // of the largest device-local heap
    uint64_t max_binding_bytes;      // largest range of one structured buffer
    double timestamp_period_ns;      // length of one tick of the GPU's clock; 0: no timestamps
} spy_device_info;

// What the device is. NULL device: all zero. Threads: any.
spy_device_info spy_get_device_info(const spy_device *device);

// List the adapters of a backend: fills at most `capacity` entries of `infos` (may be NULL) and returns how many
// there are. 0 with an error for spy_take_error(NULL) when the driver cannot be opened. Threads: any.
size_t spy_enumerate_adapters(const spy_backend *backend, spy_device_info *infos, size_t capacity);

// Counts since the device was made, for tests and tuning. Threads: one at a time.
typedef struct spy_device_stats {
    uint64_t calls;           // spy_call and prepared calls that reached the GPU
    uint64_t plan_hits;       // ... whose plan was found ready
    uint64_t plans_built;     // bound and emitted
    uint64_t kernels_built;   // compiled to pipelines
    uint64_t dispatches;      // recorded
    uint64_t barriers;        // recorded
    uint64_t submits;         // queue submissions
    uint64_t plan_count;      // plans alive
    uint64_t pool_bytes;      // device memory held from the driver
    uint64_t used_bytes;      // of which tensors and temporaries use now
    uint64_t driver_allocations; // memory allocations asked from the driver
    uint64_t compiler_loads;  // times the Slang library was opened
} spy_device_stats;

spy_device_stats spy_get_device_stats(spy_device *device);

// One moment on two clocks: the GPU's, as spy_list_read_timestamps() gives it, and the host's monotonic one
// (CLOCK_MONOTONIC, QueryPerformanceCounter).
typedef struct spy_calibration {
    uint64_t gpu_ns;
    uint64_t host_ns;
} spy_calibration;

// Waits for all work, then asks the GPU for its time: right to within such a wait, some 10 us. SPY_ERROR_UNSUPPORTED
// without SPY_FEATURE_TIMESTAMPS. Threads: one at a time.
spy_status spy_get_calibration(spy_device *device, spy_calibration *calibration);

#ifdef __cplusplus
}
#endif

// >>api/module.h --------------------------------------------------------------------------------------------

// Modules and functions: Slang source code by name.

#ifdef __cplusplus
extern "C" {
#endif

typedef struct spy_module spy_module;
typedef struct spy_function spy_function;

typedef struct spy_define {
    const char *name;
    const char *value; // NULL: "1"
} spy_define;

// How far SPIR-V is optimised before the driver sees it. Drivers optimise themselves, so that the default is none.
// LOW to HIGHEST need Slang's library slang-glslang beside the compiler: SPY_ERROR_UNSUPPORTED without it.
typedef enum spy_optimization {
    SPY_OPTIMIZATION_DEFAULT = 0, // as NONE
    SPY_OPTIMIZATION_NONE,
    SPY_OPTIMIZATION_LOW,
    SPY_OPTIMIZATION_HIGH,
    SPY_OPTIMIZATION_HIGHEST
} spy_optimization;

// What kernels carry for debuggers and profilers. LINES and FULL use SPIR-V's non-semantic debug information: Vulkan
// 1.3, or the extension VK_KHR_shader_non_semantic_info.
typedef enum spy_debug_info {
    SPY_DEBUG_INFO_DEFAULT = 0, // as NONE
    SPY_DEBUG_INFO_NONE,
    SPY_DEBUG_INFO_LINES, // lines of functions
    SPY_DEBUG_INFO_FULL   // variables and the sources too
} spy_debug_info;

typedef enum spy_float_mode {
    SPY_FLOAT_MODE_DEFAULT = 0, // the driver may fuse a * b + c
    SPY_FLOAT_MODE_PRECISE,     // it may not. Slang before 2026.14 cannot say so to it: SPY_ERROR_UNSUPPORTED
    SPY_FLOAT_MODE_FAST         // infinities and NaN may be taken not to occur. No effect on SPIR-V: a warning says so
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
} spy_module_desc;

// Load a module. NULL on failure; the device's error then carries the compiler's text with file and line.
// A precompiled module needs the Slang version that wrote it; its imports are searched for as .slang-module and .slang.
// Released by the caller, or with the device. Threads: one at a time a device.
// Cost: 5-50 ms; the first one of a process about 0.3 s more, for loading the compiler.
spy_module *spy_load_module(spy_device *device, const spy_module_desc *desc);
void spy_retain_module(spy_module *module);
void spy_release_module(spy_module *module);

// Write a module in compiled form, as a .slang-module file that spy_load_module, slangc and `import` of the same Slang
// version take in place of its source. It holds this module alone: what it imports stays needed.
// SPY_ERROR_IO: `path` cannot be written. Threads: one at a time a device.
spy_status spy_save_module(spy_module *module, const char *path);
// The same into memory: writes at most `capacity` bytes to `data` (may be NULL when 0) if all fits, and returns how
// many there are; 0 and an error when that fails.
size_t spy_serialize_module(spy_module *module, void *data, size_t capacity_bytes);

// >>reload

// Load a module's code again: its file, or the text or bytes that it was loaded from, and what it imports, includes and
// links as far as that has changed. Modules that link or import it follow. `source`: new text (NUL-terminated), or NULL;
// a module that was loaded from memory keeps it for later reloads, one from a file goes back to the file when that
// changes or is asked for by NULL. Either all modules concerned are replaced or, when one does not compile, none: then
// everything stays as it was, and the error carries the compiler's text.
// Function handles stay valid and mean the new code. One whose function has gone says so when it is next called, until
// a later reload brings it back. Work in flight keeps the old code. A prepared call is prepared anew, for the arguments
// it then gets, when it is next called. Tensors stay; one of a struct whose layout has changed fits only functions that
// still know the old layout: a call says so.
// Waits for compile threads of the modules, not for the GPU. Threads: one at a time a device. Cost: as loading.
spy_status spy_reload_module(spy_module *module, const char *source);

typedef struct spy_reload_info {
    uint32_t reloaded; // modules that have new code
    uint32_t failed;   // reloads that failed; those modules keep their code, and are tried again after the next change
} spy_reload_info;

// Reload all modules whose files have changed on disk, or in the file hook: those that a module was made of, and those
// that were looked for in vain. Looks at most once in `interval_ns` nanoseconds (0: each time) and does nothing in
// between, so that it may be called each frame. `info` may be NULL.
// SPY_OK: nothing has changed, or all of it was reloaded. Else as spy_reload_module(), for the first that failed.
// Threads: one at a time a device. Cost: without a look 0.1 us, a look about 2 us a file.
spy_status spy_poll_reload(spy_device *device, uint64_t interval_ns, spy_reload_info *info);

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

// >>api/reflect.h -------------------------------------------------------------------------------------------

// Reflection: what a module declares, as one tree of plain structs that the module owns.

#ifdef __cplusplus
extern "C" {
#endif

// Every pointer here is borrowed: it lives until its module is released, also when the module is reloaded in between (a
// reload makes a new tree; ask again to see it). Strings are never NULL, and "" where there is nothing to say. Nothing is
// written once it has been handed out, so any thread may read it.

typedef struct spy_decl spy_decl;
typedef struct spy_type_info spy_type_info;

typedef enum spy_decl_kind {
    SPY_DECL_OTHER = 0,        // something that Slang's reflection does not name, such as a class
    SPY_DECL_MODULE,           // the root
    SPY_DECL_IMPORT,           // a module that this one needs, directly or not; `file` is where it was found
    SPY_DECL_NAMESPACE,        // reopened namespaces are one
    SPY_DECL_STRUCT,
    SPY_DECL_INTERFACE,
    SPY_DECL_ENUM,
    SPY_DECL_ENUM_CASE,        // `value` is its number
    SPY_DECL_ALIAS,            // typealias and typedef; `type` is what it stands for
    SPY_DECL_ASSOCIATED_TYPE,  // of an interface
    SPY_DECL_EXTENSION,        // `type` is what it extends; NULL, with the name "", where that could not be found out
    SPY_DECL_FIELD,
    SPY_DECL_PROPERTY,
    SPY_DECL_SUBSCRIPT,        // "operator[]"; its parameters are children
    SPY_DECL_FUNCTION,         // a global one; an entry point has a `stage`
    SPY_DECL_METHOD,           // of a struct, interface, enum or extension; SPY_DECL_STATIC or of an instance
    SPY_DECL_CONSTRUCTOR,      // "__init", also the one that Slang makes from the fields
    SPY_DECL_PARAMETER,        // of a function
    SPY_DECL_GENERIC_TYPE,     // the T of f<T>; its constraints are children
    SPY_DECL_GENERIC_VALUE,    // the N of f<let N : int>
    SPY_DECL_CONSTRAINT,       // `type` is the interface that a generic type must implement
    SPY_DECL_VARIABLE,         // a static or groupshared one, or a constant
    SPY_DECL_SHADER_PARAMETER  // a global that the host sets: uniform data, a buffer, a texture
} spy_decl_kind;

// Bits of spy_decl.flags. A parameter that is read has SPY_DECL_IN, one that is written SPY_DECL_OUT, an inout one both.
// [Differentiable], [BackwardDifferentiable] and [ForwardDifferentiable] are one bit: Slang does not tell them apart.
typedef enum spy_decl_flags {
    SPY_DECL_STATIC = 1 << 0,
    SPY_DECL_CONST = 1 << 1,
    SPY_DECL_EXTERN = 1 << 2,         // a constant or struct that another module may replace when it is linked
    SPY_DECL_EXPORT = 1 << 3,
    SPY_DECL_MUTATING = 1 << 4,       // a method that changes its instance
    SPY_DECL_DIFFERENTIABLE = 1 << 5,
    SPY_DECL_NO_DIFF = 1 << 6,
    SPY_DECL_IN = 1 << 7,
    SPY_DECL_OUT = 1 << 8,
    SPY_DECL_HAS_DEFAULT = 1 << 9,    // a parameter that a call may leave out; an initialised variable
    SPY_DECL_GENERIC = 1 << 10,       // it has generic parameters, or lies in something that has: types may be open
    SPY_DECL_GETTER = 1 << 11,        // a property or subscript that can be read
    SPY_DECL_SETTER = 1 << 12         // ... written
} spy_decl_flags;

typedef enum spy_constant_kind {
    SPY_CONSTANT_NONE = 0, // there is none, or Slang does not tell it
    SPY_CONSTANT_INT,
    SPY_CONSTANT_FLOAT,
    SPY_CONSTANT_STRING
} spy_constant_kind;

// A number or text known when the module was compiled.
typedef struct spy_constant {
    spy_constant_kind kind;
    int64_t int_value;   // INT (bool: 0 or 1; uint64 above INT64_MAX: its bits)
    double float_value;  // FLOAT, in float's precision; INT: the same number
    const char *string;  // STRING
} spy_constant;

// [Name(1, 2.5, "text")]. Only attributes that are declared as structs: Slang does not list its own ([Differentiable] and
// such), most of which are flags. Arguments of type double and half, and integers of more than 32 bits, have the kind
// NONE: Slang does not give them.
typedef struct spy_attribute {
    const char *name; // without the ending "Attribute" of its struct
    const spy_constant *args;
    uint32_t arg_count;
} spy_attribute;

// Pipeline stages.
typedef enum spy_stage {
    SPY_STAGE_NONE = 0,
    SPY_STAGE_VERTEX,
    SPY_STAGE_HULL,
    SPY_STAGE_DOMAIN,
    SPY_STAGE_GEOMETRY,
    SPY_STAGE_FRAGMENT,
    SPY_STAGE_COMPUTE,
    SPY_STAGE_RAY_GENERATION,
    SPY_STAGE_INTERSECTION,
    SPY_STAGE_ANY_HIT,
    SPY_STAGE_CLOSEST_HIT,
    SPY_STAGE_MISS,
    SPY_STAGE_CALLABLE,
    SPY_STAGE_MESH,
    SPY_STAGE_AMPLIFICATION,
    SPY_STAGE_DISPATCH
} spy_stage;

// One declaration. What a kind has no use for is zero.
struct spy_decl {
    spy_decl_kind kind;
    uint32_t flags;              // spy_decl_flags
    const char *name;            // "area"
    const char *path;            // "geometry::Circle::area", as spy_find_decl() takes it, without generic arguments; ""
                                 // for what has no name, imports, constraints, extensions (not what is in them) and the root
    const char *text;            // as one writes it: "float lerp(float a, float b = 1)", "struct Circle", "Red = 0"
    const spy_type_info *type;   // of a variable, parameter, field, property; a function's result; the type that a struct,
                                 // enum, interface or alias declares; NULL where there is none
    const spy_decl *parent;      // NULL: the root
    const spy_decl *children;    // fields first, then the others as they are written; a function's are its generic
    uint32_t child_count;        // parameters, then its parameters
    const spy_attribute *attributes;
    uint32_t attribute_count;
    spy_constant value;          // of an enum case, a constant, a default that is a plain number
    size_t offset_bytes;         // a field's in C's layout
    size_t device_offset_bytes;  // a field's on the device; a uniform shader parameter's among the globals
    uint32_t binding, space;     // of a shader parameter that is a resource, in this module's own layout
    spy_stage stage;             // of an entry point
    uint32_t group_size[3];      // its [numthreads]
    const char *file;            // where it is written, and the line from 1; "" and 0 where that is not known
    uint32_t line;
};

typedef enum spy_type_kind {
    SPY_TYPE_OTHER = 0,       // none of these, or it depends on a generic parameter
    SPY_TYPE_VOID,
    SPY_TYPE_SCALAR,
    SPY_TYPE_VECTOR,
    SPY_TYPE_MATRIX,
    SPY_TYPE_ARRAY,
    SPY_TYPE_STRUCT,
    SPY_TYPE_ENUM,
    SPY_TYPE_INTERFACE,
    SPY_TYPE_POINTER,
    SPY_TYPE_CONSTANT_BUFFER,
    SPY_TYPE_PARAMETER_BLOCK,
    SPY_TYPE_RESOURCE,        // buffers, textures, acceleration structures
    SPY_TYPE_SAMPLER
} spy_type_kind;

// A type. Sizes are those of plain data, and 0 for what host memory cannot hold (resources, interfaces, open generics,
// structs with such fields).
struct spy_type_info {
    spy_type_kind kind;
    const char *name;             // as spy_reflect_type() takes it: "float3", "geometry.Circle", "float[3][2]" (C's order:
                                  // 3 arrays of 2)
    spy_dtype dtype;              // of a scalar, vector or matrix; an enum's integer
    uint32_t rows, columns;       // a matrix's; a vector's components are columns; else 1
    int64_t count;                // an array's elements; 0: unsized, or open
    const spy_type_info *element; // of an array, vector, matrix, pointer, buffer; an enum's integer; else NULL
    const spy_decl *decl;         // a struct, enum or interface that this module declares; else NULL
    const spy_decl *fields;       // a struct's, wherever it is declared
    uint32_t field_count;
    size_t size_bytes, align_bytes;               // in C's layout, which host data has
    size_t device_size_bytes, device_align_bytes; // on the device
    size_t device_stride_bytes;                   // from one array element to the next on the device
};

// The tree of a module's declarations; NULL on failure. Built by the first call (and the first after a reload).
// Threads: one at a time a device. Cost: a few ms for the first call, nothing later.
const spy_decl *spy_reflect_module(spy_module *module);

// The declaration of that path: "f", "ns::Circle::area" ("." will do as well), without generic arguments. The first of
// several that share it (spy_next_overload has the others). NULL if there is none; the error lists the nearest names.
// Threads and cost: as spy_reflect_module.
const spy_decl *spy_find_decl(spy_module *module, const char *path);

// The next declaration of the same name and kind beside this one; NULL: none, or decl is NULL. Threads: any.
const spy_decl *spy_next_overload(const spy_decl *decl);

// The first attribute of that name; NULL: none, or decl is NULL. No error is raised. Threads: any.
const spy_attribute *spy_find_attribute(const spy_decl *decl, const char *name);

// A type by name, built-in or visible in the module: "float3", "Circle", "ns::Grid<float, 4>", "Circle[8]". NULL if there
// is none; the error lists the nearest names, or says which arguments a generic type wants. Threads: one at a time a device.
const spy_type_info *spy_reflect_type(spy_module *module, const char *name);

// Whether a type implements an interface: spy_type_implements(module, "Circle", "IShape"). False with an error when one of
// them is unknown or the second is no interface. Threads: one at a time a device.
bool spy_type_implements(spy_module *module, const char *type, const char *interface_name);

#ifdef __cplusplus
}
#endif

// >>api/tensor.h --------------------------------------------------------------------------------------------

// Tensors: N-dimensional strided views of device memory with a Slang element type (Slang's NDBuffer and Tensor).

#ifdef __cplusplus
extern "C" {
#endif

typedef struct spy_tensor spy_tensor;

typedef struct spy_tensor_desc {
    spy_shape shape;          // default: rank 0, one element; sizes may be 0
    spy_dtype dtype;          // scalar elements; default float32
    const char *type;         // Slang element type instead: "float3", "float4x4", "Particle", ...
    spy_module *module;       // where `type` is looked up when it is not built in
    const void *data;         // initial contents, row-major, elements in C's layout; NULL: undefined
    size_t data_size_bytes;   // of data; 0: as many as the shape needs; else must match
    const char *label;        // name in debug tools and messages
    spy_tensor *like;         // a tensor whose shape (when `shape` has rank 0) and element type (without dtype and type) to take
    bool zeroed;              // contents are zero; not together with data
} spy_tensor_desc;

// Create a tensor. NULL on failure. Released by the caller, or with the device. Threads: one at a time a device.
// Cost: no driver call when the pool has a block of that size; a copy of data.
spy_tensor *spy_create_tensor(spy_device *device, const spy_tensor_desc *desc);
void spy_retain_tensor(spy_tensor *tensor);
// Threads: any, at any time; calls in flight keep the memory until they are done. NULL is ignored.
void spy_release_tensor(spy_tensor *tensor);

// Copy all elements to `data`, row-major, in C's layout; waits for exactly the work that writes the tensor.
// size_bytes must be the tensor's size, spy_tensor_info.host_size_bytes. Threads: one at a time a device.
spy_status spy_tensor_read(spy_tensor *tensor, void *data, size_t size_bytes);
// Copy `data` into all elements; `data` may change after the return. Threads: one at a time a device.
spy_status spy_tensor_write(spy_tensor *tensor, const void *data, size_t size_bytes);
// The same for elements first .. first + count in row-major order, whatever the strides. Threads: one at a time a device.
spy_status spy_tensor_read_range(spy_tensor *tensor, int64_t first, int64_t count, void *data, size_t size_bytes);
spy_status spy_tensor_write_range(spy_tensor *tensor, int64_t first, int64_t count, const void *data, size_t size_bytes);
// Set every scalar of every element to `value`, converted to its type. Threads: one at a time a device.
spy_status spy_tensor_fill(spy_tensor *tensor, double value);
// Set every element to one value in C's layout: size_bytes is one element's size. Threads: one at a time a device.
spy_status spy_tensor_fill_data(spy_tensor *tensor, const void *element, size_t size_bytes);
// Copy the elements of `from` to those of `to`, which has the same shape; strides may be any. The types are the same, or
// scalars, vectors, matrices or arrays of the same sizes: then each scalar is converted as host data is, and one that does
// not fit is SPY_ERROR_OUT_OF_RANGE and nothing is written. The two may overlap: `from` is read first. Elements of
// `to` must not lie at one place. Threads: one at a time a device.
// Cost: of one type and in runs of 4 KiB and more, or of few: the device copies and nothing is waited for. Else the
// elements go through host memory; a Slang function (float copy(float x) { return x; }) is then faster.
spy_status spy_tensor_copy(spy_tensor *to, spy_tensor *from);

// Describe a tensor's contents as numpy prints arrays: a line with type and shape, then nested brackets, columns aligned,
// floats with up to 8 decimals; above 1,000 scalars the first and last 3 of each dimension, which alone are downloaded.
// Vectors, matrices and arrays print as further dimensions, structs as {field: value}. Works like snprintf: writes at
// most `capacity` bytes with the NUL, returns the text's length without it; 0 on error. Threads: one at a time a device.
size_t spy_tensor_print(spy_tensor *tensor, char *text, size_t capacity);

// The GPU's address of the first element, for pointers in structs and for the backend's own API. Valid as long as
// something holds the memory. What kernels do through it is not seen: order such calls by spy_wait(). 0 and
// SPY_ERROR_UNSUPPORTED without SPY_FEATURE_POINTERS. Threads: one at a time a device.
uint64_t spy_tensor_address(spy_tensor *tensor);

typedef struct spy_tensor_info {
    spy_shape shape;
    spy_shape strides;        // in elements; 0 for broadcast dimensions
    spy_dtype dtype;          // SPY_DTYPE_DEFAULT when elements are not scalars
    const char *type;         // Slang's name of the element type; lives as long as the device
    int64_t element_count;
    size_t element_size_bytes;  // on the device, the distance of neighbours
    size_t host_size_bytes;     // of all elements in C's layout
    int64_t offset_elements;    // of element 0 in its storage
    bool is_contiguous;
} spy_tensor_info;

// Threads: any. NULL: all zero.
spy_tensor_info spy_get_tensor_info(const spy_tensor *tensor);

// A view shares its tensor's memory and keeps it alive. All are released by the caller.
typedef struct spy_view_desc {
    spy_shape shape;
    spy_shape strides;        // in elements of the view's type; rank 0: row-major
    int64_t offset_elements;  // from the tensor's first element, in elements of the view's type
    const char *type;         // another element type; NULL: the tensor's own
    spy_module *module;       // where `type` is looked up
} spy_view_desc;
// Any view whose elements all lie inside the tensor's storage; else an error that says which index does not.
spy_tensor *spy_create_view(spy_tensor *tensor, const spy_view_desc *desc);
// Stretch dimensions of size 1 and add leading ones, as numpy.broadcast_to: no copy, strides of 0.
spy_tensor *spy_create_broadcast(spy_tensor *tensor, spy_shape shape);
// tensor[..., start:stop:step, ...] in dimension `dim` as in Python: negative positions count from the end, a negative
// step walks backwards, SPY_INDEX_NONE leaves start or stop out.
spy_tensor *spy_create_slice(spy_tensor *tensor, uint32_t dim, int64_t start, int64_t stop, int64_t step);
// tensor[..., index, ...]: the dimension disappears.
spy_tensor *spy_create_select(spy_tensor *tensor, uint32_t dim, int64_t index);

#define SPY_INDEX_NONE INT64_MIN // a start or stop that is left out

typedef enum spy_index_kind {
    SPY_INDEX_AT = 0, // start: the index
    SPY_INDEX_RANGE,  // start:stop:step
    SPY_INDEX_REST,
    SPY_INDEX_NEW
} spy_index_kind;

// One item of an index list. Filled by the spy_index_* functions.
typedef struct spy_index {
    spy_index_kind kind;
    int64_t start, stop, step;
} spy_index;

typedef struct spy_indices {
    const spy_index *items;
    size_t count;
} spy_indices;

spy_index spy_index_at(int64_t index); // i: the dimension disappears
spy_index spy_index_range(int64_t start, int64_t stop, int64_t step); // start:stop:step
spy_index spy_index_all(void);  // : a whole dimension
spy_index spy_index_rest(void); // ... as many whole dimensions as the other items leave
spy_index spy_index_new(void);  // numpy.newaxis, a new dimension of size 1

#ifdef __cplusplus
} // extern "C"
template <size_t N> struct spyi_index_list {
    spy_index items[N];
    operator spy_indices() const {
        spy_indices a = { items, N };
        return a;
    }
};
template <class... T> inline spyi_index_list<sizeof...(T)> spyi_make_indices(const T &...items) {
    spyi_index_list<sizeof...(T)> list = { { items... } };
    return list;
}
#define SPY_INDICES(...) spyi_make_indices(__VA_ARGS__)
extern "C" {
#else
// SPY_INDICES(spy_index_at(2), spy_index_rest()): a spy_indices that lives until the end of its block.
#define SPY_INDICES(...)                                                                                      \
    ((spy_indices){ (const spy_index[]){ __VA_ARGS__ }, sizeof((spy_index[]){ __VA_ARGS__ }) / sizeof(spy_index) })
#endif

// numpy's basic indexing in one step: tensor[2, 1:8:3, ..., ::-1] is SPY_INDICES(spy_index_at(2), spy_index_range(1, 8, 3),
// spy_index_rest(), spy_index_range(SPY_INDEX_NONE, SPY_INDEX_NONE, -1)). Dimensions that no item names stay whole.
spy_tensor *spy_create_indexed(spy_tensor *tensor, spy_indices indices);
// The elements in the same order under other sizes, as numpy.reshape; one size may be -1. Never copies: strides that do not
// allow a view are an error that names the dimensions.
spy_tensor *spy_create_reshape(spy_tensor *tensor, spy_shape shape);
// The same bytes as another element type, as numpy.ndarray.view: "uint", "float3", or a struct of `module` (else NULL).
// Types of one size on the device keep the shape; else the last dimension, which must be contiguous, is cut anew.
spy_tensor *spy_create_view_as(spy_tensor *tensor, const char *type, spy_module *module);
// Elements as scalars with further dimensions: float3 (100) is float (100, 3), float4x4 (N) is float (N, 4, 4), int[5]
// is int (..., 5); a struct whose scalars are all of one type gets one dimension for them. Scalars stay as they are.
spy_tensor *spy_create_flat_view(spy_tensor *tensor);
// The dimensions in another order, as numpy.transpose.
spy_tensor *spy_create_transpose(spy_tensor *tensor, spy_dims order);
// Make `tensor` (a view) see other storage of the same shape, strides and type: what `other` sees.
spy_status spy_tensor_point_to(spy_tensor *tensor, spy_tensor *other);

#ifdef __cplusplus
}
#endif

// >>api/cursor.h --------------------------------------------------------------------------------------------

// Cursors: fields of structs in host memory by name, with the conversions and checks that arguments have.

#ifdef __cplusplus
extern "C" {
#endif

// A place in host memory whose type is known: a range of elements, one of them, or a part of one. A small value to be
// passed on and copied; all members are private. All zero: nowhere, which a function gives when it fails. Functions
// take such a cursor, report that it stands nowhere, and the device's first error says why.
//     spy_cursor lights = spy_create_cursor(tensor, 0, 8), third = spy_cursor_at(lights, 2);
//     spy_cursor_write(spy_cursor_field(third, "light.color"), SPY_FLOAT32, 3, rgb);
//     spy_cursor_apply(lights);
//     spy_release_cursor(lights);
// Threads: one at a time a range, apart from the device; create, over, apply: one at a time a device.
typedef struct spy_cursor {
    spy_device *device;
    struct spyi_cursor_range *range;
    const void *element, *type;
    void *data;
    int64_t count, index;
    size_t offset;
} spy_cursor;

// Elements first .. first + count of a tensor in row-major order, copied to host memory; waits for the work that writes
// the tensor. Reads and writes touch the copy alone. It is released by the caller, or with the device.
spy_cursor spy_create_cursor(spy_tensor *tensor, int64_t first, int64_t count);
// The same over the program's own memory: values of a type in C's layout, as many as size_bytes holds. `data` must stay
// there as long as the cursor is used. Nothing is copied; nothing is to be applied or released.
spy_cursor spy_cursor_over(spy_module *module, const char *type, void *data, size_t size_bytes);

// A part by its path: "light.color", "items[3].x", "[2].mass", "transform[0][3]". Vectors have x, y, z, w (or r, g, b,
// a) and [0] to [3], matrices [row] or [row][column]. A range of one element needs no "[0]" in front. An unknown
// name is SPY_ERROR_NOT_FOUND with the nearest ones, an index beyond the end SPY_ERROR_OUT_OF_RANGE.
spy_cursor spy_cursor_field(spy_cursor cursor, const char *path);
// Part `index` of a range, array, vector or matrix, from 0.
spy_cursor spy_cursor_at(spy_cursor cursor, int64_t index);

// All scalars of the place, in the order of declaration, from or to `count` values of one dtype (default: float32).
// `count` must be their number. Values are converted as spy_arg_* are: one that does not fit (300 for uint8_t, 2.5 for
// int) is SPY_ERROR_OUT_OF_RANGE, and nothing is changed.
spy_status spy_cursor_read(spy_cursor cursor, spy_dtype dtype, size_t count, void *values);
spy_status spy_cursor_write(spy_cursor cursor, spy_dtype dtype, size_t count, const void *values);
// The place as bytes in C's layout, e.g. a whole struct. size_bytes must be its size.
spy_status spy_cursor_read_data(spy_cursor cursor, void *data, size_t size_bytes);
spy_status spy_cursor_write_data(spy_cursor cursor, const void *data, size_t size_bytes);

// Copy the elements that were written since the creation or the last apply to the tensor, in the device's order of
// work; all other elements stay untouched. An element is copied whole: its other fields become what they were when it was
// read. Any cursor of the range will do. Cost: an upload for each run of such elements.
spy_status spy_cursor_apply(spy_cursor cursor);
// Give the copy of spy_create_cursor() back; what was not applied is lost. Any cursor of the range will do; all of them
// are invalid then. Nowhere and the program's own memory are ignored. Threads: any.
void spy_release_cursor(spy_cursor cursor);

typedef struct spy_cursor_info {
    const char *type;        // Slang's name of the type at the place; of one element for a range
    spy_dtype dtype;         // when all scalars have the same; else SPY_DTYPE_DEFAULT
    int64_t length;          // parts that spy_cursor_at() takes; 0: none
    size_t scalar_count;     // what read and write expect
    size_t size_bytes;       // in C's layout
} spy_cursor_info;

// What a cursor stands at. All zero when that is nowhere, without an error.
spy_cursor_info spy_get_cursor_info(spy_cursor cursor);

#ifdef __cplusplus
}
#endif

// >>api/call.h ----------------------------------------------------------------------------------------------

// Calls: arguments by name or position, results, and the kernel that a call becomes.

#ifdef __cplusplus
extern "C" {
#endif

// >>arguments

typedef struct spy_arg spy_arg;

// A list of arguments; see SPY_ARGS.
typedef struct spy_args {
    const spy_arg *items;
    size_t count;
} spy_args;

// What an argument is. Filled by the spy_arg_*, spy_out_* and spy_inout_* functions below.
typedef enum spy_arg_kind {
    SPY_ARG_NONE = 0,
    SPY_ARG_BOOL,    // value.u
    SPY_ARG_INT,     // value.i
    SPY_ARG_UINT,    // value.u
    SPY_ARG_FLOAT,   // value.f
    SPY_ARG_TENSOR,  // value.tensor
    SPY_ARG_ARRAY,   // host array of scalars: dtype, shape, pointer
    SPY_ARG_DATA,    // host bytes of one value in C's layout
    SPY_ARG_STRUCT,  // named fields
    SPY_ARG_NEW,     // a new tensor is made for an output
    SPY_ARG_CUSTOM   // what `custom` says: generators and their like
} spy_arg_kind;

// Which way data goes between the host memory of the argument and the call.
typedef enum spy_direction {
    SPY_DIRECTION_DEFAULT = 0, // in
    SPY_DIRECTION_OUT,
    SPY_DIRECTION_INOUT
} spy_direction;

// One argument. Plain data that lives only during the call.
struct spy_arg {
    const char *name;          // parameter's or field's name; NULL: by position
    spy_arg_kind kind;
    spy_direction direction;
    spy_dtype dtype;           // of scalars and host arrays
    uint32_t map_count;        // explicit mapping: number of entries in map; 0: none
    int8_t map[SPY_MAX_RANK];  // kernel dimension of each mapped argument dimension
    const char *type;          // explicit Slang type of the element, spy_cast(); NULL: chosen
    const struct spyi_value_kind *custom; // SPY_ARG_CUSTOM: what kind of value it is
    union {
        int64_t i;
        uint64_t u;
        double f;
        spy_tensor *tensor;
        spy_tensor **new_tensor;
        const void *data;
        void *out;
        const spy_arg *fields;
    } value;
    size_t count;              // bytes of data, number of fields, or rank of a host array
    int64_t dims[SPY_MAX_RANK]; // host array: its sizes; SPY_ARG_CUSTOM: the kind's own
};

#ifdef __cplusplus
} // extern "C"
template <size_t N> struct spyi_arg_list {
    spy_arg items[N];
    operator spy_args() const {
        spy_args a = { items, N };
        return a;
    }
};
template <class... T> inline spyi_arg_list<sizeof...(T)> spyi_make_args(const T &...args) {
    spyi_arg_list<sizeof...(T)> list = { { args... } };
    return list;
}
inline spy_args spyi_no_args() {
    spy_args a = { nullptr, 0 };
    return a;
}
#define SPY_ARGS(...) spyi_make_args(__VA_ARGS__)
#define SPY_NO_ARGS spyi_no_args()
extern "C" {
#else
// SPY_ARGS(spy_arg_f32("a", 2), spy_arg_tensor("x", x)): a spy_args that lives until the end of its block.
#define SPY_ARGS(...)                                                                                         \
    ((spy_args){ (const spy_arg[]){ __VA_ARGS__ }, sizeof((spy_arg[]){ __VA_ARGS__ }) / sizeof(spy_arg) })
#define SPY_NO_ARGS ((spy_args){ NULL, 0 })
#endif

// Scalars. A number takes the parameter's type: one that does not fit (300 for uint8_t, 2.5 for int) is an error.
spy_arg spy_arg_bool(const char *name, bool value);
spy_arg spy_arg_i32(const char *name, int32_t value);
spy_arg spy_arg_u32(const char *name, uint32_t value);
spy_arg spy_arg_i64(const char *name, int64_t value);
spy_arg spy_arg_u64(const char *name, uint64_t value);
spy_arg spy_arg_f32(const char *name, float value);
spy_arg spy_arg_f64(const char *name, double value);

// Device arrays. Dimensions beyond those that the parameter's type takes are run over by the kernel.
spy_arg spy_arg_tensor(const char *name, spy_tensor *tensor);

// A host array of scalars, row-major. Its trailing dimensions feed vectors, matrices and arrays; the others are run
// over. It is read during the call. float64 data for a float parameter is converted.
spy_arg spy_arg_array(const char *name, spy_dtype dtype, spy_shape shape, const void *data);
// A short vector: spy_arg_f32n("v", 3, (float[]){ 1, 2, 3 }) for a float3 or float[3].
spy_arg spy_arg_f32n(const char *name, uint32_t count, const float *values);
spy_arg spy_arg_i32n(const char *name, uint32_t count, const int32_t *values);

// A struct given whole: `size_bytes` bytes in C's layout of the parameter's type.
spy_arg spy_arg_data(const char *name, const void *data, size_t size_bytes);
// A struct given field by field; each field is any argument, tensors and further structs included. All fields must
// be given. The list must stay alive until the call.
spy_arg spy_arg_struct(const char *name, spy_args fields);

// Results into host memory: `name` is an out parameter or "_result". The call then waits for its result. Without
// "_result" the return value is dropped.
spy_arg spy_out_bool(const char *name, bool *value);
spy_arg spy_out_i32(const char *name, int32_t *value);
spy_arg spy_out_u32(const char *name, uint32_t *value);
spy_arg spy_out_i64(const char *name, int64_t *value);
spy_arg spy_out_u64(const char *name, uint64_t *value);
spy_arg spy_out_f32(const char *name, float *value);
spy_arg spy_out_f64(const char *name, double *value);
// A vector, matrix or array (SPY_SHAPE(3) for a float3), or those of all elements of the call (SPY_SHAPE(100, 3)).
spy_arg spy_out_array(const char *name, spy_dtype dtype, spy_shape shape, void *data);
// One value of any type in C's layout: a struct, but also a half (2 bytes) or uint8_t, which have no function above.
spy_arg spy_out_data(const char *name, void *data, size_t size_bytes);
// A result in a new tensor of the call's shape: *tensor is set when the call succeeds, else left as it was.
spy_arg spy_out_tensor(const char *name, spy_tensor **tensor);

// Values that go in and come back, for inout parameters. The call waits.
spy_arg spy_inout_bool(const char *name, bool *value);
spy_arg spy_inout_i32(const char *name, int32_t *value);
spy_arg spy_inout_u32(const char *name, uint32_t *value);
spy_arg spy_inout_i64(const char *name, int64_t *value);
spy_arg spy_inout_u64(const char *name, uint64_t *value);
spy_arg spy_inout_f32(const char *name, float *value);
spy_arg spy_inout_f64(const char *name, double *value);
spy_arg spy_inout_array(const char *name, spy_dtype dtype, spy_shape shape, void *data);
spy_arg spy_inout_data(const char *name, void *data, size_t size_bytes);

// Say how an argument is run over: its dimension i becomes dimension dims[i] of the kernel; the remaining trailing
// dimensions feed the parameter. spy_map(spy_arg_tensor("a", a), SPY_DIMS(0)) with "b" at SPY_DIMS(1): outer product.
spy_arg spy_map(spy_arg arg, spy_dims dims);
// Say which Slang type one element of the argument is loaded as, e.g. "float3" for a float tensor (N, 3).
// A struct given by fields is looked up by this name.
spy_arg spy_cast(spy_arg arg, const char *type);

// >>packed arguments

typedef struct spy_packed spy_packed;

// A copy of an argument with all that it points to (host data, fields, names; tensors are retained), to be given to many
// calls without building it again. NULL on failure: outputs and grids cannot be packed. Released by the caller.
spy_packed *spy_pack(spy_device *device, spy_arg arg);
spy_arg spy_arg_packed(const char *name, const spy_packed *packed);
// Before the device goes. NULL is ignored.
void spy_release_packed(spy_packed *packed);

// >>calling

// Call `function` once for each element of the broadcast shape of its arguments. Binds and compiles at the first call
// of each kind of arguments, then runs from the cache. Returns before the GPU is done, unless results go to host memory.
// Errors found before the launch leave every output as it was.
// Threads: one at a time a device (SPY_ERROR_BUSY otherwise). Cost: below 1 us and no allocation when cached.
spy_status spy_call(spy_function *function, spy_args args);

// How a call is made, beyond its arguments: a value that can be kept, changed and used again. All zero: as spy_call() does.
typedef struct spy_call_options {
    const char *prelude;             // Slang text at the head of the generated kernel, after its imports
    spy_args constants;              // numbers for the module's `extern static const`, by name; fixed when it is compiled
    spy_args globals;                // values for the module's global shader parameters, by name; see the guide
    const char *const *conformances; // "Circle : IShape": types that interface-typed values may have at run time
    size_t conformance_count;
    uint32_t thread_group_size[3];   // threads of a group in x, y, z, x along the last dimension; 0: chosen (y, z: 1)
    spy_shape call_group_shape;      // elements of a call group: they run next to each other; rank 0: none
    spy_shape thread_count;          // joins the call's shape as an argument of these sizes would; rank 0: none
    struct spy_command_list *append_to; // record the call there (api/list.h) instead of making it; NULL: make it
} spy_call_options;

// As spy_call(), made in another way. `options` may be NULL. All of them but thread_count's sizes, the globals' values and
// append_to belong to the kind of call: other ones bind and compile again.
spy_status spy_call_with(spy_function *function, spy_args args, const spy_call_options *options);

// >>dispatching

typedef struct spy_uint3 {
    uint32_t x, y, z;
} spy_uint3;

// Run `function` once in each of threads.x * y * z threads, its arguments passed whole: nothing is broadcast, and results go
// to tensors that it takes whole (RWTensor, RWStructuredBuffer, pointers). A compute shader keeps its [numthreads] and runs in
// whole groups, so that it must look for the end itself; a plain function runs in exactly these threads. Parameters with
// SV_DispatchThreadID, SV_GroupID, SV_GroupThreadID or SV_GroupIndex are filled and are not among `args`. `options` may be
// NULL. Errors and threads as spy_call().
spy_status spy_dispatch(spy_function *function, spy_uint3 threads, spy_args args, const spy_call_options *options);

// As spy_dispatch(), over as many groups as stand in GPU memory when it runs: three uint32 (x, y, z) from element `index` of
// `groups` on, a contiguous tensor of uint32. Each must be within spy_device_info.max_group_count; nothing checks that. Whole
// groups run, of plain functions too.
spy_status spy_dispatch_indirect(spy_function *function, spy_tensor *groups, int64_t index, spy_args args,
                                 const spy_call_options *options);

// As spy_call(), then waits and tells how long the GPU took, in nanoseconds.
spy_status spy_time_call(spy_function *function, spy_args args, uint64_t *gpu_time_ns);

// What a call would do: a table of parameters, Slang types, arguments and mappings, the call shape, the kernel's variant
// and its text. Works like snprintf: writes at most `capacity` bytes with the NUL, returns the text's length without it.
// When the call cannot be made, the text is the error's. Nothing runs.
size_t spy_explain_call(spy_function *function, spy_args args, char *text, size_t capacity);

// >>prepared calls

typedef struct spy_prepared spy_prepared;

typedef struct spy_prepare_desc {
    bool async; // compile on a thread of its own; spy_prepared_ready() says when it is done
} spy_prepare_desc;

// Bind and compile a call without running it. `desc` may be NULL. The arguments say kinds, types and shapes; values do
// not matter. NULL on failure (when async: see spy_prepared_ready). Released by the caller, or with the device.
spy_prepared *spy_prepare(spy_function *function, spy_args args, const spy_prepare_desc *desc);
// SPY_OK: can be called without compiling. SPY_ERROR_NOT_READY: still compiling. Else: why it failed. Never waits.
spy_status spy_prepared_ready(spy_prepared *prepared);
// Call with arguments of the same kinds, types and ranks in the same order: no look-up. Other ones are an error.
// Waits for an unfinished compilation. When the module was reloaded since, the call is first prepared anew, for these
// arguments, which may then be others; spy_prepared_ready() gives SPY_OK until then.
spy_status spy_call_prepared(spy_prepared *prepared, spy_args args);
void spy_release_prepared(spy_prepared *prepared);

#ifdef __cplusplus
}
#endif

// >>api/generator.h -----------------------------------------------------------------------------------------

// Generators: arguments whose values are made in the kernel, one for each element of the call, with no memory behind them.

#ifdef __cplusplus
extern "C" {
#endif

// All of them feed numbers, vectors and arrays of numbers, whatever their scalar type. An array takes coordinates in the
// order of the shape; a vector takes them the other way round, so that .x is the last dimension, as in textures.

// Where in the call's shape the element is. A parameter of N components takes the last N dimensions; a number the last one.
// Dimensions that the call does not have are 0. Gives the call no size of its own.
spy_arg spy_arg_call_id(const char *name);

// The number of the element in the call, in .x or [0]; the other components are 0. What a thread's id is when each element
// has a thread of its own: kernels that give a thread several elements count on.
spy_arg spy_arg_thread_id(const char *name);

typedef struct spy_grid_desc {
    spy_shape shape;  // its sizes join the call's shape; -1: any size. Rank 1 to SPY_MAX_RANK
    spy_shape offset; // added to each coordinate; rank 0: none
    spy_shape stride; // multiplied with it before; rank 0: 1
} spy_grid_desc;

// Coordinates of a grid: offset + stride * coordinate. Two of shape (480, 640) in an `int2 pixel` make a call of that shape
// with .x below 640. `desc` must live until the call; its numbers must fit 32 bits.
spy_arg spy_arg_grid(const char *name, const spy_grid_desc *desc);

// start, start + step, ... below stop (above, when step is negative): a dimension of the call, as numpy's arange. 32 bits.
spy_arg spy_arg_range(const char *name, int64_t start, int64_t stop, int64_t step);

// Where a random sequence begins. NULL or all zero: the defaults.
typedef struct spy_random_desc {
    uint32_t seed;     // 0: 2640457667
    uint32_t warmup;   // values passed over
    bool no_hash_seed; // the seed is used as it is, not hashed first
    bool zero_seed;    // the seed is 0 (seed must be 0)
} spy_random_desc;

// Random unsigned numbers, independent from component to component and from element to element: Thomas Wang's 32-bit hash,
// from thread_id ^ hash(seed) on. The same on every device and backend. Source: slang/slangpy_random.slang.
spy_arg spy_arg_wang_hash(const char *name, const spy_random_desc *desc);
// Random floats, uniform in [low, high), from 24 bits of the same sequence; for float parameters of any width.
spy_arg spy_arg_rand_float(const char *name, float low, float high, const spy_random_desc *desc);

#ifdef __cplusplus
}
#endif

// >>api/resolve.h -------------------------------------------------------------------------------------------

// Resolving: what a call would be (overload, types, mapping, shape), for tools, tests and bindings to other languages.

#ifdef __cplusplus
extern "C" {
#endif

// >>resolving

// One parameter that got an argument, "_result", or a field of a struct given by fields.
typedef struct spy_binding {
    const char *path;        // "x", "light.color", "_result"
    const char *type;        // Slang type that each element of the call gets: "float3", "float[4]", "Light"
    spy_direction direction; // of the parameter: SPY_DIRECTION_DEFAULT is in
    spy_arg_kind kind;       // of the argument; SPY_ARG_STRUCT: its fields follow, one depth below
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

// Resolve a call as spy_call() does, without compiling a kernel or running anything; a spy_call() with these arguments
// then finds the work done. The same errors as spy_call()'s, but for those that come from compiling, from overlapping
// memory and from values, which are not looked at (300 for a uint8_t). NULL on failure.
// The result is one block of memory of its own: it outlives the device, and spy_release_resolution() frees it.
// Threads: one at a time a device. Cost: a few us when cached, else 0.01-1 ms.
spy_resolution *spy_resolve(spy_function *function, spy_args args);
// Threads: any. NULL is ignored.
void spy_release_resolution(spy_resolution *resolution);

#ifdef __cplusplus
}
#endif

// >>api/list.h ----------------------------------------------------------------------------------------------

// Command lists: calls, copies and marks recorded once and submitted many times.

#ifdef __cplusplus
extern "C" {
#endif

typedef struct spy_command_list spy_command_list;

typedef enum spy_list_op_kind {
    SPY_LIST_OP_NONE = 0,
    SPY_LIST_OP_CALL,
    SPY_LIST_OP_COPY,
    SPY_LIST_OP_FILL,
    SPY_LIST_OP_WRITE,
    SPY_LIST_OP_BARRIER,
    SPY_LIST_OP_PUSH_LABEL,
    SPY_LIST_OP_POP_LABEL,
    SPY_LIST_OP_MARKER,
    SPY_LIST_OP_TIMESTAMP
} spy_list_op_kind;

// One recorded operation, for spy_list_desc.on_record.
typedef struct spy_list_op {
    spy_list_op_kind kind;
    uint32_t index;   // in the list, from 0
    const char *name; // function, label or marker; "" for others. Valid during the callback
} spy_list_op;

typedef struct spy_list_desc {
    const char *label; // name in debug tools, round each submission, and in messages
    // Called after each recorded operation, from inside the recording function: it must not use the device. NULL: none.
    void (*on_record)(const spy_list_op *op, void *user_data);
    void *user_data; // handed to on_record
} spy_list_desc;

// Begin a list. `desc` may be NULL. NULL on failure. Released by the caller, or with the device.
// A list is recorded, finished, then submitted any number of times, also while earlier submissions run. It keeps the
// memory of all tensors and the kernels it uses, so that these may be released in any order. Contents are read when the
// GPU comes to it: tensors may change between submissions. A tensor that is pointed elsewhere later
// (spy_tensor_point_to) stays what it was in the list.
// Threads: one at a time a device, as for all functions below.
spy_command_list *spy_create_command_list(spy_device *device, const spy_list_desc *desc);
void spy_retain_command_list(spy_command_list *list);
// Threads: any, at any time; submitted work goes on. NULL is ignored.
void spy_release_command_list(spy_command_list *list);

// >>recording: errors leave the list as it was. After spy_list_finish() it is SPY_ERROR_INVALID_ARGUMENT.

// Record what spy_call() would do; with options: spy_call_with() and spy_call_options.append_to. Numbers and host arrays
// are taken now. spy_out_tensor makes its tensor now, and each submission fills it. Results to host memory are
// SPY_ERROR_UNSUPPORTED.
spy_status spy_list_call(spy_command_list *list, spy_function *function, spy_args args);
// Record a copy of all elements. Both have the same shape and type, are contiguous, and do not share bytes.
spy_status spy_list_copy(spy_command_list *list, spy_tensor *to, spy_tensor *from);
// Record spy_tensor_fill() of a contiguous tensor.
spy_status spy_list_fill(spy_command_list *list, spy_tensor *tensor, double value);
// Record spy_tensor_write() of a contiguous tensor; the list keeps the data, in device memory, as they are now.
spy_status spy_list_write(spy_command_list *list, spy_tensor *tensor, const void *data, size_t size_bytes);
// Record that all earlier work ends before later work begins. Tensors never need it: their order is kept anyway.
spy_status spy_list_barrier(spy_command_list *list);
// Record names for debug tools (RenderDoc, Nsight): of the operations between push and pop, or of a point.
spy_status spy_list_push_label(spy_command_list *list, const char *name);
spy_status spy_list_pop_label(spy_command_list *list);
spy_status spy_list_marker(spy_command_list *list, const char *name);
// Record a GPU time: when all operations before it are done, though those after it may have begun unless
// spy_list_barrier() follows. At most 1,024 in a list; SPY_ERROR_UNSUPPORTED without SPY_FEATURE_TIMESTAMPS.
spy_status spy_list_timestamp(spy_command_list *list);

// End the recording. All labels must have been popped.
spy_status spy_list_finish(spy_command_list *list);

// >>submitting

// Do all operations in order, as if called one after another now, with barriers where memory needs them. The GPU gets
// them as it gets calls; spy_flush() hands over the rest and gives the id to wait for. An error part of the way says
// which operation it was; those before it were done.
// Cost: below 0.5 us for a recorded call, nothing is allocated.
spy_status spy_list_submit(spy_command_list *list);

// The times of the last submission, in the order of recording, in nanoseconds since an unknown moment that is the same for
// all lists of the device; `count` must be spy_list_info.timestamp_count. Waits for that submission.
spy_status spy_list_read_timestamps(spy_command_list *list, uint64_t *times_ns, size_t count);

typedef struct spy_list_info {
    uint32_t op_count;        // recorded operations
    uint32_t call_count;      // of which are calls
    uint32_t timestamp_count; // of which are timestamps
    bool finished;
    uint64_t submit_count;    // submissions so far
} spy_list_info;

// NULL or a released list: all zero, and an error for spy_take_error(NULL).
spy_list_info spy_get_list_info(spy_command_list *list);

#ifdef __cplusplus
}
#endif

#endif // SLANGPY_H

#if defined(SLANGPY_IMPLEMENTATION) && !defined(SLANGPY_IMPLEMENTED)
#define SLANGPY_IMPLEMENTED

#define SPYI_SINGLE_HEADER 1 // internal functions are static

#include <stddef.h>

// >>slang/slangpy.slang -------------------------------------------------------------------------------------

static const char *const spyi_slang_slangpy[] = {
    "// The Slang side of slangpy.h: `import slangpy;` gives",
    "//",
    "//   Tensor<T, D>        read                      NDBuffer<T, D>    another name for Tensor",
    "//   WTensor<T, D>       write",
    "//   RWTensor<T, D>      read and write            RWNDBuffer<T, D>  another name for RWTensor",
    "//   AtomicTensor<T, D>  read, write, atomic add   (T : IAtomicAddable)",
    "//   ITensor, IWTensor, IRWTensor                  what functions that take any of these ask for",
    "//   get_call_id(), get_call_group_id(), get_call_group_thread_id()   where in the call's grid this thread is",
    "//   wang_hash(), WangHash                         random numbers",
    "//",
    "// An index is D ints in the order of the shape, t[row, column], or int[D], or a vector, whose components go the other",
    "// way round, as in textures: t[int2(column, row)]. Nothing checks bounds: an index outside the shape is undefined, as",
    "// with arrays.",
    "//",
    "// The module needs nothing from C: tensors can be made from pointers in Slang. By hand it compiles with",
    "//   slangc -I src/slang -fvk-use-scalar-layout -matrix-layout-row-major",
    "// for SPIR-V 1.3 or later with buffer addresses, and for CUDA. Names that begin with spyi_ or _ are not for users.",
    "module slangpy;",
    "",
    "__include slangpy_memory;",
    "__include slangpy_tensor;",
    "__include slangpy_atomic;",
    "__include slangpy_call;",
    "__include slangpy_random;",
    NULL
};

// >>slang/slangpy_memory.slang ------------------------------------------------------------------------------

static const char *const spyi_slang_slangpy_memory[] = {
    "// Elements in memory: how one is loaded and stored, and how an index is written.",
    "//",
    "// libslang resolves an operator fast when both sides have one built-in scalar type, and takes 10 to 30 ms over the first",
    "// `++`, `+=`, conversion or pointer sum of a session: these files, which every importer compiles, do without. Generic",
    "// names are long for the sake of users who define T or N as macros, which would reach these files.",
    "implementing slangpy;",
    "",
    "public vector<Scalar, Count> spyi_vector<Scalar : __BuiltinType, let Count : int>(Scalar[Count] items)",
    "{",
    "    vector<Scalar, Count> value;",
    "    [ForceUnroll]",
    "    for (int i = 0; i < Count; i = i + 1) value[i] = items[i];",
    "    return value;",
    "}",
    "",
    "internal Scalar[Count] spyi_array<Scalar : __BuiltinType, let Count : int>(vector<Scalar, Count> value)",
    "{",
    "    Scalar[Count] items;",
    "    [ForceUnroll]",
    "    for (int i = 0; i < Count; i = i + 1) items[i] = value[i];",
    "    return items;",
    "}",
    "",
    "// Two kinds of vectors lie in memory as arrays: those of 3 and 4 64-bit scalars, whose upper halves NVIDIA's Vulkan",
    "// driver gets wrong, and those of bools, which SPIR-V does not have in memory and Slang makes ints of in arrays only.",
    "// The tests of Element are decided when it is known; one branch stays.",
    "internal Element spyi_load<Element>(Element *data, int at)",
    "{",
    "    if (Element is vector<double, 3>) return reinterpret<Element>(spyi_vector(((double[3] *)data)[at]));",
    "    if (Element is vector<double, 4>) return reinterpret<Element>(spyi_vector(((double[4] *)data)[at]));",
    "    if (Element is vector<int64_t, 3>) return reinterpret<Element>(spyi_vector(((int64_t[3] *)data)[at]));",
    "    if (Element is vector<int64_t, 4>) return reinterpret<Element>(spyi_vector(((int64_t[4] *)data)[at]));",
    "    if (Element is vector<uint64_t, 3>) return reinterpret<Element>(spyi_vector(((uint64_t[3] *)data)[at]));",
    "    if (Element is vector<uint64_t, 4>) return reinterpret<Element>(spyi_vector(((uint64_t[4] *)data)[at]));",
    "    if (Element is vector<bool, 2>) return reinterpret<Element>(spyi_vector(((bool[2] *)data)[at]));",
    "    if (Element is vector<bool, 3>) return reinterpret<Element>(spyi_vector(((bool[3] *)data)[at]));",
    "    if (Element is vector<bool, 4>) return reinterpret<Element>(spyi_vector(((bool[4] *)data)[at]));",
    "    return data[at];",
    "}",
    "",
    "internal void spyi_store<Element>(Element *data, int at, Element value)",
    "{",
    "    if (Element is vector<double, 3>)",
    "        ((double[3] *)data)[at] = spyi_array(reinterpret<vector<double, 3>>(value));",
    "    else if (Element is vector<double, 4>)",
    "        ((double[4] *)data)[at] = spyi_array(reinterpret<vector<double, 4>>(value));",
    "    else if (Element is vector<int64_t, 3>)",
    "        ((int64_t[3] *)data)[at] = spyi_array(reinterpret<vector<int64_t, 3>>(value));",
    "    else if (Element is vector<int64_t, 4>)",
    "        ((int64_t[4] *)data)[at] = spyi_array(reinterpret<vector<int64_t, 4>>(value));",
    "    else if (Element is vector<uint64_t, 3>)",
    "        ((uint64_t[3] *)data)[at] = spyi_array(reinterpret<vector<uint64_t, 3>>(value));",
    "    else if (Element is vector<uint64_t, 4>)",
    "        ((uint64_t[4] *)data)[at] = spyi_array(reinterpret<vector<uint64_t, 4>>(value));",
    "    else if (Element is vector<bool, 2>)",
    "        ((bool[2] *)data)[at] = spyi_array(reinterpret<vector<bool, 2>>(value));",
    "    else if (Element is vector<bool, 3>)",
    "        ((bool[3] *)data)[at] = spyi_array(reinterpret<vector<bool, 3>>(value));",
    "    else if (Element is vector<bool, 4>)",
    "        ((bool[4] *)data)[at] = spyi_array(reinterpret<vector<bool, 4>>(value));",
    "    else data[at] = value;",
    "}",
    "",
    "// A vector index as an array: .x is the last dimension.",
    "internal int[Rank] spyi_reverse<let Rank : int>(vector<int, Rank> index)",
    "{",
    "    int[Rank] result;",
    "    [ForceUnroll]",
    "    for (int d = 0; d < Rank; d = d + 1) result[d] = index[Rank - 1 - d];",
    "    return result;",
    "}",
    "",
    "internal void spyi_append<let Rank : int, Index : __BuiltinIntegerType>(",
    "    inout int[Rank] list, inout int count, Index item)",
    "{",
    "    list[count] = __intCast<int>(item);",
    "    count = count + 1;",
    "}",
    "",
    "// Separate indices as an array.",
    "internal int[Rank] spyi_collect<let Rank : int, each Index : __BuiltinIntegerType>(expand each Index index)",
    "{",
    "    static_assert(countof(Index) == Rank, \"a tensor takes as many indices as it has dimensions\");",
    "    int[Rank] result = {};",
    "    int count = 0;",
    "    expand spyi_append<Rank>(result, count, each index);",
    "    return result;",
    "}",
    NULL
};

// >>slang/slangpy_tensor.slang ------------------------------------------------------------------------------

static const char *const spyi_slang_slangpy_tensor[] = {
    "// Tensors: N-D strided views of device memory, as values that are passed and copied like any struct.",
    "//",
    "// A tensor is a pointer and ints, the same 16 + 8 * D bytes on every target: `_data` at byte 0, `_offset` at 8, `_unused`",
    "// at 12, `shape` at 16, `strides` at 16 + 4 * D. Strides count elements; negative ones go backwards, and 0 repeats.",
    "// `_data` points to the element that lies lowest and `_offset` is the way from there to the element at index 0, because",
    "// NVIDIA's Vulkan driver takes a negative pointer index as a large positive one. A view spans at most 2^31 - 1 elements.",
    "implementing slangpy;",
    "",
    "// >>interfaces: what implements one gives the first two members, and has the others from here",
    "",
    "// What can be read.",
    "public interface ITensor<Element, let Rank : int>",
    "{",
    "    // Elements along each dimension.",
    "    property int[Rank] shape { get; }",
    "    Element load(int[Rank] index);",
    "",
    "    Element load(vector<int, Rank> index) { return load(spyi_reverse(index)); }",
    "    Element load(int i0) { return load(spyi_collect<Rank>(i0)); }",
    "    Element load<each Index : __BuiltinIntegerType>(expand each Index index)",
    "    {",
    "        return load(spyi_collect<Rank>(expand each index));",
    "    }",
    "    __subscript(int[Rank] index) -> Element",
    "    {",
    "        get { return load(index); }",
    "    }",
    "    __subscript(vector<int, Rank> index) -> Element",
    "    {",
    "        get { return load(spyi_reverse(index)); }",
    "    }",
    "    __subscript(int i0) -> Element",
    "    {",
    "        get { return load(spyi_collect<Rank>(i0)); }",
    "    }",
    "    __subscript<each Index : __BuiltinIntegerType>(expand each Index index) -> Element",
    "    {",
    "        get { return load(spyi_collect<Rank>(expand each index)); }",
    "    }",
    "}",
    "",
    "// What can be written.",
    "public interface IWTensor<Element, let Rank : int>",
    "{",
    "    property int[Rank] shape { get; }",
    "    void store(int[Rank] index, Element value);",
    "",
    "    void store(vector<int, Rank> index, Element value) { store(spyi_reverse(index), value); }",
    "    void store(int i0, Element value) { store(spyi_collect<Rank>(i0), value); }",
    "    void store(int i0, int i1, Element value) { store(spyi_collect<Rank>(i0, i1), value); }",
    "    void store(int i0, int i1, int i2, Element value) { store(spyi_collect<Rank>(i0, i1, i2), value); }",
    "    void store(int i0, int i1, int i2, int i3, Element value) { store(spyi_collect<Rank>(i0, i1, i2, i3), value); }",
    "    void store(int i0, int i1, int i2, int i3, int i4, Element value)",
    "    {",
    "        store(spyi_collect<Rank>(i0, i1, i2, i3, i4), value);",
    "    }",
    "    void store(int i0, int i1, int i2, int i3, int i4, int i5, Element value)",
    "    {",
    "        store(spyi_collect<Rank>(i0, i1, i2, i3, i4, i5), value);",
    "    }",
    "    void store(int i0, int i1, int i2, int i3, int i4, int i5, int i6, Element value)",
    "    {",
    "        store(spyi_collect<Rank>(i0, i1, i2, i3, i4, i5, i6), value);",
    "    }",
    "    void store(int i0, int i1, int i2, int i3, int i4, int i5, int i6, int i7, Element value)",
    "    {",
    "        store(spyi_collect<Rank>(i0, i1, i2, i3, i4, i5, i6, i7), value);",
    "    }",
    "    __subscript(int[Rank] index) -> Element",
    "    {",
    "        [nonmutating] set { store(index, newValue); }",
    "    }",
    "    __subscript(vector<int, Rank> index) -> Element",
    "    {",
    "        [nonmutating] set { store(spyi_reverse(index), newValue); }",
    "    }",
    "    __subscript(int i0) -> Element",
    "    {",
    "        [nonmutating] set { store(spyi_collect<Rank>(i0), newValue); }",
    "    }",
    "    __subscript<each Index : __BuiltinIntegerType>(expand each Index index) -> Element",
    "    {",
    "        [nonmutating] set { store(spyi_collect<Rank>(expand each index), newValue); }",
    "    }",
    "}",
    "",
    "// What can be read and written. A struct must name all three interfaces: libslang crashes on members that it would get",
    "// through this one.",
    "public interface IRWTensor<Element, let Rank : int> : ITensor<Element, Rank>, IWTensor<Element, Rank>",
    "{",
    "    __subscript(int[Rank] index) -> Element",
    "    {",
    "        get { return load(index); }",
    "        [nonmutating] set { store(index, newValue); }",
    "    }",
    "    __subscript(vector<int, Rank> index) -> Element",
    "    {",
    "        get { return load(spyi_reverse(index)); }",
    "        [nonmutating] set { store(spyi_reverse(index), newValue); }",
    "    }",
    "    __subscript(int i0) -> Element",
    "    {",
    "        get { return load(spyi_collect<Rank>(i0)); }",
    "        [nonmutating] set { store(spyi_collect<Rank>(i0), newValue); }",
    "    }",
    "    __subscript<each Index : __BuiltinIntegerType>(expand each Index index) -> Element",
    "    {",
    "        get { return load(spyi_collect<Rank>(expand each index)); }",
    "        [nonmutating] set { store(spyi_collect<Rank>(expand each index), newValue); }",
    "    }",
    "}",
    "",
    "// >>places",
    "",
    "internal int spyi_place<let Rank : int>(int offset, int[Rank] strides, int[Rank] index)",
    "{",
    "    int at = offset;",
    "    [ForceUnroll]",
    "    for (int d = 0; d < Rank; d = d + 1) at = at + index[d] * strides[d];",
    "    return at;",
    "}",
    "",
    "internal int[Rank] spyi_row_major<let Rank : int>(int[Rank] shape)",
    "{",
    "    int[Rank] strides;",
    "    int count = 1;",
    "    [ForceUnroll]",
    "    for (int d = Rank - 1; d >= 0; d = d - 1)",
    "    {",
    "        strides[d] = count;",
    "        count = count * shape[d];",
    "    }",
    "    return strides;",
    "}",
    "",
    "// >>tensors",
    "",
    "// Read only.",
    "public struct Tensor<Element, let Rank : int> : ITensor<Element, Rank>",
    "{",
    "    public Element *_data;",
    "    public int _offset;",
    "    public int _unused;",
    "    public int[Rank] shape;",
    "    public int[Rank] strides;",
    "",
    "    // The element at index 0 is data[offset], and no element lies below `data`.",
    "    public __init(Element *data, int[Rank] shape, int[Rank] strides, int offset = 0)",
    "    {",
    "        _data = data;",
    "        _offset = offset;",
    "        _unused = 0;",
    "        this.shape = shape;",
    "        this.strides = strides;",
    "    }",
    "",
    "    // Row-major, without gaps.",
    "    public __init(Element *data, int[Rank] shape)",
    "    {",
    "        _data = data;",
    "        _offset = 0;",
    "        _unused = 0;",
    "        this.shape = shape;",
    "        this.strides = spyi_row_major(shape);",
    "    }",
    "",
    "    public Element load(int[Rank] index)",
    "    {",
    "        return spyi_load<Element>(_data, spyi_place(_offset, strides, index));",
    "    }",
    "}",
    "",
    "// Write only.",
    "public struct WTensor<Element, let Rank : int> : IWTensor<Element, Rank>",
    "{",
    "    public Element *_data;",
    "    public int _offset;",
    "    public int _unused;",
    "    public int[Rank] shape;",
    "    public int[Rank] strides;",
    "",
    "    // The element at index 0 is data[offset], and no element lies below `data`.",
    "    public __init(Element *data, int[Rank] shape, int[Rank] strides, int offset = 0)",
    "    {",
    "        _data = data;",
    "        _offset = offset;",
    "        _unused = 0;",
    "        this.shape = shape;",
    "        this.strides = strides;",
    "    }",
    "",
    "    // Row-major, without gaps.",
    "    public __init(Element *data, int[Rank] shape)",
    "    {",
    "        _data = data;",
    "        _offset = 0;",
    "        _unused = 0;",
    "        this.shape = shape;",
    "        this.strides = spyi_row_major(shape);",
    "    }",
    "",
    "    public void store(int[Rank] index, Element value)",
    "    {",
    "        spyi_store<Element>(_data, spyi_place(_offset, strides, index), value);",
    "    }",
    "}",
    "",
    "// Read and write.",
    "public struct RWTensor<Element, let Rank : int>",
    "    : ITensor<Element, Rank>, IWTensor<Element, Rank>, IRWTensor<Element, Rank>",
    "{",
    "    public Element *_data;",
    "    public int _offset;",
    "    public int _unused;",
    "    public int[Rank] shape;",
    "    public int[Rank] strides;",
    "",
    "    // The element at index 0 is data[offset], and no element lies below `data`.",
    "    public __init(Element *data, int[Rank] shape, int[Rank] strides, int offset = 0)",
    "    {",
    "        _data = data;",
    "        _offset = offset;",
    "        _unused = 0;",
    "        this.shape = shape;",
    "        this.strides = strides;",
    "    }",
    "",
    "    // Row-major, without gaps.",
    "    public __init(Element *data, int[Rank] shape)",
    "    {",
    "        _data = data;",
    "        _offset = 0;",
    "        _unused = 0;",
    "        this.shape = shape;",
    "        this.strides = spyi_row_major(shape);",
    "    }",
    "",
    "    public Element load(int[Rank] index)",
    "    {",
    "        return spyi_load<Element>(_data, spyi_place(_offset, strides, index));",
    "    }",
    "    public void store(int[Rank] index, Element value)",
    "    {",
    "        spyi_store<Element>(_data, spyi_place(_offset, strides, index), value);",
    "    }",
    "}",
    "",
    "public typealias NDBuffer<Element, let Rank : int> = Tensor<Element, Rank>;",
    "public typealias RWNDBuffer<Element, let Rank : int> = RWTensor<Element, Rank>;",
    NULL
};

// >>slang/slangpy_atomic.slang ------------------------------------------------------------------------------

static const char *const spyi_slang_slangpy_atomic[] = {
    "// Atomic addition to memory, and the tensor that does it.",
    "implementing slangpy;",
    "",
    "// What AtomicTensor can hold. A struct joins by an extension that adds its fields:",
    "//",
    "//   extension Particle : IAtomicAddable",
    "//   {",
    "//       static void atomic_add(Particle *at, Particle value)",
    "//       {",
    "//           float3.atomic_add(&at.position, value.position);",
    "//           float.atomic_add(&at.mass, value.mass);",
    "//       }",
    "//   }",
    "//",
    "// Each scalar is added atomically, in no order; a struct or a vector as a whole is not.",
    "public interface IAtomicAddable",
    "{",
    "    static void atomic_add(This *at, This value);",
    "}",
    "",
    "// Which float types the device adds atomically by itself: 1 for float, 2 for half, 4 for double (SPIR-V:",
    "// VK_EXT_shader_atomic_float and _float2). The others are added in a loop of compare and exchange. A program says so at",
    "// link time: `export static const int slangpy_atomic_floats = 1;` in another module. CUDA has them all.",
    "public extern static const int slangpy_atomic_floats = 0;",
    "",
    "// >>scalars",
    "",
    "public extension int : IAtomicAddable",
    "{",
    "    public static void atomic_add(int *at, int value) { ((Atomic<int> *)at).add(value); }",
    "}",
    "",
    "public extension uint : IAtomicAddable",
    "{",
    "    public static void atomic_add(uint *at, uint value) { ((Atomic<uint> *)at).add(value); }",
    "}",
    "",
    "public extension int64_t : IAtomicAddable",
    "{",
    "    public static void atomic_add(int64_t *at, int64_t value) { ((Atomic<int64_t> *)at).add(value); }",
    "}",
    "",
    "public extension uint64_t : IAtomicAddable",
    "{",
    "    public static void atomic_add(uint64_t *at, uint64_t value) { ((Atomic<uint64_t> *)at).add(value); }",
    "}",
    "",
    "public extension float : IAtomicAddable",
    "{",
    "    public static void atomic_add(float *at, float value)",
    "    {",
    "        __target_switch",
    "        {",
    "        case cuda: ((Atomic<float> *)at).add(value); return;",
    "        default: break;",
    "        }",
    "        if ((slangpy_atomic_floats & 1) != 0)",
    "        {",
    "            ((Atomic<float> *)at).add(value);",
    "            return;",
    "        }",
    "        Atomic<uint> *bits = (Atomic<uint> *)at;",
    "        uint before = bits.load();",
    "        for (;;)",
    "        {",
    "            uint after = bit_cast<uint>(bit_cast<float>(before) + value);",
    "            uint seen = bits.compareExchange(before, after);",
    "            if (seen == before) return;",
    "            before = seen;",
    "        }",
    "    }",
    "}",
    "",
    "public extension double : IAtomicAddable",
    "{",
    "    public static void atomic_add(double *at, double value)",
    "    {",
    "        __target_switch",
    "        {",
    "        case cuda: ((Atomic<double> *)at).add(value); return;",
    "        default: break;",
    "        }",
    "        if ((slangpy_atomic_floats & 4) != 0)",
    "        {",
    "            ((Atomic<double> *)at).add(value);",
    "            return;",
    "        }",
    "        Atomic<uint64_t> *bits = (Atomic<uint64_t> *)at;",
    "        uint64_t before = bits.load();",
    "        for (;;)",
    "        {",
    "            uint64_t after = bit_cast<uint64_t>(bit_cast<double>(before) + value);",
    "            uint64_t seen = bits.compareExchange(before, after);",
    "            if (seen == before) return;",
    "            before = seen;",
    "        }",
    "    }",
    "}",
    "",
    "// The loop exchanges the 32-bit word around the half.",
    "public extension half : IAtomicAddable",
    "{",
    "    public static void atomic_add(half *at, half value)",
    "    {",
    "        __target_switch",
    "        {",
    "        case cuda: ((Atomic<half> *)at).add(value); return;",
    "        default: break;",
    "        }",
    "        if ((slangpy_atomic_floats & 2) != 0)",
    "        {",
    "            ((Atomic<half> *)at).add(value);",
    "            return;",
    "        }",
    "        uint64_t address = (uint64_t)at;",
    "        bool upper = (address & 2ull) != 0ull;",
    "        Atomic<uint> *bits = (Atomic<uint> *)(address & ~3ull);",
    "        uint before = bits.load();",
    "        for (;;)",
    "        {",
    "            half2 pair = bit_cast<half2>(before);",
    "            if (upper) pair.y = pair.y + value;",
    "            else pair.x = pair.x + value;",
    "            uint seen = bits.compareExchange(before, bit_cast<uint>(pair));",
    "            if (seen == before) return;",
    "            before = seen;",
    "        }",
    "    }",
    "}",
    "",
    "// >>vectors and matrices",
    "",
    "internal Item *spyi_item<Item>(Item *data, int at)",
    "{",
    "    return __getAddress(data[at]);",
    "}",
    "",
    "public extension<Scalar : IAtomicAddable, let Count : int> vector<Scalar, Count> : IAtomicAddable",
    "{",
    "    public static void atomic_add(vector<Scalar, Count> *at, vector<Scalar, Count> value)",
    "    {",
    "        [ForceUnroll]",
    "        for (int i = 0; i < Count; i = i + 1) Scalar.atomic_add(spyi_item((Scalar *)at, i), value[i]);",
    "    }",
    "}",
    "",
    "// Row-major, as slangpy.h compiles.",
    "public extension<Scalar : IAtomicAddable, let Rows : int, let Columns : int>",
    "    matrix<Scalar, Rows, Columns> : IAtomicAddable",
    "{",
    "    public static void atomic_add(matrix<Scalar, Rows, Columns> *at, matrix<Scalar, Rows, Columns> value)",
    "    {",
    "        [ForceUnroll]",
    "        for (int i = 0; i < Rows; i = i + 1)",
    "            vector<Scalar, Columns>.atomic_add(spyi_item((vector<Scalar, Columns> *)at, i), value[i]);",
    "    }",
    "}",
    "",
    "// >>the tensor",
    "",
    "// A tensor to which threads add at the same time; loads and stores are plain.",
    "public struct AtomicTensor<Element : IAtomicAddable, let Rank : int>",
    "    : ITensor<Element, Rank>, IWTensor<Element, Rank>, IRWTensor<Element, Rank>",
    "{",
    "    public Element *_data;",
    "    public int _offset;",
    "    public int _unused;",
    "    public int[Rank] shape;",
    "    public int[Rank] strides;",
    "",
    "    // The element at index 0 is data[offset], and no element lies below `data`.",
    "    public __init(Element *data, int[Rank] shape, int[Rank] strides, int offset = 0)",
    "    {",
    "        _data = data;",
    "        _offset = offset;",
    "        _unused = 0;",
    "        this.shape = shape;",
    "        this.strides = strides;",
    "    }",
    "",
    "    // Row-major, without gaps.",
    "    public __init(Element *data, int[Rank] shape)",
    "    {",
    "        _data = data;",
    "        _offset = 0;",
    "        _unused = 0;",
    "        this.shape = shape;",
    "        this.strides = spyi_row_major(shape);",
    "    }",
    "",
    "    public Element load(int[Rank] index)",
    "    {",
    "        return spyi_load<Element>(_data, spyi_place(_offset, strides, index));",
    "    }",
    "    public void store(int[Rank] index, Element value)",
    "    {",
    "        spyi_store<Element>(_data, spyi_place(_offset, strides, index), value);",
    "    }",
    "",
    "    public void add(int[Rank] index, Element value)",
    "    {",
    "        Element.atomic_add(spyi_item(_data, spyi_place(_offset, strides, index)), value);",
    "    }",
    "    public void add(vector<int, Rank> index, Element value) { add(spyi_reverse(index), value); }",
    "    public void add(int i0, Element value) { add(spyi_collect<Rank>(i0), value); }",
    "    public void add(int i0, int i1, Element value) { add(spyi_collect<Rank>(i0, i1), value); }",
    "    public void add(int i0, int i1, int i2, Element value) { add(spyi_collect<Rank>(i0, i1, i2), value); }",
    "    public void add(int i0, int i1, int i2, int i3, Element value) { add(spyi_collect<Rank>(i0, i1, i2, i3), value); }",
    "    public void add(int i0, int i1, int i2, int i3, int i4, Element value)",
    "    {",
    "        add(spyi_collect<Rank>(i0, i1, i2, i3, i4), value);",
    "    }",
    "    public void add(int i0, int i1, int i2, int i3, int i4, int i5, Element value)",
    "    {",
    "        add(spyi_collect<Rank>(i0, i1, i2, i3, i4, i5), value);",
    "    }",
    "    public void add(int i0, int i1, int i2, int i3, int i4, int i5, int i6, Element value)",
    "    {",
    "        add(spyi_collect<Rank>(i0, i1, i2, i3, i4, i5, i6), value);",
    "    }",
    "    public void add(int i0, int i1, int i2, int i3, int i4, int i5, int i6, int i7, Element value)",
    "    {",
    "        add(spyi_collect<Rank>(i0, i1, i2, i3, i4, i5, i6, i7), value);",
    "    }",
    "}",
    NULL
};

// >>slang/slangpy_call.slang --------------------------------------------------------------------------------

static const char *const spyi_slang_slangpy_call[] = {
    "// Where in the grid of a call the running thread is. A call's grid is its call shape; it may be cut into call groups",
    "// (spy_call's call_group_shape), and without that each element is a group of its own.",
    "implementing slangpy;",
    "",
    "public static const int SLANGPY_MAX_DIMENSIONALITY = 8;",
    "",
    "// A place in the call's grid, in the order of the call's shape: shape[dimensionality - 1] is the last dimension.",
    "public struct CallShapeInfo",
    "{",
    "    public int dimensionality;",
    "    public int[8] shape;",
    "",
    "    public static CallShapeInfo get_call_id() { return spyi_call_info(0); }",
    "    public static CallShapeInfo get_call_group_id() { return spyi_call_info(1); }",
    "    public static CallShapeInfo get_call_group_thread_id() { return spyi_call_info(2); }",
    "}",
    "",
    "// The element of the call that is being computed.",
    "public CallShapeInfo get_call_id() { return spyi_call_info(0); }",
    "// The call group that it is in.",
    "public CallShapeInfo get_call_group_id() { return spyi_call_info(1); }",
    "// Its place in that group.",
    "public CallShapeInfo get_call_group_thread_id() { return spyi_call_info(2); }",
    "",
    "// The thread's own; coordinates are worked out when somebody asks. A call of no dimensions never sets them.",
    "internal static int spyi_call_dimensionality = 0;",
    "internal static int spyi_call_element;",
    "internal static int[8] spyi_call_shape;",
    "internal static int[8] spyi_call_group_shape;",
    "",
    "internal CallShapeInfo spyi_call_info(int which)",
    "{",
    "    CallShapeInfo info;",
    "    int rest = spyi_call_element;",
    "    info.dimensionality = spyi_call_dimensionality;",
    "    [ForceUnroll]",
    "    for (int d = 7; d >= 0; d = d - 1)",
    "    {",
    "        info.shape[d] = 0;",
    "        if (d >= spyi_call_dimensionality) continue;",
    "        int id = rest, size = spyi_call_group_shape[d];",
    "        if (d > 0) id = rest % spyi_call_shape[d];",
    "        rest = rest / spyi_call_shape[d];",
    "        if (which == 1) id = id / size;",
    "        if (which == 2) id = id % size;",
    "        info.shape[d] = id;",
    "    }",
    "    return info;",
    "}",
    "",
    "// For generated kernels, before each element's function runs: the element's number, the call's shape, a call group's.",
    "public void spyi_set_call<let Count : int>(int element, int[Count] shape, int[Count] group_shape)",
    "{",
    "    spyi_call_dimensionality = Count;",
    "    spyi_call_element = element;",
    "    [ForceUnroll]",
    "    for (int d = 0; d < Count; d = d + 1)",
    "    {",
    "        spyi_call_shape[d] = shape[d];",
    "        spyi_call_group_shape[d] = group_shape[d];",
    "    }",
    "}",
    "",
    "// Without call groups: each element is one.",
    "public void spyi_set_call<let Count : int>(int element, int[Count] shape)",
    "{",
    "    int[Count] group_shape;",
    "    [ForceUnroll]",
    "    for (int d = 0; d < Count; d = d + 1) group_shape[d] = 1;",
    "    spyi_set_call(element, shape, group_shape);",
    "}",
    NULL
};

// >>slang/slangpy_random.slang ------------------------------------------------------------------------------

static const char *const spyi_slang_slangpy_random[] = {
    "// Random numbers from Thomas Wang's 32-bit hash: the same bits on every device and backend.",
    "implementing slangpy;",
    "",
    "// The hash as N. Reed published it (\"Quick and Easy GPU Random Numbers in D3D11\", 2013).",
    "public uint wang_hash(uint seed)",
    "{",
    "    seed = (seed ^ 61u) ^ (seed >> 16u);",
    "    seed = seed * 9u;",
    "    seed = seed ^ (seed >> 4u);",
    "    seed = seed * 0x27d4eb2du;",
    "    seed = seed ^ (seed >> 15u);",
    "    return seed;",
    "}",
    "",
    "// a + b * c with both roundings: compilers may not make one operation of it, which would have other bits.",
    "internal float spyi_add_product(float a, float b, float c)",
    "{",
    "    __target_switch",
    "    {",
    "    case cuda: __intrinsic_asm \"__fadd_rn($0, __fmul_rn($1, $2))\";",
    "    case spirv:",
    "        return spirv_asm",
    "        {",
    "            %product:$$float = OpFMul $b $c;",
    "            %sum:$$float = OpFAdd $a %product;",
    "            OpDecorate %product NoContraction;",
    "            OpDecorate %sum NoContraction;",
    "            result:$$float = OpCopyObject %sum",
    "        };",
    "    default:",
    "        precise float product = b * c;",
    "        precise float sum = a + product;",
    "        return sum;",
    "    }",
    "}",
    "",
    "// A thread's own sequence: begins at thread_id ^ (hash_seed ? wang_hash(seed) : seed), passes over `warmup` values, and",
    "// gives the hash of the value before, again and again. Seed 0, not hashed: thread 0 gets 3232319850, 3075307816, ...",
    "public struct WangHash",
    "{",
    "    public uint state;",
    "",
    "    public __init(uint thread_id, uint seed = 2640457667u, uint warmup = 0u, bool hash_seed = true)",
    "    {",
    "        state = thread_id ^ seed;",
    "        if (hash_seed) state = thread_id ^ wang_hash(seed);",
    "        for (uint i = 0u; i < warmup; i = i + 1u) state = wang_hash(state);",
    "    }",
    "",
    "    [mutating]",
    "    public uint next()",
    "    {",
    "        state = wang_hash(state);",
    "        return state;",
    "    }",
    "",
    "    // Uniform in [low, high): 24 bits of the next value, scaled without fused operations.",
    "    [mutating]",
    "    public float next_float(float low = 0.0f, float high = 1.0f)",
    "    {",
    "        float value = spyi_add_product(low, high - low, float(next() >> 8u) * 5.9604644775390625e-8f);",
    "        if (value == high) return low; // rounded up",
    "        return value;",
    "    }",
    "}",
    NULL
};

// >>slang/slangpy_kernel.slang ------------------------------------------------------------------------------

static const char *const spyi_slang_slangpy_kernel[] = {
    "// What generated kernels call for arguments that are made in the kernel. Nothing here is for users.",
    "//",
    "// `element` is the number of the call's element, `shape` the call's shape. Results are arrays in the order of the shape.",
    "module slangpy_kernel;",
    "",
    "import slangpy; // not passed on: names of users' own functions may be the same, as that of wang_hash",
    "",
    "// >>coordinates",
    "",
    "public int spyi_coordinate<let Rank : int>(int element, int[Rank] shape, int dim)",
    "{",
    "    [ForceUnroll]",
    "    for (int d = Rank - 1; d > 0; d = d - 1)",
    "    {",
    "        if (d == dim) return element % shape[d];",
    "        element = element / shape[d];",
    "    }",
    "    return element;",
    "}",
    "",
    "// The last Count dimensions; 0 where the call has fewer.",
    "public int[Count] spyi_call_id<let Count : int, let Rank : int>(int element, int[Rank] shape)",
    "{",
    "    int[Count] id;",
    "    [ForceUnroll]",
    "    for (int d = 0; d < Count; d = d + 1)",
    "    {",
    "        id[d] = 0;",
    "        if (Rank - Count + d >= 0) id[d] = spyi_coordinate(element, shape, Rank - Count + d);",
    "    }",
    "    return id;",
    "}",
    "",
    "// The element's number in the place that becomes .x, 0 in the others.",
    "public int[Count] spyi_thread_id<let Count : int>(int element)",
    "{",
    "    int[Count] id;",
    "    [ForceUnroll]",
    "    for (int d = 0; d < Count; d = d + 1) id[d] = 0;",
    "    id[0] = element;",
    "    return id;",
    "}",
    "",
    "public struct SpyiGrid<let Count : int>",
    "{",
    "    public int[Count] offset;",
    "    public int[Count] stride;",
    "}",
    "",
    "// `map`: four bits for the call's dimension of each of the grid's.",
    "public int[Count] spyi_grid<let Count : int, let Rank : int>(int element, int[Rank] shape, SpyiGrid<Count> grid, int map)",
    "{",
    "    int[Count] at;",
    "    [ForceUnroll]",
    "    for (int d = 0; d < Count; d = d + 1)",
    "    {",
    "        at[d] = grid.offset[d] + grid.stride[d] * spyi_coordinate(element, shape, map & 15);",
    "        map = map >> 4;",
    "    }",
    "    return at;",
    "}",
    "",
    "public struct SpyiRange",
    "{",
    "    public int start;",
    "    public int step;",
    "}",
    "",
    "// >>random numbers",
    "",
    "public struct SpyiSequence",
    "{",
    "    public uint start; // the seed, hashed if it is to be",
    "    public uint warmup;",
    "    public float low;",
    "    public float high;",
    "}",
    "",
    "public uint[Count] spyi_hash<let Count : int>(int element, SpyiSequence sequence)",
    "{",
    "    WangHash hash = WangHash(element, sequence.start, sequence.warmup, false);",
    "    uint[Count] values;",
    "    for (int i = 0; i < Count; i = i + 1) values[i] = hash.next();",
    "    return values;",
    "}",
    "",
    "public float[Count] spyi_random<let Count : int>(int element, SpyiSequence sequence)",
    "{",
    "    WangHash hash = WangHash(element, sequence.start, sequence.warmup, false);",
    "    float[Count] values;",
    "    for (int i = 0; i < Count; i = i + 1) values[i] = hash.next_float(sequence.low, sequence.high);",
    "    return values;",
    "}",
    "",
    "// >>arrays as what a parameter wants",
    "",
    "public vector<Scalar, Count> spyi_to_vector<Scalar : __BuiltinType, let Count : int>(Scalar[Count] values)",
    "{",
    "    return spyi_vector(values);",
    "}",
    "",
    "// The last first.",
    "public vector<Scalar, Count> spyi_reversed<Scalar : __BuiltinType, let Count : int>(Scalar[Count] values)",
    "{",
    "    vector<Scalar, Count> result;",
    "    [ForceUnroll]",
    "    for (int i = 0; i < Count; i = i + 1) result[i] = values[Count - 1 - i];",
    "    return result;",
    "}",
    "",
    "public Scalar[Count] spyi_to_array<Scalar : __BuiltinArithmeticType, let Count : int>(int[Count] values)",
    "{",
    "    Scalar[Count] result;",
    "    [ForceUnroll]",
    "    for (int i = 0; i < Count; i = i + 1) result[i] = Scalar(values[i]);",
    "    return result;",
    "}",
    "",
    "public Scalar[Count] spyi_to_array<Scalar : __BuiltinIntegerType, let Count : int>(uint[Count] values)",
    "{",
    "    Scalar[Count] result;",
    "    [ForceUnroll]",
    "    for (int i = 0; i < Count; i = i + 1) result[i] = __intCast<Scalar>(values[i]);",
    "    return result;",
    "}",
    "",
    "public Scalar[Count] spyi_to_array<Scalar : __BuiltinFloatingPointType, let Count : int>(float[Count] values)",
    "{",
    "    Scalar[Count] result;",
    "    [ForceUnroll]",
    "    for (int i = 0; i < Count; i = i + 1) result[i] = Scalar(values[i]);",
    "    return result;",
    "}",
    "",
    "// >>tensors that are run over: an element of the call gets the part that lies `by` elements further on",
    "",
    "public struct SpyiRows<Whole, let Count : int>",
    "{",
    "    public Whole tensor;",
    "    public int[Count] strides;",
    "}",
    "",
    "public Tensor<Element, Rank> spyi_row<Element, let Rank : int>(Tensor<Element, Rank> tensor, int by)",
    "{",
    "    tensor._offset = tensor._offset + by;",
    "    return tensor;",
    "}",
    "",
    "public WTensor<Element, Rank> spyi_row<Element, let Rank : int>(WTensor<Element, Rank> tensor, int by)",
    "{",
    "    tensor._offset = tensor._offset + by;",
    "    return tensor;",
    "}",
    "",
    "public RWTensor<Element, Rank> spyi_row<Element, let Rank : int>(RWTensor<Element, Rank> tensor, int by)",
    "{",
    "    tensor._offset = tensor._offset + by;",
    "    return tensor;",
    "}",
    "",
    "public AtomicTensor<Element, Rank> spyi_row<Element : IAtomicAddable, let Rank : int>(",
    "    AtomicTensor<Element, Rank> tensor, int by)",
    "{",
    "    tensor._offset = tensor._offset + by;",
    "    return tensor;",
    "}",
    NULL
};

#define SPYI_SLANG_FILES \
    { "slangpy", spyi_slang_slangpy }, \
    { "slangpy_memory", spyi_slang_slangpy_memory }, \
    { "slangpy_tensor", spyi_slang_slangpy_tensor }, \
    { "slangpy_atomic", spyi_slang_slangpy_atomic }, \
    { "slangpy_call", spyi_slang_slangpy_call }, \
    { "slangpy_random", spyi_slang_slangpy_random }, \
    { "slangpy_kernel", spyi_slang_slangpy_kernel }

// >>base/base.h ---------------------------------------------------------------------------------------------

// What every room uses: linkage, atomics, threads, memory, text, errors, objects, hashes, files.
// Types first, then the functions of base/*.c.

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// In the single header all internals are static; in the split build they link.
#if defined(SPYI_SINGLE_HEADER)
#if defined(__GNUC__) || defined(__clang__)
#define SPYI_FN static __attribute__((unused))
#else
#define SPYI_FN static
#endif
#else
#define SPYI_FN
#endif

#if defined(__GNUC__) || defined(__clang__)
#if defined(__MINGW_PRINTF_FORMAT)
#define SPYI_PRINTF(text, first) __attribute__((__format__(__MINGW_PRINTF_FORMAT, text, first)))
#else
#define SPYI_PRINTF(text, first) __attribute__((__format__(__printf__, text, first)))
#endif
#define SPYI_LIKELY(x) __builtin_expect(!!(x), 1)
#define SPYI_THREAD_LOCAL __thread
#else
#define SPYI_PRINTF(text, first)
#define SPYI_LIKELY(x) (x)
#define SPYI_THREAD_LOCAL __declspec(thread)
#endif

// For our own invariants only, never for input.
#ifndef SPYI_ASSERT
#include <assert.h>
#define SPYI_ASSERT(x) assert(x)
#endif

// >>atomics: 32-bit and pointer-free, so that C, C++ and MSVC share them
typedef struct spyi_atomic {
    volatile int32_t value;
} spyi_atomic;
SPYI_FN int32_t spyi_atomic_add(spyi_atomic *a, int32_t delta);                    // returns the new value
SPYI_FN int32_t spyi_atomic_load(spyi_atomic *a);                                  // acquire
SPYI_FN void spyi_atomic_store(spyi_atomic *a, int32_t value);                     // release
SPYI_FN bool spyi_atomic_swap_if(spyi_atomic *a, int32_t expected, int32_t value); // compare and swap

// >>threads
typedef struct spyi_mutex {
    void *handle[8];
} spyi_mutex; // room for a pthread_mutex_t or SRWLOCK
typedef struct spyi_thread {
    void *handle[2];
} spyi_thread;
SPYI_FN void spyi_mutex_init(spyi_mutex *m);
SPYI_FN void spyi_mutex_destroy(spyi_mutex *m);
SPYI_FN void spyi_mutex_lock(spyi_mutex *m);
SPYI_FN void spyi_mutex_unlock(spyi_mutex *m);
SPYI_FN void spyi_global_lock(void); // the one lock for process-wide state (libslang, stb_ds's seed)
SPYI_FN void spyi_global_unlock(void);
SPYI_FN bool spyi_thread_start(spyi_thread *t, void (*func)(void *),
                               void *arg); // false: no thread could be made
SPYI_FN void spyi_thread_join(spyi_thread *t);
SPYI_FN uint64_t spyi_time_ns(void);               // monotonic
SPYI_FN void *spyi_library_open(const char *path); // dlopen / LoadLibrary, local symbols
SPYI_FN void spyi_library_close(void *library);
SPYI_FN void *spyi_library_symbol(void *library, const char *name);
SPYI_FN const char *spyi_library_error(void); // why the last open failed

// >>text: a growable string on the process allocator, for cold paths. Zero is empty.
typedef struct spyi_text {
    char *data;  // NUL-terminated, or NULL when empty; read through spyi_text_str
    size_t size; // without the NUL
    size_t capacity;
} spyi_text;
SPYI_FN void spyi_text_add(spyi_text *t, const char *format, ...) SPYI_PRINTF(2, 3);
SPYI_FN void spyi_text_add_n(spyi_text *t, const char *s, size_t n);
SPYI_FN const char *spyi_text_str(const spyi_text *t); // never NULL
SPYI_FN void spyi_text_clear(spyi_text *t);            // empty, keeps its memory
SPYI_FN void spyi_text_free(spyi_text *t);
SPYI_FN char *spyi_strdup(const char *s); // process allocator; NULL stays NULL
SPYI_FN uint64_t spyi_hash(const void *data, size_t size, uint64_t seed);
// Levenshtein distance with case ignored, for "did you mean".
SPYI_FN unsigned spyi_edit_distance(const char *a, const char *b);

// >>files
SPYI_FN bool spyi_file_read(const char *path, spyi_text *out); // false: cannot be read
SPYI_FN bool spyi_file_write(const char *path, const void *data, size_t size);
SPYI_FN bool spyi_file_exists(const char *path);
// A number that is another one once the file was written or replaced; 0: there is no file. Cost: about 1 us.
SPYI_FN uint64_t spyi_file_stamp(const char *path);
// Folder of the program or library that holds this code, without a final slash; "" if unknown.
SPYI_FN void spyi_own_folder(spyi_text *out);

// >>objects
typedef enum spyi_kind {
    SPYI_KIND_DEVICE = 0x53504401,
    SPYI_KIND_MODULE,
    SPYI_KIND_FUNCTION,
    SPYI_KIND_TENSOR,
    SPYI_KIND_PREPARED,
    SPYI_KIND_CURSOR,
    SPYI_KIND_LIST,
    SPYI_KIND_DEAD = 0x44454144
} spyi_kind;

// The first words of each public object.
typedef struct spyi_object {
    uint32_t kind; // spyi_kind; SPYI_KIND_DEAD after release (kept until the device goes, in debug builds)
    spyi_atomic references;
    spy_device *device;
    struct spyi_object *release_next; // in the device's release queue
    uint32_t released_kind;           // what it was, while it waits there
} spyi_object;

// >>context: the part of a device that every room may use; first member of spy_device
typedef struct spyi_context {
    spyi_object object;
    spy_log log;
    spy_progress progress;
    spy_allocator allocator; // always filled
    const char *label;       // never NULL
    spyi_mutex error_lock;   // guards the errors: compile threads may fail too
    spy_status error_code;   // first error since the last take
    spyi_text error;         // its text
    spyi_text taken;         // what the last take handed out
    spyi_atomic busy;        // 1 while a thread is inside
} spyi_context;

SPYI_FN void spyi_context_init(spyi_context *ctx, const spy_device_desc *desc);
SPYI_FN void spyi_context_destroy(spyi_context *ctx);

// Report an error: to the log, and to the device (ctx NULL: to this thread). Returns `status`.
SPYI_FN spy_status spyi_fail(spyi_context *ctx, spy_status status, const char *format, ...) SPYI_PRINTF(3, 4);
SPYI_FN void spyi_logf(spyi_context *ctx, spy_log_level level, const char *format, ...) SPYI_PRINTF(3, 4);
SPYI_FN bool spyi_log_wants(const spyi_context *ctx, spy_log_level level);
SPYI_FN void spyi_step(spyi_context *ctx, const char *step, bool finished); // tells desc.progress

// desc.allocator. Zeroed memory, aligned to 16. NULL when out of memory.
SPYI_FN void *spyi_allocate(spyi_context *ctx, size_t size);
SPYI_FN void *spyi_reallocate(spyi_context *ctx, void *memory, size_t old_size, size_t new_size);
SPYI_FN void spyi_free(spyi_context *ctx, void *memory, size_t size);

SPYI_FN size_t spyi_align(size_t value, size_t alignment); // up; any alignment > 0
SPYI_FN size_t spyi_scalar_size(spy_dtype dtype);          // host bytes

// >>base/inner.h --------------------------------------------------------------------------------------------

// What base's own files share among themselves and show to no other room.

// Room for `more` bytes and the NUL behind the text; false when out of memory, and the text is unchanged.
SPYI_FN bool spyi_text_reserve(spyi_text *t, size_t more);
SPYI_FN void spyi_text_add_args(spyi_text *t, const char *format, va_list args);

// >>base/basics.c -------------------------------------------------------------------------------------------

// The public functions of api/base.h: texts of statuses, names and sizes of scalars, the log to stderr.

const char *spy_status_text(spy_status status) {
    switch (status) {
#define SPYI_STATUS_CASE(name, value, text)                                                                  \
    case name: return text;
        SPY_STATUS_LIST(SPYI_STATUS_CASE)
#undef SPYI_STATUS_CASE
    default: return "an unknown status";
    }
}

void spy_log_stderr(spy_log_level level, const char *message, void *user_data) {
    const char *word = "debug";
    (void)user_data;
    if (level <= SPY_LOG_ERROR) word = "error";
    else if (level == SPY_LOG_WARNING) word = "warning";
    else if (level == SPY_LOG_INFO) word = "info";
    // One call a message: stdio's lock then keeps the lines of several threads apart.
    fprintf(stderr, "slangpy: %s: %s\n", word, message ? message : "");
}

// SPY_DTYPE_DEFAULT counts as what it stands for, float32.
size_t spy_dtype_size_bytes(spy_dtype dtype) {
    switch (dtype) {
    case SPY_BOOL:
    case SPY_INT8:
    case SPY_UINT8: return 1;
    case SPY_INT16:
    case SPY_UINT16:
    case SPY_FLOAT16: return 2;
    case SPY_DTYPE_DEFAULT:
    case SPY_INT32:
    case SPY_UINT32:
    case SPY_FLOAT32: return 4;
    case SPY_INT64:
    case SPY_UINT64:
    case SPY_FLOAT64: return 8;
    default: return 0;
    }
}

const char *spy_dtype_name(spy_dtype dtype) {
    switch (dtype) {
    case SPY_BOOL: return "bool";
    case SPY_INT8: return "int8_t";
    case SPY_UINT8: return "uint8_t";
    case SPY_INT16: return "int16_t";
    case SPY_UINT16: return "uint16_t";
    case SPY_INT32: return "int";
    case SPY_UINT32: return "uint";
    case SPY_INT64: return "int64_t";
    case SPY_UINT64: return "uint64_t";
    case SPY_FLOAT16: return "half";
    case SPY_DTYPE_DEFAULT:
    case SPY_FLOAT32: return "float";
    case SPY_FLOAT64: return "double";
    default: return "?";
    }
}

size_t spyi_scalar_size(spy_dtype dtype) {
    return spy_dtype_size_bytes(dtype);
}

size_t spyi_align(size_t value, size_t alignment) {
    SPYI_ASSERT(alignment > 0);
    return (value + alignment - 1) / alignment * alignment;
}

// >>base/text.c ---------------------------------------------------------------------------------------------

// Text: the growable string, the hash of keys, and the edit distance behind "did you mean".

bool spyi_text_reserve(spyi_text *t, size_t more) {
    size_t capacity = t->capacity ? t->capacity : 64;
    char *data;
    if (more >= SIZE_MAX / 2 - t->size) return false;
    if (t->size + more + 1 <= t->capacity) return true;
    while (capacity < t->size + more + 1) capacity *= 2;
    data = (char *)realloc(t->data, capacity);
    if (!data) return false;
    data[t->size] = 0;
    t->data = data;
    t->capacity = capacity;
    return true;
}

void spyi_text_add_n(spyi_text *t, const char *s, size_t n) {
    if (n == 0 || !spyi_text_reserve(t, n)) return;
    memcpy(t->data + t->size, s, n);
    t->size += n;
    t->data[t->size] = 0;
}

void spyi_text_add_args(spyi_text *t, const char *format, va_list args) {
    va_list again;
    int n;
    va_copy(again, args);
    // The first try writes where there is room; most additions are short and need no second.
    n = vsnprintf(t->data ? t->data + t->size : NULL, t->data ? t->capacity - t->size : 0, format, args);
    if (n > 0) {
        if (!t->data || (size_t)n >= t->capacity - t->size) {
            if (t->data) t->data[t->size] = 0;
            if (!spyi_text_reserve(t, (size_t)n)) n = 0;
            else vsnprintf(t->data + t->size, (size_t)n + 1, format, again);
        }
        t->size += (size_t)n;
    } else if (t->data) {
        t->data[t->size] = 0;
    }
    va_end(again);
}

void spyi_text_add(spyi_text *t, const char *format, ...) {
    va_list args;
    va_start(args, format);
    spyi_text_add_args(t, format, args);
    va_end(args);
}

const char *spyi_text_str(const spyi_text *t) {
    return t->data ? t->data : "";
}

void spyi_text_clear(spyi_text *t) {
    t->size = 0;
    if (t->data) t->data[0] = 0;
}

void spyi_text_free(spyi_text *t) {
    free(t->data);
    t->data = NULL;
    t->size = 0;
    t->capacity = 0;
}

char *spyi_strdup(const char *s) {
    size_t size;
    char *copy;
    if (!s) return NULL;
    size = strlen(s) + 1;
    copy = (char *)malloc(size);
    if (copy) memcpy(copy, s, size);
    return copy;
}

// Source: MurmurHash64A by Austin Appleby (public domain). Words are read in the machine's order: hashes that
// lie on disk are for this kind of machine only.
uint64_t spyi_hash(const void *data, size_t size, uint64_t seed) {
    const uint64_t m = 0xc6a4a7935bd1e995u;
    const unsigned char *p = (const unsigned char *)data;
    uint64_t h = seed ^ ((uint64_t)size * m), k;
    for (; size >= 8; size -= 8, p += 8) {
        memcpy(&k, p, 8);
        k *= m;
        k ^= k >> 47;
        k *= m;
        h ^= k;
        h *= m;
    }
    if (size > 0) {
        k = 0;
        memcpy(&k, p, size);
        h ^= k;
        h *= m;
    }
    h ^= h >> 47;
    h *= m;
    h ^= h >> 47;
    return h;
}

// ASCII only: tolower() would follow the program's locale.
static char spyi_lower(char c) {
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

unsigned spyi_edit_distance(const char *a, const char *b) {
    enum { SPYI_ROW = 256 }; // names that still differ over so many characters resemble nothing
    unsigned row[SPYI_ROW + 1];
    size_t size_a = strlen(a), size_b = strlen(b), i, j;
    while (size_a && size_b && spyi_lower(*a) == spyi_lower(*b)) {
        a++, b++, size_a--, size_b--;
    }
    while (size_a && size_b && spyi_lower(a[size_a - 1]) == spyi_lower(b[size_b - 1])) {
        size_a--, size_b--;
    }
    if (size_a > SPYI_ROW || size_b > SPYI_ROW) return (unsigned)(size_a > size_b ? size_a : size_b);
    for (j = 0; j <= size_b; j++) row[j] = (unsigned)j;
    for (i = 1; i <= size_a; i++) {
        unsigned diagonal = row[0]; // the row above, one to the left
        row[0] = (unsigned)i;
        for (j = 1; j <= size_b; j++) {
            unsigned above = row[j];
            unsigned best = diagonal + (spyi_lower(a[i - 1]) != spyi_lower(b[j - 1]));
            if (above + 1 < best) best = above + 1;
            if (row[j - 1] + 1 < best) best = row[j - 1] + 1;
            row[j] = best;
            diagonal = above;
        }
    }
    return row[size_b];
}

// >>base/platform.c -----------------------------------------------------------------------------------------

// The machine: atomics, mutexes, threads and the clock, by POSIX or Win32.

#ifdef _WIN32
#ifndef WIN32_LEAN_AND_MEAN
#define WIN32_LEAN_AND_MEAN
#endif
#ifndef NOMINMAX
#define NOMINMAX
#endif
#include <windows.h>
#else
#include <pthread.h>
#include <time.h>
#endif

// >>atomics
#if defined(__GNUC__) || defined(__clang__)

int32_t spyi_atomic_add(spyi_atomic *a, int32_t delta) {
    return __atomic_add_fetch(&a->value, delta, __ATOMIC_ACQ_REL);
}

int32_t spyi_atomic_load(spyi_atomic *a) {
    return __atomic_load_n(&a->value, __ATOMIC_ACQUIRE);
}

void spyi_atomic_store(spyi_atomic *a, int32_t value) {
    __atomic_store_n(&a->value, value, __ATOMIC_RELEASE);
}

bool spyi_atomic_swap_if(spyi_atomic *a, int32_t expected, int32_t value) {
    return __atomic_compare_exchange_n(&a->value, &expected, value, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
}

#else // MSVC: LONG has 32 bits

int32_t spyi_atomic_add(spyi_atomic *a, int32_t delta) {
    return (int32_t)InterlockedExchangeAdd((volatile LONG *)&a->value, (LONG)delta) + delta;
}

int32_t spyi_atomic_load(spyi_atomic *a) {
    return (int32_t)InterlockedCompareExchange((volatile LONG *)&a->value, 0, 0);
}

void spyi_atomic_store(spyi_atomic *a, int32_t value) {
    InterlockedExchange((volatile LONG *)&a->value, (LONG)value);
}

bool spyi_atomic_swap_if(spyi_atomic *a, int32_t expected, int32_t value) {
    return InterlockedCompareExchange((volatile LONG *)&a->value, (LONG)value, (LONG)expected) ==
           (LONG)expected;
}

#endif

// What a new thread runs; lives until it has begun.
typedef struct spyi_thread_start_info {
    void (*func)(void *);
    void *arg;
} spyi_thread_start_info;

static spyi_thread_start_info *spyi_make_start_info(void (*func)(void *), void *arg) {
    spyi_thread_start_info *info = (spyi_thread_start_info *)malloc(sizeof *info);
    if (info) {
        info->func = func;
        info->arg = arg;
    }
    return info;
}

static void spyi_run_start_info(void *start) {
    spyi_thread_start_info info = *(spyi_thread_start_info *)start;
    free(start);
    info.func(info.arg);
}

#ifdef _WIN32

// >>mutexes
typedef char spyi_mutex_has_room[sizeof(SRWLOCK) <= sizeof(spyi_mutex) ? 1 : -1];
static SRWLOCK spyi_global_mutex = SRWLOCK_INIT;

void spyi_mutex_init(spyi_mutex *m) {
    memset(m, 0, sizeof *m);
    InitializeSRWLock((SRWLOCK *)(void *)m);
}

void spyi_mutex_destroy(spyi_mutex *m) {
    (void)m;
}

void spyi_mutex_lock(spyi_mutex *m) {
    AcquireSRWLockExclusive((SRWLOCK *)(void *)m);
}

void spyi_mutex_unlock(spyi_mutex *m) {
    ReleaseSRWLockExclusive((SRWLOCK *)(void *)m);
}

void spyi_global_lock(void) {
    AcquireSRWLockExclusive(&spyi_global_mutex);
}

void spyi_global_unlock(void) {
    ReleaseSRWLockExclusive(&spyi_global_mutex);
}

// >>threads
static DWORD WINAPI spyi_thread_main(LPVOID start) {
    spyi_run_start_info(start);
    return 0;
}

bool spyi_thread_start(spyi_thread *t, void (*func)(void *), void *arg) {
    spyi_thread_start_info *info = spyi_make_start_info(func, arg);
    memset(t, 0, sizeof *t);
    if (!info) return false;
    t->handle[0] = CreateThread(NULL, 0, spyi_thread_main, info, 0, NULL);
    if (!t->handle[0]) free(info);
    return t->handle[0] != NULL;
}

void spyi_thread_join(spyi_thread *t) {
    WaitForSingleObject((HANDLE)t->handle[0], INFINITE);
    CloseHandle((HANDLE)t->handle[0]);
    t->handle[0] = NULL;
}

// >>clock
uint64_t spyi_time_ns(void) {
    const uint64_t billion = 1000000000u;
    LARGE_INTEGER count, frequency;
    uint64_t c, f;
    QueryPerformanceCounter(&count);
    QueryPerformanceFrequency(&frequency);
    c = (uint64_t)count.QuadPart;
    f = (uint64_t)frequency.QuadPart;
    return c / f * billion + c % f * billion / f; // in two parts, so that the product does not overflow
}

#else // POSIX

// >>mutexes
typedef char spyi_mutex_has_room[sizeof(pthread_mutex_t) <= sizeof(spyi_mutex) ? 1 : -1];
typedef char spyi_thread_has_room[sizeof(pthread_t) <= sizeof(spyi_thread) ? 1 : -1];
static pthread_mutex_t spyi_global_mutex = PTHREAD_MUTEX_INITIALIZER;

void spyi_mutex_init(spyi_mutex *m) {
    memset(m, 0, sizeof *m);
    pthread_mutex_init((pthread_mutex_t *)(void *)m, NULL);
}

void spyi_mutex_destroy(spyi_mutex *m) {
    pthread_mutex_destroy((pthread_mutex_t *)(void *)m);
}

void spyi_mutex_lock(spyi_mutex *m) {
    pthread_mutex_lock((pthread_mutex_t *)(void *)m);
}

void spyi_mutex_unlock(spyi_mutex *m) {
    pthread_mutex_unlock((pthread_mutex_t *)(void *)m);
}

void spyi_global_lock(void) {
    pthread_mutex_lock(&spyi_global_mutex);
}

void spyi_global_unlock(void) {
    pthread_mutex_unlock(&spyi_global_mutex);
}

// >>threads
static void *spyi_thread_main(void *start) {
    spyi_run_start_info(start);
    return NULL;
}

bool spyi_thread_start(spyi_thread *t, void (*func)(void *), void *arg) {
    spyi_thread_start_info *info = spyi_make_start_info(func, arg);
    pthread_t thread;
    memset(t, 0, sizeof *t);
    if (!info) return false;
    if (pthread_create(&thread, NULL, spyi_thread_main, info) != 0) {
        free(info);
        return false;
    }
    memcpy(t->handle, &thread, sizeof thread);
    return true;
}

void spyi_thread_join(spyi_thread *t) {
    pthread_t thread;
    memcpy(&thread, t->handle, sizeof thread);
    pthread_join(thread, NULL);
    memset(t, 0, sizeof *t);
}

// >>clock
// With -std=c11 the C library hides clock_gettime(), and we may come after the program's includes, too late
// for a feature macro. The macro and the function are hidden together, and then a declaration of our own
// meets no other.
#ifdef CLOCK_MONOTONIC
#define SPYI_CLOCK CLOCK_MONOTONIC
#else
#ifdef __cplusplus
extern "C"
#endif
    int
    clock_gettime(int clock, struct timespec *time);
#ifdef __APPLE__
#define SPYI_CLOCK 6
#else
#define SPYI_CLOCK 1
#endif
#endif

uint64_t spyi_time_ns(void) {
    struct timespec now;
    clock_gettime(SPYI_CLOCK, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

#endif

// >>base/files.c --------------------------------------------------------------------------------------------

// Files and shared libraries by path (UTF-8 everywhere, Windows included), and the folder this code was
// loaded from.

#ifdef _WIN32
#ifndef WIN32_LEAN_AND_MEAN
#define WIN32_LEAN_AND_MEAN
#endif
#ifndef NOMINMAX
#define NOMINMAX
#endif
#include <share.h>
#include <wchar.h>
#include <windows.h>
#else
#include <dlfcn.h>
#include <sys/stat.h>
#endif

// Text up to, not with, the last slash.
static void spyi_add_folder(spyi_text *out, const char *path, size_t size) {
    while (size > 0 && path[size - 1] != '/' && path[size - 1] != '\\') size--;
    if (size > 1) spyi_text_add_n(out, path, size - 1);
    else if (size == 1) spyi_text_add_n(out, path, 1); // the root keeps its slash
}

#ifdef _WIN32

enum { SPYI_MAX_PATH = 4096 };

static bool spyi_wide_path(const char *path, wchar_t *wide) {
    return path && MultiByteToWideChar(CP_UTF8, MB_ERR_INVALID_CHARS, path, -1, wide, SPYI_MAX_PATH) > 0;
}

static FILE *spyi_file_open(const char *path, bool write) {
    wchar_t wide[SPYI_MAX_PATH];
    return spyi_wide_path(path, wide) ? _wfsopen(wide, write ? L"wb" : L"rb", _SH_DENYNO) : NULL;
}

bool spyi_file_exists(const char *path) {
    wchar_t wide[SPYI_MAX_PATH];
    DWORD attributes = spyi_wide_path(path, wide) ? GetFileAttributesW(wide) : INVALID_FILE_ATTRIBUTES;
    return attributes != INVALID_FILE_ATTRIBUTES && !(attributes & FILE_ATTRIBUTE_DIRECTORY);
}

uint64_t spyi_file_stamp(const char *path) {
    wchar_t wide[SPYI_MAX_PATH];
    WIN32_FILE_ATTRIBUTE_DATA data;
    if (!spyi_wide_path(path, wide) || !GetFileAttributesExW(wide, GetFileExInfoStandard, &data) ||
        (data.dwFileAttributes & FILE_ATTRIBUTE_DIRECTORY))
        return 0;
    uint64_t parts[4] = { data.ftLastWriteTime.dwHighDateTime, data.ftLastWriteTime.dwLowDateTime,
                          data.nFileSizeHigh, data.nFileSizeLow };
    return spyi_hash(parts, sizeof parts, 0) | 1;
}

static SPYI_THREAD_LOCAL DWORD spyi_library_status;
static SPYI_THREAD_LOCAL char spyi_library_text[512];

void *spyi_library_open(const char *path) {
    wchar_t wide[SPYI_MAX_PATH];
    HMODULE module = NULL;
    if (!spyi_wide_path(path, wide)) {
        spyi_library_status = ERROR_INVALID_NAME;
        return NULL;
    }
    module = LoadLibraryW(wide);
    spyi_library_status = module ? 0 : GetLastError();
    return (void *)module;
}

void spyi_library_close(void *library) {
    if (library) FreeLibrary((HMODULE)library);
}

void *spyi_library_symbol(void *library, const char *name) {
    return (void *)(uintptr_t)GetProcAddress((HMODULE)library, name);
}

const char *spyi_library_error(void) {
    DWORD size =
        FormatMessageA(FORMAT_MESSAGE_FROM_SYSTEM | FORMAT_MESSAGE_IGNORE_INSERTS, NULL, spyi_library_status,
                       0, spyi_library_text, (DWORD)sizeof spyi_library_text - 1, NULL);
    if (size == 0) return "no reason known";
    while (size > 0 && (unsigned char)spyi_library_text[size - 1] <= ' ') size--; // it ends with a newline
    spyi_library_text[size] = 0;
    return spyi_library_text;
}

void spyi_own_folder(spyi_text *out) {
    wchar_t wide[SPYI_MAX_PATH];
    char path[SPYI_MAX_PATH * 3];
    HMODULE module = NULL;
    DWORD size;
    int bytes;
    spyi_text_clear(out);
    if (!GetModuleHandleExW(GET_MODULE_HANDLE_EX_FLAG_FROM_ADDRESS |
                                GET_MODULE_HANDLE_EX_FLAG_UNCHANGED_REFCOUNT,
                            (LPCWSTR)(uintptr_t)&spyi_own_folder, &module))
        return;
    size = GetModuleFileNameW(module, wide, SPYI_MAX_PATH);
    if (size == 0 || size >= SPYI_MAX_PATH) return;
    bytes = WideCharToMultiByte(CP_UTF8, 0, wide, (int)size, path, (int)sizeof path, NULL, NULL);
    if (bytes > 0) spyi_add_folder(out, path, (size_t)bytes);
}

#else // POSIX

static FILE *spyi_file_open(const char *path, bool write) {
    return path ? fopen(path, write ? "wb" : "rb") : NULL;
}

bool spyi_file_exists(const char *path) {
    struct stat info;
    return path && stat(path, &info) == 0 && !S_ISDIR(info.st_mode);
}

// Nanoseconds of the last write; where they are kept depends on the system and on what -std hides.
#if defined(__APPLE__)
#define SPYI_STAT_NS(info) ((uint64_t)(info).st_mtimespec.tv_nsec)
#elif defined(st_mtime)
#define SPYI_STAT_NS(info) ((uint64_t)(info).st_mtim.tv_nsec)
#else
#define SPYI_STAT_NS(info) ((uint64_t)(info).st_mtimensec)
#endif

uint64_t spyi_file_stamp(const char *path) {
    struct stat info;
    if (!path || stat(path, &info) != 0 || S_ISDIR(info.st_mode)) return 0;
    uint64_t parts[4] = { (uint64_t)info.st_mtime, SPYI_STAT_NS(info), (uint64_t)info.st_size,
                          (uint64_t)info.st_ino };
    return spyi_hash(parts, sizeof parts, 0) | 1;
}

void *spyi_library_open(const char *path) {
    return path ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;
}

void spyi_library_close(void *library) {
    if (library) dlclose(library);
}

void *spyi_library_symbol(void *library, const char *name) {
    return dlsym(library, name);
}

const char *spyi_library_error(void) {
    const char *text = dlerror();
    return text ? text : "no reason known";
}

// As Dl_info, which -std=c11 hides.
typedef struct spyi_dl_info {
    const char *file_name;
    void *file_base;
    const char *symbol_name;
    void *symbol_address;
} spyi_dl_info;
typedef int (*spyi_dladdr_func)(const void *address, spyi_dl_info *info);

// Linux: the mapped file that holds `address`. dladdr() says argv[0] for the program itself, which may be no
// path.
static bool spyi_find_in_maps(uintptr_t address, spyi_text *out) {
    char line[4400]; // PATH_MAX and what stands before it
    bool found = false;
    FILE *maps = fopen("/proc/self/maps", "rb");
    if (!maps) return false;
    while (!found && fgets(line, (int)sizeof line, maps)) {
        char *end = NULL;
        uintptr_t first = (uintptr_t)strtoull(line, &end, 16), last;
        const char *path;
        if (*end != '-') continue;
        last = (uintptr_t)strtoull(end + 1, &end, 16);
        if (address < first || address >= last) continue;
        path = strchr(end, '/');
        if (!path) break;
        spyi_add_folder(out, path, strlen(path));
        found = true;
    }
    fclose(maps);
    return found;
}

void spyi_own_folder(spyi_text *out) {
    uintptr_t address = (uintptr_t)&spyi_own_folder;
    void *symbol;
    spyi_dladdr_func func;
    spyi_dl_info info;
    spyi_text_clear(out);
    if (spyi_find_in_maps(address, out)) return;
#ifdef RTLD_DEFAULT
    symbol = dlsym(RTLD_DEFAULT, "dladdr");
#else
    symbol = dlsym(NULL, "dladdr");
#endif
    if (!symbol) return;
    memcpy(&func, &symbol, sizeof func); // C has no cast from an object's to a function's pointer
    if (func((const void *)address, &info) && info.file_name)
        spyi_add_folder(out, info.file_name, strlen(info.file_name));
}

#endif

bool spyi_file_read(const char *path, spyi_text *out) {
    FILE *file = spyi_file_open(path, false);
    bool good = true;
    spyi_text_clear(out);
    if (!file) return false;
    for (;;) {
        size_t n;
        if (!spyi_text_reserve(out, 16384)) {
            good = false;
            break;
        }
        n = fread(out->data + out->size, 1, out->capacity - out->size - 1, file);
        if (n == 0) break;
        out->size += n;
    }
    if (ferror(file)) good = false; // a folder opens, but does not read
    fclose(file);
    if (!good) out->size = 0;
    if (out->data) out->data[out->size] = 0;
    return good;
}

bool spyi_file_write(const char *path, const void *data, size_t size) {
    FILE *file = spyi_file_open(path, true);
    bool good;
    if (!file) return false;
    good = size == 0 || fwrite(data, 1, size, file) == size;
    if (fclose(file) != 0) good = false; // a full disk may show only here
    return good;
}

// >>base/context.c ------------------------------------------------------------------------------------------

// What happens around the work: errors of a device and of a thread, log, progress, and the device's host
// memory.

// >>allocator

// The library asks for 16 bytes of alignment and no more, which malloc() gives on 64-bit systems.
static void *spyi_default_allocate(size_t size_bytes, size_t alignment, void *user_data) {
    (void)alignment, (void)user_data;
    return malloc(size_bytes);
}

static void *spyi_default_reallocate(void *memory, size_t old_size_bytes, size_t new_size_bytes,
                                     size_t alignment, void *user_data) {
    (void)old_size_bytes, (void)alignment, (void)user_data;
    return realloc(memory, new_size_bytes);
}

static void spyi_default_free(void *memory, size_t size_bytes, void *user_data) {
    (void)size_bytes, (void)user_data;
    free(memory);
}

static spy_allocator spyi_default_allocator(void) {
    spy_allocator a;
    a.allocate = spyi_default_allocate;
    a.reallocate = spyi_default_reallocate;
    a.free = spyi_default_free;
    a.user_data = NULL;
    return a;
}

enum { SPYI_ALIGNMENT = 16 };

void *spyi_allocate(spyi_context *ctx, size_t size) {
    spy_allocator a = ctx ? ctx->allocator : spyi_default_allocator();
    void *memory;
    if (size == 0) size = 1; // so that NULL always means out of memory; spyi_free() says the same size
    memory = a.allocate(size, SPYI_ALIGNMENT, a.user_data);
    if (memory) memset(memory, 0, size);
    return memory;
}

void *spyi_reallocate(spyi_context *ctx, void *memory, size_t old_size, size_t new_size) {
    spy_allocator a = ctx ? ctx->allocator : spyi_default_allocator();
    void *moved;
    if (!memory) return spyi_allocate(ctx, new_size);
    if (old_size == 0) old_size = 1;
    if (new_size == 0) new_size = 1;
    moved = a.reallocate(memory, old_size, new_size, SPYI_ALIGNMENT, a.user_data);
    if (moved && new_size > old_size) memset((char *)moved + old_size, 0, new_size - old_size);
    return moved;
}

void spyi_free(spyi_context *ctx, void *memory, size_t size) {
    spy_allocator a = ctx ? ctx->allocator : spyi_default_allocator();
    if (memory) a.free(memory, size ? size : 1, a.user_data);
}

// >>log

bool spyi_log_wants(const spyi_context *ctx, spy_log_level level) {
    spy_log_level least;
    if (!ctx || !ctx->log.func) return false;
    least = ctx->log.level == SPY_LOG_DEFAULT ? SPY_LOG_WARNING : ctx->log.level;
    return level <= least;
}

void spyi_logf(spyi_context *ctx, spy_log_level level, const char *format, ...) {
    spyi_text text = { NULL, 0, 0 };
    va_list args;
    if (!spyi_log_wants(ctx, level)) return;
    va_start(args, format);
    spyi_text_add_args(&text, format, args);
    va_end(args);
    ctx->log.func(level, spyi_text_str(&text), ctx->log.user_data);
    spyi_text_free(&text);
}

void spyi_step(spyi_context *ctx, const char *step, bool finished) {
    if (ctx && ctx->progress.func) ctx->progress.func(step, finished, ctx->progress.user_data);
}

// >>errors

// A thread's error: fixed memory, so that nothing is left behind when the thread ends.
enum { SPYI_THREAD_TEXT = 8192 };
typedef struct spyi_thread_error {
    spy_status code; // first error since the last take
    char text[SPYI_THREAD_TEXT];
    char taken[SPYI_THREAD_TEXT]; // what the last take handed out
} spyi_thread_error;
static SPYI_THREAD_LOCAL spyi_thread_error spyi_this_thread;

// Writes all of it or, cut between characters of UTF-8, its beginning and "...".
static void spyi_format_cut(char *text, size_t size, const char *format, va_list args) {
    int n = vsnprintf(text, size, format, args);
    size_t end = size - 4;
    if (n < 0) text[0] = 0;
    if (n < 0 || (size_t)n < size) return;
    while (end > 0 && ((unsigned char)text[end] & 0xc0) == 0x80) end--;
    memcpy(text + end, "...", 4);
}

spy_status spyi_fail(spyi_context *ctx, spy_status status, const char *format, ...) {
    spyi_text text = { NULL, 0, 0 }, swap;
    va_list args;
    SPYI_ASSERT(status != SPY_OK);
    va_start(args, format);
    if (!ctx) {
        spyi_thread_error *mine = &spyi_this_thread;
        if (mine->code == SPY_OK) {
            mine->code = status;
            spyi_format_cut(mine->text, sizeof mine->text, format, args);
        }
        va_end(args);
        return status;
    }
    spyi_text_add_args(&text, format, args);
    va_end(args);
    if (text.size == 0) spyi_text_add(&text, "%s", spy_status_text(status));
    // Outside the lock: the callback may ask for the error.
    if (spyi_log_wants(ctx, SPY_LOG_ERROR))
        ctx->log.func(SPY_LOG_ERROR, spyi_text_str(&text), ctx->log.user_data);
    spyi_mutex_lock(&ctx->error_lock);
    if (ctx->error_code == SPY_OK) {
        ctx->error_code = status;
        swap = ctx->error;
        ctx->error = text;
        text = swap;
    }
    spyi_mutex_unlock(&ctx->error_lock);
    spyi_text_free(&text);
    return status;
}

// Also when memory ran out for the text itself there is something to read.
static const char *spyi_message_or_status(const char *message, spy_status status) {
    return message[0] ? message : spy_status_text(status);
}

static spy_error spyi_take_thread_error(void) {
    spyi_thread_error *mine = &spyi_this_thread;
    spy_error error;
    error.code = mine->code;
    error.message = "";
    if (error.code == SPY_OK) return error;
    memcpy(mine->taken, mine->text, sizeof mine->taken);
    mine->code = SPY_OK;
    error.message = spyi_message_or_status(mine->taken, error.code);
    return error;
}

spy_error spy_take_error(spy_device *device) {
    spyi_context *ctx = (spyi_context *)(void *)device; // a device begins with its context
    spyi_text swap;
    spy_error error;
    if (!device) return spyi_take_thread_error();
    error.code = SPY_ERROR_RELEASED;
    error.message =
        "spy_take_error: device: expected a device, but it has been released or is another object";
    if (ctx->object.kind != (uint32_t)SPYI_KIND_DEVICE) return error;
    spyi_mutex_lock(&ctx->error_lock);
    error.code = ctx->error_code;
    error.message = "";
    if (error.code != SPY_OK) {
        swap = ctx->taken;
        ctx->taken = ctx->error;
        ctx->error = swap;
        spyi_text_clear(&ctx->error);
        ctx->error_code = SPY_OK;
        error.message = spyi_message_or_status(spyi_text_str(&ctx->taken), error.code);
    }
    spyi_mutex_unlock(&ctx->error_lock);
    return error;
}

// >>context

static const char spyi_default_label[] = "device";

// An allocator that lacks a function is reported as the context's first error: look at ctx->error_code
// afterwards.
void spyi_context_init(spyi_context *ctx, const spy_device_desc *desc) {
    memset(ctx, 0, sizeof *ctx);
    ctx->object.kind = (uint32_t)SPYI_KIND_DEVICE;
    ctx->object.references.value = 1;
    ctx->object.device = (spy_device *)(void *)ctx;
    ctx->allocator = spyi_default_allocator();
    ctx->label = spyi_default_label;
    spyi_mutex_init(&ctx->error_lock);
    if (!desc) return;
    ctx->log = desc->log;
    ctx->progress = desc->progress;
    if (desc->label) {
        char *label = spyi_strdup(desc->label); // the caller's may go
        if (label) ctx->label = label;
    }
    if (desc->allocator.allocate && desc->allocator.reallocate && desc->allocator.free)
        ctx->allocator = desc->allocator;
    else if (desc->allocator.allocate || desc->allocator.reallocate || desc->allocator.free)
        spyi_fail(ctx, SPY_ERROR_INVALID_ARGUMENT,
                  "spy_create_device: desc->allocator: expected all of allocate, reallocate and free, or "
                  "none; %s is NULL",
                  !desc->allocator.allocate     ? "allocate"
                  : !desc->allocator.reallocate ? "reallocate"
                                                : "free");
}

void spyi_context_destroy(spyi_context *ctx) {
    ctx->object.kind = (uint32_t)SPYI_KIND_DEAD;
    if (ctx->label != spyi_default_label) free((void *)(uintptr_t)ctx->label);
    ctx->label = spyi_default_label;
    spyi_text_free(&ctx->error);
    spyi_text_free(&ctx->taken);
    spyi_mutex_destroy(&ctx->error_lock);
}

// >>base/stbds_names.h --------------------------------------------------------------------------------------

// stb_ds.h under names of our own: every name it declares becomes spyi_..., until stbds_end.h.
// Generated by tools/amalgamate --names from Debian 12's copy; do not edit.

#pragma push_macro("STBDS_ASSERT")
#pragma push_macro("STBDS_FREE")
#pragma push_macro("STBDS_NO_SHORT_NAMES")
#pragma push_macro("STBDS_REALLOC")
#pragma push_macro("STBDS_SIPHASH_2_4")
#pragma push_macro("STBDS_STATISTICS")
#pragma push_macro("STBDS_UNIT_TESTS")
#pragma push_macro("STB_DS_IMPLEMENTATION")
#undef STBDS_ASSERT
#undef STBDS_FREE
#undef STBDS_NO_SHORT_NAMES
#undef STBDS_REALLOC
#undef STBDS_SIPHASH_2_4
#undef STBDS_STATISTICS
#undef STBDS_UNIT_TESTS
#undef STB_DS_IMPLEMENTATION

#define STBDS_SH_ARENA spyi_STBDS_SH_ARENA
#define STBDS_SH_DEFAULT spyi_STBDS_SH_DEFAULT
#define STBDS_SH_NONE spyi_STBDS_SH_NONE
#define STBDS_SH_STRDUP spyi_STBDS_SH_STRDUP
#define STBDS_SIPHASH_2_4_can_only_be_used_in_64_bit_builds spyi_STBDS_SIPHASH_2_4_can_only_be_used_in_64_bit_builds
#define stbds_array_grow spyi_stbds_array_grow
#define stbds_array_header spyi_stbds_array_header
#define stbds_arrfreef spyi_stbds_arrfreef
#define stbds_arrgrowf spyi_stbds_arrgrowf
#define stbds_hash_alloc spyi_stbds_hash_alloc
#define stbds_hash_bucket spyi_stbds_hash_bucket
#define stbds_hash_bytes spyi_stbds_hash_bytes
#define stbds_hash_grow spyi_stbds_hash_grow
#define stbds_hash_index spyi_stbds_hash_index
#define stbds_hash_probes spyi_stbds_hash_probes
#define stbds_hash_rebuild spyi_stbds_hash_rebuild
#define stbds_hash_seed spyi_stbds_hash_seed
#define stbds_hash_shrink spyi_stbds_hash_shrink
#define stbds_hash_string spyi_stbds_hash_string
#define stbds_hm_find_slot spyi_stbds_hm_find_slot
#define stbds_hmdel_key spyi_stbds_hmdel_key
#define stbds_hmfree_func spyi_stbds_hmfree_func
#define stbds_hmget_key spyi_stbds_hmget_key
#define stbds_hmget_key_ts spyi_stbds_hmget_key_ts
#define stbds_hmput_default spyi_stbds_hmput_default
#define stbds_hmput_key spyi_stbds_hmput_key
#define stbds_is_key_equal spyi_stbds_is_key_equal
#define stbds_log2 spyi_stbds_log2
#define stbds_make_hash_index spyi_stbds_make_hash_index
#define stbds_probe_position spyi_stbds_probe_position
#define stbds_rand_seed spyi_stbds_rand_seed
#define stbds_rehash_items spyi_stbds_rehash_items
#define stbds_rehash_probes spyi_stbds_rehash_probes
#define stbds_shmode_func spyi_stbds_shmode_func
#define stbds_siphash_bytes spyi_stbds_siphash_bytes
#define stbds_stralloc spyi_stbds_stralloc
#define stbds_strdup spyi_stbds_strdup
#define stbds_string_arena spyi_stbds_string_arena
#define stbds_string_block spyi_stbds_string_block
#define stbds_strreset spyi_stbds_strreset
#define stbds_unit_tests spyi_stbds_unit_tests
#ifdef __cplusplus
#define stbds_arrgrowf_wrapper spyi_stbds_arrgrowf_wrapper
#define stbds_hmdel_key_wrapper spyi_stbds_hmdel_key_wrapper
#define stbds_hmget_key_ts_wrapper spyi_stbds_hmget_key_ts_wrapper
#define stbds_hmget_key_wrapper spyi_stbds_hmget_key_wrapper
#define stbds_hmput_default_wrapper spyi_stbds_hmput_default_wrapper
#define stbds_hmput_key_wrapper spyi_stbds_hmput_key_wrapper
#define stbds_shmode_func_wrapper spyi_stbds_shmode_func_wrapper
#endif

// >>base/stbds.h --------------------------------------------------------------------------------------------

// stb_ds (arrays and maps) as a private copy: its names become spyi_stbds_..., so that a program with a stb_ds of its own,
// in this file after us or in another, never meets ours. Used by the cold tables of compiler, bind and emit only: a
// backend's implementation begins after slangpy.h's has taken these names back (stbds_end.h).

#ifdef INCLUDE_STB_DS_H
#error                                                                                                       \
    "stb_ds.h was included before the implementation of slangpy.h: include slangpy.h first, or give it a file of its own"
#endif

#define STBDS_NO_SHORT_NAMES
#if defined(SPYI_SINGLE_HEADER) || defined(SPYI_STBDS_IMPLEMENTATION) // the split build: src/base/stbds.c
#define STB_DS_IMPLEMENTATION
#endif

#if defined(__GNUC__) || defined(__clang__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wconversion"
#pragma GCC diagnostic ignored "-Wsign-conversion"
#pragma GCC diagnostic ignored "-Wshadow"
#pragma GCC diagnostic ignored "-Wsign-compare"
#pragma GCC diagnostic ignored "-Wcast-qual"
#pragma GCC diagnostic ignored "-Wunused-function"
#pragma GCC diagnostic ignored "-Wmissing-field-initializers"
#endif

#ifdef __has_include
#if !__has_include(<stb_ds.h>) && __has_include(<stb/stb_ds.h>)
#define SPYI_STB_FOLDER 1
#elif !__has_include(<stb_ds.h>)
#error                                                                                                       \
    "slangpy.h needs stb_ds.h on the include path (Debian: apt install libstb-dev, then -I/usr/include/stb)"
#endif
#endif
#ifdef SPYI_STB_FOLDER
#include <stb/stb_ds.h>
#else
#include <stb_ds.h>
#endif

#if defined(__GNUC__) || defined(__clang__)
#pragma GCC diagnostic pop
#endif

// Keys are lvalues, as C++ needs: stb_ds's own macro for C says `typeof`, which gcc -std=c11 does not know.
#undef STBDS_ADDRESSOF
#define STBDS_ADDRESSOF(typevar, value) &(value)
// stb_ds's own is a signed difference, which -Wconversion refuses at each use.
#undef STBDS_OFFSETOF
#define STBDS_OFFSETOF(var, field) ((size_t)((char *)&(var)->field - (char *)(var)))

// >>backend/backend.h ---------------------------------------------------------------------------------------

// The table that a backend fills. Nothing above it mentions an API, and a backend sees api, base and this file only.
//
// Threads: the device layer calls a backend from one thread at a time, with two exceptions that must be free-threaded:
// create_kernel and destroy_kernel (compile threads). Errors: functions that can fail return a status and append one
// sentence to `error`, without a prefix; the caller adds function and argument.

typedef struct spyi_gpu
    spyi_gpu; // a backend's device; each backend defines its own struct, spyi_gpu_base first
typedef struct spyi_kernel spyi_kernel; // a compiled kernel, likewise opaque

// What kernels are compiled to.
typedef enum spyi_target { SPYI_TARGET_SPIRV, SPYI_TARGET_CUDA } spyi_target;

// Where memory lies.
typedef enum spyi_memory {
    SPYI_MEMORY_DEVICE, // fast for kernels; mapped may be NULL
    SPYI_MEMORY_READBACK // host memory, cached, always mapped; kernels may write it, the host reads it after a wait
} spyi_memory;

// A piece of memory from the driver. The pool of data/ cuts it into blocks.
typedef struct spyi_chunk {
    uint64_t handle;  // VkBuffer, CUdeviceptr
    uint64_t address; // GPU address of byte 0; 0 if the device has no pointers
    void *mapped;     // host address of byte 0, coherent; or NULL
    size_t size;
    void *memory; // the backend's own (VkDeviceMemory); NULL for imported ones
} spyi_chunk;

// A structured-buffer argument: a range of a chunk. offset is a multiple of limits.binding_alignment.
typedef struct spyi_binding {
    uint64_t handle;
    uint64_t offset;
    uint64_t range; // bytes, > 0, at most limits.max_binding_bytes
} spyi_binding;

typedef struct spyi_kernel_desc {
    const char *label;   // debug name
    const void *code;    // SPIR-V words
    size_t code_size;    // bytes
    const char *entry;   // entry point's name in the code
    uint32_t group_size; // threads of a group (x); already fixed in the code
    uint32_t block_size; // bytes of the parameter block; 0: none
    bool
        block_by_address; // the block exceeds limits.max_block_bytes: the kernel takes its address (8 bytes) instead
    uint32_t binding_count; // structured buffers at set 0, binding 0 ... n-1
} spyi_kernel_desc;

typedef struct spyi_dispatch {
    spyi_kernel *kernel;
    const void *block;            // block_size bytes of the kernel; copied during the call
    const spyi_binding *bindings; // binding_count of the kernel
    uint32_t groups[3];           // each > 0 and within limits; unused when indirect
    uint64_t indirect;            // handle of a chunk that holds the three group counts (uint32_t); 0: `groups`
    uint64_t indirect_offset;     // where in the chunk: a multiple of 4
    bool barrier;                 // this work must see all earlier work finished
} spyi_dispatch;

// Names for debug tools: of the work between push and pop, or of a point.
typedef enum spyi_label { SPYI_LABEL_PUSH, SPYI_LABEL_POP, SPYI_LABEL_POINT } spyi_label;

#define SPYI_TIME_SLOTS 1024u // for time_mark

typedef struct spyi_limits {
    spy_device_info info; // what the user sees
    spyi_target target;
    uint32_t max_block_bytes;   // inline parameters of a dispatch
    uint32_t max_bindings;      // structured buffers of a kernel; 0: pointers only
    uint32_t binding_alignment; // bytes
    uint64_t max_binding_bytes;
    uint32_t fill_alignment;      // offset and size of fill (4 on Vulkan)
    bool prefers_bindings;        // structured buffers are faster than pointers whatever the size (lavapipe)
    uint64_t bindings_from_bytes; // else: arrays from this size on use structured buffers
    bool unified_memory;          // device memory is mapped and cached: no staging
} spyi_limits;

// Counted by the backend for spy_device_stats.
typedef struct spyi_gpu_stats {
    uint64_t dispatches, barriers, submits, driver_allocations;
} spyi_gpu_stats;

// Every backend's device begins with this.
typedef struct spyi_gpu_base {
    const struct spyi_backend *backend;
    spyi_context *ctx;
    spyi_limits limits;
    spyi_gpu_stats stats;
    bool deferred; // work is recorded for somebody else to submit: nothing can be waited for
} spyi_gpu_base;

struct spyi_backend {
    const char *name; // "vulkan"
    size_t (*enumerate)(spy_device_info *infos, size_t capacity, spyi_text *error);
    spy_status (*create)(spyi_context *ctx, const spy_device_desc *desc, spyi_gpu **gpu, spyi_text *error);
    void (*destroy)(spyi_gpu *gpu); // waits; all chunks and kernels have been freed

    // Memory. Chunks are at least 256-byte aligned. free_chunk: the caller knows that no work uses it any more.
    spy_status (*allocate_chunk)(spyi_gpu *gpu, spyi_memory memory, size_t size, const char *label,
                                 spyi_chunk *chunk, spyi_text *error);
    void (*free_chunk)(spyi_gpu *gpu, spyi_chunk *chunk);

    // Kernels. destroy_kernel: as free_chunk.
    spy_status (*create_kernel)(spyi_gpu *gpu, const spyi_kernel_desc *desc, spyi_kernel **kernel,
                                spyi_text *error);
    void (*destroy_kernel)(spyi_gpu *gpu, spyi_kernel *kernel);

    // Work, executed in the order of these calls as far as `barrier` asks for it. The barrier of an indirect dispatch also
    // covers the reading of its group counts, which other barriers need not. Each is part of the open batch, whose
    // number is open_submit(); work with number n has finished once finished_submit() >= n.
    spy_status (*dispatch)(spyi_gpu *gpu, const spyi_dispatch *dispatch, spyi_text *error);
    spy_status (*copy)(spyi_gpu *gpu, const spyi_chunk *to, uint64_t to_offset, const spyi_chunk *from,
                       uint64_t from_offset, uint64_t size, bool barrier, spyi_text *error);
    spy_status (*fill)(spyi_gpu *gpu, const spyi_chunk *to, uint64_t offset, uint64_t size, uint32_t pattern,
                       bool barrier, spyi_text *error);
    // Host to device in order of work; `data` may change after the return.
    spy_status (*upload)(spyi_gpu *gpu, const spyi_chunk *to, uint64_t offset, const void *data,
                         uint64_t size, bool barrier, spyi_text *error);
    // Device to host; waits for the work up to `after` (a submit number) and no more, submitting it if need be.
    spy_status (*download)(spyi_gpu *gpu, void *data, const spyi_chunk *from, uint64_t offset, uint64_t size,
                           uint64_t after, spyi_text *error);
    // GPU timestamps: begin before the work, end after it; elapsed waits and gives nanoseconds.
    spy_status (*time_begin)(spyi_gpu *gpu, spyi_text *error);
    spy_status (*time_end)(spyi_gpu *gpu, spyi_text *error);
    spy_status (*time_elapsed)(spyi_gpu *gpu, uint64_t *ns, spyi_text *error);

    uint64_t (*open_submit)(spyi_gpu *gpu);     // number of the batch that is being recorded, from 1
    uint64_t (*finished_submit)(spyi_gpu *gpu); // cheap; never waits
    spy_status (*submit)(spyi_gpu *gpu, spyi_text *error); // hand the open batch to the GPU, if it has work
    spy_status (*wait)(spyi_gpu *gpu, uint64_t submit, uint64_t timeout_ns,
                       spyi_text *error); // submits first if need be

    // Goes with the work in its order; does nothing where there are no debug tools. `name` is copied, NULL for a pop.
    spy_status (*label)(spyi_gpu *gpu, spyi_label kind, const char *name, spyi_text *error);
    // GPU times in memory, for devices with SPY_FEATURE_TIMESTAMPS: time_mark notes in a slot when all work recorded
    // before it is done; time_store writes the slots 0 ... count - 1, all of which have been noted, as uint64_t in
    // units of limits.info.timestamp_period_ns.
    spy_status (*time_mark)(spyi_gpu *gpu, uint32_t slot, spyi_text *error);
    spy_status (*time_store)(spyi_gpu *gpu, const spyi_chunk *to, uint64_t offset, uint32_t count, bool barrier,
                             spyi_text *error);
};

// >>what the device layer (data/) offers to backends, for bringing one's own objects
SPYI_FN spyi_gpu *spyi_device_gpu(spy_device *device, const char *backend_name,
                                  const char *function); // NULL + error: not that backend
// A tensor over memory that is not ours. Two imports of one handle share hazards. `chunk->memory` is NULL.
SPYI_FN spy_tensor *spyi_import_tensor(spy_device *device, const char *function, const spyi_chunk *chunk,
                                       uint64_t offset, uint64_t size, const spy_tensor_desc *desc);
// The chunk and byte offset of a tensor's first element; false + error for NULL or released ones.
SPYI_FN bool spyi_tensor_location(spy_tensor *tensor, const char *function, spyi_chunk *chunk,
                                  uint64_t *offset_bytes);
// All public functions call this first: takes the device\'s busy flag. Else an error has been reported on this thread:
// SPY_ERROR_INVALID_ARGUMENT (NULL, another object), SPY_ERROR_RELEASED or SPY_ERROR_BUSY.
SPYI_FN spy_status spyi_enter(const void *object, spyi_kind kind, const char *function);
SPYI_FN void spyi_leave(const void *object);

// >>backend/null/null.h -------------------------------------------------------------------------------------

// The null backend: a device without a GPU, for tests. It writes down all work in a list that a test reads,
// moves bytes for real in host memory, and lets a function of the test stand in for the kernels.
//
// Work is done when its submit finishes, not when it is recorded: a missing submit, wait or barrier shows as
// wrong data or in the report. The report lists each broken rule of backend.h in a line: ranges outside a
// chunk, misaligned offsets, transfers and bindings that overlap without a barrier, chunks freed or kernels
// destroyed while in use, leaks.
//
// Threads: as backend.h says; the spyi_null_* functions as the device layer's calls, from one thread at a
// time.

SPYI_FN const spy_backend *spyi_null_backend(void); // its name is "null"

// For spy_device_desc.backend_desc; NULL is all zero, and zero is the default.
typedef struct spyi_null_desc {
    spyi_target target;         // what kernels are compiled to; nothing looks at their code
    uint32_t max_block_bytes;   // 128
    uint32_t max_bindings;      // 16
    bool pointers_only;         // limits.max_bindings is 0
    bool bindings_only;         // chunks have no address
    uint32_t binding_alignment; // 64
    uint64_t max_binding_bytes; // 1 GiB
    uint32_t fill_alignment;    // 4
    bool prefers_bindings;
    uint64_t bindings_from_bytes; // never
    bool unified_memory;          // device memory is mapped; else only readback memory is
    uint32_t max_group_count;     // 65535, in each of the three dimensions
    uint32_t max_group_size;      // 1024
    uint32_t subgroup_size;       // 32
    uint32_t features;            // all SPY_FEATURE_*; without POINTERS when bindings_only
    uint64_t memory_bytes;        // 4 GiB; allocations beyond it fail
    double timestamp_period_ns;   // 1; the clock goes on 1000 ticks with each dispatch
    bool fail_create;             // the creation of the device fails
    bool hold_submits;            // see spyi_null_hold_submits()
    bool no_log;                  // work is forgotten once it is done
    spyi_text *report;            // the test's own text for broken rules, which outlives the device
} spyi_null_desc;

typedef enum spyi_null_op_kind {
    SPYI_NULL_DISPATCH,
    SPYI_NULL_COPY,
    SPYI_NULL_FILL,
    SPYI_NULL_UPLOAD,
    SPYI_NULL_LABEL
} spyi_null_op_kind;

// One piece of recorded work. Valid until spyi_null_clear_ops() or the end of the device.
typedef struct spyi_null_op {
    spyi_null_op_kind kind;
    bool barrier;
    bool done;
    uint64_t submit; // number of its batch
    // dispatch
    const char *label; // the kernel's; "" if it has none. Of labels: the name, "" for a pop
    uint32_t group_size;
    uint32_t groups[3]; // indirect ones have them from `from` once they are done
    bool block_by_address;
    uint32_t block_size;
    const void *block; // block_size bytes
    uint32_t binding_count;
    const spyi_binding *bindings;
    // copy: both; fill and upload: to; indirect dispatch: from
    uint64_t to, to_offset; // handle, bytes
    uint64_t from, from_offset;
    uint64_t size;    // bytes
    uint32_t pattern; // fill
    const void *data; // upload: size bytes
    // the backend's own
    unsigned char *to_memory;
    const unsigned char *from_memory;
    struct spyi_null_kernel *kernel;
} spyi_null_op;

SPYI_FN size_t spyi_null_op_count(spyi_gpu *gpu);
SPYI_FN const spyi_null_op *spyi_null_get_op(spyi_gpu *gpu, size_t index); // NULL beyond the last
SPYI_FN void spyi_null_clear_ops(spyi_gpu *gpu);                           // forgets what is done

// Stands in for the kernels: called for each dispatch when it is carried out. Addresses in its block are host
// addresses; memory of its bindings is found by spyi_null_memory().
typedef void (*spyi_null_func)(spyi_gpu *gpu, const spyi_null_op *op, void *user_data);
SPYI_FN void spyi_null_on_dispatch(spyi_gpu *gpu, spyi_null_func func, void *user_data);

// Host address of a byte of a chunk; NULL for an unknown handle or an offset beyond its end.
SPYI_FN void *spyi_null_memory(spyi_gpu *gpu, uint64_t handle, uint64_t offset);
// A chunk over the test's memory, for spyi_import_tensor(). The memory must outlive the device.
SPYI_FN spyi_chunk spyi_null_import(spyi_gpu *gpu, void *memory, size_t size);

// hold: submits finish only by spyi_null_finish(), or when something waits for them without end; a wait with
// a time limit gives SPY_ERROR_NOT_READY at once. Not hold (the default): a submit finishes at once, and so
// do held ones.
SPYI_FN void spyi_null_hold_submits(spyi_gpu *gpu, bool hold);
SPYI_FN void spyi_null_finish(spyi_gpu *gpu, uint64_t submit); // all submits up to this one

typedef enum spyi_null_step {
    SPYI_NULL_STEP_ALLOCATE, // allocate_chunk
    SPYI_NULL_STEP_KERNEL,   // create_kernel
    SPYI_NULL_STEP_RECORD,   // dispatch, copy, fill, upload, label, time_mark, time_store
    SPYI_NULL_STEP_SUBMIT,
    SPYI_NULL_STEP_COUNT
} spyi_null_step;

// The next such step but `skip` fails once with `status`. SPY_ERROR_DEVICE_LOST stays: open work is dropped,
// all further work fails, and everything counts as finished. SPY_OK takes the order back.
SPYI_FN void spyi_null_fail(spyi_gpu *gpu, spyi_null_step step, uint32_t skip, spy_status status);

SPYI_FN const char *spyi_null_report(spyi_gpu *gpu); // broken rules, one a line; "" when there are none

typedef struct spyi_null_counts {
    uint64_t chunks, chunk_bytes; // alive, imported ones left out
    uint64_t kernels;             // alive
} spyi_null_counts;
SPYI_FN spyi_null_counts spyi_null_get_counts(spyi_gpu *gpu);

// >>backend/null/null.c -------------------------------------------------------------------------------------

// The null backend's work: a list of operations in host memory, checked against backend.h and carried out in
// order.

// >>objects

typedef struct spyi_null_chunk {
    uint64_t handle;
    unsigned char *data; // 256-byte aligned
    size_t size;
    void *block; // what malloc() gave; NULL: imported
    struct spyi_null_chunk *next;
} spyi_null_chunk;

typedef struct spyi_null_kernel {
    char *label;
    uint32_t group_size, block_size, binding_count;
    bool block_by_address;
    spyi_atomic pending; // recorded dispatches that are not done
} spyi_null_kernel;

typedef struct spyi_null_gpu {
    spyi_gpu_base base;
    spyi_null_chunk *chunks;
    uint64_t last_handle;
    spyi_null_counts counts; // kernels: under lock
    uint64_t memory_bytes;

    // The list lies on the process allocator: tests that count desc.allocator's calls see the library's
    // alone.
    spyi_null_op **ops;
    size_t op_count, op_capacity;
    size_t done_count; // ops before this one are done
    bool no_log;

    uint64_t open, finished; // submit numbers
    bool open_has_work, hold, lost;
    uint64_t recorded_dispatches, time_first, time_last, time_submit;
    uint64_t marks[SPYI_TIME_SLOTS]; // ticks
    uint32_t label_depth;            // pushed and not popped
    int time_state; // 0: never begun, 1: begun, 2: ended

    spyi_null_func func;
    void *user_data;

    spyi_mutex lock; // the rest is also used by compile threads
    spyi_text own_report, *report;
    spy_status fail_status[SPYI_NULL_STEP_COUNT];
    uint32_t fail_skip[SPYI_NULL_STEP_COUNT];
} spyi_null_gpu;

static spyi_null_gpu *spyi_null_cast(spyi_gpu *gpu) {
    return (spyi_null_gpu *)(void *)gpu;
}

// A rule of backend.h is broken: into the report, and to the caller, or to the log where the caller takes no
// error.
SPYI_PRINTF(3, 4)
static spy_status spyi_null_broken(spyi_null_gpu *n, spyi_text *error, const char *format, ...) {
    spyi_text text = { NULL, 0, 0 };
    char line[512];
    va_list args;
    va_start(args, format);
    vsnprintf(line, sizeof line, format, args);
    va_end(args);
    spyi_text_add(&text, "null backend: %s\n", line);
    spyi_mutex_lock(&n->lock);
    spyi_text_add_n(n->report, text.data, text.size);
    spyi_mutex_unlock(&n->lock);
    spyi_text_free(&text);
    if (error) spyi_text_add(error, "%s", line);
    else spyi_logf(n->base.ctx, SPY_LOG_ERROR, "null backend: %s", line);
    return SPY_ERROR_INTERNAL;
}

// Whether the test has ordered this step to fail.
static spy_status spyi_null_step_status(spyi_null_gpu *n, spyi_null_step step, spyi_text *error) {
    spy_status status;
    spyi_mutex_lock(&n->lock);
    status = n->fail_status[step];
    if (status != SPY_OK && n->fail_skip[step] > 0) {
        n->fail_skip[step]--;
        status = SPY_OK;
    } else {
        n->fail_status[step] = SPY_OK;
    }
    spyi_mutex_unlock(&n->lock);
    if (status != SPY_OK)
        spyi_text_add(error, "the test asked for this failure: %s", spy_status_text(status));
    return status;
}

static uint32_t spyi_null_u32(uint32_t value, uint32_t if_zero) {
    return value ? value : if_zero;
}

static uint64_t spyi_null_u64(uint64_t value, uint64_t if_zero) {
    return value ? value : if_zero;
}

// >>carrying out

static void spyi_null_run(spyi_null_gpu *n, spyi_null_op *op) {
    uint64_t i;
    switch (op->kind) {
    case SPYI_NULL_DISPATCH:
        if (op->from) memcpy(op->groups, op->from_memory, sizeof op->groups);
        if (n->func) n->func((spyi_gpu *)(void *)n, op, n->user_data);
        spyi_atomic_add(&op->kernel->pending, -1);
        op->kernel = NULL; // may be destroyed from now on
        break;
    case SPYI_NULL_COPY: memmove(op->to_memory, op->from_memory, (size_t)op->size); break;
    case SPYI_NULL_FILL: // the pattern's first byte in memory stands at `to_offset`
        for (i = 0; i < op->size; i++) op->to_memory[i] = ((const unsigned char *)&op->pattern)[i % 4];
        break;
    case SPYI_NULL_UPLOAD: memcpy(op->to_memory, op->data, (size_t)op->size); break;
    case SPYI_NULL_LABEL: break;
    }
}

static void spyi_null_forget_done(spyi_null_gpu *n) {
    size_t i;
    for (i = 0; i < n->done_count; i++) free(n->ops[i]);
    n->op_count -= n->done_count;
    if (n->op_count) memmove(n->ops, n->ops + n->done_count, n->op_count * sizeof *n->ops);
    n->done_count = 0;
}

static void spyi_null_run_up_to(spyi_null_gpu *n, uint64_t submit) {
    if (submit >= n->open) submit = n->open - 1;
    if (submit <= n->finished) return;
    while (n->done_count < n->op_count && n->ops[n->done_count]->submit <= submit) {
        spyi_null_op *op = n->ops[n->done_count];
        spyi_null_run(n, op);
        op->done = true;
        n->done_count++;
    }
    n->finished = submit;
    if (n->no_log) spyi_null_forget_done(n);
}

// After the loss of a device nothing is carried out, and nothing is waited for.
static void spyi_null_lose(spyi_null_gpu *n) {
    n->lost = true;
    while (n->op_count > n->done_count) {
        spyi_null_op *op = n->ops[--n->op_count];
        if (op->kernel) spyi_atomic_add(&op->kernel->pending, -1);
        free(op);
    }
    n->open_has_work = false;
    n->finished = n->open;
}

static spy_status spyi_null_lost(spyi_text *error) {
    spyi_text_add(error, "the device is lost");
    return SPY_ERROR_DEVICE_LOST;
}

// >>memory

static spyi_null_chunk *spyi_null_find(spyi_null_gpu *n, uint64_t handle) {
    spyi_null_chunk *c = n->chunks;
    while (c && c->handle != handle) c = c->next;
    return c;
}

// Host address of a range; NULL, and the rule's text, when there is no such range.
static unsigned char *spyi_null_range(spyi_null_gpu *n, const char *what, uint64_t handle, uint64_t offset,
                                      uint64_t size, spyi_text *error) {
    spyi_null_chunk *c = spyi_null_find(n, handle);
    if (!c) {
        spyi_null_broken(n, error, "%s: no chunk has the handle %llu", what, (unsigned long long)handle);
        return NULL;
    }
    if (size == 0 || offset > c->size || size > c->size - offset) {
        spyi_null_broken(n, error, "%s: bytes %llu to %llu are not in the chunk of %llu", what,
                         (unsigned long long)offset, (unsigned long long)(offset + size),
                         (unsigned long long)c->size);
        return NULL;
    }
    return c->data + offset;
}

static spyi_null_chunk *spyi_null_add_chunk(spyi_null_gpu *n, void *block, unsigned char *data, size_t size) {
    spyi_null_chunk *c = (spyi_null_chunk *)calloc(1, sizeof *c);
    if (!c) return NULL;
    c->handle = ++n->last_handle;
    c->block = block;
    c->data = data;
    c->size = size;
    c->next = n->chunks;
    n->chunks = c;
    return c;
}

static spyi_chunk spyi_null_describe(spyi_null_gpu *n, const spyi_null_chunk *c, bool mapped) {
    spyi_chunk chunk;
    memset(&chunk, 0, sizeof chunk);
    chunk.handle = c->handle;
    chunk.address = n->base.limits.info.features & SPY_FEATURE_POINTERS ? (uint64_t)(uintptr_t)c->data : 0;
    chunk.mapped = mapped ? c->data : NULL;
    chunk.size = c->size;
    chunk.memory = c->block;
    return chunk;
}

static spy_status spyi_null_allocate_chunk(spyi_gpu *gpu, spyi_memory memory, size_t size, const char *label,
                                           spyi_chunk *chunk, spyi_text *error) {
    spyi_null_gpu *n = spyi_null_cast(gpu);
    spyi_null_chunk *c = NULL;
    unsigned char *block, *data;
    spy_status status = spyi_null_step_status(n, SPYI_NULL_STEP_ALLOCATE, error);
    (void)label;
    memset(chunk, 0, sizeof *chunk);
    if (status != SPY_OK) return status;
    if (size == 0) return spyi_null_broken(n, error, "allocate_chunk: the size is 0");
    if (size > n->memory_bytes - n->counts.chunk_bytes) {
        spyi_text_add(error, "%llu bytes do not fit into the device's %llu", (unsigned long long)size,
                      (unsigned long long)n->memory_bytes);
        return SPY_ERROR_OUT_OF_DEVICE_MEMORY;
    }
    block = (unsigned char *)malloc(size + 256);
    if (block) {
        data = block + (256 - (uintptr_t)block % 256);
        c = spyi_null_add_chunk(n, block, data, size);
    }
    if (!c) {
        free(block);
        spyi_text_add(error, "no host memory for a chunk of %llu bytes", (unsigned long long)size);
        return SPY_ERROR_OUT_OF_MEMORY;
    }
    memset(c->data, 0xcd, size); // what reads uninitialised memory shall see that it does
    n->counts.chunks++;
    n->counts.chunk_bytes += size;
    n->base.stats.driver_allocations++;
    *chunk = spyi_null_describe(n, c, memory == SPYI_MEMORY_READBACK || n->base.limits.unified_memory);
    return SPY_OK;
}

static bool spyi_null_op_uses(const spyi_null_op *op, uint64_t handle) {
    uint32_t i;
    if (op->to == handle || op->from == handle) return true;
    for (i = 0; i < op->binding_count; i++) {
        if (op->bindings[i].handle == handle) return true;
    }
    return false;
}

static void spyi_null_free_chunk(spyi_gpu *gpu, spyi_chunk *chunk) {
    spyi_null_gpu *n = spyi_null_cast(gpu);
    spyi_null_chunk **link = &n->chunks, *c;
    size_t i;
    while (*link && (*link)->handle != chunk->handle) link = &(*link)->next;
    c = *link;
    if (!c || !c->block) {
        spyi_null_broken(n, NULL, "free_chunk: the handle %llu is no chunk of allocate_chunk",
                         (unsigned long long)chunk->handle);
        return;
    }
    for (i = n->done_count; i < n->op_count; i++) {
        if (spyi_null_op_uses(n->ops[i], c->handle)) {
            spyi_null_broken(n, NULL, "free_chunk: submit %llu still uses the chunk",
                             (unsigned long long)n->ops[i]->submit);
            return; // kept, so that the work has somewhere to go
        }
    }
    *link = c->next;
    n->counts.chunks--;
    n->counts.chunk_bytes -= c->size;
    free(c->block);
    free(c);
    memset(chunk, 0, sizeof *chunk);
}

// >>kernels

static spy_status spyi_null_create_kernel(spyi_gpu *gpu, const spyi_kernel_desc *desc, spyi_kernel **kernel,
                                          spyi_text *error) {
    spyi_null_gpu *n = spyi_null_cast(gpu);
    const spyi_limits *limits = &n->base.limits;
    spyi_null_kernel *k;
    spy_status status = spyi_null_step_status(n, SPYI_NULL_STEP_KERNEL, error);
    *kernel = NULL;
    if (status != SPY_OK) return status;
    if (!desc->code || desc->code_size == 0 || !desc->entry)
        return spyi_null_broken(n, error, "create_kernel: there is no code or no entry");
    if (desc->group_size == 0 || desc->group_size > limits->info.max_group_size)
        return spyi_null_broken(n, error, "create_kernel: %u threads are not a group of 1 to %u",
                                desc->group_size, limits->info.max_group_size);
    if (desc->binding_count > limits->max_bindings)
        return spyi_null_broken(n, error, "create_kernel: %u bindings exceed the limit of %u",
                                desc->binding_count, limits->max_bindings);
    if (desc->block_size > limits->max_block_bytes && !desc->block_by_address)
        return spyi_null_broken(n, error, "create_kernel: a block of %u bytes exceeds the limit of %u",
                                desc->block_size, limits->max_block_bytes);
    if (desc->block_by_address && !(limits->info.features & SPY_FEATURE_POINTERS))
        return spyi_null_broken(n, error, "create_kernel: the device has no addresses for a block");
    k = (spyi_null_kernel *)calloc(1, sizeof *k);
    if (k) k->label = spyi_strdup(desc->label ? desc->label : "");
    if (!k || !k->label) {
        free(k);
        spyi_text_add(error, "no host memory for a kernel");
        return SPY_ERROR_OUT_OF_MEMORY;
    }
    k->group_size = desc->group_size;
    k->block_size = desc->block_size;
    k->block_by_address = desc->block_by_address;
    k->binding_count = desc->binding_count;
    spyi_mutex_lock(&n->lock);
    n->counts.kernels++;
    spyi_mutex_unlock(&n->lock);
    *kernel = (spyi_kernel *)(void *)k;
    return SPY_OK;
}

static void spyi_null_destroy_kernel(spyi_gpu *gpu, spyi_kernel *kernel) {
    spyi_null_gpu *n = spyi_null_cast(gpu);
    spyi_null_kernel *k = (spyi_null_kernel *)(void *)kernel;
    if (!k) return;
    if (spyi_atomic_load(&k->pending) > 0) {
        spyi_null_broken(n, NULL, "destroy_kernel: work with the kernel \"%s\" is not done", k->label);
        return;
    }
    spyi_mutex_lock(&n->lock);
    n->counts.kernels--;
    spyi_mutex_unlock(&n->lock);
    free(k->label);
    free(k);
}

// >>order

static bool spyi_null_overlap(uint64_t a, uint64_t a_offset, uint64_t a_size, uint64_t b, uint64_t b_offset,
                              uint64_t b_size) {
    return a && a == b && a_offset < b_offset + b_size && b_offset < a_offset + a_size;
}

// Whether `op` is known to touch the range. Handles are never 0, and 0 stands in a transfer's unused side.
static bool spyi_null_touches(const spyi_null_op *op, uint64_t handle, uint64_t offset, uint64_t size) {
    uint32_t i;
    if (spyi_null_overlap(op->to, op->to_offset, op->size, handle, offset, size)) return true;
    if (spyi_null_overlap(op->from, op->from_offset, op->size, handle, offset, size)) return true;
    for (i = 0; i < op->binding_count; i++) {
        const spyi_binding *b = &op->bindings[i];
        if (spyi_null_overlap(b->handle, b->offset, b->range, handle, offset, size)) return true;
    }
    return false;
}

// Two pieces of work need an order when a transfer of one writes what the other touches. (What a kernel
// writes is not known here: two dispatches, or a dispatch and a copy from what it has bound, may be right
// without a barrier.)
static bool spyi_null_need_order(const spyi_null_op *a, const spyi_null_op *b) {
    return (a->to && spyi_null_touches(b, a->to, a->to_offset, a->size)) ||
           (b->to && spyi_null_touches(a, b->to, b->to_offset, b->size));
}

static const char *spyi_null_kind_name(spyi_null_op_kind kind) {
    switch (kind) {
    case SPYI_NULL_DISPATCH: return "dispatch";
    case SPYI_NULL_COPY: return "copy";
    case SPYI_NULL_FILL: return "fill";
    case SPYI_NULL_LABEL: return "label";
    default: return "upload";
    }
}

// A barrier before a piece of work orders all earlier work before it and before all later work, but not
// itself before what follows.
static spy_status spyi_null_check_order(spyi_null_gpu *n, const spyi_null_op *op, spyi_text *error) {
    size_t i;
    if (op->barrier) return SPY_OK;
    for (i = n->op_count; i > n->done_count; i--) {
        const spyi_null_op *earlier = n->ops[i - 1];
        if (spyi_null_need_order(earlier, op))
            return spyi_null_broken(n, error, "%s: no barrier after the %s of submit %llu that it overlaps",
                                    spyi_null_kind_name(op->kind), spyi_null_kind_name(earlier->kind),
                                    (unsigned long long)earlier->submit);
        if (earlier->barrier) break;
    }
    return SPY_OK;
}

// >>recording

// An operation with `size` bytes of its own behind it, at *bytes.
static spyi_null_op *spyi_null_new_op(spyi_null_gpu *n, spyi_null_op_kind kind, bool barrier, uint64_t size,
                                      unsigned char **bytes, spyi_text *error) {
    const size_t head = spyi_align(sizeof(spyi_null_op), 16);
    spyi_null_op *op = NULL;
    if (n->op_count == n->op_capacity) {
        size_t capacity = n->op_capacity ? n->op_capacity * 2 : 64;
        spyi_null_op **ops = (spyi_null_op **)realloc(n->ops, capacity * sizeof *ops);
        if (ops) {
            n->ops = ops;
            n->op_capacity = capacity;
        }
    }
    if (n->op_count < n->op_capacity) op = (spyi_null_op *)malloc(head + (size_t)size);
    if (!op) {
        spyi_text_add(error, "no host memory to record a %s", spyi_null_kind_name(kind));
        return NULL;
    }
    memset(op, 0, sizeof *op);
    op->kind = kind;
    op->barrier = barrier;
    op->submit = n->open;
    *bytes = (unsigned char *)op + head;
    return op;
}

// Checks the order and adds the operation to the list, or frees it.
static spy_status spyi_null_add_op(spyi_null_gpu *n, spyi_null_op *op, spyi_text *error) {
    spy_status status = spyi_null_check_order(n, op, error);
    if (status != SPY_OK) {
        free(op);
        return status;
    }
    n->ops[n->op_count++] = op;
    n->open_has_work = true;
    if (op->barrier) n->base.stats.barriers++;
    return SPY_OK;
}

static spy_status spyi_null_begin(spyi_null_gpu *n, spyi_text *error) {
    spy_status status = n->lost ? spyi_null_lost(error) : spyi_null_step_status(n, SPYI_NULL_STEP_RECORD, error);
    if (status == SPY_ERROR_DEVICE_LOST && !n->lost) spyi_null_lose(n);
    return status;
}

static spy_status spyi_null_check_dispatch(spyi_null_gpu *n, const spyi_dispatch *d, spyi_text *error) {
    const spyi_limits *limits = &n->base.limits;
    const spyi_null_kernel *k = (const spyi_null_kernel *)(const void *)d->kernel;
    uint32_t i;
    if (!k) return spyi_null_broken(n, error, "dispatch: the kernel is NULL");
    if (d->indirect) {
        if (d->indirect_offset % 4 != 0)
            return spyi_null_broken(n, error, "dispatch of \"%s\": group counts at %llu are misaligned",
                                    k->label, (unsigned long long)d->indirect_offset);
        if (!spyi_null_range(n, "dispatch: group counts", d->indirect, d->indirect_offset, sizeof d->groups,
                             error))
            return SPY_ERROR_INTERNAL;
    }
    for (i = 0; i < 3 && !d->indirect; i++) {
        if (d->groups[i] == 0 || d->groups[i] > limits->info.max_group_count)
            return spyi_null_broken(n, error, "dispatch of \"%s\": %u groups in dimension %u are not 1 to %u",
                                    k->label, d->groups[i], i, limits->info.max_group_count);
    }
    if ((k->block_size && !d->block) || (k->binding_count && !d->bindings))
        return spyi_null_broken(n, error, "dispatch of \"%s\": its block or its bindings are NULL", k->label);
    for (i = 0; i < k->binding_count; i++) {
        const spyi_binding *b = &d->bindings[i];
        if (b->offset % limits->binding_alignment != 0 || b->range > limits->max_binding_bytes)
            return spyi_null_broken(
                n, error,
                "dispatch of \"%s\": binding %u: offset %llu is misaligned, or range %llu too large",
                k->label, i, (unsigned long long)b->offset, (unsigned long long)b->range);
        if (!spyi_null_range(n, "dispatch: binding", b->handle, b->offset, b->range, error))
            return SPY_ERROR_INTERNAL;
    }
    return SPY_OK;
}

static spy_status spyi_null_dispatch(spyi_gpu *gpu, const spyi_dispatch *d, spyi_text *error) {
    spyi_null_gpu *n = spyi_null_cast(gpu);
    spyi_null_kernel *k = (spyi_null_kernel *)(void *)d->kernel;
    spyi_null_op *op;
    unsigned char *bytes;
    size_t block_size, binding_size, label_size;
    spy_status status = spyi_null_begin(n, error);
    if (status == SPY_OK) status = spyi_null_check_dispatch(n, d, error);
    if (status != SPY_OK) return status;
    block_size = spyi_align(k->block_size, 16); // so that the bindings behind it are aligned
    binding_size = k->binding_count * sizeof(spyi_binding);
    label_size = strlen(k->label) + 1;
    op = spyi_null_new_op(n, SPYI_NULL_DISPATCH, d->barrier, block_size + binding_size + label_size, &bytes,
                          error);
    if (!op) return SPY_ERROR_OUT_OF_MEMORY;
    op->kernel = k;
    op->group_size = k->group_size;
    if (d->indirect) {
        op->from = d->indirect;
        op->from_offset = d->indirect_offset;
        op->from_memory = spyi_null_range(n, "dispatch", op->from, op->from_offset, sizeof op->groups, error);
        op->size = sizeof op->groups;
    } else {
        memcpy(op->groups, d->groups, sizeof op->groups);
    }
    op->block_by_address = k->block_by_address;
    op->block_size = k->block_size;
    op->block = bytes;
    if (k->block_size) memcpy(bytes, d->block, k->block_size);
    bytes += block_size;
    op->binding_count = k->binding_count;
    op->bindings = (const spyi_binding *)(void *)bytes;
    if (binding_size) memcpy(bytes, d->bindings, binding_size);
    bytes += binding_size;
    op->label = (const char *)bytes;
    memcpy(bytes, k->label, label_size);
    status = spyi_null_add_op(n, op, error);
    if (status != SPY_OK) return status;
    spyi_atomic_add(&k->pending, 1);
    n->recorded_dispatches++;
    n->base.stats.dispatches++;
    return SPY_OK;
}

static spy_status spyi_null_copy(spyi_gpu *gpu, const spyi_chunk *to, uint64_t to_offset,
                                 const spyi_chunk *from, uint64_t from_offset, uint64_t size, bool barrier,
                                 spyi_text *error) {
    spyi_null_gpu *n = spyi_null_cast(gpu);
    spyi_null_op *op;
    unsigned char *to_memory, *from_memory, *bytes;
    spy_status status = spyi_null_begin(n, error);
    if (status != SPY_OK) return status;
    to_memory = spyi_null_range(n, "copy: to", to->handle, to_offset, size, error);
    if (!to_memory) return SPY_ERROR_INTERNAL;
    from_memory = spyi_null_range(n, "copy: from", from->handle, from_offset, size, error);
    if (!from_memory) return SPY_ERROR_INTERNAL;
    if (spyi_null_overlap(to->handle, to_offset, size, from->handle, from_offset, size))
        return spyi_null_broken(n, error, "copy: the two ranges overlap");
    op = spyi_null_new_op(n, SPYI_NULL_COPY, barrier, 0, &bytes, error);
    if (!op) return SPY_ERROR_OUT_OF_MEMORY;
    op->to = to->handle;
    op->to_offset = to_offset;
    op->to_memory = to_memory;
    op->from = from->handle;
    op->from_offset = from_offset;
    op->from_memory = from_memory;
    op->size = size;
    return spyi_null_add_op(n, op, error);
}

static spy_status spyi_null_fill(spyi_gpu *gpu, const spyi_chunk *to, uint64_t offset, uint64_t size,
                                 uint32_t pattern, bool barrier, spyi_text *error) {
    spyi_null_gpu *n = spyi_null_cast(gpu);
    const uint32_t alignment = n->base.limits.fill_alignment;
    spyi_null_op *op;
    unsigned char *memory, *bytes;
    spy_status status = spyi_null_begin(n, error);
    if (status != SPY_OK) return status;
    if (offset % alignment != 0 || size % alignment != 0)
        return spyi_null_broken(n, error, "fill: offset %llu and size %llu must be multiples of %u",
                                (unsigned long long)offset, (unsigned long long)size, alignment);
    memory = spyi_null_range(n, "fill", to->handle, offset, size, error);
    if (!memory) return SPY_ERROR_INTERNAL;
    op = spyi_null_new_op(n, SPYI_NULL_FILL, barrier, 0, &bytes, error);
    if (!op) return SPY_ERROR_OUT_OF_MEMORY;
    op->to = to->handle;
    op->to_offset = offset;
    op->to_memory = memory;
    op->size = size;
    op->pattern = pattern;
    return spyi_null_add_op(n, op, error);
}

static spy_status spyi_null_upload(spyi_gpu *gpu, const spyi_chunk *to, uint64_t offset, const void *data,
                                   uint64_t size, bool barrier, spyi_text *error) {
    spyi_null_gpu *n = spyi_null_cast(gpu);
    spyi_null_op *op;
    unsigned char *memory, *bytes;
    spy_status status = spyi_null_begin(n, error);
    if (status != SPY_OK) return status;
    memory = spyi_null_range(n, "upload", to->handle, offset, size, error);
    if (!memory) return SPY_ERROR_INTERNAL;
    op = spyi_null_new_op(n, SPYI_NULL_UPLOAD, barrier, size, &bytes, error);
    if (!op) return SPY_ERROR_OUT_OF_MEMORY;
    memcpy(bytes, data, (size_t)size); // it may change after the return
    op->data = bytes;
    op->to = to->handle;
    op->to_offset = offset;
    op->to_memory = memory;
    op->size = size;
    return spyi_null_add_op(n, op, error);
}

// >>submits

static uint64_t spyi_null_open_submit(spyi_gpu *gpu) {
    return spyi_null_cast(gpu)->open;
}

static uint64_t spyi_null_finished_submit(spyi_gpu *gpu) {
    return spyi_null_cast(gpu)->finished;
}

static spy_status spyi_null_submit(spyi_gpu *gpu, spyi_text *error) {
    spyi_null_gpu *n = spyi_null_cast(gpu);
    spy_status status;
    if (n->lost) return spyi_null_lost(error);
    if (!n->open_has_work) return SPY_OK;
    status = spyi_null_step_status(n, SPYI_NULL_STEP_SUBMIT, error);
    if (status == SPY_ERROR_DEVICE_LOST) spyi_null_lose(n);
    if (status != SPY_OK) return status;
    n->open++;
    n->open_has_work = false;
    n->base.stats.submits++;
    if (!n->hold) spyi_null_run_up_to(n, n->open - 1);
    return SPY_OK;
}

static spy_status spyi_null_wait(spyi_gpu *gpu, uint64_t submit, uint64_t timeout_ns, spyi_text *error) {
    spyi_null_gpu *n = spyi_null_cast(gpu);
    if (n->lost) return spyi_null_lost(error);
    if (submit >= n->open) {
        spy_status status = spyi_null_submit(gpu, error);
        if (status != SPY_OK) return status;
        submit = n->open - 1;
    }
    if (submit <= n->finished) return SPY_OK;
    if (timeout_ns != UINT64_MAX) {
        spyi_text_add(error, "submit %llu has not finished", (unsigned long long)submit);
        return SPY_ERROR_NOT_READY;
    }
    spyi_null_run_up_to(n, submit);
    return SPY_OK;
}

static spy_status spyi_null_download(spyi_gpu *gpu, void *data, const spyi_chunk *from, uint64_t offset,
                                     uint64_t size, uint64_t after, spyi_text *error) {
    spyi_null_gpu *n = spyi_null_cast(gpu);
    const unsigned char *memory;
    size_t i;
    spy_status status = n->lost ? spyi_null_lost(error) : spyi_null_wait(gpu, after, UINT64_MAX, error);
    if (status != SPY_OK) return status;
    memory = spyi_null_range(n, "download", from->handle, offset, size, error);
    if (!memory) return SPY_ERROR_INTERNAL;
    for (i = n->done_count; i < n->op_count; i++) {
        const spyi_null_op *op = n->ops[i];
        if (spyi_null_overlap(op->to, op->to_offset, op->size, from->handle, offset, size))
            return spyi_null_broken(
                n, error, "download after submit %llu: the %s of submit %llu still writes there",
                (unsigned long long)after, spyi_null_kind_name(op->kind), (unsigned long long)op->submit);
    }
    memcpy(data, memory, (size_t)size);
    return SPY_OK;
}

// >>timers: a dispatch takes 1000 ns

static spy_status spyi_null_time_begin(spyi_gpu *gpu, spyi_text *error) {
    spyi_null_gpu *n = spyi_null_cast(gpu);
    if (n->lost) return spyi_null_lost(error);
    if (n->time_state == 1) return spyi_null_broken(n, error, "time_begin: the last one has not ended");
    n->time_state = 1;
    n->time_first = n->recorded_dispatches;
    n->open_has_work = true;
    return SPY_OK;
}

static spy_status spyi_null_time_end(spyi_gpu *gpu, spyi_text *error) {
    spyi_null_gpu *n = spyi_null_cast(gpu);
    if (n->lost) return spyi_null_lost(error);
    if (n->time_state != 1) return spyi_null_broken(n, error, "time_end: there was no time_begin");
    n->time_state = 2;
    n->time_last = n->recorded_dispatches;
    n->time_submit = n->open;
    n->open_has_work = true;
    return SPY_OK;
}

static spy_status spyi_null_time_elapsed(spyi_gpu *gpu, uint64_t *ns, spyi_text *error) {
    spyi_null_gpu *n = spyi_null_cast(gpu);
    spy_status status;
    if (n->time_state != 2) return spyi_null_broken(n, error, "time_elapsed: there was no time_end");
    status = spyi_null_wait(gpu, n->time_submit, UINT64_MAX, error);
    if (status == SPY_OK) *ns = (n->time_last - n->time_first) * 1000u;
    return status;
}

// The clock stands at 1000 ticks for each dispatch recorded so far.
static spy_status spyi_null_time_mark(spyi_gpu *gpu, uint32_t slot, spyi_text *error) {
    spyi_null_gpu *n = spyi_null_cast(gpu);
    spy_status status = spyi_null_begin(n, error);
    if (status != SPY_OK) return status;
    if (slot >= SPYI_TIME_SLOTS)
        return spyi_null_broken(n, error, "time_mark: slot %u is not below %u", slot, SPYI_TIME_SLOTS);
    n->marks[slot] = n->recorded_dispatches * 1000u;
    n->open_has_work = true;
    return SPY_OK;
}

static spy_status spyi_null_time_store(spyi_gpu *gpu, const spyi_chunk *to, uint64_t offset, uint32_t count,
                                       bool barrier, spyi_text *error) {
    spyi_null_gpu *n = spyi_null_cast(gpu);
    if (count == 0 || count > SPYI_TIME_SLOTS || offset % sizeof *n->marks)
        return spyi_null_broken(n, error, "time_store: %u slots to byte %llu", count,
                                (unsigned long long)offset);
    return spyi_null_upload(gpu, to, offset, n->marks, count * sizeof *n->marks, barrier, error);
}

// >>labels

static spy_status spyi_null_label(spyi_gpu *gpu, spyi_label kind, const char *name, spyi_text *error) {
    spyi_null_gpu *n = spyi_null_cast(gpu);
    spyi_null_op *op;
    unsigned char *bytes;
    size_t size;
    spy_status status = spyi_null_begin(n, error);
    if (status != SPY_OK) return status;
    if (kind == SPYI_LABEL_POP && n->label_depth == 0)
        return spyi_null_broken(n, error, "label: a pop without a push");
    if (kind != SPYI_LABEL_POP && !name) return spyi_null_broken(n, error, "label: the name is NULL");
    size = kind == SPYI_LABEL_POP ? 1 : strlen(name) + 1;
    op = spyi_null_new_op(n, SPYI_NULL_LABEL, false, size, &bytes, error);
    if (!op) return SPY_ERROR_OUT_OF_MEMORY;
    memcpy(bytes, kind == SPYI_LABEL_POP ? "" : name, size);
    op->label = (const char *)bytes;
    if (kind == SPYI_LABEL_PUSH) n->label_depth++;
    if (kind == SPYI_LABEL_POP) n->label_depth--;
    return spyi_null_add_op(n, op, error);
}

// >>device

static void spyi_null_limits(spyi_limits *limits, const spyi_null_desc *d) {
    const uint32_t all_features = SPY_FEATURE_FLOAT16 | SPY_FEATURE_FLOAT64 | SPY_FEATURE_INT8 |
                                  SPY_FEATURE_INT16 | SPY_FEATURE_INT64 | SPY_FEATURE_ATOMIC_FLOAT32_ADD |
                                  SPY_FEATURE_TIMESTAMPS | SPY_FEATURE_SUBGROUPS | SPY_FEATURE_POINTERS;
    spy_device_info *info = &limits->info;
    memset(limits, 0, sizeof *limits);
    limits->target = d->target;
    limits->max_block_bytes = spyi_null_u32(d->max_block_bytes, 128);
    limits->max_bindings = d->pointers_only ? 0 : spyi_null_u32(d->max_bindings, 16);
    limits->binding_alignment = spyi_null_u32(d->binding_alignment, 64);
    limits->max_binding_bytes = spyi_null_u64(d->max_binding_bytes, (uint64_t)1 << 30);
    limits->fill_alignment = spyi_null_u32(d->fill_alignment, 4);
    limits->prefers_bindings = d->prefers_bindings;
    limits->bindings_from_bytes = spyi_null_u64(d->bindings_from_bytes, UINT64_MAX);
    limits->unified_memory = d->unified_memory;
    info->backend = "null";
    memcpy(info->name, "null device", sizeof "null device");
    memcpy(info->driver, "none", sizeof "none");
    info->type = SPY_ADAPTER_CPU;
    info->features = spyi_null_u32(d->features, all_features);
    if (d->bindings_only) info->features &= ~SPY_FEATURE_POINTERS;
    info->subgroup_size = spyi_null_u32(d->subgroup_size, 32);
    info->max_group_size = spyi_null_u32(d->max_group_size, 1024);
    info->max_group_count = spyi_null_u32(d->max_group_count, 65535);
    info->max_inline_block_bytes = limits->max_block_bytes;
    info->memory_bytes = spyi_null_u64(d->memory_bytes, (uint64_t)4 << 30);
    info->max_binding_bytes = limits->max_binding_bytes;
    info->timestamp_period_ns = d->timestamp_period_ns > 0 ? d->timestamp_period_ns : 1;
    if (!(info->features & SPY_FEATURE_TIMESTAMPS)) info->timestamp_period_ns = 0;
}

static size_t spyi_null_enumerate(spy_device_info *infos, size_t capacity, spyi_text *error) {
    spyi_null_desc d;
    spyi_limits limits;
    (void)error;
    memset(&d, 0, sizeof d);
    spyi_null_limits(&limits, &d);
    if (infos && capacity > 0) infos[0] = limits.info;
    return 1;
}

static spy_status spyi_null_create(spyi_context *ctx, const spy_device_desc *desc, spyi_gpu **gpu,
                                   spyi_text *error) {
    spyi_null_desc d;
    spyi_null_gpu *n;
    memset(&d, 0, sizeof d);
    if (desc->backend_desc) d = *(const spyi_null_desc *)desc->backend_desc;
    *gpu = NULL;
    if (d.fail_create) {
        spyi_text_add(error, "the test asked for this failure: %s", spy_status_text(SPY_ERROR_NO_DEVICE));
        return SPY_ERROR_NO_DEVICE;
    }
    n = (spyi_null_gpu *)spyi_allocate(ctx, sizeof *n);
    if (!n) {
        spyi_text_add(error, "no host memory for the device");
        return SPY_ERROR_OUT_OF_MEMORY;
    }
    n->base.backend = spyi_null_backend();
    n->base.ctx = ctx;
    spyi_null_limits(&n->base.limits, &d);
    n->memory_bytes = n->base.limits.info.memory_bytes;
    n->last_handle = 1000; // small numbers would pass for an index or an offset
    n->open = 1;
    n->hold = d.hold_submits;
    n->no_log = d.no_log;
    n->report = d.report ? d.report : &n->own_report;
    spyi_mutex_init(&n->lock);
    *gpu = (spyi_gpu *)(void *)n;
    return SPY_OK;
}

static void spyi_null_destroy(spyi_gpu *gpu) {
    spyi_null_gpu *n = spyi_null_cast(gpu);
    spyi_text error = { NULL, 0, 0 };
    size_t i;
    if (!n) return;
    if (!n->lost) spyi_null_wait(gpu, n->open, UINT64_MAX, &error);
    if (!n->lost && n->open_has_work) spyi_null_lose(n); // a submit that was told to fail
    if (n->counts.chunks > 0)
        spyi_null_broken(n, NULL, "destroy: %llu chunks were not freed",
                         (unsigned long long)n->counts.chunks);
    if (n->counts.kernels > 0)
        spyi_null_broken(n, NULL, "destroy: %llu kernels were not destroyed",
                         (unsigned long long)n->counts.kernels);
    while (n->chunks) {
        spyi_null_chunk *c = n->chunks;
        n->chunks = c->next;
        free(c->block);
        free(c);
    }
    for (i = 0; i < n->op_count; i++) free(n->ops[i]);
    free(n->ops);
    spyi_text_free(&error);
    spyi_text_free(&n->own_report);
    spyi_mutex_destroy(&n->lock);
    spyi_free(n->base.ctx, n, sizeof *n);
}

static const struct spyi_backend spyi_null_table = { "null",
                                                     spyi_null_enumerate,
                                                     spyi_null_create,
                                                     spyi_null_destroy,
                                                     spyi_null_allocate_chunk,
                                                     spyi_null_free_chunk,
                                                     spyi_null_create_kernel,
                                                     spyi_null_destroy_kernel,
                                                     spyi_null_dispatch,
                                                     spyi_null_copy,
                                                     spyi_null_fill,
                                                     spyi_null_upload,
                                                     spyi_null_download,
                                                     spyi_null_time_begin,
                                                     spyi_null_time_end,
                                                     spyi_null_time_elapsed,
                                                     spyi_null_open_submit,
                                                     spyi_null_finished_submit,
                                                     spyi_null_submit,
                                                     spyi_null_wait,
                                                     spyi_null_label,
                                                     spyi_null_time_mark,
                                                     spyi_null_time_store };

const spy_backend *spyi_null_backend(void) {
    return &spyi_null_table;
}

// >>what a test asks and sets

size_t spyi_null_op_count(spyi_gpu *gpu) {
    return spyi_null_cast(gpu)->op_count;
}

const spyi_null_op *spyi_null_get_op(spyi_gpu *gpu, size_t index) {
    spyi_null_gpu *n = spyi_null_cast(gpu);
    return index < n->op_count ? n->ops[index] : NULL;
}

void spyi_null_clear_ops(spyi_gpu *gpu) {
    spyi_null_forget_done(spyi_null_cast(gpu));
}

void spyi_null_on_dispatch(spyi_gpu *gpu, spyi_null_func func, void *user_data) {
    spyi_null_gpu *n = spyi_null_cast(gpu);
    n->func = func;
    n->user_data = user_data;
}

void *spyi_null_memory(spyi_gpu *gpu, uint64_t handle, uint64_t offset) {
    spyi_null_chunk *c = spyi_null_find(spyi_null_cast(gpu), handle);
    return c && offset < c->size ? c->data + offset : NULL;
}

spyi_chunk spyi_null_import(spyi_gpu *gpu, void *memory, size_t size) {
    spyi_null_gpu *n = spyi_null_cast(gpu);
    spyi_null_chunk *c = spyi_null_add_chunk(n, NULL, (unsigned char *)memory, size);
    spyi_chunk none;
    memset(&none, 0, sizeof none);
    return c ? spyi_null_describe(n, c, false) : none;
}

void spyi_null_hold_submits(spyi_gpu *gpu, bool hold) {
    spyi_null_gpu *n = spyi_null_cast(gpu);
    n->hold = hold;
    if (!hold) spyi_null_run_up_to(n, n->open - 1);
}

void spyi_null_finish(spyi_gpu *gpu, uint64_t submit) {
    spyi_null_run_up_to(spyi_null_cast(gpu), submit);
}

void spyi_null_fail(spyi_gpu *gpu, spyi_null_step step, uint32_t skip, spy_status status) {
    spyi_null_gpu *n = spyi_null_cast(gpu);
    spyi_mutex_lock(&n->lock);
    n->fail_status[step] = status;
    n->fail_skip[step] = skip;
    spyi_mutex_unlock(&n->lock);
}

const char *spyi_null_report(spyi_gpu *gpu) {
    return spyi_text_str(spyi_null_cast(gpu)->report);
}

spyi_null_counts spyi_null_get_counts(spyi_gpu *gpu) {
    spyi_null_gpu *n = spyi_null_cast(gpu);
    spyi_null_counts counts;
    spyi_mutex_lock(&n->lock);
    counts = n->counts;
    spyi_mutex_unlock(&n->lock);
    return counts;
}

// >>compiler/type.h -----------------------------------------------------------------------------------------

// Our type model: what a Slang type is to us, independent of any compiler session. Types are interned in the device's
// table: equal types are equal pointers, and live as long as the device.

typedef enum spyi_type_kind {
    SPYI_TYPE_VOID,
    SPYI_TYPE_SCALAR,
    SPYI_TYPE_VECTOR, // scalar x columns
    SPYI_TYPE_MATRIX, // scalar x rows x columns, row-major
    SPYI_TYPE_ARRAY,  // element x count
    SPYI_TYPE_STRUCT, // fields
    SPYI_TYPE_OTHER // anything that cannot lie in memory as plain data: interfaces, resources, open generics
} spyi_type_kind;

typedef struct spyi_type spyi_type;

typedef struct spyi_field {
    const char *name;
    const spyi_type *type;
    size_t host_offset;   // C's layout
    size_t device_offset; // reflected for the target
} spyi_field;

struct spyi_type {
    spyi_type_kind kind;
    uint32_t id; // unique in the table, from 1
    const char *
        name; // as Slang accepts it: "float", "vector<float,3>", "matrix<float,4,4>", "Array<float,3>", "ns.Foo<3>"
    const char *display;      // as people write it: "float3", "float4x4", "float[3]", "Foo<3>"
    spy_dtype scalar;         // of scalars, vectors and matrices
    uint32_t rows;            // matrix: rows; else 1
    uint32_t columns;         // vector: components; matrix: columns; else 1
    const spyi_type *element; // array: element; matrix: its row vector; vector: its scalar
    int64_t count;            // array: elements
    const spyi_field *fields;
    uint32_t field_count;
    size_t host_size, host_align; // C's layout, bool 1 byte
    size_t device_size,
        device_align; // scalar layout of the target; neighbours in an array are align(size, align) apart
    bool same_layout; // host and device bytes agree
};

typedef struct spyi_types spyi_types;
SPYI_FN spyi_types *spyi_types_create(spyi_target target);
SPYI_FN void spyi_types_destroy(spyi_types *types);

// Threads: any (one lock inside). Never NULL for valid arguments.
SPYI_FN const spyi_type *spyi_type_void(spyi_types *types);
SPYI_FN const spyi_type *spyi_type_scalar(spyi_types *types, spy_dtype scalar);
SPYI_FN const spyi_type *spyi_type_vector(spyi_types *types, spy_dtype scalar, uint32_t columns);
SPYI_FN const spyi_type *spyi_type_matrix(spyi_types *types, spy_dtype scalar, uint32_t rows,
                                          uint32_t columns);
SPYI_FN const spyi_type *spyi_type_array(spyi_types *types, const spyi_type *element, int64_t count);
// Fields' names, types and device offsets are given; host offsets are computed. A struct of the same name and the same
// fields is the same type; one of the same name and other fields is another type.
SPYI_FN const spyi_type *spyi_type_struct(spyi_types *types, const char *name, const spyi_field *fields,
                                          uint32_t count, size_t device_size, size_t device_align);
// An enum: a scalar with a name of its own, stored as `scalar`. Slang converts it to int by itself, from int by Name(x).
SPYI_FN const spyi_type *spyi_type_enum(spyi_types *types, const char *name, spy_dtype scalar);
SPYI_FN const spyi_type *spyi_type_other(spyi_types *types, const char *name);
// A struct that cannot lie in memory, because of a pointer or resource in it: of kind OTHER, but with fields to be given.
SPYI_FN const spyi_type *spyi_type_opaque(spyi_types *types, const char *name, const spyi_field *fields,
                                          uint32_t count);
// "float3", "half4x4", "uint8_t", "vector<float,3>", "float[3][2]" (C's order: 3 arrays of 2): built-in types without the
// compiler. NULL when the name is none of these.
SPYI_FN const spyi_type *spyi_type_parse(spyi_types *types, const char *name);

SPYI_FN size_t spyi_type_device_stride(const spyi_type *type); // distance of array neighbours on the device
SPYI_FN size_t spyi_type_host_stride(const spyi_type *type);
// Copy `count` elements between C's layout and the device's (bool widths, struct offsets). Neighbours are stride apart.
SPYI_FN void spyi_type_to_device(const spyi_type *type, void *device, const void *host, size_t count);
SPYI_FN void spyi_type_to_host(const spyi_type *type, void *host, const void *device, size_t count);

// Scalars of one dtype to another in host layout; false and nothing written when a value does not fit exactly as
// design.md says (float to float and int to float round; float to int must be whole; ints must be in range; bool: 0 is
// false). Source: design.md, "Values and types".
SPYI_FN bool spyi_convert_scalars(void *to, spy_dtype to_type, const void *from, spy_dtype from_type,
                                  size_t count);
SPYI_FN uint16_t spyi_float_to_half(double value); // round to nearest even
SPYI_FN double spyi_half_to_float(uint16_t half);

// >>compiler/compiler.h -------------------------------------------------------------------------------------

// Everything that speaks to libslang, behind names and our own types: nothing above this room sees a Slang pointer.
//
// One global session a process under the global lock; per device one spyi_compiler with its target; per user module one
// spyi_unit. Sessions are replaced by fresh ones before they grow: a unit keeps its modules in serialized
// form and is loaded again out of that, so units, types and signatures outlive sessions.
// Threads: any; all functions take the global lock for as long as they are inside libslang's front end.

typedef struct spyi_compiler spyi_compiler;
typedef struct spyi_unit spyi_unit;

// A module of ours, found by `import name;` wherever no file of that name is.
typedef struct spyi_embedded {
    const char *name;
    const char *const *lines; // NULL at the end
} spyi_embedded;

typedef struct spyi_compiler_desc {
    const char *library_path; // desc.slang_library
    const char *const *include_paths;
    size_t include_path_count;
    spyi_target target;
    const spyi_embedded *embedded; // kept, not copied
    size_t embedded_count;
    spy_file_hook files;
} spyi_compiler_desc;

// Cheap: the library is opened by the first spyi_unit_load. Strings are copied.
SPYI_FN spyi_compiler *spyi_compiler_create(spyi_context *ctx, spyi_types *types,
                                            const spyi_compiler_desc *desc);
SPYI_FN void spyi_compiler_destroy(spyi_compiler *compiler); // units first
SPYI_FN uint64_t
spyi_compiler_loads(const spyi_compiler *compiler); // times this compiler opened the library: 0 or 1

// >>units
typedef struct spyi_unit_desc {
    const char *path;        // file, or NULL
    const char *source;      // text, or NULL: read from path
    size_t source_size;      // 0: to the NUL
    const void *precompiled; // a .slang-module file's contents, or NULL
    size_t precompiled_size;
    const char *name; // module name to import; NULL: from path, else "module"
    const char *const *include_paths;
    size_t include_path_count;
    const spy_define *defines;
    size_t define_count;
    spyi_unit *const *link;
    size_t link_count;
    const char *const *conformances; // "Type : IInterface" or "Type : IInterface = id"
    size_t conformance_count;
    spy_compile_options options;
} spyi_unit_desc;

// Load and check a module. On failure SPY_ERROR_COMPILE and the compiler's text with file and line, SPY_ERROR_IO for a
// file that cannot be read, SPY_ERROR_NO_COMPILER with every place tried and the command that gets the library.
SPYI_FN spy_status spyi_unit_load(spyi_compiler *compiler, const spyi_unit_desc *desc, spyi_unit **unit,
                                  spyi_text *error);
SPYI_FN void spyi_unit_release(spyi_unit *unit);
SPYI_FN const char *spyi_unit_name(const spyi_unit *unit); // as generated code must import it
SPYI_FN uint32_t
spyi_unit_serial(const spyi_unit *unit); // tells a unit from one that was at its address before
// The unit made again, out of what its files hold now, with `link` instead of the units that it links. `source`: new
// text, kept only by units that came from text, or NULL. A failure changes nothing, but that the unit no longer counts as changed until its files change again.
SPYI_FN spy_status spyi_unit_reload(spyi_unit *unit, const char *source, spyi_unit *const *link,
                                    spyi_unit **fresh, spyi_text *error);
// Drops what a reload made (NULL: nothing), and has the unit count as unchanged until its files change again.
SPYI_FN void spyi_unit_give_up(spyi_unit *unit, spyi_unit *fresh);
// Whether a file that the unit was made of, or one that was looked for in vain, is another one now.
SPYI_FN bool spyi_unit_changed(const spyi_unit *unit);
// Whether the unit was made of `other`'s own file.
SPYI_FN bool spyi_unit_reads(const spyi_unit *unit, const spyi_unit *other);
// The module in serialized form, as the contents of a .slang-module file. false: the compiler cannot.
SPYI_FN bool spyi_unit_serialize(spyi_unit *unit, spyi_text *out);

SPYI_FN bool spyi_unit_imports_library(const spyi_unit *unit); // slangpy, itself or through what it imports

// >>types: built-in or the module's own; names are sanitised first. NULL: there is none.
SPYI_FN const spyi_type *spyi_unit_find_type(spyi_unit *unit, const char *name);

// >>functions
typedef struct spyi_param {
    const char *name;
    const spyi_type
        *type;    // concrete type; kind OTHER for interfaces, resources and types that depend on generics
    bool in, out; // inout: both
    bool no_diff;
    bool has_default;
} spyi_param;

// How a function is called.
typedef enum spyi_callee {
    SPYI_CALLEE_FUNCTION,   // name(...): also static methods
    SPYI_CALLEE_METHOD,     // params[0].name(...): the instance comes first, as parameter "this"
    SPYI_CALLEE_CONSTRUCTOR // Type(...)
} spyi_callee;

// One overload, or what resolution made of it. Owned by whoever got it: spyi_signature_free.
typedef struct spyi_signature {
    spyi_callee callee;
    char *spelling; // what stands before the "(" in Slang code, after the instance of a method
    char *display;  // "float saxpy(float a, float x, out float y)" for messages
    spyi_param *params;
    uint32_t param_count;
    const spyi_type *result; // VOID, concrete, or OTHER
    bool generic;            // parameters are still open
    bool differentiable;
} spyi_signature;

typedef struct spyi_overloads {
    spyi_signature *items;
    uint32_t count;
} spyi_overloads;

// All overloads of "f", "ns::f", "Type.method", "f<float,4>", and the constructors of a struct as "Type", "Type.__init" or
// "Type.$init". count 0 when there is none.
SPYI_FN spy_status spyi_unit_find_function(spyi_unit *unit, const char *name, spyi_overloads *out,
                                           spyi_text *error);
SPYI_FN void spyi_overloads_free(spyi_overloads *overloads);
SPYI_FN void spyi_signature_free(spyi_signature *signature);
// Up to three names of the module nearest to `name`, as ", did you mean 'a', 'b'?"; nothing when none is near.
SPYI_FN void spyi_unit_near_names(spyi_unit *unit, const char *name, spyi_text *out);

// The same for names from elsewhere: zero but for `wanted`, names offered one by one, then the text, which frees it.
enum { SPYI_NEAR_COUNT = 3 };
typedef struct spyi_near {
    const char *wanted;
    char *names[SPYI_NEAR_COUNT]; // nearest first
    unsigned distances[SPYI_NEAR_COUNT];
    uint32_t count;
} spyi_near;
SPYI_FN void spyi_near_offer(spyi_near *near_names, const char *name);
SPYI_FN void spyi_near_text(spyi_near *near_names, spyi_text *out);

// Does overload number `overload` of `name` accept lvalues of exactly these types? Fills `out` (to be freed) with the
// specialised signature: concrete parameter types and result. false: no. Lossy conversions are accepted here, as Slang
// accepts them; ranking is the caller's (bind/). overload -1: Slang chooses in the whole set; *chosen tells which.
SPYI_FN bool spyi_unit_resolve(spyi_unit *unit, const char *name, int overload, const spyi_type *const *types,
                               uint32_t count, spyi_signature *out, int *chosen);
// Why not: Slang's own candidate notes for a call with arguments of these types. Slow (3 ms), for error texts.
SPYI_FN void spyi_unit_explain(spyi_unit *unit, const char *name, const spyi_type *const *types,
                               uint32_t count, spyi_text *out);
// Whether `type` implements interface `interface_name`.
SPYI_FN bool spyi_unit_conforms(spyi_unit *unit, const spyi_type *type, const char *interface_name);

// >>declarations: the tree of api/reflect.h, in memory of its own; it outlives the unit
typedef struct spyi_declarations spyi_declarations;
// NULL: out of memory.
SPYI_FN spyi_declarations *spyi_unit_declare(spyi_unit *unit);
SPYI_FN void spyi_declarations_free(spyi_declarations *declarations);
SPYI_FN const spy_decl *spyi_declarations_root(const spyi_declarations *declarations);
// A type in the tree's memory; `unit` is the one that was declared. NULL: out of memory.
SPYI_FN const spy_type_info *spyi_declarations_type(spyi_declarations *declarations, spyi_unit *unit,
                                                    const spyi_type *type);

// >>entry points
// What the system gives to a parameter of a compute shader.
typedef enum spyi_system {
    SPYI_SYSTEM_NONE,
    SPYI_SYSTEM_THREAD, // SV_DispatchThreadID
    SPYI_SYSTEM_GROUP,  // SV_GroupID
    SPYI_SYSTEM_LOCAL,  // SV_GroupThreadID
    SPYI_SYSTEM_INDEX   // SV_GroupIndex
} spyi_system;

#define SPYI_MOST_ENTRY_PARAMS 64

typedef struct spyi_entry {
    uint32_t threads[3];                      // [numthreads]; 0: it has none, and is a plain function
    uint8_t systems[SPYI_MOST_ENTRY_PARAMS];  // by parameter: spyi_system
    uint32_t offsets[SPYI_MOST_ENTRY_PARAMS]; // by parameter, once compiled: byte of its block
    uint32_t block_size;
} spyi_entry;

// The function of that name, seen as a compute shader.
SPYI_FN void spyi_unit_entry(spyi_unit *unit, const char *name, spyi_entry *out);

// >>code
typedef struct spyi_code {
    void *data; // SPIR-V words, ready for the driver (OpSource language patched to 0)
    size_t size;
    uint8_t hash[20]; // Slang's entry-point hash
} spyi_code;

// A type that values of an interface may have at run time: "Circle : IShape", or "Circle : IShape = 3" with its number.
typedef struct spyi_conformances {
    char *const *items;
    uint32_t count;
} spyi_conformances;

// Compile `source` (which imports the unit by its name; module name `kernel_name` is made unique inside) and give the code
// of its entry point `entry`. Scalar layout, row-major matrices, entry point keeps its name.
SPYI_FN spy_status spyi_unit_compile(spyi_unit *unit, const char *kernel_name, const char *source,
                                     const char *entry, spyi_conformances conformances, spyi_code *code,
                                     spyi_text *error);
// As spyi_unit_compile(), with the unit's own shader `entry` as entry point; fills own's places. `source` is linked to it.
SPYI_FN spy_status spyi_unit_compile_own(spyi_unit *unit, const char *kernel_name, const char *source,
                                         const char *entry, spyi_entry *own, spyi_conformances conformances,
                                         spyi_code *code, spyi_text *error);
SPYI_FN void spyi_code_free(spyi_code *code);

// >>compiler/slang_abi.h ------------------------------------------------------------------------------------

// libslang's binary interface as C sees it: COM objects as structs with a table of functions, descs, flat
// functions. slang.h cannot be included (it is C++). Slots that nobody calls are there by name, so that
// tools/check_abi can compare every slot, offset and size with the real slang.h. Source: slang.h of 2026.12;
// 2026.14.1 has the same interface.

typedef int32_t spyi_sl_result; // < 0: failure
typedef int64_t spyi_sl_int;

#define SPYI_SL_OK 0
#define SPYI_SL_NO_INTERFACE ((spyi_sl_result)(-2147483647 - 1 + 0x4002)) // 0x80004002
#define SPYI_SL_NOT_FOUND ((spyi_sl_result)(-2113929216 + 5))             // 0x82000005

typedef struct spyi_sl_uuid {
    uint32_t data1;
    uint16_t data2, data3;
    uint8_t data4[8];
} spyi_sl_uuid;

// Initializers of a spyi_sl_uuid.
// clang-format off
#define SPYI_SL_UUID_UNKNOWN { 0x00000000, 0x0000, 0x0000, { 0xc0, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x46 } }
#define SPYI_SL_UUID_CASTABLE { 0x87ede0e1, 0x4852, 0x44b0, { 0x8b, 0xf2, 0xcb, 0x31, 0x87, 0x4d, 0xe2, 0x39 } }
#define SPYI_SL_UUID_FILES { 0x003a09fc, 0x3a4d, 0x4ba0, { 0xad, 0x60, 0x1f, 0xd8, 0x63, 0xa9, 0x15, 0xab } }
// clang-format on

// >>numbers of slang.h's enums

enum { SPYI_SL_TARGET_SPIRV = 6, SPYI_SL_TARGET_CUDA_SOURCE = 17 };
enum {
    SPYI_SL_TARGET_FLAG_SPIRV_DIRECTLY = 1 << 10,
    SPYI_SL_MATRIX_ROW_MAJOR = 1,
    SPYI_SL_LINE_DIRECTIVES_NONE = 1
};
enum {
    SPYI_SL_OPTION_SKIP_SPIRV_VALIDATION = 29,
    SPYI_SL_OPTION_FLOAT_MODE = 43,
    SPYI_SL_OPTION_DEBUG_INFO = 44,
    SPYI_SL_OPTION_OPTIMIZATION = 46,
    SPYI_SL_OPTION_USE_ENTRY_POINT_NAME = 52,
    SPYI_SL_OPTION_SCALAR_LAYOUT = 55,
    SPYI_SL_OPTION_EXPERIMENTAL = 130,
    SPYI_SL_OPTION_MACHINE_READABLE_DIAGNOSTICS = 143,
    SPYI_SL_OPTION_DIAGNOSTIC_COLOR = 144
};
enum { SPYI_SL_OPTION_KIND_INT = 0 };
enum { SPYI_SL_FLOAT_FAST = 1, SPYI_SL_FLOAT_PRECISE = 2, SPYI_SL_PASS_THROUGH_SPIRV_OPT = 11 };
enum {
    SPYI_SL_OPTIMIZATION_NONE = 0,
    SPYI_SL_OPTIMIZATION_DEFAULT = 1,
    SPYI_SL_OPTIMIZATION_HIGH = 2,
    SPYI_SL_OPTIMIZATION_MAXIMAL = 3,
    SPYI_SL_DEBUG_MINIMAL = 1,
    SPYI_SL_DEBUG_STANDARD = 2
};
enum { SPYI_SL_STAGE_VERTEX = 1, SPYI_SL_STAGE_COMPUTE = 6, SPYI_SL_STAGE_DISPATCH = 15 };
enum {
    SPYI_SL_CATEGORY_UNIFORM = 8,
    SPYI_SL_CATEGORY_DESCRIPTOR = 9,
    SPYI_SL_CATEGORY_REGISTER_SPACE = 20 // a parameter block's
};
enum { SPYI_SL_COLOR_NEVER = 2 };
enum {
    SPYI_SL_KIND_STRUCT = 1,
    SPYI_SL_KIND_ARRAY = 2,
    SPYI_SL_KIND_MATRIX = 3,
    SPYI_SL_KIND_VECTOR = 4,
    SPYI_SL_KIND_SCALAR = 5,
    SPYI_SL_KIND_CONSTANT_BUFFER = 6,
    SPYI_SL_KIND_RESOURCE = 7,
    SPYI_SL_KIND_SAMPLER_STATE = 8,
    SPYI_SL_KIND_TEXTURE_BUFFER = 9,
    SPYI_SL_KIND_SHADER_STORAGE_BUFFER = 10,
    SPYI_SL_KIND_PARAMETER_BLOCK = 11,
    SPYI_SL_KIND_INTERFACE = 13,
    SPYI_SL_KIND_FEEDBACK = 17,
    SPYI_SL_KIND_POINTER = 18,
    SPYI_SL_KIND_DYNAMIC_RESOURCE = 19,
    SPYI_SL_KIND_ENUM = 20
};
enum {
    SPYI_SL_SCALAR_VOID = 1,
    SPYI_SL_SCALAR_BOOL = 2,
    SPYI_SL_SCALAR_INT32 = 3,
    SPYI_SL_SCALAR_UINT32 = 4,
    SPYI_SL_SCALAR_INT64 = 5,
    SPYI_SL_SCALAR_UINT64 = 6,
    SPYI_SL_SCALAR_FLOAT16 = 7,
    SPYI_SL_SCALAR_FLOAT32 = 8,
    SPYI_SL_SCALAR_FLOAT64 = 9,
    SPYI_SL_SCALAR_INT8 = 10,
    SPYI_SL_SCALAR_UINT8 = 11,
    SPYI_SL_SCALAR_INT16 = 12,
    SPYI_SL_SCALAR_UINT16 = 13
};
enum {
    SPYI_SL_DECL_UNSUPPORTED = 0,
    SPYI_SL_DECL_STRUCT = 1,
    SPYI_SL_DECL_FUNCTION = 2,
    SPYI_SL_DECL_GENERIC = 4,
    SPYI_SL_DECL_VARIABLE = 5,
    SPYI_SL_DECL_NAMESPACE = 6,
    SPYI_SL_DECL_ENUM = 7
};
enum {
    SPYI_SL_MODIFIER_NO_DIFF = 1,
    SPYI_SL_MODIFIER_STATIC = 2,
    SPYI_SL_MODIFIER_CONST = 3,
    SPYI_SL_MODIFIER_EXPORT = 4,
    SPYI_SL_MODIFIER_EXTERN = 5,
    SPYI_SL_MODIFIER_DIFFERENTIABLE = 6,
    SPYI_SL_MODIFIER_MUTATING = 7,
    SPYI_SL_MODIFIER_OUT = 9,
    SPYI_SL_MODIFIER_INOUT = 10
};

// >>reflection: pointers that die with their session, never counted

typedef struct spyi_sl_layout spyi_sl_layout; // of a program
typedef struct spyi_sl_type spyi_sl_type;
typedef struct spyi_sl_type_layout spyi_sl_type_layout;
typedef struct spyi_sl_variable spyi_sl_variable;
typedef struct spyi_sl_variable_layout spyi_sl_variable_layout;
typedef struct spyi_sl_function spyi_sl_function;
typedef struct spyi_sl_decl spyi_sl_decl;
typedef struct spyi_sl_generic spyi_sl_generic;
typedef struct spyi_sl_modifier spyi_sl_modifier;
typedef struct spyi_sl_attribute spyi_sl_attribute;
typedef struct spyi_sl_entry_layout spyi_sl_entry_layout; // spReflectionEntryPoint's

// >>objects: obj->v->function(obj, ...)

typedef void (*spyi_sl_slot)(void); // a slot that we never call

#define SPYI_SL_OBJECT(name)                                                                                 \
    typedef struct name name;                                                                                \
    typedef struct name##_table name##_table;                                                                \
    struct name {                                                                                            \
        const name##_table *v;                                                                               \
    }
SPYI_SL_OBJECT(spyi_sl_blob);
SPYI_SL_OBJECT(spyi_sl_files);
SPYI_SL_OBJECT(spyi_sl_global);
SPYI_SL_OBJECT(spyi_sl_session);
SPYI_SL_OBJECT(spyi_sl_component);
SPYI_SL_OBJECT(spyi_sl_entry_point);
SPYI_SL_OBJECT(spyi_sl_module);
#undef SPYI_SL_OBJECT

#define SPYI_SL_UNKNOWN(self)                                                                                \
    spyi_sl_result (*queryInterface)(self *, const spyi_sl_uuid *, void **);                                 \
    uint32_t (*addRef)(self *);                                                                              \
    uint32_t (*release)(self *);

struct spyi_sl_blob_table {
    SPYI_SL_UNKNOWN(spyi_sl_blob)
    const void *(*getBufferPointer)(spyi_sl_blob *);
    size_t (*getBufferSize)(spyi_sl_blob *);
};

struct spyi_sl_files_table { // ISlangFileSystem; we implement it
    SPYI_SL_UNKNOWN(spyi_sl_files)
    void *(*castAs)(spyi_sl_files *, const spyi_sl_uuid *);
    spyi_sl_result (*loadFile)(spyi_sl_files *, const char *path, spyi_sl_blob **);
};

typedef struct spyi_sl_option {
    int32_t name;
    struct {
        int32_t kind; // 0: integers, 1: strings
        int32_t int0, int1;
        const char *string0, *string1;
    } value;
} spyi_sl_option;

typedef struct spyi_sl_target_desc {
    size_t structureSize;
    int32_t format;
    uint32_t profile, flags, floatingPointMode, lineDirectiveMode;
    bool forceGLSLScalarBufferLayout;
    const spyi_sl_option *compilerOptionEntries;
    uint32_t compilerOptionEntryCount;
} spyi_sl_target_desc;

typedef struct spyi_sl_macro {
    const char *name, *value;
} spyi_sl_macro;

typedef struct spyi_sl_session_desc {
    size_t structureSize;
    const spyi_sl_target_desc *targets;
    spyi_sl_int targetCount;
    uint32_t flags, defaultMatrixLayoutMode;
    const char *const *searchPaths;
    spyi_sl_int searchPathCount;
    const spyi_sl_macro *preprocessorMacros;
    spyi_sl_int preprocessorMacroCount;
    spyi_sl_files *fileSystem;
    bool enableEffectAnnotations, allowGLSLSyntax;
    const spyi_sl_option *compilerOptionEntries;
    uint32_t compilerOptionEntryCount;
    bool skipSPIRVValidation;
} spyi_sl_session_desc;

typedef struct spyi_sl_global_desc {
    uint32_t structureSize, apiVersion, minLanguageVersion;
    bool enableGLSL;
    uint32_t reserved[16];
} spyi_sl_global_desc;

typedef struct spyi_sl_source_location {
    const char *filePath; // lives as long as its session
    spyi_sl_int line, column;
} spyi_sl_source_location;

struct spyi_sl_global_table {
    SPYI_SL_UNKNOWN(spyi_sl_global)
    spyi_sl_result (*createSession)(spyi_sl_global *, const spyi_sl_session_desc *, spyi_sl_session **);
    uint32_t (*findProfile)(spyi_sl_global *, const char *);
    spyi_sl_slot setDownstreamCompilerPath, setDownstreamCompilerPrelude, getDownstreamCompilerPrelude;
    const char *(*getBuildTagString)(spyi_sl_global *);
    spyi_sl_slot setDefaultDownstreamCompiler, getDefaultDownstreamCompiler, setLanguagePrelude,
        getLanguagePrelude, createCompileRequest, addBuiltins, setSharedLibraryLoader, getSharedLibraryLoader,
        checkCompileTargetSupport;
    spyi_sl_result (*checkPassThroughSupport)(spyi_sl_global *, int32_t pass_through);
    spyi_sl_slot compileCoreModule, loadCoreModule, saveCoreModule, findCapability,
        setDownstreamCompilerForTransition, getDownstreamCompilerForTransition, getCompilerElapsedTime,
        setSPIRVCoreGrammar, parseCommandLineArguments, getSessionDescDigest, compileBuiltinModule,
        loadBuiltinModule, saveBuiltinModule;
};

struct spyi_sl_session_table {
    SPYI_SL_UNKNOWN(spyi_sl_session)
    spyi_sl_slot getGlobalSession, loadModule, loadModuleFromSource;
    spyi_sl_result (*createCompositeComponentType)(spyi_sl_session *, spyi_sl_component *const *, spyi_sl_int,
                                                   spyi_sl_component **, spyi_sl_blob **diagnostics);
    spyi_sl_slot specializeType;
    spyi_sl_type_layout *(*getTypeLayout)(spyi_sl_session *, spyi_sl_type *, spyi_sl_int target,
                                          uint32_t rules, spyi_sl_blob **diagnostics);
    spyi_sl_slot getContainerType, getDynamicType, getTypeRTTIMangledName,
        getTypeConformanceWitnessMangledName, getTypeConformanceWitnessSequentialID, createCompileRequest;
    // The conformance is a component too.
    spyi_sl_result (*createTypeConformanceComponentType)(spyi_sl_session *, spyi_sl_type *,
                                                         spyi_sl_type *interface_type, spyi_sl_component **,
                                                         spyi_sl_int id, // -1: chosen
                                                         spyi_sl_blob **diagnostics);
    // Modules are borrowed from their session: never released.
    spyi_sl_module *(*loadModuleFromIRBlob)(spyi_sl_session *, const char *name, const char *path,
                                            spyi_sl_blob *, spyi_sl_blob **diagnostics);
    spyi_sl_int (*getLoadedModuleCount)(spyi_sl_session *);
    spyi_sl_module *(*getLoadedModule)(spyi_sl_session *, spyi_sl_int);
    spyi_sl_slot isBinaryModuleUpToDate;
    spyi_sl_module *(*loadModuleFromSourceString)(spyi_sl_session *, const char *name, const char *path,
                                                  const char *text, spyi_sl_blob **diagnostics);
    spyi_sl_slot getDynamicObjectRTTIBytes;
    spyi_sl_result (*loadModuleInfoFromIRBlob)(spyi_sl_session *, spyi_sl_blob *, spyi_sl_int *version,
                                               const char **compiler_version, const char **name);
    spyi_sl_result (*getDeclSourceLocation)(spyi_sl_session *, spyi_sl_decl *, spyi_sl_source_location *);
};

#define SPYI_SL_COMPONENT(self)                                                                              \
    SPYI_SL_UNKNOWN(self)                                                                                    \
    spyi_sl_slot getSession;                                                                                 \
    spyi_sl_layout *(*getLayout)(self *, spyi_sl_int target, spyi_sl_blob * *diagnostics);                   \
    spyi_sl_slot getSpecializationParamCount;                                                                \
    spyi_sl_result (*getEntryPointCode)(self *, spyi_sl_int entry_point, spyi_sl_int target,                 \
                                        spyi_sl_blob **, spyi_sl_blob * *diagnostics);                       \
    spyi_sl_slot getResultAsFileSystem;                                                                      \
    void (*getEntryPointHash)(self *, spyi_sl_int entry_point, spyi_sl_int target, spyi_sl_blob **);         \
    spyi_sl_slot specialize;                                                                                 \
    spyi_sl_result (*link)(self *, spyi_sl_component **, spyi_sl_blob * *diagnostics);                       \
    spyi_sl_slot getEntryPointHostCallable, renameEntryPoint, linkWithOptions, getTargetCode,                \
        getTargetMetadata, getEntryPointMetadata;

struct spyi_sl_component_table {
    SPYI_SL_COMPONENT(spyi_sl_component)
};

struct spyi_sl_entry_point_table {
    SPYI_SL_COMPONENT(spyi_sl_entry_point)
    spyi_sl_function *(*getFunctionReflection)(spyi_sl_entry_point *);
};

struct spyi_sl_module_table {
    SPYI_SL_COMPONENT(spyi_sl_module)
    spyi_sl_slot findEntryPointByName;
    int32_t (*getDefinedEntryPointCount)(spyi_sl_module *);
    spyi_sl_result (*getDefinedEntryPoint)(spyi_sl_module *, int32_t, spyi_sl_entry_point **);
    spyi_sl_result (*serialize)(spyi_sl_module *, spyi_sl_blob **);
    spyi_sl_slot writeToFile;
    const char *(*getName)(spyi_sl_module *);
    const char *(*getFilePath)(spyi_sl_module *);
    spyi_sl_slot getUniqueIdentity;
    spyi_sl_result (*findAndCheckEntryPoint)(spyi_sl_module *, const char *name, uint32_t stage,
                                             spyi_sl_entry_point **, spyi_sl_blob **diagnostics);
    spyi_sl_slot getDependencyFileCount, getDependencyFilePath;
    spyi_sl_decl *(*getModuleReflection)(spyi_sl_module *);
    spyi_sl_slot disassemble;
};

#undef SPYI_SL_COMPONENT
#undef SPYI_SL_UNKNOWN

// >>flat functions: X(result, name, arguments)

#define SPYI_SL_FUNCTIONS(X)                                                                                 \
    X(const char *, spGetBuildTagString, (void))                                                             \
    X(spyi_sl_result, slang_createGlobalSession2, (const spyi_sl_global_desc *, spyi_sl_global **))          \
    X(spyi_sl_blob *, slang_createBlob, (const void *, size_t))                                              \
    X(spyi_sl_type *, spReflection_FindTypeByName, (spyi_sl_layout *, const char *))                         \
    X(spyi_sl_function *, spReflection_FindFunctionByName, (spyi_sl_layout *, const char *))                 \
    X(spyi_sl_function *, spReflection_FindFunctionByNameInType,                                             \
      (spyi_sl_layout *, spyi_sl_type *, const char *))                                                      \
    X(bool, spReflection_isSubType, (spyi_sl_layout *, spyi_sl_type *, spyi_sl_type *))                      \
    X(unsigned, spReflectionDecl_getChildrenCount, (spyi_sl_decl *))                                         \
    X(spyi_sl_decl *, spReflectionDecl_getChild, (spyi_sl_decl *, unsigned))                                 \
    X(const char *, spReflectionDecl_getName, (spyi_sl_decl *))                                              \
    X(unsigned, spReflectionDecl_getKind, (spyi_sl_decl *))                                                  \
    X(spyi_sl_modifier *, spReflectionDecl_findModifier, (spyi_sl_decl *, uint32_t))                         \
    X(spyi_sl_type *, spReflection_getTypeFromDecl, (spyi_sl_decl *))                                        \
    X(spyi_sl_generic *, spReflectionDecl_castToGeneric, (spyi_sl_decl *))                                   \
    X(const char *, spReflectionGeneric_GetName, (spyi_sl_generic *))                                        \
    X(unsigned, spReflectionGeneric_GetInnerKind, (spyi_sl_generic *))                                       \
    X(const char *, spReflectionFunction_GetName, (spyi_sl_function *))                                      \
    X(spyi_sl_modifier *, spReflectionFunction_FindModifier, (spyi_sl_function *, uint32_t))                 \
    X(unsigned, spReflectionFunction_GetParameterCount, (spyi_sl_function *))                                \
    X(spyi_sl_variable *, spReflectionFunction_GetParameter, (spyi_sl_function *, unsigned))                 \
    X(spyi_sl_type *, spReflectionFunction_GetResultType, (spyi_sl_function *))                              \
    X(spyi_sl_generic *, spReflectionFunction_GetGenericContainer, (spyi_sl_function *))                     \
    X(spyi_sl_function *, spReflectionFunction_specializeWithArgTypes,                                       \
      (spyi_sl_function *, spyi_sl_int, spyi_sl_type *const *))                                              \
    X(bool, spReflectionFunction_isOverloaded, (spyi_sl_function *))                                         \
    X(unsigned, spReflectionFunction_getOverloadCount, (spyi_sl_function *))                                 \
    X(spyi_sl_function *, spReflectionFunction_getOverload, (spyi_sl_function *, unsigned))                  \
    X(const char *, spReflectionVariable_GetName, (spyi_sl_variable *))                                      \
    X(spyi_sl_type *, spReflectionVariable_GetType, (spyi_sl_variable *))                                    \
    X(spyi_sl_modifier *, spReflectionVariable_FindModifier, (spyi_sl_variable *, uint32_t))                 \
    X(bool, spReflectionVariable_HasDefaultValue, (spyi_sl_variable *))                                      \
    X(unsigned, spReflectionType_GetKind, (spyi_sl_type *))                                                  \
    X(unsigned, spReflectionType_GetFieldCount, (spyi_sl_type *))                                            \
    X(spyi_sl_variable *, spReflectionType_GetFieldByIndex, (spyi_sl_type *, unsigned))                      \
    X(size_t, spReflectionType_GetElementCount, (spyi_sl_type *))                                            \
    X(spyi_sl_type *, spReflectionType_GetElementType, (spyi_sl_type *))                                     \
    X(unsigned, spReflectionType_GetRowCount, (spyi_sl_type *))                                              \
    X(unsigned, spReflectionType_GetColumnCount, (spyi_sl_type *))                                           \
    X(unsigned, spReflectionType_GetScalarType, (spyi_sl_type *))                                            \
    X(spyi_sl_result, spReflectionType_GetFullName, (spyi_sl_type *, spyi_sl_blob **))                       \
    X(size_t, spReflectionTypeLayout_GetSize, (spyi_sl_type_layout *, unsigned category))                    \
    X(int32_t, spReflectionTypeLayout_getAlignment, (spyi_sl_type_layout *, unsigned category))              \
    X(unsigned, spReflectionTypeLayout_GetFieldCount, (spyi_sl_type_layout *))                               \
    X(spyi_sl_variable_layout *, spReflectionTypeLayout_GetFieldByIndex, (spyi_sl_type_layout *, unsigned))  \
    X(size_t, spReflectionVariableLayout_GetOffset, (spyi_sl_variable_layout *, unsigned category))          \
    X(spyi_sl_variable *, spReflectionVariableLayout_GetVariable, (spyi_sl_variable_layout *))               \
    X(unsigned, spReflection_GetParameterCount, (spyi_sl_layout *))                                          \
    X(spyi_sl_variable_layout *, spReflection_GetParameterByIndex, (spyi_sl_layout *, unsigned))             \
    X(spyi_sl_function *, spReflectionDecl_castToFunction, (spyi_sl_decl *))                                 \
    X(spyi_sl_variable *, spReflectionDecl_castToVariable, (spyi_sl_decl *))                                 \
    X(spyi_sl_decl *, spReflectionGeneric_GetInnerDecl, (spyi_sl_generic *))                                 \
    X(unsigned, spReflectionGeneric_GetTypeParameterCount, (spyi_sl_generic *))                              \
    X(spyi_sl_variable *, spReflectionGeneric_GetTypeParameter, (spyi_sl_generic *, unsigned))               \
    X(unsigned, spReflectionGeneric_GetTypeParameterConstraintCount,                                         \
      (spyi_sl_generic *, spyi_sl_variable *))                                                               \
    X(spyi_sl_type *, spReflectionGeneric_GetTypeParameterConstraintType,                                    \
      (spyi_sl_generic *, spyi_sl_variable *, unsigned))                                                     \
    X(unsigned, spReflectionGeneric_GetValueParameterCount, (spyi_sl_generic *))                             \
    X(spyi_sl_variable *, spReflectionGeneric_GetValueParameter, (spyi_sl_generic *, unsigned))              \
    X(spyi_sl_decl *, spReflectionFunction_asDecl, (spyi_sl_function *))                                     \
    X(unsigned, spReflectionFunction_GetUserAttributeCount, (spyi_sl_function *))                            \
    X(spyi_sl_attribute *, spReflectionFunction_GetUserAttribute, (spyi_sl_function *, unsigned))            \
    X(unsigned, spReflectionVariable_GetUserAttributeCount, (spyi_sl_variable *))                            \
    X(spyi_sl_attribute *, spReflectionVariable_GetUserAttribute, (spyi_sl_variable *, unsigned))            \
    X(unsigned, spReflectionType_GetUserAttributeCount, (spyi_sl_type *))                                    \
    X(spyi_sl_attribute *, spReflectionType_GetUserAttribute, (spyi_sl_type *, unsigned))                    \
    X(const char *, spReflectionUserAttribute_GetName, (spyi_sl_attribute *))                                \
    X(unsigned, spReflectionUserAttribute_GetArgumentCount, (spyi_sl_attribute *))                           \
    X(spyi_sl_type *, spReflectionUserAttribute_GetArgumentType, (spyi_sl_attribute *, unsigned))            \
    X(spyi_sl_result, spReflectionUserAttribute_GetArgumentValueInt, (spyi_sl_attribute *, unsigned, int *)) \
    X(spyi_sl_result, spReflectionUserAttribute_GetArgumentValueFloat,                                       \
      (spyi_sl_attribute *, unsigned, float *))                                                              \
    X(const char *, spReflectionUserAttribute_GetArgumentValueString,                                        \
      (spyi_sl_attribute *, unsigned, size_t *))                                                             \
    X(spyi_sl_result, spReflectionVariable_GetDefaultValueInt, (spyi_sl_variable *, int64_t *))              \
    X(spyi_sl_result, spReflectionVariable_GetDefaultValueFloat, (spyi_sl_variable *, float *))              \
    X(spyi_sl_type *, spReflectionType_GetResourceResultType, (spyi_sl_type *))                              \
    X(size_t, spReflectionVariableLayout_GetSpace, (spyi_sl_variable_layout *, unsigned category))           \
    X(uint64_t, spReflection_getEntryPointCount, (spyi_sl_layout *))                                         \
    X(spyi_sl_entry_layout *, spReflection_getEntryPointByIndex, (spyi_sl_layout *, uint64_t))               \
    X(unsigned, spReflectionEntryPoint_getParameterCount, (spyi_sl_entry_layout *))                          \
    X(spyi_sl_variable_layout *, spReflectionEntryPoint_getParameterByIndex,                                 \
      (spyi_sl_entry_layout *, unsigned))                                                                    \
    X(spyi_sl_type_layout *, spReflectionVariableLayout_GetTypeLayout, (spyi_sl_variable_layout *))          \
    X(const char *, spReflectionVariableLayout_GetSemanticName, (spyi_sl_variable_layout *))                 \
    X(uint32_t, spReflectionEntryPoint_getStage, (spyi_sl_entry_layout *))                                   \
    X(void, spReflectionEntryPoint_getComputeThreadGroupSize, (spyi_sl_entry_layout *, uint64_t, uint64_t *))

// >>compiler/internal.h -------------------------------------------------------------------------------------

// What the files of this room share: the opened library, compilers, units and their live sessions.
// Everything here is used under the global lock unless it says otherwise.

// >>library.c: one opened library and one global session a process

#define SPYI_SL_POINTER(result, name, arguments) result(*name) arguments;
typedef struct spyi_sl_library {
    void *handle;  // stays open until the process ends: its statics own memory
    char *path;    // as it was opened
    char *version; // "2026.14.1"
    spyi_sl_global *global;
    uint32_t users; // compilers that hold the global session
    SPYI_SL_FUNCTIONS(SPYI_SL_POINTER)
} spyi_sl_library;
#undef SPYI_SL_POINTER

// Open the library and its global session, or count one more user. The result is the same for all.
SPYI_FN spy_status spyi_sl_acquire(const char *path, const spyi_sl_library **library, spyi_text *error);
SPYI_FN void spyi_sl_release(void); // the last user's release closes the global session

// >>diagnostics.c

SPYI_FN void spyi_sl_blob_free(spyi_sl_blob **blob); // and NULL
// The readable form of a diagnostics blob, appended; the blob is freed. `hidden`: a path whose locations are
// left out.
SPYI_FN void spyi_sl_diagnostics(spyi_sl_blob **blob, const char *hidden, spyi_text *out);

// >>session.c

typedef struct spyi_sl_known { // our type of a Slang type
    spyi_sl_type *slang;
    const spyi_type *type;
} spyi_sl_known;

// A session with a unit's modules. Pointers into it die with it.
typedef struct spyi_sl_live {
    spyi_sl_session *session;
    spyi_sl_module *module;    // the unit's
    spyi_sl_layout *layout;    // of the module: where names are looked up
    spyi_sl_component **links; // modules of the linked units, borrowed
    uint32_t link_count;
    spyi_sl_component **conformances; // ours
    uint32_t conformance_count;
    size_t kept_kib;      // estimate of what queries and kernels have left in it
    spyi_sl_type **by_id; // Slang's types by spyi_type.id; NULL: not asked yet
    uint32_t by_id_count;
    spyi_sl_known *known; // open addressing
    uint32_t known_count, known_capacity;
} spyi_sl_live;

// What a module was serialized to, so that a fresh session has it without its text.
typedef struct spyi_sl_stored {
    char *name, *path;
    void *data;
    size_t size;
} spyi_sl_stored;

typedef struct spyi_sl_source_files { // the file system that Slang sees; `object` is first
    spyi_sl_files object;
    spyi_compiler *compiler;
} spyi_sl_source_files;

// A unit that is being loaded. Files are read only then: what kernels and fresh sessions need is in memory.
typedef struct spyi_sl_loading {
    spyi_unit *unit;
    spyi_sl_session *session;
    spyi_text notes; // about files that were there and could not be used
} spyi_sl_loading;

struct spyi_compiler {
    spyi_context *ctx;
    spyi_types *types;
    spyi_target target;
    char *library_path;
    char **include_paths;
    size_t include_path_count;
    const spyi_embedded *embedded;
    size_t embedded_count;
    spyi_sl_stored *embedded_stored; // one each, once a unit has imported it: compiling it again would take 100 ms
    const spyi_sl_library *library;  // NULL until the first unit
    uint32_t unit_count;            // ever made
    spyi_sl_source_files files;
    spy_file_hook hook;
    spyi_sl_loading *loading; // NULL: no unit is
    spyi_atomic loads;
};

typedef struct spyi_sl_watched { // a file that a unit was made of, or would have been
    char *path;
    uint64_t stamp; // before it was read; 0: it was not there
} spyi_sl_watched;

struct spyi_unit {
    spyi_compiler *compiler;
    uint32_t serial;        // unique in the compiler
    spyi_atomic references; // its owner and the units that link it
    char *name, *path;
    char *given_name, *given_path; // as in the desc; NULL: not given
    spyi_text given;               // text or precompiled bytes of the desc
    bool has_given, precompiled;
    char **conformances;
    size_t conformance_count;
    spy_compile_options options;
    spyi_sl_watched *watched;
    size_t watched_count;
    char **include_paths;
    size_t include_path_count;
    spy_define *defines;
    size_t define_count;
    spyi_unit **links;
    size_t link_count;
    bool imports_library;   // slangpy
    size_t module_count;    // modules that the session had when the unit was loaded
    spyi_sl_stored *stored; // those, once a fresh session or a linking unit has needed them
    size_t stored_count;
    spyi_sl_live *live; // never NULL after a successful load
};

// The unit's session, replaced by a fresh one when it has grown. `kib`: what the coming query will leave in it.
SPYI_FN spyi_sl_live *spyi_sl_live_of(spyi_unit *unit, size_t kib);
#define SPYI_SL_FUNCTION(unit, name) ((unit)->compiler->library->name)

// >>source.c: where text comes from

// The contents of `path` from the hook or the disk; the unit being loaded remembers it. false: there is none.
SPYI_FN bool spyi_source_read(spyi_compiler *compiler, const char *path, spyi_text *out);
// The file that `path` means to the unit, which may lie in a search path: its contents to `out`, its place to unit.path.
SPYI_FN spy_status spyi_source_find(spyi_unit *unit, const char *path, spyi_text *out, spyi_text *error);
SPYI_FN bool spyi_source_is_precompiled(const char *path); // by its ending
// Takes our seal off a precompiled module and checks it. false: damaged, or of another Slang; `error` says which.
SPYI_FN bool spyi_source_unseal(const spyi_sl_library *library, spyi_sl_session *session, spyi_text *bytes,
                                spyi_text *error);
SPYI_FN void spyi_source_seal(spyi_text *bytes);
SPYI_FN void spyi_unit_unwatch(spyi_unit *unit); // forgets all files
// Has the unit count as unchanged, and remember the files of an attempt that failed, or NULL.
SPYI_FN void spyi_unit_watch_too(spyi_unit *unit, spyi_unit *failed);

// >>options.c

enum { SPYI_SL_MOST_OPTIONS = 10 };
// Fills `out` with what every session has and what the unit asks for; gives their number.
SPYI_FN uint32_t spyi_sl_options(const spyi_unit *unit, spyi_sl_option out[SPYI_SL_MOST_OPTIONS]);
// Whether target and library can do what the unit's options ask for; `notes`: what has no effect.
SPYI_FN spy_status spyi_sl_check_options(const spyi_unit *unit, spyi_text *notes, spyi_text *error);

// >>code.c

// "Type : IInterface" or "Type : IInterface = id" as a part of programs; NULL: `messages` says why.
SPYI_FN spyi_sl_component *spyi_sl_conformance(spyi_unit *unit, spyi_sl_live *live, const char *text,
                                               spyi_text *messages);

// >>reflect.c

// Names that crash libslang's look-ups, or mean nothing, are stopped here.
SPYI_FN bool spyi_sl_name_is_safe(const char *name);
SPYI_FN spyi_sl_type *spyi_sl_type_named(spyi_unit *unit, spyi_sl_live *live,
                                         const char *name); // NULL: there is none
SPYI_FN spyi_sl_type *spyi_sl_type_of(spyi_unit *unit, spyi_sl_live *live,
                                      const spyi_type *type); // NULL: unknown there
// Our type. `open`: it may depend on generic parameters, which have no layout.
SPYI_FN const spyi_type *spyi_sl_to_type(spyi_unit *unit, spyi_sl_live *live, spyi_sl_type *slang, bool open);
// Has types that only a link completes known as without layout, before libslang is asked for one.
SPYI_FN void spyi_sl_note_externs(spyi_unit *unit, spyi_sl_live *live);
SPYI_FN void spyi_sl_full_name(spyi_unit *unit, spyi_sl_type *slang, spyi_text *out);
// The function or set of overloads of that name; NULL: there is none. *constructed: the struct whose constructors they are.
SPYI_FN spyi_sl_function *spyi_sl_find_function(spyi_unit *unit, spyi_sl_live *live, const char *name,
                                                spyi_sl_type **constructed);
// The type that stands before the last "::" or "."; NULL: none, or a namespace.
SPYI_FN spyi_sl_type *spyi_sl_owner(spyi_unit *unit, spyi_sl_live *live, const char *name);
// Whether a function that was found by `name` is a method of an instance.
SPYI_FN bool spyi_sl_needs_instance(spyi_unit *unit, spyi_sl_live *live, spyi_sl_function *function,
                                    const char *name);
SPYI_FN uint32_t spyi_sl_overload_count(spyi_unit *unit, spyi_sl_function *function);
SPYI_FN spyi_sl_function *spyi_sl_overload(spyi_unit *unit, spyi_sl_function *function, uint32_t index);
SPYI_FN void spyi_sl_to_signature(spyi_unit *unit, spyi_sl_live *live, spyi_sl_function *function,
                                  const char *name, spyi_sl_type *constructed, bool specialised,
                                  spyi_signature *out);

// >>entry.c
// Where the parameters of a linked program's entry point lie.
SPYI_FN void spyi_sl_entry_places(spyi_unit *unit, spyi_sl_component *linked, spyi_entry *out);

// >>names.c

// Whether Slang added a function of that name: constructors, and derivatives beside each differentiable function.
SPYI_FN bool spyi_sl_is_synthesised(const char *name);

// >>compiler/type.c -----------------------------------------------------------------------------------------

// The table of types: made by name, interned, with C's layout and the target's; built-in names parsed without
// the compiler; elements copied from one layout to the other. Scalars are converted in convert.c.

enum { SPYI_TYPE_BUCKETS = 256 };

typedef struct spyi_type_node {
    spyi_type type; // first: a type is its node
    struct spyi_type_node *next;
    uint64_t hash;
} spyi_type_node;

struct spyi_types {
    spyi_target target;
    spyi_mutex lock;
    uint32_t next_id;
    spyi_type_node *buckets[SPYI_TYPE_BUCKETS];
    const spyi_type *void_type;
    const spyi_type *scalars[SPY_DTYPE_COUNT];
};

// >>small helpers

static char *spyi_type_take(spyi_text *text) { // the text's memory, as a string of its own
    char *s = spyi_strdup(spyi_text_str(text));
    spyi_text_free(text);
    return s;
}

static size_t spyi_type_device_scalar(const spyi_types *types, spy_dtype scalar) {
    if (scalar == SPY_BOOL && types->target == SPYI_TARGET_SPIRV) return 4;
    return spyi_scalar_size(scalar);
}

// CUDA's vectors: of two and of four lie on their whole size (16 at most), of three on the scalar's; half3 is
// stored as two half2. Source: Slang's reflection for CUDA (2026.12, 2026.14.1), which
// tests/unit/test_compiler.c asks again.
static void spyi_type_device_vector(const spyi_types *types, spy_dtype scalar, uint32_t columns, size_t *size,
                                    size_t *align) {
    size_t one = spyi_type_device_scalar(types, scalar);
    *size = one * columns;
    *align = one;
    if (types->target != SPYI_TARGET_CUDA) return;
    if (columns == 2 || columns == 4) *align = one * columns > 16 ? 16 : one * columns;
    if (scalar == SPY_FLOAT16 && columns >= 3) {
        *size = 8;
        *align = 4;
    }
}

static bool spyi_type_same_text(const char *a, const char *b) {
    return a == b || (a && b && strcmp(a, b) == 0);
}

static bool spyi_type_same(const spyi_type *a, const spyi_type *b) {
    if (a->kind != b->kind || a->field_count != b->field_count || !spyi_type_same_text(a->name, b->name))
        return false;
    if (a->kind == SPYI_TYPE_ARRAY) return a->element == b->element && a->count == b->count;
    if (a->kind != SPYI_TYPE_STRUCT && a->field_count == 0) return a->scalar == b->scalar;
    if (a->device_size != b->device_size || a->device_align != b->device_align) return false;
    for (uint32_t i = 0; i < a->field_count; ++i) {
        const spyi_field *x = &a->fields[i], *y = &b->fields[i];
        if (x->type != y->type || x->device_offset != y->device_offset || strcmp(x->name, y->name) != 0)
            return false;
    }
    return true;
}

static void spyi_type_free_parts(spyi_type *type) {
    for (uint32_t i = 0; i < type->field_count; ++i) free((void *)(uintptr_t)type->fields[i].name);
    free((void *)(uintptr_t)type->fields);
    free((void *)(uintptr_t)type->name);
    free((void *)(uintptr_t)type->display);
}

// The type in the table that equals `made`, whose strings and fields this takes.
static const spyi_type *spyi_type_intern(spyi_types *types, spyi_type *made) {
    uint64_t hash = spyi_hash(made->name, strlen(made->name), (uint64_t)made->kind);
    spyi_mutex_lock(&types->lock);
    spyi_type_node **bucket = &types->buckets[hash % SPYI_TYPE_BUCKETS];
    spyi_type_node *node = *bucket;
    while (node && (node->hash != hash || !spyi_type_same(&node->type, made))) node = node->next;
    bool found = node != NULL;
    if (!found) {
        node = (spyi_type_node *)calloc(1, sizeof *node);
        if (node) {
            node->type = *made;
            node->type.id = ++types->next_id;
            node->hash = hash;
            node->next = *bucket;
            *bucket = node;
        }
    }
    spyi_mutex_unlock(&types->lock);
    if (found || !node) spyi_type_free_parts(made);
    return node ? &node->type : types->void_type;
}

static spyi_type spyi_type_blank(spyi_type_kind kind) {
    spyi_type t;
    memset(&t, 0, sizeof t);
    t.kind = kind;
    t.rows = t.columns = 1;
    return t;
}

// >>making types

spyi_types *spyi_types_create(spyi_target target) {
    spyi_types *types = (spyi_types *)calloc(1, sizeof *types);
    if (!types) return NULL;
    types->target = target;
    spyi_mutex_init(&types->lock);
    spyi_type none = spyi_type_blank(SPYI_TYPE_VOID);
    none.name = spyi_strdup("void");
    none.display = spyi_strdup("void");
    none.host_align = none.device_align = 1;
    none.same_layout = true;
    types->void_type = spyi_type_intern(types, &none);
    for (int i = SPY_BOOL; i < SPY_DTYPE_COUNT; ++i) {
        spyi_type t = spyi_type_blank(SPYI_TYPE_SCALAR);
        t.scalar = (spy_dtype)i;
        t.name = spyi_strdup(spy_dtype_name(t.scalar));
        t.display = spyi_strdup(t.name);
        t.host_size = t.host_align = spyi_scalar_size(t.scalar);
        t.device_size = t.device_align = spyi_type_device_scalar(types, t.scalar);
        t.same_layout = t.host_size == t.device_size;
        types->scalars[i] = spyi_type_intern(types, &t);
    }
    types->scalars[SPY_DTYPE_DEFAULT] = types->scalars[SPY_FLOAT32];
    return types;
}

void spyi_types_destroy(spyi_types *types) {
    if (!types) return;
    for (int i = 0; i < SPYI_TYPE_BUCKETS; ++i) {
        for (spyi_type_node *node = types->buckets[i], *next; node; node = next) {
            next = node->next;
            spyi_type_free_parts(&node->type);
            free(node);
        }
    }
    spyi_mutex_destroy(&types->lock);
    free(types);
}

const spyi_type *spyi_type_void(spyi_types *types) {
    return types->void_type;
}

const spyi_type *spyi_type_scalar(spyi_types *types, spy_dtype scalar) {
    return types->scalars[(unsigned)scalar < SPY_DTYPE_COUNT ? scalar : SPY_DTYPE_DEFAULT];
}

const spyi_type *spyi_type_vector(spyi_types *types, spy_dtype scalar, uint32_t columns) {
    const spyi_type *one = spyi_type_scalar(types, scalar);
    spyi_type t = spyi_type_blank(SPYI_TYPE_VECTOR);
    spyi_text name = { NULL, 0, 0 }, display = { NULL, 0, 0 };
    t.scalar = one->scalar;
    t.columns = columns;
    t.element = one;
    t.host_size = one->host_size * columns;
    t.host_align = one->host_align;
    spyi_type_device_vector(types, t.scalar, columns, &t.device_size, &t.device_align);
    t.same_layout = one->same_layout && t.host_size == t.device_size; // columns follow each other in both
    spyi_text_add(&name, "vector<%s,%u>", one->name, columns);
    spyi_text_add(&display, "%s%u", one->name, columns);
    t.name = spyi_type_take(&name);
    t.display = spyi_type_take(&display);
    return spyi_type_intern(types, &t);
}

const spyi_type *spyi_type_matrix(spyi_types *types, spy_dtype scalar, uint32_t rows, uint32_t columns) {
    const spyi_type *row = spyi_type_vector(types, scalar, columns);
    spyi_type t = spyi_type_blank(SPYI_TYPE_MATRIX);
    spyi_text name = { NULL, 0, 0 }, display = { NULL, 0, 0 };
    t.scalar = row->scalar;
    t.rows = rows;
    t.columns = columns;
    t.element = row;
    t.host_size = row->host_size * rows;
    t.host_align = row->host_align;
    t.device_size = spyi_type_device_stride(row) * rows;
    t.device_align = row->device_align;
    t.same_layout = row->same_layout && t.host_size == t.device_size;
    spyi_text_add(&name, "matrix<%s,%u,%u>", row->element->name, rows, columns);
    spyi_text_add(&display, "%s%ux%u", row->element->name, rows, columns);
    t.name = spyi_type_take(&name);
    t.display = spyi_type_take(&display);
    return spyi_type_intern(types, &t);
}

const spyi_type *spyi_type_array(spyi_types *types, const spyi_type *element, int64_t count) {
    spyi_type t = spyi_type_blank(SPYI_TYPE_ARRAY);
    spyi_text text = { NULL, 0, 0 };
    size_t most = SIZE_MAX / 4, device_stride = spyi_type_device_stride(element),
           host_stride = spyi_type_host_stride(element);
    bool plain = element->kind != SPYI_TYPE_OTHER && element->kind != SPYI_TYPE_VOID && count > 0 &&
                 (host_stride == 0 || (uint64_t)count <= most / host_stride) &&
                 (device_stride == 0 || (uint64_t)count <= most / device_stride);
    if (count < 0) spyi_text_add(&text, "Array<%s>", element->name);
    else spyi_text_add(&text, "Array<%s,%lld>", element->name, (long long)count);
    if (!plain) { // unsized, empty, too large, or of something without a layout
        const spyi_type *other = spyi_type_other(types, text.data);
        spyi_text_free(&text);
        return other;
    }
    t.name = spyi_type_take(&text);
    const spyi_type *base = element;
    while (base->kind == SPYI_TYPE_ARRAY) base = base->element;
    spyi_text_add(&text, "%s[%lld]", base->display, (long long)count);
    for (const spyi_type *e = element; e->kind == SPYI_TYPE_ARRAY; e = e->element)
        spyi_text_add(&text, "[%lld]", (long long)e->count);
    t.display = spyi_type_take(&text);
    t.scalar = base->scalar;
    t.element = element;
    t.count = count;
    t.host_size = host_stride * (size_t)count;
    t.host_align = element->host_align;
    // The last element goes without its padding in SPIR-V, with it in C; what follows comes right behind.
    t.device_size = device_stride * (size_t)(count - 1) +
                    (types->target == SPYI_TARGET_SPIRV ? element->device_size : device_stride);
    t.device_align = element->device_align;
    t.same_layout = element->same_layout && host_stride == device_stride;
    return spyi_type_intern(types, &t);
}

const spyi_type *spyi_type_struct(spyi_types *types, const char *name, const spyi_field *fields,
                                  uint32_t count, size_t device_size, size_t device_align) {
    spyi_type t = spyi_type_blank(SPYI_TYPE_STRUCT);
    spyi_field *copy = (spyi_field *)calloc(count ? count : 1, sizeof *copy);
    if (!copy) return types->void_type;
    t.name = spyi_strdup(name);
    // People drop the namespace: "ns.Foo<3>" is shown as "Foo<3>"; dots inside <> belong to its arguments.
    const char *from = name;
    for (const char *p = name; *p && *p != '<'; ++p)
        if (*p == '.') from = p + 1;
    t.display = spyi_strdup(from);
    t.fields = copy;
    t.field_count = count;
    t.host_align = 1;
    t.device_size = device_size;
    t.device_align = device_align ? device_align : 1;
    t.same_layout = true;
    for (uint32_t i = 0; i < count; ++i) {
        const spyi_type *type = fields[i].type;
        copy[i].name = spyi_strdup(fields[i].name);
        copy[i].type = type;
        copy[i].device_offset = fields[i].device_offset;
        copy[i].host_offset = spyi_align(t.host_size, type->host_align);
        t.host_size = copy[i].host_offset + type->host_size;
        if (type->host_align > t.host_align) t.host_align = type->host_align;
        if (!type->same_layout || copy[i].host_offset != copy[i].device_offset) t.same_layout = false;
    }
    t.host_size = spyi_align(t.host_size, t.host_align);
    if (t.host_size != spyi_align(t.device_size, t.device_align)) t.same_layout = false;
    return spyi_type_intern(types, &t);
}

const spyi_type *spyi_type_enum(spyi_types *types, const char *name, spy_dtype scalar) {
    spyi_type t = *spyi_type_scalar(types, scalar);
    t.name = spyi_strdup(name);
    t.display = spyi_strdup(name);
    return spyi_type_intern(types, &t);
}

// How people write a name of Slang's: built-in types in it are "float3", not "vector<float,3>", and a pointer, which Slang
// prints with all its defaults and then does not read, is "float3*".
static char *spyi_readable_name(spyi_types *types, const char *name) {
    const char *defaults = ", Access.ReadWrite, AddressSpace.Device, DefaultDataLayout>";
    spyi_text out = { NULL, 0, 0 };
    bool pointer = false;
    for (const char *c = name; *c; c++) {
        bool begins = c == name || strchr("<, ", c[-1]);
        size_t size = begins && (strncmp(c, "vector<", 7) == 0 || strncmp(c, "matrix<", 7) == 0)
                          ? strcspn(c, ">") + 1
                          : 0;
        spyi_text inner = { NULL, 0, 0 };
        const spyi_type *type = NULL;
        if (size && c[size - 1]) {
            spyi_text_add_n(&inner, c, size);
            type = spyi_type_parse(types, spyi_text_str(&inner));
            spyi_text_free(&inner);
        }
        if (type) {
            spyi_text_add(&out, "%s", type->display);
            c += size - 1;
        } else if (c == name && strncmp(c, "Ptr<", 4) == 0 && strstr(c, defaults)) {
            pointer = true;
            c += 3;
        } else if (pointer && strcmp(c, defaults) == 0) {
            spyi_text_add(&out, "*");
            break;
        } else {
            spyi_text_add_n(&out, c, 1);
        }
    }
    return spyi_type_take(&out);
}

const spyi_type *spyi_type_other(spyi_types *types, const char *name) {
    spyi_type t = spyi_type_blank(SPYI_TYPE_OTHER);
    t.name = spyi_strdup(name && *name ? name : "?");
    t.display = spyi_readable_name(types, t.name);
    t.host_align = t.device_align = 1;
    return spyi_type_intern(types, &t);
}

const spyi_type *spyi_type_opaque(spyi_types *types, const char *name, const spyi_field *fields,
                                  uint32_t count) {
    spyi_type t = spyi_type_blank(SPYI_TYPE_OTHER);
    spyi_field *copy = (spyi_field *)calloc(count ? count : 1, sizeof *copy);
    if (!copy) return types->void_type;
    t.name = spyi_strdup(name);
    t.display = spyi_readable_name(types, name);
    t.host_align = t.device_align = 1;
    t.fields = copy;
    t.field_count = count;
    for (uint32_t i = 0; i < count; ++i) {
        copy[i].name = spyi_strdup(fields[i].name);
        copy[i].type = fields[i].type;
        copy[i].device_offset = fields[i].device_offset;
    }
    return spyi_type_intern(types, &t);
}

size_t spyi_type_device_stride(const spyi_type *type) {
    return spyi_align(type->device_size, type->device_align);
}

size_t spyi_type_host_stride(const spyi_type *type) {
    return type->host_size; // C pads the end of a struct
}

// >>names of built-in types

// Every name that Slang has for a scalar.
static const struct {
    const char *name;
    spy_dtype scalar;
} spyi_type_scalar_names[] = {
    { "bool", SPY_BOOL },         { "int8_t", SPY_INT8 },       { "uint8_t", SPY_UINT8 },
    { "int16_t", SPY_INT16 },     { "uint16_t", SPY_UINT16 },   { "int32_t", SPY_INT32 },
    { "uint32_t", SPY_UINT32 },   { "int64_t", SPY_INT64 },     { "uint64_t", SPY_UINT64 },
    { "float16_t", SPY_FLOAT16 }, { "float32_t", SPY_FLOAT32 }, { "float64_t", SPY_FLOAT64 },
    { "int", SPY_INT32 },         { "uint", SPY_UINT32 },       { "half", SPY_FLOAT16 },
    { "float", SPY_FLOAT32 },     { "double", SPY_FLOAT64 },
};

static void spyi_type_skip(const char **at) {
    while (**at == ' ' || **at == '\t') ++*at;
}

static bool spyi_type_token(const char **at, char token) {
    spyi_type_skip(at);
    if (**at != token) return false;
    ++*at;
    spyi_type_skip(at);
    return true;
}

static bool spyi_type_number(const char **at, int64_t *value) {
    spyi_type_skip(at);
    if (**at < '0' || **at > '9') return false;
    int64_t v = 0;
    for (; **at >= '0' && **at <= '9'; ++*at) {
        if (v > 0x7ffffffff) return false;
        v = v * 10 + (**at - '0');
    }
    *value = v;
    return true;
}

static bool spyi_type_parse_scalar(const char **at, spy_dtype *scalar) {
    size_t best = 0;
    for (size_t i = 0; i < sizeof spyi_type_scalar_names / sizeof spyi_type_scalar_names[0]; ++i) {
        size_t n = strlen(spyi_type_scalar_names[i].name);
        if (n > best && strncmp(*at, spyi_type_scalar_names[i].name, n) == 0) {
            best = n;
            *scalar = spyi_type_scalar_names[i].scalar;
        }
    }
    *at += best;
    return best > 0;
}

static bool spyi_type_word(const char **at, const char *word) { // `word` and then '<'
    size_t n = strlen(word);
    if (strncmp(*at, word, n) != 0) return false;
    const char *after = *at + n;
    if (!spyi_type_token(&after, '<')) return false;
    *at = after;
    return true;
}

// Sizes beyond 4 are not Slang's built-in vectors and matrices.
static bool spyi_type_small(int64_t n) {
    return n >= 1 && n <= 4;
}

static const spyi_type *spyi_type_parse_at(spyi_types *types, const char **at, int depth) {
    spy_dtype scalar = SPY_DTYPE_DEFAULT;
    int64_t rows = 0, columns = 0;
    const spyi_type *type = NULL;
    if (depth > 16) return NULL;
    spyi_type_skip(at);
    if (spyi_type_word(at, "vector")) {
        if (!spyi_type_parse_scalar(at, &scalar) || !spyi_type_token(at, ',') ||
            !spyi_type_number(at, &columns) || !spyi_type_token(at, '>') || !spyi_type_small(columns))
            return NULL;
        type = spyi_type_vector(types, scalar, (uint32_t)columns);
    } else if (spyi_type_word(at, "matrix")) {
        if (!spyi_type_parse_scalar(at, &scalar) || !spyi_type_token(at, ',') ||
            !spyi_type_number(at, &rows) || !spyi_type_token(at, ',') || !spyi_type_number(at, &columns) ||
            !spyi_type_token(at, '>') || !spyi_type_small(rows) || !spyi_type_small(columns))
            return NULL;
        type = spyi_type_matrix(types, scalar, (uint32_t)rows, (uint32_t)columns);
    } else if (spyi_type_word(at, "Array")) {
        const spyi_type *element = spyi_type_parse_at(types, at, depth + 1);
        if (!element || !spyi_type_token(at, ',') || !spyi_type_number(at, &columns) ||
            !spyi_type_token(at, '>'))
            return NULL;
        type = spyi_type_array(types, element, columns);
    } else if (spyi_type_parse_scalar(at, &scalar)) {
        type = spyi_type_scalar(types, scalar);
        if (**at >= '0' && **at <= '9') {
            if (!spyi_type_number(at, &columns) || !spyi_type_small(columns)) return NULL;
            if (**at == 'x') {
                ++*at;
                rows = columns;
                if (!spyi_type_number(at, &columns) || !spyi_type_small(columns)) return NULL;
                type = spyi_type_matrix(types, scalar, (uint32_t)rows, (uint32_t)columns);
            } else {
                type = spyi_type_vector(types, scalar, (uint32_t)columns);
            }
        }
        if (**at == '_' || (**at >= 'a' && **at <= 'z') || (**at >= 'A' && **at <= 'Z'))
            return NULL; // "float3_of_mine"
    } else if (strncmp(*at, "void", 4) == 0) {
        *at += 4;
        spyi_type_skip(at);
        return **at == '\0' ? types->void_type : NULL;
    } else {
        return NULL;
    }
    int64_t sizes[16];
    int count = 0;
    while (spyi_type_token(at, '[')) {
        if (count == 16 || !spyi_type_number(at, &sizes[count++]) || !spyi_type_token(at, ']')) return NULL;
    }
    while (count > 0) type = spyi_type_array(types, type, sizes[--count]); // the last size is the innermost
    return type;
}

const spyi_type *spyi_type_parse(spyi_types *types, const char *name) {
    if (!name) return NULL;
    const char *at = name;
    const spyi_type *type = spyi_type_parse_at(types, &at, 0);
    spyi_type_skip(&at);
    return type && *at == '\0' && type->kind != SPYI_TYPE_OTHER ? type : NULL;
}

// >>copies between layouts

static void spyi_type_copy(const spyi_type *type, char *to, const char *from, size_t count, bool to_device) {
    size_t host = spyi_type_host_stride(type), device = spyi_type_device_stride(type);
    size_t to_step = to_device ? device : host, from_step = to_device ? host : device;
    if (count == 0) return;
    if (type->same_layout) {
        // The device's last element may end before C's padding: nothing is written behind it.
        memcpy(to, from,
               (count - 1) * host +
                   (type->host_size < type->device_size ? type->host_size : type->device_size));
        return;
    }
    for (size_t i = 0; i < count; ++i, to += to_step, from += from_step) {
        switch (type->kind) {
        case SPYI_TYPE_SCALAR:
            if (type->scalar ==
                SPY_BOOL) { // the one scalar whose width differs: 1 byte here, a 32-bit word there
                uint32_t wide = 0;
                uint8_t narrow = 0;
                if (to_device) {
                    memcpy(&narrow, from, sizeof narrow);
                    wide = narrow != 0;
                    memcpy(to, &wide, sizeof wide);
                } else {
                    memcpy(&wide, from, sizeof wide);
                    narrow = wide != 0;
                    memcpy(to, &narrow, sizeof narrow);
                }
            } else {
                memcpy(to, from, type->host_size);
            }
            break;
        case SPYI_TYPE_VECTOR: spyi_type_copy(type->element, to, from, type->columns, to_device); break;
        case SPYI_TYPE_MATRIX: spyi_type_copy(type->element, to, from, type->rows, to_device); break;
        case SPYI_TYPE_ARRAY: spyi_type_copy(type->element, to, from, (size_t)type->count, to_device); break;
        case SPYI_TYPE_STRUCT:
            for (uint32_t f = 0; f < type->field_count; ++f) {
                const spyi_field *field = &type->fields[f];
                spyi_type_copy(field->type, to + (to_device ? field->device_offset : field->host_offset),
                               from + (to_device ? field->host_offset : field->device_offset), 1, to_device);
            }
            break;
        case SPYI_TYPE_VOID:
        case SPYI_TYPE_OTHER: break;
        }
    }
}

void spyi_type_to_device(const spyi_type *type, void *device, const void *host, size_t count) {
    spyi_type_copy(type, (char *)device, (const char *)host, count, true);
}

void spyi_type_to_host(const spyi_type *type, void *host, const void *device, size_t count) {
    spyi_type_copy(type, (char *)host, (const char *)device, count, false);
}

// >>compiler/convert.c --------------------------------------------------------------------------------------

// Scalars from one dtype to another, with the rules for what fits. Source: design.md, "Values and types".

// >>half

// Round to nearest even, straight from double: one rounding, also for subnormal halves.
uint16_t spyi_float_to_half(double value) {
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    uint16_t sign = (uint16_t)((bits >> 48) & 0x8000u);
    int exponent = (int)((bits >> 52) & 0x7ff) - 1023;
    uint64_t mantissa = bits & 0xfffffffffffffull;
    if (exponent == 1024) { // infinity; a NaN stays one
        uint16_t payload = mantissa ? (uint16_t)(0x200u | (uint16_t)(mantissa >> 42)) : (uint16_t)0;
        return (uint16_t)(sign | 0x7c00u | payload);
    }
    if (exponent > 15) return (uint16_t)(sign | 0x7c00u);
    if (exponent < -25) return sign;
    mantissa |= 0x10000000000000ull;
    // Keep 11 bits of a normal number, fewer of a subnormal one. Carries walk into the exponent by themselves.
    int drop = exponent >= -14 ? 42 : 42 + (-14 - exponent);
    uint64_t kept = mantissa >> drop, rest = mantissa & ((1ull << drop) - 1), middle = 1ull << (drop - 1);
    if (rest > middle || (rest == middle && (kept & 1))) ++kept;
    uint32_t half = exponent >= -14 ? (uint32_t)kept + ((uint32_t)(exponent + 14) << 10) : (uint32_t)kept;
    return (uint16_t)(sign | half);
}

double spyi_half_to_float(uint16_t half) {
    uint64_t sign = (uint64_t)(half & 0x8000u) << 48, mantissa = half & 0x3ffu, bits;
    int exponent = (half >> 10) & 31;
    double value;
    if (exponent == 31) {
        bits = sign | 0x7ff0000000000000ull | mantissa << 42;
    } else if (exponent == 0) {
        value = (double)mantissa / 16777216.0; // 2^-24
        memcpy(&bits, &value, sizeof bits);
        bits |= sign;
    } else {
        bits = sign | (uint64_t)(exponent + 1008) << 52 | mantissa << 42;
    }
    memcpy(&value, &bits, sizeof value);
    return value;
}

// >>one scalar: read into the widest type of its kind, check, write

typedef enum spyi_scalar_kind {
    SPYI_SCALAR_SIGNED,
    SPYI_SCALAR_UNSIGNED,
    SPYI_SCALAR_FLOAT
} spyi_scalar_kind;

typedef struct spyi_any_scalar {
    spyi_scalar_kind kind;
    int64_t i;
    uint64_t u;
    double f;
} spyi_any_scalar;

static spyi_any_scalar spyi_scalar_read(const char *from, spy_dtype type) {
    spyi_any_scalar s = { SPYI_SCALAR_SIGNED, 0, 0, 0 };
#define SPYI_READ(ctype, scalar_kind, member, wide)                                                          \
    {                                                                                                        \
        ctype v;                                                                                             \
        memcpy(&v, from, sizeof v);                                                                          \
        s.kind = scalar_kind;                                                                                \
        s.member = (wide)v;                                                                                  \
    }                                                                                                        \
    break
    switch (type) {
    case SPY_BOOL:
        s.kind = SPYI_SCALAR_UNSIGNED;
        s.u = *from != 0;
        break;
    case SPY_INT8: SPYI_READ(int8_t, SPYI_SCALAR_SIGNED, i, int64_t);
    case SPY_INT16: SPYI_READ(int16_t, SPYI_SCALAR_SIGNED, i, int64_t);
    case SPY_INT32: SPYI_READ(int32_t, SPYI_SCALAR_SIGNED, i, int64_t);
    case SPY_INT64: SPYI_READ(int64_t, SPYI_SCALAR_SIGNED, i, int64_t);
    case SPY_UINT8: SPYI_READ(uint8_t, SPYI_SCALAR_UNSIGNED, u, uint64_t);
    case SPY_UINT16: SPYI_READ(uint16_t, SPYI_SCALAR_UNSIGNED, u, uint64_t);
    case SPY_UINT32: SPYI_READ(uint32_t, SPYI_SCALAR_UNSIGNED, u, uint64_t);
    case SPY_UINT64: SPYI_READ(uint64_t, SPYI_SCALAR_UNSIGNED, u, uint64_t);
    case SPY_FLOAT64: SPYI_READ(double, SPYI_SCALAR_FLOAT, f, double);
    case SPY_FLOAT16: {
        uint16_t half;
        memcpy(&half, from, sizeof half);
        s.kind = SPYI_SCALAR_FLOAT;
        s.f = spyi_half_to_float(half);
        break;
    }
    case SPY_FLOAT32:
    case SPY_DTYPE_DEFAULT:
    case SPY_DTYPE_COUNT:
    default: SPYI_READ(float, SPYI_SCALAR_FLOAT, f, double);
    }
#undef SPYI_READ
    return s;
}

static void spyi_integer_range(spy_dtype type, int64_t *low, uint64_t *high) {
    unsigned bits = (unsigned)spyi_scalar_size(type) * 8;
    bool is_signed = type == SPY_INT8 || type == SPY_INT16 || type == SPY_INT32 || type == SPY_INT64;
    *high = bits == 64 ? UINT64_MAX : (1ull << bits) - 1;
    if (is_signed) *high >>= 1;
    *low = is_signed ? -(int64_t)*high - 1 : 0;
}

static bool spyi_scalar_fits(const spyi_any_scalar *s, spy_dtype type) {
    int64_t low;
    uint64_t high;
    if (type == SPY_BOOL || type == SPY_FLOAT16 || type == SPY_FLOAT32 || type == SPY_FLOAT64 ||
        type == SPY_DTYPE_DEFAULT)
        return true;
    spyi_integer_range(type, &low, &high);
    if (s->kind == SPYI_SCALAR_UNSIGNED) return s->u <= high;
    if (s->kind == SPYI_SCALAR_SIGNED) return s->i >= low && (s->i < 0 || (uint64_t)s->i <= high);
    // Whole and in range. 2^63 and 2^64 are exact in double where INT64_MAX and UINT64_MAX are not, hence `<`.
    if (!(s->f >= (double)low && s->f < (double)(high / 2 + 1) * 2.0)) return false; // a NaN fails too
    return s->f < 0 ? (double)(int64_t)s->f == s->f : (double)(uint64_t)s->f == s->f;
}

static void spyi_scalar_write(char *to, spy_dtype type, const spyi_any_scalar *s) {
    // Two's complement makes one 64-bit pattern of all three kinds.
    uint64_t bits = s->kind == SPYI_SCALAR_UNSIGNED ? s->u : (uint64_t)s->i;
    if (type == SPY_FLOAT16) {
        double v = s->kind == SPYI_SCALAR_FLOAT    ? s->f
                   : s->kind == SPYI_SCALAR_SIGNED ? (double)s->i
                                                   : (double)s->u;
        uint16_t half = spyi_float_to_half(v); // integers that double rounds are beyond half's range
        memcpy(to, &half, sizeof half);
    } else if (type == SPY_FLOAT32 || type == SPY_DTYPE_DEFAULT) {
        float v = s->kind == SPYI_SCALAR_FLOAT    ? (float)s->f
                  : s->kind == SPYI_SCALAR_SIGNED ? (float)s->i
                                                  : (float)s->u;
        memcpy(to, &v, sizeof v);
    } else if (type == SPY_FLOAT64) {
        double v = s->kind == SPYI_SCALAR_FLOAT    ? s->f
                   : s->kind == SPYI_SCALAR_SIGNED ? (double)s->i
                                                   : (double)s->u;
        memcpy(to, &v, sizeof v);
    } else if (type == SPY_BOOL) {
        uint8_t v = s->kind == SPYI_SCALAR_FLOAT ? s->f != 0 : bits != 0;
        memcpy(to, &v, sizeof v);
    } else {
        if (s->kind == SPYI_SCALAR_FLOAT) bits = s->f < 0 ? (uint64_t)(int64_t)s->f : (uint64_t)s->f;
        switch (spyi_scalar_size(type)) {
        case 1: {
            uint8_t v = (uint8_t)bits;
            memcpy(to, &v, sizeof v);
            break;
        }
        case 2: {
            uint16_t v = (uint16_t)bits;
            memcpy(to, &v, sizeof v);
            break;
        }
        case 4: {
            uint32_t v = (uint32_t)bits;
            memcpy(to, &v, sizeof v);
            break;
        }
        default: memcpy(to, &bits, sizeof bits); break;
        }
    }
}

// >>the entry point

bool spyi_convert_scalars(void *to, spy_dtype to_type, const void *from, spy_dtype from_type, size_t count) {
    char *out = (char *)to;
    const char *in = (const char *)from;
    size_t to_size = spyi_scalar_size(to_type), from_size = spyi_scalar_size(from_type);
    if (count == 0) return true;
    if (to_type == from_type && to_type != SPY_BOOL) {
        memcpy(out, in, count * to_size);
        return true;
    }
    for (size_t i = 0; i < count; ++i) { // all are checked before the first is written
        spyi_any_scalar s = spyi_scalar_read(in + i * from_size, from_type);
        if (!spyi_scalar_fits(&s, to_type)) return false;
    }
    for (size_t i = 0; i < count; ++i) {
        spyi_any_scalar s = spyi_scalar_read(in + i * from_size, from_type);
        spyi_scalar_write(out + i * to_size, to_type, &s);
    }
    return true;
}

// >>compiler/diagnostics.c ----------------------------------------------------------------------------------

// The compiler's diagnostics, made readable. With option 143 libslang writes one line each, tab-separated:
// code, severity, file, line, column, end line, end column, message; a primary line is followed by its spans
// and notes. Anything else (internal errors come as plain text) is passed on as it is.

void spyi_sl_blob_free(spyi_sl_blob **blob) {
    if (*blob) (*blob)->v->release(*blob);
    *blob = NULL;
}

enum { SPYI_DIAGNOSTIC_FIELDS = 8 };

typedef struct spyi_diagnostic_field {
    const char *text;
    size_t size;
} spyi_diagnostic_field;

static bool spyi_diagnostic_is(const spyi_diagnostic_field *f, const char *word) {
    return f->size == strlen(word) && memcmp(f->text, word, f->size) == 0;
}

// Whether the line has all eight fields; the message may hold tabs.
static bool spyi_diagnostic_split(const char *line, size_t size, spyi_diagnostic_field *fields) {
    const char *end = line + size;
    for (int i = 0; i < SPYI_DIAGNOSTIC_FIELDS; ++i) {
        const char *tab =
            i + 1 < SPYI_DIAGNOSTIC_FIELDS ? (const char *)memchr(line, '\t', (size_t)(end - line)) : end;
        if (!tab) return false;
        fields[i].text = line;
        fields[i].size = (size_t)(tab - line);
        line = tab < end ? tab + 1 : end;
    }
    return fields[0].size > 0 && fields[0].text[0] == 'E';
}

static bool spyi_diagnostic_same_place(const spyi_diagnostic_field *a, const spyi_diagnostic_field *b) {
    for (int i = 2; i <= 4; ++i)
        if (a[i].size != b[i].size || memcmp(a[i].text, b[i].text, a[i].size) != 0) return false;
    return true;
}

static void spyi_diagnostic_place(const spyi_diagnostic_field *f, const char *hidden, spyi_text *out) {
    if (f[2].size == 0 || (hidden && spyi_diagnostic_is(&f[2], hidden))) return;
    spyi_text_add(out, "%.*s:%.*s:%.*s: ", (int)f[2].size, f[2].text, (int)f[3].size, f[3].text,
                  (int)f[4].size, f[4].text);
}

// Lines that only say that an earlier error ended the work.
static bool spyi_diagnostic_is_echo(const spyi_diagnostic_field *f) {
    static const char *const echo[] = { "import failed due to compilation error", "compilation ceased" };
    for (size_t i = 0; i < sizeof echo / sizeof echo[0]; ++i)
        if (spyi_diagnostic_is(&f[7], echo[i])) return true;
    return false;
}

typedef struct spyi_diagnostic_state {
    spyi_diagnostic_field primary[SPYI_DIAGNOSTIC_FIELDS];
    spyi_diagnostic_field detail; // text of the first span at the primary's place
    bool open;                    // the primary is not yet written
    const char *hidden;
    spyi_text *out;
} spyi_diagnostic_state;

// Write the primary line, which has waited for its detail: "unexpected token: unexpected ')', expected
// identifier".
static void spyi_diagnostic_close(spyi_diagnostic_state *state) {
    const spyi_diagnostic_field *f = state->primary;
    spyi_diagnostic_field text = f[7], more = state->detail;
    if (!state->open) return;
    state->open = false;
    if (more.size >= text.size &&
        memcmp(more.text, text.text, text.size) == 0) { // "undefined identifier 'y'" says it all
        text = more;
        more.size = 0;
    }
    if (more.size && more.text[more.size - 1] == '.') more.size--;
    if (!more.size && text.size && text.text[text.size - 1] == '.') text.size--;
    spyi_diagnostic_place(f, state->hidden, state->out);
    spyi_text_add(state->out, "%.*s: %.*s%s%.*s (%.*s)\n", (int)f[1].size, f[1].text, (int)text.size,
                  text.text, more.size ? ": " : "", (int)more.size, more.size ? more.text : "",
                  (int)f[0].size, f[0].text);
}

void spyi_sl_diagnostics(spyi_sl_blob **blob, const char *hidden, spyi_text *out) {
    if (!*blob) return;
    const char *at = (const char *)(*blob)->v->getBufferPointer(*blob);
    size_t left = at ? (*blob)->v->getBufferSize(*blob) : 0, begin = out->size;
    spyi_diagnostic_field f[SPYI_DIAGNOSTIC_FIELDS];
    spyi_diagnostic_state state;
    bool dropped = false; // the last primary line was an echo: its spans go too
    memset(&state, 0, sizeof state);
    state.hidden = hidden;
    state.out = out;
    while (left > 0) {
        const char *newline = (const char *)memchr(at, '\n', left);
        size_t size = newline ? (size_t)(newline - at) : left;
        const char *line = at;
        at += newline ? size + 1 : size;
        left -= newline ? size + 1 : size;
        while (size > 0 && (line[size - 1] == '\r' || line[size - 1] == '\0')) --size;
        if (size == 0) continue;
        if (size > 19 && memcmp(line, "abort compilation: E", 20) == 0)
            continue; // says the line before again
        if (!spyi_diagnostic_split(line, size, f)) {
            spyi_diagnostic_close(&state);
            spyi_text_add_n(out, line, size);
            spyi_text_add_n(out, "\n", 1);
            continue;
        }
        bool span = spyi_diagnostic_is(&f[1], "span"), note = spyi_diagnostic_is(&f[1], "note");
        if (span && (dropped || f[7].size == 0)) continue;
        if (span && state.open && !state.detail.size && spyi_diagnostic_same_place(f, state.primary)) {
            state.detail = f[7];
            continue;
        }
        spyi_diagnostic_close(&state);
        if (span || note) {
            spyi_text_add(out, "  ");
            spyi_diagnostic_place(f, hidden, out);
            spyi_text_add(out, "note: %.*s\n", (int)f[7].size, f[7].text);
            continue;
        }
        dropped = spyi_diagnostic_is_echo(f) && out->size > begin;
        if (dropped) continue;
        memcpy(state.primary, f, sizeof f);
        state.detail.size = 0;
        state.open = true;
    }
    spyi_diagnostic_close(&state);
    if (out->size > begin && out->data[out->size - 1] == '\n') out->data[--out->size] = '\0';
    spyi_sl_blob_free(blob);
}

// >>compiler/library.c --------------------------------------------------------------------------------------

// Finding and opening libslang, and the process's one global session. Order of the search: design.md,
// "Finding the compiler".

#if defined(_WIN32)
#define SPYI_SL_FILE_NAMES                                                                                   \
    { "slang-compiler.dll", "slang.dll" }
#elif defined(__APPLE__)
#define SPYI_SL_FILE_NAMES                                                                                   \
    { "libslang-compiler.dylib", "libslang-compiler.0.2026.14.1.dylib", "libslang.dylib" }
#else
#define SPYI_SL_FILE_NAMES                                                                                   \
    { "libslang-compiler.so", "libslang-compiler.so.0.2026.14.1", "libslang.so" }
#endif

// With the thread's last error, the only mutable global of the library: under the global lock.
static spyi_sl_library spyi_sl_the_library;

// Open `path` and fill the table. On failure one line about it goes to `tried`, and the table is as before.
static bool spyi_sl_open(const char *path, spyi_sl_library *library, spyi_text *tried) {
    void *handle = spyi_library_open(path);
    if (!handle) {
        spyi_text_add(tried, "  %s: %s\n", path, spyi_library_error());
        return false;
    }
    spyi_sl_library found;
    memset(&found, 0, sizeof found);
    const char *missing = NULL;
    void *symbol = NULL;
#define SPYI_SL_LOAD(result, name, arguments)                                                                \
    symbol = spyi_library_symbol(handle, #name);                                                             \
    if (symbol) memcpy(&found.name, &symbol, sizeof symbol);                                                 \
    else if (!missing) missing = #name;
    SPYI_SL_FUNCTIONS(SPYI_SL_LOAD)
#undef SPYI_SL_LOAD
    const char *version = found.spGetBuildTagString ? found.spGetBuildTagString() : NULL;
    if (missing) {
        if (version)
            spyi_text_add(tried, "  %s: is Slang %s, too old: it has no %s\n", path, version, missing);
        else
            spyi_text_add(tried, "  %s: is a library, but not Slang's compiler: it has no %s\n", path,
                          missing);
        spyi_library_close(handle);
        return false;
    }
    found.handle = handle;
    found.path = spyi_strdup(path);
    found.version = spyi_strdup(version ? version : "unknown");
    free(library->path);
    free(library->version);
    *library = found;
    return true;
}

static bool spyi_sl_search(const char *path, spyi_sl_library *library, spyi_text *tried) {
    static const char *const names[] = SPYI_SL_FILE_NAMES;
    size_t count = sizeof names / sizeof names[0];
    // A path that somebody named is the one they get: no silent fallback.
    if (path) {
        spyi_text_add(tried, "  (the device's slang_library)\n");
        return spyi_sl_open(path, library, tried);
    }
    const char *named = getenv("SLANGPY_SLANG_LIBRARY");
    if (named && *named) {
        spyi_text_add(tried, "  (environment variable SLANGPY_SLANG_LIBRARY)\n");
        return spyi_sl_open(named, library, tried);
    }
    spyi_text folder = { NULL, 0, 0 }, file = { NULL, 0, 0 };
    bool found = false;
    spyi_own_folder(&folder);
    for (size_t i = 0; i < count && !found && folder.size; ++i) {
        spyi_text_clear(&file);
        spyi_text_add(&file, "%s/%s", spyi_text_str(&folder), names[i]);
        if (spyi_file_exists(spyi_text_str(&file)))
            found = spyi_sl_open(spyi_text_str(&file), library, tried);
        else spyi_text_add(tried, "  %s: no such file\n", spyi_text_str(&file));
    }
    for (size_t i = 0; i < count && !found; ++i) found = spyi_sl_open(names[i], library, tried);
    spyi_text_free(&file);
    spyi_text_free(&folder);
    return found;
}

spy_status spyi_sl_acquire(const char *path, const spyi_sl_library **result, spyi_text *error) {
    spyi_sl_library *library = &spyi_sl_the_library;
    spy_status status = SPY_OK;
    spyi_text tried = { NULL, 0, 0 };
    spyi_global_lock();
    if (library->users > 0 && path && strcmp(path, library->path) != 0) {
        void *other = spyi_library_open(path); // a second name of the same file gives the same handle
        if (other) spyi_library_close(other);
        if (other != library->handle) {
            spyi_text_add(error,
                          "the Slang compiler %s cannot be used: this process already uses %s (Slang %s), "
                          "and one process "
                          "uses one; give all devices the same slang_library",
                          path, library->path, library->version);
            status = SPY_ERROR_NO_COMPILER;
        }
    }
    const char *named = path ? path : getenv("SLANGPY_SLANG_LIBRARY");
    bool wanted =
        !library->handle || (library->users == 0 && named && *named && strcmp(named, library->path) != 0);
    if (status == SPY_OK && wanted && !spyi_sl_search(path, library, &tried)) {
        spyi_text_add(error,
                      "the Slang compiler library cannot be opened. Tried:\n%sTo get it, run tools/setup, or "
                      "python3 -m pip download --no-deps slangtorch==1.3.22 and unpack libslang-compiler "
                      "from that wheel; then set "
                      "SLANGPY_SLANG_LIBRARY or the device's slang_library to its path",
                      spyi_text_str(&tried));
        status = SPY_ERROR_NO_COMPILER;
    }
    if (status == SPY_OK && !library->global) {
        spyi_sl_global_desc desc;
        memset(&desc, 0, sizeof desc);
        desc.structureSize = (uint32_t)sizeof desc;
        desc.minLanguageVersion = 2025;
        if (library->slang_createGlobalSession2(&desc, &library->global) < 0 || !library->global) {
            library->global = NULL;
            spyi_text_add(error, "%s (Slang %s) cannot make a session", library->path, library->version);
            status = SPY_ERROR_NO_COMPILER;
        }
    }
    if (status == SPY_OK) {
        library->users++;
        *result = library;
    }
    spyi_global_unlock();
    spyi_text_free(&tried);
    return status;
}

void spyi_sl_release(void) {
    spyi_sl_library *library = &spyi_sl_the_library;
    spyi_global_lock();
    if (library->users > 0 && --library->users == 0) {
        library->global->v->release(library->global);
        library->global = NULL;
        // slang_shutdown is left out: slang.h forbids new sessions after it, and a program may make a new
        // device.
    }
    spyi_global_unlock();
}

// >>compiler/source.c ---------------------------------------------------------------------------------------

// Where a unit's text comes from: the file hook, the disk, the search paths. What was asked for is remembered with a
// stamp of each file, so that a change is noticed; what precompiled modules hold is checked before Slang sees it.

// >>files that a unit depends on

static uint64_t spyi_source_stamp(const spyi_compiler *c, const char *path) {
    uint64_t stamp = c->hook.stamp ? c->hook.stamp(path, c->hook.user_data) : 0;
    return stamp ? stamp : spyi_file_stamp(path);
}

static void spyi_unit_watch(spyi_unit *unit, const char *path, uint64_t stamp) {
    for (size_t i = 0; i < unit->watched_count; ++i)
        if (strcmp(unit->watched[i].path, path) == 0) return;
    if (unit->watched_count % 16 == 0) {
        spyi_sl_watched *grown =
            (spyi_sl_watched *)realloc(unit->watched, (unit->watched_count + 16) * sizeof *grown);
        if (!grown) return; // one file less to notice
        unit->watched = grown;
    }
    unit->watched[unit->watched_count].path = spyi_strdup(path);
    unit->watched[unit->watched_count].stamp = stamp;
    if (unit->watched[unit->watched_count].path) unit->watched_count++;
}

void spyi_unit_unwatch(spyi_unit *unit) {
    for (size_t i = 0; i < unit->watched_count; ++i) free(unit->watched[i].path);
    free(unit->watched);
    unit->watched = NULL;
    unit->watched_count = 0;
}

void spyi_unit_watch_too(spyi_unit *unit, spyi_unit *failed) {
    spyi_sl_watched *old = unit->watched;
    size_t count = unit->watched_count;
    unit->watched = failed ? failed->watched : NULL;
    unit->watched_count = failed ? failed->watched_count : 0;
    if (failed) {
        failed->watched = NULL;
        failed->watched_count = 0;
    }
    for (size_t i = 0; i < count; ++i) {
        spyi_unit_watch(unit, old[i].path, spyi_source_stamp(unit->compiler, old[i].path));
        free(old[i].path);
    }
    free(old);
}

bool spyi_unit_changed(const spyi_unit *unit) {
    for (size_t i = 0; i < unit->watched_count; ++i)
        if (spyi_source_stamp(unit->compiler, unit->watched[i].path) != unit->watched[i].stamp) return true;
    return false;
}

// "a/./b/../c.slang" and "a\c.slang" become "a/c.slang": a path is compared as it is meant.
static void spyi_source_plain_path(const char *path, spyi_text *out) {
    if (*path == '/' || *path == '\\') spyi_text_add(out, "/");
    size_t root = out->size, climbs = root; // up to `climbs` there are only ".."
    while (*path) {
        size_t n = strcspn(path, "/\\");
        bool up = n == 2 && path[0] == '.' && path[1] == '.';
        if (up && out->size > climbs) { // takes the last part off
            while (out->size > root && out->data[out->size - 1] != '/') --out->size;
            if (out->size > root) --out->size;
            out->data[out->size] = '\0';
        } else if (n && !(n == 1 && path[0] == '.')) {
            if (out->size > root) spyi_text_add(out, "/");
            spyi_text_add_n(out, path, n);
            if (up) climbs = out->size;
        }
        path += n + (path[n] != '\0');
    }
}

bool spyi_unit_reads(const spyi_unit *unit, const spyi_unit *other) {
    if (other->has_given && !other->given_path) return false; // its path is made up
    spyi_text wanted = { NULL, 0, 0 }, path = { NULL, 0, 0 };
    bool found = false;
    spyi_source_plain_path(other->path, &wanted);
    for (size_t i = 0; i < unit->watched_count && !found; ++i) {
        spyi_text_clear(&path);
        spyi_source_plain_path(unit->watched[i].path, &path);
        found = unit->watched[i].stamp && strcmp(spyi_text_str(&path), spyi_text_str(&wanted)) == 0;
    }
    spyi_text_free(&path);
    spyi_text_free(&wanted);
    return found;
}

// >>reading

bool spyi_source_read(spyi_compiler *c, const char *path, spyi_text *out) {
    spyi_sl_loading *loading = c->loading;
    // Stamped before it is read: what is written meanwhile counts as a change.
    if (loading) spyi_unit_watch(loading->unit, path, spyi_source_stamp(c, path));
    spy_file file;
    memset(&file, 0, sizeof file);
    if (!c->hook.open || !c->hook.open(path, &file, c->hook.user_data)) return spyi_file_read(path, out);
    bool good = file.data || file.size_bytes == 0;
    spyi_text_clear(out);
    if (good && file.size_bytes) spyi_text_add_n(out, (const char *)file.data, file.size_bytes);
    if (!good && loading)
        spyi_text_add(&loading->notes, "%s: the file hook gave %zu bytes at NULL\n", path, file.size_bytes);
    if (c->hook.close) c->hook.close(&file, c->hook.user_data);
    return good;
}

static bool spyi_source_is_absolute(const char *path) {
    return path[0] == '/' || path[0] == '\\' || (path[0] && path[1] == ':');
}

spy_status spyi_source_find(spyi_unit *unit, const char *path, spyi_text *out, spyi_text *error) {
    spyi_compiler *c = unit->compiler;
    if (spyi_source_read(c, path, out)) return SPY_OK;
    size_t count = spyi_source_is_absolute(path) ? 0 : unit->include_path_count + c->include_path_count;
    spyi_text at = { NULL, 0, 0 };
    spyi_text_add(error, "%s: the file cannot be read", path);
    for (size_t i = 0; i < count; ++i) {
        const char *folder = i < unit->include_path_count ? unit->include_paths[i]
                                                          : c->include_paths[i - unit->include_path_count];
        spyi_text_clear(&at);
        spyi_text_add(&at, "%s/%s", folder, path);
        if (spyi_source_read(c, at.data, out)) {
            free(unit->path);
            unit->path = at.data;
            spyi_text_free(error);
            return SPY_OK;
        }
        spyi_text_add(error, "%s%s", i ? ", " : "; nor is it in the include paths ", folder);
    }
    spyi_text_free(&at);
    return SPY_ERROR_IO;
}

// >>precompiled modules

// libslang crashes on a damaged module (in 15 of 40 tries with one byte to twenty changed) and on one that another
// version wrote. So a file that we write ends with a seal, which Slang's own readers skip: a word and a hash of what
// stands before it. Of a file without one (slangc's) only the frame and the version can be checked.
static const char spyi_source_seal_word[8] = { 'S', 'P', 'Y', 'S', 'E', 'A', 'L', '1' };
enum { SPYI_SOURCE_SEAL_SIZE = 16, SPYI_SOURCE_FRAME_SIZE = 12 };

bool spyi_source_is_precompiled(const char *path) {
    static const char ending[] = ".slang-module";
    size_t n = path ? strlen(path) : 0;
    return n >= sizeof ending - 1 && strcmp(path + n - (sizeof ending - 1), ending) == 0;
}

void spyi_source_seal(spyi_text *bytes) {
    uint64_t hash = spyi_hash(bytes->data, bytes->size, 0);
    spyi_text_add_n(bytes, spyi_source_seal_word, sizeof spyi_source_seal_word);
    spyi_text_add_n(bytes, (const char *)&hash, sizeof hash);
}

bool spyi_source_unseal(const spyi_sl_library *library, spyi_sl_session *session, spyi_text *bytes,
                        spyi_text *error) {
    size_t size = bytes->size, framed = 0;
    if (size < SPYI_SOURCE_FRAME_SIZE || memcmp(bytes->data, "RIFF", 4) != 0) {
        spyi_text_add(error, "is not a precompiled Slang module, or damaged at its beginning");
        return false;
    }
    for (int i = 3; i >= 0; --i) framed = framed << 8 | (uint8_t)bytes->data[4 + i];
    framed += 8;
    bool room = size >= SPYI_SOURCE_FRAME_SIZE + SPYI_SOURCE_SEAL_SIZE;
    const char *seal = bytes->data + (room ? size - SPYI_SOURCE_SEAL_SIZE : 0);
    bool sealed = room && memcmp(seal, spyi_source_seal_word, sizeof spyi_source_seal_word) == 0;
    if (sealed) bytes->size = size - SPYI_SOURCE_SEAL_SIZE;
    bool good = bytes->size == framed;
    if (sealed && good) {
        uint64_t hash = spyi_hash(bytes->data, framed, 0);
        good = memcmp(seal + sizeof spyi_source_seal_word, &hash, sizeof hash) == 0;
    }
    if (!good) {
        spyi_text_add(error, "is damaged or cut off (%zu bytes)", size);
        return false;
    }
    spyi_sl_int version = 0;
    const char *writer = NULL, *name = NULL;
    spyi_sl_blob *blob = library->slang_createBlob(bytes->data, bytes->size);
    spyi_sl_result result =
        blob ? session->v->loadModuleInfoFromIRBlob(session, blob, &version, &writer, &name) : -1;
    if (result < 0 || !writer) {
        spyi_text_add(error, "is not a precompiled Slang module, or damaged");
        good = false;
    } else if (strcmp(writer, library->version) != 0) {
        spyi_text_add(error, "was written by Slang %s, and only that version can read it; this is Slang %s",
                      writer, library->version);
        good = false;
    }
    spyi_sl_blob_free(&blob);
    return good;
}

bool spyi_unit_serialize(spyi_unit *unit, spyi_text *out) {
    spyi_sl_blob *blob = NULL;
    spyi_global_lock();
    spyi_sl_module *module = unit->live->module;
    bool good = module->v->serialize(module, &blob) >= 0 && blob && blob->v->getBufferSize(blob) > 0;
    spyi_text_clear(out);
    if (good)
        spyi_text_add_n(out, (const char *)blob->v->getBufferPointer(blob), blob->v->getBufferSize(blob));
    spyi_sl_blob_free(&blob);
    spyi_global_unlock();
    if (good) spyi_source_seal(out);
    return good;
}

// >>compiler/options.c --------------------------------------------------------------------------------------

// Compile options of a unit: what is asked of every session that has it, and what cannot be had.

static spyi_sl_option spyi_sl_int_option(int32_t name, int32_t value) {
    spyi_sl_option o;
    memset(&o, 0, sizeof o);
    o.name = name;
    o.value.kind = SPYI_SL_OPTION_KIND_INT;
    o.value.int0 = value;
    return o;
}

// Level 0 leaves out spirv-opt, which the driver's own compiler makes up for: the slangtorch wheel lacks its library
// (slang-glslang), and both wheels then give the same code. Slang's own passes run all the same.
static int32_t spyi_sl_optimization(spy_optimization o) {
    switch (o) {
    case SPY_OPTIMIZATION_LOW: return SPYI_SL_OPTIMIZATION_DEFAULT;
    case SPY_OPTIMIZATION_HIGH: return SPYI_SL_OPTIMIZATION_HIGH;
    case SPY_OPTIMIZATION_HIGHEST: return SPYI_SL_OPTIMIZATION_MAXIMAL;
    default: return SPYI_SL_OPTIMIZATION_NONE;
    }
}

uint32_t spyi_sl_options(const spyi_unit *unit, spyi_sl_option out[SPYI_SL_MOST_OPTIONS]) {
    const spy_compile_options *o = &unit->options;
    uint32_t n = 0;
    out[n++] = spyi_sl_int_option(SPYI_SL_OPTION_USE_ENTRY_POINT_NAME, 1);
    out[n++] = spyi_sl_int_option(SPYI_SL_OPTION_SCALAR_LAYOUT, 1);
    out[n++] = spyi_sl_int_option(SPYI_SL_OPTION_MACHINE_READABLE_DIAGNOSTICS, 1);
    out[n++] = spyi_sl_int_option(SPYI_SL_OPTION_DIAGNOSTIC_COLOR, SPYI_SL_COLOR_NEVER);
    out[n++] = spyi_sl_int_option(SPYI_SL_OPTION_SKIP_SPIRV_VALIDATION, 1);
    if (unit->compiler->target == SPYI_TARGET_SPIRV)
        out[n++] = spyi_sl_int_option(SPYI_SL_OPTION_OPTIMIZATION, spyi_sl_optimization(o->optimization));
    if (o->debug_info == SPY_DEBUG_INFO_LINES || o->debug_info == SPY_DEBUG_INFO_FULL)
        out[n++] = spyi_sl_int_option(SPYI_SL_OPTION_DEBUG_INFO, o->debug_info == SPY_DEBUG_INFO_FULL
                                                                     ? SPYI_SL_DEBUG_STANDARD
                                                                     : SPYI_SL_DEBUG_MINIMAL);
    if (o->float_mode != SPY_FLOAT_MODE_DEFAULT)
        out[n++] = spyi_sl_int_option(SPYI_SL_OPTION_FLOAT_MODE, o->float_mode == SPY_FLOAT_MODE_FAST
                                                                     ? SPYI_SL_FLOAT_FAST
                                                                     : SPYI_SL_FLOAT_PRECISE);
    if (o->experimental_features) out[n++] = spyi_sl_int_option(SPYI_SL_OPTION_EXPERIMENTAL, 1);
    SPYI_ASSERT(n <= SPYI_SL_MOST_OPTIONS);
    return n;
}

// 2026.12 gives the same code for precise as without it, 2026.14.1 decorates each operation with NoContraction.
static bool spyi_sl_knows_precise(const char *version) {
    char *end = NULL;
    unsigned long year = strtoul(version, &end, 10);
    unsigned long release = *end == '.' ? strtoul(end + 1, NULL, 10) : 0;
    return year > 2026 || (year == 2026 && release >= 14);
}

spy_status spyi_sl_check_options(const spyi_unit *unit, spyi_text *notes, spyi_text *error) {
    const spy_compile_options *o = &unit->options;
    const spyi_sl_library *lib = unit->compiler->library;
    if ((unsigned)o->optimization > SPY_OPTIMIZATION_HIGHEST ||
        (unsigned)o->debug_info > SPY_DEBUG_INFO_FULL || (unsigned)o->float_mode > SPY_FLOAT_MODE_FAST) {
        spyi_text_add(error,
                      "options have optimization %d, debug_info %d, float_mode %d; one is not of its enum",
                      (int)o->optimization, (int)o->debug_info, (int)o->float_mode);
        return SPY_ERROR_INVALID_ARGUMENT;
    }
    bool optimize = o->optimization > SPY_OPTIMIZATION_NONE;
    if (unit->compiler->target != SPYI_TARGET_SPIRV) {
        if (!optimize && o->debug_info <= SPY_DEBUG_INFO_NONE && o->float_mode == SPY_FLOAT_MODE_DEFAULT)
            return SPY_OK;
        spyi_text_add(error,
                      "options.optimization, debug_info and float_mode reach SPIR-V only, not this backend");
        return SPY_ERROR_UNSUPPORTED;
    }
    if (optimize &&
        lib->global->v->checkPassThroughSupport(lib->global, SPYI_SL_PASS_THROUGH_SPIRV_OPT) < 0) {
        spyi_text_add(
            error,
            "options.optimization needs the library slang-glslang of Slang %s beside %s; without it only "
            "SPY_OPTIMIZATION_NONE is possible",
            lib->version, lib->path);
        return SPY_ERROR_UNSUPPORTED;
    }
    if (o->float_mode == SPY_FLOAT_MODE_PRECISE && !spyi_sl_knows_precise(lib->version)) {
        spyi_text_add(error,
                      "options.float_mode: Slang %s makes the same SPIR-V for PRECISE as without it; 2026.14 "
                      "and later honour it",
                      lib->version);
        return SPY_ERROR_UNSUPPORTED;
    }
    if (o->float_mode == SPY_FLOAT_MODE_FAST)
        spyi_text_add(notes, "options.float_mode: FAST has no effect on SPIR-V\n");
    return SPY_OK;
}

// >>compiler/session.c --------------------------------------------------------------------------------------

// Compilers, units and their sessions: reading a module's file, loading it with what it imports, keeping all
// of it in serialized form, and replacing the session by a fresh one before it grows (libslang never frees a
// module).

// >>small helpers

static char **spyi_sl_copy_strings(const char *const *strings, size_t count) {
    char **copy = (char **)calloc(count ? count : 1, sizeof *copy);
    for (size_t i = 0; copy && i < count; ++i) copy[i] = spyi_strdup(strings[i] ? strings[i] : "");
    return copy;
}

static void spyi_sl_free_strings(char **strings, size_t count) {
    for (size_t i = 0; strings && i < count; ++i) free(strings[i]);
    free(strings);
}

// The folder of a path, without its last slash; "." when it has none.
static void spyi_sl_folder(const char *path, spyi_text *out) {
    const char *end = NULL;
    for (const char *p = path; *p; ++p)
        if (*p == '/' || *p == '\\') end = p;
    if (!end) spyi_text_add(out, ".");
    else if (end == path) spyi_text_add(out, "/");
    else spyi_text_add_n(out, path, (size_t)(end - path));
}

// A name that `import` accepts: "my-shader.v2" becomes my_shader_v2.
static char *spyi_sl_module_name(const char *name, const char *path) {
    spyi_text text = { NULL, 0, 0 };
    if (!name && path) {
        name = path;
        for (const char *p = path; *p; ++p)
            if (*p == '/' || *p == '\\') name = p + 1;
        const char *dot = strrchr(name, '.');
        spyi_text_add_n(&text, name, dot && dot != name ? (size_t)(dot - name) : strlen(name));
    } else {
        spyi_text_add(&text, "%s", name && *name ? name : "module");
    }
    if (!text.size || (text.data[0] >= '0' && text.data[0] <= '9')) {
        spyi_text with = { NULL, 0, 0 };
        spyi_text_add(&with, "_%s", spyi_text_str(&text));
        spyi_text_free(&text);
        text = with;
    }
    for (char *p = text.data; *p; ++p) {
        bool word =
            (*p >= 'a' && *p <= 'z') || (*p >= 'A' && *p <= 'Z') || (*p >= '0' && *p <= '9') || *p == '_';
        if (!word) *p = '_';
    }
    char *result = spyi_strdup(text.data);
    spyi_text_free(&text);
    return result;
}

// >>files that Slang asks for: the disk's, and the embedded modules in a folder of their own

#define SPYI_SL_EMBEDDED_FOLDER "slangpy-embedded"

static void *spyi_sl_files_cast(spyi_sl_files *self, const spyi_sl_uuid *uuid) {
    static const spyi_sl_uuid ours[] = { SPYI_SL_UUID_UNKNOWN, SPYI_SL_UUID_CASTABLE, SPYI_SL_UUID_FILES };
    for (size_t i = 0; i < sizeof ours / sizeof ours[0]; ++i)
        if (memcmp(uuid, &ours[i], sizeof *uuid) == 0) return self;
    return NULL; // Slang asks for private interfaces first
}

static spyi_sl_result spyi_sl_files_query(spyi_sl_files *self, const spyi_sl_uuid *uuid, void **out) {
    *out = spyi_sl_files_cast(self, uuid);
    return *out ? SPYI_SL_OK : SPYI_SL_NO_INTERFACE;
}

// The object is a part of its compiler, which outlives every session: nothing to count.
static uint32_t spyi_sl_files_count(spyi_sl_files *self) {
    (void)self;
    return 1;
}

static spyi_sl_result spyi_sl_files_load(spyi_sl_files *self, const char *path, spyi_sl_blob **out) {
    spyi_compiler *compiler = ((spyi_sl_source_files *)self)->compiler;
    spyi_sl_loading *loading = compiler->loading;
    spyi_text text = { NULL, 0, 0 };
    const char *embedded = strstr(path, SPYI_SL_EMBEDDED_FOLDER "/");
    bool found = false;
    *out = NULL;
    if (embedded) {
        embedded += strlen(SPYI_SL_EMBEDDED_FOLDER "/");
        for (size_t i = 0; i < compiler->embedded_count && !found; ++i) {
            const spyi_sl_stored *stored = &compiler->embedded_stored[i];
            size_t n = strlen(compiler->embedded[i].name);
            if (strncmp(embedded, compiler->embedded[i].name, n) != 0) continue;
            if (stored->data && strcmp(embedded + n, ".slang-module") == 0) {
                *out = compiler->library->slang_createBlob(stored->data, stored->size);
                return *out ? SPYI_SL_OK : SPYI_SL_NOT_FOUND;
            }
            found = strcmp(embedded + n, ".slang") == 0;
            for (const char *const *line = compiler->embedded[i].lines; found && *line; ++line)
                spyi_text_add(&text, "%s\n", *line);
        }
    } else if (loading) {
        found = spyi_source_read(compiler, path, &text);
        if (found && spyi_source_is_precompiled(path)) { // when it cannot be used, Slang asks for its source
            spyi_text why = { NULL, 0, 0 };
            found = spyi_source_unseal(compiler->library, loading->session, &text, &why);
            if (!found) spyi_text_add(&loading->notes, "%s %s\n", path, spyi_text_str(&why));
            spyi_text_free(&why);
        }
    }
    if (found) {
        if (text.size == 0) spyi_text_add(&text, "\n"); // an empty blob is no file to Slang
        *out = compiler->library->slang_createBlob(text.data, text.size);
    }
    spyi_text_free(&text);
    return *out ? SPYI_SL_OK : SPYI_SL_NOT_FOUND;
}

static const spyi_sl_files_table spyi_sl_files_functions = {
    spyi_sl_files_query, spyi_sl_files_count, spyi_sl_files_count, spyi_sl_files_cast, spyi_sl_files_load,
};

// >>sessions

static spyi_sl_session *spyi_sl_open_session(const spyi_unit *unit) {
    spyi_compiler *c = unit->compiler;
    spyi_sl_global *global = c->library->global;
    spyi_sl_session *session = NULL;
    spyi_sl_option options[SPYI_SL_MOST_OPTIONS];
    uint32_t option_count = spyi_sl_options(unit, options);

    spyi_sl_target_desc target;
    memset(&target, 0, sizeof target);
    target.structureSize = sizeof target;
    target.format = c->target == SPYI_TARGET_SPIRV ? SPYI_SL_TARGET_SPIRV : SPYI_SL_TARGET_CUDA_SOURCE;
    target.profile = c->target == SPYI_TARGET_SPIRV ? global->v->findProfile(global, "spirv_1_5") : 0;
    target.flags = SPYI_SL_TARGET_FLAG_SPIRV_DIRECTLY;
    target.lineDirectiveMode = SPYI_SL_LINE_DIRECTIVES_NONE;
    target.forceGLSLScalarBufferLayout = true;
    target.compilerOptionEntries = options;
    target.compilerOptionEntryCount = option_count;

    size_t path_count = 0, most = unit->include_path_count + c->include_path_count + 2;
    const char **paths = (const char **)calloc(most, sizeof *paths);
    spyi_sl_macro *macros = (spyi_sl_macro *)calloc(unit->define_count + 1, sizeof *macros);
    spyi_text folder = { NULL, 0, 0 };
    if (paths && macros) {
        spyi_sl_folder(unit->path, &folder);
        paths[path_count++] = spyi_text_str(&folder);
        for (size_t i = 0; i < unit->include_path_count; ++i) paths[path_count++] = unit->include_paths[i];
        for (size_t i = 0; i < c->include_path_count; ++i) paths[path_count++] = c->include_paths[i];
        if (c->embedded_count) paths[path_count++] = SPYI_SL_EMBEDDED_FOLDER;
        for (size_t i = 0; i < unit->define_count; ++i) {
            macros[i].name = unit->defines[i].name;
            macros[i].value = unit->defines[i].value;
        }
        spyi_sl_session_desc desc;
        memset(&desc, 0, sizeof desc);
        desc.structureSize = sizeof desc;
        desc.targets = &target;
        desc.targetCount = 1;
        desc.defaultMatrixLayoutMode = SPYI_SL_MATRIX_ROW_MAJOR;
        desc.searchPaths = paths;
        desc.searchPathCount = (spyi_sl_int)path_count;
        desc.preprocessorMacros = macros;
        desc.preprocessorMacroCount = (spyi_sl_int)unit->define_count;
        desc.fileSystem = &c->files.object;
        desc.compilerOptionEntries = options;
        desc.compilerOptionEntryCount = option_count;
        desc.skipSPIRVValidation = true;
        if (global->v->createSession(global, &desc, &session) < 0) session = NULL;
    }
    spyi_text_free(&folder);
    free(paths);
    free(macros);
    return session;
}

static void spyi_sl_live_close(spyi_sl_live *live) {
    if (!live) return;
    for (uint32_t i = 0; i < live->conformance_count; ++i)
        live->conformances[i]->v->release(live->conformances[i]);
    free((void *)live->conformances);
    if (live->session) live->session->v->release(live->session); // its modules go with it
    free(live->links);
    free(live->by_id);
    free(live->known);
    free(live);
}

static bool spyi_sl_is_loaded(spyi_sl_session *session, const char *name, spyi_sl_module **module) {
    spyi_sl_int count = session->v->getLoadedModuleCount(session);
    for (spyi_sl_int i = 0; i < count; ++i) {
        spyi_sl_module *m = session->v->getLoadedModule(session, i);
        const char *loaded = m ? m->v->getName(m) : NULL;
        if (loaded && strcmp(loaded, name) == 0) {
            *module = m;
            return true;
        }
    }
    return false;
}

// Load what is not there yet out of `stored`; gives the module called `name`, or NULL. libslang wants imports
// loaded before their importers, so what fails is tried again after the others.
static spyi_sl_module *spyi_sl_load_stored(spyi_compiler *c, spyi_sl_session *session,
                                           const spyi_sl_stored *stored, size_t count, const char *name) {
    spyi_sl_module *module = NULL;
    spyi_sl_loading *loading = c->loading;
    c->loading = NULL; // the files may have changed since
    size_t missing = count, before = count + 1;
    while (missing > 0 && missing < before) {
        before = missing;
        missing = 0;
        for (size_t i = 0; i < count; ++i) {
            if (spyi_sl_is_loaded(session, stored[i].name, &module)) continue;
            spyi_sl_blob *diagnostics = NULL,
                         *blob = c->library->slang_createBlob(stored[i].data, stored[i].size);
            module = blob ? session->v->loadModuleFromIRBlob(session, stored[i].name, stored[i].path, blob,
                                                             &diagnostics)
                          : NULL;
            spyi_sl_blob_free(&diagnostics);
            spyi_sl_blob_free(&blob);
            if (!module) ++missing;
        }
    }
    c->loading = loading;
    return missing == 0 && spyi_sl_is_loaded(session, name, &module) ? module : NULL;
}

static void spyi_sl_stored_free(spyi_sl_stored *stored, size_t count) {
    for (size_t i = 0; i < count; ++i) {
        free(stored[i].name);
        free(stored[i].path);
        free(stored[i].data);
    }
    free(stored);
}

static bool spyi_sl_serialize(spyi_sl_module *module, spyi_sl_stored *stored) {
    spyi_sl_blob *blob = NULL;
    if (module->v->serialize(module, &blob) < 0 || !blob) return false;
    size_t size = blob->v->getBufferSize(blob);
    const char *name = module->v->getName(module), *path = module->v->getFilePath(module);
    stored->name = spyi_strdup(name ? name : "");
    stored->path = spyi_strdup(path ? path : "");
    stored->data = malloc(size ? size : 1);
    stored->size = size;
    if (stored->data) memcpy(stored->data, blob->v->getBufferPointer(blob), size);
    spyi_sl_blob_free(&blob);
    return stored->data != NULL;
}

// The next sessions get the embedded modules that this one has compiled in serialized form.
static void spyi_sl_keep_embedded(spyi_compiler *compiler, spyi_sl_session *session) {
    for (size_t i = 0; i < compiler->embedded_count; ++i) {
        spyi_sl_module *module = NULL;
        if (compiler->embedded_stored[i].data ||
            !spyi_sl_is_loaded(session, compiler->embedded[i].name, &module))
            continue;
        const char *path = module->v->getFilePath(module);
        if (path && strstr(path, SPYI_SL_EMBEDDED_FOLDER)) // not a user's file of that name
            spyi_sl_serialize(module, &compiler->embedded_stored[i]);
    }
}

// Keep the modules that came with the unit, not what kernels have added since. Done when first needed:
// serializing takes a twentieth of the time of loading.
static bool spyi_sl_store(spyi_unit *unit) {
    if (unit->stored) return true;
    spyi_sl_session *session = unit->live->session;
    spyi_sl_stored *stored = (spyi_sl_stored *)calloc(unit->module_count + 1, sizeof *stored);
    size_t kept = 0;
    bool good = stored != NULL;
    for (size_t i = 0; i < unit->module_count && good; ++i) {
        spyi_sl_module *m = session->v->getLoadedModule(session, (spyi_sl_int)i);
        good = m && spyi_sl_serialize(m, &stored[kept++]);
    }
    if (!good) {
        spyi_sl_stored_free(stored, kept);
        return false;
    }
    unit->stored = stored;
    unit->stored_count = kept;
    return true;
}

static bool spyi_sl_imports(const spyi_unit *unit, const char *name) {
    for (size_t i = 0; i < unit->stored_count; ++i)
        if (strcmp(unit->stored[i].name, name) == 0 && strcmp(unit->name, name) != 0) return true;
    return false;
}

// The unit's own module, from its text or its precompiled form.
static spyi_sl_module *spyi_sl_load_content(spyi_unit *unit, spyi_sl_session *session, spyi_text *content,
                                            spyi_text *messages) {
    const spyi_sl_library *library = unit->compiler->library;
    spyi_sl_blob *diagnostics = NULL, *blob = NULL;
    spyi_sl_module *module = NULL;
    unit->compiler->loading->session = session;
    if (!unit->precompiled) {
        module = session->v->loadModuleFromSourceString(session, unit->name, unit->path,
                                                        spyi_text_str(content), &diagnostics);
    } else if (spyi_source_unseal(library, session, content, messages)) {
        blob = library->slang_createBlob(content->data, content->size);
        module = blob ? session->v->loadModuleFromIRBlob(session, unit->name, unit->path, blob, &diagnostics)
                      : NULL;
        if (!module && !diagnostics) spyi_text_add(messages, "is not a precompiled Slang module, or damaged");
    }
    spyi_sl_diagnostics(&diagnostics, NULL, messages);
    spyi_sl_blob_free(&blob);
    return module;
}

// The unit's conformances as parts of programs. On failure `messages` says which one is none.
static bool spyi_sl_conform(spyi_unit *unit, spyi_sl_live *live, spyi_text *messages) {
    live->conformances =
        (spyi_sl_component **)calloc(unit->conformance_count + 1, sizeof(spyi_sl_component *));
    for (size_t i = 0; live->conformances && i < unit->conformance_count; ++i) {
        spyi_sl_component *made = spyi_sl_conformance(unit, live, unit->conformances[i], messages);
        if (!made) return false;
        live->conformances[live->conformance_count++] = made;
    }
    return live->conformances != NULL;
}

// A session with the unit's modules: from `content`, or from what is stored when that is NULL.
static spyi_sl_live *spyi_sl_live_open(spyi_unit *unit, spyi_text *content, spyi_text *messages) {
    spyi_compiler *c = unit->compiler;
    spyi_sl_live *live = (spyi_sl_live *)calloc(1, sizeof *live);
    spyi_sl_blob *diagnostics = NULL;
    if (!live) return NULL;
    live->session = spyi_sl_open_session(unit);
    live->links = (spyi_sl_component **)calloc(unit->link_count + 1, sizeof(spyi_sl_component *));
    if (!live->session || !live->links) {
        spyi_text_add(messages, "the Slang compiler cannot make a session");
        spyi_sl_live_close(live);
        return NULL;
    }
    // Linked modules come first, unless they import this very module.
    for (int pass = 0; pass < 2; ++pass) {
        if (pass == 1) {
            live->module =
                content ? spyi_sl_load_content(unit, live->session, content, messages)
                        : spyi_sl_load_stored(c, live->session, unit->stored, unit->stored_count, unit->name);
            if (!live->module) break;
        }
        for (size_t i = 0; i < unit->link_count; ++i) {
            spyi_unit *link = unit->links[i];
            bool stored = spyi_sl_store(link);
            if (spyi_sl_imports(link, unit->name) != (pass == 1)) continue;
            if (stored)
                live->links[i] = (spyi_sl_component *)spyi_sl_load_stored(c, live->session, link->stored,
                                                                          link->stored_count, link->name);
            if (!live->links[i]) {
                spyi_text_add(messages, "module '%s' cannot be linked to '%s'", link->name, unit->name);
                spyi_sl_live_close(live);
                return NULL;
            }
        }
    }
    live->link_count = (uint32_t)unit->link_count;
    if (live->module) live->layout = live->module->v->getLayout(live->module, 0, &diagnostics);
    spyi_sl_diagnostics(&diagnostics, NULL, messages);
    if (!live->layout) {
        if (live->module)
            spyi_text_add(messages, "the Slang compiler gives no layout for module '%s'", unit->name);
        spyi_sl_live_close(live);
        return NULL;
    }
    spyi_sl_note_externs(unit, live);
    if (!spyi_sl_conform(unit, live, messages)) {
        spyi_sl_live_close(live);
        return NULL;
    }
    return live;
}

// What a session may keep before it is replaced; see spyi_sl_live_of.
enum { SPYI_SL_MOST_KEPT_KIB = 24 * 1024 };

spyi_sl_live *spyi_sl_live_of(spyi_unit *unit, size_t kib) {
    if (unit->live->kept_kib > SPYI_SL_MOST_KEPT_KIB) {
        spyi_text ignored = { NULL, 0, 0 };
        spyi_sl_live *fresh = spyi_sl_store(unit) ? spyi_sl_live_open(unit, NULL, &ignored) : NULL;
        if (fresh) { // if not, the old one still works, and grows
            spyi_sl_live_close(unit->live);
            unit->live = fresh;
        } else {
            unit->live->kept_kib = 0;
        }
        spyi_text_free(&ignored);
    }
    unit->live->kept_kib += kib;
    return unit->live;
}

// >>compilers

spyi_compiler *spyi_compiler_create(spyi_context *ctx, spyi_types *types, const spyi_compiler_desc *desc) {
    spyi_compiler *c = (spyi_compiler *)calloc(1, sizeof *c);
    if (!c) return NULL;
    c->ctx = ctx;
    c->types = types;
    c->target = desc->target;
    c->library_path = spyi_strdup(desc->library_path);
    c->include_paths = spyi_sl_copy_strings(desc->include_paths, desc->include_path_count);
    c->include_path_count = c->include_paths ? desc->include_path_count : 0;
    c->embedded = desc->embedded;
    c->embedded_stored = (spyi_sl_stored *)calloc(desc->embedded_count + 1, sizeof(spyi_sl_stored));
    c->embedded_count = c->embedded_stored ? desc->embedded_count : 0;
    c->files.object.v = &spyi_sl_files_functions;
    c->files.compiler = c;
    c->hook = desc->files;
    return c;
}

void spyi_compiler_destroy(spyi_compiler *compiler) {
    if (!compiler) return;
    if (compiler->library) spyi_sl_release();
    spyi_sl_free_strings(compiler->include_paths, compiler->include_path_count);
    spyi_sl_stored_free(compiler->embedded_stored, compiler->embedded_count);
    free(compiler->library_path);
    free(compiler);
}

uint64_t spyi_compiler_loads(const spyi_compiler *compiler) {
    return compiler ? (uint64_t)spyi_atomic_load((spyi_atomic *)(uintptr_t)&compiler->loads) : 0;
}

static spy_status spyi_compiler_ready(spyi_compiler *c, spyi_text *error) {
    if (c->library) return SPY_OK;
    const spyi_sl_library *library = NULL;
    spyi_step(c->ctx, "load compiler", false);
    spy_status status = spyi_sl_acquire(c->library_path, &library, error);
    if (status == SPY_OK) {
        c->library = library;
        spyi_atomic_add(&c->loads, 1);
        spyi_logf(c->ctx, SPY_LOG_INFO, "Slang compiler %s: %s", library->version, library->path);
    }
    spyi_step(c->ctx, "load compiler", true);
    return status;
}

// >>units

static void spyi_unit_free(spyi_unit *unit) {
    for (size_t i = 0; i < unit->link_count; ++i) spyi_unit_release(unit->links[i]);
    free(unit->links);
    for (size_t i = 0; i < unit->define_count; ++i) {
        free((void *)(uintptr_t)unit->defines[i].name);
        free((void *)(uintptr_t)unit->defines[i].value);
    }
    free(unit->defines);
    spyi_sl_free_strings(unit->include_paths, unit->include_path_count);
    spyi_sl_free_strings(unit->conformances, unit->conformance_count);
    spyi_sl_stored_free(unit->stored, unit->stored_count);
    spyi_unit_unwatch(unit);
    spyi_text_free(&unit->given);
    free(unit->given_name);
    free(unit->given_path);
    free(unit->name);
    free(unit->path);
    free(unit);
}

static spyi_unit *spyi_unit_make(spyi_compiler *compiler, const spyi_unit_desc *desc) {
    spyi_unit *unit = (spyi_unit *)calloc(1, sizeof *unit);
    if (!unit) return NULL;
    unit->compiler = compiler;
    unit->serial = ++compiler->unit_count;
    spyi_atomic_store(&unit->references, 1);
    unit->name = spyi_sl_module_name(desc->name, desc->path);
    unit->given_name = spyi_strdup(desc->name);
    unit->given_path = spyi_strdup(desc->path);
    unit->has_given = desc->source || desc->precompiled;
    unit->precompiled = desc->precompiled || (!desc->source && spyi_source_is_precompiled(desc->path));
    if (desc->precompiled)
        spyi_text_add_n(&unit->given, (const char *)desc->precompiled, desc->precompiled_size);
    else if (desc->source)
        spyi_text_add_n(&unit->given, desc->source,
                        desc->source_size ? desc->source_size : strlen(desc->source));
    spyi_text path = { NULL, 0, 0 };
    if (desc->path) spyi_text_add(&path, "%s", desc->path);
    else spyi_text_add(&path, "%s.slang%s", unit->name, unit->precompiled ? "-module" : "");
    unit->path = spyi_strdup(spyi_text_str(&path));
    spyi_text_free(&path);
    unit->options = desc->options;
    unit->include_paths = spyi_sl_copy_strings(desc->include_paths, desc->include_path_count);
    unit->include_path_count = unit->include_paths ? desc->include_path_count : 0;
    unit->defines = (spy_define *)calloc(desc->define_count + 1, sizeof *unit->defines);
    for (size_t i = 0; unit->defines && i < desc->define_count; ++i) {
        unit->defines[i].name = spyi_strdup(desc->defines[i].name ? desc->defines[i].name : "");
        unit->defines[i].value = spyi_strdup(desc->defines[i].value ? desc->defines[i].value : "1");
        unit->define_count = i + 1;
    }
    unit->conformances = spyi_sl_copy_strings(desc->conformances, desc->conformance_count);
    unit->conformance_count = unit->conformances ? desc->conformance_count : 0;
    unit->links = (spyi_unit **)calloc(desc->link_count + 1, sizeof(spyi_unit *));
    for (size_t i = 0; unit->links && i < desc->link_count; ++i) {
        unit->links[i] = desc->link[i];
        spyi_atomic_add(&unit->links[i]->references, 1);
        unit->link_count = i + 1;
    }
    return unit;
}

// The unit's text or precompiled bytes, from the desc or its file. `instead`: text to take this time instead of the
// file's, or NULL.
static spy_status spyi_unit_content(spyi_unit *unit, const char *instead, spyi_text *content,
                                    spyi_text *error) {
    const char *place = unit->given_path ? unit->path : "the source";
    if (instead) {
        spyi_text ignored = { NULL, 0, 0 };
        (void)spyi_source_find(unit, unit->given_path, content, &ignored); // its next change is what counts
        spyi_text_free(&ignored);
        spyi_text_clear(content);
        spyi_text_add(content, "%s", instead);
        unit->precompiled = false;
    } else if (unit->has_given) {
        if (unit->given.size) spyi_text_add_n(content, unit->given.data, unit->given.size);
    } else if (!unit->given_path) {
        spyi_text_add(error, "a module needs a path or a source");
        return SPY_ERROR_INVALID_ARGUMENT;
    } else {
        spy_status status = spyi_source_find(unit, unit->given_path, content, error);
        if (status != SPY_OK) return status;
        place = unit->path;
    }
    if (!unit->precompiled && content->size && memchr(content->data, '\0', content->size)) {
        spyi_text_add(error, "%s: is not Slang text: it holds a NUL byte", place);
        return SPY_ERROR_COMPILE;
    }
    return SPY_OK;
}

// Loads what was made; on failure `unit` knows which files that took, and nothing else of it can be used.
static spy_status spyi_unit_open(spyi_unit *unit, const char *instead, spyi_text *error) {
    spyi_compiler *compiler = unit->compiler;
    spyi_text content = { NULL, 0, 0 }, messages = { NULL, 0, 0 }, step = { NULL, 0, 0 };
    spyi_sl_loading loading;
    memset(&loading, 0, sizeof loading);
    loading.unit = unit;
    spyi_global_lock();
    compiler->loading = &loading;
    spy_status status = spyi_unit_content(unit, instead, &content, error);
    compiler->loading = NULL;
    spyi_global_unlock();
    if (status == SPY_OK) status = spyi_compiler_ready(compiler, error);
    if (status == SPY_OK) status = spyi_sl_check_options(unit, &loading.notes, error);
    if (status == SPY_OK) {
        spyi_text_add(&step, "load module %s", unit->name);
        spyi_step(compiler->ctx, spyi_text_str(&step), false);
        spyi_global_lock();
        compiler->loading = &loading;
        unit->live = spyi_sl_live_open(unit, &content, &messages);
        compiler->loading = NULL;
        if (unit->live) {
            unit->module_count = (size_t)unit->live->session->v->getLoadedModuleCount(unit->live->session);
            spyi_sl_module *library = NULL;
            unit->imports_library = spyi_sl_is_loaded(unit->live->session, "slangpy", &library);
        }
        if (unit->live) spyi_sl_keep_embedded(compiler, unit->live->session);
        spyi_global_unlock();
        spyi_step(compiler->ctx, spyi_text_str(&step), true);
        bool strict = unit->live && messages.size && unit->options.warnings_as_errors;
        if (!unit->live || strict) {
            status = SPY_ERROR_COMPILE;
            spyi_text_add(error, "module '%s' %s:\n%s", unit->name,
                          strict              ? "has warnings, which are errors by its options"
                          : unit->precompiled ? "cannot be loaded"
                                              : "does not compile",
                          spyi_text_str(&messages));
        } else if (messages.size) {
            spyi_logf(compiler->ctx, SPY_LOG_WARNING, "module '%s':\n%s", unit->name,
                      spyi_text_str(&messages));
        }
    }
    if (loading.notes.size && status != SPY_OK) spyi_text_add(error, "\n%s", loading.notes.data);
    else if (loading.notes.size)
        spyi_logf(compiler->ctx, SPY_LOG_WARNING, "module '%s': %s", unit->name, loading.notes.data);
    spyi_text_free(&loading.notes);
    spyi_text_free(&content);
    spyi_text_free(&messages);
    spyi_text_free(&step);
    return status;
}

spy_status spyi_unit_load(spyi_compiler *compiler, const spyi_unit_desc *desc, spyi_unit **result,
                          spyi_text *error) {
    spyi_unit *unit = spyi_unit_make(compiler, desc);
    spy_status status = unit ? spyi_unit_open(unit, NULL, error) : SPY_ERROR_OUT_OF_MEMORY;
    *result = status == SPY_OK ? unit : NULL;
    if (status != SPY_OK) spyi_unit_release(unit);
    return status;
}

spy_status spyi_unit_reload(spyi_unit *old, const char *source, spyi_unit *const *link, spyi_unit **fresh,
                            spyi_text *error) {
    spyi_unit_desc desc;
    memset(&desc, 0, sizeof desc);
    desc.path = old->given_path;
    desc.name = old->given_name;
    if (source && old->has_given) {
        desc.source = source;
    } else if (old->has_given && old->precompiled) {
        desc.precompiled = spyi_text_str(&old->given);
        desc.precompiled_size = old->given.size;
    } else if (old->has_given) {
        desc.source = spyi_text_str(&old->given);
        desc.source_size = old->given.size;
    }
    desc.include_paths = (const char *const *)old->include_paths;
    desc.include_path_count = old->include_path_count;
    desc.defines = old->defines;
    desc.define_count = old->define_count;
    desc.link = link;
    desc.link_count = old->link_count;
    desc.conformances = (const char *const *)old->conformances;
    desc.conformance_count = old->conformance_count;
    desc.options = old->options;
    spyi_unit *unit = spyi_unit_make(old->compiler, &desc);
    spy_status status =
        unit ? spyi_unit_open(unit, old->has_given ? NULL : source, error) : SPY_ERROR_OUT_OF_MEMORY;
    *fresh = status == SPY_OK ? unit : NULL;
    if (unit && status != SPY_OK) spyi_unit_give_up(old, unit);
    return status;
}

void spyi_unit_give_up(spyi_unit *unit, spyi_unit *fresh) {
    spyi_unit_watch_too(unit, fresh);
    spyi_unit_release(fresh);
}

void spyi_unit_release(spyi_unit *unit) {
    if (!unit || spyi_atomic_add(&unit->references, -1) > 0) return;
    spyi_global_lock();
    spyi_sl_live_close(unit->live);
    spyi_global_unlock();
    spyi_unit_free(unit);
}

const char *spyi_unit_name(const spyi_unit *unit) {
    return unit->name;
}

bool spyi_unit_imports_library(const spyi_unit *unit) {
    return unit->imports_library;
}

uint32_t spyi_unit_serial(const spyi_unit *unit) {
    return unit->serial;
}

// >>compiler/reflect.c --------------------------------------------------------------------------------------

// Slang's reflection in our terms: names made safe, Slang types to ours and back, functions to signatures.

// >>names

static bool spyi_sl_is_word(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

// libslang parses a name as an expression, and crashes on pointers, calls and unbalanced brackets; it also
// takes the first of two words and drops the rest. Observed with 2026.12 and 2026.14.1.
bool spyi_sl_name_is_safe(const char *name) {
    int depth = 0;
    char before = '\0'; // last character that was no space
    bool space = false;
    if (!name || !((spyi_sl_is_word(*name) && !(*name >= '0' && *name <= '9')))) return false;
    if (strlen(name) > 1000) return false;
    for (const char *p = name; *p; ++p) {
        char c = *p;
        if (c == ' ') {
            space = true;
            continue;
        }
        if (spyi_sl_is_word(c)) {
            if (space && (spyi_sl_is_word(before) || before == '>')) return false; // "float3 float"
            if ((before == '.' || before == ':') && c >= '0' && c <= '9') return false;
            if (before == '>' || before == ']') return false;
        } else if (c == '<') {
            if (!spyi_sl_is_word(before) || ++depth > 8) return false;
        } else if (c == '>') {
            if (depth-- == 0 || !(spyi_sl_is_word(before) || before == '>' || before == ']')) return false;
        } else if (c == ',') {
            if (depth == 0 || !(spyi_sl_is_word(before) || before == '>' || before == ']')) return false;
        } else if (c == '.') {
            if (!spyi_sl_is_word(before) && before != '>') return false;
        } else if (c == ':') {
            if (p[1] != ':' || (!spyi_sl_is_word(before) && before != '>')) return false;
            ++p;
        } else if (c == '-') { // a negative value: Foo<-3>
            if ((before != '<' && before != ',') || p[1] < '0' || p[1] > '9') return false;
        } else if (c == '[') { // sizes only, and only inside <>: outside they are taken off before
            if (depth == 0 || !(spyi_sl_is_word(before) || before == '>' || before == ']')) return false;
            const char *q = p + 1;
            while (*q >= '0' && *q <= '9') ++q;
            if (q == p + 1 || *q != ']') return false;
            p = q;
            c = ']';
        } else {
            return false;
        }
        before = c;
        space = false;
    }
    return depth == 0 && before != '.' && before != ':';
}

// The last part of a qualified name: after "::" or "." outside <>.
static const char *spyi_sl_last_part(const char *name, size_t *prefix) {
    const char *last = name;
    int depth = 0;
    *prefix = 0;
    for (const char *p = name; *p; ++p) {
        if (*p == '<') ++depth;
        else if (*p == '>') --depth;
        else if (depth == 0 && (*p == '.' || *p == ':')) {
            *prefix = (size_t)(p - name);
            if (*p == ':' && p[1] == ':') ++p;
            last = p + 1;
        }
    }
    return last;
}

void spyi_sl_full_name(spyi_unit *unit, spyi_sl_type *slang, spyi_text *out) {
    spyi_sl_blob *blob = NULL;
    if (slang && SPYI_SL_FUNCTION(unit, spReflectionType_GetFullName)(slang, &blob) >= 0 && blob) {
        const char *s = (const char *)blob->v->getBufferPointer(blob);
        size_t size = s ? blob->v->getBufferSize(blob) : 0;
        while (size > 0 && s[size - 1] == '\0') --size;
        if (size) spyi_text_add_n(out, s, size);
    }
    spyi_sl_blob_free(&blob);
}

// >>types

spyi_sl_type *spyi_sl_type_named(spyi_unit *unit, spyi_sl_live *live, const char *name) {
    if (!spyi_sl_name_is_safe(name)) return NULL;
    spyi_sl_type *type = SPYI_SL_FUNCTION(unit, spReflection_FindTypeByName)(live->layout, name);
    live->kept_kib += 1;
    if (!type) return NULL;
    spyi_text full = { NULL, 0, 0 };
    spyi_sl_full_name(unit, type, &full);
    bool good = full.size > 0 && !strstr(spyi_text_str(&full), "<error>"); // "Foo<float>" for Foo<let N:int>
    spyi_text_free(&full);
    return good ? type : NULL;
}

spyi_sl_type *spyi_sl_type_of(spyi_unit *unit, spyi_sl_live *live, const spyi_type *type) {
    if (!type || type->kind == SPYI_TYPE_VOID) return NULL;
    if (type->id >= live->by_id_count) {
        uint32_t count = (type->id + 64) * 2;
        spyi_sl_type **grown = (spyi_sl_type **)realloc((void *)live->by_id, count * sizeof *grown);
        if (!grown) return NULL;
        memset((void *)(grown + live->by_id_count), 0, (count - live->by_id_count) * sizeof *grown);
        live->by_id = grown;
        live->by_id_count = count;
    }
    if (!live->by_id[type->id]) live->by_id[type->id] = spyi_sl_type_named(unit, live, type->name);
    return live->by_id[type->id];
}

static spyi_sl_known *spyi_sl_known_slot(spyi_sl_live *live, const spyi_sl_type *slang) {
    size_t i = (size_t)(((uintptr_t)slang >> 4) * 0x9e3779b97f4a7c15ull >> 20) & (live->known_capacity - 1);
    while (live->known[i].slang && live->known[i].slang != slang) i = (i + 1) & (live->known_capacity - 1);
    return &live->known[i];
}

static void spyi_sl_known_add(spyi_sl_live *live, spyi_sl_type *slang, const spyi_type *type) {
    if (live->known_count * 2 >= live->known_capacity) {
        spyi_sl_known *old = live->known;
        uint32_t old_capacity = live->known_capacity, capacity = old_capacity ? old_capacity * 2 : 64;
        spyi_sl_known *grown = (spyi_sl_known *)calloc(capacity, sizeof *grown);
        if (!grown) return; // only a cache
        live->known = grown;
        live->known_capacity = capacity;
        for (uint32_t i = 0; i < old_capacity; ++i)
            if (old[i].slang) *spyi_sl_known_slot(live, old[i].slang) = old[i];
        free(old);
    }
    spyi_sl_known *slot = spyi_sl_known_slot(live, slang);
    if (!slot->slang) live->known_count++;
    slot->slang = slang;
    slot->type = type;
}

static void spyi_sl_note_externs_in(spyi_unit *unit, spyi_sl_live *live, spyi_sl_decl *decl) {
    const spyi_sl_library *lib = unit->compiler->library;
    unsigned count = lib->spReflectionDecl_getChildrenCount(decl);
    for (unsigned i = 0; i < count; ++i) {
        spyi_sl_decl *child = lib->spReflectionDecl_getChild(decl, i);
        unsigned kind = child ? lib->spReflectionDecl_getKind(child) : 0;
        if (kind == SPYI_SL_DECL_NAMESPACE || kind == SPYI_SL_DECL_STRUCT)
            spyi_sl_note_externs_in(unit, live, child);
        if (kind != SPYI_SL_DECL_STRUCT ||
            !lib->spReflectionDecl_findModifier(child, SPYI_SL_MODIFIER_EXTERN))
            continue;
        spyi_sl_type *type = lib->spReflection_getTypeFromDecl(child);
        if (!type) continue;
        spyi_text name = { NULL, 0, 0 };
        spyi_sl_full_name(unit, type, &name);
        spyi_sl_known_add(live, type, spyi_type_other(unit->compiler->types, spyi_text_str(&name)));
        spyi_text_free(&name);
    }
}

// libslang crashes when it is asked for the layout of an extern struct, or of a struct that has one as a field.
void spyi_sl_note_externs(spyi_unit *unit, spyi_sl_live *live) {
    spyi_sl_int count = live->session->v->getLoadedModuleCount(live->session);
    for (spyi_sl_int i = 0; i < count; ++i) {
        spyi_sl_module *m = live->session->v->getLoadedModule(live->session, i);
        spyi_sl_decl *root = m ? m->v->getModuleReflection(m) : NULL;
        if (root) spyi_sl_note_externs_in(unit, live, root);
    }
}

static spy_dtype spyi_sl_scalar(unsigned slang) { // DEFAULT: none of ours (intptr_t, bfloat16, generic)
    switch (slang) {
    case SPYI_SL_SCALAR_BOOL: return SPY_BOOL;
    case SPYI_SL_SCALAR_INT8: return SPY_INT8;
    case SPYI_SL_SCALAR_UINT8: return SPY_UINT8;
    case SPYI_SL_SCALAR_INT16: return SPY_INT16;
    case SPYI_SL_SCALAR_UINT16: return SPY_UINT16;
    case SPYI_SL_SCALAR_INT32: return SPY_INT32;
    case SPYI_SL_SCALAR_UINT32: return SPY_UINT32;
    case SPYI_SL_SCALAR_INT64: return SPY_INT64;
    case SPYI_SL_SCALAR_UINT64: return SPY_UINT64;
    case SPYI_SL_SCALAR_FLOAT16: return SPY_FLOAT16;
    case SPYI_SL_SCALAR_FLOAT32: return SPY_FLOAT32;
    case SPYI_SL_SCALAR_FLOAT64: return SPY_FLOAT64;
    default: return SPY_DTYPE_DEFAULT;
    }
}

// A struct that has no layout to be asked for: its fields are given one by one.
static const spyi_type *spyi_sl_to_opaque(spyi_unit *unit, spyi_sl_live *live, spyi_sl_type *slang,
                                          const char *name) {
    spyi_types *types = unit->compiler->types;
    const spyi_sl_library *lib = unit->compiler->library;
    unsigned count = lib->spReflectionType_GetFieldCount(slang);
    spyi_field *fields = (spyi_field *)calloc(count + 1, sizeof *fields);
    bool named = fields != NULL;
    for (unsigned i = 0; i < count && named; ++i) {
        spyi_sl_variable *v = lib->spReflectionType_GetFieldByIndex(slang, i);
        fields[i].name = v ? lib->spReflectionVariable_GetName(v) : NULL;
        named = fields[i].name != NULL;
        if (named) fields[i].type = spyi_sl_to_type(unit, live, lib->spReflectionVariable_GetType(v), false);
    }
    const spyi_type *type =
        named ? spyi_type_opaque(types, name, fields, count) : spyi_type_other(types, name);
    free(fields);
    return type;
}

static const spyi_type *spyi_sl_to_struct(spyi_unit *unit, spyi_sl_live *live, spyi_sl_type *slang,
                                          const char *name) {
    spyi_types *types = unit->compiler->types;
    const spyi_sl_library *lib = unit->compiler->library;
    spyi_sl_blob *diagnostics = NULL;
    const spyi_type *type = NULL;
    for (unsigned i = 0; i < lib->spReflectionType_GetFieldCount(slang); ++i) { // before it is laid out
        spyi_sl_variable *v = lib->spReflectionType_GetFieldByIndex(slang, i);
        if (!v ||
            spyi_sl_to_type(unit, live, lib->spReflectionVariable_GetType(v), false)->kind == SPYI_TYPE_OTHER)
            return spyi_sl_to_opaque(unit, live, slang, name);
    }
    spyi_sl_type_layout *layout = live->session->v->getTypeLayout(live->session, slang, 0, 0, &diagnostics);
    spyi_sl_blob_free(&diagnostics);
    if (!layout) return spyi_type_other(types, name);
    unsigned category = SPYI_SL_CATEGORY_UNIFORM, count = lib->spReflectionType_GetFieldCount(slang);
    size_t size = lib->spReflectionTypeLayout_GetSize(layout, category);
    // Tuple and its like have a layout with fields that the type does not list.
    if (lib->spReflectionTypeLayout_GetFieldCount(layout) != count || (count == 0 && size > 0))
        return spyi_type_other(types, name);
    spyi_field *fields = (spyi_field *)calloc(count + 1, sizeof *fields);
    bool named = fields != NULL, plain = true;
    size_t end = 0;
    for (unsigned i = 0; i < count && named; ++i) {
        spyi_sl_variable *variable = lib->spReflectionType_GetFieldByIndex(slang, i);
        spyi_sl_variable_layout *place = lib->spReflectionTypeLayout_GetFieldByIndex(layout, i);
        fields[i].name = variable ? lib->spReflectionVariable_GetName(variable) : NULL;
        named = place && fields[i].name;
        if (!named) break;
        fields[i].type = spyi_sl_to_type(unit, live, lib->spReflectionVariable_GetType(variable), false);
        fields[i].device_offset = lib->spReflectionVariableLayout_GetOffset(place, category);
        plain = plain && fields[i].type->kind != SPYI_TYPE_OTHER && fields[i].type->kind != SPYI_TYPE_VOID &&
                fields[i].device_offset >= end; // else: members share memory, or lie elsewhere
        end = fields[i].device_offset + fields[i].type->device_size;
    }
    int32_t align = lib->spReflectionTypeLayout_getAlignment(layout, category);
    if (named && plain && end <= size && (size_t)align >= 1 && spyi_align(end, (size_t)align) >= size)
        type = spyi_type_struct(types, name, fields, count, size, (size_t)align);
    else if (named && !plain) type = spyi_type_opaque(types, name, fields, count);
    free(fields);
    return type ? type : spyi_type_other(types, name);
}

// The size of an array from its printed name, whose last bracket is the outermost: "float[3][2]"; 2026.12
// prints a size that was inferred for a uint parameter as "float[int(4)]". 0: open or unsized ("T[N]",
// "float[]"), where libslang's own function throws.
static int64_t spyi_sl_printed_count(const char *name) {
    const char *bracket = strrchr(name, '['), *digits;
    if (!bracket) return 0;
    digits = bracket + 1;
    if (strncmp(digits, "int(", 4) == 0) digits += 4;
    else if (strncmp(digits, "uint(", 5) == 0) digits += 5;
    char *end = NULL;
    long long count = strtoll(digits, &end, 10);
    bool whole = end != digits && (*end == ']' || *end == ')' || *end == 'U' || *end == 'u');
    return whole && count > 0 && count < (1ll << 40) ? (int64_t)count : 0;
}

const spyi_type *spyi_sl_to_type(spyi_unit *unit, spyi_sl_live *live, spyi_sl_type *slang, bool open) {
    spyi_types *types = unit->compiler->types;
    const spyi_sl_library *lib = unit->compiler->library;
    const spyi_type *type = NULL;
    if (!slang) return spyi_type_other(types, "?");
    if (live->known_count) {
        const spyi_sl_known *slot = spyi_sl_known_slot(live, slang);
        if (slot->slang) return slot->type;
    }
    spyi_text text = { NULL, 0, 0 };
    spyi_sl_full_name(unit, slang, &text);
    const char *name = spyi_text_str(&text);
    unsigned kind = lib->spReflectionType_GetKind(slang);
    // With open generics about, a type is known to be concrete when its name leads back to it.
    if (open && kind != SPYI_SL_KIND_SCALAR && kind != SPYI_SL_KIND_ARRAY &&
        spyi_sl_type_named(unit, live, name) != slang)
        kind = 0;
    unsigned slang_scalar = 0;
    if (kind == SPYI_SL_KIND_SCALAR || kind == SPYI_SL_KIND_VECTOR || kind == SPYI_SL_KIND_MATRIX)
        slang_scalar = lib->spReflectionType_GetScalarType(slang);
    spy_dtype scalar = spyi_sl_scalar(slang_scalar);
    switch (kind) {
    case SPYI_SL_KIND_SCALAR:
        if (slang_scalar == SPYI_SL_SCALAR_VOID) type = spyi_type_void(types);
        else if (scalar != SPY_DTYPE_DEFAULT) type = spyi_type_scalar(types, scalar);
        break;
    case SPYI_SL_KIND_VECTOR: {
        size_t columns = lib->spReflectionType_GetElementCount(slang);
        if (scalar != SPY_DTYPE_DEFAULT && columns >= 1 && columns <= 4)
            type = spyi_type_vector(types, scalar, (uint32_t)columns);
        break;
    }
    case SPYI_SL_KIND_MATRIX: {
        unsigned rows = lib->spReflectionType_GetRowCount(slang),
                 columns = lib->spReflectionType_GetColumnCount(slang);
        if (scalar != SPY_DTYPE_DEFAULT && rows >= 1 && rows <= 4 && columns >= 1 && columns <= 4)
            type = spyi_type_matrix(types, scalar, rows, columns);
        break;
    }
    case SPYI_SL_KIND_ARRAY: {
        const spyi_type *element =
            spyi_sl_to_type(unit, live, lib->spReflectionType_GetElementType(slang), open);
        int64_t count = spyi_sl_printed_count(name);
        if (element->kind != SPYI_TYPE_OTHER && count >= 1) type = spyi_type_array(types, element, count);
        break;
    }
    case SPYI_SL_KIND_ENUM: {
        spyi_sl_type *tag = lib->spReflectionType_GetElementType(slang);
        scalar = tag ? spyi_sl_scalar(lib->spReflectionType_GetScalarType(tag)) : SPY_DTYPE_DEFAULT;
        if (scalar != SPY_DTYPE_DEFAULT) type = spyi_type_enum(types, name, scalar);
        break;
    }
    case SPYI_SL_KIND_STRUCT: type = spyi_sl_to_struct(unit, live, slang, name); break;
    default: break;
    }
    if (!type) type = spyi_type_other(types, name);
    spyi_text_free(&text);
    spyi_sl_known_add(live, slang, type);
    return type;
}

const spyi_type *spyi_unit_find_type(spyi_unit *unit, const char *name) {
    const spyi_type *type = spyi_type_parse(unit->compiler->types, name);
    if (type || !name) return type;
    // "Foo<3>[4][2]" in C's order: sizes are taken off here, because Slang reads them the other way round.
    int64_t sizes[8];
    int count = 0;
    spyi_text base = { NULL, 0, 0 };
    spyi_text_add(&base, "%s", name);
    while (count < 8 && base.size > 2 && base.data[base.size - 1] == ']') {
        char *bracket = strrchr(base.data, '['), *end = NULL;
        if (!bracket || bracket[1] < '0' || bracket[1] > '9') break;
        sizes[count++] = (int64_t)strtoll(bracket + 1, &end, 10);
        if (*end != ']' || sizes[count - 1] < 1) {
            base.size = 0;
            break;
        }
        *bracket = '\0';
        base.size = (size_t)(bracket - base.data);
    }
    if (base.size) {
        spyi_global_lock();
        spyi_sl_live *live = spyi_sl_live_of(unit, 1);
        spyi_sl_type *slang = spyi_sl_type_named(unit, live, base.data);
        if (slang) type = spyi_sl_to_type(unit, live, slang, false);
        spyi_global_unlock();
    }
    for (int i = 0; i < count && type; ++i)
        type = spyi_type_array(unit->compiler->types, type, sizes[i]); // innermost first
    spyi_text_free(&base);
    return type;
}

// >>functions

uint32_t spyi_sl_overload_count(spyi_unit *unit, spyi_sl_function *function) {
    if (!SPYI_SL_FUNCTION(unit, spReflectionFunction_isOverloaded)(function)) return 1;
    return SPYI_SL_FUNCTION(unit, spReflectionFunction_getOverloadCount)(function);
}

// Slang lists overloads last declared first; people count the other way.
spyi_sl_function *spyi_sl_overload(spyi_unit *unit, spyi_sl_function *function, uint32_t index) {
    uint32_t count = spyi_sl_overload_count(unit, function);
    if (!SPYI_SL_FUNCTION(unit, spReflectionFunction_isOverloaded)(function)) return function;
    return SPYI_SL_FUNCTION(unit, spReflectionFunction_getOverload)(function, count - 1 - index);
}

spyi_sl_type *spyi_sl_owner(spyi_unit *unit, spyi_sl_live *live, const char *name) {
    size_t prefix = 0;
    spyi_sl_last_part(name, &prefix);
    if (!prefix) return NULL;
    spyi_text owner = { NULL, 0, 0 };
    spyi_text_add_n(&owner, name, prefix);
    spyi_sl_type *type = spyi_sl_type_named(unit, live, spyi_text_str(&owner));
    spyi_text_free(&owner);
    return type;
}

bool spyi_sl_needs_instance(spyi_unit *unit, spyi_sl_live *live, spyi_sl_function *function,
                            const char *name) {
    return spyi_sl_owner(unit, live, name) &&
           !SPYI_SL_FUNCTION(unit, spReflectionFunction_FindModifier)(function, SPYI_SL_MODIFIER_STATIC);
}

// Whether the name is that of a struct's constructors: "Foo", "Foo.__init" or "Foo.$init"; then the struct.
static spyi_sl_type *spyi_sl_constructed(spyi_unit *unit, spyi_sl_live *live, const char *name) {
    size_t prefix = 0;
    const char *last = spyi_sl_last_part(name, &prefix);
    spyi_text owner = { NULL, 0, 0 };
    if (prefix && (strcmp(last, "__init") == 0 || strcmp(last, "$init") == 0))
        spyi_text_add_n(&owner, name, prefix);
    else spyi_text_add(&owner, "%s", name);
    spyi_sl_type *type = spyi_sl_type_named(unit, live, spyi_text_str(&owner));
    spyi_text_free(&owner);
    if (type && SPYI_SL_FUNCTION(unit, spReflectionType_GetKind)(type) != SPYI_SL_KIND_STRUCT) type = NULL;
    return type;
}

spyi_sl_function *spyi_sl_find_function(spyi_unit *unit, spyi_sl_live *live, const char *name,
                                        spyi_sl_type **constructed) {
    spyi_sl_function *f = NULL;
    *constructed = NULL;
    live->kept_kib += 1;
    if (spyi_sl_name_is_safe(name))
        f = SPYI_SL_FUNCTION(unit, spReflection_FindFunctionByName)(live->layout, name);
    if (!f && name && (*constructed = spyi_sl_constructed(unit, live, name)) != NULL)
        f = SPYI_SL_FUNCTION(unit, spReflection_FindFunctionByNameInType)(live->layout, *constructed,
                                                                          "$init");
    if (!f) return NULL;
    bool set = SPYI_SL_FUNCTION(unit, spReflectionFunction_isOverloaded)(f);
    if (set && SPYI_SL_FUNCTION(unit, spReflectionFunction_getOverloadCount)(f) == 0) return NULL;
    // A property is found as a function that is none.
    if (!set && !SPYI_SL_FUNCTION(unit, spReflectionFunction_GetResultType)(f)) return NULL;
    return f;
}

// A parameter of the signature's text and list.
static void spyi_sl_add_param(spyi_signature *out, const spyi_param *p, spyi_text *text) {
    spyi_text_add(text, "%s%s%s%s %s%s", out->param_count ? ", " : "", p->no_diff ? "no_diff " : "",
                  p->out ? (p->in ? "inout " : "out ") : "", p->type->display, p->name,
                  p->has_default ? " = ..." : "");
    out->params[out->param_count++] = *p;
}

void spyi_sl_to_signature(spyi_unit *unit, spyi_sl_live *live, spyi_sl_function *function, const char *name,
                          spyi_sl_type *constructed, bool specialised, spyi_signature *out) {
    const spyi_sl_library *lib = unit->compiler->library;
    size_t prefix = 0;
    const char *last = spyi_sl_last_part(name, &prefix), *own = lib->spReflectionFunction_GetName(function);
    memset(out, 0, sizeof *out);
    // Open: a generic whose arguments were neither inferred nor written in the name. "GS<half,3>::f" is open
    // only if it has parameters of its own.
    spyi_sl_generic *generic = lib->spReflectionFunction_GetGenericContainer(function);
    const char *generic_name = generic ? lib->spReflectionGeneric_GetName(generic) : NULL;
    bool owns = !generic_name || !own || strcmp(generic_name, own) == 0;
    out->generic =
        !specialised && generic && !constructed && (!strchr(name, '<') || (owns && !strchr(last, '<')));
    out->differentiable =
        lib->spReflectionFunction_FindModifier(function, SPYI_SL_MODIFIER_DIFFERENTIABLE) != NULL;
    out->result = constructed ? spyi_sl_to_type(unit, live, constructed, false)
                              : spyi_sl_to_type(unit, live, lib->spReflectionFunction_GetResultType(function),
                                                out->generic);
    bool method = !constructed && spyi_sl_needs_instance(unit, live, function, name);
    out->callee = constructed ? SPYI_CALLEE_CONSTRUCTOR : method ? SPYI_CALLEE_METHOD : SPYI_CALLEE_FUNCTION;
    out->spelling = spyi_strdup(constructed ? out->result->name : method ? last : name);
    unsigned count = lib->spReflectionFunction_GetParameterCount(function);
    out->params = (spyi_param *)calloc(count + 2, sizeof *out->params);
    spyi_text text = { NULL, 0, 0 };
    if (!constructed) spyi_text_add(&text, "%s ", out->result->display);
    spyi_text_add(&text, "%.*s(",
                  (int)(strchr(name, '<') && specialised ? (last - name) + (ptrdiff_t)strcspn(last, "<")
                                                         : (ptrdiff_t)strlen(name)),
                  name);
    if (method && out->params) {
        spyi_param p;
        memset(&p, 0, sizeof p);
        p.name = spyi_strdup("this");
        p.type = spyi_sl_to_type(unit, live, spyi_sl_owner(unit, live, name), false);
        p.in = true;
        p.out = lib->spReflectionFunction_FindModifier(function, SPYI_SL_MODIFIER_MUTATING) != NULL;
        spyi_sl_add_param(out, &p, &text);
    }
    for (unsigned i = 0; i < count && out->params; ++i) {
        spyi_sl_variable *v = lib->spReflectionFunction_GetParameter(function, i);
        spyi_sl_type *type = v ? lib->spReflectionVariable_GetType(v) : NULL;
        const char *param_name = v ? lib->spReflectionVariable_GetName(v) : NULL;
        spyi_param p;
        memset(&p, 0, sizeof p);
        if (!v) continue;
        p.type = spyi_sl_to_type(unit, live, type, out->generic);
        // An empty pack is listed as one parameter of a type without a name: it takes no argument.
        if (p.type->kind == SPYI_TYPE_OTHER && strcmp(p.type->name, "?") == 0 && specialised) continue;
        p.name = spyi_strdup(param_name ? param_name : "");
        bool is_out = lib->spReflectionVariable_FindModifier(v, SPYI_SL_MODIFIER_OUT) != NULL;
        bool is_inout = lib->spReflectionVariable_FindModifier(v, SPYI_SL_MODIFIER_INOUT) != NULL;
        p.out = is_out || is_inout;
        p.in = !is_out || is_inout;
        p.no_diff = lib->spReflectionVariable_FindModifier(v, SPYI_SL_MODIFIER_NO_DIFF) != NULL;
        p.has_default = lib->spReflectionVariable_HasDefaultValue(v);
        spyi_sl_add_param(out, &p, &text);
    }
    spyi_text_add(&text, ")");
    out->display = spyi_strdup(spyi_text_str(&text));
    spyi_text_free(&text);
}

spy_status spyi_unit_find_function(spyi_unit *unit, const char *name, spyi_overloads *out, spyi_text *error) {
    memset(out, 0, sizeof *out);
    spyi_global_lock();
    spyi_sl_live *live = spyi_sl_live_of(unit, 1);
    spyi_sl_type *constructed = NULL;
    spyi_sl_function *found = spyi_sl_find_function(unit, live, name, &constructed);
    uint32_t count = found ? spyi_sl_overload_count(unit, found) : 0;
    out->items = (spyi_signature *)calloc(count + 1, sizeof *out->items);
    for (uint32_t i = 0; i < count && out->items; ++i)
        spyi_sl_to_signature(unit, live, spyi_sl_overload(unit, found, i), name, constructed, false,
                             &out->items[out->count++]);
    spyi_global_unlock();
    if (out->items) return SPY_OK;
    spyi_text_add(error, "out of host memory");
    return SPY_ERROR_OUT_OF_MEMORY;
}

void spyi_signature_free(spyi_signature *signature) {
    if (!signature) return;
    for (uint32_t i = 0; i < signature->param_count; ++i) free((void *)(uintptr_t)signature->params[i].name);
    free(signature->params);
    free(signature->display);
    free(signature->spelling);
    memset(signature, 0, sizeof *signature);
}

void spyi_overloads_free(spyi_overloads *overloads) {
    if (!overloads) return;
    for (uint32_t i = 0; i < overloads->count; ++i) spyi_signature_free(&overloads->items[i]);
    free(overloads->items);
    memset(overloads, 0, sizeof *overloads);
}

// >>compiler/names.c ----------------------------------------------------------------------------------------

// The names in a module, for "did you mean".

enum { SPYI_SL_DEEPEST = 8 };

void spyi_near_offer(spyi_near *near_names, const char *name) {
    size_t length = strlen(near_names->wanted);
    unsigned distance = spyi_edit_distance(near_names->wanted, name),
             most = (unsigned)(length / 3 < 2 ? 2 : length / 3);
    // Half of a short name is another name.
    if (distance > most || distance >= length) return;
    for (uint32_t i = 0; i < near_names->count; ++i)
        if (strcmp(near_names->names[i], name) == 0) return; // another overload
    uint32_t at = near_names->count;
    while (at > 0 && near_names->distances[at - 1] > distance) --at;
    if (at == SPYI_NEAR_COUNT) return;
    if (near_names->count == SPYI_NEAR_COUNT) free(near_names->names[--near_names->count]);
    for (uint32_t i = near_names->count; i > at; --i) {
        near_names->names[i] = near_names->names[i - 1];
        near_names->distances[i] = near_names->distances[i - 1];
    }
    near_names->names[at] = spyi_strdup(name);
    near_names->distances[at] = distance;
    near_names->count++;
}

void spyi_near_text(spyi_near *near_names, spyi_text *out) {
    for (uint32_t i = 0; i < near_names->count; ++i) {
        spyi_text_add(out, "%s'%s'", i ? ", " : ", did you mean ", near_names->names[i]);
        free(near_names->names[i]);
    }
    if (near_names->count) spyi_text_add(out, "?");
    near_names->count = 0;
}

// Slang adds declarations of its own: constructors, and a derivative beside each differentiable function.
bool spyi_sl_is_synthesised(const char *name) {
    static const char *const names[] = { "fwd_diff", "bwd_diff", "apply_bwd", "remat" };
    for (size_t i = 0; i < sizeof names / sizeof names[0]; ++i)
        if (strcmp(name, names[i]) == 0) return true;
    return name[0] == '$' || name[0] == '\0';
}

static void spyi_sl_near_walk(spyi_unit *unit, spyi_near *near_names, spyi_sl_decl *decl, const char *prefix,
                              int depth) {
    const spyi_sl_library *lib = unit->compiler->library;
    unsigned count = lib->spReflectionDecl_getChildrenCount(decl);
    for (unsigned i = 0; i < count; ++i) {
        spyi_sl_decl *child = lib->spReflectionDecl_getChild(decl, i);
        const char *name = child ? lib->spReflectionDecl_getName(child) : NULL;
        if (!name || spyi_sl_is_synthesised(name)) continue;
        unsigned kind = lib->spReflectionDecl_getKind(child);
        spyi_sl_generic *generic =
            kind == SPYI_SL_DECL_GENERIC ? lib->spReflectionDecl_castToGeneric(child) : NULL;
        if (generic) kind = lib->spReflectionGeneric_GetInnerKind(generic);
        spyi_text full = { NULL, 0, 0 };
        spyi_text_add(&full, "%s%s", prefix, name);
        if (kind == SPYI_SL_DECL_FUNCTION) {
            spyi_near_offer(near_names, spyi_text_str(&full));
        } else if ((kind == SPYI_SL_DECL_STRUCT || kind == SPYI_SL_DECL_NAMESPACE) && !generic &&
                   depth < SPYI_SL_DEEPEST) {
            spyi_text_add(&full, "::");
            spyi_sl_near_walk(unit, near_names, child, spyi_text_str(&full), depth + 1);
        }
        spyi_text_free(&full);
    }
}

void spyi_unit_near_names(spyi_unit *unit, const char *name, spyi_text *out) {
    spyi_near near_names;
    memset(&near_names, 0, sizeof near_names);
    near_names.wanted = name;
    if (!name || strlen(name) > 200) return;
    spyi_global_lock();
    spyi_sl_live *live = spyi_sl_live_of(unit, 1);
    spyi_sl_decl *root = live->module->v->getModuleReflection(live->module);
    if (root) spyi_sl_near_walk(unit, &near_names, root, "", 0);
    spyi_global_unlock();
    spyi_near_text(&near_names, out);
}

// >>compiler/resolve.c --------------------------------------------------------------------------------------

// Which overload takes arguments of given types, with which generic arguments: asked of Slang's own overload
// checker through reflection, which says yes or no and nothing else.

// Slang's types of all arguments; false when one is unknown there (a NULL type would be accepted by libslang).
static bool spyi_sl_argument_types(spyi_unit *unit, spyi_sl_live *live, const spyi_type *const *types,
                                   uint32_t count, spyi_sl_type **out) {
    for (uint32_t i = 0; i < count; ++i) {
        out[i] = spyi_sl_type_of(unit, live, types[i]); // NULL for void too, which a free T would accept
        if (!out[i]) return false;
    }
    return true;
}

static spyi_sl_function *spyi_sl_specialise(spyi_unit *unit, spyi_sl_function *function,
                                            spyi_sl_type *const *types, uint32_t count) {
    spyi_sl_function *f =
        SPYI_SL_FUNCTION(unit, spReflectionFunction_specializeWithArgTypes)(function, count, types);
    return f && !SPYI_SL_FUNCTION(unit, spReflectionFunction_isOverloaded)(f) ? f : NULL;
}

// An interface-typed argument makes T = `.This`: no type that a kernel could use.
static bool spyi_sl_mentions_this(const spyi_signature *s) {
    if (s->result->kind == SPYI_TYPE_OTHER && strstr(s->result->name, ".This")) return true;
    for (uint32_t i = 0; i < s->param_count; ++i)
        if (s->params[i].type->kind == SPYI_TYPE_OTHER && strstr(s->params[i].type->name, ".This"))
            return true;
    return false;
}

bool spyi_unit_resolve(spyi_unit *unit, const char *name, int overload, const spyi_type *const *types,
                       uint32_t count, spyi_signature *out, int *chosen) {
    bool good = false;
    memset(out, 0, sizeof *out);
    if (chosen) *chosen = -1;
    spyi_sl_type **slang_types = (spyi_sl_type **)calloc(count + 1, sizeof(spyi_sl_type *));
    spyi_global_lock();
    spyi_sl_live *live = spyi_sl_live_of(unit, 2);
    spyi_sl_type *constructed = NULL;
    spyi_sl_function *set = slang_types ? spyi_sl_find_function(unit, live, name, &constructed) : NULL;
    uint32_t overloads = set ? spyi_sl_overload_count(unit, set) : 0;
    if (set && (overload < 0 || (uint32_t)overload < overloads) &&
        spyi_sl_argument_types(unit, live, types, count, slang_types)) {
        spyi_sl_function *asked = overload < 0 ? set : spyi_sl_overload(unit, set, (uint32_t)overload);
        // Slang takes the arguments without the instance, which must be of the very type.
        uint32_t instance =
            overload >= 0 && !constructed && spyi_sl_needs_instance(unit, live, asked, name) ? 1 : 0;
        bool fits = count >= instance && (!instance || slang_types[0] == spyi_sl_owner(unit, live, name));
        spyi_sl_function *f =
            fits ? spyi_sl_specialise(unit, asked, slang_types + instance, count - instance) : NULL;
        if (f && overload < 0 && !constructed && spyi_sl_needs_instance(unit, live, f, name)) f = NULL;
        if (f) {
            spyi_sl_to_signature(unit, live, f, name, constructed, true, out);
            good = !spyi_sl_mentions_this(out);
            if (!good) spyi_signature_free(out);
        }
        if (good && chosen && overload >= 0) *chosen = overload;
        for (uint32_t i = 0; good && chosen && *chosen < 0 && i < overloads;
             ++i) { // equal specialisations are equal pointers
            spyi_sl_function *o = spyi_sl_overload(unit, set, i);
            if (o == f || spyi_sl_specialise(unit, o, slang_types, count) == f) *chosen = (int)i;
        }
    }
    spyi_global_unlock();
    free(slang_types);
    return good;
}

bool spyi_unit_conforms(spyi_unit *unit, const spyi_type *type, const char *interface_name) {
    spyi_global_lock();
    spyi_sl_live *live = spyi_sl_live_of(unit, 1);
    spyi_sl_type *slang = spyi_sl_type_of(unit, live, type),
                 *wanted = spyi_sl_type_named(unit, live, interface_name);
    bool conforms = slang && wanted &&
                    SPYI_SL_FUNCTION(unit, spReflectionType_GetKind)(wanted) == SPYI_SL_KIND_INTERFACE &&
                    SPYI_SL_FUNCTION(unit, spReflection_isSubType)(live->layout, slang, wanted);
    spyi_global_unlock();
    return conforms;
}

// What a query module leaves behind in KiB when it compiles; a tenth of that when it does not.
enum { SPYI_SL_QUERY_KIB = 640 };

void spyi_unit_explain(spyi_unit *unit, const char *name, const spyi_type *const *types, uint32_t count,
                       spyi_text *out) {
    if (!spyi_sl_name_is_safe(name)) return;
    spyi_text source = { NULL, 0, 0 }, module_name = { NULL, 0, 0 }, query_path = { NULL, 0, 0 };
    spyi_text_add(&source, "import %s;\nvoid spyi_query(", unit->name);
    for (uint32_t i = 0; i < count; ++i)
        spyi_text_add(&source, "%s%s a%u", i ? ", " : "", types[i] ? types[i]->name : "?", i);
    spyi_text_add(&source, ") { %s(", name);
    for (uint32_t i = 0; i < count; ++i) spyi_text_add(&source, "%sa%u", i ? ", " : "", i);
    spyi_text_add(&source, "); }\n");
    uint64_t id = spyi_hash(source.data, source.size, 0);
    spyi_text_add(&module_name, "spyi_query_%016llx", (unsigned long long)id);
    spyi_text_add(&query_path, "slangpy-query-%016llx.slang",
                  (unsigned long long)id); // Slang asserts at a second use
    spyi_global_lock();
    spyi_sl_live *live = spyi_sl_live_of(unit, SPYI_SL_QUERY_KIB);
    spyi_sl_blob *diagnostics = NULL;
    spyi_sl_module *module = live->session->v->loadModuleFromSourceString(
        live->session, spyi_text_str(&module_name), spyi_text_str(&query_path), spyi_text_str(&source),
        &diagnostics);
    if (module) spyi_sl_blob_free(&diagnostics); // it compiles: only warnings
    else spyi_sl_diagnostics(&diagnostics, spyi_text_str(&query_path), out);
    spyi_global_unlock();
    spyi_text_free(&source);
    spyi_text_free(&module_name);
    spyi_text_free(&query_path);
}

// >>compiler/entry.c ----------------------------------------------------------------------------------------

// Functions as entry points of a compute shader: their [numthreads] and which parameters the system fills.

static spyi_system spyi_sl_system(const char *semantic) {
    static const struct {
        const char *name;
        spyi_system system;
    } names[] = { { "SV_DISPATCHTHREADID", SPYI_SYSTEM_THREAD },
                  { "SV_GROUPID", SPYI_SYSTEM_GROUP },
                  { "SV_GROUPTHREADID", SPYI_SYSTEM_LOCAL },
                  { "SV_GROUPINDEX", SPYI_SYSTEM_INDEX } };
    char upper[32];
    size_t n = semantic ? strlen(semantic) : 0;
    if (n == 0 || n >= sizeof upper) return SPYI_SYSTEM_NONE;
    for (size_t i = 0; i <= n; i++)
        upper[i] = (char)(semantic[i] >= 'a' && semantic[i] <= 'z' ? semantic[i] - 'a' + 'A' : semantic[i]);
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (strcmp(upper, names[i].name) == 0) return names[i].system;
    return SPYI_SYSTEM_NONE;
}

// Whether the module itself declares it as an entry point.
static bool spyi_sl_is_shader(const spyi_sl_live *live, const spyi_sl_library *lib, const char *name) {
    bool found = false;
    int32_t count = live->module->v->getDefinedEntryPointCount(live->module);
    for (int32_t i = 0; i < count && !found; i++) {
        spyi_sl_entry_point *entry = NULL;
        if (live->module->v->getDefinedEntryPoint(live->module, i, &entry) < 0 || !entry) continue;
        spyi_sl_function *function = entry->v->getFunctionReflection(entry);
        const char *own = function ? lib->spReflectionFunction_GetName(function) : NULL;
        found = own && strcmp(own, name) == 0;
        entry->v->release(entry);
    }
    return found;
}

void spyi_unit_entry(spyi_unit *unit, const char *name, spyi_entry *out) {
    const spyi_sl_library *lib = unit->compiler->library;
    spyi_sl_blob *diagnostics = NULL;
    spyi_sl_entry_point *entry = NULL;
    memset(out, 0, sizeof *out);
    if (!spyi_sl_name_is_safe(name)) return;
    spyi_global_lock();
    spyi_sl_live *live = spyi_sl_live_of(unit, 4);
    live->module->v->findAndCheckEntryPoint(live->module, name, SPYI_SL_STAGE_COMPUTE, &entry, &diagnostics);
    spyi_sl_blob_free(&diagnostics);
    spyi_sl_layout *layout = entry ? entry->v->getLayout(entry, 0, &diagnostics) : NULL;
    spyi_sl_blob_free(&diagnostics);
    if (layout && lib->spReflection_getEntryPointCount(layout) > 0) {
        spyi_sl_entry_layout *of = lib->spReflection_getEntryPointByIndex(layout, 0);
        uint64_t size[3] = { 0, 0, 0 };
        unsigned count = lib->spReflectionEntryPoint_getParameterCount(of);
        lib->spReflectionEntryPoint_getComputeThreadGroupSize(of, 3, size);
        // Without [numthreads] Slang says 1 x 1 x 1: then [shader("compute")] tells.
        bool shader = size[0] * size[1] * size[2] > 1 || spyi_sl_is_shader(live, lib, name);
        for (int i = 0; i < 3 && shader; i++) out->threads[i] = size[i] <= 1024 ? (uint32_t)size[i] : 0;
        for (unsigned i = 0; i < count && i < SPYI_MOST_ENTRY_PARAMS; i++) {
            spyi_sl_variable_layout *p = lib->spReflectionEntryPoint_getParameterByIndex(of, i);
            out->systems[i] = (uint8_t)spyi_sl_system(lib->spReflectionVariableLayout_GetSemanticName(p));
        }
    }
    if (entry) entry->v->release(entry);
    spyi_global_unlock();
}

void spyi_sl_entry_places(spyi_unit *unit, spyi_sl_component *linked, spyi_entry *out) {
    const spyi_sl_library *lib = unit->compiler->library;
    spyi_sl_blob *diagnostics = NULL;
    spyi_sl_layout *layout = linked->v->getLayout(linked, 0, &diagnostics);
    spyi_sl_blob_free(&diagnostics);
    if (!layout || lib->spReflection_getEntryPointCount(layout) == 0) return;
    spyi_sl_entry_layout *of = lib->spReflection_getEntryPointByIndex(layout, 0);
    unsigned count = lib->spReflectionEntryPoint_getParameterCount(of);
    out->block_size = 0;
    for (unsigned i = 0; i < count && i < SPYI_MOST_ENTRY_PARAMS; i++) {
        spyi_sl_variable_layout *p = lib->spReflectionEntryPoint_getParameterByIndex(of, i);
        spyi_sl_type_layout *type = lib->spReflectionVariableLayout_GetTypeLayout(p);
        size_t size = type ? lib->spReflectionTypeLayout_GetSize(type, SPYI_SL_CATEGORY_UNIFORM) : 0;
        out->offsets[i] = (uint32_t)lib->spReflectionVariableLayout_GetOffset(p, SPYI_SL_CATEGORY_UNIFORM);
        if (size && out->offsets[i] + size > out->block_size)
            out->block_size = (uint32_t)(out->offsets[i] + size);
    }
    out->block_size = (uint32_t)spyi_align(out->block_size, 4);
}

// >>compiler/declare.h --------------------------------------------------------------------------------------

// What declare_type.c and declare.c share: the tree's memory, and what is at hand while a tree is built.

typedef struct spyi_sl_block {
    struct spyi_sl_block *next;
    size_t size, used; // bytes behind this header
} spyi_sl_block;

struct spyi_declarations {
    spyi_sl_block *blocks; // the newest first
    bool failed;           // memory ran out: what is there is not whole
    spy_decl root;
    spy_type_info **by_id; // by spyi_type.id; NULL: not asked yet
    uint32_t by_id_count;
};

// A type whose fields are still to be listed.
typedef struct spyi_sl_pending {
    spy_type_info *info;
    const spyi_type *type;
    spyi_sl_type *slang;
    bool open;
    uint32_t depth; // structs that it was met inside of
} spyi_sl_pending;

typedef struct spyi_sl_builder {
    spyi_declarations *to;
    spyi_unit *unit;
    const spyi_sl_library *lib;
    spyi_sl_live *live;
    uint32_t open;  // generics that the walk is inside of
    uint32_t depth; // structs whose fields are being listed
    spyi_sl_pending *pending;
    uint32_t pending_count, pending_capacity;
    spyi_sl_type **types; // that the walk has met, where extensions look for theirs
    uint32_t type_count, type_capacity;
} spyi_sl_builder;

SPYI_FN void spyi_sl_builder_open(spyi_sl_builder *b, spyi_declarations *to,
                                  spyi_unit *unit); // under the lock
SPYI_FN void spyi_sl_builder_close(spyi_sl_builder *b);

// Memory that lives as long as the tree, zeroed; NULL and to->failed when there is none.
SPYI_FN void *spyi_sl_take(spyi_declarations *to, size_t size);
SPYI_FN const char *spyi_sl_keep(spyi_declarations *to, const char *s);        // a copy; never NULL
SPYI_FN const char *spyi_sl_keep_text(spyi_declarations *to, spyi_text *text); // likewise; frees the text
// A list that grows on the process allocator; false: out of memory.
SPYI_FN bool spyi_sl_grow(void **items, uint32_t *capacity, uint32_t count, size_t item_size);

// A node without a place in the tree.
SPYI_FN spy_decl spyi_sl_node(spyi_sl_builder *b, spy_decl_kind kind, const char *name);

// Never NULL. `slang` may be NULL: it is looked up.
SPYI_FN const spy_type_info *spyi_sl_type_info(spyi_sl_builder *b, const spyi_type *type,
                                               spyi_sl_type *slang);
SPYI_FN const spy_type_info *spyi_sl_type_info_of(spyi_sl_builder *b, spyi_sl_type *slang);
// Lists the fields of the structs that no declaration of the module has given theirs.
SPYI_FN void spyi_sl_list_fields(spyi_sl_builder *b);

typedef enum spyi_sl_attributed {
    SPYI_SL_OF_FUNCTION,
    SPYI_SL_OF_VARIABLE,
    SPYI_SL_OF_TYPE
} spyi_sl_attributed;
SPYI_FN void spyi_sl_attributes(spyi_sl_builder *b, spyi_sl_attributed what, void *object, spy_decl *node);
// Type, default value, modifiers and attributes of a variable, parameter, field or generic value.
SPYI_FN void spyi_sl_variable_node(spyi_sl_builder *b, spyi_sl_variable *variable, spy_decl *node);
SPYI_FN void spyi_sl_add_constant(const spy_constant *constant, spyi_text *out); // as Slang writes it

// >>compiler/declare_type.c ---------------------------------------------------------------------------------

// The leaves of the declaration tree: its memory, constants, attributes, variables, and types with their fields.

// >>memory

enum { SPYI_SL_BLOCK_SIZE = 16 * 1024 };

void *spyi_sl_take(spyi_declarations *to, size_t size) {
    size_t header = spyi_align(sizeof(spyi_sl_block), 16);
    spyi_sl_block *block = to->blocks;
    size = spyi_align(size ? size : 1, 16);
    if (!block || block->size - block->used < size) {
        size_t room = size > SPYI_SL_BLOCK_SIZE ? size : (size_t)SPYI_SL_BLOCK_SIZE;
        block = (spyi_sl_block *)calloc(1, header + room);
        if (!block) {
            to->failed = true;
            return NULL;
        }
        block->size = room;
        block->next = to->blocks;
        to->blocks = block;
    }
    void *memory = (char *)block + header + block->used;
    block->used += size;
    return memory;
}

const char *spyi_sl_keep(spyi_declarations *to, const char *s) {
    size_t size = s ? strlen(s) : 0;
    char *copy = size ? (char *)spyi_sl_take(to, size + 1) : NULL;
    if (!copy) return "";
    memcpy(copy, s, size);
    return copy;
}

const char *spyi_sl_keep_text(spyi_declarations *to, spyi_text *text) {
    const char *copy = spyi_sl_keep(to, spyi_text_str(text));
    spyi_text_free(text);
    return copy;
}

bool spyi_sl_grow(void **items, uint32_t *capacity, uint32_t count, size_t item_size) {
    if (count < *capacity) return true;
    uint32_t more = *capacity ? *capacity * 2 : 16;
    void *grown = realloc(*items, more * item_size);
    if (!grown) return false;
    *items = grown;
    *capacity = more;
    return true;
}

void spyi_sl_builder_open(spyi_sl_builder *b, spyi_declarations *to, spyi_unit *unit) {
    memset(b, 0, sizeof *b);
    b->to = to;
    b->unit = unit;
    b->lib = unit->compiler->library;
    b->live = spyi_sl_live_of(unit, 1);
}

void spyi_sl_builder_close(spyi_sl_builder *b) {
    free(b->pending);
    free(b->types);
}

// >>constants and attributes

static spy_constant spyi_sl_no_constant(void) {
    spy_constant c;
    memset(&c, 0, sizeof c);
    c.string = "";
    return c;
}

static spy_constant spyi_sl_int_constant(int64_t value) {
    spy_constant c = spyi_sl_no_constant();
    c.kind = SPY_CONSTANT_INT;
    c.int_value = value;
    c.float_value = (double)value;
    return c;
}

static spy_constant spyi_sl_float_constant(float value) {
    spy_constant c = spyi_sl_no_constant();
    c.kind = SPY_CONSTANT_FLOAT;
    c.float_value = (double)value;
    return c;
}

static void spyi_sl_add_string(const char *s, spyi_text *out) {
    spyi_text_add(out, "\"");
    for (; *s; ++s) {
        if (*s == '"' || *s == '\\') spyi_text_add(out, "\\%c", *s);
        else if (*s == '\n') spyi_text_add(out, "\\n");
        else spyi_text_add_n(out, s, 1);
    }
    spyi_text_add(out, "\"");
}

// With as few digits as give the same float.
static void spyi_sl_add_float(double value, spyi_text *out) {
    char digits[40];
    int precision = 5;
    do snprintf(digits, sizeof digits, "%.*g", ++precision, value);
    while (precision < 9 && (float)strtod(digits, NULL) != (float)value);
    spyi_text_add(out, "%s", digits);
}

void spyi_sl_add_constant(const spy_constant *constant, spyi_text *out) {
    switch (constant->kind) {
    case SPY_CONSTANT_INT: spyi_text_add(out, "%lld", (long long)constant->int_value); break;
    case SPY_CONSTANT_FLOAT: spyi_sl_add_float(constant->float_value, out); break;
    case SPY_CONSTANT_STRING: spyi_sl_add_string(constant->string, out); break;
    default: spyi_text_add(out, "..."); break;
    }
}

// libslang gives integers through an int and numbers through a float; wider ones come cut off or not at all.
static spy_constant spyi_sl_argument(spyi_sl_builder *b, spyi_sl_attribute *attribute, unsigned index) {
    const spyi_sl_library *lib = b->lib;
    spyi_sl_type *type = lib->spReflectionUserAttribute_GetArgumentType(attribute, index);
    unsigned scalar = SPYI_SL_SCALAR_INT32; // enums have no type here
    int whole = 0;
    float number = 0;
    if (type && lib->spReflectionType_GetKind(type) == SPYI_SL_KIND_SCALAR)
        scalar = lib->spReflectionType_GetScalarType(type);
    else if (type) scalar = SPYI_SL_SCALAR_VOID;
    switch (scalar) {
    case SPYI_SL_SCALAR_BOOL:
    case SPYI_SL_SCALAR_INT8:
    case SPYI_SL_SCALAR_UINT8:
    case SPYI_SL_SCALAR_INT16:
    case SPYI_SL_SCALAR_UINT16:
    case SPYI_SL_SCALAR_INT32:
    case SPYI_SL_SCALAR_UINT32:
        if (lib->spReflectionUserAttribute_GetArgumentValueInt(attribute, index, &whole) < 0) break;
        return spyi_sl_int_constant(scalar == SPYI_SL_SCALAR_UINT32 ? (int64_t)(uint32_t)whole : whole);
    case SPYI_SL_SCALAR_FLOAT32:
        if (lib->spReflectionUserAttribute_GetArgumentValueFloat(attribute, index, &number) < 0) break;
        return spyi_sl_float_constant(number);
    case SPYI_SL_SCALAR_VOID: {
        size_t size = 0;
        const char *s = lib->spReflectionUserAttribute_GetArgumentValueString(attribute, index, &size);
        spyi_text text = { NULL, 0, 0 };
        spy_constant c = spyi_sl_no_constant();
        if (!s) break;
        if (size) spyi_text_add_n(&text, s, size);
        c.kind = SPY_CONSTANT_STRING;
        c.string = spyi_sl_keep_text(b->to, &text);
        return c;
    }
    default: break;
    }
    return spyi_sl_no_constant();
}

void spyi_sl_attributes(spyi_sl_builder *b, spyi_sl_attributed what, void *object, spy_decl *node) {
    const spyi_sl_library *lib = b->lib;
    spyi_sl_function *function = what == SPYI_SL_OF_FUNCTION ? (spyi_sl_function *)object : NULL;
    spyi_sl_variable *variable = what == SPYI_SL_OF_VARIABLE ? (spyi_sl_variable *)object : NULL;
    spyi_sl_type *type = what == SPYI_SL_OF_TYPE ? (spyi_sl_type *)object : NULL;
    unsigned count = function   ? lib->spReflectionFunction_GetUserAttributeCount(function)
                     : variable ? lib->spReflectionVariable_GetUserAttributeCount(variable)
                                : lib->spReflectionType_GetUserAttributeCount(type);
    spy_attribute *list = count ? (spy_attribute *)spyi_sl_take(b->to, count * sizeof *list) : NULL;
    for (unsigned i = 0; list && i < count; ++i) {
        spyi_sl_attribute *a = function   ? lib->spReflectionFunction_GetUserAttribute(function, i)
                               : variable ? lib->spReflectionVariable_GetUserAttribute(variable, i)
                                          : lib->spReflectionType_GetUserAttribute(type, i);
        if (!a) continue;
        spy_attribute *out = &list[node->attribute_count++];
        unsigned arg_count = lib->spReflectionUserAttribute_GetArgumentCount(a);
        spy_constant *args = (spy_constant *)spyi_sl_take(b->to, arg_count * sizeof *args);
        out->name = spyi_sl_keep(b->to, lib->spReflectionUserAttribute_GetName(a));
        out->args = args;
        for (unsigned k = 0; args && k < arg_count; ++k) args[out->arg_count++] = spyi_sl_argument(b, a, k);
    }
    node->attributes = list;
}

// >>variables

spy_decl spyi_sl_node(spyi_sl_builder *b, spy_decl_kind kind, const char *name) {
    spy_decl node;
    memset(&node, 0, sizeof node);
    node.kind = kind;
    node.name = spyi_sl_keep(b->to, name);
    node.path = node.text = node.file = "";
    node.value = spyi_sl_no_constant();
    if (b->open) node.flags |= SPY_DECL_GENERIC;
    return node;
}

static bool spyi_sl_is_float(spy_dtype dtype) {
    return dtype == SPY_FLOAT16 || dtype == SPY_FLOAT32 || dtype == SPY_FLOAT64;
}

void spyi_sl_variable_node(spyi_sl_builder *b, spyi_sl_variable *variable, spy_decl *node) {
    static const struct {
        uint32_t modifier, flag;
    } modifiers[] = { { SPYI_SL_MODIFIER_NO_DIFF, SPY_DECL_NO_DIFF },
                      { SPYI_SL_MODIFIER_STATIC, SPY_DECL_STATIC },
                      { SPYI_SL_MODIFIER_CONST, SPY_DECL_CONST },
                      { SPYI_SL_MODIFIER_EXPORT, SPY_DECL_EXPORT },
                      { SPYI_SL_MODIFIER_EXTERN, SPY_DECL_EXTERN } };
    const spyi_sl_library *lib = b->lib;
    int64_t whole = 0;
    float number = 0;
    for (size_t i = 0; i < sizeof modifiers / sizeof modifiers[0]; ++i)
        if (lib->spReflectionVariable_FindModifier(variable, modifiers[i].modifier))
            node->flags |= modifiers[i].flag;
    spyi_sl_type *type = lib->spReflectionVariable_GetType(variable);
    if (type) node->type = spyi_sl_type_info_of(b, type); // an enum's case has none
    spyi_sl_attributes(b, SPYI_SL_OF_VARIABLE, variable, node);
    if (!lib->spReflectionVariable_HasDefaultValue(variable)) return;
    node->flags |= SPY_DECL_HAS_DEFAULT;
    // Of the two each holds for its own type only.
    if (node->type && node->type->kind == SPY_TYPE_SCALAR && spyi_sl_is_float(node->type->dtype)) {
        if (lib->spReflectionVariable_GetDefaultValueFloat(variable, &number) >= 0)
            node->value = spyi_sl_float_constant(number);
    } else if (lib->spReflectionVariable_GetDefaultValueInt(variable, &whole) >= 0) {
        node->value = spyi_sl_int_constant(whole);
    }
}

// >>types

enum { SPYI_SL_DEEPEST_FIELD = 32 }; // struct R<let N : int> { Ptr<R<N + 1>> p; } has no end

static spy_type_kind spyi_sl_type_kind(const spyi_type *type, unsigned slang_kind) {
    switch (type->kind) {
    case SPYI_TYPE_VOID: return SPY_TYPE_VOID;
    case SPYI_TYPE_SCALAR:
        return strcmp(type->name, spy_dtype_name(type->scalar)) == 0 ? SPY_TYPE_SCALAR : SPY_TYPE_ENUM;
    case SPYI_TYPE_VECTOR: return SPY_TYPE_VECTOR;
    case SPYI_TYPE_MATRIX: return SPY_TYPE_MATRIX;
    case SPYI_TYPE_ARRAY: return SPY_TYPE_ARRAY;
    case SPYI_TYPE_STRUCT: return SPY_TYPE_STRUCT;
    default: break;
    }
    switch (slang_kind) {
    case SPYI_SL_KIND_STRUCT: return SPY_TYPE_STRUCT;
    case SPYI_SL_KIND_ARRAY: return SPY_TYPE_ARRAY;
    case SPYI_SL_KIND_ENUM: return SPY_TYPE_ENUM;
    case SPYI_SL_KIND_INTERFACE: return SPY_TYPE_INTERFACE;
    case SPYI_SL_KIND_POINTER: return SPY_TYPE_POINTER;
    case SPYI_SL_KIND_CONSTANT_BUFFER: return SPY_TYPE_CONSTANT_BUFFER;
    case SPYI_SL_KIND_PARAMETER_BLOCK: return SPY_TYPE_PARAMETER_BLOCK;
    case SPYI_SL_KIND_SAMPLER_STATE: return SPY_TYPE_SAMPLER;
    case SPYI_SL_KIND_RESOURCE:
    case SPYI_SL_KIND_TEXTURE_BUFFER:
    case SPYI_SL_KIND_SHADER_STORAGE_BUFFER:
    case SPYI_SL_KIND_FEEDBACK:
    case SPYI_SL_KIND_DYNAMIC_RESOURCE: return SPY_TYPE_RESOURCE;
    default: return SPY_TYPE_OTHER;
    }
}

// What a pointer points to, out of its name "Ptr<float, Access.ReadWrite, ...>": libslang does not give it.
static spyi_sl_type *spyi_sl_pointee(spyi_sl_builder *b, const char *name) {
    spyi_text text = { NULL, 0, 0 };
    int depth = 0;
    const char *begin = strchr(name, '<'), *end = begin;
    for (; end && *end && !(depth == 1 && (*end == ',' || *end == '>')); ++end)
        depth += *end == '<' ? 1 : *end == '>' ? -1 : 0;
    if (begin && end > begin + 1) spyi_text_add_n(&text, begin + 1, (size_t)(end - begin - 1));
    spyi_sl_type *type = spyi_sl_type_named(b->unit, b->live, spyi_text_str(&text));
    spyi_text_free(&text);
    return type;
}

static const spy_type_info *spyi_sl_element_info(spyi_sl_builder *b, spy_type_kind kind,
                                                 const spyi_type *type, spyi_sl_type *slang) {
    spyi_sl_type *element = NULL;
    if (kind == SPY_TYPE_VECTOR || kind == SPY_TYPE_MATRIX || (kind == SPY_TYPE_ENUM && type->scalar))
        return spyi_sl_type_info(b, spyi_type_scalar(b->unit->compiler->types, type->scalar), NULL);
    if (type->kind == SPYI_TYPE_ARRAY) return spyi_sl_type_info(b, type->element, NULL);
    if (!slang) return NULL;
    if (kind == SPY_TYPE_POINTER) element = spyi_sl_pointee(b, type->name);
    if (kind == SPY_TYPE_RESOURCE) element = b->lib->spReflectionType_GetResourceResultType(slang);
    if (kind == SPY_TYPE_ARRAY || kind == SPY_TYPE_ENUM || kind == SPY_TYPE_CONSTANT_BUFFER ||
        kind == SPY_TYPE_PARAMETER_BLOCK)
        element = b->lib->spReflectionType_GetElementType(slang);
    return element ? spyi_sl_type_info_of(b, element) : NULL;
}

// With all that it lies in, so that it can be looked up again: "float3", "ns.Grid<float, 4>", "ns.Cell[3][2]".
static const char *spyi_sl_info_name(spyi_sl_builder *b, const spyi_type *type) {
    const spyi_type *base = type;
    spyi_text name = { NULL, 0, 0 };
    while (base->kind == SPYI_TYPE_ARRAY) base = base->element;
    bool plain = base->kind != SPYI_TYPE_STRUCT && base->kind != SPYI_TYPE_OTHER;
    spyi_text_add(&name, "%s", plain ? base->display : base->name);
    for (; type->kind == SPYI_TYPE_ARRAY; type = type->element)
        spyi_text_add(&name, "[%lld]", (long long)type->count);
    return spyi_sl_keep_text(b->to, &name);
}

static void spyi_sl_info_sizes(const spyi_type *type, spy_type_info *info) {
    info->dtype = type->kind == SPYI_TYPE_ARRAY ? SPY_DTYPE_DEFAULT : type->scalar;
    info->rows = type->rows;
    info->columns = type->columns;
    info->count = type->kind == SPYI_TYPE_ARRAY ? type->count : 0;
    info->size_bytes = type->host_size;
    info->align_bytes = type->host_align;
    info->device_size_bytes = type->device_size;
    info->device_align_bytes = type->device_align;
    info->device_stride_bytes = type->device_size ? spyi_type_device_stride(type) : 0;
}

static bool spyi_sl_room_for(spyi_declarations *to, uint32_t id) {
    if (id < to->by_id_count) return true;
    uint32_t count = (id + 64) * 2;
    spy_type_info **grown = (spy_type_info **)realloc((void *)to->by_id, count * sizeof *grown);
    if (!grown) return false;
    memset((void *)(grown + to->by_id_count), 0, (count - to->by_id_count) * sizeof *grown);
    to->by_id = grown;
    to->by_id_count = count;
    return true;
}

const spy_type_info *spyi_sl_type_info(spyi_sl_builder *b, const spyi_type *type, spyi_sl_type *slang) {
    static const spy_type_info none = {
        SPY_TYPE_OTHER, "", SPY_DTYPE_DEFAULT, 1, 1, 0, NULL, NULL, NULL, 0, 0, 0, 0, 0, 0
    };
    spyi_declarations *to = b->to;
    if (!spyi_sl_room_for(to, type->id)) to->failed = true;
    else if (to->by_id[type->id]) return to->by_id[type->id];
    spy_type_info *info = to->failed ? NULL : (spy_type_info *)spyi_sl_take(to, sizeof *info);
    if (!info) return &none;
    to->by_id[type->id] = info; // before its element, which may lead back here through a pointer
    if (!slang && type->kind == SPYI_TYPE_OTHER) slang = spyi_sl_type_named(b->unit, b->live, type->name);
    else if (!slang) slang = spyi_sl_type_of(b->unit, b->live, type);
    info->kind = spyi_sl_type_kind(type, slang ? b->lib->spReflectionType_GetKind(slang) : 0);
    info->name = spyi_sl_info_name(b, type);
    spyi_sl_info_sizes(type, info);
    info->element = spyi_sl_element_info(b, info->kind, type, slang);
    if (info->kind != SPY_TYPE_STRUCT || !slang || b->depth > SPYI_SL_DEEPEST_FIELD) return info;
    if (!spyi_sl_grow((void **)&b->pending, &b->pending_capacity, b->pending_count, sizeof *b->pending)) {
        to->failed = true;
        return info;
    }
    spyi_sl_pending *p = &b->pending[b->pending_count++];
    p->info = info;
    p->type = type;
    p->slang = slang;
    p->open = b->open != 0;
    p->depth = b->depth;
    return info;
}

const spy_type_info *spyi_sl_type_info_of(spyi_sl_builder *b, spyi_sl_type *slang) {
    return spyi_sl_type_info(b, spyi_sl_to_type(b->unit, b->live, slang, b->open != 0), slang);
}

void spyi_sl_list_fields(spyi_sl_builder *b) {
    for (uint32_t i = 0; i < b->pending_count; ++i) { // listing one may add others
        spyi_sl_pending p = b->pending[i];
        unsigned count = b->lib->spReflectionType_GetFieldCount(p.slang);
        spy_decl *fields =
            p.info->decl || !count ? NULL : (spy_decl *)spyi_sl_take(b->to, count * sizeof *fields);
        b->open = p.open;
        b->depth = p.depth + 1;
        for (unsigned k = 0; fields && k < count; ++k) {
            spyi_sl_variable *v = b->lib->spReflectionType_GetFieldByIndex(p.slang, k);
            spyi_text text = { NULL, 0, 0 };
            fields[k] = spyi_sl_node(b, SPY_DECL_FIELD, v ? b->lib->spReflectionVariable_GetName(v) : "");
            if (v) spyi_sl_variable_node(b, v, &fields[k]);
            if (p.type->kind == SPYI_TYPE_STRUCT && k < p.type->field_count) {
                fields[k].offset_bytes = p.type->fields[k].host_offset;
                fields[k].device_offset_bytes = p.type->fields[k].device_offset;
            }
            fields[k].path = fields[k].name;
            spyi_text_add(&text, "%s %s", fields[k].type ? fields[k].type->name : "?", fields[k].name);
            fields[k].text = spyi_sl_keep_text(b->to, &text);
        }
        if (!fields) continue; // none, or the declaration's are the type's
        p.info->fields = fields;
        p.info->field_count = count;
    }
    b->pending_count = 0;
    b->open = b->depth = 0;
}

// >>compiler/declare.c --------------------------------------------------------------------------------------

// The declarations of a module as a tree: libslang's own tree without what Slang adds for itself, with types, values
// and places. Kinds that libslang does not name (interfaces, properties, aliases) are told apart by what they hold.

// >>lists of nodes

typedef struct spyi_sl_nodes {
    spy_decl *items;
    uint32_t count, capacity;
} spyi_sl_nodes;

static void spyi_sl_push(spyi_sl_builder *b, spyi_sl_nodes *nodes, const spy_decl *node) {
    if (spyi_sl_grow((void **)&nodes->items, &nodes->capacity, nodes->count, sizeof *nodes->items))
        nodes->items[nodes->count++] = *node;
    else b->to->failed = true;
}

// Where a walk is: what the nodes that it finds are children of.
typedef struct spyi_sl_scope {
    spy_decl_kind kind;
    const char *path;      // "" at the root
    const spyi_type *type; // of a struct: where its fields lie; else NULL
    spyi_sl_decl *decl;
    int depth;
} spyi_sl_scope;

enum { SPYI_SL_DEEPEST_SCOPE = 64 };

// The list becomes the node's children, fields first.
static void spyi_sl_give_children(spyi_sl_builder *b, spy_decl *node, spyi_sl_nodes *nodes) {
    spy_decl *children =
        nodes->count ? (spy_decl *)spyi_sl_take(b->to, nodes->count * sizeof *children) : NULL;
    for (int fields = 1; children && fields >= 0; --fields)
        for (uint32_t i = 0; i < nodes->count; ++i)
            if ((nodes->items[i].kind == SPY_DECL_FIELD) == (fields == 1))
                children[node->child_count++] = nodes->items[i];
    node->children = children;
    free(nodes->items);
}

// Path, and place in the source; libslang forgets the latter with the session that read the text.
static void spyi_sl_place(spyi_sl_builder *b, spyi_sl_decl *decl, const spyi_sl_scope *scope,
                          spy_decl *node) {
    spyi_sl_session *session = b->live->session;
    spyi_sl_source_location location = { NULL, 0, 0 };
    spyi_text path = { NULL, 0, 0 };
    spyi_text_add(&path, "%s%s%s", scope->path, *scope->path ? "::" : "", node->name);
    node->path = spyi_sl_keep_text(b->to, &path);
    if (session->v->getDeclSourceLocation(session, decl, &location) < 0 || !location.filePath) return;
    node->file = spyi_sl_keep(b->to, location.filePath);
    node->line = location.line > 0 ? (uint32_t)location.line : 0;
}

// >>texts: declarations as one writes them

static const char *spyi_sl_type_text(const spy_decl *node) {
    return node->type ? node->type->name : "void";
}

static void spyi_sl_add_list(const spyi_sl_nodes *nodes, bool generics, spyi_text *out) {
    bool first = true;
    for (uint32_t i = 0; i < nodes->count; ++i) {
        const spy_decl *n = &nodes->items[i];
        if ((n->kind == SPY_DECL_PARAMETER) == generics) continue;
        if (n->kind != SPY_DECL_PARAMETER && n->kind != SPY_DECL_GENERIC_TYPE &&
            n->kind != SPY_DECL_GENERIC_VALUE)
            continue;
        spyi_text_add(out, "%s%s", first ? (generics ? "<" : "") : ", ", n->text);
        first = false;
    }
    if (generics && !first) spyi_text_add(out, ">");
}

static void spyi_sl_add_value(const spy_decl *node, spyi_text *out) {
    if (!(node->flags & SPY_DECL_HAS_DEFAULT)) return;
    spyi_text_add(out, " = ");
    spyi_sl_add_constant(&node->value, out);
}

static const char *spyi_sl_variable_text(spyi_sl_builder *b, const spy_decl *node) {
    static const struct {
        uint32_t flag;
        const char *word;
    } words[] = { { SPY_DECL_EXTERN, "extern " },
                  { SPY_DECL_EXPORT, "export " },
                  { SPY_DECL_STATIC, "static " },
                  { SPY_DECL_CONST, "const " },
                  { SPY_DECL_NO_DIFF, "no_diff " } };
    spyi_text text = { NULL, 0, 0 };
    for (size_t i = 0; i < sizeof words / sizeof words[0]; ++i)
        if (node->flags & words[i].flag) spyi_text_add(&text, "%s", words[i].word);
    if (node->kind == SPY_DECL_PARAMETER && (node->flags & SPY_DECL_OUT))
        spyi_text_add(&text, node->flags & SPY_DECL_IN ? "inout " : "out ");
    if (node->kind == SPY_DECL_GENERIC_VALUE)
        spyi_text_add(&text, "let %s : %s", node->name, spyi_sl_type_text(node));
    else spyi_text_add(&text, "%s%s%s", spyi_sl_type_text(node), *node->name ? " " : "", node->name);
    spyi_sl_add_value(node, &text);
    return spyi_sl_keep_text(b->to, &text);
}

static const char *spyi_sl_function_text(spyi_sl_builder *b, const spy_decl *node,
                                         const spyi_sl_nodes *nodes) {
    spyi_text text = { NULL, 0, 0 };
    if (node->flags & SPY_DECL_STATIC) spyi_text_add(&text, "static ");
    if (node->flags & SPY_DECL_MUTATING) spyi_text_add(&text, "[mutating] ");
    if (node->kind != SPY_DECL_CONSTRUCTOR) spyi_text_add(&text, "%s ", spyi_sl_type_text(node));
    spyi_text_add(&text, "%s", node->name);
    spyi_sl_add_list(nodes, true, &text);
    spyi_text_add(&text, "(");
    spyi_sl_add_list(nodes, false, &text);
    spyi_text_add(&text, ")");
    return spyi_sl_keep_text(b->to, &text);
}

static const char *spyi_sl_scope_text(spyi_sl_builder *b, const char *word, const spy_decl *node,
                                      const spyi_sl_nodes *nodes) {
    spyi_text text = { NULL, 0, 0 };
    spyi_text_add(&text, "%s%s%s", word, *node->name ? " " : "", node->name);
    if (nodes) spyi_sl_add_list(nodes, true, &text);
    if (node->kind == SPY_DECL_ENUM && node->type && node->type->element)
        spyi_text_add(&text, " : %s", node->type->element->name);
    if (node->kind == SPY_DECL_ALIAS && node->type) spyi_text_add(&text, " = %s", node->type->name);
    return spyi_sl_keep_text(b->to, &text);
}

// >>generics

static void spyi_sl_generic_nodes(spyi_sl_builder *b, spyi_sl_generic *generic, const spyi_sl_scope *scope,
                                  spyi_sl_nodes *out) {
    const spyi_sl_library *lib = b->lib;
    spyi_text path = { NULL, 0, 0 };
    unsigned types = lib->spReflectionGeneric_GetTypeParameterCount(generic),
             values = lib->spReflectionGeneric_GetValueParameterCount(generic);
    for (unsigned i = 0; i < types + values; ++i) {
        spyi_sl_variable *v = i < types ? lib->spReflectionGeneric_GetTypeParameter(generic, i)
                                        : lib->spReflectionGeneric_GetValueParameter(generic, i - types);
        if (!v) continue;
        spy_decl node = spyi_sl_node(b, i < types ? SPY_DECL_GENERIC_TYPE : SPY_DECL_GENERIC_VALUE,
                                     lib->spReflectionVariable_GetName(v));
        spyi_text_clear(&path);
        spyi_text_add(&path, "%s::%s", scope->path, node.name);
        node.path = spyi_sl_keep(b->to, spyi_text_str(&path));
        if (i >= types) {
            spyi_sl_variable_node(b, v, &node);
            node.text = spyi_sl_variable_text(b, &node);
            spyi_sl_push(b, out, &node);
            continue;
        }
        spyi_sl_nodes constraints = { NULL, 0, 0 };
        spyi_text text = { NULL, 0, 0 };
        spyi_text_add(&text, "%s", node.name);
        unsigned count = lib->spReflectionGeneric_GetTypeParameterConstraintCount(generic, v);
        for (unsigned k = 0; k < count; ++k) {
            spyi_sl_type *slang = lib->spReflectionGeneric_GetTypeParameterConstraintType(generic, v, k);
            if (!slang) continue;
            const spy_type_info *type = spyi_sl_type_info_of(b, slang);
            spy_decl constraint = spyi_sl_node(b, SPY_DECL_CONSTRAINT, type->name);
            constraint.type = type;
            constraint.text = type->name;
            spyi_text_add(&text, "%s%s", k ? " & " : " : ", type->name);
            spyi_sl_push(b, &constraints, &constraint);
        }
        node.text = spyi_sl_keep_text(b->to, &text);
        spyi_sl_give_children(b, &node, &constraints);
        spyi_sl_push(b, out, &node);
    }
    spyi_text_free(&path);
}

// >>functions

static void spyi_sl_parameter_node(spyi_sl_builder *b, spyi_sl_variable *v, const char *path,
                                   spyi_sl_nodes *out) {
    const spyi_sl_library *lib = b->lib;
    const char *name = lib->spReflectionVariable_GetName(v);
    bool anonymous = name && strncmp(name, "SLANG_anonymous_", strlen("SLANG_anonymous_")) == 0;
    spy_decl node = spyi_sl_node(b, SPY_DECL_PARAMETER, anonymous ? "" : name);
    bool is_out = lib->spReflectionVariable_FindModifier(v, SPYI_SL_MODIFIER_OUT) != NULL,
         is_inout = lib->spReflectionVariable_FindModifier(v, SPYI_SL_MODIFIER_INOUT) != NULL;
    spyi_text own = { NULL, 0, 0 };
    if (*node.name) spyi_text_add(&own, "%s::%s", path, node.name);
    node.path = spyi_sl_keep_text(b->to, &own);
    spyi_sl_variable_node(b, v, &node);
    if (is_out || is_inout) node.flags |= SPY_DECL_OUT;
    if (!is_out || is_inout) node.flags |= SPY_DECL_IN;
    node.text = spyi_sl_variable_text(b, &node);
    spyi_sl_push(b, out, &node);
}

// Stage and group size, when the function is one of the module's entry points.
static void spyi_sl_entry(spyi_sl_builder *b, const spyi_sl_function *function, spy_decl *node) {
    spyi_sl_module *module = b->live->module;
    int32_t count = module->v->getDefinedEntryPointCount(module);
    for (int32_t i = 0; i < count && node->stage == SPY_STAGE_NONE; ++i) {
        spyi_sl_entry_point *entry = NULL;
        spyi_sl_blob *diagnostics = NULL;
        if (module->v->getDefinedEntryPoint(module, i, &entry) < 0 || !entry) continue;
        spyi_sl_layout *layout = entry->v->getFunctionReflection(entry) == function
                                     ? entry->v->getLayout(entry, 0, &diagnostics)
                                     : NULL;
        spyi_sl_blob_free(&diagnostics);
        if (layout && b->lib->spReflection_getEntryPointCount(layout) > 0) {
            spyi_sl_entry_layout *of = b->lib->spReflection_getEntryPointByIndex(layout, 0);
            uint32_t stage = b->lib->spReflectionEntryPoint_getStage(of);
            uint64_t size[3] = { 0, 0, 0 };
            // The numbers are Slang's; later ones have no name here.
            node->stage = stage <= (uint32_t)SPYI_SL_STAGE_DISPATCH ? (spy_stage)stage : SPY_STAGE_NONE;
            if (node->stage == SPY_STAGE_COMPUTE || node->stage == SPY_STAGE_MESH ||
                node->stage == SPY_STAGE_AMPLIFICATION)
                b->lib->spReflectionEntryPoint_getComputeThreadGroupSize(of, 3, size);
            for (int k = 0; k < 3; ++k) node->group_size[k] = (uint32_t)size[k];
        }
        entry->v->release(entry);
    }
}

static void spyi_sl_function_node(spyi_sl_builder *b, spyi_sl_decl *decl, spyi_sl_generic *generic,
                                  const char *name, const spyi_sl_scope *scope, spyi_sl_nodes *out) {
    static const struct {
        uint32_t modifier, flag;
    } modifiers[] = { { SPYI_SL_MODIFIER_STATIC, SPY_DECL_STATIC },
                      { SPYI_SL_MODIFIER_EXPORT, SPY_DECL_EXPORT },
                      { SPYI_SL_MODIFIER_EXTERN, SPY_DECL_EXTERN },
                      { SPYI_SL_MODIFIER_MUTATING, SPY_DECL_MUTATING },
                      { SPYI_SL_MODIFIER_DIFFERENTIABLE, SPY_DECL_DIFFERENTIABLE } };
    const spyi_sl_library *lib = b->lib;
    spyi_sl_function *function = lib->spReflectionDecl_castToFunction(decl);
    bool global = scope->kind == SPY_DECL_MODULE || scope->kind == SPY_DECL_NAMESPACE,
         constructor = strcmp(name, "$init") == 0;
    spyi_text own = { NULL, 0, 0 };
    if (!function) return;
    // Slang calls operators by their sign alone.
    bool word = (*name >= 'a' && *name <= 'z') || (*name >= 'A' && *name <= 'Z') || *name == '_';
    spyi_text_add(&own, "%s%s", word || constructor ? "" : "operator", constructor ? "__init" : name);
    spy_decl node = spyi_sl_node(b,
                                 constructor ? SPY_DECL_CONSTRUCTOR
                                 : global    ? SPY_DECL_FUNCTION
                                             : SPY_DECL_METHOD,
                                 spyi_text_str(&own));
    spyi_text_free(&own);
    spyi_sl_place(b, decl, scope, &node);
    for (size_t i = 0; i < sizeof modifiers / sizeof modifiers[0]; ++i)
        if (lib->spReflectionFunction_FindModifier(function, modifiers[i].modifier))
            node.flags |= modifiers[i].flag;
    spyi_sl_type *result = lib->spReflectionFunction_GetResultType(function);
    if (result) node.type = spyi_sl_type_info_of(b, result);
    spyi_sl_attributes(b, SPYI_SL_OF_FUNCTION, function, &node);
    if (global) spyi_sl_entry(b, function, &node);
    spyi_sl_nodes nodes = { NULL, 0, 0 };
    spyi_sl_scope inside = { node.kind, node.path, NULL, decl, scope->depth + 1 };
    if (generic) spyi_sl_generic_nodes(b, generic, &inside, &nodes);
    unsigned count = lib->spReflectionFunction_GetParameterCount(function);
    for (unsigned i = 0; i < count; ++i) {
        spyi_sl_variable *v = lib->spReflectionFunction_GetParameter(function, i);
        if (v) spyi_sl_parameter_node(b, v, node.path, &nodes);
    }
    node.text = spyi_sl_function_text(b, &node, &nodes);
    spyi_sl_give_children(b, &node, &nodes);
    spyi_sl_push(b, out, &node);
}

// >>variables

// Place of a global that the host sets; false: it is none.
static bool spyi_sl_shader_parameter(spyi_sl_builder *b, const spyi_sl_variable *variable, spy_decl *node) {
    const spyi_sl_library *lib = b->lib;
    unsigned count = lib->spReflection_GetParameterCount(b->live->layout);
    for (unsigned i = 0; i < count; ++i) {
        spyi_sl_variable_layout *place = lib->spReflection_GetParameterByIndex(b->live->layout, i);
        if (!place || lib->spReflectionVariableLayout_GetVariable(place) != variable) continue;
        bool block = node->type && node->type->kind == SPY_TYPE_PARAMETER_BLOCK;
        node->device_offset_bytes =
            lib->spReflectionVariableLayout_GetOffset(place, SPYI_SL_CATEGORY_UNIFORM);
        node->binding =
            (uint32_t)lib->spReflectionVariableLayout_GetOffset(place, SPYI_SL_CATEGORY_DESCRIPTOR);
        node->space =
            (uint32_t)(block
                           ? lib->spReflectionVariableLayout_GetOffset(place, SPYI_SL_CATEGORY_REGISTER_SPACE)
                           : lib->spReflectionVariableLayout_GetSpace(place, SPYI_SL_CATEGORY_DESCRIPTOR));
        return true;
    }
    return false;
}

static void spyi_sl_declare_variable(spyi_sl_builder *b, spyi_sl_decl *decl, const spyi_sl_scope *scope,
                                     spyi_sl_nodes *out) {
    spyi_sl_variable *v = b->lib->spReflectionDecl_castToVariable(decl);
    if (!v) return;
    spy_decl node = spyi_sl_node(b, SPY_DECL_VARIABLE, b->lib->spReflectionVariable_GetName(v));
    spyi_sl_place(b, decl, scope, &node);
    spyi_sl_variable_node(b, v, &node);
    if (scope->kind == SPY_DECL_STRUCT && !(node.flags & SPY_DECL_STATIC)) {
        node.kind = SPY_DECL_FIELD;
        for (uint32_t i = 0; scope->type && i < scope->type->field_count; ++i) {
            const spyi_field *f = &scope->type->fields[i];
            if (strcmp(f->name, node.name) != 0) continue;
            node.offset_bytes = f->host_offset;
            node.device_offset_bytes = f->device_offset;
        }
    } else if (spyi_sl_shader_parameter(b, v, &node)) {
        node.kind = SPY_DECL_SHADER_PARAMETER;
    }
    node.text = spyi_sl_variable_text(b, &node);
    spyi_sl_push(b, out, &node);
}

// >>types

static void spyi_sl_declare_all(spyi_sl_builder *b, const spyi_sl_scope *scope, spyi_sl_nodes *out);

// The cases are fields of the type, in the order in which they are declared.
static void spyi_sl_case_nodes(spyi_sl_builder *b, spyi_sl_type *slang, const spyi_sl_scope *scope,
                               spyi_sl_nodes *out) {
    const spyi_sl_library *lib = b->lib;
    unsigned count = lib->spReflectionType_GetFieldCount(slang), next = 0,
             children = lib->spReflectionDecl_getChildrenCount(scope->decl);
    for (unsigned i = 0; i < children && next < count; ++i) {
        spyi_sl_decl *child = lib->spReflectionDecl_getChild(scope->decl, i);
        spyi_sl_variable *v = lib->spReflectionType_GetFieldByIndex(slang, next);
        const char *name = child ? lib->spReflectionDecl_getName(child) : NULL,
                   *field = v ? lib->spReflectionVariable_GetName(v) : NULL;
        if (!name || !field || strcmp(name, field) != 0) continue;
        spy_decl node = spyi_sl_node(b, SPY_DECL_ENUM_CASE, name);
        spyi_text text = { NULL, 0, 0 };
        ++next;
        spyi_sl_place(b, child, scope, &node);
        spyi_sl_variable_node(b, v, &node);
        node.flags &= ~(uint32_t)SPY_DECL_HAS_DEFAULT;
        spyi_text_add(&text, "%s = ", name);
        spyi_sl_add_constant(&node.value, &text);
        node.text = spyi_sl_keep_text(b->to, &text);
        spyi_sl_push(b, out, &node);
    }
}

static void spyi_sl_meet_type(spyi_sl_builder *b, spyi_sl_type *slang) {
    if (spyi_sl_grow((void **)(void *)&b->types, &b->type_capacity, b->type_count, sizeof(spyi_sl_type *)))
        b->types[b->type_count++] = slang;
    else b->to->failed = true;
}

// A struct, enum, interface or class. `slang`: its type; NULL where libslang does not give it.
static void spyi_sl_type_node(spyi_sl_builder *b, spy_decl_kind kind, spyi_sl_decl *decl, spyi_sl_type *slang,
                              spyi_sl_generic *generic, const char *name, const spyi_sl_scope *scope,
                              spyi_sl_nodes *out) {
    spy_decl node = spyi_sl_node(b, kind, name);
    spyi_sl_nodes nodes = { NULL, 0, 0 };
    spyi_sl_place(b, decl, scope, &node);
    spyi_sl_scope inside = { kind, node.path, NULL, decl, scope->depth + 1 };
    if (b->lib->spReflectionDecl_findModifier(decl, SPYI_SL_MODIFIER_EXTERN)) node.flags |= SPY_DECL_EXTERN;
    if (b->lib->spReflectionDecl_findModifier(decl, SPYI_SL_MODIFIER_EXPORT)) node.flags |= SPY_DECL_EXPORT;
    if (slang) {
        inside.type = spyi_sl_to_type(b->unit, b->live, slang, b->open != 0);
        node.type = spyi_sl_type_info(b, inside.type, slang);
        spyi_sl_attributes(b, SPYI_SL_OF_TYPE, slang, &node);
        spyi_sl_meet_type(b, slang);
    }
    if (generic) spyi_sl_generic_nodes(b, generic, &inside, &nodes);
    node.text = spyi_sl_scope_text(b,
                                   kind == SPY_DECL_STRUCT      ? "struct"
                                   : kind == SPY_DECL_ENUM      ? "enum"
                                   : kind == SPY_DECL_INTERFACE ? "interface"
                                                                : "class",
                                   &node, &nodes);
    if (kind != SPY_DECL_ENUM) spyi_sl_declare_all(b, &inside, &nodes);
    else if (slang) spyi_sl_case_nodes(b, slang, &inside, &nodes);
    spyi_sl_give_children(b, &node, &nodes);
    spyi_sl_push(b, out, &node);
}

// >>what libslang does not name

static spyi_sl_decl *spyi_sl_child_named(spyi_sl_builder *b, spyi_sl_decl *decl, const char *name) {
    unsigned count = b->lib->spReflectionDecl_getChildrenCount(decl);
    for (unsigned i = 0; i < count; ++i) {
        spyi_sl_decl *child = b->lib->spReflectionDecl_getChild(decl, i);
        const char *own = child ? b->lib->spReflectionDecl_getName(child) : NULL;
        if (own && strcmp(own, name) == 0) return child;
    }
    return NULL;
}

static bool spyi_sl_is_property(spyi_sl_builder *b, spyi_sl_decl *decl) {
    return (spyi_sl_child_named(b, decl, "get") || spyi_sl_child_named(b, decl, "set") ||
            spyi_sl_child_named(b, decl, "ref")) &&
           !spyi_sl_child_named(b, decl, "This"); // an interface may have methods of these names
}

static void spyi_sl_property_node(spyi_sl_builder *b, spyi_sl_decl *decl, const char *name,
                                  const spyi_sl_scope *scope, spyi_sl_nodes *out) {
    const spyi_sl_library *lib = b->lib;
    bool subscript = strncmp(name, "operator", 8) == 0;
    spy_decl node = spyi_sl_node(b, subscript ? SPY_DECL_SUBSCRIPT : SPY_DECL_PROPERTY, name);
    spyi_sl_nodes nodes = { NULL, 0, 0 };
    spyi_sl_place(b, decl, scope, &node);
    if (lib->spReflectionDecl_findModifier(decl, SPYI_SL_MODIFIER_STATIC)) node.flags |= SPY_DECL_STATIC;
    unsigned count = lib->spReflectionDecl_getChildrenCount(decl);
    for (unsigned i = 0; i < count; ++i) {
        spyi_sl_decl *child = lib->spReflectionDecl_getChild(decl, i);
        const char *own = child ? lib->spReflectionDecl_getName(child) : NULL;
        unsigned kind = child ? lib->spReflectionDecl_getKind(child) : 0;
        if (!own) continue;
        spyi_sl_variable *v =
            kind == SPYI_SL_DECL_VARIABLE ? lib->spReflectionDecl_castToVariable(child) : NULL;
        spyi_sl_function *f =
            kind == SPYI_SL_DECL_FUNCTION ? lib->spReflectionDecl_castToFunction(child) : NULL;
        spyi_sl_type *type = NULL;
        if (v) spyi_sl_parameter_node(b, v, node.path, &nodes);
        if (!f) continue;
        if (strcmp(own, "set") != 0) {
            node.flags |= SPY_DECL_GETTER;
            type = lib->spReflectionFunction_GetResultType(f);
        } else if (!node.type && lib->spReflectionFunction_GetParameterCount(f) > 0) {
            spyi_sl_variable *value = lib->spReflectionFunction_GetParameter(f, 0);
            type = value ? lib->spReflectionVariable_GetType(value) : NULL;
        }
        if (strcmp(own, "get") != 0) node.flags |= SPY_DECL_SETTER; // "ref" is both
        if (type) node.type = spyi_sl_type_info_of(b, type);
    }
    spyi_text text = { NULL, 0, 0 };
    if (node.flags & SPY_DECL_STATIC) spyi_text_add(&text, "static ");
    spyi_text_add(&text, "%s%s %s", subscript ? "" : "property ", spyi_sl_type_text(&node), name);
    if (subscript) {
        spyi_text_add(&text, "(");
        spyi_sl_add_list(&nodes, false, &text);
        spyi_text_add(&text, ")");
    }
    spyi_text_add(&text, " {%s%s }", node.flags & SPY_DECL_GETTER ? " get;" : "",
                  node.flags & SPY_DECL_SETTER ? " set;" : "");
    node.text = spyi_sl_keep_text(b->to, &text);
    spyi_sl_give_children(b, &node, &nodes);
    spyi_sl_push(b, out, &node);
}

// Slang declares each attribute struct NameAttribute again, as Name.
static bool spyi_sl_is_attribute(spyi_sl_builder *b, const char *name, const spyi_sl_scope *scope) {
    spyi_text twin = { NULL, 0, 0 };
    spyi_text_add(&twin, "%sAttribute", name);
    bool is = spyi_sl_child_named(b, scope->decl, spyi_text_str(&twin)) != NULL;
    spyi_text_free(&twin);
    return is;
}

static void spyi_sl_alias_node(spyi_sl_builder *b, spyi_sl_decl *decl, spyi_sl_type *slang,
                               spyi_sl_generic *generic, const char *name, const spyi_sl_scope *scope,
                               spyi_sl_nodes *out) {
    bool associated = scope->kind == SPY_DECL_INTERFACE;
    spy_decl node = spyi_sl_node(b, associated ? SPY_DECL_ASSOCIATED_TYPE : SPY_DECL_ALIAS, name);
    spyi_sl_nodes nodes = { NULL, 0, 0 };
    spyi_sl_place(b, decl, scope, &node);
    spyi_sl_scope inside = { node.kind, node.path, NULL, decl, scope->depth + 1 };
    if (generic) spyi_sl_generic_nodes(b, generic, &inside, &nodes);
    if (slang && !associated) node.type = spyi_sl_type_info_of(b, slang);
    node.text = spyi_sl_scope_text(b, associated ? "associatedtype" : "typealias", &node, &nodes);
    spyi_sl_give_children(b, &node, &nodes);
    spyi_sl_push(b, out, &node);
}

static void spyi_sl_declare_other(spyi_sl_builder *b, spyi_sl_decl *decl, spyi_sl_generic *generic,
                                  const char *name, const spyi_sl_scope *scope, spyi_sl_nodes *out) {
    bool global = scope->kind == SPY_DECL_MODULE || scope->kind == SPY_DECL_NAMESPACE;
    spyi_text path = { NULL, 0, 0 }, full = { NULL, 0, 0 };
    if (scope->kind == SPY_DECL_INTERFACE && strcmp(name, "This") == 0) return;
    if (spyi_sl_is_property(b, decl)) {
        spyi_sl_property_node(b, decl, name, scope, out);
        return;
    }
    spyi_text_add(&path, "%s%s%s", scope->path, *scope->path ? "::" : "", name);
    // A generic's name alone is no type.
    spyi_sl_type *slang = b->open ? NULL : spyi_sl_type_named(b->unit, b->live, spyi_text_str(&path));
    if (slang) spyi_sl_full_name(b->unit, slang, &full);
    for (char *p = full.data; p && *p; ++p) // "ns.Name" and "ns::Name" alike
        if (*p == '.') *p = ':';
    const char *last = full.data ? strrchr(full.data, ':') : NULL;
    bool own_type = slang && strcmp(last ? last + 1 : spyi_text_str(&full), name) == 0;
    if (spyi_sl_child_named(b, decl, "This")) {
        spyi_sl_type_node(b, SPY_DECL_INTERFACE, decl, slang, generic, name, scope, out);
    } else if (spyi_sl_is_attribute(b, name, scope)) {
        // the struct is there already
    } else if (own_type && b->lib->spReflectionType_GetKind(slang) == 0 &&
               scope->kind != SPY_DECL_INTERFACE) {
        spyi_sl_type_node(b, SPY_DECL_OTHER, decl, slang, generic, name, scope, out);
    } else if (slang || b->open) {
        spyi_sl_alias_node(b, decl, slang, generic, name, scope, out);
    } else if (global) { // an __include'd file; the module's own name has nothing inside
        spyi_sl_scope file = *scope;
        file.decl = decl;
        file.depth++;
        spyi_sl_declare_all(b, &file, out);
    }
    spyi_text_free(&path);
    spyi_text_free(&full);
}

// >>extensions

static bool spyi_sl_has_method(spyi_sl_builder *b, spyi_sl_type *type, const char *name,
                               const spyi_sl_decl *method) {
    const spyi_sl_library *lib = b->lib;
    spyi_sl_function *found = lib->spReflection_FindFunctionByNameInType(b->live->layout, type, name);
    uint32_t count = found ? spyi_sl_overload_count(b->unit, found) : 0;
    for (uint32_t i = 0; i < count; ++i) {
        spyi_sl_function *f = spyi_sl_overload(b->unit, found, i);
        if (f && lib->spReflectionFunction_asDecl(f) == method) return true;
    }
    return false;
}

// The type that has the method: one of the module's so far, or a built-in one. Inside a generic only generic ones: all
// types that implement I have the methods of extension<T : I> T.
static spyi_sl_type *spyi_sl_extended(spyi_sl_builder *b, const char *name, const spyi_sl_decl *method) {
    spyi_types *types = b->unit->compiler->types;
    for (uint32_t i = 0; i < b->type_count; ++i) {
        if (b->open && !strchr(spyi_sl_type_info_of(b, b->types[i])->name, '<')) continue;
        if (spyi_sl_has_method(b, b->types[i], name, method)) return b->types[i];
    }
    for (uint32_t columns = 1; columns <= 4 && !b->open; ++columns) {
        for (int scalar = SPY_BOOL; scalar < SPY_DTYPE_COUNT; ++scalar) {
            const spyi_type *type = columns == 1 ? spyi_type_scalar(types, (spy_dtype)scalar)
                                                 : spyi_type_vector(types, (spy_dtype)scalar, columns);
            spyi_sl_type *slang = spyi_sl_type_of(b->unit, b->live, type);
            if (slang && spyi_sl_has_method(b, slang, name, method)) return slang;
        }
    }
    return NULL;
}

// Nothing says that an unnamed declaration is an extension, but that it holds functions which are no derivatives, or
// properties. Gives its first function; NULL when there are properties only.
static bool spyi_sl_is_extension(spyi_sl_builder *b, spyi_sl_decl *decl, spyi_sl_decl **method,
                                 const char **name) {
    const spyi_sl_library *lib = b->lib;
    unsigned count = lib->spReflectionDecl_getChildrenCount(decl);
    bool properties = false;
    for (unsigned i = 0; i < count; ++i) {
        spyi_sl_decl *child = lib->spReflectionDecl_getChild(decl, i);
        unsigned kind = child ? lib->spReflectionDecl_getKind(child) : 0;
        *name = child ? lib->spReflectionDecl_getName(child) : NULL;
        if (!*name || (spyi_sl_is_synthesised(*name) && strcmp(*name, "$init") != 0)) continue;
        spyi_sl_generic *generic =
            kind == SPYI_SL_DECL_GENERIC ? lib->spReflectionDecl_castToGeneric(child) : NULL;
        *method = kind == SPYI_SL_DECL_FUNCTION ? child
                  : generic                     ? lib->spReflectionGeneric_GetInnerDecl(generic)
                                                : NULL;
        if (*method) return true;
        properties = properties || (kind == SPYI_SL_DECL_UNSUPPORTED && spyi_sl_is_property(b, child));
    }
    return properties;
}

// "ns.Grid<T, N>" as a path: "ns::Grid".
static const char *spyi_sl_type_path(spyi_sl_builder *b, const char *name) {
    spyi_text path = { NULL, 0, 0 };
    int depth = 0;
    for (; *name; ++name) {
        if (*name == '<') ++depth;
        if (depth == 0) spyi_text_add_n(&path, *name == '.' ? "::" : name, *name == '.' ? 2 : 1);
        if (*name == '>') --depth;
    }
    return spyi_sl_keep_text(b->to, &path);
}

static void spyi_sl_extension_node(spyi_sl_builder *b, spyi_sl_decl *decl, const spyi_sl_scope *scope,
                                   spyi_sl_nodes *out) {
    const char *name = NULL;
    spyi_sl_decl *method = NULL;
    if (!spyi_sl_is_extension(b, decl, &method, &name)) return;
    spyi_sl_type *slang = method ? spyi_sl_extended(b, name, method) : NULL;
    const spy_type_info *type = slang ? spyi_sl_type_info_of(b, slang) : NULL;
    spy_decl node = spyi_sl_node(b, SPY_DECL_EXTENSION, type ? type->name : "");
    spyi_sl_scope root = { SPY_DECL_EXTENSION, "", NULL, decl, scope->depth + 1 };
    spyi_sl_nodes nodes = { NULL, 0, 0 };
    node.type = type;
    root.path = spyi_sl_type_path(b, node.name);
    node.text = spyi_sl_scope_text(b, "extension", &node, NULL);
    spyi_sl_declare_all(b, &root, &nodes);
    spyi_sl_give_children(b, &node, &nodes);
    spyi_sl_push(b, out, &node);
}

// >>the walk

static void spyi_sl_declare(spyi_sl_builder *b, spyi_sl_decl *decl, const spyi_sl_scope *scope,
                            bool extensions, spyi_sl_nodes *out) {
    const spyi_sl_library *lib = b->lib;
    const char *name = lib->spReflectionDecl_getName(decl);
    unsigned kind = lib->spReflectionDecl_getKind(decl);
    bool unnamed = !name || !*name;
    if (unnamed != extensions) return;
    if (!unnamed && strchr(name, '$') && strcmp(name, "$init") != 0) return; // Slang's own
    spyi_sl_generic *generic =
        kind == SPYI_SL_DECL_GENERIC ? lib->spReflectionDecl_castToGeneric(decl) : NULL; // crashes on others
    if (kind == SPYI_SL_DECL_GENERIC) {
        decl = generic ? lib->spReflectionGeneric_GetInnerDecl(generic) : NULL;
        if (!decl) return;
        kind = lib->spReflectionDecl_getKind(decl);
        b->open++;
    }
    if (unnamed) {
        if (kind == SPYI_SL_DECL_UNSUPPORTED) spyi_sl_extension_node(b, decl, scope, out);
    } else if (kind == SPYI_SL_DECL_STRUCT || kind == SPYI_SL_DECL_ENUM) {
        spyi_sl_type_node(b, kind == SPYI_SL_DECL_STRUCT ? SPY_DECL_STRUCT : SPY_DECL_ENUM, decl,
                          lib->spReflection_getTypeFromDecl(decl), generic, name, scope, out);
    } else if (kind == SPYI_SL_DECL_FUNCTION) {
        spyi_sl_function_node(b, decl, generic, name, scope, out);
    } else if (kind == SPYI_SL_DECL_VARIABLE) {
        spyi_sl_declare_variable(b, decl, scope, out);
    } else if (kind == SPYI_SL_DECL_NAMESPACE) {
        spy_decl node = spyi_sl_node(b, SPY_DECL_NAMESPACE, name);
        spyi_sl_nodes nodes = { NULL, 0, 0 };
        spyi_sl_place(b, decl, scope, &node);
        spyi_sl_scope inside = { SPY_DECL_NAMESPACE, node.path, NULL, decl, scope->depth + 1 };
        node.text = spyi_sl_scope_text(b, "namespace", &node, NULL);
        spyi_sl_declare_all(b, &inside, &nodes);
        spyi_sl_give_children(b, &node, &nodes);
        spyi_sl_push(b, out, &node);
    } else if (kind == SPYI_SL_DECL_UNSUPPORTED) {
        spyi_sl_declare_other(b, decl, generic, name, scope, out);
    }
    if (generic) b->open--;
}

// Extensions come last: they are recognised by the types that have been met.
static void spyi_sl_declare_all(spyi_sl_builder *b, const spyi_sl_scope *scope, spyi_sl_nodes *out) {
    unsigned count = b->lib->spReflectionDecl_getChildrenCount(scope->decl);
    if (scope->depth > SPYI_SL_DEEPEST_SCOPE) return;
    for (int pass = 0; pass < 2; ++pass) {
        for (unsigned i = 0; i < count && !b->to->failed; ++i) {
            spyi_sl_decl *child = b->lib->spReflectionDecl_getChild(scope->decl, i);
            if (child) spyi_sl_declare(b, child, scope, pass == 1, out);
        }
    }
}

static void spyi_sl_import_nodes(spyi_sl_builder *b, spyi_sl_nodes *out) {
    spyi_sl_session *session = b->live->session;
    for (size_t i = 0; i < b->unit->module_count; ++i) {
        spyi_sl_module *m = session->v->getLoadedModule(session, (spyi_sl_int)i);
        const char *name = m && m != b->live->module ? m->v->getName(m) : NULL;
        if (!name) continue;
        spy_decl node = spyi_sl_node(b, SPY_DECL_IMPORT, name);
        node.file = spyi_sl_keep(b->to, m->v->getFilePath(m));
        node.text = spyi_sl_scope_text(b, "import", &node, NULL);
        spyi_sl_push(b, out, &node);
    }
}

// Nodes have their places now: parents are known, and types their declarations.
static void spyi_sl_link(spy_decl *node) {
    for (uint32_t i = 0; i < node->child_count; ++i) {
        spy_decl *child = (spy_decl *)(uintptr_t)&node->children[i];
        child->parent = node;
        spyi_sl_link(child);
    }
    if (!node->type ||
        (node->kind != SPY_DECL_STRUCT && node->kind != SPY_DECL_ENUM && node->kind != SPY_DECL_INTERFACE))
        return;
    spy_type_info *type = (spy_type_info *)(uintptr_t)node->type;
    type->decl = node;
    if (node->kind == SPY_DECL_STRUCT) {
        type->fields = node->children;
        while (type->field_count < node->child_count &&
               node->children[type->field_count].kind == SPY_DECL_FIELD)
            type->field_count++;
    }
}

spyi_declarations *spyi_unit_declare(spyi_unit *unit) {
    spyi_declarations *to = (spyi_declarations *)calloc(1, sizeof *to);
    spyi_sl_nodes nodes = { NULL, 0, 0 };
    spyi_sl_builder b;
    if (!to) return NULL;
    spyi_global_lock();
    spyi_sl_builder_open(&b, to, unit);
    spyi_sl_decl *root = b.live->module->v->getModuleReflection(b.live->module);
    spyi_sl_scope scope = { SPY_DECL_MODULE, "", NULL, root, 0 };
    to->root = spyi_sl_node(&b, SPY_DECL_MODULE, unit->name);
    to->root.file = spyi_sl_keep(to, unit->path);
    to->root.text = spyi_sl_scope_text(&b, "module", &to->root, NULL);
    spyi_sl_import_nodes(&b, &nodes);
    if (root) spyi_sl_declare_all(&b, &scope, &nodes);
    spyi_sl_give_children(&b, &to->root, &nodes);
    if (!to->failed) spyi_sl_link(&to->root);
    if (!to->failed) spyi_sl_list_fields(&b);
    spyi_sl_builder_close(&b);
    spyi_global_unlock();
    if (!to->failed) return to;
    spyi_declarations_free(to);
    return NULL;
}

void spyi_declarations_free(spyi_declarations *declarations) {
    if (!declarations) return;
    for (spyi_sl_block *block = declarations->blocks, *next; block; block = next) {
        next = block->next;
        free(block);
    }
    free((void *)declarations->by_id);
    free(declarations);
}

const spy_decl *spyi_declarations_root(const spyi_declarations *declarations) {
    return &declarations->root;
}

const spy_type_info *spyi_declarations_type(spyi_declarations *declarations, spyi_unit *unit,
                                            const spyi_type *type) {
    spyi_sl_builder b;
    if (type->id < declarations->by_id_count && declarations->by_id[type->id])
        return declarations->by_id[type->id];
    spyi_global_lock();
    spyi_sl_builder_open(&b, declarations, unit);
    const spy_type_info *info = spyi_sl_type_info(&b, type, NULL);
    spyi_sl_list_fields(&b);
    spyi_sl_builder_close(&b);
    spyi_global_unlock();
    return declarations->failed ? NULL : info;
}

// >>compiler/code.c -----------------------------------------------------------------------------------------

// A generated kernel's text to the code that a driver takes.

// Estimate of what one kernel module leaves in its session, in KiB, measured with both versions as resident
// memory over 300 kernels (tests/unit/test_compiler.c prints it).
enum { SPYI_SL_KERNEL_KIB = 700 };

// SPIR-V's OpSource says "Slang" as number 11, which older validators and drivers do not know: 0 is "unknown".
static void spyi_code_patch_source(uint32_t *words, size_t count) {
    if (count < 5 || words[0] != 0x07230203u) return;
    for (size_t i = 5; i < count;) {
        uint32_t op = words[i] & 0xffffu, length = words[i] >> 16;
        if (length == 0 || op == 54) return; // OpFunction: no OpSource behind it
        if (op == 3 && length >= 2 && i + 1 < count) words[i + 1] = 0;
        i += length;
    }
}

// Mesa 22.3 compares structs by name as well: OpCopyLogical between "X_natural" and "X_natural_logical", which Slang emits
// without its optimiser, fails there ("Type mismatch for SPIR-V SSA value"). Without names all structs are called the same.
static size_t spyi_code_drop_struct_names(uint32_t *words, size_t count) {
    enum { NAME = 5, TYPE_STRUCT = 30, FUNCTION = 54 };
    if (count < 5 || words[0] != 0x07230203u || words[3] > count * 4) return count;
    uint8_t *is_struct = (uint8_t *)calloc(words[3] + 1, 1);
    if (!is_struct) return count;
    size_t to = 5;
    for (int pass = 0; pass < 2; pass++) {
        for (size_t i = 5, length; i < count; i += length) {
            uint32_t op = words[i] & 0xffffu;
            length = words[i] >> 16;
            if (length == 0 || length > count - i) { // not SPIR-V as we know it: leave it alone
                free(is_struct);
                return count;
            }
            bool named = length >= 2 && words[i + 1] < words[3];
            if (pass == 0 && op == TYPE_STRUCT && named) is_struct[words[i + 1]] = 1;
            if (pass == 0 && op == FUNCTION) break;
            if (pass == 0 || (op == NAME && named && is_struct[words[i + 1]])) continue;
            memmove(words + to, words + i, length * sizeof *words);
            to += length;
        }
    }
    free(is_struct);
    return to;
}

// Global shader parameters other than the kernel's own block cannot be set yet, and would take our bindings.
static bool spyi_code_has_globals(spyi_unit *unit, spyi_sl_component *linked, spyi_text *messages) {
    spyi_sl_blob *diagnostics = NULL;
    spyi_sl_layout *layout = linked->v->getLayout(linked, 0, &diagnostics);
    spyi_sl_blob_free(&diagnostics);
    unsigned count = layout ? SPYI_SL_FUNCTION(unit, spReflection_GetParameterCount)(layout) : 0;
    bool found = false;
    for (unsigned i = 0; i < count; i++) {
        spyi_sl_variable *variable = SPYI_SL_FUNCTION(unit, spReflectionVariableLayout_GetVariable)(
            SPYI_SL_FUNCTION(unit, spReflection_GetParameterByIndex)(layout, i));
        const char *name = variable ? SPYI_SL_FUNCTION(unit, spReflectionVariable_GetName)(variable) : NULL;
        if (!name || strcmp(name, "spyi") == 0) continue;
        spyi_text_add(
            messages, "%s'%s'",
            found ? ", " : "the module has global shader parameters, which cannot be set yet: ", name);
        found = true;
    }
    return found;
}

static bool spyi_code_take(spyi_unit *unit, spyi_sl_component *linked, spyi_code *code, spyi_text *messages) {
    spyi_sl_blob *blob = NULL, *hash = NULL, *diagnostics = NULL;
    spyi_sl_result result = linked->v->getEntryPointCode(linked, 0, 0, &blob, &diagnostics);
    spyi_sl_diagnostics(&diagnostics, NULL, messages);
    if (result >= 0 && blob) {
        code->size = blob->v->getBufferSize(blob);
        code->data = malloc(code->size + 4);
        if (code->data) {
            memcpy(code->data, blob->v->getBufferPointer(blob), code->size);
            if (unit->compiler->target == SPYI_TARGET_SPIRV) {
                spyi_code_patch_source((uint32_t *)code->data, code->size / sizeof(uint32_t));
                code->size =
                    4 * spyi_code_drop_struct_names((uint32_t *)code->data, code->size / sizeof(uint32_t));
            }
        }
        linked->v->getEntryPointHash(linked, 0, 0, &hash);
        if (hash && hash->v->getBufferSize(hash) >= sizeof code->hash)
            memcpy(code->hash, hash->v->getBufferPointer(hash), sizeof code->hash);
    }
    spyi_sl_blob_free(&hash);
    spyi_sl_blob_free(&blob);
    return code->data != NULL;
}

spyi_sl_component *spyi_sl_conformance(spyi_unit *unit, spyi_sl_live *live, const char *text,
                                       spyi_text *messages) {
    spyi_text names[2] = { { NULL, 0, 0 }, { NULL, 0, 0 } };
    spyi_sl_component *component = NULL;
    spyi_sl_blob *diagnostics = NULL;
    const char *colon = text;
    while (*colon && !(*colon == ':' && colon[1] != ':' && (colon == text || colon[-1] != ':'))) colon++;
    const char *equals = strchr(text, '=');
    long id = equals ? strtol(equals + 1, NULL, 10) : -1;
    size_t end = equals ? (size_t)(equals - text) : strlen(text);
    for (size_t i = 0; i < end; i++)
        if (text + i != colon && text[i] != ' ') spyi_text_add_n(&names[text + i > colon], text + i, 1);
    spyi_sl_type *type = spyi_sl_type_named(unit, live, spyi_text_str(&names[0]));
    spyi_sl_type *wanted = spyi_sl_type_named(unit, live, spyi_text_str(&names[1]));
    if (!type || !wanted) {
        spyi_text_add(messages, "conformance '%s': there is no type '%s'", text,
                      spyi_text_str(&names[type ? 1 : 0]));
    } else if (SPYI_SL_FUNCTION(unit, spReflectionType_GetKind)(wanted) != SPYI_SL_KIND_INTERFACE ||
               !SPYI_SL_FUNCTION(unit, spReflection_isSubType)(live->layout, type, wanted)) {
        spyi_text_add(messages, "conformance '%s': '%s' does not implement an interface '%s'", text,
                      spyi_text_str(&names[0]), spyi_text_str(&names[1]));
    } else {
        live->session->v->createTypeConformanceComponentType(live->session, type, wanted, &component, id,
                                                             &diagnostics);
        spyi_sl_diagnostics(&diagnostics, NULL, messages);
    }
    spyi_text_free(&names[0]);
    spyi_text_free(&names[1]);
    return component;
}

// The module, its entry point, both with the linked modules, then linked; everything is released again but
// the module.
static bool spyi_code_compile(spyi_unit *unit, spyi_sl_live *live, const char *module_name, const char *path,
                              const char *source, const char *entry, spyi_entry *own,
                              spyi_conformances conformances, spyi_code *code, spyi_text *messages) {
    spyi_sl_blob *diagnostics = NULL;
    spyi_sl_entry_point *entry_point = NULL;
    spyi_sl_component *composite = NULL, *linked = NULL;
    bool good = false;
    spyi_sl_session *session = live->session;
    spyi_sl_module *module =
        session->v->loadModuleFromSourceString(session, module_name, path, source, &diagnostics);
    spyi_sl_diagnostics(&diagnostics, NULL, messages);
    if (!module) return false;
    spyi_sl_module *holder = own ? live->module : module;
    spyi_sl_result result =
        holder->v->findAndCheckEntryPoint(holder, entry, SPYI_SL_STAGE_COMPUTE, &entry_point, &diagnostics);
    spyi_sl_diagnostics(&diagnostics, NULL, messages);
    spyi_sl_component **parts = (spyi_sl_component **)calloc(
        conformances.count + live->conformance_count + live->link_count + 3, sizeof(spyi_sl_component *));
    uint32_t count = 0;
    bool conforming = parts != NULL; // conformances come first: they are ours to release
    for (uint32_t i = 0; conforming && i < conformances.count; ++i) {
        parts[count] = spyi_sl_conformance(unit, live, conformances.items[i], messages);
        conforming = parts[count] != NULL;
        if (conforming) count++;
    }
    uint32_t owned = count;
    if (result >= 0 && entry_point && conforming) {
        parts[count++] = (spyi_sl_component *)module;
        if (own) parts[count++] = (spyi_sl_component *)holder;
        parts[count++] = (spyi_sl_component *)entry_point;
        for (uint32_t i = 0; i < live->link_count; ++i) parts[count++] = live->links[i];
        for (uint32_t i = 0; i < live->conformance_count; ++i) parts[count++] = live->conformances[i];
        result = session->v->createCompositeComponentType(session, parts, count, &composite, &diagnostics);
        spyi_sl_diagnostics(&diagnostics, NULL, messages);
        if (result >= 0 && composite) {
            result = composite->v->link(composite, &linked, &diagnostics);
            spyi_sl_diagnostics(&diagnostics, NULL, messages);
        }
        if (result >= 0 && linked && !spyi_code_has_globals(unit, linked, messages))
            good = spyi_code_take(unit, linked, code, messages);
        if (good && own) spyi_sl_entry_places(unit, linked, own);
    }
    if (linked) linked->v->release(linked);
    if (composite) composite->v->release(composite);
    if (entry_point) entry_point->v->release(entry_point);
    for (uint32_t i = 0; i < owned; ++i) parts[i]->v->release(parts[i]);
    free(parts);
    return good;
}

// The source with imports of all modules that the unit has loaded: types of modules that it imports are not seen through it.
static void spyi_code_import_all(const spyi_unit *unit, spyi_sl_live *live, const char *source,
                                 spyi_text *out) {
    for (size_t i = 0; i < unit->module_count; i++) {
        spyi_sl_module *m = live->session->v->getLoadedModule(live->session, (spyi_sl_int)i);
        const char *name = m ? m->v->getName(m) : NULL;
        if (name && strcmp(name, unit->name) != 0) spyi_text_add(out, "import \"%s\";\n", name);
    }
    spyi_text_add(out, "%s", source);
}

spy_status spyi_unit_compile(spyi_unit *unit, const char *kernel_name, const char *source, const char *entry,
                             spyi_conformances conformances, spyi_code *code, spyi_text *error) {
    return spyi_unit_compile_own(unit, kernel_name, source, entry, NULL, conformances, code, error);
}

spy_status spyi_unit_compile_own(spyi_unit *unit, const char *kernel_name, const char *source,
                                 const char *entry, spyi_entry *own, spyi_conformances conformances,
                                 spyi_code *code, spyi_text *error) {
    spyi_text name = { NULL, 0, 0 }, path = { NULL, 0, 0 }, messages = { NULL, 0, 0 }, step = { NULL, 0, 0 };
    memset(code, 0, sizeof *code);
    // Named by its text: the same text is the same module (and has the same hash), another text is another one.
    uint64_t id = spyi_hash(source, strlen(source), 0);
    spyi_text_add(&name, "%s_%016llx", kernel_name, (unsigned long long)id);
    spyi_text_add(&path, "%s.slang", spyi_text_str(&name));
    spyi_text_add(&step, "compile %s", kernel_name);
    spyi_step(unit->compiler->ctx, spyi_text_str(&step), false);
    spyi_global_lock();
    spyi_sl_live *live = spyi_sl_live_of(unit, SPYI_SL_KERNEL_KIB);
    bool good = spyi_code_compile(unit, live, spyi_text_str(&name), spyi_text_str(&path), source, entry, own,
                                  conformances, code, &messages);
    if (!good && unit->module_count > 1) {
        spyi_text all = { NULL, 0, 0 }, ignored = { NULL, 0, 0 };
        spyi_code_import_all(unit, live, source, &all);
        spyi_text_add(&name, "_imports");
        good = spyi_code_compile(unit, live, spyi_text_str(&name), spyi_text_str(&path), spyi_text_str(&all),
                                 entry, own, conformances, code, &ignored);
        if (good) spyi_text_clear(&messages); // else the first attempt's words are the ones to show
        spyi_text_free(&all);
        spyi_text_free(&ignored);
    }
    spyi_global_unlock();
    spyi_step(unit->compiler->ctx, spyi_text_str(&step), true);
    if (!good)
        spyi_text_add(error, "kernel '%s' does not compile:\n%s", kernel_name, spyi_text_str(&messages));
    else if (messages.size)
        spyi_logf(unit->compiler->ctx, SPY_LOG_DEBUG, "kernel '%s':\n%s", kernel_name,
                  spyi_text_str(&messages));
    spyi_text_free(&name);
    spyi_text_free(&path);
    spyi_text_free(&messages);
    spyi_text_free(&step);
    return good ? SPY_OK : SPY_ERROR_COMPILE;
}

void spyi_code_free(spyi_code *code) {
    if (!code) return;
    free(code->data);
    memset(code, 0, sizeof *code);
}

// >>data/device.h -------------------------------------------------------------------------------------------

// The device and what belongs to it: memory blocks with their hazards, tensors, modules, functions.

typedef struct spyi_cache spyi_cache; // call/: compiled calls

// >>storage: a block of device memory, recycled as a whole, so that the hazards of its former use stay with it.
// Hazards are counted in epochs; each recorded barrier begins a new one. Two uses conflict when they fall into the same
// epoch, their byte ranges meet and one of them writes.
typedef struct spyi_storage spyi_storage;
struct spyi_storage {
    spyi_chunk chunk;                          // the driver's memory that this block lies in
    uint64_t offset, size;                     // the block in the chunk
    uint64_t read_epoch, read_begin, read_end; // bytes from the block's start
    uint64_t write_epoch, write_begin, write_end;
    uint64_t write_submit; // batch of the last write: a read back waits for it
    uint64_t use_submit;   // batch of the last use: freeing waits for it
    int32_t references;    // tensors on it, guarded by the device's busy flag
    int32_t size_class;    // free list that it returns to; -1: imported
    spyi_memory memory;
    struct spyi_slab *slab; // whose chunk it was cut from; NULL: has its chunk alone
    spyi_storage *next;     // in a free list, or in the list of imported ones
};

typedef struct spyi_slab {
    spyi_chunk chunk;
    uint64_t used; // bytes cut off
    int32_t live;  // blocks in use
    struct spyi_slab *next;
} spyi_slab;

#define SPYI_SIZE_CLASSES 160

typedef struct spyi_pool {
    spyi_storage *free_blocks[2][SPYI_SIZE_CLASSES]; // by spyi_memory
    spyi_slab *slabs[2];
    spyi_storage *imported;
    uint64_t held_bytes, used_bytes;
} spyi_pool;

struct spy_tensor {
    spyi_object object;
    spyi_storage *storage;
    const spyi_type *type;           // element
    spy_shape shape, strides;        // strides in elements; dims beyond the rank are 0
    uint64_t offset_bytes;           // of element 0 in the storage
    uint64_t begin_bytes, end_bytes; // what elements touch in the storage; equal when there are none
    int64_t element_count;           // up to here a tensor's geometry: compared as bytes
    bool contiguous;
    const char *label;           // ours, or ""
    spy_tensor *previous, *next; // in device.tensors; next also among the dead
};

typedef struct spyi_reflection spyi_reflection; // reflect.c: trees of declarations

struct spy_module {
    spyi_object object;
    spyi_unit *unit;
    spyi_reflection *reflection; // NULL until asked for
    bool strict_broadcasting;
    char *name;
    spy_function *functions; // found so far
    spy_module **link;       // retained
    size_t link_count;
    uint32_t generation; // reloads so far
    bool reloading;      // one of those that the reload under way replaces
    bool stale;          // its last reload failed: its files are newer than its code
    bool tried;          // ... in the poll under way
    spyi_unit *fresh;    // what it will have then
    spy_module *previous, *next;
};

#define SPYI_RECENT_PLANS 4

struct spy_function {
    spyi_object object;
    spy_module *module;
    char *name;
    uint32_t id; // part of the plan key
    spyi_overloads overloads; // none: gone with a reload
    spyi_entry entry;         // once it has been dispatched
    bool entry_known;
    struct spyi_plan *recent[SPYI_RECENT_PLANS]; // tried before the table, most recent first
    spy_function *next;
};

typedef struct spyi_grave {
    spyi_object *object;
    size_t size;
    struct spyi_grave *next;
} spyi_grave;

typedef struct spyi_close_callback {
    void (*func)(spy_device *device, void *user_data);
    void *user_data;
    struct spyi_close_callback *next;
} spyi_close_callback;

struct spy_device {
    spyi_context ctx; // first: begins with spyi_object
    const spy_backend *backend;
    spyi_gpu *gpu;
    spyi_gpu_base *base; // the same object: limits and counters
    spyi_types *types;
    const spyi_type *scalars[SPY_DTYPE_COUNT]; // interned once: calls must not lock the table
    spyi_compiler *compiler;
    spyi_pool pool;
    spyi_cache *cache;
    spyi_storage *readback;             // results to host memory of the running call
    bool barrier_owed;                  // an operation that should have brought one failed
    uint64_t epoch;                     // of hazards, from 1
    uint64_t untracked_epoch;           // of the last work that may have written anywhere; 0: none
    uint64_t counts_epoch;              // that began with the last barrier for indirect group counts
    spy_tensor *tensors;                // alive
    spy_tensor *dead_first, *dead_last; // released headers, reused oldest first
    uint32_t dead_count;
    spy_module *modules;
    struct spy_prepared *prepared;
    struct spyi_cursor_range *cursor_ranges;
    struct spy_command_list *lists;
    uint32_t next_function_id;
    spyi_mutex release_lock; // guards the next two
    spyi_object *release_queue;
    spyi_atomic release_count; // entries of release_queue, read without the lock
    spyi_close_callback *close_callbacks;
    spyi_grave *graves; // of modules, functions and prepared calls, in debug builds
    char *dump_directory;
    spy_reload_hook reload;
    uint64_t reload_looked_ns; // last look of spy_poll_reload
    spy_device_stats stats;
};

// >>pool.c
// A block of at least `size` bytes, references 0; NULL: `error` says why. Frees cached memory and tries again once.
SPYI_FN spyi_storage *spyi_pool_take(spy_device *device, spyi_memory memory, uint64_t size, const char *label,
                                     spyi_text *error, spy_status *status);
SPYI_FN void spyi_pool_give(spy_device *device,
                            spyi_storage *storage); // no waiting: later users are ordered by hazards
SPYI_FN void spyi_pool_trim(spy_device *device);    // frees all unused memory; the GPU must be idle
SPYI_FN void spyi_pool_destroy(spy_device *device); // all blocks have been given back
SPYI_FN spyi_storage *spyi_pool_import(spy_device *device,
                                       const spyi_chunk *chunk); // finds the same handle again

// A use of bytes [begin, end) of a block by work about to be recorded: does it need a barrier before it?
SPYI_FN bool spyi_hazard(const spy_device *device, const spyi_storage *storage, uint64_t begin, uint64_t end,
                         bool writes);
// ... and note the use, after the epoch was advanced if a barrier was needed.
SPYI_FN void spyi_note_use(spy_device *device, spyi_storage *storage, uint64_t begin, uint64_t end,
                           bool writes, uint64_t submit);

// One operation's use of a block.
typedef struct spyi_use {
    spyi_storage *storage;
    uint64_t begin, end; // bytes from the block's start
    bool reads, writes;
    bool counts; // holds the group counts of an indirect dispatch
} spyi_use;
// All uses of an operation about to be recorded: whether to record it with a barrier, and notes them. `untracked`: it may
// use other memory too, which nobody knows.
SPYI_FN bool spyi_take_uses(spy_device *device, const spyi_use *uses, uint32_t count, bool untracked);
// After the operation.
SPYI_FN void spyi_uses_done(spy_device *device, bool barrier, bool untracked, spy_status status);

// Begins the next epoch if a barrier is needed, or still owed; gives what to hand to the backend.
SPYI_FN bool spyi_take_barrier(spy_device *device, bool needed);
// After the operation that the barrier went with.
SPYI_FN void spyi_barrier_done(spy_device *device, bool barrier, spy_status status);

// >>device.c
SPYI_FN spyi_object *spyi_as(const void *object, spyi_kind kind); // NULL: not a living object of that kind
// Reports `error` under a function's name and frees it: "spy_call: ...".
SPYI_FN spy_status spyi_fail_text(spy_device *device, spy_status status, const char *function,
                                  spyi_text *error);

// A reference less, from any thread at any time; the last one queues the object for whoever enters the device next.
SPYI_FN void spyi_object_release(spyi_object *object);
SPYI_FN void spyi_object_retain(const void *object, spyi_kind kind,
                                const char *function); // likewise; reports a bad one
SPYI_FN void spyi_drain_releases(spy_device *device);  // frees what any thread released
// Frees a released object. Debug builds keep its header, tagged dead, until the device goes, so that a later use is told.
SPYI_FN void spyi_bury(spy_device *device, spyi_object *object, size_t size);

// >>tensor.c
SPYI_FN void spyi_tensor_unlink(spy_tensor *tensor); // out of the list of the living, before spyi_tensor_free
SPYI_FN spy_tensor *spyi_tensor_new(
    spy_device *device); // header with reference 1 and no storage; NULL: out of memory
SPYI_FN void spyi_tensor_free(spy_tensor *tensor); // at reference 0, inside the device
// A contiguous tensor on fresh memory.
SPYI_FN spy_tensor *spyi_tensor_make(spy_device *device, const spyi_type *type, const spy_shape *shape,
                                     const char *label, spyi_text *error, spy_status *status);
// Computes element_count, contiguous, begin_bytes and end_bytes of a tensor whose type, shape, strides and offset are set.
SPYI_FN void spyi_tensor_measure(spy_tensor *tensor);
SPYI_FN spy_shape spyi_row_major(const spy_shape *shape);
SPYI_FN int64_t spyi_shape_count(const spy_shape *shape); // -1: negative size or more than 2^62 elements
SPYI_FN void spyi_shape_text(const spy_shape *shape, spyi_text *out); // "(480, 640)"
// A tensor's element type from a desc: dtype or name; NULL: error reported under `function`.
SPYI_FN const spyi_type *spyi_element_type(spy_device *device, spy_module *module, spy_dtype dtype,
                                           const char *type, const char *function);

// The name of an element type as spy_create_tensor takes it.
SPYI_FN const char *spyi_type_user_name(const spyi_type *type);
// Whether `size_bytes` bytes are what `count` elements of the tensor have in C's layout.
SPYI_FN spy_status spyi_check_transfer(const spy_tensor *tensor, int64_t count, const void *data,
                                       size_t size_bytes, spyi_text *error);
// Elements first .. first + count are the tensor's; else SPY_ERROR_OUT_OF_RANGE, reported.
SPYI_FN spy_status spyi_check_elements(spy_tensor *tensor, const char *function, int64_t first,
                                       int64_t count);

// >>meet.c
// Whether two elements of the tensor can lie at one place. Exact for slices, transposes and broadcasts; for stranger
// strides it may say so though they do not.
SPYI_FN bool spyi_tensor_meets_itself(const spy_tensor *tensor);
// Whether an element of one can touch an element of the other.
SPYI_FN bool spyi_tensors_meet(const spy_tensor *a, const spy_tensor *b);

// >>transfer.c
// Elements first .. first + count in row-major order, to or from packed host memory in C's layout.
SPYI_FN spy_status spyi_tensor_move(spy_tensor *tensor, int64_t first, int64_t count, void *data, bool upload,
                                    spyi_text *error);
SPYI_FN spy_status spyi_tensor_download(spy_tensor *tensor, void *data, spyi_text *error); // all of them
SPYI_FN spy_status spyi_tensor_upload(spy_tensor *tensor, const void *data, spyi_text *error);
// A grid of a tensor's elements from its first one on. Rank as for a tensor with each dimension cut in two.
typedef struct spyi_box {
    uint32_t rank;
    int64_t dims[2 * SPY_MAX_RANK], strides[2 * SPY_MAX_RANK]; // strides in elements
} spyi_box;
SPYI_FN spy_status spyi_tensor_download_box(spy_tensor *tensor, const spyi_box *box, void *data,
                                            spyi_text *error);

// >>copy.c
// Every scalar set to `value`; and whether the GPU can do that by repeating `pattern`.
SPYI_FN spy_status spyi_fill_tensor(spy_tensor *tensor, double value, spyi_text *error);
SPYI_FN spy_status spyi_fill_pattern(const spy_tensor *tensor, double value, bool *repeats, uint32_t *pattern,
                                     spyi_text *error);
// Sets each element to one value in C's layout; NULL: to zeros.
SPYI_FN spy_status spyi_tensor_repeat(spy_tensor *tensor, const void *element, spyi_text *error);

// >>view.c
// A view of `parent`, like it in everything; the caller changes it and measures it. NULL: reported.
SPYI_FN spy_tensor *spyi_view_new(spy_tensor *parent, const char *function);

// >>print.c
// One scalar as text, floats with the fewest digits that tell it from others.
SPYI_FN void spyi_scalar_text(const void *scalar, spy_dtype dtype, spyi_text *out);

// >>cursor.c
SPYI_FN void spyi_cursor_range_free(struct spyi_cursor_range *range);

// >>clock.c
SPYI_FN uint64_t spyi_ticks_to_ns(uint64_t ticks, double period_ns);

// >>args.c
SPYI_FN spy_arg spyi_custom_arg(const char *name,
                                const struct spyi_value_kind *kind); // SPY_ARG_CUSTOM, its dims 0

// >>module.c
SPYI_FN void spyi_module_free(spy_module *module);
SPYI_FN void spyi_module_drop(spy_module *module); // one reference less; frees it at the last

// >>reflect.c
SPYI_FN void spyi_reflection_free(spyi_reflection *reflection); // NULL is fine

// >>call/prepare.c
// Waits for the compile threads of modules that are being reloaded.
SPYI_FN void spyi_prepared_settle(spy_device *device);

// >>call/cache.c
SPYI_FN spyi_cache *spyi_cache_create(spy_device *device, uint32_t max_plans);
SPYI_FN void spyi_cache_destroy(spy_device *device);
SPYI_FN void spyi_cache_forget_function(spy_device *device, const spy_function *function);
SPYI_FN void spyi_prepared_free(struct spy_prepared *prepared);
SPYI_FN void spyi_prepared_free_all(spy_device *device);

// >>call/list.c
SPYI_FN void spyi_list_free(struct spy_command_list *list);

// >>data/args.c ---------------------------------------------------------------------------------------------

// The constructors of spy_arg: what a caller writes into SPY_ARGS. Nothing is checked here, for there is no
// device to report to; the call says what does not fit.

static spy_arg spyi_make_arg(const char *name, spy_arg_kind kind, spy_direction direction, spy_dtype dtype) {
    spy_arg arg; // dims stay unset but for host arrays: clearing them costs more than all the rest
    arg.name = name;
    arg.kind = kind;
    arg.direction = direction;
    arg.dtype = dtype;
    arg.map_count = 0;
    memset(arg.map, 0, sizeof arg.map);
    arg.type = NULL;
    arg.custom = NULL;
    arg.value.u = 0;
    arg.count = 0;
    return arg;
}

SPYI_FN spy_arg spyi_custom_arg(const char *name, const struct spyi_value_kind *kind) {
    spy_arg arg = spyi_make_arg(name, SPY_ARG_CUSTOM, SPY_DIRECTION_DEFAULT, SPY_DTYPE_DEFAULT);
    arg.custom = kind;
    memset(arg.dims, 0, sizeof arg.dims);
    return arg;
}

// >>scalars in

spy_arg spy_arg_bool(const char *name, bool value) {
    spy_arg arg = spyi_make_arg(name, SPY_ARG_BOOL, SPY_DIRECTION_DEFAULT, SPY_BOOL);
    arg.value.u = value ? 1u : 0u;
    return arg;
}

spy_arg spy_arg_i32(const char *name, int32_t value) {
    spy_arg arg = spyi_make_arg(name, SPY_ARG_INT, SPY_DIRECTION_DEFAULT, SPY_INT32);
    arg.value.i = value;
    return arg;
}

spy_arg spy_arg_u32(const char *name, uint32_t value) {
    spy_arg arg = spyi_make_arg(name, SPY_ARG_UINT, SPY_DIRECTION_DEFAULT, SPY_UINT32);
    arg.value.u = value;
    return arg;
}

spy_arg spy_arg_i64(const char *name, int64_t value) {
    spy_arg arg = spyi_make_arg(name, SPY_ARG_INT, SPY_DIRECTION_DEFAULT, SPY_INT64);
    arg.value.i = value;
    return arg;
}

spy_arg spy_arg_u64(const char *name, uint64_t value) {
    spy_arg arg = spyi_make_arg(name, SPY_ARG_UINT, SPY_DIRECTION_DEFAULT, SPY_UINT64);
    arg.value.u = value;
    return arg;
}

spy_arg spy_arg_f32(const char *name, float value) {
    spy_arg arg = spyi_make_arg(name, SPY_ARG_FLOAT, SPY_DIRECTION_DEFAULT, SPY_FLOAT32);
    arg.value.f = (double)value;
    return arg;
}

spy_arg spy_arg_f64(const char *name, double value) {
    spy_arg arg = spyi_make_arg(name, SPY_ARG_FLOAT, SPY_DIRECTION_DEFAULT, SPY_FLOAT64);
    arg.value.f = value;
    return arg;
}

// >>scalars out and inout: the value lies in the caller's memory, of the size that dtype says

static spy_arg spyi_make_result(const char *name, spy_arg_kind kind, spy_direction direction, spy_dtype dtype,
                                void *value) {
    spy_arg arg = spyi_make_arg(name, kind, direction, dtype);
    arg.value.out = value;
    return arg;
}

spy_arg spy_out_bool(const char *name, bool *value) {
    return spyi_make_result(name, SPY_ARG_BOOL, SPY_DIRECTION_OUT, SPY_BOOL, value);
}

spy_arg spy_out_i32(const char *name, int32_t *value) {
    return spyi_make_result(name, SPY_ARG_INT, SPY_DIRECTION_OUT, SPY_INT32, value);
}

spy_arg spy_out_u32(const char *name, uint32_t *value) {
    return spyi_make_result(name, SPY_ARG_UINT, SPY_DIRECTION_OUT, SPY_UINT32, value);
}

spy_arg spy_out_i64(const char *name, int64_t *value) {
    return spyi_make_result(name, SPY_ARG_INT, SPY_DIRECTION_OUT, SPY_INT64, value);
}

spy_arg spy_out_u64(const char *name, uint64_t *value) {
    return spyi_make_result(name, SPY_ARG_UINT, SPY_DIRECTION_OUT, SPY_UINT64, value);
}

spy_arg spy_out_f32(const char *name, float *value) {
    return spyi_make_result(name, SPY_ARG_FLOAT, SPY_DIRECTION_OUT, SPY_FLOAT32, value);
}

spy_arg spy_out_f64(const char *name, double *value) {
    return spyi_make_result(name, SPY_ARG_FLOAT, SPY_DIRECTION_OUT, SPY_FLOAT64, value);
}

spy_arg spy_inout_i32(const char *name, int32_t *value) {
    return spyi_make_result(name, SPY_ARG_INT, SPY_DIRECTION_INOUT, SPY_INT32, value);
}

spy_arg spy_inout_u32(const char *name, uint32_t *value) {
    return spyi_make_result(name, SPY_ARG_UINT, SPY_DIRECTION_INOUT, SPY_UINT32, value);
}

spy_arg spy_inout_bool(const char *name, bool *value) {
    return spyi_make_result(name, SPY_ARG_BOOL, SPY_DIRECTION_INOUT, SPY_BOOL, value);
}

spy_arg spy_inout_i64(const char *name, int64_t *value) {
    return spyi_make_result(name, SPY_ARG_INT, SPY_DIRECTION_INOUT, SPY_INT64, value);
}

spy_arg spy_inout_u64(const char *name, uint64_t *value) {
    return spyi_make_result(name, SPY_ARG_UINT, SPY_DIRECTION_INOUT, SPY_UINT64, value);
}

spy_arg spy_inout_f32(const char *name, float *value) {
    return spyi_make_result(name, SPY_ARG_FLOAT, SPY_DIRECTION_INOUT, SPY_FLOAT32, value);
}

spy_arg spy_inout_f64(const char *name, double *value) {
    return spyi_make_result(name, SPY_ARG_FLOAT, SPY_DIRECTION_INOUT, SPY_FLOAT64, value);
}

// >>tensors, arrays, bytes, structs

spy_arg spy_arg_tensor(const char *name, spy_tensor *tensor) {
    spy_arg arg = spyi_make_arg(name, SPY_ARG_TENSOR, SPY_DIRECTION_DEFAULT, SPY_DTYPE_DEFAULT);
    arg.value.tensor = tensor;
    return arg;
}

spy_arg spy_out_tensor(const char *name, spy_tensor **tensor) {
    spy_arg arg = spyi_make_arg(name, SPY_ARG_NEW, SPY_DIRECTION_OUT, SPY_DTYPE_DEFAULT);
    arg.value.new_tensor = tensor;
    return arg;
}

// A rank beyond SPY_MAX_RANK stays in `count` for the call to refuse; dims then holds the first sizes only.
static spy_arg spyi_make_array(const char *name, spy_direction direction, spy_dtype dtype,
                               const spy_shape *shape, const void *data) {
    spy_arg arg =
        spyi_make_arg(name, SPY_ARG_ARRAY, direction, dtype == SPY_DTYPE_DEFAULT ? SPY_FLOAT32 : dtype);
    uint32_t i;
    arg.value.data = data;
    arg.count = shape->rank;
    for (i = 0; i < shape->rank && i < SPY_MAX_RANK; i++) arg.dims[i] = shape->dims[i];
    return arg;
}

static spy_arg spyi_make_vector(const char *name, spy_dtype dtype, uint32_t count, const void *values) {
    spy_arg arg = spyi_make_arg(name, SPY_ARG_ARRAY, SPY_DIRECTION_DEFAULT, dtype);
    arg.value.data = values;
    arg.count = 1;
    arg.dims[0] = count;
    return arg;
}

spy_arg spy_arg_array(const char *name, spy_dtype dtype, spy_shape shape, const void *data) {
    return spyi_make_array(name, SPY_DIRECTION_DEFAULT, dtype, &shape, data);
}

spy_arg spy_out_array(const char *name, spy_dtype dtype, spy_shape shape, void *data) {
    return spyi_make_array(name, SPY_DIRECTION_OUT, dtype, &shape, data);
}

spy_arg spy_inout_array(const char *name, spy_dtype dtype, spy_shape shape, void *data) {
    return spyi_make_array(name, SPY_DIRECTION_INOUT, dtype, &shape, data);
}

spy_arg spy_arg_f32n(const char *name, uint32_t count, const float *values) {
    return spyi_make_vector(name, SPY_FLOAT32, count, values);
}

spy_arg spy_arg_i32n(const char *name, uint32_t count, const int32_t *values) {
    return spyi_make_vector(name, SPY_INT32, count, values);
}

static spy_arg spyi_make_data(const char *name, spy_direction direction, const void *data,
                              size_t size_bytes) {
    spy_arg arg = spyi_make_arg(name, SPY_ARG_DATA, direction, SPY_DTYPE_DEFAULT);
    arg.value.data = data;
    arg.count = size_bytes;
    return arg;
}

spy_arg spy_arg_data(const char *name, const void *data, size_t size_bytes) {
    return spyi_make_data(name, SPY_DIRECTION_DEFAULT, data, size_bytes);
}

spy_arg spy_out_data(const char *name, void *data, size_t size_bytes) {
    return spyi_make_data(name, SPY_DIRECTION_OUT, data, size_bytes);
}

spy_arg spy_inout_data(const char *name, void *data, size_t size_bytes) {
    return spyi_make_data(name, SPY_DIRECTION_INOUT, data, size_bytes);
}

spy_arg spy_arg_struct(const char *name, spy_args fields) {
    spy_arg arg = spyi_make_arg(name, SPY_ARG_STRUCT, SPY_DIRECTION_DEFAULT, SPY_DTYPE_DEFAULT);
    arg.value.fields = fields.items;
    arg.count = fields.count;
    return arg;
}

// >>how an argument is run over

// As in spyi_make_array: a count beyond SPY_MAX_RANK, and a dimension that fits no int8_t (then -128 or 127,
// both out of range), are left for the call to refuse.
spy_arg spy_map(spy_arg arg, spy_dims dims) {
    uint32_t i;
    arg.map_count = dims.count;
    for (i = 0; i < dims.count && i < SPY_MAX_RANK; i++) {
        int32_t dim = dims.dims[i];
        arg.map[i] = (int8_t)(dim < INT8_MIN ? INT8_MIN : dim > INT8_MAX ? INT8_MAX : dim);
    }
    return arg;
}

spy_arg spy_cast(spy_arg arg, const char *type) {
    arg.type = type;
    return arg;
}

// >>data/packed.c -------------------------------------------------------------------------------------------

// Packed arguments: a copy of an argument, with all that it points to, for calls that give it again and again.

struct spy_packed {
    spy_arg arg;
    char *name, *type;
    void *data;         // of host values
    spy_packed *fields; // of structs
    spy_arg *items;     // the fields' arguments, next to each other
    size_t field_count;
};

static void spyi_packed_clear(spy_packed *p) {
    for (size_t i = 0; i < p->field_count; i++) spyi_packed_clear(&p->fields[i]);
    if (p->arg.kind == SPY_ARG_TENSOR && p->arg.value.tensor) spy_release_tensor(p->arg.value.tensor);
    free(p->fields);
    free(p->items);
    free(p->data);
    free(p->name);
    free(p->type);
    memset(p, 0, sizeof *p);
}

static const char *spyi_packed_bytes(const spy_arg *arg, size_t *size) {
    *size = 0;
    if (arg->kind == SPY_ARG_DATA) *size = arg->count;
    if (arg->kind == SPY_ARG_ARRAY) {
        spy_shape shape;
        memset(&shape, 0, sizeof shape);
        if (arg->count > SPY_MAX_RANK) return "its rank is above SPY_MAX_RANK";
        shape.rank = (uint32_t)arg->count;
        memcpy(shape.dims, arg->dims, sizeof shape.dims);
        int64_t count = spyi_shape_count(&shape);
        if (count < 0) return "its shape has a negative or too large size";
        *size = (size_t)count * spyi_scalar_size(arg->dtype);
    }
    return *size && !arg->value.data ? "its host data is NULL" : NULL;
}

// Copies `arg` into `p`; on failure *problem says what is wrong with it, and p is to be cleared.
static bool spyi_packed_copy(spy_packed *p, const spy_arg *arg, int depth, const char **problem) {
    size_t size = 0;
    *problem = NULL;
    memset(p, 0, sizeof *p);
    p->arg = *arg;
    p->arg.value.u = 0; // until what it points to is ours
    if (arg->direction != SPY_DIRECTION_DEFAULT || arg->kind == SPY_ARG_NEW)
        *problem = "outputs cannot be packed";
    else if (arg->kind == SPY_ARG_CUSTOM && arg->value.data)
        *problem = "a grid cannot be packed: its desc is the caller's";
    else if (arg->kind == SPY_ARG_TENSOR && !spyi_as(arg->value.tensor, SPYI_KIND_TENSOR))
        *problem = "expected a living tensor";
    else if (arg->kind == SPY_ARG_STRUCT &&
             ((arg->count && !arg->value.fields) || arg->count > 4096 || depth > 16))
        *problem = "its fields are NULL, too many, or nested too deep";
    else *problem = spyi_packed_bytes(arg, &size);
    if (*problem) return false;
    p->name = spyi_strdup(arg->name);
    p->type = spyi_strdup(arg->type);
    p->arg.name = p->name;
    p->arg.type = p->type;
    *problem = "out of host memory";
    if ((arg->name && !p->name) || (arg->type && !p->type)) return false;
    if (size) {
        p->data = malloc(size);
        if (!p->data) return false;
        memcpy(p->data, arg->value.data, size);
        p->arg.value.data = p->data;
    } else if (arg->kind == SPY_ARG_STRUCT) {
        p->fields = (spy_packed *)calloc(arg->count + 1, sizeof *p->fields);
        p->items = (spy_arg *)calloc(arg->count + 1, sizeof *p->items);
        if (!p->fields || !p->items) return false;
        for (size_t i = 0; i < arg->count; i++) {
            p->field_count = i + 1;
            if (!spyi_packed_copy(&p->fields[i], &arg->value.fields[i], depth + 1, problem)) return false;
            p->items[i] = p->fields[i].arg;
        }
        p->arg.value.fields = p->items;
    } else {
        p->arg.value = arg->value;
        if (arg->kind == SPY_ARG_TENSOR) spy_retain_tensor(arg->value.tensor);
    }
    *problem = NULL;
    return true;
}

spy_packed *spy_pack(spy_device *device, spy_arg arg) {
    if (spyi_enter(device, SPYI_KIND_DEVICE, "spy_pack") != SPY_OK) return NULL;
    const char *problem = "out of host memory";
    spy_packed *p = (spy_packed *)calloc(1, sizeof *p);
    if (p && !spyi_packed_copy(p, &arg, 0, &problem)) {
        spyi_packed_clear(p);
        free(p);
        p = NULL;
    }
    if (!p)
        spyi_fail(&device->ctx, SPY_ERROR_INVALID_ARGUMENT, "spy_pack: argument '%s': %s",
                  arg.name ? arg.name : "", problem);
    spyi_leave(device);
    return p;
}

spy_arg spy_arg_packed(const char *name, const spy_packed *packed) {
    spy_arg arg;
    if (packed) arg = packed->arg;
    else memset(&arg, 0, sizeof arg); // a kind that the call refuses
    arg.name = name;
    return arg;
}

void spy_release_packed(spy_packed *packed) {
    if (!packed) return;
    spyi_packed_clear(packed);
    free(packed);
}

// >>data/pool.c ---------------------------------------------------------------------------------------------

// The caching memory pool of a device and the hazards of its blocks.
//
// Blocks come in size classes, four to each doubling. Blocks up to 1 MiB are cut from slabs; larger ones have a chunk of
// the driver's alone. A freed block goes to its class's free list at once, while the GPU may still use it: the next user
// is recorded later and its hazards put a barrier between the two, so memory is reused in the order of work.

#define SPYI_SLAB_BYTES ((uint64_t)8 << 20)
#define SPYI_SLAB_LARGEST ((uint64_t)1 << 20)
#define SPYI_BLOCK_SMALLEST 256u

// The smallest class whose blocks hold `size` bytes, and their size: 256, 320, 384, 448, 512, 640, ...
static int32_t spyi_size_class(uint64_t size, uint64_t *block_size) {
    uint64_t base = SPYI_BLOCK_SMALLEST;
    int32_t index = 0;
    while (base * 2 < size) {
        base *= 2;
        index += 4;
    }
    for (uint64_t quarter = 0; quarter <= 4; quarter++) {
        uint64_t bytes = base + base / 4 * quarter;
        if (bytes >= size) {
            *block_size = bytes;
            return index + (int32_t)quarter;
        }
    }
    return -1; // not reached: base * 2 >= size
}

static spyi_storage *spyi_new_block(spy_device *device, spyi_memory memory, int32_t size_class, uint64_t size,
                                    const char *label, spyi_text *error, spy_status *status) {
    const spy_backend *table = device->backend;
    spyi_storage *storage = (spyi_storage *)spyi_allocate(&device->ctx, sizeof *storage);
    if (!storage) {
        *status = SPY_ERROR_OUT_OF_MEMORY;
        spyi_text_add(error, "out of host memory");
        return NULL;
    }
    storage->size = size;
    storage->size_class = size_class;
    storage->memory = memory;
    if (size > SPYI_SLAB_LARGEST) {
        *status = table->allocate_chunk(device->gpu, memory, (size_t)size, label, &storage->chunk, error);
        if (*status != SPY_OK) {
            spyi_free(&device->ctx, storage, sizeof *storage);
            return NULL;
        }
        device->pool.held_bytes += size;
        return storage;
    }
    spyi_slab *slab = device->pool.slabs[memory];
    if (!slab || slab->used + size > slab->chunk.size) {
        slab = (spyi_slab *)spyi_allocate(&device->ctx, sizeof *slab);
        *status = slab ? table->allocate_chunk(device->gpu, memory, (size_t)SPYI_SLAB_BYTES, "slangpy pool",
                                               &slab->chunk, error)
                       : SPY_ERROR_OUT_OF_MEMORY;
        if (*status != SPY_OK) {
            spyi_free(&device->ctx, slab, sizeof *slab);
            spyi_free(&device->ctx, storage, sizeof *storage);
            return NULL;
        }
        slab->next = device->pool.slabs[memory];
        device->pool.slabs[memory] = slab;
        device->pool.held_bytes += slab->chunk.size;
    }
    storage->chunk = slab->chunk;
    storage->slab = slab;
    storage->offset = slab->used;
    slab->used +=
        size; // sizes are multiples of 64, so that blocks are as well aligned as descriptors ask for
    return storage;
}

SPYI_FN spyi_storage *spyi_pool_take(spy_device *device, spyi_memory memory, uint64_t size, const char *label,
                                     spyi_text *error, spy_status *status) {
    uint64_t block_size = 0;
    int32_t size_class = spyi_size_class(size ? size : 1, &block_size);
    *status = SPY_OK;
    if (size > ((uint64_t)1 << 44)) {
        *status = SPY_ERROR_OUT_OF_DEVICE_MEMORY;
        spyi_text_add(error, "%llu bytes are more than any device has", (unsigned long long)size);
        return NULL;
    }
    spyi_storage **list = &device->pool.free_blocks[memory][size_class];
    spyi_storage *storage = *list;
    if (storage) {
        *list = storage->next;
    } else {
        storage = spyi_new_block(device, memory, size_class, block_size, label, error, status);
        if (!storage && *status == SPY_ERROR_OUT_OF_DEVICE_MEMORY) {
            // Give cached memory back and try once more.
            spyi_text ignored = { NULL, 0, 0 };
            if (device->backend->wait(device->gpu, device->backend->open_submit(device->gpu), UINT64_MAX,
                                      &ignored) == SPY_OK) {
                spyi_pool_trim(device);
                spyi_text_clear(error);
                storage = spyi_new_block(device, memory, size_class, block_size, label, error, status);
            }
            spyi_text_free(&ignored);
            if (!storage)
                spyi_text_add(error, "; %llu bytes are in use, %llu held by the pool",
                              (unsigned long long)device->pool.used_bytes,
                              (unsigned long long)device->pool.held_bytes);
        }
        if (!storage) return NULL;
    }
    storage->next = NULL;
    storage->references = 0;
    device->pool.used_bytes += storage->size;
    if (storage->slab) storage->slab->live++;
    return storage;
}

SPYI_FN void spyi_pool_give(spy_device *device, spyi_storage *storage) {
    if (storage->size_class < 0)
        return; // imported: its hazards are kept until they are over, see spyi_pool_import
    device->pool.used_bytes -= storage->size;
    if (storage->slab) storage->slab->live--;
    storage->next = device->pool.free_blocks[storage->memory][storage->size_class];
    device->pool.free_blocks[storage->memory][storage->size_class] = storage;
}

SPYI_FN void spyi_pool_trim(spy_device *device) {
    for (int memory = 0; memory < 2; memory++) {
        for (int i = 0; i < SPYI_SIZE_CLASSES; i++) {
            spyi_storage **at = &device->pool.free_blocks[memory][i];
            while (*at) {
                spyi_storage *storage = *at;
                if (storage->slab && storage->slab->live > 0) {
                    at = &storage->next;
                    continue;
                }
                *at = storage->next;
                if (!storage->slab) {
                    device->backend->free_chunk(device->gpu, &storage->chunk);
                    device->pool.held_bytes -= storage->size;
                }
                spyi_free(&device->ctx, storage, sizeof *storage);
            }
        }
        spyi_slab **at = &device->pool.slabs[memory];
        while (*at) {
            spyi_slab *slab = *at;
            if (slab->live > 0) {
                at = &slab->next;
                continue;
            }
            *at = slab->next;
            device->pool.held_bytes -= slab->chunk.size;
            device->backend->free_chunk(device->gpu, &slab->chunk);
            spyi_free(&device->ctx, slab, sizeof *slab);
        }
    }
}

SPYI_FN void spyi_pool_destroy(spy_device *device) {
    spyi_pool_trim(device);
    SPYI_ASSERT(device->pool.used_bytes == 0);
    while (device->pool.imported) {
        spyi_storage *next = device->pool.imported->next;
        spyi_free(&device->ctx, device->pool.imported, sizeof *device->pool.imported);
        device->pool.imported = next;
    }
}

SPYI_FN spyi_storage *spyi_pool_import(spy_device *device, const spyi_chunk *chunk) {
    spyi_storage *found = NULL;
    for (spyi_storage **at = &device->pool.imported; *at;) {
        spyi_storage *s = *at;
        bool over = s->references == 0 && s->read_epoch != device->epoch && s->write_epoch != device->epoch;
        if (s->chunk.handle == chunk->handle) {
            found = s;
        } else if (over) {
            *at = s->next;
            spyi_free(&device->ctx, s, sizeof *s);
            continue;
        }
        at = &s->next;
    }
    if (found) {
        if (found->references == 0 ||
            found->size < chunk->size) { // nobody's: the driver may have given the handle again
            found->chunk = *chunk;
            found->size = chunk->size;
        }
        return found;
    }
    spyi_storage *storage = (spyi_storage *)spyi_allocate(&device->ctx, sizeof *storage);
    if (!storage) return NULL;
    storage->chunk = *chunk;
    storage->size = chunk->size;
    storage->size_class = -1;
    storage->next = device->pool.imported;
    device->pool.imported = storage;
    return storage;
}

static bool spyi_ranges_meet(uint64_t begin, uint64_t end, uint64_t other_begin, uint64_t other_end) {
    return begin < other_end && other_begin < end;
}

SPYI_FN bool spyi_hazard(const spy_device *device, const spyi_storage *storage, uint64_t begin, uint64_t end,
                         bool writes) {
    if (storage->write_epoch == device->epoch &&
        spyi_ranges_meet(begin, end, storage->write_begin, storage->write_end))
        return true;
    return writes && storage->read_epoch == device->epoch &&
           spyi_ranges_meet(begin, end, storage->read_begin, storage->read_end);
}

static void spyi_extend_range(uint64_t *epoch, uint64_t *first, uint64_t *last, uint64_t now, uint64_t begin,
                              uint64_t end) {
    if (*epoch != now) {
        *epoch = now;
        *first = begin;
        *last = end;
        return;
    }
    if (begin < *first) *first = begin;
    if (end > *last) *last = end;
}

SPYI_FN void spyi_note_use(spy_device *device, spyi_storage *storage, uint64_t begin, uint64_t end,
                           bool writes, uint64_t submit) {
    if (writes) {
        spyi_extend_range(&storage->write_epoch, &storage->write_begin, &storage->write_end, device->epoch,
                          begin, end);
        storage->write_submit = submit;
    } else {
        spyi_extend_range(&storage->read_epoch, &storage->read_begin, &storage->read_end, device->epoch,
                          begin, end);
    }
    storage->use_submit = submit;
}

SPYI_FN bool spyi_take_barrier(spy_device *device, bool needed) {
    bool barrier = needed || device->barrier_owed;
    if (barrier) device->epoch++;
    return barrier;
}

// Group counts are read at a stage that ordinary barriers do not cover: any write since the last one that does calls for
// another, whatever epoch it fell into.
static bool spyi_use_conflicts(const spy_device *device, const spyi_use *use) {
    uint64_t written = use->storage->write_epoch;
    if (written < device->untracked_epoch) written = device->untracked_epoch;
    if (use->counts && written > 0 && written >= device->counts_epoch) return true;
    return spyi_hazard(device, use->storage, use->begin, use->end, use->writes);
}

SPYI_FN bool spyi_take_uses(spy_device *device, const spyi_use *uses, uint32_t count, bool untracked) {
    bool barrier = untracked, counts = false;
    for (uint32_t i = 0; i < count && !barrier; i++) barrier = spyi_use_conflicts(device, &uses[i]);
    barrier = spyi_take_barrier(device, barrier);
    for (uint32_t i = 0; i < count && barrier && !counts; i++) counts = uses[i].counts;
    if (counts) device->counts_epoch = device->epoch;
    uint64_t submit = device->backend->open_submit(device->gpu);
    for (uint32_t i = 0; i < count; i++) {
        const spyi_use *use = &uses[i];
        if (use->reads) spyi_note_use(device, use->storage, use->begin, use->end, false, submit);
        if (use->writes) spyi_note_use(device, use->storage, use->begin, use->end, true, submit);
    }
    return barrier;
}

SPYI_FN void spyi_barrier_done(spy_device *device, bool barrier, spy_status status) {
    if (!barrier) return;
    device->barrier_owed = status != SPY_OK;
    if (device->barrier_owed) device->counts_epoch = 0; // what it may have covered is covered no more
}

// All that follows must wait for what the kernel may have written where nobody knows.
SPYI_FN void spyi_uses_done(spy_device *device, bool barrier, bool untracked, spy_status status) {
    spyi_barrier_done(device, barrier, status);
    if (!untracked) return;
    device->barrier_owed = true;
    device->untracked_epoch = device->epoch;
}

// >>data/meet.c ---------------------------------------------------------------------------------------------

// Where tensors lie: whether elements of one, or of two, share memory.

// Trailing dimensions that lie next to each other: `run` elements, before `outer` remaining dimensions.
static uint32_t spyi_outer_dims(const spy_tensor *t, int64_t *run) {
    uint32_t outer = t->shape.rank;
    *run = 1;
    while (outer > 0 && (t->shape.dims[outer - 1] == 1 || t->strides.dims[outer - 1] == *run))
        *run *= t->shape.dims[--outer];
    return outer;
}

static uint64_t spyi_stride_bytes(const spy_tensor *t, uint32_t dim) {
    int64_t stride = t->strides.dims[dim];
    return (uint64_t)(stride < 0 ? -stride : stride) * spyi_type_device_stride(t->type);
}

SPYI_FN bool spyi_tensor_meets_itself(const spy_tensor *t) {
    if (t->contiguous || t->element_count < 2) return false;
    uint64_t covered = spyi_type_device_stride(t->type); // by the dimensions of smaller strides
    bool done[SPY_MAX_RANK] = { false };
    for (uint32_t n = 0; n < t->shape.rank; n++) {
        uint32_t next = t->shape.rank;
        for (uint32_t d = 0; d < t->shape.rank; d++) {
            if (done[d] || t->shape.dims[d] == 1) continue;
            if (next == t->shape.rank || spyi_stride_bytes(t, d) < spyi_stride_bytes(t, next)) next = d;
        }
        if (next == t->shape.rank) return false;
        done[next] = true;
        if (spyi_stride_bytes(t, next) < covered) return true;
        covered += spyi_stride_bytes(t, next) * (uint64_t)(t->shape.dims[next] - 1);
    }
    return false;
}

static uint64_t spyi_gcd(uint64_t a, uint64_t b) {
    while (b) {
        uint64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

// All places are offset + a multiple of the strides' greatest common divisor: columns of one matrix do not meet
// though their ranges do.
SPYI_FN bool spyi_tensors_meet(const spy_tensor *a, const spy_tensor *b) {
    if (a->storage != b->storage || a->begin_bytes >= b->end_bytes || b->begin_bytes >= a->end_bytes)
        return false;
    int64_t run_a, run_b;
    uint32_t outer_a = spyi_outer_dims(a, &run_a), outer_b = spyi_outer_dims(b, &run_b);
    uint64_t grid = 0, size_a = (uint64_t)run_a * spyi_type_device_stride(a->type),
             size_b = (uint64_t)run_b * spyi_type_device_stride(b->type);
    for (uint32_t d = 0; d < outer_a; d++)
        if (a->shape.dims[d] > 1) grid = spyi_gcd(grid, spyi_stride_bytes(a, d));
    for (uint32_t d = 0; d < outer_b; d++)
        if (b->shape.dims[d] > 1) grid = spyi_gcd(grid, spyi_stride_bytes(b, d));
    if (grid == 0) return true; // one run each, and their ranges meet
    uint64_t from_a = a->offset_bytes % grid, from_b = b->offset_bytes % grid;
    uint64_t distance = (from_b + grid - from_a) % grid;
    return distance < size_a || grid - distance < size_b;
}

// >>data/transfer.c -----------------------------------------------------------------------------------------

// Elements of tensors to and from host memory in C's layout.
//
// Elements that lie apart travel either as one range with everything between them or piece by piece, whichever
// costs less. Elements between those that are written keep their values.

// >>ranges of bytes

static spy_status spyi_range_upload(spy_tensor *t, uint64_t begin, uint64_t end, const void *image,
                                    spyi_text *error) {
    spy_device *device = t->object.device;
    spyi_storage *storage = t->storage;
    bool barrier = spyi_take_barrier(device, spyi_hazard(device, storage, begin, end, true));
    spy_status status = device->backend->upload(device->gpu, &storage->chunk, storage->offset + begin, image,
                                                end - begin, barrier, error);
    spyi_barrier_done(device, barrier, status);
    spyi_note_use(device, storage, begin, end, true, device->backend->open_submit(device->gpu));
    return status;
}

static spy_status spyi_range_download(spy_tensor *t, uint64_t begin, uint64_t end, void *image,
                                      spyi_text *error) {
    spy_device *device = t->object.device;
    const spyi_storage *storage = t->storage;
    return device->backend->download(device->gpu, image, &storage->chunk, storage->offset + begin,
                                     end - begin, storage->write_submit, error);
}

// >>boxes of elements: dimensions dim.. of a box, from element offset `at` of the tensor on

// What one transfer costs more than its bytes do: recording it, or waiting for it.
#define SPYI_TRANSFER_BYTES 32768.0

static int64_t spyi_box_count(const spyi_box *box, uint32_t dim) {
    int64_t count = 1;
    for (; dim < box->rank; dim++) count *= box->dims[dim];
    return count;
}

static bool spyi_box_contiguous(const spyi_box *box, uint32_t dim) {
    int64_t expected = 1;
    for (uint32_t i = box->rank; i-- > dim;) {
        if (box->dims[i] != 1 && box->strides[i] != expected) return false;
        expected *= box->dims[i];
    }
    return true;
}

// Element offsets of its lowest place, and of the one behind its highest.
static void spyi_box_reach(const spyi_box *box, uint32_t dim, int64_t *low, int64_t *high) {
    *low = 0;
    *high = 1;
    for (; dim < box->rank; dim++) {
        int64_t span = (box->dims[dim] - 1) * box->strides[dim];
        if (span < 0) *low += span;
        else *high += span;
    }
}

// In bytes, as one range or in pieces; *split says which.
static double spyi_box_cost(const spyi_box *box, uint32_t dim, size_t element, bool upload, bool *split) {
    int64_t low, high;
    bool ignored;
    spyi_box_reach(box, dim, &low, &high);
    double whole = (double)(high - low) * (double)element + SPYI_TRANSFER_BYTES;
    *split = false;
    if (dim == box->rank || spyi_box_contiguous(box, dim)) return whole;
    if (upload) whole *= 2; // what lies between has to be known first
    double parts = (double)box->dims[dim] * spyi_box_cost(box, dim + 1, element, upload, &ignored);
    *split = parts < whole;
    return *split ? parts : whole;
}

// Between packed host memory and an image of the box whose element offset 0 is at `image`. Returns the host's end.
static char *spyi_scatter(const spyi_type *type, const spyi_box *box, uint32_t dim, char *image, char *host,
                          bool upload) {
    bool run = dim == box->rank || (dim + 1 == box->rank && box->strides[dim] == 1);
    int64_t n = dim == box->rank ? 1 : box->dims[dim];
    if (run) {
        if (upload) spyi_type_to_device(type, image, host, (size_t)n);
        else spyi_type_to_host(type, host, image, (size_t)n);
        return host + (size_t)n * spyi_type_host_stride(type);
    }
    int64_t step = box->strides[dim] * (int64_t)spyi_type_device_stride(type);
    for (int64_t i = 0; i < n; i++) host = spyi_scatter(type, box, dim + 1, image + i * step, host, upload);
    return host;
}

static spy_status spyi_box_range(spy_tensor *t, const spyi_box *box, uint32_t dim, int64_t at, char *host,
                                 bool upload, spyi_text *error) {
    int64_t low, high, element = (int64_t)spyi_type_device_stride(t->type);
    spyi_box_reach(box, dim, &low, &high);
    uint64_t begin = (uint64_t)((int64_t)t->offset_bytes + (at + low) * element),
             end = (uint64_t)((int64_t)t->offset_bytes + (at + high) * element);
    bool contiguous = spyi_box_contiguous(box, dim);
    if (contiguous && t->type->same_layout)
        return upload ? spyi_range_upload(t, begin, end, host, error)
                      : spyi_range_download(t, begin, end, host, error);
    char *image = (char *)calloc(1, (size_t)(end - begin));
    if (!image) {
        spyi_text_add(error, "out of host memory");
        return SPY_ERROR_OUT_OF_MEMORY;
    }
    spy_status status = SPY_OK;
    if (!upload || !contiguous) status = spyi_range_download(t, begin, end, image, error);
    if (status == SPY_OK) spyi_scatter(t->type, box, dim, image - low * element, host, upload);
    if (status == SPY_OK && upload) status = spyi_range_upload(t, begin, end, image, error);
    free(image);
    return status;
}

static spy_status spyi_box_move(spy_tensor *t, const spyi_box *box, uint32_t dim, int64_t at, char *host,
                                bool upload, spyi_text *error) {
    bool split;
    spyi_box_cost(box, dim, spyi_type_device_stride(t->type), upload, &split);
    if (!split) return spyi_box_range(t, box, dim, at, host, upload, error);
    spy_status status = SPY_OK;
    size_t part = (size_t)spyi_box_count(box, dim + 1) * spyi_type_host_stride(t->type);
    for (int64_t i = 0; i < box->dims[dim] && status == SPY_OK; i++, host += part)
        status = spyi_box_move(t, box, dim + 1, at + i * box->strides[dim], host, upload, error);
    return status;
}

SPYI_FN spy_status spyi_tensor_download_box(spy_tensor *t, const spyi_box *box, void *data,
                                            spyi_text *error) {
    if (spyi_box_count(box, 0) == 0) return SPY_OK;
    return spyi_box_move(t, box, 0, 0, (char *)data, false, error);
}

// >>elements by their number in row-major order

// Elements first .. first + count of dimensions dim.. of the tensor: a box, with a part of a row before it and
// another behind it.
static spy_status spyi_elements_move(spy_tensor *t, uint32_t dim, int64_t at, int64_t first, int64_t count,
                                     char *host, bool upload, spyi_text *error) {
    spyi_box box;
    memset(&box, 0, sizeof box);
    box.rank = t->shape.rank - dim;
    memcpy(box.dims, t->shape.dims + dim, box.rank * sizeof *box.dims);
    memcpy(box.strides, t->strides.dims + dim, box.rank * sizeof *box.strides);
    if (box.rank == 0) return spyi_box_move(t, &box, 0, at, host, upload, error);
    int64_t row = spyi_box_count(&box, 1), stride = t->strides.dims[dim], index = first / row;
    size_t size = spyi_type_host_stride(t->type);
    spy_status status = SPY_OK;
    if (first % row) {
        int64_t n = row - first % row < count ? row - first % row : count;
        status = spyi_elements_move(t, dim + 1, at + index * stride, first % row, n, host, upload, error);
        host += (size_t)n * size;
        count -= n;
        index++;
    }
    box.dims[0] = count / row;
    if (status == SPY_OK && box.dims[0])
        status = spyi_box_move(t, &box, 0, at + index * stride, host, upload, error);
    host += (size_t)(box.dims[0] * row) * size;
    index += box.dims[0];
    if (status == SPY_OK && count % row)
        status = spyi_elements_move(t, dim + 1, at + index * stride, 0, count % row, host, upload, error);
    return status;
}

SPYI_FN spy_status spyi_tensor_move(spy_tensor *t, int64_t first, int64_t count, void *data, bool upload,
                                    spyi_text *error) {
    if (count == 0) return SPY_OK;
    if (!t->contiguous) return spyi_elements_move(t, 0, 0, first, count, (char *)data, upload, error);
    spyi_box run;
    memset(&run, 0, sizeof run);
    run.rank = 1;
    run.dims[0] = count;
    run.strides[0] = 1;
    return spyi_box_move(t, &run, 0, first, (char *)data, upload, error);
}

SPYI_FN spy_status spyi_tensor_upload(spy_tensor *t, const void *data, spyi_text *error) {
    return spyi_tensor_move(t, 0, t->element_count, (void *)(uintptr_t)data, true, error);
}

SPYI_FN spy_status spyi_tensor_download(spy_tensor *t, void *data, spyi_text *error) {
    return spyi_tensor_move(t, 0, t->element_count, data, false, error);
}

// >>data/tensor.c -------------------------------------------------------------------------------------------

// Tensors: creation, release, reads and writes of their elements, and what they tell of themselves.

// >>shapes

SPYI_FN int64_t spyi_shape_count(const spy_shape *shape) {
    int64_t count = 1;
    bool empty = false;
    for (uint32_t i = 0; i < shape->rank; i++) {
        if (shape->dims[i] < 0) return -1;
        if (shape->dims[i] == 0) empty = true;
    }
    if (empty) return 0;
    for (uint32_t i = 0; i < shape->rank; i++) {
        if (count > ((int64_t)1 << 62) / shape->dims[i]) return -1;
        count *= shape->dims[i];
    }
    return count;
}

SPYI_FN spy_shape spyi_row_major(const spy_shape *shape) {
    spy_shape strides;
    memset(&strides, 0, sizeof strides);
    strides.rank = shape->rank;
    int64_t step = 1;
    for (uint32_t i = shape->rank; i-- > 0;) {
        strides.dims[i] = step;
        step *= shape->dims[i] > 0 ? shape->dims[i] : 1;
    }
    return strides;
}

SPYI_FN void spyi_shape_text(const spy_shape *shape, spyi_text *out) {
    spyi_text_add(out, "(");
    for (uint32_t i = 0; i < shape->rank; i++)
        spyi_text_add(out, i ? ", %lld" : "%lld", (long long)shape->dims[i]);
    spyi_text_add(out, shape->rank == 1 ? ",)" : ")");
}

// Geometries are compared as bytes: what lies beyond the rank, and between rank and dims, is 0.
static void spyi_clean_shape(spy_shape *shape) {
    spy_shape clean;
    memset(&clean, 0, sizeof clean);
    clean.rank = shape->rank;
    for (uint32_t i = 0; i < clean.rank; i++) clean.dims[i] = shape->dims[i];
    memcpy(shape, &clean, sizeof clean);
}

SPYI_FN void spyi_tensor_measure(spy_tensor *tensor) {
    int64_t lowest = 0, highest = 0, expected = 1;
    tensor->element_count = spyi_shape_count(&tensor->shape);
    tensor->contiguous = true;
    spyi_clean_shape(&tensor->shape);
    spyi_clean_shape(&tensor->strides);
    for (uint32_t i = tensor->shape.rank; i-- > 0;) {
        int64_t n = tensor->shape.dims[i], stride = tensor->strides.dims[i];
        if (n != 1 && stride != expected) tensor->contiguous = false;
        expected *= n;
        if (n > 1 && stride > 0) highest += (n - 1) * stride;
        if (n > 1 && stride < 0) lowest += (n - 1) * stride;
    }
    int64_t element = (int64_t)spyi_type_device_stride(tensor->type);
    tensor->begin_bytes = tensor->end_bytes = tensor->offset_bytes;
    if (tensor->element_count > 0) {
        tensor->begin_bytes = (uint64_t)((int64_t)tensor->offset_bytes + lowest * element);
        tensor->end_bytes = (uint64_t)((int64_t)tensor->offset_bytes + (highest + 1) * element);
    } else {
        tensor->contiguous = true;
    }
}

// >>headers

#define SPYI_DEAD_TENSORS 1024 // released headers kept, so that a late use is still told from a living tensor

SPYI_FN spy_tensor *spyi_tensor_new(spy_device *device) {
    spy_tensor *tensor;
    if (device->dead_count >= SPYI_DEAD_TENSORS) {
        tensor = device->dead_first;
        device->dead_first = tensor->next;
        device->dead_count--;
        memset(tensor, 0, sizeof *tensor);
    } else {
        tensor = (spy_tensor *)spyi_allocate(&device->ctx, sizeof *tensor);
        if (!tensor) return NULL;
    }
    tensor->object.kind = (uint32_t)SPYI_KIND_TENSOR;
    tensor->object.device = device;
    spyi_atomic_store(&tensor->object.references, 1);
    tensor->next = device->tensors;
    if (tensor->next) tensor->next->previous = tensor;
    device->tensors = tensor;
    return tensor;
}

SPYI_FN void spyi_tensor_free(spy_tensor *tensor) {
    spy_device *device = tensor->object.device;
    if (tensor->storage && --tensor->storage->references == 0) spyi_pool_give(device, tensor->storage);
    free((void *)tensor->label);
    tensor->storage = NULL;
    tensor->label = NULL;
    tensor->object.kind = (uint32_t)SPYI_KIND_DEAD;
    if (device->dead_last && device->dead_count) device->dead_last->next = tensor;
    else device->dead_first = tensor;
    device->dead_last = tensor;
    tensor->next = NULL;
    device->dead_count++;
}

SPYI_FN void spyi_tensor_unlink(spy_tensor *tensor) {
    spy_device *device = tensor->object.device;
    if (tensor->previous) tensor->previous->next = tensor->next;
    else device->tensors = tensor->next;
    if (tensor->next) tensor->next->previous = tensor->previous;
    tensor->previous = tensor->next = NULL;
}

SPYI_FN spy_tensor *spyi_tensor_make(spy_device *device, const spyi_type *type, const spy_shape *shape,
                                     const char *label, spyi_text *error, spy_status *status) {
    int64_t count = spyi_shape_count(shape);
    uint64_t element = spyi_type_device_stride(type);
    *status = SPY_OK;
    if (count > (int64_t)(((uint64_t)1 << 62) / element)) {
        *status = SPY_ERROR_OUT_OF_DEVICE_MEMORY;
        spyi_text_add(error, "a tensor of shape ");
        spyi_shape_text(shape, error);
        spyi_text_add(error, " of %s does not fit into any memory", type->display);
        return NULL;
    }
    spyi_storage *storage =
        spyi_pool_take(device, SPYI_MEMORY_DEVICE, (uint64_t)count * element, label, error, status);
    if (!storage) return NULL;
    spy_tensor *tensor = spyi_tensor_new(device);
    if (!tensor) {
        spyi_pool_give(device, storage);
        *status = SPY_ERROR_OUT_OF_MEMORY;
        spyi_text_add(error, "out of host memory");
        return NULL;
    }
    storage->references = 1;
    tensor->storage = storage;
    tensor->type = type;
    tensor->shape = *shape;
    tensor->strides = spyi_row_major(shape);
    tensor->label = label ? spyi_strdup(label) : NULL;
    spyi_tensor_measure(tensor);
    return tensor;
}

// >>the public functions

SPYI_FN const char *spyi_type_user_name(const spyi_type *type) {
    const spyi_type *inner = type;
    while (inner->kind == SPYI_TYPE_ARRAY) inner = inner->element;
    return inner->kind == SPYI_TYPE_STRUCT ? type->name : type->display;
}

SPYI_FN const spyi_type *spyi_element_type(spy_device *device, spy_module *module, spy_dtype dtype,
                                           const char *type, const char *function) {
    if (!type) {
        if (dtype == SPY_DTYPE_DEFAULT) dtype = SPY_FLOAT32;
        if ((int)dtype < 0 || dtype >= SPY_DTYPE_COUNT) {
            spyi_fail(&device->ctx, SPY_ERROR_INVALID_ARGUMENT, "%s: dtype %d is not one of spy_dtype",
                      function, (int)dtype);
            return NULL;
        }
        return spyi_type_scalar(device->types, dtype);
    }
    const spyi_type *found = spyi_type_parse(device->types, type);
    if (!found && module) {
        spyi_object *object = spyi_as(module, SPYI_KIND_MODULE);
        if (!object || object->device != device) {
            spyi_fail(&device->ctx, SPY_ERROR_INVALID_ARGUMENT,
                      "%s: module is not a living module of this device", function);
            return NULL;
        }
        found = spyi_unit_find_type(module->unit, type);
    }
    if (!found) {
        spyi_fail(&device->ctx, SPY_ERROR_NOT_FOUND,
                  module ? "%s: type '%s' is not known to module '%s'"
                         : "%s: type '%s' is not built in%s; a struct also needs the module that declares it",
                  function, type, module ? module->name : "");
    } else if (found->kind == SPYI_TYPE_OTHER || found->kind == SPYI_TYPE_VOID || found->device_size == 0) {
        spyi_fail(&device->ctx, SPY_ERROR_TYPE_MISMATCH,
                  "%s: type '%s' is not plain data of at least one byte (scalars, vectors, matrices, arrays "
                  "and structs of these)",
                  function, type);
        found = NULL;
    }
    return found;
}

// desc.like checked, and what the desc leaves to it: the shape and, when NULL, the element type. false: reported.
static bool spyi_desc_like(spy_device *device, const spy_tensor_desc *desc, const char *function,
                           spy_shape *shape, const spyi_type **type) {
    *shape = desc->shape;
    *type = NULL;
    if (!desc->like) return true;
    const spyi_object *like = spyi_as(desc->like, SPYI_KIND_TENSOR);
    if (!like || like->device != device) {
        spyi_fail(&device->ctx, SPY_ERROR_INVALID_ARGUMENT,
                  "%s: desc.like is not a living tensor of this device", function);
        return false;
    }
    if (shape->rank == 0) *shape = desc->like->shape;
    if (!desc->type && desc->dtype == SPY_DTYPE_DEFAULT) *type = desc->like->type;
    return true;
}

spy_tensor *spy_create_tensor(spy_device *device, const spy_tensor_desc *desc) {
    const char *function = "spy_create_tensor";
    if (spyi_enter(device, SPYI_KIND_DEVICE, function) != SPY_OK) return NULL;
    spyi_context *ctx = &device->ctx;
    spy_tensor *tensor = NULL;
    spyi_text error = { NULL, 0, 0 };
    spy_status status = SPY_OK;
    const spyi_type *type = NULL;
    spy_shape shape;
    if (!desc) spyi_fail(ctx, SPY_ERROR_INVALID_ARGUMENT, "%s: expected a desc, got NULL", function);
    else if (desc->shape.rank > SPY_MAX_RANK)
        spyi_fail(ctx, SPY_ERROR_INVALID_ARGUMENT, "%s: desc.shape has rank %u, at most %d are possible",
                  function, desc->shape.rank, SPY_MAX_RANK);
    else if (spyi_shape_count(&desc->shape) < 0)
        spyi_fail(ctx, SPY_ERROR_INVALID_ARGUMENT, "%s: desc.shape has a negative size or too many elements",
                  function);
    else if (desc->data && desc->zeroed)
        spyi_fail(ctx, SPY_ERROR_INVALID_ARGUMENT, "%s: expected desc.data or desc.zeroed, got both",
                  function);
    else if (spyi_desc_like(device, desc, function, &shape, &type) && !type)
        type = spyi_element_type(device, desc->module, desc->dtype, desc->type, function);
    if (type) {
        uint64_t bytes = (uint64_t)spyi_shape_count(&shape) * spyi_type_host_stride(type);
        if (desc->data && desc->data_size_bytes && desc->data_size_bytes != bytes)
            spyi_fail(ctx, SPY_ERROR_SHAPE_MISMATCH,
                      "%s: the shape of %s needs %llu bytes of data, data_size_bytes is %zu", function,
                      type->display, (unsigned long long)bytes, desc->data_size_bytes);
        else if (!(tensor = spyi_tensor_make(device, type, &shape, desc->label, &error, &status)))
            spyi_fail(ctx, status, "%s: %s", function, spyi_text_str(&error));
    }
    if (tensor && (desc->data || desc->zeroed)) {
        status = desc->data ? spyi_tensor_upload(tensor, desc->data, &error)
                            : spyi_tensor_repeat(tensor, NULL, &error);
        if (status != SPY_OK) {
            spyi_fail(ctx, status, "%s: %s", function, spyi_text_str(&error));
            spyi_tensor_unlink(tensor);
            spyi_tensor_free(tensor);
            tensor = NULL;
        }
    }
    spyi_text_free(&error);
    spyi_leave(device);
    return tensor;
}

void spy_retain_tensor(spy_tensor *tensor) {
    spyi_object_retain(tensor, SPYI_KIND_TENSOR, "spy_retain_tensor");
}

void spy_release_tensor(spy_tensor *tensor) {
    if (!tensor) return;
    if (spyi_as(tensor, SPYI_KIND_TENSOR)) spyi_object_release(&tensor->object);
    else spyi_fail(NULL, SPY_ERROR_RELEASED, "spy_release_tensor: the tensor has been released already");
}

SPYI_FN spy_status spyi_check_elements(spy_tensor *tensor, const char *function, int64_t first,
                                       int64_t count) {
    if (first >= 0 && count >= 0 && first <= tensor->element_count && count <= tensor->element_count - first)
        return SPY_OK;
    return spyi_fail(&tensor->object.device->ctx, SPY_ERROR_OUT_OF_RANGE,
                     "%s: expected a range within the tensor's %lld elements, got %lld from element %lld on",
                     function, (long long)tensor->element_count, (long long)count, (long long)first);
}

SPYI_FN spy_status spyi_check_transfer(const spy_tensor *tensor, int64_t count, const void *data,
                                       size_t size_bytes, spyi_text *error) {
    size_t stride = spyi_type_host_stride(tensor->type);
    uint64_t needed = (uint64_t)count * stride; // may wrap for views that repeat elements
    if (size_bytes % stride || size_bytes / stride != (uint64_t)count) {
        if (count == tensor->element_count) {
            spyi_text_add(error, "a tensor ");
            spyi_shape_text(&tensor->shape, error);
            spyi_text_add(error, " of %s has", tensor->type->display);
        } else {
            spyi_text_add(error, "%lld elements of %s have", (long long)count, tensor->type->display);
        }
        spyi_text_add(error, " %llu bytes in C's layout, size_bytes is %zu", (unsigned long long)needed,
                      size_bytes);
        return SPY_ERROR_SHAPE_MISMATCH;
    }
    if (data || !count) return SPY_OK;
    spyi_text_add(error, "data is NULL");
    return SPY_ERROR_INVALID_ARGUMENT;
}

// Elements range[0] .. range[0] + range[1], or all (NULL).
static spy_status spyi_tensor_transfer(spy_tensor *tensor, const char *function, const int64_t *range,
                                       void *data, size_t size_bytes, bool upload) {
    spy_status entered = spyi_enter(tensor, SPYI_KIND_TENSOR, function);
    if (entered != SPY_OK) return entered;
    spy_device *device = tensor->object.device;
    spyi_text error = { NULL, 0, 0 };
    int64_t first = range ? range[0] : 0, count = range ? range[1] : tensor->element_count;
    spy_status status = spyi_check_elements(tensor, function, first, count);
    if (status == SPY_OK) {
        status = spyi_check_transfer(tensor, count, data, size_bytes, &error);
        if (status == SPY_OK) status = spyi_tensor_move(tensor, first, count, data, upload, &error);
        if (status != SPY_OK) spyi_fail_text(device, status, function, &error);
    }
    spyi_leave(device);
    return status;
}

spy_status spy_tensor_read(spy_tensor *tensor, void *data, size_t size_bytes) {
    return spyi_tensor_transfer(tensor, "spy_tensor_read", NULL, data, size_bytes, false);
}

spy_status spy_tensor_write(spy_tensor *tensor, const void *data, size_t size_bytes) {
    return spyi_tensor_transfer(tensor, "spy_tensor_write", NULL, (void *)(uintptr_t)data, size_bytes, true);
}

spy_status spy_tensor_read_range(spy_tensor *tensor, int64_t first, int64_t count, void *data,
                                 size_t size_bytes) {
    const int64_t range[2] = { first, count };
    return spyi_tensor_transfer(tensor, "spy_tensor_read_range", range, data, size_bytes, false);
}

spy_status spy_tensor_write_range(spy_tensor *tensor, int64_t first, int64_t count, const void *data,
                                  size_t size_bytes) {
    const int64_t range[2] = { first, count };
    return spyi_tensor_transfer(tensor, "spy_tensor_write_range", range, (void *)(uintptr_t)data, size_bytes,
                                true);
}

spy_tensor_info spy_get_tensor_info(const spy_tensor *tensor) {
    spy_tensor_info info;
    memset(&info, 0, sizeof info);
    if (!spyi_as(tensor, SPYI_KIND_TENSOR)) {
        spyi_fail(NULL, tensor ? SPY_ERROR_RELEASED : SPY_ERROR_INVALID_ARGUMENT,
                  "spy_get_tensor_info: the tensor %s", tensor ? "has been released" : "is NULL");
        return info;
    }
    const spyi_type *type = tensor->type;
    info.shape = tensor->shape;
    info.strides = tensor->strides;
    info.dtype = type->kind == SPYI_TYPE_SCALAR ? type->scalar : SPY_DTYPE_DEFAULT;
    info.type = spyi_type_user_name(type);
    info.element_count = tensor->element_count;
    info.element_size_bytes = spyi_type_device_stride(type);
    info.host_size_bytes = (size_t)tensor->element_count * spyi_type_host_stride(type);
    info.offset_elements = (int64_t)(tensor->offset_bytes / info.element_size_bytes);
    info.is_contiguous = tensor->contiguous;
    return info;
}

// >>for backends

SPYI_FN spy_tensor *spyi_import_tensor(spy_device *device, const char *function, const spyi_chunk *chunk,
                                       uint64_t offset, uint64_t size, const spy_tensor_desc *desc) {
    spyi_context *ctx = &device->ctx;
    if (!desc || desc->data || desc->like || desc->zeroed || desc->shape.rank > SPY_MAX_RANK ||
        spyi_shape_count(&desc->shape) < 0) {
        spyi_fail(ctx, SPY_ERROR_INVALID_ARGUMENT,
                  "%s: expected a desc with a valid shape and without data, like and zeroed", function);
        return NULL;
    }
    const spyi_type *type = spyi_element_type(device, desc->module, desc->dtype, desc->type, function);
    if (!type) return NULL;
    uint64_t stride = spyi_type_device_stride(type);
    uint64_t needed = (uint64_t)spyi_shape_count(&desc->shape) * stride;
    if (needed > size || offset % type->device_align) {
        spyi_fail(ctx, SPY_ERROR_SHAPE_MISMATCH,
                  "%s: the shape of %s needs %llu bytes at a multiple of %zu, got %llu at %llu", function,
                  type->display, (unsigned long long)needed, type->device_align, (unsigned long long)size,
                  (unsigned long long)offset);
        return NULL;
    }
    spyi_storage *storage = spyi_pool_import(device, chunk);
    spy_tensor *tensor = storage ? spyi_tensor_new(device) : NULL;
    if (!tensor) {
        spyi_fail(ctx, SPY_ERROR_OUT_OF_MEMORY, "%s: out of host memory", function);
        return NULL;
    }
    storage->references++;
    tensor->storage = storage;
    tensor->type = type;
    tensor->shape = desc->shape;
    tensor->strides = spyi_row_major(&desc->shape);
    tensor->offset_bytes = offset;
    tensor->label = spyi_strdup(desc->label);
    spyi_tensor_measure(tensor);
    return tensor;
}

SPYI_FN bool spyi_tensor_location(spy_tensor *tensor, const char *function, spyi_chunk *chunk,
                                  uint64_t *offset_bytes) {
    if (!spyi_as(tensor, SPYI_KIND_TENSOR)) {
        spyi_fail(NULL, tensor ? SPY_ERROR_RELEASED : SPY_ERROR_INVALID_ARGUMENT, "%s: the tensor %s",
                  function, tensor ? "has been released" : "is NULL");
        return false;
    }
    *chunk = tensor->storage->chunk;
    *offset_bytes = tensor->storage->offset + tensor->offset_bytes;
    return true;
}

// >>data/copy.c ---------------------------------------------------------------------------------------------

// What fills tensors from the device's side: one value everywhere, or another tensor's elements. And where they lie.

// >>fill

#define SPYI_FILL_BYTES 65536u // uploaded at most; the device doubles it from there

// All elements of a contiguous tensor from one element's device bytes: the GPU repeats 4 bytes by itself.
static bool spyi_repeat_pattern(const spy_tensor *t, const char *element, uint32_t *pattern) {
    size_t stride = spyi_type_device_stride(t->type);
    uint64_t grid = t->object.device->base->limits.fill_alignment;
    char *word = (char *)pattern;
    if (stride != 1 && stride != 2 && stride % 4) return false;
    if (t->begin_bytes % grid || (t->end_bytes - t->begin_bytes) % grid) return false;
    for (size_t i = 0; i < 4; i++) word[i] = element[i % stride];
    for (size_t i = 4; i < stride; i++)
        if (element[i] != element[i - 4]) return false;
    return true;
}

static spy_status spyi_fill_range(spy_tensor *t, uint32_t pattern, spyi_text *error) {
    spy_device *device = t->object.device;
    spyi_storage *storage = t->storage;
    bool barrier =
        spyi_take_barrier(device, spyi_hazard(device, storage, t->begin_bytes, t->end_bytes, true));
    spy_status status = device->backend->fill(device->gpu, &storage->chunk, storage->offset + t->begin_bytes,
                                              t->end_bytes - t->begin_bytes, pattern, barrier, error);
    spyi_barrier_done(device, barrier, status);
    spyi_note_use(device, storage, t->begin_bytes, t->end_bytes, true,
                  device->backend->open_submit(device->gpu));
    return status;
}

// The tensor's first `size` bytes to `at` bytes behind its beginning, which is not among them.
static spy_status spyi_copy_within(spy_tensor *t, uint64_t at, uint64_t size, spyi_text *error) {
    spy_device *device = t->object.device;
    spyi_storage *storage = t->storage;
    uint64_t begin = t->begin_bytes, end = begin + at + size;
    bool barrier = spyi_take_barrier(device, spyi_hazard(device, storage, begin, end, true));
    spy_status status = device->backend->copy(device->gpu, &storage->chunk, storage->offset + begin + at,
                                              &storage->chunk, storage->offset + begin, size, barrier, error);
    spyi_barrier_done(device, barrier, status);
    uint64_t submit = device->backend->open_submit(device->gpu);
    spyi_note_use(device, storage, begin + at, end, true, submit);
    spyi_note_use(device, storage, begin, begin + size, false, submit);
    return status;
}

// Uploads some elements and lets the device double them until all are set. Strided tensors are uploaded whole.
static spy_status spyi_fill_elements(spy_tensor *t, const char *element, spyi_text *error) {
    size_t host_stride = spyi_type_host_stride(t->type);
    uint64_t stride = spyi_type_device_stride(t->type), size = t->end_bytes - t->begin_bytes;
    int64_t count = t->element_count;
    if (t->contiguous && size > SPYI_FILL_BYTES)
        count = stride < SPYI_FILL_BYTES ? (int64_t)(SPYI_FILL_BYTES / stride) : 1;
    char *some = NULL;
    if ((uint64_t)count <= SIZE_MAX / 2 / host_stride) some = (char *)malloc((size_t)count * host_stride);
    if (!some) {
        spyi_text_add(error, "out of host memory");
        return SPY_ERROR_OUT_OF_MEMORY;
    }
    for (int64_t i = 0; i < count; i++) memcpy(some + (size_t)i * host_stride, element, host_stride);
    spy_status status = spyi_tensor_move(t, 0, count, some, true, error);
    free(some);
    if (count == t->element_count) return status;
    for (uint64_t done = (uint64_t)count * stride; done < size && status == SPY_OK;) {
        uint64_t more = done < size - done ? done : size - done;
        status = spyi_copy_within(t, done, more, error);
        done += more;
    }
    return status;
}

// The tensor without what repeats its elements: stretched dimensions are written once.
static spy_tensor spyi_without_repeats(const spy_tensor *t) {
    spy_tensor once = *t;
    for (uint32_t i = 0; i < once.shape.rank; i++)
        if (once.strides.dims[i] == 0 && once.shape.dims[i] > 1) once.shape.dims[i] = 1;
    spyi_tensor_measure(&once);
    return once;
}

SPYI_FN spy_status spyi_tensor_repeat(spy_tensor *tensor, const void *element, spyi_text *error) {
    spy_tensor once = spyi_without_repeats(tensor), *t = &once;
    size_t host_stride = spyi_type_host_stride(t->type), stride = spyi_type_device_stride(t->type);
    if (t->element_count == 0) return SPY_OK;
    char *host = (char *)calloc(1, host_stride + stride), *image = host ? host + host_stride : NULL;
    if (!host) {
        spyi_text_add(error, "out of host memory");
        return SPY_ERROR_OUT_OF_MEMORY;
    }
    if (element) memcpy(host, element, host_stride);
    spyi_type_to_device(t->type, image, host, 1);
    uint32_t pattern = 0;
    spy_status status = t->contiguous && spyi_repeat_pattern(t, image, &pattern)
                            ? spyi_fill_range(t, pattern, error)
                            : spyi_fill_elements(t, host, error);
    free(host);
    return status;
}

// Every scalar of one element set to `value`, in C's layout; false: it does not fit one of them.
static bool spyi_fill_scalars(const spyi_type *type, double value, char *host) {
    switch (type->kind) {
    case SPYI_TYPE_SCALAR: return spyi_convert_scalars(host, type->scalar, &value, SPY_FLOAT64, 1);
    case SPYI_TYPE_VECTOR:
    case SPYI_TYPE_MATRIX: {
        size_t size = spyi_scalar_size(type->scalar);
        for (uint32_t i = 0; i < type->rows * type->columns; i++)
            if (!spyi_convert_scalars(host + i * size, type->scalar, &value, SPY_FLOAT64, 1)) return false;
        return true;
    }
    case SPYI_TYPE_ARRAY:
        for (int64_t i = 0; i < type->count; i++)
            if (!spyi_fill_scalars(type->element, value,
                                   host + (size_t)i * spyi_type_host_stride(type->element)))
                return false;
        return true;
    case SPYI_TYPE_STRUCT:
        for (uint32_t i = 0; i < type->field_count; i++)
            if (!spyi_fill_scalars(type->fields[i].type, value, host + type->fields[i].host_offset))
                return false;
        return true;
    default: return false;
    }
}

// One element in C's layout with every scalar set to `value`, and as many zeros as the device's layout takes behind it.
static spy_status spyi_fill_element(const spy_tensor *t, double value, char **element, spyi_text *error) {
    *element = (char *)calloc(1, spyi_type_host_stride(t->type) + spyi_type_device_stride(t->type));
    if (!*element) {
        spyi_text_add(error, "out of host memory");
        return SPY_ERROR_OUT_OF_MEMORY;
    }
    if (spyi_fill_scalars(t->type, value, *element)) return SPY_OK;
    spyi_text_add(error, "%g does not fit into %s", value, t->type->display);
    free(*element);
    return SPY_ERROR_OUT_OF_RANGE;
}

SPYI_FN spy_status spyi_fill_tensor(spy_tensor *t, double value, spyi_text *error) {
    char *element;
    spy_status status = spyi_fill_element(t, value, &element, error);
    if (status != SPY_OK) return status;
    status = spyi_tensor_repeat(t, element, error);
    free(element);
    return status;
}

SPYI_FN spy_status spyi_fill_pattern(const spy_tensor *t, double value, bool *repeats, uint32_t *pattern,
                                     spyi_text *error) {
    char *element;
    spy_status status = spyi_fill_element(t, value, &element, error);
    if (status != SPY_OK) return status;
    char *image = element + spyi_type_host_stride(t->type);
    spyi_type_to_device(t->type, image, element, 1);
    *repeats = t->contiguous && spyi_repeat_pattern(t, image, pattern);
    free(element);
    return SPY_OK;
}

spy_status spy_tensor_fill(spy_tensor *tensor, double value) {
    const char *function = "spy_tensor_fill";
    spy_status entered = spyi_enter(tensor, SPYI_KIND_TENSOR, function);
    if (entered != SPY_OK) return entered;
    spy_device *device = tensor->object.device;
    spyi_text error = { NULL, 0, 0 };
    spy_status status = tensor->element_count ? spyi_fill_tensor(tensor, value, &error) : SPY_OK;
    if (status != SPY_OK) spyi_fail_text(device, status, function, &error);
    spyi_leave(device);
    return status;
}

spy_status spy_tensor_fill_data(spy_tensor *tensor, const void *element, size_t size_bytes) {
    const char *function = "spy_tensor_fill_data";
    spy_status entered = spyi_enter(tensor, SPYI_KIND_TENSOR, function);
    if (entered != SPY_OK) return entered;
    spy_device *device = tensor->object.device;
    spyi_text error = { NULL, 0, 0 };
    spy_status status = SPY_OK;
    if (!element)
        status = spyi_fail(&device->ctx, SPY_ERROR_INVALID_ARGUMENT, "%s: element is NULL", function);
    else if (size_bytes != spyi_type_host_stride(tensor->type))
        status = spyi_fail(&device->ctx, SPY_ERROR_SHAPE_MISMATCH,
                           "%s: one %s has %zu bytes in C's layout, size_bytes is %zu", function,
                           tensor->type->display, spyi_type_host_stride(tensor->type), size_bytes);
    else {
        status = spyi_tensor_repeat(tensor, element, &error);
        if (status != SPY_OK) spyi_fail_text(device, status, function, &error);
    }
    spyi_leave(device);
    return status;
}

// >>copy

// Whether one is the other with other scalars at most: a conversion scalar by scalar is then meant.
static bool spyi_types_alike(const spyi_type *a, const spyi_type *b) {
    if (a == b) return true;
    if (a->kind != b->kind) return false;
    switch (a->kind) {
    case SPYI_TYPE_SCALAR: return true;
    case SPYI_TYPE_VECTOR:
    case SPYI_TYPE_MATRIX: return a->rows == b->rows && a->columns == b->columns;
    case SPYI_TYPE_ARRAY: return a->count == b->count && spyi_types_alike(a->element, b->element);
    default: return false;
    }
}

static void spyi_report_misfit(const char *from, spy_dtype from_type, const spy_tensor *to, size_t scalars,
                               spyi_text *error) {
    char scratch[8];
    size_t size = spyi_scalar_size(from_type), i = 0;
    while (i + 1 < scalars && spyi_convert_scalars(scratch, to->type->scalar, from + i * size, from_type, 1))
        i++;
    size_t element = scalars / (size_t)to->element_count;
    spyi_text_add(error, "element %zu of from, ", i / element);
    spyi_scalar_text(from + i * size, from_type, error);
    spyi_text_add(error, ", does not fit into %s", spy_dtype_name(to->type->scalar));
}

// Reads all of `from` before `to` is written, so they may overlap.
static spy_status spyi_copy_through_host(spy_tensor *to, spy_tensor *from, spyi_text *error) {
    size_t count = (size_t)to->element_count;
    size_t from_size = count * spyi_type_host_stride(from->type),
           to_size = count * spyi_type_host_stride(to->type);
    char *data = (char *)malloc(from_size), *converted = data;
    if (data && from->type != to->type) converted = (char *)malloc(to_size);
    spy_status status = SPY_OK;
    if (!data || !converted) {
        spyi_text_add(error, "out of host memory");
        status = SPY_ERROR_OUT_OF_MEMORY;
    }
    if (status == SPY_OK) status = spyi_tensor_download(from, data, error);
    if (status == SPY_OK && converted != data) {
        size_t scalars =
            from_size / spyi_scalar_size(from->type->scalar); // all there is: C pads none of these
        if (!spyi_convert_scalars(converted, to->type->scalar, data, from->type->scalar, scalars)) {
            spyi_report_misfit(data, from->type->scalar, to, scalars, error);
            status = SPY_ERROR_OUT_OF_RANGE;
        }
    }
    if (status == SPY_OK) status = spyi_tensor_upload(to, converted, error);
    if (converted != data) free(converted);
    free(data);
    return status;
}

// Elements that lie next to each other in both, counted from the last dimension.
static int64_t spyi_common_run(const spy_tensor *a, const spy_tensor *b) {
    int64_t run = 1;
    for (uint32_t i = a->shape.rank; i-- > 0;) {
        if (a->shape.dims[i] != 1 && (a->strides.dims[i] != run || b->strides.dims[i] != run)) break;
        run *= a->shape.dims[i];
    }
    return run;
}

// Run by run on the device. None meets another one, so that one barrier serves all.
static spy_status spyi_copy_runs(spy_tensor *to, spy_tensor *from, int64_t run, spyi_text *error) {
    spy_device *device = to->object.device;
    spyi_storage *out = to->storage, *in = from->storage;
    int64_t size = (int64_t)spyi_type_device_stride(to->type), index[SPY_MAX_RANK] = { 0 };
    bool barrier =
        spyi_take_barrier(device, spyi_hazard(device, out, to->begin_bytes, to->end_bytes, true) ||
                                      spyi_hazard(device, in, from->begin_bytes, from->end_bytes, false));
    spy_status status = SPY_OK;
    for (int64_t done = 0; done < to->element_count && status == SPY_OK; done += run) {
        int64_t a = 0, b = 0, step = run;
        for (uint32_t d = 0; d < to->shape.rank; d++) {
            a += index[d] * to->strides.dims[d];
            b += index[d] * from->strides.dims[d];
        }
        status = device->backend->copy(device->gpu, &out->chunk,
                                       out->offset + to->offset_bytes + (uint64_t)(a * size), &in->chunk,
                                       in->offset + from->offset_bytes + (uint64_t)(b * size),
                                       (uint64_t)(run * size), barrier && done == 0, error);
        for (uint32_t d = to->shape.rank; d-- > 0 && step;) { // on to the next run
            int64_t n = to->shape.dims[d], at = index[d] + step;
            index[d] = at % n;
            step = at / n;
        }
    }
    spyi_barrier_done(device, barrier, status);
    uint64_t submit = device->backend->open_submit(device->gpu);
    spyi_note_use(device, out, to->begin_bytes, to->end_bytes, true, submit);
    spyi_note_use(device, in, from->begin_bytes, from->end_bytes, false, submit);
    return status;
}

// One recorded copy costs the device about what 4 KiB through host memory cost; below 64 waiting costs more.
static bool spyi_runs_pay(int64_t run_bytes, int64_t runs) {
    return runs <= 64 || run_bytes >= 4096;
}

static spy_status spyi_copy(spy_tensor *to, spy_tensor *from, spyi_text *error) {
    bool same_type = to->type == from->type;
    if (to->element_count == 0) return SPY_OK;
    if (spyi_tensors_meet(to, from)) {
        if (same_type && to->offset_bytes == from->offset_bytes &&
            memcmp(to->strides.dims, from->strides.dims, to->shape.rank * sizeof *to->strides.dims) == 0)
            return SPY_OK; // to itself
        return spyi_copy_through_host(to, from, error);
    }
    int64_t run = spyi_common_run(to, from), size = (int64_t)spyi_type_device_stride(to->type);
    if (same_type && spyi_runs_pay(run * size, to->element_count / run))
        return spyi_copy_runs(to, from, run, error);
    return spyi_copy_through_host(to, from, error);
}

static spy_status spyi_check_copy(const spy_tensor *to, const spy_tensor *from, spyi_text *error) {
    if (!spyi_as(from, SPYI_KIND_TENSOR) || from->object.device != to->object.device) {
        spyi_text_add(error, "from is not a living tensor of this device");
        return SPY_ERROR_INVALID_ARGUMENT;
    }
    if (to->shape.rank != from->shape.rank ||
        memcmp(to->shape.dims, from->shape.dims, to->shape.rank * sizeof *to->shape.dims) != 0) {
        spyi_text_add(error, "expected from to have the shape ");
        spyi_shape_text(&to->shape, error);
        spyi_text_add(error, " of to, got ");
        spyi_shape_text(&from->shape, error);
        spyi_text_add(error, "; spy_create_broadcast() stretches it, spy_create_reshape() cuts it anew");
        return SPY_ERROR_SHAPE_MISMATCH;
    }
    if (!spyi_types_alike(to->type, from->type)) {
        spyi_text_add(error, "%s cannot be converted to %s", from->type->display, to->type->display);
        return SPY_ERROR_TYPE_MISMATCH;
    }
    if (spyi_tensor_meets_itself(to)) {
        spyi_text_add(error, "to is a view in which several elements lie at one place: they would be written "
                             "several times");
        return SPY_ERROR_INVALID_ARGUMENT;
    }
    return SPY_OK;
}

spy_status spy_tensor_copy(spy_tensor *to, spy_tensor *from) {
    const char *function = "spy_tensor_copy";
    spy_status entered = spyi_enter(to, SPYI_KIND_TENSOR, function);
    if (entered != SPY_OK) return entered;
    spy_device *device = to->object.device;
    spyi_text error = { NULL, 0, 0 };
    spy_status status = spyi_check_copy(to, from, &error);
    if (status == SPY_OK) status = spyi_copy(to, from, &error);
    if (status != SPY_OK) spyi_fail_text(device, status, function, &error);
    spyi_leave(device);
    return status;
}

// >>where it lies

uint64_t spy_tensor_address(spy_tensor *tensor) {
    const char *function = "spy_tensor_address";
    if (spyi_enter(tensor, SPYI_KIND_TENSOR, function) != SPY_OK) return 0;
    spy_device *device = tensor->object.device;
    const spyi_storage *storage = tensor->storage;
    uint64_t address = 0;
    if (storage->chunk.address) address = storage->chunk.address + storage->offset + tensor->offset_bytes;
    else
        spyi_fail(&device->ctx, SPY_ERROR_UNSUPPORTED,
                  "%s: device '%s' has no pointers (SPY_FEATURE_POINTERS)", function,
                  device->base->limits.info.name);
    spyi_leave(device);
    return address;
}

// >>data/view.c ---------------------------------------------------------------------------------------------

// Views: tensors that share the storage of another one under other shapes and strides.

SPYI_FN spy_tensor *spyi_view_new(spy_tensor *parent, const char *function) {
    spy_device *device = parent->object.device;
    spy_tensor *view = spyi_tensor_new(device);
    if (!view) {
        spyi_fail(&device->ctx, SPY_ERROR_OUT_OF_MEMORY, "%s: out of host memory", function);
        return NULL;
    }
    view->storage = parent->storage;
    view->storage->references++;
    view->type = parent->type;
    view->shape = parent->shape;
    view->strides = parent->strides;
    view->offset_bytes = parent->offset_bytes;
    return view;
}

// Checks that a view's elements lie within what the tensor itself sees, through its largest and smallest offset.
static bool spyi_view_fits(const spy_tensor *parent, const spy_view_desc *desc, const spy_shape *strides,
                           const spyi_type *type, const char *function) {
    spyi_context *ctx = &parent->object.device->ctx;
    int64_t stride_bytes = (int64_t)spyi_type_device_stride(type);
    int64_t first = (int64_t)parent->offset_bytes, begin = (int64_t)parent->begin_bytes,
            end = (int64_t)parent->end_bytes;
    int64_t limit = (end - begin) / stride_bytes + 1; // no offset beyond this can be inside
    int64_t lowest = desc->offset_elements, highest = desc->offset_elements;
    if (spyi_shape_count(&desc->shape) == 0 && lowest >= -limit && lowest <= limit)
        return true; // touches nothing
    bool inside = lowest >= -limit && lowest <= limit;
    for (uint32_t i = 0; i < desc->shape.rank && inside; i++) {
        int64_t n = desc->shape.dims[i], stride = strides->dims[i];
        if (n <= 1) continue;
        inside = stride >= -limit && stride <= limit && (stride == 0 || n - 1 <= limit);
        if (inside && stride > 0) highest += (n - 1) * stride;
        if (inside && stride < 0) lowest += (n - 1) * stride;
        inside = inside && lowest >= -limit && highest <= limit;
    }
    if (inside && first + lowest * stride_bytes >= begin && first + (highest + 1) * stride_bytes <= end)
        return true;
    spyi_text view = { NULL, 0, 0 }, shape = { NULL, 0, 0 };
    spyi_shape_text(&desc->shape, &view);
    spyi_shape_text(&parent->shape, &shape);
    spyi_fail(
        ctx, SPY_ERROR_OUT_OF_RANGE,
        "%s: a view of shape %s of %s with these strides and offset %lld reaches beyond the tensor %s of %s",
        function, spyi_text_str(&view), type->display, (long long)desc->offset_elements,
        spyi_text_str(&shape), parent->type->display);
    spyi_text_free(&view);
    spyi_text_free(&shape);
    return false;
}

spy_tensor *spy_create_view(spy_tensor *tensor, const spy_view_desc *desc) {
    const char *function = "spy_create_view";
    if (spyi_enter(tensor, SPYI_KIND_TENSOR, function) != SPY_OK) return NULL;
    spy_device *device = tensor->object.device;
    spyi_context *ctx = &device->ctx;
    spy_tensor *view = NULL;
    const spyi_type *type = NULL;
    if (!desc) spyi_fail(ctx, SPY_ERROR_INVALID_ARGUMENT, "%s: expected a desc, got NULL", function);
    else if (desc->shape.rank > SPY_MAX_RANK || spyi_shape_count(&desc->shape) < 0)
        spyi_fail(ctx, SPY_ERROR_INVALID_ARGUMENT, "%s: desc.shape is not valid", function);
    else if (desc->strides.rank && desc->strides.rank != desc->shape.rank)
        spyi_fail(ctx, SPY_ERROR_SHAPE_MISMATCH, "%s: shape has rank %u, strides have %u", function,
                  desc->shape.rank, desc->strides.rank);
    else
        type = desc->type ? spyi_element_type(device, desc->module, SPY_DTYPE_DEFAULT, desc->type, function)
                          : tensor->type;
    if (type && tensor->offset_bytes % type->device_align) {
        spyi_fail(ctx, SPY_ERROR_INVALID_ARGUMENT,
                  "%s: the tensor begins at byte %llu of its storage, %s needs a multiple of %zu", function,
                  (unsigned long long)tensor->offset_bytes, type->display, type->device_align);
        type = NULL;
    }
    if (type) {
        spy_shape strides = desc->strides.rank ? desc->strides : spyi_row_major(&desc->shape);
        if (spyi_view_fits(tensor, desc, &strides, type, function)) view = spyi_view_new(tensor, function);
        if (view) {
            view->type = type;
            view->shape = desc->shape;
            view->strides = strides;
            view->offset_bytes = (uint64_t)((int64_t)tensor->offset_bytes +
                                            desc->offset_elements * (int64_t)spyi_type_device_stride(type));
            spyi_tensor_measure(view);
        }
    }
    spyi_leave(device);
    return view;
}

spy_tensor *spy_create_broadcast(spy_tensor *tensor, spy_shape shape) {
    const char *function = "spy_create_broadcast";
    if (spyi_enter(tensor, SPYI_KIND_TENSOR, function) != SPY_OK) return NULL;
    spy_device *device = tensor->object.device;
    spy_tensor *view = NULL;
    bool fits =
        shape.rank <= SPY_MAX_RANK && spyi_shape_count(&shape) >= 0 && shape.rank >= tensor->shape.rank;
    uint32_t lead = fits ? shape.rank - tensor->shape.rank : 0;
    for (uint32_t i = 0; fits && i < tensor->shape.rank; i++)
        fits = tensor->shape.dims[i] == 1 || tensor->shape.dims[i] == shape.dims[lead + i];
    if (!fits) {
        spyi_text text = { NULL, 0, 0 };
        spyi_shape_text(&tensor->shape, &text);
        spyi_text_add(&text, " cannot be broadcast to ");
        if (shape.rank > SPY_MAX_RANK) spyi_text_add(&text, "rank %u", shape.rank);
        else spyi_shape_text(&shape, &text);
        spyi_fail_text(device, SPY_ERROR_SHAPE_MISMATCH, function, &text);
    } else {
        view = spyi_view_new(tensor, function);
    }
    if (view) {
        view->shape = shape;
        memset(&view->strides, 0, sizeof view->strides);
        view->strides.rank = shape.rank;
        for (uint32_t i = 0; i < tensor->shape.rank; i++)
            if (tensor->shape.dims[i] == shape.dims[lead + i])
                view->strides.dims[lead + i] = tensor->strides.dims[i];
        spyi_tensor_measure(view);
    }
    spyi_leave(device);
    return view;
}

// >>indexing

spy_index spy_index_at(int64_t index) {
    spy_index item = { SPY_INDEX_AT, index, 0, 0 };
    return item;
}

spy_index spy_index_range(int64_t start, int64_t stop, int64_t step) {
    spy_index item = { SPY_INDEX_RANGE, start, stop, step };
    return item;
}

spy_index spy_index_all(void) {
    return spy_index_range(SPY_INDEX_NONE, SPY_INDEX_NONE, 1);
}

spy_index spy_index_rest(void) {
    spy_index item = { SPY_INDEX_REST, 0, 0, 0 };
    return item;
}

spy_index spy_index_new(void) {
    spy_index item = { SPY_INDEX_NEW, 0, 0, 0 };
    return item;
}

// What Python's slice(start, stop, step).indices(n) begins at and how many it has.
// Source: docs.python.org, "Common sequence operations", notes 3 to 5.
static int64_t spyi_slice_count(const spy_index *item, int64_t n, int64_t *first) {
    int64_t step = item->step < -INT64_MAX ? -INT64_MAX : item->step, start = item->start, stop = item->stop,
            low = step < 0 ? -1 : 0, high = step < 0 ? n - 1 : n;
    if (start == SPY_INDEX_NONE) start = step < 0 ? high : low;
    else if (start < 0) start = start < -n ? low : start + n;
    else if (start > high) start = high;
    if (stop == SPY_INDEX_NONE) stop = step < 0 ? low : high;
    else if (stop < 0) stop = stop < -n ? low : stop + n;
    else if (stop > high) stop = high;
    *first = start;
    if (step > 0) return start < stop ? (stop - start - 1) / step + 1 : 0;
    return stop < start ? (start - stop - 1) / -step + 1 : 0;
}

// The items meet the tensor: their number, indices, steps and the view's rank; else reported.
static bool spyi_check_indices(const spy_tensor *tensor, spy_indices indices, const char *function) {
    spyi_context *ctx = &tensor->object.device->ctx;
    const spy_shape *shape = &tensor->shape;
    uint32_t taken = 0, made = 0, rests = 0, dim = 0;
    if (indices.count && !indices.items) {
        spyi_fail(ctx, SPY_ERROR_INVALID_ARGUMENT, "%s: indices has %zu items at NULL", function,
                  indices.count);
        return false;
    }
    for (size_t i = 0; i < indices.count; i++) {
        spy_index_kind kind = indices.items[i].kind;
        taken += kind == SPY_INDEX_AT || kind == SPY_INDEX_RANGE;
        made += kind == SPY_INDEX_NEW;
        rests += kind == SPY_INDEX_REST;
    }
    if (taken > shape->rank) {
        spyi_fail(ctx, SPY_ERROR_OUT_OF_RANGE,
                  "%s: too many indices: the tensor has %u dimensions, the list names %u", function,
                  shape->rank, taken);
        return false;
    }
    if (rests > 1) {
        spyi_fail(ctx, SPY_ERROR_INVALID_ARGUMENT,
                  "%s: spy_index_rest() can stand for the remaining dimensions once, not %u times", function,
                  rests);
        return false;
    }
    uint32_t rank = shape->rank + made;
    for (size_t i = 0; i < indices.count; i++) {
        const spy_index *item = &indices.items[i];
        int64_t n = dim < shape->rank ? shape->dims[dim] : 0;
        if (item->kind == SPY_INDEX_AT) {
            rank--;
            if (item->start < -n || item->start >= n) {
                spyi_fail(ctx, SPY_ERROR_OUT_OF_RANGE, "%s: index %lld of dimension %u, which has %lld",
                          function, (long long)item->start, dim, (long long)n);
                return false;
            }
        } else if (item->kind == SPY_INDEX_RANGE && item->step == 0) {
            spyi_fail(ctx, SPY_ERROR_INVALID_ARGUMENT, "%s: a step of 0 in dimension %u goes nowhere",
                      function, dim);
            return false;
        } else if ((uint32_t)item->kind > SPY_INDEX_NEW) {
            spyi_fail(ctx, SPY_ERROR_INVALID_ARGUMENT,
                      "%s: item %zu has kind %d, which is none of spy_index_kind", function, i,
                      (int)item->kind);
            return false;
        }
        if (item->kind == SPY_INDEX_REST) dim += shape->rank - taken;
        else if (item->kind != SPY_INDEX_NEW) dim++;
    }
    if (rank <= SPY_MAX_RANK) return true;
    spyi_fail(ctx, SPY_ERROR_INVALID_ARGUMENT, "%s: the view would have rank %u, at most %d are possible",
              function, rank, SPY_MAX_RANK);
    return false;
}

static void spyi_view_add_dim(spy_tensor *view, int64_t n, int64_t stride) {
    view->shape.dims[view->shape.rank++] = n;
    view->strides.dims[view->strides.rank++] = stride;
}

// The view of checked items: reads the tensor's dimensions from the first on and adds those of the view.
static void spyi_view_index(const spy_tensor *tensor, spy_indices indices, spy_tensor *view) {
    const spy_shape *shape = &tensor->shape, *strides = &tensor->strides;
    int64_t size = (int64_t)spyi_type_device_stride(tensor->type), at = 0;
    uint32_t dim = 0, taken = 0;
    for (size_t i = 0; i < indices.count; i++)
        taken += indices.items[i].kind == SPY_INDEX_AT || indices.items[i].kind == SPY_INDEX_RANGE;
    view->shape.rank = view->strides.rank = 0;
    for (size_t i = 0; i < indices.count; i++) {
        const spy_index *item = &indices.items[i];
        if (item->kind == SPY_INDEX_NEW) {
            spyi_view_add_dim(view, 1, 0);
        } else if (item->kind == SPY_INDEX_REST) {
            for (uint32_t end = dim + shape->rank - taken; dim < end; dim++)
                spyi_view_add_dim(view, shape->dims[dim], strides->dims[dim]);
        } else if (item->kind == SPY_INDEX_AT) {
            at += (item->start < 0 ? item->start + shape->dims[dim] : item->start) * strides->dims[dim];
            dim++;
        } else {
            int64_t first, count = spyi_slice_count(item, shape->dims[dim], &first);
            int64_t stride = strides->dims[dim++];
            if (count > 0) at += first * stride;
            spyi_view_add_dim(view, count, count > 1 ? stride * item->step : stride);
        }
    }
    for (; dim < shape->rank; dim++) spyi_view_add_dim(view, shape->dims[dim], strides->dims[dim]);
    if (tensor->element_count > 0) view->offset_bytes += (uint64_t)(at * size);
    spyi_tensor_measure(view);
}

static spy_tensor *spyi_create_indexed(spy_tensor *tensor, spy_indices indices, const char *function) {
    spy_tensor *view = NULL;
    if (spyi_check_indices(tensor, indices, function)) view = spyi_view_new(tensor, function);
    if (view) spyi_view_index(tensor, indices, view);
    return view;
}

spy_tensor *spy_create_indexed(spy_tensor *tensor, spy_indices indices) {
    const char *function = "spy_create_indexed";
    if (spyi_enter(tensor, SPYI_KIND_TENSOR, function) != SPY_OK) return NULL;
    spy_tensor *view = spyi_create_indexed(tensor, indices, function);
    spyi_leave(tensor);
    return view;
}

// One dimension by an item, the others whole.
static spy_tensor *spyi_create_part(spy_tensor *tensor, uint32_t dim, spy_index item, const char *function) {
    if (spyi_enter(tensor, SPYI_KIND_TENSOR, function) != SPY_OK) return NULL;
    spy_tensor *view = NULL;
    spy_index items[SPY_MAX_RANK];
    spy_indices indices = { items, (size_t)dim + 1 };
    if (dim < tensor->shape.rank) {
        for (uint32_t i = 0; i < dim; i++) items[i] = spy_index_all();
        items[dim] = item;
        view = spyi_create_indexed(tensor, indices, function);
    } else {
        spyi_fail(&tensor->object.device->ctx, SPY_ERROR_OUT_OF_RANGE,
                  "%s: dimension %u of a tensor of rank %u", function, dim, tensor->shape.rank);
    }
    spyi_leave(tensor);
    return view;
}

spy_tensor *spy_create_slice(spy_tensor *tensor, uint32_t dim, int64_t start, int64_t stop, int64_t step) {
    return spyi_create_part(tensor, dim, spy_index_range(start, stop, step), "spy_create_slice");
}

spy_tensor *spy_create_select(spy_tensor *tensor, uint32_t dim, int64_t index) {
    return spyi_create_part(tensor, dim, spy_index_at(index), "spy_create_select");
}

// >>dimensions in another order, other storage

spy_tensor *spy_create_transpose(spy_tensor *tensor, spy_dims order) {
    const char *function = "spy_create_transpose";
    if (spyi_enter(tensor, SPYI_KIND_TENSOR, function) != SPY_OK) return NULL;
    spy_device *device = tensor->object.device;
    spy_tensor *view = NULL;
    uint32_t seen = 0;
    bool valid = order.count == tensor->shape.rank;
    for (uint32_t i = 0; valid && i < order.count; i++) {
        valid = order.dims[i] >= 0 && (uint32_t)order.dims[i] < order.count && !(seen & 1u << order.dims[i]);
        if (valid) seen |= 1u << order.dims[i];
    }
    if (!valid)
        spyi_fail(&device->ctx, SPY_ERROR_INVALID_ARGUMENT,
                  "%s: order must name each of the %u dimensions once", function, tensor->shape.rank);
    else view = spyi_view_new(tensor, function);
    if (view) {
        for (uint32_t i = 0; i < order.count; i++) {
            view->shape.dims[i] = tensor->shape.dims[order.dims[i]];
            view->strides.dims[i] = tensor->strides.dims[order.dims[i]];
        }
        spyi_tensor_measure(view);
    }
    spyi_leave(device);
    return view;
}

static bool spyi_same_dims(const spy_shape *a, const spy_shape *b) {
    return a->rank == b->rank && memcmp(a->dims, b->dims, a->rank * sizeof *a->dims) == 0;
}

spy_status spy_tensor_point_to(spy_tensor *tensor, spy_tensor *other) {
    const char *function = "spy_tensor_point_to";
    spy_status entered = spyi_enter(tensor, SPYI_KIND_TENSOR, function);
    if (entered != SPY_OK) return entered;
    spy_device *device = tensor->object.device;
    spy_status status = SPY_OK;
    if (!spyi_as(other, SPYI_KIND_TENSOR) || other->object.device != device) {
        status = spyi_fail(&device->ctx, SPY_ERROR_INVALID_ARGUMENT,
                           "%s: other is not a living tensor of this device", function);
    } else if (tensor->type != other->type || !spyi_same_dims(&tensor->shape, &other->shape) ||
               !spyi_same_dims(&tensor->strides, &other->strides)) {
        status = spyi_fail(&device->ctx, SPY_ERROR_SHAPE_MISMATCH,
                           "%s: shape, strides and type of the two differ", function);
    } else if (other->storage != tensor->storage || other->offset_bytes != tensor->offset_bytes) {
        other->storage->references++;
        if (--tensor->storage->references == 0) spyi_pool_give(device, tensor->storage);
        tensor->storage = other->storage;
        tensor->offset_bytes = other->offset_bytes;
        spyi_tensor_measure(tensor);
    }
    spyi_leave(device);
    return status;
}

// >>data/reshape.c ------------------------------------------------------------------------------------------

// Views under other sizes or other element types: the same bytes in the same order, never a copy.

// >>reshape

// desc's sizes with -1 replaced; false: reported.
static bool spyi_reshape_sizes(const spy_tensor *tensor, spy_shape *shape, const char *function) {
    spyi_context *ctx = &tensor->object.device->ctx;
    spy_shape known = *shape;
    uint32_t open = SPY_MAX_RANK, opens = 0;
    for (uint32_t i = 0; i < shape->rank && shape->rank <= SPY_MAX_RANK; i++) {
        if (shape->dims[i] != -1) continue;
        known.dims[i] = 1;
        open = i;
        opens++;
    }
    int64_t count = shape->rank <= SPY_MAX_RANK ? spyi_shape_count(&known) : -1;
    if (count < 0 || opens > 1) {
        spyi_fail(ctx, SPY_ERROR_INVALID_ARGUMENT,
                  "%s: expected at most %d sizes of 0 and more, one of them -1 at most", function,
                  SPY_MAX_RANK);
        return false;
    }
    bool fits = opens && count > 0 ? tensor->element_count % count == 0 : count == tensor->element_count;
    if (fits && opens && count > 0) shape->dims[open] = tensor->element_count / count;
    if (fits && (!opens || count > 0)) return true;
    spyi_text text = { NULL, 0, 0 };
    spyi_shape_text(shape, &text);
    spyi_text_add(&text, " cannot hold the %lld elements of the tensor ", (long long)tensor->element_count);
    spyi_shape_text(&tensor->shape, &text);
    spyi_fail(ctx, SPY_ERROR_SHAPE_MISMATCH, "%s: shape %s%s", function, spyi_text_str(&text),
              fits ? ": -1 could be anything" : "");
    spyi_text_free(&text);
    return false;
}

// Strides that walk the tensor's elements in their order under another shape. Groups of dimensions with equal products
// are matched from the first on; within a group the tensor's must follow each other in memory. Returns the tensor's
// dimension that does not follow its right neighbour; -1: all is well.
// Source: numpy.reshape's documentation; its way of matching is _attempt_nocopy_reshape.
static int spyi_reshape_strides(const spy_tensor *t, const spy_shape *shape, spy_shape *strides) {
    uint32_t from[SPY_MAX_RANK], rank = 0; // the tensor's dimensions but those of size 1
    for (uint32_t i = 0; i < t->shape.rank; i++)
        if (t->shape.dims[i] != 1) from[rank++] = i;
    uint32_t i = 0, j = 0;
    while (i < rank && j < shape->rank) {
        uint32_t i_end = i + 1, j_end = j + 1;
        int64_t had = t->shape.dims[from[i]], got = shape->dims[j];
        while (had != got) {
            if (got < had) got *= shape->dims[j_end++];
            else had *= t->shape.dims[from[i_end++]];
        }
        for (uint32_t k = i; k + 1 < i_end; k++)
            if (t->strides.dims[from[k]] != t->shape.dims[from[k + 1]] * t->strides.dims[from[k + 1]])
                return (int)from[k];
        int64_t step = t->strides.dims[from[i_end - 1]];
        for (uint32_t k = j_end; k-- > j; step *= shape->dims[k]) strides->dims[k] = step;
        i = i_end;
        j = j_end;
    }
    return -1; // sizes of 1 that are left keep the strides they came with
}

spy_tensor *spy_create_reshape(spy_tensor *tensor, spy_shape shape) {
    const char *function = "spy_create_reshape";
    if (spyi_enter(tensor, SPYI_KIND_TENSOR, function) != SPY_OK) return NULL;
    spy_device *device = tensor->object.device;
    spy_tensor *view = NULL;
    if (spyi_reshape_sizes(tensor, &shape, function)) {
        spy_shape strides = spyi_row_major(&shape);
        int apart = -1;
        if (!tensor->contiguous) apart = spyi_reshape_strides(tensor, &shape, &strides);
        if (apart >= 0) {
            spyi_text text = { NULL, 0, 0 };
            spyi_shape_text(&tensor->shape, &text);
            spyi_text_add(&text, " with strides ");
            spyi_shape_text(&tensor->strides, &text);
            spyi_text_add(&text, " cannot be seen as ");
            spyi_shape_text(&shape, &text);
            spyi_text_add(&text,
                          " without a copy: dimension %d and what follows it do not lie one behind the other "
                          "in memory; "
                          "spy_tensor_copy() to a tensor made with desc.like helps",
                          apart);
            spyi_fail_text(device, SPY_ERROR_SHAPE_MISMATCH, function, &text);
        } else {
            view = spyi_view_new(tensor, function);
        }
        if (view) {
            view->shape = shape;
            view->strides = strides;
            spyi_tensor_measure(view);
        }
    }
    spyi_leave(device);
    return view;
}

// >>other element types

// Turns the strides of a view to elements of another size; the last dimension is left out. -1: all can be; else
// the dimension that cannot.
static int spyi_scale_strides(spy_tensor *view, int64_t from_size, int64_t to_size) {
    for (uint32_t i = 0; i + 1 < view->strides.rank; i++) {
        int64_t bytes = view->strides.dims[i] * from_size;
        if (bytes % to_size && view->shape.dims[i] > 1) return (int)i;
        view->strides.dims[i] = bytes / to_size;
    }
    return -1;
}

// Why the tensor cannot be seen as elements of `type`; nothing when it can. Fills the view's shape and strides.
static void spyi_retype(const spy_tensor *tensor, const spyi_type *type, spy_tensor *view, spyi_text *why) {
    int64_t from = (int64_t)spyi_type_device_stride(tensor->type),
            to = (int64_t)spyi_type_device_stride(type);
    uint32_t rank = tensor->shape.rank;
    if (tensor->offset_bytes % type->device_align) {
        spyi_text_add(why, "the tensor begins at byte %llu of its storage, %s needs a multiple of %zu",
                      (unsigned long long)tensor->offset_bytes, type->display, type->device_align);
        return;
    }
    if (from == to) return;
    if (rank == 0) {
        spyi_text_add(
            why,
            "%s has %lld bytes on the device, %s has %lld: a single element can only be seen as one of "
            "the same size",
            tensor->type->display, (long long)from, type->display, (long long)to);
        return;
    }
    int64_t n = tensor->shape.dims[rank - 1], *last = &view->strides.dims[rank - 1];
    if (n > 1 && *last != 1) {
        spyi_text_add(
            why,
            "%s has %lld bytes on the device, %s has %lld: the last dimension would be cut anew, but its "
            "elements lie %lld apart",
            tensor->type->display, (long long)from, type->display, (long long)to, (long long)*last);
        return;
    }
    if (n * from % to) {
        spyi_text_add(
            why, "the last dimension has %lld elements of %lld bytes (%s), which is no multiple of %s's %lld",
            (long long)n, (long long)from, tensor->type->display, type->display, (long long)to);
        return;
    }
    int apart = spyi_scale_strides(view, from, to);
    if (apart >= 0)
        spyi_text_add(why, "the rows of dimension %d lie %lld bytes apart, which is no multiple of %s's %lld",
                      apart, (long long)(tensor->strides.dims[apart] * from), type->display, (long long)to);
    view->shape.dims[rank - 1] = n * from / to;
    *last = 1;
}

spy_tensor *spy_create_view_as(spy_tensor *tensor, const char *type_name, spy_module *module) {
    const char *function = "spy_create_view_as";
    if (spyi_enter(tensor, SPYI_KIND_TENSOR, function) != SPY_OK) return NULL;
    spy_device *device = tensor->object.device;
    spy_tensor *view = NULL;
    const spyi_type *type = NULL;
    if (!type_name)
        spyi_fail(&device->ctx, SPY_ERROR_INVALID_ARGUMENT, "%s: expected a type's name, got NULL", function);
    else type = spyi_element_type(device, module, SPY_DTYPE_DEFAULT, type_name, function);
    if (type) {
        spyi_text why = { NULL, 0, 0 };
        spy_tensor seen = *tensor;
        spyi_retype(tensor, type, &seen, &why);
        if (why.size) spyi_fail_text(device, SPY_ERROR_SHAPE_MISMATCH, function, &why);
        else view = spyi_view_new(tensor, function);
        if (view) {
            view->type = type;
            view->shape = seen.shape;
            view->strides = seen.strides;
            spyi_tensor_measure(view);
        }
    }
    spyi_leave(device);
    return view;
}

// >>flat: the scalars of each element as further dimensions

// Walks the scalars of a struct: all must be of one dtype and lie one scalar apart.
typedef struct spyi_flat_walk {
    const spyi_type *scalar; // of the first one; NULL: none yet
    spyi_text first;         // its path
    spyi_text path;
    size_t next;   // device offset where the next one must lie
    int64_t count; // so far
    spyi_text why; // it cannot be
} spyi_flat_walk;

static void spyi_flat_scalars(const spyi_type *type, size_t offset, spyi_flat_walk *w) {
    size_t size = w->path.size;
    if (w->why.size) return;
    if (type->kind == SPYI_TYPE_STRUCT) {
        for (uint32_t i = 0; i < type->field_count; i++) {
            const spyi_field *field = &type->fields[i];
            spyi_text_add(&w->path, size ? ".%s" : "%s", field->name);
            spyi_flat_scalars(field->type, offset + field->device_offset, w);
            w->path.size = size;
            if (w->path.data) w->path.data[size] = 0;
        }
    } else if (type->element) { // the parts of vectors, matrices and arrays are alike
        int64_t n = type->kind == SPYI_TYPE_ARRAY    ? type->count
                    : type->kind == SPYI_TYPE_MATRIX ? (int64_t)type->rows
                                                     : (int64_t)type->columns;
        for (int64_t i = 0; i < n && !w->why.size; i++)
            spyi_flat_scalars(type->element, offset + (size_t)i * spyi_type_device_stride(type->element), w);
    } else {
        if (!w->scalar) {
            w->scalar = type;
            spyi_text_add(&w->first, "%s", spyi_text_str(&w->path));
        }
        if (type->scalar != w->scalar->scalar)
            spyi_text_add(&w->why, "field '%s' is %s and field '%s' is %s: scalars of one type are needed",
                          spyi_text_str(&w->first), w->scalar->display, spyi_text_str(&w->path),
                          type->display);
        else if (offset != w->next)
            spyi_text_add(&w->why, "field '%s' lies at byte %zu on the device, with a gap before it",
                          spyi_text_str(&w->path), offset);
        w->next = offset + type->device_size;
        w->count++;
    }
}

// Appends the dimensions of one element, strides in bytes, and gives its scalar type; NULL: `why` says.
static const spyi_type *spyi_flatten(const spyi_type *type, spy_shape *shape, spy_shape *strides,
                                     spyi_text *why) {
    while (type->element || type->kind == SPYI_TYPE_STRUCT) {
        int64_t n = type->kind == SPYI_TYPE_ARRAY    ? type->count
                    : type->kind == SPYI_TYPE_MATRIX ? (int64_t)type->rows
                                                     : (int64_t)type->columns;
        const spyi_type *part = type->element;
        if (!part) {
            spyi_flat_walk walk;
            memset(&walk, 0, sizeof walk);
            spyi_flat_scalars(type, 0, &walk);
            part = walk.scalar;
            n = walk.count;
            spyi_text_add(why, "%s", spyi_text_str(&walk.why));
            spyi_text_free(&walk.first);
            spyi_text_free(&walk.path);
            spyi_text_free(&walk.why);
            if (why->size) return NULL;
        }
        if (shape->rank == SPY_MAX_RANK) {
            spyi_text_add(why, "the view would have a rank above %d", SPY_MAX_RANK);
            return NULL;
        }
        shape->dims[shape->rank++] = n;
        strides->dims[strides->rank++] = (int64_t)spyi_type_device_stride(part);
        type = part;
    }
    return type;
}

spy_tensor *spy_create_flat_view(spy_tensor *tensor) {
    const char *function = "spy_create_flat_view";
    if (spyi_enter(tensor, SPYI_KIND_TENSOR, function) != SPY_OK) return NULL;
    spy_device *device = tensor->object.device;
    spy_tensor *view = NULL;
    spyi_text why = { NULL, 0, 0 };
    spy_shape shape = tensor->shape, strides = tensor->strides;
    int64_t element = (int64_t)spyi_type_device_stride(tensor->type);
    for (uint32_t i = 0; i < strides.rank; i++) strides.dims[i] *= element;
    const spyi_type *scalar = spyi_flatten(tensor->type, &shape, &strides, &why);
    if (scalar) {
        view = spyi_view_new(tensor, function);
    } else {
        spyi_fail(&device->ctx, SPY_ERROR_TYPE_MISMATCH, "%s: %s: %s", function, tensor->type->display,
                  spyi_text_str(&why));
    }
    if (view) {
        view->type = device->scalars[scalar->scalar];
        view->shape = shape;
        view->strides = strides;
        for (uint32_t i = 0; i < strides.rank; i++) view->strides.dims[i] /= (int64_t)scalar->device_size;
        spyi_tensor_measure(view);
    }
    spyi_text_free(&why);
    spyi_leave(device);
    return view;
}

// >>data/print.c --------------------------------------------------------------------------------------------

// A tensor's contents as text, in the form of numpy's array2string: brackets, columns of one width, the edges of large ones.
//
// Source of the rules: numpy.set_printoptions' documentation (precision 8, threshold 1000, edgeitems 3, linewidth 75)
// and the output of numpy 2.4, which tests/unit/test_print.c quotes.

#define SPYI_PRINT_THRESHOLD 1000.0 // scalars
enum { SPYI_PRINT_EDGE = 3, SPYI_PRINT_WIDTH = 75, SPYI_PRINT_PRECISION = 8 };

// >>digits of floats

typedef struct spyi_digits {
    char digits[24]; // decimal, without the final zeros; "0" for 0
    int count;
    int exponent; // of the first digit
    bool negative;
} spyi_digits;

// `value`, finite, to 1 + `places` digits. printf may write another decimal point than '.': only its digits count.
static spyi_digits spyi_digits_of(double value, int places) {
    spyi_digits d;
    char text[48];
    const char *at = text;
    memset(&d, 0, sizeof d);
    snprintf(text, sizeof text, "%.*e", places, value);
    if (*at == '-') {
        d.negative = true;
        at++;
    }
    for (; *at && *at != 'e'; at++)
        if (*at >= '0' && *at <= '9') d.digits[d.count++] = *at;
    d.exponent = *at == 'e' ? atoi(at + 1) : 0;
    while (d.count > 1 && d.digits[d.count - 1] == '0') d.digits[--d.count] = 0;
    return d;
}

static double spyi_float_value(const void *scalar, spy_dtype dtype) {
    double value = 0;
    spyi_convert_scalars(&value, SPY_FLOAT64, scalar, dtype, 1);
    return value;
}

// The fewest places that tell a value from all others of its type.
static int spyi_shortest_places(double value, spy_dtype dtype) {
    for (int places = 0; places < 16; places++) {
        char text[48];
        snprintf(text, sizeof text, "%.*e", places, value);
        if (dtype == SPY_FLOAT64 && strtod(text, NULL) == value) return places;
        if (dtype == SPY_FLOAT32 && strtof(text, NULL) == (float)value) return places;
        if (dtype == SPY_FLOAT16 && spyi_float_to_half(strtod(text, NULL)) == spyi_float_to_half(value))
            return places;
    }
    return 16;
}

static bool spyi_print_is_finite(double value) {
    return value - value == 0;
}

SPYI_FN void spyi_scalar_text(const void *scalar, spy_dtype dtype, spyi_text *out) {
    int64_t i = 0;
    uint64_t u = 0;
    if (dtype == SPY_BOOL) {
        spyi_text_add(out, *(const char *)scalar ? "True" : "False");
    } else if (dtype >= SPY_FLOAT16) {
        double value = spyi_float_value(scalar, dtype);
        if (value != value) spyi_text_add(out, "nan");
        else if (!spyi_print_is_finite(value)) spyi_text_add(out, value < 0 ? "-inf" : "inf");
        else spyi_text_add(out, "%.*g", spyi_shortest_places(value, dtype) + 1, value);
    } else if (spyi_convert_scalars(&i, SPY_INT64, scalar, dtype, 1)) {
        spyi_text_add(out, "%lld", (long long)i);
    } else {
        spyi_convert_scalars(&u, SPY_UINT64, scalar, dtype, 1);
        spyi_text_add(out, "%llu", (unsigned long long)u);
    }
}

// >>columns: scalars that are written alike; one for a tensor of scalars, one for each scalar field of a struct

typedef struct spyi_column {
    size_t width;                // of integers and bools, or of a float's whole text
    int left, right;             // characters before and behind the point
    int places, exponent_digits; // with an exponent
    bool with_exponent;
    bool any_finite, any_negative_infinity, any_other; // any_other: nan, inf
    double smallest, largest; // of the finite ones but 0, without their sign; largest 0: there is none
} spyi_column;

static bool spyi_print_is_float(spy_dtype dtype) {
    return dtype == SPY_FLOAT16 || dtype == SPY_FLOAT32 || dtype == SPY_FLOAT64;
}

// First reading: what there is.
static void spyi_column_see(spyi_column *c, const void *scalar, spy_dtype dtype) {
    if (!spyi_print_is_float(dtype)) {
        spyi_text text = { NULL, 0, 0 };
        spyi_scalar_text(scalar, dtype, &text);
        if (text.size > c->width) c->width = text.size;
        spyi_text_free(&text);
        return;
    }
    double value = spyi_float_value(scalar, dtype), size = value < 0 ? -value : value;
    if (!spyi_print_is_finite(value)) {
        c->any_other = true;
        c->any_negative_infinity = c->any_negative_infinity || value < 0;
        return;
    }
    c->any_finite = true;
    if (size == 0) return;
    if (c->largest == 0 || size < c->smallest) c->smallest = size;
    if (size > c->largest) c->largest = size;
}

static double spyi_print_round(double value, spy_dtype dtype) {
    if (dtype == SPY_FLOAT16) return spyi_half_to_float(spyi_float_to_half(value));
    return dtype == SPY_FLOAT32 ? (double)(float)value : value;
}

// Numbers are compared as the type rounds them.
static void spyi_column_choose(spyi_column *c, spy_dtype dtype) {
    if (c->largest == 0) return;
    double most = dtype == SPY_FLOAT16 ? 1e3 : dtype == SPY_FLOAT32 ? 1e6 : 1e8;
    double ratio = spyi_print_round(c->largest / c->smallest, dtype);
    c->with_exponent = c->largest >= most || c->smallest < spyi_print_round(1e-4, dtype) || ratio > 1000;
}

static spyi_digits spyi_column_digits(const spyi_column *c, double value, spy_dtype dtype) {
    spyi_digits d = spyi_digits_of(value, spyi_shortest_places(value, dtype));
    int most = c->with_exponent ? SPYI_PRINT_PRECISION : d.exponent + SPYI_PRINT_PRECISION;
    return d.count - 1 > most ? spyi_digits_of(value, most) : d;
}

static int spyi_exponent_digits(int exponent) {
    return exponent <= -100 || exponent >= 100 ? 3 : 2;
}

static int spyi_print_max(int a, int b) {
    return a > b ? a : b;
}

// Second reading: how many characters they need.
static void spyi_column_measure(spyi_column *c, const void *scalar, spy_dtype dtype) {
    double value = spyi_print_is_float(dtype) ? spyi_float_value(scalar, dtype) : 0;
    if (!spyi_print_is_float(dtype) || !spyi_print_is_finite(value)) return;
    spyi_digits d = spyi_column_digits(c, value, dtype);
    int whole = c->with_exponent || d.exponent < 0 ? 1 : d.exponent + 1;
    c->left = spyi_print_max(c->left, whole + d.negative);
    if (c->with_exponent) {
        c->places = spyi_print_max(c->places, d.count - 1);
        c->exponent_digits = spyi_print_max(c->exponent_digits, spyi_exponent_digits(d.exponent));
    } else {
        c->right = spyi_print_max(c->right, d.count - 1 - d.exponent);
    }
}

static void spyi_column_finish(spyi_column *c, spy_dtype dtype, bool alone) {
    if (dtype == SPY_BOOL && !alone) c->width = 5; // "False", and as much for "True"
    if (!spyi_print_is_float(dtype)) return;
    if (c->with_exponent) c->right = c->places + c->exponent_digits + 2;
    int width = c->left + 1 + c->right;
    if (c->any_other) width = spyi_print_max(width, c->any_negative_infinity ? 4 : 3);
    c->width = (size_t)width;
    c->left = width - 1 - c->right;
}

static void spyi_column_float(const spyi_column *c, double value, spy_dtype dtype, spyi_text *out) {
    if (!spyi_print_is_finite(value)) {
        spyi_text_add(out, "%*s", (int)c->width, value != value ? "nan" : value < 0 ? "-inf" : "inf");
        return;
    }
    // Places that a value does not need are filled with its next digits behind a shorter mantissa, else with blanks.
    spyi_digits d = c->with_exponent ? spyi_digits_of(value, c->places) : spyi_column_digits(c, value, dtype);
    int whole = c->with_exponent || d.exponent < 0 ? 1 : d.exponent + 1;
    int first = c->with_exponent ? 0 : d.exponent; // the digit that is the ones' place
    spyi_text_add(out, "%*s", c->left - whole, d.negative ? "-" : "");
    for (int i = first - whole + 1; i <= first; i++)
        spyi_text_add(out, "%c", i >= 0 && i < d.count ? d.digits[i] : '0');
    spyi_text_add(out, ".");
    int places = c->with_exponent ? c->places : spyi_print_max(d.count - 1 - first, 0);
    for (int i = first + 1; i <= first + places; i++)
        spyi_text_add(out, "%c", i >= 0 && i < d.count ? d.digits[i] : '0');
    if (c->with_exponent)
        spyi_text_add(out, "e%c%0*d", d.exponent < 0 ? '-' : '+', c->exponent_digits,
                      d.exponent < 0 ? -d.exponent : d.exponent);
    else spyi_text_add(out, "%*s", c->right - places, "");
}

static void spyi_column_text(const spyi_column *c, const void *scalar, spy_dtype dtype, spyi_text *out) {
    if (spyi_print_is_float(dtype)) {
        spyi_column_float(c, spyi_float_value(scalar, dtype), dtype, out);
        return;
    }
    spyi_text text = { NULL, 0, 0 };
    spyi_scalar_text(scalar, dtype, &text);
    spyi_text_add(out, "%*s", (int)c->width, spyi_text_str(&text));
    spyi_text_free(&text);
}

// >>walking what is shown: the tensor's dimensions, then those of vectors, matrices and arrays in its elements

typedef struct spyi_printer {
    const spy_tensor *tensor;
    spyi_column *columns;
    bool cut; // only the edges of long dimensions
    spyi_text out;
} spyi_printer;

// A place in the data: the next dimension of the tensor (its rank: inside an element), what is there, its bytes.
typedef struct spyi_spot {
    uint32_t dim;
    const spyi_type *type;
    const char *at;
    uint32_t column;
} spyi_spot;

static int64_t spyi_shown(const spyi_printer *p, int64_t n) {
    return p->cut && n > 2 * SPYI_PRINT_EDGE ? 2 * SPYI_PRINT_EDGE : n;
}

static int64_t spyi_type_length(const spyi_type *type) {
    return type->kind == SPYI_TYPE_ARRAY    ? type->count
           : type->kind == SPYI_TYPE_MATRIX ? (int64_t)type->rows
                                            : (int64_t)type->columns;
}

// Dimensions that are left at a spot; 0: a scalar or a struct.
static uint32_t spyi_spot_rank(const spyi_printer *p, const spyi_spot *s) {
    uint32_t rank = p->tensor->shape.rank - s->dim;
    for (const spyi_type *t = s->type; t->element; t = t->element) rank++;
    return rank;
}

static int64_t spyi_spot_length(const spyi_printer *p, const spyi_spot *s) {
    return s->dim < p->tensor->shape.rank ? p->tensor->shape.dims[s->dim] : spyi_type_length(s->type);
}

// Shown item `i` of the spot's next dimension. Of the tensor's dimensions the data holds shown items alone.
static spyi_spot spyi_spot_item(const spyi_printer *p, const spyi_spot *s, int64_t i) {
    spyi_spot item = *s;
    size_t step;
    if (s->dim < p->tensor->shape.rank) {
        step = spyi_type_host_stride(s->type);
        for (uint32_t d = s->dim + 1; d < p->tensor->shape.rank; d++)
            step *= (size_t)spyi_shown(p, p->tensor->shape.dims[d]);
        item.dim++;
    } else {
        int64_t n = spyi_type_length(s->type);
        if (spyi_shown(p, n) < n && i >= SPYI_PRINT_EDGE) i += n - 2 * SPYI_PRINT_EDGE;
        item.type = s->type->element;
        step = spyi_type_host_stride(item.type);
    }
    item.at += (size_t)i * step;
    return item;
}

static uint32_t spyi_column_count(const spyi_type *type) {
    uint32_t count = 0;
    while (type->element) type = type->element;
    if (type->kind != SPYI_TYPE_STRUCT) return 1;
    for (uint32_t i = 0; i < type->field_count; i++) count += spyi_column_count(type->fields[i].type);
    return count;
}

static spyi_spot spyi_spot_field(const spyi_spot *s, uint32_t i) {
    spyi_spot field = *s;
    for (uint32_t k = 0; k < i; k++) field.column += spyi_column_count(s->type->fields[k].type);
    field.type = s->type->fields[i].type;
    field.at += s->type->fields[i].host_offset;
    return field;
}

static void spyi_spot_scan(spyi_printer *p, const spyi_spot *s, bool measure) {
    if (spyi_spot_rank(p, s) > 0) {
        int64_t shown = spyi_shown(p, spyi_spot_length(p, s));
        for (int64_t i = 0; i < shown; i++) {
            spyi_spot item = spyi_spot_item(p, s, i);
            spyi_spot_scan(p, &item, measure);
        }
    } else if (s->type->kind == SPYI_TYPE_STRUCT) {
        for (uint32_t i = 0; i < s->type->field_count; i++) {
            spyi_spot field = spyi_spot_field(s, i);
            spyi_spot_scan(p, &field, measure);
        }
    } else if (measure) {
        spyi_column_measure(&p->columns[s->column], s->at, s->type->scalar);
    } else {
        spyi_column_see(&p->columns[s->column], s->at, s->type->scalar);
    }
}

// Between the readings (see, choose, measure, finish): each column with its type.
static void spyi_columns_step(spyi_printer *p, const spyi_type *type, uint32_t column, bool finish) {
    bool alone = p->tensor->shape.rank == 0 && !p->tensor->type->element;
    while (type->element) type = type->element;
    if (type->kind != SPYI_TYPE_STRUCT) {
        if (finish) spyi_column_finish(&p->columns[column], type->scalar, alone);
        else spyi_column_choose(&p->columns[column], type->scalar);
        return;
    }
    for (uint32_t i = 0; i < type->field_count; i++) {
        spyi_columns_step(p, type->fields[i].type, column, finish);
        column += spyi_column_count(type->fields[i].type);
    }
}

// >>the text

// A scalar, a struct, or an array in a struct, on one line.
static void spyi_spot_word(const spyi_printer *p, const spyi_spot *s, spyi_text *out) {
    if (spyi_spot_rank(p, s) > 0) {
        int64_t n = spyi_spot_length(p, s), shown = spyi_shown(p, n);
        spyi_text_add(out, "[");
        for (int64_t i = 0; i < shown; i++) {
            spyi_spot item = spyi_spot_item(p, s, i);
            spyi_text_add(out, shown < n && i == SPYI_PRINT_EDGE ? " ... " : i ? " " : "");
            spyi_spot_word(p, &item, out);
        }
        spyi_text_add(out, "]");
    } else if (s->type->kind == SPYI_TYPE_STRUCT) {
        spyi_text_add(out, "{");
        for (uint32_t i = 0; i < s->type->field_count; i++) {
            spyi_spot field = spyi_spot_field(s, i);
            spyi_text_add(out, "%s%s: ", i ? ", " : "", s->type->fields[i].name);
            spyi_spot_word(p, &field, out);
        }
        spyi_text_add(out, "}");
    } else {
        spyi_column_text(&p->columns[s->column], s->at, s->type->scalar, out);
    }
}

// Puts a word behind what the line holds, or on a new line if it would pass `width`, which leaves room for brackets. *line counts its characters.
static void spyi_print_word(spyi_printer *p, const char *word, size_t size, size_t indent, size_t width,
                            size_t *line) {
    if (*line + size > width && *line > indent) {
        while (p->out.size && p->out.data[p->out.size - 1] == ' ') p->out.data[--p->out.size] = 0;
        spyi_text_add(&p->out, "\n%*s", (int)indent, "");
        *line = indent;
    }
    spyi_text_add_n(&p->out, word, size);
    *line += size;
}

static void spyi_print_row(spyi_printer *p, const spyi_spot *s, size_t depth) {
    size_t indent = depth + 1, width = SPYI_PRINT_WIDTH - depth - 1, line = indent;
    int64_t n = spyi_spot_length(p, s), shown = spyi_shown(p, n);
    spyi_text word = { NULL, 0, 0 };
    for (int64_t i = 0; i < shown; i++) {
        spyi_spot item = spyi_spot_item(p, s, i);
        if (shown < n && i == SPYI_PRINT_EDGE) {
            spyi_print_word(p, "...", 3, indent, width, &line);
            spyi_print_word(p, " ", 1, indent, SIZE_MAX, &line);
        }
        spyi_text_clear(&word);
        spyi_spot_word(p, &item, &word);
        spyi_print_word(p, spyi_text_str(&word), word.size, indent, width, &line);
        if (i + 1 < shown) spyi_print_word(p, " ", 1, indent, SIZE_MAX, &line);
    }
    spyi_text_free(&word);
}

static void spyi_print_spot(spyi_printer *p, const spyi_spot *s, size_t depth) {
    uint32_t rank = spyi_spot_rank(p, s);
    if (rank == 0) {
        spyi_spot_word(p, s, &p->out);
        return;
    }
    int64_t n = spyi_spot_length(p, s), shown = spyi_shown(p, n);
    spyi_text_add(&p->out, "[");
    if (rank == 1) spyi_print_row(p, s, depth);
    for (int64_t i = 0; i < shown && rank > 1; i++) {
        spyi_spot item = spyi_spot_item(p, s, i);
        bool gap = shown < n && i == SPYI_PRINT_EDGE;
        for (int again = 0; again < 1 + gap && i > 0; again++) {
            for (uint32_t k = 1; k < rank; k++) spyi_text_add(&p->out, "\n");
            spyi_text_add(&p->out, "%*s%s", (int)depth + 1, "", again < gap ? "..." : "");
        }
        spyi_print_spot(p, &item, depth + 1);
    }
    spyi_text_add(&p->out, "]");
}

// >>the data: the shown elements, packed

static double spyi_scalar_count(const spyi_type *type) {
    double count = 1;
    for (; type->element; type = type->element) count *= (double)spyi_type_length(type);
    if (type->kind != SPYI_TYPE_STRUCT) return count;
    double fields = 0;
    for (uint32_t i = 0; i < type->field_count; i++) fields += spyi_scalar_count(type->fields[i].type);
    return count * fields;
}

// A long dimension becomes two: two edges, and the items of an edge.
static spyi_box spyi_shown_box(const spyi_printer *p) {
    const spy_shape *shape = &p->tensor->shape, *strides = &p->tensor->strides;
    spyi_box box;
    memset(&box, 0, sizeof box);
    for (uint32_t d = 0; d < shape->rank; d++) {
        int64_t n = shape->dims[d];
        if (spyi_shown(p, n) < n) {
            box.dims[box.rank] = 2;
            box.strides[box.rank++] = (n - SPYI_PRINT_EDGE) * strides->dims[d];
            n = SPYI_PRINT_EDGE;
        }
        box.dims[box.rank] = n;
        box.strides[box.rank++] = strides->dims[d];
    }
    return box;
}

static spy_status spyi_print_tensor(spy_tensor *tensor, spyi_printer *p, spyi_text *error) {
    p->cut = (double)tensor->element_count * spyi_scalar_count(tensor->type) > SPYI_PRINT_THRESHOLD;
    spyi_text_add(&p->out, "%s ", tensor->type->display);
    spyi_shape_text(&tensor->shape, &p->out);
    spyi_text_add(&p->out, "\n");
    if (tensor->element_count == 0) {
        spyi_text_add(&p->out, "[]");
        return SPY_OK;
    }
    spyi_box box = spyi_shown_box(p);
    size_t size = spyi_type_host_stride(tensor->type);
    for (uint32_t d = 0; d < box.rank; d++) size *= (size_t)box.dims[d];
    char *data = (char *)malloc(size);
    p->columns = (spyi_column *)calloc(spyi_column_count(tensor->type), sizeof *p->columns);
    spy_status status = SPY_ERROR_OUT_OF_MEMORY;
    if (data && p->columns) status = spyi_tensor_download_box(tensor, &box, data, error);
    else spyi_text_add(error, "out of host memory");
    if (status == SPY_OK) {
        spyi_spot all = { 0, tensor->type, data, 0 };
        spyi_spot_scan(p, &all, false);
        spyi_columns_step(p, tensor->type, 0, false);
        spyi_spot_scan(p, &all, true);
        spyi_columns_step(p, tensor->type, 0, true);
        spyi_print_spot(p, &all, 0);
    }
    free(p->columns);
    free(data);
    return status;
}

size_t spy_tensor_print(spy_tensor *tensor, char *text, size_t capacity) {
    const char *function = "spy_tensor_print";
    if (text && capacity) text[0] = 0;
    if (spyi_enter(tensor, SPYI_KIND_TENSOR, function) != SPY_OK) return 0;
    spy_device *device = tensor->object.device;
    spyi_text error = { NULL, 0, 0 };
    spyi_printer p;
    memset(&p, 0, sizeof p);
    p.tensor = tensor;
    spy_status status = spyi_print_tensor(tensor, &p, &error);
    size_t size = status == SPY_OK ? p.out.size : 0;
    if (status != SPY_OK) spyi_fail_text(device, status, function, &error);
    if (text && capacity && size) {
        size_t n = size < capacity - 1 ? size : capacity - 1;
        memcpy(text, p.out.data, n);
        text[n] = 0;
    }
    spyi_text_free(&p.out);
    spyi_leave(device);
    return size;
}

// >>data/cursor.c -------------------------------------------------------------------------------------------

// Cursors: places in host memory by the names of fields, over a tensor's elements or the program's own values.

// A copy of a tensor's elements in C's layout.
typedef struct spyi_cursor_range {
    spyi_object object;
    spy_tensor *tensor; // retained
    int64_t first, count;
    char *data;
    bool *written;                             // by element: differs from the tensor
    struct spyi_cursor_range *previous, *next; // in device.cursor_ranges
} spyi_cursor_range;

// >>places

static spyi_context *spyi_cursor_context(const spy_cursor *c) {
    return c->device ? &c->device->ctx : NULL;
}

static const spyi_type *spyi_cursor_type(const spy_cursor *c) {
    return (const spyi_type *)c->type;
}

// A range is an array of elements that has no type of its own.
static bool spyi_cursor_is_range(const spy_cursor *c) {
    return c->index < 0;
}

static size_t spyi_cursor_size(const spy_cursor *c) {
    size_t one = spyi_type_host_stride(spyi_cursor_type(c));
    return spyi_cursor_is_range(c) ? one * (size_t)c->count : one;
}

static char *spyi_cursor_data(const spy_cursor *c) {
    size_t element = spyi_type_host_stride((const spyi_type *)c->element);
    return (char *)c->data + (spyi_cursor_is_range(c) ? 0 : (size_t)c->index * element) + c->offset;
}

// Whether it stands somewhere; reports if not.
static spy_status spyi_cursor_check(const spy_cursor *c, const char *function) {
    if (!c->type)
        return spyi_fail(spyi_cursor_context(c), SPY_ERROR_INVALID_ARGUMENT,
                         "%s: the cursor stands nowhere: the function that gave it failed", function);
    if (c->range && !spyi_as(c->range, SPYI_KIND_CURSOR))
        return spyi_fail(NULL, SPY_ERROR_RELEASED, "%s: the cursor has been released", function);
    return SPY_OK;
}

static spy_cursor spyi_cursor_nowhere(spy_device *device) {
    spy_cursor c;
    memset(&c, 0, sizeof c);
    c.device = device;
    return c;
}

// Parts that [i] counts; 0: none. *part: their type, in C's layout one behind the other.
static int64_t spyi_cursor_parts(const spyi_type *type, const spyi_type **part) {
    *part = type->element;
    if (!type->element) return 0;
    if (type->kind == SPYI_TYPE_ARRAY) return type->count;
    return type->kind == SPYI_TYPE_MATRIX ? (int64_t)type->rows : (int64_t)type->columns;
}

// The path from an element to `type` at `offset`: no two places of one type lie at one offset.
static bool spyi_path_text(const spyi_type *from, size_t offset, const spyi_type *type, size_t empty,
                           spyi_text *out) {
    const spyi_type *part;
    size_t size = out->size;
    if (from == type && offset == 0) return true;
    int64_t n = spyi_cursor_parts(from, &part);
    if (n > 0) {
        size_t step = spyi_type_host_stride(part), i = offset / step;
        if (from->kind == SPYI_TYPE_VECTOR)
            spyi_text_add(out, "%s%c", size == empty ? "" : ".", "xyzw"[i & 3]);
        else spyi_text_add(out, "[%zu]", i);
        return spyi_path_text(part, offset - i * step, type, empty, out);
    }
    for (uint32_t i = 0; i < from->field_count; i++) {
        const spyi_field *f = &from->fields[i];
        if (offset < f->host_offset || offset >= f->host_offset + f->type->host_size) continue;
        spyi_text_add(out, size == empty ? "%s" : ".%s", f->name);
        return spyi_path_text(f->type, offset - f->host_offset, type, empty, out);
    }
    return false;
}

// "[2].light.color", "light.color" in a range of one element, "the range" for all of it.
static void spyi_cursor_text(const spy_cursor *c, spyi_text *out) {
    if (spyi_cursor_is_range(c)) {
        spyi_text_add(out, "the %lld elements", (long long)c->count);
        return;
    }
    size_t empty = out->size;
    if (c->count > 1) spyi_text_add(out, "[%lld]", (long long)c->index);
    size_t before = out->size;
    spyi_path_text((const spyi_type *)c->element, c->offset, spyi_cursor_type(c), empty, out);
    if (before == empty && out->size == empty) spyi_text_add(out, "[%lld]", (long long)c->index);
}

// Reports `what` of a place under the function's name and frees it.
static spy_status spyi_cursor_fail(const spy_cursor *c, spy_status status, const char *function,
                                   spyi_text *what) {
    spyi_text path = { NULL, 0, 0 };
    spyi_cursor_text(c, &path);
    spyi_fail(spyi_cursor_context(c), status, "%s: %s: %s", function, spyi_text_str(&path),
              spyi_text_str(what));
    spyi_text_free(&path);
    spyi_text_free(what);
    return status;
}

// >>steps

static const char *spyi_place_name(const spy_cursor *c) {
    return spyi_cursor_type(c)->display;
}

// To part `index`; false: `what` and *status say why not.
static bool spyi_step_index(spy_cursor *c, int64_t index, spyi_text *what, spy_status *status) {
    const spyi_type *part = spyi_cursor_type(c);
    int64_t n = spyi_cursor_is_range(c) ? c->count : spyi_cursor_parts(spyi_cursor_type(c), &part);
    if (!part || (n == 0 && !spyi_cursor_is_range(c))) {
        *status = SPY_ERROR_TYPE_MISMATCH;
        spyi_text_add(what, "%s has no parts that [%lld] could count", spyi_place_name(c), (long long)index);
        return false;
    }
    if (index < 0 || index >= n) {
        *status = SPY_ERROR_OUT_OF_RANGE;
        spyi_text_add(what, "[%lld] is beyond its %lld parts", (long long)index, (long long)n);
        return false;
    }
    if (spyi_cursor_is_range(c)) c->index = index;
    else c->offset += (size_t)index * spyi_type_host_stride(part);
    c->type = part;
    return true;
}

static void spyi_near_fields(const spyi_type *type, const char *name, spyi_text *what) {
    unsigned nearest = (unsigned)strlen(name) / 2 + 1;
    const char *best = NULL;
    for (uint32_t i = 0; i < type->field_count; i++) {
        unsigned distance = spyi_edit_distance(name, type->fields[i].name);
        if (distance >= nearest) continue;
        nearest = distance;
        best = type->fields[i].name;
    }
    if (best) spyi_text_add(what, ", did you mean '%s'?", best);
    spyi_text_add(what, best ? " It has " : "; it has ");
    for (uint32_t i = 0; i < type->field_count; i++)
        spyi_text_add(what, i ? ", %s" : "%s", type->fields[i].name);
}

// To the field or component of that name.
static bool spyi_step_name(spy_cursor *c, const char *name, size_t size, spyi_text *what,
                           spy_status *status) {
    if (spyi_cursor_is_range(c)) {
        if (c->count != 1) {
            *status = SPY_ERROR_AMBIGUOUS;
            spyi_text_add(what, "'%.*s' of which one? Write [i] in front", (int)size, name);
            return false;
        }
        c->index = 0;
    }
    const spyi_type *type = spyi_cursor_type(c);
    if (type->kind == SPYI_TYPE_VECTOR && size == 1) {
        for (uint32_t i = 0; i < type->columns && i < 4; i++)
            if (*name == "xyzw"[i] || *name == "rgba"[i]) return spyi_step_index(c, i, what, status);
    }
    for (uint32_t i = 0; i < type->field_count; i++) {
        const spyi_field *f = &type->fields[i];
        if (strlen(f->name) != size || memcmp(f->name, name, size) != 0) continue;
        c->type = f->type;
        c->offset += f->host_offset;
        return true;
    }
    *status = SPY_ERROR_NOT_FOUND;
    spyi_text_add(what, "%s has no field '%.*s'", type->display, (int)size, name);
    spyi_text text = { NULL, 0, 0 };
    spyi_text_add_n(&text, name, size);
    if (type->kind == SPYI_TYPE_STRUCT) spyi_near_fields(type, spyi_text_str(&text), what);
    else if (type->kind == SPYI_TYPE_VECTOR)
        spyi_text_add(what, "; it has x to %c", "xyzw"[(type->columns - 1) & 3]);
    spyi_text_free(&text);
    return false;
}

// One step of a path: "[3]" or "name", with the dot before it. Gives what follows; NULL: it failed.
static const char *spyi_path_step(spy_cursor *c, const char *at, bool first, spyi_text *what,
                                  spy_status *status) {
    *status = SPY_ERROR_INVALID_ARGUMENT;
    if (*at == '[') {
        int64_t index = 0;
        const char *digit = ++at;
        for (; *at >= '0' && *at <= '9' && index < INT64_MAX / 16; at++) index = index * 10 + (*at - '0');
        if (at == digit || *at != ']') {
            spyi_text_add(what, "expected a number and ']' at '[%s'", digit);
            return NULL;
        }
        return spyi_step_index(c, index, what, status) ? at + 1 : NULL;
    }
    if (*at == '.') at++;
    else if (!first) {
        spyi_text_add(what, "expected '.' or '[' at '%s'", at);
        return NULL;
    }
    size_t size = strcspn(at, ".[]");
    if (size == 0) {
        spyi_text_add(what, "expected a field's name at '%s'", at);
        return NULL;
    }
    return spyi_step_name(c, at, size, what, status) ? at + size : NULL;
}

spy_cursor spy_cursor_field(spy_cursor cursor, const char *path) {
    const char *function = "spy_cursor_field";
    spy_cursor place = cursor;
    if (spyi_cursor_check(&cursor, function) != SPY_OK) return spyi_cursor_nowhere(cursor.device);
    spyi_text what = { NULL, 0, 0 };
    spy_status status = SPY_ERROR_INVALID_ARGUMENT;
    const char *at = path;
    if (!path || !*path) {
        spyi_text_add(&what, "expected a path such as \"light.color\", got %s", path ? "\"\"" : "NULL");
        at = NULL;
    }
    while (at && *at) at = spyi_path_step(&place, at, at == path, &what, &status);
    if (at) return place;
    if (path && *path) spyi_text_add(&what, " (path \"%s\")", path);
    spyi_cursor_fail(&place, status, function, &what);
    return spyi_cursor_nowhere(cursor.device);
}

spy_cursor spy_cursor_at(spy_cursor cursor, int64_t index) {
    const char *function = "spy_cursor_at";
    spy_cursor place = cursor;
    spyi_text what = { NULL, 0, 0 };
    spy_status status = SPY_OK;
    if (spyi_cursor_check(&cursor, function) != SPY_OK) return spyi_cursor_nowhere(cursor.device);
    if (spyi_step_index(&place, index, &what, &status)) return place;
    spyi_cursor_fail(&cursor, status, function, &what);
    return spyi_cursor_nowhere(cursor.device);
}

// >>scalars of a place, in the order of declaration

static size_t spyi_cursor_scalar_count(const spyi_type *type) {
    const spyi_type *part;
    int64_t n = spyi_cursor_parts(type, &part);
    size_t count = 0;
    if (n > 0) return (size_t)n * spyi_cursor_scalar_count(part);
    if (type->kind != SPYI_TYPE_STRUCT) return 1;
    for (uint32_t i = 0; i < type->field_count; i++) count += spyi_cursor_scalar_count(type->fields[i].type);
    return count;
}

typedef struct spyi_cursor_work {
    bool write;      // values to the place; else the other way
    bool check;      // only whether they fit
    spy_dtype dtype; // of values
    char *values;
    size_t done;      // scalars
    const char *stop; // the one that does not fit, and the type it does not fit into
    spy_dtype stop_from, stop_to;
} spyi_cursor_work;

static bool spyi_cursor_scalars(spyi_cursor_work *w, const spyi_type *type, char *at) {
    const spyi_type *part;
    int64_t n = spyi_cursor_parts(type, &part);
    for (int64_t i = 0; i < n; i++)
        if (!spyi_cursor_scalars(w, part, at + (size_t)i * spyi_type_host_stride(part))) return false;
    for (uint32_t i = 0; i < type->field_count; i++)
        if (!spyi_cursor_scalars(w, type->fields[i].type, at + type->fields[i].host_offset)) return false;
    if (n > 0 || type->kind == SPYI_TYPE_STRUCT) return true;
    char scratch[8], *value = w->values + w->done * spyi_scalar_size(w->dtype);
    char *from = w->write ? value : at, *to = w->check ? scratch : w->write ? at : value;
    spy_dtype from_type = w->write ? w->dtype : type->scalar, to_type = w->write ? type->scalar : w->dtype;
    if (!spyi_convert_scalars(to, to_type, from, from_type, 1)) {
        w->stop = from;
        w->stop_from = from_type;
        w->stop_to = to_type;
        return false;
    }
    w->done++;
    return true;
}

// Walks all scalars of a place.
static bool spyi_cursor_walk(const spy_cursor *c, spyi_cursor_work *w) {
    const spyi_type *type = spyi_cursor_type(c);
    char *at = spyi_cursor_data(c);
    int64_t n = spyi_cursor_is_range(c) ? c->count : 1;
    w->done = 0;
    for (int64_t i = 0; i < n; i++)
        if (!spyi_cursor_scalars(w, type, at + (size_t)i * spyi_type_host_stride(type))) return false;
    return true;
}

static void spyi_cursor_written(const spy_cursor *c) {
    if (!c->range) return;
    int64_t first = spyi_cursor_is_range(c) ? 0 : c->index, n = spyi_cursor_is_range(c) ? c->count : 1;
    for (int64_t i = 0; i < n; i++) c->range->written[first + i] = true;
}

// dtype, count and pointer of a read or write.
static spy_status spyi_cursor_check_values(const spy_cursor *c, const char *function, spy_dtype *dtype,
                                           size_t count, const void *values) {
    size_t expected =
        spyi_cursor_scalar_count(spyi_cursor_type(c)) * (spyi_cursor_is_range(c) ? (size_t)c->count : 1);
    spyi_text what = { NULL, 0, 0 };
    spy_status status = SPY_ERROR_INVALID_ARGUMENT;
    if (*dtype == SPY_DTYPE_DEFAULT) *dtype = SPY_FLOAT32;
    if ((int)*dtype < 0 || *dtype >= SPY_DTYPE_COUNT) {
        spyi_text_add(&what, "dtype %d is not one of spy_dtype", (int)*dtype);
    } else if (count != expected) {
        status = SPY_ERROR_SHAPE_MISMATCH;
        spyi_text_add(&what, "%s has %zu scalars there, count is %zu", spyi_place_name(c), expected, count);
    } else if (!values && count) {
        spyi_text_add(&what, "values is NULL");
    }
    return what.size ? spyi_cursor_fail(c, status, function, &what) : SPY_OK;
}

static spy_status spyi_cursor_convert(const spy_cursor *c, const char *function, spy_dtype dtype,
                                      size_t count, void *values, bool write) {
    spy_status status = spyi_cursor_check(c, function);
    if (status == SPY_OK) status = spyi_cursor_check_values(c, function, &dtype, count, values);
    if (status != SPY_OK) return status;
    spyi_cursor_work w;
    memset(&w, 0, sizeof w);
    w.write = write;
    w.check = true; // nothing is changed before all are known to fit
    w.dtype = dtype;
    w.values = (char *)values;
    if (!spyi_cursor_walk(c, &w)) {
        spyi_text what = { NULL, 0, 0 };
        spyi_scalar_text(w.stop, w.stop_from, &what);
        spyi_text_add(&what, " (value %zu of %zu) does not fit into %s", w.done, count,
                      spy_dtype_name(w.stop_to));
        return spyi_cursor_fail(c, SPY_ERROR_OUT_OF_RANGE, function, &what);
    }
    w.check = false;
    spyi_cursor_walk(c, &w);
    if (write) spyi_cursor_written(c);
    return SPY_OK;
}

spy_status spy_cursor_write(spy_cursor cursor, spy_dtype dtype, size_t count, const void *values) {
    return spyi_cursor_convert(&cursor, "spy_cursor_write", dtype, count, (void *)(uintptr_t)values, true);
}

spy_status spy_cursor_read(spy_cursor cursor, spy_dtype dtype, size_t count, void *values) {
    return spyi_cursor_convert(&cursor, "spy_cursor_read", dtype, count, values, false);
}

// >>bytes of a place

static spy_status spyi_cursor_check_data(const spy_cursor *c, const char *function, const void *data,
                                         size_t size_bytes) {
    spy_status status = spyi_cursor_check(c, function);
    if (status != SPY_OK) return status;
    spyi_text what = { NULL, 0, 0 };
    if (size_bytes == spyi_cursor_size(c) && (data || !size_bytes)) return SPY_OK;
    if (size_bytes == spyi_cursor_size(c)) {
        spyi_text_add(&what, "data is NULL");
        return spyi_cursor_fail(c, SPY_ERROR_INVALID_ARGUMENT, function, &what);
    }
    spyi_text_add(&what, "%s has %zu bytes in C's layout there, size_bytes is %zu", spyi_place_name(c),
                  spyi_cursor_size(c), size_bytes);
    return spyi_cursor_fail(c, SPY_ERROR_SHAPE_MISMATCH, function, &what);
}

spy_status spy_cursor_read_data(spy_cursor cursor, void *data, size_t size_bytes) {
    spy_status status = spyi_cursor_check_data(&cursor, "spy_cursor_read_data", data, size_bytes);
    if (status == SPY_OK && size_bytes) memcpy(data, spyi_cursor_data(&cursor), size_bytes);
    return status;
}

spy_status spy_cursor_write_data(spy_cursor cursor, const void *data, size_t size_bytes) {
    spy_status status = spyi_cursor_check_data(&cursor, "spy_cursor_write_data", data, size_bytes);
    if (status != SPY_OK || !size_bytes) return status;
    memcpy(spyi_cursor_data(&cursor), data, size_bytes);
    spyi_cursor_written(&cursor);
    return SPY_OK;
}

// >>ranges

SPYI_FN void spyi_cursor_range_free(spyi_cursor_range *range) {
    spy_device *device = range->object.device;
    if (range->previous) range->previous->next = range->next;
    else device->cursor_ranges = range->next;
    if (range->next) range->next->previous = range->previous;
    free(range->data);
    free(range->written);
    spyi_object_release(&range->tensor->object);
    spyi_bury(device, &range->object, sizeof *range);
}

// An empty range, linked to its device and tensor; NULL: out of memory.
static spyi_cursor_range *spyi_cursor_range_new(spy_tensor *tensor, int64_t first, int64_t count) {
    spy_device *device = tensor->object.device;
    spyi_cursor_range *range = (spyi_cursor_range *)spyi_allocate(&device->ctx, sizeof *range);
    size_t size = spyi_type_host_stride(tensor->type);
    bool some = (uint64_t)count < SIZE_MAX / 2 / size; // a view may repeat elements beyond all memory
    char *data = some ? (char *)calloc((size_t)count + 1, size) : NULL;
    bool *written = some ? (bool *)calloc((size_t)count + 1, sizeof *written) : NULL;
    if (!range || !data || !written) {
        free(data);
        free(written);
        spyi_free(&device->ctx, range, sizeof *range);
        return NULL;
    }
    range->object.kind = (uint32_t)SPYI_KIND_CURSOR;
    range->object.device = device;
    spyi_atomic_store(&range->object.references, 1);
    spyi_atomic_add(&tensor->object.references, 1);
    range->tensor = tensor;
    range->first = first;
    range->count = count;
    range->data = data;
    range->written = written;
    range->next = device->cursor_ranges;
    if (range->next) range->next->previous = range;
    device->cursor_ranges = range;
    return range;
}

static spy_cursor spyi_cursor_whole(spy_device *device, const spyi_type *type, void *data, int64_t count) {
    spy_cursor c = spyi_cursor_nowhere(device);
    c.element = c.type = type;
    c.data = data;
    c.count = count;
    c.index = -1;
    return c;
}

spy_cursor spy_create_cursor(spy_tensor *tensor, int64_t first, int64_t count) {
    const char *function = "spy_create_cursor";
    if (spyi_enter(tensor, SPYI_KIND_TENSOR, function) != SPY_OK) return spyi_cursor_nowhere(NULL);
    spy_device *device = tensor->object.device;
    spy_cursor cursor = spyi_cursor_nowhere(device);
    spyi_text error = { NULL, 0, 0 };
    spyi_cursor_range *range = NULL;
    if (spyi_check_elements(tensor, function, first, count) == SPY_OK) {
        range = spyi_cursor_range_new(tensor, first, count);
        if (!range) spyi_fail(&device->ctx, SPY_ERROR_OUT_OF_MEMORY, "%s: out of host memory", function);
    }
    if (range) {
        spy_status status = spyi_tensor_move(tensor, first, count, range->data, false, &error);
        if (status == SPY_OK) {
            cursor = spyi_cursor_whole(device, tensor->type, range->data, count);
            cursor.range = range;
        } else {
            spyi_fail_text(device, status, function, &error);
            spyi_cursor_range_free(range);
        }
    }
    spyi_leave(device);
    return cursor;
}

spy_cursor spy_cursor_over(spy_module *module, const char *type_name, void *data, size_t size_bytes) {
    const char *function = "spy_cursor_over";
    if (spyi_enter(module, SPYI_KIND_MODULE, function) != SPY_OK) return spyi_cursor_nowhere(NULL);
    spy_device *device = module->object.device;
    spy_cursor cursor = spyi_cursor_nowhere(device);
    const spyi_type *type =
        spyi_element_type(device, module, SPY_DTYPE_DEFAULT, type_name ? type_name : "", function);
    if (type && size_bytes % spyi_type_host_stride(type))
        spyi_fail(&device->ctx, SPY_ERROR_SHAPE_MISMATCH,
                  "%s: one %s has %zu bytes in C's layout, size_bytes is %zu", function, type->display,
                  spyi_type_host_stride(type), size_bytes);
    else if (type && !data) spyi_fail(&device->ctx, SPY_ERROR_INVALID_ARGUMENT, "%s: data is NULL", function);
    else if (type)
        cursor = spyi_cursor_whole(device, type, data, (int64_t)(size_bytes / spyi_type_host_stride(type)));
    spyi_leave(device);
    return cursor;
}

spy_status spy_cursor_apply(spy_cursor cursor) {
    const char *function = "spy_cursor_apply";
    spyi_cursor_range *range = cursor.range;
    spy_status entered = spyi_cursor_check(&cursor, function);
    if (entered != SPY_OK || !range) return entered;
    entered = spyi_enter(range, SPYI_KIND_CURSOR, function);
    if (entered != SPY_OK) return entered;
    spyi_text error = { NULL, 0, 0 };
    spy_status status = SPY_OK;
    size_t element = spyi_type_host_stride((const spyi_type *)cursor.element);
    for (int64_t i = 0, end; i < range->count && status == SPY_OK; i = end) {
        end = i + 1;
        if (!range->written[i]) continue;
        while (end < range->count && range->written[end]) end++;
        status = spyi_tensor_move(range->tensor, range->first + i, end - i, range->data + (size_t)i * element,
                                  true, &error);
        if (status == SPY_OK) memset(range->written + i, 0, (size_t)(end - i) * sizeof *range->written);
    }
    if (status != SPY_OK) spyi_fail_text(range->object.device, status, function, &error);
    spyi_leave(range);
    return status;
}

void spy_release_cursor(spy_cursor cursor) {
    if (!cursor.range) return;
    if (spyi_as(cursor.range, SPYI_KIND_CURSOR)) spyi_object_release(&cursor.range->object);
    else spyi_fail(NULL, SPY_ERROR_RELEASED, "spy_release_cursor: the cursor has been released already");
}

// The dtype of all scalars; SPY_DTYPE_DEFAULT: they differ.
static spy_dtype spyi_common_dtype(const spyi_type *type) {
    spy_dtype dtype = SPY_DTYPE_DEFAULT;
    while (type->element) type = type->element;
    if (type->kind != SPYI_TYPE_STRUCT) return type->scalar;
    for (uint32_t i = 0; i < type->field_count; i++) {
        spy_dtype one = spyi_common_dtype(type->fields[i].type);
        if (one == SPY_DTYPE_DEFAULT || (i && one != dtype)) return SPY_DTYPE_DEFAULT;
        dtype = one;
    }
    return dtype;
}

spy_cursor_info spy_get_cursor_info(spy_cursor cursor) {
    spy_cursor_info info;
    const spyi_type *part, *type = spyi_cursor_type(&cursor);
    memset(&info, 0, sizeof info);
    if (!type || (cursor.range && !spyi_as(cursor.range, SPYI_KIND_CURSOR))) return info;
    info.type = spyi_type_user_name(type);
    info.dtype = spyi_common_dtype(type);
    info.length = spyi_cursor_is_range(&cursor) ? cursor.count : spyi_cursor_parts(type, &part);
    info.scalar_count =
        spyi_cursor_scalar_count(type) * (spyi_cursor_is_range(&cursor) ? (size_t)cursor.count : 1);
    info.size_bytes = spyi_cursor_size(&cursor);
    return info;
}

// >>data/clock.c --------------------------------------------------------------------------------------------

// The GPU's clock: its ticks as nanoseconds, and how it stands to the host's.

// The period's whole part exactly, so that large times keep their digits.
SPYI_FN uint64_t spyi_ticks_to_ns(uint64_t ticks, double period_ns) {
    uint64_t whole = (uint64_t)period_ns;
    return ticks * whole + (uint64_t)((double)ticks * (period_ns - (double)whole));
}

// The GPU notes its time between two looks at the host's clock, and nothing else is under way meanwhile.
static spy_status spyi_calibrate(spy_device *device, const spy_tensor *ticks, uint64_t *host_ns,
                                 spyi_text *error) {
    const spy_backend *table = device->backend;
    spyi_use use;
    memset(&use, 0, sizeof use);
    use.storage = ticks->storage;
    use.begin = ticks->begin_bytes;
    use.end = ticks->end_bytes;
    use.writes = true;
    spy_status status = table->wait(device->gpu, table->open_submit(device->gpu), UINT64_MAX, error);
    if (status != SPY_OK) return status;
    uint64_t before = spyi_time_ns();
    status = table->time_mark(device->gpu, 0, error);
    if (status != SPY_OK) return status;
    bool barrier = spyi_take_uses(device, &use, 1, false);
    status = table->time_store(device->gpu, &use.storage->chunk, use.storage->offset + use.begin, 1, barrier,
                               error);
    spyi_uses_done(device, barrier, false, status);
    if (status == SPY_OK)
        status = table->wait(device->gpu, table->open_submit(device->gpu), UINT64_MAX, error);
    *host_ns = before + (spyi_time_ns() - before) / 2;
    return status;
}

static spy_status spyi_get_calibration(spy_device *device, spy_calibration *calibration, spyi_text *error) {
    const spy_device_info *info = &device->base->limits.info;
    spy_status status;
    spy_shape one;
    uint64_t ticks = 0;
    if (!(info->features & SPY_FEATURE_TIMESTAMPS)) {
        spyi_text_add(error, "'%s' has no timestamps", info->name);
        return SPY_ERROR_UNSUPPORTED;
    }
    memset(&one, 0, sizeof one);
    spy_tensor *tensor =
        spyi_tensor_make(device, device->scalars[SPY_UINT64], &one, "calibration", error, &status);
    if (!tensor) return status;
    status = spyi_calibrate(device, tensor, &calibration->host_ns, error);
    if (status == SPY_OK) status = spyi_tensor_download(tensor, &ticks, error);
    calibration->gpu_ns = spyi_ticks_to_ns(ticks, info->timestamp_period_ns);
    spyi_tensor_unlink(tensor);
    spyi_tensor_free(tensor);
    return status;
}

spy_status spy_get_calibration(spy_device *device, spy_calibration *calibration) {
    const char *function = "spy_get_calibration";
    spy_status status = spyi_enter(device, SPYI_KIND_DEVICE, function);
    if (calibration) memset(calibration, 0, sizeof *calibration);
    if (status != SPY_OK) return status;
    spyi_text error = { NULL, 0, 0 };
    spy_calibration got = { 0, 0 };
    status = spyi_get_calibration(device, &got, &error);
    if (status == SPY_OK && calibration) *calibration = got;
    if (status != SPY_OK) spyi_fail_text(device, status, function, &error);
    spyi_leave(device);
    return status;
}

// >>data/module.c -------------------------------------------------------------------------------------------

// Modules and functions: what a user loads and finds by name.

SPYI_FN void spyi_module_free(spy_module *module) {
    spy_device *device = module->object.device;
    spyi_context *ctx = &device->ctx;
    if (module->previous) module->previous->next = module->next;
    else device->modules = module->next;
    if (module->next) module->next->previous = module->previous;
    while (module->functions) {
        spy_function *function = module->functions;
        module->functions = function->next;
        if (device->cache) spyi_cache_forget_function(device, function);
        spyi_overloads_free(&function->overloads);
        free(function->name);
        spyi_bury(device, &function->object, sizeof *function);
    }
    spyi_reflection_free(module->reflection);
    if (module->unit) spyi_unit_release(module->unit);
    for (size_t i = 0; i < module->link_count; i++) spyi_module_drop(module->link[i]);
    spyi_free(ctx, module->link, module->link_count * sizeof *module->link);
    free(module->name);
    spyi_bury(device, &module->object, sizeof *module);
}

SPYI_FN void spyi_module_drop(spy_module *module) {
    if (spyi_atomic_add(&module->object.references, -1) == 0) spyi_module_free(module);
}

static spy_status spyi_check_module_desc(spy_device *device, const char *function,
                                         const spy_module_desc *desc) {
    spyi_context *ctx = &device->ctx;
    if (!desc) return spyi_fail(ctx, SPY_ERROR_INVALID_ARGUMENT, "%s: expected a desc, got NULL", function);
    if (!desc->path && !desc->source && !desc->precompiled)
        return spyi_fail(ctx, SPY_ERROR_INVALID_ARGUMENT,
                         "%s: desc has neither path nor source nor precompiled", function);
    if (desc->precompiled && (desc->source || !desc->precompiled_size_bytes))
        return spyi_fail(ctx, SPY_ERROR_INVALID_ARGUMENT, "%s: desc.precompiled %s", function,
                         desc->source ? "and desc.source are both given" : "has precompiled_size_bytes 0");
    if (desc->conformance_count && !desc->conformances)
        return spyi_fail(ctx, SPY_ERROR_INVALID_ARGUMENT,
                         "%s: desc.conformance_count is %zu, conformances is NULL", function,
                         desc->conformance_count);
    for (size_t i = 0; i < desc->conformance_count; i++)
        if (!desc->conformances[i] || !strchr(desc->conformances[i], ':'))
            return spyi_fail(ctx, SPY_ERROR_INVALID_ARGUMENT,
                             "%s: desc.conformances[%zu] must be written as \"Type : IInterface\"", function,
                             i);
    if ((desc->include_path_count && !desc->include_paths) || (desc->define_count && !desc->defines))
        return spyi_fail(ctx, SPY_ERROR_INVALID_ARGUMENT,
                         "%s: desc counts %zu include paths and %zu defines; a list is NULL", function,
                         desc->include_path_count, desc->define_count);
    for (size_t i = 0; i < desc->link_count; i++) {
        const spyi_object *linked = desc->link ? spyi_as(desc->link[i], SPYI_KIND_MODULE) : NULL;
        if (!linked || linked->device != device)
            return spyi_fail(ctx, SPY_ERROR_INVALID_ARGUMENT,
                             "%s: desc.link[%zu] is not a living module of this device", function, i);
    }
    return SPY_OK;
}

spy_module *spy_load_module(spy_device *device, const spy_module_desc *desc) {
    const char *function = "spy_load_module";
    if (spyi_enter(device, SPYI_KIND_DEVICE, function) != SPY_OK) return NULL;
    spyi_context *ctx = &device->ctx;
    spy_module *module = NULL;
    spyi_unit **link = NULL;
    spyi_text error = { NULL, 0, 0 };
    spy_status status = spyi_check_module_desc(device, function, desc);
    if (status == SPY_OK) {
        size_t n = desc->link_count;
        module = (spy_module *)spyi_allocate(ctx, sizeof *module);
        if (module && n) module->link = (spy_module **)spyi_allocate(ctx, n * sizeof *module->link);
        link = (spyi_unit **)malloc((n + 1) * sizeof *link);
        if (!module || (n && !module->link) || !link) {
            spyi_free(ctx, module, sizeof *module);
            module = NULL;
            status = spyi_fail(ctx, SPY_ERROR_OUT_OF_MEMORY, "%s: out of host memory", function);
        }
    }
    if (status == SPY_OK) {
        for (size_t i = 0; i < desc->link_count; i++) {
            module->link[i] = desc->link[i];
            link[i] = desc->link[i]->unit;
            spyi_atomic_add(&desc->link[i]->object.references, 1);
        }
        module->link_count = desc->link_count;
        module->object.kind = (uint32_t)SPYI_KIND_MODULE;
        module->object.device = device;
        spyi_atomic_store(&module->object.references, 1);
        module->strict_broadcasting = desc->strict_broadcasting;
        module->next = device->modules;
        if (module->next) module->next->previous = module;
        device->modules = module;
        spyi_unit_desc unit;
        memset(&unit, 0, sizeof unit);
        unit.path = desc->path;
        unit.source = desc->source;
        unit.source_size = desc->source_size_bytes;
        unit.precompiled = desc->precompiled;
        unit.precompiled_size = desc->precompiled_size_bytes;
        unit.name = desc->name;
        unit.include_paths = desc->include_paths;
        unit.include_path_count = desc->include_path_count;
        unit.defines = desc->defines;
        unit.define_count = desc->define_count;
        unit.link = link;
        unit.link_count = desc->link_count;
        unit.conformances = desc->conformances;
        unit.conformance_count = desc->conformance_count;
        unit.options = desc->options;
        status = spyi_unit_load(device->compiler, &unit, &module->unit, &error);
        if (status == SPY_OK) {
            module->name = spyi_strdup(spyi_unit_name(module->unit));
        } else {
            spyi_fail(ctx, status, "%s: %s", function, spyi_text_str(&error));
            spyi_module_free(module);
            module = NULL;
        }
    }
    spyi_text_free(&error);
    free(link);
    spyi_leave(device);
    return module;
}

void spy_retain_module(spy_module *module) {
    spyi_object_retain(module, SPYI_KIND_MODULE, "spy_retain_module");
}

void spy_release_module(spy_module *module) {
    if (!module) return;
    if (spyi_as(module, SPYI_KIND_MODULE)) spyi_object_release(&module->object);
    else spyi_fail(NULL, SPY_ERROR_RELEASED, "spy_release_module: the module has been released already");
}

spy_status spy_save_module(spy_module *module, const char *path) {
    const char *function = "spy_save_module";
    spy_status status = spyi_enter(module, SPYI_KIND_MODULE, function);
    if (status != SPY_OK) return status;
    spy_device *device = module->object.device;
    spyi_text bytes = { NULL, 0, 0 };
    if (!path || !path[0])
        status = spyi_fail(&device->ctx, SPY_ERROR_INVALID_ARGUMENT, "%s: expected a path, got %s", function,
                           path ? "\"\"" : "NULL");
    else if (!spyi_unit_serialize(module->unit, &bytes))
        status = spyi_fail(&device->ctx, SPY_ERROR_INTERNAL,
                           "%s: the Slang compiler cannot serialize module '%s'", function, module->name);
    else if (!spyi_file_write(path, bytes.data, bytes.size))
        status = spyi_fail(&device->ctx, SPY_ERROR_IO, "%s: %s: the file cannot be written", function, path);
    spyi_text_free(&bytes);
    spyi_leave(device);
    return status;
}

size_t spy_serialize_module(spy_module *module, void *data, size_t capacity_bytes) {
    const char *function = "spy_serialize_module";
    if (spyi_enter(module, SPYI_KIND_MODULE, function) != SPY_OK) return 0;
    spy_device *device = module->object.device;
    spyi_text bytes = { NULL, 0, 0 };
    size_t size = 0;
    if (!data && capacity_bytes) {
        spyi_fail(&device->ctx, SPY_ERROR_INVALID_ARGUMENT, "%s: data is NULL, capacity_bytes is %zu",
                  function, capacity_bytes);
    } else if (!spyi_unit_serialize(module->unit, &bytes)) {
        spyi_fail(&device->ctx, SPY_ERROR_INTERNAL, "%s: the Slang compiler cannot serialize module '%s'",
                  function, module->name);
    } else {
        size = bytes.size;
        if (size <= capacity_bytes) memcpy(data, bytes.data, size);
    }
    spyi_text_free(&bytes);
    spyi_leave(device);
    return size;
}

spy_function *spy_find_function(spy_module *module, const char *name) {
    const char *function = "spy_find_function";
    if (spyi_enter(module, SPYI_KIND_MODULE, function) != SPY_OK) return NULL;
    spy_device *device = module->object.device;
    spyi_context *ctx = &device->ctx;
    spy_function *found = NULL;
    if (!name || !name[0]) {
        spyi_fail(ctx, SPY_ERROR_INVALID_ARGUMENT, "%s: expected a function name, got %s", function,
                  name ? "\"\"" : "NULL");
    } else {
        for (found = module->functions; found; found = found->next)
            if (strcmp(found->name, name) == 0) break;
    }
    if (found && found->overloads.count == 0) {
        spyi_fail(ctx, SPY_ERROR_NOT_FOUND, "%s: module '%s' was reloaded and has no function '%s' any more",
                  function, module->name, name);
        found = NULL;
    } else if (!found && name && name[0]) {
        spyi_text error = { NULL, 0, 0 };
        spyi_overloads overloads = { NULL, 0 };
        spy_status status = spyi_unit_find_function(module->unit, name, &overloads, &error);
        if (status != SPY_OK) {
            spyi_fail(ctx, status, "%s: '%s' in module '%s': %s", function, name, module->name,
                      spyi_text_str(&error));
        } else if (overloads.count == 0) {
            bool explained = error.size != 0;
            spyi_overloads_free(&overloads);
            if (!explained) spyi_unit_near_names(module->unit, name, &error);
            spyi_fail(ctx, SPY_ERROR_NOT_FOUND, "%s: module '%s' has no function '%s'%s%s", function,
                      module->name, name, explained ? ": " : "", spyi_text_str(&error));
        } else {
            found = (spy_function *)spyi_allocate(ctx, sizeof *found);
            if (!found) {
                spyi_fail(ctx, SPY_ERROR_OUT_OF_MEMORY, "%s: out of host memory", function);
                spyi_overloads_free(&overloads);
            } else {
                found->object.kind = (uint32_t)SPYI_KIND_FUNCTION;
                found->object.device = device;
                found->module = module;
                found->name = spyi_strdup(name);
                found->id = ++device->next_function_id;
                found->overloads = overloads;
                found->next = module->functions;
                module->functions = found;
            }
        }
        spyi_text_free(&error);
    }
    spyi_leave(device);
    return found;
}

const char *spy_function_name(const spy_function *function) {
    return spyi_as(function, SPYI_KIND_FUNCTION) ? function->name : "";
}

spy_module *spy_function_module(const spy_function *function) {
    return spyi_as(function, SPYI_KIND_FUNCTION) ? function->module : NULL;
}

bool spy_has_type(spy_module *module, const char *name) {
    if (spyi_enter(module, SPYI_KIND_MODULE, "spy_has_type") != SPY_OK) return false;
    bool has = name && spyi_unit_find_type(module->unit, name) != NULL;
    spyi_leave(module);
    return has;
}

size_t spy_type_size_bytes(spy_module *module, const char *name) {
    const char *function = "spy_type_size_bytes";
    if (spyi_enter(module, SPYI_KIND_MODULE, function) != SPY_OK) return 0;
    spy_device *device = module->object.device;
    const spyi_type *type = spyi_element_type(device, module, SPY_DTYPE_DEFAULT, name ? name : "", function);
    spyi_leave(device);
    return type ? type->host_size : 0;
}

// >>data/reflect.c ------------------------------------------------------------------------------------------

// Reflection as users see it: a module's tree, built when first asked for, and look-ups in it.

struct spyi_reflection {
    spyi_declarations *declarations;
    uint32_t unit;          // serial of the unit that was declared
    spyi_reflection *older; // of units before a reload: handed out, so kept
};

void spyi_reflection_free(spyi_reflection *reflection) {
    while (reflection) {
        spyi_reflection *older = reflection->older;
        spyi_declarations_free(reflection->declarations);
        free(reflection);
        reflection = older;
    }
}

// The tree of the module's unit of today. NULL: the error has been reported. Inside the device.
static spyi_declarations *spyi_reflected(spy_module *module, const char *function) {
    spyi_reflection *now = module->reflection;
    if (now && now->unit == spyi_unit_serial(module->unit)) return now->declarations;
    now = (spyi_reflection *)calloc(1, sizeof *now);
    if (now) now->declarations = spyi_unit_declare(module->unit);
    if (!now || !now->declarations) {
        free(now);
        spyi_fail(&module->object.device->ctx, SPY_ERROR_OUT_OF_MEMORY, "%s: out of host memory", function);
        return NULL;
    }
    now->unit = spyi_unit_serial(module->unit);
    now->older = module->reflection;
    module->reflection = now;
    return now->declarations;
}

const spy_decl *spy_reflect_module(spy_module *module) {
    const char *function = "spy_reflect_module";
    if (spyi_enter(module, SPYI_KIND_MODULE, function) != SPY_OK) return NULL;
    spyi_declarations *declarations = spyi_reflected(module, function);
    spyi_leave(module);
    return declarations ? spyi_declarations_root(declarations) : NULL;
}

// >>declarations by path

// "a::b.c" and "a.b::c" are one path.
static bool spyi_same_path(const char *a, const char *b) {
    while (*a && *b) {
        bool step = *a == '.' || *a == ':';
        if (step != (*b == '.' || *b == ':') || (!step && *a != *b)) return false;
        a += step && a[0] == ':' && a[1] == ':' ? 2 : 1;
        b += step && b[0] == ':' && b[1] == ':' ? 2 : 1;
    }
    return *a == *b;
}

static const spy_decl *spyi_decl_at(const spy_decl *node, const char *path) {
    const spy_decl *found = NULL;
    for (uint32_t i = 0; i < node->child_count && !found; i++) // the outer ones first
        if (spyi_same_path(node->children[i].path, path)) found = &node->children[i];
    for (uint32_t i = 0; i < node->child_count && !found; i++) found = spyi_decl_at(&node->children[i], path);
    return found;
}

static bool spyi_names_type(const spy_decl *node) {
    return node->kind == SPY_DECL_STRUCT || node->kind == SPY_DECL_ENUM || node->kind == SPY_DECL_INTERFACE ||
           node->kind == SPY_DECL_ALIAS;
}

static void spyi_offer_paths(const spy_decl *node, bool types_only, spyi_near *near_names) {
    for (uint32_t i = 0; i < node->child_count; i++) {
        const spy_decl *child = &node->children[i];
        if (!types_only || spyi_names_type(child)) spyi_near_offer(near_names, child->path);
        spyi_offer_paths(child, types_only, near_names);
    }
}

static void spyi_near_paths(const spyi_declarations *declarations, const char *path, bool types_only,
                            spyi_text *out) {
    spyi_near near_names;
    memset(&near_names, 0, sizeof near_names);
    near_names.wanted = path;
    if (strlen(path) > 200) return;
    spyi_offer_paths(spyi_declarations_root(declarations), types_only, &near_names);
    spyi_near_text(&near_names, out);
}

const spy_decl *spy_find_decl(spy_module *module, const char *path) {
    const char *function = "spy_find_decl";
    if (spyi_enter(module, SPYI_KIND_MODULE, function) != SPY_OK) return NULL;
    spyi_context *ctx = &module->object.device->ctx;
    const spy_decl *found = NULL;
    spyi_declarations *declarations = NULL;
    if (!path || !path[0])
        spyi_fail(ctx, SPY_ERROR_INVALID_ARGUMENT, "%s: expected a path, got %s", function,
                  path ? "\"\"" : "NULL");
    else declarations = spyi_reflected(module, function);
    if (declarations) {
        found = spyi_decl_at(spyi_declarations_root(declarations), path);
        if (!found) {
            spyi_text near_names = { NULL, 0, 0 };
            spyi_near_paths(declarations, path, false, &near_names);
            spyi_fail(ctx, SPY_ERROR_NOT_FOUND, "%s: module '%s' declares no '%s'%s", function, module->name,
                      path, spyi_text_str(&near_names));
            spyi_text_free(&near_names);
        }
    }
    spyi_leave(module);
    return found;
}

const spy_decl *spy_next_overload(const spy_decl *decl) {
    if (!decl || !decl->parent) return NULL;
    const spy_decl *end = decl->parent->children + decl->parent->child_count;
    for (const spy_decl *next = decl + 1; next < end; next++)
        if (next->kind == decl->kind && strcmp(next->name, decl->name) == 0) return next;
    return NULL;
}

const spy_attribute *spy_find_attribute(const spy_decl *decl, const char *name) {
    for (uint32_t i = 0; decl && name && i < decl->attribute_count; i++)
        if (strcmp(decl->attributes[i].name, name) == 0) return &decl->attributes[i];
    return NULL;
}

// >>types by name

// A type, with its description; NULL: the error has been reported. Inside the device.
static const spy_type_info *spyi_type_by_name(spy_module *module, const char *function, const char *name,
                                              const spyi_type **type) {
    spyi_context *ctx = &module->object.device->ctx;
    *type = NULL;
    if (!name || !name[0]) {
        spyi_fail(ctx, SPY_ERROR_INVALID_ARGUMENT, "%s: expected a type's name, got %s", function,
                  name ? "\"\"" : "NULL");
        return NULL;
    }
    spyi_declarations *declarations = spyi_reflected(module, function);
    if (!declarations) return NULL;
    const spy_decl *decl = spyi_decl_at(spyi_declarations_root(declarations), name);
    if (decl && spyi_names_type(decl) &&
        (decl->flags & SPY_DECL_GENERIC)) { // to Slang it is a type all the same
        spyi_fail(
            ctx, SPY_ERROR_INVALID_ARGUMENT,
            "%s: '%s' in module '%s' is generic (%s): expected its arguments too, as in 'Grid<float, 4>'",
            function, name, module->name, decl->text);
        return NULL;
    }
    *type = spyi_unit_find_type(module->unit, name);
    if (!*type) {
        spyi_text near_names = { NULL, 0, 0 };
        spyi_near_paths(declarations, name, true, &near_names);
        spyi_fail(ctx, SPY_ERROR_NOT_FOUND, "%s: module '%s' knows no type '%s'%s", function, module->name,
                  name, spyi_text_str(&near_names));
        spyi_text_free(&near_names);
        return NULL;
    }
    const spy_type_info *info = spyi_declarations_type(declarations, module->unit, *type);
    if (!info) spyi_fail(ctx, SPY_ERROR_OUT_OF_MEMORY, "%s: out of host memory", function);
    return info;
}

const spy_type_info *spy_reflect_type(spy_module *module, const char *name) {
    const char *function = "spy_reflect_type";
    const spyi_type *type = NULL;
    if (spyi_enter(module, SPYI_KIND_MODULE, function) != SPY_OK) return NULL;
    const spy_type_info *info = spyi_type_by_name(module, function, name, &type);
    spyi_leave(module);
    return info;
}

bool spy_type_implements(spy_module *module, const char *type, const char *interface_name) {
    const char *function = "spy_type_implements";
    const spyi_type *asked = NULL, *wanted = NULL;
    if (spyi_enter(module, SPYI_KIND_MODULE, function) != SPY_OK) return false;
    const spy_type_info *info = spyi_type_by_name(module, function, type, &asked);
    const spy_type_info *of = info ? spyi_type_by_name(module, function, interface_name, &wanted) : NULL;
    bool implements =
        of && of->kind == SPY_TYPE_INTERFACE && spyi_unit_conforms(module->unit, asked, wanted->name);
    if (of && of->kind != SPY_TYPE_INTERFACE)
        spyi_fail(&module->object.device->ctx, SPY_ERROR_INVALID_ARGUMENT,
                  "%s: '%s' in module '%s' is no interface", function, interface_name, module->name);
    spyi_leave(module);
    return implements;
}

// >>data/reload.c -------------------------------------------------------------------------------------------

// Reload: new code for living modules. Functions hold names, so that only what was found by them is found again; plans
// of the old code leave the cache, and go once the GPU has finished with them.

typedef struct spyi_reload_event { // for the hook
    spy_module *module;            // retained
    spy_status status;
    char *message;
} spyi_reload_event;

typedef struct spyi_reload_run { // one public call
    spy_device *device;
    const char *function;
    spy_status status; // of the first failure
    spy_reload_info info;
    spyi_reload_event *events;
    size_t event_count;
} spyi_reload_run;

// A reference more, unless another thread has just dropped the last one.
static bool spyi_reload_hold(spy_module *module) {
    spyi_atomic *references = &module->object.references;
    for (int32_t n = spyi_atomic_load(references); n > 0; n = spyi_atomic_load(references))
        if (spyi_atomic_swap_if(references, n, n + 1)) return true;
    return false;
}

static void spyi_reload_tell(spyi_reload_run *run, spy_module *module, spy_status status,
                             const char *message) {
    if (!run->device->reload.func) return;
    spyi_reload_event *grown =
        (spyi_reload_event *)realloc(run->events, (run->event_count + 1) * sizeof *grown);
    if (!grown) return;
    run->events = grown;
    if (!spyi_reload_hold(module)) return;
    grown[run->event_count].module = module;
    grown[run->event_count].status = status;
    grown[run->event_count++].message = spyi_strdup(message);
}

// Ends a public call: outside of the device, so that the hook may use it.
static void spyi_reload_finish(spyi_reload_run *run) {
    spy_reload_hook hook = run->device->reload;
    spyi_leave(run->device);
    for (size_t i = 0; i < run->event_count; i++) {
        spyi_reload_event *event = &run->events[i];
        hook.func(event->module, event->status, event->message ? event->message : "", hook.user_data);
        free(event->message);
        spyi_object_release(&event->module->object);
    }
    free(run->events);
}

// >>which modules

static bool spyi_reload_needed(const spy_module *module) {
    return module->stale || spyi_unit_changed(module->unit);
}

// Marks a module, and of those that it links whatever has changed: their code is a part of its own.
static void spyi_reload_mark(spy_module *module, bool needed) {
    if (module->reloading) return;
    module->reloading = needed;
    for (size_t i = 0; i < module->link_count; i++)
        spyi_reload_mark(module->link[i], spyi_reload_needed(module->link[i]));
}

static bool spyi_reload_uses_marked(const spy_module *module) {
    for (size_t i = 0; i < module->link_count; i++)
        if (module->link[i]->reloading) return true;
    for (const spy_module *m = module->object.device->modules; m; m = m->next)
        if (m->reloading && spyi_unit_reads(module->unit, m->unit)) return true;
    return false;
}

static void spyi_reload_mark_users(spy_device *device) {
    for (bool more = true; more;) {
        more = false;
        for (spy_module *m = device->modules; m; m = m->next) {
            if (m->reloading || !spyi_reload_uses_marked(m)) continue;
            spyi_reload_mark(m, true);
            more = true;
        }
    }
}

// >>one reload

static spy_status spyi_reload_compile(spy_module *module, const char *source, spyi_text *error) {
    spyi_unit **link = (spyi_unit **)malloc((module->link_count + 1) * sizeof *link);
    if (!link) {
        spyi_text_add(error, "out of host memory");
        return SPY_ERROR_OUT_OF_MEMORY;
    }
    for (size_t i = 0; i < module->link_count; i++)
        link[i] = module->link[i]->fresh ? module->link[i]->fresh : module->link[i]->unit;
    spy_status status = spyi_unit_reload(module->unit, source, link, &module->fresh, error);
    free(link);
    return status;
}

// The old code gives way. Nothing can fail any more: a function that is not found again stays as a name.
static void spyi_reload_replace(spy_module *module) {
    spy_device *device = module->object.device;
    spyi_unit_release(module->unit);
    module->unit = module->fresh;
    module->fresh = NULL;
    module->generation++;
    for (spy_function *f = module->functions; f; f = f->next) {
        spyi_text ignored = { NULL, 0, 0 };
        spyi_cache_forget_function(device, f);
        spyi_overloads_free(&f->overloads);
        f->entry_known = false;
        if (spyi_unit_find_function(module->unit, f->name, &f->overloads, &ignored) != SPY_OK ||
            f->overloads.count == 0)
            spyi_overloads_free(&f->overloads);
        spyi_text_free(&ignored);
    }
}

// Replaces `root` and all that depends on it, or nothing.
static void spyi_reload_run_one(spyi_reload_run *run, spy_module *root, const char *source) {
    spy_device *device = run->device;
    spyi_text error = { NULL, 0, 0 };
    spy_status status = SPY_OK;
    spyi_reload_mark(root, true);
    spyi_reload_mark_users(device);
    spy_module *oldest = device->modules, *failed = NULL;
    while (oldest->next) oldest = oldest->next;
    for (spy_module *m = oldest; m && status == SPY_OK;
         m = m->previous) { // those linked before those that link
        if (!m->reloading) continue;
        status = spyi_reload_compile(m, m == root ? source : NULL, &error);
        if (status != SPY_OK) failed = m;
    }
    if (status == SPY_OK) spyi_prepared_settle(device);
    for (spy_module *m = oldest; m; m = m->previous) {
        if (!m->reloading) continue;
        m->reloading = false;
        m->stale = m->tried = status != SPY_OK;
        if (status == SPY_OK) {
            spyi_reload_replace(m);
            run->info.reloaded++;
            spyi_logf(&device->ctx, SPY_LOG_INFO, "module '%s' has been reloaded", m->name);
            spyi_reload_tell(run, m, SPY_OK, "");
        } else if (m != failed) { // its files count as seen until they change again, as the failed one's do
            spyi_unit_give_up(m->unit, m->fresh);
            m->fresh = NULL;
        }
    }
    if (failed) {
        run->info.failed++;
        if (run->status == SPY_OK) run->status = status;
        spyi_fail(&device->ctx, status, "%s: module '%s' keeps its code: %s", run->function, root->name,
                  spyi_text_str(&error));
        spyi_reload_tell(run, failed, status, spyi_text_str(&error));
    }
    spyi_text_free(&error);
}

// >>the public functions

spy_status spy_reload_module(spy_module *module, const char *source) {
    const char *function = "spy_reload_module";
    spy_status entered = spyi_enter(module, SPYI_KIND_MODULE, function);
    if (entered != SPY_OK) return entered;
    spyi_reload_run run;
    memset(&run, 0, sizeof run);
    run.device = module->object.device;
    run.function = function;
    spyi_reload_run_one(&run, module, source);
    spyi_reload_finish(&run);
    return run.status;
}

spy_status spy_poll_reload(spy_device *device, uint64_t interval_ns, spy_reload_info *info) {
    const char *function = "spy_poll_reload";
    if (info) memset(info, 0, sizeof *info);
    spy_status entered = spyi_enter(device, SPYI_KIND_DEVICE, function);
    if (entered != SPY_OK) return entered;
    spyi_reload_run run;
    memset(&run, 0, sizeof run);
    run.device = device;
    run.function = function;
    uint64_t now = spyi_time_ns();
    if (interval_ns == 0 || !device->reload_looked_ns || now - device->reload_looked_ns >= interval_ns) {
        device->reload_looked_ns = now;
        spy_module *oldest = NULL;
        bool changed = false;
        for (spy_module *m = device->modules; m; oldest = m, m = m->next) {
            m->tried = false;
            changed = changed || spyi_unit_changed(m->unit);
        }
        // What failed before may have failed for what has changed now.
        for (spy_module *m = changed ? oldest : NULL; m; m = m->previous)
            if (!m->tried && spyi_reload_needed(m)) spyi_reload_run_one(&run, m, NULL);
    }
    if (info) *info = run.info;
    spyi_reload_finish(&run);
    return run.status;
}

// >>data/device.c -------------------------------------------------------------------------------------------

// The device: creation, release, the guard that every public function passes, and what the device tells of itself.

// Our side in Slang: what `import slangpy;` finds, and the files that it includes.
static const spyi_embedded spyi_slang_files[] = { SPYI_SLANG_FILES };

// >>the guard

SPYI_FN spyi_object *spyi_as(const void *object, spyi_kind kind) {
    spyi_object *o = (spyi_object *)object;
    return o && o->kind == (uint32_t)kind ? o : NULL;
}

static const char *spyi_kind_name(uint32_t kind) {
    switch (kind) {
    case SPYI_KIND_DEVICE: return "device";
    case SPYI_KIND_MODULE: return "module";
    case SPYI_KIND_FUNCTION: return "function";
    case SPYI_KIND_TENSOR: return "tensor";
    case SPYI_KIND_PREPARED: return "prepared call";
    case SPYI_KIND_CURSOR: return "cursor";
    case SPYI_KIND_LIST: return "command list";
    default: return "unknown object";
    }
}

SPYI_FN spy_status spyi_enter(const void *object, spyi_kind kind, const char *function) {
    const spyi_object *o = (const spyi_object *)object;
    const char *expected = spyi_kind_name((uint32_t)kind);
    if (SPYI_LIKELY(o && o->kind == (uint32_t)kind)) {
        spy_device *device = o->device;
        if (SPYI_LIKELY(spyi_atomic_swap_if(&device->ctx.busy, 0, 1))) {
            if (spyi_atomic_load(&device->release_count) != 0) spyi_drain_releases(device);
            return SPY_OK;
        }
        return spyi_fail(NULL, SPY_ERROR_BUSY,
                         "%s: another thread is using device '%s'; calls on one device must take turns",
                         function, device->ctx.label);
    }
    if (!o)
        return spyi_fail(NULL, SPY_ERROR_INVALID_ARGUMENT, "%s: expected a %s, got NULL", function, expected);
    if (o->kind == (uint32_t)SPYI_KIND_DEAD)
        return spyi_fail(NULL, SPY_ERROR_RELEASED, "%s: the %s has been released", function, expected);
    return spyi_fail(NULL, SPY_ERROR_INVALID_ARGUMENT, "%s: expected a %s, got a %s", function, expected,
                     spyi_kind_name(o->kind));
}

SPYI_FN void spyi_leave(const void *object) {
    spyi_atomic_store(&((const spyi_object *)object)->device->ctx.busy, 0);
}

SPYI_FN spy_status spyi_fail_text(spy_device *device, spy_status status, const char *function,
                                  spyi_text *error) {
    spyi_fail(&device->ctx, status, "%s: %s", function, spyi_text_str(error));
    spyi_text_free(error);
    return status;
}

SPYI_FN void spyi_object_retain(const void *object, spyi_kind kind, const char *function) {
    spyi_object *o = spyi_as(object, kind);
    if (o) spyi_atomic_add(&o->references, 1);
    else
        spyi_fail(NULL, object ? SPY_ERROR_RELEASED : SPY_ERROR_INVALID_ARGUMENT, "%s: the %s %s", function,
                  spyi_kind_name((uint32_t)kind), object ? "has been released" : "is NULL");
}

SPYI_FN void spyi_object_release(spyi_object *object) {
    spy_device *device = object->device;
    if (spyi_atomic_add(&object->references, -1) != 0) return;
    object->released_kind = object->kind;
    object->kind = (uint32_t)SPYI_KIND_DEAD; // uses are errors from now on
    spyi_mutex_lock(&device->release_lock);
    object->release_next = device->release_queue;
    device->release_queue = object;
    spyi_atomic_add(&device->release_count, 1);
    spyi_mutex_unlock(&device->release_lock);
}

SPYI_FN void spyi_drain_releases(spy_device *device) {
    spyi_mutex_lock(&device->release_lock);
    spyi_object *queue = device->release_queue;
    device->release_queue = NULL;
    spyi_atomic_store(&device->release_count, 0);
    spyi_mutex_unlock(&device->release_lock);
    while (queue) {
        spyi_object *object = queue;
        queue = object->release_next;
        if (object->released_kind == (uint32_t)SPYI_KIND_TENSOR) {
            spyi_tensor_unlink((spy_tensor *)(void *)object);
            spyi_tensor_free((spy_tensor *)(void *)object);
        } else if (object->released_kind == (uint32_t)SPYI_KIND_MODULE) {
            spyi_module_free((spy_module *)(void *)object);
        } else if (object->released_kind == (uint32_t)SPYI_KIND_CURSOR) {
            spyi_cursor_range_free((struct spyi_cursor_range *)(void *)object);
        } else if (object->released_kind == (uint32_t)SPYI_KIND_LIST) {
            spyi_list_free((struct spy_command_list *)(void *)object);
        } else {
            spyi_prepared_free((struct spy_prepared *)(void *)object);
        }
    }
}

SPYI_FN void spyi_bury(spy_device *device, spyi_object *object, size_t size) {
    object->kind = (uint32_t)SPYI_KIND_DEAD;
#ifndef NDEBUG
    spyi_grave *grave = (spyi_grave *)spyi_allocate(&device->ctx, sizeof *grave);
    if (grave) {
        grave->object = object;
        grave->size = size;
        grave->next = device->graves;
        device->graves = grave;
        return;
    }
#endif
    spyi_free(&device->ctx, object, size);
}

// >>creation and release

static void spyi_device_destroy(spy_device *device) {
    spyi_context *ctx = &device->ctx;
    while (device->close_callbacks) {
        spyi_close_callback *callback = device->close_callbacks;
        device->close_callbacks = callback->next;
        spyi_leave(device); // it may still read results
        callback->func(device, callback->user_data);
        spyi_atomic_store(&ctx->busy, 1);
        spyi_free(ctx, callback, sizeof *callback);
    }
    if (device->gpu) { // a callback may have recorded more
        spyi_text ignored = { NULL, 0, 0 };
        device->backend->wait(device->gpu, device->backend->open_submit(device->gpu), UINT64_MAX, &ignored);
        spyi_text_free(&ignored);
    }
    spyi_drain_releases(device);
    spyi_prepared_free_all(device);
    while (device->lists) spyi_list_free(device->lists);
    while (device->cursor_ranges) spyi_cursor_range_free(device->cursor_ranges);
    while (device->tensors) {
        spy_tensor *tensor = device->tensors;
        device->tensors = tensor->next;
        if (tensor->storage && --tensor->storage->references == 0) spyi_pool_give(device, tensor->storage);
        free((void *)tensor->label);
        tensor->object.kind = (uint32_t)SPYI_KIND_DEAD;
        spyi_free(ctx, tensor, sizeof *tensor);
    }
    while (device->dead_first) {
        spy_tensor *tensor = device->dead_first;
        device->dead_first = tensor->next;
        spyi_free(ctx, tensor, sizeof *tensor);
    }
    if (device->cache) spyi_cache_destroy(device);
    while (device->modules)
        spyi_module_free(device->modules); // newest first: those that link before those linked
    while (device->graves) {
        spyi_grave *grave = device->graves;
        device->graves = grave->next;
        spyi_free(ctx, grave->object, grave->size);
        spyi_free(ctx, grave, sizeof *grave);
    }
    if (device->readback) spyi_pool_give(device, device->readback);
    if (device->gpu) {
        spyi_pool_destroy(device);
        device->backend->destroy(device->gpu);
    }
    if (device->compiler) spyi_compiler_destroy(device->compiler);
    if (device->types) spyi_types_destroy(device->types);
    free(device->dump_directory);
    spyi_mutex_destroy(&device->release_lock);
    spy_allocator allocator = ctx->allocator;
    spyi_context_destroy(ctx);
    ctx->object.kind = (uint32_t)SPYI_KIND_DEAD;
    allocator.free(device, sizeof *device, allocator.user_data);
}

spy_device *spy_create_device(const spy_device_desc *desc) {
    const char *function = "spy_create_device";
    if (!desc) {
        spyi_fail(NULL, SPY_ERROR_INVALID_ARGUMENT, "%s: expected a desc, got NULL", function);
        return NULL;
    }
    const spy_allocator *a = &desc->allocator;
    bool some = a->allocate || a->reallocate || a->free, all = a->allocate && a->reallocate && a->free;
    spyi_context setup; // reports until the device exists
    memset(&setup, 0, sizeof setup);
    spy_device_desc plain = *desc;
    if (some && !all) memset(&plain.allocator, 0, sizeof plain.allocator);
    spyi_context_init(&setup, &plain);
    spy_device *device = NULL;
    spy_status status = SPY_OK;
    spyi_text error = { NULL, 0, 0 };
    if (desc->include_path_count && !desc->include_paths) {
        status = SPY_ERROR_INVALID_ARGUMENT;
        spyi_text_add(&error, "desc.include_path_count is %zu, include_paths is NULL",
                      desc->include_path_count);
    } else if (!desc->files.open && (desc->files.close || desc->files.stamp)) {
        status = SPY_ERROR_INVALID_ARGUMENT;
        spyi_text_add(&error, "desc.files has no open");
    } else if (some && !all) {
        status = SPY_ERROR_INVALID_ARGUMENT;
        spyi_text_add(&error, "desc.allocator needs all of allocate, reallocate and free, or none");
    } else if (!desc->backend) {
        status = SPY_ERROR_INVALID_ARGUMENT;
        spyi_text_add(&error, "desc.backend is NULL; expected spy_vk_backend() or another backend's");
    } else {
        device = (spy_device *)spyi_allocate(&setup, sizeof *device);
        if (!device) {
            status = SPY_ERROR_OUT_OF_MEMORY;
            spyi_text_add(&error, "out of host memory");
        }
    }
    if (device) {
        spyi_context_init(&device->ctx, desc);
        device->ctx.object.kind = (uint32_t)SPYI_KIND_DEVICE;
        device->ctx.object.device = device;
        spyi_atomic_store(&device->ctx.object.references, 1);
        spyi_mutex_init(&device->release_lock);
        device->backend = desc->backend;
        device->epoch = 1;
        device->dump_directory = spyi_strdup(desc->dump_directory);
        status = desc->backend->create(&device->ctx, desc, &device->gpu, &error);
    }
    if (device && status == SPY_OK) {
        device->base = (spyi_gpu_base *)device->gpu;
        spyi_compiler_desc compiler;
        memset(&compiler, 0, sizeof compiler);
        compiler.library_path = desc->slang_library;
        compiler.include_paths = desc->include_paths;
        compiler.include_path_count = desc->include_path_count;
        compiler.target = device->base->limits.target;
        compiler.files = desc->files;
        device->reload = desc->reload;
        compiler.embedded = spyi_slang_files;
        compiler.embedded_count = sizeof spyi_slang_files / sizeof spyi_slang_files[0];
        device->types = spyi_types_create(compiler.target);
        device->compiler =
            device->types ? spyi_compiler_create(&device->ctx, device->types, &compiler) : NULL;
        device->cache = spyi_cache_create(device, desc->max_plans ? desc->max_plans : 1024);
        if (!device->types || !device->compiler || !device->cache) {
            status = SPY_ERROR_OUT_OF_MEMORY;
            spyi_text_add(&error, "out of host memory");
        } else {
            for (int i = SPY_BOOL; i < SPY_DTYPE_COUNT; i++)
                device->scalars[i] = spyi_type_scalar(device->types, (spy_dtype)i);
        }
    }
    if (status != SPY_OK) {
        // Nobody can ask a device that does not exist, so the error is this thread's; the log hears it as well.
        if (spyi_log_wants(&setup, SPY_LOG_ERROR))
            spyi_logf(&setup, SPY_LOG_ERROR, "%s: %s", function, spyi_text_str(&error));
        spyi_fail(NULL, status, "%s: %s", function, spyi_text_str(&error));
        if (device) spyi_device_destroy(device);
        device = NULL;
    }
    spyi_text_free(&error);
    spyi_context_destroy(&setup);
    return device;
}

void spy_release_device(spy_device *device) {
    if (!device || spyi_enter(device, SPYI_KIND_DEVICE, "spy_release_device") != SPY_OK) return;
    spyi_device_destroy(device);
}

// >>work

spy_submit_id spy_flush(spy_device *device) {
    if (spyi_enter(device, SPYI_KIND_DEVICE, "spy_flush") != SPY_OK) return 0;
    spyi_text error = { NULL, 0, 0 };
    spy_submit_id id = device->backend->open_submit(device->gpu);
    spy_status status = device->backend->submit(device->gpu, &error);
    // Without recorded work the number stays open: what was asked for ended with the batch before.
    if (device->backend->open_submit(device->gpu) == id) id--;
    if (status != SPY_OK) {
        spyi_fail_text(device, status, "spy_flush", &error);
        id = 0;
    }
    spyi_leave(device);
    return id;
}

static spy_status spyi_wait(spy_device *device, const char *function, spy_submit_id id, uint64_t timeout_ns) {
    spyi_text error = { NULL, 0, 0 };
    spy_status status = device->backend->wait(device->gpu, id, timeout_ns, &error);
    if (status == SPY_ERROR_NOT_READY) spyi_text_free(&error); // an answer, not a failure
    else if (status != SPY_OK) spyi_fail_text(device, status, function, &error);
    return status;
}

spy_status spy_wait(spy_device *device) {
    spy_status entered = spyi_enter(device, SPYI_KIND_DEVICE, "spy_wait");
    if (entered != SPY_OK) return entered;
    spy_status status = spyi_wait(device, "spy_wait", device->backend->open_submit(device->gpu), UINT64_MAX);
    spyi_leave(device);
    return status;
}

spy_status spy_wait_for_submit(spy_device *device, spy_submit_id id, uint64_t timeout_ns) {
    const char *function = "spy_wait_for_submit";
    spy_status entered = spyi_enter(device, SPYI_KIND_DEVICE, function);
    if (entered != SPY_OK) return entered;
    spy_status status;
    if (id > device->backend->open_submit(device->gpu))
        status =
            spyi_fail(&device->ctx, SPY_ERROR_INVALID_ARGUMENT,
                      "%s: id %llu has not been given out by spy_flush()", function, (unsigned long long)id);
    else status = spyi_wait(device, function, id, timeout_ns);
    spyi_leave(device);
    return status;
}

bool spy_is_submit_finished(spy_device *device, spy_submit_id id) {
    if (spyi_enter(device, SPYI_KIND_DEVICE, "spy_is_submit_finished") != SPY_OK) return false;
    bool finished = device->backend->finished_submit(device->gpu) >= id;
    spyi_leave(device);
    return finished;
}

spy_status spy_add_close_callback(spy_device *device, void (*func)(spy_device *, void *), void *user_data) {
    const char *function = "spy_add_close_callback";
    spy_status entered = spyi_enter(device, SPYI_KIND_DEVICE, function);
    if (entered != SPY_OK) return entered;
    spy_status status = SPY_OK;
    spyi_close_callback *callback = NULL;
    if (!func)
        status = spyi_fail(&device->ctx, SPY_ERROR_INVALID_ARGUMENT, "%s: expected a function, got NULL",
                           function);
    if (status == SPY_OK) {
        callback = (spyi_close_callback *)spyi_allocate(&device->ctx, sizeof *callback);
        if (!callback)
            status = spyi_fail(&device->ctx, SPY_ERROR_OUT_OF_MEMORY, "%s: out of host memory", function);
    }
    if (callback) {
        callback->func = func;
        callback->user_data = user_data;
        callback->next = device->close_callbacks;
        device->close_callbacks = callback;
    }
    spyi_leave(device);
    return status;
}

spy_status spy_trim(spy_device *device) {
    spy_status entered = spyi_enter(device, SPYI_KIND_DEVICE, "spy_trim");
    if (entered != SPY_OK) return entered;
    spy_status status = spyi_wait(device, "spy_trim", device->backend->open_submit(device->gpu), UINT64_MAX);
    if (status == SPY_OK) spyi_pool_trim(device);
    spyi_leave(device);
    return status;
}

// >>information

spy_device_info spy_get_device_info(const spy_device *device) {
    spy_device_info info;
    memset(&info, 0, sizeof info);
    if (spyi_as(device, SPYI_KIND_DEVICE)) info = device->base->limits.info;
    else spyi_fail(NULL, SPY_ERROR_INVALID_ARGUMENT, "spy_get_device_info: expected a device");
    return info;
}

size_t spy_enumerate_adapters(const spy_backend *backend, spy_device_info *infos, size_t capacity) {
    if (!backend) {
        spyi_fail(NULL, SPY_ERROR_INVALID_ARGUMENT, "spy_enumerate_adapters: expected a backend, got NULL");
        return 0;
    }
    spyi_text error = { NULL, 0, 0 };
    size_t count = backend->enumerate(infos, infos ? capacity : 0, &error);
    if (error.size) spyi_fail(NULL, SPY_ERROR_NO_DEVICE, "spy_enumerate_adapters: %s", spyi_text_str(&error));
    spyi_text_free(&error);
    return count;
}

spy_device_stats spy_get_device_stats(spy_device *device) {
    spy_device_stats stats;
    memset(&stats, 0, sizeof stats);
    if (spyi_enter(device, SPYI_KIND_DEVICE, "spy_get_device_stats") != SPY_OK) return stats;
    stats = device->stats;
    stats.dispatches = device->base->stats.dispatches;
    stats.barriers = device->base->stats.barriers;
    stats.submits = device->base->stats.submits;
    stats.driver_allocations = device->base->stats.driver_allocations;
    stats.pool_bytes = device->pool.held_bytes;
    stats.used_bytes = device->pool.used_bytes;
    stats.compiler_loads = spyi_compiler_loads(device->compiler);
    spyi_leave(device);
    return stats;
}

// >>for backends

SPYI_FN spyi_gpu *spyi_device_gpu(spy_device *device, const char *backend_name, const char *function) {
    if (strcmp(device->backend->name, backend_name) == 0) return device->gpu;
    spyi_fail(&device->ctx, SPY_ERROR_INVALID_ARGUMENT, "%s: expected a %s device, got a %s one", function,
              backend_name, device->backend->name);
    return NULL;
}

// >>bind/bind.h ---------------------------------------------------------------------------------------------

// Binding: arguments are described as values, signed with a key, and matched to the parameters of one overload.

typedef struct spyi_value_kind spyi_value_kind;

// >>values: what an argument is, in the order in which arguments are written, a struct before its fields
typedef struct spyi_value {
    const spy_arg *arg; // where its data is; NULL in the copies that compile threads use
    const char *name;   // NULL: by position
    uint8_t kind;       // spy_arg_kind
    uint8_t direction;  // spy_direction
    uint8_t rank;       // tensors and host arrays
    uint8_t map_count;
    uint32_t child_count; // struct: its fields, which follow
    uint32_t size;        // SPY_ARG_DATA: bytes
    const int8_t *map;
    const char *cast;      // explicit Slang type, or NULL
    const spyi_type *type; // element of tensors, host arrays and numbers; else NULL
    const int64_t *dims;   // of tensors, host arrays and custom values; theirs may be -1: any size
    spy_tensor *tensor;
    const spyi_value_kind *custom; // SPY_ARG_CUSTOM
} spyi_value;

// >>options: what a call's options say to its kernel, checked and copied
typedef struct spyi_options {
    char *prelude; // with the constants' declarations before it
    char **conformances;
    uint32_t conformance_count;
    uint32_t threads[3]; // of a group; 0: chosen
    spy_shape group;     // of the call, aligned at the last dimension; rank 0: none
    uint32_t count_rank; // of thread_count
} spyi_options;

// >>dispatches: an explicit number of threads
typedef struct spyi_threads {
    uint32_t count[3]; // in x, y, z
    uint32_t group[3];
    bool guarded;             // threads beyond the count do nothing
    const spy_tensor *counts; // group counts that the GPU reads when it runs; NULL: `count` says
    uint64_t counts_at;       // byte of the first in its storage
    bool shader;              // the function is an entry point with [numthreads], and runs as it is
} spyi_threads;

// The values of one call and the key that its plan is found by. Owned by the cache and reused: calls do not allocate.
typedef struct spyi_values {
    spyi_value *items;
    uint32_t count, capacity;
    uint8_t *key;
    uint32_t key_size, key_capacity;
    const spy_call_options *options; // NULL: none
    spy_shape thread_count;          // theirs
    const spyi_threads *threads;     // of a dispatch; NULL: a call
} spyi_values;

// Fills `values` from `args` and `options` (may be NULL); on failure an error naming the argument.
SPYI_FN spy_status spyi_describe(spy_function *function, spy_args args, const spy_call_options *options,
                                 const spyi_threads *threads, spyi_values *values, spyi_text *error);
// Whether the system fills it: no argument of the user's.
SPYI_FN bool spyi_is_system(const spyi_value *value);
SPYI_FN bool spyi_key_bytes(spyi_values *values, const void *bytes, size_t size); // false: out of memory
// options.c: checks options and appends to the key what kernels depend on; copies them for a plan.
SPYI_FN spy_status spyi_describe_options(const spy_call_options *options, spyi_values *values,
                                         spyi_text *error);
SPYI_FN bool spyi_options_copy(const spyi_values *values, spyi_options *options); // false: out of memory
SPYI_FN void spyi_options_free(spyi_options *options);
// Appends trailing sizes of tensors and arrays to the key, for calls whose types depend on them: `sizes[i]` of value i.
SPYI_FN bool spyi_key_add_sizes(spyi_values *values, const uint8_t *sizes);
SPYI_FN spy_shape spyi_value_shape(const spyi_value *value); // of tensors and host arrays; others: rank 0
SPYI_FN void spyi_values_free(spyi_values *values);
// "float3 tensor (480, 640)", "int 3", "struct of 2 fields": for messages.
SPYI_FN void spyi_value_text(const spyi_value *value, spyi_text *out);
// Index of the value after this one and its fields.
SPYI_FN uint32_t spyi_value_end(const spyi_value *values, uint32_t index);

// >>what feeds what

// How an element type in memory feeds a parameter type: the trailing dimensions it takes and what the conversion costs.
typedef struct spyi_fit {
    uint32_t cost;
    uint32_t consumed;
    int64_t dims[SPY_MAX_RANK]; // sizes that the consumed dimensions must have
} spyi_fit;

// Device memory of `element` for a parameter of `type`. Outputs must not change scalars. false: it cannot.
SPYI_FN bool spyi_fit_memory(const spyi_type *element, const spyi_type *type, bool output, spyi_fit *fit);
// Host data: scalars are converted as they are copied, so more is possible.
SPYI_FN bool spyi_fit_host(const spyi_type *element, const spyi_type *type, bool output, spyi_fit *fit);
// `type` with its scalars replaced: float3 and SPY_INT32 give int3. Not for structs.
SPYI_FN const spyi_type *spyi_type_with_scalar(spyi_types *types, const spyi_type *type, spy_dtype scalar);

// >>the result of binding

typedef enum spyi_source {
    SPYI_SOURCE_SCALAR,   // a number: converted into the parameter block
    SPYI_SOURCE_BYTES,    // host bytes of one value, into the block
    SPYI_SOURCE_INLINE,   // a host array that feeds one value, into the block
    SPYI_SOURCE_TENSOR,   // the argument's tensor
    SPYI_SOURCE_UPLOAD,   // a host array that is run over, through a temporary tensor
    SPYI_SOURCE_NEW,      // a new tensor
    SPYI_SOURCE_READBACK, // one value that returns to host memory
    SPYI_SOURCE_KIND      // what leaf.kind says
} spyi_source;

// A place where the kernel loads or stores.
typedef struct spyi_leaf {
    spyi_source source;
    uint32_t value;           // index of its value
    char *path;               // "x", "light.color", "_result"
    const spyi_type *type;    // of the variable in the kernel
    const spyi_type *element; // as elements lie in device memory
    const spyi_type *packed;  // the element with its consumed dimensions, when these are contiguous
    bool in, out;
    bool splat;                // a number for a whole vector or matrix
    uint32_t batch_rank;       // leading dimensions, run over by the kernel
    uint8_t map[SPY_MAX_RANK]; // kernel dimension of each
    uint32_t consumed;         // trailing dimensions, part of one value
    int64_t consumed_dims[SPY_MAX_RANK];
    const spyi_value_kind *kind;      // SPYI_SOURCE_KIND; the next four are its own
    uint32_t field_size, field_align; // bytes of its field in the parameter block; 0: it has none
    bool reads, writes;               // memory of its tensor, anywhere
    bool untracked;                   // memory that we do not know of
    const char *kind_type;            // Slang type that it says, interned
} spyi_leaf;

// >>kinds of values beyond numbers, host data, element-wise tensors and structs: a file each in kinds/

// Where a value's expression stands.
typedef struct spyi_place_text {
    const char *field;   // its field in the parameter block: "spyi.x"
    const char *element; // number of the call's element, an int
    const char *shape;   // the call's shape, int[rank]; rank 0: one size of 1
    uint32_t rank;       // of the call
} spyi_place_text;

struct spyi_value_kind {
    const char *name; // in messages: "call_id"
    // SPY_ARG_CUSTOM: the argument's own data into value->rank and ->dims; false: *problem says what is wrong with it.
    // NULL: there is nothing to check.
    bool (*describe)(const spy_arg *arg, spyi_value *value, const char **problem);
    // Whether the value feeds leaf->type. Fills what the kind needs of the leaf; dimensions not consumed are run over.
    bool (*bind)(spyi_types *types, const spyi_value *value, spyi_leaf *leaf);
    // The Slang type of its field.
    void (*field)(const spyi_leaf *leaf, spyi_text *out);
    // Its value for one element, as an expression of leaf->type.
    void (*load)(const spyi_leaf *leaf, const spyi_place_text *at, spyi_text *out);
    // Fills its field at each call. false: `error` says what the call gave that does not fit.
    bool (*pack)(const spyi_leaf *leaf, const spyi_value *value, void *field, spyi_text *error);
};

// The kind that passes a tensor whole, or an address, to a parameter of such a type; NULL: there is none.
SPYI_FN const spyi_value_kind *spyi_kind_of_parameter(const spyi_type *type, const spyi_value *value);
// What such a parameter takes, for messages; NULL: it is none.
SPYI_FN const char *spyi_kind_takes(const spyi_type *type);
// What a tensor is for a parameter "RWTensor<T, D>" that is still open: "RWTensor<float, 2>".
SPYI_FN void spyi_whole_type_name(spyi_types *types, const spyi_type *type, const spyi_value *value,
                                  spyi_text *out);

// A parameter or field of the kernel's call, built from a leaf or from its own fields.
typedef struct spyi_node {
    char *name;
    const spyi_type *type;
    int32_t leaf;          // -1: fields
    uint32_t first, count; // fields, in the node list
    bool in, out;
} spyi_node;

typedef struct spyi_bound {
    spyi_signature signature; // of the chosen overload, with concrete types
    spyi_leaf *leaves;
    uint32_t leaf_count;
    spyi_node *nodes; // parameters that get an argument, then "_result" if given, then fields
    uint32_t node_count;
    uint32_t param_count; // parameters that get an argument
    bool has_result;      // nodes[param_count] is "_result"
    uint32_t rank;        // dimensions of the kernel
    bool strict;          // strict_broadcasting
    spyi_options options;
    bool uses_library;  // some kind's expressions need `import slangpy_kernel`, and the call's shape
    bool names_library; // the kernel itself says names of slangpy: of its tensors, or for call_info
    bool dispatch;      // threads are counted by the caller; arguments are passed whole
    bool guarded;       // spyi_threads.guarded
    bool shader;        // spyi_threads.shader
    bool call_info;     // the module may ask where in the call it is: it imports slangpy
    uint8_t *sizes;    // types were chosen by so many trailing sizes of each value; NULL: by none
} spyi_bound;

// Choose the overload and match everything. On failure a text with the candidates and why each does not fit.
SPYI_FN spy_status spyi_bind(spy_function *function, const spyi_values *values, spyi_bound *bound,
                             spyi_text *error);
SPYI_FN void spyi_bound_free(spyi_bound *bound);
// The binding table: parameter, Slang type, argument, mapping; one line each.
SPYI_FN void spyi_bound_text(const spyi_bound *bound, const spyi_values *values, spyi_text *out);

// >>bind/describe.c -----------------------------------------------------------------------------------------

// Describing and signing a call: spy_args become values and a key. This runs at every call, so it only reads and copies.
//
// The key holds what a plan depends on: function, kinds, directions, element types, ranks, maps, casts and names. Names
// are compared as bytes, with the key.

#define SPYI_DEEPEST_STRUCT 16

// Room for `extra` more key bytes; false: out of memory.
static bool spyi_key_room(spyi_values *values, size_t extra) {
    size_t needed = values->key_size + extra;
    if (SPYI_LIKELY(needed <= values->key_capacity)) return true;
    size_t capacity = needed * 2 < 512 ? 512 : needed * 2;
    uint8_t *key = (uint8_t *)realloc(values->key, capacity);
    if (!key) return false;
    values->key = key;
    values->key_capacity = (uint32_t)capacity;
    return true;
}

SPYI_FN bool spyi_key_bytes(spyi_values *values, const void *bytes, size_t size) {
    if (!spyi_key_room(values, size)) return false;
    memcpy(values->key + values->key_size, bytes, size);
    values->key_size += (uint32_t)size;
    return true;
}

static bool spyi_key_name(spyi_values *values, const char *name) {
    return spyi_key_bytes(values, name ? name : "", name ? strlen(name) + 1 : 1);
}

// How messages name an argument: its name, or its position from 1.
static void spyi_arg_name(const spy_arg *arg, size_t position, spyi_text *out) {
    if (arg->name && arg->name[0]) spyi_text_add(out, "argument '%s'", arg->name);
    else spyi_text_add(out, "argument %zu", position + 1);
}

static spy_status spyi_bad_arg(const spy_arg *arg, size_t position, spyi_text *error, spy_status status,
                               const char *what) {
    spyi_arg_name(arg, position, error);
    spyi_text_add(error, ": %s", what);
    return status;
}

// Checks one argument's own data and fills what of a value depends on its kind.
static spy_status spyi_describe_one(spy_device *device, const spy_arg *arg, size_t position, spyi_value *v,
                                    spyi_text *error) {
    bool returns = arg->direction == SPY_DIRECTION_OUT || arg->direction == SPY_DIRECTION_INOUT;
    if (arg->direction != SPY_DIRECTION_DEFAULT && !returns)
        return spyi_bad_arg(arg, position, error, SPY_ERROR_INVALID_ARGUMENT,
                            "its direction is not one of spy_direction");
    switch (arg->kind) {
    case SPY_ARG_BOOL:
    case SPY_ARG_INT:
    case SPY_ARG_UINT:
    case SPY_ARG_FLOAT:
        if (arg->dtype <= SPY_DTYPE_DEFAULT || arg->dtype >= SPY_DTYPE_COUNT)
            return spyi_bad_arg(arg, position, error, SPY_ERROR_INVALID_ARGUMENT,
                                "its dtype is not one of spy_dtype");
        v->type = device->scalars[arg->dtype];
        if (returns && !arg->value.out)
            return spyi_bad_arg(arg, position, error, SPY_ERROR_INVALID_ARGUMENT,
                                "the pointer that takes its result is NULL");
        return SPY_OK;
    case SPY_ARG_TENSOR: {
        spy_tensor *t = arg->value.tensor;
        if (!t)
            return spyi_bad_arg(arg, position, error, SPY_ERROR_INVALID_ARGUMENT,
                                "expected a tensor, got NULL");
        if (t->object.kind == (uint32_t)SPYI_KIND_DEAD)
            return spyi_bad_arg(arg, position, error, SPY_ERROR_RELEASED, "the tensor has been released");
        if (t->object.kind != (uint32_t)SPYI_KIND_TENSOR)
            return spyi_bad_arg(arg, position, error, SPY_ERROR_INVALID_ARGUMENT,
                                "expected a tensor, got another object");
        if (t->object.device != device)
            return spyi_bad_arg(arg, position, error, SPY_ERROR_INVALID_ARGUMENT,
                                "the tensor belongs to another device");
        v->tensor = t;
        v->type = t->type;
        v->rank = (uint8_t)t->shape.rank;
        v->dims = t->shape.dims;
        return SPY_OK;
    }
    case SPY_ARG_ARRAY: {
        if (arg->dtype < SPY_DTYPE_DEFAULT || arg->dtype >= SPY_DTYPE_COUNT)
            return spyi_bad_arg(arg, position, error, SPY_ERROR_INVALID_ARGUMENT,
                                "its dtype is not one of spy_dtype");
        if (arg->count > SPY_MAX_RANK)
            return spyi_bad_arg(arg, position, error, SPY_ERROR_INVALID_ARGUMENT,
                                "its rank is above SPY_MAX_RANK");
        spy_shape shape;
        shape.rank = (uint32_t)arg->count;
        memcpy(shape.dims, arg->dims, sizeof shape.dims);
        int64_t count = spyi_shape_count(&shape);
        if (count < 0)
            return spyi_bad_arg(arg, position, error, SPY_ERROR_INVALID_ARGUMENT,
                                "its shape has a negative or too large size");
        if (count > 0 && !arg->value.data)
            return spyi_bad_arg(arg, position, error, SPY_ERROR_INVALID_ARGUMENT,
                                "expected a host array, got NULL");
        v->type = device->scalars[arg->dtype == SPY_DTYPE_DEFAULT ? SPY_FLOAT32 : arg->dtype];
        v->rank = (uint8_t)arg->count;
        v->dims = arg->dims;
        return SPY_OK;
    }
    case SPY_ARG_DATA:
        if (!arg->value.data)
            return spyi_bad_arg(arg, position, error, SPY_ERROR_INVALID_ARGUMENT,
                                "expected host data, got NULL");
        if (arg->count == 0 || arg->count > UINT32_MAX)
            return spyi_bad_arg(arg, position, error, SPY_ERROR_INVALID_ARGUMENT,
                                "the size of its host data is not valid");
        v->size = (uint32_t)arg->count;
        return SPY_OK;
    case SPY_ARG_STRUCT:
        if (arg->count && !arg->value.fields)
            return spyi_bad_arg(arg, position, error, SPY_ERROR_INVALID_ARGUMENT,
                                "expected a list of fields, got NULL");
        if (arg->count > 4096)
            return spyi_bad_arg(arg, position, error, SPY_ERROR_INVALID_ARGUMENT, "it has too many fields");
        v->child_count = (uint32_t)arg->count;
        return SPY_OK;
    case SPY_ARG_CUSTOM: {
        const char *problem = NULL;
        v->custom = arg->custom;
        if (!arg->custom)
            return spyi_bad_arg(arg, position, error, SPY_ERROR_INVALID_ARGUMENT,
                                "it was not made by one of the spy_arg_* functions");
        return !arg->custom->describe || arg->custom->describe(arg, v, &problem)
                   ? SPY_OK
                   : spyi_bad_arg(arg, position, error, SPY_ERROR_INVALID_ARGUMENT, problem);
    }
    case SPY_ARG_NEW:
        if (!arg->value.new_tensor)
            return spyi_bad_arg(arg, position, error, SPY_ERROR_INVALID_ARGUMENT,
                                "the pointer that takes its tensor is NULL");
        return SPY_OK;
    default:
        return spyi_bad_arg(arg, position, error, SPY_ERROR_INVALID_ARGUMENT,
                            "it was not made by one of the spy_arg_*, spy_out_* or spy_inout_* functions");
    }
}

static spy_status spyi_describe_list(spy_device *device, spy_args args, int depth, spyi_values *values,
                                     spyi_text *error) {
    if (depth > SPYI_DEEPEST_STRUCT) {
        spyi_text_add(error, "structs are nested more than %d deep", SPYI_DEEPEST_STRUCT);
        return SPY_ERROR_INVALID_ARGUMENT;
    }
    for (size_t i = 0; i < args.count; i++) {
        const spy_arg *arg = &args.items[i];
        if (values->count == values->capacity) {
            uint32_t capacity = values->capacity ? values->capacity * 2 : 32;
            spyi_value *items = (spyi_value *)realloc(values->items, capacity * sizeof *items);
            if (!items) return SPY_ERROR_OUT_OF_MEMORY;
            values->items = items;
            values->capacity = capacity;
        }
        spyi_value *v = &values->items[values->count++];
        memset(v, 0, sizeof *v);
        v->arg = arg;
        v->name = arg->name;
        v->kind = (uint8_t)arg->kind;
        v->direction = (uint8_t)arg->direction;
        v->cast = arg->type;
        v->map = arg->map;
        if (arg->map_count > SPY_MAX_RANK)
            return spyi_bad_arg(arg, i, error, SPY_ERROR_INVALID_ARGUMENT,
                                "its mapping has more than SPY_MAX_RANK entries");
        v->map_count = (uint8_t)arg->map_count;
        spy_status status = spyi_describe_one(device, arg, i, v, error);
        if (status != SPY_OK) return status;
        if (!spyi_key_room(values, 20 + SPY_MAX_RANK)) return SPY_ERROR_OUT_OF_MEMORY;
        uint8_t *key = values->key + values->key_size;
        uint32_t detail = v->type ? v->type->id : v->kind == SPY_ARG_STRUCT ? v->child_count : v->size;
        key[0] = v->kind;
        key[1] = v->direction;
        key[2] = v->rank;
        key[3] = v->map_count;
        memcpy(key + 4, &detail, 4);
        memcpy(key + 8, arg->map, v->map_count);
        values->key_size += 8u + v->map_count;
        if (v->custom) { // kinds are tables: where one lies says which it is
            memcpy(values->key + values->key_size, &v->custom, sizeof v->custom);
            values->key_size += (uint32_t)sizeof v->custom;
        }
        if (!spyi_key_name(values, v->name) || !spyi_key_name(values, v->cast))
            return SPY_ERROR_OUT_OF_MEMORY;
        if (v->kind == SPY_ARG_STRUCT) {
            spy_args fields;
            fields.items = arg->value.fields;
            fields.count = arg->count;
            status = spyi_describe_list(device, fields, depth + 1, values, error); // may move values->items
            if (status != SPY_OK) return status;
        }
    }
    return SPY_OK;
}

SPYI_FN spy_status spyi_describe(spy_function *function, spy_args args, const spy_call_options *options,
                                 const spyi_threads *threads, spyi_values *values, spyi_text *error) {
    values->count = 0;
    values->options = options;
    values->threads = threads;
    values->thread_count.rank = 0;
    values->key_size = 0;
    if (args.count && !args.items) {
        spyi_text_add(error, "expected %zu arguments, got NULL", args.count);
        return SPY_ERROR_INVALID_ARGUMENT;
    }
    if (!spyi_key_room(values, 4)) return SPY_ERROR_OUT_OF_MEMORY;
    memcpy(values->key, &function->id, 4);
    values->key_size = 4;
    spy_status status = spyi_describe_list(function->object.device, args, 0, values, error);
    if (status == SPY_OK && options) status = spyi_describe_options(options, values, error);
    if (status == SPY_OK && threads &&
        (!spyi_key_bytes(values, "\xfe", 1) ||
         !spyi_key_bytes(values, threads->group, sizeof threads->group)))
        status = SPY_ERROR_OUT_OF_MEMORY;
    if (status == SPY_ERROR_OUT_OF_MEMORY) spyi_text_add(error, "out of host memory");
    return status;
}

SPYI_FN bool spyi_key_add_sizes(spyi_values *values, const uint8_t *sizes) {
    for (uint32_t i = 0; i < values->count; i++) {
        const spyi_value *v = &values->items[i];
        uint32_t trailing = sizes[i] < v->rank ? sizes[i] : v->rank;
        if (!spyi_key_room(values, trailing * sizeof(int64_t))) return false;
        if (trailing)
            memcpy(values->key + values->key_size, v->dims + v->rank - trailing, trailing * sizeof(int64_t));
        values->key_size += trailing * (uint32_t)sizeof(int64_t);
    }
    return true;
}

SPYI_FN void spyi_values_free(spyi_values *values) {
    free(values->items);
    free(values->key);
    memset(values, 0, sizeof *values);
}

SPYI_FN uint32_t spyi_value_end(const spyi_value *values, uint32_t index) {
    uint32_t end = index + 1;
    for (uint32_t i = 0; i < values[index].child_count; i++) end = spyi_value_end(values, end);
    return end;
}

SPYI_FN spy_shape spyi_value_shape(const spyi_value *value) {
    spy_shape shape;
    memset(&shape, 0, sizeof shape);
    shape.rank = value->rank;
    if (value->rank) memcpy(shape.dims, value->dims, value->rank * sizeof *value->dims);
    return shape;
}

SPYI_FN void spyi_value_text(const spyi_value *value, spyi_text *out) {
    const char *way = value->direction == SPY_DIRECTION_OUT     ? "out "
                      : value->direction == SPY_DIRECTION_INOUT ? "inout "
                                                                : "";
    spy_shape shape = spyi_value_shape(value);
    switch (value->kind) {
    case SPY_ARG_BOOL:
    case SPY_ARG_INT:
    case SPY_ARG_UINT:
    case SPY_ARG_FLOAT: spyi_text_add(out, "%s%s number", way, value->type->display); break;
    case SPY_ARG_TENSOR:
        spyi_text_add(out, "%s tensor ", value->type->display);
        spyi_shape_text(&shape, out);
        break;
    case SPY_ARG_ARRAY:
        spyi_text_add(out, "%s%s host array ", way, value->type->display);
        spyi_shape_text(&shape, out);
        break;
    case SPY_ARG_DATA: spyi_text_add(out, "%s%u bytes of host data", way, value->size); break;
    case SPY_ARG_STRUCT: spyi_text_add(out, "struct of %u fields", value->child_count); break;
    case SPY_ARG_NEW: spyi_text_add(out, "new tensor"); break;
    case SPY_ARG_CUSTOM:
        spyi_text_add(out, "%s", value->custom->name);
        if (value->rank) spyi_text_add(out, " ");
        if (value->rank) spyi_shape_text(&shape, out);
        break;
    default: spyi_text_add(out, "nothing"); break;
    }
}

// >>bind/options.c ------------------------------------------------------------------------------------------

// Options of a call: checked and signed at each call, copied when a plan is made.

static const char *spyi_check_options(const spy_call_options *o) {
    uint64_t threads = 1, group = 1;
    if (o->constants.count && !o->constants.items) return "constants has a count, but items is NULL";
    if (o->conformance_count && !o->conformances)
        return "conformance_count is given, but conformances is NULL";
    if (o->conformance_count > 256) return "it has more than 256 conformances";
    for (size_t i = 0; i < o->conformance_count; i++)
        if (!o->conformances[i] || !strchr(o->conformances[i], ':'))
            return "each conformance must be written as \"Type : IInterface\"";
    if (!o->thread_group_size[0] && (o->thread_group_size[1] || o->thread_group_size[2]))
        return "thread_group_size has a y or z, but x is 0";
    for (int i = 0; i < 3; i++) threads *= o->thread_group_size[i] ? o->thread_group_size[i] : 1;
    if (threads > 1024) return "thread_group_size is more than 1024 threads";
    if (o->call_group_shape.rank > SPY_MAX_RANK || o->thread_count.rank > SPY_MAX_RANK)
        return "the rank of call_group_shape or thread_count is above SPY_MAX_RANK";
    for (uint32_t d = 0; d < o->call_group_shape.rank; d++) {
        if (o->call_group_shape.dims[d] < 1 || o->call_group_shape.dims[d] > 65536)
            return "the sizes of call_group_shape must be 1 to 65536";
        group *= (uint64_t)o->call_group_shape.dims[d];
        if (group > ((uint64_t)1 << 30)) return "call_group_shape has more than 2^30 elements";
    }
    for (uint32_t d = 0; d < o->thread_count.rank; d++)
        if (o->thread_count.dims[d] < 0) return "thread_count has a negative size";
    return NULL;
}

SPYI_FN spy_status spyi_describe_options(const spy_call_options *o, spyi_values *values, spyi_text *error) {
    const char *problem = spyi_check_options(o);
    if (problem) {
        spyi_text_add(error, "its options: %s", problem);
        return SPY_ERROR_INVALID_ARGUMENT;
    }
    bool good = spyi_key_bytes(values, "\xff", 1); // no argument's kind
    good =
        good && spyi_key_bytes(values, o->prelude ? o->prelude : "", o->prelude ? strlen(o->prelude) + 1 : 1);
    for (size_t i = 0; i < o->constants.count && good; i++) {
        const spy_arg *c = &o->constants.items[i];
        if (!c->name || c->kind < SPY_ARG_BOOL || c->kind > SPY_ARG_FLOAT ||
            c->direction != SPY_DIRECTION_DEFAULT) {
            spyi_text_add(error, "its options: constant %zu%s%s%s must be a number with a name", i + 1,
                          c->name ? " ('" : "", c->name ? c->name : "", c->name ? "')" : "");
            return SPY_ERROR_INVALID_ARGUMENT;
        }
        good = spyi_key_bytes(values, c->name, strlen(c->name) + 1) &&
               spyi_key_bytes(values, &c->dtype, sizeof c->dtype) &&
               spyi_key_bytes(values, &c->value.u, sizeof c->value.u);
    }
    good = good && spyi_key_bytes(values, "", 1);
    for (size_t i = 0; i < o->conformance_count && good; i++)
        good = spyi_key_bytes(values, o->conformances[i], strlen(o->conformances[i]) + 1);
    uint8_t group_rank = (uint8_t)o->call_group_shape.rank, count_rank = (uint8_t)o->thread_count.rank;
    good = good && spyi_key_bytes(values, o->thread_group_size, sizeof o->thread_group_size) &&
           spyi_key_bytes(values, &group_rank, 1) && spyi_key_bytes(values, &count_rank, 1) &&
           spyi_key_bytes(values, o->call_group_shape.dims, group_rank * sizeof *o->call_group_shape.dims);
    values->thread_count = o->thread_count;
    return good ? SPY_OK : SPY_ERROR_OUT_OF_MEMORY;
}

// A number as Slang reads it, with all its bits.
static void spyi_constant_text(const spy_arg *c, spyi_text *out) {
    spyi_text_add(out, "export public static const %s %s = ", spy_dtype_name(c->dtype), c->name);
    if (c->kind == SPY_ARG_BOOL) spyi_text_add(out, c->value.u ? "true" : "false");
    else if (c->kind == SPY_ARG_INT)
        spyi_text_add(out, "%s(%lldLL)", spy_dtype_name(c->dtype), (long long)c->value.i);
    else if (c->kind == SPY_ARG_UINT)
        spyi_text_add(out, "%s(%lluULL)", spy_dtype_name(c->dtype), (unsigned long long)c->value.u);
    else if (c->dtype == SPY_FLOAT64) spyi_text_add(out, "%.17gL", c->value.f);
    else spyi_text_add(out, "%s(%.9g)", spy_dtype_name(c->dtype), c->value.f);
    spyi_text_add(out, ";\n");
}

SPYI_FN bool spyi_options_copy(const spyi_values *values, spyi_options *options) {
    const spy_call_options *o = values->options;
    memset(options, 0, sizeof *options);
    if (values->threads) memcpy(options->threads, values->threads->group, sizeof options->threads);
    if (!o) return true;
    if (!values->threads) memcpy(options->threads, o->thread_group_size, sizeof options->threads);
    for (int i = 1; i < 3; i++)
        if (options->threads[0] && !options->threads[i]) options->threads[i] = 1;
    options->group = o->call_group_shape;
    options->count_rank = o->thread_count.rank;
    spyi_text prelude = { NULL, 0, 0 };
    for (size_t i = 0; i < o->constants.count; i++) spyi_constant_text(&o->constants.items[i], &prelude);
    if (o->prelude) spyi_text_add(&prelude, "%s\n", o->prelude);
    bool good = !prelude.size || (options->prelude = spyi_strdup(prelude.data)) != NULL;
    spyi_text_free(&prelude);
    if (o->conformance_count) options->conformances = (char **)calloc(o->conformance_count, sizeof(char *));
    good = good && (options->conformances || !o->conformance_count);
    for (size_t i = 0; i < o->conformance_count && good; i++) {
        options->conformances[options->conformance_count++] = spyi_strdup(o->conformances[i]);
        good = options->conformances[i] != NULL;
    }
    return good;
}

SPYI_FN void spyi_options_free(spyi_options *options) {
    free(options->prelude);
    for (uint32_t i = 0; i < options->conformance_count; i++) free(options->conformances[i]);
    free(options->conformances);
    memset(options, 0, sizeof *options);
}

// >>bind/fit.c ----------------------------------------------------------------------------------------------

// What feeds what: costs of scalar conversions, and how element types in memory feed parameter types.
//
// Costs order overloads: 0 identical, 1 widening (and an enum to its integer or back), 2 same width other sign, 3 int to
// float, 6 wider without the sign, 8 an interface, 9 needs a check of each value, 20 a number for a whole vector.
// Source: shared resolution notes of the project, "Recommended design"; lossy conversions of device memory are refused,
// but for the same width with another sign, which keeps the bits as C does.

#define SPYI_NO_FIT UINT32_MAX

static bool spyi_dtype_is_float(spy_dtype d) {
    return d >= SPY_FLOAT16;
}
static bool spyi_dtype_is_signed(spy_dtype d) {
    return d == SPY_INT8 || d == SPY_INT16 || d == SPY_INT32 || d == SPY_INT64;
}

// Converting scalars inside a kernel: values are not looked at, so what could lose them is refused.
static uint32_t spyi_memory_cost(spy_dtype from, spy_dtype to) {
    if (from == to) return 0;
    size_t from_size = spyi_scalar_size(from), to_size = spyi_scalar_size(to);
    if (to == SPY_BOOL) return SPYI_NO_FIT;
    if (from == SPY_BOOL) return spyi_dtype_is_float(to) ? 4 : 2;
    if (spyi_dtype_is_float(from)) return spyi_dtype_is_float(to) && to_size > from_size ? 1 : SPYI_NO_FIT;
    if (spyi_dtype_is_float(to)) { // int32 to float rounds, as in C; int64 to float and int to half lose bits
        if (to_size < from_size) return SPYI_NO_FIT;
        return to_size > from_size ? 3 : 4;
    }
    if (to_size > from_size) return spyi_dtype_is_signed(from) && !spyi_dtype_is_signed(to) ? 6 : 1;
    return to_size == from_size ? 2 : SPYI_NO_FIT; // before any float
}

// Converting host scalars: each value is checked when it is copied, so only the order of preference matters.
static uint32_t spyi_host_cost(spy_dtype from, spy_dtype to) {
    uint32_t cost = spyi_memory_cost(from, to);
    if (cost != SPYI_NO_FIT) return cost;
    if (spyi_dtype_is_float(to)) return spyi_dtype_is_float(from) ? 2 : 4; // rounds
    return 9;
}

static bool spyi_fit_type(const spyi_type *element, const spyi_type *type, bool host, bool output,
                          spyi_fit *fit) {
    fit->cost = 0;
    fit->consumed = 0;
    if (element == type) return true;
    if (type->kind == SPYI_TYPE_ARRAY) { // its count, then what its element takes
        spyi_fit inner;
        if (!spyi_fit_type(element, type->element, host, output, &inner) || inner.consumed + 1 > SPY_MAX_RANK)
            return false;
        fit->cost = inner.cost;
        fit->consumed = inner.consumed + 1;
        fit->dims[0] = type->count;
        memcpy(fit->dims + 1, inner.dims, inner.consumed * sizeof *inner.dims);
        return true;
    }
    bool plain =
        type->kind == SPYI_TYPE_SCALAR || type->kind == SPYI_TYPE_VECTOR || type->kind == SPYI_TYPE_MATRIX;
    bool plain_element = element->kind == SPYI_TYPE_SCALAR || element->kind == SPYI_TYPE_VECTOR ||
                         element->kind == SPYI_TYPE_MATRIX;
    if (!plain || !plain_element) return false;
    fit->cost = host ? spyi_host_cost(element->scalar, type->scalar)
                     : spyi_memory_cost(element->scalar, type->scalar);
    if (fit->cost == SPYI_NO_FIT || (output && fit->cost != 0)) return false;
    if (element->kind == SPYI_TYPE_SCALAR && type->kind == SPYI_TYPE_SCALAR && fit->cost == 0)
        fit->cost = 1; // an enum and its integer
    if (element->kind == type->kind) return element->rows == type->rows && element->columns == type->columns;
    if (element->kind == SPYI_TYPE_MATRIX || type->kind == SPYI_TYPE_SCALAR) return false;
    if (type->kind == SPYI_TYPE_MATRIX) fit->dims[fit->consumed++] = type->rows;
    if (element->kind == SPYI_TYPE_VECTOR) return element->columns == type->columns;
    fit->dims[fit->consumed++] = type->columns;
    return true;
}

SPYI_FN bool spyi_fit_memory(const spyi_type *element, const spyi_type *type, bool output, spyi_fit *fit) {
    return spyi_fit_type(element, type, false, output, fit);
}

SPYI_FN bool spyi_fit_host(const spyi_type *element, const spyi_type *type, bool output, spyi_fit *fit) {
    return spyi_fit_type(element, type, true, output, fit);
}

SPYI_FN const spyi_type *spyi_type_with_scalar(spyi_types *types, const spyi_type *type, spy_dtype scalar) {
    switch (type->kind) {
    case SPYI_TYPE_SCALAR: return spyi_type_scalar(types, scalar);
    case SPYI_TYPE_VECTOR: return spyi_type_vector(types, scalar, type->columns);
    case SPYI_TYPE_MATRIX: return spyi_type_matrix(types, scalar, type->rows, type->columns);
    case SPYI_TYPE_ARRAY:
        return spyi_type_array(types, spyi_type_with_scalar(types, type->element, scalar), type->count);
    default: return type;
    }
}

// >>bind/bind.c ---------------------------------------------------------------------------------------------

// Binding a call: every overload is tried, each argument matched to its parameter, and the cheapest overload wins.
//
// Order: smaller sum of conversion costs; fewer defaulted parameters; concrete before generic. Overloads that still tie
// are an error that lists them. Parameters that are open (generics, interfaces) are asked of Slang itself, with the types
// that the arguments could have, the ones that take the fewest trailing dimensions first.

// One attempt to bind one overload. Grows `bound`; on failure `reason` says why.
typedef struct spyi_attempt {
    spy_function *function;
    spyi_unit *unit;
    spyi_types *types;
    const spyi_values *values;
    spyi_bound bound;
    uint32_t cost;
    bool sized;  // types were chosen by trailing sizes
    bool misfit; // some trailing size is not what the parameter takes: another overload may fit
    uint32_t node_capacity, leaf_capacity;
    spyi_text reason;
    spy_status status; // of the failure
} spyi_attempt;

static bool spyi_no(spyi_attempt *a, spy_status status, const char *format, ...) SPYI_PRINTF(3, 4);
static bool spyi_no(spyi_attempt *a, spy_status status, const char *format, ...) {
    char line[1024];
    va_list list;
    va_start(list, format);
    vsnprintf(line, sizeof line, format, list);
    va_end(list);
    spyi_text_clear(&a->reason);
    spyi_text_add(&a->reason, "%s", line);
    a->status = status;
    return false;
}

static int32_t spyi_add_node(spyi_attempt *a, const char *name, const spyi_type *type, bool in, bool out) {
    spyi_bound *b = &a->bound;
    if (b->node_count == a->node_capacity) {
        uint32_t capacity = a->node_capacity ? a->node_capacity * 2 : 16;
        spyi_node *nodes = (spyi_node *)realloc(b->nodes, capacity * sizeof *nodes);
        if (!nodes) return -1;
        b->nodes = nodes;
        a->node_capacity = capacity;
    }
    spyi_node *node = &b->nodes[b->node_count];
    memset(node, 0, sizeof *node);
    node->name = spyi_strdup(name);
    node->type = type;
    node->leaf = -1;
    node->in = in;
    node->out = out;
    return (int32_t)b->node_count++;
}

static spyi_leaf *spyi_add_leaf(spyi_attempt *a, uint32_t value, const char *path, const spyi_type *type,
                                bool in, bool out) {
    spyi_bound *b = &a->bound;
    if (b->leaf_count == a->leaf_capacity) {
        uint32_t capacity = a->leaf_capacity ? a->leaf_capacity * 2 : 16;
        spyi_leaf *leaves = (spyi_leaf *)realloc(b->leaves, capacity * sizeof *leaves);
        if (!leaves) return NULL;
        b->leaves = leaves;
        a->leaf_capacity = capacity;
    }
    spyi_leaf *leaf = &b->leaves[b->leaf_count++];
    memset(leaf, 0, sizeof *leaf);
    leaf->value = value;
    leaf->path = spyi_strdup(path);
    leaf->type = type;
    leaf->element = type;
    leaf->in = in;
    leaf->out = out;
    return leaf;
}

// Adds why a struct that goes by a known name does not fit: the module's struct of that name is another one.
static void spyi_add_other_struct(const spyi_attempt *a, const spyi_value *v, spyi_text *out) {
    const spyi_type *held = v->type;
    while (held && held->kind == SPYI_TYPE_ARRAY) held = held->element;
    if (!held || held->kind != SPYI_TYPE_STRUCT) return;
    const spyi_type *now = spyi_unit_find_type(a->unit, held->name);
    const spy_module *module = a->function->module;
    if (now == held) return;
    if (!now && module->generation)
        spyi_text_add(out, "; module '%s' was reloaded and has no struct '%s' any more", module->name,
                      held->display);
    else if (now && module->generation)
        spyi_text_add(
            out,
            "; module '%s' was reloaded and struct '%s' changed: it had %u fields in %zu bytes when the "
            "argument was made, and has %u in %zu now",
            module->name, held->display, held->field_count, held->host_size, now->field_count,
            now->host_size);
    else if (now)
        spyi_text_add(out, "; it is another module's struct '%s', whose fields are not those of module '%s'",
                      held->display, module->name);
}

// What is wrong between an argument and a type, in the order function, argument, expected, got.
static bool spyi_mismatch(spyi_attempt *a, const char *path, const spyi_type *type, const spyi_value *v,
                          const char *hint) {
    spyi_text got = { NULL, 0, 0 };
    spyi_value_text(v, &got);
    spyi_add_other_struct(a, v, &got);
    spyi_no(a, SPY_ERROR_TYPE_MISMATCH, "'%s': expected %s, got %s%s", path, type->display,
            spyi_text_str(&got), hint);
    spyi_text_free(&got);
    return false;
}

static bool spyi_check_direction(spyi_attempt *a, const char *path, const spyi_value *v, bool in, bool out) {
    bool returns = v->direction != SPY_DIRECTION_DEFAULT || v->kind == SPY_ARG_NEW;
    if (v->kind == SPY_ARG_TENSOR || v->kind == SPY_ARG_STRUCT) return true;
    if (returns && !out)
        return spyi_no(a, SPY_ERROR_TYPE_MISMATCH, "'%s' is an in parameter, got an output argument", path);
    if (!returns && out)
        return spyi_no(a, SPY_ERROR_TYPE_MISMATCH,
                       "'%s' is an %s parameter: expected a tensor or spy_%s_..., got an input", path,
                       in ? "inout" : "out", in ? "inout" : "out");
    if (in && out && (v->direction == SPY_DIRECTION_OUT || v->kind == SPY_ARG_NEW))
        return spyi_no(a, SPY_ERROR_TYPE_MISMATCH,
                       "'%s' is an inout parameter: expected a tensor or spy_inout_..., got an output", path);
    return true;
}

// Leading dimensions of a leaf to kernel dimensions: aligned at the last one later (see spyi_finish_maps) or as mapped.
static bool spyi_set_batch(spyi_attempt *a, spyi_leaf *leaf, const spyi_value *v, const spyi_fit *fit) {
    if (v->rank < fit->consumed) {
        spyi_text got = { NULL, 0, 0 };
        spyi_value_text(v, &got);
        spyi_no(a, SPY_ERROR_TYPE_MISMATCH, "'%s': %s takes %u trailing dimensions, got %s", leaf->path,
                leaf->type->display, fit->consumed, spyi_text_str(&got));
        spyi_text_free(&got);
        return false;
    }
    leaf->consumed = fit->consumed;
    memcpy(leaf->consumed_dims, fit->dims, fit->consumed * sizeof *fit->dims);
    leaf->batch_rank = v->rank - fit->consumed;
    for (uint32_t d = 0; d < fit->consumed; d++)
        if (fit->dims[d] != -1 && v->dims[leaf->batch_rank + d] != fit->dims[d]) a->misfit = true;
    if (v->map_count && v->map_count != leaf->batch_rank)
        return spyi_no(a, SPY_ERROR_SHAPE_MISMATCH,
                       "'%s': its mapping names %u dimensions, but %u of its %u are run over (%s takes %u)",
                       leaf->path, v->map_count, leaf->batch_rank, v->rank, leaf->type->display,
                       fit->consumed);
    for (uint32_t i = 0; i < v->map_count; i++) {
        int kernel_dim = v->map[i];
        if (kernel_dim < 0 || kernel_dim >= SPY_MAX_RANK)
            return spyi_no(a, SPY_ERROR_OUT_OF_RANGE,
                           "'%s': its mapping names dimension %d; expected 0 to %d", leaf->path, kernel_dim,
                           SPY_MAX_RANK - 1);
        for (uint32_t j = 0; j < i; j++)
            if (leaf->map[j] == kernel_dim)
                return spyi_no(a, SPY_ERROR_INVALID_ARGUMENT, "'%s': its mapping names dimension %d twice",
                               leaf->path, kernel_dim);
        leaf->map[i] = (uint8_t)kernel_dim;
    }
    return true;
}

static bool spyi_bind_number(spyi_attempt *a, spyi_leaf *leaf, const spyi_value *v, const char *path) {
    const spyi_type *type = leaf->type;
    spyi_fit fit;
    if (leaf->out) {
        if (type->kind != SPYI_TYPE_SCALAR || type->scalar != v->type->scalar) // enums are their integers
            return spyi_mismatch(a, path, type, v, "; an output takes exactly the parameter's type");
        leaf->source = SPYI_SOURCE_READBACK;
        return true;
    }
    leaf->source = SPYI_SOURCE_SCALAR;
    leaf->splat = type->kind == SPYI_TYPE_VECTOR || type->kind == SPYI_TYPE_MATRIX;
    const spyi_type *scalar = leaf->splat ? spyi_type_scalar(a->types, type->scalar) : type;
    if (!spyi_fit_host(v->type, scalar, false, &fit) || fit.consumed)
        return spyi_mismatch(a, path, type, v, "");
    leaf->element = scalar;
    a->cost += fit.cost + (leaf->splat ? 20 : 0);
    return true;
}

// Device layout has no bare bool: its scalars are uint where a kernel loads them on their own.
static bool spyi_bind_array(spyi_attempt *a, spyi_leaf *leaf, const spyi_value *v, const char *path) {
    const spyi_type *type = leaf->type;
    spyi_fit fit;
    bool host = v->kind == SPY_ARG_ARRAY;
    bool fits = host ? spyi_fit_host(v->type, type, leaf->out, &fit)
                     : spyi_fit_memory(v->type, type, leaf->out, &fit);
    if (!fits) {
        bool device_double = !host && v->type->scalar == SPY_FLOAT64 && type->scalar == SPY_FLOAT32;
        return spyi_mismatch(a, path, type, v,
                             device_double ? "; device float64 is not converted: make a float32 tensor"
                             : leaf->out   ? "; outputs are not converted"
                                           : "");
    }
    if (!spyi_set_batch(a, leaf, v, &fit)) return false;
    a->cost += fit.cost;
    if (!host) {
        leaf->source = SPYI_SOURCE_TENSOR;
        leaf->element = v->type;
    } else if (leaf->batch_rank == 0) {
        leaf->source = leaf->out ? SPYI_SOURCE_READBACK : SPYI_SOURCE_INLINE;
    } else { // converted while it is uploaded
        leaf->source = SPYI_SOURCE_UPLOAD;
        const spyi_type *scalar = type;
        while (scalar->kind == SPYI_TYPE_ARRAY) scalar = scalar->element;
        leaf->element = spyi_type_scalar(a->types, scalar->scalar);
    }
    return true;
}

static bool spyi_bind_kind(spyi_attempt *a, spyi_leaf *leaf, const spyi_value *v,
                           const spyi_value_kind *kind) {
    if (leaf->out) return spyi_mismatch(a, leaf->path, leaf->type, v, "; it cannot be an output");
    leaf->source = SPYI_SOURCE_KIND;
    leaf->kind = kind;
    if (!kind->bind(a->types, v, leaf)) return spyi_mismatch(a, leaf->path, leaf->type, v, "");
    a->bound.uses_library = true;
    a->bound.names_library = a->bound.names_library || leaf->kind_type;
    spyi_fit fit;
    memset(&fit, 0, sizeof fit);
    fit.consumed = leaf->consumed;
    memcpy(fit.dims, leaf->consumed_dims, sizeof fit.dims);
    return spyi_set_batch(a, leaf, v, &fit);
}

// Matches value number `index` (and its fields) to a parameter or field of `type`; the new node's number in *node_out.
static bool spyi_bind_value(spyi_attempt *a, uint32_t index, const spyi_type *type, const char *name,
                            const char *path, bool in, bool out, int32_t *node_out);

static bool spyi_bind_fields(spyi_attempt *a, uint32_t index, const spyi_type *type, const char *path,
                             bool in, bool out, int32_t node) {
    const spyi_value *v = &a->values->items[index];
    if (type->kind != SPYI_TYPE_STRUCT && !type->field_count) return spyi_mismatch(a, path, type, v, "");
    if (v->child_count != type->field_count) {
        // Too many are found below by name; here for the count alone.
        if (v->child_count > type->field_count)
            return spyi_no(a, SPY_ERROR_TYPE_MISMATCH, "'%s': %s has %u fields, got %u", path, type->display,
                           type->field_count, v->child_count);
    }
    int32_t *children = (int32_t *)malloc((type->field_count + 1) * sizeof *children);
    if (!children) return spyi_no(a, SPY_ERROR_OUT_OF_MEMORY, "out of host memory");
    for (uint32_t f = 0; f < type->field_count; f++) children[f] = -1;
    bool good = true;
    uint32_t child = index + 1, position = 0;
    for (uint32_t i = 0; good && i < v->child_count; i++, child = spyi_value_end(a->values->items, child)) {
        const char *field_name = a->values->items[child].name;
        uint32_t f = position;
        if (!field_name || !field_name[0]) position++;
        else
            for (f = 0; f < type->field_count && strcmp(type->fields[f].name, field_name) != 0; f++) {}
        if (f >= type->field_count) {
            good = spyi_no(a, SPY_ERROR_NOT_FOUND, "'%s': %s has no field '%s'", path, type->display,
                           field_name ? field_name : "");
        } else if (children[f] >= 0) {
            good = spyi_no(a, SPY_ERROR_INVALID_ARGUMENT, "'%s': field '%s' is given twice", path,
                           type->fields[f].name);
        } else {
            spyi_text field_path = { NULL, 0, 0 };
            spyi_text_add(&field_path, "%s.%s", path, type->fields[f].name);
            good = spyi_bind_value(a, child, type->fields[f].type, type->fields[f].name,
                                   spyi_text_str(&field_path), in, out, &children[f]);
            spyi_text_free(&field_path);
        }
    }
    for (uint32_t f = 0; good && f < type->field_count; f++)
        if (children[f] < 0)
            good = spyi_no(a, SPY_ERROR_NOT_FOUND, "'%s': field '%s' of %s is missing", path,
                           type->fields[f].name, type->display);
    if (good) { // children lie anywhere in the list: link them through a run of copies at its end
        uint32_t first = a->bound.node_count;
        for (uint32_t f = 0; good && f < type->field_count; f++) {
            spyi_node copy = a->bound.nodes[children[f]];
            int32_t at = spyi_add_node(a, copy.name, copy.type, copy.in, copy.out);
            good = at >= 0;
            if (good) {
                a->bound.nodes[at].leaf = copy.leaf;
                a->bound.nodes[at].first = copy.first;
                a->bound.nodes[at].count = copy.count;
            }
        }
        a->bound.nodes[node].first = first;
        a->bound.nodes[node].count = type->field_count;
    }
    free(children);
    return good;
}

static bool spyi_bind_value(spyi_attempt *a, uint32_t index, const spyi_type *type, const char *name,
                            const char *path, bool in, bool out, int32_t *node_out) {
    const spyi_value *v = &a->values->items[index];
    const spyi_value_kind *kind = v->kind == SPY_ARG_CUSTOM ? v->custom : spyi_kind_of_parameter(type, v);
    bool by_fields = v->kind == SPY_ARG_STRUCT && type->field_count > 0;
    if ((type->kind == SPYI_TYPE_OTHER && !kind && !by_fields) || type->kind == SPYI_TYPE_VOID)
        return spyi_mismatch(a, path, type, v,
                             type->kind == SPYI_TYPE_VOID ? ""
                             : spyi_kind_takes(type)      ? spyi_kind_takes(type)
                                                          : "; this kind of parameter cannot be passed");
    if (!spyi_check_direction(a, path, v, in, out)) return false;
    if (v->map_count && v->kind != SPY_ARG_TENSOR && v->kind != SPY_ARG_ARRAY && !v->rank)
        return spyi_no(a, SPY_ERROR_INVALID_ARGUMENT,
                       "'%s': only tensors and host arrays have dimensions to map", path);
    if (v->cast && v->kind != SPY_ARG_NEW) {
        const spyi_type *cast = spyi_unit_find_type(a->unit, v->cast);
        if (!cast)
            return spyi_no(a, SPY_ERROR_NOT_FOUND, "'%s': spy_cast names '%s', which is no type", path,
                           v->cast);
        if (cast != type)
            return spyi_no(a, SPY_ERROR_TYPE_MISMATCH, "'%s': expected %s, got a cast to %s", path,
                           type->display, cast->display);
    }
    int32_t node = spyi_add_node(a, name, type, in, out);
    if (node < 0) return spyi_no(a, SPY_ERROR_OUT_OF_MEMORY, "out of host memory");
    *node_out = node;
    if (v->kind == SPY_ARG_STRUCT) return spyi_bind_fields(a, index, type, path, in, out, node);
    spyi_leaf *leaf = spyi_add_leaf(a, index, path, type, in, out);
    if (!leaf) return spyi_no(a, SPY_ERROR_OUT_OF_MEMORY, "out of host memory");
    a->bound.nodes[node].leaf = (int32_t)a->bound.leaf_count - 1;
    if (kind && v->tensor && in &&
        strchr(path, '.')) // of a struct that changes: it stays the tensor that it is
        leaf->out = a->bound.nodes[node].out = false;
    if (kind && !spyi_bind_kind(a, leaf, v, kind)) return false;
    if (kind && leaf->kind_type &&
        strcmp(leaf->kind_type, type->name) != 0) { // an interface gets its implementation
        a->bound.nodes[node].type = spyi_type_other(a->types, leaf->kind_type);
        a->cost += 8;
    }
    if (kind) return true;
    switch (v->kind) {
    case SPY_ARG_TENSOR:
    case SPY_ARG_ARRAY: return spyi_bind_array(a, leaf, v, path);
    case SPY_ARG_DATA:
        if (v->size != type->host_size)
            return spyi_no(a, SPY_ERROR_TYPE_MISMATCH, "'%s': %s has %zu bytes in C's layout, got %u", path,
                           type->display, type->host_size, v->size);
        leaf->source = out ? SPYI_SOURCE_READBACK : SPYI_SOURCE_BYTES;
        return true;
    case SPY_ARG_NEW: leaf->source = SPYI_SOURCE_NEW; return true;
    default: return spyi_bind_number(a, leaf, v, path);
    }
}

// The type of a whole value in memory: float3 for a float tensor (N, 3), int3 for an int one.
static const spyi_type *spyi_packed_type(spyi_types *types, const spyi_leaf *leaf) {
    if (leaf->source == SPYI_SOURCE_READBACK) return leaf->type;
    if (leaf->consumed == 0) return leaf->element;
    const spyi_type *inner = leaf->element;
    while (inner->kind == SPYI_TYPE_ARRAY) inner = inner->element;
    return inner->kind == SPYI_TYPE_STRUCT ? leaf->type
                                           : spyi_type_with_scalar(types, leaf->type, inner->scalar);
}

// Gives implicit leaves their kernel dimensions (aligned at the last one) and new tensors all of them.
static bool spyi_finish_maps(spyi_attempt *a) {
    spyi_bound *b = &a->bound;
    for (uint32_t i = 0; b->dispatch && i < b->leaf_count; i++) {
        const spyi_leaf *leaf = &b->leaves[i];
        if (leaf->batch_rank)
            return spyi_no(a, SPY_ERROR_SHAPE_MISMATCH,
                           "'%s': a dispatch passes arguments whole, but %u dimensions are left over",
                           leaf->path, leaf->batch_rank);
        if (leaf->out)
            return spyi_no(a, SPY_ERROR_TYPE_MISMATCH,
                           "'%s': the threads of a dispatch cannot share an output; take an RWTensor or "
                           "RWStructuredBuffer",
                           leaf->path);
    }
    const spy_call_options *options = a->values->options;
    b->rank = a->values->thread_count.rank;
    for (uint32_t i = 0; i < b->leaf_count; i++) {
        spyi_leaf *leaf = &b->leaves[i];
        const spyi_value *v = &a->values->items[leaf->value];
        if (leaf->batch_rank > b->rank) b->rank = leaf->batch_rank;
        for (uint32_t d = 0; d < v->map_count; d++)
            if (leaf->map[d] + 1u > b->rank) b->rank = leaf->map[d] + 1u;
    }
    if (options && options->call_group_shape.rank > b->rank)
        return spyi_no(a, SPY_ERROR_SHAPE_MISMATCH,
                       "its options: call_group_shape has %u dimensions, the call has %u",
                       options->call_group_shape.rank, b->rank);
    for (uint32_t i = 0; i < b->leaf_count; i++) {
        spyi_leaf *leaf = &b->leaves[i];
        const spyi_value *v = &a->values->items[leaf->value];
        if (leaf->source == SPYI_SOURCE_NEW) leaf->batch_rank = b->rank;
        leaf->packed = spyi_packed_type(a->types, leaf);
        if (!v->map_count)
            for (uint32_t d = 0; d < leaf->batch_rank; d++)
                leaf->map[d] = (uint8_t)(b->rank - leaf->batch_rank + d);
        if (b->strict && !v->map_count && leaf->batch_rank != 0 && leaf->batch_rank != b->rank)
            return spyi_no(
                a, SPY_ERROR_SHAPE_MISMATCH,
                "'%s': strict_broadcasting needs %u leading dimensions as the other arguments have, got %u",
                leaf->path, b->rank, leaf->batch_rank);
    }
    return true;
}

// >>arguments to parameters

// For each parameter the index of its top-level value, or -1; the result's value in *result.
static bool spyi_match_names(spyi_attempt *a, const spyi_signature *signature, int32_t *of_param,
                             int32_t *result) {
    const spyi_values *values = a->values;
    uint32_t n = signature->param_count, position = 0;
    *result = -1;
    for (uint32_t p = 0; p < n; p++) of_param[p] = -1;
    uint32_t count = 0;
    for (uint32_t i = 0; i < values->count; i = spyi_value_end(values->items, i))
        if (!values->items[i].name || strcmp(values->items[i].name, "_result") != 0) count++;
    if (count > n)
        return spyi_no(a, SPY_ERROR_INVALID_ARGUMENT, "it takes %u argument%s, got %u", n, n == 1 ? "" : "s",
                       count);
    for (uint32_t i = 0; i < values->count; i = spyi_value_end(values->items, i)) {
        const char *name = values->items[i].name;
        if (name && strcmp(name, "_result") == 0) {
            if (*result >= 0) return spyi_no(a, SPY_ERROR_INVALID_ARGUMENT, "'_result' is given twice");
            *result = (int32_t)i;
            continue;
        }
        // Those that the system fills come first in the list, and are passed over by position.
        while (position < n && of_param[position] >= 0 && spyi_is_system(&values->items[of_param[position]]))
            position++;
        uint32_t p = position;
        if (name && name[0]) {
            for (p = 0; p < n && strcmp(signature->params[p].name, name) != 0; p++) {}
            if (p == n) return spyi_no(a, SPY_ERROR_NOT_FOUND, "it has no parameter '%s'", name);
        } else {
            position++;
        }
        if (of_param[p] >= 0)
            return spyi_no(a, SPY_ERROR_INVALID_ARGUMENT, "parameter '%s' is given twice",
                           signature->params[p].name);
        of_param[p] = (int32_t)i;
    }
    uint32_t given = 0;
    for (uint32_t p = 0; p < n; p++) {
        if (of_param[p] < 0 && !signature->params[p].has_default)
            return spyi_no(a, SPY_ERROR_INVALID_ARGUMENT, "parameter '%s' is missing",
                           signature->params[p].name);
        if (of_param[p] >= 0) {
            if (given != p)
                return spyi_no(a, SPY_ERROR_INVALID_ARGUMENT,
                               "parameter '%s' is given, so '%s' before it is needed as well",
                               signature->params[p].name, signature->params[given].name);
            given++;
        }
    }
    return true;
}

// Binds parameters and result once every parameter type is known.
static bool spyi_bind_params(spyi_attempt *a, const spyi_signature *signature, const spyi_type *const *types,
                             const int32_t *of_param, int32_t result) {
    spyi_bound *b = &a->bound;
    // Parameters first in the node list, then the result; their fields follow, so places are taken beforehand.
    uint32_t given = 0;
    while (given < signature->param_count && of_param[given] >= 0) given++;
    uint32_t tops = given + (result >= 0 ? 1u : 0u);
    for (uint32_t i = 0; i < tops; i++)
        if (spyi_add_node(a, "", NULL, false, false) < 0)
            return spyi_no(a, SPY_ERROR_OUT_OF_MEMORY, "out of host memory");
    b->param_count = given;
    b->has_result = result >= 0;
    for (uint32_t i = 0; i < tops; i++) {
        bool is_result = i == given;
        const spyi_param *p = is_result ? NULL : &signature->params[i];
        const char *name = is_result ? "_result" : p->name;
        const spyi_type *type = is_result ? signature->result : types[i];
        int32_t node = -1;
        if (is_result && type->kind == SPYI_TYPE_VOID)
            return spyi_no(a, SPY_ERROR_TYPE_MISMATCH, "'_result': the function returns nothing");
        if (!spyi_bind_value(a, (uint32_t)(is_result ? result : of_param[i]), type, name, name,
                             !is_result && p->in, is_result || p->out, &node))
            return false;
        free(b->nodes[i].name);
        b->nodes[i] = b->nodes[node];
        b->nodes[i].name = spyi_strdup(name);
    }
    return spyi_finish_maps(a);
}

static void spyi_bound_reset(spyi_attempt *a) {
    bool strict = a->bound.strict, call_info = a->bound.call_info;
    bool dispatch = a->bound.dispatch, guarded = a->bound.guarded, shader = a->bound.shader;
    spyi_bound_free(&a->bound);
    a->bound.dispatch = dispatch;
    a->bound.guarded = guarded;
    a->bound.shader = shader;
    a->bound.strict = strict;
    a->bound.call_info = a->bound.names_library = call_info;
    a->cost = 0;
    a->misfit = false;
    a->node_capacity = a->leaf_capacity = 0;
}

// >>open parameters

// A tensor as a whole, for what takes any type that implements ITensor or IRWTensor.
static const spyi_type *spyi_whole_view(spyi_attempt *a, const spyi_value *v, uint32_t form) {
    char name[512];
    snprintf(name, sizeof name, "%s<%s, %u>", form == 3 ? "Tensor" : "RWTensor", v->type->name, v->rank);
    return strlen(name) + 1 < sizeof name ? spyi_unit_find_type(a->unit, name) : NULL;
}

// The type that `value` has when its `consumed` trailing dimensions are part of it; NULL: no such view.
// `form` tells apart views of the same dimensions: 0 vectors and matrices, 1 arrays of vectors, 2 arrays, 3 and 4 tensors.
static const spyi_type *spyi_view_type(spyi_attempt *a, const spyi_value *v, uint32_t consumed,
                                       uint32_t form) {
    if (v->cast) return consumed == 0 && form == 0 ? spyi_unit_find_type(a->unit, v->cast) : NULL;
    if (!v->type) return NULL;
    if (consumed == 0 && form < 3) return form == 0 ? v->type : NULL;
    if (form >= 3) return consumed == 0 && v->tensor && v->rank ? spyi_whole_view(a, v, form) : NULL;
    if (consumed > v->rank || consumed > 2) return NULL;
    int64_t last = v->dims[v->rank - 1], before = consumed == 2 ? v->dims[v->rank - 2] : 0;
    bool scalar = v->type->kind == SPYI_TYPE_SCALAR;
    bool last_short = last >= 2 && last <= 4, before_short = before >= 2 && before <= 4;
    if (last < 1 || (consumed == 2 && before < 1)) return NULL;
    if (form == 0) {
        if (!scalar || !last_short || (consumed == 2 && !before_short)) return NULL;
        return consumed == 1 ? spyi_type_vector(a->types, v->type->scalar, (uint32_t)last)
                             : spyi_type_matrix(a->types, v->type->scalar, (uint32_t)before, (uint32_t)last);
    }
    if (form == 1) {
        if (!scalar || consumed != 2 || !last_short) return NULL;
        return spyi_type_array(a->types, spyi_type_vector(a->types, v->type->scalar, (uint32_t)last), before);
    }
    const spyi_type *row = spyi_type_array(a->types, v->type, last);
    return consumed == 1 ? row : spyi_type_array(a->types, row, before);
}

// Slang takes a number for a vector of any length as one of length 1.
static bool spyi_is_single(const spyi_leaf *leaf) {
    return leaf->splat && leaf->type->rows == 1 && leaf->type->columns == 1;
}

// Asks Slang with one choice of views; true when it accepts and the arguments then fit with these very views.
static bool spyi_try_views(spyi_attempt *a, int overload, const spyi_signature *open, const int32_t *of_param,
                           int32_t result, const spyi_type *const *views, const uint32_t *consumed,
                           uint32_t given) {
    spyi_signature signature;
    memset(&signature, 0, sizeof signature);
    int chosen = 0;
    if (!spyi_unit_resolve(a->unit, a->function->name, overload, views, given, &signature, &chosen))
        return false;
    const spyi_type **types = (const spyi_type **)calloc(signature.param_count + 1, sizeof *types);
    bool good = types && signature.param_count == open->param_count;
    for (uint32_t p = 0; good && p < given; p++)
        types[p] = signature.params[p].type->kind == SPYI_TYPE_OTHER ? views[p] : signature.params[p].type;
    spyi_bound_reset(a);
    good = good && spyi_bind_params(a, &signature, types, of_param, result);
    for (uint32_t p = 0; good && p < given; p++)
        if (signature.params[p].type->kind == SPYI_TYPE_OTHER) a->cost += 8; // a type of its own is nearer
    for (uint32_t i = 0; good && i < a->bound.leaf_count; i++)
        for (uint32_t p = 0; p < given; p++)
            if (a->bound.leaves[i].value == (uint32_t)of_param[p] &&
                a->bound.leaves[i].source != SPYI_SOURCE_KIND &&
                open->params[p].type->kind == SPYI_TYPE_OTHER && a->values->items[of_param[p]].type &&
                !a->values->items[of_param[p]].cast)
                good = good && a->bound.leaves[i].consumed == consumed[p] &&
                       !spyi_is_single(&a->bound.leaves[i]);
    free(types);
    if (good) a->bound.signature = signature;
    else spyi_signature_free(&signature);
    return good;
}

// Names the open parameters and what they got.
static void spyi_no_open(spyi_attempt *a, const spyi_signature *open, const int32_t *of_param) {
    spyi_text text = { NULL, 0, 0 };
    for (uint32_t p = 0; p < open->param_count; p++) {
        if (open->params[p].type->kind != SPYI_TYPE_OTHER || of_param[p] < 0) continue;
        spyi_text_add(&text, "%s'%s': expected %s, got ", text.size ? "; " : "", open->params[p].name,
                      open->params[p].type->display);
        spyi_value_text(&a->values->items[of_param[p]], &text);
        spyi_add_other_struct(a, &a->values->items[of_param[p]], &text);
    }
    spyi_no(a, SPY_ERROR_TYPE_MISMATCH,
            "%s; no type that the arguments can have fits (buffers and textures cannot be passed)",
            spyi_text_str(&text));
    spyi_text_free(&text);
}

#define SPYI_MOST_QUERIES 600 // of one overload; a real call takes a handful

// One search over the views of the open parameters of an overload.
typedef struct spyi_search {
    spyi_attempt *attempt;
    int overload;
    const spyi_signature *open;
    const int32_t *of_param;
    int32_t result;
    uint32_t given;
    bool *fixed; // parameters whose view is known
    const spyi_type **views;
    uint32_t *consumed;
    int queries;
} spyi_search;

// Tries all choices for parameter `p` and those after it that consume `total` dimensions together.
static bool spyi_search_views(spyi_search *q, uint32_t p, uint32_t total) {
    while (p < q->given && q->fixed[p]) p++;
    if (p == q->given) {
        if (total != 0 || q->queries++ >= SPYI_MOST_QUERIES) return false;
        return spyi_try_views(q->attempt, q->overload, q->open, q->of_param, q->result, q->views, q->consumed,
                              q->given);
    }
    const spyi_value *v = &q->attempt->values->items[q->of_param[p]];
    for (uint32_t consumed = 0; consumed <= 2 && consumed <= total; consumed++) {
        for (uint32_t form = 0; form < 5 && q->queries < SPYI_MOST_QUERIES; form++) {
            q->views[p] = spyi_view_type(q->attempt, v, consumed, form);
            q->consumed[p] = consumed;
            if (q->views[p] && spyi_search_views(q, p + 1, total - consumed)) return true;
        }
    }
    return false;
}

// The type of an argument that leaves no choice: the parameter's own, or the tensor that it is passed as.
static const spyi_type *spyi_fixed_view(spyi_attempt *a, const spyi_type *type, const spyi_value *v) {
    spyi_text name = { NULL, 0, 0 };
    if (type->kind == SPYI_TYPE_OTHER && v->tensor) spyi_whole_type_name(a->types, type, v, &name);
    const spyi_type *whole = name.size ? spyi_unit_find_type(a->unit, name.data) : NULL;
    spyi_text_free(&name);
    return whole ? whole : type;
}

static bool spyi_bind_open(spyi_attempt *a, int overload, const spyi_signature *open, const int32_t *of_param,
                           int32_t result) {
    spyi_search q;
    memset(&q, 0, sizeof q);
    q.attempt = a;
    q.overload = overload;
    q.open = open;
    q.of_param = of_param;
    q.result = result;
    while (q.given < open->param_count && of_param[q.given] >= 0) q.given++;
    q.views = (const spyi_type **)calloc(q.given + 1, sizeof *q.views);
    q.consumed = (uint32_t *)calloc(q.given + 1, sizeof *q.consumed);
    q.fixed = (bool *)calloc(q.given + 1, sizeof *q.fixed);
    bool found = false, possible = q.views && q.consumed && q.fixed;
    uint32_t most = 0; // dimensions that views can consume together
    for (uint32_t p = 0; possible && p < q.given; p++) {
        const spyi_value *v = &a->values->items[of_param[p]];
        if (open->params[p].type->kind != SPYI_TYPE_OTHER ||
            spyi_kind_of_parameter(open->params[p].type, v)) {
            q.views[p] = spyi_fixed_view(a, open->params[p].type, v);
            q.fixed[p] = true;
        } else if (!spyi_view_type(a, v, 0, 0)) {
            possible = spyi_no(
                a, SPY_ERROR_TYPE_MISMATCH,
                "'%s': its type %s is open (say which with spy_cast) or has parts that cannot be passed",
                open->params[p].name, open->params[p].type->display);
        } else {
            most += v->rank < 2 ? v->rank : 2;
        }
    }
    // Choices that consume 0 dimensions in all, then 1, ...: the element type wins over vectors and arrays.
    for (uint32_t total = 0; possible && !found && total <= most; total++) {
        found = spyi_search_views(&q, 0, total);
        if (found && total) a->sized = true;
    }
    if (!found && possible) spyi_no_open(a, open, of_param);
    free(q.views);
    free(q.consumed);
    free(q.fixed);
    return found;
}

// >>overloads

static bool spyi_bind_overload(spyi_attempt *a, uint32_t overload) {
    const spyi_signature *signature = &a->function->overloads.items[overload];
    uint32_t n = signature->param_count;
    int32_t *of_param = (int32_t *)malloc((n + 1) * sizeof *of_param);
    const spyi_type **types = (const spyi_type **)malloc((n + 1) * sizeof *types);
    int32_t result = -1;
    bool open = signature->generic;
    bool good = of_param && types && spyi_match_names(a, signature, of_param, &result);
    for (uint32_t p = 0; good && p < n; p++) {
        types[p] = signature->params[p].type;
        open = open || (of_param[p] >= 0 && types[p]->kind == SPYI_TYPE_OTHER && !types[p]->field_count &&
                        !spyi_kind_takes(types[p]));
    }
    if (good && open) {
        good = spyi_bind_open(a, (int)overload, signature, of_param, result);
    } else if (good) {
        good = spyi_bind_params(a, signature, types, of_param, result);
        if (good) {
            // The function keeps its own signature; the plan gets a copy of what it needs of it.
            a->bound.signature.display = spyi_strdup(signature->display);
            a->bound.signature.spelling = spyi_strdup(signature->spelling);
            a->bound.signature.callee = signature->callee;
            a->bound.signature.result = signature->result;
            a->bound.signature.differentiable = signature->differentiable;
        }
    }
    free(of_param);
    free(types);
    return good;
}

static uint32_t spyi_defaulted(const spyi_attempt *a, uint32_t overload) {
    return a->function->overloads.items[overload].param_count - a->bound.param_count;
}

// Slang's own words on why a call with these arguments fits no overload, when types can be named.
static void spyi_add_compiler_notes(spy_function *function, const spyi_values *values, spyi_text *error) {
    const spyi_type *types[32];
    uint32_t count = 0;
    for (uint32_t i = 0; i < values->count; i = spyi_value_end(values->items, i)) {
        const spyi_value *v = &values->items[i];
        if (v->name && strcmp(v->name, "_result") == 0) continue;
        if (!v->type || count == 32) return;
        types[count++] = v->type;
    }
    spyi_text notes = { NULL, 0, 0 };
    spyi_unit_explain(function->module->unit, function->name, types, count, &notes);
    if (notes.size) spyi_text_add(error, "\nSlang says, for single elements:\n%s", spyi_text_str(&notes));
    spyi_text_free(&notes);
}

// Whether Slang would find a call of one overload with `given` arguments, as the kernel makes it, ambiguous because of
// another: it ranks neither f(float) above f(float, float = 1) nor f(float) above f(inout float).
static bool spyi_same_to_slang(const spyi_signature *one, const spyi_signature *other, uint32_t given) {
    if (one->generic || other->generic || other->param_count < given) return false;
    for (uint32_t p = 0; p < other->param_count; p++)
        if (p < given ? one->params[p].type != other->params[p].type : !other->params[p].has_default)
            return false;
    return true;
}

SPYI_FN spy_status spyi_bind(spy_function *function, const spyi_values *values, spyi_bound *bound,
                             spyi_text *error) {
    uint32_t n = function->overloads.count, best = n, ties = 0;
    bool generic_failed = false;
    spyi_attempt attempt, winner;
    spyi_text reasons = { NULL, 0, 0 }, tied = { NULL, 0, 0 }, twins = { NULL, 0, 0 };
    spy_status status = SPY_ERROR_TYPE_MISMATCH;
    uint32_t fitting = 0;
    bool sized = false;
    if (n == 0) {
        spyi_text_add(error, "module '%s' was reloaded and has no function '%s' any more",
                      function->module->name, function->name);
        return SPY_ERROR_NOT_FOUND;
    }
    uint8_t *sizes =
        (uint8_t *)calloc(values->count + 1, 1); // most dimensions that any fitting overload takes
    memset(&winner, 0, sizeof winner);
    for (uint32_t i = 0; i < n; i++) {
        const spyi_signature *signature = &function->overloads.items[i];
        memset(&attempt, 0, sizeof attempt);
        attempt.function = function;
        attempt.unit = function->module->unit;
        attempt.types = function->object.device->types;
        attempt.values = values;
        attempt.bound.strict = function->module->strict_broadcasting;
        attempt.bound.dispatch = values->threads != NULL;
        attempt.bound.guarded = values->threads && values->threads->guarded;
        attempt.bound.shader = values->threads && values->threads->shader;
        attempt.bound.call_info = spyi_unit_imports_library(function->module->unit);
        attempt.bound.names_library = attempt.bound.call_info;
        attempt.status = SPY_ERROR_OUT_OF_MEMORY; // unless a reason is given
        bool good = spyi_bind_overload(&attempt, i);
        if (!good) {
            spyi_text_add(&reasons, "\n    %s\n        %s", signature->display,
                          spyi_text_str(&attempt.reason));
            if (n == 1) status = attempt.status;
            generic_failed = generic_failed || signature->generic;
        }
        for (uint32_t l = 0; good && sizes && l < attempt.bound.leaf_count; l++) {
            const spyi_leaf *leaf = &attempt.bound.leaves[l];
            uint32_t sized_dims = 0; // a tensor that is passed whole has further ones, of any size
            while (sized_dims < leaf->consumed && leaf->consumed_dims[leaf->consumed - 1 - sized_dims] != -1)
                sized_dims++;
            if (sized_dims > sizes[leaf->value]) sizes[leaf->value] = (uint8_t)sized_dims;
        }
        fitting += good;
        sized = sized || (good && attempt.sized);
        bool better = false, equal = false;
        if (good && best < n) {
            uint32_t missing = spyi_defaulted(&attempt, i), best_missing = spyi_defaulted(&winner, best);
            bool generic = signature->generic, best_generic = function->overloads.items[best].generic;
            if (attempt.misfit != winner.misfit) better = winner.misfit;
            else if (attempt.cost != winner.cost) better = attempt.cost < winner.cost;
            else if (missing != best_missing) better = missing < best_missing;
            else if (generic != best_generic) better = !generic;
            else equal = true;
        }
        if (good && (best == n || better)) {
            spyi_bound_free(&winner.bound);
            spyi_text_free(&winner.reason);
            winner = attempt;
            best = i;
            ties = 1;
            spyi_text_clear(&tied);
            spyi_text_add(&tied, "\n    %s", signature->display);
            continue;
        }
        if (equal) {
            ties++;
            spyi_text_add(&tied, "\n    %s", signature->display);
        }
        spyi_bound_free(&attempt.bound);
        spyi_text_free(&attempt.reason);
    }
    for (uint32_t i = 0; best < n && ties == 1 && i < n; i++) {
        const spyi_signature *other = &function->overloads.items[i];
        if (i != best &&
            spyi_same_to_slang(&function->overloads.items[best], other, winner.bound.param_count))
            spyi_text_add(&twins, "\n    %s", other->display);
    }
    if (!sizes) {
        status = SPY_ERROR_OUT_OF_MEMORY;
        spyi_text_add(error, "out of host memory");
    } else if (twins.size) {
        status = SPY_ERROR_AMBIGUOUS;
        spyi_text_add(error, "Slang cannot tell calls of these overloads apart; rename one:\n    %s%s",
                      function->overloads.items[best].display, spyi_text_str(&twins));
    } else if (best < n && ties == 1) {
        for (uint32_t i = 0; i < values->count; i++) sized = sized || (fitting > 1 && sizes[i]);
        *bound = winner.bound;
        bound->sizes = sized ? sizes : NULL;
        if (sized) sizes = NULL;
        memset(&winner.bound, 0, sizeof winner.bound);
        status = SPY_OK;
    } else if (best < n) {
        status = winner.misfit ? SPY_ERROR_SHAPE_MISMATCH : SPY_ERROR_AMBIGUOUS;
        spyi_text_add(error,
                      winner.misfit
                          ? "the trailing sizes of the arguments are those of none of %u overloads:%s"
                          : "%u overloads fit equally well; choose one with spy_cast or spy_map:%s",
                      ties, spyi_text_str(&tied));
    } else {
        spyi_text_add(error, "the arguments %s:%s", n == 1 ? "do not fit" : "fit no overload",
                      spyi_text_str(&reasons));
        if (generic_failed && function->overloads.items[0].callee == SPYI_CALLEE_FUNCTION)
            spyi_add_compiler_notes(function, values, error);
    }
    free(sizes);
    spyi_bound_free(&winner.bound);
    spyi_text_free(&winner.reason);
    spyi_text_free(&reasons);
    spyi_text_free(&tied);
    spyi_text_free(&twins);
    return status;
}

SPYI_FN void spyi_bound_free(spyi_bound *bound) {
    for (uint32_t i = 0; i < bound->leaf_count; i++) free(bound->leaves[i].path);
    for (uint32_t i = 0; i < bound->node_count; i++) free(bound->nodes[i].name);
    free(bound->leaves);
    free(bound->nodes);
    free(bound->sizes);
    spyi_options_free(&bound->options);
    spyi_signature_free(&bound->signature);
    memset(bound, 0, sizeof *bound);
}

SPYI_FN void spyi_bound_text(const spyi_bound *bound, const spyi_values *values, spyi_text *out) {
    for (uint32_t i = 0; i < bound->leaf_count; i++) {
        const spyi_leaf *leaf = &bound->leaves[i];
        spyi_text value = { NULL, 0, 0 }, map = { NULL, 0, 0 };
        spyi_value_text(&values->items[leaf->value], &value);
        for (uint32_t d = 0; d < leaf->batch_rank; d++) spyi_text_add(&map, d ? ", %u" : "%u", leaf->map[d]);
        spyi_text_add(out, "  %-20s %-6s %-12s <- %-32s dimensions (%s)%s\n", leaf->path,
                      leaf->in && leaf->out ? "inout"
                      : leaf->out           ? "out"
                                            : "in",
                      leaf->type->display, spyi_text_str(&value), spyi_text_str(&map),
                      leaf->consumed ? ", trailing ones feed the type" : "");
        spyi_text_free(&value);
        spyi_text_free(&map);
    }
}

// >>emit/emit.h ---------------------------------------------------------------------------------------------

// Emission: the text of one kernel variant of a bound call, and the program that packs its parameter block.

#define SPYI_MOST_MEMORY_LEAVES 64

// How a leaf's memory is walked, told by the strides of the collapsed dimensions.
typedef enum spyi_walk_kind {
    SPYI_WALK_UNIFORM, // all strides 0: loaded once
    SPYI_WALK_LINEAR,  // element number = thread's element number
    SPYI_WALK_INNER,   // wide: neighbours along the innermost dimension, other strides any
    SPYI_WALK_STILL,   // wide: innermost stride 0, other strides any
    SPYI_WALK_STRIDED  // any strides
} spyi_walk_kind;

#define SPYI_WALK_MASK 7u
#define SPYI_WALK_GATHER 8u    // consumed dimensions are not packed: components are loaded one by one
#define SPYI_WALK_REVERSED 16u // some stride is negative: indices count from the lowest element

// What tells one variant of a plan's kernel from another. Compared as bytes.
typedef struct spyi_variant_key {
    uint8_t rank;     // collapsed dimensions; 0: one element
    uint8_t width;    // neighbouring elements a thread: 1, or 4 in wide variants
    uint8_t unroll;   // elements a thread that lie a group apart: 1, or 4 in flat variants of large calls
    uint8_t bindings; // structured buffers instead of pointers
    uint8_t index64;  // offsets beyond 32 bits
    uint8_t folded;   // more groups than one dimension holds
    uint8_t walk_count;
    uint8_t grouped;                       // threads are placed by call groups; dimensions are not collapsed
    uint8_t walk[SPYI_MOST_MEMORY_LEAVES]; // by leaf: spyi_walk_kind, _GATHER, _REVERSED; unused ones 0
} spyi_variant_key;

// One step of packing: `offset` is where in the block.
typedef enum spyi_pack_op {
    SPYI_PACK_COUNT,   // elements, uint32
    SPYI_PACK_ROW,     // threads of a row of groups, uint32
    SPYI_PACK_THREADS, // of a dispatch in x, y or z (`dim`), uint32
    SPYI_PACK_GROUPS,  // groups of a dispatch in x, y or z, uint32
    SPYI_PACK_SHAPE,   // size of the call's own dimension `dim`, uint32
    SPYI_PACK_SIZE,    // size of collapsed dimension `dim`, uint32
    SPYI_PACK_MAGIC,   // its multiplier for division, uint32
    SPYI_PACK_SHIFT,   // and its shift, uint32
    SPYI_PACK_BASE,    // elements from the binding's start, or the lowest one, to the first; uint32 or int64
    SPYI_PACK_STRIDE,  // of the leaf along collapsed dimension `dim`, int32 or int64
    SPYI_PACK_INNER,   // of the leaf along consumed dimension `dim`, int32 or int64
    SPYI_PACK_ADDRESS, // of the leaf's lowest element, uint64; from here on calls of equal shapes differ
    SPYI_PACK_SCALAR,  // number, converted
    SPYI_PACK_BYTES,   // host value in the device's layout
    SPYI_PACK_INLINE,  // host array in the device's layout
    SPYI_PACK_KIND     // what the leaf's kind packs
} spyi_pack_op;

typedef struct spyi_pack {
    uint8_t op; // spyi_pack_op
    uint8_t dim;
    uint16_t leaf;
    uint32_t offset;
} spyi_pack;

// A kernel's text and how to call it.
typedef struct spyi_emitted {
    spyi_text text;
    spyi_pack *packs;
    uint32_t pack_count;
    uint32_t block_size;
    bool block_by_address;
    uint32_t binding_count;
    uint16_t bindings[SPYI_MOST_MEMORY_LEAVES]; // leaf of each binding
    uint32_t group_size;
} spyi_emitted;

#define SPYI_KERNEL_ENTRY "spyi_kernel"

SPYI_FN spy_status spyi_emit(const spy_function *function, const spyi_bound *bound,
                             const spyi_variant_key *key, spyi_emitted *out, spyi_text *error);
// What packs the parameters of a compiled shader of the module's own; `out` has been emitted without text.
SPYI_FN spy_status spyi_emit_entry(const spy_function *function, const spyi_bound *bound, const spyi_entry *entry,
                                   spyi_emitted *out, spyi_text *error);
// Threads of a group of a kernel over `rank` collapsed dimensions.
SPYI_FN uint32_t spyi_group_size(const spyi_bound *bound, const spyi_limits *limits, uint32_t rank);
// Elements of a call group along each of the call's dimensions; false: there are no groups, and all are 1.
SPYI_FN bool spyi_call_group(const spyi_bound *bound, uint32_t group[SPY_MAX_RANK]);
SPYI_FN void spyi_emitted_free(spyi_emitted *emitted);

// A type as Slang code spells it.
SPYI_FN const char *spyi_spell(const spyi_type *type);
// Whether a variant loads a leaf as vectors of `width` scalars.
SPYI_FN bool spyi_key_is_vector(const spyi_variant_key *key, uint32_t leaf);
// Whether a leaf lies in device memory; else it travels in the block.
SPYI_FN bool spyi_leaf_in_memory(const spyi_leaf *leaf);
// Whether it is a tensor that a kind passes whole.
SPYI_FN bool spyi_leaf_is_whole(const spyi_leaf *leaf);
// Whether several neighbours of this leaf can be loaded as one vector.
SPYI_FN bool spyi_leaf_can_widen(const spyi_leaf *leaf);

// >>emit/internal.h -----------------------------------------------------------------------------------------

// What the two files of this room share: the state of one emission and the text of a leaf's loads and stores.

typedef struct spyi_emit_state {
    const spyi_bound *bound;
    const spyi_variant_key *key;
    spyi_types *types;
    spyi_emitted *out;
    spyi_text fields;  // of the parameter block's struct
    spyi_text buffers; // entry-point parameters
    spyi_text body;
    char **names;   // of each leaf in block and buffers: its path with dots replaced
    char **lvalues; // of each leaf in the kernel; NULL: used where it lies
    bool *fresh;    // the leaf's variable is declared where it is loaded
    uint32_t pack_capacity;
    size_t block_align;  // largest alignment of a field
    uint32_t element;    // which of the thread's elements is being written
    char suffix[8];      // of its variables: "", or "_0", "_1", ... when there are several
    uint32_t max_groups; // in one dimension
    bool failed;         // out of memory
} spyi_emit_state;

SPYI_FN void spyi_element_text(const spyi_emit_state *s, spyi_text *out); // the current element's number
SPYI_FN void spyi_make_names(spyi_emit_state *s);
SPYI_FN void spyi_declare_block(spyi_emit_state *s);
SPYI_FN bool spyi_needs_coordinates(const spyi_emit_state *s); // some leaf is neither uniform nor linear
SPYI_FN bool spyi_has_tail(const spyi_emit_state *s);          // wide: the last vector may be partly valid
SPYI_FN bool spyi_is_wide(const spyi_emit_state *s, uint32_t leaf); // loaded as vectors
SPYI_FN bool spyi_is_hoisted(const spyi_emit_state *s,
                             uint32_t leaf); // one value for all of a thread's elements
SPYI_FN bool spyi_gathers(const spyi_emit_state *s, uint32_t leaf);
SPYI_FN uint32_t spyi_walk_of(const spyi_emit_state *s, uint32_t leaf);
// Text that happens once a thread: hoisted values, vectors in, and vectors out.
SPYI_FN void spyi_emit_thread_loads(spyi_emit_state *s);
SPYI_FN void spyi_emit_thread_stores(spyi_emit_state *s);
// The leaf's value for the current element as an expression, if it needs no variable; false: it does.
SPYI_FN bool spyi_leaf_expression(const spyi_emit_state *s, uint32_t leaf, spyi_text *out);
// Fills the leaf's variable, or writes it back.
SPYI_FN void spyi_emit_leaf_load(spyi_emit_state *s, uint32_t leaf, const char *indent);
SPYI_FN void spyi_emit_leaf_store(spyi_emit_state *s, uint32_t leaf, const char *indent);

// >>emit/leaf.c ---------------------------------------------------------------------------------------------

// One leaf in a kernel: how it is declared in the parameter block, where its elements lie, how they are loaded and stored.

// >>leaves

SPYI_FN bool spyi_leaf_in_memory(const spyi_leaf *leaf) {
    return leaf->source == SPYI_SOURCE_TENSOR || leaf->source == SPYI_SOURCE_UPLOAD ||
           leaf->source == SPYI_SOURCE_NEW || leaf->source == SPYI_SOURCE_READBACK;
}

SPYI_FN bool spyi_leaf_is_whole(const spyi_leaf *leaf) {
    return leaf->source == SPYI_SOURCE_KIND && (leaf->reads || leaf->writes);
}

SPYI_FN bool spyi_leaf_can_widen(const spyi_leaf *leaf) {
    return leaf->type->kind == SPYI_TYPE_SCALAR || leaf->type->kind == SPYI_TYPE_VECTOR;
}

// As Slang code spells a type.
SPYI_FN const char *spyi_spell(const spyi_type *type) {
    bool alias = type->kind == SPYI_TYPE_MATRIX // "int8_t2x3" is no name in Slang
                     ? type->scalar == SPY_BOOL || type->scalar == SPY_INT32 || type->scalar == SPY_UINT32 ||
                           type->scalar >= SPY_FLOAT16
                     : type->kind == SPYI_TYPE_OTHER
                           ? strncmp(type->name, "Ptr<", 4) == 0
                           : type->kind != SPYI_TYPE_ARRAY && type->kind != SPYI_TYPE_STRUCT;
    return alias ? type->display : type->name;
}

// As a type is declared in memory: bare bools are uints there, since SPIR-V has no bool vectors in memory.
static void spyi_spell_memory(const spyi_type *type, spyi_text *out) {
    bool bare = type->kind == SPYI_TYPE_SCALAR || type->kind == SPYI_TYPE_VECTOR;
    if (!bare || type->scalar != SPY_BOOL) spyi_text_add(out, "%s", spyi_spell(type));
    else if (type->kind == SPYI_TYPE_SCALAR) spyi_text_add(out, "uint");
    else spyi_text_add(out, "uint%u", type->columns);
}

static bool spyi_bare_bool(const spyi_type *type) {
    return (type->kind == SPYI_TYPE_SCALAR || type->kind == SPYI_TYPE_VECTOR) && type->scalar == SPY_BOOL;
}

// `expression` of memory type `from` as a value of type `to`.
static void spyi_spell_load(const spyi_type *from, const spyi_type *to, const char *expression,
                            spyi_text *out) {
    if (spyi_bare_bool(from) && spyi_bare_bool(to)) spyi_text_add(out, "%s != 0", expression);
    else if (spyi_bare_bool(from)) spyi_text_add(out, "%s(%s != 0)", spyi_spell(to), expression);
    else if (from == to) spyi_text_add(out, "%s", expression);
    else spyi_text_add(out, "%s(%s)", spyi_spell(to), expression);
}

// A value of type `from` as it is stored; outputs never change scalars otherwise.
static void spyi_spell_store(const spyi_type *from, const char *expression, spyi_text *out) {
    if (!spyi_bare_bool(from)) {
        spyi_text_add(out, "%s", expression);
    } else {
        spyi_spell_memory(from, out);
        spyi_text_add(out, "(%s)", expression);
    }
}

// >>how a leaf is walked

SPYI_FN uint32_t spyi_walk_of(const spyi_emit_state *s, uint32_t leaf) {
    return s->key->walk[leaf] & SPYI_WALK_MASK;
}
SPYI_FN bool spyi_gathers(const spyi_emit_state *s, uint32_t leaf) {
    return (s->key->walk[leaf] & SPYI_WALK_GATHER) != 0;
}

SPYI_FN bool spyi_key_is_vector(const spyi_variant_key *key, uint32_t leaf) {
    uint32_t walk = key->walk[leaf] & SPYI_WALK_MASK;
    return key->width > 1 && (walk == SPYI_WALK_LINEAR || walk == SPYI_WALK_INNER);
}

SPYI_FN bool spyi_is_wide(const spyi_emit_state *s, uint32_t leaf) {
    return spyi_key_is_vector(s->key, leaf);
}

SPYI_FN bool spyi_is_hoisted(const spyi_emit_state *s, uint32_t i) {
    uint32_t walk = spyi_walk_of(s, i);
    return !s->bound->leaves[i].out &&
           (walk == SPYI_WALK_UNIFORM || (s->key->width > 1 && walk == SPYI_WALK_STILL));
}

SPYI_FN bool spyi_has_tail(const spyi_emit_state *s) {
    return s->key->width > 1 && s->key->rank == 1;
}

SPYI_FN bool spyi_needs_coordinates(const spyi_emit_state *s) {
    for (uint32_t i = 0; i < s->bound->leaf_count; i++)
        if (spyi_leaf_in_memory(&s->bound->leaves[i]) && spyi_walk_of(s, i) >= SPYI_WALK_INNER) return true;
    return false;
}

// Whether indices of the leaf begin at a number of their own. A pointer's index must not be negative: NVIDIA's driver
// takes it as unsigned.
static bool spyi_has_base(const spyi_emit_state *s, uint32_t leaf) {
    return (s->key->bindings && !spyi_is_wide(s, leaf)) || (s->key->walk[leaf] & SPYI_WALK_REVERSED);
}

// The type in which a leaf's memory is declared, per element of its walk.
static const spyi_type *spyi_memory_type(const spyi_emit_state *s, uint32_t i) {
    const spyi_leaf *leaf = &s->bound->leaves[i];
    return spyi_gathers(s, i) ? leaf->element : leaf->packed;
}

// Through pointers and in push constants NVIDIA's driver gets the upper half of 64-bit vectors of 3 and 4 wrong at some
// places: those go scalar by scalar.
static bool spyi_is_long_vector(const spyi_type *type) {
    return type->kind == SPYI_TYPE_VECTOR && type->columns > 2 && spyi_scalar_size(type->scalar) == 8;
}

static bool spyi_is_split(const spyi_emit_state *s, uint32_t i) {
    return !s->key->bindings && !spyi_is_wide(s, i) && spyi_is_long_vector(spyi_memory_type(s, i));
}

// Scalars of one element: as many vectors hold the thread's elements of a wide leaf.
static uint32_t spyi_components(const spyi_emit_state *s, uint32_t i) {
    return spyi_memory_type(s, i)->columns;
}

// >>the block

static void spyi_add_pack(spyi_emit_state *s, spyi_pack_op op, uint32_t dim, uint32_t leaf, uint32_t offset) {
    spyi_emitted *e = s->out;
    if (e->pack_count == s->pack_capacity) {
        uint32_t capacity = s->pack_capacity ? s->pack_capacity * 2 : 32;
        spyi_pack *packs = (spyi_pack *)realloc(e->packs, capacity * sizeof *packs);
        if (!packs) {
            s->failed = true;
            return;
        }
        e->packs = packs;
        s->pack_capacity = capacity;
    }
    spyi_pack *pack = &e->packs[e->pack_count++];
    pack->op = (uint8_t)op;
    pack->dim = (uint8_t)dim;
    pack->leaf = (uint16_t)leaf;
    pack->offset = offset;
}

// A field of the block: its text, its place, and the step that fills it.
static void spyi_add_field(spyi_emit_state *s, spyi_pack_op op, uint32_t dim, uint32_t leaf, size_t size,
                           size_t align, const char *format, ...) SPYI_PRINTF(7, 8);
static void spyi_add_field(spyi_emit_state *s, spyi_pack_op op, uint32_t dim, uint32_t leaf, size_t size,
                           size_t align, const char *format, ...) {
    char line[2048]; // names of types reach 1,000 characters
    va_list list;
    va_start(list, format);
    vsnprintf(line, sizeof line, format, list);
    va_end(list);
    spyi_text_add(&s->fields, "    %s;\n", line);
    size_t offset = spyi_align(s->out->block_size, align);
    if (align > s->block_align) s->block_align = align;
    spyi_add_pack(s, op, dim, leaf, (uint32_t)offset);
    s->out->block_size = (uint32_t)(offset + size);
}

// Names of leaves in block and buffers: paths, but without what our own names have: "_count", "x__stride0".
SPYI_FN void spyi_make_names(spyi_emit_state *s) {
    const spyi_bound *b = s->bound;
    for (uint32_t i = 0; i < b->leaf_count && !s->failed; i++) {
        spyi_text name = { NULL, 0, 0 };
        if (b->leaves[i].path[0] == '_' && strncmp(b->leaves[i].path, "_result", 7) != 0)
            spyi_text_add(&name, "p");
        if (strcmp(b->leaves[i].path, "this") == 0) spyi_text_add(&name, "instance_"); // no keyword
        for (const char *c = b->leaves[i].path; *c; c++) {
            char put = *c == '.' ? '_' : *c;
            if (put != '_' || !name.size || name.data[name.size - 1] != '_') spyi_text_add_n(&name, &put, 1);
        }
        for (uint32_t j = 0; j < i; j++) { // "a.b" beside "a_b"
            if (strcmp(s->names[j], spyi_text_str(&name)) != 0) continue;
            spyi_text_add(&name, "__n%u", i);
            break;
        }
        s->names[i] = name.data;
        s->failed = !name.data;
    }
}

static void spyi_declare_leaf(spyi_emit_state *s, uint32_t i) {
    const spyi_leaf *leaf = &s->bound->leaves[i];
    const spyi_type *memory = spyi_memory_type(s, i);
    spyi_text type = { NULL, 0, 0 };
    if (spyi_is_wide(s, i)) { // vectors of scalars, whatever the element
        spyi_spell_memory(spyi_type_scalar(s->types, memory->scalar), &type);
        spyi_text_add(&type, "%u", s->key->width);
    } else {
        spyi_spell_memory(spyi_is_split(s, i) ? memory->element : memory, &type);
    }
    if (!s->key->bindings) {
        spyi_add_field(s, SPYI_PACK_ADDRESS, 0, i, 8, 8, "%s* %s", spyi_text_str(&type), s->names[i]);
    } else {
        spyi_text_add(&s->buffers, ",\n                uniform %sStructuredBuffer<%s> b_%s",
                      leaf->out ? "RW" : "", spyi_text_str(&type), s->names[i]);
        s->out->bindings[s->out->binding_count++] = (uint16_t)i;
    }
    spyi_text_free(&type);
}

// Three numbers, in x, y and z.
static void spyi_add_numbers(spyi_emit_state *s, spyi_pack_op op, const char *name) {
    spyi_add_field(s, op, 0, 0, 4, 4, "uint %s[3]", name);
    for (uint32_t d = 1; d < 3; d++, s->out->block_size += 4) spyi_add_pack(s, op, d, 0, s->out->block_size);
}

static void spyi_declare_kind(spyi_emit_state *s, uint32_t i) {
    const spyi_leaf *leaf = &s->bound->leaves[i];
    spyi_text type = { NULL, 0, 0 };
    if (!leaf->field_size) return;
    leaf->kind->field(leaf, &type);
    spyi_add_field(s, SPYI_PACK_KIND, 0, i, leaf->field_size, leaf->field_align, "%s %s",
                   spyi_text_str(&type), s->names[i]);
    spyi_text_free(&type);
}

// Where the current element is, for kinds: its number among the call's elements.
static void spyi_kind_value(const spyi_emit_state *s, uint32_t i, spyi_text *out) {
    const spyi_leaf *leaf = &s->bound->leaves[i];
    spyi_text field = { NULL, 0, 0 }, element = { NULL, 0, 0 };
    spyi_place_text at;
    spyi_text_add(&field, "spyi.%s", s->names[i]);
    spyi_element_text(s, &element);
    at.field = spyi_text_str(&field);
    at.element = spyi_text_str(&element);
    at.shape = "spyi._shape";
    at.rank = s->bound->rank;
    leaf->kind->load(leaf, &at, out);
    spyi_text_free(&field);
    spyi_text_free(&element);
}

SPYI_FN void spyi_declare_block(spyi_emit_state *s) {
    const spyi_bound *b = s->bound;
    const spyi_variant_key *key = s->key;
    const char *index = key->index64 ? "int64_t" : "int";
    size_t index_size = key->index64 ? 8 : 4;
    for (uint32_t i = 0; i < b->leaf_count; i++) // addresses first: they need 8-byte places
        if (spyi_leaf_in_memory(&b->leaves[i])) spyi_declare_leaf(s, i);
    if (key->rank > 0) spyi_add_field(s, SPYI_PACK_COUNT, 0, 0, 4, 4, "uint _count");
    if (key->folded && !b->dispatch) spyi_add_field(s, SPYI_PACK_ROW, 0, 0, 4, 4, "uint _row");
    if (b->guarded) spyi_add_numbers(s, SPYI_PACK_THREADS, "_threads");
    if (b->dispatch && key->folded) spyi_add_numbers(s, SPYI_PACK_GROUPS, "_groups");
    if (b->uses_library || b->call_info || key->grouped) {
        spyi_add_field(s, SPYI_PACK_SHAPE, 0, 0, 4, 4, "int _shape[%u]", b->rank ? b->rank : 1);
        for (uint32_t d = 1; d < b->rank; d++, s->out->block_size += 4)
            spyi_add_pack(s, SPYI_PACK_SHAPE, d, 0, s->out->block_size);
    }
    if (spyi_needs_coordinates(s) && !key->grouped) {
        for (uint32_t d = 1; d < key->rank; d++) {
            spyi_add_field(s, SPYI_PACK_SIZE, d, 0, 4, 4, "uint _size%u", d);
            spyi_add_field(s, SPYI_PACK_MAGIC, d, 0, 4, 4, "uint _magic%u", d);
            spyi_add_field(s, SPYI_PACK_SHIFT, d, 0, 4, 4, "uint _shift%u", d);
        }
    }
    for (uint32_t i = 0; i < b->leaf_count; i++) {
        const spyi_leaf *leaf = &b->leaves[i];
        const char *name = s->names[i];
        if (leaf->source == SPYI_SOURCE_KIND) {
            spyi_declare_kind(s, i);
            continue;
        }
        if (!spyi_leaf_in_memory(leaf)) {
            const spyi_type *type = leaf->source == SPYI_SOURCE_SCALAR ? leaf->element : leaf->type;
            spyi_pack_op op = leaf->source == SPYI_SOURCE_SCALAR  ? SPYI_PACK_SCALAR
                              : leaf->source == SPYI_SOURCE_BYTES ? SPYI_PACK_BYTES
                                                                  : SPYI_PACK_INLINE;
            if (spyi_is_long_vector(type))
                spyi_add_field(s, op, 0, i, type->device_size, type->device_align, "%s %s[%u]",
                               spyi_spell(type->element), name, type->columns);
            else
                spyi_add_field(s, op, 0, i, type->device_size, type->device_align, "%s %s", spyi_spell(type),
                               name);
            continue;
        }
        uint32_t walk = spyi_walk_of(s, i);
        if (spyi_has_base(s, i))
            spyi_add_field(s, SPYI_PACK_BASE, 0, i, index_size, index_size, "%s %s__base",
                           key->index64 ? index : "uint", name);
        for (uint32_t d = 0; d < key->rank && walk >= SPYI_WALK_INNER; d++)
            if (d + 1 < key->rank || walk == SPYI_WALK_STRIDED)
                spyi_add_field(s, SPYI_PACK_STRIDE, d, i, index_size, index_size, "%s %s__stride%u", index,
                               name, d);
        for (uint32_t d = 0; d < leaf->consumed && spyi_gathers(s, i); d++)
            spyi_add_field(s, SPYI_PACK_INNER, d, i, index_size, index_size, "%s %s__inner%u", index, name,
                           d);
    }
    if (s->out->block_size) // as large as the compiler makes it, and whole words
        s->out->block_size = (uint32_t)spyi_align(spyi_align(s->out->block_size, s->block_align), 4);
}

// >>places

// Where leaf `i`'s current element lies: "spyi.x[...]". Wide leaves: vector number `vector` of the thread's.
static void spyi_place(const spyi_emit_state *s, uint32_t i, uint32_t vector, const char *inner, bool store,
                       spyi_text *out) {
    const spyi_variant_key *key = s->key;
    const char *name = s->names[i];
    uint32_t walk = spyi_walk_of(s, i);
    bool wide = spyi_is_wide(s, i);
    const char *plus = "";
    spyi_text_add(out, key->bindings ? "b_%s[" : "spyi.%s[", name);
    if (spyi_has_base(s, i)) {
        spyi_text_add(out, "spyi.%s__base", name);
        plus = " + ";
    }
    if (wide) {
        uint32_t n = spyi_components(s, i);
        if (walk == SPYI_WALK_LINEAR) spyi_text_add(out, "spy_vector");
        else spyi_text_add(out, "%s_at", name);
        if (n > 1) spyi_text_add(out, " * %u", n);
        if (vector) spyi_text_add(out, " + %u", vector);
        plus = " + ";
    } else if (walk == SPYI_WALK_LINEAR) {
        // Of several elements all are loaded, so that the loads are under way together; the last one stands
        // in for those behind the end.
        const char *form = s->suffix[0] && !store ? "min(spy_i%s, spy_last)" : "spy_i%s";
        spyi_text_add(out, "%s", plus);
        spyi_text_add(out, form, s->suffix);
        plus = " + ";
    } else if (walk != SPYI_WALK_UNIFORM) {
        spyi_text_add(out, "%s%s_at", plus, name);
        plus = " + ";
        if (walk == SPYI_WALK_STRIDED && key->width > 1 && s->element) {
            spyi_text_add(out, spyi_has_tail(s) ? " + int(min(%uu, spy_valid - 1))" : " + %u", s->element);
            spyi_text_add(out, " * spyi.%s__stride%u", name, key->rank - 1u);
        }
    }
    if (inner[0]) spyi_text_add(out, "%s%s", plus, inner);
    else if (!plus[0]) spyi_text_add(out, "0");
    spyi_text_add(out, "]");
}

// >>loads and stores

// Component `c` of the current element in the vectors of a wide leaf: "w_x_1.z".
static void spyi_component(const spyi_emit_state *s, uint32_t i, uint32_t c, spyi_text *out) {
    uint32_t n = spyi_components(s, i), at = s->element * n + c;
    spyi_text_add(out, "w_%s", s->names[i]);
    if (n > 1) spyi_text_add(out, "__%u", at / s->key->width);
    spyi_text_add(out, ".%c", "xyzw"[at % s->key->width]);
}

static void spyi_wide_value(const spyi_emit_state *s, uint32_t i, spyi_text *out) {
    const spyi_type *memory = spyi_memory_type(s, i);
    uint32_t n = memory->columns;
    spyi_text value = { NULL, 0, 0 };
    if (n > 1) {
        spyi_spell_memory(memory, &value);
        spyi_text_add(&value, "(");
    }
    for (uint32_t c = 0; c < n; c++) {
        if (c) spyi_text_add(&value, ", ");
        spyi_component(s, i, c, &value);
    }
    if (n > 1) spyi_text_add(&value, ")");
    if (n == 1) memory = spyi_type_scalar(s->types, memory->scalar); // vectors of enums hold their integers
    spyi_spell_load(memory, s->bound->leaves[i].type, spyi_text_str(&value), out);
    spyi_text_free(&value);
}

static void spyi_wide_store(spyi_emit_state *s, uint32_t i, const char *indent) {
    const spyi_type *memory = spyi_memory_type(s, i);
    const spyi_type *scalar = spyi_type_scalar(s->types, memory->scalar);
    for (uint32_t c = 0; c < memory->columns; c++) {
        spyi_text from = { NULL, 0, 0 }, line = { NULL, 0, 0 };
        spyi_text_add(&from, "%s", s->lvalues[i]);
        if (memory->columns > 1) spyi_text_add(&from, ".%c", "xyzw"[c]);
        spyi_text_add(&line, "%s", indent);
        spyi_component(s, i, c, &line);
        spyi_text_add(&line, " = ");
        spyi_spell_store(scalar, spyi_text_str(&from), &line);
        spyi_text_add(&s->body, "%s;\n", spyi_text_str(&line));
        spyi_text_free(&from);
        spyi_text_free(&line);
    }
}

// Loads or stores one value of leaf `i` between memory and the variable `value`; gathered ones piece by piece.
static void spyi_move_value(spyi_emit_state *s, uint32_t i, const char *value, bool store,
                            const char *indent) {
    const spyi_leaf *leaf = &s->bound->leaves[i];
    spyi_text place = { NULL, 0, 0 }, part = { NULL, 0, 0 }, inner = { NULL, 0, 0 }, line = { NULL, 0, 0 };
    const spyi_type *memory = spyi_memory_type(s, i);
    const spyi_type *type = leaf->type;
    spyi_text_add(&part, "%s", value);
    spyi_text_add(&line, "%s", indent);
    if (spyi_gathers(s, i)) {
        int64_t pieces = 1;
        for (uint32_t d = 0; d < leaf->consumed; d++) pieces *= leaf->consumed_dims[d];
        for (uint32_t d = 0; d < leaf->consumed; d++) {
            spyi_text_add(&line, "%sfor (int spy_%u = 0; spy_%u < %lld; ++spy_%u) ",
                          pieces <= 16 ? "[ForceUnroll] " : "", d, d, (long long)leaf->consumed_dims[d], d);
            spyi_text_add(&part, "[spy_%u]", d);
            spyi_text_add(&inner, "%sspy_%u * spyi.%s__inner%u", d ? " + " : "", d, s->names[i], d);
            type = type->element ? type->element : type;
        }
    }
    spyi_place(s, i, 0, spyi_text_str(&inner), store, &place);
    if (spyi_is_split(s, i)) {
        char *index = strchr(place.data, '[') + 1; // "spyi.x[" index "]"
        int before = (int)(index - place.data), length = (int)place.size - before - 1;
        spyi_text value_text = { NULL, 0, 0 };
        if (!store) spyi_text_add(&value_text, "%s(", spyi_spell(memory));
        else spyi_text_add(&line, "{ ");
        for (uint32_t c = 0; c < memory->columns; c++) {
            spyi_text *to = store ? &line : &value_text;
            spyi_text_add(to, "%s%.*s(%.*s) * %u + %u]", c && !store ? ", " : "", before, place.data, length,
                          index, memory->columns, c);
            if (store) spyi_text_add(to, " = %s.%c; ", spyi_text_str(&part), "xyzw"[c]);
        }
        if (store) {
            spyi_text_add(&line, "}");
        } else {
            spyi_text_add(&value_text, ")");
            if (s->fresh[i]) spyi_text_add(&line, "%s ", spyi_spell(leaf->type));
            spyi_text_add(&line, "%s = ", spyi_text_str(&part));
            spyi_spell_load(memory, type, spyi_text_str(&value_text), &line);
        }
        spyi_text_free(&value_text);
    } else if (store) {
        spyi_text_add(&line, "%s = ", spyi_text_str(&place));
        spyi_spell_store(type, spyi_text_str(&part), &line);
    } else {
        if (s->fresh[i]) spyi_text_add(&line, "%s ", spyi_spell(leaf->type));
        spyi_text_add(&line, "%s = ", spyi_text_str(&part));
        spyi_spell_load(memory, type, spyi_text_str(&place), &line);
    }
    spyi_text_add(&s->body, "%s;\n", spyi_text_str(&line));
    spyi_text_free(&place);
    spyi_text_free(&part);
    spyi_text_free(&inner);
    spyi_text_free(&line);
}

static void spyi_load_vectors(spyi_emit_state *s, uint32_t i) {
    const spyi_leaf *leaf = &s->bound->leaves[i];
    uint32_t n = spyi_components(s, i);
    spyi_text type = { NULL, 0, 0 };
    spyi_spell_memory(spyi_type_scalar(s->types, spyi_memory_type(s, i)->scalar), &type);
    spyi_text_add(&type, "%u", s->key->width);
    for (uint32_t v = 0; v < n; v++) {
        spyi_text name = { NULL, 0, 0 }, place = { NULL, 0, 0 };
        spyi_text_add(&name, n > 1 ? "w_%s__%u" : "w_%s", s->names[i], v);
        spyi_place(s, i, v, "", false, &place);
        if (leaf->in) spyi_text_add(&s->body, "    %s %s = %s;\n", type.data, name.data, place.data);
        else spyi_text_add(&s->body, "    %s %s;\n", type.data, name.data);
        spyi_text_free(&name);
        spyi_text_free(&place);
    }
    spyi_text_free(&type);
}

SPYI_FN void spyi_emit_thread_loads(spyi_emit_state *s) {
    for (uint32_t i = 0; i < s->bound->leaf_count; i++) {
        const spyi_leaf *leaf = &s->bound->leaves[i];
        if (!spyi_leaf_in_memory(leaf)) continue;
        if (spyi_is_wide(s, i)) {
            spyi_load_vectors(s, i);
        } else if (spyi_is_hoisted(s, i)) {
            spyi_text name = { NULL, 0, 0 };
            spyi_text_add(&name, "v_%s", s->names[i]);
            s->fresh[i] = !spyi_gathers(s, i);
            if (!s->fresh[i]) spyi_text_add(&s->body, "    %s %s;\n", spyi_spell(leaf->type), name.data);
            spyi_move_value(s, i, spyi_text_str(&name), false, "    ");
            s->fresh[i] = false;
            spyi_text_free(&name);
        }
    }
}

// What lies behind the end is not ours: the last thread stores its valid elements one by one.
static void spyi_store_tail(spyi_emit_state *s, uint32_t i) {
    uint32_t n = spyi_components(s, i);
    for (uint32_t k = 0; k + 1 < s->key->width; k++) {
        for (uint32_t c = 0; c < n; c++) {
            spyi_text place = { NULL, 0, 0 }, value = { NULL, 0, 0 };
            s->element = k;
            spyi_place(s, i, (k * n + c) / s->key->width, "", true, &place);
            spyi_component(s, i, c, &value);
            spyi_text_add(&s->body, "        ");
            if (k) spyi_text_add(&s->body, "if (spy_valid > %u) ", k);
            spyi_text_add(&s->body, "%s.%c = %s;\n", place.data, "xyzw"[(k * n + c) % s->key->width],
                          value.data);
            spyi_text_free(&place);
            spyi_text_free(&value);
        }
    }
    s->element = 0;
}

SPYI_FN void spyi_emit_thread_stores(spyi_emit_state *s) {
    bool tail = spyi_has_tail(s);
    if (s->key->width == 1) return;
    if (tail) spyi_text_add(&s->body, "    if (spy_valid == %u) {\n", s->key->width);
    for (int part = 0; part < (tail ? 2 : 1); part++) {
        if (part) spyi_text_add(&s->body, "    } else {\n");
        for (uint32_t i = 0; i < s->bound->leaf_count; i++) {
            const spyi_leaf *leaf = &s->bound->leaves[i];
            if (!leaf->out || !spyi_leaf_in_memory(leaf) || !spyi_is_wide(s, i)) continue;
            if (part) {
                spyi_store_tail(s, i);
                continue;
            }
            uint32_t n = spyi_components(s, i);
            for (uint32_t v = 0; v < n; v++) {
                spyi_text place = { NULL, 0, 0 };
                spyi_place(s, i, v, "", true, &place);
                spyi_text_add(&s->body, "%s%s = w_%s", tail ? "        " : "    ", place.data, s->names[i]);
                if (n > 1) spyi_text_add(&s->body, "__%u", v);
                spyi_text_add(&s->body, ";\n");
                spyi_text_free(&place);
            }
        }
    }
    if (tail) spyi_text_add(&s->body, "    }\n");
}

SPYI_FN bool spyi_leaf_expression(const spyi_emit_state *s, uint32_t i, spyi_text *out) {
    const spyi_leaf *leaf = &s->bound->leaves[i];
    if (leaf->out) return false;
    if (leaf->source == SPYI_SOURCE_KIND) spyi_kind_value(s, i, out);
    else if (!spyi_leaf_in_memory(leaf) && !leaf->splat && spyi_is_long_vector(leaf->type)) {
        spyi_text_add(out, "%s(", spyi_spell(leaf->type));
        for (uint32_t c = 0; c < leaf->type->columns; c++)
            spyi_text_add(out, "%sspyi.%s[%u]", c ? ", " : "", s->names[i], c);
        spyi_text_add(out, ")");
    } else if (!spyi_leaf_in_memory(leaf))
        spyi_text_add(out, leaf->splat ? "%s(spyi.%s)" : "%sspyi.%s",
                      leaf->splat ? spyi_spell(leaf->type) : "", s->names[i]);
    else if (spyi_is_hoisted(s, i)) spyi_text_add(out, "v_%s", s->names[i]);
    else if (spyi_is_wide(s, i)) spyi_wide_value(s, i, out);
    else return false;
    return true;
}

SPYI_FN void spyi_emit_leaf_load(spyi_emit_state *s, uint32_t i, const char *indent) {
    spyi_text value = { NULL, 0, 0 };
    if (s->bound->leaves[i].out && spyi_is_wide(s, i)) spyi_wide_value(s, i, &value); // inout
    else if (!spyi_leaf_expression(s, i, &value)) {
        spyi_move_value(s, i, s->lvalues[i], false, indent);
        return;
    }
    const char *type = s->fresh[i] ? spyi_spell(s->bound->leaves[i].type) : "";
    spyi_text_add(&s->body, "%s%s%s%s = %s;\n", indent, type, type[0] ? " " : "", s->lvalues[i],
                  spyi_text_str(&value));
    spyi_text_free(&value);
}

SPYI_FN void spyi_emit_leaf_store(spyi_emit_state *s, uint32_t i, const char *indent) {
    if (spyi_is_wide(s, i)) spyi_wide_store(s, i, indent);
    else spyi_move_value(s, i, s->lvalues[i], true, indent);
}

// >>emit/kernel.c -------------------------------------------------------------------------------------------

// The text of a kernel: loads, one call, stores. User code is imported, never pasted.
//
// What was tried, GB/s on an NVIDIA H200 under Vulkan. Hand-written kernels, 2^26 floats:
//   one float a thread, groups of 32                      630
//   one float a thread, groups of 256                    3150
//   float4 through pointers, groups of 256               3144
//   float4 through StructuredBuffer<float4>, 256         4002   <- wide variant with bindings
//   16 floats a thread, pointers, strided float4 first   3894
//   float3, four elements as three float4                1546   (array went to local memory)
//   row broadcast, a division a thread                   2121;  float4 along the row 3435
// These kernels, 2^26 floats and 2^24 float3, timestamps round the dispatch; groups of 128, 256 and 512 agree to 2 %:
//   wide: add 4090, add scalar 3900, row broadcast 3900
//   flat, views that begin off the vector grid, elements a thread:  1: 2220   2: 3310   4: 3660   8: 3150
//   flat, float3 in and out, elements a thread:                     1: 3600   2: 3700   4: 3620   8: 3570
//   wide, float3 in and out, four elements as three float4:         2600; so only CPUs get it
// lavapipe: structured buffers are 2.4 to 5 times faster than pointers.

// >>the body

// The number of the current element in the call, as an expression.
SPYI_FN void spyi_element_text(const spyi_emit_state *s, spyi_text *out) {
    if (s->key->rank == 0) spyi_text_add(out, "0");
    else if (s->key->unroll > 1) spyi_text_add(out, "int(spy_i%s)", s->suffix);
    else spyi_text_add(out, s->element ? "int(spy_i + %u)" : "int(spy_i)", s->element);
}

// Thread number, call group and place in the group, coordinates, element: dimensions from the last to the first.
static void spyi_emit_groups(spyi_emit_state *s) {
    const spyi_bound *b = s->bound;
    spyi_text *body = &s->body;
    uint32_t group[SPY_MAX_RANK], members = 1;
    spyi_call_group(b, group);
    for (uint32_t d = 0; d < b->rank; d++) members *= group[d];
    if (b->options.threads[1] * b->options.threads[2] > 1)
        spyi_text_add(body, "    uint spy_l = %s * %u + spy_in_group;\n",
                      s->key->folded ? "(spy_group.y * (spyi._row / %u) + spy_group.x)" : "spy_group.x",
                      s->out->group_size);
    else
        spyi_text_add(body, "    uint spy_l = %s;\n",
                      s->key->folded ? "spy_thread.y * spyi._row + spy_thread.x" : "spy_thread.x");
    spyi_text_add(body, "    uint spy_g = spy_l / %u;\n    uint spy_m = spy_l %% %u;\n", members, members);
    for (uint32_t d = b->rank; d-- > 0;) {
        spyi_text_add(body, "    uint spy_n%u = (uint(spyi._shape[%u]) + %u) / %u;\n", d, d, group[d] - 1,
                      group[d]);
        spyi_text_add(body, "    %s spy_c%u = %s(spy_g %% spy_n%u * %u + spy_m %% %u);\n",
                      s->key->index64 ? "int64_t" : "int", d, s->key->index64 ? "int64_t" : "int", d,
                      group[d], group[d]);
        if (d) spyi_text_add(body, "    spy_g /= spy_n%u;\n    spy_m /= %u;\n", d, group[d]);
    }
    spyi_text_add(body, "    if (spy_g >= spy_n0");
    for (uint32_t d = 0; d < b->rank; d++) spyi_text_add(body, " || spy_c%u >= spyi._shape[%u]", d, d);
    spyi_text_add(body, ") return;\n    uint spy_i = uint(spy_c0);\n");
    for (uint32_t d = 1; d < b->rank; d++)
        spyi_text_add(body, "    spy_i = spy_i * uint(spyi._shape[%u]) + uint(spy_c%u);\n", d, d);
}

static void spyi_emit_coordinates(spyi_emit_state *s) {
    const spyi_variant_key *key = s->key;
    spyi_text *body = &s->body;
    const char *index = key->index64 ? "int64_t" : "int";
    // Coordinates, innermost last: division by multiplication, exact for numbers below 2^31.
    if (key->rank > 1) spyi_text_add(body, "    uint spy_rest = spy_i;\n    uint spy_high;\n");
    for (uint32_t d = key->rank - 1u; d >= 1; d--) {
        spyi_text_add(
            body,
            "    spy_high = (uint((uint64_t(spy_rest) * spyi._magic%u) >> 32) + spy_rest) >> spyi._shift%u;\n"
            "    %s spy_c%u = %s(spy_rest - spy_high * spyi._size%u);\n    spy_rest = spy_high;\n",
            d, d, index, d, index, d);
    }
    spyi_text_add(body, "    %s spy_c0 = %s(%s);\n", index, index, key->rank > 1 ? "spy_rest" : "spy_i");
}

// Where each strided leaf's element is, from the coordinates.
static void spyi_emit_offsets(spyi_emit_state *s) {
    const spyi_variant_key *key = s->key;
    const spyi_bound *b = s->bound;
    spyi_text *body = &s->body;
    const char *index = key->index64 ? "int64_t" : "int";
    for (uint32_t i = 0; i < b->leaf_count; i++) {
        uint32_t walk = spyi_walk_of(s, i);
        if (!spyi_leaf_in_memory(&b->leaves[i]) || walk < SPYI_WALK_INNER) continue;
        spyi_text_add(body, "    %s %s_at = ", index, s->names[i]);
        bool first = true;
        for (uint32_t d = 0; d < key->rank; d++) {
            bool innermost = d + 1u == key->rank;
            if (innermost && walk == SPYI_WALK_STILL) continue;
            spyi_text_add(body, first ? "" : " + ");
            first = false;
            if (!innermost || walk == SPYI_WALK_STRIDED)
                spyi_text_add(body, "spy_c%u * spyi.%s__stride%u", d, s->names[i], d);
            else if (key->width > 1) spyi_text_add(body, "spy_c%u / %u", d, key->width);
            else spyi_text_add(body, "spy_c%u", d);
        }
        spyi_text_add(body, first ? "0;\n" : ";\n");
    }
}

// A dispatch: its ids when groups had to be folded, and the end of its threads.
static void spyi_emit_threads(spyi_emit_state *s) {
    const uint32_t *threads = s->bound->options.threads;
    if (s->key->folded)
        spyi_text_add(
            &s->body,
            "    uint spy_g = spy_group.y * %u + spy_group.x, spy_gx = spyi._groups[0], spy_gy = "
            "spyi._groups[1];\n"
            "    if (spy_g >= spy_gx * spy_gy * spyi._groups[2]) return;\n"
            "    spy_group = uint3(spy_g %% spy_gx, spy_g / spy_gx %% spy_gy, spy_g / (spy_gx * spy_gy));\n"
            "    spy_thread = spy_group * uint3(%u, %u, %u) + spy_local;\n",
            s->max_groups, threads[0], threads[1], threads[2]);
    if (s->bound->guarded)
        spyi_text_add(&s->body,
                      "    if (spy_thread.x >= spyi._threads[0] || spy_thread.y >= spyi._threads[1] || "
                      "spy_thread.z >= spyi._threads[2]) return;\n");
}

static void spyi_emit_index(spyi_emit_state *s) {
    const spyi_variant_key *key = s->key;
    spyi_text *body = &s->body;
    if (s->bound->dispatch) spyi_emit_threads(s);
    if (key->rank == 0) return;
    if (key->grouped) {
        spyi_emit_groups(s);
        spyi_emit_offsets(s);
        return;
    }
    const char *thread = key->folded ? "spy_thread.y * spyi._row + spy_thread.x" : "spy_thread.x";
    if (key->width > 1) {
        spyi_text_add(body, "    uint spy_vector = %s;\n    uint spy_i = spy_vector * %u;\n", thread,
                      key->width);
    } else if (key->unroll > 1) {
        uint32_t group = s->out->group_size;
        spyi_text_add(body, "    uint spy_t = %s;\n    uint spy_i_0 = spy_t / %u * %u + spy_t %% %u;\n",
                      thread, group, group * key->unroll, group);
        spyi_text_add(body,
                      "    if (spy_i_0 >= spyi._count) return;\n    uint spy_last = spyi._count - 1;\n");
        for (uint32_t k = 1; k < key->unroll; k++)
            spyi_text_add(body, "    uint spy_i_%u = spy_i_0 + %u;\n", k, group * k);
        return; // flat: no coordinates
    } else {
        spyi_text_add(body, "    uint spy_i = %s;\n", thread);
    }
    spyi_text_add(body, "    if (spy_i >= spyi._count) return;\n");
    if (!spyi_needs_coordinates(s)) return;
    spyi_emit_coordinates(s);
    spyi_emit_offsets(s);
}

// Gives each leaf below a parameter the name of its variable, and declares the parameter's own unless its load does.
static void spyi_emit_variables(spyi_emit_state *s, uint32_t node_index, const char *lvalue, bool top,
                                const char *indent) {
    const spyi_node *node = &s->bound->nodes[node_index];
    if (top && node->leaf >= 0 && node->in && !spyi_gathers(s, (uint32_t)node->leaf))
        s->fresh[node->leaf] = true;
    else if (top) spyi_text_add(&s->body, "%s%s %s;\n", indent, spyi_spell(node->type), lvalue);
    if (node->leaf >= 0) {
        free(s->lvalues[node->leaf]);
        s->lvalues[node->leaf] = spyi_strdup(lvalue);
        return;
    }
    for (uint32_t i = 0; i < node->count; i++) {
        const spyi_node *child = &s->bound->nodes[node->first + i];
        spyi_text field = { NULL, 0, 0 };
        spyi_text_add(&field, "%s.%s", lvalue, child->name);
        spyi_emit_variables(s, node->first + i, spyi_text_str(&field), false, indent);
        spyi_text_free(&field);
    }
}

// The arguments of the call for the current element; declares variables for those that need one and loads them.
static void spyi_emit_arguments(spyi_emit_state *s, spyi_text *arguments) {
    const spyi_bound *b = s->bound;
    for (uint32_t p = 0; p < b->param_count; p++) {
        const spyi_node *node = &b->nodes[p];
        bool instance =
            p == 0 && b->signature.callee == SPYI_CALLEE_METHOD; // stands before the method's name
        if (arguments->size) spyi_text_add(arguments, ", ");
        if (!instance && node->leaf >= 0 && spyi_leaf_expression(s, (uint32_t)node->leaf, arguments))
            continue;
        spyi_text name = { NULL, 0, 0 };
        spyi_text_add(&name, "a_%s%s", node->name, s->suffix);
        spyi_emit_variables(s, p, spyi_text_str(&name), true, "    ");
        if (!instance) spyi_text_add(arguments, "%s", spyi_text_str(&name));
        spyi_text_free(&name);
    }
    for (uint32_t i = 0; i < b->leaf_count; i++)
        if (s->lvalues[i] && b->leaves[i].in) spyi_emit_leaf_load(s, i, "    ");
}

// The call for the current element, and its stores.
static void spyi_emit_call(spyi_emit_state *s, const char *function, const char *arguments,
                           const char *indent) {
    const spyi_bound *b = s->bound;
    for (uint32_t p = 0; p < b->param_count; p++) { // outputs go back from this element's variables
        if (!b->nodes[p].out) continue;
        spyi_text name = { NULL, 0, 0 };
        spyi_text_add(&name, "a_%s%s", b->nodes[p].name, s->suffix);
        spyi_emit_variables(s, p, spyi_text_str(&name), false, indent);
        spyi_text_free(&name);
    }
    if (b->call_info && b->rank) {
        uint32_t group[SPY_MAX_RANK];
        spyi_text_add(&s->body, "%sspyi_set_call(", indent);
        spyi_element_text(s, &s->body);
        spyi_text_add(&s->body,
                      spyi_call_group(b, group) ? ", spyi._shape, spy_call_group);\n" : ", spyi._shape);\n");
    }
    spyi_text_add(&s->body, "%s", indent);
    if (b->has_result) {
        spyi_text name = { NULL, 0, 0 };
        spyi_text_add(&name, "r_result%s", s->suffix);
        spyi_emit_variables(s, b->param_count, name.data, false, indent);
        spyi_text_add(&s->body, "%s %s = ", spyi_spell(b->nodes[b->param_count].type), name.data);
        spyi_text_free(&name);
    }
    if (b->signature.callee == SPYI_CALLEE_METHOD) spyi_text_add(&s->body, "a_this%s.", s->suffix);
    spyi_text_add(&s->body, "%s(%s);\n", function, arguments);
    for (uint32_t i = 0; i < b->leaf_count; i++)
        if (b->leaves[i].out) spyi_emit_leaf_store(s, i, indent);
}

#define SPYI_MOST_ELEMENTS 8

static void spyi_emit_body(spyi_emit_state *s, const char *function) {
    uint32_t elements = s->key->rank ? (uint32_t)s->key->width * s->key->unroll : 1;
    bool wide = s->key->width > 1, tail = spyi_has_tail(s);
    spyi_text arguments[SPYI_MOST_ELEMENTS];
    memset(arguments, 0, sizeof arguments);
    spyi_emit_index(s);
    if (tail) spyi_text_add(&s->body, "    uint spy_valid = min(%uu, spyi._count - spy_i);\n", s->key->width);
    spyi_emit_thread_loads(s);
    // All loads first, so that they are under way together; then each call with its stores.
    for (s->element = 0; s->element < elements; s->element++) {
        if (elements > 1) snprintf(s->suffix, sizeof s->suffix, "_%u", s->element);
        spyi_emit_arguments(s, &arguments[s->element]);
    }
    for (s->element = 0; s->element < elements; s->element++) {
        bool guarded = tail && s->element > 0;
        if (elements > 1) snprintf(s->suffix, sizeof s->suffix, "_%u", s->element);
        if (guarded) spyi_text_add(&s->body, "    if (spy_valid > %u) {\n", s->element);
        else if (!wide && s->element > 0)
            spyi_text_add(&s->body, "    if (spy_i%s >= spyi._count) return;\n", s->suffix);
        spyi_emit_call(s, function, spyi_text_str(&arguments[s->element]), guarded ? "        " : "    ");
        if (guarded) spyi_text_add(&s->body, "    }\n");
        spyi_text_free(&arguments[s->element]);
    }
    s->element = 0;
    s->suffix[0] = 0;
    spyi_emit_thread_stores(s);
}

// >>the whole

// Our names in the kernel begin with these; a function that is called so would be hidden by them.
static bool spyi_is_hidden(const char *function) {
    bool letter = function[0] == 'a' || function[0] == 'b' || function[0] == 'r' || function[0] == 'v' ||
                  function[0] == 'w';
    return (letter && function[1] == '_') || strncmp(function, "spy", 3) == 0;
}

// For a hidden function: one of a harmless name that calls it, in a scope where none of our names are.
static void spyi_emit_wrapper(spyi_emit_state *s, const char *function, spyi_text *out) {
    const spyi_bound *b = s->bound;
    const spyi_type *result = b->signature.result;
    spyi_text_add(out, "%s call_element(", result->kind == SPYI_TYPE_VOID ? "void" : spyi_spell(result));
    for (uint32_t p = 0; p < b->param_count; p++) {
        const spyi_node *node = &b->nodes[p];
        spyi_text_add(out, "%s%s%s p%u", p ? ", " : "",
                      node->in && node->out ? "inout "
                      : node->out           ? "out "
                                            : "",
                      spyi_spell(node->type), p);
    }
    spyi_text_add(out, ")\n{\n    %s%s(", result->kind == SPYI_TYPE_VOID ? "" : "return ", function);
    for (uint32_t p = 0; p < b->param_count; p++) spyi_text_add(out, p ? ", p%u" : "p%u", p);
    spyi_text_add(out, ");\n}\n\n");
}

// The shape of a call group, for get_call_group_id() and its like.
static void spyi_emit_group_shape(const spyi_emit_state *s, spyi_text *out) {
    uint32_t group[SPY_MAX_RANK];
    if (!s->bound->call_info || !spyi_call_group(s->bound, group)) return;
    spyi_text_add(out, "static const int spy_call_group[%u] = { ", s->bound->rank);
    for (uint32_t d = 0; d < s->bound->rank; d++) spyi_text_add(out, d ? ", %u" : "%u", group[d]);
    spyi_text_add(out, " };\n\n");
}

// Puts the parts together.
static void spyi_emit_text(spyi_emit_state *s, const spy_function *function) {
    const spyi_variant_key *key = s->key;
    spyi_emitted *out = s->out;
    const char *spelling = s->bound->signature.spelling;
    bool hidden = s->bound->signature.callee == SPYI_CALLEE_FUNCTION && spyi_is_hidden(spelling);
    const uint32_t *threads = s->bound->options.threads;
    spyi_text kernel = { NULL, 0, 0 };
    spyi_declare_block(s);
    spyi_emit_body(s, hidden ? "call_element" : spelling);
    out->block_by_address = out->block_size > function->object.device->base->limits.max_block_bytes;
    if (out->block_size) spyi_text_add(&kernel, "struct SpyiBlock\n{\n%s};\n", spyi_text_str(&s->fields));
    // A global block is read field by field; an entry-point parameter would first be copied whole.
    if (out->block_size && !out->block_by_address)
        spyi_text_add(&kernel, "[[vk::push_constant]] ConstantBuffer<SpyiBlock> spyi;\n");
    spyi_text_add(&kernel,
                  "\n[shader(\"compute\")]\n[numthreads(%u, %u, %u)]\nvoid %s(uint3 spy_thread : "
                  "SV_DispatchThreadID",
                  threads[0] ? threads[0] : out->group_size, threads[0] ? threads[1] : 1,
                  threads[0] ? threads[2] : 1, SPYI_KERNEL_ENTRY);
    if (s->bound->dispatch)
        spyi_text_add(&kernel, ", uint3 spy_group : SV_GroupID, uint3 spy_local : SV_GroupThreadID, "
                               "uint spy_in_group : SV_GroupIndex");
    else if (threads[1] * threads[2] > 1)
        spyi_text_add(&kernel, ", uint3 spy_group : SV_GroupID, uint spy_in_group : SV_GroupIndex");
    if (out->block_size && out->block_by_address)
        spyi_text_add(&kernel, ",\n                uniform SpyiBlock* spyi");
    spyi_text_add(&kernel, "%s)\n{\n%s}\n", spyi_text_str(&s->buffers), spyi_text_str(&s->body));
    const char *shape = s->bound->dispatch          ? "dispatch"
                        : key->rank == 0            ? "one element"
                        : key->grouped              ? "call groups"
                        : key->width > 1            ? "wide"
                        : spyi_needs_coordinates(s) ? "strided"
                                                    : "flat";
    uint32_t elements = (uint32_t)key->width * key->unroll;
    spyi_text_add(
        &out->text,
        "// %s\n// %s, %u dimension%s, %u element%s a thread, %u threads a group, %s%s\nimport %s;\n\n",
        s->bound->signature.display, shape, key->rank, key->rank == 1 ? "" : "s", elements,
        elements == 1 ? "" : "s", out->group_size, key->bindings ? "structured buffers" : "pointers",
        key->index64 ? ", 64-bit offsets" : "", spyi_unit_name(function->module->unit));
    if (s->bound->uses_library) spyi_text_add(&out->text, "import slangpy_kernel;\n\n");
    if (s->bound->names_library) spyi_text_add(&out->text, "import slangpy;\n\n");
    // slangpy_atomic.slang: the device adds floats by itself.
    if (s->bound->names_library &&
        (function->object.device->base->limits.info.features & SPY_FEATURE_ATOMIC_FLOAT32_ADD))
        spyi_text_add(&out->text, "export public static const int slangpy_atomic_floats = 1;\n\n");
    spyi_emit_group_shape(s, &out->text);
    if (s->bound->options.prelude) spyi_text_add(&out->text, "%s\n", s->bound->options.prelude);
    if (hidden) spyi_emit_wrapper(s, spelling, &out->text);
    spyi_text_add_n(&out->text, kernel.data, kernel.size);
    spyi_text_free(&kernel);
}

SPYI_FN bool spyi_call_group(const spyi_bound *bound, uint32_t group[SPY_MAX_RANK]) {
    const spyi_options *o = &bound->options;
    uint32_t rank = o->group.rank;
    for (uint32_t d = 0; d < SPY_MAX_RANK; d++) group[d] = 1;
    if (rank) {
        for (uint32_t d = 0; d < rank; d++) group[bound->rank - rank + d] = (uint32_t)o->group.dims[d];
        return bound->rank > 0;
    }
    if (o->threads[1] * o->threads[2] <= 1) return false;
    for (uint32_t i = 0; i < 3 && i < bound->rank; i++) group[bound->rank - 1 - i] = o->threads[i];
    return bound->rank > 0;
}

SPYI_FN uint32_t spyi_group_size(const spyi_bound *bound, const spyi_limits *limits, uint32_t rank) {
    const uint32_t *threads = bound->options.threads;
    if (threads[0]) return threads[0] * threads[1] * threads[2];
    if (rank == 0) return 1;
    return limits->info.max_group_size < 256 ? limits->info.max_group_size : 256;
}

SPYI_FN spy_status spyi_emit(const spy_function *function, const spyi_bound *bound,
                             const spyi_variant_key *key, spyi_emitted *out, spyi_text *error) {
    spy_device *device = function->object.device;
    spyi_emit_state s;
    memset(&s, 0, sizeof s);
    memset(out, 0, sizeof *out);
    s.bound = bound;
    s.key = key;
    s.types = device->types;
    s.out = out;
    s.max_groups = device->base->limits.info.max_group_count;
    s.names = (char **)calloc(bound->leaf_count + 1, sizeof *s.names);
    s.lvalues = (char **)calloc(bound->leaf_count + 1, sizeof *s.lvalues);
    s.fresh = (bool *)calloc(bound->leaf_count + 1, sizeof *s.fresh);
    s.failed = !s.names || !s.lvalues || !s.fresh;
    out->group_size = spyi_group_size(bound, &device->base->limits, key->rank);
    if (!s.failed) spyi_make_names(&s);
    if (!s.failed) spyi_emit_text(&s, function);
    for (uint32_t i = 0; i < bound->leaf_count; i++) {
        if (s.names) free(s.names[i]);
        if (s.lvalues) free(s.lvalues[i]);
    }
    free(s.names);
    free(s.lvalues);
    free(s.fresh);
    spyi_text_free(&s.fields);
    spyi_text_free(&s.buffers);
    spyi_text_free(&s.body);
    if (!s.failed) return SPY_OK;
    spyi_emitted_free(out);
    spyi_text_add(error, "out of host memory");
    return SPY_ERROR_OUT_OF_MEMORY;
}

SPYI_FN void spyi_emitted_free(spyi_emitted *emitted) {
    spyi_text_free(&emitted->text);
    free(emitted->packs);
    memset(emitted, 0, sizeof *emitted);
}

// >>emit/entry.c --------------------------------------------------------------------------------------------

// A compute shader of the user's own, dispatched as it is: no text is made, but its parameters are packed where Slang has
// placed them.

static bool spyi_entry_pack(spyi_emitted *out, spyi_pack_op op, uint32_t leaf, uint32_t offset) {
    spyi_pack *packs = (spyi_pack *)realloc(out->packs, (out->pack_count + 1) * sizeof *packs);
    if (!packs) return false;
    out->packs = packs;
    spyi_pack *pack = &packs[out->pack_count++];
    memset(pack, 0, sizeof *pack);
    pack->op = (uint8_t)op;
    pack->leaf = (uint16_t)leaf;
    pack->offset = offset;
    return true;
}

static spy_status spyi_entry_node(const spyi_bound *b, uint32_t node, uint32_t offset, spyi_emitted *out,
                                  spyi_text *error) {
    const spyi_node *n = &b->nodes[node];
    for (uint32_t i = 0; n->leaf < 0 && i < n->count; i++) { // fields stand in the type's order
        spy_status status =
            spyi_entry_node(b, n->first + i, offset + (uint32_t)n->type->fields[i].device_offset, out, error);
        if (status != SPY_OK) return status;
    }
    if (n->leaf < 0) return SPY_OK;
    const spyi_leaf *leaf = &b->leaves[n->leaf];
    spyi_pack_op op = leaf->source == SPYI_SOURCE_SCALAR   ? SPYI_PACK_SCALAR
                      : leaf->source == SPYI_SOURCE_BYTES  ? SPYI_PACK_BYTES
                      : leaf->source == SPYI_SOURCE_INLINE ? SPYI_PACK_INLINE
                                                           : SPYI_PACK_KIND;
    if (leaf->source == SPYI_SOURCE_KIND && !leaf->field_size) return SPY_OK;
    if (spyi_leaf_in_memory(leaf) || leaf->splat) {
        spyi_text_add(error, "'%s': a shader takes %s as it is; give all its numbers from host memory",
                      leaf->path, leaf->type->display);
        return SPY_ERROR_TYPE_MISMATCH;
    }
    if (spyi_entry_pack(out, op, (uint32_t)n->leaf, offset)) return SPY_OK;
    spyi_text_add(error, "out of host memory");
    return SPY_ERROR_OUT_OF_MEMORY;
}

SPYI_FN spy_status spyi_emit_entry(const spy_function *function, const spyi_bound *bound,
                                   const spyi_entry *entry, spyi_emitted *out, spyi_text *error) {
    spy_status status = SPY_OK;
    out->block_size = entry->block_size;
    for (uint32_t p = 0; p < bound->param_count && status == SPY_OK; p++)
        status = spyi_entry_node(bound, p, entry->offsets[p], out, error);
    uint32_t most = function->object.device->base->limits.max_block_bytes;
    if (status == SPY_OK && out->block_size > most) {
        spyi_text_add(error,
                      "its uniform parameters have %u bytes, the device takes %u; move them into a tensor",
                      out->block_size, most);
        status = SPY_ERROR_UNSUPPORTED;
    }
    return status;
}

// >>kinds/kinds.h -------------------------------------------------------------------------------------------

// What the kinds of values share. A kind is a file of this room: a table of functions (spyi_value_kind in bind/bind.h) and
// what makes its arguments.

// Components that a parameter takes of a generator: 1 of a number, N of a vector or array of numbers; 0: it takes none.
SPYI_FN uint32_t spyi_kind_components(const spyi_type *type);
// `array`, an expression of as many `scalar`s, as a value of `type`. `reverse`: a vector takes the last one first.
SPYI_FN void spyi_kind_convert(const spyi_type *type, spy_dtype scalar, const char *array, bool reverse,
                               spyi_text *out);
// "call_id<2>(element, shape)": the usual expression of a coordinate, converted.
SPYI_FN void spyi_kind_call(const spyi_leaf *leaf, spy_dtype scalar, bool reverse, spyi_text *out,
                            const char *format, ...) SPYI_PRINTF(5, 6);

// An argument for a parameter that the system fills.
SPYI_FN spy_arg spyi_system_arg(const char *name, spyi_system system);

// >>kinds/kinds.c -------------------------------------------------------------------------------------------

// Numbers that are made in a kernel, as what the parameter wants.

SPYI_FN uint32_t spyi_kind_components(const spyi_type *type) {
    if (type->kind == SPYI_TYPE_SCALAR) return type->scalar != SPY_BOOL;
    if (type->kind == SPYI_TYPE_VECTOR) return type->scalar == SPY_BOOL ? 0 : type->columns;
    if (type->kind != SPYI_TYPE_ARRAY || type->element->kind != SPYI_TYPE_SCALAR) return 0;
    if (strcmp(type->element->name, spy_dtype_name(type->element->scalar)) != 0) return 0; // an enum
    return type->element->scalar != SPY_BOOL && type->count <= 1024 ? (uint32_t)type->count : 0;
}

SPYI_FN void spyi_kind_convert(const spyi_type *type, spy_dtype scalar, const char *array, bool reverse,
                               spyi_text *out) {
    if (type->kind == SPYI_TYPE_SCALAR) spyi_text_add(out, "%s(%s[0])", spyi_spell(type), array);
    else if (type->kind == SPYI_TYPE_VECTOR)
        spyi_text_add(out, "%s(%s(%s))", spyi_spell(type), reverse ? "spyi_reversed" : "spyi_to_vector",
                      array);
    else if (type->element->scalar == scalar) spyi_text_add(out, "%s", array);
    else spyi_text_add(out, "spyi_to_array<%s>(%s)", spyi_spell(type->element), array);
}

SPYI_FN void spyi_kind_call(const spyi_leaf *leaf, spy_dtype scalar, bool reverse, spyi_text *out,
                            const char *format, ...) {
    char array[512];
    va_list list;
    va_start(list, format);
    vsnprintf(array, sizeof array, format, list);
    va_end(list);
    spyi_kind_convert(leaf->type, scalar, array, reverse, out);
}

// >>kinds/call_id.c -----------------------------------------------------------------------------------------

// call_id and thread_id: where the element is in the call.

static bool spyi_call_id_bind(spyi_types *types, const spyi_value *value, spyi_leaf *leaf) {
    (void)types;
    (void)value;
    return spyi_kind_components(leaf->type) > 0;
}

static void spyi_call_id_load(const spyi_leaf *leaf, const spyi_place_text *at, spyi_text *out) {
    spyi_kind_call(leaf, SPY_INT32, true, out, "spyi_call_id<%u>(%s, %s)", spyi_kind_components(leaf->type),
                   at->element, at->shape);
}

static void spyi_thread_id_load(const spyi_leaf *leaf, const spyi_place_text *at, spyi_text *out) {
    spyi_kind_call(leaf, SPY_INT32, false, out, "spyi_thread_id<%u>(%s)", spyi_kind_components(leaf->type),
                   at->element);
}

static const spyi_value_kind spyi_call_id_kind = { "call_id",         NULL, spyi_call_id_bind, NULL,
                                                   spyi_call_id_load, NULL };
static const spyi_value_kind spyi_thread_id_kind = { "thread_id",         NULL, spyi_call_id_bind, NULL,
                                                     spyi_thread_id_load, NULL };

spy_arg spy_arg_call_id(const char *name) {
    return spyi_custom_arg(name, &spyi_call_id_kind);
}

spy_arg spy_arg_thread_id(const char *name) {
    return spyi_custom_arg(name, &spyi_thread_id_kind);
}

// >>kinds/grid.c --------------------------------------------------------------------------------------------

// grid: coordinates of a shape that the argument itself brings, with offset and stride.

static bool spyi_fits_int(int64_t value) {
    return value >= INT32_MIN && value <= INT32_MAX;
}

static bool spyi_grid_describe(const spy_arg *arg, spyi_value *value, const char **problem) {
    const spy_grid_desc *desc = (const spy_grid_desc *)arg->value.data;
    *problem = "expected a spy_grid_desc, got NULL";
    if (!desc) return false;
    uint32_t rank = desc->shape.rank;
    *problem = "the rank of its shape is not 1 to SPY_MAX_RANK";
    if (rank < 1 || rank > SPY_MAX_RANK) return false;
    *problem = "the ranks of its offset and stride are not that of its shape, or 0";
    if ((desc->offset.rank && desc->offset.rank != rank) || (desc->stride.rank && desc->stride.rank != rank))
        return false;
    for (uint32_t d = 0; d < rank; d++) {
        *problem = "its sizes must be 0 to 2147483647, or -1 for any";
        if (desc->shape.dims[d] < -1 || !spyi_fits_int(desc->shape.dims[d])) return false;
        *problem = "its offset and stride must fit 32 bits";
        if (desc->offset.rank && !spyi_fits_int(desc->offset.dims[d])) return false;
        if (desc->stride.rank && !spyi_fits_int(desc->stride.dims[d])) return false;
    }
    value->rank = (uint8_t)rank;
    value->dims = desc->shape.dims;
    return true;
}

static bool spyi_grid_bind(spyi_types *types, const spyi_value *value, spyi_leaf *leaf) {
    (void)types;
    leaf->field_size = 8u * value->rank;
    leaf->field_align = 4;
    return spyi_kind_components(leaf->type) == value->rank;
}

static void spyi_grid_field(const spyi_leaf *leaf, spyi_text *out) {
    spyi_text_add(out, "SpyiGrid<%u>", leaf->batch_rank);
}

static void spyi_grid_load(const spyi_leaf *leaf, const spyi_place_text *at, spyi_text *out) {
    uint32_t map = 0;
    for (uint32_t d = 0; d < leaf->batch_rank; d++) map |= (uint32_t)leaf->map[d] << (4 * d);
    spyi_kind_call(leaf, SPY_INT32, true, out, "spyi_grid(%s, %s, %s, 0x%x)", at->element, at->shape,
                   at->field, map);
}

static bool spyi_grid_pack(const spyi_leaf *leaf, const spyi_value *value, void *field, spyi_text *error) {
    const spy_grid_desc *desc = (const spy_grid_desc *)value->arg->value.data;
    int32_t *out = (int32_t *)field;
    (void)error;
    for (uint32_t d = 0; d < leaf->batch_rank; d++) {
        out[d] = desc->offset.rank ? (int32_t)desc->offset.dims[d] : 0;
        // A size of 1 that the call stretches is the same for all elements, as with any argument.
        out[leaf->batch_rank + d] = desc->shape.dims[d] == 1 ? 0
                                    : desc->stride.rank      ? (int32_t)desc->stride.dims[d]
                                                             : 1;
    }
    return true;
}

static const spyi_value_kind spyi_grid_kind = { "grid",          spyi_grid_describe, spyi_grid_bind,
                                                spyi_grid_field, spyi_grid_load,     spyi_grid_pack };

spy_arg spy_arg_grid(const char *name, const spy_grid_desc *desc) {
    spy_arg arg = spyi_custom_arg(name, &spyi_grid_kind);
    arg.value.data = desc;
    return arg;
}

// >>kinds/range.c -------------------------------------------------------------------------------------------

// range: start, start + step, ... along one dimension, as numpy's arange.

// What the argument keeps in its dims: the number of elements, then start and step. -2 elements: something is wrong.
enum { SPYI_RANGE_COUNT, SPYI_RANGE_START, SPYI_RANGE_STEP };

static bool spyi_range_describe(const spy_arg *arg, spyi_value *value, const char **problem) {
    *problem =
        arg->dims[SPYI_RANGE_STEP] == 0 ? "its step is 0" : "its start, stop and step must fit 32 bits";
    value->rank = 1;
    value->dims = arg->dims;
    return arg->dims[SPYI_RANGE_COUNT] >= 0;
}

static bool spyi_range_bind(spyi_types *types, const spyi_value *value, spyi_leaf *leaf) {
    (void)types;
    (void)value;
    leaf->field_size = 8;
    leaf->field_align = 4;
    return leaf->type->kind == SPYI_TYPE_SCALAR && leaf->type->scalar != SPY_BOOL;
}

static void spyi_range_field(const spyi_leaf *leaf, spyi_text *out) {
    (void)leaf;
    spyi_text_add(out, "SpyiRange");
}

static void spyi_range_load(const spyi_leaf *leaf, const spyi_place_text *at, spyi_text *out) {
    spyi_text_add(out, "%s(%s.start + %s.step * spyi_coordinate(%s, %s, %u))", spyi_spell(leaf->type),
                  at->field, at->field, at->element, at->shape, leaf->map[0]);
}

static bool spyi_range_pack(const spyi_leaf *leaf, const spyi_value *value, void *field, spyi_text *error) {
    int32_t *out = (int32_t *)field;
    (void)leaf;
    (void)error;
    out[0] = (int32_t)value->arg->dims[SPYI_RANGE_START];
    // A single one that the call stretches is the same for all elements, as with any size of 1.
    out[1] = value->arg->dims[SPYI_RANGE_COUNT] == 1 ? 0 : (int32_t)value->arg->dims[SPYI_RANGE_STEP];
    return true;
}

static const spyi_value_kind spyi_range_kind = { "range",          spyi_range_describe, spyi_range_bind,
                                                 spyi_range_field, spyi_range_load,     spyi_range_pack };

spy_arg spy_arg_range(const char *name, int64_t start, int64_t stop, int64_t step) {
    spy_arg arg = spyi_custom_arg(name, &spyi_range_kind);
    bool good = step != 0 && start >= INT32_MIN && start <= INT32_MAX && stop >= INT32_MIN &&
                stop <= INT32_MAX && step >= INT32_MIN && step <= INT32_MAX;
    int64_t distance = good ? (step > 0 ? stop - start : start - stop) : 0, size = step > 0 ? step : -step;
    arg.dims[SPYI_RANGE_COUNT] = !good ? -2 : distance <= 0 ? 0 : (distance + size - 1) / size;
    arg.dims[SPYI_RANGE_START] = start;
    arg.dims[SPYI_RANGE_STEP] = step;
    return arg;
}

// >>kinds/random.c ------------------------------------------------------------------------------------------

// wang_hash and rand_float: a sequence of random numbers for each element.

// What the argument keeps in its dims: the sequence's start, the warm-up, and the bits of two floats.
enum { SPYI_RANDOM_START, SPYI_RANDOM_WARMUP, SPYI_RANDOM_LOW, SPYI_RANDOM_HIGH };

static bool spyi_random_describe(const spy_arg *arg, spyi_value *value, const char **problem) {
    uint32_t bits[2] = { (uint32_t)arg->dims[SPYI_RANDOM_LOW], (uint32_t)arg->dims[SPYI_RANDOM_HIGH] };
    float range[2];
    (void)value;
    memcpy(range, bits, sizeof range);
    *problem = "seed and zero_seed are both given";
    if (arg->dims[SPYI_RANDOM_WARMUP] < 0) return false;
    *problem = "low and high must be finite, with low <= high";
    return range[0] <= range[1] && range[1] - range[0] <= 3.402823466e38f;
}

static bool spyi_hash_bind(spyi_types *types, const spyi_value *value, spyi_leaf *leaf) {
    (void)types;
    (void)value;
    const spyi_type *scalar = leaf->type->kind == SPYI_TYPE_ARRAY ? leaf->type->element : leaf->type;
    leaf->field_size = 16;
    leaf->field_align = 4;
    return spyi_kind_components(leaf->type) > 0 && scalar->scalar < SPY_FLOAT16;
}

static bool spyi_random_bind(spyi_types *types, const spyi_value *value, spyi_leaf *leaf) {
    (void)types;
    (void)value;
    const spyi_type *scalar = leaf->type->kind == SPYI_TYPE_ARRAY ? leaf->type->element : leaf->type;
    leaf->field_size = 16;
    leaf->field_align = 4;
    return spyi_kind_components(leaf->type) > 0 && scalar->scalar >= SPY_FLOAT16;
}

static void spyi_random_field(const spyi_leaf *leaf, spyi_text *out) {
    (void)leaf;
    spyi_text_add(out, "SpyiSequence");
}

static void spyi_hash_load(const spyi_leaf *leaf, const spyi_place_text *at, spyi_text *out) {
    spyi_kind_call(leaf, SPY_UINT32, false, out, "spyi_hash<%u>(%s, %s)", spyi_kind_components(leaf->type),
                   at->element, at->field);
}

static void spyi_random_load(const spyi_leaf *leaf, const spyi_place_text *at, spyi_text *out) {
    spyi_kind_call(leaf, SPY_FLOAT32, false, out, "spyi_random<%u>(%s, %s)", spyi_kind_components(leaf->type),
                   at->element, at->field);
}

static bool spyi_random_pack(const spyi_leaf *leaf, const spyi_value *value, void *field, spyi_text *error) {
    uint32_t *out = (uint32_t *)field;
    (void)leaf;
    (void)error;
    for (int i = 0; i < 4; i++) out[i] = (uint32_t)value->arg->dims[i];
    return true;
}

static const spyi_value_kind spyi_hash_kind = { "wang_hash",       spyi_random_describe, spyi_hash_bind,
                                                spyi_random_field, spyi_hash_load,       spyi_random_pack };
static const spyi_value_kind spyi_random_kind = { "rand_float",      spyi_random_describe, spyi_random_bind,
                                                  spyi_random_field, spyi_random_load,     spyi_random_pack };

// Source: N. Reed, "Quick and Easy GPU Random Numbers in D3D11" (2013); slang/slangpy_random.slang has it for the GPU.
static uint32_t spyi_wang_hash(uint32_t seed) {
    seed = (seed ^ 61u) ^ (seed >> 16);
    seed *= 9u;
    seed = seed ^ (seed >> 4);
    seed *= 0x27d4eb2du;
    return seed ^ (seed >> 15);
}

static spy_arg spyi_random_arg(const char *name, const spyi_value_kind *kind, const spy_random_desc *desc,
                               float low, float high) {
    spy_arg arg = spyi_custom_arg(name, kind);
    float range[2];
    uint32_t bits[2], seed = 2640457667u;
    bool hash = !desc || !desc->no_hash_seed;
    if (desc && (desc->seed || desc->zero_seed)) seed = desc->seed;
    range[0] = low;
    range[1] = high;
    memcpy(bits, range, sizeof bits);
    arg.dims[SPYI_RANDOM_START] = hash ? spyi_wang_hash(seed) : seed;
    arg.dims[SPYI_RANDOM_WARMUP] = !desc ? 0 : desc->seed && desc->zero_seed ? -1 : (int64_t)desc->warmup;
    arg.dims[SPYI_RANDOM_LOW] = bits[0];
    arg.dims[SPYI_RANDOM_HIGH] = bits[1];
    return arg;
}

spy_arg spy_arg_wang_hash(const char *name, const spy_random_desc *desc) {
    return spyi_random_arg(name, &spyi_hash_kind, desc, 0, 1);
}

spy_arg spy_arg_rand_float(const char *name, float low, float high, const spy_random_desc *desc) {
    return spyi_random_arg(name, &spyi_random_kind, desc, low, high);
}

// >>kinds/whole.c -------------------------------------------------------------------------------------------

// Tensors that are passed whole: to Tensor<T, D> and its sisters, to pointers.

// >>names of types: "RWTensor<vector<float,3>, 2>" is "RWTensor", "vector<float,3>" and "2"

typedef struct spyi_type_parts {
    char base[64]; // without its namespace
    char *arguments[2];
    uint32_t count; // of arguments, further ones included
} spyi_type_parts;

static void spyi_free_parts(spyi_type_parts *parts) {
    free(parts->arguments[0]);
    free(parts->arguments[1]);
}

static void spyi_split_type(const char *name, spyi_type_parts *parts) {
    size_t length = strcspn(name, "<");
    const char *base = name, *begin = name + length;
    memset(parts, 0, sizeof *parts);
    for (const char *c = name; c < begin; c++)
        if (*c == '.' || *c == ':') base = c + 1;
    snprintf(parts->base, sizeof parts->base, "%.*s", (int)(begin - base), base);
    int depth = 0;
    for (const char *c = begin; *c; c++) {
        if (*c == '<' && depth++ == 0) begin = c + 1;
        if (*c == '>') depth--;
        bool ends = (*c == ',' && depth == 1) || (*c == '>' && depth == 0);
        if (!ends) continue;
        while (*begin == ' ') begin++;
        if (parts->count < 2) {
            spyi_text text = { NULL, 0, 0 };
            spyi_text_add_n(&text, begin, (size_t)(c - begin));
            parts->arguments[parts->count] = spyi_strdup(spyi_text_str(&text));
            spyi_text_free(&text);
        }
        parts->count++;
        begin = c + 1;
    }
}

// Whether `name` is this type: by what it means, or by its name.
static const spyi_type *spyi_named_type(spyi_types *types, const spyi_type *given, const char *name) {
    const spyi_type *parsed = name ? spyi_type_parse(types, name) : NULL;
    if (parsed) return parsed;
    return name && strcmp(given->name, name) == 0 ? given : NULL;
}

// >>tensors

// What an argument becomes for a parameter of these types, and what the kernel may do with it.
static const struct spyi_family {
    const char *parameter, *passed;
    bool reads, writes;
} spyi_families[] = {
    { "Tensor", "Tensor", true, false },
    { "ITensor", "Tensor", true, false },
    { "WTensor", "WTensor", false, true },
    { "IWTensor", "WTensor", false, true },
    { "RWTensor", "RWTensor", true, true },
    { "IRWTensor", "RWTensor", true, true },
    { "AtomicTensor", "AtomicTensor", true, true },
};

static const struct spyi_family *spyi_family_of(const char *base) {
    for (size_t i = 0; i < sizeof spyi_families / sizeof spyi_families[0]; i++)
        if (strcmp(spyi_families[i].parameter, base) == 0) return &spyi_families[i];
    return NULL;
}

static bool spyi_whole_bind(spyi_types *types, const spyi_value *value, spyi_leaf *leaf) {
    spyi_type_parts parts;
    spyi_text passed = { NULL, 0, 0 };
    spyi_fit fit;
    spyi_split_type(leaf->type->name, &parts);
    const struct spyi_family *family = spyi_family_of(parts.base);
    long rank = parts.count == 2 && parts.arguments[1] ? strtol(parts.arguments[1], NULL, 10) : 0;
    const spyi_type *element = family ? spyi_named_type(types, value->type, parts.arguments[0]) : NULL;
    bool good = element && rank >= 1 && rank <= SPY_MAX_RANK &&
                spyi_fit_memory(value->type, element, true, &fit) &&
                (uint32_t)rank + fit.consumed <= SPY_MAX_RANK;
    if (good) {
        spyi_text_add(&passed, "%s<%s, %ld>", family->passed, element->name, rank);
        leaf->kind_type = spyi_type_other(types, passed.data)->name;
        leaf->element = element;
        leaf->reads = family->reads;
        leaf->writes = family->writes;
        leaf->consumed = (uint32_t)rank + fit.consumed;
        for (long d = 0; d < rank; d++) leaf->consumed_dims[d] = -1; // any size
        for (uint32_t d = 0; d < fit.consumed; d++) leaf->consumed_dims[(uint32_t)rank + d] = fit.dims[d];
        uint32_t rows = value->rank > leaf->consumed ? value->rank - leaf->consumed : 0;
        leaf->field_align = 8;
        leaf->field_size = 16u + 8u * (uint32_t)rank + 4u * rows;
    }
    spyi_text_free(&passed);
    spyi_free_parts(&parts);
    return good;
}

static void spyi_whole_field(const spyi_leaf *leaf, spyi_text *out) {
    if (leaf->batch_rank) spyi_text_add(out, "SpyiRows<%s, %u>", leaf->kind_type, leaf->batch_rank);
    else spyi_text_add(out, "%s", leaf->kind_type);
}

// A tensor of more dimensions than the parameter is run over: each element of the call gets its own part.
static void spyi_whole_load(const spyi_leaf *leaf, const spyi_place_text *at, spyi_text *out) {
    if (leaf->batch_rank == 0) {
        spyi_text_add(out, "%s", at->field);
        return;
    }
    spyi_text_add(out, "spyi_row(%s.tensor, ", at->field);
    for (uint32_t d = 0; d < leaf->batch_rank; d++)
        spyi_text_add(out, "%s%s.strides[%u] * spyi_coordinate(%s, %s, %u)", d ? " + " : "", at->field, d,
                      at->element, at->shape, leaf->map[d]);
    spyi_text_add(out, ")");
}

// How many scalars of the tensor one element of the parameter takes; 0: they do not lie next to each other.
static int64_t spyi_whole_pack(const spyi_leaf *leaf, const spy_tensor *t) {
    int64_t pack = 1;
    uint32_t outer = t->shape.rank;
    while (outer > leaf->batch_rank && leaf->consumed_dims[outer - 1 - leaf->batch_rank] != -1) {
        outer--;
        if (t->shape.dims[outer] != 1 && t->strides.dims[outer] != pack) return 0;
        pack *= t->shape.dims[outer];
    }
    for (uint32_t d = 0; d < outer; d++)
        if (t->shape.dims[d] > 1 && t->strides.dims[d] % pack) return 0;
    return pack;
}

static bool spyi_whole_fill(const spyi_leaf *leaf, const spyi_value *value, void *field, spyi_text *error) {
    const spy_tensor *t = value->tensor;
    uint8_t *out = (uint8_t *)field;
    int64_t pack = spyi_whole_pack(leaf, t);
    uint64_t element = spyi_type_device_stride(leaf->element), first = t->offset_bytes - t->begin_bytes;
    if (pack == 0 || t->begin_bytes % leaf->element->device_align || first % element) {
        spyi_text_add(error, "its trailing dimensions do not lie next to each other, as %s needs",
                      leaf->element->display);
        return false;
    }
    if (!t->storage->chunk.address || (t->end_bytes - t->begin_bytes) / element > INT32_MAX) {
        spyi_text_add(error, t->storage->chunk.address
                                 ? "it spans more than 2147483647 elements, which a tensor in Slang cannot"
                                 : "the device has no pointers, which tensors in Slang are made of");
        return false;
    }
    uint64_t address = t->storage->chunk.address + t->storage->offset + t->begin_bytes;
    uint32_t offset = (uint32_t)(first / element), rank = 0;
    memcpy(out, &address, 8);
    memcpy(out + 8, &offset, 4);
    while (rank < leaf->consumed && leaf->consumed_dims[rank] == -1) rank++;
    for (uint32_t d = 0; d < rank; d++) {
        uint32_t dim = leaf->batch_rank + d;
        int32_t size = (int32_t)t->shape.dims[dim];
        int32_t stride = t->shape.dims[dim] == 1 ? 0 : (int32_t)(t->strides.dims[dim] / pack);
        memcpy(out + 16 + 4 * d, &size, 4);
        memcpy(out + 16 + 4 * (rank + d), &stride, 4);
    }
    for (uint32_t d = 0; d < leaf->batch_rank; d++) {
        int32_t stride = t->shape.dims[d] == 1 ? 0 : (int32_t)(t->strides.dims[d] / pack);
        memcpy(out + 16 + 8 * rank + 4 * d, &stride, 4);
    }
    return true;
}

static const spyi_value_kind spyi_whole_kind = { "whole tensor",  NULL,
                                                 spyi_whole_bind, spyi_whole_field,
                                                 spyi_whole_load, spyi_whole_fill };

// >>pointers

static bool spyi_pointer_bind(spyi_types *types, const spyi_value *value, spyi_leaf *leaf) {
    spyi_type_parts parts;
    spyi_split_type(leaf->type->name, &parts);
    const spyi_type *element = parts.count ? spyi_type_parse(types, parts.arguments[0]) : NULL;
    bool good = parts.arguments[0] != NULL;
    if (value->tensor) {
        if (!element && good && strcmp(value->type->name, parts.arguments[0]) == 0) element = value->type;
        spyi_fit fit;
        good = element && spyi_fit_memory(value->type, element, true, &fit) && fit.consumed <= value->rank;
        leaf->reads = true;
        leaf->writes = !parts.arguments[1] || strcmp(parts.arguments[1], "Access.Read") != 0;
        leaf->consumed = value->rank;
        for (uint32_t d = 0; good && d < value->rank; d++)
            leaf->consumed_dims[d] =
                d + fit.consumed < value->rank ? -1 : fit.dims[d + fit.consumed - value->rank];
    } else {
        leaf->untracked = true;
    }
    leaf->field_size = leaf->field_align = 8;
    spyi_free_parts(&parts);
    return good;
}

// Slang spells "Ptr<T, Access.ReadWrite, AddressSpace.Device, ...>", which it does not read: T* it does.
static void spyi_pointer_field(const spyi_leaf *leaf, spyi_text *out) {
    spyi_type_parts parts;
    spyi_split_type(leaf->type->name, &parts);
    spyi_text_add(out, "%s*", parts.arguments[0] ? parts.arguments[0] : "");
    spyi_free_parts(&parts);
}

static void spyi_pointer_load(const spyi_leaf *leaf, const spyi_place_text *at, spyi_text *out) {
    (void)leaf;
    spyi_text_add(out, "%s", at->field);
}

static bool spyi_pointer_fill(const spyi_leaf *leaf, const spyi_value *value, void *field, spyi_text *error) {
    const spy_tensor *t = value->tensor;
    uint64_t address =
        t ? t->storage->chunk.address + t->storage->offset + t->offset_bytes : value->arg->value.u;
    (void)leaf;
    memcpy(field, &address, 8);
    if (!t || t->storage->chunk.address) return true;
    spyi_text_add(error, "the device has no pointers");
    return false;
}

static const spyi_value_kind spyi_pointer_kind = { "pointer",         NULL,
                                                   spyi_pointer_bind, spyi_pointer_field,
                                                   spyi_pointer_load, spyi_pointer_fill };

SPYI_FN const spyi_value_kind *spyi_kind_of_parameter(const spyi_type *type, const spyi_value *value) {
    bool number = value->kind == SPY_ARG_UINT && value->direction == SPY_DIRECTION_DEFAULT;
    if (type->kind != SPYI_TYPE_OTHER || (value->kind != SPY_ARG_TENSOR && !number)) return NULL;
    spyi_type_parts parts;
    spyi_split_type(type->name, &parts);
    const spyi_value_kind *kind = strcmp(parts.base, "Ptr") == 0                ? &spyi_pointer_kind
                                  : value->tensor && spyi_family_of(parts.base) ? &spyi_whole_kind
                                                                                : NULL;
    spyi_free_parts(&parts);
    return kind;
}

SPYI_FN const char *spyi_kind_takes(const spyi_type *type) {
    if (type->kind != SPYI_TYPE_OTHER) return NULL;
    spyi_type_parts parts;
    spyi_split_type(type->name, &parts);
    const char *takes = strcmp(parts.base, "Ptr") == 0 ? "; it takes a tensor, or an address as uint64"
                        : spyi_family_of(parts.base)   ? "; it takes a tensor"
                                                       : NULL;
    spyi_free_parts(&parts);
    return takes;
}

SPYI_FN void spyi_whole_type_name(spyi_types *types, const spyi_type *type, const spyi_value *value,
                                  spyi_text *out) {
    spyi_type_parts parts;
    spyi_fit fit;
    spyi_split_type(type->name, &parts);
    const struct spyi_family *family = spyi_family_of(parts.base);
    const spyi_type *element = spyi_named_type(types, value->type, parts.arguments[0]);
    long rank = parts.arguments[1] ? strtol(parts.arguments[1], NULL, 10) : 0;
    bool fits = element && spyi_fit_memory(value->type, element, true, &fit) && fit.consumed < value->rank;
    if (!fits) {
        element = value->type;
        fit.consumed = 0;
    }
    if (family)
        spyi_text_add(out, "%s<%s, %ld>", family->passed, element->name,
                      rank ? rank : (long)value->rank - (long)fit.consumed);
    spyi_free_parts(&parts);
}

// >>kinds/system.c ------------------------------------------------------------------------------------------

// What the system gives to the threads of a dispatch: SV_DispatchThreadID and its like.

static bool spyi_system_bind(spyi_types *types, const spyi_value *value, spyi_leaf *leaf) {
    const spyi_type *type = leaf->type;
    (void)types;
    (void)value;
    return (type->kind == SPYI_TYPE_SCALAR || (type->kind == SPYI_TYPE_VECTOR && type->columns <= 3)) &&
           (type->scalar == SPY_INT32 || type->scalar == SPY_UINT32);
}

// The kernel's own parameters are uint3.
static void spyi_system_load(const spyi_leaf *leaf, const char *name, spyi_text *out) {
    spyi_text_add(out, "%s(%s.%.*s)", spyi_spell(leaf->type), name, (int)leaf->type->columns, "xyz");
}

static void spyi_thread_load(const spyi_leaf *leaf, const spyi_place_text *at, spyi_text *out) {
    (void)at;
    spyi_system_load(leaf, "spy_thread", out);
}

static void spyi_group_load(const spyi_leaf *leaf, const spyi_place_text *at, spyi_text *out) {
    (void)at;
    spyi_system_load(leaf, "spy_group", out);
}

static void spyi_local_load(const spyi_leaf *leaf, const spyi_place_text *at, spyi_text *out) {
    (void)at;
    spyi_system_load(leaf, "spy_local", out);
}

static void spyi_index_load(const spyi_leaf *leaf, const spyi_place_text *at, spyi_text *out) {
    (void)at;
    spyi_text_add(out, "%s(spy_in_group)", spyi_spell(leaf->type));
}

static const spyi_value_kind spyi_system_kinds[] = {
    { "SV_DispatchThreadID", NULL, spyi_system_bind, NULL, spyi_thread_load, NULL },
    { "SV_GroupID", NULL, spyi_system_bind, NULL, spyi_group_load, NULL },
    { "SV_GroupThreadID", NULL, spyi_system_bind, NULL, spyi_local_load, NULL },
    { "SV_GroupIndex", NULL, spyi_system_bind, NULL, spyi_index_load, NULL },
};

SPYI_FN spy_arg spyi_system_arg(const char *name, spyi_system system) {
    return spyi_custom_arg(name, &spyi_system_kinds[system - SPYI_SYSTEM_THREAD]);
}

SPYI_FN bool spyi_is_system(const spyi_value *value) {
    for (size_t i = 0; i < sizeof spyi_system_kinds / sizeof spyi_system_kinds[0]; i++)
        if (value->custom == &spyi_system_kinds[i]) return true;
    return false;
}

// >>call/call_internal.h ------------------------------------------------------------------------------------

// A call after its first time: plans with their kernel variants, the cache that finds them, and one launch.

// >>variants: one compiled kernel
typedef struct spyi_variant {
    spyi_variant_key key;
    spyi_emitted emitted; // its text is dropped once compiled
    spyi_kernel *kernel;
} spyi_variant;

// >>launch: one call's shapes and memory, worked out before anything is recorded

#define SPYI_GEOMETRY_BYTES (offsetof(spy_tensor, contiguous) - offsetof(spy_tensor, shape))

typedef struct spyi_launch_leaf {
    spyi_storage *storage; // NULL until temporaries are made
    uint64_t offset;       // byte of element 0 in the storage
    uint64_t begin, end;   // bytes of its elements
    uint64_t reach; // end of what is read: the last vector of wide variants reaches beyond the elements
    int64_t strides[SPY_MAX_RANK];         // per collapsed dimension, in memory elements
    int64_t inner[SPY_MAX_RANK];           // per consumed dimension, in elements
    uint32_t memory_size;                  // bytes of one memory element
    uint64_t binding_offset;               // in the chunk, when bindings are used
    uint64_t storage_offset;               // of the storage in the chunk when that was worked out
    uint8_t geometry[SPYI_GEOMETRY_BYTES]; // of the tensor
    uint64_t base;                         // memory elements from there to element 0
    uint64_t first;                        // with pointers: from the lowest element to element 0
} spyi_launch_leaf;

typedef struct spyi_launch {
    spy_shape shape; // of the call
    int64_t count;   // elements
    uint32_t rank;   // collapsed
    int64_t dims[SPY_MAX_RANK];
    spyi_variant_key key;
    spyi_launch_leaf *leaves;  // of the plan's bound call
    uint32_t groups[3];        // as dispatched
    uint32_t thread_groups[3]; // as a dispatch's caller counts them
    uint8_t *block;            // parameters, as packed for the variant
    uint32_t block_capacity;
    spyi_variant *
        repeatable; // what the last call ran, when one that differs in storages and numbers alone may run it again
} spyi_launch;

// >>plans: what one signature of a function became
typedef struct spyi_plan spyi_plan;
struct spyi_plan {
    uint8_t *key;
    uint32_t key_size;
    uint64_t hash;
    uint8_t *redirect;  // not a plan: so many trailing sizes of each value belong to the key
    int32_t references; // the table, prepared calls
    spy_function *function;
    spyi_bound bound;
    spyi_launch launch; // the running call's, or the last one's
    spyi_variant **variants;
    uint32_t variant_count;
    uint64_t last_submit;     // batch of the last dispatch: kernels live until it has finished
    spyi_plan *chain;         // same hash
    spyi_plan *newer, *older; // by use
    spyi_plan *retired;       // next of those that wait for the GPU
};

// >>the cache and what calls reuse
struct spyi_plan_slot {
    uint64_t key;
    spyi_plan *value;
};

struct spyi_cache {
    struct spyi_plan_slot *table; // stb_ds map from hash to plans
    uint32_t max_plans, count;
    spyi_plan *newest, *oldest;
    spyi_plan *retired;
    spyi_values values; // of the running call
    bool extended;      // the last look-up added sizes to the key
};

// cache.c
SPYI_FN spyi_plan *spyi_cache_find(spy_device *device, spy_function *function,
                                   spyi_values *values); // NULL: not there
SPYI_FN spyi_plan *spyi_cache_redirect(spy_device *device, spy_function *function, spyi_values *values);
SPYI_FN void spyi_cache_insert(spy_device *device, spyi_plan *plan);
SPYI_FN void spyi_plan_release(spy_device *device, spyi_plan *plan);
SPYI_FN void spyi_cache_collect(spy_device *device); // frees retired plans whose work has finished

// plan.c. Both are free of the device's changing state, so compile threads may run them.
SPYI_FN spy_status spyi_plan_create(spy_function *function, const spyi_values *values, spyi_plan **plan,
                                    spyi_text *error);
SPYI_FN spy_status spyi_variant_create(spyi_plan *plan, const spyi_variant_key *key, spyi_variant **variant,
                                       spyi_text *error);
SPYI_FN void spyi_variant_free(spy_device *device, spyi_variant *variant);
SPYI_FN spyi_variant *spyi_variant_find(const spyi_plan *plan, const spyi_variant_key *key);
SPYI_FN spy_status spyi_plan_add_variant(spyi_plan *plan, spyi_variant *variant, spyi_text *error);
// The plan of a call, from the cache or built and inserted.
SPYI_FN spy_status spyi_plan_get(spy_function *function, spyi_values *values, spyi_plan **plan,
                                 spyi_text *error);

// launch.c: shapes, broadcasting, collapse, choice of variant, into plan->launch. Records nothing and allocates nothing.
SPYI_FN spy_status spyi_launch_shape(spyi_plan *plan, const spyi_values *values, spyi_text *error);
// Whether the call repeats the plan's last launch but for storages and numbers, which are then in plan->launch.
SPYI_FN bool spyi_launch_repeats(spyi_plan *plan, const spyi_values *values);

// overlap.c
SPYI_FN spy_status spyi_check_overlap(const spyi_bound *b, const spyi_values *values,
                                      const spyi_launch *launch, spyi_text *error);
// Places the bindings of temporaries once they have memory.
SPYI_FN spy_status spyi_launch_place(spyi_plan *plan, spyi_text *error);

// run.c. `list`: record into it instead of running; or NULL.
SPYI_FN spy_status spyi_run(spyi_plan *plan, const spyi_values *values, spy_command_list *list, bool timed,
                            uint64_t *gpu_time_ns, spyi_text *error);

// call.c: the stages of a call, or of a dispatch when `threads` is given, inside the device
SPYI_FN spy_status spyi_call_inside(spy_function *function, spy_args args, const spy_call_options *options,
                                    const spyi_threads *threads, const char *public_name);

// >>call/list.h ---------------------------------------------------------------------------------------------

// A command list inside: operations with all that repeating them takes, packed into three arrays.

// One operation. Offsets count bytes in the list's `bytes`, which move while the list grows.
typedef struct spyi_list_op {
    spy_list_op_kind kind;
    uint32_t first_use, use_count; // in `uses`; copies: to, from. Fills: to
    uint32_t name;                 // offset; 0: ""
    // calls
    spyi_plan *plan;          // one reference
    spyi_dispatch launch;     // without its block and bindings
    uint32_t block, bindings; // offsets
    bool untracked;
    // fills, and timestamps' slots
    bool repeats; // fills: by the pattern; else the second use is copied
    uint32_t pattern;
} spyi_list_op;

struct spy_command_list {
    spyi_object object;
    char *label; // or NULL
    void (*on_record)(const spy_list_op *op, void *user_data);
    void *user_data;
    spyi_list_op *ops;
    spyi_use *uses; // one storage reference each
    uint8_t *bytes; // blocks, bindings, names; byte 0 is the empty name
    size_t op_count, op_capacity, use_count, use_capacity, byte_count, byte_capacity;
    uint32_t call_count, time_count;
    uint32_t depth; // labels pushed and not popped
    bool finished;
    uint64_t submit_count;
    spy_tensor *times; // made by finish when there are timestamps
    spy_command_list *previous, *next;
};

// `list` can be recorded to on this device; else an error text.
SPYI_FN spy_status spyi_list_check_open(const spy_command_list *list, const spy_device *device,
                                        spyi_text *error);

// Adds an operation with its uses; `name` may be NULL, `extra` bytes (16-byte aligned) begin at *extra_at. All or nothing.
// The pointers are valid until the next addition; spyi_list_added() then tells on_record.
SPYI_FN spy_status spyi_list_add(spy_command_list *list, spy_list_op_kind kind, const char *name,
                                 const spyi_use *uses, uint32_t use_count, size_t extra, uint32_t *extra_at,
                                 spyi_list_op **op, spyi_text *error);
SPYI_FN void spyi_list_added(spy_command_list *list, const spyi_list_op *op);

// Records a dispatch of a plan's variant: its block and bindings are copied, the plan and the storages are held.
// `untracked`: as for spyi_take_uses.
SPYI_FN spy_status spyi_list_append_dispatch(spy_command_list *list, spyi_plan *plan,
                                             const spyi_variant *variant, const spyi_dispatch *dispatch,
                                             const spyi_use *uses, uint32_t use_count, bool untracked,
                                             spyi_text *error);

// >>call/cache.c --------------------------------------------------------------------------------------------

// The call cache: plans by signature key, the least recently used leaves. A function's last few plans are tried first,
// byte by byte, so that steady loops neither hash nor search.

SPYI_FN spyi_cache *spyi_cache_create(spy_device *device, uint32_t max_plans) {
    spyi_cache *cache = (spyi_cache *)spyi_allocate(&device->ctx, sizeof *cache);
    if (cache) cache->max_plans = max_plans;
    return cache;
}

// >>life of plans

static void spyi_plan_free(spy_device *device, spyi_plan *plan) {
    for (uint32_t i = 0; i < plan->variant_count; i++) spyi_variant_free(device, plan->variants[i]);
    free(plan->variants);
    spyi_bound_free(&plan->bound);
    free(plan->launch.leaves);
    free(plan->launch.block);
    free(plan->key);
    free(plan->redirect);
    free(plan);
}

SPYI_FN void spyi_plan_release(spy_device *device, spyi_plan *plan) {
    if (--plan->references > 0) return;
    if (device->backend->finished_submit(device->gpu) >= plan->last_submit) {
        spyi_plan_free(device, plan);
        return;
    }
    plan->retired = device->cache->retired;
    device->cache->retired = plan;
}

SPYI_FN void spyi_cache_collect(spy_device *device) {
    spyi_plan **at = &device->cache->retired;
    if (!*at) return;
    uint64_t finished = device->backend->finished_submit(device->gpu);
    while (*at) {
        spyi_plan *plan = *at;
        if (plan->last_submit > finished) {
            at = &plan->retired;
            continue;
        }
        *at = plan->retired;
        spyi_plan_free(device, plan);
    }
}

// >>order of use

static void spyi_lru_remove(spyi_cache *cache, spyi_plan *plan) {
    if (plan->newer) plan->newer->older = plan->older;
    else cache->newest = plan->older;
    if (plan->older) plan->older->newer = plan->newer;
    else cache->oldest = plan->newer;
    plan->newer = plan->older = NULL;
}

static void spyi_lru_add(spyi_cache *cache, spyi_plan *plan) {
    plan->older = cache->newest;
    if (cache->newest) cache->newest->newer = plan;
    else cache->oldest = plan;
    cache->newest = plan;
}

static void spyi_lru_touch(spyi_cache *cache, spyi_plan *plan) {
    if (cache->newest == plan) return;
    spyi_lru_remove(cache, plan);
    spyi_lru_add(cache, plan);
}

static void spyi_make_recent(spy_function *function, spyi_plan *plan) {
    int at = 0;
    while (at < SPYI_RECENT_PLANS - 1 && function->recent[at] != plan) at++;
    for (; at > 0; at--) function->recent[at] = function->recent[at - 1];
    function->recent[0] = plan;
}

static void spyi_cache_remove(spy_device *device, spyi_plan *plan) {
    spyi_cache *cache = device->cache;
    spyi_plan *first = stbds_hmget(cache->table, plan->hash);
    if (first == plan && !plan->chain) {
        (void)stbds_hmdel(cache->table, plan->hash);
    } else if (first == plan) {
        stbds_hmput(cache->table, plan->hash, plan->chain);
    } else {
        while (first->chain != plan) first = first->chain;
        first->chain = plan->chain;
    }
    for (int i = 0; i < SPYI_RECENT_PLANS; i++)
        if (plan->function->recent[i] == plan) plan->function->recent[i] = NULL;
    spyi_lru_remove(cache, plan);
    plan->chain = NULL;
    cache->count--;
    spyi_plan_release(device, plan);
}

static bool spyi_key_equal(const spyi_plan *plan, const spyi_values *values) {
    return plan->key_size == values->key_size && memcmp(plan->key, values->key, values->key_size) == 0;
}

static spyi_plan *spyi_cache_lookup(spy_device *device, spy_function *function, spyi_values *values) {
    for (int i = 0; i < SPYI_RECENT_PLANS; i++) {
        spyi_plan *plan = function->recent[i];
        if (!plan || !spyi_key_equal(plan, values)) continue;
        if (i > 0) spyi_make_recent(function, plan);
        return plan;
    }
    spyi_cache *cache = device->cache;
    if (cache->count == 0) return NULL;
    uint64_t hash = spyi_hash(values->key, values->key_size, 0);
    for (spyi_plan *plan = stbds_hmget(cache->table, hash); plan; plan = plan->chain) {
        if (!spyi_key_equal(plan, values)) continue;
        spyi_make_recent(function, plan);
        return plan;
    }
    return NULL;
}

SPYI_FN spyi_plan *spyi_cache_redirect(spy_device *device, spy_function *function, spyi_values *values) {
    spyi_plan *plan = spyi_cache_lookup(device, function, values);
    return plan && plan->redirect ? plan : NULL;
}

SPYI_FN spyi_plan *spyi_cache_find(spy_device *device, spy_function *function, spyi_values *values) {
    spyi_cache *cache = device->cache;
    spyi_plan *plan = spyi_cache_lookup(device, function, values);
    if (plan && plan->redirect) {
        spyi_lru_touch(cache, plan); // stays as long as what it leads to
        if (!spyi_key_add_sizes(values, plan->redirect)) return NULL;
        plan = spyi_cache_lookup(device, function, values);
    }
    if (plan) spyi_lru_touch(cache, plan);
    return plan;
}

SPYI_FN void spyi_cache_insert(spy_device *device, spyi_plan *plan) {
    spyi_cache *cache = device->cache;
    spyi_cache_collect(device);
    // A redirect and its plan arrive together: the plan must not push out its own redirect.
    uint32_t most = cache->max_plans < 2 ? 2 : cache->max_plans;
    while (cache->count >= most) spyi_cache_remove(device, cache->oldest);
    bool first = !cache->table;
    if (first) spyi_global_lock(); // stb_ds's first map of a process writes its seed
    plan->chain = stbds_hmget(cache->table, plan->hash);
    stbds_hmput(cache->table, plan->hash, plan);
    if (first) spyi_global_unlock();
    cache->count++;
    spyi_lru_add(cache, plan);
    spyi_make_recent(plan->function, plan);
    device->stats.plan_count = cache->count;
}

SPYI_FN void spyi_cache_forget_function(spy_device *device, const spy_function *function) {
    for (spyi_plan *plan = device->cache->oldest; plan;) {
        spyi_plan *next = plan->newer;
        if (plan->function == function) spyi_cache_remove(device, plan);
        plan = next;
    }
    device->stats.plan_count = device->cache->count;
}

SPYI_FN void spyi_cache_destroy(spy_device *device) {
    spyi_cache *cache = device->cache;
    while (cache->oldest) spyi_cache_remove(device, cache->oldest);
    while (cache->retired) { // the GPU is idle by now, or lost
        spyi_plan *plan = cache->retired;
        cache->retired = plan->retired;
        spyi_plan_free(device, plan);
    }
    stbds_hmfree(cache->table);
    spyi_values_free(&cache->values);
    spyi_free(&device->ctx, cache, sizeof *cache);
    device->cache = NULL;
}

// >>call/plan.c ---------------------------------------------------------------------------------------------

// Building plans and their kernel variants: bind, emit, compile, pipeline. Slow, and only on a miss.

// >>plans

SPYI_FN spy_status spyi_plan_create(spy_function *function, const spyi_values *values, spyi_plan **out,
                                    spyi_text *error) {
    spyi_plan *plan = (spyi_plan *)calloc(1, sizeof *plan);
    if (plan) plan->key = (uint8_t *)malloc(values->key_size);
    if (!plan || !plan->key) {
        free(plan);
        spyi_text_add(error, "out of host memory");
        return SPY_ERROR_OUT_OF_MEMORY;
    }
    memcpy(plan->key, values->key, values->key_size);
    plan->key_size = values->key_size;
    plan->hash = spyi_hash(plan->key, plan->key_size, 0);
    plan->function = function;
    plan->references = 1;
    spy_status status = spyi_bind(function, values, &plan->bound, error);
    if (status == SPY_OK && !spyi_options_copy(values, &plan->bound.options)) {
        spyi_text_add(error, "out of host memory");
        status = SPY_ERROR_OUT_OF_MEMORY;
    }
    if (status == SPY_OK && plan->bound.leaf_count > SPYI_MOST_MEMORY_LEAVES) {
        spyi_text_add(error, "the arguments have %u leaves, at most %d are possible", plan->bound.leaf_count,
                      SPYI_MOST_MEMORY_LEAVES);
        status = SPY_ERROR_UNSUPPORTED;
    }
    if (status == SPY_OK)
        plan->launch.leaves =
            (spyi_launch_leaf *)calloc(plan->bound.leaf_count + 1, sizeof *plan->launch.leaves);
    if (status == SPY_OK && !plan->launch.leaves) {
        spyi_text_add(error, "out of host memory");
        status = SPY_ERROR_OUT_OF_MEMORY;
    }
    if (status != SPY_OK) {
        spyi_bound_free(&plan->bound);
        free(plan->key);
        free(plan);
        return status;
    }
    *out = plan;
    return SPY_OK;
}

// Gives `made` the long key with the sizes that its types were chosen by, and puts a redirect under the short one, or
// widens the one that is there.
static bool spyi_plan_redirect(spy_device *device, spyi_plan *made, spyi_values *values,
                               uint32_t short_size) {
    values->key_size = short_size;
    spyi_plan *redirect = spyi_cache_redirect(device, made->function, values);
    uint8_t *sizes = redirect ? redirect->redirect : (uint8_t *)calloc(values->count + 1, 1);
    spyi_plan *fresh = redirect || !sizes ? NULL : (spyi_plan *)calloc(1, sizeof *fresh);
    uint8_t *short_key = fresh ? (uint8_t *)malloc(short_size) : NULL;
    if (!redirect && !short_key) {
        free(sizes);
        free(fresh);
        return false;
    }
    for (uint32_t i = 0; i < values->count; i++)
        if (made->bound.sizes[i] > sizes[i]) sizes[i] = made->bound.sizes[i];
    if (!redirect) {
        memcpy(short_key, values->key, short_size);
        fresh->key = short_key;
        fresh->key_size = short_size;
        fresh->hash = spyi_hash(short_key, short_size, 0);
        fresh->redirect = sizes;
        fresh->function = made->function;
        fresh->references = 1;
        spyi_cache_insert(device, fresh);
    }
    uint8_t *key = spyi_key_add_sizes(values, sizes) ? (uint8_t *)realloc(made->key, values->key_size) : NULL;
    if (!key) return false;
    memcpy(key, values->key, values->key_size);
    memcpy(made->bound.sizes, sizes, values->count);
    made->key = key;
    made->key_size = values->key_size;
    made->hash = spyi_hash(key, made->key_size, 0);
    return true;
}

SPYI_FN spy_status spyi_plan_get(spy_function *function, spyi_values *values, spyi_plan **plan,
                                 spyi_text *error) {
    spy_device *device = function->object.device;
    uint32_t short_size = values->key_size; // spyi_cache_find may extend the key
    *plan = spyi_cache_find(device, function, values);
    if (SPYI_LIKELY(*plan != NULL)) {
        device->stats.plan_hits++;
        return SPY_OK;
    }
    spyi_plan *made = NULL;
    spy_status status = spyi_plan_create(function, values, &made, error);
    if (status != SPY_OK) return status;
    if (made->bound.sizes && !spyi_plan_redirect(device, made, values, short_size)) {
        spyi_plan_release(device, made);
        spyi_text_add(error, "out of host memory");
        return SPY_ERROR_OUT_OF_MEMORY;
    }
    spyi_cache_insert(device, made);
    device->stats.plans_built++;
    *plan = made;
    return SPY_OK;
}

// >>variants

SPYI_FN spyi_variant *spyi_variant_find(const spyi_plan *plan, const spyi_variant_key *key) {
    size_t size = offsetof(spyi_variant_key, walk) + key->walk_count;
    for (uint32_t i = 0; i < plan->variant_count; i++)
        if (memcmp(&plan->variants[i]->key, key, size) == 0) return plan->variants[i];
    return NULL;
}

// Function name without what cannot stand in file names, and a hash of the text.
static void spyi_kernel_name(const spyi_plan *plan, const spyi_text *source, spyi_text *out) {
    for (const char *c = plan->function->name; *c && out->size < 48; c++) {
        bool word = (*c >= 'a' && *c <= 'z') || (*c >= 'A' && *c <= 'Z') || (*c >= '0' && *c <= '9');
        spyi_text_add(out, "%c", word ? *c : '_');
    }
    spyi_text_add(out, "_%08x", (unsigned)(spyi_hash(source->data, source->size, 1) & 0xffffffffu));
}

static void spyi_dump(spy_device *device, const char *name, const spyi_text *source, const spyi_code *code) {
    if (!device->dump_directory) return;
    spyi_text path = { NULL, 0, 0 };
    spyi_text_add(&path, "%s/%s.slang", device->dump_directory, name);
    bool good = spyi_file_write(path.data, source->data, source->size);
    if (good && code->data) {
        spyi_text_clear(&path);
        spyi_text_add(&path, "%s/%s.spv", device->dump_directory, name);
        good = spyi_file_write(path.data, code->data, code->size);
    }
    if (!good)
        spyi_logf(&device->ctx, SPY_LOG_WARNING, "cannot write the kernel to '%s'", spyi_text_str(&path));
    spyi_text_free(&path);
}

// What is linked to a shader of the user's own: the prelude, with its constants.
static spy_status spyi_shader_text(const spyi_plan *plan, spyi_emitted *out, spyi_text *error) {
    const spyi_options *o = &plan->bound.options;
    memset(out, 0, sizeof *out);
    spyi_text_add(&out->text, "// %s\n// a shader of its own, %u x %u x %u threads a group\nimport %s;\n\n%s",
                  plan->bound.signature.display, o->threads[0], o->threads[1], o->threads[2],
                  spyi_unit_name(plan->function->module->unit), o->prelude ? o->prelude : "");
    out->group_size = o->threads[0] * o->threads[1] * o->threads[2];
    if (out->text.data) return SPY_OK;
    spyi_text_add(error, "out of host memory");
    return SPY_ERROR_OUT_OF_MEMORY;
}

SPYI_FN spy_status spyi_variant_create(spyi_plan *plan, const spyi_variant_key *key, spyi_variant **out,
                                       spyi_text *error) {
    spy_function *function = plan->function;
    spy_device *device = function->object.device;
    spyi_variant *variant = (spyi_variant *)calloc(1, sizeof *variant);
    spyi_code code;
    memset(&code, 0, sizeof code);
    spyi_text name = { NULL, 0, 0 }, step = { NULL, 0, 0 };
    const char *entry = plan->bound.shader ? function->name : SPYI_KERNEL_ENTRY;
    spy_status status = SPY_ERROR_OUT_OF_MEMORY;
    if (variant) {
        variant->key = *key;
        if (!plan->bound.shader) status = spyi_emit(function, &plan->bound, key, &variant->emitted, error);
        else status = spyi_shader_text(plan, &variant->emitted, error);
    } else {
        spyi_text_add(error, "out of host memory");
    }
    if (status == SPY_OK) {
        const spyi_text *source = &variant->emitted.text;
        spyi_kernel_name(plan, source, &name);
        spyi_conformances conformances;
        conformances.items = plan->bound.options.conformances;
        conformances.count = plan->bound.options.conformance_count;
        if (plan->bound.shader)
            status = spyi_unit_compile_own(function->module->unit, name.data, source->data, entry,
                                           &function->entry, conformances, &code, error);
        else
            status = spyi_unit_compile(function->module->unit, name.data, source->data, entry, conformances,
                                       &code, error);
        spyi_dump(device, name.data, source, &code);
        if (status != SPY_OK) spyi_text_add(error, "\nin the generated kernel:\n%s", source->data);
    }
    if (status == SPY_OK && plan->bound.shader)
        status = spyi_emit_entry(function, &plan->bound, &function->entry, &variant->emitted, error);
    if (status == SPY_OK) {
        spyi_kernel_desc desc;
        memset(&desc, 0, sizeof desc);
        desc.label = name.data;
        desc.code = code.data;
        desc.code_size = code.size;
        desc.entry = entry;
        desc.group_size = variant->emitted.group_size;
        desc.block_size = variant->emitted.block_size;
        desc.block_by_address = variant->emitted.block_by_address;
        desc.binding_count = variant->emitted.binding_count;
        spyi_text_add(&step, "pipeline %s", name.data);
        spyi_step(&device->ctx, step.data, false);
        status = device->backend->create_kernel(device->gpu, &desc, &variant->kernel, error);
        spyi_step(&device->ctx, step.data, true);
    }
    spyi_code_free(&code);
    spyi_text_free(&name);
    spyi_text_free(&step);
    if (status != SPY_OK) {
        if (variant) spyi_emitted_free(&variant->emitted);
        free(variant);
        return status;
    }
    spyi_text_free(&variant->emitted.text);
    *out = variant;
    return SPY_OK;
}

SPYI_FN void spyi_variant_free(spy_device *device, spyi_variant *variant) {
    if (variant->kernel) device->backend->destroy_kernel(device->gpu, variant->kernel);
    spyi_emitted_free(&variant->emitted);
    free(variant);
}

SPYI_FN spy_status spyi_plan_add_variant(spyi_plan *plan, spyi_variant *variant, spyi_text *error) {
    spy_device *device = plan->function->object.device;
    spyi_variant **variants =
        (spyi_variant **)realloc(plan->variants, (plan->variant_count + 1) * sizeof *plan->variants);
    if (!variants) {
        spyi_variant_free(device, variant);
        spyi_text_add(error, "out of host memory");
        return SPY_ERROR_OUT_OF_MEMORY;
    }
    variants[plan->variant_count++] = variant;
    plan->variants = variants;
    return SPY_OK;
}

// >>call/launch.c -------------------------------------------------------------------------------------------

// From shapes to a variant: the call shape by numpy's rule, dimension collapse, and how each leaf's memory is walked.
//
// Source of the broadcast rule: numpy's general broadcasting rules (align at the last dimension, size 1 stretches).

#define SPYI_WIDTH 4       // elements a thread of wide variants: one 16-byte access for 4-byte scalars
#define SPYI_WIDE_BYTES 64 // largest element, over all leaves, of wide variants: four lie in registers
#define SPYI_UNROLL_FROM ((int64_t)1 << 20) // elements from which flat variants take several a thread

// Sizes and strides of a leaf's value; temporaries and new tensors are contiguous.
static void spyi_leaf_measures(const spyi_leaf *leaf, const spyi_value *v, const spy_shape *call,
                               spy_shape *dims, spy_shape *strides) {
    if (leaf->source == SPYI_SOURCE_TENSOR) {
        *dims = v->tensor->shape;
        *strides = v->tensor->strides;
        return;
    }
    if (leaf->source == SPYI_SOURCE_NEW) {
        *dims = *call;
    } else {
        *dims = spyi_value_shape(v);
    }
    *strides = spyi_row_major(dims);
}

static spy_status spyi_size_error(const spyi_leaf *leaf, const spyi_value *v, uint32_t dim,
                                  spyi_text *error) {
    spy_shape shape = spyi_value_shape(v);
    spyi_text_add(error, "'%s': %s takes its trailing dimensions, so dimension %u must be %lld, got shape ",
                  leaf->path, leaf->type->display, leaf->batch_rank + dim,
                  (long long)leaf->consumed_dims[dim]);
    spyi_shape_text(&shape, error);
    return SPY_ERROR_SHAPE_MISMATCH;
}

// The call shape from all leaves; the first two that disagree are named.
static spy_status spyi_call_shape(const spyi_bound *b, const spyi_values *values, spy_shape *call,
                                  spyi_text *error) {
    uint32_t owner[SPY_MAX_RANK] = { 0 };
    call->rank = b->rank;
    for (uint32_t d = 0; d < SPY_MAX_RANK; d++) call->dims[d] = 1;
    for (uint32_t d = 0; d < values->thread_count.rank; d++) {
        uint32_t k = b->rank - values->thread_count.rank + d;
        call->dims[k] = values->thread_count.dims[d];
        owner[k] = UINT32_MAX;
    }
    for (uint32_t i = 0; i < b->leaf_count; i++) {
        const spyi_leaf *leaf = &b->leaves[i];
        const spyi_value *v = &values->items[leaf->value];
        for (uint32_t d = 0; d < leaf->consumed; d++)
            if (leaf->consumed_dims[d] != -1 && v->dims[leaf->batch_rank + d] != leaf->consumed_dims[d])
                return spyi_size_error(leaf, v, d, error);
        if (leaf->source != SPYI_SOURCE_TENSOR && leaf->source != SPYI_SOURCE_UPLOAD &&
            leaf->source != SPYI_SOURCE_KIND)
            continue;
        for (uint32_t d = 0; d < leaf->batch_rank; d++) {
            uint32_t k = leaf->map[d];
            int64_t size = v->dims[d];
            if (size == 1 || size == -1 || size == call->dims[k]) continue;
            if (call->dims[k] == 1) {
                call->dims[k] = size;
                owner[k] = i;
                continue;
            }
            bool counted = owner[k] == UINT32_MAX;
            const spyi_leaf *other = counted ? NULL : &b->leaves[owner[k]];
            spy_shape mine = spyi_value_shape(v),
                      theirs =
                          counted ? values->thread_count : spyi_value_shape(&values->items[other->value]);
            spyi_text_add(error, "Shape mismatch: '%s' has shape ", counted ? "thread_count" : other->path);
            spyi_shape_text(&theirs, error);
            spyi_text_add(error, " and '%s' has shape ", leaf->path);
            spyi_shape_text(&mine, error);
            spyi_text_add(error, ": dimension %u of the call is %lld for one and %lld for the other", k,
                          (long long)call->dims[k], (long long)size);
            return SPY_ERROR_SHAPE_MISMATCH;
        }
    }
    return SPY_OK;
}

// An output must have a place for each element of the call; whether it has one of its own, overlap.c looks.
static spy_status spyi_check_output(const spyi_leaf *leaf, const spyi_value *v, const spy_shape *call,
                                    spyi_text *error) {
    bool covers = true;
    for (uint32_t k = 0; k < call->rank; k++) {
        bool mapped = call->dims[k] == 1;
        for (uint32_t d = 0; d < leaf->batch_rank; d++)
            if (leaf->map[d] == k) mapped = v->dims[d] == call->dims[k];
        covers = covers && mapped;
    }
    if (covers) return SPY_OK;
    spy_shape mine = spyi_value_shape(v);
    spyi_text_add(error, "Shape mismatch: output '%s' has shape ", leaf->path);
    spyi_shape_text(&mine, error);
    spyi_text_add(error, ", the call has shape ");
    spyi_shape_text(call, error);
    return SPY_ERROR_SHAPE_MISMATCH;
}

// Strides of one leaf over the call's dimensions, in memory elements; decides between packed and gathered.
static void spyi_leaf_strides(const spyi_leaf *leaf, const spy_shape *dims, const spy_shape *strides,
                              uint64_t offset, spyi_launch_leaf *out, uint8_t *walk) {
    int64_t pack = 1;
    bool packed = true;
    for (uint32_t d = leaf->consumed; d-- > 0;) {
        int64_t size = dims->dims[leaf->batch_rank + d], stride = strides->dims[leaf->batch_rank + d];
        if (size != 1 && stride != pack) packed = false;
        pack *= size;
        out->inner[d] = stride;
    }
    const spyi_type *memory = leaf->packed;
    // Slang converts neither arrays nor matrices of small integers as a whole; a packed view must lie on its own grid.
    if (leaf->consumed && leaf->type->kind != SPYI_TYPE_VECTOR && memory != leaf->type) packed = false;
    size_t element = spyi_type_device_stride(leaf->element);
    if (leaf->consumed && spyi_type_device_stride(memory) != element * (size_t)pack) packed = false;
    if (leaf->consumed && offset % memory->device_align) packed = false;
    for (uint32_t d = 0; packed && d < leaf->batch_rank; d++)
        if (dims->dims[d] > 1 && strides->dims[d] % pack) packed = false;
    if (leaf->consumed == 0 || leaf->source == SPYI_SOURCE_READBACK)
        packed = true; // its element is the whole value
    if (!packed) pack = 1;
    *walk = packed ? 0 : SPYI_WALK_GATHER;
    out->memory_size = (uint32_t)(packed && leaf->consumed ? spyi_type_device_stride(memory) : element);
    if (leaf->source == SPYI_SOURCE_READBACK)
        out->memory_size = (uint32_t)spyi_type_device_stride(leaf->type);
    memset(out->strides, 0, sizeof out->strides);
    for (uint32_t d = 0; d < leaf->batch_rank; d++)
        if (dims->dims[d] != 1)
            out->strides[leaf->map[d]] = leaf->consumed ? strides->dims[d] / pack : strides->dims[d];
}

// Drops dimensions of size 1 and merges neighbours that every leaf walks as one.
static void spyi_collapse(const spyi_bound *b, spyi_launch *launch) {
    uint32_t rank = 0;
    for (uint32_t k = 0; k < launch->shape.rank; k++) {
        int64_t size = launch->shape.dims[k];
        if (size == 1) continue;
        bool merge = rank > 0;
        for (uint32_t i = 0; i < b->leaf_count && merge; i++) {
            const int64_t *strides = launch->leaves[i].strides;
            if (spyi_leaf_in_memory(&b->leaves[i])) merge = strides[rank - 1] == strides[k] * size;
        }
        if (!merge) launch->dims[rank++] = size;
        else launch->dims[rank - 1] *= size;
        for (uint32_t i = 0; i < b->leaf_count; i++) // each is read before it is overwritten: rank - 1 <= k
            if (spyi_leaf_in_memory(&b->leaves[i]))
                launch->leaves[i].strides[rank - 1] = launch->leaves[i].strides[k];
    }
    launch->rank = rank;
}

static uint8_t spyi_walk_for(const spyi_launch *launch, const spyi_launch_leaf *leaf) {
    bool uniform = true, linear = true;
    int64_t expected = 1;
    for (uint32_t d = launch->rank; d-- > 0;) {
        uniform = uniform && leaf->strides[d] == 0;
        linear = linear && leaf->strides[d] == expected;
        expected *= launch->dims[d];
    }
    return uniform ? SPYI_WALK_UNIFORM : linear ? SPYI_WALK_LINEAR : SPYI_WALK_STRIDED;
}

// Whether four neighbours of this leaf are one aligned vector, wherever the thread stands.
static bool spyi_vector_fits(const spyi_launch *launch, const spyi_launch_leaf *leaf, uint32_t components) {
    uint64_t vector = (uint64_t)(leaf->memory_size / components) * SPYI_WIDTH,
             group = (uint64_t)leaf->memory_size * SPYI_WIDTH;
    uint64_t base = leaf->storage ? leaf->storage->offset : 0;
    if (leaf->begin != leaf->offset || leaf->strides[launch->rank - 1] != 1 || (base + leaf->offset) % vector)
        return false;
    for (uint32_t d = 0; d + 1 < launch->rank; d++)
        if (leaf->strides[d] % SPYI_WIDTH) return false;
    // The last thread's vectors may be read beyond the last element, but not beyond the storage. Blocks of the pool are
    // multiples of 64 bytes.
    if (!leaf->storage) return 64 % group == 0 || (leaf->end - leaf->offset) % group == 0;
    return spyi_align((size_t)(leaf->end - leaf->offset), (size_t)group) + leaf->offset <=
           leaf->storage->size;
}

// Turns the variant wide if every leaf allows it and all outputs are vectors.
static void spyi_try_wide(const spyi_bound *b, spyi_launch *launch, const spyi_limits *limits) {
    int64_t from = limits->prefers_bindings ? 2 * SPYI_WIDTH
                                            : 65536; // below, a GPU needs the threads more than the width
    if (launch->rank == 0 || launch->count < from) return;
    if (launch->rank > 1 && launch->dims[launch->rank - 1] % SPYI_WIDTH) return;
    uint8_t walk[SPYI_MOST_MEMORY_LEAVES];
    memcpy(walk, launch->key.walk, sizeof walk);
    bool outputs = false;
    size_t bytes = 0; // of an element over all leaves
    for (uint32_t i = 0; i < b->leaf_count; i++) {
        const spyi_leaf *leaf = &b->leaves[i];
        if (!spyi_leaf_in_memory(leaf) || walk[i] == SPYI_WALK_UNIFORM) continue;
        const spyi_launch_leaf *at = &launch->leaves[i];
        if (!spyi_leaf_can_widen(leaf) || (walk[i] & SPYI_WALK_GATHER)) return;
        bool vector = spyi_vector_fits(launch, at, leaf->type->columns);
        // Elements of several scalars make a GPU's threads skip over each other's vectors (kernel.c has the figures).
        if (leaf->type->columns > 1 && (!vector || !limits->prefers_bindings)) return;
        bytes += at->memory_size;
        if (leaf->out && !vector) return;
        outputs = outputs || leaf->out;
        if (vector) walk[i] = walk[i] == SPYI_WALK_LINEAR ? SPYI_WALK_LINEAR : SPYI_WALK_INNER;
        else
            walk[i] = (uint8_t)((at->strides[launch->rank - 1] == 0 ? SPYI_WALK_STILL : SPYI_WALK_STRIDED) |
                                (walk[i] & SPYI_WALK_REVERSED));
    }
    if (!outputs || bytes > SPYI_WIDE_BYTES) return;
    memcpy(launch->key.walk, walk, sizeof walk);
    launch->key.width = SPYI_WIDTH;
    // Strides of vectors count vectors; the last one is read whole.
    for (uint32_t i = 0; i < b->leaf_count; i++) {
        spyi_launch_leaf *at = &launch->leaves[i];
        if (!spyi_leaf_in_memory(&b->leaves[i]) || !spyi_key_is_vector(&launch->key, i)) continue;
        for (uint32_t d = 0; d + 1 < launch->rank; d++) at->strides[d] /= SPYI_WIDTH;
        at->reach =
            at->offset + spyi_align((size_t)(at->end - at->offset), (size_t)at->memory_size * SPYI_WIDTH);
    }
}

// A large flat call that cannot be wide takes several elements a thread, so that more loads are under way: four, or two
// when elements are large (kernel.c has the figures).
static void spyi_try_unroll(const spyi_bound *b, spyi_launch *launch, const spyi_limits *limits) {
    size_t bytes = 0;
    if (launch->key.width > 1 || launch->rank == 0 || launch->count < SPYI_UNROLL_FROM ||
        limits->prefers_bindings)
        return;
    for (uint32_t i = 0; i < b->leaf_count; i++) {
        if (!spyi_leaf_in_memory(&b->leaves[i]) || launch->key.walk[i] == SPYI_WALK_UNIFORM) continue;
        if (launch->key.walk[i] != SPYI_WALK_LINEAR) return;
        bytes += launch->leaves[i].memory_size;
    }
    launch->key.unroll = bytes <= 16 ? 4 : bytes <= 64 ? 2 : 1;
}

// Where a structured buffer for the leaf begins: an aligned offset from which whole elements lead to its first one.
static bool spyi_place_binding(const spyi_limits *limits, spyi_launch_leaf *leaf, bool vector) {
    uint64_t alignment = limits->binding_alignment;
    uint64_t at = (leaf->storage ? leaf->storage->offset : 0) + leaf->begin;
    uint64_t element = leaf->memory_size;
    uint64_t base = 0;
    while (!vector && at % alignment && at >= element &&
           base < alignment) { // vectors begin where the binding does
        at -= element;
        base++;
    }
    if (at % alignment) return false;
    if (leaf->reach - leaf->begin + base * element > limits->max_binding_bytes) return false;
    leaf->binding_offset = at;
    leaf->base = base + (leaf->offset - leaf->begin) / element;
    return true;
}

SPYI_FN spy_status spyi_launch_place(spyi_plan *plan, spyi_text *error) {
    spyi_launch *launch = &plan->launch;
    const spyi_limits *limits = &plan->function->object.device->base->limits;
    for (uint32_t i = 0; i < plan->bound.leaf_count; i++) {
        const spyi_leaf *leaf = &plan->bound.leaves[i];
        if (!spyi_leaf_in_memory(leaf) || leaf->source == SPYI_SOURCE_TENSOR) continue;
        if (spyi_place_binding(limits, &launch->leaves[i], spyi_key_is_vector(&launch->key, i))) continue;
        spyi_text_add(error, "'%s': its temporary does not fit into a structured buffer", leaf->path);
        return SPY_ERROR_INTERNAL;
    }
    return SPY_OK;
}

static void spyi_choose_access(const spyi_bound *b, const spyi_limits *limits, spyi_launch *launch) {
    uint64_t largest = 0;
    uint32_t memory_leaves = 0;
    bool placed = true;
    for (uint32_t i = 0; i < b->leaf_count; i++) {
        if (!spyi_leaf_in_memory(&b->leaves[i])) continue;
        spyi_launch_leaf *leaf = &launch->leaves[i];
        uint64_t bytes = leaf->end - leaf->begin;
        if (bytes > largest) largest = bytes;
        if (bytes / leaf->memory_size >= ((uint64_t)1 << 31)) launch->key.index64 = 1;
        memory_leaves++;
    }
    if (launch->key.index64 || memory_leaves > limits->max_bindings) return;
    bool pointers = (limits->info.features & SPY_FEATURE_POINTERS) != 0;
    if (pointers && !limits->prefers_bindings && largest < limits->bindings_from_bytes) return;
    for (uint32_t i = 0; i < b->leaf_count && placed; i++) {
        if (spyi_leaf_in_memory(&b->leaves[i]))
            placed = spyi_place_binding(limits, &launch->leaves[i], spyi_key_is_vector(&launch->key, i));
    }
    launch->key.bindings = placed ? 1 : 0;
}

// Where a leaf's tensor lies, and all that a repeated launch must find again.
static void spyi_launch_tensor(spyi_launch_leaf *at, const spy_tensor *tensor) {
    at->storage = tensor->storage;
    at->begin = tensor->begin_bytes;
    at->end = at->reach = tensor->end_bytes;
    at->storage_offset = tensor->storage->offset;
    memcpy(at->geometry, &tensor->shape, sizeof at->geometry);
}

// Groups of a dispatch as the caller counts its threads; more than the device takes in one dimension are folded.
static spy_status spyi_launch_threads(const spyi_threads *threads, const spyi_limits *limits,
                                      spyi_launch *launch, spyi_text *error) {
    uint64_t total = 1, most = limits->info.max_group_count;
    for (int i = 0; i < 3; i++) {
        uint64_t groups = ((uint64_t)threads->count[i] + threads->group[i] - 1) / threads->group[i];
        if (threads->counts) groups = 1;
        if (groups > most) launch->key.folded = 1;
        launch->groups[i] = (uint32_t)groups;
        total *= groups;
    }
    memcpy(launch->thread_groups, launch->groups, sizeof launch->groups);
    if (total == 0) launch->count = 0;
    if (!launch->key.folded || total == 0) return SPY_OK;
    if (threads->shader) {
        spyi_text_add(
            error,
            "a dispatch of %u x %u x %u groups is more than the device's %llu in one dimension, and a "
            "shader's groups cannot be counted otherwise",
            launch->groups[0], launch->groups[1], launch->groups[2], (unsigned long long)most);
        return SPY_ERROR_OUT_OF_RANGE;
    }
    if (total > most * most) {
        spyi_text_add(error, "a dispatch of %llu groups is more than the device's %llu",
                      (unsigned long long)total, (unsigned long long)(most * most));
        return SPY_ERROR_OUT_OF_RANGE;
    }
    launch->groups[0] = (uint32_t)most;
    launch->groups[1] = (uint32_t)((total + most - 1) / most);
    launch->groups[2] = 1;
    return SPY_OK;
}

SPYI_FN spy_status spyi_launch_shape(spyi_plan *plan, const spyi_values *values, spyi_text *error) {
    const spyi_bound *b = &plan->bound;
    spyi_launch *launch = &plan->launch;
    const spy_device *device = plan->function->object.device;
    const spyi_limits *limits = &device->base->limits;
    launch->repeatable = NULL;
    memset(&launch->key, 0, sizeof launch->key);
    spy_status status = spyi_call_shape(b, values, &launch->shape, error);
    if (status != SPY_OK) return status;
    launch->count = spyi_shape_count(&launch->shape);
    if (launch->count < 0 || launch->count >= ((int64_t)1 << 31)) {
        spyi_text_add(error, "the call has shape ");
        spyi_shape_text(&launch->shape, error);
        spyi_text_add(error, ", which is more than the 2147483647 elements that one call can have");
        return SPY_ERROR_OUT_OF_RANGE;
    }
    for (uint32_t i = 0; i < b->leaf_count; i++) {
        const spyi_leaf *leaf = &b->leaves[i];
        const spyi_value *v = &values->items[leaf->value];
        spyi_launch_leaf *at = &launch->leaves[i];
        if (spyi_leaf_is_whole(leaf)) spyi_launch_tensor(at, v->tensor);
        if (!spyi_leaf_in_memory(leaf)) continue;
        spy_shape dims, strides;
        spyi_leaf_measures(leaf, v, &launch->shape, &dims, &strides);
        at->storage = leaf->source == SPYI_SOURCE_TENSOR ? v->tensor->storage : NULL;
        at->offset = leaf->source == SPYI_SOURCE_TENSOR ? v->tensor->offset_bytes : 0;
        spyi_leaf_strides(leaf, &dims, &strides, at->offset, at, &launch->key.walk[i]);
        if (at->storage) {
            spyi_launch_tensor(at, v->tensor);
        } else {
            at->begin = 0;
            at->end = leaf->source == SPYI_SOURCE_READBACK
                          ? at->memory_size
                          : (uint64_t)spyi_shape_count(&dims) * spyi_type_device_stride(leaf->element);
        }
        at->reach = at->end;
        at->first = (at->offset - at->begin) / at->memory_size;
        if (leaf->out && leaf->source != SPYI_SOURCE_NEW) {
            status = spyi_check_output(leaf, v, &launch->shape, error);
            if (status != SPY_OK) return status;
        }
    }
    if (launch->count == 0) return SPY_OK;
    uint32_t group[SPY_MAX_RANK];
    launch->key.grouped = spyi_call_group(b, group);
    if (launch->key.grouped) {
        launch->rank = launch->shape.rank;
        memcpy(launch->dims, launch->shape.dims, sizeof launch->dims);
    } else {
        spyi_collapse(b, launch);
    }
    launch->key.rank = (uint8_t)launch->rank;
    launch->key.width = 1;
    launch->key.unroll = 1;
    for (uint32_t i = 0; i < b->leaf_count; i++)
        if (spyi_leaf_in_memory(&b->leaves[i]))
            launch->key.walk[i] =
                (uint8_t)(launch->key.walk[i] |
                          (launch->leaves[i].begin < launch->leaves[i].offset ? SPYI_WALK_REVERSED : 0u) |
                          spyi_walk_for(launch, &launch->leaves[i]));
    if (!b->options.threads[0] && !launch->key.grouped) { // else each element has a thread of its own
        spyi_try_wide(b, launch, limits);
        spyi_try_unroll(b, launch, limits);
    }
    spyi_choose_access(b, limits, launch);
    if (!launch->key.bindings && !(limits->info.features & SPY_FEATURE_POINTERS)) {
        spyi_text_add(error, "its arrays do not fit into structured buffers, and the device has no pointers");
        return SPY_ERROR_UNSUPPORTED;
    }
    launch->key.walk_count = (uint8_t)b->leaf_count;
    if (values->threads) return spyi_launch_threads(values->threads, limits, launch, error);
    int64_t per_group =
        (int64_t)spyi_group_size(b, limits, launch->rank) * launch->key.width * launch->key.unroll;
    int64_t threads = launch->count;
    for (uint32_t d = 0; d < launch->rank && launch->key.grouped; d++) // whole call groups
        threads = (d ? threads : 1) * ((launch->dims[d] + group[d] - 1) / group[d]) * group[d];
    int64_t groups = (threads + per_group - 1) / per_group, most = limits->info.max_group_count;
    launch->key.folded = groups > most;
    launch->groups[0] = (uint32_t)(groups > most ? most : groups);
    launch->groups[1] = (uint32_t)((groups + launch->groups[0] - 1) / launch->groups[0]);
    launch->groups[2] = 1;
    return SPY_OK;
}

// Steady loops call again and again with tensors of the same geometry: nothing of the above changes then, as long as each
// storage lies on the same grid, is large enough for whole vectors, and none is an output and something else at once.
SPYI_FN bool spyi_launch_repeats(spyi_plan *plan, const spyi_values *values) {
    spyi_launch *launch = &plan->launch;
    const spyi_bound *b = &plan->bound;
    if (!launch->repeatable || values->thread_count.rank) return false;
    uint64_t grid = plan->function->object.device->base->limits.binding_alignment;
    grid = (grid > 64 ? grid : 64) - 1;
    for (uint32_t i = 0; i < b->leaf_count; i++) {
        if (b->leaves[i].source != SPYI_SOURCE_TENSOR && !spyi_leaf_is_whole(&b->leaves[i])) continue;
        const spy_tensor *t = values->items[b->leaves[i].value].tensor;
        spyi_launch_leaf *at = &launch->leaves[i];
        const spyi_storage *storage = t->storage;
        if (memcmp(at->geometry, &t->shape, sizeof at->geometry) != 0 || storage->size < at->reach ||
            ((storage->offset ^ at->storage_offset) & grid) != 0 ||
            (launch->key.bindings && storage->offset + at->binding_offset < at->storage_offset))
            return false;
        at->binding_offset += storage->offset - at->storage_offset;
        at->storage_offset = storage->offset;
        at->storage = t->storage;
    }
    for (uint32_t i = 0; i < b->leaf_count; i++) {
        if (!b->leaves[i].out || b->leaves[i].source != SPYI_SOURCE_TENSOR) continue;
        for (uint32_t j = 0; j < b->leaf_count; j++)
            if (j != i && (b->leaves[j].source == SPYI_SOURCE_TENSOR || spyi_leaf_is_whole(&b->leaves[j])) &&
                launch->leaves[j].storage == launch->leaves[i].storage)
                return false;
    }
    return true;
}

// >>call/overlap.c ------------------------------------------------------------------------------------------

// Memory that a call's arguments share. Threads run in any order, so an output may meet itself or another argument only
// where each thread touches its own element alone.

// Whether both are walked alike: then each thread meets only itself.
static bool spyi_walk_alike(const spyi_bound *bound, const spyi_launch *launch, uint32_t i, uint32_t j) {
    const spyi_launch_leaf *a = &launch->leaves[i], *b = &launch->leaves[j];
    if (launch->key.walk[i] != launch->key.walk[j] || a->offset != b->offset ||
        a->memory_size != b->memory_size ||
        memcmp(a->strides, b->strides, launch->rank * sizeof *a->strides) != 0)
        return false;
    if (!(launch->key.walk[i] & SPYI_WALK_GATHER)) return true;
    uint32_t consumed =
        bound->leaves[i].consumed; // pieces of one value lie anywhere: they must be the same ones
    return consumed == bound->leaves[j].consumed &&
           memcmp(a->inner, b->inner, consumed * sizeof *a->inner) == 0;
}

SPYI_FN spy_status spyi_check_overlap(const spyi_bound *b, const spyi_values *values,
                                      const spyi_launch *launch, spyi_text *error) {
    for (uint32_t i = 0; i < b->leaf_count; i++) {
        if (!b->leaves[i].out || b->leaves[i].source != SPYI_SOURCE_TENSOR) continue;
        const spy_tensor *out = values->items[b->leaves[i].value].tensor;
        if (spyi_tensor_meets_itself(out)) {
            spyi_text_add(
                error,
                "output '%s' is a view in which several elements lie at one place: they would be written "
                "several times",
                b->leaves[i].path);
            return SPY_ERROR_SHAPE_MISMATCH;
        }
        for (uint32_t j = 0; j < b->leaf_count; j++) {
            bool whole = spyi_leaf_is_whole(&b->leaves[j]); // threads may go anywhere in it
            if (j == i || (b->leaves[j].source != SPYI_SOURCE_TENSOR && !whole)) continue;
            if (!spyi_tensors_meet(out, values->items[b->leaves[j].value].tensor)) continue;
            if (!whole && !b->leaves[j].out && spyi_walk_alike(b, launch, i, j)) continue;
            spyi_text_add(
                error,
                "output '%s' lies in the same memory as '%s' but not element by element: threads would read "
                "what others have written; use another tensor",
                b->leaves[i].path, b->leaves[j].path);
            return SPY_ERROR_INVALID_ARGUMENT;
        }
    }
    return SPY_OK;
}

// >>call/run.c ----------------------------------------------------------------------------------------------

// One call: shapes, memory, the parameter block, the dispatch, and results to host memory.
//
// Up to the dispatch nothing of the user's is touched: a call that fails leaves every output as it was.

// >>temporaries: host arrays that are run over, new tensors, and places for results to host memory

typedef struct spyi_run_state {
    spy_device *device;
    spyi_plan *plan;
    const spyi_bound *bound;
    const spyi_values *values;
    spyi_launch *launch;
    spy_tensor *made[SPYI_MOST_MEMORY_LEAVES]; // by leaf: temporaries and new tensors
    uint32_t readback_offset[SPYI_MOST_MEMORY_LEAVES];
    spy_command_list *list; // records the call; NULL: it runs
    bool waits;             // something returns to host memory
} spyi_run_state;

static void spyi_free_made(spyi_run_state *s, bool keep_new) {
    for (uint32_t i = 0; i < s->bound->leaf_count; i++) {
        if (!s->made[i] || (keep_new && s->bound->leaves[i].source == SPYI_SOURCE_NEW)) continue;
        spyi_tensor_unlink(s->made[i]);
        spyi_tensor_free(s->made[i]);
        s->made[i] = NULL;
    }
}

// The scalar type of a host array's elements once they are on the device.
static spy_dtype spyi_leaf_scalar(const spyi_leaf *leaf) {
    const spyi_type *type = leaf->element;
    while (type->kind == SPYI_TYPE_ARRAY) type = type->element;
    return type->scalar;
}

static spy_status spyi_does_not_fit(const spyi_leaf *leaf, const spyi_value *v, spyi_text *error) {
    spyi_text_add(error, "'%s': expected %s, got %s that does not fit", leaf->path, leaf->type->display,
                  v->type->display);
    const spy_arg *arg = v->arg;
    if (v->kind == SPY_ARG_INT) spyi_text_add(error, ": %lld", (long long)arg->value.i);
    else if (v->kind == SPY_ARG_UINT) spyi_text_add(error, ": %llu", (unsigned long long)arg->value.u);
    else if (v->kind == SPY_ARG_FLOAT) spyi_text_add(error, ": %.9g", arg->value.f);
    return SPY_ERROR_OUT_OF_RANGE;
}

static spy_status spyi_make_upload(spyi_run_state *s, uint32_t i, spyi_text *error) {
    const spyi_leaf *leaf = &s->bound->leaves[i];
    const spyi_value *v = &s->values->items[leaf->value];
    spy_status status = SPY_OK;
    spy_shape shape = spyi_value_shape(v);
    int64_t count = spyi_shape_count(&shape);
    spy_dtype to = spyi_leaf_scalar(leaf), from = v->type->scalar;
    void *converted = NULL;
    if (leaf->in && to != from) {
        converted = malloc((size_t)count * spyi_scalar_size(to) + 1);
        if (!converted) {
            spyi_text_add(error, "out of host memory");
            return SPY_ERROR_OUT_OF_MEMORY;
        }
        if (!spyi_convert_scalars(converted, to, v->arg->value.data, from, (size_t)count)) {
            free(converted);
            return spyi_does_not_fit(leaf, v, error);
        }
    }
    s->made[i] = spyi_tensor_make(s->device, leaf->element, &shape, NULL, error, &status);
    if (s->made[i] && leaf->in)
        status = spyi_tensor_upload(s->made[i], converted ? converted : v->arg->value.data, error);
    free(converted);
    return status;
}

static spy_status spyi_make_readback(spyi_run_state *s, spyi_text *error) {
    uint32_t size = 0;
    spy_device *device = s->device;
    for (uint32_t i = 0; i < s->bound->leaf_count; i++) {
        const spyi_leaf *leaf = &s->bound->leaves[i];
        if (leaf->source != SPYI_SOURCE_READBACK) continue;
        size = (uint32_t)spyi_align(size, 64);
        s->readback_offset[i] = size;
        size += (uint32_t)spyi_type_device_stride(leaf->type);
        s->waits = true;
    }
    if (!s->waits || size == 0) return SPY_OK;
    if (device->readback && device->readback->size < size) {
        spyi_pool_give(device, device->readback); // every call that uses it waits, so the GPU is done with it
        device->readback = NULL;
    }
    spy_status status = SPY_OK;
    if (!device->readback)
        device->readback = spyi_pool_take(device, SPYI_MEMORY_READBACK, size < 4096 ? 4096 : size,
                                          "slangpy readback", error, &status);
    if (!device->readback) return status;
    char *memory = (char *)device->readback->chunk.mapped + device->readback->offset;
    for (uint32_t i = 0; i < s->bound->leaf_count; i++) {
        const spyi_leaf *leaf = &s->bound->leaves[i];
        if (leaf->source != SPYI_SOURCE_READBACK) continue;
        spyi_launch_leaf *at = &s->launch->leaves[i];
        at->storage = device->readback;
        at->offset = at->begin = s->readback_offset[i];
        at->end = at->reach = at->begin + at->memory_size;
        if (leaf->in)
            spyi_type_to_device(leaf->type, memory + at->offset,
                                s->values->items[leaf->value].arg->value.data, 1);
    }
    return SPY_OK;
}

static spy_status spyi_make_memory(spyi_run_state *s, spyi_text *error) {
    const spyi_bound *b = s->bound;
    spy_status status = spyi_make_readback(s, error);
    for (uint32_t i = 0; i < b->leaf_count && status == SPY_OK; i++) {
        const spyi_leaf *leaf = &b->leaves[i];
        if (leaf->source == SPYI_SOURCE_UPLOAD) {
            status = spyi_make_upload(s, i, error);
            s->waits = s->waits || leaf->out;
        } else if (leaf->source == SPYI_SOURCE_NEW) {
            s->made[i] = spyi_tensor_make(s->device, leaf->element, &s->launch->shape, NULL, error, &status);
        }
        if (s->made[i]) s->launch->leaves[i].storage = s->made[i]->storage;
    }
    return status;
}

// >>the block

// Multiplier and shift with n / d == (((n * magic) >> 32) + n) >> shift for all n below 2^31.
// Source: Granlund and Montgomery, "Division by Invariant Integers using Multiplication" (1994), section 4.
static void spyi_divider(uint32_t d, uint32_t *magic, uint32_t *shift) {
    uint32_t s = 0;
    while (s < 31 && ((uint32_t)1 << s) < d) s++;
    *shift = s;
    *magic = (uint32_t)((((uint64_t)1 << 32) * (((uint64_t)1 << s) - d)) / d + 1);
}

static bool spyi_pack_scalar(const spyi_leaf *leaf, const spy_arg *arg, uint8_t *out) {
    spy_dtype from = arg->dtype, to = leaf->element->scalar;
    if (SPYI_LIKELY(from == to)) { // as it is; bool is widened below
        float f;
        double d;
        switch (to) {
        case SPY_FLOAT32:
            f = (float)arg->value.f;
            memcpy(out, &f, sizeof f);
            return true;
        case SPY_FLOAT64:
            d = arg->value.f;
            memcpy(out, &d, sizeof d);
            return true;
        case SPY_INT32:
        case SPY_UINT32: memcpy(out, &arg->value.u, 4); return true; // little-endian
        default: break;
        }
    }
    uint8_t host[8];
    // The union holds 64 bits of the number's own family.
    spy_dtype wide = arg->kind == SPY_ARG_FLOAT ? SPY_FLOAT64
                     : arg->kind == SPY_ARG_INT ? SPY_INT64
                                                : SPY_UINT64;
    if (!spyi_convert_scalars(host, to, &arg->value, wide, 1)) return false;
    spyi_type_to_device(leaf->element, out, host, 1);
    return true;
}

static bool spyi_pack_inline(const spyi_leaf *leaf, const spyi_value *v, uint8_t *out) {
    const spyi_type *scalar = leaf->type;
    while (scalar->kind == SPYI_TYPE_ARRAY) scalar = scalar->element;
    size_t count = 1;
    for (uint32_t d = 0; d < v->rank; d++) count *= (size_t)v->dims[d];
    if (scalar->scalar == v->type->scalar) {
        spyi_type_to_device(leaf->type, out, v->arg->value.data, 1);
        return true;
    }
    void *host = malloc(count * spyi_scalar_size(scalar->scalar) + 1);
    bool good =
        host && spyi_convert_scalars(host, scalar->scalar, v->arg->value.data, v->type->scalar, count);
    if (good) spyi_type_to_device(leaf->type, out, host, 1);
    free(host);
    return good;
}

// Fills launch->block. `repeats`: it holds the last call's, whose sizes and strides stay.
static spy_status spyi_pack_block(spyi_run_state *s, const spyi_variant *variant, bool repeats,
                                  spyi_text *error) {
    const spyi_launch *launch = s->launch;
    uint8_t *block = launch->block;
    uint32_t row = launch->groups[0] * variant->emitted.group_size;
    bool index64 = variant->key.index64;
    spyi_text problem = { NULL, 0, 0 };
    if (!repeats) memset(block, 0, variant->emitted.block_size);
    for (uint32_t p = 0; p < variant->emitted.pack_count; p++) {
        const spyi_pack *pack = &variant->emitted.packs[p];
        if (repeats && pack->op < SPYI_PACK_ADDRESS) continue;
        const spyi_leaf *leaf = &s->bound->leaves[pack->leaf];
        const spyi_launch_leaf *at = &launch->leaves[pack->leaf];
        uint8_t *out = block + pack->offset;
        uint32_t u = 0, other;
        int64_t stride;
        uint64_t address;
        switch ((spyi_pack_op)pack->op) {
        case SPYI_PACK_COUNT:
            u = (uint32_t)launch->count;
            memcpy(out, &u, 4);
            break;
        case SPYI_PACK_ROW: memcpy(out, &row, 4); break;
        case SPYI_PACK_THREADS: memcpy(out, &s->values->threads->count[pack->dim], 4); break;
        case SPYI_PACK_GROUPS: memcpy(out, &launch->thread_groups[pack->dim], 4); break;
        case SPYI_PACK_SHAPE:
            u = launch->shape.rank ? (uint32_t)launch->shape.dims[pack->dim] : 1u;
            memcpy(out, &u, 4);
            break;
        case SPYI_PACK_SIZE:
            u = (uint32_t)launch->dims[pack->dim];
            memcpy(out, &u, 4);
            break;
        case SPYI_PACK_MAGIC:
            spyi_divider((uint32_t)launch->dims[pack->dim], &u, &other);
            memcpy(out, &u, 4);
            break;
        case SPYI_PACK_SHIFT:
            spyi_divider((uint32_t)launch->dims[pack->dim], &other, &u);
            memcpy(out, &u, 4);
            break;
        case SPYI_PACK_ADDRESS:
            address = at->storage->chunk.address + at->storage->offset + at->begin;
            memcpy(out, &address, 8);
            break;
        case SPYI_PACK_BASE:
            memcpy(out, variant->key.bindings ? &at->base : &at->first, index64 ? 8 : 4);
            break;
        case SPYI_PACK_STRIDE:
        case SPYI_PACK_INNER:
            stride = pack->op == SPYI_PACK_STRIDE ? at->strides[pack->dim] : at->inner[pack->dim];
            memcpy(out, &stride, index64 ? 8 : 4); // little-endian: the low half is the 32-bit value
            break;
        case SPYI_PACK_SCALAR:
            if (!spyi_pack_scalar(leaf, s->values->items[leaf->value].arg, out))
                return spyi_does_not_fit(leaf, &s->values->items[leaf->value], error);
            break;
        case SPYI_PACK_BYTES:
            spyi_type_to_device(leaf->type, out, s->values->items[leaf->value].arg->value.data, 1);
            break;
        case SPYI_PACK_INLINE:
            if (!spyi_pack_inline(leaf, &s->values->items[leaf->value], out))
                return spyi_does_not_fit(leaf, &s->values->items[leaf->value], error);
            break;
        case SPYI_PACK_KIND:
            spyi_text_clear(&problem);
            if (!leaf->kind->pack(leaf, &s->values->items[leaf->value], out, &problem)) {
                spyi_text_add(error, "'%s': %s", leaf->path, spyi_text_str(&problem));
                spyi_text_free(&problem);
                return SPY_ERROR_OUT_OF_RANGE;
            }
            break;
        }
    }
    return SPY_OK;
}

// >>hazards

// Results to host memory are left out: each call that has them waits. `untracked`: the kernel may read and write where
// nobody knows.
static uint32_t spyi_collect_uses(const spyi_run_state *s, spyi_use *uses, bool *untracked) {
    const spyi_bound *b = s->bound;
    uint32_t count = 0;
    *untracked = false;
    for (uint32_t i = 0; i < b->leaf_count; i++) {
        const spyi_leaf *leaf = &b->leaves[i];
        const spyi_launch_leaf *at = &s->launch->leaves[i];
        *untracked = *untracked || leaf->untracked;
        bool whole = spyi_leaf_is_whole(leaf);
        if ((!spyi_leaf_in_memory(leaf) && !whole) || leaf->source == SPYI_SOURCE_READBACK) continue;
        spyi_use *use = &uses[count++];
        use->storage = at->storage;
        use->begin = at->begin;
        use->end = at->end;
        use->reads = whole ? leaf->reads : leaf->in;
        use->writes = whole ? leaf->writes : leaf->out;
        use->counts = false;
    }
    const spyi_threads *threads = s->values->threads;
    if (threads && threads->counts) {
        spyi_use *use = &uses[count++];
        memset(use, 0, sizeof *use);
        use->storage = threads->counts->storage;
        use->begin = threads->counts_at;
        use->end = use->begin + 12;
        use->reads = use->counts = true;
    }
    return count;
}

// While a command list or an engine's command buffer is recorded into, no result can come back within the call.
static spy_status spyi_check_deferred(const spyi_run_state *s, spyi_text *error) {
    if (!s->list && !s->device->base->deferred) return SPY_OK;
    for (uint32_t i = 0; i < s->bound->leaf_count; i++) {
        const spyi_leaf *leaf = &s->bound->leaves[i];
        if (!leaf->out || (leaf->source != SPYI_SOURCE_READBACK && leaf->source != SPYI_SOURCE_UPLOAD))
            continue;
        spyi_text_add(error, "'%s' returns to host memory, but %s; give it a tensor and read that later",
                      leaf->path,
                      s->list ? "the call is recorded into a command list"
                              : "calls are being recorded into a command buffer that is not submitted here");
        return SPY_ERROR_UNSUPPORTED;
    }
    return SPY_OK;
}

// >>dispatch and results

static spy_status spyi_dispatch_launch(spyi_run_state *s, const spyi_variant *variant, bool repeats,
                                       bool timed, spyi_text *error) {
    spy_device *device = s->device;
    spyi_launch *launch = s->launch;
    const spyi_emitted *e = &variant->emitted;
    spyi_dispatch dispatch;
    spyi_binding bindings[SPYI_MOST_MEMORY_LEAVES];
    spyi_use uses[SPYI_MOST_MEMORY_LEAVES + 1]; // and group counts
    uint32_t use_count;
    bool untracked;
    if (launch->block_capacity < e->block_size) { // host values may be copied with their padding
        uint8_t *block = (uint8_t *)realloc(launch->block, e->block_size + 64);
        if (!block) {
            spyi_text_add(error, "out of host memory");
            return SPY_ERROR_OUT_OF_MEMORY;
        }
        launch->block = block;
        launch->block_capacity = e->block_size;
    }
    spy_status status = spyi_pack_block(s, variant, repeats, error);
    if (status != SPY_OK) return status;
    for (uint32_t i = 0; i < e->binding_count; i++) {
        const spyi_launch_leaf *at = &launch->leaves[e->bindings[i]];
        bindings[i].handle = at->storage->chunk.handle;
        bindings[i].offset = at->binding_offset;
        bindings[i].range = at->storage->offset + at->reach - at->binding_offset;
        if (bindings[i].range > at->storage->chunk.size - at->binding_offset)
            bindings[i].range = at->storage->chunk.size - at->binding_offset;
    }
    dispatch.kernel = variant->kernel;
    dispatch.block = launch->block;
    memcpy(dispatch.groups, launch->groups, sizeof dispatch.groups);
    dispatch.indirect = dispatch.indirect_offset = 0;
    if (s->values->threads && s->values->threads->counts) {
        const spyi_storage *counts = s->values->threads->counts->storage;
        dispatch.indirect = counts->chunk.handle;
        dispatch.indirect_offset = counts->offset + s->values->threads->counts_at;
    }
    dispatch.bindings = bindings;
    use_count = spyi_collect_uses(s, uses, &untracked);
    if (s->list)
        return spyi_list_append_dispatch(s->list, s->plan, variant, &dispatch, uses, use_count, untracked,
                                         error);
    if (timed)
        status = device->backend->time_begin(device->gpu, error); // may submit: before batches are noted
    if (status != SPY_OK) return status;
    s->plan->last_submit = device->backend->open_submit(device->gpu);
    dispatch.barrier = spyi_take_uses(device, uses, use_count, untracked);
    status = device->backend->dispatch(device->gpu, &dispatch, error);
    spyi_uses_done(device, dispatch.barrier, untracked, status);
    if (status == SPY_OK && timed) status = device->backend->time_end(device->gpu, error);
    return status;
}

static spy_status spyi_return_results(spyi_run_state *s, spyi_text *error) {
    spy_device *device = s->device;
    const spyi_bound *b = s->bound;
    spy_status status = device->backend->wait(device->gpu, s->plan->last_submit, UINT64_MAX, error);
    for (uint32_t i = 0; i < b->leaf_count && status == SPY_OK; i++) {
        const spyi_leaf *leaf = &b->leaves[i];
        const spyi_value *v = &s->values->items[leaf->value];
        if (!leaf->out) continue;
        if (leaf->source == SPYI_SOURCE_READBACK) {
            const char *memory = (const char *)device->readback->chunk.mapped + device->readback->offset;
            spyi_type_to_host(leaf->type, v->arg->value.out, memory + s->readback_offset[i], 1);
        } else if (leaf->source == SPYI_SOURCE_UPLOAD) {
            status = spyi_tensor_download(s->made[i], v->arg->value.out, error);
        }
    }
    return status;
}

// Shapes, checks and the variant to run, compiled if need be; NULL: there is nothing to do.
static spy_status spyi_choose(spyi_run_state *s, spyi_variant **variant, spyi_text *error) {
    spyi_plan *plan = s->plan;
    const spyi_launch *launch = s->launch;
    *variant = NULL;
    spy_status status = spyi_launch_shape(plan, s->values, error);
    if (status == SPY_OK) status = spyi_check_deferred(s, error);
    if (status != SPY_OK || launch->count == 0) return status;
    status = spyi_check_overlap(s->bound, s->values, launch, error);
    if (status != SPY_OK) return status;
    *variant = spyi_variant_find(plan, &launch->key);
    if (*variant) return SPY_OK;
    status = spyi_variant_create(plan, &launch->key, variant, error);
    if (status == SPY_OK) status = spyi_plan_add_variant(plan, *variant, error);
    if (status == SPY_OK) s->device->stats.kernels_built++;
    return status;
}

// Host arrays, values that bring sizes of their own, and results to host memory, bring work of their own to each call.
static bool spyi_is_repeatable(const spyi_bound *b) {
    if (b->dispatch) return false; // its threads are no tensor's
    for (uint32_t i = 0; i < b->leaf_count; i++) {
        spyi_source source = b->leaves[i].source;
        if (source == SPYI_SOURCE_KIND && (spyi_leaf_is_whole(&b->leaves[i]) || b->leaves[i].batch_rank == 0))
            continue;
        if (source != SPYI_SOURCE_TENSOR && source != SPYI_SOURCE_SCALAR && source != SPYI_SOURCE_BYTES &&
            source != SPYI_SOURCE_NEW)
            return false;
    }
    return true;
}

SPYI_FN spy_status spyi_run(spyi_plan *plan, const spyi_values *values, spy_command_list *list, bool timed,
                            uint64_t *gpu_time_ns, spyi_text *error) {
    spy_device *device = plan->function->object.device;
    spyi_run_state s;
    s.device = device;
    s.plan = plan;
    s.bound = &plan->bound;
    s.values = values;
    s.launch = &plan->launch;
    s.list = list;
    s.waits = false;
    memset(s.made, 0, plan->bound.leaf_count * sizeof *s.made);
    spy_status status = SPY_OK;
    spyi_variant *variant = s.launch->repeatable;
    bool repeats = spyi_launch_repeats(plan, values);
    s.launch->repeatable = NULL; // until this one has run
    if (!repeats) status = spyi_choose(&s, &variant, error);
    if (status != SPY_OK) return status;
    status = spyi_make_memory(&s, error);
    if (status == SPY_OK && variant && variant->key.bindings) // temporaries have their place only now
        status = spyi_launch_place(plan, error);
    if (status == SPY_OK && variant) {
        status = spyi_dispatch_launch(&s, variant, repeats, timed, error);
        if (!list) device->stats.calls++;
    }
    if (status == SPY_OK && variant && s.waits) status = spyi_return_results(&s, error);
    if (status == SPY_OK && variant && timed)
        status = device->backend->time_elapsed(device->gpu, gpu_time_ns, error);
    if (status == SPY_OK)
        for (uint32_t i = 0; i < s.bound->leaf_count; i++)
            if (s.bound->leaves[i].source == SPYI_SOURCE_NEW)
                *values->items[s.bound->leaves[i].value].arg->value.new_tensor = s.made[i];
    spyi_free_made(&s, status == SPY_OK);
    if (status == SPY_OK && (repeats || spyi_is_repeatable(s.bound))) s.launch->repeatable = variant;
    return status;
}

// >>call/call.c ---------------------------------------------------------------------------------------------

// spy_call and its companions: the stages of a call in order. describe and sign, look up, (bind, emit, compile), run.

// How a failed call ends: the function, what was wrong, and the call as it was understood.
static spy_status spyi_call_failed(spy_function *function, spy_status status, const char *public_name,
                                   spyi_text *error) {
    spyi_fail(&function->object.device->ctx, status, "%s: %s: %s", public_name, function->name,
              spyi_text_str(error));
    spyi_text_free(error);
    return status;
}

// Inside the device: the stages of a call or dispatch.
static spy_status spyi_call_timed(spy_function *function, spy_args args, const spy_call_options *options,
                                  const spyi_threads *threads, const char *public_name, bool timed,
                                  uint64_t *gpu_time_ns) {
    spyi_values *values = &function->object.device->cache->values;
    spyi_text error = { NULL, 0, 0 };
    spyi_plan *plan = NULL;
    spy_command_list *list = options ? options->append_to : NULL;
    spy_status status = list ? spyi_list_check_open(list, function->object.device, &error) : SPY_OK;
    if (SPYI_LIKELY(status == SPY_OK))
        status = spyi_describe(function, args, options, threads, values, &error);
    if (SPYI_LIKELY(status == SPY_OK)) status = spyi_plan_get(function, values, &plan, &error);
    if (SPYI_LIKELY(status == SPY_OK)) {
        status = spyi_run(plan, values, list, timed, gpu_time_ns, &error);
        if (status != SPY_OK) {
            spyi_text_add(&error, "\n");
            spyi_bound_text(&plan->bound, values, &error);
        }
    }
    if (status != SPY_OK) spyi_call_failed(function, status, public_name, &error);
    return status;
}

SPYI_FN spy_status spyi_call_inside(spy_function *function, spy_args args, const spy_call_options *options,
                                    const spyi_threads *threads, const char *public_name) {
    return spyi_call_timed(function, args, options, threads, public_name, false, NULL);
}

static spy_status spyi_call(spy_function *function, spy_args args, const spy_call_options *options,
                            const char *public_name, bool timed, uint64_t *gpu_time_ns) {
    spy_status status = spyi_enter(function, SPYI_KIND_FUNCTION, public_name);
    if (status != SPY_OK) return status;
    status = spyi_call_timed(function, args, options, NULL, public_name, timed, gpu_time_ns);
    spyi_leave(function);
    return status;
}

spy_status spy_call(spy_function *function, spy_args args) {
    return spyi_call(function, args, NULL, "spy_call", false, NULL);
}

spy_status spy_call_with(spy_function *function, spy_args args, const spy_call_options *options) {
    return spyi_call(function, args, options, "spy_call_with", false, NULL);
}

spy_status spy_time_call(spy_function *function, spy_args args, uint64_t *gpu_time_ns) {
    uint64_t ignored;
    if (!gpu_time_ns) gpu_time_ns = &ignored;
    *gpu_time_ns = 0;
    return spyi_call(function, args, NULL, "spy_time_call", true, gpu_time_ns);
}

spy_status spy_list_call(spy_command_list *list, spy_function *function, spy_args args) {
    const char *name = "spy_list_call";
    spy_call_options options;
    memset(&options, 0, sizeof options);
    options.append_to = list;
    if (list) return spyi_call(function, args, &options, name, false, NULL);
    return spyi_fail(NULL, SPY_ERROR_INVALID_ARGUMENT, "%s: expected a command list, got NULL", name);
}

// >>explaining

static void spyi_explain(const spyi_plan *plan, const spyi_values *values, spyi_text *out) {
    const spyi_launch *launch = &plan->launch;
    const spy_device *device = plan->function->object.device;
    spyi_text_add(out, "%s\n", plan->bound.signature.display);
    spyi_bound_text(&plan->bound, values, out);
    spyi_text_add(out, "  call shape ");
    spyi_shape_text(&launch->shape, out);
    spyi_text_add(out, ", %lld elements on %s\n", (long long)launch->count, device->base->limits.info.name);
    if (launch->count == 0) {
        spyi_text_add(out, "  nothing to do\n");
        return;
    }
    spy_shape collapsed;
    memset(&collapsed, 0, sizeof collapsed);
    collapsed.rank = launch->rank;
    memcpy(collapsed.dims, launch->dims, launch->rank * sizeof *launch->dims);
    spyi_text_add(out, "  collapsed to ");
    spyi_shape_text(&collapsed, out);
    spyi_text_add(out, "%s\n\n", spyi_variant_find(plan, &launch->key) ? ", compiled" : ", not compiled yet");
    spyi_emitted emitted;
    if (spyi_emit(plan->function, &plan->bound, &launch->key, &emitted, out) == SPY_OK) {
        spyi_text_add(out, "%s", spyi_text_str(&emitted.text));
        spyi_emitted_free(&emitted);
    }
}

size_t spy_explain_call(spy_function *function, spy_args args, char *text, size_t capacity) {
    if (text && capacity) text[0] = 0;
    if (spyi_enter(function, SPYI_KIND_FUNCTION, "spy_explain_call") != SPY_OK) return 0;
    spy_device *device = function->object.device;
    spyi_values *values = &device->cache->values;
    spyi_text out = { NULL, 0, 0 };
    spyi_plan *plan = NULL;
    spy_status status = spyi_describe(function, args, NULL, NULL, values, &out);
    if (status == SPY_OK) status = spyi_plan_get(function, values, &plan, &out);
    if (status == SPY_OK) status = spyi_launch_shape(plan, values, &out);
    if (status == SPY_OK) spyi_explain(plan, values, &out);
    size_t size = out.size;
    if (text && capacity) {
        size_t n = size < capacity - 1 ? size : capacity - 1;
        memcpy(text, spyi_text_str(&out), n);
        text[n] = 0;
    }
    spyi_text_free(&out);
    spyi_leave(device);
    return size;
}

// >>call/dispatch.c -----------------------------------------------------------------------------------------

// Dispatches: a function over an explicit number of threads, its arguments passed whole. A shader of the module's own runs
// as it is (libslang does not end when another one calls it); a plain function is called by a generated kernel.

static const spyi_entry *spyi_function_entry(spy_function *function) {
    if (!function->entry_known) spyi_unit_entry(function->module->unit, function->name, &function->entry);
    function->entry_known = true;
    return &function->entry;
}

// The user's arguments and one for each parameter that the system fills.
static size_t spyi_dispatch_args(const spy_function *function, spy_args args, spy_arg *all, size_t most) {
    const spyi_signature *signature = &function->overloads.items[0];
    size_t count = 0;
    for (uint32_t p = 0; p < signature->param_count && p < SPYI_MOST_ENTRY_PARAMS && count < most; p++)
        if (function->entry.systems[p])
            all[count++] =
                spyi_system_arg(signature->params[p].name, (spyi_system)function->entry.systems[p]);
    for (size_t i = 0; i < args.count && count < most; i++) all[count++] = args.items[i];
    return count;
}

static const char *spyi_dispatch_problem(const spy_function *function, spy_args args,
                                         const spy_call_options *o) {
    if (args.count && !args.items) return "expected arguments, got NULL";
    if (args.count > SPYI_MOST_ENTRY_PARAMS) return "it has too many arguments";
    if (function->overloads.count != 1)
        return "a function with overloads cannot be dispatched; give one its own name";
    if (o && (o->call_group_shape.rank || o->thread_count.rank))
        return "call_group_shape and thread_count are for calls; a dispatch says its threads itself";
    return NULL;
}

static spy_status spyi_run_threads(spy_function *function, const char *name, spyi_threads *threads,
                                   spy_args args, const spy_call_options *options) {
    spy_status entered = spyi_enter(function, SPYI_KIND_FUNCTION, name);
    if (entered != SPY_OK) return entered;
    const char *problem = spyi_dispatch_problem(function, args, options);
    spy_status status = problem ? SPY_ERROR_INVALID_ARGUMENT : SPY_OK;
    if (problem) {
        spyi_fail(&function->object.device->ctx, status, "%s: %s: %s", name, function->name, problem);
    } else {
        spy_arg all[2 * SPYI_MOST_ENTRY_PARAMS];
        const spyi_entry *entry = spyi_function_entry(function);
        const uint32_t *size =
            options && options->thread_group_size[0] ? options->thread_group_size : entry->threads;
        threads->shader = entry->threads[0] != 0;
        threads->guarded =
            !threads->shader && !threads->counts; // a shader looks itself whether it is beyond the end
        for (int i = 0; i < 3; i++) threads->group[i] = size[0] ? (size[i] ? size[i] : 1) : i ? 1 : 64;
        spy_args list;
        list.items = all;
        list.count = spyi_dispatch_args(function, args, all, sizeof all / sizeof all[0]);
        status = spyi_call_inside(function, list, options, threads, name);
    }
    spyi_leave(function);
    return status;
}

spy_status spy_dispatch(spy_function *function, spy_uint3 threads, spy_args args,
                        const spy_call_options *options) {
    spyi_threads t;
    memset(&t, 0, sizeof t);
    t.count[0] = threads.x;
    t.count[1] = threads.y;
    t.count[2] = threads.z;
    return spyi_run_threads(function, "spy_dispatch", &t, args, options);
}

spy_status spy_dispatch_indirect(spy_function *function, spy_tensor *groups, int64_t index, spy_args args,
                                 const spy_call_options *options) {
    const char *name = "spy_dispatch_indirect";
    spy_status status = spyi_enter(function, SPYI_KIND_FUNCTION, name);
    if (status != SPY_OK) return status;
    spyi_context *ctx = &function->object.device->ctx;
    const char *problem = NULL;
    spyi_threads t;
    memset(&t, 0, sizeof t);
    if (!spyi_as(groups, SPYI_KIND_TENSOR) || groups->object.device != function->object.device)
        problem = "groups is not a living tensor of this device";
    else if (groups->type->kind != SPYI_TYPE_SCALAR || groups->type->scalar != SPY_UINT32 ||
             !groups->contiguous)
        problem = "groups is not a contiguous tensor of uint32";
    else if (index < 0 || index + 3 > groups->element_count)
        problem = "the three group counts at index lie beyond the tensor's end";
    if (problem)
        status = spyi_fail(ctx, SPY_ERROR_INVALID_ARGUMENT, "%s: %s: %s", name, function->name, problem);
    spyi_leave(function);
    if (status != SPY_OK) return status;
    t.counts = groups;
    t.counts_at = groups->offset_bytes + 4 * (uint64_t)index;
    t.count[0] = t.count[1] = t.count[2] = 1;
    return spyi_run_threads(function, name, &t, args, options);
}

// >>call/prepare.c ------------------------------------------------------------------------------------------

// Prepared calls: a plan and its variant made ahead of time, on a thread of their own if asked.
//
// A compile thread works on copies of the call's values and snapshots of its tensors. What it made enters
// the cache on the caller's thread, when the prepared call is next asked for.

struct spy_prepared {
    spyi_object object;
    spy_function *function;
    spyi_plan *plan; // one reference; NULL while compiling or after a failure
    bool running;    // a thread has not been joined yet
    spyi_thread thread;
    spyi_atomic finished; // set by the thread at its end
    spyi_values values;   // copies for the thread
    spyi_plan *made;      // by the thread
    spy_status status;    // of the compilation
    spyi_text error;
    uint32_t generation; // of the module that the plan was made from
    spy_prepared *previous, *next;
};

// >>copies of values that outlive the caller's arguments

// A tensor as it was: the thread reads its shape and place, whatever becomes of it meanwhile.
typedef struct spyi_snapshot {
    spy_tensor tensor; // first: freed through it
    spyi_storage storage;
} spyi_snapshot;

static void spyi_free_copies(spyi_values *values) {
    for (uint32_t i = 0; i < values->count; i++) {
        spyi_value *v = &values->items[i];
        free((void *)v->name);
        free((void *)v->cast);
        if (v->tensor) free(v->tensor);
        else free((void *)v->dims);
        free((void *)v->map);
    }
    spyi_values_free(values);
}

static bool spyi_copy_values(const spyi_values *from, spyi_values *to) {
    to->items = (spyi_value *)calloc(from->count + 1, sizeof *to->items);
    to->key = (uint8_t *)malloc(from->key_size);
    if (!to->items || !to->key) return false;
    to->capacity = from->count;
    to->key_capacity = to->key_size = from->key_size;
    memcpy(to->key, from->key, from->key_size);
    bool good = true;
    for (uint32_t i = 0; i < from->count; i++) {
        const spyi_value *v = &from->items[i];
        spyi_value *copy = &to->items[to->count++];
        *copy = *v;
        copy->arg = NULL;
        copy->name = spyi_strdup(v->name);
        copy->cast = spyi_strdup(v->cast);
        int8_t *map = (int8_t *)malloc(SPY_MAX_RANK);
        if (map) memcpy(map, v->map, v->map_count);
        copy->map = map;
        good = good && map && (copy->name || !v->name) && (copy->cast || !v->cast);
        copy->tensor = NULL;
        copy->dims = NULL;
        if (v->tensor) {
            spyi_snapshot *snapshot = (spyi_snapshot *)malloc(sizeof *snapshot);
            good = good && snapshot;
            if (!snapshot) continue;
            snapshot->tensor = *v->tensor;
            snapshot->storage = *v->tensor->storage;
            snapshot->tensor.storage = &snapshot->storage;
            copy->tensor = &snapshot->tensor;
            copy->dims = snapshot->tensor.shape.dims;
        } else if (v->dims) {
            int64_t *dims = (int64_t *)malloc(SPY_MAX_RANK * sizeof *dims);
            if (dims) memcpy(dims, v->dims, v->rank * sizeof *dims);
            copy->dims = dims;
            good = good && dims;
        }
    }
    return good;
}

// >>the work

// Makes the variant that a call with these values needs, unless the plan has it.
static spy_status spyi_prepare_variant(spyi_plan *plan, const spyi_values *values, spyi_text *error) {
    const spyi_launch *launch = &plan->launch;
    spyi_variant *variant = NULL;
    spy_status status = spyi_launch_shape(plan, values, error);
    if (status != SPY_OK || launch->count == 0 || spyi_variant_find(plan, &launch->key)) return status;
    status = spyi_variant_create(plan, &launch->key, &variant, error);
    return status == SPY_OK ? spyi_plan_add_variant(plan, variant, error) : status;
}

static void spyi_prepare_thread(void *user) {
    spy_prepared *p = (spy_prepared *)user;
    p->status = spyi_plan_create(p->function, &p->values, &p->made, &p->error);
    if (p->status == SPY_OK) p->status = spyi_prepare_variant(p->made, &p->values, &p->error);
    spyi_atomic_store(&p->finished, 1);
}

// Joins a finished (or awaited) thread and puts what it made into the cache. Inside the device.
static void spyi_prepare_join(spy_prepared *p) {
    if (!p->running) return;
    spyi_thread_join(&p->thread);
    p->running = false;
    spy_device *device = p->object.device;
    if (p->status != SPY_OK && p->made) {
        spyi_plan_release(device, p->made);
        p->made = NULL;
    }
    if (p->made) {
        device->stats.kernels_built += p->made->variant_count;
        spyi_values *values = &p->values;
        spyi_plan *known = spyi_cache_find(device, p->function, values);
        if (known) { // another call was faster: it gets our kernels
            for (uint32_t i = 0; i < p->made->variant_count; i++) {
                spyi_variant *variant = p->made->variants[i];
                spyi_text ignored = { NULL, 0, 0 };
                if (spyi_variant_find(known, &variant->key)) spyi_variant_free(device, variant);
                else spyi_plan_add_variant(known, variant, &ignored); // frees it when it fails
                spyi_text_free(&ignored);
            }
            p->made->variant_count = 0;
            spyi_plan_release(device, p->made);
            p->plan = known;
        } else {
            p->plan = p->made;
            // Plans chosen by sizes need a redirect; spyi_plan_get makes both at the next plain call.
            if (!p->made->bound.sizes) {
                spyi_cache_insert(device, p->made);
                device->stats.plans_built++;
                p->plan->references++;
            }
            p->made = NULL;
            spyi_free_copies(&p->values);
            return;
        }
        p->plan->references++;
        p->made = NULL;
    }
    spyi_free_copies(&p->values);
}

spy_prepared *spy_prepare(spy_function *function, spy_args args, const spy_prepare_desc *desc) {
    const char *name = "spy_prepare";
    if (spyi_enter(function, SPYI_KIND_FUNCTION, name) != SPY_OK) return NULL;
    spy_device *device = function->object.device;
    spyi_values *values = &device->cache->values;
    spyi_text error = { NULL, 0, 0 };
    spy_prepared *p = NULL;
    spy_status status = spyi_describe(function, args, NULL, NULL, values, &error);
    if (status == SPY_OK) {
        p = (spy_prepared *)spyi_allocate(&device->ctx, sizeof *p);
        if (!p) {
            status = SPY_ERROR_OUT_OF_MEMORY;
            spyi_text_add(&error, "out of host memory");
        }
    }
    if (p) {
        p->object.kind = (uint32_t)SPYI_KIND_PREPARED;
        p->object.device = device;
        spyi_atomic_store(&p->object.references, 1);
        p->function = function;
        p->generation = function->module->generation;
        p->next = device->prepared;
        if (p->next) p->next->previous = p;
        device->prepared = p;
        spyi_atomic_add(&function->module->object.references, 1);
        bool async = desc && desc->async && !spyi_cache_find(device, function, values);
        if (async) {
            bool copied = spyi_describe(function, args, NULL, NULL, values, &error) == SPY_OK &&
                          spyi_copy_values(values, &p->values);
            if (copied && spyi_thread_start(&p->thread, spyi_prepare_thread, p)) {
                p->running = true;
            } else { // no thread to be had: do it here
                spyi_free_copies(&p->values);
                async = false;
            }
        }
        if (!async) {
            status = spyi_plan_get(function, values, &p->plan, &error);
            if (status == SPY_OK) {
                uint32_t before = p->plan->variant_count;
                p->plan->references++;
                status = spyi_prepare_variant(p->plan, values, &error);
                device->stats.kernels_built += p->plan->variant_count - before;
            }
        }
        if (status != SPY_OK) {
            spyi_prepared_free(p);
            p = NULL;
        }
    }
    if (status != SPY_OK)
        spyi_fail(&device->ctx, status, "%s: %s: %s", name, function->name, spyi_text_str(&error));
    spyi_text_free(&error);
    spyi_leave(device);
    return p;
}

SPYI_FN void spyi_prepared_settle(spy_device *device) {
    for (spy_prepared *p = device->prepared; p; p = p->next)
        if (p->function->module->reloading) spyi_prepare_join(p);
}

static bool spyi_prepared_outdated(const spy_prepared *p) {
    return p->generation != p->function->module->generation;
}

// The plan of the reloaded module, for the arguments at hand.
static spy_status spyi_prepared_renew(spy_prepared *p, spyi_values *values, spyi_text *error) {
    spyi_plan *plan = NULL;
    spy_status status = spyi_plan_get(p->function, values, &plan, error);
    if (status != SPY_OK) return status;
    plan->references++;
    if (p->plan) spyi_plan_release(p->object.device, p->plan);
    p->plan = plan;
    p->status = SPY_OK;
    p->generation = p->function->module->generation;
    return SPY_OK;
}

// Reports a failed compilation each time it is asked for. One of code that a reload has replaced is no more.
static spy_status spyi_prepared_state(spy_prepared *p, const char *name) {
    spyi_prepare_join(p);
    if (spyi_prepared_outdated(p)) return SPY_OK;
    if (p->status != SPY_OK)
        spyi_fail(&p->object.device->ctx, p->status, "%s: %s: %s", name, p->function->name,
                  spyi_text_str(&p->error));
    return p->status;
}

spy_status spy_prepared_ready(spy_prepared *prepared) {
    const char *name = "spy_prepared_ready";
    spy_status entered = spyi_enter(prepared, SPYI_KIND_PREPARED, name);
    if (entered != SPY_OK) return entered;
    spy_device *device = prepared->object.device;
    spy_status status = SPY_ERROR_NOT_READY;
    if (!prepared->running || spyi_atomic_load(&prepared->finished))
        status = spyi_prepared_state(prepared, name);
    spyi_leave(device);
    return status;
}

spy_status spy_call_prepared(spy_prepared *prepared, spy_args args) {
    const char *name = "spy_call_prepared";
    spy_status entered = spyi_enter(prepared, SPYI_KIND_PREPARED, name);
    if (entered != SPY_OK) return entered;
    spy_device *device = prepared->object.device;
    spyi_values *values = &device->cache->values;
    spyi_text error = { NULL, 0, 0 };
    spy_status status = prepared->running || !prepared->plan ? spyi_prepared_state(prepared, name) : SPY_OK;
    if (status == SPY_OK) {
        status = spyi_describe(prepared->function, args, NULL, NULL, values, &error);
        if (status == SPY_OK && spyi_prepared_outdated(prepared))
            status = spyi_prepared_renew(prepared, values, &error);
        const spyi_plan *plan = prepared->plan;
        if (status == SPY_OK && plan->bound.sizes && plan->key_size > values->key_size &&
            memcmp(plan->key, values->key, values->key_size) == 0 && // the same arguments but for their sizes
            !spyi_key_add_sizes(values, plan->bound.sizes))
            status = SPY_ERROR_OUT_OF_MEMORY;
        if (status == SPY_OK &&
            (plan->key_size != values->key_size || memcmp(plan->key, values->key, values->key_size) != 0)) {
            spyi_text_add(&error, "the arguments are not of the kinds, types, ranks and names that the call "
                                  "was prepared for:\n");
            spyi_text_add(&error, "  %s\n", plan->bound.signature.display);
            for (uint32_t i = 0; i < values->count; i++) {
                spyi_text_add(&error, "  argument %u: ", i + 1);
                spyi_value_text(&values->items[i], &error);
                spyi_text_add(&error, "\n");
            }
            status = SPY_ERROR_TYPE_MISMATCH;
        }
        if (status == SPY_OK) status = spyi_run(prepared->plan, values, NULL, false, NULL, &error);
        if (status != SPY_OK)
            spyi_fail(&device->ctx, status, "%s: %s: %s", name, prepared->function->name,
                      spyi_text_str(&error));
    }
    spyi_text_free(&error);
    spyi_leave(device);
    return status;
}

// >>release

SPYI_FN void spyi_prepared_free(spy_prepared *p) {
    spy_device *device = p->object.device;
    spyi_prepare_join(p);
    if (p->plan) spyi_plan_release(device, p->plan);
    if (p->previous) p->previous->next = p->next;
    else device->prepared = p->next;
    if (p->next) p->next->previous = p->previous;
    spyi_text_free(&p->error);
    spyi_module_drop(p->function->module);
    spyi_bury(device, &p->object, sizeof *p);
}

void spy_release_prepared(spy_prepared *prepared) {
    if (!prepared) return;
    if (spyi_as(prepared, SPYI_KIND_PREPARED)) spyi_object_release(&prepared->object);
    else
        spyi_fail(NULL, SPY_ERROR_RELEASED,
                  "spy_release_prepared: the prepared call has been released already");
}

SPYI_FN void spyi_prepared_free_all(spy_device *device) {
    while (device->prepared) spyi_prepared_free(device->prepared);
}

// >>call/resolve.c ------------------------------------------------------------------------------------------

// spy_resolve: a bound call written down for the caller, in one block: the resolution, its bindings, then their text.

// Bindings and text grow apart; strings are kept as offsets into the text until both lie in the block.
typedef struct spyi_resolving {
    const spyi_bound *bound;
    const spyi_values *values;
    spy_binding *bindings;
    uint32_t count;
    spyi_text strings;
    size_t size; // that the strings should have: memory may run out
} spyi_resolving;

// Adds a string with its NUL and gives its offset, in the place of a pointer.
static const char *spyi_keep_string(spyi_resolving *r, const char *s) {
    size_t offset = r->size, size = strlen(s) + 1;
    spyi_text_add_n(&r->strings, s, size);
    r->size += size;
    return (const char *)(uintptr_t)offset;
}

static void spyi_resolve_leaf(spyi_resolving *r, const spyi_leaf *leaf, spy_binding *out) {
    const spyi_value *v = &r->values->items[leaf->value];
    spyi_text text = { NULL, 0, 0 };
    spyi_value_text(v, &text);
    out->argument = spyi_keep_string(r, spyi_text_str(&text));
    spyi_text_free(&text);
    out->kind = (spy_arg_kind)v->kind;
    out->map.count = leaf->batch_rank;
    for (uint32_t d = 0; d < leaf->batch_rank; d++) out->map.dims[d] = leaf->map[d];
    out->consumed_rank = leaf->consumed;
}

// A node, then its fields. `parent`: path with a final '.', or "".
static void spyi_resolve_node(spyi_resolving *r, const spyi_node *node, const char *parent, uint32_t depth) {
    spy_binding *out = &r->bindings[r->count++];
    spyi_text path = { NULL, 0, 0 };
    spyi_text_add(&path, "%s%s", parent, node->name);
    out->path = spyi_keep_string(r, spyi_text_str(&path));
    out->type = spyi_keep_string(r, node->type->display);
    out->direction = !node->out ? SPY_DIRECTION_DEFAULT : node->in ? SPY_DIRECTION_INOUT : SPY_DIRECTION_OUT;
    out->depth = depth;
    if (node->leaf >= 0) {
        spyi_resolve_leaf(r, &r->bound->leaves[node->leaf], out);
    } else {
        spyi_text text = { NULL, 0, 0 };
        spyi_text_add(&text, "struct of %u fields", node->count);
        out->argument = spyi_keep_string(r, spyi_text_str(&text));
        spyi_text_free(&text);
        out->kind = SPY_ARG_STRUCT;
        spyi_text_add(&path, ".");
        for (uint32_t f = 0; f < node->count; f++)
            spyi_resolve_node(r, &r->bound->nodes[node->first + f], spyi_text_str(&path), depth + 1);
    }
    spyi_text_free(&path);
}

static void spyi_place_string(const char **offset, const char *strings) {
    *offset = strings + (uintptr_t)*offset;
}

// NULL: out of memory.
static spy_resolution *spyi_resolution_make(const spyi_bound *b, const spyi_values *values,
                                            const spy_shape *shape) {
    spyi_resolving r;
    spy_resolution made, *out = NULL;
    memset(&r, 0, sizeof r);
    memset(&made, 0, sizeof made);
    r.bound = b;
    r.values = values;
    r.bindings = (spy_binding *)calloc(b->node_count + 1, sizeof *r.bindings); // fields are in there twice
    if (!r.bindings) return NULL;
    made.signature = spyi_keep_string(&r, b->signature.display);
    made.result_type = spyi_keep_string(&r, b->signature.result->display);
    made.shape = *shape;
    for (uint32_t i = 0; i < b->param_count + (b->has_result ? 1u : 0u); i++)
        spyi_resolve_node(&r, &b->nodes[i], "", 0);
    made.binding_count = r.count;
    size_t head = spyi_align(sizeof made, 16), table = r.count * sizeof *r.bindings;
    char *block = r.strings.size == r.size ? (char *)malloc(head + table + r.size) : NULL;
    if (block) {
        spy_binding *bindings = (spy_binding *)(void *)(block + head);
        char *strings = block + head + table;
        memcpy(strings, r.strings.data, r.size);
        for (uint32_t i = 0; i < r.count; i++) {
            bindings[i] = r.bindings[i];
            spyi_place_string(&bindings[i].path, strings);
            spyi_place_string(&bindings[i].type, strings);
            spyi_place_string(&bindings[i].argument, strings);
        }
        spyi_place_string(&made.signature, strings);
        spyi_place_string(&made.result_type, strings);
        made.bindings = bindings;
        out = (spy_resolution *)(void *)block;
        *out = made;
    }
    free(r.bindings);
    spyi_text_free(&r.strings);
    return out;
}

spy_resolution *spy_resolve(spy_function *function, spy_args args) {
    const char *name = "spy_resolve";
    if (spyi_enter(function, SPYI_KIND_FUNCTION, name) != SPY_OK) return NULL;
    spy_device *device = function->object.device;
    spyi_values *values = &device->cache->values;
    spyi_text error = { NULL, 0, 0 };
    spyi_plan *plan = NULL;
    spy_resolution *made = NULL;
    spy_status status = spyi_describe(function, args, NULL, NULL, values, &error);
    if (status == SPY_OK) status = spyi_plan_get(function, values, &plan, &error);
    if (status == SPY_OK) {
        status = spyi_launch_shape(plan, values, &error);
        if (status != SPY_OK) {
            spyi_text_add(&error, "\n");
            spyi_bound_text(&plan->bound, values, &error);
        }
    }
    if (status == SPY_OK) {
        made = spyi_resolution_make(&plan->bound, values, &plan->launch.shape);
        if (!made) {
            status = SPY_ERROR_OUT_OF_MEMORY;
            spyi_text_add(&error, "out of host memory");
        }
    }
    if (status != SPY_OK)
        spyi_fail(&device->ctx, status, "%s: %s: %s", name, function->name, spyi_text_str(&error));
    spyi_text_free(&error);
    spyi_leave(device);
    return made;
}

void spy_release_resolution(spy_resolution *resolution) {
    free(resolution);
}

// >>call/list.c ---------------------------------------------------------------------------------------------

// Command lists: the object, its growth, and its submission, which repeats what was recorded without looking at arguments,
// shapes or plans again. What can be recorded is in list_record.c.

// >>growth

// Room for `more` elements behind `count`.
static bool spyi_list_reserve(spyi_context *ctx, void **items, size_t *capacity, size_t count, size_t more,
                              size_t element) {
    if (count + more <= *capacity) return true;
    size_t wanted = *capacity ? *capacity * 2 : 16;
    if (wanted < count + more) wanted = count + more;
    void *moved = spyi_reallocate(ctx, *items, *capacity * element, wanted * element);
    if (!moved) return false;
    *items = moved;
    *capacity = wanted;
    return true;
}

SPYI_FN spy_status spyi_list_add(spy_command_list *list, spy_list_op_kind kind, const char *name,
                                 const spyi_use *uses, uint32_t use_count, size_t extra, uint32_t *extra_at,
                                 spyi_list_op **out, spyi_text *error) {
    spyi_context *ctx = &list->object.device->ctx;
    size_t name_size = name ? strlen(name) + 1 : 0, at = spyi_align(list->byte_count, 16);
    void *ops = list->ops, *all_uses = list->uses, *bytes = list->bytes;
    if (at + extra + name_size > UINT32_MAX) {
        spyi_text_add(error, "the list holds more than 4 GiB of parameters");
        return SPY_ERROR_OUT_OF_RANGE;
    }
    bool good = spyi_list_reserve(ctx, &ops, &list->op_capacity, list->op_count, 1, sizeof *list->ops);
    list->ops = (spyi_list_op *)ops;
    good = good && spyi_list_reserve(ctx, &all_uses, &list->use_capacity, list->use_count, use_count,
                                     sizeof *list->uses);
    list->uses = (spyi_use *)all_uses;
    good = good && spyi_list_reserve(ctx, &bytes, &list->byte_capacity, at, extra + name_size, 1);
    list->bytes = (uint8_t *)bytes;
    if (!good) {
        spyi_text_add(error, "out of host memory");
        return SPY_ERROR_OUT_OF_MEMORY;
    }
    spyi_list_op *op = &list->ops[list->op_count++];
    memset(op, 0, sizeof *op);
    op->kind = kind;
    op->first_use = (uint32_t)list->use_count;
    op->use_count = use_count;
    for (uint32_t i = 0; i < use_count; i++) {
        list->uses[list->use_count++] = uses[i];
        uses[i].storage->references++;
    }
    if (extra_at) *extra_at = (uint32_t)at;
    if (name) {
        op->name = (uint32_t)(at + extra);
        memcpy(list->bytes + op->name, name, name_size);
    }
    list->byte_count = at + extra + name_size;
    *out = op;
    return SPY_OK;
}

static const char *spyi_list_op_name(const spy_command_list *list, const spyi_list_op *op) {
    return op->name ? (const char *)list->bytes + op->name : "";
}

SPYI_FN void spyi_list_added(spy_command_list *list, const spyi_list_op *op) {
    if (!list->on_record) return;
    spy_list_op told;
    told.kind = op->kind;
    told.index = (uint32_t)(op - list->ops);
    told.name = spyi_list_op_name(list, op);
    list->on_record(&told, list->user_data);
}

SPYI_FN spy_status spyi_list_append_dispatch(spy_command_list *list, spyi_plan *plan,
                                             const spyi_variant *variant, const spyi_dispatch *dispatch,
                                             const spyi_use *uses, uint32_t use_count, bool untracked,
                                             spyi_text *error) {
    size_t block_size = variant->emitted.block_size, bindings_at = spyi_align(block_size, 16);
    size_t bindings_size = variant->emitted.binding_count * sizeof *dispatch->bindings;
    spyi_list_op *op;
    uint32_t at;
    spy_status status = spyi_list_add(list, SPY_LIST_OP_CALL, plan->function->name, uses, use_count,
                                      bindings_at + bindings_size, &at, &op, error);
    if (status != SPY_OK) return status;
    op->launch = *dispatch;
    op->block = at;
    op->bindings = at + (uint32_t)bindings_at;
    if (block_size) memcpy(list->bytes + op->block, dispatch->block, block_size);
    if (bindings_size) memcpy(list->bytes + op->bindings, dispatch->bindings, bindings_size);
    op->plan = plan;
    op->untracked = untracked;
    plan->references++;
    list->call_count++;
    spyi_list_added(list, op);
    return SPY_OK;
}

// >>submission

static spy_status spyi_list_dispatch(const spy_command_list *list, const spyi_list_op *op, spyi_text *error) {
    spy_device *device = list->object.device;
    spyi_dispatch launch = op->launch;
    launch.block = list->bytes + op->block;
    launch.bindings = (const spyi_binding *)(const void *)(list->bytes + op->bindings);
    op->plan->last_submit = device->backend->open_submit(device->gpu);
    launch.barrier = spyi_take_uses(device, list->uses + op->first_use, op->use_count, op->untracked);
    spy_status status = device->backend->dispatch(device->gpu, &launch, error);
    spyi_uses_done(device, launch.barrier, op->untracked, status);
    return status;
}

static spy_status spyi_list_transfer(const spy_command_list *list, const spyi_list_op *op, spyi_text *error) {
    spy_device *device = list->object.device;
    const spyi_use *to = &list->uses[op->first_use];
    const spyi_chunk *chunk = &to->storage->chunk;
    uint64_t offset = to->storage->offset + to->begin, size = to->end - to->begin;
    bool barrier = spyi_take_uses(device, to, op->use_count, false);
    spy_status status;
    if (op->repeats) {
        status = device->backend->fill(device->gpu, chunk, offset, size, op->pattern, barrier, error);
    } else {
        const spyi_use *from = to + 1;
        status = device->backend->copy(device->gpu, chunk, offset, &from->storage->chunk,
                                       from->storage->offset + from->begin, size, barrier, error);
    }
    spyi_uses_done(device, barrier, false, status);
    return status;
}

static spy_status spyi_list_run_op(const spy_command_list *list, const spyi_list_op *op, spyi_text *error) {
    spy_device *device = list->object.device;
    switch (op->kind) {
    case SPY_LIST_OP_CALL: return spyi_list_dispatch(list, op, error);
    case SPY_LIST_OP_COPY:
    case SPY_LIST_OP_FILL:
    case SPY_LIST_OP_WRITE: return spyi_list_transfer(list, op, error);
    case SPY_LIST_OP_BARRIER: device->barrier_owed = true; return SPY_OK;
    case SPY_LIST_OP_PUSH_LABEL:
        return device->backend->label(device->gpu, SPYI_LABEL_PUSH, spyi_list_op_name(list, op), error);
    case SPY_LIST_OP_POP_LABEL: return device->backend->label(device->gpu, SPYI_LABEL_POP, NULL, error);
    case SPY_LIST_OP_MARKER:
        return device->backend->label(device->gpu, SPYI_LABEL_POINT, spyi_list_op_name(list, op), error);
    case SPY_LIST_OP_TIMESTAMP: return device->backend->time_mark(device->gpu, op->pattern, error);
    case SPY_LIST_OP_NONE: break;
    }
    return SPY_OK;
}

// The times go from their slots, which all lists share, to the list's own memory.
static spy_status spyi_list_store_times(const spy_command_list *list, spyi_text *error) {
    spy_device *device = list->object.device;
    const spy_tensor *times = list->times;
    spyi_use use;
    memset(&use, 0, sizeof use);
    use.storage = times->storage;
    use.begin = times->begin_bytes;
    use.end = times->end_bytes;
    use.writes = true;
    bool barrier = spyi_take_uses(device, &use, 1, false);
    spy_status status = device->backend->time_store(
        device->gpu, &use.storage->chunk, use.storage->offset + use.begin, list->time_count, barrier, error);
    spyi_uses_done(device, barrier, false, status);
    return status;
}

// Also what a failure part of the way left open.
static void spyi_list_pop_labels(spy_device *device, uint32_t depth) {
    spyi_text ignored = { NULL, 0, 0 };
    for (; depth > 0; depth--) (void)device->backend->label(device->gpu, SPYI_LABEL_POP, NULL, &ignored);
    spyi_text_free(&ignored);
}

static spy_status spyi_list_run(spy_command_list *list, spyi_text *error) {
    spy_device *device = list->object.device;
    spy_status status = SPY_OK;
    uint32_t depth = 0; // open labels
    if (list->label) {
        status = device->backend->label(device->gpu, SPYI_LABEL_PUSH, list->label, error);
        depth += status == SPY_OK;
    }
    for (size_t i = 0; i < list->op_count && SPYI_LIKELY(status == SPY_OK); i++) {
        const spyi_list_op *op = &list->ops[i];
        status = spyi_list_run_op(list, op, error);
        if (status != SPY_OK)
            spyi_text_add(error, " (operation %zu of %zu%s%s)", i + 1, list->op_count, op->name ? ": " : "",
                          spyi_list_op_name(list, op));
        else if (op->kind == SPY_LIST_OP_PUSH_LABEL) depth++;
        else if (op->kind == SPY_LIST_OP_POP_LABEL) depth--;
    }
    if (status == SPY_OK && list->times) status = spyi_list_store_times(list, error);
    spyi_list_pop_labels(device, depth);
    return status;
}

// >>the object

SPYI_FN spy_status spyi_list_check_open(const spy_command_list *list, const spy_device *device,
                                        spyi_text *error) {
    if (!spyi_as(list, SPYI_KIND_LIST)) {
        spyi_text_add(error, list ? "the command list has been released" : "the command list is NULL");
        return list ? SPY_ERROR_RELEASED : SPY_ERROR_INVALID_ARGUMENT;
    }
    if (list->object.device != device) {
        spyi_text_add(error, "the command list belongs to another device");
        return SPY_ERROR_INVALID_ARGUMENT;
    }
    if (list->finished) {
        spyi_text_add(error,
                      "the command list%s%s has been finished: nothing more can be recorded; make another",
                      list->label ? " " : "", list->label ? list->label : "");
        return SPY_ERROR_INVALID_ARGUMENT;
    }
    return SPY_OK;
}

spy_command_list *spy_create_command_list(spy_device *device, const spy_list_desc *desc) {
    const char *function = "spy_create_command_list";
    if (spyi_enter(device, SPYI_KIND_DEVICE, function) != SPY_OK) return NULL;
    spy_command_list *list = (spy_command_list *)spyi_allocate(&device->ctx, sizeof *list);
    if (list && desc) {
        list->label = spyi_strdup(desc->label);
        list->on_record = desc->on_record;
        list->user_data = desc->user_data;
    }
    if (list) {
        list->object.kind = (uint32_t)SPYI_KIND_LIST;
        list->object.device = device;
        spyi_atomic_store(&list->object.references, 1);
        list->byte_count = 1;
        list->next = device->lists;
        if (list->next) list->next->previous = list;
        device->lists = list;
    } else {
        spyi_fail(&device->ctx, SPY_ERROR_OUT_OF_MEMORY, "%s: out of host memory", function);
    }
    spyi_leave(device);
    return list;
}

void spy_retain_command_list(spy_command_list *list) {
    spyi_object_retain(list, SPYI_KIND_LIST, "spy_retain_command_list");
}

void spy_release_command_list(spy_command_list *list) {
    if (!list) return;
    if (spyi_as(list, SPYI_KIND_LIST)) spyi_object_release(&list->object);
    else spyi_fail(NULL, SPY_ERROR_RELEASED, "spy_release_command_list: the list has been released already");
}

SPYI_FN void spyi_list_free(spy_command_list *list) {
    spy_device *device = list->object.device;
    spyi_context *ctx = &device->ctx;
    for (size_t i = 0; i < list->op_count; i++)
        if (list->ops[i].plan) spyi_plan_release(device, list->ops[i].plan);
    for (size_t i = 0; i < list->use_count; i++)
        if (--list->uses[i].storage->references == 0) spyi_pool_give(device, list->uses[i].storage);
    if (list->times) {
        spyi_tensor_unlink(list->times);
        spyi_tensor_free(list->times);
    }
    spyi_free(ctx, list->ops, list->op_capacity * sizeof *list->ops);
    spyi_free(ctx, list->uses, list->use_capacity * sizeof *list->uses);
    spyi_free(ctx, list->bytes, list->byte_capacity);
    free(list->label);
    if (list->previous) list->previous->next = list->next;
    else device->lists = list->next;
    if (list->next) list->next->previous = list->previous;
    spyi_bury(device, &list->object, sizeof *list);
}

// >>finish, submit, read

static spy_status spyi_list_finish(spy_command_list *list, spyi_text *error) {
    spy_device *device = list->object.device;
    spy_status status = spyi_list_check_open(list, device, error);
    if (status != SPY_OK) return status;
    if (list->depth) {
        spyi_text_add(error, "%u labels have been pushed and not popped", list->depth);
        return SPY_ERROR_INVALID_ARGUMENT;
    }
    if (list->time_count) {
        spy_shape shape;
        memset(&shape, 0, sizeof shape);
        shape.rank = 1;
        shape.dims[0] = list->time_count;
        list->times =
            spyi_tensor_make(device, device->scalars[SPY_UINT64], &shape, "timestamps", error, &status);
        if (!list->times) return status;
    }
    list->finished = true;
    return SPY_OK;
}

spy_status spy_list_finish(spy_command_list *list) {
    const char *function = "spy_list_finish";
    spy_status entered = spyi_enter(list, SPYI_KIND_LIST, function);
    if (entered != SPY_OK) return entered;
    spyi_text error = { NULL, 0, 0 };
    spy_status status = spyi_list_finish(list, &error);
    if (status != SPY_OK) spyi_fail_text(list->object.device, status, function, &error);
    spyi_leave(list);
    return status;
}

spy_status spy_list_submit(spy_command_list *list) {
    const char *function = "spy_list_submit";
    spy_status entered = spyi_enter(list, SPYI_KIND_LIST, function);
    if (entered != SPY_OK) return entered;
    spyi_text error = { NULL, 0, 0 };
    spy_status status = SPY_ERROR_INVALID_ARGUMENT;
    if (list->finished) status = spyi_list_run(list, &error);
    else spyi_text_add(&error, "the command list is still being recorded; call spy_list_finish() first");
    if (SPYI_LIKELY(status == SPY_OK)) list->submit_count++;
    else spyi_fail_text(list->object.device, status, function, &error);
    spyi_leave(list);
    return status;
}

static spy_status spyi_list_read_times(spy_command_list *list, uint64_t *times_ns, size_t count,
                                       spyi_text *error) {
    if (!list->submit_count) {
        spyi_text_add(error, "the command list has not been submitted");
        return SPY_ERROR_INVALID_ARGUMENT;
    }
    if (count != list->time_count) {
        spyi_text_add(error, "the command list has %u timestamps, count is %zu", list->time_count, count);
        return SPY_ERROR_SHAPE_MISMATCH;
    }
    if (!times_ns && count) {
        spyi_text_add(error, "times_ns is NULL");
        return SPY_ERROR_INVALID_ARGUMENT;
    }
    spy_status status = count ? spyi_tensor_download(list->times, times_ns, error) : SPY_OK;
    double period = list->object.device->base->limits.info.timestamp_period_ns;
    for (size_t i = 0; i < count && status == SPY_OK; i++)
        times_ns[i] = spyi_ticks_to_ns(times_ns[i], period);
    return status;
}

spy_status spy_list_read_timestamps(spy_command_list *list, uint64_t *times_ns, size_t count) {
    const char *function = "spy_list_read_timestamps";
    spy_status entered = spyi_enter(list, SPYI_KIND_LIST, function);
    if (entered != SPY_OK) return entered;
    spyi_text error = { NULL, 0, 0 };
    spy_status status = spyi_list_read_times(list, times_ns, count, &error);
    if (status != SPY_OK) spyi_fail_text(list->object.device, status, function, &error);
    spyi_leave(list);
    return status;
}

spy_list_info spy_get_list_info(spy_command_list *list) {
    spy_list_info info;
    memset(&info, 0, sizeof info);
    if (spyi_enter(list, SPYI_KIND_LIST, "spy_get_list_info") != SPY_OK) return info;
    info.op_count = (uint32_t)list->op_count;
    info.call_count = list->call_count;
    info.timestamp_count = list->time_count;
    info.finished = list->finished;
    info.submit_count = list->submit_count;
    spyi_leave(list);
    return info;
}

// >>call/list_record.c --------------------------------------------------------------------------------------

// What a command list can record besides calls: copies, fills, writes, barriers, labels and timestamps.
//
// Host data go to device memory of their own while recording, so that a submission only copies on the device.

// Inside the device of an open list; else an error has been reported.
static spy_status spyi_list_enter(spy_command_list *list, const char *function) {
    spy_status status = spyi_enter(list, SPYI_KIND_LIST, function);
    if (status != SPY_OK) return status;
    spyi_text error = { NULL, 0, 0 };
    status = spyi_list_check_open(list, list->object.device, &error);
    if (status == SPY_OK) return SPY_OK;
    spyi_fail_text(list->object.device, status, function, &error);
    spyi_leave(list);
    return status;
}

static spy_status spyi_list_leave(spy_command_list *list, const char *function, spy_status status,
                                  spyi_text *error) {
    if (status != SPY_OK) spyi_fail_text(list->object.device, status, function, error);
    spyi_leave(list);
    return status;
}

// >>copies, fills and writes

// A tensor whose elements are one range of bytes.
static spy_status spyi_list_check_tensor(const spy_command_list *list, const char *name,
                                         const spy_tensor *tensor, spyi_text *error) {
    if (!spyi_as(tensor, SPYI_KIND_TENSOR)) {
        spyi_text_add(error, "'%s': %s", name,
                      tensor ? "the tensor has been released" : "expected a tensor, got NULL");
        return tensor ? SPY_ERROR_RELEASED : SPY_ERROR_INVALID_ARGUMENT;
    }
    if (tensor->object.device != list->object.device) {
        spyi_text_add(error, "'%s': the tensor belongs to another device than the list", name);
        return SPY_ERROR_INVALID_ARGUMENT;
    }
    if (!tensor->contiguous) {
        spyi_text_add(error, "'%s': expected a contiguous tensor, got a view ", name);
        spyi_shape_text(&tensor->shape, error);
        spyi_text_add(error, " with strides ");
        spyi_shape_text(&tensor->strides, error);
        spyi_text_add(error, "; record a call that copies its elements");
        return SPY_ERROR_UNSUPPORTED;
    }
    return SPY_OK;
}

static spyi_use spyi_use_of(const spy_tensor *tensor, bool writes) {
    spyi_use use;
    memset(&use, 0, sizeof use);
    use.storage = tensor->storage;
    use.begin = tensor->begin_bytes;
    use.end = tensor->end_bytes;
    use.reads = !writes;
    use.writes = writes;
    return use;
}

// `to` from `from`, or from `pattern` when that is NULL. Nothing when there are no elements.
static spy_status spyi_list_add_transfer(spy_command_list *list, spy_list_op_kind kind, const spy_tensor *to,
                                         const spy_tensor *from, uint32_t pattern, spyi_text *error) {
    if (to->element_count == 0) return SPY_OK;
    spyi_use uses[2];
    spyi_list_op *op;
    uint32_t count = 0;
    uses[count++] = spyi_use_of(to, true);
    if (from) uses[count++] = spyi_use_of(from, false);
    spy_status status = spyi_list_add(list, kind, NULL, uses, count, 0, NULL, &op, error);
    if (status != SPY_OK) return status;
    op->repeats = from == NULL;
    op->pattern = pattern;
    spyi_list_added(list, op);
    return SPY_OK;
}

static spy_status spyi_list_copy(spy_command_list *list, const spy_tensor *to, const spy_tensor *from,
                                 spyi_text *error) {
    spy_status status = spyi_list_check_tensor(list, "to", to, error);
    if (status == SPY_OK) status = spyi_list_check_tensor(list, "from", from, error);
    if (status != SPY_OK) return status;
    if (to->type != from->type) {
        spyi_text_add(error, "'from': expected elements of %s as 'to' has, got %s", to->type->display,
                      from->type->display);
        return SPY_ERROR_TYPE_MISMATCH;
    }
    if (to->shape.rank != from->shape.rank ||
        memcmp(to->shape.dims, from->shape.dims, to->shape.rank * sizeof *to->shape.dims) != 0) {
        spyi_text_add(error, "'from': expected shape ");
        spyi_shape_text(&to->shape, error);
        spyi_text_add(error, " as 'to' has, got ");
        spyi_shape_text(&from->shape, error);
        return SPY_ERROR_SHAPE_MISMATCH;
    }
    if (to->storage == from->storage && to->begin_bytes < from->end_bytes &&
        from->begin_bytes < to->end_bytes) {
        spyi_text_add(error, "'to' and 'from' share memory");
        return SPY_ERROR_INVALID_ARGUMENT;
    }
    return spyi_list_add_transfer(list, SPY_LIST_OP_COPY, to, from, 0, error);
}

spy_status spy_list_copy(spy_command_list *list, spy_tensor *to, spy_tensor *from) {
    const char *function = "spy_list_copy";
    spy_status status = spyi_list_enter(list, function);
    if (status != SPY_OK) return status;
    spyi_text error = { NULL, 0, 0 };
    return spyi_list_leave(list, function, spyi_list_copy(list, to, from, &error), &error);
}

// A tensor like `like`, for what a transfer copies from. The list keeps its memory, the tensor is given back.
static spy_tensor *spyi_list_source(const spy_tensor *like, spyi_text *error, spy_status *status) {
    return spyi_tensor_make(like->object.device, like->type, &like->shape, "list data", error, status);
}

static void spyi_list_drop_source(spy_tensor *source) {
    if (!source) return;
    spyi_tensor_unlink(source);
    spyi_tensor_free(source);
}

static spy_status spyi_list_fill(spy_command_list *list, const spy_tensor *tensor, double value,
                                 spyi_text *error) {
    bool repeats;
    uint32_t pattern;
    spy_status status = spyi_list_check_tensor(list, "tensor", tensor, error);
    if (status == SPY_OK) status = spyi_fill_pattern(tensor, value, &repeats, &pattern, error);
    if (status != SPY_OK) return status;
    if (repeats) return spyi_list_add_transfer(list, SPY_LIST_OP_FILL, tensor, NULL, pattern, error);
    spy_tensor *source = spyi_list_source(tensor, error, &status);
    if (source) status = spyi_fill_tensor(source, value, error);
    if (status == SPY_OK) status = spyi_list_add_transfer(list, SPY_LIST_OP_FILL, tensor, source, 0, error);
    spyi_list_drop_source(source);
    return status;
}

spy_status spy_list_fill(spy_command_list *list, spy_tensor *tensor, double value) {
    const char *function = "spy_list_fill";
    spy_status status = spyi_list_enter(list, function);
    if (status != SPY_OK) return status;
    spyi_text error = { NULL, 0, 0 };
    return spyi_list_leave(list, function, spyi_list_fill(list, tensor, value, &error), &error);
}

static spy_status spyi_list_write(spy_command_list *list, const spy_tensor *tensor, const void *data,
                                  size_t size_bytes, spyi_text *error) {
    spy_status status = spyi_list_check_tensor(list, "tensor", tensor, error);
    if (status != SPY_OK) return status;
    status = spyi_check_transfer(tensor, tensor->element_count, data, size_bytes, error);
    if (status != SPY_OK) return status;
    spy_tensor *source = spyi_list_source(tensor, error, &status);
    if (source) status = spyi_tensor_upload(source, data, error);
    if (status == SPY_OK) status = spyi_list_add_transfer(list, SPY_LIST_OP_WRITE, tensor, source, 0, error);
    spyi_list_drop_source(source);
    return status;
}

spy_status spy_list_write(spy_command_list *list, spy_tensor *tensor, const void *data, size_t size_bytes) {
    const char *function = "spy_list_write";
    spy_status status = spyi_list_enter(list, function);
    if (status != SPY_OK) return status;
    spyi_text error = { NULL, 0, 0 };
    return spyi_list_leave(list, function, spyi_list_write(list, tensor, data, size_bytes, &error), &error);
}

// >>barriers, labels, timestamps

static spy_status spyi_list_mark(spy_command_list *list, spy_list_op_kind kind, const char *name,
                                 uint32_t slot, spyi_text *error) {
    spyi_list_op *op;
    spy_status status = spyi_list_add(list, kind, name, NULL, 0, 0, NULL, &op, error);
    if (status != SPY_OK) return status;
    op->pattern = slot;
    spyi_list_added(list, op);
    return SPY_OK;
}

spy_status spy_list_barrier(spy_command_list *list) {
    const char *function = "spy_list_barrier";
    spy_status status = spyi_list_enter(list, function);
    if (status != SPY_OK) return status;
    spyi_text error = { NULL, 0, 0 };
    return spyi_list_leave(list, function, spyi_list_mark(list, SPY_LIST_OP_BARRIER, NULL, 0, &error),
                           &error);
}

static spy_status spyi_list_name(spy_command_list *list, spy_list_op_kind kind, const char *name,
                                 const char *function) {
    spy_status status = spyi_list_enter(list, function);
    if (status != SPY_OK) return status;
    spyi_text error = { NULL, 0, 0 };
    if (name) {
        status = spyi_list_mark(list, kind, name, 0, &error);
        if (status == SPY_OK && kind == SPY_LIST_OP_PUSH_LABEL) list->depth++;
    } else {
        status = SPY_ERROR_INVALID_ARGUMENT;
        spyi_text_add(&error, "'name': expected a text, got NULL");
    }
    return spyi_list_leave(list, function, status, &error);
}

spy_status spy_list_push_label(spy_command_list *list, const char *name) {
    return spyi_list_name(list, SPY_LIST_OP_PUSH_LABEL, name, "spy_list_push_label");
}

spy_status spy_list_marker(spy_command_list *list, const char *name) {
    return spyi_list_name(list, SPY_LIST_OP_MARKER, name, "spy_list_marker");
}

spy_status spy_list_pop_label(spy_command_list *list) {
    const char *function = "spy_list_pop_label";
    spy_status status = spyi_list_enter(list, function);
    if (status != SPY_OK) return status;
    spyi_text error = { NULL, 0, 0 };
    if (list->depth) {
        status = spyi_list_mark(list, SPY_LIST_OP_POP_LABEL, NULL, 0, &error);
        if (status == SPY_OK) list->depth--;
    } else {
        status = SPY_ERROR_INVALID_ARGUMENT;
        spyi_text_add(&error, "no label has been pushed");
    }
    return spyi_list_leave(list, function, status, &error);
}

static spy_status spyi_list_timestamp(spy_command_list *list, spyi_text *error) {
    const spyi_limits *limits = &list->object.device->base->limits;
    if (!(limits->info.features & SPY_FEATURE_TIMESTAMPS)) {
        spyi_text_add(error, "'%s' has no timestamps", limits->info.name);
        return SPY_ERROR_UNSUPPORTED;
    }
    if (list->time_count == SPYI_TIME_SLOTS) {
        spyi_text_add(error, "the list has %u timestamps already, which is the most", SPYI_TIME_SLOTS);
        return SPY_ERROR_OUT_OF_RANGE;
    }
    spy_status status = spyi_list_mark(list, SPY_LIST_OP_TIMESTAMP, NULL, list->time_count, error);
    if (status == SPY_OK) list->time_count++;
    return status;
}

spy_status spy_list_timestamp(spy_command_list *list) {
    const char *function = "spy_list_timestamp";
    spy_status status = spyi_list_enter(list, function);
    if (status != SPY_OK) return status;
    spyi_text error = { NULL, 0, 0 };
    return spyi_list_leave(list, function, spyi_list_timestamp(list, &error), &error);
}

// >>base/stbds_end.h ----------------------------------------------------------------------------------------

// Takes back what stbds_names.h and stb_ds.h defined, so that a program's own stb_ds.h may follow.
// Generated by tools/amalgamate --names from Debian 12's copy; do not edit.

#undef INCLUDE_STB_DS_H
#undef STBDS_ADDRESSOF
#undef STBDS_ALIGN_FWD
#undef STBDS_ARR_TO_HASH
#undef STBDS_ASSERT
#undef STBDS_ASSERT_WAS_UNDEFINED
#undef STBDS_BUCKET_LENGTH
#undef STBDS_BUCKET_MASK
#undef STBDS_BUCKET_SHIFT
#undef STBDS_CACHE_LINE_SIZE
#undef STBDS_FREE
#undef STBDS_HASH_DELETED
#undef STBDS_HASH_EMPTY
#undef STBDS_HASH_TO_ARR
#undef STBDS_HAS_LITERAL_ARRAY
#undef STBDS_HAS_TYPEOF
#undef STBDS_HM_BINARY
#undef STBDS_HM_STRING
#undef STBDS_INDEX_DELETED
#undef STBDS_INDEX_EMPTY
#undef STBDS_INDEX_IN_USE
#undef STBDS_NOTUSED
#undef STBDS_OFFSETOF
#undef STBDS_REALLOC
#undef STBDS_ROTATE_LEFT
#undef STBDS_ROTATE_RIGHT
#undef STBDS_SH_ARENA
#undef STBDS_SH_DEFAULT
#undef STBDS_SH_NONE
#undef STBDS_SH_STRDUP
#undef STBDS_SIPHASH_2_4_can_only_be_used_in_64_bit_builds
#undef STBDS_SIPHASH_C_ROUNDS
#undef STBDS_SIPHASH_D_ROUNDS
#undef STBDS_SIPROUND
#undef STBDS_SIZE_T_BITS
#undef STBDS_STATS
#undef STBDS_STRING_ARENA_BLOCKSIZE_MAX
#undef STBDS_STRING_ARENA_BLOCKSIZE_MIN
#undef stbds_arraddn
#undef stbds_arraddnindex
#undef stbds_arraddnoff
#undef stbds_arraddnptr
#undef stbds_array_grow
#undef stbds_array_header
#undef stbds_arrcap
#undef stbds_arrdel
#undef stbds_arrdeln
#undef stbds_arrdelswap
#undef stbds_arrfree
#undef stbds_arrfreef
#undef stbds_arrgrow
#undef stbds_arrgrowf
#undef stbds_arrgrowf_wrapper
#undef stbds_arrins
#undef stbds_arrinsn
#undef stbds_arrlast
#undef stbds_arrlen
#undef stbds_arrlenu
#undef stbds_arrmaybegrow
#undef stbds_arrpop
#undef stbds_arrpush
#undef stbds_arrput
#undef stbds_arrsetcap
#undef stbds_arrsetlen
#undef stbds_hash_alloc
#undef stbds_hash_bucket
#undef stbds_hash_bytes
#undef stbds_hash_grow
#undef stbds_hash_index
#undef stbds_hash_probes
#undef stbds_hash_rebuild
#undef stbds_hash_seed
#undef stbds_hash_shrink
#undef stbds_hash_string
#undef stbds_hash_table
#undef stbds_header
#undef stbds_hm_find_slot
#undef stbds_hmdefault
#undef stbds_hmdefaults
#undef stbds_hmdel
#undef stbds_hmdel_key
#undef stbds_hmdel_key_wrapper
#undef stbds_hmfree
#undef stbds_hmfree_func
#undef stbds_hmget
#undef stbds_hmget_key
#undef stbds_hmget_key_ts
#undef stbds_hmget_key_ts_wrapper
#undef stbds_hmget_key_wrapper
#undef stbds_hmget_ts
#undef stbds_hmgeti
#undef stbds_hmgeti_ts
#undef stbds_hmgetp
#undef stbds_hmgetp_null
#undef stbds_hmgetp_ts
#undef stbds_hmgets
#undef stbds_hmlen
#undef stbds_hmlenu
#undef stbds_hmput
#undef stbds_hmput_default
#undef stbds_hmput_default_wrapper
#undef stbds_hmput_key
#undef stbds_hmput_key_wrapper
#undef stbds_hmputs
#undef stbds_is_key_equal
#undef stbds_load_32_or_64
#undef stbds_log2
#undef stbds_make_hash_index
#undef stbds_probe_position
#undef stbds_pshdel
#undef stbds_pshget
#undef stbds_pshgeti
#undef stbds_pshput
#undef stbds_rand_seed
#undef stbds_rehash_items
#undef stbds_rehash_probes
#undef stbds_sh_new_arena
#undef stbds_sh_new_strdup
#undef stbds_shdefault
#undef stbds_shdefaults
#undef stbds_shdel
#undef stbds_shfree
#undef stbds_shget
#undef stbds_shgeti
#undef stbds_shgetp
#undef stbds_shgetp_null
#undef stbds_shgets
#undef stbds_shlen
#undef stbds_shlenu
#undef stbds_shmode_func
#undef stbds_shmode_func_wrapper
#undef stbds_shput
#undef stbds_shputi
#undef stbds_shputs
#undef stbds_siphash_bytes
#undef stbds_stralloc
#undef stbds_strdup
#undef stbds_string_arena
#undef stbds_string_block
#undef stbds_strreset
#undef stbds_temp
#undef stbds_temp_key
#undef stbds_unit_tests
#undef STB_DS_IMPLEMENTATION
#pragma pop_macro("STBDS_ASSERT")
#pragma pop_macro("STBDS_FREE")
#pragma pop_macro("STBDS_NO_SHORT_NAMES")
#pragma pop_macro("STBDS_REALLOC")
#pragma pop_macro("STBDS_SIPHASH_2_4")
#pragma pop_macro("STBDS_STATISTICS")
#pragma pop_macro("STBDS_UNIT_TESTS")
#pragma pop_macro("STB_DS_IMPLEMENTATION")

#endif // SLANGPY_IMPLEMENTED

/*
MIT License

Copyright (c) 2026 the slangpy.h authors

Permission is hereby granted, free of charge, to any person obtaining a copy
of this software and associated documentation files (the "Software"), to deal
in the Software without restriction, including without limitation the rights
to use, copy, modify, merge, publish, distribute, sublicense, and/or sell
copies of the Software, and to permit persons to whom the Software is
furnished to do so, subject to the following conditions:

The above copyright notice and this permission notice shall be included in all
copies or substantial portions of the Software.

THE SOFTWARE IS PROVIDED "AS IS", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR
IMPLIED, INCLUDING BUT NOT LIMITED TO THE WARRANTIES OF MERCHANTABILITY,
FITNESS FOR A PARTICULAR PURPOSE AND NONINFRINGEMENT. IN NO EVENT SHALL THE
AUTHORS OR COPYRIGHT HOLDERS BE LIABLE FOR ANY CLAIM, DAMAGES OR OTHER
LIABILITY, WHETHER IN AN ACTION OF CONTRACT, TORT OR OTHERWISE, ARISING FROM,
OUT OF OR IN CONNECTION WITH THE SOFTWARE OR THE USE OR OTHER DEALINGS IN THE
SOFTWARE.
*/

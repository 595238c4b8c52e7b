// slangpy.h: call Slang functions on the GPU, by name, from C and C++.
//
//      1 quick start                    10 errors and logs                19 options of a call
//      2 one implementation file        11 threads                        20 prepared calls
//      3 devices                        12 order of work, waiting, cost   21 command lists
//      4 modules, the compiler          13 methods and instances          22 as a tool: to compute
//      5 tensors and layouts            14 generators                     23 in an engine: Vulkan, frames
//      6 arguments                      15 whole tensors, pointers        24 for teaching: kernels
//      7 mapping and broadcast          16 buffers                        25 CUDA
//      8 results                        17 shader parameters              26 indices out of range
//      9 gradients                      18 dispatch                       27 fusion
//
// Chapters 1 to 12 are for everyone. Chapters 22 to 24 are one for each way of use, and name the others that
// matter there. Search for ">>" to go from section to section, here and in the declarations.
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
//     gcc -std=c11 main.c -lpthread -ldl -lm
//     SLANGPY_SLANG_LIBRARY=/path/to/libslang-compiler.so ./a.out
//
// `x` is one float for the function and four for the call: the call runs over them. The library writes one
// Slang kernel for this kind of call (loads, the call of saxpy, stores), compiles it, and keeps it for the
// next time.
//
// >>guide 2: one implementation file
//
// One file of a program says `#define SLANGPY_IMPLEMENTATION` before it includes the headers. All other files
// include them without it. The implementation file is C11, or C++17 and later; the declarations are C99 and
// C++11. With slangpy_vk.h it needs vulkan/vulkan.h of version 1.3.204 or later on the include path (Debian:
// libvulkan-dev). It links pthread, dl and m. libvulkan is opened at run time, not linked.
//
// Give the implementation a file of its own that holds these two lines only. It takes seconds to compile, and
// there it compiles once. In any other file of the program vulkan.h and volk.h (any version) may stand before
// or after our headers, and the program may link libvulkan: the library keeps Vulkan's functions in structs
// of its own. If the implementation shares its file after all, a volk.h after our headers needs
// VK_NO_PROTOTYPES before them, as it does after any vulkan.h.
//
// To export the functions from a DLL or shared library of yours, define SPY_API before the headers: in the
// file with the implementation as __declspec(dllexport), in the files that use the DLL as
// __declspec(dllimport); with gcc and clang as __attribute__((visibility("default"))), and compile with
// -fvisibility=hidden. It then exports the public functions and nothing else of the library. Headers of
// different releases do not compile together.
//
// C++17 programs may use slangpy.hpp on top: handles that release themselves, and arguments from C++ values.
//
// Each backend's header includes slangpy.h. Public names begin with spy_ and SPY_; names that begin with
// spyi_ are private.
//
// Ownership: the caller releases what create_*, load_*, spy_prepare and spy_out_tensor give, before the
// device, or leaves it to the release of the device. What find_* gives is borrowed, and lives as long as its
// module. Calls keep the memory that they use: a tensor may be released right after the call.
//
// Names follow rules: the values of an enum begin with the enum's name (spy_dtype: SPY_DTYPE_FLOAT32; SPY_OK
// and SPY_ERROR_* of spy_status are the one exception), and 0 is the default. Memory is given as a pointer,
// then how much, then of which type: spy_tensor_read(t, data, size), spy_arg_array("a", data, shape, dtype).
// Functions that write into the caller's memory work like snprintf. Members of structs that begin with '_'
// are private. Every object that has a spy_release_* has a spy_retain_*, but cursors, which are values, and
// resolutions, which are plain memory. tools/api_json writes all declarations as JSON, for bindings to other
// languages.
//
// SPY_ARGS is for the call that it stands in. To keep a list, name the array:
//
//     const spy_arg items[] = { spy_arg_f32("a", 2), spy_arg_tensor("x", x) };
//     spy_args args = { items, 2 };
//
// In C SPY_ARGS is a compound literal, good until the end of the block that it stands in. In C++ it is a
// temporary, good until the end of the statement. There `auto list = SPY_ARGS(...)` keeps a copy, and a list
// of fields inside a kept list needs an `auto` of its own. `spy_args a = SPY_ARGS(...)` would dangle in C++,
// and does not compile. Descs are filled by assignment in C++.
//
// Structs that a program fills, spy_*_desc and spy_call_options, are all zero by default: `spy_tensor_desc d
// = { 0 };` in C, `spy_tensor_desc d = {};` in C++, or the members by name in braces. A struct that was not
// zeroed is an error that says so, if its last member, _end_canary, shows it.
//
// >>guide 3: devices
//
// A device is one GPU with its memory pool, its compiler sessions and its cache of compiled calls. There is
// no default device and no global state.
//
// desc.adapter chooses the GPU by its number in spy_enumerate_adapters, counted from 1. Without it
// desc.adapter_name and desc.adapter_type choose. Without these the device is the first discrete GPU, else
// the first integrated one, else a CPU (lavapipe). There is no silent fallback: a backend or adapter that is
// not there is an error that lists what was found.
//
// Tensors, modules and functions belong to their device; two devices are independent. spy_release_device
// waits for the GPU and releases everything that was made from the device and not yet released. It is the
// last use of all of it: a handle that is used, retained or released later points to freed memory. In C++ let
// the device's owner be destroyed last.
//
// >>guide 4: modules and finding the compiler
//
// spy_load_module takes a file, or text by desc.source. (Text in one line needs "};" after a struct: Slang ends
// the declaration at a semicolon or at the end of the line.) `import` looks in the file's folder, in
// desc.include_paths, then in those of the device. spy_find_function knows "f", "ns::f", methods and
// constructors ("Type::method", "Type", see 13), and generics made concrete: "f<float, 4>". Overloads, and
// generics without brackets, are resolved at the call, by its arguments.
//
// spy_reflect_module gives all that a module declares as a tree of plain structs: names, types, layouts,
// attributes, default values. spy_find_decl finds one declaration, spy_reflect_type describes a type.
//
// Modules need not be files. desc.files of the device is a hook that gives files out of an archive. A
// .slang-module file (made by spy_save_module, or by slangc -o x.slang-module) or its bytes load without the
// source. desc.link completes `extern` declarations with what other modules `export`. desc.options says how
// the module and its kernels are compiled. desc.conformances lists (and numbers) the types behind an
// interface.
//
// spy_poll_reload(device, interval, NULL), called in each frame, looks for files that have changed on disk or
// in the hook. It has them compiled in the background, and puts the new code in place in a later frame.
// Prepared calls, too, keep running the old kernel until the new one is ready, so that no frame waits for a
// compiler. spy_reload_changed does the same and waits; spy_reload_module reloads one module.
//
// After a reload functions are the same objects and mean the new code. A reload that does not compile changes
// nothing. The device's desc.reload is told of both. The new code refuses a tensor of a struct whose fields
// have changed, with an error that says so: make the tensor again.
//
// The compiler, libslang, is a library of its own that is opened with the first module. It is looked for in
// this order:
//
//     1  desc.slang_library
//     2  the environment variable SLANGPY_SLANG_LIBRARY
//     3  beside the program
//     4  desc.slang_paths: each is the library itself, or a folder that it lies in
//     5  where the system's loader looks (LD_LIBRARY_PATH, /usr/lib, ...)
//
// When 1 or 2 names a file, no other place is tried. The error lists every place. To get the compiler, run
// `tools/setup`, or
//
//     python3 -m pip download --no-deps slangtorch==1.3.22
//
// and unpack slangtorch/bin/libslang-compiler.so.* from that wheel (a zip file). One process uses one
// libslang.
//
// >>guide 5: tensors and layouts
//
// A tensor is an N-dimensional strided array in device memory: a shape of rank 0 (one element) to 8,
// row-major, and an element type. The element type is a scalar (desc.dtype, by default float), or any Slang
// type of plain data by name: desc.type = "float3", "float4x4", "int[5]", "Particle". A struct also needs
// desc.module, which declares it.
//
// A float tensor of shape (100, 3) and a float3 tensor of shape (100) are equally good for a float3
// parameter.
//
// Host memory is always in C's layout: struct fields are where C puts them, a float3 is 3 floats without
// padding, matrices lie row by row, a bool has 1 byte and a half 2 bytes. The library asks Slang for the
// device's layout of each type and converts where the two differ (on Vulkan a bool has 4 bytes).
// spy_type_size_bytes tells a type's size in C; compare it with sizeof in an assertion.
// spy_tensor_info.element_size_bytes is the size on the device.
//
// spy_create_tensor leaves memory undefined without desc.data and desc.zeroed. desc.like takes shape and type
// from another tensor. spy_tensor_write copies before it returns. spy_tensor_read waits for the work that
// writes the tensor, and for no other. spy_tensor_read_range and spy_tensor_write_range move some of the
// elements. spy_tensor_fill, spy_tensor_fill_data and spy_tensor_copy work on the device.
//
// Memory comes from a pool and returns to it; spy_trim gives unused blocks back to the driver. A buffer of
// bytes is a tensor of uint8_t, a buffer of structs is a tensor of the struct. spy_tensor_address gives the
// GPU's address.
//
// Views share memory with their tensor and keep it alive. Each view is released on its own. They are as numpy
// has them:
//
//     function                            view
//     ----------------------------------  ------------------------------------------------------------------
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
// Arguments are given by name, or by position with NULL as the name. Positions count only the unnamed
// arguments, from the first parameter on, whatever was named before. "_result" is the return value and is
// always given by name; without it the return value is dropped. Parameters with default values may be left
// out at the end.
//
// The call runs over the dimensions of an argument that its parameter's type does not take: the function is
// called once for each element of these dimensions (chapter 7).
//
//     argument                        feeds
//     ------------------------------  ----------------------------------------------------------------------
//     spy_arg_bool, _i32, _u32,       a scalar of any type that can hold the value, an enum (by its number),
//       _i64, _u64, _f32, _f64          and each component of a vector or matrix
//     spy_arg_f32n, spy_arg_i32n      a short vector or array, from host memory
//     spy_arg_array                   host scalars with a shape, row-major: the trailing dimensions feed
//                                       vectors, matrices and arrays; the call runs over the others
//     spy_arg_tensor                  a tensor in device memory, for in, out and inout parameters; also for
//                                       tensor and pointer parameters (chapter 15)
//     spy_arg_data                    one struct, or any other value, as bytes in C's layout; the size must
//                                       be that of the type
//     spy_arg_struct                  a struct field by field, or a vector by x, y, z, w
//     spy_arg_call_id and others      numbers that the kernel computes (chapter 14)
//     spy_out_*, spy_inout_*          out and inout parameters and "_result" (chapter 8)
//     spy_arg_diff_pair               a value and its gradient (chapter 9)
//     spy_vcast(arg, "float3")        `arg` for a parameter of exactly this type; this selects an overload,
//                                       and the T of a generic
//     spy_vmap(arg, SPY_DIMS(1, 0))   `arg` with an explicit mapping of its dimensions (chapter 7)
//     spy_map_value(arg)              a host array as one value; the call runs over it only when no overload
//                                       takes the complete array
//     spy_arg_packed                  a copy that spy_pack made of an argument and all that it points to
//
// Numbers and host arrays are converted when the value fits: 300 for uint8_t and 2.5 for int are errors, 0.1
// for half is rounded and 1e300 for float is infinity, as in C; every number but 0 is true for bool. A host
// array that the call runs over is uploaded at each call.
//
// Scalars in tensors are converted as in C, but never to fewer bits, from float to int, or to bool: uint8_t
// feeds int, int feeds uint and float; double does not feed float. Outputs are not converted, except
// "_result", which goes into numbers of any type but bool, as Slang converts them.
//
// spy_arg_struct takes all fields, by name or by position. A field may be a number, an array, a tensor, a
// generator or another struct; a field of an output is a tensor or spy_out_*. An array T[N], for example of
// structs, is given as a spy_arg_struct with one unnamed argument for each of its N elements.
//
// A parameter of an interface type takes an argument whose type implements the interface: a tensor of such
// structs, or a struct given by fields or bytes with spy_vcast(arg, "Circle").
//
// A Texture2D<T>, RWTexture2D<T> or another texture takes spy_arg_texture with a texture of the same dimension
// and texels, and a SamplerState takes spy_arg_sampler. A texture for a parameter of its texels' type is run
// over, as an array (height, width), (depth, height, width) or (layer, height, width); as an output it is
// written.
//
// Results of an interface type cannot be passed yet. Structs may be nested 16 deep. A call has at most 64
// leaves: a leaf is an argument, or a field of a struct that is given by fields.
//
// >>guide 7: mapping and broadcast
//
// Each parameter's type takes as many of its argument's trailing dimensions as it needs. Of a float tensor,
// float takes none, float3 and float[8] take one, float4x4 takes two; of a float3 tensor, float3 takes none
// and float3[8] takes one. The sizes of these dimensions must be those of the type. The call runs over the
// remaining dimensions: the function is called once for each of their elements.
//
// The call's shape comes from the remaining dimensions of all arguments by numpy's rule: shapes are aligned
// at the last dimension; equal sizes match, size 1 is stretched, missing leading dimensions are added. Any
// other pair of sizes is an error that names both arguments. Numbers, structs as bytes and single vectors
// have no remaining dimensions: each element of the call gets the same value.
//
//     float add(float a, float b), given float tensors:
//     a              b             the call's shape
//     -------------  ------------  -------------------------------------
//     (480, 640)     (640)         (480, 640)
//     (480, 1)       (640)         (480, 640)
//     (480, 640)     a number      (480, 640)
//     (4, 3)         (4)           an error
//     (0, 3)         a number      (0, 3): nothing is done, no error
//
//     float3 scale(float3 v, float s), given float tensors:
//     v              s             the call's shape
//     -------------  ------------  -------------------------------------
//     (100, 3)       a number      (100)
//     (100, 3)       (100)         (100)
//     (20, 100, 3)   (20, 1)       (20, 100)
//     (100, 2)       a number      an error: dimension 1 must be 3
//
// Given output tensors take part in the call's shape, too. An output must have a separate element for each
// element of the call, so an output that would be stretched is an error; so is a view whose dimensions lie
// within each other, such as one of shape (3, 2) with strides (2, 3). With
// spy_module_desc.strict_broadcasting missing dimensions are errors too (numbers are still allowed).
//
// spy_vmap gives the mapping explicitly: dimension i of the argument becomes dimension dims[i] of the call.
// The map must name exactly the dimensions that the call runs over. Arguments without a map stay aligned at
// the last dimension.
//
//     add: spy_vmap(a (4), SPY_DIMS(0)), spy_vmap(b (3), SPY_DIMS(1))      (4, 3): every a with every b
//     add: spy_vmap(a (4, 3), SPY_DIMS(1, 0)), b (4)                       (3, 4): a transposed
//
// spy_vdim(arg, n) names the dimensions 0 to n - 1. Around a struct, or a value with its gradient, a map is
// that of each part that is run over and has none of its own. spy_vcast(arg, type) says the type instead,
// from which the map follows.
//
// spy_declare says maps and types once, for all calls of the function that it returns:
//
//     spy_function *outer = spy_declare(add, SPY_ARGS(spy_vdim(spy_arg_any("a"), 1),
//                                                     spy_vmap(spy_arg_any("b"), SPY_DIMS(1))));
//     spy_call(outer, SPY_ARGS(spy_arg_tensor("a", a), spy_arg_tensor("b", b), ...));
//
// An output may share the memory of an input if both have the same elements at the same positions (in-place
// updates). Any other overlap is an error, because threads run in any order. One call has at most 2^31 - 1
// elements.
//
// >>guide 8: results
//
// "_result" and out parameters are received in one of these ways:
//
//     argument                        where the result goes
//     ------------------------------  ----------------------------------------------------------------------
//     spy_arg_tensor("_result", t)    into an existing tensor. Nothing is waited for
//     spy_out_tensor("_result", &t)   into a new tensor of the call's shape, whose element type is the
//                                       parameter's. Nothing is waited for
//     spy_out_f32("_result", &f) ...  into host memory: one number of exactly the parameter's type
//     spy_out_array                   into host memory: a vector, matrix or array, or those of all elements
//     spy_out_data                    into host memory: one value of any type as bytes (half, uint8_t and
//                                       structs too)
//
// The new tensor of spy_out_tensor is released by the caller. `t` is written only when the call succeeds, and
// whatever it was before is forgotten.
//
// Results into host memory are there when spy_call returns: the call waits for the GPU. inout parameters take
// spy_inout_* the same way, or a tensor, which is changed in place.
//
// >>guide 9: gradients
//
// A function that is marked [Differentiable], or has a derivative of its own ([BackwardDerivative],
// [BackwardDerivativeOf]), can be called backward. The call takes the arguments of spy_call:
//
//     [Differentiable] float saxpy(no_diff float a, float x, float y) { return a * x + y; }
//
//     spy_tensor_desc d = { .shape = SPY_SHAPE(4), .data = data, .with_grad = true };
//     spy_tensor *x = spy_create_tensor(dev, &d), *out = ...; // likewise
//     spy_tensor_fill(spy_tensor_grad(out), 1);               // how much each result matters
//     spy_call_backward(saxpy, SPY_ARGS(spy_arg_f32("a", 2), spy_arg_tensor("x", x), spy_arg_f32("y", 1),
//                                       spy_arg_tensor("_result", out)));
//     spy_tensor_read(spy_tensor_grad(x), dx, sizeof dx);     // 2 2 2 2
//
// The call reads the gradients of the outputs ("_result", out parameters). It adds to the gradients of the
// inputs, and never overwrites them: call spy_tensor_zero_grad() before a new sum. Nothing else changes. With
// spy_call_options.store_gradients it stores them instead, which saves setting and reading zeros, in calls in
// which each element has gradients of its own.
//
// An input without a gradient is a constant, and so is a parameter that the function calls no_diff. An output
// without a gradient does not count, but "_result" needs one. An input that all elements share, or a row or a
// column of them, gets the sum of the gradients of these elements.
//
// Gradients are tensors beside their tensor, of its shape. with_grad makes one, zeroed, that is read and
// added to; grad_in (read) and grad_out (added to) give two, which an inout parameter needs: it must hold the
// value that went in. The element type is Slang's T.Differential: the type itself for floats, vectors,
// matrices and arrays, a struct such as "Light.Differential" for a struct that implements IDifferentiable.
// Views see the gradients of what they are views of; spy_create_detached gives a view without any,
// spy_create_attached one with others.
//
// spy_arg_diff_pair gives a value and its gradient one by one, any kinds of arguments: numbers, host arrays,
// tensors; also in the fields of a struct, next to fields without:
//
//     spy_arg_diff_pair("x", SPY_ARGS(spy_arg_f32(NULL, 3), spy_inout_f32(NULL, &dx)))
//     spy_arg_diff_pair("_result", SPY_ARGS(spy_arg_f32(NULL, 0), spy_arg_f32(NULL, 1))) // 1 for each
//
// spy_call_forward_diff goes the other way: it reads the gradients of the inputs, as a direction, and writes
// the outputs and their gradients, how fast they change in that direction.
//
// Functions that index by themselves take tensors with gradients whole, by `import slangpy_diff;`:
//
//     type                 interface             what backward does
//     -------------------  --------------------  -----------------------------------------------------------
//     DiffTensor<T, D>     IDiffTensor<T, D>     t[i] and load(i) add to the gradient there, atomically
//     WDiffTensor<T, D>    IWDiffTensor<T, D>    t[i] = v and store(i, v) read the gradient there
//     RWDiffTensor<T, D>   IRWDiffTensor<T, D>   both, with grad_in and grad_out
//
// Two loads of a DiffTensor are faster where more is known: load_once(int[D]) adds without an atomic
// operation, for elements that no other thread loads; load_uniform(int[D]) adds the sum of a wave, whose
// threads have the index in common.
//
// A tensor without gradients feeds them too, in any call. Indices are up to four ints, an int[D] or a vector.
//
// A draw has gradients, too: spy_draw_backward() in raster.h.
//
// Textures with gradients (spy_texture_desc.with_grad, spy_texture_grad) are sampled and loaded by functions of
// Texture2D<T> and SamplerState, or of DiffTexture2D<T> and DiffSamplerState: texture.h says more.
//
// spy_gradcheck compares the gradients of a function with central differences, and names the argument and the
// element with the largest error.
//
// Sums of halves and floats are made in float, sums of doubles in double. Each thread sums its elements, each
// group sums its threads in shared memory, and the groups' sums are added by float atomics, or by a second
// dispatch where the device or the type has no atomics. Their order, and so their last bits, differ from run
// to run; spy_call_options.deterministic fixes it. spy_call_options.mode makes backward calls with further
// options, in command lists too; spy_explain_call shows the kernel.
//
// Some derivatives come wrong out of Slang 2026.12 and 2026.14.1. The library puts their code right before
// the driver gets it. Where it cannot, the log has a warning that names the kernel:
//
//     code                                       what Slang does           what helps
//     -----------------------------------------  ------------------------  -----------------------------
//     nested loops of different length           mixes up what it saves    a [Differentiable] function
//       (shader-slang/slang#13000)                 of them                   for the inner loop, or the
//                                                                            same [MaxIters(n)] for both
//     elements of local arrays, vectors and      loses all gradients but   a loop with [ForceUnroll] over all
//       matrices at indices that are known at      one, where two            elements, which picks one:
//       run time only: a[i] * a[j]                 indices are equal         r += k == i ? a[k] : 0
//
// Other derivatives of loops stop Slang with an internal error, which the call reports: those of a loop that
// begins at a number known at run time only (for (int i = start; ...)), and some with `while`.
//
// no_diff in front of a call has no effect in Slang where the function has a derivative: no_diff(f(x)) * x is
// differentiated through f. detach(f(x)) is a constant.
//
// >>guide 10: errors and logs
//
// Functions return a spy_status or NULL, and the device keeps its first error until spy_take_error(device)
// reads it. So a program may check each call, or once at the end. Every function accepts the NULL that a
// failed function gave. It then does nothing but note an error of the thread, which spy_take_error(NULL)
// reads.
//
// Failed creations of devices and functions of released objects are errors of the thread, too.
// SPY_ERROR_BUSY, when a callback uses the device that it was called from, is an error of both the thread and
// the device, and is logged.
//
// A message names the function, the argument, what was expected and what came. For calls it also shows the
// candidates or the table of arguments, for Slang code the compiler's text with file and line. An error that
// is found before the launch leaves all outputs as they were.
//
// desc.log receives every error and warning as it happens; spy_log_stderr is a ready function for it. The
// library never aborts, and prints nothing by itself.
//
// >>guide 11: threads
//
// Functions may be called from any thread, and several threads may use one device: each call waits until the
// calls before it have returned. Nothing is refused or lost, and a thread that calls seldom is not kept out
// by one that calls all the time. Devices are independent of each other.
//
// While a call runs, no other thread may change what it uses: host memory, or a tensor's place
// (spy_tensor_point_to).
//
// Loading, reloading and compiling wait for each other but do not keep the device: a loader thread's
// spy_load_module, or a call that is made for the first time, does not hold up the calls of other threads.
// spy_release_* and spy_retain_* of tensors, modules, lists and prepared calls never wait.
//
// A program that uses a device from one thread at a time sets desc.single_threaded. Calls then leave out the
// lock, which costs a few nanoseconds a call.
//
// Callbacks (desc.log, progress, blocking, files, hooks of calls and lists) run within a call. They must not
// use the device that called them: that is refused with SPY_ERROR_BUSY, without waiting. spy_take_error and
// spy_get_device_info are allowed. The reload hook and close callbacks run between calls and may use
// everything.
//
// The child of a fork() has neither the threads nor the GPU of its parent: every use of the parent's devices
// and objects there is SPY_ERROR_DEVICE_LOST, at once. It may make a device of its own.
//
// >>guide 12: order of work, submission, waiting, and what costs what
//
// A device does its work in the order of the calls, with barriers where a call uses memory that an earlier
// call writes. Calls are recorded, and the library submits them to the GPU by itself: at once when the GPU is
// idle, otherwise when enough calls are recorded, and always before a wait. spy_flush submits all recorded
// work and returns its id for spy_wait_for_submit and spy_is_submit_finished; spy_wait waits for all work.
//
//     cost                  of what
//     --------------------  --------------------------------------------------------------------------------
//     waits for the GPU     spy_tensor_read, results in host memory, spy_wait, spy_wait_for_submit,
//                             spy_time_call, spy_trim, spy_release_device
//     compiles (10-100 ms)  the first call with each new combination of types, ranks, names, directions and
//                             order of the arguments
//     copies host memory    spy_arg_array that the call runs over, spy_tensor_write, desc.data
//     cheap (about 1 us)    all other calls: they allocate nothing, and only record a command
//
// Other values and sizes do not compile a kernel, except where a size determines a generic's type. Very
// different sizes or strides can need one more variant of the kernel.
//
// A loop is fast when its data stays in tensors, its results go to tensors, and it reads them only at the
// end.
//
// >>guide 13: methods and instances
//
// A method's instance is its first parameter, "this". It is given by that name, or as the first unnamed
// argument. It is an in parameter, or inout when the method is [mutating], and is given as any struct is:
//
//     spy_function *step = spy_find_function(mod, "Particle::step"); // "Particle.step" will do as well
//     spy_call(step, SPY_ARGS(spy_arg_tensor("this", particles), spy_arg_f32("dt", 0.1f)));
//
//     instances           how they are given
//     ------------------  ----------------------------------------------------------------------------------
//     array of structs    a tensor of the struct: spy_arg_tensor("this", particles)
//     struct of arrays    a tensor for each field: spy_arg_struct("this", fields). Their shapes are matched
//                           as those of arguments are; for a [mutating] method all must have the call's shape
//     one instance        spy_arg_data or spy_inout_data, or spy_arg_struct of numbers (not for [mutating])
//
// A struct's name, such as "Particle" (or "Particle::__init"), calls the constructor that fits the arguments:
// one of the struct's own, or the one that Slang makes from its fields. "_result" takes the instances as a
// tensor, by fields, or one instance by spy_out_data.
//
// Static methods have no "this". Methods of extensions are found too, also of built-in types
// ("float3::turn"), and those of nested and generic types ("Outer::Inner::get", "Grid<float, 4>::at"). A
// method of an interface is called by the name of the type that implements it.
//
// >>guide 14: generators
//
// Generators are arguments whose values are made in the kernel, one for each element of the call, without
// memory:
//
//     argument              value
//     --------------------  --------------------------------------------------------------------------------
//     spy_arg_call_id       where in the call's shape the element is. A vector's .x is the last dimension, as
//                             in textures; an array has the order of the shape
//     spy_arg_thread_id     the element's number, in .x or [0]
//     spy_arg_grid          offset + stride * coordinate. Its sizes join the call's shape, -1 is any size
//     spy_arg_range         start, start + step, ... below stop: one dimension, as numpy's arange
//     spy_arg_wang_hash     random integers: Thomas Wang's hash, the same bits on every device
//     spy_arg_rand_float    random floats in [low, high), of the same sequence
//
// Generators feed `in` parameters that are numbers, vectors and arrays of numbers, also as fields of a
// struct. A range feeds single numbers, a grid as many numbers as it has dimensions; wang_hash feeds integers
// and rand_float floats.
//
// Only grid and range bring sizes. Otherwise the other arguments or a given output say how many elements
// there are. Generators have no type of their own: for a generic parameter, or between overloads that all
// fit, spy_vcast names the type.
//
// >>guide 15: whole tensors, import slangpy, pointers
//
// A function that reads or writes an array at indices of its own choice imports the library's Slang module
// and takes a tensor:
//
//     import slangpy;
//     float pick(int i, Tensor<float, 1> t) { return t[i % t.shape[0]]; }
//
// spy_arg_tensor passes the tensor. Its last D dimensions (and those that T takes, chapter 7) are the
// function's tensor; the call runs over the dimensions before them, so that each element of the call gets its
// own part. Tensor parameters can be mixed with per-element parameters, and can be fields of structs that are
// given by fields.
//
//     type                               interface          what it can do
//     ---------------------------------  -----------------  ------------------------------------------------
//     Tensor<T, D>, NDBuffer<T, D>       ITensor<T, D>      read
//     WTensor<T, D>                      IWTensor<T, D>     write
//     RWTensor<T, D>, RWNDBuffer<T, D>   IRWTensor<T, D>    read and write
//     AtomicTensor<T, D>                                    read, write and add(index, value)
//
// The T of an AtomicTensor is a float type, an integer of 32 or 64 bits, a vector or matrix of these, or a
// struct that implements IAtomicAddable.
//
// All of these parameters are declared `in`, also when the function writes to the tensor. Indices are D ints
// (t[y, x]), an int[D], or a vector, whose .x is the last dimension; load and store take the same indices.
// .shape has the sizes. Bounds are checked only on a device with check_bounds (chapter 26). T and D may be
// generic. Scalars are not converted: Tensor<float, D> takes only float tensors.
//
// The module also has get_call_id(), get_call_group_id() and get_call_group_thread_id(), which return the
// position of the running code in the call, and wang_hash() and WangHash, the random sequence of the
// generators. Slang code can use the module without C.
//
// A parameter T* takes a tensor (the address of its first element; the function must know the strides) or an
// address by spy_arg_u64. The library keeps the order of work on a tensor that is passed to a tensor or
// pointer parameter, as on any other; an output of the same call must not share its memory. The library does
// not know what memory an address of spy_arg_u64 leads to, so it separates such a call from all work before
// and after it. It does not see addresses inside other data at all. Tensor and pointer parameters need
// SPY_FEATURE_POINTERS.
//
// >>guide 16: buffers
//
// A function may take Slang's own buffers, beside arguments that are given by element:
//
//     parameter                                   argument
//     ------------------------------------------  ----------------------------------------------------------
//     StructuredBuffer<T>, RWStructuredBuffer<T>  a tensor of T, of T's scalars in trailing dimensions, or of
//                                                   "void", whose bytes are then Ts
//     ByteAddressBuffer, RWByteAddressBuffer      a tensor
//     Buffer<T>, RWBuffer<T>                      a tensor of T itself
//     ConstantBuffer<T>, ParameterBlock<T>        a T, as bytes or field by field; tensors for the
//                                                   buffers in it
//     StructuredBuffer<T> b[3]                    a struct without names, of three tensors
//
// The tensor is taken as a whole. It must be contiguous and have at least one element. A view must begin at a
// multiple of the device's alignment; the error says which.
//
// Typed buffers, Buffer<T> and RWBuffer<T>, are for T of 8, 16 or 32 bits, one, two or four of them (three
// where the device can). A [format] that says otherwise than T is refused, and so are atomic operations but
// on int and uint. Every device has float, int, uint and their vectors of two and four to read and write; an
// error names a format that it lacks. A device without StorageImageReadWithoutFormat takes RWBuffers of float
// vectors of one length in a kernel, or [format("rgba32f")] and the like on each.
//
// An array of buffers is given like this:
//
//     spy_arg_struct("b", SPY_ARGS(spy_arg_tensor(NULL, x), spy_arg_tensor(NULL, y),
//                                  spy_arg_tensor(NULL, z)))
//
// Its elements are chosen by a number that is the same for all threads of a group. For any other number Slang
// wants b[NonUniformResourceIndex(k)], and the device a feature. Each element is one of the bindings that a
// kernel may have. Arrays of arrays and of structs with buffers in them are refused.
//
// An array without a size, StructuredBuffer<float> b[], takes a struct with one tensor for each element, at
// most 4096. It may also be of byte-address buffers and of ConstantBuffer<T>, each of which is a tensor of T,
// whose first element it sees. Arrays without a size are CUDA's alone: as a global, a member of a
// ConstantBuffer or ParameterBlock, and a parameter of a function or shader. Elsewhere they are refused.
// Another number of elements is another kind of call, but runs the same kernel. Slang code cannot ask for the
// number, so pass it as another argument. Indices are not checked. A global T values[] of plain data takes a
// tensor.
//
// Buffers may be the same memory as each other and as element-wise arguments: nothing checks what threads
// then do to each other.
//
// >>guide 17: shader parameters
//
// Global shader parameters of a module, and of those that it imports or links, are given with the call:
//
//     struct Light { float3 color; float power; }
//     struct Scene { Light light; StructuredBuffer<float> table; }
//     uniform float gain;
//     ParameterBlock<Scene> scene;
//
//     spy_call_options o = { .globals = SPY_ARGS(spy_arg_f32("gain", 2),
//                                                spy_arg_tensor("scene.table", table),
//                                                spy_arg_data("scene.light", &light, sizeof light)) };
//     spy_call_with(function, args, &o);
//
// Names are paths: fields by ".name", elements by "[2]", of arrays of buffers too. A struct may be given
// whole (spy_arg_data), by its fields (spy_arg_struct, all of them), or in parts by several paths. Of two
// values for one place the last one counts.
//
// Numbers and host arrays are converted and checked as arguments are. Tensors feed buffers, pointers and the
// library's tensor types; data in uniform buffers comes from host memory.
//
// A name that the modules do not have, or a value of another type, is an error before anything is compiled.
// What a kernel uses must be given. Which parameters these are is known once its code is there: then an error
// lists those that are missing. What it does not use is ignored, also of a uniform buffer's members.
// spy_explain_call lists all globals, given and not.
//
// A write_globals hook adds values at each call. Values change from call to call without a new kernel; other
// kinds or names of values are another kind of call. Cost: a copy of the uniform buffers' bytes, and one more
// binding each.
//
// Textures, samplers, and push constants of the module's own are not there yet: a kernel that uses one is
// refused by its name. [[vk::binding]] numbers are the module's own business: each kernel's bindings are
// numbered anew. Buffers may be the same memory as each other and as element-wise arguments.
//
// >>guide 18: dispatch
//
// spy_dispatch runs a function in an explicit number of threads. Nothing is run over: arguments are passed
// whole, and results go to tensors taken whole or to pointers, not to `out` parameters and "_result".
// Parameters with SV_DispatchThreadID, SV_GroupID, SV_GroupThreadID or SV_GroupIndex are filled, and
// positions count without them.
//
//     void fill(uint3 id : SV_DispatchThreadID, RWTensor<float, 1> t, float v) { t[int(id.x)] = v; }
//     spy_uint3 threads = { 1000, 1, 1 };
//     spy_dispatch(fill, threads, SPY_ARGS(spy_arg_tensor("t", t), spy_arg_f32("v", 2)), NULL);
//
// A plain function runs in exactly these threads, in groups of 64 unless options.thread_group_size says
// otherwise. Functions with overloads cannot be dispatched.
//
// A compute shader of the module ([shader("compute")], [numthreads(x, y, z)]) runs as it is, in whole groups
// of its own size, so that it must compare its thread's number with the end itself. Its groups are limited
// to max_group_count in each dimension; a plain function's are not.
//
// Shared memory. On CUDA the groupshared variables of a kernel may have up to spy_device_info.max_shared_bytes
// in all (227 KiB on an H200). options.shared_bytes gives each group as many bytes more, which CUDA text in
// the module reaches. That text may use all that is the device's own: on an H200 it is compiled for sm_90a.
//
//     void need() { __requirePrelude("extern __shared__ float room[];"); }
//     float get(uint i) { __intrinsic_asm "room[$0]"; }
//     void put(uint i, float v) { __intrinsic_asm "room[$0] = $1"; }
//
// A persistent kernel has as many groups as the device runs at the same time, a multiple of
// spy_device_info.multiprocessor_count, and each group takes portions of the work until none is left.
//
// spy_dispatch_indirect reads the number of groups from a tensor of uint32 when the GPU comes to it, so that
// one kernel can decide how much the next one does.
//
// >>guide 19: options of a call
//
// spy_call_with is spy_call with a spy_call_options: a plain struct that can be kept and changed, all zero by
// default. The dispatch functions take it too, and spy_explain_call, spy_time_call, spy_resolve and
// spy_prepare. What is compiled into the kernel makes a call of its own kind.
//
//     member                what it gives
//     --------------------  --------------------------------------------------------------------------------
//     prelude               Slang text at the head of the kernel
//     constants             numbers for the module's `extern static const`, compiled in
//     conformances          "Circle : IShape": the types that may stand behind interfaces at run time
//     thread_group_size     threads of a group, for code with groupshared memory (compute shaders have their
//                             own); each element of a call has a thread of its own then. With a y or z,
//                             groups are tiles of the call's last dimensions
//     call_group_shape      tiles of the call's shape whose elements run next to each other
//     thread_count          sizes that join the call's shape, when no argument has any. Calls only, as
//                             call_group_shape
//     mode, deterministic   a backward or forward-mode call, and sums with the same bits in each run, see 9
//     shared_bytes          dynamic shared memory of a group (CUDA), see 18
//     globals               values of the module's shader parameters, by name or path, see 17
//     write_globals         a hook that sets further ones at each call, by spy_set_global
//     append_to             a command list that gets the call instead of the device
//
// >>guide 20: prepared calls
//
// spy_prepare binds and compiles a call without running it. spy_call_prepared runs it with arguments of the
// same kinds, types, ranks, names and order, without a look-up. The sizes that are given to spy_prepare
// choose the variant that is compiled first.
//
// With desc.async a thread compiles, and spy_prepared_ready says when it is done. SPY_ERROR_NOT_READY is an
// answer there, and is not kept as an error. A plain call with such arguments waits for the thread and uses
// what it made. So a program that will need several kernels may prepare them all, and release the prepared
// calls at once: the driver's compiler works on them at the same time.
//
// desc.options are those of chapter 19. They are copied, and all calls get them, with the values of globals
// that they had. Globals that change from call to call are set by the options' write_globals hook, or are
// tensors.
//
// >>guide 21: command lists
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
// submission; numbers and host arrays are those of the recording, until they are changed, by name and by the
// number of the call in the list:
//
//     spy_list_set(list, 0, SPY_ARGS(spy_arg_f32("rate", 0.01f))); // from the next submission on
//
// spy_flush gives an id to wait for. spy_list_read_timestamps tells what the parts of a list took on the GPU,
// spy_get_calibration how that clock stands to the host's.
//
// >>guide 22: as a tool: a program that computes
//
// A program that computes loads its data once, calls functions on tensors, and reads at the end:
//
//     spy_tensor *x = spy_create_tensor(dev, &(spy_tensor_desc){ .shape = SPY_SHAPE(n), .data = data });
//     spy_tensor *y = spy_create_tensor(dev, &(spy_tensor_desc){ .like = x });
//     for (int i = 0; i < 1000; i++) {
//         spy_call(step, SPY_ARGS(spy_arg_tensor("x", x), spy_arg_f32("rate", 0.1f),
//                                 spy_arg_tensor("_result", y)));
//         spy_tensor *swap = x;
//         x = y, y = swap;
//     }
//     spy_tensor_read(x, data, n * sizeof *data); // waits; the thousand calls did not
//
// The first call compiles. All others record work and return, in about a microsecond, while the GPU is busy
// with those before. What makes such a program slow: a result in host memory in the loop (it waits), a host
// array that is run over (it is uploaded), a new tensor for each result where an old one would do, and many
// calls on few elements, where one call on all of them is possible.
//
// Where the steps are the same each time, a command list (21) does them without looking at arguments. Where
// results must be the same bits in each run, spy_call_options.deterministic (9) fixes the order of sums.
// spy_time_call tells what a call takes on the GPU's own clock.
//
// A tool that is started often should call spy_prepare with desc.async early: its kernels are then compiled
// while it reads its files. A tool that is given to others brings libslang along (4), or prints the error of
// spy_load_module, which says how to get it.
//
// examples/02_tonemap, 05_particles and 12_inverse_rendering are such programs.
//
// >>guide 23: in an engine: your own Vulkan, frames
//
// An engine gives the library its own Vulkan objects, in a spy_vk_desc that goes into desc.backend_desc. The
// VkDevice must have been made with what spy_vk_required_features lists. spy_vk_fill_features turns it on in
// the engine's VkPhysicalDeviceFeatures2 chain. Optional features that were turned on are named in
// spy_vk_desc.enabled_features; all others count as missing, since Vulkan does not tell what a VkDevice has
// enabled. Give lock_queue and unlock_queue if other threads use the queue.
//
// spy_vk_create_tensor makes a tensor over a VkBuffer, spy_vk_get_tensor_buffer gives a tensor's buffer.
// spy_vk_share_device gives the Vulkan objects of a spy_device for another one. spy_vk_get_command_buffer gives
// the VkCommandBuffer that the library records into, for a few commands of your own between its work.
//
// spy_vk_wait_semaphore and spy_vk_signal_semaphore order the library's submissions among those of the
// engine.
//
// Kernels are compiled by spy_prepare before the first frame (20), spy_poll_reload has files compiled in the
// background while frames go on (4), and spy_trim gives unused memory back. An engine on CUDA brings its
// context and stream: 25.
//
// An engine that records its own command buffers has the library's work recorded into them:
//
//     f->id = spy_vk_begin_recording(dev, f->commands);  // begun by the engine, outside a render pass
//     spy_tensor_write(x, data, size);                   // uploads and calls go into f->commands
//     spy_call_prepared(ready, args);
//     spy_vk_end_recording(dev);                         // the engine records on, ends and submits it
//     ...
//     vkWaitForFences(device, 1, &f->fence, ...);        // one or two frames later
//     spy_vk_recording_finished(dev, f->id);             // its memory is free, its results can be read
//
// The GPU works at a recording later, so what it uses is kept until the engine has reported its id: uploaded
// data and parameters, temporaries, tensors that were released meanwhile, kernels. Each recording keeps its
// own, so that two or three frames can be in flight. A frame that uploads as much as the last ones did takes
// no new memory from the driver.
//
// Report an id when the fence of its submission has been signalled. Ids are reported in their order, each
// once, also that of a command buffer that was thrown away instead of submitted. What is not reported stays
// in use. spy_get_device_stats() counts the recordings that have not been reported (.recordings) and the
// memory that waits for them (.recording_bytes); the log warns at 64 recordings.
//
// Command buffers go to the device's queue in the order of their recordings. The library puts the barriers
// between its calls, also from one recording to the next. The engine puts those between the library's calls
// and its own commands: for results that it reads, from SHADER_WRITE to whatever it does.
//
// Calls inside a recording cannot have results in host memory: give them a tensor, and read it when the id
// was reported; until then spy_tensor_read says SPY_ERROR_NOT_READY, and so does spy_wait. Calls outside
// recordings are the library's own submissions as ever, also while frames are in flight, and can be read at
// once. One that depends on a recording comes after the engine has submitted it. examples/04_engine_vulkan
// has two frames in flight.
//
// >>guide 24: for teaching: looking at kernels
//
// A call is one kernel, and all of it can be looked at. For float add(float a, float b) with a (480, 640) and
// b (640), the first lines of spy_explain_call are
//
//     float add(float a, float b)
//       a                    in     float        <- float tensor (480, 640)          dimensions (0, 1)
//       b                    in     float        <- float tensor (640,)              dimensions (1)
//       _result              out    float        <- new tensor                       dimensions (0, 1)
//       call shape (480, 640), 307200 elements on ...
//
// which is the rule of chapter 7 at work: b has one dimension, and is run over along the last one of the
// call. The kernel follows: loads, the call of the function, a store.
//
// spy_explain_call prints how a call is understood, without running it: each parameter with its Slang type,
// argument and kernel dimensions, the call's shape, and the kernel's text. spy_resolve gives the same as
// data, for programs: the overload, each parameter's concrete type, mapping and consumed dimensions, and the
// call's shape; nothing is compiled for it. spy_release_resolution frees it.
//
// desc.dump_directory (an existing folder) receives every kernel as NAME.slang and its SPIR-V as NAME.spv.
// desc.progress tells of slow steps, spy_get_device_stats counts calls, compiled kernels, barriers and bytes.
// desc.enable_validation turns on Vulkan's validation layer, whose messages go to the log.
//
// Slang code prints, too: with desc.enable_print and `import print;`, print("x = {}, v = {:.3f}", x, v) sends
// a message to desc.log whenever something waits for the work that printed it. spy_flush_print waits for it,
// spy_read_print gives the text instead. Without enable_print the same code compiles to nothing.
//
// For a lesson: spy_tensor_print shows what is in a tensor, spy_reflect_module what a module declares
// (examples/09_reflection prints the tree), spy_time_call what a call takes. examples/tour.py is a first hour
// in Python, from numbers to a picture.
//
// >>guide 25: CUDA
//
// spy_cuda_backend() drives NVIDIA's GPUs through CUDA. It needs the driver alone to make a device, and
// NVRTC, CUDA's compiler as a library, to compile kernels. It needs no toolkit and no headers. NVRTC is
// looked for in this order:
//
//     1  spy_cuda_desc.nvrtc_library, or the environment variable SLANGPY_NVRTC_LIBRARY
//     2  beside the program
//     3  where the system's loader looks
//     4  in a toolkit (CUDA_PATH, CUDA_HOME, /usr/local/cuda)
//     5  where pip puts nvidia-cuda-nvrtc
//
// The error names every place. An NVRTC of a later major version than the driver's makes code that the driver
// refuses.
//
// Memory lies as CUDA has it: a bool is a byte, a float2 is aligned to 8 bytes and a float4 to 16, a half3
// takes 8. Views that do not fit a vector's alignment are read component by component.
//
// Arguments go with the launch, up to 4,096 bytes, or 32,764 with drivers of CUDA 12.1 and later; more than
// that goes through memory. Structured buffers are an address and a count, ConstantBuffer and ParameterBlock
// are addresses. Globals cost a copy to constant memory at each launch. spy_dispatch_indirect waits for the
// GPU, since CUDA has no such launch. WaveGetLaneIndex counts by threadIdx.x.
//
// A command list that is submitted a second time becomes a CUDA graph, unless it holds an indirect dispatch
// or is a single piece of work. Each submission is then one launch, and calls that share no memory may run
// side by side. spy_list_set tells the graph its new numbers, at about the cost of a call.
//
// Kernels are compiled with a prelude of the library's own. A kernel that uses what this prelude does not
// know is compiled with Slang's, which takes about 0.1 s longer, and for half needs CUDA's headers; the log
// says so. options.float_mode and debug_info of modules are NVRTC's -use_fast_math, -fmad=false, -lineinfo
// and -G.
//
// A ConstantBuffer<float4> is refused, since libslang crashes over its components: put the vector into a
// struct. Buffer<T> and RWBuffer<T> are refused: Slang has no code for them there, and drops stores to a
// global RWBuffer without a word.
//
// A texture of a kernel includes a sampler: that of spy_arg_sampled_texture, or else the next sampler among the
// call's arguments. So a function that samples one texture by two samplers takes DiffTexture2D<T> and
// DiffSamplerState, which sample by the second one from single texels. Gradients through textures are otherwise
// as on Vulkan. There are no samplers that compare or mirror once, and no textures of three channels.
//
// Work goes to one stream in order: the device's own or spy_cuda_desc.stream. Launches reach the GPU at once:
// spy_flush only gives the work so far a number. spy_cuda_wait_stream and spy_cuda_signal_stream order it
// with the streams of other libraries, while the host goes on.
//
// A kernel that comes back is launched as a CUDA graph of one node, which takes half of a launch's time.
// Profilers then list it as a graph; with spy_cuda_desc.direct_launches they list it by its name.
//
// A kernel that faults loses the device, and with it CUDA for the rest of the process, in whatever context:
// that is the driver's rule. A process that is started anew has it again.
//
// >>guide 26: finding indices that are out of range
//
// With .check_bounds = true in the spy_device_desc, tensors that a function takes whole (chapters 15 and 9)
// look at each index in the kernel: one outside the shape gives 0 where it reads, and writes or adds nothing.
// The first one is an error of the next wait, read or call with a result, SPY_ERROR_OUT_OF_RANGE; what was
// read is there all the same. It may be of an earlier call, of a dispatch, a shader of the module's own or a
// command list:
//
//     spy_tensor_read: blur: 'image': the kernel reads at index (480, 12), its shape is (480, 640):
//     expected 0 to 479 in dimension 0, got 480; at element (479, 12) of the call; it got 0
//
// Only one index is reported at a time. Threads run in no order: the first one is the index whose thread came
// first to report it. Tensors that Slang code makes of a pointer are checked, too, without a name.
// StructuredBuffer and the other buffers, TensorView and plain pointers are not checked.
//
// The option is for debugging, where a wrong index would otherwise change other memory or crash. With it each
// wait looks at a few words in the GPU's memory. Without it nothing is checked, and the kernels are the same
// as if the option did not exist.
//
// >>guide 27: fusion
//
// spy_fuse_begin() to spy_fuse_end() record a graph of calls: inputs, Slang functions that take inputs and
// earlier results, operators, fields and constructors between them, and outputs. The library writes one Slang
// function of the graph, in a module that imports the modules of the functions, and that is an ordinary
// spy_function: the values between the steps stay in registers, and a call of it is one kernel. api/fuse.h has
// an example, spy_fuse_text() shows the text.
//
// A graph may end in a reduction, spy_fuse_reduce(): a sum, mean, minimum or maximum over all elements of a
// call, or over some of its dimensions. The kernel that computes the elements also reduces them.
//
// Write the arithmetic of derivatives in vectors: Slang 2026.14.1 gives the number k no gradient in `k * v` or
// `k + v` of a vector v, while `v * k` and `float3(k) + v` are right. The text of a fused function is written
// so.

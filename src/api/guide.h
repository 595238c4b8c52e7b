// slangpy.h: call Slang functions on the GPU, by name, from C and C++.
//
//      1 quick start               8 results                       15 command lists
//      2 one implementation file   9 errors and logs               16 methods and instances
//      3 devices                  10 threads                       17 generators
//      4 modules, the compiler    11 order of work, waiting, cost  18 whole tensors, pointers
//      5 tensors and layouts      12 prepared calls                19 dispatch
//      6 arguments                13 bringing your own Vulkan      20 options of a call
//      7 mapping and broadcast    14 looking at kernels          21 buffers, shader parameters
//                                                                22 CUDA
//                                                                23 gradients
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
//     gcc -std=c11 main.c -lpthread -ldl -lm
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
// for slangpy_vk.h vulkan/vulkan.h of version 1.3.204 or later on the include path (Debian: libvulkan-dev), and links
// pthread, dl and m. libvulkan is opened at run time, not linked.
//
// Give the implementation a file of its own that holds these two lines only. It takes seconds to compile, and
// there it compiles once. In any other file of the program vulkan.h and volk.h (any version) may stand before or
// after our headers, and the program may link libvulkan: Vulkan's functions are in structs of ours. If the
// implementation shares its file after all, a volk.h after our headers needs VK_NO_PROTOTYPES before them, as it
// does after any vulkan.h.
//
// To export the functions from a DLL or shared library of yours, define SPY_API before the headers: in the
// file with the implementation as __declspec(dllexport), in the files that use the DLL as __declspec(dllimport);
// with gcc and clang as __attribute__((visibility("default"))), and compile with -fvisibility=hidden. It then
// exports the public functions and nothing else of the library. Headers of different releases do not compile
// together.
//
// C++17 programs may use slangpy.hpp on top: handles that release themselves, arguments from C++ values.
//
// Each backend's header includes slangpy.h. Public names begin with spy_ and SPY_; what begins with spyi_ is
// private. Ownership: what create_*, load_*, spy_prepare and spy_out_tensor give is released by the caller,
// before the device, or goes with it; what find_* gives is borrowed and lives as long as its module. Calls keep the memory
// that they use: a tensor may be released right after the call.
//
// Names follow rules: the values of an enum begin with the enum's name (spy_dtype: SPY_DTYPE_FLOAT32; SPY_OK and
// SPY_ERROR_* of spy_status are the one exception), and 0 is the default. Memory is given as a pointer, then how
// much, then of which type: spy_tensor_read(t, data, size), spy_arg_array("a", data, shape, dtype). Functions that
// write into the caller's memory work like snprintf. Members of structs that begin with '_' are private. Every
// object that has a spy_release_* has a spy_retain_*, but cursors, which are values, and resolutions, which are
// plain memory. tools/api_json writes all declarations as JSON, for bindings to other languages.
//
// SPY_ARGS is for the call that it stands in. To keep a list, name the array: `const spy_arg items[] = {...};
// spy_args args = { items, 3 };`. SPY_ARGS in C is a compound literal, good until the end of the block that it
// stands in. In C++ it is a temporary, good until the end of the statement: `auto list = SPY_ARGS(...)` is a copy
// to keep, a list of fields inside a kept list needs an `auto` of its own, and `spy_args a = SPY_ARGS(...)`,
// which would dangle, does not compile. Descs are filled by assignment in C++.
//
// Structs that a program fills, spy_*_desc and spy_call_options, are all zero by default: `spy_tensor_desc d = { 0 };` in C,
// `spy_tensor_desc d = {};` in C++, or the members by name in braces. One that was not zeroed is an error that says so,
// as far as its last member, _end_canary, shows it.
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
// waits for the GPU and releases everything that was made from it, in any order that the program left. It is the
// last use of them all: a handle that is used, retained or released after it is freed memory. In C++ let the
// device's owner be destroyed last.
//
// >>guide 4: modules and finding the compiler
//
// spy_load_module takes a file, or text by desc.source; `import` looks in the file's folder, in
// desc.include_paths, then in those of the device. spy_find_function knows "f", "ns::f", methods and
// constructors ("Type::method", "Type", see 16), and generics made concrete: "f<float, 4>". Overloads and
// generics without brackets are resolved at the call, by its arguments.
//
// spy_reflect_module gives all that a module declares as a tree of plain structs: names, types, layouts,
// attributes, default values. spy_find_decl finds one declaration, spy_reflect_type describes a type.
//
// Further sources: desc.files of the device is a hook that gives files out of an archive; a .slang-module
// file (spy_save_module, or slangc -o x.slang-module) or its bytes load without the source. desc.link
// completes `extern` declarations with what other modules `export`; desc.options says how the module and its
// kernels are compiled; desc.conformances lists (and numbers) the types behind an interface.
//
// Reload: spy_poll_reload(device, interval, NULL), called each frame, has what has changed on disk or in the
// hook compiled in the background, and puts it in place in a later frame; prepared calls keep running the old
// kernel until the new one is ready, too, so that no frame waits for a compiler. spy_reload_changed does the same
// and waits, spy_reload_module reloads one module. Functions stay the same objects and mean the new code; a reload
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
// _fill_data and spy_tensor_copy work on the device. Memory comes from a pool and returns to it; spy_trim
// gives unused blocks back to the driver. A buffer of bytes is a tensor of uint8_t, one of structs a tensor
// of the struct; spy_tensor_address gives the GPU's address.
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
//     argument                      feeds
//     spy_arg_bool, _i32, _u32,     a scalar of any type that has the value: 300 for uint8_t and 2.5 for int
//       _i64, _u64, _f32, _f64      are errors, 0.1 for half is rounded, other than 0 is true. Also an enum
//                                   (its number), and a vector or matrix (each component)
//     spy_arg_f32n, spy_arg_i32n    a short vector or array from host memory
//     spy_arg_array                 host scalars with a shape, row-major: the trailing dimensions feed
//                                   vectors, matrices and arrays; the others are run over, and are then
//                                   uploaded at each call. Converted as numbers are, each value checked
//     spy_arg_tensor                device memory, for in, out and inout alike. Scalars are converted as in
//                                   C, but never to fewer bits, from float to int or to bool: uint8_t feeds
//                                   int, int feeds uint and float; double does not feed float. Outputs are
//                                   not converted, but for "_result", which goes into numbers of any type
//                                   as Slang converts them (bool aside). Also whole, and as a pointer: see 18
//     spy_arg_data                  one struct (or any other value) as bytes in C's layout, of the type's
//                                   size
//     spy_arg_struct                a struct field by field, or a vector by x, y, z, w; by name or
//                                   position, all of them: numbers,
//                                   arrays, tensors, generators, further structs. For outputs too, with
//                                   tensors or spy_out_*. An array T[N], of structs say, as one without
//                                   names: an argument for each of its N elements
//     spy_arg_call_id and others    numbers that the kernel makes, see 17
//     spy_out_*, spy_inout_*        `out` and `inout` parameters and "_result", see 8
//     spy_cast(arg, "float3")       that argument for a parameter of exactly this type: chooses between
//                                   overloads, and the T of a generic
//     spy_map(arg, SPY_DIMS(1, 0))  that argument, run over as 7 says
//     spy_map_value(arg)            a host array as one value, run over only where no overload takes it whole
//     spy_arg_packed                a copy that spy_pack made of an argument and all that it points to
//
// A parameter of an interface type takes what has a type of its own that implements it: a tensor of such
// structs, or a struct given by fields or bytes with spy_cast(arg, "Circle").
//
// What cannot be passed yet: textures, samplers, and results of an interface type. A struct given
// whole or field by field may nest 16 deep; a call has at most 64 leaves.
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
// SPY_ERROR_BUSY is also the device's error, and is logged: a callback used the device that it was called from.
//
// A message names the function, the argument, what was expected and what came; for calls also the candidates
// or the table of arguments; for Slang code the compiler's text with file and line. An error that is found
// before the launch leaves all outputs as they were. desc.log receives every error and warning as it happens;
// spy_log_stderr is a ready function for it. Nothing aborts or prints by itself.
//
// >>guide 10: threads
//
// No function has to be called from a special thread, and several threads may use one device: each call waits
// until the calls before it have returned. Nothing is refused or lost, and a thread that calls seldom is not kept
// out by one that calls all the time. What one thread's call uses must not be changed by another thread while that
// call runs: host memory, a tensor's place (spy_tensor_point_to). Devices are independent of each other.
// Loading, reloading and compiling wait for each other but do not keep the device: a loader thread's
// spy_load_module, or a call that is made for the first time, does not hold up the calls of other threads.
// spy_release_* and spy_retain_* of tensors, modules, lists and prepared calls never wait. A program that takes
// turns by itself sets desc.single_threaded, which leaves the lock out (it costs a few nanoseconds a call).
//
// Callbacks (desc.log, progress, blocking, files, hooks of calls and lists) run within a call: they must not use
// the device that called them. That is refused with SPY_ERROR_BUSY, without waiting; spy_take_error and
// spy_get_device_info are free. The reload hook and close callbacks run between calls and may use everything.
//
// The child of a fork() has neither the threads nor the GPU of its parent: every use of the parent's devices and
// objects there is SPY_ERROR_DEVICE_LOST, at once. It may make a device of its own.
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
// error. Sizes given to spy_prepare choose the variant that is compiled first. desc.options are those of
// guide 20, copied: all calls get them, with the values of globals that they had. Globals that change from call
// to call are set by the options' write_globals hook, or are tensors.
//
// >>guide 13: bringing your own Vulkan
//
// Put a spy_vk_desc into desc.backend_desc. The VkDevice must have been made with what
// spy_vk_required_features lists, which spy_vk_fill_features turns on in the engine's VkPhysicalDeviceFeatures2 chain;
// optional features that were turned on are named in spy_vk_desc.enabled_features: others count as missing, since
// Vulkan does not tell what a VkDevice has enabled. Give lock_queue and unlock_queue if other threads use the queue.
// spy_vk_create_tensor makes a tensor over a VkBuffer.
//
// Calls can be recorded into the engine's own command buffers: guide 24.
// spy_vk_wait_semaphore and spy_vk_signal_semaphore order our submissions among those of the engine.
// examples/04_engine_vulkan has it all.
//
// >>guide 14: looking at kernels
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
// submission; numbers and host arrays are those of the recording, until they are changed, by name and by the
// number of the call in the list:
//
//     spy_list_set(list, 0, SPY_ARGS(spy_arg_f32("rate", 0.01f))); // from the next submission on
//
// spy_flush gives an id to wait for.
// spy_list_read_timestamps tells what the parts of a list took on the GPU, spy_get_calibration how that clock
// stands to the host's.
//
// >>guide 16: methods and instances
//
// A method's instance is its first parameter, "this": by name, or as the first unnamed argument. It is in, or
// inout when the method is [mutating], and is given as any struct is:
//
//     spy_function *step = spy_find_function(mod, "Particle::step"); // "Particle.step" will do as well
//     spy_call(step, SPY_ARGS(spy_arg_tensor("this", particles), spy_arg_f32("dt", 0.1f)));
//
//     array of structs    a tensor of the struct: spy_arg_tensor("this", particles)
//     struct of arrays    a tensor a field: spy_arg_struct("this", fields). Shapes meet as arguments' do; the
//                         fields of a [mutating] method's instance must all have the call's shape
//     one instance        spy_arg_data or spy_inout_data, or spy_arg_struct of numbers (not for [mutating])
//
// "Particle" calls the constructor that fits the arguments ("Particle::__init" is the same), one of the
// struct's own or the one that Slang makes from its fields; "_result" takes the instances, as a tensor, by
// fields, or as one by spy_out_data. Static methods have no "this". Methods of extensions are found too, also
// of built-in types ("float3::turn"), and those of nested and generic types ("Outer::Inner::get",
// "Grid<float, 4>::at"). A method of an interface is called by the name of the type that implements it.
//
// >>guide 17: generators
//
// Arguments whose values are made in the kernel, one for each element of the call, without memory:
//     spy_arg_call_id       where in the call's shape the element is. A vector's .x is the last dimension, as
//                           in textures; an array has the order of the shape
//     spy_arg_thread_id     the element's number, in .x or [0]
//     spy_arg_grid          offset + stride * coordinate. Its sizes join the call's shape, -1 is any size
//     spy_arg_range         start, start + step, ... below stop: one dimension, as numpy's arange
//     spy_arg_wang_hash     random integers: Thomas Wang's hash, the same bits on every device
//     spy_arg_rand_float    random floats in [low, high), of the same sequence
//
// They feed numbers, vectors and arrays of numbers (range: single numbers; grid: as many as it has
// dimensions; wang_hash: integers; rand_float: floats), also in the fields of a struct, and are `in` only.
// Only grid and range bring sizes; else the other arguments or a given output say how many elements there
// are. They have no type of their own: for a generic parameter, or between overloads that all fit, spy_cast
// says it.
//
// >>guide 18: whole tensors, import slangpy, pointers
//
// A function that wants a whole array, to read it at places of its own choice, imports the library's Slang
// side, and takes a tensor:
//
//     import slangpy;
//     float pick(int i, Tensor<float, 1> t) { return t[i % t.shape[0]]; }
//
// spy_arg_tensor passes it: its last D dimensions (and those that T needs beyond, as 7 says) are the tensor,
// dimensions before them are run over, so that each element of the call gets its own part. Such parameters
// stand beside per-element ones, and in structs given by fields.
//     Tensor<T, D>, NDBuffer<T, D>       read                                     or ITensor<T, D>
//     WTensor<T, D>                      write                                    or IWTensor<T, D>
//     RWTensor<T, D>, RWNDBuffer<T, D>   read and write                           or IRWTensor<T, D>
//     AtomicTensor<T, D>                 add(index, value) too; T: float types, integers of 32 and 64 bits,
//                                        vectors and matrices of them, structs that are IAtomicAddable
// Parameters of all of them are `in`: writes go through them. Indices are D ints (t[y, x]), an int[D], or a
// vector, whose .x is the last dimension; load and store take the same; .shape has the sizes. Bounds are not
// checked but in a device made for it (25). T and D may be generic. Scalars are not converted: a float tensor feeds Tensor<float, D>.
//
// The module also has get_call_id(), get_call_group_id() and get_call_group_thread_id(), which tell any code
// where in the call it is, and wang_hash() and WangHash, the generators' sequence. It can be used without C.
//
// A parameter T* takes a tensor (the address of its first element; strides are the function's business) or an
// address by spy_arg_u64. Work on a tensor given whole or as a pointer is kept in order as any other is; an
// output of the same call must not lie in its memory. What an address leads to is not known, so such a call
// is kept apart from all work before and after it; addresses inside other data are not seen at all. Whole
// tensors and pointers need SPY_FEATURE_POINTERS.
//
// >>guide 19: dispatch
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
// otherwise. A compute shader of the module ([shader("compute")], [numthreads(x, y, z)]) runs as it is, in
// whole groups of its own size, so that it must look for the end itself; its groups are limited to
// max_group_count in each dimension, a plain function's are not. Functions with overloads cannot be
// dispatched.
//
// spy_dispatch_indirect reads the number of groups from a tensor of uint32 when the GPU comes to it, so that
// one kernel can decide how much the next one does.
//
// >>guide 20: options of a call
//
// spy_call_with is spy_call with a spy_call_options: a plain struct that can be kept and changed, all zero by
// default. The dispatch functions take it too, and spy_explain_call, spy_time_call, spy_resolve and spy_prepare.
// What is compiled into the kernel makes a call of its own kind.
//     prelude               Slang text at the head of the kernel
//     constants             numbers for the module's `extern static const`, compiled in
//     conformances          "Circle : IShape": the types that may stand behind interfaces at run time
//     thread_group_size     threads of a group, for code with groupshared memory (compute shaders have their
//                           own); each element of a call has a thread of its own then. With a y or z, groups
//                           are tiles of the call's last dimensions
//     call_group_shape      tiles of the call's shape whose elements run next to each other
//     thread_count          sizes that join the call's shape, when no argument has any. Calls only, as
//                           call_group_shape
//     globals               values of the module's shader parameters, by name or path, see 21
//     write_globals         a hook that sets further ones at each call, by spy_set_global
//     append_to             a command list that gets the call instead of the device
//
// >>guide 21: buffers and shader parameters
//
// A parameter of type StructuredBuffer<T>, RWStructuredBuffer<T>, ByteAddressBuffer, RWByteAddressBuffer,
// Buffer<T> or RWBuffer<T> takes a tensor as a whole: a contiguous one of at least one element, of T, of its
// scalars in trailing dimensions, or of "void", whose bytes are then Ts. A view must begin at a multiple of the device's alignment (the error says
// which). ConstantBuffer<T> and ParameterBlock<T> take a T, as bytes or field by field, tensors for the buffers in
// it. Element-wise arguments may stand beside all of these.
//
// Buffer<T> and RWBuffer<T> are for T of 8, 16 or 32 bits, one, two or four of them (three where the device can),
// and their tensors hold T itself: a [format] that says otherwise is refused, and so are atomic operations but on
// int and uint. Every device has float, int, uint and their vectors of two and four to read and write; an error
// names a format that it lacks. A device without StorageImageReadWithoutFormat takes RWBuffers of float vectors of
// one length in a kernel, or [format("rgba32f")] and the like on each.
//
// An array of buffers, StructuredBuffer<float> b[3], takes a struct of tensors:
//
//     spy_arg_struct("b", SPY_ARGS(spy_arg_tensor(NULL, x), spy_arg_tensor(NULL, y), spy_arg_tensor(NULL, z)))
//
// Its elements are chosen by a number that is the same for all threads of a group; else Slang wants
// b[NonUniformResourceIndex(k)], and the device a feature. Each element is one of the bindings that a kernel may have. Arrays of arrays
// and of structs with buffers in them are refused.
//
// An array without a size, StructuredBuffer<float> b[], of byte-address buffers and ConstantBuffer<T> too, takes a struct of
// as many tensors as there are to be elements, from none to 4096; a ConstantBuffer<T> is a tensor of T, whose first element it
// sees. It is CUDA's alone, as a global, a member of a ConstantBuffer or ParameterBlock, and a parameter of a function or
// shader; elsewhere it is refused. A global T values[] of plain data takes a tensor. Another number of elements is another
// kind of call, but runs the same kernel. The number itself is not known in Slang: give it beside. Indices are not checked.
//
// Global shader parameters of a module, and of those that it imports or links, are given with the call:
//
//     uniform float gain;                                    struct Light { float3 color; float power; }
//     ParameterBlock<Scene> scene;                           struct Scene { Light light; StructuredBuffer<float> table; }
//
//     spy_call_options o = { .globals = SPY_ARGS(spy_arg_f32("gain", 2), spy_arg_tensor("scene.table", table),
//                                                spy_arg_data("scene.light", &light, sizeof light)) };
//     spy_call_with(function, args, &o);
//
// Names are paths: fields by ".name", elements by "[2]", of arrays of buffers too. A struct may be given whole (spy_arg_data), by its fields
// (spy_arg_struct, all of them), or in parts by several paths; of two values for one place the last one counts.
// Numbers and host arrays are converted and checked as arguments are. Tensors feed buffers, pointers and the
// library's tensor types; data in uniform buffers comes from host memory. A name that the modules do not have, or
// a value of another type, is an error before anything is compiled. What a kernel uses must be given, and an
// error lists what is not, once its code is there and tells; what it does not use is ignored, of a uniform
// buffer's members too. spy_explain_call lists all globals, given and not. A write_globals hook adds values at
// each call. Values change from call to call without a new kernel; other kinds or names of values are another
// kind of call. Cost: a copy of the uniform buffers' bytes, and one more binding each.
//
// Not yet: textures, samplers, and push constants of the module's own: a kernel that
// uses one is refused by its name. [[vk::binding]] numbers are the module's
// own business: each kernel's bindings are numbered anew. Buffers may be the same memory as each other and as
// element-wise arguments: nothing checks what threads then do to each other.
//
// >>guide 22: CUDA
//
// spy_cuda_backend() drives NVIDIA's GPUs through CUDA. It needs the driver alone to make a device, and NVRTC, CUDA's
// compiler as a library, to compile kernels: no toolkit, no headers. NVRTC is looked for, in this order: at
// spy_cuda_desc.nvrtc_library, or SLANGPY_NVRTC_LIBRARY; beside the program; by the system's loader; in a toolkit
// (CUDA_PATH, CUDA_HOME, /usr/local/cuda); where pip puts nvidia-cuda-nvrtc. The error names every place. An NVRTC of
// a later major version than the driver's makes code that the driver refuses.
//
// Memory lies as CUDA has it: bool is a byte, float2 is aligned to 8 bytes and float4 to 16, half3 takes 8. Views that
// do not fit a vector's alignment are read component by component. Arguments go with the launch, up to 4,096 bytes, or
// 32,764 with drivers of CUDA 12.1 and later; more than that through memory. Structured buffers are an address and a
// count, ConstantBuffer and ParameterBlock addresses; globals cost a copy to constant memory at each launch.
// spy_dispatch_indirect waits for the GPU: CUDA has no such launch. WaveGetLaneIndex counts by threadIdx.x.
//
// A command list that is submitted a second time becomes a CUDA graph, unless it holds an indirect dispatch or is a
// single piece of work: each submission is then one launch, and calls that share no memory may run side by side.
// spy_list_set tells the graph its new numbers, at about the cost of a call.
//
// Kernels are compiled with a prelude of the library's own. What it does not know is compiled with Slang's, which takes
// about 0.1 s longer, and CUDA's headers for half; the log says so. A ConstantBuffer<float4> is refused, since libslang
// crashes over its components: put the vector into a struct. Buffer<T> and RWBuffer<T> are refused: Slang has no code for
// them there (stores to a global RWBuffer it drops without a word). options.float_mode and debug_info of modules are NVRTC's
// -use_fast_math, -fmad=false, -lineinfo and -G.
//
// Work goes to one stream in order, the device's own or spy_cuda_desc.stream. Launches reach the GPU at once: spy_flush
// only gives the work so far a number. spy_cuda_wait_stream and spy_cuda_signal_stream order it with the streams of other
// libraries, while the host goes on. A kernel that comes back is launched as a CUDA graph of one node, which takes half of
// a launch's time; profilers list it as a graph then, and by its name with spy_cuda_desc.direct_launches. A kernel that
// faults loses the device, and with it CUDA for the rest of the process, in whatever context: that is the driver's rule. A
// process that is started anew has it again.
//
// >>guide 23: gradients
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
// It reads the gradients of the outputs ("_result", out parameters), and adds, never writes over, those of the
// inputs: spy_tensor_zero_grad() before a new sum. Nothing else changes. An input without a gradient is a
// constant, and so is what the function calls no_diff; an output without one is of no account, but for "_result",
// which needs one. What all elements share, or a row or a column of them, gets the sum of what they say.
//
// Gradients are tensors beside their tensor, of its shape. with_grad makes one, zeroed, that is read and added to;
// grad_in (read) and grad_out (added to) give two, which an inout parameter needs: it must hold the value that
// went in. The element type is Slang's T.Differential: the type itself for floats, vectors, matrices and arrays,
// a struct such as "Light.Differential" for a struct that is declared `: IDifferentiable`. Views see the gradients
// of what they are views of; spy_create_detached gives a view without any, spy_create_attached one with others.
//
// spy_arg_diff_pair gives a value and its gradient one by one, any kinds of arguments: numbers, host arrays,
// tensors; also in the fields of a struct, next to fields without:
//
//     spy_arg_diff_pair("x", SPY_ARGS(spy_arg_f32(NULL, 3), spy_inout_f32(NULL, &dx)))
//     spy_arg_diff_pair("_result", SPY_ARGS(spy_arg_f32(NULL, 0), spy_arg_f32(NULL, 1))) // 1 for every result
//
// spy_call_forward_diff goes the other way: it reads the gradients of the inputs, as a direction, and writes the
// outputs and their gradients, how fast they change in that direction.
//
// Functions that index by themselves take tensors with gradients whole, by `import slangpy_diff;`:
//     DiffTensor<T, D>      t[i], load(i): backward adds to the gradient there, atomically; load_once(int[D])
//                           adds plainly, for elements that no other thread loads; load_uniform(int[D]) adds the sum
//                           of a wave, whose threads have the index in common          or IDiffTensor<T, D>
//     WDiffTensor<T, D>     t[i] = v, store(i, v): backward reads the gradient there   or IWDiffTensor<T, D>
//     RWDiffTensor<T, D>    both, with grad_in and grad_out                            or IRWDiffTensor<T, D>
// A tensor without gradients feeds them too, in any call. Indices are up to four ints, an int[D] or a vector.
//
// Sums are made in float (double for doubles), also of halves: by threads, then by groups in shared memory, then
// by float atomics, or a second dispatch where the device or the type has none. Their order, and so their last
// bits, differ from run to run; spy_call_options.deterministic fixes it. spy_call_options.mode makes backward
// calls with further options, in command lists too; spy_explain_call shows the kernel.
//
// Loops: Slang 2026.12 and 2026.14.1 mix up what they save of nested loops of different length for the derivative
// (shader-slang/slang#13000). The library puts their code right before the driver gets it. Where it cannot, the log has a
// warning that names the kernel: move the inner loop into a [Differentiable] function of its own, or give the loops the same
// [MaxIters(n)]. Other derivatives of loops stop Slang with an internal error, which the call reports: those of a loop that
// begins at a number known at run time only (for (int i = start; ...)), and some with `while`.
// Derivatives of elements that are read at indices known at run time only (a[i] * a[j]; of local arrays, vectors, matrices):
// where two indices are equal, Slang 2026.12 and 2026.14.1 lose all but one of the gradients, with and without loops. The
// library puts this code right, too. Where it cannot, the log has a warning that names the kernel: write a loop over all
// elements that picks one (for (int k = 0; k < 3; k++) r += k == i ? a[k] : 0), with [ForceUnroll].
//
// no_diff in front of a call has no effect in Slang where the function has a derivative: no_diff(f(x)) * x is differentiated
// through f. detach(f(x)) is a constant.
//
// >>guide 24: frames of an engine
//
// An engine that records its own command buffers has the library's work recorded into them:
//
//     f->id = spy_vk_begin_recording(dev, f->commands);  // begun by the engine, outside a render pass
//     spy_tensor_write(x, data, size);                   // uploads and calls go into f->commands
//     spy_call_prepared(ready, args);
//     spy_vk_end_recording(dev);                         // the engine records on, ends and submits it
//     ...
//     vkWaitForFences(device, 1, &f->fence, ...);        // when the slot comes round again, one or two frames later
//     spy_vk_recording_finished(dev, f->id);             // its memory is free, its results can be read
//
// The GPU works at a recording later, so what it uses is kept until the engine has reported its id: uploaded data and
// parameters, temporaries, tensors that were released meanwhile, kernels. Each recording keeps its own, so that two or three
// frames can be in flight: report an id when the fence of its submission has been signalled, ids in their order, each once. A
// command buffer that was thrown away instead of submitted is reported too. What is not reported stays in use;
// spy_get_device_stats() counts the recordings that are not (.recordings) and the memory that waits for them
// (.recording_bytes); the log warns at 64. A frame that uploads what the last ones did takes no new memory from the driver.
//
// Command buffers go to the device's queue in the order of their recordings. Barriers between our calls are ours, also from
// one recording to the next; those between our calls and the engine's own commands are the engine's, for results that the
// engine reads SHADER_WRITE to whatever it does.
//
// Calls inside a recording cannot have results in host memory: give them a tensor, and read it when the id was
// reported; until then spy_tensor_read says SPY_ERROR_NOT_READY, and so does spy_wait. Calls outside recordings are the
// library's own submissions as ever, also while frames are in flight, and can be read at once. One that depends on a
// recording comes after the engine has submitted it. examples/04_engine_vulkan has two frames in flight.
//
// >>guide 25: finding indices that are out of range
//
// With .check_bounds = true in the spy_device_desc, tensors that a function takes whole (guide 18 and 23) look at each index
// in the kernel: one outside the shape gives 0 where it reads, and writes or adds nothing. The first one is an error of the
// next wait, read or call with a result, SPY_ERROR_OUT_OF_RANGE; what was read is there all the same. It may be of an earlier
// call, of a dispatch, a shader of the module's own or a command list:
//
//     spy_tensor_read: blur: 'image': the kernel reads at index (480, 12), its shape is (480, 640): expected 0 to 479 in
//     dimension 0, got 480; at element (479, 12) of the call; it got 0
//
// One is told at a time: threads run in no order, so "first" is the one that came first to a place where all look. Tensors
// that Slang code makes of a pointer are checked, too, without a name. StructuredBuffer and the other buffers, TensorView and
// plain pointers are not. Without the option nothing is checked, and kernels have no trace of it: it is for debugging,
// where a wrong index would otherwise change other memory or crash. Each wait looks at a few words in the GPU's memory.

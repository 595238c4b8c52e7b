// Printing from Slang: `import print;` gives print("x = {}, v = {:.3f}", x, v), delivered to the device's log.
#ifndef SPY_API_PRINT_H
#define SPY_API_PRINT_H

#include "api/device.h"

#ifdef __cplusplus
extern "C" {
#endif

// In Slang, after `import print;`, wherever spy_call and its like run the code:
//
//     print("x = {}, v = {:.3f}, n = {2:#x}", x, v, n);
//
// The format is a string literal: {} is the next value, {2} value 2 from 0, {:.3f} has a format as Python's str.format
// (fill, <>^=, sign, #, 0, width, .precision, and a type of b d o x X e E f F g G % s), {{ and }} are braces. Values are
// bools, all integer and float types, vectors and matrices of them, and string literals. Vectors print as {x, y, z},
// matrices as {{a, b}, {c, d}}, each component by the format; bools as true and false; floats without a format with as
// many digits as tell them apart, 6 at least. What a format does not fit says so in its place: {:x needs an integer}.
//
// Needs spy_device_desc.enable_print. Without it print is empty code, and modules that print work as ever. Each print is one
// message to desc.log.func at SPY_LOG_LEVEL_INFO, whatever desc.log.level is. Messages are delivered in the order in which threads
// reserved their place in the buffer; threads of one call come in any order. That happens whenever the host has waited for
// them: in spy_wait, spy_wait_for_submit, spy_trim, spy_tensor_read and _read_range, spy_time_call, calls with results to host memory,
// spy_flush_print and spy_release_device. A device without a log function keeps them for spy_read_print.
//
// A message takes 8 bytes, and per value 4 bytes and its scalars (4 or 8 bytes each); print_buffer_bytes holds what is
// printed between two deliveries. What does not fit is lost, and a warning tells how many messages that were.
//
// Cost: two atomic operations a message at most, and kernels of modules that import print get the buffer's address.
// Delivery copies what was printed, and formats it on the CPU: about 1 us a message. Calls that print do not wait for each
// other. Kernels in an engine's command buffer print too; that is delivered once the engine says that it has been executed.

// SlangPy's flush_print and flush_print_to_string.

// Wait for all work that prints, and deliver its messages to desc.log.func. Without enable_print it does nothing.
// SPY_ERROR_UNSUPPORTED while calls are recorded into an engine's command buffer. Threads: any.
SPY_API spy_status spy_flush_print(spy_device *device);

// Wait likewise, and write the messages that have not been delivered into `text`, each followed by a newline, with a NUL at the
// end. Gives the bytes that they have without the NUL. When `capacity` is not more than that, or text is NULL, nothing is
// written but an empty string, and the messages stay. 0 with an error on the device when they cannot be read.
// Threads: any.
SPY_API size_t spy_read_print(spy_device *device, char *text, size_t capacity);

#ifdef __cplusplus
}
#endif

#endif // SPY_API_PRINT_H

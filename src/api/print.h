// Printing from Slang: after `import print;`, print("x = {}, v = {:.3f}", x, v) sends a message to the
// device's log.
#ifndef SPY_API_PRINT_H
#define SPY_API_PRINT_H

#include "api/device.h"

#ifdef __cplusplus
extern "C" {
#endif

// In Slang code that spy_call and similar functions run, after `import print;`:
//
//     print("x = {}, v = {:.3f}, n = {2:#x}", x, v, n);
//
// The format is a string literal: {} is the next value, {2} is value 2 (from 0), {:.3f} has a format as in
// Python's str.format (fill, <>^=, sign, #, 0, width, .precision, and a type of b d o x X e E f F g G % s),
// {{ and }} are braces. Values are bools, all integer and float types, vectors and matrices of these types,
// and string literals. Vectors print as {x, y, z}, matrices as {{a, b}, {c, d}}, each component by the
// format; bools print as true and false. Floats without a format get as many digits as are needed to tell
// them apart, at least 6. A value that its format does not fit is replaced by a message: {:x needs an
// integer}.
//
// Printing needs spy_device_desc.enable_print; without it print() does nothing. Each print is one message to
// desc.log.func at SPY_LOG_LEVEL_INFO, whatever desc.log.level is. Messages are delivered in the order in
// which GPU threads reserved space for them in the buffer; threads of one call come in any order. Messages
// are delivered when the host has waited for the work that prints them: in spy_wait, spy_wait_for_submit,
// spy_trim, spy_tensor_read and _read_range, spy_time_call, calls with results in host memory,
// spy_flush_print and spy_release_device. A device without a log function keeps them for spy_read_print.
//
// A message takes 8 bytes of the buffer, and for each value 4 bytes and its scalars (4 or 8 bytes each). The
// buffer has spy_device_desc.print_buffer_bytes bytes for the messages between two deliveries. Messages that
// do not fit are lost, and a warning tells their number.
//
// Cost: at most two atomic operations for a message; kernels of modules that import print also get the
// buffer's address. Delivery copies the messages and formats them on the CPU, in about 1 us for each. Calls
// that print do not wait for each other. Kernels in an engine's command buffer print too; their messages are
// delivered after spy_vk_recording_finished().

// SlangPy has spy_flush_print() as flush_print and spy_read_print() as flush_print_to_string.

// Waits for all work that prints and delivers its messages to desc.log.func. Does nothing without
// enable_print. SPY_ERROR_UNSUPPORTED while calls are recorded into an engine's command buffer. Threads: any.
SPY_API spy_status spy_flush_print(spy_device *device);

// Waits for all work that prints and writes the messages that have not been delivered into `text` (`capacity`
// bytes), each followed by a newline, with a NUL at the end. Returns the length of that text in bytes,
// without the NUL. When `capacity` is not larger than this length, or `text` is NULL, the messages are kept,
// and `text`, if any, becomes an empty string. Returns 0, with an error on the device, when the messages
// cannot be read.
// Threads: any.
SPY_API size_t spy_read_print(spy_device *device, char *text, size_t capacity);

#ifdef __cplusplus
}
#endif

#endif // SPY_API_PRINT_H

// The output of Slang's print(): the device's buffer of records, and the text of records.
#ifndef SPYI_GPU_PRINT_H
#define SPYI_GPU_PRINT_H

#include "data/device.h"
#include "data/literals.h"

// The number of words before the records. They are the count of reserved words, the count of lost messages,
// the capacity in words, and an unused word (src/slang/slangpy_print.slang).
#define SPYI_PRINT_HEADER_WORDS 4
// The type number of a string in a record; other types have spy_dtype's numbers.
#define SPYI_PRINT_STRING 13

// >>print_format.c
// Appends the text of a record of `count` words, which begins with its size and its format's hash.
SPYI_FN void spyi_print_format(const uint32_t *record, uint32_t count, const spyi_literals *literals,
                               spyi_text *out);

// >>gpu_print.c: without a printer these functions do nothing, except create; use must not be called then
SPYI_FN spy_status spyi_print_create(spy_device *device, size_t buffer_bytes, spyi_text *error);
SPYI_FN void spyi_print_destroy(spy_device *device);
// Adds a kernel's string literals. Threads: any.
SPYI_FN void spyi_print_learn(spy_device *device, const spyi_literals *literals);
SPYI_FN uint64_t spyi_print_address(const spy_device *device);
// Returns a printing kernel's use of the buffer. It is a read, so that such kernels may run side by side:
// atomics reserve their records.
SPYI_FN spyi_use spyi_print_use(const spy_device *device);
// spyi_print_flush() waits for all kernels that print, and hands their messages to the log, if there is one.
// spyi_print_deliver() does so only if these kernels have finished already.
SPYI_FN spy_status spyi_print_flush(spy_device *device, const char *function);
SPYI_FN void spyi_print_deliver(spy_device *device);

#endif // SPYI_GPU_PRINT_H

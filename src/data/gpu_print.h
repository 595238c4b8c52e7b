// What Slang's print() wrote: the device's buffer, and its records as text.
#ifndef SPYI_GPU_PRINT_H
#define SPYI_GPU_PRINT_H

#include "data/device.h"
#include "data/literals.h"

// Words before the records: reserved words, lost messages, capacity in words, nothing (src/slang/slangpy_print.slang).
#define SPYI_PRINT_HEADER_WORDS 4
// A string's tag, beside spy_dtype's numbers.
#define SPYI_PRINT_STRING 13

// >>print_format.c
// The text of a record of `count` words, its own first word and the format's hash among them.
SPYI_FN void spyi_print_format(const uint32_t *record, uint32_t count, const spyi_literals *literals,
                               spyi_text *out);

// >>gpu_print.c; all but create and learn do nothing without a printer
SPYI_FN spy_status spyi_print_create(spy_device *device, size_t buffer_bytes, spyi_text *error);
SPYI_FN void spyi_print_destroy(spy_device *device);
// Literals of a kernel, from any thread.
SPYI_FN void spyi_print_learn(spy_device *device, const spyi_literals *literals);
SPYI_FN uint64_t spyi_print_address(const spy_device *device);
// What a kernel that prints does with the buffer. Such kernels go side by side: records are reserved by atomics.
SPYI_FN spyi_use spyi_print_use(const spy_device *device);
// Messages of all work to the log, if there is one, after waiting; and of finished work, without waiting for more.
SPYI_FN spy_status spyi_print_flush(spy_device *device, const char *function);
SPYI_FN void spyi_print_deliver(spy_device *device);

#endif // SPYI_GPU_PRINT_H

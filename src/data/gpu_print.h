// Output of Slang's print(): the device's buffer, into which kernels write records, and the text of these
// records.
#ifndef SPYI_GPU_PRINT_H
#define SPYI_GPU_PRINT_H

#include "data/device.h"
#include "data/literals.h"

// Words before the records: the number of reserved words, the number of lost messages, the capacity in words,
// and an unused one (src/slang/slangpy_print.slang).
#define SPYI_PRINT_HEADER_WORDS 4
// The type number of a string in a record; the numbers of other types are those of spy_dtype.
#define SPYI_PRINT_STRING 13

// >>print_format.c
// Appends the text of a record of `count` words. Its first word is its size, the second the hash of its
// format.
SPYI_FN void spyi_print_format(const uint32_t *record, uint32_t count, const spyi_literals *literals,
                               spyi_text *out);

// >>gpu_print.c: without a printer (desc.enable_print is off) these functions do nothing, and
// spyi_print_use() must not be called
SPYI_FN spy_status spyi_print_create(spy_device *device, size_t buffer_bytes, spyi_text *error);
SPYI_FN void spyi_print_destroy(spy_device *device);
// Adds the string literals of a kernel, which its records name by their hashes. Threads: any.
SPYI_FN void spyi_print_learn(spy_device *device, const spyi_literals *literals);
SPYI_FN uint64_t spyi_print_address(const spy_device *device);
// Returns the use that a printing kernel makes of the buffer. It counts as a read, so that such kernels may
// run side by side: atomics reserve their records.
SPYI_FN spyi_use spyi_print_use(const spy_device *device);
// spyi_print_flush() waits for all kernels that print and hands their messages to the log, if there is one.
// spyi_print_deliver() does so only if these kernels have finished, so that it never waits.
SPYI_FN spy_status spyi_print_flush(spy_device *device, const char *function);
SPYI_FN void spyi_print_deliver(spy_device *device);

#endif // SPYI_GPU_PRINT_H

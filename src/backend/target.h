// Targets: what kernels are compiled to. What one target does otherwise than another is a column of one table, and what must read
// or mend a target's own code is in compiler/target_*.c, behind a table of its own (compiler/target.h).
#ifndef SPYI_BACKEND_TARGET_H
#define SPYI_BACKEND_TARGET_H

#include "backend/backend.h"

typedef struct spyi_rules {
    // The code that Slang makes.
    const char *suffix; // of files that it is written to
    bool is_text;       // begins with the compiler's own prelude and ends with a NUL
    // Types in memory.
    const char *boolean; // what bare bools are
    uint8_t bool_size;   // ... and their bytes
    bool
        aligns_vectors; // of two and of four lie on their whole size (16 at most); halves of three and four are two pairs
    bool
        pads_structs; // structs and elements of arrays fill whole multiples of their alignment, also the last one, and inside others
    // What kernels load and store.
    bool
        block_is_global; // the block is a constant of the program (push constants); else an argument of the entry point
    bool splits_vectors; // vectors of 3 and 4 64-bit scalars go scalar by scalar
    bool packs_words;    // small scalars of wide variants go 16 bytes at a time, as uint4
    uint8_t
        wide_scalar; // bytes; larger scalars in a row go one by one, unrolled, rather than four to a thread
    // Parameters.
    bool
        by_address; // no bindings: buffers are addresses and counts, uniform buffers addresses, in what is around them
    bool typed_buffers;  // Buffer<T>
    bool unsized_arrays; // T[]
    bool tensor_views;   // TensorView<T>, and [CudaKernel] functions, which have them
    bool entry_arrays;   // an entry point takes arrays of buffers as its own parameters
} spyi_rules;

SPYI_FN const spyi_rules *spyi_rules_of(spyi_target target);

// >>for backends

// What a device's profile has of what the user sees.
SPYI_FN void spyi_profile_of_info(spyi_profile *profile, const spy_device_info *info);
// spyi_backend.compile where drivers take the code as it is.
SPYI_FN spy_status spyi_compile_as_is(spyi_context *ctx, const char *compiler, const spyi_profile *profile,
                                      const spyi_kernel_desc *desc, spyi_text *blob, spyi_text *error);

#endif // SPYI_BACKEND_TARGET_H

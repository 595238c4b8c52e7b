// Targets: the languages of compiled kernels. The differences between targets are members of spyi_rules, one
// row for each target. Code that reads or repairs a target's own code is in compiler/target_*.c
// (compiler/target.h).
#ifndef SPYI_BACKEND_TARGET_H
#define SPYI_BACKEND_TARGET_H

#include "backend/backend.h"

typedef struct spyi_rules {
    // Properties of the code that Slang makes.
    const char *suffix; // the suffix of files with the code
    bool is_text;       // the code begins with the compiler's own prelude and ends with a NUL
    // Properties of types in memory.
    const char *boolean; // the type of a plain bool in memory
    uint8_t bool_size;   // the bytes of a bool in memory
    // Vectors of two and four are aligned to their whole size, at most 16 bytes; half3 and half4 are laid
    // out as two pairs.
    bool aligns_vectors;
    // Structs and array elements are padded to a multiple of their alignment, also the last element of an
    // array and a struct inside another.
    bool pads_structs;
    // Properties of a kernel's loads and stores. block_is_global: the parameter block is a constant of the
    // program (push constants); otherwise it is an argument of the entry point.
    bool block_is_global;
    bool splits_vectors; // vectors of 3 and 4 64-bit scalars are loaded scalar by scalar
    bool packs_words;    // wide variants move small scalars 16 bytes at a time, as uint4
    // The most bytes of a scalar in wide variants. Larger scalars are loaded one by one, unrolled, instead of
    // four neighbours in a thread.
    uint8_t wide_scalar;
    // Properties of parameters. by_address: there are no bindings; a buffer is an address and a count, a
    // uniform buffer is an address, inside the block or buffer that holds it.
    bool by_address;
    bool typed_buffers;  // the target has Buffer<T>
    bool textures;       // the library passes textures and samplers
    bool unsized_arrays; // the target has T[]
    bool tensor_views;   // the target has TensorView<T> and [CudaKernel] functions
    bool entry_arrays;   // an entry point takes arrays of buffers as its own parameters
} spyi_rules;

SPYI_FN const spyi_rules *spyi_rules_of(spyi_target target);

// >>repairs of Slang's code, which the compiler makes for SPIR-V, and spyi_backend.mend for CUDA

// Names in Slang's code, the same for both targets. A backward derivative's name begins with s_bwdProp_. A
// struct with s_bwdCallableCtx_ in its name holds values that do not depend on gradients. A function with
// dzero in its name makes a zero.
#define SPYI_ADDITION_BACKWARD "s_bwdProp_"
#define SPYI_ADDITION_CONTEXT "s_bwdCallableCtx_"
#define SPYI_ADDITION_ZERO "dzero"

enum { SPYI_MOST_INDICES = 24 }; // the largest number of indices of a value that is saved in nested loops

// >>for backends

// Fills the members of a profile that equal those of the user's device info.
SPYI_FN void spyi_profile_of_info(spyi_profile *profile, const spy_device_info *info);
// spyi_backend.compile for drivers that take Slang's code without a further compiler.
SPYI_FN spy_status spyi_compile_as_is(spyi_context *ctx, const char *compiler, const spyi_profile *profile,
                                      const spyi_kernel_desc *desc, spyi_text *blob, spyi_text *error);

#endif // SPYI_BACKEND_TARGET_H

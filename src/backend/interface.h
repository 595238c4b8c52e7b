// The interface of a program: what it is given, as data. Descriptor sets and CUDA's parameters are made from it.
#ifndef SPYI_INTERFACE_H
#define SPYI_INTERFACE_H

#include "base/base.h"

// What a parameter is. Buffers and what comes after them in this list take bindings; uniform buffers have numbers behind
// these.
typedef enum spyi_parameter_kind {
    SPYI_PARAMETER_VALUES,   // bytes of the parameter block: one parameter of a CUDA kernel
    SPYI_PARAMETER_UNIFORM,  // a uniform buffer
    SPYI_PARAMETER_BUFFER,   // a structured buffer
    SPYI_PARAMETER_TEXELS,   // Buffer<T>
    SPYI_PARAMETER_RW_TEXELS // RWBuffer<T>
} spyi_parameter_kind;

enum { SPYI_STAGE_COMPUTE = 1 };

// SPYI_TARGET_CUDA, which has no bindings: where a kernel has the address of a uniform buffer, or its values.
typedef struct spyi_parameter_place {
    uint32_t holder; // an earlier uniform buffer's number among these, or one of the next two
    uint32_t offset; // bytes
} spyi_parameter_place;

#define SPYI_HOLDER_BLOCK UINT32_MAX       // in the parameter block
#define SPYI_HOLDER_NONE (UINT32_MAX - 1u) // it has no address: it is the program's global parameters

// Plain bytes without padding, so that equal ones have equal bytes.
typedef struct spyi_parameter {
    uint8_t kind;            // spyi_parameter_kind
    uint8_t stages;          // SPYI_STAGE_*: who uses it
    uint8_t scalar, columns; // of a texel: spy_dtype, 1 to 4
    uint16_t space;          // descriptor set
    uint16_t count;          // elements, each with a binding of its own; 1: no array
    uint32_t number;         // of its first binding in the space
    spyi_parameter_place place;
} spyi_parameter;

#define SPYI_MOST_PARAMETERS 64 // that take bindings

typedef struct spyi_interface {
    const spyi_parameter
        *parameters; // those with bindings by their numbers, from 0 without gaps; uniform buffers behind
    uint32_t parameter_count;
    uint32_t group[3];   // threads of a group in x, y, z; already fixed in SPIR-V
    uint32_t block_size; // bytes of the parameter block; 0: none
    bool
        block_by_address; // the block exceeds profile.max_block_bytes: the kernel takes its address (8 bytes) instead
    uint32_t shared_bytes; // SPYI_TARGET_CUDA: of dynamic shared memory, at most 48 KiB
} spyi_interface;

// What all backends' kernels begin with: how much of what a dispatch points to is the kernel's.
typedef struct spyi_kernel_base {
    uint32_t block_size;    // bytes
    uint32_t binding_count; // of all parameters together
    uint32_t uniform_count;
    uint32_t value_count; // parameters of kind SPYI_PARAMETER_VALUES
} spyi_kernel_base;

SPYI_FN spyi_kernel_base spyi_interface_counts(const spyi_interface *iface);
SPYI_FN uint32_t spyi_interface_threads(const spyi_interface *iface); // of a group
// The parameter that takes a binding number; NULL: none.
SPYI_FN const spyi_parameter *spyi_interface_find(const spyi_interface *iface, uint32_t number);
static inline bool spyi_takes_bindings(const spyi_parameter *parameter) {
    return parameter->kind >= SPYI_PARAMETER_BUFFER;
}

#endif // SPYI_INTERFACE_H

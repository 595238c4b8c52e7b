// The interface of a kernel: a list of its parameters. Descriptor sets and CUDA's kernel parameters are made
// from it.
#ifndef SPYI_INTERFACE_H
#define SPYI_INTERFACE_H

#include "base/base.h"

// The kinds of parameters. SPYI_PARAMETER_BUFFER to SPYI_PARAMETER_COMBINED take bindings; the numbers of uniform buffers
// follow those of all bindings.
typedef enum spyi_parameter_kind {
    SPYI_PARAMETER_VALUES,     // the bytes of the parameter block, which are one parameter of a CUDA kernel
    SPYI_PARAMETER_UNIFORM,    // a uniform buffer
    SPYI_PARAMETER_BUFFER,     // a structured buffer
    SPYI_PARAMETER_TEXELS,     // Buffer<T>, a typed buffer
    SPYI_PARAMETER_RW_TEXELS,  // RWBuffer<T>, a typed buffer
    SPYI_PARAMETER_TEXTURE,    // Texture2D<T>
    SPYI_PARAMETER_RW_TEXTURE, // RWTexture2D<T>
    SPYI_PARAMETER_SAMPLER,    // SamplerState
    SPYI_PARAMETER_COMBINED,   // Sampler2D<T>, a texture with its sampler
    // The device's table of handles (image.h), in which the kernel finds textures, samplers and buffers by numbers.
    // It takes no binding and has neither a number nor elements; dispatches give nothing for it.
    SPYI_PARAMETER_HANDLES,
    SPYI_PARAMETER_KINDS
} spyi_parameter_kind;

// SPYI_TARGET_SPIRV: the bindings of SPYI_PARAMETER_HANDLES, each an array of descriptors, in a descriptor set of their
// own.
typedef enum spyi_handle_kind {
    SPYI_HANDLE_SAMPLER,
    SPYI_HANDLE_COMBINED,
    SPYI_HANDLE_TEXTURE,
    SPYI_HANDLE_RW_TEXTURE,
    SPYI_HANDLE_BUFFER, // structured and byte-address buffers, read-only or not
    SPYI_HANDLE_KINDS
} spyi_handle_kind;
#define SPYI_HANDLE_SET 1

enum { SPYI_STAGE_COMPUTE = 1, SPYI_STAGE_VERTEX = 2, SPYI_STAGE_FRAGMENT = 4 };

// SPYI_TARGET_CUDA, which has no bindings: the place in which a kernel expects the address of a uniform
// buffer, or values of the block.
typedef struct spyi_parameter_place {
    // The number of an earlier uniform buffer, or SPYI_HOLDER_BLOCK or SPYI_HOLDER_NONE.
    uint32_t holder;
    uint32_t offset; // the bytes from the holder's start
} spyi_parameter_place;

#define SPYI_HOLDER_BLOCK UINT32_MAX // the holder is the parameter block
// The buffer has no address, because it is the program's global parameters.
#define SPYI_HOLDER_NONE (UINT32_MAX - 1u)

// One parameter of a kernel. Plain bytes without padding, so that equal parameters have equal bytes.
typedef struct spyi_parameter {
    uint8_t kind;            // a spyi_parameter_kind
    uint8_t stages;          // bits SPYI_STAGE_* of the stages that use the parameter
    uint8_t scalar, columns; // a texel's spy_dtype, and its 1 to 4 columns
    uint16_t space;          // descriptor set
    uint16_t count;  // the number of elements, each with its own binding; 1 if the parameter is not an array
    uint32_t number; // in the space, the number of the first binding, or of the uniform buffer
    spyi_parameter_place place;
} spyi_parameter;

#define SPYI_MOST_PARAMETERS 64 // the most parameters that take bindings

typedef struct spyi_interface {
    // Parameters with bindings in the order of their numbers, which have no gaps from 0 on; then uniform
    // buffers.
    const spyi_parameter *parameters;
    uint32_t parameter_count;
    uint32_t group[3];   // threads of a group in x, y, z; SPIR-V code also fixes them
    uint32_t block_size; // the bytes of the parameter block; 0 if there is none
    // The block exceeds profile.max_block_bytes, so the kernel takes its address (8 bytes) instead.
    bool block_by_address;
    uint32_t shared_bytes; // dynamic shared memory of a group, at most info.max_shared_bytes
} spyi_interface;

// The first member of every backend's kernel: the sizes of the arrays that a dispatch points to.
typedef struct spyi_kernel_base {
    uint32_t block_size;    // the bytes of the parameter block
    uint32_t binding_count; // bindings of all parameters together
    uint32_t uniform_count;
    uint32_t value_count; // parameters of kind SPYI_PARAMETER_VALUES
    bool handles;         // the kernel uses the table of handles
} spyi_kernel_base;

SPYI_FN spyi_kernel_base spyi_interface_counts(const spyi_interface *iface);
SPYI_FN uint32_t spyi_interface_threads(const spyi_interface *iface); // returns the number of threads of a
                                                                      // group
SPYI_FN bool spyi_interface_has(const spyi_interface *iface, spyi_parameter_kind kind);
// Returns the parameter that takes a binding number; NULL when there is none.
SPYI_FN const spyi_parameter *spyi_interface_find(const spyi_interface *iface, uint32_t number);
static inline bool spyi_takes_bindings(const spyi_parameter *parameter) {
    return parameter->kind >= SPYI_PARAMETER_BUFFER && parameter->kind <= SPYI_PARAMETER_COMBINED;
}

#endif // SPYI_INTERFACE_H

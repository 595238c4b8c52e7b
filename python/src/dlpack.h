// DLPack: what is needed of its ABI, for arrays in (arrays.c) and tensors out (export.c). Source: dlpack.h of version 1.0.
#ifndef SPYP_DLPACK_H
#define SPYP_DLPACK_H

#include <stdint.h>

typedef struct spyp_dl_tensor {
    void *data;
    struct {
        int32_t type, id;
    } device;
    int32_t ndim;
    struct {
        uint8_t code, bits;
        uint16_t lanes;
    } dtype;
    int64_t *shape, *strides; // strides in elements, or NULL: row-major
    uint64_t byte_offset;
} spyp_dl_tensor;

typedef struct spyp_dl_legacy {
    spyp_dl_tensor tensor;
    void *context;
    void (*deleter)(struct spyp_dl_legacy *self);
} spyp_dl_legacy;

typedef struct spyp_dl_versioned {
    struct {
        uint32_t major, minor;
    } version;
    void *context;
    void (*deleter)(struct spyp_dl_versioned *self);
    uint64_t flags;
    spyp_dl_tensor tensor;
} spyp_dl_versioned;

enum {
    SPYP_DL_CPU = 1,
    SPYP_DL_CUDA = 2,
    SPYP_DL_CUDA_HOST = 3,
    SPYP_DL_ROCM_HOST = 11,
    SPYP_DL_CUDA_MANAGED = 13
};
enum { SPYP_DL_INT = 0, SPYP_DL_UINT = 1, SPYP_DL_FLOAT = 2, SPYP_DL_BFLOAT = 4, SPYP_DL_BOOL = 6 };
enum { SPYP_DL_READ_ONLY = 1, SPYP_DL_COPIED = 2 };

#define SPYP_DL_NAME "dltensor"
#define SPYP_DL_NAME_VERSIONED "dltensor_versioned"

#endif // SPYP_DLPACK_H

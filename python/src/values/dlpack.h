// The part of DLPack's ABI that this package needs to take arrays (arrays.c, foreign.c) and to give tensors
// (export.c). Source: dlpack.h of version 1.3.
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
    int64_t *shape, *strides; // strides are in elements; NULL means row-major
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

// The table in a type's __dlpack_c_exchange_api__, by which C asks the type's objects without making Python objects
// (DLPack 1.3). Its functions return 0, or -1 with an exception set.
typedef struct spyp_dl_exchange {
    struct {
        uint32_t major, minor;
    } version;
    struct spyp_dl_exchange *previous; // table of an earlier major version, or NULL
    int (*allocate)(spyp_dl_tensor *like, spyp_dl_versioned **out, void *context,
                    void (*set_error)(void *context, const char *kind, const char *message));
    int (*give)(void *object, spyp_dl_versioned **out); // exports the object to *out
    // Makes an array over `tensor`, which it takes over. *object is a new reference.
    int (*take)(spyp_dl_versioned *tensor, void **object);
    // Describes the object's memory without a new reference. This pointer may be NULL.
    int (*view)(void *object, spyp_dl_tensor *out);
    int (*work_stream)(int32_t device_type, int32_t device, void **stream); // gives the calling thread's stream
} spyp_dl_exchange;

enum {
    SPYP_DL_CPU = 1,
    SPYP_DL_CUDA = 2,
    SPYP_DL_CUDA_HOST = 3,
    SPYP_DL_ROCM_HOST = 11,
    SPYP_DL_CUDA_MANAGED = 13
};
enum { SPYP_DL_INT = 0, SPYP_DL_UINT = 1, SPYP_DL_FLOAT = 2, SPYP_DL_BFLOAT = 4, SPYP_DL_COMPLEX = 5, SPYP_DL_BOOL = 6 };
enum { SPYP_DL_READ_ONLY = 1, SPYP_DL_COPIED = 2 };

#define SPYP_DL_NAME "dltensor"
#define SPYP_DL_NAME_VERSIONED "dltensor_versioned"
#define SPYP_DL_NAME_HELD "dltensor_in_a_call"
#define SPYP_DL_NAME_EXCHANGE "dlpack_exchange_api"

#endif // SPYP_DLPACK_H

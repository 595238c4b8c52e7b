// The CUDA backend, not built yet: a table whose every way in says so.
#include "api/cuda.h"
#include "backend/backend.h"

static size_t spyi_cuda_enumerate(spy_device_info *infos, size_t capacity, spyi_text *error) {
    (void)infos;
    (void)capacity;
    spyi_text_add(error, "this backend is not built yet (CUDA); use spy_vk_backend()");
    return 0;
}

static spy_status spyi_cuda_create(spyi_context *ctx, const spy_device_desc *desc, spyi_gpu **gpu,
                                   spyi_text *error) {
    (void)ctx;
    (void)desc;
    *gpu = NULL;
    spyi_text_add(error, "this backend is not built yet (CUDA); use spy_vk_backend()");
    return SPY_ERROR_UNSUPPORTED;
}

// Without a device none of the other functions can be reached.
static const struct spyi_backend spyi_cuda_table = {
    "cuda",
    spyi_cuda_enumerate,
    spyi_cuda_create,
    NULL,
    NULL,
    NULL,
    NULL,
    NULL,
    NULL,
    NULL,
    NULL,
    NULL,
    NULL,
    NULL,
    NULL,
    NULL,
    NULL,
    NULL,
    NULL,
    NULL,
    NULL,
    NULL,
    NULL,
};

const spy_backend *spy_cuda_backend(void) {
    return &spyi_cuda_table;
}

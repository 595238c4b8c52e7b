// The D3D12 backend, which is not built yet: the functions that would make a device report that.
#include "api/d3d12.h"
#include "backend/backend.h"

static size_t spyi_d3d12_enumerate(spy_device_info *infos, size_t capacity, spyi_text *error) {
    (void)infos;
    (void)capacity;
    spyi_text_add(error, "this backend is not built yet (D3D12); use spy_vk_backend()");
    return 0;
}

static spy_status spyi_d3d12_create(spyi_context *ctx, const spy_device_desc *desc, spyi_gpu **gpu,
                                    spyi_text *error) {
    (void)ctx;
    (void)desc;
    *gpu = NULL;
    spyi_text_add(error, "this backend is not built yet (D3D12); use spy_vk_backend()");
    return SPY_ERROR_UNSUPPORTED;
}

// Without a device none of the other functions can be reached.
static const struct spyi_backend spyi_d3d12_table = {
    "d3d12",
    spyi_d3d12_enumerate,
    spyi_d3d12_create,
    NULL,
    NULL,
    NULL,
    NULL,
    NULL,
    NULL,
    NULL,
    NULL,
    { NULL },
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
    SPYI_TARGET_SPIRV, // unused, because this backend makes no device
};

const spy_backend *spy_d3d12_backend(void) {
    return &spyi_d3d12_table;
}

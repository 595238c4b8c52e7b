// Weak definitions of the texture functions of slangpy.h, for a header that only declares them: each says that the
// library has no textures. The library's own definitions replace them when they are linked. This file goes once
// src/ has all of them.
#include "state/state.h"

#include <string.h>

#if defined(__GNUC__)
#define SPYP_PENDING __attribute__((weak))

SPYP_PENDING spy_texture *spy_create_texture(spy_device *device, const spy_texture_desc *desc) {
    SPYP_UNUSED(device);
    SPYP_UNUSED(desc);
    PyGILState_STATE state = PyGILState_Ensure();
    PyErr_SetString(PyExc_NotImplementedError, "create_texture: the library has no textures in this build");
    PyGILState_Release(state);
    return NULL;
}
SPYP_PENDING spy_sampler *spy_create_sampler(spy_device *device, const spy_sampler_desc *desc) {
    SPYP_UNUSED(device);
    SPYP_UNUSED(desc);
    PyGILState_STATE state = PyGILState_Ensure();
    PyErr_SetString(PyExc_NotImplementedError, "create_sampler: the library has no samplers in this build");
    PyGILState_Release(state);
    return NULL;
}
SPYP_PENDING uint32_t spy_format_support(spy_device *device, spy_format format) {
    SPYP_UNUSED(device);
    SPYP_UNUSED(format);
    return 0;
}

// Without a texture nobody calls the next ones.
#define SPYP_NEVER(name, parameters)                                                                          \
    SPYP_PENDING spy_status name parameters {                                                                 \
        return SPY_ERROR_UNSUPPORTED;                                                                         \
    }
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wunused-parameter"
#endif
SPYP_PENDING spy_texture *spy_texture_view(spy_texture *t, const spy_texture_view_desc *d) {
    return NULL;
}
SPYP_PENDING void spy_release_texture(spy_texture *t) {
}
SPYP_PENDING void spy_release_sampler(spy_sampler *s) {
}
SPYP_PENDING spy_texture_info spy_get_texture_info(spy_texture *t) {
    spy_texture_info info;
    memset(&info, 0, sizeof info);
    return info;
}
SPYP_PENDING spy_arg spy_arg_texture(const char *name, spy_texture *t) {
    return spy_arg_tensor(name, NULL);
}
SPYP_PENDING spy_arg spy_arg_sampler(const char *name, spy_sampler *s) {
    return spy_arg_tensor(name, NULL);
}
SPYP_NEVER(spy_texture_write, (spy_texture * t, const spy_texture_region *r, const void *d, size_t n))
SPYP_NEVER(spy_texture_read, (spy_texture * t, const spy_texture_region *r, void *d, size_t n))
SPYP_NEVER(spy_texture_copy, (spy_texture * t, const spy_texture_region *r, spy_texture *f, const spy_texture_region *q))
SPYP_NEVER(spy_texture_copy_from_tensor, (spy_texture * t, const spy_texture_region *r, spy_tensor *x, size_t o, size_t p))
SPYP_NEVER(spy_texture_copy_to_tensor, (spy_texture * t, const spy_texture_region *r, spy_tensor *x, size_t o, size_t p))
SPYP_NEVER(spy_texture_clear, (spy_texture * t, spy_clear_color c))
SPYP_NEVER(spy_texture_clear_depth, (spy_texture * t, float d, uint32_t s))
SPYP_NEVER(spy_texture_blit, (spy_texture * t, spy_texture *f, spy_filter how))
SPYP_NEVER(spy_texture_generate_mips, (spy_texture * t))
SPYP_NEVER(spy_texture_resolve, (spy_texture * t, spy_texture *f))
#define SPYP_L spy_command_list *l
SPYP_NEVER(spy_list_texture_write, (SPYP_L, spy_texture *t, const spy_texture_region *r, const void *d, size_t n))
SPYP_NEVER(spy_list_texture_copy, (SPYP_L, spy_texture *t, const spy_texture_region *r, spy_texture *f, const spy_texture_region *q))
SPYP_NEVER(spy_list_texture_copy_from_tensor, (SPYP_L, spy_texture *t, const spy_texture_region *r, spy_tensor *x, size_t o, size_t p))
SPYP_NEVER(spy_list_texture_copy_to_tensor, (SPYP_L, spy_texture *t, const spy_texture_region *r, spy_tensor *x, size_t o, size_t p))
SPYP_NEVER(spy_list_texture_clear, (SPYP_L, spy_texture *t, spy_clear_color c))
SPYP_NEVER(spy_list_texture_clear_depth, (SPYP_L, spy_texture *t, float d, uint32_t s))
SPYP_NEVER(spy_list_texture_blit, (SPYP_L, spy_texture *t, spy_texture *f, spy_filter how))
SPYP_NEVER(spy_list_texture_generate_mips, (SPYP_L, spy_texture *t))
SPYP_NEVER(spy_list_texture_resolve, (SPYP_L, spy_texture *t, spy_texture *f))
#endif

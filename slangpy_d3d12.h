// slangpy_d3d12.h: the Direct3D 12 backend of slangpy.h.
// Generated from src/ by tools/amalgamate; do not edit. Every `>>` line names the file that follows.
// MIT license; its text is at the end of this file.

#include "slangpy.h"

#if SPY_VERSION != 100
#error "slangpy_d3d12.h is of release 0.1.0 and slangpy.h of another one: copy both from the same release"
#endif

#ifndef SLANGPY_D3D12_H
#define SLANGPY_D3D12_H

// >>api/d3d12.h ---------------------------------------------------------------------------------------------

// The D3D12 backend, which is not implemented yet.

#ifdef __cplusplus
extern "C" {
#endif

// Returns the backend for spy_device_desc.backend. It is not implemented yet: creating a device with it
// fails.
SPY_API const spy_backend *spy_d3d12_backend(void);

#ifdef __cplusplus
}
#endif

#endif // SLANGPY_D3D12_H

#if defined(SLANGPY_IMPLEMENTATION) && !defined(SLANGPY_D3D12_IMPLEMENTED)
#define SLANGPY_D3D12_IMPLEMENTED

#ifndef SPYI_SINGLE_HEADER
#error "the implementation of slangpy_d3d12.h uses that of slangpy.h, which was not compiled in this file: define SLANGPY_IMPLEMENTATION before the first include of either"
#endif

// >>d3d12/d3d12.c -------------------------------------------------------------------------------------------

SPYI_COLD_BEGIN

// The D3D12 backend, which is not built yet: the functions that would make a device report that.

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

SPYI_COLD_END

#endif // SLANGPY_D3D12_IMPLEMENTED

/*
MIT License

Copyright (c) 2026 the slangpy.h authors

Permission is hereby granted, free of charge, to any person obtaining a copy
of this software and associated documentation files (the "Software"), to deal
in the Software without restriction, including without limitation the rights
to use, copy, modify, merge, publish, distribute, sublicense, and/or sell
copies of the Software, and to permit persons to whom the Software is
furnished to do so, subject to the following conditions:

The above copyright notice and this permission notice shall be included in all
copies or substantial portions of the Software.

THE SOFTWARE IS PROVIDED "AS IS", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR
IMPLIED, INCLUDING BUT NOT LIMITED TO THE WARRANTIES OF MERCHANTABILITY,
FITNESS FOR A PARTICULAR PURPOSE AND NONINFRINGEMENT. IN NO EVENT SHALL THE
AUTHORS OR COPYRIGHT HOLDERS BE LIABLE FOR ANY CLAIM, DAMAGES OR OTHER
LIABILITY, WHETHER IN AN ACTION OF CONTRACT, TORT OR OTHERWISE, ARISING FROM,
OUT OF OR IN CONNECTION WITH THE SOFTWARE OR THE USE OR OTHER DEALINGS IN THE
SOFTWARE.
*/

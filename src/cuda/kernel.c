// Kernels: loads device code as a module and launches it. spyi_cuda_dispatch() is the hot path, without
// allocations, locks or formatting.
#include "cuda/internal.h"

// >>making

static spy_status spyi_cuda_check_kernel(const spyi_profile *profile, const spyi_kernel_desc *desc,
                                         spyi_text *error) {
    const spyi_interface *iface = &desc->iface;
    const spyi_kernel_base has = spyi_interface_counts(iface);
    if (!iface->block_by_address && iface->block_size > profile->max_block_bytes) {
        spyi_text_add(error, "the kernel's %u bytes of parameters exceed the device's %u", iface->block_size,
                      profile->max_block_bytes);
        return SPY_ERROR_UNSUPPORTED;
    }
    if (has.value_count > SPYI_CUDA_MOST_PARAMS || has.uniform_count > profile->max_uniforms) {
        spyi_text_add(error,
                      "the kernel has %u parameters and %u uniform buffers, at most %u and %u are possible",
                      has.value_count, has.uniform_count, SPYI_CUDA_MOST_PARAMS, profile->max_uniforms);
        return SPY_ERROR_UNSUPPORTED;
    }
    return SPY_OK;
}

SPYI_FN spy_status spyi_cuda_compile(spyi_context *ctx, const char *compiler, const spyi_profile *profile,
                                     const spyi_kernel_desc *desc, spyi_text *blob, spyi_text *error) {
    spyi_nvrtc nvrtc;
    spy_status status = spyi_cuda_check_kernel(profile, desc, error);
    if (status == SPY_OK) status = spyi_nvrtc_find(compiler, &nvrtc, error);
    if (status != SPY_OK) return status;
    if (ctx != NULL && spyi_atomic_swap_if(&ctx->told_compiler, 0, 1))
        spyi_logf(ctx, SPY_LOG_LEVEL_INFO, "NVRTC %d.%d: %s", nvrtc.major, nvrtc.minor, nvrtc.path);
    return spyi_cuda_compile_text(ctx, &nvrtc, profile, desc, blob, error);
}

SPYI_FN void spyi_cuda_open_compiler(const char *compiler) {
    spyi_nvrtc nvrtc;
    spyi_text ignored = { NULL, 0, 0 }; // compile will say it
    (void)spyi_nvrtc_find(compiler, &nvrtc, &ignored);
    spyi_text_free(&ignored);
}

// Returns whether desc->code is a cubin (an ELF file) or PTX, which must end with a NUL.
static bool spyi_cuda_is_code(const spyi_kernel_desc *desc) {
    const char *code = (const char *)desc->code;
    return desc->code_size > 4 && (memcmp(code, "\177ELF", 4) == 0 || code[desc->code_size - 1] == '\0');
}

// Allows the function the dynamic shared memory that its launches ask for. A launch may take up to 48 KiB
// without this. A kernel whose groupshared variables were moved there (prelude.c) says how much it needs.
static spy_status spyi_cuda_allow_shared(spyi_cuda_gpu *gpu, spyi_cuda_kernel *kernel, spyi_text *error) {
    uint32_t most = gpu->base.limits.info.max_shared_bytes, given = kernel->shared_bytes;
    spyi_cu_pointer room = 0;
    size_t moved = 0;
    int fixed = 0;
    if (gpu->cu.ModuleGetGlobal(&room, &moved, kernel->module, "spy_groupshared") == SPYI_CU_OK)
        kernel->shared_bytes = moved < UINT32_MAX ? (uint32_t)moved : UINT32_MAX;
    if (kernel->shared_bytes == 0) return SPY_OK;
    spyi_cu_result result = gpu->cu.FuncGetAttribute(&fixed, SPYI_CU_FUNC_SHARED_BYTES, kernel->function);
    if (result != SPYI_CU_OK) return spyi_cuda_fail(gpu, result, "cuFuncGetAttribute", error);
    if ((uint64_t)fixed + kernel->shared_bytes > most) {
        spyi_text_add(error,
                      "kernel '%s' has %u bytes of groupshared variables; with shared_bytes %u a group has "
                      "more than the device's %u",
                      kernel->label, (uint32_t)fixed + kernel->shared_bytes - given, given, most);
        return SPY_ERROR_UNSUPPORTED;
    }
    result = gpu->cu.FuncSetAttribute(kernel->function, SPYI_CU_FUNC_MAX_DYNAMIC_SHARED_BYTES,
                                      (int)kernel->shared_bytes);
    return result == SPYI_CU_OK ? SPY_OK : spyi_cuda_fail(gpu, result, "cuFuncSetAttribute", error);
}

// Loads the module, and finds its function and the address of its global parameters.
static spy_status spyi_cuda_load_module(spyi_cuda_gpu *gpu, const spyi_kernel_desc *desc, const char *entry,
                                        spyi_cuda_kernel *kernel, spyi_text *error) {
    spyi_cu_result result = gpu->cu.ModuleLoadData(&kernel->module, desc->code);
    int most = 0, registers = 0;
    spyi_nvrtc nvrtc;
    uint32_t i;
    if (result != SPYI_CU_OK) {
        spy_status status = spyi_cuda_fail(gpu, result, "cuModuleLoadData", error);
        spyi_text_add(error, " for kernel '%s'", kernel->label);
        if ((result == SPYI_CU_NO_BINARY_FOR_GPU || result == SPYI_CU_UNSUPPORTED_PTX) &&
            spyi_nvrtc_is_found(gpu->nvrtc_path, &nvrtc))
            spyi_text_add(
                error,
                "; NVRTC %d.%d made it for a driver of CUDA %d.%d: an NVRTC no newer than the driver does",
                nvrtc.major, nvrtc.minor, gpu->cu.version / 1000, gpu->cu.version % 1000 / 10);
        return status == SPY_ERROR_INTERNAL ? SPY_ERROR_COMPILE : status;
    }
    result = gpu->cu.ModuleGetFunction(&kernel->function, kernel->module, entry);
    if (result == SPYI_CU_OK)
        result = gpu->cu.FuncGetAttribute(&most, SPYI_CU_FUNC_MAX_THREADS, kernel->function);
    if (result == SPYI_CU_OK)
        result = gpu->cu.FuncGetAttribute(&registers, SPYI_CU_FUNC_REGISTERS, kernel->function);
    if (result != SPYI_CU_OK) return spyi_cuda_fail(gpu, result, "cuModuleGetFunction", error);
    if (spyi_interface_threads(&desc->iface) > (uint32_t)most) {
        spyi_text_add(error,
                      "kernel '%s' takes %d registers a thread, so its groups can have %d threads, not %u",
                      kernel->label, registers, most, spyi_interface_threads(&desc->iface));
        return SPY_ERROR_UNSUPPORTED;
    }
    spy_status status = spyi_cuda_allow_shared(gpu, kernel, error);
    if (status != SPY_OK) return status;
    for (i = 0; i < kernel->base.uniform_count; i++) {
        if (kernel->places[i].holder != SPYI_HOLDER_NONE) continue;
        result = gpu->cu.ModuleGetGlobal(&kernel->globals, &kernel->globals_size, kernel->module,
                                         "SLANG_globalParams");
        if (result != SPYI_CU_OK) return spyi_cuda_fail(gpu, result, "cuModuleGetGlobal", error);
    }
    return SPY_OK;
}

SPYI_FN void spyi_cuda_free_kernel(spyi_cuda_gpu *gpu, spyi_cuda_kernel *kernel) {
    spyi_cuda_repeat_free(gpu, kernel);
    if (kernel->module != NULL) (void)gpu->cu.ModuleUnload(kernel->module);
    spyi_free(gpu->base.ctx, kernel->places, kernel->base.uniform_count * sizeof *kernel->places);
    spyi_free(gpu->base.ctx, kernel, sizeof *kernel);
}

static spyi_cuda_kernel *spyi_cuda_new_kernel(spyi_cuda_gpu *gpu, const spyi_kernel_desc *desc) {
    spyi_cuda_kernel *kernel = (spyi_cuda_kernel *)spyi_allocate(gpu->base.ctx, sizeof *kernel);
    if (kernel == NULL) return NULL;
    const spyi_interface *iface = &desc->iface;
    uint32_t i, values = 0, uniforms = 0;
    kernel->base = spyi_interface_counts(iface);
    kernel->block_by_address = iface->block_by_address && iface->block_size > 0;
    kernel->param_count = kernel->block_by_address ? 1 : kernel->base.value_count;
    kernel->shared_bytes = iface->shared_bytes;
    memcpy(kernel->group, iface->group, sizeof kernel->group);
    (void)snprintf(kernel->label, sizeof kernel->label, "%s",
                   desc->label != NULL ? desc->label : desc->entry);
    if (kernel->base.uniform_count > 0) {
        kernel->places = (spyi_parameter_place *)spyi_allocate(gpu->base.ctx, kernel->base.uniform_count *
                                                                                  sizeof *kernel->places);
        if (kernel->places == NULL) {
            spyi_free(gpu->base.ctx, kernel, sizeof *kernel);
            return NULL;
        }
    }
    for (i = 0; i < iface->parameter_count; i++) {
        const spyi_parameter *p = &iface->parameters[i];
        if (p->kind == SPYI_PARAMETER_VALUES) kernel->params[values++] = p->place.offset;
        if (p->kind == SPYI_PARAMETER_UNIFORM) kernel->places[uniforms++] = p->place;
    }
    return kernel;
}

SPYI_FN spy_status spyi_cuda_load(spyi_gpu *base, const spyi_kernel_desc *desc, spyi_kernel **out,
                                  spyi_text *error) {
    spyi_cuda_gpu *gpu = spyi_cuda_cast(base);
    spyi_cuda_kernel *kernel;
    char *entry = NULL;
    spy_status status = spyi_cuda_check_kernel(&gpu->base.limits.profile, desc, error);
    *out = NULL;
    if (status == SPY_OK && !spyi_cuda_is_code(desc)) {
        spyi_text_add(error, "what kernel '%s' has is neither PTX nor a cubin",
                      desc->label != NULL ? desc->label : desc->entry);
        status = SPY_ERROR_COMPILE;
    }
    if (status != SPY_OK) return status;
    entry = spyi_cuda_symbol(desc);
    kernel = entry != NULL ? spyi_cuda_new_kernel(gpu, desc) : NULL;
    if (kernel == NULL) {
        spyi_text_add(error, "no host memory for a kernel");
        status = SPY_ERROR_OUT_OF_MEMORY;
    }
    if (status == SPY_OK) {
        spyi_cuda_entered entered = spyi_cuda_enter_relaxed(gpu);
        status = spyi_cuda_load_module(gpu, desc, entry, kernel, error);
        kernel->repeats = spyi_cuda_can_repeat(gpu, kernel);
        if (status != SPY_OK) spyi_cuda_free_kernel(gpu, kernel);
        else *out = (spyi_kernel *)(void *)kernel;
        spyi_cuda_leave_relaxed(gpu, entered);
    }
    free(entry);
    return status;
}

SPYI_FN void spyi_cuda_destroy_kernel(spyi_gpu *base, spyi_kernel *handle) {
    spyi_cuda_gpu *gpu = spyi_cuda_cast(base);
    spyi_cuda_kernel *kernel = (spyi_cuda_kernel *)(void *)handle;
    if (kernel->captured) {
        spyi_cuda_keep_kernel(gpu, kernel);
        return;
    }
    spyi_cuda_entered entered = spyi_cuda_enter_relaxed(gpu);
    spyi_cuda_free_kernel(gpu, kernel);
    spyi_cuda_leave_relaxed(gpu, entered);
}

// >>launching

static spy_status spyi_cuda_put(spyi_cuda_gpu *gpu, spyi_cu_pointer to, const void *data, size_t size,
                                spyi_text *error) {
    spyi_cu_result result = gpu->cu.MemcpyHtoDAsync(to, data, size, gpu->stream);
    return result == SPYI_CU_OK ? SPY_OK
                                : spyi_cuda_fail(gpu, result, "cuMemcpyHtoDAsync of parameters", error);
}

// Takes `size` bytes of pinned memory (*host), which the caller fills, and *device, the device memory to
// which they are copied: that of `own`, or of the open batch when `own` is NULL.
static spy_status spyi_cuda_take_place(spyi_cuda_gpu *gpu, spyi_cuda_own *own, size_t size, char **host,
                                       spyi_cu_pointer *device, spyi_text *error) {
    spy_status status = spyi_cuda_take_bytes(gpu, size, host, device, error);
    if (status != SPY_OK || own == NULL) return status;
    *device = own->at;
    own->at += spyi_align(size, 256);
    return SPY_OK;
}

// Copies the uniform buffers to device memory. A buffer may hold the addresses of later buffers, so the first
// loop finds all addresses and stores them in their holders, and the second loop starts the transfers.
// `block` is a copy of the dispatch's block that receives the addresses in it.
static spy_status spyi_cuda_put_uniforms(spyi_cuda_gpu *gpu, const spyi_cuda_kernel *kernel,
                                         const spyi_uniform *uniforms, spyi_cuda_own *own, char *block,
                                         spyi_text *error) {
    char *host[SPYI_CUDA_MOST_PARAMS];
    spyi_cu_pointer device[SPYI_CUDA_MOST_PARAMS];
    spy_status status = SPY_OK;
    uint32_t i;
    for (i = 0; i < kernel->base.uniform_count && status == SPY_OK; i++) {
        const spyi_parameter_place *place = &kernel->places[i];
        if (uniforms[i].size == 0) continue; // the kernel does not use this buffer
        status = spyi_cuda_take_place(gpu, own, uniforms[i].size, &host[i], &device[i], error);
        if (status != SPY_OK) return status;
        memcpy(host[i], uniforms[i].data, uniforms[i].size);
        if (place->holder == SPYI_HOLDER_NONE) {
            if (own == NULL) device[i] = kernel->globals;
            else
                own->globals =
                    device[i]; // each launch of the graph copies them from there, because other launches
                               // change the globals
        } else {
            memcpy((place->holder == SPYI_HOLDER_BLOCK ? block : host[place->holder]) + place->offset,
                   &device[i], sizeof device[i]);
        }
    }
    for (i = 0; i < kernel->base.uniform_count && status == SPY_OK; i++) {
        size_t size = uniforms[i].size;
        if (size == 0) continue;
        if (kernel->places[i].holder == SPYI_HOLDER_NONE) {
            if (size > kernel->globals_size) size = kernel->globals_size;
            if (own != NULL) own->globals_size = size;
        }
        status = spyi_cuda_put(gpu, device[i], host[i], size, error);
    }
    return status;
}

// Prepares a launch whose kernel has uniform buffers or its block in memory: copies both, and sets *block to
// the block to launch with.
static spy_status spyi_cuda_prepare(spyi_cuda_gpu *gpu, const spyi_cuda_kernel *kernel,
                                    const spyi_dispatch *dispatch, spyi_cuda_own *own, const char **block,
                                    spyi_cu_pointer *address, spyi_text *error) {
    char *copy;
    spy_status status;
    // The copy is in a page in both cases: either the kernel reads it there, or the driver reads it at the
    // launch.
    status = spyi_cuda_take_place(gpu, own, kernel->base.block_size + 8u, &copy, address, error);
    if (status != SPY_OK) return status;
    if (kernel->base.block_size > 0) memcpy(copy, dispatch->block, kernel->base.block_size);
    if (kernel->base.uniform_count > 0)
        status = spyi_cuda_put_uniforms(gpu, kernel, dispatch->uniforms, own, copy, error);
    if (status == SPY_OK && kernel->block_by_address)
        status = spyi_cuda_put(gpu, *address, copy, kernel->base.block_size, error);
    *block = kernel->block_by_address ? (const char *)address : copy;
    return status;
}

SPYI_FN size_t spyi_cuda_param_memory(const spyi_cuda_kernel *kernel, const spyi_dispatch *dispatch) {
    size_t size;
    uint32_t i;
    if (spyi_cuda_is_plain(kernel)) return 0;
    size = spyi_align(kernel->base.block_size + 8u, 256);
    for (i = 0; i < kernel->base.uniform_count; i++) size += spyi_align(dispatch->uniforms[i].size, 256);
    return size;
}

SPYI_FN spy_status spyi_cuda_params(spyi_cuda_gpu *gpu, const spyi_cuda_kernel *kernel,
                                    const spyi_dispatch *dispatch, spyi_cuda_own *own,
                                    spyi_cu_pointer *address, void *params[SPYI_CUDA_MOST_PARAMS],
                                    spyi_text *error) {
    const char *block = (const char *)dispatch->block;
    uint32_t i;
    if (!SPYI_LIKELY(spyi_cuda_is_plain(kernel))) {
        spy_status status = spyi_cuda_prepare(gpu, kernel, dispatch, own, &block, address, error);
        if (status != SPY_OK) return status;
    }
    for (i = 0; i < kernel->param_count; i++) // the cast drops const; the driver only reads
        params[i] = (void *)(uintptr_t)(block + (kernel->block_by_address ? 0 : kernel->params[i]));
    return SPY_OK;
}

SPYI_FN spyi_cu_kernel_params spyi_cuda_node_params(const spyi_cuda_kernel *kernel, const uint32_t groups[3],
                                                    void **values) {
    spyi_cu_kernel_params params;
    memset(&params, 0, sizeof params);
    params.function = kernel->function;
    memcpy(params.grid, groups, sizeof params.grid);
    memcpy(params.block, kernel->group, sizeof params.block);
    params.shared = kernel->shared_bytes;
    params.params = values;
    return params;
}

SPYI_FN void spyi_cuda_launched(spyi_cuda_gpu *gpu, const spyi_cuda_kernel *kernel) {
    uint32_t slot = gpu->recent_count++ % SPYI_CUDA_RECENT;
    memcpy(gpu->recent_label[slot], kernel->label, sizeof kernel->label);
    gpu->recent_batch[slot] = gpu->base.open;
    gpu->base.stats.dispatches++;
}

static spy_status spyi_cuda_launch(spyi_cuda_gpu *gpu, spyi_cuda_kernel *kernel,
                                   const spyi_dispatch *dispatch, spyi_text *error) {
    const uint32_t *groups = dispatch->groups;
    uint32_t counts[3];
    void *params[SPYI_CUDA_MOST_PARAMS];
    spyi_cu_pointer address = 0;
    spyi_cu_result result;
    spy_status status = spyi_cuda_check_lost(gpu, error);
    if (status != SPY_OK) return status;
    if (!SPYI_LIKELY(gpu->graph == NULL)) return spyi_cuda_graph_dispatch(gpu, kernel, dispatch, error);
    status = spyi_cuda_params(gpu, kernel, dispatch, NULL, &address, params, error);
    if (status != SPY_OK) return status;
    if (!SPYI_LIKELY(dispatch->indirect == 0)) {
        // CUDA has no indirect launch: the host waits for all earlier work and reads the group counts.
        status = spyi_cuda_check_captured(gpu, "read the group counts of an indirect dispatch from", error);
        if (status != SPY_OK) return status;
        status = spyi_cuda_read_small(gpu, counts, dispatch->indirect + dispatch->indirect_offset,
                                      sizeof counts, gpu->stream, error);
        if (status != SPY_OK) return status;
        groups = counts;
    }
    if (SPYI_LIKELY(groups[0] > 0 && groups[1] > 0 && groups[2] > 0)) {
        bool repeated =
            kernel->repeats && spyi_cuda_repeat_launch(gpu, kernel, groups, dispatch->block, params, &result);
        if (!SPYI_LIKELY(!gpu->base.captured)) kernel->captured = true;
        if (!repeated)
            result = gpu->cu.LaunchKernel(kernel->function, groups[0], groups[1], groups[2], kernel->group[0],
                                          kernel->group[1], kernel->group[2], kernel->shared_bytes,
                                          gpu->stream, params, NULL);
        if (!SPYI_LIKELY(result == SPYI_CU_OK)) {
            status = spyi_cuda_fail(gpu, result, repeated ? "cuGraphLaunch" : "cuLaunchKernel", error);
            spyi_text_add(error, " for kernel '%s', %u x %u x %u groups of %u x %u x %u threads",
                          kernel->label, groups[0], groups[1], groups[2], kernel->group[0], kernel->group[1],
                          kernel->group[2]);
            return status;
        }
    }
    spyi_cuda_launched(gpu, kernel);
    return spyi_cuda_worked(gpu, error);
}

SPYI_FN spy_status spyi_cuda_dispatch(spyi_gpu *base, const spyi_work *work, spyi_text *error) {
    spyi_cuda_gpu *gpu = spyi_cuda_cast(base);
    const spyi_dispatch *dispatch = (const spyi_dispatch *)(const void *)work;
    bool pushed = spyi_cuda_enter(gpu);
    spy_status status = spyi_cuda_launch(gpu, (spyi_cuda_kernel *)(void *)dispatch->kernel, dispatch, error);
    spyi_cuda_leave(gpu, pushed);
    return status;
}

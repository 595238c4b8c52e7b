// The null backend's chunks and kernels.
#include "backend/null/internal.h"

// >>memory

SPYI_FN spyi_null_chunk *spyi_null_find(spyi_null_gpu *n, uint64_t handle) {
    spyi_null_chunk *c = n->chunks;
    while (c && c->handle != handle) c = c->next;
    return c;
}

// Returns the host address of a range; NULL, with the broken rule in `error`, when there is no such range.
SPYI_FN unsigned char *spyi_null_range(spyi_null_gpu *n, const char *what, uint64_t handle, uint64_t offset,
                                       uint64_t size, spyi_text *error) {
    spyi_null_chunk *c = spyi_null_find(n, handle);
    if (!c) {
        spyi_null_broken(n, error, "%s: no chunk has the handle %llu", what, (unsigned long long)handle);
        return NULL;
    }
    if (size == 0 || offset > c->size || size > c->size - offset) {
        spyi_null_broken(n, error, "%s: bytes %llu to %llu are not in the chunk of %llu", what,
                         (unsigned long long)offset, (unsigned long long)(offset + size),
                         (unsigned long long)c->size);
        return NULL;
    }
    return c->data + offset;
}

SPYI_FN spyi_null_chunk *spyi_null_add_chunk(spyi_null_gpu *n, void *block, unsigned char *data,
                                             size_t size) {
    spyi_null_chunk *c = (spyi_null_chunk *)spyi_calloc(1, sizeof *c);
    if (!c) return NULL;
    c->handle = ++n->last_handle;
    c->block = block;
    c->data = data;
    c->size = size;
    c->next = n->chunks;
    n->chunks = c;
    return c;
}

SPYI_FN spyi_chunk spyi_null_describe(spyi_null_gpu *n, const spyi_null_chunk *c, bool mapped) {
    spyi_chunk chunk;
    memset(&chunk, 0, sizeof chunk);
    chunk.handle = c->handle;
    chunk.address = n->base.limits.info.features & SPY_FEATURE_POINTERS ? (uint64_t)(uintptr_t)c->data : 0;
    chunk.mapped = mapped ? c->data : NULL;
    chunk.size = c->size;
    chunk.memory = c->block;
    return chunk;
}

SPYI_FN spy_status spyi_null_allocate_chunk(spyi_gpu *gpu, spyi_memory memory, size_t size, const char *label,
                                            spyi_chunk *chunk, spyi_text *error) {
    spyi_null_gpu *n = spyi_null_cast(gpu);
    spyi_null_chunk *c = NULL;
    unsigned char *block, *data;
    spy_status status = spyi_null_step_status(n, SPYI_NULL_STEP_ALLOCATE, error);
    (void)label;
    memset(chunk, 0, sizeof *chunk);
    if (status != SPY_OK) return status;
    if (size == 0) return spyi_null_broken(n, error, "allocate_chunk: the size is 0");
    if (size > n->memory_bytes - n->counts.chunk_bytes) {
        spyi_text_add(error, "%llu bytes do not fit into the device's %llu", (unsigned long long)size,
                      (unsigned long long)n->memory_bytes);
        return SPY_ERROR_OUT_OF_DEVICE_MEMORY;
    }
    block = (unsigned char *)spyi_malloc(size + 256);
    if (block) {
        data = block + (256 - (uintptr_t)block % 256);
        c = spyi_null_add_chunk(n, block, data, size);
    }
    if (!c) {
        free(block);
        spyi_text_add(error, "no host memory for a chunk of %llu bytes", (unsigned long long)size);
        return SPY_ERROR_OUT_OF_MEMORY;
    }
    memset(c->data, 0xcd, size); // a read of uninitialised memory shows this value
    n->counts.chunks++;
    n->counts.chunk_bytes += size;
    n->base.stats.driver_allocations++;
    n->base.stats.driver_bytes += size;
    *chunk = spyi_null_describe(n, c, memory == SPYI_MEMORY_READBACK || n->base.limits.unified_memory);
    return SPY_OK;
}

static bool spyi_null_op_uses(const spyi_null_op *op, uint64_t handle) {
    uint32_t i;
    if (op->to == handle || op->from == handle) return true;
    for (i = 0; i < op->binding_count; i++) {
        if (op->bindings[i].handle == handle) return true;
    }
    return false;
}

SPYI_FN void spyi_null_free_chunk(spyi_gpu *gpu, spyi_chunk *chunk) {
    spyi_null_gpu *n = spyi_null_cast(gpu);
    spyi_null_chunk **link = &n->chunks, *c;
    size_t i;
    while (*link && (*link)->handle != chunk->handle) link = &(*link)->next;
    c = *link;
    if (!c || !c->block) {
        spyi_null_broken(n, NULL, "free_chunk: the handle %llu is no chunk of allocate_chunk",
                         (unsigned long long)chunk->handle);
        return;
    }
    for (i = n->done_count; i < n->op_count; i++) {
        if (spyi_null_op_uses(n->ops[i], c->handle)) {
            spyi_null_broken(n, NULL, "free_chunk: submit %llu still uses the chunk",
                             (unsigned long long)n->ops[i]->submit);
            return; // the chunk is kept, because the work can still use it
        }
    }
    *link = c->next;
    n->counts.chunks--;
    n->counts.chunk_bytes -= c->size;
    n->base.stats.driver_bytes -= c->size;
    free(c->block);
    free(c);
    memset(chunk, 0, sizeof *chunk);
}

// >>kernels

// Checks that the parameters' numbers have no gaps and that they are within the limits.
SPYI_FN spy_status spyi_null_check_parameters(spyi_null_gpu *n, const spyi_interface *iface,
                                              spyi_text *error) {
    const spyi_limits *limits = &n->base.limits;
    uint32_t next = 0;
    for (uint32_t i = 0; i < iface->parameter_count; i++) {
        const spyi_parameter *p = &iface->parameters[i];
        uint8_t use = p->kind == SPYI_PARAMETER_TEXELS ? SPYI_TEXEL_READS : SPYI_TEXEL_WRITES;
        bool texels = p->kind == SPYI_PARAMETER_TEXELS || p->kind == SPYI_PARAMETER_RW_TEXELS;
        if (p->kind == SPYI_PARAMETER_VALUES || p->kind == SPYI_PARAMETER_HANDLES) continue;
        if (p->number != next || p->count == 0 ||
            (texels && !(limits->texels[p->scalar][p->columns - 1] & use)))
            return spyi_null_broken(n, error, "load: parameter %u: number %u, %u elements, or its format", i,
                                    p->number, p->count);
        next += p->count;
    }
    return SPY_OK;
}

static spy_status spyi_null_check_interface(spyi_null_gpu *n, const spyi_interface *iface, spyi_text *error) {
    const spyi_limits *limits = &n->base.limits;
    const spyi_kernel_base has = spyi_interface_counts(iface);
    const uint32_t threads = spyi_interface_threads(iface);
    if (threads == 0 || threads > limits->info.max_group_size)
        return spyi_null_broken(n, error, "load: %u threads are not a group of 1 to %u", threads,
                                limits->info.max_group_size);
    if (has.binding_count + has.uniform_count > limits->profile.max_bindings ||
        has.uniform_count > limits->profile.max_uniforms)
        return spyi_null_broken(n, error,
                                "load: %u bindings exceed the limit of %u, or %u of them uniform that of %u",
                                has.binding_count + has.uniform_count, limits->profile.max_bindings,
                                has.uniform_count, limits->profile.max_uniforms);
    if (has.block_size > limits->profile.max_block_bytes && !iface->block_by_address)
        return spyi_null_broken(n, error, "load: a block of %u bytes exceeds the limit of %u", has.block_size,
                                limits->profile.max_block_bytes);
    if (iface->block_by_address && !(limits->info.features & SPY_FEATURE_POINTERS))
        return spyi_null_broken(n, error, "load: the device has no addresses for a block");
    return spyi_null_check_parameters(n, iface, error);
}

SPYI_FN spy_status spyi_null_load(spyi_gpu *gpu, const spyi_kernel_desc *desc, spyi_kernel **kernel,
                                  spyi_text *error) {
    spyi_null_gpu *n = spyi_null_cast(gpu);
    const spyi_interface *iface = &desc->iface;
    spyi_null_kernel *k;
    spy_status status = spyi_null_step_status(n, SPYI_NULL_STEP_KERNEL, error);
    *kernel = NULL;
    if (status != SPY_OK) return status;
    if (!desc->code || desc->code_size == 0 || !desc->entry)
        return spyi_null_broken(n, error, "load: there is no code or no entry");
    status = spyi_null_check_interface(n, iface, error);
    if (status != SPY_OK) return status;
    if (n->on_kernel) {
        status = n->on_kernel(desc, n->on_kernel_data, error);
        if (status != SPY_OK) return status;
    }
    k = (spyi_null_kernel *)spyi_calloc(1, sizeof *k);
    if (k) k->label = spyi_strdup(desc->label ? desc->label : "");
    if (k) k->parameters = (spyi_parameter *)spyi_calloc(iface->parameter_count + 1, sizeof *k->parameters);
    if (!k || !k->label || !k->parameters) {
        if (k) free(k->label);
        if (k) free(k->parameters);
        free(k);
        spyi_text_add(error, "no host memory for a kernel");
        return SPY_ERROR_OUT_OF_MEMORY;
    }
    k->base = spyi_interface_counts(iface);
    k->iface = *iface;
    k->iface.parameters = k->parameters;
    if (iface->parameter_count)
        memcpy(k->parameters, iface->parameters, iface->parameter_count * sizeof *k->parameters);
    spyi_mutex_lock(&n->lock);
    n->counts.kernels++;
    spyi_mutex_unlock(&n->lock);
    *kernel = (spyi_kernel *)(void *)k;
    return SPY_OK;
}

SPYI_FN void spyi_null_destroy_kernel(spyi_gpu *gpu, spyi_kernel *kernel) {
    spyi_null_gpu *n = spyi_null_cast(gpu);
    spyi_null_kernel *k = (spyi_null_kernel *)(void *)kernel;
    if (!k) return;
    if (spyi_atomic_load(&k->pending) > 0) {
        spyi_null_broken(n, NULL, "destroy_kernel: work with the kernel \"%s\" is not done", k->label);
        return;
    }
    spyi_mutex_lock(&n->lock);
    n->counts.kernels--;
    spyi_mutex_unlock(&n->lock);
    free(k->parameters);
    free(k->label);
    free(k);
}

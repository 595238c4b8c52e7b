// The null backend's work: a list of operations in host memory, checked against backend.h and carried out in
// order.
#include "backend/null/null.h"
#include "backend/target.h"

// >>objects

typedef struct spyi_null_chunk {
    uint64_t handle;
    unsigned char *data; // 256-byte aligned
    size_t size;
    void *block; // what malloc() gave; NULL: imported
    struct spyi_null_chunk *next;
} spyi_null_chunk;

typedef struct spyi_null_kernel {
    spyi_kernel_base base; // first
    char *label;
    spyi_interface interface;
    spyi_parameter *parameters; // the interface's
    spyi_atomic pending;        // recorded dispatches that are not done
} spyi_null_kernel;

typedef struct spyi_null_gpu {
    spyi_gpu_base base;
    spyi_null_chunk *chunks;
    uint64_t last_handle;
    spyi_null_counts counts; // kernels: under lock
    uint64_t memory_bytes;

    // The list lies on the process allocator: tests that count desc.allocator's calls see the library's
    // alone.
    spyi_null_op **ops;
    size_t op_count, op_capacity;
    size_t done_count; // ops before this one are done
    bool no_log;

    uint64_t open, finished; // submit numbers
    bool open_has_work, hold, lost;
    uint64_t recorded_dispatches, time_first, time_last, time_submit;
    uint64_t marks[SPYI_TIME_SLOTS]; // ticks
    uint32_t label_depth;            // pushed and not popped
    int time_state;                  // 0: never begun, 1: begun, 2: ended

    spyi_null_func func;
    void *user_data;
    spy_status (*on_kernel)(const spyi_kernel_desc *desc, void *user_data, spyi_text *error);
    void *on_kernel_data;

    spyi_mutex lock; // the rest is also used by compile threads
    spyi_text own_report, *report;
    spy_status fail_status[SPYI_NULL_STEP_COUNT];
    uint32_t fail_skip[SPYI_NULL_STEP_COUNT];
} spyi_null_gpu;

static spyi_null_gpu *spyi_null_cast(spyi_gpu *gpu) {
    return (spyi_null_gpu *)(void *)gpu;
}

// A rule of backend.h is broken: into the report, and to the caller, or to the log where the caller takes no
// error.
SPYI_PRINTF(3, 4)
static spy_status spyi_null_broken(spyi_null_gpu *n, spyi_text *error, const char *format, ...) {
    spyi_text text = { NULL, 0, 0 };
    char line[512];
    va_list args;
    va_start(args, format);
    vsnprintf(line, sizeof line, format, args);
    va_end(args);
    spyi_text_add(&text, "null backend: %s\n", line);
    spyi_mutex_lock(&n->lock);
    spyi_text_add_n(n->report, text.data, text.size);
    spyi_mutex_unlock(&n->lock);
    spyi_text_free(&text);
    if (error) spyi_text_add(error, "%s", line);
    else spyi_logf(n->base.ctx, SPY_LOG_ERROR, "null backend: %s", line);
    return SPY_ERROR_INTERNAL;
}

// Whether the test has ordered this step to fail.
static spy_status spyi_null_step_status(spyi_null_gpu *n, spyi_null_step step, spyi_text *error) {
    spy_status status;
    spyi_mutex_lock(&n->lock);
    status = n->fail_status[step];
    if (status != SPY_OK && n->fail_skip[step] > 0) {
        n->fail_skip[step]--;
        status = SPY_OK;
    } else {
        n->fail_status[step] = SPY_OK;
    }
    spyi_mutex_unlock(&n->lock);
    if (status != SPY_OK)
        spyi_text_add(error, "the test asked for this failure: %s", spy_status_text(status));
    return status;
}

static uint32_t spyi_null_u32(uint32_t value, uint32_t if_zero) {
    return value ? value : if_zero;
}

static uint64_t spyi_null_u64(uint64_t value, uint64_t if_zero) {
    return value ? value : if_zero;
}

// >>carrying out

static void spyi_null_run(spyi_null_gpu *n, spyi_null_op *op) {
    uint64_t i;
    switch (op->kind) {
    case SPYI_NULL_DISPATCH:
        if (op->from) memcpy(op->groups, op->from_memory, sizeof op->groups);
        if (n->func) n->func((spyi_gpu *)(void *)n, op, n->user_data);
        spyi_atomic_add(&op->kernel->pending, -1);
        op->kernel = NULL; // may be destroyed from now on
        break;
    case SPYI_NULL_COPY: memmove(op->to_memory, op->from_memory, (size_t)op->size); break;
    case SPYI_NULL_FILL: // the pattern's first byte in memory stands at `to_offset`
        for (i = 0; i < op->size; i++) op->to_memory[i] = ((const unsigned char *)&op->pattern)[i % 4];
        break;
    case SPYI_NULL_UPLOAD: memcpy(op->to_memory, op->data, (size_t)op->size); break;
    case SPYI_NULL_LABEL: break;
    }
}

static void spyi_null_forget_done(spyi_null_gpu *n) {
    size_t i;
    for (i = 0; i < n->done_count; i++) free(n->ops[i]);
    n->op_count -= n->done_count;
    if (n->op_count) memmove(n->ops, n->ops + n->done_count, n->op_count * sizeof *n->ops);
    n->done_count = 0;
}

static void spyi_null_run_up_to(spyi_null_gpu *n, uint64_t submit) {
    if (submit >= n->open) submit = n->open - 1;
    if (submit <= n->finished) return;
    while (n->done_count < n->op_count && n->ops[n->done_count]->submit <= submit) {
        spyi_null_op *op = n->ops[n->done_count];
        spyi_null_run(n, op);
        op->done = true;
        n->done_count++;
    }
    n->finished = submit;
    if (n->no_log) spyi_null_forget_done(n);
}

// After the loss of a device nothing is carried out, and nothing is waited for.
static void spyi_null_lose(spyi_null_gpu *n) {
    n->lost = true;
    while (n->op_count > n->done_count) {
        spyi_null_op *op = n->ops[--n->op_count];
        if (op->kernel) spyi_atomic_add(&op->kernel->pending, -1);
        free(op);
    }
    n->open_has_work = false;
    n->finished = n->open;
}

static spy_status spyi_null_lost(spyi_text *error) {
    spyi_text_add(error, "the device is lost");
    return SPY_ERROR_DEVICE_LOST;
}

// >>memory

static spyi_null_chunk *spyi_null_find(spyi_null_gpu *n, uint64_t handle) {
    spyi_null_chunk *c = n->chunks;
    while (c && c->handle != handle) c = c->next;
    return c;
}

// Host address of a range; NULL, and the rule's text, when there is no such range.
static unsigned char *spyi_null_range(spyi_null_gpu *n, const char *what, uint64_t handle, uint64_t offset,
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

static spyi_null_chunk *spyi_null_add_chunk(spyi_null_gpu *n, void *block, unsigned char *data, size_t size) {
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

static spyi_chunk spyi_null_describe(spyi_null_gpu *n, const spyi_null_chunk *c, bool mapped) {
    spyi_chunk chunk;
    memset(&chunk, 0, sizeof chunk);
    chunk.handle = c->handle;
    chunk.address = n->base.limits.info.features & SPY_FEATURE_POINTERS ? (uint64_t)(uintptr_t)c->data : 0;
    chunk.mapped = mapped ? c->data : NULL;
    chunk.size = c->size;
    chunk.memory = c->block;
    return chunk;
}

static spy_status spyi_null_allocate_chunk(spyi_gpu *gpu, spyi_memory memory, size_t size, const char *label,
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
    memset(c->data, 0xcd, size); // what reads uninitialised memory shall see that it does
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

static void spyi_null_free_chunk(spyi_gpu *gpu, spyi_chunk *chunk) {
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
            return; // kept, so that the work has somewhere to go
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

// Numbers without gaps, within the limits.
static spy_status spyi_null_check_parameters(spyi_null_gpu *n, const spyi_interface *interface,
                                             spyi_text *error) {
    const spyi_limits *limits = &n->base.limits;
    uint32_t next = 0;
    for (uint32_t i = 0; i < interface->parameter_count; i++) {
        const spyi_parameter *p = &interface->parameters[i];
        uint8_t use = p->kind == SPYI_PARAMETER_TEXELS ? SPYI_TEXEL_READS : SPYI_TEXEL_WRITES;
        bool texels = spyi_takes_bindings(p) && p->kind != SPYI_PARAMETER_BUFFER;
        if (p->kind == SPYI_PARAMETER_VALUES) continue;
        if (p->number != next || p->count == 0 ||
            (texels && !(limits->texels[p->scalar][p->columns - 1] & use)))
            return spyi_null_broken(n, error, "load: parameter %u: number %u, %u elements, or its format", i,
                                    p->number, p->count);
        next += p->count;
    }
    return SPY_OK;
}

static spy_status spyi_null_check_interface(spyi_null_gpu *n, const spyi_interface *interface,
                                            spyi_text *error) {
    const spyi_limits *limits = &n->base.limits;
    const spyi_kernel_base has = spyi_interface_counts(interface);
    const uint32_t threads = spyi_interface_threads(interface);
    if (threads == 0 || threads > limits->info.max_group_size)
        return spyi_null_broken(n, error, "load: %u threads are not a group of 1 to %u", threads,
                                limits->info.max_group_size);
    if (has.binding_count + has.uniform_count > limits->profile.max_bindings ||
        has.uniform_count > limits->profile.max_uniforms)
        return spyi_null_broken(n, error,
                                "load: %u bindings exceed the limit of %u, or %u of them uniform that of %u",
                                has.binding_count + has.uniform_count, limits->profile.max_bindings,
                                has.uniform_count, limits->profile.max_uniforms);
    if (has.block_size > limits->profile.max_block_bytes && !interface->block_by_address)
        return spyi_null_broken(n, error, "load: a block of %u bytes exceeds the limit of %u", has.block_size,
                                limits->profile.max_block_bytes);
    if (interface->block_by_address && !(limits->info.features & SPY_FEATURE_POINTERS))
        return spyi_null_broken(n, error, "load: the device has no addresses for a block");
    return spyi_null_check_parameters(n, interface, error);
}

static spy_status spyi_null_load(spyi_gpu *gpu, const spyi_kernel_desc *desc, spyi_kernel **kernel,
                                 spyi_text *error) {
    spyi_null_gpu *n = spyi_null_cast(gpu);
    const spyi_interface *interface = &desc->interface;
    spyi_null_kernel *k;
    spy_status status = spyi_null_step_status(n, SPYI_NULL_STEP_KERNEL, error);
    *kernel = NULL;
    if (status != SPY_OK) return status;
    if (!desc->code || desc->code_size == 0 || !desc->entry)
        return spyi_null_broken(n, error, "load: there is no code or no entry");
    status = spyi_null_check_interface(n, interface, error);
    if (status != SPY_OK) return status;
    if (n->on_kernel) {
        status = n->on_kernel(desc, n->on_kernel_data, error);
        if (status != SPY_OK) return status;
    }
    k = (spyi_null_kernel *)spyi_calloc(1, sizeof *k);
    if (k) k->label = spyi_strdup(desc->label ? desc->label : "");
    if (k)
        k->parameters = (spyi_parameter *)spyi_calloc(interface->parameter_count + 1, sizeof *k->parameters);
    if (!k || !k->label || !k->parameters) {
        if (k) free(k->label);
        if (k) free(k->parameters);
        free(k);
        spyi_text_add(error, "no host memory for a kernel");
        return SPY_ERROR_OUT_OF_MEMORY;
    }
    k->base = spyi_interface_counts(interface);
    k->interface = *interface;
    k->interface.parameters = k->parameters;
    if (interface->parameter_count)
        memcpy(k->parameters, interface->parameters, interface->parameter_count * sizeof *k->parameters);
    spyi_mutex_lock(&n->lock);
    n->counts.kernels++;
    spyi_mutex_unlock(&n->lock);
    *kernel = (spyi_kernel *)(void *)k;
    return SPY_OK;
}

static void spyi_null_destroy_kernel(spyi_gpu *gpu, spyi_kernel *kernel) {
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

// >>order

static bool spyi_null_overlap(uint64_t a, uint64_t a_offset, uint64_t a_size, uint64_t b, uint64_t b_offset,
                              uint64_t b_size) {
    return a && a == b && a_offset < b_offset + b_size && b_offset < a_offset + a_size;
}

// Whether `op` is known to touch the range. Handles are never 0, and 0 stands in a transfer's unused side.
static bool spyi_null_touches(const spyi_null_op *op, uint64_t handle, uint64_t offset, uint64_t size) {
    uint32_t i;
    if (spyi_null_overlap(op->to, op->to_offset, op->size, handle, offset, size)) return true;
    if (spyi_null_overlap(op->from, op->from_offset, op->size, handle, offset, size)) return true;
    for (i = 0; i < op->binding_count; i++) {
        const spyi_binding *b = &op->bindings[i];
        if (spyi_null_overlap(b->handle, b->offset, b->range, handle, offset, size)) return true;
    }
    return false;
}

// Two pieces of work need an order when a transfer of one writes what the other touches. (What a kernel
// writes is not known here: two dispatches, or a dispatch and a copy from what it has bound, may be right
// without a barrier.)
static bool spyi_null_need_order(const spyi_null_op *a, const spyi_null_op *b) {
    return (a->to && spyi_null_touches(b, a->to, a->to_offset, a->size)) ||
           (b->to && spyi_null_touches(a, b->to, b->to_offset, b->size));
}

static const char *spyi_null_kind_name(spyi_null_op_kind kind) {
    switch (kind) {
    case SPYI_NULL_DISPATCH: return "dispatch";
    case SPYI_NULL_COPY: return "copy";
    case SPYI_NULL_FILL: return "fill";
    case SPYI_NULL_LABEL: return "label";
    default: return "upload";
    }
}

// A barrier before a piece of work orders all earlier work before it and before all later work, but not
// itself before what follows.
static spy_status spyi_null_check_order(spyi_null_gpu *n, const spyi_null_op *op, spyi_text *error) {
    size_t i;
    if (op->barrier) return SPY_OK;
    for (i = n->op_count; i > n->done_count; i--) {
        const spyi_null_op *earlier = n->ops[i - 1];
        if (spyi_null_need_order(earlier, op))
            return spyi_null_broken(n, error, "%s: no barrier after the %s of submit %llu that it overlaps",
                                    spyi_null_kind_name(op->kind), spyi_null_kind_name(earlier->kind),
                                    (unsigned long long)earlier->submit);
        if (earlier->barrier) break;
    }
    return SPY_OK;
}

// >>recording

// An operation with `size` bytes of its own behind it, at *bytes.
static spyi_null_op *spyi_null_new_op(spyi_null_gpu *n, spyi_null_op_kind kind, bool barrier, uint64_t size,
                                      unsigned char **bytes, spyi_text *error) {
    const size_t head = spyi_align(sizeof(spyi_null_op), 16);
    spyi_null_op *op = NULL;
    if (n->op_count == n->op_capacity) {
        size_t capacity = n->op_capacity ? n->op_capacity * 2 : 64;
        spyi_null_op **ops = (spyi_null_op **)spyi_realloc(n->ops, capacity * sizeof *ops);
        if (ops) {
            n->ops = ops;
            n->op_capacity = capacity;
        }
    }
    if (n->op_count < n->op_capacity) op = (spyi_null_op *)spyi_malloc(head + (size_t)size);
    if (!op) {
        spyi_text_add(error, "no host memory to record a %s", spyi_null_kind_name(kind));
        return NULL;
    }
    memset(op, 0, sizeof *op);
    op->kind = kind;
    op->barrier = barrier;
    op->submit = n->open;
    *bytes = (unsigned char *)op + head;
    return op;
}

// Checks the order and adds the operation to the list, or frees it.
static spy_status spyi_null_add_op(spyi_null_gpu *n, spyi_null_op *op, spyi_text *error) {
    spy_status status = spyi_null_check_order(n, op, error);
    if (status != SPY_OK) {
        free(op);
        return status;
    }
    n->ops[n->op_count++] = op;
    n->open_has_work = true;
    if (op->barrier) n->base.stats.barriers++;
    return SPY_OK;
}

static spy_status spyi_null_begin(spyi_null_gpu *n, spyi_text *error) {
    spy_status status =
        n->lost ? spyi_null_lost(error) : spyi_null_step_status(n, SPYI_NULL_STEP_RECORD, error);
    if (status == SPY_ERROR_DEVICE_LOST && !n->lost) spyi_null_lose(n);
    return status;
}

static spy_status spyi_null_check_dispatch(spyi_null_gpu *n, const spyi_dispatch *d, spyi_text *error) {
    const spyi_limits *limits = &n->base.limits;
    const spyi_null_kernel *k = (const spyi_null_kernel *)(const void *)d->kernel;
    uint32_t i;
    if (!k) return spyi_null_broken(n, error, "dispatch: the kernel is NULL");
    if (d->indirect) {
        if (d->indirect_offset % 4 != 0)
            return spyi_null_broken(n, error, "dispatch of \"%s\": group counts at %llu are misaligned",
                                    k->label, (unsigned long long)d->indirect_offset);
        if (!spyi_null_range(n, "dispatch: group counts", d->indirect, d->indirect_offset, sizeof d->groups,
                             error))
            return SPY_ERROR_INTERNAL;
    }
    for (i = 0; i < 3 && !d->indirect; i++) {
        if (d->groups[i] == 0 || d->groups[i] > limits->info.max_group_count)
            return spyi_null_broken(n, error, "dispatch of \"%s\": %u groups in dimension %u are not 1 to %u",
                                    k->label, d->groups[i], i, limits->info.max_group_count);
    }
    if ((k->base.block_size && !d->block) || (k->base.binding_count && !d->bindings) ||
        (k->base.uniform_count && !d->uniforms))
        return spyi_null_broken(n, error, "dispatch of \"%s\": its block or its bindings are NULL", k->label);
    for (i = 0; i < k->base.uniform_count; i++) {
        const spyi_uniform *u = &d->uniforms[i];
        if (!u->data || (u->size == 0 && !spyi_rules_of(limits->profile.target)->by_address) ||
            u->size > limits->profile.max_uniform_bytes)
            return spyi_null_broken(n, error,
                                    "dispatch of \"%s\": uniform buffer %u has %u bytes, not 1 to %u",
                                    k->label, i, u->data ? u->size : 0, limits->profile.max_uniform_bytes);
    }
    for (i = 0; i < k->base.binding_count; i++) {
        const spyi_binding *b = &d->bindings[i];
        const spyi_parameter *s = spyi_interface_find(&k->interface, i);
        bool texels = s->kind != SPYI_PARAMETER_BUFFER;
        uint64_t texel = texels ? spyi_scalar_size((spy_dtype)s->scalar) * s->columns : 1;
        if (b->kind != SPYI_BINDING_BUFFER)
            return spyi_null_broken(n, error, "dispatch of \"%s\": binding %u is no buffer", k->label, i);
        if (b->offset % (texels ? limits->texel_alignment : limits->binding_alignment) != 0 ||
            b->range % texel != 0 ||
            b->range > (texels ? limits->max_texels * texel : limits->max_binding_bytes))
            return spyi_null_broken(
                n, error,
                "dispatch of \"%s\": binding %u: offset %llu is misaligned, or range %llu too large",
                k->label, i, (unsigned long long)b->offset, (unsigned long long)b->range);
        if (!spyi_null_range(n, "dispatch: binding", b->handle, b->offset, b->range, error))
            return SPY_ERROR_INTERNAL;
    }
    return SPY_OK;
}

static spy_status spyi_null_dispatch(spyi_gpu *gpu, const spyi_work *work, spyi_text *error) {
    const spyi_dispatch *d = (const spyi_dispatch *)(const void *)work;
    spyi_null_gpu *n = spyi_null_cast(gpu);
    spyi_null_kernel *k = (spyi_null_kernel *)(void *)d->kernel;
    spyi_null_op *op;
    unsigned char *bytes;
    size_t block_size, binding_size, uniform_size, label_size;
    uint32_t i;
    spy_status status = spyi_null_begin(n, error);
    if (status == SPY_OK) status = spyi_null_check_dispatch(n, d, error);
    if (status != SPY_OK) return status;
    block_size = spyi_align(k->base.block_size, 16); // so that the bindings behind it are aligned
    binding_size = k->base.binding_count * sizeof(spyi_binding);
    uniform_size = k->base.uniform_count * sizeof(spyi_uniform);
    for (i = 0; i < k->base.uniform_count; i++) uniform_size += spyi_align(d->uniforms[i].size, 16);
    label_size = strlen(k->label) + 1;
    op = spyi_null_new_op(n, SPYI_NULL_DISPATCH, work->before.barrier,
                          block_size + binding_size + uniform_size + label_size, &bytes, error);
    if (!op) return SPY_ERROR_OUT_OF_MEMORY;
    op->kernel = k;
    op->group_size = spyi_interface_threads(&k->interface);
    if (d->indirect) {
        op->from = d->indirect;
        op->from_offset = d->indirect_offset;
        op->from_memory = spyi_null_range(n, "dispatch", op->from, op->from_offset, sizeof op->groups, error);
        op->size = sizeof op->groups;
    } else {
        memcpy(op->groups, d->groups, sizeof op->groups);
    }
    op->block_by_address = k->interface.block_by_address;
    op->block_size = k->base.block_size;
    op->block = bytes;
    if (k->base.block_size) memcpy(bytes, d->block, k->base.block_size);
    bytes += block_size;
    op->binding_count = k->base.binding_count;
    op->bindings = (const spyi_binding *)(void *)bytes;
    op->interface = &k->interface;
    if (binding_size) memcpy(bytes, d->bindings, binding_size);
    bytes += binding_size;
    if (k->base.uniform_count) {
        spyi_uniform *uniforms = (spyi_uniform *)(void *)bytes;
        op->uniform_count = k->base.uniform_count;
        op->uniforms = uniforms;
        bytes += k->base.uniform_count * sizeof *uniforms;
        for (i = 0; i < k->base.uniform_count; i++) {
            memcpy(bytes, d->uniforms[i].data, d->uniforms[i].size);
            uniforms[i].data = bytes;
            uniforms[i].size = d->uniforms[i].size;
            bytes += spyi_align(d->uniforms[i].size, 16);
        }
    }
    op->label = (const char *)bytes;
    memcpy(bytes, k->label, label_size);
    status = spyi_null_add_op(n, op, error);
    if (status != SPY_OK) return status;
    spyi_atomic_add(&k->pending, 1);
    n->recorded_dispatches++;
    n->base.stats.dispatches++;
    return SPY_OK;
}

static spy_status spyi_null_copy(spyi_gpu *gpu, const spyi_work *work, spyi_text *error) {
    const spyi_copy_work *c = (const spyi_copy_work *)(const void *)work;
    spyi_null_gpu *n = spyi_null_cast(gpu);
    spyi_null_op *op;
    unsigned char *to_memory, *from_memory, *bytes;
    spy_status status = spyi_null_begin(n, error);
    if (status != SPY_OK) return status;
    to_memory = spyi_null_range(n, "copy: to", c->to->handle, c->to_offset, c->size, error);
    if (!to_memory) return SPY_ERROR_INTERNAL;
    from_memory = spyi_null_range(n, "copy: from", c->from->handle, c->from_offset, c->size, error);
    if (!from_memory) return SPY_ERROR_INTERNAL;
    if (spyi_null_overlap(c->to->handle, c->to_offset, c->size, c->from->handle, c->from_offset, c->size))
        return spyi_null_broken(n, error, "copy: the two ranges overlap");
    op = spyi_null_new_op(n, SPYI_NULL_COPY, work->before.barrier, 0, &bytes, error);
    if (!op) return SPY_ERROR_OUT_OF_MEMORY;
    op->to = c->to->handle;
    op->to_offset = c->to_offset;
    op->to_memory = to_memory;
    op->from = c->from->handle;
    op->from_offset = c->from_offset;
    op->from_memory = from_memory;
    op->size = c->size;
    return spyi_null_add_op(n, op, error);
}

static spy_status spyi_null_fill(spyi_gpu *gpu, const spyi_work *work, spyi_text *error) {
    const spyi_fill_work *f = (const spyi_fill_work *)(const void *)work;
    spyi_null_gpu *n = spyi_null_cast(gpu);
    const uint32_t alignment = n->base.limits.fill_alignment;
    spyi_null_op *op;
    unsigned char *memory, *bytes;
    spy_status status = spyi_null_begin(n, error);
    if (status != SPY_OK) return status;
    if (f->offset % alignment != 0 || f->size % alignment != 0)
        return spyi_null_broken(n, error, "fill: offset %llu and size %llu must be multiples of %u",
                                (unsigned long long)f->offset, (unsigned long long)f->size, alignment);
    memory = spyi_null_range(n, "fill", f->to->handle, f->offset, f->size, error);
    if (!memory) return SPY_ERROR_INTERNAL;
    op = spyi_null_new_op(n, SPYI_NULL_FILL, work->before.barrier, 0, &bytes, error);
    if (!op) return SPY_ERROR_OUT_OF_MEMORY;
    op->to = f->to->handle;
    op->to_offset = f->offset;
    op->to_memory = memory;
    op->size = f->size;
    op->pattern = f->pattern;
    return spyi_null_add_op(n, op, error);
}

static spy_status spyi_null_write(spyi_gpu *gpu, const spyi_chunk *to, uint64_t offset, const void *data,
                                  uint64_t size, bool barrier, spyi_text *error) {
    spyi_null_gpu *n = spyi_null_cast(gpu);
    spyi_null_op *op;
    unsigned char *memory, *bytes;
    spy_status status = spyi_null_begin(n, error);
    if (status != SPY_OK) return status;
    memory = spyi_null_range(n, "upload", to->handle, offset, size, error);
    if (!memory) return SPY_ERROR_INTERNAL;
    op = spyi_null_new_op(n, SPYI_NULL_UPLOAD, barrier, size, &bytes, error);
    if (!op) return SPY_ERROR_OUT_OF_MEMORY;
    memcpy(bytes, data, (size_t)size); // it may change after the return
    op->data = bytes;
    op->to = to->handle;
    op->to_offset = offset;
    op->to_memory = memory;
    op->size = size;
    return spyi_null_add_op(n, op, error);
}

static spy_status spyi_null_upload(spyi_gpu *gpu, const spyi_work *work, spyi_text *error) {
    const spyi_upload_work *u = (const spyi_upload_work *)(const void *)work;
    return spyi_null_write(gpu, u->to, u->offset, u->data, u->size, work->before.barrier, error);
}

// >>submits

static uint64_t spyi_null_open_submit(spyi_gpu *gpu) {
    return spyi_null_cast(gpu)->open;
}

static uint64_t spyi_null_finished_submit(spyi_gpu *gpu) {
    return spyi_null_cast(gpu)->finished;
}

static spy_status spyi_null_submit(spyi_gpu *gpu, spyi_text *error) {
    spyi_null_gpu *n = spyi_null_cast(gpu);
    spy_status status;
    if (n->lost) return spyi_null_lost(error);
    if (!n->open_has_work) return SPY_OK;
    status = spyi_null_step_status(n, SPYI_NULL_STEP_SUBMIT, error);
    if (status == SPY_ERROR_DEVICE_LOST) spyi_null_lose(n);
    if (status != SPY_OK) return status;
    n->open++;
    n->open_has_work = false;
    n->base.stats.submits++;
    if (!n->hold) spyi_null_run_up_to(n, n->open - 1);
    return SPY_OK;
}

static spy_status spyi_null_wait(spyi_gpu *gpu, uint64_t submit, uint64_t timeout_ns, spyi_text *error) {
    spyi_null_gpu *n = spyi_null_cast(gpu);
    if (n->lost) return spyi_null_lost(error);
    if (submit >= n->open) {
        spy_status status = spyi_null_submit(gpu, error);
        if (status != SPY_OK) return status;
        submit = n->open - 1;
    }
    if (submit <= n->finished) return SPY_OK;
    if (timeout_ns != UINT64_MAX) {
        spyi_text_add(error, "submit %llu has not finished", (unsigned long long)submit);
        return SPY_ERROR_NOT_READY;
    }
    spyi_null_run_up_to(n, submit);
    return SPY_OK;
}

static spy_status spyi_null_download(spyi_gpu *gpu, void *data, const spyi_chunk *from, uint64_t offset,
                                     uint64_t size, uint64_t after, spyi_text *error) {
    spyi_null_gpu *n = spyi_null_cast(gpu);
    const unsigned char *memory;
    size_t i;
    spy_status status = n->lost ? spyi_null_lost(error) : spyi_null_wait(gpu, after, UINT64_MAX, error);
    if (status != SPY_OK) return status;
    memory = spyi_null_range(n, "download", from->handle, offset, size, error);
    if (!memory) return SPY_ERROR_INTERNAL;
    for (i = n->done_count; i < n->op_count; i++) {
        const spyi_null_op *op = n->ops[i];
        if (spyi_null_overlap(op->to, op->to_offset, op->size, from->handle, offset, size))
            return spyi_null_broken(
                n, error, "download after submit %llu: the %s of submit %llu still writes there",
                (unsigned long long)after, spyi_null_kind_name(op->kind), (unsigned long long)op->submit);
    }
    memcpy(data, memory, (size_t)size);
    return SPY_OK;
}

// >>timers: a dispatch takes 1000 ns

static spy_status spyi_null_time_begin(spyi_gpu *gpu, spyi_text *error) {
    spyi_null_gpu *n = spyi_null_cast(gpu);
    if (n->lost) return spyi_null_lost(error);
    if (n->time_state == 1) return spyi_null_broken(n, error, "time_begin: the last one has not ended");
    n->time_state = 1;
    n->time_first = n->recorded_dispatches;
    n->open_has_work = true;
    return SPY_OK;
}

static spy_status spyi_null_time_end(spyi_gpu *gpu, spyi_text *error) {
    spyi_null_gpu *n = spyi_null_cast(gpu);
    if (n->lost) return spyi_null_lost(error);
    if (n->time_state != 1) return spyi_null_broken(n, error, "time_end: there was no time_begin");
    n->time_state = 2;
    n->time_last = n->recorded_dispatches;
    n->time_submit = n->open;
    n->open_has_work = true;
    return SPY_OK;
}

static spy_status spyi_null_time_elapsed(spyi_gpu *gpu, uint64_t *ns, spyi_text *error) {
    spyi_null_gpu *n = spyi_null_cast(gpu);
    spy_status status;
    if (n->time_state != 2) return spyi_null_broken(n, error, "time_elapsed: there was no time_end");
    status = spyi_null_wait(gpu, n->time_submit, UINT64_MAX, error);
    if (status == SPY_OK) *ns = (n->time_last - n->time_first) * 1000u;
    return status;
}

// The clock stands at 1000 ticks for each dispatch recorded so far.
static spy_status spyi_null_time_mark(spyi_gpu *gpu, const spyi_work *work, spyi_text *error) {
    uint32_t slot = ((const spyi_time_mark_work *)(const void *)work)->slot;
    spyi_null_gpu *n = spyi_null_cast(gpu);
    spy_status status = spyi_null_begin(n, error);
    if (status != SPY_OK) return status;
    if (slot >= SPYI_TIME_SLOTS)
        return spyi_null_broken(n, error, "time_mark: slot %u is not below %u", slot, SPYI_TIME_SLOTS);
    n->marks[slot] = n->recorded_dispatches * 1000u;
    n->open_has_work = true;
    return SPY_OK;
}

static spy_status spyi_null_time_store(spyi_gpu *gpu, const spyi_work *work, spyi_text *error) {
    const spyi_time_store_work *s = (const spyi_time_store_work *)(const void *)work;
    spyi_null_gpu *n = spyi_null_cast(gpu);
    if (s->count == 0 || s->count > SPYI_TIME_SLOTS || s->offset % sizeof *n->marks)
        return spyi_null_broken(n, error, "time_store: %u slots to byte %llu", s->count,
                                (unsigned long long)s->offset);
    return spyi_null_write(gpu, s->to, s->offset, n->marks, s->count * sizeof *n->marks, work->before.barrier,
                           error);
}

// >>labels

static spy_status spyi_null_label(spyi_gpu *gpu, const spyi_work *work, spyi_text *error) {
    const spyi_label_work *l = (const spyi_label_work *)(const void *)work;
    const spyi_label kind = l->label;
    const char *name = l->name;
    spyi_null_gpu *n = spyi_null_cast(gpu);
    spyi_null_op *op;
    unsigned char *bytes;
    size_t size;
    spy_status status = spyi_null_begin(n, error);
    if (status != SPY_OK) return status;
    if (kind == SPYI_LABEL_POP && n->label_depth == 0)
        return spyi_null_broken(n, error, "label: a pop without a push");
    if (kind != SPYI_LABEL_POP && !name) return spyi_null_broken(n, error, "label: the name is NULL");
    size = kind == SPYI_LABEL_POP ? 1 : strlen(name) + 1;
    op = spyi_null_new_op(n, SPYI_NULL_LABEL, false, size, &bytes, error);
    if (!op) return SPY_ERROR_OUT_OF_MEMORY;
    memcpy(bytes, kind == SPYI_LABEL_POP ? "" : name, size);
    op->label = (const char *)bytes;
    if (kind == SPYI_LABEL_PUSH) n->label_depth++;
    if (kind == SPYI_LABEL_POP) n->label_depth--;
    return spyi_null_add_op(n, op, error);
}

// >>device

static void spyi_null_limits(spyi_limits *limits, const spyi_null_desc *d) {
    const uint32_t all_features = SPY_FEATURE_FLOAT16 | SPY_FEATURE_FLOAT64 | SPY_FEATURE_INT8 |
                                  SPY_FEATURE_INT16 | SPY_FEATURE_INT64 | SPY_FEATURE_ATOMIC_FLOAT32_ADD |
                                  SPY_FEATURE_TIMESTAMPS | SPY_FEATURE_SUBGROUPS | SPY_FEATURE_POINTERS;
    spy_device_info *info = &limits->info;
    spyi_profile *profile = &limits->profile;
    uint32_t i, columns;
    memset(limits, 0, sizeof *limits);
    profile->target = d->target;
    profile->max_block_bytes = spyi_null_u32(d->max_block_bytes, 128);
    profile->max_bindings = d->pointers_only ? 0 : spyi_null_u32(d->max_bindings, 16);
    limits->binding_alignment = spyi_null_u32(d->binding_alignment, 64);
    limits->max_binding_bytes = spyi_null_u64(d->max_binding_bytes, (uint64_t)1 << 30);
    limits->texel_alignment = spyi_null_u32(d->texel_alignment, 64);
    limits->max_texels = spyi_null_u64(d->max_texels, (uint64_t)64 << 20);
    for (i = 0; i < SPY_DTYPE_COUNT && !d->no_texels; i++)
        for (columns = 0; columns < 4; columns++)
            if (i != SPY_BOOL && spyi_scalar_size((spy_dtype)i) <= 4 && columns != 2)
                limits->texels[i][columns] = SPYI_TEXEL_READS | SPYI_TEXEL_WRITES;
    profile->max_uniforms = spyi_null_u32(d->max_uniforms, 12);
    profile->max_uniform_bytes = spyi_null_u32(d->max_uniform_bytes, 65536);
    limits->fill_alignment = spyi_null_u32(d->fill_alignment, 4);
    profile->prefers_bindings = d->prefers_bindings;
    profile->bindings_from_bytes = spyi_null_u64(d->bindings_from_bytes, UINT64_MAX);
    limits->unified_memory = d->unified_memory;
    info->backend = "null";
    memcpy(info->name, "null device", sizeof "null device");
    memcpy(info->driver, "none", sizeof "none");
    info->type = SPY_ADAPTER_CPU;
    info->features = spyi_null_u32(d->features, all_features);
    if (d->bindings_only) info->features &= ~SPY_FEATURE_POINTERS;
    info->subgroup_size = spyi_null_u32(d->subgroup_size, 32);
    info->max_group_size = spyi_null_u32(d->max_group_size, 1024);
    info->max_group_count = spyi_null_u32(d->max_group_count, 65535);
    info->max_inline_block_bytes = profile->max_block_bytes;
    info->memory_bytes = spyi_null_u64(d->memory_bytes, (uint64_t)4 << 30);
    info->max_binding_bytes = limits->max_binding_bytes;
    info->timestamp_period_ns = d->timestamp_period_ns > 0 ? d->timestamp_period_ns : 1;
    if (!(info->features & SPY_FEATURE_TIMESTAMPS)) info->timestamp_period_ns = 0;
    spyi_profile_of_info(profile, info);
}

static size_t spyi_null_enumerate(spy_device_info *infos, size_t capacity, spyi_text *error) {
    spyi_null_desc d;
    spyi_limits limits;
    (void)error;
    memset(&d, 0, sizeof d);
    spyi_null_limits(&limits, &d);
    if (infos && capacity > 0) infos[0] = limits.info;
    return 1;
}

static spy_status spyi_null_create(spyi_context *ctx, const spy_device_desc *desc, spyi_gpu **gpu,
                                   spyi_text *error) {
    spyi_null_desc d;
    spyi_null_gpu *n;
    memset(&d, 0, sizeof d);
    if (desc->backend_desc) d = *(const spyi_null_desc *)desc->backend_desc;
    *gpu = NULL;
    if (d.fail_create) {
        spyi_text_add(error, "the test asked for this failure: %s", spy_status_text(SPY_ERROR_NO_DEVICE));
        return SPY_ERROR_NO_DEVICE;
    }
    n = (spyi_null_gpu *)spyi_allocate(ctx, sizeof *n);
    if (!n) {
        spyi_text_add(error, "no host memory for the device");
        return SPY_ERROR_OUT_OF_MEMORY;
    }
    n->base.backend = spyi_null_backend();
    n->base.slices = true;
    n->base.ctx = ctx;
    spyi_null_limits(&n->base.limits, &d);
    n->memory_bytes = n->base.limits.info.memory_bytes;
    n->last_handle = 1000; // small numbers would pass for an index or an offset
    n->open = 1;
    n->hold = d.hold_submits;
    n->no_log = d.no_log;
    n->on_kernel = d.on_kernel;
    n->on_kernel_data = d.on_kernel_data;
    n->report = d.report ? d.report : &n->own_report;
    spyi_mutex_init(&n->lock);
    *gpu = (spyi_gpu *)(void *)n;
    return SPY_OK;
}

static void spyi_null_destroy(spyi_gpu *gpu) {
    spyi_null_gpu *n = spyi_null_cast(gpu);
    spyi_text error = { NULL, 0, 0 };
    size_t i;
    if (!n) return;
    if (!n->lost) spyi_null_wait(gpu, n->open, UINT64_MAX, &error);
    if (!n->lost && n->open_has_work) spyi_null_lose(n); // a submit that was told to fail
    if (n->counts.chunks > 0)
        spyi_null_broken(n, NULL, "destroy: %llu chunks were not freed",
                         (unsigned long long)n->counts.chunks);
    if (n->counts.kernels > 0)
        spyi_null_broken(n, NULL, "destroy: %llu kernels were not destroyed",
                         (unsigned long long)n->counts.kernels);
    while (n->chunks) {
        spyi_null_chunk *c = n->chunks;
        n->chunks = c->next;
        free(c->block);
        free(c);
    }
    for (i = 0; i < n->op_count; i++) free(n->ops[i]);
    free(n->ops);
    spyi_text_free(&error);
    spyi_text_free(&n->own_report);
    spyi_mutex_destroy(&n->lock);
    spyi_free(n->base.ctx, n, sizeof *n);
}

static const struct spyi_backend spyi_null_table = { "null",
                                                     spyi_null_enumerate,
                                                     spyi_null_create,
                                                     spyi_null_destroy,
                                                     spyi_null_allocate_chunk,
                                                     spyi_null_free_chunk,
                                                     spyi_compile_as_is,
                                                     spyi_null_load,
                                                     spyi_null_destroy_kernel,
                                                     { spyi_null_dispatch, spyi_null_copy, spyi_null_fill,
                                                       spyi_null_upload, spyi_null_label, spyi_null_time_mark,
                                                       spyi_null_time_store },
                                                     spyi_null_download,
                                                     spyi_null_time_begin,
                                                     spyi_null_time_end,
                                                     spyi_null_time_elapsed,
                                                     spyi_null_open_submit,
                                                     spyi_null_finished_submit,
                                                     spyi_null_submit,
                                                     spyi_null_wait,
                                                     NULL, // no graphs
                                                     NULL,
                                                     NULL,
                                                     NULL,
                                                     NULL };

const spy_backend *spyi_null_backend(void) {
    return &spyi_null_table;
}

// >>what a test asks and sets

size_t spyi_null_op_count(spyi_gpu *gpu) {
    return spyi_null_cast(gpu)->op_count;
}

const spyi_null_op *spyi_null_get_op(spyi_gpu *gpu, size_t index) {
    spyi_null_gpu *n = spyi_null_cast(gpu);
    return index < n->op_count ? n->ops[index] : NULL;
}

void spyi_null_clear_ops(spyi_gpu *gpu) {
    spyi_null_forget_done(spyi_null_cast(gpu));
}

void spyi_null_on_dispatch(spyi_gpu *gpu, spyi_null_func func, void *user_data) {
    spyi_null_gpu *n = spyi_null_cast(gpu);
    n->func = func;
    n->user_data = user_data;
}

void *spyi_null_memory(spyi_gpu *gpu, uint64_t handle, uint64_t offset) {
    spyi_null_chunk *c = spyi_null_find(spyi_null_cast(gpu), handle);
    return c && offset < c->size ? c->data + offset : NULL;
}

spyi_chunk spyi_null_import(spyi_gpu *gpu, void *memory, size_t size) {
    spyi_null_gpu *n = spyi_null_cast(gpu);
    spyi_null_chunk *c = spyi_null_add_chunk(n, NULL, (unsigned char *)memory, size);
    spyi_chunk none;
    memset(&none, 0, sizeof none);
    return c ? spyi_null_describe(n, c, false) : none;
}

void spyi_null_hold_submits(spyi_gpu *gpu, bool hold) {
    spyi_null_gpu *n = spyi_null_cast(gpu);
    n->hold = hold;
    if (!hold) spyi_null_run_up_to(n, n->open - 1);
}

void spyi_null_finish(spyi_gpu *gpu, uint64_t submit) {
    spyi_null_run_up_to(spyi_null_cast(gpu), submit);
}

void spyi_null_fail(spyi_gpu *gpu, spyi_null_step step, uint32_t skip, spy_status status) {
    spyi_null_gpu *n = spyi_null_cast(gpu);
    spyi_mutex_lock(&n->lock);
    n->fail_status[step] = status;
    n->fail_skip[step] = skip;
    spyi_mutex_unlock(&n->lock);
}

const char *spyi_null_report(spyi_gpu *gpu) {
    return spyi_text_str(spyi_null_cast(gpu)->report);
}

spyi_null_counts spyi_null_get_counts(spyi_gpu *gpu) {
    spyi_null_gpu *n = spyi_null_cast(gpu);
    spyi_null_counts counts;
    spyi_mutex_lock(&n->lock);
    counts = n->counts;
    spyi_mutex_unlock(&n->lock);
    return counts;
}

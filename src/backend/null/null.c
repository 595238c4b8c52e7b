// The null backend's device, and the functions that tests call.
#include "backend/null/internal.h"

static uint32_t spyi_null_u32(uint32_t value, uint32_t if_zero) {
    return value ? value : if_zero;
}

static uint64_t spyi_null_u64(uint64_t value, uint64_t if_zero) {
    return value ? value : if_zero;
}

static void spyi_null_limits(spyi_limits *limits, const spyi_null_desc *d) {
    const uint32_t all_features = SPY_FEATURE_FLOAT16 | SPY_FEATURE_FLOAT64 | SPY_FEATURE_INT8 |
                                  SPY_FEATURE_INT16 | SPY_FEATURE_INT64 | SPY_FEATURE_ATOMIC_FLOAT32_ADD |
                                  SPY_FEATURE_TIMESTAMPS | SPY_FEATURE_SUBGROUPS | SPY_FEATURE_POINTERS |
                                  SPY_FEATURE_COOPERATIVE_MATRIX | SPY_FEATURE_COOPERATIVE_MATRIX_CONVERSIONS;
    spy_device_info *info = &limits->info;
    spyi_profile *profile = &limits->profile;
    memset(limits, 0, sizeof *limits);
    profile->target = d->target;
    profile->max_block_bytes = spyi_null_u32(d->max_block_bytes, 128);
    profile->max_bindings = d->pointers_only ? 0 : spyi_null_u32(d->max_bindings, 16);
    limits->binding_alignment = spyi_null_u32(d->binding_alignment, 64);
    limits->max_binding_bytes = spyi_null_u64(d->max_binding_bytes, (uint64_t)1 << 30);
    limits->texel_alignment = spyi_null_u32(d->texel_alignment, 64);
    limits->max_texels = spyi_null_u64(d->max_texels, (uint64_t)64 << 20);
    if (!d->no_texels) spyi_offline_texels(limits);
    profile->max_uniforms = spyi_null_u32(d->max_uniforms, 12);
    profile->max_uniform_bytes = spyi_null_u32(d->max_uniform_bytes, 65536);
    limits->fill_alignment = spyi_null_u32(d->fill_alignment, 4);
    profile->prefers_bindings = d->prefers_bindings;
    profile->bindings_from_bytes = spyi_null_u64(d->bindings_from_bytes, UINT64_MAX);
    profile->tiles_from = spyi_null_u64(d->tiles_from, d->prefers_bindings ? UINT64_MAX : SPYI_TILES_FROM);
    limits->unified_memory = d->unified_memory;
    info->backend = "null";
    memcpy(info->name, "null device", sizeof "null device");
    memcpy(info->driver, "none", sizeof "none");
    info->type = SPY_ADAPTER_TYPE_CPU;
    info->features = spyi_null_u32(d->features, all_features);
    if (d->bindings_only) info->features &= ~(uint32_t)SPY_FEATURE_POINTERS;
    info->subgroup_size = spyi_null_u32(d->subgroup_size, 32);
    info->max_group_size = spyi_null_u32(d->max_group_size, 1024);
    info->max_groupshared_bytes = 49152;
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
    n->last_handle = 1000; // large numbers, which no test mistakes for an index or an offset
    n->base.open = 1;
    n->hold = d.hold_submits;
    n->no_log = d.no_log;
    n->on_kernel = d.on_kernel;
    n->on_raster = d.on_raster;
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
    if (!n->lost) spyi_null_wait(gpu, n->base.open, UINT64_MAX, &error);
    if (!n->lost && n->open_has_work) spyi_null_lose(n); // a test ordered a submit to fail
    if (n->counts.chunks > 0)
        spyi_null_broken(n, NULL, "destroy: %llu chunks were not freed",
                         (unsigned long long)n->counts.chunks);
    if (n->counts.kernels > 0)
        spyi_null_broken(n, NULL, "destroy: %llu kernels were not destroyed",
                         (unsigned long long)n->counts.kernels);
    spyi_null_free_images(n);
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

// One function logs work of all kinds.
#define SPYI_NULL_RECORDS(f) f, f, f, f, f, f, f, f, f, f, f, f, f, f, f, f, f, f, f, f, f, f, f, f

static const spyi_image_functions spyi_null_images = { spyi_offline_image_support,
                                                       spyi_null_create_image,
                                                       spyi_null_destroy_image,
                                                       spyi_null_create_view,
                                                       spyi_null_destroy_view,
                                                       spyi_null_create_sampler,
                                                       spyi_null_destroy_sampler,
                                                       NULL,
                                                       NULL };

static const spyi_raster_functions spyi_null_raster = { spyi_null_load_raster };

static const struct spyi_backend spyi_null_table = { "null",
                                                     spyi_null_enumerate,
                                                     spyi_null_create,
                                                     spyi_null_destroy,
                                                     spyi_null_allocate_chunk,
                                                     spyi_null_free_chunk,
                                                     spyi_compile_as_is,
                                                     NULL, // no repairs of CUDA's text
                                                     NULL, // no compiler to open
                                                     spyi_null_load,
                                                     spyi_null_destroy_kernel,
                                                     { SPYI_NULL_RECORDS(spyi_null_record) },
                                                     spyi_null_download,
                                                     spyi_null_time_begin,
                                                     spyi_null_time_end,
                                                     spyi_null_time_elapsed,
                                                     spyi_null_finished_submit,
                                                     spyi_null_submit,
                                                     spyi_null_wait,
                                                     NULL, // no functions for graphs
                                                     NULL,
                                                     NULL,
                                                     NULL,
                                                     NULL,
                                                     NULL,
                                                     NULL, // no `watch`: there is no stream of the program
                                                     &spyi_null_images,
                                                     &spyi_null_raster,
                                                     SPYI_TARGET_SPIRV }; // the target, unless the desc gives
                                                                          // another one

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
    if (!hold) spyi_null_run_up_to(n, n->base.open - 1);
}

void spyi_null_finish(spyi_gpu *gpu, uint64_t submit) {
    spyi_null_run_up_to(spyi_null_cast(gpu), submit);
}

spyi_null_counts spyi_null_get_counts(spyi_gpu *gpu) {
    spyi_null_gpu *n = spyi_null_cast(gpu);
    spyi_null_counts counts;
    spyi_mutex_lock(&n->lock);
    counts = n->counts;
    spyi_mutex_unlock(&n->lock);
    return counts;
}

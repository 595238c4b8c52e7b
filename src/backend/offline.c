// The offline backend: host memory for buffers, kernels without code, and work that is done when it is
// recorded, or left out.
#include "backend/offline.h"
#include "backend/raster.h"
#include "backend/target.h"

typedef struct spyi_offline_gpu {
    spyi_gpu_base base;
    uint64_t last_handle; // of images, views and samplers; the handle of a chunk is its address
    bool has_work;        // the open batch has work
} spyi_offline_gpu;

// >>the device

SPYI_FN void spyi_offline_texels(spyi_limits *limits) {
    for (uint32_t i = 0; i < SPY_DTYPE_COUNT; i++)
        for (uint32_t columns = 0; columns < 4; columns++)
            if (i != SPY_DTYPE_BOOL && spy_dtype_size_bytes((spy_dtype)i) <= 4 && columns != 2)
                limits->texels[i][columns] = SPYI_TEXEL_READS | SPYI_TEXEL_WRITES;
}

// These limits decide the texts of kernels, so packs that were made with others have other kernels.
static void spyi_offline_limits(spyi_limits *limits, const spy_device_desc *desc) {
    spy_device_info *info = &limits->info;
    spyi_profile *profile = &limits->profile;
    bool cuda = desc->backend->target == SPYI_TARGET_CUDA;
    profile->target = desc->backend->target;
    profile->max_block_bytes = cuda ? 4096 : 128;
    profile->max_bindings = cuda ? 64 : 32;
    profile->max_uniforms = 32;
    profile->max_uniform_bytes = 65536;
    profile->prefers_bindings = !cuda && desc->adapter_type == SPY_ADAPTER_TYPE_CPU;
    profile->bindings_from_bytes = cuda ? UINT64_MAX : (uint64_t)8 << 20;
    profile->tiles_from = profile->prefers_bindings ? UINT64_MAX : SPYI_TILES_FROM;
    limits->binding_alignment = 64;
    limits->max_binding_bytes = (uint64_t)1 << 30;
    limits->texel_alignment = 64;
    limits->max_texels = (uint64_t)64 << 20;
    limits->fill_alignment = 4;
    spyi_offline_texels(limits);
    info->backend = "null";
    memcpy(info->name, "null device", sizeof "null device");
    memcpy(info->driver, "none", sizeof "none");
    info->type = SPY_ADAPTER_TYPE_CPU;
    info->features = SPY_FEATURE_FLOAT16 | SPY_FEATURE_FLOAT64 | SPY_FEATURE_INT8 | SPY_FEATURE_INT16 |
                     SPY_FEATURE_INT64 | SPY_FEATURE_ATOMIC_FLOAT32_ADD | SPY_FEATURE_TIMESTAMPS |
                     SPY_FEATURE_SUBGROUPS | SPY_FEATURE_POINTERS | SPY_FEATURE_COOPERATIVE_MATRIX |
                     SPY_FEATURE_COOPERATIVE_MATRIX_CONVERSIONS;
    info->subgroup_size = 32;
    info->max_group_size = 1024;
    info->max_groupshared_bytes = 49152;
    info->max_group_count = 65535;
    info->max_inline_block_bytes = profile->max_block_bytes;
    info->memory_bytes = (uint64_t)4 << 30;
    info->max_binding_bytes = limits->max_binding_bytes;
    info->timestamp_period_ns = 1;
    spyi_profile_of_info(profile, info);
}

static spy_status spyi_offline_create(spyi_context *ctx, const spy_device_desc *desc, spyi_gpu **gpu,
                                      spyi_text *error) {
    spyi_offline_gpu *o = (spyi_offline_gpu *)spyi_allocate(ctx, sizeof *o);
    *gpu = (spyi_gpu *)(void *)o;
    if (!o) {
        spyi_text_add(error, "no host memory for the device");
        return SPY_ERROR_OUT_OF_MEMORY;
    }
    o->base.backend = spyi_offline_backend();
    o->base.slices = true;
    o->base.ctx = ctx;
    o->base.open = 1;
    spyi_offline_limits(&o->base.limits, desc);
    return SPY_OK;
}

static void spyi_offline_destroy(spyi_gpu *gpu) {
    if (gpu) spyi_free(((spyi_gpu_base *)(void *)gpu)->ctx, gpu, sizeof(spyi_offline_gpu));
}

// >>memory

static spy_status spyi_offline_allocate_chunk(spyi_gpu *gpu, spyi_memory memory, size_t size,
                                              const char *label, spyi_chunk *chunk, spyi_text *error) {
    spyi_gpu_base *base = (spyi_gpu_base *)(void *)gpu;
    const size_t alignment = 256;
    unsigned char *block =
        size < SIZE_MAX - alignment ? (unsigned char *)spyi_calloc(size + alignment, 1) : NULL;
    (void)label;
    memset(chunk, 0, sizeof *chunk);
    if (!block) {
        spyi_text_add(error, "no host memory for a chunk of %llu bytes", (unsigned long long)size);
        return SPY_ERROR_OUT_OF_MEMORY;
    }
    unsigned char *bytes = block + (alignment - (uintptr_t)block % alignment);
    chunk->handle = chunk->address = (uint64_t)(uintptr_t)bytes;
    chunk->mapped = memory == SPYI_MEMORY_READBACK ? bytes : NULL;
    chunk->size = size;
    chunk->memory = block;
    base->stats.driver_allocations++;
    base->stats.driver_bytes += size;
    return SPY_OK;
}

static void spyi_offline_free_chunk(spyi_gpu *gpu, spyi_chunk *chunk) {
    ((spyi_gpu_base *)(void *)gpu)->stats.driver_bytes -= chunk->size;
    free(chunk->memory);
    memset(chunk, 0, sizeof *chunk);
}

static unsigned char *spyi_offline_bytes(const spyi_chunk *chunk, uint64_t offset) {
    return (unsigned char *)(uintptr_t)(chunk->handle + offset);
}

// >>kernels: dispatches and draws need their numbers of bindings only

static spy_status spyi_offline_new_kernel(const spyi_interface *iface, spyi_kernel **kernel,
                                          spyi_text *error) {
    spyi_kernel_base *k = (spyi_kernel_base *)spyi_malloc(sizeof *k);
    *kernel = (spyi_kernel *)(void *)k;
    if (!k) {
        spyi_text_add(error, "no host memory for a kernel");
        return SPY_ERROR_OUT_OF_MEMORY;
    }
    *k = spyi_interface_counts(iface);
    return SPY_OK;
}

static spy_status spyi_offline_load(spyi_gpu *gpu, const spyi_kernel_desc *desc, spyi_kernel **kernel,
                                    spyi_text *error) {
    (void)gpu;
    return spyi_offline_new_kernel(&desc->iface, kernel, error);
}

static spy_status spyi_offline_load_raster(spyi_gpu *gpu, const spyi_raster_desc *desc, spyi_kernel **kernel,
                                           spyi_text *error) {
    (void)gpu;
    return spyi_offline_new_kernel(&desc->iface, kernel, error);
}

static void spyi_offline_destroy_kernel(spyi_gpu *gpu, spyi_kernel *kernel) {
    (void)gpu;
    free(kernel);
}

// >>images: handles without texels

SPYI_FN uint32_t spyi_offline_image_support(spyi_gpu *gpu, uint32_t format) {
    const spy_format_info *f = spyi_format(format);
    uint32_t usage = SPY_TEXTURE_USAGE_SAMPLED | SPY_TEXTURE_USAGE_COPIED | SPYI_BLITS;
    (void)gpu;
    if (!f || (f->is_compressed && f->block_width == 6)) return 0; // no texture has this format
    if (f->has_depth) return usage | SPY_TEXTURE_USAGE_DEPTH_TARGET | SPY_TEXTURE_USAGE_MULTISAMPLED;
    if (f->is_compressed) return usage | SPY_TEXTURE_USAGE_FILTERED;
    usage |= SPY_TEXTURE_USAGE_COLOR_TARGET | SPY_TEXTURE_USAGE_MULTISAMPLED;
    if (!f->is_srgb && f->channels != 3) usage |= SPY_TEXTURE_USAGE_STORED;
    return f->is_integer ? usage : usage | SPY_TEXTURE_USAGE_FILTERED | SPY_TEXTURE_USAGE_BLENDED;
}

static spy_status spyi_offline_create_image(spyi_gpu *gpu, const spyi_image_desc *desc, const char *label,
                                            spyi_image *image, spyi_text *error) {
    (void)desc, (void)label, (void)error;
    memset(image, 0, sizeof *image);
    image->handle = ++((spyi_offline_gpu *)(void *)gpu)->last_handle;
    return SPY_OK;
}

static void spyi_offline_destroy_image(spyi_gpu *gpu, spyi_image *image) {
    (void)gpu;
    memset(image, 0, sizeof *image);
}

static spy_status spyi_offline_create_view(spyi_gpu *gpu, const spyi_image *image,
                                           const spyi_image_desc *image_desc,
                                           const spyi_image_view_desc *desc, uint64_t sampler, uint64_t *view,
                                           spyi_text *error) {
    (void)image, (void)image_desc, (void)desc, (void)sampler, (void)error;
    *view = ++((spyi_offline_gpu *)(void *)gpu)->last_handle;
    return SPY_OK;
}

static void spyi_offline_destroy_view(spyi_gpu *gpu, uint64_t view, bool stored) {
    (void)gpu, (void)view, (void)stored;
}

static spy_status spyi_offline_create_sampler(spyi_gpu *gpu, const spy_sampler_desc *desc, uint64_t *sampler,
                                              spyi_text *error) {
    (void)desc, (void)error;
    *sampler = ++((spyi_offline_gpu *)(void *)gpu)->last_handle;
    return SPY_OK;
}

static void spyi_offline_destroy_sampler(spyi_gpu *gpu, uint64_t sampler) {
    (void)gpu, (void)sampler;
}

// Writes the zeros that a read of texels gives.
static void spyi_offline_read_texels(const spyi_image_bytes_work *w) {
    const spy_format_info *f = spyi_format(w->desc.format);
    uint32_t rows = (w->box.height + f->block_height - 1) / f->block_height;
    size_t row_bytes = (size_t)spyi_texels_size(w->desc.format, w->box.width, 1, 1, 1);
    for (uint32_t slice = 0; slice < w->box.depth * w->box.layer_count; slice++)
        for (uint32_t row = 0; row < rows; row++)
            memset(spyi_offline_bytes(w->chunk, w->offset + slice * w->slice_pitch + row * w->row_pitch), 0,
                   row_bytes);
}

// >>work

static void spyi_offline_fill(const spyi_fill_work *f) {
    unsigned char *bytes = spyi_offline_bytes(f->to, f->offset);
    for (uint64_t i = 0; i + 4 <= f->size; i += 4) memcpy(bytes + i, &f->pattern, 4);
}

static spy_status spyi_offline_record(spyi_gpu *gpu, const spyi_work *work, spyi_text *error) {
    spyi_offline_gpu *o = (spyi_offline_gpu *)(void *)gpu;
    const spyi_copy_work *copy = (const spyi_copy_work *)(const void *)work;
    const spyi_upload_work *upload = (const spyi_upload_work *)(const void *)work;
    const spyi_time_store_work *times = (const spyi_time_store_work *)(const void *)work;
    const spyi_image_bytes_work *texels = (const spyi_image_bytes_work *)(const void *)work;
    (void)error;
    o->has_work = true;
    if (work->before.barrier) o->base.stats.barriers++;
    switch (work->kind->number) {
    case SPYI_WORK_DISPATCH: o->base.stats.dispatches++; break;
    case SPYI_WORK_DRAW: o->base.stats.draws++; break;
    case SPYI_WORK_COPY:
        memcpy(spyi_offline_bytes(copy->to, copy->to_offset),
               spyi_offline_bytes(copy->from, copy->from_offset), (size_t)copy->size);
        break;
    case SPYI_WORK_FILL: spyi_offline_fill((const spyi_fill_work *)(const void *)work); break;
    case SPYI_WORK_UPLOAD:
        memcpy(spyi_offline_bytes(upload->to, upload->offset), upload->data, (size_t)upload->size);
        break;
    case SPYI_WORK_TIME_STORE:
        memset(spyi_offline_bytes(times->to, times->offset), 0, times->count * sizeof(uint64_t));
        break;
    case SPYI_WORK_IMAGE_BYTES:
        if (!texels->to_image) spyi_offline_read_texels(texels);
        break;
    default: break; // labels, timestamps and the other work on textures change no buffer
    }
    return SPY_OK;
}

static uint64_t spyi_offline_finished_submit(spyi_gpu *gpu) {
    return spyi_open_submit(gpu) - 1;
}

static spy_status spyi_offline_submit(spyi_gpu *gpu, spyi_text *error) {
    spyi_offline_gpu *o = (spyi_offline_gpu *)(void *)gpu;
    (void)error;
    o->base.open += o->has_work;
    o->base.stats.submits += o->has_work;
    o->has_work = false;
    return SPY_OK;
}

static spy_status spyi_offline_wait(spyi_gpu *gpu, uint64_t submit, uint64_t timeout_ns, spyi_text *error) {
    (void)timeout_ns;
    return submit < spyi_open_submit(gpu) ? SPY_OK : spyi_offline_submit(gpu, error);
}

static spy_status spyi_offline_download(spyi_gpu *gpu, void *data, const spyi_chunk *from, uint64_t offset,
                                        uint64_t size, uint64_t after, spyi_text *error) {
    memcpy(data, spyi_offline_bytes(from, offset), (size_t)size);
    return spyi_offline_wait(gpu, after, UINT64_MAX, error);
}

static spy_status spyi_offline_time_mark(spyi_gpu *gpu, spyi_text *error) {
    (void)gpu, (void)error;
    return SPY_OK;
}

static spy_status spyi_offline_time_elapsed(spyi_gpu *gpu, uint64_t *ns, spyi_text *error) {
    (void)gpu, (void)error;
    *ns = 0;
    return SPY_OK;
}

// >>the table

const spy_backend *spyi_offline_backend(void) {
    static const spyi_image_functions images = { spyi_offline_image_support,
                                                 spyi_offline_create_image,
                                                 spyi_offline_destroy_image,
                                                 spyi_offline_create_view,
                                                 spyi_offline_destroy_view,
                                                 spyi_offline_create_sampler,
                                                 spyi_offline_destroy_sampler,
                                                 NULL,
                                                 NULL };
    static const spyi_raster_functions raster = { spyi_offline_load_raster };
#define SPYI_OFFLINE_RECORDS(f) f, f, f, f, f, f, f, f, f, f, f, f
    // The members are in the order of struct spyi_backend.
    static const struct spyi_backend table = {
        "null",
        NULL, // no list of devices: desc.offline asks for this one
        spyi_offline_create,
        spyi_offline_destroy,
        spyi_offline_allocate_chunk,
        spyi_offline_free_chunk,
        spyi_compile_as_is, // the device has another backend's functions for compiling
        NULL,
        NULL,
        spyi_offline_load,
        spyi_offline_destroy_kernel,
        { SPYI_OFFLINE_RECORDS(spyi_offline_record) },
        spyi_offline_download,
        spyi_offline_time_mark,
        spyi_offline_time_mark,
        spyi_offline_time_elapsed,
        spyi_offline_finished_submit,
        spyi_offline_submit,
        spyi_offline_wait,
        NULL, // no functions for graphs
        NULL,
        NULL,
        NULL,
        NULL,
        NULL,
        NULL, // no `watch`: there is no stream of the program
        &images,
        &raster,
        SPYI_TARGET_SPIRV, // the device has another backend's target
    };
    return &table;
}

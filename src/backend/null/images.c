// The null backend's images: texels in host memory, the layout of each part, and the work on them. Copies of
// bytes and texels and clears of plain formats are done; scaling is done for formats of 8-bit unorm and of
// 32-bit floats. The rules that it checks: the last transition of a part must be for the use that is made of
// it, and an image is destroyed when no work uses it any more.
#include "backend/null/internal.h"

struct spyi_null_image {
    uint64_t handle;
    spyi_image_desc desc;
    unsigned char *data; // texels of all levels one after another, and within a level of all layers
    size_t size;
    uint32_t *how; // the layout of each part as SPYI_USE_*, at index level * layers + layer; 0 means
                   // undefined
    struct spyi_null_image *next;
};

struct spyi_null_image_view {
    uint64_t handle;
    spyi_null_image *image;
    spyi_image_view_desc desc;
    struct spyi_null_image_view *next;
};

static spyi_null_image *spyi_null_find_image(const spyi_null_gpu *n, uint64_t handle) {
    spyi_null_image *image = n->images;
    while (image && image->handle != handle) image = image->next;
    return image;
}

static const spyi_null_image_view *spyi_null_find_view(const spyi_null_gpu *n, uint64_t handle) {
    const spyi_null_image_view *view = n->views;
    while (view && view->handle != handle) view = view->next;
    return view;
}

static uint64_t spyi_null_level_bytes(const spyi_image_desc *d, uint32_t level) {
    return spyi_texels_size(d->format, spyi_level_size(d->width, level), spyi_level_size(d->height, level),
                            spyi_level_size(d->depth, level), d->layers);
}

// >>the table

SPYI_FN spy_status spyi_null_create_image(spyi_gpu *gpu, const spyi_image_desc *desc, const char *label,
                                          spyi_image *image, spyi_text *error) {
    spyi_null_gpu *n = spyi_null_cast(gpu);
    spy_status status = spyi_null_step_status(n, SPYI_NULL_STEP_ALLOCATE, error);
    (void)label;
    memset(image, 0, sizeof *image);
    if (n->lost) return spyi_null_lost(error);
    if (status != SPY_OK) return status;
    if (desc->width > 16384 || desc->height > 16384 || desc->depth > 2048 || desc->layers > 2048) {
        spyi_text_add(error,
                      "%u x %u x %u texels and %u layers exceed the device's 16384 x 16384 x 2048 and 2048",
                      desc->width, desc->height, desc->depth, desc->layers);
        return SPY_ERROR_OUT_OF_RANGE;
    }
    uint64_t size = 0;
    for (uint32_t i = 0; i < desc->levels; i++) size += spyi_null_level_bytes(desc, i);
    size *= desc->samples;
    if (size > n->memory_bytes - n->counts.chunk_bytes) {
        spyi_text_add(error, "%llu bytes do not fit into the device's %llu", (unsigned long long)size,
                      (unsigned long long)n->memory_bytes);
        return SPY_ERROR_OUT_OF_DEVICE_MEMORY;
    }
    spyi_null_image *made = (spyi_null_image *)spyi_calloc(1, sizeof *made);
    if (made) made->data = (unsigned char *)spyi_malloc((size_t)size);
    if (made) made->how = (uint32_t *)spyi_calloc((size_t)desc->levels * desc->layers, sizeof *made->how);
    if (!made || !made->data || !made->how) {
        if (made) free(made->data), free(made->how);
        free(made);
        spyi_text_add(error, "no host memory for an image");
        return SPY_ERROR_OUT_OF_MEMORY;
    }
    memset(made->data, 0xcd, (size_t)size); // a read of texels that were not written shows this value
    made->handle = ++n->last_handle;
    made->desc = *desc;
    made->size = (size_t)size;
    made->next = n->images;
    n->images = made;
    n->counts.images++;
    n->counts.chunk_bytes += size;
    n->base.stats.driver_allocations++;
    n->base.stats.driver_bytes += size;
    image->handle = made->handle;
    image->memory = made;
    image->size = made->size;
    return SPY_OK;
}

// Returns whether the op, which has not been carried out, uses the image.
static bool spyi_null_op_has_image(const spyi_null_gpu *n, const spyi_null_op *op, uint64_t handle) {
    switch (op->work->kind->number) {
    case SPYI_WORK_IMAGE_BYTES:
        return ((const spyi_image_bytes_work *)(const void *)op->work)->image == handle;
    case SPYI_WORK_IMAGE_COPY: {
        const spyi_image_copy_work *w = (const spyi_image_copy_work *)(const void *)op->work;
        return w->to == handle || w->from == handle;
    }
    case SPYI_WORK_IMAGE_BLIT: {
        const spyi_image_blit_work *w = (const spyi_image_blit_work *)(const void *)op->work;
        return w->to == handle || w->from == handle;
    }
    case SPYI_WORK_IMAGE_CLEAR:
        return ((const spyi_image_clear_work *)(const void *)op->work)->image == handle;
    case SPYI_WORK_DRAW: {
        const spyi_draw_work *w = (const spyi_draw_work *)(const void *)op->work;
        for (uint32_t i = 0; i < w->target_count; i++)
            if (w->targets[i].image == handle) return true;
        if (w->depth.view && w->depth.image == handle) return true;
        break;
    }
    default: break;
    }
    for (uint32_t i = 0; i < op->binding_count; i++) {
        const spyi_binding *b = &op->bindings[i];
        bool image = b->kind != SPYI_BINDING_BUFFER && b->kind != SPYI_BINDING_SAMPLER;
        const spyi_null_image_view *view = image ? spyi_null_find_view(n, b->handle) : NULL;
        if (view && view->image->handle == handle) return true;
    }
    return false;
}

static void spyi_null_free_image(spyi_null_image *image) {
    free(image->data);
    free(image->how);
    free(image);
}

SPYI_FN void spyi_null_destroy_image(spyi_gpu *gpu, spyi_image *image) {
    spyi_null_gpu *n = spyi_null_cast(gpu);
    spyi_null_image **link = &n->images, *found;
    while (*link && (*link)->handle != image->handle) link = &(*link)->next;
    found = *link;
    if (!found) {
        spyi_null_broken(n, NULL, "destroy: no image has the handle %llu", (unsigned long long)image->handle);
        return;
    }
    for (size_t i = n->done_count; i < n->op_count; i++) {
        if (!spyi_null_op_has_image(n, n->ops[i], found->handle)) continue;
        spyi_null_broken(n, NULL, "destroy: submit %llu still uses the image",
                         (unsigned long long)n->ops[i]->submit);
        return; // the image is kept, because the work can still use it
    }
    for (const spyi_null_image_view *view = n->views; view; view = view->next)
        if (view->image == found) spyi_null_broken(n, NULL, "destroy: the image still has a view");
    *link = found->next;
    n->counts.images--;
    n->counts.chunk_bytes -= found->size;
    n->base.stats.driver_bytes -= found->size;
    spyi_null_free_image(found);
    memset(image, 0, sizeof *image);
}

SPYI_FN spy_status spyi_null_create_view(spyi_gpu *gpu, const spyi_image *image,
                                         const spyi_image_desc *image_desc, const spyi_image_view_desc *desc,
                                         uint64_t sampler, uint64_t *view, spyi_text *error) {
    spyi_null_gpu *n = spyi_null_cast(gpu);
    spyi_null_image *found = spyi_null_find_image(n, image->handle);
    (void)image_desc, (void)sampler;
    if (!found || desc->first_level + desc->level_count > found->desc.levels ||
        desc->first_layer + desc->layer_count > found->desc.layers ||
        (desc->stored && desc->level_count != 1))
        return spyi_null_broken(n, error, "create_view: the image or its part is wrong");
    spyi_null_image_view *made = (spyi_null_image_view *)spyi_calloc(1, sizeof *made);
    if (!made) {
        spyi_text_add(error, "no host memory for a view");
        return SPY_ERROR_OUT_OF_MEMORY;
    }
    made->handle = ++n->last_handle;
    made->image = found;
    made->desc = *desc;
    made->next = n->views;
    n->views = made;
    n->counts.views++;
    *view = made->handle;
    return SPY_OK;
}

SPYI_FN void spyi_null_destroy_view(spyi_gpu *gpu, uint64_t view, bool stored) {
    spyi_null_gpu *n = spyi_null_cast(gpu);
    spyi_null_image_view **link = &n->views;
    (void)stored;
    while (*link && (*link)->handle != view) link = &(*link)->next;
    spyi_null_image_view *found = *link;
    if (!found) {
        spyi_null_broken(n, NULL, "destroy_view: no view has the handle %llu", (unsigned long long)view);
        return;
    }
    *link = found->next;
    n->counts.views--;
    free(found);
}

SPYI_FN spy_status spyi_null_create_sampler(spyi_gpu *gpu, const spy_sampler_desc *desc, uint64_t *sampler,
                                            spyi_text *error) {
    spyi_null_gpu *n = spyi_null_cast(gpu);
    (void)error, (void)desc;
    *sampler = ++n->last_handle;
    n->counts.samplers++;
    return SPY_OK;
}

SPYI_FN void spyi_null_destroy_sampler(spyi_gpu *gpu, uint64_t sampler) {
    (void)sampler;
    spyi_null_cast(gpu)->counts.samplers--;
}

SPYI_FN void spyi_null_free_images(spyi_null_gpu *n) {
    if (n->counts.images > 0)
        spyi_null_broken(n, NULL, "destroy: %llu images were not destroyed",
                         (unsigned long long)n->counts.images);
    if (n->counts.samplers > 0)
        spyi_null_broken(n, NULL, "destroy: %llu samplers were not destroyed",
                         (unsigned long long)n->counts.samplers);
    while (n->views) {
        spyi_null_image_view *view = n->views;
        n->views = view->next;
        free(view);
    }
    while (n->images) {
        spyi_null_image *image = n->images;
        n->images = image->next;
        spyi_null_free_image(image);
    }
}

SPYI_FN void *spyi_null_texels(spyi_gpu *gpu, uint64_t handle, uint32_t level, uint32_t layer) {
    spyi_null_gpu *n = spyi_null_cast(gpu);
    const spyi_null_image_view *view = spyi_null_find_view(n, handle);
    spyi_null_image *image = view ? view->image : spyi_null_find_image(n, handle);
    if (!image) return NULL;
    if (view) level += view->desc.first_level, layer += view->desc.first_layer;
    unsigned char *at = image->data;
    for (uint32_t i = 0; i < level; i++) at += spyi_null_level_bytes(&image->desc, i);
    return at + spyi_null_level_bytes(&image->desc, level) / image->desc.layers * layer;
}

// >>layouts

// Images that a test has made by itself, which the backend does not know, are ignored.
SPYI_FN spy_status spyi_null_transit(spyi_null_gpu *n, const spyi_before *before, spyi_text *error) {
    for (uint32_t i = 0; i < before->transition_count; i++) {
        const spyi_transition *t = &before->transitions[i];
        spyi_null_image *image = spyi_null_find_image(n, t->texture);
        for (uint32_t k = 0; image && k < t->layer_count; k++) {
            uint32_t *how = &image->how[(size_t)t->level * image->desc.layers + t->first_layer + k];
            if (t->from != 0 && spyi_use_layout(t->from) != spyi_use_layout(*how))
                return spyi_null_broken(n, error,
                                        "transition of level %u layer %u: its layout is another one",
                                        t->level, t->first_layer + k);
            *how = t->to;
        }
    }
    return SPY_OK;
}

SPYI_FN void spyi_null_transit_back(spyi_null_gpu *n, const spyi_before *before) {
    for (uint32_t i = before->transition_count; i-- > 0;) {
        const spyi_transition *t = &before->transitions[i];
        spyi_null_image *image = spyi_null_find_image(n, t->texture);
        for (uint32_t k = 0; image && k < t->layer_count; k++)
            image->how[(size_t)t->level * image->desc.layers + t->first_layer + k] = t->from;
    }
}

static spy_status spyi_null_check_part(spyi_null_gpu *n, const char *what, uint64_t handle, uint32_t level,
                                       uint32_t level_count, uint32_t layer, uint32_t layer_count,
                                       uint32_t how, spyi_text *error) {
    const spyi_null_image *image = spyi_null_find_image(n, handle);
    if (!image)
        return spyi_null_broken(n, error, "%s: no image has the handle %llu", what,
                                (unsigned long long)handle);
    if (level + level_count > image->desc.levels || layer + layer_count > image->desc.layers)
        return spyi_null_broken(n, error, "%s: levels %u to %u or layers %u to %u are not there", what, level,
                                level + level_count - 1, layer, layer + layer_count - 1);
    for (uint32_t i = level; i < level + level_count; i++)
        for (uint32_t k = layer; k < layer + layer_count; k++)
            if (spyi_use_layout(image->how[(size_t)i * image->desc.layers + k]) != spyi_use_layout(how))
                return spyi_null_broken(n, error, "%s: level %u layer %u is not in the layout for it", what,
                                        i, k);
    return SPY_OK;
}

static spy_status spyi_null_check_box(spyi_null_gpu *n, const char *what, uint64_t handle,
                                      const spyi_image_box *box, uint32_t how, spyi_text *error) {
    spy_status status = spyi_null_check_part(n, what, handle, box->level, 1, box->first_layer,
                                             box->layer_count, SPYI_USE_COPIED | how, error);
    if (status != SPY_OK) return status;
    const spyi_image_desc *d = &spyi_null_find_image(n, handle)->desc;
    if (box->width && box->height && box->depth && box->layer_count &&
        box->x + box->width <= spyi_level_size(d->width, box->level) &&
        box->y + box->height <= spyi_level_size(d->height, box->level) &&
        box->z + box->depth <= spyi_level_size(d->depth, box->level))
        return SPY_OK;
    return spyi_null_broken(n, error, "%s: the box is not within the level", what);
}

SPYI_FN spy_status spyi_null_check_image_binding(spyi_null_gpu *n, const char *label, uint32_t number,
                                                 const spyi_binding *b, const spyi_parameter *p,
                                                 spyi_text *error) {
    static const uint8_t wanted[] = { SPYI_BINDING_TEXTURE, SPYI_BINDING_RW_TEXTURE, SPYI_BINDING_SAMPLER,
                                      SPYI_BINDING_COMBINED };
    if (p->kind < SPYI_PARAMETER_TEXTURE || b->kind != wanted[p->kind - SPYI_PARAMETER_TEXTURE])
        return spyi_null_broken(n, error, "dispatch of \"%s\": binding %u is of kind %u, its parameter of %u",
                                label, number, (unsigned)b->kind, p->kind);
    if (b->kind == SPYI_BINDING_SAMPLER) return SPY_OK;
    const spyi_null_image_view *view = spyi_null_find_view(n, b->handle);
    if (!view) return spyi_null_broken(n, error, "dispatch of \"%s\": binding %u is no view", label, number);
    bool stored = b->kind == SPYI_BINDING_RW_TEXTURE;
    if (stored != view->desc.stored)
        return spyi_null_broken(n, error, "dispatch of \"%s\": binding %u is a view to %s", label, number,
                                stored ? "sample" : "store");
    const spyi_image_view_desc *d = &view->desc;
    return spyi_null_check_part(
        n, label, view->image->handle, d->first_level, d->level_count, d->first_layer, d->layer_count,
        stored || b->offset == SPYI_USE_STORED ? SPYI_USE_STORED : SPYI_USE_SAMPLED, error);
}

SPYI_FN spy_status spyi_null_check_target(spyi_null_gpu *n, const char *label, uint64_t image, uint64_t view,
                                          spyi_text *error) {
    const spyi_null_image_view *found = spyi_null_find_view(n, view);
    if (!found || !found->desc.target || (image && found->image->handle != image))
        return spyi_null_broken(n, error, "draw of \"%s\": a target is no view of its image for draws",
                                label);
    const spyi_image_view_desc *d = &found->desc;
    return spyi_null_check_part(n, label, found->image->handle, d->first_level, d->level_count,
                                d->first_layer, d->layer_count, SPYI_USE_ATTACHMENT, error);
}

// >>texels

// Returns the first byte of a row of blocks of a level.
static unsigned char *spyi_null_row(const spyi_null_image *image, uint32_t level, uint32_t layer, uint32_t z,
                                    uint32_t y) {
    const spyi_image_desc *d = &image->desc;
    const spy_format_info *f = spyi_format(d->format);
    uint32_t width = spyi_level_size(d->width, level), height = spyi_level_size(d->height, level);
    uint64_t row = spyi_texels_size(d->format, width, 1, 1, 1),
             slice = spyi_texels_size(d->format, width, height, 1, 1);
    unsigned char *at = image->data;
    for (uint32_t i = 0; i < level; i++) at += spyi_null_level_bytes(d, i);
    return at + slice * ((uint64_t)layer * spyi_level_size(d->depth, level) + z) +
           row * (y / f->block_height);
}

static uint32_t spyi_null_rows(const spy_format_info *f, uint32_t height) {
    return (height + f->block_height - 1) / f->block_height;
}

// >>bytes

static uint64_t spyi_null_bytes_size(const spyi_image_bytes_work *w) {
    const spyi_image_box *box = &w->box;
    uint64_t rows = spyi_null_rows(spyi_format(w->desc.format), box->height);
    return w->slice_pitch * ((uint64_t)box->depth * box->layer_count - 1) + w->row_pitch * (rows - 1) +
           spyi_texels_size(w->desc.format, box->width, 1, 1, 1);
}

SPYI_FN spy_status spyi_null_check_image_bytes(spyi_null_gpu *n, const spyi_work *work, spyi_text *error) {
    const spyi_image_bytes_work *w = (const spyi_image_bytes_work *)(const void *)work;
    const spy_format_info *f = spyi_format(w->desc.format);
    spy_status status = spyi_null_check_box(n, work->kind->name, w->image, &w->box,
                                            w->to_image ? SPYI_USE_WRITES : SPYI_USE_READS, error);
    if (status != SPY_OK) return status;
    if (w->row_pitch % f->block_bytes || w->offset % f->block_bytes || w->offset % 4 ||
        w->slice_pitch % w->row_pitch)
        return spyi_null_broken(n, error, "%s: offset %llu or pitch %llu is misaligned", work->kind->name,
                                (unsigned long long)w->offset, (unsigned long long)w->row_pitch);
    return spyi_null_range(n, work->kind->name, w->chunk->handle, w->offset, spyi_null_bytes_size(w), error)
               ? SPY_OK
               : SPY_ERROR_INTERNAL;
}

SPYI_FN void spyi_null_describe_image_bytes(spyi_null_gpu *n, spyi_null_op *op, const spyi_work *work,
                                            void *extra) {
    const spyi_image_bytes_work *w = (const spyi_image_bytes_work *)(const void *)work;
    unsigned char *memory =
        spyi_null_range(n, work->kind->name, w->chunk->handle, w->offset, spyi_null_bytes_size(w), NULL);
    (void)extra;
    op->size = spyi_null_bytes_size(w);
    if (w->to_image) op->from = w->chunk->handle, op->from_offset = w->offset, op->from_memory = memory;
    else op->to = w->chunk->handle, op->to_offset = w->offset, op->to_memory = memory;
}

SPYI_FN void spyi_null_run_image_bytes(spyi_null_gpu *n, spyi_null_op *op) {
    const spyi_image_bytes_work *w = (const spyi_image_bytes_work *)(const void *)op->work;
    const spyi_null_image *image = spyi_null_find_image(n, w->image);
    const spy_format_info *f = spyi_format(w->desc.format);
    const spyi_image_box *box = &w->box;
    size_t bytes = (size_t)spyi_texels_size(w->desc.format, box->width, 1, 1, 1), slice = 0;
    for (uint32_t layer = 0; layer < box->layer_count; layer++) {
        for (uint32_t z = 0; z < box->depth; z++, slice++) {
            for (uint32_t row = 0; row < spyi_null_rows(f, box->height); row++) {
                unsigned char *texels = spyi_null_row(image, box->level, box->first_layer + layer, box->z + z,
                                                      box->y + row * f->block_height) +
                                        (size_t)box->x / f->block_width * f->block_bytes;
                size_t at = slice * (size_t)w->slice_pitch + row * (size_t)w->row_pitch;
                if (w->to_image) memcpy(texels, op->from_memory + at, bytes);
                else memcpy(op->to_memory + at, texels, bytes);
            }
        }
    }
}

// >>copies

SPYI_FN spy_status spyi_null_check_image_copy(spyi_null_gpu *n, const spyi_work *work, spyi_text *error) {
    const spyi_image_copy_work *w = (const spyi_image_copy_work *)(const void *)work;
    const uint32_t within = spyi_image_copies_within(w) ? SPYI_USE_READS | SPYI_USE_WRITES : 0u;
    const char *name = work->kind->name;
    spy_status status = spyi_null_check_box(n, name, w->to, &w->to_box, SPYI_USE_WRITES | within, error);
    if (status == SPY_OK)
        status = spyi_null_check_box(n, name, w->from, &w->from_box, SPYI_USE_READS | within, error);
    return status;
}

SPYI_FN void spyi_null_run_image_copy(spyi_null_gpu *n, spyi_null_op *op) {
    const spyi_image_copy_work *w = (const spyi_image_copy_work *)(const void *)op->work;
    const spyi_null_image *to = spyi_null_find_image(n, w->to), *from = spyi_null_find_image(n, w->from);
    const spy_format_info *f = spyi_format(w->to_desc.format);
    const spyi_image_box *a = &w->to_box, *b = &w->from_box;
    size_t bytes = (size_t)spyi_texels_size(w->to_desc.format, a->width, 1, 1, 1);
    for (uint32_t layer = 0; layer < a->layer_count; layer++)
        for (uint32_t z = 0; z < a->depth; z++)
            for (uint32_t row = 0; row < spyi_null_rows(f, a->height); row++)
                memmove(spyi_null_row(to, a->level, a->first_layer + layer, a->z + z,
                                      a->y + row * f->block_height) +
                            (size_t)a->x / f->block_width * f->block_bytes,
                        spyi_null_row(from, b->level, b->first_layer + layer, b->z + z,
                                      b->y + row * f->block_height) +
                            (size_t)b->x / f->block_width * f->block_bytes,
                        bytes);
}

// >>blits

// Returns the bytes of a channel that blits and clears can read and write, or 0 if they cannot.
static uint32_t spyi_null_channel_bytes(uint32_t format) {
    const spy_format_info *f = spyi_format(format);
    bool bgr = f->name[0] == 'b';
    if (f->is_compressed || f->has_stencil || bgr || f->is_srgb) return 0;
    if (f->bits[0] == 8 && f->is_unorm && f->block_bytes == f->channels) return 1;
    return f->bits[0] == 32 && f->is_float && f->block_bytes == 4 * f->channels ? 4 : 0;
}

SPYI_FN spy_status spyi_null_check_image_blit(spyi_null_gpu *n, const spyi_work *work, spyi_text *error) {
    const spyi_image_blit_work *w = (const spyi_image_blit_work *)(const void *)work;
    const char *name = work->kind->name;
    spy_status status = spyi_null_check_box(n, name, w->to, &w->to_box, SPYI_USE_WRITES, error);
    if (status == SPY_OK) status = spyi_null_check_box(n, name, w->from, &w->from_box, SPYI_USE_READS, error);
    if (status != SPY_OK) return status;
    uint32_t to = spyi_null_channel_bytes(w->to_desc.format);
    if (!w->resolve && to != 0 && to == spyi_null_channel_bytes(w->from_desc.format) &&
        spyi_format(w->to_desc.format)->channels == spyi_format(w->from_desc.format)->channels)
        return SPY_OK;
    spyi_text_add(error, "%s from %s to %s: the null backend does not support it",
                  w->resolve ? "resolve" : "blit", spyi_format(w->from_desc.format)->name,
                  spyi_format(w->to_desc.format)->name);
    return SPY_ERROR_UNSUPPORTED;
}

// The one or two source texels in one dimension of a texel of a blit, and the weight of the second one.
typedef struct spyi_null_tap {
    uint32_t at[2];
    float weight;
} spyi_null_tap;

static spyi_null_tap spyi_null_tap_of(uint32_t i, uint32_t to, uint32_t from, bool linear) {
    spyi_null_tap tap;
    float x = ((float)i + 0.5f) * (float)from / (float)to;
    if (!linear) {
        tap.at[0] = tap.at[1] = (uint32_t)x < from ? (uint32_t)x : from - 1;
        tap.weight = 0;
        return tap;
    }
    x = x > 0.5f ? x - 0.5f : 0;
    tap.at[0] = (uint32_t)x < from ? (uint32_t)x : from - 1;
    tap.at[1] = tap.at[0] + 1 < from ? tap.at[0] + 1 : tap.at[0];
    tap.weight = x - (float)tap.at[0];
    return tap;
}

static float spyi_null_channel(const unsigned char *texel, uint32_t bytes, uint32_t channel) {
    float value;
    if (bytes == 1) return (float)texel[channel];
    memcpy(&value, texel + channel * 4, sizeof value);
    return value;
}

static void spyi_null_blit_texel(const spyi_null_image *from, const spyi_image_box *box, uint32_t layer,
                                 const spyi_null_tap taps[3], uint32_t bytes, uint32_t channels,
                                 unsigned char *out) {
    for (uint32_t c = 0; c < channels; c++) {
        float sum = 0;
        for (uint32_t corner = 0; corner < 8; corner++) {
            uint32_t i[3];
            float weight = 1;
            for (uint32_t d = 0; d < 3; d++) {
                bool second = corner >> d & 1;
                i[d] = taps[d].at[second];
                weight *= second ? taps[d].weight : 1 - taps[d].weight;
            }
            if (weight == 0) continue;
            const unsigned char *row =
                spyi_null_row(from, box->level, box->first_layer + layer, box->z + i[2], box->y + i[1]);
            sum += weight * spyi_null_channel(row + (size_t)(box->x + i[0]) * bytes * channels, bytes, c);
        }
        if (bytes == 1) out[c] = (unsigned char)(sum + 0.5f);
        else memcpy(out + c * 4, &sum, sizeof sum);
    }
}

SPYI_FN void spyi_null_run_image_blit(spyi_null_gpu *n, spyi_null_op *op) {
    const spyi_image_blit_work *w = (const spyi_image_blit_work *)(const void *)op->work;
    const spyi_null_image *to = spyi_null_find_image(n, w->to), *from = spyi_null_find_image(n, w->from);
    const spyi_image_box *a = &w->to_box, *b = &w->from_box;
    uint32_t bytes = spyi_null_channel_bytes(w->to_desc.format),
             channels = spyi_format(w->to_desc.format)->channels;
    spyi_null_tap taps[3];
    for (uint32_t layer = 0; layer < a->layer_count; layer++) {
        for (uint32_t z = 0; z < a->depth; z++) {
            taps[2] = spyi_null_tap_of(z, a->depth, b->depth, w->linear);
            for (uint32_t y = 0; y < a->height; y++) {
                unsigned char *row = spyi_null_row(to, a->level, a->first_layer + layer, a->z + z, a->y + y);
                taps[1] = spyi_null_tap_of(y, a->height, b->height, w->linear);
                for (uint32_t x = 0; x < a->width; x++) {
                    taps[0] = spyi_null_tap_of(x, a->width, b->width, w->linear);
                    spyi_null_blit_texel(from, b, layer, taps, bytes, channels,
                                         row + (size_t)(a->x + x) * bytes * channels);
                }
            }
        }
    }
}

// >>clears

// Writes the bytes of one texel of a color; returns false if the format is not supported.
static bool spyi_null_clear_texel(const spyi_image_clear_work *w, unsigned char *out) {
    const spy_format_info *f = spyi_format(w->desc.format);
    if (f->has_depth && !f->has_stencil && f->bits[0] == 32) memcpy(out, &w->depth, 4);
    else if (f->is_integer && f->bits[0] <= 32 && f->block_bytes * 8 == f->bits[0] * f->channels)
        for (uint32_t c = 0; c < f->channels; c++) // copies the lowest bytes, which come first on a
                                                   // little-endian host
            memcpy(out + c * f->bits[0] / 8, &w->color.uints[c], f->bits[0] / 8);
    else if (spyi_null_channel_bytes(w->desc.format) == 4) memcpy(out, w->color.floats, f->block_bytes);
    else if (spyi_null_channel_bytes(w->desc.format) == 1)
        for (uint32_t c = 0; c < f->channels; c++) {
            float value = w->color.floats[c];
            out[c] = (unsigned char)((value > 1 ? 1 : value > 0 ? value : 0) * 255 + 0.5f);
        }
    else return false;
    return true;
}

SPYI_FN spy_status spyi_null_check_image_clear(spyi_null_gpu *n, const spyi_work *work, spyi_text *error) {
    const spyi_image_clear_work *w = (const spyi_image_clear_work *)(const void *)work;
    unsigned char texel[16];
    spy_status status =
        spyi_null_check_part(n, work->kind->name, w->image, w->first_level, w->level_count, w->first_layer,
                             w->layer_count, SPYI_USE_COPIED | SPYI_USE_WRITES, error);
    if (status != SPY_OK || spyi_null_clear_texel(w, texel)) return status;
    spyi_text_add(error, "clear of %s: the null backend does not support it",
                  spyi_format(w->desc.format)->name);
    return SPY_ERROR_UNSUPPORTED;
}

SPYI_FN void spyi_null_run_image_clear(spyi_null_gpu *n, spyi_null_op *op) {
    const spyi_image_clear_work *w = (const spyi_image_clear_work *)(const void *)op->work;
    const spyi_null_image *image = spyi_null_find_image(n, w->image);
    const spyi_image_desc *d = &image->desc;
    const uint32_t bytes = spyi_format(d->format)->block_bytes;
    unsigned char texel[16];
    (void)spyi_null_clear_texel(w, texel);
    for (uint32_t level = w->first_level; level < w->first_level + w->level_count; level++) {
        size_t count = (size_t)spyi_level_size(d->width, level) * spyi_level_size(d->height, level) *
                       spyi_level_size(d->depth, level);
        for (uint32_t layer = w->first_layer; layer < w->first_layer + w->layer_count; layer++) {
            unsigned char *at = spyi_null_row(image, level, layer, 0, 0);
            for (size_t i = 0; i < count; i++) memcpy(at + i * bytes, texel, bytes);
        }
    }
}

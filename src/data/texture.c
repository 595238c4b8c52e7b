// Textures: creation, views, release, information, and the uses and views that work makes of them.
#include "data/texture.h"
#include "data/device.h"

// >>images

static void spyi_image_free(spy_device *device, spyi_texture_image *image) {
    const spyi_image_functions *images = device->backend->images;
    spyi_image_unlist(device, image);
    while (image->views) {
        spyi_shader_view *view = image->views;
        image->views = view->next;
        images->destroy_view(device->gpu, view->handle, view->desc.stored);
        spyi_free(&device->ctx, view, sizeof *view);
    }
    device->image_bytes -= image->image.size;
    images->destroy(device->gpu, &image->image);
    spyi_texture_untrack(device, &image->texture);
    spyi_free(&device->ctx, image, sizeof *image);
}

static bool spyi_image_is_finished(spy_device *device, const spyi_texture_image *image) {
    const spyi_resource *r = &image->texture.resource;
    if (spyi_is_held(r, device->base->held_from)) return false;
    return r->use_submit == 0 || device->backend->finished_submit(device->gpu) >= r->use_submit;
}

SPYI_FN void spyi_images_free_finished(spy_device *device) {
    for (spyi_texture_image **at = &device->waiting_images; *at;) {
        spyi_texture_image *image = *at;
        if (!spyi_image_is_finished(device, image)) {
            at = &image->next;
            continue;
        }
        *at = image->next;
        spyi_image_free(device, image);
    }
}

static void spyi_image_unused(spy_device *device, spyi_resource *resource) {
    spyi_texture_image *image = (spyi_texture_image *)(void *)resource; // the resource is the first member of
                                                                        // the image's first member
    image->next = device->waiting_images;
    device->waiting_images = image;
    spyi_images_free_finished(device);
}

static const spyi_resource_kind spyi_image_resource = { "texture", spyi_image_unused };

// Makes the image. When the device's memory runs out, waits for the work of released images, gives cached
// memory back and tries once more.
static spy_status spyi_image_create(spy_device *device, const spyi_image_desc *desc, const char *label,
                                    spyi_image *image, spyi_text *error) {
    const spyi_image_functions *images = device->backend->images;
    spy_status status = images->create(device->gpu, desc, label, image, error);
    if (status != SPY_ERROR_OUT_OF_DEVICE_MEMORY) return status;
    spyi_text ignored = { NULL, 0, 0 };
    if (device->backend->wait(device->gpu, device->base->open, UINT64_MAX, &ignored) == SPY_OK) {
        spyi_images_free_finished(device);
        spyi_pool_trim(device);
        spyi_text_free(error); // the second try may succeed
        status = images->create(device->gpu, desc, label, image, error);
    }
    spyi_text_free(&ignored);
    return status;
}

static spyi_texture_image *spyi_image_new(spy_device *device, const spyi_image_desc *desc, const char *label,
                                          spyi_text *error, spy_status *status) {
    spyi_images_free_finished(device);
    spyi_texture_image *image = (spyi_texture_image *)spyi_allocate(&device->ctx, sizeof *image);
    if (!image) {
        spyi_text_add(error, "out of host memory");
        *status = SPY_ERROR_OUT_OF_MEMORY;
        return NULL;
    }
    *status = spyi_image_create(device, desc, label, &image->image, error);
    if (*status != SPY_OK) {
        spyi_free(&device->ctx, image, sizeof *image);
        return NULL;
    }
    image->texture.resource.kind = &spyi_image_resource;
    image->texture.resource.references = 1;
    image->texture.handle = image->image.handle;
    image->texture.levels = desc->levels;
    image->texture.layers = desc->layers;
    image->texture.format = desc->format;
    image->desc = *desc;
    if (!spyi_texture_track(device, &image->texture)) {
        device->backend->images->destroy(device->gpu, &image->image);
        spyi_free(&device->ctx, image, sizeof *image);
        spyi_text_add(error, "out of host memory");
        *status = SPY_ERROR_OUT_OF_MEMORY;
        return NULL;
    }
    device->image_bytes += image->image.size;
    return image;
}

// >>textures

// Shaders read only the depth of a format with depth and stencil.
SPYI_FN const spyi_type *spyi_format_texel(spyi_types *types, uint32_t format) {
    const spy_format_info *info = spyi_format(format);
    if (!info) return NULL;
    if (info->channels == 1 || info->has_depth) return spyi_type_scalar(types, info->dtype);
    return spyi_type_vector(types, info->dtype, info->channels);
}

// Returns Slang's name for a parameter that takes such a texture.
static const spyi_type *spyi_texture_type(spy_device *device, const spyi_image_desc *image,
                                          const spyi_image_view_desc *part, const spyi_type *texel) {
    static const char *const names[SPY_TEXTURE_TYPE_COUNT] = { "", "Texture1D", "Texture2D", "Texture3D",
                                                               "TextureCube" };
    spyi_text name = { NULL, 0, 0 };
    spyi_text_add(&name, "%s%s%s<%s>", names[part->type], image->samples > 1 ? "MS" : "",
                  part->array ? "Array" : "", texel->name);
    const spyi_type *type = spyi_type_other(device->types, spyi_text_str(&name));
    spyi_text_free(&name);
    return type;
}

static void spyi_texture_measure(spy_texture *t) {
    const spyi_image_desc *d = &t->image->desc;
    spy_shape *shape = &t->shape;
    t->width = spyi_level_size(d->width, t->part.first_level);
    t->height = spyi_level_size(d->height, t->part.first_level);
    t->depth = spyi_level_size(d->depth, t->part.first_level);
    memset(shape, 0, sizeof *shape);
    if (t->part.array || t->part.type == SPY_TEXTURE_TYPE_CUBE)
        shape->dims[shape->rank++] = t->part.layer_count;
    if (t->part.type == SPY_TEXTURE_TYPE_3D) shape->dims[shape->rank++] = t->depth;
    if (t->part.type != SPY_TEXTURE_TYPE_1D) shape->dims[shape->rank++] = t->height;
    shape->dims[shape->rank++] = t->width;
}

SPYI_FN spy_texture *spyi_texture_over(spy_device *device, spyi_texture_image *image,
                                       const spyi_image_view_desc *part, const char *label,
                                       spyi_text *error) {
    spy_texture *t = (spy_texture *)spyi_allocate(&device->ctx, sizeof *t);
    if (!t) {
        spyi_text_add(error, "out of host memory");
        return NULL;
    }
    t->object.kind = (uint32_t)SPYI_KIND_TEXTURE;
    t->object.device = device;
    spyi_atomic_store(&t->object.references, 1);
    t->image = image;
    t->part = *part;
    t->serial = ++device->last_texture_serial;
    t->texel = spyi_format_texel(device->types, part->format);
    t->type = spyi_texture_type(device, &image->desc, part, t->texel);
    t->label = label && *label ? spyi_strdup(label) : NULL;
    spyi_texture_measure(t);
    t->next = device->textures;
    if (t->next) t->next->previous = t;
    device->textures = t;
    return t;
}

static void spyi_texture_unlink(spy_texture *t) {
    if (t->previous) t->previous->next = t->next;
    else t->object.device->textures = t->next;
    if (t->next) t->next->previous = t->previous;
}

static void spyi_texture_drop(spy_texture *t) {
    spy_device *device = t->object.device;
    spyi_texture_unlink(t);
    spyi_texture_grads_drop(t);
    spyi_resource_release(device, &t->image->texture.resource);
    free((void *)(uintptr_t)t->label);
    spyi_retire_object(device, &t->object, sizeof *t);
}

static void spyi_texture_released(spyi_object *object) {
    spyi_texture_drop((spy_texture *)(void *)object);
}

SPYI_FN void spyi_textures_attach(spy_device *device) {
    static const spyi_object_table table = { spyi_texture_released, NULL };
    device->ctx.tables[SPYI_KIND_TEXTURE - SPYI_KIND_DEVICE] = &table;
}

SPYI_FN void spyi_textures_free_all(spy_device *device) {
    while (device->textures) spyi_texture_drop(device->textures);
    while (device->waiting_images) { // the device has waited for all work
        spyi_texture_image *image = device->waiting_images;
        device->waiting_images = image->next;
        spyi_image_free(device, image);
    }
}

SPYI_FN void spyi_texture_text(const spy_texture *t, spyi_text *out) {
    spyi_text_add(out, "the texture ");
    if (t->label) spyi_text_add(out, "'%s' ", t->label);
    spyi_text_add(out, "(%s, %u", spyi_format(t->part.format)->name, t->width);
    if (t->part.type != SPY_TEXTURE_TYPE_1D) spyi_text_add(out, " x %u", t->height);
    if (t->part.type == SPY_TEXTURE_TYPE_3D) spyi_text_add(out, " x %u", t->depth);
    spyi_text_add(out, ")");
}

// >>checks of a new texture's desc

static const char *const spyi_usage_names[] = { "SAMPLED",      "STORED",   "COPIED",  "COLOR_TARGET",
                                                "DEPTH_TARGET", "FILTERED", "BLENDED", "MULTISAMPLED" };

// Appends "SAMPLED, COPIED" or "nothing".
static void spyi_usage_text(uint32_t usage, spyi_text *out) {
    bool first = true;
    for (uint32_t i = 0; i < sizeof spyi_usage_names / sizeof spyi_usage_names[0]; i++) {
        if (!(usage >> i & 1)) continue;
        spyi_text_add(out, "%s%s", first ? "" : ", ", spyi_usage_names[i]);
        first = false;
    }
    if (first) spyi_text_add(out, "nothing");
}

// Returns how much another format differs from the wanted one; UINT32_MAX means that it cannot replace it.
static uint32_t spyi_format_distance(const spy_format_info *a, const spy_format_info *b) {
    if (a->has_depth != b->has_depth || a->is_integer != b->is_integer || b->is_compressed) return UINT32_MAX;
    if (a->is_integer && a->is_signed != b->is_signed) return UINT32_MAX;
    if (b->channels < a->channels || (b->bits[0] < a->bits[0] && !a->is_compressed)) return UINT32_MAX;
    uint32_t wider = a->is_compressed ? (b->bits[0] > 8 ? b->bits[0] : 0) : b->bits[0] - a->bits[0];
    return (b->channels - a->channels) * 16 + wider + (a->is_srgb != b->is_srgb ? 4u : 0u) +
           (a->is_float != b->is_float ? 8u : 0u) + (a->is_snorm != b->is_snorm ? 8u : 0u);
}

SPYI_FN const char *spyi_nearest_format(spy_device *device, uint32_t format, uint32_t usage) {
    const spyi_image_functions *images = device->backend->images;
    const spy_format_info *wanted = spyi_format(format);
    const char *name = NULL;
    uint32_t least = UINT32_MAX;
    for (uint32_t i = 1; i < SPY_FORMAT_COUNT; i++) {
        uint32_t distance = i == format ? UINT32_MAX : spyi_format_distance(wanted, spyi_format(i));
        if (distance >= least || (images->support(device->gpu, i) & usage) != usage) continue;
        least = distance;
        name = spyi_format(i)->name;
    }
    return name;
}

static spy_status spyi_check_texture_usage(spy_device *device, uint32_t format, uint32_t wanted,
                                           uint32_t support, spyi_text *error) {
    if (support && (wanted & ~support) == 0) return SPY_OK;
    const char *name = spyi_format(format)->name, *nearest = spyi_nearest_format(device, format, wanted);
    const char *gpu = device->base->limits.info.name;
    if (support) {
        spyi_text_add(error, "textures of format %s cannot be ", name);
        spyi_usage_text(wanted & ~support, error);
        spyi_text_add(error, " on '%s', which has for them: ", gpu);
        spyi_usage_text(support, error);
    } else {
        spyi_text_add(error, "the device '%s' has no textures of format %s", gpu, name);
    }
    if (nearest) spyi_text_add(error, "; the nearest format that it has for this is %s", nearest);
    return SPY_ERROR_UNSUPPORTED;
}

static uint32_t spyi_most_levels(uint32_t width, uint32_t height, uint32_t depth) {
    uint32_t size = width > height ? width : height, levels = 1;
    if (depth > size) size = depth;
    for (; size > 1; size >>= 1) levels++;
    return levels;
}

// Takes the desc's sizes over, with the defaults for 0, and checks them.
static spy_status spyi_check_texture_sizes(const spy_texture_desc *d, spyi_image_desc *image,
                                           spyi_text *error) {
    uint32_t faces = image->type == SPY_TEXTURE_TYPE_CUBE ? 6 : 1;
    image->width = d->width ? d->width : 1;
    image->height = d->height ? d->height : 1;
    image->depth = d->depth ? d->depth : 1;
    image->array = d->array_size > 0;
    image->samples = d->samples ? d->samples : 1;
    uint32_t most = spyi_most_levels(image->width, image->height, image->depth);
    image->levels = d->levels == SPY_ALL_LEVELS ? most : d->levels ? d->levels : 1;
    if (d->array_size > (1u << 20)) {
        spyi_text_add(error, "desc.array_size is %u", d->array_size);
        return SPY_ERROR_OUT_OF_RANGE;
    }
    image->layers = (d->array_size ? d->array_size : 1) * faces;
    if (image->type == SPY_TEXTURE_TYPE_1D && image->height > 1)
        spyi_text_add(error, "desc.height is %u: a 1-D texture has only a width", d->height);
    else if (image->type != SPY_TEXTURE_TYPE_3D && image->depth > 1)
        spyi_text_add(error, "desc.depth is %u: only 3-D textures have a depth; layers are desc.array_size",
                      d->depth);
    else if (image->type == SPY_TEXTURE_TYPE_3D && d->array_size)
        spyi_text_add(error, "desc.array_size is %u: there are no arrays of 3-D textures", d->array_size);
    else if (faces == 6 && image->width != image->height)
        spyi_text_add(error, "a cube's faces are square, desc has %u x %u", image->width, image->height);
    else if (image->levels > most)
        spyi_text_add(error, "desc.levels is %u; %u x %u x %u texels have at most %u levels (SPY_ALL_LEVELS)",
                      d->levels, image->width, image->height, image->depth, most);
    else if (image->samples & (image->samples - 1))
        spyi_text_add(error, "desc.samples is %u, no power of two", d->samples);
    else if (image->samples > 1 && (image->type != SPY_TEXTURE_TYPE_2D || image->levels > 1))
        spyi_text_add(error, "a multisampled texture is 2-D and has one level");
    else return SPY_OK;
    return SPY_ERROR_INVALID_ARGUMENT;
}

static spy_status spyi_check_texture_data(const spy_texture_desc *d, const spyi_image_desc *image,
                                          spyi_text *error) {
    const spy_format_info *format = spyi_format(image->format);
    if (!d->data) return SPY_OK;
    if (image->samples > 1) {
        spyi_text_add(error, "desc.data: a multisampled texture takes no data; draw into it or clear it");
        return SPY_ERROR_INVALID_ARGUMENT;
    }
    if (format->has_stencil) {
        spyi_text_add(error, "desc.data: texels of %s do not lie in host memory in one piece", format->name);
        return SPY_ERROR_UNSUPPORTED;
    }
    uint64_t size = spyi_texels_size(image->format, image->width, image->height, image->depth, image->layers);
    if (!d->data_size_bytes || d->data_size_bytes == size) return SPY_OK;
    spyi_text_add(error, "desc.data_size_bytes is %zu, level 0 with all layers has %llu bytes",
                  d->data_size_bytes, (unsigned long long)size);
    return SPY_ERROR_SHAPE_MISMATCH;
}

static spy_status spyi_check_texture_desc(spy_device *device, const spy_texture_desc *d,
                                          spyi_image_desc *image, spyi_text *error) {
    const spyi_image_functions *images = device->backend->images;
    const uint32_t usages = SPY_TEXTURE_USAGE_SAMPLED | SPY_TEXTURE_USAGE_STORED | SPY_TEXTURE_USAGE_COPIED |
                            SPY_TEXTURE_USAGE_COLOR_TARGET | SPY_TEXTURE_USAGE_DEPTH_TARGET;
    const char *problem = SPYI_DESC_PROBLEM(spy_texture_desc, d);
    memset(image, 0, sizeof *image);
    if (!d || problem) {
        spyi_text_add(error, d ? "desc: %s" : "expected a desc, got NULL", problem);
    } else if ((int)d->type < 0 || d->type >= SPY_TEXTURE_TYPE_COUNT) {
        spyi_text_add(error, "desc.type is %d, not one of spy_texture_type", (int)d->type);
    } else if (d->format == SPY_FORMAT_NONE) {
        spyi_text_add(error, "desc.format is not set");
    } else if (!spyi_format((uint32_t)d->format)) {
        spyi_text_add(error, "desc.format is %d, not one of spy_format", (int)d->format);
    } else if (d->usage & ~usages) {
        spyi_text_add(error, "desc.usage has bits that are no usage of a texture: 0x%x", d->usage & ~usages);
    } else {
        image->type = (uint8_t)(d->type ? d->type : SPY_TEXTURE_TYPE_2D);
        image->format = (uint8_t)d->format;
        spy_status status = spyi_check_texture_sizes(d, image, error);
        if (status == SPY_OK) status = spyi_check_texture_data(d, image, error);
        if (status != SPY_OK) return status;
        uint32_t support = images->support(device->gpu, image->format), wanted = d->usage;
        if (image->samples > 1) wanted |= SPY_TEXTURE_USAGE_MULTISAMPLED;
        if (!d->usage) wanted |= SPY_TEXTURE_USAGE_SAMPLED;
        status = spyi_check_texture_usage(device, image->format, wanted, support, error);
        if (status != SPY_OK) return status;
        if (!d->usage && image->samples == 1) wanted |= support & SPY_TEXTURE_USAGE_STORED;
        if ((wanted & SPY_TEXTURE_USAGE_STORED) && image->samples > 1) {
            spyi_text_add(error, "a multisampled texture cannot be STORED");
            return SPY_ERROR_UNSUPPORTED;
        }
        image->usage = (wanted & usages) | SPY_TEXTURE_USAGE_COPIED;
        return SPY_OK;
    }
    return SPY_ERROR_INVALID_ARGUMENT;
}

// >>creation

static spy_texture *spyi_texture_create(spy_device *device, const spy_texture_desc *desc, spyi_text *error,
                                        spy_status *status) {
    spyi_image_desc d;
    spyi_image_view_desc all;
    if (!device->backend->images) {
        spyi_text_add(error, "the backend '%s' has no textures yet", device->backend->name);
        *status = SPY_ERROR_UNSUPPORTED;
        return NULL;
    }
    *status = spyi_check_texture_desc(device, desc, &d, error);
    if (*status != SPY_OK) return NULL;
    spyi_texture_image *image = spyi_image_new(device, &d, desc->label, error, status);
    if (!image) return NULL;
    memset(&all, 0, sizeof all);
    all.type = d.type;
    all.format = d.format;
    all.array = d.array;
    all.level_count = d.levels;
    all.layer_count = d.layers;
    spy_texture *texture = spyi_texture_over(device, image, &all, desc->label, error);
    if (!texture) {
        spyi_resource_release(device, &image->texture.resource);
        *status = SPY_ERROR_OUT_OF_MEMORY;
        return NULL;
    }
    if (desc->with_grad) *status = spyi_texture_grads_make(texture, error);
    if (*status == SPY_OK && desc->data)
        *status = spyi_texture_fill(texture, desc->data,
                                    (size_t)spyi_texels_size(d.format, d.width, d.height, d.depth, d.layers),
                                    error);
    if (*status == SPY_OK) return texture;
    spyi_texture_drop(texture);
    return NULL;
}

spy_texture *spy_create_texture(spy_device *device, const spy_texture_desc *desc) {
    const char *function = "spy_create_texture";
    if (spyi_enter(device, SPYI_KIND_DEVICE, function) != SPY_OK) return NULL;
    spyi_text error = { NULL, 0, 0 };
    spy_status status = SPY_OK;
    spy_texture *texture = spyi_texture_create(device, desc, &error, &status);
    if (!texture) spyi_fail_text(device, status, function, &error);
    spyi_leave(device);
    return texture;
}

// >>views

// Returns whether the bits of a texel of one format are a texel of the other.
static bool spyi_formats_fit(const spy_format_info *a, const spy_format_info *b) {
    return a->block_bytes == b->block_bytes && a->block_width == b->block_width &&
           a->is_compressed == b->is_compressed && !a->has_depth && !b->has_depth;
}

static spy_status spyi_view_format(const spy_texture *t, uint32_t format, spyi_image_view_desc *part,
                                   spyi_text *error) {
    spy_device *device = t->object.device;
    const spy_format_info *have = spyi_format(t->part.format), *want = spyi_format(format);
    if (format == SPY_FORMAT_NONE || format == t->part.format) return SPY_OK;
    if (!want) {
        spyi_text_add(error, "desc.format is %u, not one of spy_format", format);
        return SPY_ERROR_INVALID_ARGUMENT;
    }
    if (!spyi_formats_fit(have, want)) {
        spyi_text_add(error, "a texture of format %s cannot be viewed as %s: their texels have other sizes%s",
                      have->name, want->name, have->has_depth || want->has_depth ? " or depth" : "");
        return SPY_ERROR_TYPE_MISMATCH;
    }
    if (!device->backend->images->support(device->gpu, format))
        return spyi_check_texture_usage(device, format, SPY_TEXTURE_USAGE_SAMPLED, 0, error);
    part->format = (uint8_t)format;
    return SPY_OK;
}

// Cuts the levels and layers that desc asks for out of the texture's part.
static spy_status spyi_view_part(const spy_texture_view_desc *d, spyi_image_view_desc *part,
                                 spyi_text *error) {
    const bool cube = part->type == SPY_TEXTURE_TYPE_CUBE;
    if (d->level >= part->level_count || d->level_count > part->level_count - d->level) {
        spyi_text_add(error, "%u levels from level %u on are not within the texture's %u",
                      d->level_count ? d->level_count : 1, d->level, part->level_count);
        return SPY_ERROR_OUT_OF_RANGE;
    }
    if (d->layer >= part->layer_count || d->layer_count > part->layer_count - d->layer) {
        spyi_text_add(error, "%u layers from layer %u on are not within the texture's %u",
                      d->layer_count ? d->layer_count : 1, d->layer, part->layer_count);
        return SPY_ERROR_OUT_OF_RANGE;
    }
    part->first_level += d->level;
    part->level_count = d->level_count ? d->level_count : part->level_count - d->level;
    part->first_layer += d->layer;
    part->layer_count = d->layer_count ? d->layer_count : part->layer_count - d->layer;
    if (cube && part->layer_count % 6 && !d->layer_count) {
        spyi_text_add(error, "from layer %u on a cube has %u layers, no multiple of 6; give desc.layer_count",
                      d->layer, part->layer_count);
        return SPY_ERROR_OUT_OF_RANGE;
    }
    // the view keeps the texture's type
    if (!d->layer_count || part->type == SPY_TEXTURE_TYPE_3D) return SPY_OK;
    if (cube && part->layer_count % 6 == 0) {
        part->array = part->layer_count > 6;
        return SPY_OK;
    }
    if (cube) part->type = SPY_TEXTURE_TYPE_2D;
    part->array = part->layer_count > 1;
    return SPY_OK;
}

static spy_texture *spyi_texture_view_of(spy_texture *t, const spy_texture_view_desc *d, spyi_text *error,
                                         spy_status *status) {
    spy_texture_view_desc none;
    const char *problem = SPYI_DESC_PROBLEM(spy_texture_view_desc, d);
    spyi_image_view_desc part = t->part;
    memset(&none, 0, sizeof none);
    if (!d) d = &none;
    if (problem) {
        spyi_text_add(error, "desc: %s", problem);
        *status = SPY_ERROR_INVALID_ARGUMENT;
        return NULL;
    }
    *status = spyi_view_part(d, &part, error);
    if (*status == SPY_OK) *status = spyi_view_format(t, (uint32_t)d->format, &part, error);
    if (*status != SPY_OK) return NULL;
    spyi_resource_retain(&t->image->texture.resource);
    spy_texture *view = spyi_texture_over(t->object.device, t->image, &part, t->label, error);
    if (!view) {
        spyi_resource_release(t->object.device, &t->image->texture.resource);
        *status = SPY_ERROR_OUT_OF_MEMORY;
        return NULL;
    }
    if (d->with_grad) *status = spyi_texture_grads_make(view, error);
    if (*status == SPY_OK) return view;
    spyi_texture_drop(view);
    return NULL;
}

spy_texture *spy_texture_view(spy_texture *texture, const spy_texture_view_desc *desc) {
    const char *function = "spy_texture_view";
    if (spyi_enter(texture, SPYI_KIND_TEXTURE, function) != SPY_OK) return NULL;
    spy_device *device = texture->object.device;
    spyi_text error = { NULL, 0, 0 };
    spy_status status = SPY_OK;
    spy_texture *view = spyi_texture_view_of(texture, desc, &error, &status);
    if (!view) spyi_fail_text(device, status, function, &error);
    spyi_leave(device);
    return view;
}

// >>references and information

void spy_retain_texture(spy_texture *texture) {
    spyi_object_retain(texture, SPYI_KIND_TEXTURE, "spy_retain_texture");
}

void spy_release_texture(spy_texture *texture) {
    if (!texture) return;
    if (spyi_as(texture, SPYI_KIND_TEXTURE)) spyi_object_release(&texture->object);
    else spyi_fail(NULL, SPY_ERROR_RELEASED, "spy_release_texture: the texture has been released already");
}

spy_texture_info spy_get_texture_info(spy_texture *texture) {
    spy_texture_info info;
    memset(&info, 0, sizeof info);
    if (spyi_enter(texture, SPYI_KIND_TEXTURE, "spy_get_texture_info") != SPY_OK) return info;
    const spyi_image_desc *d = &texture->image->desc;
    const spyi_image_view_desc *part = &texture->part;
    info.type = (spy_texture_type)part->type;
    info.format = (spy_format)part->format;
    info.width = texture->width;
    info.height = texture->height;
    info.depth = texture->depth;
    info.layer_count = part->layer_count;
    info.array_size = !part->array                          ? 0
                      : part->type == SPY_TEXTURE_TYPE_CUBE ? part->layer_count / 6
                                                            : part->layer_count;
    info.levels = part->level_count;
    info.samples = d->samples;
    info.usage = d->usage;
    info.first_level = part->first_level;
    info.first_layer = part->first_layer;
    info.dtype = texture->texel->scalar;
    info.columns = texture->texel->columns;
    info.shape = texture->shape;
    info.size_bytes =
        (size_t)spyi_texels_size(part->format, info.width, info.height, info.depth, part->layer_count);
    info.label = texture->label ? texture->label : "";
    spyi_leave(texture);
    return info;
}

uint64_t spy_texture_native_image(spy_texture *texture) {
    if (spyi_enter(texture, SPYI_KIND_TEXTURE, "spy_texture_native_image") != SPY_OK) return 0;
    uint64_t handle = texture->image->image.handle;
    spyi_leave(texture);
    return handle;
}

uint64_t spy_texture_native_view(spy_texture *texture) {
    static const char function[] = "spy_texture_native_view";
    spyi_text error = { NULL, 0, 0 };
    if (spyi_enter(texture, SPYI_KIND_TEXTURE, function) != SPY_OK) return 0;
    uint64_t handle = spyi_texture_shader_view(texture, false, NULL, &error);
    if (!handle) spyi_fail_text(texture->object.device, SPY_ERROR_UNSUPPORTED, function, &error);
    spyi_text_free(&error);
    spyi_leave(texture);
    return handle;
}

uint32_t spy_format_support(spy_device *device, spy_format format) {
    if (spyi_enter(device, SPYI_KIND_DEVICE, "spy_format_support") != SPY_OK) return 0;
    const spyi_image_functions *images = device->backend->images;
    uint32_t support =
        images && spyi_format((uint32_t)format) ? images->support(device->gpu, (uint32_t)format) : 0;
    spyi_leave(device);
    return support & ~(uint32_t)SPYI_BLITS;
}

// >>uses

// Returns the SPYI_USE_* flags of a use. Images that may be stored to are always in the layout for stores
// when a shader uses them.
static uint32_t spyi_texture_how(const spyi_texture_image *image, uint32_t how) {
    bool stored = (how & SPYI_USE_SAMPLED) && (image->desc.usage & SPY_TEXTURE_USAGE_STORED);
    return stored ? (how & ~(uint32_t)SPYI_USE_SAMPLED) | SPYI_USE_STORED : how;
}

SPYI_FN spyi_use spyi_texture_layer_use(const spy_texture *t, uint32_t level, uint32_t layer, uint32_t count,
                                        uint32_t how) {
    spyi_texture_image *image = t->image;
    uint64_t begin = (uint64_t)(t->part.first_level + level) * image->texture.layers + t->part.first_layer;
    return spyi_use_of(&image->texture.resource, begin + layer, begin + layer + count,
                       spyi_texture_how(image, how));
}

SPYI_FN uint32_t spyi_texture_level_uses(const spy_texture *t, uint32_t level, uint32_t how, spyi_use *uses) {
    uses[0] = spyi_texture_layer_use(t, level, 0, t->part.layer_count, how);
    return 1;
}

SPYI_FN uint32_t spyi_texture_uses(const spy_texture *t, uint32_t how, spyi_use *uses) {
    const spyi_image_view_desc *part = &t->part;
    if (part->layer_count == t->image->texture.layers) { // with all layers, the levels follow each other
        uses[0] = spyi_texture_layer_use(t, 0, 0, part->layer_count * part->level_count, how);
        return 1;
    }
    for (uint32_t i = 0; i < part->level_count; i++)
        uses[i] = spyi_texture_layer_use(t, i, 0, part->layer_count, how);
    return part->level_count;
}

// >>views for shaders

// Returns the part of the image that a shader sees. A stored view has one level, and the faces of a cube are
// stored as layers.
static spyi_image_view_desc spyi_shader_part(const spy_texture *t, bool stored) {
    spyi_image_view_desc desc = t->part; // copied with its padding, which is zero
    desc.stored = stored;
    if (!stored) return desc;
    desc.level_count = 1;
    if (desc.type == SPY_TEXTURE_TYPE_CUBE) {
        desc.type = SPY_TEXTURE_TYPE_2D;
        desc.array = true;
    }
    return desc;
}

// Returns the image's view of that part, which is made if there is none. 0 means failure; `error` then says
// why.
static uint64_t spyi_image_view(spy_device *device, spyi_texture_image *image,
                                const spyi_image_view_desc *desc, uint64_t sampler, spyi_text *error) {
    spyi_shader_view *view = image->views;
    while (view && (memcmp(&view->desc, desc, sizeof *desc) != 0 || view->sampler != sampler))
        view = view->next;
    if (view) return view->handle;
    view = (spyi_shader_view *)spyi_allocate(&device->ctx, sizeof *view);
    if (!view) {
        spyi_text_add(error, "out of host memory");
        return 0;
    }
    memcpy(&view->desc, desc, sizeof *desc);
    view->sampler = sampler;
    if (device->backend->images->create_view(device->gpu, &image->image, &image->desc, desc, sampler,
                                             &view->handle, error) != SPY_OK) {
        spyi_free(&device->ctx, view, sizeof *view);
        return 0;
    }
    view->next = image->views;
    image->views = view;
    return view->handle;
}

SPYI_FN uint64_t spyi_texture_shader_view(spy_texture *t, bool stored, spy_sampler *sampler,
                                          spyi_text *error) {
    uint64_t *kept = sampler ? NULL : stored ? &t->stored_view : &t->sampled_view;
    if (SPYI_LIKELY(kept && *kept)) return *kept;
    spy_device *device = t->object.device;
    spyi_texture_image *image = t->image;
    uint32_t usage = stored ? SPY_TEXTURE_USAGE_STORED : SPY_TEXTURE_USAGE_SAMPLED;
    uint32_t support = device->backend->images->support(device->gpu, t->part.format);
    if (!(image->desc.usage & support & usage)) {
        spyi_texture_text(t, error);
        if (image->desc.usage & usage)
            spyi_text_add(error, " cannot be %s in this format", stored ? "STORED" : "SAMPLED");
        else spyi_text_add(error, " was created without SPY_TEXTURE_USAGE_%s", stored ? "STORED" : "SAMPLED");
        return 0;
    }
    spyi_image_view_desc desc = spyi_shader_part(t, stored);
    uint64_t handle = spyi_image_view(device, image, &desc, sampler ? sampler->handle : 0, error);
    if (kept) *kept = handle;
    return handle;
}

SPYI_FN uint64_t spyi_texture_target_view(spy_texture *t, spyi_text *error) {
    if (SPYI_LIKELY(t->target_view)) return t->target_view;
    spyi_image_view_desc desc = t->part; // copied with its padding, which is zero
    desc.type = SPY_TEXTURE_TYPE_2D;
    desc.array = desc.layer_count > 1;
    desc.target = true;
    desc.level_count = 1;
    t->target_view = spyi_image_view(t->object.device, t->image, &desc, 0, error);
    return t->target_view;
}

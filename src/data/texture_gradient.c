// Gradients of textures: one tensor of float numbers for each, which holds the levels one after another, and a
// view of it for each level.
#include "data/device.h"
#include "data/scalars.h"
#include "data/tensor.h"
#include "data/texture.h"

// Returns the shape of a level: width, height and depth are halved for each level, layers are not.
static spy_shape spyi_texture_level_shape(const spy_texture *t, uint32_t level) {
    spy_shape shape = t->shape;
    bool layers = t->part.array || t->part.type == SPY_TEXTURE_TYPE_CUBE;
    for (uint32_t d = layers ? 1 : 0; d < shape.rank; d++) {
        shape.dims[d] >>= level;
        if (shape.dims[d] < 1) shape.dims[d] = 1;
    }
    return shape;
}

static spy_status spyi_texture_grads_check(const spy_texture *t, spyi_text *error) {
    const spy_format_info *format = spyi_format(t->part.format);
    if (!t->texel || t->texel->scalar < SPY_DTYPE_FLOAT16) {
        spyi_text_add(
            error, "with_grad: expected a format that shaders read as floats, got %s, which has no gradients",
            format->name);
        return SPY_ERROR_TYPE_MISMATCH;
    }
    if (t->image->desc.samples > 1 || format->has_depth) {
        spyi_text_add(error, "with_grad: %s textures have no gradients",
                      format->has_depth ? "depth" : "multisampled");
        return SPY_ERROR_UNSUPPORTED;
    }
    return SPY_OK;
}

SPYI_FN spy_status spyi_texture_grads_make(spy_texture *t, spyi_text *error) {
    spy_device *device = t->object.device;
    spy_status status = spyi_texture_grads_check(t, error);
    if (status != SPY_OK) return status;
    const spyi_type *type = spyi_type_with_scalar(device->types, t->texel, SPY_DTYPE_FLOAT32);
    spy_shape all;
    memset(&all, 0, sizeof all);
    all.rank = 1;
    for (uint32_t l = 0; l < t->part.level_count; l++) {
        spy_shape shape = spyi_texture_level_shape(t, l);
        all.dims[0] += spyi_shape_count(&shape);
    }
    if (all.dims[0] > INT32_MAX) {
        spyi_text_add(error, "with_grad: the texture has more than 2147483647 texels");
        return SPY_ERROR_OUT_OF_RANGE;
    }
    t->grad = spyi_tensor_make(device, type, &all, t->label, error, &status);
    if (!t->grad) return status;
    uint64_t at = t->grad->offset_bytes;
    for (uint32_t l = 0; l < t->part.level_count; l++) {
        spy_tensor *view = spyi_tensor_new(device);
        if (!view) {
            spyi_text_add(error, "out of host memory");
            return SPY_ERROR_OUT_OF_MEMORY;
        }
        view->storage = t->grad->storage;
        view->storage->resource.references++;
        view->type = type;
        view->shape = spyi_texture_level_shape(t, l);
        view->strides = spyi_row_major(&view->shape);
        view->offset_bytes = at;
        spyi_tensor_measure(view);
        at += (uint64_t)view->element_count * spyi_type_device_stride(type);
        t->grad_levels[l] = view;
    }
    return spyi_tensor_repeat(t->grad, NULL, error);
}

SPYI_FN spy_status spyi_texture_sums_make(spy_texture *t, spyi_text *error) {
    spy_device *device = t->object.device;
    spy_status status = SPY_OK;
    spy_shape shape;
    if (t->sums) return SPY_OK;
    memset(&shape, 0, sizeof shape);
    shape.rank = 1;
    shape.dims[0] = t->grad->element_count * t->grad->type->columns;
    t->sums = spyi_sums_make(device, &shape, error, &status);
    if (status != SPY_OK || t->grad_scalars) return status;
    spy_tensor *view = spyi_tensor_new(device);
    if (!view) {
        spyi_text_add(error, "out of host memory");
        return SPY_ERROR_OUT_OF_MEMORY;
    }
    view->storage = t->grad->storage;
    view->storage->resource.references++;
    view->type = spyi_type_scalar(device->types, SPY_DTYPE_FLOAT32);
    view->shape = shape;
    view->strides = spyi_row_major(&shape);
    view->offset_bytes = t->grad->offset_bytes;
    spyi_tensor_measure(view);
    t->grad_scalars = view;
    return SPY_OK;
}

SPYI_FN void spyi_texture_grads_drop(spy_texture *t) {
    spy_device *device = t->object.device;
    spy_tensor *more[2] = { t->sums, t->grad_scalars };
    spyi_sums_forget(device, &t->has_sums);
    t->sums = t->grad_scalars = NULL;
    for (int i = 0; i < 2; i++)
        if (more[i]) spyi_object_release(&more[i]->object);
    for (uint32_t l = 0; l < SPYI_MOST_LEVELS; l++) {
        if (t->grad_levels[l]) spyi_object_release(&t->grad_levels[l]->object);
        t->grad_levels[l] = NULL;
    }
    if (t->grad) spyi_object_release(&t->grad->object);
    t->grad = NULL;
}

// >>the public functions

spy_tensor *spy_texture_grad(spy_texture *texture, uint32_t level) {
    const char *function = "spy_texture_grad";
    if (spyi_enter(texture, SPYI_KIND_TEXTURE, function) != SPY_OK) return NULL;
    spy_device *device = texture->object.device;
    spy_tensor *grad = NULL;
    if (level >= texture->part.level_count)
        spyi_fail(&device->ctx, SPY_ERROR_OUT_OF_RANGE, "%s: level is %u, the texture has %u", function,
                  level, texture->part.level_count);
    else grad = texture->grad_levels[level];
    spyi_leave(device);
    return grad;
}

spy_status spy_texture_zero_grad(spy_texture *texture) {
    const char *function = "spy_texture_zero_grad";
    spy_status status = spyi_enter(texture, SPYI_KIND_TEXTURE, function);
    if (status != SPY_OK) return status;
    spy_device *device = texture->object.device;
    spyi_text error = { NULL, 0, 0 };
    if (texture->grad) {
        status = spyi_tensor_repeat(texture->grad, NULL, &error);
    } else {
        status = SPY_ERROR_INVALID_ARGUMENT;
        spyi_text_add(&error, "the texture has no gradient; make it with desc.with_grad");
    }
    if (status != SPY_OK) spyi_fail_text(device, status, function, &error);
    spyi_leave(device);
    return status;
}

// Handles of textures, samplers and tensors: the 8 bytes that Slang's DescriptorHandle<T> has. A texture's or tensor's
// handle is valid as long as the object lives, and made when it is first asked for.
#include "data/device.h"
#include "data/tensor.h"
#include "data/texture.h"

static void spyi_list_image(spy_device *device, spyi_texture_image *image) {
    if (image->listed) return;
    image->listed = true;
    image->previous_listed = NULL;
    image->next_listed = device->listed_images;
    if (image->next_listed) image->next_listed->previous_listed = image;
    device->listed_images = image;
    device->listed_count++;
}

static spyi_binding_kind spyi_view_binding(const spyi_shader_view *view) {
    return view->desc.stored ? SPYI_BINDING_RW_TEXTURE
           : view->sampler   ? SPYI_BINDING_COMBINED
                             : SPYI_BINDING_TEXTURE;
}

SPYI_FN void spyi_image_unlist(spy_device *device, spyi_texture_image *image) {
    if (!image->listed) return;
    for (spyi_shader_view *view = image->views; view; view = view->next)
        if (view->listed)
            device->backend->images->remove_handle(device->gpu, spyi_view_binding(view), view->number);
    if (image->previous_listed) image->previous_listed->next_listed = image->next_listed;
    else device->listed_images = image->next_listed;
    if (image->next_listed) image->next_listed->previous_listed = image->previous_listed;
    image->listed = false;
    device->listed_count--;
}

SPYI_FN void spyi_tensor_unlist(spy_tensor *tensor) {
    spy_device *device = tensor->object.device;
    if (tensor->listed)
        device->backend->images->remove_handle(device->gpu, SPYI_BINDING_BUFFER, tensor->number);
    tensor->listed = false;
}

SPYI_FN uint32_t spyi_listed_uses(const spy_device *device, spyi_use *uses, uint32_t count) {
    const uint32_t own = count;
    for (spyi_texture_image *image = device->listed_images; image; image = image->next_listed) {
        bool stored = (image->desc.usage & SPY_TEXTURE_USAGE_STORED) != 0;
        uint32_t how =
            stored ? SPYI_USE_READS | SPYI_USE_WRITES | SPYI_USE_STORED : SPYI_USE_READS | SPYI_USE_SAMPLED;
        spyi_use use =
            spyi_use_of(&image->texture.resource, 0, (uint64_t)image->desc.levels * image->desc.layers, how);
        bool target = false;
        for (uint32_t i = 0; i < own; i++) {
            if (uses[i].resource != use.resource || uses[i].how < SPYI_USE_TEXTURE) continue;
            target = target || (uses[i].how & SPYI_USE_ATTACHMENT) != 0;
            // The texture is an argument too, so that both uses need one layout.
            if (!target) uses[i].how = use.how;
        }
        if (!target) uses[count++] = use;
    }
    return count;
}

static spy_status spyi_can_list(spy_device *device, spyi_text *error) {
    const spyi_image_functions *images = device->backend->images;
    if (images && images->add_handle && (device->base->limits.info.features & SPY_FEATURE_HANDLES))
        return SPY_OK;
    spyi_text_add(error, "the device '%s' has no bindless handles (SPY_FEATURE_HANDLES)",
                  device->base->limits.info.name);
    return SPY_ERROR_UNSUPPORTED;
}

// Finds or makes the number of a view. `sampler` is the sampler of a combined handle; otherwise NULL.
static spy_status spyi_texture_number(spy_texture *t, bool stored, spy_sampler *sampler, uint64_t *number,
                                      spyi_text *error) {
    spy_device *device = t->object.device;
    spyi_binding binding;
    spy_status status = spyi_can_list(device, error);
    if (status != SPY_OK) return status;
    const uint64_t handle = spyi_texture_shader_view(t, stored, sampler, error);
    if (!handle) return SPY_ERROR_UNSUPPORTED;
    spyi_shader_view *view = t->image->views;
    while (view->handle != handle) view = view->next;
    if (!view->listed) {
        binding.kind = spyi_view_binding(view);
        binding.handle = handle;
        binding.offset = t->image->desc.usage & SPY_TEXTURE_USAGE_STORED ? SPYI_USE_STORED : SPYI_USE_SAMPLED;
        binding.range = sampler ? sampler->handle : 0;
        status = device->backend->images->add_handle(device->gpu, &binding, &view->number, error);
        if (status != SPY_OK) return status;
        view->listed = true;
        spyi_list_image(device, t->image);
    }
    *number = view->number;
    return SPY_OK;
}

static spy_status spyi_sampler_number(spy_sampler *sampler, uint64_t *number, spyi_text *error) {
    spy_device *device = sampler->object.device;
    spyi_sampler_object *o = device->sampler_objects;
    spyi_binding binding;
    spy_status status = spyi_can_list(device, error);
    if (status != SPY_OK) return status;
    while (o->handle != sampler->handle) o = o->next;
    if (!o->listed) {
        memset(&binding, 0, sizeof binding);
        binding.kind = SPYI_BINDING_SAMPLER;
        binding.handle = sampler->handle;
        status = device->backend->images->add_handle(device->gpu, &binding, &o->number, error);
        if (status != SPY_OK) return status;
        o->listed = true;
    }
    *number = o->number;
    return SPY_OK;
}

static spy_status spyi_tensor_number(spy_tensor *tensor, uint64_t *number, spyi_text *error) {
    spy_device *device = tensor->object.device;
    const spyi_limits *limits = &device->base->limits;
    const spyi_storage *storage = tensor->storage;
    spyi_binding binding;
    spy_status status = spyi_can_list(device, error);
    if (status != SPY_OK) return status;
    if (tensor->listed) {
        *number = tensor->number;
        return SPY_OK;
    }
    binding.kind = SPYI_BINDING_BUFFER;
    binding.handle = storage->chunk.handle;
    binding.offset = storage->offset + tensor->begin_bytes;
    binding.range = tensor->end_bytes - tensor->begin_bytes;
    if (binding.range == 0 || binding.range > limits->max_binding_bytes ||
        binding.offset % limits->binding_alignment) {
        spyi_text_add(
            error,
            "a tensor with a handle has 1 to %llu bytes, of which the first lies at a multiple of %u bytes "
            "in its memory; this one has %llu at %llu",
            (unsigned long long)limits->max_binding_bytes, limits->binding_alignment,
            (unsigned long long)binding.range, (unsigned long long)binding.offset);
        return SPY_ERROR_UNSUPPORTED;
    }
    status = device->backend->images->add_handle(device->gpu, &binding, &tensor->number, error);
    if (status != SPY_OK) return status;
    tensor->listed = true;
    *number = tensor->number;
    return SPY_OK;
}

// >>entry points

static spy_status spyi_end_number(spy_device *device, spy_status status, const char *function,
                                  spyi_text *error) {
    if (status != SPY_OK) spyi_fail_text(device, status, function, error);
    spyi_text_free(error);
    spyi_leave(device);
    return status;
}

spy_status spy_texture_handle(spy_texture *texture, bool writable, uint64_t *handle) {
    static const char function[] = "spy_texture_handle";
    spyi_text error = { NULL, 0, 0 };
    if (handle) *handle = 0;
    spy_status status = spyi_enter(texture, SPYI_KIND_TEXTURE, function);
    if (status != SPY_OK) return status;
    if (handle) {
        status = spyi_texture_number(texture, writable, NULL, handle, &error);
    } else {
        spyi_text_add(&error, "handle: expected a pointer, got NULL");
        status = SPY_ERROR_INVALID_ARGUMENT;
    }
    return spyi_end_number(texture->object.device, status, function, &error);
}

spy_status spy_sampled_texture_handle(spy_texture *texture, spy_sampler *sampler, uint64_t *handle) {
    static const char function[] = "spy_sampled_texture_handle";
    spyi_text error = { NULL, 0, 0 };
    if (handle) *handle = 0;
    spy_status status = spyi_enter(texture, SPYI_KIND_TEXTURE, function);
    if (status != SPY_OK) return status;
    spy_device *device = texture->object.device;
    if (!handle) {
        spyi_text_add(&error, "handle: expected a pointer, got NULL");
        status = SPY_ERROR_INVALID_ARGUMENT;
    } else if (!spyi_is_on(device, sampler, SPYI_KIND_SAMPLER)) {
        spyi_text_add(&error, "sampler: ");
        status = spyi_object_problem(sampler, SPYI_KIND_SAMPLER, &error);
    } else {
        status = spyi_texture_number(texture, false, sampler, handle, &error);
    }
    return spyi_end_number(device, status, function, &error);
}

spy_status spy_sampler_handle(spy_sampler *sampler, uint64_t *handle) {
    static const char function[] = "spy_sampler_handle";
    spyi_text error = { NULL, 0, 0 };
    if (handle) *handle = 0;
    spy_status status = spyi_enter(sampler, SPYI_KIND_SAMPLER, function);
    if (status != SPY_OK) return status;
    if (handle) {
        status = spyi_sampler_number(sampler, handle, &error);
    } else {
        spyi_text_add(&error, "handle: expected a pointer, got NULL");
        status = SPY_ERROR_INVALID_ARGUMENT;
    }
    return spyi_end_number(sampler->object.device, status, function, &error);
}

spy_status spy_tensor_handle(spy_tensor *tensor, uint64_t *handle) {
    static const char function[] = "spy_tensor_handle";
    spyi_text error = { NULL, 0, 0 };
    if (handle) *handle = 0;
    spy_status status = spyi_enter(tensor, SPYI_KIND_TENSOR, function);
    if (status != SPY_OK) return status;
    if (handle) {
        status = spyi_tensor_number(tensor, handle, &error);
    } else {
        spyi_text_add(&error, "handle: expected a pointer, got NULL");
        status = SPY_ERROR_INVALID_ARGUMENT;
    }
    return spyi_end_number(tensor->object.device, status, function, &error);
}

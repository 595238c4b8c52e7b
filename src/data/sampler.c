// Samplers. Equal ones share an object of the backend, which lives as long as the device.
#include "data/texture.h"
#include "data/device.h"

// Takes the desc over, and replaces every DEFAULT by the value that it stands for.
static spy_status spyi_check_sampler_desc(const spy_sampler_desc *d, spy_sampler_desc *out,
                                          spyi_text *error) {
    const char *problem = SPYI_DESC_PROBLEM(spy_sampler_desc, d);
    memset(out, 0, sizeof *out);
    if (problem) {
        spyi_text_add(error, "desc: %s", problem);
        return SPY_ERROR_INVALID_ARGUMENT;
    }
    spy_filter *filters[3] = { &out->min_filter, &out->mag_filter, &out->mip_filter };
    spy_address_mode *modes[3] = { &out->address_u, &out->address_v, &out->address_w };
    if (d) { // copies member by member, so that the padding stays zero, since descs are compared as bytes
        out->min_filter = d->min_filter, out->mag_filter = d->mag_filter, out->mip_filter = d->mip_filter;
        out->address_u = d->address_u, out->address_v = d->address_v, out->address_w = d->address_w;
        out->compare = d->compare;
        out->reduction = d->reduction;
        out->max_anisotropy = d->max_anisotropy;
        out->mip_bias = d->mip_bias;
        out->min_level = d->min_level, out->max_level = d->max_level;
        memcpy(out->border, d->border, sizeof out->border);
    }
    for (int i = 0; i < 3; i++) {
        if ((int)*filters[i] < 0 || *filters[i] > SPY_FILTER_LINEAR) {
            spyi_text_add(error, "desc: filter %d is not one of spy_filter", (int)*filters[i]);
            return SPY_ERROR_INVALID_ARGUMENT;
        }
        if ((int)*modes[i] < 0 || *modes[i] > SPY_ADDRESS_MODE_MIRROR_ONCE) {
            spyi_text_add(error, "desc: address mode %d is not one of spy_address_mode", (int)*modes[i]);
            return SPY_ERROR_INVALID_ARGUMENT;
        }
        if (*filters[i] == SPY_FILTER_DEFAULT) *filters[i] = SPY_FILTER_LINEAR;
        if (*modes[i] == SPY_ADDRESS_MODE_DEFAULT) *modes[i] = SPY_ADDRESS_MODE_WRAP;
    }
    if ((int)out->compare < 0 || out->compare > SPY_COMPARE_ALWAYS) {
        spyi_text_add(error, "desc.compare is %d, not one of spy_compare", (int)out->compare);
        return SPY_ERROR_INVALID_ARGUMENT;
    }
    if ((int)out->reduction < 0 || out->reduction > SPY_REDUCTION_MAX) {
        spyi_text_add(error, "desc.reduction is %d, not one of spy_reduction", (int)out->reduction);
        return SPY_ERROR_INVALID_ARGUMENT;
    }
    if (!(out->mip_bias - out->mip_bias == 0)) { // not of infinities and NaN
        spyi_text_add(error, "desc.mip_bias is %g, not a number of levels", (double)out->mip_bias);
        return SPY_ERROR_OUT_OF_RANGE;
    }
    if (!(out->min_level >= 0) || (out->max_level != 0 && !(out->max_level >= out->min_level))) {
        spyi_text_add(error, "desc: levels %g to %g are no range", (double)out->min_level,
                      (double)out->max_level);
        return SPY_ERROR_OUT_OF_RANGE;
    }
    if (out->reduction == SPY_REDUCTION_DEFAULT) out->reduction = SPY_REDUCTION_AVERAGE;
    if (out->max_anisotropy == 0) out->max_anisotropy = 1;
    return SPY_OK;
}

static spyi_sampler_object *spyi_sampler_object_of(spy_device *device, const spy_sampler_desc *desc,
                                                   spyi_text *error, spy_status *status) {
    spyi_sampler_object *o = device->sampler_objects;
    while (o && memcmp(&o->desc, desc, sizeof *desc) != 0) o = o->next;
    if (o) return o;
    o = (spyi_sampler_object *)spyi_allocate(&device->ctx, sizeof *o);
    if (!o) {
        spyi_text_add(error, "out of host memory");
        *status = SPY_ERROR_OUT_OF_MEMORY;
        return NULL;
    }
    memcpy(&o->desc, desc, sizeof *desc);
    *status = device->backend->images->create_sampler(device->gpu, desc, &o->handle, error);
    if (*status != SPY_OK) {
        spyi_free(&device->ctx, o, sizeof *o);
        return NULL;
    }
    o->next = device->sampler_objects;
    device->sampler_objects = o;
    return o;
}

static spy_sampler *spyi_sampler_new(spy_device *device, const spy_sampler_desc *desc, spyi_text *error,
                                     spy_status *status) {
    spy_sampler_desc checked;
    if (!device->backend->images) {
        spyi_text_add(error, "the backend '%s' has no samplers yet", device->backend->name);
        *status = SPY_ERROR_UNSUPPORTED;
        return NULL;
    }
    *status = spyi_check_sampler_desc(desc, &checked, error);
    if (*status != SPY_OK) return NULL;
    spyi_sampler_object *o = spyi_sampler_object_of(device, &checked, error, status);
    if (!o) return NULL;
    spy_sampler *s = (spy_sampler *)spyi_allocate(&device->ctx, sizeof *s);
    if (!s) {
        spyi_text_add(error, "out of host memory");
        *status = SPY_ERROR_OUT_OF_MEMORY;
        return NULL;
    }
    s->object.kind = (uint32_t)SPYI_KIND_SAMPLER;
    s->object.device = device;
    spyi_atomic_store(&s->object.references, 1);
    s->desc = checked;
    s->desc.label = desc && desc->label ? spyi_strdup(desc->label) : NULL;
    s->handle = o->handle;
    s->next = device->samplers;
    if (s->next) s->next->previous = s;
    device->samplers = s;
    return s;
}

spy_sampler *spy_create_sampler(spy_device *device, const spy_sampler_desc *desc) {
    const char *function = "spy_create_sampler";
    if (spyi_enter(device, SPYI_KIND_DEVICE, function) != SPY_OK) return NULL;
    spyi_text error = { NULL, 0, 0 };
    spy_status status = SPY_OK;
    spy_sampler *sampler = spyi_sampler_new(device, desc, &error, &status);
    if (!sampler) spyi_fail_text(device, status, function, &error);
    spyi_leave(device);
    return sampler;
}

uint64_t spy_sampler_native(spy_sampler *sampler) {
    if (spyi_enter(sampler, SPYI_KIND_SAMPLER, "spy_sampler_native") != SPY_OK) return 0;
    bool vulkan = strcmp(sampler->object.device->backend->name, "vulkan") == 0;
    uint64_t handle = vulkan ? sampler->handle : 0; // other backends keep data of their own in this member
    spyi_leave(sampler);
    return handle;
}

void spy_retain_sampler(spy_sampler *sampler) {
    spyi_object_retain(sampler, SPYI_KIND_SAMPLER, "spy_retain_sampler");
}

void spy_release_sampler(spy_sampler *sampler) {
    if (!sampler) return;
    if (spyi_as(sampler, SPYI_KIND_SAMPLER)) spyi_object_release(&sampler->object);
    else spyi_fail(NULL, SPY_ERROR_RELEASED, "spy_release_sampler: the sampler has been released already");
}

static void spyi_sampler_drop(spy_sampler *s) {
    if (s->previous) s->previous->next = s->next;
    else s->object.device->samplers = s->next;
    if (s->next) s->next->previous = s->previous;
    free((void *)(uintptr_t)s->desc.label);
    spyi_retire_object(s->object.device, &s->object, sizeof *s);
}

static void spyi_sampler_released(spyi_object *object) {
    spyi_sampler_drop((spy_sampler *)(void *)object);
}

SPYI_FN void spyi_samplers_attach(spy_device *device) {
    static const spyi_object_table table = { spyi_sampler_released, NULL };
    device->ctx.tables[SPYI_KIND_SAMPLER - SPYI_KIND_DEVICE] = &table;
}

SPYI_FN void spyi_samplers_free_all(spy_device *device) {
    while (device->samplers) spyi_sampler_drop(device->samplers);
    while (device->sampler_objects) {
        spyi_sampler_object *o = device->sampler_objects;
        device->sampler_objects = o->next;
        device->backend->images->destroy_sampler(device->gpu, o->handle);
        spyi_free(&device->ctx, o, sizeof *o);
    }
}

// The argument sampler, for parameters of type SamplerState and SamplerComparisonState.
#include "data/device.h"
#include "data/texture.h"
#include "data/texture_form.h"
#include "kinds/internal.h"

static const spy_sampler *spyi_sampler_of(const spyi_value *value) {
    return (const spy_sampler *)(const void *)value->held[0];
}

static bool spyi_sampler_bind(spyi_fitting *fitting, const spyi_value *value, spyi_leaf *leaf) {
    spyi_texture_form wanted;
    bool good = spyi_kind_same(leaf, value) && leaf->type->kind == SPYI_TYPE_OTHER &&
                spyi_texture_form_read(leaf->type->name, NULL, &wanted) &&
                wanted.kind == SPYI_PARAMETER_SAMPLER;
    if (good && !spyi_types_rules(fitting->types)->textures) {
        spyi_text_add(&fitting->why, "samplers are passed on the Vulkan backend alone");
        return false;
    }
    leaf->binds = true;
    return good;
}

static const char *spyi_sampler_takes(const spyi_type *type, const char *base, const spyi_rules *rules) {
    spyi_texture_form read;
    (void)rules;
    if (!spyi_texture_form_read(type->name, base, &read) || read.kind != SPYI_PARAMETER_SAMPLER) return NULL;
    return read.comparison ? "; it takes a sampler that compares" : "; it takes a sampler";
}

static bool spyi_sampler_pack(const spyi_leaf *leaf, const spyi_value *value, void *field, spyi_text *error) {
    const spy_sampler *sampler = spyi_sampler_of(value);
    bool compares = strcmp(leaf->type->name, "SamplerComparisonState") == 0;
    (void)field;
    if (!sampler || compares == (sampler->desc.compare != SPY_COMPARE_NONE)) return true;
    spyi_text_add(error, "expected a sampler %s desc.compare, got one %s", compares ? "with" : "without",
                  compares ? "without" : "with");
    return false;
}

static bool spyi_sampler_binding(const spyi_leaf *leaf, const spyi_value *value, spyi_binding *out,
                                 spyi_text *error) {
    (void)leaf;
    (void)error;
    out->kind = SPYI_BINDING_SAMPLER;
    out->handle = spyi_sampler_of(value)->handle;
    out->offset = out->range = 0;
    return true;
}

static uint32_t spyi_sampler_uses(const spyi_value *value, bool reads, bool writes, spyi_use *uses) {
    (void)value, (void)reads, (void)writes, (void)uses;
    return 0; // nothing writes it, and the driver's object lives as long as the device
}

static const spyi_kind_resource spyi_sampler_resource = { { SPYI_KIND_SAMPLER, 0 },
                                                          spyi_sampler_binding,
                                                          spyi_sampler_uses };
static const spyi_kind_build spyi_sampler_build = {
    spyi_sampler_bind, NULL, spyi_kind_own_field, spyi_kind_own_load, spyi_sampler_takes, NULL, NULL, NULL
};
static const spyi_kind_run spyi_sampler_run = { SPYI_TRAIT_SIZED | SPYI_TRAIT_REPEATS | SPYI_TRAIT_RESOURCE,
                                                SPYI_FIELD_KIND,
                                                SPYI_AGAIN_NEVER,
                                                NULL,
                                                spyi_sampler_pack,
                                                NULL,
                                                NULL,
                                                NULL,
                                                NULL,
                                                NULL,
                                                NULL,
                                                &spyi_sampler_resource };
static const spyi_value_kind spyi_sampler_kind = { "sampler", &spyi_sampler_build, &spyi_sampler_run };

SPYI_FN const spyi_value_kind *spyi_sampler_kind_of(void) {
    return &spyi_sampler_kind;
}

spy_arg spy_arg_sampler(const char *name, spy_sampler *sampler) {
    spy_arg arg = spyi_custom_arg(name, &spyi_sampler_kind);
    arg.value.data = sampler;
    arg.count = 1; // objects, for spy_pack()
    return arg;
}

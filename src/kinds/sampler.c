// The argument sampler, for parameters of type SamplerState and SamplerComparisonState. On Vulkan it is a binding. On
// CUDA its parameter is a field that no code reads: textures include it (spyi_pair_samplers()).
#include "data/device.h"
#include "data/texture.h"
#include "data/texture_form.h"
#include "kinds/internal.h"

// These are fields of DiffSamplerState. Where there are no bindings they lie behind the sampler, as
// SpyiNumbered<SamplerState, 12>.
enum {
    SPYI_DIFF_SAMPLER_INTS = 12,
    SPYI_SAMPLER_FIELD = 8 // the bytes of a SamplerState in the block
};

static const spy_sampler *spyi_sampler_of(const spyi_value *value) {
    return (const spy_sampler *)(const void *)value->held[0];
}

// Gives the leaf's field the numbers that the derivative of a sample needs.
static void spyi_sampler_add_numbers(spyi_leaf *leaf) {
    leaf->field_size = (leaf->binds ? 0 : SPYI_SAMPLER_FIELD) + 4 * SPYI_DIFF_SAMPLER_INTS;
    leaf->field_align = leaf->binds ? 4 : 8;
}

SPYI_FN bool spyi_sampler_has_numbers(const spyi_leaf *leaf) {
    return leaf->kind == spyi_sampler_kind_of() && leaf->field_size > SPYI_SAMPLER_FIELD;
}

static bool spyi_sampler_bind(spyi_fitting *fitting, const spyi_value *value, spyi_leaf *leaf) {
    spyi_texture_form wanted;
    bool diff = spyi_diff_form_read(leaf->type->name, &wanted);
    bool good = spyi_kind_same(leaf, value) && leaf->type->kind == SPYI_TYPE_OTHER &&
                (diff || spyi_texture_form_read(leaf->type->name, NULL, &wanted)) &&
                wanted.kind == SPYI_PARAMETER_SAMPLER;
    if (good && !spyi_types_rules(fitting->types)->textures) {
        spyi_text_add(&fitting->why, "the target has no samplers");
        return false;
    }
    leaf->binds = !spyi_types_rules(fitting->types)->by_address;
    leaf->field_size = leaf->binds ? 0 : SPYI_SAMPLER_FIELD;
    leaf->field_align = 8;
    if (good && diff) spyi_sampler_add_numbers(leaf);
    return good;
}

static void spyi_sampler_field(const spyi_leaf *leaf, spyi_text *out) {
    spyi_texture_form form;
    bool field = !leaf->binds && spyi_sampler_has_numbers(leaf);
    if (field) spyi_text_add(out, "SpyiNumbered<");
    if (spyi_diff_form_read(leaf->type->name, &form)) spyi_text_add(out, "SamplerState");
    else spyi_kind_own_field(leaf, out);
    if (field) spyi_text_add(out, ", %d>", SPYI_DIFF_SAMPLER_INTS);
}

static void spyi_sampler_load(const spyi_leaf *leaf, const spyi_place_text *at, spyi_text *out) {
    spyi_texture_form form;
    bool diff = spyi_diff_form_read(leaf->type->name, &form), binds = leaf->binds;
    const char *object = binds ? at->binding : at->field,
               *part = !binds && spyi_sampler_has_numbers(leaf) ? ".object" : "";
    if (diff)
        spyi_text_add(out, "%s(%s%s, %s%s)", spyi_spell(leaf->type), object, part, at->field,
                      binds ? "" : ".numbers");
    else spyi_text_add(out, "%s%s", object, part);
}

SPYI_FN bool spyi_plain_sampler_adopt(spyi_leaf *leaf) {
    if (leaf->kind != spyi_sampler_kind_of() || !leaf->binds || strcmp(leaf->type->name, "SamplerState") != 0)
        return false;
    spyi_sampler_add_numbers(leaf);
    return true;
}

static const char *spyi_sampler_takes(const spyi_type *type, const char *base, const spyi_rules *rules) {
    spyi_texture_form read;
    (void)rules;
    if (!spyi_texture_form_read(type->name, base, &read) || read.kind != SPYI_PARAMETER_SAMPLER) return NULL;
    return read.comparison ? "; it takes a sampler that compares" : "; it takes a sampler";
}

// Equal samplers share a handle, which on CUDA is an address. Returns a number that is not negative.
SPYI_FN int32_t spyi_sampler_identity(const spy_sampler *sampler) {
    return (int32_t)(sampler->handle >> 4 & INT32_MAX);
}

SPYI_FN void spyi_sampler_fill(const spy_sampler *sampler, void *field) {
    const spy_sampler_desc *d = &sampler->desc;
    int32_t ints[SPYI_DIFF_SAMPLER_INTS] = { 0 };
    float max_level = d->max_level > 0 ? d->max_level : 1000.0f;
    ints[0] = (int32_t)d->address_u - SPY_ADDRESS_MODE_WRAP;
    ints[1] = (int32_t)d->address_v - SPY_ADDRESS_MODE_WRAP;
    ints[2] = (int32_t)d->address_w - SPY_ADDRESS_MODE_WRAP;
    ints[3] = (d->min_filter == SPY_FILTER_LINEAR ? 1 : 0) | (d->mag_filter == SPY_FILTER_LINEAR ? 2 : 0) |
              (d->mip_filter == SPY_FILTER_LINEAR ? 4 : 0);
    memcpy(ints + 4, &d->mip_bias, 4);
    memcpy(ints + 5, &d->min_level, 4);
    memcpy(ints + 6, &max_level, 4);
    memcpy(ints + 7, d->border, sizeof d->border);
    ints[11] = spyi_sampler_identity(sampler);
    memcpy(field, ints, sizeof ints);
}

static bool spyi_sampler_pack(const spyi_leaf *leaf, const spyi_value *value, void *field, spyi_text *error) {
    const spy_sampler *sampler = spyi_sampler_of(value);
    bool compares = strcmp(leaf->type->name, "SamplerComparisonState") == 0;
    bool numbers = sampler && spyi_sampler_has_numbers(leaf);
    if (field) memset(field, 0, leaf->field_size);
    if (numbers && sampler->desc.reduction != SPY_REDUCTION_AVERAGE) {
        spyi_text_add(error,
                      "samples with a minimum or maximum have no derivative here: expected a sampler with "
                      "desc.reduction AVERAGE");
        return false;
    }
    if (numbers && field)
        spyi_sampler_fill(sampler, (uint8_t *)field + (leaf->binds ? 0 : SPYI_SAMPLER_FIELD));
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
    return 0; // no use is noted, because nothing writes a sampler, and the driver's object lives as long as
              // the device
}

static const spyi_kind_resource spyi_sampler_resource = { { SPYI_KIND_SAMPLER, 0 },
                                                          spyi_sampler_binding,
                                                          spyi_sampler_uses };
static const spyi_kind_build spyi_sampler_build = {
    spyi_sampler_bind, NULL, spyi_sampler_field, spyi_sampler_load, spyi_sampler_takes, NULL, NULL, NULL
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
    arg.count = 1; // the number of objects, for spy_pack()
    return arg;
}

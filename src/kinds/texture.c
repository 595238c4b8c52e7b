// The argument texture. A parameter Texture2D<T>, RWTexture2D<T>, Sampler2D<T> or another of the texture's
// own type gets it whole. For a parameter of its texels' type it is run over: each call of the function gets
// one texel, or writes one.
//
// On Vulkan a texture is a binding. On CUDA (rules->by_address) it is a field of 8 bytes: a texture object, which
// includes the sampler, or a surface object.
#include "data/device.h"
#include "data/texture.h"
#include "data/texture_form.h"
#include "kinds/internal.h"

// A bit of spyi_value.size which says that a sampler is given. The lower bits are the format, where kernels
// must know it.
enum { SPYI_TEXTURE_SAMPLER = 1 << 16 };

static spy_texture *spyi_texture_of(const spyi_value *value) {
    return (spy_texture *)(void *)value->held[0];
}

static bool spyi_texture_describe(const spy_arg *arg, spyi_value *value, const char **problem) {
    const spy_texture *texture = spyi_texture_of(value);
    (void)arg;
    value->type = texture->type;
    value->texel = texture->texel;
    value->rank = (uint8_t)texture->shape.rank;
    value->dims = texture->shape.dims;
    value->size = value->held[1] ? SPYI_TEXTURE_SAMPLER : 0;
    if (texture->object.device->base->limits.profile.names_formats &&
        (texture->image->desc.usage & SPY_TEXTURE_USAGE_STORED))
        value->size |= texture->part.format;
    if (texture->part.format == SPY_FORMAT_R32_UINT || texture->part.format == SPY_FORMAT_R32_SINT)
        value->size |= texture->part.format; // atomic operations need the format everywhere
    if (texture->type && texture->texel) return true;
    *problem = "shaders cannot read textures of its format";
    return false;
}

static const char spyi_texture_needs[] = "the target has no textures";
enum { SPYI_TEXTURE_FIELD = 8 }; // the bytes of a texture or surface object, and their alignment

// >>whole

// Returns whether the texture's own type is that of the parameter, whatever its access.
static bool spyi_texture_is_like(const spyi_value *value, const spyi_texture_form *wanted) {
    spyi_texture_form own;
    return spyi_texture_form_read(value->type->name, NULL, &own) && own.type == wanted->type &&
           own.array == wanted->array && own.multisampled == wanted->multisampled;
}

static bool spyi_texture_bind(spyi_fitting *fitting, const spyi_value *value, spyi_leaf *leaf) {
    spyi_texture_form wanted;
    const spyi_type *texel = value->texel && spyi_texture_form_read(leaf->type->name, NULL, &wanted) &&
                                     spyi_texture_is_like(value, &wanted)
                                 ? spyi_texture_form_texel(fitting->types, leaf->type->name)
                                 : NULL;
    bool exact = texel == value->texel, reads = texel && wanted.kind != SPYI_PARAMETER_RW_TEXTURE;
    // A shader that only reads sees the channels that it asks for: absent ones are 0, and alpha is 1.
    if (!texel || (!exact && !(reads && texel->scalar == value->texel->scalar))) return false;
    if (!exact) fitting->cost += 10;
    if (!spyi_types_rules(fitting->types)->textures) {
        spyi_text_add(&fitting->why, "%s", spyi_texture_needs);
        return false;
    }
    if (wanted.kind == SPYI_PARAMETER_COMBINED && !(value->size & SPYI_TEXTURE_SAMPLER)) {
        spyi_text_add(&fitting->why, "%s takes a texture with its sampler: spy_arg_sampled_texture",
                      leaf->type->display);
        return false;
    }
    leaf->binds = !spyi_types_rules(fitting->types)->by_address;
    leaf->field_size = leaf->binds ? 0 : SPYI_TEXTURE_FIELD;
    leaf->field_align = SPYI_TEXTURE_FIELD;
    leaf->reads = !wanted.write_only;
    leaf->writes = wanted.kind == SPYI_PARAMETER_RW_TEXTURE;
    leaf->format = leaf->writes ? (uint8_t)value->size : 0;
    leaf->consumed = value->rank;
    for (uint32_t d = 0; d < value->rank; d++) leaf->consumed_dims[d] = -1; // the sizes may be any
    return true;
}

static const char *spyi_texture_takes(const spyi_type *type, const char *base, const spyi_rules *rules) {
    spyi_texture_form read;
    if (!spyi_texture_form_read(type->name, base, &read) || read.kind == SPYI_PARAMETER_SAMPLER) return NULL;
    return rules && !rules->textures ? "; it takes a texture, which the target has not"
           : read.kind == SPYI_PARAMETER_COMBINED
               ? "; it takes a texture of this dimension and texel type with a sampler"
               : "; it takes a texture of this dimension and texel type";
}

static void spyi_texture_form_name(spyi_types *types, const spyi_type *type, const spyi_value *value,
                                   spyi_text *out) {
    spyi_texture_form wanted;
    (void)types;
    if (value->texel && spyi_texture_form_read(type->name, NULL, &wanted))
        spyi_texture_form_spell(&wanted, value->texel, out);
}

static const spyi_value_kind *spyi_texture_choose(const spyi_type *type) {
    spyi_texture_form read;
    bool whole = type->kind == SPYI_TYPE_OTHER && spyi_texture_form_read(type->name, NULL, &read);
    if (type->kind == SPYI_TYPE_OTHER && spyi_diff_form_read(type->name, &read))
        return spyi_diff_texture_kind_of();
    return whole ? spyi_texture_kind_of() : spyi_texels_kind_of();
}

// Checks that the kernel may use the texture as the leaf does.
static bool spyi_texture_check(const spyi_leaf *leaf, const spyi_value *value, spyi_text *error) {
    const spy_texture *texture = spyi_texture_of(value);
    const spyi_limits *limits = &texture->object.device->base->limits;
    uint32_t needs = leaf->writes ? SPY_TEXTURE_USAGE_STORED : SPY_TEXTURE_USAGE_SAMPLED;
    const char *format = spyi_format(texture->part.format)->name;
    uint32_t number;
    if (limits->profile.max_bindings == 0) {
        spyi_text_add(error,
                      "a texture needs a binding, of which the device has none; on Vulkan they come with the "
                      "extension VK_KHR_push_descriptor, which an engine enables at vkCreateDevice");
    } else if (!(texture->image->desc.usage & needs)) {
        spy_device *device = texture->object.device;
        uint32_t support = device->backend->images->support(device->gpu, texture->part.format);
        spyi_text_add(error, leaf->writes ? "it is written: " : "it is read: ");
        if (support & needs)
            spyi_text_add(error, "expected a texture with SPY_TEXTURE_USAGE_%s, got one without",
                          leaf->writes ? "STORED" : "SAMPLED");
        else {
            static const uint8_t usual[] = { SPY_FORMAT_RGBA32_FLOAT, SPY_FORMAT_RGBA16_FLOAT,
                                             SPY_FORMAT_RGBA8_UNORM, SPY_FORMAT_R32_FLOAT };
            spyi_text_add(error, "the device '%s' has no %s textures of format %s; it has", limits->info.name,
                          leaf->writes ? "stored" : "sampled", format);
            for (size_t i = 0, count = 0; i < sizeof usual; i++)
                if (device->backend->images->support(device->gpu, usual[i]) & needs)
                    spyi_text_add(error, "%s %s", count++ ? "," : "", spyi_format(usual[i])->name);
        }
    } else if (leaf->writes && limits->profile.names_formats &&
               !spyi_format_layout(texture->part.format, &number)) {
        spyi_text_add(error,
                      "kernels for the device '%s' name the format of what they store to, and %s has no name",
                      limits->info.name, format);
    } else {
        return true;
    }
    return false;
}

static spy_sampler *spyi_texture_sampler(const spyi_value *value) {
    return (spy_sampler *)(void *)value->held[1];
}

// Checks the texture. On CUDA it also writes the object, which for an input is a texture object with the
// call's sampler.
static bool spyi_texture_pack(const spyi_leaf *leaf, const spyi_value *value, void *field, spyi_text *error) {
    if (!value->held[0]) return true; // compile threads have no object
    if (!spyi_texture_check(leaf, value, error)) return false;
    if (!field) return true;
    uint64_t object = spyi_texture_shader_view(spyi_texture_of(value), leaf->writes,
                                               leaf->writes ? NULL : spyi_texture_sampler(value), error);
    memcpy(field, &object, sizeof object);
    return object != 0;
}

static uint32_t spyi_texture_uses_of(const spyi_value *value, bool reads, bool writes, spyi_use *uses) {
    const spy_texture *texture = spyi_texture_of(value);
    uint32_t how = spyi_how(reads, writes) | (writes ? SPYI_USE_STORED : SPYI_USE_SAMPLED);
    return writes ? spyi_texture_level_uses(texture, 0, how, uses) : spyi_texture_uses(texture, how, uses);
}

// Returns whether the type's name is that of a texture with a sampler. Each call asks this, so it reads no
// more of the name than it must.
static bool spyi_texture_is_combined(const char *name) {
    spyi_texture_form form;
    if (name[0] != '_') return name[0] == 'S'; // the name begins with the S of Sampler2D<T>
    return spyi_texture_form_read(name, NULL, &form) && form.kind == SPYI_PARAMETER_COMBINED;
}

static bool spyi_texture_binding(const spyi_leaf *leaf, const spyi_value *value, spyi_binding *out,
                                 spyi_text *error) {
    spyi_use uses[SPYI_MOST_VALUE_USES];
    const spy_sampler *sampler = spyi_texture_sampler(value);
    bool combined = spyi_texture_is_combined(leaf->type->name);
    (void)spyi_texture_uses_of(value, true, leaf->writes, uses);
    out->handle = spyi_texture_shader_view(spyi_texture_of(value), leaf->writes, NULL, error);
    out->kind = combined       ? SPYI_BINDING_COMBINED
                : leaf->writes ? SPYI_BINDING_RW_TEXTURE
                               : SPYI_BINDING_TEXTURE;
    out->offset = uses[0].how & SPYI_USE_STORED ? SPYI_USE_STORED : SPYI_USE_SAMPLED;
    out->range = combined && sampler ? sampler->handle : 0;
    return out->handle != 0;
}

static const spyi_kind_resource spyi_texture_resource = { { SPYI_KIND_TEXTURE, SPYI_KIND_SAMPLER },
                                                          spyi_texture_binding,
                                                          spyi_texture_uses_of };
static const spyi_kind_build spyi_texture_build = {
    spyi_texture_bind,   NULL, // settle
    spyi_kind_own_field, spyi_kind_own_load,
    spyi_texture_takes,  spyi_texture_form_name,
    spyi_texture_choose, NULL, // store
};
static const spyi_kind_run spyi_texture_run = { SPYI_TRAIT_SIZED | SPYI_TRAIT_REPEATS | SPYI_TRAIT_RESOURCE,
                                                SPYI_FIELD_KIND,
                                                SPYI_AGAIN_NEVER,
                                                spyi_texture_describe,
                                                spyi_texture_pack,
                                                NULL, // match: a value in memory stays in that memory
                                                NULL,
                                                NULL,
                                                NULL,
                                                NULL,
                                                NULL,
                                                &spyi_texture_resource };
static const spyi_value_kind spyi_texture_kind = { "texture", &spyi_texture_build, &spyi_texture_run };

SPYI_FN const spyi_value_kind *spyi_texture_kind_of(void) {
    return &spyi_texture_kind;
}

// >>by texel

static bool spyi_texels_bind(spyi_fitting *fitting, const spyi_value *value, spyi_leaf *leaf) {
    spyi_texture_form own;
    if (leaf->type != value->texel || !spyi_texture_form_read(value->type->name, NULL, &own)) {
        spyi_text_add(&fitting->hint, "; its texels are %s", value->texel->display);
        return false;
    }
    if (!spyi_types_rules(fitting->types)->textures) spyi_text_add(&fitting->why, "%s", spyi_texture_needs);
    else if (own.multisampled || own.type == SPY_TEXTURE_TYPE_CUBE)
        spyi_text_add(&fitting->why, "%s is not run over: take it whole, as a parameter of this type",
                      value->type->display);
    if (fitting->why.size) return false;
    leaf->binds = !spyi_types_rules(fitting->types)->by_address;
    leaf->reads = leaf->in;
    leaf->writes = leaf->out;
    leaf->format = leaf->writes ? (uint8_t)value->size : 0;
    leaf->element = value->type; // spyi_texels_field() spells it
    fitting->cost += 1;          // an overload that takes the texture whole is better
    leaf->field_size =
        (leaf->binds ? 0u : (uint32_t)SPYI_TEXTURE_FIELD) + (leaf->out ? 0u : 4u * value->rank);
    leaf->field_align = leaf->binds ? 4u : (uint32_t)SPYI_TEXTURE_FIELD;
    return true;
}

// Writes the field of an input without bindings, a struct of the texture and its steps
// (slangpy_kernel.slang).
static void spyi_texels_field(const spyi_leaf *leaf, spyi_text *out) {
    spyi_texture_form own;
    if (!spyi_texture_form_read(leaf->element->name, NULL, &own)) return;
    bool steps = !leaf->binds && !leaf->out;
    own.kind = leaf->writes ? SPYI_PARAMETER_RW_TEXTURE : SPYI_PARAMETER_TEXTURE;
    if (steps) spyi_text_add(out, "SpyiTexels<");
    spyi_texture_form_spell(&own, leaf->type, out);
    if (steps) spyi_text_add(out, ", %u>", (leaf->field_size - SPYI_TEXTURE_FIELD) / 4);
}

// Writes the element's coordinates, x first. Inputs have a step for each dimension: 0 where the texture has
// one texel that the call repeats.
static void spyi_texels_coordinates(const spyi_leaf *leaf, const spyi_place_text *at, spyi_text *out) {
    for (uint32_t d = leaf->batch_rank; d-- > 0;) {
        spyi_text_add(out, d + 1 < leaf->batch_rank ? ", " : "");
        if (at->coordinate) spyi_text_add(out, "%s%u", at->coordinate, leaf->map[d]);
        else spyi_text_add(out, "spyi_coordinate(%s, %s, %u)", at->element, at->shape, leaf->map[d]);
        if (!leaf->out) spyi_text_add(out, " * %s%s[%u]", at->field, leaf->binds ? "" : ".steps", d);
    }
}

static void spyi_texels_place(const spyi_leaf *leaf, const spyi_place_text *at, spyi_text *out) {
    spyi_text_add(out, "%s[", leaf->binds ? at->binding : at->field);
    if (leaf->batch_rank == 1) spyi_text_add(out, "uint(");
    else spyi_text_add(out, "uint%u(", leaf->batch_rank);
    spyi_texels_coordinates(leaf, at, out);
    spyi_text_add(out, ")]");
}

static void spyi_texels_load(const spyi_leaf *leaf, const spyi_place_text *at, spyi_text *out) {
    if (leaf->writes) {
        spyi_texels_place(leaf, at, out);
        return;
    }
    spyi_text_add(out, "%s%s.Load(int%u(", leaf->binds ? at->binding : at->field,
                  leaf->binds ? "" : ".texture", leaf->batch_rank + 1); // the last component is the level
    spyi_texels_coordinates(leaf, at, out);
    spyi_text_add(out, ", 0))");
}

static void spyi_texels_store(const spyi_leaf *leaf, const spyi_place_text *at, const char *value,
                              spyi_text *out) {
    spyi_texels_place(leaf, at, out);
    spyi_text_add(out, " = %s", value);
}

static bool spyi_texels_pack(const spyi_leaf *leaf, const spyi_value *value, void *field, spyi_text *error) {
    int32_t *steps = (int32_t *)field;
    if (!field) return spyi_texture_pack(leaf, value, NULL, error);
    if (!leaf->binds) {
        if (!spyi_texture_pack(leaf, value, field, error)) return false;
        if (leaf->out) return true;
        steps += SPYI_TEXTURE_FIELD / 4;
    }
    for (uint32_t d = 0; d < value->rank; d++) steps[d] = value->dims[d] != 1;
    return true;
}

static const spyi_kind_build spyi_texels_build = {
    spyi_texels_bind,
    NULL, // settle
    spyi_texels_field,
    spyi_texels_load,
    NULL,
    NULL,
    NULL,
    spyi_texels_store,
};
static const spyi_kind_run spyi_texels_run = { SPYI_TRAIT_VALUE | SPYI_TRAIT_SIZED | SPYI_TRAIT_REPEATS |
                                                   SPYI_TRAIT_RESOURCE | SPYI_TRAIT_TILED,
                                               SPYI_FIELD_KIND,
                                               SPYI_AGAIN_NEVER,
                                               spyi_texture_describe,
                                               spyi_texels_pack,
                                               NULL, // match
                                               NULL,
                                               NULL,
                                               NULL,
                                               NULL,
                                               NULL,
                                               &spyi_texture_resource };
static const spyi_value_kind spyi_texels_kind = { "texture by texel", &spyi_texels_build, &spyi_texels_run };

SPYI_FN const spyi_value_kind *spyi_texels_kind_of(void) {
    return &spyi_texels_kind;
}

// >>the arguments

spy_arg spy_arg_texture(const char *name, spy_texture *texture) {
    spy_arg arg = spyi_custom_arg(name, &spyi_texture_kind);
    arg.value.data = texture;
    arg.count = 1; // the number of objects, for spy_pack()
    return arg;
}

spy_arg spy_arg_sampled_texture(const char *name, spy_texture *texture, spy_sampler *sampler) {
    spy_arg arg = spy_arg_texture(name, texture);
    arg.dims[0] = (int64_t)(intptr_t)sampler;
    arg.count = 2;
    return arg;
}

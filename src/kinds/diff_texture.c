// Textures for DiffTexture2D<T> and the similar types (slang/slangpy_texture.slang), which take part in
// derivatives: the texture as a binding, and beside it, in the parameter block, its sizes and where its
// gradients lie. On CUDA (rules->by_address), where there are no bindings, the texture object and these numbers are one
// field, SpyiNumbered<Texture2D<T>, 12>; that of a texture of Slang's own type has its sampler's numbers, too.
#include "data/device.h"
#include "data/texture.h"
#include "data/texture_form.h"
#include "kinds/internal.h"

// These are numbers of the field. SpyiTexels has the address (2 numbers), levels, layers, sizes (3), and
// whether sums are exact. A field without a binding also has the object without sampler (2), the number of
// the sampler, and whether there is one; then the sampler's numbers.
enum {
    SPYI_DIFF_TEXTURE_INTS = 8,
    SPYI_NUMBERED_INTS = 12,
    SPYI_NUMBERED_MOST = 24,
    SPYI_NUMBERED_OBJECT = 8 // the bytes of the object before the numbers
};

// Sets the size of the leaf's field. leaf->binds says whether the texture is a binding, `plain` whether it is
// of Slang's own type.
static void spyi_diff_texture_size(spyi_leaf *leaf, bool plain) {
    leaf->field_size = leaf->binds
                           ? 4 * SPYI_DIFF_TEXTURE_INTS
                           : SPYI_NUMBERED_OBJECT + 4 * (plain ? SPYI_NUMBERED_MOST : SPYI_NUMBERED_INTS);
    leaf->field_align = leaf->binds ? 4 : 8;
}

// Returns how many numbers the field of a leaf without binding has.
static uint32_t spyi_diff_texture_numbers(const spyi_leaf *leaf) {
    return (leaf->field_size - SPYI_NUMBERED_OBJECT) / 4;
}

SPYI_FN bool spyi_diff_form_read(const char *name, spyi_texture_form *out) {
    const char *base = name;
    for (const char *c = name; *c && *c != '<' && *c != '['; c++)
        if (*c == '.' || *c == ':') base = c + 1;
    return strncmp(base, "Diff", 4) == 0 && spyi_texture_form_read(base + 4, NULL, out) &&
           (out->kind == SPYI_PARAMETER_TEXTURE ||
            (out->kind == SPYI_PARAMETER_SAMPLER && !out->comparison)) &&
           !out->multisampled && !(out->array && out->type == SPY_TEXTURE_TYPE_3D);
}

static bool spyi_diff_texture_bind(spyi_fitting *fitting, const spyi_value *value, spyi_leaf *leaf) {
    spyi_texture_form wanted, own;
    if (!value->texel || !spyi_diff_form_read(leaf->type->name, &wanted) ||
        !spyi_texture_form_read(value->type->name, NULL, &own) || own.type != wanted.type ||
        own.array != wanted.array || own.multisampled || wanted.kind != SPYI_PARAMETER_TEXTURE ||
        spyi_texture_form_texel(fitting->types, leaf->type->name) != value->texel)
        return false;
    if (!spyi_types_rules(fitting->types)->textures) {
        spyi_text_add(&fitting->why, "the target has no textures");
        return false;
    }
    leaf->binds = !spyi_types_rules(fitting->types)->by_address;
    leaf->reads = true;
    leaf->element = value->texel;
    leaf->whole_grads = SPYI_WHOLE_LOADS;
    spyi_diff_texture_size(leaf, false);
    leaf->consumed = value->rank;
    for (uint32_t d = 0; d < value->rank; d++) leaf->consumed_dims[d] = -1; // the sizes may be any
    return true;
}

// Writes the type of the binding, Texture2D<float4>, or that of the field.
static void spyi_diff_texture_field(const spyi_leaf *leaf, spyi_text *out) {
    spyi_texture_form form;
    if (!leaf->binds) spyi_text_add(out, "SpyiNumbered<");
    if (spyi_diff_form_read(leaf->type->name, &form)) spyi_texture_form_spell(&form, leaf->element, out);
    else spyi_kind_own_field(leaf, out);
    if (!leaf->binds) spyi_text_add(out, ", %u>", spyi_diff_texture_numbers(leaf));
}

static void spyi_diff_texture_load(const spyi_leaf *leaf, const spyi_place_text *at, spyi_text *out) {
    spyi_texture_form form;
    bool diff = spyi_diff_form_read(leaf->type->name, &form), binds = leaf->binds;
    const char *object = binds ? at->binding : at->field, *part = binds ? "" : ".object";
    if (diff)
        spyi_text_add(out, "%s(%s%s, %s%s)", spyi_spell(leaf->type), object, part, at->field,
                      binds ? "" : ".numbers");
    else spyi_text_add(out, "%s%s", object, part);
}

static const char *spyi_diff_texture_takes(const spyi_type *type, const char *base, const spyi_rules *rules) {
    spyi_texture_form read;
    (void)rules;
    if (strncmp(base, "Diff", 4) != 0 || !spyi_diff_form_read(type->name, &read)) return NULL;
    return read.kind == SPYI_PARAMETER_SAMPLER
               ? "; it takes a sampler"
               : "; it takes a texture of this dimension and texel type, whose texels are floats";
}

// Packs the texture object, and into `ints` the numbers that only fields without bindings have.
static bool spyi_diff_texture_objects(const spyi_leaf *leaf, const spyi_value *value, void *field,
                                      int32_t *ints, spyi_text *error) {
    spy_texture *t = (spy_texture *)(void *)value->held[0];
    const spy_sampler *sampler = (const spy_sampler *)(const void *)value->held[1];
    if (!spyi_texture_kind_of()->run->pack(leaf, value, field, error)) return false;
    uint64_t loads = spyi_texture_shader_view(t, false, NULL, error);
    memcpy(ints + SPYI_DIFF_TEXTURE_INTS, &loads, sizeof loads);
    if (sampler) {
        ints[SPYI_DIFF_TEXTURE_INTS + 2] = spyi_sampler_identity(sampler);
        ints[SPYI_DIFF_TEXTURE_INTS + 3] = 1;
        spyi_sampler_fill(sampler, ints + SPYI_NUMBERED_INTS);
    }
    return loads != 0;
}

static bool spyi_diff_texture_pack(const spyi_leaf *leaf, const spyi_value *value, void *field,
                                   spyi_text *error) {
    spy_texture *t = (spy_texture *)(void *)value->held[0];
    int32_t ints[SPYI_NUMBERED_MOST];
    if (!t) return true; // compile threads have no object
    if (!spyi_texture_kind_of()->run->pack(leaf, value, NULL, error) || !field) return !error->size;
    bool adds = leaf->mode == SPY_CALL_MODE_BACKWARD && t->grad;
    const spy_tensor *to = leaf->exact ? t->sums : t->grad;
    uint64_t address = adds ? to->storage->chunk.address + to->storage->offset + to->begin_bytes : 0;
    if (adds && !to->storage->chunk.address) {
        spyi_text_add(error, "the device has no pointers, which gradients of textures are written by");
        return false;
    }
    memset(ints, 0, sizeof ints);
    memcpy(ints, &address, sizeof address);
    ints[2] = (int32_t)t->part.level_count;
    ints[3] = (int32_t)t->part.layer_count;
    ints[4] = (int32_t)t->width;
    ints[5] = (int32_t)t->height;
    ints[6] = (int32_t)t->depth;
    ints[7] = leaf->exact;
    if (!leaf->binds && !spyi_diff_texture_objects(leaf, value, field, ints, error)) return false;
    if (leaf->binds) memcpy(field, ints, 4 * SPYI_DIFF_TEXTURE_INTS);
    else memcpy((uint8_t *)field + SPYI_NUMBERED_OBJECT, ints, 4 * spyi_diff_texture_numbers(leaf));
    if (adds && leaf->exact) spyi_sums_note(t->object.device, t->grad_scalars, t->sums, &t->has_sums);
    return true;
}

static void spyi_diff_texture_stop(const spyi_leaf *leaf, void *field) {
    memset((uint8_t *)field + (leaf->binds ? 0 : SPYI_NUMBERED_OBJECT), 0, 8);
}

static uint32_t spyi_diff_texture_addresses(const spyi_leaf *leaf, uint32_t offsets[SPYI_MOST_ADDRESSES]) {
    offsets[0] = leaf->binds ? 0 : SPYI_NUMBERED_OBJECT;
    return 1;
}

static bool spyi_diff_texture_describe(const spy_arg *arg, spyi_value *value, const char **problem) {
    return spyi_texture_kind_of()->run->describe(arg, value, problem);
}

static bool spyi_diff_texture_binding(const spyi_leaf *leaf, const spyi_value *value, spyi_binding *out,
                                      spyi_text *error) {
    return spyi_texture_kind_of()->run->resource->binding(leaf, value, out, error);
}

static uint32_t spyi_diff_texture_uses(const spyi_value *value, bool reads, bool writes, spyi_use *uses) {
    return spyi_texture_kind_of()->run->resource->uses(value, reads, writes, uses);
}

static const spyi_kind_resource spyi_diff_texture_resource = { { SPYI_KIND_TEXTURE, SPYI_KIND_SAMPLER },
                                                               spyi_diff_texture_binding,
                                                               spyi_diff_texture_uses };
static const spyi_kind_build spyi_diff_texture_build = {
    spyi_diff_texture_bind,
    NULL, // settle
    spyi_diff_texture_field,
    spyi_diff_texture_load,
    spyi_diff_texture_takes,
    NULL, // type_name
    NULL, // texture.c chooses
    NULL,
};
static const spyi_kind_run spyi_diff_texture_run = { SPYI_TRAIT_SIZED | SPYI_TRAIT_REPEATS |
                                                         SPYI_TRAIT_RESOURCE | SPYI_TRAIT_EXACT,
                                                     SPYI_FIELD_KIND,
                                                     SPYI_AGAIN_NEVER,
                                                     spyi_diff_texture_describe,
                                                     spyi_diff_texture_pack,
                                                     NULL, // match
                                                     NULL, // expected
                                                     spyi_diff_texture_stop,
                                                     spyi_diff_texture_addresses,
                                                     NULL,
                                                     NULL,
                                                     &spyi_diff_texture_resource };
static const spyi_value_kind spyi_diff_texture_kind = { "texture with gradients", &spyi_diff_texture_build,
                                                        &spyi_diff_texture_run };

SPYI_FN const spyi_value_kind *spyi_diff_texture_kind_of(void) {
    return &spyi_diff_texture_kind;
}

// >>Slang's own types

SPYI_FN bool spyi_plain_texture_adopt(spyi_leaf *leaf, const spyi_value *value) {
    spyi_texture_form form;
    const spyi_type *texel = value->texel;
    bool good = texel && spyi_texture_form_read(leaf->type->name, NULL, &form) &&
                form.kind == SPYI_PARAMETER_TEXTURE && !form.multisampled &&
                texel->scalar == SPY_DTYPE_FLOAT32 && (!form.array || form.type == SPY_TEXTURE_TYPE_2D) &&
                (form.type == SPY_TEXTURE_TYPE_2D || texel->columns == 1 || texel->columns == 4) &&
                !(form.array && texel->columns != 1 && texel->columns != 4);
    if (!good) return false;
    spyi_leaf_set_kind(leaf, &spyi_diff_texture_kind);
    leaf->element = texel;
    spyi_diff_texture_size(leaf, true);
    return true;
}

SPYI_FN bool spyi_is_diff_texture(const spyi_leaf *leaf) {
    return leaf->kind == &spyi_diff_texture_kind;
}

SPYI_FN bool spyi_plain_note(const spyi_leaf *leaf, uint32_t slot, const char *field, spyi_text *out) {
    spyi_texture_form form;
    if (!spyi_texture_form_read(leaf->type->name, NULL, &form)) return false;
    if (spyi_sampler_has_numbers(leaf)) {
        spyi_text_add(out, "    spyi_plain_sampler(%s);\n", field);
        return true;
    }
    if (leaf->kind != &spyi_diff_texture_kind) return false;
    if (leaf->binds)
        spyi_text_add(out, "    spyi_plain_texture(%u, %u, %s);\n", slot,
                      form.type + (form.array ? 8u : 0u) + 16u * leaf->element->columns, field);
    else spyi_text_add(out, "    spyi_plain_texture(%u, %s.object, %s.numbers);\n", slot, field, field);
    return true;
}

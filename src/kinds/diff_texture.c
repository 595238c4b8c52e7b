// Textures for DiffTexture2D<T> and the similar types (slang/slangpy_texture.slang), which take part in
// derivatives: the texture as a binding, and beside it, in the parameter block, its sizes and where its
// gradients lie.
#include "data/device.h"
#include "data/texture.h"
#include "data/texture_form.h"
#include "kinds/internal.h"

enum {
    SPYI_DIFF_TEXTURE_INTS = 8
}; // SpyiTexels: address (2), levels, layers, sizes (3), and whether sums are exact

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
    if (!spyi_types_rules(fitting->types)->textures || spyi_types_rules(fitting->types)->by_address) {
        spyi_text_add(&fitting->why, "gradients through textures are on the Vulkan backend alone");
        return false;
    }
    leaf->binds = true;
    leaf->reads = true;
    leaf->element = value->texel;
    leaf->whole_grads = SPYI_WHOLE_LOADS;
    leaf->field_size = 4 * SPYI_DIFF_TEXTURE_INTS;
    leaf->field_align = 4;
    leaf->consumed = value->rank;
    for (uint32_t d = 0; d < value->rank; d++) leaf->consumed_dims[d] = -1; // any size
    return true;
}

// Writes the type of the binding: Texture2D<float4>.
static void spyi_diff_texture_field(const spyi_leaf *leaf, spyi_text *out) {
    spyi_texture_form form;
    if (spyi_diff_form_read(leaf->type->name, &form)) spyi_texture_form_spell(&form, leaf->element, out);
    else spyi_kind_own_field(leaf, out);
}

static void spyi_diff_texture_load(const spyi_leaf *leaf, const spyi_place_text *at, spyi_text *out) {
    spyi_texture_form form;
    bool diff = spyi_diff_form_read(leaf->type->name, &form);
    if (diff) spyi_text_add(out, "%s(%s, %s)", spyi_spell(leaf->type), at->binding, at->field);
    else spyi_text_add(out, "%s", at->binding);
}

static const char *spyi_diff_texture_takes(const spyi_type *type, const char *base, const spyi_rules *rules) {
    spyi_texture_form read;
    (void)rules;
    if (strncmp(base, "Diff", 4) != 0 || !spyi_diff_form_read(type->name, &read)) return NULL;
    return read.kind == SPYI_PARAMETER_SAMPLER
               ? "; it takes a sampler"
               : "; it takes a texture of this dimension and texel type, whose texels are floats";
}

static bool spyi_diff_texture_pack(const spyi_leaf *leaf, const spyi_value *value, void *field,
                                   spyi_text *error) {
    spy_texture *t = (spy_texture *)(void *)value->held[0];
    int32_t ints[SPYI_DIFF_TEXTURE_INTS];
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
    memcpy(field, ints, sizeof ints);
    if (adds && leaf->exact) spyi_sums_note(t->object.device, t->grad_scalars, t->sums, &t->has_sums);
    return true;
}

static void spyi_diff_texture_stop(const spyi_leaf *leaf, void *field) {
    (void)leaf;
    memset(field, 0, 8);
}

static uint32_t spyi_diff_texture_addresses(const spyi_leaf *leaf, uint32_t offsets[SPYI_MOST_ADDRESSES]) {
    (void)leaf;
    offsets[0] = 0;
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
    NULL, // choose: texture.c
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
    leaf->field_size = 4 * SPYI_DIFF_TEXTURE_INTS;
    leaf->field_align = 4;
    return true;
}

SPYI_FN bool spyi_plain_note(const spyi_leaf *leaf, uint32_t slot, const char *field, spyi_text *out) {
    spyi_texture_form form;
    bool resource = (leaf->traits & SPYI_TRAIT_RESOURCE) && !(leaf->traits & SPYI_TRAIT_VALUE);
    if (!resource || !leaf->binds || !leaf->field_size ||
        !spyi_texture_form_read(leaf->type->name, NULL, &form))
        return false;
    if (form.kind == SPYI_PARAMETER_SAMPLER) spyi_text_add(out, "    spyi_plain_sampler(%s);\n", field);
    else
        spyi_text_add(out, "    spyi_plain_texture(%u, %u, %s);\n", slot,
                      form.type + (form.array ? 8u : 0u) + 16u * leaf->element->columns, field);
    return true;
}

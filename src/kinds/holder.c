// Parameters that are given by their parts. ConstantBuffer<T>, ParameterBlock<T> and arrays of buffers are
// bound, wherever the kernel has their parts. An array T[] without a size is a field of an address, which the
// device fills in, and a number of elements.
#include "kinds/internal.h"

// >>ConstantBuffer<T>, ParameterBlock<T>, arrays of buffers

static bool spyi_holder_bind(spyi_fitting *fitting, const spyi_value *value, spyi_leaf *leaf) {
    (void)fitting, (void)value;
    leaf->binds = true;
    return true;
}

static bool spyi_holder_pack(const spyi_leaf *leaf, const spyi_value *value, void *field, spyi_text *error) {
    (void)leaf, (void)value, (void)field, (void)error;
    return true;
}

static const char *spyi_holder_takes(const spyi_type *type, const char *base, const spyi_rules *rules) {
    (void)base, (void)rules;
    return spyi_type_is_bound_array(type) ? "; it takes a struct of tensors, one for each element" : NULL;
}

static const spyi_kind_build spyi_holder_build = {
    spyi_holder_bind, NULL, spyi_kind_own_field, spyi_kind_own_load, spyi_holder_takes, NULL, NULL, NULL
};
static const spyi_kind_run spyi_holder_run = { SPYI_TRAIT_SIZED | SPYI_TRAIT_REPEATS | SPYI_TRAIT_PARTS,
                                               SPYI_FIELD_KIND,
                                               SPYI_AGAIN_NEVER,
                                               NULL,
                                               spyi_holder_pack,
                                               NULL,
                                               NULL,
                                               NULL,
                                               NULL,
                                               NULL,
                                               NULL,
                                               NULL };
static const spyi_value_kind spyi_holder_kind = { "uniform buffer", &spyi_holder_build, &spyi_holder_run };

SPYI_FN const spyi_value_kind *spyi_holder_kind_of(void) {
    return &spyi_holder_kind;
}

// >>arrays without a size

enum { SPYI_UNSIZED_BYTES = 16 };

static bool spyi_unsized_bind(spyi_fitting *fitting, const spyi_value *value, spyi_leaf *leaf) {
    (void)value;
    leaf->binds = !fitting->in_buffer;
    if (fitting->in_buffer || fitting->in_shader) leaf->field_size = SPYI_UNSIZED_BYTES;
    return true;
}

static const char *spyi_unsized_takes(const spyi_type *type, const char *base, const spyi_rules *rules) {
    (void)base, (void)rules;
    return spyi_type_is_unsized(type) ? "; it takes a struct of tensors, as many as there are to be elements"
                                      : NULL;
}

static bool spyi_unsized_pack(const spyi_leaf *leaf, const spyi_value *value, void *field, spyi_text *error) {
    uint64_t parts[2] = { 0, value->child_count };
    if (field) memcpy(field, parts, sizeof parts);
    if (value->kind != SPY_ARG_KIND_ARRAY || value->dims[0] == 0) return true;
    spyi_text_add(error, "expected %s, got a host array%s", leaf->type->display,
                  spyi_unsized_takes(leaf->type, "", NULL));
    return false;
}

static uint32_t spyi_unsized_elements(const spyi_leaf *leaf, const spyi_value *value) {
    spyi_type_parts parts;
    spyi_split_type(leaf->type->fields[0].type->name, &parts);
    uint32_t stride = spyi_is_buffer_address(parts.base) ? 8 : 16;
    spyi_free_parts(&parts);
    return value->child_count * stride;
}

static const spyi_kind_build spyi_unsized_build = {
    spyi_unsized_bind, NULL, spyi_kind_own_field, spyi_kind_own_load, spyi_unsized_takes, NULL, NULL, NULL
};
static const spyi_kind_run spyi_unsized_run = { SPYI_TRAIT_SIZED | SPYI_TRAIT_REPEATS | SPYI_TRAIT_PARTS,
                                                SPYI_FIELD_KIND,
                                                SPYI_AGAIN_NEVER,
                                                NULL,
                                                spyi_unsized_pack,
                                                NULL,
                                                NULL,
                                                NULL,
                                                NULL,
                                                spyi_unsized_elements,
                                                NULL,
                                                NULL };
static const spyi_value_kind spyi_unsized_kind = { "unsized array", &spyi_unsized_build, &spyi_unsized_run };

SPYI_FN const spyi_value_kind *spyi_unsized_kind_of(void) {
    return &spyi_unsized_kind;
}

// ConstantBuffer<T>, ParameterBlock<T> and arrays of buffers: bound too, wherever this kernel has their parts. An array without a
// size is a field: an address, which the device fills in, and a count.
#include "kinds/internal.h"

static bool spyi_holder_pack(const spyi_leaf *leaf, const spyi_value *value, void *field, spyi_text *error) {
    (void)leaf, (void)value, (void)field, (void)error;
    return true;
}

static const spyi_kind_build spyi_holder_build = { NULL, NULL, spyi_kind_own_field, spyi_kind_own_load };
static const spyi_kind_run spyi_holder_run = { SPYI_TRAIT_SIZED | SPYI_TRAIT_REPEATS,
                                               SPYI_FIELD_KIND,
                                               SPYI_AGAIN_NEVER,
                                               NULL,
                                               spyi_holder_pack,
                                               NULL,
                                               NULL,
                                               NULL,
                                               NULL };
static const spyi_value_kind spyi_holder_kind = { "uniform buffer", &spyi_holder_build, &spyi_holder_run };

SPYI_FN const spyi_value_kind *spyi_kind_of_holders(void) {
    return &spyi_holder_kind;
}

static bool spyi_unsized_pack(const spyi_leaf *leaf, const spyi_value *value, void *field, spyi_text *error) {
    uint64_t parts[2] = { 0, value->child_count };
    if (field) memcpy(field, parts, sizeof parts);
    if (value->kind != SPY_ARG_ARRAY || value->dims[0] == 0) return true;
    spyi_text_add(error, "expected %s, got a host array%s", leaf->type->display,
                  spyi_kind_takes(leaf->type, SPYI_TARGET_SPIRV));
    return false;
}

static const spyi_kind_build spyi_unsized_build = { NULL, NULL, spyi_kind_own_field, spyi_kind_own_load };
static const spyi_kind_run spyi_unsized_run = { SPYI_TRAIT_SIZED | SPYI_TRAIT_REPEATS,
                                                SPYI_FIELD_KIND,
                                                SPYI_AGAIN_NEVER,
                                                NULL,
                                                spyi_unsized_pack,
                                                NULL,
                                                NULL,
                                                NULL,
                                                NULL };
static const spyi_value_kind spyi_unsized_kind = { "unsized array", &spyi_unsized_build, &spyi_unsized_run };

SPYI_FN const spyi_value_kind *spyi_kind_of_unsized(void) {
    return &spyi_unsized_kind;
}

SPYI_FN uint32_t spyi_unsized_stride(const spyi_type *type) {
    spyi_type_parts parts;
    spyi_split_type(type->fields[0].type->name, &parts);
    uint32_t stride = spyi_is_buffer_address(parts.base) ? 8 : 16;
    spyi_free_parts(&parts);
    return stride;
}

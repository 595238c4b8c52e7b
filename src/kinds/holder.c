// ConstantBuffer<T>, ParameterBlock<T> and arrays of buffers: bound too, wherever this kernel has their parts. An array without a
// size is a field: an address, which the device fills in, and a count.
#include "kinds/internal.h"

static bool spyi_holder_pack(const spyi_leaf *leaf, const spyi_value *value, void *field, spyi_text *error) {
    (void)leaf, (void)value, (void)field, (void)error;
    return true;
}

static const spyi_value_kind spyi_holder_kind = {
    "uniform buffer", NULL, NULL, spyi_kind_own_field, spyi_kind_own_load, spyi_holder_pack
};

SPYI_FN const spyi_value_kind *spyi_kind_of_holders(void) {
    return &spyi_holder_kind;
}

static bool spyi_unsized_pack(const spyi_leaf *leaf, const spyi_value *value, void *field, spyi_text *error) {
    uint64_t parts[2] = { 0, value->child_count };
    if (field) memcpy(field, parts, sizeof parts);
    if (value->kind != SPY_ARG_ARRAY || value->dims[0] == 0) return true;
    spyi_text_add(error, "expected %s, got a host array%s", leaf->type->display,
                  spyi_kind_takes(leaf->type, NULL));
    return false;
}

static const spyi_value_kind spyi_unsized_kind = {
    "unsized array", NULL, NULL, spyi_kind_own_field, spyi_kind_own_load, spyi_unsized_pack
};

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

// Functions that several kinds share: they convert numbers that the kernel makes to the parameter's type, and
// write fields and their expressions.
#include "kinds/internal.h"

SPYI_FN uint32_t spyi_kind_components(const spyi_type *type) {
    if (type->kind == SPYI_TYPE_SCALAR) return type->scalar != SPY_DTYPE_BOOL;
    if (type->kind == SPYI_TYPE_VECTOR) return type->scalar == SPY_DTYPE_BOOL ? 0 : type->columns;
    if (type->kind != SPYI_TYPE_ARRAY || type->element->kind != SPYI_TYPE_SCALAR) return 0;
    // the type is an enum
    if (strcmp(type->element->name, spy_dtype_name(type->element->scalar)) != 0) return 0;
    return type->element->scalar != SPY_DTYPE_BOOL && type->count <= 1024 ? (uint32_t)type->count : 0;
}

SPYI_FN void spyi_kind_convert(const spyi_type *type, spy_dtype scalar, const char *array, bool reverse,
                               spyi_text *out) {
    if (type->kind == SPYI_TYPE_SCALAR) spyi_text_add(out, "%s(%s[0])", spyi_spell(type), array);
    else if (type->kind == SPYI_TYPE_VECTOR)
        spyi_text_add(out, "%s(%s(%s))", spyi_spell(type), reverse ? "spyi_reversed" : "spyi_to_vector",
                      array);
    else if (type->element->scalar == scalar) spyi_text_add(out, "%s", array);
    else spyi_text_add(out, "spyi_to_array<%s>(%s)", spyi_spell(type->element), array);
}

SPYI_FN void spyi_kind_call(const spyi_leaf *leaf, spy_dtype scalar, bool reverse, spyi_text *out,
                            const char *format, ...) {
    char array[512];
    va_list list;
    va_start(list, format);
    vsnprintf(array, sizeof array, format, list);
    va_end(list);
    spyi_kind_convert(leaf->type, scalar, array, reverse, out);
}

SPYI_FN bool spyi_kind_same(const spyi_leaf *leaf, const spyi_value *value) {
    return value->kind == SPY_ARG_KIND_CUSTOM && value->custom == leaf->kind;
}

SPYI_FN spy_dtype spyi_kind_scalar(const spyi_leaf *leaf) {
    const spyi_type *type = leaf->element;
    while (type->kind == SPYI_TYPE_ARRAY) type = type->element;
    return type->scalar;
}

SPYI_FN void spyi_kind_in_block(spyi_leaf *leaf) {
    leaf->field_size = (uint32_t)leaf->element->device_size;
    leaf->field_align = (uint32_t)leaf->element->device_align;
}

SPYI_FN void spyi_kind_plain_field(const spyi_leaf *leaf, spyi_text *out) {
    spyi_text_add(out, "%s", spyi_spell(leaf->element));
}

SPYI_FN void spyi_kind_plain_load(const spyi_leaf *leaf, const spyi_place_text *at, spyi_text *out) {
    if (leaf->splat) spyi_text_add(out, "%s(%s)", spyi_spell(leaf->type), at->field);
    else spyi_text_add(out, "%s", at->field);
}

SPYI_FN void spyi_kind_own_field(const spyi_leaf *leaf, spyi_text *out) {
    spyi_text_add(out, "%s", leaf->type->name);
}

SPYI_FN void spyi_kind_own_load(const spyi_leaf *leaf, const spyi_place_text *at, spyi_text *out) {
    (void)leaf;
    spyi_text_add(out, "%s", at->field);
}

// Finds the kind that passes a value to a parameter.
#include "kinds/internal.h"

// These are kinds that are chosen by the parameter's type.
static const spyi_value_kind *(*const spyi_parameter_kinds[])(void) = {
    spyi_unsized_kind_of,      spyi_holder_kind_of,  spyi_pointer_kind_of, spyi_whole_kind_of,
    spyi_view_kind_of,         spyi_buffer_kind_of,  spyi_texture_kind_of, spyi_sampler_kind_of,
    spyi_diff_texture_kind_of, spyi_weights_kind_of, spyi_handle_kind_of,
};

// Returns the kind that is chosen by a parameter's type, and in *takes the values that such parameters take;
// both are NULL when there is none.
static const spyi_value_kind *spyi_find_parameter_kind(const spyi_type *type, const spyi_rules *rules,
                                                       const char **takes) {
    const spyi_value_kind *found = NULL;
    *takes = NULL;
    if (type->kind != SPYI_TYPE_OTHER) return NULL;
    spyi_type_parts parts;
    spyi_split_type(type->name, &parts);
    for (size_t i = 0; i < sizeof spyi_parameter_kinds / sizeof spyi_parameter_kinds[0] && !*takes; i++) {
        found = spyi_parameter_kinds[i]();
        *takes = found->build->takes(type, parts.base, rules);
    }
    spyi_free_parts(&parts);
    return *takes ? found : NULL;
}

SPYI_FN const spyi_value_kind *spyi_kind_of_parameter(const spyi_type *type, const spyi_value *value) {
    const char *takes;
    bool number = (value->kind == SPY_ARG_KIND_UINT || value->kind == SPY_ARG_KIND_INT) &&
                  (value->direction == SPY_DIRECTION_DEFAULT || value->direction == SPY_DIRECTION_DROP);
    if (value->kind != SPY_ARG_KIND_TENSOR && !number) return NULL;
    const spyi_value_kind *kind = spyi_find_parameter_kind(type, NULL, &takes);
    if (!kind || (kind->run->traits & SPYI_TRAIT_PARTS)) return NULL;
    if (value->kind == SPY_ARG_KIND_INT && kind != spyi_handle_kind_of()) return NULL; // no address is signed
    return value->tensor || (kind->run->traits & SPYI_TRAIT_ADDRESS) ? kind : NULL;
}

SPYI_FN const spyi_value_kind *spyi_kind_of_parts(const spyi_type *type) {
    return spyi_type_is_unsized(type) ? spyi_unsized_kind_of() : spyi_holder_kind_of();
}

SPYI_FN const spyi_value_kind *spyi_kind_of_inside(const spyi_value_kind *kind) {
    return kind->run->traits & SPYI_TRAIT_RESOURCE ? spyi_whole_kind_of() : kind;
}

SPYI_FN const spyi_value_kind *spyi_kind_of_value(const spyi_value *value) {
    switch (value->kind) {
    case SPY_ARG_KIND_TENSOR: return spyi_tensor_kind_of();
    case SPY_ARG_KIND_ARRAY: return spyi_array_kind_of();
    case SPY_ARG_KIND_DATA: return spyi_bytes_kind_of();
    case SPY_ARG_KIND_NEW:
    case SPY_ARG_KIND_RESULT: return spyi_new_kind_of();
    default: return value->type ? spyi_number_kind_of() : NULL;
    }
}

SPYI_FN const spyi_value_kind *spyi_kind_of(const spyi_type *type, const spyi_value *value) {
    if (value->kind == SPY_ARG_KIND_CUSTOM)
        return value->custom->build->choose ? value->custom->build->choose(type) : value->custom;
    const spyi_value_kind *kind = spyi_kind_of_parameter(type, value);
    return kind ? kind : spyi_kind_of_value(value);
}

SPYI_FN const char *spyi_kind_takes(const spyi_type *type, const spyi_rules *rules) {
    const char *takes;
    (void)spyi_find_parameter_kind(type, rules, &takes);
    return takes;
}

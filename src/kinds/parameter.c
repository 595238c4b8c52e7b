// From a parameter's type and an argument to the kind that passes one to the other.
#include "kinds/internal.h"

SPYI_FN const spyi_value_kind *spyi_kind_of_parameter(const spyi_type *type, const spyi_value *value) {
    bool number = value->kind == SPY_ARG_UINT && value->direction == SPY_DIRECTION_DEFAULT;
    if (type->kind != SPYI_TYPE_OTHER || (value->kind != SPY_ARG_TENSOR && !number)) return NULL;
    spyi_type_parts parts;
    spyi_split_type(type->name, &parts);
    const spyi_value_kind *kind = spyi_pointer_kind_of(parts.base) ? spyi_pointer_kind_of(parts.base)
                                  : !value->tensor                 ? NULL
                                  : spyi_whole_kind_of(parts.base) ? spyi_whole_kind_of(parts.base)
                                  : spyi_view_kind_of(parts.base)  ? spyi_view_kind_of(parts.base)
                                                                   : spyi_buffer_kind_of(parts.base);
    spyi_free_parts(&parts);
    return kind;
}

SPYI_FN const spyi_value_kind *spyi_kind_of_value(const spyi_value *value) {
    switch (value->kind) {
    case SPY_ARG_TENSOR: return spyi_tensor_kind_of();
    case SPY_ARG_ARRAY: return spyi_array_kind_of();
    case SPY_ARG_DATA: return spyi_bytes_kind_of();
    case SPY_ARG_NEW:
    case SPY_ARG_RESULT: return spyi_new_kind_of();
    default: return value->type ? spyi_number_kind_of() : NULL;
    }
}

SPYI_FN const char *spyi_kind_takes(const spyi_type *type, spyi_target target) {
    if (type->kind != SPYI_TYPE_OTHER) return NULL;
    if (spyi_type_is_unsized(type))
        return "; it takes a struct of tensors, as many as there are to be elements";
    if (spyi_type_is_bound_array(type)) return "; it takes a struct of tensors, one for each element";
    spyi_type_parts parts;
    spyi_split_type(type->name, &parts);
    const char *takes =
        spyi_pointer_kind_of(parts.base) ? "; it takes a tensor, or an address as uint64"
        : spyi_view_kind_of(parts.base)
            ? target == SPYI_TARGET_CUDA
                  ? "; it takes a tensor of exactly these elements, or of their scalars"
                  : "; Slang has such parameters for the CUDA backend alone: here write RWTensor<T, D>"
        : spyi_is_typed_buffer(parts.base)
            ? "; it takes a tensor, on the Vulkan backend: for CUDA Slang has no code for typed "
              "buffers, but for (RW)StructuredBuffer<T>"
        : spyi_whole_kind_of(parts.base) || spyi_buffer_kind_of(parts.base) ? "; it takes a tensor"
                                                                            : NULL;
    spyi_free_parts(&parts);
    return takes;
}

// Tensors that are passed whole to Tensor<T, D>, RWTensor<T, D>, DiffTensor<T, D> ...: which tensors fit such
// a parameter, and their text in the kernel. whole_fill.c fills their fields.
#include "kinds/internal.h"

// One entry for each parameter type: the type by which a tensor is passed, whether the kernel may read or
// write it, and which of these accesses have gradients (SPYI_WHOLE_LOADS, SPYI_WHOLE_STORES).
static const struct spyi_family {
    const char *parameter, *passed;
    bool reads, writes;
    uint8_t grads;
} spyi_families[] = {
    { "Tensor", "Tensor", true, false, 0 },
    { "ITensor", "Tensor", true, false, 0 },
    { "WTensor", "WTensor", false, true, 0 },
    { "IWTensor", "WTensor", false, true, 0 },
    { "RWTensor", "RWTensor", true, true, 0 },
    { "IRWTensor", "RWTensor", true, true, 0 },
    { "AtomicTensor", "AtomicTensor", true, true, 0 },
    { "PrimalTensor", "PrimalTensor", true, false, 0 },
    { "WPrimalTensor", "WPrimalTensor", false, true, 0 },
    { "RWPrimalTensor", "RWPrimalTensor", true, true, 0 },
    { "IBaseTensor", "Tensor", true, false, 0 },
    { "DiffTensor", "DiffTensor", true, false, SPYI_WHOLE_LOADS },
    { "IDiffTensor", "DiffTensor", true, false, SPYI_WHOLE_LOADS },
    { "WDiffTensor", "WDiffTensor", false, true, SPYI_WHOLE_STORES },
    { "IWDiffTensor", "WDiffTensor", false, true, SPYI_WHOLE_STORES },
    { "RWDiffTensor", "RWDiffTensor", true, true, SPYI_WHOLE_LOADS | SPYI_WHOLE_STORES },
    { "IRWDiffTensor", "RWDiffTensor", true, true, SPYI_WHOLE_LOADS | SPYI_WHOLE_STORES },
};

static const struct spyi_family *spyi_family_of(const char *base) {
    for (size_t i = 0; i < sizeof spyi_families / sizeof spyi_families[0]; i++)
        if (strcmp(spyi_families[i].parameter, base) == 0) return &spyi_families[i];
    return NULL;
}

static bool spyi_whole_bind(spyi_fitting *fitting, const spyi_value *value, spyi_leaf *leaf) {
    spyi_type_parts parts;
    spyi_text passed = { NULL, 0, 0 };
    spyi_fit fit;
    spyi_split_type(leaf->type->name, &parts);
    const struct spyi_family *family = spyi_family_of(parts.base);
    long rank = parts.count == 2 && parts.arguments[1] ? strtol(parts.arguments[1], NULL, 10) : 0;
    const spyi_type *element =
        family ? spyi_named_type(fitting->types, value->type, parts.arguments[0]) : NULL;
    bool good = element && rank >= 1 && rank <= SPY_MAX_RANK &&
                spyi_fit_memory(value->type, element, true, &fit) &&
                (uint32_t)rank + fit.consumed <= SPY_MAX_RANK;
    if (good) {
        spyi_text_add(&passed, "%s<%s, %ld>", family->passed, element->name, rank);
        leaf->kind_type = spyi_type_other(fitting->types, passed.data)->name;
        leaf->element = element;
        leaf->reads = family->reads;
        leaf->writes = family->writes;
        leaf->consumed = (uint32_t)rank + fit.consumed;
        for (long d = 0; d < rank; d++) leaf->consumed_dims[d] = -1; // the sizes may be any
        for (uint32_t d = 0; d < fit.consumed; d++) leaf->consumed_dims[(uint32_t)rank + d] = fit.dims[d];
        uint32_t rows = value->rank > leaf->consumed ? value->rank - leaf->consumed : 0;
        leaf->field_align = 8;
        leaf->whole_grads = family->grads;
        leaf->field_size = spyi_whole_parts(leaf) * (16u + 8u * (uint32_t)rank) + 4u * rows;
    }
    spyi_text_free(&passed);
    spyi_free_parts(&parts);
    return good;
}

SPYI_FN void spyi_whole_field(const spyi_leaf *leaf, spyi_text *out) {
    if (leaf->batch_rank) spyi_text_add(out, "SpyiRows<%s, %u>", leaf->kind_type, leaf->batch_rank);
    else spyi_text_add(out, "%s", leaf->kind_type);
}

// Writes the value. A tensor with more dimensions than the parameter is run over: each element of the call
// gets the tensor of its trailing dimensions.
static void spyi_whole_load(const spyi_leaf *leaf, const spyi_place_text *at, spyi_text *out) {
    if (leaf->batch_rank == 0) {
        spyi_text_add(out, "%s", at->field);
        return;
    }
    spyi_text_add(out, "spyi_row(%s.tensor, ", at->field);
    for (uint32_t d = 0; d < leaf->batch_rank; d++)
        spyi_text_add(out, "%s%s.strides[%u] * spyi_coordinate(%s, %s, %u)", d ? " + " : "", at->field, d,
                      at->element, at->shape, leaf->map[d]);
    spyi_text_add(out, ")");
}

static void spyi_whole_type_name(spyi_types *types, const spyi_type *type, const spyi_value *value,
                                 spyi_text *out) {
    spyi_type_parts parts;
    spyi_fit fit;
    spyi_split_type(type->name, &parts);
    const struct spyi_family *family = spyi_family_of(parts.base);
    const spyi_type *element = spyi_named_type(types, value->type, parts.arguments[0]);
    long rank = parts.arguments[1] ? strtol(parts.arguments[1], NULL, 10) : 0;
    bool fits = element && spyi_fit_memory(value->type, element, true, &fit) && fit.consumed < value->rank;
    if (!fits) {
        element = value->type;
        fit.consumed = 0;
    }
    spyi_text_add(out, "%s<%s, %ld>", family->passed, element->name,
                  rank ? rank : (long)value->rank - (long)fit.consumed);
    spyi_free_parts(&parts);
}

static const char *spyi_whole_takes(const spyi_type *type, const char *base, const spyi_rules *rules) {
    (void)type;
    (void)rules;
    return spyi_family_of(base) ? "; it takes a tensor" : NULL;
}

static const spyi_kind_build spyi_whole_build = { spyi_whole_bind,
                                                  NULL,
                                                  spyi_whole_field,
                                                  spyi_whole_load,
                                                  spyi_whole_takes,
                                                  spyi_whole_type_name,
                                                  NULL,
                                                  NULL };
static const spyi_kind_run spyi_whole_run = { SPYI_TRAIT_SIZED | SPYI_TRAIT_REPEATS | SPYI_TRAIT_DIFF,
                                              SPYI_FIELD_KIND,
                                              SPYI_AGAIN_NEVER,
                                              NULL,
                                              spyi_whole_fill,
                                              NULL,
                                              NULL,
                                              spyi_whole_stop_adding,
                                              spyi_whole_addresses,
                                              NULL,
                                              NULL,
                                              NULL };
static const spyi_value_kind spyi_whole_kind = { "whole tensor", &spyi_whole_build, &spyi_whole_run };

SPYI_FN const spyi_value_kind *spyi_whole_kind_of(void) {
    return &spyi_whole_kind;
}

// Tensors that are passed whole: to Tensor<T, D> and its sisters, to pointers.
#include "data/bounds.h"
#include "kinds/kinds.h"

// >>names of types

SPYI_FN void spyi_free_parts(spyi_type_parts *parts) {
    free(parts->arguments[0]);
    free(parts->arguments[1]);
}

SPYI_FN void spyi_split_type(const char *name, spyi_type_parts *parts) {
    size_t length = strcspn(name, "<");
    const char *base = name, *begin = name + length;
    memset(parts, 0, sizeof *parts);
    for (const char *c = name; c < begin; c++)
        if (*c == '.' || *c == ':') base = c + 1;
    snprintf(parts->base, sizeof parts->base, "%.*s", (int)(begin - base), base);
    int depth = 0;
    for (const char *c = begin; *c; c++) {
        if (*c == '<' && depth++ == 0) begin = c + 1;
        if (*c == '>') depth--;
        if (*c == '[' && depth == 0) parts->base[0] = '\0'; // an array of them
        bool ends = (*c == ',' && depth == 1) || (*c == '>' && depth == 0);
        if (!ends) continue;
        while (*begin == ' ') begin++;
        if (parts->count < 2) {
            spyi_text text = { NULL, 0, 0 };
            spyi_text_add_n(&text, begin, (size_t)(c - begin));
            parts->arguments[parts->count] = spyi_strdup(spyi_text_str(&text));
            spyi_text_free(&text);
        }
        parts->count++;
        begin = c + 1;
    }
}

SPYI_FN const spyi_type *spyi_named_type(spyi_types *types, const spyi_type *given, const char *name) {
    const spyi_type *parsed = name ? spyi_type_parse(types, name) : NULL;
    if (parsed) return parsed;
    return name && strcmp(given->name, name) == 0 ? given : NULL;
}

// >>tensors

// What an argument becomes for a parameter of these types, and what the kernel may do with it.
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

// A tensor in Slang, and its gradients behind it.
static uint32_t spyi_whole_parts(const spyi_leaf *leaf) {
    return leaf->whole_grads == (SPYI_WHOLE_LOADS | SPYI_WHOLE_STORES) ? 3 : leaf->whole_grads ? 2 : 1;
}

static bool spyi_whole_bind(spyi_types *types, const spyi_value *value, spyi_leaf *leaf) {
    spyi_type_parts parts;
    spyi_text passed = { NULL, 0, 0 };
    spyi_fit fit;
    spyi_split_type(leaf->type->name, &parts);
    const struct spyi_family *family = spyi_family_of(parts.base);
    long rank = parts.count == 2 && parts.arguments[1] ? strtol(parts.arguments[1], NULL, 10) : 0;
    const spyi_type *element = family ? spyi_named_type(types, value->type, parts.arguments[0]) : NULL;
    bool good = element && rank >= 1 && rank <= SPY_MAX_RANK &&
                spyi_fit_memory(value->type, element, true, &fit) &&
                (uint32_t)rank + fit.consumed <= SPY_MAX_RANK;
    if (good) {
        spyi_text_add(&passed, "%s<%s, %ld>", family->passed, element->name, rank);
        leaf->kind_type = spyi_type_other(types, passed.data)->name;
        leaf->element = element;
        leaf->reads = family->reads;
        leaf->writes = family->writes;
        leaf->consumed = (uint32_t)rank + fit.consumed;
        for (long d = 0; d < rank; d++) leaf->consumed_dims[d] = -1; // any size
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

static void spyi_whole_field(const spyi_leaf *leaf, spyi_text *out) {
    if (leaf->batch_rank) spyi_text_add(out, "SpyiRows<%s, %u>", leaf->kind_type, leaf->batch_rank);
    else spyi_text_add(out, "%s", leaf->kind_type);
}

// A tensor of more dimensions than the parameter is run over: each element of the call gets its own part.
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

// How many scalars of the tensor one element of the parameter takes; 0: they do not lie next to each other.
static int64_t spyi_whole_pack(const spyi_leaf *leaf, const spy_tensor *t) {
    int64_t pack = 1;
    uint32_t outer = t->shape.rank;
    while (outer > leaf->batch_rank && leaf->consumed_dims[outer - 1 - leaf->batch_rank] != -1) {
        outer--;
        if (t->shape.dims[outer] != 1 && t->strides.dims[outer] != pack) return 0;
        pack *= t->shape.dims[outer];
    }
    for (uint32_t d = 0; d < outer; d++)
        if (t->shape.dims[d] > 1 && t->strides.dims[d] % pack) return 0;
    return pack;
}

// One tensor as Slang has it: address, offset, site, sizes, strides. `element`: bytes.
static bool spyi_fill_part(const spyi_leaf *leaf, const spy_tensor *t, uint64_t element, uint32_t site,
                           uint8_t *out, spyi_text *error) {
    int64_t pack = spyi_whole_pack(leaf, t);
    uint64_t first = t->offset_bytes - t->begin_bytes;
    if (pack == 0 || t->begin_bytes % leaf->element->device_align || first % element) {
        spyi_text_add(error, "its trailing dimensions do not lie next to each other, as %s needs",
                      leaf->element->display);
        return false;
    }
    if (!t->storage->chunk.address || (t->end_bytes - t->begin_bytes) / element > INT32_MAX) {
        spyi_text_add(error, t->storage->chunk.address
                                 ? "it spans more than 2147483647 elements, which a tensor in Slang cannot"
                                 : "the device has no pointers, which tensors in Slang are made of");
        return false;
    }
    uint64_t address = t->storage->chunk.address + t->storage->offset + t->begin_bytes;
    uint32_t offset = (uint32_t)(first / element), rank = 0;
    memcpy(out, &address, 8);
    memcpy(out + 8, &offset, 4);
    memcpy(out + 12, &site, 4);
    while (rank < leaf->consumed && leaf->consumed_dims[rank] == -1) rank++;
    for (uint32_t d = 0; d < rank; d++) {
        uint32_t dim = leaf->batch_rank + d;
        int32_t size = (int32_t)t->shape.dims[dim];
        int32_t stride = t->shape.dims[dim] == 1 ? 0 : (int32_t)(t->strides.dims[dim] / pack);
        memcpy(out + 16 + 4 * d, &size, 4);
        memcpy(out + 16 + 4 * (rank + d), &stride, 4);
    }
    return true;
}

// The gradients that a call of the leaf's mode uses; NULL: none.
static const spy_tensor *spyi_whole_gradient(const spyi_leaf *leaf, const spyi_value *value, int which) {
    bool backward = leaf->mode == SPY_CALL_BACKWARD;
    uint8_t use = which == SPYI_GRAD_IN ? (backward ? SPYI_WHOLE_STORES : SPYI_WHOLE_LOADS)
                                        : (backward ? SPYI_WHOLE_LOADS : SPYI_WHOLE_STORES);
    if (!leaf->mode || !(leaf->whole_grads & use)) return NULL;
    return leaf->paired ? value[1].tensor : value->tensor->grads[which];
}

static bool spyi_whole_fill(const spyi_leaf *leaf, const spyi_value *value, void *field, spyi_text *error) {
    const spy_tensor *t = value->tensor;
    uint8_t *out = (uint8_t *)field;
    uint32_t parts = spyi_whole_parts(leaf), size = (leaf->field_size - 4 * leaf->batch_rank) / parts;
    int64_t pack = spyi_whole_pack(leaf, t);
    if (!spyi_fill_part(leaf, t, spyi_type_device_stride(leaf->element), leaf->site, out, error))
        return false;
    memset(out + size, 0, (size_t)size * (parts - 1));
    for (int g = 0; g < 2 && parts > 1; g++) {
        const spy_tensor *grad = spyi_whole_gradient(leaf, value, g);
        uint64_t scalars = spyi_type_device_stride(leaf->element) / spyi_type_device_stride(t->type);
        if (!grad) continue;
        bool alike = leaf->batch_rank == 0 || memcmp(&grad->strides, &t->strides, sizeof t->strides) == 0;
        if (!alike) spyi_text_add(error, "it is run over, so that its gradient must lie as it does");
        if (!alike || !spyi_fill_part(leaf, grad, scalars * spyi_type_device_stride(grad->type),
                                      leaf->site ? leaf->site | SPYI_BOUNDS_GRADIENT : 0,
                                      out + size * (parts == 3 ? (uint32_t)g + 1 : 1), error))
            return false;
    }
    for (uint32_t d = 0; d < leaf->batch_rank; d++) {
        int32_t stride = t->shape.dims[d] == 1 ? 0 : (int32_t)(t->strides.dims[d] / pack);
        memcpy(out + size * parts + 4 * d, &stride, 4);
    }
    return true;
}

SPYI_FN void spyi_whole_stop_adding(const spyi_leaf *leaf, void *field) {
    uint32_t parts = spyi_whole_parts(leaf), size = (leaf->field_size - 4 * leaf->batch_rank) / parts;
    if (leaf->whole_grads & SPYI_WHOLE_LOADS) memset((uint8_t *)field + size * (parts - 1), 0, 8);
}

static const spyi_value_kind spyi_whole_kind = { "whole tensor",  NULL,
                                                 spyi_whole_bind, spyi_whole_field,
                                                 spyi_whole_load, spyi_whole_fill };

// >>pointers

static bool spyi_pointer_bind(spyi_types *types, const spyi_value *value, spyi_leaf *leaf) {
    spyi_type_parts parts;
    spyi_split_type(leaf->type->name, &parts);
    const spyi_type *element = parts.count ? spyi_type_parse(types, parts.arguments[0]) : NULL;
    bool good = parts.arguments[0] != NULL;
    if (value->tensor) {
        if (!element && good && strcmp(value->type->name, parts.arguments[0]) == 0) element = value->type;
        spyi_fit fit;
        memset(&fit, 0, sizeof fit);
        good = spyi_type_is_memory(value->type) ||
               (element && spyi_fit_memory(value->type, element, true, &fit) && fit.consumed <= value->rank);
        leaf->reads = true;
        leaf->writes = !parts.arguments[1] || strcmp(parts.arguments[1], "Access.Read") != 0;
        leaf->consumed = value->rank;
        for (uint32_t d = 0; good && d < value->rank; d++)
            leaf->consumed_dims[d] =
                d + fit.consumed < value->rank ? -1 : fit.dims[d + fit.consumed - value->rank];
    } else {
        leaf->untracked = true;
    }
    leaf->field_size = leaf->field_align = 8;
    spyi_free_parts(&parts);
    return good;
}

// Slang spells "Ptr<T, Access.ReadWrite, AddressSpace.Device, ...>", which it does not read: T* it does.
static void spyi_pointer_field(const spyi_leaf *leaf, spyi_text *out) {
    spyi_type_parts parts;
    spyi_split_type(leaf->type->name, &parts);
    spyi_text_add(out, "%s*", parts.arguments[0] ? parts.arguments[0] : "");
    spyi_free_parts(&parts);
}

static void spyi_pointer_load(const spyi_leaf *leaf, const spyi_place_text *at, spyi_text *out) {
    (void)leaf;
    spyi_text_add(out, "%s", at->field);
}

static bool spyi_pointer_fill(const spyi_leaf *leaf, const spyi_value *value, void *field, spyi_text *error) {
    const spy_tensor *t = value->tensor;
    uint64_t address =
        t ? t->storage->chunk.address + t->storage->offset + t->offset_bytes : value->arg->value.u;
    (void)leaf;
    memcpy(field, &address, 8);
    if (!t || t->storage->chunk.address) return true;
    spyi_text_add(error, "the device has no pointers");
    return false;
}

static const spyi_value_kind spyi_pointer_kind = { "pointer",         NULL,
                                                   spyi_pointer_bind, spyi_pointer_field,
                                                   spyi_pointer_load, spyi_pointer_fill };

SPYI_FN const spyi_value_kind *spyi_kind_of_parameter(const spyi_type *type, const spyi_value *value) {
    bool number = value->kind == SPY_ARG_UINT && value->direction == SPY_DIRECTION_DEFAULT;
    if (type->kind != SPYI_TYPE_OTHER || (value->kind != SPY_ARG_TENSOR && !number)) return NULL;
    spyi_type_parts parts;
    spyi_split_type(type->name, &parts);
    const spyi_value_kind *kind = strcmp(parts.base, "Ptr") == 0                ? &spyi_pointer_kind
                                  : value->tensor && spyi_family_of(parts.base) ? &spyi_whole_kind
                                  : !value->tensor                              ? NULL
                                  : spyi_view_kind_of(parts.base) ? spyi_view_kind_of(parts.base)
                                                                  : spyi_buffer_kind_of(parts.base);
    spyi_free_parts(&parts);
    return kind;
}

SPYI_FN const char *spyi_kind_takes(const spyi_type *type, spyi_target target) {
    if (type->kind != SPYI_TYPE_OTHER) return NULL;
    if (spyi_type_is_unsized(type))
        return "; it takes a struct of tensors, as many as there are to be elements";
    if (spyi_type_is_bound_array(type)) return "; it takes a struct of tensors, one for each element";
    spyi_type_parts parts;
    spyi_split_type(type->name, &parts);
    const char *takes =
        strcmp(parts.base, "Ptr") == 0 ? "; it takes a tensor, or an address as uint64"
        : spyi_view_kind_of(parts.base)
            ? target == SPYI_TARGET_CUDA
                  ? "; it takes a tensor of exactly these elements, or of their scalars"
                  : "; Slang has such parameters for the CUDA backend alone: here write RWTensor<T, D>"
        : spyi_is_typed_buffer(parts.base)
            ? "; it takes a tensor, on the Vulkan backend: for CUDA Slang has no code for typed "
              "buffers, but for (RW)StructuredBuffer<T>"
        : spyi_family_of(parts.base) || spyi_buffer_kind_of(parts.base) ? "; it takes a tensor"
                                                                        : NULL;
    spyi_free_parts(&parts);
    return takes;
}

SPYI_FN void spyi_whole_type_name(spyi_types *types, const spyi_type *type, const spyi_value *value,
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
    if (family)
        spyi_text_add(out, "%s<%s, %ld>", family->passed, element->name,
                      rank ? rank : (long)value->rank - (long)fit.consumed);
    else if (spyi_buffer_kind_of(parts.base) && parts.count)
        spyi_text_add(out, "%s<%s>", parts.base, value->type->name);
    spyi_free_parts(&parts);
}

// Tensors that are bound whole: to StructuredBuffer<T>, ByteAddressBuffer and their writable sisters. Where there is nothing
// to bind to (CUDA) they are fields: an address and a count of elements, or of bytes.
#include "kinds/kinds.h"

static const struct spyi_buffer_family {
    const char *name;
    bool structured, writes;
} spyi_buffer_families[] = {
    { "StructuredBuffer", true, false },
    { "RWStructuredBuffer", true, true },
    { "ByteAddressBuffer", false, false },
    { "RWByteAddressBuffer", false, true },
};

static const struct spyi_buffer_family *spyi_buffer_family_of(const char *base) {
    for (size_t i = 0; i < sizeof spyi_buffer_families / sizeof spyi_buffer_families[0]; i++)
        if (strcmp(spyi_buffer_families[i].name, base) == 0) return &spyi_buffer_families[i];
    return NULL;
}

static bool spyi_buffer_bind(spyi_types *types, const spyi_value *value, spyi_leaf *leaf) {
    spyi_type_parts parts;
    spyi_fit fit;
    memset(&fit, 0, sizeof fit);
    spyi_split_type(leaf->type->name, &parts);
    const struct spyi_buffer_family *family = spyi_buffer_family_of(parts.base);
    leaf->element = value->type;
    if (family && family->structured) leaf->element = spyi_named_type(types, value->type, parts.arguments[0]);
    bool good = family && leaf->element && spyi_fit_memory(value->type, leaf->element, true, &fit) &&
                value->rank >= fit.consumed;
    spyi_free_parts(&parts);
    if (!good) return false;
    leaf->binds = spyi_types_target(types) == SPYI_TARGET_SPIRV;
    leaf->field_size = leaf->binds ? 0 : 16;
    leaf->field_align = 8;
    leaf->reads = true;
    leaf->writes = family->writes;
    leaf->consumed = value->rank;
    for (uint32_t d = 0; d < value->rank; d++) leaf->consumed_dims[d] = -1; // any size
    for (uint32_t d = 0; d < fit.consumed; d++)
        leaf->consumed_dims[value->rank - fit.consumed + d] = fit.dims[d];
    return true;
}

static void spyi_buffer_field(const spyi_leaf *leaf, spyi_text *out) {
    spyi_text_add(out, "%s", leaf->type->name);
}

static void spyi_buffer_load(const spyi_leaf *leaf, const spyi_place_text *at, spyi_text *out) {
    (void)leaf;
    spyi_text_add(out, "%s", at->field);
}

// Fills the field of what is not bound.
static bool spyi_buffer_check(const spyi_leaf *leaf, const spyi_value *value, void *field, spyi_text *error) {
    const spy_tensor *t = value->tensor;
    const spyi_limits *limits = &t->object.device->base->limits;
    uint64_t at = t->storage->offset + t->begin_bytes, size = t->end_bytes - t->begin_bytes;
    if (field) {
        const char *name = leaf->type->name + (strncmp(leaf->type->name, "RW", 2) == 0 ? 2 : 0);
        uint64_t parts[2] = { t->storage->chunk.address + at, size };
        if (strcmp(name, "ByteAddressBuffer") != 0) parts[1] /= spyi_type_device_stride(leaf->element);
        memcpy(field, parts, sizeof parts);
    }
    if (!t->contiguous || t->element_count == 0)
        spyi_text_add(error,
                      t->contiguous ? "%s needs at least one element"
                                    : "%s needs a tensor whose elements lie next to each other; copy it",
                      leaf->type->display);
    else if (at % limits->binding_alignment)
        spyi_text_add(error, "%s must begin at a multiple of %u bytes on this device, got %llu",
                      leaf->type->display, limits->binding_alignment, (unsigned long long)t->begin_bytes);
    else if (size > limits->max_binding_bytes || limits->max_bindings == 0)
        spyi_text_add(error, "%s of %llu bytes is larger than the device's %llu", leaf->type->display,
                      (unsigned long long)size,
                      (unsigned long long)(limits->max_bindings ? limits->max_binding_bytes : 0));
    else return true;
    return false;
}

static const spyi_value_kind spyi_buffer_kind = { "buffer",         NULL,
                                                  spyi_buffer_bind, spyi_buffer_field,
                                                  spyi_buffer_load, spyi_buffer_check };

// >>ConstantBuffer<T>: bound too, but its bytes are packed, wherever this kernel has them

static bool spyi_holder_pack(const spyi_leaf *leaf, const spyi_value *value, void *field, spyi_text *error) {
    (void)leaf, (void)value, (void)field, (void)error;
    return true;
}

static const spyi_value_kind spyi_holder_kind = {
    "uniform buffer", NULL, NULL, spyi_buffer_field, spyi_buffer_load, spyi_holder_pack
};

SPYI_FN const spyi_value_kind *spyi_kind_of_holders(void) {
    return &spyi_holder_kind;
}

SPYI_FN const spyi_value_kind *spyi_buffer_kind_of(const char *base) {
    return spyi_buffer_family_of(base) ? &spyi_buffer_kind : NULL;
}

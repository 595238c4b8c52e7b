// Tensors for parameters of type (RW)StructuredBuffer<T>, (RW)ByteAddressBuffer and (RW)Buffer<T>. They are
// bound; on CUDA, which has no bindings, each is a field of an address and a number of elements, or of bytes.
// Typed buffers have no such form: for CUDA Slang (2026.12, 2026.14.1) makes loads of them that return
// nothing, and leaves their stores out. A ConstantBuffer<T> that is an element of an unsized array is passed
// as a tensor's address.
#include "kinds/internal.h"

static const struct spyi_buffer_family {
    const char *name;
    bool typed, texels, writes; // typed: elements have a type T; texels: elements are texels; writes: kernels
                                // may write elements
    bool one;                   // the buffer is the address of one element
} spyi_buffer_families[] = {
    { "StructuredBuffer", true, false, false, false },
    { "RWStructuredBuffer", true, false, true, false },
    { "ByteAddressBuffer", false, false, false, false },
    { "RWByteAddressBuffer", false, false, true, false },
    { "Buffer", true, true, false, false },
    { "RWBuffer", true, true, true, false },
    { "ConstantBuffer", true, false, false, true },
};

static const struct spyi_buffer_family *spyi_buffer_family_of(const char *base) {
    for (size_t i = 0; i < sizeof spyi_buffer_families / sizeof spyi_buffer_families[0]; i++)
        if (strcmp(spyi_buffer_families[i].name, base) == 0) return &spyi_buffer_families[i];
    return NULL;
}

// Sets the type by which a buffer of pointers is passed, with T* for Slang's "Ptr<T, ...>", which its
// compiler does not accept. The elements are addresses.
static void spyi_buffer_of_pointers(spyi_fitting *fitting, const spyi_type_parts *buffer, spyi_leaf *leaf) {
    spyi_type_parts pointer;
    spyi_text passed = { NULL, 0, 0 };
    spyi_split_type(buffer->arguments[0], &pointer);
    if (strcmp(pointer.base, "Ptr") == 0 && pointer.arguments[0]) {
        spyi_text_add(&passed, "%s<%s*>", buffer->base, pointer.arguments[0]);
        leaf->kind_type = spyi_type_other(fitting->types, spyi_text_str(&passed))->name;
        leaf->element = spyi_type_scalar(fitting->types, SPY_DTYPE_UINT64);
    }
    spyi_text_free(&passed);
    spyi_free_parts(&pointer);
}

// Writes the field like spyi_kind_own_field(), in the type by which the buffer is passed.
static void spyi_buffer_field(const spyi_leaf *leaf, spyi_text *out) {
    spyi_text_add(out, "%s", leaf->kind_type ? leaf->kind_type : leaf->type->name);
}

static bool spyi_buffer_bind(spyi_fitting *fitting, const spyi_value *value, spyi_leaf *leaf) {
    spyi_type_parts parts;
    spyi_fit fit;
    memset(&fit, 0, sizeof fit);
    spyi_split_type(leaf->type->name, &parts);
    const struct spyi_buffer_family *family = spyi_buffer_family_of(parts.base);
    leaf->element = value->type;
    if (family && family->typed)
        leaf->element = spyi_named_type(fitting->types, value->type, parts.arguments[0]);
    // A buffer without a type takes the type of the parameter's elements, which may be a struct of the
    // module.
    if (family && family->typed && !leaf->element && parts.arguments[0] && spyi_type_is_memory(value->type) &&
        fitting->finder->object)
        leaf->element = fitting->finder->find(fitting->finder->object, parts.arguments[0]);
    if (leaf->element && leaf->element->kind == SPYI_TYPE_OTHER) leaf->element = NULL; // a pointer has no layout
    if (family && family->typed && !family->texels && !family->one && !leaf->element && parts.arguments[0])
        spyi_buffer_of_pointers(fitting, &parts, leaf);
    bool good =
        family && leaf->element &&
        (spyi_type_is_memory(value->type) || spyi_fit_memory(value->type, leaf->element, true, &fit)) &&
        value->rank >= fit.consumed;
    spyi_free_parts(&parts);
    const spyi_rules *rules = spyi_types_rules(fitting->types);
    if (!good || (family->texels && !rules->typed_buffers) || (family->one && !rules->by_address))
        return false;
    leaf->binds = !rules->by_address;
    leaf->field_size = leaf->binds ? 0 : family->one ? 8 : 16;
    leaf->field_align = 8;
    leaf->reads = true;
    leaf->writes = family->writes;
    leaf->texels = family->texels;
    leaf->consumed = value->rank;
    for (uint32_t d = 0; d < value->rank; d++) leaf->consumed_dims[d] = -1; // the sizes may be any
    for (uint32_t d = 0; d < fit.consumed; d++)
        leaf->consumed_dims[value->rank - fit.consumed + d] = fit.dims[d];
    return true;
}

// Checks that the device has texels of this format and can bind a typed buffer of `size` bytes.
static bool spyi_buffer_check_texels(const spyi_leaf *leaf, const spyi_limits *limits, uint64_t size,
                                     spyi_text *error) {
    const spyi_type *texel = leaf->element;
    bool plain = texel->kind == SPYI_TYPE_SCALAR || texel->kind == SPYI_TYPE_VECTOR;
    uint8_t use = leaf->writes ? SPYI_TEXEL_WRITES : SPYI_TEXEL_READS;
    uint64_t count = size / spyi_type_device_stride(texel);
    if (!plain || !(limits->texels[texel->scalar][texel->columns - 1] & use))
        spyi_text_add(error, "the device '%s' has no texels of format %s for %s; take a %sStructuredBuffer",
                      limits->info.name, texel->display, leaf->type->display, leaf->writes ? "RW" : "");
    else if (count > limits->max_texels)
        spyi_text_add(error, "%s of %llu elements is larger than the device's %llu", leaf->type->display,
                      (unsigned long long)count, (unsigned long long)limits->max_texels);
    else return true;
    return false;
}

// Checks the tensor, and fills its field if it has one.
static bool spyi_buffer_check(const spyi_leaf *leaf, const spyi_value *value, void *field, spyi_text *error) {
    const spy_tensor *t = value->tensor;
    const spyi_limits *limits = &t->object.device->base->limits;
    uint64_t at = t->storage->offset + t->begin_bytes, size = t->end_bytes - t->begin_bytes;
    uint64_t most = leaf->texels ? UINT64_MAX : limits->max_binding_bytes;
    uint32_t alignment = leaf->texels ? limits->texel_alignment : limits->binding_alignment;
    if (leaf->texels && !spyi_buffer_check_texels(leaf, limits, size, error)) return false;
    if (field) {
        const char *name = leaf->type->name + (strncmp(leaf->type->name, "RW", 2) == 0 ? 2 : 0);
        uint64_t parts[2] = { t->storage->chunk.address + at, size };
        if (strcmp(name, "ByteAddressBuffer") != 0) parts[1] /= spyi_type_device_stride(leaf->element);
        memcpy(field, parts, leaf->field_size);
    }
    if (!t->contiguous || t->element_count == 0)
        spyi_text_add(error,
                      t->contiguous ? "%s needs at least one element"
                                    : "%s needs a tensor whose elements lie next to each other; copy it",
                      leaf->type->display);
    else if (spyi_type_is_memory(t->type) && size < spyi_type_device_stride(leaf->element)) // bytes after the last whole element are unused
        spyi_text_add(error, "%s needs at least one element of %zu bytes, got %llu bytes", leaf->type->display,
                      spyi_type_device_stride(leaf->element), (unsigned long long)size);
    else if (at % alignment)
        spyi_text_add(error, "%s must begin at a multiple of %u bytes on this device, got %llu",
                      leaf->type->display, alignment, (unsigned long long)t->begin_bytes);
    else if (limits->profile.max_bindings == 0)
        spyi_text_add(
            error,
            "%s needs a binding, of which the device has none; on Vulkan they come with the extension "
            "VK_KHR_push_descriptor, which an engine enables at vkCreateDevice",
            leaf->type->display);
    else if (size > most)
        spyi_text_add(error, "%s of %llu bytes is larger than the device's %llu", leaf->type->display,
                      (unsigned long long)size, (unsigned long long)most);
    else return true;
    return false;
}

// Writes no offsets, because a bound buffer has no bytes in the parameter block.
static uint32_t spyi_buffer_addresses(const spyi_leaf *leaf, uint32_t offsets[SPYI_MOST_ADDRESSES]) {
    offsets[0] = 0;
    return leaf->binds ? 0 : 1;
}

static const char *spyi_buffer_takes(const spyi_type *type, const char *base, const spyi_rules *rules) {
    (void)type;
    const struct spyi_buffer_family *family = spyi_buffer_family_of(base);
    (void)rules;
    return !family ? NULL
           : family->texels
               ? "; it takes a tensor, on the Vulkan backend: for CUDA Slang has no code for typed "
                 "buffers, but for (RW)StructuredBuffer<T>"
               : "; it takes a tensor";
}

static void spyi_buffer_type_name(spyi_types *types, const spyi_type *type, const spyi_value *value,
                                  spyi_text *out) {
    spyi_type_parts parts;
    (void)types;
    spyi_split_type(type->name, &parts);
    if (parts.count) spyi_text_add(out, "%s<%s>", parts.base, value->type->name);
    spyi_free_parts(&parts);
}

static const spyi_kind_build spyi_buffer_build = { spyi_buffer_bind,
                                                   NULL,
                                                   spyi_buffer_field,
                                                   spyi_kind_own_load,
                                                   spyi_buffer_takes,
                                                   spyi_buffer_type_name,
                                                   NULL,
                                                   NULL };
static const spyi_kind_run spyi_buffer_run = { SPYI_TRAIT_SIZED | SPYI_TRAIT_REPEATS,
                                               SPYI_FIELD_KIND,
                                               SPYI_AGAIN_NEVER,
                                               NULL,
                                               spyi_buffer_check,
                                               NULL,
                                               NULL,
                                               NULL,
                                               spyi_buffer_addresses,
                                               NULL,
                                               NULL,
                                               NULL };
static const spyi_value_kind spyi_buffer_kind = { "buffer", &spyi_buffer_build, &spyi_buffer_run };

SPYI_FN bool spyi_is_buffer_address(const char *base) {
    const struct spyi_buffer_family *family = spyi_buffer_family_of(base);
    return family && family->one;
}

SPYI_FN const spyi_value_kind *spyi_buffer_kind_of(void) {
    return &spyi_buffer_kind;
}

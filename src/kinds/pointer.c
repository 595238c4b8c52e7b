// Pointers: a parameter T* takes a tensor, or an address as a number.
#include "kinds/internal.h"

static bool spyi_pointer_bind(spyi_fitting *fitting, const spyi_value *value, spyi_leaf *leaf) {
    spyi_type_parts parts;
    spyi_split_type(leaf->type->name, &parts);
    const spyi_type *element = parts.count ? spyi_type_parse(fitting->types, parts.arguments[0]) : NULL;
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

// Writes T*, because Slang's reflection says "Ptr<T, Access.ReadWrite, AddressSpace.Device, ...>", which its
// compiler does not accept.
static void spyi_pointer_field(const spyi_leaf *leaf, spyi_text *out) {
    spyi_type_parts parts;
    spyi_split_type(leaf->type->name, &parts);
    spyi_text_add(out, "%s*", parts.arguments[0] ? parts.arguments[0] : "");
    spyi_free_parts(&parts);
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

static uint32_t spyi_pointer_addresses(const spyi_leaf *leaf, uint32_t offsets[SPYI_MOST_ADDRESSES]) {
    (void)leaf;
    offsets[0] = 0;
    return 1;
}

static const char *spyi_pointer_takes(const spyi_type *type, const char *base, const spyi_rules *rules) {
    (void)type;
    (void)rules;
    return strcmp(base, "Ptr") == 0 ? "; it takes a tensor, or an address as uint64" : NULL;
}

static const spyi_kind_build spyi_pointer_build = {
    spyi_pointer_bind, NULL, spyi_pointer_field, spyi_kind_own_load, spyi_pointer_takes, NULL, NULL, NULL
};
static const spyi_kind_run spyi_pointer_run = { SPYI_TRAIT_SIZED | SPYI_TRAIT_REPEATS | SPYI_TRAIT_ADDRESS,
                                                SPYI_FIELD_KIND,
                                                SPYI_AGAIN_NEVER,
                                                NULL,
                                                spyi_pointer_fill,
                                                NULL,
                                                NULL,
                                                NULL,
                                                spyi_pointer_addresses,
                                                NULL,
                                                NULL,
                                                NULL };
static const spyi_value_kind spyi_pointer_kind = { "pointer", &spyi_pointer_build, &spyi_pointer_run };

SPYI_FN const spyi_value_kind *spyi_pointer_kind_of(void) {
    return &spyi_pointer_kind;
}

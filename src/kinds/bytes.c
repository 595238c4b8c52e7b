// Host bytes: one value in C's layout, which is converted to the device's layout in the parameter block.
#include "kinds/internal.h"

static bool spyi_bytes_bind(spyi_fitting *fitting, const spyi_value *value, spyi_leaf *leaf) {
    const spyi_type *type = leaf->type;
    if (value->size != type->host_size) {
        spyi_text_add(&fitting->why, "%s has %zu bytes in C's layout, got %u", type->display, type->host_size,
                      value->size);
        return false;
    }
    if (leaf->out) spyi_kind_return(leaf);
    else spyi_kind_in_block(leaf);
    return true;
}

static bool spyi_bytes_pack(const spyi_leaf *leaf, const spyi_value *value, void *field, spyi_text *error) {
    (void)error;
    spyi_type_to_device(leaf->type, field, value->arg->value.data, 1);
    return true;
}

static bool spyi_bytes_match(const spyi_leaf *leaf, const spyi_value *value) {
    return value->kind == SPY_ARG_KIND_DATA && value->size == leaf->type->host_size;
}

static void spyi_bytes_expected(const spyi_leaf *leaf, spyi_text *out) {
    spyi_text_add(out, "%zu bytes of host data for %s", leaf->type->host_size, leaf->type->display);
}

static const spyi_kind_build spyi_bytes_build = {
    spyi_bytes_bind, NULL, spyi_kind_plain_field, spyi_kind_plain_load, NULL, NULL, NULL, NULL
};
static const spyi_kind_run spyi_bytes_run = { SPYI_TRAIT_VALUE | SPYI_TRAIT_REPEATS,
                                              SPYI_FIELD_BYTES,
                                              SPYI_AGAIN_NEVER,
                                              NULL,
                                              spyi_bytes_pack,
                                              spyi_bytes_match,
                                              spyi_bytes_expected,
                                              NULL,
                                              NULL,
                                              NULL,
                                              NULL,
                                              NULL };
static const spyi_value_kind spyi_bytes_kind = { "host bytes", &spyi_bytes_build, &spyi_bytes_run };

SPYI_FN const spyi_value_kind *spyi_bytes_kind_of(void) {
    return &spyi_bytes_kind;
}

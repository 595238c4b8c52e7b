// Bindless handles: a parameter DescriptorHandle<T> takes the 8 bytes of a handle as a number.
#include "kinds/internal.h"

static bool spyi_handle_bind(spyi_fitting *fitting, const spyi_value *value, spyi_leaf *leaf) {
    spyi_type_parts parts;
    if (value->tensor) return false;
    spyi_split_type(leaf->type->name, &parts);
    const char *of = parts.arguments[0] ? parts.arguments[0] : "";
    // CUDA's handles of buffers are pairs of address and size, which a number cannot be.
    bool good = !spyi_types_rules(fitting->types)->by_address || strncmp(of, "Texture", 7) == 0 ||
                strncmp(of, "RWTexture", 9) == 0;
    if (!good) spyi_text_add(&fitting->why, "on CUDA only textures have handles");
    spyi_free_parts(&parts);
    leaf->field_size = 8;
    leaf->field_align = (uint32_t)leaf->type->device_align;
    leaf->untracked = true;
    return good;
}

static bool spyi_handle_fill(const spyi_leaf *leaf, const spyi_value *value, void *field, spyi_text *error) {
    uint64_t handle = value->arg->value.u;
    (void)leaf;
    (void)error;
    memcpy(field, &handle, sizeof handle);
    return true;
}

static const char *spyi_handle_takes(const spyi_type *type, const char *base, const spyi_rules *rules) {
    (void)type;
    (void)rules;
    return strcmp(base, "DescriptorHandle") == 0
               ? "; it takes a handle as uint64: spy_texture_handle() and its sisters"
               : NULL;
}

static const spyi_kind_build spyi_handle_build = {
    spyi_handle_bind, NULL, spyi_kind_own_field, spyi_kind_own_load, spyi_handle_takes, NULL, NULL, NULL
};
static const spyi_kind_run spyi_handle_run = { SPYI_TRAIT_SIZED | SPYI_TRAIT_REPEATS | SPYI_TRAIT_ADDRESS,
                                               SPYI_FIELD_KIND,
                                               SPYI_AGAIN_NEVER,
                                               NULL,
                                               spyi_handle_fill,
                                               NULL,
                                               NULL,
                                               NULL,
                                               NULL,
                                               NULL,
                                               NULL,
                                               NULL };
static const spyi_value_kind spyi_handle_kind_table = { "handle", &spyi_handle_build, &spyi_handle_run };

SPYI_FN const spyi_value_kind *spyi_handle_kind_of(void) {
    return &spyi_handle_kind_table;
}

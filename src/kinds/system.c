// The values that the GPU gives to the threads of a dispatch: SV_DispatchThreadID, SV_GroupID,
// SV_GroupThreadID, SV_GroupIndex; and the inputs and outputs of vertex and fragment shaders.
#include "kinds/internal.h"

static bool spyi_system_bind(spyi_fitting *fitting, const spyi_value *value, spyi_leaf *leaf) {
    const spyi_type *type = leaf->type;
    (void)fitting;
    (void)value;
    return (type->kind == SPYI_TYPE_SCALAR || (type->kind == SPYI_TYPE_VECTOR && type->columns <= 3)) &&
           (type->scalar == SPY_DTYPE_INT32 || type->scalar == SPY_DTYPE_UINT32);
}

// Writes the parameter `name` of the kernel, which has the type uint3, as a value of the leaf's type.
static void spyi_system_load(const spyi_leaf *leaf, const char *name, spyi_text *out) {
    spyi_text_add(out, "%s(%s.%.*s)", spyi_spell(leaf->type), name, (int)leaf->type->columns, "xyz");
}

static void spyi_thread_load(const spyi_leaf *leaf, const spyi_place_text *at, spyi_text *out) {
    (void)at;
    spyi_system_load(leaf, "spy_thread", out);
}

static void spyi_group_load(const spyi_leaf *leaf, const spyi_place_text *at, spyi_text *out) {
    (void)at;
    spyi_system_load(leaf, "spy_group", out);
}

static void spyi_local_load(const spyi_leaf *leaf, const spyi_place_text *at, spyi_text *out) {
    (void)at;
    spyi_system_load(leaf, "spy_local", out);
}

static void spyi_index_load(const spyi_leaf *leaf, const spyi_place_text *at, spyi_text *out) {
    (void)at;
    spyi_text_add(out, "%s(spy_in_group)", spyi_spell(leaf->type));
}

static const spyi_kind_build spyi_thread_build = {
    spyi_system_bind, NULL, NULL, spyi_thread_load, NULL, NULL, NULL, NULL
};
static const spyi_kind_build spyi_group_build = {
    spyi_system_bind, NULL, NULL, spyi_group_load, NULL, NULL, NULL, NULL
};
static const spyi_kind_build spyi_local_build = {
    spyi_system_bind, NULL, NULL, spyi_local_load, NULL, NULL, NULL, NULL
};
static const spyi_kind_build spyi_index_build = {
    spyi_system_bind, NULL, NULL, spyi_index_load, NULL, NULL, NULL, NULL
};
static const spyi_kind_run spyi_system_run = { SPYI_TRAIT_SIZED | SPYI_TRAIT_REPEATS | SPYI_TRAIT_SYSTEM,
                                               SPYI_FIELD_KIND,
                                               SPYI_AGAIN_NEVER,
                                               NULL,
                                               NULL,
                                               NULL,
                                               NULL,
                                               NULL,
                                               NULL,
                                               NULL,
                                               NULL,
                                               NULL };

static const spyi_value_kind spyi_system_kinds[] = {
    { "SV_DispatchThreadID", &spyi_thread_build, &spyi_system_run },
    { "SV_GroupID", &spyi_group_build, &spyi_system_run },
    { "SV_GroupThreadID", &spyi_local_build, &spyi_system_run },
    { "SV_GroupIndex", &spyi_index_build, &spyi_system_run },
    { "varying", &spyi_index_build, &spyi_system_run }, // bind makes no leaf of this kind
};

SPYI_FN spy_arg spyi_system_arg(const char *name, spyi_system system) {
    return spyi_custom_arg(name, &spyi_system_kinds[system - SPYI_SYSTEM_THREAD]);
}

SPYI_FN bool spyi_is_varying(const spyi_value *value) {
    return value->custom == &spyi_system_kinds[SPYI_SYSTEM_VARYING - SPYI_SYSTEM_THREAD];
}

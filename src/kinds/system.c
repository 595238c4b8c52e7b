// What the system gives to the threads of a dispatch: SV_DispatchThreadID and its like.
#include "kinds/internal.h"

static bool spyi_system_bind(spyi_types *types, const spyi_value *value, spyi_leaf *leaf) {
    const spyi_type *type = leaf->type;
    (void)types;
    (void)value;
    return (type->kind == SPYI_TYPE_SCALAR || (type->kind == SPYI_TYPE_VECTOR && type->columns <= 3)) &&
           (type->scalar == SPY_INT32 || type->scalar == SPY_UINT32);
}

// The kernel's own parameters are uint3.
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

static const spyi_value_kind spyi_system_kinds[] = {
    { "SV_DispatchThreadID", NULL, spyi_system_bind, NULL, spyi_thread_load, NULL },
    { "SV_GroupID", NULL, spyi_system_bind, NULL, spyi_group_load, NULL },
    { "SV_GroupThreadID", NULL, spyi_system_bind, NULL, spyi_local_load, NULL },
    { "SV_GroupIndex", NULL, spyi_system_bind, NULL, spyi_index_load, NULL },
};

SPYI_FN spy_arg spyi_system_arg(const char *name, spyi_system system) {
    return spyi_custom_arg(name, &spyi_system_kinds[system - SPYI_SYSTEM_THREAD]);
}

SPYI_FN bool spyi_is_system(const spyi_value *value) {
    for (size_t i = 0; i < sizeof spyi_system_kinds / sizeof spyi_system_kinds[0]; i++)
        if (value->custom == &spyi_system_kinds[i]) return true;
    return false;
}

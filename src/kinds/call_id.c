// The arguments call_id and thread_id, which tell a function which element of the call it computes.
#include "kinds/internal.h"

static bool spyi_call_id_bind(spyi_fitting *fitting, const spyi_value *value, spyi_leaf *leaf) {
    (void)fitting;
    (void)value;
    return spyi_kind_components(leaf->type) > 0;
}

static void spyi_call_id_load(const spyi_leaf *leaf, const spyi_place_text *at, spyi_text *out) {
    spyi_kind_call(leaf, SPY_DTYPE_INT32, true, out, "spyi_call_id<%u>(%s, %s)",
                   spyi_kind_components(leaf->type), at->element, at->shape);
}

static void spyi_thread_id_load(const spyi_leaf *leaf, const spyi_place_text *at, spyi_text *out) {
    spyi_kind_call(leaf, SPY_DTYPE_INT32, false, out, "spyi_thread_id<%u>(%s)",
                   spyi_kind_components(leaf->type), at->thread);
}

static const spyi_kind_build spyi_call_id_build = {
    spyi_call_id_bind, NULL, NULL, spyi_call_id_load, NULL, NULL, NULL, NULL
};
static const spyi_kind_run spyi_call_id_run = { SPYI_TRAIT_SIZED | SPYI_TRAIT_REPEATS,
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
static const spyi_value_kind spyi_call_id_kind = { "call_id", &spyi_call_id_build, &spyi_call_id_run };
static const spyi_kind_build spyi_thread_id_build = {
    spyi_call_id_bind, NULL, NULL, spyi_thread_id_load, NULL, NULL, NULL, NULL
};
static const spyi_kind_run spyi_thread_id_run = { SPYI_TRAIT_SIZED | SPYI_TRAIT_REPEATS,
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
static const spyi_value_kind spyi_thread_id_kind = { "thread_id", &spyi_thread_id_build,
                                                     &spyi_thread_id_run };

spy_arg spy_arg_call_id(const char *name) {
    return spyi_custom_arg(name, &spyi_call_id_kind);
}

spy_arg spy_arg_thread_id(const char *name) {
    return spyi_custom_arg(name, &spyi_thread_id_kind);
}

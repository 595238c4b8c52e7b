// Tensors by element: the kernel loads and stores the tensor's elements, and each call of the function gets
// one of them.
#include "kinds/internal.h"

// Returns the end of a message, which says why the scalars of an array or tensor do not fit the parameter,
// and what to do. Returns "" when the scalar types are not the reason.
static const char *spyi_why_no_fit(const spyi_leaf *leaf, const spyi_value *v, char *text, size_t size) {
    const spyi_type *inner = leaf->type, *held = v->type;
    while (inner->kind == SPYI_TYPE_ARRAY) inner = inner->element;
    while (held->kind == SPYI_TYPE_ARRAY) held = held->element;
    bool numbers = inner->kind <= SPYI_TYPE_MATRIX && held->kind <= SPYI_TYPE_MATRIX && held->scalar &&
                   inner->scalar && held->scalar != inner->scalar;
    if (!numbers) return "";
    const char *to = spy_dtype_name(inner->scalar), *from = spy_dtype_name(held->scalar);
    if (leaf->out && leaf->in)
        snprintf(text, size, "; what is read and written is not converted: create it with desc.dtype %s", to);
    else if (leaf->out)
        snprintf(text, size, "; %s is not converted to %s: create it with desc.dtype %s", to, from, to);
    else
        snprintf(text, size,
                 "; a tensor's numbers are not converted from %s to %s, which could change them: create it "
                 "with desc.dtype %s",
                 from, to, to);
    return text;
}

SPYI_FN bool spyi_kind_fit(spyi_fitting *fitting, const spyi_value *v, spyi_leaf *leaf, spyi_fit *fit) {
    char why[192];
    bool host = v->kind == SPY_ARG_KIND_ARRAY, stored = leaf->out && !leaf->in && fitting->result;
    bool fits = stored ? spyi_fit_stored(v->type, leaf->type, fit)
                : host ? spyi_fit_host(v->type, leaf->type, leaf->out, fit)
                       : spyi_fit_memory(v->type, leaf->type, leaf->out, fit);
    if (!fits) {
        spyi_text_add(&fitting->hint, "%s", spyi_why_no_fit(leaf, v, why, sizeof why));
        return false;
    }
    leaf->consumed = fit->consumed;
    memcpy(leaf->consumed_dims, fit->dims, fit->consumed * sizeof *fit->dims);
    fitting->cost += fit->cost;
    return true;
}

static bool spyi_tensor_bind(spyi_fitting *fitting, const spyi_value *value, spyi_leaf *leaf) {
    spyi_fit fit;
    leaf->element = value->type;
    return spyi_kind_fit(fitting, value, leaf, &fit);
}

static const spyi_kind_build spyi_tensor_build = {
    spyi_tensor_bind, NULL, NULL, NULL, NULL, NULL, NULL, NULL
};
static const spyi_kind_run spyi_tensor_run = { SPYI_TRAIT_VALUE | SPYI_TRAIT_MEMORY | SPYI_TRAIT_TENSOR |
                                                   SPYI_TRAIT_TRACKED | SPYI_TRAIT_SIZED | SPYI_TRAIT_REPEATS,
                                               SPYI_FIELD_KIND,
                                               SPYI_AGAIN_TENSOR,
                                               NULL,
                                               NULL,
                                               NULL,
                                               NULL,
                                               NULL,
                                               NULL,
                                               NULL,
                                               NULL,
                                               NULL };
static const spyi_value_kind spyi_tensor_kind = { "tensor", &spyi_tensor_build, &spyi_tensor_run };

SPYI_FN const spyi_value_kind *spyi_tensor_kind_of(void) {
    return &spyi_tensor_kind;
}

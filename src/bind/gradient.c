// Binds the gradients of a call's values. Each gradient becomes a leaf of its own, so that the kernel loads
// and stores it, and barriers are made for it, as for any other memory.
#include "bind/internal.h"
#include "data/scalars.h"

SPYI_FN bool spyi_bind_unused(spyi_attempt *a, spyi_leaf *leaf, const spyi_value *v, uint32_t pair) {
    spyi_fit fit;
    memset(&fit, 0, sizeof fit);
    leaf->in = leaf->out = false;
    spyi_leaf_set_kind(leaf, spyi_kind_of_unused());
    if (v->tensor || v->kind == SPY_ARG_KIND_ARRAY) {
        if (!spyi_fit_memory(v->type, leaf->type, true, &fit))
            return spyi_mismatch(a, leaf->path, leaf->type, v, "");
        return spyi_set_batch(a, leaf, v, &fit);
    }
    if (!pair || !a->values->items[pair].type) return true;
    const spyi_value *grad = &a->values->items[pair]; // the gradient's dimensions are those of the output
    if (grad->rank) leaf->value = pair;
    return true;
}

// Returns the type in which a gradient is loaded and stored: `differential` with the scalar type of the
// gradient's memory.
static const spyi_type *spyi_stored_type(spyi_attempt *a, const spyi_type *differential,
                                         const spyi_value *v) {
    const spyi_type *inner = differential, *held = v->type;
    while (inner->kind == SPYI_TYPE_ARRAY) inner = inner->element;
    while (held && held->kind == SPYI_TYPE_ARRAY) held = held->element;
    bool memory = v->kind == SPY_ARG_KIND_TENSOR || v->kind == SPY_ARG_KIND_ARRAY ||
                  (v->kind == SPY_ARG_KIND_FLOAT && v->direction != SPY_DIRECTION_DEFAULT);
    if (!memory || !held || inner->kind == SPYI_TYPE_STRUCT || held->kind == SPYI_TYPE_STRUCT ||
        held->scalar < SPY_DTYPE_FLOAT16)
        return differential;
    return spyi_type_with_scalar(a->types, differential, held->scalar);
}

static bool spyi_bind_gradient(spyi_attempt *a, uint32_t number, uint32_t value, int which, spyi_role role,
                               const char *name) {
    const spyi_leaf *of = &a->bound.leaves[number];
    const spyi_value *v = &a->values->items[value];
    const spyi_type *type = spyi_stored_type(a, of->differential, v);
    bool stored = role == SPYI_ROLE_ADDED && a->values->options && a->values->options->store_gradients;
    bool in = role != SPYI_ROLE_WRITTEN && !stored, out = role != SPYI_ROLE_READ;
    spyi_text path = { NULL, 0, 0 };
    spyi_text_add(&path, "%s.%s", of->path, name);
    // spyi_add_leaf() may have moved `of`
    spyi_leaf *leaf = spyi_add_leaf(a, value, spyi_text_str(&path), type, in, out);
    spyi_text_free(&path);
    if (!leaf) return spyi_no(a, SPY_ERROR_OUT_OF_MEMORY, "out of host memory");
    leaf->role = role;
    leaf->value_leaf = number;
    a->bound.leaves[number].grads[which] = a->bound.leaf_count - 1;
    return spyi_check_direction(a, leaf->path, v, in, out) &&
           spyi_bind_leaf(a, leaf, v, spyi_kind_of_value(v));
}

SPYI_FN bool spyi_bind_gradients(spyi_attempt *a, uint32_t number, uint32_t index, uint32_t pair) {
    spyi_leaf *leaf = &a->bound.leaves[number];
    const spyi_value *v = &a->values->items[index];
    bool backward = a->bound.mode == SPY_CALL_MODE_BACKWARD, in = leaf->param_in, out = leaf->param_out;
    uint32_t given[2] = { pair ? pair : v->grads[0], pair ? pair : v->grads[1] };
    leaf->differential = spyi_differential(a->types, &a->finder, leaf->type);
    if (!given[0] && !given[1]) return true;
    if (a->constant && pair && leaf->differential)
        return spyi_no(a, SPY_ERROR_TYPE_MISMATCH,
                       "'%s' is no_diff: nothing would come of the gradient that it is paired with",
                       leaf->path);
    if (a->constant && !pair) return true;
    if (!leaf->differential && pair && a->values->items[pair].kind == SPY_ARG_KIND_RESULT &&
        a->values->items[pair].direction == SPY_DIRECTION_OUT)
        return true; // a spy_result allows that there is no gradient
    if (!leaf->differential)
        return spyi_no(a, SPY_ERROR_TYPE_MISMATCH, "'%s': %s has no gradient", leaf->path,
                       leaf->type->display);
    if (in && out && pair)
        return spyi_no(a, SPY_ERROR_INVALID_ARGUMENT,
                       "'%s' is an inout parameter, which has two gradients: give a tensor with grad_in and "
                       "grad_out",
                       leaf->path);
    if (in && out && backward &&
        (!given[0] || !given[1] || a->values->items[given[0]].tensor == a->values->items[given[1]].tensor))
        return spyi_no(
            a, SPY_ERROR_INVALID_ARGUMENT,
            "'%s' is an inout parameter: its tensor needs a grad_in that is read and a grad_out that "
            "is added to, and they must be two",
            leaf->path);
    bool reads = given[0] && (backward ? out : in), other = given[1] && (backward ? in : out),
         both = in && out;
    return (!reads || spyi_bind_gradient(a, number, given[0], SPYI_GRAD_IN, SPYI_ROLE_READ,
                                         both ? "grad_in" : "grad")) &&
           (!other ||
            spyi_bind_gradient(a, number, given[1], SPYI_GRAD_OUT,
                               backward ? SPYI_ROLE_ADDED : SPYI_ROLE_WRITTEN, both ? "grad_out" : "grad"));
}

// >>tensors that are passed whole

// Adds a leaf for a gradient that the function itself reads or writes. The leaf has no field; it exists for
// barriers.
static bool spyi_track_gradient(spyi_attempt *a, uint32_t number, uint32_t value, bool reads, bool writes) {
    const spyi_leaf *of = &a->bound.leaves[number];
    const spyi_value *v = &a->values->items[value];
    spyi_fit fit;
    const spyi_type *wanted = spyi_differential(a->types, &a->finder, of->element), *type = of->type;
    const spyi_value_kind *kind = of->kind;
    spyi_text path = { NULL, 0, 0 };
    if (!of->exact && (!wanted || !v->tensor || !spyi_fit_memory(v->type, wanted, true, &fit)))
        return spyi_mismatch(a, of->path, wanted ? wanted : of->element, v, ", as its gradient");
    spyi_text_add(&path, "%s.grad", of->path);
    // spyi_add_leaf() may have moved `of`
    spyi_leaf *leaf = spyi_add_leaf(a, value, spyi_text_str(&path), type, true, false);
    spyi_text_free(&path);
    if (!leaf) return spyi_no(a, SPY_ERROR_OUT_OF_MEMORY, "out of host memory");
    spyi_leaf_set_kind(leaf, spyi_kind_of_inside(kind));
    leaf->role = SPYI_ROLE_INSIDE;
    leaf->value_leaf = number;
    leaf->reads = reads;
    leaf->writes = writes;
    leaf->consumed = v->rank;
    for (uint32_t d = 0; d < v->rank; d++) leaf->consumed_dims[d] = -1;
    return true;
}

SPYI_FN bool spyi_bind_whole_gradients(spyi_attempt *a, uint32_t number, uint32_t index, uint32_t pair) {
    spyi_leaf *leaf = &a->bound.leaves[number];
    const spyi_value *v = &a->values->items[index];
    uint8_t uses = leaf->whole_grads;
    bool backward = a->bound.mode == SPY_CALL_MODE_BACKWARD;
    uint32_t given[2] = { pair ? pair : v->grads[0], pair ? pair : v->grads[1] };
    bool wanted[2] = { (uses & (backward ? SPYI_WHOLE_STORES : SPYI_WHOLE_LOADS)) != 0,
                       (uses & (backward ? SPYI_WHOLE_LOADS : SPYI_WHOLE_STORES)) != 0 };
    leaf->paired = pair != 0;
    if (v->texel && a->bound.mode && !backward && v->grads[0])
        return spyi_no(
            a, SPY_ERROR_UNSUPPORTED,
            "'%s': in forward mode texels are constants, and this texture has a gradient: give it without "
            "one",
            leaf->path);
    if (backward && v->texel && !uses && v->grads[0]) // spyi_bind_textures() binds these textures
        leaf->whole_grads = SPYI_WHOLE_LOADS;
    if (!uses) return true;
    a->bound.names_diff = a->bound.names_diff || (leaf->traits & SPYI_TRAIT_DIFF);
    leaf->mode = a->bound.mode;
    if (!a->bound.mode) return true;
    leaf->exact = (leaf->traits & SPYI_TRAIT_EXACT) && given[SPYI_GRAD_OUT] && backward &&
                  a->values->options->deterministic;
    if (pair && uses == (SPYI_WHOLE_LOADS | SPYI_WHOLE_STORES))
        return spyi_no(
            a, SPY_ERROR_INVALID_ARGUMENT,
            "'%s' is read and written, and so has two gradients: give a tensor with grad_in and grad_out",
            leaf->path);
    for (int g = 0; g < 2; g++) {
        if (!wanted[g] || !given[g]) continue;
        a->bound.grads_inside[g] = true;
        // The gradient of all levels of a texture lies behind that of its first level (describe.c).
        if (!spyi_track_gradient(a, number, given[g] + (v->texel ? 1 : 0), g == SPYI_GRAD_IN || backward,
                                 g == SPYI_GRAD_OUT))
            return false;
    }
    if (backward && wanted[SPYI_GRAD_OUT] && given[SPYI_GRAD_OUT] && !v->texel &&
        a->values->options->deterministic && !a->bound.leaves[number].exact)
        return spyi_no(a, SPY_ERROR_UNSUPPORTED,
                       "'%s': the function itself adds to its gradient, in no order: such a call is not "
                       "deterministic; give it as %s by element, or without a gradient",
                       a->bound.leaves[number].path, a->bound.leaves[number].element->display);
    return true;
}

// >>textures for parameters of Slang's own types

// Refuses a texture whose gradient the derivative of the function could not find. The texture alone does not
// tell where its gradients lie: the kernel notes one texture of each type, and one sampler.
static bool spyi_check_plain_texture(spyi_attempt *a, const spyi_leaf *leaf, uint32_t slot, uint32_t samplers,
                                     bool imported) {
    const spyi_values *values = a->values;
    const spyi_value *v = &values->items[leaf->value];
    const char *name = leaf->type->display;
    if (slot == SPYI_MOST_NOTED)
        return spyi_no(a, SPY_ERROR_UNSUPPORTED,
                       "'%s': more than %d textures have gradients; take Diff%s in the place of %s",
                       leaf->path, SPYI_MOST_NOTED, name, name);
    if (!imported)
        return spyi_no(
            a, SPY_ERROR_UNSUPPORTED,
            "'%s': the texture has a gradient, but samples have derivatives only in a text with "
            "'import slangpy;' and [Differentiable], or of a parameter Diff%s; without a gradient it is a "
            "constant",
            leaf->path, name);
    for (uint32_t i = 0; i < spyi_values_given(values); i++)
        if (i != leaf->value && values->items[i].texel && values->items[i].type == v->type)
            return spyi_no(
                a, SPY_ERROR_UNSUPPORTED,
                "'%s': the call has another texture of the type %s, and a derivative cannot tell them "
                "apart: take Diff%s and DiffSamplerState, whose calls are the same",
                leaf->path, v->type->display, name);
    if (samplers > 1)
        return spyi_no(
            a, SPY_ERROR_UNSUPPORTED,
            "'%s': the call has %u samplers, and a derivative cannot tell them apart: take Diff%s and "
            "DiffSamplerState, whose calls are the same",
            leaf->path, samplers, name);
    return true;
}

// Gives the leaf of a texture with a gradient the data that derivatives need.
static bool spyi_bind_plain_texture(spyi_attempt *a, uint32_t i) {
    spyi_leaf *leaf = &a->bound.leaves[i];
    const spyi_value *v = &a->values->items[leaf->value];
    if (!spyi_plain_texture_adopt(leaf, v))
        return spyi_no(a, SPY_ERROR_UNSUPPORTED,
                       "'%s': the texture has a gradient, but calls of %s have no derivatives: take a "
                       "DiffTexture2D<T> or the like",
                       leaf->path, leaf->type->display);
    leaf->mode = a->bound.mode;
    leaf->exact = a->values->options->deterministic;
    a->bound.notes_textures = true;
    a->bound.plain_gradient = i + 1;
    a->bound.grads_inside[SPYI_GRAD_OUT] = true;
    return spyi_track_gradient(a, i, v->grads[0] + 1, true, true); // may move the leaves
}

SPYI_FN bool spyi_bind_textures(spyi_attempt *a) {
    bool imported = spyi_unit_imports(a->unit, "slangpy_texture_plain");
    bool by_address = spyi_types_rules(a->types)->by_address;
    uint32_t samplers = 0, slot = 0, count = a->bound.leaf_count;
    for (uint32_t i = 0; i < spyi_values_given(a->values); i++)
        samplers += a->values->items[i].custom && !a->values->items[i].texel && a->values->items[i].held[0] &&
                    a->values->items[i].held[0]->kind == (uint32_t)SPYI_KIND_SAMPLER;
    for (uint32_t i = 0; i < count && imported && samplers == 1; i++)
        if (spyi_plain_sampler_adopt(&a->bound.leaves[i])) a->bound.notes_textures = true;
    for (uint32_t i = 0; i < count; i++) {
        const spyi_leaf *leaf = &a->bound.leaves[i];
        const spyi_value *v = &a->values->items[leaf->value];
        if (!spyi_leaf_is_resource(leaf) || !v->texel || !leaf->whole_grads || spyi_is_diff_texture(leaf))
            continue;
        if (!spyi_check_plain_texture(a, leaf, slot++, samplers, imported) || !spyi_bind_plain_texture(a, i))
            return false;
    }
    // Without bindings a texture does not tell its layers and levels, so that derivatives need these of
    // textures without gradients, too. Each texture includes a sampler, which must be the call's only one, or
    // derivatives could use the wrong one.
    for (uint32_t i = 0; i < count && by_address && imported && samplers <= 1 && slot < SPYI_MOST_NOTED;
         i++) {
        spyi_leaf *leaf = &a->bound.leaves[i];
        const spyi_value *v = &a->values->items[leaf->value];
        if (!spyi_leaf_is_resource(leaf) || !v->texel || leaf->role == SPYI_ROLE_INSIDE ||
            spyi_is_diff_texture(leaf) || !spyi_plain_texture_adopt(leaf, v))
            continue;
        a->bound.notes_textures = true;
        slot++;
    }
    return true;
}

// >>the whole call

static bool spyi_has_role(const spyi_bound *b, spyi_role role, const char *below) {
    size_t length = below ? strlen(below) : 0;
    for (uint32_t i = 0; i < b->leaf_count; i++)
        if (b->leaves[i].role == role && (!below || strncmp(b->leaves[i].path, below, length) == 0))
            return true;
    return false;
}

// Returns whether the function gets memory to which a derivative written by the user may add.
static bool spyi_writes_inside(const spyi_bound *b) {
    for (uint32_t i = 0; i < b->leaf_count; i++)
        if (b->leaves[i].untracked || b->leaves[i].writes) return true;
    return false;
}

// Returns whether some DiffTensorView of a [CudaKernel] has a gradient. The function itself reads it or adds
// to it, and only the function knows which views are its outputs.
static bool spyi_views_gradients(const spyi_attempt *a) {
    for (uint32_t i = 0; i < a->bound.leaf_count; i++) {
        const spyi_leaf *leaf = &a->bound.leaves[i];
        if (!(leaf->traits & SPYI_TRAIT_OWN_GRADIENTS) || !leaf->untracked) continue;
        const spyi_value *v = &a->values->items[leaf->value];
        if (leaf->paired || v->grads[0] || v->grads[1]) return true;
    }
    return false;
}

// Sets the reason that the function has no derivative. Frees `why`, Slang's reason.
static bool spyi_no_derivative(spyi_attempt *a, const spyi_signature *signature, spyi_text *why) {
    static const struct {
        const char *side, *expected, *got, *call;
    } modes[2] = { { "forward", "[ForwardDifferentiable] or [ForwardDerivative]",
                     "[ForwardDifferentiable] or [ForwardDerivative]", "spy_call_forward_diff" },
                   { "backward", "[BackwardDifferentiable] or [BackwardDerivative]", "[BackwardDerivative]",
                     "spy_call_backward" } };
    bool backward = a->bound.mode == SPY_CALL_MODE_BACKWARD;
    spyi_text other = { NULL, 0, 0 }, got = { NULL, 0, 0 };
    if (spyi_unit_has_derivative(a->unit, signature, !backward, &other))
        spyi_text_add(&got, "; got a function with %s only: %s works", modes[!backward].got,
                      modes[!backward].call);
    const spyi_fused *fused = a->function->module->fused;
    if (fused && fused->no_derivative.size) { // a function that the fused function calls has no derivative
        spyi_text_clear(why);
        spyi_text_add(why, "%s", spyi_text_str(&fused->no_derivative));
    }
    spyi_no(a, SPY_ERROR_UNSUPPORTED, "it is not differentiable%s%s: expected [Differentiable], %s%s%s%s",
            got.size ? " " : "", got.size ? modes[backward].side : "", modes[backward].expected,
            spyi_text_str(&got), why->size ? "; Slang says:\n" : "", spyi_text_str(why));
    a->refused = true;
    spyi_text_free(&got);
    spyi_text_free(&other);
    spyi_text_free(why);
    return false;
}

// Refuses a backward call with the option store_gradients to whose gradients not only the kernel itself writes.
// spyi_launch_passes() refuses sums.
static bool spyi_check_stored(spyi_attempt *a) {
    const spyi_bound *b = &a->bound;
    if (b->mode != SPY_CALL_MODE_BACKWARD || !a->values->options || !a->values->options->store_gradients)
        return true;
    bool inside = b->grads_inside[SPYI_GRAD_OUT] || spyi_writes_inside(b) || spyi_views_gradients(a);
    for (uint32_t i = 0; i < b->leaf_count && !inside; i++)
        inside = b->leaves[i].role == SPYI_ROLE_ADDED && !(b->leaves[i].traits & SPYI_TRAIT_TENSOR) &&
                 a->values->items[b->leaves[i].value].kind != SPY_ARG_KIND_ARRAY;
    return !inside || spyi_no(a, SPY_ERROR_UNSUPPORTED,
                              "its option store_gradients: a gradient is no tensor or array that is given by element: "
                              "it is added to");
}

SPYI_FN bool spyi_check_gradients(spyi_attempt *a, const spyi_signature *signature) {
    const spyi_bound *b = &a->bound;
    bool backward = b->mode == SPY_CALL_MODE_BACKWARD;
    spyi_role from_outputs = backward ? SPYI_ROLE_READ : SPYI_ROLE_WRITTEN,
              of_inputs = backward ? SPYI_ROLE_ADDED : SPYI_ROLE_READ;
    spyi_text why = { NULL, 0, 0 };
    if (!spyi_unit_has_derivative(a->unit, signature, backward, &why))
        return spyi_no_derivative(a, signature, &why);
    spyi_text_free(&why);
    if (!spyi_check_stored(a)) return false;
    if (spyi_views_gradients(a)) return true;
    if (backward && b->has_result && !spyi_has_role(b, from_outputs, "_result"))
        return spyi_no(
            a, SPY_ERROR_INVALID_ARGUMENT,
            "'_result' has no gradient that the call could read: make its tensor with_grad, or give "
            "spy_arg_diff_pair");
    if (!b->grads_inside[backward ? SPYI_GRAD_IN : SPYI_GRAD_OUT] && !spyi_has_role(b, from_outputs, NULL))
        return spyi_no(
            a, SPY_ERROR_INVALID_ARGUMENT,
            "none of its outputs has a gradient%s: make their tensors with_grad and give '_result'",
            backward ? " that the call could read" : " to write to");
    if (!b->grads_inside[backward ? SPYI_GRAD_OUT : SPYI_GRAD_IN] && !spyi_has_role(b, of_inputs, NULL) &&
        !spyi_writes_inside(b))
        return spyi_no(a, SPY_ERROR_INVALID_ARGUMENT,
                       "none of its inputs has a gradient%s: make their tensors with_grad",
                       backward ? " to add to" : "");
    return true;
}

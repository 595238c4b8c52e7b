// Binds one value to one leaf by the functions of the value's kind.
#include "bind/internal.h"
#include "data/bounds.h"

// Sets the reason why the kind does not take the value, and returns false.
static bool spyi_kind_refuses(spyi_attempt *a, const spyi_leaf *leaf, const spyi_value *v,
                              spyi_fitting *fitting) {
    const char *takes = leaf->kind->run->traits & SPYI_TRAIT_VALUE
                            ? spyi_text_str(&fitting->hint)
                            : spyi_kind_takes(leaf->type, spyi_types_rules(a->types));
    if (fitting->why.size)
        spyi_no(a, SPY_ERROR_TYPE_MISMATCH, "'%s': %s", leaf->path, spyi_text_str(&fitting->why));
    else spyi_mismatch(a, leaf->path, leaf->type, v, takes ? takes : "");
    return false;
}

// Completes a leaf that is a texel, or that is not a value of the parameter's own type: the kernel needs
// slangpy's Slang modules for it.
static bool spyi_bind_library(spyi_attempt *a, spyi_leaf *leaf, const spyi_value *v) {
    if (leaf->writes && v->direction == SPY_DIRECTION_IN) return spyi_no_writing(a, leaf->path);
    leaf->site = spyi_bounds_site(a->function->object.device, a->function->name, leaf->path);
    a->bound.uses_library = true;
    a->bound.names_library = a->bound.names_library || leaf->kind_type;
    return true;
}

SPYI_FN bool spyi_bind_leaf(spyi_attempt *a, spyi_leaf *leaf, const spyi_value *v,
                            const spyi_value_kind *kind) {
    spyi_fitting fitting;
    spyi_fit fit;
    if (!kind) return spyi_mismatch(a, leaf->path, leaf->type, v, "");
    bool is_value = kind->run->traits & SPYI_TRAIT_VALUE;
    if (leaf->out && !is_value)
        return spyi_mismatch(a, leaf->path, leaf->type, v, "; it cannot be an output");
    memset(&fitting, 0, sizeof fitting);
    fitting.types = a->types;
    fitting.finder = &a->finder;
    fitting.result = a->result;
    fitting.in_buffer = a->whole;
    spyi_leaf_set_kind(leaf, kind);
    bool good = kind->build->bind(&fitting, v, leaf) || spyi_kind_refuses(a, leaf, v, &fitting);
    spyi_text_free(&fitting.hint);
    spyi_text_free(&fitting.why);
    // A texture or sampler that is passed whole needs none of slangpy's modules, but a texture that the call
    // runs over does.
    bool library = is_value == spyi_leaf_is_resource(leaf);
    if (!good || (library && !spyi_bind_library(a, leaf, v))) return false;
    // By the pointers in a value the function reaches memory that is no argument.
    if (leaf->in && !spyi_type_is_pointer(leaf->type) && !spyi_type_is_handle(leaf->type) &&
        (spyi_type_holds_pointer(leaf->type) || (leaf->element && spyi_type_holds_pointer(leaf->element))))
        leaf->untracked = true;
    memset(&fit, 0, sizeof fit);
    fit.consumed = leaf->consumed;
    memcpy(fit.dims, leaf->consumed_dims, sizeof fit.dims);
    if ((kind->run->traits & SPYI_TRAIT_SIZED) && !spyi_set_batch(a, leaf, v, &fit)) return false;
    a->cost += fitting.cost;
    return true;
}

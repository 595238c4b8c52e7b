// Chooses an overload: tries all of them and takes the best one that fits. An overload is better if all
// trailing sizes are right, then by a smaller sum of conversion costs, by fewer defaulted parameters, and if
// it is not generic. Several best overloads are an error that lists them. Whether an overload with open
// parameters (generics, interfaces) fits is asked of Slang, with each type that the arguments can have; types
// that consume the fewest trailing dimensions come first.
#include "bind/internal.h"

// >>open parameters

static void spyi_bound_reset(spyi_attempt *a) {
    bool strict = a->bound.strict, call_info = a->bound.call_info;
    bool dispatch = a->bound.dispatch, guarded = a->bound.guarded, shader = a->bound.shader;
    spy_call_mode mode = a->bound.mode;
    spyi_bound_free(&a->bound);
    a->bound.mode = mode;
    a->bound.dispatch = dispatch;
    a->bound.guarded = guarded;
    a->bound.shader = shader;
    a->bound.strict = strict;
    a->bound.call_info = a->bound.names_library = call_info;
    a->cost = 0;
    a->misfit = false;
    a->node_capacity = a->leaf_capacity = 0;
}

enum { SPYI_VIEW_FORMS = 8 };

// Returns whether a parameter is open: only Slang knows which types it takes.
static bool spyi_is_open(const spyi_type *type) {
    return type->kind == SPYI_TYPE_OTHER && !type->field_count && !type->element &&
           !spyi_type_is_pair(type) && !spyi_kind_takes(type, NULL);
}

// Returns a tensor type such as RWTensor<T, D> for a tensor that is passed whole to a parameter of any type
// that implements ITensor, IRWTensor, IDiffTensor ... `form` is 3 to 7. Returns NULL if there is no such
// type.
static const spyi_type *spyi_whole_view(spyi_attempt *a, const spyi_value *v, uint32_t form) {
    static const char *const names[SPYI_VIEW_FORMS - 3] = { "Tensor", "RWTensor", "DiffTensor", "WDiffTensor",
                                                            "RWDiffTensor" };
    char name[512];
    if (form > 4 && !spyi_unit_imports(a->unit, "slangpy_diff")) return NULL;
    snprintf(name, sizeof name, "%s<%s, %u>", names[form - 3], v->type->name, v->rank);
    return strlen(name) + 1 < sizeof name ? spyi_unit_find_type(a->unit, name) : NULL;
}

// A view is a Slang type that a value can be seen as. Returns the view of `v` in which its last `consumed`
// dimensions are part of the type; NULL if there is no such view. `form` selects among views that consume the
// same dimensions: 0 vectors and matrices, 1 arrays of vectors, 2 arrays, from 3 on tensors that are passed
// whole.
static const spyi_type *spyi_view_type(spyi_attempt *a, const spyi_value *v, uint32_t consumed,
                                       uint32_t form) {
    if (v->cast) return consumed == 0 && form == 0 ? spyi_unit_find_type(a->unit, v->cast) : NULL;
    if (!v->type) return NULL;
    if (v->texel && (consumed || form)) return consumed == 0 && form == 3 ? v->type : NULL;
    if (consumed == 0 && form < 3) return form == 0 ? (v->texel ? v->texel : v->type) : NULL;
    if (form >= 3) return consumed == 0 && v->tensor && v->rank ? spyi_whole_view(a, v, form) : NULL;
    if (consumed > v->rank || consumed > 2) return NULL;
    int64_t last = v->dims[v->rank - 1], before = consumed == 2 ? v->dims[v->rank - 2] : 0;
    bool scalar = v->type->kind == SPYI_TYPE_SCALAR;
    bool last_short = last >= 2 && last <= 4, before_short = before >= 2 && before <= 4;
    if (last < 1 || (consumed == 2 && before < 1)) return NULL;
    if (form == 0) {
        if (!scalar || !last_short || (consumed == 2 && !before_short)) return NULL;
        return consumed == 1 ? spyi_type_vector(a->types, v->type->scalar, (uint32_t)last)
                             : spyi_type_matrix(a->types, v->type->scalar, (uint32_t)before, (uint32_t)last);
    }
    if (form == 1) {
        if (!scalar || consumed != 2 || !last_short) return NULL;
        return spyi_type_array(a->types, spyi_type_vector(a->types, v->type->scalar, (uint32_t)last), before);
    }
    const spyi_type *row = spyi_type_array(a->types, v->type, last);
    return consumed == 1 ? row : spyi_type_array(a->types, row, before);
}

// Returns whether the type is a DifferentialPair<T> whose T is generic.
static bool spyi_is_open_pair(spyi_attempt *a, const spyi_type *type) {
    return spyi_type_is_pair(type) && !spyi_pair_with_fields(a, type)->field_count;
}

// Returns the index of the value that determines the type of an open parameter: in a pair of value and
// gradient, the value.
static uint32_t spyi_telling_value(const spyi_values *values, uint32_t index, const spyi_type *type) {
    const spyi_value *v = &values->items[index];
    if (v->kind == SPY_ARG_KIND_PAIR) return index + 1;
    if (v->kind != SPY_ARG_KIND_STRUCT || !spyi_type_is_pair(type)) return index;
    uint32_t child = index + 1, position = 0;
    for (uint32_t i = 0; i < v->child_count; i++, child = spyi_value_end(values->items, child)) {
        const char *name = values->items[child].name;
        uint32_t part = name && name[0] ? spyi_part_of_pair(name) : position++;
        if (part == 0) return child;
    }
    return index;
}

// Returns the view of a value for an open parameter of `type`; if the parameter is a DifferentialPair, the
// pair of that view.
static const spyi_type *spyi_open_view(spyi_attempt *a, const spyi_type *type, const spyi_value *v,
                                       uint32_t consumed, uint32_t form) {
    const spyi_type *view = spyi_view_type(a, v, consumed, form);
    if (!view || !spyi_type_is_pair(type)) return view;
    if (form >= 3) return NULL; // tensor types have no differential type
    spyi_text name = { NULL, 0, 0 };
    spyi_text_add(&name, "DifferentialPair<%s>", view->name);
    const spyi_type *pair = spyi_unit_find_type(a->unit, spyi_text_str(&name));
    spyi_text_free(&name);
    return pair && !spyi_is_open_pair(a, pair) ? pair : NULL;
}

// Returns whether Slang took a number for a vector of length 1, as it does when the parameter's length is
// generic.
static bool spyi_is_single(const spyi_leaf *leaf) {
    return leaf->splat && leaf->type->rows == 1 && leaf->type->columns == 1;
}

// Asks Slang with one choice of views. Returns true when Slang accepts it, and the arguments then consume
// just the dimensions of these views.
static bool spyi_try_views(spyi_attempt *a, int overload, const spyi_signature *open, const int32_t *of_param,
                           int32_t result, const spyi_type *const *views, const uint32_t *consumed,
                           const bool *fixed, uint32_t given) {
    spyi_signature signature;
    memset(&signature, 0, sizeof signature);
    int chosen = 0;
    if (!spyi_unit_resolve(a->unit, a->function->name, overload, views, given, &signature, &chosen))
        return false;
    const spyi_type **types = (const spyi_type **)spyi_calloc(signature.param_count + 1, sizeof *types);
    bool good = types && signature.param_count == open->param_count;
    for (uint32_t p = 0; good && p < given; p++)
        types[p] = signature.params[p].type->kind == SPYI_TYPE_OTHER ? views[p] : signature.params[p].type;
    spyi_bound_reset(a);
    good = good && spyi_bind_params(a, &signature, types, of_param, result);
    for (uint32_t p = 0; good && p < given; p++)
        if (signature.params[p].type->kind == SPYI_TYPE_OTHER && !spyi_type_is_pair(signature.params[p].type))
            a->cost += 8; // an overload with a concrete type is better
    for (uint32_t i = 0; good && i < a->bound.leaf_count; i++)
        for (uint32_t p = 0; p < given; p++) {
            uint32_t value = spyi_telling_value(a->values, (uint32_t)of_param[p], open->params[p].type);
            if (a->bound.leaves[i].value == value && (a->bound.leaves[i].traits & SPYI_TRAIT_VALUE) &&
                !fixed[p] && a->values->items[value].type && !a->values->items[value].cast)
                good = good && a->bound.leaves[i].consumed == consumed[p] &&
                       !spyi_is_single(&a->bound.leaves[i]);
        }
    free(types);
    if (good) a->bound.signature = signature;
    else spyi_signature_free(&signature);
    return good;
}

// Sets the reason that no view fits: it names the open parameters and their arguments.
static void spyi_no_open(spyi_attempt *a, const spyi_signature *open, const int32_t *of_param) {
    spyi_text text = { NULL, 0, 0 };
    bool pairs = false;
    for (uint32_t p = 0; p < open->param_count; p++) {
        pairs = pairs || (of_param[p] >= 0 && spyi_is_open_pair(a, open->params[p].type));
        if (open->params[p].type->kind != SPYI_TYPE_OTHER || of_param[p] < 0) continue;
        spyi_text_add(&text, "%s'%s': expected %s, got ", text.size ? "; " : "", open->params[p].name,
                      open->params[p].type->display);
        const spyi_value *value = &a->values->items[of_param[p]];
        spyi_value_text(value, &text);
        if (value->cast) spyi_text_add(&text, " as '%s' (spy_vcast)", value->cast);
        spyi_add_other_struct(a, value, &text);
    }
    spyi_no(a, SPY_ERROR_TYPE_MISMATCH, "%s; no type that the arguments can have fits%s%s%s",
            spyi_text_str(&text),
            pairs ? "; if one should, find the function by its generic arguments: '" : "",
            pairs ? a->function->name : "", pairs ? "<float>', say" : "");
    spyi_text_free(&text);
}

#define SPYI_MOST_QUERIES 600 // most queries of Slang for one overload; real calls need far fewer

// One search over the views of the open parameters of an overload.
typedef struct spyi_search {
    spyi_attempt *attempt;
    int overload;
    const spyi_signature *open;
    const int32_t *of_param;
    int32_t result;
    uint32_t given;
    bool *fixed; // which parameters have a known view
    const spyi_type **views;
    uint32_t *consumed;
    int queries;
} spyi_search;

// Tries all choices of views for the parameters from `p` on that consume `total` dimensions together.
static bool spyi_search_views(spyi_search *q, uint32_t p, uint32_t total) {
    while (p < q->given && q->fixed[p]) p++;
    if (p == q->given) {
        if (total != 0 || q->queries++ >= SPYI_MOST_QUERIES) return false;
        return spyi_try_views(q->attempt, q->overload, q->open, q->of_param, q->result, q->views, q->consumed,
                              q->fixed, q->given);
    }
    const spyi_values *values = q->attempt->values;
    const spyi_type *type = q->open->params[p].type;
    const spyi_value *v = &values->items[spyi_telling_value(values, (uint32_t)q->of_param[p], type)];
    for (uint32_t consumed = 0; consumed <= 2 && consumed <= total; consumed++) {
        for (uint32_t form = 0; form < SPYI_VIEW_FORMS && q->queries < SPYI_MOST_QUERIES; form++) {
            q->views[p] = spyi_open_view(q->attempt, type, v, consumed, form);
            q->consumed[p] = consumed;
            if (q->views[p] && spyi_search_views(q, p + 1, total - consumed)) return true;
        }
    }
    return false;
}

// Returns the type of an argument for a parameter that is not open: the parameter's own type, or the tensor
// type that the argument is passed as.
static const spyi_type *spyi_fixed_view(spyi_attempt *a, const spyi_type *type, const spyi_value *v) {
    spyi_text name = { NULL, 0, 0 };
    const spyi_value_kind *kind = v->tensor  ? spyi_kind_of_parameter(type, v)
                                  : v->texel ? spyi_kind_of(type, v)
                                             : NULL;
    if (kind && kind->build->type_name) kind->build->type_name(a->types, type, v, &name);
    const spyi_type *whole = name.size ? spyi_unit_find_type(a->unit, name.data) : NULL;
    spyi_text_free(&name);
    return whole ? whole : type;
}

// Sets the reason that an argument does not determine the type of an open parameter. Returns false.
static bool spyi_no_view(spyi_attempt *a, const spyi_param *p, const spyi_value *v) {
    spyi_text got = { NULL, 0, 0 };
    spyi_value_text(v, &got);
    bool known = v->cast || v->kind == SPY_ARG_KIND_TENSOR || v->kind == SPY_ARG_KIND_ARRAY || v->texel;
    if (v->cast)
        spyi_no(a, SPY_ERROR_NOT_FOUND, "'%s': spy_vcast names '%s', which is no type", p->name, v->cast);
    else
        spyi_no(a, SPY_ERROR_TYPE_MISMATCH,
                known ? "'%s': expected %s, got %s; this kind of parameter cannot be passed"
                      : "'%s': expected %s, got %s, which does not tell its Slang type: "
                        "say which with spy_vcast",
                p->name, p->type->display, spyi_text_str(&got));
    spyi_text_free(&got);
    return false;
}

static bool spyi_bind_open(spyi_attempt *a, int overload, const spyi_signature *open, const int32_t *of_param,
                           int32_t result) {
    spyi_search q;
    memset(&q, 0, sizeof q);
    q.attempt = a;
    q.overload = overload;
    q.open = open;
    q.of_param = of_param;
    q.result = result;
    while (q.given < open->param_count && of_param[q.given] >= 0) q.given++;
    q.views = (const spyi_type **)spyi_calloc(q.given + 1, sizeof *q.views);
    q.consumed = (uint32_t *)spyi_calloc(q.given + 1, sizeof *q.consumed);
    q.fixed = (bool *)spyi_calloc(q.given + 1, sizeof *q.fixed);
    bool found = false, possible = q.views && q.consumed && q.fixed;
    uint32_t most = 0; // the number of dimensions that all views together can consume
    for (uint32_t p = 0; possible && p < q.given; p++) {
        const spyi_type *type = open->params[p].type;
        const spyi_value *whole = &a->values->items[of_param[p]],
                         *v = &a->values->items[spyi_telling_value(a->values, (uint32_t)of_param[p], type)];
        bool pair = spyi_is_open_pair(a, type);
        if (!spyi_is_open(type) && !pair) {
            q.views[p] = spyi_fixed_view(a, type, whole);
            q.fixed[p] = true;
        } else if (pair && a->bound.mode) {
            possible = spyi_no_derived_pair(a, open->params[p].name, type);
        } else if (pair && whole == v && !v->grads[0] && !v->grads[1]) {
            possible = spyi_mismatch(a, open->params[p].name, type, v, SPYI_PAIR_TAKES);
        } else if (!spyi_view_type(a, v, 0, 0)) {
            possible = spyi_no_view(a, &open->params[p], v);
        } else {
            most += v->rank < 2 ? v->rank : 2;
        }
    }
    // Choices that consume 0 dimensions in all come first, then 1, and so on, so that element types win over
    // vectors and arrays.
    for (uint32_t total = 0; possible && !found && total <= most; total++) {
        found = spyi_search_views(&q, 0, total);
        if (found && total) a->sized = true;
    }
    if (!found && possible) spyi_no_open(a, open, of_param);
    free(q.views);
    free(q.consumed);
    free(q.fixed);
    return found;
}

// >>overloads

static bool spyi_bind_overload(spyi_attempt *a, uint32_t overload) {
    const spyi_signature *signature = &a->function->overloads.items[overload];
    uint32_t n = signature->param_count;
    int32_t *of_param = (int32_t *)spyi_malloc((n + 1) * sizeof *of_param);
    const spyi_type **types = (const spyi_type **)spyi_malloc((n + 1) * sizeof *types);
    int32_t result = -1;
    bool open = signature->generic;
    bool good = of_param && types && spyi_match_names(a, signature, of_param, &result);
    for (uint32_t p = 0; good && p < n; p++) {
        types[p] = signature->params[p].type;
        open = open || (of_param[p] >= 0 && spyi_is_open(types[p]));
    }
    // A query of a built-in generic function stays in libslang longer than the session that owns the types of
    // the query, and libslang crashes when it uses them later. So built-in generic overloads are not tried.
    if (good && open && signature->built_in)
        good = spyi_no(a, SPY_ERROR_TYPE_MISMATCH,
                       "Slang's own generic overloads are not looked at beside the module's");
    if (good && open) {
        good = spyi_bind_open(a, (int)overload, signature, of_param, result);
    } else if (good) {
        good = spyi_bind_params(a, signature, types, of_param, result);
        if (good) {
            // The function owns its signature; the plan gets a copy of the members that it needs.
            a->bound.signature.display = spyi_strdup(signature->display);
            a->bound.signature.spelling = spyi_strdup(signature->spelling);
            a->bound.signature.callee = signature->callee;
            a->bound.signature.result = signature->result;
            a->bound.signature.differentiable = signature->differentiable;
        }
    }
    free(of_param);
    free(types);
    return good;
}

static uint32_t spyi_defaulted(const spyi_attempt *a, uint32_t overload) {
    return a->function->overloads.items[overload].param_count - a->bound.param_count;
}

// Adds Slang's own diagnostics on why a call with these arguments fits no overload, if the type of each
// argument is known.
static void spyi_add_compiler_notes(spy_function *function, const spyi_values *values, spyi_text *error) {
    const spyi_type *types[32];
    uint32_t count = 0;
    for (uint32_t i = 0; i < values->count; i = spyi_value_end(values->items, i)) {
        const spyi_value *v = &values->items[i];
        if (v->name && strcmp(v->name, "_result") == 0) continue;
        if (!v->type || count == 32) return;
        types[count++] = v->type;
    }
    spyi_text notes = { NULL, 0, 0 };
    spyi_unit_explain(function->module->unit, function->name, types, count, &notes);
    if (notes.size) spyi_text_add(error, "\nSlang says, for single elements:\n%s", spyi_text_str(&notes));
    spyi_text_free(&notes);
}

// Returns whether Slang would find the kernel's call of overload `one`, with `given` arguments, ambiguous
// because of `other`. Slang ranks neither f(float) above f(float, float = 1) nor f(float) above f(inout
// float).
static bool spyi_same_to_slang(const spyi_signature *one, const spyi_signature *other, uint32_t given) {
    if (one->generic || other->generic || other->param_count < given) return false;
    for (uint32_t p = 0; p < other->param_count; p++)
        if (p < given ? one->params[p].type != other->params[p].type : !other->params[p].has_default)
            return false;
    return true;
}

// Tries all overloads and binds the best. With `spread` the call may run over values of spy_map_value(). *misfit is
// set to true if an argument has other trailing sizes than its parameter in the best overload.
static spy_status spyi_bind_best(spy_function *function, const spyi_values *values, bool spread,
                                 spyi_bound *bound, bool *misfit, spyi_text *error) {
    uint32_t n = function->overloads.count, best = n, ties = 0;
    bool generic_failed = false;
    spyi_attempt attempt, winner;
    spyi_text reasons = { NULL, 0, 0 }, tied = { NULL, 0, 0 }, equals = { NULL, 0, 0 };
    spy_status status = SPY_ERROR_TYPE_MISMATCH;
    uint32_t fitting = 0, built_in = 0;
    bool sized = false;
    if (n == 0) {
        spyi_text_add(error, "module '%s' was reloaded and has no function '%s' any more",
                      function->module->name, function->name);
        return SPY_ERROR_NOT_FOUND;
    }
    uint8_t *sizes = (uint8_t *)spyi_calloc(
        values->count + 1, 1); // the number of trailing dimensions of each value on whose sizes types depend,
                               // over all overloads that fit
    const char *not_given = NULL; // the parameter that the last overload was not given
    spyi_note_missing(NULL, 0);
    memset(&winner, 0, sizeof winner);
    for (uint32_t i = 0; i < n; i++) {
        const spyi_signature *signature = &function->overloads.items[i];
        memset(&attempt, 0, sizeof attempt);
        attempt.function = function;
        attempt.unit = function->module->unit;
        attempt.finder = spyi_unit_finder(attempt.unit);
        attempt.types = function->object.device->types;
        attempt.values = values;
        attempt.spread = spread;
        attempt.bound.strict = function->module->strict_broadcasting;
        attempt.bound.mode = spyi_mode_of(values);
        attempt.bound.dispatch = values->threads != NULL;
        attempt.bound.guarded = values->threads && values->threads->guarded;
        attempt.bound.shader = values->threads && values->threads->shader;
        attempt.bound.stage = values->threads ? values->threads->stage : 0;
        attempt.bound.call_info = spyi_unit_imports(function->module->unit, "slangpy");
        attempt.bound.names_library = attempt.bound.call_info;
        attempt.status = SPY_ERROR_OUT_OF_MEMORY; // the status if the failure has no reason
        bool good = spyi_bind_overload(&attempt, i);
        if (!good) {
            built_in += signature->built_in;
            if (!signature->built_in) {
                not_given = attempt.missing;
                spyi_text_add(&reasons, "\n    %s\n        %s", signature->display,
                              spyi_text_str(&attempt.reason));
            }
            if (n == 1) status = attempt.status;
            generic_failed = generic_failed || signature->generic;
        }
        for (uint32_t l = 0; good && sizes && l < attempt.bound.leaf_count; l++) {
            const spyi_leaf *leaf = &attempt.bound.leaves[l];
            if (leaf->value >= values->count) continue; // a gradient has the sizes of its value
            uint32_t sized_dims = 0; // the number of consumed dimensions of known size; consumed dimensions
                                     // of any size (-1) come before them
            while (sized_dims < leaf->consumed && leaf->consumed_dims[leaf->consumed - 1 - sized_dims] != -1)
                sized_dims++;
            if (sized_dims > sizes[leaf->value]) sizes[leaf->value] = (uint8_t)sized_dims;
        }
        fitting += good;
        sized = sized || (good && attempt.sized);
        bool better = false, equal = false;
        if (good && best < n) {
            uint32_t missing = spyi_defaulted(&attempt, i), best_missing = spyi_defaulted(&winner, best);
            bool generic = signature->generic, best_generic = function->overloads.items[best].generic;
            if (attempt.misfit != winner.misfit) better = winner.misfit;
            else if (attempt.cost != winner.cost) better = attempt.cost < winner.cost;
            else if (missing != best_missing) better = missing < best_missing;
            else if (generic != best_generic) better = !generic;
            else equal = true;
        }
        if (good && (best == n || better)) {
            spyi_bound_free(&winner.bound);
            spyi_text_free(&winner.reason);
            winner = attempt;
            best = i;
            ties = 1;
            spyi_text_clear(&tied);
            spyi_text_add(&tied, "\n    %s", signature->display);
            continue;
        }
        if (equal) {
            ties++;
            spyi_text_add(&tied, "\n    %s", signature->display);
        }
        spyi_bound_free(&attempt.bound);
        spyi_text_free(&attempt.reason);
    }
    for (uint32_t i = 0; best < n && ties == 1 && i < n; i++) {
        const spyi_signature *other = &function->overloads.items[i];
        if (i != best &&
            spyi_same_to_slang(&function->overloads.items[best], other, winner.bound.param_count))
            spyi_text_add(&equals, "\n    %s", other->display);
    }
    if (!sizes) {
        status = SPY_ERROR_OUT_OF_MEMORY;
        spyi_text_add(error, "out of host memory");
    } else if (equals.size) {
        status = SPY_ERROR_AMBIGUOUS;
        spyi_text_add(error, "Slang cannot tell calls of these overloads apart; rename one:\n    %s%s",
                      function->overloads.items[best].display, spyi_text_str(&equals));
    } else if (best < n && ties == 1) {
        for (uint32_t i = 0; i < values->count; i++) sized = sized || (fitting > 1 && sizes[i]);
        const spyi_fused *fused = function->module->fused;
        *bound = winner.bound;
        *misfit = winner.misfit;
        if (fused && fused->total == function)
            bound->combine = fused->reduction == SPY_FUSE_REDUCTION_MIN   ? SPYI_COMBINE_MIN
                             : fused->reduction == SPY_FUSE_REDUCTION_MAX ? SPYI_COMBINE_MAX
                                                                          : SPYI_COMBINE_TOTAL;
        bound->sizes = sized ? sizes : NULL;
        if (sized) sizes = NULL;
        memset(&winner.bound, 0, sizeof winner.bound);
        status = SPY_OK;
    } else if (best < n) {
        status = winner.misfit ? SPY_ERROR_SHAPE_MISMATCH : SPY_ERROR_AMBIGUOUS;
        spyi_text_add(error,
                      winner.misfit
                          ? "the trailing sizes of the arguments are those of none of %u overloads:%s"
                          : "%u overloads fit equally well; choose one with spy_vcast or spy_vmap:%s",
                      ties, spyi_text_str(&tied));
    } else {
        spyi_text_add(error, "the arguments %s:%s", n == 1 ? "do not fit" : "fit no overload",
                      spyi_text_str(&reasons));
        if (not_given && n - built_in == 1) spyi_note_missing(not_given, strlen(not_given) + 1);
        if (built_in)
            spyi_text_add(error, "\n    nor %u overload%s of Slang's own '%s'", built_in,
                          built_in == 1 ? "" : "s", function->name);
        if (generic_failed && function->overloads.items[0].callee == SPYI_CALLEE_FUNCTION)
            spyi_add_compiler_notes(function, values, error);
    }
    free(sizes);
    spyi_bound_free(&winner.bound);
    spyi_text_free(&winner.reason);
    spyi_text_free(&reasons);
    spyi_text_free(&tied);
    spyi_text_free(&equals);
    return status;
}

SPYI_FN spy_status spyi_bind(spy_function *function, const spyi_values *values, spyi_bound *bound,
                             spyi_text *error) {
    bool may_spread = false;
    for (uint32_t i = 0; i < values->count; i++) may_spread = may_spread || values->items[i].one_value;
    spyi_text first = { NULL, 0, 0 };
    bool misfit = false, spread_misfit = false;
    spy_status status = spyi_bind_best(function, values, false, bound, &misfit, may_spread ? &first : error);
    if (status != SPY_OK && may_spread) {
        status = spyi_bind_best(function, values, true, bound, &misfit, error);
    } else if (misfit && may_spread) {
        // An overload that runs over the values is better than one whose sizes they do not have.
        spyi_bound other;
        memset(&other, 0, sizeof other);
        other.mode = bound->mode;
        spyi_text_clear(&first);
        if (spyi_bind_best(function, values, true, &other, &spread_misfit, &first) == SPY_OK &&
            !spread_misfit) {
            spyi_bound_free(bound);
            *bound = other;
        } else {
            spyi_bound_free(&other);
        }
    }
    spyi_text_free(&first);
    return status;
}

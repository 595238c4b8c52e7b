// Binds the values of a call to the parameters of one overload: which value each parameter gets, and over
// which dimensions of the call each leaf runs. leaf.c and fields.c bind one value; candidates.c chooses the
// overload.
#include "bind/internal.h"
#include "data/scalars.h"
#include "data/type_name.h"

// Returns whether a value gives a pointer as a number for each element: from memory with addresses, or as a
// result.
static bool spyi_is_addresses(const spyi_attempt *a, const spyi_value *v, const spyi_type *pointer) {
    if (a->result) return !a->bound.mode;
    if (v->kind == SPY_ARG_KIND_RESULT)
        return !a->bound.mode && !a->bound.dispatch; // a result that is a pointer comes back as a number
    spyi_type_parts parts;
    spyi_split_type(pointer->name, &parts);
    bool wide = parts.arguments[0] &&
                (strcmp(parts.arguments[0], "uint64_t") == 0 || strcmp(parts.arguments[0], "void") == 0);
    spyi_free_parts(&parts);
    bool memory = v->kind == SPY_ARG_KIND_TENSOR || v->kind == SPY_ARG_KIND_ARRAY;
    return memory && !wide && !a->bound.dispatch && v->type && v->type->kind == SPYI_TYPE_SCALAR &&
           v->type->scalar == SPY_DTYPE_UINT64;
}

SPYI_FN bool spyi_bind_value(spyi_attempt *a, uint32_t index, const spyi_type *type, const char *name,
                             const char *path, bool in, bool out, int32_t *node_out) {
    const spyi_value *v = &a->values->items[index];
    uint32_t pair = a->pair;
    a->pair = 0;
    if (spyi_is_varying(v)) {
        *node_out = spyi_add_node(a, name, type, false, false);
        return *node_out >= 0 || spyi_no(a, SPY_ERROR_OUT_OF_MEMORY, "out of host memory");
    }
    if (spyi_type_is_pair(type)) {
        type = spyi_pair_with_fields(a, type);
        if (a->bound.mode) return spyi_no_derived_pair(a, path, type);
        if (a->whole || a->bound.shader)
            return spyi_no(
                a, SPY_ERROR_UNSUPPORTED,
                "'%s': %s has no layout that reflection tells, so a shader's own parameter cannot hold it: "
                "take the value and its gradient as two",
                path, type->display);
        if (v->kind != SPY_ARG_KIND_STRUCT || !type->field_count)
            return spyi_bind_pair(a, index, type, name, path, in, out, node_out);
    }
    if (v->kind == SPY_ARG_KIND_PAIR) {
        a->pair = spyi_value_end(a->values->items, index + 1);
        if (a->values->items[index + 1].child_count)
            return spyi_no(
                a, SPY_ERROR_INVALID_ARGUMENT,
                "'%s': fields are given inside a pair of value and gradient: give each field its own pair",
                path);
        return spyi_bind_value(a, index + 1, type, name, path, in, out, node_out);
    }
    if (type->kind == SPYI_TYPE_OTHER && (type->element || spyi_type_is_bound_array(type))) {
        if (spyi_type_is_unsized(type) && !spyi_types_rules(a->types)->unsized_arrays)
            return spyi_no(a, SPY_ERROR_UNSUPPORTED, "'%s': %s cannot be given%s", path, type->display,
                           SPYI_UNSIZED_REFUSED);
        if (!a->whole && !out) return spyi_bind_holder(a, index, type, name, path, node_out);
        if (type->element) type = type->element;
    }
    if (type->from_tensor && v->kind == SPY_ARG_KIND_TENSOR && v->tensor && !v->cast) {
        a->pair = pair;
        return spyi_bind_built(a, index, type, name, path, in, out, node_out);
    }
    const spyi_type *declared = type;
    if (spyi_type_is_pointer(type) && !a->whole && spyi_is_addresses(a, v, type))
        type = spyi_type_scalar(a->types, SPY_DTYPE_UINT64); // the element function makes the pointer of the
                                                             // number
    const spyi_value_kind *kind = spyi_kind_of(type, v);
    bool special = kind && !(kind->run->traits & SPYI_TRAIT_VALUE); // the value is not of the parameter's
                                                                    // type
    // A host array without elements, such as Python's [], can be given for an unsized array without elements.
    bool none =
        spyi_type_is_unsized(type) && v->kind == SPY_ARG_KIND_ARRAY && v->rank == 1 && v->dims[0] == 0;
    bool by_fields = none || (v->kind == SPY_ARG_KIND_STRUCT && type->field_count > 0);
    if ((type->kind == SPYI_TYPE_OTHER && !special && !by_fields) || type->kind == SPYI_TYPE_VOID) {
        const char *takes = spyi_kind_takes(type, spyi_types_rules(a->types));
        return spyi_mismatch(a, path, type, v,
                             type->kind == SPYI_TYPE_VOID ? ""
                             : takes                      ? takes
                             : type->field_count && spyi_type_holds_pair(type)
                                 ? "; it holds a DifferentialPair, whose layout in memory is not known: "
                                   "give its fields one by one"
                                 : "; this kind of parameter cannot be passed");
    }
    if (a->bound.mode && v->texel && pair)
        return spyi_no(a, SPY_ERROR_UNSUPPORTED,
                       "'%s': a texture is not paired with a gradient: make it with desc.with_grad", path);
    if (a->bound.mode && v->texel && out && !v->grads[0])
        return spyi_no(a, SPY_ERROR_UNSUPPORTED,
                       "'%s': the texture has no gradient: make it with desc.with_grad, or give a tensor",
                       path);
    bool unused = a->bound.mode == SPY_CALL_MODE_BACKWARD && out && !in; // the call needs only the output's
                                                                         // gradient
    if (!unused && !spyi_check_direction(a, path, v, in, out && a->bound.mode != SPY_CALL_MODE_BACKWARD))
        return false;
    if (v->map_count && v->kind != SPY_ARG_KIND_TENSOR && v->kind != SPY_ARG_KIND_ARRAY && !v->rank)
        return spyi_no(a, SPY_ERROR_INVALID_ARGUMENT,
                       "'%s': only tensors and host arrays have dimensions to map", path);
    if (v->cast && v->kind != SPY_ARG_KIND_NEW) {
        const spyi_type *cast = spyi_unit_find_type(a->unit, v->cast);
        if (!cast)
            return spyi_no(a, SPY_ERROR_NOT_FOUND, "'%s': spy_vcast names '%s', which is no type", path,
                           v->cast);
        if (cast != type)
            return spyi_no(a, SPY_ERROR_TYPE_MISMATCH, "'%s': expected %s, got a cast to %s", path,
                           type->display, cast->display);
    }
    if (v->direction == SPY_DIRECTION_DROP) {
        in = true;
        out = false;
    }
    int32_t node = spyi_add_node(a, name, declared, in, out);
    if (node < 0) return spyi_no(a, SPY_ERROR_OUT_OF_MEMORY, "out of host memory");
    *node_out = node;
    if (v->kind == SPY_ARG_KIND_STRUCT || none) return spyi_bind_fields(a, index, type, path, in, out, node);
    spyi_leaf *leaf = spyi_add_leaf(a, index, path, type, in, out);
    if (!leaf) return spyi_no(a, SPY_ERROR_OUT_OF_MEMORY, "out of host memory");
    a->bound.nodes[node].leaf = (int32_t)a->bound.leaf_count - 1;
    if (special && (v->tensor || v->custom) && in &&
        strchr(path, '.')) // a tensor in an inout struct, which the call cannot replace by another tensor
        leaf->out = a->bound.nodes[node].out = false;
    leaf->param_in = in;
    leaf->param_out = out;
    if (a->bound.mode && !special) {
        uint32_t place = a->bound.leaf_count - 1;
        if (a->bound.mode == SPY_CALL_MODE_BACKWARD) leaf->out = false;
        return (unused ? spyi_bind_unused(a, leaf, v, pair) : spyi_bind_leaf(a, leaf, v, kind)) &&
               spyi_bind_gradients(a, place, index, pair);
    }
    uint32_t number = a->bound.leaf_count - 1;
    if (!spyi_bind_leaf(a, leaf, v, kind)) return false;
    if (in && declared != type) a->bound.leaves[number].untracked = true; // addresses are numbers
    if (special && !spyi_bind_whole_gradients(a, number, index, pair)) return false;
    leaf = &a->bound.leaves[number];
    if (special && leaf->kind_type &&
        strcmp(leaf->kind_type, type->name) != 0) { // the tensor implements the parameter's interface type
        a->bound.nodes[node].type = spyi_type_other(a->types, leaf->kind_type);
        a->cost += 8;
    }
    return true;
}

// Returns the type of one value in memory, including consumed dimensions: for a float3 parameter, float3 from
// a float tensor (N, 3), int3 from an int tensor (N, 3).
static const spyi_type *spyi_packed_type(spyi_types *types, const spyi_leaf *leaf) {
    if (leaf->traits & SPYI_TRAIT_ONE_PLACE) return leaf->type;
    if (leaf->consumed == 0) return leaf->element;
    const spyi_type *inner = leaf->element;
    while (inner->kind == SPYI_TYPE_ARRAY) inner = inner->element;
    return inner->kind == SPYI_TYPE_STRUCT ? leaf->type
                                           : spyi_type_with_scalar(types, leaf->type, inner->scalar);
}

// Checks that the call runs over some part of each struct or pair that was given with a mapping.
static bool spyi_check_passed_maps(spyi_attempt *a) {
    const spyi_bound *b = &a->bound;
    for (uint32_t i = 0; i < a->values->count; i++) {
        const spyi_value *items = a->values->items;
        uint32_t end = items[i].passed_count ? spyi_value_end(items, i) : i;
        const char *path = NULL; // the path of the first leaf of the struct or pair
        bool taken = end == i;
        for (uint32_t l = 0; l < b->leaf_count && !taken; l++) {
            const spyi_leaf *leaf = &b->leaves[l];
            if (leaf->value <= i || leaf->value >= end) continue;
            if (!path) path = leaf->path;
            taken = leaf->batch_rank && items[leaf->value].inherited;
        }
        if (!taken && path)
            return spyi_no(
                a, SPY_ERROR_INVALID_ARGUMENT,
                "'%s': the mapping around it names %u dimensions, but no part of the argument is run over",
                path, items[i].passed_count);
    }
    return true;
}

// Finds the call's rank, and gives leaves without a mapping their kernel dimensions, aligned at the last one.
// New tensors get all dimensions.
static bool spyi_finish_maps(spyi_attempt *a) {
    spyi_bound *b = &a->bound;
    for (uint32_t i = 0; b->dispatch && i < b->leaf_count; i++) {
        const spyi_leaf *leaf = &b->leaves[i];
        if (leaf->batch_rank)
            return spyi_no(a, SPY_ERROR_SHAPE_MISMATCH,
                           "'%s': a dispatch passes arguments whole, but %u dimensions are left over",
                           leaf->path, leaf->batch_rank);
        if (leaf->out)
            return spyi_no(a, SPY_ERROR_TYPE_MISMATCH,
                           "'%s': the threads of a dispatch cannot share an output; take an RWTensor or "
                           "RWStructuredBuffer",
                           leaf->path);
    }
    if (!spyi_check_passed_maps(a)) return false;
    const spy_call_options *options = a->values->options;
    b->rank = a->values->thread_count.rank;
    for (uint32_t i = 0; i < b->leaf_count; i++) {
        spyi_leaf *leaf = &b->leaves[i];
        const spyi_value *v = &a->values->items[leaf->value];
        if (leaf->batch_rank > b->rank) b->rank = leaf->batch_rank;
        for (uint32_t d = 0; v->map_count && d < leaf->batch_rank; d++)
            if (leaf->map[d] + 1u > b->rank) b->rank = leaf->map[d] + 1u;
    }
    if (options && options->call_group_shape.rank > b->rank)
        return spyi_no(a, SPY_ERROR_SHAPE_MISMATCH,
                       "its options: call_group_shape has %u dimensions, the call has %u",
                       options->call_group_shape.rank, b->rank);
    for (uint32_t i = 0; i < b->leaf_count; i++) {
        spyi_leaf *leaf = &b->leaves[i];
        const spyi_value *v = &a->values->items[leaf->value];
        if (leaf->kind->build->settle) leaf->kind->build->settle(v, b->rank, leaf);
        leaf->packed = spyi_packed_type(a->types, leaf);
        if (!v->map_count)
            for (uint32_t d = 0; d < leaf->batch_rank; d++)
                leaf->map[d] = (uint8_t)(b->rank - leaf->batch_rank + d);
        if (b->strict && !v->map_count && leaf->batch_rank != 0 && leaf->batch_rank != b->rank)
            return spyi_no(a, SPY_ERROR_SHAPE_MISMATCH,
                           "'%s': Strict broadcasting is enabled: it needs %u leading dimensions as the "
                           "other arguments have, got %u; spy_vmap says which of them it is run over",
                           leaf->path, b->rank, leaf->batch_rank);
    }
    return true;
}

// >>arguments to parameters

// Returns the number of arguments that are for parameters, which are all but `_result`.
static uint32_t spyi_count_arguments(const spyi_values *values) {
    uint32_t count = 0;
    for (uint32_t i = 0; i < values->count; i = spyi_value_end(values->items, i))
        if (!values->items[i].name || strcmp(values->items[i].name, "_result") != 0) count++;
    return count;
}

// Sets the reason that an argument's name is unknown, with the most similar parameter name or `_result`.
// Returns false.
static bool spyi_no_parameter(spyi_attempt *a, const spyi_signature *signature, const char *name) {
    spyi_text nearest = { NULL, 0, 0 };
    spyi_near near_names;
    memset(&near_names, 0, sizeof near_names);
    near_names.wanted = name;
    for (uint32_t p = 0; p < signature->param_count; p++)
        spyi_near_offer(&near_names, signature->params[p].name);
    if (signature->result->kind != SPYI_TYPE_VOID) spyi_near_offer(&near_names, "_result");
    spyi_near_text(&near_names, &nearest);
    spyi_no(a, SPY_ERROR_NOT_FOUND, "No parameter named '%s'%s", name, spyi_text_str(&nearest));
    spyi_text_free(&nearest);
    return false;
}

static bool spyi_is_system(const spyi_value *value) {
    return value->custom && (value->custom->run->traits & SPYI_TRAIT_SYSTEM);
}

SPYI_FN bool spyi_match_names(spyi_attempt *a, const spyi_signature *signature, int32_t *of_param,
                              int32_t *result) {
    const spyi_values *values = a->values;
    uint32_t n = signature->param_count, position = 0;
    *result = -1;
    for (uint32_t p = 0; p < n; p++) of_param[p] = -1;
    for (uint32_t i = 0; i < values->count; i = spyi_value_end(values->items, i)) {
        const char *name = values->items[i].name;
        if (name && strcmp(name, "_result") == 0) {
            if (*result >= 0)
                return spyi_no(a, SPY_ERROR_INVALID_ARGUMENT, "'_result' specified multiple times");
            *result = (int32_t)i;
            continue;
        }
        // Arguments that the GPU gives (SV_...) come first in the list; arguments by position skip their
        // parameters.
        while (position < n && of_param[position] >= 0 && spyi_is_system(&values->items[of_param[position]]))
            position++;
        uint32_t p = position;
        if (name && name[0]) {
            for (p = 0; p < n && strcmp(signature->params[p].name, name) != 0; p++) {}
            if (p == n) return spyi_no_parameter(a, signature, name);
        } else {
            if (position++ >= n)
                return spyi_no(a, SPY_ERROR_INVALID_ARGUMENT, "Too many arguments: expected %u, got %u", n,
                               spyi_count_arguments(values));
        }
        if (of_param[p] >= 0)
            return spyi_no(a, SPY_ERROR_INVALID_ARGUMENT, "Parameter '%s' specified multiple times",
                           signature->params[p].name);
        of_param[p] = (int32_t)i;
    }
    uint32_t given = 0;
    for (uint32_t p = 0; p < n; p++) {
        if (of_param[p] < 0 && !signature->params[p].has_default) {
            a->missing = signature->params[p].name;
            return spyi_no(a, SPY_ERROR_INVALID_ARGUMENT, "Parameter '%s' not specified", a->missing);
        }
        if (of_param[p] >= 0) {
            if (given != p)
                return spyi_no(a, SPY_ERROR_INVALID_ARGUMENT,
                               "parameter '%s' is given, so '%s' before it is needed as well",
                               signature->params[p].name, signature->params[given].name);
            given++;
        }
    }
    return true;
}

SPYI_FN bool spyi_bind_params(spyi_attempt *a, const spyi_signature *signature, const spyi_type *const *types,
                              const int32_t *of_param, int32_t result) {
    spyi_bound *b = &a->bound;
    // The node list begins with the parameters, then the result, then all fields; so the first nodes are
    // reserved.
    uint32_t given = 0;
    while (given < signature->param_count && of_param[given] >= 0) given++;
    const spyi_value *taker = result >= 0 ? &a->values->items[result] : NULL;
    if (taker && taker->kind == SPY_ARG_KIND_PAIR) taker++; // the entry behind a pair is the pair's value
    if (taker && signature->result->kind == SPYI_TYPE_VOID && taker->kind == SPY_ARG_KIND_RESULT)
        result = -1; // a spy_result allows that there is no result
    uint32_t tops = given + (result >= 0 ? 1u : 0u);
    for (uint32_t i = 0; i < tops; i++)
        if (spyi_add_node(a, "", NULL, false, false) < 0)
            return spyi_no(a, SPY_ERROR_OUT_OF_MEMORY, "out of host memory");
    b->param_count = given;
    b->has_result = result >= 0;
    for (uint32_t i = 0; i < tops; i++) {
        bool is_result = i == given;
        const spyi_param *p = is_result ? NULL : &signature->params[i];
        const char *name = is_result ? "_result" : p->name;
        const spyi_type *type = is_result ? signature->result : types[i];
        int32_t node = -1;
        if (is_result && type->kind == SPYI_TYPE_VOID)
            return spyi_no(a, SPY_ERROR_TYPE_MISMATCH, "'_result': the function returns nothing");
        a->constant = p && p->no_diff;
        a->result = is_result;
        if (!spyi_bind_value(a, (uint32_t)(is_result ? result : of_param[i]), type, name, name,
                             !is_result && p->in, is_result || p->out, &node))
            return false;
        free(b->nodes[i].name);
        b->nodes[i] = b->nodes[node];
        b->nodes[i].name = spyi_strdup(name);
        if (!b->nodes[i].name) return spyi_no(a, SPY_ERROR_OUT_OF_MEMORY, "out of host memory");
    }
    if (b->mode && !spyi_bind_textures(a)) return false;
    if (b->mode && !spyi_check_gradients(a, signature)) return false;
    return spyi_finish_maps(a);
}

// >>the result

SPYI_FN void spyi_bound_free(spyi_bound *bound) {
    for (uint32_t i = 0; i < bound->leaf_count; i++) free(bound->leaves[i].path);
    for (uint32_t i = 0; i < bound->node_count; i++) free(bound->nodes[i].name);
    free(bound->leaves);
    free(bound->nodes);
    free(bound->sizes);
    spyi_options_free(&bound->options);
    spyi_signature_free(&bound->signature);
    memset(bound, 0, sizeof *bound);
}

SPYI_FN void spyi_bound_text(const spyi_bound *bound, const spyi_values *values, spyi_text *out) {
    for (uint32_t i = 0; i < bound->leaf_count; i++) {
        const spyi_leaf *leaf = &bound->leaves[i];
        spyi_text value = { NULL, 0, 0 }, map = { NULL, 0, 0 };
        spyi_value_text(&values->items[leaf->value], &value);
        for (uint32_t d = 0; d < leaf->batch_rank; d++) spyi_text_add(&map, d ? ", %u" : "%u", leaf->map[d]);
        spyi_text_add(out, "  %-20s %-6s %-12s <- %-32s dimensions (%s)%s\n", leaf->path,
                      leaf->in && leaf->out ? "inout"
                      : leaf->out           ? "out"
                                            : "in",
                      leaf->type->display, spyi_text_str(&value), spyi_text_str(&map),
                      leaf->consumed ? ", trailing ones feed the type" : "");
        spyi_text_free(&value);
        spyi_text_free(&map);
    }
}

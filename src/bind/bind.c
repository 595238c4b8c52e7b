// Binding a call: every overload is tried, each argument matched to its parameter, and the cheapest overload wins.
//
// Order: smaller sum of conversion costs; fewer defaulted parameters; concrete before generic. Overloads that still tie
// are an error that lists them. Parameters that are open (generics, interfaces) are asked of Slang itself, with the types
// that the arguments could have, the ones that take the fewest trailing dimensions first.
#include "bind/bind.h"

// One attempt to bind one overload. Grows `bound`; on failure `reason` says why.
typedef struct spyi_attempt {
    spy_function *function;
    spyi_unit *unit;
    spyi_types *types;
    const spyi_values *values;
    spyi_bound bound;
    uint32_t cost;
    bool sized;  // types were chosen by trailing sizes
    bool whole;  // one value of a shader parameter, not by element
    bool misfit; // some trailing size is not what the parameter takes: another overload may fit
    uint32_t node_capacity, leaf_capacity;
    spyi_text reason;
    spy_status status; // of the failure
} spyi_attempt;

static bool spyi_no(spyi_attempt *a, spy_status status, const char *format, ...) SPYI_PRINTF(3, 4);
static bool spyi_no(spyi_attempt *a, spy_status status, const char *format, ...) {
    char line[1024];
    va_list list;
    va_start(list, format);
    vsnprintf(line, sizeof line, format, list);
    va_end(list);
    spyi_text_clear(&a->reason);
    spyi_text_add(&a->reason, "%s", line);
    a->status = status;
    return false;
}

static int32_t spyi_add_node(spyi_attempt *a, const char *name, const spyi_type *type, bool in, bool out) {
    spyi_bound *b = &a->bound;
    if (b->node_count == a->node_capacity) {
        uint32_t capacity = a->node_capacity ? a->node_capacity * 2 : 16;
        spyi_node *nodes = (spyi_node *)realloc(b->nodes, capacity * sizeof *nodes);
        if (!nodes) return -1;
        b->nodes = nodes;
        a->node_capacity = capacity;
    }
    spyi_node *node = &b->nodes[b->node_count];
    memset(node, 0, sizeof *node);
    node->name = spyi_strdup(name);
    node->type = type;
    node->leaf = -1;
    node->in = in;
    node->out = out;
    return (int32_t)b->node_count++;
}

static spyi_leaf *spyi_add_leaf(spyi_attempt *a, uint32_t value, const char *path, const spyi_type *type,
                                bool in, bool out) {
    spyi_bound *b = &a->bound;
    if (b->leaf_count == a->leaf_capacity) {
        uint32_t capacity = a->leaf_capacity ? a->leaf_capacity * 2 : 16;
        spyi_leaf *leaves = (spyi_leaf *)realloc(b->leaves, capacity * sizeof *leaves);
        if (!leaves) return NULL;
        b->leaves = leaves;
        a->leaf_capacity = capacity;
    }
    spyi_leaf *leaf = &b->leaves[b->leaf_count++];
    memset(leaf, 0, sizeof *leaf);
    leaf->value = value;
    leaf->path = spyi_strdup(path);
    leaf->type = type;
    leaf->element = type;
    leaf->in = in;
    leaf->out = out;
    return leaf;
}

// Adds why a struct that goes by a known name does not fit: the module's struct of that name is another one.
static void spyi_add_other_struct(const spyi_attempt *a, const spyi_value *v, spyi_text *out) {
    const spyi_type *held = v->type;
    while (held && held->kind == SPYI_TYPE_ARRAY) held = held->element;
    if (!held || held->kind != SPYI_TYPE_STRUCT) return;
    const spyi_type *now = spyi_unit_find_type(a->unit, held->name);
    const spy_module *module = a->function->module;
    if (now == held) return;
    if (!now && module->generation)
        spyi_text_add(out, "; module '%s' was reloaded and has no struct '%s' any more", module->name,
                      held->display);
    else if (now && module->generation)
        spyi_text_add(
            out,
            "; module '%s' was reloaded and struct '%s' changed: it had %u fields in %zu bytes when the "
            "argument was made, and has %u in %zu now",
            module->name, held->display, held->field_count, held->host_size, now->field_count,
            now->host_size);
    else if (now)
        spyi_text_add(out, "; it is another module's struct '%s', whose fields are not those of module '%s'",
                      held->display, module->name);
}

// What is wrong between an argument and a type, in the order function, argument, expected, got.
static bool spyi_mismatch(spyi_attempt *a, const char *path, const spyi_type *type, const spyi_value *v,
                          const char *hint) {
    spyi_text got = { NULL, 0, 0 };
    spyi_value_text(v, &got);
    spyi_add_other_struct(a, v, &got);
    spyi_no(a, SPY_ERROR_TYPE_MISMATCH, "'%s': expected %s, got %s%s", path, type->display,
            spyi_text_str(&got), hint);
    spyi_text_free(&got);
    return false;
}

static bool spyi_check_direction(spyi_attempt *a, const char *path, const spyi_value *v, bool in, bool out) {
    bool returns = v->direction != SPY_DIRECTION_DEFAULT || v->kind == SPY_ARG_NEW;
    if (v->kind == SPY_ARG_TENSOR || v->kind == SPY_ARG_STRUCT) return true;
    if (returns && !out)
        return spyi_no(a, SPY_ERROR_TYPE_MISMATCH, "'%s' is an in parameter, got an output argument", path);
    if (!returns && out)
        return spyi_no(a, SPY_ERROR_TYPE_MISMATCH,
                       "'%s' is an %s parameter: expected a tensor or spy_%s_..., got an input", path,
                       in ? "inout" : "out", in ? "inout" : "out");
    if (in && out && (v->direction == SPY_DIRECTION_OUT || v->kind == SPY_ARG_NEW))
        return spyi_no(a, SPY_ERROR_TYPE_MISMATCH,
                       "'%s' is an inout parameter: expected a tensor or spy_inout_..., got an output", path);
    return true;
}

// Leading dimensions of a leaf to kernel dimensions: aligned at the last one later (see spyi_finish_maps) or as mapped.
static bool spyi_set_batch(spyi_attempt *a, spyi_leaf *leaf, const spyi_value *v, const spyi_fit *fit) {
    if (v->rank < fit->consumed) {
        spyi_text got = { NULL, 0, 0 };
        spyi_value_text(v, &got);
        spyi_no(a, SPY_ERROR_TYPE_MISMATCH, "'%s': %s takes %u trailing dimensions, got %s", leaf->path,
                leaf->type->display, fit->consumed, spyi_text_str(&got));
        spyi_text_free(&got);
        return false;
    }
    leaf->consumed = fit->consumed;
    memcpy(leaf->consumed_dims, fit->dims, fit->consumed * sizeof *fit->dims);
    leaf->batch_rank = v->rank - fit->consumed;
    for (uint32_t d = 0; d < fit->consumed; d++)
        if (fit->dims[d] != -1 && v->dims[leaf->batch_rank + d] != fit->dims[d]) a->misfit = true;
    if (v->map_count && v->map_count != leaf->batch_rank)
        return spyi_no(a, SPY_ERROR_SHAPE_MISMATCH,
                       "'%s': its mapping names %u dimensions, but %u of its %u are run over (%s takes %u)",
                       leaf->path, v->map_count, leaf->batch_rank, v->rank, leaf->type->display,
                       fit->consumed);
    for (uint32_t i = 0; i < v->map_count; i++) {
        int kernel_dim = v->map[i];
        if (kernel_dim < 0 || kernel_dim >= SPY_MAX_RANK)
            return spyi_no(a, SPY_ERROR_OUT_OF_RANGE,
                           "'%s': its mapping names dimension %d; expected 0 to %d", leaf->path, kernel_dim,
                           SPY_MAX_RANK - 1);
        for (uint32_t j = 0; j < i; j++)
            if (leaf->map[j] == kernel_dim)
                return spyi_no(a, SPY_ERROR_INVALID_ARGUMENT, "'%s': its mapping names dimension %d twice",
                               leaf->path, kernel_dim);
        leaf->map[i] = (uint8_t)kernel_dim;
    }
    return true;
}

static bool spyi_bind_number(spyi_attempt *a, spyi_leaf *leaf, const spyi_value *v, const char *path) {
    const spyi_type *type = leaf->type;
    spyi_fit fit;
    if (leaf->out) {
        if (type->kind != SPYI_TYPE_SCALAR || type->scalar != v->type->scalar) // enums are their integers
            return spyi_mismatch(a, path, type, v, "; an output takes exactly the parameter's type");
        leaf->source = SPYI_SOURCE_READBACK;
        return true;
    }
    leaf->source = SPYI_SOURCE_SCALAR;
    leaf->splat = type->kind == SPYI_TYPE_VECTOR || type->kind == SPYI_TYPE_MATRIX;
    const spyi_type *scalar = leaf->splat ? spyi_type_scalar(a->types, type->scalar) : type;
    if (!spyi_fit_host(v->type, scalar, false, &fit) || fit.consumed)
        return spyi_mismatch(a, path, type, v, "");
    leaf->element = scalar;
    a->cost += fit.cost + (leaf->splat ? 20 : 0);
    return true;
}

// Device layout has no bare bool: its scalars are uint where a kernel loads them on their own.
static bool spyi_bind_array(spyi_attempt *a, spyi_leaf *leaf, const spyi_value *v, const char *path) {
    const spyi_type *type = leaf->type;
    spyi_fit fit;
    bool host = v->kind == SPY_ARG_ARRAY;
    bool fits = host ? spyi_fit_host(v->type, type, leaf->out, &fit)
                     : spyi_fit_memory(v->type, type, leaf->out, &fit);
    if (!fits) {
        bool device_double = !host && v->type->scalar == SPY_FLOAT64 && type->scalar == SPY_FLOAT32;
        return spyi_mismatch(a, path, type, v,
                             device_double ? "; device float64 is not converted: make a float32 tensor"
                             : leaf->out   ? "; outputs are not converted"
                                           : "");
    }
    if (!spyi_set_batch(a, leaf, v, &fit)) return false;
    a->cost += fit.cost;
    if (!host) {
        leaf->source = SPYI_SOURCE_TENSOR;
        leaf->element = v->type;
    } else if (leaf->batch_rank == 0) {
        leaf->source = leaf->out ? SPYI_SOURCE_READBACK : SPYI_SOURCE_INLINE;
    } else { // converted while it is uploaded
        leaf->source = SPYI_SOURCE_UPLOAD;
        const spyi_type *scalar = type;
        while (scalar->kind == SPYI_TYPE_ARRAY) scalar = scalar->element;
        leaf->element = spyi_type_scalar(a->types, scalar->scalar);
    }
    return true;
}

static bool spyi_bind_kind(spyi_attempt *a, spyi_leaf *leaf, const spyi_value *v,
                           const spyi_value_kind *kind) {
    if (leaf->out) return spyi_mismatch(a, leaf->path, leaf->type, v, "; it cannot be an output");
    leaf->source = SPYI_SOURCE_KIND;
    leaf->kind = kind;
    if (!kind->bind(a->types, v, leaf)) return spyi_mismatch(a, leaf->path, leaf->type, v, "");
    a->bound.uses_library = true;
    a->bound.names_library = a->bound.names_library || leaf->kind_type;
    spyi_fit fit;
    memset(&fit, 0, sizeof fit);
    fit.consumed = leaf->consumed;
    memcpy(fit.dims, leaf->consumed_dims, sizeof fit.dims);
    return spyi_set_batch(a, leaf, v, &fit);
}

// Matches value number `index` (and its fields) to a parameter or field of `type`; the new node's number in *node_out.
static bool spyi_bind_value(spyi_attempt *a, uint32_t index, const spyi_type *type, const char *name,
                            const char *path, bool in, bool out, int32_t *node_out);

// ConstantBuffer<T>, or an array of buffers: one leaf, whatever it is given by; each kernel finds the places of its parts.
// Here the value is checked.
static bool spyi_bind_holder(spyi_attempt *a, uint32_t index, const spyi_type *type, const char *name,
                             const char *path, int32_t *node) {
    spyi_bound inner;
    spyi_text problem = { NULL, 0, 0 };
    const spyi_type *held = type->element ? type->element : type;
    spy_status status = spyi_bind_input(a->function, a->values, index, held, path, &inner, &problem);
    if (status != SPY_OK) spyi_no(a, status, "%s", spyi_text_str(&problem));
    else spyi_bound_free(&inner);
    spyi_text_free(&problem);
    if (status != SPY_OK) return false;
    *node = spyi_add_node(a, name, type, true, false);
    spyi_leaf *leaf = *node < 0 ? NULL : spyi_add_leaf(a, index, path, type, true, false);
    if (!leaf) return spyi_no(a, SPY_ERROR_OUT_OF_MEMORY, "out of host memory");
    a->bound.nodes[*node].leaf = (int32_t)a->bound.leaf_count - 1;
    leaf->source = SPYI_SOURCE_KIND;
    leaf->kind = spyi_kind_of_holders();
    leaf->binds = true;
    return true;
}

static bool spyi_bind_fields(spyi_attempt *a, uint32_t index, const spyi_type *type, const char *path,
                             bool in, bool out, int32_t node) {
    const spyi_value *v = &a->values->items[index];
    if (type->kind != SPYI_TYPE_STRUCT && !type->field_count) return spyi_mismatch(a, path, type, v, "");
    if (v->child_count != type->field_count) {
        // Too many are found below by name; here for the count alone.
        if (v->child_count > type->field_count)
            return spyi_no(a, SPY_ERROR_TYPE_MISMATCH, "'%s': %s has %u fields, got %u", path, type->display,
                           type->field_count, v->child_count);
    }
    int32_t *children = (int32_t *)malloc((type->field_count + 1) * sizeof *children);
    if (!children) return spyi_no(a, SPY_ERROR_OUT_OF_MEMORY, "out of host memory");
    for (uint32_t f = 0; f < type->field_count; f++) children[f] = -1;
    bool good = true;
    uint32_t child = index + 1, position = 0;
    for (uint32_t i = 0; good && i < v->child_count; i++, child = spyi_value_end(a->values->items, child)) {
        const char *field_name = a->values->items[child].name;
        uint32_t f = position;
        if (!field_name || !field_name[0]) position++;
        else
            for (f = 0; f < type->field_count && strcmp(type->fields[f].name, field_name) != 0; f++) {}
        if (f >= type->field_count) {
            good = spyi_no(a, SPY_ERROR_NOT_FOUND, "'%s': %s has no field '%s'", path, type->display,
                           field_name ? field_name : "");
        } else if (children[f] >= 0) {
            good = spyi_no(a, SPY_ERROR_INVALID_ARGUMENT, "'%s': field '%s' is given twice", path,
                           type->fields[f].name);
        } else {
            spyi_text field_path = { NULL, 0, 0 };
            spyi_text_add(&field_path, "%s%s%s", path, spyi_type_is_bound_array(type) ? "" : ".",
                          type->fields[f].name);
            good = spyi_bind_value(a, child, type->fields[f].type, type->fields[f].name,
                                   spyi_text_str(&field_path), in, out, &children[f]);
            spyi_text_free(&field_path);
        }
    }
    for (uint32_t f = 0; good && f < type->field_count; f++)
        if (children[f] < 0)
            good = spyi_no(a, SPY_ERROR_NOT_FOUND, "'%s': field '%s' of %s is missing", path,
                           type->fields[f].name, type->display);
    if (good) { // children lie anywhere in the list: link them through a run of copies at its end
        uint32_t first = a->bound.node_count;
        for (uint32_t f = 0; good && f < type->field_count; f++) {
            spyi_node copy = a->bound.nodes[children[f]];
            int32_t at = spyi_add_node(a, copy.name, copy.type, copy.in, copy.out);
            good = at >= 0;
            if (good) {
                a->bound.nodes[at].leaf = copy.leaf;
                a->bound.nodes[at].first = copy.first;
                a->bound.nodes[at].count = copy.count;
            }
        }
        a->bound.nodes[node].first = first;
        a->bound.nodes[node].count = type->field_count;
    }
    free(children);
    return good;
}

static bool spyi_bind_value(spyi_attempt *a, uint32_t index, const spyi_type *type, const char *name,
                            const char *path, bool in, bool out, int32_t *node_out) {
    const spyi_value *v = &a->values->items[index];
    if (type->kind == SPYI_TYPE_OTHER && (type->element || spyi_type_is_bound_array(type))) {
        if (!a->whole && !out) return spyi_bind_holder(a, index, type, name, path, node_out);
        if (type->element) type = type->element;
    }
    const spyi_value_kind *kind = v->kind == SPY_ARG_CUSTOM ? v->custom : spyi_kind_of_parameter(type, v);
    bool by_fields = v->kind == SPY_ARG_STRUCT && type->field_count > 0;
    if ((type->kind == SPYI_TYPE_OTHER && !kind && !by_fields) || type->kind == SPYI_TYPE_VOID)
        return spyi_mismatch(a, path, type, v,
                             type->kind == SPYI_TYPE_VOID ? ""
                             : spyi_kind_takes(type)      ? spyi_kind_takes(type)
                                                          : "; this kind of parameter cannot be passed");
    if (!spyi_check_direction(a, path, v, in, out)) return false;
    if (v->map_count && v->kind != SPY_ARG_TENSOR && v->kind != SPY_ARG_ARRAY && !v->rank)
        return spyi_no(a, SPY_ERROR_INVALID_ARGUMENT,
                       "'%s': only tensors and host arrays have dimensions to map", path);
    if (v->cast && v->kind != SPY_ARG_NEW) {
        const spyi_type *cast = spyi_unit_find_type(a->unit, v->cast);
        if (!cast)
            return spyi_no(a, SPY_ERROR_NOT_FOUND, "'%s': spy_cast names '%s', which is no type", path,
                           v->cast);
        if (cast != type)
            return spyi_no(a, SPY_ERROR_TYPE_MISMATCH, "'%s': expected %s, got a cast to %s", path,
                           type->display, cast->display);
    }
    int32_t node = spyi_add_node(a, name, type, in, out);
    if (node < 0) return spyi_no(a, SPY_ERROR_OUT_OF_MEMORY, "out of host memory");
    *node_out = node;
    if (v->kind == SPY_ARG_STRUCT) return spyi_bind_fields(a, index, type, path, in, out, node);
    spyi_leaf *leaf = spyi_add_leaf(a, index, path, type, in, out);
    if (!leaf) return spyi_no(a, SPY_ERROR_OUT_OF_MEMORY, "out of host memory");
    a->bound.nodes[node].leaf = (int32_t)a->bound.leaf_count - 1;
    if (kind && v->tensor && in &&
        strchr(path, '.')) // of a struct that changes: it stays the tensor that it is
        leaf->out = a->bound.nodes[node].out = false;
    if (kind && !spyi_bind_kind(a, leaf, v, kind)) return false;
    if (kind && leaf->kind_type &&
        strcmp(leaf->kind_type, type->name) != 0) { // an interface gets its implementation
        a->bound.nodes[node].type = spyi_type_other(a->types, leaf->kind_type);
        a->cost += 8;
    }
    if (kind) return true;
    switch (v->kind) {
    case SPY_ARG_TENSOR:
    case SPY_ARG_ARRAY: return spyi_bind_array(a, leaf, v, path);
    case SPY_ARG_DATA:
        if (v->size != type->host_size)
            return spyi_no(a, SPY_ERROR_TYPE_MISMATCH, "'%s': %s has %zu bytes in C's layout, got %u", path,
                           type->display, type->host_size, v->size);
        leaf->source = out ? SPYI_SOURCE_READBACK : SPYI_SOURCE_BYTES;
        return true;
    case SPY_ARG_NEW: leaf->source = SPYI_SOURCE_NEW; return true;
    default: return spyi_bind_number(a, leaf, v, path);
    }
}

// The type of a whole value in memory: float3 for a float tensor (N, 3), int3 for an int one.
static const spyi_type *spyi_packed_type(spyi_types *types, const spyi_leaf *leaf) {
    if (leaf->source == SPYI_SOURCE_READBACK) return leaf->type;
    if (leaf->consumed == 0) return leaf->element;
    const spyi_type *inner = leaf->element;
    while (inner->kind == SPYI_TYPE_ARRAY) inner = inner->element;
    return inner->kind == SPYI_TYPE_STRUCT ? leaf->type
                                           : spyi_type_with_scalar(types, leaf->type, inner->scalar);
}

// Gives implicit leaves their kernel dimensions (aligned at the last one) and new tensors all of them.
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
    const spy_call_options *options = a->values->options;
    b->rank = a->values->thread_count.rank;
    for (uint32_t i = 0; i < b->leaf_count; i++) {
        spyi_leaf *leaf = &b->leaves[i];
        const spyi_value *v = &a->values->items[leaf->value];
        if (leaf->batch_rank > b->rank) b->rank = leaf->batch_rank;
        for (uint32_t d = 0; d < v->map_count; d++)
            if (leaf->map[d] + 1u > b->rank) b->rank = leaf->map[d] + 1u;
    }
    if (options && options->call_group_shape.rank > b->rank)
        return spyi_no(a, SPY_ERROR_SHAPE_MISMATCH,
                       "its options: call_group_shape has %u dimensions, the call has %u",
                       options->call_group_shape.rank, b->rank);
    for (uint32_t i = 0; i < b->leaf_count; i++) {
        spyi_leaf *leaf = &b->leaves[i];
        const spyi_value *v = &a->values->items[leaf->value];
        if (leaf->source == SPYI_SOURCE_NEW) leaf->batch_rank = b->rank;
        leaf->packed = spyi_packed_type(a->types, leaf);
        if (!v->map_count)
            for (uint32_t d = 0; d < leaf->batch_rank; d++)
                leaf->map[d] = (uint8_t)(b->rank - leaf->batch_rank + d);
        if (b->strict && !v->map_count && leaf->batch_rank != 0 && leaf->batch_rank != b->rank)
            return spyi_no(
                a, SPY_ERROR_SHAPE_MISMATCH,
                "'%s': strict_broadcasting needs %u leading dimensions as the other arguments have, got %u",
                leaf->path, b->rank, leaf->batch_rank);
    }
    return true;
}

// >>arguments to parameters

// For each parameter the index of its top-level value, or -1; the result's value in *result.
static bool spyi_match_names(spyi_attempt *a, const spyi_signature *signature, int32_t *of_param,
                             int32_t *result) {
    const spyi_values *values = a->values;
    uint32_t n = signature->param_count, position = 0;
    *result = -1;
    for (uint32_t p = 0; p < n; p++) of_param[p] = -1;
    uint32_t count = 0;
    for (uint32_t i = 0; i < values->count; i = spyi_value_end(values->items, i))
        if (!values->items[i].name || strcmp(values->items[i].name, "_result") != 0) count++;
    if (count > n)
        return spyi_no(a, SPY_ERROR_INVALID_ARGUMENT, "it takes %u argument%s, got %u", n, n == 1 ? "" : "s",
                       count);
    for (uint32_t i = 0; i < values->count; i = spyi_value_end(values->items, i)) {
        const char *name = values->items[i].name;
        if (name && strcmp(name, "_result") == 0) {
            if (*result >= 0) return spyi_no(a, SPY_ERROR_INVALID_ARGUMENT, "'_result' is given twice");
            *result = (int32_t)i;
            continue;
        }
        // Those that the system fills come first in the list, and are passed over by position.
        while (position < n && of_param[position] >= 0 && spyi_is_system(&values->items[of_param[position]]))
            position++;
        uint32_t p = position;
        if (name && name[0]) {
            for (p = 0; p < n && strcmp(signature->params[p].name, name) != 0; p++) {}
            if (p == n) return spyi_no(a, SPY_ERROR_NOT_FOUND, "it has no parameter '%s'", name);
        } else {
            position++;
        }
        if (of_param[p] >= 0)
            return spyi_no(a, SPY_ERROR_INVALID_ARGUMENT, "parameter '%s' is given twice",
                           signature->params[p].name);
        of_param[p] = (int32_t)i;
    }
    uint32_t given = 0;
    for (uint32_t p = 0; p < n; p++) {
        if (of_param[p] < 0 && !signature->params[p].has_default)
            return spyi_no(a, SPY_ERROR_INVALID_ARGUMENT, "parameter '%s' is missing",
                           signature->params[p].name);
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

// Binds parameters and result once every parameter type is known.
static bool spyi_bind_params(spyi_attempt *a, const spyi_signature *signature, const spyi_type *const *types,
                             const int32_t *of_param, int32_t result) {
    spyi_bound *b = &a->bound;
    // Parameters first in the node list, then the result; their fields follow, so places are taken beforehand.
    uint32_t given = 0;
    while (given < signature->param_count && of_param[given] >= 0) given++;
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
        if (!spyi_bind_value(a, (uint32_t)(is_result ? result : of_param[i]), type, name, name,
                             !is_result && p->in, is_result || p->out, &node))
            return false;
        free(b->nodes[i].name);
        b->nodes[i] = b->nodes[node];
        b->nodes[i].name = spyi_strdup(name);
    }
    return spyi_finish_maps(a);
}

static void spyi_bound_reset(spyi_attempt *a) {
    bool strict = a->bound.strict, call_info = a->bound.call_info;
    bool dispatch = a->bound.dispatch, guarded = a->bound.guarded, shader = a->bound.shader;
    spyi_bound_free(&a->bound);
    a->bound.dispatch = dispatch;
    a->bound.guarded = guarded;
    a->bound.shader = shader;
    a->bound.strict = strict;
    a->bound.call_info = a->bound.names_library = call_info;
    a->cost = 0;
    a->misfit = false;
    a->node_capacity = a->leaf_capacity = 0;
}

// >>open parameters

// Whether only Slang can tell what the parameter takes.
static bool spyi_is_open(const spyi_type *type) {
    return type->kind == SPYI_TYPE_OTHER && !type->field_count && !type->element && !spyi_kind_takes(type);
}

// A tensor as a whole, for what takes any type that implements ITensor or IRWTensor.
static const spyi_type *spyi_whole_view(spyi_attempt *a, const spyi_value *v, uint32_t form) {
    char name[512];
    snprintf(name, sizeof name, "%s<%s, %u>", form == 3 ? "Tensor" : "RWTensor", v->type->name, v->rank);
    return strlen(name) + 1 < sizeof name ? spyi_unit_find_type(a->unit, name) : NULL;
}

// The type that `value` has when its `consumed` trailing dimensions are part of it; NULL: no such view.
// `form` tells apart views of the same dimensions: 0 vectors and matrices, 1 arrays of vectors, 2 arrays, 3 and 4 tensors.
static const spyi_type *spyi_view_type(spyi_attempt *a, const spyi_value *v, uint32_t consumed,
                                       uint32_t form) {
    if (v->cast) return consumed == 0 && form == 0 ? spyi_unit_find_type(a->unit, v->cast) : NULL;
    if (!v->type) return NULL;
    if (consumed == 0 && form < 3) return form == 0 ? v->type : NULL;
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

// Slang takes a number for a vector of any length as one of length 1.
static bool spyi_is_single(const spyi_leaf *leaf) {
    return leaf->splat && leaf->type->rows == 1 && leaf->type->columns == 1;
}

// Asks Slang with one choice of views; true when it accepts and the arguments then fit with these very views.
static bool spyi_try_views(spyi_attempt *a, int overload, const spyi_signature *open, const int32_t *of_param,
                           int32_t result, const spyi_type *const *views, const uint32_t *consumed,
                           uint32_t given) {
    spyi_signature signature;
    memset(&signature, 0, sizeof signature);
    int chosen = 0;
    if (!spyi_unit_resolve(a->unit, a->function->name, overload, views, given, &signature, &chosen))
        return false;
    const spyi_type **types = (const spyi_type **)calloc(signature.param_count + 1, sizeof *types);
    bool good = types && signature.param_count == open->param_count;
    for (uint32_t p = 0; good && p < given; p++)
        types[p] = signature.params[p].type->kind == SPYI_TYPE_OTHER ? views[p] : signature.params[p].type;
    spyi_bound_reset(a);
    good = good && spyi_bind_params(a, &signature, types, of_param, result);
    for (uint32_t p = 0; good && p < given; p++)
        if (signature.params[p].type->kind == SPYI_TYPE_OTHER) a->cost += 8; // a type of its own is nearer
    for (uint32_t i = 0; good && i < a->bound.leaf_count; i++)
        for (uint32_t p = 0; p < given; p++)
            if (a->bound.leaves[i].value == (uint32_t)of_param[p] &&
                a->bound.leaves[i].source != SPYI_SOURCE_KIND &&
                open->params[p].type->kind == SPYI_TYPE_OTHER && a->values->items[of_param[p]].type &&
                !a->values->items[of_param[p]].cast)
                good = good && a->bound.leaves[i].consumed == consumed[p] &&
                       !spyi_is_single(&a->bound.leaves[i]);
    free(types);
    if (good) a->bound.signature = signature;
    else spyi_signature_free(&signature);
    return good;
}

// Names the open parameters and what they got.
static void spyi_no_open(spyi_attempt *a, const spyi_signature *open, const int32_t *of_param) {
    spyi_text text = { NULL, 0, 0 };
    for (uint32_t p = 0; p < open->param_count; p++) {
        if (open->params[p].type->kind != SPYI_TYPE_OTHER || of_param[p] < 0) continue;
        spyi_text_add(&text, "%s'%s': expected %s, got ", text.size ? "; " : "", open->params[p].name,
                      open->params[p].type->display);
        spyi_value_text(&a->values->items[of_param[p]], &text);
        spyi_add_other_struct(a, &a->values->items[of_param[p]], &text);
    }
    spyi_no(a, SPY_ERROR_TYPE_MISMATCH,
            "%s; no type that the arguments can have fits (textures and samplers cannot be passed)",
            spyi_text_str(&text));
    spyi_text_free(&text);
}

#define SPYI_MOST_QUERIES 600 // of one overload; a real call takes a handful

// One search over the views of the open parameters of an overload.
typedef struct spyi_search {
    spyi_attempt *attempt;
    int overload;
    const spyi_signature *open;
    const int32_t *of_param;
    int32_t result;
    uint32_t given;
    bool *fixed; // parameters whose view is known
    const spyi_type **views;
    uint32_t *consumed;
    int queries;
} spyi_search;

// Tries all choices for parameter `p` and those after it that consume `total` dimensions together.
static bool spyi_search_views(spyi_search *q, uint32_t p, uint32_t total) {
    while (p < q->given && q->fixed[p]) p++;
    if (p == q->given) {
        if (total != 0 || q->queries++ >= SPYI_MOST_QUERIES) return false;
        return spyi_try_views(q->attempt, q->overload, q->open, q->of_param, q->result, q->views, q->consumed,
                              q->given);
    }
    const spyi_value *v = &q->attempt->values->items[q->of_param[p]];
    for (uint32_t consumed = 0; consumed <= 2 && consumed <= total; consumed++) {
        for (uint32_t form = 0; form < 5 && q->queries < SPYI_MOST_QUERIES; form++) {
            q->views[p] = spyi_view_type(q->attempt, v, consumed, form);
            q->consumed[p] = consumed;
            if (q->views[p] && spyi_search_views(q, p + 1, total - consumed)) return true;
        }
    }
    return false;
}

// The type of an argument that leaves no choice: the parameter's own, or the tensor that it is passed as.
static const spyi_type *spyi_fixed_view(spyi_attempt *a, const spyi_type *type, const spyi_value *v) {
    spyi_text name = { NULL, 0, 0 };
    if (type->kind == SPYI_TYPE_OTHER && v->tensor) spyi_whole_type_name(a->types, type, v, &name);
    const spyi_type *whole = name.size ? spyi_unit_find_type(a->unit, name.data) : NULL;
    spyi_text_free(&name);
    return whole ? whole : type;
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
    q.views = (const spyi_type **)calloc(q.given + 1, sizeof *q.views);
    q.consumed = (uint32_t *)calloc(q.given + 1, sizeof *q.consumed);
    q.fixed = (bool *)calloc(q.given + 1, sizeof *q.fixed);
    bool found = false, possible = q.views && q.consumed && q.fixed;
    uint32_t most = 0; // dimensions that views can consume together
    for (uint32_t p = 0; possible && p < q.given; p++) {
        const spyi_value *v = &a->values->items[of_param[p]];
        if (!spyi_is_open(open->params[p].type)) {
            q.views[p] = spyi_fixed_view(a, open->params[p].type, v);
            q.fixed[p] = true;
        } else if (!spyi_view_type(a, v, 0, 0)) {
            possible = spyi_no(
                a, SPY_ERROR_TYPE_MISMATCH,
                "'%s': its type %s is open (say which with spy_cast) or has parts that cannot be passed "
                "(textures, samplers)",
                open->params[p].name, open->params[p].type->display);
        } else {
            most += v->rank < 2 ? v->rank : 2;
        }
    }
    // Choices that consume 0 dimensions in all, then 1, ...: the element type wins over vectors and arrays.
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

// >>shader parameters

SPYI_FN spy_status spyi_bind_input(spy_function *function, const spyi_values *values, uint32_t index,
                                   const spyi_type *type, const char *path, spyi_bound *bound,
                                   spyi_text *error) {
    spyi_attempt a;
    int32_t node = -1;
    memset(&a, 0, sizeof a);
    a.function = function;
    a.unit = function->module->unit;
    a.types = function->object.device->types;
    a.values = values;
    a.whole = true;
    a.status = SPY_ERROR_OUT_OF_MEMORY;
    bool good = spyi_bind_value(&a, index, type, path, path, true, false, &node);
    for (uint32_t i = 0; good && i < a.bound.leaf_count; i++) {
        const spyi_leaf *leaf = &a.bound.leaves[i];
        const spyi_value *v = &values->items[leaf->value];
        if (leaf->source == SPYI_SOURCE_TENSOR)
            good = spyi_mismatch(&a, leaf->path, leaf->type, v, "; a uniform buffer takes host data");
        else if (v->custom || leaf->batch_rank || v->map_count)
            good = spyi_mismatch(&a, leaf->path, leaf->type, v, "; a shader parameter takes one value");
    }
    if (good) *bound = a.bound;
    else {
        spyi_text_add(error, "%s", spyi_text_str(&a.reason));
        spyi_bound_free(&a.bound);
    }
    spyi_text_free(&a.reason);
    return good ? SPY_OK : a.status;
}

// >>overloads

static bool spyi_bind_overload(spyi_attempt *a, uint32_t overload) {
    const spyi_signature *signature = &a->function->overloads.items[overload];
    uint32_t n = signature->param_count;
    int32_t *of_param = (int32_t *)malloc((n + 1) * sizeof *of_param);
    const spyi_type **types = (const spyi_type **)malloc((n + 1) * sizeof *types);
    int32_t result = -1;
    bool open = signature->generic;
    bool good = of_param && types && spyi_match_names(a, signature, of_param, &result);
    for (uint32_t p = 0; good && p < n; p++) {
        types[p] = signature->params[p].type;
        open = open || (of_param[p] >= 0 && spyi_is_open(types[p]));
    }
    if (good && open) {
        good = spyi_bind_open(a, (int)overload, signature, of_param, result);
    } else if (good) {
        good = spyi_bind_params(a, signature, types, of_param, result);
        if (good) {
            // The function keeps its own signature; the plan gets a copy of what it needs of it.
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

// Slang's own words on why a call with these arguments fits no overload, when types can be named.
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

// Whether Slang would find a call of one overload with `given` arguments, as the kernel makes it, ambiguous because of
// another: it ranks neither f(float) above f(float, float = 1) nor f(float) above f(inout float).
static bool spyi_same_to_slang(const spyi_signature *one, const spyi_signature *other, uint32_t given) {
    if (one->generic || other->generic || other->param_count < given) return false;
    for (uint32_t p = 0; p < other->param_count; p++)
        if (p < given ? one->params[p].type != other->params[p].type : !other->params[p].has_default)
            return false;
    return true;
}

SPYI_FN spy_status spyi_bind(spy_function *function, const spyi_values *values, spyi_bound *bound,
                             spyi_text *error) {
    uint32_t n = function->overloads.count, best = n, ties = 0;
    bool generic_failed = false;
    spyi_attempt attempt, winner;
    spyi_text reasons = { NULL, 0, 0 }, tied = { NULL, 0, 0 }, twins = { NULL, 0, 0 };
    spy_status status = SPY_ERROR_TYPE_MISMATCH;
    uint32_t fitting = 0;
    bool sized = false;
    if (n == 0) {
        spyi_text_add(error, "module '%s' was reloaded and has no function '%s' any more",
                      function->module->name, function->name);
        return SPY_ERROR_NOT_FOUND;
    }
    uint8_t *sizes =
        (uint8_t *)calloc(values->count + 1, 1); // most dimensions that any fitting overload takes
    memset(&winner, 0, sizeof winner);
    for (uint32_t i = 0; i < n; i++) {
        const spyi_signature *signature = &function->overloads.items[i];
        memset(&attempt, 0, sizeof attempt);
        attempt.function = function;
        attempt.unit = function->module->unit;
        attempt.types = function->object.device->types;
        attempt.values = values;
        attempt.bound.strict = function->module->strict_broadcasting;
        attempt.bound.dispatch = values->threads != NULL;
        attempt.bound.guarded = values->threads && values->threads->guarded;
        attempt.bound.shader = values->threads && values->threads->shader;
        attempt.bound.call_info = spyi_unit_imports(function->module->unit, "slangpy");
        attempt.bound.names_library = attempt.bound.call_info;
        attempt.status = SPY_ERROR_OUT_OF_MEMORY; // unless a reason is given
        bool good = spyi_bind_overload(&attempt, i);
        if (!good) {
            spyi_text_add(&reasons, "\n    %s\n        %s", signature->display,
                          spyi_text_str(&attempt.reason));
            if (n == 1) status = attempt.status;
            generic_failed = generic_failed || signature->generic;
        }
        for (uint32_t l = 0; good && sizes && l < attempt.bound.leaf_count; l++) {
            const spyi_leaf *leaf = &attempt.bound.leaves[l];
            uint32_t sized_dims = 0; // a tensor that is passed whole has further ones, of any size
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
            spyi_text_add(&twins, "\n    %s", other->display);
    }
    if (!sizes) {
        status = SPY_ERROR_OUT_OF_MEMORY;
        spyi_text_add(error, "out of host memory");
    } else if (twins.size) {
        status = SPY_ERROR_AMBIGUOUS;
        spyi_text_add(error, "Slang cannot tell calls of these overloads apart; rename one:\n    %s%s",
                      function->overloads.items[best].display, spyi_text_str(&twins));
    } else if (best < n && ties == 1) {
        for (uint32_t i = 0; i < values->count; i++) sized = sized || (fitting > 1 && sizes[i]);
        *bound = winner.bound;
        bound->sizes = sized ? sizes : NULL;
        if (sized) sizes = NULL;
        memset(&winner.bound, 0, sizeof winner.bound);
        status = SPY_OK;
    } else if (best < n) {
        status = winner.misfit ? SPY_ERROR_SHAPE_MISMATCH : SPY_ERROR_AMBIGUOUS;
        spyi_text_add(error,
                      winner.misfit
                          ? "the trailing sizes of the arguments are those of none of %u overloads:%s"
                          : "%u overloads fit equally well; choose one with spy_cast or spy_map:%s",
                      ties, spyi_text_str(&tied));
    } else {
        spyi_text_add(error, "the arguments %s:%s", n == 1 ? "do not fit" : "fit no overload",
                      spyi_text_str(&reasons));
        if (generic_failed && function->overloads.items[0].callee == SPYI_CALLEE_FUNCTION)
            spyi_add_compiler_notes(function, values, error);
    }
    free(sizes);
    spyi_bound_free(&winner.bound);
    spyi_text_free(&winner.reason);
    spyi_text_free(&reasons);
    spyi_text_free(&tied);
    spyi_text_free(&twins);
    return status;
}

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

// Binding values to the parameters of one overload: which argument is whose, what feeds what, and what that costs.
// candidates.c chooses the overload.
#include "bind/internal.h"
#include "data/bounds.h"
#include "data/scalars.h"

SPYI_FN bool spyi_no(spyi_attempt *a, spy_status status, const char *format, ...) {
    char line[1024];
    va_list list;
    if (a->refused) return false;
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
        spyi_node *nodes = (spyi_node *)spyi_realloc(b->nodes, capacity * sizeof *nodes);
        if (!nodes) return -1;
        b->nodes = nodes;
        a->node_capacity = capacity;
    }
    char *own_name = spyi_strdup(name);
    if (!own_name) return -1;
    spyi_node *node = &b->nodes[b->node_count];
    memset(node, 0, sizeof *node);
    node->name = own_name;
    node->type = type;
    node->leaf = -1;
    node->in = in;
    node->out = out;
    return (int32_t)b->node_count++;
}

SPYI_FN spyi_leaf *spyi_add_leaf(spyi_attempt *a, uint32_t value, const char *path, const spyi_type *type,
                                 bool in, bool out) {
    spyi_bound *b = &a->bound;
    if (b->leaf_count == a->leaf_capacity) {
        uint32_t capacity = a->leaf_capacity ? a->leaf_capacity * 2 : 16;
        spyi_leaf *leaves = (spyi_leaf *)spyi_realloc(b->leaves, capacity * sizeof *leaves);
        if (!leaves) return NULL;
        b->leaves = leaves;
        a->leaf_capacity = capacity;
    }
    char *own_path = spyi_strdup(path);
    if (!own_path) return NULL;
    spyi_leaf *leaf = &b->leaves[b->leaf_count++];
    memset(leaf, 0, sizeof *leaf);
    leaf->value = value;
    leaf->path = own_path;
    leaf->type = type;
    leaf->element = type;
    leaf->in = in;
    leaf->out = out;
    return leaf;
}

SPYI_FN void spyi_add_other_struct(const spyi_attempt *a, const spyi_value *v, spyi_text *out) {
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
SPYI_FN bool spyi_mismatch(spyi_attempt *a, const char *path, const spyi_type *type, const spyi_value *v,
                           const char *hint) {
    spyi_text got = { NULL, 0, 0 };
    spyi_value_text(v, &got);
    spyi_add_other_struct(a, v, &got);
    spyi_no(a, SPY_ERROR_TYPE_MISMATCH, "'%s': expected %s, got %s%s", path, type->display,
            spyi_text_str(&got), hint);
    spyi_text_free(&got);
    return false;
}

static bool spyi_no_writing(spyi_attempt *a, const char *path) {
    return spyi_no(a, SPY_ERROR_TYPE_MISMATCH,
                   "'%s' is written: expected a tensor that may be, got a read-only one", path);
}

SPYI_FN bool spyi_check_direction(spyi_attempt *a, const char *path, const spyi_value *v, bool in, bool out) {
    bool returns = v->direction != SPY_DIRECTION_DEFAULT || v->kind == SPY_ARG_NEW;
    if (v->direction == SPY_DIRECTION_IN && out) return spyi_no_writing(a, path);
    if (v->kind == SPY_ARG_TENSOR || v->kind == SPY_ARG_STRUCT || v->direction == SPY_DIRECTION_ANY)
        return true;
    if (v->kind == SPY_ARG_RESULT && v->direction == SPY_DIRECTION_INOUT)
        return true; // an in parameter only reads it
    if (returns && !out)
        return spyi_no(a, SPY_ERROR_TYPE_MISMATCH, "'%s' is an in parameter, got an output argument", path);
    if (!returns && out) {
        spyi_text got = { NULL, 0, 0 };
        spyi_value_text(v, &got);
        spyi_no(a, SPY_ERROR_TYPE_MISMATCH,
                "'%s' is an %s parameter: expected a tensor or spy_%s_..., got an input, %s", path,
                in ? "inout" : "out", in ? "inout" : "out", spyi_text_str(&got));
        spyi_text_free(&got);
        return false;
    }
    if (in && out && (v->direction == SPY_DIRECTION_OUT || v->kind == SPY_ARG_NEW))
        return spyi_no(a, SPY_ERROR_TYPE_MISMATCH,
                       "'%s' is an inout parameter: expected a tensor or spy_inout_..., got an output", path);
    return true;
}

// Leading dimensions of a leaf to kernel dimensions: aligned at the last one later (see spyi_finish_maps) or as mapped.
SPYI_FN bool spyi_set_batch(spyi_attempt *a, spyi_leaf *leaf, const spyi_value *v, const spyi_fit *fit) {
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
    if (v->whole && leaf->batch_rank && !(v->one_value && a->spread)) {
        spyi_text got = { NULL, 0, 0 };
        spyi_value_text(v, &got);
        spyi_no(a, SPY_ERROR_SHAPE_MISMATCH, "'%s': expected one %s, got %s%s", leaf->path,
                leaf->type->display, spyi_text_str(&got),
                v->one_value ? "" : ", whose mapping names no dimension to run it over");
        spyi_text_free(&got);
        return false;
    }
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

// Why an array's numbers are not those of the parameter, and what to do; "" where no conversion would help.
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

// Device layout has no bare bool: its scalars are uint where a kernel loads them on their own.
static bool spyi_bind_array(spyi_attempt *a, spyi_leaf *leaf, const spyi_value *v, const char *path) {
    const spyi_type *type = leaf->type;
    spyi_fit fit;
    char why[192];
    bool host = v->kind == SPY_ARG_ARRAY, stored = leaf->out && !leaf->in && a->result;
    bool fits = stored ? spyi_fit_stored(v->type, type, &fit)
                : host ? spyi_fit_host(v->type, type, leaf->out, &fit)
                       : spyi_fit_memory(v->type, type, leaf->out, &fit);
    if (!fits) return spyi_mismatch(a, path, type, v, spyi_why_no_fit(leaf, v, why, sizeof why));
    if (!spyi_set_batch(a, leaf, v, &fit)) return false;
    a->cost += fit.cost;
    if (!host) {
        leaf->source = SPYI_SOURCE_TENSOR;
        leaf->element = v->type;
    } else if (leaf->batch_rank == 0 && !(stored && fit.cost)) {
        leaf->source = leaf->out ? SPYI_SOURCE_READBACK : SPYI_SOURCE_INLINE;
    } else { // converted while it is uploaded, or when the kernel stores it
        leaf->source = SPYI_SOURCE_UPLOAD;
        const spyi_type *scalar = stored ? v->type : type;
        while (scalar->kind == SPYI_TYPE_ARRAY) scalar = scalar->element;
        leaf->element = spyi_type_scalar(a->types, scalar->scalar);
    }
    return true;
}

// Where it goes is known once the call's rank is: see spyi_finish_maps.
static bool spyi_bind_result(spyi_attempt *a, spyi_leaf *leaf, const spyi_value *v, const char *path) {
    const spyi_type *scalar = leaf->type;
    size_t count = 1;
    leaf->source = SPYI_SOURCE_NEW;
    if (!leaf->in) return true;
    for (; scalar->kind == SPYI_TYPE_ARRAY; scalar = scalar->element) count *= (size_t)scalar->count;
    bool numbers = scalar->kind == SPYI_TYPE_SCALAR || scalar->kind == SPYI_TYPE_VECTOR ||
                   scalar->kind == SPYI_TYPE_MATRIX;
    count *= numbers ? (size_t)scalar->rows * scalar->columns : 0;
    if (!count || count * spyi_scalar_size(v->type->scalar) != v->size)
        return spyi_mismatch(a, path, leaf->type, v,
                             "; its value needs as many scalars as the parameter has");
    leaf->source = SPYI_SOURCE_READBACK;
    return true;
}

static bool spyi_bind_kind(spyi_attempt *a, spyi_leaf *leaf, const spyi_value *v,
                           const spyi_value_kind *kind) {
    if (leaf->out) return spyi_mismatch(a, leaf->path, leaf->type, v, "; it cannot be an output");
    leaf->source = SPYI_SOURCE_KIND;
    leaf->kind = kind;
    if (!kind->bind(a->types, v, leaf)) {
        const char *takes = spyi_kind_takes(leaf->type, spyi_types_target(a->types));
        return spyi_mismatch(a, leaf->path, leaf->type, v, takes ? takes : "");
    }
    if (leaf->writes && v->direction == SPY_DIRECTION_IN) return spyi_no_writing(a, leaf->path);
    leaf->site = spyi_bounds_site(a->function->object.device, a->function->name, leaf->path);
    a->bound.uses_library = true;
    a->bound.names_library = a->bound.names_library || leaf->kind_type;
    spyi_fit fit;
    memset(&fit, 0, sizeof fit);
    fit.consumed = leaf->consumed;
    memcpy(fit.dims, leaf->consumed_dims, sizeof fit.dims);
    return spyi_set_batch(a, leaf, v, &fit);
}

// Numbers, host data, element-wise tensors, new tensors.
SPYI_FN bool spyi_bind_leaf(spyi_attempt *a, spyi_leaf *leaf, const spyi_value *v, const char *path) {
    const spyi_type *type = leaf->type;
    switch (v->kind) {
    case SPY_ARG_TENSOR:
    case SPY_ARG_ARRAY: return spyi_bind_array(a, leaf, v, path);
    case SPY_ARG_DATA:
        if (v->size != type->host_size)
            return spyi_no(a, SPY_ERROR_TYPE_MISMATCH, "'%s': %s has %zu bytes in C's layout, got %u", path,
                           type->display, type->host_size, v->size);
        leaf->source = leaf->out ? SPYI_SOURCE_READBACK : SPYI_SOURCE_BYTES;
        return true;
    case SPY_ARG_NEW: leaf->source = SPYI_SOURCE_NEW; return true;
    case SPY_ARG_RESULT: return spyi_bind_result(a, leaf, v, path);
    default: // of a pair, a gradient's kind is not that of its value: fields for a number have no type
        return v->type ? spyi_bind_number(a, leaf, v, path) : spyi_mismatch(a, path, type, v, "");
    }
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
    bool unsized = spyi_type_is_unsized(type);
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
    leaf->kind = unsized ? spyi_kind_of_unsized() : spyi_kind_of_holders();
    leaf->binds = true;
    if (unsized && a->values->threads && a->values->threads->shader) leaf->field_size = SPYI_UNSIZED_BYTES;
    return true;
}

// T[]: its own address and count, besides what its elements are.
static bool spyi_add_unsized(spyi_attempt *a, uint32_t index, const spyi_type *type, const char *path,
                             int32_t node) {
    spyi_leaf *leaf = spyi_add_leaf(a, index, path, type, true, false);
    if (!leaf) return false;
    a->bound.nodes[node].leaf = (int32_t)a->bound.leaf_count - 1;
    leaf->source = SPYI_SOURCE_KIND;
    leaf->kind = spyi_kind_of_unsized();
    leaf->field_size = SPYI_UNSIZED_BYTES;
    return true;
}

// The elements of an array as fields "[0]", "[1]" ..., in one block; NULL: out of memory.
static spyi_field *spyi_element_fields(uint32_t count, const spyi_type *element) {
    char(*names)[16];
    spyi_field *fields = (spyi_field *)spyi_calloc((size_t)count + 1, sizeof *fields + sizeof *names);
    if (!fields) return NULL;
    names = (char(*)[16])(void *)(fields + count + 1);
    for (uint32_t i = 0; i < count; i++) {
        snprintf(names[i], sizeof names[i], "[%u]", i);
        fields[i].name = names[i];
        fields[i].type = element;
    }
    return fields;
}

// Whether a struct's field has no place in the gradient that Slang has made for it.
static bool spyi_is_constant_field(const spyi_type *type, const spyi_type *differential, uint32_t field) {
    size_t length = strlen(type->name);
    if (!differential || strncmp(differential->name, type->name, length) != 0 ||
        strcmp(differential->name + length, ".Differential") != 0)
        return false;
    for (uint32_t f = 0; f < differential->field_count; f++)
        if (strcmp(differential->fields[f].name, type->fields[field].name) == 0) return false;
    return true;
}

// A vector given by fields: x, y, z and w.
static uint32_t spyi_vector_fields(const spyi_type *type, spyi_field components[4]) {
    static const char *const names[] = { "x", "y", "z", "w" };
    memset(components, 0, 4 * sizeof *components);
    for (uint32_t i = 0; i < type->columns && i < 4; i++) {
        components[i].name = names[i];
        components[i].type = type->element;
    }
    return type->columns < 4 ? type->columns : 4;
}

static bool spyi_too_many_fields(spyi_attempt *a, uint32_t index, const spyi_type *type,
                                 const spyi_field *fields, uint32_t field_count, const char *path) {
    const spyi_value *v = &a->values->items[index];
    const char *extra = NULL;
    uint32_t child = index + 1;
    for (uint32_t i = 0; !extra && i < v->child_count; i++, child = spyi_value_end(a->values->items, child)) {
        uint32_t f = 0;
        const char *name = a->values->items[child].name;
        if (!name || !name[0]) continue;
        while (f < field_count && strcmp(fields[f].name, name) != 0) f++;
        if (f == field_count) extra = name;
    }
    return spyi_no(a, SPY_ERROR_TYPE_MISMATCH, "'%s': %s has %u fields, got %u%s%s%s", path, type->display,
                   field_count, v->child_count, extra ? "; it has no field '" : "", extra ? extra : "",
                   extra ? "'" : "");
}

// Makes nodes the fields of another. They lie anywhere in the list: the fields are a run of copies at its end.
static bool spyi_link_fields(spyi_attempt *a, int32_t node, const int32_t *children, uint32_t count) {
    uint32_t first = a->bound.node_count;
    for (uint32_t f = 0; f < count; f++) {
        spyi_node copy = a->bound.nodes[children[f]];
        int32_t at = spyi_add_node(a, copy.name, copy.type, copy.in, copy.out);
        if (at < 0) return false;
        a->bound.nodes[at].leaf = copy.leaf;
        a->bound.nodes[at].first = copy.first;
        a->bound.nodes[at].count = copy.count;
    }
    a->bound.nodes[node].first = first;
    a->bound.nodes[node].count = count;
    return true;
}

SPYI_FN uint32_t spyi_part_of_pair(const char *name) {
    static const char *const names[2][2] = { { "p", "primal" }, { "d", "grad" } }; // Slang's words, and Python's
    uint32_t part = 0;
    while (part < 2 && strcmp(name, names[part][0]) != 0 && strcmp(name, names[part][1]) != 0) part++;
    return part;
}

// The value's fields to those of a type.
static bool spyi_bind_to_fields(spyi_attempt *a, uint32_t index, const spyi_type *type,
                                const spyi_field *fields, uint32_t field_count, const char *path, bool in,
                                bool out, int32_t node) {
    const spyi_value *v = &a->values->items[index];
    if (type->kind != SPYI_TYPE_STRUCT && !type->field_count && !field_count)
        return spyi_mismatch(a, path, type, v, "");
    if (v->child_count > field_count) return spyi_too_many_fields(a, index, type, fields, field_count, path);
    bool constant = a->constant;
    const spyi_type *differential = a->bound.mode ? spyi_differential(a->types, a->unit, type) : NULL;
    int32_t *children = (int32_t *)spyi_malloc((field_count + 1) * sizeof *children);
    if (!children) return spyi_no(a, SPY_ERROR_OUT_OF_MEMORY, "out of host memory");
    for (uint32_t f = 0; f < field_count; f++) children[f] = -1;
    bool good = true;
    uint32_t child = index + 1, position = 0;
    for (uint32_t i = 0; good && i < v->child_count; i++, child = spyi_value_end(a->values->items, child)) {
        const char *field_name = a->values->items[child].name;
        uint32_t f = position;
        if (field_name && spyi_type_is_pair(type) && spyi_part_of_pair(field_name) < 2)
            field_name = fields[spyi_part_of_pair(field_name)].name;
        if (!field_name || !field_name[0]) position++;
        else
            for (f = 0; f < field_count && strcmp(fields[f].name, field_name) != 0; f++) {}
        if (f >= field_count) {
            good = spyi_no(a, SPY_ERROR_NOT_FOUND, "'%s': %s has no field '%s'", path, type->display,
                           field_name ? field_name : "");
        } else if (children[f] >= 0) {
            good = spyi_no(a, SPY_ERROR_INVALID_ARGUMENT, "'%s': field '%s' is given twice", path,
                           fields[f].name);
        } else {
            spyi_text field_path = { NULL, 0, 0 };
            spyi_text_add(&field_path, "%s%s%s", path, fields[f].name[0] == '[' ? "" : ".", fields[f].name);
            a->constant = constant || spyi_is_constant_field(type, differential, f);
            good = spyi_bind_value(a, child, fields[f].type, fields[f].name, spyi_text_str(&field_path), in,
                                   out, &children[f]);
            spyi_text_free(&field_path);
        }
    }
    a->constant = constant;
    for (uint32_t f = 0; good && f < field_count; f++)
        if (children[f] < 0)
            good = spyi_no(a, SPY_ERROR_NOT_FOUND, "'%s': field '%s' of %s is missing", path, fields[f].name,
                           type->display);
    good = good && spyi_link_fields(a, node, children, field_count);
    free(children);
    return good;
}

static bool spyi_bind_fields(spyi_attempt *a, uint32_t index, const spyi_type *type, const char *path,
                             bool in, bool out, int32_t node) {
    spyi_field components[4];
    if (type->kind == SPYI_TYPE_VECTOR)
        return spyi_bind_to_fields(a, index, type, components, spyi_vector_fields(type, components), path, in,
                                   out, node);
    bool unsized = spyi_type_is_unsized(type), array = type->kind == SPYI_TYPE_ARRAY;
    const spyi_value *v = &a->values->items[index];
    if (!unsized && !array)
        return spyi_bind_to_fields(a, index, type, type->fields, type->field_count, path, in, out, node);
    if (array && (v->child_count != (uint64_t)type->count || (v->child_count && v[1].name && v[1].name[0])))
        return spyi_mismatch(a, path, type, v,
                             "; it takes a struct without names of fields, one for each element");
    if (unsized && !spyi_add_unsized(a, index, type, path, node))
        return spyi_no(a, SPY_ERROR_OUT_OF_MEMORY, "out of host memory");
    spyi_field *fields = spyi_element_fields(v->child_count, unsized ? type->fields[0].type : type->element);
    if (!fields) return spyi_no(a, SPY_ERROR_OUT_OF_MEMORY, "out of host memory");
    bool good = spyi_bind_to_fields(a, index, type, fields, v->child_count, path, in, out, node);
    free(fields);
    return good;
}

SPYI_FN const spyi_type *spyi_pair_with_fields(spyi_attempt *a, const spyi_type *type) {
    spyi_field fields[2];
    if (type->field_count) return type;
    spyi_text name = { NULL, 0, 0 };
    const char *begin = strchr(type->name, '<') + 1, *end = strrchr(type->name, '>');
    spyi_text_add_n(&name, begin, end > begin ? (size_t)(end - begin) : 0);
    memset(fields, 0, sizeof fields);
    fields[0].name = "p";
    fields[1].name = "d";
    fields[0].type = spyi_unit_find_type(a->unit, spyi_text_str(&name));
    if (fields[0].type) fields[1].type = spyi_differential(a->types, a->unit, fields[0].type);
    spyi_text_free(&name);
    return fields[1].type ? spyi_type_opaque(a->types, type->name, fields, 2) : type;
}

// The number of the gradient that a tensor gives to a DifferentialPair: what is read is its grad_in, what is written its
// grad_out, where it has both. 0: there is none, or one for each direction of an inout parameter.
static uint32_t spyi_gradient_of_pair(const spyi_values *values, const spyi_value *v, bool in, bool out) {
    uint32_t read = v->grads[SPYI_GRAD_IN] ? v->grads[SPYI_GRAD_IN] : v->grads[SPYI_GRAD_OUT];
    uint32_t written = v->grads[SPYI_GRAD_OUT] ? v->grads[SPYI_GRAD_OUT] : v->grads[SPYI_GRAD_IN];
    if (in && out && values->items[read].tensor != values->items[written].tensor) return 0;
    return out ? written : read;
}

SPYI_FN bool spyi_no_derived_pair(spyi_attempt *a, const char *path, const spyi_type *type) {
    return spyi_no(a, SPY_ERROR_UNSUPPORTED,
                   "'%s': expected an argument of a function to be differentiated, but %s holds a "
                   "gradient already: call the function itself",
                   path, type->display);
}

// A value and its gradient to a parameter of type DifferentialPair<T>; a struct of p and d goes by its fields.
static bool spyi_bind_pair(spyi_attempt *a, uint32_t index, const spyi_type *type, const char *name,
                           const char *path, bool in, bool out, int32_t *node_out) {
    const spyi_value *v = &a->values->items[index];
    uint32_t parts[2] = { index, 0 };
    int32_t children[2] = { -1, -1 };
    if (v->kind == SPY_ARG_PAIR) {
        parts[0] = index + 1;
        parts[1] = spyi_value_end(a->values->items, index + 1);
    } else if (v->tensor) {
        parts[1] = spyi_gradient_of_pair(a->values, v, in, out);
        if (!parts[1] && (v->grads[0] || v->grads[1]))
            return spyi_no(a, SPY_ERROR_INVALID_ARGUMENT,
                           "'%s' is an inout parameter, and its tensor has a grad_in and a grad_out: give "
                           "spy_arg_diff_pair with the one that is meant",
                           path);
    }
    if (!parts[1] || !type->field_count || v->cast) return spyi_mismatch(a, path, type, v, SPYI_PAIR_TAKES);
    int32_t node = spyi_add_node(a, name, type, in, out);
    if (node < 0) return spyi_no(a, SPY_ERROR_OUT_OF_MEMORY, "out of host memory");
    for (int f = 0; f < 2; f++) {
        spyi_text part = { NULL, 0, 0 };
        spyi_text_add(&part, "%s.%s", path, type->fields[f].name);
        bool good = spyi_bind_value(a, parts[f], type->fields[f].type, type->fields[f].name,
                                    spyi_text_str(&part), in, out, &children[f]);
        spyi_text_free(&part);
        if (!good) return false;
    }
    *node_out = node;
    return spyi_link_fields(a, node, children, 2) ||
           spyi_no(a, SPY_ERROR_OUT_OF_MEMORY, "out of host memory");
}

static bool spyi_bind_value(spyi_attempt *a, uint32_t index, const spyi_type *type, const char *name,
                            const char *path, bool in, bool out, int32_t *node_out) {
    const spyi_value *v = &a->values->items[index];
    uint32_t pair = a->pair;
    a->pair = 0;
    if (spyi_type_is_pair(type)) {
        type = spyi_pair_with_fields(a, type);
        if (a->bound.mode) return spyi_no_derived_pair(a, path, type);
        if (a->whole || a->bound.shader)
            return spyi_no(a, SPY_ERROR_UNSUPPORTED,
                           "'%s': %s has no layout that reflection tells, so a shader's own parameter cannot hold it: "
                           "take the value and its gradient as two",
                           path, type->display);
        if (v->kind != SPY_ARG_STRUCT || !type->field_count)
            return spyi_bind_pair(a, index, type, name, path, in, out, node_out);
    }
    if (v->kind == SPY_ARG_PAIR) {
        a->pair = spyi_value_end(a->values->items, index + 1);
        if (v->map_count || v->whole || v->cast || a->values->items[index + 1].child_count)
            return spyi_no(a, SPY_ERROR_INVALID_ARGUMENT,
                           "'%s': mappings, casts and fields are given inside a pair of value and gradient: "
                           "give each field its own pair",
                           path);
        return spyi_bind_value(a, index + 1, type, name, path, in, out, node_out);
    }
    if (type->kind == SPYI_TYPE_OTHER && (type->element || spyi_type_is_bound_array(type))) {
        if (spyi_type_is_unsized(type) && spyi_types_target(a->types) != SPYI_TARGET_CUDA)
            return spyi_no(a, SPY_ERROR_UNSUPPORTED, "'%s': %s cannot be given%s", path, type->display,
                           SPYI_UNSIZED_REFUSED);
        if (!a->whole && !out) return spyi_bind_holder(a, index, type, name, path, node_out);
        if (type->element) type = type->element;
    }
    const spyi_value_kind *kind = v->kind == SPY_ARG_CUSTOM ? v->custom : spyi_kind_of_parameter(type, v);
    // A host array without elements, as Python's [] is, does for a list of none.
    bool none = spyi_type_is_unsized(type) && v->kind == SPY_ARG_ARRAY && v->rank == 1 && v->dims[0] == 0;
    bool by_fields = none || (v->kind == SPY_ARG_STRUCT && type->field_count > 0);
    if ((type->kind == SPYI_TYPE_OTHER && !kind && !by_fields) || type->kind == SPYI_TYPE_VOID) {
        const char *takes = spyi_kind_takes(type, spyi_types_target(a->types));
        return spyi_mismatch(a, path, type, v,
                             type->kind == SPYI_TYPE_VOID ? ""
                             : takes                      ? takes
                             : type->field_count && spyi_type_holds_pair(type)
                                 ? "; it holds a DifferentialPair, whose layout in memory is not known: "
                                   "give its fields one by one"
                                                          : "; this kind of parameter cannot be passed");
    }
    bool unused = a->bound.mode == SPY_CALL_BACKWARD && out && !in; // only its gradient matters
    if (!unused && !spyi_check_direction(a, path, v, in, out && a->bound.mode != SPY_CALL_BACKWARD))
        return false;
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
    if (v->kind == SPY_ARG_STRUCT || none) return spyi_bind_fields(a, index, type, path, in, out, node);
    spyi_leaf *leaf = spyi_add_leaf(a, index, path, type, in, out);
    if (!leaf) return spyi_no(a, SPY_ERROR_OUT_OF_MEMORY, "out of host memory");
    a->bound.nodes[node].leaf = (int32_t)a->bound.leaf_count - 1;
    if (kind && v->tensor && in &&
        strchr(path, '.')) // of a struct that changes: it stays the tensor that it is
        leaf->out = a->bound.nodes[node].out = false;
    leaf->param_in = in;
    leaf->param_out = out;
    if (a->bound.mode && !kind) {
        uint32_t place = a->bound.leaf_count - 1;
        if (a->bound.mode == SPY_CALL_BACKWARD) leaf->out = false;
        return (unused ? spyi_bind_unused(a, leaf, v, pair) : spyi_bind_leaf(a, leaf, v, path)) &&
               spyi_bind_gradients(a, place, index, pair);
    }
    uint32_t number = a->bound.leaf_count - 1;
    if (kind && !(spyi_bind_kind(a, leaf, v, kind) && spyi_bind_whole_gradients(a, number, index, pair)))
        return false;
    leaf = &a->bound.leaves[number];
    if (kind && leaf->kind_type &&
        strcmp(leaf->kind_type, type->name) != 0) { // an interface gets its implementation
        a->bound.nodes[node].type = spyi_type_other(a->types, leaf->kind_type);
        a->cost += 8;
    }
    return kind || spyi_bind_leaf(a, leaf, v, path);
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
        if (v->kind == SPY_ARG_RESULT && b->rank == 0 && leaf->type->host_size <= SPY_RESULT_BYTES)
            leaf->source = SPYI_SOURCE_READBACK;
        if (leaf->source == SPYI_SOURCE_NEW) leaf->batch_rank = b->rank;
        leaf->packed = spyi_packed_type(a->types, leaf);
        if (!v->map_count)
            for (uint32_t d = 0; d < leaf->batch_rank; d++)
                leaf->map[d] = (uint8_t)(b->rank - leaf->batch_rank + d);
        if (b->strict && !v->map_count && leaf->batch_rank != 0 && leaf->batch_rank != b->rank)
            return spyi_no(a, SPY_ERROR_SHAPE_MISMATCH,
                           "'%s': Strict broadcasting is enabled: it needs %u leading dimensions as the "
                           "other arguments have, got %u",
                           leaf->path, b->rank, leaf->batch_rank);
    }
    return true;
}

// >>arguments to parameters

// The arguments that are for parameters: all but `_result`.
static uint32_t spyi_count_arguments(const spyi_values *values) {
    uint32_t count = 0;
    for (uint32_t i = 0; i < values->count; i = spyi_value_end(values->items, i))
        if (!values->items[i].name || strcmp(values->items[i].name, "_result") != 0) count++;
    return count;
}

// An argument's name is unknown: the reason names the parameter, or `_result`, that is spelled most like it.
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
        // Those that the system fills come first in the list, and are passed over by position.
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
        if (of_param[p] < 0 && !signature->params[p].has_default)
            return spyi_no(a, SPY_ERROR_INVALID_ARGUMENT, "Parameter '%s' not specified",
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

SPYI_FN bool spyi_bind_params(spyi_attempt *a, const spyi_signature *signature, const spyi_type *const *types,
                              const int32_t *of_param, int32_t result) {
    spyi_bound *b = &a->bound;
    // Parameters first in the node list, then the result; their fields follow, so places are taken beforehand.
    uint32_t given = 0;
    while (given < signature->param_count && of_param[given] >= 0) given++;
    const spyi_value *taker = result >= 0 ? &a->values->items[result] : NULL;
    if (taker && taker->kind == SPY_ARG_PAIR) taker++; // its value comes first
    if (taker && signature->result->kind == SPYI_TYPE_VOID && taker->kind == SPY_ARG_RESULT)
        result = -1; // it takes what there is
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
    if (b->mode && !spyi_check_gradients(a, signature)) return false;
    return spyi_finish_maps(a);
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

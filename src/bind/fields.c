// Binds each part of a value to a part of the parameter's type: structs and arrays given by fields, values
// with their gradients, and the parts that are given for ConstantBuffer<T> and arrays of buffers.
#include "bind/internal.h"

// Completes the leaf of a value that is given by its parts, which have leaves of their own. With `in_buffer`
// the value lies in a uniform buffer.
static void spyi_bind_parts(spyi_attempt *a, spyi_leaf *leaf, const spyi_value *v, bool in_buffer) {
    spyi_fitting fitting;
    memset(&fitting, 0, sizeof fitting);
    fitting.types = a->types;
    fitting.in_buffer = in_buffer;
    fitting.in_shader = a->values->threads && a->values->threads->shader;
    spyi_leaf_set_kind(leaf, spyi_kind_of_parts(leaf->type));
    (void)leaf->kind->build->bind(&fitting, v, leaf); // cannot fail, because only the parts can
}

// Makes one leaf of a ConstantBuffer<T> or an array of buffers. This function only checks its parts: each
// kernel binds them anew, because they are at other positions in each kernel (plan/bound_inputs.c).
SPYI_FN bool spyi_bind_holder(spyi_attempt *a, uint32_t index, const spyi_type *type, const char *name,
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
    leaf->param_in = true;
    spyi_bind_parts(a, leaf, &a->values->items[index], false);
    return true;
}

// Adds the leaf of an unsized array T[]: its address and number of elements. The elements have leaves of
// their own.
static bool spyi_add_unsized(spyi_attempt *a, uint32_t index, const spyi_type *type, const char *path,
                             int32_t node) {
    spyi_leaf *leaf = spyi_add_leaf(a, index, path, type, true, false);
    if (!leaf) return false;
    a->bound.nodes[node].leaf = (int32_t)a->bound.leaf_count - 1;
    leaf->param_in = true;
    spyi_bind_parts(a, leaf, &a->values->items[index], true);
    return true;
}

// Returns the elements of an array as fields "[0]", "[1]" ... in one block that the caller frees; NULL when
// out of memory.
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

// Returns whether the Differential type that Slang made for a struct lacks this field.
static bool spyi_is_constant_field(const spyi_type *type, const spyi_type *differential, uint32_t field) {
    size_t length = strlen(type->name);
    if (!differential || strncmp(differential->name, type->name, length) != 0 ||
        strcmp(differential->name + length, ".Differential") != 0)
        return false;
    for (uint32_t f = 0; f < differential->field_count; f++)
        if (strcmp(differential->fields[f].name, type->fields[field].name) == 0) return false;
    return true;
}

// Writes the components x, y, z, w of a vector as fields. Returns their number.
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

// Makes the nodes `children` the fields of `node`. Fields must be neighbours in the node list, so they are
// copied to its end.
static bool spyi_link_fields(spyi_attempt *a, int32_t node, const int32_t *children, uint32_t count) {
    uint32_t first = a->bound.node_count;
    uint32_t linked = 0;
    for (uint32_t f = 0; f < count; f++) {
        if (children[f] < 0) continue;
        linked++;
        spyi_node copy = a->bound.nodes[children[f]];
        int32_t at = spyi_add_node(a, copy.name, copy.type, copy.in, copy.out);
        if (at < 0) return false;
        a->bound.nodes[at].leaf = copy.leaf;
        a->bound.nodes[at].first = copy.first;
        a->bound.nodes[at].count = copy.count;
    }
    a->bound.nodes[node].first = first;
    a->bound.nodes[node].count = linked;
    return true;
}

SPYI_FN uint32_t spyi_part_of_pair(const char *name) {
    // Slang's name of each part, then Python's.
    static const char *const names[2][2] = { { "p", "primal" }, { "d", "grad" } };
    uint32_t part = 0;
    while (part < 2 && strcmp(name, names[part][0]) != 0 && strcmp(name, names[part][1]) != 0) part++;
    return part;
}

SPYI_FN bool spyi_may_be_zero(const spyi_type *type) {
    if (type->kind == SPYI_TYPE_OTHER) return spyi_type_is_pointer(type) || spyi_type_is_handle(type);
    if (type->kind == SPYI_TYPE_ARRAY) return spyi_may_be_zero(type->element);
    for (uint32_t i = 0; type->kind == SPYI_TYPE_STRUCT && i < type->field_count; i++)
        if (!spyi_may_be_zero(type->fields[i].type)) return false;
    return true;
}

// Binds the value's fields to `fields`, by name or position.
static bool spyi_bind_to_fields(spyi_attempt *a, uint32_t index, const spyi_type *type,
                                const spyi_field *fields, uint32_t field_count, const char *path, bool in,
                                bool out, int32_t node) {
    const spyi_value *v = &a->values->items[index];
    if (type->kind != SPYI_TYPE_STRUCT && !type->field_count && !field_count)
        return spyi_mismatch(a, path, type, v, "");
    if (v->child_count > field_count) return spyi_too_many_fields(a, index, type, fields, field_count, path);
    bool constant = a->constant;
    const spyi_type *differential = a->bound.mode ? spyi_differential(a->types, &a->finder, type) : NULL;
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
    bool is_struct = type->kind == SPYI_TYPE_STRUCT ||
                     (type->kind == SPYI_TYPE_OTHER && type->field_count > 0 &&
                      type->fields[0].name[0] != '['); // a struct with resources, not an array of them
    bool zero = is_struct && a->function->module->zero_missing;
    bool anything = a->whole || a->bound.dispatch || !in; // objects may be missing, too
    for (uint32_t f = 0; good && f < field_count; f++) {
        if (children[f] >= 0) continue;
        if (!zero || !(anything || spyi_may_be_zero(fields[f].type)))
            good = spyi_no(a, SPY_ERROR_NOT_FOUND, "'%s': field '%s' of %s is missing", path, fields[f].name,
                           type->display);
        a->cost += 8; // an overload whose struct gets all fields is better
    }
    good = good && spyi_link_fields(a, node, children, field_count);
    free(children);
    return good;
}

SPYI_FN bool spyi_bind_fields(spyi_attempt *a, uint32_t index, const spyi_type *type, const char *path,
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
    if (fields[0].type) fields[1].type = spyi_differential(a->types, &a->finder, fields[0].type);
    spyi_text_free(&name);
    return fields[1].type ? spyi_type_opaque(a->types, type->name, fields, 2) : type;
}

// Returns the index of the gradient of a tensor that is given for a DifferentialPair: grad_in for a parameter
// that is read, grad_out for one that is written, or the only one that it has. Returns 0 if there is none, or
// if an inout parameter would need both.
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

SPYI_FN bool spyi_bind_pair(spyi_attempt *a, uint32_t index, const spyi_type *type, const char *name,
                            const char *path, bool in, bool out, int32_t *node_out) {
    const spyi_value *v = &a->values->items[index];
    uint32_t parts[2] = { index, 0 };
    int32_t children[2] = { -1, -1 };
    if (v->kind == SPY_ARG_KIND_PAIR) {
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

SPYI_FN bool spyi_bind_built(spyi_attempt *a, uint32_t index, const spyi_type *type, const char *name,
                             const char *path, bool in, bool out, int32_t *node_out) {
    int32_t child = -1, node = spyi_add_node(a, name, type, in, out);
    if (node < 0) return spyi_no(a, SPY_ERROR_OUT_OF_MEMORY, "out of host memory");
    for (uint32_t f = 1; f < type->field_count; f++)
        if (!spyi_may_be_zero(type->fields[f].type))
            return spyi_no(
                a, SPY_ERROR_TYPE_MISMATCH,
                "'%s': expected the fields of %s, got a tensor, which leaves '%s' open: %s cannot be zero",
                path, type->display, type->fields[f].name, type->fields[f].type->display);
    if (!spyi_bind_value(a, index, type->fields[0].type, type->fields[0].name, path, in, out, &child))
        return false;
    *node_out = node;
    return spyi_link_fields(a, node, &child, 1) || spyi_no(a, SPY_ERROR_OUT_OF_MEMORY, "out of host memory");
}

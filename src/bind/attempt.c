// One attempt to bind an overload: adds its nodes and leaves, checks the rules that hold for every leaf, and
// keeps the reason why the overload does not fit.
#include "bind/internal.h"

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

SPYI_FN int32_t spyi_add_node(spyi_attempt *a, const char *name, const spyi_type *type, bool in, bool out) {
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

// Sets a reason with the argument, the expected type, what was given, and the hint.
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

SPYI_FN bool spyi_no_writing(spyi_attempt *a, const char *path) {
    return spyi_no(a, SPY_ERROR_TYPE_MISMATCH,
                   "'%s' is written: expected a tensor that may be, got a read-only one", path);
}

SPYI_FN bool spyi_check_direction(spyi_attempt *a, const char *path, const spyi_value *v, bool in, bool out) {
    bool returns = v->direction != SPY_DIRECTION_DEFAULT || v->kind == SPY_ARG_KIND_NEW;
    if (v->direction == SPY_DIRECTION_IN && out) return spyi_no_writing(a, path);
    if (v->kind == SPY_ARG_KIND_TENSOR || v->kind == SPY_ARG_KIND_STRUCT || v->texel ||
        v->direction == SPY_DIRECTION_ANY || v->direction == SPY_DIRECTION_DROP)
        return true;
    if (v->kind == SPY_ARG_KIND_RESULT && v->direction == SPY_DIRECTION_INOUT)
        return true; // such a result can also be given to an in parameter, which only reads it
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
    if (in && out && (v->direction == SPY_DIRECTION_OUT || v->kind == SPY_ARG_KIND_NEW))
        return spyi_no(a, SPY_ERROR_TYPE_MISMATCH,
                       "'%s' is an inout parameter: expected a tensor or spy_inout_..., got an output", path);
    return true;
}

// Sets which dimensions of the value the leaf consumes, and maps the leading ones to kernel dimensions if the
// argument has a mapping. Without a mapping spyi_finish_maps() aligns them at the last kernel dimension.
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
    if (spyi_leaf_wrong_size(leaf, v) < leaf->consumed) a->misfit = true;
    if (v->whole && leaf->batch_rank && !(v->one_value && a->spread)) {
        spyi_text got = { NULL, 0, 0 };
        spyi_value_text(v, &got);
        spyi_no(a, SPY_ERROR_SHAPE_MISMATCH, "'%s': expected one %s, got %s%s", leaf->path,
                leaf->type->display, spyi_text_str(&got),
                v->one_value ? "" : ", whose mapping names no dimension to run it over");
        spyi_text_free(&got);
        return false;
    }
    if (v->inherited && !leaf->batch_rank) return true; // the value is the same for all elements
    if (v->map_count && v->map_count != leaf->batch_rank) {
        char instead[64];
        snprintf(instead, sizeof instead,
                 leaf->batch_rank ? "spy_vdim(..., %u) names these" : "give it without one",
                 leaf->batch_rank);
        return spyi_no(
            a, SPY_ERROR_SHAPE_MISMATCH,
            "'%s': its mapping names %u dimensions, but %u of its %u are run over (%s takes %u); %s",
            leaf->path, v->map_count, leaf->batch_rank, v->rank, leaf->type->display, fit->consumed, instead);
    }
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

// spy_resolve: describes a bound call to the caller. The resolution, its bindings and their strings are one
// allocation.
#include "api/resolve.h"
#include "call/call.h"
#include "call/launch.h"
#include "plan/cache.h"

// The state of writing a resolution. Bindings and strings grow separately, so strings are kept as offsets
// into the text until both lie in the allocation.
typedef struct spyi_resolving {
    const spyi_bound *bound;
    const spyi_values *values;
    spy_binding *bindings;
    uint32_t count;
    spyi_text strings;
    size_t size; // the bytes of all strings; more than strings.size if memory ran out
} spyi_resolving;

// Adds a string with its NUL, and returns its offset as if it were a pointer.
static const char *spyi_keep_string(spyi_resolving *r, const char *s) {
    size_t offset = r->size, size = strlen(s) + 1;
    spyi_text_add_n(&r->strings, s, size);
    r->size += size;
    return (const char *)(uintptr_t)offset;
}

static void spyi_resolve_leaf(spyi_resolving *r, const spyi_leaf *leaf, spy_binding *out) {
    const spyi_value *v = &r->values->items[leaf->value];
    spyi_text text = { NULL, 0, 0 };
    spyi_value_text(v, &text);
    out->argument = spyi_keep_string(r, spyi_text_str(&text));
    spyi_text_free(&text);
    out->kind = (spy_arg_kind)v->kind;
    out->map.count = leaf->batch_rank;
    for (uint32_t d = 0; d < leaf->batch_rank; d++) out->map.dims[d] = leaf->map[d];
    out->consumed_rank = leaf->consumed;
}

// Writes the binding of a node, then those of its fields. `parent` is the path of the parent, or "".
static void spyi_resolve_node(spyi_resolving *r, const spyi_node *node, const char *parent, uint32_t depth) {
    spy_binding *out = &r->bindings[r->count++];
    spyi_text path = { NULL, 0, 0 };
    spyi_text_add(&path, "%s%s%s", parent, !parent[0] || node->name[0] == '[' ? "" : ".", node->name);
    out->path = spyi_keep_string(r, spyi_text_str(&path));
    out->type = spyi_keep_string(r, node->type->display);
    out->direction = !node->out ? SPY_DIRECTION_DEFAULT : node->in ? SPY_DIRECTION_INOUT : SPY_DIRECTION_OUT;
    out->depth = depth;
    if (node->leaf >= 0) {
        spyi_resolve_leaf(r, &r->bound->leaves[node->leaf], out);
    } else {
        spyi_text text = { NULL, 0, 0 };
        spyi_text_add(&text, "struct of %u fields", node->count);
        out->argument = spyi_keep_string(r, spyi_text_str(&text));
        spyi_text_free(&text);
        out->kind = SPY_ARG_KIND_STRUCT;
        for (uint32_t f = 0; f < node->count; f++)
            spyi_resolve_node(r, &r->bound->nodes[node->first + f], spyi_text_str(&path), depth + 1);
    }
    spyi_text_free(&path);
}

static void spyi_place_string(const char **offset, const char *strings) {
    *offset = strings + (uintptr_t)*offset;
}

// Returns the resolution in one allocation; NULL when out of memory.
static spy_resolution *spyi_resolution_make(const spyi_bound *b, const spyi_values *values,
                                            const spy_shape *shape) {
    spyi_resolving r;
    spy_resolution made, *out = NULL;
    memset(&r, 0, sizeof r);
    memset(&made, 0, sizeof made);
    r.bound = b;
    r.values = values;
    r.bindings =
        (spy_binding *)spyi_calloc(b->node_count + 1, sizeof *r.bindings); // a node has at most one binding
    if (!r.bindings) return NULL;
    made.signature = spyi_keep_string(&r, b->signature.display);
    made.result_type = spyi_keep_string(&r, b->signature.result->display);
    made.shape = *shape;
    for (uint32_t i = 0; i < b->param_count + (b->has_result ? 1u : 0u); i++)
        spyi_resolve_node(&r, &b->nodes[i], "", 0);
    made.binding_count = r.count;
    size_t head = spyi_align(sizeof made, 16), table = r.count * sizeof *r.bindings;
    char *block = r.strings.size == r.size ? (char *)spyi_malloc(head + table + r.size) : NULL;
    if (block) {
        spy_binding *bindings = (spy_binding *)(void *)(block + head);
        char *strings = block + head + table;
        memcpy(strings, r.strings.data, r.size);
        for (uint32_t i = 0; i < r.count; i++) {
            bindings[i] = r.bindings[i];
            spyi_place_string(&bindings[i].path, strings);
            spyi_place_string(&bindings[i].type, strings);
            spyi_place_string(&bindings[i].argument, strings);
        }
        spyi_place_string(&made.signature, strings);
        spyi_place_string(&made.result_type, strings);
        made.bindings = bindings;
        out = (spy_resolution *)(void *)block;
        *out = made;
    }
    free(r.bindings);
    spyi_text_free(&r.strings);
    return out;
}

spy_resolution *spy_resolve(spy_function *function, spy_args args, const spy_call_options *options) {
    const char *name = "spy_resolve";
    if (spyi_enter(function, SPYI_KIND_FUNCTION, name) != SPY_OK) return NULL;
    if (function->reduces) {
        spyi_object *module = &function->module->object;
        const spyi_fused_table *table = spyi_leave_for_reduction(function);
        spy_resolution *resolution = table->resolve(function, args, options);
        spyi_object_release(module);
        return resolution;
    }
    spy_device *device = function->object.device;
    spyi_values *values = device->cache->values;
    spyi_text error = { NULL, 0, 0 };
    spyi_plan *plan = NULL;
    spy_resolution *made = NULL;
    spy_status status = spyi_describe(function, args, options, NULL, values, &error);
    if (status == SPY_OK) status = spyi_plan_get(function, values, &plan, &error);
    if (status == SPY_OK) {
        if (status == SPY_OK) (void)spyi_plan_fresh_launch(plan); // keeps the last call's launch
        status = spyi_launch_shape(plan, values, &error);
        if (status != SPY_OK) {
            spyi_text_add(&error, "\n");
            spyi_bound_text(&plan->bound, values, &error);
        }
    }
    if (status == SPY_OK) {
        made = spyi_resolution_make(&plan->bound, values, &plan->launch->shape);
        if (!made) {
            status = SPY_ERROR_OUT_OF_MEMORY;
            spyi_text_add(&error, "out of host memory");
        }
    }
    if (status != SPY_OK)
        spyi_fail(&device->ctx, status, "%s: %s: %s", name, function->name, spyi_text_str(&error));
    spyi_text_free(&error);
    spyi_leave(device);
    return made;
}

void spy_release_resolution(spy_resolution *resolution) {
    free(resolution);
}

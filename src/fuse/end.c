// Ends a graph: checks that it is complete, writes its module, loads it, and finds its functions.
#include "data/type_name.h"
#include "fuse/fusion.h"

static bool spyi_graph_is_complete(spy_fusion *g, spyi_text *error) {
    if (!g->output_count) {
        spyi_text_add(error, "it returns nothing: expected spy_fuse_output() with \"_result\" or the name of "
                             "an out parameter");
        return false;
    }
    for (uint32_t i = 1; i < g->count; i++) {
        const spyi_fused_step *s = &g->steps[i];
        if (s->type) continue;
        if (s->kind == SPYI_STEP_INPUT)
            spyi_text_add(
                error,
                "input '%s': nothing says its type: no function takes it by a parameter that has one type in "
                "all overloads; give spy_fuse_input() the type",
                s->name);
        else if (s->kind == SPYI_STEP_FIELDS)
            spyi_text_add(
                error,
                "a struct of %u fields: nothing says its type; give it by spy_fuse_make() or spy_vcast()",
                s->count);
        else continue; // the parameter's type is unknown, which another message reports
        return false;
    }
    for (uint32_t i = 0; i < g->output_count; i++) {
        const spyi_fused_step *s = &g->steps[g->outputs[i].step];
        spyi_type_kind kind = s->type->kind;
        bool number = kind == SPYI_TYPE_SCALAR || kind == SPYI_TYPE_VECTOR;
        if (kind == SPYI_TYPE_VOID || kind == SPYI_TYPE_OTHER) {
            spyi_text_add(error, "output '%s': expected a value that can lie in memory, got ",
                          g->outputs[i].name);
            spyi_step_text(g, g->outputs[i].step, error);
            return false;
        }
        if (!g->reduction || (number && s->type->scalar >= SPY_DTYPE_FLOAT32)) continue;
        spyi_text_add(error, "its reduction: expected a float, a double or a vector of them, got ");
        spyi_step_text(g, g->outputs[i].step, error);
        spyi_text_add(error, "; convert it by spy_fuse_make(\"float\", ...)");
        return false;
    }
    return true;
}

// Writes a name for the function that no function of the graph's modules has.
static void spyi_graph_name(spy_fusion *g, spyi_text *out) {
    spyi_text_add(out, "%s", g->name);
    for (uint32_t i = 0; i < g->module_count; i++) {
        spyi_overloads overloads = { NULL, 0, false };
        spyi_text ignored = { NULL, 0, 0 };
        spyi_outside outside;
        spyi_step_out(g->object.device, &outside, g->modules[i]);
        spy_status status = spyi_unit_find_function(g->modules[i]->unit, g->name, &overloads, &ignored);
        spyi_step_in(g->object.device, &outside);
        bool taken = status == SPY_OK && (overloads.count || ignored.size);
        spyi_overloads_free(&overloads);
        spyi_text_free(&ignored);
        if (!taken) continue;
        spyi_text_add(out, "_fused");
        return;
    }
}

static bool spyi_link_add(spy_module **link, size_t *count, spy_module *module) {
    for (size_t i = 0; i < *count; i++)
        if (link[i] == module) return false;
    link[(*count)++] = module;
    return true;
}

// Loads the text as a module that sees all modules of the graph, and what these link.
static spy_status spyi_graph_load(spy_fusion *g, const char *name, const spyi_text *text, spy_module **out,
                                  spyi_text *error) {
    spy_device *device = g->object.device;
    size_t most = g->module_count, count = 0;
    for (uint32_t i = 0; i < g->module_count; i++) most += g->modules[i]->link_count;
    spy_module **link = (spy_module **)spyi_malloc((most + 1) * sizeof *link);
    spyi_text module_name = { NULL, 0, 0 };
    spy_module_desc desc;
    memset(&desc, 0, sizeof desc);
    if (!link) return SPY_ERROR_OUT_OF_MEMORY;
    for (uint32_t i = 0; i < g->module_count; i++) (void)spyi_link_add(link, &count, g->modules[i]);
    for (uint32_t i = 0; i < g->module_count; i++)
        for (size_t l = 0; l < g->modules[i]->link_count; l++)
            (void)spyi_link_add(link, &count, g->modules[i]->link[l]);
    // Each text has a module name of its own, because a session identifies modules by name.
    spyi_text_add(&module_name, "%s_%08x", name,
                  (unsigned)(spyi_hash(text->data, text->size, 0) & 0xffffffffu));
    desc.name = spyi_text_str(&module_name);
    desc.source = spyi_text_str(text);
    desc.link = link;
    desc.link_count = count;
    if (g->module_count) {
        desc.options = *spyi_unit_options(g->modules[0]->unit);
        desc.strict_broadcasting = g->modules[0]->strict_broadcasting;
        desc.zero_missing = g->modules[0]->zero_missing;
    }
    spy_status status = spyi_module_load(device, &desc, out, error);
    spyi_text_free(&module_name);
    free(link);
    return status;
}

static void spyi_graph_summary(const spy_fusion *g, spyi_text *out) {
    uint32_t calls = 0;
    for (uint32_t i = 1; i < g->count; i++) {
        const spyi_fused_step *s = &g->steps[i];
        if (s->kind != SPYI_STEP_CALL) continue;
        spyi_text_add(out, calls++ ? ", %s" : "%s", s->function->name);
    }
    if (!calls) spyi_text_add(out, "no calls");
}

static spy_function *spyi_graph_function(spy_module *module, const char *name, const char *ending) {
    spyi_text full = { NULL, 0, 0 };
    spyi_text_add(&full, "%s%s", name, ending);
    spy_function *found = spyi_function_of(module, spyi_text_str(&full), NULL, "spy_fuse_end");
    spyi_text_free(&full);
    return found;
}

// Drops the derivatives of calls that need none, because their value is used under no_diff alone.
static void spyi_graph_drop_derivatives(spy_fusion *g) {
    bool *needed = (bool *)spyi_calloc(g->count + 1, sizeof *needed);
    if (!needed) return;
    for (uint32_t i = 1; i < g->count; i++) {
        const spyi_fused_step *s = &g->steps[i];
        bool stops = s->kind == SPYI_STEP_OPERATOR && s->form == SPYI_FORM_NO_DIFF;
        for (uint32_t k = 0; k < s->count; k++) needed[s->operands[k]] = needed[s->operands[k]] || !stops;
    }
    for (uint32_t i = 0; i < g->output_count; i++) needed[g->outputs[i].step] = true;
    for (uint32_t i = 1; i < g->count; i++) {
        spyi_fused_step *s = &g->steps[i];
        if (s->kind == SPYI_STEP_CALL && s->type->kind != SPYI_TYPE_VOID) s->no_diff = !needed[i];
    }
    free(needed);
}

// Makes the module of a complete graph. Returns NULL when that fails; `error` then has the reason, or it is
// empty and the error has been reported.
static spy_function *spyi_graph_end(spy_fusion *g, spy_status *status, spyi_text *error) {
    spyi_text name = { NULL, 0, 0 }, refused = { NULL, 0, 0 };
    spyi_fused *fused = (spyi_fused *)spyi_calloc(1, sizeof *fused);
    spy_module *module = NULL;
    spy_function *function = NULL;
    bool differentiable = false;
    if (!fused) {
        *status = SPY_ERROR_OUT_OF_MEMORY;
        return NULL;
    }
    for (uint32_t i = 0; i < g->output_count; i++)
        differentiable = differentiable || spyi_type_has_floats(g->steps[g->outputs[i].step].type);
    spyi_graph_drop_derivatives(g);
    spyi_graph_name(g, &name);
    spyi_fusion_write(g, spyi_text_str(&name), differentiable, &fused->text);
    *status = spyi_graph_load(g, spyi_text_str(&name), &fused->text, &module, error);
    // A function that a graph calls may have no derivative. The graph then has no derivative either, and a
    // backward call reports the message that Slang gives here.
    if (*status == SPY_ERROR_COMPILE && differentiable) {
        refused = *error;
        memset(error, 0, sizeof *error);
        spyi_text_clear(&fused->text);
        spyi_fusion_write(g, spyi_text_str(&name), false, &fused->text);
        *status = spyi_graph_load(g, spyi_text_str(&name), &fused->text, &module, error);
        if (*status == SPY_OK) spyi_text_add(&fused->no_derivative, "%s", spyi_text_str(&refused));
    }
    if (*status == SPY_OK) {
        module->fused = fused;
        fused->reduction = g->reduction;
        fused->dims = g->dims;
        fused->type = g->steps[g->outputs[0].step].type;
        spyi_graph_summary(g, &fused->summary);
        function = spyi_graph_function(module, spyi_text_str(&name), "");
        if (function && g->reduction) {
            fused->element = spyi_graph_function(module, spyi_text_str(&name), "_element");
            fused->total = spyi_graph_function(module, spyi_text_str(&name), "_total");
            fused->seeded = fused->no_derivative.size
                                ? NULL
                                : spyi_graph_function(module, spyi_text_str(&name), "_seeded");
            function->reduces = true;
            // The table is set here, not when the device is made, so that the linker drops it from programs
            // that fuse nothing.
            function->object.device->fused_table = spyi_reductions();
            if (!fused->total || !fused->element) function = NULL;
        }
        if (!function) {
            *status = SPY_ERROR_INTERNAL;
            spyi_module_drop(module);
        }
    } else {
        spyi_text_add(error, "\nits text is:\n%s", spyi_text_str(&fused->text));
        spyi_text_free(&fused->text);
        spyi_text_free(&fused->no_derivative);
        free(fused);
    }
    spyi_text_free(&refused);
    spyi_text_free(&name);
    return function;
}

spy_function *spy_fuse_end(spy_fusion *fusion) {
    const char *name = "spy_fuse_end";
    if (spyi_enter(fusion, SPYI_KIND_FUSION, name) != SPY_OK) return NULL;
    spy_device *device = fusion->object.device;
    spyi_text error = { NULL, 0, 0 };
    spy_status status = SPY_ERROR_TYPE_MISMATCH;
    spy_function *function = NULL;
    uint32_t failed = spyi_failed_allocations();
    // The error of a failed step is the error of the graph.
    bool good =
        !fusion->failed && spyi_fusion_settle(fusion, &error) && spyi_graph_is_complete(fusion, &error);
    if (good) function = spyi_graph_end(fusion, &status, &error);
    if (!function && !fusion->failed) {
        status = spyi_check_allocations(failed, status, &error);
        if (error.size)
            spyi_fail(&device->ctx, status, "%s: '%s': %s", name, fusion->name, spyi_text_str(&error));
    }
    spyi_text_free(&error);
    spyi_object_release(&fusion->object);
    spyi_leave(device);
    return function;
}

const char *spy_fuse_text(const spy_function *function) {
    if (!spyi_as(function, SPYI_KIND_FUNCTION)) {
        spyi_refuse_object(function, SPYI_KIND_FUNCTION, "spy_fuse_text");
        return NULL;
    }
    const spyi_fused *fused = function->module->fused;
    return fused ? spyi_text_str(&fused->text) : NULL;
}

// Checks that all functions that a kernel's derivative goes through have a derivative in the call's mode.
// libslang checks this only where a result is returned, in functions whose types are not generic. It crashes
// on a backward derivative through a function that has only a forward one, even where the call is marked
// no_diff, and it takes 0 for a forward derivative through a function that has only a backward one. So the
// modules' text in Slang's IR (slang_ir.c) is checked before code is made.
#include "compiler/slang_ir.h"

typedef struct spyi_ir_search {
    const spyi_sl_nested *parts[2]; // the results for the kernel's module and for the unit's modules
    bool backward;
    spyi_ir_map visited;
    const char *caller, *callee; // the names of the call without a derivative; NULL means none found
} spyi_ir_search;

static const char *spyi_ir_name_of(const spyi_ir_search *s, uint64_t link) {
    for (int p = 0; p < 2; ++p) {
        const spyi_ir_function *f = spyi_ir_find(s->parts[p], link);
        if (f && f->name) return f->name;
    }
    return "a function";
}

static void spyi_ir_visit(spyi_ir_search *s, uint64_t link, int depth);

static void spyi_ir_visit_bodies(spyi_ir_search *s, uint64_t link, int depth) {
    for (int p = 0; p < 2; ++p) {
        const spyi_ir_function *f = spyi_ir_find(s->parts[p], link);
        if (f && f->bodies[s->backward]) spyi_ir_visit(s, f->bodies[s->backward], depth);
    }
}

// Searches the calls in a function's body for one without a derivative, and also the bodies of called
// functions from which Slang makes derivatives.
static void spyi_ir_visit(spyi_ir_search *s, uint64_t link, int depth) {
    if (depth > 1000 || s->callee || spyi_ir_map_get(&s->visited, link)) return;
    spyi_ir_map_put(&s->visited, link, 0);
    for (int p = 0; p < 2; ++p) {
        const spyi_ir_function *f = spyi_ir_find(s->parts[p], link);
        for (uint32_t i = 0; f && i < f->call_count && !s->callee; ++i) {
            const spyi_ir_call *c = &f->calls[i];
            if (!c->has[s->backward] && c->has[!s->backward] && (s->backward || !c->no_diff)) {
                s->caller = spyi_ir_name_of(s, link);
                s->callee = spyi_ir_name_of(s, c->callee);
                return;
            }
            if (!c->has[s->backward]) continue;
            spyi_ir_visit_bodies(s, c->callee, depth + 1);
            for (int q = 0; q < 2; ++q) // searches all implementations of an interface's method
                for (uint32_t e = 0; e < s->parts[q]->entry_count; ++e)
                    if (s->parts[q]->entries[e].key == c->callee)
                        spyi_ir_visit_bodies(s, s->parts[q]->entries[e].function, depth + 1);
        }
    }
}

static bool spyi_ir_search_mode(spyi_ir_search *s, bool backward) {
    s->backward = backward;
    s->caller = s->callee = NULL;
    spyi_ir_visit(s, s->parts[0]->root, 0);
    spyi_ir_map_free(&s->visited);
    return !s->callee;
}

bool spyi_sl_nested_derivatives(spyi_unit *unit, spyi_sl_live *live, spyi_sl_module *kernel,
                                const char *source, spyi_text *why) {
    bool backward = strstr(source, "bwd_diff(spyi_element)") != NULL;
    if (!backward && !strstr(source, "fwd_diff(spyi_element)")) return true;
    spyi_sl_nested *own = (spyi_sl_nested *)spyi_calloc(1, sizeof *own);
    uint32_t failed = spyi_failed_allocations();
    if (!unit->nested && (unit->nested = (spyi_sl_nested *)spyi_calloc(1, sizeof *unit->nested)) != NULL) {
        for (size_t i = 0; i < unit->module_count; ++i) {
            spyi_sl_module *m = live->session->v->getLoadedModule(live->session, (spyi_sl_int)i);
            const char *path = m ? m->v->getFilePath(m) : NULL;
            if (m && !(path && strstr(path, SPYI_SL_EMBEDDED_FOLDER))) spyi_ir_read_module(unit->nested, m);
        }
    }
    if (spyi_failed_allocations() != failed) { // a list that is incomplete cannot be used
        spyi_sl_nested_free(unit->nested);
        unit->nested = NULL;
    }
    bool good = true;
    if (own && unit->nested) {
        spyi_ir_search s;
        memset(&s, 0, sizeof s);
        spyi_ir_read_module(own, kernel);
        s.parts[0] = own;
        s.parts[1] = unit->nested;
        good = spyi_ir_search_mode(&s, backward);
        if (!good) {
            const char *caller = s.caller, *callee = s.callee;
            if (strcmp(caller, "spyi_element") != 0)
                spyi_text_add(why, "'%s' calls '%s', which", caller, callee);
            else spyi_text_add(why, "'%s'", callee);
            if (backward)
                spyi_text_add(why,
                              " is differentiable forward only, by [ForwardDifferentiable] or "
                              "[ForwardDerivative], and Slang "
                              "cannot go backward through it, in no_diff neither: expected [Differentiable], "
                              "[BackwardDifferentiable] or [BackwardDerivative] at '%s'",
                              callee);
            else
                spyi_text_add(why,
                              " is differentiable backward only, by [BackwardDerivative], and Slang would "
                              "take its forward "
                              "derivative for 0: expected [ForwardDerivative] at '%s', too",
                              callee);
            if (spyi_ir_search_mode(&s, !backward))
                spyi_text_add(why, "; %s works", backward ? "spy_call_forward_diff" : "spy_call_backward");
        }
    }
    spyi_sl_nested_free(own);
    return good;
}

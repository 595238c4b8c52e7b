// Converts Slang's functions to signatures: finds the overloads of a name, their parameters and results.
#include "compiler/memo.h"

enum { SPYI_SL_MOST_OVERLOADS = 4096 };

uint32_t spyi_sl_overload_count(spyi_unit *unit, spyi_sl_function *function) {
    if (!SPYI_SL_FUNCTION(unit, spReflectionFunction_isOverloaded)(function)) return 1;
    return SPYI_SL_FUNCTION(unit, spReflectionFunction_getOverloadCount)(function);
}

// Returns an overload. Slang lists the overloads in reverse order of declaration; `index` counts in the order
// of declaration.
spyi_sl_function *spyi_sl_overload(spyi_unit *unit, spyi_sl_function *function, uint32_t index) {
    uint32_t count = spyi_sl_overload_count(unit, function);
    if (!SPYI_SL_FUNCTION(unit, spReflectionFunction_isOverloaded)(function)) return function;
    return SPYI_SL_FUNCTION(unit, spReflectionFunction_getOverload)(function, count - 1 - index);
}

spyi_sl_type *spyi_sl_owner(spyi_unit *unit, spyi_sl_live *live, const char *name) {
    size_t prefix = 0;
    spyi_sl_last_part(name, &prefix);
    if (!prefix) return NULL;
    spyi_text owner = { NULL, 0, 0 };
    spyi_text_add_n(&owner, name, prefix);
    spyi_sl_type *type = spyi_sl_type_named(unit, live, spyi_text_str(&owner));
    spyi_text_free(&owner);
    return type;
}

bool spyi_sl_needs_instance(spyi_unit *unit, spyi_sl_live *live, spyi_sl_function *function,
                            const char *name) {
    return spyi_sl_owner(unit, live, name) &&
           !SPYI_SL_FUNCTION(unit, spReflectionFunction_FindModifier)(function, SPYI_SL_MODIFIER_STATIC);
}

// Returns the struct whose constructors `name` means, as "Foo", "Foo.__init" or "Foo.$init"; otherwise NULL.
static spyi_sl_type *spyi_sl_constructed(spyi_unit *unit, spyi_sl_live *live, const char *name) {
    size_t prefix = 0;
    const char *last = spyi_sl_last_part(name, &prefix);
    spyi_text owner = { NULL, 0, 0 };
    if (prefix && (strcmp(last, "__init") == 0 || strcmp(last, "$init") == 0))
        spyi_text_add_n(&owner, name, prefix);
    else spyi_text_add(&owner, "%s", name);
    spyi_sl_type *type = spyi_sl_type_named(unit, live, spyi_text_str(&owner));
    spyi_text_free(&owner);
    if (type && SPYI_SL_FUNCTION(unit, spReflectionType_GetKind)(type) != SPYI_SL_KIND_STRUCT) type = NULL;
    return type;
}

spyi_sl_function *spyi_sl_find_function(spyi_unit *unit, spyi_sl_live *live, const char *name,
                                        spyi_sl_type **constructed) {
    spyi_sl_function *f = NULL;
    *constructed = NULL;
    live->kept_kib += 1;
    if (spyi_sl_name_is_safe(name))
        f = SPYI_SL_FUNCTION(unit, spReflection_FindFunctionByName)(live->layout, name);
    if (!f && name && (*constructed = spyi_sl_constructed(unit, live, name)) != NULL)
        f = SPYI_SL_FUNCTION(unit, spReflection_FindFunctionByNameInType)(live->layout, *constructed,
                                                                          "$init");
    if (!f) return NULL;
    bool set = SPYI_SL_FUNCTION(unit, spReflectionFunction_isOverloaded)(f);
    if (set && SPYI_SL_FUNCTION(unit, spReflectionFunction_getOverloadCount)(f) == 0) return NULL;
    // Slang finds a property as a function without a result type.
    if (!set && !SPYI_SL_FUNCTION(unit, spReflectionFunction_GetResultType)(f)) return NULL;
    return f;
}

// Appends a parameter to the signature's list and to its text.
static void spyi_sl_add_param(spyi_signature *out, const spyi_param *p, spyi_text *text) {
    spyi_text_add(text, "%s%s%s%s %s%s", out->param_count ? ", " : "", p->no_diff ? "no_diff " : "",
                  p->out ? (p->in ? "inout " : "out ") : "", p->type->display, p->name,
                  p->has_default ? " = ..." : "");
    out->params[out->param_count++] = *p;
}

spyi_sl_direction spyi_sl_direction_of(const spyi_sl_library *lib, spyi_sl_variable *variable) {
    spyi_sl_direction d;
    bool out = lib->spReflectionVariable_FindModifier(variable, SPYI_SL_MODIFIER_OUT) != NULL,
         inout = lib->spReflectionVariable_FindModifier(variable, SPYI_SL_MODIFIER_INOUT) != NULL;
    d.in_written = lib->spReflectionVariable_FindModifier(variable, SPYI_SL_MODIFIER_IN) != NULL;
    d.out = out || inout;
    d.in = !out || inout || d.in_written; // `in out` is `inout`
    return d;
}

void spyi_sl_to_signature(spyi_unit *unit, spyi_sl_live *live, spyi_sl_function *function, const char *name,
                          spyi_sl_type *constructed, bool specialised, spyi_signature *out) {
    const spyi_sl_library *lib = unit->compiler->library;
    size_t prefix = 0;
    const char *last = spyi_sl_last_part(name, &prefix), *own = lib->spReflectionFunction_GetName(function);
    memset(out, 0, sizeof *out);
    // Sets out->generic if the function is generic, and its arguments were neither inferred nor written in
    // the name. "GS<half,3>::f" is generic only if f itself has generic parameters.
    spyi_sl_generic *generic = lib->spReflectionFunction_GetGenericContainer(function);
    const char *generic_name = generic ? lib->spReflectionGeneric_GetName(generic) : NULL;
    bool owns = !generic_name || !own || strcmp(generic_name, own) == 0;
    out->generic =
        !specialised && generic && !constructed && (!strchr(name, '<') || (owns && !strchr(last, '<')));
    out->differentiable =
        lib->spReflectionFunction_FindModifier(function, SPYI_SL_MODIFIER_DIFFERENTIABLE) != NULL;
    out->result = constructed ? spyi_sl_to_type(unit, live, constructed, false)
                              : spyi_sl_to_type(unit, live, lib->spReflectionFunction_GetResultType(function),
                                                out->generic);
    bool method = !constructed && spyi_sl_needs_instance(unit, live, function, name);
    out->callee = constructed ? SPYI_CALLEE_CONSTRUCTOR : method ? SPYI_CALLEE_METHOD : SPYI_CALLEE_FUNCTION;
    out->spelling = spyi_strdup(constructed ? out->result->name : method ? last : name);
    unsigned count = lib->spReflectionFunction_GetParameterCount(function);
    out->params = (spyi_param *)spyi_calloc(count + 2, sizeof *out->params);
    spyi_text text = { NULL, 0, 0 };
    if (!constructed) spyi_text_add(&text, "%s ", out->result->display);
    spyi_text_add(&text, "%.*s(",
                  (int)(strchr(name, '<') && specialised ? (last - name) + (ptrdiff_t)strcspn(last, "<")
                                                         : (ptrdiff_t)strlen(name)),
                  name);
    if (method && out->params) {
        spyi_param p;
        memset(&p, 0, sizeof p);
        p.name = spyi_strdup("this");
        p.type = spyi_sl_to_type(unit, live, spyi_sl_owner(unit, live, name), false);
        p.in = true;
        p.out = lib->spReflectionFunction_FindModifier(function, SPYI_SL_MODIFIER_MUTATING) != NULL;
        spyi_sl_add_param(out, &p, &text);
    }
    for (unsigned i = 0; i < count && out->params; ++i) {
        spyi_sl_variable *v = lib->spReflectionFunction_GetParameter(function, i);
        spyi_sl_type *type = v ? lib->spReflectionVariable_GetType(v) : NULL;
        const char *param_name = v ? lib->spReflectionVariable_GetName(v) : NULL;
        spyi_param p;
        memset(&p, 0, sizeof p);
        if (!v) continue;
        p.type = spyi_sl_to_type(unit, live, type, out->generic);
        // Slang lists an empty parameter pack as one parameter whose type has no name. It takes no argument.
        if (p.type->kind == SPYI_TYPE_OTHER && strcmp(p.type->name, "?") == 0 && specialised) continue;
        p.name = spyi_strdup(param_name ? param_name : "");
        spyi_sl_direction direction = spyi_sl_direction_of(lib, v);
        p.out = direction.out;
        p.in = direction.in;
        p.no_diff = lib->spReflectionVariable_FindModifier(v, SPYI_SL_MODIFIER_NO_DIFF) != NULL;
        p.has_default = lib->spReflectionVariable_HasDefaultValue(v);
        spyi_sl_add_param(out, &p, &text);
    }
    spyi_text_add(&text, ")");
    out->display = spyi_strdup(spyi_text_str(&text));
    spyi_text_free(&text);
}

bool spyi_sl_is_declared(spyi_unit *unit, spyi_sl_live *live, spyi_sl_function *function) {
    const spyi_sl_library *lib = unit->compiler->library;
    spyi_sl_decl *root = lib->spReflectionFunction_asDecl(function);
    for (spyi_sl_decl *up = root; up; up = lib->spReflectionDecl_getParent(up)) root = up;
    spyi_sl_int count = live->session->v->getLoadedModuleCount(live->session);
    for (spyi_sl_int m = 0; m < count; ++m) {
        spyi_sl_module *module = live->session->v->getLoadedModule(live->session, m);
        if (module && module->v->getModuleReflection(module) == root) return true;
    }
    return false;
}

// Marks Slang's own overloads as built_in if a set of overloads has both Slang's and a user's functions, as
// for a user's function `step`.
static void spyi_sl_mark_built_in(spyi_unit *unit, spyi_sl_live *live, spyi_sl_function *found,
                                  spyi_overloads *out) {
    bool any = false;
    for (uint32_t i = 0; i < out->count; ++i) {
        bool declared = spyi_sl_is_declared(unit, live, spyi_sl_overload(unit, found, i));
        out->items[i].built_in = !declared;
        any = any || declared;
    }
    for (uint32_t i = 0; i < out->count && !any; ++i) out->items[i].built_in = false;
}

// Removes Slang's own overloads beside a user's one CUDA kernel of the name, such as a kernel `step`: a launch
// means the kernel.
static void spyi_sl_keep_kernel(spyi_unit *unit, spyi_sl_live *live, const char *name, spyi_overloads *out) {
    uint32_t users = 0, kept = 0;
    for (uint32_t i = 0; i < out->count; ++i) users += !out->items[i].built_in;
    if (users != 1 || out->count == 1 || !spyi_sl_is_cuda_kernel(unit, live, name)) return;
    for (uint32_t i = 0; i < out->count; ++i) {
        if (out->items[i].built_in) spyi_signature_free(&out->items[i]);
        else out->items[kept++] = out->items[i];
    }
    out->count = kept;
}

typedef struct spyi_sl_finding_function {
    const char *name;
    spyi_overloads *out;
} spyi_sl_finding_function;

static void spyi_sl_ask_function(spyi_unit *unit, spyi_sl_live *live, void *context) {
    spyi_sl_finding_function *f = (spyi_sl_finding_function *)context;
    spyi_overloads *out = f->out;
    spyi_sl_type *constructed = NULL;
    spyi_sl_function *found = spyi_sl_find_function(unit, live, f->name, &constructed);
    uint32_t count = found ? spyi_sl_overload_count(unit, found) : 0;
    out->items = (spyi_signature *)spyi_calloc(count + 1, sizeof *out->items);
    for (uint32_t i = 0; i < count && out->items; ++i)
        spyi_sl_to_signature(unit, live, spyi_sl_overload(unit, found, i), f->name, constructed, false,
                             &out->items[out->count++]);
    if (count > 1 && out->items && !constructed) {
        spyi_sl_mark_built_in(unit, live, found, out);
        spyi_sl_keep_kernel(unit, live, f->name, out);
    }
    for (uint32_t i = 0; i < out->count; ++i)
        for (uint32_t p = 0; p < out->items[i].param_count; ++p)
            out->takes_pairs = out->takes_pairs || spyi_type_holds_pair(out->items[i].params[p].type) ||
                               strncmp(out->items[i].params[p].type->name, "DiffTensorView<", 15) == 0;
}

static void spyi_sl_overloads_fields(spyi_stream *r, void *answer) {
    spyi_overloads *o = (spyi_overloads *)answer;
    void *items = o->items;
    spyi_stream_list(r, &o->count, SPYI_SL_MOST_OVERLOADS, &items, sizeof *o->items);
    o->items = (spyi_signature *)items;
    for (uint32_t i = 0; i < o->count; ++i) spyi_signature_fields(r, &o->items[i]);
    spyi_stream_bool(r, &o->takes_pairs);
}

// A shader, and a function for dispatches, is run by its name alone and without a choice among overloads. If the
// module has one such function of this name, as a shader `lerp` or `min`, drops Slang's own functions beside it.
static void spyi_drop_built_in(spyi_unit *unit, const char *name, spyi_overloads *overloads) {
    uint32_t at = overloads->count, own = 0;
    for (uint32_t i = 0; i < overloads->count; ++i) {
        own += !overloads->items[i].built_in;
        if (!overloads->items[i].built_in) at = i;
    }
    if (own != 1 || overloads->count == 1) return;
    const spyi_signature *signature = &overloads->items[at];
    if (!(signature->param_count && strcmp(signature->params[0].name, "dispatchThreadID") == 0) &&
        !spyi_unit_is_shader(unit, name))
        return;
    spyi_signature kept = *signature;
    for (uint32_t i = 0; i < overloads->count; ++i)
        if (i != at) spyi_signature_free(&overloads->items[i]);
    overloads->items[0] = kept;
    overloads->count = 1;
}

spy_status spyi_unit_find_function(spyi_unit *unit, const char *name, spyi_overloads *out, spyi_text *error) {
    spyi_sl_finding_function f;
    spyi_memo m;
    memset(out, 0, sizeof *out);
    f.name = name;
    f.out = out;
    spy_status status = SPY_OK;
    spyi_memo_ask(&m, unit, 'f', name);
    if (!spyi_memo_recall(&m, spyi_sl_overloads_fields, out)) {
        spyi_overloads_free(out);
        status = spyi_sl_ask(unit, 1, "find a function", spyi_sl_ask_function, &f, error);
        if (status == SPY_OK && out->items) spyi_memo_keep(&m, spyi_sl_overloads_fields, out);
    }
    spyi_memo_end(&m);
    if (status == SPY_OK && out->items) spyi_drop_built_in(unit, name, out);
    if (status != SPY_OK || out->items) return status;
    spyi_text_add(error, "out of host memory");
    return SPY_ERROR_OUT_OF_MEMORY;
}

void spyi_signature_free(spyi_signature *signature) {
    if (!signature) return;
    for (uint32_t i = 0; i < signature->param_count; ++i) free((void *)(uintptr_t)signature->params[i].name);
    free(signature->params);
    free(signature->display);
    free(signature->spelling);
    memset(signature, 0, sizeof *signature);
}

void spyi_overloads_free(spyi_overloads *overloads) {
    if (!overloads) return;
    for (uint32_t i = 0; i < overloads->count; ++i) spyi_signature_free(&overloads->items[i]);
    free(overloads->items);
    memset(overloads, 0, sizeof *overloads);
}

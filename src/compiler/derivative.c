// Finds out whether a function has a forward or backward derivative. Reflection does not tell: it shows one
// mark for [Differentiable], [ForwardDifferentiable] and the attributes that name a derivative, and
// [BackwardDerivativeOf] stands at another function. If a kernel differentiates a function without
// derivative, libslang accepts it if the result is an out parameter, as in our kernels: it takes the function
// for a constant, or crashes. So a query that calls bwd_diff(function) or fwd_diff(function) is compiled.
#include "compiler/internal.h"

static bool spyi_sl_is_differentiable(spyi_unit *unit, const spyi_type *type) {
    return type->kind != SPYI_TYPE_VOID && spyi_unit_conforms(unit, type, "IDifferentiable");
}

// Writes a query that calls bwd_diff(function) or fwd_diff(function) with variables of the types that it
// takes.
static void spyi_sl_derivative_query(spyi_unit *unit, const spyi_signature *s, bool backward,
                                     spyi_text *out) {
    spyi_text call = { NULL, 0, 0 };
    spyi_text_add(out, "import %s;\nvoid spyi_query()\n{\n", unit->name);
    for (uint32_t i = 0; i < s->param_count; ++i) {
        const spyi_param *p = &s->params[i];
        bool active = !p->no_diff && spyi_sl_is_differentiable(unit, p->type);
        if (backward && !active && p->out && !p->in) continue;
        spyi_text_add(out,
                      active && (p->in || !backward) ? "    DifferentialPair<%s> a%u;\n"
                      : active                       ? "    %s.Differential a%u;\n"
                                                     : "    %s a%u;\n",
                      p->type->name, i);
        spyi_text_add(&call, "%sa%u", call.size ? ", " : "", i);
    }
    if (backward && spyi_sl_is_differentiable(unit, s->result)) {
        spyi_text_add(out, "    %s.Differential d;\n", s->result->name);
        spyi_text_add(&call, "%sd", call.size ? ", " : "");
    }
    spyi_text_add(out, "    %s(%s)(%s);\n}\n", backward ? "bwd_diff" : "fwd_diff", s->spelling,
                  spyi_text_str(&call));
    spyi_text_free(&call);
}

// Writes a query for a constructor or method: a differentiable function that returns the call's result.
// bwd_diff does not accept the name of a constructor, and libslang crashes at bwd_diff of a module's method.
static void spyi_sl_return_query(spyi_unit *unit, const spyi_signature *s, spyi_text *out) {
    spyi_text call = { NULL, 0, 0 };
    bool method = s->callee == SPYI_CALLEE_METHOD;
    spyi_text_add(out, "import %s;\n[Differentiable] %s spyi_query(", unit->name, s->result->name);
    for (uint32_t i = 0; i < s->param_count; ++i) {
        const spyi_param *p = &s->params[i];
        spyi_text_add(out, "%s%s%s%s a%u", i ? ", " : "", p->no_diff ? "no_diff " : "",
                      !p->out ? ""
                      : p->in ? "inout "
                              : "out ",
                      p->type->name, i);
        if (!method || i) spyi_text_add(&call, "%sa%u", call.size ? ", " : "", i);
    }
    spyi_text_add(out, ")\n{\n    return %s%s(%s);\n}\n", method ? "a0." : "", s->spelling,
                  spyi_text_str(&call));
    spyi_text_free(&call);
}

static bool spyi_sl_derivative_known(const spyi_unit *unit, uint64_t query) {
    for (uint32_t i = 0; i < unit->derivative_count; ++i)
        if (unit->derivatives[i] == query) return true;
    return false;
}

static void spyi_sl_derivative_keep(spyi_unit *unit, uint64_t query) {
    uint64_t *kept = (uint64_t *)spyi_realloc(unit->derivatives,
                                              (unit->derivative_count + 1u) * sizeof *unit->derivatives);
    if (!kept) return; // the query is repeated next time
    kept[unit->derivative_count++] = query;
    unit->derivatives = kept;
}

// Returns whether the query of a marked function failed because it has no derivative. Other errors come from
// the query itself: some types cannot be written in a query, and the arguments may choose another overload.
static bool spyi_sl_lacks_derivative(const spyi_signature *s, const char *why) {
    if (s->callee != SPYI_CALLEE_FUNCTION) return strstr(why, "E41022") != NULL;
    return (strstr(why, "'bwd_diff' is not a member") || strstr(why, "'fwd_diff' is not a member")) &&
           !strstr(why, "E30019");
}

bool spyi_unit_has_derivative(spyi_unit *unit, const spyi_signature *signature, bool backward,
                              spyi_text *why) {
    bool marked = signature->differentiable, function = signature->callee == SPYI_CALLEE_FUNCTION;
    if (signature->generic) return marked;
    if (!function && (!marked || !backward || signature->result->kind == SPYI_TYPE_VOID)) return marked;
    spyi_text source = { NULL, 0, 0 };
    if (function) spyi_sl_derivative_query(unit, signature, backward, &source);
    else spyi_sl_return_query(unit, signature, &source);
    uint64_t query = spyi_hash(source.data, source.size, 0);
    bool has = spyi_sl_derivative_known(unit, query);
    if (!has) {
        has = spyi_sl_ask_source(unit, "derivative", &source, why) ||
              (marked && !spyi_sl_lacks_derivative(signature, spyi_text_str(why)));
        if (has) spyi_sl_derivative_keep(unit, query);
    }
    spyi_text_free(&source);
    return has;
}

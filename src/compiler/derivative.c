// Whether a function has a derivative in a mode. Reflection does not tell: it finds one mark for [Differentiable],
// [ForwardDifferentiable] and the attributes that name a derivative, and [BackwardDerivativeOf] stands elsewhere. libslang does
// not refuse what calls such a function, if the result leaves by an out parameter, as our kernels' do: it takes it for a constant,
// or crashes. So it is asked by a query that calls bwd_diff(function) or fwd_diff(function).
#include "compiler/internal.h"

static bool spyi_sl_is_differentiable(spyi_unit *unit, const spyi_type *type) {
    return type->kind != SPYI_TYPE_VOID && spyi_unit_conforms(unit, type, "IDifferentiable");
}

// A call of bwd_diff(function), or fwd_diff, with variables of the types that it then takes.
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

// Constructors have no name that bwd_diff takes, and of a module's methods libslang crashes at one that it takes: a differentiable
// function that returns what the call gives.
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
    uint64_t *kept =
        (uint64_t *)spyi_realloc(unit->derivatives, (unit->derivative_count + 1u) * sizeof *unit->derivatives);
    if (!kept) return; // it is asked again
    kept[unit->derivative_count++] = query;
    unit->derivatives = kept;
}

// Whether the query of a marked function failed for want of a derivative. What else it may say is the query's own fault: not all
// types can be written in one, and of overloads the arguments choose.
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

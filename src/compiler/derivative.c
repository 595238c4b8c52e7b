// Whether a function that is not marked as differentiable has a derivative all the same: [BackwardDerivativeOf] stands
// elsewhere, and reflection does not tell. libslang differentiates what calls it without a word, as a constant.
#include "compiler/internal.h"

static bool spyi_sl_is_differentiable(spyi_unit *unit, const spyi_type *type) {
    return type->kind != SPYI_TYPE_VOID && spyi_unit_conforms(unit, type, "IDifferentiable");
}

// A call of bwd_diff(function) with variables of the types that it then takes.
static void spyi_sl_derivative_query(spyi_unit *unit, const spyi_signature *s, spyi_text *out) {
    spyi_text call = { NULL, 0, 0 };
    spyi_text_add(out, "import %s;\nvoid spyi_query()\n{\n", unit->name);
    for (uint32_t i = 0; i < s->param_count; ++i) {
        const spyi_param *p = &s->params[i];
        bool active = !p->no_diff && spyi_sl_is_differentiable(unit, p->type);
        if (!active && p->out && !p->in) continue;
        spyi_text_add(out,
                      active && p->in ? "    DifferentialPair<%s> a%u;\n"
                      : active        ? "    %s.Differential a%u;\n"
                                      : "    %s a%u;\n",
                      p->type->name, i);
        spyi_text_add(&call, "%sa%u", call.size ? ", " : "", i);
    }
    if (spyi_sl_is_differentiable(unit, s->result)) {
        spyi_text_add(out, "    %s.Differential d;\n", s->result->name);
        spyi_text_add(&call, "%sd", call.size ? ", " : "");
    }
    spyi_text_add(out, "    bwd_diff(%s)(%s);\n}\n", s->spelling, spyi_text_str(&call));
    spyi_text_free(&call);
}

bool spyi_unit_has_derivative(spyi_unit *unit, const spyi_signature *signature, spyi_text *why) {
    if (signature->callee != SPYI_CALLEE_FUNCTION || signature->generic) return false;
    spyi_text source = { NULL, 0, 0 };
    spyi_sl_derivative_query(unit, signature, &source);
    bool has = spyi_sl_ask_source(unit, "derivative", &source, why);
    spyi_text_free(&source);
    return has;
}

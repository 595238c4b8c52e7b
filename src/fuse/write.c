// Writes a graph as a Slang module: one function, with a line for each call, and for a reduction the functions
// that the library calls.
#include <math.h>

#include "data/type_name.h"
#include "fuse/fusion.h"

typedef struct spyi_writing {
    const spy_fusion *g;
    const char *name;  // the name of the fused function
    uint32_t *uses;    // counts how often each step is an operand or output
    uint32_t *numbers; // the numbers of the steps' variables, from 1 in the order of lines
    bool differentiable;
    spyi_text steps;    // the functions of one step each, which carry a policy for backward calls
    const char *prefix; // the prefix of variables
    const char *inputs; // the prefix of parameters inside the body
    spyi_text lines;
} spyi_writing;

// >>numbers

// Writes a number of a scalar type so that Slang reads the same value.
static void spyi_write_number(const spyi_fused_step *s, spy_dtype as, spyi_text *out) {
    bool real = s->dtype >= SPY_DTYPE_FLOAT16, negative;
    bool is_unsigned =
        as == SPY_DTYPE_UINT8 || as == SPY_DTYPE_UINT16 || as == SPY_DTYPE_UINT32 || as == SPY_DTYPE_UINT64;
    bool from_unsigned = s->dtype == SPY_DTYPE_UINT64 || s->dtype == SPY_DTYPE_UINT32;
    double f = real ? s->value.f : from_unsigned ? (double)s->value.u : (double)s->value.i;
    if (as == SPY_DTYPE_BOOL) {
        spyi_text_add(out, s->value.u ? "true" : "false");
        return;
    }
    if (as >= SPY_DTYPE_FLOAT16) {
        char digits[64];
        if (f != f || f - f != 0) { // infinities and NaN have no literals in Slang
            const char *bits = f != f ? "0x7fc00000u" : f > 0 ? "0x7f800000u" : "0xff800000u";
            spyi_text_add(out,
                          as == SPY_DTYPE_FLOAT32   ? "asfloat(%s)"
                          : as == SPY_DTYPE_FLOAT64 ? "double(asfloat(%s))"
                                                    : "half(asfloat(%s))",
                          bits);
            return;
        }
        snprintf(digits, sizeof digits, as == SPY_DTYPE_FLOAT64 ? "%.17g" : "%.9g", f);
        if (as != SPY_DTYPE_FLOAT64) {
            for (int precision = 1; precision < 9; precision++) { // finds the shortest text that gives the
                                                                  // same float
                char shorter[64];
                snprintf(shorter, sizeof shorter, "%.*g", precision, f);
                if ((float)atof(shorter) != (float)f) continue;
                memcpy(digits, shorter, sizeof digits);
                break;
            }
        }
        for (char *c = digits; *c; c++)
            if (*c == ',') *c = '.'; // this is the decimal point of the locale
        bool point = strpbrk(digits, ".e") != NULL;
        negative = digits[0] == '-';
        spyi_text_add(out, negative ? "(%s%s%s)" : "%s%s%s", digits, point ? "" : ".0",
                      as == SPY_DTYPE_FLOAT64   ? "l"
                      : as == SPY_DTYPE_FLOAT16 ? "h"
                                                : "f");
        return;
    }
    const char *suffix = as == SPY_DTYPE_UINT64  ? "ull"
                         : as == SPY_DTYPE_INT64 ? "ll"
                         : is_unsigned           ? "u"
                                                 : "";
    bool small = as < SPY_DTYPE_INT32;
    static const char *const names[] = { "", "", "int8_t(", "uint8_t(", "int16_t(", "uint16_t(" };
    if (small) spyi_text_add(out, "%s", names[as]);
    if (from_unsigned) spyi_text_add(out, "%llu%s", (unsigned long long)s->value.u, suffix);
    else if (s->value.i == INT64_MIN) spyi_text_add(out, "(-9223372036854775807ll - 1ll)");
    else if (s->value.i == INT32_MIN && as == SPY_DTYPE_INT32) spyi_text_add(out, "(-2147483647 - 1)");
    else spyi_text_add(out, s->value.i < 0 && !small ? "(%lld%s)" : "%lld%s", (long long)s->value.i, suffix);
    if (small) spyi_text_add(out, ")");
}

static bool spyi_is_number_type(const spyi_type *type) {
    return type && (type->kind == SPYI_TYPE_SCALAR || type->kind == SPYI_TYPE_VECTOR ||
                    type->kind == SPYI_TYPE_MATRIX);
}

// >>expressions

static void spyi_write_value(const spyi_writing *w, uint32_t step, const spyi_type *beside, spyi_text *out);

// Writes an operand as a value of `type`, with a conversion where its own type differs.
static void spyi_write_as(const spyi_writing *w, uint32_t step, const spyi_type *type, spyi_text *out) {
    const spyi_fused_step *s = &w->g->steps[step];
    bool constant = s->kind == SPYI_STEP_CONSTANT && !s->typed;
    bool same = constant ? type->kind == SPYI_TYPE_SCALAR : s->type == type;
    if (!same) spyi_text_add(out, "%s(", spyi_spell(type));
    spyi_write_value(w, step, type, out);
    if (!same) spyi_text_add(out, ")");
}

static void spyi_write_list(const spyi_writing *w, const spyi_fused_step *s, const spyi_type *beside,
                            spyi_text *out) {
    for (uint32_t i = 0; i < s->count; i++) {
        if (i) spyi_text_add(out, ", ");
        spyi_write_value(w, s->operands[i], beside, out);
    }
}

// Writes a pattern in which $0, $1 and $2 stand for the operands, and @0, @1 and @2 for the operands as values of
// the step's type.
static void spyi_write_pattern(const spyi_writing *w, const spyi_fused_step *s, const char *pattern,
                               spyi_text *out) {
    for (; *pattern; pattern++) {
        size_t plain = strcspn(pattern, "$@");
        spyi_text_add_n(out, pattern, plain);
        pattern += plain;
        if (!*pattern) return;
        uint32_t step = s->operands[pattern[1] - '0'];
        if (*pattern++ == '@') spyi_write_as(w, step, s->type, out);
        else spyi_write_value(w, step, NULL, out);
    }
}

static void spyi_write_operator(const spyi_writing *w, const spyi_fused_step *s, spyi_text *out) {
    const spyi_fused_step *steps = w->g->steps;
    const spyi_type *a = steps[s->operands[0]].type, *b = s->count > 1 ? steps[s->operands[1]].type : NULL,
                    *beside = NULL;
    switch (s->form) {
    case SPYI_FORM_SIGN:
    case SPYI_FORM_NOT:
    case SPYI_FORM_INVERT:
        spyi_text_add(out, "(%s", s->name);
        spyi_write_pattern(w, s, "$0)", out);
        return;
    case SPYI_FORM_INDEX: spyi_write_pattern(w, s, "$0[$1]", out); return;
    case SPYI_FORM_NO_DIFF:
        spyi_write_pattern(w, s, spyi_type_has_floats(s->type) ? "detach($0)" : "($0)", out);
        return;
    case SPYI_FORM_CHOOSE:
        spyi_write_pattern(w, s, spyi_is_number_type(s->type) ? "select($0, @1, @2)" : "($0 ? @1 : @2)", out);
        return;
    case SPYI_FORM_BUILT_IN:
        for (uint32_t i = 0; i < s->count; i++) {
            const spyi_fused_step *o = &steps[s->operands[i]];
            if (o->kind != SPYI_STEP_CONSTANT && (!beside || beside->kind == SPYI_TYPE_SCALAR))
                beside = o->type;
        }
        spyi_text_add(out, "%s(", s->name);
        for (uint32_t i = 0; i < s->count; i++) {
            const spyi_fused_step *o = &steps[s->operands[i]];
            bool spread =
                beside && beside->kind == SPYI_TYPE_VECTOR && o->type && o->type->kind == SPYI_TYPE_SCALAR;
            if (i) spyi_text_add(out, ", ");
            if (spread) spyi_text_add(out, "%s(", spyi_spell(beside));
            spyi_write_value(w, s->operands[i], beside, out);
            if (spread) spyi_text_add(out, ")");
        }
        spyi_text_add(out, ")");
        return;
    case SPYI_FORM_LOGIC:
        if ((a && a->kind == SPYI_TYPE_VECTOR) || (b && b->kind == SPYI_TYPE_VECTOR)) {
            spyi_write_pattern(w, s, s->name[0] == '&' ? "and(@0, @1)" : "or(@0, @1)", out);
            return;
        }
        break;
    default: break;
    }
    // Slang 2026.14.1 gives a number no gradient where it stands left of a vector (2 * v is a vector times a
    // number). So a number beside a vector is made a vector, and goes behind a matrix.
    bool spread = s->form == SPYI_FORM_ARITHMETIC && s->type->kind == SPYI_TYPE_VECTOR;
    bool turned = a && b && a->kind == SPYI_TYPE_SCALAR && b->kind == SPYI_TYPE_MATRIX &&
                  (s->name[0] == '*' || s->name[0] == '+');
    spyi_text_add(out, "(");
    for (uint32_t i = 0; i < 2; i++) {
        uint32_t at = turned ? 1 - i : i;
        const spyi_fused_step *o = &steps[s->operands[at]];
        bool wraps = spread && o->type && o->type->kind == SPYI_TYPE_SCALAR && o->kind != SPYI_STEP_CONSTANT;
        if (i) spyi_text_add(out, " %s ", s->name);
        if (wraps) spyi_text_add(out, "%s(", spyi_spell(s->type));
        spyi_write_value(w, s->operands[at], at ? a : b, out);
        if (wraps) spyi_text_add(out, ")");
    }
    spyi_text_add(out, ")");
}

// Returns whether the step is written inside of the one expression that uses it.
static bool spyi_is_inside(const spyi_writing *w, uint32_t step) {
    const spyi_fused_step *s = &w->g->steps[step];
    return w->uses[step] == 1 &&
           (s->kind == SPYI_STEP_OPERATOR || s->kind == SPYI_STEP_MEMBER || s->kind == SPYI_STEP_MAKE);
}

static void spyi_write_expression(const spyi_writing *w, uint32_t step, spyi_text *out) {
    const spyi_fused_step *s = &w->g->steps[step];
    if (s->kind == SPYI_STEP_OPERATOR) {
        spyi_write_operator(w, s, out);
    } else if (s->kind == SPYI_STEP_MEMBER) {
        spyi_write_value(w, s->operands[0], NULL, out);
        spyi_text_add(out, ".%s", s->name);
    } else {
        spyi_text_add(out, "%s(", spyi_spell(s->type));
        spyi_write_list(w, s, s->type, out);
        spyi_text_add(out, ")");
    }
}

static void spyi_write_value(const spyi_writing *w, uint32_t step, const spyi_type *beside, spyi_text *out) {
    const spyi_fused_step *s = &w->g->steps[step];
    if (s->kind == SPYI_STEP_INPUT) {
        spyi_text_add(out, "%s%s", w->inputs, s->name);
    } else if (s->kind == SPYI_STEP_CONSTANT) {
        bool real = s->dtype >= SPY_DTYPE_FLOAT16, numbers = !s->typed && spyi_is_number_type(beside);
        numbers = numbers && s->dtype != SPY_DTYPE_BOOL && (!real || beside->scalar >= SPY_DTYPE_FLOAT16);
        spyi_write_number(s, numbers && beside->scalar != SPY_DTYPE_BOOL ? beside->scalar : s->dtype, out);
    } else if (s->kind == SPYI_STEP_OUT) {
        spyi_text_add(out, "%s%u_%s", w->prefix, w->numbers[s->operands[0]], s->name);
    } else if (spyi_is_inside(w, step)) {
        spyi_write_expression(w, step, out);
    } else {
        spyi_text_add(out, "%s%u", w->prefix, w->numbers[step]);
    }
}

// >>lines

// Writes a function of its own for a step, which tells Slang whether a backward call computes the step again
// or keeps its value. Such a function has no out parameters.
static bool spyi_write_policy(spyi_writing *w, uint32_t step) {
    const spyi_fused_step *s = &w->g->steps[step];
    bool recompute = w->g->backward == SPY_FUSE_BACKWARD_RECOMPUTE;
    bool can = w->differentiable && w->g->backward && !s->no_diff && s->type->kind != SPYI_TYPE_VOID;
    for (uint32_t p = 0; p < s->param_count; p++) can = can && !s->params[p].out;
    if (!can) return false;
    spyi_text head = { NULL, 0, 0 }, call = { NULL, 0, 0 };
    bool method = s->callee == SPYI_CALLEE_METHOD;
    for (uint32_t p = 0; p < s->param_count && s->params[p].operand >= 0; p++) {
        spyi_text_add(&head, "%s%s a%u", p ? ", " : "", spyi_spell(s->params[p].type), p);
        if (method && p == 0) continue;
        spyi_text_add(&call, "%sa%u", p > (method ? 1u : 0u) ? ", " : "", p);
    }
    spyi_text_add(&w->steps, "\n[Differentiable]\n[%s]\n%s %s_step%u(%s)\n{\n    return %s%s(%s);\n}\n",
                  recompute ? "PreferRecompute" : "PreferCheckpoint", spyi_spell(s->type), w->name,
                  w->numbers[step], spyi_text_str(&head), method ? "a0." : "", s->spelling,
                  spyi_text_str(&call));
    spyi_text_free(&head);
    spyi_text_free(&call);
    return true;
}

static void spyi_write_call(spyi_writing *w, uint32_t step) {
    const spyi_fused_step *s = &w->g->steps[step];
    if (spyi_write_policy(w, step)) {
        spyi_text_add(&w->lines, "    let %s%u = %s_step%u(", w->prefix, w->numbers[step], w->name,
                      w->numbers[step]);
        for (uint32_t p = 0; p < s->param_count && s->params[p].operand >= 0; p++) {
            if (p) spyi_text_add(&w->lines, ", ");
            spyi_write_value(w, s->operands[s->params[p].operand], s->params[p].type, &w->lines);
        }
        spyi_text_add(&w->lines, ");\n");
        return;
    }
    spyi_text call = { NULL, 0, 0 };
    bool method = s->callee == SPYI_CALLEE_METHOD, first = true;
    // A parameter that a function writes to needs a variable.
    for (uint32_t p = 0; p < s->param_count; p++) {
        const spyi_step_param *q = &s->params[p];
        if (!q->out) continue;
        spyi_text_add(&w->lines, "    %s %s%u_%s", spyi_spell(q->type), w->prefix, w->numbers[step], q->name);
        if (q->operand >= 0) {
            spyi_text_add(&w->lines, " = ");
            spyi_write_value(w, s->operands[q->operand], q->type, &w->lines);
        }
        spyi_text_add(&w->lines, ";\n");
    }
    for (uint32_t p = 0; p < s->param_count; p++) {
        const spyi_step_param *q = &s->params[p];
        if (q->operand < 0 && !q->out) break; // the parameters from here on keep their defaults
        if (method && p == 0) {
            if (q->out) spyi_text_add(&call, "%s%u_%s", w->prefix, w->numbers[step], q->name);
            else spyi_write_value(w, s->operands[q->operand], q->type, &call);
            spyi_text_add(&call, ".%s(", s->spelling);
            continue;
        }
        if (!first) spyi_text_add(&call, ", ");
        else if (!method) spyi_text_add(&call, "%s(", s->spelling);
        first = false;
        if (q->out) spyi_text_add(&call, "%s%u_%s", w->prefix, w->numbers[step], q->name);
        else spyi_write_value(w, s->operands[q->operand], q->type, &call);
    }
    if (first && !method) spyi_text_add(&call, "%s(", s->spelling);
    if (s->type->kind == SPYI_TYPE_VOID) spyi_text_add(&w->lines, "    ");
    else spyi_text_add(&w->lines, "    let %s%u = ", w->prefix, w->numbers[step]);
    spyi_text_add(&w->lines, "%s%s);\n", s->no_diff ? "no_diff " : "", spyi_text_str(&call));
    spyi_text_free(&call);
}

static void spyi_write_step(spyi_writing *w, uint32_t step) {
    const spyi_fused_step *s = &w->g->steps[step];
    if (s->kind == SPYI_STEP_CALL) {
        spyi_write_call(w, step);
    } else if (s->kind == SPYI_STEP_FIELDS) {
        spyi_text_add(&w->lines, "    %s %s%u;\n", spyi_spell(s->type), w->prefix, w->numbers[step]);
        for (uint32_t i = 0; i < s->count; i++) {
            const spyi_type *field = NULL;
            for (uint32_t f = 0; f < s->type->field_count; f++)
                if (strcmp(s->type->fields[f].name, s->names[i]) == 0) field = s->type->fields[f].type;
            spyi_text_add(&w->lines, "    %s%u.%s = ", w->prefix, w->numbers[step], s->names[i]);
            spyi_write_value(w, s->operands[i], field, &w->lines);
            spyi_text_add(&w->lines, ";\n");
        }
    } else if (s->kind >= SPYI_STEP_MAKE && w->uses[step] && !spyi_is_inside(w, step)) {
        spyi_text_add(&w->lines, "    let %s%u = ", w->prefix, w->numbers[step]);
        spyi_write_expression(w, step, &w->lines);
        spyi_text_add(&w->lines, ";\n");
    }
}

// >>the module

// Returns whether a parameter's name is also that of a function or type that the body uses.
static bool spyi_is_called(const spy_fusion *g, const char *name) {
    for (uint32_t i = 1; i < g->count; i++) {
        const spyi_fused_step *s = &g->steps[i];
        const char *called = s->kind == SPYI_STEP_CALL && s->callee != SPYI_CALLEE_METHOD ? s->spelling
                             : s->kind == SPYI_STEP_MAKE || s->kind == SPYI_STEP_FIELDS ? spyi_spell(s->type)
                             : s->kind == SPYI_STEP_OPERATOR                            ? s->name
                                                                                        : NULL;
        size_t n = strlen(name);
        if (called && strncmp(called, name, n) == 0 && !spyi_is_word(called[n])) return true;
    }
    return false;
}

static bool spyi_is_variable(const char *name, const char *prefix) {
    size_t n = strlen(prefix);
    return strncmp(name, prefix, n) == 0 && name[n] >= '0' && name[n] <= '9';
}

// Writes the parameters: inputs, then outputs. `prefix` stands before the names, With `types` their types are
// written too.
static void spyi_write_parameters(const spy_fusion *g, const char *prefix, bool types, bool no_diff,
                                  bool outputs, spyi_text *out) {
    const char *comma = "";
    for (uint32_t i = 1; i < g->count; i++) {
        const spyi_fused_step *s = &g->steps[i];
        if (s->kind != SPYI_STEP_INPUT) continue;
        spyi_text_add(out, "%s", comma);
        if (types) spyi_text_add(out, "%s%s ", no_diff ? "no_diff " : "", spyi_spell(s->type));
        spyi_text_add(out, "%s%s", prefix, s->name);
        comma = ", ";
    }
    for (uint32_t i = 0; i < g->output_count && outputs; i++) {
        const spyi_fused_output *o = &g->outputs[i];
        if (strcmp(o->name, "_result") == 0) continue;
        spyi_text_add(out, "%s", comma);
        if (types) spyi_text_add(out, "out %s ", spyi_spell(g->steps[o->step].type));
        spyi_text_add(out, "%s%s", prefix, o->name);
        comma = ", ";
    }
}

static const spyi_type *spyi_returned(const spy_fusion *g) {
    for (uint32_t i = 0; i < g->output_count; i++)
        if (strcmp(g->outputs[i].name, "_result") == 0) return g->steps[g->outputs[i].step].type;
    return NULL;
}

// Writes the functions that the library calls for a reduction. total()'s "gradient" with respect to total_ is
// the element, so that the code which sums gradients over threads and groups reduces the elements.
static void spyi_write_reduction(const spy_fusion *g, const char *name, bool differentiable, spyi_text *out) {
    const spyi_type *type = spyi_returned(g);
    const char *t = spyi_spell(type), *scale = g->reduction == SPY_FUSE_REDUCTION_MEAN ? " * scale_" : "";
    spyi_text typed = { NULL, 0, 0 }, plain = { NULL, 0, 0 }, bare = { NULL, 0, 0 };
    spyi_write_parameters(g, "", true, true, false, &typed);
    spyi_write_parameters(g, "", true, false, false, &plain);
    spyi_write_parameters(g, "", false, false, false, &bare);
    const char *comma = typed.size ? ", " : "";
    const char *scalar = type->scalar == SPY_DTYPE_FLOAT64 ? "double" : "float";
    bool mean = g->reduction == SPY_FUSE_REDUCTION_MEAN, extreme = g->reduction >= SPY_FUSE_REDUCTION_MIN;
    spyi_text_add(out,
                  "\n// What calls name: the library reduces its results over the call.\n%s%s %s(%s)\n{\n    "
                  "return %s_element(%s);\n}\n",
                  differentiable ? "[Differentiable]\n" : "", t, name, spyi_text_str(&plain), name,
                  spyi_text_str(&bare));
    spyi_text_add(
        out,
        "\n// Reduces the elements: what a backward call adds to the gradient of total_ is one element.\n");
    spyi_text_add(out, "void %s_total_bwd(%s%sinout DifferentialPair<%s> total_, ", name,
                  spyi_text_str(&plain), comma, t);
    if (mean) spyi_text_add(out, "%s scale_, ", scalar);
    spyi_text_add(out, "float one_)\n{\n    total_ = diffPair(total_.p, %s(%s_element(%s)%s));\n}\n", t, name,
                  spyi_text_str(&bare), scale);
    spyi_text_add(out, "[BackwardDerivative(%s_total_bwd)]\nfloat %s_total(%s%s%s total_", name, name,
                  spyi_text_str(&typed), comma, t);
    if (mean) spyi_text_add(out, ", no_diff %s scale_", scalar);
    spyi_text_add(out, ")\n{\n    return 0;\n}\n");
    if (differentiable) {
        bool one = type->kind == SPYI_TYPE_SCALAR;
        spyi_text_add(out, "\n// Its gradients are those of the reduction whose result has the gradient "
                           "seed_.\n[Differentiable]\n");
        spyi_text_add(out, "%s %s_seeded(%s%sno_diff %s seed_", scalar, name, spyi_text_str(&plain), comma,
                      t);
        if (mean) spyi_text_add(out, ", no_diff %s scale_", scalar);
        if (extreme) spyi_text_add(out, ", no_diff %s value_", t);
        spyi_text_add(out, ")\n{\n    let element_ = %s_element(%s);\n", name, spyi_text_str(&bare));
        if (extreme) spyi_text_add(out, "    let chosen_ = select(element_ == value_, seed_, %s(0));\n", t);
        spyi_text_add(
            out, one ? "    return %s(element_ * %s)%s;\n}\n" : "    return %s(dot(element_, %s))%s;\n}\n",
            scalar, extreme ? "chosen_" : "seed_", scale);
    }
    spyi_text_free(&typed);
    spyi_text_free(&plain);
    spyi_text_free(&bare);
}

static void spyi_count_uses(const spy_fusion *g, uint32_t *uses) {
    for (uint32_t i = 1; i < g->count; i++)
        for (uint32_t k = 0; k < g->steps[i].count; k++) uses[g->steps[i].operands[k]]++;
    for (uint32_t i = 0; i < g->output_count; i++) uses[g->outputs[i].step]++;
}

// Makes a line of its own of an expression that would be nested deeper than 64, because parsers recurse.
static void spyi_limit_nesting(spyi_writing *w) {
    const spy_fusion *g = w->g;
    uint32_t *depths = w->numbers; // these numbers are free until the lines are numbered
    for (uint32_t i = 1; i < g->count; i++) {
        uint32_t deepest = 0;
        for (uint32_t k = 0; k < g->steps[i].count; k++) {
            uint32_t o = g->steps[i].operands[k];
            if (spyi_is_inside(w, o) && depths[o] > deepest) deepest = depths[o];
        }
        depths[i] = deepest + 1;
        if (deepest < 63 || !spyi_is_inside(w, i)) continue;
        w->uses[i] = 2;
        depths[i] = 0;
    }
    memset(depths, 0, (g->count + 1) * sizeof *depths);
}

SPYI_FN void spyi_fusion_write(const spy_fusion *g, const char *name, bool differentiable, spyi_text *out) {
    static const char *const libraries[] = { "slangpy", "slangpy_diff", "slangpy_texture", "slangpy_print" };
    spyi_writing w;
    memset(&w, 0, sizeof w);
    w.g = g;
    w.prefix = "t";
    w.inputs = "";
    w.uses = (uint32_t *)spyi_calloc(g->count + 1, sizeof *w.uses);
    w.numbers = (uint32_t *)spyi_calloc(g->count + 1, sizeof *w.numbers);
    w.name = name;
    w.differentiable = differentiable;
    if (!w.uses || !w.numbers) {
        free(w.uses);
        free(w.numbers);
        return;
    }
    spyi_count_uses(g, w.uses);
    spyi_limit_nesting(&w);
    uint32_t calls = 0;
    for (uint32_t i = 1; i < g->count; i++) {
        const spyi_fused_step *s = &g->steps[i];
        calls += s->kind == SPYI_STEP_CALL;
        if (s->kind != SPYI_STEP_INPUT) continue;
        if (spyi_is_variable(s->name, "t")) w.prefix = "step";
        if (spyi_is_called(g, s->name)) w.inputs = "in_";
    }
    for (uint32_t i = 0; i < g->output_count; i++) {
        if (spyi_is_variable(g->outputs[i].name, "t")) w.prefix = "step";
        if (spyi_is_called(g, g->outputs[i].name)) w.inputs = "in_";
    }
    const spyi_type *returned = spyi_returned(g);
    const char *result = returned ? spyi_spell(returned) : "void";
    const char *mark = differentiable ? "[Differentiable]\n" : "";
    spyi_text_add(out, "// %s: %u call%s in one function, written by spy_fuse_end().\n", name, calls,
                  calls == 1 ? "" : "s");
    for (uint32_t i = 0; i < g->module_count; i++)
        spyi_text_add(out, "import %s;\n", spyi_unit_name(g->modules[i]->unit));
    for (size_t l = 0; l < sizeof libraries / sizeof libraries[0]; l++)
        for (uint32_t i = 0; i < g->module_count; i++)
            if (spyi_unit_imports(g->modules[i]->unit, libraries[l])) {
                spyi_text_add(out, "import %s;\n", libraries[l]);
                break;
            }
    bool renamed = w.inputs[0] != 0;
    const char *element = g->reduction ? "_element" : "";
    for (uint32_t i = 1, number = 0; i < g->count; i++) {
        bool line = g->steps[i].kind == SPYI_STEP_CALL || g->steps[i].kind == SPYI_STEP_FIELDS ||
                    (g->steps[i].kind >= SPYI_STEP_MAKE && w.uses[i] && !spyi_is_inside(&w, i));
        if (line) w.numbers[i] = ++number;
    }
    for (uint32_t i = 1; i < g->count; i++) spyi_write_step(&w, i);
    spyi_text_add(out, "%s", spyi_text_str(&w.steps));
    spyi_text_add(out, "\n%s%s %s%s%s(", mark, result, name, element, renamed ? "_body" : "");
    spyi_write_parameters(g, w.inputs, true, false, true, out);
    spyi_text_add(out, ")\n{\n%s", spyi_text_str(&w.lines));
    for (int last = 0; last < 2; last++) // the last turn writes the returned result behind the assignments
        for (uint32_t i = 0; i < g->output_count; i++) {
            bool returns = strcmp(g->outputs[i].name, "_result") == 0;
            if (returns != (last == 1)) continue;
            if (returns) spyi_text_add(out, "    return ");
            else spyi_text_add(out, "    %s%s = ", w.inputs, g->outputs[i].name);
            spyi_write_as(&w, g->outputs[i].step, g->steps[g->outputs[i].step].type, out);
            spyi_text_add(out, ";\n");
        }
    spyi_text_add(out, "}\n");
    if (renamed) { // inside the body, the names of these parameters are those of functions
        spyi_text_add(out, "\n%s%s %s%s(", mark, result, name, element);
        spyi_write_parameters(g, "", true, false, true, out);
        spyi_text_add(out, ")\n{\n    %s%s%s_body(", returned ? "return " : "", name, element);
        spyi_write_parameters(g, "", false, false, true, out);
        spyi_text_add(out, ");\n}\n");
    }
    if (g->reduction) spyi_write_reduction(g, name, differentiable, out);
    spyi_text_free(&w.lines);
    spyi_text_free(&w.steps);
    free(w.numbers);
    free(w.uses);
}

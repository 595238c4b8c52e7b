// The types of a graph's steps. Arithmetic follows Slang's rules for numbers, vectors and matrices; the type
// of a call is that of the overload which Slang chooses. An input without a type takes that of the first
// parameter that all overloads agree on.
#include "data/scalars.h"
#include "data/type_name.h"
#include "fuse/fusion.h"

// >>names

typedef struct spyi_operator {
    const char *name;
    uint32_t count;
    spyi_operator_form form;
} spyi_operator;

SPYI_FN bool spyi_operator_find(const char *op, uint32_t count, spyi_operator_form *form) {
    static const spyi_operator operators[] = {
        { "+", 2, SPYI_FORM_ARITHMETIC }, { "-", 2, SPYI_FORM_ARITHMETIC },
        { "*", 2, SPYI_FORM_ARITHMETIC }, { "/", 2, SPYI_FORM_ARITHMETIC },
        { "%", 2, SPYI_FORM_ARITHMETIC }, { "<", 2, SPYI_FORM_COMPARE },
        { "<=", 2, SPYI_FORM_COMPARE },   { ">", 2, SPYI_FORM_COMPARE },
        { ">=", 2, SPYI_FORM_COMPARE },   { "==", 2, SPYI_FORM_COMPARE },
        { "!=", 2, SPYI_FORM_COMPARE },   { "&&", 2, SPYI_FORM_LOGIC },
        { "||", 2, SPYI_FORM_LOGIC },     { "&", 2, SPYI_FORM_BITS },
        { "|", 2, SPYI_FORM_BITS },       { "^", 2, SPYI_FORM_BITS },
        { "<<", 2, SPYI_FORM_BITS },      { ">>", 2, SPYI_FORM_BITS },
        { "-", 1, SPYI_FORM_SIGN },       { "!", 1, SPYI_FORM_NOT },
        { "~", 1, SPYI_FORM_INVERT },     { "[]", 2, SPYI_FORM_INDEX },
        { "?", 3, SPYI_FORM_CHOOSE },     { "no_diff", 1, SPYI_FORM_NO_DIFF },
    };
    for (size_t i = 0; i < sizeof operators / sizeof operators[0]; i++)
        if (operators[i].count == count && strcmp(operators[i].name, op) == 0) {
            *form = operators[i].form;
            return true;
        }
    *form = SPYI_FORM_BUILT_IN;
    bool word = op[0] && !(op[0] >= '0' && op[0] <= '9') && strncmp(op, "spyi_", 5) != 0;
    for (const char *c = op; word && *c; c++) word = spyi_is_word(*c);
    return word && count > 0;
}

SPYI_FN void spyi_step_text(const spy_fusion *g, uint32_t step, spyi_text *out) {
    const spyi_fused_step *s = &g->steps[step];
    switch (s->kind) {
    case SPYI_STEP_INPUT: spyi_text_add(out, "input '%s'", s->name); break;
    case SPYI_STEP_CONSTANT: spyi_text_add(out, "a number"); break;
    case SPYI_STEP_CALL: spyi_text_add(out, "the result of '%s'", s->function->name); break;
    case SPYI_STEP_OUT:
        spyi_text_add(out, "'%s' of '%s'", s->name, g->steps[s->operands[0]].function->name);
        break;
    case SPYI_STEP_MAKE:
    case SPYI_STEP_FIELDS: spyi_text_add(out, "a %s", s->name ? s->name : "struct"); break;
    case SPYI_STEP_MEMBER: spyi_text_add(out, "member '%s'", s->name); break;
    default: spyi_text_add(out, "the result of operator '%s'", s->name); break;
    }
    if (s->type) spyi_text_add(out, " (%s)", s->type->display);
}

SPYI_FN bool spyi_fusion_uses(spy_fusion *g, spy_module *module) {
    for (uint32_t i = 0; i < g->module_count; i++)
        if (g->modules[i] == module) return true;
    spy_module **grown = (spy_module **)spyi_realloc(g->modules, (g->module_count + 1) * sizeof *grown);
    if (!grown) return false;
    g->modules = grown;
    grown[g->module_count++] = module;
    spyi_atomic_add(&module->object.references, 1);
    return true;
}

SPYI_FN const spyi_type *spyi_fusion_type(spy_fusion *g, const char *name) {
    const spyi_type *type = spyi_type_parse(g->object.device->types, name);
    for (uint32_t i = 0; i < g->module_count && !type; i++) type = spyi_module_type(g->modules[i], name);
    return type;
}

static bool spyi_is_numeric(const spyi_type *type) {
    return type->kind == SPYI_TYPE_SCALAR || type->kind == SPYI_TYPE_VECTOR || type->kind == SPYI_TYPE_MATRIX;
}

static bool spyi_is_float(const spyi_type *type) {
    return spyi_is_numeric(type) && type->scalar >= SPY_DTYPE_FLOAT16;
}

SPYI_FN bool spyi_type_has_floats(const spyi_type *type) {
    if (type->kind == SPYI_TYPE_ARRAY) return spyi_type_has_floats(type->element);
    for (uint32_t i = 0; i < type->field_count; i++)
        if (spyi_type_has_floats(type->fields[i].type)) return true;
    return spyi_is_float(type);
}

// >>one step

static bool spyi_cannot(const spy_fusion *g, const spyi_fused_step *s, spyi_text *error, const char *why) {
    spyi_text_add(error, "operator '%s': expected %s, got ", s->name, why);
    for (uint32_t i = 0; i < s->count; i++) {
        if (i) spyi_text_add(error, " and ");
        spyi_step_text(g, s->operands[i], error);
    }
    return false;
}

// Returns the type of an operand: a number without a type of its own takes `beside`, if that has numbers
// which can hold it.
static const spyi_type *spyi_operand_type(spy_fusion *g, uint32_t step, const spyi_type *beside) {
    const spyi_fused_step *s = &g->steps[step];
    if (s->kind != SPYI_STEP_CONSTANT) return s->type;
    spyi_types *types = g->object.device->types;
    if (s->typed || !beside || !spyi_is_numeric(beside) || s->dtype == SPY_DTYPE_BOOL)
        return spyi_type_scalar(types, s->dtype);
    bool real = s->dtype >= SPY_DTYPE_FLOAT16, real_beside = beside->scalar >= SPY_DTYPE_FLOAT16;
    return spyi_type_scalar(types, real && !real_beside ? s->dtype : beside->scalar);
}

// Returns the scalar type of a sum of both, by Slang's rules.
static spy_dtype spyi_promoted(spy_dtype a, spy_dtype b) {
    if (a == SPY_DTYPE_BOOL && b == SPY_DTYPE_BOOL) return SPY_DTYPE_INT32;
    if ((a >= SPY_DTYPE_FLOAT16) != (b >= SPY_DTYPE_FLOAT16)) return a >= SPY_DTYPE_FLOAT16 ? a : b;
    size_t x = a == SPY_DTYPE_BOOL ? 0 : spy_dtype_size_bytes(a),
           y = b == SPY_DTYPE_BOOL ? 0 : spy_dtype_size_bytes(b);
    if (x != y) return x > y ? a : b;
    bool unsigned_a =
        a == SPY_DTYPE_UINT8 || a == SPY_DTYPE_UINT16 || a == SPY_DTYPE_UINT32 || a == SPY_DTYPE_UINT64;
    return unsigned_a ? a : b;
}

// Returns the type of one component-wise operation on numbers of these types; NULL means that the sizes
// differ.
static const spyi_type *spyi_joined(spyi_types *types, const spyi_type *a, const spyi_type *b,
                                    spy_dtype scalar) {
    const spyi_type *shape = a->kind == SPYI_TYPE_SCALAR ? b : a;
    if (a->kind != SPYI_TYPE_SCALAR && b->kind != SPYI_TYPE_SCALAR &&
        (a->kind != b->kind || a->rows != b->rows || a->columns != b->columns))
        return NULL;
    return spyi_type_with_scalar(types, shape, scalar);
}

static bool spyi_settle_index(spy_fusion *g, spyi_fused_step *s, spyi_text *error) {
    const spyi_type *of = g->steps[s->operands[0]].type;
    const spyi_fused_step *at = &g->steps[s->operands[1]];
    const spyi_type *index = spyi_operand_type(g, s->operands[1], NULL);
    if (!of || !index) return true;
    int64_t size = of->kind == SPYI_TYPE_VECTOR   ? of->columns
                   : of->kind == SPYI_TYPE_MATRIX ? of->rows
                                                  : of->count;
    bool can = of->kind == SPYI_TYPE_VECTOR || of->kind == SPYI_TYPE_MATRIX || of->kind == SPYI_TYPE_ARRAY;
    if (!can || index->kind != SPYI_TYPE_SCALAR || index->scalar >= SPY_DTYPE_FLOAT16)
        return spyi_cannot(g, s, error, "a vector, matrix or array and an integer");
    if (at->kind == SPYI_STEP_CONSTANT && (at->value.i < 0 || at->value.i >= size)) {
        spyi_text_add(error, "operator '[]': expected an index from 0 to %lld of ", (long long)size - 1);
        spyi_step_text(g, s->operands[0], error);
        spyi_text_add(error, ", got %lld", (long long)at->value.i);
        return false;
    }
    s->type = of->kind == SPYI_TYPE_VECTOR ? spyi_type_scalar(g->object.device->types, of->scalar)
              : of->kind == SPYI_TYPE_MATRIX
                  ? spyi_type_vector(g->object.device->types, of->scalar, of->columns)
                  : of->element;
    return true;
}

static bool spyi_settle_choose(spy_fusion *g, spyi_fused_step *s, spyi_text *error) {
    const spyi_type *condition = spyi_operand_type(g, s->operands[0], NULL);
    const spyi_type *a = spyi_operand_type(g, s->operands[1], g->steps[s->operands[2]].type);
    const spyi_type *b = spyi_operand_type(g, s->operands[2], g->steps[s->operands[1]].type), *value = NULL;
    if (!condition || !a || !b) return true;
    if (!spyi_is_numeric(condition) || condition->scalar != SPY_DTYPE_BOOL ||
        condition->kind == SPYI_TYPE_MATRIX)
        return spyi_cannot(g, s, error, "a bool or vector of bool and two values of one type");
    if (a == b) value = a;
    else if (spyi_is_numeric(a) && spyi_is_numeric(b))
        value = spyi_joined(g->object.device->types, a, b, spyi_promoted(a->scalar, b->scalar));
    if (value && condition->kind == SPYI_TYPE_VECTOR)
        value = spyi_is_numeric(value) ? spyi_joined(g->object.device->types, value, condition, value->scalar)
                                       : NULL;
    if (!value) return spyi_cannot(g, s, error, "a bool or vector of bool and two values of one type");
    s->type = value;
    return true;
}

static bool spyi_settle_built_in(spy_fusion *g, spyi_fused_step *s, spyi_text *error) {
    const spyi_type *types[8], *beside = NULL;
    spy_device *device = g->object.device;
    if (s->count > 8) return spyi_cannot(g, s, error, "at most 8 arguments");
    for (uint32_t i = 0; i < s->count; i++) {
        const spyi_type *type = g->steps[s->operands[i]].type;
        if (g->steps[s->operands[i]].kind == SPYI_STEP_CONSTANT) continue;
        if (!type) return true;
        if (!beside || beside->kind == SPYI_TYPE_SCALAR) beside = type;
    }
    for (uint32_t i = 0; i < s->count; i++) {
        types[i] = spyi_operand_type(g, s->operands[i], beside);
        // Slang has functions of vectors alone, not of a vector and a number.
        if (beside && beside->kind == SPYI_TYPE_VECTOR && types[i]->kind == SPYI_TYPE_SCALAR)
            types[i] = beside;
    }
    if (!g->module_count) {
        spyi_text_add(
            error,
            "'%s' is looked up in a module: expected spy_fuse_use(), or a call of a function before it",
            s->name);
        return false;
    }
    spyi_signature signature;
    memset(&signature, 0, sizeof signature);
    spyi_outside outside;
    int chosen = 0;
    spy_module *module = g->modules[0];
    spyi_step_out(device, &outside, module);
    bool good = spyi_unit_resolve(module->unit, s->name, -1, types, s->count, &signature, &chosen);
    spyi_step_in(device, &outside);
    if (!good) return spyi_cannot(g, s, error, "a function of Slang's own that takes these arguments");
    s->type = signature.result;
    spyi_signature_free(&signature);
    return true;
}

static bool spyi_settle_operator(spy_fusion *g, spyi_fused_step *s, spyi_text *error) {
    spyi_types *types = g->object.device->types;
    uint32_t first = s->operands[0], second = s->count > 1 ? s->operands[1] : 0;
    if (s->form == SPYI_FORM_INDEX) return spyi_settle_index(g, s, error);
    if (s->form == SPYI_FORM_CHOOSE) return spyi_settle_choose(g, s, error);
    if (s->form == SPYI_FORM_BUILT_IN) return spyi_settle_built_in(g, s, error);
    const spyi_type *a = spyi_operand_type(g, first, second ? g->steps[second].type : NULL);
    const spyi_type *b = second ? spyi_operand_type(g, second, g->steps[first].type) : NULL;
    if (!a || (second && !b)) return true;
    if (s->form == SPYI_FORM_NO_DIFF) {
        s->type = a;
        return true;
    }
    if (!spyi_is_numeric(a) || (b && !spyi_is_numeric(b))) {
        // An operator that the user's module overloads. Slang's reflection does not list it.
        bool own = a->kind == SPYI_TYPE_STRUCT || (b && b->kind == SPYI_TYPE_STRUCT);
        if (!own || s->form > SPYI_FORM_SIGN) return spyi_cannot(g, s, error, "numbers, vectors or matrices");
        s->type = s->form == SPYI_FORM_COMPARE ? spyi_type_scalar(types, SPY_DTYPE_BOOL)
                                               : (a->kind == SPYI_TYPE_STRUCT ? a : b);
        return true;
    }
    bool whole = a->scalar < SPY_DTYPE_FLOAT16 && (!b || b->scalar < SPY_DTYPE_FLOAT16);
    bool logic = s->form == SPYI_FORM_LOGIC || s->form == SPYI_FORM_NOT;
    if (logic && (a->scalar != SPY_DTYPE_BOOL || (b && b->scalar != SPY_DTYPE_BOOL)))
        return spyi_cannot(g, s, error, "bools");
    if ((s->form == SPYI_FORM_BITS || s->form == SPYI_FORM_INVERT) && !whole)
        return spyi_cannot(g, s, error, "integers");
    spy_dtype scalar = s->form == SPYI_FORM_COMPARE || logic ? SPY_DTYPE_BOOL
                       : b                                   ? spyi_promoted(a->scalar, b->scalar)
                       : s->form == SPYI_FORM_SIGN           ? spyi_promoted(a->scalar, a->scalar)
                                                             : a->scalar;
    s->type = b ? spyi_joined(types, a, b, scalar) : spyi_type_with_scalar(types, a, scalar);
    return s->type || spyi_cannot(g, s, error, "values of one size, or a number and a vector");
}

static bool spyi_settle_member(spy_fusion *g, spyi_fused_step *s, spyi_text *error) {
    const spyi_type *of = g->steps[s->operands[0]].type;
    static const char *const sets[2] = { "xyzw", "rgba" };
    if (!of) return true;
    for (uint32_t i = 0; i < of->field_count && !s->type; i++)
        if (strcmp(of->fields[i].name, s->name) == 0) s->type = of->fields[i].type;
    size_t length = strlen(s->name);
    uint32_t size = of->kind == SPYI_TYPE_VECTOR ? of->columns : of->kind == SPYI_TYPE_SCALAR ? 1 : 0;
    for (int set = 0; set < 2 && size && !s->type && length >= 1 && length <= 4; set++) {
        bool fits = true;
        for (const char *c = s->name; *c && fits; c++) {
            const char *at = strchr(sets[set], *c);
            fits = at && at - sets[set] < (ptrdiff_t)size;
        }
        if (fits && length == 1) s->type = spyi_type_scalar(g->object.device->types, of->scalar);
        else if (fits) s->type = spyi_type_vector(g->object.device->types, of->scalar, (uint32_t)length);
    }
    if (s->type) return true;
    spyi_text_add(error, "member '%s': expected ", s->name);
    if (of->field_count) {
        spyi_text_add(error, "a field of %s (", of->display);
        for (uint32_t i = 0; i < of->field_count; i++)
            spyi_text_add(error, i ? ", %s" : "%s", of->fields[i].name);
        spyi_text_add(error, ")");
    } else {
        spyi_text_add(error, "a struct, or the components of a vector such as 'x' or 'zyx'");
    }
    spyi_text_add(error, ", got a member of ");
    spyi_step_text(g, s->operands[0], error);
    return false;
}

// >>calls

// Gives a step its type, if it has none yet and can take any: inputs, and structs by fields.
static bool spyi_give_type(spy_fusion *g, uint32_t step, const spyi_type *type, spyi_text *error) {
    spyi_fused_step *s = &g->steps[step];
    if (s->type || (s->kind != SPYI_STEP_INPUT && s->kind != SPYI_STEP_FIELDS)) return true;
    s->type = type;
    if (s->kind == SPYI_STEP_INPUT) return true;
    if (!s->name) s->name = spyi_strdup(spyi_spell(type));
    bool good = type->field_count == s->count;
    for (uint32_t i = 0; i < s->count && good; i++) {
        uint32_t f = 0;
        while (f < type->field_count && strcmp(type->fields[f].name, s->names[i]) != 0) f++;
        good = f < type->field_count;
        if (good && !spyi_give_type(g, s->operands[i], type->fields[f].type, error)) return false;
    }
    if (good) return true;
    spyi_text_add(error, "expected all fields of %s (", type->display);
    for (uint32_t i = 0; i < type->field_count; i++)
        spyi_text_add(error, i ? ", %s" : "%s", type->fields[i].name);
    spyi_text_add(error, "), got ");
    for (uint32_t i = 0; i < s->count; i++) spyi_text_add(error, i ? ", %s" : "%s", s->names[i]);
    return false;
}

SPYI_FN bool spyi_fields_given(spy_fusion *g, uint32_t step, const spyi_type *type, spyi_text *error) {
    return spyi_give_type(g, step, type, error);
}

// Finds which operand feeds each parameter. Returns false when they do not match, with the reason in `why`.
static bool spyi_match_operands(const spyi_fused_step *s, const spyi_signature *o, int32_t *of_param,
                                spyi_text *why) {
    uint32_t next = 0;
    bool ended = false;
    for (uint32_t p = 0; p < o->param_count; p++) of_param[p] = -1;
    for (uint32_t i = 0; i < s->count; i++) {
        uint32_t p = next;
        const char *name = s->names ? s->names[i] : NULL;
        if (name) {
            for (p = 0; p < o->param_count && strcmp(o->params[p].name, name) != 0;) p++;
        } else {
            while (p < o->param_count && o->params[p].out && !o->params[p].in) p++;
            next = p + 1;
        }
        if (p >= o->param_count || of_param[p] >= 0 || (o->params[p].out && !o->params[p].in)) {
            if (!name) spyi_text_add(why, "it takes fewer than %u arguments", s->count);
            else if (p >= o->param_count) spyi_text_add(why, "it has no parameter '%s'", name);
            else if (of_param[p] >= 0) spyi_text_add(why, "'%s' is given twice", name);
            else
                spyi_text_add(
                    why, "'%s' is an out parameter, which takes no argument: spy_fuse_out() gives it", name);
            return false;
        }
        of_param[p] = (int32_t)i;
    }
    for (uint32_t p = 0; p < o->param_count; p++) {
        if (of_param[p] >= 0 || (o->params[p].out && !o->params[p].in)) {
            if (!ended) continue;
        } else if (o->params[p].has_default) {
            ended = true;
            continue;
        }
        if (of_param[p] >= 0 || ended)
            spyi_text_add(why, "'%s' is given, but not all parameters before it", o->params[p].name);
        else
            spyi_text_add(why, "expected an argument for '%s' (%s)", o->params[p].name,
                          o->params[p].type->display);
        return false;
    }
    return true;
}

// Returns false only when it is certain that a value of one type cannot be given to a parameter of the other.
static bool spyi_may_feed(const spyi_type *from, const spyi_type *to) {
    if (from == to || to->kind == SPYI_TYPE_OTHER || from->kind == SPYI_TYPE_OTHER) return true;
    if (from->kind == SPYI_TYPE_SCALAR && spyi_is_numeric(to)) return true;
    return from->kind == to->kind && from->kind != SPYI_TYPE_STRUCT && from->rows == to->rows &&
           from->columns == to->columns && from->count == to->count;
}

static bool spyi_keep_overload(spyi_fused_step *s, const spyi_signature *o, const int32_t *of_param) {
    s->callee = o->callee;
    s->spelling = spyi_strdup(o->spelling);
    s->params = (spyi_step_param *)spyi_calloc(o->param_count + 1, sizeof *s->params);
    for (uint32_t p = 0; p < o->param_count && s->params; p++) {
        s->params[p].name = spyi_strdup(o->params[p].name);
        s->params[p].type = o->params[p].type;
        s->params[p].in = o->params[p].in;
        s->params[p].out = o->params[p].out;
        s->params[p].has_default = o->params[p].has_default;
        s->params[p].operand = of_param[p];
    }
    s->param_count = s->params ? o->param_count : 0;
    s->result = s->type = o->result;
    return true;
}

// Chooses among several overloads, or a generic one. Slang makes this choice from the types of all operands.
static bool spyi_settle_overloads(spy_fusion *g, spyi_fused_step *s, const int32_t *maps, const bool *fits,
                                  uint32_t width, spyi_text *error) {
    const spyi_overloads *all = &s->function->overloads;
    const spyi_type *types[64];
    spy_module *module = s->function->module;
    int best = -1, best_exact = -1, chosen = 0;
    spyi_signature kept;
    memset(&kept, 0, sizeof kept);
    for (uint32_t i = 0; i < all->count; i++) {
        const spyi_signature *o = &all->items[i];
        uint32_t given = 0;
        int exact = 0;
        bool good = fits[i];
        const spyi_type *beside = NULL;
        for (uint32_t p = 0; p < o->param_count; p++)
            if (good && maps[i * width + p] >= 0 && g->steps[s->operands[maps[i * width + p]]].type)
                beside = g->steps[s->operands[maps[i * width + p]]].type;
        for (uint32_t p = 0; p < o->param_count && good; p++) {
            int32_t operand = maps[i * width + p];
            const spyi_type *wanted = o->params[p].type;
            if (operand < 0 && !(o->params[p].out && !o->params[p].in)) break;
            types[given] = operand < 0 ? wanted
                                       : spyi_operand_type(g, s->operands[operand],
                                                           wanted->kind == SPYI_TYPE_OTHER ? beside : wanted);
            if (!types[given] && g->steps[s->operands[operand]].kind == SPYI_STEP_FIELDS)
                types[given] = wanted;
            if (!types[given]) return true; // the type of an input is not known yet
            good = spyi_may_feed(types[given], wanted);
            exact += types[given] == wanted &&
                     (operand < 0 || g->steps[s->operands[operand]].kind != SPYI_STEP_CONSTANT);
            given++;
        }
        spyi_signature found;
        memset(&found, 0, sizeof found);
        if (!good || exact <= best_exact) continue;
        spyi_outside outside;
        spyi_step_out(g->object.device, &outside, module);
        good = spyi_unit_resolve(module->unit, s->function->name, (int)i, types, given, &found, &chosen);
        spyi_step_in(g->object.device, &outside);
        if (good && found.param_count == o->param_count) {
            spyi_signature_free(&kept);
            kept = found;
            best = (int)i;
            best_exact = exact;
        } else if (good) {
            spyi_signature_free(&found);
        }
    }
    bool good = best >= 0;
    if (good) good = spyi_keep_overload(s, &kept, &maps[(uint32_t)best * width]);
    if (best < 0) {
        spyi_text_add(error, "'%s': no overload takes", s->function->name);
        for (uint32_t i = 0; i < s->count; i++) {
            spyi_text_add(error, i ? ", " : " ");
            spyi_step_text(g, s->operands[i], error);
        }
        for (uint32_t i = 0; i < all->count; i++) spyi_text_add(error, "\n    %s", all->items[i].display);
    }
    spyi_signature_free(&kept);
    return good;
}

static bool spyi_settle_call(spy_fusion *g, spyi_fused_step *s, spyi_text *error) {
    const spyi_overloads *all = &s->function->overloads;
    spyi_text why = { NULL, 0, 0 };
    uint32_t width = 1, fitting = 0, last = 0;
    for (uint32_t i = 0; i < all->count; i++)
        if (all->items[i].param_count + 1 > width) width = all->items[i].param_count + 1;
    int32_t *maps = (int32_t *)spyi_calloc((size_t)(all->count + 1) * width, sizeof *maps);
    bool *fits = (bool *)spyi_calloc(all->count + 1, sizeof *fits), good = maps && fits && width <= 64;
    for (uint32_t i = 0; i < all->count && good; i++) {
        spyi_text_add(&why, "\n    %s\n        ", all->items[i].display);
        fits[i] = spyi_match_operands(s, &all->items[i], &maps[i * width], &why);
        if (!fits[i]) continue;
        spyi_text_add(&why, "the types do not fit");
        fitting++;
        last = i;
    }
    if (good && !fitting) {
        spyi_text_add(error, "'%s': the arguments fit no overload:%s", s->function->name,
                      spyi_text_str(&why));
        good = false;
    }
    // An input without a type gets the type that all overloads agree on.
    for (uint32_t p = 0; p < width && good; p++) {
        const spyi_type *agreed = NULL;
        bool agree = fitting > 0;
        int32_t operand = -1;
        for (uint32_t i = 0; i < all->count && agree; i++) {
            const spyi_signature *o = &all->items[i];
            if (!fits[i] || p >= o->param_count || maps[i * width + p] < 0) continue;
            agree =
                !o->generic && (!agreed || (agreed == o->params[p].type && operand == maps[i * width + p]));
            agreed = o->params[p].type;
            operand = maps[i * width + p];
        }
        if (agree && agreed && operand >= 0) good = spyi_give_type(g, s->operands[operand], agreed, error);
    }
    if (good && fitting == 1 && !all->items[last].generic) {
        const spyi_signature *o = &all->items[last];
        for (uint32_t p = 0; p < o->param_count && good; p++) {
            int32_t operand = maps[last * width + p];
            const spyi_type *type = operand < 0 ? NULL : g->steps[s->operands[operand]].type;
            if (!type || spyi_may_feed(type, o->params[p].type)) continue;
            spyi_text_add(error, "'%s': argument '%s': expected %s, got ", s->function->name,
                          o->params[p].name, o->params[p].type->display);
            spyi_step_text(g, s->operands[operand], error);
            good = false;
        }
        if (good) good = spyi_keep_overload(s, o, &maps[last * width]);
    } else if (good) {
        good = spyi_settle_overloads(g, s, maps, fits, width, error);
    }
    free(maps);
    free(fits);
    spyi_text_free(&why);
    return good;
}

static bool spyi_settle_out(spy_fusion *g, spyi_fused_step *s, spyi_text *error) {
    const spyi_fused_step *call = &g->steps[s->operands[0]];
    if (!call->type) return true;
    for (uint32_t p = 0; p < call->param_count; p++)
        if (strcmp(call->params[p].name, s->name) == 0 && call->params[p].out) s->type = call->params[p].type;
    if (s->type) return true;
    spyi_text_add(error, "expected an out or inout parameter of '%s', got '%s'", call->function->name,
                  s->name);
    return false;
}

// Gives a constructed vector its type. Components of the vector tell the type of inputs that are its numbers.
static bool spyi_settle_make(spy_fusion *g, const spyi_fused_step *s, spyi_text *error) {
    bool vector = s->type->kind == SPYI_TYPE_VECTOR && s->count == s->type->columns;
    for (uint32_t i = 0; i < s->count && vector; i++)
        if (!spyi_give_type(g, s->operands[i], spyi_type_scalar(g->object.device->types, s->type->scalar),
                            error))
            return false;
    return true;
}

SPYI_FN bool spyi_fusion_settle(spy_fusion *g, spyi_text *error) {
    for (bool progress = true; progress;) {
        progress = false;
        for (uint32_t i = 1; i < g->count; i++) {
            spyi_fused_step *s = &g->steps[i];
            bool known = s->type != NULL, good = true;
            if (known || s->kind == SPYI_STEP_INPUT || s->kind == SPYI_STEP_FIELDS) continue;
            switch (s->kind) {
            case SPYI_STEP_CALL: good = spyi_settle_call(g, s, error); break;
            case SPYI_STEP_OUT: good = spyi_settle_out(g, s, error); break;
            case SPYI_STEP_OPERATOR: good = spyi_settle_operator(g, s, error); break;
            case SPYI_STEP_MEMBER: good = spyi_settle_member(g, s, error); break;
            case SPYI_STEP_CONSTANT: s->type = spyi_operand_type(g, i, NULL); break;
            case SPYI_STEP_MAKE:
                s->type = spyi_fusion_type(g, s->name);
                good = s->type && spyi_settle_make(g, s, error);
                if (!s->type)
                    spyi_text_add(error, "expected a type, got '%s', which no module of the graph knows",
                                  s->name);
                break;
            default: break;
            }
            if (!good) return false;
            progress = progress || s->type;
        }
    }
    return true;
}

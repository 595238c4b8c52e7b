// Random programs with loops: see random_loops.h.
#include "random_loops.h"

#include <math.h>
#include <stdarg.h>

// >>the program as a tree

// (c + l0 * i0 + l1 * i1 + l2 * i2 + n * n + id * id) % modulo; i0 is the outermost loop.
typedef struct index {
    int c, l[3], n, id, modulo;
} index_;

typedef enum load_form { BY_INTS, BY_VECTOR, BY_ARRAY, LOAD_INTS, LOAD_VECTOR, LOAD_ARRAY, LOAD_UNIFORM, GENERIC, LOAD_FORMS } load_form;

typedef enum expr_kind { NUMBER, R_, S_, ARRAY_, QX, QY, X_, LOAD_W, LOAD_V, LOAD_U, MULTIPLY, ADD_, SUBTRACT, SINE, HELPER, EXPRS } expr_kind;

typedef struct expr {
    expr_kind kind;
    load_form form;
    int a, b; // operands
    double value;
    index_ i, j;
} expr;

typedef enum loop_kind { UP, DOWN, BY_TWO, TO_BOUND, FROM_TO, WHILE, LOOP_KINDS } loop_kind;

typedef enum statement_kind { SET, FOR, IF, BREAK, CONTINUE, RETURN, STORE, ONCE } statement_kind;

typedef struct statement {
    statement_kind kind;
    int next, body, other; // other: of "else"
    int target, form;      // SET: r, s, array, q
    int e, e2;
    index_ i;
    // FOR
    loop_kind loop;
    int level, most;
    index_ bound, start;
    // IF
    int condition; // 0 index == k, 1 index < k, 2 r > value
    int k;
    double value;
} statement;

enum { MOST_EXPRS = 400, MOST_STATEMENTS = 120 };

struct loops_program {
    uint32_t (*draw)(uint32_t);
    int levels; // of loops, at most
    expr exprs[MOST_EXPRS];
    statement statements[MOST_STATEMENTS];
    int expr_count, statement_count;
    int left; // statements that may still be made
    int body, result;
    double helper[2];
};

static double small(loops_program *p) {
    return ((int)p->draw(2) ? 1 : -1) * (0.25 + p->draw(6) / 8.0);
}

static index_ make_index(loops_program *p, int depth, int modulo) {
    index_ i;
    memset(&i, 0, sizeof i);
    i.modulo = modulo;
    i.c = (int)p->draw(4);
    for (int d = 0; d < depth; d++) i.l[d] = (int)p->draw(3);
    if (depth) i.l[depth - 1] = 1 + (int)p->draw(2);
    i.n = (int)p->draw(3) == 0;
    i.id = (int)p->draw(4) == 0;
    return i;
}

static int make_expr(loops_program *p, int depth, int size) {
    expr e;
    memset(&e, 0, sizeof e);
    do e.kind = (expr_kind)p->draw(EXPRS);
    while (size == 0 && e.kind >= MULTIPLY);
    if (e.kind == NUMBER && p->draw(3)) e.kind = LOAD_W;
    if (e.kind == HELPER && depth > 1) e.kind = SINE; // what it saves has ten scalars: minutes in lavapipe's compiler
    e.form = (load_form)p->draw(LOAD_FORMS);
    e.value = small(p);
    e.i = make_index(p, depth, e.kind == LOAD_U || e.kind == ARRAY_ ? 3 : e.kind == LOAD_V ? 6 : 4);
    e.j = make_index(p, depth, e.kind == LOAD_U ? 4 : 5);
    if (e.kind == LOAD_V && e.form == GENERIC) e.form = BY_INTS;
    if (e.form == LOAD_UNIFORM) { // elements of the call must agree in the index
        memset(e.i.l, 0, sizeof e.i.l);
        memset(e.j.l, 0, sizeof e.j.l);
        e.i.n = e.i.id = e.j.n = e.j.id = 0;
    }
    if (e.kind >= MULTIPLY) e.a = make_expr(p, depth, size - 1);
    if (e.kind >= MULTIPLY && e.kind < SINE) e.b = make_expr(p, depth, size - 1);
    assert_true(p->expr_count < MOST_EXPRS);
    p->exprs[p->expr_count] = e;
    return p->expr_count++;
}

static int make_body(loops_program *p, int depth, bool in_if, loop_kind inside, int places);

static int make_statement(loops_program *p, int depth, bool in_if, loop_kind inside, int places) {
    statement s;
    memset(&s, 0, sizeof s);
    s.body = s.other = s.next = -1;
    uint32_t kind = p->draw(17);
    bool room = --p->left > 1;
    s.kind = kind < 7                ? SET
             : kind < 11 && depth < p->levels && room ? FOR
             : kind < 13 && room     ? IF
             : kind < 14             ? STORE
             : kind < 15             ? ONCE
             : in_if && depth        ? (statement_kind)(BREAK + p->draw(3))
                                     : SET;
    if (s.kind == CONTINUE && inside == WHILE) s.kind = BREAK;
    s.target = (int)p->draw(4);
    s.form = (int)p->draw(3);
    s.i = make_index(p, depth, 3);
    s.value = small(p);
    switch (s.kind) {
    case FOR:
        s.loop = (loop_kind)p->draw(WHILE); // Slang 2026.14.1 refuses some derivatives with "while", by an error of its own
                    s.level = depth;
        s.most = 1 + (int)p->draw((uint32_t)(places > 27 ? 9 : places > 9 ? places / 3 - 2 : 1));
        s.bound = make_index(p, depth, s.most + 1);
        s.bound.c += 2;
        s.start = make_index(p, 0, 3);
        s.start.n = s.start.id = 0;
        s.start.c = 1 + (int)p->draw(2);
        s.body = make_body(p, depth + 1, false, s.loop, places / (s.most + 2));
        break;
    case IF:
        s.condition = (int)p->draw(3);
        s.i.modulo = 2 + (int)p->draw(3);
        s.k = (int)p->draw((uint32_t)s.i.modulo);
        s.body = make_body(p, depth, true, inside, places);
        if (p->draw(2)) s.other = make_body(p, depth, false, inside, places);
        break;
    case BREAK:
    case CONTINUE: break;
    default:
        s.e = make_expr(p, depth, 1);
        s.e2 = make_expr(p, depth, 1);
    }
    assert_true(p->statement_count < MOST_STATEMENTS);
    p->statements[p->statement_count] = s;
    return p->statement_count++;
}

static int make_body(loops_program *p, int depth, bool in_if, loop_kind inside, int places) {
    int count = 1 + (int)p->draw(2), first = -1, last = -1;
    for (int i = 0; i < count; i++) {
        int s = make_statement(p, depth, in_if && i == count - 1, inside, places);
        if (last >= 0) p->statements[last].next = s;
        else first = s;
        last = s;
        if (p->statements[s].kind >= BREAK && p->statements[s].kind <= RETURN) break;
    }
    return first;
}

static bool has_nest(const loops_program *p, int at, int depth) {
    for (; at >= 0; at = p->statements[at].next) {
        const statement *s = &p->statements[at];
        int inner = depth + (s->kind == FOR);
        if (inner >= p->levels) return true;
        if ((s->body >= 0 && has_nest(p, s->body, inner)) || (s->other >= 0 && has_nest(p, s->other, inner))) return true;
    }
    return false;
}

loops_program *loops_make(uint32_t (*draw)(uint32_t below)) {
    loops_program *p = (loops_program *)calloc(1, sizeof *p);
    int levels = 1 + (int)draw(3);
    do {
        memset(p, 0, sizeof *p);
        p->draw = draw;
        p->levels = levels;
        p->left = 1 + 2 * levels;
        p->helper[0] = small(p);
        p->helper[1] = small(p);
        p->body = make_body(p, 0, false, UP, 30);
        p->result = make_expr(p, 0, 2);
    } while (!has_nest(p, p->body, 0));
    return p;
}

void loops_free(loops_program *program) {
    free(program);
}

// >>as Slang

const char loops_head[] =
    "import slangpy;\nimport slangpy_diff;\n"
    "int[1] pack(int a) { int[1] r; r[0] = a; return r; }\n"
    "int[2] pack(int a, int b) { int[2] r; r[0] = a; r[1] = b; return r; }\n"
    "[Differentiable] float any<T : IDiffTensor<float, 2>>(T t, int a, int b) { return t[a, b] * t.load(a, b); }\n";

typedef struct writer {
    const loops_program *p;
    uint32_t number;
    char *out;
    size_t capacity, at;
} writer;

__attribute__((format(printf, 2, 3))) static void put(writer *w, const char *format, ...) {
    va_list list;
    va_start(list, format);
    int n = vsnprintf(w->at < w->capacity ? w->out + w->at : NULL, w->at < w->capacity ? w->capacity - w->at : 0, format, list);
    va_end(list);
    w->at += (size_t)n;
}

static void put_index(writer *w, const index_ *i) {
    if (!i->l[0] && !i->l[1] && !i->l[2] && !i->n && !i->id) { // Slang 2026.14.1 stops at constant sums in loops
        put(w, "%d", i->c % i->modulo);
        return;
    }
    put(w, "(%d", i->c);
    for (int d = 0; d < 3; d++)
        if (i->l[d] == 1) put(w, " + i%d", d);
        else if (i->l[d]) put(w, " + i%d * %d", d, i->l[d]);
    if (i->n) put(w, " + n");
    if (i->id) put(w, " + id");
    put(w, ") %% %d", i->modulo);
}

static void put_load(writer *w, const expr *e, const char *name, int rank) {
    static const char *const before[LOAD_FORMS] = { "[", "[", "[pack(", ".load(", ".load(", ".load(pack(", ".load_uniform(pack(", "" };
    static const char *const after[LOAD_FORMS] = { "]", "]", ")]", ")", ")", "))", "))", ")" };
    bool vector = e->form == BY_VECTOR || e->form == LOAD_VECTOR;
    if (e->form == GENERIC) put(w, "any(%s, ", name);
    else put(w, "%s%s", name, before[e->form]);
    if (vector) put(w, "vector<int, %d>(", rank);
    put_index(w, vector && rank == 2 ? &e->j : &e->i); // .x is the last dimension
    if (rank == 2) {
        put(w, ", ");
        put_index(w, vector ? &e->i : &e->j);
    }
    put(w, "%s%s", vector ? ")" : "", after[e->form]);
}

static void put_expr(writer *w, int at) {
    const expr *e = &w->p->exprs[at];
    switch (e->kind) {
    case NUMBER: put(w, "float(%.9g)", e->value); break;
    case R_: put(w, "sin(r)"); break;
    case S_: put(w, "(s / (1 + s * s))"); break;
    case ARRAY_:
        put(w, "sin(a[");
        put_index(w, &e->i);
        put(w, "])");
        break;
    case QX: put(w, "sin(q).x"); break;
    case QY: put(w, "sin(q.y)"); break;
    case X_: put(w, "x"); break;
    case LOAD_W: put_load(w, e, "w", 2); break;
    case LOAD_V: put_load(w, e, "v", 1); break;
    case LOAD_U: put_load(w, e, "u", 2); break;
    case SINE:
        put(w, "sin(");
        put_expr(w, e->a);
        put(w, ")");
        break;
    case HELPER:
        put(w, "h%u(w, ", w->number);
        put_expr(w, e->a);
        put(w, ", ");
        put_index(w, &e->i);
        put(w, ")");
        break;
    default:
        put(w, "(");
        put_expr(w, e->a);
        put(w, e->kind == ADD_ ? " + " : e->kind == SUBTRACT ? " - " : " * ");
        put_expr(w, e->b);
        put(w, ")");
    }
}

static void put_body(writer *w, int at, int indent);

static void put_for(writer *w, const statement *s, int indent) {
    int i = s->level;
    put(w, "%*s", indent, "");
    switch (s->loop) {
    case UP: put(w, "for (int i%d = 0; i%d < %d; i%d++)", i, i, s->most, i); break;
    case DOWN: put(w, "for (int i%d = %d; i%d >= 0; i%d--)", i, s->most - 1, i, i); break;
    case BY_TWO: put(w, "for (int i%d = 0; i%d < %d; i%d += 2)", i, i, s->most, i); break;
    case TO_BOUND:
        put(w, "[MaxIters(%d)] for (int i%d = 0; i%d < ", s->most, i, i);
        put_index(w, &s->bound);
        put(w, "; i%d++)", i);
        break;
    case FROM_TO:
        put(w, "[MaxIters(%d)] for (int i%d = ", s->most, i);
        put_index(w, &s->start);
        put(w, "; i%d < ", i);
        put_index(w, &s->start);
        put(w, " + ");
        put_index(w, &s->bound);
        put(w, "; i%d++)", i);
        break;
    default:
        put(w, "{ int i%d = 0;\n%*s[MaxIters(%d)] while (i%d < ", i, indent, "", s->most, i);
        put_index(w, &s->bound);
        put(w, ")");
    }
    put(w, "\n%*s{\n", indent, "");
    put_body(w, s->body, indent + 2);
    if (s->loop == WHILE) put(w, "%*si%d++;\n", indent + 2, "", i);
    put(w, s->loop == WHILE ? "%*s} }\n" : "%*s}\n", indent, "");
}

static void put_set(writer *w, const statement *s) {
    static const char *const names[] = { "r", "s", "a", "q" };
    writer target = *w;
    char name[100];
    target.out = name;
    target.capacity = sizeof name;
    target.at = 0;
    put(&target, "%s", names[s->target]);
    if (s->target == 2) {
        put(&target, "[");
        put_index(&target, &s->i);
        put(&target, "]");
    }
    put(w, "%s %s ", name, s->form == 2 ? "+=" : "=");
    if (s->form == 0) put(w, "%s * 0.5 + ", name);
    if (s->form == 1) put(w, "sin(%s + ", name);
    if (s->form == 2) put(w, "0.125 * ");
    if (s->target == 3) {
        put(w, "float2(");
        put_expr(w, s->e);
        put(w, ", ");
        put_expr(w, s->e2);
        put(w, ")");
    } else {
        put_expr(w, s->e);
    }
    put(w, "%s;\n", s->form == 1 ? ")" : "");
}

static void put_body(writer *w, int at, int indent) {
    for (; at >= 0; at = w->p->statements[at].next) {
        const statement *s = &w->p->statements[at];
        if (s->kind == FOR) {
            put_for(w, s, indent);
            continue;
        }
        put(w, "%*s", indent, "");
        switch (s->kind) {
        case SET: put_set(w, s); break;
        case IF:
            put(w, "if (");
            if (s->condition == 2) put(w, "r > %.9g", s->value);
            else {
                put_index(w, &s->i);
                put(w, " %s %d", s->condition ? "<" : "==", s->k);
            }
            put(w, ")\n%*s{\n", indent, "");
            put_body(w, s->body, indent + 2);
            put(w, "%*s}\n", indent, "");
            if (s->other < 0) break;
            put(w, "%*selse\n%*s{\n", indent, "", indent, "");
            put_body(w, s->other, indent + 2);
            put(w, "%*s}\n", indent, "");
            break;
        case BREAK: put(w, "break;\n"); break;
        case CONTINUE: put(w, "continue;\n"); break;
        case RETURN:
            put(w, "return r + ");
            put_expr(w, s->e);
            put(w, ";\n");
            break;
        case STORE:
            put(w, s->form == 0 ? "out[id, at] = " : s->form == 1 ? "out[int2(at, id)] = " : "out.store(id, at, ");
            put_expr(w, s->e);
            put(w, s->form == 2 ? "); at = at + 1;\n" : "; at = at + 1;\n");
            break;
        default:
            put(w, "s += z.load_once(pack(id, at)) * ");
            put_expr(w, s->e2);
            put(w, "; at = at + 1;\n");
        }
    }
}

size_t loops_text(const loops_program *program, uint32_t number, char *out, size_t capacity, size_t at) {
    writer w = { program, number, out, capacity, at };
    put(&w,
        "[Differentiable] float h%u(DiffTensor<float, 2> w, float y, no_diff int k)\n{\n  float t = y;\n"
        "  [MaxIters(4)] for (int i = 0; i < k; i++) t = sin(t * float(%.9g) + w[i, k]) * y + float(%.9g);\n  return t;\n}\n",
        number, program->helper[0], program->helper[1]);
    put(&w,
        "[Differentiable] float f%u(DiffTensor<float, 2> w, DiffTensor<float, 1> v, RWDiffTensor<float, 2> u, DiffTensor<float, 2> z,\n"
        "    WDiffTensor<float, 2> out, float x, no_diff int n, no_diff int id)\n{\n"
        "  float r = x, s = 0;\n  float a[3] = { x, 0, 1 };\n  float2 q = float2(1, x);\n  int at = 0;\n",
        number);
    put_body(&w, program->body, 2);
    put(&w, "  return r + s + a[0] + a[1] * a[2] + q.x - q.y + ");
    put_expr(&w, program->result);
    put(&w, ";\n}\n");
    return w.at;
}

// >>worked out

typedef struct machine {
    const loops_program *p;
    const loops_values *values;
    const loops_seeds *seeds;
    double r, s, a[3], q[2], x, result, sum;
    int i[3], n, id, at;
    double margin; // how near a condition came to deciding otherwise
    bool overflow;
} machine;

static int at_index(const machine *m, const index_ *i) {
    return (i->c + i->l[0] * m->i[0] + i->l[1] * m->i[1] + i->l[2] * m->i[2] + i->n * m->n + i->id * m->id) % i->modulo;
}

static double value(const machine *m, int at) {
    const expr *e = &m->p->exprs[at];
    const loops_values *t = m->values;
    double l;
    switch (e->kind) {
    case NUMBER: return e->value;
    case R_: return sin(m->r);
    case S_: return m->s / (1 + m->s * m->s);
    case ARRAY_: return sin(m->a[at_index(m, &e->i)]);
    case QX: return sin(m->q[0]);
    case QY: return sin(m->q[1]);
    case X_: return m->x;
    case LOAD_W: l = t->w[at_index(m, &e->i) * 5 + at_index(m, &e->j)]; return e->form == GENERIC ? l * l : l;
    case LOAD_V: return t->v[at_index(m, &e->i)];
    case LOAD_U: l = t->u[at_index(m, &e->i) * 4 + at_index(m, &e->j)]; return e->form == GENERIC ? l * l : l;
    case SINE: return sin(value(m, e->a));
    case HELPER: {
        double y = value(m, e->a), z = y;
        int k = at_index(m, &e->i);
        for (int i = 0; i < k; i++) z = sin(z * m->p->helper[0] + t->w[i * 5 + k]) * y + m->p->helper[1];
        return z;
    }
    default: {
        double a = value(m, e->a), b = value(m, e->b);
        return e->kind == ADD_ ? a + b : e->kind == SUBTRACT ? a - b : a * b;
    }
    }
}

typedef enum way { ON, BROKE, CONTINUED, RETURNED } way;

static way run_body(machine *m, int at);

static way run_for(machine *m, const statement *s) {
    int *i = &m->i[s->level];
    way w = ON;
    int start = s->loop == DOWN ? s->most - 1 : s->loop == FROM_TO ? at_index(m, &s->start) : 0;
    int step = s->loop == DOWN ? -1 : s->loop == BY_TWO ? 2 : 1;
    int end = s->loop == DOWN ? -1 : s->loop == UP || s->loop == BY_TWO ? s->most : start + at_index(m, &s->bound);
    int before = *i;
    for (*i = start; (end - *i) * step > 0; *i += step) {
        w = run_body(m, s->body);
        if (w == BROKE || w == RETURNED) break;
    }
    *i = before;
    return w == RETURNED ? w : ON;
}

static double step(int form, double before, double e) {
    return form == 0 ? before * 0.5 + e : form == 1 ? sin(before + e) : before + 0.125 * e;
}

static way run_body(machine *m, int at) {
    for (; at >= 0; at = m->p->statements[at].next) {
        const statement *s = &m->p->statements[at];
        way w = ON;
        switch (s->kind) {
        case SET: {
            double e = value(m, s->e);
            double *to = s->target == 0 ? &m->r : s->target == 1 ? &m->s : s->target == 2 ? &m->a[at_index(m, &s->i)] : &m->q[0];
            double e2 = s->target == 3 ? value(m, s->e2) : 0;
            *to = step(s->form, *to, e);
            if (s->target == 3) m->q[1] = step(s->form, m->q[1], e2);
            break;
        }
        case FOR: w = run_for(m, s); break;
        case IF: {
            bool yes = s->condition == 2 ? m->r > s->value : s->condition ? at_index(m, &s->i) < s->k : at_index(m, &s->i) == s->k;
            if (s->condition == 2 && fabs(m->r - s->value) < m->margin) m->margin = fabs(m->r - s->value);
            w = run_body(m, yes ? s->body : s->other);
            break;
        }
        case BREAK: return BROKE;
        case CONTINUE: return CONTINUED;
        case RETURN: m->result = m->r + value(m, s->e); return RETURNED;
        default:
            if (m->at >= LOOPS_ROW) {
                m->overflow = true;
                return RETURNED;
            }
            if (s->kind == STORE) m->sum += value(m, s->e) * m->seeds->out[m->id * LOOPS_ROW + m->at];
            else m->s += m->values->z[m->id * LOOPS_ROW + m->at] * value(m, s->e2);
            m->at++;
        }
        if (w != ON) return w;
    }
    return ON;
}

// The sum of seeds * outputs of the call's elements. False: it is not smooth there.
static bool total(const loops_program *p, const int n[LOOPS_ELEMENTS], const loops_values *values, const loops_seeds *seeds,
                  double margin, double *sum) {
    *sum = 0;
    for (int id = 0; id < LOOPS_ELEMENTS; id++) {
        machine m;
        memset(&m, 0, sizeof m);
        m.p = p;
        m.values = values;
        m.seeds = seeds;
        m.x = m.r = m.a[0] = m.q[1] = values->x[id];
        m.a[2] = m.q[0] = 1;
        m.n = n[id];
        m.id = id;
        m.margin = 1;
        if (run_body(&m, p->body) != RETURNED)
            m.result = m.r + m.s + m.a[0] + m.a[1] * m.a[2] + m.q[0] - m.q[1] + value(&m, p->result);
        *sum += m.result * seeds->result[id] + m.sum;
        if (m.overflow || m.margin < margin) return false;
    }
    return true;
}

bool loops_gradients(const loops_program *program, const int n[LOOPS_ELEMENTS], loops_values *values,
                     const loops_seeds *seeds, loops_values *gradients) {
    const double h = 1e-5;
    double *all = (double *)values, *grads = (double *)gradients, low, high;
    if (!total(program, n, values, seeds, 1e-3, &low)) return false;
    for (size_t i = 0; i < sizeof *values / sizeof(double); i++) {
        double before = all[i];
        all[i] = before + h;
        total(program, n, values, seeds, 0, &high);
        all[i] = before - h;
        total(program, n, values, seeds, 0, &low);
        all[i] = before;
        grads[i] = (high - low) / (2 * h);
    }
    return true;
}

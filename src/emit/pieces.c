// Writes statements that go over a value piece by piece, field by field and element by element: they add,
// copy or sum gradients in another type than the value's own.
#include "emit/internal.h"

// The largest number of scalars of a sum that is unrolled: a team then adds up its threads one scalar at a
// time. A longer sum goes in loops, and is added to the gradient in memory, not to a copy of it: unrolled, it
// would compile for many seconds and run slower (docs/measurements.md, "Long sums of gradients").
#define SPYI_SUM_UNROLLED 32u

SPYI_FN bool spyi_sum_is_long(const spyi_type *type) {
    return spyi_type_scalars(type) > SPYI_SUM_UNROLLED;
}

// The input of spyi_each_piece(): the operation, and the sum that it uses.
typedef struct spyi_pieces {
    spyi_text *out;
    spyi_piece_op op;
    const char *sum;     // the name of the sum's variable
    const char *scalar;  // the type of the sum's scalars
    const char *combine; // "min" or "max" for a sum of a reduction that is one of these; otherwise NULL
    bool single;         // the sum is one scalar, not an array
    bool loops;          // the sum is long, so nothing is unrolled
    bool open;           // the outermost loops begin at spy_from
    uint32_t depth;      // the number of loops that enclose the piece
} spyi_pieces;

// Writes the statements that put a sum to a float in memory that other teams change, too. The float's memory
// is declared as uint, since there are no atomic functions that find the least or greatest float. (A team
// whose value changes nothing makes no atomic access.)
static void spyi_atomic_extreme(const spyi_pieces *p, const char *to, const char *sum, const char *indent) {
    spyi_text_add(p->out,
                  "%s{\n%s    uint spy_old = %s, spy_was;\n%s    while (%s %c asfloat(spy_old))\n%s    {\n"
                  "%s        InterlockedCompareExchange(%s, spy_old, asuint(%s), spy_was);\n"
                  "%s        if (spy_was == spy_old) break;\n%s        spy_old = spy_was;\n%s    }\n%s}\n",
                  indent, indent, to, indent, sum, p->combine[1] == 'i' ? '<' : '>', indent, indent, to, sum,
                  indent, indent, indent, indent);
}

static void spyi_piece(const spyi_pieces *p, const spyi_type *to_type, const char *to,
                       const spyi_type *from_type, const char *from, const char *index, const char *indent) {
    const char *type = spyi_spell(to_type);
    char sum[96];
    snprintf(sum, sizeof sum, p->single ? "%s" : "%s[%s]", p->sum, index);
    if (p->combine && p->op == SPYI_PIECE_ATOMIC) {
        spyi_atomic_extreme(p, to, sum, indent);
        return;
    }
    spyi_text_add(p->out, "%s", indent);
    if (p->combine && p->op != SPYI_PIECE_COPY) { // the values of a reduction have one
                                                  // type
        bool into_sum = p->op == SPYI_PIECE_SUM;
        const char *target = into_sum ? sum : to, *value = p->op == SPYI_PIECE_ADD || into_sum ? from : sum;
        spyi_text_add(p->out, "%s = %s(%s, %s(%s));\n", target, p->combine, target,
                      into_sum ? p->scalar : type, value);
        return;
    }
    switch (p->op) {
    case SPYI_PIECE_ADD:
        if (to_type == from_type && to_type->scalar != SPY_DTYPE_FLOAT16)
            spyi_text_add(p->out, "%s = %s + %s;\n", to, to, from);
        else if (to_type->scalar == SPY_DTYPE_FLOAT64)
            spyi_text_add(p->out, "%s = %s + %s(%s);\n", to, to, type, from);
        else if (to_type->kind == SPYI_TYPE_SCALAR)
            spyi_text_add(p->out, "%s = %s(float(%s) + float(%s));\n", to, type, to, from);
        else if (to_type->kind == SPYI_TYPE_VECTOR)
            spyi_text_add(p->out, "%s = %s(float%u(%s) + float%u(%s));\n", to, type, to_type->columns, to,
                          to_type->columns, from);
        else
            spyi_text_add(p->out, "%s = %s(float%ux%u(%s) + float%ux%u(%s));\n", to, type, to_type->rows,
                          to_type->columns, to, to_type->rows, to_type->columns, from);
        break;
    case SPYI_PIECE_COPY: spyi_text_add(p->out, "%s = %s(%s);\n", to, type, from); break;
    case SPYI_PIECE_SUM: spyi_text_add(p->out, "%s = %s + %s(%s);\n", sum, sum, p->scalar, from); break;
    case SPYI_PIECE_APPLY:
        spyi_text_add(p->out, "%s = %s(%s(%s) + %s);\n", to, type, p->scalar, to, sum);
        break;
    case SPYI_PIECE_ATOMIC: spyi_text_add(p->out, "InterlockedAdd(%s, %s);\n", to, sum); break;
    }
}

// Writes the statements of all pieces of a value. `index` is the expression of the piece's first scalar among
// all scalars of the whole value.
static void spyi_each_piece(spyi_pieces *p, const spyi_type *to_type, const char *to,
                            const spyi_type *from_type, const char *from, const char *index,
                            const char *indent) {
    bool whole = p->op == SPYI_PIECE_ADD || p->op == SPYI_PIECE_COPY; // vectors and matrices are one piece
    uint32_t parts = to_type->kind == SPYI_TYPE_STRUCT   ? to_type->field_count
                     : to_type->kind == SPYI_TYPE_ARRAY  ? 1
                     : to_type->kind == SPYI_TYPE_SCALAR ? 0
                     : whole                             ? 0
                     : to_type->kind == SPYI_TYPE_VECTOR ? to_type->columns
                                                         : to_type->rows;
    uint32_t skipped = 0;
    if (!parts) spyi_piece(p, to_type, to, from_type, from, index, indent);
    for (uint32_t i = 0; i < parts; i++) {
        spyi_text a = { NULL, 0, 0 }, b = { NULL, 0, 0 }, at = { NULL, 0, 0 }, inside = { NULL, 0, 0 };
        const spyi_type *a_type = to_type->element, *b_type = from_type->element;
        uint32_t n;
        if (to_type->kind == SPYI_TYPE_STRUCT) {
            a_type = to_type->fields[i].type;
            b_type = from_type->fields[i].type;
            spyi_text_add(&a, "%s.%s", to, to_type->fields[i].name);
            spyi_text_add(&b, "%s.%s", from, from_type->fields[i].name);
        } else if (to_type->kind == SPYI_TYPE_ARRAY) {
            spyi_text_add(&a, "%s[spy_p%u]", to, p->depth);
            spyi_text_add(&b, "%s[spy_p%u]", from, p->depth);
        } else {
            spyi_text_add(&a, "%s[%u]", to, i);
            spyi_text_add(&b, "%s[%u]", from, i);
        }
        n = spyi_type_scalars(a_type);
        if (to_type->kind == SPYI_TYPE_ARRAY) {
            spyi_text_add(&at, "%s + spy_p%u * %u", index, p->depth, n);
            spyi_text_add(p->out, "%s%sfor (int spy_p%u = %s; spy_p%u < %lld; ++spy_p%u)\n%s{\n", indent,
                          to_type->count <= 16 && !p->loops ? "[ForceUnroll] " : "", p->depth,
                          p->open && !p->depth ? "spy_from" : "0", p->depth, (long long)to_type->count,
                          p->depth, indent);
            spyi_text_add(&inside, "%s    ", indent);
            p->depth++;
            spyi_each_piece(p, a_type, spyi_text_str(&a), b_type, spyi_text_str(&b), spyi_text_str(&at),
                            spyi_text_str(&inside));
            p->depth--;
            spyi_text_add(p->out, "%s}\n", indent);
        } else {
            if (skipped) spyi_text_add(&at, "%s + %u", index, skipped);
            else spyi_text_add(&at, "%s", index);
            spyi_each_piece(p, a_type, spyi_text_str(&a), b_type, spyi_text_str(&b), spyi_text_str(&at),
                            indent);
        }
        skipped += n;
        spyi_text_free(&a);
        spyi_text_free(&b);
        spyi_text_free(&at);
        spyi_text_free(&inside);
    }
}

// Returns whether the loops that write a sum out begin at spy_from. It is 0, but compilers cannot know that.
// If they could, NVRTC would unroll all of the loops, and lavapipe those of up to 32 steps, which makes
// compiling longer (docs/measurements.md, "Long sums of gradients").
SPYI_FN bool spyi_ends_in_loops(const spyi_emit_state *s, uint32_t i) {
    return s->key->team && spyi_is_summed(s, i) && spyi_sum_is_long(s->bound->leaves[i].type);
}

SPYI_FN void spyi_emit_pieces(spyi_emit_state *s, spyi_piece_op op, uint32_t sum_of, const spyi_type *to_type,
                              const char *to, const spyi_type *from_type, const char *from,
                              const char *indent) {
    spyi_pieces p;
    spyi_text sum = { NULL, 0, 0 };
    const spyi_type *type = s->bound->leaves[sum_of].type;
    spyi_text_add(&sum, "sum_%s", s->names[sum_of]);
    p.out = &s->body;
    p.op = op;
    p.combine = spyi_combine_name(s->bound);
    p.sum = spyi_text_str(&sum);
    p.scalar = spyi_sum_scalar(type) == SPY_DTYPE_FLOAT64 ? "double" : "float";
    p.single = spyi_type_scalars(type) == 1;
    p.loops = spyi_is_summed(s, sum_of) && spyi_sum_is_long(type);
    p.open = op >= SPYI_PIECE_APPLY && spyi_ends_in_loops(s, sum_of);
    p.depth = 0;
    spyi_each_piece(&p, to_type, to, from_type, from, "0", indent);
    spyi_text_free(&sum);
}

// The prologue of kernels that sum the gradients that elements share. Its threads go over elements in a loop.
// All elements that add to one gradient element make up a sum. A team of threads computes a sum or a part of
// one, and each thread takes every so-many-th element. Then the team adds up its threads in groupshared
// memory, in a fixed order, and one thread hands the result on. A sum in one part is added to the gradient
// directly. The parts of a sum are added atomically, or left in memory for a second dispatch, which sums
// parts in the way that the first sums elements. Barriers need all threads of a group, so no thread leaves
// before the end. Threads beyond the last element add nothing.
#include "emit/internal.h"

#define SPYI_TEAM_MOST 64 // the largest number of elements of a thread in one step of its loop

SPYI_FN uint32_t spyi_team_size(const spyi_variant_key *key, uint32_t group_size) {
    return key->team == SPYI_WHOLE_TEAM ? group_size : 1u << (key->team - 1);
}

static void spyi_sums_fields(spyi_emit_state *s) {
    static const char *const names[5] = { "_sums", "_each", "_parts", "_length", "_row" };
    for (uint32_t d = 0; d < (s->key->folded ? 5u : 4u); d++)
        spyi_add_field(s, SPYI_PACK_TEAM, d, 0, 4, 4, "uint %s", names[d]);
    for (uint32_t d = 0; d < s->key->rank && s->key->reordered; d++)
        spyi_add_field(s, SPYI_PACK_ELEMENT, d, 0, 4, 4, "int _element%u", d);
    for (uint32_t i = 0; i < s->bound->leaf_count; i++) {
        if (!spyi_is_summed(s, i) || !(spyi_is_skipped(s, i) || s->key->finishes)) continue;
        bool is_double = spyi_sum_scalar(s->bound->leaves[i].type) == SPY_DTYPE_FLOAT64;
        spyi_add_field(s, SPYI_PACK_SUMS, 0, i, 8, 8, "%s* %s__sums", is_double ? "double" : "float",
                       s->names[i]);
    }
    if (s->bound->uses_library || s->bound->call_info || s->key->grouped) spyi_declare_shape(s);
    if (!s->key->grouped && !s->key->by_team) spyi_declare_sizes(s);
}

SPYI_FN const char *spyi_combine_name(const spyi_bound *b) {
    return b->combine == SPYI_COMBINE_MIN ? "min" : b->combine == SPYI_COMBINE_MAX ? "max" : NULL;
}

// Writes an assignment to each scalar of leaf `i`'s sum. `format` is its right side, where %s is the scalar
// and spy_p its index.
static void spyi_each_sum(spyi_emit_state *s, uint32_t i, const char *format, const char *indent) {
    uint32_t n = spyi_type_scalars(s->bound->leaves[i].type);
    spyi_text sum = { NULL, 0, 0 };
    spyi_text_add(&sum, n == 1 ? "sum_%s" : "sum_%s[spy_p]", s->names[i]);
    if (n > 1)
        spyi_text_add(&s->body, "%s%sfor (int spy_p = 0; spy_p < %u; ++spy_p)\n    ", indent,
                      n <= 16 ? "[ForceUnroll] " : "", n);
    spyi_text_add(&s->body, "%s%s = ", indent, spyi_text_str(&sum));
    spyi_text_add(&s->body, format, spyi_text_str(&sum));
    spyi_text_add(&s->body, ";\n");
    spyi_text_free(&sum);
}

// Writes the place in memory of part number `row` of leaf `i`'s sum.
static void spyi_left_place(const spyi_emit_state *s, uint32_t i, const char *row, spyi_text *out) {
    uint32_t n = spyi_type_scalars(s->bound->leaves[i].type);
    spyi_text_add(out, "spyi_block.%s__sums[", s->names[i]);
    if (n > 1) spyi_text_add(out, "(%s * spyi_block._sums + spy_k) * %u + spy_p]", row, n);
    else spyi_text_add(out, "%s * spyi_block._sums + spy_k]", row);
}

// Appends the lines, indented by four spaces more.
static void spyi_add_indented(const spyi_text *lines, spyi_text *out) {
    const char *line = spyi_text_str(lines);
    while (*line) {
        size_t length = strcspn(line, "\n");
        spyi_text_add(out, "    %.*s\n", (int)length, line);
        line += length + (line[length] == '\n');
    }
}

// Writes coordinates and offsets of the loop's element or unit, or with `end` those of the sum itself.
static void spyi_emit_team_places(spyi_emit_state *s, bool end) {
    const char *index = s->key->index64 ? "int64_t" : "int";
    if (!spyi_needs_coordinates(s)) return;
    if (!s->key->by_team) spyi_emit_coordinates(s);
    else
        spyi_text_add(&s->body, "    %s spy_c0%s = %s(spy_k);\n    %s spy_c1%s = %s(%s%s);\n", index, s->unit,
                      index, index, s->unit, index, end ? "0" : "spy_j", s->unit);
    spyi_emit_offsets(s, end);
}

// >>a thread's units
//
// A unit is the work that a thread takes at once: one element, or key->width neighbours as vectors. In each
// step of the loop a thread takes key->unroll units, a team's width apart. It loads all of them before it
// computes the first, so that the loads are under way together. In place of a unit behind the end it loads
// its first one again.

static void spyi_set_unit(spyi_emit_state *s, uint32_t unit) {
    if (s->key->unroll > 1) snprintf(s->unit, sizeof s->unit, "_%u", unit & 0xffu);
    else s->unit[0] = 0;
}

// Writes the number of a unit's first element in the sum, and whether the unit lies before the end.
static void spyi_emit_unit(spyi_emit_state *s, uint32_t unit, uint32_t team) {
    uint32_t step = unit * team * s->key->width;
    if (s->key->unroll == 1) return;
    if (unit == 0) {
        spyi_text_add(&s->body, "    uint spy_j_0 = spy_j;\n");
        return;
    }
    spyi_text_add(&s->body, "    bool spy_in_%u = spy_j + %u < spy_end;\n", unit, step + s->key->width - 1);
    spyi_text_add(&s->body, "    uint spy_j_%u = spy_in_%u ? spy_j + %u : spy_j;\n", unit, unit, step);
}

// Writes a unit's loads, and the arguments of its elements.
static void spyi_emit_unit_loads(spyi_emit_state *s, spyi_text *arguments, uint32_t first) {
    const spyi_bound *b = s->bound;
    uint32_t width = s->tail ? 1 : s->key->width;
    bool several = !s->tail && (uint32_t)s->key->width * s->key->unroll > 1;
    spyi_text_add(&s->body, "    uint spy_i%s = spy_k * spyi_block._each + spy_j%s;\n", s->unit, s->unit);
    if (width > 1)
        spyi_text_add(&s->body, "    uint spy_vector%s = spy_i%s / %u;\n", s->unit, s->unit, width);
    spyi_emit_team_places(s, false);
    for (uint32_t i = 0; i < b->leaf_count && width > 1; i++)
        if (spyi_leaf_in_memory(&b->leaves[i]) && spyi_is_wide(s, i)) spyi_load_vectors(s, i);
    for (s->element = 0; s->element < width; s->element++) {
        if (several) snprintf(s->suffix, sizeof s->suffix, "_%u", first + s->element);
        s->wrapper->arguments(s, &arguments[first + s->element]);
    }
    s->element = 0;
    s->suffix[0] = 0;
}

// Writes the calls of a unit's elements.
static void spyi_emit_unit_calls(spyi_emit_state *s, spyi_text *arguments, uint32_t first,
                                 const char *indent) {
    uint32_t width = s->tail ? 1 : s->key->width;
    bool several = !s->tail && (uint32_t)s->key->width * s->key->unroll > 1;
    for (s->element = 0; s->element < width; s->element++) {
        if (several) snprintf(s->suffix, sizeof s->suffix, "_%u", first + s->element);
        spyi_emit_call(s, spyi_text_str(&arguments[first + s->element]), indent);
        spyi_text_free(&arguments[first + s->element]);
    }
    s->element = 0;
    s->suffix[0] = 0;
}

// Writes the work of the finishing dispatch on a unit: it puts a part to each sum.
static void spyi_emit_unit_parts(spyi_emit_state *s, uint32_t unit) {
    const spyi_bound *b = s->bound;
    const char *name = spyi_combine_name(b);
    for (uint32_t i = 0; i < b->leaf_count; i++) {
        if (!spyi_is_summed(s, i)) continue;
        bool is_double = spyi_sum_scalar(b->leaves[i].type) == SPY_DTYPE_FLOAT64;
        spyi_text format = { NULL, 0, 0 }, place = { NULL, 0, 0 }, row = { NULL, 0, 0 };
        spyi_text_add(&row, "spy_j%s", s->unit);
        spyi_left_place(s, i, spyi_text_str(&row), &place);
        if (name)
            spyi_text_add(&format, "%s(%%s, %s)", name,
                          spyi_text_str(&place)); // puts the first part twice, which changes no minimum or
                                                  // maximum
        else if (unit)
            spyi_text_add(&format, "%%s + select(spy_in_%u, %s, %s(0))", unit, spyi_text_str(&place),
                          is_double ? "double" : "float");
        else spyi_text_add(&format, "%%s + %s", spyi_text_str(&place));
        spyi_each_sum(s, i, spyi_text_str(&format), "    ");
        spyi_text_free(&format);
        spyi_text_free(&place);
        spyi_text_free(&row);
    }
}

// Writes the body of the loop, without its indentation.
static void spyi_emit_team_step(spyi_emit_state *s, uint32_t team) {
    uint32_t units = s->tail ? 1 : s->key->unroll, width = s->tail ? 1 : s->key->width;
    spyi_text arguments[SPYI_TEAM_MOST];
    memset(arguments, 0, sizeof arguments);
    for (uint32_t u = 0; u < units; u++) {
        if (!s->tail) spyi_set_unit(s, u);
        if (!s->tail) spyi_emit_unit(s, u, team);
        if (!s->key->finishes) spyi_emit_unit_loads(s, arguments, u * width);
    }
    for (uint32_t u = 0; u < units; u++) {
        if (!s->tail) spyi_set_unit(s, u);
        if (s->key->finishes) {
            spyi_emit_unit_parts(s, u);
            continue;
        }
        if (u) spyi_text_add(&s->body, "    if (spy_in_%u)\n    {\n", u);
        spyi_emit_unit_calls(s, arguments, u * width, u ? "        " : "    ");
        if (u) spyi_text_add(&s->body, "    }\n");
    }
    s->unit[0] = 0;
}

// Writes the loop over a part of a sum. If units are vectors, a second loop takes the elements behind the last whole
// vector, of which only a call in one dimension has any.
static void spyi_emit_team_loop(spyi_emit_state *s, uint32_t team) {
    uint32_t width = s->key->width;
    for (int tail = 0; tail < (width > 1 && s->key->rank == 1 ? 2 : 1); tail++) {
        spyi_text outer = s->body;
        memset(&s->body, 0, sizeof s->body);
        s->tail = tail;
        spyi_emit_team_step(s, team);
        s->tail = false;
        if (tail)
            spyi_text_add(
                &outer, "    for (uint spy_j = spy_end / %u * %u + spy_r; spy_j < spy_end; spy_j = spy_j + ",
                width, width);
        else if (width > 1)
            spyi_text_add(
                &outer,
                "    for (uint spy_j = spy_part * spyi_block._length + spy_r * %u; spy_j + %u < spy_end; "
                "spy_j = spy_j + ",
                width, width - 1);
        else
            spyi_text_add(
                &outer,
                "    for (uint spy_j = spy_part * spyi_block._length + spy_r; spy_j < spy_end; spy_j = "
                "spy_j + ");
        spyi_text_add(&outer, "%u)\n    {\n", tail ? team : team * width * s->key->unroll);
        spyi_add_indented(&s->body, &outer);
        spyi_text_add(&outer, "    }\n");
        spyi_text_free(&s->body);
        s->body = outer;
    }
}

// Hands the team's sum on: adds it to the gradient, or leaves it for the dispatch that finishes.
static void spyi_emit_team_end(spyi_emit_state *s, uint32_t i) {
    const spyi_leaf *leaf = &s->bound->leaves[i];
    spyi_text place = { NULL, 0, 0 };
    if (spyi_is_skipped(s, i)) {
        uint32_t n = spyi_type_scalars(leaf->type);
        spyi_left_place(s, i, "spy_part", &place);
        if (n > 1)
            spyi_text_add(&s->body, "    for (int spy_p = %s; spy_p < %u; ++spy_p) ",
                          spyi_ends_in_loops(s, i) ? "spy_from" : "0", n);
        else spyi_text_add(&s->body, "    ");
        spyi_text_add(&s->body, n > 1 ? "%s = sum_%s[spy_p];\n" : "%s = sum_%s;\n", spyi_text_str(&place),
                      s->names[i]);
    } else if (s->key->walk[i] & SPYI_WALK_ATOMIC) {
        spyi_place(s, i, 0, "", true, &place);
        spyi_emit_pieces(s, SPYI_PIECE_ATOMIC, i, leaf->type, spyi_text_str(&place), leaf->type, "", "    ");
    } else if (spyi_sum_is_long(leaf->type) && !spyi_gathers(s, i)) { // the sum stays in memory, because
                                                                      // drivers would unroll a copy
        spyi_place(s, i, 0, "", true, &place);
        spyi_emit_pieces(s, SPYI_PIECE_APPLY, i, leaf->type, spyi_text_str(&place), leaf->type, "", "    ");
    } else {
        spyi_make_variable(s, i, "g_", true, "    ");
        spyi_emit_pieces(s, SPYI_PIECE_APPLY, i, leaf->type, s->lvalues[i], leaf->type, "", "    ");
        spyi_emit_leaf_store(s, i, "    ");
    }
    spyi_text_free(&place);
}

static void spyi_sums_body(spyi_emit_state *s) {
    const spyi_variant_key *key = s->key;
    const spyi_bound *b = s->bound;
    uint32_t group = s->out->group_size, team = spyi_team_size(key, group), side = group / team;
    spyi_text *body = &s->body;
    bool places = false, open = false;
    spyi_text_add(body, "    uint spy_g = %s;\n",
                  key->folded ? "spy_group.y * spyi_block._row + spy_group.x" : "spy_group.x");
    spyi_text_add(body, "    uint spy_r = spy_in_group %s %u;\n    uint spy_n = spy_in_group %s %u;\n",
                  key->inner ? "%" : "/", key->inner ? team : side, key->inner ? "/" : "%",
                  key->inner ? team : side);
    spyi_text_add(body,
                  "    uint spy_part = spy_g %% spyi_block._parts;\n    uint spy_k = spy_g / "
                  "spyi_block._parts * %u + spy_n;\n",
                  side);
    spyi_text_add(body, "    uint spy_end = spy_k < spyi_block._sums ? min(spy_part * spyi_block._length + "
                        "spyi_block._length, "
                        "spyi_block._each) : 0;\n");
    for (uint32_t i = 0; i < b->leaf_count; i++) {
        uint32_t n = spyi_is_summed(s, i) ? spyi_type_scalars(b->leaves[i].type) : 0;
        const char *scalar =
            n && spyi_sum_scalar(b->leaves[i].type) == SPY_DTYPE_FLOAT64 ? "double" : "float";
        const char *nothing =
            b->combine == SPYI_COMBINE_MIN ? "asfloat(0x7f800000u)" : "asfloat(0xff800000u)";
        if (n > 1) spyi_text_add(body, "    %s sum_%s[%u] = {};\n", scalar, s->names[i], n);
        else if (n)
            spyi_text_add(body, "    %s sum_%s = %s;\n", scalar, s->names[i],
                          spyi_combine_name(b) ? nothing : "0");
        if (n > 1 && spyi_combine_name(b))
            spyi_text_add(body, "    for (int spy_p = 0; spy_p < %u; ++spy_p) sum_%s[spy_p] = %s;\n", n,
                          s->names[i], nothing);
        open = open || spyi_ends_in_loops(s, i);
        places = places || (n && !spyi_is_skipped(s, i) && spyi_walk_of(s, i) >= SPYI_WALK_LINEAR);
    }
    if (!key->finishes) spyi_emit_thread_loads(s);
    spyi_emit_team_loop(s, team);
    for (uint32_t i = 0; i < b->leaf_count; i++) {
        char format[160];
        if (!spyi_is_summed(s, i)) continue;
        if (spyi_sum_is_long(b->leaves[i].type)) {
            spyi_text_add(body, "    spyi_team_sums(sum_%s, spy_in_group, spy_r, %u, %u, %s);\n", s->names[i],
                          team, side, key->inner ? "true" : "false");
            continue;
        }
        const char *combine = spyi_combine_name(b);
        snprintf(format, sizeof format, "spyi_team_%s(%%s, spy_r, spy_r * %u + spy_n, %u, %u)",
                 combine ? combine : "sum", side, side, team);
        spyi_each_sum(s, i, format, "    ");
    }
    spyi_text_add(body, "    if (spy_r == 0 && spy_k < spyi_block._sums)\n    {\n");
    spyi_text outer = s->body;
    memset(&s->body, 0, sizeof s->body);
    if (places) {
        spyi_text_add(body, "    uint spy_i = spy_k%s;\n", key->finishes ? "" : " * spyi_block._each");
        spyi_emit_team_places(s, true);
    }
    if (open) spyi_text_add(body, "    int spy_from = min(int(spyi_block._parts), 0);\n");
    for (uint32_t i = 0; i < b->leaf_count; i++)
        if (spyi_is_summed(s, i)) spyi_emit_team_end(s, i);
    spyi_add_indented(&s->body, &outer);
    spyi_text_free(&s->body);
    s->body = outer;
    spyi_text_add(body, "    }\n");
}

SPYI_FN const spyi_prologue *spyi_sums_prologue(void) {
    static const spyi_prologue prologue = { spyi_compute_name, spyi_compute_head,   spyi_sums_fields,
                                            spyi_sums_body,    spyi_compute_number, spyi_compute_index };
    return &prologue;
}

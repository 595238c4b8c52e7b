// The prologue of tiled variants, for calls in which some arguments lie across the others: neighbouring threads would
// load neighbouring elements of one argument, and of another (a transposed one) elements that are far apart.
//
// A group computes one tile of the call: `tile` elements along the last dimension, in which the threads' elements are
// neighbours, and as many along the dimension key.turn, in which the elements of the *turned* leaves are neighbours. It
// loads the tile of each turned leaf along that leaf's own neighbours into groupshared memory. After a barrier each
// thread takes its elements from there. Turned outputs go the same way back: the threads leave their elements in
// groupshared memory, and after a barrier the tile is stored along its own neighbours. Other leaves are loaded and
// stored as in other variants.
//
// Each thread has `unroll` rows of `width` neighbouring elements, for its own leaves (row, column) as for turned ones
// (column, row). Threads behind the edges of the call load elements of the edge in place of their own and compute
// nothing: barriers need all threads of a group.
//
// Rows of groupshared memory are one word longer than the tile, so that neither rows nor columns meet in one bank.
#include "emit/internal.h"

// spyi_tile_columns() returns the number of threads along a row of the tile; spyi_tile_step() returns the
// number of rows between two elements of a thread.
static uint32_t spyi_tile_columns(const spyi_emit_state *s) {
    return s->key->tile / s->key->width;
}

static uint32_t spyi_tile_step(const spyi_emit_state *s) {
    return s->out->group_size / spyi_tile_columns(s);
}

// Returns the dimension of the tile that the threads' neighbours lie along.
static uint32_t spyi_tile_last(const spyi_emit_state *s) {
    return s->key->rank - 1u;
}

// Returns the type of a turned leaf's elements in groupshared memory.
static const spyi_type *spyi_tile_type(const spyi_emit_state *s, uint32_t i) {
    const spyi_type *memory = spyi_memory_type(s, i);
    return memory->columns == 1 && s->key->width > 1 ? spyi_type_scalar(s->types, memory->scalar) : memory;
}

static uint32_t spyi_tile_pitch(const spyi_emit_state *s, uint32_t i) {
    size_t size = spyi_type_device_stride(spyi_tile_type(s, i));
    return s->key->tile + (size < 4 ? (uint32_t)(4 / size) : 1);
}

// Writes where an element of a turned leaf lies in groupshared memory. With `across` the place is counted
// along the leaf's own neighbours, of which it is number `element` of row `row`; otherwise along the call's.
static void spyi_tile_place(const spyi_emit_state *s, uint32_t i, bool across, uint32_t row, uint32_t element,
                            spyi_text *out) {
    uint32_t pitch = spyi_tile_pitch(s, i), below = row * spyi_tile_step(s);
    spyi_text_add(out, "spyi_tile_%s[", s->names[i]);
    if (across) spyi_text_add(out, "(spy_column + %u) * %u + spy_row + %u]", element, pitch, below);
    else spyi_text_add(out, "(spy_row + %u) * %u + spy_column + %u]", below, pitch, element);
}

SPYI_FN void spyi_turned_value(const spyi_emit_state *s, uint32_t i, spyi_text *out) {
    spyi_text place = { NULL, 0, 0 };
    spyi_tile_place(s, i, false, s->element / s->key->width, s->element % s->key->width, &place);
    spyi_spell_load(spyi_tile_type(s, i), s->bound->leaves[i].type, spyi_text_str(&place), out);
    spyi_text_free(&place);
}

SPYI_FN void spyi_turned_store(spyi_emit_state *s, uint32_t i, const char *indent) {
    spyi_text line = { NULL, 0, 0 };
    spyi_tile_place(s, i, false, s->element / s->key->width, s->element % s->key->width, &line);
    spyi_text_add(&line, " = ");
    spyi_spell_store(s, spyi_leaf_dtype(&s->bound->leaves[i]), spyi_tile_type(s, i), s->lvalues[i], &line);
    spyi_text_add(&s->body, "%s%s;\n", indent, spyi_text_str(&line));
    spyi_text_free(&line);
}

// >>coordinates

static void spyi_tiles_number(const spyi_emit_state *s, spyi_text *out) {
    uint32_t row = s->element / s->key->width, column = s->element % s->key->width;
    for (uint32_t d = 0; d < s->key->rank; d++) {
        spyi_text_add(out, d ? " + " : "");
        if (d == s->key->turn) spyi_text_add(out, "spy_c%u_%u * spyi_block._element%u", d, row, d);
        else if (d != spyi_tile_last(s)) spyi_text_add(out, "spy_c%u * spyi_block._element%u", d, d);
        else spyi_text_add(out, column ? "spy_c%u + %u" : "spy_c%u", d, column);
    }
}

// Writes the number of the group, the coordinates of its tile, and the thread's place in it.
static void spyi_emit_tile(spyi_emit_state *s) {
    const spyi_variant_key *key = s->key;
    spyi_text *body = &s->body;
    uint32_t columns = spyi_tile_columns(s), last = spyi_tile_last(s);
    if (key->folded)
        spyi_text_add(body, "    uint spy_rest = spy_group.y * (spyi_block._row / %u) + spy_group.x;\n",
                      s->out->group_size);
    else spyi_text_add(body, "    uint spy_rest = spy_group.x;\n");
    spyi_text_add(body, "    uint spy_high;\n");
    for (uint32_t d = last; d >= 1; d--)
        spyi_text_add(
            body,
            "    spy_high = (uint((uint64_t(spy_rest) * spyi_block._magic%u) >> 32) + spy_rest) >> "
            "spyi_block._shift%u;\n"
            "    int spy_%c%u = int(spy_rest - spy_high * spyi_block._size%u);\n    spy_rest = spy_high;\n",
            d, d, d == last || d == key->turn ? 't' : 'c', d, d);
    if (key->folded) spyi_text_add(body, "    if (spy_rest >= spyi_block._size0) return;\n");
    spyi_text_add(body, "    int spy_%c0 = int(spy_rest);\n", key->turn == 0 ? 't' : 'c');
    spyi_text_add(body,
                  "    int spy_column = int(spy_in_group %% %u) * %u, spy_row = int(spy_in_group / %u);\n",
                  columns, key->width, columns);
}

// Writes the coordinates of the thread's elements: of those that it computes, and of those that it loads from and stores to
// turned leaves. A thread that has none gets those of the edge.
static void spyi_emit_tile_places(spyi_emit_state *s) {
    const spyi_variant_key *key = s->key;
    spyi_text *body = &s->body;
    uint32_t last = spyi_tile_last(s), turn = key->turn, step = spyi_tile_step(s);
    const uint32_t dims[2] = { last, turn }; // first comes the call's neighbour dimension, then that of
                                             // turned leaves
    for (int k = 0; k < 2; k++) {
        uint32_t along = dims[k], across = dims[1 - k];
        char c = k ? 'u' : 'c';
        spyi_text_add(body,
                      "    int spy_%c%u = min(spy_t%u * %u + spy_column, int(spyi_block._edge%u) - %u);\n", c,
                      along, along, key->tile, along, key->width);
        for (uint32_t row = 0; row < key->unroll; row++)
            spyi_text_add(
                body,
                "    int spy_%c%u_%u = min(spy_t%u * %u + spy_row + %u, int(spyi_block._edge%u) - 1);\n", c,
                across, row, across, key->tile, row * step, across);
    }
}

// Writes whether the thread has elements in a row, of the call or, with `turned`, of turned outputs.
static void spyi_tile_guard(spyi_emit_state *s, bool turned, uint32_t row) {
    uint32_t along = turned ? s->key->turn : spyi_tile_last(s),
             across = turned ? spyi_tile_last(s) : s->key->turn, tile = s->key->tile;
    spyi_text_add(
        &s->body,
        "    if (spy_t%u * %u + spy_column < int(spyi_block._edge%u) && spy_t%u * %u + spy_row + %u < "
        "int(spyi_block._edge%u)) {\n",
        along, tile, along, across, tile, row * spyi_tile_step(s), across);
}

// Writes the index of each row of a leaf's elements. The index of vectors counts vectors.
static void spyi_emit_tile_offsets(spyi_emit_state *s, uint32_t i, uint32_t row) {
    const spyi_variant_key *key = s->key;
    bool turned = spyi_is_turned(s, i), still = spyi_walk_of(s, i) == SPYI_WALK_STILL;
    uint32_t last = spyi_tile_last(s), along = turned ? key->turn : last, across = turned ? last : key->turn;
    char c = turned ? 'u' : 'c';
    const char *plus = "";
    spyi_text_add(&s->body, "    int %s_at_%u = ", s->names[i], row);
    for (uint32_t d = 0; d < key->rank; d++) {
        if (d == along && still) continue;
        spyi_text_add(&s->body, "%s", plus);
        plus = " + ";
        if (d == along && !spyi_has_stride(s, i, d) && key->width > 1) { // the width is 4 or 8 here
            spyi_text_add(&s->body, "(spy_%c%u >> %u)", c, d, key->width == 4 ? 2 : 3);
            continue;
        }
        if (d == across) spyi_text_add(&s->body, "spy_%c%u_%u", c, d, row);
        else spyi_text_add(&s->body, "spy_%c%u", d == along ? c : 'c', d);
        if (spyi_has_stride(s, i, d)) spyi_text_add(&s->body, " * spyi_block.%s__stride%u", s->names[i], d);
    }
    spyi_text_add(&s->body, ";\n");
}

static void spyi_tiles_index(const spyi_emit_state *s, uint32_t i, uint32_t access, bool store,
                             spyi_text *out) {
    (void)store; // no other thread's element is at the edge's index while its store is guarded
    uint32_t walk = spyi_walk_of(s, i), width = s->key->width, column = s->element % width;
    if (walk == SPYI_WALK_UNIFORM) return;
    if (spyi_is_wide(s, i)) {
        uint32_t n = spyi_vectors(s, i) / spyi_packed(s, i) / s->key->unroll; // the number of accesses of a
                                                                              // row
        spyi_text_add(out, "%s_at_%u", s->names[i], access / n);
        if (n > 1) spyi_text_add(out, " * %u + %u", n, access % n);
        return;
    }
    spyi_text_add(out, "%s_at_%u", s->names[i], s->element / width);
    if (walk == SPYI_WALK_STRIDED && column)
        spyi_text_add(out, " + %u * spyi_block.%s__stride%u", column, s->names[i], spyi_tile_last(s));
}

// >>a thread's elements

// Sets the current element, counted from the first of the row.
static void spyi_tile_element(spyi_emit_state *s, uint32_t row, uint32_t element) {
    s->element = row * s->key->width + element;
    snprintf(s->suffix, sizeof s->suffix, "_%u", s->element & 255u); // gcc sees that it fits
}

// Writes the loads of a turned leaf into variables. The loads of all leaves are under way together.
static void spyi_load_turned(spyi_emit_state *s, uint32_t i) {
    if (spyi_is_wide(s, i)) {
        spyi_load_vectors(s, i);
        return;
    }
    for (uint32_t row = 0; row < s->key->unroll && s->bound->leaves[i].in; row++) {
        spyi_text place = { NULL, 0, 0 };
        spyi_tile_element(s, row, 0);
        spyi_place(s, i, 0, "", false, &place);
        spyi_text_add(&s->body, "    ");
        spyi_spell_memory(s, spyi_tile_type(s, i), &s->body);
        spyi_text_add(&s->body, " w_%s__%u = %s;\n", s->names[i], row, spyi_text_str(&place));
        spyi_text_free(&place);
    }
}

// Writes the move of a row of a turned leaf between the thread's variables and groupshared memory.
static void spyi_move_turned(spyi_emit_state *s, uint32_t i, uint32_t row, bool store, const char *indent) {
    for (uint32_t e = 0; e < s->key->width; e++) {
        spyi_text variable = { NULL, 0, 0 }, place = { NULL, 0, 0 };
        spyi_tile_element(s, row, e);
        if (spyi_is_wide(s, i)) spyi_component(s, i, 0, &variable);
        else if (!store) spyi_text_add(&variable, "w_%s__%u", s->names[i], row);
        else spyi_place(s, i, 0, "", true, &variable); // an element goes to memory at once
        spyi_tile_place(s, i, true, row, e, &place);
        spyi_text_add(&s->body, "%s%s = %s;\n", indent,
                      store ? spyi_text_str(&variable) : spyi_text_str(&place),
                      store ? spyi_text_str(&place) : spyi_text_str(&variable));
        spyi_text_free(&variable);
        spyi_text_free(&place);
    }
}

// Writes the stores of turned outputs from groupshared memory.
static void spyi_store_turned(spyi_emit_state *s) {
    const spyi_bound *b = s->bound;
    bool any = false;
    for (uint32_t i = 0; i < b->leaf_count; i++) any = any || (b->leaves[i].out && spyi_is_turned(s, i));
    if (!any) return;
    spyi_text_add(&s->body, "    GroupMemoryBarrierWithGroupSync();\n");
    for (uint32_t row = 0; row < s->key->unroll; row++) {
        spyi_tile_guard(s, true, row);
        for (uint32_t i = 0; i < b->leaf_count; i++) {
            if (!b->leaves[i].out || !spyi_is_turned(s, i)) continue;
            spyi_move_turned(s, i, row, true, "        ");
            if (!spyi_is_wide(s, i)) continue;
            uint32_t n = spyi_vectors(s, i) / spyi_packed(s, i) / s->key->unroll;
            for (uint32_t a = 0; a < n; a++) spyi_store_access(s, i, row * n + a, "        ");
        }
        spyi_text_add(&s->body, "    }\n");
    }
}

static bool spyi_is_plain_vector(const spyi_emit_state *s, uint32_t i) {
    return spyi_is_wide(s, i) && !spyi_is_turned(s, i);
}

// Writes the loads of all leaves that are loaded before any element's call, and moves those of turned leaves
// into groupshared memory.
static void spyi_tile_loads(spyi_emit_state *s) {
    const spyi_bound *b = s->bound;
    bool any = false;
    for (uint32_t i = 0; i < b->leaf_count; i++) {
        if (!spyi_leaf_in_memory(&b->leaves[i])) continue;
        if (spyi_is_turned(s, i)) {
            spyi_text_add(&s->holders, "groupshared ");
            spyi_spell_memory(s, spyi_tile_type(s, i), &s->holders);
            spyi_text_add(&s->holders, " spyi_tile_%s[%u];\n", s->names[i],
                          spyi_tile_pitch(s, i) * s->key->tile);
        }
        for (uint32_t row = 0; row < s->key->unroll && spyi_walk_of(s, i) != SPYI_WALK_UNIFORM; row++)
            spyi_emit_tile_offsets(s, i, row);
        any = any || (spyi_is_turned(s, i) && b->leaves[i].in);
    }
    for (uint32_t i = 0; i < b->leaf_count; i++) {
        if (!spyi_leaf_in_memory(&b->leaves[i]) || spyi_is_skipped(s, i)) continue;
        if (spyi_is_turned(s, i)) spyi_load_turned(s, i);
        else if (spyi_is_wide(s, i)) spyi_load_vectors(s, i);
        else if (spyi_is_hoisted(s, i)) spyi_load_hoisted(s, i);
    }
    for (uint32_t i = 0; i < b->leaf_count; i++)
        for (uint32_t row = 0; row < s->key->unroll && b->leaves[i].in && spyi_is_turned(s, i); row++)
            spyi_move_turned(s, i, row, false, "    ");
    if (any) spyi_text_add(&s->body, "    GroupMemoryBarrierWithGroupSync();\n");
    s->element = 0;
    s->suffix[0] = 0;
}

#define SPYI_MOST_TILE_ELEMENTS 64

static void spyi_tiles_body(spyi_emit_state *s) {
    const spyi_bound *b = s->bound;
    spyi_text arguments[SPYI_MOST_TILE_ELEMENTS];
    uint32_t rows = s->key->unroll, width = s->key->width;
    memset(arguments, 0, sizeof arguments);
    SPYI_ASSERT(rows * width <= SPYI_MOST_TILE_ELEMENTS);
    spyi_emit_tile(s);
    spyi_emit_tile_places(s);
    spyi_tile_loads(s);
    for (uint32_t k = 0; k < rows * width; k++) {
        spyi_tile_element(s, k / width, k % width);
        s->wrapper->arguments(s, &arguments[k]);
    }
    for (uint32_t row = 0; row < rows; row++) {
        spyi_tile_guard(s, false, row);
        for (uint32_t e = 0; e < width; e++) {
            spyi_tile_element(s, row, e);
            spyi_emit_call(s, spyi_text_str(&arguments[s->element]), "        ");
            spyi_text_free(&arguments[s->element]);
        }
        for (uint32_t i = 0; i < b->leaf_count; i++) {
            if (!b->leaves[i].out || !spyi_leaf_in_memory(&b->leaves[i]) || !spyi_is_plain_vector(s, i))
                continue;
            uint32_t n = spyi_vectors(s, i) / spyi_packed(s, i) / rows;
            for (uint32_t a = 0; a < n; a++) spyi_store_access(s, i, row * n + a, "        ");
        }
        spyi_text_add(&s->body, "    }\n");
    }
    spyi_store_turned(s);
    s->element = 0;
    s->suffix[0] = 0;
}

// >>the prologue

static const char *spyi_tiles_name(const spyi_emit_state *s) {
    (void)s;
    return "tiled";
}

static void spyi_tiles_fields(spyi_emit_state *s) {
    const spyi_variant_key *key = s->key;
    const uint32_t edges[2] = { key->turn, spyi_tile_last(s) };
    if (key->folded) {
        spyi_add_field(s, SPYI_PACK_ROW, 0, 0, 4, 4, "uint _row");
        spyi_add_field(s, SPYI_PACK_SIZE, 0, 0, 4, 4, "uint _size0");
    }
    if (s->bound->uses_library || s->bound->call_info) spyi_declare_shape(s);
    spyi_declare_sizes(s);
    for (int k = 0; k < 2; k++)
        spyi_add_field(s, SPYI_PACK_EDGE, edges[k], 0, 4, 4, "uint _edge%u", edges[k]);
    for (uint32_t d = 0; d + 1u < key->rank && key->reordered; d++)
        spyi_add_field(s, SPYI_PACK_ELEMENT, d, 0, 4, 4, "int _element%u", d);
}

SPYI_FN const spyi_prologue *spyi_tiles_prologue(void) {
    static const spyi_prologue prologue = { spyi_tiles_name, spyi_compute_head, spyi_tiles_fields,
                                            spyi_tiles_body, spyi_tiles_number, spyi_tiles_index };
    return &prologue;
}

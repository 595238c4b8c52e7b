// Repairs the indices of values that a backward derivative saves in nested loops. Slang (2026.12, 2026.14.1;
// shader-slang/slang#13000) saves each value in an array with one dimension for each loop, and indexes the
// dimensions in the opposite order to that of their sizes: the value of iteration `i` of an inner loop of 8
// and iteration `o` of an outer loop of 2 lies at [i][o] of float[2][8]. With loops of different length the
// elements overlap or lie behind the array's end, and gradients are silently wrong.
//
// This file reverses the indices, in the code that Slang made, and only where the code itself shows that
// their order is wrong: the counter of an inner loop is set to 0 behind that of the loop around it. So the
// code of a Slang without the fault is not changed. Code that this file cannot interpret is reported, and not
// changed.
#include "compiler/target.h"

// The counters of loops whose values are saved are variables called _pc.
enum { SPYI_COUNTER_NAME = 0x0063705f /* "_pc" */ };

typedef struct spyi_saved_id {
    uint32_t at; // the word of the instruction that defines the id, for the operations in spyi_saved_read();
                 // otherwise 0
    uint32_t stored; // the word of the last store to a variable before the current instruction
    // The number of dimensions of an array type that are loops, if their lengths differ; otherwise 0.
    uint32_t depth;
    bool counter; // the name of the id is _pc
    bool zeroed;  // the store at `stored` sets the variable to 0
    bool partial; // the pointer points to a part of a saved array with several values
} spyi_saved_id;

typedef struct spyi_saved_code {
    const uint32_t *words;
    size_t count;
    spyi_saved_id *ids;
    uint32_t bound;
} spyi_saved_code;

static uint32_t spyi_saved_op(const spyi_saved_code *c, uint32_t id) {
    return id < c->bound ? spyi_spirv_op(c->words, c->ids[id].at) : 0;
}

// Returns word `n` of the instruction that defines `id`.
static uint32_t spyi_saved_word(const spyi_saved_code *c, uint32_t id, uint32_t n) {
    return spyi_spirv_word(c->words, c->ids[id].at, n);
}

// A sequence of access chains, each starting at the result of the one before, as a single one: the variable
// at its start and all indices.
typedef struct spyi_saved_chain {
    uint32_t root, count, own; // `own` is the number of the first index of the last instruction
    uint32_t indices[SPYI_MOST_INDICES];
} spyi_saved_chain;

static bool spyi_saved_flatten(const spyi_saved_code *c, uint32_t id, uint32_t level, spyi_saved_chain *out) {
    if (!spyi_spirv_is_chain(spyi_saved_op(c, id)) || level > SPYI_MOST_INDICES) {
        out->root = id;
        out->count = out->own = 0;
        return level <= SPYI_MOST_INDICES;
    }
    uint32_t words = c->words[c->ids[id].at] >> 16;
    if (!spyi_saved_flatten(c, spyi_saved_word(c, id, 3), level + 1, out)) return false;
    out->own = out->count;
    for (uint32_t i = 4; i < words; i++) {
        if (out->count == SPYI_MOST_INDICES) return false;
        out->indices[out->count++] = spyi_saved_word(c, id, i);
    }
    return true;
}

// Returns the type of the part of `type` at `index`; 0 means that it is not known.
static uint32_t spyi_saved_part(const spyi_saved_code *c, uint32_t type, uint32_t index) {
    uint32_t op = spyi_saved_op(c, type);
    if (op == SPYI_OP_TYPE_STRUCT)
        return spyi_saved_op(c, index) == SPYI_OP_CONSTANT
                   ? spyi_saved_word(c, type, 2 + spyi_saved_word(c, index, 3))
                   : 0;
    return op >= SPYI_OP_TYPE_VECTOR && op < SPYI_OP_TYPE_STRUCT ? spyi_saved_word(c, type, 2) : 0;
}

// Returns the word of the instruction that first sets a loop's counter; 0 means that it is not known.
static uint32_t spyi_saved_begin(const spyi_saved_code *c, uint32_t index) {
    uint32_t op = spyi_saved_op(c, index);
    if (op == SPYI_OP_PHI) return c->ids[index].at;
    if (op != SPYI_OP_LOAD) return 0;
    uint32_t variable = spyi_saved_word(c, index, 3);
    return spyi_saved_op(c, variable) == SPYI_OP_VARIABLE ? c->ids[variable].stored : 0;
}

typedef struct spyi_saved_found {
    uint32_t wrong, right; // the number of pairs of indices in the wrong and in the right order
    bool unclear;          // the code uses a saved array in a way that this file does not know
} spyi_saved_found;

// Returns the type of the variable at a chain's start; 0 means that it is not known.
static uint32_t spyi_saved_root_type(const spyi_saved_code *c, const spyi_saved_chain *chain) {
    uint32_t pointer = spyi_saved_op(c, chain->root) ? spyi_saved_word(c, chain->root, 1) : 0;
    return spyi_saved_op(c, pointer) == SPYI_OP_TYPE_POINTER ? spyi_saved_word(c, pointer, 3) : 0;
}

static bool spyi_saved_is_counter(const spyi_saved_code *c, uint32_t index) {
    uint32_t variable = spyi_saved_op(c, index) == SPYI_OP_LOAD ? spyi_saved_word(c, index, 3) : 0;
    return variable < c->bound && c->ids[variable].counter;
}

// Returns whether an index may be a loop counter. Slang may reuse a variable as counter that had another
// purpose, with its old name; it is set to 0 before the loop.
static bool spyi_saved_may_count(const spyi_saved_code *c, uint32_t index) {
    uint32_t variable = spyi_saved_op(c, index) == SPYI_OP_LOAD ? spyi_saved_word(c, index, 3) : 0;
    return variable < c->bound && (c->ids[variable].counter || c->ids[variable].zeroed);
}

// Notes a store; called in the order of the code.
static void spyi_saved_note_store(spyi_saved_code *c, const uint32_t *w) {
    if ((w[0] & 0xffffu) != SPYI_OP_STORE || w[0] >> 16 < 3 || w[1] >= c->bound || w[2] >= c->bound) return;
    c->ids[w[1]].stored = (uint32_t)(w - c->words);
    c->ids[w[1]].zeroed = spyi_saved_op(c, w[2]) == SPYI_OP_CONSTANT && spyi_saved_word(c, w[2], 3) == 0;
}

// Notes, for each array type that the chain indexes by two or more counters, how many.
static void spyi_saved_learn(spyi_saved_code *c, const spyi_saved_chain *chain) {
    uint32_t type = spyi_saved_root_type(c, chain), depth;
    for (uint32_t at = 0; type && at < chain->count; at += depth) {
        uint32_t array = type, first = 0;
        bool unequal = false, named = false;
        for (depth = 0; at + depth < chain->count && spyi_saved_op(c, type) == SPYI_OP_TYPE_ARRAY &&
                        spyi_saved_may_count(c, chain->indices[at + depth]);
             depth++) {
            named = named || spyi_saved_is_counter(c, chain->indices[at + depth]);
            uint32_t length = spyi_saved_word(c, spyi_saved_word(c, type, 3), 3);
            if (!depth) first = length;
            unequal = unequal || length != first;
            type = spyi_saved_word(c, type, 2);
        }
        if (depth > c->ids[array].depth && depth > 1 && unequal && named)
            c->ids[array].depth = depth; // the longest chain determines the depth
        if (depth && named) continue;
        type = spyi_saved_part(c, array, chain->indices[at]);
        depth = 1;
    }
}

// Reverses the indices of each saved array in the chain, and counts pairs in the wrong and in the right
// order. Returns whether the chain's last instruction completes such an array's indices.
static bool spyi_saved_turn(spyi_saved_code *c, uint32_t id, spyi_saved_chain *chain,
                            spyi_saved_found *found) {
    bool turned = false;
    uint32_t type = spyi_saved_root_type(c, chain);
    for (uint32_t at = 0; type && at < chain->count;) {
        uint32_t depth = c->ids[type].depth;
        if (depth < 2) {
            type = spyi_saved_part(c, type, chain->indices[at++]);
            continue;
        }
        if (at + depth > chain->count) {
            c->ids[id].partial = true;
            break;
        }
        uint32_t *first = chain->indices + at;
        for (uint32_t i = 0; i + 1 < depth; i++) {
            uint32_t a = spyi_saved_begin(c, first[i]), b = spyi_saved_begin(c, first[i + 1]);
            found->wrong += a && b && a > b;
            found->right += a && b && a < b;
        }
        for (uint32_t i = 0; i < depth / 2; i++) {
            uint32_t other = first[depth - 1 - i];
            first[depth - 1 - i] = first[i];
            first[i] = other;
        }
        for (uint32_t i = 0; i < depth; i++) type = spyi_saved_word(c, type, 2);
        at += depth;
        turned = turned || at > chain->own;
    }
    return turned;
}

// Handles an instruction that uses the pointers in its words `from` to `to` otherwise than in an access
// chain.
static void spyi_saved_use(const spyi_saved_code *c, const uint32_t *words, uint32_t from, uint32_t to,
                           spyi_saved_found *found) {
    for (uint32_t i = from; i < to && i < words[0] >> 16; i++)
        if (words[i] < c->bound && c->ids[words[i]].partial) found->unclear = true;
}

// Writes one instruction to `out`, with its indices reversed if they belong to a saved array, and counts
// index pairs in `found`. Returns the number of words written. With `out` NULL it only counts them.
static uint32_t spyi_saved_write(spyi_saved_code *c, const uint32_t *from, spyi_saved_found *found,
                                 uint32_t *out) {
    uint32_t op = from[0] & 0xffffu, length = from[0] >> 16;
    spyi_saved_chain chain;
    spyi_saved_note_store(c, from);
    if (spyi_spirv_is_chain(op) && length > 4 && spyi_saved_flatten(c, from[2], 0, &chain) &&
        spyi_saved_turn(c, from[2], &chain, found)) {
        if (out) {
            out[0] = op | (4 + chain.count) << 16;
            out[1] = from[1];
            out[2] = from[2];
            out[3] = chain.root;
            memcpy(out + 4, chain.indices, chain.count * sizeof *out);
        }
        return 4 + chain.count;
    }
    if (out) memcpy(out, from, length * sizeof *out);
    if (op == SPYI_OP_LOAD) spyi_saved_use(c, from, 3, 4, found);
    else if (op == SPYI_OP_STORE) spyi_saved_use(c, from, 1, 2, found);
    else if (op == SPYI_OP_COPY_MEMORY) spyi_saved_use(c, from, 1, 3, found);
    else if (op == SPYI_OP_CALL) spyi_saved_use(c, from, 4, length, found);
    return length;
}

// Fills in where each id is defined, and which ids are counters. Returns false when the code is damaged or
// has no counters.
static bool spyi_saved_read(spyi_saved_code *c) {
    bool any = false;
    spyi_spirv_at i = spyi_spirv_first(c->words, c->count);
    while (spyi_spirv_next(&i)) {
        const uint32_t *w = i.w;
        uint32_t id = 0;
        switch (i.op) {
        case SPYI_OP_TYPE_INT:
        case SPYI_OP_TYPE_VECTOR:
        case SPYI_OP_TYPE_MATRIX:
        case SPYI_OP_TYPE_ARRAY:
        case SPYI_OP_TYPE_RUNTIME_ARRAY:
        case SPYI_OP_TYPE_STRUCT:
        case SPYI_OP_TYPE_POINTER: id = i.length > 1 ? w[1] : 0; break;
        case SPYI_OP_CONSTANT:
        case SPYI_OP_PARAMETER:
        case SPYI_OP_VARIABLE:
        case SPYI_OP_LOAD:
        case SPYI_OP_ACCESS_CHAIN:
        case SPYI_OP_IN_BOUNDS_ACCESS_CHAIN:
        case SPYI_OP_PHI: id = i.length > 2 ? w[2] : 0; break;
        case SPYI_OP_NAME:
            if (i.length == 3 && w[1] < c->bound && w[2] == SPYI_COUNTER_NAME)
                c->ids[w[1]].counter = any = true;
            break;
        default: break;
        }
        if (id >= c->bound) return false;
        if (id) c->ids[id].at = (uint32_t)i.at;
    }
    return any && !i.broken;
}

bool spyi_code_order_saved(uint32_t **words, size_t *count, size_t room) {
    spyi_saved_code c;
    spyi_saved_found found;
    size_t total = 5;
    memset(&found, 0, sizeof found);
    c.words = *words;
    c.count = *count;
    if (!spyi_spirv_is_known(c.words, c.count)) return true;
    c.bound = c.words[3];
    c.ids = (spyi_saved_id *)spyi_calloc(c.bound + 1, sizeof *c.ids);
    if (!c.ids) return false;
    if (!spyi_saved_read(&c)) {
        free(c.ids);
        return true;
    }
    for (spyi_spirv_at i = spyi_spirv_first(c.words, c.count); spyi_spirv_next(&i);) {
        spyi_saved_chain chain;
        spyi_saved_note_store(&c, i.w);
        if (spyi_spirv_is_chain(i.op) && i.length > 4 && spyi_saved_flatten(&c, i.w[2], 0, &chain))
            spyi_saved_learn(&c, &chain);
    }
    for (spyi_spirv_at i = spyi_spirv_first(c.words, c.count); spyi_spirv_next(&i);)
        total += spyi_saved_write(&c, i.w, &found, NULL);
    bool clear = !found.unclear && !(found.wrong && found.right);
    uint32_t *out = found.wrong && clear ? (uint32_t *)spyi_malloc((total + room) * sizeof *out) : NULL;
    if (out) {
        size_t at = 5;
        memcpy(out, c.words, 5 * sizeof *out);
        for (spyi_spirv_at i = spyi_spirv_first(c.words, c.count); spyi_spirv_next(&i);)
            at += spyi_saved_write(&c, i.w, &found, out + at);
        free(*words);
        *words = out;
        *count = at;
    }
    free(c.ids);
    return clear && (out || !found.wrong);
}

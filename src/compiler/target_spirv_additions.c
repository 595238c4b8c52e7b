// Repairs the gradients of array elements that are read at indices known only at run time. The backward
// derivative of code that reads a[i] and a[j] makes an array of zeros, then stores one gradient at [i] and
// the other at [j]. Slang (2026.12, 2026.14.1) takes two indices for different elements when different
// instructions compute them. Where i equals j at run time, the second store overwrites the first, and the
// gradient of a is silently wrong. The same holds for vectors and matrices.
//
// This file turns such stores into additions, in the code that Slang made. It changes a store only if all of
// this holds:
// - The function is a derivative that Slang made: its name begins with s_bwdProp_.
// - The stored value depends on the gradients that the function is given. The function also repeats
//   computations of the original function; their stores must stay. Their values do not depend on gradients.
// - In the same block the array was set to zero before, another element was stored since, and nothing read
//   the array.
// Other stores are not changed. Stores that look like the fault but fail a condition are reported, and the
// code stays as it was.
#include "compiler/target.h"

enum {
    SPYI_ADDITION_MOST_PARTS = 64
}; // the largest number of members of a struct, or elements of an array,
    // that is added

typedef struct spyi_addition_id {
    uint32_t at;    // the word of the instruction that defines the id; 0 means that no instruction that
                    // matters here defines it
    uint32_t root;  // the variable or parameter that a pointer points into; for other ids the id itself
    uint32_t slot;  // The number, from 1 on, of a variable or pointer parameter of the current function.
    uint32_t label; // the number, from 1 on, of a block of the current function
    // The block that set the variable to zero and since then only stored elements; 0 means that there is
    // none.
    uint32_t block;
    uint32_t loose;               // the block of the last store to an element that is outside of `block`
    uint32_t stores;              // the number of elements stored in `block`
    bool backward, zero, context; // the name has SPYI_ADDITION_BACKWARD, _ZERO or _CONTEXT in it
    bool gradient;                // the value depends on the gradients that the function is given
    // An access chain has an index that is not constant, or a store in `block` to the variable has one.
    bool varies;
} spyi_addition_id;

typedef struct spyi_addition_code {
    const uint32_t *words;
    size_t count;
    spyi_addition_id *ids;
    uint32_t bound, next_id;
    // For each block of the current function a byte for each slot: 1 when its value may depend on gradients
    // there.
    uint8_t *states;
    uint32_t slots; // the number of bytes of `states` for each block
    uint32_t *out;  // gets the new code
    size_t out_count, out_capacity;
    bool failed, unclear;
    uint32_t changed;
} spyi_addition_code;

static uint32_t spyi_addition_op(const spyi_addition_code *c, uint32_t id) {
    return id < c->bound ? spyi_spirv_op(c->words, c->ids[id].at) : 0;
}

static uint32_t spyi_addition_length(const spyi_addition_code *c, uint32_t id) {
    return c->words[c->ids[id].at] >> 16;
}

static uint32_t spyi_addition_word(const spyi_addition_code *c, uint32_t id, uint32_t n) {
    return spyi_spirv_word(c->words, c->ids[id].at, n);
}

// Returns whether an operation's second word is a type and its third the id of the result.
static bool spyi_addition_has_result(uint32_t op) {
    return op == 1 || op == SPYI_OP_EXT_INST || (op >= 41 && op <= SPYI_OP_PARAMETER) || op == SPYI_OP_CALL ||
           op == SPYI_OP_VARIABLE || op == SPYI_OP_LOAD || spyi_spirv_is_chain(op) ||
           (op >= 77 && op <= 84) || (op >= 109 && op <= 215) || op == SPYI_OP_PHI ||
           op == SPYI_OP_COPY_LOGICAL;
}

// Returns whether a value is a gradient's zero. The zeros of arrays and structs are results of functions.
static bool spyi_addition_is_zero(const spyi_addition_code *c, uint32_t id, uint32_t level) {
    uint32_t op = spyi_addition_op(c, id), type = op ? spyi_addition_op(c, spyi_addition_word(c, id, 1)) : 0;
    if (op != SPYI_OP_CALL && (type == SPYI_OP_TYPE_ARRAY || type == SPYI_OP_TYPE_STRUCT)) return false;
    switch (op) {
    case SPYI_OP_CONSTANT_NULL: return true;
    case SPYI_OP_CALL: return spyi_addition_length(c, id) == 4 && c->ids[spyi_addition_word(c, id, 3)].zero;
    case SPYI_OP_CONSTANT:
    case SPYI_OP_CONSTANT_COMPOSITE:
    case SPYI_OP_CONSTRUCT: break;
    default: return false;
    }
    for (uint32_t i = 3; i < spyi_addition_length(c, id); i++) {
        uint32_t word = spyi_addition_word(c, id, i);
        if (op == SPYI_OP_CONSTANT ? word != 0 : level == 0 || !spyi_addition_is_zero(c, word, level - 1))
            return false;
    }
    return true;
}

static bool spyi_addition_is_context(const spyi_addition_code *c, uint32_t id) {
    uint32_t type = spyi_addition_op(c, id) ? spyi_addition_word(c, id, 1) : 0;
    if (spyi_addition_op(c, type) == SPYI_OP_TYPE_POINTER) type = spyi_addition_word(c, type, 3);
    return type < c->bound && c->ids[type].context;
}

// Returns the byte in `state` of what a pointer points into; NULL means that it is not memory of the current
// function, or never depends on gradients.
static uint8_t *spyi_addition_slot(const spyi_addition_code *c, uint32_t id, uint8_t *state) {
    uint32_t root = id < c->bound ? c->ids[id].root : 0;
    return c->ids[root].slot && !spyi_addition_is_context(c, root) ? state + c->ids[root].slot : NULL;
}

// Returns whether a value, or what a pointer points into, depends on gradients.
static bool spyi_addition_has_gradient(const spyi_addition_code *c, uint32_t id, uint8_t *state) {
    const uint8_t *slot = spyi_addition_slot(c, id, state);
    return slot ? *slot != 0 : id < c->bound && c->ids[id].gradient;
}

// Fills c->ids. Returns false when the code is damaged or contains no derivative.
static bool spyi_addition_read(spyi_addition_code *c) {
    bool any = false;
    spyi_spirv_at i = spyi_spirv_first(c->words, c->count);
    while (spyi_spirv_next(&i)) {
        const uint32_t *w = i.w;
        uint32_t op = i.op, id = 0;
        size_t length = i.length;
        if (op >= 19 && op <= 39 && length > 1) id = w[1];
        else if (spyi_addition_has_result(op) && length > 2) id = w[2];
        if (id >= c->bound) return false;
        bool one = op == SPYI_OP_STORE || op == SPYI_OP_COPY_MEMORY || op == SPYI_OP_LABEL;
        if (one &&
            (length < 2 || w[1] >= c->bound || (op != SPYI_OP_LABEL && (length < 3 || w[2] >= c->bound))))
            return false;
        if (op == SPYI_OP_NAME && length > 2 && w[1] < c->bound && w[length - 1] >> 24 == 0) {
            const char *name = (const char *)(w + 2);
            c->ids[w[1]].backward =
                strncmp(name, SPYI_ADDITION_BACKWARD, sizeof SPYI_ADDITION_BACKWARD - 1) == 0;
            c->ids[w[1]].context = strstr(name, SPYI_ADDITION_CONTEXT) != NULL;
            c->ids[w[1]].zero = strstr(name, SPYI_ADDITION_ZERO) != NULL;
        }
        if (!id) continue;
        c->ids[id].at = (uint32_t)i.at;
        c->ids[id].root = id;
        any = any || (op == SPYI_OP_FUNCTION && c->ids[id].backward);
        if (!spyi_spirv_is_chain(op)) continue;
        if (length < 4 || w[3] >= c->bound) return false;
        c->ids[id].root = c->ids[w[3]].root;
        c->ids[id].varies = c->ids[w[3]].varies;
        for (size_t k = 4; k < length; k++)
            if (spyi_addition_op(c, w[k]) != SPYI_OP_CONSTANT) c->ids[id].varies = true;
    }
    return any && !i.broken;
}

// Updates `state`, which its block has at this instruction, and the result's `gradient`. Returns whether the
// latter is new.
static bool spyi_addition_follow(spyi_addition_code *c, const uint32_t *w, uint8_t *state) {
    uint32_t op = w[0] & 0xffffu, length = w[0] >> 16, from = 3, to = length;
    bool any = false;
    if ((op == SPYI_OP_STORE || op == SPYI_OP_COPY_MEMORY) && length > 2) {
        uint8_t *slot = spyi_addition_slot(c, w[1], state);
        bool gradient = spyi_addition_has_gradient(c, w[2], state), whole = c->ids[w[1]].root == w[1];
        if (slot) *slot = gradient || (!whole && *slot);
        return false;
    }
    if (!spyi_addition_has_result(op) || op == SPYI_OP_PARAMETER || op == SPYI_OP_VARIABLE ||
        spyi_spirv_is_chain(op))
        return false;
    if (op == SPYI_OP_EXT_INST) from = 5;
    if (op == SPYI_OP_CALL) from = 4;
    if (op == SPYI_OP_LOAD || op == SPYI_OP_EXTRACT) to = 4;
    if (op == SPYI_OP_SHUFFLE || op == SPYI_OP_INSERT) to = 5;
    if (op == SPYI_OP_CALL && length > 3 && w[3] < c->bound)
        any = c->ids[w[3]].backward; // the called derivative may read a tensor's gradient
    for (uint32_t i = from; i < to && i < length; i++)
        any = any || spyi_addition_has_gradient(c, w[i], state);
    if (!any) return false;
    for (uint32_t i = from; op == SPYI_OP_CALL && i < length;
         i++) { // the callee may change what its pointers point into
        uint8_t *slot = spyi_addition_slot(c, w[i], state);
        if (slot) *slot = 1;
    }
    if (c->ids[w[2]].gradient || spyi_addition_is_context(c, w[2])) return false;
    return c->ids[w[2]].gradient = true;
}

// At the end of a block, adds its state to those of the blocks where control may go. Returns whether one of
// them changed.
static bool spyi_addition_leave(spyi_addition_code *c, const uint32_t *w, const uint8_t *state) {
    uint32_t op = w[0] & 0xffffu, length = w[0] >> 16;
    bool fresh = false;
    if (op < SPYI_OP_BRANCH || op > SPYI_OP_SWITCH) return false;
    for (uint32_t i = 1; i < length; i++) { // a switch's literal that equals a label's id does no harm
        uint32_t label = w[i] < c->bound ? c->ids[w[i]].label : 0;
        for (uint32_t k = 0; label && k < c->slots; k++) {
            uint8_t *there = &c->states[(size_t)(label - 1) * c->slots + k];
            fresh = fresh || *there < state[k];
            *there |= state[k];
        }
    }
    return fresh;
}

// Finds the values of a function that depend on gradients. Its instructions lie from word `begin` to `end`.
static void spyi_addition_follow_function(spyi_addition_code *c, size_t begin, size_t end) {
    uint32_t labels = 0;
    c->slots = 1;
    for (spyi_spirv_at k = spyi_spirv_from(c->words, begin, end); spyi_spirv_next(&k);) {
        const uint32_t *w = k.w;
        if (k.op == SPYI_OP_LABEL) c->ids[w[1]].label = ++labels;
        if ((k.op == SPYI_OP_PARAMETER || k.op == SPYI_OP_VARIABLE) &&
            spyi_addition_op(c, spyi_addition_word(c, w[2], 1)) == SPYI_OP_TYPE_POINTER)
            c->ids[w[2]].slot = c->slots++;
        if (k.op == SPYI_OP_PARAMETER) c->ids[w[2]].gradient = !spyi_addition_is_context(c, w[2]);
    }
    free(c->states);
    c->states = (uint8_t *)spyi_calloc((size_t)(labels + 1) * c->slots, 1);
    c->failed = c->failed || !c->states;
    uint8_t *state =
        c->states ? c->states + (size_t)labels * c->slots : NULL; // a spare state behind those of all blocks
    for (spyi_spirv_at k = spyi_spirv_from(c->words, begin, end); c->states && spyi_spirv_next(&k);) {
        if (k.op != SPYI_OP_PARAMETER || !c->ids[k.w[2]].slot) continue;
        c->states[c->ids[k.w[2]].slot] = c->ids[k.w[2]].gradient;
    }
    for (bool fresh = c->states != NULL; fresh;) {
        fresh = false;
        for (spyi_spirv_at k = spyi_spirv_from(c->words, begin, end); spyi_spirv_next(&k);) {
            if (k.op == SPYI_OP_LABEL)
                memcpy(state, c->states + (size_t)(c->ids[k.w[1]].label - 1) * c->slots, c->slots);
            fresh = spyi_addition_follow(c, k.w, state) || fresh;
            fresh = spyi_addition_leave(c, k.w, state) || fresh;
        }
    }
    for (spyi_spirv_at k = spyi_spirv_from(c->words, begin, end); spyi_spirv_next(&k);) {
        if (k.op == SPYI_OP_LABEL) c->ids[k.w[1]].label = 0;
        if (k.op == SPYI_OP_PARAMETER || k.op == SPYI_OP_VARIABLE) c->ids[k.w[2]].slot = 0;
    }
}

static void spyi_addition_put(spyi_addition_code *c, const uint32_t *words, size_t count) {
    if (c->out_count + count > c->out_capacity) {
        size_t capacity = (c->out_count + count) * 2;
        uint32_t *out = (uint32_t *)spyi_realloc(c->out, capacity * sizeof *out);
        if (!out) c->failed = true;
        if (!out) return;
        c->out = out;
        c->out_capacity = capacity;
    }
    memcpy(c->out + c->out_count, words, count * sizeof *words);
    c->out_count += count;
}

// Writes instructions that add two values, and returns the sum's id; 0 means that values of this type cannot
// be added.
static uint32_t spyi_addition_add(spyi_addition_code *c, uint32_t type, uint32_t a, uint32_t b) {
    uint32_t op = spyi_addition_op(c, type), parts = 0, sums[3 + SPYI_ADDITION_MOST_PARTS];
    bool is_vector = op == SPYI_OP_TYPE_VECTOR &&
                     spyi_addition_op(c, spyi_addition_word(c, type, 2)) == SPYI_OP_TYPE_FLOAT;
    if (op == SPYI_OP_TYPE_FLOAT || is_vector) {
        uint32_t sum[5] = { 5u << 16 | SPYI_OP_ADD, type, c->next_id++, a, b };
        spyi_addition_put(c, sum, 5);
        return sum[2];
    }
    if (op == SPYI_OP_TYPE_MATRIX) parts = spyi_addition_word(c, type, 3);
    else if (op == SPYI_OP_TYPE_STRUCT) parts = spyi_addition_length(c, type) - 2;
    else if (op == SPYI_OP_TYPE_ARRAY &&
             spyi_addition_op(c, spyi_addition_word(c, type, 3)) == SPYI_OP_CONSTANT)
        parts = spyi_addition_word(c, spyi_addition_word(c, type, 3), 3);
    if (parts == 0 || parts > SPYI_ADDITION_MOST_PARTS) return 0;
    for (uint32_t i = 0; i < parts; i++) {
        uint32_t part = spyi_addition_word(c, type, op == SPYI_OP_TYPE_STRUCT ? 2 + i : 2);
        uint32_t extract[5] = { 5u << 16 | SPYI_OP_EXTRACT, part, c->next_id++, a, i };
        uint32_t left = extract[2];
        spyi_addition_put(c, extract, 5);
        extract[2] = c->next_id++;
        extract[3] = b;
        spyi_addition_put(c, extract, 5);
        sums[3 + i] = spyi_addition_add(c, part, left, extract[2]);
        if (!sums[3 + i]) return 0;
    }
    sums[0] = (3 + parts) << 16 | SPYI_OP_CONSTRUCT;
    sums[1] = type;
    sums[2] = c->next_id++;
    spyi_addition_put(c, sums, 3 + parts);
    return sums[2];
}

// Writes a store to an element as an addition to it.
static void spyi_addition_put_sum(spyi_addition_code *c, const uint32_t *store) {
    uint32_t type = spyi_addition_word(c, spyi_addition_word(c, store[1], 1), 3);
    uint32_t load[4] = { 4u << 16 | SPYI_OP_LOAD, type, c->next_id++, store[1] };
    uint32_t copy[5], length = store[0] >> 16;
    spyi_addition_put(c, load, 4);
    uint32_t sum = spyi_addition_add(c, type, load[2], store[2]);
    if (!sum || length > 5) {
        c->unclear = true;
        return;
    }
    memcpy(copy, store, length * sizeof *copy);
    copy[2] = sum;
    spyi_addition_put(c, copy, length);
    c->changed++;
}

// Writes one instruction of a derivative, unchanged or as an addition. `block` is the number of its block in
// the code.
static void spyi_addition_write(spyi_addition_code *c, const uint32_t *w, uint32_t block) {
    uint32_t op = w[0] & 0xffffu, length = w[0] >> 16;
    spyi_addition_id *variable = op == SPYI_OP_STORE && length > 2 ? &c->ids[c->ids[w[1]].root] : NULL;
    bool whole = variable && c->ids[w[1]].root == w[1];
    if (!variable) {
        uint32_t from = op == SPYI_OP_COPY_MEMORY ? 1
                        : op == SPYI_OP_CALL      ? 4
                        : op == SPYI_OP_LOAD      ? 3
                                                  : length;
        // Reads the variable, or may do so.
        for (uint32_t i = from; i < (op == SPYI_OP_LOAD ? 4 : length); i++)
            if (w[i] < c->bound) c->ids[c->ids[w[i]].root].block = 0;
    } else if (whole) {
        variable->block = spyi_addition_is_zero(c, w[2], SPYI_ADDITION_MOST_PARTS) ? block : 0;
        variable->stores = variable->loose = 0;
        variable->varies = false;
    } else {
        bool gradient = w[2] < c->bound && c->ids[w[2]].gradient, varies = c->ids[w[1]].varies;
        if (variable->block == block) {
            variable->varies = variable->varies || varies;
            if (++variable->stores > 1 && variable->varies && gradient) {
                spyi_addition_put_sum(c, w);
                return;
            }
        } else if (gradient && varies) {
            c->unclear = c->unclear || variable->loose == block;
            variable->loose = block;
        }
    }
    spyi_addition_put(c, w, length);
}

bool spyi_code_is_derivative(const uint32_t *words, size_t count) {
    for (spyi_spirv_at i = spyi_spirv_first(words, count); spyi_spirv_next(&i);) {
        if (i.op == SPYI_OP_FUNCTION) return false;
        bool named = i.op == SPYI_OP_NAME && i.length > 4;
        if (named &&
            !strncmp((const char *)(i.w + 2), SPYI_ADDITION_BACKWARD, sizeof SPYI_ADDITION_BACKWARD - 1))
            return true;
    }
    return false;
}

bool spyi_code_add_elements(uint32_t **words, size_t *count, size_t room) {
    spyi_addition_code c;
    memset(&c, 0, sizeof c);
    c.words = *words;
    c.count = *count;
    if (!spyi_spirv_is_known(c.words, c.count)) return true;
    c.bound = c.next_id = c.words[3];
    c.ids = (spyi_addition_id *)spyi_calloc(c.bound + 1, sizeof *c.ids);
    if (!c.ids) return false;
    bool any = spyi_addition_read(&c), inside = false;
    uint32_t block = 0;
    if (any) spyi_addition_put(&c, c.words, 5);
    for (spyi_spirv_at i = spyi_spirv_first(c.words, c.count); any && spyi_spirv_next(&i);) {
        if (i.op == SPYI_OP_FUNCTION && c.ids[i.w[2]].backward) {
            spyi_spirv_at end = i;
            inside = true;
            while (spyi_spirv_next(&end) && end.op != SPYI_OP_FUNCTION_END) continue;
            spyi_addition_follow_function(&c, i.at, end.at);
        }
        if (i.op == SPYI_OP_FUNCTION_END) inside = false;
        if (i.op == SPYI_OP_LABEL) block++;
        if (inside) spyi_addition_write(&c, i.w, block);
        else spyi_addition_put(&c, i.w, i.length);
    }
    bool clear = !c.failed && !c.unclear;
    uint32_t *out = NULL;
    if (clear && c.changed) {
        out = (uint32_t *)spyi_realloc(c.out, (c.out_count + room) * sizeof *out);
        clear = out != NULL;
    }
    if (out) {
        out[3] = c.next_id;
        free(*words);
        *words = out;
        *count = c.out_count;
    } else {
        free(c.out);
    }
    free(c.states);
    free(c.ids);
    return clear;
}

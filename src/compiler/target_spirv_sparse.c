// Simplifies sums of arrays of which one has a single element that is not zero. Slang's derivative of an
// array's element is an array that is zero elsewhere, and Slang adds the arrays:
//
//     hot = zeros; hot[i] = d; sum = Array.dadd(sum, hot);
//
// In a loop over an array of 256 floats these are 65,536 additions. In the SPIR-V that Slang made, this file
// replaces them by
//
//     sum[i] = sum[i] + d;
//
// where all instructions stand in one block and nothing else uses their results; other code is not changed.
// Backward calls with loops over arrays become several times faster, and take as long to compile as before
// (docs/measurements.md, "Sums of sparse arrays"). An element that is -0 stays -0, where adding 0 made it 0.
#include "compiler/target.h"

// The storage class of variables in functions, and the deepest nesting of arrays.
enum { SPYI_SPARSE_FUNCTION = 7, SPYI_SPARSE_DEPTH = 8 };

typedef struct spyi_sparse_id {
    uint32_t at;     // the word of the id's definition; 0 means that it has none
    uint32_t uses;   // the number of words in functions that equal the id, without its definition
    bool zeros, sum; // the function is Slang's dzero or dadd of an array type
    bool escapes;    // an instruction uses the variable and does not load or store all of it
} spyi_sparse_id;

typedef struct spyi_sparse_code {
    const uint32_t *words;
    size_t count;
    spyi_sparse_id *ids;
    uint32_t bound;
    uint32_t *starts; // the first word of each instruction in functions
    uint32_t instructions;
    uint8_t *edits; // for each instruction: 1 means removed, 2 means the call of a sum, which is replaced, 0
                    // means unchanged
} spyi_sparse_code;

// One addition of an element: sum[indices] += value.
typedef struct spyi_sparse_sum {
    uint32_t variable, pointer_type, depth, value;
    uint32_t indices[SPYI_SPARSE_DEPTH];
    uint32_t scratch[3]; // the ids of removed instructions, which the new ones use
} spyi_sparse_sum;

static const uint32_t *spyi_sparse_at(const spyi_sparse_code *c, uint32_t instruction) {
    return c->words + c->starts[instruction];
}

static uint32_t spyi_sparse_op(const spyi_sparse_code *c, uint32_t instruction) {
    return *spyi_sparse_at(c, instruction) & 0xffffu;
}

// Returns the operation that defines `id`; 0 means that it is unknown.
static uint32_t spyi_sparse_defined(const spyi_sparse_code *c, uint32_t id) {
    return id < c->bound ? spyi_spirv_op(c->words, c->ids[id].at) : 0;
}

static uint32_t spyi_sparse_word(const spyi_sparse_code *c, uint32_t id, uint32_t n) {
    return spyi_spirv_word(c->words, c->ids[id].at, n);
}

// Returns whether `id` is a load of a function's variable, used by one instruction only. *variable becomes
// that variable.
static bool spyi_sparse_loaded(const spyi_sparse_code *c, uint32_t id, uint32_t *variable) {
    if (spyi_sparse_defined(c, id) != SPYI_OP_LOAD || c->ids[id].uses != 1) return false;
    *variable = spyi_sparse_word(c, id, 3);
    return spyi_sparse_defined(c, *variable) == SPYI_OP_VARIABLE &&
           spyi_sparse_word(c, *variable, 3) == SPYI_SPARSE_FUNCTION;
}

static bool spyi_sparse_is_zero(const spyi_sparse_code *c, uint32_t id) {
    uint32_t function = spyi_sparse_defined(c, id) == SPYI_OP_CALL ? spyi_sparse_word(c, id, 3) : 0;
    return function < c->bound && c->ids[function].zeros;
}

static bool spyi_sparse_is_chain(uint32_t op, const uint32_t *w) {
    return spyi_spirv_is_chain(op) && w[0] >> 16 == 5;
}

// Returns whether `id` is an array with one element, made in this block before instruction `end`. Then
// appends the element's index to `sum`, and the instructions that make the array to `gone`.
static bool spyi_sparse_is_hot(const spyi_sparse_code *c, uint32_t id, uint32_t end, spyi_sparse_sum *sum,
                               uint32_t *gone, uint32_t *gone_count) {
    uint32_t hot, zero = 0, chain = 0, store = 0, load = 0;
    if (sum->depth == SPYI_SPARSE_DEPTH || !spyi_sparse_loaded(c, id, &hot) || c->ids[hot].uses != 3)
        return false;
    for (uint32_t i = end; i-- > 0 && spyi_sparse_op(c, i) != SPYI_OP_LABEL;) {
        const uint32_t *w = spyi_sparse_at(c, i);
        uint32_t op = w[0] & 0xffffu;
        if (op == SPYI_OP_LOAD && w[2] == id) load = i;
        else if (op == SPYI_OP_STORE && chain == 0 &&
                 spyi_sparse_is_chain(spyi_sparse_defined(c, w[1]), c->words + c->ids[w[1]].at) &&
                 spyi_sparse_word(c, w[1], 3) == hot)
            store = i;
        else if (spyi_sparse_is_chain(op, w) && w[3] == hot) chain = i;
        else if (op == SPYI_OP_STORE && w[1] == hot && w[0] >> 16 == 3) zero = i;
    }
    if (!zero || !(zero < chain && chain < store && store < load) ||
        !spyi_sparse_is_zero(c, spyi_sparse_at(c, zero)[2]) ||
        c->ids[spyi_sparse_at(c, chain)[2]].uses != 1 || spyi_sparse_at(c, store)[0] >> 16 != 3)
        return false;
    if (sum->depth == 0) sum->scratch[2] = spyi_sparse_at(c, chain)[2];
    sum->pointer_type = spyi_sparse_at(c, chain)[1];
    sum->indices[sum->depth++] = spyi_sparse_at(c, chain)[4];
    sum->value = spyi_sparse_at(c, store)[2];
    gone[(*gone_count)++] = zero;
    gone[(*gone_count)++] = chain;
    gone[(*gone_count)++] = store;
    gone[(*gone_count)++] = load;
    return true;
}

// Returns the type that is added: a float or a vector of floats; 0 means another type.
static uint32_t spyi_sparse_scalar(const spyi_sparse_code *c, uint32_t pointer_type) {
    uint32_t type = spyi_sparse_defined(c, pointer_type) == SPYI_OP_TYPE_POINTER
                        ? spyi_sparse_word(c, pointer_type, 3)
                        : 0;
    uint32_t scalar =
        spyi_sparse_defined(c, type) == SPYI_OP_TYPE_VECTOR ? spyi_sparse_word(c, type, 2) : type;
    return spyi_sparse_defined(c, scalar) == SPYI_OP_TYPE_FLOAT ? type : 0;
}

// Returns whether instruction `call`, result = dadd(a, b), is the sum of arrays that this file replaces: a
// and b are variables that the two instructions before it fill and nothing else uses.
static bool spyi_sparse_look(const spyi_sparse_code *c, uint32_t call, spyi_sparse_sum *sum, uint32_t *gone,
                             uint32_t *gone_count) {
    const uint32_t *w = spyi_sparse_at(c, call), *fill[2];
    uint32_t stored = 0, load = 0, value[2] = { 0, 0 };
    if (call < 2 || w[0] >> 16 != 6 || w[3] >= c->bound || !c->ids[w[3]].sum || c->ids[w[2]].uses != 1)
        return false;
    for (uint32_t i = 0; i < 2; i++) {
        fill[i] = spyi_sparse_at(c, call - 2 + i);
        if (fill[i][0] != (SPYI_OP_STORE | 3u << 16)) return false;
    }
    for (uint32_t i = 0; i < 2; i++) {
        uint32_t argument = w[4 + i], from = fill[0][1] == argument ? 0 : 1;
        if (fill[from][1] != argument || spyi_sparse_defined(c, argument) != SPYI_OP_VARIABLE ||
            c->ids[argument].uses != 2)
            return false;
        value[i] = fill[from][2];
    }
    for (uint32_t hot = 0; hot < 2; hot++) {
        sum->depth = *gone_count = 0;
        if (!spyi_sparse_is_hot(c, value[hot], call, sum, gone, gone_count)) continue;
        while (spyi_sparse_is_hot(c, sum->value, call, sum, gone, gone_count)) {}
        if (!spyi_sparse_scalar(c, sum->pointer_type) ||
            !spyi_sparse_loaded(c, value[!hot], &sum->variable) || c->ids[sum->variable].escapes)
            return false;
        // The sum must be stored to the variable from which it was loaded, which nothing else accesses in
        // between.
        for (uint32_t i = call; i-- > 0 && spyi_sparse_op(c, i) != SPYI_OP_LABEL && !load;) {
            const uint32_t *l = spyi_sparse_at(c, i);
            if ((l[0] & 0xffffu) == SPYI_OP_LOAD && l[2] == value[!hot]) load = i;
        }
        for (uint32_t i = load + 1;
             load && i < c->instructions && spyi_sparse_op(c, i) != SPYI_OP_LABEL && !stored; i++) {
            const uint32_t *l = spyi_sparse_at(c, i);
            uint32_t op = l[0] & 0xffffu;
            if (op == SPYI_OP_STORE && l[1] == sum->variable && l[2] == w[2] && l[0] >> 16 == 3) stored = i;
            else if ((op == SPYI_OP_STORE && l[1] == sum->variable) ||
                     (op == SPYI_OP_LOAD && l[3] == sum->variable))
                return false;
        }
        if (!stored) return false;
        sum->scratch[0] = value[!hot];
        sum->scratch[1] = w[2];
        gone[(*gone_count)++] = load;
        gone[(*gone_count)++] = stored;
        gone[(*gone_count)++] = call - 2;
        gone[(*gone_count)++] = call - 1;
        return true;
    }
    return false;
}

// Returns whether an operation may occur in Slang's dzero and dadd of arrays, which make zeros and add by
// element.
static bool spyi_sparse_is_plain(uint32_t op) {
    switch (op) {
    case SPYI_OP_FUNCTION:
    case SPYI_OP_PARAMETER:
    case SPYI_OP_CALL:
    case SPYI_OP_VARIABLE:
    case SPYI_OP_LOAD:
    case SPYI_OP_STORE:
    case SPYI_OP_ACCESS_CHAIN:
    case SPYI_OP_FUNCTION_END:
    case SPYI_OP_CONSTRUCT:
    case SPYI_OP_ADD:
    case SPYI_OP_LABEL:
    case SPYI_OP_RETURN: return true;
    default: return false;
    }
}

// Lists definitions, uses and instructions. Returns false when the code is damaged or has no sums of arrays.
static bool spyi_sparse_read(spyi_sparse_code *c) {
    static const char names[2][12] = { "Array.dzero", "Array.dadd" };
    uint32_t function = 0;
    bool any = false;
    spyi_spirv_at i = spyi_spirv_first(c->words, c->count);
    while (spyi_spirv_next(&i)) {
        const uint32_t *w = i.w;
        uint32_t op = i.op, id = 0;
        size_t length = i.length;
        switch (op) {
        case SPYI_OP_TYPE_VECTOR:
        case SPYI_OP_TYPE_ARRAY:
        case SPYI_OP_TYPE_POINTER:
        case SPYI_OP_TYPE_FLOAT: id = length > 2 || op == SPYI_OP_TYPE_FLOAT ? w[1] : 0; break;
        case SPYI_OP_FUNCTION:
        case SPYI_OP_CALL:
        case SPYI_OP_VARIABLE:
        case SPYI_OP_LOAD:
        case SPYI_OP_ACCESS_CHAIN:
        case SPYI_OP_IN_BOUNDS_ACCESS_CHAIN:
            if (length < (op == SPYI_OP_FUNCTION ? 5u : 4u)) return false;
            id = w[2];
            break;
        case SPYI_OP_NAME: // no function of a user that takes arrays has the name "Array.dadd"
            for (int k = 0; k < 2 && length > 3 && w[1] < c->bound; k++) {
                size_t size = strlen(names[k]);
                if (strncmp((const char *)(w + 2), names[k], size)) continue;
                *(k ? &c->ids[w[1]].sum : &c->ids[w[1]].zeros) = true;
                any = any || k;
            }
            break;
        default: break;
        }
        if (id >= c->bound) return false;
        if (id) c->ids[id].at = (uint32_t)i.at;
        if (op == SPYI_OP_FUNCTION) function = id;
        if (!function) continue;
        if (!spyi_sparse_is_plain(op) ||
            (op == SPYI_OP_FUNCTION && spyi_sparse_defined(c, w[1]) != SPYI_OP_TYPE_ARRAY))
            c->ids[function].sum = c->ids[function].zeros = false;
        c->starts[c->instructions++] = (uint32_t)i.at;
        for (uint32_t k = 1; k < length; k++) {
            if (w[k] >= c->bound || (id && k == 2)) continue;
            c->ids[w[k]].uses++;
            if (!((op == SPYI_OP_LOAD && k == 3) || (op == SPYI_OP_STORE && k == 1)))
                c->ids[w[k]].escapes = true;
        }
    }
    return any && !i.broken;
}

static size_t spyi_sparse_put(const spyi_sparse_code *c, const spyi_sparse_sum *sum, uint32_t *out) {
    uint32_t type = spyi_sparse_scalar(c, sum->pointer_type), chain = sum->scratch[2], n = 0;
    out[n++] = SPYI_OP_ACCESS_CHAIN | (4 + sum->depth) << 16;
    out[n++] = sum->pointer_type;
    out[n++] = chain;
    out[n++] = sum->variable;
    for (uint32_t i = 0; i < sum->depth; i++) out[n++] = sum->indices[i];
    out[n++] = SPYI_OP_LOAD | 4u << 16;
    out[n++] = type;
    out[n++] = sum->scratch[0];
    out[n++] = chain;
    out[n++] = SPYI_OP_ADD | 5u << 16;
    out[n++] = type;
    out[n++] = sum->scratch[1];
    out[n++] = sum->scratch[0];
    out[n++] = sum->value;
    out[n++] = SPYI_OP_STORE | 3u << 16;
    out[n++] = chain;
    out[n++] = sum->scratch[1];
    return n;
}

void spyi_code_sparse_sums(uint32_t *words, size_t *count) {
    spyi_sparse_code c;
    size_t to = 5, from = 5;
    memset(&c, 0, sizeof c);
    c.words = words;
    c.count = *count;
    if (!spyi_spirv_is_known(words, c.count)) return;
    c.bound = words[3];
    c.ids = (spyi_sparse_id *)spyi_calloc(c.bound + 1, sizeof *c.ids);
    c.starts = (uint32_t *)spyi_malloc(c.count * sizeof *c.starts);
    c.edits = (uint8_t *)spyi_calloc(c.count, 1);
    spyi_sparse_sum *sums = NULL;
    uint32_t sum_count = 0, next = 0;
    bool good = c.ids && c.starts && c.edits;
    if (good && spyi_sparse_read(&c)) {
        for (uint32_t i = 0; i < c.instructions && good; i++) {
            uint32_t gone[4 * SPYI_SPARSE_DEPTH + 4], gone_count = 0;
            spyi_sparse_sum sum;
            if (spyi_sparse_op(&c, i) != SPYI_OP_CALL || !spyi_sparse_look(&c, i, &sum, gone, &gone_count))
                continue;
            spyi_sparse_sum *more = (spyi_sparse_sum *)spyi_realloc(sums, (sum_count + 1) * sizeof *sums);
            good = more != NULL;
            if (!good) break;
            sums = more;
            sums[sum_count++] = sum;
            c.edits[i] = 2;
            for (uint32_t k = 0; k < gone_count; k++) c.edits[gone[k]] = 1;
        }
    }
    if (good && sum_count) {
        from = to = c.starts[0];
        for (uint32_t i = 0; i < c.instructions; i++) {
            size_t length = words[from] >> 16;
            // The new instructions are shorter than those they replace, most of which stand before them.
            uint32_t put[16 + SPYI_SPARSE_DEPTH + 4];
            if (c.edits[i] == 2) {
                size_t n = spyi_sparse_put(&c, &sums[next], put);
                memcpy(words + to, put, n * sizeof *put);
                to += n;
                next++;
            } else if (c.edits[i] == 0) {
                memmove(words + to, words + from, length * sizeof *words);
                to += length;
            }
            from += length;
        }
        *count = to;
    }
    free(sums);
    free(c.ids);
    free(c.starts);
    free(c.edits);
}

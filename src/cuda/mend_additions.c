// Repairs, in CUDA text, the gradients of array elements that are read at indices known only at run time:
// turns stores that overwrite one another into additions. compiler/target_spirv_additions.c describes the
// fault, and when a store may be changed.
//
// An element is stored as NAME[index] = ...; or, of a vector, as *_slang_vector_get_element_ptr(&NAME, index)
// = ...;
#include "cuda/internal.h"

typedef struct spyi_addition_name {
    const char *at; // where the name stands in the text; NULL means a free slot of the hash table
    uint32_t size, assigned;
    uint32_t block, loose, stores; // these members mean the same as in spyi_addition_id
    bool zero;                     // the variable was assigned the zero of a gradient
    bool context, varies;
    const char *type; // where the declaration of the name begins, with the type
} spyi_addition_name;

typedef struct spyi_addition_text {
    spyi_addition_name *names; // this array is a hash table
    uint32_t capacity, used;   // `capacity` is a power of two
    const char **adds;         // lists statements that must become additions
    uint32_t add_count, block;
    bool failed, unclear;
} spyi_addition_text;

// One statement, or the head of a block with its "{", or a "}".
typedef struct spyi_addition_statement {
    const char *begin, *end, *equals; // `equals` points to the "=" of an assignment, or is NULL
    bool is_block;
} spyi_addition_statement;

static bool spyi_addition_digit(char c) {
    return c >= '0' && c <= '9';
}

// Gets the next identifier or number from `c` on and moves `c` behind it. Returns false when there is none
// before `end`.
static bool spyi_addition_token(const char **c, const char *end, const char **token, size_t *size) {
    const char *at = *c;
    for (; at < end && !spyi_is_word(*at); at++)
        while (*at == '#' && at + 1 < end && at[1] != '\n') at++; // skips a #line directive
    *token = at;
    while (at < end && (spyi_is_word(*at) || (*at == '.' && spyi_addition_digit(**token)))) at++;
    *c = at;
    *size = (size_t)(at - *token);
    return *size > 0;
}

static bool spyi_addition_begins(const char *token, size_t size, const char *with) {
    size_t n = strlen(with);
    return size >= n && memcmp(token, with, n) == 0;
}

static bool spyi_addition_contains(const char *token, size_t size, const char *text) {
    size_t n = strlen(text);
    for (size_t i = 0; i + n <= size; i++)
        if (memcmp(token + i, text, n) == 0) return true;
    return false;
}

// Returns the entry of a name. A new name gets one when `add` is true. NULL means that there is no entry, or
// that the table is full.
static spyi_addition_name *spyi_addition_find(spyi_addition_text *t, const char *name, size_t size,
                                              bool add) {
    uint32_t hash = (uint32_t)spyi_hash(name, size, 0);
    for (uint32_t i = hash & (t->capacity - 1);; i = (i + 1) & (t->capacity - 1)) {
        spyi_addition_name *n = &t->names[i];
        if (n->at && n->size == size && memcmp(n->at, name, size) == 0) return n;
        if (n->at) continue;
        if (!add || t->used + 1 >= t->capacity) return NULL;
        n->at = name;
        n->size = (uint32_t)size;
        t->used++;
        return n;
    }
}

// Gets the statement at `c`. Returns false at the end of the text.
static bool spyi_addition_next(const char *c, const char *end, spyi_addition_statement *s) {
    int depth = 0;
    memset(s, 0, sizeof *s);
    for (;;) {
        while (c < end && (*c == ' ' || *c == '\n' || *c == '\r' || *c == '\t')) c++;
        if (c >= end || *c != '#') break;
        while (c < end && *c != '\n') c++; // skips a #line directive
    }
    s->begin = c;
    for (; c < end; c++) {
        while (*c == '#' && c + 1 < end && c[1] != '\n') c++;
        if (*c == '"')
            for (c++; c < end && *c != '"'; c++) c += *c == '\\';
        if (*c == '{' && depth == 0 && !s->equals) s->is_block = true;
        if (*c == '}' && depth == 0) s->is_block = true;
        if ((*c == ';' && depth == 0) || s->is_block) {
            s->end = c + 1;
            return true;
        }
        depth += (*c == '(' || *c == '[' || *c == '{') - (*c == ')' || *c == ']' || *c == '}');
        if (*c == '=' && depth == 0 && !s->equals && c > s->begin && c[-1] == ' ' && c[1] == ' ')
            s->equals = c;
    }
    return false;
}

// Returns the variable that a statement assigns to or declares; NULL means that there is none. Sets *whole
// when it assigns to the variable itself and not to an element.
static spyi_addition_name *spyi_addition_target(spyi_addition_text *t, const spyi_addition_statement *s,
                                                bool *whole) {
    const char *end = s->equals ? s->equals : s->end - 1, *c = s->begin, *token, *last;
    size_t size, last_size;
    while (end > s->begin && (end[-1] == ' ' || end[-1] == '\n')) end--;
    *whole = false;
    if (s->is_block || !spyi_addition_token(&c, end, &token, &size) ||
        spyi_addition_begins(token, size, "return"))
        return NULL;
    if (token == s->begin && (*c == ' ' || *c == '<' || c == end)) { // the statement begins with "TYPE NAME"
                                                                     // or "NAME"
        last = end;
        while (last > s->begin && spyi_is_word(last[-1])) last--;
        last_size = (size_t)(end - last);
        if (last_size == 0 || (!s->equals && last == s->begin)) return NULL;
        *whole = true;
        spyi_addition_name *name = spyi_addition_find(t, last, last_size, true);
        if (!name) {
            t->failed = true;
        } else if (last != s->begin) {
            name->type = s->begin;
            name->context =
                spyi_addition_contains(s->begin, (size_t)(last - s->begin), SPYI_ADDITION_CONTEXT);
        }
        return name;
    }
    if (!s->equals) return NULL;
    if (spyi_addition_begins(token, size, "_slang_vector_get_element_ptr") &&
        !spyi_addition_token(&c, end, &token, &size))
        return NULL;
    return spyi_addition_find(t, token, size, false);
}

// Returns whether a stored element has an index that is known only at run time.
static bool spyi_addition_text_varies(const spyi_addition_statement *s) {
    for (const char *c = s->begin; c < s->equals; c++) {
        if (*c != '[' && *c != ',') continue;
        const char *digits = c + 1 + (c[1] == ' ');
        if (strncmp(digits, "int(", 4)) return true;
        for (digits += 4; spyi_addition_digit(*digits);) digits++;
        if (*digits != ')') return true;
    }
    return false;
}

// Returns whether an expression depends on gradients. `state` has a byte for each name, which is 1 when its
// value does.
static bool spyi_addition_text_gradient(spyi_addition_text *t, const char *c, const char *end,
                                        const uint8_t *state) {
    const char *token;
    size_t size;
    while (spyi_addition_token(&c, end, &token, &size)) {
        const spyi_addition_name *name = spyi_addition_find(t, token, size, false);
        if (name && state[name - t->names]) return true;
    }
    return false;
}

// Returns whether an assigned value is a gradient's zero. An array's zero is made by a function and copied
// from a variable; "{ 0.0f, 0.0f }" is some other array.
static bool spyi_addition_text_zero(spyi_addition_text *t, const char *c, const char *end) {
    static const char *const types[] = { "make",   "Matrix", "float", "double", "half",
                                         "__half", "int",    "uint",  "bool" };
    const char *token;
    size_t size, zeros = 0;
    if (memchr(c, '{', (size_t)(end - c))) return false;
    while (spyi_addition_token(&c, end, &token, &size)) {
        const spyi_addition_name *name = spyi_addition_find(t, token, size, false);
        bool type = false, zero = false;
        if (spyi_addition_digit(*token)) zero = strtod(token, NULL) == 0;
        else if (name) zero = name->zero && name->assigned == 1;
        else if (spyi_addition_contains(token, size, SPYI_ADDITION_ZERO)) zero = true;
        else
            for (size_t i = 0; i < sizeof types / sizeof *types; i++)
                type = type || spyi_addition_begins(token, size, types[i]);
        if (!zero && !type) return false;
        if (type && c < end && *c == '<') // a type with template arguments, such as Matrix<float, 3, 3>
            while (c < end && *c != '>') c++;
        zeros += zero;
    }
    return zeros > 0;
}

// Handles the variables that a call gets by address, each the first name behind a "&" that begins an
// argument: marks them in `state` as depending on gradients. With `state` NULL, counts the call as an
// assignment to each of them.
static void spyi_addition_arguments(spyi_addition_text *t, const spyi_addition_statement *s, uint8_t *state) {
    for (const char *c = s->begin; c < s->end; c++) {
        const char *token, *at = c + 1;
        size_t size;
        if (*c != '&' || c == s->begin || (c[-1] != '(' && c[-1] != ' ')) continue;
        if (!spyi_addition_token(&at, s->end, &token, &size)) break;
        spyi_addition_name *name = spyi_addition_find(t, token, size, false);
        if (name && !state) name->assigned++;
        else if (name && !name->context) state[name - t->names] = 1;
    }
}

// Returns the variable that a statement Array_dzero_0(&NAME) sets to zero; NULL for other statements.
static spyi_addition_name *spyi_addition_zeroed(spyi_addition_text *t, const spyi_addition_statement *s) {
    const char *c = (const char *)memchr(s->begin, '(', (size_t)(s->end - s->begin)), *token;
    size_t size;
    if (s->is_block || s->equals || !c || c[1] != '&' ||
        !spyi_addition_contains(s->begin, (size_t)(c - s->begin), SPYI_ADDITION_ZERO) ||
        !spyi_addition_token(&c, s->end, &token, &size))
        return NULL;
    return spyi_addition_find(t, token, size, false);
}

// Counts a statement's assignments to variables, and notes which variables it sets to zero.
static void spyi_addition_text_count(spyi_addition_text *t, const spyi_addition_statement *s) {
    bool whole;
    spyi_addition_name *name = spyi_addition_target(t, s, &whole), *zeroed = spyi_addition_zeroed(t, s);
    if (name && s->equals) {
        name->zero = whole && spyi_addition_text_zero(t, s->equals, s->end);
        name->assigned++;
    } else if (!name && !s->is_block) {
        spyi_addition_arguments(t, s, NULL);
    }
    if (zeroed) zeroed->zero = true;
}

static void spyi_addition_begin_zero(spyi_addition_name *name, uint32_t block) {
    name->block = block;
    name->stores = name->loose = 0;
    name->varies = false;
}

// Handles one statement of a derivative: updates `state`, and lists the statement in t->adds when it must
// become an addition.
static void spyi_addition_text_follow(spyi_addition_text *t, const spyi_addition_statement *s,
                                      uint8_t *state) {
    bool whole, adds = false, gradient;
    spyi_addition_name *target = spyi_addition_target(t, s, &whole), *zeroed = spyi_addition_zeroed(t, s);
    const char *c = target ? s->equals : s->begin, *token;
    size_t size;
    while (c && spyi_addition_token(&c, s->end, &token, &size)) {
        spyi_addition_name *name = spyi_addition_find(t, token, size, false);
        if (name) name->block = 0; // the variable is read, or may be
    }
    if (zeroed) spyi_addition_begin_zero(zeroed, t->block);
    if (!s->equals) {
        bool backward = spyi_addition_begins(s->begin, (size_t)(s->end - s->begin), SPYI_ADDITION_BACKWARD);
        if (!target && (backward || spyi_addition_text_gradient(t, s->begin, s->end, state)))
            spyi_addition_arguments(t, s, state);
        else if (target) state[target - t->names] = 0;
        return;
    }
    if (!target) return;
    gradient = spyi_addition_text_gradient(t, s->equals, s->end, state);
    if (whole) {
        spyi_addition_begin_zero(target, spyi_addition_text_zero(t, s->equals, s->end) ? t->block : 0);
    } else {
        bool varies = spyi_addition_text_varies(s);
        if (target->block == t->block) {
            target->varies = target->varies || varies;
            adds = ++target->stores > 1 && target->varies && gradient;
        } else if (gradient && varies) {
            t->unclear = t->unclear || target->loose == t->block;
            target->loose = t->block;
        }
    }
    if (!target->context) state[target - t->names] = gradient || (!whole && state[target - t->names]);
    for (uint32_t i = 0; adds && i < t->add_count; i++)
        if (t->adds[i] == s->begin) adds = false;
    if (!adds) return;
    const char **list = (const char **)spyi_realloc(t->adds, (t->add_count + 1) * sizeof *list);
    if (!list) t->failed = true;
    if (!list) return;
    t->adds = list;
    t->adds[t->add_count++] = s->begin;
}

// Marks in `to` all names that `from` marks. Returns whether one of them is new.
static bool spyi_addition_join(const spyi_addition_text *t, uint8_t *to, const uint8_t *from) {
    bool fresh = false;
    for (uint32_t i = 0; i < t->capacity; i++) {
        fresh = fresh || to[i] < from[i];
        to[i] |= from[i];
    }
    return fresh;
}

static bool spyi_addition_is_head(const spyi_addition_statement *s, const char *word) {
    size_t n = strlen(word);
    return (size_t)(s->end - s->begin) > n && memcmp(s->begin, word, n) == 0 && !spyi_is_word(s->begin[n]);
}

// Handles the statements from `c` to the "}" of their block, and returns what follows that "}". `state` is
// the state before the block, and becomes the state after it. `breaks` and `continues` collect the states
// where control leaves the loop around the block, or goes on with it.
static const char *spyi_addition_text_block(spyi_addition_text *t, const char *c, const char *end,
                                            uint8_t *state, uint8_t *breaks, uint8_t *continues,
                                            uint32_t level) {
    spyi_addition_statement s;
    uint8_t *inner = (uint8_t *)spyi_calloc((size_t)t->capacity * 3, 1), *left = inner + t->capacity,
            *again = left + t->capacity;
    if (!inner || level == 0) {
        t->failed = true;
        free(inner);
        return end;
    }
    for (; !t->failed && spyi_addition_next(c, end, &s); c = s.end) {
        if (!s.is_block) {
            uint8_t *to = spyi_addition_is_head(&s, "break")      ? breaks
                          : spyi_addition_is_head(&s, "continue") ? continues
                                                                  : NULL;
            spyi_addition_text_follow(t, &s, state);
            if (to) spyi_addition_join(t, to, state);
            if (to || spyi_addition_is_head(&s, "return")) memset(state, 0, t->capacity);
            continue;
        }
        t->block++;
        if (s.end[-1] == '}') {
            c = s.end;
            break;
        }
        bool loop = spyi_addition_is_head(&s, "for") || spyi_addition_is_head(&s, "while") ||
                    spyi_addition_is_head(&s, "do");
        bool endless = spyi_addition_contains(s.begin, (size_t)(s.end - s.begin), "for(;;)");
        const char *body = s.end;
        memset(left, 0, t->capacity);
        memset(again, 0, t->capacity);
        if (loop || spyi_addition_is_head(&s, "switch")) {
            bool fresh = true;
            while (fresh && !t->failed) {
                memcpy(inner, state, t->capacity);
                s.end =
                    spyi_addition_text_block(t, body, end, inner, left, loop ? again : continues, level - 1);
                fresh = loop && spyi_addition_join(t, state, inner);
                fresh = (loop && spyi_addition_join(t, state, again)) || fresh;
            }
            if (!loop) spyi_addition_join(t, state, inner);
            if (endless) memset(state, 0, t->capacity);
            spyi_addition_join(t, state, left);
        } else if (spyi_addition_is_head(&s, "if")) {
            memcpy(inner, state, t->capacity);
            s.end = spyi_addition_text_block(t, body, end, inner, breaks, continues, level - 1);
            spyi_addition_statement other;
            if (spyi_addition_next(s.end, end, &other) && other.is_block &&
                spyi_addition_is_head(&other, "else")) {
                bool last = !spyi_addition_contains(other.begin, (size_t)(other.end - other.begin), "if");
                if (!last) memcpy(left, state, t->capacity); // the state when neither branch is taken
                s.end = spyi_addition_text_block(t, other.end, end, state, breaks, continues, level - 1);
                if (!last) spyi_addition_join(t, state, left);
            }
            spyi_addition_join(t, state, inner);
        } else {
            s.end = spyi_addition_text_block(t, body, end, state, breaks, continues, level - 1);
        }
        t->block++;
    }
    free(inner);
    return c;
}

static const char spyi_addition_helpers[] =
    "template<typename T, typename U> __device__ void spyi_addition_add(T &to, const U &by) { to = to + "
    "T(by); }\n"
    "template<typename T, size_t N> __device__ void spyi_addition_add(FixedArray<T, N> &to, const "
    "FixedArray<T, N> &by)\n"
    "{ for (size_t i = 0; i < N; i++) spyi_addition_add(to[i], by[i]); }\n";

typedef struct spyi_addition_output {
    const char *body;
    spyi_text text, structs; // `structs` lists names that have an addition function, each as " NAME "
    const char *copied;      // `text` contains the body up to here
    bool any;
} spyi_addition_output;

// Writes functions that add the structs in a type. Returns false when a struct's declaration is not found.
static bool spyi_addition_put_structs(spyi_addition_output *o, const char *type, const char *end,
                                      uint32_t level) {
    static const char *const known[] = { "FixedArray", "Matrix", "float", "double", "half", "__half" };
    const char *token;
    size_t size;
    while (spyi_addition_token(&type, end, &token, &size)) {
        char text[256];
        bool builtin = spyi_addition_digit(*token);
        for (size_t i = 0; i < sizeof known / sizeof *known; i++)
            builtin = builtin || spyi_addition_begins(token, size, known[i]);
        snprintf(text, sizeof text, " %.*s ", (int)size, token);
        if (builtin || strstr(spyi_text_str(&o->structs), text)) continue;
        spyi_text_add(&o->structs, "%s", text);
        snprintf(text, sizeof text, "\nstruct %.*s\n{", (int)size, token);
        const char *c = strstr(o->body, text), *close = c ? strstr(c, "\n}") : NULL;
        spyi_addition_statement s;
        if (!close || level == 0 || size > 200) return false;
        const char *members = c + strlen(text);
        for (c = members; spyi_addition_next(c, close, &s); c = s.end) {
            const char *name = s.end - 1;
            while (spyi_is_word(name[-1])) name--;
            if (!spyi_addition_put_structs(o, s.begin, name, level - 1)) return false;
        }
        spyi_text_add(&o->text, "__device__ void spyi_addition_add(%.*s &to, const %.*s &by)\n{\n", (int)size,
                      token, (int)size, token);
        for (c = members; spyi_addition_next(c, close, &s); c = s.end) {
            const char *name = s.end - 1;
            while (spyi_is_word(name[-1])) name--;
            spyi_text_add(&o->text, "    spyi_addition_add(to.%.*s, by.%.*s);\n", (int)(s.end - 1 - name),
                          name, (int)(s.end - 1 - name), name);
        }
        spyi_text_add(&o->text, "}\n");
    }
    return true;
}

static bool spyi_addition_is_add(const spyi_addition_text *t, const spyi_addition_statement *s) {
    for (uint32_t i = 0; i < t->add_count; i++)
        if (t->adds[i] == s->begin) return true;
    return false;
}

// Writes the derivative with its additions, after the functions that these call.
static void spyi_addition_put_additions(spyi_addition_output *o, spyi_addition_text *t, const char *head,
                                        const char *from, const char *to) {
    spyi_addition_statement s;
    spyi_text_add_n(&o->text, o->copied, (size_t)(head - o->copied));
    if (!o->any) spyi_text_add(&o->text, "%s", spyi_addition_helpers);
    o->any = true;
    for (const char *c = from; spyi_addition_next(c, to, &s); c = s.end) {
        bool whole;
        if (!spyi_addition_is_add(t, &s)) continue;
        const spyi_addition_name *target = spyi_addition_target(t, &s, &whole);
        if (!target->type || !spyi_addition_put_structs(o, target->type, target->at, 8)) t->unclear = true;
    }
    o->copied = head;
    for (const char *c = from; spyi_addition_next(c, to, &s); c = s.end) {
        if (!spyi_addition_is_add(t, &s)) continue;
        spyi_text_add_n(&o->text, o->copied, (size_t)(s.begin - o->copied));
        spyi_text_add(&o->text, "spyi_addition_add(%.*s,%.*s);", (int)(s.equals - 1 - s.begin), s.begin,
                      (int)(s.end - s.equals - 2), s.equals + 1);
        o->copied = s.end;
    }
}

// Repairs one derivative, whose head begins at `head` and whose statements lie from `from` to `to`. Returns
// false when its gradients may be wrong and it cannot be repaired.
static bool spyi_addition_put_function(spyi_addition_output *o, const char *head, const char *from,
                                       const char *to) {
    spyi_addition_text t;
    spyi_addition_statement s;
    uint8_t *states = NULL;
    memset(&t, 0, sizeof t);
    for (t.capacity = 64; t.capacity < (size_t)(to - head) / 8; t.capacity *= 2) continue;
    t.names = (spyi_addition_name *)spyi_calloc(t.capacity, sizeof *t.names);
    // The function's state, and two for breaks and continues, which a valid text never uses.
    states = (uint8_t *)spyi_calloc(t.capacity, 3);
    t.failed = !t.names || !states;
    const char *parameter = strchr(head, '(') + 1;
    for (const char *c = parameter; !t.failed && c < from; c++) {
        if (*c != ',' && *c != ')') continue;
        const char *name = c;
        while (spyi_is_word(name[-1])) name--;
        if (name == c || spyi_addition_digit(*name)) continue; // skips a "," between template arguments
        spyi_addition_name *n = spyi_addition_find(&t, name, (size_t)(c - name), true);
        if (!n) break;
        n->context = spyi_addition_contains(parameter, (size_t)(c - parameter), SPYI_ADDITION_CONTEXT);
        n->assigned = 2;
        states[n - t.names] = !n->context;
        parameter = c + 1;
    }
    for (const char *c = from; !t.failed && spyi_addition_next(c, to, &s); c = s.end)
        spyi_addition_text_count(&t, &s);
    t.block = 1;
    if (!t.failed)
        spyi_addition_text_block(&t, from, to, states, states + t.capacity, states + 2 * (size_t)t.capacity,
                                 200);
    bool clear = !t.failed && !t.unclear;
    if (clear && t.add_count) spyi_addition_put_additions(o, &t, head, from, to);
    clear = clear && !t.unclear;
    free(t.adds);
    free(states);
    free(t.names);
    return clear;
}

bool spyi_cuda_add_elements(char **text, size_t *size, size_t prelude) {
    static const char name[] = "void " SPYI_ADDITION_BACKWARD;
    spyi_addition_output o;
    bool clear = true;
    memset(&o, 0, sizeof o);
    o.body = o.copied = *text + prelude;
    for (const char *c = strstr(o.body, name); c && clear; c = strstr(c + 1, name)) {
        const char *head = c, *open = strpbrk(c, "{;"), *close = open ? strstr(open, "\n}") : NULL;
        while (head > o.body && head[-1] != '\n') head--;
        if (!close || *open == ';') continue;
        clear = spyi_addition_put_function(&o, head, open + 1, close);
    }
    if (clear && o.any) {
        spyi_text_add_n(&o.text, o.copied, strlen(o.copied));
        size_t more = strlen(spyi_text_str(&o.text)) + 1;
        char *out = (char *)spyi_malloc(prelude + more);
        if (out) {
            memcpy(out, *text, prelude);
            memcpy(out + prelude, spyi_text_str(&o.text), more);
            free(*text);
            *text = out;
            *size = prelude + more;
        }
        clear = out != NULL;
    }
    spyi_text_free(&o.structs);
    spyi_text_free(&o.text);
    return clear;
}

void spyi_cuda_mend(char **text, size_t *size, size_t prelude, spyi_code_faults *faults) {
    spyi_cuda_order_matrices(*text + prelude);
    faults->saved = !spyi_cuda_order_saved(*text + prelude);
    faults->additions = !spyi_cuda_add_elements(text, size, prelude);
}

// Reads from the text of modules in Slang's IR which functions call which, and which have derivatives. It
// looks for these lines:
//
//     Annotation(%g, 1 : UInt, %h)             %h: forward derivative of %g; 4, 5, 7, 9: backward
//     let %h : ... = ForwardDifferentiate(%g)  made from %g's body; the user's own is a func
//     Annotation(%g, 7 : UInt, BackwardDiffIntermediateContextType(%g))   the same, backward
//     [export("_S1a1gp1pi_ff")], [import(...)] name the func, generic or key below, in all modules alike
//     call %g(%x, %y), call specialize(%g, Float, %1)(%x)
//     let %f : ... = lookupWitness(%table, %key), witness_table_entry(%key,%function)
//
// A function that is called where derivatives are taken has such an annotation beside the call.
#include "compiler/slang_ir.h"

SPYI_FN uint32_t *spyi_ir_map_get(const spyi_ir_map *map, uint64_t key) {
    if (!map->capacity) return NULL;
    for (uint32_t i = (uint32_t)key & (map->capacity - 1); map->keys[i]; i = (i + 1) & (map->capacity - 1))
        if (map->keys[i] == key) return &map->values[i];
    return NULL;
}

SPYI_FN void spyi_ir_map_free(spyi_ir_map *map) {
    free(map->keys);
    free(map->values);
    memset(map, 0, sizeof *map);
}

// Adds a key. When memory runs out, the key is not added.
SPYI_FN void spyi_ir_map_put(spyi_ir_map *map, uint64_t key, uint32_t value) {
    if (map->count * 2 >= map->capacity) {
        spyi_ir_map grown;
        grown.capacity = map->capacity ? map->capacity * 2 : 64;
        grown.count = 0;
        grown.keys = (uint64_t *)spyi_calloc(grown.capacity, sizeof *grown.keys);
        grown.values = (uint32_t *)spyi_calloc(grown.capacity, sizeof *grown.values);
        if (!grown.keys || !grown.values) {
            spyi_ir_map_free(&grown);
            return;
        }
        for (uint32_t i = 0; i < map->capacity; ++i)
            if (map->keys[i]) spyi_ir_map_put(&grown, map->keys[i], map->values[i]);
        spyi_ir_map_free(map);
        *map = grown;
    }
    uint32_t i = (uint32_t)key & (map->capacity - 1);
    while (map->keys[i]) i = (i + 1) & (map->capacity - 1);
    map->keys[i] = key;
    map->values[i] = value;
    map->count++;
}

// Appends an element, all zero, to a growing array. Returns NULL when out of memory.
static void *spyi_ir_next(void **items, uint32_t *count, size_t size) {
    if ((*count & (*count - 1)) == 0) { // a count that is a power of two or 0 means that the array is full
        void *grown = spyi_realloc(*items, (*count ? *count * (size_t)2 : 1) * size);
        if (!grown) return NULL;
        *items = grown;
    }
    void *item = (char *)*items + size * (*count)++;
    memset(item, 0, size);
    return item;
}

void spyi_sl_nested_free(spyi_sl_nested *nested) {
    if (!nested) return;
    for (uint32_t i = 0; i < nested->function_count; ++i) {
        free(nested->functions[i].name);
        free(nested->functions[i].calls);
    }
    spyi_ir_map_free(&nested->by_link);
    free(nested->functions);
    free(nested->entries);
    free(nested);
}

SPYI_FN spyi_ir_function *spyi_ir_find(const spyi_sl_nested *nested, uint64_t link) {
    const uint32_t *index = spyi_ir_map_get(&nested->by_link, link);
    return index ? &nested->functions[*index] : NULL;
}

static spyi_ir_function *spyi_ir_make(spyi_sl_nested *nested, uint64_t link) {
    spyi_ir_function *f = spyi_ir_find(nested, link);
    if (f) return f;
    f = (spyi_ir_function *)spyi_ir_next((void **)&nested->functions, &nested->function_count, sizeof *f);
    if (!f) return NULL;
    f->link = link;
    spyi_ir_map_put(&nested->by_link, link, nested->function_count - 1);
    return f;
}

typedef struct spyi_ir_slice {
    const char *at;
    size_t size;
} spyi_ir_slice;

typedef struct spyi_ir_local { // the meaning of an id such as %1
    // The expression that the id was set to, if spyi_ir_reduce() must follow it; empty if the id stands for
    // itself.
    spyi_ir_slice value;
    spyi_ir_slice derivative_of;
    uint64_t link;
} spyi_ir_local;

typedef struct spyi_ir_text {
    spyi_sl_nested *nested;
    const char *text;
    spyi_ir_local *locals;
    spyi_ir_map by_id, annotated; // annotated: the derivatives of an id, bit 0 forward, bit 1 backward
    uint32_t local_count;
} spyi_ir_text;

static bool spyi_ir_begins(spyi_ir_slice s, const char *word) {
    size_t n = strlen(word);
    return s.size >= n && memcmp(s.at, word, n) == 0;
}

// Removes from the front of `s` the part before the first `end` outside of brackets, and that `end`. Returns
// the part, which is all of `s` when there is no such `end`.
static spyi_ir_slice spyi_ir_cut(spyi_ir_slice *s, char end) {
    spyi_ir_slice part = { s->at, 0 };
    int depth = 0;
    while (part.size < s->size && !(depth == 0 && s->at[part.size] == end)) {
        char c = s->at[part.size++];
        depth += (c == '(' || c == '<') - (c == ')' || c == '>');
    }
    size_t used = part.size < s->size ? part.size + 1 : part.size;
    s->at += used;
    s->size -= used;
    while (s->size && *s->at == ' ') {
        s->at++;
        s->size--;
    }
    return part;
}

// Returns the part between the brackets of "word(part)".
static spyi_ir_slice spyi_ir_inside(spyi_ir_slice s) {
    spyi_ir_slice rest = s;
    spyi_ir_cut(&rest, '(');
    return spyi_ir_cut(&rest, ')');
}

static uint64_t spyi_ir_hash(spyi_ir_slice s) {
    uint64_t hash = spyi_hash(s.at, s.size, 0);
    return hash ? hash : 1;
}

static spyi_ir_local *spyi_ir_local_of(const spyi_ir_text *t, spyi_ir_slice id) {
    const uint32_t *index = spyi_ir_map_get(&t->by_id, spyi_ir_hash(id));
    return index ? &t->locals[*index] : NULL;
}

// Returns the link of the function, generic or key that an expression leads to; 0 means that it leads to
// none.
static uint64_t spyi_ir_reduce(const spyi_ir_text *t, spyi_ir_slice s, int depth) {
    if (depth > 16) return 0;
    if (spyi_ir_begins(s, "specialize(")) {
        spyi_ir_slice inside = spyi_ir_inside(s);
        return spyi_ir_reduce(t, spyi_ir_cut(&inside, ','), depth + 1);
    }
    if (spyi_ir_begins(s, "lookupWitness(")) {
        spyi_ir_slice inside = spyi_ir_inside(s);
        spyi_ir_cut(&inside, ',');
        return spyi_ir_reduce(t, spyi_ir_cut(&inside, ','), depth + 1);
    }
    const spyi_ir_local *local = spyi_ir_begins(s, "%") ? spyi_ir_local_of(t, s) : NULL;
    return !local ? 0 : local->value.size ? spyi_ir_reduce(t, local->value, depth + 1) : local->link;
}

static bool spyi_ir_is_made_of(spyi_ir_slice s) {
    return spyi_ir_begins(s, "ForwardDifferentiate(") ||
           spyi_ir_begins(s, "BackwardDiffIntermediateContextType(");
}

// Returns the link of the function whose body a derivative is made from; 0 means that the user wrote the
// derivative.
static uint64_t spyi_ir_body(const spyi_ir_text *t, spyi_ir_slice derivative, int depth) {
    if (depth > 16) return 0;
    if (spyi_ir_is_made_of(derivative)) return spyi_ir_reduce(t, spyi_ir_inside(derivative), 0);
    if (spyi_ir_begins(derivative, "specialize(")) {
        spyi_ir_slice inside = spyi_ir_inside(derivative);
        return spyi_ir_body(t, spyi_ir_cut(&inside, ','), depth + 1);
    }
    const spyi_ir_local *local = spyi_ir_begins(derivative, "%") ? spyi_ir_local_of(t, derivative) : NULL;
    if (!local) return 0;
    if (local->value.size) return spyi_ir_body(t, local->value, depth + 1);
    return local->derivative_of.size ? spyi_ir_reduce(t, local->derivative_of, 0) : 0;
}

static spyi_ir_local *spyi_ir_define(spyi_ir_text *t, spyi_ir_slice id, spyi_ir_slice link) {
    spyi_ir_local *local = spyi_ir_local_of(t, id);
    if (local) return local;
    local = (spyi_ir_local *)spyi_ir_next((void **)&t->locals, &t->local_count, sizeof *local);
    if (!local) return NULL;
    local->link = link.size ? spyi_ir_hash(link) : spyi_hash(id.at, id.size, t->nested->text_count + 1u);
    spyi_ir_map_put(&t->by_id, spyi_ir_hash(id), t->local_count - 1);
    return local;
}

// Gets the next line without the spaces before it. Returns false behind the last line.
static bool spyi_ir_line(const char **at, spyi_ir_slice *line) {
    if (!**at) return false;
    while (**at == ' ' || **at == '\t') ++*at;
    line->at = *at;
    line->size = strcspn(*at, "\n");
    *at += line->size;
    if (**at) ++*at;
    while (line->size && line->at[line->size - 1] == '\r') line->size--;
    return true;
}

// Splits "let  %1 : type = value" into the id and the value. Returns false when the line is no let.
static bool spyi_ir_let(spyi_ir_slice line, spyi_ir_slice *id, spyi_ir_slice *value) {
    if (!spyi_ir_begins(line, "let ")) return false;
    const char *end = line.at + line.size, *c = line.at + 4;
    while (c < end && *c == ' ') c++;
    id->at = c;
    while (c < end && *c != '\t' && *c != ' ') c++;
    id->size = (size_t)(c - id->at);
    for (; c + 2 < end; c++)
        if ((*c == '\t' || *c == ' ') && c[1] == '=' && c[2] == ' ') break;
    if (c + 3 >= end) return false;
    value->at = c + 3;
    value->size = (size_t)(end - value->at);
    return true;
}

// Returns the text in quotes behind `word`, in a line such as [export("...")].
static spyi_ir_slice spyi_ir_quoted(spyi_ir_slice line, const char *word) {
    spyi_ir_slice text = { NULL, 0 };
    if (!spyi_ir_begins(line, word)) return text;
    text.at = line.at + strlen(word);
    while (text.at + text.size < line.at + line.size && text.at[text.size] != '"') text.size++;
    return text;
}

static spyi_ir_slice spyi_ir_id_after(spyi_ir_slice line, const char *word) {
    spyi_ir_slice id = { line.at + strlen(word), 0 };
    while (id.at + id.size < line.at + line.size && !strchr(" \t:;", id.at[id.size])) id.size++;
    return id;
}

typedef struct spyi_ir_walk { // A walk over the lines of a module's text.
    const char *at;
    spyi_ir_slice line, link, name; // link and name come from the decorations before the line
    spyi_ir_slice outer;            // the id of the top-level func or generic around the line
    int depth;
    bool no_diff;
} spyi_ir_walk;

// Steps to the next line that is no decoration and no brace. Returns false at the end.
static bool spyi_ir_step(spyi_ir_walk *w) {
    spyi_ir_slice none = { NULL, 0 };
    w->link = w->name = none;
    w->no_diff = false;
    while (spyi_ir_line(&w->at, &w->line)) {
        spyi_ir_slice line = w->line;
        if (spyi_ir_begins(line, "[")) {
            spyi_ir_slice link = spyi_ir_quoted(line, "[export(\""),
                          name = spyi_ir_quoted(line, "[nameHint(\"");
            if (!link.size) link = spyi_ir_quoted(line, "[import(\"");
            if (link.size) w->link = link;
            if (name.size) w->name = name;
            w->no_diff = w->no_diff || spyi_ir_begins(line, "[treatCallAsDifferentiable");
        } else if (line.size == 1 && *line.at == '{') {
            w->depth++;
        } else if (line.size == 1 && *line.at == '}') {
            if (--w->depth == 0) w->outer = none;
        } else if (line.size) {
            bool generic = spyi_ir_begins(line, "generic "), function = spyi_ir_begins(line, "func ");
            if (w->depth == 0 && (generic || function))
                w->outer = spyi_ir_id_after(line, generic ? "generic " : "func ");
            else if (w->depth == 0) w->outer = none;
            return true;
        }
    }
    return false;
}

static void spyi_ir_read_ids(spyi_ir_text *t) {
    spyi_ir_walk w;
    memset(&w, 0, sizeof w);
    w.at = t->text;
    while (spyi_ir_step(&w)) {
        spyi_ir_slice id, value;
        // The line of the func or generic itself; a generic is called by the name of the function in it.
        if (w.depth == 0 && w.outer.size) {
            spyi_ir_define(t, w.outer, w.link);
        } else if (spyi_ir_let(w.line, &id, &value)) {
            bool looked_through =
                spyi_ir_begins(value, "specialize(") || spyi_ir_begins(value, "lookupWitness(");
            if (!looked_through && !spyi_ir_is_made_of(value) && !spyi_ir_begins(value, "key")) continue;
            spyi_ir_local *local = spyi_ir_define(t, id, w.link);
            if (local && looked_through) local->value = value;
            if (local && spyi_ir_is_made_of(value)) local->derivative_of = spyi_ir_inside(value);
            spyi_ir_local *outer =
                w.outer.size && spyi_ir_is_made_of(value) ? spyi_ir_local_of(t, w.outer) : NULL;
            if (outer) outer->derivative_of = spyi_ir_inside(value);
        } else if (w.outer.size && spyi_ir_begins(w.line, "return_val(") &&
                   spyi_ir_is_made_of(spyi_ir_inside(w.line))) {
            spyi_ir_local *outer = spyi_ir_local_of(t, w.outer);
            if (outer) outer->derivative_of = spyi_ir_inside(spyi_ir_inside(w.line));
        }
    }
}

static void spyi_ir_read_annotation(spyi_ir_text *t, spyi_ir_slice line) {
    spyi_ir_slice rest = spyi_ir_inside(line), of = spyi_ir_cut(&rest, ','), number = spyi_ir_cut(&rest, ',');
    int role = number.size && *number.at >= '0' && *number.at <= '9' ? atoi(number.at) : 0;
    int mode = role == 1 ? 0 : role == 4 || role == 5 || role == 7 || role == 9 ? 1 : -1;
    uint64_t function = mode >= 0 ? spyi_ir_reduce(t, of, 0) : 0;
    if (!function) return;
    uint32_t *bits = spyi_ir_map_get(&t->annotated, spyi_ir_hash(of));
    if (bits) *bits |= 1u << mode;
    else spyi_ir_map_put(&t->annotated, spyi_ir_hash(of), 1u << mode);
    uint64_t body = role == 1 || role == 7 ? spyi_ir_body(t, rest, 0) : 0;
    spyi_ir_function *f = body ? spyi_ir_make(t->nested, function) : NULL;
    if (f) f->bodies[mode] = body;
}

// Reads "let %f : ... = ForwardDifferentiate(%g)". For a method behind an interface this line is the only
// sign of its derivative.
static void spyi_ir_read_derivative(spyi_ir_text *t, spyi_ir_slice value) {
    bool forward = spyi_ir_begins(value, "ForwardDifferentiate(");
    if (!forward && !spyi_ir_begins(value, "BackwardDifferentiatePropagate(")) return;
    uint64_t body = spyi_ir_reduce(t, spyi_ir_inside(value), 0);
    spyi_ir_function *f = body ? spyi_ir_make(t->nested, body) : NULL;
    if (f && !f->bodies[!forward]) f->bodies[!forward] = body;
}

static void spyi_ir_read_call(spyi_ir_text *t, const spyi_ir_walk *w) {
    spyi_ir_slice id, call = w->line;
    if (!spyi_ir_begins(call, "call ") && !spyi_ir_let(w->line, &id, &call)) return;
    if (!spyi_ir_begins(call, "call ")) return;
    call.at += 5;
    call.size -= 5;
    // The callee ends at the bracket of the arguments; "specialize(...)" has a bracket of its own.
    spyi_ir_slice callee = { call.at, 0 };
    if (spyi_ir_begins(call, "%")) {
        callee = spyi_ir_cut(&call, '(');
    } else {
        spyi_ir_cut(&call, '(');
        spyi_ir_cut(&call, ')');
        callee.size = (size_t)(call.at - callee.at);
    }
    const uint32_t *bits = spyi_ir_map_get(&t->annotated, spyi_ir_hash(callee));
    const spyi_ir_local *outer = bits ? spyi_ir_local_of(t, w->outer) : NULL;
    spyi_ir_function *f = outer ? spyi_ir_make(t->nested, outer->link) : NULL;
    spyi_ir_call *c =
        f ? (spyi_ir_call *)spyi_ir_next((void **)&f->calls, &f->call_count, sizeof *f->calls) : NULL;
    if (!c) return;
    c->callee = spyi_ir_reduce(t, callee, 0);
    c->has[0] = (*bits & 1) != 0;
    c->has[1] = (*bits & 2) != 0;
    c->no_diff = w->no_diff;
}

static void spyi_ir_name(spyi_sl_nested *nested, uint64_t link, spyi_ir_slice name) {
    spyi_ir_function *f = name.size ? spyi_ir_make(nested, link) : NULL;
    if (!f || f->name) return;
    spyi_text text = { NULL, 0, 0 };
    spyi_text_add_n(&text, name.at, name.size);
    f->name = spyi_strdup(spyi_text_str(&text));
    if (strcmp(spyi_text_str(&text), "spyi_element") == 0) nested->root = link;
    spyi_text_free(&text);
}

// Reads the functions, calls and witness tables of a module's text into `nested`.
static void spyi_ir_read(spyi_sl_nested *nested, const char *text) {
    spyi_ir_text t;
    spyi_ir_walk w;
    memset(&t, 0, sizeof t);
    t.nested = nested;
    t.text = text;
    spyi_ir_read_ids(&t);
    for (int pass = 0; pass < 2; ++pass) { // pass 1 reads the calls, because they need all annotations
        memset(&w, 0, sizeof w);
        w.at = text;
        while (spyi_ir_step(&w)) {
            spyi_ir_slice id, value;
            if (pass == 0 && spyi_ir_begins(w.line, "Annotation(")) {
                spyi_ir_read_annotation(&t, w.line);
            } else if (pass == 0 && spyi_ir_begins(w.line, "witness_table_entry(")) {
                spyi_ir_slice rest = spyi_ir_inside(w.line), key = spyi_ir_cut(&rest, ',');
                spyi_ir_entry entry = { spyi_ir_reduce(&t, key, 0), spyi_ir_reduce(&t, rest, 0) }, *e = NULL;
                if (entry.key && entry.function)
                    e = (spyi_ir_entry *)spyi_ir_next((void **)&nested->entries, &nested->entry_count,
                                                      sizeof *e);
                if (e) *e = entry;
            } else if (pass == 0 && w.outer.size && w.name.size &&
                       (spyi_ir_begins(w.line, "func ") || spyi_ir_begins(w.line, "generic "))) {
                const spyi_ir_local *outer = spyi_ir_local_of(&t, w.outer);
                if (outer) spyi_ir_name(nested, outer->link, w.name);
            } else if (pass == 0 && spyi_ir_let(w.line, &id, &value)) {
                const spyi_ir_local *key = spyi_ir_begins(value, "key") ? spyi_ir_local_of(&t, id) : NULL;
                if (key) spyi_ir_name(nested, key->link, w.name);
                else spyi_ir_read_derivative(&t, value);
            } else if (pass == 1 && w.outer.size && w.depth) {
                spyi_ir_read_call(&t, &w);
            }
        }
    }
    free(t.locals);
    spyi_ir_map_free(&t.by_id);
    spyi_ir_map_free(&t.annotated);
    nested->text_count++;
}

SPYI_FN void spyi_ir_read_module(spyi_sl_nested *nested, spyi_sl_module *module) {
    spyi_sl_blob *blob = NULL;
    if (module->v->disassemble(module, &blob) >= 0 && blob) {
        spyi_text text = { NULL, 0, 0 }; // the blob may lack a final NUL
        spyi_text_add_n(&text, (const char *)blob->v->getBufferPointer(blob), blob->v->getBufferSize(blob));
        spyi_ir_read(nested, spyi_text_str(&text));
        spyi_text_free(&text);
    }
    spyi_sl_blob_free(&blob);
}

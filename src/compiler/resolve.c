// Finds the overload that accepts arguments of given types, and its generic arguments. It asks Slang's own
// overload checker by reflection, which answers only yes or no.
#include "compiler/memo.h"

// Finds Slang's types of all arguments. Returns false when Slang does not know one, because libslang would
// accept a NULL type.
static bool spyi_sl_argument_types(spyi_unit *unit, spyi_sl_live *live, const spyi_type *const *types,
                                   uint32_t count, spyi_sl_type **out) {
    for (uint32_t i = 0; i < count; ++i) {
        // NULL for void too, which libslang would accept for a generic T.
        out[i] = spyi_sl_type_of(unit, live, types[i]);
        if (!out[i]) return false;
    }
    return true;
}

static spyi_sl_function *spyi_sl_specialise(spyi_unit *unit, spyi_sl_function *function,
                                            spyi_sl_type *const *types, uint32_t count) {
    spyi_sl_function *f =
        SPYI_SL_FUNCTION(unit, spReflectionFunction_specializeWithArgTypes)(function, count, types);
    return f && !SPYI_SL_FUNCTION(unit, spReflectionFunction_isOverloaded)(f) ? f : NULL;
}

// Returns whether a type in the signature contains ".This": an argument of an interface type makes
// T = `.This`, which no kernel can use.
static bool spyi_sl_mentions_this(const spyi_signature *s) {
    if (s->result->kind == SPYI_TYPE_OTHER && strstr(s->result->name, ".This")) return true;
    for (uint32_t i = 0; i < s->param_count; ++i)
        if (s->params[i].type->kind == SPYI_TYPE_OTHER && strstr(s->params[i].type->name, ".This"))
            return true;
    return false;
}

// Returns whether libslang may be asked to specialise the function. For generic functions of its core module
// libslang keeps the answer beyond the session, and later reads types of that session, which are gone
// (Slang::Val::resolve). So these functions are only asked with types of the core module: numbers, vectors,
// matrices and arrays of them.
static bool spyi_sl_may_ask(spyi_unit *unit, spyi_sl_live *live, spyi_sl_function *function,
                            const spyi_type *const *types, uint32_t count) {
    bool own = true;
    for (uint32_t i = 0; i < count && own; ++i)
        own = spyi_type_parse(unit->compiler->types, types[i]->name) != NULL;
    uint32_t overloads = own ? 0 : spyi_sl_overload_count(unit, function);
    for (uint32_t i = 0; i < overloads; ++i)
        if (!spyi_sl_is_declared(unit, live, spyi_sl_overload(unit, function, i))) return false;
    return true;
}

typedef struct spyi_sl_resolving {
    const char *name;
    int overload;
    const spyi_type *const *types;
    uint32_t count;
    spyi_signature *out;
    int chosen;
    bool good;
} spyi_sl_resolving;

static void spyi_sl_resolve(spyi_unit *unit, spyi_sl_live *live, void *context) {
    spyi_sl_resolving *r = (spyi_sl_resolving *)context;
    uint32_t count = r->count;
    spyi_sl_type **slang_types = (spyi_sl_type **)spyi_calloc(count + 1, sizeof(spyi_sl_type *));
    spyi_sl_type *constructed = NULL;
    spyi_sl_function *set = slang_types ? spyi_sl_find_function(unit, live, r->name, &constructed) : NULL;
    uint32_t overloads = set ? spyi_sl_overload_count(unit, set) : 0;
    if (set && (r->overload < 0 || (uint32_t)r->overload < overloads) &&
        spyi_sl_argument_types(unit, live, r->types, count, slang_types)) {
        spyi_sl_function *asked = r->overload < 0 ? set : spyi_sl_overload(unit, set, (uint32_t)r->overload);
        // Slang wants the arguments without the instance, whose type must be exactly the method's struct.
        uint32_t instance =
            r->overload >= 0 && !constructed && spyi_sl_needs_instance(unit, live, asked, r->name) ? 1 : 0;
        bool fits = count >= instance && (!instance || slang_types[0] == spyi_sl_owner(unit, live, r->name));
        fits = fits && (constructed || spyi_sl_may_ask(unit, live, asked, r->types, count));
        spyi_sl_function *f =
            fits ? spyi_sl_specialise(unit, asked, slang_types + instance, count - instance) : NULL;
        if (f && r->overload < 0 && !constructed && spyi_sl_needs_instance(unit, live, f, r->name)) f = NULL;
        if (f) {
            spyi_sl_to_signature(unit, live, f, r->name, constructed, true, r->out);
            r->good = !spyi_sl_mentions_this(r->out);
            if (!r->good) spyi_signature_free(r->out);
        }
        if (r->good && r->overload >= 0) r->chosen = r->overload;
        for (uint32_t i = 0; r->good && r->chosen < 0 && i < overloads;
             ++i) { // equal specialisations have the same pointer
            spyi_sl_function *o = spyi_sl_overload(unit, set, i);
            if (o == f || spyi_sl_specialise(unit, o, slang_types, count) == f) r->chosen = (int)i;
        }
    }
    free(slang_types);
}

static void spyi_sl_resolving_fields(spyi_stream *r, void *answer) {
    spyi_sl_resolving *q = (spyi_sl_resolving *)answer;
    uint32_t chosen = (uint32_t)(q->chosen + 1);
    spyi_stream_bool(r, &q->good);
    spyi_stream_u32(r, &chosen);
    if (q->good) spyi_signature_fields(r, q->out);
    q->chosen = (int)chosen - 1;
}

bool spyi_unit_resolve(spyi_unit *unit, const char *name, int overload, const spyi_type *const *types,
                       uint32_t count, spyi_signature *out, int *chosen) {
    spyi_sl_resolving r;
    memset(out, 0, sizeof *out);
    r.name = name;
    r.overload = overload;
    r.types = types;
    r.count = count;
    r.out = out;
    r.chosen = -1;
    r.good = false;
    spyi_memo m;
    spyi_memo_ask(&m, unit, 'r', name);
    spyi_memo_add_number(&m, (uint64_t)(int64_t)overload);
    spyi_memo_add_number(&m, count);
    for (uint32_t i = 0; i < count; ++i) spyi_memo_add_type(&m, types[i]);
    if (!spyi_memo_recall(&m, spyi_sl_resolving_fields, &r)) {
        spyi_signature_free(out);
        r.chosen = -1;
        r.good = false;
        if (spyi_sl_ask(unit, 2, "resolve a call", spyi_sl_resolve, &r, NULL) == SPY_OK)
            spyi_memo_keep(&m, spyi_sl_resolving_fields, &r);
    }
    spyi_memo_end(&m);
    if (chosen) *chosen = r.chosen;
    return r.good;
}

typedef struct spyi_sl_conforming {
    const spyi_type *type;
    const char *interface_name;
    bool conforms;
} spyi_sl_conforming;

static void spyi_sl_ask_conforms(spyi_unit *unit, spyi_sl_live *live, void *context) {
    spyi_sl_conforming *c = (spyi_sl_conforming *)context;
    spyi_sl_type *slang = spyi_sl_type_of(unit, live, c->type),
                 *wanted = spyi_sl_type_named(unit, live, c->interface_name);
    c->conforms = slang && wanted &&
                  SPYI_SL_FUNCTION(unit, spReflectionType_GetKind)(wanted) == SPYI_SL_KIND_INTERFACE &&
                  SPYI_SL_FUNCTION(unit, spReflection_isSubType)(live->layout, slang, wanted);
}

bool spyi_unit_conforms(spyi_unit *unit, const spyi_type *type, const char *interface_name) {
    spyi_sl_conforming c;
    c.type = type;
    c.interface_name = interface_name;
    c.conforms = false;
    spyi_memo m;
    spyi_memo_ask(&m, unit, 'i', interface_name);
    spyi_memo_add_type(&m, type);
    if (!spyi_memo_recall(&m, spyi_memo_bool, &c.conforms) &&
        spyi_sl_ask(unit, 1, "ask for an interface", spyi_sl_ask_conforms, &c, NULL) == SPY_OK)
        spyi_memo_keep(&m, spyi_memo_bool, &c.conforms);
    spyi_memo_end(&m);
    return c.conforms;
}

// >>queries: texts that are compiled only for Slang's messages

// Estimate in KiB of the memory that a query's module leaves in its session when it compiles; a query that
// does not compile leaves a tenth.
enum { SPYI_SL_QUERY_KIB = 640 };

typedef struct spyi_sl_query {
    const char *name, *path, *source;
    spyi_text *out;
    bool compiles;
} spyi_sl_query;

static void spyi_sl_load_query(spyi_unit *unit, spyi_sl_live *live, void *context) {
    spyi_sl_query *q = (spyi_sl_query *)context;
    spyi_sl_blob *diagnostics = NULL;
    (void)unit;
    q->compiles = spyi_sl_load_source(live->session, q->name, q->path, q->source, &diagnostics) != NULL;
    if (q->compiles) spyi_sl_blob_free(&diagnostics); // a text that compiles has only warnings
    else spyi_sl_diagnostics(&diagnostics, q->path, NULL, q->out);
}

static void spyi_sl_query_fields(spyi_stream *r, void *answer) {
    spyi_sl_query *q = (spyi_sl_query *)answer;
    spyi_stream_bool(r, &q->compiles);
    spyi_stream_bytes(r, q->out);
}

static bool spyi_sl_ask_query(spyi_unit *unit, const char *what, const spyi_text *source, spyi_text *out) {
    spyi_text name = { NULL, 0, 0 }, path = { NULL, 0, 0 };
    uint64_t id = spyi_hash(source->data, source->size, 0);
    spyi_text_add(&name, "spyi_%s_%016llx", what, (unsigned long long)id);
    spyi_text_add(&path, "slangpy-%s-%016llx.slang", what,
                  (unsigned long long)id); // Slang asserts when a path is used twice
    spyi_sl_query q;
    q.name = spyi_text_str(&name);
    q.path = spyi_text_str(&path);
    q.source = spyi_text_str(source);
    spyi_text messages = { NULL, 0, 0 };
    spyi_memo m;
    q.out = &messages;
    q.compiles = false;
    spyi_memo_ask(&m, unit, 'q', what);
    spyi_memo_add_text(&m, spyi_text_str(source));
    if (!spyi_memo_recall(&m, spyi_sl_query_fields, &q)) {
        spyi_text_clear(&messages);
        q.compiles = false;
        if (spyi_sl_ask(unit, SPYI_SL_QUERY_KIB, what, spyi_sl_load_query, &q, NULL) == SPY_OK)
            spyi_memo_keep(&m, spyi_sl_query_fields, &q);
    }
    spyi_memo_end(&m);
    if (messages.size) spyi_text_add_n(out, messages.data, messages.size);
    spyi_text_free(&messages);
    spyi_text_free(&name);
    spyi_text_free(&path);
    return q.compiles;
}

bool spyi_sl_ask_source(spyi_unit *unit, const char *what, const spyi_text *source, spyi_text *out) {
    spyi_text messages = { NULL, 0, 0 };
    bool compiles = spyi_sl_ask_query(unit, what, source, &messages);
    if (!compiles && unit->module_count > 1 && strstr(spyi_text_str(&messages), "(E30015)")) {
        spyi_text all = { NULL, 0, 0 };
        spyi_unit_import_all(unit, &all);
        spyi_text_add_n(&all, source->data, source->size);
        spyi_text_clear(&messages);
        compiles = spyi_sl_ask_query(unit, what, &all, &messages);
        spyi_text_free(&all);
    }
    if (messages.size) spyi_text_add_n(out, messages.data, messages.size);
    spyi_text_free(&messages);
    return compiles;
}

// Compiles `text` behind an import of the unit and appends Slang's messages; nothing when it compiles.
static void spyi_unit_query(spyi_unit *unit, const spyi_text *text, spyi_text *out) {
    spyi_text source = { NULL, 0, 0 };
    spyi_text_add(&source, "import %s;\n%s\n", unit->name, spyi_text_str(text));
    spyi_sl_ask_source(unit, "query", &source, out);
    spyi_text_free(&source);
}

void spyi_unit_explain(spyi_unit *unit, const char *name, const spyi_type *const *types, uint32_t count,
                       spyi_text *out) {
    if (!spyi_sl_name_is_safe(name)) return;
    spyi_text text = { NULL, 0, 0 };
    spyi_text_add(&text, "void spyi_query(");
    for (uint32_t i = 0; i < count; ++i)
        spyi_text_add(&text, "%s%s a%u", i ? ", " : "", types[i] ? types[i]->name : "?", i);
    spyi_text_add(&text, ") { %s(", name);
    for (uint32_t i = 0; i < count; ++i) spyi_text_add(&text, "%sa%u", i ? ", " : "", i);
    spyi_text_add(&text, "); }");
    spyi_unit_query(unit, &text, out);
    spyi_text_free(&text);
}

// Returns whether the declaration is private. Slang reports "declaration not accessible" before it looks at
// arguments, so a call without any is enough.
bool spyi_unit_is_private(spyi_unit *unit, const char *name) {
    if (!unit->has_visibility || !spyi_sl_name_is_safe(name)) return false;
    spyi_text text = { NULL, 0, 0 }, answer = { NULL, 0, 0 };
    size_t owner = 0;
    const char *last = spyi_sl_last_part(name, &owner);
    if (owner) spyi_text_add(&text, "void spyi_query(%.*s owner) { owner.%s(); }", (int)owner, name, last);
    else spyi_text_add(&text, "void spyi_query() { %s(); }", name);
    spyi_unit_query(unit, &text, &answer);
    bool is_private = strstr(spyi_text_str(&answer), "(E30600)") != NULL;
    spyi_text_free(&text);
    spyi_text_free(&answer);
    return is_private;
}

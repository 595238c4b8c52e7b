// Answers of libslang that are kept on disk; see memo.h.
#include "compiler/memo.h"

#include "compiler/target.h"

// Raise this number with every change of the answers of the compiler's functions, or of how answers are
// written.
enum { SPYI_MEMO_VERSION = 9, SPYI_MEMO_MOST_FILES = 65536 };

typedef struct spyi_memo_hash {
    uint64_t a, b;
} spyi_memo_hash;

static spyi_memo_hash spyi_memo_hash_of(const void *data, size_t size) {
    spyi_memo_hash hash;
    hash.a = spyi_hash(data, size, SPYI_MEMO_VERSION);
    hash.b = spyi_hash(data, size, ~hash.a);
    return hash;
}

static void spyi_memo_add(spyi_text *out, const void *data, size_t size) {
    spyi_text_add_n(out, (const char *)data, size);
}

static void spyi_memo_text_into(spyi_text *out, const char *text) { // this tells NULL from ""
    uint32_t size = text ? (uint32_t)strlen(text) + 1 : 0;
    spyi_memo_add(out, &size, sizeof size);
    if (size) spyi_memo_add(out, text, size);
}

// >>questions

SPYI_FN void spyi_memo_ask(spyi_memo *m, spyi_unit *unit, char kind, const char *name) {
    memset(m, 0, sizeof *m);
    if (!unit->compiler->store || !unit->identity.size) return;
    m->unit = unit;
    spyi_memo_add(&m->question, &kind, 1);
    spyi_memo_add(&m->question, unit->identity.data, unit->identity.size);
    spyi_memo_text_into(&m->question, name);
}

SPYI_FN void spyi_memo_add_number(spyi_memo *m, uint64_t number) {
    if (m->unit) spyi_memo_add(&m->question, &number, sizeof number);
}

SPYI_FN void spyi_memo_add_text(spyi_memo *m, const char *text) {
    if (m->unit) spyi_memo_text_into(&m->question, text);
}

SPYI_FN void spyi_memo_add_type(spyi_memo *m, const spyi_type *type) {
    spyi_memo_add_text(m, type ? type->name : NULL);
    spyi_memo_add_number(m, type ? spyi_type_hash(type) : 0);
}

static void spyi_memo_open(spyi_stream *r, const spyi_compiler *compiler, const spyi_text *answer) {
    memset(r, 0, sizeof *r);
    r->name = "answer of the compiler";
    r->table = compiler->types;
    r->any_struct = true; // a unit that was reloaded may have another struct of the same name
    r->at = (const uint8_t *)answer->data;
    r->left = answer->size;
}

static bool spyi_memo_close(spyi_stream *r) {
    bool good = r->status == SPY_OK && (r->out || r->left == 0);
    spyi_text_free(&r->problem);
    free(r->types);
    return good;
}

SPYI_FN bool spyi_memo_recall(spyi_memo *m, spyi_memo_fields fields, void *answer) {
    spyi_text bytes = { NULL, 0, 0 };
    bool good = m->unit && spyi_store_get(m->unit->compiler->store, &m->question, &bytes);
    if (good) {
        spyi_stream r;
        spyi_memo_open(&r, m->unit->compiler, &bytes);
        fields(&r, answer);
        good = spyi_memo_close(&r);
    }
    spyi_text_free(&bytes);
    return good;
}

SPYI_FN void spyi_memo_keep(spyi_memo *m, spyi_memo_fields fields, void *answer) {
    spyi_text bytes = { NULL, 0, 0 };
    uint32_t failed = spyi_failed_allocations();
    spyi_stream r;
    // While libslang was asked, the unit may have been found to differ from the one on disk.
    if (!m->unit || !m->unit->identity.size) return;
    spyi_memo_open(&r, m->unit->compiler, &bytes);
    r.out = &bytes;
    fields(&r, answer);
    if (spyi_memo_close(&r) && spyi_failed_allocations() == failed)
        spyi_store_put(m->unit->compiler->store, &m->question, &bytes);
    spyi_text_free(&bytes);
}

SPYI_FN void spyi_memo_end(spyi_memo *m) {
    spyi_text_free(&m->question);
}

// >>fields

SPYI_FN void spyi_memo_bool(spyi_stream *r, void *answer) {
    spyi_stream_bool(r, (bool *)answer);
}

SPYI_FN void spyi_memo_type(spyi_stream *r, void *answer) {
    spyi_stream_type(r, (const spyi_type **)answer);
}

// >>a unit's identity

// Appends the properties of a compiler that all questions depend on. Returns false when the library that
// would answer is not known without opening it.
static bool spyi_memo_add_compiler(const spyi_compiler *c, spyi_text *out) {
    uint32_t numbers[4] = { SPYI_MEMO_VERSION, (uint32_t)c->target->format, c->print, SPY_VERSION };
    spyi_text library = { NULL, 0, 0 };
    uint64_t stamp =
        spyi_sl_find(c->library_path, (const char *const *)c->library_paths, c->library_path_count, &library);
    spyi_memo_add(out, numbers, sizeof numbers);
    spyi_memo_text_into(out, spyi_text_str(&library));
    spyi_memo_add(out, &stamp, sizeof stamp);
    spyi_memo_add(out, &c->embedded_hash, sizeof c->embedded_hash);
    spyi_text_free(&library);
    return stamp != 0 || c->recording; // files of a pack are not read again
}

static void spyi_memo_add_list(spyi_text *out, char *const *items, size_t count) {
    for (size_t i = 0; i < count; i++) spyi_memo_text_into(out, items[i]);
    spyi_memo_text_into(out, NULL);
}

// Appends the defines and conformances that the unit was given.
static void spyi_memo_add_choices(spyi_text *out, const spyi_unit *unit) {
    for (size_t i = 0; i < unit->define_count; i++) {
        spyi_memo_text_into(out, unit->defines[i].name);
        spyi_memo_text_into(out, unit->defines[i].value);
    }
    spyi_memo_text_into(out, NULL);
    spyi_memo_add_list(out, unit->conformances, unit->conformance_count);
}

static bool spyi_memo_unit_question(const spyi_unit *unit, const spyi_text *content, spyi_text *out) {
    const spyi_compiler *c = unit->compiler;
    const spy_compile_options *o = &unit->options;
    spyi_memo_hash text = spyi_memo_hash_of(content->data, content->size);
    uint32_t numbers[7] = { (uint32_t)o->optimization, (uint32_t)o->debug_info,  (uint32_t)o->float_mode,
                            o->warnings_as_errors,     o->experimental_features, unit->precompiled,
                            (uint32_t)(unit->trusted) };
    bool known = c->store && !c->bounds_record[0];
    spyi_text_add(out, "unit");
    known = known && spyi_memo_add_compiler(c, out);
    spyi_memo_add(out, &text, sizeof text);
    spyi_memo_add(out, numbers, sizeof numbers);
    spyi_memo_text_into(out, unit->name);
    spyi_memo_text_into(out, unit->path);
    spyi_memo_add_list(out, unit->include_paths, unit->include_path_count);
    spyi_memo_add_list(out, c->include_paths, c->include_path_count);
    spyi_memo_add_choices(out, unit);
    for (size_t i = 0; i < unit->link_count; i++) {
        const spyi_text *identity = &unit->links[i]->identity;
        known = known && identity->size;
        if (identity->size) spyi_memo_add(out, identity->data, identity->size);
    }
    return known;
}

// A file that the unit read or searched for without finding it.
typedef struct spyi_memo_file {
    char *path;
    bool exists;
    spyi_memo_hash hash;
} spyi_memo_file;

typedef struct spyi_memo_unit {
    spyi_memo_file *files;
    uint32_t file_count;
    char **imports;
    uint32_t import_count;
    bool has_visibility;
    spyi_text warnings;
} spyi_memo_unit;

// Writes or reads the paths of the unit's files, which depend only on the unit's text as long as no file is
// added or removed.
static void spyi_memo_path_fields(spyi_stream *r, spyi_memo_unit *u) {
    void *files = u->files;
    spyi_stream_list(r, &u->file_count, SPYI_MEMO_MOST_FILES, &files, sizeof *u->files);
    u->files = (spyi_memo_file *)files;
    for (uint32_t i = 0; i < u->file_count; i++) {
        spyi_stream_text(r, &u->files[i].path);
        (void)spyi_stream_expect(r, u->files[i].path != NULL, "a file has no path");
    }
}

// Writes or reads the properties of a unit, which are valid once its files have been found unchanged.
static void spyi_memo_unit_fields(spyi_stream *r, void *answer) {
    spyi_memo_unit *u = (spyi_memo_unit *)answer;
    void *imports = u->imports;
    spyi_stream_list(r, &u->import_count, SPYI_MEMO_MOST_FILES, &imports, sizeof *u->imports);
    u->imports = (char **)imports;
    for (uint32_t i = 0; i < u->import_count; i++) spyi_stream_text(r, &u->imports[i]);
    spyi_stream_bool(r, &u->has_visibility);
    spyi_stream_bytes(r, &u->warnings);
}

static void spyi_memo_unit_free(spyi_memo_unit *u) {
    for (uint32_t i = 0; i < u->file_count; i++) free(u->files[i].path);
    free(u->files);
    spyi_sl_free_strings(u->imports, u->import_count);
    spyi_text_free(&u->warnings);
    memset(u, 0, sizeof *u);
}

// Reads the current file, and watches it from now on.
static void spyi_memo_read_file(spyi_unit *unit, const char *path, spyi_memo_file *file) {
    spyi_sl_loading loading;
    spyi_text text = { NULL, 0, 0 };
    memset(&loading, 0, sizeof loading);
    loading.unit = unit;
    memset(&file->hash, 0, sizeof file->hash);
    file->exists = spyi_source_read(unit->compiler, &loading, path, &text);
    if (file->exists) file->hash = spyi_memo_hash_of(text.data, text.size);
    spyi_text_free(&loading.notes);
    spyi_text_free(&text);
}

static void spyi_memo_list_file(spyi_unit *unit, spyi_memo_unit *u, char *path) {
    for (uint32_t i = 0; path && i < u->file_count; i++) {
        if (strcmp(u->files[i].path, path) != 0) continue;
        free(path);
        return;
    }
    if (!path) return; // the allocation is counted as failed
    spyi_memo_file *file = &u->files[u->file_count++];
    file->path = path;
    spyi_memo_read_file(unit, path, file);
}

static int spyi_memo_compare_files(const void *a, const void *b) {
    return strcmp(((const spyi_memo_file *)a)->path, ((const spyi_memo_file *)b)->path);
}

// Lists the current state of the files that the unit has read or searched for, in the order of their paths.
// Slang searches for NAME.slang-module, and then for NAME.slang unless slangpy's own module of that name is
// available in serialized form, which it is not for the first module of a process. So the list has both.
static bool spyi_memo_list_files(spyi_unit *unit, spyi_memo_unit *u) {
    static const char ending[] = "-module";
    size_t count = unit->watched_count;
    u->files = (spyi_memo_file *)spyi_calloc(2 * count + 1, sizeof *u->files);
    for (size_t i = 0; u->files && i < count; i++) {
        char *path = spyi_strdup(unit->watched[i].path), *text = NULL;
        size_t size = path ? strlen(path) : 0, more = sizeof ending - 1;
        if (size > more && strcmp(path + size - more, ending) == 0 && (text = spyi_strdup(path)) != NULL)
            text[size - more] = '\0';
        spyi_memo_list_file(unit, u, path);
        if (text) spyi_memo_list_file(unit, u, text);
    }
    if (u->files) qsort(u->files, u->file_count, sizeof *u->files, spyi_memo_compare_files);
    return u->files != NULL;
}

// Appends the identity of a unit with this question and these files.
static void spyi_memo_identify(const spyi_text *question, const spyi_memo_unit *u, spyi_text *out) {
    spyi_text all = { NULL, 0, 0 };
    uint32_t failed = spyi_failed_allocations();
    spyi_memo_add(&all, question->data, question->size);
    for (uint32_t i = 0; i < u->file_count; i++) {
        spyi_memo_text_into(&all, u->files[i].path);
        spyi_memo_add(&all, &u->files[i].exists, 1);
        spyi_memo_add(&all, &u->files[i].hash, sizeof u->files[i].hash);
    }
    spyi_memo_hash hash = spyi_memo_hash_of(all.data, all.size);
    if (spyi_failed_allocations() == failed) spyi_memo_add(out, &hash, sizeof hash);
    spyi_text_free(&all);
}

SPYI_FN bool spyi_memo_recall_unit(spyi_unit *unit, const spyi_text *content, spyi_text *warnings) {
    spyi_text question = { NULL, 0, 0 }, bytes = { NULL, 0, 0 };
    spyi_memo_unit u;
    spyi_stream r;
    memset(&u, 0, sizeof u);
    bool good = spyi_memo_unit_question(unit, content, &question) &&
                spyi_store_get(unit->compiler->store, &question, &bytes);
    if (good) {
        spyi_memo_open(&r, unit->compiler, &bytes);
        spyi_memo_path_fields(&r, &u);
        good = spyi_memo_close(&r);
    }
    for (uint32_t i = 0; good && i < u.file_count; i++)
        spyi_memo_read_file(unit, u.files[i].path, &u.files[i]);
    if (good) {
        spyi_memo m;
        spyi_memo_identify(&question, &u, &unit->identity);
        spyi_memo_ask(&m, unit, 'u', NULL);
        good = spyi_memo_recall(&m, spyi_memo_unit_fields, &u);
        spyi_memo_end(&m);
    }
    if (good) {
        unit->imports = u.imports;
        unit->module_count = u.import_count;
        unit->has_visibility = u.has_visibility;
        u.imports = NULL;
        u.import_count = 0;
        if (u.warnings.size) spyi_text_add_n(warnings, u.warnings.data, u.warnings.size);
    } else {
        spyi_text_free(&unit->identity);
    }
    spyi_memo_unit_free(&u);
    spyi_text_free(&question);
    spyi_text_free(&bytes);
    return good;
}

// >>packs: a unit is found by its name and options, and answers as the one of that identity did

static void spyi_memo_pack_question(const spyi_unit *unit, spyi_text *out) {
    const spyi_compiler *c = unit->compiler;
    const spy_compile_options *o = &unit->options;
    uint32_t numbers[6] = { c->print,
                            (uint32_t)o->optimization,
                            (uint32_t)o->debug_info,
                            (uint32_t)o->float_mode,
                            o->warnings_as_errors,
                            o->experimental_features };
    spyi_text_add(out, "module of a pack for %s", c->rules->suffix);
    spyi_memo_add(out, numbers, sizeof numbers);
    spyi_memo_text_into(out, unit->name);
    spyi_memo_add_choices(out, unit);
    for (size_t i = 0; i < unit->link_count; i++) spyi_memo_text_into(out, unit->links[i]->name);
    if (unit->appended)
        spyi_memo_text_into(out, unit->appended); // the text of the library itself, for gradients of one draw
}

typedef struct spyi_memo_packed {
    spyi_memo_hash given; // a hash of the text that the program gave; 0 for a file
    spyi_text identity;
    spyi_memo_unit unit;
} spyi_memo_packed;

static void spyi_memo_packed_fields(spyi_stream *r, spyi_memo_packed *p) {
    spyi_stream_raw(r, &p->given, sizeof p->given);
    spyi_stream_bytes(r, &p->identity);
    (void)spyi_stream_expect(r, p->identity.size != 0, "a module has no identity");
    spyi_memo_unit_fields(r, &p->unit);
}

static spyi_memo_hash spyi_memo_given(const spyi_unit *unit) {
    spyi_memo_hash none = { 0, 0 };
    return unit->has_given ? spyi_memo_hash_of(unit->given.data, unit->given.size) : none;
}

static void spyi_memo_keep_packed(spyi_unit *unit, spyi_memo_unit *u) {
    spyi_text question = { NULL, 0, 0 }, bytes = { NULL, 0, 0 }, line = { NULL, 0, 0 };
    spyi_memo_packed p;
    spyi_stream r;
    uint32_t failed = spyi_failed_allocations();
    p.given = spyi_memo_given(unit);
    p.identity = unit->identity;
    p.unit = *u;
    spyi_memo_pack_question(unit, &question);
    spyi_memo_open(&r, unit->compiler, &bytes);
    r.out = &bytes;
    spyi_memo_packed_fields(&r, &p);
    spyi_text_add(&line, "module\t%s\t%s", unit->compiler->rules->suffix, unit->name);
    if (spyi_memo_close(&r) && spyi_failed_allocations() == failed) {
        spyi_store_put(unit->compiler->store, &question, &bytes);
        spyi_archive_note(spyi_store_pack(unit->compiler->store), spyi_text_str(&line), 1, 0);
    }
    spyi_text_free(&line);
    spyi_text_free(&question);
    spyi_text_free(&bytes);
}

SPYI_FN spy_status spyi_memo_recall_packed(spyi_unit *unit, spyi_text *warnings, spyi_text *error) {
    spyi_text question = { NULL, 0, 0 }, bytes = { NULL, 0, 0 };
    spyi_memo_hash given = spyi_memo_given(unit);
    spyi_memo_packed p;
    spyi_stream r;
    spy_status status = SPY_OK;
    memset(&p, 0, sizeof p);
    if (!unit->compiler->packed) {
        spyi_text_add(
            error,
            "the program was built with SLANGPY_NO_COMPILER, and needs a device with a pack (desc.pack)");
        return SPY_ERROR_NO_COMPILER;
    }
    spyi_memo_pack_question(unit, &question);
    bool found = spyi_store_get(unit->compiler->store, &question, &bytes);
    if (found) {
        spyi_memo_open(&r, unit->compiler, &bytes);
        spyi_memo_packed_fields(&r, &p);
        found = spyi_memo_close(&r);
    }
    if (!found) {
        status = SPY_ERROR_NO_COMPILER;
        spyi_text_add(error,
                      "the pack has no module '%s' with these options, defines and links for this device",
                      unit->name);
    } else if (unit->has_given && (given.a != p.given.a || given.b != p.given.b)) {
        status = SPY_ERROR_NO_COMPILER;
        spyi_text_add(error, "the pack has another text of module '%s': make the pack anew", unit->name);
    } else {
        unit->identity = p.identity;
        unit->imports = p.unit.imports;
        unit->module_count = p.unit.import_count;
        unit->has_visibility = p.unit.has_visibility;
        memset(&p.identity, 0, sizeof p.identity);
        p.unit.imports = NULL;
        p.unit.import_count = 0;
        if (p.unit.warnings.size) spyi_text_add_n(warnings, p.unit.warnings.data, p.unit.warnings.size);
    }
    spyi_memo_unit_free(&p.unit);
    spyi_text_free(&p.identity);
    spyi_text_free(&question);
    spyi_text_free(&bytes);
    return status;
}

// >>serialized modules

static void spyi_memo_blob_question(const spyi_memo_hash *hash, spyi_text *out) {
    spyi_text_add(out, "blob");
    spyi_memo_add(out, hash, sizeof *hash);
}

static void spyi_memo_keep_blob(spyi_compiler *c, const spyi_sl_stored *stored, spyi_memo_hash *hash) {
    spyi_text question = { NULL, 0, 0 }, answer = { (char *)stored->data, stored->size, 0 };
    *hash = spyi_memo_hash_of(stored->data, stored->size);
    spyi_memo_blob_question(hash, &question);
    if (!spyi_store_has(c->store, &question)) spyi_store_put(c->store, &question, &answer);
    spyi_text_free(&question);
}

// Writes or reads the members of a serialized module besides its bytes.
static void spyi_memo_stored_fields(spyi_stream *r, spyi_sl_stored *stored, spyi_memo_hash *hash) {
    spyi_stream_text(r, &stored->name);
    spyi_stream_text(r, &stored->path);
    spyi_stream_raw(r, hash, sizeof *hash);
    (void)spyi_stream_expect(r, stored->name && stored->path, "a module has no name");
}

static bool spyi_memo_recall_blob(spyi_compiler *c, const spyi_memo_hash *hash, spyi_sl_stored *stored) {
    spyi_text question = { NULL, 0, 0 }, bytes = { NULL, 0, 0 };
    spyi_memo_blob_question(hash, &question);
    bool good = spyi_store_get(c->store, &question, &bytes);
    spyi_text_free(&question);
    stored->data = bytes.data;
    stored->size = bytes.size;
    return good && bytes.data;
}

typedef struct spyi_memo_modules {
    spyi_compiler *compiler;
    spyi_sl_stored *items;
    uint32_t count;
} spyi_memo_modules;

static void spyi_memo_modules_fields(spyi_stream *r, void *answer) {
    spyi_memo_modules *m = (spyi_memo_modules *)answer;
    void *items = m->items;
    spyi_stream_list(r, &m->count, SPYI_MEMO_MOST_FILES, &items, sizeof *m->items);
    m->items = (spyi_sl_stored *)items;
    for (uint32_t i = 0; i < m->count; i++) {
        spyi_memo_hash hash;
        memset(&hash, 0, sizeof hash);
        if (r->out) spyi_memo_keep_blob(m->compiler, &m->items[i], &hash);
        spyi_memo_stored_fields(r, &m->items[i], &hash);
        if (!r->out && r->status == SPY_OK && !spyi_memo_recall_blob(m->compiler, &hash, &m->items[i]))
            spyi_stream_damaged(r, "a module is not there");
    }
}

SPYI_FN bool spyi_memo_recall_stored(spyi_unit *unit) {
    bool good = true;
    for (size_t i = 0; i < unit->link_count; i++) good = spyi_memo_recall_stored(unit->links[i]) && good;
    if (unit->stored || !good) return good;
    spyi_memo_modules modules = { unit->compiler, NULL, 0 };
    spyi_memo m;
    spyi_memo_ask(&m, unit, 's', NULL);
    good = spyi_memo_recall(&m, spyi_memo_modules_fields, &modules);
    spyi_memo_end(&m);
    if (good) {
        unit->stored = modules.items;
        unit->stored_count = modules.count;
    } else {
        spyi_sl_stored_free(modules.items, modules.count);
    }
    return good;
}

// Opens the unit from its text, as a first load does. Returns NULL if the text is not the one that the
// answers are about.
static spyi_sl_live *spyi_memo_open_text(spyi_unit *unit) {
    spyi_sl_loading loading;
    spyi_text content = { NULL, 0, 0 }, messages = { NULL, 0, 0 }, question = { NULL, 0, 0 };
    spyi_text identity = { NULL, 0, 0 };
    spyi_unit reader; // notes the files that are read now, because other threads read the unit's own list
    memset(&reader, 0, sizeof reader);
    reader.compiler = unit->compiler;
    reader.trusted = unit->trusted;
    reader.name = unit->name;
    reader.path = unit->path;
    reader.include_paths = unit->include_paths;
    reader.include_path_count = unit->include_path_count;
    memset(&loading, 0, sizeof loading);
    loading.unit = &reader;
    if (unit->has_given) spyi_text_add_n(&content, spyi_text_str(&unit->given), unit->given.size);
    else (void)spyi_source_read(unit->compiler, &loading, unit->path, &content);
    spyi_memo_recall_embedded(unit->compiler);
    spyi_sl_live *live =
        spyi_unit_changed(unit) ? NULL : spyi_sl_live_open(unit, &loading, &content, &messages);
    size_t count = live ? (size_t)live->session->v->getLoadedModuleCount(live->session) : 0;
    bool same = live && count == unit->module_count && spyi_memo_unit_question(unit, &content, &question);
    if (same) {
        spyi_memo_unit u;
        memset(&u, 0, sizeof u);
        same = spyi_memo_list_files(unit, &u);
        if (same) spyi_memo_identify(&question, &u, &identity);
        same = same && unit->identity.size == identity.size &&
               memcmp(unit->identity.data, identity.data, identity.size) == 0;
        spyi_memo_unit_free(&u);
    }
    if (live && !same) {
        spyi_sl_live_close(live);
        live = NULL;
    }
    spyi_unit_unwatch(&reader);
    spyi_text_free(&identity);
    spyi_text_free(&loading.notes);
    spyi_text_free(&content);
    spyi_text_free(&messages);
    spyi_text_free(&question);
    return live;
}

SPYI_FN spyi_sl_live *spyi_memo_wake(spyi_unit *unit) {
    spyi_text messages = { NULL, 0, 0 };
    spyi_sl_live *live = NULL;
    // The text comes first, because only a session made of text knows lines and comments.
    for (size_t i = 0; i < unit->link_count; i++) (void)spyi_memo_recall_stored(unit->links[i]);
    live = spyi_memo_open_text(unit);
    if (!live && spyi_memo_recall_stored(unit)) live = spyi_sl_live_open(unit, NULL, NULL, &messages);
    unit->live = live;
    if (live && !unit->stored) (void)spyi_sl_store(unit);
    spyi_text_free(&messages);
    return live;
}

SPYI_FN void spyi_memo_keep_unit(spyi_unit *unit, const spyi_text *content, const spyi_text *warnings) {
    spyi_text question = { NULL, 0, 0 }, bytes = { NULL, 0, 0 };
    uint32_t failed = spyi_failed_allocations();
    spyi_memo_unit u;
    spyi_stream r;
    memset(&u, 0, sizeof u);
    if (spyi_memo_unit_question(unit, content, &question)) {
        (void)spyi_memo_list_files(unit, &u);
        u.imports = spyi_sl_copy_strings((const char *const *)unit->imports, unit->module_count);
        u.import_count = (uint32_t)unit->module_count;
        u.has_visibility = unit->has_visibility;
        if (warnings->size) spyi_text_add_n(&u.warnings, warnings->data, warnings->size);
        spyi_memo_open(&r, unit->compiler, &bytes);
        r.out = &bytes;
        spyi_memo_path_fields(&r, &u);
        // A file that changed since it was read would get the answers for the other text.
        if (spyi_memo_close(&r) && spyi_failed_allocations() == failed && !spyi_unit_changed(unit)) {
            spyi_memo_modules modules = { unit->compiler, unit->stored, (uint32_t)unit->stored_count };
            spyi_memo m;
            spyi_memo_identify(&question, &u, &unit->identity);
            if (unit->compiler->recording) {
                spyi_memo_keep_packed(unit, &u);
            } else {
                spyi_memo_ask(&m, unit, 's', NULL);
                spyi_memo_keep(&m, spyi_memo_modules_fields, &modules);
                spyi_memo_end(&m);
                spyi_memo_ask(&m, unit, 'u', NULL);
                spyi_memo_keep(&m, spyi_memo_unit_fields, &u);
                spyi_memo_end(&m);
                spyi_store_put(unit->compiler->store, &question, &bytes);
            }
        }
    }
    spyi_memo_unit_free(&u);
    spyi_text_free(&question);
    spyi_text_free(&bytes);
}

// >>embedded modules

static bool spyi_memo_embedded_question(const spyi_compiler *c, size_t index, spyi_text *out) {
    spyi_text_add(out, "embedded %s", c->embedded[index].name);
    return c->store && !c->bounds_record[0] && spyi_memo_add_compiler(c, out);
}

SPYI_FN void spyi_memo_recall_embedded(spyi_compiler *c) {
    for (size_t i = 0; c->store && i < c->embedded_count; i++) {
        spyi_sl_stored *stored = &c->embedded_stored[i], got;
        spyi_text question = { NULL, 0, 0 }, bytes = { NULL, 0, 0 };
        spyi_memo_hash hash;
        spyi_stream r;
        memset(&got, 0, sizeof got);
        if (!stored->data && spyi_memo_embedded_question(c, i, &question) &&
            spyi_store_get(c->store, &question, &bytes)) {
            spyi_memo_open(&r, c, &bytes);
            spyi_memo_stored_fields(&r, &got, &hash);
            bool good = spyi_memo_close(&r) && spyi_memo_recall_blob(c, &hash, &got);
            if (good) *stored = got;
            else {
                free(got.name);
                free(got.path);
            }
        }
        spyi_text_free(&question);
        spyi_text_free(&bytes);
    }
}

SPYI_FN void spyi_memo_keep_embedded(spyi_compiler *c) {
    for (size_t i = 0; c->store && !c->recording && i < c->embedded_count; i++) {
        spyi_sl_stored *stored = &c->embedded_stored[i];
        spyi_text question = { NULL, 0, 0 }, bytes = { NULL, 0, 0 };
        spyi_memo_hash hash;
        spyi_stream r;
        if (stored->data && spyi_memo_embedded_question(c, i, &question) &&
            !spyi_store_has(c->store, &question)) {
            spyi_memo_keep_blob(c, stored, &hash);
            spyi_memo_open(&r, c, &bytes);
            r.out = &bytes;
            spyi_memo_stored_fields(&r, stored, &hash);
            if (spyi_memo_close(&r)) spyi_store_put(c->store, &question, &bytes);
        }
        spyi_text_free(&question);
        spyi_text_free(&bytes);
    }
}

// Reads a unit's text: by the file hook, from the disk, in the include paths. Remembers each file with a
// stamp, so that a change is noticed, and checks precompiled modules before Slang reads them.
#include "compiler/internal.h"

// >>files that a unit depends on

typedef struct spyi_source_ask { // a call of the file hook, which runs on the thread that waits for the
                                 // worker
    const spyi_compiler *compiler;
    const char *path;
    spyi_text *out;
    uint64_t stamp;
    bool opened, good;
    size_t bad_size; // the size that the hook gave together with data NULL, when it is not good
} spyi_source_ask;

static void spyi_source_ask_stamp(void *context) {
    spyi_source_ask *ask = (spyi_source_ask *)context;
    const spy_file_hook *hook = &ask->compiler->hook;
    ask->stamp = hook->stamp(ask->path, hook->user_data);
}

static uint64_t spyi_source_stamp(const spyi_compiler *c, const char *path) {
    spyi_source_ask ask;
    memset(&ask, 0, sizeof ask);
    ask.compiler = c;
    ask.path = path;
    if (c->hook.stamp) spyi_sl_on_caller(spyi_source_ask_stamp, &ask);
    return ask.stamp ? ask.stamp : spyi_file_stamp(path);
}

static void spyi_unit_watch(spyi_unit *unit, const char *path, uint64_t stamp) {
    for (size_t i = 0; i < unit->watched_count; ++i)
        if (strcmp(unit->watched[i].path, path) == 0) return;
    if (unit->watched_count % 16 == 0) {
        spyi_sl_watched *grown =
            (spyi_sl_watched *)spyi_realloc(unit->watched, (unit->watched_count + 16) * sizeof *grown);
        if (!grown) return; // changes of this file go unnoticed when memory runs out
        unit->watched = grown;
    }
    unit->watched[unit->watched_count].path = spyi_strdup(path);
    unit->watched[unit->watched_count].stamp = stamp;
    if (unit->watched[unit->watched_count].path) unit->watched_count++;
}

void spyi_unit_unwatch(spyi_unit *unit) {
    for (size_t i = 0; i < unit->watched_count; ++i) free(unit->watched[i].path);
    free(unit->watched);
    unit->watched = NULL;
    unit->watched_count = 0;
}

void spyi_unit_watch_too(spyi_unit *unit, spyi_unit *failed) {
    spyi_sl_watched *old = unit->watched;
    size_t count = unit->watched_count;
    unit->watched = failed ? failed->watched : NULL;
    unit->watched_count = failed ? failed->watched_count : 0;
    if (failed) {
        failed->watched = NULL;
        failed->watched_count = 0;
    }
    for (size_t i = 0; i < count; ++i) {
        spyi_unit_watch(unit, old[i].path, spyi_source_stamp(unit->compiler, old[i].path));
        free(old[i].path);
    }
    free(old);
}

bool spyi_unit_changed(const spyi_unit *unit) {
    for (size_t i = 0; i < unit->watched_count; ++i)
        if (spyi_source_stamp(unit->compiler, unit->watched[i].path) != unit->watched[i].stamp) return true;
    return false;
}

// Appends the path in plain form, for comparing paths: "a/./b/../c.slang" and "a\c.slang" become "a/c.slang".
static void spyi_source_plain_path(const char *path, spyi_text *out) {
    if (*path == '/' || *path == '\\') spyi_text_add(out, "/");
    size_t root = out->size, climbs = root; // up to `climbs` the path consists of ".." only
    while (*path) {
        size_t n = strcspn(path, "/\\");
        bool up = n == 2 && path[0] == '.' && path[1] == '.';
        if (up && out->size > climbs) { // removes the last part of the path
            while (out->size > root && out->data[out->size - 1] != '/') --out->size;
            if (out->size > root) --out->size;
            out->data[out->size] = '\0';
        } else if (n && !(n == 1 && path[0] == '.')) {
            if (out->size > root) spyi_text_add(out, "/");
            spyi_text_add_n(out, path, n);
            if (up) climbs = out->size;
        }
        path += n + (path[n] != '\0');
    }
}

bool spyi_unit_reads(const spyi_unit *unit, const spyi_unit *other) {
    if (other->has_given && !other->given_path) return false; // the path of `other` does not name a file
    spyi_text wanted = { NULL, 0, 0 }, path = { NULL, 0, 0 };
    bool found = false;
    spyi_source_plain_path(other->path, &wanted);
    for (size_t i = 0; i < unit->watched_count && !found; ++i) {
        spyi_text_clear(&path);
        spyi_source_plain_path(unit->watched[i].path, &path);
        found = unit->watched[i].stamp && strcmp(spyi_text_str(&path), spyi_text_str(&wanted)) == 0;
    }
    spyi_text_free(&path);
    spyi_text_free(&wanted);
    return found;
}

// >>reading

// Returns whether the text contains a word that makes Slang treat declarations as private. A word inside a
// comment does no harm: each function is then checked once more than needed.
bool spyi_source_has_visibility(const spyi_text *text) {
    static const char *const words[] = { "public", "internal", "private", "module" };
    for (size_t i = 0; text->data && i < sizeof words / sizeof words[0]; ++i)
        if (strstr(text->data, words[i])) return true;
    return false;
}

static void spyi_source_ask_text(void *context) {
    spyi_source_ask *ask = (spyi_source_ask *)context;
    const spy_file_hook *hook = &ask->compiler->hook;
    spy_file file;
    memset(&file, 0, sizeof file);
    ask->opened = hook->open(ask->path, &file, hook->user_data);
    if (!ask->opened) return;
    ask->good = file.data || file.size_bytes == 0;
    ask->bad_size = file.size_bytes;
    spyi_text_clear(ask->out);
    if (ask->good && file.size_bytes) spyi_text_add_n(ask->out, (const char *)file.data, file.size_bytes);
    if (hook->close) hook->close(&file, hook->user_data);
}

bool spyi_source_read(spyi_compiler *c, spyi_sl_loading *loading, const char *path, spyi_text *out) {
    // The stamp is taken before reading, so a write during reading counts as a change.
    if (loading) spyi_unit_watch(loading->unit, path, spyi_source_stamp(c, path));
    spyi_source_ask ask;
    memset(&ask, 0, sizeof ask);
    ask.compiler = c;
    ask.path = path;
    ask.out = out;
    if (c->hook.open) spyi_sl_on_caller(spyi_source_ask_text, &ask);
    if (!ask.opened) return spyi_file_read(path, out);
    if (!ask.good && loading)
        spyi_text_add(&loading->notes, "%s: the file hook gave %zu bytes at NULL\n", path, ask.bad_size);
    return ask.good;
}

static bool spyi_source_is_absolute(const char *path) {
    return path[0] == '/' || path[0] == '\\' || (path[0] && path[1] == ':');
}

spy_status spyi_source_find(spyi_sl_loading *loading, const char *path, spyi_text *out, spyi_text *error) {
    spyi_unit *unit = loading->unit;
    spyi_compiler *c = unit->compiler;
    if (spyi_source_read(c, loading, path, out)) return SPY_OK;
    size_t count = spyi_source_is_absolute(path) ? 0 : unit->include_path_count + c->include_path_count;
    spyi_text at = { NULL, 0, 0 };
    spyi_text_add(error, "%s: the file cannot be read: %s", path, spyi_file_problem());
    if (c->hook.open) spyi_text_add(error, ", and the file hook does not have it");
    if (!spyi_source_is_absolute(path)) spyi_text_add(error, "; searched the current folder");
    for (size_t i = 0; i < count; ++i) {
        const char *folder = i < unit->include_path_count ? unit->include_paths[i]
                                                          : c->include_paths[i - unit->include_path_count];
        spyi_text_clear(&at);
        spyi_text_add(&at, "%s/%s", folder, path);
        if (at.size && spyi_source_read(c, loading, at.data, out)) {
            free(unit->path);
            unit->path = at.data;
            spyi_text_free(error);
            return SPY_OK;
        }
        spyi_text_add(error, "%s%s", i ? ", " : " and the include paths ", folder);
    }
    spyi_text_free(&at);
    return SPY_ERROR_IO;
}

// >>precompiled modules

// libslang crashes on a damaged module (in 15 of 40 tries with one to twenty changed bytes) and on a module
// of another Slang version. So each file that we write ends with a seal, a word and a hash of everything
// before it; Slang's own readers skip the seal. A file without one, as slangc writes, is only checked for its
// frame and version; of 160 such damaged files 48 still crashed libslang. It is therefore only loaded when
// the user says that it is trusted.
static const char spyi_source_seal_word[8] = { 'S', 'P', 'Y', 'S', 'E', 'A', 'L', '1' };
enum { SPYI_SOURCE_SEAL_SIZE = 16, SPYI_SOURCE_FRAME_SIZE = 12 };

bool spyi_source_is_precompiled(const char *path) {
    static const char ending[] = ".slang-module";
    size_t n = path ? strlen(path) : 0;
    return n >= sizeof ending - 1 && strcmp(path + n - (sizeof ending - 1), ending) == 0;
}

void spyi_source_seal(spyi_text *bytes) {
    uint64_t hash = spyi_hash(bytes->data, bytes->size, 0);
    spyi_text_add_n(bytes, spyi_source_seal_word, sizeof spyi_source_seal_word);
    spyi_text_add_n(bytes, (const char *)&hash, sizeof hash);
}

bool spyi_source_unseal(const spyi_sl_library *library, spyi_sl_session *session, bool trusted,
                        spyi_text *bytes, spyi_text *error) {
    size_t size = bytes->size, framed = 0;
    if (size < SPYI_SOURCE_FRAME_SIZE || memcmp(bytes->data, "RIFF", 4) != 0) {
        spyi_text_add(error, "is not a precompiled Slang module, or damaged at its beginning");
        return false;
    }
    for (int i = 3; i >= 0; --i) framed = framed << 8 | (uint8_t)bytes->data[4 + i];
    framed += 8;
    bool room = size >= SPYI_SOURCE_FRAME_SIZE + SPYI_SOURCE_SEAL_SIZE;
    const char *seal = bytes->data + (room ? size - SPYI_SOURCE_SEAL_SIZE : 0);
    bool sealed = room && memcmp(seal, spyi_source_seal_word, sizeof spyi_source_seal_word) == 0;
    if (sealed) bytes->size = size - SPYI_SOURCE_SEAL_SIZE;
    bool good = bytes->size == framed;
    if (sealed && good) {
        uint64_t hash = spyi_hash(bytes->data, framed, 0);
        good = memcmp(seal + sizeof spyi_source_seal_word, &hash, sizeof hash) == 0;
    }
    if (!good) {
        spyi_text_add(error, "is damaged or cut off (%zu bytes)", size);
        return false;
    }
    if (!sealed && !trusted) {
        spyi_text_add(
            error,
            "has no seal, by which damage would be seen; Slang crashes on damaged modules. "
            "spy_save_module() writes modules with a seal, slangc without; trust_precompiled takes both");
        return false;
    }
    spyi_sl_int version = 0;
    const char *writer = NULL, *name = NULL;
    spyi_sl_blob *blob = library->slang_createBlob(bytes->data, bytes->size);
    spyi_sl_result result =
        blob ? session->v->loadModuleInfoFromIRBlob(session, blob, &version, &writer, &name) : -1;
    if (result < 0 || !writer) {
        spyi_text_add(error, "is not a precompiled Slang module, or damaged");
        good = false;
    } else if (strcmp(writer, library->version) != 0) {
        spyi_text_add(error, "was written by Slang %s, and only that version can read it; this is Slang %s",
                      writer, library->version);
        good = false;
    }
    spyi_sl_blob_free(&blob);
    return good;
}

static void spyi_sl_serialize_unit(spyi_unit *unit, spyi_sl_live *live, void *context) {
    spyi_text *out = (spyi_text *)context;
    spyi_sl_blob *blob = NULL;
    (void)unit;
    if (live->module->v->serialize(live->module, &blob) >= 0 && blob && blob->v->getBufferSize(blob) > 0)
        spyi_text_add_n(out, (const char *)blob->v->getBufferPointer(blob), blob->v->getBufferSize(blob));
    spyi_sl_blob_free(&blob);
}

bool spyi_unit_serialize(spyi_unit *unit, spyi_text *out) {
    spyi_text_clear(out);
    spyi_sl_ask(unit, 1, "serialize a module", spyi_sl_serialize_unit, out, NULL);
    if (out->size) spyi_source_seal(out);
    return out->size > 0;
}

// The file system that a Slang session sees: files of the disk or of the program's hook, and the embedded
// modules in a folder of their own.
#include "compiler/internal.h"

static void *spyi_sl_files_cast(spyi_sl_files *self, const spyi_sl_uuid *uuid) {
    static const spyi_sl_uuid ours[] = { SPYI_SL_UUID_UNKNOWN, SPYI_SL_UUID_CASTABLE, SPYI_SL_UUID_FILES };
    for (size_t i = 0; i < sizeof ours / sizeof ours[0]; ++i)
        if (memcmp(uuid, &ours[i], sizeof *uuid) == 0) return self;
    return NULL; // Slang first asks whether the object has other interfaces
}

static spyi_sl_result spyi_sl_files_query(spyi_sl_files *self, const spyi_sl_uuid *uuid, void **out) {
    *out = spyi_sl_files_cast(self, uuid);
    return *out ? SPYI_SL_OK : SPYI_SL_NO_INTERFACE;
}

// addRef() and release() do nothing: the object is a part of a spyi_sl_live, which outlives its session.
static uint32_t spyi_sl_files_count(spyi_sl_files *self) {
    (void)self;
    return 1;
}

static void spyi_sl_embedded_text(const spyi_compiler *compiler, const spyi_embedded *embedded,
                                  spyi_text *out) {
    if (strstr(compiler->library->version, "2026.12")) spyi_text_add(out, "#define SPYI_OLD_SLANG\n");
    for (const char *const *line = embedded->lines; *line; ++line) spyi_text_add(out, "%s\n", *line);
}

// Loads the embedded modules that an embedded module imports. After an error in a user's module libslang
// refuses to load the imports of a serialized module and throws where nothing can catch it (`import typo;
// import slangpy_diff;`). So the imports are loaded first.
static void spyi_sl_load_embedded_imports(spyi_sl_source_files *files, const spyi_embedded *embedded) {
    spyi_compiler *c = files->compiler;
    for (const char *const *line = embedded->lines; *line; ++line) {
        const char *import = strncmp(*line, "__exported ", 11) == 0 ? *line + 11 : *line;
        if (strncmp(import, "import ", 7) != 0) continue;
        size_t n = strcspn(import + 7, ";");
        uint32_t failed = spyi_failed_allocations();
        for (size_t i = 0; i < c->embedded_count; ++i) {
            const spyi_sl_stored *stored = &c->embedded_stored[i];
            spyi_sl_module *module = NULL;
            if (strlen(c->embedded[i].name) != n || strncmp(import + 7, c->embedded[i].name, n) != 0 ||
                spyi_sl_is_loaded(files->session, c->embedded[i].name, &module))
                continue;
            spyi_sl_load_embedded_imports(files, &c->embedded[i]);
            spyi_sl_blob *diagnostics = NULL, *blob = NULL;
            if (stored->data) {
                blob = c->library->slang_createBlob(stored->data, stored->size);
                if (blob)
                    files->session->v->loadModuleFromIRBlob(files->session, stored->name, stored->path, blob,
                                                            &diagnostics);
            } else {
                spyi_text text = { NULL, 0, 0 }, path = { NULL, 0, 0 };
                spyi_sl_embedded_text(c, &c->embedded[i], &text);
                spyi_text_add(&path, "%s/%s.slang", SPYI_SL_EMBEDDED_FOLDER, c->embedded[i].name);
                if (spyi_failed_allocations() == failed)
                    files->session->v->loadModuleFromSourceString(files->session, c->embedded[i].name,
                                                                  spyi_text_str(&path), spyi_text_str(&text),
                                                                  &diagnostics);
                spyi_text_free(&text);
                spyi_text_free(&path);
            }
            spyi_sl_blob_free(&diagnostics);
            spyi_sl_blob_free(&blob);
        }
    }
}

// Returns whether the user has a file of this name on the search path. libslang asks for precompiled modules in all folders
// before it asks for a text in any, so an embedded module in serialized form would come before the user's text.
static bool spyi_sl_is_shadowed(const spyi_sl_source_files *files, const char *name) {
    spyi_compiler *c = files->compiler;
    spyi_sl_loading *loading = files->loading;
    if (!loading) return false;
    const spyi_unit *unit = loading->unit;
    size_t own = unit->include_path_count, count = 1 + own + c->include_path_count;
    spyi_text at = { NULL, 0, 0 }, text = { NULL, 0, 0 };
    bool found = false;
    for (size_t i = 0; i < count && !found; ++i) {
        spyi_text_clear(&at);
        if (i == 0) spyi_sl_folder(unit->path, &at);
        else spyi_text_add(&at, "%s", i <= own ? unit->include_paths[i - 1] : c->include_paths[i - 1 - own]);
        spyi_text_add(&at, "/%s.slang", name);
        found = at.size && spyi_source_read(c, loading, at.data, &text);
    }
    spyi_text_free(&at);
    spyi_text_free(&text);
    return found;
}

static bool spyi_sl_find_file(spyi_sl_source_files *files, const char *path, spyi_text *text) {
    spyi_compiler *compiler = files->compiler;
    spyi_sl_loading *loading = files->loading;
    const char *embedded = strstr(path, SPYI_SL_EMBEDDED_FOLDER "/");
    bool found = false;
    if (!embedded) {
        if (!loading) files->refused = true;
        found = loading && spyi_source_read(compiler, loading, path, text);
        // If the precompiled file cannot be used, Slang asks for its source file next.
        if (found && spyi_source_is_precompiled(path)) {
            spyi_text why = { NULL, 0, 0 };
            // Slang's own modules have no seal, and are as trusted as the library beside them.
            bool trusted = loading->unit->trusted || strstr(path, "/slang-standard-module-") != NULL;
            found = spyi_source_unseal(compiler->library, files->session, trusted, text, &why);
            if (!found) spyi_text_add(&loading->notes, "%s %s\n", path, spyi_text_str(&why));
            spyi_text_free(&why);
        }
        if (found) loading->unit->has_visibility |= spyi_source_has_visibility(text);
        if (found && !spyi_source_is_precompiled(path)) {
            uint32_t failed = spyi_failed_allocations();
            spyi_source_adapt(compiler, loading, path, text);
            found = spyi_failed_allocations() == failed;
        }
        return found;
    }
    embedded += strlen(SPYI_SL_EMBEDDED_FOLDER "/");
    for (size_t i = 0; i < compiler->embedded_count && !found; ++i) {
        const spyi_sl_stored *stored = &compiler->embedded_stored[i];
        size_t n = strlen(compiler->embedded[i].name);
        if (strncmp(embedded, compiler->embedded[i].name, n) != 0) continue;
        if (stored->data && strcmp(embedded + n, ".slang-module") == 0) {
            if (spyi_sl_is_shadowed(files, compiler->embedded[i].name)) return false;
            spyi_sl_load_embedded_imports(files, &compiler->embedded[i]);
            spyi_text_add_n(text, (const char *)stored->data, stored->size);
            return true;
        }
        found = strcmp(embedded + n, ".slang") == 0;
        if (found) spyi_sl_embedded_text(compiler, &compiler->embedded[i], text);
    }
    return found;
}

static spyi_sl_result spyi_sl_files_load(spyi_sl_files *self, const char *path, spyi_sl_blob **out) {
    spyi_sl_source_files *files = (spyi_sl_source_files *)self;
    spyi_text text = { NULL, 0, 0 };
    bool away = false;
    *out = NULL;
    if (!spyi_sl_come_back(&away)) return SPYI_SL_NOT_FOUND;
    if (spyi_sl_find_file(files, path, &text)) {
        if (text.size == 0) spyi_text_add(&text, "\n"); // Slang takes an empty blob for a missing file
        *out = files->compiler->library->slang_createBlob(text.data, text.size);
    }
    spyi_text_free(&text);
    spyi_sl_go_back(away);
    return *out ? SPYI_SL_OK : SPYI_SL_NOT_FOUND;
}

static const spyi_sl_files_table spyi_sl_files_functions = {
    spyi_sl_files_query, spyi_sl_files_count, spyi_sl_files_count, spyi_sl_files_cast, spyi_sl_files_load,
};

SPYI_FN void spyi_sl_files_open(spyi_sl_source_files *files, spyi_compiler *compiler,
                                spyi_sl_loading *loading) {
    files->object.v = &spyi_sl_files_functions;
    files->compiler = compiler;
    files->loading = loading;
}

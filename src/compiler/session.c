// Compilers, units and their sessions: reading a module's file, loading it with what it imports, keeping all
// of it in serialized form, and replacing the session by a fresh one before it grows (libslang never frees a
// module).
#include "compiler/internal.h"

// >>small helpers

static char **spyi_sl_copy_strings(const char *const *strings, size_t count) {
    char **copy = (char **)spyi_calloc(count ? count : 1, sizeof *copy);
    for (size_t i = 0; copy && i < count; ++i) copy[i] = spyi_strdup(strings[i] ? strings[i] : "");
    return copy;
}

static void spyi_sl_free_strings(char **strings, size_t count) {
    for (size_t i = 0; strings && i < count; ++i) free(strings[i]);
    free(strings);
}

// The folder of a path, without its last slash; "." when it has none.
static void spyi_sl_folder(const char *path, spyi_text *out) {
    const char *end = NULL;
    for (const char *p = path; *p; ++p)
        if (*p == '/' || *p == '\\') end = p;
    if (!end) spyi_text_add(out, ".");
    else if (end == path) spyi_text_add(out, "/");
    else spyi_text_add_n(out, path, (size_t)(end - path));
}

// A name that `import` accepts: "my-shader.v2" becomes my_shader_v2.
static char *spyi_sl_module_name(const char *name, const char *path) {
    spyi_text text = { NULL, 0, 0 };
    if (!name && path) {
        name = path;
        for (const char *p = path; *p; ++p)
            if (*p == '/' || *p == '\\') name = p + 1;
        const char *dot = strrchr(name, '.');
        spyi_text_add_n(&text, name, dot && dot != name ? (size_t)(dot - name) : strlen(name));
    } else {
        spyi_text_add(&text, "%s", name && *name ? name : "module");
    }
    if (!text.size || (text.data[0] >= '0' && text.data[0] <= '9')) {
        spyi_text with = { NULL, 0, 0 };
        spyi_text_add(&with, "_%s", spyi_text_str(&text));
        spyi_text_free(&text);
        text = with;
    }
    for (char *p = text.data; p && *p; ++p) {
        bool word =
            (*p >= 'a' && *p <= 'z') || (*p >= 'A' && *p <= 'Z') || (*p >= '0' && *p <= '9') || *p == '_';
        if (!word) *p = '_';
    }
    char *result = spyi_strdup(text.data); // NULL: out of memory
    spyi_text_free(&text);
    return result;
}

// >>files that Slang asks for: the disk's, and the embedded modules in a folder of their own

static void *spyi_sl_files_cast(spyi_sl_files *self, const spyi_sl_uuid *uuid) {
    static const spyi_sl_uuid ours[] = { SPYI_SL_UUID_UNKNOWN, SPYI_SL_UUID_CASTABLE, SPYI_SL_UUID_FILES };
    for (size_t i = 0; i < sizeof ours / sizeof ours[0]; ++i)
        if (memcmp(uuid, &ours[i], sizeof *uuid) == 0) return self;
    return NULL; // Slang asks for private interfaces first
}

static spyi_sl_result spyi_sl_files_query(spyi_sl_files *self, const spyi_sl_uuid *uuid, void **out) {
    *out = spyi_sl_files_cast(self, uuid);
    return *out ? SPYI_SL_OK : SPYI_SL_NO_INTERFACE;
}

// The object is a part of a spyi_sl_live, which outlives its session: nothing to count.
static uint32_t spyi_sl_files_count(spyi_sl_files *self) {
    (void)self;
    return 1;
}

static bool spyi_sl_is_loaded(spyi_sl_session *session, const char *name, spyi_sl_module **module);

// libslang reads the stored form of a module in one of two states. After an error it refuses each module that this one imports,
// and then throws where nothing can catch it (`import typo; import slangpy_diff;`). So what it imports is loaded first.
static void spyi_sl_load_embedded_imports(spyi_sl_source_files *files, const spyi_embedded *embedded) {
    spyi_compiler *c = files->compiler;
    for (const char *const *line = embedded->lines; *line; ++line) {
        const char *import = strncmp(*line, "__exported ", 11) == 0 ? *line + 11 : *line;
        if (strncmp(import, "import ", 7) != 0) continue;
        size_t n = strcspn(import + 7, ";");
        for (size_t i = 0; i < c->embedded_count; ++i) {
            const spyi_sl_stored *stored = &c->embedded_stored[i];
            spyi_sl_module *module = NULL;
            if (strlen(c->embedded[i].name) != n || strncmp(import + 7, c->embedded[i].name, n) != 0 ||
                !stored->data || spyi_sl_is_loaded(files->session, stored->name, &module))
                continue;
            spyi_sl_load_embedded_imports(files, &c->embedded[i]);
            spyi_sl_blob *diagnostics = NULL,
                         *blob = c->library->slang_createBlob(stored->data, stored->size);
            if (blob)
                files->session->v->loadModuleFromIRBlob(files->session, stored->name, stored->path, blob,
                                                        &diagnostics);
            spyi_sl_blob_free(&diagnostics);
            spyi_sl_blob_free(&blob);
        }
    }
}

static bool spyi_sl_find_file(spyi_sl_source_files *files, const char *path, spyi_text *text) {
    spyi_compiler *compiler = files->compiler;
    spyi_sl_loading *loading = files->loading;
    const char *embedded = strstr(path, SPYI_SL_EMBEDDED_FOLDER "/");
    bool found = false;
    if (!embedded) {
        if (!loading) files->refused = true;
        found = loading && spyi_source_read(compiler, loading, path, text);
        if (found && spyi_source_is_precompiled(path)) { // when it cannot be used, Slang asks for its source
            spyi_text why = { NULL, 0, 0 };
            found = spyi_source_unseal(compiler->library, files->session, loading->unit->trusted, text, &why);
            if (!found) spyi_text_add(&loading->notes, "%s %s\n", path, spyi_text_str(&why));
            spyi_text_free(&why);
        }
        if (found) loading->unit->has_visibility |= spyi_source_has_visibility(text);
        if (found && !spyi_source_is_precompiled(path)) {
            spyi_text inlined = { NULL, 0, 0 };
            if (spyi_source_inline_interfaces(text, &inlined)) {
                spyi_text_free(text);
                *text = inlined;
            }
        }
        return found;
    }
    embedded += strlen(SPYI_SL_EMBEDDED_FOLDER "/");
    for (size_t i = 0; i < compiler->embedded_count && !found; ++i) {
        const spyi_sl_stored *stored = &compiler->embedded_stored[i];
        size_t n = strlen(compiler->embedded[i].name);
        if (strncmp(embedded, compiler->embedded[i].name, n) != 0) continue;
        if (stored->data && strcmp(embedded + n, ".slang-module") == 0) {
            spyi_sl_load_embedded_imports(files, &compiler->embedded[i]);
            spyi_text_add_n(text, (const char *)stored->data, stored->size);
            return true;
        }
        found = strcmp(embedded + n, ".slang") == 0;
        for (const char *const *line = compiler->embedded[i].lines; found && *line; ++line)
            spyi_text_add(text, "%s\n", *line);
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
        if (text.size == 0) spyi_text_add(&text, "\n"); // an empty blob is no file to Slang
        *out = files->compiler->library->slang_createBlob(text.data, text.size);
    }
    spyi_text_free(&text);
    spyi_sl_go_back(away);
    return *out ? SPYI_SL_OK : SPYI_SL_NOT_FOUND;
}

static const spyi_sl_files_table spyi_sl_files_functions = {
    spyi_sl_files_query, spyi_sl_files_count, spyi_sl_files_count, spyi_sl_files_cast, spyi_sl_files_load,
};

// >>sessions

static spyi_sl_session *spyi_sl_open_session(const spyi_unit *unit, spyi_sl_source_files *files) {
    spyi_compiler *c = unit->compiler;
    spyi_sl_global *global = spyi_sl_global_session();
    spyi_sl_session *session = NULL;
    spyi_sl_option options[SPYI_SL_MOST_OPTIONS];
    uint32_t option_count = spyi_sl_options(unit, options);

    spyi_sl_target_desc target;
    memset(&target, 0, sizeof target);
    target.structureSize = sizeof target;
    target.format = c->target == SPYI_TARGET_SPIRV ? SPYI_SL_TARGET_SPIRV : SPYI_SL_TARGET_CUDA_SOURCE;
    target.profile = c->target == SPYI_TARGET_SPIRV ? global->v->findProfile(global, "spirv_1_5") : 0;
    target.flags = SPYI_SL_TARGET_FLAG_SPIRV_DIRECTLY;
    target.lineDirectiveMode = unit->options.debug_info > SPY_DEBUG_INFO_NONE
                                   ? SPYI_SL_LINE_DIRECTIVES_DEFAULT
                                   : SPYI_SL_LINE_DIRECTIVES_NONE;
    target.forceGLSLScalarBufferLayout = true;
    target.compilerOptionEntries = options;
    target.compilerOptionEntryCount = option_count;

    size_t path_count = 0, most = unit->include_path_count + c->include_path_count + 2;
    const char **paths = (const char **)spyi_calloc(most, sizeof *paths);
    spyi_sl_macro *macros = (spyi_sl_macro *)spyi_calloc(unit->define_count + 3, sizeof *macros);
    spyi_text folder = { NULL, 0, 0 };
    if (paths && macros) {
        spyi_sl_folder(unit->path, &folder);
        paths[path_count++] = spyi_text_str(&folder);
        for (size_t i = 0; i < unit->include_path_count; ++i) paths[path_count++] = unit->include_paths[i];
        for (size_t i = 0; i < c->include_path_count; ++i) paths[path_count++] = c->include_paths[i];
        if (c->embedded_count) paths[path_count++] = SPYI_SL_EMBEDDED_FOLDER;
        for (size_t i = 0; i < unit->define_count; ++i) {
            macros[i].name = unit->defines[i].name;
            macros[i].value = unit->defines[i].value;
        }
        size_t macro_count = unit->define_count;
        if (c->print) {
            macros[macro_count].name = "SPYI_PRINT";
            macros[macro_count++].value = "1";
        }
        if (c->bounds_record[0]) {
            macros[macro_count].name = "SPYI_CHECK_BOUNDS";
            macros[macro_count++].value = c->bounds_record;
        }
        spyi_sl_session_desc desc;
        memset(&desc, 0, sizeof desc);
        desc.structureSize = sizeof desc;
        desc.targets = &target;
        desc.targetCount = 1;
        desc.defaultMatrixLayoutMode = SPYI_SL_MATRIX_ROW_MAJOR;
        desc.searchPaths = paths;
        desc.searchPathCount = (spyi_sl_int)path_count;
        desc.preprocessorMacros = macros;
        desc.preprocessorMacroCount = (spyi_sl_int)macro_count;
        desc.fileSystem = &files->object;
        desc.compilerOptionEntries = options;
        desc.compilerOptionEntryCount = option_count;
        desc.skipSPIRVValidation = true;
        if (global->v->createSession(global, &desc, &session) < 0) session = NULL;
    }
    spyi_text_free(&folder);
    free(paths);
    free(macros);
    return session;
}

void spyi_sl_live_free(spyi_sl_live *live) {
    for (uint32_t i = 0; i < live->conformance_count; ++i)
        live->conformances[i]->v->release(live->conformances[i]);
    free((void *)live->conformances);
    if (live->session) live->session->v->release(live->session); // its modules go with it
    free(live->links);
    free(live->by_id);
    free(live->known);
    spyi_sl_live_closed(live);
    free(live);
}

static bool spyi_sl_is_loaded(spyi_sl_session *session, const char *name, spyi_sl_module **module) {
    spyi_sl_int count = session->v->getLoadedModuleCount(session);
    for (spyi_sl_int i = 0; i < count; ++i) {
        spyi_sl_module *m = session->v->getLoadedModule(session, i);
        const char *loaded = m ? m->v->getName(m) : NULL;
        if (loaded && strcmp(loaded, name) == 0) {
            *module = m;
            return true;
        }
    }
    return false;
}

// Load what is not there yet out of `stored`; gives the module called `name`, or NULL. libslang wants imports
// loaded before their importers, so what fails is tried again after the others.
static spyi_sl_module *spyi_sl_load_stored(spyi_sl_live *live, const spyi_sl_stored *stored, size_t count,
                                           const char *name) {
    const spyi_sl_library *library = live->files.compiler->library;
    spyi_sl_session *session = live->session;
    spyi_sl_module *module = NULL;
    spyi_sl_loading *loading = live->files.loading;
    live->files.loading = NULL; // the files may have changed since
    size_t missing = count, before = count + 1;
    while (missing > 0 && missing < before) {
        before = missing;
        missing = 0;
        for (size_t i = 0; i < count; ++i) {
            if (spyi_sl_is_loaded(session, stored[i].name, &module)) continue;
            spyi_sl_blob *diagnostics = NULL,
                         *blob = library->slang_createBlob(stored[i].data, stored[i].size);
            module = blob ? session->v->loadModuleFromIRBlob(session, stored[i].name, stored[i].path, blob,
                                                             &diagnostics)
                          : NULL;
            spyi_sl_blob_free(&diagnostics);
            spyi_sl_blob_free(&blob);
            if (!module) ++missing;
        }
    }
    live->files.loading = loading;
    return missing == 0 && spyi_sl_is_loaded(session, name, &module) ? module : NULL;
}

static void spyi_sl_stored_clear(spyi_sl_stored *stored) {
    free(stored->name);
    free(stored->path);
    free(stored->data);
    memset(stored, 0, sizeof *stored);
}

static void spyi_sl_stored_free(spyi_sl_stored *stored, size_t count) {
    for (size_t i = 0; i < count; ++i) spyi_sl_stored_clear(&stored[i]);
    free(stored);
}

// All of it, or nothing.
static bool spyi_sl_serialize(spyi_sl_module *module, spyi_sl_stored *stored) {
    spyi_sl_blob *blob = NULL;
    if (module->v->serialize(module, &blob) < 0 || !blob) return false;
    size_t size = blob->v->getBufferSize(blob);
    const char *name = module->v->getName(module), *path = module->v->getFilePath(module);
    stored->name = spyi_strdup(name ? name : "");
    stored->path = spyi_strdup(path ? path : "");
    stored->data = spyi_malloc(size ? size : 1);
    stored->size = size;
    if (stored->data) memcpy(stored->data, blob->v->getBufferPointer(blob), size);
    spyi_sl_blob_free(&blob);
    bool whole = stored->name && stored->path && stored->data;
    if (!whole) spyi_sl_stored_clear(stored);
    return whole;
}

// The next sessions get the embedded modules that this one has compiled in serialized form.
static void spyi_sl_keep_embedded(spyi_compiler *compiler, spyi_sl_session *session) {
    for (size_t i = 0; i < compiler->embedded_count; ++i) {
        spyi_sl_module *module = NULL;
        if (compiler->embedded_stored[i].data ||
            !spyi_sl_is_loaded(session, compiler->embedded[i].name, &module))
            continue;
        const char *path = module->v->getFilePath(module);
        if (path && strstr(path, SPYI_SL_EMBEDDED_FOLDER)) // not a user's file of that name
            spyi_sl_serialize(module, &compiler->embedded_stored[i]);
    }
}

// Keep the modules that came with the unit, not what kernels have added since. Done at once, because a session may be lost
// without warning. Serializing takes a twentieth of the time of loading.
static bool spyi_sl_store(spyi_unit *unit) {
    if (unit->stored) return true;
    spyi_sl_session *session = unit->live->session;
    spyi_sl_stored *stored = (spyi_sl_stored *)spyi_calloc(unit->module_count + 1, sizeof *stored);
    size_t kept = 0;
    bool good = stored != NULL;
    for (size_t i = 0; i < unit->module_count && good; ++i) {
        spyi_sl_module *m = session->v->getLoadedModule(session, (spyi_sl_int)i);
        good = m && spyi_sl_serialize(m, &stored[kept++]);
    }
    if (!good) {
        spyi_sl_stored_free(stored, kept);
        return false;
    }
    unit->stored = stored;
    unit->stored_count = kept;
    return true;
}

static bool spyi_sl_imports(const spyi_unit *unit, const char *name) {
    for (size_t i = 0; i < unit->stored_count; ++i)
        if (strcmp(unit->stored[i].name, name) == 0 && strcmp(unit->name, name) != 0) return true;
    return false;
}

// The unit's own module, from its text or its precompiled form.
static spyi_sl_module *spyi_sl_load_content(spyi_unit *unit, spyi_sl_session *session, spyi_text *content,
                                            spyi_text *messages) {
    const spyi_sl_library *library = unit->compiler->library;
    spyi_sl_blob *diagnostics = NULL, *blob = NULL;
    spyi_sl_module *module = NULL;
    if (!unit->precompiled) {
        spyi_text inlined = { NULL, 0, 0 };
        bool changed = spyi_source_inline_interfaces(content, &inlined);
        module = spyi_sl_load_source(session, unit->name, unit->path,
                                     spyi_text_str(changed ? &inlined : content), &diagnostics);
        spyi_text_free(&inlined);
    } else if (spyi_source_unseal(library, session, unit->trusted, content, messages)) {
        blob = library->slang_createBlob(content->data, content->size);
        module = blob ? session->v->loadModuleFromIRBlob(session, unit->name, unit->path, blob, &diagnostics)
                      : NULL;
        if (!module && !diagnostics) spyi_text_add(messages, "is not a precompiled Slang module, or damaged");
    }
    spyi_sl_sources sources = { unit->compiler, unit->path, unit->precompiled ? NULL : content };
    spyi_sl_diagnostics(&diagnostics, NULL, &sources, messages);
    spyi_sl_blob_free(&blob);
    return module;
}

// The unit's conformances as parts of programs. On failure `messages` says which one is none.
static bool spyi_sl_conform(spyi_unit *unit, spyi_sl_live *live, spyi_text *messages) {
    live->conformances =
        (spyi_sl_component **)spyi_calloc(unit->conformance_count + 1, sizeof(spyi_sl_component *));
    for (size_t i = 0; live->conformances && i < unit->conformance_count; ++i) {
        spyi_sl_component *made = spyi_sl_conformance(unit, live, unit->conformances[i], messages);
        if (!made) return false;
        live->conformances[live->conformance_count++] = made;
    }
    return live->conformances != NULL;
}

spyi_sl_module *spyi_sl_load_source(spyi_sl_session *session, const char *name, const char *path,
                                    const char *source, spyi_sl_blob **diagnostics) {
    char *copies[3] = { spyi_strdup(name), spyi_strdup(path), spyi_strdup(source) };
    spyi_sl_module *module = NULL;
    if (copies[0] && copies[1] && copies[2]) {
        spyi_sl_begin_long();
        module =
            session->v->loadModuleFromSourceString(session, copies[0], copies[1], copies[2], diagnostics);
        spyi_sl_end_long();
    }
    for (int i = 0; i < 3; ++i) free(copies[i]);
    return module;
}

// A session with the unit's modules: from `content`, or from what is stored when that is NULL.
static spyi_sl_live *spyi_sl_live_open(spyi_unit *unit, spyi_sl_loading *loading, spyi_text *content,
                                       spyi_text *messages) {
    uint32_t failed = spyi_failed_allocations();
    spyi_sl_live *live = (spyi_sl_live *)spyi_calloc(1, sizeof *live);
    spyi_sl_blob *diagnostics = NULL;
    if (!live) return NULL;
    spyi_sl_live_opened(live);
    live->files.object.v = &spyi_sl_files_functions;
    live->files.compiler = unit->compiler;
    live->files.loading = loading;
    live->files.session = live->session = spyi_sl_open_session(unit, &live->files);
    live->links = (spyi_sl_component **)spyi_calloc(unit->link_count + 1, sizeof(spyi_sl_component *));
    if (!live->session || !live->links) {
        spyi_text_add(messages, "the Slang compiler cannot make a session");
        spyi_sl_live_close(live);
        return NULL;
    }
    // Linked modules come first, unless they import this very module.
    for (int pass = 0; pass < 2; ++pass) {
        if (pass == 1) {
            live->module = content ? spyi_sl_load_content(unit, live->session, content, messages)
                                   : spyi_sl_load_stored(live, unit->stored, unit->stored_count, unit->name);
            if (!live->module) break;
        }
        for (size_t i = 0; i < unit->link_count; ++i) {
            spyi_unit *link = unit->links[i];
            if (spyi_sl_imports(link, unit->name) != (pass == 1)) continue;
            live->links[i] =
                (spyi_sl_component *)spyi_sl_load_stored(live, link->stored, link->stored_count, link->name);
            if (!live->links[i]) {
                spyi_text_add(messages, "module '%s' cannot be linked to '%s'", link->name, unit->name);
                spyi_sl_live_close(live);
                return NULL;
            }
        }
    }
    live->link_count = (uint32_t)unit->link_count;
    if (live->module) live->layout = live->module->v->getLayout(live->module, 0, &diagnostics);
    spyi_sl_diagnostics(&diagnostics, NULL, NULL, messages);
    if (!live->layout) {
        if (live->module)
            spyi_text_add(messages, "the Slang compiler gives no layout for module '%s'", unit->name);
        spyi_sl_live_close(live);
        return NULL;
    }
    spyi_sl_note_externs(unit, live);
    // Without memory a folder or a macro may be missing.
    if (!spyi_sl_conform(unit, live, messages) || spyi_failed_allocations() != failed) {
        spyi_sl_live_close(live);
        return NULL;
    }
    live->files.loading = NULL;
    spyi_sl_live_ready();
    return live;
}

// What a session may keep before it is replaced; see spyi_sl_live_of.
enum { SPYI_SL_MOST_KEPT_KIB = 24 * 1024 };

spyi_sl_live *spyi_sl_live_of(spyi_unit *unit, size_t kib) {
    bool lost = spyi_sl_live_is_lost(unit->live);
    if (lost || unit->live->failed || unit->live->kept_kib > SPYI_SL_MOST_KEPT_KIB) {
        spyi_text ignored = { NULL, 0, 0 };
        spyi_sl_live *fresh = unit->stored ? spyi_sl_live_open(unit, NULL, NULL, &ignored) : NULL;
        spyi_text_free(&ignored);
        if (!fresh && lost) return NULL;
        if (fresh) { // if not, the old one still works, and grows
            spyi_sl_live_close(unit->live);
            unit->live = fresh;
        }
        unit->live->kept_kib = 0;
    }
    unit->live->kept_kib += kib;
    return unit->live;
}

// >>compilers

spyi_compiler *spyi_compiler_create(spyi_context *ctx, spyi_types *types, const spyi_compiler_desc *desc) {
    uint32_t failed = spyi_failed_allocations();
    spyi_compiler *c = (spyi_compiler *)spyi_calloc(1, sizeof *c);
    if (!c) return NULL;
    c->ctx = ctx;
    c->types = types;
    c->target = desc->target;
    c->library_path = spyi_strdup(desc->library_path);
    c->include_paths = spyi_sl_copy_strings(desc->include_paths, desc->include_path_count);
    c->include_path_count = c->include_paths ? desc->include_path_count : 0;
    c->embedded = desc->embedded;
    c->embedded_stored = (spyi_sl_stored *)spyi_calloc(desc->embedded_count + 1, sizeof(spyi_sl_stored));
    c->embedded_count = c->embedded_stored ? desc->embedded_count : 0;
    c->hook = desc->files;
    c->print = desc->print;
    if (desc->bounds_record)
        snprintf(c->bounds_record, sizeof c->bounds_record, "0x%llxULL",
                 (unsigned long long)desc->bounds_record);
    if (spyi_failed_allocations() != failed) {
        spyi_compiler_destroy(c);
        return NULL;
    }
    return c;
}

void spyi_compiler_destroy(spyi_compiler *compiler) {
    if (!compiler) return;
    if (compiler->library) spyi_sl_release();
    spyi_sl_free_strings(compiler->include_paths, compiler->include_path_count);
    spyi_sl_stored_free(compiler->embedded_stored, compiler->embedded_count);
    free(compiler->library_path);
    free(compiler);
}

uint64_t spyi_compiler_loads(const spyi_compiler *compiler) {
    return compiler ? (uint64_t)spyi_atomic_load((spyi_atomic *)(uintptr_t)&compiler->loads) : 0;
}

static spy_status spyi_compiler_ready(spyi_compiler *c, spyi_text *error) {
    const spyi_sl_library *library = NULL;
    spyi_global_lock();
    bool ready = c->library != NULL;
    spyi_global_unlock();
    if (ready) return SPY_OK;
    spyi_step(c->ctx, "load compiler", false);
    spy_status status = spyi_sl_acquire(c->library_path, &library, error);
    spyi_step(c->ctx, "load compiler", true);
    if (status != SPY_OK) return status;
    spyi_global_lock();
    ready = c->library != NULL;
    c->library = library;
    spyi_global_unlock();
    if (ready) { // another thread has done it meanwhile
        spyi_sl_release();
        return SPY_OK;
    }
    spyi_atomic_add(&c->loads, 1);
    spyi_logf(c->ctx, SPY_LOG_INFO, "Slang compiler %s: %s", library->version, library->path);
    return SPY_OK;
}

// >>units

// The names of the modules that came with the unit: later ones come with kernels, and are none of its own.
static void spyi_sl_note_imports(spyi_unit *unit) {
    spyi_sl_session *session = unit->live->session;
    unit->imports = (char **)spyi_calloc(unit->module_count + 1, sizeof *unit->imports);
    for (size_t i = 0; unit->imports && i < unit->module_count; ++i) {
        spyi_sl_module *m = session->v->getLoadedModule(session, (spyi_sl_int)i);
        unit->imports[i] = m ? spyi_strdup(m->v->getName(m)) : NULL;
    }
}

static void spyi_unit_free(spyi_unit *unit) {
    for (size_t i = 0; i < unit->link_count; ++i) spyi_unit_release(unit->links[i]);
    free(unit->links);
    for (size_t i = 0; i < unit->define_count; ++i) {
        free((void *)(uintptr_t)unit->defines[i].name);
        free((void *)(uintptr_t)unit->defines[i].value);
    }
    free(unit->defines);
    spyi_inputs_free(&unit->inputs);
    spyi_text_free(&unit->cuda_kernels);
    free(unit->derivatives);
    spyi_sl_nested_free(unit->nested);
    spyi_sl_free_strings(unit->imports, unit->module_count);
    spyi_sl_free_strings(unit->include_paths, unit->include_path_count);
    spyi_sl_free_strings(unit->conformances, unit->conformance_count);
    spyi_sl_stored_free(unit->stored, unit->stored_count);
    spyi_unit_unwatch(unit);
    spyi_text_free(&unit->given);
    free(unit->given_name);
    free(unit->given_path);
    free(unit->name);
    free(unit->path);
    free(unit);
}

static spyi_unit *spyi_unit_make(spyi_compiler *compiler, const spyi_unit_desc *desc) {
    uint32_t failed = spyi_failed_allocations();
    spyi_unit *unit = (spyi_unit *)spyi_calloc(1, sizeof *unit);
    if (!unit) return NULL;
    unit->compiler = compiler;
    unit->serial = (uint32_t)spyi_atomic_add(&compiler->unit_count, 1);
    spyi_atomic_store(&unit->references, 1);
    unit->name = spyi_sl_module_name(desc->name, desc->path);
    unit->given_name = spyi_strdup(desc->name);
    unit->given_path = spyi_strdup(desc->path);
    unit->has_given = desc->source || desc->precompiled;
    unit->precompiled = desc->precompiled || (!desc->source && spyi_source_is_precompiled(desc->path));
    if (desc->precompiled)
        spyi_text_add_n(&unit->given, (const char *)desc->precompiled, desc->precompiled_size);
    else if (desc->source)
        spyi_text_add_n(&unit->given, desc->source,
                        desc->source_size ? desc->source_size : strlen(desc->source));
    spyi_text path = { NULL, 0, 0 };
    if (desc->path) spyi_text_add(&path, "%s", desc->path);
    else if (unit->name) spyi_text_add(&path, "%s.slang%s", unit->name, unit->precompiled ? "-module" : "");
    unit->path = spyi_strdup(spyi_text_str(&path));
    spyi_text_free(&path);
    unit->trusted = desc->trusted;
    unit->options = desc->options;
    unit->include_paths = spyi_sl_copy_strings(desc->include_paths, desc->include_path_count);
    unit->include_path_count = unit->include_paths ? desc->include_path_count : 0;
    unit->defines = (spy_define *)spyi_calloc(desc->define_count + 1, sizeof *unit->defines);
    for (size_t i = 0; unit->defines && i < desc->define_count; ++i) {
        unit->defines[i].name = spyi_strdup(desc->defines[i].name ? desc->defines[i].name : "");
        unit->defines[i].value = spyi_strdup(desc->defines[i].value ? desc->defines[i].value : "1");
        unit->define_count = i + 1;
    }
    unit->conformances = spyi_sl_copy_strings(desc->conformances, desc->conformance_count);
    unit->conformance_count = unit->conformances ? desc->conformance_count : 0;
    unit->links = (spyi_unit **)spyi_calloc(desc->link_count + 1, sizeof(spyi_unit *));
    for (size_t i = 0; unit->links && i < desc->link_count; ++i) {
        unit->links[i] = desc->link[i];
        spyi_atomic_add(&unit->links[i]->references, 1);
        unit->link_count = i + 1;
    }
    if (spyi_failed_allocations() != failed) {
        spyi_unit_release(unit);
        return NULL;
    }
    return unit;
}

// The unit's text or precompiled bytes, from the desc or its file. `instead`: text to take this time instead of the
// file's, or NULL.
static spy_status spyi_unit_content(spyi_sl_loading *loading, const char *instead, spyi_text *content,
                                    spyi_text *error) {
    spyi_unit *unit = loading->unit;
    const char *place = unit->given_path ? unit->path : "the source";
    if (instead) {
        spyi_text ignored = { NULL, 0, 0 };
        (void)spyi_source_find(loading, unit->given_path, content,
                               &ignored); // its next change is what counts
        spyi_text_free(&ignored);
        spyi_text_clear(content);
        spyi_text_add(content, "%s", instead);
        unit->precompiled = false;
    } else if (unit->has_given) {
        if (unit->given.size) spyi_text_add_n(content, unit->given.data, unit->given.size);
    } else if (!unit->given_path) {
        spyi_text_add(error, "a module needs a path or a source");
        return SPY_ERROR_INVALID_ARGUMENT;
    } else {
        spy_status status = spyi_source_find(loading, unit->given_path, content, error);
        if (status != SPY_OK) return status;
        place = unit->path;
    }
    unit->has_visibility = unit->precompiled || spyi_source_has_visibility(content);
    if (!unit->precompiled && content->size && memchr(content->data, '\0', content->size)) {
        spyi_text_add(error, "%s: is not Slang text: it holds a NUL byte", place);
        return SPY_ERROR_COMPILE;
    }
    return SPY_OK;
}

typedef struct spyi_unit_opening {
    spyi_sl_loading loading;
    spyi_text content, messages, error;
    spy_status status;
} spyi_unit_opening;

static void spyi_unit_open_task(void *context) {
    spyi_unit_opening *o = (spyi_unit_opening *)context;
    spyi_unit *unit = o->loading.unit;
    o->status = spyi_sl_check_options(unit, &o->loading.notes, &o->error);
    if (o->status != SPY_OK) return;
    spyi_sl_live *live = spyi_sl_live_open(unit, &o->loading, &o->content, &o->messages);
    if (!live) return;
    unit->live = live;
    unit->module_count = (size_t)live->session->v->getLoadedModuleCount(live->session);
    spyi_sl_note_imports(unit);
    spyi_sl_keep_embedded(unit->compiler, live->session);
    if (!spyi_sl_store(unit)) {
        spyi_text_add(&o->error, "module '%s' cannot be serialized", unit->name);
        o->status = SPY_ERROR_COMPILE;
    }
}

// Loads what was made; on failure `unit` knows which files that took, and nothing else of it can be used.
static spy_status spyi_unit_open(spyi_unit *unit, const char *instead, spyi_text *error) {
    spyi_compiler *compiler = unit->compiler;
    spyi_text step = { NULL, 0, 0 };
    spyi_unit_opening o;
    memset(&o, 0, sizeof o);
    o.loading.unit = unit;
    uint32_t failed = spyi_failed_allocations();
    spy_status status = spyi_unit_content(&o.loading, instead, &o.content, error);
    if (status == SPY_OK) status = spyi_compiler_ready(compiler, error);
    status = spyi_check_allocations(failed, status, error); // libslang must not see half a text
    if (status == SPY_OK) {
        spyi_text_add(&step, "load module %s", unit->name);
        spyi_step(compiler->ctx, spyi_text_str(&step), false);
        status = spyi_sl_run(compiler, spyi_text_str(&step), spyi_unit_open_task, &o, error);
        spyi_step(compiler->ctx, spyi_text_str(&step), true);
        bool strict = unit->live && o.messages.size && unit->options.warnings_as_errors;
        if (status == SPY_OK && o.status != SPY_OK) {
            status = o.status;
            spyi_text_add(error, "%s", spyi_text_str(&o.error));
        } else if (status == SPY_OK && (!unit->live || strict)) {
            status = SPY_ERROR_COMPILE;
            spyi_text_add(error, "module '%s' %s:\n%s", unit->name,
                          strict              ? "has warnings, which are errors by its options"
                          : unit->precompiled ? "cannot be loaded"
                                              : "does not compile",
                          spyi_text_str(&o.messages));
        } else if (status == SPY_OK && o.messages.size) {
            spyi_logf(compiler->ctx, SPY_LOG_WARNING, "module '%s':\n%s", unit->name,
                      spyi_text_str(&o.messages));
        }
    }
    if (o.loading.notes.size && status != SPY_OK) spyi_text_add(error, "\n%s", o.loading.notes.data);
    else if (o.loading.notes.size)
        spyi_logf(compiler->ctx, SPY_LOG_WARNING, "module '%s': %s", unit->name, o.loading.notes.data);
    spyi_text_free(&o.loading.notes);
    spyi_text_free(&o.content);
    spyi_text_free(&o.messages);
    spyi_text_free(&o.error);
    spyi_text_free(&step);
    return spyi_check_allocations(failed, status, error);
}

spy_status spyi_unit_load(spyi_compiler *compiler, const spyi_unit_desc *desc, spyi_unit **result,
                          spyi_text *error) {
    spyi_unit *unit = spyi_unit_make(compiler, desc);
    spy_status status = unit ? spyi_unit_open(unit, NULL, error) : SPY_ERROR_OUT_OF_MEMORY;
    *result = status == SPY_OK ? unit : NULL;
    if (status != SPY_OK) spyi_unit_release(unit);
    return status;
}

spy_status spyi_unit_reload(spyi_unit *old, const char *source, spyi_unit *const *link, spyi_unit **fresh,
                            spyi_text *error) {
    spyi_unit_desc desc;
    memset(&desc, 0, sizeof desc);
    desc.path = old->given_path;
    desc.name = old->given_name;
    if (source && old->has_given) {
        desc.source = source;
    } else if (old->has_given && old->precompiled) {
        desc.precompiled = spyi_text_str(&old->given);
        desc.precompiled_size = old->given.size;
    } else if (old->has_given) {
        desc.source = spyi_text_str(&old->given);
        desc.source_size = old->given.size;
    }
    desc.include_paths = (const char *const *)old->include_paths;
    desc.include_path_count = old->include_path_count;
    desc.defines = old->defines;
    desc.define_count = old->define_count;
    desc.link = link;
    desc.link_count = old->link_count;
    desc.conformances = (const char *const *)old->conformances;
    desc.conformance_count = old->conformance_count;
    desc.options = old->options;
    desc.trusted = old->trusted;
    spyi_unit *unit = spyi_unit_make(old->compiler, &desc);
    spy_status status =
        unit ? spyi_unit_open(unit, old->has_given ? NULL : source, error) : SPY_ERROR_OUT_OF_MEMORY;
    *fresh = status == SPY_OK ? unit : NULL;
    if (unit && status != SPY_OK) spyi_unit_give_up(old, unit);
    return status;
}

void spyi_unit_give_up(spyi_unit *unit, spyi_unit *fresh) {
    spyi_unit_watch_too(unit, fresh);
    spyi_unit_release(fresh);
}

void spyi_unit_release(spyi_unit *unit) {
    if (!unit || spyi_atomic_add(&unit->references, -1) > 0) return;
    spyi_sl_live_close(unit->live);
    spyi_unit_free(unit);
}

const char *spyi_unit_name(const spyi_unit *unit) {
    return unit->name;
}

bool spyi_unit_imports(const spyi_unit *unit, const char *name) {
    for (size_t i = 0; unit->imports && i < unit->module_count; ++i)
        if (unit->imports[i] && strcmp(unit->imports[i], name) == 0) return true;
    return false;
}

uint32_t spyi_unit_serial(const spyi_unit *unit) {
    return unit->serial;
}

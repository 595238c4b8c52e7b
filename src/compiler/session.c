// Opens Slang sessions with a unit's modules, keeps these modules in serialized form, and replaces a session
// by a fresh one before it grows too large (libslang never frees a module).
#include "compiler/memo.h"
#include "compiler/target.h"

SPYI_FN void spyi_sl_folder(const char *path, spyi_text *out) {
    const char *end = NULL;
    for (const char *p = path; *p; ++p)
        if (*p == '/' || *p == '\\') end = p;
    if (!end) spyi_text_add(out, ".");
    else if (end == path) spyi_text_add(out, "/");
    else spyi_text_add_n(out, path, (size_t)(end - path));
}

static spyi_sl_session *spyi_sl_open_session(const spyi_unit *unit, spyi_sl_source_files *files) {
    spyi_compiler *c = unit->compiler;
    spyi_sl_global *global = spyi_sl_global_session();
    spyi_sl_session *session = NULL;
    spyi_sl_option options[SPYI_SL_MOST_OPTIONS];
    uint32_t option_count = spyi_sl_options(unit, options);

    spyi_sl_target_desc target;
    memset(&target, 0, sizeof target);
    target.structureSize = sizeof target;
    target.format = c->target->format;
    target.profile = c->target->profile ? global->v->findProfile(global, c->target->profile) : 0;
    target.flags = SPYI_SL_TARGET_FLAG_SPIRV_DIRECTLY;
    target.lineDirectiveMode = unit->options.debug_info > SPY_DEBUG_INFO_NONE
                                   ? SPYI_SL_LINE_DIRECTIVES_DEFAULT
                                   : SPYI_SL_LINE_DIRECTIVES_NONE;
    target.forceGLSLScalarBufferLayout = true;
    target.compilerOptionEntries = options;
    target.compilerOptionEntryCount = option_count;

    size_t path_count = 0, most = unit->include_path_count + c->include_path_count + 3;
    const char **paths = (const char **)spyi_calloc(most, sizeof *paths);
    spyi_sl_macro *macros = (spyi_sl_macro *)spyi_calloc(unit->define_count + 3, sizeof *macros);
    spyi_text folder = { NULL, 0, 0 }, standard = { NULL, 0, 0 };
    if (paths && macros) {
        spyi_sl_folder(unit->path, &folder);
        paths[path_count++] = spyi_text_str(&folder);
        for (size_t i = 0; i < unit->include_path_count; ++i) paths[path_count++] = unit->include_paths[i];
        for (size_t i = 0; i < c->include_path_count; ++i) paths[path_count++] = c->include_paths[i];
        if (c->embedded_count) paths[path_count++] = SPYI_SL_EMBEDDED_FOLDER;
        if (unit->options
                .experimental_features) { // `import slang.neural;` needs Slang's own modules, which lie
                                          // beside the library
            spyi_sl_folder(c->library->path, &standard);
            spyi_text_add(&standard, "/slang-standard-module-%s", c->library->version);
            paths[path_count++] = spyi_text_str(&standard);
        }
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
    spyi_text_free(&standard);
    free(paths);
    free(macros);
    return session;
}

void spyi_sl_live_free(spyi_sl_live *live) {
    for (uint32_t i = 0; i < live->conformance_count; ++i)
        live->conformances[i]->v->release(live->conformances[i]);
    free((void *)live->conformances);
    if (live->session) live->session->v->release(live->session); // this releases the session's modules too
    free(live->links);
    free(live->by_id);
    free(live->known);
    spyi_sl_live_closed(live);
    free(live);
}

SPYI_FN bool spyi_sl_is_loaded(spyi_sl_session *session, const char *name, spyi_sl_module **module) {
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

// Loads those modules of `stored` that the session does not have yet. Returns the module called `name`, or
// NULL when one of them cannot be loaded. libslang wants imports loaded before their importers, so modules
// that failed are tried again after the others.
static spyi_sl_module *spyi_sl_load_stored(spyi_sl_live *live, const spyi_sl_stored *stored, size_t count,
                                           const char *name) {
    const spyi_sl_library *library = live->files.compiler->library;
    spyi_sl_session *session = live->session;
    spyi_sl_module *module = NULL;
    spyi_sl_loading *loading = live->files.loading;
    live->files.loading = NULL; // no file is read, because files may have changed since
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

SPYI_FN void spyi_sl_stored_free(spyi_sl_stored *stored, size_t count) {
    for (size_t i = 0; i < count; ++i) spyi_sl_stored_clear(&stored[i]);
    free(stored);
}

// Fills `stored` with the module in serialized form. Returns false, with `stored` all zero, when that fails.
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

// Keeps the embedded modules that this session has compiled in serialized form, for the next sessions.
SPYI_FN void spyi_sl_keep_embedded(spyi_compiler *compiler, spyi_sl_session *session) {
    for (size_t i = 0; i < compiler->embedded_count; ++i) {
        spyi_sl_module *module = NULL;
        // This module has AtomicTensor, for which libslang throws an exception at `t[i]` and at most forms
        // of t.load() if the module is serialized.
        if (strcmp(compiler->embedded[i].name, "slangpy_atomic") == 0 || compiler->embedded_stored[i].data ||
            !spyi_sl_is_loaded(session, compiler->embedded[i].name, &module))
            continue;
        const char *path = module->v->getFilePath(module);
        if (path && strstr(path, SPYI_SL_EMBEDDED_FOLDER)) // otherwise the module is a user's file of the
                                                           // same name
            spyi_sl_serialize(module, &compiler->embedded_stored[i]);
    }
}

// Fills `stored` with the compiler's copy of an embedded module, because serializing slangpy_diff takes 150
// ms each time. Returns false if the compiler has no copy.
static bool spyi_sl_copy_embedded(const spyi_compiler *compiler, spyi_sl_module *module,
                                  spyi_sl_stored *stored) {
    const char *name = module->v->getName(module), *path = module->v->getFilePath(module);
    for (size_t i = 0; name && path && i < compiler->embedded_count; ++i) {
        const spyi_sl_stored *kept = &compiler->embedded_stored[i];
        // The path of a module that libslang has imported from the copy ends with ".slang-module".
        if (!kept->data || strcmp(kept->name, name) != 0 || !strstr(path, SPYI_SL_EMBEDDED_FOLDER)) continue;
        stored->name = spyi_strdup(kept->name);
        stored->path = spyi_strdup(kept->path);
        stored->data = spyi_malloc(kept->size);
        stored->size = kept->size;
        if (stored->data) memcpy(stored->data, kept->data, kept->size);
        bool whole = stored->name && stored->path && stored->data;
        if (!whole) spyi_sl_stored_clear(stored);
        return whole;
    }
    return false;
}

// Serializes the modules that the unit was loaded with, but no kernels. This is done right after loading,
// because a session may be lost without warning. It takes a twentieth of the time of loading.
SPYI_FN bool spyi_sl_store(spyi_unit *unit) {
    if (unit->stored) return true;
    spyi_sl_session *session = unit->live->session;
    spyi_sl_stored *stored = (spyi_sl_stored *)spyi_calloc(unit->module_count + 1, sizeof *stored);
    size_t kept = 0;
    bool good = stored != NULL;
    for (size_t i = 0; i < unit->module_count && good; ++i) {
        spyi_sl_module *m = session->v->getLoadedModule(session, (spyi_sl_int)i);
        good = m && (spyi_sl_copy_embedded(unit->compiler, m, &stored[kept]) ||
                     spyi_sl_serialize(m, &stored[kept]));
        kept += good;
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

// Loads the unit's own module from its text or its precompiled form.
static spyi_sl_module *spyi_sl_load_content(spyi_unit *unit, spyi_sl_loading *loading,
                                            spyi_sl_session *session, spyi_text *content,
                                            spyi_text *messages) {
    const spyi_sl_library *library = unit->compiler->library;
    spyi_sl_blob *diagnostics = NULL, *blob = NULL;
    spyi_sl_module *module = NULL;
    const size_t size = content->size;
    if (!unit->precompiled) {
        spyi_text adapted = { NULL, 0, 0 };
        uint32_t failed = spyi_failed_allocations();
        spyi_text_add_n(&adapted, spyi_text_str(content), content->size);
        spyi_source_adapt(unit->compiler, loading, unit->path, &adapted);
        if (spyi_failed_allocations() == failed) // after a failed allocation a part of the text would be
                                                 // loaded under the module's name
            module =
                spyi_sl_load_source(session, unit->name, unit->path, spyi_text_str(&adapted), &diagnostics);
        spyi_text_free(&adapted);
    } else if (spyi_source_unseal(library, session, unit->trusted, content, messages)) {
        blob = library->slang_createBlob(content->data, content->size);
        module = blob ? session->v->loadModuleFromIRBlob(session, unit->name, unit->path, blob, &diagnostics)
                      : NULL;
        if (!module && !diagnostics) spyi_text_add(messages, "is not a precompiled Slang module, or damaged");
    }
    content->size = size; // the content includes the seal, by which the cache on disk tells this content from
                          // one without a seal
    spyi_sl_sources sources = { unit->compiler, unit->path, unit->precompiled ? NULL : content };
    spyi_sl_diagnostics(&diagnostics, NULL, &sources, messages);
    spyi_sl_blob_free(&blob);
    return module;
}

// Makes the components of the unit's conformances. On failure `messages` says which one is wrong.
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

SPYI_FN spyi_sl_live *spyi_sl_live_open(spyi_unit *unit, spyi_sl_loading *loading, spyi_text *content,
                                        spyi_text *messages) {
    uint32_t failed = spyi_failed_allocations();
    spyi_sl_live *live = (spyi_sl_live *)spyi_calloc(1, sizeof *live);
    spyi_sl_blob *diagnostics = NULL;
    if (!live) return NULL;
    spyi_sl_live_opened(live);
    spyi_sl_files_open(&live->files, unit->compiler, loading);
    live->files.session = live->session = spyi_sl_open_session(unit, &live->files);
    live->links = (spyi_sl_component **)spyi_calloc(unit->link_count + 1, sizeof(spyi_sl_component *));
    if (!live->session || !live->links) {
        spyi_text_add(messages, "the Slang compiler cannot make a session");
        spyi_sl_live_close(live);
        return NULL;
    }
    for (size_t i = 0; i < unit->link_count; ++i)
        if (!unit->links[i]->stored && !spyi_memo_recall_stored(unit->links[i]))
            spyi_memo_wake(unit->links[i]);
    // Linked modules are loaded before the unit, except for those that import it.
    for (int pass = 0; pass < 2; ++pass) {
        if (pass == 1) {
            live->module = content ? spyi_sl_load_content(unit, loading, live->session, content, messages)
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
    // After a failed allocation the session may lack an include path or a macro.
    if (!spyi_sl_conform(unit, live, messages) || spyi_failed_allocations() != failed) {
        spyi_sl_live_close(live);
        return NULL;
    }
    live->files.loading = NULL;
    spyi_sl_live_ready();
    return live;
}

// The memory in KiB that queries and kernels may leave in a session before it is replaced; see
// spyi_sl_live_of().
enum { SPYI_SL_MOST_KEPT_KIB = 24 * 1024 };

spyi_sl_live *spyi_sl_live_of(spyi_unit *unit, size_t kib) {
    if (!unit->live && !spyi_memo_wake(unit)) return NULL;
    bool lost = spyi_sl_live_is_lost(unit->live);
    if (lost || unit->live->failed || unit->live->kept_kib > SPYI_SL_MOST_KEPT_KIB) {
        spyi_text ignored = { NULL, 0, 0 };
        spyi_sl_live *fresh = unit->stored ? spyi_sl_live_open(unit, NULL, NULL, &ignored) : NULL;
        spyi_text_free(&ignored);
        if (!fresh && lost) return NULL;
        if (fresh) { // if there is no fresh session, the old one continues to grow
            spyi_sl_live_close(unit->live);
            unit->live = fresh;
        }
        unit->live->kept_kib = 0;
    }
    unit->live->kept_kib += kib;
    return unit->live;
}

// Units: creates them from a module's text or file, and loads, reloads and releases them.
#include "compiler/memo.h"

// Returns a name that `import` accepts, to be freed: "my-shader.v2" becomes my_shader_v2. Returns NULL when
// out of memory.
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
    char *result = spyi_strdup(text.data);
    spyi_text_free(&text);
    return result;
}

// Notes the names of the modules that were loaded with the unit. Modules that the session loads later belong
// to kernels.
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
    spyi_text_free(&unit->networks);
    free(unit->derivatives);
    spyi_sl_nested_free(unit->nested);
    spyi_sl_free_strings(unit->imports, unit->module_count);
    spyi_sl_free_strings(unit->include_paths, unit->include_path_count);
    spyi_sl_free_strings(unit->conformances, unit->conformance_count);
    spyi_sl_stored_free(unit->stored, unit->stored_count);
    spyi_unit_unwatch(unit);
    spyi_text_free(&unit->given);
    spyi_text_free(&unit->identity);
    free(unit->appended);
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
    unit->appended = spyi_strdup(desc->appended);
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

// Gets the unit's text or precompiled bytes, from the desc or its file. `instead` is the text to use this
// time instead of the file's, or NULL.
static spy_status spyi_unit_content(spyi_sl_loading *loading, const char *instead, spyi_text *content,
                                    spyi_text *error) {
    spyi_unit *unit = loading->unit;
    const char *place = unit->given_path ? unit->path : "the source";
    if (instead) {
        spyi_text ignored = { NULL, 0, 0 };
        (void)spyi_source_find(loading, unit->given_path, content,
                               &ignored); // reads the file only to watch it from now on
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
    if (unit->appended) spyi_text_add(content, "\n%s", unit->appended);
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

// Loads the unit's module. After a failure only the list of the files that it read is valid.
static spy_status spyi_unit_open(spyi_unit *unit, const char *instead, spyi_text *error) {
    spyi_compiler *compiler = unit->compiler;
    spyi_text step = { NULL, 0, 0 };
    spyi_unit_opening o;
    memset(&o, 0, sizeof o);
    o.loading.unit = unit;
    uint32_t failed = spyi_failed_allocations();
    bool packed = !SPYI_HAS_COMPILER || compiler->packed;
    if (packed && instead) {
        spyi_text_add(error, "module '%s' comes from a pack, which takes no other text", unit->name);
        return SPY_ERROR_NO_COMPILER;
    }
    spy_status status = packed ? spyi_memo_recall_packed(unit, &o.messages, error)
                               : spyi_unit_content(&o.loading, instead, &o.content, error);
    // After a failed allocation the text may be cut off.
    status = spyi_check_allocations(failed, status, error);
    bool recalled = status == SPY_OK && (packed || spyi_memo_recall_unit(unit, &o.content, &o.messages));
    if (status == SPY_OK && !recalled) status = spyi_compiler_ready(compiler, error);
    spyi_text_add(&step, "load module %s", unit->name);
    if (recalled) {
        spyi_step(compiler->ctx, spyi_text_str(&step), false);
        spyi_step(compiler->ctx, spyi_text_str(&step), true);
    }
    if (recalled && o.messages.size)
        spyi_logf(compiler->ctx, SPY_LOG_LEVEL_WARNING, "module '%s':\n%s", unit->name, o.messages.data);
    if (status == SPY_OK && !recalled) {
        spyi_memo_recall_embedded(compiler);
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
            spyi_logf(compiler->ctx, SPY_LOG_LEVEL_WARNING, "module '%s':\n%s", unit->name,
                      spyi_text_str(&o.messages));
        }
    }
    if (status == SPY_OK && !recalled && !o.loading.notes.size) {
        spyi_memo_keep_unit(unit, &o.content, &o.messages);
        spyi_memo_keep_embedded(compiler);
    }
    if (o.loading.notes.size && status != SPY_OK) spyi_text_add(error, "\n%s", o.loading.notes.data);
    else if (o.loading.notes.size)
        spyi_logf(compiler->ctx, SPY_LOG_LEVEL_WARNING, "module '%s': %s", unit->name, o.loading.notes.data);
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

void spyi_unit_describe(const spyi_unit *unit, spyi_unit *const *link, spyi_unit_desc *desc) {
    memset(desc, 0, sizeof *desc);
    desc->path = unit->given_path;
    desc->name = unit->given_name;
    if (unit->has_given && unit->precompiled) {
        desc->precompiled = spyi_text_str(&unit->given);
        desc->precompiled_size = unit->given.size;
    } else if (unit->has_given) {
        desc->source = spyi_text_str(&unit->given);
        desc->source_size = unit->given.size;
    }
    desc->include_paths = (const char *const *)unit->include_paths;
    desc->include_path_count = unit->include_path_count;
    desc->defines = unit->defines;
    desc->define_count = unit->define_count;
    desc->link = link;
    desc->link_count = unit->link_count;
    desc->conformances = (const char *const *)unit->conformances;
    desc->conformance_count = unit->conformance_count;
    desc->options = unit->options;
    desc->trusted = unit->trusted;
    desc->appended = unit->appended;
}

spy_status spyi_unit_extend(spyi_unit *unit, const spy_define *define, const char *appended,
                            spyi_unit **extended, spyi_text *error) {
    spyi_unit_desc desc;
    *extended = NULL;
    if (unit->precompiled) {
        spyi_text_add(error, "module '%s' is precompiled; its text is needed", unit->name);
        return SPY_ERROR_UNSUPPORTED;
    }
    spyi_unit_describe(unit, unit->links, &desc);
    spy_define *defines = (spy_define *)spyi_calloc(desc.define_count + 1, sizeof *defines);
    if (!defines) return SPY_ERROR_OUT_OF_MEMORY;
    if (desc.define_count) memcpy(defines, desc.defines, desc.define_count * sizeof *defines);
    defines[desc.define_count++] = *define;
    desc.defines = defines;
    desc.appended = appended;
    spy_status status = spyi_unit_load(unit->compiler, &desc, extended, error);
    free(defines);
    return status;
}

spy_status spyi_unit_reload(spyi_unit *old, const char *source, spyi_unit *const *link, spyi_unit **fresh,
                            spyi_text *error) {
    spyi_unit_desc desc;
    spyi_unit_describe(old, link, &desc);
    if (source && old->has_given) {
        desc.source = source;
        desc.source_size = 0;
        desc.precompiled = NULL;
        desc.precompiled_size = 0;
    }
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
    if (SPYI_HAS_COMPILER) spyi_sl_live_close(unit->live);
    spyi_unit_free(unit);
}

const char *spyi_unit_name(const spyi_unit *unit) {
    return unit->name;
}

void spyi_unit_import_all(const spyi_unit *unit, spyi_text *out) {
    for (size_t i = 0; unit->imports && i < unit->module_count; ++i)
        if (unit->imports[i] && strcmp(unit->imports[i], unit->name) != 0)
            spyi_text_add(out, "import \"%s\";\n", unit->imports[i]);
}

bool spyi_unit_imports(const spyi_unit *unit, const char *name) {
    for (size_t i = 0; unit->imports && i < unit->module_count; ++i)
        if (unit->imports[i] && strcmp(unit->imports[i], name) == 0) return true;
    return false;
}

uint32_t spyi_unit_serial(const spyi_unit *unit) {
    return unit->serial;
}

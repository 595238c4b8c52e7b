// Compiles a generated kernel's text to the code that a driver takes.
#include "compiler/memo.h"
#include "compiler/target.h"

// Estimate of the memory in KiB that one kernel's module leaves in its session, measured with both Slang
// versions as resident memory over 300 kernels (tests/unit/test_compiler_code.c prints it).
enum { SPYI_SL_KERNEL_KIB = 700 };

// Lists the code's shader parameters and gives them the bindings that backends expect. On failure the code is
// freed.
static bool spyi_code_place(spyi_unit *unit, spyi_sl_live *live, spyi_sl_component *linked, spyi_code *code,
                            spyi_text *messages) {
    spyi_sl_blob *diagnostics = NULL;
    spyi_sl_binding *bindings = NULL;
    spyi_sl_layout *layout = linked->v->getLayout(linked, 0, &diagnostics);
    spyi_sl_blob_free(&diagnostics);
    bool good = layout && spyi_sl_find_inputs(unit, live, layout, &code->inputs, &bindings);
    if (!good) spyi_text_add(messages, "its shader parameters cannot be listed");
    else good = unit->compiler->target->place(code, bindings, messages);
    free(bindings);
    if (!good) spyi_code_free(code);
    return good;
}

static void spyi_code_take_literals(spyi_unit *unit, spyi_sl_component *linked, spyi_literals *literals) {
    spyi_sl_blob *diagnostics = NULL;
    spyi_sl_layout *layout = linked->v->getLayout(linked, 0, &diagnostics);
    spyi_sl_blob_free(&diagnostics);
    uint64_t count = layout ? SPYI_SL_FUNCTION(unit, spReflection_getHashedStringCount)(layout) : 0;
    for (uint64_t i = 0; i < count; i++) {
        size_t size = 0;
        const char *text = SPYI_SL_FUNCTION(unit, spReflection_getHashedString)(layout, i, &size);
        if (text)
            spyi_literals_add(literals, SPYI_SL_FUNCTION(unit, spComputeStringHash)(text, size), text, size);
    }
}

// Repairs the code, and logs a warning for each fault that cannot be repaired.
static void spyi_code_put_right(spyi_unit *unit, const char *kernel_name, spyi_code *code) {
    spyi_code_faults faults = { false, false };
    unit->compiler->target->mend(unit->compiler, code, &faults);
    code->warned = faults.additions || faults.saved;
    if (faults.additions)
        spyi_logf(unit->compiler->ctx, SPY_LOG_LEVEL_WARNING,
                  "kernel '%s': gradients of an array, vector or matrix that it reads at several indices "
                  "known at run time only may be "
                  "wrong: the derivatives of Slang %s lose all but one of the gradients where two of these "
                  "indices are equal, and "
                  "this code of it cannot be put right. Read them by a loop over all elements that picks "
                  "one, with [ForceUnroll]",
                  kernel_name, unit->compiler->library->version);
    if (!faults.saved) return;
    spyi_logf(unit->compiler->ctx, SPY_LOG_LEVEL_WARNING,
              "kernel '%s': gradients through its nested loops may be wrong: Slang %s mixes up what it saves "
              "of nested loops of "
              "different length (shader-slang/slang#13000), and this code of it cannot be put right. Move "
              "the inner loop into "
              "a [Differentiable] function of its own, or give the loops the same [MaxIters(n)]",
              kernel_name, unit->compiler->library->version);
}

// Returns whether the program's code has functions that Slang made as backward derivatives.
static bool spyi_code_has_derivative(spyi_unit *unit, spyi_sl_component *linked) {
    spyi_sl_blob *blob = NULL, *diagnostics = NULL;
    bool found = false;
    spyi_sl_begin_long();
    spyi_sl_result result = linked->v->getEntryPointCode(linked, 0, 0, &blob, &diagnostics);
    spyi_sl_end_long();
    spyi_sl_blob_free(&diagnostics);
    if (result >= 0 && blob)
        found = unit->compiler->target->has_derivative(blob->v->getBufferPointer(blob),
                                                       blob->v->getBufferSize(blob));
    spyi_sl_blob_free(&blob);
    return found;
}

// Replaces `linked` by the same program without spirv-opt if the program has derivatives. spirv-opt inlines
// all functions and drops their names, so target_spirv_saved.c and target_spirv_additions.c could not repair
// them. The driver still optimises the code.
static void spyi_code_keep_derivatives(spyi_unit *unit, spyi_sl_component *composite,
                                       spyi_sl_component **linked) {
    spyi_sl_option none = spyi_sl_no_optimization();
    spyi_sl_component *plain = NULL;
    spyi_sl_blob *diagnostics = NULL;
    if (!unit->compiler->target->optimizes(unit)) return;
    spyi_sl_begin_long();
    composite->v->linkWithOptions(composite, &plain, 1, &none, &diagnostics);
    spyi_sl_end_long();
    spyi_sl_blob_free(&diagnostics);
    if (plain && spyi_code_has_derivative(unit, plain)) {
        (*linked)->v->release(*linked);
        *linked = plain;
    } else if (plain) {
        plain->v->release(plain);
    }
}

static bool spyi_code_take(spyi_unit *unit, spyi_sl_live *live, spyi_sl_component *linked,
                           const char *kernel_name, spyi_code *code, spyi_text *messages) {
    spyi_sl_blob *blob = NULL, *hash = NULL, *diagnostics = NULL;
    if (!unit->compiler->target->prepare(unit, live, linked, messages)) return false;
    spyi_sl_begin_long();
    spyi_sl_result result = linked->v->getEntryPointCode(linked, 0, 0, &blob, &diagnostics);
    spyi_sl_end_long();
    spyi_sl_diagnostics(&diagnostics, NULL, NULL, messages);
    if (result >= 0 && blob) {
        code->size = blob->v->getBufferSize(blob);
        code->data = spyi_malloc(code->size + SPYI_CODE_ROOM * sizeof(uint32_t));
        if (code->data) {
            memcpy(code->data, blob->v->getBufferPointer(blob), code->size);
            spyi_code_put_right(unit, kernel_name, code);
            spyi_code_place(unit, live, linked, code, messages);
        }
        linked->v->getEntryPointHash(linked, 0, 0, &hash);
        if (hash && hash->v->getBufferSize(hash) >= sizeof code->hash)
            memcpy(code->hash, hash->v->getBufferPointer(hash), sizeof code->hash);
    }
    spyi_sl_blob_free(&hash);
    spyi_sl_blob_free(&blob);
    return code->data != NULL;
}

spyi_sl_component *spyi_sl_conformance(spyi_unit *unit, spyi_sl_live *live, const char *text,
                                       spyi_text *messages) {
    spyi_text names[2] = { { NULL, 0, 0 }, { NULL, 0, 0 } };
    spyi_sl_component *component = NULL;
    spyi_sl_blob *diagnostics = NULL;
    const char *colon = text;
    while (*colon && !(*colon == ':' && colon[1] != ':' && (colon == text || colon[-1] != ':'))) colon++;
    const char *equals = strchr(text, '=');
    long id = equals ? strtol(equals + 1, NULL, 10) : -1;
    size_t end = equals ? (size_t)(equals - text) : strlen(text);
    for (size_t i = 0; i < end; i++)
        if (text + i != colon && text[i] != ' ') spyi_text_add_n(&names[text + i > colon], text + i, 1);
    spyi_sl_type *type = spyi_sl_type_named(unit, live, spyi_text_str(&names[0]));
    spyi_sl_type *wanted = spyi_sl_type_named(unit, live, spyi_text_str(&names[1]));
    if (!type || !wanted) {
        spyi_text_add(messages, "conformance '%s': there is no type '%s'", text,
                      spyi_text_str(&names[type ? 1 : 0]));
    } else if (SPYI_SL_FUNCTION(unit, spReflectionType_GetKind)(wanted) != SPYI_SL_KIND_INTERFACE ||
               !SPYI_SL_FUNCTION(unit, spReflection_isSubType)(live->layout, type, wanted)) {
        spyi_text_add(messages, "conformance '%s': '%s' does not implement an interface '%s'", text,
                      spyi_text_str(&names[0]), spyi_text_str(&names[1]));
    } else {
        live->session->v->createTypeConformanceComponentType(live->session, type, wanted, &component, id,
                                                             &diagnostics);
        spyi_sl_diagnostics(&diagnostics, NULL, NULL, messages);
    }
    spyi_text_free(&names[0]);
    spyi_text_free(&names[1]);
    return component;
}

// Loads the source as a module, links it with its entry point, the linked modules and the conformances, and
// takes the code. Everything but the module is released again. Sets *refused when a function that the kernel
// differentiates has no derivative.
static bool spyi_code_compile(spyi_unit *unit, spyi_sl_live *live, const char *module_name, const char *path,
                              const char *source, const char *entry, spyi_entry *own,
                              spyi_conformances conformances, spyi_code *code, spyi_text *messages,
                              bool *refused) {
    spyi_sl_blob *diagnostics = NULL;
    spyi_sl_entry_point *entry_point = NULL;
    spyi_sl_component *composite = NULL, *linked = NULL;
    bool good = false;
    spyi_sl_session *session = live->session;
    spyi_text content = { (char *)(uintptr_t)source, strlen(source), 0 }, adapted = { NULL, 0, 0 };
    uint32_t failed = spyi_failed_allocations();
    bool adds = spyi_source_add_imports(unit->compiler, NULL, path, &content, &adapted);
    spyi_sl_module *module = NULL;
    if (spyi_failed_allocations() == failed) // after a failed allocation a part of the text would be loaded
                                             // under the module's name
        module = spyi_sl_load_source(session, module_name, path, adds ? spyi_text_str(&adapted) : source,
                                     &diagnostics);
    spyi_text_free(&adapted);
    spyi_sl_sources sources = { unit->compiler, path, &content };
    spyi_sl_diagnostics(&diagnostics, NULL, &sources, messages);
    if (!module) return false;
    spyi_text why = { NULL, 0, 0 };
    *refused = !spyi_sl_nested_derivatives(unit, live, module, source, &why);
    if (*refused) {
        spyi_text_clear(messages);
        spyi_text_add(messages, "%s", spyi_text_str(&why));
    }
    spyi_text_free(&why);
    if (*refused) return false;
    spyi_sl_module *holder = own ? live->module : module;
    spyi_sl_result result = holder->v->findAndCheckEntryPoint(
        holder, entry, spyi_sl_stage_number(own ? own->stage : 0), &entry_point, &diagnostics);
    spyi_sl_diagnostics(&diagnostics, NULL, NULL, messages);
    spyi_sl_component **parts = (spyi_sl_component **)spyi_calloc(
        conformances.count + live->conformance_count + live->link_count + 3, sizeof(spyi_sl_component *));
    uint32_t count = 0;
    bool conforming = parts != NULL; // conformances come first in `parts`, because they are released below
    for (uint32_t i = 0; conforming && i < conformances.count; ++i) {
        parts[count] = spyi_sl_conformance(unit, live, conformances.items[i], messages);
        conforming = parts[count] != NULL;
        if (conforming) count++;
    }
    uint32_t owned = count;
    if (result >= 0 && entry_point && conforming) {
        parts[count++] = (spyi_sl_component *)module;
        if (own) parts[count++] = (spyi_sl_component *)holder;
        parts[count++] = (spyi_sl_component *)entry_point;
        for (uint32_t i = 0; i < live->link_count; ++i) parts[count++] = live->links[i];
        for (uint32_t i = 0; i < live->conformance_count; ++i) parts[count++] = live->conformances[i];
        result = session->v->createCompositeComponentType(session, parts, count, &composite, &diagnostics);
        spyi_sl_diagnostics(&diagnostics, NULL, NULL, messages);
        if (result >= 0 && composite) {
            spyi_sl_begin_long();
            result = composite->v->link(composite, &linked, &diagnostics);
            spyi_sl_end_long();
            spyi_sl_diagnostics(&diagnostics, NULL, NULL, messages);
        }
        if (result >= 0 && linked) {
            spyi_code_keep_derivatives(unit, composite, &linked);
            good = spyi_code_take(unit, live, linked, module_name, code, messages);
        }
        if (good && own) spyi_sl_entry_places(unit, linked, own);
        if (good && unit->compiler->print) spyi_code_take_literals(unit, linked, &code->literals);
    }
    if (linked) linked->v->release(linked);
    if (composite) composite->v->release(composite);
    if (entry_point) entry_point->v->release(entry_point);
    for (uint32_t i = 0; i < owned; ++i) parts[i]->v->release(parts[i]);
    free(parts);
    return good;
}

spy_status spyi_unit_compile(spyi_unit *unit, const char *kernel_name, const char *source, const char *entry,
                             spyi_conformances conformances, spyi_code *code, spyi_text *error) {
    return spyi_unit_compile_own(unit, kernel_name, source, entry, NULL, conformances, code, error);
}

typedef struct spyi_code_task {
    const char *name, *source, *entry;
    spyi_entry *own;
    spyi_conformances conformances;
    spyi_code *code;
    spyi_text messages;
    bool good, refused; // refused: a function has no derivative
} spyi_code_task;

static bool spyi_code_try(spyi_unit *unit, spyi_sl_live *live, spyi_code_task *t, const char *name,
                          const char *source, spyi_text *messages) {
    spyi_text path = { NULL, 0, 0 };
    spyi_text_add(&path, "%s.slang", t->name);
    live->files.refused = false;
    bool good = spyi_code_compile(unit, live, name, spyi_text_str(&path), source, t->entry, t->own,
                                  t->conformances, t->code, messages, &t->refused);
    if (!good && live->files.refused) live->failed = true;
    spyi_text_free(&path);
    return good;
}

static void spyi_code_run(spyi_unit *unit, spyi_sl_live *live, void *context) {
    spyi_code_task *t = (spyi_code_task *)context;
    t->good = spyi_code_try(unit, live, t, t->name, t->source, &t->messages);
    if (t->good || t->refused || unit->module_count <= 1) return;
    live = spyi_sl_live_of(unit, SPYI_SL_KERNEL_KIB);
    if (!live) return;
    spyi_text name = { NULL, 0, 0 }, all = { NULL, 0, 0 }, ignored = { NULL, 0, 0 };
    spyi_unit_import_all(unit, &all);
    spyi_text_add(&all, "%s", t->source);
    spyi_text_add(&name, "%s_imports", t->name);
    t->good = spyi_code_try(unit, live, t, spyi_text_str(&name), spyi_text_str(&all), &ignored);
    if (t->good) spyi_text_clear(&t->messages); // otherwise the messages of the first attempt are shown
    spyi_text_free(&name);
    spyi_text_free(&all);
    spyi_text_free(&ignored);
}

typedef struct spyi_code_answer {
    spyi_code *code;
    bool named;      // the question has a hash of the kernel's text, because packs do not have the text
    spyi_entry *own; // the entry point of the user's module; NULL for a generated kernel
} spyi_code_answer;

static void spyi_code_fields(spyi_stream *r, void *answer) {
    spyi_code_answer *a = (spyi_code_answer *)answer;
    spyi_code *code = a->code;
    spyi_text data = { (char *)code->data, code->size, 0 };
    uint64_t prelude = code->prelude_size, id[2];
    if (r->out && a->named) {
        spyi_archive_code_name(code->data, code->size, id);
        data.data = (char *)id;
        data.size = sizeof id;
        prelude = 0;
    }
    spyi_stream_bytes(r, &data);
    spyi_stream_u64(r, &prelude);
    spyi_stream_raw(r, code->hash, sizeof code->hash);
    if (!r->out) {
        code->data = data.data;
        code->size = data.size;
        code->prelude_size = (size_t)prelude;
        (void)spyi_stream_expect(r, data.size && prelude <= data.size, "a kernel has no code");
    }
    spyi_inputs_fields(r, &code->inputs);
    spyi_literals_fields(r, &code->literals);
    if (a->own) spyi_entry_fields(r, a->own);
}

// Begins the question for the code of a kernel.
static void spyi_code_question(spyi_memo *m, spyi_unit *unit, const char *source, const char *entry,
                               const spyi_entry *own, spyi_conformances conformances) {
    spyi_memo_ask(m, unit, 'x', entry);
    spyi_memo_add_number(m, own != NULL);
    spyi_memo_add_text(m, source);
    for (uint32_t i = 0; i < conformances.count; i++) spyi_memo_add_text(m, conformances.items[i]);
}

spy_status spyi_unit_compile_own(spyi_unit *unit, const char *kernel_name, const char *source,
                                 const char *entry, spyi_entry *own, spyi_conformances conformances,
                                 spyi_code *code, spyi_text *error) {
    spyi_text name = { NULL, 0, 0 }, step = { NULL, 0, 0 };
    spyi_code_task t;
    spyi_memo m;
    spyi_code_answer answer = { code, unit->compiler->recording && unit->compiler->rules->is_text, own };
    spyi_entry before;
    if (own) before = *own;
    memset(code, 0, sizeof *code);
    memset(&t, 0, sizeof t);
    spyi_code_question(&m, unit, source, entry, own, conformances);
    if (!answer.named && spyi_memo_recall(&m, spyi_code_fields, &answer)) {
        (void)spyi_atomic_add(&unit->compiler->code_hits, 1);
        spyi_text_add(&step, "cached %s", kernel_name);
        spyi_step(unit->compiler->ctx, spyi_text_str(&step), false);
        spyi_step(unit->compiler->ctx, spyi_text_str(&step), true);
        spyi_text_free(&step);
        spyi_memo_end(&m);
        return SPY_OK;
    }
    spyi_code_free(code);
    if (own) *own = before; // removes the fields that were read of a damaged answer
    // The module's name contains a hash of its text, so the same text has the same name and the same code
    // hash.
    uint64_t id = spyi_hash(source, strlen(source), 0);
    spyi_text_add(&name, "%s_%016llx", kernel_name, (unsigned long long)id);
    spyi_text_add(&step, "compile %s", kernel_name);
    t.name = spyi_text_str(&name);
    t.source = source;
    t.entry = entry;
    t.own = own;
    t.conformances = conformances;
    t.code = code;
    spyi_step(unit->compiler->ctx, spyi_text_str(&step), false);
    spy_status status = spyi_sl_ask(unit, SPYI_SL_KERNEL_KIB, spyi_text_str(&step), spyi_code_run, &t, error);
    spyi_step(unit->compiler->ctx, spyi_text_str(&step), true);
    if (status == SPY_OK && t.refused) {
        status = SPY_ERROR_UNSUPPORTED;
        spyi_text_add(error, "%s", spyi_text_str(&t.messages));
    } else if (status == SPY_OK && !t.good) {
        status = SPY_ERROR_COMPILE;
        spyi_text_add(error, "kernel '%s' does not compile:\n%s", kernel_name, spyi_text_str(&t.messages));
    } else if (status == SPY_OK && t.messages.size) {
        spyi_logf(unit->compiler->ctx, SPY_LOG_LEVEL_DEBUG, "kernel '%s':\n%s", kernel_name,
                  spyi_text_str(&t.messages));
    }
    if (status == SPY_OK && m.unit) (void)spyi_atomic_add(&unit->compiler->code_misses, 1);
    if (status == SPY_OK && !code->warned) spyi_memo_keep(&m, spyi_code_fields, &answer);
    spyi_memo_end(&m);
    spyi_text_free(&name);
    spyi_text_free(&step);
    spyi_text_free(&t.messages);
    return status;
}

void spyi_code_free(spyi_code *code) {
    if (!code) return;
    free(code->data);
    spyi_inputs_free(&code->inputs);
    spyi_literals_free(&code->literals);
    memset(code, 0, sizeof *code);
}

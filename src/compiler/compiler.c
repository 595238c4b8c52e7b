// Compilers: the state that all units of a device share, and the library that the first unit opens.
#include "base/store.h"
#include "compiler/target.h"

// The functions that return a target's table, indexed by spyi_target.
static const spyi_code_target *(*const spyi_code_targets[SPYI_TARGET_COUNT])(void) = { spyi_code_spirv,
                                                                                       spyi_code_cuda };

SPYI_FN char **spyi_sl_copy_strings(const char *const *strings, size_t count) {
    char **copy = (char **)spyi_calloc(count ? count : 1, sizeof *copy);
    for (size_t i = 0; copy && i < count; ++i) copy[i] = spyi_strdup(strings[i] ? strings[i] : "");
    return copy;
}

SPYI_FN void spyi_sl_free_strings(char **strings, size_t count) {
    for (size_t i = 0; strings && i < count; ++i) free(strings[i]);
    free(strings);
}

spyi_compiler *spyi_compiler_create(spyi_context *ctx, spyi_types *types, const spyi_compiler_desc *desc) {
    uint32_t failed = spyi_failed_allocations();
    spyi_compiler *c = (spyi_compiler *)spyi_calloc(1, sizeof *c);
    if (!c) return NULL;
    c->ctx = ctx;
    c->types = types;
    c->rules = spyi_rules_of(desc->target);
    // A build without a compiler takes all code from a pack.
    c->target = SPYI_HAS_COMPILER ? spyi_code_targets[desc->target]() : NULL;
    c->mend_text = desc->mend_text;
    c->library_path = spyi_strdup(desc->library_path);
    c->library_paths = spyi_sl_copy_strings(desc->library_paths, desc->library_path_count);
    c->library_path_count = c->library_paths ? desc->library_path_count : 0;
    c->include_paths = spyi_sl_copy_strings(desc->include_paths, desc->include_path_count);
    c->include_path_count = c->include_paths ? desc->include_path_count : 0;
    c->embedded = desc->embedded;
    c->embedded_stored = (spyi_sl_stored *)spyi_calloc(desc->embedded_count + 1, sizeof(spyi_sl_stored));
    c->embedded_count = c->embedded_stored ? desc->embedded_count : 0;
    c->hook = desc->files;
    c->store = ctx->pack ? ctx->pack : ctx->store;
    c->recording = ctx->pack && spyi_archive_is_recording(spyi_store_pack(ctx->pack));
    c->packed = ctx->pack && !c->recording;
    for (size_t i = 0; i < c->embedded_count; ++i)
        for (const char *const *line = c->embedded[i].lines; *line; ++line)
            c->embedded_hash = spyi_hash(*line, strlen(*line), c->embedded_hash + i);
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
    if (SPYI_HAS_COMPILER && compiler->library) spyi_sl_release();
    spyi_sl_free_strings(compiler->include_paths, compiler->include_path_count);
    spyi_sl_stored_free(compiler->embedded_stored, compiler->embedded_count);
    spyi_sl_free_strings(compiler->library_paths, compiler->library_path_count);
    free(compiler->library_path);
    free(compiler);
}

uint64_t spyi_compiler_loads(const spyi_compiler *compiler) {
    return compiler ? (uint64_t)spyi_atomic_load((spyi_atomic *)(uintptr_t)&compiler->loads) : 0;
}

SPYI_FN uint32_t spyi_compiler_lacks(spyi_compiler *compiler) {
    return (uint32_t)spyi_atomic_load(&compiler->lacks);
}

SPYI_FN void spyi_compiler_counts(spyi_compiler *compiler, uint64_t *hits, uint64_t *misses) {
    *hits = (uint64_t)spyi_atomic_load(&compiler->code_hits);
    *misses = (uint64_t)spyi_atomic_load(&compiler->code_misses);
}

SPYI_FN void spyi_compiler_identity(const spyi_compiler *compiler, spyi_text *out) {
    spyi_global_lock();
    const spyi_sl_library *library = compiler ? compiler->library : NULL;
    spyi_global_unlock();
    if (library) spyi_text_add(out, "Slang %s", library->version);
}

SPYI_FN spy_status spyi_compiler_ready(spyi_compiler *c, spyi_text *error) {
    const spyi_sl_library *library = NULL;
    spyi_global_lock();
    bool ready = c->library != NULL;
    spyi_global_unlock();
    if (ready) return SPY_OK;
    spyi_step(c->ctx, "load compiler", false);
    spy_status status = spyi_sl_acquire(c->library_path, (const char *const *)c->library_paths,
                                        c->library_path_count, &library, error);
    spyi_step(c->ctx, "load compiler", true);
    if (status != SPY_OK) return status;
    spyi_global_lock();
    ready = c->library != NULL;
    c->library = library;
    spyi_global_unlock();
    if (ready) { // another thread has opened the library in the meantime
        spyi_sl_release();
        return SPY_OK;
    }
    spyi_atomic_add(&c->loads, 1);
    spyi_logf(c->ctx, SPY_LOG_LEVEL_INFO, "Slang compiler %s: %s", library->version, library->path);
    return SPY_OK;
}

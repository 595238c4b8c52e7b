// Finds and opens libslang, once in a process. Order of the search: design.md, "Finding the compiler".
#include "compiler/internal.h"

#if defined(_WIN32)
#define SPYI_SL_FILE_NAMES                                                                                   \
    { "slang-compiler.dll", "slang.dll" }
#elif defined(__APPLE__)
#define SPYI_SL_FILE_NAMES                                                                                   \
    { "libslang-compiler.dylib", "libslang-compiler.0.2026.14.1.dylib", "libslang.dylib" }
#else
#define SPYI_SL_FILE_NAMES                                                                                   \
    { "libslang-compiler.so", "libslang-compiler.so.0.2026.14.1", "libslang.so" }
#endif

// The opened library: a mutable global like the worker (worker.c), and guarded by the global lock as well.
static spyi_sl_library spyi_sl_the_library;

// The functions of the library by name. A table makes less code than a call for each function.
typedef struct spyi_sl_symbol {
    const char *name;
    size_t offset; // the offset of the function's member in spyi_sl_library
} spyi_sl_symbol;

#define SPYI_SL_SYMBOL(result, name, arguments) { #name, offsetof(spyi_sl_library, name) },
static const spyi_sl_symbol spyi_sl_symbols[] = { SPYI_SL_FUNCTIONS(SPYI_SL_SYMBOL) };
#undef SPYI_SL_SYMBOL

// Opens `path` and fills the table. On failure appends one line about the path to `tried` and leaves the
// table as it was.
static bool spyi_sl_open(const char *path, spyi_sl_library *library, spyi_text *tried) {
    void *handle = spyi_library_open(path);
    if (!handle) {
        spyi_text_add(tried, "  %s: %s\n", path, spyi_library_error());
        return false;
    }
    spyi_sl_library found;
    memset(&found, 0, sizeof found);
    const char *missing = NULL;
    for (size_t i = 0; i < sizeof spyi_sl_symbols / sizeof spyi_sl_symbols[0]; i++) {
        void *symbol = spyi_library_symbol(handle, spyi_sl_symbols[i].name);
        if (symbol) memcpy((char *)&found + spyi_sl_symbols[i].offset, &symbol, sizeof symbol);
        else if (!missing) missing = spyi_sl_symbols[i].name;
    }
    const char *version = found.spGetBuildTagString ? found.spGetBuildTagString() : NULL;
    if (missing) {
        if (version)
            spyi_text_add(tried, "  %s: is Slang %s, too old: it has no %s\n", path, version, missing);
        else
            spyi_text_add(tried, "  %s: is a library, but not Slang's compiler: it has no %s\n", path,
                          missing);
        spyi_library_close(handle);
        return false;
    }
    found.handle = handle;
    found.path = spyi_strdup(path);
    found.version = spyi_strdup(version ? version : "unknown");
    free(library->path);
    free(library->version);
    found.fork_count = library->fork_count;
    *library = found;
    return true;
}

static const char *const spyi_sl_file_names[] = SPYI_SL_FILE_NAMES;
#define SPYI_SL_FILE_NAME_COUNT (sizeof spyi_sl_file_names / sizeof spyi_sl_file_names[0])

// Opens the library that lies in `folder`.
static bool spyi_sl_open_in(const char *folder, spyi_sl_library *library, spyi_text *tried) {
    spyi_text file = { NULL, 0, 0 };
    bool found = false;
    for (size_t i = 0; i < SPYI_SL_FILE_NAME_COUNT && !found; ++i) {
        spyi_text_clear(&file);
        spyi_text_add(&file, "%s/%s", folder, spyi_sl_file_names[i]);
        if (spyi_file_exists(spyi_text_str(&file)))
            found = spyi_sl_open(spyi_text_str(&file), library, tried);
        else spyi_text_add(tried, "  %s: no such file\n", spyi_text_str(&file));
    }
    spyi_text_free(&file);
    return found;
}

static bool spyi_sl_search(const char *path, const char *const *places, size_t place_count,
                           spyi_sl_library *library, spyi_text *tried) {
    // A path that the user gave is the only one that is tried, so that there is no silent fallback.
    if (path) {
        spyi_text_add(tried, "  (the device's slang_library)\n");
        return spyi_sl_open(path, library, tried);
    }
    const char *named = getenv("SLANGPY_SLANG_LIBRARY");
    if (named && *named) {
        spyi_text_add(tried, "  (environment variable SLANGPY_SLANG_LIBRARY)\n");
        return spyi_sl_open(named, library, tried);
    }
    spyi_text folder = { NULL, 0, 0 };
    spyi_own_folder(&folder);
    bool found = folder.size && spyi_sl_open_in(spyi_text_str(&folder), library, tried);
    for (size_t i = 0; i < place_count && !found; ++i)
        found = spyi_file_exists(places[i]) ? spyi_sl_open(places[i], library, tried)
                                            : spyi_sl_open_in(places[i], library, tried);
    for (size_t i = 0; i < SPYI_SL_FILE_NAME_COUNT && !found; ++i)
        found = spyi_sl_open(spyi_sl_file_names[i], library, tried);
    spyi_text_free(&folder);
    return found;
}

// Looks for a library's file in `folder`.
static uint64_t spyi_sl_find_in(const char *folder, spyi_text *found) {
    uint64_t stamp = 0;
    for (size_t i = 0; i < SPYI_SL_FILE_NAME_COUNT && !stamp; ++i) {
        spyi_text_clear(found);
        spyi_text_add(found, "%s/%s", folder, spyi_sl_file_names[i]);
        stamp = spyi_library_stamp(spyi_text_str(found));
    }
    return stamp;
}

SPYI_FN uint64_t spyi_sl_find(const char *path, const char *const *places, size_t place_count,
                              spyi_text *found) {
    const char *named = path ? path : getenv("SLANGPY_SLANG_LIBRARY");
    if (named && *named) {
        spyi_text_add(found, "%s", named);
        return spyi_library_stamp(named);
    }
    spyi_text folder = { NULL, 0, 0 };
    spyi_own_folder(&folder);
    uint64_t stamp = folder.size ? spyi_sl_find_in(spyi_text_str(&folder), found) : 0;
    for (size_t i = 0; i < place_count && !stamp; ++i) {
        spyi_text_clear(found);
        spyi_text_add(found, "%s", places[i]);
        stamp = spyi_library_stamp(places[i]);
        if (!stamp) stamp = spyi_sl_find_in(places[i], found);
    }
    spyi_text_free(&folder);
    return stamp;
}

spy_status spyi_sl_acquire(const char *path, const char *const *places, size_t place_count,
                           const spyi_sl_library **result, spyi_text *error) {
    spyi_sl_library *library = &spyi_sl_the_library;
    spy_status status = SPY_OK;
    spyi_text tried = { NULL, 0, 0 };
    spyi_fork_watch();
    spyi_global_lock();
    // This process is a forked child, in which the parent's users and worker do not exist.
    if (library->fork_count != spyi_fork_count()) {
        library->fork_count = spyi_fork_count();
        library->users = 0;
        spyi_sl_worker_forget();
    }
    if (library->users > 0 && path && strcmp(path, library->path) != 0) {
        void *other = spyi_library_open(path); // another name of the same file gives the same handle
        if (other) spyi_library_close(other);
        if (other != library->handle) {
            spyi_text_add(error,
                          "the Slang compiler %s cannot be used: this process already uses %s (Slang %s), "
                          "and one process "
                          "uses one; give all devices the same slang_library",
                          path, library->path, library->version);
            status = SPY_ERROR_NO_COMPILER;
        }
    }
    const char *named = path ? path : getenv("SLANGPY_SLANG_LIBRARY");
    bool wanted =
        !library->handle || (library->users == 0 && named && *named && strcmp(named, library->path) != 0);
    if (status == SPY_OK && wanted && !spyi_sl_search(path, places, place_count, library, &tried)) {
        spyi_text_add(
            error,
            "the Slang compiler library cannot be opened. Tried:\n%sTo get it, run tools/setup, or, "
            "for Python, python -m slangpy.fetch_compiler, or "
            "python3 -m pip download --no-deps slangtorch==1.3.22 and unpack libslang-compiler "
            "from that wheel; then set "
            "SLANGPY_SLANG_LIBRARY or the device's slang_library to its path",
            spyi_text_str(&tried));
        status = SPY_ERROR_NO_COMPILER;
    }
    if (status == SPY_OK && !spyi_sl_worker_hire(library)) {
        spyi_text_add(error, "%s (Slang %s) cannot make a session", library->path, library->version);
        status = SPY_ERROR_NO_COMPILER;
    }
    if (status == SPY_OK) {
        library->users++;
        *result = library;
    }
    spyi_global_unlock();
    spyi_text_free(&tried);
    return status;
}

void spyi_sl_release(void) {
    spyi_sl_library *library = &spyi_sl_the_library;
    if (library->fork_count != spyi_fork_count()) return; // the users belong to the parent process
    spyi_global_lock();
    // slang_shutdown is never called: slang.h forbids new sessions after it, and a program may create another
    // device.
    if (library->users > 0 && --library->users == 0) spyi_sl_worker_dismiss();
    spyi_global_unlock();
}

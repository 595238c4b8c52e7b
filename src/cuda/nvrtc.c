// NVRTC, CUDA's compiler as a library: finds it, opens it, and runs one compilation. NVRTC needs its
// libnvrtc-builtins in the same folder, and no headers. Concurrent compilations need no lock.
#include "cuda/internal.h"

// These are results of NVRTC's functions. Source: nvrtc.h.
enum { SPYI_NVRTC_OK = 0, SPYI_NVRTC_BUILTINS = 7 };

// >>where NVRTC may be, in the order of the search

#if defined(_WIN32)
static const char *const spyi_nvrtc_names[] = { "nvrtc64_130_0.dll", "nvrtc64_120_0.dll",
                                                "nvrtc64_112_0.dll" };
// `spyi_nvrtc_toolkit` lists folders below $CUDA_PATH; the second array lists folders below the packages of a
// Python environment.
static const char *const spyi_nvrtc_toolkit[] = { "bin/x64", "bin" };
static const char *const spyi_nvrtc_wheels[] = { "nvidia/cu13/bin/x86_64", "nvidia/cuda_nvrtc/bin" };
#else
static const char *const spyi_nvrtc_names[] = { "libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so.11.2",
                                                "libnvrtc.so" };
static const char *const spyi_nvrtc_toolkit[] = { "lib64", "lib", "targets/x86_64-linux/lib" };
static const char *const spyi_nvrtc_wheels[] = { "nvidia/cu13/lib", "nvidia/cuda_nvrtc/lib" };
#endif
#define SPYI_COUNT(array) (sizeof(array) / sizeof((array)[0]))

// Opens a library and fills the table of its functions. On failure `tried` has the reason.
static bool spyi_nvrtc_load(const char *path, spyi_nvrtc *nvrtc, spyi_text *tried) {
    const char *missing = NULL;
    void *symbol;
    void *library = spyi_library_open(path);
    int count = 0;
    memset(nvrtc, 0, sizeof *nvrtc);
    if (library == NULL) {
        spyi_text_add(tried, "  %s: %s\n", path, spyi_library_error());
        return false;
    }
#define SPYI_NVRTC_LOAD(name, arguments)                                                                     \
    symbol = spyi_library_symbol(library, "nvrtc" #name);                                                    \
    if (symbol != NULL) memcpy(&nvrtc->name, &symbol, sizeof symbol);                                        \
    else if (missing == NULL) missing = "nvrtc" #name;
    SPYI_NVRTC_FUNCTIONS(SPYI_NVRTC_LOAD)
#undef SPYI_NVRTC_LOAD
    if (missing != NULL) {
        spyi_text_add(tried, "  %s: is a library, but not NVRTC of CUDA 11.2 or later: it has no %s\n", path,
                      missing);
        spyi_library_close(library);
        return false;
    }
    nvrtc->library = library;
    (void)snprintf(nvrtc->path, sizeof nvrtc->path, "%s", path);
    (void)nvrtc->Version(&nvrtc->major, &nvrtc->minor);
    if (nvrtc->GetNumSupportedArchs(&count) == SPYI_NVRTC_OK && count > 0 && count <= SPYI_NVRTC_MOST_ARCHS &&
        nvrtc->GetSupportedArchs(nvrtc->archs) == SPYI_NVRTC_OK)
        nvrtc->arch_count = count;
    return true;
}

// Loads a library and compiles an empty kernel, because a library without its builtins cannot compile.
static bool spyi_nvrtc_try(const char *path, spyi_nvrtc *nvrtc, spyi_text *tried) {
    spyi_text code = { NULL, 0, 0 }, log = { NULL, 0, 0 };
    bool good;
    if (!spyi_nvrtc_load(path, nvrtc, tried)) return false;
    good = nvrtc->arch_count > 0 && spyi_nvrtc_run(nvrtc, nvrtc->archs[nvrtc->arch_count - 1], false,
                                                   "__global__ void f() {}", "probe", NULL, 0, &code, &log);
    if (!good) spyi_text_add(tried, "  %s: cannot compile: %s\n", path, spyi_text_str(&log));
    spyi_text_free(&code);
    spyi_text_free(&log);
    if (!good) memset(nvrtc, 0, sizeof *nvrtc); // the library stays open, because it may have threads
    return good;
}

// Tries all library names in a folder. A folder without any of them adds one line to `tried`.
static bool spyi_nvrtc_in_folder(const char *folder, const char *below, spyi_nvrtc *nvrtc, spyi_text *tried) {
    size_t i;
    bool found = false, any = false;
    for (i = 0; i < SPYI_COUNT(spyi_nvrtc_names) && !found; i++) {
        spyi_text path = { NULL, 0, 0 };
        spyi_text_add(&path, "%s%s%s/%s", folder, below[0] != '\0' ? "/" : "", below, spyi_nvrtc_names[i]);
        if (spyi_file_exists(spyi_text_str(&path))) {
            any = true;
            found = spyi_nvrtc_try(spyi_text_str(&path), nvrtc, tried);
        }
        spyi_text_free(&path);
    }
    if (!any)
        spyi_text_add(tried, "  %s%s%s: has no %s or the like\n", folder, below[0] != '\0' ? "/" : "", below,
                      spyi_nvrtc_names[0]);
    return found;
}

static bool spyi_nvrtc_in_toolkit(spyi_nvrtc *nvrtc, spyi_text *tried) {
    static const char *const variables[] = { "CUDA_PATH", "CUDA_HOME" };
    size_t i, k;
    for (i = 0; i <= SPYI_COUNT(variables); i++) {
        const char *folder = i < SPYI_COUNT(variables) ? getenv(variables[i]) : "/usr/local/cuda";
        if (folder == NULL || folder[0] == '\0') continue;
        for (k = 0; k < SPYI_COUNT(spyi_nvrtc_toolkit); k++)
            if (spyi_nvrtc_in_folder(folder, spyi_nvrtc_toolkit[k], nvrtc, tried)) return true;
    }
    return false;
}

// Searches where pip installs nvidia-cuda-nvrtc: in an environment, for one user, for all users.
static bool spyi_nvrtc_in_python(spyi_nvrtc *nvrtc, spyi_text *tried) {
    static const char *const variables[] = { "VIRTUAL_ENV", "CONDA_PREFIX", "HOME", NULL, NULL };
    static const char *const roots[] = { "", "", "/.local", "/usr/local", "/usr" };
    static const char *const kinds[] = { "site-packages", "dist-packages" };
    size_t i, kind, k;
    int version;
    bool found = false;
    for (i = 0; i < SPYI_COUNT(roots) && !found; i++) {
        const char *root = variables[i] != NULL ? getenv(variables[i]) : "";
        if (root == NULL || (variables[i] != NULL && root[0] == '\0')) continue;
        for (version = 20; version >= 7 && !found; version--) {
            for (kind = 0; kind < 2 * SPYI_COUNT(spyi_nvrtc_wheels) && !found; kind++) {
                spyi_text folder = { NULL, 0, 0 };
                bool any = false;
                k = kind / 2;
#if defined(_WIN32)
                spyi_text_add(&folder, "%s%s/Lib/%s/%s", root, roots[i], kinds[kind % 2],
                              spyi_nvrtc_wheels[k]);
#else
                spyi_text_add(&folder, "%s%s/lib/python3.%d/%s/%s", root, roots[i], version, kinds[kind % 2],
                              spyi_nvrtc_wheels[k]);
#endif
                any = spyi_file_exists(spyi_text_str(&folder)); // missing folders are too many to list
                if (any) found = spyi_nvrtc_in_folder(spyi_text_str(&folder), "", nvrtc, tried);
                spyi_text_free(&folder);
            }
        }
        if (!found) spyi_text_add(tried, "  %s%s/lib/python3.*: no nvidia-cuda-nvrtc\n", root, roots[i]);
    }
    return found;
}

static bool spyi_nvrtc_search(spyi_nvrtc *nvrtc, spyi_text *tried) {
    spyi_text folder = { NULL, 0, 0 };
    size_t i;
    bool found = false;
    spyi_own_folder(&folder);
    if (folder.size > 0) found = spyi_nvrtc_in_folder(spyi_text_str(&folder), "", nvrtc, tried);
    spyi_text_free(&folder);
    // The system's search also finds a library that torch has loaded.
    for (i = 0; i < SPYI_COUNT(spyi_nvrtc_names) && !found; i++)
        found = spyi_nvrtc_try(spyi_nvrtc_names[i], nvrtc, tried);
    return found || spyi_nvrtc_in_toolkit(nvrtc, tried) || spyi_nvrtc_in_python(nvrtc, tried);
}

SPYI_FN spy_status spyi_nvrtc_open(const char *path, spyi_nvrtc *nvrtc, spyi_text *error) {
    spyi_text tried = { NULL, 0, 0 };
    const char *named = getenv("SLANGPY_NVRTC_LIBRARY");
    bool found;
    if (path != NULL) { // an explicit path is the only one tried; the library never falls back silently
        spyi_text_add(&tried, "  (the desc's nvrtc_library)\n");
        found = spyi_nvrtc_try(path, nvrtc, &tried);
    } else if (named != NULL && named[0] != '\0') {
        spyi_text_add(&tried, "  (environment variable SLANGPY_NVRTC_LIBRARY)\n");
        found = spyi_nvrtc_try(named, nvrtc, &tried);
    } else {
        found = spyi_nvrtc_search(nvrtc, &tried);
    }
    if (!found)
        spyi_text_add(
            error,
            "CUDA's compiler library NVRTC cannot be opened. Tried:\n%sTo get it, run python3 -m pip install "
            "nvidia-cuda-nvrtc (or nvidia-cuda-nvrtc-cu12 for drivers of CUDA 12), or set "
            "SLANGPY_NVRTC_LIBRARY or spy_cuda_desc.nvrtc_library to its path",
            spyi_text_str(&tried));
    spyi_text_free(&tried);
    return found ? SPY_OK : SPY_ERROR_NO_COMPILER;
}

// >>once in a process

// The libraries that were found, by the name that was searched for; guarded by the global lock. Libraries
// beyond the array's size, or with longer names, are searched for again.
static struct {
    char name[512];
    spyi_nvrtc nvrtc;
} spyi_nvrtc_found[4];
static uint32_t spyi_nvrtc_found_count;

// Returns the path that spyi_nvrtc_open(path) would open, or "" when it would search.
static const char *spyi_nvrtc_name(const char *path) {
    const char *named = getenv("SLANGPY_NVRTC_LIBRARY");
    return path != NULL ? path : named != NULL ? named : "";
}

static bool spyi_nvrtc_look_up(const char *name, spyi_nvrtc *nvrtc) {
    uint32_t i;
    for (i = 0; i < spyi_nvrtc_found_count; i++) {
        if (strcmp(spyi_nvrtc_found[i].name, name) != 0) continue;
        *nvrtc = spyi_nvrtc_found[i].nvrtc;
        return true;
    }
    return false;
}

SPYI_FN bool spyi_nvrtc_is_found(const char *path, spyi_nvrtc *nvrtc) {
    bool found;
    spyi_global_lock();
    found = spyi_nvrtc_look_up(spyi_nvrtc_name(path), nvrtc);
    spyi_global_unlock();
    return found;
}

SPYI_FN spy_status spyi_nvrtc_find(const char *path, spyi_nvrtc *nvrtc, spyi_text *error) {
    const char *name = spyi_nvrtc_name(path);
    spyi_nvrtc other;
    spy_status status;
    if (spyi_nvrtc_is_found(path, nvrtc)) return SPY_OK;
    status = spyi_nvrtc_open(path, nvrtc, error);
    if (status != SPY_OK || strlen(name) >= sizeof spyi_nvrtc_found[0].name) return status;
    spyi_global_lock();
    if (!spyi_nvrtc_look_up(name, &other) && spyi_nvrtc_found_count < SPYI_COUNT(spyi_nvrtc_found)) {
        (void)snprintf(spyi_nvrtc_found[spyi_nvrtc_found_count].name, sizeof spyi_nvrtc_found[0].name, "%s",
                       name);
        spyi_nvrtc_found[spyi_nvrtc_found_count++].nvrtc = *nvrtc;
    }
    spyi_global_unlock();
    return SPY_OK;
}

// >>compiling

static bool spyi_nvrtc_take(int (*size_of)(void *, size_t *), int (*get)(void *, char *), void *program,
                            spyi_text *out) {
    size_t size = 0;
    char *data;
    bool good;
    if (size_of(program, &size) != SPYI_NVRTC_OK || size == 0) return false;
    data = (char *)spyi_malloc(size + 1);
    if (data == NULL) return false;
    good = get(program, data) == SPYI_NVRTC_OK;
    if (good) spyi_text_add_n(out, data, size);
    free(data);
    return good;
}

// Returns the newest architecture up to `arch` that this NVRTC supports; 0 when it supports none.
static int spyi_nvrtc_arch(const spyi_nvrtc *nvrtc, int arch) {
    int i, best = 0;
    for (i = 0; i < nvrtc->arch_count; i++)
        if (nvrtc->archs[i] <= arch && nvrtc->archs[i] > best) best = nvrtc->archs[i];
    return best;
}

SPYI_FN bool spyi_nvrtc_run(const spyi_nvrtc *nvrtc, int arch, bool portable, const char *source,
                            const char *name, const char *const *options, int option_count, spyi_text *code,
                            spyi_text *log) {
    const char *all[16];
    char target[64];
    void *program = NULL;
    int i, result, known = spyi_nvrtc_arch(nvrtc, arch);
    bool good, exact = known == arch && !portable;
    if (known == 0) {
        spyi_text_add(log, "NVRTC %d.%d makes no code for compute capability %d.%d: an older one does",
                      nvrtc->major, nvrtc->minor, arch / 10, arch % 10);
        return false;
    }
    // For a device that is newer than the compiler, the result is PTX, which the driver translates. Otherwise
    // it is a cubin. From NVRTC 12 on it is made for this very architecture, so that it may use instructions
    // that no other has (wgmma of sm_90a).
    (void)snprintf(target, sizeof target, "-arch=%s_%d%s", exact ? "sm" : "compute", known,
                   exact && known >= 90 && nvrtc->major >= 12 ? "a" : "");
    all[0] = target;
    for (i = 0; i < option_count && i < 15; i++) all[i + 1] = options[i];
    if (nvrtc->CreateProgram(&program, source, name, 0, NULL, NULL) != SPYI_NVRTC_OK) {
        spyi_text_add(log, "nvrtcCreateProgram failed");
        return false;
    }
    result = nvrtc->CompileProgram(program, i + 1, all);
    if (result == SPYI_NVRTC_OK)
        good = exact ? spyi_nvrtc_take(nvrtc->GetCUBINSize, nvrtc->GetCUBIN, program, code)
                     : spyi_nvrtc_take(nvrtc->GetPTXSize, nvrtc->GetPTX, program, code);
    else good = false;
    if (!good) {
        spyi_text words = { NULL, 0, 0 };
        (void)spyi_nvrtc_take(nvrtc->GetProgramLogSize, nvrtc->GetProgramLog, program, &words);
        spyi_text_add(log, "%s%s", spyi_text_str(&words),
                      words.size < 2 ? "nvrtcCompileProgram failed without a word" : "");
        if (result == SPYI_NVRTC_BUILTINS)
            spyi_text_add(log, "; libnvrtc-builtins belongs beside %s", nvrtc->path);
        spyi_text_free(&words);
    }
    (void)nvrtc->DestroyProgram(&program);
    return good;
}

// Opens the CUDA driver and describes its errors as text.
#include "cuda/internal.h"

#if defined(_WIN32)
#define SPYI_CU_PATHS                                                                                        \
    { "nvcuda.dll" }
#else
// First the system's search, then the folders of containers and WSL.
#define SPYI_CU_PATHS                                                                                        \
    {                                                                                                        \
        "libcuda.so.1", "/usr/lib/x86_64-linux-gnu/libcuda.so.1", "/usr/lib64/libcuda.so.1",                 \
            "/usr/lib/wsl/lib/libcuda.so.1", "/usr/local/nvidia/lib64/libcuda.so.1"                          \
    }
#endif

static bool spyi_cu_open_at(const char *path, spyi_cu_driver *cu, spyi_text *tried) {
    const char *missing = NULL;
    void *symbol;
    memset(cu, 0, sizeof *cu);
    cu->library = spyi_library_open(path);
    if (cu->library == NULL) {
        spyi_text_add(tried, "  %s: %s\n", path, spyi_library_error());
        return false;
    }
#define SPYI_CU_LOAD(name, symbol_name, arguments)                                                           \
    symbol = spyi_library_symbol(cu->library, symbol_name);                                                  \
    if (symbol != NULL) memcpy(&cu->name, &symbol, sizeof symbol);                                           \
    else if (missing == NULL) missing = symbol_name;
    SPYI_CU_FUNCTIONS(SPYI_CU_LOAD)
#undef SPYI_CU_LOAD
    if (missing == NULL) return true;
    spyi_text_add(tried, "  %s: is %s: it has no %s\n", path,
                  cu->DriverGetVersion != NULL ? "too old a CUDA driver" : "a library, but not CUDA's driver",
                  missing);
    spyi_library_close(cu->library);
    memset(cu, 0, sizeof *cu);
    return false;
}

SPYI_FN spy_status spyi_cu_open(const char *path, spyi_cu_driver *cu, spyi_text *error) {
    static const char *const paths[] = SPYI_CU_PATHS;
    size_t i, count = path != NULL ? 1 : sizeof paths / sizeof paths[0];
    spyi_text tried = { NULL, 0, 0 };
    spyi_cu_result result;
    bool found = false;
    for (i = 0; i < count && !found; i++) found = spyi_cu_open_at(path != NULL ? path : paths[i], cu, &tried);
    if (!found)
        spyi_text_add(
            error,
            "the CUDA driver cannot be opened. Tried:\n%sIt comes with NVIDIA's driver (libcuda.so.1 "
            "or nvcuda.dll), not with the toolkit",
            spyi_text_str(&tried));
    spyi_text_free(&tried);
    if (!found) return SPY_ERROR_NO_DEVICE;
    (void)cu->DriverGetVersion(&cu->version);
    if (cu->version < SPYI_CU_LEAST_VERSION) {
        spyi_text_add(error, "the CUDA driver is of CUDA %d.%d, CUDA %d.%d is the least that is needed",
                      cu->version / 1000, cu->version % 1000 / 10, SPYI_CU_LEAST_VERSION / 1000,
                      SPYI_CU_LEAST_VERSION % 1000 / 10);
        return SPY_ERROR_NO_DEVICE;
    }
    result = cu->Init(0);
    if (result == SPYI_CU_OK) return SPY_OK;
    spyi_cu_say(cu, result, "cuInit", error);
    if (result == SPYI_CU_NO_DEVICE) spyi_text_add(error, "; CUDA_VISIBLE_DEVICES may hide devices");
    return SPY_ERROR_NO_DEVICE;
}

SPYI_FN void spyi_cu_say(const spyi_cu_driver *cu, spyi_cu_result result, const char *what,
                         spyi_text *error) {
    const char *name = NULL, *text = NULL;
    (void)cu->GetErrorName(result, &name);
    (void)cu->GetErrorString(result, &text);
    spyi_text_add(error, "%s gave %s (%d): %s", what, name != NULL ? name : "an unknown error", result,
                  text != NULL ? text : "");
}

// Finding the driver of this folder, and what its tests say of results; behind spy_test.h.
#ifndef FAKE_DEVICE_H
#define FAKE_DEVICE_H

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "fake_cuda.h"

// Its path: fake_cuda.so lies beside the folder of the test's program.
static inline const char *fake_cuda_path(const char *program) {
    static char path[512];
    char folder[256] = "";
    const char *slash = strrchr(program, '/');
    // dlopen searches for names without a slash
    if (program[0] != '/' && !getcwd(folder, sizeof folder)) folder[0] = '\0';
    (void)snprintf(path, sizeof path, "%s%s%.*s/../fake_cuda.so", folder, folder[0] ? "/" : "",
                   slash ? (int)(slash - program) : 1, slash ? program : ".");
    return path;
}

// What it counts and is told. NULL: it cannot be opened.
static inline fake_cuda *fake_cuda_state_at(const char *path) {
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL),
         *symbol = library ? dlsym(library, "fake_cuda_state") : NULL;
    fake_cuda *(*get)(void);
    if (!symbol) return NULL;
    memcpy(&get, &symbol, sizeof symbol);
    return get();
}

static inline void fake_good(spy_device *device, spy_status status, int line) {
    if (status == SPY_OK) return;
    print_error("line %d: %s\n", line, spy_take_error(device).message);
    fail();
}

static inline void fake_fails(spy_device *device, spy_status status, spy_status code, const char *word, const char *more,
                              int line) {
    spy_error e = spy_take_error(device);
    if (status == code && e.code == code && strstr(e.message, word) && strstr(e.message, more)) return;
    print_error("line %d: expected '%s' with '%s' and '%s', got '%s': %s\n", line, spy_status_text(code), word, more,
                spy_status_text(status), e.message ? e.message : "");
    fail();
}

#endif // FAKE_DEVICE_H

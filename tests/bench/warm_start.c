// One start of a program, for tests/bench/warm_start: makes a device, loads a module from the file that is the second argument, and
// calls it. Prints milliseconds since main() began, since the device was there, and whether this process has opened libslang or NVRTC.
//
// warm_start vk|cuda MODULE.slang CACHE|@PACK
#define _POSIX_C_SOURCE 200809L
#include "slangpy_cuda.h"
#include "slangpy_vk.h"
#include <stdio.h>
#include <string.h>
#include <time.h>

static double now_ms(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

// Whether a file whose path contains `name` is mapped.
static bool mapped(const char *name) {
    char line[4096];
    bool found = false;
    FILE *maps = fopen("/proc/self/maps", "r");
    while (maps && fgets(line, sizeof line, maps)) found = found || strstr(line, name);
    if (maps) fclose(maps);
    return found;
}

int main(int count, char **words) {
    enum { N = 1024 };
    static float x[N], y[N], back[N];
    double start = now_ms();
    if (count != 4) return 2;
    bool cuda = strcmp(words[1], "cuda") == 0;
    spy_device_desc d = { .backend = cuda ? spy_cuda_backend() : spy_vk_backend(), .cache_path = words[3] };
    if (words[3][0] == '@') d.cache_path = NULL, d.pack = words[3] + 1;
    spy_device *device = spy_create_device(&d);
    double created = now_ms();
    spy_module *m = spy_load_module(device, &(spy_module_desc){ .path = words[2] });
    spy_function *f = spy_find_function(m, "add");
    double found = now_ms();
    for (int i = 0; i < N; i++) x[i] = (float)i, y[i] = 2 * (float)i;
    spy_tensor *a = spy_create_tensor(device, &(spy_tensor_desc){ .shape = SPY_SHAPE(N), .data = x });
    spy_tensor *b = spy_create_tensor(device, &(spy_tensor_desc){ .shape = SPY_SHAPE(N), .data = y });
    spy_tensor *o = spy_create_tensor(device, &(spy_tensor_desc){ .shape = SPY_SHAPE(N) });
    spy_call(f, SPY_ARGS(spy_arg_tensor(NULL, a), spy_arg_tensor(NULL, b), spy_arg_tensor("_result", o)));
    spy_tensor_read(o, back, sizeof back);
    double done = now_ms();
    spy_error error = spy_take_error(device);
    bool right = error.code == SPY_OK;
    for (int i = 0; right && i < N; i++) right = back[i] == 3 * (float)i;
    spy_device_stats s = spy_get_device_stats(device);
    printf("{\"device_ms\": %.2f, \"module_ms\": %.2f, \"call_ms\": %.2f, \"after_device_ms\": %.2f, \"right\": %s, \"compiler_loads\": %d, "
           "\"hits\": %d, \"misses\": %d, \"libslang\": %s, \"nvrtc\": %s, \"device\": \"%s\"}\n",
           created - start, found - created, done - found, done - created, right ? "true" : "false", (int)s.compiler_loads, (int)s.cache_hits,
           (int)s.cache_misses, mapped("libslang") ? "true" : "false", mapped("nvrtc") ? "true" : "false", spy_get_device_info(device).name);
    if (!right) fprintf(stderr, "%s\n", error.code == SPY_OK ? "wrong result" : error.message);
    spy_release_device(device);
    return !right;
}

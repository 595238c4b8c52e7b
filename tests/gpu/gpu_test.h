// What the tests of this folder share: the device under test, short checks, and modules from text.
//
// SPY_TEST_BACKEND: vulkan (default) or cuda. SPY_TEST_ADAPTER: part of the adapter's name, as spy_device_desc.adapter_name; default: the library's own choice.
// Each test runs on a thread of its own, as libslang and drivers keep state of the thread that opened them.
// SPY_TEST_THREADS=0: all on the main thread. SPY_TEST_BLOBS: a folder that keeps CUDA kernels for the next run (blobs.h).
#ifndef GPU_TEST_H
#define GPU_TEST_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE // mkdtemp, environ
#endif
#include "spy_test.h"

#include <dirent.h>
#include <pthread.h>
#include <spawn.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>
#include <time.h>

// >>checks

// The device whose errors gpu_ok() prints.
extern spy_device *gpu_device;

static inline void gpu_ok(spy_status status, const char *what, const char *file, int line) {
    if (status == SPY_OK) return;
    spy_error e = spy_take_error(gpu_device);
    print_error("%s\n    gave %s: %s\n", what, spy_status_text(status), e.code != SPY_OK ? e.message : spy_take_error(NULL).message);
    _fail(file, line);
}

// A call that must succeed.
#define OK(expression) gpu_ok((expression), #expression, __FILE__, __LINE__)

static inline void *gpu_made(void *object, const char *what, const char *file, int line) {
    if (!object) {
        spy_error e = spy_take_error(gpu_device);
        print_error("%s\n    gave NULL: %s\n", what, e.code != SPY_OK ? e.message : spy_take_error(NULL).message);
        _fail(file, line);
    }
    return object;
}

// An object that must be made.
#define MADE(type, expression) ((type *)gpu_made((expression), #expression, __FILE__, __LINE__))

// The device's pending error has this code and its text holds all of the given words; it is taken away.
static inline void gpu_error_is(spy_device *device, spy_status code, const char *const *words, const char *file, int line) {
    spy_error e = spy_take_error(device);
    bool good = e.code == code;
    for (; *words; words++) {
        if (e.message && strstr(e.message, *words)) continue;
        print_error("the message lacks '%s'\n", *words);
        good = false;
    }
    if (good) return;
    print_error("expected '%s', got %d '%s'\n    text: %s\n", spy_status_text(code), (int)e.code, spy_status_text(e.code),
                e.message ? e.message : "(null)");
    _fail(file, line);
}

#define ERROR_ON(device, code, ...)                                                                           \
    do {                                                                                                      \
        const char *const gpu_words[] = { __VA_ARGS__, NULL };                                                \
        gpu_error_is((device), (code), gpu_words, __FILE__, __LINE__);                                        \
    } while (0)

// `expression` gives `code`, and the device's error says so in these words.
#define FAILS(code, expression, ...)                                                                          \
    do {                                                                                                      \
        spy_status gpu_status = (expression);                                                                 \
        if (gpu_status != (code)) {                                                                           \
            print_error("%s\n    gave '%s', expected '%s'\n    text: %s\n", #expression, spy_status_text(gpu_status),   \
                        spy_status_text(code), spy_take_error(gpu_device).message);                           \
            _fail(__FILE__, __LINE__);                                                                        \
        }                                                                                                     \
        ERROR_ON(gpu_device, code, __VA_ARGS__);                                                              \
    } while (0)

// A test that needs the device: skipped without one.
#define NEEDS_DEVICE()                                                                                        \
    do {                                                                                                      \
        (void)state;                                                                                          \
        if (!gpu_device) {                                                                                    \
            print_message("skipped: no device\n");                                                            \
            skip();                                                                                           \
        }                                                                                                     \
    } while (0)

// >>devices and modules

static inline void gpu_log(spy_log_level level, const char *message, void *user) {
    (void)user;
    if (getenv("SPY_TEST_LOG")) spy_log_stderr(level, message, NULL);
}

// tests/cuda/compile_only.c, when it is linked: a device that compiles and does not run.
__attribute__((weak)) void gpu_other_backend(spy_device_desc *desc);

// tests/common/implementation.c: the CUDA backend with kernels kept between runs (blobs.h).
__attribute__((weak)) const spy_backend *gpu_keep_blobs(const spy_backend *backend);

// There, too, and in compile_only.c: keeps libslang's global session while no device has it, or lets it go.
__attribute__((weak)) void gpu_hold_slang(bool hold);

// There, too: calls of at least this many elements go tile by tile, where arguments lie across each other. Dispatches of more
// than `most_groups` groups in a row are folded.
__attribute__((weak)) void gpu_tiles_from(spy_device *device, uint64_t elements, uint32_t most_groups);

// Group setup and teardown for programs whose tests make a device each: the last device that goes closes the process's one global
// session, and a new one costs 0.3 s of CPU.
static inline int gpu_hold(void **state) {
    (void)state;
    if (gpu_hold_slang) gpu_hold_slang(true);
    return 0;
}
static inline int gpu_let_go(void **state) {
    (void)state;
    if (gpu_hold_slang) gpu_hold_slang(false);
    return 0;
}

static inline bool gpu_is_cuda(void) {
    const char *backend = getenv("SPY_TEST_BACKEND");
    return gpu_other_backend != NULL || (backend && strcmp(backend, "cuda") == 0);
}

// The kernels of CUDA are compiled only (tests/cuda/compile_only.c), by a backend that passes no textures to them.
static inline bool gpu_has_textures(void) { return gpu_other_backend == NULL; }

static inline spy_device_desc gpu_desc(void) {
    spy_device_desc d;
    memset(&d, 0, sizeof d);
    d.backend = gpu_is_cuda() ? spy_cuda_backend() : spy_vk_backend();
    d.adapter_name = getenv("SPY_TEST_ADAPTER");
    d.log.func = gpu_log;
    d.enable_validation = getenv("SPY_TEST_VALIDATION") != NULL;
    d.dump_directory = getenv("SPY_TEST_DUMP"); // tests/kernels/run
    if (gpu_keep_blobs && getenv("SPY_TEST_BLOBS")) d.backend = gpu_keep_blobs(d.backend);
    if (gpu_other_backend) gpu_other_backend(&d);
    return d;
}

// The device of the program, or NULL when there is none: then tests skip().
static inline spy_device *gpu_open(const spy_device_desc *desc) {
    static bool told;
    spy_device *device = spy_create_device(desc);
    if (!device) {
        print_message("no device: %s\n", spy_take_error(NULL).message);
    } else if (!told) {
        spy_device_info info = spy_get_device_info(device);
        print_message("device: %s, %s, %s\n", info.name, info.driver, info.backend);
        told = true;
    }
    return device;
}

static inline spy_module *gpu_module(spy_device *device, const char *name, const char *source) {
    spy_module_desc d;
    memset(&d, 0, sizeof d);
    d.name = name;
    d.source = source;
    return spy_load_module(device, &d);
}

// A file beside this test's source.
static inline const char *gpu_path(const char *source_file, const char *name, char *path, size_t capacity) {
    const char *slash = strrchr(source_file, '/');
    snprintf(path, capacity, "%.*s%s", slash ? (int)(slash - source_file + 1) : 0, source_file, name);
    return path;
}

// Loads the module of a file beside this test's source.
static inline spy_module *gpu_module_file(spy_device *device, const char *source_file, const char *name) {
    char path[512];
    spy_module_desc d;
    memset(&d, 0, sizeof d);
    d.path = gpu_path(source_file, name, path, sizeof path);
    return spy_load_module(device, &d);
}

// Opens gpu_device and loads the module of a file beside this test's source. 0: good, also where there is no device; each test then
// says that it is skipped.
static inline int gpu_setup_file(const char *source_file, const char *name, spy_module **module) {
    spy_device_desc d = gpu_desc();
    gpu_device = gpu_open(&d);
    if (!gpu_device) return 0;
    *module = gpu_module_file(gpu_device, source_file, name);
    if (!*module) print_error("%s\n", spy_take_error(gpu_device).message);
    return *module ? 0 : -1;
}

static inline spy_shape gpu_rank0(void) {
    spy_shape s;
    memset(&s, 0, sizeof s);
    return s;
}

static inline spy_tensor *gpu_tensor(spy_device *device, spy_dtype dtype, const char *type, spy_module *module, spy_shape shape,
                                     const void *data) {
    spy_tensor_desc d;
    memset(&d, 0, sizeof d);
    d.shape = shape;
    d.dtype = dtype;
    d.type = type;
    d.module = module;
    d.data = data;
    return spy_create_tensor(device, &d);
}

// Where a test's device writes its kernels: SPY_TEST_DUMP, or a folder of the program's own, made when it is first asked for.
static inline char *gpu_dump_folder(void) {
    static char folder[512];
    const char *given = getenv("SPY_TEST_DUMP");
    if (folder[0]) return folder;
    snprintf(folder, sizeof folder, "%s", given ? given : "/tmp/spy_gpu_XXXXXX");
    if (!given && !mkdtemp(folder)) folder[0] = 0;
    return folder;
}

// Removes the program's own folder, unless SPY_TEST_KEEP is set. 0: good.
static inline int gpu_dump_remove(void) {
    char command[600];
    if (getenv("SPY_TEST_DUMP")) return 0;
    if (getenv("SPY_TEST_KEEP")) {
        print_message("kept: %s\n", gpu_dump_folder());
        return 0;
    }
    snprintf(command, sizeof command, "rm -rf %s", gpu_dump_folder());
    return system(command);
}

// Opens gpu_device, which writes its kernels to gpu_dump_folder(), and loads a module of this text. 0: good, also where there is
// no device; *module is NULL then.
static inline int gpu_setup_dumped(const char *name, const char *source, spy_module **module) {
    spy_device_desc d = gpu_desc();
    d.dump_directory = gpu_dump_folder();
    gpu_device = gpu_open(&d);
    if (!gpu_device) return 0;
    *module = gpu_module(gpu_device, name, source);
    if (!*module) print_error("%s\n", spy_take_error(gpu_device).message);
    return *module ? 0 : -1;
}

// The teardown of a program whose device writes its kernels.
static inline int gpu_teardown_dumped(void **state) {
    (void)state;
    spy_release_device(gpu_device);
    return gpu_dump_remove();
}

// Every SPIR-V of a dump folder, more than `least` files, through spirv-val; skips where SPIRV_VAL does not name it.
static inline void gpu_check_spirv(const char *folder_path, size_t least) {
    const char *val = getenv("SPIRV_VAL");
    if (!val || access(val, X_OK) != 0) {
        print_message("skipped: SPIRV_VAL does not name spirv-val; the generated SPIR-V is NOT checked\n");
        skip();
    }
    DIR *folder = opendir(folder_path);
    size_t files = 0, bad = 0;
    assert_non_null(folder);
    for (struct dirent *e = readdir(folder); e; e = readdir(folder)) {
        size_t length = strlen(e->d_name);
        char path[600];
        if (length < 4 || strcmp(e->d_name + length - 4, ".spv") != 0) continue;
        snprintf(path, sizeof path, "%s/%s", folder_path, e->d_name);
        files++;
        // fork() would copy the page tables of a program that holds libslang and LLVM, for each kernel.
        const char *words[] = { val, "--target-env", "vulkan1.3", "--scalar-block-layout", path, NULL };
        char *arguments[6];
        memcpy(arguments, words, sizeof words);
        pid_t child;
        int result = -1;
        if (posix_spawn(&child, val, NULL, NULL, arguments, environ) == 0) waitpid(child, &result, 0);
        if (result != 0) print_error("not valid: %s\n", path);
        bad += result != 0;
    }
    closedir(folder);
    print_message("%zu kernels through spirv-val, %zu not valid\n", files, bad);
    assert_true(files > least);
    assert_int_equal(bad, 0);
}

// >>threads

// A cmocka group of one test. cmocka's own state is the thread's, so a whole run of it goes there.
typedef struct gpu_fresh_test {
    const char *name;
    const struct CMUnitTest *test;
    int failed;
} gpu_fresh_test;

static inline void *gpu_fresh_thread(void *user) {
    gpu_fresh_test *fresh = (gpu_fresh_test *)user;
    fresh->failed = _cmocka_run_group_tests(fresh->name, fresh->test, 1, NULL, NULL);
    return NULL;
}

static inline int gpu_run_group_tests(const char *name, const struct CMUnitTest *tests, size_t count, CMFixtureFunction setup,
                                      CMFixtureFunction teardown) {
    const char *threads = getenv("SPY_TEST_THREADS");
    struct CMUnitTest *chosen = (struct CMUnitTest *)malloc(count * sizeof *chosen);
    count = test_choose(tests, count, test_share(), chosen);
    if (gpu_other_backend || (threads && strcmp(threads, "0") == 0)) // compile_only.c ends the program after one group
        return _cmocka_run_group_tests(name, chosen, count, setup, teardown);
    void *state = NULL;
    int failed = setup && setup(&state) ? 1 : 0;
    for (size_t i = 0; i < count && !(setup && failed && i == 0); i++) {
        struct CMUnitTest test = chosen[i];
        gpu_fresh_test fresh = { name, &test, 1 };
        pthread_t thread;
        if (!test.initial_state) test.initial_state = state;
        if (pthread_create(&thread, NULL, gpu_fresh_thread, &fresh) == 0) pthread_join(thread, NULL);
        failed += fresh.failed;
    }
    if (teardown && teardown(&state)) failed++;
    free(chosen);
    return failed;
}

#undef cmocka_run_group_tests
#define cmocka_run_group_tests(tests, setup, teardown)                                                        \
    gpu_run_group_tests(#tests, tests, sizeof(tests) / sizeof((tests)[0]), setup, teardown)
#undef cmocka_run_group_tests_name
#define cmocka_run_group_tests_name(name, tests, setup, teardown)                                             \
    gpu_run_group_tests(name, tests, sizeof(tests) / sizeof((tests)[0]), setup, teardown)

// Resident memory of this process in bytes; 0 where that is not known.
static inline size_t gpu_resident_bytes(void) {
    size_t pages = 0, resident = 0;
    FILE *f = fopen("/proc/self/statm", "r");
    if (!f) return 0;
    if (fscanf(f, "%zu %zu", &pages, &resident) != 2) resident = 0;
    fclose(f);
    return resident * 4096;
}

#endif

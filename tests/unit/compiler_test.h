// What the programs test_compiler_*.c share: the compiler room against a real libslang (SLANGPY_SLANG_LIBRARY names it; CI runs two
// versions), without a GPU.
#ifndef COMPILER_TEST_H
#define COMPILER_TEST_H

#include "spy_test.h"
#ifdef SPY_TEST_SPLIT
#include "compiler/compiler.h"
#include "hold_slang.h"
#endif
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

static const spyi_conformances none = { NULL, 0 };

typedef struct test_env {
    spyi_context ctx;
    spyi_types *types;
    spyi_compiler *compiler;
    spyi_text error;
    spyi_text log;
    char folder[128];
} test_env;

static inline void test_log(spy_log_level level, const char *message, void *user_data) {
    spyi_text_add((spyi_text *)user_data, "%d %s\n", (int)level, message);
}

static const char *const test_embedded_lines[] = { "public float embedded_f(float x)", "{",
                                                   "    return x + 1;", "}", NULL };

static const spyi_embedded test_embedded[] = { { "embedded_module", test_embedded_lines } };

static inline void test_open(test_env *t, spyi_target target, const char *library, const char *include_path) {
    memset(t, 0, sizeof *t);
    spy_device_desc device;
    memset(&device, 0, sizeof device);
    device.log.func = test_log;
    device.log.user_data = &t->log;
    spyi_context_init(&t->ctx, &device);
    t->types = spyi_types_create(target);
    spyi_compiler_desc desc;
    memset(&desc, 0, sizeof desc);
    desc.library_path = library;
    desc.target = target;
    if (target == SPYI_TARGET_CUDA) desc.mend_text = spy_cuda_backend()->mend;
    desc.include_paths = &include_path;
    desc.include_path_count = include_path ? 1 : 0;
    desc.embedded = test_embedded;
    desc.embedded_count = 1;
    t->compiler = spyi_compiler_create(&t->ctx, t->types, &desc);
    assert_non_null(t->compiler);
}

static inline void test_close(test_env *t) {
    spyi_compiler_destroy(t->compiler);
    spyi_types_destroy(t->types);
    spyi_context_destroy(&t->ctx);
    spyi_text_free(&t->error);
    spyi_text_free(&t->log);
}

static inline spyi_unit *test_load(test_env *t, const char *source) {
    spyi_unit_desc desc;
    spyi_unit *unit = NULL;
    memset(&desc, 0, sizeof desc);
    desc.source = source;
    desc.name = "user";
    spy_status status = spyi_unit_load(t->compiler, &desc, &unit, &t->error);
    if (status != SPY_OK) print_error("%s\n", spyi_text_str(&t->error));
    assert_int_equal(status, SPY_OK);
    assert_non_null(unit);
    return unit;
}

static inline void test_folder(char *path, size_t size) {
    static int count;
    snprintf(path, size, "/tmp/spyi_test_%ld_%d", (long)getpid(), ++count);
    assert_int_equal(mkdir(path, 0700), 0);
}

static inline void test_remove(const char *folder, const char *name) {
    char path[300];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    (void)remove(path);
}

static inline const char *test_library(void) {
    const char *path = getenv("SLANGPY_SLANG_LIBRARY");
    if (!path || !*path) {
        print_message("SLANGPY_SLANG_LIBRARY is not set\n");
        skip();
    }
    return path;
}

#define assert_contains(text, part)                                                                          \
    do {                                                                                                     \
        if (!strstr(text, part)) print_error("'%s' is not in:\n%s\n", part, text);                           \
        assert_non_null(strstr(text, part));                                                                 \
    } while (0)

#endif

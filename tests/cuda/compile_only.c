// The programs of tests/gpu once more, with a device that has no GPU: every kernel that they generate is made for CUDA and
// compiled by NVRTC. Linked with a gpu test in the place of the library, this file has the whole implementation, gives
// gpu_desc() the null backend with CUDA's limits, and lets failed checks pass: no kernel runs, so no value is right.
//
// Of a program with at least six tests every third test runs, from the one that SPY_TEST_SEED says, and all kernels of these are
// compiled. Of other programs half of the kernels are compiled, and the first one. Each kernel is compiled for one of compute
// capability 7.5, 9.0 and the newest that NVRTC knows; a hash of its text and SPY_TEST_SEED chooses.
// SPY_TEST_ARCHS=all: all tests run, and all kernels are compiled for all three.
// The last line says how many kernels did not compile, and the line before it how many took Slang's own prelude. A thread
// compiles while the test goes on. What has been compiled is kept (blobs.h).
#define _GNU_SOURCE
#include "spy_test.h"
#include "blobs.h"
#include "hold.h"
#include <dlfcn.h>
#include <stdio.h>
#include <unistd.h>

// >>what replaces cmocka's end of a test: the program goes on

void _fail(const char *const file, const int line);
void _fail(const char *const file, const int line) {
    (void)file, (void)line;
}

// It ends tests by itself.
void _assert_float_equal(const float left, const float right, const float epsilon, const char *const file, const int line);
void _assert_float_equal(const float left, const float right, const float epsilon, const char *const file, const int line) {
    (void)left, (void)right, (void)epsilon, (void)file, (void)line;
}

// These say what is wrong, in a text that grows: most of the time of some programs.
void _assert_true(const LargestIntegralType result, const char *const expression, const char *const file, const int line);
void _assert_true(const LargestIntegralType result, const char *const expression, const char *const file, const int line) {
    (void)result, (void)expression, (void)file, (void)line;
}
void _assert_int_equal(const LargestIntegralType a, const LargestIntegralType b, const char *const file, const int line);
void _assert_int_equal(const LargestIntegralType a, const LargestIntegralType b, const char *const file, const int line) {
    (void)a, (void)b, (void)file, (void)line;
}
void _assert_memory_equal(const void *const a, const void *const b, const size_t size, const char *const file, const int line);
void _assert_memory_equal(const void *const a, const void *const b, const size_t size, const char *const file, const int line) {
    (void)a, (void)b, (void)size, (void)file, (void)line;
}

// >>the queue

typedef struct kernel {
    uint64_t hash;
    char *code, *label, *entry;
    spyi_profile profile;
    spyi_kernel_desc desc;
} kernel;

enum { MOST_KERNELS = 65536, THREADS = 1 };

static spyi_nvrtc nvrtc;
static spyi_context context; // hears what falls back
static int archs[3];
static bool all_archs, share_of_tests;
static uint64_t arch_seed;
static bool ending;
static kernel *kernels[MOST_KERNELS];
static uint32_t kernel_count, next, failed, fallbacks, compiled;
static spyi_mutex lock;
static spyi_thread threads[THREADS];

static void hear(spy_log_level level, const char *message, void *user) {
    (void)level, (void)user;
    spyi_mutex_lock(&lock);
    fallbacks++;
    if (fallbacks <= 10) printf("Slang's prelude: %.400s\n", message);
    spyi_mutex_unlock(&lock);
}

static void compile_one(const kernel *k, int arch) {
    spyi_text code = { NULL, 0, 0 }, error = { NULL, 0, 0 };
    spyi_profile profile = k->profile;
    profile.arch = (uint32_t)arch;
    spy_status status = blobs_of(spy_cuda_backend())->compile(&context, NULL, &profile, &k->desc, &code, &error);
    spyi_mutex_lock(&lock);
    compiled++;
    if (status != SPY_OK) {
        failed++;
        if (failed <= 20) printf("FAILED for sm_%d: %.3000s\n%s\n", arch, spyi_text_str(&error), k->code + k->desc.prelude_size);
        fflush(stdout);
    }
    spyi_mutex_unlock(&lock);
    spyi_text_free(&code);
    spyi_text_free(&error);
}

static void work(void *arg) {
    (void)arg;
    for (;;) {
        kernel *k = NULL;
        bool end;
        spyi_mutex_lock(&lock);
        end = ending;
        if (next < kernel_count) k = kernels[next++];
        spyi_mutex_unlock(&lock);
        if (k == NULL && end) return;
        if (k == NULL) {
            usleep(2000);
            continue;
        }
        uint32_t only = (uint32_t)((k->hash + arch_seed) % (share_of_tests || k == kernels[0] ? 3 : 6)); // half of the six are no architecture
        for (uint32_t i = 0; i < 3; i++)
            if (all_archs || i == only) compile_one(k, archs[i]);
        free(k->code); // kept until here for the error's text; its hash stays
        k->code = NULL;
    }
}

// A check that an array without a size, among the global parameters, lies where the library puts some address.
static void check_unsized(const spyi_kernel_desc *desc, const char *text, spyi_text *out) {
    const char *line = strstr(text, "struct GlobalParams_0"), *end = line ? strstr(line, "};") : NULL;
    for (; line && end && line < end; line = strchr(line, '\n') + 1) {
        char used[200], name[100];
        size_t length = strcspn(line, "\n"), from = length;
        if (strncmp(line, "    Array<", 10) != 0 || !length || !(memmem(line, length, "Buffer", 6) || memmem(line, length, "*>", 2))) continue;
        while (line[from - 1] != ' ') from--;
        snprintf(name, sizeof name, "%.*s", (int)(length - from - 1), line + from);
        snprintf(used, sizeof used, "globalParams_0->%s", name);
        if (!strstr(end, used)) continue;
        spyi_text_add(out, "static_assert(0");
        const spyi_interface *in = &desc->iface;
        const spyi_parameter *uniforms = in->parameters; // of a CUDA kernel they come first
        for (uint32_t i = 0; i < in->parameter_count && uniforms[i].kind == SPYI_PARAMETER_UNIFORM; i++) {
            uint32_t holder = uniforms[i].place.holder;
            if (holder < in->parameter_count && uniforms[holder].kind == SPYI_PARAMETER_UNIFORM && uniforms[holder].place.holder == SPYI_HOLDER_NONE)
                spyi_text_add(out, " || __INTADDR__(&((GlobalParams_0 *)0)->%s) == %u", name, uniforms[i].place.offset);
        }
        spyi_text_add(out, ", \"the place of %s\");\n", name);
    }
}

// The kernel's text, and behind it checks that the compiler lays parameters out as the library fills them.
static char *with_check(const spyi_kernel_desc *desc) {
    const char *text = (const char *)desc->code, *block = strstr(text, "struct SpyiBlock_0");
    spyi_text code = { NULL, 0, 0 };
    spyi_text_add_n(&code, text, strlen(text));
    spyi_text_add(&code, "\n");
    if (block && desc->iface.block_size) // the library's is of whole words
        spyi_text_add(&code, "static_assert((sizeof(SpyiBlock_0) + 3) / 4 * 4 == %u, \"the block's size\");\n", (unsigned)desc->iface.block_size);
    check_unsized(desc, text + desc->prelude_size, &code);
    return code.data;
}

// The null backend's compile, which hears of every kernel. The library compiles each text of a device once; many devices of a
// program make the same ones.
static spy_status queue_kernel(spyi_context *ctx, const char *compiler, const spyi_profile *profile, const spyi_kernel_desc *desc,
                               spyi_text *blob, spyi_text *error) {
    uint64_t hash = spyi_hash((const char *)desc->code + desc->prelude_size, desc->code_size - desc->prelude_size, 0);
    spyi_mutex_lock(&lock);
    bool known = kernel_count == MOST_KERNELS;
    for (uint32_t i = 0; i < kernel_count && !known; i++) known = kernels[i]->hash == hash;
    kernel *k = known ? NULL : (kernel *)calloc(1, sizeof *k);
    if (k) {
        k->hash = hash;
        k->code = with_check(desc);
        k->label = spyi_strdup(desc->label);
        k->entry = spyi_strdup(desc->entry);
        k->profile = *profile;
        k->desc = *desc;
        k->desc.code = k->code;
        k->desc.label = k->label;
        k->desc.entry = k->entry;
        size_t size = desc->iface.parameter_count * sizeof *desc->iface.parameters;
        spyi_parameter *parameters = (spyi_parameter *)calloc(1, size + 1); // the caller's are gone when it is compiled
        if (size) memcpy(parameters, desc->iface.parameters, size);
        k->desc.iface.parameters = parameters;
        kernels[kernel_count++] = k;
    }
    spyi_mutex_unlock(&lock);
    return spyi_null_backend()->compile(ctx, compiler, profile, desc, blob, error);
}

static void finish(void) {
    spyi_mutex_lock(&lock);
    ending = true;
    spyi_mutex_unlock(&lock);
    for (int i = 0; i < THREADS; i++) spyi_thread_join(&threads[i]);
    printf("%u kernels, %u compilations by NVRTC %d.%d for sm_%d, %d%s %d; %u with Slang's own prelude\n", kernel_count, compiled,
           nvrtc.major, nvrtc.minor, archs[0], archs[1], all_archs ? " and" : " or", archs[2], fallbacks);
    if (blobs.folder[0]) printf("%d of them kept in %s\n", spyi_atomic_load(&blobs.hits), blobs.folder);
    printf("%u passed, %u failed\n", compiled - failed, failed);
    fflush(NULL);
    _exit(failed || compiled == 0 ? 1 : 0);
}

static void start(void) {
    spyi_text error = { NULL, 0, 0 };
    spyi_mutex_init(&lock);
    context.log.func = hear;
    context.log.level = SPY_LOG_LEVEL_INFO;
    spyi_atomic_store(&context.told_compiler, 1);
    if (spyi_nvrtc_find(NULL, &nvrtc, &error) != SPY_OK) {
        printf("%s\n0 passed, 1 failed\n", spyi_text_str(&error));
        fflush(NULL);
        _exit(1);
    }
    blobs_of(spy_cuda_backend()); // its folder, before there are threads
    const char *which = getenv("SPY_TEST_ARCHS"), *seed = getenv("SPY_TEST_SEED");
    all_archs = which && strcmp(which, "all") == 0;
    arch_seed = seed ? strtoull(seed, NULL, 0) : 0;
    archs[0] = 75;
    archs[1] = 90;
    for (int i = 0; i < nvrtc.arch_count; i++)
        if (nvrtc.archs[i] > archs[2]) archs[2] = nvrtc.archs[i];
    for (int i = 0; i < THREADS; i++) spyi_thread_start(&threads[i], work, NULL);
}

// In cmocka's place: the compilations end before main() does, as NVRTC is taken down with what it has made meanwhile.
int _cmocka_run_group_tests(const char *name, const struct CMUnitTest *const tests, const size_t count, CMFixtureFunction setup,
                            CMFixtureFunction teardown);
int _cmocka_run_group_tests(const char *name, const struct CMUnitTest *const tests, const size_t count, CMFixtureFunction setup,
                            CMFixtureFunction teardown) {
    int (*run)(const char *, const struct CMUnitTest *, size_t, CMFixtureFunction, CMFixtureFunction);
    void *symbol = dlsym(RTLD_NEXT, "_cmocka_run_group_tests");
    memcpy(&run, &symbol, sizeof run);
    start();
    struct CMUnitTest *chosen = (struct CMUnitTest *)malloc(count * sizeof *chosen);
    size_t chosen_count = test_choose(tests, count, all_archs ? 1 : 3, chosen);
    share_of_tests = chosen_count < count;
    (void)run(name, chosen, chosen_count, setup, teardown);
    free(chosen);
    printf("%zu of %zu tests\n", chosen_count, count);
    finish();
    return 1; // not reached
}

// gpu_test.h: the device of a test.
void gpu_other_backend(spy_device_desc *desc);
void gpu_other_backend(spy_device_desc *desc) {
    static spyi_null_desc null_desc;
    static struct spyi_backend backend;
    memset(&null_desc, 0, sizeof null_desc);
    null_desc.target = SPYI_TARGET_CUDA;
    null_desc.max_block_bytes = 4096;
    null_desc.max_bindings = 64;
    null_desc.binding_alignment = 16;
    null_desc.max_binding_bytes = UINT64_MAX / 2;
    null_desc.bindings_from_bytes = UINT64_MAX;
    null_desc.max_uniforms = 32;
    null_desc.max_group_count = 0x7fffffff;
    null_desc.memory_bytes = (uint64_t)64 << 30;
    null_desc.no_log = true;
    backend = *spyi_null_backend();
    backend.compile = queue_kernel;
    backend.mend = spy_cuda_backend()->mend;
    desc->backend = &backend;
    desc->backend_desc = &null_desc;
    desc->adapter_name = NULL;
    desc->enable_validation = false;
}

void gpu_tiles_from(spy_device *device, uint64_t elements, uint32_t most_groups);
void gpu_tiles_from(spy_device *device, uint64_t elements, uint32_t most_groups) {
    device->base->limits.profile.tiles_from = elements;
    device->base->limits.info.max_group_count = most_groups;
}

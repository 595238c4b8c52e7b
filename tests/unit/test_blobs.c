// tests/common/blobs.h: what is kept is what would be made, and what is damaged is made again.
#ifndef _GNU_SOURCE
#define _GNU_SOURCE // mkdtemp, setenv
#endif
#include "spy_test.h"
#ifdef SPY_TEST_SPLIT
#include "cuda/internal.h"
#endif
#include "blobs.h"
#include <dirent.h>

static int compilations;

static spy_status counted_compile(spyi_context *ctx, const char *compiler, const spyi_profile *profile, const spyi_kernel_desc *desc,
                                  spyi_text *blob, spyi_text *error) {
    compilations++;
    return spy_cuda_backend()->compile(ctx, compiler, profile, desc, blob, error);
}

static char heard[1024];
static void hear(spy_log_level level, const char *message, void *user) {
    (void)level, (void)user;
    snprintf(heard, sizeof heard, "%s", message);
}

// Slang's own prelude, which ours cannot replace, and a kernel.
static const char text[] = "__device__ float only_slang_has_this(float x) { return x + 1; }\n"
                           "extern \"C\" __global__ void k(float *a) { a[0] = only_slang_has_this(a[0]); }\n";

static spy_status compile(const spy_backend *backend, const char *label, uint32_t arch, uint8_t float_mode, spyi_text *blob) {
    spyi_context ctx;
    spyi_profile profile;
    spyi_kernel_desc desc;
    spyi_text error = { NULL, 0, 0 };
    memset(&ctx, 0, sizeof ctx);
    memset(&profile, 0, sizeof profile);
    memset(&desc, 0, sizeof desc);
    ctx.log.func = hear;
    ctx.log.level = SPY_LOG_LEVEL_INFO;
    spyi_atomic_store(&ctx.told_compiler, 1);
    heard[0] = 0;
    profile.target = SPYI_TARGET_CUDA;
    profile.arch = arch;
    profile.float_mode = float_mode;
    desc.label = label;
    desc.entry = "k";
    desc.iface.group[0] = 64;
    desc.iface.group[1] = desc.iface.group[2] = 1;
    desc.code = text;
    desc.code_size = sizeof text;
    desc.prelude_size = (size_t)(strstr(text, "extern") - text);
    spyi_text_clear(blob);
    spy_status status = backend->compile(&ctx, NULL, &profile, &desc, blob, &error);
    if (status == SPY_OK) assert_non_null(strstr(heard, "only_slang_has_this")); // what the log heard is kept, too
    spyi_text_free(&error);
    return status;
}

// Changes each file: cut to `size` bytes, or byte number `at` flipped.
static int damage(long size, long at) {
    DIR *folder = opendir(blobs.folder);
    int files = 0;
    assert_non_null(folder);
    for (struct dirent *e = readdir(folder); e; e = readdir(folder)) {
        char path[900];
        if (e->d_name[0] == '.') continue;
        snprintf(path, sizeof path, "%s/%s", blobs.folder, e->d_name);
        FILE *file = fopen(path, "r+b");
        assert_non_null(file);
        if (size >= 0) assert_int_equal(ftruncate(fileno(file), size), 0);
        if (at >= 0) {
            int byte;
            assert_int_equal(fseek(file, at, SEEK_SET), 0);
            byte = fgetc(file);
            assert_int_equal(fseek(file, at, SEEK_SET), 0);
            (void)fputc(byte ^ 4, file);
        }
        (void)fclose(file);
        files++;
    }
    closedir(folder);
    return files;
}

static void test_kept(void **state) {
    (void)state;
    static struct spyi_backend counted;
    char top[] = "/tmp/spy_blobs_XXXXXX", command[100];
    spyi_text first = { NULL, 0, 0 }, blob = { NULL, 0, 0 };
    if (access("slangpy_cuda.h", R_OK) != 0) {
        print_message("skipped: the current folder has no slangpy_cuda.h\n");
        skip();
    }
    assert_non_null(mkdtemp(top));
    setenv("SPY_TEST_BLOBS", top, 1);
    counted = *spy_cuda_backend();
    counted.compile = counted_compile;
    const spy_backend *kept = blobs_of(&counted);
    assert_ptr_equal(kept, &blobs.table);
    assert_ptr_equal(blobs_of(spy_vk_backend()), spy_vk_backend());
    assert_int_equal(compile(kept, "one", 90, 0, &first), SPY_OK);
    assert_int_equal(compilations, 1);
    assert_int_equal(compile(kept, "one", 90, 0, &blob), SPY_OK);
    assert_int_equal(compilations, 1);
    assert_int_equal(blob.size, first.size);
    assert_memory_equal(blob.data, first.data, first.size);
    // Damage of every part: the head, the blob, the log, the end.
    const long at[] = { 0, 9, 17, 25, 33, 41, (long)sizeof(blobs_head) + 7, (long)(sizeof(blobs_head) + first.size) + 3 };
    const long sizes[] = { 0, 5, (long)sizeof(blobs_head), (long)(sizeof(blobs_head) + first.size / 2) };
    for (size_t i = 0; i < sizeof at / sizeof at[0] + sizeof sizes / sizeof sizes[0]; i++) {
        size_t s = i - sizeof at / sizeof at[0];
        int before = compilations;
        assert_int_equal(i < sizeof at / sizeof at[0] ? damage(-1, at[i]) : damage(sizes[s], -1), 1);
        for (int again = 0; again < 2; again++) {
            assert_int_equal(compile(kept, "one", 90, 0, &blob), SPY_OK);
            assert_int_equal(compilations, before + 1); // made again, and kept
            assert_int_equal(blob.size, first.size);
            assert_memory_equal(blob.data, first.data, first.size);
        }
    }
    // What a blob depends on; what fails is not kept.
    int before = compilations;
    assert_int_equal(compile(kept, "two", 90, 0, &blob), SPY_OK);
    assert_int_equal(compile(kept, "one", 75, 0, &blob), SPY_OK);
    assert_int_equal(compile(kept, "one", 90, SPY_FLOAT_MODE_FAST, &blob), SPY_OK);
    assert_int_equal(compilations, before + 3);
    for (int i = 0; i < 2; i++) assert_int_equal(compile(kept, "one", 20, 0, &blob), SPY_ERROR_COMPILE);
    assert_int_equal(compilations, before + 5);
    assert_int_equal(damage(-1, -1), 4);
    spyi_text_free(&first);
    spyi_text_free(&blob);
    snprintf(command, sizeof command, "rm -rf %s", top);
    assert_int_equal(system(command), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_kept) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

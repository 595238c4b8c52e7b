// Code for SPIR-V and CUDA, the memory of very many kernels, and several threads.
#include "compiler_test.h"

// >>code

static long test_resident_kib(void) {
    long pages = 0, resident = 0;
    FILE *f = fopen("/proc/self/statm", "r");
    if (!f) return 0;
    if (fscanf(f, "%ld %ld", &pages, &resident) != 2) resident = 0;
    fclose(f);
    return resident * (sysconf(_SC_PAGESIZE) / 1024);
}

static bool test_is_sanitised(void) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    return true;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
    return true;
#else
    return false;
#endif
#else
    return false;
#endif
}

static const char test_kernel_user[] = "struct Ray { float3 o; float3 d; };\n[Differentiable] float "
                                       "saxpy(no_diff float a, float x, float y) { return a * x + y; }\n";

static spy_status test_compile_one(spyi_unit *u, int i, spyi_code *code, spyi_text *error) {
    char source[1024];
    snprintf(source, sizeof source,
             "import user;\nstruct Args { float *x; float *y; float *o; uint n; "
             "};\n[shader(\"compute\")]\n[numthreads(256, 1, 1)]\n"
             "void my_kernel(uint3 tid : SV_DispatchThreadID, uniform Args args)\n{\n    uint i = tid.x;\n   "
             " if (i >= args.n) return;\n"
             "    var dx = diffPair(args.x[i], 0);\n    var dy = diffPair(args.y[i], 0);\n    "
             "bwd_diff(saxpy)(%d.0, dx, dy, 1.0f);\n"
             "    args.o[i] = saxpy(%d.0, args.x[i], args.y[i]) + dx.d;\n}\n",
             i, i);
    return spyi_unit_compile(u, "generated", source, "my_kernel", none, code, error);
}

static void test_code(void **state) {
    (void)state;
    test_library();
    test_env t;
    test_open(&t, SPYI_TARGET_SPIRV, NULL, NULL);
    spyi_unit *u = test_load(&t, test_kernel_user);
    spyi_code code, again;
    spy_status status = test_compile_one(u, 1, &code, &t.error);
    if (status != SPY_OK) print_error("%s\n", spyi_text_str(&t.error));
    assert_int_equal(status, SPY_OK);
    const uint32_t *words = (const uint32_t *)code.data;
    assert_int_equal(words[0], 0x07230203);
    assert_int_equal(words[1], 0x00010500); // SPIR-V 1.5
    bool source_found = false, entry_found = false;
    for (size_t i = 5; i < code.size / 4; i += words[i] >> 16) {
        assert_true(words[i] >> 16 > 0);
        if ((words[i] & 0xffff) == 3) {
            assert_int_equal(words[i + 1], 0);
            source_found = true;
        }
        if ((words[i] & 0xffff) == 15) {
            assert_string_equal((const char *)&words[i + 3], "my_kernel");
            entry_found = true;
        }
    }
    assert_true(source_found && entry_found);
    // The same text again: the same code and hash, though it is loaded already.
    assert_int_equal(test_compile_one(u, 1, &again, &t.error), SPY_OK);
    assert_int_equal(again.size, code.size);
    assert_memory_equal(again.data, code.data, code.size);
    assert_memory_equal(again.hash, code.hash, sizeof code.hash);
    spyi_code_free(&again);
    assert_int_equal(test_compile_one(u, 2, &again, &t.error), SPY_OK);
    assert_memory_not_equal(again.hash, code.hash, sizeof code.hash);
    spyi_code_free(&again);

    const char *validator = getenv("SPIRV_VAL");
    if (validator && spyi_file_exists(validator)) {
        char folder[128], command[400];
        test_folder(folder, sizeof folder);
        snprintf(command, sizeof command, "%s/k.spv", folder);
        assert_true(spyi_file_write(command, code.data, code.size));
        snprintf(command, sizeof command, "%s --target-env vulkan1.2 --scalar-block-layout %s/k.spv",
                 validator, folder);
        assert_int_equal(system(command), 0);
        test_remove(folder, "k.spv");
        (void)remove(folder);
    }
    spyi_code_free(&code);

    assert_int_equal(
        spyi_unit_compile(u, "k", "import user;\nvoid k() { nonsense(); }\n", "k", none, &code, &t.error),
        SPY_ERROR_COMPILE);
    assert_contains(spyi_text_str(&t.error), "kernel 'k' does not compile");
    assert_contains(spyi_text_str(&t.error), ".slang:2:12: error: ");
    assert_null(code.data);
    spyi_text_clear(&t.error);
    assert_int_equal(spyi_unit_compile(u, "k", "import user;\nint other;\n", "k", none, &code, &t.error),
                     SPY_ERROR_COMPILE);
    assert_true(t.error.size > 0);
    spyi_unit_release(u);
    test_close(&t);
}

static void test_cuda_source(void **state) {
    (void)state;
    test_library();
    test_env t;
    test_open(&t, SPYI_TARGET_CUDA, NULL, NULL);
    spyi_unit *u = test_load(&t, test_kernel_user);
    spyi_code code;
    spy_status status = test_compile_one(u, 1, &code, &t.error);
    if (status != SPY_OK) print_error("%s\n", spyi_text_str(&t.error));
    assert_int_equal(status, SPY_OK);
    assert_true(code.size > 1000);
    spyi_code_free(&code);
    spyi_unit_release(u);
    test_close(&t);
}

// A kernel passes a matrix to a [CudaKernel] function as a struct of its numbers, row by row, and the function
// reads them in the same order, whatever Slang's text says.
static void test_cuda_matrices(void **state) {
    (void)state;
    test_library();
    test_env t;
    test_open(&t, SPYI_TARGET_CUDA, NULL, NULL);
    spyi_unit *u = test_load(&t, "struct Cam { float4x4 view; float2x3 m[2]; };\n"
                                 "[CudaKernel] void turn(float3x3 by, double3x2 d, Cam cam, TensorView<float> y) "
                                 "{ y[0] = by[1][0] + float(d[1][0]) + cam.view[1][0] + cam.m[1][1][0]; }\n");
    spyi_code code;
    spy_status status = spyi_unit_compile(
        u, "k",
        "import user;\nstruct Block { float3x3 by; double3x2 d; Cam cam; TensorView<float> y; };\n"
        "[shader(\"compute\")] [numthreads(1, 1, 1)] void k(uniform Block b) { turn(b.by, b.d, b.cam, b.y); }\n",
        "k", none, &code, &t.error);
    if (status != SPY_OK) print_error("%s\n", spyi_text_str(&t.error));
    assert_int_equal(status, SPY_OK);
    const char *text = (const char *)code.data + code.prelude_size;
    static const struct {
        const char *type;
        int rows, columns;
    } matrices[] = { { "float", 3, 3 }, { "double", 3, 2 }, { "float", 4, 4 }, { "float", 2, 3 } };
    for (size_t i = 0; i < sizeof matrices / sizeof *matrices; i++) {
        char wanted[160];
        snprintf(wanted, sizeof wanted, "(_MatrixStorage_%s%dx%d_0 * ", matrices[i].type, matrices[i].rows,
                 matrices[i].columns);
        const char *c = strstr(text, wanted);
        assert_non_null(c);
        assert_non_null(c = strstr(c, "return makeMatrix<"));
        for (int n = 0; n < matrices[i].rows * matrices[i].columns; n++) {
            assert_non_null(c = strstr(c + 1, "[int("));
            assert_int_equal(atoi(c + 5), n);
        }
        assert_int_equal(strncmp(strstr(c, ")]"), ")]);\n", 5), 0);
        // The numbers are written row by row.
        snprintf(wanted, sizeof wanted, "_MatrixStorage_%s%dx%d_0 packMatrix_", matrices[i].type,
                 matrices[i].rows, matrices[i].columns);
        assert_non_null(c = strstr(text, wanted));
        for (int n = 0; n < matrices[i].rows * matrices[i].columns; n++) {
            assert_non_null(c = strstr(c + 1, ".rows[int("));
            assert_int_equal(atoi(c + 10), n / matrices[i].columns);
            assert_int_equal(strchr(c, ')')[3], "xyzw"[n % matrices[i].columns]);
        }
    }
    spyi_code_free(&code);
    spyi_unit_release(u);
    test_close(&t);
}

static void test_many_kernels(void **state) {
    (void)state;
    test_library();
    test_env t;
    test_open(&t, SPYI_TARGET_SPIRV, NULL, NULL);
    spyi_unit *u = test_load(&t, test_kernel_user);
    // Memory is weighed without sanitizers alone.
    size_t count = test_everything() ? test_count(3000) : test_is_sanitised() ? 30 : 150;
    long settled = 0, most = 0;
    uint64_t begin = spyi_time_ns();
    for (size_t i = 0; i < count; ++i) {
        spyi_code code;
        spy_status status = test_compile_one(u, (int)i, &code, &t.error);
        if (status != SPY_OK) print_error("kernel %zu: %s\n", i, spyi_text_str(&t.error));
        assert_int_equal(status, SPY_OK);
        spyi_code_free(&code);
        if (i == 100) settled = test_resident_kib();
        if (i > 100 && test_resident_kib() > most) most = test_resident_kib();
        if (i % 16 == 0) { // names still lead to the same types after the session was replaced
            const spyi_type *ray = spyi_unit_find_type(u, "Ray");
            assert_non_null(ray);
            assert_int_equal(ray->host_size, 24);
        }
    }
    print_message("%zu kernels, %.2f ms each; resident %ld KiB after 100, at most %ld KiB later\n", count,
                  (double)(spyi_time_ns() - begin) * 1e-6 / (double)count, settled, most);
    if (count > 100 && !test_is_sanitised()) assert_true(most < settled + 8 * 1024);
    spyi_unit_release(u);
    test_close(&t);
}

// >>threads

typedef struct test_worker {
    spyi_unit *unit;
    spyi_types *types;
    int number, failures;
} test_worker;

static void test_work(void *argument) {
    test_worker *w = (test_worker *)argument;
    for (int i = 0; i < 40; ++i) {
        spyi_code code;
        spyi_text error = { NULL, 0, 0 };
        spyi_signature s;
        int chosen;
        const spyi_type *types[3];
        types[0] = types[1] = types[2] = spyi_type_vector(w->types, SPY_DTYPE_FLOAT32, (uint32_t)(1 + i % 4));
        if (test_compile_one(w->unit, w->number * 1000 + i, &code, &error) != SPY_OK) w->failures++;
        spyi_code_free(&code);
        if (!spyi_unit_resolve(w->unit, "lerp", -1, types, 3, &s, &chosen)) w->failures++;
        spyi_signature_free(&s);
        if (!spyi_unit_find_type(w->unit, "Ray")) w->failures++;
        spyi_text_free(&error);
    }
}

static void test_threads(void **state) {
    (void)state;
    test_library();
    test_env t;
    test_open(&t, SPYI_TARGET_SPIRV, NULL, NULL);
    spyi_unit *u = test_load(&t, test_kernel_user), *v = test_load(&t, test_kernel_user);
    test_worker workers[3];
    spyi_thread threads[3];
    for (int i = 0; i < 3; ++i) {
        workers[i].unit = i == 2 ? v : u; // two on one unit, one on another
        workers[i].types = t.types;
        workers[i].number = i;
        workers[i].failures = 0;
        assert_true(spyi_thread_start(&threads[i], test_work, &workers[i]));
    }
    for (int i = 0; i < 3; ++i) {
        spyi_thread_join(&threads[i]);
        assert_int_equal(workers[i].failures, 0);
    }
    spyi_unit_release(u);
    spyi_unit_release(v);
    test_close(&t);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_code), cmocka_unit_test(test_cuda_source), cmocka_unit_test(test_cuda_matrices),
        cmocka_unit_test(test_many_kernels), cmocka_unit_test(test_threads),
    };
    return cmocka_run_group_tests(tests, hold_slang, let_slang_go);
}

// The cache on disk (spy_device_desc.cache_path): a second start gives the results of the first and does not open the
// Slang compiler; changed files, options and damaged files are noticed.
#include "gpu_test.h"

#include "chance.h"
#include <sys/stat.h>

spy_device *gpu_device;

static char folder[64], cache[96];

static const char *in(const char *name) {
    static char paths[4][300];
    static int next;
    char *path = paths[next++ % 4];
    snprintf(path, 300, "%s/%s", folder, name);
    return path;
}

static void write_text(const char *name, const char *text) {
    FILE *file = fopen(in(name), "wb");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

static void shell(const char *format, ...) {
    char command[600];
    va_list list;
    va_start(list, format);
    vsnprintf(command, sizeof command, format, list);
    va_end(list);
    assert_int_equal(system(command), 0);
}

static const char part_text[] = "public float part(float x) { return x + 1; }\n"
                                "public struct Light { public float3 color; public float power; };\n";
static const char main_text[] =
    "import slangpy;\nimport part;\n"
    "uniform float gain;\n"
    "interface IScale { float scale(float x); }\n"
    "struct Twice : IScale { float k; float scale(float x) { return 2 * x + k; } }\n"
    "float add(float x, float y) { return part(x) + y; }\n"
    "T same<T>(T x) { return x; }\n"
    "float shade(Light l, float x) { return l.color.y * l.power * x * gain; }\n"
    "float any<S : IScale>(S s, float x) { return s.scale(x); }\n"
    "[Differentiable] float poly(float a, float b) { return a * a * b + b; }\n"
    "float whole(Tensor<float, 1> t, int i) { return t[i] + t.shape[0]; }\n"
    "[shader(\"compute\")] [numthreads(4, 1, 1)]\n"
    "void fill(uint3 id : SV_DispatchThreadID, RWStructuredBuffer<float> to, uniform float first) { to[id.x] "
    "= first + id.x; }\n";

enum { N = 8, MOST = 96 };

typedef struct results {
    float values[MOST];
    int count;
    spy_device_stats stats;
} results;

static spy_tensor *floats(const float *data, bool graded) {
    spy_tensor_desc d;
    memset(&d, 0, sizeof d);
    d.shape = SPY_SHAPE(N);
    d.data = data;
    d.with_grad = graded;
    return MADE(spy_tensor, spy_create_tensor(gpu_device, &d));
}

static void take(results *r, spy_tensor *t) {
    assert_true(r->count + N <= MOST);
    OK(spy_tensor_read(t, r->values + r->count, N * sizeof(float)));
    r->count += N;
    spy_release_tensor(t);
}

static spy_function *function(spy_module *m, const char *name) {
    return MADE(spy_function, spy_find_function(m, name));
}

static spy_device *open_device(const char *path) {
    spy_device_desc d = gpu_desc();
    d.cache_path = path;
    gpu_device = spy_create_device(&d);
    return gpu_device;
}

static spy_module *load(const spy_compile_options *options) {
    spy_module_desc m;
    memset(&m, 0, sizeof m);
    m.path = in("m.slang");
    if (options) m.options = *options;
    return spy_load_module(gpu_device, &m);
}

// What a program does from its start to its end.
static void run(const char *path, const spy_compile_options *options, results *r) {
    float x[N], y[N];
    struct {
        float color[3], power;
    } light = { { 1, 2, 3 }, 4 };
    float gain = 0.5f, k = 7;
    memset(r, 0, sizeof *r);
    for (int i = 0; i < N; i++) x[i] = (float)i, y[i] = 10.0f * (float)i;
    assert_non_null(open_device(path));
    spy_module *m = MADE(spy_module, load(options));
    spy_tensor *a = floats(x, true), *b = floats(y, true), *o;
    spy_call_options call;
    memset(&call, 0, sizeof call);

    o = floats(NULL, false);
    OK(spy_call(function(m, "add"),
                SPY_ARGS(spy_arg_tensor("x", a), spy_arg_tensor("y", b), spy_arg_tensor("_result", o))));
    take(r, o);
    o = floats(NULL, false);
    OK(spy_call(function(m, "same"), SPY_ARGS(spy_arg_tensor("x", a), spy_arg_tensor("_result", o))));
    take(r, o);
    o = floats(NULL, false);
    spy_args globals = SPY_ARGS(spy_arg_f32("gain", gain));
    call.globals = globals;
    OK(spy_call_with(function(m, "shade"),
                     SPY_ARGS(spy_arg_data("l", &light, sizeof light), spy_arg_tensor("x", a),
                              spy_arg_tensor("_result", o)),
                     &call));
    take(r, o);
    o = floats(NULL, false);
    OK(spy_call(function(m, "any"),
                SPY_ARGS(spy_vcast(spy_arg_struct("s", SPY_ARGS(spy_arg_f32("k", k))), "Twice"),
                         spy_arg_tensor("x", a), spy_arg_tensor("_result", o))));
    take(r, o);
    o = floats(NULL, true);
    for (int i = 0; i < N; i++) y[i] = 1;
    OK(spy_tensor_write(spy_tensor_grad(o), y, sizeof y));
    OK(spy_call_backward(function(m, "poly"), SPY_ARGS(spy_arg_tensor("a", a), spy_arg_tensor("b", b),
                                                       spy_arg_tensor("_result", o))));
    spy_release_tensor(o);
    OK(spy_tensor_read(spy_tensor_grad(a), r->values + r->count, sizeof y));
    r->count += N;
    o = floats(NULL, false);
    int32_t at[N] = { 3, 1, 0, 2, 7, 6, 5, 4 };
    OK(spy_call(function(m, "whole"),
                SPY_ARGS(spy_arg_tensor("t", a), spy_arg_array("i", at, SPY_SHAPE(N), SPY_DTYPE_INT32),
                         spy_arg_tensor("_result", o))));
    take(r, o);
    o = floats(NULL, false);
    spy_uint3 threads = { N, 1, 1 };
    OK(spy_dispatch(function(m, "fill"), threads,
                    SPY_ARGS(spy_arg_tensor("to", o), spy_arg_f32("first", 100)), NULL));
    take(r, o);
    assert_true(spy_has_type(m, "Light"));
    assert_int_equal(spy_type_size_bytes(m, "Light"), 16);
    assert_null(spy_find_function(m, "no_such_function"));
    (void)spy_take_error(gpu_device);
    r->stats = spy_get_device_stats(gpu_device);
    spy_release_device(gpu_device);
    gpu_device = NULL;
}

static void same(const results *a, const results *b, int line) {
    if (a->count == b->count && memcmp(a->values, b->values, sizeof(float) * (size_t)a->count) == 0) return;
    for (int i = 0; i < a->count; i++)
        if (a->values[i] != b->values[i])
            print_error("result %d: %g and %g\n", i, (double)a->values[i], (double)b->values[i]);
    _fail(__FILE__, line);
}
#define SAME(a, b) same((a), (b), __LINE__)

static int setup(void **state) {
    (void)state;
    snprintf(folder, sizeof folder, "/tmp/spy_test_cache_XXXXXX");
    if (!mkdtemp(folder)) return -1;
    snprintf(cache, sizeof cache, "%s/cache", folder);
    write_text("part.slang", part_text);
    write_text("m.slang", main_text);
    return 0;
}

static int teardown(void **state) {
    (void)state;
    if (gpu_device) spy_release_device(gpu_device);
    gpu_device = NULL;
    shell("rm -rf %s", folder);
    return 0;
}

static bool no_device(void) {
    if (open_device("off")) {
        spy_release_device(gpu_device);
        gpu_device = NULL;
        return false;
    }
    print_message("skipped: no device\n");
    return true;
}

#define NEEDS()                                                                                              \
    do {                                                                                                     \
        (void)state;                                                                                         \
        if (no_device()) skip();                                                                             \
    } while (0)

static void test_second_start(void **state) {
    NEEDS();
    results plain, cold, warm;
    run("off", NULL, &plain);
    assert_int_equal(plain.stats.cache_hits + plain.stats.cache_misses + plain.stats.cache_writes, 0);
    assert_true(plain.values[3] == 34 && plain.values[N + 3] == 3 && plain.values[2 * N + 1] == 4);
    assert_true(plain.values[3 * N + 2] == 11 && plain.values[4 * N + 2] == 80 &&
                plain.values[6 * N + 5] == 105);
    run(cache, NULL, &cold);
    SAME(&plain, &cold);
    assert_int_equal(cold.stats.compiler_loads, 1);
    assert_true(cold.stats.cache_writes > 10);
    run(cache, NULL, &warm);
    SAME(&plain, &warm);
    assert_int_equal(cold.stats.cache_hits, 0);
    assert_int_equal(cold.stats.cache_misses, cold.stats.kernels_built);
    assert_int_equal(warm.stats.cache_hits, cold.stats.kernels_built);
    assert_int_equal(warm.stats.cache_misses, 0);
    assert_true(warm.stats.cache_writes == 0);
}

// The same program without a Slang compiler at all.
static void test_no_compiler(void **state) {
    NEEDS();
    float x[N] = { 0, 1, 2, 3, 4, 5, 6, 7 }, y[N];
    for (int start = 0; start < 2; start++) {
        assert_non_null(open_device(cache));
        spy_module *m = MADE(spy_module, load(NULL));
        spy_tensor *a = floats(x, false), *o = floats(NULL, false);
        OK(spy_call(function(m, "add"),
                    SPY_ARGS(spy_arg_tensor("x", a), spy_arg_f32("y", 1), spy_arg_tensor("_result", o))));
        OK(spy_tensor_read(o, y, sizeof y));
        for (int i = 0; i < N; i++) assert_true(y[i] == x[i] + 2);
        assert_int_equal(spy_get_device_stats(gpu_device).compiler_loads, start == 0);
        // What was not called before opens the compiler, from the modules as they were kept.
        if (start == 1) {
            OK(spy_call(function(m, "same"), SPY_ARGS(spy_arg_tensor("x", a), spy_arg_tensor("_result", o))));
            OK(spy_tensor_read(o, y, sizeof y));
            assert_memory_equal(x, y, sizeof y);
            assert_int_equal(spy_get_device_stats(gpu_device).compiler_loads, 1);
        }
        spy_release_device(gpu_device);
        gpu_device = NULL;
    }
}

static void test_changes(void **state) {
    NEEDS();
    results first, again, fresh;
    run(cache, NULL, &first);
    // The module's text.
    char text[2000];
    snprintf(text, sizeof text, "%s float another() { return 1; }\n", main_text);
    char *plus = strstr(text, "part(x) + y");
    plus[8] = '-';
    write_text("m.slang", text);
    run(cache, NULL, &again);
    run("off", NULL, &fresh);
    SAME(&fresh, &again);
    assert_true(again.values[3] == 4 - 30);
    // An import: other code, and another layout of its struct's users.
    write_text("m.slang", main_text);
    run(cache, NULL, &again);
    SAME(&first, &again);
    write_text("part.slang", "public float part(float x) { return x * 5; }\n"
                             "public struct Light { public float3 color; public float power; };\n");
    run(cache, NULL, &again);
    assert_true(again.values[3] == 45);
    // A new file that comes before the import on the search path, though no file has changed: a precompiled form that is
    // none is passed over, so the answers are the same, and are asked for anew.
    write_text("part.slang", part_text);
    run(cache, NULL, &again);
    SAME(&first, &again);
    assert_int_equal(again.stats.cache_writes, 0);
    write_text("part.slang-module", "none");
    run(cache, NULL, &again);
    SAME(&first, &again);
    assert_int_equal(again.stats.compiler_loads, 1);
    assert_int_equal(remove(in("part.slang-module")), 0);
    // Options.
    spy_compile_options options;
    memset(&options, 0, sizeof options);
    options.float_mode = SPY_FLOAT_MODE_PRECISE;
    run(cache, &options, &again);
    SAME(&first, &again);
    assert_true(again.stats.cache_writes > 5);
    run(cache, NULL, &again);
    assert_int_equal(again.stats.cache_writes, 0);
}

// Each file of the cache is damaged, and each is removed.
static void test_damage(void **state) {
    NEEDS();
    results first, again;
    char list[400], path[400];
    run(cache, NULL, &first);
    for (int kind = 0; kind < 3; kind++) {
        snprintf(list, sizeof list, "find %s -type f | sort", cache);
        FILE *found = popen(list, "r");
        assert_non_null(found);
        size_t files = 0, tried = 0, most = 6 + test_count(test_everything() ? 200 : 40);
        while (fgets(path, sizeof path, found)) files++;
        pclose(found);
        found = popen(list, "r");
        while (fgets(path, sizeof path, found)) {
            path[strcspn(path, "\n")] = '\0';
            if (below((uint32_t)files) >= most) continue;
            struct stat info;
            if (stat(path, &info) != 0) continue; // made anew under another name
            tried++;
            if (kind == 0) {
                shell("rm %s", path);
            } else if (kind == 1) {
                FILE *file = fopen(path, "r+b");
                long byte = (long)below((uint32_t)info.st_size);
                assert_non_null(file);
                assert_int_equal(fseek(file, byte, SEEK_SET), 0);
                int c = fgetc(file);
                assert_int_equal(fseek(file, byte, SEEK_SET), 0);
                assert_true(fputc(c ^ (1 << below(8)), file) != EOF);
                fclose(file);
            } else {
                assert_int_equal(truncate(path, (off_t)below((uint32_t)info.st_size)), 0);
            }
            run(cache, NULL, &again);
            SAME(&first, &again);
        }
        pclose(found);
        print_message("%zu of %zu files\n", tried, files);
        assert_true(tried > 0);
    }
}

// The files change after a start that read nothing of them but their hashes.
static void test_changed_behind(void **state) {
    NEEDS();
    float x[N] = { 0, 1, 2, 3, 4, 5, 6, 7 }, y[N];
    results first;
    run(cache, NULL, &first);
    for (int removed = 0; removed < 2; removed++) {
        assert_non_null(open_device(cache));
        spy_module *m = MADE(spy_module, load(NULL));
        spy_tensor *a = floats(x, false), *o = floats(NULL, false);
        write_text("part.slang", "public float part(float x) { return x + 2; }\n");
        if (removed) shell("rm -rf %s", cache);
        // Code of this start is that of the files as they were, or there is none.
        spy_function *f = spy_find_function(m, "add");
        if (!removed) {
            assert_non_null(f);
            OK(spy_call(f,
                        SPY_ARGS(spy_arg_tensor("x", a), spy_arg_i32("y", 1), spy_arg_tensor("_result", o))));
            OK(spy_tensor_read(o, y, sizeof y));
            assert_true(y[3] == 5);
        } else {
            assert_null(f);
            ERROR_ON(gpu_device, SPY_ERROR_COMPILE, "module 'm' cannot be opened again", "have changed",
                     "reload it");
        }
        write_text("part.slang", part_text);
        spy_release_device(gpu_device);
        gpu_device = NULL;
    }
}

static int call_whole(const char *name, int i) {
    int32_t result = -1;
    spy_module_desc m;
    memset(&m, 0, sizeof m);
    m.path = in(name);
    spy_module *module = MADE(spy_module, spy_load_module(gpu_device, &m));
    OK(spy_call(function(module, "f"), SPY_ARGS(spy_arg_i32("i", i), spy_out_i32("_result", &result))));
    return result;
}

// A user's file that has the name of a module of the library comes first, though that module is kept in serialized form.
static void test_own_files(void **state) {
    NEEDS();
    write_text("library.slang", "import print;\nint f(int i) { print(\"{}\", i); return i + 1; }\n");
    write_text("own.slang", "import print;\nint f(int i) { return print(i); }\n");
    for (int start = 0; start < 2; start++) {
        assert_non_null(open_device(cache));
        assert_int_equal(call_whole("library.slang", 1), 2);
        write_text("print.slang", "public int print(int i) { return i + 2; }\n");
        assert_int_equal(call_whole("own.slang", 1), 3);
        assert_int_equal(remove(in("print.slang")), 0);
        assert_int_equal(call_whole("library.slang", 5), 6);
        spy_release_device(gpu_device);
        gpu_device = NULL;
    }
}

// A precompiled module: its second start opens no compiler, and without its seal it is another one, which is refused.
static void test_precompiled(void **state) {
    NEEDS();
    static char bytes[1 << 20];
    size_t size = 0;
    for (int start = 0; start < 3; start++) {
        spy_module_desc d;
        float y = 0;
        memset(&d, 0, sizeof d);
        assert_non_null(open_device(cache));
        if (start == 0) {
            spy_module *m =
                MADE(spy_module, gpu_module(gpu_device, "p", "public float f(float x) { return x * 3; }"));
            size = spy_serialize_module(m, bytes, sizeof bytes);
            assert_in_range(size, 17, sizeof bytes);
        }
        d.name = "p";
        d.precompiled = bytes;
        d.precompiled_size_bytes = size;
        OK(spy_call(function(MADE(spy_module, spy_load_module(gpu_device, &d)), "f"),
                    SPY_ARGS(spy_arg_f32("x", 2), spy_out_f32("_result", &y))));
        assert_true(y == 6);
        assert_int_equal(spy_get_device_stats(gpu_device).compiler_loads, start == 0);
        d.precompiled_size_bytes = size - 16;
        assert_null(spy_load_module(gpu_device, &d));
        ERROR_ON(gpu_device, SPY_ERROR_COMPILE, "spy_load_module", "has no seal");
        spy_release_device(gpu_device);
        gpu_device = NULL;
    }
}

static void test_bad_folders(void **state) {
    NEEDS();
    results plain, again;
    run("off", NULL, &plain);
    write_text("file", "x");
    run(in("file"), NULL, &again); // a warning, and no cache
    SAME(&plain, &again);
    assert_int_equal(again.stats.cache_writes, 0);
    shell("mkdir %s/open && chmod 777 %s/open", folder, folder);
    run(in("open"), NULL, &again);
    SAME(&plain, &again);
    assert_int_equal(again.stats.cache_writes, 0);
    run("", NULL, &again);
    SAME(&plain, &again);
}

int main(void) {
    seed();
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(test_second_start),   TEST(test_no_compiler), TEST(test_changes),   TEST(test_damage),
        TEST(test_changed_behind), TEST(test_bad_folders), TEST(test_own_files), TEST(test_precompiled),
    };
    return cmocka_run_group_tests(tests, gpu_hold, gpu_let_go);
}

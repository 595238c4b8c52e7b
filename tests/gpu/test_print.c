// print() in Slang: what arrives in the log or in spy_read_print, for every type, from many threads, from several modules,
// when the buffer overflows, and when print is off. Every dumped SPIR-V goes through SPIRV_VAL at the end.
#include "gpu_test.h"


spy_device *gpu_device;
static char dump_folder[] = "/tmp/spy_print_XXXXXX";

// >>a log that keeps what it hears

typedef struct heard {
    char *text[4096];
    spy_log_level level[4096];
    int count;
} heard;
static heard log_heard;

static void listen(spy_log_level level, const char *message, void *user) {
    heard *h = (heard *)user;
    gpu_log(level, message, NULL);
    if (level == SPY_LOG_LEVEL_ERROR || h->count == 4096) return;
    h->text[h->count] = strdup(message);
    h->level[h->count++] = level;
}

static void forget(void) {
    while (log_heard.count) free(log_heard.text[--log_heard.count]);
}

static void expect(int line, int count, const char *const *texts) {
    bool good = log_heard.count == count;
    for (int i = 0; i < log_heard.count && i < count; i++)
        good = good && log_heard.level[i] == SPY_LOG_LEVEL_INFO && strcmp(log_heard.text[i], texts[i]) == 0;
    if (good) {
        forget();
        return;
    }
    for (int i = 0; i < count || i < log_heard.count; i++)
        print_error("line %d, message %d: expected '%s', got '%s' (level %d)\n", line, i,
                    i < count ? texts[i] : "nothing", i < log_heard.count ? log_heard.text[i] : "nothing",
                    i < log_heard.count ? (int)log_heard.level[i] : 0);
    forget();
    fail();
}
// The log has heard these messages, in this order, and no others since the last time.
#define HEARD(...)                                                                                           \
    do {                                                                                                     \
        const char *const heard_texts[] = { __VA_ARGS__ };                                                   \
        expect(__LINE__, (int)(sizeof heard_texts / sizeof *heard_texts), heard_texts);                      \
    } while (0)
#define HEARD_NOTHING() expect(__LINE__, 0, NULL)

// >>devices

static spy_device_desc print_desc(bool with_log) {
    spy_device_desc d = gpu_desc();
    d.enable_print = true;
    d.dump_directory = dump_folder;
    d.log.func = with_log ? listen : NULL;
    d.log.user_data = &log_heard;
    return d;
}

static void open_device(const spy_device_desc *desc) {
    forget();
    gpu_device = gpu_open(desc);
    if (!gpu_device) skip();
    forget();
}

static void open_plain(void) {
    spy_device_desc d = print_desc(true);
    open_device(&d);
}

static void close_device(void) {
    assert_int_equal(spy_take_error(gpu_device).code, SPY_OK);
    spy_release_device(gpu_device);
    gpu_device = NULL;
    forget();
}

static spy_function *function_of(const char *name, const char *source, const char *function) {
    spy_module *m = MADE(spy_module, gpu_module(gpu_device, name, source));
    return MADE(spy_function, spy_find_function(m, function));
}

// >>types and formats

static void test_every_type(void **state) {
    (void)state;
    open_plain();
    uint32_t features = spy_get_device_info(gpu_device).features;
    const char *source =
        "import print;\n"
        "void plain(int i) {\n"
        "    print(\"{} {} {} {}\", i > 0, i, uint(i) + 0xfffffff0u, float(i) / 8);\n"
        "    print(\"{} {}\", bool2(i > 0, i < 0), bool3(true, false, i == 5));\n"
        "    print(\"{} {} {}\", int2(i, -i), uint3(1, 2, i), float4(0.5, i, -1, 1e10));\n"
        "    print(\"{} {}\", float2x3(1, 2, 3, 4, 5, i), int3x2(1, 2, 3, 4, 5, i));\n"
        "    print(\"{} {}\", matrix<bool, 2, 2>(true, false, true, i == 5), vector<float, 1>(i));\n"
        "    print(\"{} {} {}\", 1, 1.5, \"text\");\n"
        "    print(\"no values\");\n"
        "    print(\"{} {} {} {} {} {} {} {} {} {} {} {}\", i, i, i, i, i, i, i, i, i, i, i, i);\n"
        "    print(\"\");\n"
        "}\n"
        "void longs(int i) {\n"
        "    print(\"{} {} {}\", int64_t(i) - 6, uint64_t(i) << 60, vector<int64_t, 3>(i, -i, int64_t(i) << "
        "40));\n"
        "    print(\"{:x}\", uint64_t(0x123456789abcdefull));\n"
        "}\n"
        "void bytes(int i) {\n"
        "    print(\"{} {} {}\", int8_t(i - 133), uint8_t(i + 250), vector<int8_t, 4>(int8_t(i), int8_t(-i), "
        "127, -128));\n"
        "}\n"
        "void shorts(int i) {\n"
        "    print(\"{} {} {}\", int16_t(i - 32773), uint16_t(i + 65530), vector<uint16_t, 2>(uint16_t(i), "
        "65535));\n"
        "}\n"
        "void halves(int i) { print(\"{} {} {:.3f}\", half(i) / 2, half3(i, 0.5h, -2), half2x2(1, 2, 3, "
        "half(i))); }\n"
        "void doubles(int i) { print(\"{} {} {}\", double(i - 2) * 0.1lf, double2(i, 0.1lf), matrix<double, 2, 2>(i, "
        "1e300lf, -1, 0)); }\n";
    spy_module *m = MADE(spy_module, gpu_module(gpu_device, "types", source));
    forget(); // a warning about conversions
    spy_args five = SPY_ARGS(spy_arg_i32("i", 5));
    OK(spy_call(spy_find_function(m, "plain"), five));
    OK(spy_wait(gpu_device));
    HEARD("true 5 4294967285 0.625", "{true, false} {true, false, true}",
          "{5, -5} {1, 2, 5} {0.5, 5, -1, 1e+10}", "{{1, 2, 3}, {4, 5, 5}} {{1, 2}, {3, 4}, {5, 5}}",
          "{{true, false}, {true, true}} {5}", "1 1.5 text", "no values", "5 5 5 5 5 5 5 5 5 5 5 5", "");
    if (features & SPY_FEATURE_INT64) {
        OK(spy_call(spy_find_function(m, "longs"), five));
        OK(spy_wait(gpu_device));
        HEARD("-1 5764607523034234880 {5, -5, 5497558138880}", "123456789abcdef");
    }
    if (features & SPY_FEATURE_INT8) {
        OK(spy_call(spy_find_function(m, "bytes"), five));
        OK(spy_wait(gpu_device));
        HEARD("-128 255 {5, -5, 127, -128}");
    }
    if (features & SPY_FEATURE_INT16) {
        OK(spy_call(spy_find_function(m, "shorts"), five));
        OK(spy_wait(gpu_device));
        HEARD("-32768 65535 {5, 65535}");
    }
    if (features & SPY_FEATURE_FLOAT16) {
        OK(spy_call(spy_find_function(m, "halves"), five));
        OK(spy_wait(gpu_device));
        HEARD("2.5 {5, 0.5, -2} {{1.000, 2.000}, {3.000, 5.000}}");
    }
    if (features & SPY_FEATURE_FLOAT64) {
        OK(spy_call(spy_find_function(m, "doubles"), five));
        OK(spy_wait(gpu_device));
        HEARD("0.30000000000000004 {5, 0.1} {{5, 1e+300}, {-1, 0}}");
    }
    close_device();
}

static void test_formats(void **state) {
    (void)state;
    open_plain();
    spy_function *f = function_of("formats",
                                  "import print;\n"
                                  "void f(float x, int n) {\n"
                                  "    print(\"x = {:.3f}, n = {:#06x}, {{{1}}}\", x, n);\n"
                                  "    print(\"{0} {1} {0}\", n, \"a\\n\\\"b\\\"\");\n"
                                  "    print(\"{:>8}|{:<8}|{:^8}\", x, n, \"mid\");\n"
                                  "    print(\"{:.1e}\", float3(x, 1, 2));\n"
                                  "    print(\"{} {}\", n);\n"
                                  "    print(\"{:x} {\", x);\n"
                                  "    print(\"100 % \xc3\xa9\");\n"
                                  "}\n",
                                  "f");
    OK(spy_call(f, SPY_ARGS(spy_arg_f32("x", 1.0f / 3), spy_arg_i32("n", 255))));
    OK(spy_flush_print(gpu_device));
    HEARD("x = 0.333, n = 0x00ff, {255}", "255 a\n\"b\" 255", "0.33333334|255     |  mid   ",
          "{3.3e-01, 1.0e+00, 2.0e+00}", "255 {has no value}", "{:x needs an integer} {", "100 % \xc3\xa9");
    close_device();
}

// >>many threads

// Each message arrives once, whatever the variant of the kernel.
static void test_many_threads(void **state) {
    (void)state;
    open_plain();
    spy_function *f = function_of("many",
                                  "import print;\n"
                                  "float f(float x) { print(\"x = {}\", x); return x * 2; }\n",
                                  "f");
    enum { COUNT = 1000, WIDE = 2000 };
    float data[WIDE], result[WIDE];
    for (int i = 0; i < WIDE; i++) data[i] = (float)i;
    for (int round = 0; round < 3; round++) {
        int64_t count = round == 0 ? COUNT : round == 1 ? WIDE : 7;
        spy_tensor *x = MADE(spy_tensor,
                             gpu_tensor(gpu_device, SPY_DTYPE_FLOAT32, NULL, NULL, SPY_SHAPE(count), data)),
                   *out = NULL;
        OK(spy_call(f, SPY_ARGS(spy_arg_tensor("x", x), spy_out_tensor("_result", &out))));
        OK(spy_tensor_read(out, result, (size_t)count * sizeof *result));
        assert_int_equal(log_heard.count, (int)count);
        bool seen[WIDE] = { false };
        for (int i = 0; i < (int)count; i++) {
            float value = -1;
            assert_int_equal(sscanf(log_heard.text[i], "x = %f", &value), 1);
            assert_true(value >= 0 && value < (float)count && !seen[(int)value]);
            seen[(int)value] = true;
            assert_true(result[i] == 2 * data[i]);
        }
        forget();
        spy_release_tensor(x);
        spy_release_tensor(out);
    }
    close_device();
}

// Calls that print one after another come out in that order as soon as something orders them; calls are not ordered by
// printing, but none is lost.
static void test_many_calls(void **state) {
    (void)state;
    open_plain();
    spy_function *f =
        function_of("many_calls", "import print;\nvoid f(int i) { print(\"call {}\", i); }\n", "f");
    spy_device_stats before = spy_get_device_stats(gpu_device);
    for (int i = 0; i < 200; i++) OK(spy_call(f, SPY_ARGS(spy_arg_i32("i", i))));
    OK(spy_wait(gpu_device));
    assert_int_equal(log_heard.count, 200);
    bool seen[200] = { false };
    for (int i = 0; i < 200; i++) {
        int value = -1;
        assert_int_equal(sscanf(log_heard.text[i], "call %d", &value), 1);
        assert_true(value >= 0 && value < 200 && !seen[value]);
        seen[value] = true;
    }
    forget();
    // Once for the buffer's reset, but not for each call.
    assert_true(spy_get_device_stats(gpu_device).barriers - before.barriers < 10);
    OK(spy_wait(gpu_device));
    HEARD_NOTHING();
    close_device();
}

// >>delivery

static void test_delivery(void **state) {
    (void)state;
    open_plain();
    spy_function *f = function_of("delivery",
                                  "import print;\n"
                                  "int f(int i) { print(\"i = {}\", i); return i + 1; }\n",
                                  "f");
    int32_t result = 0;
    OK(spy_call(f, SPY_ARGS(spy_arg_i32("i", 1), spy_out_i32("_result", &result))));
    assert_int_equal(result, 2);
    HEARD("i = 1");
    OK(spy_call(f, SPY_ARGS(spy_arg_i32("i", 2))));
    HEARD_NOTHING();
    spy_submit_id id = spy_flush(gpu_device);
    OK(spy_wait_for_submit(gpu_device, id, UINT64_MAX));
    HEARD("i = 2");
    uint64_t ns = 0;
    if (spy_get_device_info(gpu_device).features & SPY_FEATURE_TIMESTAMPS) {
        OK(spy_time_call(f, SPY_ARGS(spy_arg_i32("i", 3)), NULL, &ns));
        HEARD("i = 3");
    }
    OK(spy_call(f, SPY_ARGS(spy_arg_i32("i", 4))));
    OK(spy_trim(gpu_device));
    HEARD("i = 4");
    spy_prepare_desc async;
    memset(&async, 0, sizeof async);
    async.async = true;
    spy_function *g =
        function_of("prepared", "import print;\nvoid g(float x) { print(\"prepared {}\", x); }\n", "g");
    spy_prepared *p = MADE(spy_prepared, spy_prepare(g, SPY_ARGS(spy_arg_f32("x", 0)), &async));
    OK(spy_call_prepared(p, SPY_ARGS(spy_arg_f32("x", 5))));
    OK(spy_call_prepared(p, SPY_ARGS(spy_arg_f32("x", 6))));
    OK(spy_flush_print(gpu_device));
    assert_int_equal(log_heard.count, 2);
    assert_true(strcmp(log_heard.text[0], log_heard.text[1]) != 0);
    assert_true(strncmp(log_heard.text[0], "prepared ", 9) == 0);
    forget();
    OK(spy_call(f, SPY_ARGS(spy_arg_i32("i", 7)))); // at the device's end
    assert_int_equal(spy_take_error(gpu_device).code, SPY_OK);
    spy_release_device(gpu_device);
    HEARD("i = 7");
    // And on a new device of the same process.
    open_plain();
    f = function_of("delivery", "import print;\nvoid f(int i) { print(\"again {}\", i); }\n", "f");
    OK(spy_call(f, SPY_ARGS(spy_arg_i32("i", 8))));
    OK(spy_wait(gpu_device));
    HEARD("again 8");
    close_device();
}

// Shown whatever the log's level is; enable_print asked for it.
static void test_level(void **state) {
    (void)state;
    spy_device_desc d = print_desc(true);
    d.log.level = SPY_LOG_LEVEL_ERROR;
    d.print_buffer_bytes = 64;
    open_device(&d);
    spy_function *f = function_of("level", "import print;\nvoid f(int i) { print(\"i = {}\", i); }\n", "f");
    for (int i = 0; i < 4; i++) OK(spy_call(f, SPY_ARGS(spy_arg_i32("i", 1))));
    OK(spy_wait(gpu_device));
    HEARD("i = 1", "i = 1", "i = 1"); // the warning about the lost one keeps to the level
    close_device();
}

static void test_read(void **state) {
    (void)state;
    spy_device_desc d = print_desc(false);
    open_device(&d);
    spy_function *f = function_of(
        "read", "import print;\nint f(int i) { print(\"i = {}\", i); print(\"text\"); return i; }\n", "f");
    char text[64] = "x";
    int32_t result = 0;
    assert_int_equal(spy_read_print(gpu_device, text, sizeof text), 0);
    assert_string_equal(text, "");
    // Without a log the messages stay, whatever waits.
    OK(spy_call(f, SPY_ARGS(spy_arg_i32("i", 1), spy_out_i32("_result", &result))));
    OK(spy_wait(gpu_device));
    OK(spy_flush_print(gpu_device));
    assert_int_equal(spy_read_print(gpu_device, NULL, 0), 11);
    assert_int_equal(spy_read_print(gpu_device, text, 11), 11); // no room for the NUL
    assert_string_equal(text, "");
    assert_int_equal(spy_read_print(gpu_device, text, 12), 11);
    assert_string_equal(text, "i = 1\ntext\n");
    assert_int_equal(spy_read_print(gpu_device, text, sizeof text), 0);
    // What is kept and what comes later are read together.
    OK(spy_call(f, SPY_ARGS(spy_arg_i32("i", 2))));
    assert_int_equal(spy_read_print(gpu_device, NULL, 0), 11);
    OK(spy_call(f, SPY_ARGS(spy_arg_i32("i", 3))));
    assert_int_equal(spy_read_print(gpu_device, text, sizeof text), 22);
    assert_string_equal(text, "i = 2\ntext\ni = 3\ntext\n");
    close_device();
    // With a log: what has not been delivered.
    open_plain();
    f = function_of("read", "import print;\nvoid f(int i) { print(\"i = {}\", i); }\n", "f");
    OK(spy_call(f, SPY_ARGS(spy_arg_i32("i", 4))));
    OK(spy_wait(gpu_device));
    HEARD("i = 4");
    OK(spy_call(f, SPY_ARGS(spy_arg_i32("i", 5))));
    assert_int_equal(spy_read_print(gpu_device, text, sizeof text), 6);
    assert_string_equal(text, "i = 5\n");
    OK(spy_wait(gpu_device));
    HEARD_NOTHING();
    close_device();
}

// >>overflow

static void test_overflow(void **state) {
    (void)state;
    spy_device_desc d = print_desc(true);
    d.print_buffer_bytes = 1024; // 252 words behind the header: 63 messages of 4 words
    open_device(&d);
    spy_function *f =
        function_of("overflow", "import print;\nvoid f(int i) { print(\"i = {}\", i); }\n", "f");
    spy_function *mixed =
        function_of("mixed",
                    "import print;\n"
                    "void g(int i) { if (i % 2 == 0) print(\"{}\", float4x4(i)); else print(\"s\"); }\n",
                    "g");
    int32_t data[5000];
    for (int i = 0; i < 5000; i++) data[i] = i;
    spy_tensor *x =
        MADE(spy_tensor, gpu_tensor(gpu_device, SPY_DTYPE_INT32, NULL, NULL, SPY_SHAPE(5000), data));
    for (int round = 0; round < 3; round++) { // the buffer works again after it has been delivered
        OK(spy_call(f, SPY_ARGS(spy_arg_tensor("i", x))));
        OK(spy_wait(gpu_device));
        assert_int_equal(log_heard.count, 64);
        for (int i = 0; i < 63; i++) {
            int value = -1;
            assert_int_equal(sscanf(log_heard.text[i], "i = %d", &value), 1);
            assert_true(value >= 0 && value < 5000);
        }
        assert_int_equal(log_heard.level[63], SPY_LOG_LEVEL_WARNING);
        assert_non_null(strstr(log_heard.text[63], "4937 messages"));
        assert_non_null(strstr(log_heard.text[63], "1024 bytes"));
        assert_non_null(strstr(log_heard.text[63], "print_buffer_bytes"));
        forget();
    }
    for (int round = 0; round < 20; round++) { // records of unequal size: none is cut, all are counted
        OK(spy_call(mixed, SPY_ARGS(spy_arg_tensor("i", x))));
        OK(spy_wait(gpu_device));
        int lost = -1;
        assert_true(log_heard.count > 12);
        assert_int_equal(sscanf(log_heard.text[log_heard.count - 1], "print: %d messages", &lost), 1);
        assert_int_equal(lost + log_heard.count - 1, 5000);
        for (int i = 0; i < log_heard.count - 1; i++) {
            int value = -1;
            if (strcmp(log_heard.text[i], "s") == 0) continue;
            assert_int_equal(sscanf(log_heard.text[i], "{{%d, ", &value), 1);
            assert_true(value >= 0 && value < 5000 && value % 2 == 0);
        }
        forget();
    }
    // One message larger than the buffer.
    spy_function *large = function_of(
        "large",
        "import print;\nvoid h(int i) { float4x4 m = float4x4(i); "
        "print(\"{}{}{}{}{}{}{}{}{}{}{}{}{}{}{}{}\", m, m, m, m, m, m, m, m, m, m, m, m, m, m, m, m); }\n",
        "h");
    OK(spy_call(large, SPY_ARGS(spy_arg_i32("i", 1))));
    OK(spy_wait(gpu_device));
    assert_int_equal(log_heard.count, 1);
    assert_non_null(strstr(log_heard.text[0], "1 message did not fit and is lost"));
    forget();
    spy_release_tensor(x);
    close_device();
}

// >>modules

static void test_modules(void **state) {
    (void)state;
    open_plain();
    spy_function *a = function_of(
        "first", "import print;\nvoid f(int i) { print(\"both {}\", i); print(\"first\"); }\n", "f");
    spy_function *b = function_of(
        "second", "import print;\nvoid f(int i) { print(\"both {}\", i); print(\"second\"); }\n", "f");
    OK(spy_call(a, SPY_ARGS(spy_arg_i32("i", 1))));
    OK(spy_wait(gpu_device));
    OK(spy_call(b, SPY_ARGS(spy_arg_i32("i", 2))));
    OK(spy_wait(gpu_device));
    HEARD("both 1", "first", "both 2", "second");
    // A module that is imported from a file prints; a linked one, too.
    char path[600];
    snprintf(path, sizeof path, "%s/spy_inner.slang", dump_folder);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs("import print;\npublic void inner(int i) { print(\"inner {}\", i); }\n", file);
    fclose(file);
    const char *folder = dump_folder;
    spy_module_desc m;
    memset(&m, 0, sizeof m);
    m.name = "outer";
    m.source = "import spy_inner;\nvoid outer(int i) { inner(i); }\n";
    m.include_paths = &folder;
    m.include_path_count = 1;
    spy_module *outer = MADE(spy_module, spy_load_module(gpu_device, &m));
    OK(spy_call(spy_find_function(outer, "outer"), SPY_ARGS(spy_arg_i32("i", 3))));
    OK(spy_wait(gpu_device));
    HEARD("inner 3");
    memset(&m, 0, sizeof m);
    spy_module *link =
        MADE(spy_module,
             gpu_module(gpu_device, "linked",
                        "import print;\nexport public void hook(int i) { print(\"linked {}\", i); }\n"));
    m.name = "with_link";
    m.source = "public extern void hook(int i);\npublic void call(int i) { hook(i); }\n";
    m.link = &link;
    m.link_count = 1;
    spy_module *with_link = MADE(spy_module, spy_load_module(gpu_device, &m));
    OK(spy_call(spy_find_function(with_link, "call"), SPY_ARGS(spy_arg_i32("i", 4))));
    OK(spy_wait(gpu_device));
    HEARD("linked 4");
    m.name = "both_print";
    m.source = "import print;\npublic extern void hook(int i);\npublic void call(int i) { print(\"own {}\", "
               "i); hook(i); }\n";
    spy_module *both = MADE(spy_module, spy_load_module(gpu_device, &m));
    OK(spy_call(spy_find_function(both, "call"), SPY_ARGS(spy_arg_i32("i", 4))));
    OK(spy_wait(gpu_device));
    HEARD("own 4", "linked 4");
    m.source = "public extern void hook(int i);\npublic void call(int i) { hook(i); }\n";
    // In the call's own text.
    spy_call_options options;
    memset(&options, 0, sizeof options);
    options.prelude = "import print;\nexport public void hook(int i) { print(\"prelude {}\", i); }\n";
    m.link_count = 0;
    m.name = "with_prelude";
    spy_module *with_prelude = MADE(spy_module, spy_load_module(gpu_device, &m));
    OK(spy_call_with(spy_find_function(with_prelude, "call"), SPY_ARGS(spy_arg_i32("i", 5)), &options));
    OK(spy_wait(gpu_device));
    HEARD("prelude 5");
    // Differentiable code, and methods.
    spy_function *d =
        function_of("differentiable",
                    "import print;\n"
                    "[Differentiable] float f(float x) { print(\"x = {}\", x); return x * x; }\n"
                    "float g(float x) { var p = diffPair(x, 0.0f); bwd_diff(f)(p, 1.0f); print(\"d = {}\", "
                    "p.d); return p.d; }\n",
                    "g");
    OK(spy_call(d, SPY_ARGS(spy_arg_f32("x", 3))));
    OK(spy_wait(gpu_device));
    assert_true(log_heard.count >= 1);
    assert_string_equal(log_heard.text[log_heard.count - 1], "d = 6");
    forget();
    close_device();
}

// Each submission of a command list prints; so do plain functions over threads.
static void test_lists_and_dispatches(void **state) {
    (void)state;
    open_plain();
    spy_function *f = function_of("list", "import print;\nvoid f(int i) { print(\"list {}\", i); }\n", "f");
    spy_command_list *list = MADE(spy_command_list, spy_create_command_list(gpu_device, NULL));
    OK(spy_list_call(list, f, SPY_ARGS(spy_arg_i32("i", 1))));
    OK(spy_list_finish(list));
    OK(spy_wait(gpu_device));
    HEARD_NOTHING();
    for (int i = 0; i < 3; i++) {
        OK(spy_list_submit(list));
        OK(spy_wait(gpu_device));
        HEARD("list 1");
    }
    OK(spy_list_submit(list));
    OK(spy_list_submit(list));
    spy_release_command_list(list);
    OK(spy_call(f, SPY_ARGS(spy_arg_i32("i", 1))));
    OK(spy_wait(gpu_device));
    HEARD("list 1", "list 1", "list 1");
    spy_module *m = MADE(
        spy_module,
        gpu_module(
            gpu_device, "entries",
            "import print;\n"
            "void entry(int i) {\n"
            "    print(\"entry {}\", i);\n"
            "}\n"));
    spy_uint3 threads;
    memset(&threads, 0, sizeof threads);
    threads.x = 4;
    threads.y = threads.z = 1;
    OK(spy_dispatch(spy_find_function(m, "entry"), threads, SPY_ARGS(spy_arg_i32("i", 7)), NULL));
    OK(spy_wait(gpu_device));
    HEARD("entry 7", "entry 7", "entry 7", "entry 7");
    // A list that the device releases.
    list = MADE(spy_command_list, spy_create_command_list(gpu_device, NULL));
    OK(spy_list_call(list, f, SPY_ARGS(spy_arg_i32("i", 2))));
    close_device();
}

// A reloaded module prints its new text.
static void test_reload(void **state) {
    (void)state;
    open_plain();
    char path[600];
    for (int round = 0; round < 2; round++) {
        snprintf(path, sizeof path, "%s/spy_reload.slang", dump_folder);
        FILE *file = fopen(path, "w");
        assert_non_null(file);
        fprintf(file, "import print;\nvoid f(int i) { print(\"%s {}\", i); }\n",
                round ? "changed text" : "first");
        fclose(file);
        spy_module_desc d;
        memset(&d, 0, sizeof d);
        d.path = path;
        static spy_module *m;
        if (round == 0) m = MADE(spy_module, spy_load_module(gpu_device, &d));
        else OK(spy_reload_module(m, NULL));
        forget();
        OK(spy_call(spy_find_function(m, "f"), SPY_ARGS(spy_arg_i32("i", round))));
        OK(spy_wait(gpu_device));
        if (round == 0) HEARD("first 0");
        else HEARD("changed text 1");
    }
    close_device();
}

// A user's own print stays the user's.
static void test_own_print(void **state) {
    (void)state;
    open_plain();
    spy_function *f =
        function_of("own", "int print(int i) { return i + 1; }\nint f(int i) { return print(i); }\n", "f");
    int32_t result = 0;
    OK(spy_call(f, SPY_ARGS(spy_arg_i32("i", 1), spy_out_i32("_result", &result))));
    assert_int_equal(result, 2);
    char path[600], folder[500];
    snprintf(folder, sizeof folder, "%s/own", dump_folder);
    snprintf(path, sizeof path, "mkdir -p %s", folder);
    assert_int_equal(system(path), 0);
    snprintf(path, sizeof path, "%s/print.slang", folder);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs("public int print(int i) { return i + 2; }\n", file);
    fclose(file);
    const char *paths = folder;
    spy_module_desc m;
    memset(&m, 0, sizeof m);
    m.name = "own_file";
    m.source = "import print;\nint f(int i) { return print(i); }\n";
    m.include_paths = &paths;
    m.include_path_count = 1;
    spy_module *module = MADE(spy_module, spy_load_module(gpu_device, &m));
    OK(spy_call(spy_find_function(module, "f"),
                SPY_ARGS(spy_arg_i32("i", 1), spy_out_i32("_result", &result))));
    assert_int_equal(result, 3);
    HEARD_NOTHING();
    close_device();
}

// >>off, and bad input

static void test_disabled(void **state) {
    (void)state;
    spy_device_desc d = print_desc(true);
    d.enable_print = false;
    open_device(&d);
    spy_function *f = function_of(
        "disabled", "import print;\nint f(int i) { print(\"i = {} {}\", i, \"s\"); return i + 1; }\n", "f");
    int32_t result = 0;
    char text[4096] = "x";
    OK(spy_call(f, SPY_ARGS(spy_arg_i32("i", 1), spy_out_i32("_result", &result))));
    assert_int_equal(result, 2);
    OK(spy_wait(gpu_device));
    OK(spy_flush_print(gpu_device));
    assert_int_equal(spy_read_print(gpu_device, text, sizeof text), 0);
    assert_string_equal(text, "");
    HEARD_NOTHING();
    spy_explain_call(f, SPY_ARGS(spy_arg_i32("i", 1), spy_out_i32("_result", &result)), NULL, text, sizeof text);
    assert_null(strstr(text, "_print")); // nor does its kernel know of it
    close_device();
    // With print on, kernels of modules that do not import it know nothing of it, either.
    open_plain();
    f = function_of("without", "int f(int i) { return i + 1; }\n", "f");
    OK(spy_call(f, SPY_ARGS(spy_arg_i32("i", 1), spy_out_i32("_result", &result))));
    spy_explain_call(f, SPY_ARGS(spy_arg_i32("i", 1), spy_out_i32("_result", &result)), NULL, text, sizeof text);
    assert_null(strstr(text, "_print"));
    f = function_of("with", "import print;\nint f(int i) { return i + 1; }\n", "f");
    spy_explain_call(f, SPY_ARGS(spy_arg_i32("i", 1), spy_out_i32("_result", &result)), NULL, text, sizeof text);
    assert_non_null(strstr(text, "_print"));
    close_device();
}

static void test_bad_input(void **state) {
    (void)state;
    assert_int_equal(spy_flush_print(NULL), SPY_ERROR_INVALID_ARGUMENT);
    ERROR_ON(NULL, SPY_ERROR_INVALID_ARGUMENT, "spy_flush_print", "device", "NULL");
    char text[8] = "x";
    assert_int_equal(spy_read_print(NULL, text, sizeof text), 0);
    assert_string_equal(text, "");
    ERROR_ON(NULL, SPY_ERROR_INVALID_ARGUMENT, "spy_read_print", "device", "NULL");
    static const size_t sizes[] = { 1, 63, (size_t)1 << 31 };
    open_plain(); // skips without a device
    close_device();
    for (int i = 0; i < 3; i++) {
        spy_device_desc d = print_desc(true);
        d.print_buffer_bytes = sizes[i];
        assert_null(spy_create_device(&d));
        ERROR_ON(NULL, SPY_ERROR_INVALID_ARGUMENT, "spy_create_device", "print_buffer_bytes", "64",
                 "1073741824");
    }
    open_plain();
    // What cannot be printed is the compiler's error, at the user's line.
    spy_module *m =
        gpu_module(gpu_device, "bad",
                   "import print;\nstruct S { int a; }\nvoid f(int i) { S s = { i }; print(\"{}\", s); }\n");
    assert_null(m);
    ERROR_ON(gpu_device, SPY_ERROR_COMPILE, "bad.slang", "IPrintable", "S");
    m = gpu_module(gpu_device, "bad2", "import print;\nvoid f(int i) { print(i); }\n");
    assert_null(m);
    ERROR_ON(gpu_device, SPY_ERROR_COMPILE, "bad2.slang");
    // A format that is chosen at run time.
    m = MADE(spy_module,
             gpu_module(gpu_device, "bad3",
                        "import print;\nvoid f(int i) { String s = i > 3 ? \"a\" : \"b\"; print(s); }\n"));
    FAILS(SPY_ERROR_COMPILE, spy_call(spy_find_function(m, "f"), SPY_ARGS(spy_arg_i32("i", 1))), "spy_call");
    forget();
    close_device();
}

static void test_spirv(void **state) {
    (void)state;
    if (gpu_is_cuda()) skip(); // tests/cuda compiles them
    gpu_check_spirv(dump_folder, 10);
}

static int setup(void **state) {
    (void)gpu_hold(state);
    return mkdtemp(dump_folder) ? 0 : -1;
}

static int teardown(void **state) {
    (void)gpu_let_go(state);
    char command[200];
    forget();
    snprintf(command, sizeof command, "rm -rf %s", dump_folder);
    if (!getenv("SPY_TEST_KEEP")) return system(command);
    print_message("kept: %s\n", dump_folder);
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_type),
        cmocka_unit_test(test_formats),
        cmocka_unit_test(test_many_threads),
        cmocka_unit_test(test_many_calls),
        cmocka_unit_test(test_delivery),
        cmocka_unit_test(test_level),
        cmocka_unit_test(test_read),
        cmocka_unit_test(test_overflow),
        cmocka_unit_test(test_modules),
        cmocka_unit_test(test_own_print),
        cmocka_unit_test(test_lists_and_dispatches),
        cmocka_unit_test(test_reload),
        cmocka_unit_test(test_disabled),
        cmocka_unit_test(test_bad_input),
        cmocka_unit_test(test_spirv),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}

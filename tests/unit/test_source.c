// Where modules' text comes from, looked at from inside: stamps of files, which spellings of a path are one file, the
// seal of precompiled modules, and options on targets that cannot have them.
#include "spy_test.h"
#ifdef SPY_TEST_SPLIT
#include "compiler/internal.h"
#endif
#include <stdio.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static char folder[64];

static const char *in(const char *name) {
    static char paths[4][200];
    static int next;
    char *path = paths[next++ % 4];
    snprintf(path, 200, "%s/%s", folder, name);
    return path;
}

static void put(const char *name, const char *text) {
    assert_true(spyi_file_write(in(name), text, strlen(text)));
}

static int setup(void **state) {
    (void)state;
    snprintf(folder, sizeof folder, "/tmp/spyi_test_source_%ld", (long)getpid());
    assert_int_equal(mkdir(folder, 0700), 0);
    assert_int_equal(mkdir(in("sub"), 0700), 0);
    return 0;
}

static int teardown(void **state) {
    (void)state;
    static const char *const names[] = { "a", "b", "a.slang", "sub/b.slang", "sub" };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) (void)remove(in(names[i]));
    (void)remove(folder);
    return 0;
}

static void test_stamps(void **state) {
    (void)state;
    assert_true(spyi_file_stamp(in("a")) == 0);
    assert_true(spyi_file_stamp(folder) == 0); // a folder is no file
    assert_true(spyi_file_stamp(NULL) == 0);
    put("a", "one");
    uint64_t first = spyi_file_stamp(in("a"));
    assert_true(first != 0 && spyi_file_stamp(in("a")) == first);
    // Written again with as many bytes, until the clock of the file system has moved on.
    uint64_t second = first;
    for (time_t end = time(NULL) + 5; second == first && time(NULL) < end;) {
        put("a", "two");
        second = spyi_file_stamp(in("a"));
    }
    assert_true(second != first);
    // Another file of the same size in its place.
    put("b", "six");
    assert_int_equal(rename(in("b"), in("a")), 0);
    assert_true(spyi_file_stamp(in("a")) != second);
    assert_int_equal(remove(in("a")), 0);
    assert_true(spyi_file_stamp(in("a")) == 0);
}

// A library is known by its build id and size, not by when its file was written: what was kept with it is good for a copy.
static void test_library_stamps(void **state) {
    (void)state;
    spyi_text self = { NULL, 0, 0 };
    assert_true(spyi_library_stamp(in("a")) == 0);
    assert_true(spyi_library_stamp(folder) == 0);
    assert_true(spyi_library_stamp(NULL) == 0);
    put("a", "no library");
    assert_true(spyi_library_stamp(in("a")) == spyi_file_stamp(in("a"))); // the file's own
    assert_true(spyi_file_read("/proc/self/exe", &self));
    uint64_t stamp = spyi_library_stamp("/proc/self/exe");
    assert_true(spyi_file_write(in("a"), self.data, self.size));
    if (stamp != spyi_library_stamp(in("a"))) {
        spyi_text_free(&self);
        skip(); // the linker gives programs no build id
    }
    assert_true(stamp != spyi_file_stamp(in("a")));
    assert_true(spyi_file_write(in("a"), self.data, self.size - 1));
    assert_true(spyi_library_stamp(in("a")) != stamp);
    for (size_t cut = 0; cut < 4096; cut += 7) { // cut off anywhere, also within the tables
        assert_true(spyi_file_write(in("a"), self.data, cut));
        assert_true(spyi_library_stamp(in("a")) != 0);
    }
    spyi_text_free(&self);
}

// A frame as Slang's files have one, round bytes that mean nothing.
static void make_frame(spyi_text *bytes, size_t inner) {
    uint8_t head[12] = { 'R', 'I', 'F', 'F', 0, 0, 0, 0, 's', 'm', 'o', 'd' };
    size_t size = inner + 4;
    for (int i = 0; i < 4; i++) head[4 + i] = (uint8_t)(size >> (8 * i));
    spyi_text_add_n(bytes, (const char *)head, sizeof head);
    for (size_t i = 0; i < inner; i++) {
        char c = (char)(i * 37);
        spyi_text_add_n(bytes, &c, 1);
    }
}

static void test_seal(void **state) {
    (void)state;
    spyi_text good = { NULL, 0, 0 }, bad = { NULL, 0, 0 }, error = { NULL, 0, 0 };
    make_frame(&good, 100);
    spyi_source_seal(&good);
    // Every bit that differs, and every length that is less, is told without asking libslang, which is not even there;
    // but for the length without the seal.
    for (size_t bit = 0; bit < good.size * 8; bit++) {
        spyi_text_clear(&bad);
        spyi_text_clear(&error);
        spyi_text_add_n(&bad, good.data, good.size);
        bad.data[bit / 8] = (char)(bad.data[bit / 8] ^ (1 << (bit % 8)));
        assert_false(spyi_source_unseal(NULL, NULL, true, &bad, &error));
        assert_non_null(strstr(spyi_text_str(&error), "damaged"));
    }
    for (size_t size = 0; size < good.size; size++) {
        if (size == 112) continue;
        spyi_text_clear(&bad);
        spyi_text_clear(&error);
        if (size) spyi_text_add_n(&bad, good.data, size);
        assert_false(spyi_source_unseal(NULL, NULL, true, &bad, &error));
        assert_non_null(strstr(spyi_text_str(&error), "damaged"));
    }
    // Without its seal it is whole, and refused unless it is trusted.
    spyi_text_clear(&bad);
    spyi_text_clear(&error);
    spyi_text_add_n(&bad, good.data, 112);
    assert_false(spyi_source_unseal(NULL, NULL, false, &bad, &error));
    assert_non_null(strstr(spyi_text_str(&error), "has no seal"));
    spyi_text_free(&good);
    spyi_text_free(&bad);
    spyi_text_free(&error);
    assert_true(spyi_source_is_precompiled("a/b.slang-module"));
    assert_false(spyi_source_is_precompiled("a/b.slang"));
    assert_false(spyi_source_is_precompiled(NULL));
}

typedef struct env {
    spyi_context ctx;
    spyi_types *types;
    spyi_compiler *compiler;
    spyi_text error;
    char heard[500]; // the last warning
} env;

static void listen(spy_log_level level, const char *message, void *user) {
    env *t = (env *)user;
    if (level == SPY_LOG_LEVEL_WARNING) snprintf(t->heard, sizeof t->heard, "%s", message);
}

static void open_env(env *t, spyi_target target) {
    spy_device_desc device;
    spyi_compiler_desc desc;
    if (!getenv("SLANGPY_SLANG_LIBRARY")) {
        print_message("SLANGPY_SLANG_LIBRARY is not set\n");
        skip();
    }
    memset(t, 0, sizeof *t);
    memset(&device, 0, sizeof device);
    memset(&desc, 0, sizeof desc);
    device.log.func = listen;
    device.log.user_data = t;
    spyi_context_init(&t->ctx, &device);
    t->types = spyi_types_create(target);
    desc.target = target;
    t->compiler = spyi_compiler_create(&t->ctx, t->types, &desc);
    assert_non_null(t->compiler);
}

static void close_env(env *t) {
    spyi_compiler_destroy(t->compiler);
    spyi_types_destroy(t->types);
    spyi_context_destroy(&t->ctx);
    spyi_text_free(&t->error);
}

static spyi_unit *load(env *t, const char *path) {
    spyi_unit_desc desc;
    spyi_unit *unit = NULL;
    memset(&desc, 0, sizeof desc);
    desc.path = path;
    spy_status status = spyi_unit_load(t->compiler, &desc, &unit, &t->error);
    if (status != SPY_OK) print_error("%s\n", spyi_text_str(&t->error));
    assert_int_equal(status, SPY_OK);
    return unit;
}

static void test_reads(void **state) {
    (void)state;
    env t;
    open_env(&t, SPYI_TARGET_SPIRV);
    put("a.slang", "import \"sub/b\";\nfloat f(float x) { return b(x); }\n");
    put("sub/b.slang", "public float b(float x) { return x; }\n");
    spyi_unit *a = load(&t, in("a.slang"));
    static const char *const spellings[] = { "sub/b.slang", "./sub/b.slang", "sub/../sub/./b.slang",
                                             "sub//b.slang" };
    for (size_t i = 0; i < sizeof spellings / sizeof *spellings; i++) {
        spyi_unit *b = load(&t, in(spellings[i]));
        assert_true(spyi_unit_reads(a, b));
        assert_false(spyi_unit_reads(b, a));
        assert_true(spyi_unit_reads(b, b));
        spyi_unit_release(b);
    }
    // The same without a folder before it.
    char before[400];
    assert_non_null(getcwd(before, sizeof before));
    assert_int_equal(chdir(in("sub")), 0);
    spyi_unit *near = load(&t, "b.slang"), *climbing = load(&t, "../a.slang");
    assert_true(spyi_unit_reads(climbing, climbing));
    assert_false(spyi_unit_reads(near, climbing));
    assert_int_equal(chdir(before), 0);
    spyi_unit_release(near);
    spyi_unit_release(climbing);
    // What came from memory has no file that another could read.
    spyi_unit_desc desc;
    spyi_unit *memory = NULL;
    memset(&desc, 0, sizeof desc);
    desc.source = "float f(float x) { return x; }\n";
    desc.name = "b";
    assert_int_equal(spyi_unit_load(t.compiler, &desc, &memory, &t.error), SPY_OK);
    assert_false(spyi_unit_reads(a, memory));
    assert_false(spyi_unit_changed(memory));
    spyi_unit_release(memory);
    assert_false(spyi_unit_changed(a));
    assert_int_equal(remove(in("sub/b.slang")), 0);
    assert_true(spyi_unit_changed(a));
    spyi_unit_release(a);
    close_env(&t);
}

static void test_other_target(void **state) {
    (void)state;
    env t;
    open_env(&t, SPYI_TARGET_CUDA);
    spyi_unit_desc desc;
    spyi_unit *unit = NULL;
    memset(&desc, 0, sizeof desc);
    desc.source = "float f(float x) { return x; }\n";
    desc.options.optimization = SPY_OPTIMIZATION_NONE;
    desc.options.debug_info = SPY_DEBUG_INFO_NONE;
    desc.options.warnings_as_errors = desc.options.experimental_features = true;
    assert_int_equal(spyi_unit_load(t.compiler, &desc, &unit, &t.error), SPY_OK);
    spyi_unit_release(unit);
    for (int i = 0; i < 3; i++) { // what has no effect is not dropped silently
        memset(&desc.options, 0, sizeof desc.options);
        if (i == 0) desc.options.optimization = SPY_OPTIMIZATION_LOW;
        if (i == 1) desc.options.debug_info = SPY_DEBUG_INFO_LINES;
        if (i == 2) desc.options.float_mode = SPY_FLOAT_MODE_FAST;
        t.heard[0] = 0;
        assert_int_equal(spyi_unit_load(t.compiler, &desc, &unit, &t.error), SPY_OK);
        assert_int_equal(strstr(t.heard, "optimization has no effect on CUDA") != NULL, i == 0);
        spyi_unit_release(unit);
    }
    close_env(&t);
}

// '@' in `text` is where the attribute goes; without one nothing changes.
static void check_inlined(const char *marked) {
    static const char mark[] = "[__unsafeForceInlineEarly]";
    spyi_text source = { NULL, 0, 0 }, want = { NULL, 0, 0 }, got = { NULL, 0, 0 };
    for (const char *c = marked; *c; c++) {
        if (*c != '@') spyi_text_add_n(&source, c, 1);
        if (*c == '@') spyi_text_add(&want, "%s", mark);
        else spyi_text_add_n(&want, c, 1);
    }
    bool changed = spyi_source_inline_interfaces(&source, &got);
    if (changed != (strchr(marked, '@') != NULL)) print_error("%s\n", marked);
    assert_int_equal(changed, strchr(marked, '@') != NULL);
    if (changed) assert_string_equal(got.data, want.data);
    spyi_text_free(&source);
    spyi_text_free(&want);
    spyi_text_free(&got);
}

// Which functions libslang must inline before it differentiates them, and that lines keep their numbers.
static void test_interfaces(void **state) {
    (void)state;
    check_inlined("");
    check_inlined("float f(float x) { return x; }");
    check_inlined("[Differentiable] float f(float x) { return x; }");
    check_inlined("float f(IShape x) { return 1; }"); // not differentiable
    check_inlined("@[Differentiable] float f(IShape x) { return 1; }");
    check_inlined("\xef\xbb\xbf@[BackwardDifferentiable] float f(IShape x) { return 1; }");
    check_inlined("import a;@\n// [Differentiable]\n[Differentiable]\npublic float[8] f<let N : int>(int a[N], IDiffTensor<float, 1> t)\n{ return g(a); }\n");
    check_inlined("#include \"x;\"\n@[Differentiable] float f(IShape x) { return 1; }");
    check_inlined("#define A \\\n ;\n@[Differentiable] float f(no_diff IShape x) { return 1; }");
    check_inlined("interface shape { float area(); };@ [Differentiable] float f(shape x) { return 1; }@ [Differentiable] float g(float a, shape x) { return f(x); }");
    check_inlined("struct S {@ [Differentiable] float f(IShape x) { return 1; } };");
    check_inlined("[Differentiable] float f<T : IShape>(T x) { return 1; }");
    check_inlined("[Differentiable] float f(Box<IShape> x) { return 1; }");
    check_inlined("[Differentiable] float f(Image x) { return 1; }");
    check_inlined("[Differentiable] float f(IShape x);"); // no body
    check_inlined("[Differentiable] float f(IShape x) { return f(x); }"); // calls itself
    check_inlined("[Differentiable] [__unsafeForceInlineEarly] float f(IShape x) { return 1; }");
    check_inlined("// [Differentiable] float f(IShape x) { return 1; }");
    check_inlined("/* [Differentiable] float f(IShape x) {} */ \"[Differentiable] float f(IShape x) {}\"");
    check_inlined("[Differentiable] float g(float x) { return f(IShape(x)); }");
    for (int cut = 0; cut < 60; cut++) { // what does not compile anyway
        char text[80] = "#d\\\n [Differentiable] float f<(IShape \"x', /* y) { 'a\\\" ; } //";
        text[cut] = 0;
        spyi_text source = { NULL, 0, 0 }, got = { NULL, 0, 0 };
        spyi_text_add(&source, "%s", text);
        (void)spyi_source_inline_interfaces(&source, &got);
        spyi_text_free(&source);
        spyi_text_free(&got);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_stamps), cmocka_unit_test(test_library_stamps), cmocka_unit_test(test_interfaces),
        cmocka_unit_test(test_seal),
        cmocka_unit_test(test_reads),
        cmocka_unit_test(test_other_target),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}

// Modules: where their text comes from (files, search paths, a file hook, precompiled), what is linked to them, how they
// are compiled, and reload. Each test writes the files it needs into a folder of its own.
#include "gpu_test.h"

#include <sys/stat.h>

spy_device *gpu_device;
static char folder[64], shared[80], dumps[80];

// >>files

static const char *in(const char *name) { // a path in the folder; good until the eighth call after
    static char paths[8][256];
    static int next;
    char *path = paths[next++ % 8];
    snprintf(path, 256, "%s/%s", folder, name);
    return path;
}

static void write_bytes(const char *name, const void *data, size_t size) {
    FILE *f = fopen(in(name), "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(data, 1, size, f), size);
    assert_int_equal(fclose(f), 0);
}

static void write_text(const char *name, const char *text) {
    write_bytes(name, text, strlen(text));
}

static size_t read_bytes(const char *path, char *data, size_t capacity) {
    FILE *f = fopen(path, "rb");
    assert_non_null(f);
    size_t size = fread(data, 1, capacity, f);
    fclose(f);
    assert_true(size < capacity);
    return size;
}

// >>an archive in memory, given by the file hook

typedef struct entry {
    const char *name; // what its path ends with
    const char *text;
    uint64_t stamp;
    bool nothing; // gives bytes at NULL
} entry;

static struct {
    entry entries[4];
    int opened, closed, asked;
} archive;

static entry *archive_find(const char *path) {
    for (size_t i = 0; i < 4; i++) {
        const char *name = archive.entries[i].name;
        size_t n = name ? strlen(name) : 0, m = strlen(path);
        if (n && m >= n && strcmp(path + m - n, name) == 0) return &archive.entries[i];
    }
    return NULL;
}

static bool archive_open(const char *path, spy_file *file, void *user) {
    entry *e = archive_find(path);
    assert_ptr_equal(user, &archive);
    archive.asked++;
    if (!e) return false;
    file->size_bytes = strlen(e->text);
    if (!e->nothing) { // a copy that dies with close: the library must not keep the pointer
        file->handle = malloc(file->size_bytes + 1);
        memcpy(file->handle, e->text, file->size_bytes);
    }
    file->data = file->handle;
    archive.opened++;
    return true;
}

static void archive_close(spy_file *file, void *user) {
    (void)user;
    if (file->handle) memset(file->handle, '#', file->size_bytes);
    free(file->handle);
    archive.closed++;
}

static uint64_t archive_stamp(const char *path, void *user) {
    (void)user;
    entry *e = archive_find(path);
    return e ? e->stamp : 0;
}

// >>what the reload hook and the log heard

static struct {
    spy_module *modules[64];
    spy_status status[64];
    char message[2048]; // the last failure's
    size_t count;
} heard;
static char logged[8192];

static void on_reload(spy_module *module, spy_status status, const char *message, void *user) {
    assert_ptr_equal(user, &heard);
    assert_true(heard.count < 64);
    assert_int_equal(spy_get_device_info(gpu_device).max_group_size != 0, true);
    assert_int_equal(spy_flush(gpu_device) > 0 || spy_take_error(gpu_device).code == SPY_OK,
                     true); // may be used
    if (status != SPY_OK) snprintf(heard.message, sizeof heard.message, "%s", message);
    heard.modules[heard.count] = module;
    heard.status[heard.count++] = status;
}

static void on_log(spy_log_level level, const char *message, void *user) {
    size_t n = strlen(logged);
    gpu_log(level, message, user);
    snprintf(logged + n, sizeof logged - n, "%s\n", message);
}

// >>setup

static int setup(void **state) {
    (void)state;
    snprintf(folder, sizeof folder, "/tmp/spy_test_modules_XXXXXX");
    assert_non_null(mkdtemp(folder));
    snprintf(shared, sizeof shared, "%s/shared", folder);
    snprintf(dumps, sizeof dumps, "%s/dumps", folder);
    assert_int_equal(mkdir(shared, 0700), 0);
    assert_int_equal(mkdir(dumps, 0700), 0);
    memset(&archive, 0, sizeof archive);
    memset(&heard, 0, sizeof heard);
    logged[0] = 0;
    static const char *paths[1];
    paths[0] = shared;
    spy_device_desc d = gpu_desc();
    d.log.func = on_log;
    d.include_paths = paths;
    d.include_path_count = 1;
    d.files.open = archive_open;
    d.files.close = archive_close;
    d.files.stamp = archive_stamp;
    d.files.user_data = &archive;
    d.reload.func = on_reload;
    d.reload.user_data = &heard;
    d.dump_directory = dumps;
    gpu_device = gpu_open(&d);
    return 0;
}

static int teardown(void **state) {
    (void)state;
    char command[160];
    spy_release_device(gpu_device);
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    (void)!system(command);
    return archive.opened == archive.closed ? 0 : -1;
}

static spy_module *load(const char *path) {
    spy_module_desc d;
    memset(&d, 0, sizeof d);
    d.path = path;
    return spy_load_module(gpu_device, &d);
}

static float call1(spy_function *f, float x) {
    float y = -1;
    OK(spy_call(f, SPY_ARGS(spy_arg_f32(NULL, x), spy_out_f32("_result", &y))));
    return y;
}

static float ask(spy_module *module, float x) {
    return call1(MADE(spy_function, spy_find_function(module, "f")), x);
}

// >>where text comes from

static void test_search(void **state) {
    NEEDS_DEVICE();
    write_text("shared/far.slang", "public float far(float x) { return x + 1; }\n");
    mkdir(in("shared/lib"), 0700);
    write_text("shared/lib/found.slang",
               "import near;\nimport far;\nfloat f(float x) { return far(x) * near(x); }\n");
    write_text("shared/lib/near.slang", "public float near(float x) { return x; }\n");
    spy_module *m = MADE(spy_module, load("lib/found.slang")); // in the device's include path
    assert_true(ask(m, 3) == 12);
    assert_null(load("lib/lost.slang"));
    ERROR_ON(gpu_device, SPY_ERROR_IO, "spy_load_module", "lib/lost.slang", "include paths", shared);
    const char *own = in("own");
    mkdir(own, 0700);
    mkdir(in("own/lib"), 0700);
    write_text("own/lib/found.slang", "float f(float x) { return x * 100; }\n");
    spy_module_desc d;
    memset(&d, 0, sizeof d);
    d.path = "lib/found.slang";
    d.include_paths = &own;
    d.include_path_count = 1;
    assert_true(ask(MADE(spy_module, spy_load_module(gpu_device, &d)), 3) == 300); // the module's come first
    // A missing include and a missing import name what is missing.
    write_text("broken.slang", "#include \"nowhere.h\"\nfloat f(float x) { return x; }\n");
    assert_null(load(in("broken.slang")));
    ERROR_ON(gpu_device, SPY_ERROR_COMPILE, "nowhere.h", "broken.slang:1");
    write_text("broken.slang", "import nowhere;\nfloat f(float x) { return x; }\n");
    assert_null(load(in("broken.slang")));
    ERROR_ON(gpu_device, SPY_ERROR_COMPILE, "nowhere", "broken.slang:1");
}

static void test_hook(void **state) {
    NEEDS_DEVICE();
    archive.entries[0] =
        (entry){ "pak/main.slang",
                 "import part;\n#include \"k.h\"\nfloat f(float x) { return part(x) + K; }\n", 1, false };
    archive.entries[1] =
        (entry){ "pak/part.slang", "public float part(float x) { return x * 2; }\n", 1, false };
    archive.entries[2] = (entry){ "pak/k.h", "#define K 5\n", 1, false };
    spy_module *m = MADE(spy_module, load("pak/main.slang"));
    assert_true(archive.opened >= 3);
    assert_int_equal(archive.opened, archive.closed);
    assert_true(ask(m, 3) == 11);
    // The hook comes before the disk, and the disk serves what the hook has not.
    write_text("main.slang", "import part;\nfloat f(float x) { return part(x); }\n");
    write_text("part.slang", "public float part(float x) { return -x; }\n");
    assert_true(ask(MADE(spy_module, load(in("main.slang"))), 3) == -3);
    archive.entries[3] = (entry){ "/part.slang", "public float part(float x) { return x * 7; }\n", 1, false };
    assert_true(ask(MADE(spy_module, load(in("main.slang"))), 3) == 21);
    // Changes inside the archive are noticed by their stamps.
    spy_reload_info info;
    OK(spy_reload_changed(gpu_device, 0, &info));
    archive.entries[2].text = "#define K 6\n";
    OK(spy_reload_changed(gpu_device, 0, &info));
    assert_int_equal(info.reloaded, 0);
    archive.entries[2].stamp = 2;
    OK(spy_reload_changed(gpu_device, 0, &info));
    assert_int_equal(info.reloaded, 1);
    assert_true(ask(m, 3) == 12);
    // A hook that gives nothing.
    archive.entries[1].name = "pak/elsewhere.slang";
    archive.entries[3].name = NULL;
    assert_null(load("pak/main.slang"));
    ERROR_ON(gpu_device, SPY_ERROR_COMPILE, "part.slang");
    archive.entries[0].nothing = true;
    assert_null(load("pak/main.slang"));
    ERROR_ON(gpu_device, SPY_ERROR_IO, "pak/main.slang", "file hook", "NULL");
    archive.entries[0].name = NULL;
    assert_null(load("pak/main.slang"));
    ERROR_ON(gpu_device, SPY_ERROR_IO, "pak/main.slang");
    // An empty file is a file.
    archive.entries[0] = (entry){ "pak/empty.slang", "", 1, false };
    MADE(spy_module, load("pak/empty.slang"));
    spy_device_desc d = gpu_desc();
    d.files.stamp = archive_stamp;
    assert_null(spy_create_device(&d));
    ERROR_ON(NULL, SPY_ERROR_INVALID_ARGUMENT, "desc.files");
}

// >>link lists

static const char shape_user[] =
    "interface IShape { float area(float r); }\n"
    "extern struct Shape : IShape;\nextern static const int sides;\nextern static const float scale = 10;\n"
    "float f(float r) { Shape s; return s.area(r) * scale + sides; }\n";

static spy_module *linked(const char *path, spy_module *const *link, size_t count) {
    spy_module_desc d;
    memset(&d, 0, sizeof d);
    d.path = path;
    d.link = link;
    d.link_count = count;
    return spy_load_module(gpu_device, &d);
}

static void test_link(void **state) {
    NEEDS_DEVICE();
    write_text("shape.slang", shape_user);
    write_text("square.slang",
               "import shape;\nexport struct Shape : IShape { float area(float r) { return r * r; } }\n"
               "export public static const int sides = 4;\n");
    write_text("disc.slang",
               "import shape;\nexport struct Shape : IShape { float area(float r) { return 3 * r * r; } }\n"
               "export public static const int sides = 0;\nexport public static const float scale = 2;\n");
    spy_module *square = MADE(spy_module, load(in("square.slang"))),
               *disc = MADE(spy_module, load(in("disc.slang")));
    // One module's source, two programs.
    assert_true(ask(MADE(spy_module, linked(in("shape.slang"), &square, 1)), 3) == 94);
    assert_true(ask(MADE(spy_module, linked(in("shape.slang"), &disc, 1)), 3) == 54);
    // The same through a precompiled module, without its source.
    OK(spy_save_module(disc, in("compiled.slang-module")));
    assert_int_equal(remove(in("disc.slang")), 0);
    spy_module *compiled = MADE(spy_module, load(in("compiled.slang-module")));
    assert_true(ask(MADE(spy_module, linked(in("shape.slang"), &compiled, 1)), 3) == 54);
    // ... and the other way: the one with the externs is precompiled.
    spy_module *open = MADE(spy_module, load(in("shape.slang")));
    OK(spy_save_module(open, in("shape.slang-module")));
    assert_true(ask(MADE(spy_module, linked(in("shape.slang-module"), &square, 1)), 3) == 94);
    // What only a link completes has no layout here: it cannot be passed (libslang crashes when it is asked).
    static const char parameters[] =
        "extern struct S;\nnamespace n { extern struct D = E; struct E { float e; }; }\nextern static const "
        "int N;\n"
        "struct Holder { float x; S s[2]; }\nfloat whole(S s) { return 1; }\nfloat held(Holder h) { return "
        "h.x; }\n"
        "float named(n::D d) { return 1; }\nfloat sized(float x[N]) { return x[0]; }\n"
        "float f(float x) { float y[N]; for (int i = 0; i < N; i++) y[i] = x; return y[N - 1] * N; }\n";
    spy_module_desc pd;
    memset(&pd, 0, sizeof pd);
    pd.source = parameters;
    pd.name = "parameters";
    spy_module *n3 = MADE(
        spy_module,
        gpu_module(gpu_device, "n3",
                   "export public static const int N = 3;\nexport public struct S { public float a; }\n"));
    pd.link = &n3;
    pd.link_count = 1;
    spy_module *p = MADE(spy_module, spy_load_module(gpu_device, &pd));
    assert_true(ask(p, 2) == 6);
    float z = 0;
    static const char *const names[] = { "whole", "held", "named", "sized" };
    for (size_t i = 0; i < 4; i++)
        FAILS(SPY_ERROR_TYPE_MISMATCH,
              spy_call(MADE(spy_function, spy_find_function(p, names[i])),
                       SPY_ARGS(spy_arg_data(NULL, &z, 4), spy_out_f32("_result", &z))),
              "spy_call", names[i]);
    assert_int_equal(spy_type_size_bytes(p, "Holder"), 0);
    ERROR_ON(gpu_device, SPY_ERROR_TYPE_MISMATCH, "Holder");
    // Without the link it loads, and cannot be called.
    float y;
    assert_int_not_equal(spy_call(MADE(spy_function, spy_find_function(open, "f")),
                                  SPY_ARGS(spy_arg_f32(NULL, 1), spy_out_f32("_result", &y))),
                         SPY_OK);
    ERROR_ON(gpu_device, SPY_ERROR_INVALID_ARGUMENT, "spy_call: f: 'Shape' of module", "declared extern",
             "desc.link", "E45001");
}

// >>compile options

// The newest kernel in the dump folder that belongs to `function`.
static size_t dumped(const char *function, char *data, size_t capacity) {
    char command[256], path[256];
    snprintf(command, sizeof command, "ls -t %s/%s_*.spv", dumps, function);
    FILE *p = popen(command, "r");
    assert_non_null(p);
    assert_non_null(fgets(path, sizeof path, p));
    pclose(p);
    path[strcspn(path, "\n")] = 0;
    return read_bytes(path, data, capacity);
}

static bool holds(const char *data, size_t size, const char *word) {
    size_t n = strlen(word);
    for (size_t i = 0; i + n <= size; i++)
        if (memcmp(data + i, word, n) == 0) return true;
    return false;
}

static bool decorated_exact(const char *data, size_t size) { // OpDecorate %x NoContraction
    for (size_t i = 20; i + 12 <= size; i += 4) {
        uint32_t w[3];
        memcpy(w, data + i, 12);
        if (w[0] == (3u << 16 | 71u) && w[2] == 42) return true;
    }
    return false;
}

static spy_module *optioned(const char *name, const char *source, spy_compile_options options) {
    spy_module_desc d;
    memset(&d, 0, sizeof d);
    d.name = name;
    d.source = source;
    d.options = options;
    return spy_load_module(gpu_device, &d);
}

// The SPIR-V of a kernel of g<name>, whose results are checked; 0: the module was refused as unsupported.
static size_t compile_with(const char *name, spy_compile_options options, char *spirv, size_t capacity) {
    char source[400];
    snprintf(source, sizeof source,
             "float helper(float a, float b) { float t = a * b; for (int i = 0; i < 3; i++) t = t * a + b; "
             "return t; }\n"
             "float %s(float a, float b) { return helper(a, b) + a * b; }\n",
             name);
    spy_module *m = optioned(name, source, options);
    if (!m) {
        ERROR_ON(gpu_device, SPY_ERROR_UNSUPPORTED, "spy_load_module", "options.");
        return 0;
    }
    float y = 0;
    OK(spy_call(MADE(spy_function, spy_find_function(m, name)),
                SPY_ARGS(spy_arg_f32(NULL, 2), spy_arg_f32(NULL, 3), spy_out_f32("_result", &y))));
    assert_true(y == 75); // ((2 * 3 * 2 + 3) * 2 + 3) * 2 + 3 + 2 * 3, exact in float
    return dumped(name, spirv, capacity);
}

static void test_options(void **state) {
    NEEDS_DEVICE();
    if (gpu_is_cuda()) skip(); // what it looks for is in SPIR-V
    static char plain[1 << 20], other[1 << 20];
    spy_compile_options o;
    memset(&o, 0, sizeof o);
    size_t size = compile_with("g_default", o, plain, sizeof plain), n;
    assert_true(size > 0);
    assert_false(holds(plain, size, "NonSemantic"));
    assert_false(decorated_exact(plain, size));

    o.debug_info = SPY_DEBUG_INFO_FULL; // the generated kernel and the module's own functions both have it
    n = compile_with("g_debug", o, other, sizeof other);
    assert_true(holds(other, n, "NonSemantic"));
    assert_true(holds(other, n, "helper"));
    assert_true(holds(other, n, "float t = a * b"));
    o.debug_info = SPY_DEBUG_INFO_LINES;
    size_t lines = compile_with("g_lines", o, other, sizeof other);
    assert_true(lines > 0 && lines < n);
    o.debug_info = SPY_DEBUG_INFO_DEFAULT;

    o.float_mode = SPY_FLOAT_MODE_PRECISE;
    n = compile_with("g_precise", o, other, sizeof other);
    if (n) assert_true(decorated_exact(other, n));
    else print_message("this Slang has no precise mode\n");
    logged[0] = 0;
    o.float_mode = SPY_FLOAT_MODE_FAST;
    assert_true(compile_with("g_fast", o, other, sizeof other) > 0);
    assert_non_null(strstr(logged, "no effect"));
    o.float_mode = SPY_FLOAT_MODE_DEFAULT;

    o.optimization = SPY_OPTIMIZATION_NONE;
    assert_true(compile_with("g_none", o, other, sizeof other) > 0);
    o.optimization = SPY_OPTIMIZATION_HIGH; // without spirv-opt it is as NONE, and one warning says so
    logged[0] = 0;
    n = compile_with("g_high", o, other, sizeof other);
    bool warned = strstr(logged, "slang-glslang") != NULL;
    assert_true(warned ? n > 0 : n < size);
    logged[0] = 0;
    o.optimization = SPY_OPTIMIZATION_HIGHEST;
    assert_true(compile_with("g_highest", o, other, sizeof other) > 0);
    assert_null(strstr(logged, "slang-glslang"));
    o.optimization = SPY_OPTIMIZATION_DEFAULT;

    o.experimental_features = true;
    assert_true(compile_with("g_experimental", o, other, sizeof other) > 0);
    o.experimental_features = false;

    static const char careless[] = "int f(float x) { return x; }\n"; // converts without saying so
    MADE(spy_module, optioned("careless", careless, o));
    o.warnings_as_errors = true;
    assert_null(optioned("careless2", careless, o));
    ERROR_ON(gpu_device, SPY_ERROR_COMPILE, "warnings", "careless2", "float");
    assert_true(compile_with("g_strict", o, other, sizeof other) >
                0); // the kernels' own warnings are not the module's

    o.optimization = (spy_optimization)17;
    assert_null(optioned("bad", careless, o));
    ERROR_ON(gpu_device, SPY_ERROR_INVALID_ARGUMENT, "optimization 17");
    // Matrices are row-major.
    memset(&o, 0, sizeof o);
    float m[6] = { 1, 2, 3, 4, 5, 6 }, y = 0;
    spy_module *rows = MADE(spy_module, optioned("rows", "float f(float2x3 m) { return m[1][0]; }\n", o));
    OK(spy_call(
        MADE(spy_function, spy_find_function(rows, "f")),
        SPY_ARGS(spy_arg_array(NULL, m, SPY_SHAPE(2, 3), SPY_DTYPE_FLOAT32), spy_out_f32("_result", &y))));
    assert_true(y == 4);
}

static void test_conformances(void **state) {
    NEEDS_DEVICE();
    static const char source[] =
        "interface IOp { float run(float x); }\nstruct Twice : IOp { float run(float x) { return x * 2; } }\n"
        "struct Square : IOp { float run(float x) { return x * x; } }\nstruct No { float y; }\n"
        "float f(int which, float x) { IOp op = createDynamicObject<IOp>(which, 0); return op.run(x); }\n";
    const char *list[2] = { "Twice : IOp = 7", "Square:IOp=3" };
    spy_module_desc d;
    memset(&d, 0, sizeof d);
    d.source = source;
    d.conformances = list;
    d.conformance_count = 2;
    spy_module *m = MADE(spy_module, spy_load_module(gpu_device, &d));
    spy_function *f = MADE(spy_function, spy_find_function(m, "f"));
    int32_t which[2] = { 7, 3 };
    float y[2] = { 0, 0 };
    OK(spy_call(f, SPY_ARGS(spy_arg_array(NULL, which, SPY_SHAPE(2), SPY_DTYPE_INT32), spy_arg_f32(NULL, 5),
                            spy_out_array("_result", y, SPY_SHAPE(2), SPY_DTYPE_FLOAT32))));
    assert_true(y[0] == 10 && y[1] == 25);
    OK(spy_reload_module(m, NULL)); // they come back with it
    OK(spy_call(f, SPY_ARGS(spy_arg_i32(NULL, 3), spy_arg_f32(NULL, 6), spy_out_f32("_result", y))));
    assert_true(y[0] == 36);
    list[1] = "No : IOp";
    assert_null(spy_load_module(gpu_device, &d));
    ERROR_ON(gpu_device, SPY_ERROR_COMPILE, "conformance 'No : IOp'", "'No'", "'IOp'");
    list[1] = "Nothing : IOp";
    assert_null(spy_load_module(gpu_device, &d));
    ERROR_ON(gpu_device, SPY_ERROR_COMPILE, "conformance 'Nothing", "'Nothing'");
    list[1] = "Square";
    assert_null(spy_load_module(gpu_device, &d));
    ERROR_ON(gpu_device, SPY_ERROR_INVALID_ARGUMENT, "conformances[1]", "Type : IInterface");
    d.conformances = NULL;
    assert_null(spy_load_module(gpu_device, &d));
    ERROR_ON(gpu_device, SPY_ERROR_INVALID_ARGUMENT, "conformance_count");
}

// >>precompiled modules

static bool trust; // trust_precompiled of what follows

static spy_module *from_bytes(const char *name, const void *bytes, size_t size) {
    spy_module_desc d;
    memset(&d, 0, sizeof d);
    d.name = name;
    d.precompiled = bytes;
    d.precompiled_size_bytes = size;
    d.trust_precompiled = trust;
    return spy_load_module(gpu_device, &d);
}

static void test_precompiled(void **state) {
    NEEDS_DEVICE();
    static const char text[] =
        "import part;\npublic struct Pair { public float a, b; }\n"
        "public float f(float x) { return part(x) + 1; }\npublic float sum(Pair p) { return p.a + p.b; }\n"
        "public T twice<T : IArithmetic>(T x) { return x + x; }\n";
    write_text("main.slang", text);
    write_text("part.slang", "public float part(float x) { return x * 2; }\n");
    spy_module *m = MADE(spy_module, load(in("main.slang"))),
               *part = MADE(spy_module, load(in("part.slang")));
    OK(spy_save_module(m, in("out.slang-module")));
    static char bytes[1 << 20];
    size_t size = spy_serialize_module(m, NULL, 0);
    assert_true(size > 100 && size < sizeof bytes);
    char ten[11] = { 0 };
    assert_int_equal(spy_serialize_module(m, ten, 10), size); // too small: the first ten bytes
    assert_int_equal(ten[10], 0);
    assert_int_equal(spy_serialize_module(m, bytes, sizeof bytes), size);
    assert_memory_equal(ten, bytes, 10);

    // Without its source, its import as source.
    assert_int_equal(remove(in("main.slang")), 0);
    spy_module *again = MADE(spy_module, load(in("out.slang-module")));
    assert_true(ask(again, 4) == 9);
    assert_int_equal(spy_type_size_bytes(again, "Pair"), 8);
    float y = 0;
    OK(spy_call(MADE(spy_function, spy_find_function(again, "sum")),
                SPY_ARGS(spy_arg_struct(NULL, SPY_ARGS(spy_arg_f32("a", 1), spy_arg_f32("b", 2))),
                         spy_out_f32("_result", &y))));
    assert_true(y == 3);
    assert_true(call1(MADE(spy_function, spy_find_function(again, "twice")), 4) == 8);
    // Its import precompiled as well; both without source.
    OK(spy_save_module(part, in("part.slang-module")));
    assert_int_equal(remove(in("part.slang")), 0);
    again = MADE(spy_module, load(in("out.slang-module")));
    assert_true(ask(again, 4) == 9);
    OK(spy_reload_module(again, NULL));
    assert_true(ask(again, 4) == 9);
    OK(spy_reload_module(again,
                         "float f(float x) { return 5; }\n")); // text in place of compiled code, and back
    assert_true(ask(again, 4) == 5);
    OK(spy_reload_module(again, NULL));
    assert_true(ask(again, 4) == 9);
    // Out of memory, its import from the device's include path.
    assert_int_equal(rename(in("part.slang-module"), in("shared/part.slang-module")), 0);
    spy_module *memory = MADE(spy_module, from_bytes("packed", bytes, size));
    assert_true(ask(memory, 4) == 9);
    OK(spy_reload_module(memory, NULL));
    assert_true(ask(memory, 5) == 11);
    // A module from source that imports a precompiled one.
    write_text("user.slang", "import out;\nfloat h(float x) { return twice(x) + 100; }\n");
    spy_module *user = MADE(spy_module, load(in("user.slang")));
    assert_true(call1(MADE(spy_function, spy_find_function(user, "h")), 4) == 108);
    // More kernels than one session keeps: fresh sessions have it all without the files.
    assert_int_equal(remove(in("shared/part.slang-module")), 0);
    spy_function *twice = MADE(spy_function, spy_find_function(memory, "twice"));
    for (uint32_t i = 1; i <= 4; i++) assert_true(call1(twice, (float)i) == (float)(2 * i));

    // The import is missing.
    assert_null(load(in("out.slang-module")));
    ERROR_ON(gpu_device, SPY_ERROR_COMPILE, "spy_load_module", "part");
    write_text("part.slang", "public float part(float x) { return x * 3; }\n");
    assert_true(ask(MADE(spy_module, load(in("out.slang-module"))), 4) == 13);
}

static void test_damaged(void **state) {
    NEEDS_DEVICE();
    static char good[1 << 20], bad[1 << 20];
    spy_module *m = MADE(
        spy_module,
        gpu_module(gpu_device, "part",
                   "public float part(float x) { return x * 2; }\npublic float f(float x) { return x; }\n"));
    size_t size = spy_serialize_module(m, good, sizeof good), step = size / test_count(2000) + 1;
    assert_true(size > 0);
    assert_true(ask(MADE(spy_module, from_bytes("m", good, size)), 2) == 2);
    for (size_t i = 0; i < size; i += step) { // libslang itself crashes on a third of these
        memcpy(bad, good, size);
        bad[i] = (char)(bad[i] ^ (1 << (i % 8)));
        assert_null(from_bytes("m", bad, size));
        ERROR_ON(gpu_device, SPY_ERROR_COMPILE, "spy_load_module", "'m'", "damaged");
    }
    for (size_t i = 1; i < size; i += step) {
        if (i == size - 16) continue; // exactly our seal: a module as slangc writes it
        assert_null(from_bytes("m", good, i));
        ERROR_ON(gpu_device, SPY_ERROR_COMPILE, "spy_load_module", "damaged");
    }
    assert_null(from_bytes("m", "float f(float x) { return x; }", 30));
    ERROR_ON(gpu_device, SPY_ERROR_COMPILE, "not a precompiled Slang module");
    // As slangc writes it: without our seal, which is the last 16 bytes.
    size -= 16;
    assert_null(from_bytes("m", good, size));
    ERROR_ON(gpu_device, SPY_ERROR_COMPILE, "spy_load_module", "has no seal", "spy_save_module",
             "trust_precompiled");
    trust = true;
    assert_true(ask(MADE(spy_module, from_bytes("m", good, size)), 2) == 2);
    trust = false;
    for (size_t i = 12; i + 16 < size; i += step) { // libslang crashes on a third of these
        memcpy(bad, good, size);
        bad[i] = (char)(bad[i] ^ (1 << (i % 8)));
        assert_null(from_bytes("m", bad, size));
        ERROR_ON(gpu_device, SPY_ERROR_COMPILE, "has no seal");
    }
    trust = true;
    // Another version, told before libslang would end the program.
    memcpy(bad, good, size);
    char *version = NULL;
    for (size_t i = 0; i + 7 < size && !version; i++)
        if (memcmp(bad + i, "2026.1", 6) == 0) version = bad + i;
    assert_non_null(version);
    version[3] = '5';
    assert_null(from_bytes("m", bad, size));
    ERROR_ON(gpu_device, SPY_ERROR_COMPILE, "was written by Slang 2025.1", "this is Slang 2026.1");
    trust = false;
    // An import that is damaged: its source serves, with a warning; without one the reason is in the error.
    write_text("user.slang", "import part;\nfloat f(float x) { return part(x); }\n");
    write_bytes("part.slang-module", bad, size);
    write_text("part.slang", "public float part(float x) { return x * 5; }\n");
    logged[0] = 0;
    assert_true(ask(MADE(spy_module, load(in("user.slang"))), 2) == 10);
    assert_non_null(strstr(logged, "part.slang-module has no seal"));
    assert_int_equal(remove(in("part.slang")), 0);
    assert_null(load(in("user.slang")));
    ERROR_ON(gpu_device, SPY_ERROR_COMPILE, "part.slang-module has no seal");

    spy_module_desc d;
    memset(&d, 0, sizeof d);
    d.precompiled = good;
    assert_null(spy_load_module(gpu_device, &d));
    ERROR_ON(gpu_device, SPY_ERROR_INVALID_ARGUMENT, "precompiled_size_bytes");
    d.precompiled_size_bytes = size;
    d.source = "float f();";
    assert_null(spy_load_module(gpu_device, &d));
    ERROR_ON(gpu_device, SPY_ERROR_INVALID_ARGUMENT, "both");
    FAILS(SPY_ERROR_IO, spy_save_module(m, "/no/such/folder/x.slang-module"), "spy_save_module",
          "/no/such/folder");
    FAILS(SPY_ERROR_INVALID_ARGUMENT, spy_save_module(m, NULL), "spy_save_module");
    assert_int_equal(spy_serialize_module(m, NULL, 5), 0);
    ERROR_ON(gpu_device, SPY_ERROR_INVALID_ARGUMENT, "spy_serialize_module");
    assert_int_equal(spy_save_module(NULL, "x"), SPY_ERROR_INVALID_ARGUMENT);
    ERROR_ON(NULL, SPY_ERROR_INVALID_ARGUMENT, "spy_save_module");
    assert_int_equal(spy_serialize_module(NULL, NULL, 0), 0);
    ERROR_ON(NULL, SPY_ERROR_INVALID_ARGUMENT, "spy_serialize_module");
}

// >>reload

static void poll_at(uint32_t reloaded, int line) {
    spy_reload_info info = { 99, 99, 99 };
    gpu_ok(spy_reload_changed(gpu_device, 0, &info), "spy_reload_changed", __FILE__, line);
    _assert_int_equal(info.reloaded, reloaded, __FILE__, line);
    assert_int_equal(info.failed, 0);
}
#define poll(reloaded) poll_at((reloaded), __LINE__)

static void test_reload(void **state) {
    NEEDS_DEVICE();
    write_text("m.slang", "float f(float x) { return x + 1; }\nfloat g(float x) { return 1; }\n");
    spy_module *m = MADE(spy_module, load(in("m.slang")));
    spy_function *f = MADE(spy_function, spy_find_function(m, "f")),
                 *g = MADE(spy_function, spy_find_function(m, "g"));
    assert_true(call1(f, 1) == 2 && call1(g, 1) == 1);
    poll(0);
    // Two reloads in a row; the handles mean the new code, with overloads that were not there before.
    write_text("m.slang", "float f(float x) { return x + 20; }\nfloat g(float x) { return 2; }\n");
    poll(1);
    assert_true(call1(f, 1) == 21 && call1(g, 1) == 2);
    write_text("m.slang", "float f(float x) { return x + 300; }\nfloat f(int x) { return x * 2; }\nfloat "
                          "g(float x) { return 3; }\n");
    poll(1);
    assert_true(call1(f, 1) == 301 && call1(g, 1) == 3);
    float y = 0;
    OK(spy_call(f, SPY_ARGS(spy_arg_i32(NULL, 6), spy_out_f32("_result", &y))));
    assert_true(y == 12);
    assert_ptr_equal(f, spy_find_function(m, "f"));
    assert_int_equal(heard.count, 2);
    assert_ptr_equal(heard.modules[1], m);
    assert_int_equal(heard.status[1], SPY_OK);
    poll(0);
    // Explicitly, whether or not the file has changed.
    OK(spy_reload_module(m, NULL));
    assert_true(call1(f, 1) == 301);
    // By text, until the file changes or is asked for.
    OK(spy_reload_module(m, "float f(float x) { return 77; }\n"));
    assert_true(call1(f, 1) == 77);
    poll(0);
    OK(spy_reload_module(m, NULL));
    assert_true(call1(f, 1) == 301);
    OK(spy_reload_module(m, "float f(float x) { return 78; }\n"));
    // A function that goes, and comes back.
    write_text("m.slang", "float f(float x) { return x; }\n");
    poll(1);
    FAILS(SPY_ERROR_NOT_FOUND, spy_call(g, SPY_ARGS(spy_arg_f32(NULL, 1), spy_out_f32("_result", &y))),
          "spy_call", "'g'", "reloaded");
    assert_null(spy_find_function(m, "g"));
    ERROR_ON(gpu_device, SPY_ERROR_NOT_FOUND, "spy_find_function", "'g'", "reloaded");
    assert_true(call1(f, 1) == 1);
    write_text("m.slang", "float f(float x) { return x; }\nfloat g(float x) { return 4; }\n");
    poll(1);
    assert_true(call1(g, 1) == 4);
    // With the library's own Slang module, which comes from no file.
    write_text("m.slang",
               "import slangpy;\nfloat f(float x) { return x + 6; }\nfloat g(float x) { return 4; }\n");
    poll(1);
    assert_true(call1(f, 1) == 7);
    write_text("m.slang",
               "import slangpy;\nfloat f(float x) { return x; }\nfloat g(float x) { return 4; }\n");
    poll(1);
    // The rate limit: nothing is looked at before its time.
    write_text("m.slang", "float f(float x) { return -x; }\n");
    OK(spy_reload_changed(gpu_device, 3600ull * 1000000000ull, NULL));
    assert_true(call1(f, 1) == 1);
    poll(1);
    assert_true(call1(f, 1) == -1);
    // Bad objects.
    assert_int_equal(spy_reload_module(NULL, NULL), SPY_ERROR_INVALID_ARGUMENT);
    ERROR_ON(NULL, SPY_ERROR_INVALID_ARGUMENT, "spy_reload_module");
    assert_int_equal(spy_poll_reload(NULL, 0, NULL), SPY_ERROR_INVALID_ARGUMENT);
    ERROR_ON(NULL, SPY_ERROR_INVALID_ARGUMENT, "spy_poll_reload");
    assert_int_equal(spy_reload_changed(NULL, 0, NULL), SPY_ERROR_INVALID_ARGUMENT);
    ERROR_ON(NULL, SPY_ERROR_INVALID_ARGUMENT, "spy_reload_changed");
}

static void test_broken_reload(void **state) {
    NEEDS_DEVICE();
    spy_reload_info info;
    write_text("m.slang", "float f(float x) { return x + 1; }\n");
    spy_module *m = MADE(spy_module, load(in("m.slang")));
    spy_function *f = MADE(spy_function, spy_find_function(m, "f"));
    assert_true(call1(f, 1) == 2);
    uint64_t built = spy_get_device_stats(gpu_device).plans_built;
    write_text("m.slang", "float f(float x) {\n    return x + wrong;\n}\n");
    FAILS(SPY_ERROR_COMPILE, spy_reload_changed(gpu_device, 0, &info), "spy_reload_changed", "'m'",
          "m.slang:2:", "wrong");
    assert_int_equal(info.failed, 1);
    assert_int_equal(info.reloaded, 0);
    assert_int_equal(heard.count, 1);
    assert_int_equal(heard.status[0], SPY_ERROR_COMPILE);
    assert_non_null(strstr(heard.message, "m.slang:2:"));
    // Everything is as it was, plans included, and the same broken file is not tried again.
    assert_true(call1(f, 1) == 2);
    assert_int_equal(spy_get_device_stats(gpu_device).plans_built, built);
    poll(0);
    FAILS(SPY_ERROR_COMPILE, spy_reload_module(m, NULL), "spy_reload_module",
          "m.slang:2:"); // asked for it is
    FAILS(SPY_ERROR_COMPILE, spy_reload_module(m, "float f(float x) { return }"), "spy_reload_module", "'m'");
    assert_true(call1(f, 1) == 2);
    assert_int_equal(remove(in("m.slang")), 0);
    FAILS(SPY_ERROR_IO, spy_reload_changed(gpu_device, 0, &info), "m.slang", "cannot be read");
    assert_true(call1(f, 1) == 2);
    // It now needs a file that is not there; that file's appearance is a change too.
    write_text("m.slang", "import helper;\nfloat f(float x) { return helper(x); }\n");
    FAILS(SPY_ERROR_COMPILE, spy_reload_changed(gpu_device, 0, &info), "helper");
    poll(0);
    write_text("helper.slang", "public float helper(float x) { return x * 8; }\n");
    poll(1);
    assert_true(call1(f, 1) == 8);
    // Two modules changed, one of them broken: the other is reloaded.
    write_text("n.slang", "float f(float x) { return 1; }\n");
    spy_module *n = MADE(spy_module, load(in("n.slang")));
    write_text("n.slang", "float f(float x) { return 2; }\n");
    write_text("m.slang", "float f(\n");
    FAILS(SPY_ERROR_COMPILE, spy_reload_changed(gpu_device, 0, &info), "m.slang");
    assert_int_equal(info.failed, 1);
    assert_int_equal(info.reloaded, 1);
    assert_true(ask(n, 0) == 2 && call1(f, 1) == 8);
}

static void test_dependencies(void **state) {
    NEEDS_DEVICE();
    write_text("base.slang", "#include \"values.h\"\npublic float base(float x) { return x + VALUE; "
                             "}\nexport public static const int k = 1;\n");
    write_text("values.h", "#define VALUE 10\n");
    write_text("user.slang", "import base;\nfloat f(float x) { return base(x) * 2; }\n");
    write_text("other.slang", "extern static const int k;\nfloat f(float x) { return k; }\n");
    write_text("alone.slang", "float f(float x) { return x; }\n");
    spy_module *base = MADE(spy_module, load(in("base.slang"))),
               *user = MADE(spy_module, load(in("shared/../user.slang")));
    spy_module *other = MADE(spy_module, linked(in("other.slang"), &base, 1)),
               *alone = MADE(spy_module, load(in("alone.slang")));
    assert_true(ask(user, 1) == 22 && ask(other, 1) == 1 && ask(alone, 1) == 1);
    // An include of an import: the module, who imports it and who links it.
    write_text("values.h", "#define VALUE 20\n");
    poll(3);
    assert_true(ask(user, 1) == 42);
    // Explicitly: its users follow, the module that has nothing to do with it does not.
    write_text("base.slang",
               "public float base(float x) { return x + 30; }\nexport public static const int k = 5;\n");
    heard.count = 0;
    OK(spy_reload_module(base, NULL));
    assert_int_equal(heard.count, 3);
    for (size_t i = 0; i < heard.count; i++) assert_ptr_not_equal(heard.modules[i], alone);
    assert_true(ask(user, 1) == 62 && ask(other, 1) == 5);
    poll(0);
    // A change that breaks a user changes nothing at all.
    write_text("base.slang",
               "public float renamed(float x) { return x; }\nexport public static const int k = 6;\n");
    heard.count = 0;
    FAILS(SPY_ERROR_COMPILE, spy_reload_module(base, NULL), "module 'base'", "module 'user'", "base");
    assert_int_equal(heard.count, 1);
    assert_ptr_equal(heard.modules[0], user);
    assert_true(ask(user, 1) == 62 && ask(other, 1) == 5);
    MADE(spy_function, spy_find_function(base, "base"));
    poll(0);
    write_text("user.slang", "import base;\nfloat f(float x) { return renamed(x); }\n");
    poll(3); // the user is mended, and the module that broke it comes along
    assert_true(ask(user, 1) == 1 && ask(other, 1) == 6);
    // A module that links a changed one takes that along.
    write_text("base.slang",
               "public float renamed(float x) { return x; }\nexport public static const int k = 7;\n");
    OK(spy_reload_module(other, NULL));
    assert_true(ask(other, 1) == 7);
    // A file that comes to lie before the one that was found.
    write_text("shared/late.slang", "public float late() { return 1; }\n");
    write_text("early.slang", "import late;\nfloat f(float x) { return late(); }\n");
    spy_module *early = MADE(spy_module, load(in("early.slang")));
    assert_true(ask(early, 0) == 1);
    write_text("late.slang", "public float late() { return 2; }\n");
    poll(1);
    assert_true(ask(early, 0) == 2);
    // Text from memory: it stays, what it imports does not; new text can be given.
    spy_module_desc d;
    memset(&d, 0, sizeof d);
    d.name = "text";
    d.source = "import late;\nfloat f(float x) { return late() + 100; }\n";
    d.path = in("text.slang"); // for its folder
    spy_module *text = MADE(spy_module, spy_load_module(gpu_device, &d));
    write_text("late.slang", "public float late() { return 3; }\n");
    poll(2);
    assert_true(ask(text, 0) == 103);
    OK(spy_reload_module(text, "import late;\nfloat f(float x) { return late() + 200; }\n"));
    OK(spy_reload_module(text, NULL));
    assert_true(ask(text, 0) == 203);
    // A released module is left alone.
    spy_release_module(alone);
    write_text("alone.slang", "not Slang\n");
    poll(0);
}

static void test_structs(void **state) {
    NEEDS_DEVICE();
    static const char first[] = "struct P { float a; float b; }\nfloat f(P p) { return p.a + p.b; }\n"
                                "T same<T>(T x) { return x; }\nfloat g(float x) { return x; }\n";
    write_text("m.slang", first);
    spy_module *m = MADE(spy_module, load(in("m.slang")));
    spy_function *f = MADE(spy_function, spy_find_function(m, "f")),
                 *same = MADE(spy_function, spy_find_function(m, "same"));
    const float data[4] = { 1, 2, 3, 4 };
    spy_tensor *t = MADE(spy_tensor, gpu_tensor(gpu_device, SPY_DTYPE_DEFAULT, "P", m, SPY_SHAPE(2), data));
    float y[2] = { 0, 0 };
    spy_args args =
        SPY_ARGS(spy_arg_tensor("p", t), spy_out_array("_result", y, SPY_SHAPE(2), SPY_DTYPE_FLOAT32));
    OK(spy_call(f, args));
    assert_true(y[0] == 3 && y[1] == 7);
    // The same layout: the tensor goes on.
    write_text("m.slang", "struct P { float a; float b; float both() { return a * b; } }\nfloat f(P p) { "
                          "return p.both(); }\nT same<T>(T x) { return x; }\n");
    poll(1);
    OK(spy_call(f, args));
    assert_true(y[0] == 2 && y[1] == 12);
    // Another layout: an error that says so, and the output stays.
    write_text("m.slang", "struct P { float a; float b; float c; }\nfloat f(P p) { return p.a + p.b + p.c; "
                          "}\nT same<T>(T x) { return x; }\n");
    poll(1);
    FAILS(SPY_ERROR_TYPE_MISMATCH, spy_call(f, args), "spy_call", "'p'", "reloaded", "struct 'P' changed",
          "2 fields in 8 bytes", "3 in 12");
    assert_true(y[0] == 2 && y[1] == 12);
    spy_tensor *none = NULL;
    FAILS(SPY_ERROR_TYPE_MISMATCH,
          spy_call(same, SPY_ARGS(spy_arg_tensor("x", t), spy_out_tensor("_result", &none))),
          "struct 'P' changed");
    assert_null(none);
    float held[4];
    OK(spy_tensor_read(t, held, sizeof held)); // what it holds can still be read
    assert_memory_equal(held, data, sizeof data);
    const float wider[6] = { 1, 2, 3, 4, 5, 6 };
    spy_tensor *u = MADE(spy_tensor, gpu_tensor(gpu_device, SPY_DTYPE_DEFAULT, "P", m, SPY_SHAPE(2), wider));
    OK(spy_call(
        f, SPY_ARGS(spy_arg_tensor("p", u), spy_out_array("_result", y, SPY_SHAPE(2), SPY_DTYPE_FLOAT32))));
    assert_true(y[0] == 6 && y[1] == 15);
    // The struct goes.
    write_text("m.slang", "struct Q { float a; float b; }\nfloat f(Q p) { return p.a; }\n");
    poll(1);
    FAILS(SPY_ERROR_TYPE_MISMATCH, spy_call(f, args), "has no struct 'P' any more");
    // It comes back as it was, and the first tensor fits again.
    write_text("m.slang", first);
    poll(1);
    OK(spy_call(f, args));
    assert_true(y[0] == 3 && y[1] == 7);
    // Without a reload the reason is another one.
    spy_module *n =
        MADE(spy_module, gpu_module(gpu_device, "n", "struct P { int a; }\nint f(P p) { return p.a; }\n"));
    FAILS(SPY_ERROR_TYPE_MISMATCH,
          spy_call(MADE(spy_function, spy_find_function(n, "f")),
                   SPY_ARGS(spy_arg_tensor("p", t), spy_out_tensor("_result", &none))),
          "another module's struct 'P'");
}

static void test_prepared(void **state) {
    NEEDS_DEVICE();
    write_text("m.slang", "float f(float x) { return x + 1; }\nfloat slow(float x) { return x; }\n");
    spy_module *m = MADE(spy_module, load(in("m.slang")));
    spy_function *f = MADE(spy_function, spy_find_function(m, "f")),
                 *slow = MADE(spy_function, spy_find_function(m, "slow"));
    const float data[3] = { 1, 2, 3 };
    spy_tensor *t =
        MADE(spy_tensor, gpu_tensor(gpu_device, SPY_DTYPE_FLOAT32, NULL, NULL, SPY_SHAPE(3), data));
    float y[3] = { 0, 0, 0 };
    spy_args args =
        SPY_ARGS(spy_arg_tensor("x", t), spy_out_array("_result", y, SPY_SHAPE(3), SPY_DTYPE_FLOAT32));
    spy_prepared *p = MADE(spy_prepared, spy_prepare(f, args, NULL));
    OK(spy_call_prepared(p, args));
    assert_true(y[2] == 4);
    // A broken reload leaves it; a good one is taken up by its next use.
    write_text("m.slang", "float f(float x) {");
    assert_int_equal(spy_reload_changed(gpu_device, 0, NULL), SPY_ERROR_COMPILE);
    spy_take_error(gpu_device);
    OK(spy_call_prepared(p, args));
    assert_true(y[2] == 4);
    write_text("m.slang", "float f(float x) { return x * 10; }\nfloat slow(float x) { return x; }\n");
    poll(1);
    OK(spy_prepared_ready(p));
    OK(spy_call_prepared(p, args));
    assert_true(y[0] == 10 && y[2] == 30);
    OK(spy_call_prepared(p, args));
    // The function has gone.
    write_text("m.slang", "float slow(float x) { return 2 * x; }\n");
    poll(1);
    FAILS(SPY_ERROR_NOT_FOUND, spy_call_prepared(p, args), "spy_call_prepared", "'f'", "reloaded");
    FAILS(SPY_ERROR_NOT_FOUND, spy_call_prepared(p, args), "spy_call_prepared", "'f'", "reloaded");
    // It is back, for other arguments: prepared anew, it takes them.
    write_text("m.slang", "int f(int x) { return x + 1; }\nfloat slow(float x) { return 2 * x; }\n");
    poll(1);
    int32_t r = 0;
    OK(spy_call_prepared(p, SPY_ARGS(spy_arg_i32("x", 4), spy_out_i32("_result", &r))));
    assert_int_equal(r, 5);
    spy_release_prepared(p);
    // A reload while a thread compiles the old code.
    const spy_prepare_desc async = { .async = true };
    for (int i = 0; i < 5; i++) {
        char text[200];
        snprintf(text, sizeof text, "int f(int x) { return x; }\nfloat slow(float x) { return x * %d; }\n",
                 i + 3);
        write_text("m.slang", text);
        p = MADE(spy_prepared, spy_prepare(slow, args, &async));
        poll(1);
        OK(spy_call_prepared(p, args));
        assert_true(y[1] == (float)(2 * (i + 3)));
        spy_release_prepared(p);
    }
    // Released with old code in it, and never used again.
    p = MADE(spy_prepared, spy_prepare(slow, args, NULL));
    OK(spy_reload_module(m, NULL));
    spy_release_prepared(p);
    assert_true(call1(slow, 1) == 7);
}

static void test_in_flight(void **state) {
    NEEDS_DEVICE();
    write_text("m.slang", "float f(float x) { for (int i = 0; i < 200; i++) x = x + 1; return x; }\n");
    spy_module *m = MADE(spy_module, load(in("m.slang")));
    spy_function *f = MADE(spy_function, spy_find_function(m, "f"));
    spy_tensor_desc td;
    memset(&td, 0, sizeof td);
    td.shape = SPY_SHAPE(1 << 18);
    spy_tensor *t = MADE(spy_tensor, spy_create_tensor(gpu_device, &td));
    OK(spy_tensor_fill(t, 0));
    float expected = 0, *back = (float *)malloc(sizeof(float) << 18);
    for (int i = 0; i < 4; i++) { // recorded with one code each, run after the reloads
        char text[160];
        OK(spy_call(f, SPY_ARGS(spy_arg_tensor("x", t), spy_arg_tensor("_result", t))));
        expected += (float)(i == 0 ? 200 : 100 + i - 1);
        snprintf(text, sizeof text,
                 "float f(float x) { for (int i = 0; i < %d; i++) x = x + 1; return x; }\n", 100 + i);
        write_text("m.slang", text);
        poll(1);
    }
    OK(spy_tensor_read(t, back, sizeof(float) << 18));
    for (size_t i = 0; i < (size_t)1 << 18; i++)
        if (back[i] != expected)
            fail_msg("element %zu is %g, expected %g", i, (double)back[i], (double)expected);
    free(back);
}

// Many reloads with calls, tensors of changing structs and broken attempts in between: memory stays.
static void test_many_reloads(void **state) {
    NEEDS_DEVICE();
    spy_module *m = NULL;
    spy_function *f = NULL;
    size_t count = test_count(1000) < 100 ? 100 : test_count(1000), before = 0, plans = 0;
    for (size_t i = 0; i < count; i++) {
        char text[300];
        snprintf(text, sizeof text,
                 "import part;\nstruct P { float a; float b;%s }\nfloat f(P p) { return part(p.a + p.b) + "
                 "%zu; }\n",
                 i % 2 ? " float c;" : "", i);
        snprintf(logged, sizeof logged, "public float part(float x) { return x * %zu; }\n", i % 7);
        write_text("part.slang", logged);
        write_text("m.slang", text);
        heard.count = 0;
        logged[0] = 0;
        if (!m) m = MADE(spy_module, load(in("m.slang")));
        else poll(1);
        if (!f) f = MADE(spy_function, spy_find_function(m, "f"));
        float data[3] = { 1, 2, 3 }, y = 0;
        spy_tensor *t =
            MADE(spy_tensor, gpu_tensor(gpu_device, SPY_DTYPE_DEFAULT, "P", m, SPY_SHAPE(1), data));
        OK(spy_call(f, SPY_ARGS(spy_arg_tensor("p", t),
                                spy_out_array("_result", &y, SPY_SHAPE(1), SPY_DTYPE_FLOAT32))));
        assert_true(y == (float)(3 * (i % 7) + i));
        spy_release_tensor(t);
        if (i % 5 == 4) {
            write_text("part.slang", "public float part(float x) { return; y }\n");
            FAILS(SPY_ERROR_COMPILE, spy_reload_changed(gpu_device, 0, NULL), "part.slang");
        }
        if (i == count / 2)
            before = gpu_resident_bytes(), plans = (size_t)spy_get_device_stats(gpu_device).plan_count;
    }
    size_t after = gpu_resident_bytes(), grown = after > before ? after - before : 0;
    print_message("%zu reloads; the second half took %zu KiB\n", count, grown / 1024);
    assert_int_equal(spy_get_device_stats(gpu_device).plan_count, plans);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
    assert_true(grown <
                16u * 1024 * 1024); // one session with its modules is about 2 MiB: 50 of them were 100
#endif
}

int main(void) {
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(test_search),        TEST(test_hook),         TEST(test_link),    TEST(test_options),
        TEST(test_conformances),  TEST(test_precompiled),  TEST(test_damaged), TEST(test_reload),
        TEST(test_broken_reload), TEST(test_dependencies), TEST(test_structs), TEST(test_prepared),
        TEST(test_in_flight),     TEST(test_many_reloads),
    };
    return cmocka_run_group_tests(tests, gpu_hold, gpu_let_go);
}

// The Slang side, src/slang, against a real libslang: everything that its tensors can hold, at every rank, compiles for
// SPIR-V (checked by spirv-val when SPIRV_VAL names it) and CUDA; what must not compile does not; and on a Vulkan
// device the numbers are right.
#include "spy_test.h"
#include "hold_slang.h"
#ifdef SPY_TEST_SPLIT
#include "compiler/compiler.h"
#include "compiler/session.h"
#include "data/device.h"
#include "slang/embed.h"
#endif
#include <math.h>
#include <stdio.h>
#include <unistd.h>

// >>fixture

static const spyi_embedded test_files[] = { SPYI_SLANG_FILES };

typedef struct test_env {
    spyi_context ctx;
    spyi_types *types;
    spyi_compiler *compiler;
    spyi_unit *unit;
    spyi_text error;
    spyi_target target;
} test_env;

// A user's module, which kernels import beside slangpy.
static const char test_user[] =
    "import slangpy;\n"
    "public struct Item { public float3 a; public bool b; public int2 c; public bool3 d; public half e; }\n"
    "public struct Particle { public float3 position; public float mass; public int count; }\n"
    "public extension Particle : IAtomicAddable\n"
    "{\n"
    "    public static void atomic_add(Particle *at, Particle value)\n"
    "    {\n"
    "        float3.atomic_add(&at.position, value.position);\n"
    "        float.atomic_add(&at.mass, value.mass);\n"
    "        int.atomic_add(&at.count, value.count);\n"
    "    }\n"
    "}\n"
    "public float sum_of<let D : int>(ITensor<float, D> t, int[D] i) { return t[i] + t.load(i); }\n"
    "public void put<X : IWTensor<float, 2>>(X t, int2 i) { t[i] = 1; t.store(i, 2); t[1, 2] = 3; t.store(1, "
    "2, 4); }\n"
    "public void change(IRWTensor<float, 2> t, int2 i) { t[i] += t[1, 2] + t.load(1, 2); t.store(1, 2, "
    "t[i]); put(t, i); }\n"
    "public int place() { return get_call_id().shape[1] + get_call_group_id().shape[0] * 10 +\n"
    "                            CallShapeInfo::get_call_group_thread_id().shape[1] * 100 +\n"
    "                            get_call_id().dimensionality * 1000; }\n";

static const char *test_library(void) {
    const char *path = getenv("SLANGPY_SLANG_LIBRARY");
    if (!path || !*path) {
        print_message("SLANGPY_SLANG_LIBRARY is not set\n");
        skip();
    }
    return path;
}

static spy_status test_load(test_env *t, const char *source) {
    spyi_unit_desc desc;
    memset(&desc, 0, sizeof desc);
    desc.source = source;
    desc.name = "user";
    return spyi_unit_load(t->compiler, &desc, &t->unit, &t->error);
}

static void test_open(test_env *t, spyi_target target, const char *source) {
    memset(t, 0, sizeof *t);
    spy_device_desc device;
    memset(&device, 0, sizeof device);
    spyi_context_init(&t->ctx, &device);
    t->target = target;
    t->types = spyi_types_create(target);
    spyi_compiler_desc desc;
    memset(&desc, 0, sizeof desc);
    desc.target = target;
    desc.embedded = test_files;
    desc.embedded_count = sizeof test_files / sizeof test_files[0];
    t->compiler = spyi_compiler_create(&t->ctx, t->types, &desc);
    assert_non_null(t->compiler);
    if (source && test_load(t, source) != SPY_OK) fail_msg("%s", spyi_text_str(&t->error));
}

static void test_close(test_env *t) {
    spyi_unit_release(t->unit);
    spyi_compiler_destroy(t->compiler);
    spyi_types_destroy(t->types);
    spyi_context_destroy(&t->ctx);
    spyi_text_free(&t->error);
}

static bool test_valid(const void *data, size_t size) {
    const char *program = getenv("SPIRV_VAL");
    if (!program || !*program) return true;
    char path[100], command[600];
    snprintf(path, sizeof path, "/tmp/spyi_slanglib_%ld.spv", (long)getpid());
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(data, 1, size, file), size);
    fclose(file);
    snprintf(command, sizeof command, "'%s' --target-env vulkan1.2 --scalar-block-layout '%s'", program,
             path);
    bool good = system(command) == 0;
    if (good) remove(path);
    else print_error("%s is not valid\n", path);
    return good;
}

// The code of a kernel `k` with this body, which may use `tid` and the address `a`; `before` stands at file level.
static spyi_code test_code(test_env *t, const char *before, const char *body) {
    spyi_text source = { NULL, 0, 0 };
    spyi_code code;
    spyi_text_add(&source, "import slangpy;\nimport user;\n%s\n", before);
    spyi_text_add(&source, "[shader(\"compute\")] [numthreads(64, 1, 1)]\n"
                           "void k(uint3 tid : SV_DispatchThreadID, uniform uint64_t a)\n{\n");
    spyi_text_add(&source, "%s}\n", body);
    memset(&code, 0, sizeof code);
    if (spyi_unit_compile(t->unit, "k", source.data, "k", (spyi_conformances){ NULL, 0 }, &code, &t->error) != SPY_OK)
        fail_msg("%s\n%s", source.data, spyi_text_str(&t->error));
    if (t->target == SPYI_TARGET_SPIRV && !test_valid(code.data, code.size)) fail_msg("%s", source.data);
    spyi_text_free(&source);
    return code;
}

static void test_compiles(test_env *t, const char *before, const char *body) {
    spyi_code code = test_code(t, before, body);
    spyi_code_free(&code);
}

// >>all elements, at all ranks

static const char *const test_scalars[] = { "bool",     "int8_t", "int16_t",  "int",  "int64_t", "uint8_t",
                                            "uint16_t", "uint",   "uint64_t", "half", "float",   "double" };
#define TEST_SCALARS (sizeof test_scalars / sizeof test_scalars[0])

static void test_add_ints(spyi_text *text, int count, const char *begin, const char *end) {
    spyi_text_add(text, "%s", begin);
    for (int i = 0; i < count; i++) spyi_text_add(text, "%s%d", i ? ", " : "", i % 3);
    spyi_text_add(text, "%s", end);
}

// Each way of access to Tensor, WTensor and RWTensor of E at rank `rank`.
static void test_add_accesses(spyi_text *text, int rank) {
    spyi_text_add(text, "    {\n        ");
    test_add_ints(text, rank, "int[] i = { ", " };\n");
    spyi_text_add(text, "        Tensor<E, %d> t = Tensor<E, %d>((E *)a, i);\n", rank, rank);
    spyi_text_add(text, "        WTensor<E, %d> w = WTensor<E, %d>((E *)a, i, i);\n", rank, rank);
    spyi_text_add(text, "        RWNDBuffer<E, %d> rw = RWTensor<E, %d>((E *)a, i);\n", rank, rank);
    spyi_text_add(text, "        w[i] = t[i];\n        rw.store(i, t.load(i));\n");
    test_add_ints(text, rank, "        w[", "] = ");
    test_add_ints(text, rank, "t[", "];\n");
    test_add_ints(text, rank, "        w.store(", ", ");
    test_add_ints(text, rank, "rw.load(", "));\n");
    test_add_ints(text, rank, "        rw[", "] = ");
    test_add_ints(text, rank, "rw[", "];\n");
    if (rank >= 2 && rank <= 4) {
        spyi_text_add(text, "        int%d v = int%d(tid.x);\n", rank, rank);
        spyi_text_add(
            text, "        w[v] = t[uint%d(v)];\n        rw.store(v, t.load(v));\n        rw[v] = rw[v];\n",
            rank);
    }
    spyi_text_add(text, "    }\n");
}

// At all ranks, or at a low, a middle and the highest one: rank and element do not meet in the code.
static void test_element(test_env *t, const char *type, bool all) {
    spyi_text before = { NULL, 0, 0 }, body = { NULL, 0, 0 };
    spyi_text_add(&before, "typealias E = %s;", type);
    for (int rank = 1; rank <= 8; rank++)
        if (all || rank == 1 || rank == 3 || rank == 8) test_add_accesses(&body, rank);
    test_compiles(t, before.data, body.data);
    spyi_text_free(&before);
    spyi_text_free(&body);
}

static void test_elements(void **state) {
    (void)state;
    test_library();
    if (!getenv("SPIRV_VAL"))
        print_message("skipped: SPIRV_VAL does not name spirv-val; the SPIR-V is NOT checked\n");
    bool all = test_count(100) == 100;
    size_t step = all ? 1 : test_everything() ? 3 : test_count(100) > 1 ? 6 : 9, turn = 0; // each type takes a second or two
    for (int target = 0; target < 2; target++) {
        test_env t;
        char type[64];
        test_open(&t, target ? SPYI_TARGET_CUDA : SPYI_TARGET_SPIRV, test_user);
        for (size_t i = 0; i < TEST_SCALARS; i++) {
            if (turn++ % step == 0 || i == TEST_SCALARS - 1)
                test_element(&t, test_scalars[i], all || i == TEST_SCALARS - 1);
            for (int n = 2; n <= 4; n++) {
                snprintf(type, sizeof type, "vector<%s, %d>", test_scalars[i], n);
                if (turn++ % step == 0) test_element(&t, type, all);
            }
        }
        static const char *const others[] = { "float2x3", "half3x3",  "double4x4", "bool2x2",
                                              "int3x2",   "float[3]", "bool3[2]",  "double3[2]",
                                              "Item",     "Particle", "Item[2]" };
        for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
            if (turn++ % step == 0) test_element(&t, others[i], all);
        test_close(&t);
    }
}

static void test_atomics(void **state) {
    (void)state;
    test_library();
    static const char *const types[] = { "int",  "uint",     "int64_t", "uint64_t", "float",
                                         "half", "double",   "float3",  "double4",  "half3",
                                         "int2", "float2x3", "half2x2", "Particle" };
    for (int target = 0; target < 2; target++) {
        test_env t;
        char before[200];
        test_open(&t, target ? SPYI_TARGET_CUDA : SPYI_TARGET_SPIRV, test_user);
        for (int native = 0; native <= 7; native += 7) {
            for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
                if (!test_turn(i + (size_t)native + (size_t)target, 3)) continue;
                snprintf(before, sizeof before,
                         "export public static const int slangpy_atomic_floats = %d;\n"
                         "typealias E = %s;",
                         native, types[i]);
                test_compiles(&t, before,
                              "    int[2] shape = { 3, 5 };\n"
                              "    let t = AtomicTensor<E, 2>((E *)a, shape);\n"
                              "    t.add(1, 2, t[1, 2]);\n"
                              "    t.add(int2(2, 1), t[shape]);\n"
                              "    t.add(shape, t.load(shape));\n"
                              "    t[shape] = t.load(tid.xy);\n");
            }
        }
        test_close(&t);
    }
}

// A module after another one that has loaded slangpy_atomic: libslang cannot read AtomicTensor's elements where it has
// loaded that module in serialized form.
static void test_atomics_of_second_module(void **state) {
    (void)state;
    test_library();
    static const char *const firsts[] = { "import slangpy_atomic;", "import slangpy_diff;" };
    for (int first = 0; first < 2; first++) {
        test_env t;
        test_open(&t, SPYI_TARGET_SPIRV, firsts[first]);
        spyi_unit_release(t.unit);
        assert_int_equal(test_load(&t, first ? "import slangpy; import slangpy_diff;" : test_user), SPY_OK);
        test_compiles(&t, "",
                      "    int[2] shape = { 3, 5 };\n"
                      "    let t = AtomicTensor<int, 2>((int *)a, shape);\n"
                      "    t.add(1, 2, t[1, 2] + t.load(tid.xy) + t.load(1, 2));\n"
                      "    t[1, 2] = 3;\n");
        test_close(&t);
    }
}

// A second module with the same imports gets them from the compiler's copies, which are not made again; only AtomicTensor's module is
// read as text each time.
static void test_copies_of_imports(void **state) {
    (void)state;
    test_library();
    test_env t;
    test_open(&t, SPYI_TARGET_CUDA, "import mlp; import slangpy_diff; float f() { return 1; }");
    spyi_unit_release(t.unit);
    assert_int_equal(test_load(&t, "import mlp; import slangpy_diff; float g() { return 2; }"), SPY_OK);
    int copies = 0;
    for (size_t i = 0; i < t.unit->stored_count; i++) {
        const spyi_sl_stored *stored = &t.unit->stored[i];
        for (size_t k = 0; k < t.compiler->embedded_count; k++) {
            const spyi_sl_stored *kept = &t.compiler->embedded_stored[k];
            if (strcmp(t.compiler->embedded[k].name, stored->name) != 0) continue;
            assert_int_equal(kept->data != NULL, strcmp(stored->name, "slangpy_atomic") != 0);
            if (!kept->data) continue;
            copies++;
            if (stored->size != kept->size || memcmp(stored->data, kept->data, kept->size) != 0)
                fail_msg("'%s' was serialized again", stored->name);
        }
    }
    assert_int_equal(copies, 4); // slangpy, slangpy_add, slangpy_diff, mlp
    test_close(&t);
}

// How many instructions of this kind the code has.
static int test_count_op(const spyi_code *code, uint32_t op) {
    const uint32_t *words = (const uint32_t *)code->data;
    int count = 0;
    for (size_t i = 5; i < code->size / 4; i += words[i] >> 16)
        if ((words[i] & 0xffff) == op) count++;
    return count;
}

// Floats are added by the device itself when it says that it can, and in a loop otherwise.
static void test_atomic_choice(void **state) {
    (void)state;
    test_library();
    static const char body[] = "    int[1] shape = { 3 };\n"
                               "    AtomicTensor<float, 1>((float *)a, shape).add(1, 2.0f);\n";
    enum { compare_exchange = 230, float_add = 6035 };
    test_env t;
    test_open(&t, SPYI_TARGET_SPIRV, test_user);
    for (int native = 0; native < 8; native++) { // 2 and 4 are about half and double
        char before[100];
        snprintf(before, sizeof before, "export public static const int slangpy_atomic_floats = %d;", native);
        spyi_code code = test_code(&t, native ? before : "", body);
        assert_int_equal(test_count_op(&code, float_add), native & 1);
        assert_int_equal(test_count_op(&code, compare_exchange), !(native & 1));
        spyi_code_free(&code);
    }
    test_close(&t);
}

static void test_uses(void **state) {
    (void)state;
    test_library();
    for (int target = 0; target < 2; target++) {
        test_env t;
        test_open(&t, target ? SPYI_TARGET_CUDA : SPYI_TARGET_SPIRV, test_user);
        test_compiles(&t, "",
                      "    int[2] s = { 3, 5 };\n"
                      "    let t = RWTensor<float, 2>((float *)a, s);\n"
                      "    int2 i = int2(tid.xy);\n"
                      "    t[i] = sum_of(t, s) + sum_of(NDBuffer<float, 2>((float *)a, s), s) + t.shape[1];\n"
                      "    put(t, i);\n"
                      "    put(WTensor<float, 2>((float *)a, s), i);\n"
                      "    change(t, i);\n"
                      "    change(AtomicTensor<float, 2>((float *)a, s), i);\n"
                      "    int id = i.y * s[1] + i.x;\n"
                      "    spyi_set_call(id, s);\n"
                      "    WangHash h = WangHash(tid.x, 7, 2, false);\n"
                      "    t[0, 0] = place() + h.next_float(1, 2) + h.next();\n");
        spyi_unit_release(t.unit);
        t.unit = NULL;
        // A user's own names come first, and the import may be written as text.
        if (test_load(&t, "import \"slangpy\";\n"
                          "public uint wang_hash(uint x) { return x; }\n"
                          "public uint twice(uint x) { return wang_hash(x) * 2; }\n"
                          "public struct Tensor { float x; }\n"
                          "public float of(Tensor t) { return t.x; }\n") != SPY_OK)
            fail_msg("%s", spyi_text_str(&t.error));
        test_close(&t);
    }
}

// The second module gets slangpy in serialized form; macros of the first, whatever their names, are not in it.
static void test_twice(void **state) {
    (void)state;
    test_library();
    static const spy_define defines[] = {
        { "T", "3" }, { "D", "(" }, { "N", "7" }, { "S", "" }, { "I", "0" }
    };
    test_env t;
    test_open(&t, SPYI_TARGET_SPIRV, NULL);
    for (int i = 0; i < 2; i++) {
        spyi_unit_desc desc;
        memset(&desc, 0, sizeof desc);
        desc.source = "import slangpy;\npublic float f(Tensor<float, 2> x) { return x[1, 2]; }\n";
        desc.name = "user";
        desc.defines = i ? NULL : defines;
        desc.define_count = i ? 0 : sizeof defines / sizeof defines[0];
        if (spyi_unit_load(t.compiler, &desc, &t.unit, &t.error) != SPY_OK)
            fail_msg("%s", spyi_text_str(&t.error));
        test_compiles(
            &t, "export public static const int slangpy_atomic_floats = 1;",
            "    int[2] s = { 3, 5 };\n"
            "    AtomicTensor<float, 2>((float *)a, s).add(1, 2, f(Tensor<float, 2>((float *)a, s)));\n");
        if (i == 0) spyi_unit_release(t.unit);
    }
    test_close(&t);
}

static void test_refusals(void **state) {
    (void)state;
    test_library();
    static const struct {
        const char *body, *word;
    } rows[] = {
        { "    t[1, 2, 3];\n", "as many indices" },
        { "    t[1];\n", "as many indices" },
        { "    t.load(1);\n", "as many indices" },
        { "    rw.store(1, 2.0f);\n", "as many indices" },
        { "    t[1, 2] = 3;\n", "l-value" },
        { "    t.store(1, 2, 3);\n", "store" },
        { "    w.load(1, 2);\n", "load" },
        { "    rw.add(1, 2, 3);\n", "add" },
        { "    t[int3(1, 2, 3)];\n", "" },
        { "    AtomicTensor<bool, 2> b;\n", "IAtomicAddable" },
        { "    AtomicTensor<Item, 2> b;\n", "IAtomicAddable" },
        { "    sum_of(w, s);\n", "ITensor<float, 2>" },
        { "    put(t, int2(1));\n", "" },
    };
    test_env t;
    test_open(&t, SPYI_TARGET_SPIRV, test_user);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        spyi_text source = { NULL, 0, 0 };
        spyi_code code;
        spyi_text_add(&source,
                      "import slangpy;\nimport user;\n[shader(\"compute\")] [numthreads(64, 1, 1)]\n"
                      "void k(uniform uint64_t a)\n{\n    int[2] s = { 3, 5 };\n"
                      "    let t = Tensor<float, 2>((float *)a, s);\n"
                      "    let w = WTensor<float, 2>((float *)a, s);\n"
                      "    let rw = RWTensor<float, 2>((float *)a, s);\n%s}\n",
                      rows[i].body);
        spyi_text_clear(&t.error);
        spy_status status = spyi_unit_compile(t.unit, "k", source.data, "k", (spyi_conformances){ NULL, 0 }, &code, &t.error);
        if (status != SPY_ERROR_COMPILE) fail_msg("row %zu compiles: %s", i, rows[i].body);
        if (!strstr(spyi_text_str(&t.error), rows[i].word))
            fail_msg("'%s' is not in:\n%s", rows[i].word, spyi_text_str(&t.error));
        spyi_text_free(&source);
    }
    test_close(&t);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_elements), cmocka_unit_test(test_atomics), cmocka_unit_test(test_atomics_of_second_module),
        cmocka_unit_test(test_atomic_choice), cmocka_unit_test(test_copies_of_imports),
        cmocka_unit_test(test_uses),     cmocka_unit_test(test_twice),   cmocka_unit_test(test_refusals),
    };
    return cmocka_run_group_tests(tests, hold_slang, let_slang_go);
}

// Binding from inside: which element types feed which parameters and at what cost, what a call's key tells apart, and which
// overload and mapping a call gets. Costs and rules are those of design.md ("Values and types", "Mapping and broadcast").
#include "spy_test.h"
#ifdef SPY_TEST_SPLIT
#include "backend/null/null.h"
#include "call/call.h"
#include "data/fit.h"
#endif

static spy_device *device;
static spy_module *module;

static const char source[] = "struct P { float a; float3 b; }\n"
                             "int which(int8_t x) { return 0; }\n"
                             "int which(int x) { return 1; }\n"
                             "int which(float x) { return 2; }\n"
                             "int which(float x, float y = 1) { return 3; }\n"
                             "int which(double x) { return 4; }\n"
                             "float g(float x, float3 v, float m[2]) { return x; }\n"
                             "float p(P q) { return q.a; }\n"
                             "T gen<T : IArithmetic>(T x) { return x; }\n"
                             "float gen(float x) { return x; }\n";

static int setup(void **state) {
    spy_device_desc d;
    spy_module_desc m;
    (void)state;
    memset(&d, 0, sizeof d);
    memset(&m, 0, sizeof m);
    d.backend = spyi_null_backend();
    device = spy_create_device(&d);
    if (!device) return -1;
    m.name = "bind";
    m.source = source;
    module = spy_load_module(device, &m);
    if (!module) print_error("%s\n", spy_take_error(device).message);
    return module ? 0 : -1;
}

static int teardown(void **state) {
    (void)state;
    spy_release_device(device);
    return 0;
}

static const spyi_type *type_of(const char *name) {
    const spyi_type *t = spyi_type_parse(device->types, name);
    if (!t) t = spyi_unit_find_type(module->unit, name);
    if (!t) fail_msg("no type %s", name);
    return t;
}

// >>what feeds what

static void test_fits(void **state) {
    // element in memory, parameter; consumed trailing dimensions with their sizes, or -1: refused. As device input, as host
    // input, as output. Device memory is never narrowed, rounded or made a bool; outputs are never converted.
    static const struct {
        const char *element, *type;
        int device, host, output, d0, d1;
    } rows[] = {
        { "float", "float", 0, 0, 0, 0, 0 },
        { "float", "float3", 1, 1, 1, 3, 0 },
        { "float", "float2x3", 2, 2, 2, 2, 3 },
        { "float3", "float2x3", 1, 1, 1, 2, 0 },
        { "float2", "float2x3", -1, -1, -1, 0, 0 },
        { "float", "float[4]", 1, 1, 1, 4, 0 },
        { "float3", "float3[2]", 1, 1, 1, 2, 0 },
        { "float", "float3[2]", 2, 2, 2, 2, 3 },
        { "float3", "float", -1, -1, -1, 0, 0 },
        { "float3", "float4", -1, -1, -1, 0, 0 },
        { "float3", "float3", 0, 0, 0, 0, 0 },
        { "int", "float", 0, 0, -1, 0, 0 },
        { "int", "float3", 1, 1, -1, 3, 0 },
        { "float", "int", -1, 0, -1, 0, 0 },
        { "double", "float", -1, 0, -1, 0, 0 },
        { "float", "double", 0, 0, -1, 0, 0 },
        { "half", "float", 0, 0, -1, 0, 0 },
        { "float", "half", -1, 0, -1, 0, 0 },
        { "int64_t", "int", -1, 0, -1, 0, 0 },
        { "int", "int64_t", 0, 0, -1, 0, 0 },
        { "int", "bool", -1, 0, -1, 0, 0 },
        { "bool", "int", 0, 0, -1, 0, 0 },
        { "bool", "float", 0, 0, -1, 0, 0 },
        { "P", "P", 0, 0, 0, 0, 0 },
        { "P", "float", -1, -1, -1, 0, 0 },
        { "float", "P", -1, -1, -1, 0, 0 },
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const spyi_type *element = type_of(rows[i].element), *type = type_of(rows[i].type);
        for (int way = 0; way < 3; way++) {
            spyi_fit fit;
            memset(&fit, 0, sizeof fit);
            bool fits = way == 1 ? spyi_fit_host(element, type, false, &fit) : spyi_fit_memory(element, type, way == 2, &fit);
            int expected = way == 0 ? rows[i].device : way == 1 ? rows[i].host : rows[i].output;
            if (fits != (expected >= 0) || (fits && (int)fit.consumed != expected))
                fail_msg("%s for %s, way %d: %s with %u dimensions, expected %d", rows[i].element, rows[i].type, way, fits ? "fits" : "does not fit", fit.consumed, expected);
            if (!fits) continue;
            if (fit.consumed > 0) assert_int_equal(fit.dims[0], rows[i].d0);
            if (fit.consumed > 1) assert_int_equal(fit.dims[1], rows[i].d1);
        }
    }
}

static uint32_t cost(spy_dtype from, spy_dtype to) {
    spyi_fit fit;
    return spyi_fit_memory(spyi_type_scalar(device->types, from), spyi_type_scalar(device->types, to), false, &fit) ? fit.cost : UINT32_MAX;
}

// An exact type is cheaper than a widened one, that than another sign of the same width, that than a float, that than a wider
// type that loses the sign; losses of bits are refused. For all pairs of scalars.
static void test_costs(void **state) {
    (void)state;
    for (int from = SPY_DTYPE_BOOL; from < SPY_DTYPE_COUNT; from++)
        for (int to = SPY_DTYPE_BOOL; to < SPY_DTYPE_COUNT; to++) {
            uint32_t c = cost((spy_dtype)from, (spy_dtype)to);
            bool from_float = from >= SPY_DTYPE_FLOAT16, to_float = to >= SPY_DTYPE_FLOAT16;
            size_t from_size = spy_dtype_size_bytes((spy_dtype)from), to_size = spy_dtype_size_bytes((spy_dtype)to);
            if (from == to) assert_int_equal(c, 0);
            else assert_true(c > 0);
            if (to == SPY_DTYPE_BOOL && from != SPY_DTYPE_BOOL) assert_int_equal(c, UINT32_MAX);
            if (from_float && !to_float) assert_int_equal(c, UINT32_MAX);
            if (from != SPY_DTYPE_BOOL && to_size < from_size) assert_int_equal(c, UINT32_MAX);
        }
    assert_true(cost(SPY_DTYPE_INT8, SPY_DTYPE_INT32) < cost(SPY_DTYPE_INT32, SPY_DTYPE_UINT32));
    assert_true(cost(SPY_DTYPE_INT32, SPY_DTYPE_UINT32) < cost(SPY_DTYPE_INT8, SPY_DTYPE_FLOAT32));
    assert_true(cost(SPY_DTYPE_INT8, SPY_DTYPE_FLOAT32) < cost(SPY_DTYPE_INT8, SPY_DTYPE_UINT32));
}

// >>keys

static spyi_values values_of(spy_function *f, spy_args args) {
    spyi_values v;
    spyi_text error = { NULL, 0, 0 };
    memset(&v, 0, sizeof v);
    if (spyi_describe(f, args, NULL, NULL, &v, &error) != SPY_OK) fail_msg("%s", spyi_text_str(&error));
    return v;
}

static bool same_key(spy_function *f, spy_args a, spy_args b) {
    spyi_values x = values_of(f, a), y = values_of(f, b);
    bool same = x.key_size == y.key_size && memcmp(x.key, y.key, x.key_size) == 0;
    spyi_values_free(&x);
    spyi_values_free(&y);
    return same;
}

static spy_tensor *tensor(spy_shape shape, const char *type) {
    spy_tensor_desc d;
    memset(&d, 0, sizeof d);
    d.shape = shape;
    d.type = type;
    spy_tensor *t = spy_create_tensor(device, &d);
    assert_non_null(t);
    return t;
}

// Shapes and values are not in the key; kinds, types, ranks, names, order, maps, casts and nesting are.
static void test_keys(void **state) {
    (void)state;
    spy_function *f = spy_find_function(module, "g");
    spy_tensor *t3 = tensor(SPY_SHAPE(3), NULL), *t5 = tensor(SPY_SHAPE(5), NULL), *t35 = tensor(SPY_SHAPE(3, 5), NULL), *i3 = tensor(SPY_SHAPE(3), "int");
    float one = 1;
#define SAME(a, b) assert_true(same_key(f, a, b))
#define OTHER(a, b) assert_false(same_key(f, a, b))
#define A1(a) SPY_ARGS(a)
    SAME(A1(spy_arg_f32("x", 1)), A1(spy_arg_f32("x", 2)));
    SAME(A1(spy_arg_tensor("x", t3)), A1(spy_arg_tensor("x", t5)));
    SAME(A1(spy_arg_array("x", &one, SPY_SHAPE(1), SPY_DTYPE_FLOAT32)), A1(spy_arg_array("x", &one, SPY_SHAPE(1), SPY_DTYPE_DEFAULT)));
    OTHER(A1(spy_arg_tensor("x", t3)), A1(spy_arg_tensor("x", t35)));
    OTHER(A1(spy_arg_tensor("x", t3)), A1(spy_arg_tensor("x", i3)));
    OTHER(A1(spy_arg_tensor("x", t3)), A1(spy_arg_tensor("y", t3)));
    OTHER(A1(spy_arg_tensor("x", t3)), A1(spy_arg_tensor(NULL, t3)));
    OTHER(A1(spy_arg_f32("x", 1)), A1(spy_arg_i32("x", 1)));
    OTHER(A1(spy_arg_f32("x", 1)), A1(spy_arg_f64("x", 1)));
    OTHER(A1(spy_arg_f32("x", 1)), A1(spy_out_f32("x", &one)));
    OTHER(A1(spy_inout_f32("x", &one)), A1(spy_out_f32("x", &one)));
    OTHER(A1(spy_arg_tensor("x", t35)), A1(spy_vmap(spy_arg_tensor("x", t35), SPY_DIMS(0, 1))));
    OTHER(A1(spy_vmap(spy_arg_tensor("x", t35), SPY_DIMS(1, 0))), A1(spy_vmap(spy_arg_tensor("x", t35), SPY_DIMS(0, 1))));
    OTHER(A1(spy_vcast(spy_arg_tensor("x", t35), "float3")), A1(spy_arg_tensor("x", t35)));
    OTHER(A1(spy_arg_data("x", &one, 4)), A1(spy_arg_data("x", &one, 3)));
    // Neighbouring names must not run into each other, nor a name into a cast.
    OTHER(SPY_ARGS(spy_arg_f32("ab", 1), spy_arg_f32("c", 1)), SPY_ARGS(spy_arg_f32("a", 1), spy_arg_f32("bc", 1)));
    OTHER(A1(spy_vcast(spy_arg_f32("ab", 1), "c")), A1(spy_vcast(spy_arg_f32("a", 1), "bc")));
    // {a, {b}} and {a, b} and {{a}, b}
    OTHER(SPY_ARGS(spy_arg_struct("s", SPY_ARGS(spy_arg_f32("a", 1), spy_arg_f32("b", 1)))), SPY_ARGS(spy_arg_struct("s", SPY_ARGS(spy_arg_f32("a", 1))), spy_arg_f32("b", 1)));
    spy_release_tensor(t3);
    spy_release_tensor(t5);
    spy_release_tensor(t35);
    spy_release_tensor(i3);
}

// >>the choice

static const char *explained(const char *function, spy_args args) {
    static char text[16384];
    spy_function *f = spy_find_function(module, function);
    assert_non_null(f);
    spy_explain_call(f, args, NULL, text, sizeof text);
    (void)spy_take_error(device);
    return text;
}
#define EXPLAINS(function, args, words)                                                                       \
    do {                                                                                                      \
        const char *text_ = explained(function, args);                                                        \
        if (!strstr(text_, words)) fail_msg("'%s' is not in: %s", words, text_);                              \
    } while (0)

static void test_overloads(void **state) {
    (void)state;
    EXPLAINS("which", SPY_ARGS(spy_arg_i32(NULL, 1)), "int which(int x)\n");
    EXPLAINS("which", SPY_ARGS(spy_arg_f32(NULL, 1)), "Slang cannot tell calls of these overloads apart"); // one has a default
    EXPLAINS("which", SPY_ARGS(spy_arg_f64(NULL, 1)), "int which(double x)\n");
    EXPLAINS("which", SPY_ARGS(spy_arg_f32(NULL, 1), spy_arg_f32(NULL, 1)), "int which(float x, float y");
    spy_tensor *bytes = tensor(SPY_SHAPE(3), "int8_t"), *shorts = tensor(SPY_SHAPE(3), "int16_t");
    EXPLAINS("which", SPY_ARGS(spy_arg_tensor(NULL, bytes)), "int which(int8_t x)\n");
    EXPLAINS("which", SPY_ARGS(spy_arg_tensor(NULL, shorts)), "int which(int x)\n"); // widening before int to float
    EXPLAINS("gen", SPY_ARGS(spy_arg_f32("x", 1)), "float gen(float x)\n");           // concrete before generic
    EXPLAINS("gen", SPY_ARGS(spy_arg_tensor("x", shorts)), "gen");
    spy_release_tensor(bytes);
    spy_release_tensor(shorts);
}

// The table's last column: which kernel dimension each argument dimension became.
static void test_table(void **state) {
    (void)state;
    float m[2] = { 1, 2 };
    spy_tensor *x = tensor(SPY_SHAPE(7, 5), NULL), *v = tensor(SPY_SHAPE(5, 3), NULL), *out = tensor(SPY_SHAPE(7, 5), NULL);
    const char *text = explained("g", SPY_ARGS(spy_arg_tensor("x", x), spy_arg_tensor("v", v), spy_arg_f32n("m", m, 2), spy_arg_tensor("_result", out)));
    const char *row = strstr(text, "\n  v ");
    assert_non_null(row); // (5, 3): 3 feeds the type, 5 is aligned at the call's last dimension
    assert_true(strstr(row, "dimensions (1)") && strstr(row, "dimensions (1)") < strstr(row + 1, "\n"));
    row = strstr(text, "\n  x ");
    assert_true(row && strstr(row, "dimensions (0, 1)") < strstr(row + 1, "\n"));
    row = strstr(text, "\n  m ");
    assert_true(row && strstr(row, "dimensions ()") < strstr(row + 1, "\n"));
    assert_non_null(strstr(text, "call shape (7, 5)"));
    text = explained("g", SPY_ARGS(spy_vmap(spy_arg_tensor("x", spy_create_select(x, 0, 0)), SPY_DIMS(0)), spy_vmap(spy_arg_tensor("v", v), SPY_DIMS(1)), spy_arg_f32n("m", m, 2)));
    assert_non_null(strstr(text, "call shape (5, 5)")); // outer product
    row = strstr(text, "\n  v ");
    assert_true(row && strstr(row, "dimensions (1)") < strstr(row + 1, "\n"));
    EXPLAINS("p", SPY_ARGS(spy_arg_struct("q", SPY_ARGS(spy_arg_tensor("b", v), spy_arg_f32("a", 1)))), "q.b");
}

int main(void) {
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_fits), cmocka_unit_test(test_costs), cmocka_unit_test(test_keys), cmocka_unit_test(test_overloads), cmocka_unit_test(test_table) };
    return cmocka_run_group_tests(tests, setup, teardown);
}

// Types, layouts and functions by reflection, resolution of calls, and names that crash libslang.
#include "compiler_test.h"

// >>types

static const char test_types_source[] =
    "namespace ns\n{\n"
    "struct Foo<let N : int> { float a[N]; bool b; int c; };\n"
    "struct Bar { float3 x; half3 h; Foo<3> f; double d; float e; };\n"
    "float f(Bar b) { return b.x.x; }\n"
    "}\n"
    "enum Color { Red, Green };\n"
    "enum class Small : uint8_t { A, B };\n"
    "struct S { Color e; Small f; bool g; float2x3 m; half3x3 hm; bool3 b3; float a[3][2]; };\n"
    "struct GS<T, let N : int> where T : IFloat { T v[N]; static T st(T x) { return x; } static U gst<U : "
    "IFloat>(U x) { return x; } };\n"
    "struct D { double a; float b; };\nstruct DD { D d; float c; };\n"
    "struct Empty {};\n"
    "struct Res { StructuredBuffer<float> b; float x; };\n"
    "struct Ptrs { float *p; };\n"
    "interface IShape { float area(); }\n"
    "struct Circle : IShape { float r; float area() { return r; } static float make(float r) { return r; }\n"
    "  static float make(int r) { return 1; } property float twice { get { return r * 2; } } };\n"
    "struct Base { float x; };\n"
    "typealias Alias = GS<float, 4>;\n"
    "struct HasTuple { Tuple<int, float> t; };\nstruct HasOptional { Optional<float> o; };\n";

static void test_find_types(void **state) {
    (void)state;
    test_library();
    test_env t;
    test_open(&t, SPYI_TARGET_SPIRV, NULL, NULL);
    spyi_unit *u = test_load(&t, test_types_source);

    static const struct {
        const char *name, *type, *display; // type NULL: there is none
        spyi_type_kind kind;
        size_t host, device;
    } rows[] = {
        { "float3", "vector<float,3>", "float3", SPYI_TYPE_VECTOR, 12, 12 },
        { "half4x4", "matrix<half,4,4>", "half4x4", SPYI_TYPE_MATRIX, 32, 32 },
        { "float[3][2]", "Array<Array<float,2>,3>", "float[3][2]", SPYI_TYPE_ARRAY, 24, 24 },
        { "ns::Foo<3>", "ns.Foo<3>", "Foo<3>", SPYI_TYPE_STRUCT, 20, 20 },
        { "ns.Foo< 3 >", "ns.Foo<3>", "Foo<3>", SPYI_TYPE_STRUCT, 20, 20 },
        { "ns.Bar", "ns.Bar", "Bar", SPYI_TYPE_STRUCT, 56, 52 },
        { "D", "D", "D", SPYI_TYPE_STRUCT, 16, 12 },
        { "DD", "DD", "DD", SPYI_TYPE_STRUCT, 24, 16 },
        { "DD[3]", "Array<DD,3>", "DD[3]", SPYI_TYPE_ARRAY, 72, 48 },
        { "ns::Foo<3>[4][2]", "Array<Array<ns.Foo<3>,2>,4>", "Foo<3>[4][2]", SPYI_TYPE_ARRAY, 160, 160 },
        { "Color", "Color", "Color", SPYI_TYPE_SCALAR, 4, 4 },
        { "Small", "Small", "Small", SPYI_TYPE_SCALAR, 1, 1 },
        { "Empty", "Empty", "Empty", SPYI_TYPE_STRUCT, 0, 0 },
        { "Circle", "Circle", "Circle", SPYI_TYPE_STRUCT, 4, 4 },
        { "Res", "Res", "Res", SPYI_TYPE_OTHER, 0, 0 },
        { "Ptrs", "Ptrs", "Ptrs", SPYI_TYPE_STRUCT, 8, 8 },
        { "IShape", "IShape", "IShape", SPYI_TYPE_OTHER, 0, 0 },
        { "HasTuple", "HasTuple", "HasTuple", SPYI_TYPE_OTHER, 0, 0 },
        { "nosuch", NULL, NULL, SPYI_TYPE_OTHER, 0, 0 },
        { "Foo", NULL, NULL, SPYI_TYPE_OTHER, 0, 0 },
        { "ns", NULL, NULL, SPYI_TYPE_OTHER, 0, 0 },
        { "GS<int,3>", NULL, NULL, SPYI_TYPE_OTHER, 0, 0 },
        { "GS<half>", NULL, NULL, SPYI_TYPE_OTHER, 0, 0 },
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; ++i) {
        const spyi_type *type = spyi_unit_find_type(u, rows[i].name);
        if (!rows[i].type) {
            if (type) print_error("%s was found: %s\n", rows[i].name, type->name);
            assert_null(type);
            continue;
        }
        if (!type) print_error("%s was not found\n", rows[i].name);
        assert_non_null(type);
        assert_string_equal(type->name, rows[i].type);
        assert_string_equal(type->display, rows[i].display);
        assert_int_equal(type->kind, rows[i].kind);
        assert_int_equal(type->host_size, rows[i].host);
        assert_int_equal(type->device_size, rows[i].device);
        assert_ptr_equal(type, spyi_unit_find_type(u, rows[i].name));
    }
    assert_ptr_equal(spyi_unit_find_type(u, "Alias"), spyi_unit_find_type(u, "GS<float,4>"));

    const spyi_type *bar = spyi_unit_find_type(u, "ns.Bar");
    assert_int_equal(bar->field_count, 5);
    static const size_t host[] = { 0, 12, 20, 40, 48 }, device[] = { 0, 12, 20, 40, 48 };
    for (uint32_t i = 0; i < 5; ++i) {
        assert_int_equal(bar->fields[i].host_offset, host[i]);
        assert_int_equal(bar->fields[i].device_offset, device[i]);
    }
    assert_string_equal(bar->fields[2].name, "f");
    assert_string_equal(bar->fields[2].type->name, "ns.Foo<3>");
    assert_false(bar->same_layout); // its bool

    const spyi_type *s = spyi_unit_find_type(u, "S");
    static const size_t s_host[] = { 0, 4, 5, 8, 32, 50, 56 }, s_device[] = { 0, 4, 8, 12, 36, 56, 68 };
    assert_int_equal(s->field_count, 7);
    for (uint32_t i = 0; i < 7; ++i) {
        assert_int_equal(s->fields[i].host_offset, s_host[i]);
        assert_int_equal(s->fields[i].device_offset, s_device[i]);
    }
    assert_int_equal(s->fields[0].type->scalar, SPY_DTYPE_INT32);
    assert_int_equal(s->fields[1].type->scalar, SPY_DTYPE_UINT8);
    assert_string_equal(s->fields[6].type->name, "Array<Array<float,2>,3>");
    assert_true(spyi_unit_conforms(u, spyi_unit_find_type(u, "Circle"), "IShape"));
    assert_false(spyi_unit_conforms(u, bar, "IShape"));
    assert_false(spyi_unit_conforms(u, bar, "Circle"));
    assert_false(spyi_unit_conforms(u, bar, "*"));
    assert_true(spyi_unit_conforms(u, spyi_unit_find_type(u, "float3"), "IDifferentiable"));
    spyi_unit_release(u);
    test_close(&t);
}

// The tables in type.c against reflection: a struct of one member and a byte after it shows its size and
// alignment.
static void test_layouts(void **state) {
    (void)state;
    test_library();
    static const char *const scalars[] = { "bool", "int8_t",  "uint8_t",  "int16_t", "uint16_t", "int",
                                           "uint", "int64_t", "uint64_t", "half",    "float",    "double" };
    for (int target = 0; target < 2; ++target) {
        test_env t;
        spyi_text text = { NULL, 0, 0 };
        test_open(&t, target ? SPYI_TARGET_CUDA : SPYI_TARGET_SPIRV, NULL, NULL);
        char type_names[512][64];
        size_t count = 0;
        for (size_t s = 0; s < sizeof scalars / sizeof scalars[0]; ++s) {
            snprintf(type_names[count++], 64, "%s", scalars[s]);
            for (int c = 1; c <= 4; ++c) {
                snprintf(type_names[count++], 64, "vector<%s,%d>", scalars[s], c);
                for (int r = 1; r <= 4; ++r)
                    snprintf(type_names[count++], 64, "matrix<%s,%d,%d>", scalars[s], r, c);
            }
        }
        for (size_t i = 0; i < count; ++i)
            spyi_text_add(&text, "struct T%zu { uint8_t before; %s m; };\nstruct A%zu { %s m[2]; };\n", i,
                          type_names[i], i, type_names[i]);
        spyi_unit *u = test_load(&t, spyi_text_str(&text));
        for (size_t i = 0; i < count; ++i) {
            char name[32];
            snprintf(name, sizeof name, "T%zu", i);
            const spyi_type *type = spyi_type_parse(t.types, type_names[i]),
                            *outer = spyi_unit_find_type(u, name);
            assert_non_null(type);
            if (!outer || outer->kind != SPYI_TYPE_STRUCT ||
                outer->fields[1].device_offset != type->device_align)
                print_error("%s (%d)\n", type_names[i], target);
            assert_non_null(outer);
            assert_int_equal(outer->kind, SPYI_TYPE_STRUCT);
            assert_ptr_equal(outer->fields[1].type, type);
            assert_int_equal(outer->fields[1].device_offset, type->device_align);
            snprintf(name, sizeof name, "A%zu", i);
            outer = spyi_unit_find_type(u, name);
            assert_int_equal(outer->kind, SPYI_TYPE_STRUCT);
            if (outer->device_size != outer->fields[0].type->device_size)
                print_error("%s[2] (%d): %zu, not %zu\n", type_names[i], target, outer->device_size,
                            outer->fields[0].type->device_size);
            assert_int_equal(outer->device_size, outer->fields[0].type->device_size);
        }
        spyi_unit_release(u);
        spyi_text_free(&text);
        test_close(&t);
    }
}

// Every name that is known to crash libslang, and much like them.
static void test_hostile_names(void **state) {
    (void)state;
    test_library();
    test_env t;
    test_open(&t, SPYI_TARGET_SPIRV, NULL, NULL);
    spyi_unit *u = test_load(&t, test_types_source);
    static const char *const names[] = {
        "",
        " ",
        "*",
        "float*",
        "Foo<3>*",
        "float *p",
        "float* const",
        "Foo<3>>",
        "ns.Foo<3",
        "ns::Foo<3>>",
        "f(1)",
        "()",
        "f()",
        "functype(float)->float",
        "float3 float",
        "GS<",
        "GS<>",
        "GS<,>",
        "GS<half,>",
        "GS<half,3",
        "<",
        ">",
        "<>",
        ",",
        ".",
        "..",
        "ns.",
        ".ns",
        "ns..Bar",
        "ns::",
        "::Bar",
        "ns:Bar",
        "ns:::Bar",
        "[",
        "]",
        "[3]",
        "float[",
        "float]",
        "float[]",
        "float[-1]",
        "float[0]",
        "float[3]]",
        "Foo[3",
        "D[3][",
        "D[0]",
        "D[99999999999999999999]",
        "a b",
        "a<b> c",
        "a<b>c",
        "1",
        "1a",
        "-1",
        "\"x\"",
        "'",
        "{",
        "}",
        "{}",
        ";",
        "a;b",
        "a+b",
        "a=b",
        "!a",
        "a?b:c",
        "#",
        "@",
        "$init",
        "Circle::$init",
        "Circle::twice",
        "Circle.twice",
        "operator+",
        "a\nb",
        "a\tb",
        "\x80\xff",
        "this",
        "struct",
        "if",
        "for",
        "void",
        "import",
        "true",
        "null",
        "GS<half,-3>",
        "GS<half,0>",
        "GS<half,99999999999>",
        "GS<void,3>",
        "GS<IShape,3>",
        "vector<void,3>",
        "vector<float,0>",
        "vector<float,99>",
        "vector<Circle,3>",
        "matrix<float,0,0>",
        "vector<float>",
        "vector",
        "matrix",
        "Array",
        "Array<float>",
        "Array<,3>",
        "Array<Array<Array<Array<Array<Array<Array<Array<Array<float,1>,1>,1>,1>,1>,1>,1>,1>,1>",
        "float.Differential.Differential.Differential",
        "Circle.Nothing",
        "ns.f.x",
        "max.x",
        "max<float",
        "max<float>>",
        "max<*>",
        "max<(>",
        "GS<GS<half,3>,3>",
        "GS.st",
        "GS::st",
        "GS::gst",
        "IShape.area",
        "IShape::area",
        "Circle::area",
        "__init",
        "Color.Red",
        "Color::Red",
        "Color::Nothing",
        "Small",
        "f<float*>",
        "f<1+2>",
        "f<a.b.c>",
        "f<\"x\">",
        "Optional<float>",
        "Tuple<>",
        "Ptr<float>",
        "StructuredBuffer<float>",
        "RWStructuredBuffer<D>",
        "Texture2D<float4>",
        "DescriptorHandle<Texture2D>",
        "ParameterBlock<D>",
        "ConstantBuffer<D>",
        "DifferentialPair<float>",
        "IDifferentiable",
        "IArray<float>",
        "Atomic<int>",
        "CoopVec<float,4>",
        "NativeString",
        "String",
        "uintptr_t",
        "SamplerState",
        "RaytracingAccelerationStructure",
        "none_t",
    };
    for (size_t i = 0; i < sizeof names / sizeof names[0]; ++i) {
        spyi_overloads overloads;
        spyi_signature signature;
        int chosen;
        const spyi_type *args[2];
        args[0] = spyi_unit_find_type(u, names[i]);
        args[1] = spyi_type_scalar(t.types, SPY_DTYPE_FLOAT32);
        assert_int_equal(spyi_unit_find_function(u, names[i], &overloads, &t.error), SPY_OK);
        spyi_overloads_free(&overloads);
        if (!args[0]) args[0] = spyi_type_other(t.types, names[i]);
        for (uint32_t n = 0; n <= 2; ++n) {
            if (spyi_unit_resolve(u, names[i], -1, args + 1, n ? 1 : 0, &signature, &chosen))
                spyi_signature_free(&signature);
            if (spyi_unit_resolve(u, "max", -1, args, n, &signature, &chosen))
                spyi_signature_free(&signature);
            if (spyi_unit_resolve(u, "ns::f", 0, args, n, &signature, &chosen))
                spyi_signature_free(&signature);
        }
        (void)spyi_unit_conforms(u, args[0], names[i]);
        spyi_text_clear(&t.error);
        spyi_unit_near_names(u, names[i], &t.error);
        spyi_unit_explain(u, names[i], args, 1, &t.error);
        spyi_text_clear(&t.error);
    }
    static const char *const nothing[] = { "float*",   "ns::Foo<3>>", "f(1)", "float3 float",
                                           "ns.Foo<3", "()",          "",     "float[]",
                                           "float[0]" };
    for (size_t i = 0; i < sizeof nothing / sizeof nothing[0]; ++i)
        assert_null(spyi_unit_find_type(u, nothing[i]));
    // Random spellings out of the pieces that matter.
    static const char *const pieces[] = { "GS", "ns", "f", "float", "3", "<", ">",      ",",   ".",
                                          "::", "[",  "]", " ",     "*", "(", "Circle", "max", "-" };
    uint32_t random = 12345;
    for (size_t i = 0; i < test_count(20000); ++i) {
        char name[128] = "";
        random = random * 1664525u + 1013904223u;
        uint32_t length = 1 + (random >> 16) % 8;
        for (uint32_t k = 0; k < length; ++k) {
            random = random * 1664525u + 1013904223u;
            strcat(name, pieces[(random >> 12) % (sizeof pieces / sizeof pieces[0])]);
        }
        spyi_overloads overloads;
        (void)spyi_unit_find_type(u, name);
        assert_int_equal(spyi_unit_find_function(u, name, &overloads, &t.error), SPY_OK);
        spyi_overloads_free(&overloads);
    }
    spyi_unit_release(u);
    test_close(&t);
}

// >>functions

static const char test_functions_source[] =
    "namespace ns { public float f(float b) { return b; } }\n"
    "struct P { float3 x; };\n"
    "struct GS<T : IFloat> { T v; static T st(T x) { return x; } static U gst<U : IFloat>(U x) { return x; } "
    "};\n"
    "float ov(int a) { return 1; }\nfloat ov(float a) { return 2; }\nfloat ov(float3 a) { return 3; }\n"
    "float dflt(float a, float b = 2) { return a; }\n"
    "T gen<T : IFloat, let N : int>(T x[N]) { return x[0]; }\n"
    "vector<T, N> gv<T : __BuiltinFloatingPointType, let N : int>(vector<T, N> a, T b) { return a; }\n"
    "float mix_open<T : IFloat>(T a, float3 b, P c, float d[4], float e[3][2]) { return 0; }\n"
    "[Differentiable] float df(float x, no_diff float y, in float w, inout float q, out float r) { r = q; "
    "return x * y; }\n"
    "struct M { float z; static float st(float x) { return x; } static float st(int x) { return 1; } float "
    "me(float y) { return z; } };\n"
    "void nothing() {}\n"
    "float buf(StructuredBuffer<float> b) { return b[0]; }\n"
    "float nested(float a[2][3]) { return a[0][0]; }\n";

static void test_functions(void **state) {
    (void)state;
    test_library();
    test_env t;
    test_open(&t, SPYI_TARGET_SPIRV, NULL, NULL);
    spyi_unit *u = test_load(&t, test_functions_source);
    static const struct {
        const char *name;
        uint32_t count;
        const char *display; // of the first
        bool generic;
    } rows[] = {
        { "ns::f", 1, "float ns::f(float b)", false },
        { "ns.f", 1, "float ns.f(float b)", false },
        { "ov", 3, "float ov(int a)", false },
        { "dflt", 1, "float dflt(float a, float b = ...)", false },
        { "gen", 1, "T gen(T[N] x)", true },
        { "gen<float,4>", 1, "float gen<float,4>(float[4] x)", false },
        { "gen<float, 4>", 1, "float gen<float, 4>(float[4] x)", false },
        { "mix_open", 1, "float mix_open(T a, float3 b, P c, float[4] d, float[3][2] e)", true },
        { "df", 1, "float df(float x, no_diff float y, float w, inout float q, out float r)", false },
        { "M::st", 2, "float M::st(float x)", false },
        { "GS<half>::st", 1, "half GS<half>::st(half x)", false },
        { "GS<half>::gst", 1, "U GS<half>::gst(U x)", true },
        { "nothing", 1, "void nothing()", false },
        { "nested", 1, "float nested(float[2][3] a)", false },
        { "M::me", 1, "float M::me(M this, float y)", false },
        { "f", 0, NULL, false },
        { "nosuch", 0, NULL, false },
        { "P", 1, "P(float3 x = ...)", false },
        { "gen<float>", 0, NULL, false },
        { "gen<int,4>", 0, NULL, false },
    };
    for (int round = 0; round < 2; ++round) {
        for (size_t i = 0; i < sizeof rows / sizeof rows[0]; ++i) {
            spyi_overloads o;
            assert_int_equal(spyi_unit_find_function(u, rows[i].name, &o, &t.error), SPY_OK);
            if (o.count != rows[i].count || (o.count && strcmp(o.items[0].display, rows[i].display) != 0))
                print_error("%s: %u, %s\n", rows[i].name, o.count, o.count ? o.items[0].display : "-");
            assert_int_equal(o.count, rows[i].count);
            if (o.count) {
                assert_string_equal(o.items[0].display, rows[i].display);
                assert_int_equal(o.items[0].generic, rows[i].generic);
            }
            spyi_overloads_free(&o);
        }
        if (round == 0) // a fresh session, out of what was stored, must say the same
            for (int i = 0; i < 60; ++i) {
                char source[256];
                spyi_code code;
                snprintf(source, sizeof source,
                         "import user;\n[shader(\"compute\")] [numthreads(1,1,1)]\n"
                         "void k(uniform float *p) { p[0] = ns::f(p[1]) + %d; }\n",
                         i);
                assert_int_equal(spyi_unit_compile(u, "k", source, "k", none, &code, &t.error), SPY_OK);
                spyi_code_free(&code);
            }
    }
    spyi_text_clear(&t.error);
    spyi_overloads o;
    spyi_unit_find_function(u, "df", &o, &t.error);
    const spyi_param *p = o.items[0].params;
    assert_true(o.items[0].differentiable);
    assert_true(p[0].in && !p[0].out && !p[0].no_diff);
    assert_true(p[1].in && !p[1].out && p[1].no_diff);
    assert_true(p[2].in && !p[2].out);
    assert_true(p[3].in && p[3].out);
    assert_true(!p[4].in && p[4].out);
    assert_string_equal(p[3].name, "q");
    spyi_overloads_free(&o);
    spyi_unit_find_function(u, "dflt", &o, &t.error);
    assert_true(!o.items[0].params[0].has_default && o.items[0].params[1].has_default);
    spyi_overloads_free(&o);
    spyi_unit_find_function(u, "buf", &o, &t.error);
    assert_int_equal(o.items[0].params[0].type->kind, SPYI_TYPE_OTHER);
    assert_contains(o.items[0].params[0].type->name, "StructuredBuffer<float");
    spyi_overloads_free(&o);

    spyi_text_clear(&t.error);
    spyi_unit_near_names(u, "nothin", &t.error);
    assert_string_equal(spyi_text_str(&t.error), ", did you mean 'nothing'?");
    spyi_text_clear(&t.error);
    spyi_unit_near_names(u, "GEN", &t.error);
    assert_contains(spyi_text_str(&t.error), "'gen'");
    spyi_text_clear(&t.error);
    spyi_unit_near_names(u, "M::sr", &t.error);
    assert_contains(spyi_text_str(&t.error), "'M::st'");
    spyi_text_clear(&t.error);
    spyi_unit_near_names(u, "completely_different_words", &t.error);
    assert_string_equal(spyi_text_str(&t.error), "");
    spyi_unit_release(u);
    test_close(&t);
}

// >>resolution

static const char test_resolve_source[] =
    "interface IShape { float area(); }\n"
    "struct Circle : IShape { float r; float area() { return r; } };\nstruct Plain { float r; };\n"
    "float f1(float a) { return a; }\nfloat fi(int a) { return 1; }\nfloat f3(float3 a) { return 1; }\n"
    "float fb(bool a) { return 1; }\nfloat fa(float a[3]) { return 1; }\nfloat fm(float3x3 a) { return 1; }\n"
    "float ov(int a) { return 1; }\nfloat ov(float a) { return 2; }\nfloat ov(float3 a) { return 3; }\n"
    "float fd(float a) { return 1; }\nfloat fd(double a) { return 1; }\n"
    "float vs(float3 a) { return 1; }\nfloat vs(float a[3]) { return 1; }\n"
    "float fo(out half a) { a = 0; return 1; }\nvoid fio(inout float3 a) {}\n"
    "float sh(IShape s) { return s.area(); }\nfloat gsh<T : IShape>(T s) { return s.area(); }\n"
    "T g1<T : IFloat>(T a) { return a; }\nT g2<T : IArithmetic>(T a, T b) { return a; }\n"
    "vector<T, N> gv<T : __BuiltinFloatingPointType, let N : int>(vector<T, N> a) { return a; }\n"
    "T ga<T : IFloat, let N : int>(T a[N]) { return a[0]; }\n"
    "T gu<T : IFloat, let N : uint>(T a[N]) { return a[0]; }\n"
    "float gval<let K : int>(float a) { return a * K; }\nTo gcast<To : IFloat, From : IFloat>(From a) { "
    "return To(0); }\n"
    "struct GS<T, let N : int> { T v[N]; };\nT gs<T, let N : int>(GS<T, N> a) { return a.v[0]; }\n"
    "float df(float a, float b = 2) { return a; }\nfloat d2(float a) { return a; }\nfloat d2(float a, float "
    "b = 1) { return a; }\n"
    "float sg(float a) { return a; }\nT sg<T : IFloat>(T a) { return a; }\n"
    "float anyt<T>(T a) { return 1; }\nvoid pk<each T : IFloat>(expand each T a) {}\n"
    "struct M { static float st(float x) { return x; } static float st(int x) { return 1; } "
    "float me(float y) { return y; }\n"
    "float both(int x) { return 1; } static float both(float x) { return x; } };\n"
    "struct Conv { float v; __implicit_conversion(500) __init(float3 x) { v = x.x; } };\nfloat fc(Conv c) { "
    "return c.v; }\n"
    "enum E { A, B };\nfloat fe(E e) { return 1; }\n";

static void test_resolve(void **state) {
    (void)state;
    test_library();
    test_env t;
    test_open(&t, SPYI_TARGET_SPIRV, NULL, NULL);
    spyi_unit *u = test_load(&t, test_resolve_source);
    static const struct {
        const char *name;
        int overload;
        const char *types[3];
        const char *display; // NULL: no
        int chosen;
    } rows[] = {
        { "f1", -1, { "float" }, "float f1(float a)", 0 },
        { "f1", -1, { "half" }, "float f1(float a)", 0 },
        { "f1", -1, { "double" }, "float f1(float a)", 0 },
        { "f1", -1, { "int" }, "float f1(float a)", 0 },
        { "f1", -1, { "bool" }, "float f1(float a)", 0 },
        { "f1", -1, { "float3" }, NULL, 0 },
        { "f1", -1, { "Plain" }, NULL, 0 },
        { "f1", -1, { NULL }, NULL, 0 },
        { "f1", -1, { "float", "float" }, NULL, 0 },
        { "fi", -1, { "float" }, "float fi(int a)", 0 },
        { "fi", -1, { "E" }, "float fi(int a)", 0 },
        { "fe", -1, { "E" }, "float fe(E e)", 0 },
        { "fe", -1, { "int" }, NULL, 0 },
        { "fb", -1, { "float" }, "float fb(bool a)", 0 },
        { "f3", -1, { "float3" }, "float f3(float3 a)", 0 },
        { "f3", -1, { "float" }, "float f3(float3 a)", 0 },
        { "f3", -1, { "half3" }, "float f3(float3 a)", 0 },
        { "f3", -1, { "float2" }, NULL, 0 },
        { "f3", -1, { "float4" }, NULL, 0 },
        { "f3", -1, { "float[3]" }, NULL, 0 },
        { "fa", -1, { "float[3]" }, "float fa(float[3] a)", 0 },
        { "fa", -1, { "float3" }, NULL, 0 },
        { "fa", -1, { "int[3]" }, NULL, 0 },
        { "fm", -1, { "float3x3" }, "float fm(float3x3 a)", 0 },
        { "fm", -1, { "float4x4" }, NULL, 0 },
        { "ov", -1, { "int" }, "float ov(int a)", 0 },
        { "ov", -1, { "float" }, "float ov(float a)", 1 },
        { "ov", -1, { "float3" }, "float ov(float3 a)", 2 },
        { "ov", -1, { "half" }, "float ov(float a)", 1 },
        { "ov", -1, { "bool" }, "float ov(int a)", 0 },
        { "ov", -1, { "double" }, NULL, 0 },
        { "ov", 0, { "float" }, "float ov(int a)", 0 },
        { "ov", 1, { "float" }, "float ov(float a)", 1 },
        { "ov", 2, { "float" }, "float ov(float3 a)", 2 },
        { "ov", 3, { "float" }, NULL, 0 },
        { "fd", -1, { "half" }, NULL, 0 },
        { "fd", -1, { "double" }, "float fd(double a)", 1 },
        { "vs", -1, { "float[3]" }, "float vs(float[3] a)", 1 },
        { "vs", -1, { "float" }, "float vs(float3 a)", 0 },
        { "fo", -1, { "half" }, "float fo(out half a)", 0 },
        { "fo", -1, { "float" }, NULL, 0 },
        { "fio", -1, { "float3" }, "void fio(inout float3 a)", 0 },
        { "fio", -1, { "half3" }, NULL, 0 },
        { "sh", -1, { "Circle" }, "float sh(IShape s)", 0 },
        { "sh", -1, { "Plain" }, NULL, 0 },
        { "gsh", -1, { "Circle" }, "float gsh(Circle s)", 0 },
        { "gsh", -1, { "Plain" }, NULL, 0 },
        { "gsh", -1, { "IShape" }, NULL, 0 },
        { "g1", -1, { "half" }, "half g1(half a)", 0 },
        { "g1", -1, { "int" }, "float g1(float a)", 0 },
        { "g1", -1, { "float3" }, "float3 g1(float3 a)", 0 },
        { "g2", -1, { "int", "int" }, "int g2(int a, int b)", 0 },
        { "g2", -1, { "float", "int" }, "float g2(float a, float b)", 0 },
        { "gv", -1, { "half3" }, "half3 gv(half3 a)", 0 },
        { "gv", -1, { "double2" }, "double2 gv(double2 a)", 0 },
        { "ga", -1, { "float[5]" }, "float ga(float[5] a)", 0 },
        { "gu", -1, { "half[4]" }, "half gu(half[4] a)", 0 },
        { "gval", -1, { "float" }, NULL, 0 },
        { "gval<4>", -1, { "float" }, "float gval(float a)", 0 },
        { "gcast<half,float>", -1, { "float" }, "half gcast(float a)", 0 },
        { "gs", -1, { "GS<half,3>" }, "half gs(GS<half, 3> a)", 0 },
        { "df", -1, { "float" }, "float df(float a, float b = ...)", 0 },
        { "df", -1, { "float", "half" }, "float df(float a, float b = ...)", 0 },
        { "d2", -1, { "float" }, NULL, 0 },
        { "d2", 0, { "float" }, "float d2(float a)", 0 },
        { "sg", -1, { "float" }, "float sg(float a)", 0 },
        { "sg", -1, { "half" }, "half sg(half a)", 1 },
        { "anyt", -1, { "Circle" }, "float anyt(Circle a)", 0 },
        { "anyt", -1, { "void" }, NULL, 0 },
        { "anyt", -1, { "nosuch" }, NULL, 0 },
        { "pk", -1, { NULL }, "void pk()", 0 },
        { "pk", -1, { "float" }, "void pk(float a)", 0 },
        { "M::st", -1, { "int" }, "float M::st(int x)", 1 },
        { "M::st", -1, { "float" }, "float M::st(float x)", 0 },
        { "M::me", -1, { "float" }, NULL, 0 },
        { "M::both", 0, { "int" }, NULL, 0 },
        { "M::both", 1, { "float" }, "float M::both(float x)", 1 },
        { "fc", -1, { "float3" }, "float fc(Conv c)", 0 },
        { "fc", -1, { "half3" }, NULL, 0 },
        { "max", -1, { "float", "float" }, "float max(float x, float y)", -2 },
        { "lerp", -1, { "float3", "float3", "float3" }, "float3 lerp(float3 x, float3 y, float3 s)", -2 },
        { "nosuch", -1, { "float" }, NULL, 0 },
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; ++i) {
        const spyi_type *types[3];
        uint32_t count = 0;
        while (count < 3 && rows[i].types[count]) {
            types[count] = spyi_unit_find_type(u, rows[i].types[count]);
            if (!types[count]) types[count] = spyi_type_other(t.types, rows[i].types[count]);
            ++count;
        }
        spyi_signature s;
        int chosen = -9;
        bool good = spyi_unit_resolve(u, rows[i].name, rows[i].overload, types, count, &s, &chosen);
        if (good != (rows[i].display != NULL) || (good && strcmp(s.display, rows[i].display) != 0))
            print_error("row %zu, %s(%s): %s\n", i, rows[i].name, rows[i].types[0] ? rows[i].types[0] : "",
                        good ? s.display : "no");
        assert_int_equal(good, rows[i].display != NULL);
        if (!good) continue;
        assert_string_equal(s.display, rows[i].display);
        if (rows[i].chosen >= 0) assert_int_equal(chosen, rows[i].chosen);
        assert_false(s.generic);
        spyi_signature_free(&s);
    }

    const spyi_type *plain = spyi_unit_find_type(u, "Plain"), *two[2];
    spyi_unit_explain(u, "ov", &plain, 1, &t.error);
    assert_contains(spyi_text_str(&t.error), "ov");
    assert_contains(spyi_text_str(&t.error), "user.slang:10:7: note: ");
    assert_null(strstr(spyi_text_str(&t.error), "slangpy-query"));
    spyi_text_clear(&t.error);
    two[0] = two[1] = spyi_type_scalar(t.types, SPY_DTYPE_FLOAT32);
    spyi_unit_explain(u, "f1", two, 2, &t.error);
    assert_contains(spyi_text_str(&t.error), "f1");
    spyi_text_clear(&t.error);
    spyi_unit_explain(u, "f1", two, 1, &t.error);
    assert_string_equal(spyi_text_str(&t.error), ""); // nothing is wrong
    spyi_unit_release(u);
    test_close(&t);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_find_types), cmocka_unit_test(test_layouts), cmocka_unit_test(test_functions),
        cmocka_unit_test(test_resolve), cmocka_unit_test(test_hostile_names),
    };
    return cmocka_run_group_tests(tests, hold_slang, let_slang_go);
}

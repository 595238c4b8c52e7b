// Reflection through the public API, on the null backend and with the real compiler: every kind of declaration, types and
// their layouts for both targets, what is refused, fresh sessions, reloads, large and empty modules.
#include "spy_test.h"
#include "hold_slang.h"
#ifdef SPY_TEST_SPLIT
#include "api/reflect.h"
#include "backend/null/null.h"
#include "compiler/internal.h"
#include "module/module.h"
#endif
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

// >>fixture

typedef struct fixture {
    spyi_null_desc null_desc;
    spy_device *device;
    spy_module *module;
    spyi_text report;
} fixture;

static spy_module *load(fixture *t, const char *name, const char *source) {
    spy_module_desc d;
    memset(&d, 0, sizeof d);
    d.name = name;
    d.source = source;
    spy_module *m = spy_load_module(t->device, &d);
    if (!m) fail_msg("%s", spy_take_error(t->device).message);
    return m;
}

static void open_device(fixture *t, spyi_target target) {
    memset(t, 0, sizeof *t);
    spy_device_desc d;
    memset(&d, 0, sizeof d);
    t->null_desc.target = target;
    t->null_desc.report = &t->report;
    d.backend = spyi_null_backend();
    d.backend_desc = &t->null_desc;
    t->device = spy_create_device(&d);
    if (!t->device) fail_msg("%s", spy_take_error(NULL).message);
}

static void open_module(fixture *t, const char *source) {
    open_device(t, SPYI_TARGET_SPIRV);
    t->module = load(t, "user", source);
}

static void close_device(fixture *t) {
    spy_error e = spy_take_error(t->device);
    if (e.code != SPY_OK) fail_msg("left over: %s", e.message);
    spy_release_device(t->device);
    if (t->report.size) fail_msg("%s", spyi_text_str(&t->report));
    spyi_text_free(&t->report);
}

static const spy_decl *find(fixture *t, const char *path) {
    const spy_decl *d = spy_find_decl(t->module, path);
    if (!d) fail_msg("%s", spy_take_error(t->device).message);
    return d;
}

static const spy_type_info *type(fixture *t, const char *name) {
    const spy_type_info *info = spy_reflect_type(t->module, name);
    if (!info) fail_msg("%s", spy_take_error(t->device).message);
    return info;
}

// The device's error has this code and holds all of the words.
static void error_is(spy_device *device, spy_status code, const char *const *words) {
    spy_error e = spy_take_error(device);
    assert_int_equal(e.code, code);
    for (; *words; words++)
        if (!strstr(e.message, *words)) fail_msg("'%s' lacks '%s'", e.message, *words);
}
#define ERROR_IS(device, code, ...)                                                                           \
    do {                                                                                                      \
        const char *const error_words[] = { __VA_ARGS__, NULL };                                              \
        error_is((device), (code), error_words);                                                              \
    } while (0)

// A tree as text, a line a declaration: what it is, its path and its text.
static void print_tree(const spy_decl *d, int depth, bool places, spyi_text *out) {
    spyi_text_add(out, "%*s%d|%s|%s|%x", depth, "", (int)d->kind, d->path, d->text, d->flags);
    if (d->type) spyi_text_add(out, "|%s %zu %zu", d->type->name, d->type->size_bytes, d->type->device_size_bytes);
    if (places) spyi_text_add(out, "|%s:%u", d->file, d->line);
    for (uint32_t i = 0; i < d->attribute_count; i++)
        spyi_text_add(out, "|@%s/%u", d->attributes[i].name, d->attributes[i].arg_count);
    spyi_text_add(out, "\n");
    for (uint32_t i = 0; i < d->child_count; i++) print_tree(&d->children[i], depth + 1, places, out);
}

// What must hold in every tree.
static void check_tree(fixture *t, const spy_decl *d) {
    assert_true(d->name && d->path && d->text && d->file && d->value.string);
    assert_true(d->child_count == 0 || d->children != NULL);
    bool others = false;
    for (uint32_t i = 0; i < d->child_count; i++) {
        const spy_decl *c = &d->children[i];
        assert_ptr_equal(c->parent, d);
        assert_int_not_equal(c->kind, SPY_DECL_KIND_MODULE);
        assert_null(strchr(c->name, '$'));
        assert_true(*c->text != '\0');
        if (c->kind == SPY_DECL_KIND_FIELD) assert_false(others);
        else others = true;
        if (*c->path && c->kind != SPY_DECL_KIND_PARAMETER && c->kind != SPY_DECL_KIND_GENERIC_TYPE &&
            c->kind != SPY_DECL_KIND_GENERIC_VALUE) { // its path leads to it or to one of its name before it
            const spy_decl *found = find(t, c->path);
            while (found && found != c && found->kind == c->kind) found = spy_next_overload(found);
            if (found != c && found && found->kind == c->kind) fail_msg("%s", c->path);
        }
        if (c->type) assert_true(*c->type->name != '\0');
        check_tree(t, c);
    }
    if (d->type && d->type->decl) assert_string_equal(d->type->decl->path[0] ? "" : "none", "");
}

static void open_checked(fixture *t, const char *source) {
    open_module(t, source);
    const spy_decl *root = spy_reflect_module(t->module);
    if (!root) fail_msg("%s", spy_take_error(t->device).message);
    assert_int_equal(root->kind, SPY_DECL_KIND_MODULE);
    assert_string_equal(root->name, "user");
    assert_null(root->parent);
    check_tree(t, root);
}

static uint32_t count_kind(const spy_decl *d, spy_decl_kind kind) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < d->child_count; i++) n += d->children[i].kind == kind;
    return n;
}

// The i-th child of that kind.
static const spy_decl *child(const spy_decl *d, spy_decl_kind kind, uint32_t index) {
    for (uint32_t i = 0; i < d->child_count; i++)
        if (d->children[i].kind == kind && index-- == 0) return &d->children[i];
    fail_msg("'%s' has too few children of kind %d", d->path, (int)kind);
    return NULL;
}

#define HAS(decl, flag) assert_true(((decl)->flags & (flag)) != 0)
#define LACKS(decl, flag) assert_true(((decl)->flags & (flag)) == 0)

// >>functions

static void test_functions(void **state) {
    (void)state;
    fixture t;
    open_checked(&t, "float f(float a, no_diff float b, out float c, inout float3 d, int k = -3, float q = 2.5, float z = 1.0 + 2) { c = 0; return a; }\n"
                     "int f(int x) { return x; }\n"
                     "[Differentiable] float g(float x) { return x; }\n"
                     "void h() { }\n"
                     "void both(in float a, in out float b) { b = a; }\n"
                     "float operator+(float3 a, int b) { return 0; }\n"
                     "T gen<T : IFloat, let N : int>(T x, float y[N]) { return x; }\n"
                     "namespace ns { namespace deep { float f(float x) { return x; } } }\n"
                     "namespace ns { float again() { return 1; } }\n");
    const spy_decl *root = spy_reflect_module(t.module), *f = find(&t, "f");
    assert_int_equal(count_kind(root, SPY_DECL_KIND_FUNCTION), 7);
    assert_int_equal(f->kind, SPY_DECL_KIND_FUNCTION);
    assert_string_equal(f->text, "float f(float a, no_diff float b, out float c, inout float3 d, int k = -3, float q = 2.5, float z = ...)");
    assert_string_equal(f->type->name, "float");
    assert_int_equal(f->child_count, 7);
    const spy_decl *p = f->children;
    HAS(&p[0], SPY_DECL_FLAG_IN);
    LACKS(&p[0], SPY_DECL_FLAG_IN_WRITTEN | SPY_DECL_FLAG_OUT | SPY_DECL_FLAG_NO_DIFF | SPY_DECL_FLAG_HAS_DEFAULT);
    HAS(&p[1], SPY_DECL_FLAG_NO_DIFF);
    HAS(&p[2], SPY_DECL_FLAG_OUT);
    LACKS(&p[2], SPY_DECL_FLAG_IN);
    HAS(&p[3], SPY_DECL_FLAG_IN);
    HAS(&p[3], SPY_DECL_FLAG_OUT);
    assert_int_equal(p[3].type->kind, SPY_TYPE_KIND_VECTOR);
    assert_int_equal(p[4].value.kind, SPY_CONSTANT_KIND_INT);
    assert_int_equal(p[4].value.int_value, -3);
    assert_int_equal(p[5].value.kind, SPY_CONSTANT_KIND_FLOAT);
    assert_true(p[5].value.float_value == 2.5);
    HAS(&p[6], SPY_DECL_FLAG_HAS_DEFAULT);
    assert_int_equal(p[6].value.kind, SPY_CONSTANT_KIND_NONE);
    const spy_decl *both = find(&t, "both");
    HAS(&both->children[0], SPY_DECL_FLAG_IN | SPY_DECL_FLAG_IN_WRITTEN);
    HAS(&both->children[1], SPY_DECL_FLAG_IN | SPY_DECL_FLAG_IN_WRITTEN | SPY_DECL_FLAG_OUT);
    assert_string_equal(both->children[1].text, "inout float b");
    const spy_decl *second = spy_next_overload(f);
    assert_non_null(second);
    assert_string_equal(second->text, "int f(int x)");
    assert_null(spy_next_overload(second));
    HAS(find(&t, "g"), SPY_DECL_FLAG_DIFFERENTIABLE);
    LACKS(f, SPY_DECL_FLAG_DIFFERENTIABLE);
    assert_int_equal(find(&t, "h")->type->kind, SPY_TYPE_KIND_VOID);
    assert_string_equal(find(&t, "operator+")->text, "float operator+(float3 a, int b)");
    const spy_decl *gen = find(&t, "gen");
    HAS(gen, SPY_DECL_FLAG_GENERIC);
    assert_string_equal(gen->text, "T gen<T : IFloat, let N : int>(T x, float[N] y)");
    assert_string_equal(child(child(gen, SPY_DECL_KIND_GENERIC_TYPE, 0), SPY_DECL_KIND_CONSTRAINT, 0)->type->name, "IFloat");
    assert_string_equal(child(gen, SPY_DECL_KIND_GENERIC_VALUE, 0)->type->name, "int");
    assert_int_equal(child(gen, SPY_DECL_KIND_PARAMETER, 0)->type->kind, SPY_TYPE_KIND_OTHER);
    assert_int_equal(child(gen, SPY_DECL_KIND_PARAMETER, 1)->type->kind, SPY_TYPE_KIND_ARRAY);
    assert_int_equal(child(gen, SPY_DECL_KIND_PARAMETER, 1)->type->count, 0);
    assert_string_equal(find(&t, "ns::deep::f")->text, "float f(float x)");
    assert_ptr_equal(find(&t, "ns.deep.f"), find(&t, "ns::deep::f"));
    assert_ptr_equal(find(&t, "ns::again")->parent, find(&t, "ns"));
    assert_int_equal(find(&t, "ns::deep")->kind, SPY_DECL_KIND_NAMESPACE);
    assert_int_equal(find(&t, "f")->line, 1);
    assert_int_equal(find(&t, "ns::again")->line, 9);
    close_device(&t);
}

// >>attributes

static void test_attributes(void **state) {
    (void)state;
    fixture t;
    open_checked(&t,
                 "enum Mode { Fast, Slow = 9 }\n"
                 "[__AttributeUsage(_AttributeTargets.Function)] struct TestAttribute { float expected; string why; int n; };\n"
                 "[__AttributeUsage(_AttributeTargets.Function)] struct MarkAttribute { };\n"
                 "[__AttributeUsage(_AttributeTargets.Function)] struct ManyAttribute { bool b; uint u; Mode m; double d; int64_t l; int64_t more; };\n"
                 "[__AttributeUsage(_AttributeTargets.Struct)] struct NoteAttribute { string text; };\n"
                 "[__AttributeUsage(_AttributeTargets.Var)] struct RangeAttribute { float lo; float hi; };\n"
                 "[__AttributeUsage(_AttributeTargets.Param)] struct UnitAttribute { string name; };\n"
                 "[Test(3.5, \"be\\\"cause\", 7)] [Mark] float f([Unit(\"m\")] float x) { return x; }\n"
                 "[Many(true, 4000000000u, Mode.Slow, 0.5, 5, 5000000000)] void many() { }\n"
                 "[Note(\"\")] struct S { [Range(-0.5, 2)] float a; float b; }\n"
                 "[Range(0, 1)] uniform float global;\n"
                 "[Differentiable] float plain(float x) { return x; }\n");
    const spy_decl *f = find(&t, "f");
    assert_int_equal(f->attribute_count, 2);
    const spy_attribute *test = spy_find_attribute(f, "Test");
    assert_non_null(test);
    assert_int_equal(test->arg_count, 3);
    assert_int_equal(test->args[0].kind, SPY_CONSTANT_KIND_FLOAT);
    assert_true(test->args[0].float_value == 3.5);
    assert_int_equal(test->args[1].kind, SPY_CONSTANT_KIND_STRING);
    assert_string_equal(test->args[1].string, "be\"cause");
    assert_int_equal(test->args[2].int_value, 7);
    assert_true(test->args[2].float_value == 7);
    assert_int_equal(spy_find_attribute(f, "Mark")->arg_count, 0);
    assert_null(spy_find_attribute(f, "mark"));
    assert_string_equal(spy_find_attribute(find(&t, "f::x"), "Unit")->args[0].string, "m");
    const spy_attribute *many = spy_find_attribute(find(&t, "many"), "Many");
    assert_int_equal(many->args[0].int_value, 1);
    assert_int_equal(many->args[1].int_value, 4000000000);
    assert_int_equal(many->args[2].int_value, 9);
    assert_int_equal(many->args[3].kind, SPY_CONSTANT_KIND_NONE); // Slang does not give it
    assert_int_equal(many->args[4].int_value, 5);
    assert_int_equal(many->args[5].kind, SPY_CONSTANT_KIND_NONE); // ... nor more than 32 bits
    assert_string_equal(spy_find_attribute(find(&t, "S"), "Note")->args[0].string, "");
    const spy_attribute *range = spy_find_attribute(find(&t, "S::a"), "Range");
    assert_true(range->args[0].float_value == -0.5 && range->args[1].float_value == 2);
    assert_int_equal(range->args[1].kind, SPY_CONSTANT_KIND_FLOAT);
    assert_int_equal(find(&t, "S::b")->attribute_count, 0);
    assert_ptr_equal(spy_find_attribute(&type(&t, "S")->fields[0], "Range"), range);
    assert_non_null(spy_find_attribute(find(&t, "global"), "Range"));
    assert_int_equal(find(&t, "plain")->attribute_count, 0);
    // The structs are there once, not as Slang's second declarations.
    assert_int_equal(find(&t, "NoteAttribute")->kind, SPY_DECL_KIND_STRUCT);
    assert_null(spy_find_decl(t.module, "Note"));
    ERROR_IS(t.device, SPY_ERROR_NOT_FOUND, "Note");
    close_device(&t);
}

// >>types

static const char types_source[] =
    "enum Color { Red, Green = 5, Blue }\n"
    "enum Wide : uint64_t { Small = 1, All = 0xffffffffffffffff }\n"
    "enum class Signed : int8_t { Low = -3, Next }\n"
    "interface IShape { float area(); static float unit(); associatedtype Q; property float prop { get; }\n"
    "    [mutating] void grow(float by) { } }\n"
    "struct Circle : IShape\n"
    "{\n"
    "    typealias Q = int2;\n"
    "    float r;\n"
    "    bool on;\n"
    "    half h;\n"
    "    Inner inner[2];\n"
    "    static const int sides = 4;\n"
    "    static float origin;\n"
    "    float area() { return r; }\n"
    "    static float unit() { return 1; }\n"
    "    property float prop { get { return r; } }\n"
    "    property float2 both { get { return r; } set { r = newValue.x; } }\n"
    "    __init(float radius) { r = radius; }\n"
    "    __init(int a, int b) { r = a + b; }\n"
    "    [mutating] override void grow(float by) { r += by; }\n"
    "    __subscript(int i) -> float { get { return r; } set { r = newValue; } }\n"
    "    T same<T>(T x) { return x; }\n"
    "    struct Inner { int3 v; double d; Color c; }\n"
    "    enum Kind { Open, Closed = 9 }\n"
    "}\n"
    "extension Circle { float twice() { return 2 * r; } static float zero() { return 0; } }\n"
    "extension float { float halved() { return this / 2; } }\n"
    "struct Grid<T, let N : int = 3> { T cells[N]; T get(int i) { return cells[i]; } typealias Cell = T; struct Row { T x; }; }\n"
    "extension<T, let N : int> Grid<T, N> { int size() { return N; } }\n"
    "typealias Disk = Circle;\n"
    "typedef float4 F4;\n"
    "struct Res { Texture2D t; SamplerState s; float x; StructuredBuffer<float> b[2]; }\n"
    "struct Empty { }\n"
    "namespace ns { struct Cell { uint8_t a; float b; }; enum NE { X = 2 }; interface IThing { }; struct Thing : IThing { }; }\n"
    "struct Node { Ptr<Node> next; float value; }\n"
    "struct Diff : IDifferentiable { float x; no_diff float y; }\n";

static void test_types(void **state) {
    (void)state;
    fixture t;
    open_checked(&t, types_source);
    const spy_decl *color = find(&t, "Color"), *circle = find(&t, "Circle");
    assert_string_equal(color->text, "enum Color : int");
    assert_int_equal(color->child_count, 3);
    assert_int_equal(color->children[2].value.int_value, 6);
    assert_string_equal(color->children[1].text, "Green = 5");
    assert_int_equal(find(&t, "Wide::All")->value.int_value, -1); // the bits
    assert_int_equal(find(&t, "Signed::Low")->value.int_value, -3);
    assert_int_equal(find(&t, "Signed::Next")->value.int_value, -2);
    assert_string_equal(find(&t, "Signed")->type->element->name, "int8_t");
    assert_int_equal(find(&t, "Circle::Kind::Closed")->value.int_value, 9);

    const spy_decl *shape = find(&t, "IShape");
    assert_int_equal(shape->kind, SPY_DECL_KIND_INTERFACE);
    assert_int_equal(shape->type->kind, SPY_TYPE_KIND_INTERFACE);
    assert_int_equal(shape->child_count, 5);
    assert_int_equal(find(&t, "IShape::Q")->kind, SPY_DECL_KIND_ASSOCIATED_TYPE);
    assert_int_equal(find(&t, "IShape::prop")->kind, SPY_DECL_KIND_PROPERTY);
    HAS(find(&t, "IShape::unit"), SPY_DECL_FLAG_STATIC);

    assert_string_equal(circle->text, "struct Circle");
    assert_int_equal(count_kind(circle, SPY_DECL_KIND_FIELD), 4);
    assert_int_equal(count_kind(circle, SPY_DECL_KIND_CONSTRUCTOR), 2);
    assert_int_equal(find(&t, "Circle::__init")->kind, SPY_DECL_KIND_CONSTRUCTOR);
    assert_string_equal(spy_next_overload(find(&t, "Circle::__init"))->text, "__init(int a, int b)");
    assert_int_equal(find(&t, "Circle::area")->kind, SPY_DECL_KIND_METHOD);
    LACKS(find(&t, "Circle::area"), SPY_DECL_FLAG_STATIC | SPY_DECL_FLAG_MUTATING);
    HAS(find(&t, "Circle::unit"), SPY_DECL_FLAG_STATIC);
    HAS(find(&t, "Circle::grow"), SPY_DECL_FLAG_MUTATING);
    const spy_decl *prop = find(&t, "Circle::prop"), *both = find(&t, "Circle::both");
    HAS(prop, SPY_DECL_FLAG_GETTER);
    LACKS(prop, SPY_DECL_FLAG_SETTER);
    HAS(both, SPY_DECL_FLAG_SETTER);
    assert_string_equal(both->type->name, "float2");
    assert_string_equal(both->text, "property float2 both { get; set; }");
    const spy_decl *subscript = find(&t, "Circle::operator[]");
    assert_int_equal(subscript->kind, SPY_DECL_KIND_SUBSCRIPT);
    assert_string_equal(subscript->text, "float operator[](int i) { get; set; }");
    const spy_decl *sides = find(&t, "Circle::sides");
    assert_int_equal(sides->kind, SPY_DECL_KIND_VARIABLE);
    assert_int_equal(sides->value.int_value, 4);
    assert_string_equal(find(&t, "Circle::Q")->type->name, "int2");
    assert_string_equal(find(&t, "Circle::same")->text, "T same<T>(T x)");
    assert_int_equal(find(&t, "Circle::twice")->parent->kind, SPY_DECL_KIND_EXTENSION);
    assert_ptr_equal(find(&t, "Circle::twice")->parent->type, circle->type);
    assert_string_equal(find(&t, "float::halved")->parent->name, "float");
    assert_string_equal(find(&t, "Grid::size")->parent->text, "extension Grid<T, N>");

    const spy_decl *grid = find(&t, "Grid");
    assert_string_equal(grid->text, "struct Grid<T, let N : int = 3>");
    HAS(grid, SPY_DECL_FLAG_GENERIC);
    assert_int_equal(child(grid, SPY_DECL_KIND_GENERIC_VALUE, 0)->value.int_value, 3);
    assert_int_equal(find(&t, "Grid::cells")->kind, SPY_DECL_KIND_FIELD);
    assert_int_equal(find(&t, "Grid::Cell")->kind, SPY_DECL_KIND_ALIAS);
    assert_null(find(&t, "Grid::Cell")->type); // depends on T
    assert_int_equal(grid->type->size_bytes, 0);
    assert_ptr_equal(find(&t, "Disk")->type, circle->type);
    assert_string_equal(find(&t, "F4")->text, "typealias F4 = float4");
    HAS(find(&t, "Diff::y"), SPY_DECL_FLAG_NO_DIFF);
    close_device(&t);
}

// Host offsets against C's own, device offsets against Slang's scalar layout and CUDA's C layout worked out by hand.
typedef struct host_inner {
    int32_t v[3];
    double d;
    int32_t c;
} host_inner;
typedef struct host_circle {
    float r;
    bool on;
    uint16_t h;
    host_inner inner[2];
} host_circle;

static void check_layout(spyi_target target, const size_t *circle, const size_t *inner, size_t inner_size, size_t inner_stride) {
    fixture t;
    open_device(&t, target);
    t.module = load(&t, "user", types_source);
    const spy_type_info *c = type(&t, "Circle"), *in = type(&t, "Circle::Inner");
    const size_t host[] = { offsetof(host_circle, r), offsetof(host_circle, on), offsetof(host_circle, h), offsetof(host_circle, inner) };
    const size_t host_in[] = { offsetof(host_inner, v), offsetof(host_inner, d), offsetof(host_inner, c) };
    assert_int_equal(c->kind, SPY_TYPE_KIND_STRUCT);
    assert_int_equal(c->field_count, 4);
    assert_ptr_equal(c->decl, find(&t, "Circle"));
    assert_ptr_equal(c->fields, c->decl->children);
    assert_int_equal(c->size_bytes, sizeof(host_circle));
    assert_int_equal(c->align_bytes, 8);
    for (int i = 0; i < 4; i++) {
        assert_int_equal(c->fields[i].offset_bytes, host[i]);
        assert_int_equal(c->fields[i].device_offset_bytes, circle[i]);
    }
    assert_int_equal(in->size_bytes, sizeof(host_inner));
    for (int i = 0; i < 3; i++) {
        assert_int_equal(in->fields[i].offset_bytes, host_in[i]);
        assert_int_equal(in->fields[i].device_offset_bytes, inner[i]);
    }
    assert_int_equal(in->device_size_bytes, inner_size);
    assert_int_equal(in->device_stride_bytes, inner_stride);
    assert_int_equal(c->fields[3].type->kind, SPY_TYPE_KIND_ARRAY);
    assert_int_equal(c->fields[3].type->count, 2);
    assert_string_equal(c->fields[3].type->name, "Circle.Inner[2]");
    assert_ptr_equal(c->fields[3].type->element, in);
    assert_ptr_equal(type(&t, "Circle.Inner[2]"), c->fields[3].type);
    close_device(&t);
}

static void test_layouts(void **state) {
    (void)state;
    const size_t vulkan[] = { 0, 4, 8, 16 }, cuda[] = { 0, 4, 6, 8 }, inner[] = { 0, 16, 24 };
    check_layout(SPYI_TARGET_SPIRV, vulkan, inner, 28, 32); // bool has 4 bytes; no padding at the end
    check_layout(SPYI_TARGET_CUDA, cuda, inner, 32, 32);
}

static void test_types_by_name(void **state) {
    (void)state;
    fixture t;
    open_module(&t, types_source);
    static const struct {
        const char *name, *printed;
        spy_type_kind kind;
        spy_dtype dtype;
        uint32_t rows, columns;
        int64_t count;
        size_t size, device_size;
        const char *element;
    } rows[] = {
        { "void", "void", SPY_TYPE_KIND_VOID, SPY_DTYPE_DEFAULT, 1, 1, 0, 0, 0, NULL },
        { "float", "float", SPY_TYPE_KIND_SCALAR, SPY_DTYPE_FLOAT32, 1, 1, 0, 4, 4, NULL },
        { "bool", "bool", SPY_TYPE_KIND_SCALAR, SPY_DTYPE_BOOL, 1, 1, 0, 1, 4, NULL },
        { "half", "half", SPY_TYPE_KIND_SCALAR, SPY_DTYPE_FLOAT16, 1, 1, 0, 2, 2, NULL },
        { "uint64_t", "uint64_t", SPY_TYPE_KIND_SCALAR, SPY_DTYPE_UINT64, 1, 1, 0, 8, 8, NULL },
        { "float3", "float3", SPY_TYPE_KIND_VECTOR, SPY_DTYPE_FLOAT32, 1, 3, 0, 12, 12, "float" },
        { "vector<int,2>", "int2", SPY_TYPE_KIND_VECTOR, SPY_DTYPE_INT32, 1, 2, 0, 8, 8, "int" },
        { "float3x4", "float3x4", SPY_TYPE_KIND_MATRIX, SPY_DTYPE_FLOAT32, 3, 4, 0, 48, 48, "float" },
        { "float[3][2]", "float[3][2]", SPY_TYPE_KIND_ARRAY, SPY_DTYPE_DEFAULT, 1, 1, 3, 24, 24, "float[2]" },
        { "Color", "Color", SPY_TYPE_KIND_ENUM, SPY_DTYPE_INT32, 1, 1, 0, 4, 4, "int" },
        { "Wide", "Wide", SPY_TYPE_KIND_ENUM, SPY_DTYPE_UINT64, 1, 1, 0, 8, 8, "uint64_t" },
        { "ns::Cell", "ns.Cell", SPY_TYPE_KIND_STRUCT, SPY_DTYPE_DEFAULT, 1, 1, 0, 8, 8, NULL },
        { "ns::Cell[5]", "ns.Cell[5]", SPY_TYPE_KIND_ARRAY, SPY_DTYPE_DEFAULT, 1, 1, 5, 40, 40, "ns.Cell" },
        { "Disk", "Circle", SPY_TYPE_KIND_STRUCT, SPY_DTYPE_DEFAULT, 1, 1, 0, sizeof(host_circle), 76, NULL },
        { "Grid<float>", "Grid<float, 3>", SPY_TYPE_KIND_STRUCT, SPY_DTYPE_DEFAULT, 1, 1, 0, 12, 12, NULL },
        { "Grid<ns::Cell, 4>", "Grid<ns.Cell, 4>", SPY_TYPE_KIND_STRUCT, SPY_DTYPE_DEFAULT, 1, 1, 0, 32, 32,
          NULL },
        { "Grid<float>.Row", "Grid<float, 3>.Row", SPY_TYPE_KIND_STRUCT, SPY_DTYPE_DEFAULT, 1, 1, 0, 4, 4,
          NULL },
        { "IShape", "IShape", SPY_TYPE_KIND_INTERFACE, SPY_DTYPE_DEFAULT, 1, 1, 0, 0, 0, NULL },
        { "Res", "Res", SPY_TYPE_KIND_STRUCT, SPY_DTYPE_DEFAULT, 1, 1, 0, 0, 4, NULL },
        { "Empty", "Empty", SPY_TYPE_KIND_STRUCT, SPY_DTYPE_DEFAULT, 1, 1, 0, 0, 0, NULL },
        { "SamplerState", "SamplerState", SPY_TYPE_KIND_SAMPLER, SPY_DTYPE_DEFAULT, 1, 1, 0, 0, 0, NULL },
        { "Texture2D<float4>", "Texture2D<vector<float,4>>", SPY_TYPE_KIND_RESOURCE, SPY_DTYPE_DEFAULT, 1, 1,
          0, 0, 0, "float4" },
        { "RWStructuredBuffer<Circle>", "RWStructuredBuffer<Circle", SPY_TYPE_KIND_RESOURCE,
          SPY_DTYPE_DEFAULT, 1, 1, 0, 0, 0, "Circle" },
        { "ByteAddressBuffer", "ByteAddressBuffer", SPY_TYPE_KIND_RESOURCE, SPY_DTYPE_DEFAULT, 1, 1, 0, 0, 0,
          NULL },
        { "ParameterBlock<Circle>", "ParameterBlock<Circle>", SPY_TYPE_KIND_PARAMETER_BLOCK,
          SPY_DTYPE_DEFAULT, 1, 1, 0, 0, 0, "Circle" },
        { "ConstantBuffer<float4>", "ConstantBuffer<vector<float,4>", SPY_TYPE_KIND_CONSTANT_BUFFER,
          SPY_DTYPE_DEFAULT, 1, 1, 0, 0, 0, "float4" },
        { "Ptr<Node>", "Ptr<Node", SPY_TYPE_KIND_POINTER, SPY_DTYPE_UINT64, 1, 1, 0, 8, 8, "Node" },
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const spy_type_info *info = type(&t, rows[i].name);
        print_message("%s\n", rows[i].name);
        assert_int_equal(info->kind, rows[i].kind);
        assert_true(strncmp(info->name, rows[i].printed, strlen(rows[i].printed)) == 0);
        assert_int_equal(info->dtype, rows[i].dtype);
        assert_int_equal(info->rows, rows[i].rows);
        assert_int_equal(info->columns, rows[i].columns);
        assert_int_equal(info->count, rows[i].count);
        assert_int_equal(info->size_bytes, rows[i].size);
        assert_int_equal(info->device_size_bytes, rows[i].device_size);
        if (rows[i].element) assert_string_equal(info->element->name, rows[i].element);
        else assert_null(info->element);
        assert_ptr_equal(type(&t, rows[i].name), info);
        if (info->kind != SPY_TYPE_KIND_POINTER) // which lies in structs, but is no element of a tensor
            assert_int_equal(info->size_bytes, info->size_bytes ? spy_type_size_bytes(t.module, info->name) : 0);
    }
    const spy_type_info *grid = type(&t, "Grid<ns::Cell, 4>"), *node = type(&t, "Node");
    assert_null(grid->decl);
    assert_int_equal(grid->field_count, 1);
    assert_string_equal(grid->fields[0].text, "ns.Cell[4] cells");
    assert_int_equal(type(&t, "Grid<ns::Cell, 4>.Row")->fields[0].offset_bytes, 0);
    assert_ptr_equal(node->fields[0].type->element, node); // through a pointer to itself
    assert_true(node->size_bytes > 0 && node->fields[0].type->size_bytes == 8);
    assert_int_equal(type(&t, "Res")->field_count, 4);
    assert_int_equal(type(&t, "Res")->fields[3].type->kind, SPY_TYPE_KIND_ARRAY);
    close_device(&t);
}

static void test_implements(void **state) {
    (void)state;
    fixture t;
    open_module(&t, types_source);
    assert_true(spy_type_implements(t.module, "Circle", "IShape"));
    assert_true(spy_type_implements(t.module, "Disk", "IShape"));
    assert_true(spy_type_implements(t.module, "ns::Thing", "ns::IThing"));
    assert_true(spy_type_implements(t.module, "float", "IDifferentiable"));
    assert_true(spy_type_implements(t.module, "Diff", "IDifferentiable"));
    assert_false(spy_type_implements(t.module, "ns::Cell", "IShape"));
    assert_false(spy_type_implements(t.module, "int", "IFloat"));
    assert_int_equal(spy_take_error(t.device).code, SPY_OK);
    assert_false(spy_type_implements(t.module, "Circle", "Color"));
    ERROR_IS(t.device, SPY_ERROR_INVALID_ARGUMENT, "spy_type_implements", "Color", "interface");
    assert_false(spy_type_implements(t.module, "Circel", "IShape"));
    ERROR_IS(t.device, SPY_ERROR_NOT_FOUND, "Circel", "did you mean", "'Circle'");
    assert_false(spy_type_implements(t.module, "Circle", "IShap"));
    ERROR_IS(t.device, SPY_ERROR_NOT_FOUND, "IShap", "'IShape'");
    assert_false(spy_type_implements(t.module, "Circle", NULL));
    ERROR_IS(t.device, SPY_ERROR_INVALID_ARGUMENT, "NULL");
    close_device(&t);
}

// >>globals

static void test_globals(void **state) {
    (void)state;
    fixture t;
    open_checked(&t, "struct P { float a; float3 b; }\n"
                     "uniform float gain;\n"
                     "uniform P params;\n"
                     "RWStructuredBuffer<float> data;\n"
                     "Texture2D<float4> image;\n"
                     "SamplerState smooth;\n"
                     "ParameterBlock<P> block;\n"
                     "cbuffer Old { float oa; float3 ob; }\n"
                     "[[vk::binding(7, 3)]] StructuredBuffer<P> placed;\n"
                     "namespace ns { uniform int inside; static const float half_pi = 1.5; }\n"
                     "static const int K = 42; static const bool yes = true; static const uint big = 4000000000;\n"
                     "static const int64_t wide = 1ll << 40; static const float3 vec = float3(1); extern static const int EK = 3;\n"
                     "static int counter; groupshared float scratch[16];\n"
                     "[shader(\"compute\")] [numthreads(8, 4, 2)] void main_cs(uint3 tid : SV_DispatchThreadID, uniform float s) { data[tid.x] = gain; }\n"
                     "[numthreads(1, 1, 1)] void plain_cs(uint3 tid : SV_DispatchThreadID) { }\n"
                     "[shader(\"vertex\")] float4 vs(float3 p : POSITION) : SV_Position { return float4(p, 1); }\n"
                     "[shader(\"fragment\")] float4 fs() : SV_Target { return image.Sample(smooth, float2(0)); }\n"
                     "void none() { }\n");
    const spy_decl *root = spy_reflect_module(t.module);
    assert_int_equal(count_kind(root, SPY_DECL_KIND_SHADER_PARAMETER), 8);
    assert_int_equal(find(&t, "gain")->kind, SPY_DECL_KIND_SHADER_PARAMETER);
    assert_int_equal(find(&t, "gain")->device_offset_bytes, 0);
    assert_int_equal(find(&t, "params")->device_offset_bytes, 4);
    assert_int_equal(find(&t, "ns::inside")->kind, SPY_DECL_KIND_SHADER_PARAMETER);
    assert_int_equal(find(&t, "ns::inside")->device_offset_bytes, 20);
    // Binding 0 of set 0 holds the loose uniforms.
    assert_int_equal(find(&t, "data")->binding, 1);
    assert_int_equal(find(&t, "image")->binding, 2);
    assert_int_equal(find(&t, "smooth")->binding, 3);
    assert_int_equal(find(&t, "placed")->binding, 7);
    assert_int_equal(find(&t, "placed")->space, 3);
    assert_true(find(&t, "block")->space > 0);
    const spy_decl *old = find(&t, "Old");
    assert_int_equal(old->type->kind, SPY_TYPE_KIND_CONSTANT_BUFFER);
    assert_int_equal(old->type->element->field_count, 2);
    assert_string_equal(old->type->element->fields[1].name, "ob");
    assert_int_equal(find(&t, "K")->kind, SPY_DECL_KIND_VARIABLE);
    assert_string_equal(find(&t, "K")->text, "static const int K = 42");
    assert_int_equal(find(&t, "yes")->value.int_value, 1);
    assert_int_equal(find(&t, "big")->value.int_value, 4000000000);
    assert_true(find(&t, "wide")->value.int_value == 1ll << 40);
    assert_true(find(&t, "ns::half_pi")->value.float_value == 1.5);
    assert_int_equal(find(&t, "vec")->value.kind, SPY_CONSTANT_KIND_NONE);
    HAS(find(&t, "vec"), SPY_DECL_FLAG_HAS_DEFAULT);
    HAS(find(&t, "EK"), SPY_DECL_FLAG_EXTERN);
    assert_int_equal(find(&t, "counter")->kind, SPY_DECL_KIND_VARIABLE);
    LACKS(find(&t, "counter"), SPY_DECL_FLAG_CONST);
    assert_int_equal(find(&t, "scratch")->kind, SPY_DECL_KIND_VARIABLE);
    const spy_decl *cs = find(&t, "main_cs");
    assert_int_equal(cs->stage, SPY_STAGE_COMPUTE);
    assert_int_equal(cs->group_size[0], 8);
    assert_int_equal(cs->group_size[1], 4);
    assert_int_equal(cs->group_size[2], 2);
    assert_int_equal(find(&t, "plain_cs")->stage, SPY_STAGE_COMPUTE);
    assert_int_equal(find(&t, "vs")->stage, SPY_STAGE_VERTEX);
    assert_int_equal(find(&t, "vs")->group_size[0], 0);
    assert_int_equal(find(&t, "fs")->stage, SPY_STAGE_FRAGMENT);
    assert_int_equal(find(&t, "none")->stage, SPY_STAGE_NONE);
    close_device(&t);
}

// >>several files

static void write_file(const char *folder, const char *name, const char *text) {
    char path[300];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    assert_true(spyi_file_write(path, text, strlen(text)));
}

static void test_files(void **state) {
    (void)state;
    char folder[64], path[100];
    fixture t;
    snprintf(folder, sizeof folder, "/tmp/spyi_reflect_%ld", (long)getpid());
    assert_int_equal(mkdir(folder, 0700), 0);
    write_file(folder, "main.slang", "module main;\nimport lib;\n__include \"part\";\n#include \"old.h\"\npublic float own() { return 1; }\n"
                                     "public lib_ns::Item make() { lib_ns::Item i; i.x = 1; return i; }\nfloat lib() { return 2; }\n");
    write_file(folder, "part.slang", "implementing main;\npublic struct Part { int a; }\nnamespace in_part { public float f() { return 1; } }\n");
    write_file(folder, "old.h", "\n\nfloat from_header() { return 1; }\n");
    write_file(folder, "lib.slang", "module lib;\nimport base;\nnamespace lib_ns { public struct Item { public float x; public base_t b; }; }\n");
    write_file(folder, "base.slang", "module base;\npublic struct base_t { public int k; }\n");
    open_device(&t, SPYI_TARGET_SPIRV);
    spy_module_desc d;
    memset(&d, 0, sizeof d);
    snprintf(path, sizeof path, "%s/main.slang", folder);
    d.path = path;
    t.module = spy_load_module(t.device, &d);
    if (!t.module) fail_msg("%s", spy_take_error(t.device).message);
    const spy_decl *root = spy_reflect_module(t.module);
    check_tree(&t, root);
    assert_string_equal(root->file, path);
    assert_int_equal(count_kind(root, SPY_DECL_KIND_IMPORT), 2);
    bool lib = false, base = false;
    for (uint32_t i = 0; i < 2; i++) {
        const spy_decl *import = child(root, SPY_DECL_KIND_IMPORT, i);
        lib = lib || (strcmp(import->name, "lib") == 0 && strstr(import->file, "lib.slang"));
        base = base || (strcmp(import->text, "import base") == 0 && strstr(import->file, "base.slang"));
    }
    assert_true(lib && base);
    assert_int_equal(find(&t, "lib")->kind, SPY_DECL_KIND_FUNCTION); // an import has no path
    assert_int_equal(find(&t, "Part")->kind, SPY_DECL_KIND_STRUCT);
    assert_non_null(strstr(find(&t, "Part")->file, "part.slang"));
    assert_int_equal(find(&t, "Part")->line, 2);
    assert_ptr_equal(find(&t, "Part")->parent, root);
    assert_int_equal(find(&t, "in_part::f")->kind, SPY_DECL_KIND_FUNCTION);
    assert_non_null(strstr(find(&t, "from_header")->file, "old.h"));
    assert_int_equal(find(&t, "from_header")->line, 3);
    const spy_type_info *item = find(&t, "make")->type;
    assert_null(item->decl); // another module's
    assert_int_equal(item->field_count, 2);
    assert_string_equal(item->fields[1].type->fields[0].name, "k");
    assert_null(spy_find_decl(t.module, "lib_ns::Item"));
    ERROR_IS(t.device, SPY_ERROR_NOT_FOUND, "main", "lib_ns::Item");
    static const char *const names[] = { "main.slang", "part.slang", "old.h", "lib.slang", "base.slang" };
    for (size_t i = 0; i < 5; i++) {
        snprintf(path, sizeof path, "%s/%s", folder, names[i]);
        assert_int_equal(unlink(path), 0);
    }
    assert_int_equal(rmdir(folder), 0);
    close_device(&t);
}

// >>sizes

static void test_empty(void **state) {
    (void)state;
    static const char *const sources[] = { "", "\n", "// nothing\n", "#define X 1\n", "module user;\n", "import spy_none;" };
    for (size_t i = 0; i + 1 < sizeof sources / sizeof sources[0]; i++) {
        fixture t;
        open_checked(&t, sources[i]);
        const spy_decl *root = spy_reflect_module(t.module);
        assert_int_equal(root->child_count, 0);
        assert_null(root->children);
        assert_string_equal(root->text, "module user");
        assert_ptr_equal(spy_reflect_module(t.module), root);
        assert_null(spy_find_decl(t.module, "f"));
        ERROR_IS(t.device, SPY_ERROR_NOT_FOUND, "spy_find_decl", "user", "'f'");
        assert_int_equal(type(&t, "float3")->size_bytes, 12);
        close_device(&t);
    }
}

static void test_many(void **state) {
    (void)state;
    enum { EACH = 250, CASES = 1000 }; // 1,000 declarations, and one enum of 1,000 cases
    fixture t;
    spyi_text source = { NULL, 0, 0 };
    for (int i = 0; i < EACH; i++)
        spyi_text_add(&source,
                      "float f%d(float a, int b = %d) { return a; }\nstruct S%d { float x; int3 y; float m() { return x; } }\n"
                      "static const int K%d = %d;\ntypealias A%d = S%d;\n",
                      i, i, i, i, 3 * i, i, i);
    spyi_text_add(&source, "enum Many {");
    for (int i = 0; i < CASES; i++) spyi_text_add(&source, " C%d,", i);
    spyi_text_add(&source, " }\n");
    open_module(&t, spyi_text_str(&source));
    uint64_t start = spyi_time_ns();
    const spy_decl *root = spy_reflect_module(t.module);
    uint64_t ns = spyi_time_ns() - start;
    print_message("%u declarations in %.1f ms\n", root->child_count, (double)ns / 1e6);
    assert_int_equal(root->child_count, 4 * EACH + 1);
    assert_true(ns < 5000000000ull); // 60 ms on a desktop; sanitizers take longer
    start = spyi_time_ns();
    for (int i = 0; i < EACH; i++) {
        char name[32];
        snprintf(name, sizeof name, "f%d::b", i);
        assert_int_equal(find(&t, name)->value.int_value, i);
        snprintf(name, sizeof name, "S%d::y", i);
        assert_int_equal(find(&t, name)->offset_bytes, 4);
        snprintf(name, sizeof name, "K%d", i);
        assert_int_equal(find(&t, name)->value.int_value, 3 * i);
        snprintf(name, sizeof name, "A%d", i);
        assert_int_equal(find(&t, name)->type->field_count, 2);
    }
    const spy_decl *many = find(&t, "Many");
    assert_int_equal(many->child_count, CASES);
    for (int i = 0; i < CASES; i++) assert_int_equal(many->children[i].value.int_value, i);
    print_message("1000 look-ups in %.1f ms\n", (double)(spyi_time_ns() - start) / 1e6);
    assert_null(spy_find_decl(t.module, "K12345"));
    ERROR_IS(t.device, SPY_ERROR_NOT_FOUND, "did you mean", "'K1");
    spyi_text_free(&source);
    close_device(&t);
}

static void test_deep(void **state) {
    (void)state;
    fixture t;
    spyi_text source = { NULL, 0, 0 }, path = { NULL, 0, 0 };
    for (int i = 0; i < 40; i++) {
        spyi_text_add(&source, "namespace n%d {\n", i);
        spyi_text_add(&path, "n%d::", i);
    }
    spyi_text_add(&source, "struct S { struct In { float x; }; In i; }\n");
    for (int i = 0; i < 40; i++) spyi_text_add(&source, "}\n");
    spyi_text_add(&path, "S::In::x");
    open_checked(&t, spyi_text_str(&source));
    assert_int_equal(find(&t, spyi_text_str(&path))->kind, SPY_DECL_KIND_FIELD);
    spyi_text_free(&source);
    spyi_text_free(&path);
    close_device(&t);
}

// Beside the derivatives of a generic struct's methods stands an operator() of Slang's own, at which libslang's look-up crashes.
static void test_differentiable_generics(void **state) {
    (void)state;
    for (int again = 0; again < 2; again++) { // with the declarations asked for first, and with a name
        fixture t;
        open_module(&t, "struct MLP<int I, int O> : IDifferentiable { float w[I]; float b[O]; [Differentiable] float run(float x) { return x * w[0]; }\n"
                        "  [mutating] [Differentiable] void step(float x) { w[0] = x; } [Differentiable] U same<U : IDifferentiable>(U x) { return x; }\n"
                        "  struct Inner : IDifferentiable { float z; [Differentiable] float run(float x) { return x * z; } }; };\n"
                        "extension<int I, int O> MLP<I, O> { [Differentiable] float more(float x) { return x; } float operator()(float x) { return x; } }\n"
                        "struct P { float a; };\nextension P { float operator()(float x) { return a * x; } }\n"
                        "[Differentiable] float f(MLP<8, 4> m, float x) { return m.run(x); }\n");
        if (again) assert_string_equal(type(&t, "MLP<8,4>")->name, "MLP<8, 4>");
        const spy_decl *root = spy_reflect_module(t.module);
        assert_non_null(root);
        int own_operators = 0;
        for (uint32_t i = 0; i < root->child_count; i++) {
            const spy_decl *d = &root->children[i];
            if (d->kind != SPY_DECL_KIND_EXTENSION) continue;
            assert_true(d->child_count > 0);
            for (uint32_t k = 0; k < d->child_count; k++) own_operators += strcmp(d->children[k].name, "operator()") == 0;
        }
        assert_int_equal(own_operators, 2); // none of Slang's
        assert_string_equal(find(&t, "MLP::more")->parent->text, "extension MLP<I, O>");
        assert_string_equal(find(&t, "MLP::run")->text, "float run(float x)");
        assert_int_equal(find(&t, "MLP::Inner::run")->kind, SPY_DECL_KIND_METHOD);
        assert_int_equal(type(&t, "MLP<8,4>")->field_count, 2);
        assert_int_equal(type(&t, "MLP<8, 4>[3]")->kind, SPY_TYPE_KIND_ARRAY);
        assert_non_null(spy_find_function(t.module, "MLP<8,4>.run"));
        assert_non_null(spy_find_function(t.module, "MLP<8,4>"));
        assert_null(spy_reflect_type(t.module, "MLP"));
        ERROR_IS(t.device, SPY_ERROR_INVALID_ARGUMENT, "'MLP'", "is generic");
        assert_null(spy_find_function(t.module, "MLP<8>"));
        ERROR_IS(t.device, SPY_ERROR_NOT_FOUND, "MLP<8>");
        close_device(&t);
    }
}

// What Slang allows and few write: link-time types and endless ones crash libslang when it is asked for their layout.
static void test_odd(void **state) {
    (void)state;
    fixture t;
    open_checked(&t, "interface IOps { This add(This o); static const int kind; __init(int x); T same<T>(T x); __subscript(int i) -> float { get; } }\n"
                     "struct Ops : IOps { int v; Ops add(Ops o) { return o; } static const int kind = 3; __init(int x) { v = x; }\n"
                     "    T same<T>(T x) { return x; } __subscript(int i) -> float { get { return 1; } } }\n"
                     "extern struct Linked : IOps = Ops;\n"
                     "struct UsesLinked { Linked l; float x; }\n"
                     "namespace ns { interface IF { float f(); }; extern struct Body : IF { float a; float f() { return a; } }; }\n"
                     "struct Endless<let N : int> { Ptr<Endless<N + 1>> p; int a[N]; }\n"
                     "struct UsesEndless { Endless<2> e; }\n"
                     "interface IEmpty { }\n"
                     "struct B0 { float base; };\n"
                     "extension B0 { property float half_base { get { return base / 2; } } __init(float a, float b, float c) { base = a; } }\n"
                     "extension B0 : IEmpty { }\n"
                     "extension<T : IEmpty> T { int emptied() { return 3; } }\n"
                     "extension Ops { property int twice { get { return 2 * v; } } }\n"
                     "[Flags] enum Bits { One, Two, Three };\n"
                     "struct Outer<T> { struct In<U> { T t; U u; V deep<V>(V v) { return v; } }; In<int> n; };\n"
                     "Outer<float>.In<half> made() { return {}; }\n"
                     "float unnamed(float, int) { return 1; }\n"
                     "float in_body(float x) { struct L { float q; }; L l; l.q = x; return l.q; }\n"
                     "typealias Al<T> = Outer<T>;\n"
                     "class Kls { float x; };\n"
                     "[shader(\"mesh\")] [numthreads(32, 1, 1)] [outputtopology(\"triangle\")] void ms(OutputVertices<float4, 3> v, OutputIndices<uint3, 1> i) { }\n");
    const spy_type_info *linked = type(&t, "Linked"), *endless = type(&t, "Endless<2>");
    assert_int_equal(linked->kind, SPY_TYPE_KIND_STRUCT);
    assert_int_equal(linked->size_bytes, 0);
    HAS(linked->decl, SPY_DECL_FLAG_EXTERN);
    LACKS(find(&t, "Ops"), SPY_DECL_FLAG_EXTERN);
    assert_true(spy_has_type(t.module, "Linked"));
    assert_int_equal(type(&t, "UsesLinked")->size_bytes, 0);
    assert_int_equal(type(&t, "ns::Body")->field_count, 1);
    assert_true(spy_type_implements(t.module, "Linked", "IOps"));
    int depth = 0;
    for (const spy_type_info *e = endless; e && e->field_count; e = e->fields[0].type->element) depth++;
    assert_in_range(depth, 10, 100); // it ends somewhere
    assert_int_equal(type(&t, "UsesEndless")->fields[0].type->kind, SPY_TYPE_KIND_STRUCT);
    assert_int_equal(find(&t, "IOps::kind")->kind, SPY_DECL_KIND_VARIABLE);
    assert_string_equal(find(&t, "IOps::add")->type->name, "IOps.This");
    assert_string_equal(find(&t, "B0::half_base")->parent->text, "extension B0");
    assert_string_equal(find(&t, "emptied")->parent->text, "extension"); // of a type parameter
    assert_null(find(&t, "emptied")->parent->type);
    assert_int_equal(find(&t, "twice")->kind, SPY_DECL_KIND_PROPERTY); // its type is not known
    assert_int_equal(find(&t, "Bits::Three")->value.int_value, 4);
    assert_string_equal(find(&t, "Outer::In::deep")->text, "V deep<V>(V v)");
    const spy_type_info *in = find(&t, "made")->type;
    assert_string_equal(in->name, "Outer<float>.In<half>");
    assert_int_equal(in->fields[1].offset_bytes, 4);
    assert_string_equal(find(&t, "unnamed")->text, "float unnamed(float, int)");
    assert_null(spy_find_decl(t.module, "L"));
    assert_int_equal(spy_take_error(t.device).code, SPY_ERROR_NOT_FOUND);
    assert_string_equal(find(&t, "Al")->text, "typealias Al<T>");
    assert_int_equal(find(&t, "Kls")->kind, SPY_DECL_KIND_OTHER);
    assert_int_equal(find(&t, "ms")->stage, SPY_STAGE_MESH);
    assert_int_equal(find(&t, "ms")->group_size[0], 32);
    close_device(&t);
}

// >>what is refused

static void test_refused(void **state) {
    (void)state;
    fixture t;
    open_module(&t, types_source);
    assert_null(spy_reflect_module(NULL));
    ERROR_IS(NULL, SPY_ERROR_INVALID_ARGUMENT, "spy_reflect_module", "module", "NULL");
    assert_null(spy_find_decl(NULL, "f"));
    ERROR_IS(NULL, SPY_ERROR_INVALID_ARGUMENT, "spy_find_decl", "NULL");
    assert_null(spy_reflect_type(NULL, "float"));
    ERROR_IS(NULL, SPY_ERROR_INVALID_ARGUMENT, "spy_reflect_type", "NULL");
    assert_false(spy_type_implements(NULL, "float", "IFloat"));
    ERROR_IS(NULL, SPY_ERROR_INVALID_ARGUMENT, "spy_type_implements", "NULL");
    assert_null(spy_reflect_module((spy_module *)(void *)t.device));
    ERROR_IS(NULL, SPY_ERROR_INVALID_ARGUMENT, "spy_reflect_module", "expected a module, got a device");
    assert_null(spy_next_overload(NULL));
    ERROR_IS(NULL, SPY_ERROR_INVALID_ARGUMENT, "spy_next_overload", "NULL");
    assert_null(spy_next_overload(spy_reflect_module(t.module)));
    assert_null(spy_find_attribute(NULL, "Test"));
    ERROR_IS(NULL, SPY_ERROR_INVALID_ARGUMENT, "spy_find_attribute", "NULL");
    assert_null(spy_find_attribute(find(&t, "Circle"), NULL));
    ERROR_IS(NULL, SPY_ERROR_INVALID_ARGUMENT, "spy_find_attribute", "NULL");

    assert_null(spy_find_decl(t.module, NULL));
    ERROR_IS(t.device, SPY_ERROR_INVALID_ARGUMENT, "spy_find_decl", "NULL");
    assert_null(spy_find_decl(t.module, ""));
    ERROR_IS(t.device, SPY_ERROR_INVALID_ARGUMENT, "spy_find_decl", "\"\"");
    assert_null(spy_find_decl(t.module, "Circle::aera"));
    ERROR_IS(t.device, SPY_ERROR_NOT_FOUND, "user", "Circle::aera", "did you mean", "'Circle::area'");
    static const char *const paths[] = { "::", ".", "Circle::", "::Circle", "Circle::::area", "Circle:area:", "Circle ", "circle", "Grid<float>",
                                         "Circle::area()", "a\x01b", "%s%n", "Circle.", "$init", "Circle::$init" };
    for (size_t i = 0; i < sizeof paths / sizeof paths[0]; i++) {
        assert_null(spy_find_decl(t.module, paths[i]));
        ERROR_IS(t.device, SPY_ERROR_NOT_FOUND, "spy_find_decl", paths[i]);
    }
    char *huge = (char *)malloc(100001);
    memset(huge, 'a', 100000);
    huge[100000] = '\0';
    assert_null(spy_find_decl(t.module, huge));
    assert_int_equal(spy_take_error(t.device).code, SPY_ERROR_NOT_FOUND);
    assert_null(spy_reflect_type(t.module, huge));
    assert_int_equal(spy_take_error(t.device).code, SPY_ERROR_NOT_FOUND);
    free(huge);

    // Names that crash libslang, and such that are no types.
    static const char *const names[] = { "float*", "Grid<3>*", "float3 float", "Grid<3", "Grid<float>>", "f(1)", "Circle::area", "functype(float)->float",
                                         "float[", "float[-1]", "float[0]", "float[]", "[3]", "1", "Cirlce", "Grid<Circle", "Circle::Inner::v", "\xff", "Color::Red" };
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        print_message("%s\n", names[i]);
        assert_null(spy_reflect_type(t.module, names[i]));
        ERROR_IS(t.device, SPY_ERROR_NOT_FOUND, "spy_reflect_type", names[i]);
    }
    assert_null(spy_reflect_type(t.module, "Cirlce"));
    ERROR_IS(t.device, SPY_ERROR_NOT_FOUND, "did you mean", "'Circle'");
    assert_null(spy_reflect_type(t.module, NULL));
    ERROR_IS(t.device, SPY_ERROR_INVALID_ARGUMENT, "NULL");
    assert_null(spy_reflect_type(t.module, ""));
    ERROR_IS(t.device, SPY_ERROR_INVALID_ARGUMENT, "\"\"");
    static const char *const open[] = { "Grid", "Grid::Row", "Grid.Row" };
    for (size_t i = 0; i < 3; i++) {
        assert_null(spy_reflect_type(t.module, open[i]));
        ERROR_IS(t.device, SPY_ERROR_INVALID_ARGUMENT, open[i], "generic", "arguments");
    }
    close_device(&t);
}

static void test_released(void **state) {
    (void)state;
    fixture t;
    open_module(&t, types_source);
    spy_module *other = load(&t, "other", "float g(float x) { return x; }");
    const spy_decl *mine = spy_reflect_module(other);
    assert_non_null(mine);
    spy_retain_module(other);
    spy_release_module(other);
    assert_string_equal(mine->children[0].text, "float g(float x)"); // still held
    spy_release_module(other);
#ifndef NDEBUG // released headers are kept
    (void)spy_take_error(NULL); // of the test before, which gives NULL objects
    assert_null(spy_reflect_module(other));
    ERROR_IS(NULL, SPY_ERROR_RELEASED, "spy_reflect_module", "released");
    assert_null(spy_reflect_type(other, "float"));
    ERROR_IS(NULL, SPY_ERROR_RELEASED, "spy_reflect_type", "released");
    assert_null(spy_find_decl(other, "g"));
    ERROR_IS(NULL, SPY_ERROR_RELEASED, "spy_find_decl", "released");
#endif
    assert_int_equal(find(&t, "Circle")->kind, SPY_DECL_KIND_STRUCT);
    // A module that is being released takes all of its trees with it (address sanitizer looks).
    for (int i = 0; i < 20; i++) {
        spy_module *m = load(&t, "brief", types_source);
        assert_non_null(spy_reflect_type(m, "Grid<float, 7>"));
        spy_release_module(m);
    }
    close_device(&t);
}

// >>sessions and reloads

static void test_fresh_session(void **state) {
    (void)state;
    fixture t;
    spyi_text first = { NULL, 0, 0 }, second = { NULL, 0, 0 };
    open_module(&t, types_source);
    print_tree(spy_reflect_module(t.module), 0, false, &first);
    spyi_declarations *before = spyi_unit_declare(t.module->unit);
    assert_true(spyi_declarations_root(before)->children[0].line > 0);
    spyi_declarations_free(before);
    spy_device *device = t.device;
    spyi_sl_session *old = t.module->unit->live->session;
    t.module->unit->live->kept_kib = (size_t)1 << 30; // it has grown: the next query gets a fresh one, without the text
    spyi_declarations *after = spyi_unit_declare(t.module->unit);
    assert_ptr_not_equal(t.module->unit->live->session, old);
    print_tree(spyi_declarations_root(after), 0, false, &second);
    assert_string_equal(spyi_text_str(&first), spyi_text_str(&second));
    assert_int_equal(spyi_declarations_root(after)->children[0].line, 0); // places are forgotten
    spyi_declarations_free(after);
    assert_int_equal(type(&t, "Grid<float, 9>")->size_bytes, 36); // the tree of the old session grows on
    assert_ptr_equal(t.device, device);
    spyi_text_free(&first);
    spyi_text_free(&second);
    close_device(&t);
}

// A reload gives the module another unit.
static void test_reload(void **state) {
    (void)state;
    fixture t;
    open_module(&t, "struct S { float a; }\nfloat f(S s) { return s.a; }\n");
    spy_module *next = load(&t, "user", "struct S { float a; float b; }\nfloat g(S s) { return s.a; }\n");
    const spy_decl *old = spy_reflect_module(t.module);
    const spy_type_info *old_type = type(&t, "S");
    spyi_unit *unit = t.module->unit;
    t.module->unit = next->unit;
    next->unit = unit;
    const spy_decl *fresh = spy_reflect_module(t.module);
    assert_ptr_not_equal(old, fresh);
    assert_int_equal(type(&t, "S")->size_bytes, 8);
    assert_int_equal(find(&t, "g")->kind, SPY_DECL_KIND_FUNCTION);
    assert_null(spy_find_decl(t.module, "f"));
    assert_int_equal(spy_take_error(t.device).code, SPY_ERROR_NOT_FOUND);
    spy_release_module(next); // the old unit goes; its tree stays
    assert_non_null(spy_reflect_module(t.module));
    assert_int_equal(old_type->size_bytes, 4);
    assert_string_equal(old->children[1].text, "float f(S s)");
    close_device(&t);
}

static void test_docs(void **state) {
    (void)state;
    fixture t;
    open_checked(&t, "/// Adds two numbers.\n///   Both of them.\nfloat add(float a,\n          float b) { return a + b; }\n"
                     "/** Squares.\n * Of x.\n */\n[Differentiable]\n[ForceInline] float square(float x) { return x * x; }\n"
                     "// not a doc\nfloat none(float x) { return x; }\n"
                     "float after(float x) { return x; } /// nor this\nfloat also_none(float x) { return x; }\n"
                     "  //! Of a struct.\n  struct S\n{ float z; /// beside z\n float n() { return 1; }\n    /// A method.\n    float m() { return 1; }\n    float x; };\n"
                     "/// Generic.\n__generic<T : IFloat>\nT gen(T x) { return x; }\n"
                     "//// a line\nfloat line(float x) { return x; }\n"
                     "/**/ float empty(float x) { return x; }\n/** One. */\nfloat one(float x) { return x; }\n/// first line");
    static const char *const docs[][2] = {
        { "add", "Adds two numbers.\n  Both of them." }, { "square", "Squares.\nOf x." }, { "none", "" }, { "also_none", "" },
        { "S", "Of a struct." }, { "S::m", "A method." }, { "S::x", "" }, { "S::n", "" }, { "gen", "Generic." }, { "line", "" }, { "empty", "" },
        { "one", "One." },
    };
    for (size_t i = 0; i < sizeof docs / sizeof *docs; i++) assert_string_equal(find(&t, docs[i][0])->doc, docs[i][1]);
    assert_string_equal(find(&t, "add")->children[0].doc, "");
    close_device(&t);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_functions), cmocka_unit_test(test_differentiable_generics),
        cmocka_unit_test(test_docs),     cmocka_unit_test(test_attributes), cmocka_unit_test(test_types),    cmocka_unit_test(test_layouts),
        cmocka_unit_test(test_types_by_name), cmocka_unit_test(test_implements), cmocka_unit_test(test_globals),  cmocka_unit_test(test_files),
        cmocka_unit_test(test_empty),         cmocka_unit_test(test_many),       cmocka_unit_test(test_deep),     cmocka_unit_test(test_odd),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_released),      cmocka_unit_test(test_fresh_session), cmocka_unit_test(test_reload),
    };
    return cmocka_run_group_tests(tests, hold_slang, let_slang_go);
}

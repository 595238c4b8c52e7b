// Recipes (plan/recipe.h): a call's plan is written on one device, read on another, and the same call made there. Nothing is compiled
// there, and the same work is recorded. Damaged bytes, and those of another version, library, profile or call, are refused.
// On a real device (vulkan; SPY_TEST_BACKEND=cuda) results are compared.
#include "spy_test.h"
#include "hold_slang.h"
#include <unistd.h>
#ifdef SPY_TEST_SPLIT
#include "api/generator.h"
#include "api/gradient.h"
#include "api/pack.h"
#include "backend/null/null.h"
#include "call/call.h"
#include "list/list.h"
#include "plan/recipe_fields.h"
#endif

static const char source[] =
    "struct Light { float3 color; float power; int kind; };\n"
    "struct Pair { float a; Light b; bool on; };\n"
    "enum Shape { Round, Square };\n"
    "interface IScale { float scale(float x); };\n"
    "struct Twice : IScale { float scale(float x) { return 2 * x; } };\n"
    "extern static const float SLOPE;\n"
    "uniform float gain;\n"
    "StructuredBuffer<float> weights;\n"
    "ConstantBuffer<Light> sun;\n"
    "float add(float x, float y) { return x + y; }\n"
    "void two(float x, out float y, out float z) { y = x; z = -x; }\n"
    "void into(float x, int k, inout float y) { y += x * k; }\n"
    "float3 mix(float3 a, float3 b, half t) { return a + (b - a) * t; }\n"
    "float shade(Light l, float x) { return l.color.x * l.power * x + l.kind; }\n"
    "float deep(Pair p, float x) { return p.on ? shade(p.b, x) : p.a; }\n"
    "float row(float4 v, uint8_t k) { return v.x + k; }\n"
    "float4x4 turned(float4x4 m, double s) { return m * float(s); }\n"
    "int kind_of(Shape s, bool b) { return b ? int(s) : -1; }\n"
    "float place(int2 at, float x) { return at.x + 100 * at.y + x; }\n"
    "float line(int i, float x) { return i + x; }\n"
    "float noise(float r, uint h) { return r + h; }\n"
    "float pick(StructuredBuffer<float> t, int i) { return t[i]; }\n"
    "void put(RWStructuredBuffer<float> t, int i, float v) { t[i] = v; }\n"
    "float at(float *p, int i) { return p[i]; }\n"
    "T same<T>(T x) { return x; }\n"
    "float total<let N : int>(float x[N]) { float s = 0; for (int i = 0; i < N; i++) s += x[i]; return s; }\n"
    "float held(ConstantBuffer<Light> l, float x) { return l.power * x; }\n"
    "float globals(float x) { return x * gain + weights[1] + sun.power; }\n"
    "float sloped(float x) { return SLOPE * x; }\n"
    "Light doubled(Light l) { l.power *= 2; return l; }\n"
    "[Differentiable] float poly(float a, float b) { return a * b + a; }\n"
    "[Differentiable] float dot3(float3 a, float3 b) { return dot(a, b); }\n"
    "[Differentiable] void both(float a, float b, out float y, out float z) { y = a * b; z = a + b; }\n"
    "void threads(uint3 id : SV_DispatchThreadID, RWStructuredBuffer<float> out_, float s) { out_[id.x] = s * id.x; }\n";

static const char tensor_source[] =
    "import slangpy;\nimport slangpy_diff;\n"
    "float pick(Tensor<float, 2> t, int2 at) { return t[at.y, at.x]; }\n"
    "void put(RWTensor<float, 1> t, int i, float v) { t[i] = v; }\n"
    "[Differentiable] float row(DiffTensor<float, 1> t, no_diff int i, float x) { return t[i] * x; }\n"
    "float pair(DifferentialPair<float> p) { return p.p + p.d; }\n"
    "float where(float x) { return get_call_id().shape[0] + x; }\n";

// >>two devices

enum { TENSORS = 14, SIDES = 2 };

typedef struct side {
    spy_device *device;
    spy_module *module, *tensor_module;
    spy_tensor *t[TENSORS];
} side;

static side sides[SIDES]; // [0] compiles, [1] reads
static spyi_text reports[SIDES]; // of null devices
static bool prints;              // devices have desc.enable_print

static spy_module *load(side *s, const char *name, const char *text) {
    spy_module_desc m;
    memset(&m, 0, sizeof m);
    m.name = name;
    m.source = text;
    spy_module *module = spy_load_module(s->device, &m);
    if (!module) fail_msg("%s", spy_take_error(s->device).message);
    return module;
}

static spy_tensor *make(side *s, spy_shape shape, bool graded, double first) {
    static float floats[5000];
    spy_tensor_desc d;
    int64_t count = 1;
    for (uint32_t i = 0; i < shape.rank; i++) count *= shape.dims[i];
    for (int64_t i = 0; i < count; i++) floats[i] = (float)first + (float)(i % 97) / 8;
    memset(&d, 0, sizeof d);
    d.shape = shape;
    d.with_grad = graded;
    spy_tensor *t = spy_create_tensor(s->device, &d);
    if (!t) fail_msg("%s", spy_take_error(s->device).message);
    assert_int_equal(spy_tensor_write(t, floats, (size_t)count * 4), SPY_OK);
    return t;
}

static spy_tensor *part(spy_tensor *of, spy_shape shape, spy_shape strides, int64_t first) {
    spy_view_desc d;
    memset(&d, 0, sizeof d);
    d.shape = shape;
    d.strides = strides;
    d.offset_elements = first;
    spy_tensor *t = spy_create_view(of, &d);
    assert_non_null(t);
    return t;
}

static spy_tensor *lights(side *s) {
    static float data[20][5]; // color, power, and the bits of kind
    spy_tensor_desc d;
    memset(&d, 0, sizeof d);
    for (int i = 0; i < 20; i++) data[i][0] = (float)i, data[i][3] = 2;
    d.data = data;
    d.type = "Light";
    d.module = s->module;
    d.shape = SPY_SHAPE(20);
    spy_tensor *t = spy_create_tensor(s->device, &d);
    if (!t) fail_msg("%s", spy_take_error(s->device).message);
    return t;
}

static void open_side(side *s, const spy_backend *backend, const void *backend_desc) {
    spy_device_desc d;
    memset(s, 0, sizeof *s);
    memset(&d, 0, sizeof d);
    d.backend = backend;
    d.backend_desc = backend_desc;
    d.enable_print = prints;
    d.adapter_name = getenv("SPY_TEST_ADAPTER");
    s->device = spy_create_device(&d);
    if (!s->device && backend != spyi_null_backend()) {
        print_message("skipped: %s\n", spy_take_error(NULL).message);
        skip();
    }
    if (!s->device) fail_msg("%s", spy_take_error(NULL).message);
    s->device->sign_call = spyi_recipe_signature;
    s->module = load(s, "recipes", source);
    s->tensor_module = load(s, "tensors", tensor_source);
    s->t[0] = make(s, SPY_SHAPE(60), false, 1);
    s->t[1] = make(s, SPY_SHAPE(4096), false, 2);
    s->t[2] = make(s, SPY_SHAPE(20, 3), false, 3);
    s->t[3] = make(s, SPY_SHAPE(7, 1), false, 4);
    s->t[4] = make(s, SPY_SHAPE(1, 9), false, 5);
    s->t[5] = part(s->t[1], SPY_SHAPE(30, 20), SPY_SHAPE(1, 40), 7);
    s->t[6] = make(s, SPY_SHAPE(30, 20), false, 6);
    s->t[7] = make(s, SPY_SHAPE(60), true, 7);
    s->t[8] = make(s, SPY_SHAPE(1), true, 8);
    s->t[9] = make(s, SPY_SHAPE(60), true, 0);
    s->t[10] = make(s, SPY_SHAPE(20, 3), true, 1);
    s->t[11] = make(s, SPY_SHAPE(20), true, 1);
    s->t[12] = make(s, SPY_SHAPE(60), true, 1);
    s->t[13] = lights(s);
}

static void open_null(const spyi_null_desc *like) {
    static spyi_null_desc desc; // of the one that is opened
    for (int k = 0; k < SIDES; k++) {
        if (like) desc = *like;
        else memset(&desc, 0, sizeof desc);
        desc.report = &reports[k];
        open_side(&sides[k], spyi_null_backend(), &desc);
    }
}

static void close_side(side *s) {
    for (int i = 0; i < TENSORS; i++) spy_release_tensor(s->t[i]);
    spy_release_module(s->module);
    spy_release_module(s->tensor_module);
    spy_release_device(s->device);
    spyi_text *report = &reports[s - sides];
    if (report->size) print_error("%s", spyi_text_str(report));
    assert_int_equal(report->size, 0);
    spyi_text_free(report);
}

static void close_sides(void) {
    for (int k = 0; k < SIDES; k++) close_side(&sides[k]);
}

// >>calls

typedef struct call {
    const char *function;
    bool of_tensors; // the other module's
    spy_arg args[6];
    size_t count;
    spy_call_options options;
    bool dispatch;
} call;

// What arguments point to.
typedef struct room {
    spy_tensor *made[2];
    spy_result result;
    float out, array[60], host[64];
    int32_t ints[60];
    double doubles[20];
    spy_arg fields[4], inner[4], globals[6], constants[1];
    spy_grid_desc grid;
    struct {
        float color[3], power;
        int32_t kind;
    } light;
    const char *conformances[1];
} room;

static void give(call *c, spy_arg arg) {
    c->args[c->count++] = arg;
}

// Call number `n`; false: there are no more.
static bool fill(side *s, int n, call *c, room *r) {
    spy_tensor **t = s->t;
    memset(c, 0, sizeof *c);
    memset(r, 0, sizeof *r);
    for (int i = 0; i < 60; i++) r->host[i] = (float)i / 4, r->ints[i] = i % 7;
    r->light.color[0] = 2, r->light.power = 3, r->light.kind = 4;
    spy_args fields = { r->fields, 0 };
    c->function = "add";
    switch (n) {
    case 0: give(c, spy_arg_f32("x", 1)), give(c, spy_arg_f32("y", 2)), give(c, spy_out_tensor("_result", &r->made[0])); break;
    case 1: give(c, spy_arg_tensor(NULL, t[0])), give(c, spy_arg_i32(NULL, 2)), give(c, spy_arg_tensor("_result", t[9])); break;
    case 2: give(c, spy_arg_tensor("x", t[3])), give(c, spy_arg_tensor("y", t[4])), give(c, spy_out_tensor("_result", &r->made[0])); break;
    case 3: give(c, spy_arg_tensor("x", t[1])), give(c, spy_arg_tensor("y", t[1])), give(c, spy_out_tensor("_result", &r->made[0])); break;
    case 4: give(c, spy_arg_tensor("x", t[5])), give(c, spy_arg_tensor("y", t[6])), give(c, spy_out_tensor("_result", &r->made[0])); break;
    case 5: c->function = "mix", give(c, spy_arg_tensor("a", t[2])), give(c, spy_arg_f32n("b", r->host, 3)), give(c, spy_arg_f32("t", 0.5f)), give(c, spy_out_tensor("_result", &r->made[0])); break;
    case 6:
        c->function = "shade";
        r->fields[0] = spy_arg_tensor("color", t[2]), r->fields[1] = spy_arg_f32("power", 2), r->fields[2] = spy_arg_array("kind", r->ints, SPY_SHAPE(20), SPY_DTYPE_INT32);
        fields.count = 3;
        give(c, spy_arg_struct("l", fields)), give(c, spy_arg_tensor("x", t[11])), give(c, spy_out_tensor("_result", &r->made[0]));
        break;
    case 7: c->function = "shade", give(c, spy_arg_data("l", &r->light, sizeof r->light)), give(c, spy_arg_tensor("x", t[0])), give(c, spy_out_tensor("_result", &r->made[0])); break;
    case 8:
        c->function = "deep";
        r->fields[0] = spy_arg_f32("a", 2), r->fields[1] = spy_arg_data("b", &r->light, sizeof r->light), r->fields[2] = spy_arg_bool("on", true);
        fields.count = 3;
        give(c, spy_arg_struct("p", fields)), give(c, spy_arg_tensor("x", t[0])), give(c, spy_out_array("_result", r->array, SPY_SHAPE(60), SPY_DTYPE_FLOAT32));
        break;
    case 9: c->function = "row", give(c, spy_arg_f32n("v", r->host, 4)), give(c, spy_arg_u32("k", 7)), give(c, spy_out_f32("_result", &r->out)); break;
    case 10: c->function = "into", give(c, spy_arg_array("x", r->host, SPY_SHAPE(60), SPY_DTYPE_FLOAT32)), give(c, spy_arg_i32("k", 3)), give(c, spy_inout_array("y", r->array, SPY_SHAPE(60), SPY_DTYPE_FLOAT32)); break;
    case 11: c->function = "two", give(c, spy_arg_tensor("x", t[0])), give(c, spy_out_tensor("y", &r->made[0])), give(c, spy_out_tensor("z", &r->made[1])); break;
    case 12: c->function = "turned", give(c, spy_arg_f32n("m", r->host, 16)), give(c, spy_arg_f64("s", 2)), give(c, spy_out_result("_result", &r->result)); c->args[0] = spy_arg_array("m", r->host, SPY_SHAPE(4, 4), SPY_DTYPE_FLOAT32); break;
    case 13: c->function = "kind_of", give(c, spy_arg_i32("s", 1)), give(c, spy_arg_bool("b", true)), give(c, spy_out_i32("_result", (int32_t *)(void *)&r->out)); c->args[0] = spy_arg_u32("s", 1); break;
    case 14: c->function = "place", give(c, spy_arg_call_id("at")), give(c, spy_arg_tensor("x", t[6])), give(c, spy_out_tensor("_result", &r->made[0])); break;
    case 15: c->function = "line", give(c, spy_arg_thread_id("i")), give(c, spy_arg_tensor("x", t[0])), give(c, spy_out_tensor("_result", &r->made[0])); break;
    case 16: c->function = "line", give(c, spy_arg_range("i", 3, 123, 2)), give(c, spy_arg_tensor("x", t[0])), give(c, spy_out_tensor("_result", &r->made[0])); break;
    case 17: c->function = "noise", give(c, spy_arg_rand_float("r", 0, 1, NULL)), give(c, spy_arg_wang_hash("h", NULL)), give(c, spy_arg_tensor("_result", t[0])); break;
    case 18: r->grid.shape = SPY_SHAPE(30, 20), c->function = "place", give(c, spy_arg_grid("at", &r->grid)), give(c, spy_arg_f32("x", 2)), give(c, spy_out_tensor("_result", &r->made[0])); break;
    case 19: c->function = "pick", give(c, spy_arg_tensor("t", t[0])), give(c, spy_arg_call_id("i")), give(c, spy_arg_tensor("_result", t[9])); break;
    case 20: c->function = "put", give(c, spy_arg_tensor("t", t[9])), give(c, spy_arg_call_id("i")), give(c, spy_arg_tensor("v", t[0])); break;
    case 21: c->function = "at", give(c, spy_arg_tensor("p", t[0])), give(c, spy_arg_range("i", 0, 60, 1)), give(c, spy_arg_tensor("_result", t[9])); break;
    case 22: c->function = "same", give(c, spy_arg_tensor("x", t[0])), give(c, spy_out_tensor("_result", &r->made[0])); break;
    case 23: c->function = "total", give(c, spy_vcast(spy_arg_tensor("x", t[2]), "float[3]")), give(c, spy_out_tensor("_result", &r->made[0])); break;
    case 24: c->function = "held", give(c, spy_arg_data("l", &r->light, sizeof r->light)), give(c, spy_arg_tensor("x", t[0])), give(c, spy_arg_tensor("_result", t[9])); break;
    case 25:
        c->function = "globals", give(c, spy_arg_tensor("x", t[0])), give(c, spy_arg_tensor("_result", t[9]));
        r->globals[0] = spy_arg_f32("gain", 3), r->globals[1] = spy_arg_tensor("weights", t[1]), r->globals[2] = spy_arg_data("sun", &r->light, sizeof r->light);
        c->options.globals.items = r->globals, c->options.globals.count = 3;
        break;
    case 26: give(c, spy_arg_tensor("x", t[0])), give(c, spy_arg_tensor("y", t[9])), give(c, spy_out_tensor("_result", &r->made[0])), c->options.thread_group_size[0] = 64; break;
    case 27: give(c, spy_arg_tensor("x", t[5])), give(c, spy_arg_f32("y", 1)), give(c, spy_out_tensor("_result", &r->made[0])), c->options.call_group_shape = SPY_SHAPE(4, 4); break;
    case 28: give(c, spy_arg_f32("x", 1)), give(c, spy_arg_f32("y", 2)), give(c, spy_out_tensor("_result", &r->made[0])), c->options.thread_count = SPY_SHAPE(5, 4); break;
    case 29: give(c, spy_vmap(spy_arg_tensor("x", t[0]), SPY_DIMS(1))), give(c, spy_vmap(spy_arg_tensor("y", t[11]), SPY_DIMS(0))), give(c, spy_out_tensor("_result", &r->made[0])); break;
    case 30: c->function = "poly", c->options.mode = SPY_CALL_MODE_BACKWARD, give(c, spy_arg_tensor("a", t[7])), give(c, spy_arg_tensor("b", t[9])), give(c, spy_arg_tensor("_result", t[12])); break;
    case 31: c->function = "poly", c->options.mode = SPY_CALL_MODE_BACKWARD, give(c, spy_arg_tensor("a", t[7])), give(c, spy_arg_tensor("b", t[8])), give(c, spy_arg_tensor("_result", t[9])); break;
    case 32: c->function = "poly", c->options.mode = SPY_CALL_MODE_BACKWARD, c->options.deterministic = true, give(c, spy_arg_tensor("a", t[8])), give(c, spy_arg_tensor("b", t[7])), give(c, spy_arg_tensor("_result", t[9])); break;
    case 33: c->function = "both", c->options.mode = SPY_CALL_MODE_BACKWARD, give(c, spy_arg_tensor("a", t[8])), give(c, spy_arg_tensor("b", t[8])), give(c, spy_arg_tensor("y", t[7])), give(c, spy_arg_tensor("z", t[9])); break;
    case 34: c->function = "dot3", c->options.mode = SPY_CALL_MODE_BACKWARD, give(c, spy_arg_tensor("a", t[10])), give(c, spy_arg_f32n("b", r->host, 3)), give(c, spy_arg_tensor("_result", t[11])); break;
    case 35: c->function = "poly", c->options.mode = SPY_CALL_MODE_FORWARD_DIFF, give(c, spy_arg_tensor("a", t[7])), give(c, spy_arg_f32("b", 2)), give(c, spy_arg_tensor("_result", t[9])); break;
    case 36:
        c->function = "pick", c->of_tensors = true;
        give(c, spy_arg_tensor("t", t[6])), give(c, spy_arg_call_id("at")), give(c, spy_out_tensor("_result", &r->made[0])), c->options.thread_count = SPY_SHAPE(5, 4);
        break;
    case 37: c->function = "put", c->of_tensors = true, give(c, spy_arg_tensor("t", t[9])), give(c, spy_arg_call_id("i")), give(c, spy_arg_tensor("v", t[0])); break;
    case 38: c->function = "row", c->of_tensors = true, c->options.mode = SPY_CALL_MODE_BACKWARD, give(c, spy_arg_tensor("t", t[7])), give(c, spy_arg_call_id("i")), give(c, spy_arg_tensor("x", t[9])), give(c, spy_arg_tensor("_result", t[12])); break;
    case 39: c->function = "pair", c->of_tensors = true, give(c, spy_arg_tensor("p", t[7])), give(c, spy_out_tensor("_result", &r->made[0])); break;
    case 40: c->function = "where", c->of_tensors = true, give(c, spy_arg_tensor("x", t[0])), give(c, spy_out_tensor("_result", &r->made[0])); break;
    case 41: c->function = "threads", c->dispatch = true, give(c, spy_arg_tensor("out_", t[9])), give(c, spy_arg_f32("s", 2)); break;
    case 42:
        c->function = "add", give(c, spy_arg_tensor("x", t[0])), give(c, spy_arg_f32("y", 2)), give(c, spy_out_tensor("_result", &r->made[0]));
        r->conformances[0] = "Twice : IScale", c->options.conformances = r->conformances, c->options.conformance_count = 1;
        c->options.prelude = "// a prelude\n";
        break;
    case 43: c->function = "add", give(c, spy_arg_tensor("x", t[0])), give(c, spy_arg_tensor("y", t[3])), give(c, spy_out_tensor("_result", &r->made[0])); break;
    case 44: give(c, spy_arg_f64("x", 1)), give(c, spy_arg_array("y", r->host, SPY_SHAPE(0), SPY_DTYPE_FLOAT64)), give(c, spy_out_tensor("_result", &r->made[0])); break;
    case 45:
        c->function = "sloped", give(c, spy_arg_tensor("x", t[0])), give(c, spy_arg_tensor("_result", t[9]));
        r->constants[0] = spy_arg_f32("SLOPE", 1.5f), c->options.constants.items = r->constants, c->options.constants.count = 1;
        break;
    case 46: c->function = "doubled", give(c, spy_arg_tensor("l", t[13])), give(c, spy_out_tensor("_result", &r->made[0])); break;
    case 47: c->function = "shade", give(c, spy_arg_tensor("l", t[13])), give(c, spy_arg_tensor("x", t[11])), give(c, spy_out_array("_result", r->doubles, SPY_SHAPE(20), SPY_DTYPE_FLOAT64)); break;
    case 48: c->function = "same", give(c, spy_vmap(spy_arg_tensor("x", t[2]), SPY_DIMS(0))), give(c, spy_out_tensor("_result", &r->made[0])); break;
    default: return false;
    }
    return true;
}

enum { CALLS = 49 };

static spy_function *function_of(side *s, const call *c) {
    spy_function *f = spy_find_function(c->of_tensors ? s->tensor_module : s->module, c->function);
    if (!f) fail_msg("%s", spy_take_error(s->device).message);
    return f;
}

static const spyi_threads dispatched = { { 60, 1, 1 }, { 64, 1, 1 }, true, NULL, 0, false, 0 };

static spy_status make_call(side *s, const call *c) {
    spy_args list = { c->args, c->count };
    spy_uint3 threads = { 60, 1, 1 };
    return c->dispatch ? spy_dispatch(function_of(s, c), threads, list, &c->options)
                       : spy_call_with(function_of(s, c), list, &c->options);
}

static void free_room(room *r) {
    for (int i = 0; i < 2; i++) spy_release_tensor(r->made[i]);
    spy_release_tensor(r->result.tensor);
}

// The last plan of a device: a redirect comes before its plan.
static spyi_plan *last_plan(side *s) {
    spyi_plan *plan = s->device->cache->newest;
    while (plan && plan->redirect) plan = plan->older;
    return plan;
}

static spyi_text written(side *s, int n) {
    spyi_text bytes = { NULL, 0, 0 }, error = { NULL, 0, 0 };
    spy_status status = spyi_recipe_write(last_plan(s), &bytes, &error);
    if (status != SPY_OK) fail_msg("call %d: %s", n, spyi_text_str(&error));
    assert_int_equal(error.size, 0);
    return bytes;
}

// Reads a recipe for the call; the plan goes into the cache if it is wanted there.
static spy_status read_for(side *s, const call *c, const void *bytes, size_t size, bool keep, spyi_text *error) {
    spy_args list = { c->args, c->count };
    spy_arg all[8];
    spy_function *f = function_of(s, c);
    if (c->dispatch) {
        spyi_entry entry;
        memset(&entry, 0, sizeof entry);
        spyi_unit_entry(f->module->unit, f->name, &entry);
        all[0] = spyi_system_arg("id", (spyi_system)entry.systems[0]);
        memcpy(all + 1, c->args, c->count * sizeof *all);
        list.items = all;
        list.count++;
    }
    assert_int_equal(spyi_enter(f, SPYI_KIND_FUNCTION, "test"), SPY_OK);
    spyi_values *values = s->device->cache->values;
    spyi_plan *plan = NULL;
    spy_status status = spyi_describe(f, list, &c->options, c->dispatch ? &dispatched : NULL, values, error);
    assert_int_equal(status, SPY_OK);
    status = spyi_recipe_read(f, values, bytes, size, &plan, error);
    assert_true((status == SPY_OK) == (plan != NULL));
    assert_true((status == SPY_OK) == (error->size == 0));
    if (plan && keep) assert_true(spyi_plan_insert(s->device, plan, values, values->key_size));
    else if (plan) spyi_plan_release(s->device, plan);
    spyi_leave(f);
    return status;
}

// >>the same work

static uint64_t placed(side *s, uint64_t w) { // an address counted from the start of its memory
    uint64_t number = 1;
    for (int m = 0; m < 2; m++)
        for (const spyi_slab *slab = s->device->pool.slabs[m]; slab; slab = slab->next, number++)
            if (w - slab->chunk.address < slab->chunk.size) return number << 56 | (w - slab->chunk.address);
    for (const spy_tensor *t = s->device->tensors; t; t = t->next, number++)
        if (w - t->storage->chunk.address < t->storage->chunk.size)
            return number << 56 | (w - t->storage->chunk.address);
    return w;
}

// Whether an address stands there, of the same place.
static bool same_place(const char *a, const char *b, uint32_t at, uint32_t size) {
    uint64_t x, y;
    if (at + 8 > size) return false;
    memcpy(&x, a + at, 8);
    memcpy(&y, b + at, 8);
    return placed(&sides[0], x) != x && placed(&sides[0], x) == placed(&sides[1], y);
}

static void same_bytes(int n, const char *what, const void *first, const void *second, uint32_t size) {
    const char *a = (const char *)first, *b = (const char *)second;
    for (uint32_t at = 0; at < size; at++) {
        uint32_t from = at / 4 * 4; // an address is aligned to 4 at least, and its first bytes may be the same by chance
        if (a[at] == b[at] || same_place(a, b, from, size) || (from >= 4 && same_place(a, b, from - 4, size))) continue;
        fail_msg("call %d: %s at %u: %02x and %02x", n, what, at, (unsigned)(uint8_t)a[at], (unsigned)(uint8_t)b[at]);
    }
}

static void same_work(int n, const size_t *from) {
    size_t count = spyi_null_op_count(sides[0].device->gpu) - from[0];
    assert_int_equal(count, spyi_null_op_count(sides[1].device->gpu) - from[1]);
    for (size_t i = 0; i < count; i++) {
        const spyi_null_op *a = spyi_null_get_op(sides[0].device->gpu, from[0] + i);
        const spyi_null_op *b = spyi_null_get_op(sides[1].device->gpu, from[1] + i);
        assert_int_equal(a->kind, b->kind);
        assert_int_equal(a->barrier, b->barrier);
        assert_memory_equal(a->groups, b->groups, sizeof a->groups);
        if (strcmp(a->label ? a->label : "", b->label ? b->label : "") != 0) fail_msg("call %d: %s and %s", n, a->label, b->label);
        assert_int_equal(a->group_size, b->group_size);
        assert_int_equal(a->block_by_address, b->block_by_address);
        assert_int_equal(a->block_size, b->block_size);
        same_bytes(n, "the block", a->block, b->block, a->block_size);
        assert_int_equal(a->binding_count, b->binding_count);
        for (uint32_t k = 0; k < a->binding_count; k++) {
            assert_int_equal(a->bindings[k].offset, b->bindings[k].offset);
            assert_int_equal(a->bindings[k].range, b->bindings[k].range);
            assert_int_equal(a->bindings[k].kind, b->bindings[k].kind);
        }
        assert_int_equal(a->uniform_count, b->uniform_count);
        for (uint32_t k = 0; k < a->uniform_count; k++) {
            assert_int_equal(a->uniforms[k].size, b->uniforms[k].size);
            same_bytes(n, "a uniform buffer", a->uniforms[k].data, b->uniforms[k].data, a->uniforms[k].size);
        }
    }
}

// Of every `of` calls one, or all of them.
static void compare_all(const spyi_null_desc *desc, size_t of) {
    size_t done = 0, wanted = 0, bytes_together = 0;
    open_null(desc);
    for (int n = 0; n < CALLS; n++) {
        if (!test_turn((size_t)n, of)) continue;
        wanted++;
        call c[SIDES];
        room r[SIDES];
        spyi_text error = { NULL, 0, 0 };
        size_t from[SIDES];
        for (int k = 0; k < SIDES; k++) {
            assert_true(fill(&sides[k], n, &c[k], &r[k]));
            from[k] = spyi_null_op_count(sides[k].device->gpu);
        }
        if (make_call(&sides[0], &c[0]) != SPY_OK) { // by the shape of its sizes, or the backend
            print_message("call %d: %s\n", n, spy_take_error(sides[0].device).message);
            free_room(&r[0]), free_room(&r[1]);
            continue;
        }
        spyi_text bytes = written(&sides[0], n);
        spy_status status = read_for(&sides[1], &c[1], bytes.data, bytes.size, true, &error);
        if (status != SPY_OK) fail_msg("call %d: %s", n, spyi_text_str(&error));
        assert_int_equal(last_plan(&sides[1])->variant_count, last_plan(&sides[0])->variant_count);
        if (make_call(&sides[1], &c[1]) != SPY_OK) fail_msg("call %d: %s", n, spy_take_error(sides[1].device).message);
        assert_int_equal(sides[1].device->stats.kernels_built, 0);
        assert_int_equal(sides[1].device->stats.plans_built, 0);
        same_work(n, from);
        spyi_text again = written(&sides[1], n); // what was read holds all that was written
        assert_int_equal(again.size, bytes.size);
        assert_memory_equal(again.data, bytes.data, bytes.size);
        bytes_together += bytes.size;
        done++;
        spyi_text_free(&again);
        spyi_text_free(&bytes);
        free_room(&r[0]), free_room(&r[1]);
    }
    print_message("%zu calls, %zu bytes each\n", done, bytes_together / (done ? done : 1));
    assert_int_equal(done, wanted);
    close_sides();
}

static void test_same_work(void **state) {
    (void)state;
    compare_all(NULL, 1);
}

static void test_same_work_by_bindings(void **state) {
    (void)state;
    spyi_null_desc desc;
    memset(&desc, 0, sizeof desc);
    desc.prefers_bindings = true;
    compare_all(&desc, 3);
}

static void test_same_work_for_cuda(void **state) {
    (void)state;
    spyi_null_desc desc;
    memset(&desc, 0, sizeof desc);
    desc.target = SPYI_TARGET_CUDA;
    desc.max_block_bytes = 4096;
    compare_all(&desc, 3);
}

// Arrays without a size: on the device that compiles, calls that give other numbers of buffers run one kernel.
static void test_unsized(void **state) {
    (void)state;
    static const char text[] = "float of(StructuredBuffer<float> b[], int k, int i) { return b[k][i]; }\n";
    spyi_null_desc desc;
    memset(&desc, 0, sizeof desc);
    desc.target = SPYI_TARGET_CUDA;
    open_null(&desc);
    for (int k = 0; k < SIDES; k++) {
        spy_release_module(sides[k].module);
        sides[k].module = load(&sides[k], "unsized", text);
    }
    for (size_t count = 2; count < 5; count++) {
        call c[SIDES];
        spy_arg buffers[SIDES][4];
        spyi_text error = { NULL, 0, 0 };
        size_t from[SIDES];
        for (int k = 0; k < SIDES; k++) {
            spy_args list = { buffers[k], count };
            memset(&c[k], 0, sizeof c[k]);
            c[k].function = "of";
            for (size_t i = 0; i < count; i++) buffers[k][i] = spy_arg_tensor(NULL, sides[k].t[i]);
            give(&c[k], spy_arg_struct("b", list)), give(&c[k], spy_arg_i32("k", 1)), give(&c[k], spy_arg_call_id("i"));
            give(&c[k], spy_arg_tensor("_result", sides[k].t[9]));
            from[k] = spyi_null_op_count(sides[k].device->gpu);
        }
        if (make_call(&sides[0], &c[0]) != SPY_OK) fail_msg("%s", spy_take_error(sides[0].device).message);
        spyi_text bytes = written(&sides[0], (int)count);
        if (read_for(&sides[1], &c[1], bytes.data, bytes.size, true, &error) != SPY_OK) fail_msg("%s", spyi_text_str(&error));
        if (make_call(&sides[1], &c[1]) != SPY_OK) fail_msg("%s", spy_take_error(sides[1].device).message);
        assert_int_equal(sides[1].device->stats.kernels_built, 0);
        same_work((int)count, from);
        spyi_text_free(&bytes);
    }
    assert_int_equal(sides[0].device->stats.kernels_built, 1);
    close_sides();
}

// What kernels print comes with their recipe.
static void test_print(void **state) {
    (void)state;
    static const char text[] = "import slangpy_print;\nfloat told(float x) { if (x == 4) print(\"x is {}\", x); return x; }\n";
    prints = true;
    open_null(NULL);
    prints = false;
    call c[SIDES];
    spyi_text error = { NULL, 0, 0 };
    for (int k = 0; k < SIDES; k++) {
        spy_release_module(sides[k].module);
        sides[k].module = load(&sides[k], "print", text);
        memset(&c[k], 0, sizeof c[k]);
        c[k].function = "told";
        give(&c[k], spy_arg_tensor("x", sides[k].t[0])), give(&c[k], spy_arg_tensor("_result", sides[k].t[9]));
    }
    if (make_call(&sides[0], &c[0]) != SPY_OK) fail_msg("%s", spy_take_error(sides[0].device).message);
    spyi_text bytes = written(&sides[0], 0);
    const spyi_literals *literals = &last_plan(&sides[0])->variants[0]->program->literals;
    assert_true(last_plan(&sides[0])->variants[0]->emitted.prints);
    assert_int_equal(literals->count, 1);
    if (read_for(&sides[1], &c[1], bytes.data, bytes.size, true, &error) != SPY_OK) fail_msg("%s", spyi_text_str(&error));
    if (make_call(&sides[1], &c[1]) != SPY_OK) fail_msg("%s", spy_take_error(sides[1].device).message);
    assert_int_equal(sides[1].device->stats.kernels_built, 0);
    assert_string_equal(last_plan(&sides[1])->variants[0]->program->literals.items[0].text, literals->items[0].text);
    spyi_text_free(&bytes);
    close_sides();
}

// >>addresses: they stand where pack operations wrote them, and nowhere else

typedef struct told {
    uint32_t offsets[2][64], counts[2]; // in the block, in uniform buffers
} told;

static void tell(void *user, bool in_uniforms, uint32_t offset) {
    told *t = (told *)user;
    assert_true(t->counts[in_uniforms] < 64);
    t->offsets[in_uniforms][t->counts[in_uniforms]++] = offset;
}

// Every word of `bytes` that is an address of the device's memory has been told; returns how many there are.
static uint32_t check_told(int n, const told *t, int which, const void *bytes, uint32_t size) {
    uint32_t found = 0;
    for (uint32_t at = 0; at + 8 <= size; at += 4) {
        uint64_t word;
        memcpy(&word, (const char *)bytes + at, 8);
        if (placed(&sides[0], word) == word) continue;
        bool known = false;
        for (uint32_t i = 0; i < t->counts[which]; i++) known = known || t->offsets[which][i] == at;
        if (!known) fail_msg("call %d: an address at %u, which nobody tells", n, at);
        found++;
    }
    return found;
}

// Every address that is told is 0, or lies in memory that the operation uses.
static void check_used(int n, const spy_command_list *list, const spyi_list_op *op, const told *t, int which, const void *bytes) {
    for (uint32_t i = 0; i < t->counts[which]; i++) {
        uint64_t word;
        bool used = false;
        memcpy(&word, (const char *)bytes + t->offsets[which][i], 8);
        for (uint32_t u = op->first_use; u < op->first_use + op->use_count; u++) {
            const spyi_storage *storage = (const spyi_storage *)(const void *)list->uses[u].resource;
            used = used || word - storage->chunk.address - storage->offset < storage->size;
        }
        if (word && !used && !op->untracked) fail_msg("call %d: the address at %u lies in no memory of its uses", n, t->offsets[which][i]);
    }
}

// Of every three calls the one whose turn it is.
static void addresses_of_all(const spyi_null_desc *desc, size_t turn, uint32_t least) {
    uint32_t recorded = 0, found = 0;
    open_null(desc);
    for (int n = 0; n < CALLS; n++) {
        if (!test_turn((size_t)n + turn, 3)) continue;
        call c;
        room r;
        spy_command_list *list = spy_create_command_list(sides[0].device, NULL);
        assert_true(fill(&sides[0], n, &c, &r));
        c.options.append_to = list;
        recorded += make_call(&sides[0], &c) == SPY_OK;
        for (size_t i = 0; i < list->op_count; i++) {
            const spyi_list_op *op = &list->ops[i];
            const spyi_dispatch *d = (const spyi_dispatch *)(const void *)op->work;
            told t;
            uint64_t size = 0;
            if (!op->plan) continue;
            memset(&t, 0, sizeof t);
            spyi_variant_addresses(op->plan, op->variant, tell, &t);
            for (uint32_t u = 0; u < op->variant->bound_inputs.uniform_count; u++) size += spyi_align(d->uniforms[u].size, 16);
            const void *uniforms = size ? d->uniforms[0].data : NULL;
            found += check_told(n, &t, 0, d->block, op->variant->emitted.block_size);
            found += check_told(n, &t, 1, uniforms, (uint32_t)size);
            check_used(n, list, op, &t, 0, d->block);
            check_used(n, list, op, &t, 1, uniforms);
        }
        spy_release_command_list(list);
        free_room(&r);
    }
    print_message("%u of %d calls recorded, %u addresses\n", recorded, CALLS, found);
    assert_true(recorded >= (test_everything() ? 40 : 12) && found >= (test_everything() ? least : least / 5));
    close_sides();
}

static void test_addresses(void **state) {
    (void)state;
    spyi_null_desc desc;
    addresses_of_all(NULL, 0, 100);
    memset(&desc, 0, sizeof desc);
    desc.prefers_bindings = true;
    addresses_of_all(&desc, 1, 5);
    desc.prefers_bindings = false;
    desc.target = SPYI_TARGET_CUDA;
    desc.max_block_bytes = 4096;
    addresses_of_all(&desc, 2, 100);
}

// >>what is refused

// Makes call `n` on the first device, and gives its recipe and what the second one is to be asked with.
static spyi_text recipe_of(int n, call c[SIDES], room r[SIDES]) {
    for (int k = 0; k < SIDES; k++) assert_true(fill(&sides[k], n, &c[k], &r[k]));
    if (make_call(&sides[0], &c[0]) != SPY_OK) fail_msg("call %d: %s", n, spy_take_error(sides[0].device).message);
    return written(&sides[0], n);
}

static void sign(spyi_text *bytes) { // as if it had been written so
    uint64_t hash = spyi_hash(bytes->data, bytes->size - 8, SPYI_RECIPE_VERSION);
    memcpy(bytes->data + bytes->size - 8, &hash, 8);
}

static void refused(const call *c, const spyi_text *bytes, size_t size, const char *word) {
    spyi_text error = { NULL, 0, 0 };
    spy_status status = read_for(&sides[1], c, bytes->data, size, false, &error);
    if (status == SPY_OK) fail_msg("expected '%s', and it was read", word);
    if (!strstr(spyi_text_str(&error), word)) fail_msg("expected '%s', got '%s'", word, spyi_text_str(&error));
    spyi_text_free(&error);
}

static void change(const call *c, const spyi_text *bytes, size_t at, uint8_t by, const char *word) {
    spyi_text copy = { NULL, 0, 0 };
    spyi_text_add_n(&copy, bytes->data, bytes->size);
    copy.data[at] = (char)(copy.data[at] ^ (char)by);
    sign(&copy);
    refused(c, &copy, copy.size, word);
    spyi_text_free(&copy);
}

static size_t after_text(const spyi_text *bytes, size_t at) {
    uint32_t size;
    memcpy(&size, bytes->data + at, 4);
    return at + 4 + size;
}

static void test_refused(void **state) {
    (void)state;
    call c[SIDES], other;
    room r[SIDES], other_room;
    open_null(NULL);
    spyi_text bytes = recipe_of(1, c, r);
    refused(&c[1], &bytes, 0, "ends too early");
    change(&c[1], &bytes, 0, 1, "no recipe");
    change(&c[1], &bytes, 8, 1, "format 9, and this library reads and writes format 8");
    change(&c[1], &bytes, 12, 1, "bytes, and there are");
    size_t library = 20, device = after_text(&bytes, library), profile = after_text(&bytes, device), print = profile + 8,
           function = print + 1, signature = after_text(&bytes, function);
    change(&c[1], &bytes, library + 4, 1, "and this device uses Slang 20");
    change(&c[1], &bytes, profile, 1, "features or limits differ");
    change(&c[1], &bytes, print, 1, "was made with desc.enable_print");
    change(&c[1], &bytes, print, 2, "damaged: a bool");
    change(&c[1], &bytes, function + 4, 1, "the recipe is one of '`dd'");
    change(&c[1], &bytes, signature, 1, "other arguments, options or parameters");
    refused(&c[1], &bytes, bytes.size - 1, "bytes, and there are");
    bytes.data[bytes.size - 20] ^= 1;
    refused(&c[1], &bytes, bytes.size, "damaged: its content");
    bytes.data[bytes.size - 20] ^= 1;

    // another call, or the same with other options
    assert_true(fill(&sides[1], 2, &other, &other_room));
    refused(&other, &bytes, bytes.size, "other arguments");
    assert_true(fill(&sides[1], 7, &other, &other_room));
    refused(&other, &bytes, bytes.size, "one of 'add'");
    other = c[1];
    other.options.thread_group_size[0] = 32;
    refused(&other, &bytes, bytes.size, "other arguments");
    other = c[1];
    other.args[0].name = "y";
    refused(&other, &bytes, bytes.size, "other arguments");
    other = c[1];
    other.args[2] = spy_arg_tensor("_result", sides[1].t[6]); // of another rank
    refused(&other, &bytes, bytes.size, "other arguments");
    // another module's function, whose struct has other fields
    spyi_text lights = recipe_of(7, c, r), text = { NULL, 0, 0 };
    spy_module *kept = sides[1].module;
    const char *at = strstr(source, "float power;");
    spyi_text_add_n(&text, source, (size_t)(at - source));
    spyi_text_add(&text, "float2 power_; %s", at);
    sides[1].module = load(&sides[1], "changed", spyi_text_str(&text));
    refused(&c[1], &lights, lights.size, "other arguments, options or parameters");
    spy_release_module(sides[1].module);
    sides[1].module = kept;
    spyi_text_free(&text);
    spyi_text_free(&lights);
    spyi_text_free(&bytes);
    close_sides();
}

// Types that were chosen by sizes.
static void test_sizes(void **state) {
    (void)state;
    call c[SIDES];
    room r[SIDES];
    spyi_text error = { NULL, 0, 0 };
    open_null(NULL);
    spyi_text bytes = recipe_of(48, c, r);
    assert_non_null(last_plan(&sides[0])->bound.sizes);
    call other = c[1];
    other.args[0] = spy_vmap(spy_arg_tensor("x", sides[1].t[4]), SPY_DIMS(0)); // (1, 9), not (20, 3)
    refused(&other, &bytes, bytes.size, "other sizes");
    assert_int_equal(read_for(&sides[1], &c[1], bytes.data, bytes.size, true, &error), SPY_OK);
    assert_int_equal(make_call(&sides[1], &c[1]), SPY_OK);
    assert_int_equal(sides[1].device->stats.kernels_built, 0);
    free_room(&r[0]), free_room(&r[1]);
    spyi_text_free(&bytes);
    close_sides();
}

// A struct of the table that has the name and other fields.
static void test_changed_struct(void **state) {
    (void)state;
    spyi_types *tables[2] = { spyi_types_create(SPYI_TARGET_SPIRV), spyi_types_create(SPYI_TARGET_SPIRV) };
    spyi_text bytes = { NULL, 0, 0 };
    for (int changed = 0; changed < 2; changed++) {
        spyi_field fields[2];
        spyi_stream w, in;
        memset(fields, 0, sizeof fields);
        memset(&w, 0, sizeof w);
        memset(&in, 0, sizeof in);
        fields[0].name = "a";
        fields[0].type = spyi_type_scalar(tables[0], SPY_DTYPE_FLOAT32);
        fields[1].name = "b";
        fields[1].type = spyi_type_array(tables[0], spyi_type_vector(tables[0], SPY_DTYPE_INT32, 3), 5);
        fields[1].device_offset = 4;
        const spyi_type *type = spyi_type_struct(tables[0], changed ? "M" : "N", fields, 2, 64, 4), *got = NULL;
        if (changed) {
            spyi_field one = fields[0];
            one.type = spyi_type_scalar(tables[1], SPY_DTYPE_FLOAT32);
            (void)spyi_type_struct(tables[1], "M", &one, 1, 4, 4);
        }
        spyi_text_clear(&bytes);
        w.out = &bytes;
        spyi_stream_type(&w, &type);
        spyi_stream_type(&w, &type);
        in.at = (const uint8_t *)bytes.data;
        in.left = bytes.size;
        in.table = tables[1];
        spyi_stream_type(&in, &got);
        if (changed) {
            assert_int_equal(in.status, SPY_ERROR_TYPE_MISMATCH);
            assert_non_null(strstr(in.problem.data, "'M' had other fields"));
        } else {
            const spyi_type *second = NULL;
            spyi_stream_type(&in, &second);
            assert_int_equal(in.status, SPY_OK);
            assert_int_equal(in.left, 0);
            assert_ptr_equal(got, second);
            assert_true(spyi_type_hash(got) == spyi_type_hash(type));
            assert_int_equal(got->fields[1].host_offset, type->fields[1].host_offset);
        }
        free(w.types);
        free(in.types);
        spyi_text_free(&in.problem);
    }
    spyi_text_free(&bytes);
    for (int k = 0; k < 2; k++) spyi_types_destroy(tables[k]);
}

static uint64_t seed = 20261123;
static uint32_t draw_bits(void) { // splitmix64
    uint64_t z = seed += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return (uint32_t)(z ^ z >> 31) >> 1;
}

// Each bit and each length is refused; with a hash that fits nothing happens but a sentence, or a plan, which is not run.
static void test_damaged(void **state) {
    (void)state;
    static const int chosen[] = { 1, 6, 25, 33, 38, 41, 48 };
    size_t whole = 0, readable = 0, tried = 0;
    open_null(NULL);
    for (size_t i = 0; i < sizeof chosen / sizeof *chosen; i++) {
        call c[SIDES];
        room r[SIDES];
        spyi_text bytes = recipe_of(chosen[i], c, r), error = { NULL, 0, 0 };
        char *data = (char *)malloc(bytes.size); // of exactly this size
        memcpy(data, bytes.data, bytes.size);
        for (size_t bit = 0; i == 0 && bit < bytes.size * 8; bit++) {
            data[bit / 8] = (char)(data[bit / 8] ^ (1 << bit % 8));
            whole += read_for(&sides[1], &c[1], data, bytes.size, false, &error) == SPY_OK;
            data[bit / 8] = bytes.data[bit / 8];
            spyi_text_clear(&error);
        }
        for (size_t size = 0; size < bytes.size; size += i == 0 ? 1 : 7) {
            char *cut = (char *)malloc(size ? size : 1);
            memcpy(cut, bytes.data, size);
            whole += read_for(&sides[1], &c[1], cut, size, false, &error) == SPY_OK;
            free(cut);
            spyi_text_clear(&error);
        }
        assert_int_equal(whole, 0);
        size_t times = i == 0 ? bytes.size * 8 : test_count(200000) / 7;
        for (size_t n = 0; n < times; n++) {
            size_t bit = i == 0 ? n : draw_bits() % (bytes.size * 8);
            uint64_t hash;
            data[bit / 8] = (char)(data[bit / 8] ^ (1 << bit % 8));
            if (i && draw_bits() % 4 == 0) data[draw_bits() % bytes.size] = (char)draw_bits();
            hash = spyi_hash(data, bytes.size - 8, SPYI_RECIPE_VERSION);
            memcpy(data + bytes.size - 8, &hash, 8);
            readable += read_for(&sides[1], &c[1], data, bytes.size, false, &error) == SPY_OK;
            tried++;
            memcpy(data, bytes.data, bytes.size);
            spyi_text_clear(&error);
        }
        free(data);
        spyi_text_free(&error);
        spyi_text_free(&bytes);
        free_room(&r[0]), free_room(&r[1]);
    }
    print_message("%zu of %zu forged ones made a plan\n", readable, tried);
    spyi_text_clear(&reports[1]); // of kernels' parameters that cannot be
    close_sides();
}

static void not_written(const spyi_plan *plan, const char *word) {
    spyi_text bytes = { NULL, 0, 0 }, error = { NULL, 0, 0 };
    spyi_text_add(&bytes, "before");
    assert_int_equal(spyi_recipe_write(plan, &bytes, &error), SPY_ERROR_UNSUPPORTED);
    assert_string_equal(bytes.data, "before");
    if (!strstr(spyi_text_str(&error), word)) fail_msg("expected '%s', got '%s'", word, spyi_text_str(&error));
    spyi_text_free(&bytes);
    spyi_text_free(&error);
}

static void test_not_written(void **state) {
    (void)state;
    call c;
    room r;
    open_null(NULL);
    for (int keeps = 0; keeps < 2; keeps++) {
        sides[0].device->sign_call = keeps == 1 ? spyi_recipe_signature : NULL;
        assert_true(fill(&sides[0], 48, &c, &r));
        c.options.thread_group_size[0] = keeps ? 64 : 32;
        assert_int_equal(make_call(&sides[0], &c), SPY_OK);
        if (!keeps) not_written(last_plan(&sides[0]), "does not keep its kernels' code");
        free_room(&r);
    }
    const spyi_plan *redirect = sides[0].device->cache->newest;
    while (redirect && !redirect->redirect) redirect = redirect->older;
    assert_non_null(redirect);
    not_written(redirect, "leads to plans");
    close_sides();
}

// >>on a real device

static void same_tensor(int n, const char *what, spy_tensor *a, spy_tensor *b) {
    static float got[SIDES][5000];
    assert_true((a != NULL) == (b != NULL));
    if (!a) return;
    assert_int_equal(a->contiguous, b->contiguous);
    size_t size = (size_t)(a->end_bytes - a->begin_bytes);
    assert_int_equal(size, b->end_bytes - b->begin_bytes);
    assert_true(size <= sizeof got[0]);
    if (!a->contiguous) return;
    assert_int_equal(spy_tensor_read(a, got[0], size), SPY_OK);
    assert_int_equal(spy_tensor_read(b, got[1], size), SPY_OK);
    if (memcmp(got[0], got[1], size) != 0) fail_msg("call %d: %s differs", n, what);
}

static void test_real_device(void **state) {
    (void)state;
    const char *name = getenv("SPY_TEST_BACKEND");
    const spy_backend *backend = name && strcmp(name, "cuda") == 0 ? spy_cuda_backend() : spy_vk_backend();
    size_t done = 0;
    for (int k = 0; k < SIDES; k++) open_side(&sides[k], backend, NULL);
    print_message("%s\n", sides[0].device->base->limits.info.name);
    for (int n = 0; n < CALLS; n++) {
        call c[SIDES];
        room r[SIDES];
        spyi_text error = { NULL, 0, 0 };
        for (int k = 0; k < SIDES; k++) assert_true(fill(&sides[k], n, &c[k], &r[k]));
        if (make_call(&sides[0], &c[0]) != SPY_OK) fail_msg("call %d: %s", n, spy_take_error(sides[0].device).message);
        spyi_text bytes = written(&sides[0], n);
        if (read_for(&sides[1], &c[1], bytes.data, bytes.size, true, &error) != SPY_OK) fail_msg("call %d: %s", n, spyi_text_str(&error));
        if (make_call(&sides[1], &c[1]) != SPY_OK) fail_msg("call %d: %s", n, spy_take_error(sides[1].device).message);
        assert_int_equal(sides[1].device->stats.kernels_built, 0);
        assert_memory_equal(&r[0].out, &r[1].out, sizeof r[0].out);
        assert_memory_equal(r[0].array, r[1].array, sizeof r[0].array);
        assert_memory_equal(r[0].doubles, r[1].doubles, sizeof r[0].doubles);
        assert_memory_equal(r[0].result.data, r[1].result.data, sizeof r[0].result.data);
        for (int i = 0; i < 2; i++) same_tensor(n, "a new tensor", r[0].made[i], r[1].made[i]);
        for (int i = 0; i < TENSORS; i++) {
            same_tensor(n, "a tensor", sides[0].t[i], sides[1].t[i]);
            same_tensor(n, "a gradient", spy_tensor_grad(sides[0].t[i]), spy_tensor_grad(sides[1].t[i]));
        }
        done++;
        spyi_text_free(&bytes);
        free_room(&r[0]), free_room(&r[1]);
    }
    print_message("%zu calls\n", done);
    close_sides();
}

// Textures and samplers: whole, by texel, and as fields and globals.
static void test_textures(void **state) {
    (void)state;
    static const char text[] =
        "struct Look { Texture2D<float4> image; SamplerState how; float4 tint; }\n"
        "Texture2D<float4> base;\nRWTexture2D<float4> target;\n"
        "float4 mixed(float4 x, Texture2D<float4> t, int2 at) { return x + t[at]; }\n"
        "void looked(Look l, float2 uv, out float4 y) { y = l.tint * l.image.SampleLevel(l.how, uv, 0); }\n"
        "void based(int2 at) { target[at] = 2 * base[at]; }\n";
    enum { W = 6, H = 4, FORMS = 3 };
    const char *name = getenv("SPY_TEST_BACKEND");
    if (name && strcmp(name, "cuda") == 0) skip();
    spy_texture *image[SIDES], *to[SIDES];
    spy_sampler *sampler[SIDES];
    for (int k = 0; k < SIDES; k++) {
        float data[W * H * 4];
        spy_texture_desc d;
        open_side(&sides[k], spy_vk_backend(), NULL);
        spy_release_module(sides[k].module);
        sides[k].module = load(&sides[k], "pictures", text);
        for (int i = 0; i < W * H * 4; i++) data[i] = (float)i;
        memset(&d, 0, sizeof d);
        d.format = SPY_FORMAT_RGBA32_FLOAT;
        d.width = W;
        d.height = H;
        d.data = data;
        image[k] = spy_create_texture(sides[k].device, &d);
        to[k] = spy_create_texture(sides[k].device, &d);
        sampler[k] = spy_create_sampler(sides[k].device, NULL);
        assert_true(image[k] && to[k] && sampler[k]);
    }
    for (int form = 0; form < FORMS; form++) {
        call c[SIDES];
        room r[SIDES];
        spyi_text error = { NULL, 0, 0 };
        float got[SIDES][W * H * 4];
        static const float uv[2] = { 0.3f, 0.6f }, tint[4] = { 1, 2, 3, 4 };
        memset(c, 0, sizeof c);
        for (int k = 0; k < SIDES; k++) {
            spy_args fields = { r[k].fields, 3 };
            c[k].function = form == 0 ? "mixed" : form == 1 ? "looked" : "based";
            r[k].fields[0] = spy_arg_texture("image", image[k]), r[k].fields[1] = spy_arg_sampler("how", sampler[k]);
            r[k].fields[2] = spy_arg_f32n("tint", tint, 4);
            r[k].globals[0] = spy_arg_texture("base", image[k]), r[k].globals[1] = spy_arg_texture("target", to[k]);
            if (form == 0) give(&c[k], spy_arg_texture("x", image[k])), give(&c[k], spy_arg_texture("t", image[k]));
            if (form == 1) give(&c[k], spy_arg_struct("l", fields)), give(&c[k], spy_arg_f32n("uv", uv, 2));
            if (form == 1) give(&c[k], spy_arg_texture("y", to[k]));
            else give(&c[k], spy_arg_call_id("at"));
            if (form == 0) give(&c[k], spy_arg_texture("_result", to[k]));
            if (form == 2) c[k].options.thread_count = SPY_SHAPE(H, W), c[k].options.globals.items = r[k].globals, c[k].options.globals.count = 2;
        }
        if (make_call(&sides[0], &c[0]) != SPY_OK) fail_msg("form %d: %s", form, spy_take_error(sides[0].device).message);
        spyi_text bytes = written(&sides[0], form);
        if (read_for(&sides[1], &c[1], bytes.data, bytes.size, true, &error) != SPY_OK) fail_msg("form %d: %s", form, spyi_text_str(&error));
        if (make_call(&sides[1], &c[1]) != SPY_OK) fail_msg("form %d: %s", form, spy_take_error(sides[1].device).message);
        assert_int_equal(sides[1].device->stats.kernels_built, 0);
        for (int k = 0; k < SIDES; k++) assert_int_equal(spy_texture_read(to[k], NULL, got[k], sizeof got[k]), SPY_OK);
        assert_memory_equal(got[0], got[1], sizeof got[0]);
        for (int i = 0; i < W * H * 4 && form != 1; i++) assert_true(got[0][i] == 2 * (float)i);
        spyi_text_free(&bytes);
    }
    for (int k = 0; k < SIDES; k++) {
        spy_release_texture(image[k]);
        spy_release_texture(to[k]);
        spy_release_sampler(sampler[k]);
    }
    close_sides();
}

// A module that the library extends by a text, as for gradients of a draw, is another one in a pack for each text.
static void test_extended_in_packs(void **state) {
    static const char *const texts[2] = { "float more(float x) { return x; }", "float more(float2 x) { return x.y; }" };
    static const spy_define define = { "EXTENDED", "1" };
    char path[64];
    (void)state;
    snprintf(path, sizeof path, "/tmp/spy_extended_%d.pack", (int)getpid());
    for (int loaded = 0; loaded < 2; loaded++) {
        spy_device_desc d;
        spy_module_desc desc;
        memset(&d, 0, sizeof d);
        memset(&desc, 0, sizeof desc);
        d.backend = spyi_null_backend();
        d.offline = d.record_pack = !loaded;
        d.pack = loaded ? path : NULL;
        desc.name = "extended";
        desc.source = "float one() { return 1; }\n";
        spy_device *device = spy_create_device(&d);
        assert_non_null(device);
        spy_module *module = spy_load_module(device, &desc);
        assert_non_null(module);
        for (int k = 0; k < 2; k++) {
            spyi_text error = { NULL, 0, 0 };
            spy_status status = spyi_enter(device, SPYI_KIND_DEVICE, "test");
            spy_module *more = spyi_module_extend(module, &define, texts[k], &status, &error);
            spyi_leave(device);
            if (!more) fail_msg("%s", spyi_text_str(&error));
            spyi_text_free(&error);
            spy_function *function = spy_find_function(more, "more");
            assert_non_null(function);
            assert_string_equal(function->overloads.items[0].params[0].type->name, k ? "vector<float,2>" : "float");
            spy_release_module(more);
        }
        if (!loaded) assert_int_equal(spy_save_pack(device, path), SPY_OK);
        spy_release_device(device);
    }
    (void)remove(path);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_extended_in_packs),
        cmocka_unit_test(test_addresses),
        cmocka_unit_test(test_unsized),
        cmocka_unit_test(test_print),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_sizes),
        cmocka_unit_test(test_changed_struct),
        cmocka_unit_test(test_damaged),
        cmocka_unit_test(test_not_written),
        cmocka_unit_test(test_real_device),
        cmocka_unit_test(test_textures),
        cmocka_unit_test(test_same_work),
        cmocka_unit_test(test_same_work_by_bindings),
        cmocka_unit_test(test_same_work_for_cuda),
    };
    return cmocka_run_group_tests(tests, hold_slang, let_slang_go);
}

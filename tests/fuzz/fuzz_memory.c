// Host memory that runs out: each allocation of the library fails once, in each step of a small program, on the null
// backend, on Vulkan, and on CUDA with a driver without a GPU (unit/fake_cuda), whose kernels do nothing. A step that meets the failure succeeds with the right numbers or reports an error; the same step
// then works; when the device is released, nothing is left. SPY_FUZZ_CASE="list 7" runs the seventh allocation of the step
// `list` alone, "list" all of them.
//
// The program is linked with --wrap: what the library itself (and this file) asks of malloc, calloc and realloc comes here;
// what libslang, NVRTC, the Vulkan loader and the drivers ask does not.
#include "spy_test.h"

#include "api/gradient.h"
#include "api/cuda.h"
#include "api/list.h"
#include "api/print.h"
#include "api/raster.h"
#include "api/reflect.h"
#include "backend/null/null.h"
#include "../unit/fake_cuda/fake_device.h"

#include <stdio.h>

// >>allocations

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *memory, size_t size);
void __real_free(void *memory);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *memory, size_t size);
void __wrap_free(void *memory);

static long counted;     // allocations since counting began
static long failing;     // the number of the one that fails; 0: none does
static bool counting;
static long outstanding; // allocations that have not been freed

static bool fails(void) {
    return counting && __atomic_add_fetch(&counted, 1, __ATOMIC_SEQ_CST) == failing;
}

static void *keep(void *memory) {
    if (memory) __atomic_add_fetch(&outstanding, 1, __ATOMIC_SEQ_CST);
    return memory;
}

void *__wrap_malloc(size_t size) {
    return fails() ? NULL : keep(__real_malloc(size));
}

void *__wrap_calloc(size_t count, size_t size) {
    return fails() ? NULL : keep(__real_calloc(count, size));
}

void *__wrap_realloc(void *memory, size_t size) {
    if (fails()) return NULL;
    return memory ? __real_realloc(memory, size) : keep(__real_realloc(NULL, size));
}

void __wrap_free(void *memory) {
    if (memory) __atomic_sub_fetch(&outstanding, 1, __ATOMIC_SEQ_CST);
    __real_free(memory);
}

// >>the program

#define N 6
#define STRIDE 250 // of the allocations that fail in `make test`
#define DEVICE_BYTES ((uint64_t)44 << 20) // the pool's slabs are 8 MiB each

static const char source[] =
    "struct Pair { float a; float2 b; }\n"
    "float add(float a, float b) { return a + b; }\n"
    "float add(float3 a, float b) { return a.x + b; }\n"
    "float weigh<T : __BuiltinFloatingPointType>(T a, Pair p) { return __realCast<float>(a) * p.a + p.b.x + p.b.y; }\n"
    "[Differentiable] float square(float x, no_diff float k) { return x * x * k; }\n"
    "uniform float gain;\n"
    "interface IShape { float area(); }\n"
    "struct Square : IShape { float a; float area() { return a * a; } }\n"
    "float scaled(float a) { return a * gain; }\n"
    "float area(IShape shape) { return shape.area(); }\n";

// For what the device has to be told when it is made.
static const char special_source[] =
    "import slangpy;\nimport print;\n"
    "float tell(float a) { print(\"a = {}\", a); return a; }\n"
    "float at(Tensor<float, 1> t, int i) { return t[i]; }\n";

static const char new_source[] =
    "float add(float a, float b) { return a - b; }\n"
    "float square(float x, float k) { return x + k; }\n"
    "uniform float gain;\n";

// What one run of the program has.
typedef struct program {
    const spy_backend *backend;
    void *backend_desc;
    bool computes; // kernels run
    bool special;  // its device prints and looks at indices
    spy_device *device;
    spy_module *module;
    spy_function *add, *weigh, *square;
    spy_tensor *x, *y, *grown;
    spy_command_list *list;
    spy_prepared *prepared[2];
    spy_packed *packed;
    float result, out[N], gradient[N];
    bool said; // that memory ran out, in a text
} program;

static spyi_text report; // rules of the backend that were broken

static bool heard; // what kernels print
static void hear(spy_log_level level, const char *message, void *user_data) {
    (void)level, (void)user_data;
    heard = heard || strcmp(message, "a = 5") == 0;
}

// Each step gives NULL when it did all that it is for, else what did not work.
static const char *step_device(program *p) {
    spyi_null_desc null_desc;
    spy_device_desc d;
    memset(&null_desc, 0, sizeof null_desc);
    memset(&d, 0, sizeof d);
    null_desc.report = &report;
    null_desc.memory_bytes = DEVICE_BYTES;
    d.backend = p->backend;
    d.backend_desc = p->backend == spyi_null_backend() ? (void *)&null_desc : p->backend_desc;
    d.label = "a label";
    d.enable_print = d.check_bounds = p->special;
    d.log.func = p->special ? hear : NULL;
    d.log.user_data = p;
    p->device = spy_create_device(&d);
    return p->device ? NULL : "spy_create_device";
}

static const char *step_module(program *p) {
    spy_module_desc d;
    memset(&d, 0, sizeof d);
    d.name = "memory";
    d.source = p->special ? special_source : source;
    p->module = spy_load_module(p->device, &d);
    return p->module ? NULL : "spy_load_module";
}

static const char *step_functions(program *p) {
    if (p->special) {
        p->add = spy_find_function(p->module, "tell");
        p->weigh = spy_find_function(p->module, "at");
        return p->add && p->weigh ? NULL : "spy_find_function";
    }
    p->add = spy_find_function(p->module, "add");
    p->weigh = spy_find_function(p->module, "weigh");
    p->square = spy_find_function(p->module, "square");
    return p->add && p->weigh && p->square ? NULL : "spy_find_function";
}

static const char *step_tensors(program *p) {
    float data[N];
    spy_tensor_desc d;
    for (int i = 0; i < N; i++) data[i] = (float)i;
    memset(&d, 0, sizeof d);
    d.shape.rank = 1;
    d.shape.dims[0] = N;
    d.data = data;
    d.with_grad = true;
    d.label = "x";
    p->x = spy_create_tensor(p->device, &d);
    d.data = NULL;
    p->y = spy_create_tensor(p->device, &d);
    return p->x && p->y ? NULL : "spy_create_tensor";
}

static const char *step_scalar_call(program *p) {
    const spy_arg items[] = { spy_arg_f32("a", 1), spy_arg_f32("b", 2), spy_out_f32("_result", &p->result) };
    const spy_args args = { items, 3 };
    p->result = -1;
    return spy_call(p->add, args) == SPY_OK ? NULL : "spy_call, scalars";
}

static const char *step_tensor_call(program *p) {
    const spy_arg items[] = { spy_arg_tensor("a", p->x), spy_arg_f32("b", 2), spy_arg_tensor("_result", p->y) };
    const spy_args args = { items, 3 };
    for (int i = 0; i < N; i++) p->out[i] = -1;
    if (spy_call(p->add, args) != SPY_OK) return "spy_call, tensors";
    return spy_tensor_read(p->y, p->out, sizeof p->out) == SPY_OK ? NULL : "spy_tensor_read";
}

static const char *step_generic_call(program *p) {
    const float b[2] = { 1, 2 };
    const spy_arg fields[] = { spy_arg_f32("a", 2), spy_arg_array("b", b, (spy_shape){ 1, { 2 } }, SPY_DTYPE_FLOAT32) };
    const spy_args struct_fields = { fields, 2 };
    const spy_arg items[] = { spy_arg_tensor("a", p->x), spy_arg_struct("p", struct_fields), spy_out_tensor("_result", &p->grown) };
    const spy_args args = { items, 3 };
    return spy_call(p->weigh, args) == SPY_OK && p->grown ? NULL : "spy_call, generic with a struct";
}

static const char *step_backward(program *p) {
    const spy_arg items[] = { spy_arg_tensor("x", p->x), spy_arg_f32("k", 3), spy_arg_tensor("_result", p->y) };
    const spy_args args = { items, 3 };
    if (spy_tensor_zero_grad(p->x) != SPY_OK || spy_tensor_fill(spy_tensor_grad(p->y), 1) != SPY_OK) return "spy_tensor_fill";
    if (spy_call_backward(p->square, args) != SPY_OK) return "spy_call_backward";
    return spy_tensor_read(spy_tensor_grad(p->x), p->gradient, sizeof p->gradient) == SPY_OK ? NULL : "reading a gradient";
}

static const char *step_list(program *p) {
    const spy_arg items[] = { spy_arg_tensor("a", p->x), spy_arg_f32("b", 2), spy_arg_tensor("_result", p->y) };
    const spy_args args = { items, 3 };
    spy_release_command_list(p->list);
    p->list = spy_create_command_list(p->device, NULL);
    if (!p->list || spy_list_call(p->list, p->add, args) != SPY_OK) return "spy_list_call";
    return spy_list_finish(p->list) == SPY_OK && spy_list_submit(p->list) == SPY_OK ? NULL : "spy_list_submit";
}

static const char *step_describe(program *p) {
    char text[4096];
    const spy_arg items[] = { spy_arg_tensor("a", p->x), spy_arg_f32("b", 2), spy_arg_tensor("_result", p->y) };
    const spy_args args = { items, 3 };
    if (spy_explain_call(p->add, args, NULL, text, sizeof text) == 0) return "spy_explain_call";
    if (strcmp(text, "out of host memory") == 0) p->said = true;
    if (!strstr(text, "import memory;")) return "spy_explain_call's text";
    if (spy_tensor_print(p->x, text, sizeof text) == 0) return "spy_tensor_print";
    if (!strstr(text, "5")) return "spy_tensor_print's text";
    return spy_reflect_module(p->module) ? NULL : "spy_reflect_module";
}

// The null backend's memory is full of a block that the pool keeps, and gets room when that is given back.
static const char *step_full(program *p) {
    spy_tensor_desc d;
    memset(&d, 0, sizeof d);
    d.shape.rank = 1;
    for (int i = 0; i < 2; i++) {
        d.shape.dims[0] = (int64_t)(i ? 3 : 4) << 20;
        d.with_grad = i == 1; // the gradient finds no room
        spy_tensor *t = spy_create_tensor(p->device, &d);
        if (!t) return "spy_create_tensor, in full memory";
        spy_release_tensor(t);
    }
    if (p->backend != spyi_null_backend()) return NULL;
    d.with_grad = false;
    d.shape.dims[0] = DEVICE_BYTES;
    return spy_create_tensor(p->device, &d) ? "spy_create_tensor, of more than there is" : NULL;
}

// All that a list holds, submitted often enough to become a graph where there are such.
static const char *step_graph(program *p) {
    const float data[N] = { 5, 4, 3, 2, 1, 0 };
    uint64_t times[2];
    const spy_arg items[] = { spy_arg_tensor("a", p->x), spy_arg_f32("b", 2), spy_arg_tensor("_result", p->y) };
    const spy_arg more[] = { spy_arg_f32("b", 2) };
    const spy_args args = { items, 3 }, changed = { more, 1 };
    spy_release_command_list(p->list);
    spy_list_desc desc;
    memset(&desc, 0, sizeof desc);
    desc.label = "all";
    spy_command_list *l = p->list = spy_create_command_list(p->device, &desc);
    if (!l || spy_list_push_label(l, "label") != SPY_OK || spy_list_timestamp(l) != SPY_OK) return "spy_list_timestamp";
    if (spy_list_fill(l, p->y, 3) != SPY_OK || spy_list_write(l, p->y, data, sizeof data) != SPY_OK) return "spy_list_write";
    if (spy_list_call(l, p->add, args) != SPY_OK || spy_list_barrier(l) != SPY_OK) return "spy_list_call";
    if (spy_list_copy(l, spy_tensor_grad(p->y), p->y) != SPY_OK || spy_list_pop_label(l) != SPY_OK) return "spy_list_copy";
    if (spy_list_marker(l, "end") != SPY_OK || spy_list_timestamp(l) != SPY_OK || spy_list_finish(l) != SPY_OK)
        return "spy_list_finish";
    for (int i = 0; i < 3; i++) {
        if (i == 2 && spy_list_set(l, 0, changed) != SPY_OK) return "spy_list_set";
        if (spy_list_submit(l) != SPY_OK) return "spy_list_submit";
    }
    if (spy_list_read_timestamps(l, times, 2) != SPY_OK) return "spy_list_read_timestamps";
    return spy_tensor_read(spy_tensor_grad(p->y), p->out, sizeof p->out) == SPY_OK ? NULL : "spy_tensor_read";
}

static spy_prepared *prepare(program *p, bool async) {
    const spy_arg items[] = { spy_arg_tensor("a", p->x), spy_arg_f32("b", 2), spy_arg_tensor("_result", p->y) };
    const spy_arg globals[] = { spy_arg_f32("gain", 2) };
    const spy_args args = { items, 3 };
    spy_call_options options;
    spy_prepare_desc desc;
    memset(&options, 0, sizeof options);
    memset(&desc, 0, sizeof desc);
    options.globals.items = globals;
    options.globals.count = 1;
    options.prelude = async ? "// async\n" : "// now\n";
    desc.async = async;
    desc.options = &options;
    return spy_prepare(p->add, args, &desc);
}

static const char *call_prepared(program *p) {
    const spy_arg items[] = { spy_arg_tensor("a", p->x), spy_arg_f32("b", 2), spy_arg_tensor("_result", p->y) };
    const spy_args args = { items, 3 };
    const char *problem = NULL;
    for (int i = 0; i < 2; i++)
        if (spy_call_prepared(p->prepared[i], args) != SPY_OK) problem = "spy_call_prepared"; // waits for its thread
    if (!problem && spy_tensor_read(p->y, p->out, sizeof p->out) != SPY_OK) problem = "spy_tensor_read";
    return problem;
}

// A prepared call that lacked memory says so from then on: it is prepared anew.
static const char *step_prepared(program *p) {
    for (int i = 0; i < 2; i++) {
        spy_release_prepared(p->prepared[i]);
        p->prepared[i] = NULL;
    }
    for (int i = 0; i < 2; i++)
        if (!(p->prepared[i] = prepare(p, i == 1))) return "spy_prepare";
    return call_prepared(p);
}

// New code for a module with a kernel in the cache and prepared calls; a poll before, which finds nothing.
static const char *step_reload(program *p) {
    const spy_arg items[] = { spy_arg_f32("a", 1), spy_arg_f32("b", 2), spy_out_f32("_result", &p->result) };
    const spy_args args = { items, 3 };
    for (int i = 0; i < 2; i++)
        if (!p->prepared[i] && !(p->prepared[i] = prepare(p, false))) return "spy_prepare";
    if (spy_call(p->add, args) != SPY_OK) return "spy_call before a reload";
    spy_reload_info info;
    if (spy_reload_changed(p->device, 0, &info) != SPY_OK) return "spy_reload_changed";
    if (spy_reload_module(p->module, new_source) != SPY_OK) return "spy_reload_module";
    p->result = 0;
    if (spy_call(p->add, args) != SPY_OK) return "spy_call after a reload";
    const char *problem = call_prepared(p);
    (void)spy_reload_changed(p->device, 0, &info); // for threads that still compile: their allocations are counted, too
    return problem;
}

static const char *step_forward_diff(program *p) {
    const spy_arg items[] = { spy_arg_tensor("x", p->x), spy_arg_f32("k", 3), spy_arg_tensor("_result", p->y) };
    const spy_args args = { items, 3 };
    if (spy_tensor_fill(spy_tensor_grad(p->x), 1) != SPY_OK) return "spy_tensor_fill";
    if (spy_call_forward_diff(p->square, args) != SPY_OK) return "spy_call_forward_diff";
    return spy_tensor_read(spy_tensor_grad(p->y), p->gradient, sizeof p->gradient) == SPY_OK ? NULL : "reading a gradient";
}

// Options, an explanation of them, a dispatch, a call's time, a reflection of the kind of call.
static const char *step_options(program *p) {
    char text[4096];
    uint64_t ns;
    const char *const conformances[] = { "Square : IShape" };
    const spy_arg globals[] = { spy_arg_f32("gain", 4) };
    const spy_arg items[] = { spy_arg_tensor("a", p->x), spy_arg_tensor("_result", p->y) };
    const spy_args args = { items, 2 };
    spy_function *scaled = spy_find_function(p->module, "scaled");
    spy_call_options options;
    memset(&options, 0, sizeof options);
    options.prelude = "// a prelude\n";
    options.globals.items = globals;
    options.globals.count = 1;
    options.conformances = conformances;
    options.conformance_count = 1;
    options.thread_group_size[0] = 64;
    if (!scaled) return "spy_find_function";
    if (spy_explain_call(scaled, args, &options, text, sizeof text) == 0) return "spy_explain_call with options";
    if (strcmp(text, "out of host memory") == 0) p->said = true;
    if (!strstr(text, "// a prelude")) return "spy_explain_call's text";
    if (spy_call_with(scaled, args, &options) != SPY_OK) return "spy_call_with";
    if (spy_tensor_read(p->y, p->out, sizeof p->out) != SPY_OK) return "spy_tensor_read";
    return spy_time_call(scaled, args, &options, &ns) == SPY_OK ? NULL : "spy_time_call";
}

static const char *step_packed(program *p) {
    const float b[2] = { 1, 2 };
    const spy_arg fields[] = { spy_arg_f32("a", 2), spy_arg_array("b", b, (spy_shape){ 1, { 2 } }, SPY_DTYPE_FLOAT32) };
    const spy_args struct_fields = { fields, 2 };
    spy_release_packed(p->packed);
    p->packed = spy_pack(p->device, spy_arg_struct("p", struct_fields));
    if (!p->packed) return "spy_pack";
    const spy_arg items[] = { spy_arg_tensor("a", p->x), spy_arg_packed("p", p->packed), spy_arg_tensor("_result", p->y) };
    const spy_args args = { items, 3 };
    if (spy_call(p->weigh, args) != SPY_OK) return "spy_call, packed";
    return spy_tensor_read(p->y, p->out, sizeof p->out) == SPY_OK ? NULL : "spy_tensor_read";
}

static const char draw_source[] =
    "struct Vertex { float2 at : POSITION; float k : K; }\n"
    "uniform float gain;\n"
    "[shader(\"vertex\")] float4 vs(Vertex v, uniform float z) : SV_Position { return float4(v.at, z, 1) * v.k * gain; }\n"
    "[shader(\"fragment\")] float4 fs(uniform float4 color, uniform StructuredBuffer<float> more) : SV_Target { return color * more[0]; }\n";

// A draw, and one in a list; all that it needs is made and released here.
static const char *step_draw(program *p) {
    const float numbers[6] = { -1, -1, 3, -1, -1, 3 }, ones[3] = { 1, 1, 1 }, color[4] = { 1, 1, 1, 1 };
    const char *problem = NULL;
    spy_module_desc md;
    spy_texture_desc td;
    spy_tensor_desc vd;
    spy_raster_desc rd;
    spy_draw_desc d;
    spy_call_options options;
    if (!p->backend->raster) return NULL;
    memset(&md, 0, sizeof md), memset(&td, 0, sizeof td), memset(&vd, 0, sizeof vd), memset(&rd, 0, sizeof rd), memset(&d, 0, sizeof d);
    memset(&options, 0, sizeof options);
    md.name = "draws";
    md.source = draw_source;
    spy_module *module = spy_load_module(p->device, &md);
    td.format = SPY_FORMAT_RGBA32_FLOAT;
    td.usage = SPY_TEXTURE_USAGE_COLOR_TARGET;
    d.targets[0].texture = spy_create_texture(p->device, &td);
    d.targets[0].load = SPY_LOAD_CLEAR;
    vd.shape = (spy_shape){ 2, { 3, 2 } };
    vd.data = numbers;
    spy_tensor *at = spy_create_tensor(p->device, &vd);
    vd.shape = (spy_shape){ 1, { 3 } };
    vd.data = ones;
    spy_tensor *k = spy_create_tensor(p->device, &vd);
    rd.vertex = module ? spy_find_function(module, "vs") : NULL;
    rd.fragment = module ? spy_find_function(module, "fs") : NULL;
    spy_raster *raster = rd.vertex && rd.fragment ? spy_create_raster(p->device, &rd) : NULL;
    spy_command_list *list = spy_create_command_list(p->device, NULL);
    const spy_arg globals[] = { spy_arg_f32("gain", 1) };
    options.globals.items = globals;
    options.globals.count = 1;
    if (!raster || !at || !k || !list || !d.targets[0].texture) problem = "spy_create_raster, or what a draw needs";
    for (int i = 0; i < 2 && !problem; i++) {
        const spy_arg items[] = { spy_arg_tensor("at", at), spy_arg_tensor("k", k), spy_arg_f32("z", 0.5f),
                                  spy_arg_f32n("color", color, 4), spy_arg_tensor("more", p->x) };
        const spy_args args = { items, 5 };
        options.append_to = i ? list : NULL;
        if (spy_draw(raster, &d, args, &options) != SPY_OK) problem = i ? "spy_draw into a list" : "spy_draw";
    }
    if (!problem && (spy_list_finish(list) != SPY_OK || spy_list_submit(list) != SPY_OK)) problem = "spy_list_submit of a draw";
    if (!problem && spy_texture_read(d.targets[0].texture, NULL, p->out, 16) != SPY_OK) problem = "spy_texture_read";
    spy_release_command_list(list);
    spy_release_raster(raster);
    spy_release_tensor(at);
    spy_release_tensor(k);
    spy_release_texture(d.targets[0].texture);
    spy_release_module(module);
    return problem;
}

static const char *step_print(program *p) {
    const spy_arg items[] = { spy_arg_tensor("a", p->x), spy_arg_tensor("_result", p->y) };
    const spy_args args = { items, 2 };
    char text[256];
    heard = false;
    if (spy_call(p->add, args) != SPY_OK) return "spy_call, printing";
    if (spy_flush_print(p->device) != SPY_OK) return "spy_flush_print";
    if (p->computes && !heard) return "what a kernel prints";
    if (spy_call(p->add, args) != SPY_OK) return "spy_call, printing";
    memset(text, 0, sizeof text);
    (void)spy_read_print(p->device, text, sizeof text);
    return !p->computes || strstr(text, "a = 5") ? NULL : "spy_read_print";
}

static const char *step_bounds(program *p) {
    for (int i = 0; i < 2; i++) { // within and outside
        spy_tensor_desc d;
        memset(&d, 0, sizeof d);
        if (!p->grown) p->grown = spy_create_tensor(p->device, &d);
        if (!p->grown) return "spy_create_tensor";
        const spy_arg items[] = { spy_arg_tensor("t", p->x), spy_arg_i32("i", i == 0 ? N - 1 : N), spy_arg_tensor("_result", p->grown) };
        const spy_args args = { items, 3 };
        if (spy_call(p->weigh, args) != SPY_OK) return "spy_call, checking indices";
        spy_status status = spy_tensor_read(p->grown, &p->result, sizeof p->result);
        if (i == 0 && status != SPY_OK) return "spy_tensor_read";
        if (i == 0 && p->computes && p->result != N - 1) return "an element";
        if (i == 1 && p->computes && status == SPY_OK) return "an index that nobody reported";
        if (i == 1 && status == SPY_ERROR_OUT_OF_RANGE) (void)spy_take_error(p->device);
        else if (i == 1 && status != SPY_OK) return "spy_tensor_read";
    }
    return NULL;
}

// A wrong call: its error is what it should be, or about memory.
static const char *step_mistake(program *p) {
    const spy_arg items[] = { spy_arg_tensor("a", p->x), spy_arg_f32("c", 2) };
    const spy_args args = { items, 2 };
    return spy_call(p->add, args) != SPY_OK ? NULL : "a wrong call was accepted";
}

static const struct {
    const char *name;
    const char *(*run)(program *p);
    bool always;  // the others need it; else it runs in its own programs, and `tensor call` in those of these four
    bool special; // runs in a program whose device prints and looks at indices
} steps[] = {
    { "device", step_device, true, false },
    { "module", step_module, true, false },
    { "functions", step_functions, true, false },
    { "tensors", step_tensors, true, false },
    { "scalar call", step_scalar_call, false, false },
    { "tensor call", step_tensor_call, false, false },
    { "generic call", step_generic_call, false, false },
    { "backward", step_backward, false, false },
    { "list", step_list, false, false },
    { "describe", step_describe, false, false },
    { "full", step_full, false, false },
    { "graph", step_graph, false, false },
    { "prepared", step_prepared, false, false },
    { "forward diff", step_forward_diff, false, false },
    { "options", step_options, false, false },
    { "packed", step_packed, false, false },
    { "draw", step_draw, false, false },
    { "print", step_print, false, true },
    { "bounds", step_bounds, false, true },
    { "mistake", step_mistake, false, false },
    { "reload", step_reload, false, false },
};
enum { STEPS = sizeof steps / sizeof *steps, FIRST_CALL = 4, TENSOR_CALL = 5 };

static void end(program *p) {
    spy_release_tensor(p->grown);
    spy_release_tensor(p->x);
    spy_release_tensor(p->y);
    spy_release_command_list(p->list);
    for (int i = 0; i < 2; i++) spy_release_prepared(p->prepared[i]);
    spy_release_packed(p->packed);
    spy_release_module(p->module);
    spy_release_device(p->device);
    program fresh;
    memset(&fresh, 0, sizeof fresh);
    fresh.backend = p->backend;
    fresh.backend_desc = p->backend_desc;
    fresh.computes = p->computes;
    *p = fresh;
}

// Numbers that a step has left are right.
static const char *wrong(const program *p, int step) {
    if (!p->computes) return NULL;
    if (steps[step].run == step_scalar_call && p->result != 3) return "the scalar result";
    const char *(*now)(program *p) = steps[step].run;
    for (int i = 0; i < N && (now == step_tensor_call || now == step_graph || now == step_prepared); i++)
        if (p->out[i] != (float)i + 2) return "the tensor's elements";
    if (now == step_reload && p->result != -1) return "the result of the new code";
    for (int i = 0; i < N && now == step_reload; i++)
        if (p->out[i] != (float)i - 2) return "a prepared call's result of the new code";
    for (int i = 0; i < N && now == step_forward_diff; i++)
        if (p->gradient[i] != 6 * (float)i) return "the gradient forward";
    for (int i = 0; i < N && now == step_options; i++)
        if (p->out[i] != 4 * (float)i) return "the result with a global";
    for (int i = 0; i < N && now == step_packed; i++)
        if (p->out[i] != 2 * (float)i + 3) return "the result of a packed argument";
    for (int i = 0; i < N && steps[step].run == step_backward; i++)
        if (p->gradient[i] != 6 * (float)i) return "the gradient";
    return NULL;
}

static program hold; // keeps libslang's global session, which takes a third of a second to make
static long at_rest; // outstanding allocations between two programs

// libslang's thread closes a module's session after its release, before the next question.
static long left_over(void) {
    (void)spy_find_function(hold.module, "none");
    (void)spy_take_error(hold.device);
    return outstanding - at_rest;
}

static int problems;
static long last_failed; // number of the allocation, for messages
#define PROBLEM(...) (problems++, print_error(__VA_ARGS__), print_error("\n"))

static const char *name_of(int step) {
    return step < STEPS ? steps[step].name : "no step";
}

// Runs `step` once, with allocation `which` failing (0: none); gives how many it made.
static long once(program *p, int step, int failing_step, long which, const char *backend, bool *good) {
    (void)spy_take_error(p->device);
    (void)spy_take_error(NULL);
    counted = 0;
    failing = which;
    counting = true;
    p->said = false;
    const char *problem = steps[step].run(p);
    counting = false;
    spy_error e = spy_take_error(p->device);
    *good = !problem;
    if (problem && which == 0)
        PROBLEM("%s, %s, allocation %ld: %s does not work afterwards: %s", backend, name_of(failing_step),
                last_failed, problem, e.message);
    if (problem && e.code == SPY_OK && !p->said)
        PROBLEM("%s, %s, allocation %ld: %s failed without an error", backend, name_of(failing_step),
                last_failed, problem);
    const char *number = problem ? NULL : wrong(p, step);
    if (number)
        PROBLEM("%s, %s, allocation %ld: %s is wrong", backend, name_of(failing_step), last_failed,
                number);
    return counted;
}

// Runs the program with the failure in `step`; gives the number of allocations that the step made.
static long run(program *p, int step, long which, const char *backend) {
    long made = 0;
    bool good;
    p->special = step < STEPS && steps[step].special;
    last_failed = which;
    for (int i = 0; i < STEPS; i++) {
        if (!steps[i].always && i != (step < FIRST_CALL ? TENSOR_CALL : step) && step < STEPS) continue;
        if (steps[i].special && !p->special) continue;
        long now = once(p, i, step, i == step ? which : 0, backend, &good);
        if (i != step) continue;
        made = now;
        // Now it has its memory. What stayed of a call, a look-up or a list that failed or came through is not half of something.
        if (!good || i >= FIRST_CALL) once(p, i, step, 0, backend, &good);
    }
    end(p);
    (void)spy_take_error(NULL);
    if (step == STEPS) return 0;
    long left = left_over();
    at_rest += left; // told once
    if (left) PROBLEM("%s, %s, allocation %ld: %ld allocations are left", backend, steps[step].name, which, left);
    return made;
}

// Whether this allocation's turn has come: all of them in soak, else every so many; SPY_FUZZ_CASE="list 7" is one alone.
static bool is_chosen(int step, long which, long number) {
    const char *alone = getenv("SPY_FUZZ_CASE"), *seed = getenv("SPY_TEST_SEED");
    size_t length = strlen(steps[step].name);
    if (alone && strcmp(alone, steps[step].name) == 0) return true;
    if (alone) return strncmp(alone, steps[step].name, length) == 0 && strtol(alone + length, NULL, 10) == which;
    long stride = test_count(1000) >= 1000 ? 1 : STRIDE;
    return (number + (seed ? strtol(seed, NULL, 10) : 0)) % stride == 0;
}

static void all(program *p, const char *backend) {
    long total = 0, tried = 0;
    run(p, STEPS, 0, backend); // makes what is made once for a process
    at_rest = 0;
    for (int i = 0; i < 3; i++) at_rest += left_over(); // an error's text keeps its memory
    for (int step = 0; step < STEPS; step++) {
        long made = run(p, step, 0, backend);
        for (long which = 1; which <= made; which++)
            if (is_chosen(step, which, ++total)) run(p, step, which, backend), tried++;
    }
    assert_int_equal(problems, 0);
    print_message("%s: %ld of %ld allocations failed, one by one\n", backend, tried, total);
}

static const char *fake_path;

static void test_cuda(void **state) {
    (void)state;
    program p;
    spy_cuda_desc cuda;
    memset(&p, 0, sizeof p);
    memset(&cuda, 0, sizeof cuda);
    cuda.driver_library = fake_path;
    p.backend = spy_cuda_backend();
    p.backend_desc = &cuda;
    all(&p, "cuda");
    const fake_cuda *fake = fake_cuda_state_at(fake_path);
    assert_non_null(fake);
    assert_int_equal(fake->modules, 0);
    assert_int_equal(fake->allocations, 0);
    assert_int_equal(fake->graphs, 0);
    assert_int_equal(fake->execs, 0);
}

static void test_null(void **state) {
    (void)state;
    program p;
    memset(&p, 0, sizeof p);
    p.backend = spyi_null_backend();
    all(&p, "null");
    if (report.size) fail_msg("%s", spyi_text_str(&report));
}

static void test_vulkan(void **state) {
    (void)state;
    program p;
    memset(&p, 0, sizeof p);
    p.backend = spy_vk_backend();
    p.computes = true;
    all(&p, "vulkan");
}

int main(int count, char **args) {
    if (count > 1) cmocka_set_test_filter(args[1]);
    fake_path = fake_cuda_path(args[0]);
    hold.backend = spyi_null_backend();
    for (int i = 0; i < 3; i++)
        if (steps[i].run(&hold)) print_message("%s\n", spy_take_error(hold.device).message);
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_null), cmocka_unit_test(test_vulkan), cmocka_unit_test(test_cuda) };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    end(&hold);
    return failed;
}

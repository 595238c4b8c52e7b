// Random operations of the public C API on a pool of objects: valid ones, NULL, released ones, those of another device, objects
// of another kind; arguments, shapes and numbers of all kinds, zero and huge. In half of the runs each operation is made by a
// thread of its own; some runs have four threads on one device. On the null backend, and for a tenth on Vulkan.
//
// A status is one of spy_status; what fails leaves an error that names the function, and its outputs as they were; what
// succeeds leaves none. Sums are what C says. When the devices are gone, no byte of their allocator is left, and the null
// backend has seen no broken rule. For debug builds: they keep the headers of released objects for a while, so that a late
// use is told. SPY_FUZZ_TRACE=1 prints each operation.
#define _GNU_SOURCE 1
#include "spy_test.h"
#include "counting_allocator.h"
#include "../unit/hold_slang.h"
#include "chance.h"

#include "api/generator.h"
#include "api/gradient.h"
#include "api/list.h"
#include "api/print.h"
#include "api/reflect.h"
#include "api/resolve.h"
#include "api/texture.h"
#include "backend/null/null.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

static const char source[] = "public struct P { public float a; public int2 b; }\n"
                             "public float add(float a, float b) { return a + b; }\n"
                             "public float3 scale(float3 v, float s) { return v * s; }\n"
                             "public int count(int x, int y = 3) { return x + y; }\n"
                             "public float take(P p) { return p.a + p.b.x; }\n"
                             "public void both(float x, out float y, inout float z) { y = x; z += x; }\n"
                             "[Differentiable] public float square(float x) { return x * x; }\n"
                             "public T same<T : __BuiltinArithmeticType>(T x) { return x; }\n"
                             "public void nothing() {}\n"
                             "public float pick(StructuredBuffer<float> b, int i) { return b[i]; }\n"
                             "[shader(\"compute\")] [numthreads(32, 1, 1)]\n"
                             "public void own(uint t : SV_DispatchThreadID, uniform float* p) { p[t] = 1; }\n";
static const char *const names[] = { "add", "scale", "count", "take", "both", "square", "same", "nothing", "pick", "own" };
enum { FUNCTIONS = 10, SAFE_FUNCTIONS = 8 }; // the others can be told to read anywhere

enum { TENSORS = 24, FEW = 4, DEAD = 8, SCRATCH = 8192, OUTS = 4096 };

typedef struct world {
    uint64_t chance;
    bool real, alone; // Vulkan; no other thread uses the device
    spy_device *device, *other;
    spy_module *module;
    spy_function *functions[FUNCTIONS];
    spy_tensor *tensors[TENSORS], *dead_tensors[DEAD], *foreign;
    spy_command_list *lists[FEW], *dead_list;
    spy_prepared *prepared[FEW], *dead_prepared;
    spy_packed *packed[FEW];
    spy_texture *texture; // NULL where the backend has none
    spy_sampler *sampler;
    spy_cursor cursors[FEW], dead_cursor;
    spy_module *gone;
    spy_function *gone_function;
    // of one operation
    spy_arg args[256];
    int arg_count;
    spy_grid_desc grid;
    spy_random_desc random;
    unsigned char outs[OUTS];
    int out_bytes;
    spy_result results[4];
    spy_tensor *made[64];
    int made_count;
    char text[512];
    long operations, successes;
} world;

static unsigned char scratch[SCRATCH];
static const char *current = ""; // what runs, for a hang
static bool trace;
static int problems;

static uint64_t draw(world *w) { // splitmix64
    uint64_t z = (w->chance += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}
static uint32_t R(world *w, uint32_t n) { return (uint32_t)(draw(w) % n); }
static bool once_in(world *w, uint32_t n) { return R(w, n) == 0; }

static void problem(world *w, const char *function, const char *what, const char *more) {
    if (__atomic_add_fetch(&problems, 1, __ATOMIC_SEQ_CST) > 40) return;
    print_error("operation %ld, %s: %s%s%s\n", w->operations, function, what, more[0] ? ": " : "", more);
}

// >>what an operation leaves behind

static void check(world *w, const char *function, bool failed, spy_status status) {
    bool known = false;
#define KNOWN(name, value, text) known = known || status == name;
    SPY_STATUS_LIST(KNOWN)
    if (!known) problem(w, function, "an unknown status", "");
    if (!failed) w->successes++;
    spy_error from[3] = { spy_take_error(NULL), { SPY_OK, "" }, { SPY_OK, "" } };
    if (!w->alone) return; // the device's error may be another thread's
    from[1] = spy_take_error(w->device);
    if (w->other) from[2] = spy_take_error(w->other);
    const spy_error *e = NULL;
    for (int i = 0; i < 3; i++)
        if (from[i].code != SPY_OK && (e == NULL || from[i].code == status)) e = &from[i];
    if (!failed && e) problem(w, function, "success with an error", e->message);
    if (failed && !e) problem(w, function, "failed without an error", spy_status_text(status));
    if (failed && e && !strstr(e->message, function)) problem(w, function, "the error does not name the function", e->message);
    if (failed && e && status != SPY_OK && e->code != status) problem(w, function, "the error is another one", e->message);
}

#define STATUS(function, ...)                                                                                 \
    do {                                                                                                      \
        begin(w, #function);                                                                                  \
        spy_status status_ = function(__VA_ARGS__);                                                           \
        check(w, #function, status_ != SPY_OK, status_);                                                      \
    } while (0)

static void begin(world *w, const char *function) {
    __atomic_store_n(&current, function, __ATOMIC_RELAXED);
    if (trace) fprintf(stderr, "%ld %s\n", w->operations, function);
}

// >>picking

static const int64_t sizes[] = { 0, 1, 2, 3, 4, 5, 8, 3, 1, 4, 2, 7, 64, -1, -5, INT64_C(1) << 31, INT64_C(1) << 40, INT64_C(1) << 62, INT64_MAX, INT64_MIN };

static int64_t pick_size(world *w) { return sizes[R(w, once_in(w, 12) && !w->real ? 20 : 12)]; }

static spy_shape pick_shape(world *w, bool wild) {
    spy_shape s;
    memset(&s, 0, sizeof s);
    s.rank = R(w, once_in(w, 10) ? 9 : 4);
    if (wild && once_in(w, 60)) s.rank = 9 + R(w, 100);
    for (uint32_t i = 0; i < 8 && i < s.rank; i++) s.dims[i] = wild ? pick_size(w) : (int64_t)R(w, s.rank > 4 ? 2 : 5);
    return s;
}

static int64_t pick_index(world *w) {
    static const int64_t some[] = { 0, 1, -1, 2, 3, 7, 100, -100, SPY_INDEX_NONE, INT64_MAX, INT64_MIN + 1, 5 };
    return some[R(w, 12)];
}

static spy_tensor *pick_tensor(world *w) {
    uint32_t k = R(w, 40);
    if (k == 0) return NULL;
    if (k == 1) return w->dead_tensors[R(w, DEAD)];
    if (k == 2) return w->foreign;
    if (k == 3) {
        void *wrong[] = { w->module, w->functions[0], w->lists[0], w->prepared[0], w->device };
        return (spy_tensor *)wrong[R(w, 5)];
    }
    return w->tensors[R(w, TENSORS)];
}

static spy_function *pick_function(world *w) {
    uint32_t k = R(w, 60);
    if (k == 0) return NULL;
    if (k == 1) return w->gone_function;
    if (k == 2) return (spy_function *)(void *)w->tensors[0];
    return w->functions[R(w, w->real ? SAFE_FUNCTIONS : FUNCTIONS)];
}

static spy_module *pick_module(world *w) {
    uint32_t k = R(w, 30);
    if (k == 0) return NULL;
    if (k == 1) return w->gone;
    if (k == 2) return (spy_module *)(void *)w->tensors[0];
    return w->module;
}

static spy_command_list *pick_list(world *w) {
    uint32_t k = R(w, 30);
    if (k == 0) return w->dead_list;
    if (k == 1) return (spy_command_list *)(void *)w->tensors[0];
    return w->lists[R(w, FEW)];
}

static spy_prepared *pick_prepared(world *w) {
    uint32_t k = R(w, 30);
    if (k == 0) return w->dead_prepared;
    if (k == 1) return (spy_prepared *)(void *)w->tensors[0];
    return w->prepared[R(w, FEW)];
}

static spy_device *pick_device(world *w) { return once_in(w, 30) ? NULL : w->device; }

static const char *pick_type(world *w) {
    static const char *const some[] = { "float", "float3", "P", "int", "float4x4", "int[5]", "half", "uint8_t", "bool",  "double",
                                        "",      "nonsense", "float5", "P[3]", "same", "void", "float[0]", "P<float>", "float3[2]", "int64_t" };
    return some[R(w, once_in(w, 4) ? 20 : 10)];
}

// >>arguments

static void *out_place(world *w, int bytes) {
    bytes = (bytes + 15) / 16 * 16;
    if (w->out_bytes + bytes > OUTS - 1024) w->out_bytes = 0; // two outputs at one place, then
    void *p = w->outs + w->out_bytes;
    w->out_bytes += bytes;
    return p;
}

static double pick_number(world *w) {
    static const double some[] = { 0, 1, -1, 2.5, 300, 1e30, -1e300, 0.1, 2147483648.0, 1.0 / 3 };
    return some[R(w, 10)];
}

static spy_arg pick_arg(world *w, const char *name, int depth);

static spy_args pick_fields(world *w, int depth) {
    static const char *const fields[] = { "a", "b", "x", "y", "z", NULL, "nonsense", "a.b", "" };
    int count = (int)R(w, once_in(w, 10) ? 12 : 4), first = w->arg_count;
    if (first + count > 256) count = 0;
    w->arg_count += count;
    for (int i = 0; i < count; i++) w->args[first + i] = pick_arg(w, once_in(w, 3) ? fields[R(w, 9)] : i == 0 ? "a" : "b", depth + 1);
    spy_args args = { w->args + first, (size_t)count };
    return args;
}

static spy_arg pick_arg(world *w, const char *name, int depth) {
    double v = pick_number(w);
    int64_t i = pick_index(w);
    spy_dtype dtype = (spy_dtype)R(w, once_in(w, 50) ? 40 : SPY_DTYPE_COUNT);
    spy_dims dims;
    spy_tensor **made;
    spy_result *result;
    switch (R(w, depth < 3 ? 40 : 24)) {
    case 0: return spy_arg_bool(name, R(w, 2));
    case 1: return spy_arg_i32(name, (int32_t)R(w, 400) - 100);
    case 2: return spy_arg_u64(name, draw(w));
    case 3: return spy_arg_i64(name, i);
    case 4: return spy_arg_f64(name, v);
    case 5: return spy_arg_array(name, once_in(w, 40) ? NULL : scratch, pick_shape(w, false), dtype);
    case 6: return spy_arg_f32n(name, (const float *)(const void *)scratch, R(w, 6));
    case 7: return spy_arg_data(name, once_in(w, 40) ? NULL : scratch, R(w, 2) ? 12 : R(w, 300));
    case 8: return spy_out_f32(name, once_in(w, 40) ? NULL : (float *)out_place(w, 4));
    case 9: return spy_inout_f64(name, (double *)out_place(w, 8));
    case 10: return spy_out_array(name, out_place(w, 160), SPY_SHAPE(R(w, 5), R(w, 4)), (spy_dtype)R(w, SPY_DTYPE_COUNT));
    case 11: return spy_out_data(name, out_place(w, 256), R(w, 2) ? 4 : R(w, 256));
    case 12:
        if (w->made_count == 64) return spy_arg_f32(name, 1);
        made = &w->made[w->made_count++];
        return spy_out_tensor(name, once_in(w, 40) ? NULL : made);
    case 13:
        result = &w->results[R(w, 4)];
        memset(result, 0, sizeof *result);
        if (R(w, 2)) return spy_out_result(name, once_in(w, 20) ? NULL : result);
        result->dtype = (spy_dtype)R(w, SPY_DTYPE_COUNT);
        result->size_bytes = R(w, once_in(w, 20) ? SPY_RESULT_BYTES : 17);
        return spy_inout_result(name, result);
    case 14: return spy_arg_call_id(name);
    case 15: return spy_arg_thread_id(name);
    case 16:
        memset(&w->grid, 0, sizeof w->grid);
        w->grid.shape = pick_shape(w, !w->real);
        if (once_in(w, 3)) w->grid.offset = pick_shape(w, true);
        if (once_in(w, 3)) w->grid.stride = pick_shape(w, true);
        return spy_arg_grid(name, once_in(w, 40) ? NULL : &w->grid);
    case 17: return w->real ? spy_arg_range(name, 0, 5, 1) : spy_arg_range(name, pick_index(w), pick_index(w), pick_index(w));
    case 18: return spy_arg_wang_hash(name, NULL);
    case 19:
        memset(&w->random, 0, sizeof w->random);
        w->random.seed = R(w, 3);
        w->random.explicit_seed = R(w, 2);
        return spy_arg_rand_float(name, (float)v, 1, &w->random);
    case 20: {
        spy_packed *packed = w->packed[R(w, FEW)];
        return spy_arg_packed(name, packed);
    }
    case 21: {
        spy_arg a;
        memset(&a, 0, sizeof a);
        a.name = name;
        return a;
    }
    case 22:
    case 23: return spy_arg_f32(name, (float)v);
    case 24:
    case 25:
        return spy_arg_struct(name, pick_fields(w, depth));
    case 26: return spy_arg_diff_pair(name, pick_fields(w, depth));
    case 27:
    case 28: return spy_vcast(pick_arg(w, name, depth + 1), once_in(w, 20) ? NULL : pick_type(w));
    case 29:
    case 30:
        memset(&dims, 0, sizeof dims);
        dims.count = R(w, once_in(w, 20) ? 20 : 4);
        for (int k = 0; k < 8; k++) dims.dims[k] = (int32_t)R(w, 5) - (once_in(w, 10) ? 100 : 0);
        return spy_vmap(pick_arg(w, name, depth + 1), dims);
    case 31: return spy_map_value(pick_arg(w, name, depth + 1));
    case 32: return spy_arg_texture(name, R(w, 4) ? w->texture : (spy_texture *)(void *)pick_tensor(w));
    case 33: return spy_arg_sampler(name, R(w, 4) ? w->sampler : (spy_sampler *)(void *)pick_tensor(w));
    case 34: return spy_arg_sampled_texture(name, w->texture, R(w, 4) ? w->sampler : (spy_sampler *)(void *)w->texture);
    default: return spy_arg_tensor(name, pick_tensor(w));
    }
}

static void begin_arguments(world *w) {
    w->arg_count = 0;
    w->out_bytes = 0;
    w->made_count = 0;
    memset(w->made, 0, sizeof w->made);
    memset(w->results, 0, sizeof w->results);
    memset(w->outs, 0xa5, sizeof w->outs);
}

static spy_args pick_args(world *w) {
    static const char *const parameters[] = { "a", "b", "v", "s", "x", "y", "z", "p", "i", "_result", "this", "nonsense", "", NULL };
    begin_arguments(w);
    int count = (int)R(w, once_in(w, 50) ? 80 : 4);
    w->arg_count = count;
    for (int i = 0; i < count; i++) w->args[i] = pick_arg(w, R(w, 2) ? NULL : parameters[R(w, 14)], 0);
    spy_args args = { w->args, (size_t)count };
    if (once_in(w, 300)) args.items = NULL;
    return args;
}

// New tensors go into the pool; a failed call has made none, and written nothing.
static void end_arguments(world *w, const char *function, bool failed) {
    for (int i = 0; i < 4; i++) {
        if (w->results[i].tensor && failed) problem(w, function, "failed, but made a result", "");
        spy_release_tensor(w->results[i].tensor);
        w->results[i].tensor = NULL;
    }
    for (int i = 0; i < w->made_count; i++) {
        if (w->made[i] == NULL) continue;
        if (failed) problem(w, function, "failed, but made a tensor", "");
        spy_tensor **slot = &w->tensors[R(w, TENSORS)];
        spy_release_tensor(*slot);
        *slot = w->made[i];
    }
}

static void check_outputs(world *w, const char *function, bool failed) {
    for (int i = 0; i < OUTS && failed; i++) {
        if (w->outs[i] == 0xa5) continue;
        problem(w, function, "failed, but wrote an output", "");
        break;
    }
}

static const spy_call_options *pick_options(world *w, spy_call_options *o) {
    if (R(w, 3)) return NULL;
    memset(o, 0, sizeof *o);
    switch (R(w, 9)) {
    case 0: o->prelude = once_in(w, 4) ? "not slang" : "// prelude"; break;
    case 1: o->thread_group_size[R(w, 3)] = R(w, 2) ? 32 : R(w, 5000); break;
    case 2: o->call_group_shape = pick_shape(w, true); break;
    case 3: o->thread_count = pick_shape(w, !w->real); break;
    case 4: o->mode = (spy_call_mode)R(w, 4); break;
    case 5: o->append_to = pick_list(w); break;
    case 6: o->deterministic = true; break;
    case 7: o->globals = pick_fields(w, 2); break;
    default: o->_end_canary = once_in(w, 2); break;
    }
    return o;
}

// >>operations

static void put(world *w, const char *function, spy_tensor *t) {
    check(w, function, t == NULL, SPY_OK);
    if (t == NULL) return;
    spy_tensor **slot = &w->tensors[R(w, TENSORS)];
    spy_release_tensor(*slot);
    *slot = t;
}
#define PUT(function, ...) (begin(w, #function), put(w, #function, function(__VA_ARGS__)))

static void op_create(world *w) {
    spy_tensor_desc d;
    memset(&d, 0, sizeof d);
    d.shape = pick_shape(w, true);
    if (R(w, 2)) d.dtype = (spy_dtype)R(w, once_in(w, 30) ? 50 : SPY_DTYPE_COUNT);
    if (once_in(w, 4)) d.type = pick_type(w), d.dtype = SPY_DTYPE_DEFAULT;
    if (once_in(w, 4) || d.type) d.module = pick_module(w);
    if (once_in(w, 8)) d.like = pick_tensor(w);
    d.zeroed = once_in(w, 3);
    d.with_grad = once_in(w, 6);
    if (once_in(w, 20)) d.grad_in = pick_tensor(w);
    if (once_in(w, 20)) d.grad_out = pick_tensor(w);
    if (once_in(w, 4)) d.data = scratch, d.data_size_bytes = R(w, 3) ? 4 : R(w, SCRATCH);
    d._end_canary = once_in(w, 200);
    PUT(spy_create_tensor, pick_device(w), &d);
}
static void op_create_plain(world *w) {
    spy_tensor_desc d;
    memset(&d, 0, sizeof d);
    d.shape = pick_shape(w, false);
    d.zeroed = true;
    d.with_grad = once_in(w, 4);
    PUT(spy_create_tensor, w->device, &d);
}
static void op_release(world *w) {
    spy_tensor **slot = &w->tensors[R(w, TENSORS)];
    w->dead_tensors[R(w, DEAD)] = *slot;
    spy_release_tensor(*slot);
    *slot = NULL;
}
static void op_forget(world *w) { // headers of released objects are used again at some time
    memset(w->dead_tensors, 0, sizeof w->dead_tensors);
}
static void op_view(world *w) {
    spy_tensor *t = pick_tensor(w);
    spy_dims dims;
    spy_view_desc d;
    switch (R(w, 10)) {
    case 0: PUT(spy_create_slice, t, R(w, 4), pick_index(w), pick_index(w), pick_index(w)); break;
    case 1: PUT(spy_create_select, t, R(w, 4), pick_index(w)); break;
    case 2: PUT(spy_create_broadcast, t, pick_shape(w, true)); break;
    case 3: PUT(spy_create_reshape, t, pick_shape(w, true)); break;
    case 4: PUT(spy_create_flat_view, t); break;
    case 5: PUT(spy_create_view_as, t, pick_type(w), pick_module(w)); break;
    case 6:
        memset(&dims, 0, sizeof dims);
        dims.count = R(w, once_in(w, 20) ? 20 : 4);
        for (int k = 0; k < 8; k++) dims.dims[k] = (int32_t)R(w, 5) - 1;
        PUT(spy_create_transpose, t, dims);
        break;
    case 7:
        memset(&d, 0, sizeof d);
        d.shape = pick_shape(w, true);
        if (R(w, 2)) d.strides = pick_shape(w, true);
        if (R(w, 2)) d.offset_elements = pick_index(w);
        if (once_in(w, 4)) d.type = pick_type(w), d.module = pick_module(w);
        PUT(spy_create_view, t, &d);
        break;
    case 8: {
        spy_index items[4];
        for (int i = 0; i < 4; i++) {
            items[i] = (spy_index[]){ spy_index_at(pick_index(w)), spy_index_range(pick_index(w), pick_index(w), pick_index(w)), spy_index_rest(), spy_index_new(), spy_index_all() }[R(w, 5)];
        }
        PUT(spy_create_indexed, t, (spy_indices){ items, R(w, 5) });
        break;
    }
    default: PUT(spy_create_detached, t); break;
    }
}
static void op_attach(world *w) { PUT(spy_create_attached, pick_tensor(w), pick_tensor(w), R(w, 2) ? pick_tensor(w) : NULL, pick_module(w)); }
static void op_point(world *w) { STATUS(spy_tensor_point_to, pick_tensor(w), pick_tensor(w)); }
static void op_copy(world *w) { STATUS(spy_tensor_copy, pick_tensor(w), pick_tensor(w)); }
static void op_fill(world *w) { STATUS(spy_tensor_fill, pick_tensor(w), pick_number(w)); }
static void op_zero_grad(world *w) { STATUS(spy_tensor_zero_grad, pick_tensor(w)); }
static void op_fill_data(world *w) { STATUS(spy_tensor_fill_data, pick_tensor(w), scratch, R(w, 2) ? 4 : R(w, 70)); }

static size_t pick_bytes(world *w, spy_tensor *t) {
    bool mine = false;
    for (int i = 0; i < TENSORS; i++) mine = mine || (t && w->tensors[i] == t);
    if (mine && R(w, 8)) {
        size_t right = spy_get_tensor_info(t).host_size_bytes;
        if (right <= SCRATCH / 2) return right;
    }
    return R(w, SCRATCH / 2);
}
static void op_read(world *w) {
    unsigned char data[SCRATCH / 2];
    spy_tensor *t = pick_tensor(w);
    size_t bytes = pick_bytes(w, t);
    memset(data, 0xa5, sizeof data);
    begin(w, "spy_tensor_read");
    spy_status status = spy_tensor_read(t, data, bytes);
    check(w, "spy_tensor_read", status != SPY_OK, status);
    for (size_t i = status == SPY_OK ? bytes : 0; i < sizeof data; i++) {
        if (data[i] == 0xa5) continue;
        problem(w, "spy_tensor_read", status == SPY_OK ? "wrote too much" : "failed, but wrote", "");
        break;
    }
}
static void op_write(world *w) {
    spy_tensor *t = pick_tensor(w);
    STATUS(spy_tensor_write, t, scratch, pick_bytes(w, t));
}
static void op_range(world *w) {
    unsigned char data[SCRATCH / 2];
    spy_tensor *t = pick_tensor(w);
    int64_t first = pick_index(w), count = R(w, 3) ? (int64_t)R(w, 5) : pick_index(w);
    size_t bytes = count >= 0 && count < 8 && R(w, 4) ? (size_t)count * 4 : R(w, sizeof data);
    if (R(w, 2)) STATUS(spy_tensor_read_range, t, first, count, data, bytes);
    else STATUS(spy_tensor_write_range, t, first, count, scratch, bytes);
}
static void op_print(world *w) {
    spy_tensor *t = pick_tensor(w);
    begin(w, "spy_tensor_print");
    size_t n = spy_tensor_print(t, w->text, R(w, sizeof w->text));
    check(w, "spy_tensor_print", n == 0, SPY_OK);
}
static void op_info(world *w) {
    spy_tensor *t = pick_tensor(w);
    begin(w, "spy_get_tensor_info");
    spy_tensor_info info = spy_get_tensor_info(t);
    if (info.element_count < 0) problem(w, "spy_get_tensor_info", "a negative count", "");
    (void)spy_tensor_grad(t);
    (void)spy_get_list_info(pick_list(w));
    (void)spy_take_error(NULL);
    if (w->alone) (void)spy_take_error(w->device);
    if (w->alone && w->other) (void)spy_take_error(w->other);
}
static void op_address(world *w) {
    begin(w, "spy_tensor_address");
    uint64_t a = spy_tensor_address(pick_tensor(w));
    (void)a; // of no elements it may be 0
    (void)spy_take_error(NULL);
    if (w->alone) (void)spy_take_error(w->device);
    if (w->alone && w->other) (void)spy_take_error(w->other);
}

#define CALL(function, ...)                                                                                   \
    do {                                                                                                      \
        begin(w, #function);                                                                                  \
        spy_status status_ = function(__VA_ARGS__);                                                           \
        check(w, #function, status_ != SPY_OK, status_);                                                      \
        check_outputs(w, #function, status_ != SPY_OK);                                                       \
        end_arguments(w, #function, status_ != SPY_OK);                                                       \
    } while (0)

// What the parameters of names[k] take, mostly.
static spy_arg fitting(world *w, const char *name, char kind) {
    static const float three[3] = { 1, 2, 3 };
    spy_tensor *t = w->tensors[R(w, TENSORS)];
    if (once_in(w, 12)) return pick_arg(w, name, 1);
    if (kind == 'o') {
        if (once_in(w, 3) && w->made_count < 64) return spy_out_tensor(name, &w->made[w->made_count++]);
        return R(w, 2) ? spy_out_f32(name, (float *)out_place(w, 4)) : spy_arg_tensor(name, t);
    }
    if (kind == 'z') return R(w, 2) ? spy_inout_f32(name, (float *)out_place(w, 4)) : spy_arg_tensor(name, t);
    if (kind == 'i' && R(w, 3)) return R(w, 2) ? spy_arg_i32(name, (int32_t)R(w, 4)) : spy_arg_range(name, 0, R(w, 5), 1);
    if (kind == 'v' && R(w, 2)) return spy_arg_f32n(name, three, 3);
    if (kind == 'p' && R(w, 4)) return spy_arg_data(name, scratch, 12);
    if (kind == 'f' && R(w, 2)) return once_in(w, 6) ? spy_arg_array(name, three, SPY_SHAPE(3), SPY_DTYPE_FLOAT32) : spy_arg_f32(name, 2);
    return spy_arg_tensor(name, t);
}

static spy_args fitting_args(world *w, int function) {
    static const char *const kinds[] = { "ff", "vf", "ii", "p", "foz", "f", "f", "", "bi", "b" };
    begin_arguments(w);
    const char *k = kinds[function];
    int count = 0;
    for (; k[count]; count++) w->args[count] = fitting(w, NULL, k[count]);
    if (function != 7 && function != 4 && R(w, 4)) w->args[count++] = fitting(w, "_result", 'o');
    w->arg_count = count;
    spy_args args = { w->args, (size_t)count };
    return args;
}

static void op_fitting_call(world *w) {
    int k = (int)R(w, w->real ? SAFE_FUNCTIONS : FUNCTIONS - 1);
    spy_function *f = w->functions[k];
    spy_args args = fitting_args(w, k);
    spy_call_options options;
    switch (R(w, 16)) {
    case 0: CALL(spy_call_backward, f, args); break;
    case 1: CALL(spy_call_forward_diff, f, args); break;
    case 2:
    case 3: CALL(spy_list_call, pick_list(w), f, args); break;
    case 4: CALL(spy_call_with, f, args, pick_options(w, &options)); break;
    case 5: CALL(spy_dispatch, f, ((spy_uint3){ R(w, 40), 1, 1 }), args, NULL); break;
    case 6: {
        spy_prepared **slot = &w->prepared[R(w, FEW)];
        spy_prepare_desc d;
        memset(&d, 0, sizeof d);
        d.async = R(w, 2);
        begin(w, "spy_prepare");
        spy_prepared *p = spy_prepare(f, args, &d);
        check(w, "spy_prepare", p == NULL, SPY_OK);
        check_outputs(w, "spy_prepare", true);
        if (p == NULL) return;
        if (R(w, 2)) CALL(spy_call_prepared, p, args);
        w->dead_prepared = *slot;
        spy_release_prepared(*slot);
        *slot = p;
        break;
    }
    default: CALL(spy_call, f, args); break;
    }
}

static void op_wild_call(world *w) {
    spy_args args = pick_args(w);
    spy_call_options options;
    spy_function *f = pick_function(w);
    switch (R(w, 6)) {
    case 0: CALL(spy_call, f, args); break;
    case 1: CALL(spy_call_backward, f, args); break;
    case 2: CALL(spy_call_forward_diff, f, args); break;
    case 3: CALL(spy_list_call, pick_list(w), f, args); break;
    default: CALL(spy_call_with, f, args, pick_options(w, &options)); break;
    }
}
static void op_resolve(world *w) {
    spy_args args = pick_args(w);
    spy_call_options options;
    begin(w, "spy_resolve");
    spy_resolution *r = spy_resolve(pick_function(w), args, pick_options(w, &options));
    check(w, "spy_resolve", r == NULL, SPY_OK);
    spy_release_resolution(r);
    check_outputs(w, "spy_resolve", true);
    end_arguments(w, "spy_resolve", true);
}
static void op_dispatch(world *w) {
    spy_args args = pick_args(w);
    spy_call_options options;
    spy_uint3 threads = { R(w, 40), R(w, 4), R(w, 3) };
    if (!w->real && once_in(w, 8)) threads.x = (uint32_t)draw(w);
    spy_function *f = pick_function(w);
    if (R(w, 3)) CALL(spy_dispatch, f, threads, args, pick_options(w, &options));
    else if (!w->real) CALL(spy_dispatch_indirect, f, pick_tensor(w), pick_index(w), args, pick_options(w, &options));
}
// Calls that are good: kernels of few kinds, so that most are found in the cache.
static void op_good_call(world *w) {
    float data[5], out[5];
    spy_tensor_desc d;
    memset(&d, 0, sizeof d);
    int n = 1 + (int)R(w, 5);
    for (int i = 0; i < 5; i++) data[i] = (float)R(w, 100), out[i] = -1;
    d.shape = SPY_SHAPE(n);
    d.data = data;
    spy_tensor *a = spy_create_tensor(w->device, &d), *b = NULL;
    float add = (float)R(w, 9);
    begin(w, "spy_call");
    spy_status status = spy_call(w->functions[0], SPY_ARGS(spy_arg_tensor("a", a), spy_arg_f32("b", add), spy_out_tensor("_result", &b)));
    if (status != SPY_OK) problem(w, "spy_call", "a good call fails", spy_take_error(w->device).message);
    if (b && spy_tensor_read(b, out, (size_t)n * 4) != SPY_OK) problem(w, "spy_tensor_read", "fails", spy_take_error(w->device).message);
    for (int i = 0; i < n && w->real && b; i++)
        if (out[i] != data[i] + add) problem(w, "spy_call", "a wrong sum", "");
    spy_release_tensor(a);
    put(w, "spy_call", b);
}
static void op_good_number(world *w) {
    float sum = -1;
    begin(w, "spy_call");
    if (spy_call(w->functions[0], SPY_ARGS(spy_arg_f32("a", 3), spy_arg_f32("b", (float)R(w, 5)), spy_out_f32("_result", &sum))) != SPY_OK)
        problem(w, "spy_call", "a good call fails", spy_take_error(w->device).message);
    if (w->real && (sum < 3 || sum > 7)) problem(w, "spy_call", "a wrong sum", "");
}
static void op_explain(world *w) {
    spy_args args = pick_args(w);
    spy_call_options options;
    begin(w, "spy_explain_call");
    (void)spy_explain_call(pick_function(w), args, pick_options(w, &options), w->text, R(w, sizeof w->text));
    (void)spy_take_error(NULL);
    if (w->alone) (void)spy_take_error(w->device);
    if (w->alone && w->other) (void)spy_take_error(w->other);
    check_outputs(w, "spy_explain_call", true);
    end_arguments(w, "spy_explain_call", true);
}
static void op_prepare(world *w) {
    spy_args args = pick_args(w);
    spy_prepared **slot = &w->prepared[R(w, FEW)];
    spy_prepare_desc d;
    spy_call_options options;
    memset(&d, 0, sizeof d);
    d.options = pick_options(w, &options);
    begin(w, "spy_prepare");
    spy_prepared *p = spy_prepare(pick_function(w), args, R(w, 2) ? &d : NULL);
    check(w, "spy_prepare", p == NULL, SPY_OK);
    check_outputs(w, "spy_prepare", true);
    if (p == NULL) return;
    w->dead_prepared = *slot;
    spy_release_prepared(*slot);
    *slot = p;
}
static void op_call_prepared(world *w) {
    spy_args args = pick_args(w);
    CALL(spy_call_prepared, pick_prepared(w), args);
    begin(w, "spy_prepared_ready");
    spy_status status = spy_prepared_ready(pick_prepared(w));
    bool compiling = status == SPY_ERROR_NOT_READY; // which is no error
    check(w, "spy_prepared_ready", status != SPY_OK && !compiling, status);
}
static void op_pack(world *w) {
    begin_arguments(w);
    spy_packed **slot = &w->packed[R(w, FEW)];
    spy_arg arg = pick_arg(w, "a", 0);
    begin(w, "spy_pack");
    spy_packed *p = spy_pack(w->device, arg);
    check(w, "spy_pack", p == NULL, SPY_OK);
    if (p == NULL) return;
    spy_release_packed(*slot);
    *slot = p;
}
static void op_list(world *w) {
    spy_command_list *l = pick_list(w);
    uint64_t times[4];
    switch (R(w, 14)) {
    case 0: STATUS(spy_list_copy, l, pick_tensor(w), pick_tensor(w)); break;
    case 1: STATUS(spy_list_fill, l, pick_tensor(w), pick_number(w)); break;
    case 2: {
        spy_tensor *t = pick_tensor(w);
        STATUS(spy_list_write, l, t, scratch, pick_bytes(w, t));
        break;
    }
    case 3: STATUS(spy_list_barrier, l); break;
    case 4: STATUS(spy_list_push_label, l, once_in(w, 9) ? NULL : "label"); break;
    case 5: STATUS(spy_list_pop_label, l); break;
    case 6: STATUS(spy_list_marker, l, "marker"); break;
    case 7: STATUS(spy_list_timestamp, l); break;
    case 8: STATUS(spy_list_finish, l); break;
    case 9:
    case 10: STATUS(spy_list_submit, l); break;
    case 11: STATUS(spy_list_read_timestamps, l, times, R(w, 4)); break;
    case 12: {
        spy_args args = pick_args(w);
        STATUS(spy_list_set, l, R(w, 3), args);
        break;
    }
    default: {
        spy_command_list **slot = &w->lists[R(w, FEW)];
        w->dead_list = *slot;
        spy_release_command_list(*slot);
        begin(w, "spy_create_command_list");
        *slot = spy_create_command_list(w->device, NULL);
        check(w, "spy_create_command_list", *slot == NULL, SPY_OK);
    }
    }
}
static void op_cursor(world *w) {
    static const char *const paths[] = { "a", "b", "b.x", "[0]", "[1].a", "x", "", "nonsense", "[99]", "[-1]", "a.b.c", "[", "b[1]", "..", "[0][0]" };
    spy_cursor *slot = &w->cursors[R(w, FEW)];
    spy_cursor c = once_in(w, 20) ? w->dead_cursor : *slot;
    double values[64];
    memset(values, 0, sizeof values);
    switch (R(w, 9)) {
    case 0:
    case 1: {
        spy_tensor *t = pick_tensor(w);
        int64_t first = R(w, 2) ? 0 : pick_index(w), count = R(w, 2) ? 1 : pick_index(w);
        if (slot->_range) w->dead_cursor = *slot;
        spy_release_cursor(*slot);
        begin(w, "spy_create_cursor");
        *slot = spy_create_cursor(t, first, count);
        check(w, "spy_create_cursor", slot->_range == NULL, SPY_OK);
        break;
    }
    case 2: c = spy_cursor_field(c, paths[R(w, 15)]); break;
    case 3: c = spy_cursor_at(c, pick_index(w)); break;
    case 4: (void)spy_cursor_read(c, values, R(w, 64), (spy_dtype)R(w, 14)); break;
    case 5: (void)spy_cursor_write(spy_cursor_field(c, paths[R(w, 15)]), values, R(w, 2) ? 1 : R(w, 64), SPY_DTYPE_FLOAT64); break;
    case 6: (void)spy_cursor_apply(c); break;
    case 7: (void)spy_cursor_read_data(c, values, R(w, 2) ? 4 : R(w, sizeof values)); break;
    default: (void)spy_get_cursor_info(c); break;
    }
    (void)spy_take_error(NULL);
    if (w->alone) (void)spy_take_error(w->device);
    if (w->alone && w->other) (void)spy_take_error(w->other);
}
static void op_device(world *w) {
    spy_calibration c;
    switch (R(w, 6)) {
    case 0: STATUS(spy_wait, pick_device(w)); break;
    case 1: STATUS(spy_trim, pick_device(w)); break;
    case 2: STATUS(spy_get_calibration, pick_device(w), once_in(w, 9) ? NULL : &c); break;
    case 3: (void)spy_flush(w->device); break;
    case 4: STATUS(spy_flush_print, w->device); break;
    default: (void)spy_get_device_stats(w->device); break;
    }
}
static void op_names(world *w) {
    static const char *const some[] = { "add", "nonsense", "", "same<float>", "same<", "P", "P::a", "same<nonsense>", "a::b::c", "add add", "count", "same<int>" };
    const char *name = once_in(w, 20) ? NULL : some[R(w, 12)];
    spy_module *m = pick_module(w);
    begin(w, "spy_find_function");
    if (R(w, 2)) {
        spy_function *f = spy_find_function(m, name);
        check(w, "spy_find_function", f == NULL, SPY_OK);
        if (f) (void)spy_function_name(f);
    } else if (R(w, 2)) {
        const spy_decl *d = spy_find_decl(m, name);
        check(w, "spy_find_decl", d == NULL, SPY_OK);
    } else {
        const spy_type_info *t = spy_reflect_type(m, pick_type(w));
        check(w, "spy_reflect_type", t == NULL, SPY_OK);
    }
}
static void op_module(world *w) { // loads and compiles: seldom
    spy_module_desc d;
    memset(&d, 0, sizeof d);
    d.name = "second";
    d.source = once_in(w, 3) ? "public float f(float x) { return y; }" : "public float f(float x) { return x; }";
    begin(w, "spy_load_module");
    spy_module *m = spy_load_module(w->device, &d);
    check(w, "spy_load_module", m == NULL, SPY_OK);
    if (m == NULL) return;
    w->gone_function = spy_find_function(m, "f");
    if (R(w, 2)) (void)spy_call(w->gone_function, SPY_ARGS(spy_arg_f32("x", 1)));
    w->gone = m;
    spy_release_module(m);
}

static const struct {
    void (*run)(world *w);
    uint32_t weight;
} operations[] = {
    { op_create, 60 },     { op_create_plain, 60 }, { op_release, 50 },   { op_forget, 10 },       { op_view, 150 },
    { op_attach, 20 },     { op_point, 10 },        { op_copy, 40 },      { op_fill, 40 },         { op_zero_grad, 10 },
    { op_fill_data, 15 },  { op_read, 60 },         { op_write, 60 },     { op_range, 40 },        { op_print, 20 },
    { op_info, 20 },       { op_address, 10 },      { op_wild_call, 25 }, { op_resolve, 80 },      { op_dispatch, 8 },
    { op_fitting_call, 60 }, { op_good_call, 30 },  { op_good_number, 30 },  { op_explain, 4 },    { op_prepare, 6 },       { op_call_prepared, 20 },
    { op_pack, 20 },       { op_list, 90 },         { op_cursor, 60 },    { op_device, 20 },       { op_names, 20 },
};
static uint32_t weights;

// >>runs

static void *one(void *user) {
    world *w = (world *)user;
    uint32_t k = R(w, weights), i = 0;
    while (k >= operations[i].weight) k -= operations[i++].weight;
    if (once_in(w, 3000)) op_module(w);
    else operations[i].run(w);
    return NULL;
}

static void *many(void *user) {
    world *w = (world *)user;
    for (long i = 0; i < 100; i++, w->operations++) (void)one(w);
    return NULL;
}

static spyi_text report;

static spy_device *make_device(bool real) {
    static spyi_null_desc null_desc;
    spy_device_desc d;
    memset(&d, 0, sizeof d);
    memset(&null_desc, 0, sizeof null_desc);
    null_desc.report = &report;
    null_desc.memory_bytes = 64 << 20;
    null_desc.no_log = true;
    d.backend = real ? spy_vk_backend() : spyi_null_backend();
    d.backend_desc = real ? NULL : &null_desc;
    d.allocator = counting_allocator();
    return spy_create_device(&d);
}

static bool open_world(world *w, spy_device *device, spy_module *module, spy_device *other, bool real) {
    spy_tensor_desc t;
    memset(&t, 0, sizeof t);
    t.shape = SPY_SHAPE(3);
    t.zeroed = true;
    w->device = device;
    w->module = module;
    w->other = other;
    w->real = real;
    for (int i = 0; i < FUNCTIONS; i++) w->functions[i] = spy_find_function(module, names[i]);
    for (int i = 0; i < TENSORS; i += 2) w->tensors[i] = spy_create_tensor(device, &t);
    if (other) w->foreign = spy_create_tensor(other, &t);
    spy_texture_desc image;
    memset(&image, 0, sizeof image);
    image.type = SPY_TEXTURE_TYPE_1D;
    image.format = SPY_FORMAT_R32_FLOAT;
    image.width = 3;
    w->texture = spy_create_texture(device, &image);
    w->sampler = spy_create_sampler(device, NULL);
    (void)spy_take_error(device);
    for (int i = 0; i < FUNCTIONS; i++)
        if (!w->functions[i]) return false;
    return true;
}

// Some of the objects; the device has the rest.
static void close_world(world *w) {
    current = "the end of a run";
    for (int i = 0; i < TENSORS; i++)
        if (R(w, 2)) spy_release_tensor(w->tensors[i]);
    for (int i = 0; i < FEW; i++) {
        spy_release_packed(w->packed[i]);
        if (R(w, 2)) spy_release_command_list(w->lists[i]);
        if (R(w, 2)) spy_release_prepared(w->prepared[i]);
        if (R(w, 2)) spy_release_cursor(w->cursors[i]);
    }
    (void)spy_take_error(NULL);
}

enum { ALONE, THREAD_EACH, FOUR_THREADS };

static void run(bool real, int way, long operations_count) {
    static world worlds[4];
    pthread_t threads[4];
    spy_module_desc m;
    spy_device *device = make_device(real), *other = way == FOUR_THREADS ? NULL : make_device(false);
    memset(&m, 0, sizeof m);
    m.name = "fuzz";
    m.source = source;
    spy_module *module = spy_load_module(device, &m);
    if (!module) fail_msg("%s", spy_take_error(device).message);
    int count = way == FOUR_THREADS ? 4 : 1;
    memset(worlds, 0, sizeof worlds);
    for (int i = 0; i < count; i++) {
        worlds[i].chance = next_random();
        worlds[i].alone = count == 1;
        if (!open_world(&worlds[i], device, module, other, real)) fail_msg("%s", spy_take_error(device).message);
    }
    world *w = &worlds[0];
    for (long done = 0; done < operations_count;) {
        if (way == ALONE) {
            (void)one(w);
            done++;
            w->operations = done;
        } else if (way == THREAD_EACH) {
            if (pthread_create(&threads[0], NULL, one, w) != 0) fail_msg("no thread");
            pthread_join(threads[0], NULL);
            w->operations = ++done;
        } else {
            for (int i = 0; i < 4; i++)
                if (pthread_create(&threads[i], NULL, many, &worlds[i]) != 0) fail_msg("no thread");
            for (int i = 0; i < 4; i++) pthread_join(threads[i], NULL);
            done += 400;
        }
    }
    long good = 0;
    for (int i = 0; i < count; i++) good += worlds[i].successes;
    for (int i = 0; i < count; i++) close_world(&worlds[i]);
    spy_device_stats stats = spy_get_device_stats(device);
    if (R(w, 2)) spy_release_module(module);
    spy_release_device(device);
    if (other) spy_release_device(other);
    if (bytes_alive != 0) problem(w, "spy_release_device", "host memory is left", "");
    bytes_alive = 0;
    if (report.size) problem(w, "the null backend", "broken rules", spyi_text_str(&report));
    spyi_text_free(&report);
    memset(&report, 0, sizeof report);
    print_message("%s, %s: %ld operations, %ld succeeded, %llu kernels\n", real ? "vulkan" : "null",
                  way == ALONE ? "one thread" : way == THREAD_EACH ? "a thread each" : "four threads", operations_count, good,
                  (unsigned long long)stats.kernels_built);
}

static void late(int number) {
    (void)number;
    static const char text[] = "hangs in ";
    const char *name = __atomic_load_n(&current, __ATOMIC_RELAXED);
    if (write(2, text, sizeof text - 1) < 0 || write(2, name, strlen(name)) < 0 || write(2, "\n", 1) < 0) _exit(3);
    abort();
}

static void test_operations(void **state) {
    (void)state;
    const char *size = getenv("SPY_TEST_SIZE");
    int rounds = size && strcmp(size, "soak") == 0 ? 100 : 1; // of soak's 1,000,000 operations
    size_t count = test_count(rounds > 1 ? 10000 : 100000);
    for (int r = 0; r < rounds; r++) {
        long share = (long)(count / 10) + 1;
        struct {
            bool real;
            int way;
            long parts;
        } runs[] = { { false, ALONE, 4 }, { false, THREAD_EACH, 4 }, { true, THREAD_EACH, 1 }, { false, FOUR_THREADS, 1 } };
        for (int i = 0; i < 4; i++) {
            (void)alarm(rounds > 1 ? 1800 : 300);
            run(runs[i].real, runs[i].way, share * runs[i].parts);
        }
    }
    (void)alarm(0);
    assert_int_equal(problems, 0);
}

static int ready(void **state) {
    seed();
    trace = getenv("SPY_FUZZ_TRACE") != NULL;
    for (size_t i = 0; i < sizeof operations / sizeof *operations; i++) weights += operations[i].weight;
    for (int i = 0; i < SCRATCH; i++) scratch[i] = (unsigned char)(i % 4 == 3 ? 0x40 : 0); // floats of 2, small ints
    (void)signal(SIGALRM, late);
    return hold_slang(state);
}

int main(void) {
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_operations) };
    return cmocka_run_group_tests(tests, ready, let_slang_go);
}

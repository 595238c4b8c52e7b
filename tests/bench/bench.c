// How fast the library is, through its public interface alone: kernels at the speed of memory, what a call costs, transfers,
// and a cold start. tests/bench/run holds the figures against plain code's, torch's and SlangPy's and prints the table.
//
// What a plain launch or copy of CUDA costs differs from process to process by more than ours may cost above it: so it is
// measured here, too, in turns with ours, and reported as "beside_" and the item.
//
//   bench [--backend vk|cuda|d3d12] [--adapter N] [--json FILE] [--quick | --full] [--side N] [--only TEXT] [--dump DIR]
//
// Kernels are timed on the GPU by spy_time_call, calls by the wall clock; everything is warmed up and repeated, and the
// median counts. Inputs are random, outputs are poisoned before and compared after. Quick sizes are the default on a CPU
// device. --only TEXT runs the works whose name contains TEXT. --only =scalar,call_wait runs the works of these
// names; --side is the side of the large squares (8192, quick: 1024); --dump writes the generated kernels.
#define _GNU_SOURCE
#include "slangpy_vk.h"
#include "slangpy_cuda.h"
#include "slangpy_d3d12.h"

#include <stdatomic.h>
#include <sys/wait.h>
#include <unistd.h>

#include "counting_allocator.h"
#include "raw_cuda_driver.h"

#define POISON 77.0
#define NOTE_BYTES 256 // of the text of a note
#define NAME_BYTES 96  // of "beside_" and an item

typedef struct world {
    bench out;
    spy_device *device;
    spy_module *module;
    bool quick;
    uint32_t features;
    int64_t n, side;       // elements of the large tensors; n is side * side
    int64_t x0, x1, x2;    // sizes of the odd broadcast
    spy_tensor *a, *b, *c; // n floats each
    void *scratch;         // host memory for any one tensor
    raw_cuda *raw;         // CUDA: plain launches in the same context, to be measured beside ours; else NULL
    raw_cuda raw_memory;
} world;

// ---- counting mallocs

// Anything that goes to malloc on this thread while a loop is counted: the driver's allocations.
static _Thread_local uint64_t mallocs;
#if defined(__GLIBC__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t count, size_t size);
extern void *__libc_realloc(void *memory, size_t size);
void *malloc(size_t size) {
    mallocs++;
    return __libc_malloc(size);
}
void *calloc(size_t count, size_t size) {
    mallocs++;
    return __libc_calloc(count, size);
}
void *realloc(void *memory, size_t size) {
    mallocs++;
    return __libc_realloc(memory, size);
}
#endif

// ---- set-up

static const spy_backend *find_backend(const char *name) {
    if (strcmp(name, "vk") == 0 || strcmp(name, "vulkan") == 0) return spy_vk_backend();
    if (strcmp(name, "cuda") == 0) return spy_cuda_backend();
    if (strcmp(name, "d3d12") == 0) return spy_d3d12_backend();
    return NULL;
}

// False, and the item failed, if the device has an error.
static bool good(world *w, const char *item) {
    const spy_error error = spy_take_error(w->device);
    if (error.code != SPY_OK) bench_fail(&w->out, item, "%s", error.message);
    return error.code == SPY_OK;
}

typedef struct settings {
    const char *program, *backend, *slang, *json, *only, *dump;
    uint32_t adapter;
    int64_t side; // 0: by the size
    int size;     // 1: quick, 2: full
    bool cold;
} settings;

static bool create(world *w, const settings *o) {
    const spy_device_desc desc = {
        .backend = find_backend(o->backend),
        .adapter = o->adapter,
        .log = { .func = spy_log_stderr },
        .allocator = { .allocate = count_allocate, .reallocate = count_reallocate, .free = count_free },
        .dump_directory = o->dump,
    };
    w->device = spy_create_device(&desc);
    if (w->device != NULL) return true;
    bench_fail(&w->out, "device", "%s", spy_take_error(NULL).message);
    return false;
}

static bool load(world *w, const settings *o) {
    w->module = spy_load_module(w->device, &(spy_module_desc){ .path = o->slang });
    if (w->module == NULL) good(w, "module");
    return w->module != NULL;
}

// Plain launches beside ours, of the same inputs. Without them, and with a failure, if the driver cannot be opened.
static void open_raw(world *w) {
    float inputs[2][FLOATS];
    const float *in[2] = { inputs[0], inputs[1] };
    for (uint64_t t = 0; t < 2; ++t)
        for (uint64_t i = 0; i < FLOATS; ++i) inputs[t][i] = bench_float(i, 10 + t);
    if (!raw_load(&w->out, "beside")) return;
    spy_cuda_make_current(w->device);
    if (!good(w, "beside")) return;
    if (raw_good(&w->out, "beside", raw_prepare(&w->raw_memory, in))) w->raw = &w->raw_memory;
}

static spy_tensor *make_tensor(world *w, spy_dtype dtype, spy_shape shape, const void *data) {
    return spy_create_tensor(w->device, &(spy_tensor_desc){ .shape = shape, .dtype = dtype, .data = data });
}

static spy_tensor *make_floats(world *w, spy_shape shape, int64_t count, uint64_t stream) {
    float *data = (float *)w->scratch;
    for (int64_t i = 0; i < count; ++i) data[i] = bench_float((uint64_t)i, stream);
    return make_tensor(w, SPY_DTYPE_FLOAT32, shape, data);
}

static uint16_t half_of(uint32_t v) { // exact below 2049
    if (v == 0) return 0;
    uint32_t exponent = 0;
    while (v >> (exponent + 1) != 0) exponent++;
    return (uint16_t)((exponent + 15) << 10 | ((v << (exponent <= 10 ? 10 - exponent : 0)) & 0x3ff));
}
static double double_of_half(uint16_t h) {
    const uint32_t exponent = h >> 10 & 31, bits = h & 0x3ff;
    if (exponent == 31) return -1; // no value here is infinite or NaN
    double v = exponent == 0 ? (double)bits / 1024 / 16384 : (1 + (double)bits / 1024);
    for (uint32_t e = 15; exponent != 0 && e < exponent; ++e) v *= 2;
    for (uint32_t e = exponent; exponent != 0 && e < 15; ++e) v /= 2;
    return h >> 15 ? -v : v;
}

// ---- kernels at the speed of memory

// One call, timed. `expect` gives the right value of scalar i of `out`, computed from the hashes, not from any tensor.
typedef struct work {
    const char *item;
    const char *function;
    spy_args args;
    spy_tensor *out;
    spy_dtype dtype; // of out's scalars
    int64_t count;   // of out's scalars
    double bytes;    // that a call must move: inputs once, the output once
    double (*expect)(const world *w, int64_t i);
    double tolerance; // relative; 0: exactly
} work;

static bool check(world *w, const work *k) {
    const size_t bytes = (size_t)k->count * spy_dtype_size_bytes(k->dtype);
    memset(w->scratch, 0xCD, bytes);
    if (spy_tensor_read(k->out, w->scratch, bytes) != SPY_OK) return good(w, k->item);
    for (int64_t i = 0; i < k->count; ++i) {
        double value;
        switch (k->dtype) {
        case SPY_DTYPE_FLOAT32: value = (double)((const float *)w->scratch)[i]; break;
        case SPY_DTYPE_FLOAT64: value = ((const double *)w->scratch)[i]; break;
        case SPY_DTYPE_FLOAT16: value = double_of_half(((const uint16_t *)w->scratch)[i]); break;
        default: value = (double)((const uint8_t *)w->scratch)[i]; break;
        }
        const double expected = k->expect(w, i),
                     error = value > expected ? value - expected : expected - value;
        if (!(error <= k->tolerance * (expected < 0 ? -expected : expected))) {
            bench_fail(&w->out, k->item, "scalar %lld is %.9g, expected %.9g", (long long)i, value, expected);
            return false;
        }
    }
    return true;
}

// Calls `f` until the GPU has settled: until half a second brings no shorter time. A GPU that waited for the host to make or
// check data is at lower clocks: an H100 under Vulkan's work alone was at 345 MHz for a second of 98 % load, and moved 1,730 GB/s
// instead of 2,950.
static void settle(world *w, spy_function *f, spy_args args, const spy_call_options *options) {
    const size_t calls = w->quick ? 3 : 20;
    double least = 0, settled = bench_now_ns(), now, start;
    do {
        start = bench_now_ns();
        for (size_t i = 0; i < calls; ++i)
            if (spy_call_with(f, args, options) != SPY_OK) return;
        spy_wait(w->device);
        now = bench_now_ns();
        if (least == 0 || now - start < 0.98 * least) settled = now;
        if (least == 0 || now - start < least) least = now - start;
    } while (!w->quick && now - settled < 5e8);
}

// Calls in a row and a wait, some rounds of them by the host's clock, as the benchmarks of Python and of the rivals time theirs: reports
// `bytes` a call as the row "<item>_wall". The GPU has settled.
static void measure_wall(world *w, const char *item, spy_function *f, spy_args args,
                         const spy_call_options *options, double bytes) {
    enum { ROUNDS = 5 };
    const size_t calls = w->quick ? 3 : 20;
    double wall[ROUNDS];
    char name[64];
    for (int round = 0; round < ROUNDS; ++round) {
        const double start = bench_now_ns();
        for (size_t i = 0; i < calls; ++i) spy_call_with(f, args, options);
        spy_wait(w->device);
        wall[round] = bytes * (double)calls / (bench_now_ns() - start);
    }
    if (!good(w, item)) return;
    snprintf(name, sizeof name, "%s_wall", item);
    bench_report(&w->out, name, "GB/s", wall, ROUNDS, "calls in a row and a wait");
}

static void measure(world *w, const work *k) {
    enum { MOST = 30 };
    const size_t times = w->quick ? 5 : MOST;
    double gpu[MOST];
    spy_function *f = spy_find_function(w->module, k->function);
    if (k->out != NULL) spy_tensor_fill(k->out, POISON);
    if (!good(w, k->item)) return;
    settle(w, f, k->args, NULL);
    measure_wall(w, k->item, f, k->args, NULL, k->bytes);
    if (!good(w, k->item) || !check(w, k)) return; // what the calls in a row wrote
    spy_tensor_fill(k->out, POISON);
    settle(w, f, k->args, NULL); // the check let the clocks fall
    for (size_t i = 0; i < times; ++i) {
        uint64_t ns = 0;
        if (spy_time_call(f, k->args, NULL, &ns) != SPY_OK || ns == 0) {
            if (good(w, k->item)) bench_fail(&w->out, k->item, "a call took no GPU time");
            return;
        }
        gpu[i] = k->bytes / (double)ns;
    }
    if (!good(w, k->item) || !check(w, k)) return;
    bench_report(&w->out, k->item, "GB/s", gpu, times, "on the GPU");
}

static double expect_add(const world *w, int64_t i) {
    (void)w;
    return (double)bench_float((uint64_t)i, 0) + (double)bench_float((uint64_t)i, 1);
}
static double expect_scalar(const world *w, int64_t i) {
    (void)w;
    return (double)bench_float((uint64_t)i, 0) + 0.5;
}
static double expect_row(const world *w, int64_t i) {
    return (double)bench_float((uint64_t)i, 0) + (double)bench_float((uint64_t)(i % w->side), 1);
}
static double expect_strided(const world *w, int64_t i) {
    return expect_add(w, 2 * i);
}
static double expect_transposed(const world *w, int64_t i) {
    return (double)bench_float((uint64_t)(i % w->side * w->side + i / w->side), 0) +
           (double)bench_float((uint64_t)i, 1);
}
static double expect_transposed_out(const world *w,
                                    int64_t i) { // the result lies across, and both inputs do not
    return expect_add(w, i % w->side * w->side + i / w->side);
}
static double expect_transposed_odd(const world *w, int64_t i) {
    const int64_t side = w->side - 1;
    return (double)bench_float((uint64_t)(i % side * side + i / side), 0) +
           (double)bench_float((uint64_t)i, 1);
}
static double expect_odd(const world *w, int64_t i) {
    const int64_t i2 = i % w->x2, i1 = i / w->x2 % w->x1, i0 = i / w->x2 / w->x1;
    return (double)bench_float((uint64_t)(i0 * w->x2 + i2), 4) + (double)bench_float((uint64_t)i1, 5);
}
static uint32_t small_of(int64_t i, uint64_t stream) {
    return (uint32_t)(bench_hash((uint64_t)i, stream) & 1023);
}
static double expect_half(const world *w, int64_t i) {
    (void)w;
    return small_of(i, 6) + small_of(i, 7);
}
static double expect_u8(const world *w, int64_t i) {
    (void)w;
    return (small_of(i, 6) + small_of(i, 7)) & 255;
}
static double expect_transposed_half(const world *w, int64_t i) {
    return small_of(i % w->side * w->side + i / w->side, 6) + small_of(i, 7);
}
static double expect_transposed_u8(const world *w, int64_t i) {
    return (small_of(i % w->side * w->side + i / w->side, 6) + small_of(i, 7)) & 255;
}
static double double_of(int64_t i, uint64_t stream) {
    return (double)(bench_hash((uint64_t)i, stream) >> 12) / 4503599627370496.0; // 52 bits
}
static double expect_f64(const world *w, int64_t i) {
    (void)w;
    return double_of(i, 6) + double_of(i, 7);
}

static const float brdf_roughness = 0.4f;
static const float brdf_light[3] = { 0.48f, 0.0f, 0.877268f };
static const float brdf_view[3] = { -0.36f, 0.48f, 0.8f };

static double square_root(double x) { // Newton; no libm for one root
    double r = x > 1 ? x : 1;
    for (int i = 0; i < 60; ++i) r = (r + x / r) / 2;
    return r;
}

// bench.slang's brdf: all but the albedo is the same for every element.
static double brdf(double albedo) {
    static double specular, power, n_l;
    if (specular == 0) {
        const double l[3] = { (double)brdf_light[0], (double)brdf_light[1], (double)brdf_light[2] };
        const double v[3] = { (double)brdf_view[0], (double)brdf_view[1], (double)brdf_view[2] };
        double h[3] = { l[0] + v[0], l[1] + v[1], l[2] + v[2] };
        const double length = square_root(h[0] * h[0] + h[1] * h[1] + h[2] * h[2]);
        for (int i = 0; i < 3; ++i) h[i] /= length;
        const double r = (double)brdf_roughness, a2 = r * r * r * r, n_v = v[2];
        n_l = l[2];
        const double d = h[2] * h[2] * (a2 - 1) + 1, m = 1 - (v[0] * h[0] + v[1] * h[1] + v[2] * h[2]);
        power = m * m * m * m * m;
        const double visibility = 0.5 / (n_l * square_root(n_v * n_v * (1 - a2) + a2) +
                                         n_v * square_root(n_l * n_l * (1 - a2) + a2));
        specular = a2 / (3.14159265358979 * d * d) * visibility * n_l;
    }
    const double fresnel = albedo + (1 - albedo) * power;
    return specular * fresnel + albedo * (1 - fresnel) * (n_l / 3.14159265358979);
}
static float albedo_of(int64_t i) {
    return 0.55f + 0.4f * bench_float((uint64_t)i, 8);
}
static double expect_brdf(const world *w, int64_t i) {
    (void)w;
    return brdf((double)albedo_of(i));
}

static spy_args brdf_args(spy_arg *args, spy_tensor *in, spy_tensor *out) { // args: room for five
    args[0] = spy_arg_tensor("albedo", in);
    args[1] = spy_arg_f32("roughness", brdf_roughness);
    args[2] = spy_arg_f32n("light", brdf_light, 3);
    args[3] = spy_arg_f32n("view", brdf_view, 3);
    args[4] = spy_arg_tensor("_result", out);
    return (spy_args){ args, 5 };
}

#define ARGS_OF(x, y, out)                                                                                   \
    SPY_ARGS(spy_arg_tensor("a", x), spy_arg_tensor("b", y), spy_arg_tensor("_result", out))

static void measure_floats(world *w) {
    const int64_t n = w->n, side = w->side;
    spy_tensor *a = w->a, *b = w->b, *c = w->c;
    const double full = 12.0 * (double)n;
    work k = { .item = "add",
               .function = "add",
               .out = c,
               .dtype = SPY_DTYPE_FLOAT32,
               .count = n,
               .bytes = full,
               .expect = expect_add };
    k.args = ARGS_OF(a, b, c);
    if (bench_wanted(&w->out, k.item)) measure(w, &k);

    k.item = "add_scalar", k.expect = expect_scalar, k.bytes = 8.0 * (double)n;
    k.args = SPY_ARGS(spy_arg_tensor("a", a), spy_arg_f32("b", 0.5f), spy_arg_tensor("_result", c));
    if (bench_wanted(&w->out, k.item)) measure(w, &k);

    const spy_view_desc square = { .shape = SPY_SHAPE(side, side) };
    spy_tensor *a2 = spy_create_view(a, &square), *b2 = spy_create_view(b, &square),
               *c2 = spy_create_view(c, &square);
    spy_tensor *row = spy_create_slice(b, 0, 0, side, 1), *turned = spy_create_transpose(a2, SPY_DIMS(1, 0));
    k.item = "row", k.expect = expect_row, k.out = c2, k.bytes = 8.0 * (double)n + 4.0 * (double)side;
    k.args = ARGS_OF(a2, row, c2);
    if (bench_wanted(&w->out, k.item)) measure(w, &k);

    k.item = "transposed", k.expect = expect_transposed, k.bytes = full;
    k.args = ARGS_OF(turned, b2, c2);
    if (bench_wanted(&w->out, k.item)) measure(w, &k);

    spy_tensor *turned_c = spy_create_transpose(c2, SPY_DIMS(1, 0));
    k.item = "transposed_out", k.expect = expect_transposed_out;
    k.args = ARGS_OF(a2, b2, turned_c);
    if (bench_wanted(&w->out, k.item)) measure(w, &k);

    const int64_t odd_side = side - 1;
    const spy_view_desc odd_square = { .shape = SPY_SHAPE(odd_side, odd_side) };
    spy_tensor *odd_a = spy_create_view(a, &odd_square), *odd_b = spy_create_view(b, &odd_square),
               *odd_c = spy_create_view(c, &odd_square);
    spy_tensor *odd_turned = spy_create_transpose(odd_a, SPY_DIMS(1, 0));
    k.item = "transposed_odd", k.expect = expect_transposed_odd, k.out = odd_c;
    k.count = odd_side * odd_side, k.bytes = 12.0 * (double)k.count;
    k.args = ARGS_OF(odd_turned, odd_b, odd_c);
    if (bench_wanted(&w->out, k.item)) measure(w, &k);

    spy_tensor *every_a = spy_create_slice(a, 0, 0, n, 2), *every_b = spy_create_slice(b, 0, 0, n, 2);
    spy_tensor *front = spy_create_slice(c, 0, 0, n / 2, 1);
    k.item = "strided", k.expect = expect_strided, k.out = front, k.count = n / 2, k.bytes = full / 2;
    k.args = ARGS_OF(every_a, every_b, front);
    if (bench_wanted(&w->out, k.item)) measure(w, &k);
    spy_tensor *views[] = { a2,    b2,    c2,         row,     turned,  turned_c, odd_a,
                            odd_b, odd_c, odd_turned, every_a, every_b, front };
    for (size_t i = 0; i < sizeof views / sizeof *views; ++i) spy_release_tensor(views[i]);

    if (!bench_wanted(&w->out, "odd_broadcast")) return;
    spy_tensor *x = make_floats(w, SPY_SHAPE(w->x0, 1, w->x2), w->x0 * w->x2, 4);
    spy_tensor *y = make_floats(w, SPY_SHAPE(1, w->x1, 1), w->x1, 5);
    spy_tensor *z = make_tensor(w, SPY_DTYPE_FLOAT32, SPY_SHAPE(w->x0, w->x1, w->x2), NULL);
    k.item = "odd_broadcast", k.expect = expect_odd, k.out = z, k.count = w->x0 * w->x1 * w->x2;
    k.bytes = 4.0 * (double)(k.count + w->x0 * w->x2 + w->x1);
    k.args = ARGS_OF(x, y, z);
    measure(w, &k);
    spy_release_tensor(x), spy_release_tensor(y), spy_release_tensor(z);
}

static void measure_brdf(world *w) {
    const int64_t elements = w->n / 4;
    float *data = (float *)w->scratch;
    for (int64_t i = 0; i < 3 * elements; ++i) data[i] = albedo_of(i);
    spy_tensor_desc desc = { .shape = SPY_SHAPE(elements), .type = "float3", .data = data };
    spy_tensor *in = spy_create_tensor(w->device, &desc);
    desc.data = NULL;
    spy_tensor *out = spy_create_tensor(w->device, &desc);
    spy_arg args[5];
    measure(w, &(work){ .item = "brdf",
                        .function = "brdf",
                        .args = brdf_args(args, in, out),
                        .out = out,
                        .dtype = SPY_DTYPE_FLOAT32,
                        .count = 3 * elements,
                        .bytes = 24.0 * (double)elements,
                        .expect = expect_brdf,
                        .tolerance = 1e-4 });
    spy_release_tensor(in), spy_release_tensor(out);
}

// As many bytes as the float add, in another type; or, with the first input transposed, as many elements.
static void measure_type(world *w, const char *item, const char *function, spy_dtype dtype, uint32_t feature,
                         bool transposed) {
    if (!bench_wanted(&w->out, item)) return;
    if (!(w->features & feature)) {
        bench_skip(&w->out, item, "the device has no such type");
        return;
    }
    const size_t size = spy_dtype_size_bytes(dtype);
    const int64_t n = transposed                 ? w->n
                      : dtype == SPY_DTYPE_UINT8 ? w->n * 2 // a byte's check costs most
                                                 : w->n * 4 / (int64_t)size;
    const spy_shape shape = transposed ? SPY_SHAPE(w->side, w->side) : SPY_SHAPE(n);
    spy_tensor *tensors[2];
    for (uint64_t t = 0; t < 2; ++t) {
        for (int64_t i = 0; i < n; ++i) {
            const uint32_t v = small_of(i, 6 + t);
            if (dtype == SPY_DTYPE_FLOAT16) ((uint16_t *)w->scratch)[i] = half_of(v);
            else if (dtype == SPY_DTYPE_UINT8) ((uint8_t *)w->scratch)[i] = (uint8_t)v;
            else ((double *)w->scratch)[i] = double_of(i, 6 + t);
        }
        tensors[t] = make_tensor(w, dtype, shape, w->scratch);
    }
    spy_tensor *out = make_tensor(w, dtype, shape, NULL);
    spy_tensor *turned = transposed ? spy_create_transpose(tensors[0], SPY_DIMS(1, 0)) : NULL;
    measure(w,
            &(work){ .item = item,
                     .function = function,
                     .args = ARGS_OF(transposed ? turned : tensors[0], tensors[1], out),
                     .out = out,
                     .dtype = dtype,
                     .count = n,
                     .bytes = 3.0 * (double)size * (double)n,
                     .expect = dtype == SPY_DTYPE_FLOAT16 ? transposed ? expect_transposed_half : expect_half
                               : dtype == SPY_DTYPE_UINT8 ? transposed ? expect_transposed_u8 : expect_u8
                                                          : expect_f64 });
    if (transposed) spy_release_tensor(turned);
    spy_release_tensor(tensors[0]), spy_release_tensor(tensors[1]), spy_release_tensor(out);
}

// ---- the rest, by theme

#include "bench_calls.h"
#include "bench_gradients.h"
#include "bench_transfers.h"
#include "bench_cold.h"

// ---- all of it

static void run_warm(world *w, const settings *o) {
    if (!create(w, o)) return;
    const spy_device_info info = spy_get_device_info(w->device);
    w->features = info.features;
    w->quick = o->size == 0 ? info.type == SPY_ADAPTER_TYPE_CPU : o->size == 1;
    bench_report_device(&w->out, info.name, info.driver, info.type == SPY_ADAPTER_TYPE_CPU, w->quick);
    if (!load(w, o)) return;
    w->side = o->side > 1 ? o->side : w->quick ? 1024 : 8192;
    w->n = w->side * w->side;
    w->x0 = w->quick ? 31 : 127, w->x1 = w->quick ? 63 : 511, w->x2 = w->quick ? 127 : 1023;
    w->scratch = malloc((size_t)w->n * sizeof(float));
    if (w->scratch == NULL) {
        bench_fail(&w->out, "device", "out of host memory");
        return;
    }
    if (find_backend(o->backend) == spy_cuda_backend()) open_raw(w);
    measure_all_calls(w); // before anything large is allocated
    w->a = make_floats(w, SPY_SHAPE(w->n), w->n, 0);
    w->b = make_floats(w, SPY_SHAPE(w->n), w->n, 1);
    w->c = make_tensor(w, SPY_DTYPE_FLOAT32, SPY_SHAPE(w->n), NULL);
    if (good(w, "add")) measure_floats(w);
    if (bench_wanted(&w->out, "upload_pinned")) measure_transfers(w);
    spy_release_tensor(w->a), spy_release_tensor(w->b), spy_release_tensor(w->c);
    measure_gradients(w);
    if (bench_wanted(&w->out, "brdf")) measure_brdf(w);
    measure_type(w, "add_half", "add_half", SPY_DTYPE_FLOAT16, SPY_FEATURE_FLOAT16, false);
    measure_type(w, "add_u8", "add_u8", SPY_DTYPE_UINT8, SPY_FEATURE_INT8, false);
    measure_type(w, "add_f64", "add_f64", SPY_DTYPE_FLOAT64, SPY_FEATURE_FLOAT64, false);
    measure_type(w, "transposed_half", "add_half", SPY_DTYPE_FLOAT16, SPY_FEATURE_FLOAT16, true);
    measure_type(w, "transposed_u8", "add_u8", SPY_DTYPE_UINT8, SPY_FEATURE_INT8, true);
}

static bool read_settings(settings *o, int argc, char **argv) {
    for (int i = 1; i < argc; ++i) {
        const char *value = i + 1 < argc ? argv[i + 1] : NULL;
        if (strcmp(argv[i], "--quick") == 0) o->size = 1;
        else if (strcmp(argv[i], "--full") == 0) o->size = 2;
        else if (strcmp(argv[i], "--cold") == 0) o->cold = true;
        else if (value == NULL) return false;
        else {
            if (strcmp(argv[i], "--backend") == 0) o->backend = value;
            else if (strcmp(argv[i], "--side") == 0) o->side = strtoll(value, NULL, 10);
            else if (strcmp(argv[i], "--adapter") == 0) o->adapter = (uint32_t)strtoul(value, NULL, 10);
            else if (strcmp(argv[i], "--json") == 0) o->json = value;
            else if (strcmp(argv[i], "--slang") == 0) o->slang = value;
            else if (strcmp(argv[i], "--only") == 0) o->only = value;
            else if (strcmp(argv[i], "--dump") == 0) o->dump = value;
            else return false;
            ++i;
        }
    }
    return find_backend(o->backend) != NULL;
}

int main(int argc, char **argv) {
    settings o = { .program = argv[0], .backend = "vk" };
    char slang[4096];
    const char *slash =
        strrchr(__FILE__, '/'); // bench.slang lies beside this file; run it from the repository's root
    snprintf(slang, sizeof slang, "%.*sbench.slang", slash != NULL ? (int)(slash - __FILE__ + 1) : 0,
             __FILE__);
    o.slang = slang;
    if (!read_settings(&o, argc, argv)) {
        fprintf(stderr, "usage: bench [--backend vk|cuda|d3d12] [--adapter N] [--json FILE] [--quick | "
                        "--full] [--side N] [--only TEXT]"
                        " [--dump DIR] [--slang FILE]\n");
        return 2;
    }
    world w = { .out = { .only = o.only } };
    if (o.json != NULL) {
        w.out.json = fopen(o.json, "a");
        if (w.out.json == NULL) {
            perror(o.json);
            return 2;
        }
    }
    if (o.cold) {
        run_cold(&w, &o);
    } else {
        // First, while no other process of ours holds the GPU.
        for (int i = 0; i < 2 && bench_wanted(&w.out, "first_result"); ++i) spawn_cold(&w, &o);
        run_warm(&w, &o);
    }
    spy_release_device(w.device);
    free(w.scratch);
    if (w.out.json != NULL) fclose(w.out.json);
    return w.out.failures == 0 ? 0 : 1;
}

// Sums of gradients at length: the same bits in every run when asked for, exact enough for any order of magnitude, and a training
// loop that neither allocates nor submits more than once an iteration.
#include "gpu_test.h"
#include "chance.h"

#include <math.h>

spy_device *gpu_device;
static spy_module *module;

static const char source[] = "import slangpy;\n"
                             "[Differentiable] float times(float x, float w) { return x * w; }\n"
                             "void add_all(AtomicTensor<float, 1> sum, float x) { sum.add(0, x); }\n"
                             "[Differentiable] float loss(float w, float b, no_diff float x, no_diff float "
                             "y) { float d = w * x + b - y; return d * d; }\n"
                             "void step(inout float w, inout float g) { w = w - 0.0001 * g; g = 0; }\n";

static spy_tensor *floats(spy_shape shape, const float *data, bool grad) {
    spy_tensor_desc d;
    memset(&d, 0, sizeof d);
    d.shape = shape;
    d.data = data;
    d.with_grad = grad;
    return MADE(spy_tensor, spy_create_tensor(gpu_device, &d));
}

static spy_function *fn(const char *name) {
    return MADE(spy_function, spy_find_function(module, name));
}

// Numbers over 12 decades, of both signs: the sum of their magnitudes is far from their sum.
static float decades(size_t i) {
    uint32_t h = (uint32_t)i * 2654435761u;
    h ^= h >> 16;
    h *= 2246822519u;
    h ^= h >> 13;
    double exponent = (h & 0xffff) / 65536.0 * 12 - 6;
    return (float)(pow(10, exponent) * (h & 0x10000 ? 1 : -1) * (1 + (h >> 17) / 32768.0));
}

// One run: the gradient of w, which all elements share.
static float run_sum(spy_tensor *x, spy_tensor *w, spy_tensor *seeds, bool deterministic) {
    spy_call_options o;
    float sum = 0;
    memset(&o, 0, sizeof o);
    o.mode = SPY_CALL_MODE_BACKWARD;
    o.deterministic = deterministic;
    OK(spy_tensor_zero_grad(w));
    OK(spy_call_with(
        fn("times"),
        SPY_ARGS(spy_arg_tensor("x", x), spy_arg_tensor("w", w), spy_arg_tensor("_result", seeds)), &o));
    OK(spy_tensor_read(spy_tensor_grad(w), &sum, sizeof sum));
    return sum;
}

static void test_deterministic(void **state) {
    NEEDS_DEVICE();
    size_t n = test_count((size_t)1 << 24) & ~(size_t)3, runs = test_count(100);
    if (runs < 5) runs = 5;
    float *data = (float *)malloc(n * sizeof *data);
    double sum = 0, magnitude = 0;
    for (size_t i = 0; i < n; i++) {
        data[i] = decades(i);
        sum += (double)data[i];
        magnitude += fabs((double)data[i]);
    }
    spy_tensor *x = floats(SPY_SHAPE((int64_t)n), data, false),
               *w = floats(SPY_SHAPE(1), (float[]){ 1 }, true),
               *r = floats(SPY_SHAPE((int64_t)n), NULL, true);
    OK(spy_tensor_fill(spy_tensor_grad(r), 1));
    float first = run_sum(x, w, r, true);
    for (size_t i = 1; i < runs; i++) {
        float again = run_sum(x, w, r, true);
        assert_memory_equal(&again, &first, sizeof first);
    }
    float any = run_sum(x, w, r, false);
    print_message(
        "%zu values, sum %.9g: deterministic off by %.3g of the magnitudes, the other mode by %.3g\n", n, sum,
        fabs((double)first - sum) / magnitude, fabs((double)any - sum) / magnitude);
    assert_true(fabs((double)first - sum) <= 1e-5 * magnitude);
    assert_true(fabs((double)any - sum) <= 1e-5 * magnitude);
    // The control: an atomic a thread adds in another order each time.
    spy_tensor *atomic = floats(SPY_SHAPE(1), NULL, false);
    float control = 0;
    size_t others = 0;
    for (size_t i = 0; i < 30 && !others; i++) {
        float again;
        OK(spy_tensor_fill(atomic, 0));
        OK(spy_call(fn("add_all"), SPY_ARGS(spy_arg_tensor("sum", atomic), spy_arg_tensor("x", x))));
        OK(spy_tensor_read(atomic, &again, sizeof again));
        if (i == 0) control = again;
        others += memcmp(&again, &control, sizeof again) != 0;
    }
    if (!others)
        print_message(
            "the control gave the same bits each time: this device runs threads one after another\n");
    const char *threads = getenv("SPY_TEST_THREADS"); // 0 in tests/kernels/run
    assert_true(others > 0 || sysconf(_SC_NPROCESSORS_ONLN) == 1 || (threads && strcmp(threads, "0") == 0));
    spy_release_tensor(x);
    spy_release_tensor(w);
    spy_release_tensor(r);
    spy_release_tensor(atomic);
    free(data);
}

static void test_training(void **state) {
    NEEDS_DEVICE();
    enum { N = 4096, WARM = 1200, STEPS = 1000 };
    static float xs[N], ys[N];
    for (int i = 0; i < N; i++) {
        xs[i] = (float)i / N;
        ys[i] = 3 * xs[i] + 1;
    }
    spy_tensor *x = floats(SPY_SHAPE(N), xs, false), *y = floats(SPY_SHAPE(N), ys, false),
               *w = floats(SPY_SHAPE(1), (float[]){ 0 }, true),
               *b = floats(SPY_SHAPE(1), (float[]){ 0 }, true), *l = floats(SPY_SHAPE(N), NULL, true);
    OK(spy_tensor_fill(spy_tensor_grad(l), 1));
    spy_function *loss = fn("loss"), *step = fn("step");
    spy_device_stats before = { 0 }, after;
    for (int deterministic = 0; deterministic < 2; deterministic++) {
        spy_call_options o;
        memset(&o, 0, sizeof o);
        o.mode = SPY_CALL_MODE_BACKWARD;
        o.deterministic = deterministic;
        for (int i = 0; i < WARM + STEPS; i++) {
            if (i == WARM) before = spy_get_device_stats(gpu_device);
            spy_args args = SPY_ARGS(spy_arg_tensor("w", w), spy_arg_tensor("b", b), spy_arg_tensor("x", x),
                                     spy_arg_tensor("y", y), spy_arg_tensor("_result", l));
            OK(spy_call(loss, args));
            OK(spy_call_with(loss, args, &o));
            OK(spy_call(step, SPY_ARGS(spy_arg_tensor("w", w), spy_arg_tensor("g", spy_tensor_grad(w)))));
            OK(spy_call(step, SPY_ARGS(spy_arg_tensor("w", b), spy_arg_tensor("g", spy_tensor_grad(b)))));
        }
        after = spy_get_device_stats(gpu_device);
        print_message("%d iterations: %llu submits, %llu dispatches\n", STEPS,
                      (unsigned long long)(after.submits - before.submits),
                      (unsigned long long)(after.dispatches - before.dispatches));
        assert_int_equal(after.driver_allocations, before.driver_allocations);
        assert_int_equal(after.pool_bytes, before.pool_bytes);
        assert_int_equal(after.kernels_built, before.kernels_built);
        assert_true(after.submits - before.submits <= STEPS);
    }
    float fitted[2];
    OK(spy_tensor_read(w, &fitted[0], sizeof(float)));
    OK(spy_tensor_read(b, &fitted[1], sizeof(float)));
    assert_float_equal(fitted[0], 3, 0.02);
    assert_float_equal(fitted[1], 1, 0.02);
    spy_tensor *all[] = { x, y, w, b, l };
    for (int i = 0; i < 5; i++) spy_release_tensor(all[i]);
}

// >>sums of many scalars

// x times each of `scalars` numbers: a struct of arrays, vectors, matrices, halves and doubles, that all elements share. Its
// derivative is written out, so that Slang unrolls nothing of it. (2 k + 3: lavapipe 22.3 stores g.a[k] = s * (k + 1) to g.a[k + 1], as
// it reads an index again after the loop's next one has taken its register.)
static spy_module *many_module(int floats_, int halves, int doubles, char *name, size_t size) {
    char text[4000];
    snprintf(name, size, "Many%d_%d_%d", floats_, halves, doubles);
    snprintf(text, sizeof text,
             "struct Inner { float2 uv[2]; float3x2 m; };\n"
             "struct %s : IDifferentiable { typealias Differential = %s; float a[%d]; Inner inner; %s %s\n"
             "  [TreatAsDifferentiable] static %s dzero() { return {}; }\n"
             "  [TreatAsDifferentiable] static %s dadd(%s x, %s y) { %s r = {}; for (int k = 0; k < %d; k++) "
             "r.a[k] = x.a[k] + y.a[k];\n"
             "    for (int k = 0; k < 2; k++) r.inner.uv[k] = x.inner.uv[k] + y.inner.uv[k]; r.inner.m = "
             "x.inner.m + y.inner.m; %s %s return r; } };\n"
             "void f_bwd(inout DifferentialPair<%s> w, no_diff int i, inout DifferentialPair<float> x, float "
             "d) {\n"
             "  %s g = {}; float s = d * x.p;\n"
             "  for (int k = 0; k < %d; k++) g.a[k] = s * (2 * k + 3);\n"
             "  for (int k = 0; k < 2; k++) g.inner.uv[k] = float2(s, 2 * s);\n"
             "  g.inner.m = float3x2(s, 2 * s, 3 * s, 4 * s, 5 * s, 6 * s);\n"
             "  %s %s w = diffPair(w.p, g); x = diffPair(x.p, d); }\n"
             "[BackwardDerivative(f_bwd)] float f(%s w, no_diff int i, float x) { return w.a[0] * x; }\n",
             name, name, floats_, halves ? "half h[40];" : "", doubles ? "double e[40];" : "", name, name,
             name, name, name, floats_,
             halves ? "for (int k = 0; k < 40; k++) r.h[k] = x.h[k] + y.h[k];" : "",
             doubles ? "for (int k = 0; k < 40; k++) r.e[k] = x.e[k] + y.e[k];" : "", name, name, floats_,
             halves ? "for (int k = 0; k < 40; k++) g.h[k] = half(d * (i == 0 ? k : 0));" : "",
             doubles ? "for (int k = 0; k < 40; k++) g.e[k] = double(s) * (2 * k + 3);" : "", name);
    return gpu_module(gpu_device, name, text);
}

static void check_many(int floats_, int halves, int doubles, int64_t sums, int64_t each, bool deterministic) {
    char name[40];
    spy_module *m = MADE(spy_module, many_module(floats_, halves, doubles, name, sizeof name));
    int64_t n = sums * each;
    float *data = (float *)malloc((size_t)n * sizeof *data);
    double *want = (double *)calloc((size_t)sums, sizeof *want);
    for (int64_t i = 0; i < n; i++) data[i] = (float)((double)(i * 7919 % 1009) / 504.5 - 0.5);
    for (int64_t i = 0; i < n; i++) want[i / each] += (double)data[i];
    spy_tensor_desc d;
    memset(&d, 0, sizeof d);
    d.shape = SPY_SHAPE(sums, 1);
    d.type = name;
    d.module = m;
    d.with_grad = d.zeroed = true;
    spy_tensor *w = MADE(spy_tensor, spy_create_tensor(gpu_device, &d)),
               *x = floats(SPY_SHAPE(sums, each), data, false),
               *r = floats(SPY_SHAPE(sums, each), NULL, true);
    spy_call_options o;
    memset(&o, 0, sizeof o);
    o.mode = SPY_CALL_MODE_BACKWARD;
    o.deterministic = deterministic;
    OK(spy_tensor_fill(spy_tensor_grad(r), 1));
    size_t scalar = (size_t)floats_ * 4 + 4 * 4 + 6 * 4, halves_at = scalar,
           doubles_at = (halves_at + (halves ? 80 : 0) + 7) & ~(size_t)7;
    size_t size = doubles ? doubles_at + 320 : halves_at + (halves ? 80 : 0);
    size_t stride = doubles ? (size + 7) & ~(size_t)7 : halves ? (size + 3) & ~(size_t)3 : size;
    char *got = (char *)malloc(stride * (size_t)sums), *again = (char *)malloc(stride * (size_t)sums);
    for (int run = 0; run < (deterministic ? 2 : 1); run++) {
        OK(spy_tensor_zero_grad(w));
        OK(spy_call_with(MADE(spy_function, spy_find_function(m, "f")),
                         SPY_ARGS(spy_arg_tensor("w", w), spy_arg_call_id("i"), spy_arg_tensor("x", x),
                                  spy_arg_tensor("_result", r)),
                         &o));
        OK(spy_tensor_read(spy_tensor_grad(w), run ? again : got, stride * (size_t)sums));
    }
    if (deterministic) assert_memory_equal(got, again, stride * (size_t)sums);
    for (int64_t k = 0; k < sums; k++) {
        const float *g = (const float *)(const void *)(got + (size_t)k * stride);
        for (int i = 0; i < floats_ + 10; i++) {
            static const int factors[10] = { 1, 2, 1, 2, 1, 2, 3, 4, 5, 6 };
            double expected = want[k] * (i < floats_ ? 2 * i + 3 : factors[i - floats_]),
                   off = fabs((double)g[i] - expected);
            if (off > 2e-4 * (fabs(expected) + (double)(2 * i + 3))) {
                print_error("%s, %lld sums of %lld: sum %lld, float %d is %.9g, expected %.9g\n", name,
                            (long long)sums, (long long)each, (long long)k, i, (double)g[i], expected);
                assert_true(false);
                k = sums;
                break;
            }
        }
        for (int i = 0; doubles && i < 40 && k < sums; i++) {
            double e;
            memcpy(&e, got + (size_t)k * stride + doubles_at + (size_t)i * 8, 8);
            assert_true(fabs(e - want[k] * (2 * i + 3)) <= 1e-9 * (fabs(e) + 1000));
        }
    }
    free(got);
    free(again);
    free(data);
    free(want);
    spy_release_tensor(w);
    spy_release_tensor(x);
    spy_release_tensor(r);
    spy_release_module(m);
}

// Sizes round the number from which sums go in loops (32 scalars, of which the struct has 10 besides its array), round those of
// a piece, and beyond; one sum and many, few elements and several parts.
static void test_many_scalars(void **state) {
    NEEDS_DEVICE();
    bool doubles = (spy_get_device_info(gpu_device).features & SPY_FEATURE_FLOAT64) != 0;
    if (test_turn(0, 2)) check_many(22, 0, 0, 1, 1000, false); // 32
    if (test_turn(1, 2)) check_many(23, 0, 0, 70, 37, false);  // 33
    if (test_turn(0, 2)) check_many(54, 0, 0, 1, 40000, true); // 64, in parts
    if (test_turn(1, 2)) check_many(54, 0, 0, 4000, 2, false);
    if (test_count(10) >= 10) { // half a minute of lavapipe's compiler each
        check_many(21, 0, 0, 1, 1000, false);
        check_many(246, 0, 0, 3, 300, false); // 256
        check_many(247, 0, 0, 1, 129, true);  // 257
        check_many(990, 0, 0, 2, 65, false);  // 1000
    }
    if (doubles) check_many(30, 1, 1, 2, 5000, true);
}

// >>a layer with loops

// What a dumped kernel has of calls to Slang's own sums of whole arrays; -1: there is no such file.
static int array_sums(const char *folder) {
    DIR *dir = opendir(folder);
    int found = -1;
    for (struct dirent *e = dir ? readdir(dir) : NULL; e; e = readdir(dir)) {
        char path[600];
        static uint32_t words[1 << 18], sums[64];
        size_t count = 0, names = 0;
        const char *dot = strrchr(e->d_name, '.');
        if (dot && strcmp(dot, ".spv") == 0) {
            snprintf(path, sizeof path, "%s/%s", folder, e->d_name);
            FILE *file = fopen(path, "rb");
            if (file) count = fread(words, 4, sizeof words / sizeof words[0], file);
            if (file) fclose(file);
            found = found < 0 ? 0 : found;
            for (size_t i = 5; i < count && words[i] >> 16; i += words[i] >> 16) {
                if ((words[i] & 0xffff) == 5 && names < 64 &&
                    strncmp((const char *)&words[i + 2], "Array.dadd", 10) == 0)
                    sums[names++] = words[i + 1];
                for (size_t k = 0; k < names && (words[i] & 0xffff) == 57; k++)
                    found += words[i + 3] == sums[k];
            }
        }
        if (e->d_name[0] != '.') {
            snprintf(path, sizeof path, "%s/%s", folder, e->d_name);
            remove(path);
        }
    }
    if (dir) closedir(dir);
    return found;
}
// Calls that come again, with other tensors of the same shapes: rows, columns and single numbers that broadcast, so that gradients
// need sums, several passes, or parts that a further dispatch adds. Sums are made on the host besides, in double.
static void test_repeated(void **state) {
    enum { SETS = 3 };
    NEEDS_DEVICE();
    seed();
    for (size_t n = 0, count = test_count(200); n < count; n++) {
        int64_t rows = 1 + below(below(4) ? 40 : 400), columns = 1 + below(below(4) ? 40 : 3000);
        uint32_t form[2] = { below(4), below(4) }; // bit 0: it has rows, bit 1: columns
        spy_tensor *in[SETS][2], *out[SETS];
        float *data[SETS][2], *up[SETS];
        double *expected[SETS][2];
        spy_call_options o;
        memset(&o, 0, sizeof o);
        o.mode = SPY_CALL_MODE_BACKWARD;
        o.deterministic = below(2);
        if (below(4) == 0) o.thread_group_size[0] = 32u << below(4);
        int64_t size[2];
        for (int k = 0; k < 2; k++) size[k] = (form[k] & 1 ? rows : 1) * (form[k] & 2 ? columns : 1);
        for (int t = 0; t < SETS; t++) {
            for (int k = 0; k < 2; k++) {
                data[t][k] = (float *)malloc((size_t)size[k] * sizeof(float));
                expected[t][k] = (double *)calloc((size_t)size[k], sizeof(double));
                for (int64_t i = 0; i < size[k]; i++) data[t][k][i] = (float)below(2001) * 1e-3f - 1;
                in[t][k] =
                    floats(SPY_SHAPE(form[k] & 1 ? rows : 1, form[k] & 2 ? columns : 1), data[t][k], true);
            }
            up[t] = (float *)malloc((size_t)(rows * columns) * sizeof(float));
            for (int64_t i = 0; i < rows * columns; i++) up[t][i] = (float)below(2001) * 1e-3f - 1;
            out[t] = floats(SPY_SHAPE(rows, columns), NULL, true);
            OK(spy_tensor_write(spy_tensor_grad(out[t]), up[t], (size_t)(rows * columns) * sizeof(float)));
        }
        for (int call = 0; call < 3 * SETS; call++) { // in any mixture of the sets
            int a = call < SETS ? call : (int)below(SETS), b = call < SETS ? call : (int)below(SETS),
                r = (int)below(SETS);
            OK(spy_call_with(fn("times"),
                             SPY_ARGS(spy_arg_tensor("x", in[a][0]), spy_arg_tensor("w", in[b][1]),
                                      spy_arg_tensor("_result", out[r])),
                             &o));
            for (int64_t i = 0; i < rows * columns; i++) {
                int64_t at[2];
                for (int k = 0; k < 2; k++)
                    at[k] = (form[k] & 1 ? i / columns : 0) * (form[k] & 2 ? columns : 1) +
                            (form[k] & 2 ? i % columns : 0);
                expected[a][0][at[0]] += (double)up[r][i] * data[b][1][at[1]];
                expected[b][1][at[1]] += (double)up[r][i] * data[a][0][at[0]];
            }
        }
        for (int t = 0; t < SETS; t++) {
            for (int k = 0; k < 2; k++) {
                float *got = (float *)malloc((size_t)size[k] * sizeof(float));
                OK(spy_tensor_read(spy_tensor_grad(in[t][k]), got, (size_t)size[k] * sizeof(float)));
                double most = 1e-5 * (9.0 * (double)(rows * columns) / (double)size[k] + 10);
                for (int64_t i = 0; i < size[k]; i++)
                    if (!(fabs(got[i] - expected[t][k][i]) <= most))
                        fail_msg("case %zu, (%lld, %lld), forms %u and %u, group %u: gradient %d of set %d "
                                 "at %lld: %.9g, expected %.9g",
                                 n, (long long)rows, (long long)columns, form[0], form[1],
                                 o.thread_group_size[0], k, t, (long long)i, (double)got[i],
                                 expected[t][k][i]);
                free(got);
                free(data[t][k]);
                free(expected[t][k]);
                spy_release_tensor(in[t][k]);
            }
            free(up[t]);
            spy_release_tensor(out[t]);
        }
    }
    spy_device_stats stats = spy_get_device_stats(gpu_device);
    print_message("%llu calls, %llu dispatches, %llu kernels\n", (unsigned long long)stats.calls,
                  (unsigned long long)stats.dispatches, (unsigned long long)stats.kernels_built);
}

// Slang's derivative of an array's element in a loop adds whole arrays, the library makes it add elements: of an array of numbers and
// of one of arrays. What is left adds the element's gradient to zeros (of arrays of arrays, by 8 calls more).
static void test_loop_layer(void **state) {
    NEEDS_DEVICE();
    static const struct {
        const char *type, *index;
        int most;
    } layers[2] = { { "float[64]", "w[i * 8 + o]", 1 }, { "float[8][8]", "w[i][o]", 9 } };
    enum { ROWS = 40 };
    static float x[ROWS][8], w[64], got[64];
    double want[64];
    for (int k = 0; k < 64; k++) w[k] = (float)(k % 11 - 5) / 8;
    for (int r = 0; r < ROWS; r++)
        for (int i = 0; i < 8; i++) x[r][i] = (float)((r * 31 + i * 17) % 29 - 14) / 16;
    for (int l = 0; l < 2; l++) {
        if (!test_turn((size_t)l, 2)) continue;
        char text[700], name[20], folder[] = "/tmp/spy-layer-XXXXXX";
        snprintf(name, sizeof name, "layer%d", l);
        snprintf(text, sizeof text,
                 "[Differentiable] float loss(%s w, no_diff float x[8]) { float sum = 0;\n"
                 "  [MaxIters(8)] for (int o = 0; o < 8; o++) { float y = 0;\n"
                 "    [MaxIters(8)] for (int i = 0; i < 8; i++) y += %s * x[i];\n"
                 "    sum += y * y; }\n  return sum; }\n",
                 layers[l].type, layers[l].index);
        memset(want, 0, sizeof want);
        for (int r = 0; r < ROWS; r++)
            for (int o = 0; o < 8; o++) {
                double y = 0;
                for (int i = 0; i < 8; i++) y += (double)w[i * 8 + o] * (double)x[r][i];
                for (int i = 0; i < 8; i++) want[i * 8 + o] += 2 * y * (double)x[r][i];
            }
        assert_non_null(mkdtemp(folder));
        OK(spy_set_dump_directory(gpu_device, folder));
        spy_module *m = MADE(spy_module, gpu_module(gpu_device, name, text));
        spy_tensor *tw = floats(l == 1 ? SPY_SHAPE(8, 8) : SPY_SHAPE(64), w, true),
                   *tx = floats(SPY_SHAPE(ROWS, 8), x[0], false), *r = floats(SPY_SHAPE(ROWS), NULL, true);
        OK(spy_tensor_fill(spy_tensor_grad(r), 1));
        OK(spy_call_backward(
            MADE(spy_function, spy_find_function(m, "loss")),
            SPY_ARGS(spy_arg_tensor("w", tw), spy_arg_tensor("x", tx), spy_arg_tensor("_result", r))));
        OK(spy_tensor_read(spy_tensor_grad(tw), got, sizeof got));
        for (int k = 0; k < 64; k++) assert_float_equal(got[k], want[k], 1e-3);
        OK(spy_set_dump_directory(gpu_device, NULL));
        int sums = array_sums(folder);
        print_message("%s: %d sums of whole arrays\n", layers[l].type, sums);
        if (!gpu_is_cuda()) assert_in_range(sums, 0, layers[l].most);
        remove(folder);
        spy_release_tensor(tw);
        spy_release_tensor(tx);
        spy_release_tensor(r);
        spy_release_module(m);
    }
}

int main(void) {
    spy_device_desc desc = gpu_desc();
    gpu_device = gpu_open(&desc);
    if (gpu_device) module = gpu_module(gpu_device, "sums", source);
    if (gpu_device && !module) {
        print_error("%s\n", spy_take_error(gpu_device).message);
        return 1;
    }
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_deterministic), cmocka_unit_test(test_training),
                                        cmocka_unit_test(test_many_scalars), cmocka_unit_test(test_repeated),
                                        cmocka_unit_test(test_loop_layer) };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    spy_release_device(gpu_device);
    return failed;
}

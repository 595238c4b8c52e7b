// The part of bench.c that measures backward calls: it is included there.

// gradient (to be zeroed before a call that is checked), and what it must be then: computed in double on the host.
typedef struct gradient_work {
    const char *item, *function;
    spy_args args;
    spy_tensor *added; // gradient that the call adds to
    int64_t count;     // of its floats
    double bytes;      // that a call must move
    double (*expect)(const world *w, int64_t i);
    double tolerance; // of the largest value that is expected
} gradient_work;

static bool check_gradient(world *w, const gradient_work *k, const spy_call_options *options) {
    float *got = (float *)w->scratch;
    double most = 0, worst = 0;
    spy_tensor_fill(k->added, 0);
    spy_call_with(spy_find_function(w->module, k->function), k->args, options);
    if (spy_tensor_read(k->added, got, (size_t)k->count * sizeof *got) != SPY_OK) return good(w, k->item);
    for (int64_t i = 0; i < k->count; ++i) {
        const double expected = k->expect(w, i), error = (double)got[i] > expected
                                                             ? (double)got[i] - expected
                                                             : expected - (double)got[i];
        if (expected > most) most = expected;
        if (-expected > most) most = -expected;
        if (!(error <= worst)) worst = error;
    }
    if (worst <= k->tolerance * most) return true;
    bench_fail(&w->out, k->item, "a gradient is wrong by %.9g, the largest is %.9g", worst, most);
    return false;
}

static void measure_gradient(world *w, const gradient_work *k) {
    enum { MOST = 30 };
    const size_t times = w->quick ? 5 : MOST;
    spy_call_options options;
    double gpu[MOST];
    spy_function *f = spy_find_function(w->module, k->function);
    memset(&options, 0, sizeof options);
    options.mode = SPY_CALL_MODE_BACKWARD;
    if (!check_gradient(w, k, &options)) return;
    settle(w, f, k->args, &options);
    measure_wall(w, k->item, f, k->args, &options, k->bytes);
    for (size_t i = 0; i < times; ++i) {
        uint64_t ns = 0;
        if (spy_time_call(f, k->args, &options, &ns) != SPY_OK || ns == 0) {
            if (good(w, k->item)) bench_fail(&w->out, k->item, "a call took no GPU time");
            return;
        }
        gpu[i] = k->bytes / (double)ns;
    }
    if (check_gradient(w, k, &options)) bench_report(&w->out, k->item, "GB/s", gpu, times, "on the GPU");
}

static double seed_of(int64_t i) {
    return (double)bench_float((uint64_t)i, 2);
} // gradient of the result
static double input_of(int64_t i) {
    return (double)bench_float((uint64_t)i, 0);
}

static double expect_poly(const world *w, int64_t i) {
    (void)w;
    return (4 * input_of(i) + 8) * seed_of(i);
}
static double expect_param(const world *w, int64_t i) {
    double sum = 0;
    (void)i;
    for (int64_t e = 0; e < w->n / 4; ++e)
        sum += 2 * (0.75 * input_of(e) - (double)bench_float((uint64_t)e, 1)) * input_of(e) * seed_of(e);
    return sum;
}
static double expect_rows(const world *w, int64_t i) { // one gradient for each column, summed over rows
    const int64_t side = w->side / 2;
    double sum = 0;
    for (int64_t r = 0; r < side; ++r) sum += input_of(r * side + i) * seed_of(r * side + i);
    return sum;
}
static double expect_columns(const world *w, int64_t i) {
    const int64_t side = w->side / 2;
    double sum = 0;
    for (int64_t c = 0; c < side; ++c) sum += input_of(i * side + c) * seed_of(i * side + c);
    return sum;
}

static double layer_weight(int64_t i) {
    return 0.01 * (double)(i % 17 - 8);
}
static double expect_layer(const world *w, int64_t at) {
    const int64_t input = at / 8, output = at % 8;
    double sum = 0;
    for (int64_t e = 0; e < w->n / 4096; ++e) {
        double y = 0;
        for (int64_t i = 0; i < 32; ++i) y += layer_weight(i * 8 + output) * input_of(e * 32 + i);
        sum += 2 * (y - (double)bench_float((uint64_t)(e * 8 + output), 1)) * input_of(e * 32 + input) *
               seed_of(e);
    }
    return sum;
}

// A forward call and its backward call, of which the first argument and the result have gradients.
typedef struct backward_work {
    const char *forward, *backward, *function;
    spy_shape shapes[3]; // x, w, _result; rank 0: the function has no w
    const char *note;
} backward_work;

static const backward_work backward_works[] = {
    { "fwd_issue",
      "bwds_issue",
      "poly",
      { { 1, { FLOATS } }, { 0, { 0 } }, { 1, { FLOATS } } },
      "its backward call" },
    { "fwd_table_issue",
      "bwds_two_passes_issue",
      "times",
      { { 2, { 1, 16 } }, { 2, { 16, 1 } }, { 2, { 16, 16 } } },
      "its backward call: sums over rows in one dispatch, over columns in another" },
};

// What a backward call costs beside the forward one. Rounds are short: the driver takes about 1,000 launches (Vulkan: 32,768
// dispatches) that wait for the GPU, and from there on a call takes as long as the GPU does.
static void measure_backward_calls(world *w, const backward_work *k) {
    enum { ROUNDS = 31 };
    const size_t count = 300;
    const char *names[3] = { "x", "w", "_result" };
    double us[2][ROUNDS];
    spy_function *function = spy_find_function(w->module, k->function);
    spy_tensor *tensors[3] = { NULL, NULL, NULL };
    spy_arg items[3];
    spy_args args = { items, 0 };
    int failures = 0;
    for (int i = 0; i < 3; ++i) {
        if (k->shapes[i].rank == 0) continue;
        tensors[i] =
            spy_create_tensor(w->device, &(spy_tensor_desc){ .shape = k->shapes[i], .with_grad = true });
        items[args.count++] = spy_arg_tensor(names[i], tensors[i]);
    }
    uint64_t allocated = 0;
    spy_device_stats before = { 0 }, after = { 0 };
    for (int round = -2; round < ROUNDS; ++round) {
        for (int b = 0; b < 2; ++b) {
            const uint64_t had = (uint64_t)allocations_made;
            before = spy_get_device_stats(w->device);
            bench_await_core();
            const double start = bench_now_ns();
            for (size_t i = 0; i < count; ++i)
                failures += (b ? spy_call_backward(function, args) : spy_call(function, args)) != SPY_OK;
            const double end = bench_now_ns();
            spy_wait(w->device);
            after = spy_get_device_stats(w->device);
            if (round < 0) continue;
            us[b][round] = (end - start) / (double)count * 1e-3;
            allocated += (uint64_t)allocations_made - had;
        }
    }
    if (failures == 0 && good(w, k->backward)) {
        char name[NAME_BYTES], note[NOTE_BYTES];
        snprintf(note, sizeof note, "%s; %.2f dispatches, %.2f barriers", k->note,
                 (double)(after.dispatches - before.dispatches) / (double)count,
                 (double)(after.barriers - before.barriers) / (double)count);
        bench_report(&w->out, k->forward, "us", us[0], ROUNDS, "the forward call");
        bench_report(&w->out, k->backward, "us", us[1], ROUNDS, note);
        snprintf(name, sizeof name, "%s_allocations", k->backward);
        bench_report_one(&w->out, name, "", (double)allocated, "in all counted rounds");
    }
    for (int i = 0; i < 3; ++i) spy_release_tensor(tensors[i]);
}

static void measure_gradients(world *w) {
    const int64_t n = w->n / 4, side = w->side / 2; // 2^24, 4096
    spy_tensor *x = make_floats(w, SPY_SHAPE(n), n, 0), *t = make_floats(w, SPY_SHAPE(n), n, 1),
               *seed = make_floats(w, SPY_SHAPE(n), n, 2);
    spy_tensor *dx = make_tensor(w, SPY_DTYPE_FLOAT32, SPY_SHAPE(n), NULL),
               *y = make_tensor(w, SPY_DTYPE_FLOAT32, SPY_SHAPE(n), NULL);
    float weight[] = { 0.75f };
    spy_tensor *p = spy_create_tensor(
        w->device, &(spy_tensor_desc){ .shape = SPY_SHAPE(1), .data = weight, .with_grad = true });
    spy_arg result =
        spy_arg_diff_pair("_result", SPY_ARGS(spy_arg_tensor(NULL, y), spy_arg_tensor(NULL, seed)));
    gradient_work k = { .item = "grad_poly",
                        .function = "poly",
                        .added = dx,
                        .count = n,
                        .bytes = 16.0 * (double)n,
                        .expect = expect_poly,
                        .tolerance = 1e-6 };
    k.args =
        SPY_ARGS(spy_arg_diff_pair("x", SPY_ARGS(spy_arg_tensor(NULL, x), spy_arg_tensor(NULL, dx))), result);
    if (bench_wanted(&w->out, k.item)) measure_gradient(w, &k);

    k.item = "grad_param", k.function = "loss", k.added = spy_tensor_grad(p), k.count = 1,
    k.expect = expect_param;
    k.bytes = 12.0 * (double)n, k.tolerance = 1e-3; // its terms cancel
    k.args = SPY_ARGS(spy_arg_tensor("w", p), spy_arg_tensor("x", x), spy_arg_tensor("t", t), result);
    if (bench_wanted(&w->out, k.item)) measure_gradient(w, &k);

    const spy_view_desc square = { .shape = SPY_SHAPE(side, side) };
    spy_tensor *x2 = spy_create_view(x, &square), *y2 = spy_create_view(y, &square),
               *seed2 = spy_create_view(seed, &square);
    spy_tensor *row =
        spy_create_tensor(w->device, &(spy_tensor_desc){ .shape = SPY_SHAPE(side), .with_grad = true });
    spy_tensor *column =
        spy_create_tensor(w->device, &(spy_tensor_desc){ .shape = SPY_SHAPE(side, 1), .with_grad = true });
    result = spy_arg_diff_pair("_result", SPY_ARGS(spy_arg_tensor(NULL, y2), spy_arg_tensor(NULL, seed2)));
    k.item = "grad_rows", k.function = "weighed", k.added = spy_tensor_grad(row), k.count = side,
    k.expect = expect_rows;
    k.bytes = 8.0 * (double)n, k.tolerance = 1e-4;
    k.args = SPY_ARGS(spy_arg_tensor("x", x2), spy_arg_tensor("w", row), result);
    if (bench_wanted(&w->out, k.item)) measure_gradient(w, &k);
    k.item = "grad_columns", k.added = spy_tensor_grad(column), k.expect = expect_columns;
    k.args = SPY_ARGS(spy_arg_tensor("x", x2), spy_arg_tensor("w", column), result);
    if (bench_wanted(&w->out, k.item)) measure_gradient(w, &k);
    const int64_t batch = w->n / 4096; // 2^14 elements of 41 floats
    const spy_view_desc inputs = { .shape = SPY_SHAPE(batch, 32) },
                        outputs = { .shape = SPY_SHAPE(batch, 8) }, losses = { .shape = SPY_SHAPE(batch) };
    float weights[256];
    for (int64_t i = 0; i < 256; ++i) weights[i] = (float)layer_weight(i);
    spy_tensor *layer = spy_create_tensor(
        w->device, &(spy_tensor_desc){ .shape = SPY_SHAPE(256), .data = weights, .with_grad = true });
    spy_tensor *layer_x = spy_create_view(x, &inputs), *layer_t = spy_create_view(t, &outputs),
               *layer_y = spy_create_view(y, &losses), *layer_seed = spy_create_view(seed, &losses);
    k.item = "grad_layer", k.function = "layer_loss", k.added = spy_tensor_grad(layer), k.count = 256,
    k.expect = expect_layer;
    k.bytes = 41.0 * 4 * (double)batch, k.tolerance = 1e-3;
    k.args = SPY_ARGS(spy_arg_tensor("w", layer), spy_arg_tensor("x", layer_x), spy_arg_tensor("t", layer_t),
                      spy_arg_diff_pair("_result", SPY_ARGS(spy_arg_tensor(NULL, layer_y),
                                                            spy_arg_tensor(NULL, layer_seed))));
    if (bench_wanted(&w->out, k.item)) measure_gradient(w, &k);
    spy_tensor *all[] = { x,     t,   seed,   dx,    y,       p,       x2,      y2,
                          seed2, row, column, layer, layer_x, layer_t, layer_y, layer_seed };
    for (size_t i = 0; i < sizeof all / sizeof *all; ++i) spy_release_tensor(all[i]);
    for (size_t i = 0; i < sizeof backward_works / sizeof *backward_works; ++i)
        if (bench_wanted(&w->out, backward_works[i].backward)) measure_backward_calls(w, &backward_works[i]);
    good(w, "grad_poly");
}

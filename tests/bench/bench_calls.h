// The part of bench.c that measures what calls, waits, lists and new tensors cost: it is included there. On CUDA each round
// of ours is followed by as many plain launches, whose results are checked as ours are; once one of those fails there are
// no more of them.

typedef struct calls {
    world *w;
    spy_function *add, *add8, *advance, *declared; // `declared`: add with its types and mappings
    spy_tensor *in[8], *out[OUTPUTS];
    spy_tensor
        *slices[2][OUTPUTS]; // with in[0]'s numbers, of a long tensor: aligned alike, and at odd places
    spy_tensor *large, *large_out[OUTPUTS]; // of another layer
    spy_tensor *ring[OUTPUTS];              // the newest of issue_new, of ring_shape
    spy_shape ring_shape;
    spy_prepared *prepared;
    spy_command_list *list;
    int failures;
} calls;

// ---- loops of calls; arguments are built at each call, as in a user's program

static void issue_same(calls *c, size_t count) {
    for (size_t i = 0; i < count; ++i)
        c->failures += spy_call(c->add, ARGS_OF(c->in[0], c->in[1], c->out[0])) != SPY_OK;
}
static void issue_rotating(calls *c, size_t count) {
    for (size_t i = 0; i < count; ++i)
        c->failures += spy_call(c->add, ARGS_OF(c->in[0], c->in[1], c->out[i % OUTPUTS])) != SPY_OK;
}
static void issue_declared(calls *c, size_t count) {
    for (size_t i = 0; i < count; ++i)
        c->failures += spy_call(c->declared, ARGS_OF(c->in[0], c->in[1], c->out[i % OUTPUTS])) != SPY_OK;
}
static void issue_prepared(calls *c, size_t count) {
    for (size_t i = 0; i < count; ++i)
        c->failures +=
            spy_call_prepared(c->prepared, ARGS_OF(c->in[0], c->in[1], c->out[i % OUTPUTS])) != SPY_OK;
}
static void issue_eight(calls *c, size_t count) {
    for (size_t i = 0; i < count; ++i)
        c->failures +=
            spy_call(c->add8, SPY_ARGS(spy_arg_tensor("a", c->in[0]), spy_arg_tensor("b", c->in[1]),
                                       spy_arg_tensor("c", c->in[2]), spy_arg_tensor("d", c->in[3]),
                                       spy_arg_tensor("e", c->in[4]), spy_arg_tensor("f", c->in[5]),
                                       spy_arg_tensor("g", c->in[6]), spy_arg_tensor("h", c->in[7]),
                                       spy_arg_tensor("_result", c->out[i % OUTPUTS]))) != SPY_OK;
}
// x = x * 1 + 1 from out[0] to out[1] and back: after an even number of steps the count stands in out[0].
static void issue_chain(calls *c, size_t count) {
    for (size_t i = 0; i < count; ++i)
        c->failures +=
            spy_call(c->advance,
                     SPY_ARGS(spy_arg_tensor("x", c->out[i % 2]), spy_arg_f32("a", 1), spy_arg_f32("b", 1),
                              spy_arg_tensor("_result", c->out[(i + 1) % 2]))) != SPY_OK;
}
// issue_rotating with a tensor released and one created before each call.
static void issue_new(calls *c, size_t count) {
    for (size_t i = 0; i < count; ++i) {
        spy_tensor **one = &c->ring[i % OUTPUTS];
        spy_release_tensor(*one);
        *one = make_tensor(c->w, SPY_DTYPE_FLOAT32, c->ring_shape, NULL);
        c->failures += spy_call(c->add, ARGS_OF(c->in[0], c->in[1], c->out[i % OUTPUTS])) != SPY_OK;
    }
}

// Minibatches of a long tensor, one after another.
static void issue_slices(calls *c, size_t count) {
    for (size_t i = 0; i < count; ++i)
        c->failures +=
            spy_call(c->add, ARGS_OF(c->slices[0][i % OUTPUTS], c->in[1], c->out[i % OUTPUTS])) != SPY_OK;
}
static void issue_odd_slices(calls *c, size_t count) {
    for (size_t i = 0; i < count; ++i)
        c->failures +=
            spy_call(c->add, ARGS_OF(c->slices[1][i % OUTPUTS], c->in[1], c->out[i % OUTPUTS])) != SPY_OK;
}
// Two layers of one function, in turns.
static void issue_in_turns(calls *c, size_t count) {
    for (size_t i = 0; i < count; ++i) {
        const size_t t = i / 2 % OUTPUTS;
        c->failures += (i % 2 ? spy_call(c->add, ARGS_OF(c->large, c->large, c->large_out[t]))
                              : spy_call(c->add, ARGS_OF(c->in[0], c->in[1], c->out[t]))) != SPY_OK;
    }
}
static void issue_group(calls *c, size_t count) {
    spy_call_options options;
    memset(&options, 0, sizeof options);
    options.thread_group_size[0] = 64;
    for (size_t i = 0; i < count; ++i)
        c->failures +=
            spy_call_with(c->add, ARGS_OF(c->in[0], c->in[1], c->out[i % OUTPUTS]), &options) != SPY_OK;
}

// ---- what they must write

static double expect_call(bool chain, size_t inputs, size_t count, size_t i) {
    if (chain) return (double)i + (double)count;
    double sum = 0;
    for (size_t t = 0; t < inputs; ++t) sum += (double)bench_float(i, 10 + t);
    return sum;
}

// `raw`: the outputs of plain launches, here and below.
static bool prepare_outputs(calls *c, bool raw, const char *item, bool chain) {
    float start[FLOATS];
    for (size_t i = 0; i < FLOATS; ++i) start[i] = (float)i;
    if (raw) return raw_good(&c->w->out, item, raw_fill(c->w->raw, (float)POISON, chain ? start : NULL));
    for (size_t t = 0; t < OUTPUTS; ++t) spy_tensor_fill(c->out[t], POISON);
    if (chain) spy_tensor_write(c->out[0], start, sizeof start);
    return spy_wait(c->w->device) == SPY_OK;
}

static bool read_output(calls *c, bool raw, const char *item, size_t t, float data[FLOATS]) {
    const size_t bytes = FLOATS * sizeof *data;
    for (size_t i = 0; i < FLOATS; ++i) data[i] = -1e30f;
    if (raw) return raw_good(&c->w->out, item, cu.cuMemcpyDtoH(data, c->w->raw->out[t], bytes));
    if (spy_tensor_read(c->out[t], data, bytes) == SPY_OK) return true;
    good(c->w, item);
    return false;
}

static bool check_outputs(calls *c, bool raw, const char *item, bool chain, size_t inputs, size_t count,
                          size_t outputs) {
    for (size_t t = 0; t < outputs; ++t) {
        float data[FLOATS];
        if (!read_output(c, raw, item, t, data)) return false;
        for (size_t i = 0; i < FLOATS; ++i)
            if ((double)data[i] != expect_call(chain, inputs, count, i)) {
                bench_fail(&c->w->out, item, "output %zu[%zu] is %.9g, expected %.9g", t, i, (double)data[i],
                           expect_call(chain, inputs, count, i));
                return false;
            }
    }
    return true;
}

// ---- issue: `count` calls without waiting, then a wait

enum { CALL_ROUNDS = 7 };

typedef struct call_work {
    const char *item, *total; // `total`: name of the item for all of it, a call; NULL: only the issue counts
    void (*issue)(calls *, size_t);
    int (*raw)(raw_cuda *, size_t); // the same in plain CUDA, of two inputs
    size_t inputs, outputs;
} call_work;

typedef struct call_times { // microseconds a call
    double issue[CALL_ROUNDS], total[CALL_ROUNDS];
} call_times;

static void beside_name(const char *item, char name[NAME_BYTES]) {
    snprintf(name, NAME_BYTES, "beside_%s", item);
}

// Nothing, if plain CUDA is not there or has failed: that is reported, and ours goes on without.
static void report_beside(world *w, const char *item, const char *unit, double *samples, size_t count,
                          const char *note) {
    char name[NAME_BYTES];
    if (w->raw == NULL) return;
    beside_name(item, name);
    bench_report(&w->out, name, unit, samples, count, note);
}

static void report_allocations(world *w, const char *item, uint64_t allocated) {
    char name[NAME_BYTES];
    snprintf(name, sizeof name, "%s_allocations", item);
    bench_report_one(&w->out, name, "", (double)allocated, "in all counted rounds, through spy_allocator");
}

// A round (from 0 on it counts) of plain launches. `sum`: what a chain of them adds; else 2-tensor sums are written.
static void run_beside(calls *c, const char *item, int (*raw)(raw_cuda *, size_t), size_t count, size_t sum,
                       size_t outputs, int round, call_times *times) {
    world *w = c->w;
    const bool chain = sum != 0;
    double issue = 0, total = 0;
    char name[NAME_BYTES];
    if (w->raw == NULL) return;
    beside_name(item, name);
    const bool ready = prepare_outputs(c, true, name, chain);
    bench_await_core();
    if (!ready ||
        !raw_good(&w->out, name, raw_time(w->raw, raw, count, &issue, &total)) ||
        !check_outputs(c, true, name, chain, 2, sum, outputs))
        w->raw = NULL;
    if (round >= 0) times->issue[round] = issue, times->total[round] = total;
}

static void measure_calls(calls *c, const call_work *k) {
    world *w = c->w;
    if (!bench_wanted(&w->out, k->item) && (k->total == NULL || !bench_wanted(&w->out, k->total))) return;
    const size_t count = w->quick ? 1000 : 10000;
    const bool chain = k->issue == issue_chain;
    call_times ours, raw;
    uint64_t allocated = 0, malloced = 0;
    spy_device_stats before = { 0 }, after = { 0 };
    for (int round = -2; round < CALL_ROUNDS; ++round) { // the first two warm up
        if (!prepare_outputs(c, false, k->item, chain)) break;
        before = spy_get_device_stats(w->device);
        const uint64_t allocations_before = (uint64_t)allocations_made, mallocs_before = mallocs;
        bench_await_core();
        const double start = bench_now_ns();
        k->issue(c, count);
        const double issued = bench_now_ns();
        const uint64_t allocations_after = (uint64_t)allocations_made, mallocs_after = mallocs;
        spy_wait(w->device);
        const double end = bench_now_ns();
        after = spy_get_device_stats(w->device);
        if (c->failures != 0) break;
        if (!check_outputs(c, false, k->item, chain, k->inputs, count, k->outputs)) return;
        run_beside(c, k->item, k->raw, count, chain ? count : 0, k->outputs, round, &raw);
        if (round < 0) continue;
        ours.issue[round] = (issued - start) / (double)count * 1e-3;
        ours.total[round] = (end - start) / (double)count * 1e-3;
        allocated += allocations_after - allocations_before;
        malloced += mallocs_after - mallocs_before;
    }
    const bool wrong = c->failures != 0;
    c->failures = 0;
    if (!good(w, k->item)) return;
    if (wrong || after.calls - before.calls != count) {
        bench_fail(&w->out, k->item, "%llu of %zu calls reached the GPU",
                   (unsigned long long)(after.calls - before.calls), count);
        return;
    }
    char note[NOTE_BYTES];
    snprintf(note, sizeof note, "a call: %.3f barriers, %.4f submits, %.3f mallocs of this thread",
             (double)(after.barriers - before.barriers) / (double)count,
             (double)(after.submits - before.submits) / (double)count,
             (double)malloced / (double)(count * CALL_ROUNDS));
    bench_report(&w->out, k->item, "us", ours.issue, CALL_ROUNDS, note);
    report_allocations(w, k->item, allocated);
    if (k->total != NULL) bench_report(&w->out, k->total, "us", ours.total, CALL_ROUNDS, "with the wait");
    report_beside(w, k->item, "us", raw.issue, CALL_ROUNDS, "plain CUDA, in turns with ours");
    if (k->total != NULL) report_beside(w, k->total, "us", raw.total, CALL_ROUNDS, "with the wait");
}

// ---- new tensors: the pool

// That the ring's tensors are memory of their own: each holds what was written there, all having been written.
static bool check_ring(calls *c, const char *item) {
    world *w = c->w;
    const size_t count = (size_t)c->ring_shape.dims[0];
    float *data = (float *)w->scratch;
    for (size_t t = 0; t < OUTPUTS; ++t) spy_tensor_fill(c->ring[t], (double)t);
    for (size_t t = 0; t < OUTPUTS; ++t) {
        memset(data, 0xCD, count * sizeof *data);
        if (spy_tensor_read(c->ring[t], data, count * sizeof *data) != SPY_OK) return good(w, item);
        for (size_t i = 0; i < count; ++i)
            if (data[i] != (float)t) {
                bench_fail(&w->out, item, "tensor %zu[%zu] is %.9g", t, i, (double)data[i]);
                return false;
            }
    }
    return true;
}

static void measure_new_tensors(calls *c, const char *item, int64_t floats) {
    world *w = c->w;
    if (!bench_wanted(&w->out, item)) return;
    c->ring_shape = SPY_SHAPE(floats);
    if (w->raw != NULL) w->raw->ring_bytes = (size_t)floats * sizeof(float);
    measure_calls(c, &(call_work){ item, NULL, issue_new, raw_issue_new, 2, OUTPUTS });
    check_ring(c, item);
    for (size_t t = 0; t < OUTPUTS; ++t) spy_release_tensor(c->ring[t]), c->ring[t] = NULL;
    if (w->raw != NULL && !raw_good(&w->out, item, raw_free_ring(w->raw))) w->raw = NULL;
}

// ---- round trips: a call and its end, one by one

typedef struct trip {
    const char *item, *note, *raw_note;
    bool (*ours)(calls *, size_t), (*raw)(calls *, size_t); // false: something went wrong
    bool writes;                                            // all outputs get 2-tensor sums
} trip;

static bool trip_scalar(calls *c, size_t i) {
    float result = -77;
    spy_call(c->add,
             SPY_ARGS(spy_arg_f32("a", (float)i), spy_arg_f32("b", 2), spy_out_f32("_result", &result)));
    return result == (float)i + 2;
}
static bool trip_scalar_raw(calls *c, size_t i) {
    return raw_store(c->w->raw, (float)i + 2);
}
static bool trip_wait(calls *c, size_t i) {
    return spy_call(c->add, ARGS_OF(c->in[0], c->in[1], c->out[i % OUTPUTS])) == SPY_OK &&
           spy_wait(c->w->device) == SPY_OK;
}
static bool trip_wait_raw(calls *c, size_t i) {
    raw_cuda *r = c->w->raw;
    return raw_launch_add(r, r->in[0], r->in[1], r->out[i % OUTPUTS], FLOATS / 4) == 0 &&
           cu.cuStreamSynchronize(r->stream) == 0;
}

static const trip trips[] = {
    { "scalar", "call with its result on the host",
      "launch that writes mapped memory, and cuStreamSynchronize", trip_scalar, trip_scalar_raw, false },
    { "call_wait", "call and wait", "launch and cuStreamSynchronize", trip_wait, trip_wait_raw, true },
};

enum { TRIPS = 20 }; // of a block

// A block of trips, each timed. False, and `name` failed, if one went wrong.
static bool run_trips(calls *c, const char *name, bool (*one)(calls *, size_t), size_t first, double *us) {
    bench_await_core();
    for (size_t i = first; i < first + TRIPS; ++i) {
        const double start = bench_now_ns();
        const bool right = one(c, i);
        us[i] = (bench_now_ns() - start) * 1e-3;
        if (right) continue;
        if (good(c->w, name)) bench_fail(&c->w->out, name, "trip %zu has no or a wrong result", i);
        return false;
    }
    return true;
}

// Blocks of ours and of plain CUDA's in turns; the first of each warms up.
static void measure_trips(calls *c, const trip *k) {
    world *w = c->w;
    const size_t count = w->quick ? 200 : 2000;
    char name[NAME_BYTES];
    if (!bench_wanted(&w->out, k->item)) return;
    double *us = (double *)malloc(2 * (TRIPS + count) * sizeof *us), *raw_us = us + TRIPS + count;
    if (us == NULL) return;
    beside_name(k->item, name);
    bool right = prepare_outputs(c, false, k->item, false);
    if (w->raw != NULL && !prepare_outputs(c, true, name, false)) w->raw = NULL;
    for (size_t first = 0; first < TRIPS + count && right; first += TRIPS) {
        right = run_trips(c, k->item, k->ours, first, us);
        if (w->raw != NULL && !run_trips(c, name, k->raw, first, raw_us)) w->raw = NULL;
    }
    right = right && (!k->writes || check_outputs(c, false, k->item, false, 2, 0, OUTPUTS));
    if (k->writes && w->raw != NULL && !check_outputs(c, true, name, false, 2, 0, OUTPUTS)) w->raw = NULL;
    if (right) {
        report_beside(w, k->item, "us", raw_us + TRIPS, count, k->raw_note);
        bench_report(&w->out, k->item, "us", us + TRIPS, count, k->note);
        snprintf(name, sizeof name, "%s_min", k->item);
        bench_report_one(&w->out, name, "us", us[TRIPS], "the best of them"); // sorted by now
    }
    free(us);
}

// ---- a list of calls, each of which reads what the last one wrote

static spy_command_list *record_chain(calls *c) {
    spy_command_list *list = spy_create_command_list(c->w->device, NULL);
    for (size_t i = 0; i < LIST_CALLS; ++i)
        spy_list_call(list, c->advance,
                      SPY_ARGS(spy_arg_tensor("x", c->out[i % 2]), spy_arg_f32("a", 1), spy_arg_f32("b", 1),
                               spy_arg_tensor("_result", c->out[(i + 1) % 2])));
    spy_list_finish(list);
    spy_list_submit(list);
    spy_list_submit(list); // on CUDA this makes the graph
    return list;
}

// `changes`: call LIST_CHANGED gets another number before each submission.
static void issue_list(calls *c, size_t count, bool changes) {
    for (size_t i = 0; i < count; ++i) {
        if (changes) spy_list_set(c->list, LIST_CHANGED, SPY_ARGS(spy_arg_f32("b", bench_list_number(i))));
        spy_list_submit(c->list);
    }
}

static void measure_list(calls *c, const char *item, bool changes) {
    world *w = c->w;
    const size_t count = w->quick ? 50 : 2000, sum = bench_list_sum(count, changes);
    call_times ours, raw;
    uint64_t allocated = 0, malloced = 0;
    char name[64], note[NOTE_BYTES];
    for (int round = -2; round < CALL_ROUNDS; ++round) {
        if (!prepare_outputs(c, false, item, true)) break;
        const uint64_t allocations_before = (uint64_t)allocations_made, mallocs_before = mallocs;
        const double start = bench_now_ns();
        issue_list(c, count, changes);
        const double issued = bench_now_ns();
        const uint64_t allocations_after = (uint64_t)allocations_made, mallocs_after = mallocs;
        spy_wait(w->device);
        const double end = bench_now_ns();
        if (!check_outputs(c, false, item, true, 0, sum, 1)) return;
        run_beside(c, item, changes ? raw_issue_graph_set : raw_issue_graph, count, sum, 1, round, &raw);
        if (round < 0) continue;
        ours.issue[round] = (issued - start) / (double)count * 1e-3;
        ours.total[round] = (end - start) / (double)count * 1e-3;
        allocated += allocations_after - allocations_before;
        malloced += mallocs_after - mallocs_before;
    }
    if (!good(w, item)) return;
    snprintf(note, sizeof note, "%d calls%s, with the wait; %s, %.3f mallocs of this thread", LIST_CALLS,
             changes ? ", one changed" : "", spy_get_list_info(c->list).graph ? "a graph" : "no graph",
             (double)malloced / (double)(count * CALL_ROUNDS));
    bench_report(&w->out, item, "us", ours.total, CALL_ROUNDS, note);
    snprintf(name, sizeof name, "%s_issue", item);
    bench_report(&w->out, name, "us", ours.issue, CALL_ROUNDS, "a submission");
    report_allocations(w, item, allocated);
    report_beside(w, item, "us", raw.total, CALL_ROUNDS, "plain CUDA's graph, in turns with ours");
    report_beside(w, name, "us", raw.issue, CALL_ROUNDS, "a launch");
}

static void measure_lists(calls *c) {
    world *w = c->w;
    if (!bench_wanted(&w->out, "list") && !bench_wanted(&w->out, "list_set")) return;
    raw_chain chain;
    memset(&chain, 0, sizeof chain);
    c->list = record_chain(c);
    if (w->raw != NULL) w->raw->chain = &chain;
    if (w->raw != NULL && !raw_good(&w->out, "beside_list", raw_make_chain(w->raw, &chain, false)))
        w->raw = NULL;
    if (good(w, "list")) {
        measure_list(c, "list", false);
        measure_list(c, "list_set", true);
    }
    raw_free_chain(&chain);
    spy_release_command_list(c->list);
}

// ---- all of these

static const call_work call_works[] = {
    { "issue", NULL, issue_same, raw_issue_same, 2, 1 },
    { "rotating_issue", "rotating", issue_rotating, raw_issue_rotating, 2, OUTPUTS },
    { "declared_issue", NULL, issue_declared, raw_issue_rotating, 2, OUTPUTS },
    { "prepared_issue", "prepared", issue_prepared, raw_issue_rotating, 2, OUTPUTS },
    { "chain_issue", "chain", issue_chain, raw_issue_chain, 2, 1 },
    { "issue8", NULL, issue_eight, raw_issue_rotating, 8, OUTPUTS },
    { "slices_issue", NULL, issue_slices, raw_issue_rotating, 2, OUTPUTS },
    { "odd_slices_issue", NULL, issue_odd_slices, raw_issue_rotating, 2, OUTPUTS },
    { "in_turns_issue", NULL, issue_in_turns, raw_issue_rotating, 2, OUTPUTS },
    { "group_issue", NULL, issue_group, raw_issue_rotating, 2, OUTPUTS },
};

// `step`: from one slice to the next. Each has the numbers of in[0].
static void make_slices(calls *c, spy_tensor **slices, size_t step) {
    float *data = (float *)c->w->scratch;
    memset(data, 0, OUTPUTS * step * sizeof *data);
    for (size_t t = 0; t < OUTPUTS; ++t)
        for (size_t i = 0; i < FLOATS; ++i) data[t * step + i] = bench_float(i, 10);
    spy_tensor *all = make_tensor(c->w, SPY_DTYPE_FLOAT32, SPY_SHAPE((int64_t)(OUTPUTS * step)), data);
    for (size_t t = 0; t < OUTPUTS; ++t)
        slices[t] = spy_create_slice(all, 0, (int64_t)(t * step), (int64_t)(t * step + FLOATS), 1);
    spy_release_tensor(all);
}

static void measure_all_calls(world *w) {
    calls c = { .w = w };
    c.add = spy_find_function(w->module, "add");
    c.declared = spy_declare(c.add, SPY_ARGS(spy_vdim(spy_arg_any("a"), 1), spy_vcast(spy_arg_any("b"), "float")));
    c.add8 = spy_find_function(w->module, "add8");
    c.advance = spy_find_function(w->module, "advance");
    for (uint64_t t = 0; t < 8; ++t) c.in[t] = make_floats(w, SPY_SHAPE(FLOATS), FLOATS, 10 + t);
    for (size_t t = 0; t < OUTPUTS; ++t)
        c.out[t] = make_tensor(w, SPY_DTYPE_FLOAT32, SPY_SHAPE(FLOATS), NULL);
    make_slices(&c, c.slices[0], FLOATS);
    make_slices(&c, c.slices[1], FLOATS + 1);
    c.large = make_floats(w, SPY_SHAPE(4 * FLOATS), 4 * FLOATS, 20);
    for (size_t t = 0; t < OUTPUTS; ++t)
        c.large_out[t] = make_tensor(w, SPY_DTYPE_FLOAT32, SPY_SHAPE(4 * FLOATS), NULL);
    c.prepared = spy_prepare(c.add, ARGS_OF(c.in[0], c.in[1], c.out[0]), NULL);
    if (good(w, "issue")) {
        for (size_t i = 0; i < sizeof call_works / sizeof *call_works; ++i) measure_calls(&c, &call_works[i]);
        for (size_t i = 0; i < sizeof trips / sizeof *trips; ++i) measure_trips(&c, &trips[i]);
        measure_lists(&c);
        measure_new_tensors(&c, "new_tensor", 1 << 10);
        measure_new_tensors(&c, "new_tensor_4m", 1 << 20);
    }
    spy_release_prepared(c.prepared);
    for (size_t t = 0; t < 8; ++t) spy_release_tensor(c.in[t]);
    spy_release_tensor(c.large);
    for (size_t t = 0; t < OUTPUTS; ++t) {
        spy_release_tensor(c.large_out[t]);
        spy_release_tensor(c.slices[0][t]);
        spy_release_tensor(c.slices[1][t]);
        spy_release_tensor(c.out[t]);
    }
}

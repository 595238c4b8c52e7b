// The part of bench.c that measures a fresh process without any cache: it is included there.

static bool same(world *w, const char *item, spy_tensor *tensor, const float *expected, size_t count) {
    float got[64] = { 0 };
    if (spy_tensor_read(tensor, got, count * sizeof *got) != SPY_OK) return good(w, item);
    for (size_t i = 0; i < count; ++i)
        if (!(got[i] - expected[i] <= 1e-4f && expected[i] - got[i] <= 1e-4f)) {
            bench_fail(&w->out, item, "scalar %zu is %.9g, expected %.9g", i, (double)got[i],
                       (double)expected[i]);
            return false;
        }
    return true;
}

// Of half tensors: on CUDA that needs other declarations than float.
static void measure_new_half(world *w) {
    uint16_t a[FLOATS], b[FLOATS], back[FLOATS] = { 0 };
    spy_tensor *out = NULL;
    if (!(spy_get_device_info(w->device).features & SPY_FEATURE_FLOAT16)) {
        bench_skip(&w->out, "new_half_signature", "the device has no such type");
        return;
    }
    for (int64_t i = 0; i < FLOATS; ++i) a[i] = half_of(small_of(i, 6)), b[i] = half_of(small_of(i, 7));
    spy_tensor *x = make_tensor(w, SPY_DTYPE_FLOAT16, SPY_SHAPE(FLOATS), a),
               *y = make_tensor(w, SPY_DTYPE_FLOAT16, SPY_SHAPE(FLOATS), b);
    spy_function *f = spy_find_function(w->module, "add_half");
    spy_wait(w->device);
    const double start = bench_now_ns();
    spy_call(f, SPY_ARGS(spy_arg_tensor("a", x), spy_arg_tensor("b", y), spy_out_tensor("_result", &out)));
    spy_wait(w->device);
    const double end = bench_now_ns();
    spy_tensor_read(out, back, sizeof back);
    if (!good(w, "new_half_signature")) return;
    for (int64_t i = 0; i < FLOATS; ++i)
        if (double_of_half(back[i]) != expect_half(w, i)) {
            bench_fail(&w->out, "new_half_signature", "half %d is %.9g, expected %.9g", (int)i,
                       double_of_half(back[i]), expect_half(w, i));
            return;
        }
    bench_report_one(&w->out, "new_half_signature", "s", (end - start) * 1e-9, "add(half, half)");
}

// In a process of its own with no cache: the first result, then signatures that are new.
static void run_cold(world *w, const settings *o) {
    float x[FLOATS], sum[FLOATS], half_sum[FLOATS], eight[FLOATS], shaded[30], albedo[30], back[FLOATS];
    int32_t ints[FLOATS], int_back[FLOATS];
    for (size_t i = 0; i < FLOATS; ++i) {
        x[i] = bench_float(i, 30), sum[i] = x[i] + x[i], half_sum[i] = x[i] + 0.5f, eight[i] = 8 * x[i],
        back[i] = -77;
        ints[i] = (int32_t)i, int_back[i] = -77;
    }
    for (size_t i = 0; i < 30; ++i)
        albedo[i] = albedo_of((int64_t)i), shaded[i] = (float)brdf((double)albedo[i]);

    const double start = bench_now_ns();
    if (!create(w, o)) return;
    const double created = bench_now_ns();
    if (!load(w, o)) return;
    spy_function *add = spy_find_function(w->module, "add");
    const double loaded = bench_now_ns();
    spy_tensor *in = make_tensor(w, SPY_DTYPE_FLOAT32, SPY_SHAPE(FLOATS), x), *out = NULL;
    spy_call(add,
             SPY_ARGS(spy_arg_tensor("a", in), spy_arg_tensor("b", in), spy_out_tensor("_result", &out)));
    spy_tensor_read(out, back, sizeof back);
    const double end = bench_now_ns();
    if (!good(w, "first_result")) return;
    if (memcmp(back, sum, sizeof back) != 0) {
        bench_fail(&w->out, "first_result", "wrong values");
        return;
    }
    bench_report_one(&w->out, "first_result", "s", (end - start) * 1e-9,
                     "fresh process: device, module, first call, read");
    bench_report_one(&w->out, "cold_device", "s", (created - start) * 1e-9, "");
    bench_report_one(&w->out, "cold_module", "s", (loaded - created) * 1e-9, "libslang's load included");
    bench_report_one(&w->out, "cold_call", "s", (end - loaded) * 1e-9, "");

    double seconds[5];
    spy_tensor *made[5] = { NULL };
    spy_tensor *in2 = make_tensor(w, SPY_DTYPE_FLOAT32, SPY_SHAPE(4, FLOATS / 4), x);
    spy_tensor *in_int = make_tensor(w, SPY_DTYPE_INT32, SPY_SHAPE(FLOATS), ints);
    spy_tensor *in3 = spy_create_tensor(
        w->device, &(spy_tensor_desc){ .shape = SPY_SHAPE(10), .type = "float3", .data = albedo });
    spy_function *add8 = spy_find_function(w->module, "add8"),
                 *add_int = spy_find_function(w->module, "add_int");
    spy_function *shade = spy_find_function(w->module, "brdf");
    spy_wait(w->device);
    spy_arg shade_list[5];
    spy_args shade_args = brdf_args(shade_list, in3, NULL);
    shade_list[4] = spy_out_tensor("_result", &made[3]);
    const spy_arg i = spy_arg_tensor(NULL, in);
    const spy_args lists[5] = {
        SPY_ARGS(spy_arg_tensor("a", in), spy_arg_f32("b", 0.5f), spy_out_tensor("_result", &made[0])),
        SPY_ARGS(spy_arg_tensor("a", in2), spy_arg_tensor("b", in2), spy_out_tensor("_result", &made[1])),
        SPY_ARGS(spy_arg_tensor("a", in_int), spy_arg_tensor("b", in_int),
                 spy_out_tensor("_result", &made[2])),
        shade_args,
        SPY_ARGS(i, i, i, i, i, i, i, i, spy_out_tensor("_result", &made[4])),
    };
    spy_function *functions[5] = { add, add, add_int, shade, add8 };
    for (size_t s = 0; s < 5; ++s) {
        const double begun = bench_now_ns();
        spy_call(functions[s], lists[s]);
        spy_wait(w->device);
        seconds[s] = (bench_now_ns() - begun) * 1e-9;
    }
    if (!good(w, "new_signature")) return;
    if (!same(w, "new_signature", made[0], half_sum, FLOATS) ||
        !same(w, "new_signature", made[1], sum, FLOATS) || !same(w, "new_signature", made[3], shaded, 30) ||
        !same(w, "new_signature", made[4], eight, FLOATS))
        return;
    spy_tensor_read(made[2], int_back, sizeof int_back);
    for (size_t s = 0; s < FLOATS; ++s)
        if (int_back[s] != 2 * ints[s])
            bench_fail(&w->out, "new_signature", "int %zu is %d", s, (int)int_back[s]);
    char note[NOTE_BYTES];
    snprintf(note, sizeof note, "add(t1,s) %.3f, add(t2,t2) %.3f, add_int %.3f, brdf %.3f, add8 %.3f",
             seconds[0], seconds[1], seconds[2], seconds[3], seconds[4]);
    bench_report(&w->out, "new_signature", "s", seconds, 5, note);
    bench_report_one(&w->out, "new_signature_max", "s", seconds[4], "the slowest of five"); // sorted by now
    measure_new_half(w);
}

// Run this program again as --cold, with every disk cache off or in a folder that does not exist yet.
static void spawn_cold(world *w, const settings *o) {
    char folder[] = "/tmp/spy-bench-XXXXXX", adapter[16];
    if (mkdtemp(folder) == NULL) {
        bench_fail(&w->out, "first_result", "no temporary folder");
        return;
    }
    snprintf(adapter, sizeof adapter, "%u", (unsigned)o->adapter);
    fflush(NULL);
    const pid_t child = fork();
    if (child == 0) {
        setenv("XDG_CACHE_HOME", folder, 1);
        setenv("__GL_SHADER_DISK_CACHE", "0", 1);
        setenv("__GL_SHADER_DISK_CACHE_PATH", folder, 1);
        setenv("MESA_SHADER_CACHE_DISABLE", "true", 1);
        execl("/proc/self/exe", o->program, "--cold", "--backend", o->backend, "--adapter", adapter,
              "--slang", o->slang, o->json != NULL ? "--json" : (char *)NULL, o->json, (char *)NULL);
        _exit(127);
    }
    int status = 1;
    if (child < 0 || waitpid(child, &status, 0) != child || status != 0)
        bench_fail(&w->out, "first_result", "the fresh process ended with status 0x%x", (unsigned)status);
    const pid_t cleaner = fork();
    if (cleaner == 0) {
        execlp("rm", "rm", "-rf", folder, (char *)NULL);
        _exit(127);
    }
    if (cleaner > 0) waitpid(cleaner, &status, 0);
}

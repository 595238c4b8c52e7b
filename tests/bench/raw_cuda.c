// What CUDA's driver gives to plain code: the bounds that tests/bench/run holds bench.c's figures against. No toolkit: the
// driver is opened at run time and its kernels are PTX below.
//
//   raw_cuda [--adapter N] [--json FILE] [--quick | --full] [--only TEXT]
#define _GNU_SOURCE
#include "raw_cuda_driver.h"

typedef struct world {
    bench out;
    bool quick;
    raw_cuda r;
    raw_handle events[2];
} world;

// ---- memory's speed

static void measure_memory(world *w) {
    enum { MOST = 30 };
    const size_t n = w->quick ? 1u << 20 : 1u << 26, bytes = n * 4;
    const int times = w->quick ? 5 : MOST;
    double add[MOST], copy[MOST];
    raw_pointer a = 0, b = 0, c = 0;
    int result = cu.cuMemAlloc(&a, bytes);
    if (result == 0) result = cu.cuMemAlloc(&b, bytes);
    if (result == 0) result = cu.cuMemAlloc(&c, bytes);
    if (result == 0) result = cu.cuMemsetD32Async(a, 0x3f800000, n, w->r.stream); // 1
    if (result == 0) result = cu.cuMemsetD32Async(b, 0x40000000, n, w->r.stream); // 2
    for (int i = 0; i < 200 && result == 0; ++i) result = raw_launch_add(&w->r, a, b, c, (uint32_t)(n / 4)); // raises the clocks
    for (int i = 0; i < times && result == 0; ++i) {
        float ms = 0;
        result = cu.cuEventRecord(w->events[0], w->r.stream);
        if (result == 0) result = raw_launch_add(&w->r, a, b, c, (uint32_t)(n / 4));
        if (result == 0) result = cu.cuEventRecord(w->events[1], w->r.stream);
        if (result == 0) result = cu.cuEventSynchronize(w->events[1]);
        if (result == 0) result = cu.cuEventElapsedTime(&ms, w->events[0], w->events[1]);
        add[i] = 3.0 * (double)bytes / ((double)ms * 1e6);
        if (result == 0) result = cu.cuEventRecord(w->events[0], w->r.stream);
        if (result == 0) result = cu.cuMemcpyDtoDAsync(c, a, bytes, w->r.stream);
        if (result == 0) result = cu.cuEventRecord(w->events[1], w->r.stream);
        if (result == 0) result = cu.cuEventSynchronize(w->events[1]);
        if (result == 0) result = cu.cuEventElapsedTime(&ms, w->events[0], w->events[1]);
        copy[i] = 2.0 * (double)bytes / ((double)ms * 1e6);
    }
    float got[4] = { 0 };
    if (result == 0) result = raw_launch_add(&w->r, a, b, c, (uint32_t)(n / 4));
    if (result == 0) result = cu.cuStreamSynchronize(w->r.stream);
    if (result == 0) result = cu.cuMemcpyDtoH(got, c + bytes - sizeof got, sizeof got);
    if (raw_good(&w->out, "raw_copy_add", result)) {
        if (got[3] != 3) bench_fail(&w->out, "raw_copy_add", "1 + 2 gave %g", (double)got[3]);
        else bench_report(&w->out, "raw_copy_add", "GB/s", add, (size_t)times, "c = a + b by float4");
        bench_report(&w->out, "raw_copy_brdf", "GB/s", copy, (size_t)times, "device to device");
    }
    cu.cuMemFree(a), cu.cuMemFree(b), cu.cuMemFree(c);
}

static void measure_transfers(world *w) {
    enum { ROUNDS = 6, KINDS = 4 };
    static const struct {
        const char *item, *note;
        bool up, pinned;
    } kinds[KINDS] = { { "raw_upload_pinned", "from pinned memory", true, true },
                       { "raw_download_pinned", "into pinned memory", false, true },
                       { "raw_upload", "the driver's own copy from plain memory", true, false },
                       { "raw_download", "the driver's own copy into plain memory", false, false } };
    const size_t bytes = w->quick ? (size_t)4 << 20 : (size_t)256 << 20;
    double samples[KINDS][ROUNDS];
    raw_pointer device = 0;
    void *pinned = NULL, *plain = malloc(bytes);
    int result = plain != NULL ? cu.cuMemAlloc(&device, bytes) : 2;
    if (result == 0) result = cu.cuMemHostAlloc(&pinned, bytes, 0);
    if (result == 0) memset(pinned, 1, bytes), memset(plain, 2, bytes);
    for (int i = -1; i < ROUNDS && result == 0; ++i)
        for (int k = 0; k < KINDS && result == 0; ++k) {
            const double start = bench_now_ns();
            result = raw_copy(&w->r, device, kinds[k].pinned ? pinned : plain, bytes, kinds[k].up, kinds[k].pinned);
            if (i >= 0) samples[k][i] = (double)bytes / (bench_now_ns() - start);
        }
    if (raw_good(&w->out, "raw_upload", result))
        for (int k = 0; k < KINDS; ++k) bench_report(&w->out, kinds[k].item, "GB/s", samples[k], ROUNDS, kinds[k].note);
    free(plain);
    if (pinned != NULL) cu.cuMemFreeHost(pinned);
    cu.cuMemFree(device);
}

// ---- what a launch costs

static void measure_launches(world *w) {
    enum { ROUNDS = 7 };
    const size_t count = w->quick ? 1000 : 10000, trips = w->quick ? 200 : 2000;
    double issue[ROUNDS], total[ROUNDS], chain_issue[ROUNDS], chain[ROUNDS], first[2] = { 0 }, second[2] = { 0 };
    double *trip = (double *)malloc(trips * sizeof *trip);
    bool back = true;
    int result = trip == NULL ? 2 : raw_fill(&w->r, 0, NULL);
    for (int round = -2; round < ROUNDS && result == 0; ++round) {
        result = raw_time(&w->r, raw_issue_rotating, count, &first[0], &second[0]);
        if (result == 0) result = raw_time(&w->r, raw_issue_chain, count, &first[1], &second[1]);
        if (round < 0) continue;
        issue[round] = first[0], total[round] = second[0];
        chain_issue[round] = first[1], chain[round] = second[1];
    }
    for (size_t i = 0; i < trips && result == 0 && back; ++i) {
        const double start = bench_now_ns();
        back = raw_store(&w->r, (float)i + 1);
        trip[i] = (bench_now_ns() - start) * 1e-3;
    }
    if (raw_good(&w->out, "raw_record", result)) {
        bench_report(&w->out, "raw_record", "us", issue, ROUNDS, "cuLaunchKernel, 16 outputs in turn");
        bench_report(&w->out, "raw_rotating", "us", total, ROUNDS, "with the wait");
        bench_report(&w->out, "raw_record_chain", "us", chain_issue, ROUNDS, "cuLaunchKernel, each reads what the last wrote");
        bench_report(&w->out, "raw_chain", "us", chain, ROUNDS, "with the wait");
        if (!back) bench_fail(&w->out, "raw_scalar", "a number did not come back");
        else bench_report(&w->out, "raw_scalar", "us", trip, trips, "launch that writes mapped memory, and cuStreamSynchronize");
    }
    free(trip);
}

// ---- graphs of 20 kernels, each waiting for the one before

static void measure_graphs(world *w) {
    enum { ROUNDS = 7, KINDS = 3 };
    static const struct {
        const char *item, *note, *issue_note;
    } kinds[KINDS] = { { "raw_graph_empty", "a graph of 20 empty kernels in a chain, with the wait", "cuGraphLaunch of it" },
                       { "raw_graph", "20 kernels y = x * a + b in a chain, with the wait", "cuGraphLaunch of it" },
                       { "raw_graph_set", "with cuGraphExecKernelNodeSetParams before each", "the two" } };
    const size_t count = w->quick ? 50 : 2000;
    double issue[KINDS][ROUNDS], total[KINDS][ROUNDS], first, second, expected = 0;
    float got = 0;
    raw_chain chains[KINDS];
    memset(chains, 0, sizeof chains);
    int result = raw_fill(&w->r, 0, NULL);
    for (int k = 0; k < KINDS && result == 0; ++k) result = raw_make_chain(&w->r, &chains[k], k == 0);
    for (int round = -2; round < ROUNDS && result == 0; ++round)
        for (int k = 0; k < KINDS && result == 0; ++k) {
            w->r.chain = &chains[k];
            result = raw_time(&w->r, k == 2 ? raw_issue_graph_set : raw_issue_graph, count, &first, &second);
            if (k > 0) expected += (double)bench_list_sum(count, k == 2);
            if (round >= 0) issue[k][round] = first, total[k][round] = second;
        }
    if (result == 0) result = cu.cuMemcpyDtoH(&got, w->r.out[0], sizeof got);
    if (raw_good(&w->out, "raw_graph", result)) {
        if ((double)got != expected) bench_fail(&w->out, "raw_graph", "the sum is %g, not %g", (double)got, expected);
        for (int k = 0; k < KINDS; ++k) {
            char item[64];
            snprintf(item, sizeof item, "%s_issue", kinds[k].item);
            bench_report(&w->out, kinds[k].item, "us", total[k], ROUNDS, kinds[k].note);
            bench_report(&w->out, item, "us", issue[k], ROUNDS, kinds[k].issue_note);
        }
    }
    for (int k = 0; k < KINDS; ++k) raw_free_chain(&chains[k]);
}

static bool open_device(world *w, int adapter) {
    static const float inputs[2][FLOATS]; // zeros: bench.c compares what launches write
    const float *in[2] = { inputs[0], inputs[1] };
    raw_handle context = NULL;
    char name[256] = "?", driver[64];
    int device = 0, version = 0;
    if (!raw_load(&w->out, "device")) return false;
    const double start = bench_now_ns();
    if (!raw_good(&w->out, "device", cu.cuInit(0))) return false;
    const double initialised = bench_now_ns();
    int result = cu.cuDeviceGet(&device, adapter > 0 ? adapter - 1 : 0);
    if (result == 0) result = cu.cuDevicePrimaryCtxRetain(&context, device);
    if (result == 0) result = cu.cuCtxSetCurrent(context);
    const double made = bench_now_ns();
    if (!raw_good(&w->out, "device", result)) return false;
    cu.cuDeviceGetName(name, sizeof name, device);
    cu.cuDriverGetVersion(&version);
    snprintf(driver, sizeof driver, "CUDA %d.%d", version / 1000, version % 1000 / 10);
    bench_report_device(&w->out, name, driver, false, w->quick);
    bench_report_one(&w->out, "raw_device", "s", (made - start) * 1e-9, "cuInit and the primary context");
    bench_report_one(&w->out, "raw_init", "s", (initialised - start) * 1e-9, "cuInit alone");
    result = raw_prepare(&w->r, in);
    for (int i = 0; i < 2 && result == 0; ++i) result = cu.cuEventCreate(&w->events[i], 0);
    return raw_good(&w->out, "device", result);
}

int main(int argc, char **argv) {
    world w;
    int adapter = 0;
    memset(&w, 0, sizeof w);
    for (int i = 1; i < argc; ++i) {
        const char *value = i + 1 < argc ? argv[i + 1] : "";
        if (strcmp(argv[i], "--quick") == 0) w.quick = true;
        else if (strcmp(argv[i], "--full") == 0) w.quick = false;
        else if (strcmp(argv[i], "--adapter") == 0) adapter = atoi(value), ++i;
        else if (strcmp(argv[i], "--only") == 0) w.out.only = value, ++i;
        else if (strcmp(argv[i], "--json") == 0) w.out.json = fopen(value, "a"), ++i;
        else {
            fprintf(stderr, "usage: raw_cuda [--adapter N] [--json FILE] [--quick | --full] [--only TEXT]\n");
            return 2;
        }
    }
    if (open_device(&w, adapter)) {
        if (bench_wanted(&w.out, "raw_record")) measure_launches(&w);
        if (bench_wanted(&w.out, "raw_graph")) measure_graphs(&w);
        if (bench_wanted(&w.out, "raw_copy_add")) measure_memory(&w);
        if (bench_wanted(&w.out, "raw_upload_pinned")) measure_transfers(&w);
    }
    if (w.out.json != NULL) fclose(w.out.json);
    return w.out.failures == 0 ? 0 : 1;
}

// The part of bench.c that measures transfers between host arrays and tensors: it is included there.

typedef struct transfer {
    world *w;
    const char *up, *down; // items
    uint64_t *data, *back; // `bytes` each, plain or pinned
    size_t bytes;
    bool pinned;
    raw_pointer there; // plain CUDA's device memory of as many
} transfer;

enum { TRANSFER_ROUNDS = 6 };

typedef struct transfer_rates { // GB/s
    double up[TRANSFER_ROUNDS], down[TRANSFER_ROUNDS];
} transfer_rates;

// Data there and back, by us (new data) or by plain CUDA (the same). From round 0 on it counts. False, and `name` failed, if
// it went wrong.
static bool run_transfer(transfer *t, bool raw, const char *name, int round, transfer_rates *rates) {
    world *w = t->w;
    bench *out = &w->out;
    const size_t words = t->bytes / sizeof(uint64_t);
    for (size_t i = 0; i < words && !raw; ++i) t->data[i] = bench_hash(i, 20 + (uint64_t)(round + 1));
    memset(t->back, 0xCD, t->bytes);
    if (!raw) spy_tensor_fill(w->c, POISON);
    spy_wait(w->device);
    const double start = bench_now_ns();
    if (!raw) spy_tensor_write(w->c, t->data, t->bytes), spy_wait(w->device);
    else if (!raw_good(out, name, raw_copy(w->raw, t->there, t->data, t->bytes, true, t->pinned)))
        return false;
    const double up = bench_now_ns();
    if (!raw) spy_tensor_read(w->c, t->back, t->bytes);
    else if (!raw_good(out, name, raw_copy(w->raw, t->there, t->back, t->bytes, false, t->pinned)))
        return false;
    const double end = bench_now_ns();
    if (!good(w, name)) return false;
    if (memcmp(t->back, t->data, t->bytes) != 0) {
        bench_fail(out, name, "what came back differs");
        return false;
    }
    if (round < 0) return true;
    rates->up[round] = (double)t->bytes / (up - start);
    rates->down[round] = (double)t->bytes / (end - up);
    return true;
}

static void measure_transfer(transfer *t) {
    world *w = t->w;
    transfer_rates ours, raw;
    char name[NAME_BYTES], notes[2][NOTE_BYTES];
    beside_name(t->up, name);
    for (int round = -1; round < TRANSFER_ROUNDS; ++round) {
        if (!run_transfer(t, false, t->up, round, &ours)) return;
        if (w->raw != NULL && !run_transfer(t, true, name, round, &raw)) w->raw = NULL;
    }
    const char *kind = t->pinned ? "pinned" : "plain";
    snprintf(notes[0], sizeof notes[0], "%s array to tensor, and a wait", kind);
    snprintf(notes[1], sizeof notes[1], "tensor to %s array", kind);
    bench_report(&w->out, t->up, "GB/s", ours.up, TRANSFER_ROUNDS, notes[0]);
    bench_report(&w->out, t->down, "GB/s", ours.down, TRANSFER_ROUNDS, notes[1]);
    report_beside(w, t->up, "GB/s", raw.up, TRANSFER_ROUNDS, "the driver's own copy, in turns with ours");
    report_beside(w, t->down, "GB/s", raw.down, TRANSFER_ROUNDS, "the driver's own copy, in turns with ours");
}

// Pinned memory is the driver's to give: CUDA only.
static void measure_pinned(transfer *t) {
    void *host[2] = { NULL, NULL };
    int result = 0;
    for (int i = 0; i < 2 && result == 0; ++i) result = cu.cuMemHostAlloc(&host[i], t->bytes, 0);
    t->up = "upload_pinned", t->down = "download_pinned", t->pinned = true;
    t->data = (uint64_t *)host[0], t->back = (uint64_t *)host[1];
    if (raw_good(&t->w->out, t->up, result)) measure_transfer(t);
    for (int i = 0; i < 2; ++i)
        if (host[i] != NULL) cu.cuMemFreeHost(host[i]);
}

static void measure_transfers(world *w) {
    transfer t = { .w = w, .up = "upload", .down = "download", .bytes = (size_t)w->n * sizeof(float) };
    uint64_t *back = (uint64_t *)malloc(t.bytes);
    t.data = (uint64_t *)w->scratch, t.back = back;
    if (w->raw != NULL && !raw_good(&w->out, "beside_upload", cu.cuMemAlloc(&t.there, t.bytes)))
        w->raw = NULL;
    if (back != NULL) measure_transfer(&t);
    if (w->raw != NULL) measure_pinned(&t);
    if (t.there != 0) cu.cuMemFree(t.there);
    free(back);
}

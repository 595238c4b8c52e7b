// Work recorded by hand, for tests of backends.
#ifndef TESTS_WORK_TEST_H
#define TESTS_WORK_TEST_H

static inline spy_status work_copy(const spy_backend *b, spyi_gpu *gpu, const spyi_chunk *to, uint64_t to_offset, const spyi_chunk *from,
                                   uint64_t from_offset, uint64_t size, bool barrier, spyi_text *error) {
    spyi_copy_work w = spyi_copy_of(to, to_offset, from, from_offset, size);
    w.work.before.barrier = barrier;
    return spyi_record(b, gpu, &w.work, error);
}

static inline spy_status work_fill(const spy_backend *b, spyi_gpu *gpu, const spyi_chunk *to, uint64_t offset, uint64_t size, uint32_t pattern,
                                   bool barrier, spyi_text *error) {
    spyi_fill_work w = spyi_fill_of(to, offset, size, pattern);
    w.work.before.barrier = barrier;
    return spyi_record(b, gpu, &w.work, error);
}

static inline spy_status work_upload(const spy_backend *b, spyi_gpu *gpu, const spyi_chunk *to, uint64_t offset, const void *data, uint64_t size,
                                     bool barrier, spyi_text *error) {
    spyi_upload_work w = spyi_upload_of(to, offset, data, size);
    w.work.before.barrier = barrier;
    return spyi_record(b, gpu, &w.work, error);
}

static inline spy_status work_label(const spy_backend *b, spyi_gpu *gpu, spyi_label label, const char *name, spyi_text *error) {
    spyi_label_work w = spyi_label_of(label, name);
    return spyi_record(b, gpu, &w.work, error);
}

static inline spy_status work_time_mark(const spy_backend *b, spyi_gpu *gpu, uint32_t slot, spyi_text *error) {
    spyi_time_mark_work w = spyi_time_mark_of(slot);
    return spyi_record(b, gpu, &w.work, error);
}

static inline spy_status work_time_store(const spy_backend *b, spyi_gpu *gpu, const spyi_chunk *to, uint64_t offset, uint32_t count, bool barrier,
                                         spyi_text *error) {
    spyi_time_store_work w = spyi_time_store_of(to, offset, count);
    w.work.before.barrier = barrier;
    return spyi_record(b, gpu, &w.work, error);
}

// A dispatch of which only the tag is set.
static inline spyi_dispatch work_dispatch(void) {
    spyi_dispatch d;
    memset(&d, 0, sizeof d);
    d.work = spyi_work_of(spyi_work_dispatch());
    return d;
}

// A kernel's interface: `buffers` structured buffers and `uniforms` uniform buffers, in `parameters`.
static inline void work_interface(spyi_kernel_desc *desc, spyi_parameter *parameters, uint32_t buffers, uint32_t uniforms) {
    memset(parameters, 0, (buffers + uniforms) * sizeof *parameters);
    for (uint32_t i = 0; i < buffers + uniforms; i++) {
        parameters[i].kind = i < buffers ? SPYI_PARAMETER_BUFFER : SPYI_PARAMETER_UNIFORM;
        parameters[i].stages = SPYI_STAGE_COMPUTE;
        parameters[i].number = i;
        parameters[i].count = 1;
    }
    desc->iface.parameters = parameters;
    desc->iface.parameter_count = buffers + uniforms;
}

static inline void work_group(spyi_kernel_desc *desc, uint32_t threads) {
    desc->iface.group[0] = threads;
    desc->iface.group[1] = desc->iface.group[2] = 1;
}

#endif // TESTS_WORK_TEST_H

// GPU times: events before and after a call, and a kernel of one thread that stores the GPU's clock in
// memory.
#include "cuda/internal.h"

// cuEventElapsedTime returns milliseconds as a float. Its resolution and that of the events is half a
// microsecond.

SPYI_FN spy_status spyi_cuda_time_begin(spyi_gpu *base, spyi_text *error) {
    spyi_cuda_gpu *gpu = spyi_cuda_cast(base);
    bool pushed = spyi_cuda_enter(gpu);
    spy_status status = spyi_cuda_check_lost(gpu, error);
    spyi_cu_result result = SPYI_CU_OK;
    uint32_t i;
    if (status == SPY_OK) status = spyi_cuda_check_captured(gpu, "take the time of", error);
    for (i = 0; i < 2 && status == SPY_OK && result == SPYI_CU_OK; i++)
        if (gpu->time_events[i] == NULL)
            result = gpu->cu.EventCreate(&gpu->time_events[i], SPYI_CU_EVENT_DEFAULT);
    if (status == SPY_OK && result == SPYI_CU_OK)
        result = gpu->cu.EventRecord(gpu->time_events[0], gpu->stream);
    if (result != SPYI_CU_OK) status = spyi_cuda_fail(gpu, result, "cuEventRecord", error);
    if (status == SPY_OK) gpu->timing = 1;
    if (status == SPY_OK) status = spyi_cuda_worked(gpu, error);
    spyi_cuda_leave(gpu, pushed);
    return status;
}

SPYI_FN spy_status spyi_cuda_time_end(spyi_gpu *base, spyi_text *error) {
    spyi_cuda_gpu *gpu = spyi_cuda_cast(base);
    bool pushed;
    spy_status status = spyi_cuda_check_lost(gpu, error);
    spyi_cu_result result;
    if (status != SPY_OK) return status;
    if (gpu->timing == 0) {
        spyi_text_add(error, "no time was begun");
        return SPY_ERROR_INVALID_ARGUMENT;
    }
    status = spyi_cuda_check_captured(gpu, "take the time of", error);
    if (status != SPY_OK) return status;
    pushed = spyi_cuda_enter(gpu);
    result = gpu->cu.EventRecord(gpu->time_events[1], gpu->stream);
    if (result != SPYI_CU_OK) status = spyi_cuda_fail(gpu, result, "cuEventRecord", error);
    if (status == SPY_OK) gpu->timing = 2, gpu->timing_batch = gpu->base.open;
    if (status == SPY_OK) status = spyi_cuda_worked(gpu, error);
    spyi_cuda_leave(gpu, pushed);
    return status;
}

SPYI_FN spy_status spyi_cuda_time_elapsed(spyi_gpu *base, uint64_t *ns, spyi_text *error) {
    spyi_cuda_gpu *gpu = spyi_cuda_cast(base);
    spy_status status = spyi_cuda_check_lost(gpu, error);
    bool pushed;
    float ms = 0;
    *ns = 0;
    if (status != SPY_OK) return status;
    if (gpu->timing != 2) {
        spyi_text_add(error, "no time was taken");
        return SPY_ERROR_INVALID_ARGUMENT;
    }
    pushed = spyi_cuda_enter(gpu);
    status = spyi_cuda_wait_for(gpu, gpu->timing_batch, UINT64_MAX, error);
    if (status == SPY_OK) {
        spyi_cu_result result = gpu->cu.EventElapsedTime(&ms, gpu->time_events[0], gpu->time_events[1]);
        if (result != SPYI_CU_OK) status = spyi_cuda_fail(gpu, result, "cuEventElapsedTime", error);
    }
    spyi_cuda_leave(gpu, pushed);
    *ns = (uint64_t)((double)ms * 1e6);
    return status;
}

// >>marks

// The kernel stores %globaltimer, the clock that all kernels of a device share, in nanoseconds; its step is
// 32 ns to 1 us. Source: PTX ISA, %globaltimer.
static const char spyi_cuda_mark_ptx[] = ".version 6.0\n"
                                         ".target sm_50\n"
                                         ".address_size 64\n"
                                         ".visible .entry spyi_mark(.param .u64 to)\n"
                                         "{\n"
                                         "    .reg .u64 %place, %time;\n"
                                         "    ld.param.u64 %place, [to];\n"
                                         "    cvta.to.global.u64 %place, %place;\n"
                                         "    mov.u64 %time, %globaltimer;\n"
                                         "    st.global.u64 [%place], %time;\n"
                                         "    ret;\n"
                                         "}\n";

static spy_status spyi_cuda_make_marks(spyi_cuda_gpu *gpu, spyi_text *error) {
    spyi_cu_result result = SPYI_CU_OK;
    if (gpu->marks != 0 && gpu->mark != NULL) return SPY_OK;
    int mode = spyi_cuda_relax(gpu);
    if (gpu->marks == 0) result = gpu->cu.MemAlloc(&gpu->marks, SPYI_TIME_SLOTS * sizeof(uint64_t));
    spyi_cuda_restore(gpu, mode);
    if (result != SPYI_CU_OK) return spyi_cuda_fail(gpu, result, "cuMemAlloc for timestamps", error);
    mode = spyi_cuda_relax(gpu);
    if (gpu->mark_module == NULL) result = gpu->cu.ModuleLoadData(&gpu->mark_module, spyi_cuda_mark_ptx);
    spyi_cuda_restore(gpu, mode);
    if (result == SPYI_CU_OK) result = gpu->cu.ModuleGetFunction(&gpu->mark, gpu->mark_module, "spyi_mark");
    return result == SPYI_CU_OK
               ? SPY_OK
               : spyi_cuda_fail(gpu, result, "cuModuleLoadData of the timestamp kernel", error);
}

SPYI_FN spy_status spyi_cuda_time_mark(spyi_gpu *base, const spyi_work *work, spyi_text *error) {
    spyi_cuda_gpu *gpu = spyi_cuda_cast(base);
    uint32_t slot = ((const spyi_time_mark_work *)(const void *)work)->slot;
    bool pushed = spyi_cuda_enter(gpu);
    spy_status status = spyi_cuda_check_lost(gpu, error);
    if (status == SPY_OK) status = spyi_cuda_make_marks(gpu, error);
    if (status == SPY_OK && gpu->graph != NULL) {
        status = spyi_cuda_graph_mark(gpu, gpu->mark, gpu->marks + slot * sizeof(uint64_t), error);
    } else if (status == SPY_OK) {
        spyi_cu_pointer place = gpu->marks + slot * sizeof(uint64_t);
        void *params[1];
        spyi_cu_result result;
        params[0] = &place;
        result = gpu->cu.LaunchKernel(gpu->mark, 1, 1, 1, 1, 1, 1, 0, gpu->stream, params, NULL);
        if (result != SPYI_CU_OK)
            status = spyi_cuda_fail(gpu, result, "cuLaunchKernel of the timestamp kernel", error);
        if (status == SPY_OK) status = spyi_cuda_worked(gpu, error);
    }
    spyi_cuda_leave(gpu, pushed);
    return status;
}

SPYI_FN spy_status spyi_cuda_time_store(spyi_gpu *base, const spyi_work *work, spyi_text *error) {
    spyi_cuda_gpu *gpu = spyi_cuda_cast(base);
    const spyi_time_store_work *store = (const spyi_time_store_work *)(const void *)work;
    spyi_cu_pointer at = store->to->address + store->offset;
    const size_t size = store->count * sizeof(uint64_t);
    bool pushed = spyi_cuda_enter(gpu);
    spy_status status = spyi_cuda_check_lost(gpu, error);
    if (status == SPY_OK && gpu->graph != NULL) { // with a barrier, because no hazards are tracked for the
                                                  // marks
        status = spyi_cuda_graph_copy(gpu, at, gpu->marks, size, true, error);
    } else if (status == SPY_OK) {
        spyi_cu_result result = gpu->cu.MemcpyAsync(at, gpu->marks, size, gpu->stream);
        if (result != SPYI_CU_OK) status = spyi_cuda_fail(gpu, result, "cuMemcpyAsync of timestamps", error);
        if (status == SPY_OK) status = spyi_cuda_worked(gpu, error);
    }
    spyi_cuda_leave(gpu, pushed);
    return status;
}

SPYI_FN void spyi_cuda_destroy_time(spyi_cuda_gpu *gpu) {
    uint32_t i;
    for (i = 0; i < 2; i++)
        if (gpu->time_events[i] != NULL) (void)gpu->cu.EventDestroy(gpu->time_events[i]);
    if (gpu->mark_module != NULL) (void)gpu->cu.ModuleUnload(gpu->mark_module);
    if (gpu->marks != 0) (void)gpu->cu.MemFree(gpu->marks);
}

// Labels do nothing: profilers show the kernels' names, and ranges would need one more library, NVTX.
SPYI_FN spy_status spyi_cuda_label(spyi_gpu *gpu, const spyi_work *work, spyi_text *error) {
    (void)gpu, (void)work, (void)error;
    return SPY_OK;
}

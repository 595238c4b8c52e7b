// The public functions of api/cuda.h for programs with their own streams, context and device memory.
#include "cuda/internal.h"

static spyi_cuda_gpu *spyi_cuda_public_enter(spy_device *device, const char *function) {
    spyi_cuda_gpu *gpu;
    if (spyi_enter(device, SPYI_KIND_DEVICE, function) != SPY_OK) return NULL;
    gpu = (spyi_cuda_gpu *)(void *)spyi_device_gpu(device, "cuda", function);
    if (gpu == NULL) spyi_leave(device);
    return gpu;
}

// Calls `use`, one of stream.c's functions, for the program's stream, with the device's context current, and
// reports its error.
static spy_status spyi_cuda_with_stream(spy_device *device, void *stream, const char *function,
                                        spy_status (*use)(spyi_cuda_gpu *gpu, spyi_cu_stream stream,
                                                          spyi_text *error)) {
    spyi_cuda_gpu *gpu = spyi_cuda_public_enter(device, function);
    spyi_text error = { NULL, 0, 0 };
    spy_status status;
    bool pushed;
    if (gpu == NULL) return SPY_ERROR_INVALID_ARGUMENT;
    pushed = spyi_cuda_enter(gpu);
    status = use(gpu, (spyi_cu_stream)stream, &error);
    spyi_cuda_leave(gpu, pushed);
    if (status != SPY_OK) (void)spyi_fail(gpu->base.ctx, status, "%s: %s", function, spyi_text_str(&error));
    spyi_text_free(&error);
    spyi_leave(device);
    return status;
}

spy_status spy_cuda_set_stream(spy_device *device, void *stream) {
    return spyi_cuda_with_stream(device, stream, "spy_cuda_set_stream", spyi_cuda_use_stream);
}

spy_status spy_cuda_wait_stream(spy_device *device, void *stream) {
    return spyi_cuda_with_stream(device, stream, "spy_cuda_wait_stream", spyi_cuda_wait_stream);
}

spy_status spy_cuda_signal_stream(spy_device *device, void *stream) {
    return spyi_cuda_with_stream(device, stream, "spy_cuda_signal_stream", spyi_cuda_signal_stream);
}

void *spy_cuda_get_stream(spy_device *device) {
    spyi_cuda_gpu *gpu = spyi_cuda_public_enter(device, "spy_cuda_get_stream");
    void *stream = gpu != NULL ? (void *)gpu->stream : NULL;
    if (gpu != NULL) spyi_leave(device);
    return stream;
}

void *spy_cuda_get_context(spy_device *device) {
    spyi_cuda_gpu *gpu = spyi_cuda_public_enter(device, "spy_cuda_get_context");
    void *context = gpu != NULL ? (void *)gpu->context : NULL;
    if (gpu != NULL) spyi_leave(device);
    return context;
}

uint32_t spy_cuda_get_adapter(spy_device *device) {
    spyi_cuda_gpu *gpu = spyi_cuda_public_enter(device, "spy_cuda_get_adapter");
    uint32_t adapter = gpu != NULL ? (uint32_t)(gpu->device + 1) : 0;
    if (gpu != NULL) spyi_leave(device);
    return adapter;
}

spy_status spy_cuda_make_current(spy_device *device) {
    static const char function[] = "spy_cuda_make_current";
    spyi_cuda_gpu *gpu = spyi_cuda_public_enter(device, function);
    spyi_cu_result result;
    spy_status status = SPY_OK;
    if (gpu == NULL) return SPY_ERROR_INVALID_ARGUMENT;
    result = gpu->cu.CtxSetCurrent(gpu->context);
    if (result != SPYI_CU_OK) {
        spyi_text error = { NULL, 0, 0 };
        status = spyi_cuda_fail(gpu, result, "cuCtxSetCurrent", &error);
        (void)spyi_fail(gpu->base.ctx, status, "%s: %s", function, spyi_text_str(&error));
        spyi_text_free(&error);
    }
    spyi_leave(device);
    return status;
}

// >>the thread's current context, for programs that have no device yet

static spy_status spyi_cuda_read_current(const spyi_cu_driver *cu, void **context, uint32_t *adapter,
                                         spyi_text *error) {
    spyi_cu_context now = NULL;
    spyi_cu_device device = -1;
    spyi_cu_result result = cu->CtxGetCurrent(&now);
    if (result == SPYI_CU_OK && now != NULL) result = cu->CtxGetDevice(&device);
    if (result != SPYI_CU_OK) {
        spyi_cu_say(cu, result, now != NULL ? "cuCtxGetDevice" : "cuCtxGetCurrent", error);
        return SPY_ERROR_INVALID_ARGUMENT;
    }
    if (context != NULL) *context = (void *)now;
    if (adapter != NULL) *adapter = (uint32_t)(device + 1);
    return SPY_OK;
}

spy_status spy_cuda_get_current_context(void **context, uint32_t *adapter) {
    spyi_cu_driver cu;
    spyi_text error = { NULL, 0, 0 };
    spy_status status = spyi_cu_open(NULL, &cu, &error);
    if (context != NULL) *context = NULL;
    if (adapter != NULL) *adapter = 0;
    if (status == SPY_OK) status = spyi_cuda_read_current(&cu, context, adapter, &error);
    if (status != SPY_OK)
        (void)spyi_fail(NULL, status, "spy_cuda_get_current_context: %s", spyi_text_str(&error));
    spyi_text_free(&error);
    return status;
}

spy_status spy_cuda_set_current_context(void *context) {
    spyi_cu_driver cu;
    spyi_text error = { NULL, 0, 0 };
    spy_status status = spyi_cu_open(NULL, &cu, &error);
    if (status == SPY_OK) {
        spyi_cu_result result = cu.CtxSetCurrent((spyi_cu_context)context);
        if (result != SPYI_CU_OK) spyi_cu_say(&cu, result, "cuCtxSetCurrent", &error);
        if (result != SPYI_CU_OK) status = SPY_ERROR_INVALID_ARGUMENT;
    }
    if (status != SPY_OK)
        (void)spyi_fail(NULL, status, "spy_cuda_set_current_context: %s", spyi_text_str(&error));
    spyi_text_free(&error);
    return status;
}

// >>tensors over the program's memory

// Fills `chunk` with the complete allocation around `address`, so that hazards between tensors over parts of
// it are found.
static bool spyi_cuda_find_memory(spyi_cuda_gpu *gpu, uint64_t address, uint64_t size_bytes,
                                  spyi_chunk *chunk, spyi_text *error) {
    int ordinal = -1;
    spyi_cu_pointer start = 0;
    size_t size = 0;
    spyi_cu_result result = gpu->cu.PointerGetAttribute(&ordinal, SPYI_CU_POINTER_DEVICE_ORDINAL, address);
    memset(chunk, 0, sizeof *chunk);
    if (result != SPYI_CU_OK || ordinal != gpu->device) {
        if (result != SPYI_CU_OK)
            spyi_text_add(error, "0x%llx is no memory of CUDA's", (unsigned long long)address);
        else
            spyi_text_add(error, "0x%llx is memory of device %d, this one is device %d, '%s'",
                          (unsigned long long)address, ordinal + 1, gpu->device + 1,
                          gpu->base.limits.info.name);
        return false;
    }
    if (gpu->cu.PointerGetAttribute(&start, SPYI_CU_POINTER_RANGE_START, address) != SPYI_CU_OK ||
        gpu->cu.PointerGetAttribute(&size, SPYI_CU_POINTER_RANGE_SIZE, address) != SPYI_CU_OK || start == 0) {
        start =
            address &
            ~(spyi_cu_pointer)255; // mapped memory without a known range: start at a multiple of 256, because
                                   // vector loads are aligned relative to the start
        size = (size_t)(address - start + size_bytes);
    }
    if (size_bytes > start + size - address) {
        spyi_text_add(error, "%llu bytes were given, the allocation has %llu from 0x%llx on",
                      (unsigned long long)size_bytes, (unsigned long long)(start + size - address),
                      (unsigned long long)address);
        return false;
    }
    chunk->handle = chunk->address = start;
    chunk->size = size;
    return true;
}

spy_tensor *spy_cuda_create_tensor(spy_device *device, uint64_t address, uint64_t size_bytes,
                                   const spy_tensor_desc *desc) {
    static const char function[] = "spy_cuda_create_tensor";
    spyi_cuda_gpu *gpu = spyi_cuda_public_enter(device, function);
    spyi_text error = { NULL, 0, 0 };
    spy_tensor *tensor = NULL;
    spyi_chunk chunk;
    bool pushed;
    if (gpu == NULL) return NULL;
    pushed = spyi_cuda_enter(gpu);
    if (address == 0 || desc == NULL || desc->data != NULL)
        (void)spyi_fail(gpu->base.ctx, SPY_ERROR_INVALID_ARGUMENT, "%s: %s", function,
                        address == 0   ? "the address is 0"
                        : desc == NULL ? "desc is NULL"
                                       : "desc->data must be NULL: the memory has the contents");
    else if (!spyi_cuda_find_memory(gpu, address, size_bytes, &chunk, &error))
        (void)spyi_fail(gpu->base.ctx, SPY_ERROR_INVALID_ARGUMENT, "%s: %s", function, spyi_text_str(&error));
    else tensor = spyi_import_tensor(device, function, &chunk, address - chunk.address, size_bytes, desc);
    spyi_cuda_leave(gpu, pushed);
    spyi_text_free(&error);
    spyi_leave(device);
    return tensor;
}

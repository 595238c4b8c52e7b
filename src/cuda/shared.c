// Memory and timeline semaphores of another API (vk/shared.c), imported into a CUDA context by their file
// descriptors. There is no device of this library on the CUDA side: the context and the streams are the
// program's, such as torch's.
// Source: the CUDA Driver API's reference manual, External Resource Interoperability.
#include "cuda/internal.h"

typedef struct spyi_cu_handle_desc { // CUDA_EXTERNAL_MEMORY_HANDLE_DESC
    int type;
    union {
        int fd;
        void *others[2];
    } handle;
    unsigned long long size;
    unsigned flags, reserved[16];
} spyi_cu_handle_desc;

typedef struct spyi_cu_range_desc { // CUDA_EXTERNAL_MEMORY_BUFFER_DESC
    unsigned long long offset, size;
    unsigned flags, reserved[16];
} spyi_cu_range_desc;

typedef struct spyi_cu_semaphore_desc { // CUDA_EXTERNAL_SEMAPHORE_HANDLE_DESC
    int type;
    union {
        int fd;
        void *others[2];
    } handle;
    unsigned flags, reserved[16];
} spyi_cu_semaphore_desc;

typedef struct spyi_cu_semaphore_params { // CUDA_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS and _WAIT_PARAMS
    unsigned long long value, others[2];
    unsigned more[12], flags, reserved[16];
} spyi_cu_semaphore_params;

typedef char spyi_cu_check_shared[sizeof(spyi_cu_handle_desc) == 104 && sizeof(spyi_cu_range_desc) == 88 &&
                                          sizeof(spyi_cu_semaphore_desc) == 96 &&
                                          sizeof(spyi_cu_semaphore_params) == 144
                                      ? 1
                                      : -1];

enum {
    SPYI_CU_MEMORY_OPAQUE_FD = 1,
    SPYI_CU_MEMORY_DEDICATED = 1, // a flag
    SPYI_CU_SEMAPHORE_TIMELINE_FD = 9
};

#define SPYI_CU_SHARED_FUNCTIONS(X)                                                                          \
    X(DeviceGetUuid, "cuDeviceGetUuid", (uint8_t * uuid, spyi_cu_device device))                             \
    X(ImportExternalMemory, "cuImportExternalMemory", (void **memory, const spyi_cu_handle_desc *desc))      \
    X(ExternalMemoryGetMappedBuffer, "cuExternalMemoryGetMappedBuffer",                                      \
      (spyi_cu_pointer * address, void *memory, const spyi_cu_range_desc *desc))                             \
    X(DestroyExternalMemory, "cuDestroyExternalMemory", (void *memory))                                      \
    X(ImportExternalSemaphore, "cuImportExternalSemaphore",                                                  \
      (void **semaphore, const spyi_cu_semaphore_desc *desc))                                                \
    X(SignalExternalSemaphoresAsync, "cuSignalExternalSemaphoresAsync",                                      \
      (void *const *semaphores, const spyi_cu_semaphore_params *params, unsigned count,                      \
       spyi_cu_stream stream))                                                                               \
    X(WaitExternalSemaphoresAsync, "cuWaitExternalSemaphoresAsync",                                          \
      (void *const *semaphores, const spyi_cu_semaphore_params *params, unsigned count,                      \
       spyi_cu_stream stream))                                                                               \
    X(DestroyExternalSemaphore, "cuDestroyExternalSemaphore", (void *semaphore))

struct spy_cuda_peer {
    spyi_cu_driver cu;
    spyi_cu_context context;
#define SPYI_CU_MEMBER(name, symbol, arguments) spyi_cu_result(SPYI_CU_CALL *name) arguments;
    SPYI_CU_SHARED_FUNCTIONS(SPYI_CU_MEMBER)
#undef SPYI_CU_MEMBER
};

static spy_status spyi_cuda_peer_fail(const spy_cuda_peer *peer, spyi_cu_result result, const char *function,
                                      const char *what) {
    spyi_text error = { NULL, 0, 0 };
    spyi_cu_say(&peer->cu, result, what, &error);
    (void)spyi_fail(NULL, SPY_ERROR_INTERNAL, "%s: %s", function, spyi_text_str(&error));
    spyi_text_free(&error);
    return SPY_ERROR_INTERNAL;
}

static spy_status spyi_cuda_peer_load(spy_cuda_peer *peer, void *context, const char *driver_library,
                                      uint8_t uuid[16], spyi_text *error) {
    spyi_cu_context before = NULL;
    spyi_cu_device device = 0;
    spyi_cu_result result;
    const char *missing = NULL;
    void *symbol;
    spy_status status = spyi_cu_open(driver_library, &peer->cu, error);
    if (status != SPY_OK) return status;
#define SPYI_CU_LOAD(name, symbol_name, arguments)                                                           \
    symbol = spyi_library_symbol(peer->cu.library, symbol_name);                                             \
    if (symbol != NULL) memcpy(&peer->name, &symbol, sizeof symbol);                                         \
    else if (missing == NULL) missing = symbol_name;
    SPYI_CU_SHARED_FUNCTIONS(SPYI_CU_LOAD)
#undef SPYI_CU_LOAD
    if (missing != NULL) {
        spyi_text_add(error, "the CUDA driver has no %s", missing);
        return SPY_ERROR_UNSUPPORTED;
    }
    peer->context = (spyi_cu_context)context;
    if (context == NULL) (void)peer->cu.CtxGetCurrent(&peer->context);
    if (peer->context == NULL) {
        spyi_text_add(error, "context is NULL, and this thread has no current CUDA context");
        return SPY_ERROR_INVALID_ARGUMENT;
    }
    result = peer->cu.CtxPushCurrent(peer->context);
    if (result == SPYI_CU_OK) {
        result = peer->cu.CtxGetDevice(&device);
        if (result == SPYI_CU_OK) result = peer->DeviceGetUuid(uuid, device);
        (void)peer->cu.CtxPopCurrent(&before);
    }
    if (result == SPYI_CU_OK) return SPY_OK;
    spyi_cu_say(&peer->cu, result, "cuDeviceGetUuid", error);
    return SPY_ERROR_INVALID_ARGUMENT;
}

spy_cuda_peer *spy_cuda_open_peer(void *context, const char *driver_library, uint8_t uuid[16]) {
    spy_cuda_peer *peer = (spy_cuda_peer *)calloc(1, sizeof *peer);
    spyi_text error = { NULL, 0, 0 };
    uint8_t own[16];
    spy_status status = SPY_ERROR_OUT_OF_MEMORY;
    memset(own, 0, sizeof own);
    if (peer != NULL) status = spyi_cuda_peer_load(peer, context, driver_library, own, &error);
    if (uuid != NULL) memcpy(uuid, own, sizeof own);
    if (status != SPY_OK) {
        (void)spyi_fail(NULL, status, "spy_cuda_open_peer: %s", spyi_text_str(&error));
        free(peer);
        peer = NULL;
    }
    spyi_text_free(&error);
    return peer;
}

void spy_cuda_close_peer(spy_cuda_peer *peer) {
    free(peer);
}

static bool spyi_cuda_peer_enter(const spy_cuda_peer *peer, const char *function) {
    spyi_cu_result result;
    if (peer == NULL) {
        (void)spyi_fail(NULL, SPY_ERROR_INVALID_ARGUMENT, "%s: peer is NULL", function);
        return false;
    }
    result = peer->cu.CtxPushCurrent(peer->context);
    if (result == SPYI_CU_OK) return true;
    (void)spyi_cuda_peer_fail(peer, result, function, "cuCtxPushCurrent");
    return false;
}

static void spyi_cuda_peer_leave(const spy_cuda_peer *peer) {
    spyi_cu_context before = NULL;
    (void)peer->cu.CtxPopCurrent(&before);
}

spy_status spy_cuda_import_memory(spy_cuda_peer *peer, int fd, uint64_t allocated_bytes, uint64_t size_bytes,
                                  spy_cuda_imported_memory *imported) {
    static const char function[] = "spy_cuda_import_memory";
    const char *what = "cuImportExternalMemory";
    spyi_cu_handle_desc desc;
    spyi_cu_range_desc range;
    spyi_cu_result result;
    if (imported != NULL) memset(imported, 0, sizeof *imported);
    if (!spyi_cuda_peer_enter(peer, function)) return SPY_ERROR_INVALID_ARGUMENT;
    if (imported == NULL || fd < 0) {
        spyi_cuda_peer_leave(peer);
        (void)spyi_fail(NULL, SPY_ERROR_INVALID_ARGUMENT, "%s: %s", function,
                        fd < 0 ? "fd is no file descriptor" : "imported is NULL");
        return SPY_ERROR_INVALID_ARGUMENT;
    }
    memset(&desc, 0, sizeof desc);
    memset(&range, 0, sizeof range);
    desc.type = SPYI_CU_MEMORY_OPAQUE_FD;
    desc.handle.fd = fd;
    desc.size = allocated_bytes;
    desc.flags = SPYI_CU_MEMORY_DEDICATED;
    range.size = size_bytes;
    result = peer->ImportExternalMemory(&imported->memory, &desc);
    if (result == SPYI_CU_OK) {
        what = "cuExternalMemoryGetMappedBuffer";
        result = peer->ExternalMemoryGetMappedBuffer(&imported->address, imported->memory, &range);
        if (result != SPYI_CU_OK) (void)peer->DestroyExternalMemory(imported->memory);
    }
    spyi_cuda_peer_leave(peer);
    if (result == SPYI_CU_OK) return SPY_OK;
    memset(imported, 0, sizeof *imported);
    return spyi_cuda_peer_fail(peer, result, function, what);
}

spy_status spy_cuda_release_memory(spy_cuda_peer *peer, spy_cuda_imported_memory *imported) {
    static const char function[] = "spy_cuda_release_memory";
    spyi_cu_result result;
    if (imported == NULL || imported->memory == NULL) return SPY_OK;
    if (!spyi_cuda_peer_enter(peer, function)) return SPY_ERROR_INVALID_ARGUMENT;
    result = peer->cu.MemFree(imported->address); // the mapping, not the memory
    if (result == SPYI_CU_OK) result = peer->DestroyExternalMemory(imported->memory);
    spyi_cuda_peer_leave(peer);
    memset(imported, 0, sizeof *imported);
    return result == SPYI_CU_OK ? SPY_OK
                                : spyi_cuda_peer_fail(peer, result, function, "cuDestroyExternalMemory");
}

spy_status spy_cuda_import_semaphore(spy_cuda_peer *peer, int fd, void **semaphore) {
    static const char function[] = "spy_cuda_import_semaphore";
    spyi_cu_semaphore_desc desc;
    spyi_cu_result result;
    if (semaphore != NULL) *semaphore = NULL;
    if (!spyi_cuda_peer_enter(peer, function)) return SPY_ERROR_INVALID_ARGUMENT;
    if (semaphore == NULL || fd < 0) {
        spyi_cuda_peer_leave(peer);
        (void)spyi_fail(NULL, SPY_ERROR_INVALID_ARGUMENT, "%s: %s", function,
                        fd < 0 ? "fd is no file descriptor" : "semaphore is NULL");
        return SPY_ERROR_INVALID_ARGUMENT;
    }
    memset(&desc, 0, sizeof desc);
    desc.type = SPYI_CU_SEMAPHORE_TIMELINE_FD;
    desc.handle.fd = fd;
    result = peer->ImportExternalSemaphore(semaphore, &desc);
    spyi_cuda_peer_leave(peer);
    if (result == SPYI_CU_OK) return SPY_OK;
    *semaphore = NULL;
    return spyi_cuda_peer_fail(peer, result, function, "cuImportExternalSemaphore");
}

spy_status spy_cuda_release_semaphore(spy_cuda_peer *peer, void *semaphore) {
    static const char function[] = "spy_cuda_release_semaphore";
    spyi_cu_result result;
    if (semaphore == NULL) return SPY_OK;
    if (!spyi_cuda_peer_enter(peer, function)) return SPY_ERROR_INVALID_ARGUMENT;
    result = peer->DestroyExternalSemaphore(semaphore);
    spyi_cuda_peer_leave(peer);
    return result == SPYI_CU_OK ? SPY_OK
                                : spyi_cuda_peer_fail(peer, result, function, "cuDestroyExternalSemaphore");
}

static spy_status spyi_cuda_use_semaphore(spy_cuda_peer *peer, void *semaphore, uint64_t value, void *stream,
                                          bool signals) {
    const char *function = signals ? "spy_cuda_signal_semaphore" : "spy_cuda_wait_semaphore";
    spyi_cu_semaphore_params params;
    spyi_cu_result result;
    if (semaphore == NULL)
        return spyi_fail(NULL, SPY_ERROR_INVALID_ARGUMENT, "%s: the semaphore is NULL", function);
    if (!spyi_cuda_peer_enter(peer, function)) return SPY_ERROR_INVALID_ARGUMENT;
    memset(&params, 0, sizeof params);
    params.value = value;
    result = signals ? peer->SignalExternalSemaphoresAsync(&semaphore, &params, 1, (spyi_cu_stream)stream)
                     : peer->WaitExternalSemaphoresAsync(&semaphore, &params, 1, (spyi_cu_stream)stream);
    spyi_cuda_peer_leave(peer);
    if (result == SPYI_CU_OK) return SPY_OK;
    return spyi_cuda_peer_fail(peer, result, function,
                               signals ? "cuSignalExternalSemaphoresAsync" : "cuWaitExternalSemaphoresAsync");
}

spy_status spy_cuda_signal_semaphore(spy_cuda_peer *peer, void *semaphore, uint64_t value, void *stream) {
    return spyi_cuda_use_semaphore(peer, semaphore, value, stream, true);
}

spy_status spy_cuda_wait_semaphore(spy_cuda_peer *peer, void *semaphore, uint64_t value, void *stream) {
    return spyi_cuda_use_semaphore(peer, semaphore, value, stream, false);
}

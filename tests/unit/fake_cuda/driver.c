// A CUDA driver without a GPU, opened by tests as any other: device memory is host memory, work is done at once, kernels are
// played by the test, or, where nvrtc.c compiled them, run on this machine (play.c). Modules are PTX: the device says that it is
// newer than any NVRTC, which then makes no cubins. A cubin's kernel has a name and no parameters. Arrays and textures are in array.c,
// graphs and captures in graph.c.
#include "driver.h"
#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/types.h>
#include <unistd.h>

fake_cuda state;
API fake_cuda *fake_cuda_state(void);
API fake_cuda *fake_cuda_state(void) {
    return &state;
}

int failing(const char *name) {
    if (!state.fail || strcmp(state.fail, name) != 0) return 0;
    if (state.fail_skip > 0) return state.fail_skip--, 0;
    state.fail = NULL;
    return state.fail_result;
}

// >>device and context

#define DEVICES 2
#define MOST_CONTEXTS 8
#define MOST_CURRENT 16
static context contexts[MOST_CONTEXTS]; // the first ones are the devices' primary ones
static _Thread_local context *current[MOST_CURRENT];
static _Thread_local unsigned depth; // of this thread's stack of them

context *now(void) { return depth ? current[depth - 1] : NULL; }
static int is_context(const void *object) {
    for (int i = 0; i < MOST_CONTEXTS; i++)
        if (object == &contexts[i]) return contexts[i].users > 0;
    return 0;
}

FAKE(cuInit, (unsigned flags)) { return (int)flags; }
FAKE(cuGetExportTable, (const void **table, const void *id)) { return *table = NULL, (void)id, 500; } // NVRTC asks, and does without
FAKE(cuDriverGetVersion, (int *version)) { return *version = 13000, 0; }
FAKE(cuGetErrorName, (int result, const char **name)) { return *name = result == 2 ? "CUDA_ERROR_OUT_OF_MEMORY" : "CUDA_ERROR_FAKE", 0; }
FAKE(cuGetErrorString, (int result, const char **text)) { return *text = "as the test said", (void)result, 0; }
FAKE(cuDeviceGetCount, (int *count)) { return *count = DEVICES, 0; }
FAKE(cuDeviceGet, (int *device, int ordinal)) { return *device = ordinal, 0; }
FAKE(cuDeviceGetName, (char *name, int size, int device)) { return snprintf(name, (size_t)size, "fake"), (void)device, 0; }
FAKE(cuDeviceTotalMem_v2, (size_t * bytes, int device)) { return *bytes = (size_t)1 << 30, (void)device, 0; }
FAKE(cuDeviceGetAttribute, (int *value, int attribute, int device)) {
    (void)device;
    int capability = state.capability ? state.capability : 990;
    *value = attribute == 1 ? 1024 : attribute == 5 ? 2147483647 : attribute == 10 ? 32 : attribute == 16 ? (state.multiprocessors ? state.multiprocessors : 132) : 0;
    if (attribute == 75) *value = capability / 10;
    if (attribute == 76) *value = capability % 10;
    if (attribute == 97) *value = FAKE_SHARED_BYTES;
    return 0;
}
FAKE(cuDevicePrimaryCtxRetain, (void **out, int device)) {
    contexts[device].device = device;
    contexts[device].users++;
    return *out = &contexts[device], 0;
}
FAKE(cuDevicePrimaryCtxRelease_v2, (int device)) { return contexts[device].users-- > 0 ? 0 : 201; }
FAKE(cuCtxGetCurrent, (void **out)) { return *out = now(), 0; }
FAKE(cuCtxPushCurrent_v2, (void *object)) {
    if (!is_context(object)) return 201;
    return depth < MOST_CURRENT ? current[depth++] = (context *)object, 0 : 2;
}
FAKE(cuCtxPopCurrent_v2, (void **out)) { return depth ? *out = current[--depth], 0 : 201; }
FAKE(cuCtxSetCurrent, (void *object)) { // of the stack's top, as cuda.h's documentation has it
    if (object && !is_context(object)) return 201;
    if (depth) depth--;
    return object ? cuCtxPushCurrent_v2(object) : 0;
}
FAKE(cuCtxGetDevice, (int *device)) { return is_context(now()) ? *device = now()->device, 0 : 201; }
FAKE(cuCtxCreate_v2, (void **out, unsigned flags, int device)) {
    context *made = NULL;
    for (int i = DEVICES; i < MOST_CONTEXTS; i++)
        if (!contexts[i].users) made = &contexts[i];
    if (!made || flags) return 1;
    made->device = device;
    made->users = 1;
    return *out = made, cuCtxPushCurrent_v2(made);
}
FAKE(cuCtxDestroy_v2, (void *object)) {
    if (!is_context(object)) return 201;
    ((context *)object)->users = 0;
    if (now() == object) depth--;
    return 0;
}

// >>captures. Source: cuStreamBeginCapture and cuThreadExchangeStreamCaptureMode in CUDA's documentation. Where that does not say
// whether a call is unsafe, it is here.

capture captures[MOST_CAPTURES];
unsigned capture_count;
_Thread_local int mode_now;

queue *real(void *handle) { return (uintptr_t)handle <= 2 ? NULL : (queue *)handle; }
capture *capture_of(void *handle) {
    capture *c = real(handle) ? real(handle)->capture : NULL;
    return c && c->status != NONE ? c : NULL;
}

int invalidate(capture *c, int result) {
    c->status = INVALID;
    return result;
}

int unsafe(void) {
    int result = 0;
    for (unsigned i = 0; i < capture_count && mode_now != RELAXED; i++) {
        capture *c = &captures[i];
        int mine = c->thread == &mode_now, forbidden = mine ? c->mode != RELAXED : c->mode == GLOBAL && mode_now == GLOBAL;
        if (c->status != NONE && forbidden) result = invalidate(c, UNSUPPORTED);
    }
    return result;
}

FAKE(cuThreadExchangeStreamCaptureMode, (int *mode)) {
    int before = mode_now;
    mode_now = *mode;
    return *mode = before, 0;
}

// >>memory and streams

typedef struct block { // what was allocated, on which device
    struct block *next;
    char *memory;
    size_t size;
    int device;
} block;
static block *blocks;
static atomic_flag blocks_busy = ATOMIC_FLAG_INIT;

static void lock_blocks(void) {
    while (atomic_flag_test_and_set(&blocks_busy)) {}
}
static void unlock_blocks(void) { atomic_flag_clear(&blocks_busy); }

static int take(void **memory, size_t size) {
    block *made = (block *)malloc(sizeof *made);
    *memory = aligned_alloc(256, (size + 511) / 256 * 256);
    if (!*memory || !made) return free(*memory), free(made), 2;
    memset(*memory, 0xcd, size);
    lock_blocks();
    *made = (block){ blocks, (char *)*memory, size, now() ? now()->device : 0 };
    blocks = made;
    state.allocations++;
    unlock_blocks();
    return 0;
}
static int give(void *memory) {
    lock_blocks();
    block **at = &blocks;
    while (*at && (*at)->memory != (char *)memory) at = &(*at)->next;
    block *gone = *at;
    if (gone) *at = gone->next;
    state.allocations--;
    unlock_blocks();
    free(gone);
    free(memory);
    return 0;
}

FAKE(cuMemAlloc_v2, (uint64_t * address, size_t size)) {
    void *memory = NULL;
    MAY_FAIL("cuMemAlloc_v2");
    UNSAFE();
    int result = take(&memory, size);
    *address = (uint64_t)(uintptr_t)memory;
    return result;
}
// >>memory and semaphores of another API: a mapped file, and a counter. All work is done at once, so a wait for a value that
// nobody has signalled is an error.

typedef struct shared_memory { // CUexternalMemory
    char *base;
    size_t size;
    int fd, mapped;
} shared_memory;

#define MOST_SHARED 64
static shared_memory shared_memories[MOST_SHARED];

FAKE(cuDeviceGetUuid, (uint8_t *uuid, int device)) {
    memset(uuid, 0, 16);
    if (state.uuid) memcpy(uuid, state.uuid, 16);
    uuid[15] = (uint8_t)(uuid[15] + device);
    return 0;
}
FAKE(cuImportExternalMemory, (void **out, const fake_handle_desc *desc)) {
    MAY_FAIL("cuImportExternalMemory");
    shared_memory *m = shared_memories;
    while (m < shared_memories + MOST_SHARED && m->base) m++;
    off_t size = lseek(desc->fd, 0, SEEK_END);
    if (m == shared_memories + MOST_SHARED || desc->type != 1 || size < (off_t)desc->size) return 1;
    void *base = mmap(NULL, (size_t)size, PROT_READ | PROT_WRITE, MAP_SHARED, desc->fd, 0);
    if (base == MAP_FAILED) return 1;
    *m = (shared_memory){ base, (size_t)size, desc->fd, 0 };
    return *out = m, state.imports++, 0;
}
FAKE(cuExternalMemoryGetMappedBuffer, (uint64_t *address, void *memory, const fake_range_desc *range)) {
    MAY_FAIL("cuExternalMemoryGetMappedBuffer");
    shared_memory *m = (shared_memory *)memory;
    uint64_t head[2];
    memcpy(head, m->base, sizeof head);
    // Files of Mesa's lavapipe begin with their size and the position of the memory.
    size_t first = head[0] == m->size && head[1] == 4096 ? 4096 : 0;
    if (first + range->offset + range->size > m->size) return 1;
    m->mapped++;
    return *address = (uint64_t)(uintptr_t)m->base + first + range->offset, 0;
}
FAKE(cuDestroyExternalMemory, (void *memory)) {
    shared_memory *m = (shared_memory *)memory;
    munmap(m->base, m->size);
    close(m->fd);
    m->base = NULL;
    return state.imports--, m->mapped ? 1 : 0; // its mappings are to go first
}
FAKE(cuImportExternalSemaphore, (void **out, const fake_semaphore_desc *desc)) {
    MAY_FAIL("cuImportExternalSemaphore");
    uint64_t *made = desc->type == 9 ? calloc(1, sizeof *made) : NULL;
    if (!made) return 1;
    close(desc->fd);
    return *out = made, state.imports++, 0;
}
FAKE(cuDestroyExternalSemaphore, (void *semaphore)) { return free(semaphore), state.imports--, 0; }
FAKE(cuSignalExternalSemaphoresAsync, (void *const *semaphores, const uint64_t *params, unsigned count, void *stream)) {
    MAY_FAIL("cuSignalExternalSemaphoresAsync");
    if (count != 1 || *params <= *(uint64_t *)*semaphores) return 1; // timelines grow
    return *(uint64_t *)*semaphores = *params, state.stream = stream, 0;
}
FAKE(cuWaitExternalSemaphoresAsync, (void *const *semaphores, const uint64_t *params, unsigned count, void *stream)) {
    MAY_FAIL("cuWaitExternalSemaphoresAsync");
    return state.waiting = stream, count != 1 || *params > *(const uint64_t *)*semaphores;
}

FAKE(cuMemFree_v2, (uint64_t address)) {
    UNSAFE();
    for (shared_memory *m = shared_memories; m < shared_memories + MOST_SHARED; m++)
        if (m->base && address - (uint64_t)(uintptr_t)m->base < m->size) return m->mapped--, 0;
    return give((void *)(uintptr_t)address);
}
FAKE(cuMemGetInfo_v2, (size_t * unused, size_t *total)) { return *unused = *total = (size_t)1 << 30, 0; }
FAKE(cuMemHostAlloc, (void **memory, size_t size, unsigned flags)) {
    MAY_FAIL("cuMemHostAlloc");
    UNSAFE();
    return (void)flags, take(memory, size);
}
FAKE(cuMemFreeHost, (void *memory)) {
    UNSAFE();
    return give(memory);
}
FAKE(cuMemHostGetDevicePointer_v2, (uint64_t * address, void *memory, unsigned flags)) { return *address = (uint64_t)(uintptr_t)memory, (void)flags, 0; }
// Captures take copies from and to memory of CUDA's only.
int is_ours(uint64_t address, size_t size) {
    lock_blocks();
    const block *b = blocks;
    while (b && (address < (uint64_t)(uintptr_t)b->memory || address + size > (uint64_t)(uintptr_t)b->memory + b->size)) b = b->next;
    unlock_blocks();
    return b != NULL;
}
static int move(void *stream, uint64_t to, uint64_t from, size_t size) {
    if (capture_of(stream)) return capture_copy(stream, to, from, size);
    return memmove((void *)(uintptr_t)to, (void *)(uintptr_t)from, size), 0;
}
FAKE(cuMemcpyAsync, (uint64_t to, uint64_t from, size_t size, void *stream)) { return move(stream, to, from, size); }
FAKE(cuMemcpyHtoDAsync_v2, (uint64_t to, const void *from, size_t size, void *stream)) {
    MAY_FAIL("cuMemcpyHtoDAsync_v2");
    return move(stream, to, (uint64_t)(uintptr_t)from, size);
}
FAKE(cuMemcpyDtoHAsync_v2, (void *to, uint64_t from, size_t size, void *stream)) {
    MAY_FAIL("cuMemcpyDtoHAsync_v2");
    return state.read_in = stream, move(stream, (uint64_t)(uintptr_t)to, from, size);
}

void fill(uint64_t to, unsigned value, size_t count) {
    for (size_t i = 0; i < count; i++) memcpy((char *)(uintptr_t)to + 4 * i, &value, 4);
}
FAKE(cuMemsetD32Async, (uint64_t to, unsigned value, size_t count, void *stream)) {
    if (capture_of(stream)) return capture_fill(stream, to, value, count);
    return fill(to, value, count), 0;
}

// >>streams and events

FAKE(cuStreamCreate, (void **out, unsigned flags)) {
    queue *made = (queue *)calloc(1, sizeof *made);
    if (!made || !now()) return free(made), 201;
    made->context = now();
    return *out = made, (void)flags, 0;
}
FAKE(cuStreamDestroy_v2, (void *stream)) { return free(stream), 0; }
FAKE(cuStreamSynchronize, (void *stream)) {
    MAY_FAIL("cuStreamSynchronize");
    return capture_of(stream) ? invalidate(capture_of(stream), UNSUPPORTED) : 0;
}

// Adds the nodes that an event stands for to those that the stream's next node waits for.
static int wait_nodes(queue *s, const mark *e) {
    for (unsigned i = 0; i < e->last_count; i++) {
        unsigned k = 0;
        while (k < s->last_count && s->last[k] != e->last[i]) k++;
        if (k == MOST_LAST) return 1;
        s->last[k] = e->last[i];
        if (k == s->last_count) s->last_count++;
    }
    return 0;
}
FAKE(cuStreamWaitEvent, (void *handle, void *of, unsigned flags)) {
    const mark *e = (const mark *)of;
    capture *mine = capture_of(handle), *its = e->capture;
    state.waits++;
    state.waiting = handle;
    state.waits_for = e->stream;
    if (!e->stream) return (int)flags;
    if (its && its->status == NONE) return CAPTURED_EVENT; // of a capture that is over
    if (mine && !its) return invalidate(mine, ISOLATION);
    if (mine && mine != its) return invalidate(its, invalidate(mine, MERGE));
    if (its && !real(handle)) return invalidate(its, IMPLICIT);
    if (its && !mine) real(handle)->capture = its, real(handle)->last_count = 0; // joins it
    return its ? wait_nodes(real(handle), e) : (int)flags;
}
FAKE(cuStreamGetCtx, (void *stream, void **out)) { return *out = *(context **)stream, 0; }
FAKE(cuStreamIsCapturing, (void *stream, int *capturing)) {
    state.asked++;
    MAY_FAIL("cuStreamIsCapturing");
    return *capturing = capture_of(stream) ? capture_of(stream)->status : state.capturing, 0;
}
FAKE(cuEventCreate, (void **event, unsigned flags)) { return *event = calloc(1, sizeof(mark)), (void)flags, 0; }
FAKE(cuEventDestroy_v2, (void *event)) { return free(event), 0; }
FAKE(cuEventRecord, (void *of, void *handle)) {
    mark *e = (mark *)of;
    state.records++;
    e->stream = handle;
    e->capture = capture_of(handle);
    e->last_count = e->capture ? real(handle)->last_count : 0;
    if (e->last_count) memcpy(e->last, real(handle)->last, sizeof e->last);
    return e->capture && e->capture->status == INVALID ? INVALIDATED : 0;
}
// Of a call that asks for an event.
static int ask(const mark *e) {
    if (e->capture && e->capture->status != NONE) return invalidate(e->capture, CAPTURED_EVENT);
    return e->capture ? CAPTURED_EVENT : unsafe();
}
FAKE(cuEventQuery, (void *event)) { return ask(event); }
FAKE(cuEventSynchronize, (void *event)) { return state.event_waits++, ask(event); }
FAKE(cuEventElapsedTime, (float *ms, void *from, void *to)) { return *ms = 1, (void)from, (void)to, 0; }
FAKE(cuPointerGetAttributes, (unsigned count, const int *attributes, void **values, uint64_t pointer)) { return (void)count, (void)attributes, (void)values, (void)pointer, 0; }
// Device ordinal, start and size of the allocation. What the test maps is the first device's and knows no range.
FAKE(cuPointerGetAttribute, (void *value, int attribute, uint64_t pointer)) {
    lock_blocks();
    const block *b = blocks;
    while (b && (pointer < (uint64_t)(uintptr_t)b->memory || pointer - (uint64_t)(uintptr_t)b->memory >= b->size)) b = b->next;
    unlock_blocks();
    if (!b && (attribute != 9 || pointer - state.mapped >= state.mapped_size)) return 1;
    if (attribute == 9) *(int *)value = b ? b->device : 0;
    else if (attribute == 11) *(uint64_t *)value = (uint64_t)(uintptr_t)b->memory;
    else if (attribute == 12) *(size_t *)value = b->size;
    else return 1;
    return 0;
}

// >>modules: one kernel each, its parameters from PTX's declarations

typedef struct module {
    fake_function function;
    size_t globals_size;
    size_t groupshared; // bytes of spy_groupshared; 0: there is none
} module;

// Of its function, whose `library` it is: SLANG_globalParams belongs to that.
static void free_module(module *m) {
    if (m->function.library) play_close((play_library *)m->function.library);
    else free(m->function.globals);
    free(m);
}

// Bytes of a declaration such as ".param .align 8 .b8 name_param_0[16]", from behind ".param" or ".const".
static size_t size_of(const char *text) {
    size_t size = 0, end = strcspn(text, ",)\n;");
    static const struct {
        const char *name;
        size_t size;
    } types[] = { { ".u64", 8 }, { ".b64", 8 }, { ".s64", 8 }, { ".f64", 8 }, { ".u32", 4 }, { ".b32", 4 }, { ".s32", 4 },
                  { ".f32", 4 }, { ".u16", 2 }, { ".b16", 2 }, { ".s16", 2 }, { ".f16", 2 }, { ".u8", 1 },  { ".b8", 1 }, { ".s8", 1 } };
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
        const char *at = strstr(text, types[i].name);
        if (at && at < text + end) size = types[i].size;
    }
    const char *count = memchr(text, '[', end);
    return count ? size * strtoul(count + 1, NULL, 10) : size;
}

// The name of a cubin's kernel is that of its section ".text.NAME"; the section headers are the file's end.
static int cubin_name(const char *image, char *name, size_t capacity) {
    uint64_t headers = 0;
    uint16_t size = 0, count = 0;
    memcpy(&headers, image + 40, sizeof headers);
    memcpy(&size, image + 58, sizeof size);
    memcpy(&count, image + 60, sizeof count);
    for (const char *at = image, *end = image + headers + (uint64_t)size * count; at + 10 < end; at++)
        if (memcmp(at, ".text.spy_", 10) == 0) return snprintf(name, capacity, "%s", at + 6) < (int)capacity;
    return 0;
}

// The sizes of a cubin's parameters are those of its entries KPARAM_INFO: 04 17 0c 00, an index, ordinal and offset, and the size above 18 bits.
static void cubin_sizes(const char *image, fake_function *f) {
    uint64_t headers = 0;
    memcpy(&headers, image + 40, sizeof headers);
    for (const char *at = image; at + 16 <= image + headers; at += 4) {
        uint32_t words[4];
        memcpy(words, at, sizeof words);
        if (words[0] != 0x000c1704 || (words[2] & 0xffff) >= FAKE_MOST_PARAMS) continue;
        f->sizes[words[2] & 0xffff] = words[3] >> 18;
        if (f->param_count <= (words[2] & 0xffff)) f->param_count = (words[2] & 0xffff) + 1;
    }
}

FAKE(cuModuleLoadData, (void **out, const void *image)) {
    const char *text = (const char *)image, *entry = strstr(text, ".entry "), *globals = strstr(text, "SLANG_globalParams[");
    module *m = (module *)calloc(1, sizeof *m);
    if (unsafe()) return free(m), UNSUPPORTED;
    if (state.on_load) state.on_load(state.user);
    if (m && memcmp(text, "\177ELF", 4) == 0) {
        if (!cubin_name(text, m->function.name, sizeof m->function.name)) return 200;
        cubin_sizes(text, &m->function);
        state.modules++;
        state.cubins++;
        return *out = m, 0;
    }
    if (!entry || !m) return 200;
    entry += 7;
    size_t name = strcspn(entry, "("), end = strcspn(entry, ")");
    if (name >= sizeof m->function.name) return 200;
    memcpy(m->function.name, entry, name);
    for (const char *at = entry; (at = strstr(at, ".param ")) != NULL && at < entry + end; at += 7)
        m->function.sizes[m->function.param_count++] = size_of(at + 6);
    if (globals) {
        m->globals_size = size_of(globals - 3); // the type stands before the name: of bytes
        m->globals_size = strtoul(strchr(globals, '[') + 1, NULL, 10);
        m->function.globals = calloc(1, m->globals_size + 1);
    }
    if (strncmp(text, "// played by ", 13) == 0) {
        char path[640];
        (void)snprintf(path, sizeof path, "%.*s", (int)strcspn(text + 13, "\n"), text + 13);
        free(m->function.globals);
        m->function.globals = NULL;
        m->function.library = play_open(path, &m->function.globals);
        if (!m->function.library) return 200;
    }
    const char *room = strstr(text, "spy_groupshared[");
    if (room) m->groupshared = strtoul(room + 16, NULL, 10);
    state.modules++;
    state.texts++;
    *out = m;
    return 0;
}
FAKE(cuModuleUnload, (void *handle)) {
    UNSAFE();
    free_module((module *)handle);
    state.modules--;
    return 0;
}
FAKE(cuModuleGetFunction, (void **function, void *handle, const char *name)) {
    *function = &((module *)handle)->function;
    return strcmp(name, ((module *)handle)->function.name) == 0 ? 0 : 500;
}
FAKE(cuModuleGetGlobal_v2, (uint64_t * address, size_t *size, void *handle, const char *name)) {
    module *m = (module *)handle;
    if (strcmp(name, "spy_groupshared") == 0) return m->groupshared ? *address = 4096, *size = m->groupshared, 0 : 500;
    *address = (uint64_t)(uintptr_t)m->function.globals;
    *size = m->globals_size;
    return m->function.globals && strcmp(name, "SLANG_globalParams") == 0 ? 0 : 500;
}
FAKE(cuFuncGetAttribute, (int *value, int attribute, void *function)) {
    return *value = attribute == 0 ? 1024 : attribute == 1 ? state.static_shared : 16, (void)function, 0;
}
FAKE(cuFuncSetAttribute, (void *handle, int attribute, int value)) {
    fake_function *function = (fake_function *)handle;
    MAY_FAIL("cuFuncSetAttribute");
    if (attribute != 8 || value < 0 || value + state.static_shared > FAKE_SHARED_BYTES) return 1;
    function->allowed_shared = (unsigned)value;
    return 0;
}
// Whether a launch of the function may have so many bytes of dynamic shared memory.
int shared_fits(const fake_function *function, unsigned shared) {
    state.shared = shared;
    return shared <= (function->allowed_shared > 49152 ? function->allowed_shared : 49152) && shared + (unsigned)state.static_shared <= FAKE_SHARED_BYTES;
}

// >>the kernel of blits, which is C as well

#define __global__ static
#define __device__
typedef struct thread_index {
    unsigned x;
} thread_index;
static thread_index blockIdx, threadIdx;

static float spy_from_half(unsigned bits) {
    int exponent = (int)(bits >> 10 & 31);
    double value = exponent == 31 ? (bits & 1023 ? (double)NAN : (double)INFINITY)
                   : exponent     ? ldexp((double)(bits & 1023) / 1024 + 1, exponent - 15)
                                  : ldexp((double)(bits & 1023), -24);
    return (float)(bits & 0x8000 ? -value : value);
}

static unsigned spy_to_half(float value) { // rounds to even, as the GPU does
    int exponent = 0;
    unsigned sign = signbit(value) ? 0x8000u : 0;
    double size = fabs((double)value);
    if (isnan(value)) return 0x7fff;
    if (size >= 65520) return sign | 0x7c00;
    (void)frexp(size, &exponent);
    if (size == 0 || exponent < -13) return sign | (unsigned)rint(ldexp(size, 24));
    return sign | (((unsigned)(exponent + 13) << 10) + (unsigned)rint(ldexp(size, 11 - exponent)));
}
#include "../../../src/cuda/blit.cuh"

static void play_blit(const unsigned *grid, void *const *params) {
    spy_blit_args b;
    memcpy(&b, params[0], sizeof b);
    for (blockIdx.x = 0; blockIdx.x < grid[0]; blockIdx.x++)
        for (threadIdx.x = 0; threadIdx.x < 256; threadIdx.x++) spy_blit(b);
}

void *copy_of(const void *data, size_t size) {
    void *copy = malloc(size);
    return copy ? memcpy(copy, data, size) : NULL;
}

void run(const fake_function *f, const unsigned *grid, const unsigned *group, void **params) {
    void *copies[FAKE_MOST_PARAMS];
    if (strcmp(f->name, "spy_blit") == 0) play_blit(grid, params);
    for (unsigned i = 0; i < f->param_count; i++) copies[i] = copy_of(params[i], f->sizes[i]);
    state.kernels++;
    if (state.on_kernel) state.on_kernel(f, grid, copies, state.user);
    else if (f->library) play_run((play_library *)f->library, grid, group, copies);
    for (unsigned i = 0; i < f->param_count; i++) free(copies[i]);
}

FAKE(cuLaunchKernel, (void *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz, unsigned shared, void *stream, void **params, void **extra)) {
    const unsigned grid[3] = { gx, gy, gz }, group[3] = { bx, by, bz };
    (void)extra;
    MAY_FAIL("cuLaunchKernel");
    if (!shared_fits((const fake_function *)function, shared)) return 1;
    state.stream = stream;
    state.launches++;
    if (capture_of(stream)) return capture_launch(stream, (const fake_function *)function, grid, group, params);
    run((const fake_function *)function, grid, group, params);
    return 0;
}

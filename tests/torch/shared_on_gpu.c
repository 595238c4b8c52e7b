// Memory and timeline semaphores between Vulkan and CUDA on a GPU, without torch: rounds in flight in which CUDA fills shared
// memory, Vulkan computes in it and CUDA copies the result, while the host waits once, at the end. Prints ok or FAIL, and times.
//   gcc -O1 -I. -isystem /usr/include/stb tests/torch/shared_on_gpu.c -o /tmp/shared_on_gpu -lm -ldl -lpthread && /tmp/shared_on_gpu
#define SLANGPY_IMPLEMENTATION
#include "slangpy_cuda.h"
#include "slangpy_vk.h"
#include <stdio.h>
#include <string.h>
#include <time.h>

#define ROUNDS 200
#define N 100000

static double now(void) {
    struct timespec t;
    (void)timespec_get(&t, TIME_UTC);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec * 1e-3;
}

static spy_device *checked;
#define GOOD(call)                                                                                           \
    do {                                                                                                     \
        if ((call) != SPY_OK) {                                                                              \
            printf("FAIL line %d: %s / %s\n", __LINE__, spy_take_error(NULL).message,                        \
                   spy_take_error(checked).message);                                                         \
            return 1;                                                                                        \
        }                                                                                                    \
    } while (0)
#define MADE(object) GOOD((object) != NULL ? SPY_OK : SPY_ERROR_INTERNAL)

int main(void) {
    static float got[N];
    spy_device_desc d;
    spy_tensor_desc t;
    spy_module_desc md;
    memset(&d, 0, sizeof d);
    memset(&t, 0, sizeof t);
    memset(&md, 0, sizeof md);
    d.log.func = spy_log_stderr;
    d.backend = spy_cuda_backend();
    spy_device *cuda = spy_create_device(&d);
    d.backend = spy_vk_backend();
    spy_device *vulkan = checked = spy_create_device(&d);
    MADE(cuda);
    MADE(vulkan);
    spy_vk_sharing sharing = spy_vk_get_sharing(vulkan);
    uint8_t uuid[16];
    spy_cuda_peer *peer = spy_cuda_open_peer(spy_cuda_get_context(cuda), NULL, uuid);
    MADE(peer);
    printf("Vulkan '%s', CUDA '%s': memory %d, semaphores %d, same GPU %d\n", spy_get_device_info(vulkan).name,
           spy_get_device_info(cuda).name, sharing.memory, sharing.semaphores, !memcmp(uuid, sharing.device_uuid, 16));
    if (memcmp(uuid, sharing.device_uuid, 16) || !sharing.memory || !sharing.semaphores) return printf("skip\n"), 0;

    spy_vk_shared_memory shared;
    spy_cuda_imported_memory m;
    uint64_t semaphore = 0, value = 0;
    int fd = -1;
    void *imported = NULL, *stream = spy_cuda_get_stream(cuda);
    GOOD(spy_vk_create_shared_memory(vulkan, N * 4, &shared));
    printf("size %llu, allocated %llu\n", (unsigned long long)shared.size_bytes, (unsigned long long)shared.allocated_bytes);
    GOOD(spy_cuda_import_memory(peer, shared.fd, shared.allocated_bytes, shared.size_bytes, &m));
    GOOD(spy_vk_create_shared_semaphore(vulkan, &semaphore, &fd));
    GOOD(spy_cuda_import_semaphore(peer, fd, &imported));

    t.shape = SPY_SHAPE(N);
    spy_tensor *x = spy_vk_create_tensor(vulkan, shared.buffer, 0, shared.size_bytes, &t), *results[ROUNDS];
    MADE(x);
    checked = cuda;
    spy_tensor *y = spy_cuda_create_tensor(cuda, m.address, shared.size_bytes, &t);
    MADE(y);
    for (int i = 0; i < ROUNDS; i++) MADE(results[i] = spy_create_tensor(cuda, &t));
    checked = vulkan;
    md.name = "shared";
    md.source = "void step(inout float x) { x = 2 * x + 1; }";
    spy_module *module = spy_load_module(vulkan, &md);
    MADE(module);
    spy_function *step = spy_find_function(module, "step");
    for (int timed = 0; timed < 2; timed++) {
        double began = now();
        for (int i = 0; i < ROUNDS; i++) {
            checked = cuda;
            GOOD(spy_tensor_fill(y, i + 0.5));
            (void)spy_flush(cuda);
            GOOD(spy_cuda_signal_semaphore(peer, imported, ++value, stream));
            checked = vulkan;
            GOOD(spy_vk_wait_semaphore(vulkan, semaphore, value));
            GOOD(spy_call(step, SPY_ARGS(spy_arg_tensor("x", x))));
            GOOD(spy_vk_signal_semaphore(vulkan, semaphore, ++value));
            (void)spy_flush(vulkan);
            checked = cuda;
            GOOD(spy_cuda_wait_semaphore(peer, imported, value, stream));
            GOOD(spy_tensor_copy(results[i], y));
        }
        double issued = now();
        GOOD(spy_wait(cuda));
        printf("%d rounds of %d floats: %.1f us each to issue, %.1f us each in all\n", ROUNDS, N, (issued - began) / ROUNDS,
               (now() - began) / ROUNDS);
    }
    int wrong = 0;
    for (int i = 0; i < ROUNDS; i++) {
        GOOD(spy_tensor_read(results[i], got, sizeof got));
        for (int k = 0; k < N; k++) wrong += got[k] != 2 * ((float)i + 0.5f) + 1;
    }
    printf(wrong ? "FAIL %d values are wrong\n" : "ok all values\n", wrong);
    GOOD(spy_wait(vulkan));
    spy_release_tensor(x);
    spy_release_tensor(y);
    GOOD(spy_cuda_release_memory(peer, &m));
    GOOD(spy_cuda_release_semaphore(peer, imported));
    GOOD(spy_vk_release_shared_memory(vulkan, &shared));
    GOOD(spy_vk_release_shared_semaphore(vulkan, semaphore));
    spy_cuda_close_peer(peer);
    spy_release_device(vulkan);
    spy_release_device(cuda);
    return wrong != 0;
}

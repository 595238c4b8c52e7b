// What the programs test_vk_backend_*.c share: kernels, memory and transfers through the Vulkan backend's table, on whatever device there
// is. Skipped, and said so, where there is no Vulkan device. SPY_TEST_VALIDATION=1: with the validation layer; its messages are
// failures.
#ifndef VK_BACKEND_TEST_H
#define VK_BACKEND_TEST_H

#include "spy_test.h"
#ifdef SPY_TEST_SPLIT
#include "vk/internal.h"
#endif
#include "work_test.h"
#include "vk_kernels.h"
#include "vk_test.h"

static inline const spyi_limits *test_limits(test_gpu *t) {
    return &((const spyi_gpu_base *)(const void *)t->gpu)->limits;
}

static inline const spyi_gpu_stats *test_stats(test_gpu *t) {
    return &((const spyi_gpu_base *)(const void *)t->gpu)->stats;
}

static inline spyi_chunk test_chunk(test_gpu *t, spyi_memory memory, size_t size) {
    spyi_chunk chunk;
    test_ok(t, backend->allocate_chunk(t->gpu, memory, size, "test chunk", &chunk, &t->error));
    assert_int_equal(chunk.address % 256, 0);
    assert_true(chunk.size >= size);
    return chunk;
}

static inline spyi_kernel_desc test_kernel_desc(const char *entry, const uint32_t *code, size_t size,
                                         uint32_t block_size) {
    spyi_kernel_desc desc;
    memset(&desc, 0, sizeof desc);
    desc.label = entry;
    desc.code = code;
    desc.code_size = size;
    desc.entry = entry;
    work_group(&desc, 64);
    desc.iface.block_size = block_size;
    return desc;
}

static inline spyi_kernel *test_kernel(test_gpu *t, spyi_kernel_desc desc) {
    spyi_kernel *kernel = NULL;
    test_ok(t, backend->load(t->gpu, &desc, &kernel, &t->error));
    return kernel;
}

#define KERNEL(t, name, block_size)                                                                          \
    test_kernel(t, test_kernel_desc(#name, vk_kernel_##name, sizeof vk_kernel_##name, block_size))

typedef struct scale_block {
    uint64_t x, y;
    float a;
    uint32_t n;
} scale_block;

typedef struct slow_block {
    uint64_t p;
    uint32_t rounds, n;
} slow_block;

static inline void test_run(test_gpu *t, spyi_kernel *kernel, const void *block, const spyi_binding *bindings,
                     uint32_t n, bool barrier) {
    spyi_dispatch d = work_dispatch();
    d.kernel = kernel;
    d.block = block;
    d.bindings = bindings;
    d.groups[0] = (n + 63) / 64;
    d.groups[1] = d.groups[2] = 1;
    d.work.before.barrier = barrier;
    test_ok(t, spyi_record(backend, t->gpu, &d.work, &t->error));
}

static inline void test_upload(test_gpu *t, const spyi_chunk *to, uint64_t offset, const void *data, uint64_t size,
                        bool barrier) {
    test_ok(t, work_upload(backend, t->gpu, to, offset, data, size, barrier, &t->error));
}

static inline void test_download(test_gpu *t, void *data, const spyi_chunk *from, uint64_t offset, uint64_t size) {
    test_ok(t, backend->download(t->gpu, data, from, offset, size, spyi_open_submit(t->gpu), &t->error));
}

static inline void test_wait_all(test_gpu *t) {
    test_ok(t, backend->wait(t->gpu, spyi_open_submit(t->gpu), UINT64_MAX, &t->error));
}

static uint32_t random_state = 12345;

static inline uint32_t test_random(void) {
    random_state = random_state * 1664525u + 1013904223u;
    return random_state >> 8;
}

// A timeline semaphore, as an engine has them.
static inline VkSemaphore test_timeline(spyi_vk_gpu *gpu) {
    VkSemaphoreTypeCreateInfo type;
    VkSemaphoreCreateInfo info;
    VkSemaphore semaphore = VK_NULL_HANDLE;
    memset(&type, 0, sizeof type);
    memset(&info, 0, sizeof info);
    type.sType = VK_STRUCTURE_TYPE_SEMAPHORE_TYPE_CREATE_INFO;
    type.semaphoreType = VK_SEMAPHORE_TYPE_TIMELINE;
    info.sType = VK_STRUCTURE_TYPE_SEMAPHORE_CREATE_INFO;
    info.pNext = &type;
    assert_int_equal(gpu->vk.vkCreateSemaphore(gpu->device, &info, NULL, &semaphore), VK_SUCCESS);
    return semaphore;
}

static inline void test_signal(spyi_vk_gpu *gpu, VkSemaphore semaphore, uint64_t value) {
    VkSemaphoreSignalInfo info;
    memset(&info, 0, sizeof info);
    info.sType = VK_STRUCTURE_TYPE_SEMAPHORE_SIGNAL_INFO;
    info.semaphore = semaphore;
    info.value = value;
    assert_int_equal(gpu->vk.vkSignalSemaphore(gpu->device, &info), VK_SUCCESS);
}

#endif

// An allocator for spy_device_desc that counts what the library takes.
#ifndef BENCH_ALLOCATOR_H
#define BENCH_ALLOCATOR_H

#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

// Through spy_allocator: objects, tensors, pools and calls. Compile threads may allocate, too.
static _Atomic uint64_t allocations;

static void *count_allocate(size_t size_bytes, size_t alignment, void *user_data) {
    (void)user_data;
    allocations++;
    const size_t step = alignment < sizeof(void *) ? sizeof(void *) : alignment;
    return aligned_alloc(step, (size_bytes + step - 1) / step * step);
}
static void count_free(void *memory, size_t size_bytes, void *user_data) {
    (void)size_bytes, (void)user_data;
    free(memory);
}
static void *count_reallocate(void *memory, size_t old_size_bytes, size_t new_size_bytes, size_t alignment,
                              void *user_data) {
    void *moved = count_allocate(new_size_bytes, alignment, user_data);
    if (moved == NULL || memory == NULL) return moved;
    memcpy(moved, memory, old_size_bytes < new_size_bytes ? old_size_bytes : new_size_bytes);
    free(memory);
    return moved;
}

#endif

// A spy_allocator that counts allocations, and the bytes that have not been freed. Any thread may use it. Include it after the library's
// headers.
#ifndef COUNTING_ALLOCATOR_H
#define COUNTING_ALLOCATOR_H

#include <stdlib.h>
#include <string.h>

static long long bytes_alive, allocations_made;

static void *count_allocate(size_t size, size_t alignment, void *user) {
    (void)user;
    (void)alignment; // at most 64
    void *memory = aligned_alloc(64, (size + 63) / 64 * 64 + (size == 0 ? 64 : 0));
    __atomic_add_fetch(&allocations_made, 1, __ATOMIC_SEQ_CST);
    if (memory) __atomic_add_fetch(&bytes_alive, (long long)size, __ATOMIC_SEQ_CST);
    return memory;
}

static void count_free(void *memory, size_t size, void *user) {
    (void)user;
    if (memory) __atomic_sub_fetch(&bytes_alive, (long long)size, __ATOMIC_SEQ_CST);
    free(memory);
}

static void *count_reallocate(void *memory, size_t old_size, size_t new_size, size_t alignment, void *user) {
    void *moved = count_allocate(new_size, alignment, user);
    if (moved == NULL) return NULL;
    if (memory) memcpy(moved, memory, old_size < new_size ? old_size : new_size);
    count_free(memory, old_size, user);
    return moved;
}

static inline spy_allocator counting_allocator(void) {
    spy_allocator a = { count_allocate, count_reallocate, count_free, NULL };
    return a;
}

#endif

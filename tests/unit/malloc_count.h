// Counting the process's allocations: malloc_calls, where TEST_COUNTS_MALLOC is 1. Not under sanitizers, which have a malloc() of
// their own: the step unit-headers runs what counts without one.
#ifndef MALLOC_COUNT_H
#define MALLOC_COUNT_H

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define TEST_COUNTS_MALLOC 0
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define TEST_COUNTS_MALLOC 0
#endif
#endif
#if !defined(TEST_COUNTS_MALLOC) && defined(__GLIBC__)
#define TEST_COUNTS_MALLOC 1
extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t count, size_t size);
extern void *__libc_realloc(void *memory, size_t size);
static size_t malloc_calls;
void *malloc(size_t size) {
    malloc_calls++;
    return __libc_malloc(size);
}
void *calloc(size_t count, size_t size) {
    malloc_calls++;
    return __libc_calloc(count, size);
}
void *realloc(void *memory, size_t size) {
    malloc_calls++;
    return __libc_realloc(memory, size);
}
#else
#undef TEST_COUNTS_MALLOC
#define TEST_COUNTS_MALLOC 0
#endif

#endif // MALLOC_COUNT_H

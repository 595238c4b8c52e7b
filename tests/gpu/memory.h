// Whether a process grows: what it holds is sampled all along one stretch of the work and along a later one, and the
// lowest samples are compared.
//
// Why not resident memory at two moments: 5,000 signatures on lavapipe (Mesa 22.3.6, libslang 2026.14.1) went from 333 to
// 342 MiB so, while nothing grew. malloc'ed bytes swing between 259 and 266 MiB as compiler sessions come and go, each
// swing leaves other holes, and glibc keeps the free pages: after malloc_trim() the lowest value is 330 MiB at the
// beginning and at the end. malloc'ed bytes say more: their lowest rose by 0.2 MiB, all of it while the compiler's own
// tables filled (the first 1,500 signatures), then by 10 bytes a signature, the same without a driver (null backend);
// the library's own allocations, counted apart, stayed at the same 8,798 blocks.
#ifndef MEMORY_H
#define MEMORY_H

#include "gpu_test.h"

#include <errno.h>

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define MEMORY_SANITIZED 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define MEMORY_SANITIZED 1
#endif

#if !defined(MEMORY_SANITIZED) && defined(__GLIBC__)
#include <malloc.h>
#include <stdatomic.h>
#endif

// Bytes that are allocated on the heap now, by whomever in the process: the program's malloc() stands before glibc's, also
// for the libraries. (mallinfo2() counts what each thread's cache keeps as allocated, up to 230 KiB a thread.) 0 where that
// is not known; under a sanitizer, which has a malloc() of its own, LeakSanitizer says what is lost.
#if !defined(MEMORY_SANITIZED) && defined(__GLIBC__)

extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t count, size_t size);
extern void *__libc_realloc(void *memory, size_t size);
extern void *__libc_memalign(size_t alignment, size_t size);
extern void __libc_free(void *memory);

static atomic_size_t memory_bytes;

static inline size_t memory_live(void) { return atomic_load(&memory_bytes); }

static inline void *memory_counted(void *memory) {
    if (memory) atomic_fetch_add_explicit(&memory_bytes, malloc_usable_size(memory), memory_order_relaxed);
    return memory;
}
void *malloc(size_t size) { return memory_counted(__libc_malloc(size)); }
void *calloc(size_t count, size_t size) { return memory_counted(__libc_calloc(count, size)); }
void *memalign(size_t alignment, size_t size) { return memory_counted(__libc_memalign(alignment, size)); }
void *aligned_alloc(size_t alignment, size_t size) { return memalign(alignment, size); }
int posix_memalign(void **out, size_t alignment, size_t size) {
    void *memory = memalign(alignment, size);
    if (!memory) return ENOMEM;
    *out = memory;
    return 0;
}
void free(void *memory) {
    atomic_fetch_sub_explicit(&memory_bytes, malloc_usable_size(memory), memory_order_relaxed);
    __libc_free(memory);
}
void *realloc(void *memory, size_t size) {
    size_t old = malloc_usable_size(memory);
    void *moved = __libc_realloc(memory, size);
    if (!moved && size > 0) return NULL; // the old block is still there
    atomic_fetch_sub_explicit(&memory_bytes, old, memory_order_relaxed);
    return memory_counted(moved);
}

#else

static inline size_t memory_live(void) { return 0; }

#endif

// Resident bytes without the pages that the heap keeps free; 0 where that is not known. A sanitizer keeps freed memory back
// on purpose.
static inline size_t memory_resident(void) {
#if defined(MEMORY_SANITIZED)
    return 0;
#else
#ifdef __GLIBC__
    malloc_trim(0);
#endif
    return gpu_resident_bytes();
#endif
}

// The lowest samples of a stretch.
typedef struct memory_floor {
    size_t live, resident;
    size_t samples;
} memory_floor;

static inline void memory_sample(memory_floor *f, bool resident_too) {
    size_t live = memory_live(), resident = resident_too || f->samples == 0 ? memory_resident() : f->resident;
    if (f->samples == 0 || live < f->live) f->live = live;
    if (f->samples == 0 || resident < f->resident) f->resident = resident;
    f->samples++;
}

// Samples step `i` of `count`: the second tenth to `early`, the last one to `late`.
static inline void memory_follow(memory_floor *early, memory_floor *late, size_t i, size_t count) {
    size_t tenth = count / 10, every = count < 2500 ? 10 : count / 250; // malloc_trim() takes milliseconds
    if (i >= tenth && i < 2 * tenth) memory_sample(early, i % every == 0);
    if (i >= count - tenth) memory_sample(late, i % every == 0);
}

static inline void memory_print(const char *when, const memory_floor *f) {
    print_message("%s: at least %.3f MiB allocated, %.1f MiB resident\n", when, (double)f->live / 1048576,
                  (double)f->resident / 1048576);
}

static inline bool memory_is_flat(const memory_floor *early, const memory_floor *late, size_t live, size_t resident) {
    return late->live <= early->live + live && late->resident <= early->resident + resident;
}

// Judges a loop of `count` steps that memory_follow() has seen. `live` and `resident`: what may come on top, in bytes. Then
// leaks for a moment what 200 bytes a step would have left between the two stretches: that must not pass.
static inline void memory_judge(memory_floor *early, memory_floor *late, size_t count, size_t live, size_t resident) {
    memory_print("second tenth", early);
    memory_print("last tenth", late);
    assert_true(early->samples > 0 && late->samples > 0);
    assert_true(memory_is_flat(early, late, live, resident));
    if (memory_live() == 0) {
        print_message("allocated bytes are not known here: only resident memory was judged\n");
        return;
    }
    size_t leaked = count / 10 * 8, before = memory_live();
    void **blocks = (void **)calloc(leaked, sizeof *blocks);
    size_t table = memory_live() - before;
    for (size_t i = 0; i < leaked; i++) blocks[i] = malloc(200);
    memory_floor leaky = *late;
    leaky.live += memory_live() - before - table;
    for (size_t i = 0; i < leaked; i++) free(blocks[i]);
    free(blocks);
    assert_false(memory_is_flat(early, &leaky, live, resident));
}

#endif

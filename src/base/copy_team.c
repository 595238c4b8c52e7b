// Copies the CPU's part of a large transfer, pieces between the program's memory and pinned memory, with
// several threads. The threads live as long as the transfer: starting them for each piece cost as much as the
// copies, and threads that outlive it would have to survive fork() and every order of release. Every thread
// takes blocks of the oldest piece that has some left, so that no thread waits for the end of a piece while
// another piece is there. The caller's thread copies whenever it waits, so the work gets done without any
// helper, too.
//
// Eight threads or more with pieces of 8 to 16 MiB in four buffers come near the speed of pinned memory.
// Copies past the cache are faster with few threads, on the way down (docs/measurements.md, "Copies between
// host memory and a GPU").
#include "base/base.h"

#if defined(__SSE2__) || defined(_M_X64)
#include <emmintrin.h>
#endif

// A size in bytes below which one memcpy() is done before other threads have begun.
#define SPYI_COPY_PARALLEL ((size_t)4 << 20)
// A size in bytes below which starting a thread, about 20 us, does not pay.
#define SPYI_COPY_PER_THREAD ((size_t)2 << 20)
#define SPYI_COPY_BLOCK ((size_t)512 << 10) // the bytes that a thread takes at a time

// Copies past the cache if the processor can do that, otherwise by memcpy().
static void spyi_copy_stream(char *to, const char *from, size_t size) {
#if defined(__SSE2__) || defined(_M_X64)
    // Bytes before the first whole cache line: a line that is written in part would be read first.
    size_t head = (size_t)(0u - (uintptr_t)to) % 64;
    if (head > size) head = size;
    memcpy(to, from, head);
    for (to += head, from += head, size -= head; size >= 64; to += 64, from += 64, size -= 64) {
        const __m128i *in = (const __m128i *)(const void *)from;
        __m128i *out = (__m128i *)(void *)to;
        __m128i a = _mm_loadu_si128(in), b = _mm_loadu_si128(in + 1);
        __m128i c = _mm_loadu_si128(in + 2), d = _mm_loadu_si128(in + 3);
        _mm_stream_si128(out, a);
        _mm_stream_si128(out + 1, b);
        _mm_stream_si128(out + 2, c);
        _mm_stream_si128(out + 3, d);
    }
    _mm_sfence(); // the copies are visible before the lock is released
#endif
    memcpy(to, from, size);
}

// Takes a block of bytes and copies it. The caller holds the lock, which is released during the copy. Returns
// false if no block is left.
static bool spyi_copy_some(spyi_copy_team *team) {
    spyi_copy_piece *piece = &team->pieces[team->taken % SPYI_COPY_PIECES];
    const char *from;
    char *to;
    size_t size;
    if (team->taken == team->posted) return false;
    to = piece->to + piece->taken;
    from = piece->from + piece->taken;
    size = piece->size - piece->taken;
    // A block ends at a block boundary of the target, so that two threads share no page of it.
    if (team->threads > 1) {
        size_t block = SPYI_COPY_BLOCK - (size_t)((uintptr_t)to % SPYI_COPY_BLOCK);
        if (size > block) size = block;
    }
    piece->taken += size;
    if (piece->taken == piece->size) team->taken++;
    spyi_mutex_unlock(&team->lock);
    if (team->stream) spyi_copy_stream(to, from, size);
    else memcpy(to, from, size);
    spyi_mutex_lock(&team->lock);
    piece->copied += size;
    if (piece->copied < piece->size) return true;
    while (team->copied < team->taken) { // pieces may be done in another order than they were posted
        piece = &team->pieces[team->copied % SPYI_COPY_PIECES];
        if (piece->copied < piece->size) break;
        team->copied++;
    }
    spyi_signal_all(&team->done);
    return true;
}

static void spyi_copy_help(void *arg) {
    spyi_copy_team *team = (spyi_copy_team *)arg;
    spyi_mutex_lock(&team->lock);
    for (;;) {
        if (spyi_copy_some(team)) continue;
        if (team->ending) break;
        spyi_signal_wait(&team->more, &team->lock);
    }
    spyi_mutex_unlock(&team->lock);
}

SPYI_FN uint32_t spyi_copy_threads(size_t size) {
    uint32_t count = spyi_processor_count();
    if (size < SPYI_COPY_PARALLEL) return 1;
    if (count > SPYI_COPY_THREADS) count = SPYI_COPY_THREADS;
    return size / SPYI_COPY_PER_THREAD < count ? (uint32_t)(size / SPYI_COPY_PER_THREAD) : count;
}

SPYI_FN void spyi_copy_begin(spyi_copy_team *team, uint32_t threads, bool stream) {
    SPYI_ASSERT(threads > 0 && threads <= SPYI_COPY_THREADS);
    memset(team, 0, sizeof *team);
    team->threads = threads;
    team->stream = stream && threads > 1;
    team->to_start = threads - 1;
    spyi_mutex_init(&team->lock);
    spyi_signal_init(&team->more);
    spyi_signal_init(&team->done);
}

SPYI_FN void spyi_copy_post(spyi_copy_team *team, void *to, const void *from, size_t size) {
    spyi_copy_piece *piece = &team->pieces[team->posted % SPYI_COPY_PIECES];
    if (team->posted >= SPYI_COPY_PIECES) spyi_copy_wait(team, team->posted - SPYI_COPY_PIECES + 1);
    spyi_mutex_lock(&team->lock);
    piece->to = (char *)to;
    piece->from = (const char *)from;
    piece->size = size;
    piece->taken = piece->copied = 0;
    team->posted++;
    spyi_signal_all(&team->more);
    spyi_mutex_unlock(&team->lock);
    for (; team->to_start > 0; team->to_start--) { // helpers that run already copy meanwhile
        if (!spyi_thread_start(&team->helpers[team->started], spyi_copy_help, team)) {
            team->to_start = 0;
            break;
        }
        team->started++;
    }
}

SPYI_FN void spyi_copy_wait(spyi_copy_team *team, uint32_t pieces) {
    spyi_mutex_lock(&team->lock);
    while (team->copied < pieces) {
        if (!spyi_copy_some(team)) spyi_signal_wait(&team->done, &team->lock);
    }
    spyi_mutex_unlock(&team->lock);
}

SPYI_FN void spyi_copy_end(spyi_copy_team *team) {
    spyi_copy_wait(team, team->posted);
    spyi_mutex_lock(&team->lock);
    team->ending = true;
    spyi_signal_all(&team->more);
    spyi_mutex_unlock(&team->lock);
    for (uint32_t i = 0; i < team->started; i++) spyi_thread_join(&team->helpers[i]);
    spyi_signal_destroy(&team->done);
    spyi_signal_destroy(&team->more);
    spyi_mutex_destroy(&team->lock);
}

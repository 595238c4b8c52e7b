// The operating system: atomics, mutexes, signals, threads, processors and the clock, by POSIX or Win32.
#include "base/base.h"

#ifdef _WIN32
#ifndef WIN32_LEAN_AND_MEAN
#define WIN32_LEAN_AND_MEAN
#endif
#ifndef NOMINMAX
#define NOMINMAX
#endif
#include <windows.h>
#else
#include <pthread.h>
#include <time.h>
#include <unistd.h>
#endif

// >>atomics
#if defined(__GNUC__) || defined(__clang__)

int32_t spyi_atomic_add(spyi_atomic *a, int32_t delta) {
    return __atomic_add_fetch(&a->value, delta, __ATOMIC_ACQ_REL);
}

int32_t spyi_atomic_load(spyi_atomic *a) {
    return __atomic_load_n(&a->value, __ATOMIC_ACQUIRE);
}

void spyi_atomic_store(spyi_atomic *a, int32_t value) {
    __atomic_store_n(&a->value, value, __ATOMIC_RELEASE);
}

bool spyi_atomic_swap_if(spyi_atomic *a, int32_t expected, int32_t value) {
    return __atomic_compare_exchange_n(&a->value, &expected, value, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
}

void spyi_note_thread(volatile uintptr_t *at, uintptr_t thread) {
    __atomic_store_n(at, thread, __ATOMIC_RELAXED);
}

uintptr_t spyi_noted_thread(const volatile uintptr_t *at) {
    return __atomic_load_n((volatile uintptr_t *)at, __ATOMIC_RELAXED);
}

#else // with MSVC a LONG has 32 bits

int32_t spyi_atomic_add(spyi_atomic *a, int32_t delta) {
    return (int32_t)InterlockedExchangeAdd((volatile LONG *)&a->value, (LONG)delta) + delta;
}

int32_t spyi_atomic_load(spyi_atomic *a) {
    return (int32_t)InterlockedCompareExchange((volatile LONG *)&a->value, 0, 0);
}

void spyi_atomic_store(spyi_atomic *a, int32_t value) {
    InterlockedExchange((volatile LONG *)&a->value, (LONG)value);
}

bool spyi_atomic_swap_if(spyi_atomic *a, int32_t expected, int32_t value) {
    return InterlockedCompareExchange((volatile LONG *)&a->value, (LONG)value, (LONG)expected) ==
           (LONG)expected;
}

// A volatile word is written and read in one piece.
void spyi_note_thread(volatile uintptr_t *at, uintptr_t thread) {
    *at = thread;
}

uintptr_t spyi_noted_thread(const volatile uintptr_t *at) {
    return *at;
}

#endif

// The function that a new thread runs. The thread frees this struct when it starts.
typedef struct spyi_thread_start_info {
    void (*func)(void *);
    void *arg;
} spyi_thread_start_info;

static spyi_thread_start_info *spyi_make_start_info(void (*func)(void *), void *arg) {
    spyi_thread_start_info *info = (spyi_thread_start_info *)spyi_malloc(sizeof *info);
    if (info) {
        info->func = func;
        info->arg = arg;
    }
    return info;
}

static void spyi_run_start_info(void *start) {
    spyi_thread_start_info info = *(spyi_thread_start_info *)start;
    free(start);
    info.func(info.arg);
}

#ifdef _WIN32

// >>mutexes
typedef char spyi_mutex_has_room[sizeof(SRWLOCK) <= sizeof(spyi_mutex) ? 1 : -1];
static SRWLOCK spyi_global_mutex = SRWLOCK_INIT;

void spyi_mutex_init(spyi_mutex *m) {
    memset(m, 0, sizeof *m);
    InitializeSRWLock((SRWLOCK *)(void *)m);
}

void spyi_mutex_destroy(spyi_mutex *m) {
    (void)m;
}

void spyi_mutex_lock(spyi_mutex *m) {
    AcquireSRWLockExclusive((SRWLOCK *)(void *)m);
}

void spyi_mutex_unlock(spyi_mutex *m) {
    ReleaseSRWLockExclusive((SRWLOCK *)(void *)m);
}

void spyi_global_lock(void) {
    AcquireSRWLockExclusive(&spyi_global_mutex);
}

void spyi_global_unlock(void) {
    ReleaseSRWLockExclusive(&spyi_global_mutex);
}

// >>signals
typedef char spyi_signal_has_room[sizeof(CONDITION_VARIABLE) <= sizeof(spyi_signal) ? 1 : -1];

void spyi_signal_init(spyi_signal *s) {
    memset(s, 0, sizeof *s);
    InitializeConditionVariable((CONDITION_VARIABLE *)(void *)s);
}

void spyi_signal_destroy(spyi_signal *s) {
    (void)s;
}

void spyi_signal_wait(spyi_signal *s, spyi_mutex *m) {
    SleepConditionVariableSRW((CONDITION_VARIABLE *)(void *)s, (SRWLOCK *)(void *)m, INFINITE, 0);
}

bool spyi_signal_wait_ns(spyi_signal *s, spyi_mutex *m, uint64_t ns) {
    return SleepConditionVariableSRW((CONDITION_VARIABLE *)(void *)s, (SRWLOCK *)(void *)m,
                                     (DWORD)(ns / 1000000u + 1), 0) != 0;
}

void spyi_signal_all(spyi_signal *s) {
    WakeAllConditionVariable((CONDITION_VARIABLE *)(void *)s);
}

// >>threads
static DWORD WINAPI spyi_thread_main(LPVOID start) {
    spyi_run_start_info(start);
    return 0;
}

bool spyi_thread_start_deep(spyi_thread *t, void (*func)(void *), void *arg, size_t stack_bytes) {
    spyi_thread_start_info *info = spyi_make_start_info(func, arg);
    memset(t, 0, sizeof *t);
    if (!info) return false;
    t->handle[0] = CreateThread(NULL, stack_bytes, spyi_thread_main, info,
                                stack_bytes ? STACK_SIZE_PARAM_IS_A_RESERVATION : 0, NULL);
    if (!t->handle[0]) free(info);
    return t->handle[0] != NULL;
}

void spyi_thread_detach(spyi_thread *t) {
    CloseHandle((HANDLE)t->handle[0]);
    t->handle[0] = NULL;
}

// >>forks: Windows has none
int32_t spyi_fork_count(void) {
    return 0;
}

void spyi_fork_watch(void) {
}

void spyi_thread_join(spyi_thread *t) {
    WaitForSingleObject((HANDLE)t->handle[0], INFINITE);
    CloseHandle((HANDLE)t->handle[0]);
    t->handle[0] = NULL;
}

uintptr_t spyi_thread_id(void) {
    return (uintptr_t)GetCurrentThreadId();
}

void spyi_thread_pause(void) {
    YieldProcessor();
}

uint32_t spyi_processor_count(void) {
    SYSTEM_INFO info;
    GetSystemInfo(&info);
    return info.dwNumberOfProcessors > 0 ? (uint32_t)info.dwNumberOfProcessors : 1u;
}

// >>clock
uint64_t spyi_time_ns(void) {
    const uint64_t billion = 1000000000u;
    LARGE_INTEGER count, frequency;
    uint64_t c, f;
    QueryPerformanceCounter(&count);
    QueryPerformanceFrequency(&frequency);
    c = (uint64_t)count.QuadPart;
    f = (uint64_t)frequency.QuadPart;
    return c / f * billion + c % f * billion / f; // in two parts, so that the product does not overflow
}

#else // POSIX systems

// >>the clock that waits and spyi_time_ns() use
// With -std=c11 the C library hides clock_gettime(), and this file may be included after the program's
// includes, too late for a feature macro. The macro and the function are hidden together, so this declaration
// never meets another one.
#ifdef CLOCK_MONOTONIC
#define SPYI_CLOCK CLOCK_MONOTONIC
#else
#ifdef __cplusplus
extern "C"
#endif
    int
    clock_gettime(int clock, struct timespec *time);
#ifdef __APPLE__
#define SPYI_CLOCK 6
#else
#define SPYI_CLOCK 1
#endif
#endif

// >>mutexes
typedef char spyi_mutex_has_room[sizeof(pthread_mutex_t) <= sizeof(spyi_mutex) ? 1 : -1];
typedef char spyi_thread_has_room[sizeof(pthread_t) <= sizeof(spyi_thread) ? 1 : -1];
static pthread_mutex_t spyi_global_mutex = PTHREAD_MUTEX_INITIALIZER;

void spyi_mutex_init(spyi_mutex *m) {
    memset(m, 0, sizeof *m);
    pthread_mutex_init((pthread_mutex_t *)(void *)m, NULL);
}

void spyi_mutex_destroy(spyi_mutex *m) {
    pthread_mutex_destroy((pthread_mutex_t *)(void *)m);
}

void spyi_mutex_lock(spyi_mutex *m) {
    pthread_mutex_lock((pthread_mutex_t *)(void *)m);
}

void spyi_mutex_unlock(spyi_mutex *m) {
    pthread_mutex_unlock((pthread_mutex_t *)(void *)m);
}

void spyi_global_lock(void) {
    pthread_mutex_lock(&spyi_global_mutex);
}

void spyi_global_unlock(void) {
    pthread_mutex_unlock(&spyi_global_mutex);
}

// >>signals
typedef char spyi_signal_has_room[sizeof(pthread_cond_t) <= sizeof(spyi_signal) ? 1 : -1];

#ifdef __APPLE__
void spyi_signal_init(spyi_signal *s) {
    memset(s, 0, sizeof *s);
    pthread_cond_init((pthread_cond_t *)(void *)s, NULL);
}
#else
// C may repeat a declaration that a feature macro may have hidden; C++ compilers hide no declarations.
#ifndef __cplusplus
int pthread_condattr_setclock(pthread_condattr_t *attributes, int clock);
#endif

// Waits with a limit use the monotonic clock, because nobody can set it.
void spyi_signal_init(spyi_signal *s) {
    pthread_condattr_t attributes;
    memset(s, 0, sizeof *s);
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, SPYI_CLOCK);
    pthread_cond_init((pthread_cond_t *)(void *)s, &attributes);
    pthread_condattr_destroy(&attributes);
}
#endif

void spyi_signal_destroy(spyi_signal *s) {
    pthread_cond_destroy((pthread_cond_t *)(void *)s);
}

void spyi_signal_wait(spyi_signal *s, spyi_mutex *m) {
    pthread_cond_wait((pthread_cond_t *)(void *)s, (pthread_mutex_t *)(void *)m);
}

bool spyi_signal_wait_ns(spyi_signal *s, spyi_mutex *m, uint64_t ns) {
    const uint64_t billion = 1000000000u;
    struct timespec until;
#ifdef __APPLE__
    until.tv_sec = (time_t)(ns / billion);
    until.tv_nsec = (long)(ns % billion);
    return pthread_cond_timedwait_relative_np((pthread_cond_t *)(void *)s, (pthread_mutex_t *)(void *)m,
                                              &until) == 0;
#else
    uint64_t end = spyi_time_ns() + ns;
    until.tv_sec = (time_t)(end / billion);
    until.tv_nsec = (long)(end % billion);
    return pthread_cond_timedwait((pthread_cond_t *)(void *)s, (pthread_mutex_t *)(void *)m, &until) == 0;
#endif
}

void spyi_signal_all(spyi_signal *s) {
    pthread_cond_broadcast((pthread_cond_t *)(void *)s);
}

// >>threads
static void *spyi_thread_main(void *start) {
    spyi_run_start_info(start);
    return NULL;
}

bool spyi_thread_start_deep(spyi_thread *t, void (*func)(void *), void *arg, size_t stack_bytes) {
    spyi_thread_start_info *info = spyi_make_start_info(func, arg);
    pthread_t thread;
    memset(t, 0, sizeof *t);
    if (!info) return false;
    for (bool made = false; !made; stack_bytes /= 4) {
        pthread_attr_t attributes;
        pthread_attr_init(&attributes);
        if (stack_bytes) pthread_attr_setstacksize(&attributes, stack_bytes);
        made = pthread_create(&thread, &attributes, spyi_thread_main, info) == 0;
        pthread_attr_destroy(&attributes);
        if (!made && stack_bytes < (1u << 20)) {
            free(info);
            return false;
        }
    }
    memcpy(t->handle, &thread, sizeof thread);
    return true;
}

void spyi_thread_join(spyi_thread *t) {
    pthread_t thread;
    memcpy(&thread, t->handle, sizeof thread);
    pthread_join(thread, NULL);
    memset(t, 0, sizeof *t);
}

void spyi_thread_detach(spyi_thread *t) {
    pthread_t thread;
    memcpy(&thread, t->handle, sizeof thread);
    pthread_detach(thread);
    memset(t, 0, sizeof *t);
}

uintptr_t spyi_thread_id(void) {
    return (uintptr_t)pthread_self();
}

void spyi_thread_pause(void) {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ __volatile__("yield");
#endif
}

// >>forks
static int32_t spyi_forks;

// Runs in the child of a fork, which has only the forking thread. Makes a new global lock: another thread may
// have held the old one.
static void spyi_fork_child(void) {
    spyi_forks++;
    pthread_mutex_init(&spyi_global_mutex, NULL);
}

int32_t spyi_fork_count(void) {
    return spyi_forks;
}

void spyi_fork_watch(void) {
    static bool watching;
    spyi_global_lock();
    if (!watching) watching = pthread_atfork(NULL, NULL, spyi_fork_child) == 0;
    spyi_global_unlock();
}

uint32_t spyi_processor_count(void) {
    long count = sysconf(_SC_NPROCESSORS_ONLN);
    return count > 0 ? (uint32_t)count : 1u;
}

// >>clock
uint64_t spyi_time_ns(void) {
    struct timespec now;
    clock_gettime(SPYI_CLOCK, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

#endif

bool spyi_thread_start(spyi_thread *t, void (*func)(void *), void *arg) {
    return spyi_thread_start_deep(t, func, arg, 0);
}

// Turns: a lock for calls that take a microsecond or, now and then, milliseconds. It is taken and left by one atomic
// operation each while nobody else wants it. Who finds it taken looks again for a moment and then sleeps. A thread that
// comes by may take the turn before those that wake up, which is what keeps several busy threads fast; but once the first of
// them has waited for SPYI_TURNS_PATIENCE_NS nobody passes it, so that a thread that calls once a frame is not starved.
#include "base/base.h"

#define SPYI_TURNS_INSIDE 1
#define SPYI_TURNS_URGENT 2
#define SPYI_TURNS_WAITER 4
#define SPYI_TURNS_LOOKS 200 // about 4 us
#define SPYI_TURNS_PATIENCE_NS 500000u

#if defined(__GNUC__) || defined(__clang__)
static void spyi_turns_note(spyi_turns *t, uintptr_t thread) {
    __atomic_store_n(&t->inside, thread, __ATOMIC_RELAXED);
}
static uintptr_t spyi_turns_who(const spyi_turns *t) {
    return __atomic_load_n((volatile uintptr_t *)&t->inside, __ATOMIC_RELAXED);
}
#else // a volatile word is read and written whole
static void spyi_turns_note(spyi_turns *t, uintptr_t thread) {
    t->inside = thread;
}
static uintptr_t spyi_turns_who(const spyi_turns *t) {
    return t->inside;
}
#endif

void spyi_turns_init(spyi_turns *t, bool alone) {
    memset(t, 0, sizeof *t);
    spyi_fork_watch();
    t->fork_count = spyi_fork_count();
    t->alone = alone;
    spyi_mutex_init(&t->lock);
    spyi_signal_init(&t->changed);
}

void spyi_turns_destroy(spyi_turns *t) {
    spyi_signal_destroy(&t->changed);
    spyi_mutex_destroy(&t->lock);
}

bool spyi_turns_try(spyi_turns *t) {
    if (t->fork_count != spyi_fork_count()) return false;
    if (t->alone) {
        if (t->state.value) return false;
        t->state.value = SPYI_TURNS_INSIDE;
    } else if (!spyi_atomic_swap_if(&t->state, 0, SPYI_TURNS_INSIDE)) {
        return false;
    }
    spyi_turns_note(t, spyi_thread_id());
    return true;
}

// Free, and nobody urgent waits.
static bool spyi_turns_pass(spyi_turns *t) {
    int32_t state = spyi_atomic_load(&t->state);
    return !(state & (SPYI_TURNS_INSIDE | SPYI_TURNS_URGENT)) &&
           spyi_atomic_swap_if(&t->state, state, state | SPYI_TURNS_INSIDE);
}

// With the lock held: sleeps until the turn is this thread's, or the turns are closed. First come, first served.
static bool spyi_turns_sleep(spyi_turns *t) {
    uint32_t mine = t->next++;
    uint64_t since = spyi_time_ns();
    bool taken = false;
    spyi_atomic_add(&t->state, SPYI_TURNS_WAITER);
    while (!taken && !t->closed) {
        int32_t state = spyi_atomic_load(&t->state);
        if (mine == t->first && !(state & SPYI_TURNS_INSIDE)) {
            int32_t next = ((state - SPYI_TURNS_WAITER) | SPYI_TURNS_INSIDE) & ~SPYI_TURNS_URGENT;
            taken = spyi_atomic_swap_if(&t->state, state, next);
            continue;
        }
        if (mine == t->first && !(state & SPYI_TURNS_URGENT) &&
            spyi_time_ns() - since > SPYI_TURNS_PATIENCE_NS) {
            spyi_atomic_swap_if(&t->state, state, state | SPYI_TURNS_URGENT);
            continue; // it may have become free before that
        }
        spyi_signal_wait(&t->changed, &t->lock);
    }
    t->first++;
    if (taken) return true;
    spyi_atomic_add(&t->state, -SPYI_TURNS_WAITER);
    spyi_signal_all(&t->changed); // spyi_turns_close() waits for the last one
    return false;
}

spyi_turn spyi_turns_wait(spyi_turns *t, void (*block)(void *user, bool begins), void *user) {
    if (t->fork_count != spyi_fork_count()) return SPYI_TURN_FORKED;
    if (t->alone || spyi_turns_who(t) == spyi_thread_id()) return SPYI_TURN_MINE;
    bool taken = false;
    for (int i = 0; i < SPYI_TURNS_LOOKS && !taken; i++) {
        taken = spyi_turns_pass(t);
        if (!taken) spyi_thread_pause();
    }
    if (!taken) {
        if (block) block(user, true);
        spyi_mutex_lock(&t->lock);
        taken = spyi_turns_sleep(t);
        spyi_mutex_unlock(&t->lock);
        if (block) block(user, false);
    }
    if (!taken) return SPYI_TURN_CLOSED;
    spyi_turns_note(t, spyi_thread_id());
    return SPYI_TURN_TAKEN;
}

void spyi_turns_leave(spyi_turns *t) {
    spyi_turns_note(t, 0);
    if (t->alone) {
        t->state.value = 0;
    } else if (!SPYI_LIKELY(spyi_atomic_add(&t->state, -SPYI_TURNS_INSIDE) == 0)) {
        spyi_mutex_lock(&t->lock); // a thread that has just seen the turn taken sleeps by now
        spyi_signal_all(&t->changed);
        spyi_mutex_unlock(&t->lock);
    }
}

void spyi_turns_close(spyi_turns *t) {
    spyi_mutex_lock(&t->lock);
    t->closed = true;
    spyi_signal_all(&t->changed);
    while (spyi_atomic_load(&t->state) >= SPYI_TURNS_WAITER) spyi_signal_wait(&t->changed, &t->lock);
    spyi_mutex_unlock(&t->lock);
}

int32_t spyi_turns_events(spyi_turns *t) {
    return spyi_atomic_load(&t->events);
}

void spyi_turns_await(spyi_turns *t, int32_t seen, void (*block)(void *user, bool begins), void *user) {
    spyi_turns_leave(t);
    if (block) block(user, true);
    spyi_mutex_lock(&t->lock);
    while (spyi_atomic_load(&t->events) == seen) spyi_signal_wait(&t->changed, &t->lock);
    spyi_mutex_unlock(&t->lock);
    if (block) block(user, false);
    if (!spyi_turns_try(t)) (void)spyi_turns_wait(t, block, user);
}

void spyi_turns_notify(spyi_turns *t) {
    spyi_mutex_lock(&t->lock);
    spyi_atomic_add(&t->events, 1);
    spyi_signal_all(&t->changed);
    spyi_mutex_unlock(&t->lock);
}

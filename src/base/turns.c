// Turns: a lock for calls that take a microsecond or, now and then, milliseconds. While no other thread wants
// it, one atomic operation takes it and a plain store leaves it. A thread that finds it taken looks again for
// a moment and then sleeps. A thread that arrives may take the turn before threads that are waking up, which
// keeps several busy threads fast; but once the first waiting thread has waited for SPYI_TURNS_PATIENCE_NS
// nobody passes it, so that a thread that calls once a frame is not starved.
// A leaving thread may miss a thread that begins to wait at that moment, because the store is not ordered
// with its read of `waiters`; therefore sleeping threads look for themselves every SPYI_TURNS_NAP_US. (An
// ordered exchange instead of the store would cost each call some nanoseconds: docs/measurements.md, "Small
// costs of a call".)
#include "base/base.h"

#define SPYI_TURNS_LOOKS 200 // looks before a thread sleeps, about 4 us
#define SPYI_TURNS_PATIENCE_NS 500000u
#define SPYI_TURNS_NAP_US 300u

enum { SPYI_TURNS_FREE, SPYI_TURNS_INSIDE, SPYI_TURNS_RESERVED };

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
        if (t->state.value != SPYI_TURNS_FREE) return false;
        t->state.value = SPYI_TURNS_INSIDE;
    } else if (!spyi_atomic_swap_if(&t->state, SPYI_TURNS_FREE, SPYI_TURNS_INSIDE)) {
        return false;
    }
    spyi_note_thread(&t->inside, spyi_thread_id());
    return true;
}

// Sleeps until this thread has the turn (returns true) or the turns are closed (false), in order of arrival.
// The caller holds the lock.
static bool spyi_turns_sleep(spyi_turns *t) {
    uint32_t mine = t->next++;
    uint64_t since = spyi_time_ns();
    bool taken = false;
    spyi_atomic_add(&t->waiters, 1);
    while (!t->closed) {
        bool first = mine == t->first;
        taken = first && (spyi_atomic_swap_if(&t->state, SPYI_TURNS_FREE, SPYI_TURNS_INSIDE) ||
                          spyi_atomic_swap_if(&t->state, SPYI_TURNS_RESERVED, SPYI_TURNS_INSIDE));
        if (taken) break;
        if (first && spyi_time_ns() - since > SPYI_TURNS_PATIENCE_NS) t->urgent = true;
        spyi_signal_wait_ns(&t->changed, &t->lock, SPYI_TURNS_NAP_US * 1000u);
    }
    if (taken) t->urgent = false;
    t->first++;
    spyi_atomic_add(&t->waiters, -1);
    if (!taken)
        spyi_signal_all(&t->changed); // spyi_turns_close() waits until the last waiting thread has
                                      // gone
    return taken;
}

spyi_turn spyi_turns_wait(spyi_turns *t, void (*block)(void *user, bool begins), void *user) {
    if (t->fork_count != spyi_fork_count()) return SPYI_TURN_FORKED;
    if (t->alone || spyi_noted_thread(&t->inside) == spyi_thread_id()) return SPYI_TURN_MINE;
    bool taken = false;
    for (int i = 0; i < SPYI_TURNS_LOOKS && !taken; i++) {
        taken = spyi_atomic_load(&t->state) == SPYI_TURNS_FREE &&
                spyi_atomic_swap_if(&t->state, SPYI_TURNS_FREE, SPYI_TURNS_INSIDE);
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
    spyi_note_thread(&t->inside, spyi_thread_id());
    return SPYI_TURN_TAKEN;
}

void spyi_turns_leave(spyi_turns *t) {
    spyi_note_thread(&t->inside, 0);
    if (SPYI_LIKELY(spyi_atomic_load(&t->waiters) == 0)) {
        spyi_atomic_store(&t->state, SPYI_TURNS_FREE);
        return;
    }
    spyi_mutex_lock(&t->lock);
    bool reserved = t->urgent && spyi_atomic_load(&t->waiters) > 0;
    spyi_atomic_store(&t->state, reserved ? SPYI_TURNS_RESERVED : SPYI_TURNS_FREE);
    spyi_signal_all(&t->changed);
    spyi_mutex_unlock(&t->lock);
}

void spyi_turns_close(spyi_turns *t) {
    spyi_mutex_lock(&t->lock);
    t->closed = true;
    spyi_signal_all(&t->changed);
    while (spyi_atomic_load(&t->waiters) > 0) spyi_signal_wait(&t->changed, &t->lock);
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

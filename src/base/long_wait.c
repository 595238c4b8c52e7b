// Waits for slow work, such as a compile on another thread. The log gets a line after two seconds, and the
// caller stops waiting when desc.interrupt says so or desc.compile_timeout_s has passed.
#include "base/base.h"

#define SPYI_WAIT_QUICK_NS 2000000u // desc.blocking is called only for waits that are longer than this
#define SPYI_WAIT_LOOK_NS 50000000u // time between two calls of desc.interrupt, in nanoseconds
// Time to the first log line, in nanoseconds; each next line comes after five times as long.
#define SPYI_WAIT_LINE_NS 2000000000u

void spyi_long_wait_begin(spyi_long_wait *wait, spyi_context *ctx, const char *what, const char *who,
                          bool quiet) {
    memset(wait, 0, sizeof *wait);
    wait->ctx = ctx;
    wait->what = what;
    wait->who = who;
    wait->quiet = quiet;
    wait->began = spyi_time_ns();
    wait->next_line = SPYI_WAIT_LINE_NS;
}

bool spyi_long_wait_left(const spyi_long_wait *wait) {
    return wait->interrupted || wait->late;
}

static double spyi_long_wait_seconds(const spyi_long_wait *wait) {
    return (double)(spyi_time_ns() - wait->began) * 1e-9;
}

// Checks the log, the interrupt and the limit, without the lock.
static void spyi_long_wait_look(spyi_long_wait *wait) {
    spyi_context *ctx = wait->ctx;
    double s = spyi_long_wait_seconds(wait);
    if (!wait->blocked) spyi_block(ctx, true);
    wait->blocked = true;
    if (s * 1e9 >= (double)wait->next_line) {
        spyi_logf(ctx, SPY_LOG_LEVEL_WARNING, "%s: %.0f s so far; %s is still at it", wait->what, s,
                  wait->who);
        wait->next_line *= 5;
    }
    if (!wait->quiet && ctx->interrupt.func && ctx->interrupt.func(ctx->interrupt.user_data))
        wait->interrupted = true;
    if (ctx->compile_timeout_s > 0 && s >= ctx->compile_timeout_s) wait->late = true;
}

void spyi_long_wait_once(spyi_long_wait *wait, spyi_signal *signal, spyi_mutex *lock) {
    if (spyi_signal_wait_ns(signal, lock, wait->blocked ? SPYI_WAIT_LOOK_NS : SPYI_WAIT_QUICK_NS)) return;
    spyi_mutex_unlock(lock);
    spyi_long_wait_look(wait);
    spyi_mutex_lock(lock);
}

spy_status spyi_long_wait_say(const spyi_long_wait *wait, spyi_text *error) {
    double s = spyi_long_wait_seconds(wait);
    if (wait->interrupted) {
        spyi_text_add(error, "%s: interrupted after %.1f s", wait->what, s);
        return SPY_ERROR_INTERRUPTED;
    }
    spyi_text_add(error, "%s: not done after %.1f s; desc.compile_timeout_s allows %g", wait->what, s,
                  wait->ctx->compile_timeout_s);
    return SPY_ERROR_TIMEOUT;
}

void spyi_long_wait_end(spyi_long_wait *wait) {
    if (wait->blocked) spyi_block(wait->ctx, false);
    wait->blocked = false;
}

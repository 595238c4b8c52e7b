// Errors of a device and of a thread, log, progress, the device's host memory, and the context that holds
// them.
#include "base/inner.h"

// >>memory that ran out

static SPYI_THREAD_LOCAL uint32_t spyi_this_thread_failed;

uint32_t spyi_failed_allocations(void) {
    return spyi_this_thread_failed;
}

void spyi_note_failed_allocations(uint32_t count) {
    spyi_this_thread_failed += count;
}

spy_status spyi_check_allocations(uint32_t before, spy_status status, spyi_text *error) {
    if (spyi_this_thread_failed == before) return status;
    spyi_text_clear(error);
    spyi_text_add(error, "out of host memory");
    return SPY_ERROR_OUT_OF_MEMORY;
}

static void *spyi_noted(void *memory) {
    if (!memory) spyi_note_failed_allocations(1);
    return memory;
}

void *spyi_malloc(size_t size) {
    return spyi_noted(malloc(size));
}

void *spyi_calloc(size_t count, size_t size) {
    return spyi_noted(calloc(count, size));
}

void *spyi_realloc(void *memory, size_t size) {
    return spyi_noted(realloc(memory, size));
}

// >>allocator

// The library asks for 16-byte alignment only, which malloc() gives on 64-bit systems.
static void *spyi_default_allocate(size_t size_bytes, size_t alignment, void *user_data) {
    (void)alignment, (void)user_data;
    return malloc(size_bytes);
}

static void *spyi_default_reallocate(void *memory, size_t old_size_bytes, size_t new_size_bytes,
                                     size_t alignment, void *user_data) {
    (void)old_size_bytes, (void)alignment, (void)user_data;
    return realloc(memory, new_size_bytes);
}

static void spyi_default_free(void *memory, size_t size_bytes, void *user_data) {
    (void)size_bytes, (void)user_data;
    free(memory);
}

static spy_allocator spyi_default_allocator(void) {
    spy_allocator a;
    a.allocate = spyi_default_allocate;
    a.reallocate = spyi_default_reallocate;
    a.free = spyi_default_free;
    a.user_data = NULL;
    return a;
}

bool spyi_allocator_is_given(const spyi_context *ctx) {
    return ctx->allocator.allocate != spyi_default_allocate;
}

enum { SPYI_ALIGNMENT = 16 };

void *spyi_allocate(spyi_context *ctx, size_t size) {
    spy_allocator a = ctx ? ctx->allocator : spyi_default_allocator();
    void *memory;
    if (size == 0) size = 1; // NULL then always means out of memory; spyi_free() uses the same size
    memory = a.allocate(size, SPYI_ALIGNMENT, a.user_data);
    if (memory) memset(memory, 0, size);
    return spyi_noted(memory);
}

void *spyi_reallocate(spyi_context *ctx, void *memory, size_t old_size, size_t new_size) {
    spy_allocator a = ctx ? ctx->allocator : spyi_default_allocator();
    void *moved;
    if (!memory) return spyi_allocate(ctx, new_size);
    if (old_size == 0) old_size = 1;
    if (new_size == 0) new_size = 1;
    moved = a.reallocate(memory, old_size, new_size, SPYI_ALIGNMENT, a.user_data);
    if (moved && new_size > old_size) memset((char *)moved + old_size, 0, new_size - old_size);
    return spyi_noted(moved);
}

void spyi_free(spyi_context *ctx, void *memory, size_t size) {
    spy_allocator a = ctx ? ctx->allocator : spyi_default_allocator();
    if (memory) a.free(memory, size ? size : 1, a.user_data);
}

// >>log

bool spyi_log_wants(const spyi_context *ctx, spy_log_level level) {
    spy_log_level least;
    if (!ctx || !ctx->log.func) return false;
    least = ctx->log.level == SPY_LOG_LEVEL_DEFAULT ? SPY_LOG_LEVEL_WARNING : ctx->log.level;
    return level <= least;
}

// The context whose log function this thread is in. Messages of that function to the same log are dropped, so
// that a failing log function does not call itself without end.
static SPYI_THREAD_LOCAL const spyi_context *spyi_logging;

// The text that keeps this thread's messages, or NULL. Each message is one byte with its level, then its text
// with the NUL.
static SPYI_THREAD_LOCAL spyi_text *spyi_kept_log;

static void spyi_log_text(spyi_context *ctx, spy_log_level level, const spyi_text *text) {
    const spyi_context *outer = spyi_logging;
    if (spyi_kept_log) {
        const char head = (char)level;
        spyi_text_add_n(spyi_kept_log, &head, 1);
        spyi_text_add_n(spyi_kept_log, spyi_text_str(text), text->size + 1);
        return;
    }
    if (outer == ctx) return;
    spyi_logging = ctx;
    ctx->log.func(level, spyi_text_str(text), ctx->log.user_data);
    spyi_logging = outer;
}

void spyi_logf(spyi_context *ctx, spy_log_level level, const char *format, ...) {
    spyi_text text = { NULL, 0, 0 };
    va_list args;
    if (!spyi_log_wants(ctx, level)) return;
    va_start(args, format);
    spyi_text_add_args(&text, format, args);
    va_end(args);
    spyi_log_text(ctx, level, &text);
    spyi_text_free(&text);
}

spyi_text *spyi_keep_log(spyi_text *lines) {
    spyi_text *before = spyi_kept_log;
    spyi_kept_log = lines;
    return before;
}

void spyi_tell_log(spyi_context *ctx, spyi_text *lines) {
    for (size_t at = 0; at + 1 < lines->size;) {
        const char *text = lines->data + at + 1;
        spyi_logf(ctx, (spy_log_level)lines->data[at], "%s", text);
        at += strlen(text) + 2;
    }
    spyi_text_free(lines);
}

void spyi_block(spyi_context *ctx, bool begins) {
    if (ctx && ctx->blocking.func) ctx->blocking.func(begins, ctx->blocking.user_data);
}

void spyi_step(spyi_context *ctx, const char *step, bool finished) {
    if (finished) spyi_block(ctx, false);
    if (ctx && ctx->progress.func) ctx->progress.func(step, finished, ctx->progress.user_data);
    if (!finished) spyi_block(ctx, true);
}

// >>errors

// A thread's error is in fixed memory, so that nothing is left behind when the thread ends.
enum { SPYI_THREAD_TEXT = 8192, SPYI_THREAD_MISSING = 2048 };
typedef struct spyi_thread_error {
    spy_status code; // first error since the last take
    char text[SPYI_THREAD_TEXT];
    char taken[SPYI_THREAD_TEXT];      // the text that the last take returned
    spy_status reported;               // last error, on any device
    char missing[SPYI_THREAD_MISSING]; // what the next error is about: see spyi_note_missing()
    size_t missing_size;
} spyi_thread_error;
static SPYI_THREAD_LOCAL spyi_thread_error spyi_this_thread;

// Formats into `text` of `size` bytes. A longer result is cut between UTF-8 characters and ends in "...".
static void spyi_format_cut(char *text, size_t size, const char *format, va_list args) {
    int n = vsnprintf(text, size, format, args);
    size_t end = size - 4;
    if (n < 0) text[0] = 0;
    if (n < 0 || (size_t)n < size) return;
    while (end > 0 && ((unsigned char)text[end] & 0xc0) == 0x80) end--;
    memcpy(text + end, "...", 4);
}

void spyi_note_missing(const char *names, size_t size) {
    spyi_thread_error *mine = &spyi_this_thread;
    mine->missing_size = size < sizeof mine->missing ? size : 0;
    if (mine->missing_size) memcpy(mine->missing, names, size);
}

spy_status spyi_fail(spyi_context *ctx, spy_status status, const char *format, ...) {
    spyi_text text = { NULL, 0, 0 }, swap;
    va_list args;
    SPYI_ASSERT(status != SPY_OK);
    spyi_this_thread.reported = status;
    va_start(args, format);
    if (!ctx) {
        spyi_thread_error *mine = &spyi_this_thread;
        if (mine->code == SPY_OK) {
            mine->code = status;
            spyi_format_cut(mine->text, sizeof mine->text, format, args);
        }
        va_end(args);
        return status;
    }
    spyi_text_add_args(&text, format, args);
    va_end(args);
    if (text.size == 0) spyi_text_add(&text, "%s", spy_status_text(status));
    // The lock is not held while the log is called, because the callback may ask for the error.
    if (spyi_log_wants(ctx, SPY_LOG_LEVEL_ERROR)) spyi_log_text(ctx, SPY_LOG_LEVEL_ERROR, &text);
    spyi_mutex_lock(&ctx->error_lock);
    if (ctx->error_code == SPY_OK) {
        ctx->error_code = status;
        swap = ctx->error;
        ctx->error = text;
        text = swap;
        spyi_text_clear(&ctx->missing);
        if (spyi_this_thread.missing_size)
            spyi_text_add_n(&ctx->missing, spyi_this_thread.missing, spyi_this_thread.missing_size);
    }
    spyi_this_thread.missing_size = 0;
    spyi_mutex_unlock(&ctx->error_lock);
    spyi_text_free(&text);
    return status;
}

void spyi_forget_thread_error(void) {
    spyi_this_thread.code = SPY_OK;
}

spy_status spyi_reported_status(void) {
    return spyi_this_thread.reported;
}

// Reports the use of a device that the parent process made. No lock is taken: a thread that does not exist in
// this process may hold it.
spy_status spyi_forked(spyi_context *ctx, const char *function) {
    const char *format =
        "%s: device '%s' was made before this process was forked; make another one in the child";
    spyi_logf(ctx, SPY_LOG_LEVEL_ERROR, format, function, ctx->label);
    return spyi_fail(NULL, SPY_ERROR_DEVICE_LOST, format, function, ctx->label);
}

// Returns the message, or the status's text when memory ran out for the message.
static const char *spyi_message_or_status(const char *message, spy_status status) {
    return message[0] ? message : spy_status_text(status);
}

static spy_error spyi_take_thread_error(void) {
    spyi_thread_error *mine = &spyi_this_thread;
    spy_error error;
    error.code = mine->code;
    error.message = "";
    if (error.code == SPY_OK) return error;
    memcpy(mine->taken, mine->text, sizeof mine->taken);
    mine->code = SPY_OK;
    error.message = spyi_message_or_status(mine->taken, error.code);
    return error;
}

spy_error spy_take_error(spy_device *device) {
    spyi_context *ctx = (spyi_context *)(void *)device; // a device begins with its context
    spyi_text swap;
    spy_error error;
    if (!device) return spyi_take_thread_error();
    error.code = SPY_ERROR_RELEASED;
    error.message =
        "spy_take_error: device: expected a device, but it has been released or is another object";
    if (ctx->object.kind != (uint32_t)SPYI_KIND_DEVICE) return error;
    if (ctx->turns.fork_count != spyi_fork_count()) {
        error.code = SPY_ERROR_DEVICE_LOST;
        error.message = "spy_take_error: the device was made before this process was forked; make another "
                        "one in the child";
        return error;
    }
    spyi_mutex_lock(&ctx->error_lock);
    error.code = ctx->error_code;
    error.message = "";
    if (error.code != SPY_OK) {
        swap = ctx->taken;
        ctx->taken = ctx->error;
        ctx->error = swap;
        spyi_text_clear(&ctx->error);
        swap = ctx->taken_missing;
        ctx->taken_missing = ctx->missing;
        ctx->missing = swap;
        spyi_text_clear(&ctx->missing);
        ctx->error_code = SPY_OK;
        error.message = spyi_message_or_status(spyi_text_str(&ctx->taken), error.code);
    }
    spyi_mutex_unlock(&ctx->error_lock);
    return error;
}

const char *spy_missing_names(const spy_device *device) {
    const spyi_context *ctx = (const spyi_context *)(const void *)device;
    if (!device || ctx->object.kind != (uint32_t)SPYI_KIND_DEVICE || !ctx->taken_missing.size) return "";
    return ctx->taken_missing.data; // a text ends with one more NUL
}

// >>context

static const char spyi_default_label[] = "device";
enum { SPYI_COMPILE_TIMEOUT_S = 600 }; // the limit in seconds if the desc has none

// Fills the context. An allocator that lacks a function is reported as the context's first error: read
// ctx->error_code afterwards.
void spyi_context_init(spyi_context *ctx, const spy_device_desc *desc) {
    memset(ctx, 0, sizeof *ctx);
    ctx->object.kind = (uint32_t)SPYI_KIND_DEVICE;
    ctx->object.references.value = 1;
    ctx->object.device = (spy_device *)(void *)ctx;
    ctx->allocator = spyi_default_allocator();
    ctx->label = spyi_default_label;
    spyi_mutex_init(&ctx->error_lock);
    spyi_mutex_init(&ctx->release_lock);
    spyi_turns_init(&ctx->turns, desc && desc->single_threaded);
    if (!desc) return;
    ctx->log = desc->log;
    ctx->progress = desc->progress;
    ctx->blocking = desc->blocking;
    ctx->interrupt = desc->interrupt;
    if (desc->compile_timeout_s > 0) ctx->compile_timeout_s = desc->compile_timeout_s;
    else if (!(desc->compile_timeout_s < 0)) ctx->compile_timeout_s = SPYI_COMPILE_TIMEOUT_S;
    if (desc->label) {
        char *label = spyi_strdup(desc->label); // a copy, because the caller may free the desc's text
        if (label) ctx->label = label;
    }
    if (desc->allocator.allocate && desc->allocator.reallocate && desc->allocator.free)
        ctx->allocator = desc->allocator;
    else if (desc->allocator.allocate || desc->allocator.reallocate || desc->allocator.free)
        spyi_fail(ctx, SPY_ERROR_INVALID_ARGUMENT,
                  "spy_create_device: desc->allocator: expected all of allocate, reallocate and free, or "
                  "none; %s is NULL",
                  !desc->allocator.allocate     ? "allocate"
                  : !desc->allocator.reallocate ? "reallocate"
                                                : "free");
}

void spyi_context_destroy(spyi_context *ctx) {
    ctx->object.kind = (uint32_t)SPYI_KIND_DEAD;
    if (ctx->label != spyi_default_label) free((void *)(uintptr_t)ctx->label);
    ctx->label = spyi_default_label;
    spyi_text_free(&ctx->error);
    spyi_text_free(&ctx->taken);
    spyi_text_free(&ctx->missing);
    spyi_text_free(&ctx->taken_missing);
    spyi_mutex_destroy(&ctx->error_lock);
    spyi_mutex_destroy(&ctx->release_lock);
    spyi_turns_destroy(&ctx->turns);
}

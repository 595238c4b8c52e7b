// The print buffer: kernels append records to it (src/slang/slangpy_print.slang); the host reads them once
// the work is over and delivers them as text. For hazards, kernels that print count as readers of the buffer,
// since atomics order them, and the host's reset of its header counts as a write.
#include "data/gpu_print.h"

#include "api/print.h"

typedef struct spyi_print_buffer {
    spyi_storage *storage;
    size_t buffer_bytes;
    uint32_t capacity;      // the number of words for records
    spyi_text pending;      // messages to deliver, each of which is a byte for its level, its text and a NUL
    spyi_mutex lock;        // guards `literals`, to which compile threads add too
    spyi_literals literals; // literals of all kernels loaded so far
} spyi_print_buffer;

enum { SPYI_PRINT_DEFAULT_BYTES = 1 << 20, SPYI_PRINT_LEAST_BYTES = 64, SPYI_PRINT_MOST_BYTES = 1 << 30 };

// >>the buffer

SPYI_FN spyi_use spyi_print_use(const spy_device *device) {
    const spyi_print_buffer *p = device->printer;
    return spyi_use_of(&p->storage->resource, 0, p->buffer_bytes, SPYI_USE_READS);
}

// Records that the buffer is emptied, before the kernels that are recorded from now on.
static spy_status spyi_print_reset(spy_device *device, spyi_text *error) {
    spyi_print_buffer *p = device->printer;
    uint32_t header[SPYI_PRINT_HEADER_WORDS] = { 0, 0, 0, 0 };
    header[2] = p->capacity;
    spyi_use use = spyi_print_use(device);
    use.how = SPYI_USE_WRITES;
    spyi_upload_work upload = spyi_upload_of(&p->storage->chunk, p->storage->offset, header, sizeof header);
    spy_status status = spyi_record_with(device, &upload.work, &use, 1, false, error);
    p->storage->read_epoch = 0; // all earlier readers have finished
    return status;
}

// Returns whether kernels that print were recorded since the last reset.
static bool spyi_print_is_used(const spyi_print_buffer *p) {
    return p->storage && p->storage->read_epoch != 0;
}

SPYI_FN spy_status spyi_print_create(spy_device *device, size_t buffer_bytes, spyi_text *error) {
    spy_status status = SPY_OK;
    if (buffer_bytes == 0) buffer_bytes = SPYI_PRINT_DEFAULT_BYTES;
    if (buffer_bytes < SPYI_PRINT_LEAST_BYTES || buffer_bytes > SPYI_PRINT_MOST_BYTES) {
        spyi_text_add(error, "desc.print_buffer_bytes is %zu; expected %d to %d, or 0 for %d", buffer_bytes,
                      SPYI_PRINT_LEAST_BYTES, SPYI_PRINT_MOST_BYTES, SPYI_PRINT_DEFAULT_BYTES);
        return SPY_ERROR_INVALID_ARGUMENT;
    }
    if (!(device->base->limits.info.features & SPY_FEATURE_POINTERS)) {
        spyi_text_add(error, "desc.enable_print needs a device with SPY_FEATURE_POINTERS");
        return SPY_ERROR_UNSUPPORTED;
    }
    spyi_print_buffer *p = (spyi_print_buffer *)spyi_allocate(&device->ctx, sizeof *p);
    if (!p) {
        spyi_text_add(error, "out of host memory");
        return SPY_ERROR_OUT_OF_MEMORY;
    }
    spyi_mutex_init(&p->lock);
    device->printer = p;
    p->buffer_bytes = buffer_bytes;
    p->capacity = (uint32_t)(buffer_bytes / sizeof(uint32_t)) - SPYI_PRINT_HEADER_WORDS;
    p->storage = spyi_pool_take(device, SPYI_MEMORY_DEVICE, buffer_bytes, "slangpy print", error, &status);
    if (!p->storage) return status;
    p->storage->resource.references = 1; // the device's reference; command lists hold further ones
    return spyi_print_reset(device, error);
}

SPYI_FN void spyi_print_destroy(spy_device *device) {
    spyi_print_buffer *p = device->printer;
    if (!p) return;
    if (p->storage) spyi_resource_release(device, &p->storage->resource);
    spyi_text_free(&p->pending);
    spyi_literals_free(&p->literals);
    spyi_mutex_destroy(&p->lock);
    spyi_free(&device->ctx, p, sizeof *p);
    device->printer = NULL;
}

SPYI_FN uint64_t spyi_print_address(const spy_device *device) {
    const spyi_print_buffer *p = device->printer;
    return p ? p->storage->chunk.address + p->storage->offset : 0;
}

SPYI_FN void spyi_print_learn(spy_device *device, const spyi_literals *literals) {
    spyi_print_buffer *p = device->printer;
    if (!p) return;
    spyi_mutex_lock(&p->lock);
    for (uint32_t i = 0; i < literals->count; i++)
        spyi_literals_add(&p->literals, literals->items[i].hash, literals->items[i].text,
                          strlen(literals->items[i].text));
    spyi_mutex_unlock(&p->lock);
}

// >>messages

static void spyi_print_add(spyi_print_buffer *p, spy_log_level level, const spyi_text *message) {
    char byte = (char)level;
    spyi_text_add_n(&p->pending, &byte, 1);
    spyi_text_add_n(&p->pending, spyi_text_str(message), strlen(spyi_text_str(message)) + 1);
}

static void spyi_print_format_all(spyi_print_buffer *p, const uint32_t *words, uint32_t count) {
    spyi_text message = { NULL, 0, 0 };
    spyi_mutex_lock(&p->lock);
    for (uint32_t at = 0; count - at >= 2 && words[at] >= 2 && words[at] <= count - at; at += words[at]) {
        spyi_text_clear(&message);
        spyi_print_format(words + at, words[at], &p->literals, &message);
        spyi_print_add(p, SPY_LOG_LEVEL_INFO, &message);
    }
    spyi_mutex_unlock(&p->lock);
    spyi_text_free(&message);
}

// Waits for all kernels that print, turns their records into pending messages, and empties the buffer.
static spy_status spyi_print_gather(spy_device *device, spyi_text *error) {
    spyi_print_buffer *p = device->printer;
    if (!spyi_print_is_used(p)) return SPY_OK;
    spyi_watch(device->base);
    if (device->base->recording) {
        spyi_text_add(error, "%s", spyi_recording_text(device->base));
        return SPY_ERROR_UNSUPPORTED;
    }
    const spyi_storage *storage = p->storage;
    uint32_t header[SPYI_PRINT_HEADER_WORDS];
    uint64_t after = storage->resource.use_submit;
    spy_status status = device->backend->download(device->gpu, header, &storage->chunk, storage->offset,
                                                  sizeof header, after, error);
    if (status != SPY_OK) return status;
    uint32_t count = header[0] < p->capacity ? header[0] : p->capacity;
    uint32_t *words = (uint32_t *)spyi_malloc(count * sizeof *words + 1);
    if (!words) {
        spyi_text_add(error, "out of host memory");
        return SPY_ERROR_OUT_OF_MEMORY;
    }
    if (count)
        status =
            device->backend->download(device->gpu, words, &storage->chunk, storage->offset + sizeof header,
                                      count * sizeof *words, after, error);
    if (status == SPY_OK) {
        spyi_print_format_all(p, words, count);
        if (header[1]) {
            spyi_text lost = { NULL, 0, 0 };
            spyi_text_add(&lost,
                          "print: %u message%s did not fit and %s lost: the buffer has %zu bytes; give the "
                          "device a larger desc.print_buffer_bytes, or wait more often",
                          header[1], header[1] == 1 ? "" : "s", header[1] == 1 ? "is" : "are",
                          p->buffer_bytes);
            spyi_print_add(p, SPY_LOG_LEVEL_WARNING, &lost);
            spyi_text_free(&lost);
        }
        status = spyi_print_reset(device, error);
    }
    free(words);
    return status;
}

// Hands pending messages to the log. Warnings obey desc.log.level; printed messages do not, since
// desc.enable_print asked for them.
static void spyi_print_to_log(spy_device *device) {
    spyi_print_buffer *p = device->printer;
    for (size_t at = 0; at < p->pending.size; at += strlen(p->pending.data + at) + 1) {
        spy_log_level level = (spy_log_level)p->pending.data[at];
        if (level == SPY_LOG_LEVEL_INFO || spyi_log_wants(&device->ctx, level))
            device->ctx.log.func(level, p->pending.data + at + 1, device->ctx.log.user_data);
    }
    spyi_text_clear(&p->pending);
}

SPYI_FN spy_status spyi_print_flush(spy_device *device, const char *function) {
    spyi_text error = { NULL, 0, 0 };
    if (!device->printer || !device->ctx.log.func) return SPY_OK;
    spy_status status = spyi_print_gather(device, &error);
    if (status != SPY_OK) spyi_fail_text(device, status, function, &error);
    spyi_print_to_log(device);
    return status;
}

SPYI_FN void spyi_print_deliver(spy_device *device) {
    spyi_print_buffer *p = device->printer;
    if (SPYI_LIKELY(!p) || !device->ctx.log.func) return;
    if (spyi_print_is_used(p) ? device->base->recording || device->backend->finished_submit(device->gpu) <
                                                               p->storage->resource.use_submit
                              : !p->pending.size)
        return;
    spyi_print_flush(device, "print");
}

// >>entry points

spy_status spy_flush_print(spy_device *device) {
    const char *function = "spy_flush_print";
    spy_status status = spyi_enter(device, SPYI_KIND_DEVICE, function);
    if (status != SPY_OK) return status;
    status = spyi_print_flush(device, function);
    spyi_leave(device);
    return status;
}

size_t spy_read_print(spy_device *device, char *text, size_t capacity) {
    const char *function = "spy_read_print";
    if (text && capacity) text[0] = 0;
    if (spyi_enter(device, SPYI_KIND_DEVICE, function) != SPY_OK) return 0;
    spyi_print_buffer *p = device->printer;
    spyi_text error = { NULL, 0, 0 };
    spy_status status = p ? spyi_print_gather(device, &error) : SPY_OK;
    size_t size = 0;
    if (status != SPY_OK) {
        spyi_fail_text(device, status, function, &error);
    } else if (p) {
        size = p->pending.size;
        for (size_t at = 0; at < p->pending.size; at += strlen(p->pending.data + at) + 1)
            size--; // the level's byte is not text; the NUL becomes a newline
    }
    if (size && text && capacity > size) {
        char *to = text;
        for (size_t at = 0; at < p->pending.size;) {
            size_t length = strlen(p->pending.data + at + 1);
            memcpy(to, p->pending.data + at + 1, length);
            to[length] = '\n';
            to += length + 1;
            at += length + 2;
        }
        *to = 0;
        spyi_text_clear(&p->pending);
    }
    spyi_leave(device);
    return size;
}

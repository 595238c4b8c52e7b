// Implements desc.check_bounds on the host. A device has one record, which the first bad index in a kernel
// fills, and a list of sites: the arguments whose numbers the tensors in kernels carry.
#include "data/bounds.h"

enum { SPYI_BOUNDS_WORDS = 28 };   // the number of words of the record (slangpy_bounds.slang)
enum { SPYI_BOUNDS_COMPLETE = 2 }; // the value of word 0 of a record that a kernel has written

// The names of a function and of one of its arguments.
typedef struct spyi_site {
    char *function, *argument;
} spyi_site;

typedef struct spyi_bounds {
    spyi_storage *storage;
    spyi_mutex lock; // guards the sites, to which compile threads add too
    spyi_site *sites;
    uint32_t count, capacity;
} spyi_bounds;

static spy_status spyi_bounds_clear(spy_device *device, spyi_text *error) {
    static const uint32_t zeros[SPYI_BOUNDS_WORDS] = { 0 };
    const spyi_storage *storage = device->bounds->storage;
    spyi_upload_work upload = spyi_upload_of(&storage->chunk, storage->offset, zeros, sizeof zeros);
    spy_status status = spyi_record(device->backend, device->gpu, &upload.work, error);
    // Waits, because otherwise the next look at the record could come before the upload.
    if (status == SPY_OK) status = device->backend->wait(device->gpu, device->base->open, UINT64_MAX, error);
    return status;
}

SPYI_FN spy_status spyi_bounds_create(spy_device *device, uint64_t *address, spyi_text *error) {
    spy_status status = SPY_OK;
    if (!(device->base->limits.info.features & SPY_FEATURE_POINTERS)) {
        spyi_text_add(error, "desc.check_bounds needs a device with SPY_FEATURE_POINTERS");
        return SPY_ERROR_UNSUPPORTED;
    }
    spyi_bounds *b = (spyi_bounds *)spyi_allocate(&device->ctx, sizeof *b);
    if (!b) {
        spyi_text_add(error, "out of host memory");
        return SPY_ERROR_OUT_OF_MEMORY;
    }
    spyi_mutex_init(&b->lock);
    device->bounds = b;
    b->storage = spyi_pool_take(device, SPYI_MEMORY_DEVICE, SPYI_BOUNDS_WORDS * sizeof(uint32_t),
                                "slangpy bounds", error, &status);
    if (!b->storage) return status;
    b->storage->resource.references = 1;
    *address = b->storage->chunk.address + b->storage->offset;
    return spyi_bounds_clear(device, error);
}

SPYI_FN void spyi_bounds_destroy(spy_device *device) {
    spyi_bounds *b = device->bounds;
    if (!b) return;
    if (b->storage) spyi_pool_give(device, b->storage);
    for (uint32_t i = 0; i < b->count; i++) {
        free(b->sites[i].function);
        free(b->sites[i].argument);
    }
    free(b->sites);
    spyi_mutex_destroy(&b->lock);
    spyi_free(&device->ctx, b, sizeof *b);
    device->bounds = NULL;
}

// Returns the number (from 1) of an argument, which is added if new; 0 when out of memory. The caller holds
// the lock.
static uint32_t spyi_bounds_find(spyi_bounds *b, const char *function, const char *argument) {
    for (uint32_t i = 0; i < b->count; i++)
        if (strcmp(b->sites[i].argument, argument) == 0 && strcmp(b->sites[i].function, function) == 0)
            return i + 1;
    if (b->count == b->capacity) {
        uint32_t capacity = b->capacity ? b->capacity * 2 : 64;
        spyi_site *sites = (spyi_site *)spyi_realloc(b->sites, capacity * sizeof *sites);
        if (!sites) return 0;
        b->sites = sites;
        b->capacity = capacity;
    }
    spyi_site *site = &b->sites[b->count];
    site->function = spyi_strdup(function);
    site->argument = spyi_strdup(argument);
    if (site->function && site->argument) return ++b->count;
    free(site->function);
    free(site->argument);
    return 0;
}

SPYI_FN uint32_t spyi_bounds_site(spy_device *device, const char *function, const char *argument) {
    spyi_bounds *b = device->bounds;
    if (!b) return 0;
    spyi_mutex_lock(&b->lock);
    uint32_t site = spyi_bounds_find(b, function, argument);
    spyi_mutex_unlock(&b->lock);
    return site;
}

// >>the record

static void spyi_bounds_tuple(const uint32_t *words, uint32_t count, spyi_text *out) {
    spyi_text_add(out, "(");
    for (uint32_t i = 0; i < count; i++) spyi_text_add(out, "%s%d", i ? ", " : "", (int)words[i]);
    spyi_text_add(out, count == 1 ? ",)" : ")");
}

static void spyi_bounds_explain(spyi_bounds *b, const char *function, const uint32_t *record,
                                spyi_text *error) {
    static const char *const did[3] = { "reads", "writes", "adds" };
    static const char *const became[3] = { "it got 0", "nothing was written", "nothing was added" };
    uint32_t site = record[1] & ~SPYI_BOUNDS_GRADIENT, rank = record[2] & 255, access = record[2] >> 8 & 255;
    uint32_t call_rank = record[2] >> 16;
    const uint32_t *index = record + 4, *shape = record + 12;
    if (rank > SPY_MAX_RANK) rank = SPY_MAX_RANK;
    if (call_rank > SPY_MAX_RANK) call_rank = SPY_MAX_RANK;
    if (access > 2) access = 0;
    spyi_mutex_lock(&b->lock);
    if (site >= 1 && site <= b->count) {
        const spyi_site *of = &b->sites[site - 1];
        if (!function || strcmp(function, of->function) != 0) spyi_text_add(error, "%s: ", of->function);
        spyi_text_add(error, "'%s'%s: the kernel %s at index ", of->argument,
                      record[1] & SPYI_BOUNDS_GRADIENT ? ", its gradient" : "", did[access]);
    } else {
        spyi_text_add(error, "a tensor that was made in Slang: the kernel %s at index ", did[access]);
    }
    spyi_mutex_unlock(&b->lock);
    spyi_bounds_tuple(index, rank, error);
    spyi_text_add(error, ", its shape is ");
    spyi_bounds_tuple(shape, rank, error);
    for (uint32_t d = 0; d < rank; d++) {
        if ((int)index[d] >= 0 && (int)index[d] < (int)shape[d]) continue;
        if (shape[d])
            spyi_text_add(error, ": expected 0 to %d in dimension %u, got %d", (int)shape[d] - 1, d,
                          (int)index[d]);
        else spyi_text_add(error, ": dimension %u is empty", d);
        break;
    }
    if (call_rank) {
        spyi_text_add(error, "; at element ");
        spyi_bounds_tuple(record + 20, call_rank, error);
        spyi_text_add(error, " of the call");
    }
    spyi_text_add(error, "; %s", became[access]);
}

// The work that was waited for is done, so that the record can be read without waiting. If work that still
// runs is writing the record just now, the next call reports it.
SPYI_FN spy_status spyi_bounds_take(spy_device *device, const char *function, spyi_text *error) {
    spyi_bounds *b = device->bounds;
    uint32_t record[SPYI_BOUNDS_WORDS];
    if (SPYI_LIKELY(!b) || !b->storage) return SPY_OK;
    spyi_watch(device->base);
    if (device->base->recording) return SPY_OK;
    spy_status status = device->backend->download(device->gpu, record, &b->storage->chunk, b->storage->offset,
                                                  sizeof record, 0, error);
    if (status != SPY_OK || record[0] != SPYI_BOUNDS_COMPLETE) return status;
    status = spyi_bounds_clear(device, error);
    if (status != SPY_OK) return status;
    spyi_bounds_explain(b, function, record, error);
    return SPY_ERROR_OUT_OF_RANGE;
}

SPYI_FN spy_status spyi_bounds_report(spy_device *device, const char *function) {
    spyi_text error = { NULL, 0, 0 };
    spy_status status = spyi_bounds_take(device, NULL, &error);
    if (status != SPY_OK) spyi_fail_text(device, status, function, &error);
    spyi_text_free(&error);
    return status;
}

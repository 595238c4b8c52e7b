// Writes and reads the bytes of a stream, field by field. Read bytes are not trusted: each count is checked
// against its limit and the bytes that are left.
#include "data/stream.h"

SPYI_FN void spyi_stream_fail(spyi_stream *r, spy_status status, const char *format, ...) {
    char text[512];
    va_list list;
    if (r->status != SPY_OK) return; // only the first reason is kept
    r->status = status;
    r->left = 0;
    va_start(list, format);
    vsnprintf(text, sizeof text, format, list);
    va_end(list);
    spyi_text_add(&r->problem, "%s", text);
}

SPYI_FN void spyi_stream_damaged(spyi_stream *r, const char *what) {
    spyi_stream_fail(r, SPY_ERROR_INVALID_ARGUMENT, "the %s is damaged: %s", r->name, what);
}

SPYI_FN bool spyi_stream_expect(spyi_stream *r, bool good, const char *what) {
    if (!good && !r->out) spyi_stream_damaged(r, what);
    return r->status == SPY_OK;
}

SPYI_FN void spyi_stream_raw(spyi_stream *r, void *bytes, size_t size) {
    if (r->out) {
        spyi_text_add_n(r->out, (const char *)bytes, size);
        return;
    }
    if (size > r->left) spyi_stream_damaged(r, "it ends too early");
    if (r->status != SPY_OK) {
        memset(bytes, 0, size);
        return;
    }
    memcpy(bytes, r->at, size);
    r->at += size;
    r->left -= size;
}

SPYI_FN void spyi_stream_u8(spyi_stream *r, uint8_t *v) {
    spyi_stream_raw(r, v, 1);
}

SPYI_FN void spyi_stream_bool(spyi_stream *r, bool *v) {
    uint8_t byte = r->out && *v ? 1 : 0; // when reading, *v may be uninitialised
    spyi_stream_u8(r, &byte);
    (void)spyi_stream_expect(r, byte <= 1, "a bool is neither true nor false");
    *v = byte == 1;
}

// Numbers are stored as in memory: all machines that the library runs on are little-endian.
SPYI_FN void spyi_stream_u16(spyi_stream *r, uint16_t *v) {
    spyi_stream_raw(r, v, sizeof *v);
}

SPYI_FN void spyi_stream_u32(spyi_stream *r, uint32_t *v) {
    spyi_stream_raw(r, v, sizeof *v);
}

SPYI_FN void spyi_stream_u64(spyi_stream *r, uint64_t *v) {
    spyi_stream_raw(r, v, sizeof *v);
}

SPYI_FN void spyi_stream_dims(spyi_stream *r, int64_t *dims) {
    spyi_stream_raw(r, dims, SPY_MAX_RANK * sizeof *dims);
}

SPYI_FN uint32_t spyi_stream_enum(spyi_stream *r, uint32_t v, uint32_t count) {
    spyi_stream_u32(r, &v);
    return spyi_stream_expect(r, v < count, "a number is beyond its range") ? v : 0;
}

SPYI_FN void spyi_stream_text(spyi_stream *r, char **v) {
    uint32_t size = r->out && *v ? (uint32_t)strlen(*v) + 1 : 0; // the number of bytes with the NUL; 0 stands
                                                                 // for NULL
    spyi_stream_u32(r, &size);
    if (r->out) {
        if (size) spyi_stream_raw(r, *v, size);
        return;
    }
    *v = NULL;
    if (!size || !spyi_stream_expect(r, size <= r->left && r->at[size - 1] == 0, "a text has no end")) return;
    *v = spyi_strdup((const char *)r->at);
    if (!*v) spyi_stream_fail(r, SPY_ERROR_OUT_OF_MEMORY, "out of host memory");
    if (r->status != SPY_OK) return;
    r->at += size;
    r->left -= size;
}

SPYI_FN void spyi_stream_bytes(spyi_stream *r, spyi_text *v) {
    uint64_t size = v->size;
    spyi_stream_u64(r, &size);
    if (r->out) {
        if (v->size) spyi_stream_raw(r, v->data, v->size);
        return;
    }
    if (!spyi_stream_expect(r, size <= r->left, "bytes have no end")) return;
    if (size) spyi_text_add_n(v, (const char *)r->at, (size_t)size);
    if (v->size != size) spyi_stream_fail(r, SPY_ERROR_OUT_OF_MEMORY, "out of host memory");
    if (r->status != SPY_OK) return;
    r->at += size;
    r->left -= (size_t)size;
}

SPYI_FN void spyi_stream_list(spyi_stream *r, uint32_t *count, uint32_t most, void **items,
                              size_t item_size) {
    spyi_stream_u32(r, count);
    if (r->out) return;
    if (!spyi_stream_expect(r, *count <= most && *count <= r->left, "a list is too long")) *count = 0;
    *items = spyi_calloc((size_t)*count + 1, item_size);
    if (*items) return;
    *count = 0;
    spyi_stream_fail(r, SPY_ERROR_OUT_OF_MEMORY, "out of host memory");
}

// Writes and reads the bytes of a recipe, field by field. Read bytes are not trusted: each count is checked
// against its limit and the bytes that are left.
#include "plan/recipe_bytes.h"

SPYI_FN void spyi_recipe_fail(spyi_recipe *r, spy_status status, const char *format, ...) {
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

SPYI_FN void spyi_recipe_damaged(spyi_recipe *r, const char *what) {
    spyi_recipe_fail(r, SPY_ERROR_INVALID_ARGUMENT, "the recipe is damaged: %s", what);
}

SPYI_FN bool spyi_recipe_expect(spyi_recipe *r, bool good, const char *what) {
    if (!good && !r->out) spyi_recipe_damaged(r, what);
    return r->status == SPY_OK;
}

SPYI_FN void spyi_recipe_raw(spyi_recipe *r, void *bytes, size_t size) {
    if (r->out) {
        spyi_text_add_n(r->out, (const char *)bytes, size);
        return;
    }
    if (size > r->left) spyi_recipe_damaged(r, "it ends too early");
    if (r->status != SPY_OK) {
        memset(bytes, 0, size);
        return;
    }
    memcpy(bytes, r->at, size);
    r->at += size;
    r->left -= size;
}

SPYI_FN void spyi_recipe_u8(spyi_recipe *r, uint8_t *v) {
    spyi_recipe_raw(r, v, 1);
}

SPYI_FN void spyi_recipe_bool(spyi_recipe *r, bool *v) {
    uint8_t byte = r->out && *v ? 1 : 0; // when reading, *v may be uninitialised
    spyi_recipe_u8(r, &byte);
    (void)spyi_recipe_expect(r, byte <= 1, "a bool is neither true nor false");
    *v = byte == 1;
}

// Numbers are stored as in memory: all machines that the library runs on are little-endian.
SPYI_FN void spyi_recipe_u16(spyi_recipe *r, uint16_t *v) {
    spyi_recipe_raw(r, v, sizeof *v);
}

SPYI_FN void spyi_recipe_u32(spyi_recipe *r, uint32_t *v) {
    spyi_recipe_raw(r, v, sizeof *v);
}

SPYI_FN void spyi_recipe_u64(spyi_recipe *r, uint64_t *v) {
    spyi_recipe_raw(r, v, sizeof *v);
}

SPYI_FN void spyi_recipe_dims(spyi_recipe *r, int64_t *dims) {
    spyi_recipe_raw(r, dims, SPY_MAX_RANK * sizeof *dims);
}

SPYI_FN uint32_t spyi_recipe_enum(spyi_recipe *r, uint32_t v, uint32_t count) {
    spyi_recipe_u32(r, &v);
    return spyi_recipe_expect(r, v < count, "a number is beyond its range") ? v : 0;
}

SPYI_FN void spyi_recipe_text(spyi_recipe *r, char **v) {
    uint32_t size = r->out && *v ? (uint32_t)strlen(*v) + 1 : 0; // bytes with the NUL; 0: NULL
    spyi_recipe_u32(r, &size);
    if (r->out) {
        if (size) spyi_recipe_raw(r, *v, size);
        return;
    }
    *v = NULL;
    if (!size || !spyi_recipe_expect(r, size <= r->left && r->at[size - 1] == 0, "a text has no end")) return;
    *v = spyi_strdup((const char *)r->at);
    if (!*v) spyi_recipe_fail(r, SPY_ERROR_OUT_OF_MEMORY, "out of host memory");
    if (r->status != SPY_OK) return;
    r->at += size;
    r->left -= size;
}

SPYI_FN void spyi_recipe_bytes(spyi_recipe *r, spyi_text *v) {
    uint64_t size = v->size;
    spyi_recipe_u64(r, &size);
    if (r->out) {
        if (v->size) spyi_recipe_raw(r, v->data, v->size);
        return;
    }
    if (!spyi_recipe_expect(r, size <= r->left, "bytes have no end")) return;
    if (size) spyi_text_add_n(v, (const char *)r->at, (size_t)size);
    if (v->size != size) spyi_recipe_fail(r, SPY_ERROR_OUT_OF_MEMORY, "out of host memory");
    if (r->status != SPY_OK) return;
    r->at += size;
    r->left -= (size_t)size;
}

SPYI_FN void spyi_recipe_list(spyi_recipe *r, uint32_t *count, uint32_t most, void **items,
                              size_t item_size) {
    spyi_recipe_u32(r, count);
    if (r->out) return;
    if (!spyi_recipe_expect(r, *count <= most && *count <= r->left, "a list is too long")) *count = 0;
    *items = spyi_calloc((size_t)*count + 1, item_size);
    if (*items) return;
    *count = 0;
    spyi_recipe_fail(r, SPY_ERROR_OUT_OF_MEMORY, "out of host memory");
}

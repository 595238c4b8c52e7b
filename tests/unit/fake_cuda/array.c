// Arrays of the driver: rows, slices and levels without gaps, in host memory; textures and surfaces of them.
#include "driver.h"

typedef struct array_desc {
    size_t width, height, depth;
    int format;
    unsigned channels, flags;
} array_desc;

typedef struct array {
    array_desc desc;
    unsigned texel, levels;
    struct array *level[16]; // of a mipmapped array; level[0] of a plain one is NULL
    char data[];
} array;

static unsigned channel_bytes(int format) { return format == 1 || format == 8 ? 1 : format == 2 || format == 9 || format == 16 ? 2 : 4; }
static size_t least_one(size_t size) { return size ? size : 1; }

static array *new_array(const array_desc *desc, unsigned level) {
    array_desc d = *desc;
    int layered = d.flags & 5; // LAYERED, CUBEMAP: the depth counts layers
    for (; level > 0; level--) {
        d.width = least_one(d.width / 2);
        if (d.height) d.height = least_one(d.height / 2);
        if (d.depth && !layered) d.depth = least_one(d.depth / 2);
    }
    unsigned texel = d.channels * channel_bytes(d.format);
    array *a = (array *)calloc(1, sizeof *a + d.width * least_one(d.height) * least_one(d.depth) * texel);
    if (!a) return NULL;
    a->desc = d;
    a->texel = texel;
    return a;
}

static void *texels_of(void *of) { return ((array *)of)->data; }
FAKE(cuArray3DCreate_v2, (void **out, const array_desc *desc)) {
    MAY_FAIL("cuArray3DCreate_v2");
    UNSAFE();
    state.texels = texels_of;
    return *out = new_array(desc, 0), *out ? 0 : 2;
}
FAKE(cuArrayDestroy, (void *a)) {
    UNSAFE();
    return free(a), 0;
}
FAKE(cuMipmappedArrayCreate, (void **out, const array_desc *desc, unsigned levels)) {
    array *a = (array *)calloc(1, sizeof *a);
    MAY_FAIL("cuMipmappedArrayCreate");
    if (!a || levels > 16) return free(a), 2;
    for (a->levels = 0; a->levels < levels; a->levels++) a->level[a->levels] = new_array(desc, a->levels);
    return *out = a, 0;
}
FAKE(cuMipmappedArrayGetLevel, (void **out, array *of, unsigned level)) { return level < of->levels ? (*out = of->level[level], 0) : 1; }
FAKE(cuMipmappedArrayDestroy, (array *a)) {
    for (unsigned i = 0; i < a->levels; i++) free(a->level[i]);
    return free(a), 0;
}

typedef struct copy_end {
    size_t x_bytes, y, z, lod;
    unsigned memory_type;
    char *host;
    uint64_t device;
    array *array;
    void *reserved;
    size_t pitch, height;
} copy_end;

typedef struct array_copy {
    copy_end from, to;
    size_t width_bytes, height, depth;
} array_copy;

// Returns the address of a row of one end; NULL: it lies outside of the array.
static char *row_of(const copy_end *e, size_t y, size_t z, size_t bytes) {
    if (e->memory_type != 3) {
        char *base = e->memory_type == 1 ? e->host : (char *)(uintptr_t)e->device;
        return base + e->x_bytes + ((e->z + z) * e->height + e->y + y) * e->pitch;
    }
    const array *a = e->array;
    size_t width = a->desc.width * a->texel, height = least_one(a->desc.height);
    if (e->x_bytes + bytes > width || e->y + y >= height || e->z + z >= least_one(a->desc.depth)) return NULL;
    return (char *)a->data + ((e->z + z) * height + e->y + y) * width + e->x_bytes;
}
FAKE(cuMemcpy3DAsync_v2, (const array_copy *copy, void *stream)) {
    MAY_FAIL("cuMemcpy3DAsync_v2");
    if (capture_of(stream)) return invalidate(capture_of(stream), UNSUPPORTED); // no test captures copies of texels
    for (size_t z = 0; z < copy->depth; z++) {
        for (size_t y = 0; y < copy->height; y++) {
            const char *from = row_of(&copy->from, y, z, copy->width_bytes);
            char *to = row_of(&copy->to, y, z, copy->width_bytes);
            if (!from || !to) return 1;
            memmove(to, from, copy->width_bytes);
        }
    }
    return (void)stream, 0;
}

// Objects are blocks of their own, so that leaks and wrong handles are found. Each begins with what it was made of.
typedef struct resource_desc { // the head of CUDA_RESOURCE_DESC
    int type;
    void *array;
} resource_desc;
FAKE(cuTexObjectCreate, (uint64_t * object, const resource_desc *resource, const fake_texture_desc *desc, const void *view)) {
    MAY_FAIL("cuTexObjectCreate");
    // As an H200's driver does: SEAMLESS_CUBEMAP is for CUBEMAP arrays only.
    if ((desc->flags & 64u) && !(((const array *)resource->array)->desc.flags & 4u)) return 1;
    fake_texture *made = (fake_texture *)calloc(1, sizeof *made);
    if (!made) return 2;
    made->array = resource->array;
    made->desc = *desc;
    made->part = view != NULL;
    if (view) memcpy(&made->view, view, sizeof made->view);
    state.textures++;
    return *object = state.texture = (uint64_t)(uintptr_t)made, 0;
}
FAKE(cuTexObjectDestroy, (uint64_t object)) { return free((void *)(uintptr_t)object), state.textures--, 0; }
FAKE(cuSurfObjectCreate, (uint64_t * object, const resource_desc *resource)) {
    MAY_FAIL("cuSurfObjectCreate");
    fake_texture *made = (fake_texture *)calloc(1, sizeof *made);
    if (!made) return 2;
    made->array = resource->array;
    state.textures++;
    return *object = state.surface = (uint64_t)(uintptr_t)made, 0;
}
FAKE(cuSurfObjectDestroy, (uint64_t object)) { return free((void *)(uintptr_t)object), state.textures--, 0; }
unsigned play_get_level(const fake_texture *texture, unsigned level, play_level *out) {
    const array *a = (const array *)texture->array;
    const fake_view *v = &texture->view;
    unsigned levels = texture->part && a->levels ? v->last_level - v->first_level + 1 : a->levels ? a->levels : 1;
    if (a->levels) a = a->level[level + v->first_level];
    memset(out, 0, sizeof *out);
    out->width = a->desc.width;
    out->height = a->desc.height;
    out->depth = a->desc.depth;
    out->format = a->desc.format;
    out->channels = a->desc.channels;
    out->data = a->data + (texture->part && (a->desc.flags & 5u) ? v->first_layer : 0) * a->desc.width * least_one(a->desc.height) * a->texel;
    return levels;
}

// Randomised calls against random_reference.c. Each call draws a function, an element type, a call shape and, for each
// argument, how it is given and how it lies in memory. All memory that a call can see is compared afterwards, with what lies
// between and around the elements.
//
// SPY_TEST_SEED: repeat a run. SPY_TEST_ONLY: run this call alone, with its explanation. Bounds: + - * are exactly rounded
// (0 ULP); a * b + c is one of the two roundings, fused or not (0 ULP to either); a / b 3 ULP (Vulkan: 2.5).
// Every dumped SPIR-V goes through SPIRV_VAL at the end.
#include "random_reference.h"


spy_device *gpu_device;
static spy_module *module;

// >>chance

static uint64_t random_state;

static uint64_t next_random(void *state) { // splitmix64
    uint64_t *s = (uint64_t *)state, z = (*s += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

static uint64_t below(uint64_t n) { return next_random(&random_state) % n; }
static bool chance(int percent) { return below(100) < (uint64_t)percent; }

// >>what a call is made of

typedef enum variant_kind { ONE_ELEMENT, FLAT, WIDE, STRIDED, VARIANTS } variant_kind;
static const char *const variant_names[] = { "one element", "flat", "wide", "strided" };

typedef enum arg_kind {
    K_NUMBER, // spy_arg_f32 ..., spy_out_f32 ...
    K_VALUE,  // a host array that is one value
    K_BYTES,  // spy_arg_data of one value
    K_RUN,    // a host array that is run over
    K_TENSOR, // a contiguous tensor of scalars
    K_VIEW,   // strided, transposed, sliced, broadcast, negative
    K_FEED,   // a tensor of scalars whose trailing dimensions feed a vector, matrix or array
    K_ELEMENT, // a tensor of vectors, matrices, arrays or structs
    K_FIELDS, // a field of a struct
    K_NEW,    // a new tensor
    K_CONVERT, // other scalars than the parameter's
    KINDS
} arg_kind;
static const char *const kind_names[] = { "number", "host value", "bytes", "host array", "tensor", "view", "feeds type", "typed tensor", "struct field", "new tensor", "converted" };

// Parameter shapes: the components of one value, as trailing dimensions.
typedef struct param_shape {
    const char *name, *element; // of the function; of tensors of whole values, with %s for the scalar
    uint32_t rank;
    int64_t dims[2];
} param_shape;
static const param_shape shapes[] = {
    { "s", NULL, 0, { 1, 1 } },         { "v2", "vector<%s, 2>", 1, { 2, 1 } },    { "v3", "vector<%s, 3>", 1, { 3, 1 } }, { "v4", "vector<%s, 4>", 1, { 4, 1 } },
    { "m", "matrix<%s, 2, 3>", 2, { 2, 3 } }, { "a3", "%s[3]", 1, { 3, 1 } }, { "av", "vector<%s, 3>[2]", 2, { 2, 3 } },
};
enum { P_S, P_V2, P_V3, P_V4, P_M, P_A3, P_AV };

typedef struct struct_shape {
    const char *name, *type;
    int fields;
    const char *names[3];
    int shape[3];
    int64_t first[3], components; // of each field in the whole struct in C's layout: scalars of one size have no holes
} struct_shape;
static const struct_shape structs[] = { { "st", "S_%s", 3, { "a", "b", "c" }, { P_S, P_V3, -1 }, { 0, 1, 4 }, 6 }, { "pr", "R_%s", 2, { "a", "c", NULL }, { P_S, P_S, 0 }, { 0, 1, 0 }, 2 } };
static const param_shape array2 = { "a2", "%s[2]", 1, { 2, 1 } };

static const char *const slang_names[] = { "", "bool", "int8_t", "uint8_t", "int16_t", "uint16_t", "int", "uint", "int64_t", "uint64_t", "half", "float", "double" };

#define MOST_LEAVES 12
#define MOST_RANK 5

// A piece of memory and what the test compares of it.
typedef struct memory {
    reference_store store;
    spy_tensor *base;  // the whole storage; NULL: host memory
    spy_tensor *made;  // received by K_NEW
    void *host;        // given to the call
    bool compare_host;
} memory;

typedef struct call {
    spy_dtype dtype;
    uint32_t rank;
    int64_t dims[MOST_RANK];
    char function[64];
    memory memories[MOST_LEAVES * 2];
    int memory_count;
    spy_tensor *tensors[MOST_LEAVES * 6];
    int tensor_count;
    spy_arg args[4], fields[4][3];
    int arg_count;
    bool kinds[KINDS];
    bool big;
    uint64_t ulp;
    char failure[600];
    void *blocks[MOST_LEAVES * 2];
    int block_count;
} call;

// >>wishes: pairs that are still missing steer the draw

typedef struct wish {
    int dtype, rank, variant, kind; // -1: any
} wish;

static bool hit_type_rank[SPY_DTYPE_COUNT][6], hit_type_variant[SPY_DTYPE_COUNT][VARIANTS], hit_type_kind[SPY_DTYPE_COUNT][KINDS];
static bool hit_rank_variant[6][VARIANTS], hit_rank_kind[6][KINDS], hit_variant_kind[VARIANTS][KINDS];
static size_t hit_access[2][VARIANTS], hit_64;

static bool has_dtype(int d) {
    uint32_t f = spy_get_device_info(gpu_device).features;
    switch (d) {
    case SPY_DTYPE_INT8:
    case SPY_DTYPE_UINT8: return f & SPY_FEATURE_INT8;
    case SPY_DTYPE_INT16:
    case SPY_DTYPE_UINT16: return f & SPY_FEATURE_INT16;
    case SPY_DTYPE_INT64:
    case SPY_DTYPE_UINT64: return f & SPY_FEATURE_INT64;
    case SPY_DTYPE_FLOAT16: return f & SPY_FEATURE_FLOAT16;
    case SPY_DTYPE_FLOAT64: return f & SPY_FEATURE_FLOAT64;
    default: return true;
    }
}

// Why a pair cannot be; NULL: it can.
static const char *no_type(int d) { return has_dtype(d) ? NULL : "the device has no such scalar"; }
static const char *no_rank_variant(int r, int v) { return r == 0 && v != ONE_ELEMENT ? "rank 0 is one element" : NULL; }
static const char *no_rank_kind(int r, int k) { return r == 0 && k == K_RUN ? "rank 0 runs over nothing" : r == 0 && k == K_VIEW ? "rank 0 has no strides" : NULL; }
static const char *no_type_kind(int d, int k) {
    if (d == SPY_DTYPE_BOOL && k == K_CONVERT) return "nothing on the device becomes a bool";
    if ((d == SPY_DTYPE_INT8 || d == SPY_DTYPE_UINT8) && k == K_CONVERT) return NULL;
    return no_type(d);
}
static const char *no_variant_kind(int v, int k) {
    if (v == WIDE && (k == K_FEED || k == K_ELEMENT)) return "wide kernels are for scalars, where the library does not say otherwise";
    return NULL;
}

static wish make_wish(void) {
    wish w = { -1, -1, -1, -1 };
    if (chance(35)) return w;
    for (int tries = 0; tries < 40; tries++) {
        int d = 1 + (int)below(SPY_DTYPE_COUNT - 1), r = (int)below(6), v = (int)below(VARIANTS), k = (int)below(KINDS);
        if (no_type(d)) continue;
        switch (below(6)) {
        case 0:
            if (hit_type_rank[d][r]) continue;
            return (wish){ d, r, -1, -1 };
        case 1:
            if (hit_type_variant[d][v]) continue;
            return (wish){ d, -1, v, -1 };
        case 2:
            if (hit_type_kind[d][k] || no_type_kind(d, k)) continue;
            return (wish){ d, -1, -1, k };
        case 3:
            if (hit_rank_variant[r][v] || no_rank_variant(r, v)) continue;
            return (wish){ -1, r, v, -1 };
        case 4:
            if (hit_rank_kind[r][k] || no_rank_kind(r, k)) continue;
            return (wish){ -1, r, -1, k };
        default:
            if (hit_variant_kind[v][k] || no_variant_kind(v, k)) continue;
            return (wish){ -1, -1, v, k };
        }
    }
    return w;
}

// >>memory of one argument

static void *take_block(call *c, size_t size) {
    void *p = calloc(1, size + 64);
    assert_non_null(p);
    c->blocks[c->block_count++] = p;
    return p;
}

static spy_tensor *keep(call *c, spy_tensor *t) {
    if (!t) {
        snprintf(c->failure, sizeof c->failure, "a view could not be made: %.500s", spy_take_error(gpu_device).message);
        return NULL;
    }
    c->tensors[c->tensor_count++] = t;
    return t;
}

static void fill_random(memory *m, spy_dtype dtype) {
    size_t size = spy_dtype_size_bytes(m->store.dtype);
    for (size_t i = 0; i < m->store.count && !gpu_other_backend; i++) reference_random(m->store.before + i * size, m->store.dtype, dtype, next_random, &random_state);
    memcpy(m->store.after, m->store.before, size * m->store.count);
    memcpy(m->store.other, m->store.before, size * m->store.count);
}

// A tensor of `n` dimensions of elements with `components` scalars each, somewhere in a storage of its own.
// style 0: contiguous. 1: contiguous with room before and behind. 2: anything. strides of size-1 dimensions may be anything.
static spy_tensor *make_tensor(call *c, memory *m, spy_dtype stored, const char *type, int64_t components, uint32_t n, const int64_t *dims, int style, bool packed_last,
                               uint32_t packed_count, bool negative, int64_t *offset, int64_t *strides) {
    uint32_t order[8];
    int64_t start[8], step[8], size[8], row[8], total = 1;
    for (uint32_t k = 0; k < n; k++) order[k] = k;
    uint32_t movable = packed_last ? n - packed_count : n;
    if (style == 2 && chance(60))
        for (uint32_t k = 0; k + 1 < movable; k++) {
            uint32_t j = k + (uint32_t)below(movable - k), t = order[k];
            order[k] = order[j];
            order[j] = t;
        }
    bool selects = style == 2 && chance(25);
    for (uint32_t k = n; k-- > 0;) {
        bool plain = style != 2 || (packed_last && k >= movable) || chance(40);
        step[k] = plain ? 1 : 1 + (int64_t)below(3);
        start[k] = plain ? 0 : (int64_t)below(3);
        int64_t count = dims[order[k]];
        size[k] = start[k] + (count > 0 ? (count - 1) * step[k] + 1 : 0) + (plain ? 0 : (int64_t)below(3));
        if (size[k] == 0 && style == 2) size[k] = 1;
        row[k] = total;
        total *= size[k];
    }
    int64_t before = 0, behind = 0, picked = 0;
    if (style == 1) {
        before = (int64_t)below(9);
        behind = (int64_t)below(9);
    }
    if (selects) {
        before = picked = total * (int64_t)below(2);
        behind = total * (int64_t)(1 + below(2));
    }
    *offset = before;
    for (uint32_t k = 0; k < n; k++) {
        strides[order[k]] = row[k] * step[k];
        if (dims[order[k]] > 0) *offset += start[k] * row[k];
    }
    int64_t elements = 1;
    for (uint32_t d = 0; d < n; d++) elements *= dims[d];
    if (elements == 0) { // no elements: any place will do, and the beginning is one that is never refused
        *offset = before = behind = picked = 0;
        selects = false;
    }
    int64_t storage = before + total + behind;
    reference_make(&m->store, stored, (size_t)(storage * components));
    fill_random(m, c->dtype);
    bool flips[8] = { false };
    for (uint32_t d = 0; negative && elements > 0 && d < n; d++) {
        if (dims[d] < 2 || (packed_last && d >= movable) || chance(50)) continue;
        flips[d] = true;
        *offset += (dims[d] - 1) * strides[d];
        strides[d] = -strides[d];
    }
    // Through slices, select and transpose where they can make it, else through one view.
    spy_shape shape;
    memset(&shape, 0, sizeof shape);
    bool any_flip = false;
    for (uint32_t d = 0; d < n; d++) any_flip = any_flip || flips[d];
    bool composed = !any_flip && style != 1 && n + (selects ? 1u : 0u) <= SPY_MAX_RANK && chance(60);
    if (style == 0 && !any_flip) composed = true;
    spy_tensor *t;
    if (composed) {
        if (selects) shape.dims[shape.rank++] = storage / (total > 0 ? total : 1);
        for (uint32_t k = 0; k < n; k++) shape.dims[shape.rank++] = size[k];
        if (selects && total == 0) composed = false;
    }
    if (!composed) {
        memset(&shape, 0, sizeof shape);
        shape.rank = 1;
        shape.dims[0] = storage;
    }
    t = m->base = keep(c, gpu_tensor(gpu_device, stored, type, module, shape, m->store.before));
    if (!t) return NULL;
    if (!composed) {
        spy_view_desc v;
        memset(&v, 0, sizeof v);
        v.shape.rank = v.strides.rank = n;
        for (uint32_t d = 0; d < n; d++) {
            v.shape.dims[d] = dims[d];
            v.strides.dims[d] = strides[d];
        }
        v.offset_elements = *offset;
        return keep(c, spy_create_view(t, &v));
    }
    if (selects) t = keep(c, spy_create_select(t, 0, picked / total));
    for (uint32_t k = 0; t && k < n; k++)
        if (style == 2) t = keep(c, spy_create_slice(t, k, start[k], start[k] + (dims[order[k]] > 0 ? (dims[order[k]] - 1) * step[k] + 1 : 0), step[k]));
    spy_dims transpose;
    memset(&transpose, 0, sizeof transpose);
    transpose.count = n;
    for (uint32_t k = 0; k < n; k++) transpose.dims[order[k]] = (int32_t)k;
    if (t && style == 2) t = keep(c, spy_create_transpose(t, transpose));
    return t;
}

// >>one leaf: an argument or a field

typedef struct leaf {
    const param_shape *shape;
    bool in, out;
    reference_view view; // over call dimensions, then components
    bool full;           // has all dimensions of the call
} leaf;

static spy_dtype widened(spy_dtype d, bool host) {
    // Scalars that become `d` without loss. Source: C's ranges and mantissas.
    static const spy_dtype from[][8] = {
        { SPY_DTYPE_BOOL }, { SPY_DTYPE_BOOL }, { SPY_DTYPE_BOOL }, { SPY_DTYPE_BOOL }, { SPY_DTYPE_BOOL, SPY_DTYPE_INT8, SPY_DTYPE_UINT8 }, { SPY_DTYPE_BOOL, SPY_DTYPE_UINT8 }, { SPY_DTYPE_BOOL, SPY_DTYPE_INT8, SPY_DTYPE_UINT8, SPY_DTYPE_INT16, SPY_DTYPE_UINT16 },
        { SPY_DTYPE_BOOL, SPY_DTYPE_UINT8, SPY_DTYPE_UINT16 }, { SPY_DTYPE_BOOL, SPY_DTYPE_INT8, SPY_DTYPE_UINT16, SPY_DTYPE_INT32, SPY_DTYPE_UINT32 }, { SPY_DTYPE_BOOL, SPY_DTYPE_UINT8, SPY_DTYPE_UINT16, SPY_DTYPE_UINT32 },
        { SPY_DTYPE_INT8, SPY_DTYPE_UINT8 }, { SPY_DTYPE_INT8, SPY_DTYPE_UINT8, SPY_DTYPE_INT16, SPY_DTYPE_UINT16, SPY_DTYPE_FLOAT16 }, { SPY_DTYPE_INT16, SPY_DTYPE_UINT32, SPY_DTYPE_INT32, SPY_DTYPE_FLOAT16, SPY_DTYPE_FLOAT32 },
    };
    if (host && chance(40))
        return d >= SPY_DTYPE_FLOAT16  ? SPY_DTYPE_FLOAT64
               : d == SPY_DTYPE_UINT64 ? SPY_DTYPE_UINT64
                                       : SPY_DTYPE_INT64;
    int n = 0;
    while (n < 8 && from[d][n] != 0) n++;
    for (int tries = 0; n > 0 && tries < 10; tries++) {
        spy_dtype s = from[d][below((uint64_t)n)];
        if (has_dtype((int)s)) return s;
    }
    return d;
}

static spy_arg number_arg(call *c, leaf *l, memory *m, const char *name) {
    spy_arg arg;
    unsigned char *p = m->store.before;
    switch (m->store.dtype) {
    case SPY_DTYPE_BOOL: arg = spy_arg_bool(name, *p != 0); break;
    case SPY_DTYPE_INT32: arg = spy_arg_i32(name, *(int32_t *)(void *)p); break;
    case SPY_DTYPE_UINT32: arg = spy_arg_u32(name, *(uint32_t *)(void *)p); break;
    case SPY_DTYPE_INT64: arg = spy_arg_i64(name, *(int64_t *)(void *)p); break;
    case SPY_DTYPE_UINT64: arg = spy_arg_u64(name, *(uint64_t *)(void *)p); break;
    case SPY_DTYPE_FLOAT32: arg = spy_arg_f32(name, *(float *)(void *)p); break;
    default: arg = spy_arg_f64(name, *(double *)(void *)p); break;
    }
    if (l->out) {
        arg.direction = l->in ? SPY_DIRECTION_INOUT : SPY_DIRECTION_OUT;
        arg.value.out = m->host;
        m->compare_host = true;
    }
    (void)c;
    return arg;
}

static spy_arg directed(spy_arg arg, const leaf *l) {
    if (l->out) arg.direction = l->in ? SPY_DIRECTION_INOUT : SPY_DIRECTION_OUT;
    return arg;
}

// Whether kind k can give this leaf.
static bool kind_fits(const call *c, const leaf *l, arg_kind k, bool is_full) {
    bool number_out = c->dtype == SPY_DTYPE_BOOL || c->dtype == SPY_DTYPE_INT32 || c->dtype == SPY_DTYPE_UINT32 || c->dtype == SPY_DTYPE_INT64 || c->dtype == SPY_DTYPE_UINT64 || c->dtype == SPY_DTYPE_FLOAT32 || c->dtype == SPY_DTYPE_FLOAT64;
    switch (k) {
    case K_NUMBER:
        if (l->out) return c->rank == 0 && l->shape->rank == 0 && number_out;
        return !is_full && (l->shape->rank == 0 || (l->shape >= &shapes[P_V2] && l->shape <= &shapes[P_M]));
    case K_VALUE:
    case K_BYTES: return l->out ? c->rank == 0 : !is_full;
    case K_RUN: return c->rank > 0;
    case K_NEW: return l->out && !l->in;
    case K_FEED: return l->shape->rank > 0;
    case K_ELEMENT: return l->shape->rank > 0;
    case K_VIEW: return c->rank > 0;
    case K_TENSOR: return l->shape->rank == 0;
    default: return false;
    }
}

static spy_arg make_leaf(call *c, leaf *l, const char *name, int wanted, bool is_full, const wish *w, const reference_view *in_place, spy_tensor *in_place_tensor, spy_tensor **used) {
    memory *m = &c->memories[c->memory_count++];
    arg_kind k = (arg_kind)below(KINDS);
    if (wanted >= 0 && kind_fits(c, l, (arg_kind)wanted, is_full)) k = (arg_kind)wanted;
    bool tidy = w->variant == FLAT || w->variant == WIDE;
    for (int tries = 0; !kind_fits(c, l, k, is_full) || (tidy && k == K_VIEW && wanted != K_VIEW && tries < 50); tries++) k = tries > 200 ? K_NEW : (arg_kind)below(KINDS);
    c->kinds[k] = true;
    uint32_t components = (uint32_t)(l->shape->dims[0] * l->shape->dims[1]);
    spy_dtype stored = c->dtype;
    bool may_convert = !l->out && k != K_BYTES && k != K_ELEMENT && k != K_NEW;
    if (may_convert && c->dtype != SPY_DTYPE_BOOL && (wanted == K_CONVERT || chance(15))) stored = widened(c->dtype, k == K_VALUE || k == K_RUN || k == K_NUMBER);
    if (k == K_NUMBER && !(stored == SPY_DTYPE_BOOL || stored == SPY_DTYPE_INT32 || stored == SPY_DTYPE_UINT32 || stored == SPY_DTYPE_INT64 || stored == SPY_DTYPE_UINT64 || stored >= SPY_DTYPE_FLOAT32))
        stored = c->dtype >= SPY_DTYPE_FLOAT16  ? SPY_DTYPE_FLOAT64
                 : c->dtype == SPY_DTYPE_UINT64 ? SPY_DTYPE_UINT64
                                                : SPY_DTYPE_INT64;
    // Whole numbers for a matrix of floats: test_calls_values.c has that, where it must work for one case first.
    if (l->shape == &shapes[P_M] && k != K_NUMBER && k != K_VALUE && k != K_RUN) stored = c->dtype;
    if (stored != c->dtype) c->kinds[K_CONVERT] = true;
    // The leaf's own dimensions: all of the call's, or some stretched or left out.
    int64_t own[8];
    uint32_t first = 0, n = 0;
    bool stretched[8] = { false };
    bool may_stretch = !is_full && !l->out && !(tidy && chance(70));
    if (may_stretch && chance(40)) first = (uint32_t)below(c->rank + 1u);
    for (uint32_t d = first; d < c->rank; d++) {
        stretched[n] = may_stretch && chance(25);
        own[n] = stretched[n] ? 1 : c->dims[d];
        n++;
    }
    uint32_t batch = n;
    for (uint32_t d = 0; d < l->shape->rank; d++) own[n + d] = l->shape->dims[d];
    spy_arg arg;
    memset(&arg, 0, sizeof arg);
    l->view.store = &m->store;
    int64_t offset = 0, strides[8] = { 0 };
    int64_t rows = 1; // strides within one value
    int64_t inner[2] = { 0, 0 };
    for (uint32_t d = l->shape->rank; d-- > 0;) {
        inner[d] = rows;
        rows *= l->shape->dims[d];
    }
    spy_shape shape;
    memset(&shape, 0, sizeof shape);
    memset(l->view.strides, 0, sizeof l->view.strides);
    if (k == K_NUMBER || k == K_VALUE || k == K_BYTES) {
        reference_make(&m->store, stored, k == K_NUMBER ? 1 : components);
        fill_random(m, c->dtype);
        m->host = take_block(c, m->store.count * 8);
        memcpy(m->host, m->store.before, m->store.count * spy_dtype_size_bytes(stored));
        for (uint32_t d = 0; d < l->shape->rank && k != K_NUMBER; d++) l->view.strides[c->rank + d] = inner[d];
        shape.rank = l->shape->rank;
        memcpy(shape.dims, l->shape->dims, sizeof l->shape->dims);
        m->compare_host = true;
        if (k == K_NUMBER) return number_arg(c, l, m, name);
        size_t size = components * spy_dtype_size_bytes(stored);
        return directed(k == K_BYTES ? spy_arg_data(name, m->host, size) : spy_arg_array(name, m->host, shape, stored), l);
    }
    if (k == K_RUN || k == K_NEW) {
        int64_t count = components;
        uint32_t from = k == K_NEW ? 0 : first;
        if (k == K_NEW) {
            batch = c->rank;
            memcpy(own, c->dims, sizeof c->dims);
        }
        for (uint32_t d = batch; d-- > 0;) {
            if (own[d] != 1 || c->dims[from + d] == 1) l->view.strides[from + d] = count;
            count *= own[d];
        }
        for (uint32_t d = 0; d < l->shape->rank; d++) l->view.strides[c->rank + d] = inner[d];
        reference_make(&m->store, stored, (size_t)count);
        fill_random(m, c->dtype);
        if (k == K_NEW) return spy_out_tensor(name, &m->made);
        m->host = take_block(c, (size_t)count * 8);
        memcpy(m->host, m->store.before, (size_t)count * spy_dtype_size_bytes(stored));
        m->compare_host = true;
        shape.rank = batch + l->shape->rank;
        memcpy(shape.dims, own, batch * sizeof *own);
        memcpy(shape.dims + batch, l->shape->dims, l->shape->rank * sizeof *own);
        return directed(spy_arg_array(name, m->host, shape, stored), l);
    }
    bool element = k == K_ELEMENT || (k == K_VIEW && l->shape->rank > 0 && chance(50));
    if (element) stored = c->dtype;
    if (in_place && k != K_ELEMENT && l->shape->rank == 0) {
        l->view = *in_place;
        c->memory_count--;
        return spy_arg_tensor(name, in_place_tensor);
    }
    char type[64];
    if (element) {
        snprintf(type, sizeof type, l->shape->element, slang_names[stored]);
        c->kinds[K_ELEMENT] = true;
        n = batch;
    } else {
        if (l->shape->rank) c->kinds[K_FEED] = true;
        n = batch + l->shape->rank;
    }
    bool apart = k == K_VIEW || (k != K_TENSOR && !tidy && chance(40));
    int style = apart ? 2 : tidy ? 0 : (int)below(2);
    if (w->variant == FLAT && chance(60)) style = 1;
    if (apart && n > 0) c->kinds[K_VIEW] = true;
    bool packed = !element && l->shape->rank > 0 && chance(60);
    spy_tensor *t = make_tensor(c, m, stored, element ? type : NULL, element ? components : 1, n, own, style, packed, l->shape->rank, apart && chance(25), &offset, strides);
    if (!t) return arg;
    int64_t unit = element ? components : 1;
    l->view.offset = offset * unit;
    for (uint32_t d = 0; d < batch; d++) l->view.strides[first + d] = own[d] == 1 && c->dims[first + d] != 1 ? 0 : strides[d] * unit;
    for (uint32_t d = 0; d < l->shape->rank; d++) l->view.strides[c->rank + d] = element ? inner[d] : strides[batch + d];
    // Size 1 as an explicit broadcast view.
    if (!l->out && chance(20) && style == 2) {
        memset(&shape, 0, sizeof shape);
        for (uint32_t d = 0; d < c->rank; d++) shape.dims[shape.rank++] = c->dims[d];
        for (uint32_t d = batch; d < n; d++) shape.dims[shape.rank++] = own[d];
        t = keep(c, spy_create_broadcast(t, shape));
        if (!t) return arg;
        c->kinds[K_VIEW] = true;
    }
    if (used) *used = t;
    return spy_arg_tensor(name, t);
}

// >>a call

static void draw_shape(call *c, const wish *w) {
    static const int64_t small[] = { 1, 2, 3, 4, 5, 7, 8 };
    int64_t count = 1;
    bool gpu = spy_get_device_info(gpu_device).type != SPY_ADAPTER_TYPE_CPU;
    c->rank = w->rank >= 0 ? (uint32_t)w->rank : w->variant >= 0 && w->variant != ONE_ELEMENT ? 1 + (uint32_t)below(5) : (uint32_t)below(6);
    for (uint32_t d = 0; d < c->rank; d++) {
        c->dims[d] = small[below(7)];
        if (chance(2)) c->dims[d] = 0;
        if (count * c->dims[d] > 3000) c->dims[d] = 1;
        if (w->variant == ONE_ELEMENT) c->dims[d] = 1;
        if (w->variant == FLAT && d + 1 == c->rank) c->dims[d] = 3 + 2 * (int64_t)below(20);
        if (w->variant > ONE_ELEMENT && c->dims[d] < 2) c->dims[d] = 2;
        count *= c->dims[d] > 0 ? c->dims[d] : 1;
    }
    if (c->rank > 0 && (w->variant == WIDE || chance(4))) { // on GPUs wide variants begin at 65,536 elements
        int64_t *last = &c->dims[c->rank - 1], others = *last > 0 ? count / *last : count;
        *last = w->variant == WIDE ? (gpu ? 65536 : 16) / others : (int64_t)below(gpu ? 70000 : 5000);
        int64_t most = gpu || test_everything() ? 300000 : 20000;
        if (*last * others > most) *last = most / others;
        if (*last < 8) *last = 8;
        *last = chance(30) && c->rank == 1 ? *last + (int64_t)below(5) : (*last + 3) / 4 * 4;
        c->big = true;
    }
}

static void draw_call(call *c, const wish *w) {
    static const char *const two[] = { "a", "b" }, *const three[] = { "a", "b", "c" }, *const pair[] = { "x", "y" };
    memset(c, 0, sizeof *c);
    do c->dtype = w->dtype >= 0 ? (spy_dtype)w->dtype : (spy_dtype)(1 + below(SPY_DTYPE_COUNT - 1));
    while (!has_dtype((int)c->dtype));
    draw_shape(c, w);
    // Which function.
    bool floating = c->dtype >= SPY_DTYPE_FLOAT16;
    int op = (int)below(10); // 0-3 add, 4-6 mad, 7-8 io, 9 div
    bool fields = w->kind == K_FIELDS || (w->variant == WIDE ? chance(10) : chance(20));
    const struct_shape *st = fields ? &structs[w->variant == WIDE || chance(30) ? 1 : 0] : NULL;
    const param_shape *p = &shapes[below(7)];
    if (w->variant == WIDE || chance(20)) p = &shapes[P_S];
    if (w->kind == K_TENSOR) p = &shapes[P_S];
    if ((w->kind == K_FEED || w->kind == K_ELEMENT) && p == &shapes[P_S]) p = &shapes[P_V3];
    if (p == &shapes[P_M] && !floating && c->dtype != SPY_DTYPE_INT32) p = &shapes[P_V3];
    if (c->dtype == SPY_DTYPE_BOOL && p != &shapes[P_S] && p != &shapes[P_A3]) p = &shapes[P_V3];
    if (op == 9 && (!floating || st)) op = 0;
    if (op == 9) p = &shapes[P_S];
    if (st && op >= 4 && op <= 6) op = 0;
    if (w->kind == K_NEW && op >= 7 && op <= 8 && chance(50)) op = 0;
    bool io = op == 7 || op == 8;
    const char *opname = io ? "io" : op == 9 ? "div" : op >= 4 ? "mad" : "add";
    snprintf(c->function, sizeof c->function, "%s_%s_%s", opname, st ? st->name : p->name, slang_names[c->dtype]);
    c->ulp = op == 9 ? 3 : 0;
    int params = op >= 4 && op <= 8 ? 3 : 2, inputs = io ? 1 : params;
    const char *const *names = params == 3 ? three : st && !io ? pair : two;
    (void)inputs;
    // One leaf has all dimensions; a new tensor takes its shape from others, so an input does then.
    int full = (int)below((uint64_t)(io ? 1 : params));
    int channels = st ? st->fields : 1;
    reference_view views[4][3]; // of parameters 0..2 and the result
    int wanted_at = (int)below(4);
    memset(views, 0, sizeof views);
    bool structs_whole[4] = { false };
    for (int at = 0; at < (io ? 3 : params + 1); at++) { // the last one of others than io is the result
        bool is_result = !io && at == params, out = is_result || (io && at >= 1), in = !is_result && !(io && at == 1);
        const char *name = is_result ? "_result" : names[at];
        int wanted = w->kind >= 0 && (at == wanted_at || chance(50)) ? w->kind : -1;
        if (w->kind == K_NEW && out) wanted = K_NEW;
        if (st && chance(25) && !(w->variant == WIDE) && !(w->kind == K_FIELDS && at == 0)) { // the struct as a whole
            memory *m = &c->memories[c->memory_count++];
            char type[64];
            int64_t strides[8] = { 0 }, offset = 0;
            snprintf(type, sizeof type, st->type, slang_names[c->dtype]);
            structs_whole[at] = true;
            bool bytes = out ? c->rank == 0 : at != full && chance(40);
            bool make_new = out && !in && !bytes && chance(30);
            if (bytes || make_new) {
                int64_t count = st->components;
                for (uint32_t d = c->rank; d-- > 0 && make_new;) {
                    strides[d] = count / st->components;
                    count *= c->dims[d];
                }
                reference_make(&m->store, c->dtype, (size_t)count);
                fill_random(m, c->dtype);
                if (bytes) {
                    m->host = take_block(c, (size_t)count * 8);
                    memcpy(m->host, m->store.before, (size_t)count * spy_dtype_size_bytes(c->dtype));
                    m->compare_host = true;
                    leaf l;
                    memset(&l, 0, sizeof l);
                    l.in = in;
                    l.out = out;
                    c->args[c->arg_count++] = directed(spy_arg_data(name, m->host, (size_t)count * spy_dtype_size_bytes(c->dtype)), &l);
                    c->kinds[K_BYTES] = true;
                } else {
                    c->args[c->arg_count++] = spy_out_tensor(name, &m->made);
                    c->kinds[K_NEW] = true;
                }
            } else {
                spy_tensor *t = make_tensor(c, m, c->dtype, type, st->components, c->rank, c->dims, w->variant == FLAT ? 1 : (int)below(3), false, 0, chance(20), &offset, strides);
                if (!t) return;
                c->args[c->arg_count++] = spy_arg_tensor(name, t);
                c->kinds[K_ELEMENT] = true;
            }
            for (int f = 0; f < st->fields; f++) {
                const param_shape *fs = st->shape[f] < 0 ? &array2 : &shapes[st->shape[f]];
                views[at][f].store = &m->store;
                views[at][f].offset = offset * st->components + st->first[f];
                for (uint32_t d = 0; d < c->rank; d++) views[at][f].strides[d] = strides[d] * st->components;
                if (fs->rank) views[at][f].strides[c->rank] = 1;
            }
            continue;
        }
        for (int f = 0; f < channels; f++) {
            leaf l;
            memset(&l, 0, sizeof l);
            l.shape = st ? (st->shape[f] < 0 ? &array2 : &shapes[st->shape[f]]) : p;
            l.in = in;
            l.out = out;
            // In place: the result goes where the full input came from, element by element.
            const reference_view *place = NULL;
            static spy_tensor *full_tensor;
            if (at == 0 && f == 0) full_tensor = NULL;
            if (is_result && !st && full_tensor && chance(25) && views[full][0].store->dtype == c->dtype) place = &views[full][0];
            bool is_full = at == full && f == 0;
            spy_tensor *used = NULL;
            spy_arg arg = make_leaf(c, &l, st ? st->names[f] : name, wanted, is_full, w, place, full_tensor, &used);
            if (c->failure[0]) return;
            // A stretched or doubly used place is no output; only a plain one of all dimensions may be.
            if (is_full && !st && p == &shapes[P_S] && used && spy_get_tensor_info(used).shape.rank == c->rank) {
                spy_tensor_info info = spy_get_tensor_info(used);
                bool whole = true;
                for (uint32_t d = 0; d < c->rank; d++) whole = whole && info.shape.dims[d] == c->dims[d] && (info.strides.dims[d] != 0 || info.shape.dims[d] <= 1);
                if (whole) full_tensor = used;
            }
            views[at][f] = l.view;
            if (st) c->fields[at][f] = arg;
            else c->args[c->arg_count++] = arg;
        }
        if (st) {
            spy_args list = { c->fields[at], (size_t)channels };
            if (chance(30) && channels > 1) { // fields in another order
                spy_arg t = c->fields[at][0];
                c->fields[at][0] = c->fields[at][1];
                c->fields[at][1] = t;
            }
            c->args[c->arg_count++] = spy_arg_struct(name, list);
            c->kinds[K_FIELDS] = true;
        }
    }
    // By position, by name in any order.
    if (chance(40)) {
        for (int i = 0; i < c->arg_count; i++)
            if (strcmp(c->args[i].name, "_result") != 0) c->args[i].name = NULL;
    } else if (chance(50)) {
        spy_arg t = c->args[0];
        c->args[0] = c->args[c->arg_count - 1];
        c->args[c->arg_count - 1] = t;
    }
    // What must come out, one channel at a time. A backend that runs nothing needs no values.
    for (int f = 0; f < channels && !gpu_other_backend; f++) {
        const param_shape *fs = st ? (st->shape[f] < 0 ? &array2 : &shapes[st->shape[f]]) : p;
        int64_t space[REFERENCE_RANK];
        for (uint32_t d = 0; d < c->rank; d++) space[d] = c->dims[d];
        for (uint32_t d = 0; d < fs->rank; d++) space[c->rank + d] = fs->dims[d];
        reference_view in[3];
        uint32_t rank = c->rank + fs->rank;
        if (io) {
            in[0] = views[0][f];
            in[1] = views[2][f];
            reference_run(REFERENCE_ADD, c->dtype, rank, space, in, &views[1][f]);
            reference_run(REFERENCE_MULTIPLY, c->dtype, rank, space, in, &views[2][f]);
        } else {
            for (int i = 0; i < params; i++) in[i] = views[i][f];
            reference_run(op == 9 ? REFERENCE_DIVIDE : params == 3 ? REFERENCE_MAD : REFERENCE_ADD, c->dtype, rank, space, in, &views[params][f]);
        }
    }
    (void)structs_whole;
}

static void compare_memory(call *c, const memory *m, int number, const void *got) {
    size_t size = spy_dtype_size_bytes(m->store.dtype);
    for (size_t i = 0; i < m->store.count; i++) {
        const unsigned char *g = (const unsigned char *)got + i * size, *a = m->store.after + i * size, *b = m->store.other + i * size;
        if (memcmp(g, a, size) == 0 || memcmp(g, b, size) == 0) continue;
        uint64_t distance = reference_distance(m->store.dtype, g, a);
        if (m->store.written[i] && distance <= c->ulp) continue;
        char x[64], y[64], z[64];
        reference_print(x, sizeof x, m->store.dtype, g);
        reference_print(y, sizeof y, m->store.dtype, a);
        reference_print(z, sizeof z, m->store.dtype, m->store.before + i * size);
        snprintf(c->failure, sizeof c->failure, "memory %d, %s %zu of %zu: got %s, expected %s (%s), %llu ULP; it was %s", number, spy_dtype_name(m->store.dtype), i, m->store.count, x, y,
                 m->store.written[i] ? "written by the call" : "must not change", (unsigned long long)distance, z);
        return;
    }
}

// Runs the call and compares all its memory.
static void run_call(call *c, variant_kind *variant, bool *pointers, bool *wide_index) {
    static char text[65536];
    spy_args args = { c->args, (size_t)c->arg_count };
    spy_function *f = spy_find_function(module, c->function);
    if (!f) {
        snprintf(c->failure, sizeof c->failure, "no function: %.500s", spy_take_error(gpu_device).message);
        return;
    }
    text[0] = 0;
    spy_explain_call(f, args, NULL, text, sizeof text);
    *variant = VARIANTS;
    const char *first = strstr(text, "\n// ");
    if (first) first = strstr(first + 1, "\n// ");
    for (int v = 0; v < VARIANTS && first; v++)
        if (strncmp(first + 4, variant_names[v], strlen(variant_names[v])) == 0) *variant = (variant_kind)v;
    *pointers = first && strstr(text, ", pointers");
    *wide_index = strstr(text, "64-bit offsets") != NULL;
    if (getenv("SPY_TEST_ONLY")) print_message("%s\n", text);
    spy_status status = spy_call(f, args);
    if (status != SPY_OK) {
        snprintf(c->failure, sizeof c->failure, "%.590s", spy_take_error(gpu_device).message);
        return;
    }
    for (int i = 0; i < c->memory_count && !c->failure[0] && !gpu_other_backend; i++) {
        memory *m = &c->memories[i];
        if (!m->base && !m->made) {
            if (m->compare_host) compare_memory(c, m, i, m->host);
            continue;
        }
        spy_tensor *t = m->made ? m->made : m->base;
        size_t size = m->store.count * spy_dtype_size_bytes(m->store.dtype);
        spy_tensor_info info = spy_get_tensor_info(t);
        if (info.host_size_bytes != size) {
            snprintf(c->failure, sizeof c->failure, "memory %d has %zu bytes, expected %zu", i, info.host_size_bytes, size);
            break;
        }
        if (m->made && info.shape.rank != c->rank) snprintf(c->failure, sizeof c->failure, "the new tensor has rank %u, expected %u", info.shape.rank, c->rank);
        for (uint32_t d = 0; m->made && d < c->rank && !c->failure[0]; d++)
            if (info.shape.dims[d] != c->dims[d]) snprintf(c->failure, sizeof c->failure, "the new tensor has size %lld in dimension %u, expected %lld", (long long)info.shape.dims[d], d, (long long)c->dims[d]);
        void *got = malloc(size + 1);
        if (spy_tensor_read(t, got, size) != SPY_OK) snprintf(c->failure, sizeof c->failure, "%.500s", spy_take_error(gpu_device).message);
        if (!c->failure[0]) compare_memory(c, m, i, got);
        free(got);
    }
}

static void release_call(call *c) {
    while (c->tensor_count > 0) spy_release_tensor(c->tensors[--c->tensor_count]);
    for (int i = 0; i < MOST_LEAVES * 2; i++) {
        if (c->memories[i].made) spy_release_tensor(c->memories[i].made);
        reference_free(&c->memories[i].store);
    }
    while (c->block_count > 0) free(c->blocks[--c->block_count]);
}

// >>the table

static size_t print_pairs(const char *rows, const char *columns, int row_count, int column_count, const char *const *row_names, const char *const *column_names, const bool *hit,
                          const char *(*impossible)(int, int), int first_row) {
    size_t missing = 0;
    print_message("%s x %s:", rows, columns);
    size_t total = 0, done = 0;
    for (int r = first_row; r < row_count; r++)
        for (int k = 0; k < column_count; k++) {
            bool h = hit[r * column_count + k];
            if (!h && impossible(r, k)) continue;
            total++;
            done += h;
        }
    print_message(" %zu of %zu\n", done, total);
    for (int r = first_row; r < row_count; r++) {
        for (int k = 0; k < column_count; k++) {
            if (hit[r * column_count + k]) continue;
            const char *why = impossible(r, k);
            if (!why) missing++;
            print_message("    %s: %s x %s%s%s\n", why ? "impossible" : "MISSING", row_names[r], column_names[k], why ? ": " : "", why ? why : "");
        }
    }
    return missing;
}

static const char *pair_type_rank(int d, int r) {
    (void)r;
    return no_type(d);
}
static const char *pair_type_variant(int d, int v) {
    (void)v;
    return no_type(d);
}

static size_t print_table(void) {
    static const char *const ranks[] = { "rank 0", "rank 1", "rank 2", "rank 3", "rank 4", "rank 5" };
    size_t missing = 0;
    missing += print_pairs("type", "rank", SPY_DTYPE_COUNT, 6, slang_names, ranks, &hit_type_rank[0][0], pair_type_rank, 1);
    missing += print_pairs("type", "variant", SPY_DTYPE_COUNT, VARIANTS, slang_names, variant_names, &hit_type_variant[0][0], pair_type_variant, 1);
    missing += print_pairs("type", "argument", SPY_DTYPE_COUNT, KINDS, slang_names, kind_names, &hit_type_kind[0][0], no_type_kind, 1);
    missing += print_pairs("rank", "variant", 6, VARIANTS, ranks, variant_names, &hit_rank_variant[0][0], no_rank_variant, 0);
    missing += print_pairs("rank", "argument", 6, KINDS, ranks, kind_names, &hit_rank_kind[0][0], no_rank_kind, 0);
    missing += print_pairs("variant", "argument", VARIANTS, KINDS, variant_names, kind_names, &hit_variant_kind[0][0], no_variant_kind, 0);
    for (int p = 0; p < 2; p++)
        for (int v = 0; v < VARIANTS; v++) print_message("%s, %s: %zu calls\n", variant_names[v], p ? "pointers" : "structured buffers", hit_access[p][v]);
    print_message("64-bit offsets: %zu calls\n", hit_64);
    return missing;
}

static void note_coverage(const call *c, variant_kind v, bool pointers, bool wide_index) {
    hit_type_rank[c->dtype][c->rank] = true;
    for (int k = 0; k < KINDS; k++) {
        if (!c->kinds[k]) continue;
        hit_type_kind[c->dtype][k] = true;
        hit_rank_kind[c->rank][k] = true;
        if (v < VARIANTS) hit_variant_kind[v][k] = true;
    }
    hit_64 += wide_index;
    if (v == VARIANTS) return; // nothing ran
    hit_type_variant[c->dtype][v] = true;
    hit_rank_variant[c->rank][v] = true;
    hit_access[pointers][v]++;
}

// >>the tests

static void test_random_calls(void **state) {
    (void)state;
    if (!gpu_device) skip();
    const char *env_seed = getenv("SPY_TEST_SEED"), *only = getenv("SPY_TEST_ONLY");
    uint64_t seed = env_seed && env_seed[0] ? strtoull(env_seed, NULL, 0) : (uint64_t)time(NULL) * 1000003u + (uint64_t)getpid();
    size_t count = test_count(3000), failures = 0, empty = 0, i = 0, more = count;
    print_message("seed %llu, %zu calls\n", (unsigned long long)seed, count);
    static call c;
    for (; i < count + more; i++) {
        // The same call for the same seed and number, whatever was hit before: wishes are drawn from the call's own numbers.
        random_state = seed ^ (i * 0x9e3779b97f4a7c15u);
        uint64_t restart = next_random(&random_state);
        wish w = make_wish();
        if (i >= count) { // after the drawn calls: only those that the table misses
            for (int tries = 0; tries < 200 && w.dtype + w.rank + w.variant + w.kind == -4; tries++) w = make_wish();
            if (w.dtype + w.rank + w.variant + w.kind == -4) break;
        }
        random_state = restart;
        if (only && i != (size_t)strtoull(only, NULL, 0)) {
            // Coverage decides the wishes of later calls: without it they are repeated by the wish in the failure's line.
            continue;
        }
        const char *fixed = getenv("SPY_TEST_WISH");
        if (only && fixed && sscanf(fixed, "%d,%d,%d,%d", &w.dtype, &w.rank, &w.variant, &w.kind) != 4) fail();
        variant_kind v = VARIANTS;
        bool pointers = false, wide_index = false;
        draw_call(&c, &w);
        if (!c.failure[0]) run_call(&c, &v, &pointers, &wide_index);
        if (v == VARIANTS) empty++;
        if (c.failure[0]) {
            char dims[100] = "";
            for (uint32_t d = 0; d < c.rank; d++) snprintf(dims + strlen(dims), sizeof dims - strlen(dims), d ? ", %lld" : "%lld", (long long)c.dims[d]);
            print_error("call %zu: %s over (%s), %s, %s: %s\n    again: SPY_TEST_SEED=%llu SPY_TEST_ONLY=%zu SPY_TEST_WISH=%d,%d,%d,%d\n", i, c.function, dims, v < VARIANTS ? variant_names[v] : "?",
                        pointers ? "pointers" : "structured buffers", c.failure, (unsigned long long)seed, i, w.dtype, w.rank, w.variant, w.kind);
            (void)spy_take_error(gpu_device);
            if (++failures >= (getenv("SPY_TEST_ALL") || gpu_other_backend ? 1000000 : 12)) { // no value is right there
                release_call(&c);
                break;
            }
        } else {
            note_coverage(&c, v, pointers, wide_index);
        }
        release_call(&c);
    }
    print_message("%zu calls, %zu without work, %zu wrong\n", i, empty, failures);
    if (!only) {
        size_t missing = print_table();
        if (failures == 0 && count >= 300) assert_int_equal(missing, 0);
    }
    assert_int_equal(failures, 0);
}

// Each kernel that was made is valid SPIR-V.
static void test_spirv(void **state) {
    (void)state;
    if (gpu_is_cuda()) skip(); // tests/cuda compiles them
    if (!gpu_device) skip();
    gpu_check_spirv(gpu_dump_folder(), 0);
}

static int setup(void **state) {
    (void)state;
    spy_device_desc d = gpu_desc();
    d.dump_directory = gpu_dump_folder();
    gpu_device = gpu_open(&d);
    if (!gpu_device) return 0;
    module = gpu_module_file(gpu_device, __FILE__, "random.slang");
    if (!module) print_error("%s\n", spy_take_error(gpu_device).message);
    return module ? 0 : -1;
}

int main(void) {
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_random_calls), cmocka_unit_test(test_spirv) };
    return cmocka_run_group_tests(tests, setup, gpu_teardown_dumped);
}

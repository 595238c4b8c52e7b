// A plain-C model of tensor views for random tests: a view is its shape and the list of the base's elements that it shows,
// in row-major order. Operations rearrange the list as copies would be rearranged; nothing here knows of strides.
// Used by tests/unit/test_view.c (null backend) and tests/gpu/test_views.c (a device).
#ifndef VIEW_MODEL_H
#define VIEW_MODEL_H

#include "spy_test.h"
#include <stdio.h>

enum { MODEL_MOST = 4096 }; // elements

typedef struct model {
    spy_shape shape;
    int64_t count;
    int32_t at[MODEL_MOST]; // which element of the base
} model;

static uint64_t model_state = 1;
static inline uint32_t model_random(uint32_t n) { // 0 .. n - 1
    model_state = model_state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)((model_state >> 33) % n);
}

static inline int64_t model_count(const spy_shape *s) {
    int64_t n = 1;
    for (uint32_t i = 0; i < s->rank; i++) n *= s->dims[i];
    return n;
}

static inline void model_base(model *m, spy_shape shape) {
    m->shape = shape;
    m->count = model_count(&shape);
    for (int64_t i = 0; i < m->count; i++) m->at[i] = (int32_t)i;
}

// Number of the element at a multi-index.
static inline int64_t model_number(const spy_shape *s, const int64_t *index) {
    int64_t n = 0;
    for (uint32_t i = 0; i < s->rank; i++) n = n * s->dims[i] + index[i];
    return n;
}

static inline void model_index(const spy_shape *s, int64_t number, int64_t *index) {
    for (uint32_t i = s->rank; i-- > 0; number /= s->dims[i]) index[i] = number % s->dims[i];
}

static inline bool model_distinct(const model *m) {
    static uint8_t seen[MODEL_MOST];
    memset(seen, 0, sizeof seen);
    for (int64_t i = 0; i < m->count; i++)
        if (seen[m->at[i]]++) return false;
    return true;
}

// Python's range(*slice(start, stop, step).indices(n)) by walking all positions that could be meant.
static inline int64_t model_slice(int64_t n, const spy_index *r, int64_t *list) {
    int64_t count = 0, at;
    bool back = r->step < 0;
    if (r->start == SPY_INDEX_NONE) at = back ? n - 1 : 0;
    else at = r->start < 0 ? r->start + n : r->start;
    int64_t stop = r->stop < 0 ? r->stop + n : r->stop;
    // A start outside is moved to the nearest end; one behind the walk's end gives nothing.
    if (!back && at < 0) at = 0;
    if (back && at > n - 1) at = n - 1;
    for (; at >= 0 && at < n; at += r->step) {
        if (r->stop != SPY_INDEX_NONE && (back ? at <= stop : at >= stop)) break;
        list[count++] = at;
    }
    return count;
}

// numpy's basic indexing of a copy.
static inline void model_indexed(const model *from, spy_indices indices, model *to) {
    int64_t lists[2 * SPY_MAX_RANK][64], source[SPY_MAX_RANK], index[SPY_MAX_RANK];
    int of[2 * SPY_MAX_RANK]; // the dimension of the source that each of the view is cut from; -1: none
    uint32_t named = 0, dim = 0;
    int64_t fixed[SPY_MAX_RANK] = { 0 };
    memset(&to->shape, 0, sizeof to->shape);
    for (size_t i = 0; i < indices.count; i++)
        named += indices.items[i].kind == SPY_INDEX_KIND_AT || indices.items[i].kind == SPY_INDEX_KIND_RANGE;
    for (size_t i = 0; i <= indices.count; i++) {
        uint32_t whole = 0;
        if (i == indices.count) whole = from->shape.rank - dim;
        else if (indices.items[i].kind == SPY_INDEX_KIND_REST) whole = from->shape.rank - named;
        for (; whole; whole--, dim++) {
            uint32_t k = to->shape.rank++;
            of[k] = (int)dim;
            to->shape.dims[k] = from->shape.dims[dim];
            for (int64_t j = 0; j < from->shape.dims[dim]; j++) lists[k][j] = j;
        }
        if (i == indices.count) break;
        const spy_index *item = &indices.items[i];
        if (item->kind == SPY_INDEX_KIND_AT) {
            fixed[dim] = item->start < 0 ? item->start + from->shape.dims[dim] : item->start;
            dim++;
        } else if (item->kind == SPY_INDEX_KIND_NEW) {
            of[to->shape.rank] = -1;
            to->shape.dims[to->shape.rank++] = 1;
        } else if (item->kind == SPY_INDEX_KIND_RANGE) {
            uint32_t k = to->shape.rank++;
            of[k] = (int)dim;
            to->shape.dims[k] = model_slice(from->shape.dims[dim], item, lists[k]);
            dim++;
        }
    }
    to->count = model_count(&to->shape);
    for (int64_t i = 0; i < to->count; i++) {
        model_index(&to->shape, i, index);
        memcpy(source, fixed, sizeof source);
        for (uint32_t k = 0; k < to->shape.rank; k++)
            if (of[k] >= 0) source[of[k]] = lists[k][index[k]];
        to->at[i] = from->at[model_number(&from->shape, source)];
    }
}

static inline void model_transposed(const model *from, spy_dims order, model *to) {
    int64_t index[SPY_MAX_RANK], source[SPY_MAX_RANK];
    to->shape = from->shape;
    to->count = from->count;
    for (uint32_t i = 0; i < order.count; i++) to->shape.dims[i] = from->shape.dims[order.dims[i]];
    for (int64_t i = 0; i < to->count; i++) {
        model_index(&to->shape, i, index);
        for (uint32_t k = 0; k < order.count; k++) source[order.dims[k]] = index[k];
        to->at[i] = from->at[model_number(&from->shape, source)];
    }
}

static inline void model_broadcast(const model *from, spy_shape shape, model *to) {
    int64_t index[SPY_MAX_RANK], source[SPY_MAX_RANK];
    uint32_t lead = shape.rank - from->shape.rank;
    to->shape = shape;
    to->count = model_count(&shape);
    for (int64_t i = 0; i < to->count; i++) {
        model_index(&shape, i, index);
        for (uint32_t k = 0; k < from->shape.rank; k++) source[k] = from->shape.dims[k] == 1 ? 0 : index[lead + k];
        to->at[i] = from->at[model_number(&from->shape, source)];
    }
}

// Whether some strides show the list under a shape: its elements are then an affine function of the index.
static inline bool model_is_strided(const model *m, const spy_shape *shape) {
    int64_t index[SPY_MAX_RANK], strides[SPY_MAX_RANK];
    if (m->count == 0) return true;
    for (uint32_t d = 0; d < shape->rank; d++) {
        memset(index, 0, sizeof index);
        index[d] = shape->dims[d] > 1;
        strides[d] = m->at[model_number(shape, index)] - m->at[0];
    }
    for (int64_t i = 0; i < m->count; i++) {
        int64_t at = m->at[0];
        model_index(shape, i, index);
        for (uint32_t d = 0; d < shape->rank; d++) at += index[d] * strides[d];
        if (at != m->at[i]) return false;
    }
    return true;
}

// >>random steps: a view of a view, with its model

static inline spy_shape model_random_shape(int64_t most) {
    spy_shape s;
    memset(&s, 0, sizeof s);
    s.rank = model_random(5);
    for (uint32_t i = 0; i < s.rank; i++) {
        s.dims[i] = model_random(20) ? 1 + (int64_t)model_random(7) : 0;
        while (model_count(&s) > most) s.dims[i] = 1;
        for (uint32_t k = i + 1; k < s.rank; k++) s.dims[k] = 1;
    }
    return s;
}

static inline int64_t model_position(int64_t n) { // also outside, negative and left out
    return model_random(6) == 0 ? SPY_INDEX_NONE : (int64_t)model_random((uint32_t)(4 * n + 4)) - 2 * n - 2;
}

static inline spy_tensor *model_random_indexed(spy_tensor *t, const model *m, model *to) {
    spy_index items[2 * SPY_MAX_RANK];
    spy_indices list = { items, 0 };
    uint32_t rank = m->shape.rank, named = model_random(rank + 1), rest = model_random(named + 2); // rest: before which one
    for (uint32_t i = 0; i <= named; i++) {
        if (i == rest) items[list.count++] = spy_index_rest();
        if (rank + list.count < SPY_MAX_RANK && model_random(6) == 0) items[list.count++] = spy_index_new();
        if (i == named) break;
        int64_t n = m->shape.dims[i < rest ? i : rank - named + i];
        if (rest > named) n = m->shape.dims[i];
        if (n > 0 && model_random(3) == 0) {
            items[list.count++] = spy_index_at((int64_t)model_random((uint32_t)(2 * n)) - n);
        } else {
            int64_t step = (int64_t)model_random(7) - 3;
            items[list.count++] = spy_index_range(model_position(n), model_position(n), step ? step : 1);
        }
    }
    model_indexed(m, list, to);
    return spy_create_indexed(t, list);
}

static inline spy_tensor *model_random_transpose(spy_tensor *t, const model *m, model *to) {
    spy_dims order;
    memset(&order, 0, sizeof order);
    order.count = m->shape.rank;
    for (uint32_t i = 0; i < order.count; i++) {
        uint32_t k = model_random(i + 1);
        order.dims[i] = order.dims[k];
        order.dims[k] = (int32_t)i;
    }
    model_transposed(m, order, to);
    return spy_create_transpose(t, order);
}

static inline spy_tensor *model_random_broadcast(spy_tensor *t, const model *m, model *to) {
    spy_shape s = m->shape;
    for (uint32_t i = 0; i < s.rank; i++)
        if (s.dims[i] == 1 && model_count(&s) <= MODEL_MOST / 8 && model_random(2)) s.dims[i] = (int64_t)model_random(4);
    if (s.rank < 5 && model_count(&s) <= MODEL_MOST / 8 && model_random(2)) {
        memmove(s.dims + 1, s.dims, s.rank * sizeof *s.dims);
        s.dims[0] = 1 + (int64_t)model_random(3);
        s.rank++;
    }
    model_broadcast(m, s, to);
    return spy_create_broadcast(t, s);
}

// Another factorisation of the count; now and then with a -1. NULL is right when no strides could show it.
static inline spy_tensor *model_random_reshape(spy_device *dev, spy_tensor *t, const model *m, model *to) {
    spy_shape s, asked;
    int64_t left = m->count;
    memset(&s, 0, sizeof s);
    if (m->count == 0) s.rank = 1;
    else
        while (s.rank < 5 && (left > 1 || model_random(3) == 0)) {
            int64_t f = 1 + (int64_t)model_random(6);
            while (left % f) f--;
            if (s.rank == 4) f = left;
            s.dims[s.rank++] = f;
            left /= f;
        }
    asked = s;
    if (m->count && s.rank && model_random(3) == 0) asked.dims[model_random(s.rank)] = -1;
    to->shape = s;
    to->count = m->count;
    memcpy(to->at, m->at, (size_t)m->count * sizeof *m->at);
    spy_tensor *made = spy_create_reshape(t, asked);
    if ((made != NULL) != model_is_strided(m, &s)) fail_msg("reshape %s: %s", made ? "was made" : "failed", spy_take_error(dev).message);
    if (!made) assert_int_equal(spy_take_error(dev).code, SPY_ERROR_SHAPE_MISMATCH);
    return made;
}

// `steps` views one upon the other; releases those between. *m is the base's model and becomes the view's.
static inline spy_tensor *model_random_view(spy_device *dev, spy_tensor *base, model *m, int steps) {
    static model next;
    spy_tensor *t = base;
    spy_retain_tensor(t);
    for (int i = 0; i < steps; i++) {
        spy_tensor *made = NULL;
        switch (model_random(5)) {
        case 0: made = model_random_transpose(t, m, &next); break;
        case 1: made = model_random_broadcast(t, m, &next); break;
        case 2:
            made = model_random_reshape(dev, t, m, &next);
            if (!made) continue;
            break;
        default: made = model_random_indexed(t, m, &next);
        }
        if (!made) fail_msg("%s", spy_take_error(dev).message);
        spy_release_tensor(t);
        t = made;
        *m = next;
        spy_tensor_info info = spy_get_tensor_info(t);
        assert_int_equal(info.shape.rank, m->shape.rank);
        assert_memory_equal(info.shape.dims, m->shape.dims, m->shape.rank * sizeof *m->shape.dims);
        assert_true(info.element_count == m->count);
    }
    return t;
}

// >>checks

static inline spy_tensor *model_tensor(spy_device *dev, spy_dtype dtype, spy_shape shape, const void *data) {
    spy_tensor_desc d;
    memset(&d, 0, sizeof d);
    d.dtype = dtype;
    d.shape = shape;
    d.data = data;
    spy_tensor *t = spy_create_tensor(dev, &d);
    if (!t) fail_msg("%s", spy_take_error(dev).message);
    return t;
}

static inline void model_good(spy_device *dev, spy_status status) {
    if (status != SPY_OK) fail_msg("%s", spy_take_error(dev).message);
}

// Reads the view and ranges of it, writes it when its elements are distinct, and compares the base each time.
static inline void model_check_view(spy_device *dev) {
    static model m;
    static int32_t base_data[MODEL_MOST], got[MODEL_MOST + 1];
    spy_shape shape = model_random_shape(MODEL_MOST / 4);
    int64_t n = model_count(&shape);
    for (int64_t i = 0; i < n; i++) base_data[i] = (int32_t)model_random(1u << 30);
    spy_tensor *base = model_tensor(dev, SPY_DTYPE_INT32, shape, base_data);
    model_base(&m, shape);
    spy_tensor *t = model_random_view(dev, base, &m, 1 + (int)model_random(4));
    got[m.count] = 77;
    model_good(dev, spy_tensor_read(t, got, (size_t)m.count * 4));
    for (int64_t i = 0; i < m.count; i++) assert_int_equal(got[i], base_data[m.at[i]]);
    int64_t first = (int64_t)model_random((uint32_t)m.count + 1), count = (int64_t)model_random((uint32_t)(m.count - first) + 1);
    model_good(dev, spy_tensor_read_range(t, first, count, got, (size_t)count * 4));
    for (int64_t i = 0; i < count; i++) assert_int_equal(got[i], base_data[m.at[first + i]]);
    assert_int_equal(got[m.count], 77);
    if (model_distinct(&m)) {
        for (int64_t i = 0; i < count; i++) {
            got[i] = (int32_t)model_random(1u << 30);
            base_data[m.at[first + i]] = got[i];
        }
        model_good(dev, spy_tensor_write_range(t, first, count, got, (size_t)count * 4));
        model_good(dev, spy_tensor_read(base, got, (size_t)n * 4));
        assert_memory_equal(got, base_data, (size_t)n * 4);
        int32_t value = (int32_t)model_random(1u << 30);
        model_good(dev, spy_tensor_fill_data(t, &value, sizeof value));
        for (int64_t i = 0; i < m.count; i++) base_data[m.at[i]] = value;
        model_good(dev, spy_tensor_read(base, got, (size_t)n * 4));
        assert_memory_equal(got, base_data, (size_t)n * 4);
    }
    spy_release_tensor(t);
    spy_release_tensor(base);
}

// A view of shape `shape` of `base`, which has dimension order[d] of size 2 * shape[d] + 1: from any place, in steps of 1, 2,
// -1 or -2.
static inline spy_tensor *model_window(spy_device *dev, spy_tensor *base, spy_dims order, spy_shape shape, model *m) {
    static model turned;
    spy_index items[SPY_MAX_RANK];
    spy_indices list = { items, shape.rank };
    for (uint32_t d = 0; d < shape.rank; d++) {
        int64_t n = shape.dims[d], step = d + 1 == shape.rank && model_random(2) ? 1 : (int64_t[]){ 1, 2, -1, -2 }[model_random(4)];
        int64_t reach = (n - 1) * (step < 0 ? -step : step), low = (int64_t)model_random((uint32_t)(2 * n + 1 - reach));
        if (step > 0) items[d] = spy_index_range(low, low + reach + 1, step);
        else items[d] = spy_index_range(low + reach, low ? low - 1 : SPY_INDEX_NONE, step);
    }
    model_base(m, spy_get_tensor_info(base).shape);
    model_transposed(m, order, &turned);
    model_indexed(&turned, list, m);
    spy_tensor *t = spy_create_transpose(base, order), *view = spy_create_indexed(t, list);
    if (!view) fail_msg("%s", spy_take_error(dev).message);
    spy_release_tensor(t);
    return view;
}

static inline spy_tensor *model_window_base(spy_device *dev, spy_dtype dtype, spy_dims order, spy_shape shape, const void *data) {
    spy_shape full = shape;
    for (uint32_t d = 0; d < shape.rank; d++) full.dims[order.dims[d]] = 2 * shape.dims[d] + 1;
    return model_tensor(dev, dtype, full, data);
}

// Copies one random view to another of its shape, in the same or another base, of the same or another dtype.
static inline void model_check_copy(spy_device *dev) {
    static model from, to;
    static int32_t data[2][MODEL_MOST], old[MODEL_MOST], got[MODEL_MOST];
    static float floats[MODEL_MOST];
    bool same = model_random(2), convert = !same && model_random(3) == 0;
    spy_shape shape;
    spy_dims order[2];
    memset(&shape, 0, sizeof shape);
    memset(order, 0, sizeof order);
    shape.rank = order[0].count = order[1].count = model_random(4);
    for (uint32_t d = 0; d < shape.rank; d++) {
        shape.dims[d] = 1 + (int64_t)model_random(d + 1 == shape.rank ? 7 : 5);
        for (int side = 0; side < 2; side++) {
            uint32_t k = model_random(d + 1);
            order[side].dims[d] = order[side].dims[k];
            order[side].dims[k] = (int32_t)d;
        }
    }
    if (same) order[1] = order[0];
    for (int i = 0; i < MODEL_MOST; i++)
        for (int side = 0; side < 2; side++) data[side][i] = (int32_t)model_random(1u << 24);
    for (int i = 0; i < MODEL_MOST; i++) floats[i] = (float)data[1][i];
    spy_tensor *a = model_window_base(dev, SPY_DTYPE_INT32, order[0], shape, data[0]), *b = a;
    if (!same)
        b = model_window_base(dev, convert ? SPY_DTYPE_FLOAT32 : SPY_DTYPE_INT32, order[1], shape, convert ? (void *)floats : (void *)data[1]);
    int32_t *b_data = data[!same];
    spy_tensor *x = model_window(dev, a, order[0], shape, &from), *y = model_window(dev, b, order[1], shape, &to);
    size_t size = (size_t)spy_get_tensor_info(b).element_count * 4;
    memcpy(old, data[0], sizeof old);
    model_good(dev, spy_tensor_copy(y, x));
    for (int64_t i = 0; i < to.count; i++) b_data[to.at[i]] = old[from.at[i]];
    model_good(dev, spy_tensor_read(b, convert ? (void *)floats : (void *)got, size));
    if (convert)
        for (size_t i = 0; i < size / 4; i++) got[i] = (int32_t)floats[i];
    assert_memory_equal(got, b_data, size);
    spy_release_tensor(x);
    spy_release_tensor(y);
    spy_release_tensor(a);
    if (b != a) spy_release_tensor(b);
}

#endif

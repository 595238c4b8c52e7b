// See random_reference.h. Whole numbers are computed modulo 2^64 and cut; floats in long double (64 bits of mantissa on
// x86), where sums and products of the inputs that reference_random() makes are exact, then rounded once.
#include "random_reference.h"

#include <math.h>

typedef struct value {
    uint64_t bits;  // whole numbers, sign-extended
    long double f;  // floats
} value;

static bool is_float(spy_dtype d) {
    return d == SPY_DTYPE_FLOAT16 || d == SPY_DTYPE_FLOAT32 || d == SPY_DTYPE_FLOAT64;
}
static bool is_signed(spy_dtype d) { return d == SPY_DTYPE_INT8 || d == SPY_DTYPE_INT16 || d == SPY_DTYPE_INT32 || d == SPY_DTYPE_INT64; }

void reference_make(reference_store *store, spy_dtype dtype, size_t count) {
    size_t size = spy_dtype_size_bytes(dtype) * count;
    memset(store, 0, sizeof *store);
    store->dtype = dtype;
    store->count = count;
    store->before = (unsigned char *)calloc(1, size + 16);
    store->after = (unsigned char *)calloc(1, size + 16);
    store->other = (unsigned char *)calloc(1, size + 16);
    store->written = (unsigned char *)calloc(1, count + 16);
    assert_true(store->before && store->after && store->other && store->written);
}

void reference_free(reference_store *store) {
    free(store->before);
    free(store->after);
    free(store->other);
    free(store->written);
    memset(store, 0, sizeof *store);
}

// >>half

// v times 2^exponent. C's ldexpl() takes a fifth of the program's time.
static long double scaled_by(long double v, int exponent) {
    for (; exponent >= 16; exponent -= 16) v *= 65536;
    for (; exponent <= -16; exponent += 16) v /= 65536;
    return exponent < 0 ? v / (1 << -exponent) : v * (1 << exponent);
}

// floor(log2(v)), or one more where v is that near to the next power that a double cannot tell.
static int exponent_of(long double v) {
    double d = (double)v;
    uint64_t bits;
    memcpy(&bits, &d, 8);
    return (int)(bits >> 52 & 2047) - 1023;
}

static double half_to_double(uint16_t h) {
    int exponent = h >> 10 & 31, fraction = h & 1023;
    double v = exponent == 31 ? (fraction ? NAN : INFINITY) : (double)(exponent ? scaled_by(1024 + fraction, exponent - 25) : scaled_by(fraction, -24));
    return h & 0x8000 ? -v : v;
}

static uint16_t half_from(long double v) { // to nearest, ties to even
    uint16_t sign = signbit(v) ? 0x8000 : 0;
    v = fabsl(v);
    if (v != v) return (uint16_t)(sign | 0x7e00);
    if (v == 0) return sign;
    if (v > 1e6L) return (uint16_t)(sign | 0x7c00);
    int exponent = exponent_of(v) < -14 ? -14 : exponent_of(v);
    long double scaled = rintl(scaled_by(v, 10 - exponent));
    if (scaled >= 2048) {
        scaled /= 2;
        exponent++;
    }
    if (exponent > 15) return (uint16_t)(sign | 0x7c00);
    unsigned n = (unsigned)scaled; // below 1024: subnormal
    return (uint16_t)(sign | (n < 1024 ? n : ((unsigned)(exponent + 15) << 10) + (n - 1024)));
}

// >>scalars in memory

static value load(spy_dtype d, const unsigned char *from) {
    value v = { 0, 0 };
    float f;
    double g;
    uint16_t h;
    size_t size = spy_dtype_size_bytes(d);
    switch (d) {
    case SPY_DTYPE_FLOAT16:
        memcpy(&h, from, 2);
        v.f = (long double)half_to_double(h);
        return v;
    case SPY_DTYPE_FLOAT32:
        memcpy(&f, from, 4);
        v.f = (long double)f;
        return v;
    case SPY_DTYPE_FLOAT64:
        memcpy(&g, from, 8);
        v.f = (long double)g;
        return v;
    default: break;
    }
    memcpy(&v.bits, from, size);
    if (is_signed(d) && size < 8 && v.bits >> (8 * size - 1)) v.bits |= ~(uint64_t)0 << 8 * size;
    return v;
}

static void store_value(spy_dtype d, value v, unsigned char *to) {
    float f;
    double g;
    uint16_t h;
    switch (d) {
    case SPY_DTYPE_FLOAT16:
        h = half_from(v.f);
        memcpy(to, &h, 2);
        return;
    case SPY_DTYPE_FLOAT32:
        f = (float)v.f;
        memcpy(to, &f, 4);
        return;
    case SPY_DTYPE_FLOAT64:
        g = (double)v.f;
        memcpy(to, &g, 8);
        return;
    case SPY_DTYPE_BOOL: *to = v.bits != 0; return;
    default: memcpy(to, &v.bits, spy_dtype_size_bytes(d)); return;
    }
}

static value convert(value v, spy_dtype from, spy_dtype to) {
    if (is_float(to) && !is_float(from)) v.f = is_signed(from) ? (long double)(int64_t)v.bits : (long double)v.bits;
    if (!is_float(to) && is_float(from)) v.bits = v.f < 0 ? (uint64_t)(int64_t)v.f : (uint64_t)v.f;
    return v;
}

static value rounded(spy_dtype d, value v) {
    unsigned char memory[8] = { 0 };
    store_value(d, v, memory);
    return load(d, memory);
}

void reference_random(unsigned char *to, spy_dtype stored, spy_dtype dtype, uint64_t (*next)(void *), void *state) {
    // The narrower of the two decides which values there are.
    bool take_stored = is_float(dtype) ? !is_float(stored) || stored < dtype : spy_dtype_size_bytes(stored) < spy_dtype_size_bytes(dtype);
    spy_dtype range = take_stored ? stored : dtype;
    value v = { next(state), 0 };
    if (range == SPY_DTYPE_BOOL) v.bits &= 1;
    else if (!is_float(range)) v = rounded(range, v);
    if (is_float(range)) { // +-[1/2, 8) for halves, +-[1/16, 16) for others, all bits of the mantissa used
        int bits = range == SPY_DTYPE_FLOAT16 ? 10 : range == SPY_DTYPE_FLOAT32 ? 23 : 52;
        int low = range == SPY_DTYPE_FLOAT16 ? -1 : -4, high = range == SPY_DTYPE_FLOAT16 ? 3 : 4;
        long double mantissa = 1 + scaled_by((long double)(next(state) & (((uint64_t)1 << bits) - 1)), -bits);
        v.f = scaled_by(mantissa, low + (int)(v.bits % (uint64_t)(high - low)));
        if (v.bits >> 63) v.f = -v.f;
    }
    if (!is_float(stored) && is_float(range)) v.f = (long double)(int)v.f;
    if (!is_float(dtype) && is_float(stored)) { // whole numbers that a float64 holds
        v.bits = rounded(dtype, v).bits & 0x7f;
        v.f = (long double)v.bits;
        range = stored;
    }
    store_value(stored, convert(v, range, stored), to);
}

// >>the walk

static value compute(reference_op op, spy_dtype d, const value *in, bool fused) {
    value v = { 0, 0 };
    if (is_float(d)) {
        value product;
        switch (op) {
        case REFERENCE_ADD: v.f = in[0].f + in[1].f; break;
        case REFERENCE_MULTIPLY: v.f = in[0].f * in[1].f; break;
        case REFERENCE_DIVIDE: v.f = in[0].f / in[1].f; break;
        default:
            product.bits = 0;
            product.f = in[0].f * in[1].f;
            if (fused && d == SPY_DTYPE_FLOAT64) v.f = (long double)fma((double)in[0].f, (double)in[1].f, (double)in[2].f);
            else v.f = (fused ? product.f : rounded(d, product).f) + in[2].f;
        }
        // Sums and products of doubles need more bits than long double has: the machine's own arithmetic rounds once.
        if (d == SPY_DTYPE_FLOAT64 && op == REFERENCE_ADD)
            v.f = (long double)((double)in[0].f + (double)in[1].f);
        if (d == SPY_DTYPE_FLOAT64 && op == REFERENCE_MULTIPLY) v.f = (long double)((double)in[0].f * (double)in[1].f);
        if (d == SPY_DTYPE_FLOAT64 && op == REFERENCE_MAD && !fused) {
            double p = (double)in[0].f * (double)in[1].f;
            v.f = (long double)(p + (double)in[2].f);
        }
        return v;
    }
    bool b = d == SPY_DTYPE_BOOL;
    uint64_t x = in[0].bits, y = in[1].bits;
    if (op == REFERENCE_ADD) v.bits = b ? (uint64_t)(x != y) : x + y;
    else if (op == REFERENCE_MULTIPLY) v.bits = b ? (uint64_t)(x && y) : x * y;
    else v.bits = b ? (uint64_t)((x && y) != (in[2].bits != 0)) : x * y + in[2].bits;
    return v;
}

void reference_run(reference_op op, spy_dtype dtype, uint32_t rank, const int64_t *dims, const reference_view *inputs, const reference_view *out) {
    int arity = op == REFERENCE_MAD ? 3 : 2;
    int64_t index[REFERENCE_RANK] = { 0 };
    size_t size = spy_dtype_size_bytes(dtype);
    for (uint32_t d = 0; d < rank; d++)
        if (dims[d] == 0) return;
    assert_int_equal(out->store->dtype, dtype);
    for (;;) {
        value in[3];
        for (int k = 0; k < arity; k++) {
            int64_t at = inputs[k].offset;
            for (uint32_t d = 0; d < rank; d++) at += index[d] * inputs[k].strides[d];
            spy_dtype from = inputs[k].store->dtype;
            assert_true(at >= 0 && (size_t)at < inputs[k].store->count);
            in[k] = convert(load(from, inputs[k].store->before + (size_t)at * spy_dtype_size_bytes(from)), from, dtype);
        }
        int64_t to = out->offset;
        for (uint32_t d = 0; d < rank; d++) to += index[d] * out->strides[d];
        assert_true(to >= 0 && (size_t)to < out->store->count);
        store_value(dtype, compute(op, dtype, in, false), out->store->after + (size_t)to * size);
        if (op == REFERENCE_MAD && is_float(dtype)) store_value(dtype, compute(op, dtype, in, true), out->store->other + (size_t)to * size);
        else memcpy(out->store->other + (size_t)to * size, out->store->after + (size_t)to * size, size);
        out->store->written[to] = 1;
        uint32_t d = rank;
        while (d > 0 && ++index[d - 1] == dims[d - 1]) index[--d] = 0;
        if (d == 0) return;
    }
}

// >>comparing

// Floats as whole numbers in their order, so that neighbours differ by 1.
static int64_t ordered(spy_dtype d, const void *p) {
    int64_t i = 0;
    size_t size = spy_dtype_size_bytes(d);
    memcpy(&i, p, size);
    int64_t sign = (int64_t)1 << (8 * size - 2) << 1;
    if (size == 8) return i < 0 ? INT64_MIN - i : i;
    return i & sign ? -(i & (sign - 1)) : i;
}

uint64_t reference_distance(spy_dtype dtype, const void *a, const void *b) {
    if (!is_float(dtype)) return memcmp(a, b, spy_dtype_size_bytes(dtype)) == 0 ? 0 : UINT64_MAX;
    value x = load(dtype, (const unsigned char *)a), y = load(dtype, (const unsigned char *)b);
    if (x.f != x.f || y.f != y.f) return memcmp(a, b, spy_dtype_size_bytes(dtype)) == 0 ? 0 : UINT64_MAX;
    int64_t i = ordered(dtype, a), j = ordered(dtype, b);
    return i > j ? (uint64_t)i - (uint64_t)j : (uint64_t)j - (uint64_t)i;
}

void reference_print(char *text, size_t capacity, spy_dtype dtype, const void *p) {
    value v = load(dtype, (const unsigned char *)p);
    if (is_float(dtype)) snprintf(text, capacity, "%.20Lg", v.f);
    else if (is_signed(dtype)) snprintf(text, capacity, "%lld", (long long)(int64_t)v.bits);
    else snprintf(text, capacity, "%llu", (unsigned long long)v.bits);
}

// Converts scalars from one dtype to another, with the rules for which values fit. Source: design.md, "Values
// and types".
#include "data/type.h"

// >>half

// Rounds to nearest even, straight from double, so that there is one rounding, also for subnormal halves.
uint16_t spyi_float_to_half(double value) {
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    uint16_t sign = (uint16_t)((bits >> 48) & 0x8000u);
    int exponent = (int)((bits >> 52) & 0x7ff) - 1023;
    uint64_t mantissa = bits & 0xfffffffffffffull;
    if (exponent == 1024) { // an infinity or a NaN, which stays a NaN
        uint16_t payload = mantissa ? (uint16_t)(0x200u | (uint16_t)(mantissa >> 42)) : (uint16_t)0;
        return (uint16_t)(sign | 0x7c00u | payload);
    }
    if (exponent > 15) return (uint16_t)(sign | 0x7c00u);
    if (exponent < -25) return sign;
    mantissa |= 0x10000000000000ull;
    // Keep 11 bits of a normal number, fewer of a subnormal one. A carry out of the mantissa adds 1 to the
    // exponent.
    int drop = exponent >= -14 ? 42 : 42 + (-14 - exponent);
    uint64_t kept = mantissa >> drop, rest = mantissa & ((1ull << drop) - 1), middle = 1ull << (drop - 1);
    if (rest > middle || (rest == middle && (kept & 1))) ++kept;
    uint32_t half = exponent >= -14 ? (uint32_t)kept + ((uint32_t)(exponent + 14) << 10) : (uint32_t)kept;
    return (uint16_t)(sign | half);
}

double spyi_half_to_float(uint16_t half) {
    uint64_t sign = (uint64_t)(half & 0x8000u) << 48, mantissa = half & 0x3ffu, bits;
    int exponent = (half >> 10) & 31;
    double value;
    if (exponent == 31) {
        bits = sign | 0x7ff0000000000000ull | mantissa << 42;
    } else if (exponent == 0) {
        value = (double)mantissa / 16777216.0; // 16777216 is 2^24
        memcpy(&bits, &value, sizeof bits);
        bits |= sign;
    } else {
        bits = sign | (uint64_t)(exponent + 1008) << 52 | mantissa << 42;
    }
    memcpy(&value, &bits, sizeof value);
    return value;
}

// >>one scalar: read into the widest signed, unsigned or float type, check, write

typedef enum spyi_scalar_kind {
    SPYI_SCALAR_SIGNED,
    SPYI_SCALAR_UNSIGNED,
    SPYI_SCALAR_FLOAT
} spyi_scalar_kind;

typedef struct spyi_any_scalar {
    spyi_scalar_kind kind;
    int64_t i;
    uint64_t u;
    double f;
} spyi_any_scalar;

static spyi_any_scalar spyi_scalar_read(const char *from, spy_dtype type) {
    spyi_any_scalar s = { SPYI_SCALAR_SIGNED, 0, 0, 0 };
#define SPYI_READ(ctype, scalar_kind, member, wide)                                                          \
    {                                                                                                        \
        ctype v;                                                                                             \
        memcpy(&v, from, sizeof v);                                                                          \
        s.kind = scalar_kind;                                                                                \
        s.member = (wide)v;                                                                                  \
    }                                                                                                        \
    break
    switch (type) {
    case SPY_DTYPE_BOOL:
        s.kind = SPYI_SCALAR_UNSIGNED;
        s.u = *from != 0;
        break;
    case SPY_DTYPE_INT8: SPYI_READ(int8_t, SPYI_SCALAR_SIGNED, i, int64_t);
    case SPY_DTYPE_INT16: SPYI_READ(int16_t, SPYI_SCALAR_SIGNED, i, int64_t);
    case SPY_DTYPE_INT32: SPYI_READ(int32_t, SPYI_SCALAR_SIGNED, i, int64_t);
    case SPY_DTYPE_INT64: SPYI_READ(int64_t, SPYI_SCALAR_SIGNED, i, int64_t);
    case SPY_DTYPE_UINT8: SPYI_READ(uint8_t, SPYI_SCALAR_UNSIGNED, u, uint64_t);
    case SPY_DTYPE_UINT16: SPYI_READ(uint16_t, SPYI_SCALAR_UNSIGNED, u, uint64_t);
    case SPY_DTYPE_UINT32: SPYI_READ(uint32_t, SPYI_SCALAR_UNSIGNED, u, uint64_t);
    case SPY_DTYPE_UINT64: SPYI_READ(uint64_t, SPYI_SCALAR_UNSIGNED, u, uint64_t);
    case SPY_DTYPE_FLOAT64: SPYI_READ(double, SPYI_SCALAR_FLOAT, f, double);
    case SPY_DTYPE_FLOAT16: {
        uint16_t half;
        memcpy(&half, from, sizeof half);
        s.kind = SPYI_SCALAR_FLOAT;
        s.f = spyi_half_to_float(half);
        break;
    }
    case SPY_DTYPE_FLOAT32:
    case SPY_DTYPE_DEFAULT:
    case SPY_DTYPE_COUNT:
    default: SPYI_READ(float, SPYI_SCALAR_FLOAT, f, double);
    }
#undef SPYI_READ
    return s;
}

static void spyi_integer_range(spy_dtype type, int64_t *low, uint64_t *high) {
    unsigned bits = (unsigned)spy_dtype_size_bytes(type) * 8;
    bool is_signed = type == SPY_DTYPE_INT8 || type == SPY_DTYPE_INT16 || type == SPY_DTYPE_INT32 ||
                     type == SPY_DTYPE_INT64;
    *high = bits == 64 ? UINT64_MAX : (1ull << bits) - 1;
    if (is_signed) *high >>= 1;
    *low = is_signed ? -(int64_t)*high - 1 : 0;
}

static bool spyi_scalar_fits(const spyi_any_scalar *s, spy_dtype type) {
    int64_t low;
    uint64_t high;
    if (type == SPY_DTYPE_BOOL || type == SPY_DTYPE_FLOAT16 || type == SPY_DTYPE_FLOAT32 ||
        type == SPY_DTYPE_FLOAT64 || type == SPY_DTYPE_DEFAULT)
        return true;
    spyi_integer_range(type, &low, &high);
    if (s->kind == SPYI_SCALAR_UNSIGNED) return s->u <= high;
    if (s->kind == SPYI_SCALAR_SIGNED) return s->i >= low && (s->i < 0 || (uint64_t)s->i <= high);
    // A float must be integral and in range. 2^63 and 2^64 are exact in double where INT64_MAX and UINT64_MAX
    // are not, hence `<`.
    // a NaN fails this comparison too
    if (!(s->f >= (double)low && s->f < (double)(high / 2 + 1) * 2.0)) return false;
    return s->f < 0 ? (double)(int64_t)s->f == s->f : (double)(uint64_t)s->f == s->f;
}

static void spyi_scalar_write(char *to, spy_dtype type, const spyi_any_scalar *s) {
    // In two's complement the low bits of these 64 are right for signed and unsigned types of any size.
    uint64_t bits = s->kind == SPYI_SCALAR_UNSIGNED ? s->u : (uint64_t)s->i;
    if (type == SPY_DTYPE_FLOAT16) {
        double v = s->kind == SPYI_SCALAR_FLOAT    ? s->f
                   : s->kind == SPYI_SCALAR_SIGNED ? (double)s->i
                                                   : (double)s->u;
        uint16_t half = spyi_float_to_half(v); // double rounds only integers that are beyond half's range
        memcpy(to, &half, sizeof half);
    } else if (type == SPY_DTYPE_FLOAT32 || type == SPY_DTYPE_DEFAULT) {
        float v = s->kind == SPYI_SCALAR_FLOAT    ? (float)s->f
                  : s->kind == SPYI_SCALAR_SIGNED ? (float)s->i
                                                  : (float)s->u;
        memcpy(to, &v, sizeof v);
    } else if (type == SPY_DTYPE_FLOAT64) {
        double v = s->kind == SPYI_SCALAR_FLOAT    ? s->f
                   : s->kind == SPYI_SCALAR_SIGNED ? (double)s->i
                                                   : (double)s->u;
        memcpy(to, &v, sizeof v);
    } else if (type == SPY_DTYPE_BOOL) {
        uint8_t v = s->kind == SPYI_SCALAR_FLOAT ? s->f != 0 : bits != 0;
        memcpy(to, &v, sizeof v);
    } else {
        if (s->kind == SPYI_SCALAR_FLOAT) bits = s->f < 0 ? (uint64_t)(int64_t)s->f : (uint64_t)s->f;
        switch (spy_dtype_size_bytes(type)) {
        case 1: {
            uint8_t v = (uint8_t)bits;
            memcpy(to, &v, sizeof v);
            break;
        }
        case 2: {
            uint16_t v = (uint16_t)bits;
            memcpy(to, &v, sizeof v);
            break;
        }
        case 4: {
            uint32_t v = (uint32_t)bits;
            memcpy(to, &v, sizeof v);
            break;
        }
        default: memcpy(to, &bits, sizeof bits); break;
        }
    }
}

// >>runs: common pairs of dtypes (those of numpy and Python), in loops that compilers vectorise

#define SPYI_RUN(from_ctype, to_ctype, fits)                                                                 \
    {                                                                                                        \
        bool all = true;                                                                                     \
        for (size_t i = 0; i < count; ++i) {                                                                 \
            from_ctype v;                                                                                    \
            memcpy(&v, in + i * sizeof v, sizeof v);                                                         \
            all = all && (fits);                                                                             \
        }                                                                                                    \
        for (size_t i = 0; all && i < count; ++i) {                                                          \
            from_ctype v;                                                                                    \
            memcpy(&v, in + i * sizeof v, sizeof v);                                                         \
            to_ctype w = (to_ctype)v;                                                                        \
            memcpy(out + i * sizeof w, &w, sizeof w);                                                        \
        }                                                                                                    \
        *done = all;                                                                                         \
        return true;                                                                                         \
    }

// Converts numbers of a common pair of dtypes; false means that the pair is not among these. *done tells
// whether all numbers fit.
static bool spyi_convert_run(char *out, spy_dtype to, const char *in, spy_dtype from, size_t count,
                             bool *done) {
    if (from == SPY_DTYPE_FLOAT64 && to == SPY_DTYPE_FLOAT32) SPYI_RUN(double, float, true);
    if (from == SPY_DTYPE_FLOAT32 && to == SPY_DTYPE_FLOAT64) SPYI_RUN(float, double, true);
    if (from == SPY_DTYPE_INT64 && to == SPY_DTYPE_INT32)
        SPYI_RUN(int64_t, int32_t, v >= INT32_MIN && v <= INT32_MAX);
    if (from == SPY_DTYPE_INT64 && to == SPY_DTYPE_FLOAT32) SPYI_RUN(int64_t, float, true);
    if (from == SPY_DTYPE_INT32 && to == SPY_DTYPE_FLOAT32) SPYI_RUN(int32_t, float, true);
    return false;
}
#undef SPYI_RUN

// >>the entry point

bool spyi_convert_scalars(void *to, spy_dtype to_type, const void *from, spy_dtype from_type, size_t count) {
    char *out = (char *)to;
    const char *in = (const char *)from;
    size_t to_size = spy_dtype_size_bytes(to_type), from_size = spy_dtype_size_bytes(from_type);
    if (count == 0) return true;
    if (to_type == from_type && to_type != SPY_DTYPE_BOOL) {
        memcpy(out, in, count * to_size);
        return true;
    }
    bool done = false;
    if (spyi_convert_run(out, to_type, in, from_type, count, &done)) return done;
    for (size_t i = 0; i < count; ++i) { // checks all values before the first is written
        spyi_any_scalar s = spyi_scalar_read(in + i * from_size, from_type);
        if (!spyi_scalar_fits(&s, to_type)) return false;
    }
    for (size_t i = 0; i < count; ++i) {
        spyi_any_scalar s = spyi_scalar_read(in + i * from_size, from_type);
        spyi_scalar_write(out + i * to_size, to_type, &s);
    }
    return true;
}

spy_status spy_convert_numbers(void *to, spy_dtype to_type, const void *from, spy_dtype from_type,
                               size_t count) {
    if (to_type <= SPY_DTYPE_DEFAULT || to_type >= SPY_DTYPE_COUNT || from_type <= SPY_DTYPE_DEFAULT ||
        from_type >= SPY_DTYPE_COUNT)
        return spyi_fail(NULL, SPY_ERROR_INVALID_ARGUMENT,
                         "spy_convert_numbers: expected two of spy_dtype, got %d and %d", (int)to_type,
                         (int)from_type);
    if (count && (!to || !from))
        return spyi_fail(NULL, SPY_ERROR_INVALID_ARGUMENT,
                         "spy_convert_numbers: argument '%s': expected numbers, got NULL",
                         to ? "from" : "to");
    if (spyi_convert_scalars(to, to_type, from, from_type, count)) return SPY_OK;
    return spyi_fail(NULL, SPY_ERROR_OUT_OF_RANGE,
                     "spy_convert_numbers: a number of type %s does not fit into %s",
                     spy_dtype_name(from_type), spy_dtype_name(to_type));
}

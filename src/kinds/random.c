// The arguments wang_hash and rand_float: a sequence of random numbers for each element of the call.
#include "kinds/internal.h"

// These are the numbers that the argument keeps in its dims: the sequence's start, the number of warm-up
// steps, and the bits of the floats low and high.
enum { SPYI_RANDOM_START, SPYI_RANDOM_WARMUP, SPYI_RANDOM_LOW, SPYI_RANDOM_HIGH };
enum {
    SPYI_RANDOM_GARBAGE = -1
}; // the value of the warm-up which says that the spy_random_desc is not
    // valid

static bool spyi_random_describe(const spy_arg *arg, spyi_value *value, const char **problem) {
    uint32_t bits[2] = { (uint32_t)arg->dims[SPYI_RANDOM_LOW], (uint32_t)arg->dims[SPYI_RANDOM_HIGH] };
    float range[2];
    (void)value;
    memcpy(range, bits, sizeof range);
    *problem = SPYI_NOT_ZEROED(spy_random_desc);
    if (arg->dims[SPYI_RANDOM_WARMUP] == SPYI_RANDOM_GARBAGE) return false;
    *problem = "low and high must be finite, with low <= high";
    return range[0] <= range[1] && range[1] - range[0] <= 3.402823466e38f;
}

static bool spyi_hash_bind(spyi_fitting *fitting, const spyi_value *value, spyi_leaf *leaf) {
    (void)fitting;
    (void)value;
    const spyi_type *scalar = leaf->type->kind == SPYI_TYPE_ARRAY ? leaf->type->element : leaf->type;
    leaf->field_size = 16;
    leaf->field_align = 4;
    return spyi_kind_components(leaf->type) > 0 && scalar->scalar < SPY_DTYPE_FLOAT16;
}

static bool spyi_random_bind(spyi_fitting *fitting, const spyi_value *value, spyi_leaf *leaf) {
    (void)fitting;
    (void)value;
    const spyi_type *scalar = leaf->type->kind == SPYI_TYPE_ARRAY ? leaf->type->element : leaf->type;
    leaf->field_size = 16;
    leaf->field_align = 4;
    return spyi_kind_components(leaf->type) > 0 && scalar->scalar >= SPY_DTYPE_FLOAT16;
}

static void spyi_random_field(const spyi_leaf *leaf, spyi_text *out) {
    (void)leaf;
    spyi_text_add(out, "SpyiSequence");
}

static void spyi_hash_load(const spyi_leaf *leaf, const spyi_place_text *at, spyi_text *out) {
    spyi_kind_call(leaf, SPY_DTYPE_UINT32, false, out, "spyi_hash<%u>(%s, %s)",
                   spyi_kind_components(leaf->type), at->thread, at->field);
}

static void spyi_random_load(const spyi_leaf *leaf, const spyi_place_text *at, spyi_text *out) {
    spyi_kind_call(leaf, SPY_DTYPE_FLOAT32, false, out, "spyi_random<%u>(%s, %s)",
                   spyi_kind_components(leaf->type), at->thread, at->field);
}

static bool spyi_random_pack(const spyi_leaf *leaf, const spyi_value *value, void *field, spyi_text *error) {
    uint32_t *out = (uint32_t *)field;
    (void)leaf;
    (void)error;
    for (int i = 0; i < 4; i++) out[i] = (uint32_t)value->arg->dims[i];
    return true;
}

static const spyi_kind_build spyi_hash_build = { spyi_hash_bind, NULL, spyi_random_field,
                                                 spyi_hash_load, NULL, NULL,
                                                 NULL,           NULL };
static const spyi_kind_run spyi_hash_run = { SPYI_TRAIT_SIZED | SPYI_TRAIT_REPEATS,
                                             SPYI_FIELD_KIND,
                                             SPYI_AGAIN_NEVER,
                                             spyi_random_describe,
                                             spyi_random_pack,
                                             spyi_kind_same,
                                             NULL,
                                             NULL,
                                             NULL,
                                             NULL,
                                             NULL,
                                             NULL };
static const spyi_value_kind spyi_hash_kind = { "wang_hash", &spyi_hash_build, &spyi_hash_run };
static const spyi_kind_build spyi_random_build = {
    spyi_random_bind, NULL, spyi_random_field, spyi_random_load, NULL, NULL, NULL, NULL
};
static const spyi_kind_run spyi_random_run = { SPYI_TRAIT_SIZED | SPYI_TRAIT_REPEATS,
                                               SPYI_FIELD_KIND,
                                               SPYI_AGAIN_NEVER,
                                               spyi_random_describe,
                                               spyi_random_pack,
                                               spyi_kind_same,
                                               NULL,
                                               NULL,
                                               NULL,
                                               NULL,
                                               NULL,
                                               NULL };
static const spyi_value_kind spyi_random_kind = { "rand_float", &spyi_random_build, &spyi_random_run };

// Source: N. Reed, "Quick and Easy GPU Random Numbers in D3D11" (2013).
// slang/slangpy_random.slang has the same function for the GPU.
static uint32_t spyi_wang_hash(uint32_t seed) {
    seed = (seed ^ 61u) ^ (seed >> 16);
    seed *= 9u;
    seed = seed ^ (seed >> 4);
    seed *= 0x27d4eb2du;
    return seed ^ (seed >> 15);
}

static spy_arg spyi_random_arg(const char *name, const spyi_value_kind *kind, const spy_random_desc *desc,
                               float low, float high) {
    spy_arg arg = spyi_custom_arg(name, kind);
    float range[2];
    uint32_t bits[2], seed = 2640457667u;
    const char *problem = SPYI_DESC_PROBLEM(spy_random_desc, desc);
    bool hash = !desc || problem || !desc->raw_seed; // after a problem, raw_seed may be uninitialized
    if (desc && !problem && (desc->seed || desc->explicit_seed)) seed = desc->seed;
    range[0] = low;
    range[1] = high;
    memcpy(bits, range, sizeof bits);
    arg.dims[SPYI_RANDOM_START] = hash ? spyi_wang_hash(seed) : seed;
    arg.dims[SPYI_RANDOM_WARMUP] = desc && !problem ? (int64_t)desc->warmup : 0;
    if (problem) arg.dims[SPYI_RANDOM_WARMUP] = SPYI_RANDOM_GARBAGE;
    arg.dims[SPYI_RANDOM_LOW] = bits[0];
    arg.dims[SPYI_RANDOM_HIGH] = bits[1];
    return arg;
}

spy_arg spy_arg_wang_hash(const char *name, const spy_random_desc *desc) {
    return spyi_random_arg(name, &spyi_hash_kind, desc, 0, 1);
}

spy_arg spy_arg_rand_float(const char *name, float low, float high, const spy_random_desc *desc) {
    return spyi_random_arg(name, &spyi_random_kind, desc, low, high);
}

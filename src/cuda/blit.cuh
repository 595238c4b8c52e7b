// The kernel of blits: scales texels of one box to another and converts them. Both boxes lie in memory without gaps, because
// surfaces convert nothing. It is C as well as CUDA: tests/unit/test_cuda_textures.c runs it on the host.
// kind: 0 unsigned integers, 1 signed ones, 2 unorm, 3 snorm, 4 unorm in sRGB, 5 half, 6 float.
typedef struct spy_side {
    unsigned long long texels; // the address of the texels
    unsigned int width, height, depth, layers, kind, channels, bytes, unused; // `bytes` is the size of a channel
} spy_side;
typedef struct spy_blit_args {
    spy_side to, from;
    unsigned int linear, unused;
} spy_blit_args;

#ifdef __CUDACC__
static __device__ float spy_from_half(unsigned int bits) {
    float value;
    asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"((unsigned short)bits));
    return value;
}
static __device__ unsigned int spy_to_half(float value) {
    unsigned short bits;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(value));
    return bits;
}
#endif

static __device__ unsigned int spy_bits(const spy_side *s, unsigned long long texel, unsigned int c) {
    const unsigned char *p = (const unsigned char *)s->texels + (texel * s->channels + c) * s->bytes;
    return s->bytes == 1 ? *p : s->bytes == 2 ? *(const unsigned short *)p : *(const unsigned int *)p;
}

static __device__ int spy_signed(const spy_side *s, unsigned int bits) {
    return s->bytes == 1 ? (int)(signed char)bits : s->bytes == 2 ? (int)(short)bits : (int)bits;
}

// Returns a channel of a texel. A missing channel is 0, and a missing alpha 1.
static __device__ float spy_read(const spy_side *s, unsigned long long texel, unsigned int c) {
    if (c >= s->channels) return c == 3 ? 1.0f : 0.0f;
    unsigned int bits = spy_bits(s, texel, c);
    float most = s->bytes == 1 ? 255.0f : 65535.0f, value = (float)bits / most;
    if (s->kind == 3) value = fmaxf((float)spy_signed(s, bits) / (s->bytes == 1 ? 127.0f : 32767.0f), -1.0f);
    if (s->kind == 4 && c < 3) value = value <= 0.04045f ? value / 12.92f : powf((value + 0.055f) / 1.055f, 2.4f);
    if (s->kind == 5) value = spy_from_half(bits);
    if (s->kind == 6) {
        union {
            unsigned int bits;
            float value;
        } both;
        both.bits = bits;
        value = both.value;
    }
    return value;
}

static __device__ void spy_write(const spy_side *s, unsigned long long texel, unsigned int c, unsigned int bits) {
    unsigned char *p = (unsigned char *)s->texels + (texel * s->channels + c) * s->bytes;
    if (s->bytes == 1) *p = (unsigned char)bits;
    else if (s->bytes == 2) *(unsigned short *)p = (unsigned short)bits;
    else *(unsigned int *)p = bits;
}

static __device__ unsigned int spy_encode(const spy_side *s, unsigned int c, float value) {
    union {
        unsigned int bits;
        float value;
    } both;
    both.value = value;
    if (s->kind == 6) return both.bits;
    if (s->kind == 5) return spy_to_half(value);
    if (s->kind == 3) return (unsigned int)(int)rintf(fminf(fmaxf(value, -1.0f), 1.0f) * (s->bytes == 1 ? 127.0f : 32767.0f));
    value = fminf(fmaxf(value, 0.0f), 1.0f);
    if (s->kind == 4 && c < 3) value = value <= 0.0031308f ? value * 12.92f : 1.055f * powf(value, 1.0f / 2.4f) - 0.055f;
    return (unsigned int)rintf(value * (s->bytes == 1 ? 255.0f : 65535.0f));
}

// Rounds to an integer that the format has; other values become the nearest one.
static __device__ unsigned int spy_integer(const spy_blit_args *b, unsigned long long texel, unsigned int c) {
    if (c >= b->from.channels) return c == 3;
    unsigned int bits = spy_bits(&b->from, texel, c), shift = 8 * (4 - b->to.bytes);
    if (b->to.kind == 0) {
        unsigned int most = 0xffffffffu >> shift;
        return bits < most ? bits : most;
    }
    int value = spy_signed(&b->from, bits), most = 0x7fffffff >> shift;
    return (unsigned int)(value > most ? most : value < -most - 1 ? -most - 1 : value);
}

// Finds the two texels of `size` between which a place from 0 to `size` lies; returns the weight of the second one.
static __device__ float spy_places(unsigned int at, unsigned int to, unsigned int from, unsigned int linear, unsigned int places[2]) {
    float place = ((float)at + 0.5f) * (float)from / (float)to, low;
    int first;
    if (!linear) {
        first = (int)floorf(place);
        places[0] = places[1] = (unsigned int)first < from ? (unsigned int)first : from - 1;
        return 0.0f;
    }
    low = floorf(place - 0.5f);
    first = (int)low;
    places[0] = first < 0 ? 0 : (unsigned int)first;
    places[1] = first + 1 < (int)from ? (unsigned int)(first + 1) : from - 1;
    return place - 0.5f - low;
}

#ifdef __CUDACC__
extern "C"
#endif
__global__ void spy_blit(spy_blit_args b) {
    unsigned long long i = (unsigned long long)blockIdx.x * 256 + threadIdx.x, texel;
    unsigned int x, y, z, layer, c, k, xs[2], ys[2], zs[2];
    float u, v, w;
    if (i >= (unsigned long long)b.to.width * b.to.height * b.to.depth * b.to.layers) return;
    x = (unsigned int)(i % b.to.width);
    y = (unsigned int)(i / b.to.width % b.to.height);
    z = (unsigned int)(i / b.to.width / b.to.height % b.to.depth);
    layer = (unsigned int)(i / b.to.width / b.to.height / b.to.depth);
    u = spy_places(x, b.to.width, b.from.width, b.linear, xs);
    v = spy_places(y, b.to.height, b.from.height, b.linear, ys);
    w = spy_places(z, b.to.depth, b.from.depth, b.linear, zs);
    for (c = 0; c < b.to.channels; c++) {
        float sum = 0.0f;
        if (b.to.kind < 2) {
            texel = (((unsigned long long)layer * b.from.depth + zs[0]) * b.from.height + ys[0]) * b.from.width + xs[0];
            spy_write(&b.to, i, c, spy_integer(&b, texel, c));
            continue;
        }
        for (k = 0; k < 8; k++) {
            float weight = (k & 1 ? u : 1.0f - u) * (k & 2 ? v : 1.0f - v) * (k & 4 ? w : 1.0f - w);
            if (weight == 0.0f) continue; // texels of weight 0 are not read, because they may be infinite
            texel = (((unsigned long long)layer * b.from.depth + zs[k >> 2]) * b.from.height + ys[k >> 1 & 1]) * b.from.width + xs[k & 1];
            sum += weight * spy_read(&b.from, texel, c);
        }
        spy_write(&b.to, i, c, spy_encode(&b.to, c, sum));
    }
}

// Raster: draws with attributes, uniforms, globals, textures, depth, blending, instances, indices and lists, compared
// with a small reference rasteriser here. At least 99.9 % of the pixels are within 1/255 of it.
#include "gpu_test.h"

#include <math.h>

spy_device *gpu_device;

static spy_module *module;

static const char source[] =
    "struct VertexIn { float3 position : POSITION; float3 color : COLOR; float2 uv : TEXCOORD0; }\n"
    "struct VertexOut { float4 position : SV_Position; float3 color : COLOR; float2 uv : TEXCOORD0; }\n"
    "uniform float4 g_tint;\n"
    "uniform float2 g_shift;\n"
    "Texture2D<float4> g_image;\n"
    "SamplerState g_how;\n"
    "[shader(\"vertex\")] VertexOut vs(VertexIn v, uniform float4x4 transform) {\n"
    "    VertexOut o; o.position = mul(transform, float4(v.position, 1)); o.color = v.color; o.uv = v.uv; return o;\n"
    "}\n"
    "[shader(\"fragment\")] float4 fs(VertexOut v) : SV_Target { return float4(v.color, 1); }\n"
    "[shader(\"fragment\")] float4 fs_tint(VertexOut v, uniform float4 tint, uniform float k) : SV_Target {\n"
    "    return float4(v.color, 1) * tint * k;\n"
    "}\n"
    "[shader(\"fragment\")] float4 fs_image(VertexOut v, uniform Texture2D<float4> image, uniform SamplerState how,\n"
    "                                     uniform float k) : SV_Target {\n"
    "    return image.Sample(how, v.uv) * k;\n"
    "}\n"
    "[shader(\"vertex\")] VertexOut vs_global(VertexIn v) {\n"
    "    VertexOut o; o.position = float4(v.position.xy + g_shift, v.position.z, 1); o.color = v.color; o.uv = v.uv; return o;\n"
    "}\n"
    "[shader(\"fragment\")] float4 fs_global(VertexOut v) : SV_Target {\n"
    "    return g_image.Sample(g_how, v.uv + g_shift) * g_tint;\n"
    "}\n"
    "struct PullOut { float4 position : SV_Position; float2 uv; }\n"
    "[shader(\"vertex\")] PullOut vs_pull(uint id : SV_VertexID, uniform StructuredBuffer<float2> points, uniform float z) {\n"
    "    PullOut o; o.position = float4(points[id], z, 1); o.uv = points[id]; return o;\n"
    "}\n"
    "[shader(\"fragment\")] float4 fs_pull(PullOut v, uniform StructuredBuffer<float4> colors, uniform int which) : SV_Target {\n"
    "    return colors[which] + float4(v.uv, 0, 0);\n"
    "}\n"
    "[shader(\"vertex\")] VertexOut vs_instances(float2 corner, float2 place : PLACE, float3 color : COLOR) {\n"
    "    VertexOut o; o.position = float4(corner + place, 0.5, 1); o.color = color; o.uv = corner; return o;\n"
    "}\n"
    "[shader(\"vertex\")] VertexOut vs_matrix(float3 corner : POSITION, float4 x : PLACE0, float4 y : PLACE1, float4 z : PLACE2,\n"
    "                                        float3 color : COLOR) {\n"
    "    float4 p = float4(corner, 1); VertexOut o; o.position = float4(dot(x, p), dot(y, p), dot(z, p), 1); o.color = color; o.uv = corner.xy; return o;\n"
    "}\n"
    "struct Two { float4 a : SV_Target0; uint2 b : SV_Target1; }\n"
    "[shader(\"fragment\")] Two fs_two(VertexOut v, uniform uint number) {\n"
    "    Two t; t.a = float4(v.color, 1); t.b = uint2(number, (uint)v.position.x); return t;\n"
    "}\n"
    "[shader(\"fragment\")] void fs_store(VertexOut v, uniform RWStructuredBuffer<uint> hits, out float4 color : SV_Target) {\n"
    "    InterlockedAdd(hits[0], 1); color = 1;\n"
    "}\n"
    "[shader(\"compute\")] [numthreads(1, 1, 1)] void cs() {}\n"
    "float plain(float x) { return x; }\n"
    "float3 moved(float3 p, float3 by) { return p + by; }\n"
    "float4 texel(Texture2D<float4> t, int2 p) { return t[p]; }\n";

// >>the reference

enum { W = 160, H = 96 };

typedef struct corner {
    double clip[4];
    double v[8]; // colour and uv; of the ring place, normal and uv
} corner;

typedef struct picture {
    double color[H][W][4], depth[H][W];
} picture;

typedef void (*shader)(const double *v, double *out, const void *user);

typedef struct how {
    bool depth, blend; // LESS, and source alpha over the old colour
    shader shade;
    const void *user;
} how;

static picture *blank(double r, double g, double b, double a) {
    picture *p = (picture *)malloc(sizeof *p);
    for (int y = 0; y < H; y++)
        for (int x = 0; x < W; x++) {
            const double clear[4] = { r, g, b, a };
            memcpy(p->color[y][x], clear, sizeof clear);
            p->depth[y][x] = 1;
        }
    return p;
}

static double edge(const double *a, const double *b, double x, double y) {
    return (b[0] - a[0]) * (y - a[1]) - (b[1] - a[1]) * (x - a[0]);
}

static void draw_triangle(picture *p, const corner *c, const how *h) {
    double s[3][3];
    for (int i = 0; i < 3; i++) {
        s[i][0] = (c[i].clip[0] / c[i].clip[3] * 0.5 + 0.5) * W;
        s[i][1] = (0.5 - c[i].clip[1] / c[i].clip[3] * 0.5) * H;
        s[i][2] = c[i].clip[2] / c[i].clip[3];
    }
    double area = edge(s[0], s[1], s[2][0], s[2][1]);
    if (area == 0) return;
    double low[2], high[2]; // the box around it
    for (int k = 0; k < 2; k++) {
        low[k] = fmin(s[0][k], fmin(s[1][k], s[2][k])), high[k] = fmax(s[0][k], fmax(s[1][k], s[2][k]));
        low[k] = fmax(low[k] - 1, 0), high[k] = fmin(high[k] + 1, k ? H : W);
    }
    for (int y = (int)low[1]; y < high[1]; y++)
        for (int x = (int)low[0]; x < high[0]; x++) {
            double l[3], w = 0, v[8], out[4], z = 0;
            for (int i = 0; i < 3; i++) l[i] = edge(s[(i + 1) % 3], s[(i + 2) % 3], x + 0.5, y + 0.5) / area;
            if (l[0] < 0 || l[1] < 0 || l[2] < 0) continue;
            for (int i = 0; i < 3; i++) z += l[i] * s[i][2];
            if (z < 0 || z > 1 || (h->depth && z >= p->depth[y][x])) continue;
            for (int i = 0; i < 3; i++) w += l[i] / c[i].clip[3];
            for (int k = 0; k < 8; k++) {
                v[k] = 0;
                for (int i = 0; i < 3; i++) v[k] += l[i] / c[i].clip[3] * c[i].v[k] / w;
            }
            h->shade(v, out, h->user);
            double *to = p->color[y][x], a = h->blend ? out[3] : 1;
            for (int k = 0; k < 4; k++) to[k] = out[k] * (h->blend ? a : 1) + to[k] * (1 - a);
            if (h->depth) p->depth[y][x] = z;
        }
}

static void draw_all(picture *p, const corner *c, int count, const how *h) {
    for (int i = 0; i + 2 < count; i += 3) draw_triangle(p, c + i, h);
}

static void shade_color(const double *v, double *out, const void *user) {
    const float *k = (const float *)user; // four factors, or NULL
    for (int i = 0; i < 4; i++) out[i] = (i < 3 ? v[i] : 1) * (k ? (double)k[i] : 1);
}

// A picture of floats on the device equals the reference on 99.9 % of its pixels.
static void is_picture(spy_texture *t, const picture *p, const char *what) {
    float *got = (float *)malloc(W * H * 4 * sizeof *got);
    OK(spy_texture_read(t, NULL, got, W * H * 4 * sizeof *got));
    int wrong = 0, x0 = -1, y0 = -1, drawn = 0;
    for (int y = 0; y < H; y++)
        for (int x = 0; x < W; x++) {
            bool bad = false;
            for (int k = 0; k < 4; k++) bad = bad || !(fabs((double)got[(y * W + x) * 4 + k] - p->color[y][x][k]) <= 1.0 / 255);
            for (int k = 0; k < 4; k++)
                if (p->color[y][x][k] != p->color[0][0][k]) {
                    drawn++;
                    break;
                }
            if (bad && !wrong) x0 = x, y0 = y;
            wrong += bad;
        }
    if (wrong > W * H / 1000)
        print_error("%s: %d of %d pixels differ; at (%d, %d): %g %g %g %g, expected %g %g %g %g\n", what, wrong, W * H, x0, y0,
                    (double)got[(y0 * W + x0) * 4], (double)got[(y0 * W + x0) * 4 + 1], (double)got[(y0 * W + x0) * 4 + 2],
                    (double)got[(y0 * W + x0) * 4 + 3], p->color[y0][x0][0], p->color[y0][x0][1], p->color[y0][x0][2], p->color[y0][x0][3]);
    free(got);
    assert_true(wrong <= W * H / 1000);
    assert_true(drawn > W * H / 50); // the picture shows something
}

// >>helpers

static void need_raster(void) {
    if (!gpu_device) skip();
    if (!gpu_is_cuda()) return;
    print_message("skipped: no raster on CUDA\n");
    skip();
}

#define RASTER()                                                                                              \
    do {                                                                                                      \
        (void)state;                                                                                          \
        need_raster();                                                                                        \
    } while (0)

static spy_function *fn(const char *name) { return MADE(spy_function, spy_find_function(module, name)); }

static spy_texture *made_target(spy_format format, uint32_t samples, uint32_t usage) {
    spy_texture_desc d;
    memset(&d, 0, sizeof d);
    d.format = format;
    d.width = W;
    d.height = H;
    d.samples = samples;
    d.usage = usage;
    return MADE(spy_texture, spy_create_texture(gpu_device, &d));
}

static spy_texture *color_target(void) {
    return made_target(SPY_FORMAT_RGBA32_FLOAT, 1, SPY_TEXTURE_USAGE_COLOR_TARGET | SPY_TEXTURE_USAGE_SAMPLED);
}

static spy_tensor *floats(spy_shape shape, const float *data) {
    return MADE(spy_tensor, gpu_tensor(gpu_device, SPY_DTYPE_FLOAT32, NULL, NULL, shape, data));
}

static spy_raster *made_raster(const char *vertex, const char *fragment) {
    spy_raster_desc d;
    memset(&d, 0, sizeof d);
    d.vertex = fn(vertex);
    d.fragment = fragment ? fn(fragment) : NULL;
    return MADE(spy_raster, spy_create_raster(gpu_device, &d));
}

static spy_draw_desc into(spy_texture *target) {
    spy_draw_desc d;
    memset(&d, 0, sizeof d);
    d.targets[0].texture = target;
    d.targets[0].load = SPY_LOAD_CLEAR;
    d.targets[0].clear.floats[0] = 0.25f;
    d.targets[0].clear.floats[3] = 1;
    return d;
}

static uint64_t random_state = 7;

static double random_unit(void) { // splitmix64
    uint64_t z = (random_state += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return (double)(z >> 40) / (1 << 24);
}

// Triangles as attributes and as corners under a transform.
typedef struct mesh {
    int count;
    float position[96][3], color[96][3], uv[96][2];
    spy_tensor *positions, *colors, *uvs;
} mesh;

static void corners_of(const mesh *m, const float *transform, corner *out) {
    memset(out, 0, (size_t)m->count * sizeof *out);
    for (int i = 0; i < m->count; i++) {
        for (int r = 0; r < 4; r++) {
            out[i].clip[r] = (double)transform[4 * r + 3];
            for (int k = 0; k < 3; k++) out[i].clip[r] += (double)transform[4 * r + k] * (double)m->position[i][k];
        }
        for (int k = 0; k < 3; k++) out[i].v[k] = (double)m->color[i][k];
        for (int k = 0; k < 2; k++) out[i].v[3 + k] = (double)m->uv[i][k];
    }
}

static void upload(mesh *m) {
    m->positions = floats(SPY_SHAPE(m->count, 3), &m->position[0][0]);
    m->colors = floats(SPY_SHAPE(m->count, 3), &m->color[0][0]);
    m->uvs = floats(SPY_SHAPE(m->count, 2), &m->uv[0][0]);
}

static void release(mesh *m) {
    spy_release_tensor(m->positions);
    spy_release_tensor(m->colors);
    spy_release_tensor(m->uvs);
}

static mesh random_mesh(int triangles) {
    mesh m;
    memset(&m, 0, sizeof m);
    m.count = 3 * triangles;
    for (int i = 0; i < m.count; i++) {
        m.position[i][0] = (float)(random_unit() * 1.8 - 0.9);
        m.position[i][1] = (float)(random_unit() * 1.8 - 0.9);
        m.position[i][2] = (float)(random_unit() * 0.8 + 0.1);
        for (int k = 0; k < 3; k++) m.color[i][k] = (float)random_unit();
        for (int k = 0; k < 2; k++) m.uv[i][k] = (float)(random_unit() * 2 - 0.5);
    }
    upload(&m);
    return m;
}

static const float same_place[16] = { 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1 };
// x, y and z of a point, and w grows with z: perspective.
static const float perspective[16] = { 1.2f, 0.1f, 0, 0.05f, -0.1f, 1.1f, 0, 0, 0, 0, 0.9f, 0.02f, 0, 0, 0.8f, 0.9f };

#define MESH_ARGS(m) spy_arg_tensor("position", (m).positions), spy_arg_tensor("color", (m).colors), spy_arg_tensor("uv", (m).uvs)
#define TRANSFORM(t) spy_arg_array("transform", (t), SPY_SHAPE(4, 4), SPY_DTYPE_FLOAT32)

// >>tests

static void test_triangle(void **state) {
    RASTER();
    static const float position[3][3] = { { -0.8f, -0.7f, 0.5f }, { 0.9f, -0.3f, 0.5f }, { -0.2f, 0.85f, 0.5f } };
    mesh m;
    memset(&m, 0, sizeof m);
    m.count = 3;
    memcpy(m.position, position, sizeof position);
    for (int i = 0; i < 3; i++) m.color[i][i] = 1;
    upload(&m);
    spy_texture *t = color_target();
    spy_raster *r = made_raster("vs", "fs");
    spy_draw_desc d = into(t);
    OK(spy_draw(r, &d, SPY_ARGS(MESH_ARGS(m), TRANSFORM(same_place)), NULL));
    corner c[96];
    picture *p = blank(0.25, 0, 0, 1);
    how h = { false, false, shade_color, NULL };
    corners_of(&m, same_place, c);
    draw_all(p, c, 3, &h);
    is_picture(t, p, "a triangle");
    free(p);
    release(&m);
    spy_release_raster(r);
    spy_release_texture(t);
}

static void test_uniforms(void **state) {
    RASTER();
    mesh m = random_mesh(4);
    spy_texture *t = color_target();
    spy_raster *r = made_raster("vs", "fs_tint");
    for (int round = 0; round < 3; round++) {
        const float *transform = round == 1 ? same_place : perspective;
        const float tint[4] = { 0.5f, 0.25f + 0.25f * (float)round, 1, 1 };
        float factors[4];
        const float k = round ? 0.75f : 1;
        for (int i = 0; i < 4; i++) factors[i] = tint[i] * k;
        spy_draw_desc d = into(t);
        OK(spy_draw(r, &d,
                    SPY_ARGS(MESH_ARGS(m), TRANSFORM(transform), spy_arg_array("tint", tint, SPY_SHAPE(4), SPY_DTYPE_FLOAT32),
                             spy_arg_f64("k", (double)k)),
                    NULL));
        corner c[96];
        picture *p = blank(0.25, 0, 0, 1);
        how h = { false, false, shade_color, factors };
        corners_of(&m, transform, c);
        draw_all(p, c, m.count, &h);
        is_picture(t, p, "uniforms in both stages, with perspective");
        free(p);
    }
    release(&m);
    spy_release_raster(r);
    spy_release_texture(t);
}


// >>textures and globals

enum { IMAGE = 16 };

static float image_data[IMAGE * IMAGE * 4];

static spy_texture *made_image(void) {
    for (int i = 0; i < IMAGE * IMAGE * 4; i++) image_data[i] = (float)random_unit();
    spy_texture_desc d;
    memset(&d, 0, sizeof d);
    d.format = SPY_FORMAT_RGBA32_FLOAT;
    d.width = d.height = IMAGE;
    d.usage = SPY_TEXTURE_USAGE_SAMPLED;
    d.data = image_data;
    return MADE(spy_texture, spy_create_texture(gpu_device, &d));
}

static spy_sampler *made_sampler(void) {
    spy_sampler_desc d;
    memset(&d, 0, sizeof d);
    return MADE(spy_sampler, spy_create_sampler(gpu_device, &d)); // linear, and coordinates wrap
}

typedef struct image_user {
    double scale[4], shift[2];
} image_user;

static void shade_image(const double *v, double *out, const void *user) {
    const image_user *u = (const image_user *)user;
    double x = (v[3] + u->shift[0]) * IMAGE - 0.5, y = (v[4] + u->shift[1]) * IMAGE - 0.5;
    int x0 = (int)floor(x), y0 = (int)floor(y);
    for (int k = 0; k < 4; k++) {
        double sum = 0;
        for (int j = 0; j < 2; j++)
            for (int i = 0; i < 2; i++) {
                int px = ((x0 + i) % IMAGE + IMAGE) % IMAGE, py = ((y0 + j) % IMAGE + IMAGE) % IMAGE;
                double weight = (i ? x - x0 : 1 - (x - x0)) * (j ? y - y0 : 1 - (y - y0));
                sum += weight * (double)image_data[(py * IMAGE + px) * 4 + k];
            }
        out[k] = sum * u->scale[k];
    }
}

static void test_textures(void **state) {
    RASTER();
    mesh m = random_mesh(3);
    for (int i = 0; i < m.count; i++) // slow changes from pixel to pixel: samplers have 8 bits of weights
        for (int k = 0; k < 2; k++) m.uv[i][k] *= 0.25f;
    release(&m);
    upload(&m);
    spy_texture *t = color_target(), *image = made_image();
    spy_sampler *sampler = made_sampler();
    spy_raster *r = made_raster("vs", "fs_image");
    spy_draw_desc d = into(t);
    corner c[96];
    const image_user u = { { 0.5, 0.5, 0.5, 0.5 }, { 0, 0 } };
    how h = { false, false, shade_image, &u };
    for (int round = 0; round < 2; round++) {
        OK(spy_draw(r, &d,
                    SPY_ARGS(MESH_ARGS(m), TRANSFORM(same_place), spy_arg_texture("image", image), spy_arg_sampler("how", sampler),
                             spy_arg_f32("k", 0.5f)),
                    NULL));
        picture *p = blank(0.25, 0, 0, 1);
        corners_of(&m, same_place, c);
        draw_all(p, c, m.count, &h);
        is_picture(t, p, "a texture with its sampler");
        free(p);
    }
    // The same through globals of both stages.
    spy_raster *g = made_raster("vs_global", "fs_global");
    const float tint[4] = { 1, 0.5f, 0.25f, 1 }, shift[2] = { 0.125f, -0.0625f };
    const spy_arg globals[] = { spy_arg_f32n("g_tint", tint, 4), spy_arg_f32n("g_shift", shift, 2), spy_arg_texture("g_image", image),
                                spy_arg_sampler("g_how", sampler) };
    spy_call_options o;
    memset(&o, 0, sizeof o);
    o.globals.items = globals;
    o.globals.count = 4;
    OK(spy_draw(g, &d, SPY_ARGS(MESH_ARGS(m)), &o));
    const image_user v = { { 1, 0.5, 0.25, 1 }, { 0.125, -0.0625 } };
    how hg = { false, false, shade_image, &v };
    picture *p = blank(0.25, 0, 0, 1);
    corners_of(&m, same_place, c);
    for (int i = 0; i < m.count; i++) c[i].clip[0] += 0.125, c[i].clip[1] -= 0.0625;
    draw_all(p, c, m.count, &hg);
    is_picture(t, p, "globals of both stages");
    free(p);
    release(&m);
    spy_release_raster(g);
    spy_release_raster(r);
    spy_release_sampler(sampler);
    spy_release_texture(image);
    spy_release_texture(t);
}

// >>state

static void test_depth_and_blending(void **state) {
    RASTER();
    mesh m = random_mesh(12);
    spy_texture *t = color_target(), *z = made_target(SPY_FORMAT_D32_FLOAT, 1, SPY_TEXTURE_USAGE_DEPTH_TARGET);
    spy_raster_desc rd;
    memset(&rd, 0, sizeof rd);
    rd.vertex = fn("vs");
    rd.fragment = fn("fs_tint");
    rd.depth_compare = SPY_COMPARE_LESS;
    spy_raster *deep = MADE(spy_raster, spy_create_raster(gpu_device, &rd));
    rd.depth_compare = SPY_COMPARE_NONE;
    rd.blends[0].enabled = true;
    rd.blends[0].color_source = rd.blends[0].alpha_source = SPY_BLEND_FACTOR_SOURCE_ALPHA;
    rd.blends[0].color_target = rd.blends[0].alpha_target = SPY_BLEND_FACTOR_ONE_MINUS_SOURCE_ALPHA;
    spy_raster *mixed = MADE(spy_raster, spy_create_raster(gpu_device, &rd));
    const float white[4] = { 1, 1, 1, 1 }, half[4] = { 0.5f, 1, 0.75f, 0.375f };
    spy_draw_desc d = into(t);
    d.depth.texture = z;
    d.depth.load = SPY_LOAD_CLEAR;
    d.depth.clear = 1;
    corner c[96];
    corners_of(&m, same_place, c);
    picture *p = blank(0.25, 0, 0, 1);
    how h = { true, false, shade_color, white };
    OK(spy_draw(deep, &d, SPY_ARGS(MESH_ARGS(m), TRANSFORM(same_place), spy_arg_f32n("tint", white, 4), spy_arg_f32("k", 1)), NULL));
    draw_all(p, c, m.count, &h);
    is_picture(t, p, "a depth test");
    // A second draw into the same targets, blended, without a clear: it continues the pass.
    d.targets[0].load = SPY_LOAD_DEFAULT;
    d.depth.texture = NULL;
    how b = { false, true, shade_color, half };
    OK(spy_draw(mixed, &d, SPY_ARGS(MESH_ARGS(m), TRANSFORM(same_place), spy_arg_f32n("tint", half, 4), spy_arg_f32("k", 1)), NULL));
    draw_all(p, c, m.count, &b);
    is_picture(t, p, "blending over it");
    free(p);
    release(&m);
    spy_release_raster(deep);
    spy_release_raster(mixed);
    spy_release_texture(z);
    spy_release_texture(t);
}

static void test_areas(void **state) {
    RASTER();
    mesh m = random_mesh(6);
    spy_texture *t = color_target();
    spy_raster_desc rd;
    memset(&rd, 0, sizeof rd);
    rd.vertex = fn("vs");
    rd.fragment = fn("fs");
    rd.cull = SPY_CULL_BACK;
    spy_raster *r = MADE(spy_raster, spy_create_raster(gpu_device, &rd));
    spy_draw_desc d = into(t);
    d.scissor.x = 20, d.scissor.y = 10, d.scissor.width = 100, d.scissor.height = 60;
    OK(spy_draw(r, &d, SPY_ARGS(MESH_ARGS(m), TRANSFORM(same_place)), NULL));
    corner c[96];
    corners_of(&m, same_place, c);
    picture *p = blank(0.25, 0, 0, 1), *cut = blank(0.25, 0, 0, 1);
    how h = { false, false, shade_color, NULL };
    for (int i = 0; i < m.count; i += 3) { // counter-clockwise on the target is the front
        double x1 = c[i + 1].clip[0] - c[i].clip[0], y1 = c[i + 1].clip[1] - c[i].clip[1];
        double x2 = c[i + 2].clip[0] - c[i].clip[0], y2 = c[i + 2].clip[1] - c[i].clip[1];
        if (x1 * y2 - x2 * y1 > 0) draw_triangle(p, c + i, &h);
    }
    for (int y = 10; y < 70; y++)
        for (int x = 20; x < 120; x++) memcpy(cut->color[y][x], p->color[y][x], sizeof cut->color[y][x]);
    is_picture(t, cut, "culling and a scissor");
    free(p);
    free(cut);
    release(&m);
    spy_release_raster(r);
    spy_release_texture(t);
}

static void test_samples(void **state) {
    RASTER();
    mesh m = random_mesh(2);
    spy_texture *many = made_target(SPY_FORMAT_RGBA8_UNORM, 4, SPY_TEXTURE_USAGE_COLOR_TARGET),
                *t = made_target(SPY_FORMAT_RGBA8_UNORM, 1, SPY_TEXTURE_USAGE_COLOR_TARGET);
    spy_raster *r = made_raster("vs", "fs");
    spy_draw_desc d = into(many);
    d.targets[0].resolve = t;
    OK(spy_draw(r, &d, SPY_ARGS(MESH_ARGS(m), TRANSFORM(same_place)), NULL));
    uint8_t *got = (uint8_t *)malloc(W * H * 4);
    OK(spy_texture_read(t, NULL, got, W * H * 4));
    corner c[96];
    corners_of(&m, same_place, c);
    picture *p = blank(0.25, 0, 0, 1);
    how h = { false, false, shade_color, NULL };
    draw_all(p, c, m.count, &h);
    int wrong = 0;
    for (int i = 0; i < W * H; i++)
        for (int k = 0; k < 3; k++) wrong += fabs(got[4 * i + k] / 255.0 - p->color[i / W][i % W][k]) > 2.0 / 255;
    assert_true(wrong < W * H / 10); // only edges differ
    assert_true(wrong > 0);
    free(p);
    free(got);
    release(&m);
    spy_release_raster(r);
    spy_release_texture(many);
    spy_release_texture(t);
}

static void test_several_targets(void **state) {
    RASTER();
    mesh m = random_mesh(3);
    spy_texture *a = color_target(), *b = made_target(SPY_FORMAT_RG32_UINT, 1, SPY_TEXTURE_USAGE_COLOR_TARGET);
    spy_raster *r = made_raster("vs", "fs_two");
    spy_draw_desc d = into(a);
    d.targets[1].texture = b;
    d.targets[1].load = SPY_LOAD_CLEAR;
    d.targets[1].clear.uints[0] = 3;
    OK(spy_draw(r, &d, SPY_ARGS(MESH_ARGS(m), TRANSFORM(same_place), spy_arg_u32("number", 77)), NULL));
    corner c[96];
    corners_of(&m, same_place, c);
    picture *p = blank(0.25, 0, 0, 1);
    how h = { false, false, shade_color, NULL };
    draw_all(p, c, m.count, &h);
    is_picture(a, p, "the first of two targets");
    uint32_t *got = (uint32_t *)malloc(W * H * 8);
    OK(spy_texture_read(b, NULL, got, W * H * 8));
    int wrong = 0;
    for (int i = 0; i < W * H; i++) {
        bool drawn = p->color[i / W][i % W][2] != 0;
        wrong += drawn ? got[2 * i] != 77 || got[2 * i + 1] != (uint32_t)(i % W) : got[2 * i] != 3 || got[2 * i + 1] != 0;
    }
    assert_true(wrong <= W * H / 1000);
    // The second output is dropped where there is no second target.
    d.targets[1].texture = NULL;
    OK(spy_draw(r, &d, SPY_ARGS(MESH_ARGS(m), TRANSFORM(same_place), spy_arg_u32("number", 77)), NULL));
    is_picture(a, p, "an output without a target");
    free(p);
    free(got);
    release(&m);
    spy_release_raster(r);
    spy_release_texture(a);
    spy_release_texture(b);
}

// >>where vertices come from

static void test_pulled(void **state) {
    RASTER();
    static const float points[6][2] = { { -0.5f, -0.5f }, { 0.5f, -0.5f }, { 0, 0.75f }, { -0.9f, 0.9f }, { -0.9f, 0.2f }, { -0.4f, 0.9f } };
    static const float colors[2][4] = { { 0, 0.5f, 0, 1 }, { 0.5f, 0.5f, 1, 1 } };
    spy_tensor *p = floats(SPY_SHAPE(6, 2), &points[0][0]), *k = floats(SPY_SHAPE(2, 4), &colors[0][0]);
    spy_texture *t = color_target();
    spy_raster *r = made_raster("vs_pull", "fs_pull");
    spy_draw_desc d = into(t);
    d.vertex_count = 6;
    OK(spy_draw(r, &d, SPY_ARGS(spy_arg_tensor("points", p), spy_arg_f32("z", 0.5f), spy_arg_tensor("colors", k), spy_arg_i32("which", 1)), NULL));
    corner c[6];
    memset(c, 0, sizeof c);
    for (int i = 0; i < 6; i++) {
        const double clip[4] = { (double)points[i][0], (double)points[i][1], 0.5, 1 };
        memcpy(c[i].clip, clip, sizeof clip);
        c[i].v[0] = (double)points[i][0] + 0.5, c[i].v[1] = (double)points[i][1] + 0.5, c[i].v[2] = 1;
    }
    picture *expected = blank(0.25, 0, 0, 1);
    how h = { false, false, shade_color, NULL };
    draw_all(expected, c, 6, &h);
    is_picture(t, expected, "vertices that the shader fetches");
    free(expected);
    spy_release_tensor(p);
    spy_release_tensor(k);
    spy_release_raster(r);
    spy_release_texture(t);
}

static void test_instances(void **state) {
    RASTER();
    static const float corners[3][2] = { { -0.2f, -0.2f }, { 0.2f, -0.2f }, { 0, 0.25f } };
    float places[5][2], colors[5][3], matrices[5][16];
    for (int i = 0; i < 5; i++) {
        for (int k = 0; k < 2; k++) places[i][k] = (float)(random_unit() * 1.4 - 0.7);
        for (int k = 0; k < 3; k++) colors[i][k] = (float)random_unit();
        memcpy(matrices[i], same_place, sizeof same_place);
        matrices[i][3] = places[i][0], matrices[i][7] = places[i][1], matrices[i][11] = 0.5f;
    }
    spy_tensor *corner_tensor = floats(SPY_SHAPE(3, 2), &corners[0][0]), *place = floats(SPY_SHAPE(5, 2), &places[0][0]),
               *color = floats(SPY_SHAPE(5, 3), &colors[0][0]), *matrix = floats(SPY_SHAPE(5, 4, 4), &matrices[0][0]);
    float deep[3][3];
    for (int i = 0; i < 3; i++) deep[i][0] = corners[i][0], deep[i][1] = corners[i][1], deep[i][2] = 0;
    spy_tensor *rows[3]; // views with strides
    for (int k = 0; k < 3; k++) rows[k] = MADE(spy_tensor, spy_create_select(matrix, 1, k));
    spy_tensor *deep_tensor = floats(SPY_SHAPE(3, 3), &deep[0][0]);
    spy_texture *t = color_target();
    static const char *const names[] = { "place", "color", "x", "y", "z" };
    for (int form = 0; form < 2; form++) {
        spy_raster_desc rd;
        memset(&rd, 0, sizeof rd);
        rd.vertex = fn(form ? "vs_matrix" : "vs_instances");
        rd.fragment = fn("fs");
        rd.instance_attributes = names;
        rd.instance_attribute_count = 5;
        spy_raster *r = MADE(spy_raster, spy_create_raster(gpu_device, &rd));
        spy_draw_desc d = into(t);
        d.instance_count = 4;
        d.first_instance = 1;
        if (form)
            OK(spy_draw(r, &d,
                        SPY_ARGS(spy_arg_tensor("corner", deep_tensor), spy_arg_tensor("x", rows[0]), spy_arg_tensor("y", rows[1]),
                                 spy_arg_tensor("z", rows[2]), spy_arg_tensor("color", color)),
                        NULL));
        else
            OK(spy_draw(r, &d,
                        SPY_ARGS(spy_arg_tensor("corner", corner_tensor), spy_arg_tensor("place", place), spy_arg_tensor("color", color)),
                        NULL));
        picture *p = blank(0.25, 0, 0, 1);
        how h = { false, false, shade_color, NULL };
        for (int i = 1; i < 5; i++) {
            corner c[3];
            memset(c, 0, sizeof c);
            for (int k = 0; k < 3; k++) {
                const double clip[4] = { (double)(corners[k][0] + places[i][0]), (double)(corners[k][1] + places[i][1]), 0.5, 1 };
                memcpy(c[k].clip, clip, sizeof clip);
                for (int j = 0; j < 3; j++) c[k].v[j] = (double)colors[i][j];
            }
            draw_triangle(p, c, &h);
        }
        is_picture(t, p, form ? "a matrix for each instance" : "attributes of instances");
        free(p);
        spy_release_raster(r);
    }
    spy_release_tensor(corner_tensor);
    spy_release_tensor(deep_tensor);
    spy_release_tensor(place);
    spy_release_tensor(color);
    spy_release_tensor(matrix);
    for (int k = 0; k < 3; k++) spy_release_tensor(rows[k]);
    spy_release_texture(t);
}

// One mesh in all forms in which vertices can be given.
static void test_forms(void **state) {
    RASTER();
    mesh m = random_mesh(5);
    typedef struct vertex {
        float position[3], color[3], uv[2];
    } vertex;
    vertex v[96];
    for (int i = 0; i < m.count; i++) {
        memcpy(v[i].position, m.position[i], sizeof v[i].position);
        memcpy(v[i].color, m.color[i], sizeof v[i].color);
        memcpy(v[i].uv, m.uv[i], sizeof v[i].uv);
    }
    uint32_t indices[9] = { 0, 1, 2, 9, 10, 11, 5, 4, 3 };
    uint16_t small[9];
    uint32_t counts[14] = { 6, 1, 3, 0, 0, 6, 1, 3, 0, 3, 1, 3, 0, 0 };
    for (int i = 0; i < 9; i++) small[i] = (uint16_t)indices[i];
    spy_tensor *structs = MADE(spy_tensor, gpu_tensor(gpu_device, SPY_DTYPE_DEFAULT, "VertexIn", module, SPY_SHAPE(m.count), v));
    spy_tensor *bytes = floats(SPY_SHAPE(m.count, 8), &v[0].position[0]);
    spy_tensor *i32 = MADE(spy_tensor, gpu_tensor(gpu_device, SPY_DTYPE_UINT32, NULL, NULL, SPY_SHAPE(9), indices));
    spy_tensor *i16 = MADE(spy_tensor, gpu_tensor(gpu_device, SPY_DTYPE_UINT16, NULL, NULL, SPY_SHAPE(3, 3), small));
    spy_tensor *gpu_counts = MADE(spy_tensor, gpu_tensor(gpu_device, SPY_DTYPE_UINT32, NULL, NULL, SPY_SHAPE(14), counts));
    // A view of every second vertex of a larger tensor: strides that are not those of the elements.
    float *wide = (float *)calloc((size_t)m.count * 2 * 3, sizeof *wide);
    for (int i = 0; i < m.count; i++) memcpy(wide + 6 * i, m.position[i], 3 * sizeof *wide);
    spy_tensor *all = floats(SPY_SHAPE(m.count, 2, 3), wide);
    spy_tensor *strided = MADE(spy_tensor, spy_create_select(all, 1, 0));
    spy_texture *t = color_target();
    spy_raster *named = made_raster("vs", "fs");
    static const spy_vertex_attribute attributes[] = { { "position", 0, SPY_FORMAT_RGB32_FLOAT, 0, 0 },
                                                       { "Color", 0, SPY_FORMAT_RGB32_FLOAT, 12, 0 },
                                                       { "TEXCOORD", 0, SPY_FORMAT_RG32_FLOAT, 24, 0 },
                                                       { "UNUSED", 0, SPY_FORMAT_RG32_FLOAT, 0, 0 } };
    static const spy_vertex_layout layouts[] = { { 32, 0 } };
    spy_raster_desc rd;
    memset(&rd, 0, sizeof rd);
    rd.vertex = fn("vs");
    rd.fragment = fn("fs");
    rd.attributes = attributes;
    rd.attribute_count = 4;
    rd.layouts = layouts;
    rd.layout_count = 1;
    spy_raster *listed = MADE(spy_raster, spy_create_raster(gpu_device, &rd));
    corner c[96], picked[9];
    corners_of(&m, same_place, c);
    for (int i = 0; i < 9; i++) picked[i] = c[indices[i]];
    for (int form = 0; form < 11; form++) {
        spy_draw_desc d = into(t);
        picture *p = blank(0.25, 0, 0, 1);
        how h = { false, false, shade_color, NULL };
        char what[32];
        snprintf(what, sizeof what, "form %d of vertices", form);
        int first = 0, count = m.count;
        const corner *from = c;
        if (form == 1) d.first_vertex = 3, first = 3, count -= 3;
        if (form == 2) d.first_vertex = 6, d.vertex_count = 6, first = 6, count = 6;
        if (form == 5) d.indices = i32, from = picked, count = 9;
        if (form == 6) d.indices = i16, d.first_vertex = 3, from = picked, first = 3, count = 6;
        if (form == 7) d.indices = i32, d.indirect = gpu_counts, from = picked, first = 3, count = 6;
        if (form == 9) d.indirect = gpu_counts, d.indirect_offset_bytes = 20, first = 3, count = 6;
        if (form == 10) // the offset of the indices, and of the first index of the counts
            d.indices = i16, d.indices_offset_bytes = 6, d.indirect = gpu_counts, d.indirect_offset_bytes = 36, from = picked, first = 6, count = 3;
        if (form == 8) d.indices = i32, d.vertex_offset = 3, from = picked, count = 9;
        if (form == 8)
            for (int i = 0; i < 9; i++) picked[i] = c[indices[i] + 3];
        if (form == 10)
            for (int i = 0; i < 9; i++) picked[i] = c[indices[i]];
        if (form == 4) {
            d.vertex_buffers[0].tensor = bytes;
            OK(spy_draw(listed, &d, SPY_ARGS(TRANSFORM(same_place)), NULL));
        } else if (form == 3) {
            OK(spy_draw(named, &d, SPY_ARGS(spy_arg_tensor("v", structs), TRANSFORM(same_place)), NULL));
        } else {
            OK(spy_draw(named, &d,
                        SPY_ARGS(TRANSFORM(same_place), spy_arg_tensor("uv", m.uvs), spy_arg_tensor("color", m.colors),
                                 spy_arg_tensor("position", form == 2 ? strided : m.positions)),
                        NULL));
        }
        draw_all(p, from + first, count, &h);
        is_picture(t, p, what);
        free(p);
    }
    free(wide);
    spy_release_tensor(all);
    spy_release_tensor(strided);
    spy_release_tensor(structs);
    spy_release_tensor(bytes);
    spy_release_tensor(i32);
    spy_release_tensor(i16);
    spy_release_tensor(gpu_counts);
    release(&m);
    spy_release_raster(named);
    spy_release_raster(listed);
    spy_release_texture(t);
}

// >>order of work

// Kernels write vertices and read pictures; fragment functions write buffers. Barriers come by themselves.
static void test_order(void **state) {
    RASTER();
    mesh m = random_mesh(3);
    spy_texture *t = color_target(), *u = color_target();
    spy_tensor *positions = floats(SPY_SHAPE(m.count, 3), NULL), *out = floats(SPY_SHAPE(1, 4), NULL);
    uint32_t zero = 0, hits = 0;
    spy_tensor *counter = MADE(spy_tensor, gpu_tensor(gpu_device, SPY_DTYPE_UINT32, NULL, NULL, SPY_SHAPE(1), &zero));
    spy_raster *r = made_raster("vs", "fs"), *image = made_raster("vs", "fs_image"), *store = made_raster("vs", "fs_store");
    spy_sampler_desc sd;
    memset(&sd, 0, sizeof sd);
    sd.min_filter = sd.mag_filter = SPY_FILTER_NEAREST;
    spy_sampler *nearest = MADE(spy_sampler, spy_create_sampler(gpu_device, &sd));
    corner c[96];
    corners_of(&m, same_place, c);
    const float by[3] = { 0.0625f, -0.125f, 0 };
    for (int i = 0; i < m.count; i++) c[i].clip[0] += 0.0625, c[i].clip[1] -= 0.125;
    picture *p = blank(0.25, 0, 0, 1);
    how h = { false, false, shade_color, NULL };
    draw_all(p, c, m.count, &h);
    for (int round = 0; round < 3; round++) {
        // A call writes vertices, a draw reads them, a draw samples the picture of that draw.
        OK(spy_call(fn("moved"), SPY_ARGS(spy_arg_tensor("p", m.positions), spy_arg_f32n("by", by, 3), spy_arg_tensor("_result", positions))));
        spy_draw_desc d = into(t);
        OK(spy_draw(r, &d, SPY_ARGS(spy_arg_tensor("position", positions), spy_arg_tensor("color", m.colors), spy_arg_tensor("uv", m.uvs), TRANSFORM(same_place)), NULL));
        static const float corners[6][3] = { { -1, -1, 0.5f }, { 1, -1, 0.5f }, { -1, 1, 0.5f }, { -1, 1, 0.5f }, { 1, -1, 0.5f }, { 1, 1, 0.5f } };
        static const float uvs[6][2] = { { 0, 1 }, { 1, 1 }, { 0, 0 }, { 0, 0 }, { 1, 1 }, { 1, 0 } };
        spy_tensor *q = floats(SPY_SHAPE(6, 3), &corners[0][0]), *uv = floats(SPY_SHAPE(6, 2), &uvs[0][0]);
        spy_draw_desc e = into(u);
        e.targets[0].load = SPY_LOAD_IGNORE;
        OK(spy_draw(image, &e,
                    SPY_ARGS(spy_arg_tensor("position", q), spy_arg_tensor("color", q), spy_arg_tensor("uv", uv), TRANSFORM(same_place),
                             spy_arg_texture("image", t), spy_arg_sampler("how", nearest), spy_arg_f32("k", 1)),
                    NULL));
        int32_t at[2] = { W / 2, H / 2 };
        OK(spy_call(fn("texel"), SPY_ARGS(spy_arg_texture("t", u), spy_arg_i32n("p", at, 2), spy_arg_tensor("_result", out))));
        float texel[4];
        OK(spy_tensor_read(out, texel, sizeof texel));
        for (int k = 0; k < 4; k++) assert_true(fabs((double)texel[k] - p->color[H / 2][W / 2][k]) < 0.01);
        spy_release_tensor(q);
        spy_release_tensor(uv);
    }
    is_picture(u, p, "a picture of a picture");
    spy_draw_desc d = into(t);
    OK(spy_draw(store, &d, SPY_ARGS(MESH_ARGS(m), TRANSFORM(same_place), spy_arg_tensor("hits", counter)), NULL));
    OK(spy_tensor_read(counter, &hits, sizeof hits));
    assert_true(hits > 50);
    // Nothing is drawn, only cleared.
    d.draw_nothing = true;
    d.targets[0].clear.floats[1] = 0.5f;
    OK(spy_draw(store, &d, SPY_ARGS(MESH_ARGS(m), TRANSFORM(same_place), spy_arg_tensor("hits", counter)), NULL));
    float *got = (float *)malloc(W * H * 16);
    OK(spy_texture_read(t, NULL, got, W * H * 16));
    for (int i = 0; i < W * H; i++) assert_true(got[4 * i] == 0.25f && got[4 * i + 1] == 0.5f);
    free(got);
    free(p);
    release(&m);
    spy_release_tensor(positions);
    spy_release_tensor(out);
    spy_release_tensor(counter);
    spy_release_sampler(nearest);
    spy_release_raster(r);
    spy_release_raster(image);
    spy_release_raster(store);
    spy_release_texture(t);
    spy_release_texture(u);
}

// A list holds the pipeline and all memory; rasters, tensors and textures may be released before it is submitted.
static void test_lists(void **state) {
    RASTER();
    mesh m = random_mesh(4);
    spy_texture *t = color_target();
    spy_raster *r = made_raster("vs", "fs_tint");
    const float tint[4] = { 1, 0.5f, 1, 1 };
    spy_command_list *list = MADE(spy_command_list, spy_create_command_list(gpu_device, NULL));
    spy_call_options o;
    memset(&o, 0, sizeof o);
    o.append_to = list;
    spy_draw_desc d = into(t);
    OK(spy_draw(r, &d, SPY_ARGS(MESH_ARGS(m), TRANSFORM(perspective), spy_arg_f32n("tint", tint, 4), spy_arg_f32("k", 1)), &o));
    d.targets[0].load = SPY_LOAD_DEFAULT;
    d.vertex_count = 3;
    OK(spy_draw(r, &d, SPY_ARGS(MESH_ARGS(m), TRANSFORM(same_place), spy_arg_f32n("tint", tint, 4), spy_arg_f32("k", 0.5f)), &o));
    OK(spy_list_finish(list));
    corner c[96];
    picture *p = blank(0.25, 0, 0, 1);
    float factors[4];
    how h = { false, false, shade_color, tint }, half = { false, false, shade_color, factors };
    for (int k = 0; k < 4; k++) factors[k] = tint[k] * 0.5f;
    corners_of(&m, perspective, c);
    draw_all(p, c, m.count, &h);
    corners_of(&m, same_place, c);
    draw_all(p, c, 3, &half);
    release(&m);
    spy_release_raster(r);
    for (int round = 0; round < 3; round++) {
        spy_texture_clear(t, d.targets[0].clear);
        OK(spy_list_submit(list));
        is_picture(t, p, "a list");
    }
    free(p);
    spy_release_command_list(list);
    spy_release_texture(t);
}

// >>example 14: its functions, with a coarser mesh

enum { RING = 48, TUBE = 24, PATTERN = 256 };

typedef struct ring_user {
    const float *pattern;
    double lamp[3];
} ring_user;

static void unit(double *v) {
    double length = sqrt(v[0] * v[0] + v[1] * v[1] + v[2] * v[2]);
    for (int k = 0; k < 3; k++) v[k] /= length;
}

static double dot3(const double *a, const double *b) { return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]; }

static void shade_ring(const double *v, double *out, const void *user) {
    const ring_user *u = (const ring_user *)user;
    double normal[3] = { v[3], v[4], v[5] }, to_lamp[3], to_eye[3] = { -v[0], -v[1], 3.2 - v[2] }, half[3];
    for (int k = 0; k < 3; k++) to_lamp[k] = u->lamp[k] - v[k];
    unit(normal), unit(to_lamp), unit(to_eye);
    for (int k = 0; k < 3; k++) half[k] = to_lamp[k] + to_eye[k];
    unit(half);
    double light = fmax(dot3(normal, to_lamp), 0), gloss = pow(fmax(dot3(normal, half), 0), 60);
    double x = v[6] * PATTERN - 0.5, y = v[7] * PATTERN - 0.5;
    int x0 = (int)floor(x), y0 = (int)floor(y);
    for (int k = 0; k < 3; k++) {
        double sum = 0;
        for (int i = 0; i < 4; i++) {
            int px = (x0 + i % 2 + PATTERN) % PATTERN, py = (y0 + i / 2 + PATTERN) % PATTERN;
            double weight = (i % 2 ? x - x0 : 1 - (x - x0)) * (i / 2 ? y - y0 : 1 - (y - y0));
            sum += weight * (double)u->pattern[(py * PATTERN + px) * 4 + k];
        }
        double c = sum * (0.06 + 0.9 * light) + 0.6 * gloss * light;
        out[k] = pow(fmin(fmax(c, 0), 1), 1 / 2.2);
    }
    out[3] = 1;
}

static void turn(const double *p, const float *angles, double *out) {
    double c = cos((double)angles[0]), s = sin((double)angles[0]), e = cos((double)angles[1]), f = sin((double)angles[1]);
    double x = c * p[0] + s * p[2], z = c * p[2] - s * p[0];
    out[0] = x, out[1] = e * p[1] - f * z, out[2] = f * p[1] + e * z;
}

static corner ring_corner(int i, int j, const float *angles) {
    corner c;
    const double around = 6.2831853 * i / RING, tube = 6.2831853 * j / TUBE;
    const double normal[3] = { cos(around) * cos(tube), sin(tube), sin(around) * cos(tube) };
    double place[3] = { cos(around), 0, sin(around) };
    for (int k = 0; k < 3; k++) place[k] += 0.42 * normal[k];
    turn(place, angles, c.v);
    turn(normal, angles, c.v + 3);
    c.v[6] = (double)i / RING, c.v[7] = (double)j / TUBE;
    const double depth = 3.2 - c.v[2];
    const double clip[4] = { 2 * c.v[0] * H / W, 2 * c.v[1], (depth - 1) * 6 / 5, depth };
    memcpy(c.clip, clip, sizeof clip);
    return c;
}

static void test_example(void **state) {
    RASTER();
    const float angles[2] = { 0.4f, 0.75f }, lamp[3] = { 2, 3, 3 };
    const int32_t net[2] = { RING, TUBE }, square[2] = { PATTERN, PATTERN };
    spy_module *example = MADE(spy_module, gpu_module_file(gpu_device, __FILE__, "../../examples/14_raster/raster.slang"));
    spy_tensor *vertices = MADE(spy_tensor, gpu_tensor(gpu_device, SPY_DTYPE_DEFAULT, "Vertex", example, SPY_SHAPE(TUBE + 1, RING + 1), NULL));
    spy_tensor *indices = MADE(spy_tensor, gpu_tensor(gpu_device, SPY_DTYPE_UINT32, NULL, NULL, SPY_SHAPE(RING * TUBE, 6), NULL));
    spy_texture_desc td;
    memset(&td, 0, sizeof td);
    td.format = SPY_FORMAT_RGBA32_FLOAT;
    td.width = td.height = PATTERN;
    spy_texture *pattern = MADE(spy_texture, spy_create_texture(gpu_device, &td));
    OK(spy_call(MADE(spy_function, spy_find_function(example, "ring")),
                SPY_ARGS(spy_arg_call_id("id"), spy_arg_i32n("size", net, 2), spy_arg_tensor("_result", vertices))));
    OK(spy_call(MADE(spy_function, spy_find_function(example, "corner")),
                SPY_ARGS(spy_arg_call_id("id"), spy_arg_i32n("size", net, 2), spy_arg_tensor("_result", indices))));
    OK(spy_call(MADE(spy_function, spy_find_function(example, "paint")),
                SPY_ARGS(spy_arg_call_id("id"), spy_arg_i32n("size", square, 2), spy_arg_texture("_result", pattern))));
    spy_texture *t = color_target(), *z = made_target(SPY_FORMAT_D32_FLOAT, 1, SPY_TEXTURE_USAGE_DEPTH_TARGET);
    spy_sampler *how_sampled = made_sampler();
    spy_raster_desc rd;
    memset(&rd, 0, sizeof rd);
    rd.vertex = MADE(spy_function, spy_find_function(example, "vertex_main"));
    rd.fragment = MADE(spy_function, spy_find_function(example, "fragment_main"));
    rd.cull = SPY_CULL_BACK;
    rd.depth_compare = SPY_COMPARE_LESS;
    spy_raster *r = MADE(spy_raster, spy_create_raster(gpu_device, &rd));
    spy_draw_desc d = into(t);
    d.depth.texture = z;
    d.depth.load = SPY_LOAD_CLEAR;
    d.depth.clear = 1;
    d.indices = indices;
    OK(spy_draw(r, &d,
                SPY_ARGS(spy_arg_tensor("v", vertices), spy_arg_f32n("angles", angles, 2), spy_arg_f32("aspect", (float)W / H),
                         spy_arg_texture("pattern", pattern), spy_arg_sampler("how", how_sampled), spy_arg_f32n("lamp", lamp, 3)),
                NULL));
    float *texels = (float *)malloc(PATTERN * PATTERN * 16);
    OK(spy_texture_read(pattern, NULL, texels, PATTERN * PATTERN * 16));
    const ring_user u = { texels, { 2, 3, 3 } };
    how h = { true, false, shade_ring, &u };
    picture *p = blank(0.25, 0, 0, 1);
    for (int j = 0; j < TUBE; j++)
        for (int i = 0; i < RING; i++) {
            const corner c[6] = { ring_corner(i, j, angles),     ring_corner(i, j + 1, angles), ring_corner(i + 1, j, angles),
                                  ring_corner(i + 1, j, angles), ring_corner(i, j + 1, angles), ring_corner(i + 1, j + 1, angles) };
            draw_all(p, c, 6, &h);
        }
    is_picture(t, p, "the ring of example 14");
    free(p);
    free(texels);
    spy_release_tensor(vertices);
    spy_release_tensor(indices);
    spy_release_texture(pattern);
    spy_release_texture(t);
    spy_release_texture(z);
    spy_release_sampler(how_sampled);
    spy_release_raster(r);
    spy_release_module(example);
}

static int setup(void **state) {
    (void)state;
    return gpu_setup_dumped("raster", source, &module);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_triangle),
        cmocka_unit_test(test_uniforms),
        cmocka_unit_test(test_textures),
        cmocka_unit_test(test_depth_and_blending),
        cmocka_unit_test(test_areas),
        cmocka_unit_test(test_samples),
        cmocka_unit_test(test_several_targets),
        cmocka_unit_test(test_pulled),
        cmocka_unit_test(test_instances),
        cmocka_unit_test(test_forms),
        cmocka_unit_test(test_order),
        cmocka_unit_test(test_lists),
        cmocka_unit_test(test_example),
    };
    return cmocka_run_group_tests_name("raster", tests, setup, gpu_teardown_dumped);
}

// What the programs test_vk_raster_*.c share: rasters, draws and pictures through the Vulkan backend's table, on whatever device there
// is: each test with dynamic rendering, if the device has it, and with render passes. Skipped, and said so, where there is no device
// that draws. SPY_TEST_VALIDATION=1: with the validation layer; its messages are failures.
#ifndef VK_RASTER_TEST_H
#define VK_RASTER_TEST_H

#include "spy_test.h"
#ifdef SPY_TEST_SPLIT
#include "vk/internal.h"
#endif
#include "work_test.h"
#include <dlfcn.h>
#include "raster_kernels.h"
#include "vk_test.h"

static inline spyi_vk_gpu *test_vk(test_gpu *t) {
    return (spyi_vk_gpu *)(void *)t->gpu;
}

static inline const spyi_gpu_stats *test_stats(test_gpu *t) {
    return &test_vk(t)->base.stats;
}

// Returns false where the device has no dynamic rendering to be tested.
static inline bool test_open_way(test_gpu *t, bool dynamic) {
    // Debian 12's layer warns about shaders that write to a target that is missing, which Vulkan allows.
    test_ignored_message = "Attachment 0 of type `VK_FORMAT_UNDEFINED` does not match";
    test_open(t);
    spyi_vk_gpu *vk = test_vk(t);
    const bool draws = (vk->adapter.graphics_families >> vk->queue_family & 1u) != 0;
    if (draws && (!dynamic || vk->dynamic_rendering)) {
        vk->dynamic_rendering = dynamic;
        return true;
    }
    print_message("skipped: '%s' has no %s\n", vk->adapter.info.name, draws ? "dynamic rendering" : "queue that draws");
    test_close(t);
    return false;
}

// Runs a test with dynamic rendering and with render passes.
#define BOTH_WAYS(name)                                                                                      \
    static void name(void **state) {                                                                         \
        (void)state;                                                                                         \
        for (int dynamic = 1; dynamic >= 0; dynamic--) {                                                     \
            test_gpu t;                                                                                      \
            if (!test_open_way(&t, dynamic == 1)) continue;                                                  \
            name##_with(&t);                                                                                 \
            test_close(&t);                                                                                  \
        }                                                                                                    \
    }

typedef struct picture {
    spyi_image_desc desc;
    spyi_image image;
    uint64_t target, sampled; // views
    uint32_t how;             // the use that its layout is for
} picture;

static inline uint64_t picture_view(test_gpu *t, const picture *p, bool target) {
    spyi_image_view_desc desc;
    uint64_t view = 0;
    memset(&desc, 0, sizeof desc);
    desc.type = SPY_TEXTURE_TYPE_2D;
    desc.format = p->desc.format;
    desc.level_count = desc.layer_count = 1;
    desc.target = target;
    test_ok(t, backend->images->create_view(t->gpu, &p->image, &p->desc, &desc, 0, &view, &t->error));
    return view;
}

static inline picture picture_make(test_gpu *t, uint32_t format, uint32_t width, uint32_t height, uint32_t samples) {
    picture p;
    memset(&p, 0, sizeof p);
    p.desc.type = SPY_TEXTURE_TYPE_2D;
    p.desc.format = (uint8_t)format;
    p.desc.width = width;
    p.desc.height = height;
    p.desc.depth = p.desc.layers = p.desc.levels = 1;
    p.desc.samples = samples;
    p.desc.usage = spyi_format(format)->has_depth ? SPY_TEXTURE_USAGE_DEPTH_TARGET
                                                  : SPY_TEXTURE_USAGE_COLOR_TARGET | SPY_TEXTURE_USAGE_SAMPLED;
    test_ok(t, backend->images->create(t->gpu, &p.desc, "picture", &p.image, &t->error));
    p.target = picture_view(t, &p, true);
    if (p.desc.usage & SPY_TEXTURE_USAGE_SAMPLED) p.sampled = picture_view(t, &p, false);
    return p;
}

static inline void picture_free(test_gpu *t, picture *p) {
    backend->images->destroy_view(t->gpu, p->target, false);
    if (p->sampled) backend->images->destroy_view(t->gpu, p->sampled, false);
    backend->images->destroy(t->gpu, &p->image);
}

// Returns the number of transitions that the use needs: 0 or 1.
static inline uint32_t picture_use(picture *p, uint32_t how, spyi_transition *transition) {
    const uint32_t had = p->how;
    p->how = how;
    if (spyi_use_layout(had) == spyi_use_layout(how)) return 0;
    memset(transition, 0, sizeof *transition);
    transition->texture = p->image.handle;
    transition->layer_count = 1;
    transition->from = had;
    transition->to = how;
    transition->format = p->desc.format;
    return 1;
}

static inline void test_wait_all(test_gpu *t) {
    test_ok(t, backend->wait(t->gpu, spyi_open_submit(t->gpu), UINT64_MAX, &t->error));
}

static inline spyi_chunk test_chunk(test_gpu *t, const void *data, size_t size) {
    spyi_chunk chunk;
    test_ok(t, backend->allocate_chunk(t->gpu, SPYI_MEMORY_DEVICE, size, "chunk", &chunk, &t->error));
    if (data) test_ok(t, work_upload(backend, t->gpu, &chunk, 0, data, size, true, &t->error));
    return chunk;
}

static inline void picture_read(test_gpu *t, picture *p, void *data) {
    const spy_format_info *format = spyi_format(p->desc.format);
    spyi_image_bytes_work w;
    spyi_transition transition;
    const size_t size = (size_t)p->desc.width * p->desc.height * format->block_bytes;
    spyi_chunk chunk = test_chunk(t, NULL, size);
    memset(&w, 0, sizeof w);
    w.work = spyi_work_of(spyi_work_image_bytes());
    w.work.before.transition_count = picture_use(p, SPYI_USE_READS | SPYI_USE_COPIED, &transition);
    w.work.before.transitions = &transition;
    w.image = p->image.handle;
    w.desc = p->desc;
    w.box.layer_count = w.box.depth = 1;
    w.box.width = p->desc.width;
    w.box.height = p->desc.height;
    w.chunk = &chunk;
    w.row_pitch = p->desc.width * format->block_bytes;
    w.slice_pitch = w.row_pitch * p->desc.height;
    test_ok(t, spyi_record(backend, t->gpu, &w.work, &t->error));
    test_ok(t, backend->download(t->gpu, data, &chunk, 0, size, spyi_open_submit(t->gpu), &t->error));
    backend->free_chunk(t->gpu, &chunk);
}

typedef struct block {
    float scale[2], offset[2], depth, unused, size[2], tint[4];
} block;

static inline block test_block(float r, float g, float b, float a) {
    block made = { { 1, 1 }, { 0, 0 }, 0.5f, 0, { 64, 64 }, { r, g, b, a } };
    return made;
}

#define STAGE(desc, at, name)                                                                                \
    do {                                                                                                     \
        (desc).stages[at].code = raster_##name;                                                              \
        (desc).stages[at].code_size = sizeof raster_##name;                                                  \
        (desc).stages[at].entry = #name;                                                                     \
    } while (0)

// A full-screen triangle by SV_VertexID, in one colour, into an rgba32_float target.
static inline spyi_raster_desc test_raster_desc(uint32_t format) {
    spyi_raster_desc desc;
    memset(&desc, 0, sizeof desc);
    desc.label = "raster";
    STAGE(desc, SPYI_RASTER_VERTEX, vertex_id);
    STAGE(desc, SPYI_RASTER_FRAGMENT, fragment_main);
    desc.iface.block_size = sizeof(block);
    desc.state.topology = SPY_TOPOLOGY_TRIANGLE_LIST;
    desc.state.samples = 1;
    desc.state.sample_mask = ~0u;
    desc.state.target_count = 1;
    desc.state.target_formats[0] = (uint8_t)format;
    return desc;
}

typedef struct vertex {
    float position[2], color[4];
} vertex;

// The same with vertices from a buffer.
static inline spyi_raster_desc test_vertex_desc(uint32_t format) {
    spyi_raster_desc desc = test_raster_desc(format);
    STAGE(desc, SPYI_RASTER_VERTEX, vertex_main);
    desc.state.attribute_count = 2;
    desc.state.attributes[0].format = SPY_FORMAT_RG32_FLOAT;
    desc.state.attributes[1].location = 1;
    desc.state.attributes[1].format = SPY_FORMAT_RGBA32_FLOAT;
    desc.state.attributes[1].offset = offsetof(vertex, color);
    desc.state.buffer_count = 1;
    desc.state.buffers[0].stride = sizeof(vertex);
    return desc;
}

// The parameters of a stage with one texture and one sampler.
static inline void test_texture_and_sampler(spyi_parameter parameters[2]) {
    memset(parameters, 0, 2 * sizeof *parameters);
    for (uint32_t i = 0; i < 2; i++) {
        parameters[i].kind = i == 0 ? SPYI_PARAMETER_TEXTURE : SPYI_PARAMETER_SAMPLER;
        parameters[i].number = i;
        parameters[i].count = 1;
    }
}

static inline spyi_kernel *test_load(test_gpu *t, const spyi_raster_desc *desc) {
    spyi_kernel *kernel = NULL;
    test_ok(t, backend->raster->load(t->gpu, desc, &kernel, &t->error));
    return kernel;
}

static inline spyi_draw_work test_draw(spyi_kernel *kernel, const block *b, const picture *p) {
    spyi_draw_work d;
    memset(&d, 0, sizeof d);
    d.work = spyi_work_of(spyi_work_draw());
    d.kernel = kernel;
    d.block = b;
    d.target_count = 1;
    d.targets[0].image = p->image.handle;
    d.targets[0].view = p->target;
    d.width = p->desc.width;
    d.height = p->desc.height;
    d.layers = 1;
    d.viewport[2] = (float)p->desc.width;
    d.viewport[3] = (float)p->desc.height;
    d.viewport[5] = 1;
    d.scissor[2] = (int32_t)p->desc.width;
    d.scissor[3] = (int32_t)p->desc.height;
    d.count = 3;
    d.instance_count = 1;
    return d;
}

// Records the draw, with the transitions of its targets and resolves.
static inline void test_record(test_gpu *t, spyi_draw_work *d, picture *const *pictures, uint32_t count) {
    spyi_transition transitions[8];
    d->work.before.transition_count = 0;
    d->work.before.transitions = transitions;
    for (uint32_t i = 0; i < count; i++)
        d->work.before.transition_count += picture_use(pictures[i], SPYI_USE_WRITES | SPYI_USE_ATTACHMENT,
                                                       &transitions[d->work.before.transition_count]);
    test_ok(t, spyi_record(backend, t->gpu, &d->work, &t->error));
}

static inline void test_clear(spyi_draw_work *d, float r, float g, float b, float a) {
    const float color[4] = { r, g, b, a };
    d->targets[0].clear = true;
    memcpy(d->targets[0].color.floats, color, sizeof color);
}

static const vertex lower_left[3] = { { { -1, -1 }, { 1, 0, 0, 1 } },
                                      { { 1, -1 }, { 1, 0, 0, 1 } },
                                      { { -1, 1 }, { 1, 0, 0, 1 } } };

enum { SIZE = 64 };

// A target of rgba32_float, its raster, and what it shows.
typedef struct canvas {
    picture p, *all;
    spyi_kernel *kernel;
    float (*pixels)[4];
} canvas;

static inline canvas canvas_open(test_gpu *t, const spyi_raster_desc *desc, uint32_t samples) {
    canvas c;
    memset(&c, 0, sizeof c);
    c.p = picture_make(t, SPY_FORMAT_RGBA32_FLOAT, SIZE, SIZE, samples);
    c.kernel = test_load(t, desc);
    c.pixels = (float(*)[4])malloc(SIZE * SIZE * sizeof *c.pixels);
    return c;
}

static inline void canvas_close(test_gpu *t, canvas *c) {
    test_wait_all(t);
    picture_free(t, &c->p);
    backend->destroy_kernel(t->gpu, c->kernel);
    free(c->pixels);
}

static inline void canvas_draw(test_gpu *t, canvas *c, spyi_draw_work *d) {
    c->all = &c->p;
    test_record(t, d, &c->all, 1);
}

static inline void expect_color(const canvas *c, int x, int y, float r, float g, float b, float a) {
    const float want[4] = { r, g, b, a }, *is = c->pixels[y * SIZE + x];
    for (int i = 0; i < 4; i++) {
        if (is[i] < want[i] - 1e-5f || is[i] > want[i] + 1e-5f)
            fail_msg("%d, %d: %g %g %g %g, not %g %g %g %g", x, y, (double)is[0], (double)is[1], (double)is[2],
                     (double)is[3], (double)r, (double)g, (double)b, (double)a);
    }
}

// All pixels of the rectangle have one colour, and all others another.
static inline void expect_rectangle(test_gpu *t, canvas *c, int x, int y, int width, int height, const float *in,
                             const float *out) {
    picture_read(t, &c->p, c->pixels);
    for (int i = 0; i < SIZE * SIZE; i++) {
        const int px = i % SIZE, py = i / SIZE;
        const float *want = px >= x && px < x + width && py >= y && py < y + height ? in : out;
        expect_color(c, px, py, want[0], want[1], want[2], want[3]);
    }
}

static const float red[4] = { 1, 0, 0, 1 }, black[4] = { 0, 0, 0, 1 }, green[4] = { 0, 1, 0, 1 };

// Lavapipe 22.3 does not free all that its graphics pipelines have. Leak reports know it only while it is loaded.
#define RUN_RASTER_TESTS(tests) \
    ((void)dlopen("libvulkan_lvp.so", RTLD_NOW | RTLD_NODELETE), cmocka_run_group_tests(tests, NULL, NULL))

#endif

// A kind of work and a texture from outside the library: a draw, which the null backend writes down with its transitions, and
// which a command list keeps. What a new kind needs is here: a struct, a kind, and its uses.
#include "spy_test.h"
#ifdef SPY_TEST_SPLIT
#include "backend/null/null.h"
#include "list/list.h"
#endif

// >>the kind

typedef struct draw_work {
    spyi_work work;
    uint32_t vertices;
    const char *name;
} draw_work;

static size_t keep_draw(const spyi_work *work, void *bytes) {
    const draw_work *draw = (const draw_work *)(const void *)work;
    size_t size = strlen(draw->name) + 1;
    if (bytes) {
        draw_work *kept = memcpy(bytes, draw, sizeof *draw);
        kept->name = memcpy(kept + 1, draw->name, size);
    }
    return sizeof *draw + size;
}

static const spyi_work_kind draw_kind = { SPYI_WORK_COUNT, "draw", keep_draw, NULL };

// >>the texture

typedef struct picture {
    spyi_texture texture; // first
    bool gone;
} picture;

static void picture_unused(spy_device *device, spyi_resource *resource) {
    picture *p = (picture *)(void *)resource;
    spyi_texture_untrack(device, &p->texture);
    p->gone = true;
}

static const spyi_resource_kind picture_kind = { "picture", picture_unused };

static void picture_init(picture *p, spy_device *device, uint64_t handle, uint32_t levels, uint32_t layers) {
    memset(p, 0, sizeof *p);
    p->texture.resource.kind = &picture_kind;
    p->texture.resource.references = 1;
    p->texture.handle = handle;
    p->texture.levels = levels;
    p->texture.layers = layers;
    assert_true(spyi_texture_track(device, &p->texture));
}

enum { TO = SPYI_USE_WRITES | SPYI_USE_ATTACHMENT, FROM = SPYI_USE_READS | SPYI_USE_SAMPLED };

// All layers of a level, or one of them.
static spyi_use level_of(picture *p, uint32_t level, uint32_t how) {
    uint64_t first = (uint64_t)level * p->texture.layers;
    return spyi_use_of(&p->texture.resource, first, first + p->texture.layers, how);
}
static spyi_use layer_of(picture *p, uint32_t level, uint32_t layer, uint32_t how) {
    uint64_t number = (uint64_t)level * p->texture.layers + layer;
    return spyi_use_of(&p->texture.resource, number, number + 1, how);
}

// >>the tests

typedef struct bench {
    spy_device *device;
    spyi_text report;
    picture picture;
} bench;

static void open_bench(bench *t) {
    spy_device_desc d;
    spyi_null_desc null_desc;
    memset(t, 0, sizeof *t);
    memset(&d, 0, sizeof d);
    memset(&null_desc, 0, sizeof null_desc);
    null_desc.report = &t->report;
    d.backend = spyi_null_backend();
    d.backend_desc = &null_desc;
    t->device = spy_create_device(&d);
    assert_non_null(t->device);
    picture_init(&t->picture, t->device, 7, 2, 3);
}

static void close_bench(bench *t) {
    spyi_resource_release(t->device, &t->picture.texture.resource);
    assert_true(t->picture.gone);
    spy_release_device(t->device);
    assert_string_equal(spyi_text_str(&t->report), "");
    spyi_text_free(&t->report);
}

static spy_status draw(bench *t, const char *name, const spyi_use *uses, uint32_t count) {
    draw_work d;
    spyi_text error = { NULL, 0, 0 };
    d.work = spyi_work_of(&draw_kind);
    d.vertices = 3;
    d.name = name;
    spy_status status = spyi_record_with(t->device, &d.work, uses, count, false, &error);
    spyi_text_free(&error);
    return status;
}

// The work since the last time, as text.
static void told(bench *t, const char *expected) {
    spyi_text text = { NULL, 0, 0 };
    assert_int_equal(spy_wait(t->device), SPY_OK);
    spyi_null_tell_work(t->device->gpu, &text);
    assert_string_equal(spyi_text_str(&text), expected);
    spyi_text_free(&text);
    spyi_null_clear_ops(t->device->gpu);
}

static void test_draws(void **state) {
    bench t;
    spyi_use uses[3];
    (void)state;
    open_bench(&t);
    // The first time there is nothing in it, the second time it is in place, and passes order themselves: no barrier.
    uses[0] = level_of(&t.picture, 0, TO);
    assert_int_equal(draw(&t, "a", uses, 1), SPY_OK);
    assert_int_equal(draw(&t, "b", uses, 1), SPY_OK);
    const spyi_null_op *op = spyi_null_get_op(t.device->gpu, 1);
    assert_int_equal(op->kind, SPYI_NULL_OTHER);
    assert_string_equal(((const draw_work *)(const void *)op->work)->name, "b");
    told(&t, "draw, after texture 7 level 0 layers 0 to 2: nothing -> attachment\ndraw\n");
    // Layers of a level that is sampled while another one is drawn to: what changes waits by its transition alone. Read again,
    // nothing comes before.
    uses[0] = level_of(&t.picture, 1, TO);
    uses[1] = layer_of(&t.picture, 0, 2, FROM);
    uses[2] = layer_of(&t.picture, 0, 0, FROM);
    assert_int_equal(draw(&t, "c", uses, 3), SPY_OK);
    assert_int_equal(draw(&t, "d", uses + 1, 2), SPY_OK);
    told(&t, "draw, after texture 7 level 1 layers 0 to 2: nothing -> attachment, after texture 7 level 0 "
             "layers 2 to 2: attachment -> sampled"
             ", after texture 7 level 0 layers 0 to 0: attachment -> sampled\ndraw\n");
    // Level 0 has two layouts now.
    uses[0] = level_of(&t.picture, 0, FROM);
    assert_int_equal(draw(&t, "e", uses, 1), SPY_OK);
    told(&t, "draw, after texture 7 level 0 layers 1 to 1: attachment -> sampled\n");
    close_bench(&t);
}

// A texture and memory in one piece of work: a barrier and transitions; and work on memory alone, which never sees them.
static void test_memory_beside(void **state) {
    bench t;
    spy_tensor_desc d;
    spyi_use uses[2];
    (void)state;
    open_bench(&t);
    memset(&d, 0, sizeof d);
    d.shape = SPY_SHAPE(64);
    spy_tensor *x = spy_create_tensor(t.device, &d);
    assert_int_equal(spy_tensor_fill(x, 1), SPY_OK);
    uses[0] = level_of(&t.picture, 0, TO);
    uses[1] = spyi_use_of(&x->storage->resource, x->begin_bytes, x->end_bytes, SPYI_USE_READS);
    assert_int_equal(draw(&t, "a", uses, 2), SPY_OK);
    assert_int_equal(spy_tensor_fill(x, 2), SPY_OK);
    assert_null(spyi_null_get_op(t.device->gpu, 2)->work->before.transitions);
    told(&t, "fill of 256 bytes\ndraw, after a barrier, after texture 7 level 0 layers 0 to 2: nothing -> "
             "attachment\nfill of 256 bytes, after a barrier\n");
    spy_release_tensor(x);
    close_bench(&t);
}

// A list keeps the work and the texture, and records it with what then comes before it.
static void test_lists(void **state) {
    bench t;
    spyi_text error = { NULL, 0, 0 };
    spyi_list_op *op;
    char name[] = "kept";
    (void)state;
    open_bench(&t);
    spyi_use use = level_of(&t.picture, 1, TO);
    spy_command_list *list = spy_create_command_list(t.device, NULL);
    draw_work d = { spyi_work_of(&draw_kind), 3, name };
    assert_int_equal(spyi_list_add(list, "draw", &d.work, &use, 1, &op, &error), SPY_OK);
    name[0] = 'x'; // the list has its own
    assert_int_equal(spy_list_finish(list), SPY_OK);
    assert_int_equal(t.picture.texture.resource.references, 2);
    assert_int_equal(spy_list_submit(list), SPY_OK);
    assert_int_equal(spy_list_submit(list), SPY_OK);
    assert_string_equal(((const draw_work *)(const void *)spyi_null_get_op(t.device->gpu, 1)->work)->name,
                        "kept");
    told(&t, "draw, after texture 7 level 1 layers 0 to 2: nothing -> attachment\ndraw\n");
    use.how = FROM;
    assert_int_equal(draw(&t, "sampled", &use, 1), SPY_OK);
    assert_int_equal(spy_list_submit(list), SPY_OK);
    told(&t, "draw, after texture 7 level 1 layers 0 to 2: attachment -> sampled\ndraw, after texture 7 "
             "level 1 layers 0 to 2: sampled -> attachment\n");
    spy_release_command_list(list);
    assert_int_equal(spy_wait(t.device), SPY_OK); // what is released goes when the device is entered
    assert_int_equal(t.picture.texture.resource.references, 1);
    close_bench(&t);
}

// >>what kept work points to

typedef struct seen {
    spyi_text text;
    const char *begin; // of the kept work
    spyi_kernel *kernel;
} seen;

static void see_kernel(void *user, spyi_kernel **kernel) {
    seen *s = (seen *)user;
    spyi_text_add(&s->text, "kernel ");
    assert_ptr_equal(*kernel, s->kernel);
}
static void see_inside(void *user, void *pointer) {
    seen *s = (seen *)user;
    const char *bytes;
    memcpy(&bytes, pointer, sizeof bytes);
    spyi_text_add(&s->text, bytes ? "inside+%d " : "nothing ", bytes ? (int)(bytes - s->begin) : 0);
}
static void see_memory(void *user, const spyi_chunk **chunk, uint64_t *offset) {
    spyi_text_add(&((seen *)user)->text, "chunk%u+%u ", (unsigned)(*chunk)->handle, (unsigned)*offset);
    *offset += 1000;
}
static void see_handle(void *user, uint64_t *handle, uint64_t *offset) {
    spyi_text_add(&((seen *)user)->text, "handle%u+%u ", (unsigned)*handle, (unsigned)*offset);
    *handle += 50;
}

static void see_image(void *user, uint64_t *handle) {
    spyi_text_add(&((seen *)user)->text, "image%u ", (unsigned)*handle);
    *handle += 100;
}

// Keeps the work, visits it twice, and compares what was seen: the second time as the first visit has left it.
static void visited(const spyi_work *work, spyi_kernel *kernel, const char *first, const char *second) {
    union {
        char bytes[1024];
        uint64_t aligned[128];
    } kept;
    assert_true(work->kind->keep(work, NULL) <= sizeof kept);
    work->kind->keep(work, kept.bytes);
    for (int k = 0; k < 2; k++) {
        seen s = { { NULL, 0, 0 }, kept.bytes, kernel };
        spyi_work_visitor v = { see_kernel, see_inside, see_memory, see_handle, &s, see_image };
        if (work->kind->visit) work->kind->visit((spyi_work *)(void *)kept.bytes, &v);
        assert_string_equal(spyi_text_str(&s.text), k ? second : first);
        spyi_text_free(&s.text);
    }
}

static void test_visits(void **state) {
    (void)state;
    spyi_kernel_base kernel;
    spyi_chunk chunks[2];
    spyi_binding bindings[2];
    spyi_uniform uniform;
    spyi_dispatch d;
    memset(&kernel, 0, sizeof kernel), memset(chunks, 0, sizeof chunks), memset(bindings, 0, sizeof bindings), memset(&d, 0, sizeof d);
    chunks[0].handle = 1, chunks[1].handle = 2;
    bindings[0].handle = 3, bindings[1].handle = 4, bindings[1].offset = 64;
    uniform.data = "12345678901234567", uniform.size = 18;
    kernel.block_size = 8, kernel.binding_count = 2, kernel.uniform_count = 1;
    d.work = spyi_work_of(spyi_work_dispatch());
    d.kernel = (spyi_kernel *)(void *)&kernel;
    d.block = "1234567", d.bindings = bindings, d.uniforms = &uniform;
    size_t at[4];
    spyi_text first = { NULL, 0, 0 }, second = { NULL, 0, 0 };
    at[0] = spyi_align(sizeof d, 16), at[1] = at[0] + 16, at[2] = at[1] + spyi_align(sizeof bindings, 16), at[3] = at[2] + spyi_align(sizeof uniform, 16);
    for (int k = 0; k < 2; k++)
        spyi_text_add(k ? &second : &first, "kernel inside+%d inside+%d inside+%d handle%d+0 handle%d+64 inside+%d ", (int)at[0], (int)at[1], (int)at[2], k ? 53 : 3, k ? 54 : 4, (int)at[3]);
    visited(&d.work, d.kernel, spyi_text_str(&first), spyi_text_str(&second));
    d.indirect = 9, d.indirect_offset = 12;
    spyi_text_add(&first, "handle9+12 "), spyi_text_add(&second, "handle59+12 ");
    visited(&d.work, d.kernel, spyi_text_str(&first), spyi_text_str(&second));
    spyi_text_free(&first), spyi_text_free(&second);

    spyi_copy_work copy = spyi_copy_of(&chunks[0], 4, &chunks[1], 8, 16);
    visited(&copy.work, NULL, "chunk1+4 chunk2+8 ", "chunk1+1004 chunk2+1008 ");
    spyi_fill_work fill = spyi_fill_of(&chunks[1], 4, 16, 0);
    visited(&fill.work, NULL, "chunk2+4 ", "chunk2+1004 ");
    spyi_time_store_work store = spyi_time_store_of(&chunks[0], 0, 1);
    visited(&store.work, NULL, "chunk1+0 ", "chunk1+1000 ");
    spyi_label_work label = spyi_label_of(SPYI_LABEL_PUSH, "name");
    spyi_text_add(&first, "inside+%d ", (int)spyi_align(sizeof label, 16));
    visited(&label.work, NULL, spyi_text_str(&first), spyi_text_str(&first));
    spyi_text_free(&first);
    label = spyi_label_of(SPYI_LABEL_POP, NULL);
    visited(&label.work, NULL, "nothing ", "nothing ");
    spyi_time_mark_work mark = spyi_time_mark_of(3);
    visited(&mark.work, NULL, "", "");

    // Textures: views and samplers among the bindings, and images.
    bindings[0].kind = SPYI_BINDING_COMBINED, bindings[0].range = 6, bindings[0].offset = SPYI_USE_SAMPLED;
    d.indirect = 0;
    for (int k = 0; k < 2; k++)
        spyi_text_add(k ? &second : &first, "kernel inside+%d inside+%d inside+%d image%d image%d handle%d+64 inside+%d ", (int)at[0], (int)at[1], (int)at[2], k ? 103 : 3, k ? 106 : 6, k ? 54 : 4, (int)at[3]);
    visited(&d.work, d.kernel, spyi_text_str(&first), spyi_text_str(&second));
    spyi_text_free(&first), spyi_text_free(&second);
    spyi_image_bytes_work bytes;
    spyi_image_copy_work texels;
    spyi_image_blit_work blit;
    spyi_image_clear_work clear;
    memset(&bytes, 0, sizeof bytes), memset(&texels, 0, sizeof texels), memset(&blit, 0, sizeof blit), memset(&clear, 0, sizeof clear);
    bytes.work = spyi_work_of(spyi_work_image_bytes()), bytes.image = 5, bytes.chunk = &chunks[0], bytes.offset = 8;
    visited(&bytes.work, NULL, "image5 chunk1+8 ", "image105 chunk1+1008 ");
    texels.work = spyi_work_of(spyi_work_image_copy()), texels.to = 5, texels.from = 6;
    visited(&texels.work, NULL, "image5 image6 ", "image105 image106 ");
    blit.work = spyi_work_of(spyi_work_image_blit()), blit.to = 5, blit.from = 6;
    visited(&blit.work, NULL, "image5 image6 ", "image105 image106 ");
    clear.work = spyi_work_of(spyi_work_image_clear()), clear.image = 5;
    visited(&clear.work, NULL, "image5 ", "image105 ");
}

static void test_refusals(void **state) {
    bench t;
    spyi_text error = { NULL, 0, 0 };
    spyi_list_op *op;
    (void)state;
    open_bench(&t);
    // A backend without it says so by name.
    draw_work d = { spyi_work_of(&draw_kind), 3, "draw" };
    struct spyi_backend other = *spyi_null_backend();
    other.name = "another";
    other.record[SPYI_WORK_COUNT] = NULL;
    assert_int_equal(spyi_record(&other, t.device->gpu, &d.work, &error), SPY_ERROR_UNSUPPORTED);
    assert_string_equal(spyi_text_str(&error), "draw: the backend 'another' does not support it");
    // What cannot be kept is in no list.
    spyi_upload_work upload = spyi_upload_of(NULL, 0, "", 0);
    spy_command_list *list = spy_create_command_list(t.device, NULL);
    spyi_text_clear(&error);
    assert_int_equal(spyi_list_add(list, NULL, &upload.work, NULL, 0, &op, &error), SPY_ERROR_UNSUPPORTED);
    assert_string_equal(spyi_text_str(&error), "upload: a command list does not support it");
    spy_release_command_list(list);
    // Work that fails has changed no layout: the next says again what it needs.
    spyi_use use = level_of(&t.picture, 0, TO);
    spyi_null_fail(t.device->gpu, SPYI_NULL_STEP_RECORD, 0, SPY_ERROR_INTERNAL);
    assert_int_equal(draw(&t, "failed", &use, 1), SPY_ERROR_INTERNAL);
    assert_int_equal(draw(&t, "again", &use, 1), SPY_OK);
    use = layer_of(&t.picture, 0, 1, FROM);
    spyi_null_fail(t.device->gpu, SPYI_NULL_STEP_RECORD, 0, SPY_ERROR_INTERNAL);
    assert_int_equal(draw(&t, "failed", &use, 1), SPY_ERROR_INTERNAL);
    assert_int_equal(draw(&t, "again", &use, 1), SPY_OK);
    told(&t, "draw, after texture 7 level 0 layers 0 to 2: nothing -> attachment\n"
             "draw, after texture 7 level 0 layers 1 to 1: attachment -> sampled\n");
    spyi_text_free(&error);
    close_bench(&t);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_draws),
        cmocka_unit_test(test_memory_beside),
        cmocka_unit_test(test_lists),
        cmocka_unit_test(test_visits),
        cmocka_unit_test(test_refusals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

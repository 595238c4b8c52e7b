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

static const spyi_work_kind draw_kind = { SPYI_WORK_COUNT, "draw", keep_draw };

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
    // The first time there is nothing in it, the second time it is in place, and written: a barrier.
    uses[0] = level_of(&t.picture, 0, TO);
    assert_int_equal(draw(&t, "a", uses, 1), SPY_OK);
    assert_int_equal(draw(&t, "b", uses, 1), SPY_OK);
    const spyi_null_op *op = spyi_null_get_op(t.device->gpu, 1);
    assert_int_equal(op->kind, SPYI_NULL_OTHER);
    assert_string_equal(((const draw_work *)(const void *)op->work)->name, "b");
    told(&t, "draw, after texture 7 level 0 layers 0 to 2: nothing -> attachment\ndraw, after a barrier\n");
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
    told(&t, "draw, after texture 7 level 1 layers 0 to 2: nothing -> attachment\ndraw, after a barrier\n");
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
        cmocka_unit_test(test_refusals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

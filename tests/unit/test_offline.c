// The backend of devices without a GPU (desc.offline): buffers hold what is written, filled and copied, also by lists; kernels, draws
// and work on textures are taken and change nothing.
#include "spy_test.h"
#include "hold_slang.h"

#ifdef SPY_TEST_SPLIT
#include "backend/target.h"
#include "api/list.h"
#include "api/pack.h"
#include "api/raster.h"
#include "api/texture.h"
#endif

static spy_device *device;

static void good(spy_status status, int line) {
    if (status == SPY_OK) return;
    print_error("line %d: %s\n", line, spy_take_error(device).message);
    fail();
}
#define GOOD(expression) good((expression), __LINE__)

static int set_up(void **state) {
    (void)state;
    spy_device_desc d;
    memset(&d, 0, sizeof d);
    d.backend = spy_vk_backend();
    d.offline = d.record_pack = true;
    device = spy_create_device(&d);
    if (!device) print_error("%s\n", spy_take_error(NULL).message);
    return device ? 0 : -1;
}

static int tear_down(void **state) {
    (void)state;
    assert_int_equal(spy_take_error(device).code, SPY_OK);
    spy_release_device(device);
    return 0;
}

static spy_tensor *tensor(int64_t count, const float *data) {
    spy_tensor_desc t;
    memset(&t, 0, sizeof t);
    t.shape = SPY_SHAPE(count);
    t.data = data;
    t.zeroed = !data;
    spy_tensor *made = spy_create_tensor(device, &t);
    assert_non_null(made);
    return made;
}

static void is(spy_tensor *t, const float *expected, size_t count, int line) {
    float values[64];
    memset(values, 0x7f, sizeof values);
    good(spy_tensor_read(t, values, count * sizeof *values), line);
    for (size_t i = 0; i < count; i++)
        if (values[i] != expected[i]) fail_msg("line %d: element %zu is %g, expected %g", line, i, (double)values[i], (double)expected[i]);
}
#define IS(tensor, expected) is((tensor), (expected), sizeof(expected) / sizeof *(expected), __LINE__)

static void test_buffers(void **state) {
    (void)state;
    const float first[6] = { 1, 2, 3, 4, 5, 6 }, zeros[6] = { 0 }, mixed[6] = { 0, 1, 2, 3, 0, 0 };
    spy_tensor *x = tensor(6, first), *y = tensor(6, NULL);
    IS(x, first);
    IS(y, zeros);
    spy_tensor *from = spy_create_slice(x, 0, 0, 3, 1), *to = spy_create_slice(y, 0, 1, 4, 1);
    GOOD(spy_tensor_copy(to, from));
    IS(y, mixed);
    const float filled[6] = { 2.5f, 2.5f, 2.5f, 2.5f, 2.5f, 2.5f };
    GOOD(spy_tensor_fill(y, 2.5));
    IS(y, filled);
    GOOD(spy_tensor_write(y, first, sizeof first));
    IS(y, first);
    spy_submit_id id = spy_flush(device);
    assert_true(spy_is_submit_finished(device, id));
    GOOD(spy_wait_for_submit(device, id, 0));
    assert_string_equal(spy_get_device_info(device).backend, "null");
}

static void test_lists(void **state) {
    (void)state;
    const float first[3] = { 1, 2, 3 }, fours[3] = { 4, 4, 4 };
    spy_tensor *x = tensor(3, first), *y = tensor(3, NULL);
    spy_list_desc d;
    uint64_t times[2] = { 1, 2 };
    memset(&d, 0, sizeof d);
    spy_command_list *list = spy_create_command_list(device, &d);
    assert_non_null(list);
    GOOD(spy_list_push_label(list, "all"));
    GOOD(spy_list_timestamp(list));
    GOOD(spy_list_copy(list, y, x));
    GOOD(spy_list_fill(list, x, 4));
    GOOD(spy_list_timestamp(list));
    GOOD(spy_list_pop_label(list));
    GOOD(spy_list_finish(list));
    GOOD(spy_list_submit(list));
    IS(y, first);
    IS(x, fours);
    GOOD(spy_list_submit(list));
    IS(y, fours);
    GOOD(spy_list_read_timestamps(list, times, 2));
    assert_int_equal(times[0], times[1]);
}

// Texels are not kept: they read as zeros, also where rows or slices have gaps in the staging buffer.
static void test_textures(void **state) {
    (void)state;
    unsigned char data[3 * 5 * 2 * 4], got[sizeof data], zeros[sizeof data] = { 0 };
    memset(data, 9, sizeof data);
    spy_texture_desc t;
    spy_sampler_desc s;
    memset(&t, 0, sizeof t);
    memset(&s, 0, sizeof s);
    t.type = SPY_TEXTURE_TYPE_2D;
    t.format = SPY_FORMAT_RGBA8_UNORM;
    t.width = 5;
    t.height = 3;
    t.array_size = 2;
    t.data = data;
    spy_texture *texture = spy_create_texture(device, &t);
    assert_non_null(texture);
    for (int use = 0; use < 2; use++) {
        memset(got, 9, sizeof got);
        GOOD(spy_texture_read(texture, NULL, got, sizeof got));
        assert_memory_equal(got, zeros, sizeof got);
        GOOD(spy_texture_write(texture, NULL, data, sizeof data));
    }
    t.format = SPY_FORMAT_BC1_UNORM; // rows of blocks
    t.width = t.height = 8;
    t.array_size = 0;
    t.data = NULL;
    spy_texture *blocks = spy_create_texture(device, &t);
    assert_non_null(blocks);
    memset(got, 9, sizeof got);
    GOOD(spy_texture_read(blocks, NULL, got, 32));
    assert_memory_equal(got, zeros, 32);
    assert_int_equal(got[32], 9);
    assert_non_null(spy_create_sampler(device, &s));
}

static void test_kernels(void **state) {
    (void)state;
    const float first[3] = { 1, 2, 3 }, zeros[3] = { 0 };
    spy_module_desc m;
    spy_raster_desc r;
    spy_texture_desc t;
    spy_draw_desc d;
    memset(&m, 0, sizeof m);
    memset(&r, 0, sizeof r);
    memset(&t, 0, sizeof t);
    memset(&d, 0, sizeof d);
    m.name = "offline";
    m.source = "float twice(float x) { return 2 * x; }\n"
               "[shader(\"vertex\")] float4 corner(float2 at) : SV_Position { return float4(at, 0, 1); }\n"
               "[shader(\"fragment\")] float4 white() : SV_Target { return 1; }\n";
    spy_module *module = spy_load_module(device, &m);
    if (!module) fail_msg("%s", spy_take_error(device).message);
    spy_tensor *x = tensor(3, first), *y = tensor(3, NULL);
    GOOD(spy_call(spy_find_function(module, "twice"), SPY_ARGS(spy_arg_tensor("x", x), spy_arg_tensor("_result", y))));
    IS(y, zeros);
    r.vertex = spy_find_function(module, "corner");
    r.fragment = spy_find_function(module, "white");
    t.format = SPY_FORMAT_RGBA32_FLOAT;
    t.width = t.height = 2;
    t.usage = SPY_TEXTURE_USAGE_COLOR_TARGET;
    const float corners[] = { -1, -1, 1, -1, -1, 1 };
    spy_raster *raster = spy_create_raster(device, &r);
    if (!raster) fail_msg("%s", spy_take_error(device).message);
    spy_tensor_desc v;
    memset(&v, 0, sizeof v);
    v.shape = SPY_SHAPE(3, 2);
    v.data = corners;
    d.targets[0].texture = spy_create_texture(device, &t);
    d.targets[0].load = SPY_LOAD_CLEAR;
    GOOD(spy_draw(raster, &d, SPY_ARGS(spy_arg_tensor("at", spy_create_tensor(device, &v))), NULL));
    GOOD(spy_wait(device));
    spy_device_stats stats = spy_get_device_stats(device);
    assert_int_equal(stats.dispatches, 1);
}

// >>CUDA's text is repaired by the backend that the desc names

static uint32_t repairs, warnings;
static const char *compiled; // the first bytes of the text that the backend compiled, after the repair

static void mend(char **text, size_t *size, size_t prelude, spyi_code_faults *faults) {
    assert_int_equal((*text)[*size - 1], 0);
    assert_true(prelude < *size && strstr(*text + prelude, "twice") != NULL);
    char *mended = (char *)spyi_malloc(*size + 8);
    assert_non_null(mended);
    memcpy(mended, *text, prelude);
    memcpy(mended + prelude, "//mend\n", 7);
    memcpy(mended + prelude + 7, *text + prelude, *size - prelude);
    free(*text);
    *text = mended;
    *size += 7;
    faults->saved = true;
    repairs++;
}

static spy_status compile(spyi_context *ctx, const char *compiler, const spyi_profile *profile, const spyi_kernel_desc *desc,
                          spyi_text *blob, spyi_text *error) {
    (void)ctx, (void)compiler, (void)profile, (void)error;
    compiled = strncmp((const char *)desc->code + desc->prelude_size, "//mend\n", 7) == 0 ? "mended" : "as it was";
    spyi_text_add(blob, "code");
    return SPY_OK;
}

static void log_warning(spy_log_level level, const char *message, void *user) {
    (void)user;
    if (level == SPY_LOG_LEVEL_WARNING && strstr(message, "mixes up what it saves of nested loops")) warnings++;
}

static void test_repairs(void **state) {
    (void)state;
    static const uint32_t archs[] = { 80 };
    struct spyi_backend backend = *spy_cuda_backend();
    const float first[3] = { 1, 2, 3 };
    spy_device_desc d;
    spy_module_desc m;
    memset(&d, 0, sizeof d);
    memset(&m, 0, sizeof m);
    backend.mend = mend;
    backend.compile = compile;
    d.backend = &backend;
    d.offline = d.record_pack = true;
    d.pack_archs = archs;
    d.pack_arch_count = 1;
    d.log.func = log_warning;
    device = spy_create_device(&d);
    assert_non_null(device);
    m.name = "repairs";
    m.source = "float twice(float x) { return 2 * x; }";
    spy_module *module = spy_load_module(device, &m);
    if (!module) fail_msg("%s", spy_take_error(device).message);
    repairs = warnings = 0;
    GOOD(spy_call(spy_find_function(module, "twice"), SPY_ARGS(spy_arg_tensor("x", tensor(3, first)), spy_arg_tensor("_result", tensor(3, NULL)))));
    assert_true(repairs > 0);
    assert_int_equal(warnings, repairs);
    assert_string_equal(compiled, "mended");
    spy_release_device(device);
}

int main(void) {
#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
    const struct CMUnitTest tests[] = { TEST(test_buffers), TEST(test_lists), TEST(test_textures), TEST(test_kernels),
                                       cmocka_unit_test(test_repairs) };
    return cmocka_run_group_tests(tests, hold_slang, let_slang_go);
}

// An engine that brings its own Vulkan: its command buffers are recorded into, by calls, uploads and command lists, with
// two frames in flight; its ids, and its device's features. The engine is a second device of the library, with the
// validation layer where there is one: its messages are failures. Skipped, and said so, where there is no Vulkan device.
#include "spy_test.h"
#ifdef SPY_TEST_SPLIT
#include "list/list.h"
#include "vk/internal.h"
#endif
#include "hold_slang.h"
#include <math.h>
#include <stdio.h>
#include <unistd.h>

static bool check_bounds; // of the guest
static int warnings;
static char warned[512]; // the last one that was expected
static const char *expected; // part of a warning that is counted there instead

static void listen(spy_log_level level, const char *message, void *user) {
    (void)user;
    if (strstr(message, "not a conformant") || strstr(message, "s so far")) return; // Mesa's word on lavapipe; a machine that is busy
    if (strstr(message, "vulkan-validationlayers")) return;
    if (expected && strstr(message, expected)) {
        snprintf(warned, sizeof warned, "%s", message);
        return;
    }
    if (level == SPY_LOG_LEVEL_WARNING || strstr(message, "alidation")) {
        print_message("%s\n", message);
        warnings++;
    }
}

static spy_device *open_device(const spy_vk_desc *engine) {
    spy_device_desc d;
    memset(&d, 0, sizeof d);
    d.check_bounds = engine && check_bounds;
    d.backend = spy_vk_backend();
    d.backend_desc = engine;
    d.log.func = listen;
    d.label = engine ? "guest" : "engine";
    d.enable_validation = true;
    return spy_create_device(&d);
}

static void good(spy_device *device, spy_status s) {
    if (s != SPY_OK) fail_msg("%s", spy_take_error(device).message);
}

static void refuses(spy_device *device, spy_status code, const char *text) {
    spy_error e = spy_take_error(device);
    assert_int_equal(e.code, code);
    if (!strstr(e.message, text)) fail_msg("expected '%s' in: %s", text, e.message);
}

// >>the engine: Vulkan functions of its own, two command buffers and their fences

#define ENGINE_FUNCTIONS(X)                                                                                   \
    X(CreateCommandPool)                                                                                      \
    X(DestroyCommandPool)                                                                                     \
    X(AllocateCommandBuffers)                                                                                 \
    X(ResetCommandBuffer)                                                                                     \
    X(BeginCommandBuffer)                                                                                     \
    X(EndCommandBuffer)                                                                                       \
    X(QueueSubmit)                                                                                            \
    X(QueueWaitIdle)                                                                                          \
    X(CreateFence)                                                                                            \
    X(DestroyFence)                                                                                           \
    X(WaitForFences)                                                                                          \
    X(ResetFences)

enum { SLOTS = 2 };

typedef struct engine {
    spy_device *own; // whose Vulkan objects these are
    spy_device *guest;
    spy_vk_desc desc;
    VkDevice device;
    VkQueue queue;
#define ENGINE_MEMBER(name) PFN_vk##name name;
    ENGINE_FUNCTIONS(ENGINE_MEMBER)
    VkCommandPool pool;
    VkCommandBuffer commands[SLOTS];
    VkFence fences[SLOTS];
} engine;

static bool engine_open(engine *e, const char *const *features, uint32_t feature_count) {
    memset(e, 0, sizeof *e);
    warnings = 0;
    expected = NULL;
    e->own = open_device(NULL);
    if (!e->own) {
        print_message("skipped: %s\n", spy_take_error(NULL).message);
        return false;
    }
    spyi_vk_gpu *own = (spyi_vk_gpu *)(void *)e->own->gpu;
    memcpy(&e->desc.get_instance_proc_addr, &own->instance.get_proc, sizeof e->desc.get_instance_proc_addr);
    e->device = own->device;
    e->queue = own->queue;
    e->desc.instance = (void *)own->instance.handle;
    e->desc.physical_device = (void *)own->adapter.handle;
    e->desc.device = (void *)own->device;
    e->desc.queue = (void *)own->queue;
    e->desc.queue_family = own->queue_family;
    e->desc.api_version = own->instance.api_version;
    e->desc.enabled_features = features;
    e->desc.enabled_feature_count = feature_count;
    e->guest = open_device(&e->desc);
    if (!e->guest) fail_msg("%s", spy_take_error(NULL).message);
#define ENGINE_LOAD(name)                                                                                     \
    e->name = (PFN_vk##name)own->instance.GetDeviceProcAddr(own->device, "vk" #name);                         \
    assert_non_null(e->name);
    ENGINE_FUNCTIONS(ENGINE_LOAD)
    VkCommandPoolCreateInfo pool;
    memset(&pool, 0, sizeof pool);
    pool.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO;
    pool.flags = VK_COMMAND_POOL_CREATE_RESET_COMMAND_BUFFER_BIT;
    pool.queueFamilyIndex = own->queue_family;
    assert_int_equal(e->CreateCommandPool(e->device, &pool, NULL, &e->pool), VK_SUCCESS);
    VkCommandBufferAllocateInfo info;
    memset(&info, 0, sizeof info);
    info.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO;
    info.commandPool = e->pool;
    info.commandBufferCount = SLOTS;
    assert_int_equal(e->AllocateCommandBuffers(e->device, &info, e->commands), VK_SUCCESS);
    VkFenceCreateInfo fence;
    memset(&fence, 0, sizeof fence);
    fence.sType = VK_STRUCTURE_TYPE_FENCE_CREATE_INFO;
    for (int i = 0; i < SLOTS; i++)
        assert_int_equal(e->CreateFence(e->device, &fence, NULL, &e->fences[i]), VK_SUCCESS);
    return true;
}

static void engine_close(engine *e) {
    spy_release_device(e->guest);
    for (int i = 0; i < SLOTS; i++) e->DestroyFence(e->device, e->fences[i], NULL);
    e->DestroyCommandPool(e->device, e->pool, NULL);
    assert_int_equal(spy_take_error(e->own).code, SPY_OK);
    spy_release_device(e->own);
    assert_int_equal(warnings, 0);
}

static spy_vk_recording_id engine_begin(engine *e, int slot) {
    VkCommandBufferBeginInfo begin;
    memset(&begin, 0, sizeof begin);
    begin.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO;
    begin.flags = VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT;
    assert_int_equal(e->ResetCommandBuffer(e->commands[slot], 0), VK_SUCCESS);
    assert_int_equal(e->BeginCommandBuffer(e->commands[slot], &begin), VK_SUCCESS);
    spy_vk_recording_id id = spy_vk_begin_recording(e->guest, (void *)e->commands[slot]);
    if (!id) fail_msg("%s", spy_take_error(e->guest).message);
    return id;
}

static void engine_end(engine *e, int slot) {
    good(e->guest, spy_vk_end_recording(e->guest));
    assert_int_equal(e->EndCommandBuffer(e->commands[slot]), VK_SUCCESS);
}

static void engine_submit(engine *e, int slot) {
    VkSubmitInfo info;
    memset(&info, 0, sizeof info);
    info.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO;
    info.commandBufferCount = 1;
    info.pCommandBuffers = &e->commands[slot];
    assert_int_equal(e->QueueSubmit(e->queue, 1, &info, e->fences[slot]), VK_SUCCESS);
}

static void engine_wait(engine *e, int slot) {
    assert_int_equal(e->WaitForFences(e->device, 1, &e->fences[slot], VK_TRUE, UINT64_MAX), VK_SUCCESS);
    assert_int_equal(e->ResetFences(e->device, 1, &e->fences[slot]), VK_SUCCESS);
}

static spy_tensor *floats(engine *e, int64_t count, const float *data) {
    spy_tensor_desc d;
    memset(&d, 0, sizeof d);
    d.shape = SPY_SHAPE(count);
    d.data = data;
    spy_tensor *t = spy_create_tensor(e->guest, &d);
    if (!t) fail_msg("%s", spy_take_error(e->guest).message);
    return t;
}

static spy_function *function(engine *e, const char *source, const char *name) {
    spy_module_desc d;
    memset(&d, 0, sizeof d);
    d.name = name;
    d.source = source;
    spy_module *m = spy_load_module(e->guest, &d);
    spy_function *f = spy_find_function(m, name);
    if (!f) fail_msg("%s", spy_take_error(e->guest).message);
    return f;
}

// >>command lists

static void test_lists(void **state) {
    enum { COUNT = 1000 };
    float x[COUNT], y[COUNT];
    uint64_t times[2];
    engine e;
    (void)state;
    if (!engine_open(&e, NULL, 0)) skip();
    spy_device *device = e.guest;
    for (int i = 0; i < COUNT; i++) x[i] = (float)i;
    spy_tensor *a = floats(&e, COUNT, NULL), *b = floats(&e, COUNT, NULL);
    spy_list_desc ld;
    memset(&ld, 0, sizeof ld);
    ld.label = "list";
    spy_command_list *list = spy_create_command_list(device, &ld);
    bool timed = (spy_get_device_info(device).features & SPY_FEATURE_TIMESTAMPS) != 0;
    if (timed) good(device, spy_list_timestamp(list));
    good(device, spy_list_push_label(list, "copies"));
    good(device, spy_list_write(list, a, x, sizeof x));
    good(device, spy_list_copy(list, b, a));
    good(device, spy_list_fill(list, a, 7));
    good(device, spy_list_marker(list, "end"));
    good(device, spy_list_pop_label(list));
    if (timed) good(device, spy_list_timestamp(list));
    good(device, spy_list_finish(list));

    for (int round = 0; round < 3; round++) {
        good(device, spy_tensor_fill(b, -1));
        spy_vk_recording_id id = engine_begin(&e, 0);
        good(device, spy_list_submit(list));
        good(device, spy_list_submit(list));
        engine_end(&e, 0);
        // Nothing has been executed yet, and that is what reads say.
        assert_int_equal(spy_tensor_read(b, y, sizeof y), SPY_ERROR_NOT_READY);
        refuses(device, SPY_ERROR_NOT_READY, "spy_vk_recording_finished()");
        if (timed) {
            assert_int_equal(spy_list_read_timestamps(list, times, 2), SPY_ERROR_NOT_READY);
            assert_int_equal(spy_take_error(device).code, SPY_ERROR_NOT_READY);
        }
        engine_submit(&e, 0);
        engine_wait(&e, 0);
        good(device, spy_vk_recording_finished(device, id));
        good(device, spy_tensor_read(b, y, sizeof y));
        assert_memory_equal(y, x, sizeof x);
        good(device, spy_tensor_read(a, y, sizeof y));
        for (int i = 0; i < COUNT; i++) assert_float_equal(y[i], 7, 0);
        if (timed) {
            good(device, spy_list_read_timestamps(list, times, 2));
            assert_true(times[0] <= times[1]);
        }
        good(device, spy_list_submit(list)); // and by itself again
        good(device, spy_tensor_read(b, y, sizeof y));
        assert_memory_equal(y, x, sizeof x);
    }
    engine_close(&e);
}

// >>textures

// Texels written, scaled and copied in an engine's command buffer; an image that is released meanwhile stays until the recording has
// been reported.
static void test_textures(void **state) {
    unsigned char in[16 * 16 * 4], out[8 * 8 * 4];
    engine e;
    (void)state;
    if (!engine_open(&e, NULL, 0)) skip();
    spy_device *device = e.guest;
    for (size_t i = 0; i < sizeof in; i++) in[i] = (unsigned char)(i / 64 * 4);
    spy_texture_desc d;
    memset(&d, 0, sizeof d);
    d.format = SPY_FORMAT_RGBA8_UNORM;
    d.width = d.height = 8;
    spy_texture *kept = spy_create_texture(device, &d);
    d.width = d.height = 16;
    d.levels = SPY_ALL_LEVELS;
    for (int round = 0; round < 3; round++) {
        spy_texture *t = spy_create_texture(device, &d);
        assert_true(t && kept);
        uint64_t bytes = spy_get_device_stats(device).texture_bytes;
        spy_vk_recording_id id = engine_begin(&e, 0);
        good(device, spy_texture_write(t, NULL, in, sizeof in));
        good(device, spy_texture_generate_mips(t));
        spy_texture_region level;
        memset(&level, 0, sizeof level);
        level.level = 1;
        good(device, spy_texture_copy(kept, NULL, t, &level));
        assert_int_equal(spy_texture_read(kept, NULL, out, sizeof out), SPY_ERROR_NOT_READY);
        refuses(device, SPY_ERROR_NOT_READY, "work goes into a command buffer of the program now");
        engine_end(&e, 0);
        assert_int_equal(spy_texture_read(kept, NULL, out, sizeof out), SPY_ERROR_NOT_READY);
        refuses(device, SPY_ERROR_NOT_READY, "is written in a recording that has not been reported as executed");
        spy_release_texture(t);
        engine_submit(&e, 0);
        engine_wait(&e, 0);
        assert_int_equal(spy_get_device_stats(device).texture_bytes, bytes);
        good(device, spy_vk_recording_finished(device, id));
        assert_true(spy_get_device_stats(device).texture_bytes < bytes);
        good(device, spy_texture_read(kept, NULL, out, sizeof out));
        for (size_t i = 0; i < sizeof out; i++) assert_int_equal(out[i], i / 32 * 8 + 2);
        spy_clear_color black;
        memset(&black, 0, sizeof black);
        good(device, spy_texture_clear(kept, black));
    }
    spy_release_texture(kept);
    engine_close(&e);
}

// >>draws

static const char draw_source[] =
    "[shader(\"vertex\")] float4 vs(float2 at, uniform float z) : SV_Position { return float4(at, z, 1); }\n"
    "[shader(\"fragment\")] float4 fs(uniform float4 color) : SV_Target { return color; }\n";

// A draw in an engine's command buffer, between a clear and a copy: its pipeline and its memory live as long as the recording.
static void test_draws(void **state) {
    static const float at[3][2] = { { -1, -1 }, { 3, -1 }, { -1, 3 } }; // all of the target
    unsigned char out[8 * 8 * 4];
    engine e;
    (void)state;
    if (!engine_open(&e, NULL, 0)) skip();
    spy_device *device = e.guest;
    spy_module_desc md;
    memset(&md, 0, sizeof md);
    md.name = "draws";
    md.source = draw_source;
    spy_module *module = spy_load_module(device, &md);
    assert_non_null(module);
    spy_raster_desc rd;
    memset(&rd, 0, sizeof rd);
    rd.vertex = spy_find_function(module, "vs");
    rd.fragment = spy_find_function(module, "fs");
    spy_texture_desc d;
    memset(&d, 0, sizeof d);
    d.format = SPY_FORMAT_RGBA8_UNORM;
    d.width = d.height = 8;
    d.usage = SPY_TEXTURE_USAGE_COLOR_TARGET;
    spy_texture *target = spy_create_texture(device, &d), *kept = spy_create_texture(device, &d);
    for (int round = 0; round < 3; round++) {
        const float color[4] = { 0, (float)round / 255, 1, 1 };
        spy_tensor_desc td;
        memset(&td, 0, sizeof td);
        td.shape = SPY_SHAPE(3, 2);
        td.data = at;
        spy_raster *raster = spy_create_raster(device, &rd);
        spy_tensor *corners = spy_create_tensor(device, &td);
        assert_true(raster && corners && target && kept);
        spy_draw_desc into;
        memset(&into, 0, sizeof into);
        into.targets[0].texture = target;
        into.targets[0].load = SPY_LOAD_CLEAR;
        spy_vk_recording_id id = engine_begin(&e, 0);
        good(device, spy_draw(raster, &into, SPY_ARGS(spy_arg_tensor("at", corners), spy_arg_f32("z", 0.5f), spy_arg_f32n("color", color, 4)), NULL));
        good(device, spy_texture_copy(kept, NULL, target, NULL));
        spy_release_raster(raster);
        spy_release_tensor(corners);
        engine_end(&e, 0);
        engine_submit(&e, 0);
        engine_wait(&e, 0);
        good(device, spy_vk_recording_finished(device, id));
        good(device, spy_texture_read(kept, NULL, out, sizeof out));
        for (int i = 0; i < 64; i++) assert_true(out[4 * i] == 0 && out[4 * i + 1] == round && out[4 * i + 2] == 255);
    }
    spy_release_texture(target);
    spy_release_texture(kept);
    spy_release_module(module);
    engine_close(&e);
}

// >>frames in flight

static const char frame_source[] = "float blend(float old, float x, float y, float z) { return 0.5 * old + x + y * z; }\n"
                                   "float twice(float x) { return 2 * x; }\n";

static long resident_bytes(void) {
    long pages = 0, ignored = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    if (!file) return 0;
    if (fscanf(file, "%ld %ld", &ignored, &pages) != 2) pages = 0;
    fclose(file);
    return pages * sysconf(_SC_PAGESIZE);
}

// What an engine does each frame: it uploads, through a host array and into a tensor, calls, drops a tensor that the
// frame still uses, and makes calls of its own outside, all while the frame before it is in flight. 1 MiB of uploads a
// frame, so that what is not given back is soon seen.
static void test_frames(void **state) {
    enum { COUNT = 65536 };
    const uint32_t frames = (uint32_t)test_count(1000), warm = 20;
    static float x[COUNT], y[COUNT], z[COUNT], small[1000], expect[COUNT];
    spy_vk_recording_id ids[SLOTS] = { 0, 0 };
    spy_device_stats before, now;
    long resident = 0;
    engine e;
    (void)state;
    if (!engine_open(&e, NULL, 0)) skip();
    spy_function *blend = function(&e, frame_source, "blend");
    spy_function *twice = spy_find_function(spy_function_module(blend), "twice");
    spy_tensor *sum = floats(&e, COUNT, NULL), *input = floats(&e, COUNT, NULL);
    good(e.guest, spy_tensor_fill(sum, 0));
    memset(&before, 0, sizeof before);
    for (uint32_t frame = 0; frame < frames + warm; frame++) {
        int slot = (int)(frame % SLOTS);
        if (ids[slot]) { // the frame before the last one
            engine_wait(&e, slot);
            good(e.guest, spy_vk_recording_finished(e.guest, ids[slot]));
        }
        for (int i = 0; i < COUNT; i++) {
            x[i] = (float)((uint32_t)i % 61 + frame % 7);
            y[i] = (float)((uint32_t)i % 17) - (float)(frame % 5);
            z[i] = (float)((uint32_t)i % 5);
            expect[i] = 0.5f * expect[i] + 2 * x[i] + y[i] * z[i];
        }
        spy_tensor *once = floats(&e, COUNT, y); // uploaded by us, before what the engine submits
        ids[slot] = engine_begin(&e, slot);
        good(e.guest, spy_tensor_write(input, x, sizeof x));
        spy_tensor *doubled = NULL;
        good(e.guest, spy_call(twice, SPY_ARGS(spy_arg_tensor("x", input), spy_out_tensor("_result", &doubled))));
        spy_arg host = spy_arg_array("z", z, SPY_SHAPE(COUNT), SPY_DTYPE_FLOAT32);
        good(e.guest, spy_call(blend, SPY_ARGS(spy_arg_tensor("old", sum), spy_arg_tensor("x", doubled),
                                               spy_arg_tensor("y", once), host, spy_arg_tensor("_result", sum))));
        spy_release_tensor(once); // the GPU has not even begun with them
        spy_release_tensor(doubled);
        engine_end(&e, slot);
        // Between recording and submission: work of ours, which must not get what the frame uses.
        float four = 0;
        good(e.guest, spy_call(twice, SPY_ARGS(spy_arg_f32("x", 2), spy_out_f32("_result", &four))));
        assert_float_equal(four, 4, 0);
        spy_tensor *other = floats(&e, COUNT, NULL);
        good(e.guest, spy_tensor_fill(other, -1));
        good(e.guest, spy_tensor_read_range(other, 0, 1, small, sizeof *small));
        assert_float_equal(small[0], -1, 0);
        for (int i = 0; i < 1000; i++) small[i] = (float)frame;
        spy_tensor *read = floats(&e, 1000, small);
        good(e.guest, spy_tensor_read(read, small, sizeof small));
        assert_float_equal(small[999], (float)frame, 0);
        spy_release_tensor(read);
        spy_release_tensor(other);
        engine_submit(&e, slot);
        if (frame % 10 == 9) { // what it uploaded and blended so far
            int last = (int)((frame + 1) % SLOTS);
            engine_wait(&e, last);
            good(e.guest, spy_vk_recording_finished(e.guest, ids[last]));
            engine_wait(&e, slot);
            good(e.guest, spy_vk_recording_finished(e.guest, ids[slot]));
            ids[0] = ids[1] = 0;
            good(e.guest, spy_tensor_read(sum, x, sizeof x));
            for (int i = 0; i < COUNT; i++)
                if (fabsf(x[i] - expect[i]) > 1e-3f * fabsf(expect[i]) + 1e-3f)
                    fail_msg("frame %u: element %d is %g, not %g", frame, i, (double)x[i], (double)expect[i]);
        }
        now = spy_get_device_stats(e.guest);
        assert_true(now.recordings <= SLOTS);
        assert_true(now.recordings == 0 || now.recording_bytes > sizeof x); // the host array at least
        assert_true(now.recording_bytes <= now.driver_bytes);
        if (now.recordings == 0) assert_int_equal(now.recording_bytes, 0);
        if (frame + 1 == warm) {
            before = now;
            resident = resident_bytes();
        }
        if (frame >= warm) { // not one allocation more
            assert_int_equal(now.driver_bytes, before.driver_bytes);
            assert_int_equal(now.driver_allocations, before.driver_allocations);
            assert_int_equal(now.pool_bytes, before.pool_bytes);
        }
    }
    long grown = resident_bytes() - resident;
    print_message("%u frames: %ld KiB more resident memory; %llu MiB held from the driver\n", frames, grown / 1024,
                  (unsigned long long)(now.driver_bytes >> 20));
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__) // which keep freed memory of the driver for a while
    assert_true(grown < 8l << 20); // 1 MiB a frame would be 100 MiB at least
#endif
    assert_int_equal(now.used_bytes, before.used_bytes);
    spy_release_tensor(sum);
    spy_release_tensor(input);
    engine_close(&e);
}

// >>ids

static void test_ids(void **state) {
    enum { MANY = 70 };
    spy_vk_recording_id ids[MANY], first, second;
    float x[16], y[16];
    engine e;
    (void)state;
    if (!engine_open(&e, NULL, 0)) skip();
    spy_tensor *a = floats(&e, 16, NULL);
    for (int i = 0; i < 16; i++) x[i] = (float)i;

    assert_int_equal(spy_vk_end_recording(e.guest), SPY_ERROR_INVALID_ARGUMENT);
    refuses(e.guest, SPY_ERROR_INVALID_ARGUMENT, "spy_vk_end_recording: no recording has begun");
    assert_int_equal(spy_vk_begin_recording(e.guest, NULL), 0);
    refuses(e.guest, SPY_ERROR_INVALID_ARGUMENT, "command_buffer: expected a VkCommandBuffer, got NULL");
    assert_int_equal(spy_vk_recording_finished(e.guest, 0), SPY_ERROR_INVALID_ARGUMENT);
    refuses(e.guest, SPY_ERROR_INVALID_ARGUMENT, "spy_vk_recording_finished: id: 0 is what");
    assert_int_equal(spy_vk_recording_finished(e.guest, 7), SPY_ERROR_INVALID_ARGUMENT);
    refuses(e.guest, SPY_ERROR_INVALID_ARGUMENT, "is not the id of a recording of device 'guest'");

    first = engine_begin(&e, 0);
    good(e.guest, spy_tensor_write(a, x, sizeof x));
    assert_int_equal(spy_vk_begin_recording(e.guest, (void *)e.commands[1]), 0);
    refuses(e.guest, SPY_ERROR_INVALID_ARGUMENT, "recording 1 has not ended");
    assert_int_equal(spy_vk_recording_finished(e.guest, first), SPY_ERROR_INVALID_ARGUMENT);
    refuses(e.guest, SPY_ERROR_INVALID_ARGUMENT, "recording 1 is still being recorded");
    assert_int_equal(spy_trim(e.guest), SPY_ERROR_NOT_READY);
    spy_submit_id inside = spy_flush(e.guest); // stands for the work in the recording
    assert_int_equal(spy_wait_for_submit(e.guest, inside, 0), SPY_ERROR_NOT_READY);
    engine_end(&e, 0);
    second = engine_begin(&e, 1);
    engine_end(&e, 1); // one without work has an id too
    assert_int_equal(spy_wait(e.guest), SPY_ERROR_NOT_READY);
    assert_false(spy_is_submit_finished(e.guest, inside));
    good(e.guest, spy_trim(e.guest)); // nothing that a recording uses
    assert_int_equal(spy_take_error(e.guest).code, SPY_OK);
    assert_int_equal(spy_get_device_stats(e.guest).recordings, 2);

    assert_int_equal(spy_vk_recording_finished(e.guest, second + 1), SPY_ERROR_INVALID_ARGUMENT);
    refuses(e.guest, SPY_ERROR_INVALID_ARGUMENT, "recording 3 has not been begun; the last one was 2");
    assert_int_equal(spy_vk_recording_finished(e.guest, second), SPY_ERROR_INVALID_ARGUMENT);
    refuses(e.guest, SPY_ERROR_INVALID_ARGUMENT, "recording 2 cannot be finished before recording 1");
    engine_submit(&e, 0);
    engine_submit(&e, 1);
    engine_wait(&e, 1); // and so the first one
    engine_wait(&e, 0);
    good(e.guest, spy_vk_recording_finished(e.guest, first));
    assert_true(spy_is_submit_finished(e.guest, inside));
    assert_int_equal(spy_vk_recording_finished(e.guest, first), SPY_ERROR_INVALID_ARGUMENT);
    refuses(e.guest, SPY_ERROR_INVALID_ARGUMENT, "recording 1 has been reported as finished before");
    good(e.guest, spy_tensor_read(a, y, sizeof y));
    assert_memory_equal(x, y, sizeof x);
    good(e.guest, spy_vk_recording_finished(e.guest, second));
    good(e.guest, spy_wait(e.guest));

    // Another device's.
    spy_device *other = open_device(&e.desc);
    assert_non_null(other);
    first = engine_begin(&e, 0);
    engine_end(&e, 0);
    assert_int_equal(spy_vk_recording_finished(other, first), SPY_ERROR_INVALID_ARGUMENT);
    refuses(other, SPY_ERROR_INVALID_ARGUMENT, "is not the id of a recording of device 'guest'");
    spy_vk_recording_id theirs = spy_vk_begin_recording(other, (void *)e.commands[1]);
    good(other, spy_vk_end_recording(other));
    assert_int_equal(spy_vk_recording_finished(e.guest, theirs), SPY_ERROR_INVALID_ARGUMENT);
    refuses(e.guest, SPY_ERROR_INVALID_ARGUMENT, "another device's");
    good(other, spy_vk_recording_finished(other, theirs));
    spy_release_device(other);
    good(e.guest, spy_vk_recording_finished(e.guest, first)); // thrown away: it may be reported at once

    // An engine that forgets to report is told, once.
    expected = "have not been reported as executed";
    warned[0] = 0;
    for (int i = 0; i < MANY; i++) {
        ids[i] = spy_vk_begin_recording(e.guest, (void *)e.commands[0]);
        good(e.guest, spy_vk_end_recording(e.guest));
        assert_int_equal(warned[0] != 0, i + 1 >= 64);
    }
    assert_non_null(strstr(warned, "64 recordings"));
    warned[0] = 0;
    for (int i = 0; i < MANY - 3; i++) good(e.guest, spy_vk_recording_finished(e.guest, ids[i]));
    engine_close(&e);
    assert_non_null(strstr(warned, "spy_release_device: 3 recordings have not been reported"));
}

// A bad index in a recording is told when the recording is reported.
static void test_bounds(void **state) {
    static const char source[] = "import slangpy;\nfloat look(Tensor<float, 1> t, int i) { return t[i]; }\n";
    engine e;
    (void)state;
    check_bounds = true;
    bool opened = engine_open(&e, NULL, 0);
    check_bounds = false;
    if (!opened) skip();
    spy_function *look = function(&e, source, "look");
    spy_tensor *t = floats(&e, 16, NULL), *y = floats(&e, 1, NULL);
    for (int round = 0; round < 2; round++) {
        int i = round ? 15 : 16;
        spy_vk_recording_id id = engine_begin(&e, 0);
        good(e.guest, spy_call(look, SPY_ARGS(spy_arg_tensor("t", t), spy_arg_i32("i", i), spy_arg_tensor("_result", y))));
        engine_end(&e, 0);
        engine_submit(&e, 0);
        engine_wait(&e, 0);
        assert_int_equal(spy_vk_recording_finished(e.guest, id), round ? SPY_OK : SPY_ERROR_OUT_OF_RANGE);
        if (!round) refuses(e.guest, SPY_ERROR_OUT_OF_RANGE, "spy_vk_recording_finished: look: 't': the kernel reads at index (16,)");
        assert_int_equal(spy_get_device_stats(e.guest).recordings, 0); // it is reported all the same
    }
    engine_close(&e);
}

// >>commands of the caller's between those of the library

static void test_own_commands(void **state) {
    static const float start[4] = { 1, 2, 3, 4 };
    float numbers[4], copied[4];
    engine e;
    (void)state;
    if (!engine_open(&e, NULL, 0)) skip();
    spyi_vk_gpu *gpu = (spyi_vk_gpu *)(void *)e.guest->gpu;
    spy_tensor *x = floats(&e, 4, start), *before = floats(&e, 4, NULL);
    uint64_t buffer = 0, offset = 0;
    void *commands = NULL, *again = NULL;
    good(e.guest, spy_vk_get_tensor_buffer(x, &buffer, &offset));
    good(e.guest, spy_tensor_copy(before, x));
    spy_command_list *lists[2];
    for (int i = 0; i < 2; i++) {
        lists[i] = spy_create_command_list(e.guest, NULL);
        good(e.guest, spy_list_barrier(lists[i]));
        good(e.guest, spy_list_finish(lists[i]));
    }
    good(e.guest, spy_list_submit(lists[0]));
    good(e.guest, spy_vk_get_command_buffer(e.guest, &commands));
    // What the program binds to it is not known: neither calls nor draws take anything for bound.
    gpu->pass.bound = (const spyi_vk_raster *)(const void *)gpu;
    good(e.guest, spy_vk_get_command_buffer(e.guest, &again));
    assert_true(commands != NULL && commands == again);
    assert_true(gpu->bound == NULL && gpu->pass.bound == NULL);
    gpu->vk.vkCmdFillBuffer((VkCommandBuffer)commands, (VkBuffer)buffer, offset, 16, 0x40E00000); // 7
    good(e.guest, spy_list_submit(lists[1]));
    good(e.guest, spy_tensor_read(before, copied, sizeof copied));
    good(e.guest, spy_tensor_read(x, numbers, sizeof numbers));
    for (int i = 0; i < 4; i++) assert_true(copied[i] == start[i] && numbers[i] == 7);
    assert_int_equal(spy_vk_get_command_buffer(e.guest, NULL), SPY_ERROR_INVALID_ARGUMENT);
    refuses(e.guest, SPY_ERROR_INVALID_ARGUMENT, "spy_vk_get_command_buffer: command_buffer is NULL");
    for (int i = 0; i < 2; i++) spy_release_command_list(lists[i]);
    engine_close(&e);
}

// >>features

// A VkDevice with what the library must have and no more, but for doubles; without extensions.
static VkDevice plain_device(engine *e, bool doubles, VkQueue *queue) {
    const spyi_vk_gpu *own = (const spyi_vk_gpu *)(void *)e->own->gpu;
    const float priority = 1;
    VkPhysicalDeviceVulkan12Features v12;
    VkPhysicalDeviceFeatures2 core;
    VkDeviceQueueCreateInfo queues;
    VkDeviceCreateInfo info;
    VkDevice device = VK_NULL_HANDLE;
    memset(&v12, 0, sizeof v12);
    v12.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES;
    v12.timelineSemaphore = v12.bufferDeviceAddress = v12.scalarBlockLayout = VK_TRUE;
    memset(&core, 0, sizeof core);
    core.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2;
    core.pNext = &v12;
    core.features.shaderInt64 = VK_TRUE;
    core.features.shaderFloat64 = doubles;
    memset(&queues, 0, sizeof queues);
    queues.sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO;
    queues.queueFamilyIndex = own->queue_family;
    queues.queueCount = 1;
    queues.pQueuePriorities = &priority;
    memset(&info, 0, sizeof info);
    info.sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO;
    info.pNext = &core;
    info.queueCreateInfoCount = 1;
    info.pQueueCreateInfos = &queues;
    assert_int_equal(own->instance.CreateDevice(own->adapter.handle, &info, NULL, &device), VK_SUCCESS);
    PFN_vkGetDeviceQueue get = (PFN_vkGetDeviceQueue)own->instance.GetDeviceProcAddr(device, "vkGetDeviceQueue");
    get(device, own->queue_family, 0, queue);
    return device;
}

// Only what the engine says it has enabled is there, and a kernel that needs more says where to write it. The validation
// layer would tell of a feature that is used all the same.
static void test_features(void **state) {
    static const char *const some[] = { "shaderFloat64" };
    static const char source[] = "double widen(double x) { return x + 1; }\n"
                                 "float first(StructuredBuffer<float> b) { return b[0]; }\n";
    engine e;
    (void)state;
    if (!engine_open(&e, NULL, 0)) skip();
    uint32_t has = spy_get_device_info(e.own).features, optional = SPY_FEATURE_FLOAT16 | SPY_FEATURE_FLOAT64 |
        SPY_FEATURE_INT8 | SPY_FEATURE_INT16 | SPY_FEATURE_ATOMIC_FLOAT32_ADD;
    spy_device *whole = e.guest;
    for (int doubles = 0; doubles < 2 && (!doubles || (has & SPY_FEATURE_FLOAT64)); doubles++) {
        spy_vk_desc desc = e.desc;
        VkQueue queue;
        VkDevice device = plain_device(&e, doubles, &queue);
        double y = 0;
        float z = 0;
        desc.device = (void *)device;
        desc.queue = (void *)queue;
        desc.enabled_features = some;
        desc.enabled_feature_count = (uint32_t)doubles;
        e.guest = open_device(&desc);
        if (!e.guest) fail_msg("%s", spy_take_error(NULL).message);
        assert_int_equal(spy_get_device_info(e.guest).features,
                         has & ~(doubles ? optional & ~(uint32_t)SPY_FEATURE_FLOAT64 : optional));
        spy_function *widen = function(&e, source, "widen");
        spy_status status = spy_call(widen, SPY_ARGS(spy_arg_f64("x", 2), spy_out_f64("_result", &y)));
        if (doubles) {
            good(e.guest, status);
            assert_true(y == 3);
        } else {
            assert_int_equal(status, SPY_ERROR_UNSUPPORTED);
            refuses(e.guest, SPY_ERROR_UNSUPPORTED,
                    "supports it, but it was not enabled: make the VkDevice with the feature shaderFloat64 and name "
                    "it in spy_vk_desc.enabled_features");
        }
        assert_true(spy_call(spy_find_function(spy_function_module(widen), "first"),
                             SPY_ARGS(spy_arg_tensor("b", floats(&e, 4, NULL)), spy_out_f32("_result", &z))) != SPY_OK);
        refuses(e.guest, SPY_ERROR_OUT_OF_RANGE, "extension VK_KHR_push_descriptor, which an engine enables");
        spy_release_device(e.guest);
        PFN_vkDestroyDevice destroy =
            (PFN_vkDestroyDevice)((spyi_vk_gpu *)(void *)e.own->gpu)->instance.GetDeviceProcAddr(device, "vkDestroyDevice");
        destroy(device, NULL);
    }
    e.guest = whole;
    engine_close(&e);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_lists),
    cmocka_unit_test(test_textures), cmocka_unit_test(test_draws),
    cmocka_unit_test(test_frames),
    cmocka_unit_test(test_ids),
    cmocka_unit_test(test_bounds),
    cmocka_unit_test(test_own_commands),
    cmocka_unit_test(test_features),
};

int main(void) {
    return cmocka_run_group_tests(tests, hold_slang, let_slang_go);
}

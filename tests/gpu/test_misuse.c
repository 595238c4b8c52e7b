// What goes wrong around a program: a full disk, paths that are no files, descs with holes, objects of another device, attributes that
// do not fit together, and memory that runs out. Each is an error that says so, and nothing that was there is lost.
#include "gpu_test.h"

#include <math.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>

spy_device *gpu_device;
static spy_module *module;
static char folder[64];

static const char source[] = "[Differentiable] float square(float x) { return x * x; }\n"
                             "interface IShape { float area(); };\nstruct Point { float at; };\nfloat area(IShape s) { return s.area(); }\n"
                             "struct Corner { float4 position : SV_Position; float3 color; };\n"
                             "[shader(\"vertex\")] Corner vs(float3 position, float3 color) {\n"
                             "    Corner c; c.position = float4(position, 1); c.color = color; return c;\n"
                             "}\n"
                             "[shader(\"fragment\")] float4 fs(Corner c) : SV_Target { return float4(c.color, 1); }\n";

static int setup(void **state) {
    (void)gpu_hold(state);
    snprintf(folder, sizeof folder, "/tmp/spy_misuse_XXXXXX");
    if (!mkdtemp(folder)) return -1;
    spy_device_desc d = gpu_desc();
    gpu_device = gpu_open(&d);
    if (!gpu_device) return 0;
    module = gpu_module(gpu_device, "misuse", source);
    return module ? 0 : -1;
}

static int teardown(void **state) {
    char command[100];
    spy_release_device(gpu_device);
    snprintf(command, sizeof command, "rm -rf %s", folder);
    return gpu_let_go(state) + system(command);
}

static const char *in(const char *name) {
    static char paths[4][128];
    static int next;
    char *path = paths[next++ % 4];
    snprintf(path, 128, "%s/%s", folder, name);
    return path;
}

// >>files

// No file of this process may grow beyond `bytes` bytes, as on a full disk. RLIM_INFINITY ends that.
static void limit_files(rlim_t bytes) {
    struct rlimit limit;
    signal(SIGXFSZ, bytes == RLIM_INFINITY ? SIG_DFL : SIG_IGN);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
    limit.rlim_cur = bytes;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

static void write_old(const char *path) {
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite("old", 1, 3, f), 3);
    fclose(f);
}

static void is_old(const char *path) {
    char text[8] = { 0 };
    FILE *f = fopen(path, "rb");
    assert_non_null(f);
    size_t size = fread(text, 1, sizeof text, f);
    fclose(f);
    assert_int_equal(size, 3);
    assert_memory_equal(text, "old", 3);
}

static void test_full_disk(void **state) {
    NEEDS_DEVICE();
    const char *path = in("kept");
    float data[64] = { 0 };
    spy_tensor *t = MADE(spy_tensor, gpu_tensor(gpu_device, SPY_DTYPE_FLOAT32, NULL, NULL, SPY_SHAPE(64), data));
    write_old(path);
    limit_files(16);
    spy_status module_status = spy_save_module(module, path), tensor_status = SPY_OK;
    spy_error module_error = spy_take_error(gpu_device);
    bool said = strstr(module_error.message, "larger than the system allows") != NULL;
    tensor_status = spy_save_tensors(gpu_device, path, SPY_ARGS(spy_arg_tensor("t", t)));
    limit_files(RLIM_INFINITY);
    assert_int_equal(module_status, SPY_ERROR_IO);
    assert_true(said);
    assert_int_equal(tensor_status, SPY_ERROR_IO);
    ERROR_ON(gpu_device, SPY_ERROR_IO, "spy_save_tensors", "larger than the system allows");
    is_old(path);
    spy_release_tensor(t);
}

static void test_no_file(void **state) { // a renamed file would take the place of a pipe or a device such as /dev/null
    NEEDS_DEVICE();
    const char *path = in("pipe");
    struct stat info;
    spy_tensor *t = MADE(spy_tensor, gpu_tensor(gpu_device, SPY_DTYPE_FLOAT32, NULL, NULL, SPY_SHAPE(1), NULL));
    assert_int_equal(mkfifo(path, 0600), 0);
    FAILS(SPY_ERROR_IO, spy_save_tensors(gpu_device, path, SPY_ARGS(spy_arg_tensor("t", t))), "spy_save_tensors", "something else");
    FAILS(SPY_ERROR_IO, spy_save_module(module, path), "spy_save_module", "something else");
    FAILS(SPY_ERROR_IO, spy_save_module(module, folder), "spy_save_module", "it is a folder");
    assert_int_equal(stat(path, &info), 0);
    assert_true(S_ISFIFO(info.st_mode));
    spy_release_tensor(t);
}

// >>descs

static void test_module_descs(void **state) {
    NEEDS_DEVICE();
    static const char *const paths[] = { "/tmp", NULL };
    static const char *const names[] = { NULL, "", "A B", "3D", "F(x)" };
    spy_define define = { NULL, "1" };
    spy_module_desc d;
    memset(&d, 0, sizeof d);
    d.name = "m";
    d.source = "float f(float x) { return x; }";
    d.include_paths = paths;
    d.include_path_count = 2;
    assert_null(spy_load_module(gpu_device, &d));
    ERROR_ON(gpu_device, SPY_ERROR_INVALID_ARGUMENT, "spy_load_module", "include_paths[1]", "NULL");
    d.include_path_count = 1;
    d.defines = &define;
    d.define_count = 1;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        define.name = names[i];
        assert_null(spy_load_module(gpu_device, &d));
        ERROR_ON(gpu_device, SPY_ERROR_INVALID_ARGUMENT, "spy_load_module", "defines[0].name", "identifier", names[i] ? names[i] : "NULL");
    }
    d.define_count = 0;
    d.name = "slangpy"; // every kernel imports the library's module of this name
    assert_null(spy_load_module(gpu_device, &d));
    ERROR_ON(gpu_device, SPY_ERROR_INVALID_ARGUMENT, "spy_load_module", "'slangpy'", "the library's own");
    d.name = "slangpy_of_mine";
    spy_release_module(MADE(spy_module, spy_load_module(gpu_device, &d)));

    spy_device_desc desc = gpu_desc();
    desc.include_paths = paths;
    desc.include_path_count = 2;
    assert_null(spy_create_device(&desc));
    ERROR_ON(NULL, SPY_ERROR_INVALID_ARGUMENT, "spy_create_device", "include_paths");
}

static void test_packed(void **state) {
    NEEDS_DEVICE();
    spy_device_desc d = gpu_desc();
    spy_device *other = gpu_open(&d);
    assert_non_null(other);
    spy_tensor *t = MADE(spy_tensor, gpu_tensor(other, SPY_DTYPE_FLOAT32, NULL, NULL, SPY_SHAPE(1), NULL));
    spy_arg none;
    memset(&none, 0, sizeof none);
    assert_null(spy_pack(gpu_device, none));
    ERROR_ON(gpu_device, SPY_ERROR_INVALID_ARGUMENT, "spy_pack", "not made by");
    assert_null(spy_pack(gpu_device, spy_arg_tensor("x", t)));
    ERROR_ON(gpu_device, SPY_ERROR_INVALID_ARGUMENT, "spy_pack", "'x'", "tensor belongs to another device");
    assert_null(spy_pack(gpu_device, spy_arg_struct("s", SPY_ARGS(spy_arg_f32("a", 1), spy_arg_tensor("b", t)))));
    ERROR_ON(gpu_device, SPY_ERROR_INVALID_ARGUMENT, "spy_pack", "'s'", "tensor belongs to another device");
    spy_sampler *sampler = gpu_has_textures() ? spy_create_sampler(other, NULL) : NULL;
    if (sampler) {
        assert_null(spy_pack(gpu_device, spy_arg_sampler("how", sampler)));
        ERROR_ON(gpu_device, SPY_ERROR_INVALID_ARGUMENT, "spy_pack", "'how'", "sampler belongs to another device");
    }
    spy_release_device(other);
}

// Messages say what came.
static void test_messages(void **state) {
    NEEDS_DEVICE();
    static const float numbers[3] = { 1, 2, 300 };
    spy_tensor *x = MADE(spy_tensor, gpu_tensor(gpu_device, SPY_DTYPE_FLOAT32, NULL, NULL, SPY_SHAPE(3), numbers));
    spy_tensor *bytes = MADE(spy_tensor, gpu_tensor(gpu_device, SPY_DTYPE_UINT8, NULL, NULL, SPY_SHAPE(3), NULL));
    FAILS(SPY_ERROR_OUT_OF_RANGE, spy_tensor_copy(bytes, x), "spy_tensor_copy", "element 2 of from, 300, does not fit into uint8_t");
    assert_null(spy_create_transpose(x, SPY_DIMS(1, 0)));
    ERROR_ON(gpu_device, SPY_ERROR_INVALID_ARGUMENT, "spy_create_transpose", "1 dimensions once, got 1, 0");
    assert_null(spy_create_reshape(x, SPY_SHAPE(4294967296, 4294967296)));
    ERROR_ON(gpu_device, SPY_ERROR_INVALID_ARGUMENT, "spy_create_reshape", "below 2^60, got (4294967296, 4294967296)");
    spy_module_desc d;
    memset(&d, 0, sizeof d);
    d.path = "";
    assert_null(spy_load_module(gpu_device, &d));
    ERROR_ON(gpu_device, SPY_ERROR_INVALID_ARGUMENT, "spy_load_module", "neither path nor source");
    spy_device_desc pack = gpu_desc();
    pack.pack = "/dev/null";
    assert_null(spy_create_device(&pack));
    ERROR_ON(NULL, SPY_ERROR_INVALID_ARGUMENT, "spy_create_device", "desc.pack: '/dev/null'");
    FAILS(SPY_ERROR_INVALID_ARGUMENT,
          spy_call(MADE(spy_function, spy_find_function(module, "square")), SPY_ARGS(spy_arg_diff_pair("x", SPY_ARGS(spy_arg_f32(NULL, 1))))),
          "spy_call", "square", "'x'", "got less than two");
    FAILS(SPY_ERROR_TYPE_MISMATCH,
          spy_call(MADE(spy_function, spy_find_function(module, "area")), SPY_ARGS(spy_vcast(spy_arg_data("s", numbers, 4), "Point"))),
          "spy_call", "area", "'s'", "expected IShape", "as 'Point' (spy_vcast)");
    if (gpu_has_textures()) {
        static const spy_sampler_desc zero;
        spy_sampler_desc s = zero;
        s.mip_bias = (float)NAN;
        assert_null(spy_create_sampler(gpu_device, &s));
        ERROR_ON(gpu_device, SPY_ERROR_OUT_OF_RANGE, "spy_create_sampler", "mip_bias", "nan");
        s = zero;
        s.reduction = (spy_reduction)9;
        assert_null(spy_create_sampler(gpu_device, &s));
        ERROR_ON(gpu_device, SPY_ERROR_INVALID_ARGUMENT, "spy_create_sampler", "desc.reduction is 9");
        spy_texture_desc td;
        memset(&td, 0, sizeof td);
        td.format = SPY_FORMAT_R32_FLOAT;
        spy_texture *t = MADE(spy_texture, spy_create_texture(gpu_device, &td));
        spy_texture_region r;
        memset(&r, 0, sizeof r);
        r.x = UINT32_MAX;
        r.width = 2;
        float texels[2] = { 0 };
        FAILS(SPY_ERROR_OUT_OF_RANGE, spy_texture_read(t, &r, texels, sizeof texels), "spy_texture_read", "columns 4294967295 to 4294967296");
        spy_release_texture(t);
    }
    spy_release_tensor(x);
    spy_release_tensor(bytes);
}

// The reason of a failed creation is told, whatever error of the thread nobody has read.
static void test_earlier_error(void **state) {
    NEEDS_DEVICE();
    spy_device_desc d;
    memset(&d, 0, sizeof d);
    (void)spy_tensor_fill(NULL, 1);
    assert_null(spy_create_device(&d));
    ERROR_ON(NULL, SPY_ERROR_INVALID_ARGUMENT, "spy_create_device", "desc.backend");
    (void)spy_tensor_fill(NULL, 1);
    assert_null(spy_create_device(NULL));
    ERROR_ON(NULL, SPY_ERROR_INVALID_ARGUMENT, "spy_create_device", "got NULL");
    (void)spy_tensor_fill(NULL, 1);
    spy_device_desc good = gpu_desc();
    spy_release_device(MADE(spy_device, spy_create_device(&good)));
    ERROR_ON(NULL, SPY_ERROR_INVALID_ARGUMENT, "spy_tensor_fill");
}

// >>draws

static void test_attributes(void **state) {
    NEEDS_DEVICE();
    if (gpu_is_cuda()) {
        print_message("skipped: CUDA does not draw\n");
        skip();
    }
    spy_raster_desc r;
    memset(&r, 0, sizeof r);
    r.vertex = MADE(spy_function, spy_find_function(module, "vs"));
    r.fragment = MADE(spy_function, spy_find_function(module, "fs"));
    spy_raster *raster = MADE(spy_raster, spy_create_raster(gpu_device, &r));
    spy_texture_desc td;
    memset(&td, 0, sizeof td);
    td.format = SPY_FORMAT_RGBA32_FLOAT;
    td.usage = SPY_TEXTURE_USAGE_SAMPLED | SPY_TEXTURE_USAGE_COLOR_TARGET;
    spy_draw_desc draw;
    memset(&draw, 0, sizeof draw);
    draw.targets[0].texture = MADE(spy_texture, spy_create_texture(gpu_device, &td));
    draw.targets[0].load = SPY_LOAD_CLEAR;
    static const float corners[9] = { -1, -1, 0, 3, -1, 0, -1, 3, 0 }, colors[9] = { 1, 1, 1, 1, 1, 1, 1, 1, 1 };
    spy_tensor *three = MADE(spy_tensor, gpu_tensor(gpu_device, SPY_DTYPE_FLOAT32, NULL, NULL, SPY_SHAPE(3, 3), corners));
    spy_tensor *two = MADE(spy_tensor, gpu_tensor(gpu_device, SPY_DTYPE_FLOAT32, NULL, NULL, SPY_SHAPE(2, 3), colors));
    FAILS(SPY_ERROR_SHAPE_MISMATCH, spy_draw(raster, &draw, SPY_ARGS(spy_arg_tensor("position", three), spy_arg_tensor("color", two)), NULL),
          "spy_draw", "'position' has 3", "'color' has 2", "vertex_count");
    draw.vertex_count = 2; // the caller says how many
    OK(spy_draw(raster, &draw, SPY_ARGS(spy_arg_tensor("position", three), spy_arg_tensor("color", two)), NULL));
    spy_release_raster(raster);
    spy_release_texture(draw.targets[0].texture);
    spy_release_tensor(three);
    spy_release_tensor(two);
}

// >>memory that runs out

static long long made, fails_at, alive;

static void *allocate(size_t size, size_t alignment, void *user) {
    (void)alignment;
    (void)user;
    if (__atomic_fetch_add(&made, 1, __ATOMIC_SEQ_CST) == __atomic_load_n(&fails_at, __ATOMIC_SEQ_CST)) return NULL;
    void *memory = aligned_alloc(64, (size + 63) / 64 * 64 + (size == 0 ? 64 : 0));
    __atomic_add_fetch(&alive, 1, __ATOMIC_SEQ_CST);
    return memory;
}

static void give_back(void *memory, size_t size, void *user) {
    (void)size;
    (void)user;
    if (memory) __atomic_sub_fetch(&alive, 1, __ATOMIC_SEQ_CST);
    free(memory);
}

static void *reallocate(void *memory, size_t old_size, size_t size, size_t alignment, void *user) {
    void *moved = allocate(size, alignment, user);
    if (!moved) return NULL;
    if (memory) memcpy(moved, memory, old_size < size ? old_size : size);
    give_back(memory, old_size, user);
    return moved;
}

static spy_device_desc failing_desc(void) {
    spy_device_desc d = gpu_desc();
    d.allocator.allocate = allocate;
    d.allocator.reallocate = reallocate;
    d.allocator.free = give_back;
    d.record_pack = true;
    made = alive = 0;
    fails_at = -1;
    return d;
}

// A device that could not ask the driver for its extensions was one without them.
static void test_device_without_memory(void **state) {
    NEEDS_DEVICE();
    spy_device_desc d = failing_desc();
    spy_device_info whole = spy_get_device_info(gpu_device);
    spy_device *device = MADE(spy_device, spy_create_device(&d));
    long long count = made;
    spy_release_device(device);
    assert_int_equal(alive, 0);
    for (long long i = 0; i < count; i++) {
        d = failing_desc();
        fails_at = i;
        device = spy_create_device(&d);
        if (device) {
            spy_device_info info = spy_get_device_info(device);
            assert_memory_equal(&info.features, &whole.features, sizeof info.features);
            assert_int_equal(info.max_inline_block_bytes, whole.max_inline_block_bytes);
            spy_release_device(device);
            print_error("allocation %lld of %lld is not missed\n", i, count);
            fail();
        }
        ERROR_ON(NULL, SPY_ERROR_OUT_OF_MEMORY, "spy_create_device");
        assert_int_equal(alive, 0);
    }
}

// Objects are made completely or not at all: a view without its gradients would be a constant, and a list without its notes
// could not be saved.
static void test_objects_without_memory(void **state) {
    NEEDS_DEVICE();
    spy_device_desc d = failing_desc();
    spy_device *device = MADE(spy_device, spy_create_device(&d));
    spy_tensor_desc t;
    memset(&t, 0, sizeof t);
    t.shape = SPY_SHAPE(2, 3);
    t.with_grad = true;
    spy_tensor *x = MADE(spy_tensor, spy_create_tensor(device, &t));
    for (long long i = 0; i < 3; i++) {
        fails_at = made + i;
        spy_tensor *view = spy_create_transpose(x, SPY_DIMS(1, 0));
        if (view) assert_non_null(spy_tensor_grad(view));
        else ERROR_ON(device, SPY_ERROR_OUT_OF_MEMORY, "spy_create_transpose");
        assert_true((view != NULL) == (i == 2));
        fails_at = made + i;
        spy_command_list *list = spy_create_command_list(device, NULL);
        if (!list) ERROR_ON(device, SPY_ERROR_OUT_OF_MEMORY, "spy_create_command_list");
        assert_true((list != NULL) == (i == 2));
        fails_at = -1;
        spy_release_tensor(view);
        spy_release_command_list(list);
    }
    fails_at = -1;
    t.with_grad = false; // two gradients, and views of them
    t.grad_in = MADE(spy_tensor, spy_create_tensor(device, &t));
    spy_tensor_desc plain = t;
    plain.grad_in = NULL;
    t.grad_out = MADE(spy_tensor, spy_create_tensor(device, &plain));
    spy_tensor *both = MADE(spy_tensor, spy_create_tensor(device, &t));
    spy_tensor *part = MADE(spy_tensor, spy_create_select(both, 0, 1));
    assert_non_null(spy_tensor_grad_in(part));
    assert_non_null(spy_tensor_grad_out(part));
    assert_ptr_not_equal(spy_tensor_grad_in(part), spy_tensor_grad_out(part));
    spy_release_device(device);
    assert_int_equal(alive, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_full_disk),
        cmocka_unit_test(test_no_file),
        cmocka_unit_test(test_module_descs),
        cmocka_unit_test(test_packed),
        cmocka_unit_test(test_messages),
        cmocka_unit_test(test_earlier_error),
        cmocka_unit_test(test_attributes),
        cmocka_unit_test(test_device_without_memory),
        cmocka_unit_test(test_objects_without_memory),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}

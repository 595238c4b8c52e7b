// Packs whose bytes are not what was written. A pack with a changed bit anywhere is refused. One whose hash is right again, as only
// an attacker makes it, gives results or errors: whatever the answers in it say, nothing is read or written where it must not be. The
// answers are those of the cache on disk, too.
//
// fuzz_packs [ROUNDS]: seeded (SPY_TEST_SEED); fuzz_packs --seed FILE writes a pack for libFuzzer's corpus. With -DSPY_LIBFUZZER and
// -fsanitize=fuzzer the file is a libFuzzer target, whose inputs are packs.
#include "spy_test.h"

#include "api/generator.h"
#include "api/gradient.h"
#include "api/list.h"
#include "api/pack.h"
#include "api/raster.h"
#include "api/reflect.h"
#include "backend/null/null.h"
#include "chance.h"

#include <stdio.h>

static const char text[] = "uniform float gain;\n"
                           "struct Light { float3 color; float power; };\n"
                           "enum Sort { A, B = 5 };\n"
                           "interface IScale { float scale(float x); }\n"
                           "struct Twice : IScale { float k; float scale(float x) { return 2 * x + k; } }\n"
                           "float add(float x, float y) { return x + 2 * y; }\n"
                           "float add(int x, float y) { return x + y; }\n"
                           "T same<T>(T x) { return x; }\n"
                           "float shade(Light l, float x) { return l.color.y * l.power * x * gain; }\n"
                           "float any<S : IScale>(S s, float x) { return s.scale(x); }\n"
                           "[Differentiable] float poly(float a, float b) { return a * a * b + b; }\n"
                           "[shader(\"compute\")] [numthreads(4, 1, 1)]\n"
                           "void fill(uint3 id : SV_DispatchThreadID, RWStructuredBuffer<float> to, uniform float first) { to[id.x] = first; }\n"
                           "struct Point { float4 place : SV_Position; float3 color : COLOR; }\n"
                           "[shader(\"vertex\")] Point vs(float2 at : POSITION, float3 color : COLOR, uniform float2 shift) {\n"
                           "    Point p; p.place = float4(at + shift, 0.5, 1); p.color = color; return p;\n"
                           "}\n"
                           "[shader(\"fragment\")] float4 fs(Point p, uniform StructuredBuffer<float> table, uniform float k) : SV_Target {\n"
                           "    return float4(p.color * k, table[1]) * gain;\n"
                           "}\n";

static void quiet(spy_log_level level, const char *message, void *user) {
    (void)level, (void)message, (void)user;
}

static spy_tensor *floats(spy_device *device, spy_shape shape) {
    spy_tensor_desc d;
    memset(&d, 0, sizeof d);
    d.shape = shape;
    d.with_grad = true;
    return spy_create_tensor(device, &d);
}

static spy_status draw(spy_device *device, spy_module *module, const spy_call_options *options) {
    spy_raster_desc r;
    spy_texture_desc t;
    spy_draw_desc d;
    float shift[2] = { 1, 2 };
    memset(&r, 0, sizeof r);
    memset(&t, 0, sizeof t);
    memset(&d, 0, sizeof d);
    r.vertex = spy_find_function(module, "vs");
    r.fragment = spy_find_function(module, "fs");
    spy_raster *raster = spy_create_raster(device, &r);
    t.format = SPY_FORMAT_RGBA32_FLOAT;
    t.width = t.height = 4;
    t.usage = SPY_TEXTURE_USAGE_COLOR_TARGET;
    d.targets[0].texture = spy_create_texture(device, &t);
    return spy_draw(raster, &d,
                    SPY_ARGS(spy_arg_tensor("at", floats(device, SPY_SHAPE(6, 2))), spy_arg_tensor("color", floats(device, SPY_SHAPE(6, 3))),
                             spy_arg_f32n("shift", shift, 2), spy_arg_tensor("table", floats(device, SPY_SHAPE(2))), spy_arg_f32("k", 3)),
                    options);
}

// Everything that a pack is asked. Each step may fail.
static int program(spy_device *device, bool must) {
    spy_module_desc m;
    int bad = 0;
    memset(&m, 0, sizeof m);
    m.name = "m";
    m.source = text;
    spy_module *module = spy_load_module(device, &m);
    if (!module) return must ? 1 : 0;
    spy_tensor *x = floats(device, SPY_SHAPE(8)), *y = floats(device, SPY_SHAPE(8)), *z = floats(device, SPY_SHAPE(8));
    float light[4] = { 1, 2, 3, 4 };
    spy_call_options options;
    memset(&options, 0, sizeof options);
#define STEP(call) bad += (call) != SPY_OK
    STEP(spy_call(spy_find_function(module, "add"), SPY_ARGS(spy_arg_tensor("x", x), spy_arg_tensor("y", y), spy_arg_tensor("_result", z))));
    STEP(spy_call(spy_find_function(module, "same"), SPY_ARGS(spy_arg_tensor("x", x), spy_arg_tensor("_result", z))));
    const spy_arg gain = spy_arg_f32("gain", 2);
    options.globals.items = &gain;
    options.globals.count = 1;
    STEP(spy_call_with(spy_find_function(module, "shade"),
                       SPY_ARGS(spy_arg_data("l", light, sizeof light), spy_arg_tensor("x", x), spy_arg_tensor("_result", z)), &options));
    STEP(draw(device, module, &options));
    STEP(spy_call(spy_find_function(module, "any"), SPY_ARGS(spy_vcast(spy_arg_struct("s", SPY_ARGS(spy_arg_f32("k", 7))), "Twice"),
                                                             spy_arg_tensor("x", x), spy_arg_tensor("_result", z))));
    STEP(spy_call_backward(spy_find_function(module, "poly"), SPY_ARGS(spy_arg_tensor("a", x), spy_arg_tensor("b", y), spy_arg_tensor("_result", z))));
    spy_uint3 threads = { 8, 1, 1 };
    STEP(spy_dispatch(spy_find_function(module, "fill"), threads, SPY_ARGS(spy_arg_tensor("to", z), spy_arg_f32("first", 1)), NULL));
#undef STEP
    bad += !spy_has_type(module, "Light");
    bad += spy_type_size_bytes(module, "Light") == 0;
    bad += spy_reflect_module(module) == NULL;
    bad += spy_reflect_type(module, "Light") == NULL;
    bad += spy_wait(device) != SPY_OK;
    if (must && bad) printf("%s\n", spy_take_error(device).message);
    (void)spy_take_error(device);
    return must ? bad : 0;
}

#define LABEL "a label that is found in the pack"

// A list with one operation of each sort, saved by the device that records.
static int save_list(spy_device *device) {
    int bad = 0;
    spy_module_desc m;
    spy_list_desc label;
    memset(&m, 0, sizeof m);
    memset(&label, 0, sizeof label);
    m.name = "m";
    m.source = text;
    label.label = LABEL;
    spy_module *module = spy_load_module(device, &m);
    spy_command_list *list = spy_create_command_list(device, &label);
    spy_tensor *x = floats(device, SPY_SHAPE(8)), *y = floats(device, SPY_SHAPE(8)), *z = floats(device, SPY_SHAPE(8)), *made = NULL;
    spy_tensor *part = spy_create_slice(x, 0, 2, 6, 1), *back = spy_create_slice(y, 0, 7, 3, -1);
    float data[8] = { 1, 2, 3, 4 };
    spy_call_options options;
    memset(&options, 0, sizeof options);
    options.append_to = list;
#define STEP(call) bad += (call) != SPY_OK
    STEP(spy_list_call(list, spy_find_function(module, "add"), SPY_ARGS(spy_arg_tensor("x", part), spy_arg_tensor("y", back), spy_out_tensor("_result", &made))));
    STEP(spy_list_call(list, spy_find_function(module, "same"), SPY_ARGS(spy_arg_tensor("x", x), spy_arg_tensor("_result", z))));
    spy_function *declared = spy_declare(spy_find_function(module, "poly"), SPY_ARGS(spy_vdim(spy_arg_any("a"), 1)));
    STEP(spy_list_call(list, declared, SPY_ARGS(spy_arg_tensor("a", x), spy_arg_range("b", 0, 8, 1), spy_arg_tensor("_result", z))));
    spy_uint3 threads = { 8, 1, 1 };
    STEP(spy_dispatch(spy_find_function(module, "fill"), threads, SPY_ARGS(spy_arg_tensor("to", z), spy_arg_f32("first", 1)), &options));
    const spy_arg gain = spy_arg_f32("gain", 2);
    options.globals.items = &gain;
    options.globals.count = 1;
    STEP(spy_call_with(spy_find_function(module, "shade"),
                       SPY_ARGS(spy_arg_data("l", data, 16), spy_arg_tensor("x", x), spy_arg_tensor("_result", z)), &options));
    options.globals.count = 0;
    options.mode = SPY_CALL_MODE_BACKWARD;
    STEP(spy_call_with(spy_find_function(module, "poly"), SPY_ARGS(spy_arg_tensor("a", x), spy_arg_tensor("b", y), spy_arg_tensor("_result", z)), &options));
    STEP(spy_list_push_label(list, "group"));
    STEP(spy_list_marker(list, "mark"));
    STEP(spy_list_fill(list, spy_tensor_grad(x), 1));
    STEP(spy_list_copy(list, x, y));
    STEP(spy_list_write(list, y, data, sizeof data));
    STEP(spy_list_barrier(list));
    STEP(spy_list_pop_label(list));
    STEP(spy_list_finish(list));
    STEP(spy_save_list(list, "all", SPY_ARGS(spy_arg_tensor("x", x), spy_arg_tensor("y", y), spy_arg_tensor("z", z), spy_arg_tensor("made", made))));
#undef STEP
    return bad;
}

// Loads the list and submits it.
static int load_list(spy_device *device, bool must) {
    spy_tensor *x = floats(device, SPY_SHAPE(8)), *y = floats(device, SPY_SHAPE(8)), *z = floats(device, SPY_SHAPE(8)), *made = NULL;
    spy_command_list *list =
        spy_load_list(device, "all", SPY_ARGS(spy_arg_tensor("x", x), spy_arg_tensor("y", y), spy_arg_tensor("z", z), spy_out_tensor("made", &made)));
    int bad = !list || !made;
    if (list) bad += spy_list_submit(list) != SPY_OK;
    bad += spy_wait(device) != SPY_OK;
    if (must && bad) printf("%s\n", spy_take_error(device).message);
    (void)spy_take_error(device);
    return must ? bad : 0;
}

static spy_device *open_pack(const void *bytes, size_t size) {
    spy_device_desc d;
    memset(&d, 0, sizeof d);
    d.backend = spyi_null_backend();
    d.offline = true;
    d.log.func = quiet;
    d.pack_data = bytes;
    d.pack_size_bytes = size;
    spy_device *device = spy_create_device(&d);
    if (!device) (void)spy_take_error(NULL);
    return device;
}

// Makes the frame of the bytes right again (base/archive.c).
static void mend(uint8_t *bytes, size_t size) {
    static const uint8_t magic[8] = { 'S', 'P', 'Y', 'P', 'A', 'C', 'K', '\n' };
    uint32_t numbers[2] = { 1, SPY_VERSION };
    uint64_t whole = size;
    if (size < 40) return;
    memcpy(bytes, magic, sizeof magic);
    memcpy(bytes + 8, numbers, sizeof numbers);
    memcpy(bytes + 16, &whole, sizeof whole);
    uint64_t hash = spyi_hash(bytes + 32, size - 32, spyi_hash(bytes, 24, 1));
    memcpy(bytes + 24, &hash, sizeof hash);
}

static void run(const uint8_t *bytes, size_t size) {
    char manifest[300];
    spy_device *device = open_pack(bytes, size);
    if (!device) return;
    (void)spy_get_pack_manifest(device, manifest, sizeof manifest);
    (void)load_list(device, false);
    (void)program(device, false);
    spy_release_device(device);
}

#ifdef SPY_LIBFUZZER
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    uint8_t *copy = (uint8_t *)malloc(size + 1);
    memcpy(copy, data, size);
    mend(copy, size);
    run(copy, size);
    free(copy);
    return 0;
}
#else

static int record(const char *path) {
    spy_device_desc d;
    memset(&d, 0, sizeof d);
    d.backend = spyi_null_backend();
    d.offline = d.record_pack = true;
    d.log.func = quiet;
    spy_device *device = spy_create_device(&d);
    if (!device) return 1;
    int bad = program(device, true) + save_list(device);
    if (bad) printf("%s\n", spy_take_error(device).message);
    if (spy_save_pack(device, path) != SPY_OK) bad++;
    spy_release_device(device);
    return bad;
}

int main(int count, char **words) {
    char path[64];
    spyi_text whole = { NULL, 0, 0 };
    long rounds = count > 1 ? strtol(words[1], NULL, 10) : (long)test_count(20000);
    if (count == 3 && strcmp(words[1], "--seed") == 0) return record(words[2]);
    seed();
    snprintf(path, sizeof path, "/tmp/spy_fuzz_packs_%d.pack", (int)(next_random() % 1000000000));
    if (record(path) != 0 || !spyi_file_read(path, &whole)) {
        printf("the pack cannot be recorded: 0 passed, 1 failed, 0 skipped\n");
        return 1;
    }
    (void)remove(path);
    uint8_t *bytes = (uint8_t *)malloc(whole.size);
    int failed = 0;
    spy_device *right = open_pack(whole.data, whole.size);
    failed += !right || program(right, true) != 0 || load_list(right, true) != 0; // as it was written
    size_t list = 0; // where the list's bytes are: changes there are as many as elsewhere
    while (list + sizeof LABEL < whole.size && memcmp(whole.data + list, LABEL, sizeof LABEL) != 0) list++;
    spy_release_device(right);
    for (long round = 0; round < rounds; round++) {
        memcpy(bytes, whole.data, whole.size);
        size_t size = whole.size;
        if (round % 4 == 0) { // one bit, and the hash as it was
            size_t bit = (size_t)(next_random() % (size * 8));
            bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
            spy_device *device = open_pack(bytes, size);
            if (device) {
                printf("seed round %ld: a pack with bit %zu changed was taken\n", round, bit);
                failed++;
                spy_release_device(device);
            }
            continue;
        }
        int changes = 1 + (int)below(4);
        for (int i = 0; i < changes; i++) {
            size_t at = 32 + (size_t)(next_random() % (size - 32));
            if (round % 2) at = list + (size_t)(next_random() % 2048) % (size - list);
            uint32_t sort = below(5), wide;
            if (sort == 0) bytes[at] ^= (uint8_t)(1u << below(8));
            else if (sort == 1) bytes[at] = (uint8_t)next_random();
            else if (sort == 2) bytes[at] = below(2) ? 0 : 255;
            else if (at + 4 <= size) { // a length, a count or a number of something
                static const uint32_t odd[] = { 0, 1, 2, 0x7fffffffu, 0x80000000u, 0xffffffffu, 65536, 255 };
                wide = odd[below(8)];
                memcpy(bytes + at, &wide, 4);
            }
        }
        if (below(20) == 0) size = 40 + (size_t)(next_random() % (size - 40));
        mend(bytes, size);
        run(bytes, size);
    }
    free(bytes);
    spyi_text_free(&whole);
    printf("%ld rounds\n%d passed, %d failed, 0 skipped\n", rounds, failed ? 0 : 1, failed);
    return failed != 0;
}
#endif

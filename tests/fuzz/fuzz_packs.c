// Packs and files of the cache on disk whose bytes are not what was written. A pack with a changed bit anywhere is refused. One whose
// hash is right again, as only an attacker makes it, gives results or errors: whatever the answers in it say, nothing is read or
// written where it must not be. The same for the files of a cache.
//
// The answers of libslang are recorded once, by a process of its own; this one never opens libslang, on the null backend.
//
// fuzz_packs [ROUNDS]: seeded (SPY_TEST_SEED). With -DSPY_LIBFUZZER and -fsanitize=fuzzer the file is a libFuzzer target
// (build/libfuzzer/fuzz_packs). It needs no corpus: an input is a seed's number and its bytes, and the mutator begins with those of a seed.
#define _DEFAULT_SOURCE // mkdtemp, popen, symlink, truncate
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
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

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

// The smallest program: one call, without a result that would need memory of the device, which costs most of a run.
static int small_program(spy_device *device, bool must) {
    spy_module_desc m;
    memset(&m, 0, sizeof m);
    m.name = "s";
    m.source = "float twice(float x) { return 2 * x; }\n";
    spy_module *module = spy_load_module(device, &m);
    int bad = spy_call(spy_find_function(module, "twice"), SPY_ARGS(spy_arg_f32("x", 1))) != SPY_OK;
    bad += spy_wait(device) != SPY_OK;
    (void)spy_take_error(device);
    return must ? bad : 0;
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


// >>devices

static char folder[64], library[96], cache[96];

// `bytes`: a pack; NULL: the device uses the cache.
static spy_device *open_device(const void *bytes, size_t size) {
    spy_device_desc d;
    memset(&d, 0, sizeof d);
    d.backend = spyi_null_backend();
    d.log.func = quiet;
    d.offline = bytes != NULL;
    d.pack_data = bytes;
    d.pack_size_bytes = size;
    d.slang_library = library;
    d.cache_path = bytes ? "off" : cache;
    spy_device *device = spy_create_device(&d);
    if (!device) (void)spy_take_error(NULL);
    return device;
}

// Makes the frame of a pack right again (base/archive.c). `head`: the first bytes of one that is right.
static void mend(uint8_t *bytes, size_t size, const void *head) {
    uint32_t version;
    uint64_t whole = size;
    if (size < 40) return;
    memcpy(bytes, head, 16);
    memcpy(&version, bytes + 8, sizeof version);
    memcpy(bytes + 16, &whole, sizeof whole);
    uint64_t hash = spyi_hash(bytes + 32, size - 32, spyi_hash(bytes, 24, version));
    memcpy(bytes + 24, &hash, sizeof hash);
}

static void run_pack(const uint8_t *bytes, size_t size) {
    char manifest[300];
    spy_device *device = open_device(bytes, size);
    if (!device) return;
    (void)spy_get_pack_manifest(device, manifest, sizeof manifest);
    (void)load_list(device, false);
    (void)program(device, false);
    spy_release_device(device);
}

// >>seeds: answers of a pack, files of a cache, and the whole pack

typedef enum seed_sort {
    PACK_ANSWER, // the input takes the place of an answer in the pack
    PACK_WHOLE,  // of the pack, whose frame is mended
    CACHE_ANSWER,
    CACHE_WHOLE, // of the file, whose frame is not mended
    SEED_SORTS
} seed_sort;

typedef struct seed_file {
    char path[160];
    spyi_text whole;
    size_t question; // bytes
} seed_file;

enum { MOST_FILES = 256, STORE_HEAD = 32, PACK_HEAD = 40, PACK_ENTRY = 32 };

static spyi_text pack, small;
static seed_file files[MOST_FILES];
static uint32_t file_count;

static uint32_t pack_answers(void) {
    uint32_t count;
    memcpy(&count, pack.data + 32, sizeof count);
    return count;
}

static uint32_t seeds_of(seed_sort sort) {
    return sort == PACK_ANSWER ? pack_answers() : sort == PACK_WHOLE ? 1 : file_count;
}

// The bytes of seed `i`.
static const char *seed_bytes(seed_sort sort, uint32_t i, size_t *size) {
    if (sort == PACK_WHOLE) {
        *size = pack.size;
        return pack.data;
    }
    if (sort == PACK_ANSWER) {
        uint64_t place[2];
        memcpy(place, pack.data + PACK_HEAD + (size_t)i * PACK_ENTRY + 16, sizeof place);
        *size = (size_t)place[1];
        return pack.data + place[0];
    }
    const seed_file *f = &files[i];
    size_t begin = sort == CACHE_WHOLE ? 0 : STORE_HEAD + f->question;
    *size = f->whole.size - begin - (sort == CACHE_WHOLE ? 0 : 8);
    return f->whole.data + begin;
}

static void must(bool good, const char *what) {
    if (good) return;
    printf("%s: 0 passed, 1 failed, 0 skipped\n", what);
    exit(1);
}

// Runs the program with these bytes in the place of seed `i`.
static void run_input(seed_sort sort, uint32_t i, const uint8_t *bytes, size_t size) {
    spyi_text changed = { NULL, 0, 0 };
    if (sort == PACK_ANSWER || sort == PACK_WHOLE) {
        if (sort == PACK_ANSWER) { // behind the others
            uint64_t place[2] = { pack.size, size };
            spyi_text_add_n(&changed, pack.data, pack.size);
            memcpy(changed.data + PACK_HEAD + (size_t)i * PACK_ENTRY + 16, place, sizeof place);
        }
        if (size) spyi_text_add_n(&changed, (const char *)bytes, size);
        if (changed.size) mend((uint8_t *)changed.data, changed.size, pack.data);
        run_pack((const uint8_t *)changed.data, changed.size);
        spyi_text_free(&changed);
        return;
    }
    static uint32_t runs;
    const seed_file *f = &files[i];
    if (sort == CACHE_ANSWER) {
        uint32_t version;
        uint64_t answer = size;
        spyi_text_add_n(&changed, f->whole.data, STORE_HEAD + f->question);
        memcpy(changed.data + 24, &answer, sizeof answer);
        memcpy(&version, changed.data + 8, sizeof version);
        if (size) spyi_text_add_n(&changed, (const char *)bytes, size);
        uint64_t hash = spyi_hash(changed.data, changed.size, version);
        spyi_text_add_n(&changed, (const char *)&hash, sizeof hash);
    } else if (size) spyi_text_add_n(&changed, (const char *)bytes, size);
    must(spyi_file_write(f->path, changed.data, changed.size), "the cache cannot be written");
    spy_device *device = open_device(NULL, 0);
    must(device != NULL, "no device");
    (void)program(device, false);
    spy_release_device(device);
    spyi_text_free(&changed);
    if (++runs % 512 == 0) { // what changed answers led to
        char command[128];
        snprintf(command, sizeof command, "rm -rf %s/*/*", cache);
        must(system(command) == 0, "rm");
        for (uint32_t k = 0; k < file_count; k++) must(spyi_file_write(files[k].path, files[k].whole.data, files[k].whole.size), "write");
    } else must(spyi_file_write(f->path, f->whole.data, f->whole.size), "the cache cannot be written");
}

// >>recording

static bool record_pack(const char *path, int (*run)(spy_device *, bool)) {
    spy_device_desc d;
    memset(&d, 0, sizeof d);
    d.backend = spyi_null_backend();
    d.offline = d.record_pack = true;
    d.log.func = quiet;
    d.slang_library = library;
    d.cache_path = "off";
    spy_device *device = spy_create_device(&d);
    bool good = device && run(device, true) == 0 && (run != program || save_list(device) == 0) && spy_save_pack(device, path) == SPY_OK;
    if (!good) printf("%s\n", spy_take_error(device).message);
    spy_release_device(device);
    return good;
}

static int record(const char *path, const char *small_path) {
    spy_device *device = open_device(NULL, 0);
    bool good = device && program(device, true) == 0;
    spy_release_device(device);
    return good && record_pack(path, program) && record_pack(small_path, small_program) ? 0 : 1;
}

// Puts a file in the place of libslang that the cache takes for it, and the loader for none: its notes with the build's id, its size.
static void replace_library(const char *real) {
    enum { KEPT = 65536 };
    static unsigned char bytes[KEPT];
    struct stat info;
    uint64_t table;
    uint16_t entry, count;
    FILE *file = fopen(real, "rb");
    must(file && stat(real, &info) == 0 && fread(bytes, 1, KEPT, file) == KEPT, "libslang cannot be read");
    fclose(file);
    memcpy(&table, bytes + 32, sizeof table);
    memcpy(&entry, bytes + 54, sizeof entry);
    memcpy(&count, bytes + 56, sizeof count);
    for (uint16_t i = 0; i < count; i++)
        if (bytes[table + (size_t)i * entry] != 4) memset(bytes + table + (size_t)i * entry, 0, 4);
    uint64_t before = spyi_library_stamp(library);
    (void)remove(library);
    must(spyi_file_write(library, bytes, KEPT) && truncate(library, info.st_size) == 0, "libslang's stand-in cannot be written");
    must(spyi_library_stamp(library) == before, "libslang's stand-in is taken for another");
}

static void remove_folder(void) {
    char command[100];
    snprintf(command, sizeof command, "rm -rf %s", folder);
    (void)!system(command);
}

static void prepare(void) {
    char path[2][96], command[160], line[160];
    const char *real = getenv("SLANGPY_SLANG_LIBRARY");
    int status = 0;
    snprintf(folder, sizeof folder, "%s/spy_fuzz_packs_XXXXXX", access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
    must(real && mkdtemp(folder), "SLANGPY_SLANG_LIBRARY is not set, or no folder");
    snprintf(library, sizeof library, "%s/libslang-compiler.so", folder);
    snprintf(cache, sizeof cache, "%s/cache", folder);
    snprintf(path[0], sizeof path[0], "%s/app.pack", folder);
    snprintf(path[1], sizeof path[1], "%s/small.pack", folder);
    must(symlink(real, library) == 0, "symlink");
    pid_t child = fork();
    if (child == 0) _exit(record(path[0], path[1]));
    must(child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0, "nothing can be recorded");
    atexit(remove_folder);
    must(spyi_file_read(path[0], &pack) && spyi_file_read(path[1], &small), "the packs cannot be read");
    snprintf(command, sizeof command, "find %s -type f | sort", cache);
    FILE *list = popen(command, "r");
    while (list && fgets(line, sizeof line, list)) {
        uint64_t question;
        seed_file *f = &files[file_count++];
        must(file_count <= MOST_FILES, "too many files");
        line[strcspn(line, "\n")] = '\0';
        snprintf(f->path, sizeof f->path, "%s", line);
        must(spyi_file_read(f->path, &f->whole) && f->whole.size > STORE_HEAD, "the cache cannot be read");
        memcpy(&question, f->whole.data + 16, sizeof question);
        f->question = (size_t)question;
    }
    must(list && pclose(list) == 0 && file_count > 5, "the cache has no files");
    replace_library(real);
    // As they were written, both run without libslang.
    for (int packed = 0; packed < 3; packed++) {
        spy_device *right = packed == 2 ? open_device(small.data, small.size) : packed ? open_device(pack.data, pack.size) : open_device(NULL, 0);
        must(right && (packed == 2 ? small_program(right, true) : program(right, true)) == 0, "what was recorded does not run");
        must(packed != 1 || load_list(right, true) == 0, "the list that was recorded does not run");
        must(spy_get_device_stats(right).compiler_loads == 0, "it needs libslang");
        spy_release_device(right);
    }
}

#ifdef SPY_LIBFUZZER
int LLVMFuzzerInitialize(int *count, char ***words);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t most);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most, unsigned int number);
enum { INPUT_HEAD = 3 }; // sort, number of the seed

int LLVMFuzzerInitialize(int *count, char ***words) {
    (void)count, (void)words;
    prepare();
    return 0;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most, unsigned int number) {
    chance_state = number;
    if (size < INPUT_HEAD || below(8) == 0) { // begins with a seed
        seed_sort sort = (seed_sort)below(SEED_SORTS);
        uint32_t i = below(seeds_of(sort));
        const char *bytes = seed_bytes(sort, i, &size);
        if (most < INPUT_HEAD) return 0;
        if (size > most - INPUT_HEAD) size = most - INPUT_HEAD;
        data[0] = (uint8_t)sort;
        data[1] = (uint8_t)(i & 255);
        data[2] = (uint8_t)(i >> 8);
        memcpy(data + INPUT_HEAD, bytes, size);
        size += INPUT_HEAD;
    }
    return INPUT_HEAD + LLVMFuzzerMutate(data + INPUT_HEAD, size - INPUT_HEAD, most - INPUT_HEAD);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size < INPUT_HEAD) return 0;
    seed_sort sort = (seed_sort)(data[0] % SEED_SORTS);
    run_input(sort, (data[1] | (uint32_t)data[2] << 8) % seeds_of(sort), data + INPUT_HEAD, size - INPUT_HEAD);
    return 0;
}
#else

// Every bit of a small pack, or one of 25 (a tenth with SPY_TEST_ALL): refused with the hash as it was, and no harm with a hash that fits.
static int flip_bits(void) {
    size_t step = test_everything() ? 10 / test_count(10) : 25, count = 0;
    int failed = 0;
    uint8_t *bytes = (uint8_t *)malloc(small.size);
    for (size_t bit = below((uint32_t)step); bit < small.size * 8; bit += step, count++) {
        memcpy(bytes, small.data, small.size);
        bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
        spy_device *device = open_device(bytes, small.size);
        if (device) {
            printf("a pack with bit %zu changed was taken\n", bit);
            failed++;
            spy_release_device(device);
        }
        mend(bytes, small.size, small.data);
        device = open_device(bytes, small.size);
        if (device) (void)small_program(device, false);
        spy_release_device(device);
    }
    printf("%zu of %zu bits of a pack\n", count, small.size * 8);
    free(bytes);
    return failed;
}

static void change(uint8_t *bytes, size_t size) {
    int changes = 1 + (int)below(4);
    for (int i = 0; size && i < changes; i++) {
        size_t at = (size_t)(next_random() % size);
        uint32_t sort = below(5);
        if (sort == 0) bytes[at] ^= (uint8_t)(1u << below(8));
        else if (sort == 1) bytes[at] = (uint8_t)next_random();
        else if (sort == 2) bytes[at] = below(2) ? 0 : 255;
        else if (at + 4 <= size) { // a length, a count or a number of something
            static const uint32_t odd[] = { 0, 1, 2, 0x7fffffffu, 0x80000000u, 0xffffffffu, 65536, 255 };
            uint32_t wide = odd[below(8)];
            memcpy(bytes + at, &wide, 4);
        }
    }
}

int main(int count, char **words) {
    long rounds = count > 1 ? strtol(words[1], NULL, 10) : (long)test_count(test_everything() ? 6000 : 3000);
    seed();
    prepare();
    int failed = flip_bits();
    for (long round = 0; round < rounds; round++) {
        size_t size;
        seed_sort sort = (seed_sort)below(SEED_SORTS);
        uint32_t i = below(seeds_of(sort));
        const char *from = seed_bytes(sort, i, &size);
        uint8_t *bytes = (uint8_t *)malloc(size + 1);
        memcpy(bytes, from, size);
        change(bytes, size);
        if (below(20) == 0 && size) size = (size_t)(next_random() % size);
        run_input(sort, i, bytes, size);
        free(bytes);
    }
    for (uint32_t i = 0; i < file_count; i++) spyi_text_free(&files[i].whole);
    spyi_text_free(&pack);
    spyi_text_free(&small);
    printf("%ld rounds\n%d passed, %d failed, 0 skipped\n", rounds, failed ? 0 : 1, failed);
    return failed != 0;
}
#endif

// The CUDA backend as far as it goes without a GPU: what it says when the driver or NVRTC is missing, its prelude against the
// layouts that the rest of the library counts on, the fall back to Slang's prelude, and what kernels' descs say of buffers.
#ifndef _GNU_SOURCE
#define _GNU_SOURCE // mkdtemp, setenv, symlink
#endif
#include "spy_test.h"
#ifdef SPY_TEST_SPLIT
#include "backend/null/null.h"
#include "data/type.h"
#include "cuda/internal.h"
#endif
#include "fake_cuda/fake_device.h"
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

static spyi_nvrtc nvrtc;
static const char *fake_path; // the driver of fake_cuda

static void has(const char *text, const char *word) {
    if (strstr(text, word)) return;
    print_error("'%s' is not in: %s\n", word, text);
    fail();
}

// >>the driver

static spy_error open_device(const char *driver, uint32_t adapter) {
    spy_cuda_desc cuda;
    spy_device_desc d;
    memset(&cuda, 0, sizeof cuda);
    memset(&d, 0, sizeof d);
    cuda.driver_library = driver;
    d.backend = spy_cuda_backend();
    d.backend_desc = &cuda;
    d.adapter = adapter;
    spy_device *device = spy_create_device(&d);
    spy_release_device(device);
    return spy_take_error(NULL);
}

static void test_no_driver(void **state) {
    (void)state;
    spy_error e = open_device(NULL, 0);
    if (e.code == SPY_OK) {
        print_message("this machine has a CUDA device\n");
        skip();
    }
    assert_int_equal(e.code, SPY_ERROR_NO_DEVICE);
    has(e.message, "spy_create_device");
    has(e.message, "CUDA");
    assert_int_equal(spy_enumerate_adapters(spy_cuda_backend(), NULL, 0), 0);
    assert_int_equal(spy_take_error(NULL).code, SPY_ERROR_NO_DEVICE);
}

static void test_wrong_driver(void **state) {
    (void)state;
    spy_error e = open_device("/nowhere/libcuda.so.1", 0);
    assert_int_equal(e.code, SPY_ERROR_NO_DEVICE);
    has(e.message, "/nowhere/libcuda.so.1");
    e = open_device("libm.so.6", 0);
    assert_int_equal(e.code, SPY_ERROR_NO_DEVICE);
    has(e.message, "libm.so.6: is a library, but not CUDA's driver: it has no cuInit");
}

// >>NVRTC

static void nvrtc_fails(const char *path, const char *word, const char *other) {
    spyi_nvrtc n;
    spyi_text error = { NULL, 0, 0 };
    assert_int_equal(spyi_nvrtc_open(path, &n, &error), SPY_ERROR_NO_COMPILER);
    has(spyi_text_str(&error), word);
    has(spyi_text_str(&error), other);
    has(spyi_text_str(&error), "pip install nvidia-cuda-nvrtc");
    assert_null(n.library);
    spyi_text_free(&error);
}

// Before anything loads NVRTC: a process has one copy of it.
static void test_missing_nvrtc(void **state) {
    (void)state;
    char folder[] = "/tmp/spy_nvrtc_XXXXXX", link[64], *real, given[4096];
    const char *named = getenv("SLANGPY_NVRTC_LIBRARY");
    snprintf(given, sizeof given, "%s", named ? named : "build/nvrtc/libnvrtc.so.13");
    assert_non_null(mkdtemp(folder));
    nvrtc_fails("/nowhere/libnvrtc.so.13", "/nowhere/libnvrtc.so.13", "the desc's nvrtc_library");
    nvrtc_fails("libm.so.6", "not NVRTC", "nvrtcVersion");
    setenv("SLANGPY_NVRTC_LIBRARY", "/elsewhere/libnvrtc.so", 1);
    nvrtc_fails(NULL, "/elsewhere/libnvrtc.so", "environment variable SLANGPY_NVRTC_LIBRARY");
    unsetenv("SLANGPY_NVRTC_LIBRARY");
    setenv("CUDA_PATH", folder, 1); // no toolkit there; /usr/local/cuda and Python's packages may have one
    spyi_nvrtc n;
    spyi_text error = { NULL, 0, 0 };
    if (spyi_nvrtc_open(NULL, &n, &error) != SPY_OK) {
        has(spyi_text_str(&error), folder);
        has(spyi_text_str(&error), "libnvrtc.so.12");
        has(spyi_text_str(&error), "/usr/local/cuda");
        has(spyi_text_str(&error), "no nvidia-cuda-nvrtc");
    }
    spyi_text_free(&error);
    unsetenv("CUDA_PATH");
    // A copy without the library of its built-ins.
    real = realpath(given, NULL);
    assert_non_null(real);
    snprintf(link, sizeof link, "%s/libnvrtc.so.13", folder);
    assert_int_equal(symlink(real, link), 0);
    if (!n.library) nvrtc_fails(link, link, "libnvrtc-builtins");
    unlink(link);
    rmdir(folder);
    setenv("SLANGPY_NVRTC_LIBRARY", given, 1);
    free(real);
}

static void test_open_nvrtc(void **state) {
    (void)state;
    spyi_text error = { NULL, 0, 0 };
    if (spyi_nvrtc_open(NULL, &nvrtc, &error) != SPY_OK) print_error("%s\n", spyi_text_str(&error));
    spyi_text_free(&error);
    assert_non_null(nvrtc.library);
    assert_true(nvrtc.major >= 11 && nvrtc.arch_count > 0);
}

// >>compiling

static char heard[4096];
static void hear(spy_log_level level, const char *message, void *user) {
    (void)level, (void)user;
    snprintf(heard, sizeof heard, "%s", message);
}

static spy_compile_options module_options; // that the kernels of compile() have

static spy_status compile(int arch, const char *prelude, const char *body, spyi_text *code, spyi_text *error) {
    spyi_context ctx;
    spyi_profile profile;
    spyi_kernel_desc desc;
    spyi_text text = { NULL, 0, 0 };
    memset(&ctx, 0, sizeof ctx);
    memset(&profile, 0, sizeof profile);
    memset(&desc, 0, sizeof desc);
    memset(heard, 0, sizeof heard);
    ctx.log.func = hear;
    ctx.log.level = SPY_LOG_LEVEL_INFO;
    spyi_text_add(&text, "%s%s", prelude, body);
    desc.label = "a-test";
    desc.entry = "k";
    desc.iface.group[0] = 256;
    desc.iface.group[1] = desc.iface.group[2] = 1;
    desc.code = spyi_text_str(&text);
    desc.code_size = text.size + 1;
    desc.prelude_size = strlen(prelude);
    profile.target = SPYI_TARGET_CUDA;
    profile.arch = (uint32_t)arch;
    profile.float_mode = (uint8_t)module_options.float_mode;
    profile.debug_info = (uint8_t)module_options.debug_info;
    spy_status status = spyi_cuda_compile_text(&ctx, &nvrtc, &profile, &desc, code, error);
    char *entry = spyi_cuda_symbol(&desc);
    assert_string_equal(entry, "spy_a_test");
    free(entry);
    spyi_text_free(&text);
    return status;
}

static void test_compile(void **state) {
    (void)state;
    const char *plain = "extern \"C\" __global__ void k(float4 *a, uint n) { uint i = (blockIdx * blockDim + threadIdx).x;\n"
                        " if (i < n) a[i] = a[i] + a[i]; }\n";
    spyi_text code = { NULL, 0, 0 }, error = { NULL, 0, 0 };
    int newest = 0;
    for (int i = 0; i < nvrtc.arch_count; i++)
        if (nvrtc.archs[i] > newest) newest = nvrtc.archs[i];
    const int archs[] = { 75, 90, newest };
    for (int i = 0; i < 3; i++) {
        spyi_text_clear(&code);
        assert_int_equal(compile(archs[i], "", plain, &code, &error), SPY_OK);
        assert_memory_equal(code.data, "\177ELF", 4);
        assert_non_null(memmem(code.data, code.size, "spy_a_test", 10));
        assert_int_equal(heard[0], 0);
    }
    // Shared variables of more than 48 KiB become dynamic, which the driver allows when a launch asks for it.
    const char *large = "struct S { float a; };\n__device__ __shared__ FixedArray<FixedArray<uint4, 2>, 3000> many_0;\n__device__ __shared__ S one_0;\n"
                        "extern \"C\" __global__ void k(uint4 *a) { (*&many_0)[threadIdx.x][1] = a[0]; (&*&one_0)->a = 1; __syncthreads(); a[1] = many_0[5][1]; }\n";
    spyi_text_clear(&code);
    assert_int_equal(compile(90, "", large, &code, &error), SPY_OK);
    assert_non_null(memmem(code.data, code.size, "spy_groupshared", 15));
    // A device of exactly this architecture may use what is its own: wgmma of sm_90a. An older NVRTC names no such part.
    const char *own = "#ifndef __CUDA_ARCH_FEAT_SM90_ALL\n#error not sm_90a\n#endif\n"
                      "extern \"C\" __global__ void k(float *a) { asm volatile(\"wgmma.fence.sync.aligned;\" ::: \"memory\"); a[0] = 1; }\n";
    if (nvrtc.major >= 12) assert_int_equal(compile(90, "", own, &code, &error), SPY_OK);
    assert_int_equal(compile(80, "", own, &code, &error), SPY_ERROR_COMPILE);
    has(spyi_text_str(&error), "not sm_90a");
    spyi_text_clear(&error);
    // A device that is newer than NVRTC gets PTX, which shows how memory is read.
    spyi_text_clear(&code);
    assert_int_equal(compile(newest + 5, "", plain, &code, &error), SPY_OK);
    has(spyi_text_str(&code), ".version");
    has(spyi_text_str(&code), "ld.global.v4");
    has(spyi_text_str(&code), "st.global.v4");
    has(spyi_text_str(&code), ".maxntid 256");
    // One that is older than all it knows gets a word.
    spyi_text_clear(&code);
    assert_int_equal(compile(20, "", plain, &code, &error), SPY_ERROR_COMPILE);
    has(spyi_text_str(&error), "compute capability 2.0");
    spyi_text_clear(&error);
    // What our prelude lacks, Slang's has; the log says so.
    const char *body = "extern \"C\" __global__ void k(float *a) { a[0] = only_slang_has_this(a[0]); }\n";
    assert_int_equal(compile(90, "__device__ float only_slang_has_this(float x) { return x + 1; }\n", body, &code, &error), SPY_OK);
    has(heard, "a-test");
    has(heard, "only_slang_has_this");
    assert_int_equal(compile(90, "typedef int nothing;\n", body, &code, &error), SPY_ERROR_COMPILE);
    has(spyi_text_str(&error), "'a-test'");
    has(spyi_text_str(&error), "With Slang's own prelude:");
    spyi_text_clear(&error);
    assert_int_equal(compile(90, "", "__global__ void other() {}", &code, &error), SPY_ERROR_COMPILE);
    has(spyi_text_str(&error), "no kernel 'k'");
    spyi_text_free(&code);
    spyi_text_free(&error);
}

static void lacks(const char *text, const char *word) {
    if (strstr(text, word)) fail_msg("'%s' is in: %s", word, text);
}

// float_mode and debug_info, by what PTX shows of them; other [CudaKernel] functions of the module are functions.
static void test_options(void **state) {
    (void)state;
    const char *body = "__global__ void other(float *a) { a[1] = 5; }\n#line 77 \"some.slang\"\n"
                       "extern \"C\" __global__ void k(float *a) { a[0] = a[1] * a[2] + a[3]; a[4] = F32_sin(a[5]) / a[6]; other(a); }\n"
                       "extern \"C\" {\n__global__ void another(float *a) { a[2] = 5; }\n}\n";
    // What each has and lacks.
    static const struct {
        spy_float_mode float_mode;
        spy_debug_info debug_info;
        const char *has, *has_too, *lacks;
    } cases[] = {
        { SPY_FLOAT_MODE_DEFAULT, SPY_DEBUG_INFO_DEFAULT, "fma.rn.f32", "div.rn.f32", "sin.approx" },
        { SPY_FLOAT_MODE_DEFAULT, SPY_DEBUG_INFO_NONE, "fma.rn.f32", "div.rn.f32", "some.slang" },
        { SPY_FLOAT_MODE_PRECISE, SPY_DEBUG_INFO_DEFAULT, "mul.rn.f32", "add.rn.f32", "sin.approx" },
        { SPY_FLOAT_MODE_FAST, SPY_DEBUG_INFO_DEFAULT, "sin.approx", "div.approx", "div.rn.f32" },
        { SPY_FLOAT_MODE_DEFAULT, SPY_DEBUG_INFO_LINES, "some.slang", "fma.rn", ".section\t.debug_info" },
        { SPY_FLOAT_MODE_DEFAULT, SPY_DEBUG_INFO_FULL, "some.slang", "debug_info", "nothing of the sort" },
    };
    spyi_text code = { NULL, 0, 0 }, error = { NULL, 0, 0 };
    int newest = 0;
    for (int i = 0; i < nvrtc.arch_count; i++)
        if (nvrtc.archs[i] > newest) newest = nvrtc.archs[i];
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        module_options.float_mode = cases[i].float_mode;
        module_options.debug_info = cases[i].debug_info;
        for (int full = 0; full < 2; full++) { // our prelude, and then what it does not know
            spyi_text_clear(&code);
            const char *prelude = "__device__ float only_slang_has_this(float x) { return x; }\n#define F32_sin(x) sinf(only_slang_has_this(x))\n";
            spyi_text text = { NULL, 0, 0 };
            spyi_text_add(&text, "%s%s", full ? "__device__ float need() { return only_slang_has_this(1); }\n" : "", body);
            if (compile(newest + 5, full ? prelude : "", spyi_text_str(&text), &code, &error) != SPY_OK) fail_msg("%s", spyi_text_str(&error));
            assert_int_equal(heard[0] != 0, full);
            has(spyi_text_str(&code), cases[i].has);
            has(spyi_text_str(&code), cases[i].has_too);
            lacks(spyi_text_str(&code), cases[i].lacks);
            has(spyi_text_str(&code), ".entry spy_a_test");
            lacks(spyi_text_str(&code), ".entry other");
            lacks(spyi_text_str(&code), "another");
            spyi_text_free(&text);
            spyi_text_clear(&code);
            assert_int_equal(compile(90, "", body, &code, &error), SPY_OK);
        }
    }
    memset(&module_options, 0, sizeof module_options);
    spyi_text_free(&code);
    spyi_text_free(&error);
}

// >>programs: compile needs no device, and load no compiler

static const char program[] = "extern \"C\" __global__ void k() {}\n";

static spyi_kernel_desc program_desc(const void *code, size_t size) {
    spyi_kernel_desc desc;
    memset(&desc, 0, sizeof desc);
    desc.label = "a-test";
    desc.entry = "k";
    desc.iface.group[0] = 64;
    desc.iface.group[1] = desc.iface.group[2] = 1;
    desc.code = code;
    desc.code_size = size;
    return desc;
}

static spyi_profile program_profile(uint32_t arch) {
    spyi_profile profile;
    memset(&profile, 0, sizeof profile);
    profile.target = SPYI_TARGET_CUDA;
    profile.arch = arch;
    profile.max_block_bytes = 4096;
    profile.max_uniforms = 32;
    return profile;
}

static spyi_text cubin, ptx; // of `program`

static void *compile_program(void *user) {
    spyi_text *blob = (spyi_text *)user, error = { NULL, 0, 0 };
    spyi_kernel_desc desc = program_desc(program, sizeof program);
    spyi_profile profile = program_profile(blob == &ptx ? 9999 : 90);
    spy_status status = spy_cuda_backend()->compile(NULL, NULL, &profile, &desc, blob, &error);
    if (status != SPY_OK) print_error("%s\n", spyi_text_str(&error));
    spyi_text_free(&error);
    return status == SPY_OK ? user : NULL;
}

static void test_program(void **state) {
    (void)state;
    spyi_text blob = { NULL, 0, 0 }, error = { NULL, 0, 0 };
    pthread_t other;
    void *result = NULL;
    spyi_text_free(&cubin);
    spyi_text_free(&ptx);
    assert_int_equal(pthread_create(&other, NULL, compile_program, &ptx), 0);
    assert_non_null(compile_program(&cubin));
    assert_int_equal(pthread_join(other, &result), 0);
    assert_non_null(result);
    assert_memory_equal(cubin.data, "\177ELF", 4);
    assert_true(ptx.size > 0 && ptx.data[ptx.size - 1] == '\0');
    has(ptx.data, ".entry spy_a_test");
    // The same again is the same, whatever else is in the text that gets it.
    spyi_text_add(&blob, "head");
    assert_non_null(compile_program(&blob));
    assert_int_equal(blob.size, cubin.size + 4);
    assert_memory_equal(blob.data, "head", 4);
    // What no device of the profile could run.
    spyi_kernel_desc desc = program_desc(program, sizeof program);
    spyi_profile profile = program_profile(90);
    desc.iface.block_size = 5000;
    assert_int_equal(spy_cuda_backend()->compile(NULL, NULL, &profile, &desc, &blob, &error), SPY_ERROR_UNSUPPORTED);
    has(spyi_text_str(&error), "5000 bytes of parameters exceed the device's 4096");
    spyi_text_clear(&error);
    desc.iface.block_size = 0;
    assert_int_equal(spy_cuda_backend()->compile(NULL, "/nowhere/libnvrtc.so.13", &profile, &desc, &blob, &error), SPY_ERROR_NO_COMPILER);
    has(spyi_text_str(&error), "/nowhere/libnvrtc.so.13");
    spyi_text_clear(&error);
    desc.code = "void k() {}";
    desc.code_size = 12;
    assert_int_equal(spy_cuda_backend()->compile(NULL, NULL, &profile, &desc, &blob, &error), SPY_ERROR_COMPILE);
    has(spyi_text_str(&error), "cannot compile kernel 'a-test'");
    // SPIR-V is what drivers take.
    const uint32_t words[] = { 0x07230203u, 0x00010500u, 0, 1, 0 };
    const struct spyi_backend *backends[] = { spy_vk_backend(), spyi_null_backend() };
    desc = program_desc(words, sizeof words);
    memset(&profile, 0, sizeof profile);
    for (int i = 0; i < 2; i++) {
        spyi_text_clear(&blob);
        assert_int_equal(backends[i]->compile(NULL, NULL, &profile, &desc, &blob, &error), SPY_OK);
        assert_int_equal(blob.size, sizeof words);
        assert_memory_equal(blob.data, words, sizeof words);
    }
    spyi_text_free(&blob);
    spyi_text_free(&error);
}

static void test_load(void **state) {
    (void)state;
    spyi_gpu *gpu = NULL;
    spyi_kernel *kernel;
    spyi_context ctx;
    spy_cuda_desc cuda;
    spy_device_desc d;
    spyi_text error = { NULL, 0, 0 };
    const spy_backend *backend = spy_cuda_backend();
    memset(&cuda, 0, sizeof cuda);
    memset(&d, 0, sizeof d);
    cuda.driver_library = fake_path;
    cuda.nvrtc_library = "/nowhere/libnvrtc.so.13"; // which is not asked for
    d.backend = backend;
    d.backend_desc = &cuda;
    spyi_context_init(&ctx, &d);
    assert_int_equal(backend->create(&ctx, &d, &gpu, &error), SPY_OK);
    const spyi_gpu_base *base = (const spyi_gpu_base *)(const void *)gpu;
    assert_int_equal(base->limits.profile.target, SPYI_TARGET_CUDA);
    assert_int_equal(base->limits.profile.arch, 990);
    assert_string_equal(base->compiler, "/nowhere/libnvrtc.so.13");
    const spyi_text *blobs[] = { &cubin, &ptx };
    for (int i = 0; i < 2; i++) {
        spyi_kernel_desc desc = program_desc(blobs[i]->data, blobs[i]->size);
        assert_int_equal(backend->load(gpu, &desc, &kernel, &error), SPY_OK);
        backend->destroy_kernel(gpu, kernel);
    }
    // PTX that is cut off, and nothing.
    for (size_t size = 0; size < ptx.size; size += ptx.size - 1) {
        spyi_kernel_desc desc = program_desc(ptx.data, size);
        spyi_text_clear(&error);
        assert_int_equal(backend->load(gpu, &desc, &kernel, &error), SPY_ERROR_COMPILE);
        assert_null(kernel);
        has(spyi_text_str(&error), "what kernel 'a-test' has is neither PTX nor a cubin");
    }
    backend->destroy(gpu);
    spyi_context_destroy(&ctx);
    spyi_text_free(&cubin);
    spyi_text_free(&ptx);
    spyi_text_free(&error);
}

// Sizes and alignments of the types that Slang names in CUDA text, as the library's own types have them.
static void test_layouts(void **state) {
    (void)state;
    static const struct {
        spy_dtype dtype;
        const char *name, *scalar;
    } scalars[] = { { SPY_DTYPE_BOOL, "bool", "bool" },
                    { SPY_DTYPE_INT8, "char", "char" },
                    { SPY_DTYPE_UINT8, "uchar", "uchar" },
                    { SPY_DTYPE_INT16, "short", "short" },
                    { SPY_DTYPE_UINT16, "ushort", "ushort" },
                    { SPY_DTYPE_INT32, "int", "int" },
                    { SPY_DTYPE_UINT32, "uint", "uint" },
                    { SPY_DTYPE_INT64, "longlong", "longlong" },
                    { SPY_DTYPE_UINT64, "ulonglong", "ulonglong" },
                    { SPY_DTYPE_FLOAT16, "__half", "__half" },
                    { SPY_DTYPE_FLOAT32, "float", "float" },
                    { SPY_DTYPE_FLOAT64, "double", "double" } };
    spyi_types *types = spyi_types_create(SPYI_TARGET_CUDA);
    spyi_text body = { NULL, 0, 0 }, code = { NULL, 0, 0 }, error = { NULL, 0, 0 };
    for (size_t i = 0; i < sizeof scalars / sizeof scalars[0]; i++) {
        const spyi_type *s = spyi_type_scalar(types, scalars[i].dtype);
        spyi_text_add(&body, "static_assert(sizeof(%s) == %zu && alignof(%s) == %zu, \"%s\");\n", scalars[i].scalar, s->device_size,
                      scalars[i].scalar, s->device_align, scalars[i].name);
        for (uint32_t n = 2; n <= 4; n++) {
            const spyi_type *v = spyi_type_vector(types, scalars[i].dtype, n);
            spyi_text_add(&body, "static_assert(sizeof(%s%u) == %zu && alignof(%s%u) == %zu, \"%s%u\");\n", scalars[i].name, n,
                          spyi_type_device_stride(v), scalars[i].name, n, v->device_align, scalars[i].name, n);
            for (uint32_t rows = 2; rows <= 4; rows++) {
                const spyi_type *m = spyi_type_matrix(types, scalars[i].dtype, rows, n);
                spyi_text_add(&body, "static_assert(sizeof(Matrix<%s, %u, %u>) == %zu && alignof(Matrix<%s, %u, %u>) == %zu, \"%s%ux%u\");\n",
                              scalars[i].scalar, rows, n, spyi_type_device_stride(m), scalars[i].scalar, rows, n, m->device_align,
                              scalars[i].name, rows, n);
            }
        }
    }
    spyi_text_add(&body, "static_assert(sizeof(StructuredBuffer<float>) == 16 && sizeof(RWByteAddressBuffer) == 16, \"buffers\");\n"
                         "static_assert(sizeof(TensorView) == 56, \"views\");\n"
                         "static_assert(sizeof(FixedArray<__half3, 3>) == 24, \"arrays\");\n"
                         "extern \"C\" __global__ void k(int *a) { a[0] = 1; }\n");
    spy_status status = compile(90, "", spyi_text_str(&body), &code, &error);
    if (status != SPY_OK) print_error("%s\n", spyi_text_str(&error));
    assert_int_equal(status, SPY_OK);
    spyi_text_free(&body);
    spyi_text_free(&code);
    spyi_text_free(&error);
    spyi_types_destroy(types);
}

// >>kernels' descs: a null device with the CUDA target

typedef struct seen {
    uint32_t param_count, params[8], uniform_count, block_size, group[3];
    spyi_parameter_place places[8];
    char text[65536];
    unsigned char block[512], globals[512];
    uint32_t sizes[8];
} seen;
static seen last;

static spy_status on_kernel(const spyi_kernel_desc *desc, void *user, spyi_text *error) {
    (void)user, (void)error;
    memset(&last, 0, sizeof last);
    last.block_size = desc->iface.block_size;
    for (uint32_t i = 0; i < desc->iface.parameter_count; i++) {
        const spyi_parameter *p = &desc->iface.parameters[i];
        if (p->kind == SPYI_PARAMETER_VALUES && last.param_count++ < 8) last.params[last.param_count - 1] = p->place.offset;
        if (p->kind == SPYI_PARAMETER_UNIFORM && last.uniform_count++ < 8) last.places[last.uniform_count - 1] = p->place;
    }
    memcpy(last.group, desc->iface.group, sizeof last.group);
    snprintf(last.text, sizeof last.text, "%s", (const char *)desc->code + desc->prelude_size);
    return SPY_OK;
}

static void on_dispatch(spyi_gpu *gpu, const spyi_null_op *op, void *user) {
    (void)gpu, (void)user;
    memcpy(last.block, op->block, op->block_size < sizeof last.block ? op->block_size : sizeof last.block);
    for (uint32_t i = 0; i < op->uniform_count && i < 8; i++) last.sizes[i] = op->uniforms[i].size;
    if (op->uniform_count && op->uniforms[0].size <= sizeof last.globals)
        memcpy(last.globals, op->uniforms[0].data, op->uniforms[0].size);
}

static const char source[] = "struct Light { float3 dir; bool on; float power; }\n"
                             "struct Params { StructuredBuffer<float> weights; float bias; ConstantBuffer<Light> key; }\n"
                             "float scale;\nbool flag;\nfloat unused;\nConstantBuffer<Light> light;\nParameterBlock<Params> params;\n"
                             "StructuredBuffer<float2> table;\nTexture2D<float4> picture;\nStructuredBuffer<float> many[3];\n"
                             "float chosen(int i) { return many[i][0]; }\n"
                             "float add(float a, float b) { return a + b; }\n"
                             "float lit(float a) { return flag ? a * scale + light.dir.x + params.key.power + params.weights[0] : table[1].x; }\n"
                             "float row(StructuredBuffer<float2> s, ByteAddressBuffer b, int i) { return s[i].y + b.Load<float>(4 * i); }\n"
                             "bool both(bool a, bool b) { return a && b; }\n"
                             "float held(ConstantBuffer<Light> l, int i) { return l.power * i; }\n"
                             "float shown(float x) { return x + picture.Load(int3(0)).x; }\n"
                             "[shader(\"compute\")] [numthreads(8, 4, 2)]\n"
                             "void own(uint3 t : SV_DispatchThreadID, uniform bool on, uniform float2 v, uniform RWStructuredBuffer<float> out,\n"
                             "         uniform ConstantBuffer<Light> l) { if (on) out[t.x] = v.y * l.power; }\n";

static spy_device *device;
static spy_module *module;

static void open_null(spy_log_func log) {
    spyi_null_desc n;
    spy_device_desc d;
    spy_module_desc m;
    memset(&n, 0, sizeof n);
    memset(&d, 0, sizeof d);
    memset(&m, 0, sizeof m);
    n.target = SPYI_TARGET_CUDA;
    n.max_block_bytes = 4096;
    n.max_bindings = 64;
    n.binding_alignment = 16;
    n.on_kernel = on_kernel;
    d.backend = spyi_null_backend();
    d.backend_desc = &n;
    d.log.func = log;
    device = spy_create_device(&d);
    assert_non_null(device);
    m.name = "shaders";
    m.source = source;
    module = spy_load_module(device, &m);
    if (!module) print_error("%s\n", spy_take_error(device).message);
    assert_non_null(module);
    spyi_null_on_dispatch(spyi_device_gpu(device, "null", "test"), on_dispatch, NULL);
}

static void good(spy_status status) {
    if (status == SPY_OK) return;
    print_error("%s\n", spy_take_error(device).message);
    fail();
}

static spy_tensor *floats(int64_t count, spy_dtype dtype, const char *type) {
    spy_tensor_desc d;
    memset(&d, 0, sizeof d);
    d.shape = SPY_SHAPE(count);
    d.dtype = dtype;
    d.type = type;
    return spy_create_tensor(device, &d);
}

static void test_descs(void **state) {
    (void)state;
    open_null(NULL);
    spy_tensor *a = floats(1 << 18, SPY_DTYPE_FLOAT32, NULL), *b = floats(1 << 18, SPY_DTYPE_FLOAT32, NULL), *pairs = floats(64, SPY_DTYPE_DEFAULT, "float2");
    spy_tensor *x = floats(1 << 18, SPY_DTYPE_BOOL, NULL);
    spy_function *add = spy_find_function(module, "add");
    uint64_t address, count;
    // Arguments by value, wide access by float4.
    good(spy_call(add, SPY_ARGS(spy_arg_tensor("a", a), spy_arg_f32("b", 2), spy_arg_tensor("_result", b))));
    good(spy_wait(device));
    assert_int_equal(last.param_count, 1);
    assert_int_equal(last.params[0], 0);
    assert_int_equal(last.group[0] * last.group[1] * last.group[2], 256);
    has(last.text, "__global__ void spyi_kernel(SpyiBlock_0 spyi_block_0)");
    has(last.text, "float4");
    assert_null(strstr(last.text, "SLANG_globalParams"));
    memcpy(&address, last.block, 8);
    assert_true(address == spy_tensor_address(a));
    // Bools are bytes.
    good(spy_call(spy_find_function(module, "both"), SPY_ARGS(spy_arg_tensor("a", x), spy_arg_bool("b", true), spy_arg_tensor("_result", x))));
    has(last.text, "uchar4");
    // Buffers are an address and a count of elements, or bytes.
    good(spy_call(spy_find_function(module, "row"),
                  SPY_ARGS(spy_arg_tensor("s", pairs), spy_arg_tensor("b", a), spy_arg_i32("i", 1), spy_arg_tensor("_result", b))));
    good(spy_wait(device));
    const char *field = strstr(last.text, "struct SpyiBlock_0");
    assert_non_null(field);
    has(field, "StructuredBuffer<float2");
    has(field, "ByteAddressBuffer");
    bool found = false, bytes = false;
    for (size_t i = 0; i + 16 <= last.block_size; i += 8) {
        memcpy(&address, last.block + i, 8);
        memcpy(&count, last.block + i + 8, 8);
        found = found || (address == spy_tensor_address(pairs) && count == 64);
        bytes = bytes || (address == spy_tensor_address(a) && count == (uint64_t)4 << 18);
    }
    assert_true(found && bytes);
    // A ConstantBuffer that is an argument is a global of the kernel's own.
    struct {
        float dir[3];
        bool on;
        float power;
    } light = { { 1, 2, 3 }, true, 4 };
    good(spy_call(spy_find_function(module, "held"), SPY_ARGS(spy_arg_data("l", &light, sizeof light), spy_arg_i32("i", 1), spy_arg_tensor("_result", b))));
    good(spy_wait(device));
    assert_true(last.uniform_count >= 2 && last.places[0].holder == SPYI_HOLDER_NONE);
    for (uint32_t i = 1; i < last.uniform_count; i++) assert_true(last.places[i].holder < i);
    assert_int_equal(last.sizes[last.uniform_count - 1], 20);
    // Globals: those that are used must be given, and no others.
    spy_function *lit = spy_find_function(module, "lit");
    spy_args args = SPY_ARGS(spy_arg_tensor("a", a), spy_arg_tensor("_result", b));
    spy_call_options o;
    memset(&o, 0, sizeof o);
    o.globals = SPY_ARGS(spy_arg_f32("scale", 2), spy_arg_bool("flag", true), spy_arg_tensor("table", pairs),
                         spy_arg_data("light", &light, sizeof light), spy_arg_data("params.key", &light, sizeof light));
    assert_int_equal(spy_call_with(lit, args, &o), SPY_ERROR_NOT_FOUND);
    spy_error e = spy_take_error(device);
    has(e.message, "'params.weights'");
    assert_null(strstr(e.message, "params.bias"));
    assert_null(strstr(e.message, "unused"));
    o.globals = SPY_ARGS(spy_arg_f32("scale", 2), spy_arg_bool("flag", true), spy_arg_tensor("table", pairs),
                         spy_arg_data("light", &light, sizeof light), spy_arg_data("params.key", &light, sizeof light),
                         spy_arg_tensor("params.weights", a));
    good(spy_call_with(lit, args, &o));
    good(spy_wait(device));
    assert_int_equal(last.uniform_count, 4); // the globals, light, params, params.key
    assert_int_equal(last.places[0].holder, SPYI_HOLDER_NONE);
    assert_int_equal(last.places[1].holder, 0);
    assert_int_equal(last.places[2].holder, 0);
    assert_int_equal(last.places[3].holder, 2);
    assert_int_equal(last.places[3].offset, 24); // behind { address, count } and a float
    float scale;
    memcpy(&scale, last.globals, 4);
    assert_float_equal(scale, 2, 0);
    assert_int_equal(last.globals[4], 1);
    // Arrays of buffers: one address and count behind the other.
    o.globals = SPY_ARGS(spy_arg_struct("many", SPY_ARGS(spy_arg_tensor("[0]", a), spy_arg_tensor("[1]", b), spy_arg_tensor("[2]", a))));
    good(spy_call_with(spy_find_function(module, "chosen"), SPY_ARGS(spy_arg_i32("i", 1), spy_arg_tensor("_result", b)), &o));
    good(spy_wait(device));
    found = false;
    for (size_t i = 0; i + 48 <= sizeof last.globals && !found; i += 8) {
        uint64_t parts[6];
        memcpy(parts, last.globals + i, sizeof parts);
        found = parts[0] == spy_tensor_address(a) && parts[2] == spy_tensor_address(b) && parts[4] == parts[0] && parts[1] == 1 << 18;
    }
    assert_true(found);
    // A texture that is not given is an error only for kernels that use it.
    assert_int_equal(spy_call(spy_find_function(module, "shown"), SPY_ARGS(spy_arg_tensor("x", a), spy_arg_tensor("_result", b))), SPY_ERROR_NOT_FOUND);
    has(spy_take_error(device).message, "'picture'");
    // A shader of the user's own: its arguments where Slang has placed them, its group as it says.
    spy_uint3 threads = { 16, 4, 2 };
    float v[2] = { 3, 4 };
    good(spy_dispatch(spy_find_function(module, "own"), threads,
                      SPY_ARGS(spy_arg_bool("on", true), spy_arg_f32n("v", v, 2), spy_arg_tensor("out", a), spy_arg_data("l", &light, sizeof light)), NULL));
    good(spy_wait(device));
    assert_int_equal(last.param_count, 4);
    const uint32_t offsets[] = { 0, 8, 16, 32 };
    for (int i = 0; i < 4; i++) assert_int_equal(last.params[i], offsets[i]);
    assert_int_equal(last.group[0], 8);
    assert_int_equal(last.group[1], 4);
    assert_int_equal(last.group[2], 2);
    assert_int_equal(last.block[0], 1);
    assert_memory_equal(last.block + 8, v, 8);
    memcpy(&address, last.block + 16, 8);
    memcpy(&count, last.block + 24, 8);
    assert_true(address == spy_tensor_address(a) && count == 1 << 18);
    uint32_t mine = last.uniform_count - 1;
    assert_true(last.places[mine].holder == SPYI_HOLDER_BLOCK && last.places[mine].offset == 32);
    spy_release_device(device);
}

// >>contexts: on a driver without a GPU, which is found under the real one's name once it is loaded, so the last tests here

static int (*cu_create)(void **context, unsigned flags, int device);
static int (*cu_destroy)(void *context);
static int (*cu_current)(void **context);
static int (*cu_pop)(void **context);

static int (*cu_stream)(void **stream, unsigned flags);
static int (*cu_stream_destroy)(void *stream);
static fake_cuda *fake;

static void *symbol_of(void *library, const char *name) {
    void *symbol = library ? dlsym(library, name) : NULL;
    if (!symbol) fail_msg("%s: no %s", fake_path, name);
    return symbol;
}

static void load_fake_driver(void) {
    void *library = dlopen(fake_path, RTLD_NOW | RTLD_LOCAL);
    void *create = symbol_of(library, "cuCtxCreate_v2"), *destroy = symbol_of(library, "cuCtxDestroy_v2"),
         *current = symbol_of(library, "cuCtxGetCurrent"), *pop = symbol_of(library, "cuCtxPopCurrent_v2");
    memcpy(&cu_create, &create, sizeof create);
    memcpy(&cu_destroy, &destroy, sizeof destroy);
    memcpy(&cu_current, &current, sizeof current);
    memcpy(&cu_pop, &pop, sizeof pop);
    void *stream = symbol_of(library, "cuStreamCreate"), *end = symbol_of(library, "cuStreamDestroy_v2");
    memcpy(&cu_stream, &stream, sizeof stream);
    memcpy(&cu_stream_destroy, &end, sizeof end);
    fake = fake_cuda_state_at(fake_path);
}

static void *current_context(void) {
    void *context = NULL;
    assert_int_equal(cu_current(&context), 0);
    return context;
}

static void *new_context(int ordinal) { // current nowhere
    void *context = NULL, *popped = NULL;
    if (cu_create == NULL) load_fake_driver();
    assert_int_equal(cu_create(&context, 0, ordinal) | cu_pop(&popped), 0);
    assert_ptr_equal(context, popped);
    return context;
}

static void *thread_without_context(void *user) {
    void *context = user;
    uint32_t adapter = 7;
    bool ok = spy_cuda_get_current_context(&context, &adapter) == SPY_OK && context == NULL && adapter == 0;
    ok = ok && spy_cuda_set_current_context(user) == SPY_OK && current_context() == user;
    return ok ? user : NULL;
}

static void test_current_context(void **state) {
    (void)state;
    void *first = new_context(0), *second = new_context(1), *context = &first, *set = NULL;
    uint32_t adapter = 7;
    assert_int_equal(spy_cuda_get_current_context(&context, &adapter), SPY_OK);
    assert_true(context == NULL && adapter == 0);
    assert_int_equal(spy_cuda_set_current_context(second), SPY_OK);
    assert_int_equal(spy_cuda_get_current_context(&context, &adapter), SPY_OK);
    assert_true(context == second && adapter == 2);
    assert_int_equal(spy_cuda_set_current_context(first), SPY_OK);
    assert_ptr_equal(current_context(), first);
    assert_int_equal(spy_cuda_get_current_context(NULL, &adapter), SPY_OK);
    assert_int_equal(adapter, 1);
    // Another thread has none, and its own from then on.
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, thread_without_context, second), 0);
    assert_int_equal(pthread_join(thread, &set), 0);
    assert_ptr_equal(set, second);
    assert_ptr_equal(current_context(), first);
    // What is no context, and one that has ended.
    assert_int_equal(spy_cuda_set_current_context(&first), SPY_ERROR_INVALID_ARGUMENT);
    has(spy_take_error(NULL).message, "spy_cuda_set_current_context: cuCtxSetCurrent gave");
    assert_ptr_equal(current_context(), first);
    assert_int_equal(spy_cuda_set_current_context(second), SPY_OK);
    assert_int_equal(cu_destroy(first), 0);
    assert_int_equal(spy_cuda_set_current_context(first), SPY_ERROR_INVALID_ARGUMENT);
    assert_int_equal(spy_take_error(NULL).code, SPY_ERROR_INVALID_ARGUMENT);
    assert_int_equal(spy_cuda_set_current_context(NULL), SPY_OK);
    assert_int_equal(spy_cuda_get_current_context(&context, NULL), SPY_OK);
    assert_true(context == NULL && current_context() == NULL);
    assert_int_equal(cu_destroy(second), 0);
}

// A device on a given context; what was current stays so but for make_current.
static void test_given_context(void **state) {
    (void)state;
    void *mine = new_context(1), *other = new_context(0);
    spy_cuda_desc cuda;
    spy_device_desc d;
    memset(&cuda, 0, sizeof cuda);
    memset(&d, 0, sizeof d);
    assert_int_equal(spy_cuda_set_current_context(other), SPY_OK);
    cuda.context = mine;
    d.backend = spy_cuda_backend();
    d.backend_desc = &cuda;
    device = spy_create_device(&d);
    if (!device) fail_msg("%s", spy_take_error(NULL).message);
    assert_ptr_equal(spy_cuda_get_context(device), mine);
    assert_ptr_equal(current_context(), other);
    assert_int_equal(spy_cuda_make_current(device), SPY_OK);
    assert_ptr_equal(current_context(), mine);
    assert_int_equal(spy_cuda_set_current_context(other), SPY_OK);
    spy_release_device(device);
    assert_ptr_equal(current_context(), other);
    d.adapter = 1;
    assert_null(spy_create_device(&d));
    has(spy_take_error(NULL).message, "desc.adapter is 1, but the given context is of device 2");
    d.adapter = 0;
    cuda.context = &mine;
    assert_null(spy_create_device(&d));
    has(spy_take_error(NULL).message, "the desc's CUDA context cannot be used");
    assert_ptr_equal(current_context(), other);
    assert_int_equal(spy_cuda_set_current_context(NULL) | cu_destroy(mine) | cu_destroy(other), 0);
}

// Order with another's stream, and that what is read after it waits too.
static void test_other_streams(void **state) {
    (void)state;
    void *mine = new_context(0), *foreign = new_context(1), *stream = NULL, *wrong = NULL;
    float numbers[4] = { 1, 2, 3, 4 };
    spy_cuda_desc cuda;
    spy_device_desc d;
    spy_tensor_desc t;
    memset(&cuda, 0, sizeof cuda);
    memset(&d, 0, sizeof d);
    memset(&t, 0, sizeof t);
    assert_int_equal(spy_cuda_set_current_context(foreign) | cu_stream(&wrong, 1) | spy_cuda_set_current_context(mine) | cu_stream(&stream, 1), 0);
    cuda.context = mine;
    d.backend = spy_cuda_backend();
    d.backend_desc = &cuda;
    device = spy_create_device(&d);
    if (!device) fail_msg("%s", spy_take_error(NULL).message);
    t.shape = SPY_SHAPE(4);
    t.data = numbers;
    spy_tensor *x = spy_create_tensor(device, &t), *y = spy_create_tensor(device, &t);
    void *own = spy_cuda_get_stream(device), *lane;
    good(spy_wait(device));
    good(spy_tensor_fill(y, 5));
    good(spy_tensor_read(x, numbers, sizeof numbers));
    lane = fake->read_in; // beside the work on y
    assert_true(lane != own && lane != NULL);
    good(spy_cuda_wait_stream(device, stream));
    assert_true(fake->waiting == own && fake->waits_for == stream);
    good(spy_tensor_fill(y, 6));
    good(spy_tensor_read(x, numbers, sizeof numbers));
    assert_true(fake->read_in == own || (fake->waiting == lane && fake->waits_for == own));
    good(spy_cuda_signal_stream(device, stream));
    assert_true(fake->waiting == stream && fake->waits_for == own);
    fake->waiting = NULL; // with itself there is nothing to do
    good(spy_cuda_wait_stream(device, NULL));
    good(spy_cuda_signal_stream(device, own));
    assert_null(fake->waiting);
    assert_int_equal(spy_cuda_wait_stream(device, wrong), SPY_ERROR_INVALID_ARGUMENT);
    has(spy_take_error(device).message, "spy_cuda_wait_stream: the stream is of another context");
    assert_int_equal(spy_cuda_signal_stream(device, wrong), SPY_ERROR_INVALID_ARGUMENT);
    has(spy_take_error(device).message, "spy_cuda_signal_stream: the stream is of another context");
    // A stream of the program's: reads are in it, behind what the program has put there.
    good(spy_cuda_set_stream(device, stream));
    good(spy_tensor_fill(y, 7));
    good(spy_tensor_read(x, numbers, sizeof numbers));
    assert_ptr_equal(fake->read_in, stream);
    assert_true(numbers[0] == 1 && numbers[3] == 4);
    spy_release_tensor(x);
    spy_release_tensor(y);
    spy_release_device(device);
    assert_int_equal(cu_stream_destroy(stream) | cu_stream_destroy(wrong), 0);
    assert_int_equal(spy_cuda_set_current_context(NULL) | cu_destroy(mine) | cu_destroy(foreign), 0);
}

// The text behind the prelude is repaired; the prelude, which has the same faults here, is not.
static void test_repairs(void **state) {
    (void)state;
    static const char prelude[] = "_pc_0 = int(0);\n_pc_1 = int(0);\nx_1[_pc_1][_pc_0] = a;\n",
                      saved[] = "_pc_0 = int(0);\n_pc_1 = int(0);\nx_0[_pc_1][_pc_0] = a;\nb = x_0[_pc_1][_pc_0];\n",
                      turned[] = "_pc_0 = int(0);\n_pc_1 = int(0);\nx_0[_pc_0][_pc_1] = a;\nb = x_0[_pc_0][_pc_1];\n",
                      stores[] = "__device__ void s_bwdProp_f_0(float g_0, int i_0, int j_0)\n{\n"
                                 "    FixedArray<float, 4> d_0 = FixedArray_dzero_0();\n"
                                 "    d_0[i_0] = g_0;\n"
                                 "    d_0[j_0] = g_0;\n"
                                 "    return;\n}\n";
    const char *texts[2] = { saved, stores };
    for (int i = 0; i < 2; i++) {
        size_t size = strlen(prelude) + strlen(texts[i]) + 1;
        char *text = (char *)spyi_malloc(size);
        assert_non_null(text);
        snprintf(text, size, "%s%s", prelude, texts[i]);
        spyi_code_faults faults = { true, true };
        spy_cuda_backend()->mend(&text, &size, strlen(prelude), &faults);
        assert_false(faults.saved);
        assert_false(faults.additions);
        assert_memory_equal(text, prelude, strlen(prelude));
        assert_int_equal(size, strlen(text) + 1);
        if (i == 0) assert_string_equal(text + strlen(prelude), turned);
        else has(text, "    d_0[i_0] = g_0;\n    spyi_addition_add(d_0[j_0], g_0);\n");
        free(text);
    }
}

int main(int count, char **words) {
    (void)count;
    fake_path = fake_cuda_path(words[0]);
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_no_driver), cmocka_unit_test(test_wrong_driver),
                                        cmocka_unit_test(test_missing_nvrtc), cmocka_unit_test(test_open_nvrtc),
                                        cmocka_unit_test(test_compile), cmocka_unit_test(test_options), cmocka_unit_test(test_program),
                                        cmocka_unit_test(test_load), cmocka_unit_test(test_layouts),
                                        cmocka_unit_test(test_descs), cmocka_unit_test(test_current_context),
                                        cmocka_unit_test(test_given_context), cmocka_unit_test(test_other_streams),
                                        cmocka_unit_test(test_repairs) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

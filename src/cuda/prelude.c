// Compiles Slang's CUDA text to device code. It first tries the library's own prelude, which compiles in a
// fifth of the time of Slang's and needs no CUDA headers for half. Text that fails with it is compiled with
// Slang's prelude, and the log says so.
#include "cuda/internal.h"
#include "cuda/embed.h"

// >>which parts of the library's prelude a text needs

enum {
    SPYI_BLOCK_VEC = 1,
    SPYI_BLOCK_ODDVEC = 2,
    SPYI_BLOCK_HALF = 4,
    SPYI_BLOCK_MAT = 8,
    SPYI_BLOCK_MATH = 16,
    SPYI_BLOCK_MATH64 = 32,
    SPYI_BLOCK_BUF = 64,
    SPYI_BLOCK_TENSOR = 128,
    SPYI_BLOCK_WAVE = 256,
    SPYI_BLOCK_TEX = 512,
    SPYI_BLOCK_GLOBALS = 1024,
    SPYI_BLOCK_SURFACE = 2048,
    SPYI_BLOCK_ALL = 2047 - SPYI_BLOCK_TEX - SPYI_BLOCK_GLOBALS
};

static const char *const spyi_block_macros[] = { "SPYI_VEC",  "SPYI_ODDVEC", "SPYI_HALF",   "SPYI_MAT",
                                                 "SPYI_MATH", "SPYI_MATH64", "SPYI_BUF",    "SPYI_TENSOR",
                                                 "SPYI_WAVE", "SPYI_TEX",    "SPYI_GLOBALS", "SPYI_SURFACE" };

// Prefixes of identifiers, and the blocks of the prelude that such identifiers need.
static const struct {
    const char *prefix;
    unsigned blocks;
} spyi_block_words[] = {
    { "float2", SPYI_BLOCK_VEC },
    { "float3", SPYI_BLOCK_VEC },
    { "float4", SPYI_BLOCK_VEC },
    { "int2", SPYI_BLOCK_VEC },
    { "int3", SPYI_BLOCK_VEC },
    { "int4", SPYI_BLOCK_VEC },
    { "uint2", SPYI_BLOCK_VEC },
    { "uint3", SPYI_BLOCK_VEC },
    { "uint4", SPYI_BLOCK_VEC },
    { "bool1", SPYI_BLOCK_VEC },
    { "bool2", SPYI_BLOCK_VEC },
    { "bool3", SPYI_BLOCK_VEC },
    { "bool4", SPYI_BLOCK_VEC },
    { "make_", SPYI_BLOCK_VEC },
    { "_slang_", SPYI_BLOCK_VEC },
    { "double1", SPYI_BLOCK_VEC | SPYI_BLOCK_ODDVEC },
    { "double2", SPYI_BLOCK_VEC | SPYI_BLOCK_ODDVEC },
    { "double3", SPYI_BLOCK_VEC | SPYI_BLOCK_ODDVEC },
    { "double4", SPYI_BLOCK_VEC | SPYI_BLOCK_ODDVEC },
    { "char", SPYI_BLOCK_VEC | SPYI_BLOCK_ODDVEC },
    { "uchar", SPYI_BLOCK_VEC | SPYI_BLOCK_ODDVEC },
    { "short", SPYI_BLOCK_VEC | SPYI_BLOCK_ODDVEC },
    { "ushort", SPYI_BLOCK_VEC | SPYI_BLOCK_ODDVEC },
    { "longlong", SPYI_BLOCK_VEC | SPYI_BLOCK_ODDVEC },
    { "ulonglong", SPYI_BLOCK_VEC | SPYI_BLOCK_ODDVEC },
    { "__half", SPYI_BLOCK_VEC | SPYI_BLOCK_HALF },
    { "__ushort_as_half", SPYI_BLOCK_VEC | SPYI_BLOCK_HALF },
    { "half", SPYI_BLOCK_VEC | SPYI_BLOCK_HALF },
    { "F16_", SPYI_BLOCK_VEC | SPYI_BLOCK_HALF },
    { "U16_", SPYI_BLOCK_VEC | SPYI_BLOCK_HALF },
    { "I16_", SPYI_BLOCK_VEC | SPYI_BLOCK_HALF },
    { "Matrix", SPYI_BLOCK_VEC | SPYI_BLOCK_MAT },
    { "makeMatrix", SPYI_BLOCK_VEC | SPYI_BLOCK_MAT },
    { "F32_", SPYI_BLOCK_MATH },
    { "I32_", SPYI_BLOCK_MATH },
    { "U32_", SPYI_BLOCK_MATH },
    { "I64_", SPYI_BLOCK_MATH },
    { "U64_", SPYI_BLOCK_MATH | SPYI_BLOCK_MATH64 },
    { "F64_", SPYI_BLOCK_MATH | SPYI_BLOCK_MATH64 },
    { "U32_asdouble", SPYI_BLOCK_MATH | SPYI_BLOCK_MATH64 },
    { "_slang_fmod", SPYI_BLOCK_MATH | SPYI_BLOCK_MATH64 },
    { "StructuredBuffer", SPYI_BLOCK_BUF },
    { "RWStructuredBuffer", SPYI_BLOCK_BUF },
    { "ByteAddressBuffer", SPYI_BLOCK_BUF },
    { "RWByteAddressBuffer", SPYI_BLOCK_BUF },
    { "TensorView", SPYI_BLOCK_TENSOR },
    { "_wave", SPYI_BLOCK_VEC | SPYI_BLOCK_WAVE },
    { "WarpMask", SPYI_BLOCK_VEC | SPYI_BLOCK_WAVE },
    { "_getLane", SPYI_BLOCK_VEC | SPYI_BLOCK_WAVE },
    { "_getActiveMask", SPYI_BLOCK_VEC | SPYI_BLOCK_WAVE },
    { "_getConvergedMask", SPYI_BLOCK_VEC | SPYI_BLOCK_WAVE },
    { "_getMultiPrefixMask", SPYI_BLOCK_VEC | SPYI_BLOCK_WAVE },
    { "tex1D", SPYI_BLOCK_TEX },
    { "tex2D", SPYI_BLOCK_TEX },
    { "tex3D", SPYI_BLOCK_TEX },
    { "texCube", SPYI_BLOCK_TEX },
    { "surf1D", SPYI_BLOCK_TEX },
    { "surf2D", SPYI_BLOCK_TEX },
    { "surf3D", SPYI_BLOCK_TEX },
    { "SLANG_globalParams", SPYI_BLOCK_GLOBALS },
};

// Returns the blocks that the text needs. This takes one pass over its identifiers, tens of microseconds.
static unsigned spyi_needed_blocks(const char *body) {
    unsigned blocks = 0;
    const char *c = body;
    while (*c != '\0') {
        size_t i;
        if (!spyi_is_word(*c)) {
            c++;
            continue;
        }
        for (i = 0; i < sizeof spyi_block_words / sizeof spyi_block_words[0]; i++)
            if (c[0] == spyi_block_words[i].prefix[0] &&
                strncmp(c, spyi_block_words[i].prefix, strlen(spyi_block_words[i].prefix)) == 0)
                blocks |= spyi_block_words[i].blocks;
        while (spyi_is_word(*c)) c++;
    }
    if (strstr(body, "Matrix<double") != NULL) blocks |= SPYI_BLOCK_ODDVEC; // its rows are double vectors
    if (strstr(body, "CUsurfObject") != NULL && strstr(body, "atomic") != NULL) blocks |= SPYI_BLOCK_SURFACE;
    return blocks;
}

static void spyi_add_prelude(unsigned blocks, spyi_text *out) {
    const char *const *line;
    uint32_t i;
    for (i = 0; i < sizeof spyi_block_macros / sizeof spyi_block_macros[0]; i++)
        if ((blocks & (1u << i)) != 0) spyi_text_add(out, "#define %s 1\n", spyi_block_macros[i]);
    for (line = spyi_text_prelude; *line != NULL; line++) spyi_text_add(out, "%s\n", *line);
}

// >>the kernel's text

// Appends text in which every kernel is replaced by a device function. Slang emits all [CudaKernel] functions
// of a module as kernels, also those that the wanted kernel calls like functions.
static void spyi_add_functions(const char *from, const char *end, spyi_text *out) {
    static const char global[] = "__global__";
    const char *at;
    while ((at = strstr(from, global)) != NULL && at < end) {
        spyi_text_add_n(out, from, (size_t)(at - from));
        spyi_text_add(out, "__device__ inline"); // the compiler removes functions that nothing calls
        from = at + sizeof global - 1;
    }
    spyi_text_add_n(out, from, (size_t)(end - from));
}

// Returns the position after the "(" of the kernel's declaration, and sets *begin to the start of the
// declaration. NULL means that the text has no such kernel. Slang appends a number to "main" and to other
// names that C++ reserves.
static const char *spyi_find_kernel(const char *body, const char *entry, const char **begin) {
    static const char global[] = "__global__ void ";
    size_t length = strlen(entry);
    int numbered;
    for (numbered = 0; numbered < 2; numbered++) {
        const char *at = body;
        while ((at = strstr(at, global)) != NULL) {
            *begin = at;
            at += sizeof global - 1;
            if (strncmp(at, entry, length) != 0) continue;
            at += length;
            if (numbered && *at == '_') do
                    at++;
                while (*at >= '0' && *at <= '9');
            if (*at == '(') return at + 1;
        }
    }
    return NULL;
}

// Appends the body with two changes: the kernel gets its label's name, for profilers, and its group size as
// launch bounds, so that the compiler limits its registers.
static bool spyi_add_body(const char *body, const spyi_kernel_desc *desc, const char *name, spyi_text *out) {
    const char *begin, *at = spyi_find_kernel(body, desc->entry, &begin);
    if (at == NULL) return false;
    spyi_add_functions(body, begin, out);
    spyi_text_add(out, "__global__ void __launch_bounds__(%u) %s(", spyi_interface_threads(&desc->iface),
                  name);
    spyi_add_functions(at, at + strlen(at), out);
    return true;
}

// Returns e.g. "spy_saxpy_1a2b3c4d"; no name of CUDA begins with "spy_".
SPYI_FN char *spyi_cuda_symbol(const spyi_kernel_desc *desc) {
    spyi_text name = { NULL, 0, 0 };
    const char *c;
    char *result;
    spyi_text_add(&name, "spy_");
    for (c = desc->label != NULL ? desc->label : desc->entry; *c != '\0'; c++)
        spyi_text_add(&name, "%c", spyi_is_word(*c) ? *c : '_');
    result = spyi_strdup(spyi_text_str(&name));
    spyi_text_free(&name);
    return result;
}

// >>groupshared variables
// The shared variables of CUDA have at most 48 KiB in a group. Dynamic shared memory, whose size each launch
// says, can be larger. Variables of a kernel that needs more are moved there, behind options.shared_bytes.
// The size of the array spy_groupshared tells the kernel's loader how much the options and the variables need
// together.

// The declaration of a shared variable begins with this mark, and "type name;" follows.
#define SPYI_SHARED_MARK "__device__ __shared__ "
#define SPYI_SHARED_LARGE "groupshared variables of more than 48 KiB"

typedef struct spyi_shared_variable {
    const char *begin, *end; // the text of the function's declaration, with the semicolon
    const char *name;
    size_t name_length;
} spyi_shared_variable;

// Finds the next shared variable from `at` on. Returns false when there is none.
static bool spyi_next_shared(const char *at, spyi_shared_variable *v) {
    const char *c = strstr(at, SPYI_SHARED_MARK);
    if (c == NULL) return false;
    v->begin = c;
    c += strcspn(c, ";");
    if (*c != ';') return false;
    v->end = c + 1;
    v->name = c;
    while (spyi_is_word(v->name[-1])) v->name--;
    v->name_length = (size_t)(c - v->name);
    return true;
}

// Appends a check of the size of all shared variables, which makes the compiler report SPYI_SHARED_LARGE.
static void spyi_add_shared_check(const char *body, spyi_text *out) {
    spyi_shared_variable v;
    if (!spyi_next_shared(body, &v)) return;
    spyi_text_add(out, "\nstatic_assert(0");
    for (; spyi_next_shared(body, &v); body = v.end)
        spyi_text_add(out, " + sizeof(%.*s)", (int)v.name_length, v.name);
    spyi_text_add(out, " <= 49152, \"" SPYI_SHARED_LARGE "\");\n");
}

// Appends the text with its variables in dynamic shared memory, from byte `first` on.
static void spyi_move_shared(const char *body, uint32_t first, spyi_text *out) {
    spyi_shared_variable v;
    unsigned number = 0;
    spyi_text_add(out,
                  "extern __shared__ __align__(16) unsigned char spyi_room[];\n"
                  "static constexpr size_t spyi_end_0 = %u;\n",
                  first);
    for (; spyi_next_shared(body, &v); body = v.end, number++) {
        const char *type = v.begin + sizeof SPYI_SHARED_MARK - 1;
        int length = (int)(v.name - type);
        spyi_text_add_n(out, body, (size_t)(v.begin - body));
        spyi_text_add(out,
                      "static constexpr size_t spyi_at_%u = (spyi_end_%u + 15) / 16 * 16, spyi_end_%u = "
                      "spyi_at_%u + sizeof(%.*s);\n#define %.*s (*(%.*s *)(spyi_room + spyi_at_%u))\n",
                      number, number, number + 1, number, length, type, (int)v.name_length, v.name, length,
                      type, number);
    }
    spyi_text_add(out, "%s\nextern \"C\" { __device__ unsigned char spy_groupshared[spyi_end_%u]; }\n", body,
                  number);
}

// >>compiling

enum { SPYI_NVRTC_OPTIONS = 8 };

// Sets `out` to the -I option for a folder with cuda_fp16.h, which only Slang's prelude needs; "" when there
// is none.
static void spyi_find_headers(spyi_text *out) {
    static const char *const folders[] = { NULL, NULL, "/usr/local/cuda", "/usr" };
    size_t i;
    for (i = 0; i < sizeof folders / sizeof folders[0]; i++) {
        const char *folder = i == 0 ? getenv("CUDA_PATH") : i == 1 ? getenv("CUDA_HOME") : folders[i];
        if (folder == NULL || folder[0] == '\0') continue;
        spyi_text_clear(out);
        spyi_text_add(out, "%s/include/cuda_fp16.h", folder);
        if (!spyi_file_exists(spyi_text_str(out))) continue;
        spyi_text_clear(out);
        spyi_text_add(out, "-I%s/include", folder);
        return;
    }
    spyi_text_clear(out);
}

// Fills NVRTC's options: the constant ones, then those for the module's options. Returns their number.
static int spyi_add_options(const spyi_profile *profile, const char *out[SPYI_NVRTC_OPTIONS]) {
    int count = 0;
    out[count++] = "-default-device";
    out[count++] = "-w";
    // By default NVRTC changes the process's stack limit during a compilation.
    out[count++] = "-modify-stack-limit=false";
    if (profile->float_mode == SPY_FLOAT_MODE_FAST) out[count++] = "-use_fast_math";
    if (profile->float_mode == SPY_FLOAT_MODE_PRECISE) out[count++] = "-fmad=false";
    if (profile->debug_info == SPY_DEBUG_INFO_LINES) out[count++] = "-lineinfo";
    if (profile->debug_info == SPY_DEBUG_INFO_FULL)
        out[count++] = "-G"; // this option turns optimisations
                             // off
    return count;
}

static bool spyi_compile_slim(const spyi_nvrtc *nvrtc, const spyi_profile *profile, const char *body,
                              const spyi_kernel_desc *desc, const char *name, unsigned blocks,
                              spyi_text *code, spyi_text *log) {
    const char *options[SPYI_NVRTC_OPTIONS];
    int count = spyi_add_options(profile, options);
    // -minimal omits what textures need; it exists since NVRTC 12.8.
    if ((blocks & SPYI_BLOCK_TEX) == 0 && nvrtc->major * 100 + nvrtc->minor >= 1208)
        options[count++] = "-minimal";
    spyi_text text = { NULL, 0, 0 };
    bool good;
    uint32_t failed = spyi_failed_allocations(); // NVRTC crashes on many texts that end early
    spyi_add_prelude(blocks, &text);
    good = spyi_add_body(body, desc, name, &text);
    spyi_add_shared_check(body, &text);
    if (spyi_failed_allocations() != failed) good = false;
    else if (!good) spyi_text_add(log, "the text has no kernel '%s'", desc->entry);
    else
        good = spyi_nvrtc_run(nvrtc, (int)profile->arch, profile->portable, spyi_text_str(&text),
                              desc->label != NULL ? desc->label : name, options, count, code, log);
    spyi_text_free(&text);
    return good;
}

static bool spyi_compile_full(const spyi_nvrtc *nvrtc, const spyi_profile *profile, const char *body,
                              const spyi_kernel_desc *desc, const char *name, spyi_text *code,
                              spyi_text *log) {
    const char *options[SPYI_NVRTC_OPTIONS];
    int count = spyi_add_options(profile, options);
    spyi_text text = { NULL, 0, 0 }, headers = { NULL, 0, 0 };
    bool good;
    uint32_t failed = spyi_failed_allocations();
    spyi_find_headers(&headers);
    if ((spyi_needed_blocks(body) & SPYI_BLOCK_HALF) != 0) options[count++] = "-DSLANG_CUDA_ENABLE_HALF=1";
    if (headers.size > 0) options[count++] = spyi_text_str(&headers);
    spyi_text_add_n(&text, (const char *)desc->code, desc->prelude_size);
    good = spyi_add_body(body, desc, name, &text) && spyi_failed_allocations() == failed &&
           spyi_nvrtc_run(nvrtc, (int)profile->arch, profile->portable, spyi_text_str(&text),
                          desc->label != NULL ? desc->label : name, options, count, code, log);
    spyi_text_free(&text);
    spyi_text_free(&headers);
    return good;
}

SPYI_FN spy_status spyi_cuda_compile_text(spyi_context *ctx, const spyi_nvrtc *nvrtc,
                                          const spyi_profile *profile, const spyi_kernel_desc *desc,
                                          spyi_text *code, spyi_text *error) {
    const char *body = (const char *)desc->code + desc->prelude_size;
    unsigned blocks = spyi_needed_blocks(body);
    spyi_text slim = { NULL, 0, 0 }, full = { NULL, 0, 0 }, moved = { NULL, 0, 0 };
    bool good;
    uint32_t failed = spyi_failed_allocations();
    char *entry = spyi_cuda_symbol(desc);
    if (entry == NULL) {
        spyi_text_add(error, "out of host memory");
        return SPY_ERROR_OUT_OF_MEMORY;
    }
    good = spyi_compile_slim(nvrtc, profile, body, desc, entry, blocks, code, &slim);
    // The size in the compiler's own message includes the gaps between the variables.
    if (!good && (strstr(spyi_text_str(&slim), SPYI_SHARED_LARGE) != NULL ||
                  strstr(spyi_text_str(&slim), "too much shared data") != NULL)) {
        spyi_move_shared(body, desc->iface.shared_bytes, &moved);
        body = spyi_text_str(&moved);
        spyi_text_clear(&slim);
        if (spyi_failed_allocations() == failed)
            good = spyi_compile_slim(nvrtc, profile, body, desc, entry, blocks, code, &slim);
    }
    if (!good && desc->prelude_size > 0 && spyi_failed_allocations() == failed) {
        good = spyi_compile_full(nvrtc, profile, body, desc, entry, code, &full);
        if (good)
            spyi_logf(ctx, SPY_LOG_LEVEL_INFO, "kernel '%s' needs Slang's own CUDA prelude: %s", desc->label,
                      spyi_text_str(&slim));
    }
    if (!good) {
        spyi_text_add(error, "NVRTC %d.%d cannot compile kernel '%s':\n%s", nvrtc->major, nvrtc->minor,
                      desc->label != NULL ? desc->label : desc->entry, spyi_text_str(&slim));
        if (full.size > 0) spyi_text_add(error, "With Slang's own prelude:\n%s", spyi_text_str(&full));
    }
    free(entry);
    spyi_text_free(&slim);
    spyi_text_free(&full);
    spyi_text_free(&moved);
    return good ? SPY_OK : spyi_check_allocations(failed, SPY_ERROR_COMPILE, error);
}

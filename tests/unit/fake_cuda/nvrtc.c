// NVRTC without a GPU: kernels become libraries of this machine, which the driver beside it plays (play.c). SLANGPY_NVRTC_LIBRARY names
// it. The text is compiled by g++ behind play.hpp, with three changes: the library's own texture functions and two instructions of PTX
// give way to those of play.hpp, and global parameters become a variable of the library. The "PTX" names the library's file.
//
// FAKE_CUDA_PLAY: the folder of play.hpp, which is where the files go, too, if FAKE_CUDA_FILES does not say another folder.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define API __attribute__((visibility("default")))
#define FAKE(name, arguments)                                                                                \
    API int name arguments;                                                                                  \
    API int name arguments

typedef struct program {
    char *source, *log, *ptx;
} program;

FAKE(nvrtcVersion, (int *major, int *minor)) { return *major = 13, *minor = 0, 0; }
FAKE(nvrtcGetNumSupportedArchs, (int *count)) { return *count = 1, 0; }
FAKE(nvrtcGetSupportedArchs, (int *archs)) { return *archs = 90, 0; }
FAKE(nvrtcCreateProgram, (void **out, const char *source, const char *name, int count, const char *const *headers, const char *const *names)) {
    program *p = (program *)calloc(1, sizeof *p);
    (void)name, (void)count, (void)headers, (void)names;
    p->source = strdup(source);
    p->log = strdup("");
    p->ptx = strdup("");
    return *out = p, 0;
}
FAKE(nvrtcDestroyProgram, (void **out)) {
    program *p = (program *)*out;
    free(p->source), free(p->log), free(p->ptx), free(p);
    return *out = NULL, 0;
}
FAKE(nvrtcGetProgramLogSize, (void *p, size_t *size)) { return *size = strlen(((program *)p)->log) + 1, 0; }
FAKE(nvrtcGetProgramLog, (void *p, char *out)) { return strcpy(out, ((program *)p)->log), 0; }
FAKE(nvrtcGetPTXSize, (void *p, size_t *size)) { return *size = strlen(((program *)p)->ptx) + 1, 0; }
FAKE(nvrtcGetPTX, (void *p, char *out)) { return strcpy(out, ((program *)p)->ptx), 0; }
// Of the library's probe alone: kernels are for a newer GPU than this compiler knows.
FAKE(nvrtcGetCUBINSize, (void *p, size_t *size)) { return nvrtcGetPTXSize(p, size); }
FAKE(nvrtcGetCUBIN, (void *p, char *out)) { return nvrtcGetPTX(p, out); }

// Writes the text up to `from`, then `with`, and returns where the text goes on. Without `from` nothing is written.
static const char *change(FILE *file, const char *text, const char *from, size_t length, const char *with) {
    if (!from) return text;
    (void)fwrite(text, 1, (size_t)(from - text), file);
    (void)fputs(with, file);
    return from + length;
}

static void write_text(FILE *file, const char *text, const char *name) {
    static const char *const changes[][2] = { { "asm(\"mov.u32 %0, %%laneid;\" : \"=r\"(r));", "r = spy_lane();" },
                                              { "asm(\"mov.u32 %0, %%lanemask_lt;\" : \"=r\"(r));", "r = (1u << spy_lane()) - 1u;" } };
    static const char constant[] = "extern \"C\" __constant__ ";
    (void)fputs("#include \"play.hpp\"\n", file);
    for (size_t i = 0; i < sizeof changes / sizeof changes[0]; i++)
        text = change(file, text, strstr(text, changes[i][0]), strlen(changes[i][0]), changes[i][1]);
    const char *textures = strstr(text, "#ifdef SPYI_TEX\n"), *behind = textures ? strstr(textures, "#ifdef SPYI_GLOBALS\n") : NULL;
    if (behind) text = change(file, text, textures, (size_t)(behind - textures), "");
    const char *globals = strstr(text, constant);
    text = change(file, text, globals, sizeof constant - 1, "__attribute__((visibility(\"default\"))) ");
    (void)fprintf(file, "%s\nSPY_KERNEL(%s, %s)\n", text, name, globals ? "sizeof(SLANG_globalParams)" : "0");
}

static char *read_file(const char *path) {
    FILE *file = fopen(path, "rb");
    char *text = (char *)calloc(1, 20001);
    if (file) (void)!fread(text, 1, 20000, file), fclose(file);
    return text;
}

static int compile(program *p, const char *name, const char *base) {
    const char *folder = getenv("FAKE_CUDA_PLAY");
    char path[640], command[4096];
    (void)snprintf(path, sizeof path, "%s.cpp", base);
    FILE *file = fopen(path, "wb");
    if (!folder || !file) return 1;
    write_text(file, p->source, name);
    fclose(file);
    // As NVRTC does: multiplications and additions become one operation where that is shorter.
    (void)snprintf(command, sizeof command,
                   "g++ -std=c++17 -O0 -w -fpermissive -fPIC -shared -fvisibility=hidden -ffp-contract=fast -march=native -fno-strict-aliasing "
                   "-I'%s' '%s.cpp' -o '%s.so' 2>'%s.log'",
                   folder, base, base, base);
    return system(command);
}

FAKE(nvrtcCompileProgram, (void *handle, int count, const char *const *options)) {
    static unsigned number;
    program *p = (program *)handle;
    const char *files = getenv("FAKE_CUDA_FILES"), *begin = strstr(p->source, "__global__ void ");
    char name[256], base[600], path[640];
    (void)count, (void)options;
    if (strstr(p->source, "void f() {}")) return p->ptx = strdup(".entry f()"), 0; // the library's probe
    const char *entry = begin ? strstr(begin, "spy_") : NULL;
    if (!entry) return p->log = strdup("the text has no kernel"), 6;
    (void)snprintf(name, sizeof name, "%.*s", (int)strcspn(entry, "("), entry);
    (void)snprintf(base, sizeof base, "%s/%s_%d_%u", files ? files : ".", name, (int)getpid(), __atomic_fetch_add(&number, 1, __ATOMIC_RELAXED));
    int failed = compile(p, name, base);
    (void)snprintf(path, sizeof path, "%s.log", base);
    p->log = read_file(path);
    (void)unlink(path);
    if (failed) return 6;
    (void)snprintf(path, sizeof path, "%s.so", base);
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!library) return p->log = strdup(dlerror()), 6;
    const unsigned *(*sizes)(void);
    unsigned (*globals)(void);
    *(void **)&sizes = dlsym(library, "spy_param_sizes");
    *(void **)&globals = dlsym(library, "spy_globals_size");
    size_t room = 4096, size = 0;
    p->ptx = (char *)calloc(1, room);
    size += (size_t)snprintf(p->ptx, room, "// played by %s\n", path);
    if (globals()) size += (size_t)snprintf(p->ptx + size, room - size, ".const .align 8 .b8 SLANG_globalParams[%u];\n", globals());
    size += (size_t)snprintf(p->ptx + size, room - size, ".visible .entry %s(", name);
    for (unsigned i = 0; i < sizes()[0]; i++) size += (size_t)snprintf(p->ptx + size, room - size, "\n.param .align 8 .b8 p_%u[%u],", i, sizes()[1 + i]);
    (void)snprintf(p->ptx + size, room - size, "\n)\n");
    dlclose(library);
    return 0;
}

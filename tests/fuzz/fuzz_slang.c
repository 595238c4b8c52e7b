// Hostile Slang: modules, imported files and preludes that are broken, deep, huge, circular or nonsense. Each is loaded, listed,
// called, differentiated and dispatched; every step ends with a result or an error, and the next case works as the first did.
//
//     fuzz_slang [cases]      SPY_TEST_SEED: the first case's number; SPY_FUZZ_CASE: that case alone, in this process
//
// Cases run in child processes, a hundred each, so that one which kills libslang costs that child and not the run. What the
// library can tell beforehand it must refuse; a case that kills a child fails the run, and its text is printed.
#ifndef _GNU_SOURCE
#define _GNU_SOURCE // fork, mmap
#endif
#include "spy_test.h"

#include "api/gradient.h"
#include "api/reflect.h"
#include "backend/null/null.h"
#include "chance.h"

#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { CASES = 100 }; // of one child

// >>texts

static const char *const sources[] = {
    "float f(float x) { return x * 2; }\n",
    "struct S { float a; int b[3]; }\nfloat f(S s) { return s.a + s.b[0]; }\n",
    "[Differentiable]\nfloat f(float x) { float s = 0; for (int i = 0; i < 3; i++) s += x * i; return s; }\n",
    "T f<T : IFloat>(T x) { return x * x; }\n",
    "interface IShape { float area(); }\nstruct C : IShape { float r; float area() { return r; } }\nfloat f<T : IShape>(T t) { return t.area(); }\n",
    "import slangpy;\nfloat f(Tensor<float, 1> t, float x) { return t[0] + x; }\n",
    "import part;\nfloat f(float x) { return part(x); }\n",
    "enum E { A, B = 4 }\nint f(E e, float x = 1) { return int(e); }\n",
    "namespace n { float f(float3 x) { return x.x; } }\nfloat f(float x) { return n.f(float3(x)); }\n",
    "[shader(\"compute\")]\n[numthreads(8, 1, 1)]\nvoid f(uint3 i : SV_DispatchThreadID, RWStructuredBuffer<float> x) { x[i.x] = i.x; }\n",
    "uniform float scale;\nStructuredBuffer<float> table;\nfloat f(int x) { return table[x] * scale; }\n",
    "[BackwardDerivative(b)]\nfloat f(float x) { return x; }\nvoid b(inout DifferentialPair<float> x, float d) { x = diffPair(x.p, d); }\n",
    "extern static const int N = 3;\nfloat f(float x[3]) { return x[N - 1]; }\n",
    "struct S { float a; __init(float x) { a = x; } [mutating] void set(float x) { a = x; } float get() { return a; } }\nfloat f(S x) { return x.get(); }\n",
    "void f(out float x, inout float y) { x = y; y += 1; }\n",
    "#define M(x) x + 1\n#include \"part.slang\"\nfloat f(float x) { return M(x) * part(x); }\n",
};
enum { SOURCES = sizeof sources / sizeof sources[0] };

static const char *const words[] = {
    "{", "}", "(", ")", "[", "]", "<", ">", ";", ",", ":", "::", ".", "=", "*", "/*", "*/", "//", "\"", "'", "\\", "#", "\n", "@", "$",
    "import missing;", "import part;", "import slangpy_diff;", "import slangpy_kernel;", "import main;", "module x;", "#include \"loop.h\"\n",
    "#if 1\n", "#endif\n", "#else\n", "#define f g\n", "#define float int\n", "#error no\n", "__include part;", "implementing main;",
    "struct", "class", "interface", "extension", "enum", "typealias", "typedef", "namespace", "func", "let", "var", "this", "This",
    "generic", "where", "each", "expand", "public", "private", "internal", "static", "const", "extern", "export", "inout", "out", "no_diff",
    "return", "if", "for", "while", "switch", "case", "float", "int", "void", "float3", "half4x4", "double", "uint64_t", "bool", "string",
    "f", "x", "x.x.x", "f(x)", "f<float>", "T", "IFloat", "IDifferentiable", "DifferentialPair<float>", "bwd_diff(f)", "fwd_diff(f)",
    "[Differentiable]", "[numthreads(0,0,0)]", "[shader(\"vertex\")]", "[CudaKernel]", "[BackwardDerivative(f)]", "[MaxIters(0)]",
    "0", "1e999", "0x", "99999999999999999999", "-1", "1.0.0", "\xff\xfe", "\xc3\xa9", "__intrinsic_asm \"x\";", "__target_switch",
    "__magic_type(Float)", "__builtin", "spyi", "spy_thread", "_result", "Tensor<float, 9>", "RWStructuredBuffer<f>", "ConstantBuffer<float>",
};
enum { WORDS = sizeof words / sizeof words[0] };

typedef struct text {
    char data[1 << 16];
    size_t size;
} text;

static void add(text *t, const char *s) {
    size_t n = strlen(s);
    if (t->size + n + 1 > sizeof t->data) return;
    memcpy(t->data + t->size, s, n + 1);
    t->size += n;
}

static void insert(text *t, size_t at, const char *s) {
    size_t n = strlen(s);
    if (t->size + n + 1 > sizeof t->data) return;
    memmove(t->data + at + n, t->data + at, t->size - at + 1);
    memcpy(t->data + at, s, n);
    t->size += n;
}

static void cut(text *t, size_t at, size_t n) {
    if (at + n > t->size) n = t->size - at;
    memmove(t->data + at, t->data + at + n, t->size - at - n + 1);
    t->size -= n;
}

static void nest(text *t, const char *open, const char *middle, const char *close, uint32_t depth) {
    for (uint32_t i = 0; i < depth; i++) add(t, open);
    add(t, middle);
    for (uint32_t i = 0; i < depth; i++) add(t, close);
}

// A text with depth or length instead of mistakes.
static void grow(text *t) {
    uint32_t depth = 10 + below(below(4) ? 100 : 2000);
    switch (below(10)) {
    case 0: add(t, "float f(float x) { return "), nest(t, "(", "x", ")", depth), add(t, "; }\n"); break;
    case 1: add(t, "float f(float x) { return "), nest(t, "-", "x", "", depth), add(t, "; }\n"); break;
    case 2: add(t, "float f(float x) { return x"), nest(t, "+x", "", "", depth), add(t, "; }\n"); break;
    case 3: add(t, "float f(float x) { "), nest(t, "{", "", "}", depth), add(t, " return x; }\n"); break;
    case 4: add(t, "float f("), nest(t, "Optional<", "float", ">", depth % 40), add(t, " x) { return 1; }\n"); break;
    case 5: add(t, "float f(float x"), nest(t, "[2]", "", "", depth % 20), add(t, ") { return 1; }\n"); break;
    case 6: add(t, "float "), nest(t, "a", "", "", depth), add(t, "(float x) { return x; }\nfloat f(float x) { return x; }\n"); break;
    case 7: add(t, "float f(float x"), nest(t, ", float = 1", "", "", depth % 200), add(t, ") { return x; }\n"); break;
    case 8: nest(t, "namespace n {", "float f(float x) { return x; }", "}", depth % 300), add(t, "\nfloat f(float x) { return x; }\n"); break;
    default: nest(t, "struct S { ", "float a;", "};", depth % 300), add(t, "\nfloat f(S x) { return 1; }\n"); break;
    }
}

static void mutate(text *t, uint32_t times) {
    for (uint32_t i = 0; i < times; i++) {
        size_t at = t->size ? below((uint32_t)t->size) : 0;
        switch (below(6)) {
        case 0: cut(t, at, 1 + below(4)); break;
        case 1: cut(t, at, 1 + below((uint32_t)t->size + 1)); break;
        case 2: if (t->size) t->data[at] = (char)(1 + below(255)); break;
        default:
            while (at && t->data[at - 1] != ' ' && t->data[at - 1] != '\n' && below(3)) at--;
            insert(t, at, words[below(WORDS)]);
            insert(t, at, " ");
        }
    }
}

static void make_text(text *t) {
    t->size = 0;
    t->data[0] = 0;
    if (below(5) == 0) grow(t);
    else add(t, sources[below(SOURCES)]);
    if (below(8) == 0) add(t, sources[below(SOURCES)]);
    if (below(6)) mutate(t, 1 + below(4));
}

// >>a case

static text module_text, part_text, prelude_text;

static bool hook_open(const char *path, spy_file *file, void *user) {
    static const char loop[] = "#include \"loop.h\"\n";
    (void)user;
    bool is_loop = strstr(path, "loop.h") != NULL;
    if (!is_loop && !(strstr(path, "part.slang") && !strstr(path, "-module"))) return false;
    file->data = is_loop ? loop : part_text.data;
    file->size_bytes = is_loop ? sizeof loop - 1 : part_text.size;
    return true;
}

static void make_case(uint64_t number) {
    chance_state = number * 0x9e3779b97f4a7c15u + 1;
    make_text(&module_text);
    make_text(&prelude_text);
    part_text.size = 0;
    add(&part_text, "public float part(float x) { return x; }\n");
    if (below(3) == 0) mutate(&part_text, 1 + below(3));
}

static void show_case(uint64_t number) {
    make_case(number);
    printf("---- case %llu: the module\n%s\n---- part.slang\n%s\n---- the prelude\n%s\n----\n", (unsigned long long)number,
           module_text.data, part_text.data, prelude_text.data);
    fflush(stdout);
}

static spy_device *open_device(void) {
    static spyi_null_desc null;
    spy_device_desc d;
    memset(&null, 0, sizeof null);
    null.no_log = true;
    memset(&d, 0, sizeof d);
    d.backend = spyi_null_backend();
    d.backend_desc = &null;
    d.files.open = hook_open;
    d.compile_timeout_s = 20;
    return spy_create_device(&d);
}

static void use_function(spy_device *device, spy_function *f, bool with_prelude) {
    float data[16] = { 1 }, y = 0;
    spy_tensor_desc td;
    memset(&td, 0, sizeof td);
    td.shape = SPY_SHAPE(4);
    td.data = data;
    td.with_grad = true;
    spy_tensor *t = spy_create_tensor(device, &td), *r = spy_create_tensor(device, &td);
    spy_call_options o;
    memset(&o, 0, sizeof o);
    o.prelude = prelude_text.data;
    spy_args args = SPY_ARGS(spy_arg_tensor("x", t), spy_out_f32("_result", &y)), with_tensor = SPY_ARGS(spy_arg_tensor("x", t), spy_arg_tensor("_result", r));
    spy_uint3 threads = { 4, 1, 1 };
    spy_call(f, with_tensor);
    if (with_prelude) spy_call_with(f, with_tensor, &o);
    spy_call(f, args);
    spy_call_backward(f, with_tensor);
    spy_dispatch(f, threads, SPY_ARGS(spy_arg_tensor("x", t)), NULL);
    spy_take_error(device);
    spy_release_tensor(t);
    spy_release_tensor(r);
}

static void run_case(spy_device *device, uint64_t number) {
    make_case(number);
    spy_module_desc d;
    memset(&d, 0, sizeof d);
    d.name = "main";
    d.source = module_text.data;
    spy_module *m = spy_load_module(device, &d);
    spy_take_error(device);
    if (m) {
        spy_reflect_module(m);
        spy_type_implements(m, "S", "IDifferentiable");
        spy_type_size_bytes(m, "S");
        static const char *const names[] = { "f", "f<float>", "n::f", "S.get" };
        for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
            spy_function *f = spy_find_function(m, names[i]);
            if (f) use_function(device, f, i == 0);
        }
        spy_release_module(m);
    }
    spy_take_error(device);
    // The next case finds everything as it was.
    if (number % 16) return;
    d.name = "check";
    d.source = "float twice(float x) { return 2 * x; }\n";
    m = spy_load_module(device, &d);
    float y = 0;
    spy_function *f = spy_find_function(m, "twice");
    if (!f || spy_call(f, SPY_ARGS(spy_arg_f32("x", 1), spy_out_f32("_result", &y))) != SPY_OK) {
        printf("case %llu: afterwards a good module fails: %s\n", (unsigned long long)number, spy_take_error(device).message);
        fflush(stdout);
        _exit(1);
    }
    spy_release_module(m);
}

int main(int count, char **args) {
    const char *alone = getenv("SPY_FUZZ_CASE"), *first_case = getenv("SPY_TEST_SEED");
    uint64_t first = first_case ? strtoull(first_case, NULL, 0) * 1000003u : (uint64_t)time(NULL) * 1000003u;
    uint64_t cases = count > 1 ? strtoull(args[1], NULL, 0) : 100, failed = 0;
    if (alone) {
        show_case(strtoull(alone, NULL, 0));
        spy_device *device = open_device();
        run_case(device, strtoull(alone, NULL, 0));
        spy_release_device(device);
        return 0;
    }
    printf("cases %llu to %llu\n", (unsigned long long)first, (unsigned long long)(first + cases - 1));
    fflush(stdout);
    volatile uint64_t *now = (volatile uint64_t *)mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    for (uint64_t done = 0; done < cases;) {
        uint64_t end = done + CASES < cases ? done + CASES : cases;
        now[0] = done;
        pid_t child = fork();
        if (child == 0) {
            spy_device *device = open_device();
            if (!device) _exit(2);
            for (; now[0] < end; now[0]++) {
                alarm(120);
                run_case(device, first + now[0]);
            }
            spy_release_device(device);
            exit(0);
        }
        int status = -1;
        waitpid(child, &status, 0);
        if (status == 0) {
            done = end;
            continue;
        }
        printf("case %llu: %s %d\n", (unsigned long long)(first + now[0]), WIFSIGNALED(status) ? "signal" : "exit",
               WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
        show_case(first + now[0]);
        failed++;
        done = now[0] + 1;
    }
    printf("%llu passed, %llu failed, 0 skipped\n", (unsigned long long)(cases - failed), (unsigned long long)failed);
    return failed != 0;
}

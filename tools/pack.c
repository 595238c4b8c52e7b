// tools/pack: makes a pack (api/pack.h) from a list of calls, on a machine without a GPU, and tells what is in one.
//
//     pack LIST -o app.pack [--header app.h] [--embed app_pack.h]     makes a pack of what LIST declares
//     pack --list app.pack                                            prints the pack's manifest
//
// A list has a line for each thing, and `#` begins a comment:
//
//     vulkan                              make kernels for Vulkan devices
//     cuda sm_75 sm_90                    make kernels for CUDA: cubins for these, PTX of the first for all others
//     include FOLDER                      searched by import, after the list's own folder
//     module saxpy.slang                  a module's file, beside the list
//     call saxpy.saxpy(a: float, x: float[], y: float[], _result: float[])
//     backward saxpy.saxpy(a: float, x: float[] grad, y: float[] grad, _result: float[] grad)
//
// An argument is `NAME: TYPE`, or TYPE by position. Types: a number (`float`, `int`, `uint`, `bool`, `double`, `int64_t`,
// `uint64_t`); a tensor, with its element and one comma less than its dimensions (`float[]`, `float3[,]`, `Light[]`), or with
// sizes where they feed a vector (`float[,3]`), `grad` behind it when it carries gradients; any other Slang type by its bytes
// (`float3`, `Light`, or `bytes 16`); fields (`{color: float3, power: float}`), `as TYPE` behind an argument names its Slang type; `new` (a result
// in a new tensor); `out float` (a result in host memory); `host float[3]` (a host array).
// Other calls are recorded: SLANGPY_RECORD_PACK=app.pack ./program, or spy_device_desc.record_pack.
#define SLANGPY_IMPLEMENTATION
#include "slangpy_cuda.h"
#include "slangpy_vk.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_ARGS = 64, MOST_LINES = 4096, MOST_ARCHS = 16, MOST_MODULES = 64, LARGE = 3 << 20 };

typedef enum arg_kind { NUMBER, TENSOR, BYTES, FIELDS, NEW_TENSOR, OUT_NUMBER, HOST_ARRAY } arg_kind;

typedef struct arg {
    char *name, *type, *cast; // name NULL: by position; type: of a number, an element or the bytes
    arg_kind kind;
    bool grad;
    uint32_t rank;
    int64_t sizes[SPY_MAX_RANK]; // 0: any
    struct arg *fields;
    uint32_t field_count;
} arg;

typedef struct call {
    int line;
    char *text, *module, *function;
    spy_call_mode mode;
    arg args[MOST_ARGS];
    uint32_t arg_count;
} call;

typedef struct module_line {
    int line;
    char *path, *name;
    spy_module *module;
} module_line;

static const char *list_path = "";
static call *calls[MOST_LINES];
static module_line modules[MOST_MODULES];
static char *includes[64];
static uint32_t call_count, module_count, include_count, archs[MOST_ARCHS], arch_count;
static bool vulkan, cuda;

static void stop(int line, const char *format, ...) {
    va_list list;
    va_start(list, format);
    fprintf(stderr, "%s", list_path);
    if (line) fprintf(stderr, ":%d", line);
    fprintf(stderr, ": ");
    vfprintf(stderr, format, list);
    fprintf(stderr, "\n");
    va_end(list);
    exit(1);
}

static char *copy_of(const char *text, size_t size) {
    char *copy = (char *)malloc(size + 1);
    if (!copy) stop(0, "out of memory");
    memcpy(copy, text, size);
    copy[size] = '\0';
    return copy;
}

// >>reading the list

static const char *skip(const char *p) {
    while (*p == ' ' || *p == '\t') p++;
    return p;
}

static bool is_word(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

// Takes a word such as `out` when it stands at *p.
static bool take_word(const char **p, const char *word) {
    size_t n = strlen(word);
    if (strncmp(*p, word, n) != 0 || is_word((*p)[n])) return false;
    *p = skip(*p + n);
    return true;
}

// Takes a name of a type, with its namespaces and generic arguments.
static char *take_type(const char **p, int line) {
    const char *begin = *p;
    int depth = 0;
    while (**p && (is_word(**p) || **p == '.' || **p == '<' || depth || (**p == ':' && (*p)[1] == ':') || (**p == ':' && *p > begin && (*p)[-1] == ':'))) {
        depth += **p == '<';
        depth -= **p == '>';
        ++*p;
    }
    if (*p == begin) stop(line, "expected a type, got '%s'", begin);
    char *type = copy_of(begin, (size_t)(*p - begin));
    *p = skip(*p);
    return type;
}

static bool is_number(const char *type) {
    static const char *const names[] = { "bool", "int", "uint", "int64_t", "uint64_t", "float", "double" };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(type, names[i]) == 0) return true;
    return false;
}

static void take_sizes(const char **p, arg *a, int line) {
    ++*p;
    while (**p != ']') {
        char *end;
        if (a->rank == SPY_MAX_RANK) stop(line, "a tensor has at most %d dimensions", SPY_MAX_RANK);
        *p = skip(*p);
        a->sizes[a->rank++] = **p >= '0' && **p <= '9' ? strtol(*p, &end, 10) : 0;
        while (**p >= '0' && **p <= '9') ++*p;
        *p = skip(*p);
        if (**p == ',') {
            ++*p;
            if (*skip(*p) == ']') a->rank++; // "[,]" has two
        } else if (**p != ']') {
            stop(line, "expected ',' or ']', got '%s'", *p);
        }
    }
    if (a->rank == 0) a->rank = 1; // "[]"
    *p = skip(*p + 1);
}

static const char *take_args(const char *p, char end, arg *args, uint32_t *count, int line);

static const char *take_arg(const char *p, arg *a, int line) {
    const char *name = p;
    memset(a, 0, sizeof *a);
    while (is_word(*p)) p++;
    if (p > name && *skip(p) == ':' && skip(p)[1] != ':') {
        a->name = copy_of(name, (size_t)(p - name));
        p = skip(skip(p) + 1);
    } else {
        p = name;
    }
    bool out = take_word(&p, "out"), host = take_word(&p, "host");
    if (*p == '{') {
        a->kind = FIELDS;
        a->fields = (arg *)calloc(MOST_ARGS, sizeof *a->fields);
        if (!a->fields) stop(line, "out of memory");
        p = skip(take_args(p + 1, '}', a->fields, &a->field_count, line));
    } else if (take_word(&p, "new")) {
        a->kind = NEW_TENSOR;
    } else if (take_word(&p, "bytes")) {
        a->kind = BYTES;
        a->sizes[0] = strtol(p, (char **)(uintptr_t)&p, 10);
        p = skip(p);
    } else {
        a->type = take_type(&p, line);
        a->kind = out ? OUT_NUMBER : is_number(a->type) ? NUMBER : BYTES;
        if (*p == '[') {
            a->kind = host ? HOST_ARRAY : TENSOR;
            take_sizes(&p, a, line);
        }
        if (out && (a->rank || !is_number(a->type))) stop(line, "`out` takes a number, got '%s'", a->type);
    }
    a->grad = take_word(&p, "grad");
    if (take_word(&p, "as")) a->cast = take_type(&p, line);
    return p;
}

static const char *take_args(const char *p, char end, arg *args, uint32_t *count, int line) {
    p = skip(p);
    while (*p != end) {
        if (*count == MOST_ARGS) stop(line, "more than %d arguments", MOST_ARGS);
        p = skip(take_arg(p, &args[(*count)++], line));
        if (*p == ',') p = skip(p + 1);
        else if (*p != end) stop(line, "expected ',' or '%c', got '%s'", end, p);
    }
    return p + 1;
}

static void read_call(const char *text, const char *p, spy_call_mode mode, int line) {
    call *c = (call *)calloc(1, sizeof *c);
    const char *dot = strchr(p, '.'), *open = strchr(p, '(');
    if (!c) stop(0, "out of memory");
    if (!open || !dot || dot > open) stop(line, "expected MODULE.FUNCTION(...), got '%s'", p);
    if (call_count == MOST_LINES) stop(line, "more than %d calls", MOST_LINES);
    c->line = line;
    c->text = copy_of(text, strlen(text));
    c->module = copy_of(p, (size_t)(dot - p));
    c->function = copy_of(dot + 1, (size_t)(open - dot - 1));
    c->mode = mode;
    p = skip(take_args(open + 1, ')', c->args, &c->arg_count, line));
    if (*p) stop(line, "unexpected '%s' behind the call", p);
    calls[call_count++] = c;
}

// Returns `path`, which is relative to the list's folder.
static char *beside_list(const char *path) {
    const char *slash = strrchr(list_path, '/');
    if (*path == '/' || !slash) return copy_of(path, strlen(path));
    size_t folder = (size_t)(slash - list_path) + 1;
    char *whole = (char *)malloc(folder + strlen(path) + 1);
    if (!whole) stop(0, "out of memory");
    memcpy(whole, list_path, folder);
    strcpy(whole + folder, path);
    return whole;
}

static void read_line(char *text, int line) {
    char *comment = strchr(text, '#');
    if (comment) *comment = '\0';
    size_t size = strlen(text);
    while (size && strchr(" \t\r\n", text[size - 1])) text[--size] = '\0';
    const char *p = skip(text);
    if (!*p) return;
    if (take_word(&p, "vulkan")) {
        vulkan = true;
    } else if (take_word(&p, "cuda")) {
        cuda = true;
        while (*p) {
            char *end;
            if (strncmp(p, "sm_", 3) != 0 || arch_count == MOST_ARCHS) stop(line, "expected sm_NUMBER, got '%s'", p);
            archs[arch_count++] = (uint32_t)strtoul(p + 3, &end, 10);
            p = skip(end);
        }
        if (!arch_count) stop(line, "cuda: expected architectures, such as sm_75 sm_90");
    } else if (take_word(&p, "include")) {
        if (include_count == 64) stop(line, "more than 64 folders");
        includes[include_count++] = beside_list(p);
    } else if (take_word(&p, "module")) {
        const char *slash = strrchr(p, '/'), *name = slash ? slash + 1 : p, *end = strrchr(name, '.');
        if (module_count == MOST_MODULES) stop(line, "more than %d modules", MOST_MODULES);
        modules[module_count].line = line;
        modules[module_count].path = beside_list(p);
        modules[module_count++].name = copy_of(name, end ? (size_t)(end - name) : strlen(name));
    } else if (take_word(&p, "call")) {
        read_call(text, p, SPY_CALL_MODE_DEFAULT, line);
    } else if (take_word(&p, "backward")) {
        read_call(text, p, SPY_CALL_MODE_BACKWARD, line);
    } else if (take_word(&p, "forward")) {
        read_call(text, p, SPY_CALL_MODE_FORWARD_DIFF, line);
    } else {
        stop(line, "expected vulkan, cuda, include, module, call, backward or forward, got '%s'", text);
    }
}

static void read_list(const char *path) {
    static char text[65536];
    FILE *file = fopen(path, "rb");
    list_path = path;
    if (!file) stop(0, "the list cannot be read");
    for (int line = 1; fgets(text, sizeof text, file); line++) read_line(text, line);
    fclose(file);
    if (!vulkan && !cuda) stop(0, "no line says for what: vulkan, or cuda sm_75");
}

static spy_module *module_of(const call *c) {
    for (uint32_t i = 0; i < module_count; i++)
        if (strcmp(modules[i].name, c->module) == 0) return modules[i].module;
    stop(c->line, "there is no line `module %s.slang`", c->module);
    return NULL;
}

// >>making the calls

// The sizes of calls, so that the variants that devices choose most are among the kernels: few elements, many in fours, many,
// and more bytes than devices read through pointers. All others have the plain kernel.
static const int64_t families[4][2] = { { 5, 7 }, { 4, 65536 }, { 1, (1 << 20) + 3 }, { 1, LARGE } };
static char zeros[1 << 16];

static spy_arg number_of(const arg *a) {
    const char *t = a->type;
    if (strcmp(t, "bool") == 0) return spy_arg_bool(a->name, false);
    if (strcmp(t, "int") == 0) return spy_arg_i32(a->name, 0);
    if (strcmp(t, "uint") == 0) return spy_arg_u32(a->name, 0);
    if (strcmp(t, "int64_t") == 0) return spy_arg_i64(a->name, 0);
    if (strcmp(t, "uint64_t") == 0) return spy_arg_u64(a->name, 0);
    return strcmp(t, "double") == 0 ? spy_arg_f64(a->name, 0) : spy_arg_f32(a->name, 0);
}

static spy_arg out_number_of(const arg *a) {
    static uint64_t value;
    const char *t = a->type;
    if (strcmp(t, "bool") == 0) return spy_out_bool(a->name, (bool *)&value);
    if (strcmp(t, "int") == 0) return spy_out_i32(a->name, (int32_t *)&value);
    if (strcmp(t, "uint") == 0) return spy_out_u32(a->name, (uint32_t *)&value);
    if (strcmp(t, "int64_t") == 0) return spy_out_i64(a->name, (int64_t *)&value);
    if (strcmp(t, "uint64_t") == 0) return spy_out_u64(a->name, &value);
    return strcmp(t, "double") == 0 ? spy_out_f64(a->name, (double *)&value) : spy_out_f32(a->name, (float *)&value);
}

typedef struct made {
    spy_tensor *tensors[MOST_ARGS];
    uint32_t count;
    spy_arg pool[8 * MOST_ARGS]; // fields
    uint32_t used;
    spy_tensor *new_tensor;
} made;

static spy_arg make_arg(spy_device *device, spy_module *module, const call *c, const arg *a, int family, made *m) {
    spy_arg out;
    memset(&out, 0, sizeof out);
    switch (a->kind) {
    case NUMBER: out = number_of(a); break;
    case OUT_NUMBER: out = out_number_of(a); break;
    case NEW_TENSOR: out = spy_out_tensor(a->name, &m->new_tensor); break;
    case BYTES: {
        size_t size = a->type ? spy_type_size_bytes(module, a->type) : (size_t)a->sizes[0];
        if (!size || size > sizeof zeros) stop(c->line, "'%s' is no type with a size: %s", a->type ? a->type : "bytes", spy_take_error(device).message);
        out = spy_arg_data(a->name, zeros, size);
        break;
    }
    case FIELDS: {
        spy_arg *fields = m->pool + m->used;
        spy_args list;
        if (m->used + a->field_count > 8 * MOST_ARGS) stop(c->line, "too many fields");
        m->used += a->field_count;
        for (uint32_t i = 0; i < a->field_count; i++) fields[i] = make_arg(device, module, c, &a->fields[i], family, m);
        list.items = fields;
        list.count = a->field_count;
        out = spy_arg_struct(a->name, list);
        break;
    }
    case HOST_ARRAY:
    case TENSOR: {
        spy_tensor_desc d;
        memset(&d, 0, sizeof d);
        d.shape.rank = a->rank;
        for (uint32_t i = 0; i < a->rank; i++) {
            uint32_t behind = a->rank - 1 - i; // dimensions behind this one: sizes align at the end
            d.shape.dims[i] = a->sizes[i] ? a->sizes[i] : behind == 0 ? families[family][1] : behind == 1 ? families[family][0] : family ? 1 : 2;
        }
        if (a->rank > 1 && a->sizes[a->rank - 1] && !a->sizes[a->rank - 2]) d.shape.dims[a->rank - 2] = families[family][1];
        if (a->kind == HOST_ARRAY) {
            static const struct { const char *name; spy_dtype dtype; } dtypes[] = { { "float", SPY_DTYPE_FLOAT32 }, { "int", SPY_DTYPE_INT32 },
                { "uint", SPY_DTYPE_UINT32 }, { "double", SPY_DTYPE_FLOAT64 }, { "half", SPY_DTYPE_FLOAT16 } };
            static void *data;
            if (!data) data = calloc(4 * LARGE, 8);
            spy_dtype dtype = SPY_DTYPE_DEFAULT;
            for (size_t i = 0; i < sizeof dtypes / sizeof *dtypes; i++)
                if (strcmp(dtypes[i].name, a->type) == 0) dtype = dtypes[i].dtype;
            if (dtype == SPY_DTYPE_DEFAULT || !data) stop(c->line, "a host array has elements float, double, half, int or uint, got '%s'", a->type);
            out = spy_arg_array(a->name, data, d.shape, dtype);
            break;
        }
        d.type = a->type;
        d.module = module;
        d.with_grad = a->grad;
        if (m->count == MOST_ARGS) stop(c->line, "too many tensors");
        spy_tensor *t = spy_create_tensor(device, &d);
        if (!t) stop(c->line, "%s", spy_take_error(device).message);
        m->tensors[m->count++] = t;
        out = spy_arg_tensor(a->name, t);
        break;
    }
    }
    return a->cast ? spy_vcast(out, a->cast) : out;
}

static void make_call(spy_device *device, const call *c, int family) {
    static made m;
    spy_arg items[MOST_ARGS];
    spy_args args;
    spy_call_options options;
    spy_module *module = module_of(c);
    spy_function *f = spy_find_function(module, c->function);
    if (!f) stop(c->line, "%s", spy_take_error(device).message);
    memset(&m, 0, sizeof m);
    memset(&options, 0, sizeof options);
    options.mode = c->mode;
    for (uint32_t i = 0; i < c->arg_count; i++) items[i] = make_arg(device, module, c, &c->args[i], family, &m);
    args.items = items;
    args.count = c->arg_count;
    if (spy_call_with(f, args, &options) != SPY_OK) {
        spy_error e = spy_take_error(device);
        stop(c->line, "%s\n%s", e.message,
             e.code == SPY_ERROR_SHAPE_MISMATCH ? "Give the sizes that a parameter's type needs, as in float[,3] for float3." : "");
    }
    for (uint32_t i = 0; i < m.count; i++) spy_release_tensor(m.tensors[i]);
    if (m.new_tensor) spy_release_tensor(m.new_tensor);
}

// >>the header

static FILE *header;

static const char *c_scalar(spy_dtype dtype) {
    switch (dtype) {
    case SPY_DTYPE_BOOL: return "bool";
    case SPY_DTYPE_INT8: return "int8_t";
    case SPY_DTYPE_UINT8: return "uint8_t";
    case SPY_DTYPE_INT16: return "int16_t";
    case SPY_DTYPE_UINT16: return "uint16_t";
    case SPY_DTYPE_INT32: return "int32_t";
    case SPY_DTYPE_UINT32: return "uint32_t";
    case SPY_DTYPE_INT64: return "int64_t";
    case SPY_DTYPE_UINT64: return "uint64_t";
    case SPY_DTYPE_FLOAT16: return "uint16_t"; // the bits of a half
    case SPY_DTYPE_FLOAT64: return "double";
    default: return "float";
    }
}

static char *c_name(const char *prefix, const char *name) {
    size_t size = strlen(prefix) + strlen(name) + 2;
    char *out = (char *)malloc(size);
    if (!out) stop(0, "out of memory");
    snprintf(out, size, "%s_%s", prefix, name);
    for (char *p = out; *p; p++)
        if (!is_word(*p)) *p = '_';
    return out;
}

static char *written_types[256];
static uint32_t written_count;

// Writes a member `name` of a Slang type in C's layout.
static void write_member(const char *module, const spy_type_info *t, const char *name, const char *indent) {
    char dims[128] = "";
    size_t n = 0;
    while (t->kind == SPY_TYPE_KIND_ARRAY && n < sizeof dims - 24) {
        n += (size_t)snprintf(dims + n, sizeof dims - n, "[%lld]", (long long)t->count);
        t = t->element;
    }
    if (t->kind == SPY_TYPE_KIND_MATRIX) snprintf(dims + n, sizeof dims - n, "[%u][%u]", t->rows, t->columns);
    if (t->kind == SPY_TYPE_KIND_VECTOR) snprintf(dims + n, sizeof dims - n, "[%u]", t->columns);
    char *type = t->fields ? c_name(module, t->name) : copy_of(c_scalar(t->dtype), strlen(c_scalar(t->dtype)));
    fprintf(header, "%s%s %s%s;\n", indent, type, name, dims);
    free(type);
}

// Writes the struct of a Slang struct, after those of its fields, with checks of its layout.
static void write_struct(const char *module, const spy_type_info *t) {
    while (t->kind == SPY_TYPE_KIND_ARRAY) t = t->element;
    if (!t->fields) return;
    for (uint32_t i = 0; i < t->field_count; i++)
        if (t->fields[i].type) write_struct(module, t->fields[i].type);
    char *name = c_name(module, t->name);
    for (uint32_t i = 0; i < written_count; i++)
        if (strcmp(written_types[i], name) == 0) return;
    if (written_count == 256) stop(0, "more than 256 types");
    written_types[written_count++] = name;
    fprintf(header, "// %s of %s.slang.\ntypedef struct %s {\n", t->name, module, name);
    for (uint32_t i = 0; i < t->field_count; i++)
        if (t->fields[i].type) write_member(module, t->fields[i].type, t->fields[i].name, "    ");
    fprintf(header, "} %s;\nSPY_PACK_CHECK(sizeof(%s) == %zu);\n", name, name, t->size_bytes);
    for (uint32_t i = 0; i < t->field_count; i++)
        if (t->fields[i].type) fprintf(header, "SPY_PACK_CHECK(offsetof(%s, %s) == %zu);\n", name, t->fields[i].name, t->fields[i].offset_bytes);
    fprintf(header, "\n");
}

static const char *member_name(const arg *a, uint32_t index, char *room) {
    if (a->name) return a->name;
    snprintf(room, 16, "arg%u", index);
    return room;
}

static const char *number_c(const char *t) {
    if (strcmp(t, "bool") == 0) return "bool";
    if (strcmp(t, "int") == 0) return "int32_t";
    if (strcmp(t, "uint") == 0) return "uint32_t";
    return t; // int64_t, uint64_t, float, double
}

static const char *number_suffix(const char *t) {
    static const char *const names[][2] = { { "bool", "bool" }, { "int", "i32" }, { "uint", "u32" }, { "int64_t", "i64" }, { "uint64_t", "u64" }, { "double", "f64" } };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(t, names[i][0]) == 0) return names[i][1];
    return "f32";
}

static void write_arg_member(spy_module *module, const call *c, const arg *a, uint32_t index, const char *indent) {
    char room[16], deeper[64];
    const char *name = member_name(a, index, room);
    switch (a->kind) {
    case NUMBER: fprintf(header, "%s%s %s;\n", indent, number_c(a->type), name); break;
    case OUT_NUMBER: fprintf(header, "%s%s *%s; // gets the result\n", indent, number_c(a->type), name); break;
    case NEW_TENSOR: fprintf(header, "%sspy_tensor **%s; // gets a new tensor, which the caller releases\n", indent, name); break;
    case TENSOR: fprintf(header, "%sspy_tensor *%s; // %s, %u dimension%s%s\n", indent, name, a->type, a->rank, a->rank == 1 ? "" : "s", a->grad ? ", with gradients" : ""); break;
    case HOST_ARRAY: fprintf(header, "%sconst %s *%s;\n%sspy_shape %s_shape;\n", indent, strcmp(a->type, "half") == 0 ? "uint16_t" : number_c(a->type), name, indent, name); break;
    case BYTES:
        if (!a->type) {
            fprintf(header, "%sunsigned char %s[%lld];\n", indent, name, (long long)a->sizes[0]);
            break;
        }
        write_member(c->module, spy_reflect_type(module, a->type), name, indent); break;
    case FIELDS:
        fprintf(header, "%sstruct {\n", indent);
        snprintf(deeper, sizeof deeper, "%s    ", indent);
        for (uint32_t i = 0; i < a->field_count; i++) write_arg_member(module, c, &a->fields[i], i, deeper);
        fprintf(header, "%s} %s;\n", indent, name);
        break;
    }
}

// Writes statements that fill `place` from the member at `path`.
static void write_arg_code(const arg *a, uint32_t index, const char *place, const char *path, int *lists) {
    char room[16], quoted[128] = "NULL", member[256];
    if (a->name) snprintf(quoted, sizeof quoted, "\"%s\"", a->name);
    snprintf(member, sizeof member, "%s%s", path, member_name(a, index, room));
    switch (a->kind) {
    case NUMBER: fprintf(header, "    %s = spy_arg_%s(%s, %s);\n", place, number_suffix(a->type), quoted, member); break;
    case OUT_NUMBER: fprintf(header, "    %s = spy_out_%s(%s, %s);\n", place, number_suffix(a->type), quoted, member); break;
    case NEW_TENSOR: fprintf(header, "    %s = spy_out_tensor(%s, %s);\n", place, quoted, member); break;
    case TENSOR: fprintf(header, "    %s = spy_arg_tensor(%s, %s);\n", place, quoted, member); break;
    case BYTES: fprintf(header, "    %s = spy_arg_data(%s, &%s, sizeof %s);\n", place, quoted, member, member); break;
    case HOST_ARRAY: {
        const char *dtype = strcmp(a->type, "float") == 0 ? "FLOAT32" : strcmp(a->type, "int") == 0 ? "INT32" : strcmp(a->type, "uint") == 0 ? "UINT32" : strcmp(a->type, "double") == 0 ? "FLOAT64" : "FLOAT16";
        fprintf(header, "    %s = spy_arg_array(%s, %s, %s_shape, SPY_DTYPE_%s);\n", place, quoted, member, member, dtype);
        break;
    }
    case FIELDS: {
        int list = (*lists)++;
        char inner[64], deeper[256];
        snprintf(deeper, sizeof deeper, "%s.", member);
        for (uint32_t i = 0; i < a->field_count; i++) {
            snprintf(inner, sizeof inner, "fields%d[%u]", list, i);
            write_arg_code(&a->fields[i], i, inner, deeper, lists);
        }
        fprintf(header, "    list.items = fields%d;\n    list.count = %u;\n    %s = spy_arg_struct(%s, list);\n", list, a->field_count, place, quoted);
        break;
    }
    }
    if (a->cast) fprintf(header, "    %s = spy_vcast(%s, \"%s\");\n", place, place, a->cast);
}

static void write_lists(const arg *a, int *lists) {
    if (a->kind != FIELDS) return;
    fprintf(header, "    spy_arg fields%d[%u];\n", (*lists)++, a->field_count ? a->field_count : 1);
    for (uint32_t i = 0; i < a->field_count; i++) write_lists(&a->fields[i], lists);
}

static void write_types(spy_module *module, const call *c, const arg *a) {
    if (a->type && (a->kind == BYTES || a->kind == TENSOR)) {
        const spy_type_info *t = spy_reflect_type(module, a->type);
        if (!t) stop(c->line, "%s", spy_take_error(NULL).message);
        write_struct(c->module, t);
    }
    for (uint32_t i = 0; i < a->field_count; i++) write_types(module, c, &a->fields[i]);
}

static void write_header_call(const call *c, uint32_t number) {
    static const char *const modes[] = { "", "_backward", "_forward" };
    spy_module *module = module_of(c);
    uint32_t same = 0;
    char base[256];
    for (uint32_t i = 0; i < number; i++)
        same += strcmp(calls[i]->module, c->module) == 0 && strcmp(calls[i]->function, c->function) == 0 && calls[i]->mode == c->mode;
    char *name = c_name(c->module, c->function);
    if (same) snprintf(base, sizeof base, "%s%s_%u", name, modes[c->mode], same + 1);
    else snprintf(base, sizeof base, "%s%s", name, modes[c->mode]);
    for (uint32_t i = 0; i < c->arg_count; i++) write_types(module, c, &c->args[i]);
    fprintf(header, "// %s\ntypedef struct %s_args {\n", c->text, base);
    for (uint32_t i = 0; i < c->arg_count; i++) write_arg_member(module, c, &c->args[i], i, "    ");
    if (!c->arg_count) fprintf(header, "    int unused;\n");
    fprintf(header, "} %s_args;\n\nstatic inline spy_status %s(spy_module *module, const %s_args *args) {\n    spy_arg items[%u];\n", base, base, base,
            c->arg_count ? c->arg_count : 1);
    int lists = 0;
    for (uint32_t i = 0; i < c->arg_count; i++) write_lists(&c->args[i], &lists);
    fprintf(header, "    spy_args list;\n    spy_call_options options;\n");
    lists = 0;
    for (uint32_t i = 0; i < c->arg_count; i++) {
        char place[32];
        snprintf(place, sizeof place, "items[%u]", i);
        write_arg_code(&c->args[i], i, place, "args->", &lists);
    }
    fprintf(header, "    memset(&options, 0, sizeof options);\n    options.mode = (spy_call_mode)%d;\n    list.items = items;\n    list.count = %u;\n"
                    "    return spy_call_with(spy_find_function(module, \"%s\"), list, &options);\n}\n\n", (int)c->mode, c->arg_count, c->function);
    free(name);
}

static void write_header(const char *path) {
    header = fopen(path, "wb");
    if (!header) stop(0, "%s cannot be written", path);
    fprintf(header, "// Typed calls of a pack; made by tools/pack from %s. Do not edit.\n// C99 and C++11. Each call takes a struct of its arguments.\n#pragma once\n"
                    "#include \"slangpy.h\"\n#include <string.h>\n\n", strrchr(list_path, '/') ? strrchr(list_path, '/') + 1 : list_path);
    fprintf(header, "#ifndef SPY_PACK_CHECK // fails to compile unless `x` is true\n#ifdef __cplusplus\n#define SPY_PACK_CHECK(x) static_assert(x, #x)\n#else\n"
                    "#define SPY_PACK_PASTE(a, b) a##b\n#define SPY_PACK_NAME(line) SPY_PACK_PASTE(spy_pack_check_, line)\n"
                    "#define SPY_PACK_CHECK(x) struct SPY_PACK_NAME(__LINE__) { char is_true[(x) ? 1 : -1]; }\n#endif\n#endif\n\n");
    for (uint32_t i = 0; i < module_count; i++)
        fprintf(header, "// The module of %s.slang, which the caller releases. NULL: spy_take_error(device) has the reason.\n"
                        "static inline spy_module *%s_load(spy_device *device) {\n    spy_module_desc desc;\n    memset(&desc, 0, sizeof desc);\n"
                        "    desc.name = \"%s\";\n    return spy_load_module(device, &desc);\n}\n\n", modules[i].name, modules[i].name, modules[i].name);
    for (uint32_t i = 0; i < call_count; i++) write_header_call(calls[i], i);
    if (fclose(header) != 0) stop(0, "%s cannot be written", path);
}

// >>the parts

static void no_reason(spy_device *device) {
    spy_error e = spy_take_error(device);
    stop(0, "%s", e.message);
}

static void record(const spy_backend *backend, spy_adapter_type type, const char *out, const char *header_path) {
    spy_device_desc d;
    memset(&d, 0, sizeof d);
    d.backend = backend;
    d.adapter_type = type;
    d.record_pack = d.offline = true;
    d.log.func = spy_log_stderr;
    d.include_paths = (const char *const *)includes;
    d.include_path_count = include_count;
    if (backend == spy_cuda_backend()) {
        d.pack_archs = archs;
        d.pack_arch_count = arch_count;
    }
    spy_device *device = spy_create_device(&d);
    if (!device) no_reason(NULL);
    for (uint32_t i = 0; i < module_count; i++) {
        spy_module_desc m;
        memset(&m, 0, sizeof m);
        m.path = modules[i].path;
        modules[i].module = spy_load_module(device, &m);
        if (!modules[i].module) stop(modules[i].line, "%s", spy_take_error(device).message);
    }
    for (uint32_t i = 0; i < call_count; i++)
        for (int family = 0; family < 4; family++) make_call(device, calls[i], family);
    if (header_path) write_header(header_path);
    if (spy_save_pack(device, out) != SPY_OK) no_reason(device);
    spy_release_device(device);
}

static unsigned char *read_file(const char *path, size_t *size) {
    FILE *file = fopen(path, "rb");
    list_path = path;
    if (!file) stop(0, "the file cannot be read");
    fseek(file, 0, SEEK_END);
    *size = (size_t)ftell(file);
    rewind(file);
    unsigned char *bytes = (unsigned char *)malloc(*size + 1);
    if (!bytes || fread(bytes, 1, *size, file) != *size) stop(0, "the file cannot be read");
    fclose(file);
    return bytes;
}

// Writes the pack as a C array.
static void embed(const char *pack, const char *path) {
    size_t size;
    unsigned char *bytes = read_file(pack, &size);
    const char *base = strrchr(pack, '/') ? strrchr(pack, '/') + 1 : pack;
    char *name = c_name("pack", base);
    FILE *file = fopen(path, "wb");
    if (!file) stop(0, "%s cannot be written", path);
    fprintf(file, "// %s as an array, for spy_device_desc.pack_data; made by tools/pack. Do not edit.\n#pragma once\nstatic const unsigned char %s[] = {", base, name);
    for (size_t i = 0; i < size; i++) fprintf(file, "%s%u,", i % 24 ? "" : "\n    ", bytes[i]);
    fprintf(file, "\n};\n");
    if (fclose(file) != 0) stop(0, "%s cannot be written", path);
}

static void list_pack(const char *path) {
    static char text[1 << 20];
    size_t size;
    unsigned char *bytes = read_file(path, &size);
    spy_device_desc d;
    uint32_t version[2];
    memset(&d, 0, sizeof d);
    d.backend = spy_vk_backend();
    d.offline = true;
    d.pack_data = bytes;
    d.pack_size_bytes = size;
    spy_device *device = spy_create_device(&d);
    if (!device) no_reason(NULL);
    memcpy(version, bytes + 8, sizeof version);
    (void)spy_get_pack_manifest(device, text, sizeof text);
    printf("%s: %zu bytes, format %u of slangpy %u.%u.%u\n", path, size, version[0], version[1] / 10000, version[1] / 100 % 100, version[1] % 100);
    for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n")) {
        char *fields[5] = { line };
        int count = 1;
        for (char *p = line; *p && count < 5; p++)
            if (*p == '\t') *p = '\0', fields[count++] = p + 1;
        if (count < 5) continue;
        const char *target = strcmp(fields[1], "spv") == 0 ? "vulkan" : strcmp(fields[1], "cu") == 0 ? "cuda" : fields[1];
        if (strcmp(fields[0], "call") == 0) printf("%-7s %s  (%s kernels, %s bytes)\n", target, fields[2], fields[3], fields[4]);
        else if (strcmp(fields[0], "arch") == 0) printf("%-7s %s  (%s kernels, %s bytes)\n", target, fields[2], fields[3], fields[4]);
        else printf("%-7s module %s\n", target, fields[2]);
    }
    spy_release_device(device);
}

int main(int count, char **words) {
    const char *list = NULL, *out = NULL, *header_path = NULL, *embed_path = NULL, *shown = NULL;
    for (int i = 1; i < count; i++) {
        bool more = i + 1 < count;
        if (strcmp(words[i], "-o") == 0 && more) out = words[++i];
        else if (strcmp(words[i], "--header") == 0 && more) header_path = words[++i];
        else if (strcmp(words[i], "--embed") == 0 && more) embed_path = words[++i];
        else if (strcmp(words[i], "--list") == 0 && more) shown = words[++i];
        else if (words[i][0] != '-' && !list) list = words[i];
        else list = shown = NULL, i = count;
    }
    if (shown && count == 3) {
        list_pack(shown);
        return 0;
    }
    if (!list || !out) {
        fprintf(stderr, "pack LIST -o FILE.pack [--header FILE.h] [--embed FILE.h]: makes a pack of the calls that LIST declares\n"
                        "pack --list FILE.pack: prints what a pack has\n");
        return 2;
    }
    read_list(list);
    remove(out); // what is there is not added to
    if (vulkan) {
        record(spy_vk_backend(), SPY_ADAPTER_TYPE_DEFAULT, out, header_path);
        record(spy_vk_backend(), SPY_ADAPTER_TYPE_CPU, out, NULL);
    }
    if (cuda) record(spy_cuda_backend(), SPY_ADAPTER_TYPE_DEFAULT, out, vulkan ? NULL : header_path);
    if (embed_path) embed(out, embed_path);
    return 0;
}

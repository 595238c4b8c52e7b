// What the arguments of a call become: each row of the tables in tests/gpu/resolution/ is resolved with the real compiler and
// compared with what the rules say (design.md, "Mapping and broadcast" and "Values and types"). Calls that resolve are also
// compiled, but not run.
//
// resolution/README.md has the tables' little language. A new kind of argument is one function and one row of `words` below.
#include "gpu_test.h"

#include <ctype.h>
#include <dirent.h>

#define MOST_ROWS 4096
#define MOST_TABLES 64
#define LONGEST 1024

spy_device *gpu_device;

// >>tables

typedef struct row {
    const char *file;
    int line;
    int space;     // the namespace that its signatures stand in; -1: declarations of the table
    bool known;    // the code is known not to follow the rule: skipped, and fails once it does
    bool declares; // the first row of its namespace: its signature stands there
    char signature[LONGEST];
    char call[LONGEST];     // f(float (8, 3))
    char expected[LONGEST]; // "v: float3 [0 .] -> float (8)" or "! SHAPE_MISMATCH text"
} row;

typedef struct table {
    char name[64];
    bool strict;        // its module has strict_broadcasting
    bool textures;      // its arguments are textures: skipped on CUDA, which has none yet
    char *declarations; // Slang text of the lines that begin with '>'
    row *rows[MOST_ROWS];
    size_t row_count, line_count;
} table;

static table tables[MOST_TABLES];
static size_t table_count;

static char *trim(char *s) {
    while (*s == ' ' || *s == '\t') s++;
    size_t n = strlen(s);
    while (n > 0 && strchr(" \t\r\n", s[n - 1])) s[--n] = 0;
    return s;
}

// One space between words and after ',' and ';', none inside brackets: what is compared.
static void squeeze(const char *from, char *to) {
    char *begin = to;
    for (; *from; from++) {
        if (*from == ' ' && (to == begin || strchr(" (", to[-1]) || strchr(" ),;", from[1]))) continue;
        *to++ = *from;
        if (*from == ',' || *from == ';') *to++ = ' ';
    }
    while (to > begin && to[-1] == ' ') to--;
    *to = 0;
}

static bool in_word(char c) {
    return c && !strchr(" \t(){}=;,@|", c);
}

// The first word with alternatives, "bool/int/float"; NULL: there is none.
static const char *find_alternatives(const char *text, size_t *size) {
    const char *slash = strchr(text, '/'), *begin = slash, *end = slash;
    if (!slash) return NULL;
    while (begin > text && in_word(begin[-1])) begin--;
    while (in_word(*end)) end++;
    *size = (size_t)(end - begin);
    return begin;
}

// `at` lies in `text`, which has LONGEST bytes.
static void replace(char *text, const char *at, size_t size, const char *by) {
    size_t head = (size_t)(at - text), rest = strlen(at + size) + 1, length = strlen(by);
    assert_true(head + length + rest <= LONGEST);
    memmove(text + head + length, at + size, rest);
    memcpy(text + head, by, length);
}

static void add_row(table *t, const row *r) {
    row *copy = (row *)malloc(sizeof *copy);
    assert_non_null(copy);
    assert_true(t->row_count < MOST_ROWS);
    *copy = *r;
    t->rows[t->row_count++] = copy;
}

// Adds the row once for each alternative of its signature (each in a namespace of its own) or call, '%' everywhere being the
// chosen one.
static void expand_row(table *t, row *r) {
    size_t size = 0;
    const char *in_signature = find_alternatives(r->signature, &size);
    const char *list = in_signature ? in_signature : find_alternatives(r->call, &size);
    if (!list) {
        add_row(t, r);
        return;
    }
    row one = *r;
    for (const char *begin = list; begin < list + size;) {
        const char *end = begin;
        char chosen[LONGEST];
        while (end < list + size && *end != '/') end++;
        snprintf(chosen, sizeof chosen, "%.*s", (int)(end - begin), begin);
        char *texts[3] = { one.signature, one.call, one.expected };
        memcpy(one.signature, r->signature, LONGEST);
        memcpy(one.call, r->call, LONGEST);
        memcpy(one.expected, r->expected, LONGEST);
        if (in_signature) replace(one.signature, one.signature + (list - r->signature), size, chosen);
        else replace(one.call, one.call + (list - r->call), size, chosen);
        for (int i = 0; i < 3; i++)
            for (char *percent = strchr(texts[i], '%'); percent;
                 percent = strchr(percent + strlen(chosen), '%'))
                replace(texts[i], percent, 1, chosen);
        add_row(t, &one);
        if (in_signature) one.space++;
        else one.declares = false;
        begin = end + 1;
    }
    r->space = in_signature ? one.space - 1 : one.space;
}

// `last` is the row before, whose signature '"' repeats; `spaces`, how many namespaces there are.
static void read_row(table *t, char *line, row *last, int number, int *spaces) {
    char *call = strchr(line, '|'), *expected = call ? strchr(call + 1, '|') : NULL;
    row r = *last;
    r.line = number;
    if (!expected) fail_msg("%s:%d: expected signature | call | what it gives", r.file, number);
    else {
        *call++ = *expected++ = 0;
        char *signature = trim(line);
        r.declares = strcmp(signature, "\"") != 0;
        if (r.declares) {
            snprintf(r.signature, LONGEST, "%s", signature);
            r.space = signature[0] ? *spaces + 1 : -1;
        }
        expected = trim(expected);
        r.known = strncmp(expected, "known ", 6) == 0;
        if (r.known) expected += 6;
        snprintf(r.call, LONGEST, "%s", trim(call));
        if (*expected == '!') snprintf(r.expected, LONGEST, "%s", expected);
        else squeeze(expected, r.expected);
        *last = r;
        expand_row(t, &r);
        if (r.space > *spaces) *spaces = r.space;
    }
}

static void read_table(const char *folder, const char *name) {
    table *t = &tables[table_count++];
    char path[1024], line[LONGEST];
    row last;
    int spaces = 0, number = 0;
    size_t size = 0;
    snprintf(t->name, sizeof t->name, "%s", name);
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *f = fopen(path, "r");
    if (!f) fail_msg("cannot read %s", path);
    memset(&last, 0, sizeof last);
    last.file = t->name;
    last.space = -1;
    t->declarations = (char *)calloc(1, 1);
    while (fgets(line, sizeof line, f)) {
        char *text = trim(line);
        number++;
        if (text[0] == '>') {
            size_t more = strlen(text + 1);
            t->declarations = (char *)realloc(t->declarations, size + more + 2);
            assert_non_null(t->declarations);
            memcpy(t->declarations + size, text + 1, more);
            size += more;
            memcpy(t->declarations + size++, "\n", 2);
        } else if (strcmp(text, "strict") == 0) {
            t->strict = true;
        } else if (strcmp(text, "textures") == 0) {
            t->textures = true;
        } else if (text[0] && text[0] != '#') {
            read_row(t, text, &last, number, &spaces);
            t->line_count++;
        }
    }
    fclose(f);
}

static int by_name(const void *a, const void *b) {
    return strcmp(((const table *)a)->name, ((const table *)b)->name);
}

static void read_tables(void) {
    char folder[1024];
    gpu_path(__FILE__, "resolution", folder, sizeof folder);
    DIR *d = opendir(folder);
    if (!d) fail_msg("cannot open %s", folder);
    for (struct dirent *e = readdir(d); e; e = readdir(d)) {
        size_t n = strlen(e->d_name);
        if (n > 4 && strcmp(e->d_name + n - 4, ".txt") == 0 && table_count < MOST_TABLES)
            read_table(folder, e->d_name);
    }
    closedir(d);
    qsort(tables, table_count, sizeof *tables, by_name);
    for (size_t i = 0; i < table_count; i++)
        for (size_t k = 0; k < tables[i].row_count; k++) tables[i].rows[k]->file = tables[i].name;
}

// >>calls: the text of a call becomes spy_args

#define MOST_ARGS 128
#define MOST_MADE 64
#define MOST_GRIDS 8
#define HOST_BYTES (1 << 16)

typedef struct parser {
    const char *at;
    spy_module *module;
    const char *error; // NULL: none so far
    spy_arg args[MOST_ARGS];
    size_t arg_count;
    char names[8192]; // strings that arguments point to
    size_t name_size;
    spy_tensor *made[MOST_MADE];
    size_t made_count;
    spy_texture *textures[MOST_MADE];
    size_t texture_count;
    spy_sampler *sampler;
    spy_tensor *new_tensor;
    spy_grid_desc grids[MOST_GRIDS];
    size_t grid_count;
    _Alignas(16) char host[HOST_BYTES]; // what host arrays and outputs point to: values are not looked at
} parser;

static void parse_fails(parser *p, const char *why) {
    if (!p->error) p->error = why;
}

static void skip_space(parser *p) {
    while (*p->at == ' ') p->at++;
}

static bool take(parser *p, char c) {
    skip_space(p);
    if (*p->at != c) return false;
    p->at++;
    return true;
}

static void need(parser *p, char c, const char *why) {
    if (!take(p, c)) parse_fails(p, why);
}

// A word of Slang text: "x", "float3", "vector<float,3>", "int[4]", "ns::Foo". "" when there is none.
static const char *word(parser *p) {
    skip_space(p);
    const char *begin = p->at;
    for (int depth = 0; *p->at && (in_word(*p->at) || (depth > 0 && *p->at == ',')); p->at++) {
        if (*p->at == '<') depth++;
        if (*p->at == '>') depth--;
    }
    size_t n = (size_t)(p->at - begin);
    if (p->name_size + n + 1 > sizeof p->names) {
        parse_fails(p, "the call is too long");
        return "";
    }
    char *kept = p->names + p->name_size;
    memcpy(kept, begin, n);
    kept[n] = 0;
    p->name_size += n + 1;
    return kept;
}

static int64_t number(parser *p) {
    char *end = NULL;
    long long n = strtoll(p->at, &end, 10);
    if (end == p->at) parse_fails(p, "expected a whole number");
    p->at = end;
    return n;
}

static bool shape_follows(parser *p) {
    skip_space(p);
    return *p->at == '(';
}

static spy_shape shape(parser *p) {
    spy_shape s;
    memset(&s, 0, sizeof s);
    need(p, '(', "expected a shape");
    while (!p->error && !take(p, ')')) {
        if (s.rank == SPY_MAX_RANK) parse_fails(p, "the shape has too many dimensions");
        else s.dims[s.rank++] = number(p);
        skip_space(p);
        if (*p->at != ')') need(p, ',', "expected ',' in a shape");
    }
    return s;
}

static spy_dtype dtype(parser *p) {
    const char *name = word(p);
    for (int d = SPY_DTYPE_BOOL; d < SPY_DTYPE_COUNT; d++)
        if (strcmp(spy_dtype_name((spy_dtype)d), name) == 0) return (spy_dtype)d;
    parse_fails(p, "expected a scalar type");
    return SPY_DTYPE_FLOAT32;
}

// 2.5f is a float, 2.5 a double, 3 an int32, 3u, 3l, 3ul the others, true a bool.
static spy_arg parse_number(parser *p) {
    char *end = NULL, *whole_end = NULL;
    double f = strtod(p->at, &end);
    long long i = strtoll(p->at, &whole_end, 10);
    bool whole = end == whole_end;
    p->at = end;
    if (take(p, 'f')) return spy_arg_f32(NULL, (float)f);
    if (!whole) return spy_arg_f64(NULL, f);
    bool is_unsigned = take(p, 'u'), is_long = take(p, 'l');
    if (is_long) return is_unsigned ? spy_arg_u64(NULL, (uint64_t)i) : spy_arg_i64(NULL, i);
    return is_unsigned ? spy_arg_u32(NULL, (uint32_t)i) : spy_arg_i32(NULL, (int32_t)i);
}

static spy_arg parse_true(parser *p) {
    (void)p;
    return spy_arg_bool(NULL, true);
}

// float (8, 3): a tensor.
static spy_arg parse_tensor(parser *p, const char *type) {
    spy_shape s = shape(p);
    spy_tensor *t = NULL;
    if (!p->error && p->made_count < MOST_MADE)
        t = gpu_tensor(gpu_device, SPY_DTYPE_DEFAULT, type, p->module, s, NULL);
    if (!p->error && !t) parse_fails(p, spy_take_error(gpu_device).message);
    if (t) p->made[p->made_count++] = t;
    return spy_arg_tensor(NULL, t);
}

// host float (8, 3)
static spy_arg parse_host(parser *p) {
    spy_dtype d = dtype(p);
    return spy_arg_array(NULL, p->host, shape(p), d);
}

static spy_arg parse_value(parser *p) {
    return spy_map_value(parse_host(p));
}

// out float, out float (3), out bytes 12; inout likewise
static spy_arg parse_returned(parser *p, bool in) {
    const char *begin = p->at;
    if (strcmp(word(p), "bytes") == 0) {
        skip_space(p);
        size_t n = (size_t)number(p);
        return in ? spy_inout_data(NULL, p->host, n) : spy_out_data(NULL, p->host, n);
    }
    p->at = begin;
    spy_dtype d = dtype(p);
    if (shape_follows(p)) {
        spy_shape s = shape(p);
        return in ? spy_inout_array(NULL, p->host, s, d) : spy_out_array(NULL, p->host, s, d);
    }
    void *h = p->host;
    switch (d) {
    case SPY_DTYPE_BOOL: return in ? spy_inout_bool(NULL, (bool *)h) : spy_out_bool(NULL, (bool *)h);
    case SPY_DTYPE_INT32: return in ? spy_inout_i32(NULL, (int32_t *)h) : spy_out_i32(NULL, (int32_t *)h);
    case SPY_DTYPE_UINT32: return in ? spy_inout_u32(NULL, (uint32_t *)h) : spy_out_u32(NULL, (uint32_t *)h);
    case SPY_DTYPE_INT64: return in ? spy_inout_i64(NULL, (int64_t *)h) : spy_out_i64(NULL, (int64_t *)h);
    case SPY_DTYPE_UINT64: return in ? spy_inout_u64(NULL, (uint64_t *)h) : spy_out_u64(NULL, (uint64_t *)h);
    case SPY_DTYPE_FLOAT32: return in ? spy_inout_f32(NULL, (float *)h) : spy_out_f32(NULL, (float *)h);
    case SPY_DTYPE_FLOAT64: return in ? spy_inout_f64(NULL, (double *)h) : spy_out_f64(NULL, (double *)h);
    default: parse_fails(p, "there is no number of this type: use bytes"); return spy_arg_i32(NULL, 0);
    }
}

static spy_arg parse_out(parser *p) {
    return parse_returned(p, false);
}
static spy_arg parse_inout(parser *p) {
    return parse_returned(p, true);
}

static spy_arg parse_new(parser *p) {
    return spy_out_tensor(NULL, &p->new_tensor);
}

static spy_arg parse_bytes(parser *p) {
    skip_space(p);
    return spy_arg_data(NULL, p->host, (size_t)number(p));
}

static spy_arg parse_call_id(parser *p) {
    (void)p;
    return spy_arg_call_id(NULL);
}

static spy_arg parse_thread_id(parser *p) {
    (void)p;
    return spy_arg_thread_id(NULL);
}

static spy_arg parse_wang_hash(parser *p) {
    (void)p;
    return spy_arg_wang_hash(NULL, NULL);
}

static spy_arg parse_rand_float(parser *p) {
    (void)p;
    return spy_arg_rand_float(NULL, -1, 1, NULL);
}

// grid (480, -1)
static spy_arg parse_grid(parser *p) {
    if (p->grid_count == MOST_GRIDS) {
        parse_fails(p, "too many grids");
        return spy_arg_grid(NULL, NULL);
    }
    spy_grid_desc *desc = &p->grids[p->grid_count++];
    memset(desc, 0, sizeof *desc);
    desc->shape = shape(p);
    return spy_arg_grid(NULL, desc);
}

// range (0, 10, 2)
static spy_arg parse_range(parser *p) {
    spy_shape s = shape(p);
    if (s.rank != 3) parse_fails(p, "a range is written as (start, stop, step)");
    return spy_arg_range(NULL, s.dims[0], s.dims[1], s.dims[2]);
}

// The word that an argument begins with; a word that is not here is the element type of a tensor.
static spy_arg make_texture(parser *p, bool array, bool cube) {
    static const struct {
        const char *texel;
        spy_format format;
    } formats[] = { { "float", SPY_FORMAT_R32_FLOAT },      { "float2", SPY_FORMAT_RG32_FLOAT }, { "float4", SPY_FORMAT_RGBA32_FLOAT },
                    { "unorm", SPY_FORMAT_RGBA8_UNORM },    { "uint", SPY_FORMAT_R32_UINT },     { "uint4", SPY_FORMAT_RGBA8_UINT },
                    { "int", SPY_FORMAT_R32_SINT } };
    spy_texture_desc d;
    memset(&d, 0, sizeof d);
    const char *texel = word(p);
    spy_shape s = shape(p);
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++)
        if (strcmp(formats[i].texel, texel) == 0) d.format = formats[i].format;
    uint32_t first = array ? 1 : 0, rank = s.rank - first;
    if (array && s.rank) d.array_size = (uint32_t)s.dims[0];
    d.type = cube ? SPY_TEXTURE_TYPE_CUBE : rank == 1 ? SPY_TEXTURE_TYPE_1D : rank == 3 ? SPY_TEXTURE_TYPE_3D : SPY_TEXTURE_TYPE_2D;
    if (rank >= 1) d.width = (uint32_t)s.dims[s.rank - 1];
    if (rank >= 2) d.height = (uint32_t)s.dims[s.rank - 2];
    if (rank == 3) d.depth = (uint32_t)s.dims[s.rank - 3];
    if (cube) d.height = d.width;
    spy_texture *t = p->texture_count < MOST_MADE && !p->error ? spy_create_texture(gpu_device, &d) : NULL;
    if (t) p->textures[p->texture_count++] = t;
    else parse_fails(p, "the texture cannot be made");
    return spy_arg_texture(NULL, t);
}

// texture float4 (480, 640), textures float4 (LAYERS, 480, 640), cube float4 (64)
static spy_arg parse_texture(parser *p) {
    return make_texture(p, false, false);
}

static spy_arg parse_texture_array(parser *p) {
    return make_texture(p, true, false);
}

static spy_arg parse_cube(parser *p) {
    return make_texture(p, false, true);
}

static spy_arg parse_sampler(parser *p) {
    if (!p->sampler) p->sampler = spy_create_sampler(gpu_device, NULL);
    return spy_arg_sampler(NULL, p->sampler);
}

static const struct {
    const char *word;
    spy_arg (*parse)(parser *p);
} words[] = {
    { "true", parse_true }, { "host", parse_host },   { "value", parse_value }, { "out", parse_out },
    { "new", parse_new },   { "inout", parse_inout }, { "bytes", parse_bytes },
    { "call_id", parse_call_id }, { "thread_id", parse_thread_id },
    { "wang_hash", parse_wang_hash }, { "rand_float", parse_rand_float },
    { "grid", parse_grid }, { "range", parse_range },
    { "texture", parse_texture }, { "textures", parse_texture_array }, { "cube", parse_cube }, { "sampler", parse_sampler },
};

static spy_args arguments(parser *p, char end);

// A value, then "as TYPE" (spy_vcast) and "@(1, 0)" (spy_vmap).
static spy_arg argument(parser *p) {
    spy_arg arg;
    const char *name = NULL;
    skip_space(p);
    const char *begin = p->at;
    const char *first = isdigit((unsigned char)*begin) || *begin == '-' || *begin == '{' ? "" : word(p);
    if (first[0] && take(p, '=')) {
        name = first;
        skip_space(p);
        begin = p->at;
        first = isdigit((unsigned char)*begin) || *begin == '-' || *begin == '{' ? "" : word(p);
    }
    if (!first[0] && take(p, '{')) {
        arg = spy_arg_struct(NULL, arguments(p, '}'));
    } else if (!first[0]) {
        arg = parse_number(p);
        if (p->at == begin) parse_fails(p, "expected an argument");
    } else {
        size_t i = 0, n = sizeof words / sizeof *words;
        while (i < n && strcmp(words[i].word, first) != 0) i++;
        arg = i < n ? words[i].parse(p) : parse_tensor(p, first);
    }
    skip_space(p);
    if (strncmp(p->at, "as ", 3) == 0) {
        p->at += 3;
        arg = spy_vcast(arg, word(p));
    }
    if (take(p, '@')) {
        spy_shape s = shape(p);
        spy_dims dims;
        memset(&dims, 0, sizeof dims);
        dims.count = s.rank;
        for (uint32_t i = 0; i < s.rank; i++) dims.dims[i] = (int32_t)s.dims[i];
        arg = spy_vmap(arg, dims);
    }
    arg.name = name;
    return arg;
}

static spy_args arguments(parser *p, char end) {
    spy_arg list[16];
    spy_args args = { NULL, 0 };
    while (!p->error && !take(p, end)) {
        if (args.count == sizeof list / sizeof *list) parse_fails(p, "too many arguments");
        else list[args.count++] = argument(p);
        skip_space(p);
        if (*p->at != end) need(p, ',', "expected ',' between arguments");
    }
    if (p->arg_count + args.count > MOST_ARGS) {
        parse_fails(p, "too many arguments");
        return args;
    }
    memcpy(p->args + p->arg_count, list, args.count * sizeof *list);
    args.items = p->args + p->arg_count;
    p->arg_count += args.count;
    return args;
}

// >>results: a resolution becomes text

static void render(const spy_resolution *r, bool all, char *text, size_t capacity) {
    size_t n = 0;
    text[0] = 0;
#define ADD(...) n += (size_t)snprintf(text + n, n < capacity ? capacity - n : 0, __VA_ARGS__)
    for (uint32_t i = 0; i < r->binding_count; i++) {
        const spy_binding *b = &r->bindings[i];
        bool result = strcmp(b->path, "_result") == 0 || strncmp(b->path, "_result.", 8) == 0;
        const char *way = b->direction == SPY_DIRECTION_INOUT            ? "inout "
                          : b->direction == SPY_DIRECTION_OUT && !result ? "out "
                                                                         : "";
        ADD("%s%s: %s%s", i ? "; " : "", b->path, way, b->type);
        for (uint32_t d = 0; d < b->map.count; d++) ADD("%s%d", d ? " " : " [", (int)b->map.dims[d]);
        for (uint32_t d = 0; d < b->consumed_rank; d++) ADD("%s", d || b->map.count ? " ." : " [.");
        if (b->map.count + b->consumed_rank) ADD("]");
    }
    if (all) {
        ADD("%s-> %s (", r->binding_count ? " " : "", r->result_type);
        for (uint32_t d = 0; d < r->shape.rank; d++)
            ADD("%s%lld", d ? ", " : "", (long long)r->shape.dims[d]);
        ADD(")");
    }
#undef ADD
    assert_true(n < capacity);
}

// SHAPE_MISMATCH for SPY_ERROR_SHAPE_MISMATCH.
static const char *status_name(spy_status status) {
    static const struct {
        spy_status status;
        const char *name;
    } names[] = {
#define NAME(name, value, text) { name, #name },
        SPY_STATUS_LIST(NAME)
#undef NAME
    };
    size_t i = 0, n = sizeof names / sizeof *names, prefix = strlen("SPY_ERROR_");
    while (i < n && names[i].status != status) i++;
    if (i == n) return "?";
    return strncmp(names[i].name, "SPY_ERROR_", prefix) == 0 ? names[i].name + prefix : names[i].name;
}

// "! STATUS piece ... piece" against an error.
static bool error_fits(const char *expected, spy_error e) {
    char copy[LONGEST];
    snprintf(copy, sizeof copy, "%s", expected + 1);
    char *name = trim(copy), *text = name + strcspn(name, " ");
    if (*text) *text++ = 0;
    bool good = strcmp(name, status_name(e.code)) == 0;
    for (char *next = text; good && next; text = next) {
        next = strstr(text, "...");
        if (next) {
            *next = 0;
            next += 3;
        }
        good = strstr(e.message, trim(text)) != NULL;
    }
    return good;
}

// Whether a call that resolves compiles as well. Every tenth does, or all with SPY_TEST_SIZE=soak.
static bool compiles(spy_function *function, spy_args args, char *came, size_t capacity) {
    static size_t calls;
    if (calls++ % (1000 / test_count(1000)) != 0) return true;
    spy_prepared *prepared = spy_prepare(function, args, NULL);
    if (!prepared)
        snprintf(came, capacity, "resolved, but does not compile: %s", spy_take_error(gpu_device).message);
    spy_release_prepared(prepared);
    return prepared != NULL;
}

// Whether the row gives what it expects; `came` is what it gave.
static bool check_row(spy_module *module, const row *r, char *came, size_t capacity) {
    static parser p;
    char name[LONGEST], got[4096];
    const char *open = strchr(r->call, '(');
    memset(&p, 0, sizeof p - sizeof p.host);
    p.module = module;
    if (!open) {
        snprintf(came, capacity, "(no call)");
        return false;
    }
    if (r->space < 0) snprintf(name, sizeof name, "%.*s", (int)(open - r->call), r->call);
    else snprintf(name, sizeof name, "r%d::%.*s", r->space, (int)(open - r->call), r->call);
    p.at = open + 1;
    spy_args args = arguments(&p, ')');
    skip_space(&p);
    if (!p.error && *p.at) parse_fails(&p, "text after the call");
    bool good = false;
    if (p.error) {
        snprintf(came, capacity, "(the row cannot be read: %s)", p.error);
    } else {
        spy_function *f = spy_find_function(module, name);
        uint64_t kernels = spy_get_device_stats(gpu_device).kernels_built;
        spy_resolution *resolution = f ? spy_resolve(f, args, NULL) : NULL;
        assert_int_equal(spy_get_device_stats(gpu_device).kernels_built, kernels);
        if (resolution) {
            render(resolution, strstr(r->expected, "->") != NULL, got, sizeof got);
            squeeze(got, came);
            good = strcmp(came, r->expected) == 0 && compiles(f, args, came, capacity);
            spy_release_resolution(resolution);
        } else {
            spy_error e = spy_take_error(gpu_device);
            snprintf(came, capacity, "! %s %s", status_name(e.code), e.message);
            good = r->expected[0] == '!' && error_fits(r->expected, e);
        }
    }
    for (size_t i = 0; i < p.made_count; i++) spy_release_tensor(p.made[i]);
    for (size_t i = 0; i < p.texture_count; i++) spy_release_texture(p.textures[i]);
    spy_release_sampler(p.sampler);
    return good;
}

// >>the tests

// Writes the declarations of a row with bodies, so that calls of them can be compiled.
static size_t add_bodies(const char *signature, char *to, size_t capacity) {
    size_t n = 0;
    while (*signature) {
        int size = (int)strcspn(signature, ";");
        const char *open = strchr(signature, '('), *name = open;
        if (!open || open - signature >= size) name = open = signature + size;
        if (name > signature && name[-1] == '>') // a generic's parameters
            for (int depth = 0; name > signature; name--) {
                if (name[-1] == '>') depth++;
                if (name[-1] == '<' && --depth == 0) {
                    name--;
                    break;
                }
            }
        while (name > signature && (isalnum((unsigned char)name[-1]) || name[-1] == '_')) name--;
        while (signature[0] == ' ') signature++, size--;
        int result = (int)(name - signature);
        bool nothing = result >= 4 && strncmp(signature, "void", 4) == 0;
        n += (size_t)snprintf(to + n, capacity - n, nothing ? "%.*s {} " : "%.*s { %.*sr_; return r_; } ",
                              size, signature, result, signature);
        signature += size;
        if (*signature == ';') signature++;
    }
    return n;
}

// A table's module: its declarations, and a namespace for the signatures of each row, so that all can be called `f`.
static spy_module *load_table(const table *t) {
    size_t capacity = strlen(t->declarations) + 1, n = 0;
    for (size_t i = 0; i < t->row_count; i++) capacity += 3 * strlen(t->rows[i]->signature) + 256;
    char *source = (char *)malloc(capacity), name[64];
    assert_non_null(source);
    n = (size_t)snprintf(source, capacity, "%s", t->declarations);
    for (size_t i = 0; i < t->row_count; i++) {
        const row *r = t->rows[i];
        if (!r->declares || r->space < 0) continue;
        n += (size_t)snprintf(source + n, capacity - n, "#line %d \"%s\"\nnamespace r%d { ", r->line, r->file,
                              r->space);
        n += add_bodies(r->signature, source + n, capacity - n);
        n += (size_t)snprintf(source + n, capacity - n, "}\n");
        assert_true(n < capacity);
    }
    spy_module_desc d;
    memset(&d, 0, sizeof d);
    snprintf(name, sizeof name, "%.*s", (int)strcspn(t->name, "."), t->name);
    d.name = name;
    d.source = source;
    d.strict_broadcasting = t->strict;
    spy_module *module = spy_load_module(gpu_device, &d);
    free(source);
    return (spy_module *)gpu_made(module, t->name, __FILE__, __LINE__);
}

static void test_table(void **state) {
    const table *t = (const table *)*state;
    if (!gpu_device) {
        print_message("skipped: no Vulkan device\n");
        skip();
    }
    if (t->textures && gpu_is_cuda()) {
        print_message("skipped: no textures on CUDA\n");
        skip();
    }
    spy_module *module = load_table(t);
    size_t wrong = 0, known = 0;
    char came[8192];
    for (size_t i = 0; i < t->row_count; i++) {
        const row *r = t->rows[i];
        bool good = check_row(module, r, came, sizeof came);
        known += r->known;
        if (r->known && !good)
            print_message("skipped, known: %s:%d: %s\n    rule: %s\n    came: %s\n", r->file, r->line,
                          r->call, r->expected, came);
        if (good != r->known) continue;
        wrong++;
        if (good)
            print_error("%s:%d: %s\n    follows the rule now: take the word 'known' away\n", r->file, r->line,
                        r->call);
        else
            print_error("%s:%d: %s\n    expected %s\n    came     %s\n", r->file, r->line, r->call,
                        r->expected, came);
    }
    print_message("%s: %zu lines, %zu rows, %zu wrong, %zu known\n", t->name, t->line_count, t->row_count,
                  wrong, known);
    assert_int_equal(wrong, 0);
    spy_release_module(module);
}

// A line of a table that the code is known not to follow shows as a skipped test.
static void test_known(void **state) {
    (void)state;
    skip();
}

static void test_size(void **state) {
    size_t lines = 0, rows = 0;
    (void)state;
    for (size_t i = 0; i < table_count; i++) {
        lines += tables[i].line_count;
        rows += tables[i].row_count;
    }
    print_message("%zu tables, %zu lines, %zu rows\n", table_count, lines, rows);
    assert_true(lines >= 300);
}

static int setup(void **state) {
    spy_device_desc d = gpu_desc();
    (void)state;
    gpu_device = gpu_open(&d);
    return 0;
}

static int teardown(void **state) {
    (void)state;
    spy_release_device(gpu_device);
    for (size_t i = 0; i < table_count; i++) {
        for (size_t k = 0; k < tables[i].row_count; k++) free(tables[i].rows[k]);
        free(tables[i].declarations);
    }
    return 0;
}

int main(int argc, char **argv) { // test_resolution [TABLE]: only tables whose name begins so
    static struct CMUnitTest tests[MOST_TABLES + 128];
    static char names[128][96];
    size_t count = 0, known = 0;
    read_tables();
    if (argc < 2) tests[count++].test_func = test_size;
    if (count) tests[0].name = "test_size";
    for (size_t i = 0; i < table_count; i++) {
        if (argc > 1 && strncmp(tables[i].name, argv[1], strlen(argv[1])) != 0) continue;
        tests[count].name = tables[i].name;
        tests[count].test_func = test_table;
        tests[count++].initial_state = &tables[i];
        for (size_t k = 0; k < tables[i].row_count; k++) {
            const row *r = tables[i].rows[k];
            if (!r->known || known == 128) continue;
            snprintf(names[known], sizeof names[known], "known %s:%d", r->file, r->line);
            tests[count].name = names[known++];
            tests[count++].test_func = test_known;
        }
    }
    return gpu_run_group_tests("resolution", tests, count, setup, teardown);
}

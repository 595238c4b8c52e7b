// spy_tensor_print: a tensor's contents as text in the form of numpy's array2string, with brackets, columns
// of one width, and only the edges of large tensors.
//
// Source of the rules: numpy.set_printoptions' documentation (precision 8, threshold 1000, edgeitems 3,
// linewidth 75) and the output of numpy 2.4, which tests/unit/test_print.c quotes.
#include "data/device.h"

#define SPYI_PRINT_THRESHOLD 1000.0 // the largest number of scalars of a tensor that is shown in full
enum { SPYI_PRINT_EDGE = 3, SPYI_PRINT_WIDTH = 75, SPYI_PRINT_PRECISION = 8 };

// >>digits of floats

typedef struct spyi_digits {
    char digits[24]; // the decimal digits without final zeros, or "0" for 0
    int count;
    int exponent; // the decimal exponent of the first digit
    bool negative;
} spyi_digits;

// Returns a finite value rounded to 1 + `places` digits. snprintf's decimal point depends on the locale, so
// only the digits are read.
static spyi_digits spyi_digits_of(double value, int places) {
    spyi_digits d;
    char text[48];
    const char *at = text;
    memset(&d, 0, sizeof d);
    snprintf(text, sizeof text, "%.*e", places, value);
    if (*at == '-') {
        d.negative = true;
        at++;
    }
    for (; *at && *at != 'e'; at++)
        if (*at >= '0' && *at <= '9') d.digits[d.count++] = *at;
    d.exponent = *at == 'e' ? atoi(at + 1) : 0;
    while (d.count > 1 && d.digits[d.count - 1] == '0') d.digits[--d.count] = 0;
    return d;
}

static double spyi_float_value(const void *scalar, spy_dtype dtype) {
    double value = 0;
    spyi_convert_scalars(&value, SPY_DTYPE_FLOAT64, scalar, dtype, 1);
    return value;
}

// Returns the fewest places (digits behind the first) that distinguish a value from all others of its dtype.
static int spyi_shortest_places(double value, spy_dtype dtype) {
    for (int places = 0; places < 16; places++) {
        char text[48];
        snprintf(text, sizeof text, "%.*e", places, value);
        if (dtype == SPY_DTYPE_FLOAT64 && strtod(text, NULL) == value) return places;
        if (dtype == SPY_DTYPE_FLOAT32 && strtof(text, NULL) == (float)value) return places;
        if (dtype == SPY_DTYPE_FLOAT16 && spyi_float_to_half(strtod(text, NULL)) == spyi_float_to_half(value))
            return places;
    }
    return 16;
}

static bool spyi_print_is_finite(double value) {
    return value - value == 0;
}

SPYI_FN void spyi_scalar_text(const void *scalar, spy_dtype dtype, spyi_text *out) {
    int64_t i = 0;
    uint64_t u = 0;
    if (dtype == SPY_DTYPE_BOOL) {
        spyi_text_add(out, *(const char *)scalar ? "True" : "False");
    } else if (dtype >= SPY_DTYPE_FLOAT16) {
        double value = spyi_float_value(scalar, dtype);
        if (value != value) spyi_text_add(out, "nan");
        else if (!spyi_print_is_finite(value)) spyi_text_add(out, value < 0 ? "-inf" : "inf");
        else if (value > -1e15 && value < 1e15 && value == (double)(int64_t)value)
            spyi_text_add(out, "%lld", (long long)value); // "%.1g" would say 3e+02 of 300
        else spyi_text_add(out, "%.*g", spyi_shortest_places(value, dtype) + 1, value);
    } else if (spyi_convert_scalars(&i, SPY_DTYPE_INT64, scalar, dtype, 1)) {
        spyi_text_add(out, "%lld", (long long)i);
    } else {
        spyi_convert_scalars(&u, SPY_DTYPE_UINT64, scalar, dtype, 1);
        spyi_text_add(out, "%llu", (unsigned long long)u);
    }
}

// >>columns: the scalars that get one width: all of a tensor, or one field of its structs

typedef struct spyi_column {
    size_t width;                // the number of characters of one scalar's text
    int left, right;             // the numbers of characters before and after the point, for floats
    int places, exponent_digits; // the numbers of digits after the point and of the exponent
    bool with_exponent;
    bool any_finite, any_negative_infinity, any_other; // `any_other` tells of nan and inf
    double smallest, largest; // absolute values of the finite values other than 0; `largest` 0 means that
                              // there are none
} spyi_column;

// Takes a scalar in the first scan, which finds the width of integers and the range of floats.
static void spyi_column_see(spyi_column *c, const void *scalar, spy_dtype dtype) {
    if (!spyi_dtype_is_float(dtype)) {
        spyi_text text = { NULL, 0, 0 };
        spyi_scalar_text(scalar, dtype, &text);
        if (text.size > c->width) c->width = text.size;
        spyi_text_free(&text);
        return;
    }
    double value = spyi_float_value(scalar, dtype), size = value < 0 ? -value : value;
    if (!spyi_print_is_finite(value)) {
        c->any_other = true;
        c->any_negative_infinity = c->any_negative_infinity || value < 0;
        return;
    }
    c->any_finite = true;
    if (size == 0) return;
    if (c->largest == 0 || size < c->smallest) c->smallest = size;
    if (size > c->largest) c->largest = size;
}

static double spyi_print_round(double value, spy_dtype dtype) {
    if (dtype == SPY_DTYPE_FLOAT16) return spyi_half_to_float(spyi_float_to_half(value));
    return dtype == SPY_DTYPE_FLOAT32 ? (double)(float)value : value;
}

// Chooses whether the column has exponents. Limits are rounded to the dtype before they are compared, as
// numpy does.
static void spyi_column_choose(spyi_column *c, spy_dtype dtype) {
    if (c->largest == 0) return;
    double most = dtype == SPY_DTYPE_FLOAT16 ? 1e3 : dtype == SPY_DTYPE_FLOAT32 ? 1e6 : 1e8;
    double ratio = spyi_print_round(c->largest / c->smallest, dtype);
    c->with_exponent = c->largest >= most || c->smallest < spyi_print_round(1e-4, dtype) || ratio > 1000;
}

static spyi_digits spyi_column_digits(const spyi_column *c, double value, spy_dtype dtype) {
    spyi_digits d = spyi_digits_of(value, spyi_shortest_places(value, dtype));
    int most = c->with_exponent ? SPYI_PRINT_PRECISION : d.exponent + SPYI_PRINT_PRECISION;
    return d.count - 1 > most ? spyi_digits_of(value, most) : d;
}

static int spyi_exponent_digits(int exponent) {
    return exponent <= -100 || exponent >= 100 ? 3 : 2;
}

static int spyi_print_max(int a, int b) {
    return a > b ? a : b;
}

// Takes a scalar in the second scan, which finds how many characters floats need before and behind the point.
static void spyi_column_measure(spyi_column *c, const void *scalar, spy_dtype dtype) {
    double value = spyi_dtype_is_float(dtype) ? spyi_float_value(scalar, dtype) : 0;
    if (!spyi_dtype_is_float(dtype) || !spyi_print_is_finite(value)) return;
    spyi_digits d = spyi_column_digits(c, value, dtype);
    int whole = c->with_exponent || d.exponent < 0 ? 1 : d.exponent + 1;
    c->left = spyi_print_max(c->left, whole + d.negative);
    if (c->with_exponent) {
        c->places = spyi_print_max(c->places, d.count - 1);
        c->exponent_digits = spyi_print_max(c->exponent_digits, spyi_exponent_digits(d.exponent));
    } else {
        c->right = spyi_print_max(c->right, d.count - 1 - d.exponent);
    }
}

static void spyi_column_finish(spyi_column *c, spy_dtype dtype, bool alone) {
    if (dtype == SPY_DTYPE_BOOL && !alone) c->width = 5; // the width of "False", which "True" gets too
    if (!spyi_dtype_is_float(dtype)) return;
    if (c->with_exponent) c->right = c->places + c->exponent_digits + 2;
    int width = c->left + 1 + c->right;
    if (c->any_other) width = spyi_print_max(width, c->any_negative_infinity ? 4 : 3);
    c->width = (size_t)width;
    c->left = width - 1 - c->right;
}

static void spyi_column_float(const spyi_column *c, double value, spy_dtype dtype, spyi_text *out) {
    if (!spyi_print_is_finite(value)) {
        spyi_text_add(out, "%*s", (int)c->width, value != value ? "nan" : value < 0 ? "-inf" : "inf");
        return;
    }
    // With an exponent all values get c->places digits; without one, places that a value does not need are
    // blanks.
    spyi_digits d = c->with_exponent ? spyi_digits_of(value, c->places) : spyi_column_digits(c, value, dtype);
    int whole = c->with_exponent || d.exponent < 0 ? 1 : d.exponent + 1;
    int first = c->with_exponent ? 0 : d.exponent; // the index of the units digit in d.digits
    spyi_text_add(out, "%*s", c->left - whole, d.negative ? "-" : "");
    for (int i = first - whole + 1; i <= first; i++)
        spyi_text_add(out, "%c", i >= 0 && i < d.count ? d.digits[i] : '0');
    spyi_text_add(out, ".");
    int places = c->with_exponent ? c->places : spyi_print_max(d.count - 1 - first, 0);
    for (int i = first + 1; i <= first + places; i++)
        spyi_text_add(out, "%c", i >= 0 && i < d.count ? d.digits[i] : '0');
    if (c->with_exponent)
        spyi_text_add(out, "e%c%0*d", d.exponent < 0 ? '-' : '+', c->exponent_digits,
                      d.exponent < 0 ? -d.exponent : d.exponent);
    else spyi_text_add(out, "%*s", c->right - places, "");
}

static void spyi_column_text(const spyi_column *c, const void *scalar, spy_dtype dtype, spyi_text *out) {
    if (spyi_dtype_is_float(dtype)) {
        spyi_column_float(c, spyi_float_value(scalar, dtype), dtype, out);
        return;
    }
    spyi_text text = { NULL, 0, 0 };
    spyi_scalar_text(scalar, dtype, &text);
    spyi_text_add(out, "%*s", (int)c->width, spyi_text_str(&text));
    spyi_text_free(&text);
}

// >>walking the shown elements: the dimensions of the tensor, then those of its elements

typedef struct spyi_printer {
    const spy_tensor *tensor;
    spyi_column *columns;
    bool cut; // shows only the edges of long dimensions
    spyi_text out;
} spyi_printer;

// A position in the data: the next dimension of the tensor (equal to its rank inside an element), the type
// and bytes of the value there, and its column.
typedef struct spyi_spot {
    uint32_t dim;
    const spyi_type *type;
    const char *at;
    uint32_t column;
} spyi_spot;

static int64_t spyi_shown(const spyi_printer *p, int64_t n) {
    return p->cut && n > 2 * SPYI_PRINT_EDGE ? 2 * SPYI_PRINT_EDGE : n;
}

static int64_t spyi_type_length(const spyi_type *type) {
    return type->kind == SPYI_TYPE_ARRAY    ? type->count
           : type->kind == SPYI_TYPE_MATRIX ? (int64_t)type->rows
                                            : (int64_t)type->columns;
}

// Returns the number of dimensions left at a spot; 0 means that it is a scalar or a struct.
static uint32_t spyi_spot_rank(const spyi_printer *p, const spyi_spot *s) {
    uint32_t rank = p->tensor->shape.rank - s->dim;
    for (const spyi_type *t = s->type; t->element; t = t->element) rank++;
    return rank;
}

static int64_t spyi_spot_length(const spyi_printer *p, const spyi_spot *s) {
    return s->dim < p->tensor->shape.rank ? p->tensor->shape.dims[s->dim] : spyi_type_length(s->type);
}

// Returns shown item `i` of the spot's next dimension. The data holds shown elements only, but all parts of
// each element.
static spyi_spot spyi_spot_item(const spyi_printer *p, const spyi_spot *s, int64_t i) {
    spyi_spot item = *s;
    size_t step;
    if (s->dim < p->tensor->shape.rank) {
        step = spyi_type_host_stride(s->type);
        for (uint32_t d = s->dim + 1; d < p->tensor->shape.rank; d++)
            step *= (size_t)spyi_shown(p, p->tensor->shape.dims[d]);
        item.dim++;
    } else {
        int64_t n = spyi_type_length(s->type);
        if (spyi_shown(p, n) < n && i >= SPYI_PRINT_EDGE) i += n - 2 * SPYI_PRINT_EDGE;
        item.type = s->type->element;
        step = spyi_type_host_stride(item.type);
    }
    item.at += (size_t)i * step;
    return item;
}

static uint32_t spyi_column_count(const spyi_type *type) {
    uint32_t count = 0;
    while (type->element) type = type->element;
    if (type->kind != SPYI_TYPE_STRUCT) return 1;
    for (uint32_t i = 0; i < type->field_count; i++) count += spyi_column_count(type->fields[i].type);
    return count;
}

static spyi_spot spyi_spot_field(const spyi_spot *s, uint32_t i) {
    spyi_spot field = *s;
    for (uint32_t k = 0; k < i; k++) field.column += spyi_column_count(s->type->fields[k].type);
    field.type = s->type->fields[i].type;
    field.at += s->type->fields[i].host_offset;
    return field;
}

static void spyi_spot_scan(spyi_printer *p, const spyi_spot *s, bool measure) {
    if (spyi_spot_rank(p, s) > 0) {
        int64_t shown = spyi_shown(p, spyi_spot_length(p, s));
        for (int64_t i = 0; i < shown; i++) {
            spyi_spot item = spyi_spot_item(p, s, i);
            spyi_spot_scan(p, &item, measure);
        }
    } else if (s->type->kind == SPYI_TYPE_STRUCT) {
        for (uint32_t i = 0; i < s->type->field_count; i++) {
            spyi_spot field = spyi_spot_field(s, i);
            spyi_spot_scan(p, &field, measure);
        }
    } else if (measure) {
        spyi_column_measure(&p->columns[s->column], s->at, s->type->scalar);
    } else {
        spyi_column_see(&p->columns[s->column], s->at, s->type->scalar);
    }
}

// Chooses (after the first scan) or finishes (after the second) each column that scalars of `type` have.
static void spyi_columns_step(spyi_printer *p, const spyi_type *type, uint32_t column, bool finish) {
    bool alone = p->tensor->shape.rank == 0 && !p->tensor->type->element;
    while (type->element) type = type->element;
    if (type->kind != SPYI_TYPE_STRUCT) {
        if (finish) spyi_column_finish(&p->columns[column], type->scalar, alone);
        else spyi_column_choose(&p->columns[column], type->scalar);
        return;
    }
    for (uint32_t i = 0; i < type->field_count; i++) {
        spyi_columns_step(p, type->fields[i].type, column, finish);
        column += spyi_column_count(type->fields[i].type);
    }
}

// >>the text

// Appends a scalar, a struct, or an array in a struct, on one line.
static void spyi_spot_word(const spyi_printer *p, const spyi_spot *s, spyi_text *out) {
    if (spyi_spot_rank(p, s) > 0) {
        int64_t n = spyi_spot_length(p, s), shown = spyi_shown(p, n);
        spyi_text_add(out, "[");
        for (int64_t i = 0; i < shown; i++) {
            spyi_spot item = spyi_spot_item(p, s, i);
            spyi_text_add(out, shown < n && i == SPYI_PRINT_EDGE ? " ... " : i ? " " : "");
            spyi_spot_word(p, &item, out);
        }
        spyi_text_add(out, "]");
    } else if (s->type->kind == SPYI_TYPE_STRUCT) {
        spyi_text_add(out, "{");
        for (uint32_t i = 0; i < s->type->field_count; i++) {
            spyi_spot field = spyi_spot_field(s, i);
            spyi_text_add(out, "%s%s: ", i ? ", " : "", s->type->fields[i].name);
            spyi_spot_word(p, &field, out);
        }
        spyi_text_add(out, "}");
    } else {
        spyi_column_text(&p->columns[s->column], s->at, s->type->scalar, out);
    }
}

// Appends a word to the line, or to a new line if it would pass `width` characters, which leave room for
// brackets. *line counts the line's characters.
static void spyi_print_word(spyi_printer *p, const char *word, size_t size, size_t indent, size_t width,
                            size_t *line) {
    if (*line + size > width && *line > indent) {
        while (p->out.size && p->out.data[p->out.size - 1] == ' ') p->out.data[--p->out.size] = 0;
        spyi_text_add(&p->out, "\n%*s", (int)indent, "");
        *line = indent;
    }
    spyi_text_add_n(&p->out, word, size);
    *line += size;
}

static void spyi_print_row(spyi_printer *p, const spyi_spot *s, size_t depth) {
    size_t indent = depth + 1, width = SPYI_PRINT_WIDTH - depth - 1, line = indent;
    int64_t n = spyi_spot_length(p, s), shown = spyi_shown(p, n);
    spyi_text word = { NULL, 0, 0 };
    for (int64_t i = 0; i < shown; i++) {
        spyi_spot item = spyi_spot_item(p, s, i);
        if (shown < n && i == SPYI_PRINT_EDGE) {
            spyi_print_word(p, "...", 3, indent, width, &line);
            spyi_print_word(p, " ", 1, indent, SIZE_MAX, &line);
        }
        spyi_text_clear(&word);
        spyi_spot_word(p, &item, &word);
        spyi_print_word(p, spyi_text_str(&word), word.size, indent, width, &line);
        if (i + 1 < shown) spyi_print_word(p, " ", 1, indent, SIZE_MAX, &line);
    }
    spyi_text_free(&word);
}

static void spyi_print_spot(spyi_printer *p, const spyi_spot *s, size_t depth) {
    uint32_t rank = spyi_spot_rank(p, s);
    if (rank == 0) {
        spyi_spot_word(p, s, &p->out);
        return;
    }
    int64_t n = spyi_spot_length(p, s), shown = spyi_shown(p, n);
    spyi_text_add(&p->out, "[");
    if (rank == 1) spyi_print_row(p, s, depth);
    for (int64_t i = 0; i < shown && rank > 1; i++) {
        spyi_spot item = spyi_spot_item(p, s, i);
        bool gap = shown < n && i == SPYI_PRINT_EDGE;
        for (int again = 0; again < 1 + gap && i > 0; again++) {
            for (uint32_t k = 1; k < rank; k++) spyi_text_add(&p->out, "\n");
            spyi_text_add(&p->out, "%*s%s", (int)depth + 1, "", again < gap ? "..." : "");
        }
        spyi_print_spot(p, &item, depth + 1);
    }
    spyi_text_add(&p->out, "]");
}

// >>the data: shown elements, packed in host memory

static double spyi_scalar_count(const spyi_type *type) {
    double count = 1;
    for (; type->element; type = type->element) count *= (double)spyi_type_length(type);
    if (type->kind != SPYI_TYPE_STRUCT) return count;
    double fields = 0;
    for (uint32_t i = 0; i < type->field_count; i++) fields += spyi_scalar_count(type->fields[i].type);
    return count * fields;
}

// Returns the box of the shown elements. A long dimension becomes two: one over the 2 edges, one over the
// items of an edge.
static spyi_box spyi_shown_box(const spyi_printer *p) {
    const spy_shape *shape = &p->tensor->shape, *strides = &p->tensor->strides;
    spyi_box box;
    memset(&box, 0, sizeof box);
    for (uint32_t d = 0; d < shape->rank; d++) {
        int64_t n = shape->dims[d];
        if (spyi_shown(p, n) < n) {
            box.dims[box.rank] = 2;
            box.strides[box.rank++] = (n - SPYI_PRINT_EDGE) * strides->dims[d];
            n = SPYI_PRINT_EDGE;
        }
        box.dims[box.rank] = n;
        box.strides[box.rank++] = strides->dims[d];
    }
    return box;
}

static spy_status spyi_print_tensor(spy_tensor *tensor, spyi_printer *p, spyi_text *error) {
    p->cut = (double)tensor->element_count * spyi_scalar_count(tensor->type) > SPYI_PRINT_THRESHOLD;
    spyi_text_add(&p->out, "%s ", tensor->type->display);
    spyi_shape_text(&tensor->shape, &p->out);
    spyi_text_add(&p->out, "\n");
    if (tensor->element_count == 0) {
        spyi_text_add(&p->out, "[]");
        return SPY_OK;
    }
    spyi_box box = spyi_shown_box(p);
    size_t size = spyi_type_host_stride(tensor->type);
    for (uint32_t d = 0; d < box.rank; d++) size *= (size_t)box.dims[d];
    char *data = (char *)spyi_malloc(size);
    p->columns = (spyi_column *)spyi_calloc(spyi_column_count(tensor->type), sizeof *p->columns);
    spy_status status = SPY_ERROR_OUT_OF_MEMORY;
    if (data && p->columns) status = spyi_tensor_download_box(tensor, &box, data, error);
    else spyi_text_add(error, "out of host memory");
    if (status == SPY_OK) {
        spyi_spot all = { 0, tensor->type, data, 0 };
        spyi_spot_scan(p, &all, false);
        spyi_columns_step(p, tensor->type, 0, false);
        spyi_spot_scan(p, &all, true);
        spyi_columns_step(p, tensor->type, 0, true);
        spyi_print_spot(p, &all, 0);
    }
    free(p->columns);
    free(data);
    return status;
}

size_t spy_tensor_print(spy_tensor *tensor, char *text, size_t capacity) {
    const char *function = "spy_tensor_print";
    if (text && capacity) text[0] = 0;
    if (spyi_enter(tensor, SPYI_KIND_TENSOR, function) != SPY_OK) return 0;
    spy_device *device = tensor->object.device;
    spyi_text error = { NULL, 0, 0 };
    spyi_printer p;
    memset(&p, 0, sizeof p);
    p.tensor = tensor;
    uint32_t failed = spyi_failed_allocations();
    spy_status status = spyi_print_tensor(tensor, &p, &error);
    status = spyi_check_allocations(failed, status, &error);
    if (status != SPY_OK) {
        spyi_fail_text(device, status, function, &error);
        spyi_text_clear(&p.out);
    }
    size_t size = spyi_text_give(&p.out, spyi_failed_allocations(), text, capacity);
    spyi_leave(device);
    return size;
}

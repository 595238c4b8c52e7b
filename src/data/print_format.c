// Formats a record of Slang's print() as text. Its formats are those of Python's str.format for numbers and
// strings.
#include "data/gpu_print.h"

// >>values

typedef struct spyi_message_value {
    uint32_t dtype;         // a spy_dtype, or SPYI_PRINT_STRING
    uint32_t rows, columns; // `rows` is 0 unless the value is a matrix; `columns` is 0 for a scalar
    const uint32_t *words;
} spyi_message_value;

static uint32_t spyi_message_words_of(uint32_t dtype) {
    return dtype == SPY_DTYPE_INT64 || dtype == SPY_DTYPE_UINT64 || dtype == SPY_DTYPE_FLOAT64 ? 2 : 1;
}

// Finds value number `index` (from 0) of a record; false means that there is none.
static bool spyi_message_find(const uint32_t *record, uint32_t count, uint32_t index,
                              spyi_message_value *out) {
    for (uint32_t at = 2; at < count; index--) {
        uint32_t tag = record[at++];
        out->dtype = tag & 255;
        out->rows = (tag >> 8) & 255;
        out->columns = (tag >> 16) & 255;
        out->words = record + at;
        uint32_t size = (out->rows ? out->rows : 1) * (out->columns ? out->columns : 1) *
                        spyi_message_words_of(out->dtype);
        if (out->dtype < SPY_DTYPE_BOOL || out->dtype > SPYI_PRINT_STRING || size > count - at) return false;
        if (index == 0) return true;
        at += size;
    }
    return false;
}

static uint64_t spyi_message_bits(const spyi_message_value *v, uint32_t i) {
    if (spyi_message_words_of(v->dtype) == 1) return v->words[i];
    return v->words[2 * i] | (uint64_t)v->words[2 * i + 1] << 32;
}

// >>formats: [[fill]align][sign][#][0][width][.precision][type]

typedef struct spyi_message_spec {
    char fill, align, sign, type; // 0 means that the format does not give it
    bool alternate;
    int width, precision; // -1 means that the format does not give it
} spyi_message_spec;

static bool spyi_message_is_align(char c) {
    return c == '<' || c == '>' || c == '^' || c == '=';
}

// Reads a number of at most three digits, which is 0 without digits; -1 means that it is longer.
static int spyi_message_number(const char **at, const char *end) {
    int value = 0;
    for (int digits = 0; *at < end && **at >= '0' && **at <= '9'; (*at)++) {
        if (++digits > 3) return -1;
        value = value * 10 + (**at - '0');
    }
    return value;
}

static bool spyi_message_parse_spec(const char *at, const char *end, spyi_message_spec *spec) {
    memset(spec, 0, sizeof *spec);
    spec->precision = -1;
    if (end - at >= 2 && spyi_message_is_align(at[1])) {
        spec->fill = *at++;
        spec->align = *at++;
    } else if (at < end && spyi_message_is_align(*at)) {
        spec->align = *at++;
    }
    if (at < end && (*at == '+' || *at == '-' || *at == ' ')) spec->sign = *at++;
    if (at < end && *at == '#') {
        spec->alternate = true;
        at++;
    }
    if (at < end && *at == '0') {
        if (!spec->align) spec->align = '=';
        if (!spec->fill) spec->fill = '0';
        at++;
    }
    spec->width = spyi_message_number(&at, end);
    if (at < end && *at == '.') {
        const char *digits = ++at;
        spec->precision = spyi_message_number(&at, end);
        if (at == digits || spec->precision > 99) return false;
        if (spec->precision < 0) return false;
    }
    if (at < end) spec->type = *at++;
    return spec->width >= 0 && at == end;
}

// >>scalars

// Appends `prefix` (sign, 0x) and `digits`, filled to the format's width. `align` applies when the format
// gives none.
static void spyi_message_padded(const spyi_message_spec *spec, char align, const char *prefix,
                                const char *digits, spyi_text *out) {
    size_t length = strlen(prefix) + strlen(digits), width = (size_t)spec->width;
    size_t room = width > length ? width - length : 0, before = 0, inside = 0;
    if (spec->align) align = spec->align;
    if (align == '>') before = room;
    else if (align == '^') before = room / 2;
    else if (align == '=') inside = room;
    char fill = spec->fill ? spec->fill : ' ';
    for (size_t i = 0; i < before; i++) spyi_text_add_n(out, &fill, 1);
    spyi_text_add_n(out, prefix, strlen(prefix));
    for (size_t i = 0; i < inside; i++) spyi_text_add_n(out, &fill, 1);
    spyi_text_add_n(out, digits, strlen(digits));
    for (size_t i = before + inside; i < room; i++) spyi_text_add_n(out, &fill, 1);
}

static void spyi_message_text(const spyi_message_spec *spec, const char *text, spyi_text *out) {
    spyi_text cut = { NULL, 0, 0 };
    size_t length = strlen(text);
    if (spec->precision >= 0 && (size_t)spec->precision < length) length = (size_t)spec->precision;
    spyi_text_add_n(&cut, text, length);
    spyi_message_padded(spec, '<', "", spyi_text_str(&cut), out);
    spyi_text_free(&cut);
}

static void spyi_message_integer(const spyi_message_spec *spec, bool negative, uint64_t magnitude,
                                 spyi_text *out) {
    char buffer[72], *digits = buffer + sizeof buffer - 1, prefix[4];
    const char *letters = spec->type == 'X' ? "0123456789ABCDEF" : "0123456789abcdef";
    unsigned base = spec->type == 'x' || spec->type == 'X' ? 16
                    : spec->type == 'o'                    ? 8
                    : spec->type == 'b'                    ? 2
                                                           : 10;
    size_t n = 0;
    *digits = 0;
    do *--digits = letters[magnitude % base];
    while (magnitude /= base);
    if (negative) prefix[n++] = '-';
    else if (spec->sign == '+' || spec->sign == ' ') prefix[n++] = spec->sign;
    if (spec->alternate && base != 10) {
        prefix[n++] = '0';
        prefix[n++] = spec->type;
    }
    prefix[n] = 0;
    spyi_message_padded(spec, '>', prefix, digits, out);
}

// Writes the shortest text of at least 6 digits' precision that reads back as the same number.
static void spyi_message_shortest(double value, bool is_double, char *buffer, size_t size) {
    for (int digits = 6; digits <= 17; digits++) {
        snprintf(buffer, size, "%.*g", digits, value);
        double back = strtod(buffer, NULL);
        if (is_double ? back >= value && back <= value
                      : (float)back >= (float)value && (float)back <= (float)value)
            return;
    }
}

static void spyi_message_float(const spyi_message_spec *spec, double value, bool is_double, spyi_text *out) {
    char buffer[448], form[8] = "%.*g", prefix[2] = { 0, 0 };
    uint64_t bits;
    bool upper = spec->type == 'E' || spec->type == 'F' || spec->type == 'G', percent = spec->type == '%';
    bool number = value >= value;
    memcpy(&bits, &value, sizeof bits);
    if (number && bits >> 63) value = -value;
    if (percent) value *= 100;
    if (!number) {
        snprintf(buffer, sizeof buffer, upper ? "NAN" : "nan");
    } else if (!spec->type && spec->precision < 0) {
        spyi_message_shortest(value, is_double, buffer, sizeof buffer);
    } else {
        if (spec->type) form[3] = percent ? 'f' : spec->type;
        snprintf(buffer, sizeof buffer - 1, form, spec->precision < 0 ? 6 : spec->precision, value);
    }
    for (char *c = buffer; *c; c++)
        if (*c == ',') *c = '.'; // this is the decimal point of the program's locale
    if (percent) strcat(buffer, "%");
    if (number && bits >> 63) prefix[0] = '-';
    else if (spec->sign == '+' || spec->sign == ' ') prefix[0] = spec->sign;
    spyi_message_padded(spec, '>', prefix, buffer, out);
}

static double spyi_message_as_double(const spyi_message_value *v, uint32_t i) {
    uint64_t bits = spyi_message_bits(v, i);
    uint32_t low = (uint32_t)bits;
    double value;
    float single;
    if (v->dtype == SPY_DTYPE_FLOAT64) {
        memcpy(&value, &bits, sizeof value);
        return value;
    }
    if (spyi_dtype_is_float((spy_dtype)v->dtype)) {
        memcpy(&single, &low, sizeof single);
        return single;
    }
    if (v->dtype == SPY_DTYPE_INT64) return (double)(int64_t)bits;
    return v->dtype == SPY_DTYPE_UINT64 || v->dtype == SPY_DTYPE_UINT32 ? (double)bits : (double)(int32_t)low;
}

static void spyi_message_scalar(const spyi_message_value *v, uint32_t i, const spyi_message_spec *spec,
                                spyi_text *out) {
    uint64_t bits = spyi_message_bits(v, i);
    if (v->dtype == SPY_DTYPE_BOOL && !spec->type) {
        spyi_message_text(spec, bits ? "true" : "false", out);
    } else if (spyi_dtype_is_float((spy_dtype)v->dtype) || (spec->type && strchr("eEfFgG%", spec->type))) {
        spyi_message_float(spec, spyi_message_as_double(v, i),
                           v->dtype != SPY_DTYPE_FLOAT32 && v->dtype != SPY_DTYPE_FLOAT16, out);
    } else {
        int64_t value = v->dtype == SPY_DTYPE_INT64 ? (int64_t)bits : (int64_t)(int32_t)(uint32_t)bits;
        bool has_sign = v->dtype == SPY_DTYPE_INT8 || v->dtype == SPY_DTYPE_INT16 ||
                        v->dtype == SPY_DTYPE_INT32 || v->dtype == SPY_DTYPE_INT64;
        bool negative = has_sign && value < 0;
        spyi_message_integer(spec, negative, negative ? 0 - (uint64_t)value : bits, out);
    }
}

// >>fields and records

// Returns what the format needs instead of the value that it got; NULL means that they fit.
static const char *spyi_message_needs(const spyi_message_value *v, const spyi_message_spec *spec) {
    bool integers = spec->type && strchr("bdoxX", spec->type),
         reals = spec->type && strchr("eEfFgG%", spec->type);
    if (v->dtype == SPYI_PRINT_STRING)
        return integers || reals                  ? "a number"
               : spec->type && spec->type != 's'  ? "another type letter"
               : spec->align == '=' || spec->sign ? "a number"
                                                  : NULL;
    if (spec->type == 's') return "a string";
    if (integers && spyi_dtype_is_float((spy_dtype)v->dtype)) return "an integer";
    if (spec->type && !integers && !reals) return "another type letter";
    bool real = reals || spyi_dtype_is_float((spy_dtype)v->dtype);
    return spec->precision >= 0 && !real ? "a float" : NULL;
}

static void spyi_message_value_text(const spyi_message_value *v, const spyi_message_spec *spec,
                                    const spyi_literals *literals, spyi_text *out) {
    if (v->dtype == SPYI_PRINT_STRING) {
        const char *text = spyi_literals_find(literals, v->words[0]);
        char unknown[32];
        snprintf(unknown, sizeof unknown, "<string %08x>", (unsigned)v->words[0]);
        spyi_message_text(spec, text ? text : unknown, out);
        return;
    }
    uint32_t rows = v->rows ? v->rows : 1, columns = v->columns ? v->columns : 1;
    if (v->rows) spyi_text_add(out, "{");
    for (uint32_t r = 0; r < rows; r++) {
        if (r) spyi_text_add(out, ", ");
        if (v->columns) spyi_text_add(out, "{");
        for (uint32_t c = 0; c < columns; c++) {
            if (c) spyi_text_add(out, ", ");
            spyi_message_scalar(v, r * columns + c, spec, out);
        }
        if (v->columns) spyi_text_add(out, "}");
    }
    if (v->rows) spyi_text_add(out, "}");
}

// Appends the value of a field. `at` points behind its "{", `end` to its "}". If the field is wrong, a text
// that says why is written instead.
static void spyi_message_field(const char *at, const char *end, const uint32_t *record, uint32_t count,
                               const spyi_literals *literals, uint32_t *next, spyi_text *out) {
    const char *begin = at, *digits = at;
    int number = spyi_message_number(&at, end);
    uint32_t index = at == digits ? (*next)++ : (uint32_t)number;
    spyi_message_value value;
    spyi_message_spec spec;
    const char *wrong = NULL, *what = "";
    bool colon = at < end && *at == ':';
    if (number < 0 || (at < end && !colon) || !spyi_message_parse_spec(at + colon, end, &spec))
        wrong = "is no format";
    else if (!spyi_message_find(record, count, index, &value)) wrong = "has no value";
    else if ((what = spyi_message_needs(&value, &spec)) != NULL) wrong = "needs ";
    if (!wrong) {
        spyi_message_value_text(&value, &spec, literals, out);
        return;
    }
    spyi_text_add(out, "{%.*s%s%s%s}", (int)(end - begin), begin, end > begin ? " " : "", wrong,
                  what ? what : "");
}

SPYI_FN void spyi_print_format(const uint32_t *record, uint32_t count, const spyi_literals *literals,
                               spyi_text *out) {
    const char *format = spyi_literals_find(literals, record[1]);
    uint32_t next = 0;
    if (!format) {
        spyi_text_add(out, "<format %08x>", (unsigned)record[1]);
        return;
    }
    while (*format) {
        size_t plain = strcspn(format, "{}");
        spyi_text_add_n(out, format, plain);
        format += plain;
        if (!*format) return;
        const char *end = *format == '{' ? strchr(format, '}') : NULL;
        if (format[1] == *format) { // a doubled brace stands for one
            spyi_text_add_n(out, format, 1);
            format += 2;
        } else if (!end) { // a single brace without its partner is an error
            spyi_text_add_n(out, format++, 1);
        } else {
            spyi_message_field(format + 1, end, record, count, literals, &next, out);
            format = end + 1;
        }
    }
}

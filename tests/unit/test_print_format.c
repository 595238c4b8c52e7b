// Records of print() as text. Records are built here by the rules that slangpy_print.slang states; expected texts are
// those of Python's str.format, where that has the case.
#include "spy_test.h"
#ifdef SPY_TEST_SPLIT
#include "data/gpu_print.h"
#endif

static spyi_literals literals;
static uint32_t record[256], words;

static void begin(const char *format) {
    static uint32_t hash = 100;
    words = 2;
    record[1] = ++hash;
    assert_true(spyi_literals_add(&literals, hash, format, strlen(format)));
}

static void put(uint32_t word) {
    assert_true(words < 256);
    record[words++] = word;
}

static void put_int(int32_t v) {
    put(SPY_DTYPE_INT32);
    put((uint32_t)v);
}

static void put_uint(uint32_t v) {
    put(SPY_DTYPE_UINT32);
    put(v);
}

static uint32_t float_bits(float v) {
    uint32_t bits;
    memcpy(&bits, &v, sizeof bits);
    return bits;
}

static void put_float(float v) {
    put(SPY_DTYPE_FLOAT32);
    put(float_bits(v));
}

static void put_wide(uint32_t dtype, uint64_t bits) {
    put(dtype);
    put((uint32_t)bits);
    put((uint32_t)(bits >> 32));
}

static void put_double(double v) {
    uint64_t bits;
    memcpy(&bits, &v, sizeof bits);
    put_wide(SPY_DTYPE_FLOAT64, bits);
}

static void put_string(uint32_t hash, const char *text) {
    if (text) assert_true(spyi_literals_add(&literals, hash, text, strlen(text)));
    put(SPYI_PRINT_STRING);
    put(hash);
}

static void prints_at(const char *expected, int line) {
    spyi_text out = { NULL, 0, 0 };
    record[0] = words;
    // The record alone, so that AddressSanitizer sees a read beyond it.
    uint32_t *copy = (uint32_t *)malloc(words * sizeof *copy);
    assert_non_null(copy);
    memcpy(copy, record, words * sizeof *copy);
    spyi_print_format(copy, words, &literals, &out);
    free(copy);
    if (strcmp(spyi_text_str(&out), expected) != 0) {
        print_error("line %d: expected '%s', got '%s'\n", line, expected, spyi_text_str(&out));
        spyi_text_free(&out);
        fail();
    }
    spyi_text_free(&out);
}
#define PRINTS(expected) prints_at((expected), __LINE__)

#define ONE_INT(format, value, expected) (begin(format), put_int(value), PRINTS(expected))
#define ONE_FLOAT(format, value, expected) (begin(format), put_float(value), PRINTS(expected))
#define ONE_DOUBLE(format, value, expected) (begin(format), put_double(value), PRINTS(expected))

static void test_plain(void **state) {
    (void)state;
    begin("");
    PRINTS("");
    begin("no values");
    PRINTS("no values");
    begin("{{}} {{{}}} }}{{");
    put_int(7);
    PRINTS("{} {7} }{");
    begin("a { b"); // alone: itself
    PRINTS("a { b");
    begin("a } b {");
    PRINTS("a } b {");
    begin("{} {} {}");
    put_int(1);
    put_uint(2);
    put_float(3);
    PRINTS("1 2 3");
    begin("{1} {0} {} {}");
    put_int(1);
    put_int(2);
    PRINTS("2 1 1 2");
    begin("too many: {}"); // further values are not asked for
    put_int(1);
    put_int(2);
    PRINTS("too many: 1");
}

static void test_integers(void **state) {
    (void)state;
    ONE_INT("{}", 0, "0");
    ONE_INT("{}", INT32_MIN, "-2147483648");
    ONE_INT("{:d}", -5, "-5");
    ONE_INT("{:x}", 255, "ff");
    ONE_INT("{:X}", 255, "FF");
    ONE_INT("{:#x}", 255, "0xff");
    ONE_INT("{:#X}", 255, "0XFF");
    ONE_INT("{:#b}", 5, "0b101");
    ONE_INT("{:o}", 8, "10");
    ONE_INT("{:x}", -255, "-ff");
    ONE_INT("{:5}", 42, "   42");
    ONE_INT("{:<5}|", 42, "42   |");
    ONE_INT("{:^5}|", 42, " 42  |");
    ONE_INT("{:*>5}", 42, "***42");
    ONE_INT("{:05}", -42, "-0042");
    ONE_INT("{:=5}", -42, "-  42");
    ONE_INT("{:#010x}", 255, "0x000000ff");
    ONE_INT("{:<05}", 42, "42000");
    ONE_INT("{:+}", 42, "+42");
    ONE_INT("{: }", 42, " 42");
    ONE_INT("{:-}", 42, "42");
    ONE_INT("{:.2f}", 3, "3.00");
    ONE_INT("{0:x} {0}", 10, "a 10");
    begin("{} {} {} {} {}");
    put(SPY_DTYPE_INT8);
    put((uint32_t)-128);
    put(SPY_DTYPE_UINT8);
    put(255);
    put(SPY_DTYPE_INT16);
    put((uint32_t)-32768);
    put(SPY_DTYPE_UINT16);
    put(65535);
    put_uint(UINT32_MAX);
    PRINTS("-128 255 -32768 65535 4294967295");
    begin("{} {} {} {:x} {:.1f}");
    put_wide(SPY_DTYPE_INT64, (uint64_t)INT64_MIN);
    put_wide(SPY_DTYPE_INT64, (uint64_t)INT64_MAX);
    put_wide(SPY_DTYPE_UINT64, UINT64_MAX);
    put_wide(SPY_DTYPE_UINT64, UINT64_MAX);
    put_wide(SPY_DTYPE_INT64, (uint64_t)-2);
    PRINTS("-9223372036854775808 9223372036854775807 18446744073709551615 ffffffffffffffff -2.0");
    begin("{:b}");
    put_wide(SPY_DTYPE_UINT64, UINT64_MAX);
    PRINTS("1111111111111111111111111111111111111111111111111111111111111111");
}

static void test_bools(void **state) {
    (void)state;
    begin("{} {} {:d} {:>6} {:6}|");
    for (int i = 0; i < 5; i++) {
        put(SPY_DTYPE_BOOL);
        put(i != 1);
    }
    PRINTS("true false 1   true true  |");
}

static void test_floats(void **state) {
    (void)state;
    ONE_FLOAT("{}", 1, "1");
    ONE_FLOAT("{}", 0.1f, "0.1");
    ONE_FLOAT("{}", 1.0f / 3, "0.33333334"); // tells it from its neighbours
    ONE_FLOAT("{}", 16777216.0f, "16777216");
    ONE_FLOAT("{}", 1e20f, "1e+20");
    ONE_FLOAT("{}", -0.0f, "-0");
    ONE_DOUBLE("{}", 0.1, "0.1");
    ONE_DOUBLE("{}", 1.0 / 3, "0.3333333333333333");
    ONE_DOUBLE("{}", 5e-324, "4.94066e-324");
    ONE_DOUBLE("{:.17g}", 0.1, "0.10000000000000001");
    ONE_FLOAT("{:.3f}", 3.14159f, "3.142");
    ONE_FLOAT("{:f}", 0.5f, "0.500000");
    ONE_FLOAT("{:e}", 1234.5f, "1.234500e+03");
    ONE_FLOAT("{:.2E}", 1234.5f, "1.23E+03");
    ONE_FLOAT("{:g}", 0.0001f, "0.0001");
    ONE_FLOAT("{:.3}", 1234.5f, "1.23e+03");
    ONE_FLOAT("{:8.3f}", -3.14159f, "  -3.142");
    ONE_FLOAT("{:08.3f}", -3.14159f, "-003.142");
    ONE_FLOAT("{:+.1f}", 2, "+2.0");
    ONE_FLOAT("{:.0f}", 2.5f, "2");
    ONE_FLOAT("{:.1%}", 0.256f, "25.6%");
    double zero = 0;
    ONE_DOUBLE("{}", 1 / zero, "inf");
    ONE_DOUBLE("{:F}", -1 / zero, "-INF");
    ONE_DOUBLE("{}", zero / zero, "nan");
    ONE_DOUBLE("{:G}", zero / zero, "NAN");
    char longest[512];
    snprintf(longest, sizeof longest, "%.99f", 1.7976931348623157e308);
    ONE_DOUBLE("{:.99f}", 1.7976931348623157e308, longest);
}

static void test_vectors(void **state) {
    (void)state;
    begin("v = {}");
    put(SPY_DTYPE_FLOAT32 | 3u << 16);
    for (int i = 0; i < 3; i++) put(float_bits((float)i + 0.5f));
    PRINTS("v = {0.5, 1.5, 2.5}");
    begin("{:.2f} {}");
    put(SPY_DTYPE_FLOAT32 | 2u << 16);
    put(float_bits(1));
    put(float_bits(2));
    put_int(3);
    PRINTS("{1.00, 2.00} 3");
    begin("{:02x}");
    put(SPY_DTYPE_UINT32 | 1u << 16);
    put(10);
    PRINTS("{0a}");
    begin("{1} {0}");
    put(SPY_DTYPE_INT32 | 2u << 8 | 3u << 16);
    for (uint32_t i = 0; i < 6; i++) put(i);
    put(SPY_DTYPE_BOOL | 2u << 16);
    put(1);
    put(0);
    PRINTS("{true, false} {{0, 1, 2}, {3, 4, 5}}");
    begin("{} {}");
    put(SPY_DTYPE_UINT64 | 2u << 16);
    put(1);
    put(1);
    put(2);
    put(0);
    put_int(-1);
    PRINTS("{4294967297, 2} -1");
}

static void test_strings(void **state) {
    (void)state;
    begin("{} {:>5}|{:5}|{:.2}|{:s}");
    for (int i = 0; i < 5; i++) put_string(7, "abc");
    PRINTS("abc   abc|abc  |ab|abc");
    begin("{}");
    put_string(0xdead, NULL);
    PRINTS("<string 0000dead>");
    begin("x");
    record[1] = 0xbeef; // no such format
    PRINTS("<format 0000beef>");
}

// What is wrong is said in its place, and the rest is printed.
static void test_wrong(void **state) {
    (void)state;
    begin("x = {}, y = {}");
    put_int(1);
    PRINTS("x = 1, y = {has no value}");
    ONE_INT("{2} {}", 1, "{2 has no value} 1");
    ONE_FLOAT("{:x}", 1, "{:x needs an integer}");
    ONE_INT("{:.2}", 1, "{:.2 needs a float}");
    ONE_INT("{:s}", 1, "{:s needs a string}");
    ONE_INT("{:q}", 1, "{:q needs another type letter}");
    ONE_INT("{:5q5}", 1, "{:5q5 is no format}");
    ONE_INT("{x}", 1, "{x is no format}");
    ONE_INT("{0x}", 1, "{0x is no format}");
    ONE_INT("{:99999}", 1, "{:99999 is no format}");
    ONE_INT("{9999}", 1, "{9999 is no format}");
    ONE_FLOAT("{:.100f}", 1, "{:.100f is no format}");
    ONE_FLOAT("{:.f}", 1, "{:.f is no format}");
    begin("{:d} {:+} {:s}");
    put_string(7, "abc");
    put_string(7, "abc");
    put_string(7, "abc");
    PRINTS("{:d needs a number} {:+ needs a number} abc");
}

// Words that no kernel writes are not read beyond the record.
static void test_broken_records(void **state) {
    (void)state;
    begin("{} {}");
    put(SPY_DTYPE_FLOAT32 | 255u << 8 | 255u << 16);
    put(1);
    PRINTS("{has no value} {has no value}");
    begin("{}");
    put(SPY_DTYPE_FLOAT64);
    put(1);
    PRINTS("{has no value}");
    begin("{}");
    put(0);
    put(1);
    PRINTS("{has no value}");
    begin("{}");
    put(14);
    put(1);
    PRINTS("{has no value}");
    uint64_t seed = 12345;
    for (int i = 0; i < 20000; i++) {
        begin(i % 2 ? "{} {3} {:x} {:.3f} {}" : "{:05} {} {}");
        for (int k = 0; k < i % 12; k++) {
            seed = seed * 6364136223846793005u + 1442695040888963407u;
            put((uint32_t)(seed >> 33) % (k % 2 ? 0xffffffffu : 16u) | (seed >> 61 ? 0u : 0x20300u));
        }
        spyi_text out = { NULL, 0, 0 };
        uint32_t *copy = (uint32_t *)malloc(words * sizeof *copy);
        assert_non_null(copy);
        memcpy(copy, record, words * sizeof *copy);
        spyi_print_format(copy, words, &literals, &out);
        free(copy);
        spyi_text_free(&out);
        spyi_literals_free(&literals);
    }
}

static void test_literals(void **state) {
    (void)state;
    spyi_literals l;
    memset(&l, 0, sizeof l);
    for (uint32_t i = 0; i < 100; i++) {
        char text[16];
        snprintf(text, sizeof text, "text %u", (unsigned)i);
        assert_true(spyi_literals_add(&l, i * 7, text, strlen(text)));
        assert_true(spyi_literals_add(&l, i * 7, "other", 5)); // the first stays
    }
    assert_int_equal(l.count, 100);
    assert_string_equal(spyi_literals_find(&l, 70), "text 10");
    assert_null(spyi_literals_find(&l, 71));
    spyi_literals_free(&l);
    assert_null(spyi_literals_find(&l, 70));
}

static int teardown(void **state) {
    (void)state;
    spyi_literals_free(&literals);
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_plain),  cmocka_unit_test(test_integers),       cmocka_unit_test(test_bools),
        cmocka_unit_test(test_floats), cmocka_unit_test(test_vectors),        cmocka_unit_test(test_strings),
        cmocka_unit_test(test_wrong),  cmocka_unit_test(test_broken_records), cmocka_unit_test(test_literals),
    };
    return cmocka_run_group_tests(tests, NULL, teardown);
}

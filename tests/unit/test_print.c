// spy_tensor_print. The strings were written by numpy 2.4.6: print(numpy.array2string(array)) of the same values; those of
// structs and of vectors follow its rules for fields and for further dimensions.
#define _DEFAULT_SOURCE // mmap
#include "data_test.h"
#include <sys/mman.h>
#include <math.h>

static const char source[] = "struct Light { float3 color; float radius; int kind; bool on; }\n"
                             "struct Long { int8_t a; float table[200]; }\n"
                             "struct Outer { Light inner[2]; double d; }\n"
                             "float f(Light a, Long b, Outer c) { return 0; }\n";

static int setup(void **state) {
    (void)state;
    return data_open(source, data_defaults());
}

static void expect(spy_tensor *t, const char *expected, int line) {
    size_t size = spy_tensor_print(t, NULL, 0);
    char *text = (char *)malloc(size + 1);
    assert_int_equal(spy_tensor_print(t, text, size + 1), size);
    assert_int_equal(strlen(text), size);
    if (strcmp(text, expected) != 0) fail_msg("line %d:\n%s\nexpected:\n%s", line, text, expected);
    free(text);
    spy_release_tensor(t);
}
#define PRINTS(t, text) expect((t), (text), __LINE__)

#define SAY(ctype, dtype, shape, text, ...)                                                                   \
    do {                                                                                                      \
        const ctype v_[] = { __VA_ARGS__ };                                                                   \
        PRINTS(TENSOR((dtype), (shape), v_), text);                                                           \
    } while (0)

static void test_floats(void **state) {
    (void)state;
    SAY(float, SPY_DTYPE_FLOAT32, SPY_SHAPE(2, 3), "float (2, 3)\n[[ 1.   2.5  3. ]\n [-4.   5.   6. ]]", 1, 2.5f, 3, -4, 5, 6);
    SAY(float, SPY_DTYPE_FLOAT32, SPY_SHAPE(4), "float (4,)\n[  0.1          0.33333334 100.          -2.        ]", 0.1f, 1 / 3.0f, 100, -2);
    SAY(float, SPY_DTYPE_FLOAT32, SPY_SHAPE(2), "float (2,)\n[9.9999997e-06 1.2345678e-03]", 1e-5f,
        1.2345678e-3f);
    SAY(float, SPY_DTYPE_FLOAT32, SPY_SHAPE(2), "float (2,)\n[999999.  100000.5]", 999999, 100000.5f);
    SAY(float, SPY_DTYPE_FLOAT32, SPY_SHAPE(2), "float (2,)\n[1.e+06 3.e+00]", 1e6f, 3);
    SAY(float, SPY_DTYPE_FLOAT32, SPY_SHAPE(4), "float (4,)\n[ 1.5  nan -inf  0. ]", 1.5f, NAN, -INFINITY, 0);
    SAY(float, SPY_DTYPE_FLOAT32, SPY_SHAPE(3), "float (3,)\n[nan inf nan]", NAN, INFINITY, NAN);
    SAY(float, SPY_DTYPE_FLOAT32, SPY_SHAPE(3), "float (3,)\n[ 1.e+20     inf -1.e+00]", 1e20f, INFINITY, -1);
    SAY(float, SPY_DTYPE_FLOAT32, SPY_SHAPE(2), "float (2,)\n[-0.  0.]", -0.0f, 0);
    SAY(float, SPY_DTYPE_FLOAT32, SPY_SHAPE(3), "float (3,)\n[0.00012346 0.1        0.05      ]", 0.00012345679f, 0.1f, 0.05f);
    SAY(float, SPY_DTYPE_FLOAT32, SPY_SHAPE(2), "float (2,)\n[0.0001 0.05  ]", 1e-4f,
        0.05f); // 1e-4f is below 1e-4
    SAY(double, SPY_DTYPE_FLOAT64, SPY_SHAPE(3), "double (3,)\n[0.1        0.12345679 7.        ]", 0.1, 0.123456789123, 7);
    SAY(double, SPY_DTYPE_FLOAT64, SPY_SHAPE(3), "double (3,)\n[ 1.e-300  1.e+300 -1.e+000]", 1e-300, 1e300,
        -1);
    SAY(double, SPY_DTYPE_FLOAT64, SPY_SHAPE(2), "double (2,)\n[99999999.5 50000000. ]", 99999999.5, 5e7);
    SAY(double, SPY_DTYPE_FLOAT64, SPY_SHAPE(2), "double (2,)\n[1.23456789e+00 2.00000000e-04]", 1.234567890123456, 2e-4);
    SAY(double, SPY_DTYPE_FLOAT64, SPY_SHAPE(2), "double (2,)\n[1.  0.5]", 0.999999999, 0.5);
    SAY(double, SPY_DTYPE_FLOAT64, SPY_SHAPE(2), "double (2,)\n[1.e-04 5.e-01]", 9.9999999999e-5, 0.5);
    SAY(uint16_t, SPY_DTYPE_FLOAT16, SPY_SHAPE(4), "half (4,)\n[  0.1      0.3333 100.      -2.    ]", 0x2e66, 0x3555, 0x5640, 0xc000);
    SAY(uint16_t, SPY_DTYPE_FLOAT16, SPY_SHAPE(2), "half (2,)\n[1.e+03 1.e+00]", 0x63d0, 0x3c00);
    SAY(uint16_t, SPY_DTYPE_FLOAT16, SPY_SHAPE(2), "half (2,)\n[6.55e+04 5.96e-08]", 0x7bff, 0x0001);
}

static void test_integers(void **state) {
    (void)state;
    SAY(int32_t, SPY_DTYPE_INT32, SPY_SHAPE(2, 2, 2), "int (2, 2, 2)\n[[[  1 -20]\n  [300   4]]\n\n [[  5   6]\n  [  7   8]]]", 1, -20, 300, 4, 5, 6, 7, 8);
    SAY(int8_t, SPY_DTYPE_INT8, SPY_SHAPE(3), "int8_t (3,)\n[-128    0  127]", -128, 0, 127);
    SAY(uint64_t, SPY_DTYPE_UINT64, SPY_SHAPE(2), "uint64_t (2,)\n[18446744073709551615                    1]", UINT64_MAX, 1);
    SAY(int64_t, SPY_DTYPE_INT64, SPY_SHAPE(2), "int64_t (2,)\n[-9223372036854775808                    1]", INT64_MIN, 1);
    SAY(bool, SPY_DTYPE_BOOL, SPY_SHAPE(2, 2), "bool (2, 2)\n[[ True False]\n [False  True]]", true, false, false, true);
    SAY(float, SPY_DTYPE_FLOAT32, SPY_SHAPE(1, 0, 3), "float (1, 0, 3)\n[]", 0);
    SAY(float, SPY_DTYPE_FLOAT32, SPY_SHAPE(1, 1, 1, 2), "float (1, 1, 1, 2)\n[[[[1. 2.]]]]", 1, 2);
    SAY(float, SPY_DTYPE_FLOAT32, data_rank0(), "float ()\n1.5", 1.5f);
    SAY(bool, SPY_DTYPE_BOOL, data_rank0(), "bool ()\nTrue", true);
    SAY(int32_t, SPY_DTYPE_INT32, data_rank0(), "int ()\n-3", -3);
}

static spy_tensor *iota(int32_t step, spy_shape shape) {
    static int32_t data[200000];
    for (int32_t i = 0; i < 200000; i++) data[i] = i * step;
    return TENSOR(SPY_DTYPE_INT32, shape, data);
}

static void test_lines(void **state) {
    (void)state;
    PRINTS(iota(37, SPY_SHAPE(40)), "int (40,)\n[   0   37   74  111  148  185  222  259  296  333  370  407  444  481\n"
                                    "  518  555  592  629  666  703  740  777  814  851  888  925  962  999\n"
                                    " 1036 1073 1110 1147 1184 1221 1258 1295 1332 1369 1406 1443]");
    PRINTS(iota(1001, SPY_SHAPE(2, 30)), "int (2, 30)\n"
                                         "[[    0  1001  2002  3003  4004  5005  6006  7007  8008  9009 10010 11011\n"
                                         "  12012 13013 14014 15015 16016 17017 18018 19019 20020 21021 22022 23023\n"
                                         "  24024 25025 26026 27027 28028 29029]\n"
                                         " [30030 31031 32032 33033 34034 35035 36036 37037 38038 39039 40040 41041\n"
                                         "  42042 43043 44044 45045 46046 47047 48048 49049 50050 51051 52052 53053\n"
                                         "  54054 55055 56056 57057 58058 59059]]");
}

static void test_summary(void **state) {
    (void)state;
    PRINTS(iota(1, SPY_SHAPE(1001)), "int (1001,)\n[   0    1    2 ...  998  999 1000]");
    PRINTS(iota(1, SPY_SHAPE(100, 100)), "int (100, 100)\n"
                                         "[[   0    1    2 ...   97   98   99]\n"
                                         " [ 100  101  102 ...  197  198  199]\n"
                                         " [ 200  201  202 ...  297  298  299]\n"
                                         " ...\n"
                                         " [9700 9701 9702 ... 9797 9798 9799]\n"
                                         " [9800 9801 9802 ... 9897 9898 9899]\n"
                                         " [9900 9901 9902 ... 9997 9998 9999]]");
    PRINTS(iota(1, SPY_SHAPE(7, 2, 100)), "int (7, 2, 100)\n"
                                          "[[[   0    1    2 ...   97   98   99]\n"
                                          "  [ 100  101  102 ...  197  198  199]]\n"
                                          "\n"
                                          " [[ 200  201  202 ...  297  298  299]\n"
                                          "  [ 300  301  302 ...  397  398  399]]\n"
                                          "\n"
                                          " [[ 400  401  402 ...  497  498  499]\n"
                                          "  [ 500  501  502 ...  597  598  599]]\n"
                                          "\n"
                                          " ...\n"
                                          "\n"
                                          " [[ 800  801  802 ...  897  898  899]\n"
                                          "  [ 900  901  902 ...  997  998  999]]\n"
                                          "\n"
                                          " [[1000 1001 1002 ... 1097 1098 1099]\n"
                                          "  [1100 1101 1102 ... 1197 1198 1199]]\n"
                                          "\n"
                                          " [[1200 1201 1202 ... 1297 1298 1299]\n"
                                          "  [1300 1301 1302 ... 1397 1398 1399]]]");
    char text[8000]; // 1,000 elements are not cut
    spy_tensor *thousand = iota(1, SPY_SHAPE(1000));
    assert_true(spy_tensor_print(thousand, text, sizeof text) > 3900);
    assert_null(strstr(text, "..."));
    assert_non_null(strstr(text, " 500 "));
    spy_release_tensor(thousand);
    // A view, turned: what is shown follows the view.
    spy_tensor *t = iota(1, SPY_SHAPE(100, 100)), *turned = spy_create_transpose(t, SPY_DIMS(1, 0));
    PRINTS(MADE(spy_create_slice(turned, 0, SPY_INDEX_NONE, 96, -1)), "int (3, 100)\n"
                                                                  "[[  99  199  299  399  499  599  699  799  899  999 1099 1199 1299 1399\n"
                                                                  "  1499 1599 1699 1799 1899 1999 2099 2199 2299 2399 2499 2599 2699 2799\n"
                                                                  "  2899 2999 3099 3199 3299 3399 3499 3599 3699 3799 3899 3999 4099 4199\n"
                                                                  "  4299 4399 4499 4599 4699 4799 4899 4999 5099 5199 5299 5399 5499 5599\n"
                                                                  "  5699 5799 5899 5999 6099 6199 6299 6399 6499 6599 6699 6799 6899 6999\n"
                                                                  "  7099 7199 7299 7399 7499 7599 7699 7799 7899 7999 8099 8199 8299 8399\n"
                                                                  "  8499 8599 8699 8799 8899 8999 9099 9199 9299 9399 9499 9599 9699 9799\n"
                                                                  "  9899 9999]\n"
                                                                  " [  98  198  298  398  498  598  698  798  898  998 1098 1198 1298 1398\n"
                                                                  "  1498 1598 1698 1798 1898 1998 2098 2198 2298 2398 2498 2598 2698 2798\n"
                                                                  "  2898 2998 3098 3198 3298 3398 3498 3598 3698 3798 3898 3998 4098 4198\n"
                                                                  "  4298 4398 4498 4598 4698 4798 4898 4998 5098 5198 5298 5398 5498 5598\n"
                                                                  "  5698 5798 5898 5998 6098 6198 6298 6398 6498 6598 6698 6798 6898 6998\n"
                                                                  "  7098 7198 7298 7398 7498 7598 7698 7798 7898 7998 8098 8198 8298 8398\n"
                                                                  "  8498 8598 8698 8798 8898 8998 9098 9198 9298 9398 9498 9598 9698 9798\n"
                                                                  "  9898 9998]\n"
                                                                  " [  97  197  297  397  497  597  697  797  897  997 1097 1197 1297 1397\n"
                                                                  "  1497 1597 1697 1797 1897 1997 2097 2197 2297 2397 2497 2597 2697 2797\n"
                                                                  "  2897 2997 3097 3197 3297 3397 3497 3597 3697 3797 3897 3997 4097 4197\n"
                                                                  "  4297 4397 4497 4597 4697 4797 4897 4997 5097 5197 5297 5397 5497 5597\n"
                                                                  "  5697 5797 5897 5997 6097 6197 6297 6397 6497 6597 6697 6797 6897 6997\n"
                                                                  "  7097 7197 7297 7397 7497 7597 7697 7797 7897 7997 8097 8197 8297 8397\n"
                                                                  "  8497 8597 8697 8797 8897 8997 9097 9197 9297 9397 9497 9597 9697 9797\n"
                                                                  "  9897 9997]]");
    spy_release_tensor(turned);
    spy_release_tensor(t);
}

static void test_elements(void **state) {
    (void)state;
    static const float v[] = { 1, 2, 3, 4.5f, 5, 6 };
    PRINTS(TYPED("float3", SPY_SHAPE(2), v), "float3 (2,)\n[[1.  2.  3. ]\n [4.5 5.  6. ]]");
    PRINTS(TYPED("float2x3", data_rank0(), v), "float2x3 ()\n[[1.  2.  3. ]\n [4.5 5.  6. ]]");
    static float big[400 * 3];
    for (int i = 0; i < 1200; i++) big[i] = (float)(i % 7);
    PRINTS(TYPED("float3", SPY_SHAPE(400), big), "float3 (400,)\n[[0. 1. 2.]\n [3. 4. 5.]\n [6. 0. 1.]\n ...\n [1. 2. 3.]\n [4. 5. 6.]\n [0. 1. 2.]]");
    struct {
        float color[3], radius;
        int32_t kind;
        bool on;
    } lights[2] = { { { 1, 0.5f, 0 }, 2, 7, true }, { { 0, 0, 0.25f }, 10.5f, -1, false } };
    PRINTS(TYPED("Light", SPY_SHAPE(2), lights), "Light (2,)\n"
                                                 "[{color: [1.   0.5  0.  ], radius:  2. , kind:  7, on:  True}\n"
                                                 " {color: [0.   0.   0.25], radius: 10.5, kind: -1, on: False}]");
    PRINTS(TYPED("Light", data_rank0(), lights), "Light ()\n{color: [1.  0.5 0. ], radius: 2., kind: 7, on: True}");
    static struct {
        int8_t a;
        float table[200];
    } longs[6];
    for (int i = 0; i < 6; i++)
        for (int k = 0; k < 200; k++) longs[i].table[k] = (float)k;
    PRINTS(TYPED("Long", SPY_SHAPE(6), longs), "Long (6,)\n"
                                               "[{a: 0, table: [  0.   1.   2. ... 197. 198. 199.]}\n"
                                               " {a: 0, table: [  0.   1.   2. ... 197. 198. 199.]}\n"
                                               " {a: 0, table: [  0.   1.   2. ... 197. 198. 199.]}\n"
                                               " {a: 0, table: [  0.   1.   2. ... 197. 198. 199.]}\n"
                                               " {a: 0, table: [  0.   1.   2. ... 197. 198. 199.]}\n"
                                               " {a: 0, table: [  0.   1.   2. ... 197. 198. 199.]}]");
    struct {
        struct {
            float color[3], radius;
            int32_t kind;
            bool on;
        } inner[2];
        double d;
    } outer;
    memset(&outer, 0, sizeof outer);
    outer.inner[1].kind = 12;
    outer.d = 3;
    PRINTS(TYPED("Outer", SPY_SHAPE(1), &outer), "Outer (1,)\n"
                                                 "[{inner: [{color: [0. 0. 0.], radius: 0., kind:  0, on: False} "
                                                 "{color: [0. 0. 0.], radius: 0., kind: 12, on: False}], d: 3.}]");
}

static void test_snprintf(void **state) {
    (void)state;
    static const int32_t v[] = { 1, 2, 3 };
    char text[8] = "xxxxxxx";
    spy_tensor *t = TENSOR(SPY_DTYPE_INT32, SPY_SHAPE(3), v);
    assert_int_equal(spy_tensor_print(t, text, sizeof text), strlen("int (3,)\n[1 2 3]"));
    assert_string_equal(text, "int (3,");
    assert_int_equal(spy_tensor_print(t, text, 1), strlen("int (3,)\n[1 2 3]"));
    assert_string_equal(text, "");
    assert_int_equal(spy_tensor_print(t, text, 0), strlen("int (3,)\n[1 2 3]"));
    spy_release_tensor(t);
    text[0] = 'x';
    assert_int_equal(spy_tensor_print(NULL, text, sizeof text), 0);
    assert_string_equal(text, "");
    THREAD_ERROR_IS(SPY_ERROR_INVALID_ARGUMENT, "spy_tensor_print", "NULL");
}

// Only what is shown is fetched: a gigabyte of which only the corners may be touched.
static void test_huge(void **state) {
    (void)state;
    static char block[4096];
    const size_t row = (size_t)1 << 20, rows = 1024;
    char *memory = (char *)mmap(NULL, row * rows, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    assert_true(memory != MAP_FAILED);
    for (size_t i = 0; i < rows; i += i == 2 ? rows - 5 : 1) {
        assert_int_equal(mprotect(memory + i * row, 4096, PROT_READ | PROT_WRITE), 0);
        assert_int_equal(mprotect(memory + (i + 1) * row - 4096, 4096, PROT_READ | PROT_WRITE), 0);
        memory[i * row + 2] = (char)(i % 100);
        memory[(i + 1) * row - 1] = 5;
    }
    spyi_chunk chunk = spyi_null_import(device->gpu, memory, row * rows);
    spy_tensor_desc d;
    memset(&d, 0, sizeof d);
    d.dtype = SPY_DTYPE_INT8;
    d.shape = SPY_SHAPE(1024, 1 << 20);
    PRINTS(spyi_import_tensor(device, "test", &chunk, 0, row * rows, &d), "int8_t (1024, 1048576)\n"
                                                                         "[[ 0  0  0 ...  0  0  5]\n"
                                                                         " [ 0  0  1 ...  0  0  5]\n"
                                                                         " [ 0  0  2 ...  0  0  5]\n"
                                                                         " ...\n"
                                                                         " [ 0  0 21 ...  0  0  5]\n"
                                                                         " [ 0  0 22 ...  0  0  5]\n"
                                                                         " [ 0  0 23 ...  0  0  5]]");
    // Failures say so and give no text.
    spy_tensor *t = TENSOR(SPY_DTYPE_INT32, SPY_SHAPE(4), block);
    spyi_null_fail(device->gpu, SPYI_NULL_STEP_SUBMIT, 0, SPY_ERROR_DEVICE_LOST);
    assert_int_equal(spy_tensor_print(t, block, sizeof block), 0);
    ERROR_IS(SPY_ERROR_DEVICE_LOST, "spy_tensor_print");
    assert_string_equal(block, "");
    spy_release_tensor(t);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_floats),   cmocka_unit_test(test_integers), cmocka_unit_test(test_lines), cmocka_unit_test(test_summary),
        cmocka_unit_test(test_elements), cmocka_unit_test(test_snprintf), cmocka_unit_test(test_huge),
    };
    return cmocka_run_group_tests(tests, setup, data_close);
}

// spy_save_tensors() and spy_load_tensors() on the null backend: what is written byte by byte, what is read, and each kind of wrong file.
#include "data_test.h"
#ifdef SPY_TEST_SPLIT
#include "api/checkpoint.h"
#endif
#include <unistd.h>

static char path[64];

static int setup(void **state) {
    (void)state;
    snprintf(path, sizeof path, "/tmp/slangpy_checkpoint_%d", (int)getpid());
    return data_open("float add(float a, float b) { return a + b; }\n", data_defaults());
}

static void write_file(const void *data, size_t size) {
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(data, 1, size, file), size);
    fclose(file);
}

static size_t read_file(char *data, size_t room) {
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    size_t size = fread(data, 1, room, file);
    fclose(file);
    return size;
}

static const float floats[6] = { 1, 2, 3, 4, 5, 6 };
static const int16_t shorts[3] = { -1, 300, 7 };

// A file with a head, as any program might write it.
static void write_head(const char *head, size_t bytes) {
    char data[1000];
    size_t size = strlen(head);
    memset(data, 0, sizeof data);
    data[0] = (char)size;
    data[1] = (char)(size >> 8);
    memcpy(data + 8, head, size);
    memcpy(data + 8 + size, floats, bytes < sizeof floats ? bytes : sizeof floats);
    write_file(data, 8 + size + bytes);
}

static void test_bytes(void **state) {
    (void)state;
    static const char head[] = "{\"a\":{\"dtype\":\"F32\",\"shape\":[2,3],\"data_offsets\":[0,24]},"
                               "\"layers.0.b\":{\"dtype\":\"I16\",\"shape\":[3],\"data_offsets\":[24,30]}}";
    char got[1000];
    float back[6] = { 0 };
    int16_t back_shorts[3] = { 0 };
    spy_tensor *a = data_tensor(SPY_DTYPE_FLOAT32, NULL, SPY_SHAPE(2, 3), floats, __LINE__);
    spy_tensor *b = data_tensor(SPY_DTYPE_INT16, NULL, SPY_SHAPE(3), shorts, __LINE__);
    spy_args both = SPY_ARGS(spy_arg_tensor("a", a), spy_arg_tensor("layers.0.b", b));
    GOOD(spy_save_tensors(device, path, both));
    size_t size = read_file(got, sizeof got), length = (sizeof head - 1 + 7) / 8 * 8;
    assert_int_equal(size, 8 + length + 30);
    assert_int_equal((unsigned char)got[0], length);
    for (int i = 1; i < 8; i++) assert_int_equal(got[i], 0);
    assert_memory_equal(got + 8, head, sizeof head - 1);
    assert_memory_equal(got + 8 + length, floats, 24);
    assert_memory_equal(got + 8 + length + 24, shorts, 6);

    // back again, in another order, and into a view whose elements lie apart
    GOOD(spy_tensor_fill(a, 0));
    GOOD(spy_tensor_fill(b, 0));
    GOOD(spy_load_tensors(device, path, SPY_ARGS(spy_arg_tensor("layers.0.b", b), spy_arg_tensor("a", a))));
    GOOD(spy_tensor_read(a, back, sizeof back));
    GOOD(spy_tensor_read(b, back_shorts, sizeof back_shorts));
    assert_memory_equal(back, floats, sizeof back);
    assert_memory_equal(back_shorts, shorts, sizeof back_shorts);
    spy_tensor *wide = data_tensor(SPY_DTYPE_FLOAT32, NULL, SPY_SHAPE(2, 6), NULL, __LINE__);
    spy_tensor *view = spy_create_slice(wide, 1, 0, 6, 2);
    GOOD(spy_load_tensors(device, path, SPY_ARGS(spy_arg_tensor("a", view))));
    GOOD(spy_tensor_read(view, back, sizeof back));
    assert_memory_equal(back, floats, sizeof back);
    GOOD(spy_save_tensors(device, path, SPY_ARGS(spy_arg_tensor("v", view))));
    GOOD(spy_load_tensors(device, path, SPY_ARGS(spy_arg_tensor("v", a))));

    // each file that ends too early, and that is changed in one place, is refused or read; nothing else happens
    GOOD(spy_save_tensors(device, path, both));
    size = read_file(got, sizeof got);
    for (size_t cut = 0; cut < size; cut++) {
        write_file(got, cut);
        assert_int_equal(spy_load_tensors(device, path, both), SPY_ERROR_IO);
        ERROR_IS(SPY_ERROR_IO, "spy_load_tensors: '", "expected a file in safetensors' layout, got");
    }
    GOOD(spy_tensor_read(a, back, sizeof back));
    assert_memory_equal(back, floats, sizeof back);
    for (size_t at = 0; at < 8 + length; at++) {
        for (int bit = 0; bit < 8; bit++) {
            got[at] ^= (char)(1 << bit);
            write_file(got, size);
            (void)spy_load_tensors(device, path, both);
            (void)spy_take_error(device);
            got[at] ^= (char)(1 << bit);
        }
    }
    spy_release_tensor(a);
    spy_release_tensor(b);
    spy_release_tensor(wide);
    spy_release_tensor(view);
    remove(path);
}

static void test_other_writers(void **state) {
    (void)state;
    float back[6] = { 0 };
    spy_tensor *a = data_tensor(SPY_DTYPE_FLOAT32, NULL, SPY_SHAPE(2, 3), NULL, __LINE__);
    spy_args args = SPY_ARGS(spy_arg_tensor("a", a));
    write_head(" { \"__metadata__\" : { \"format\" : \"pt\", \"x\\\"y\" : \"\" } , \"b\":{\"shape\":[],\"dtype\":\"BF16\",\"data_offsets\":[24,26]},"
               "\"a\" : {\"data_offsets\" : [ 0 , 24 ], \"shape\":[ 2, 3 ] , \"dtype\":\"F32\"} }  ",
               26);
    GOOD(spy_load_tensors(device, path, args));
    GOOD(spy_tensor_read(a, back, sizeof back));
    assert_memory_equal(back, floats, sizeof back);

    static const struct {
        const char *head;
        spy_status status;
        const char *words;
    } wrong[] = {
        { "{}", SPY_ERROR_NOT_FOUND, "expected a tensor 'a', got none of that name" },
        { "{\"b\":{\"dtype\":\"F32\",\"shape\":[2,3],\"data_offsets\":[0,24]}}", SPY_ERROR_NOT_FOUND, "expected a tensor 'a'" },
        { "{\"a\":{\"dtype\":\"F16\",\"shape\":[2,3],\"data_offsets\":[0,12]}}", SPY_ERROR_TYPE_MISMATCH, "'a': expected elements of float (F32), got F16" },
        { "{\"a\":{\"dtype\":\"F32\",\"shape\":[3,2],\"data_offsets\":[0,24]}}", SPY_ERROR_SHAPE_MISMATCH, "'a': expected the shape (2, 3), got (3, 2)" },
        { "{\"a\":{\"dtype\":\"F32\",\"shape\":[6],\"data_offsets\":[0,24]}}", SPY_ERROR_SHAPE_MISMATCH, "got (6)" },
        { "{\"a\":{\"dtype\":\"F32\",\"shape\":[2,3],\"data_offsets\":[1,25]}}", SPY_ERROR_IO, "it is cut off" },
        { "{\"a\":{\"dtype\":\"F32\",\"shape\":[2,3],\"data_offsets\":[0,20]}}", SPY_ERROR_IO, "it is cut off" },
        { "{\"a\":{\"dtype\":\"F32\",\"shape\":[2,3],\"data_offsets\":[24,0]}}", SPY_ERROR_IO, "it is cut off" },
        { "{\"a\":{\"dtype\":\"F32\",\"shape\":[2,3]}}", SPY_ERROR_IO, "a head that is none" },
        { "{\"a\":{\"dtype\":\"F32\",\"shape\":[2,-3],\"data_offsets\":[0,24]}}", SPY_ERROR_IO, "a head that is none" },
        { "{\"a\":{\"dtype\":\"F32\",\"shape\":[99999999999999999999,3],\"data_offsets\":[0,24]}}", SPY_ERROR_IO, "a head that is none" },
        { "{\"a\":{\"dtype\":\"F32\",\"shape\":[1,1,1,1,1,1,1,2,3],\"data_offsets\":[0,24]}}", SPY_ERROR_IO, "a head that is none" },
        { "{\"a\":[]}", SPY_ERROR_IO, "a head that is none" },
        { "[]", SPY_ERROR_IO, "a head that is none" },
        { "{} x", SPY_ERROR_IO, "a head that is none" },
        { "{\"a\":{\"dtype\":\"F32", SPY_ERROR_IO, "a head that is none" },
    };
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        write_head(wrong[i].head, 24);
        assert_int_equal(spy_load_tensors(device, path, args), wrong[i].status);
        ERROR_IS(wrong[i].status, wrong[i].words);
    }
    GOOD(spy_tensor_read(a, back, sizeof back));
    assert_memory_equal(back, floats, sizeof back);
    spy_release_tensor(a);
    remove(path);
}

static void test_arguments(void **state) {
    (void)state;
    spy_tensor *a = data_tensor(SPY_DTYPE_FLOAT32, NULL, SPY_SHAPE(2), floats, __LINE__);
    assert_int_equal(spy_save_tensors(NULL, path, SPY_NO_ARGS), SPY_ERROR_INVALID_ARGUMENT);
    THREAD_ERROR_IS(SPY_ERROR_INVALID_ARGUMENT, "spy_save_tensors");
    assert_int_equal(spy_save_tensors(device, NULL, SPY_NO_ARGS), SPY_ERROR_INVALID_ARGUMENT);
    ERROR_IS(SPY_ERROR_INVALID_ARGUMENT, "spy_save_tensors: expected a path");
    spy_save_tensors(device, path, SPY_ARGS(spy_arg_tensor(NULL, a)));
    ERROR_IS(SPY_ERROR_INVALID_ARGUMENT, "argument 1: expected a name of its own");
    spy_save_tensors(device, path, SPY_ARGS(spy_arg_tensor("a", a), spy_arg_tensor("a", a)));
    ERROR_IS(SPY_ERROR_INVALID_ARGUMENT, "argument 2: expected a name of its own");
    spy_save_tensors(device, path, SPY_ARGS(spy_arg_tensor("a\"b", a)));
    ERROR_IS(SPY_ERROR_INVALID_ARGUMENT, "argument 1: expected a name of its own");
    spy_save_tensors(device, path, SPY_ARGS(spy_arg_f32("a", 1)));
    ERROR_IS(SPY_ERROR_INVALID_ARGUMENT, "'a': expected a tensor");
    spy_save_tensors(device, path, SPY_ARGS(spy_arg_tensor("a", NULL)));
    ERROR_IS(SPY_ERROR_INVALID_ARGUMENT, "'a': expected a tensor");
    spy_save_tensors(device, "/nowhere/a", SPY_ARGS(spy_arg_tensor("a", a)));
    ERROR_IS(SPY_ERROR_IO, "'/nowhere/a' cannot be written");
    spy_load_tensors(device, "/nowhere/a", SPY_ARGS(spy_arg_tensor("a", a)));
    ERROR_IS(SPY_ERROR_IO, "'/nowhere/a' cannot be read");
    GOOD(spy_save_tensors(device, path, SPY_NO_ARGS));
    GOOD(spy_load_tensors(device, path, SPY_NO_ARGS));
    spy_release_tensor(a);
    remove(path);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bytes),
        cmocka_unit_test(test_other_writers),
        cmocka_unit_test(test_arguments),
    };
    return cmocka_run_group_tests(tests, setup, data_close);
}

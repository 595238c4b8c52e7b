// Cursors on the null backend: paths, conversions, what is written back and what is not, and errors.
#include "data_test.h"

static const char source[] = "struct Light { float3 color; bool on; double power; }\n"
                             "struct Item { uint8_t kind; Light light; float2x3 m; int table[4]; half h; }\n"
                             "enum Kind { A, B }\n"
                             "struct WithKind { Kind kind; bool flags[3]; }\n"
                             "float f(Item a, WithKind k) { return 0; }\n";

typedef struct light {
    float color[3];
    bool on;
    double power;
} light;

typedef struct item {
    uint8_t kind;
    light l;
    float m[2][3];
    int32_t table[4];
    uint16_t h;
} item;

static int setup(void **state) {
    (void)state;
    return data_open(source, data_defaults());
}

static item items[10];

static spy_tensor *make_items(void) {
    memset(items, 0, sizeof items);
    for (int i = 0; i < 10; i++) {
        items[i].kind = (uint8_t)i;
        items[i].l.color[1] = (float)i + 0.5f;
        items[i].l.on = i & 1;
        items[i].l.power = i * 100;
        items[i].m[1][2] = (float)-i;
        items[i].table[3] = i * 1000;
        items[i].h = 0x3c00; // 1
    }
    return TYPED("Item", SPY_SHAPE(2, 5), items);
}

static bool same_item(const item *a, const item *b) {
    return a->kind == b->kind && memcmp(a->l.color, b->l.color, sizeof a->l.color) == 0 && a->l.on == b->l.on && a->l.power == b->l.power &&
           memcmp(a->m, b->m, sizeof a->m) == 0 && memcmp(a->table, b->table, sizeof a->table) == 0 && a->h == b->h;
}

static void check_items(spy_tensor *t, int line) {
    item got[10];
    GOOD(spy_tensor_read(t, got, sizeof got));
    for (int i = 0; i < 10; i++)
        if (!same_item(&got[i], &items[i])) fail_msg("line %d: item %d differs", line, i);
}
#define CHECK_ITEMS(t) check_items((t), __LINE__)

static void test_paths(void **state) {
    (void)state;
    spy_tensor *t = make_items();
    spy_cursor c = spy_create_cursor(t, 0, 10);
    static const struct {
        const char *path, *type;
        size_t scalars, size;
        double value; // the first one
    } rows[] = {
        { "[3].kind", "uint8_t", 1, 1, 3 },
        { "[3].light", "Light", 5, sizeof(light), 0 },
        { "[3].light.color", "float3", 3, 12, 0 },
        { "[3].light.color.y", "float", 1, 4, 3.5 },
        { "[3].light.color.g", "float", 1, 4, 3.5 },
        { "[3].light.color[1]", "float", 1, 4, 3.5 },
        { "[3].light.on", "bool", 1, 1, 1 },
        { "[9].light.power", "double", 1, 8, 900 },
        { "[3].m", "float2x3", 6, 24, 0 },
        { "[3].m[1]", "float3", 3, 12, 0 },
        { "[3].m[1][2]", "float", 1, 4, -3 },
        { "[3].m[1].z", "float", 1, 4, -3 },
        { "[3].table", "int[4]", 4, 16, 0 },
        { "[3].table[3]", "int", 1, 4, 3000 },
        { "[3].h", "half", 1, 2, 1 },
        { "[7]", "Item", 17, sizeof(item), 7 },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        spy_cursor place = spy_cursor_field(c, rows[i].path);
        spy_cursor_info info = spy_get_cursor_info(place);
        double values[17];
        if (!info.type) fail_msg("%s: %s", rows[i].path, spy_take_error(device).message);
        assert_string_equal(info.type, rows[i].type);
        assert_int_equal(info.scalar_count, rows[i].scalars);
        assert_int_equal(info.size_bytes, rows[i].size);
        GOOD(spy_cursor_read(place, values, rows[i].scalars, SPY_DTYPE_FLOAT64));
        if (values[0] != rows[i].value) fail_msg("%s is %g", rows[i].path, values[0]);
    }
    spy_cursor_info all = spy_get_cursor_info(c);
    assert_true(all.length == 10 && all.scalar_count == 170 && all.size_bytes == sizeof items && all.dtype == SPY_DTYPE_DEFAULT);
    assert_int_equal(spy_get_cursor_info(spy_cursor_field(c, "[0].m")).dtype, SPY_DTYPE_FLOAT32);
    assert_int_equal(spy_get_cursor_info(spy_cursor_field(c, "[0].m")).length, 2);
    assert_int_equal(spy_get_cursor_info(spy_cursor_field(c, "[0].h")).length, 0);
    // Step by step is the same place.
    int32_t value = 0;
    GOOD(spy_cursor_read(spy_cursor_at(spy_cursor_field(spy_cursor_at(c, 4), "table"), 3), &value, 1, SPY_DTYPE_INT32));
    assert_int_equal(value, 4000);
    spy_release_cursor(c);
    spy_release_tensor(t);
}

static void test_writes(void **state) {
    (void)state;
    spy_tensor *t = make_items();
    spy_cursor c = spy_create_cursor(t, 2, 5); // items 2 to 6
    spyi_null_clear_ops(device->gpu);
    GOOD(
        spy_cursor_write(spy_cursor_field(c, "[1].light.color"), (int32_t[]){ 7, 8, 9 }, 3, SPY_DTYPE_INT32));
    GOOD(spy_cursor_write(spy_cursor_field(c, "[1].light.on"), (float[]){ 2 }, 1, SPY_DTYPE_DEFAULT)); // other than 0 is true
    GOOD(spy_cursor_write(spy_cursor_field(c, "[4].table[1]"), (double[]){ -5 }, 1, SPY_DTYPE_FLOAT64));
    GOOD(spy_cursor_write(spy_cursor_field(c, "[2].h"), (float[]){ 2.5f }, 1, SPY_DTYPE_FLOAT32));
    const light whole = { { 1, 2, 3 }, true, 4 };
    GOOD(spy_cursor_write_data(spy_cursor_field(c, "[2].light"), &whole, sizeof whole));
    CHECK_ITEMS(t); // nothing has reached the tensor
    GOOD(spy_cursor_apply(c));
    items[3].l.color[0] = 7, items[3].l.color[1] = 8, items[3].l.color[2] = 9, items[3].l.on = true;
    items[6].table[1] = -5;
    items[4].h = 0x4100;
    items[4].l = whole;
    CHECK_ITEMS(t);
    GOOD(spy_wait(device));
    // Two runs of changed elements: 3 and 4, 6. On the device an item has the bytes that tensor_info tells.
    size_t one = spy_get_tensor_info(t).element_size_bytes, uploads = spyi_null_op_count(device->gpu);
    assert_int_equal(spyi_null_get_op(device->gpu, uploads - 2)->size, 2 * one);
    assert_int_equal(spyi_null_get_op(device->gpu, uploads - 1)->size, one);
    spyi_null_clear_ops(device->gpu);
    GOOD(spy_cursor_apply(spy_cursor_field(c, "[0]"))); // applied already
    assert_int_equal(spyi_null_op_count(device->gpu), 0);
    // What others wrote meanwhile to elements that the cursor did not change stays.
    items[5].kind = 99;
    GOOD(spy_tensor_write_range(t, 5, 1, &items[5], sizeof(item)));
    GOOD(spy_cursor_write(spy_cursor_field(c, "[0].kind"), (int32_t[]){ 55 }, 1, SPY_DTYPE_INT32));
    items[2].kind = 55;
    GOOD(spy_cursor_apply(c));
    CHECK_ITEMS(t);
    // All scalars at once, out and in again.
    double values[85];
    GOOD(spy_cursor_read(c, values, 85, SPY_DTYPE_FLOAT64));
    assert_true(values[0] == 55 && values[17] == 3 && values[18] == 7);
    for (int i = 0; i < 85; i++) values[i] = i % 2;
    GOOD(spy_cursor_write(c, values, 85, SPY_DTYPE_FLOAT64));
    GOOD(spy_cursor_apply(c));
    item got[10];
    GOOD(spy_tensor_read(t, got, sizeof got));
    assert_true(same_item(&got[1], &items[1]) && same_item(&got[7], &items[7]));
    assert_true(got[3].kind == 1 && got[3].l.color[0] == 0 && got[3].l.color[1] == 1 && got[3].l.on && got[3].l.power == 0 && got[3].h == 0x3c00);
    spy_release_cursor(c);
    spy_release_tensor(t);
}

// Elements of a strided view: those between stay, in any order of dimensions.
static void test_strided(void **state) {
    (void)state;
    int32_t v[60], got[60];
    for (int i = 0; i < 60; i++) v[i] = i;
    spy_tensor *t = TENSOR(SPY_DTYPE_INT32, SPY_SHAPE(3, 4, 5), v);
    spy_tensor *view = MADE(spy_create_transpose(MADE(spy_create_slice(t, 2, SPY_INDEX_NONE, SPY_INDEX_NONE, -2)), SPY_DIMS(2, 0, 1)));
    int32_t order[36]; // view[k][i][j] = t[i][j][4 - 2 k]
    for (int n = 0; n < 36; n++) order[n] = n % 12 / 4 * 20 + n % 4 * 5 + 4 - n / 12 * 2;
    spy_cursor c = spy_create_cursor(view, 7, 20);
    for (int64_t i = 0; i < 20; i++) {
        int32_t x = 0;
        GOOD(spy_cursor_read(spy_cursor_at(c, i), &x, 1, SPY_DTYPE_INT32));
        assert_int_equal(x, v[order[7 + i]]);
        if (i % 3 == 0) continue;
        x = 1000 + (int32_t)i;
        v[order[7 + i]] = x;
        GOOD(spy_cursor_write(spy_cursor_at(c, i), &x, 1, SPY_DTYPE_INT32));
    }
    GOOD(spy_cursor_apply(c));
    GOOD(spy_tensor_read(t, got, sizeof got));
    assert_memory_equal(got, v, sizeof v);
    spy_release_tensor(view); // the cursor keeps it
    GOOD(spy_cursor_write(spy_cursor_at(c, 0), (int32_t[]){ -1 }, 1, SPY_DTYPE_INT32));
    GOOD(spy_cursor_apply(c));
    v[order[7]] = -1;
    GOOD(spy_tensor_read(t, got, sizeof got));
    assert_memory_equal(got, v, sizeof v);
    spy_release_cursor(c);
    spy_release_tensor(t);
    c = spy_create_cursor(TENSOR(SPY_DTYPE_INT32, SPY_SHAPE(3), v), 3, 0); // none
    assert_int_equal(spy_get_cursor_info(c).length, 0);
    GOOD(spy_cursor_apply(c));
    // Left to the device's release.
}

static void test_over(void **state) {
    (void)state;
    item own[3];
    memset(own, 0, sizeof own);
    spy_cursor c = spy_cursor_over(module, "Item", own, sizeof own), one = spy_cursor_over(module, "Item", own + 2, sizeof *own);
    GOOD(
        spy_cursor_write(spy_cursor_field(c, "[1].light.power"), (int64_t[]){ 1 << 20 }, 1, SPY_DTYPE_INT64));
    assert_true(own[1].l.power == 1 << 20);
    GOOD(spy_cursor_write(spy_cursor_field(one, "m[0].y"), (float[]){ 4 }, 1, SPY_DTYPE_FLOAT32)); // of one: no [0] needed
    GOOD(spy_cursor_write(spy_cursor_field(one, "[0].table[2]"), (float[]){ 5 }, 1, SPY_DTYPE_FLOAT32));
    assert_true(own[2].m[0][1] == 4 && own[2].table[2] == 5);
    GOOD(spy_cursor_apply(c));
    spy_release_cursor(c);
    struct {
        int32_t kind;
        bool flags[3];
    } w = { 0, { false, false, false } };
    spy_cursor k = spy_cursor_over(module, "WithKind", &w, sizeof w);
    GOOD(spy_cursor_write(spy_cursor_field(k, "kind"), (uint8_t[]){ 1 }, 1, SPY_DTYPE_UINT8));
    GOOD(spy_cursor_write(spy_cursor_field(k, "flags"), (int32_t[]){ 0, 5, -1 }, 3, SPY_DTYPE_INT32));
    assert_true(w.kind == 1 && !w.flags[0] && w.flags[1] && w.flags[2]);
    assert_null(spy_cursor_over(module, "Item", own, sizeof own - 1)._type);
    ERROR_IS(SPY_ERROR_SHAPE_MISMATCH, "spy_cursor_over", "Item");
    assert_null(spy_cursor_over(module, "Itm", own, sizeof own)._type);
    ERROR_IS(SPY_ERROR_NOT_FOUND, "spy_cursor_over", "Itm");
    assert_null(spy_cursor_over(module, "Item", NULL, sizeof own)._type);
    ERROR_IS(SPY_ERROR_INVALID_ARGUMENT, "data is NULL");
    assert_null(spy_cursor_over(module, NULL, own, sizeof own)._type);
    ERROR_IS(SPY_ERROR_NOT_FOUND, "spy_cursor_over");
    assert_null(spy_cursor_over(NULL, "Item", own, sizeof own)._type);
    THREAD_ERROR_IS(SPY_ERROR_INVALID_ARGUMENT, "spy_cursor_over", "NULL");
}

static void test_errors(void **state) {
    (void)state;
    spy_tensor *t = make_items();
    spy_cursor c = spy_create_cursor(t, 0, 10), third = spy_cursor_at(c, 3);
    static const struct {
        const char *path;
        spy_status code;
        const char *words[4];
    } rows[] = {
        { "[3].light.colour", SPY_ERROR_NOT_FOUND, { "[3].light:", "'colour'", "did you mean 'color'?", "color, on, power" } },
        { "[3].lihgt", SPY_ERROR_NOT_FOUND, { "[3]:", "Item", "did you mean 'light'?", "kind, light, m, table, h" } },
        { "[3].zzzzzzzz", SPY_ERROR_NOT_FOUND, { "'zzzzzzzz'", "; it has kind" } },
        { "[3].light.color.w", SPY_ERROR_NOT_FOUND, { "[3].light.color:", "float3 has no field 'w'", "x to z" } },
        { "[3].light.power.x", SPY_ERROR_NOT_FOUND, { "[3].light.power:", "double has no field 'x'" } },
        { "[10].kind", SPY_ERROR_OUT_OF_RANGE, { "the 10 elements:", "[10]", "10 parts" } },
        { "[3].table[4]", SPY_ERROR_OUT_OF_RANGE, { "[3].table:", "[4]", "4 parts" } },
        { "[3].m[2]", SPY_ERROR_OUT_OF_RANGE, { "[3].m:", "[2]", "2 parts" } },
        { "[3].kind[0]", SPY_ERROR_TYPE_MISMATCH, { "[3].kind:", "uint8_t has no parts", "[0]" } },
        { "[3].light[0]", SPY_ERROR_TYPE_MISMATCH, { "[3].light:", "Light has no parts" } },
        { "kind", SPY_ERROR_AMBIGUOUS, { "the 10 elements:", "'kind' of which one" } },
        { "", SPY_ERROR_INVALID_ARGUMENT, { "expected a path" } },
        { "[3]kind", SPY_ERROR_INVALID_ARGUMENT, { "expected '.' or '['", "'kind'" } },
        { "[3].", SPY_ERROR_INVALID_ARGUMENT, { "expected a field's name" } },
        { "[3]..kind", SPY_ERROR_INVALID_ARGUMENT, { "expected a field's name", ".kind" } },
        { "[x]", SPY_ERROR_INVALID_ARGUMENT, { "expected a number and ']'", "[x]" } },
        { "[]", SPY_ERROR_INVALID_ARGUMENT, { "expected a number" } },
        { "[3", SPY_ERROR_INVALID_ARGUMENT, { "expected a number and ']'", "[3" } },
        { "[-1]", SPY_ERROR_INVALID_ARGUMENT, { "expected a number" } },
        { "[99999999999999999999999999]", SPY_ERROR_INVALID_ARGUMENT, { "expected a number" } },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        spy_cursor bad = spy_cursor_field(c, rows[i].path);
        assert_null(bad._type);
        ERROR_IS(rows[i].code, "spy_cursor_field", rows[i].words[0], rows[i].words[1] ? rows[i].words[1] : "", rows[i].words[2] ? rows[i].words[2] : "",
                 rows[i].words[3] ? rows[i].words[3] : "");
        assert_int_equal(spy_cursor_write(bad, (float[]){ 1 }, 1, SPY_DTYPE_FLOAT32),
                         SPY_ERROR_INVALID_ARGUMENT);
        ERROR_IS(SPY_ERROR_INVALID_ARGUMENT, "spy_cursor_write", "nowhere");
        assert_null(spy_get_cursor_info(bad).type);
    }
    assert_null(spy_cursor_field(c, NULL)._type);
    ERROR_IS(SPY_ERROR_INVALID_ARGUMENT, "NULL");
    assert_null(spy_cursor_at(c, 10)._type);
    ERROR_IS(SPY_ERROR_OUT_OF_RANGE, "spy_cursor_at", "[10]");
    assert_null(spy_cursor_at(c, -1)._type);
    ERROR_IS(SPY_ERROR_OUT_OF_RANGE, "[-1]");
    assert_null(spy_cursor_at(third, 0)._type);
    ERROR_IS(SPY_ERROR_TYPE_MISMATCH, "Item has no parts");
    // Values.
    assert_int_equal(spy_cursor_write(spy_cursor_field(third, "kind"), (int32_t[]){ 300 }, 1, SPY_DTYPE_INT32), SPY_ERROR_OUT_OF_RANGE);
    ERROR_IS(SPY_ERROR_OUT_OF_RANGE, "spy_cursor_write", "[3].kind", "300", "uint8_t");
    assert_int_equal(spy_cursor_write(spy_cursor_field(third, "table"), (float[]){ 1, 2, 3.5f, 4 }, 4, SPY_DTYPE_FLOAT32), SPY_ERROR_OUT_OF_RANGE);
    ERROR_IS(SPY_ERROR_OUT_OF_RANGE, "[3].table", "3.5", "value 2 of 4", "int");
    int8_t small[1] = { 77 };
    assert_int_equal(spy_cursor_read(spy_cursor_field(third, "table[3]"), small, 1, SPY_DTYPE_INT8), SPY_ERROR_OUT_OF_RANGE);
    ERROR_IS(SPY_ERROR_OUT_OF_RANGE, "spy_cursor_read", "[3].table[3]", "3000", "int8_t");
    assert_int_equal(small[0], 77);
    int8_t parts[4] = { 77, 77, 77, 77 }; // 0, 0, 0, 3000: nothing is given
    assert_int_equal(spy_cursor_read(spy_cursor_field(third, "table"), parts, 4, SPY_DTYPE_INT8), SPY_ERROR_OUT_OF_RANGE);
    ERROR_IS(SPY_ERROR_OUT_OF_RANGE, "value 3 of 4");
    for (int i = 0; i < 4; i++) assert_int_equal(parts[i], 77);
    assert_int_equal(spy_cursor_write(spy_cursor_field(third, "light.color"), parts, 2, SPY_DTYPE_FLOAT32), SPY_ERROR_SHAPE_MISMATCH);
    ERROR_IS(SPY_ERROR_SHAPE_MISMATCH, "[3].light.color", "float3", "3 scalars", "2");
    assert_int_equal(spy_cursor_write(spy_cursor_field(third, "h"), parts, 1, (spy_dtype)77), SPY_ERROR_INVALID_ARGUMENT);
    ERROR_IS(SPY_ERROR_INVALID_ARGUMENT, "dtype 77");
    assert_int_equal(spy_cursor_read(spy_cursor_field(third, "h"), NULL, 1, SPY_DTYPE_FLOAT32), SPY_ERROR_INVALID_ARGUMENT);
    ERROR_IS(SPY_ERROR_INVALID_ARGUMENT, "values is NULL");
    assert_int_equal(spy_cursor_write_data(spy_cursor_field(third, "light"), parts, 4), SPY_ERROR_SHAPE_MISMATCH);
    ERROR_IS(SPY_ERROR_SHAPE_MISMATCH, "spy_cursor_write_data", "[3].light", "Light has 24 bytes", "4");
    assert_int_equal(spy_cursor_read_data(spy_cursor_field(third, "light"), NULL, sizeof(light)), SPY_ERROR_INVALID_ARGUMENT);
    ERROR_IS(SPY_ERROR_INVALID_ARGUMENT, "spy_cursor_read_data", "data is NULL");
    GOOD(spy_cursor_apply(c)); // none of these has changed anything
    CHECK_ITEMS(t);
    // Creation.
    assert_null(spy_create_cursor(t, 5, 6)._type);
    ERROR_IS(SPY_ERROR_OUT_OF_RANGE, "spy_create_cursor", "10 elements", "6 from element 5");
    assert_null(spy_create_cursor(t, -1, 1)._type);
    ERROR_IS(SPY_ERROR_OUT_OF_RANGE, "spy_create_cursor");
    assert_null(spy_create_cursor(NULL, 0, 1)._type);
    THREAD_ERROR_IS(SPY_ERROR_INVALID_ARGUMENT, "spy_create_cursor", "NULL");
    spy_cursor zero;
    memset(&zero, 0, sizeof zero);
    assert_int_equal(spy_cursor_apply(zero), SPY_ERROR_INVALID_ARGUMENT);
    THREAD_ERROR_IS(SPY_ERROR_INVALID_ARGUMENT, "spy_cursor_apply", "nowhere");
    spy_release_cursor(zero);
    spy_release_cursor(c);
    // Uses after the release, while the header is known to be there: before anything enters the device.
    assert_int_equal(spy_cursor_apply(third), SPY_ERROR_RELEASED);
    THREAD_ERROR_IS(SPY_ERROR_RELEASED, "spy_cursor_apply", "released");
    assert_null(spy_cursor_field(third, "kind")._type);
    THREAD_ERROR_IS(SPY_ERROR_RELEASED, "spy_cursor_field", "released");
    spy_release_cursor(c);
    THREAD_ERROR_IS(SPY_ERROR_RELEASED, "spy_release_cursor", "already");
    spy_release_tensor(t);
}

// A failed apply keeps what was not written for the next one.
static void test_failures(void **state) {
    (void)state;
    int32_t v[8] = { 0 }, got[8];
    spy_tensor *t = TENSOR(SPY_DTYPE_INT32, SPY_SHAPE(8), v);
    spy_cursor c = spy_create_cursor(t, 0, 8);
    for (int64_t i = 0; i < 8; i += 2) GOOD(spy_cursor_write(spy_cursor_at(c, i), (int32_t[]){ 5 }, 1, SPY_DTYPE_INT32));
    spyi_null_fail(device->gpu, SPYI_NULL_STEP_RECORD, 2, SPY_ERROR_OUT_OF_DEVICE_MEMORY);
    assert_int_equal(spy_cursor_apply(c), SPY_ERROR_OUT_OF_DEVICE_MEMORY);
    ERROR_IS(SPY_ERROR_OUT_OF_DEVICE_MEMORY, "spy_cursor_apply");
    GOOD(spy_tensor_read(t, got, sizeof got));
    assert_true(got[0] == 5 && got[2] == 5 && got[4] == 0 && got[6] == 0);
    GOOD(spy_cursor_apply(c));
    GOOD(spy_tensor_read(t, got, sizeof got));
    assert_true(got[4] == 5 && got[6] == 5 && got[1] == 0);
    spy_release_cursor(c);
    spy_release_tensor(t);
}

// Any text as a path gives a place inside the element, or an error.
static void test_any_path(void **state) {
    (void)state;
    static const char *const pieces[] = { "[3]", "[0]", "[1]", "[9]", "[10]", ".", "[", "]", "light", "color", "m", "table",
                                          "kind", "h", "x", "z", "w", "r", "on", "power", "-", "[00000002]", " " };
    spy_tensor *t = make_items();
    spy_cursor c = spy_create_cursor(t, 0, 10);
    uint64_t random = 1;
    size_t good = 0;
    for (size_t i = 0; i < test_count(200000); i++) {
        char path[256] = "";
        size_t n = 1 + i % 7;
        for (size_t k = 0; k < n; k++) {
            random = random * 6364136223846793005u + 1442695040888963407u;
            size_t piece = (size_t)(random >> 33) % (sizeof pieces / sizeof *pieces);
            if (k % 2 == (k > 0) && (random >> 20) % 4) piece = k ? 5 : piece % 4; // mostly as paths are
            strcat(path, pieces[piece]);
        }
        spy_cursor place = spy_cursor_field(c, path);
        if (!place._type) {
            assert_int_not_equal(spy_take_error(device).code, SPY_OK);
            continue;
        }
        char bytes[sizeof(item)];
        spy_cursor_info info = spy_get_cursor_info(place);
        assert_true(info.size_bytes <= sizeof bytes && place._offset + info.size_bytes <= sizeof(item));
        GOOD(spy_cursor_read_data(place, bytes, info.size_bytes));
        if (info.size_bytes <= 4) assert_memory_equal(bytes, (const char *)&items[place._index] + place._offset, info.size_bytes);
        good++;
    }
    assert_true(good > 100);
    spy_release_cursor(c);
    spy_release_tensor(t);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_paths), cmocka_unit_test(test_writes), cmocka_unit_test(test_strided),
        cmocka_unit_test(test_over),  cmocka_unit_test(test_errors), cmocka_unit_test(test_failures),
        cmocka_unit_test(test_any_path),
    };
    return cmocka_run_group_tests(tests, setup, data_close);
}

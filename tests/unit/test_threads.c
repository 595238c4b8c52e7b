// Threads: who may be inside a device, what waits for whom, and what becomes of handles that another thread released.
// On the null backend; kernels are compiled for real and never run.
#include "data_test.h"
#include "hold_slang.h"
#ifdef SPY_TEST_SPLIT
#include "api/gradient.h"
#include "api/list.h"
#include "api/resolve.h"
#include "call/call_internal.h"
#endif

static const char source[] = "float f(float x) { return x + 1; }\n"
                             "float g(float x, float y) { return x + y; }\n"
                             "[shader(\"compute\")] [numthreads(32, 1, 1)]\n"
                             "void own(uint t : SV_DispatchThreadID, uniform float* p) { p[t] = 1; }\n";

static int setup(void **state) { return hold_slang(state) || data_open(source, data_defaults()) ? -1 : 0; }
static int teardown(void **state) { return data_close(state) || let_slang_go(state) ? -1 : 0; }

static spy_module *module_of(const char *text) {
    spy_module_desc desc;
    memset(&desc, 0, sizeof desc);
    desc.name = "other";
    desc.source = text;
    spy_module *made = spy_load_module(device, &desc);
    if (!made) fail_msg("%s", spy_take_error(device).message);
    return made;
}

static spy_function *fn(spy_module *of, const char *name) {
    spy_function *found = spy_find_function(of, name);
    if (!found) fail_msg("%s", spy_take_error(device).message);
    return found;
}

static spy_tensor *floats(int64_t count) {
    spy_tensor_desc desc;
    memset(&desc, 0, sizeof desc);
    desc.shape = SPY_SHAPE(count);
    spy_tensor *made = spy_create_tensor(device, &desc);
    if (!made) fail_msg("%s", spy_take_error(device).message);
    return made;
}

// >>released handles

// A module's functions go with it at once, though its memory is freed by whoever enters the device next: here by the very
// call that is given one of them.
static void test_released_module(void **state) {
    (void)state;
    spy_tensor *x = floats(4), *y = floats(4);
    spy_command_list *list = spy_create_command_list(device, NULL);
    for (int way = 0; way < 9; way++) {
        spy_module *m = module_of("float f(float x) { return x + 2; }\n");
        spy_function *f = fn(m, "f");
        char text[64];
        spy_uint3 one = { 1, 1, 1 };
        spy_args args = SPY_ARGS(spy_arg_tensor("x", x), spy_arg_tensor("_result", y));
        if (way % 2) GOOD(spy_call(f, args)); // with a plan in the cache, and without
        spy_release_module(m);
        switch (way) {
        case 0:
        case 1: assert_int_equal(spy_call(f, args), SPY_ERROR_RELEASED); break;
        case 2: assert_null(spy_prepare(f, args, NULL)); break;
        case 3: assert_null(spy_resolve(f, args, NULL)); break;
        case 4:
        case 5: assert_int_equal(spy_explain_call(f, args, NULL, text, sizeof text), 0); break;
        case 6: assert_int_equal(spy_list_call(list, f, args), SPY_ERROR_RELEASED); break;
        case 7: assert_int_equal(spy_dispatch(f, one, args, NULL), SPY_ERROR_RELEASED); break;
        default: assert_int_equal(spy_call_backward(f, args), SPY_ERROR_RELEASED); break;
        }
        THREAD_ERROR_IS(SPY_ERROR_RELEASED, "the function has been released");
        assert_int_equal(spy_take_error(device).code, SPY_OK);
    }
    // What a prepared call or another module still holds lives on.
    spy_module *m = module_of("float f(float x) { return x + 3; }\n");
    spy_function *f = fn(m, "f");
    spy_args args = SPY_ARGS(spy_arg_tensor("x", x), spy_arg_tensor("_result", y));
    spy_prepared *p = spy_prepare(f, args, NULL);
    assert_non_null(p);
    spy_release_module(m);
    GOOD(spy_call(f, args));
    spy_release_prepared(p);
    assert_int_equal(spy_call(f, args), SPY_ERROR_RELEASED);
    THREAD_ERROR_IS(SPY_ERROR_RELEASED, "spy_call: the function has been released");
    spy_release_command_list(list);
    spy_release_tensor(x);
    spy_release_tensor(y);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_released_module),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}

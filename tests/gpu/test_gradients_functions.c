// Gradients of functions and parameters of all kinds: free functions, methods, generics and nested types; interfaces and
// DifferentialPair<T> as types of parameters.
#include "gradients.h"

// >>kinds of functions

// Each kind of function in each mode: the derivative at 3 of what is written, or refused by name.
static void test_kinds_of_functions(void **state) {
    static const char text[] =
        "DifferentialPair<float> by3(DifferentialPair<float> x) { return diffPair(x.p * x.p, 3 * x.d); }\n"
        "void by5(inout DifferentialPair<float> x, float d) { x = diffPair(x.p, 5 * d); }\n"
        "[Differentiable] float any(float x) { return x * x; }\n"
        "[BackwardDifferentiable] float backward(float x) { return x * x; }\n"
        "[ForwardDifferentiable] float forward(float x) { return x * x; }\n"
        "[ForwardDerivative(by3)] float own_forward(float x) { return x * x; }\n"
        "[BackwardDerivative(by5)] float own_backward(float x) { return x * x; }\n"
        "[ForwardDerivative(by3)] [BackwardDerivative(by5)] float own_both(float x) { return x * x; }\n"
        "float later_forward(float x) { return x * x; }\n"
        "[ForwardDerivativeOf(later_forward)] DifferentialPair<float> later3(DifferentialPair<float> x) { return by3(x); }\n"
        "float later_backward(float x) { return x * x; }\n"
        "[BackwardDerivativeOf(later_backward)] void later5(inout DifferentialPair<float> x, float d) { by5(x, d); }\n"
        "[PrimalSubstitute(any)] float substituted(float x) { return x * x; }\n"
        "[ForwardDifferentiable] T open_forward<T : __BuiltinFloatingPointType>(T x) { return x * x; }\n"
        "[Differentiable] T open<T : __BuiltinFloatingPointType>(T x) { return x * x; }\n"
        "[ForwardDifferentiable] void out_forward(float x, out float y) { y = x * x; }\n"
        "[Differentiable] float overloaded(float x) { return x * x; }\n"
        "[ForwardDifferentiable] float2 overloaded(float2 x) { return x * x; }\n"
        "namespace deep { [ForwardDifferentiable] float forward(float x) { return x * x; } }\n"
        "struct S : IDifferentiable { float a; [ForwardDifferentiable] float forward(float x) { return a * x * x; }\n"
        "  [ForwardDifferentiable] __init(float x) { a = x; }\n"
        "  [ForwardDifferentiable] static float still(float x) { return x * x; }\n"
        "  [Differentiable] float any(float x) { return a * x * x; } };\n";
    static const struct {
        const char *function;
        double forward, backward; // 0: refused
    } rows[] = { { "any", 6, 6 }, { "backward", 6, 6 }, { "forward", 6, 0 }, { "own_forward", 3, 0 }, { "own_backward", 0, 5 },
                 { "own_both", 3, 5 }, { "later_forward", 3, 0 }, { "later_backward", 0, 5 }, { "substituted", 6, 6 },
                 { "open_forward", 6, 0 }, { "open_forward<float>", 6, 0 }, { "open", 6, 6 }, { "open<float>", 6, 6 }, { "out_forward", 6, 0 },
                 { "overloaded", 6, 6 }, { "deep::forward", 6, 0 }, { "S.still", 6, 0 }, { "S.forward", 6, 0 }, { "S.any", 6, 6 } };
    static const char *const attributes[] = { "expected [Differentiable], [ForwardDifferentiable]", "expected [Differentiable], [BackwardDifferentiable]" };
    static const char *const modes[] = { "spy_call_forward_diff", "spy_call_backward" };
    NEEDS_DEVICE();
    spy_module *m = MADE(spy_module, gpu_module(gpu_device, "kinds_of_functions", text));
    for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
        const char *name = rows[k].function;
        spy_function *f = MADE(spy_function, spy_find_function(m, name));
        bool method = !strcmp(name, "S.forward") || !strcmp(name, "S.any"), out = !strcmp(name, "out_forward");
        for (int backward = 0; backward < 2; backward++) {
            double want = backward ? rows[k].backward : rows[k].forward;
            spy_tensor *x = floats(SPY_SHAPE(1), (float[]){ 3 }), *r = seeded(SPY_SHAPE(1));
            OK(spy_tensor_fill(spy_tensor_grad(x), backward ? 0.0f : 1.0f));
            spy_arg items[3] = { spy_arg_struct("this", SPY_ARGS(spy_arg_f32("a", 1))), spy_arg_tensor("x", x), spy_arg_tensor(out ? "y" : "_result", r) };
            spy_args args = { items + !method, method ? 3u : 2u };
            for (int again = 0; again < 2; again++) { // the answer is kept
                if (want == 0) {
                    spy_status status = backward ? spy_call_backward(f, args) : spy_call_forward_diff(f, args);
                    FAILS(SPY_ERROR_UNSUPPORTED, status, modes[backward], strstr(name, "still") ? "still" : name, "not differentiable", attributes[backward], modes[!backward], "Slang says");
                } else if (!again) {
                    OK(backward ? spy_call_backward(f, args) : spy_call_forward_diff(f, args));
                    HOLDS(spy_tensor_grad(backward ? x : r), want);
                }
            }
            RELEASE(x, r);
        }
    }
    spy_tensor_desc d;
    memset(&d, 0, sizeof d);
    d.shape = SPY_SHAPE(1);
    d.type = "S";
    d.module = m;
    d.with_grad = true;
    spy_tensor *x = floats(SPY_SHAPE(1), (float[]){ 3 }), *made = MADE(spy_tensor, spy_create_tensor(gpu_device, &d));
    FAILS(SPY_ERROR_UNSUPPORTED, spy_call_backward(MADE(spy_function, spy_find_function(m, "S")), SPY_ARGS(spy_arg_tensor("x", x), spy_arg_tensor("_result", made))),
          "not differentiable backward", "spy_call_forward_diff works", "E41022");
    RELEASE(x, made);
    spy_release_module(m);
}

// A function that calls one of the other kind, by result, out and inout, at any depth: libslang crashes backward, and gives 0
// forward. The error names the call.
static void test_nested_kinds(void **state) {
    static const char text[] =
        "DifferentialPair<float> by3(DifferentialPair<float> x) { return diffPair(x.p * x.p, 3 * x.d); }\n"
        "void by5(inout DifferentialPair<float> x, float d) { x = diffPair(x.p, 5 * d); }\n"
        "void by3_out(DifferentialPair<float> x, out DifferentialPair<float> y) { y = diffPair(x.p * x.p, 3 * x.d); }\n"
        "void by5_inout(inout DifferentialPair<float> x) { x = diffPair(x.p, 5 * x.d); }\n"
        "[Differentiable] void any_out(float x, out float y) { y = x * x; }\n"
        "[ForwardDifferentiable] float fwd(float x) { return x * x; }\n"
        "[ForwardDifferentiable] void fwd_out(float x, out float y) { y = x * x; }\n"
        "[ForwardDifferentiable] void fwd_inout(inout float x) { x = x * x; }\n"
        "[ForwardDerivative(by3_out)] void own_fwd(float x, out float y) { y = x * x; }\n"
        "[BackwardDerivative(by5)] float own_bwd(float x) { return x * x; }\n"
        "[BackwardDerivative(by5)] void bwd_out(float x, out float y) { y = x * x; }\n"
        "[BackwardDerivative(by5_inout)] void bwd_inout(inout float x) { x = x * x; }\n"
        "[ForwardDerivative(by3_out)] [BackwardDerivative(by5)] void both_out(float x, out float y) { y = x * x; }\n"
        "[ForwardDifferentiable] void open_out<T : __BuiltinFloatingPointType>(T x, out T y) { y = x * x; }\n"
        "[Differentiable] float c_any(float x) { float y; any_out(x, y); return y; }\n"
        "[Differentiable] float c_fwd_out(float x) { float y; fwd_out(x, y); return y; }\n"
        "[Differentiable] float c_fwd_inout(float x) { float y = x; fwd_inout(y); return y; }\n"
        "[Differentiable] float c_own_fwd(float x) { float y; own_fwd(x, y); return y; }\n"
        "[Differentiable] float c_own_bwd(float x) { return own_bwd(x); }\n"
        "[Differentiable] float c_bwd_out(float x) { float y; bwd_out(x, y); return y; }\n"
        "[Differentiable] float c_bwd_inout(float x) { float y = x; bwd_inout(y); return y; }\n"
        "[Differentiable] float c_both(float x) { float y; both_out(x, y); return y; }\n"
        "[Differentiable] float c_open(float x) { float y; open_out<float>(x, y); return y; }\n"
        "[Differentiable] float c_no_diff(float x) { return no_diff(fwd(x)) * x; }\n"
        "[BackwardDifferentiable] float c_of_backward(float x) { float y; fwd_out(x, y); return y; }\n"
        "[ForwardDifferentiable] float c_of_forward(float x) { float y; bwd_out(x, y); return y; }\n"
        "[Differentiable] float deep_fwd(float x) { return c_fwd_out(x) * 1; }\n"
        "[Differentiable] float deep_bwd(float x) { return c_bwd_out(x) * 1; }\n"
        "[Differentiable] void through_fwd(float x, out float y) { fwd_out(x, y); }\n"
        "[Differentiable] void through_bwd(float x, out float y) { bwd_out(x, y); }\n"
        "[Differentiable] float out_fwd(float x) { float y; through_fwd(x, y); return y; }\n"
        "[Differentiable] float out_bwd(float x) { float y; through_bwd(x, y); return y; }\n"
        "[Differentiable] T generic_calls<T : __BuiltinFloatingPointType>(T x) { T y; open_out<T>(x, y); return y; }\n"
        "[Differentiable] float deep_open(float x) { return generic_calls<float>(x); }\n"
        "[PrimalSubstitute(c_fwd_out)] float bad_substitute(float x) { return x * x; }\n"
        "[PrimalSubstitute(c_any)] float good_substitute(float x) { return fwd(x); }\n"
        "[Differentiable] float c_bad_substitute(float x) { return bad_substitute(x); }\n"
        "[Differentiable] float c_good_substitute(float x) { return good_substitute(x); }\n"
        "[BackwardDerivative(by5)] [ForwardDerivative(by3)] float hides(float x) { return c_fwd_out(x) + c_bwd_out(x); }\n"
        "[Differentiable] float c_hides(float x) { return hides(x); }\n"
        "struct S : IDifferentiable { float a; [ForwardDifferentiable] void get(float x, out float y) { y = a * x * x; }\n"
        "  [ForwardDifferentiable] [mutating] void step(float x) { a = a * x; } };\n"
        "[Differentiable] float c_method(float x) { S s; s.a = 1; float y; s.get(x, y); return y; }\n"
        "[Differentiable] float c_mutating(float x) { S s; s.a = x; s.step(x); return s.a; }\n"
        "interface I { [ForwardDifferentiable] void get(float x, out float y); [Differentiable] float any(float x); };\n"
        "struct J : I { [ForwardDifferentiable] void get(float x, out float y) { y = x * x; } [Differentiable] float any(float x) { float y; get(x, y); return y; } };\n"
        "struct K : I { [ForwardDifferentiable] void get(float x, out float y) { y = x * x; } [Differentiable] float any(float x) { return x * x; } };\n"
        "[Differentiable] float get_of<T : I>(T t, float x) { float y; t.get(x, y); return y; }\n"
        "[Differentiable] float any_of<T : I>(T t, float x) { return t.any(x); }\n"
        "[Differentiable] float c_requirement(float x) { J j; return get_of<J>(j, x); }\n"
        "[Differentiable] float c_implementation(float x) { J j; return any_of<J>(j, x); }\n";
    static const struct {
        const char *function;
        double forward, backward; // 0: refused
        const char *caller, *callee;
    } rows[] = { { "c_any", 6, 6, "", "" }, { "c_fwd_out", 6, 0, "c_fwd_out", "fwd_out" }, { "c_fwd_inout", 6, 0, "c_fwd_inout", "fwd_inout" },
                 { "c_own_fwd", 3, 0, "c_own_fwd", "own_fwd" }, { "c_own_bwd", 0, 5, "c_own_bwd", "own_bwd" }, { "c_bwd_out", 0, 5, "c_bwd_out", "bwd_out" },
                 { "c_bwd_inout", 0, 5, "c_bwd_inout", "bwd_inout" }, { "c_both", 3, 5, "", "" }, { "c_open", 6, 0, "c_open", "open_out" },
                 { "c_no_diff", 27, 0, "c_no_diff", "fwd" }, // Slang: no_diff has no effect on what has a derivative
                 { "c_of_backward", 6, 0, "c_of_backward", "fwd_out" }, { "deep_fwd", 6, 0, "c_fwd_out", "fwd_out" }, { "deep_bwd", 0, 5, "c_bwd_out", "bwd_out" },
                 { "out_fwd", 6, 0, "through_fwd", "fwd_out" }, { "out_bwd", 0, 5, "through_bwd", "bwd_out" }, { "deep_open", 6, 0, "generic_calls", "open_out" },
                 { "generic_calls", 6, 0, "generic_calls", "open_out" }, { "c_bad_substitute", 6, 0, "c_fwd_out", "fwd_out" }, { "bad_substitute", 6, 0, "c_fwd_out", "fwd_out" },
                 { "c_good_substitute", 6, 6, "", "" }, { "hides", 3, 5, "", "" }, { "c_hides", 3, 5, "", "" }, { "c_method", 6, 0, "c_method", "S.get" },
                 { "c_mutating", 6, 0, "c_mutating", "S.step" }, { "c_requirement", 6, 0, "get_of", "I.get" }, { "c_implementation", 6, 0, "J.any", "J.get" } };
    static const char *const modes[] = { "spy_call_forward_diff", "spy_call_backward" };
    NEEDS_DEVICE();
    spy_module *m = MADE(spy_module, gpu_module(gpu_device, "nested_kinds", text));
    for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
        spy_function *f = MADE(spy_function, spy_find_function(m, rows[k].function));
        for (int backward = 0; backward < 2; backward++) {
            double want = backward ? rows[k].backward : rows[k].forward;
            char call[80], works[80], at[80];
            snprintf(call, sizeof call, "'%s' calls '%s', which is differentiable %s only", rows[k].caller, rows[k].callee, backward ? "forward" : "backward");
            snprintf(works, sizeof works, "%s works", modes[!backward]);
            snprintf(at, sizeof at, "at '%s'", rows[k].callee);
            spy_tensor *x = floats(SPY_SHAPE(1), (float[]){ 3 }), *r = seeded(SPY_SHAPE(1));
            OK(spy_tensor_fill(spy_tensor_grad(x), backward ? 0.0f : 1.0f));
            const spy_args args = SPY_ARGS(spy_arg_tensor("x", x), spy_arg_tensor("_result", r));
            for (int again = 0; again < 2; again++) {
                if (want == 0) {
                    spy_status status = backward ? spy_call_backward(f, args) : spy_call_forward_diff(f, args);
                    FAILS(SPY_ERROR_UNSUPPORTED, status, modes[backward], rows[k].function, call, works, at);
                } else if (!again) {
                    OK(backward ? spy_call_backward(f, args) : spy_call_forward_diff(f, args));
                    HOLDS(spy_tensor_grad(backward ? x : r), want);
                }
            }
            RELEASE(x, r);
        }
    }
    spy_release_module(m);
}

// Methods of each kind in both modes, their `this` differentiable: the derivatives of f and x at f = 2, c = 2, x = 3, all that is
// read being 1; or refused by name.
static void test_kinds_of_methods(void **state) {
    static const char body[] =
        "  [Differentiable] T project(T x) { return f * f * x + c; }\n"
        "  [Differentiable] [mutating] void zoom(T x) { f = f * x; }\n"
        "  [Differentiable] [mutating] T zoomed(T x) { f = f * x; return f * c; }\n"
        "  [Differentiable] void get(T x, out T y) { y = f * f * x + c; }\n"
        "  [ForwardDifferentiable] [mutating] void zoom_fwd(T x) { f = f * x; }\n"
        "  [ForwardDifferentiable] void get_fwd(T x, out T y) { y = f * f * x + c; }\n"
        "  [ForwardDifferentiable] T project_fwd(T x) { return f * f * x + c; }\n"
        "  [mutating] void zoom_none(T x) { f = f * x; }\n"
        "  void get_none(T x, out T y) { y = f * f * x + c; }\n";
    static const struct {
        const char *method;
        double forward[2], backward[2]; // of f (or the result), of x; 0: refused
        bool mutating, out, result;
    } rows[] = { { "project", { 17, 17 }, { 12, 4 }, false, false, true },   { "zoom", { 5, 0 }, { 3, 2 }, true, false, false },
                 { "zoomed", { 5, 16 }, { 9, 6 }, true, false, true },       { "get", { 17, 17 }, { 12, 4 }, false, true, false },
                 { "zoom_fwd", { 5, 0 }, { 0, 0 }, true, false, false },     { "get_fwd", { 17, 17 }, { 0, 0 }, false, true, false },
                 { "project_fwd", { 17, 17 }, { 0, 0 }, false, false, true }, { "zoom_none", { 0, 0 }, { 0, 0 }, true, false, false },
                 { "get_none", { 0, 0 }, { 0, 0 }, false, true, false },      { "project_bwd", { 0, 0 }, { 11, 7 }, false, false, true } };
    static const char *const types[] = { "Cam", "Gen<float>", "Deep.Cam" };
    static const char *const modes[] = { "spy_call_forward_diff", "spy_call_backward" };
    char text[6000];
    snprintf(text, sizeof text,
             "struct Cam : IDifferentiable { typealias T = float; float f; float c; int n;\n%s\n"
             "  [BackwardDerivative(bd)] float project_bwd(float x) { return f * f * x + c; }\n"
             "  static void bd(inout DifferentialPair<Cam> self, inout DifferentialPair<float> x, float d) { x = diffPair(x.p, 7 * d);\n"
             "    Cam.Differential g = self.d; g.f = 11 * d; self = diffPair(self.p, g); } };\n"
             "struct Gen<T : IFloat> : IDifferentiable { T f; T c; int n;\n%s};\n"
             "struct Deep { struct Cam : IDifferentiable { typealias T = float; float f; float c; int n;\n%s}; };\n",
             body, body, body);
    NEEDS_DEVICE();
    spy_module *m = MADE(spy_module, gpu_module(gpu_device, "kinds_of_methods", text));
    for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
        for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
            if (!strcmp(rows[k].method, "project_bwd") && i) continue;
            char name[60], differential[60];
            snprintf(name, sizeof name, "%s.%s", types[i], rows[k].method);
            snprintf(differential, sizeof differential, "%s.Differential", types[i]);
            spy_function *f = MADE(spy_function, spy_find_function(m, name));
            for (int backward = 0; backward < 2; backward++) {
                const double *want = backward ? rows[k].backward : rows[k].forward;
                struct { float f, c; int n; } values = { 2, 2, 7 };
                spy_tensor_desc d;
                memset(&d, 0, sizeof d);
                d.shape = SPY_SHAPE(1);
                d.module = m;
                d.type = differential;
                spy_tensor *in = MADE(spy_tensor, spy_create_tensor(gpu_device, &d)), *out = MADE(spy_tensor, spy_create_tensor(gpu_device, &d));
                OK(spy_tensor_fill(in, 1));
                OK(spy_tensor_fill(out, 0));
                d.type = types[i];
                d.data = &values;
                d.grad_in = rows[k].mutating || !backward ? in : NULL;
                d.grad_out = rows[k].mutating || backward ? out : NULL;
                spy_tensor *self = MADE(spy_tensor, spy_create_tensor(gpu_device, &d)), *x = floats(SPY_SHAPE(1), (float[]){ 3 }), *r = seeded(SPY_SHAPE(1));
                OK(spy_tensor_fill(spy_tensor_grad(x), backward ? 0.0f : 1.0f));
                spy_arg items[3] = { spy_arg_tensor("this", self), spy_arg_tensor("x", x), spy_arg_tensor(rows[k].out ? "y" : "_result", r) };
                const spy_args args = { items, rows[k].out || rows[k].result ? 3u : 2u };
                spy_status status = backward ? spy_call_backward(f, args) : spy_call_forward_diff(f, args);
                if (want[0] == 0) {
                    FAILS(SPY_ERROR_UNSUPPORTED, status, modes[backward], rows[k].method, "differentiable", "expected", "]");
                } else {
                    OK(status);
                    float got[2] = { 0 };
                    if (backward || rows[k].mutating) {
                        OK(spy_tensor_read(out, got, sizeof got));
                        assert_float_equal(got[0], want[0], 1e-6);
                    }
                    if (backward || rows[k].out || rows[k].result) HOLDS(spy_tensor_grad(backward ? x : r), want[1]);
                }
                RELEASE(self, x, r, in, out);
            }
        }
    }
    spy_release_module(m);
}

// >>interfaces as types of parameters

// Loops and branches: libslang does not come to an end over the derivative of a function whose parameter is of unknown type.
static void test_interface_parameters(void **state) {
    NEEDS_DEVICE();
    spy_tensor *w = floats(SPY_SHAPE(3), (float[]){ 2, 3, 5 }), *x = floats(SPY_SHAPE(3), (float[]){ 1, 10, 100 }), *r = seeded(SPY_SHAPE(3));
    OK(spy_call(fn("any_loop"), SPY_ARGS(spy_arg_tensor("w", w), spy_arg_tensor("x", x), spy_arg_tensor("_result", r))));
    HOLDS(r, 23, 230, 2300);
    OK(spy_call_backward(fn("any_loop"), SPY_ARGS(spy_arg_tensor("w", w), spy_arg_tensor("x", x), spy_arg_tensor("_result", r))));
    HOLDS(spy_tensor_grad(w), 111, 222, 333);
    HOLDS(spy_tensor_grad(x), 23, 23, 23);
    OK(spy_call_backward(fn("any_inner"), SPY_ARGS(spy_arg_tensor("w", w), spy_arg_tensor("x", x), spy_arg_tensor("_result", r))));
    HOLDS(spy_tensor_grad(w), 333, 666, 999);
    HOLDS(spy_tensor_grad(x), 69, 69, 69);
    OK(spy_tensor_zero_grad(w));
    OK(spy_tensor_zero_grad(x));
    OK(spy_call_backward(fn("any_branch"), SPY_ARGS(spy_arg_call_id("i"), spy_arg_tensor("w", w), spy_arg_tensor("x", x), spy_arg_tensor("_result", r))));
    HOLDS(spy_tensor_grad(w), 5, 0, 12);
    HOLDS(spy_tensor_grad(x), 0, 5, 0);
    OK(spy_tensor_zero_grad(x));
    spy_tensor *o = floats(SPY_SHAPE(6), NULL);
    OK(spy_tensor_write(spy_tensor_grad(o), (float[]){ 1, 2, 3, 4, 5, 6 }, 6 * sizeof(float)));
    OK(spy_call_backward(fn("any_store"), SPY_ARGS(spy_arg_tensor("o", o), spy_arg_call_id("i"), spy_arg_tensor("x", x))));
    HOLDS(spy_tensor_grad(x), 2 * (1 + 2 * 2), 20 * (3 + 2 * 4), 200 * (5 + 2 * 6));
    OK(spy_tensor_zero_grad(x));
    OK(spy_call_backward(fn("amplify"), SPY_ARGS(spy_vcast(spy_arg_struct("g", SPY_ARGS(spy_arg_f32("a", 4))), "Linear"), spy_arg_tensor("x", x), spy_arg_tensor("_result", r))));
    HOLDS(spy_tensor_grad(x), 24, 24, 24);
    RELEASE(w, x, r, o);
}

// >>DifferentialPair<T> as a parameter

static void test_pair_parameters(void **state) {
    NEEDS_DEVICE();
    spy_tensor *x = floats(SPY_SHAPE(3), (float[]){ 1, 2, 3 }), *g = typed(SPY_DTYPE_FLOAT32, NULL, SPY_SHAPE(3), (float[]){ 10, 20, 30 }, false),
               *plain = typed(SPY_DTYPE_FLOAT32, NULL, SPY_SHAPE(3), (float[]){ 4, 5, 6 }, false), *out = typed(SPY_DTYPE_FLOAT32, NULL, SPY_SHAPE(3), NULL, false);
    OK(spy_tensor_write(spy_tensor_grad(x), (float[]){ 7, 8, 9 }, 3 * sizeof(float)));
    // a tensor with its gradient, a pair, fields: of tensors, of numbers, of both
    OK(spy_call(fn("held"), SPY_ARGS(spy_arg_tensor("x", x), spy_arg_f32("s", 2), spy_arg_tensor("_result", out))));
    HOLDS(out, 9, 12, 15);
    OK(spy_call(fn("held"), SPY_ARGS(spy_arg_diff_pair("x", SPY_ARGS(spy_arg_tensor(NULL, plain), spy_arg_tensor(NULL, g))), spy_arg_f32("s", 2), spy_arg_tensor("_result", out))));
    HOLDS(out, 18, 30, 42);
    OK(spy_call(fn("held"), SPY_ARGS(spy_arg_diff_pair("x", SPY_ARGS(spy_arg_tensor(NULL, plain), spy_arg_f32(NULL, 0.5f))), spy_arg_f32("s", 2), spy_arg_tensor("_result", out))));
    HOLDS(out, 8.5, 10.5, 12.5);
    OK(spy_call(fn("held"), SPY_ARGS(spy_arg_struct("x", SPY_ARGS(spy_arg_tensor("d", g), spy_arg_f32("p", 1))), spy_arg_f32("s", 2), spy_arg_tensor("_result", out))));
    HOLDS(out, 12, 22, 32);
    float one = 0, p = 3, d = 4;
    OK(spy_call(fn("held"), SPY_ARGS(spy_arg_diff_pair("x", SPY_ARGS(spy_arg_f32(NULL, 3), spy_arg_f32(NULL, 4))), spy_arg_f32("s", 2), spy_out_f32("_result", &one))));
    assert_float_equal(one, 10, 0);
    // many: wide kernels, and views
    enum { MANY = 1003 };
    float *numbers = wave(MANY);
    double want[MANY];
    spy_tensor *many = floats(SPY_SHAPE(MANY), numbers), *results = typed(SPY_DTYPE_FLOAT32, NULL, SPY_SHAPE(MANY), NULL, false);
    OK(spy_tensor_write(spy_tensor_grad(many), numbers, MANY * sizeof(float)));
    OK(spy_call(fn("held"), SPY_ARGS(spy_arg_tensor("x", many), spy_arg_f32("s", 2), spy_arg_tensor("_result", results))));
    for (int i = 0; i < MANY; i++) want[i] = 3 * (double)numbers[i];
    HOLDS_ALL(results, want, MANY);
    OK(spy_call(fn("advance"), SPY_ARGS(spy_arg_tensor("x", many), spy_arg_f32("s", 2))));
    for (int i = 0; i < MANY; i++) want[i] = 2 * (double)numbers[i];
    HOLDS_ALL(many, want, MANY);
    for (int i = 0; i < MANY; i++) want[i] = (double)numbers[i] + 2;
    HOLDS_ALL(spy_tensor_grad(many), want, MANY);
    spy_tensor *second = MADE(spy_tensor, spy_create_slice(many, 0, 1, 4, 2)); // its gradient is a view, too
    OK(spy_call(fn("held"), SPY_ARGS(spy_arg_tensor("x", second), spy_arg_f32("s", 1), spy_arg_tensor("_result", MADE(spy_tensor, spy_create_slice(results, 0, 0, 2, 1))))));
    // what comes back
    OK(spy_call(fn("advance"), SPY_ARGS(spy_arg_tensor("x", x), spy_arg_f32("s", 2))));
    HOLDS(x, 2, 4, 6);
    HOLDS(spy_tensor_grad(x), 9, 10, 11);
    OK(spy_call(fn("advance"), SPY_ARGS(spy_arg_diff_pair("x", SPY_ARGS(spy_inout_f32(NULL, &p), spy_inout_f32(NULL, &d))), spy_arg_f32("s", 2))));
    assert_float_equal(p, 6, 0);
    assert_float_equal(d, 6, 0);
    OK(spy_call(fn("begin"), SPY_ARGS(spy_arg_tensor("s", plain), spy_arg_tensor("x", x))));
    HOLDS(x, 4, 5, 6);
    HOLDS(spy_tensor_grad(x), 8, 10, 12);
    float value[3] = { 0 }, gradient[3] = { 0 };
    OK(spy_call(fn("both"), SPY_ARGS(spy_arg_f32("s", 2), spy_arg_struct("_result", SPY_ARGS(spy_out_array("p", value, SPY_SHAPE(3), SPY_DTYPE_FLOAT32), spy_out_array("d", gradient, SPY_SHAPE(3), SPY_DTYPE_FLOAT32))))));
    assert_float_equal(value[2], 2, 0);
    assert_float_equal(gradient[2], 6, 0);
    // structs and arrays
    spy_tensor *weights = floats(SPY_SHAPE(5), (float[]){ 1, 2, 3, 4, 5 });
    OK(spy_tensor_write(spy_tensor_grad(weights), (float[]){ 6, 7, 8, 9, 10 }, 5 * sizeof(float)));
    OK(spy_call(fn("held_array"), SPY_ARGS(spy_arg_tensor("w", weights), spy_out_f32("_result", &one))));
    assert_float_equal(one, 30, 0);
    spy_tensor *lights = typed(SPY_DTYPE_DEFAULT, "Light", SPY_SHAPE(2), NULL, true);
    const struct { float color[3], power; int32_t id; float uv[2], k, off; } two[2] = { { { 1, 2, 3 }, 4, 5, { 6, 7 }, 8, 9 }, { { 2, 3, 4 }, 5, 6, { 7, 8 }, 9, 1 } };
    OK(spy_tensor_write(lights, two, sizeof two));
    spy_tensor *of_lights = typed(SPY_DTYPE_FLOAT32, NULL, SPY_SHAPE(2), NULL, false);
    OK(spy_call(fn("held_light"), SPY_ARGS(spy_arg_tensor("l", lights), spy_arg_tensor("_result", of_lights))));
    HOLDS(of_lights, 5, 6);
    // what does not fit
    FAILS(SPY_ERROR_TYPE_MISMATCH, spy_call(fn("held"), SPY_ARGS(spy_arg_tensor("x", plain), spy_arg_f32("s", 2), spy_arg_tensor("_result", out))), "'x'", "expected DifferentialPair<float>", "float tensor (3,)", "a value with its gradient");
    FAILS(SPY_ERROR_TYPE_MISMATCH, spy_call(fn("held"), SPY_ARGS(spy_arg_f32("x", 1), spy_arg_f32("s", 2), spy_out_f32("_result", &one))), "'x'", "expected DifferentialPair<float>", "spy_arg_diff_pair");
    FAILS(SPY_ERROR_NOT_FOUND, spy_call(fn("held"), SPY_ARGS(spy_arg_struct("x", SPY_ARGS(spy_arg_f32("p", 1), spy_arg_f32("q", 1))), spy_arg_f32("s", 2), spy_out_f32("_result", &one))), "'x'", "no field 'q'");
    FAILS(SPY_ERROR_SHAPE_MISMATCH, spy_call(fn("held"), SPY_ARGS(spy_arg_diff_pair("x", SPY_ARGS(spy_arg_tensor(NULL, plain), spy_arg_tensor(NULL, weights))), spy_arg_f32("s", 2), spy_arg_tensor("_result", out))), "'x'", "(3,)", "(5,)");
    FAILS(SPY_ERROR_TYPE_MISMATCH, spy_call(fn("held"), SPY_ARGS(spy_arg_tensor("x", lights), spy_arg_f32("s", 2), spy_arg_tensor("_result", of_lights))), "'x.p'", "expected float", "Light");
    spy_tensor *seeds = seeded(SPY_SHAPE(3));
    FAILS(SPY_ERROR_UNSUPPORTED, spy_call_backward(fn("held"), SPY_ARGS(spy_arg_tensor("x", x), spy_arg_f32("s", 2), spy_arg_tensor("_result", seeds))), "'x'", "DifferentialPair<float>");
    RELEASE(x, g, plain, out, many, results, second, weights, lights, of_lights, seeds);
    free(numbers);
}

static const char pairs_source[] =
    "struct Light : IDifferentiable { float3 color; float power; int id; };\n"
    "struct Mixed { DifferentialPair<float> p; float3 k; };\n"
    "struct Deep { Mixed m; int i; DifferentialPair<Light> l; };\n"
    "struct Outer { Mixed m; DifferentialPair<float> q[2]; };\n"
    "struct Only { DifferentialPair<float> p; float get() { return p.p * 10 + p.d; } [mutating] void set(float x) { p = diffPair(x, p.p); } };\n"
    "float of_mixed(Mixed m) { return m.p.p * 10 + m.p.d + m.k.y; }\n"
    "float of_only(Only o) { return o.get(); }\n"
    "void scale_mixed(inout Mixed m, float s) { m.p = diffPair(m.p.p * s, m.p.d + s); m.k *= s; }\n"
    "void begin_mixed(float s, out Mixed m) { m.p = diffPair(s, 2 * s); m.k = float3(1, 2, 3) * s; }\n"
    "Mixed make_mixed(float s) { Mixed m; begin_mixed(s, m); return m; }\n"
    "float of_deep(Deep d) { return of_mixed(d.m) + d.i * d.l.p.color.y * d.l.d.color.z + d.l.d.power + d.l.p.id; }\n"
    "void turn_deep(inout Outer d) { d.m.p = diffPair(d.m.p.d, d.m.p.p); d.q[1] = d.m.p; }\n"
    "float of_two(Mixed m[2]) { return of_mixed(m[0]) + 1000 * of_mixed(m[1]); }\n"
    "float of_pairs(DifferentialPair<float> p[2]) { return p[0].p * 10 + p[0].d + 1000 * (p[1].p * 10 + p[1].d); }\n"
    "[Differentiable] float beside(float x, no_diff Only o) { return x * 2; }\n"
    "float of_buffer(ConstantBuffer<Mixed> m) { return of_mixed(m); }\n"
    "[shader(\"compute\")] [numthreads(1, 1, 1)] void shade(uniform DifferentialPair<float> p, uniform RWStructuredBuffer<float> o) { o[0] = p.p * 10 + p.d; }\n";

#define PAIR(name, value, gradient) spy_arg_diff_pair(name, SPY_ARGS(value, gradient))
#define FLOATS(name, ...) spy_arg_array(name, ((float[]){ __VA_ARGS__ }), SPY_SHAPE(sizeof((float[]){ __VA_ARGS__ }) / sizeof(float)), SPY_DTYPE_FLOAT32)

static void test_pairs_in_structs(void **state) {
    NEEDS_DEVICE();
    spy_module *m = MADE(spy_module, gpu_module(gpu_device, "pairs", pairs_source));
    spy_function *of_mixed = MADE(spy_function, spy_find_function(m, "of_mixed")), *scale = MADE(spy_function, spy_find_function(m, "scale_mixed"));
    spy_tensor *x = floats(SPY_SHAPE(3), (float[]){ 1, 2, 3 }), *k = typed(SPY_DTYPE_FLOAT32, NULL, SPY_SHAPE(3, 3), (float[]){ 1, 2, 3, 4, 5, 6, 7, 8, 9 }, false),
               *out = typed(SPY_DTYPE_FLOAT32, NULL, SPY_SHAPE(3), NULL, false);
    OK(spy_tensor_write(spy_tensor_grad(x), (float[]){ 7, 8, 9 }, 3 * sizeof(float)));
    float one = 0;
    // numbers: a pair, fields
    OK(spy_call(of_mixed, SPY_ARGS(spy_arg_struct("m", SPY_ARGS(PAIR("p", spy_arg_f32(NULL, 3), spy_arg_f32(NULL, 4)), FLOATS("k", 5, 6, 7))), spy_out_f32("_result", &one))));
    assert_float_equal(one, 40, 0);
    OK(spy_call(of_mixed, SPY_ARGS(spy_arg_struct("m", SPY_ARGS(FLOATS("k", 5, 7, 7), spy_arg_struct("p", SPY_ARGS(spy_arg_f32("d", 5), spy_arg_f32("p", 2))))), spy_out_f32("_result", &one))));
    assert_float_equal(one, 32, 0);
    // tensors with gradients, beside tensors
    OK(spy_call(of_mixed, SPY_ARGS(spy_arg_struct("m", SPY_ARGS(spy_arg_tensor("p", x), spy_arg_tensor("k", k))), spy_arg_tensor("_result", out))));
    HOLDS(out, 19, 33, 47);
    OK(spy_call(scale, SPY_ARGS(spy_arg_struct("m", SPY_ARGS(spy_arg_tensor("p", x), spy_arg_tensor("k", k))), spy_arg_f32("s", 2))));
    HOLDS(x, 2, 4, 6);
    HOLDS(spy_tensor_grad(x), 9, 10, 11);
    HOLDS(k, 2, 4, 6, 8, 10, 12, 14, 16, 18);
    // what comes back
    float p = 3, d = 4, three[3] = { 1, 2, 3 };
    OK(spy_call(scale, SPY_ARGS(spy_arg_struct("m", SPY_ARGS(PAIR("p", spy_inout_f32(NULL, &p), spy_inout_f32(NULL, &d)), spy_inout_array("k", three, SPY_SHAPE(3), SPY_DTYPE_FLOAT32))), spy_arg_f32("s", 5))));
    assert_float_equal(p, 15, 0);
    assert_float_equal(d, 9, 0);
    assert_float_equal(three[2], 15, 0);
    OK(spy_call(MADE(spy_function, spy_find_function(m, "begin_mixed")), SPY_ARGS(spy_arg_tensor("s", out), spy_arg_struct("m", SPY_ARGS(spy_arg_tensor("p", x), spy_arg_tensor("k", k))))));
    HOLDS(x, 19, 33, 47);
    HOLDS(spy_tensor_grad(x), 38, 66, 94);
    HOLDS(k, 19, 38, 57, 33, 66, 99, 47, 94, 141);
    OK(spy_call(MADE(spy_function, spy_find_function(m, "make_mixed")), SPY_ARGS(spy_arg_f32("s", 3), spy_arg_struct("_result", SPY_ARGS(spy_arg_struct("p", SPY_ARGS(spy_out_f32("p", &p), spy_out_f32("d", &d))), spy_out_array("k", three, SPY_SHAPE(3), SPY_DTYPE_FLOAT32))))));
    assert_float_equal(p, 3, 0);
    assert_float_equal(d, 6, 0);
    assert_float_equal(three[1], 6, 0);
    // structs in structs, pairs of structs, many (wide kernels)
    enum { MANY = 1003 };
    float *numbers = wave(MANY);
    double want[MANY];
    spy_tensor *many = floats(SPY_SHAPE(MANY), numbers), *results = typed(SPY_DTYPE_FLOAT32, NULL, SPY_SHAPE(MANY), NULL, false);
    OK(spy_tensor_write(spy_tensor_grad(many), numbers, MANY * sizeof(float)));
    spy_arg light[] = { FLOATS("color", 1, 2, 3), spy_arg_f32("power", 4), spy_arg_i32("id", 5) }, change[] = { FLOATS("color", 6, 7, 8), spy_arg_f32("power", 9) };
    spy_arg parts[] = { spy_arg_struct("p", (spy_args){ light, 3 }), spy_arg_struct("d", (spy_args){ change, 2 }) };
    spy_arg mixed[] = { spy_arg_tensor("p", many), FLOATS("k", 0, 1, 0) };
    spy_arg deep[] = { spy_arg_struct("m", (spy_args){ mixed, 2 }), spy_arg_i32("i", 3), spy_arg_struct("l", (spy_args){ parts, 2 }) };
    OK(spy_call(MADE(spy_function, spy_find_function(m, "of_deep")), SPY_ARGS(spy_arg_struct("d", (spy_args){ deep, 3 }), spy_arg_tensor("_result", results))));
    for (int i = 0; i < MANY; i++) want[i] = 11 * (double)numbers[i] + 1 + 3 * 2 * 8 + 9 + 5;
    HOLDS_ALL(results, want, MANY);
    spy_arg second[] = { PAIR("p", spy_arg_f32(NULL, 1), spy_arg_f32(NULL, 2)), FLOATS("k", 0, 3, 0) };
    OK(spy_call(MADE(spy_function, spy_find_function(m, "of_two")), SPY_ARGS(spy_arg_struct("m", SPY_ARGS(spy_arg_struct(NULL, (spy_args){ mixed, 2 }), spy_arg_struct(NULL, (spy_args){ second, 2 }))), spy_arg_tensor("_result", results))));
    for (int i = 0; i < MANY; i++) want[i] = 11 * (double)numbers[i] + 1 + 15000;
    HOLDS_ALL(results, want, MANY);
    OK(spy_call(MADE(spy_function, spy_find_function(m, "of_pairs")), SPY_ARGS(spy_arg_struct("p", SPY_ARGS(spy_arg_tensor(NULL, many), PAIR(NULL, spy_arg_f32(NULL, 3), spy_arg_f32(NULL, 4)))), spy_arg_tensor("_result", results))));
    for (int i = 0; i < MANY; i++) want[i] = 11 * (double)numbers[i] + 34000;
    HOLDS_ALL(results, want, MANY);
    // methods, on a struct that is nothing but a pair
    OK(spy_call(MADE(spy_function, spy_find_function(m, "of_only")), SPY_ARGS(spy_arg_struct("o", SPY_ARGS(spy_arg_tensor("p", many))), spy_arg_tensor("_result", results))));
    for (int i = 0; i < MANY; i++) want[i] = 11 * (double)numbers[i];
    HOLDS_ALL(results, want, MANY);
    OK(spy_call(MADE(spy_function, spy_find_function(m, "Only.get")), SPY_ARGS(spy_arg_struct("this", SPY_ARGS(PAIR("p", spy_arg_f32(NULL, 3), spy_arg_f32(NULL, 4)))), spy_out_f32("_result", &one))));
    assert_float_equal(one, 34, 0);
    p = 3, d = 4;
    OK(spy_call(MADE(spy_function, spy_find_function(m, "Only.set")), SPY_ARGS(spy_arg_struct("this", SPY_ARGS(PAIR("p", spy_inout_f32(NULL, &p), spy_inout_f32(NULL, &d)))), spy_arg_f32("x", 8))));
    assert_float_equal(p, 8, 0);
    assert_float_equal(d, 3, 0);
    // inout, by fields at all depths
    spy_tensor *u = floats(SPY_SHAPE(3), (float[]){ 1, 2, 3 }), *v = floats(SPY_SHAPE(3), (float[]){ 4, 5, 6 });
    OK(spy_tensor_write(spy_tensor_grad(u), (float[]){ 7, 8, 9 }, 3 * sizeof(float)));
    spy_arg inner[] = { spy_arg_tensor("p", u), spy_arg_tensor("k", k) }, pair_of_out[] = { spy_arg_tensor(NULL, x), spy_arg_tensor(NULL, v) };
    OK(spy_call(MADE(spy_function, spy_find_function(m, "turn_deep")), SPY_ARGS(spy_arg_struct("d", SPY_ARGS(spy_arg_struct("m", (spy_args){ inner, 2 }), spy_arg_struct("q", (spy_args){ pair_of_out, 2 }))))));
    HOLDS(u, 7, 8, 9);
    HOLDS(spy_tensor_grad(u), 1, 2, 3);
    HOLDS(v, 7, 8, 9);
    HOLDS(spy_tensor_grad(v), 1, 2, 3);
    HOLDS(x, 19, 33, 47);
    // what does not fit
    spy_tensor *plain = typed(SPY_DTYPE_FLOAT32, NULL, SPY_SHAPE(3), NULL, false);
    FAILS(SPY_ERROR_TYPE_MISMATCH, spy_call(of_mixed, SPY_ARGS(spy_arg_struct("m", SPY_ARGS(spy_arg_tensor("p", plain), spy_arg_tensor("k", k))), spy_arg_tensor("_result", out))), "'m.p'", "expected DifferentialPair<float>", "a value with its gradient");
    FAILS(SPY_ERROR_UNSUPPORTED, spy_call_backward(MADE(spy_function, spy_find_function(m, "beside")), SPY_ARGS(spy_arg_tensor("x", x), spy_arg_struct("o", SPY_ARGS(spy_arg_tensor("p", x))), spy_arg_tensor("_result", v))), "'o.p'", "DifferentialPair<float>");
    FAILS(SPY_ERROR_UNSUPPORTED, spy_call(MADE(spy_function, spy_find_function(m, "of_buffer")), SPY_ARGS(spy_arg_struct("m", (spy_args){ mixed, 2 }), spy_out_f32("_result", &one))), "'m.p'", "DifferentialPair<float>", "two");
    spy_uint3 threads = { 1, 1, 1 };
    FAILS(SPY_ERROR_UNSUPPORTED, spy_dispatch(MADE(spy_function, spy_find_function(m, "shade")), threads, SPY_ARGS(PAIR("p", spy_arg_f32(NULL, 3), spy_arg_f32(NULL, 4)), spy_arg_tensor("o", out)), NULL), "'p'", "DifferentialPair<float>", "two");
    // Slang's reflection tells nothing of a pair's layout, so no memory can hold such a struct
    spy_tensor_desc structs = { .module = m, .type = "Mixed", .shape = SPY_SHAPE(3) }, pairs = { .module = m, .type = "DifferentialPair<float>", .shape = SPY_SHAPE(3) };
    assert_null(spy_create_tensor(gpu_device, &structs));
    ERROR_ON(gpu_device, SPY_ERROR_TYPE_MISMATCH, "'Mixed'", "DifferentialPair", "give its fields one by one");
    assert_null(spy_create_tensor(gpu_device, &pairs));
    ERROR_ON(gpu_device, SPY_ERROR_TYPE_MISMATCH, "'DifferentialPair<float>'", "tensor with a gradient");
    FAILS(SPY_ERROR_TYPE_MISMATCH, spy_call(of_mixed, SPY_ARGS(spy_arg_tensor("m", k), spy_out_f32("_result", &one))), "'m'", "expected Mixed", "give its fields one by one");
    float bytes[5] = { 1, 2, 3, 4, 5 };
    FAILS(SPY_ERROR_TYPE_MISMATCH, spy_call(of_mixed, SPY_ARGS(spy_arg_data("m", bytes, sizeof bytes), spy_out_f32("_result", &one))), "'m'", "expected Mixed", "give its fields one by one");
    RELEASE(x, k, out, many, results, u, v, plain);
    free(numbers);
    spy_release_module(m);
}

static void test_generic_pairs(void **state) {
    NEEDS_DEVICE();
    static const char text[] =
        "struct Light : IDifferentiable { float3 color; float power; int id; };\n"
        "struct Plain { float a; };\n"
        "interface IBright { float bright(); };\n"
        "extension Light : IBright { float bright() { return color.y * 10 + id; } };\n"
        "float of_any<T : IDifferentiable>(DifferentialPair<T> p) { return sizeof(T); }\n"
        "float bright<T : IDifferentiable & IBright>(DifferentialPair<T> p, int times) { return p.p.bright() * times; }\n"
        "float both<T : IDifferentiable, U : IDifferentiable>(DifferentialPair<T> p, DifferentialPair<U> q) { return sizeof(T) * 100 + sizeof(U); }\n"
        "float same<T : IDifferentiable>(DifferentialPair<T> p, T x) { return sizeof(T); }\n"
        "float of_vector<let N : int>(DifferentialPair<vector<float, N>> p) { float sum = 0; for (int i = 0; i < N; i++) sum += p.p[i] * 10 + p.d[i]; return sum; }\n"
        "float beside<T : IDifferentiable>(T t, DifferentialPair<float3> p) { return p.p.x * 10 + p.d.z; }\n"
        "void turn<T : IDifferentiable>(inout DifferentialPair<T> p, T x) { p = DifferentialPair<T>(x, p.d); }\n"
        "float nearer<T : IDifferentiable>(DifferentialPair<T> p) { return 1; }\n"
        "float nearer(DifferentialPair<float> p) { return 2; }\n";
    spy_module *m = MADE(spy_module, gpu_module(gpu_device, "generic_pairs", text));
    spy_tensor *x = floats(SPY_SHAPE(3), (float[]){ 1, 2, 3 }), *out = typed(SPY_DTYPE_FLOAT32, NULL, SPY_SHAPE(3), NULL, false), *plain = typed(SPY_DTYPE_FLOAT32, NULL, SPY_SHAPE(3), NULL, false);
    OK(spy_tensor_write(spy_tensor_grad(x), (float[]){ 7, 8, 9 }, 3 * sizeof(float)));
    float one = 0, p = 3, d = 4;
#define NAMED(name) MADE(spy_function, spy_find_function(m, name))
#define GIVES(want, name, ...)                                                                                \
    do {                                                                                                      \
        OK(spy_call(NAMED(name), SPY_ARGS(__VA_ARGS__, spy_out_f32("_result", &one))));                       \
        assert_float_equal(one, want, 0);                                                                     \
    } while (0)
    // from a pair, from a tensor with its gradient, from fields
    GIVES(4, "of_any", PAIR("p", spy_arg_f32(NULL, 3), spy_arg_f32(NULL, 4)));
    GIVES(8, "of_any", PAIR("p", spy_arg_f64(NULL, 3), spy_arg_f64(NULL, 4)));
    GIVES(4, "of_any", spy_arg_struct("p", SPY_ARGS(spy_arg_f32("d", 3), spy_arg_f32("p", 4))));
    GIVES(4, "of_any", spy_arg_struct("p", SPY_ARGS(spy_arg_f32("grad", 3), spy_arg_f32("primal", 4))));
    GIVES(4, "of_any<float>", PAIR("p", spy_arg_f32(NULL, 3), spy_arg_f32(NULL, 4)));
    GIVES(408, "both", PAIR("p", spy_arg_f32(NULL, 3), spy_arg_f32(NULL, 4)), PAIR("q", spy_arg_f64(NULL, 3), spy_arg_f64(NULL, 4)));
    GIVES(4, "same", PAIR("p", spy_arg_f32(NULL, 3), spy_arg_f32(NULL, 4)), spy_arg_f32("x", 2));
    OK(spy_call(NAMED("of_any"), SPY_ARGS(spy_arg_tensor("p", x), spy_arg_tensor("_result", out))));
    HOLDS(out, 4, 4, 4);
    GIVES(2, "nearer", PAIR("p", spy_arg_f32(NULL, 3), spy_arg_f32(NULL, 4)));
    GIVES(1, "nearer", PAIR("p", spy_arg_f64(NULL, 3), spy_arg_f64(NULL, 4)));
    // vectors and structs
    GIVES(60 + 24, "of_vector", spy_arg_tensor("p", x));
    GIVES(19, "beside", spy_arg_f32("t", 1), spy_arg_tensor("p", x));
    const struct { float color[3], power; int32_t id; } two[2] = { { { 1, 2, 3 }, 4, 5 }, { { 2, 3, 4 }, 5, 6 } };
    spy_tensor_desc desc = { .module = m, .type = "Light", .shape = SPY_SHAPE(2), .data = two, .with_grad = true };
    spy_tensor *lights = MADE(spy_tensor, spy_create_tensor(gpu_device, &desc));
    spy_tensor *of_lights = typed(SPY_DTYPE_FLOAT32, NULL, SPY_SHAPE(2), NULL, false);
    OK(spy_call(NAMED("bright"), SPY_ARGS(spy_arg_tensor("p", lights), spy_arg_i32("times", 2), spy_arg_tensor("_result", of_lights))));
    HOLDS(of_lights, 50, 72);
    // what comes back
    OK(spy_call(NAMED("turn"), SPY_ARGS(PAIR("p", spy_inout_f32(NULL, &p), spy_inout_f32(NULL, &d)), spy_arg_f32("x", 5))));
    assert_float_equal(p, 5, 0);
    assert_float_equal(d, 4, 0);
    // what does not fit
    FAILS(SPY_ERROR_TYPE_MISMATCH, spy_call(NAMED("of_any"), SPY_ARGS(spy_arg_tensor("p", plain), spy_out_f32("_result", &one))), "'p'", "DifferentialPair<T>", "a value with its gradient");
    FAILS(SPY_ERROR_TYPE_MISMATCH, spy_call(NAMED("of_any"), SPY_ARGS(spy_arg_f32("p", 3), spy_out_f32("_result", &one))), "'p'", "DifferentialPair<T>", "spy_arg_diff_pair");
    FAILS(SPY_ERROR_TYPE_MISMATCH, spy_call(NAMED("of_any"), SPY_ARGS(PAIR("p", spy_arg_i32(NULL, 3), spy_arg_i32(NULL, 3)), spy_out_f32("_result", &one))), "'p'", "DifferentialPair<T>", "of_any<float>");
    FAILS(SPY_ERROR_TYPE_MISMATCH, spy_call(NAMED("bright"), SPY_ARGS(PAIR("p", spy_arg_f32(NULL, 3), spy_arg_f32(NULL, 3)), spy_arg_i32("times", 2), spy_out_f32("_result", &one))), "'p'", "DifferentialPair<T>", "bright<float>");
    FAILS(SPY_ERROR_TYPE_MISMATCH, spy_call(NAMED("of_any"), SPY_ARGS(spy_arg_struct("p", SPY_ARGS(spy_arg_struct("p", SPY_ARGS(spy_arg_f32("a", 1))), spy_arg_struct("d", SPY_ARGS(spy_arg_f32("a", 1))))), spy_out_f32("_result", &one))), "'p'", "DifferentialPair<T>");
    // a struct that has no derivative: by its own name
    desc.type = "Plain";
    desc.with_grad = false;
    desc.data = NULL;
    spy_tensor *plains = MADE(spy_tensor, spy_create_tensor(gpu_device, &desc));
    FAILS(SPY_ERROR_TYPE_MISMATCH, spy_call(NAMED("of_any"), SPY_ARGS(PAIR("p", spy_arg_tensor(NULL, plains), spy_arg_tensor(NULL, plains)), spy_arg_tensor("_result", of_lights))), "'p'", "DifferentialPair<T>");
    spy_release_tensor(plains);
    FAILS(SPY_ERROR_UNSUPPORTED, spy_call_backward(NAMED("of_any"), SPY_ARGS(spy_arg_tensor("p", x), spy_arg_tensor("_result", x))), "'p'", "DifferentialPair<T>", "call the function itself");
    RELEASE(x, out, plain, lights, of_lights);
    spy_release_module(m);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_interface_parameters), cmocka_unit_test(test_pair_parameters),
        cmocka_unit_test(test_pairs_in_structs), cmocka_unit_test(test_generic_pairs),
        cmocka_unit_test(test_kinds_of_functions), cmocka_unit_test(test_nested_kinds),
        cmocka_unit_test(test_kinds_of_methods),
    };
    return RUN_GRADIENT_TESTS(tests);
}

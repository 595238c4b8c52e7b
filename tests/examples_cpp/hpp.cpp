// slangpy.hpp: every handle, every kind of argument, both ways to hear of errors. Compiled with and without exceptions, as C++17
// and C++20; tests/examples_cpp/run says how.
#include "slangpy_vk.h"
#include "slangpy.hpp"
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>
#if defined(__cpp_lib_span)
#include <span>
#endif

// Allocations of C++ by this thread; repeated calls must make none. Not beside AddressSanitizer, which has an operator new itself.
static thread_local int allocations;
#ifdef SPY_TEST_COUNT_NEW
void *operator new(size_t size) {
    allocations++;
    void *memory = std::malloc(size);
    if (memory == nullptr) std::abort();
    return memory;
}
void operator delete(void *memory) noexcept {
    std::free(memory);
}
void operator delete(void *memory, size_t) noexcept {
    std::free(memory);
}
#endif

static int failures;
#define CHECK(condition)                                                                                     \
    do {                                                                                                     \
        if (!(condition)) std::printf("line %d: not so: %s\n", __LINE__, #condition), failures++;            \
    } while (0)

// An engine's vector type.
struct vec3 {
    float x, y, z;
};
template <> struct spy::element<vec3> : spy::elements<float, 3> {};

enum class mode : int { plain, doubled };

struct ball {
    float radius;
    int number;
};

static const char *const source = R"(
import slangpy;
public float add(float a, float b) { return a + b; }
[Differentiable] public float saxpy(no_diff float a, float x, float y) { return a * x + y; }
public float size(float3 v) { return sqrt(dot(v, v)); }
public float trace(float2x2 m) { return m[0][0] + m[1][1]; }
public struct Ball { public float radius; public int number; public float area() { return radius * radius * float(number); } }
public float area(Ball b) { return b.radius * b.radius * float(b.number); }
public Ball grow(Ball b, float by) { b.radius += by; return b; }
public int pick(int mode, bool yes, uint8_t byte) { return (yes ? mode : -mode) + int(byte); }
public int narrow(int a) { return 32; }
public int narrow(int64_t a) { return 64; }
public void step(inout float x, out float old, float by) { old = x; x += by; }
public void twice(inout float3 v) { v = v * 2; }
public void fill(RWTensor<float, 1> t, uint3 at : SV_DispatchThreadID, float value) { t[at.x] = value + float(at.x); }
)";

static bool near(float a, double b) {
    return std::fabs(double(a) - b) < 1e-5;
}

static void arguments(const spy::module &mod) {
    spy::function add = mod["add"], size = mod["size"], area = mod.find("area");
    CHECK(std::strcmp(add.name(), "add") == 0);
    CHECK(add.get<float>(1.0f, 2.0) == 3);
    CHECK(add.get<float>(spy::arg("b", 2), spy::arg("a", int64_t(5))) == 7);
    CHECK(mod["pick"].get<int>(mode::doubled, true, uint8_t(200)) == 201);
    CHECK(mod["narrow"].get<int>(3) == 32 && mod["narrow"].get<int>(int64_t(3)) == 64);

    // vectors, matrices, arrays of them
    const std::array<float, 3> v = { 1, 2, 2 };
    const float c_array[3] = { 2, 4, 4 };
    CHECK(near(size.get<float>(v), 3) && near(size.get<float>(spy::arg("v", c_array)), 6));
    CHECK(near(size.get<float>(vec3{ 0, 3, 4 }), 5));
    CHECK(mod["trace"].get<float>(std::array<std::array<float, 2>, 2>{ { { 1, 2 }, { 3, 4 } } }) == 5);
    std::vector<vec3> many = { { 1, 2, 2 }, { 0, 3, 4 } };
    std::vector<float> sizes(2);
    CHECK(size(many, spy::out("_result", sizes)) == SPY_OK && near(sizes[0], 3) && near(sizes[1], 5));
    float plain[2] = {};
    CHECK(size(spy::array(many.data(), many.size()), spy::out("_result", plain)) == SPY_OK &&
          near(plain[1], 5));
#if defined(__cpp_lib_span)
    std::span<const vec3> seen(many);
    std::array<float, 2> to = {};
    CHECK(size(spy::arg("v", seen), spy::out("_result", to)) == SPY_OK && near(to[0], 3));
    std::span<float> out(sizes);
    CHECK(add(1, std::span<const float>(to), spy::out("_result", out)) == SPY_OK && near(sizes[1], 6));
#endif

    // structs: whole, by fields, arrays in a field; kept in a variable
    ball b = { 2, 3 };
    CHECK(area.get<float>(spy::bytes(b)) == 12 &&
          area.get<float>(spy::arg("b", spy::bytes(ball{ 1, 7 }))) == 7);
    CHECK(area.get<float>(spy::fields(spy::arg("radius", 3.0f), spy::arg("number", 2))) == 18);
    auto kept =
        spy::arg("b", spy::fields(spy::arg("radius", std::vector<float>{ 1, 2 }), spy::arg("number", 1)));
    CHECK(area(kept, spy::out("_result", sizes)) == SPY_OK && sizes[0] == 1 && sizes[1] == 4);
    ball grown = mod["grow"].get<ball>(spy::bytes(b), 0.5f);
    CHECK(grown.radius == 2.5f && grown.number == 3);

    // what the call writes
    float x = 1, old = 0;
    CHECK(mod["step"](spy::inout("x", x), spy::out("old", old), spy::arg("by", 2.5f)) == SPY_OK &&
          x == 3.5f && old == 1);
    vec3 w = { 1, 2, 3 };
    CHECK(mod["twice"](spy::inout("v", w)) == SPY_OK && w.x == 2 && w.z == 6);

    // mapping, casts, arguments of C
    std::vector<float> table(6);
    auto place = spy::array(table.data(), SPY_SHAPE(2, 3));
    CHECK(add(spy::vmap(std::vector<float>{ 1, 2 }, { 0 }),
              spy::vmap(spy::arg("b", spy::array(&v[0], 3)), { 1 }), spy::out("_result", place)) == SPY_OK);
    CHECK(table[0] == 2 && table[2] == 3 && table[5] == 4);
    spy::function outer = add.declare(spy::vdim(spy::any(), 1), spy::vmap(spy::any("b"), { 1 }));
    CHECK(outer(std::vector<float>{ 1, 2 }, spy::array(&v[0], 3), spy::out("_result", place)) == SPY_OK);
    CHECK(table[0] == 2 && table[2] == 3 && table[5] == 4);
    CHECK(size(spy::vcast(many, "float3"), spy::out("_result", plain)) == SPY_OK && near(plain[0], 3));
    CHECK(add(spy_arg_range("a", 0, 6, 1), spy::arg("b", 1), spy::out("_result", table)) == SPY_OK &&
          table[5] == 6);
}

static void objects(spy::device dev, const spy::module &mod) {
    spy::function saxpy = mod["saxpy"];
    spy::tensor x = dev.tensor_from(std::vector<float>{ 1, 2, 3, 4 }, true);
    spy::tensor out = dev.zeros<float>(SPY_SHAPE(4), true);
    CHECK(x && out && x.shape().dims[0] == 4 && x.info().dtype == SPY_DTYPE_FLOAT32);
    CHECK(dev.tensor_from(std::vector<vec3>(5)).shape().rank == 2 &&
          dev.zeros<vec3>(SPY_SHAPE(5)).shape().dims[1] == 3);
    CHECK(saxpy(2, x, spy::arg("y", 1), spy::arg("_result", out)) == SPY_OK);
    CHECK((out.to_vector<float>() == std::vector<float>{ 3, 5, 7, 9 }));
    CHECK(out.grad().fill(1) == SPY_OK && saxpy.backward(2, x, 1, spy::arg("_result", out)) == SPY_OK);
    CHECK(x.grad().to_vector<float>() == std::vector<float>(4, 2.0f));
    CHECK(x.zero_grad() == SPY_OK && x.grad().to_vector<float>() == std::vector<float>(4, 0.0f) &&
          !x.detached().grad());
    float dx = 0;
    CHECK(saxpy.backward(3, spy::pair(2.0f, spy::inout(nullptr, dx)), 1,
                         spy::arg("_result", spy::pair(0.0f, 1.0f))) == SPY_OK &&
          dx == 3);

    spy::tensor made = saxpy.get<spy::tensor>(2, x, 1), copy = made, view = copy.slice(0, 1, 4, 2);
    CHECK(made && copy.get() == made.get() && (view.to_vector<float>() == std::vector<float>{ 5, 9 }));
    made.reset();
    CHECK(!made && copy.reshape(SPY_SHAPE(2, 2)).transpose(SPY_DIMS(1, 0)).to_vector<float>()[1] == 7);
    CHECK(copy.indexed(spy_index_range(SPY_INDEX_NONE, SPY_INDEX_NONE, -1)).to_vector<float>()[0] == 9);
    CHECK(copy.print().find("9") != std::string::npos && copy.broadcast(SPY_SHAPE(2, 4)).shape().rank == 2);
    float four[4];
    CHECK(copy.write(std::array<float, 4>{ 4, 3, 2, 1 }) == SPY_OK && copy.read(four) == SPY_OK &&
          four[0] == 4 && four[3] == 1);
    CHECK(copy.copy_from(x) == SPY_OK && copy.select(0, 3).to_vector<float>()[0] == 4);

    spy::prepared ready = saxpy.prepare(2, x, 1, spy::arg("_result", out));
    CHECK(ready && ready.ready() == SPY_OK && ready(3, x, 0, spy::arg("_result", out)) == SPY_OK &&
          out.to_vector<float>()[3] == 12);
    std::array<float, 4> plain;
    for (int round = 0, before = 0; round < 20; round++) {
        if (round == 10) before = allocations;
        CHECK(saxpy(round, x, spy::arg("y", 1), spy::arg("_result", out)) == SPY_OK);
        CHECK(ready(round, x, 0, spy::arg("_result", out)) == SPY_OK && out.read(plain) == SPY_OK &&
              plain[0] == float(round));
        CHECK(round < 10 || allocations == before);
    }
    spy::packed ball_packed = dev.pack(spy::fields(spy::arg("radius", 3.0f), spy::arg("number", 2)));
    spy::packed same_ball = ball_packed;
    ball_packed.reset();
    CHECK(mod["area"].get<float>(spy::arg("b", same_ball)) == 18);
    spy::resolution r = saxpy.resolve(2, x, 1);
    CHECK(r && r->shape.rank == 1 && r->shape.dims[0] == 4);
    CHECK(saxpy.explain(2, x, 1).find("saxpy") != std::string::npos);
    CHECK(saxpy.time_ns(2, x, 1, spy::arg("_result", out)) > 0);
    spy_call_options options = {};
    options.thread_group_size[0] = 32;
    CHECK(saxpy.call_with(options, 1, x, 1, spy::arg("_result", out)) == SPY_OK &&
          out.to_vector<float>()[0] == 2);
    CHECK(mod["fill"].dispatch({ 4, 1, 1 }, out, 0.5f) == SPY_OK && out.to_vector<float>()[3] == 3.5f);

    spy::command_list list = dev.create_command_list("list");
    CHECK(list.call(saxpy, 2, x, 1, spy::arg("_result", out)) == SPY_OK && list.finish() == SPY_OK);
    CHECK(list.submit() == SPY_OK && out.to_vector<float>()[1] == 5);
    CHECK(list.set(0, spy::arg("a", 10)) == SPY_OK && list.submit() == SPY_OK &&
          out.to_vector<float>()[1] == 21);

    spy_tensor_desc desc = {};
    desc.type = "Ball";
    desc.module = mod.get();
    desc.shape = SPY_SHAPE(2);
    spy::tensor balls = dev.create_tensor(desc);
    spy::cursor cursor(balls, 0, 2);
    const float radius = 4;
    CHECK(spy_cursor_write(cursor.field("[1].radius"), &radius, 1, SPY_DTYPE_FLOAT32) == SPY_OK &&
          cursor.apply() == SPY_OK);
    CHECK(balls.to_vector<ball>()[1].radius == 4);
    CHECK(dev.wait() == SPY_OK && dev.is_finished(dev.flush()) && dev.info().max_group_size > 0 &&
          dev.stats().calls > 0);
}

// Handles in any order; the GPU device goes with the last.
static void lifetimes() {
    static int closed;
    closed = 0;
    spy::tensor t;
    {
        spy::device dev(spy_vk_backend());
        (void)spy_add_close_callback(
            dev.get(), [](spy_device *, void *) { closed++; }, nullptr);
        spy::function f;
        {
            spy::module mod = dev.load_source("lifetimes", "public float f(float x) { return x + 1; }");
            f = mod["f"];
        }
        t = dev.zeros<float>(SPY_SHAPE(3));
        spy::device other = std::move(dev);
        CHECK(!dev && other && f.get<float>(1) == 2);
        t = f.get<spy::tensor>(t);
    }
    CHECK(closed == 0 && t.to_vector<float>() == std::vector<float>(3, 1.0f));
    t = spy::tensor();
    CHECK(closed == 1);

    spy_device_desc desc = {};
    desc.backend = spy_vk_backend();
    spy_device *raw = spy_create_device(&desc);
    {
        spy::device borrowed(raw, false);
        spy_tensor_desc small = {};
        spy::tensor adopted(spy_create_tensor(raw, &small), borrowed);
        CHECK(adopted && borrowed.get() == raw);
    }
    CHECK(spy_wait(raw) == SPY_OK);
    spy_release_device(raw);
}

static int told_count;
static spy::error last;
static void remember(const spy::error &e) {
    told_count++;
    last = e;
}

static void errors(const spy::device &quiet, const spy::module &mod) {
    // In the device, as in C: the first one stays.
    CHECK(!mod.find("nothing") && mod["add"](1, 2, 3) != SPY_OK);
    spy::error e = quiet.take_error();
    CHECK(e && e.code == SPY_ERROR_NOT_FOUND && e.message.find("nothing") != std::string::npos &&
          !quiet.take_error());
    float left = 77;
    spy::tensor none;
    CHECK(mod["add"](spy::arg("a", none), 1, spy::out("_result", left)) != SPY_OK && left == 77 &&
          quiet.take_error());
    CHECK(none.fill(1) != SPY_OK && spy::function()(1) != SPY_OK && !none.grad() &&
          spy::device().take_error());
    CHECK(mod["add"].get<spy::tensor>(std::vector<float>(2), std::vector<float>(3)).get() == nullptr);
    e = quiet.take_error();
    CHECK(e.code == SPY_ERROR_SHAPE_MISMATCH && e.message.find("(3,)") != std::string::npos);
    CHECK(mod["size"](spy::array(&left, spy_shape{ SPY_MAX_RANK, { 1, 1, 1, 1, 1, 1, 1, 1 } })) != SPY_OK &&
          quiet.take_error());

    // A function of the program's own.
    spy::device dev(spy_vk_backend(), remember);
    spy::module own = dev.load_source("errors", "public float f(float x) { return x; }");
    spy::function f = own["f"];
    CHECK(told_count == 0 && f.get<float>(3) == 3);
    CHECK(!own["g"] && told_count == 1 && last.code == SPY_ERROR_NOT_FOUND && !dev.take_error());
    CHECK(f(1, 2) != SPY_OK && told_count == 2 && last.message.find("f") != std::string::npos);
    CHECK(dev.tensor_from(std::vector<float>(3)).reshape(SPY_SHAPE(2)).get() == nullptr && told_count == 3);
    CHECK(!spy::device(static_cast<const spy_backend *>(nullptr), remember) && told_count == 4);
    CHECK(!dev.load_source("broken", "float f( {") && told_count == 5 && last.code == SPY_ERROR_COMPILE);
#if defined(__cpp_exceptions)
    spy::device throwing(spy_vk_backend(), spy::throw_error);
    try {
        spy::tensor t = throwing.zeros<float>(SPY_SHAPE(2));
        (void)t.reshape(SPY_SHAPE(3));
        CHECK(t.get() == nullptr); // not reached
    } catch (const spy::exception &x) {
        CHECK(x.code() != SPY_OK && std::strstr(x.what(), "spy_create_reshape") != nullptr);
    }
#endif
}

int main() {
    std::setvbuf(stdout, nullptr, _IONBF, 0);
    spy::device dev(spy_vk_backend());
    if (!dev) {
        std::printf("skipped: %s\n", dev.take_error().message.c_str());
        return 0;
    }
    {
        spy::module mod = dev.load_source("everything", source);
        if (!mod) {
            std::printf("%s\n", dev.take_error().message.c_str());
            return 1;
        }
        arguments(mod);
        objects(dev, mod);
        if (spy::error e = dev.take_error()) std::printf("%s\n", e.message.c_str()), failures++;
        errors(dev, mod);
    }
    lifetimes();
    std::printf(failures == 0 ? "good\n" : "bad\n");
    return failures != 0;
}

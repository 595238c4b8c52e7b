"""Calls, raw dispatches, cursors, buffers, reflection and linking in scripts whose author knows only SlangPy's public interface.
References are numpy's or plain Python's."""
import gc
import math

import numpy as np
import pytest

import slangpy as spy
from slangpy import BufferUsage, InstanceList, InstanceTensor, NDBuffer, Tensor

RNG = np.random.default_rng(9)

SOURCE = """
import "slangpy";

static const float PI = 3.14159265;
uniform float g_scale;
uniform int g_counts[4];
struct Params { float k; float3 color; int flags[3]; };
ParameterBlock<Params> g_block;
ConstantBuffer<Params> g_const;
RWStructuredBuffer<float> g_out;

float scaled(float x) { return x * g_scale; }
float blocks(float x) { return x * g_block.k + g_const.k + g_block.flags[2] + g_counts[1]; }
void append(int i, float v) { g_out[i] = v; }

enum Mode : int { Add = 0, Mul = 5 }
float apply(Mode mode, float a, float b) { return mode == Mode.Add ? a + b : a * b; }

struct Ray { float3 o; float3 d; float3 at(float t) { return o + d * t; } static float3 up() { return float3(0, 1, 0); }
    [mutating] void advance(float t) { o = at(t); } __init(float3 o, float3 d) { this.o = o; this.d = d; } }
struct Hit { bool valid; float t; uint id; int2 uv; }
Hit trace(Ray r, float far) { Hit h; h.valid = r.d.x > 0; h.t = min(dot(r.d, r.d), far); h.id = uint(r.o.x); h.uv = int2(1, 2); return h; }
struct Node { Ray r; float w[3]; float2x3 m; Hit h; }
float node_sum(Node n) { return n.r.o.x + n.w[0] + n.w[1] + n.w[2] + n.m[0][1] + n.m[1][0] + n.h.t; }
Node make_node(float x) { Node n; n.r = Ray(float3(x), float3(0)); n.w = { 0, 2 * x, 0 }; n.m = float2x3(0); n.m[1][0] = 3 * x; n.h = { true, 0, 0, int2(4, 5) }; return n; }

int add(int a, int b) { return a + b; }
float add(float a, float b) { return a + b; }
float3 add(float3 a, float3 b) { return a + b; }
float same(float x) { return x; }
T twice<T : IArithmetic>(T a) { return a + a; }
float total<let N : int>(float a[N]) { float s = 0; for (int i = 0; i < N; i++) s += a[i]; return s; }
float sum3x4(float3x4 m) { float s = 0; for (int i = 0; i < 3; i++) for (int j = 0; j < 4; j++) s += (1 + i * 4 + j) * m[i][j]; return s; }
float4 mul_m(float4x4 m, float4 v) { return mul(m, v); }
double dd(double a, double b) { return a - b; }
half hh(half a) { return a * 2; }
int64_t big(int64_t a) { return a * 2; }
uint64_t ubig(uint64_t a) { return a + 1; }
int16_t small(int16_t a) { return int16_t(a - 1); }
uint8_t tiny(uint8_t a) { return uint8_t(a + 1); }
bool flip(bool b) { return !b; }
bool3 flips(bool3 b) { return !b; }
void minmax(float a, float b, out float lo, out float hi) { lo = min(a, b); hi = max(a, b); }
void grow(inout float3 x, float k) { x *= k; }
void nothing() {}
int3 where(int3 id) { return id; }
int flat(uint id) { return int(id); }
float4 vec(float2 xy, float2 zw) { return float4(xy, zw); }
float pick(float a[4], int i) { return a[i]; }
float take(StructuredBuffer<float> b, int i) { return b[i]; }
void put(RWStructuredBuffer<float> b, int i, float v) { b[i] = v; }
uint bytes_at(ByteAddressBuffer b, int i) { return b.Load(i * 4); }
float deref(float* p, int i) { return p[i]; }
void store(float* p, int i, float v) { p[i] = v; }
float ray_x(StructuredBuffer<Ray> rays, int i) { return rays[i].d.x; }
float from_tensor(Tensor<float, 2> t, int2 i) { return t[i]; }
void to_tensor(RWTensor<float, 1> t, int i) { t[i] = t[i] + i; }
float tensor_shape(Tensor<float, 3> t) { return t.shape[0] * 100 + t.shape[1] * 10 + t.shape[2]; }
void histogram(int value, RWTensor<int, 1> counts) { int old; InterlockedAdd(((int*)0)[0], 0); }

[Differentiable] float poly(float x, float a) { return a * x * x + x; }
[Differentiable] float3 norm(float3 v) { return v / sqrt(dot(v, v)); }
[Differentiable] float mse(float a, no_diff float b) { return (a - b) * (a - b); }
[Differentiable] float chain(float x) { return sin(x) * exp(x); }
struct Material : IDifferentiable { float rough; float3 albedo; [Differentiable] float shade(float c) { return rough * c + albedo.x * albedo.y; } }
[Differentiable] float shade(Material m, float c) { return m.shade(c); }

[shader("compute")] [numthreads(32, 1, 1)]
void cs(uint3 tid : SV_DispatchThreadID, uniform uint count, uniform float k, RWStructuredBuffer<float> data) { if (tid.x < count) data[tid.x] = data[tid.x] * k + tid.x; }
void raw2(uint2 dispatchThreadID, RWStructuredBuffer<uint> data, uniform uint width) { if (dispatchThreadID.x < width) data[dispatchThreadID.y * width + dispatchThreadID.x] = dispatchThreadID.x + 1000 * dispatchThreadID.y; }

extern static const int COUNT = 3;
int count() { return COUNT; }
extern static const float4 TINT = float4(1);
float4 tint() { return TINT; }
extern struct Policy : IPolicy = DefaultPolicy;
interface IPolicy { static float eval(float x); }
struct DefaultPolicy : IPolicy { static float eval(float x) { return -x; } }
float policy(float x) { return Policy.eval(x); }
interface IShape { float area(); }
struct Square : IShape { float s; float area() { return s * s; } }
struct Circle : IShape { float r; float area() { return PI * r * r; } }
float area_of(IShape s) { return s.area(); }
float generic_area<S : IShape>(S s) { return s.area(); }
"""
SOURCE = "\n".join(l for l in SOURCE.splitlines() if "histogram" not in l)


@pytest.fixture(scope="module")
def m(load):
    return load(SOURCE)


def floats(*shape):
    return RNG.random(shape).astype(np.float32)


# >>values


@pytest.mark.parametrize("name, args, expected", [
    ("add", (1, 2), 3), ("add", (1.5, 2.0), 3.5), ("add", (spy.float3(1, 2, 3), spy.float3(1)), spy.float3(2, 3, 4)), ("twice", (4,), 8),
    ("twice", (1.25,), 2.5), ("twice", (spy.float2(1, 2),), spy.float2(2, 4)), ("total", ([1.0, 2.0, 3.5],), 6.5), ("dd", (1.0, 0.25), 0.75),
    ("hh", (1.5,), 3.0), ("big", (2 ** 40,), 2 ** 41), ("ubig", (2 ** 63,), 2 ** 63 + 1), ("small", (-3,), -4), ("tiny", (255,), 0), ("flip", (True,), False),
    ("flips", (spy.bool3(True, False, True),), spy.bool3(False, True, False)), ("vec", ([1, 2], (spy.float2(3, 4))), spy.float4(1, 2, 3, 4)),
    ("pick", ([5.0, 6.0, 7.0, 8.0], 2), 7.0), ("nothing", (), None), ("count", (), 3), ("policy", (2.0,), -2.0), ("where", (spy.int3(1, 2, 3),), spy.int3(1, 2, 3))],
    ids=lambda x: x if isinstance(x, str) else None)
def test_scalar_calls(m, name, args, expected):
    got = m[name](*args)
    assert got == expected and type(got) is type(expected)


@pytest.mark.parametrize("mode, expected", [(0, 5.0), (5, 6.0)])
def test_enums_are_numbers(m, mode, expected):
    assert m.apply(mode, 2.0, 3.0) == expected
    assert m.apply(mode, np.full(3, 2, np.float32), 3.0, _result="numpy").tolist() == [expected] * 3


def test_structs_come_and_go_as_dicts(m):
    ray = {"_type": "Ray", "o": spy.float3(7, 0, 0), "d": [1.0, 2.0, 2.0]}
    assert m.trace(ray, 100.0) == {"valid": True, "t": 9.0, "id": 7, "uv": spy.int2(1, 2)}
    del ray["_type"]
    assert m.trace(ray, 1.0)["t"] == 1.0
    node = m.make_node(1.0)
    assert node["r"]["o"] == spy.float3(1) and node["w"] == [0.0, 2.0, 0.0] and node["h"]["uv"] == [4, 5]
    assert m.node_sum(node) == 1 + 2 + 3


@pytest.mark.parametrize("field", ["o", "t", "both"])
def test_fields_of_dicts_vectorise(m, field):
    o = np.zeros((5, 3), np.float32)
    o[:, 0] = range(5)
    far = np.linspace(0, 20, 5, dtype=np.float32)
    out = Tensor.empty(m.device, (5,), m.Hit)
    m.trace({"o": o if field != "t" else spy.float3(2), "d": [1.0, 2.0, 2.0]}, far if field != "o" else 100.0, _result=out)
    cursor = out.cursor()
    got = [cursor[i].read() for i in range(5)]
    assert [g["id"] for g in got] == ([0, 1, 2, 3, 4] if field != "t" else [2] * 5)
    assert [g["t"] for g in got] == ([9.0] * 5 if field == "o" else [0, 5, 9, 9, 9])


@pytest.mark.parametrize("layout", ["matrix", "array", "list"])
def test_matrices_are_row_major(m, layout):
    numbers = np.arange(12, dtype=np.float32).reshape(3, 4)
    value = {"matrix": spy.float3x4(numbers), "array": numbers, "list": [spy.float4(r) for r in numbers.tolist()]}[layout]
    assert m.sum3x4(value) == pytest.approx(sum((i + 1) * i for i in range(12)))


def test_matrices_multiply_vectors(m):
    a, v = floats(4, 4), floats(10, 4)
    got = m.mul_m(spy.float4x4(a), v, _result="numpy")
    assert np.allclose(got, v @ a.T, rtol=1e-5)


@pytest.mark.parametrize("shape", [(1,), (7,), (3, 5), (2, 1, 4), (2, 3, 1, 2)])
def test_broadcasting_is_numpys(m, shape):
    a, b = floats(*shape), floats(*(1 if i % 2 else n for i, n in enumerate(shape)))
    assert np.array_equal(m.add(a, b, _result="numpy"), a + b)
    assert np.array_equal(m.add(a, 2.0, _result="numpy"), a + 2)
    assert np.array_equal(m.add(a, b[-1:], _result=Tensor).to_numpy(), a + b[-1:])


@pytest.mark.parametrize("a, b", [((3,), (4,)), ((2, 3), (3, 2)), ((2, 3), (2,))])
def test_mismatches_are_value_errors(m, a, b):
    with pytest.raises(ValueError):
        m.add(floats(*a), floats(*b))


@pytest.mark.parametrize("result", ["numpy", "tensor", "type", "given", "array"])
def test_results(m, device, result):
    a = floats(4, 3)
    if result in ("given", "array"):
        out = Tensor.empty(device, (4, 3), float) if result == "given" else np.empty((4, 3), np.float32)
        assert m.add(a, 1.0, _result=out) is out
    else:
        out = m.add(a, 1.0, _result=Tensor if result == "type" else result)
    assert np.array_equal(out if isinstance(out, np.ndarray) else out.to_numpy(), a + 1)
    assert np.array_equal(m.add.return_type("numpy")(a, 1.0), a + 1)


def test_out_parameters(m, device):
    a, b = floats(6), floats(6)
    lo, hi = Tensor.empty(device, (6,), float), np.empty(6, np.float32)
    m.minmax(a, b, lo, hi)
    assert np.array_equal(lo.to_numpy(), np.minimum(a, b)) and np.array_equal(hi, np.maximum(a, b))
    low, high = spy.ValueRef(0.0), spy.ValueRef(0.0)
    m.minmax(4.0, 3.0, lo=low, hi=high)
    assert (low.value, high.value) == (3.0, 4.0)
    v = spy.ValueRef(spy.float3(1, 2, 3))
    m.grow(v, 2.0)
    assert v.value == spy.float3(2, 4, 6)
    t = Tensor.from_numpy(device, floats(5, 3))
    before = t.to_numpy().copy()
    m.grow(t, np.arange(5, dtype=np.float32))
    assert np.allclose(t.to_numpy(), before * np.arange(5)[:, None])


# >>map, generators


@pytest.mark.parametrize("maps, expected", [(((0,), (1,)), "ij"), (((1,), (0,)), "ji")])
def test_map_makes_outer_sums(m, maps, expected):
    a, b = floats(3), floats(4)
    got = m.add.map(*maps)(a, b, _result="numpy")
    assert np.allclose(got, a[:, None] + b[None] if expected == "ij" else b[:, None] + a[None])
    assert np.allclose(m.add.map(a=maps[0], b=maps[1])(a=a, b=b, _result="numpy"), got)


def test_map_transposes(m):
    a = floats(3, 4)
    assert np.array_equal(m.add.map((1, 0))(a, 0.0, _result="numpy"), a.T)


@pytest.mark.parametrize("bad", [((0, 0),), ((0,), (0, 1, 2))])
def test_bad_maps_raise(m, bad):
    with pytest.raises(Exception):
        m.add.map(*bad)(floats(2, 3), floats(2, 3))


@pytest.mark.parametrize("given, shape", [(spy.grid((2, 3, 4)), (2, 3, 4)), (spy.grid((2, 3, 4), offset=(5, 6, 7), stride=(2, 2, 3)), (2, 3, 4))])
def test_grids(m, given, shape):
    got = m.where(given, _result="numpy")
    z, y, x = np.mgrid[0:2, 0:3, 0:4]
    expected = np.stack([x, y, z], -1)
    if not np.array_equal(got, expected):
        assert np.array_equal(got, expected * [3, 2, 2] + [7, 6, 5])
    assert got.shape == (*shape, 3)


def test_ranges_and_thread_ids(m, device):
    assert m.add(range(1, 9, 2), 0, _result="numpy").tolist() == [1, 3, 5, 7]
    out = Tensor.empty(device, (3, 5), int)
    m.flat(spy.thread_id(), _result=out)
    assert out.to_numpy().ravel().tolist() == list(range(15))


@pytest.mark.parametrize("seed", [0, 7])
@pytest.mark.parametrize("warmup", [0, 2])
def test_random_numbers_are_repeatable(m, device, seed, warmup):
    make = lambda: m.same(spy.rand_float(min=-1, max=3, seed=seed), _result=Tensor.empty(device, (1000,), float)).to_numpy()
    a = make()
    assert np.array_equal(a, make()) and -1 <= a.min() < -0.9 and 2.9 < a.max() <= 3 and abs(a.mean() - 1) < 0.15
    h = m.flat(spy.wang_hash(seed=seed, warmup=warmup), _result=Tensor.empty(device, (100,), int)).to_numpy()
    assert len(set(h.tolist())) == 100


# >>chains


def test_set_by_dict_keyword_and_callback(m):
    assert m.scaled.set({"g_scale": 3})(2.0) == 6 and m.scaled.set(g_scale=2.5)(2.0) == 5
    seen = []

    def later(data):
        seen.append(data)
        return {"g_scale": 10.0}

    f = m.scaled.set(later)
    assert f(1.0) == 10 and f(2.0) == 20 and len(seen) == 2
    g = m.blocks.set({"g_block": {"k": 2.0, "flags": [0, 0, 7]}}).set({"g_const": {"k": 100}, "g_counts": [0, 1000, 0, 0]})
    assert g(3.0) == 3 * 2 + 100 + 7 + 1000


def test_write_gets_a_cursor(m):
    def fill(cursor, value, more=0):
        cursor["g_scale"] = value + more

    assert m.scaled.write(fill, 2.0, more=3)(2.0) == 10


def test_constants_preludes_and_types(m):
    assert m.count.constants({"COUNT": 9})() == 9 and m.count() == 3
    assert m.tint.constants({"TINT": spy.float4(1, 2, 3, 4)})() == spy.float4(1, 2, 3, 4)
    assert m.count.prelude("export static const int COUNT = 4;")() == 4
    assert m.policy.prelude("struct Mine : IPolicy { static float eval(float x) { return x * 10; } }\nexport struct Policy : IPolicy = Mine;")(2.0) == 20
    with pytest.raises(ValueError):
        m.count.constants({"COUNT": "nine"})()


@pytest.mark.parametrize("shape", [(4,), (2, 2), (1, 8)])
def test_groups_change_no_value(m, shape):
    a = floats(5, 9) if len(shape) == 2 else floats(9)
    assert np.array_equal(m.add.call_group_shape(spy.slangpy.Shape(shape))(a, 1.0, _result="numpy"), a + 1)
    assert np.array_equal(m.add.thread_group_size(spy.uint3(64, 1, 1))(a, 1.0, _result="numpy"), a + 1)


def test_chains_leave_the_first_alone_and_keep_names(m):
    f = m.add
    g = f.map((0,), (1,)).return_type("numpy").set({})
    assert f(1, 2) == 3 and g(floats(2), floats(3)).shape == (2, 3) and f.name == "add" and g.name == "add" and f.as_func() is f
    assert m.add is m.add and m["add"] is m.add and m.Ray is m["Ray"]


def test_interfaces_take_dicts_with_types(m):
    assert m.area_of({"_type": "Square", "s": 3.0}) == 9
    assert m.generic_area({"_type": "Circle", "r": 1.0}) == pytest.approx(math.pi)
    with pytest.raises(Exception):
        m.area_of({"s": 3.0})


def test_append_to_records(m, device):
    a = Tensor.from_numpy(device, floats(10))
    out = Tensor.zeros(device, (10,), float)
    encoder = device.create_command_encoder()
    assert m.add(a, 1.0, _result=out, _append_to=encoder) is None
    assert not out.to_numpy().any()
    device.submit_command_buffer(encoder.finish())
    assert np.array_equal(out.to_numpy(), a.to_numpy() + 1)
    with pytest.raises(Exception):
        m.add(a, 1.0, _result=out, _append_to=encoder)


# >>methods and instances


def test_methods_constructors_and_statics(m):
    ray = m.Ray(spy.float3(1), spy.float3(0, 1, 0))
    assert m.Ray.at(ray, 2.0) == spy.float3(1, 3, 1) and m.Ray.up() == spy.float3(0, 1, 0)
    assert np.allclose(m.Ray.at(ray, np.arange(3, dtype=np.float32), _result="numpy"), [[1, 1 + t, 1] for t in range(3)])


@pytest.mark.parametrize("kind", ["list", "tensor"])
def test_instances(m, device, kind):
    o, d = floats(6, 3), floats(6, 3)
    if kind == "list":
        rays = InstanceList(m.Ray, {"o": Tensor.from_numpy(device, o), "d": Tensor.from_numpy(device, d)})
    else:
        rays = InstanceTensor(m.Ray, (6,))
        rays.construct(o, d)
    assert np.allclose(rays.at(2.0, _result="numpy"), o + 2 * d, atol=1e-6)
    rays.advance(1.0)
    assert np.allclose(rays.at(0.0, _result="numpy"), o + d, atol=1e-6)
    assert np.allclose(m.Ray.at(rays, 0.5, _result="numpy"), o + 1.5 * d, atol=1e-6)
    with pytest.raises(AttributeError):
        rays.nope


def test_subclasses_of_instances(m, device):
    class Rays(InstanceList):
        def __init__(self, count):
            super().__init__(m.Ray)
            self.o = Tensor.zeros(device, (count,), "float3")
            self.d = Tensor.from_numpy(device, np.ones((count, 3), np.float32))

    rays = Rays(4)
    rays.advance(np.arange(4, dtype=np.float32))
    assert rays.o.to_numpy().tolist() == [[i] * 3 for i in range(4)]


def test_packed_values(m):
    packed = spy.pack(m, {"_type": "Ray", "o": spy.float3(3), "d": spy.float3(1)})
    assert m.Ray.at(packed, 1.0) == spy.float3(4) and spy.pack(m, packed) is packed
    assert np.array_equal(m.Ray.at(packed, np.zeros(2, np.float32), _result="numpy"), np.full((2, 3), 3))


# >>tensors


@pytest.mark.parametrize("dtype", [float, int, "float3", spy.float4, "Ray", "half", "uint8_t", bool, "float2x3"])
@pytest.mark.parametrize("make", ["zeros", "empty"])
def test_tensors_are_made_of_types(m, device, dtype, make):
    t = getattr(Tensor, make)(device, (2, 3), m.Ray if dtype == "Ray" else dtype)
    assert t.shape == (2, 3) and t.element_count == 6 and t.dtype is not None and t.device is device
    assert make == "empty" or not t.to_numpy().view(np.uint8).any()


@pytest.mark.parametrize("index", [0, -1, slice(1, 3), slice(None, None, 2), ..., (0, slice(None)), (slice(None), 1), (1, 2), (None, 0), (..., 0), (slice(2), slice(1, None))],
                         ids=str)
def test_tensors_are_indexed_like_arrays(m, device, index):
    a = floats(4, 5)
    got = Tensor.from_numpy(device, a)[index]
    expected = np.atleast_1d(a[index])
    assert got.shape == expected.shape and np.array_equal(got.to_numpy(), expected)
    assert np.array_equal(m.add(got, 1.0, _result="numpy"), expected + 1)


@pytest.mark.parametrize("index, error", [(4, IndexError), (-5, IndexError), ((0, 5), IndexError), ((0, 0, 0), RuntimeError), ("a", Exception), (1.5, Exception)])
def test_bad_indices_raise(device, index, error):
    with pytest.raises(error):
        Tensor.from_numpy(device, floats(4, 5))[index]


def test_views_of_tensors(m, device):
    a = floats(2, 3, 4)
    t = Tensor.from_numpy(device, a)
    assert np.array_equal(t.view((6, 4)).to_numpy(), a.reshape(6, 4)) and np.array_equal(t.view((4, 2), (1, 4), 2).to_numpy(), np.lib.stride_tricks.as_strided(a.ravel()[2:], (4, 2), (4, 16)))
    assert np.array_equal(Tensor.from_numpy(device, a[:, :1]).broadcast_to((5, 2, 3, 4)).to_numpy(), np.broadcast_to(a[:, :1], (5, 2, 3, 4)))
    assert t.strides == (12, 4, 1) and t.offset == 0 and t[1].offset == 12
    u = Tensor.zeros_like(t)
    u.copy_from_numpy(a)
    assert np.array_equal(u.to_numpy(), a)
    u.clear()
    assert not u.to_numpy().any()
    assert m.tensor_shape(t) == 234
    assert np.array_equal(m.from_tensor(t[1], spy.grid((3, 4)), _result="numpy"), a[1])
    assert np.array_equal(m.from_tensor(t, spy.int2(1, 2), _result="numpy"), a[:, 2, 1])


@pytest.mark.parametrize("array", [np.arange(6, dtype=d).reshape(2, 3) for d in (np.int8, np.uint8, np.int16, np.uint16, np.int32, np.uint32, np.int64, np.uint64, np.float16, np.float32, np.float64)],
                         ids=lambda a: str(a.dtype))
def test_arrays_keep_their_types(device, array):
    t = Tensor.from_numpy(device, array)
    assert t.to_numpy().dtype == array.dtype and np.array_equal(t.to_numpy(), array) and np.array_equal(t[1].to_numpy(), array[1])
    assert np.array_equal(Tensor.from_numpy(device, array.T).to_numpy(), array.T) and str(t) == str(array)


def test_buffers_of_n_dimensions(m, device):
    b = NDBuffer(device, dtype=m.Ray, shape=(3, 2))
    assert b.shape == (3, 2) and b.storage.struct_size == 24
    c = b.cursor()
    for i in range(6):
        c[i].write({"o": [i, 0, 0], "d": [0, i, 0]})
    c.apply()
    assert np.array_equal(m.Ray.at(b, 1.0, _result="numpy"), np.array([[i, i, 0] for i in range(6)]).reshape(3, 2, 3))
    d = NDBuffer(device, dtype=float, shape=(4,))
    d.copy_from_numpy(np.arange(4, dtype=np.float32))
    assert np.array_equal(m.add(d, d, _result="numpy"), [0, 2, 4, 6])


# >>derivatives


@pytest.mark.parametrize("shape", [(1,), (10,), (3, 4)])
def test_bwds_adds_gradients(m, device, shape):
    x, a = floats(*shape), floats(*shape)
    tx, ta = (Tensor.from_numpy(device, v).with_grads() for v in (x, a))
    out = m.poly(tx, ta, _result=Tensor.empty(device, shape, float).with_grads())
    assert np.allclose(out.to_numpy(), a * x * x + x)
    out.grad.copy_from_numpy(np.full(shape, 2, np.float32))
    for n in (1, 2):
        m.poly.bwds(tx, ta, out)
        assert np.allclose(tx.grad.to_numpy(), n * 2 * (2 * a * x + 1), rtol=1e-5) and np.allclose(ta.grad.to_numpy(), n * 2 * x * x, rtol=1e-5)
    tx.grad.clear()
    assert not tx.grad.to_numpy().any()


def test_bwds_sums_what_is_broadcast(m, device):
    x = floats(100)
    tx, k = Tensor.from_numpy(device, x), Tensor.from_numpy(device, np.array([0.5], np.float32)).with_grads()
    out = Tensor.empty(device, (100,), float).with_grads()
    out.grad.copy_from_numpy(np.ones(100, np.float32))
    m.poly.bwds(tx, k, out)
    assert k.grad.to_numpy()[0] == pytest.approx(float((x * x).sum()), rel=1e-4)


def test_bwds_of_pairs(m):
    x, a, y = spy.diffPair(3.0), spy.diffPair(2.0), spy.diffPair(0.0, 1.0)
    m.poly.bwds(x, a, y)
    assert (x.grad, a.grad) == (13.0, 9.0)
    v, r = spy.diffPair(spy.float3(3, 0, 4)), spy.diffPair(None, spy.float3(1, 0, 0))
    m.norm.bwds(v, r)
    assert np.allclose(list(v.grad), [16 / 125, 0, -12 / 125], atol=1e-6)
    p, seed = spy.diffPair(0.5), spy.diffPair(None, 1.0)
    m.chain.bwds(p, seed)
    assert p.grad == pytest.approx(math.exp(0.5) * (math.sin(0.5) + math.cos(0.5)), rel=1e-5)


def test_gradients_of_structs(m, device):
    rough, albedo = Tensor.from_numpy(device, floats(8)).with_grads(), Tensor.from_numpy(device, floats(8, 3)).with_grads()
    c = floats(8)
    out = Tensor.empty(device, (8,), float).with_grads()
    out.grad.copy_from_numpy(np.ones(8, np.float32))
    m.shade.bwds({"_type": "Material", "rough": rough, "albedo": albedo}, c, out)
    a = albedo.to_numpy()
    assert np.allclose(rough.grad.to_numpy(), c) and np.allclose(albedo.grad.to_numpy(), np.stack([a[:, 1], a[:, 0], 0 * c], -1))


def test_a_loop_of_descent_converges(m, device):
    target = floats(64)
    x = Tensor.zeros(device, (64,), float).with_grads()
    loss = Tensor.zeros(device, (64,), float).with_grads()
    loss.grad.copy_from_numpy(np.ones(64, np.float32))
    for _ in range(60):
        x.grad.clear()
        m.mse.bwds(x, target, loss)
        x.copy_from_numpy(x.to_numpy() - 0.1 * x.grad.to_numpy())
    assert np.abs(x.to_numpy() - target).max() < 1e-4


# >>buffers, dispatches


@pytest.mark.parametrize("n", [1, 31, 1000])
@pytest.mark.parametrize("how", ["kernel", "pass", "function", "vars"])
def test_dispatches(m, device, n, how):
    data = floats(n)
    b = device.create_buffer(data=data, usage=BufferUsage.unordered_access | BufferUsage.shader_resource, struct_size=4)
    if how == "function":
        m.cs.dispatch(spy.uint3(n, 1, 1), count=n, k=2.0, data=b)
    else:
        module = device.load_module_from_source("stranger_calls_raw", SOURCE)
        program = device.link_program([module], [module.entry_point("cs")])
        if how == "pass":
            pipeline = device.create_compute_pipeline(program)
            encoder = device.create_command_encoder()
            with encoder.begin_compute_pass() as p:
                root = p.bind_pipeline(pipeline)
                entry = spy.ShaderCursor(root).find_entry_point(0)
                entry.count, entry.k = n, 2.0
                entry["data"] = b
                p.dispatch([n, 1, 1])
            device.submit_command_buffer(encoder.finish())
        elif how == "vars":
            device.create_compute_kernel(program).dispatch([n, 1, 1], vars={}, count=n, k=2.0, data=b)
        else:
            device.create_compute_kernel(program).dispatch(thread_count=spy.uint3(n, 1, 1), count=n, k=2.0, data=b)
    assert np.allclose(b.to_numpy().view(np.float32), data * 2 + np.arange(n))


@pytest.mark.parametrize("w, h", [(1, 1), (33, 3), (64, 64)])
def test_functions_are_dispatched_raw(m, device, w, h):
    b = device.create_buffer(element_count=w * h, struct_size=4, usage=BufferUsage.unordered_access)
    m.raw2.dispatch([w, h, 1], data=b, width=w)
    y, x = np.mgrid[0:h, 0:w]
    assert np.array_equal(b.to_numpy().view(np.uint32).reshape(h, w), x + 1000 * y)


@pytest.mark.parametrize("memory", ["device_local", "upload", "read_back"])
@pytest.mark.parametrize("size", [4, 60, 4096])
def test_buffers_round_trip(device, memory, size):
    data = RNG.integers(0, 255, size, dtype=np.uint8)
    b = device.create_buffer(size=size, memory_type=spy.MemoryType[memory], usage=BufferUsage.copy_destination | BufferUsage.copy_source)
    b.copy_from_numpy(data)
    assert b.size == size and np.array_equal(b.to_numpy(), data) and b.desc.memory_type == spy.MemoryType[memory]


def test_buffers_as_arguments(m, device):
    data = floats(8)
    b = device.create_buffer(data=data, struct_size=4, usage=BufferUsage.shader_resource | BufferUsage.unordered_access)
    i = np.arange(8, dtype=np.int32)
    assert np.array_equal(m.take(b, i, _result="numpy"), data) and np.array_equal(m.deref(b, i, _result="numpy"), data)
    assert np.array_equal(m.deref(b.device_address, i, _result="numpy"), data)
    m.put(b, i, data * 3)
    assert np.array_equal(b.to_numpy().view(np.float32), data * 3)
    m.store(b, i, 1.0)
    assert np.array_equal(m.bytes_at(b, i, _result="numpy"), np.full(8, 0x3F800000))
    t = Tensor.from_numpy(device, data)
    assert np.array_equal(m.take(t.storage, i, _result="numpy"), data) and np.array_equal(m.take(t, i, _result="numpy"), data)
    m.append.set({"g_out": b})(i, data)
    assert np.array_equal(b.to_numpy().view(np.float32), data)
    m.to_tensor(t, i)
    assert np.array_equal(t.to_numpy(), data + i.astype(np.float32))


def test_copies_between_buffers(device):
    a = device.create_buffer(data=np.arange(16, dtype=np.uint32), usage=BufferUsage.copy_source)
    b = device.create_buffer(size=64, usage=BufferUsage.copy_destination | BufferUsage.copy_source)
    e = device.create_command_encoder()
    e.clear_buffer(b)
    e.copy_buffer(b, 8, a, 16, 24)
    e.upload_buffer_data(b, 0, np.array([77], np.uint32))
    device.submit_command_buffer(e.finish())
    assert b.to_numpy().view(np.uint32).tolist() == [77, 0, 4, 5, 6, 7, 8, 9] + [0] * 8


@pytest.mark.parametrize("own", [True, False])
def test_buffer_cursors(m, device, own):
    layout = m.layout.get_type_layout(m.layout.find_type_by_name("StructuredBuffer<Node>")).element_type_layout
    buffer = None if own else device.create_buffer(element_count=3, struct_size=layout.stride, usage=BufferUsage.shader_resource)
    c = spy.BufferCursor(device.info.type, layout, 3) if own else spy.BufferCursor(layout, buffer, False)
    c[1]["r"]["o"] = [1, 2, 3]
    c[1].w = [4, 5, 6]
    c[1].w[2] = 7
    c[1].m = np.array([[1, 2, 0], [3, 4, 0]], np.float32)
    c[1]["h"].write({"valid": True, "uv": (8, 9)})
    c[2] = {"r": {"d": spy.float3(5)}}
    got = c[1].read()
    assert got["r"]["o"] == [1, 2, 3] and got["w"] == [4, 5, 7] and got["m"] == spy.float2x3([1, 2, 0, 3, 4, 0]) and got["h"]["valid"] is True and got["h"]["uv"] == [8, 9]
    assert c[2].r.d.read() == [5, 5, 5] and len(c) == 3 and c.element_count == 3 and not c[0].find_field("zzz").is_valid()
    if not own:
        c.apply()
        again = spy.BufferCursor(layout, buffer)
        assert again[1].h.uv.read() == [8, 9] and again.is_loaded


# >>sessions, reflection, misc


def test_programs_link_exports(device):
    a = device.load_module_from_source("stranger_a", "extern static const int N; [shader(\"compute\")] [numthreads(N, 1, 1)] void go(uint3 t : SV_DispatchThreadID, RWStructuredBuffer<int> o) { o[t.x] = N; }")
    b = device.load_module_from_source("stranger_b", "export static const int N = 16;")
    program = device.link_program([a, b], [a.entry_point("go")])
    assert program.layout.entry_points[0].compute_thread_group_size == spy.uint3(16, 1, 1)
    o = device.create_buffer(element_count=16, struct_size=4, usage=BufferUsage.unordered_access)
    device.create_compute_kernel(program).dispatch([16, 1, 1], o=o)
    assert set(o.to_numpy().view(np.int32)) == {16}


def test_entry_points_are_specialized_and_renamed(device):
    module = device.load_module_from_source("stranger_generic", "interface IOp { static int f(int x); }\nstruct Inc : IOp { static int f(int x) { return x + 1; } }\nstruct Neg : IOp { static int f(int x) { return -x; } }\n"
                                            "[shader(\"compute\")] [numthreads(4, 1, 1)] void go<T : IOp, let K : int>(uint3 t : SV_DispatchThreadID, RWStructuredBuffer<int> o) { o[t.x] = T.f(int(t.x)) * K; }")
    entry = module.entry_point("go")
    for type, k, expected in (("Inc", "2", [2, 4, 6, 8]), ("Neg", "3", [0, -3, -6, -9])):
        e = entry.specialize([spy.SpecializationArg.from_type(type), spy.SpecializationArg.from_expr(k)])
        o = device.create_buffer(element_count=4, struct_size=4, usage=BufferUsage.unordered_access)
        device.create_compute_kernel(device.link_program([module], [e])).dispatch([4, 1, 1], o=o)
        assert o.to_numpy().view(np.int32).tolist() == expected
    assert [e.name for e in module.entry_points] == ["go"] and module.entry_points[0].stage == spy.ShaderStage.compute


def test_reflection_of_a_module(m):
    layout = m.layout
    ray = layout.find_type_by_name("Ray")
    assert list(ray.fields) == ["o", "d"] and ray.kind == spy.TypeReflection.Kind.struct
    f = layout.find_function_by_name("minmax")
    assert [p.name for p in f.parameters] == ["a", "b", "lo", "hi"] and f.parameters[2].has_modifier(spy.ModifierID.out)
    assert layout.find_type_by_name("Nope") is None and layout.find_function_by_name("nope") is None
    assert layout.find_function_by_name_in_type(ray, "at").return_type.full_name == "vector<float,3>"
    assert m.find_function("nope") is None and m.find_struct("Nope") is None and m.find_function_in_struct("Ray", "at") is not None
    with pytest.raises(AttributeError):
        m.nope
    with pytest.raises(ValueError):
        m.require_function("nope")


@pytest.mark.parametrize("source", ["float f( { return 1; }", "int f() { return nope; }", "struct { }; }"])
def test_compile_errors_are_slang_compile_errors(device, source):
    with pytest.raises(spy.SlangCompileError):
        device.load_module_from_source("stranger_bad_" + str(abs(hash(source))), source)


def test_missing_files_and_include_paths(device, tmp_path):
    with pytest.raises(Exception):
        device.load_module("no_such_module_anywhere.slang")
    (tmp_path / "lib.slang").write_text("public float lib_value() { return LIB; }")
    (tmp_path / "main.slang").write_text('import lib; float f() { return lib_value(); }')
    session = device.create_slang_session(compiler_options={"include_paths": [tmp_path], "defines": {"LIB": "2.5"}})
    module = session.load_module("main.slang")
    assert spy.Module(module).f() == 2.5
    assert "lib_value" in session.load_source("main.slang")


def test_hot_reload_changes_functions(device, tmp_path):
    path = tmp_path / "reloaded.slang"
    path.write_text("float f() { return 1; }")
    module = spy.Module.load_from_file(device, str(path))
    assert module.f() == 1
    path.write_text("float f() { return 2; } float g(float x) { return x; }")
    device.reload_all_programs()
    assert module.f() == 2 and module.g(3.0) == 3


def test_queries_fences_and_submits(m, device):
    pool = device.create_query_pool(type=spy.QueryType.timestamp, count=4)
    fence = device.create_fence()
    t = Tensor.zeros(device, (1000,), float)
    e = device.create_command_encoder()
    e.write_timestamp(pool, 0)
    m.add(t, 1.0, _result=Tensor.empty(device, (1000,), float), _append_to=e)
    e.write_timestamp(pool, 1)
    device.submit_command_buffers([e.finish()], signal_fences=[fence], signal_fence_values=[5])
    fence.wait(5)
    times = pool.get_results(0, 2)
    assert fence.current_value == 5 and times[1] >= times[0] and pool.get_timestamp_results(0, 2)[0] >= 0
    device.wait_for_idle()


def test_logger_collects_lines(tmp_path):
    lines = []

    class Mine(spy.LoggerOutput):
        def write(self, level, name, msg):
            lines.append((level, name, msg))

    logger = spy.Logger(spy.LogLevel.info, "mine", use_default_outputs=False)
    logger.add_output(Mine())
    logger.add_file_output(tmp_path / "log.txt")
    logger.debug("hidden")
    logger.info("shown")
    logger.warn_once("once")
    logger.warn_once("once")
    assert [(l, msg) for l, _, msg in lines] == [(spy.LogLevel.info, "shown"), (spy.LogLevel.warn, "once")]
    assert "shown" in (tmp_path / "log.txt").read_text()


def test_printing_of_shaders(m, device, capsys):
    spy.set_print_generated_shaders(True)
    try:
        module = spy.Module.load_from_source(device, "stranger_print", "float unseen(float x) { return x * 7; }")
        module.unseen(1.0)
    finally:
        spy.set_print_generated_shaders(False)
    assert "GENERATED SHADER: stranger_print::unseen" in capsys.readouterr().out


def test_a_device_that_prints_has_nothing_to_say_at_first():
    d = spy.create_device(enable_print=True)
    try:
        module = d.load_module_from_source("stranger_printer", "import \"slangpy\"; [shader(\"compute\")] [numthreads(1, 1, 1)] void go(uint3 t : SV_DispatchThreadID) { }")
        assert d.flush_print_to_string() == "" and module.name == "stranger_printer"
    finally:
        d.close()


def test_debug_build_call_data(m):
    data = m.add.debug_build_call_data(1.0, 2.0)
    assert "add" in data.code and data is m.add.debug_build_call_data(3.0, 4.0)


@pytest.mark.parametrize("text", ["", "abc", "slang" * 100])
def test_hashes(text):
    import hashlib
    assert spy.SHA1(text).hex_digest() == hashlib.sha1(text.encode()).hexdigest() and spy.SHA1().update(text).digest() == hashlib.sha1(text.encode()).digest()


def test_objects_die_with_their_last_reference(device):
    import weakref
    b = device.create_buffer(size=16, usage=BufferUsage.shader_resource)
    r = weakref.ref(b)
    del b
    gc.collect()
    assert r() is None


@pytest.mark.parametrize("call", [lambda d: d.create_buffer(), lambda d: d.create_buffer(size=-4), lambda d: d.create_buffer(size=16, data=np.zeros(3, np.float32)),
                                  lambda d: d.create_buffer(element_count=4), lambda d: d.create_fence(nope=1), lambda d: d.create_compute_pipeline(None),
                                  lambda d: d.load_program("nope", ["x"]), lambda d: d.create_query_pool(spy.QueryType.timestamp, 0)])
def test_mistakes_of_devices_raise(device, call):
    with pytest.raises((RuntimeError, ValueError, TypeError)):
        call(device)


@pytest.mark.parametrize("call", [lambda m: m.add(), lambda m: m.add(1), lambda m: m.add(1, 2, 3), lambda m: m.add(1, c=2), lambda m: m.add("a", 1), lambda m: m.add(None, 1),
                                  lambda m: m.add({"x": 1}, 2), lambda m: m.scaled(1.0, _result="nonsense"), lambda m: m.trace({"o": 1}, 2, 3), lambda m: m.trace({"bad": 1, "o": [1, 2, 3], "d": [1, 2, 3]}, 1.0),
                                  lambda m: m.pick([1.0, 2.0], 0), lambda m: m.flip("x"), lambda m: m.add(np.zeros(3, np.complex64), 1), lambda m: m.take(3, 0), lambda m: m.big(2.5),
                                  lambda m: m.nothing(_append_to=3), lambda m: m.add.dispatch([1, 1, 1]), lambda m: m.minmax.dispatch([1, 1, 1]), lambda m: m.add.map((0,))(1.0, 2.0), lambda m: m.poly.bwds(1.0),
                                  lambda m: m.count.bwds(), lambda m: m.Ray(1.0), lambda m: m.nothing(_thread_count=0), lambda m: m.add(floats(3), 1.0, _thread_count=4)])
def test_mistakes_of_calls_raise(m, call):
    with pytest.raises(Exception) as info:
        call(m)
    assert str(info.value)
    assert m.add(1, 2) == 3

"""Functional calls: values in, values out, shapes, results."""
import numpy as np

from cases import case, each, error, fails, load, random

BASIC = """
import slangpy;
float add(float a, float b) { return a + b; }
int add_ints(int a, int b) { return a + b; }
uint add_uints(uint a, uint b) { return a + b; }
double add_doubles(double a, double b) { return a + b; }
half add_halves(half a, half b) { return a + b; }
int64_t add_longs(int64_t a, int64_t b) { return a + b; }
uint64_t add_ulongs(uint64_t a, uint64_t b) { return a + b; }
bool both(bool a, bool b) { return a && b; }
bool less(float a, float b) { return a < b; }
float2 pair(float a, float b) { return float2(a, b); }
float3 scaled(float3 v, float s) { return v * s; }
float dot3(float3 a, float3 b) { return dot(a, b); }
int3 ints3(int a) { return int3(a, a + 1, a + 2); }
float2x2 matrix2(float a) { return float2x2(a, a + 1, a + 2, a + 3); }
float4 apply(float4x4 m, float4 v) { return mul(m, v); }
float3x4 narrow(float3x4 m) { return m * 2; }
float[3] array3(float a) { return { a, 2 * a, 3 * a }; }
float sum3(float a[3]) { return a[0] + a[1] + a[2]; }
float sum22(float a[2][2]) { return a[0][0] + 10 * a[0][1] + 100 * a[1][0] + 1000 * a[1][1]; }
float first2(float2 a[2]) { return a[0].x + 10 * a[0].y + 100 * a[1].x + 1000 * a[1].y; }
void nothing(float a) { }
void output(float a, out float b) { b = 2 * a; }
void both_ways(inout float a) { a = a + 1; }
float side(float a, out float b) { b = a * 2; return a * 3; }
int16_t add_shorts(int16_t a, int16_t b) { return a + b; }
uint8_t add_bytes(uint8_t a, uint8_t b) { return a + b; }
int8_t add_chars(int8_t a, int8_t b) { return a + b; }
uint16_t add_ushorts(uint16_t a, uint16_t b) { return a + b; }
bool3 flags(bool3 a) { return !a; }
half3 half_vector(half3 a) { return a * 2.0h; }
float3 color(float3 a, float3 b) { return a * b; }
"""


@case
def scalars(spy, device):
    m = load(spy, device, BASIC)
    return each(f=lambda: m.add(1.5, 2), i=lambda: m.add_ints(3, 4), u=lambda: m.add_uints(3, 4), d=lambda: m.add_doubles(1.5, 2.25),
                h=lambda: m.add_halves(1.5, 2.25), l=lambda: m.add_longs(3, 4), ul=lambda: m.add_ulongs(3, 4), b=lambda: m.both(True, False),
                less=lambda: m.less(1.0, 2.0), s=lambda: m.add_shorts(3, 4), c=lambda: m.add_chars(-3, 1), by=lambda: m.add_bytes(200, 50),
                us=lambda: m.add_ushorts(3, 4))


@case
def types_of_scalar_results(spy, device):
    m = load(spy, device, BASIC)
    return each(f=lambda: type(m.add(1.5, 2)).__name__, i=lambda: type(m.add_ints(3, 4)).__name__, b=lambda: type(m.both(True, False)).__name__,
                h=lambda: type(m.add_halves(1.0, 2.0)).__name__, p=lambda: type(m.pair(1, 2)).__name__, m=lambda: type(m.matrix2(1)).__name__,
                a=lambda: type(m.array3(1.0)).__name__, n=lambda: type(m.nothing(1.0)).__name__, v=lambda: type(m.ints3(1)).__name__,
                fl=lambda: type(m.flags(spy.bool3(True, False, True))).__name__, hv=lambda: type(m.half_vector(spy.float16_t3(1, 2, 3))).__name__)


@case
def mixed_scalars(spy, device):
    m = load(spy, device, BASIC)
    return each(int_to_float=lambda: m.add(1, 2), bool_to_int=lambda: m.add_ints(True, 2), bool_to_float=lambda: m.add(True, 0.5),
                float_to_int=lambda: fails(m.add_ints, 1.5, 2), big=lambda: m.add_ints(2147483647, 0), negative_uint=lambda: fails(m.add_uints, -1, 0),
                text=lambda: fails(m.add, "a", 1.0), none=lambda: fails(m.add, None, 1.0), numpy_scalar=lambda: fails(m.add, np.float32(1), 1.0))


@case
def vectors(spy, device):
    m = load(spy, device, BASIC)
    return each(pair=lambda: m.pair(1, 2), scaled=lambda: m.scaled(spy.float3(1, 2, 3), 2.0), dot=lambda: m.dot3(spy.float3(1, 2, 3), spy.float3(4, 5, 6)),
                from_list=lambda: m.scaled([1.0, 2.0, 3.0], 2.0), from_ints=lambda: m.scaled([1, 2, 3], 2.0), i=lambda: m.ints3(5),
                fill=lambda: m.scaled(2.0, 3.0), b=lambda: m.flags(spy.bool3(True, False, True)), h=lambda: m.half_vector(spy.float16_t3(1, 2, 3)),
                wrong=lambda: fails(m.scaled, spy.float2(1, 2), 2.0), repr=lambda: repr(m.scaled(spy.float3(1, 2, 3), 2.0)),
                eq=lambda: m.scaled(spy.float3(1, 2, 3), 2.0) == spy.float3(2, 4, 6))


@case
def matrices(spy, device):
    m = load(spy, device, BASIC)
    a = spy.float4x4(np.arange(16, dtype=np.float32).reshape(4, 4))
    return each(m2=lambda: m.matrix2(1.0), apply=lambda: m.apply(a, spy.float4(1, 2, 3, 4)), narrow=lambda: m.narrow(spy.float3x4(np.arange(12, dtype=np.float32).reshape(3, 4))),
                n=lambda: m.matrix2(1.0).to_numpy(), from_numpy=lambda: m.apply(np.arange(16, dtype=np.float32).reshape(4, 4), spy.float4(1, 2, 3, 4)))


@case
def arrays(spy, device):
    m = load(spy, device, BASIC)
    return each(r=lambda: m.array3(2.0), s=lambda: m.sum3([1.0, 2.0, 3.0]), si=lambda: m.sum3([1, 2, 3]), s22=lambda: m.sum22([[1.0, 2.0], [3.0, 4.0]]),
                f2=lambda: m.first2([[1.0, 2.0], [3.0, 4.0]]), f2v=lambda: m.first2([spy.float2(1, 2), spy.float2(3, 4)]),
                short=lambda: fails(m.sum3, [1.0, 2.0]), n=lambda: m.sum3(np.array([1, 2, 3], np.float32)))


@case
def outputs_by_reference(spy, device):
    m = load(spy, device, BASIC)
    r, q, s = spy.floatRef(), spy.floatRef(4.0), spy.ValueRef(0.0)
    return each(none=lambda: m.output(3.0, r), r=lambda: r.value, inout=lambda: m.both_ways(q), q=lambda: q.value, both=lambda: m.side(2.0, s),
                s=lambda: s.value, missing=lambda: fails(m.output, 3.0), plain=lambda: fails(m.output, 3.0, 1.0), type=lambda: type(r.value).__name__)


@case
def numpy_arguments(spy, device):
    m = load(spy, device, BASIC)
    a, b = random(4, 5), random(4, 5, seed=2)
    return each(t=lambda: m.add(a, b), n=lambda: m.add(a, b, _result="numpy"), s=lambda: m.add(a, 1.0, _result="numpy"), shape=lambda: m.add(a, b).shape,
                row=lambda: m.add(a, b[0], _result="numpy"), one=lambda: m.add(a, b[:, :1].copy(), _result="numpy"), strided=lambda: m.add(a[:, ::2], b[:, ::2], _result="numpy"),
                turned=lambda: m.add(a.T, b.T, _result="numpy"), wrong=lambda: error(m.add, a, b[:3]), f64=lambda: fails(m.add, a.astype(np.float64), b),
                i32=lambda: fails(m.add, a.astype(np.int32), b), ints=lambda: m.add_ints(np.arange(4, dtype=np.int32), 1, _result="numpy"),
                empty=lambda: m.add(np.zeros((0,), np.float32), 1.0, _result="numpy"), flat=lambda: m.dot3(random(4, 3), random(4, 3, seed=3), _result="numpy"),
                vec=lambda: m.scaled(random(4, 3), 2.0, _result="numpy"), zero=lambda: fails(m.add, np.float32(1).reshape(()), 1.0))


@case
def numpy_of_every_type(spy, device):
    m = load(spy, device, BASIC)
    def go(f, dtype):
        a = np.array([1, 2, 3], dtype)
        return f(a, a, _result="numpy")
    return each(f=lambda: go(m.add, np.float32), d=lambda: go(m.add_doubles, np.float64), h=lambda: go(m.add_halves, np.float16), i=lambda: go(m.add_ints, np.int32),
                u=lambda: go(m.add_uints, np.uint32), l=lambda: go(m.add_longs, np.int64), ul=lambda: go(m.add_ulongs, np.uint64), s=lambda: go(m.add_shorts, np.int16),
                us=lambda: go(m.add_ushorts, np.uint16), c=lambda: go(m.add_chars, np.int8), by=lambda: go(m.add_bytes, np.uint8), b=lambda: go(m.both, np.bool_))


@case
def numpy_outputs(spy, device):
    m = load(spy, device, BASIC)
    a, b, c = random(8), np.zeros(8, np.float32), np.zeros(8, np.float32)
    m.output(a, b)
    r = m.side(a, c, _result="numpy")
    d = a.copy()
    m.both_ways(d)
    return b, c, r, d


@case
def result_kinds(spy, device):
    m = load(spy, device, BASIC)
    a = random(3, 4)
    t = spy.Tensor.empty(device, (3, 4), "float")
    n = np.zeros((3, 4), np.float32)
    return each(numpy=lambda: m.add(a, 1.0, _result="numpy"), tensor=lambda: m.add(a, 1.0, _result="tensor"), cls=lambda: m.add(a, 1.0, _result=spy.Tensor),
                npcls=lambda: m.add(a, 1.0, _result=np.ndarray), into=lambda: m.add(a, 1.0, _result=t), t=lambda: t, inton=lambda: m.add(a, 1.0, _result=n), n=lambda: n,
                wrong=lambda: error(m.add, a, 1.0, _result="nothing"), shape=lambda: fails(m.add, a, 1.0, _result=spy.Tensor.empty(device, (3, 5), "float")),
                same=lambda: m.add(a, 1.0, _result=t) is t, texture=lambda: m.add(a, 1.0, _result="texture"), rt=lambda: m.add.return_type("numpy")(a, 1.0),
                rtc=lambda: m.add.return_type(spy.Tensor)(a, 1.0), ref=lambda: m.add(1.0, 2.0, _result=spy.floatRef()), scalar_numpy=lambda: m.add(1.0, 2.0, _result="numpy"),
                scalar_tensor=lambda: m.add(1.0, 2.0, _result="tensor"), spread=lambda: m.add(1.0, 2.0, _result=t))


@case
def results_of_vectors(spy, device):
    m = load(spy, device, BASIC)
    a = random(4)
    return each(pair=lambda: m.pair(a, 2.0), pairn=lambda: m.pair(a, 2.0, _result="numpy"), dtype=lambda: m.pair(a, 2.0).dtype.full_name, m=lambda: m.matrix2(a, _result="numpy"),
                arr=lambda: m.array3(a, _result="numpy"), tex=lambda: m.pair(a, 2.0, _result="texture"), i3=lambda: m.ints3(np.arange(2, dtype=np.int32)),
                into=lambda: m.pair(a, 2.0, _result=spy.Tensor.empty(device, (4, 2), "float")), arrt=lambda: m.array3(a).dtype.full_name)


@case
def results_convert(spy, device):
    m = load(spy, device, BASIC)
    a = random(4) * 10
    return {d: error(lambda: m.add(a, 1.0, _result=spy.Tensor.empty(device, (4,), d))) for d in ("int", "uint", "half", "double", "float", "bool")}


@case
def keywords_and_positions(spy, device):
    m = load(spy, device, BASIC)
    return each(k=lambda: m.pair(b=1.0, a=2.0), mixed=lambda: m.pair(2.0, b=1.0), twice=lambda: fails(m.pair, 2.0, a=1.0), unknown=lambda: fails(m.pair, 2.0, c=1.0),
                few=lambda: fails(m.pair, 2.0), many=lambda: fails(m.pair, 1.0, 2.0, 3.0), call=lambda: m.pair.call(1.0, 2.0), arr=lambda: m.pair(a=random(2), b=1.0))


@case
def lists_as_arguments(spy, device):
    m = load(spy, device, BASIC)
    return each(vector=lambda: m.scaled([1, 2, 3], 2.0), over=lambda: m.add([1.0, 2.0, 3.0], 1.0), overn=lambda: m.add([1.0, 2.0, 3.0], 1.0, _result="numpy"),
                ints=lambda: m.add_ints([1, 2, 3], 1, _result="numpy"), vectors=lambda: m.scaled([spy.float3(1, 2, 3), spy.float3(4, 5, 6)], 2.0, _result="numpy"),
                nested=lambda: fails(m.scaled, [[1, 2, 3], [4, 5, 6]], 2.0), tuple=lambda: fails(m.scaled, (1.0, 2.0, 3.0), 2.0), empty=lambda: fails(m.add, [], 1.0))


@case
def ranges(spy, device):
    m = load(spy, device, BASIC)
    return each(r=lambda: m.add_ints(range(5), 1, _result="numpy"), step=lambda: m.add_ints(range(2, 10, 3), 1, _result="numpy"), a=lambda: m.add_ints(range(4), np.arange(4, dtype=np.int32), _result="numpy"),
                f=lambda: fails(m.add, range(4), 1.0))


@case
def vectors_as_dimensions(spy, device):
    m = load(spy, device, BASIC)
    return each(v=lambda: m.add(spy.float3(1, 2, 3), spy.float3(1, 1, 1)), vn=lambda: m.add(spy.float3(1, 2, 3), 1.0, _result="numpy"))


@case
def tensors_of_vectors(spy, device):
    m = load(spy, device, BASIC)
    t = spy.Tensor.empty(device, (4,), m.float3)
    t.copy_from_numpy(random(4, 3))
    u = spy.Tensor.from_numpy(device, random(4, 3))
    return each(t=lambda: m.scaled(t, 2.0, _result="numpy"), u=lambda: m.scaled(u, 2.0, _result="numpy"), dot=lambda: m.dot3(t, u, _result="numpy"),
                result=lambda: m.scaled(t, 2.0).dtype.full_name, one=lambda: m.color(t, spy.float3(1, 2, 3), _result="numpy"),
                trailing=lambda: fails(m.scaled, spy.Tensor.from_numpy(device, random(4, 2)), 2.0))


@case
def tensors_of_matrices(spy, device):
    m = load(spy, device, BASIC)
    a = random(3, 4, 4)
    t = spy.Tensor.empty(device, (3,), m.float4x4)
    t.copy_from_numpy(a)
    return each(t=lambda: m.apply(t, spy.float4(1, 2, 3, 4), _result="numpy"), n=lambda: m.apply(a, spy.float4(1, 2, 3, 4), _result="numpy"), b=lambda: t.to_numpy(),
                both=lambda: m.apply(t, random(3, 4, seed=5), _result="numpy"))


@case
def call_shapes_of_three_dimensions(spy, device):
    m = load(spy, device, BASIC)
    a, b = random(2, 3, 4), random(3, 1)
    return each(s=lambda: m.add(a, b).shape, v=lambda: m.add(a, b, _result="numpy"), five=lambda: m.add(random(2, 1, 2, 1, 3), random(2, 1, 2, 1)).shape)


@case
def strict_broadcasting(spy, device):
    m = load(spy, device, BASIC, options={"strict_broadcasting": True})
    a, b = random(3, 4), random(4)
    return each(strict=lambda: error(m.add, a, b), same=lambda: m.add(a, a, _result="numpy"), scalar=lambda: m.add(a, 1.0, _result="numpy"), one=lambda: m.add(a, random(1, 4), _result="numpy"))


@case
def names_of_a_module(spy, device):
    m = load(spy, device, BASIC)
    return each(name=lambda: m.name == m.device_module.name, attr=lambda: error(lambda: m.missing), item=lambda: error(lambda: m["missing"]), find=lambda: m.find_function("missing"),
                require=lambda: error(m.require_function, "missing"), rs=lambda: error(m.require_struct, "missing"), fs=lambda: m.find_struct("missing"), fn=lambda: m.add.name,
                same=lambda: m.add is m.add, item_same=lambda: m["add"].name, type=lambda: type(m.add).__name__, t=lambda: type(m.float3).__name__, f3=lambda: m.float3.full_name, i=lambda: m["int[3]"].full_name)


@case
def encoders_collect_calls(spy, device):
    m = load(spy, device, BASIC)
    a, b = spy.Tensor.from_numpy(device, random(8)), spy.Tensor.zeros(device, (8,), "float")
    e = device.create_command_encoder()
    r1 = m.add.append_to(e, a, 1.0, _result=b)
    r2 = m.add(b, 1.0, _result=b, _append_to=e) if False else m.add(a, b, _result=a, _append_to=e)
    device.submit_command_buffer(e.finish())
    return r1, r2, a, b, fails(m.add.append_to, e, a, 1.0, _result=b)


@case
def thread_counts(spy, device):
    m = load(spy, device, """
import slangpy;
void count(RWStructuredBuffer<int> out, int a) { int at; InterlockedAdd(out[0], a, at); }
""")
    b = device.create_buffer(element_count=4, struct_size=4, data=np.zeros(4, np.int32), usage=spy.BufferUsage.unordered_access | spy.BufferUsage.shader_resource)
    m.count(b, 2, _thread_count=100)
    return each(v=lambda: b.to_numpy().view(np.int32)[0], zero=lambda: error(m.count, b, 2, _thread_count=0), neg=lambda: error(m.count, b, 2, _thread_count=-1),
                vec=lambda: error(m.count, b, np.arange(4, dtype=np.int32), _thread_count=10), one=lambda: m.count(b, 1), after=lambda: b.to_numpy().view(np.int32)[0])


@case
def large_calls(spy, device):
    m = load(spy, device, BASIC)
    a = np.arange(3000000, dtype=np.int32)
    r = m.add_ints(a, 1, _result="numpy")
    return bool((r == a + 1).all()), r.shape


@case
def map_by_position(spy, device):
    m = load(spy, device, BASIC)
    a, b, c = random(3), random(4), random(3, 4)
    return each(outer=lambda: m.add.map((0,), (1,))(a, b, _result="numpy"), turned=lambda: m.add.map((1, 0))(c, 1.0, _result="numpy"), second=lambda: m.add.map((1,))(a, 1.0).shape,
                kw=lambda: m.add.map(a=(0,), b=(1,))(a=a, b=b, _result="numpy"), kw_pos=lambda: error(m.add.map(a=(0,)), a, 1.0), none=lambda: m.add.map((0,))(a, 1.0, _result="numpy"),
                many=lambda: error(m.add.map((0, 1)), a, 1.0), mixed=lambda: m.add.map((0,), b=(1,))(a, b=b, _result="numpy"), nonep=lambda: error(m.add.map(None, (1,)), a, b))


@case
def map_by_type(spy, device):
    m = load(spy, device, BASIC)
    a = random(4, 3)
    return each(name=lambda: m.scaled.map("float3")(a, 2.0, _result="numpy"), struct=lambda: m.scaled.map(m.float3)(a, 2.0, _result="numpy"), py=lambda: m.add.map(float)(a, 1.0, _result="numpy"),
                dims=lambda: m.scaled.map((0,))(a, 2.0, _result="numpy"), whole=lambda: m.sum3.map(())(np.array([1, 2, 3], np.float32)), arr=lambda: m.sum3(a, _result="numpy"),
                arr1=lambda: m.sum3.map((0,))(a, _result="numpy"), mixed=lambda: m.scaled.map("float3", (1,))(a, random(2), _result="numpy"))


GENERIC = """
import slangpy;
T twice<T : IArithmetic>(T a) { return a + a; }
float total<let N : int>(float a[N]) { float r = 0; for (int i = 0; i < N; i++) r += a[i]; return r; }
int length_of<let N : int>(vector<float, N> a) { return N; }
vector<float, N> same<let N : int>(vector<float, N> a) { return a; }
int pick<let N : int>(int a) { return a * N; }
struct Box<T : __BuiltinArithmeticType> { T a; T get() { return a; } }
T unbox<T : __BuiltinArithmeticType>(Box<T> b) { return b.a; }
"""


@case
def generics(spy, device):
    m = load(spy, device, GENERIC)
    return each(f=lambda: m.twice(1.5), i=lambda: m.twice(3), v=lambda: m.twice(spy.float3(1, 2, 3)), total=lambda: m.total([1.0, 2.0, 3.0, 4.0]), l=lambda: m.length_of(spy.float3(1, 2, 3)),
                s=lambda: m.same(spy.float2(1, 2)), spec=lambda: m["pick<4>"](3), name=lambda: m["twice<float>"].name, spec2=lambda: m["twice<float>"](2), n=lambda: m["twice<float>"](random(3), _result="numpy"),
                box=lambda: m["Box<float>"].full_name, unbox=lambda: m.unbox({"_type": "Box<float>", "a": 3.0}), nob=lambda: fails(m.unbox, {"a": 3.0}))


OVERLOADS = """
import slangpy;
int which(float a) { return 1; }
int which(float a, float b) { return 2; }
int which(int3 a) { return 3; }
int which(float4 a) { return 4; }
struct P { float x; }
int which(P p) { return 5; }
"""


@case
def overloads(spy, device):
    m = load(spy, device, OVERLOADS)
    return each(one=lambda: m.which(1.0), two=lambda: m.which(1.0, 2.0), three=lambda: m.which(spy.int3(1, 2, 3)), four=lambda: m.which(spy.float4(1, 2, 3, 4)),
                five=lambda: m.which({"_type": "P", "x": 1.0}), none=lambda: fails(m.which, spy.float2(1, 2), "x"), arr=lambda: m.which(random(3), _result="numpy"),
                arr2=lambda: m.which(random(3), 1.0, _result="numpy"), three_args=lambda: fails(m.which, 1.0, 2.0, 3.0))


CONSTANTS = """
import slangpy;
extern static const int count = 3;
extern static const float factor = 1.5;
extern static const bool on = false;
extern static const float3 shade = float3(1, 2, 3);
float f(float a) { return a * factor + count + (on ? 100 : 0); }
float3 g() { return shade; }
"""


@case
def link_time_constants(spy, device):
    m = load(spy, device, CONSTANTS)
    return each(default=lambda: m.f(2.0), count=lambda: m.f.constants({"count": 7})(2.0), factor=lambda: m.f.constants({"factor": 3.0})(2.0), on=lambda: m.f.constants({"on": True})(2.0),
                all=lambda: m.f.constants({"count": 1, "factor": 2.0, "on": True})(2.0), vec=lambda: m.g.constants({"shade": spy.float3(4, 5, 6)})(), g=lambda: m.g(),
                two=lambda: m.f.constants({"count": 1}).constants({"factor": 2.0})(2.0), bad=lambda: error(m.f.constants({"count": "x"}), 2.0), lst=lambda: error(m.f.constants({"count": [1]}), 2.0),
                arr=lambda: m.f.constants({"count": 1})(random(3), _result="numpy"), again=lambda: m.f(2.0))


GLOBALS = """
import slangpy;
struct Params { float k; int n; float3 c; }
ParameterBlock<Params> params;
uniform float scale;
StructuredBuffer<float> table;
float f(float a) { return a * scale; }
float g(float a) { return a * params.k + params.n; }
float h(int i) { return table[i]; }
float3 c() { return params.c; }
"""


@case
def globals_are_set(spy, device):
    m = load(spy, device, GLOBALS)
    b = device.create_buffer(element_count=4, struct_size=4, data=random(4), usage=spy.BufferUsage.shader_resource)
    calls = []
    def late(x):
        calls.append(type(x).__name__ != "NoneType")
        return {"scale": 5.0}
    late_f = m.f.set(late)
    return each(f=lambda: m.f.set(scale=3.0)(2.0), d=lambda: m.f.set({"scale": 3})(2.0), late=lambda: late_f(2.0), late2=lambda: late_f(3.0), n=lambda: len(calls),
                g=lambda: m.g.set({"params": {"k": 2.0, "n": 3}})(5.0), h=lambda: m.h.set(table=b)(np.arange(4, dtype=np.int32), _result="numpy"), c=lambda: m.c.set({"params": {"c": spy.float3(1, 2, 3)}})(),
                two=lambda: m.f.set(scale=3.0).set(scale=4.0)(2.0), none=lambda: error(lambda: m.f.set()), bad=lambda: error(lambda: m.f.set(1)), both=lambda: error(lambda: m.f.set({"scale": 1.0}, scale=2.0)),
                write=lambda: m.f.write(lambda c, v: c.write({"scale": v}), 7.0)(2.0), writeattr=lambda: m.f.write(lambda c: setattr(c, "scale", 8.0))(2.0))


@case
def preludes(spy, device):
    m = load(spy, device, CONSTANTS)
    return each(p=lambda: m.f.prelude("export static const int count = 9;")(2.0), none=lambda: m.f(2.0), bad=lambda: error(m.f.prelude("this is not slang;"), 2.0))


INTERFACES = """
import slangpy;
interface IShape { float area(); }
struct Square : IShape { float side; float area() { return side * side; } }
struct Circle : IShape { float r; float area() { return 3 * r * r; } }
float area_of<T : IShape>(T s) { return s.area(); }
float area_any(IShape s) { return s.area(); }
float sum_area<A : IShape, B : IShape>(A a, B b) { return a.area() + b.area(); }
float dynamic(int kind, float v) { let s = createDynamicObject<IShape>(kind, v); return s.area(); }
"""


@case
def interfaces(spy, device):
    m = load(spy, device, INTERFACES)
    sq, ci = {"_type": "Square", "side": 3.0}, {"_type": "Circle", "r": 2.0}
    return each(g=lambda: m.area_of(sq), any=lambda: m.area_any(sq), any2=lambda: m.area_any(ci), two=lambda: m.sum_area(sq, ci), arr=lambda: m.area_of({"_type": "Square", "side": random(3)}, _result="numpy"),
                no=lambda: fails(m.area_of, {"side": 3.0}), spec=lambda: m["area_of<Circle>"]({"r": 2.0}), wrong=lambda: fails(m.area_any, {"_type": "Missing", "r": 2.0}))


@case
def dynamic_dispatch(spy, device):
    m = load(spy, device, INTERFACES)
    f = m.dynamic.type_conformances([spy.TypeConformance("IShape", "Square", 0), spy.TypeConformance("IShape", "Circle", 1)])
    return each(sq=lambda: f(0, 3.0), ci=lambda: f(1, 2.0), arr=lambda: f(np.array([0, 1, 0, 1], np.int32), 2.0, _result="numpy"), without=lambda: fails(m.dynamic, 0, 1.0))


@case
def static_and_nested_types(spy, device):
    m = load(spy, device, """
import slangpy;
struct Outer { struct Inner { float a; float get() { return a; } static float make(float x) { return x * 2; } }; float b; static int seven() { return 7; } }
namespace ns { float f(float a) { return a + 1; } struct S { float x; }; }
""")
    return each(inner=lambda: m.Outer.Inner.name, full=lambda: m.Outer.Inner.full_name, get=lambda: m.Outer.Inner.get({"a": 3.0}), make=lambda: m.Outer.Inner.make(2.0), seven=lambda: m.Outer.seven(),
                item=lambda: m["Outer.Inner"].full_name, miss=lambda: error(lambda: m.Outer.missing), ns=lambda: m["ns.f"](1.0) if m.find_function("ns.f") else "none", s=lambda: m["ns.S"].full_name,
                as_struct=lambda: error(m.Outer.as_func), as_func=lambda: error(m.Outer.seven.as_struct))


ENUMS = """
import slangpy;
enum Color { red, green = 5, blue }
int number(Color c) { return (int)c; }
Color next(int a) { return (Color)(a + 1); }
struct WithEnum { Color c; int x; }
int of(WithEnum w) { return (int)w.c + w.x; }
"""


@case
def enums(spy, device):
    m = load(spy, device, ENUMS)
    return each(n=lambda: fails(m.number, 5), next=lambda: m.next(4), arr=lambda: fails(m.number, np.array([0, 5], np.int32), _result="numpy"))


POINTERS = """
import slangpy;
int load_from(int* p, int i) { return p[i]; }
void store_to(int* p, int i, int v) { p[i] = v; }
uint64_t address_of(int* p) { return (uint64_t)p; }
struct Node { int* p; int n; }
int sum_node(Node n) { int r = 0; for (int i = 0; i < n.n; i++) r += n.p[i]; return r; }
"""


@case
def pointers(spy, device):
    m = load(spy, device, POINTERS)
    usage = spy.BufferUsage.unordered_access | spy.BufferUsage.shader_resource
    b = device.create_buffer(element_count=8, struct_size=4, data=np.arange(8, dtype=np.int32), usage=usage)
    t = spy.Tensor.from_numpy(device, np.arange(10, 18, dtype=np.int32))
    i = np.arange(4, dtype=np.int32)
    return each(b=lambda: m.load_from(b, i, _result="numpy"), a=lambda: m.load_from(b.device_address, i, _result="numpy"), t=lambda: m.load_from(t, 3), st=lambda: m.load_from(t.storage, 3),
                s=lambda: m.store_to(b, i, 7), after=lambda: b.to_numpy().view(np.int32), off=lambda: m.load_from(b.device_address + 8, 4), node=lambda: m.sum_node({"p": b.device_address, "n": 8}),
                nodeb=lambda: m.sum_node({"p": b, "n": 4}), same=lambda: m.address_of(b.device_address) == b.device_address)


BUFFERS = """
import slangpy;
struct S { float a; int b; }
float read(StructuredBuffer<float> b, int i) { return b[i]; }
void write(RWStructuredBuffer<float> b, int i, float v) { b[i] = v; }
uint bytes(ByteAddressBuffer b, int i) { return b.Load(4 * i); }
void wbytes(RWByteAddressBuffer b, int i, uint v) { b.Store(4 * i, v); }
float readS(StructuredBuffer<S> b, int i) { return b[i].a + b[i].b; }
"""


@case
def buffers_as_arguments(spy, device):
    m = load(spy, device, BUFFERS)
    usage = spy.BufferUsage.unordered_access | spy.BufferUsage.shader_resource
    b = device.create_buffer(element_count=8, struct_size=4, data=random(8), usage=usage)
    ro = device.create_buffer(element_count=8, struct_size=4, data=random(8), usage=spy.BufferUsage.shader_resource)
    t = spy.Tensor.from_numpy(device, random(8))
    i = np.arange(8, dtype=np.int32)
    s = device.create_buffer(element_count=2, struct_size=8, data=np.array([1, 2, 3, 4], np.float32).view(np.uint8), usage=usage)
    return each(r=lambda: m.read(b, i, _result="numpy"), ro=lambda: m.read(ro, i, _result="numpy"), w=lambda: m.write(b, i, i.astype(np.float32)), after=lambda: b.to_numpy().view(np.float32),
                wro=lambda: fails(m.write, ro, 0, 1.0), t=lambda: m.read(t, i, _result="numpy"), tw=lambda: m.write(t, 0, 9.0), ta=lambda: t, by=lambda: m.bytes(b, i, _result="numpy"), wb=lambda: m.wbytes(b, 0, 5),
                wa=lambda: b.to_numpy().view(np.uint32)[0], s=lambda: m.readS(s, 0), st=lambda: m.read(t.storage, 2))


@case
def hot_functions_keep_their_caches(spy, device):
    m = load(spy, device, BASIC)
    a = spy.Tensor.from_numpy(device, random(16))
    total = []
    for i in range(20):
        total.append(float(m.add(a, float(i), _result="numpy").sum()))
    return total


@case
def debug_build(spy, device):
    m = load(spy, device, BASIC)
    d = m.add.debug_build_call_data(random(4), 1.0)
    e = m.add.debug_build_call_data(random(4), 2.0)
    return each(same=lambda: d is e, code=lambda: isinstance(d.code, str) and "add" in d.code, dims=lambda: d.call_dimensionality, args=lambda: len(d.debug_only_bindings.args),
                vt=lambda: d.debug_only_bindings.args[0].vector_type.full_name, vm=lambda: list(d.debug_only_bindings.args[0].vector_mapping), vt1=lambda: d.debug_only_bindings.args[1].vector_type.full_name,
                mode=lambda: d.call_mode, tg=lambda: list(d.call_group_shape) if d.call_group_shape.valid else None)


GROUPS = """
import slangpy;
uint3 where(uint2 t) { return uint3(t, 0); }
int flat(int2 c, uint t) { return c.x + 100 * c.y + 10000 * (int)t; }
int3 parts() { CallShapeInfo i = CallShapeInfo::get_call_id(); CallShapeInfo g = CallShapeInfo::get_call_group_id(); CallShapeInfo t = CallShapeInfo::get_call_group_thread_id();
  return int3(i.shape[0] * 100 + i.shape[1], g.shape[0] * 100 + g.shape[1], t.shape[0] * 100 + t.shape[1]); }
int rank() { return CallShapeInfo::get_call_id().dimensionality; }
"""


@case
def call_groups(spy, device):
    m = load(spy, device, GROUPS)
    Shape = spy.slangpy.Shape
    def go(shape, f=m.parts):
        out = spy.Tensor.zeros(device, (6, 10), "int3" if f is m.parts else "int")
        f.call_group_shape(Shape(shape))(_result=out)
        return out.to_numpy()
    def flat(shape):
        out = spy.Tensor.zeros(device, (4, 8), "int")
        m.flat.call_group_shape(Shape(shape))(spy.call_id(), spy.thread_id(), _result=out)
        return out.to_numpy()
    return each(none=lambda: m.parts(_result=spy.Tensor.zeros(device, (3, 4), "int3")), g48=lambda: go((2, 4)), odd=lambda: go((4, 3)), short=lambda: go((5,)), flat=lambda: flat((2, 4)), flat2=lambda: flat((4, 8)),
                many=lambda: fails(go, (1, 2, 2)), zero=lambda: fails(go, (0, 2)), rank=lambda: m.rank(_result=spy.Tensor.zeros(device, (2, 2, 2), "int")), big=lambda: fails(go, (64, 64)))


GENERATORS = """
import slangpy;
int[2] id_array(int[2] a) { return a; }
int2 id_vector(int2 a) { return a; }
int3 id3(int3 a) { return a; }
int id1(int a) { return a; }
uint u1(uint a) { return a; }
uint2 u2(uint2 a) { return a; }
uint3 u3(uint3 a) { return a; }
float f1(float a) { return a; }
float2 f2(float2 a) { return a; }
float3 f3(float3 a) { return a; }
"""


@case
def generators_ids(spy, device):
    m = load(spy, device, GENERATORS)
    def out(shape, d):
        return spy.Tensor.zeros(device, shape, d)
    return each(v=lambda: m.id_vector(spy.call_id(), _result=out((3, 4), "int2")), a=lambda: m.id_array(spy.call_id(), _result=out((3, 4), "int[2]")), one=lambda: m.id1(spy.call_id(), _result=out((5,), "int")),
                three=lambda: m.id3(spy.call_id(), _result=out((2, 2, 2), "int3")), dims=lambda: m.id_vector(spy.call_id((2, 3))), t=lambda: m.u1(spy.thread_id(), _result=out((40,), "uint")),
                t3=lambda: m.u3(spy.thread_id(), _result=out((40,), "uint3")), t2=lambda: m.u2(spy.thread_id(), _result=out((3, 3), "uint2")), wrong=lambda: error(m.id3, spy.call_id(), _result=out((3, 4), "int3")),
                tf=lambda: fails(m.f1, spy.thread_id(), _result=out((4,), "float")))


@case
def generators_grids(spy, device):
    m = load(spy, device, GENERATORS)
    return each(v=lambda: m.id_vector(spy.grid((3, 4))), a=lambda: m.id_array(spy.grid((3, 4)), _result="numpy"), off=lambda: m.id_vector(spy.grid((2, 2), offset=(10, 20)), _result="numpy"),
                stride=lambda: m.id_vector(spy.grid((2, 3), stride=(2, 3)), _result="numpy"), both=lambda: m.id_vector(spy.grid((2, 3), offset=(1, 1), stride=(2, 3)), _result="numpy"),
                one=lambda: m.id1(spy.grid((5,)), _result="numpy"), rank=lambda: m.id_vector(spy.grid(2), _result=spy.Tensor.zeros(device, (2, 3), "int2")),
                free=lambda: m.id_vector(spy.grid((-1, 3)), _result=spy.Tensor.zeros(device, (2, 3), "int2")), wrong=lambda: error(m.id_vector, spy.grid((2, 2, 2)), _result="numpy"),
                clash=lambda: fails(m.id_vector, spy.grid((2, 2)), _result=spy.Tensor.zeros(device, (3, 3), "int2")), off1=lambda: fails(spy.grid, (2, 2), offset=(1,)), u=lambda: m.u2(spy.grid((2, 2)), _result="numpy"),
                f=lambda: fails(m.f2, spy.grid((2, 2)), _result="numpy"))


@case
def generators_hashes(spy, device):
    m = load(spy, device, GENERATORS)
    def out(d, n=6):
        return spy.Tensor.zeros(device, (n,), d)
    return each(one=lambda: m.u1(spy.wang_hash(), _result=out("uint")), seed=lambda: m.u1(spy.wang_hash(seed=5), _result=out("uint")), two=lambda: m.u2(spy.wang_hash(), _result=out("uint2")),
                three=lambda: m.u3(spy.wang_hash(seed=9), _result=out("uint3")), warm=lambda: m.u1(spy.wang_hash(warmup=2), _result=out("uint")), raw=lambda: m.u1(spy.wang_hash(seed=7, hash_seed=False), _result=out("uint")),
                warm3=lambda: m.u3(spy.wang_hash(warmup=1), _result=out("uint3")), i=lambda: m.id1(spy.wang_hash(), _result=out("int")), dim=lambda: m.u2(spy.wang_hash(2), _result=out("uint2")),
                wrong=lambda: error(m.u2, spy.wang_hash(3), _result=out("uint2")), f=lambda: fails(m.f1, spy.wang_hash(), _result=out("float")), scalar=lambda: m.u1(spy.wang_hash(seed=3)))


@case
def generators_random(spy, device):
    m = load(spy, device, GENERATORS)
    def out(d, n=6):
        return spy.Tensor.zeros(device, (n,), d)
    return each(one=lambda: m.f1(spy.rand_float(), _result=out("float")), seed=lambda: m.f1(spy.rand_float(seed=5), _result=out("float")), two=lambda: m.f2(spy.rand_float(), _result=out("float2")),
                three=lambda: m.f3(spy.rand_float(-1, 1), _result=out("float3")), range=lambda: m.f1(spy.rand_float(10, 20, seed=1), _result=out("float")), warm=lambda: m.f1(spy.rand_float(warmup=2), _result=out("float")),
                raw=lambda: m.f1(spy.rand_float(seed=7, hash_seed=False), _result=out("float")), dim=lambda: m.f2(spy.rand_float(dim=2), _result=out("float2")), i=lambda: fails(m.id1, spy.rand_float(), _result=out("int")),
                scalar=lambda: m.f1(spy.rand_float(seed=3)), map=lambda: m.f1.map(float)(spy.rand_float(), _result=out("float")) if False else 0)


@case
def host_hashes(spy, device):
    from slangpy.types.wanghasharg import calc_wang_hash, calc_wang_hash_numpy
    return calc_wang_hash(1), calc_wang_hash(4000000000), calc_wang_hash_numpy(np.arange(5, dtype=np.uint32))


@case
def functions_with_tensors_whole(spy, device):
    m = load(spy, device, """
import slangpy;
float load2(Tensor<float, 2> t, int2 i) { return t[i]; }
float load_ij(Tensor<float, 2> t, int i, int j) { return t[i, j]; }
float load_a(Tensor<float, 2> t, int i[2]) { return t[i]; }
void store(RWTensor<float, 1> t, int i, float v) { t[i] = v; }
void wstore(WTensor<float, 1> t, int i, float v) { t.store(i, v); }
uint2 shape(Tensor<float, 2> t) { return uint2(t.shape[0], t.shape[1]); }
float row(Tensor<float, 1> t) { float r = 0; for (int i = 0; i < (int)t.shape[0]; i++) r += t[i]; return r; }
float any_row(ITensor<float, 1> t) { float r = 0; for (int i = 0; i < (int)t.shape[0]; i++) r += t.load(i); return r; }
float gen_row<T : ITensor<float, 1>>(T t) { float r = 0; for (int i = 0; i < (int)t.shape[0]; i++) r += t.load(i); return r; }
void atomic(AtomicTensor<float, 1> t, int i, float v) { t.add(i, v); }
float sampled(Tensor<float, 2> t, float2 uv) { return t.sample(uv); }
float generic_rank<let D : int>(Tensor<float, D> t) { return D; }
""")
    t = spy.Tensor.from_numpy(device, random(3, 4))
    z = spy.Tensor.zeros(device, (8,), "float")
    i8 = np.arange(8, dtype=np.int32)
    return each(v=lambda: m.load2(t, spy.int2(1, 2)), ij=lambda: m.load_ij(t, 2, 1), a=lambda: m.load_a(t, [2, 1]), store=lambda: m.store(z, i8, i8.astype(np.float32)), z=lambda: z, w=lambda: m.wstore(z, i8, 3.0), z2=lambda: z,
                shape=lambda: m.shape(t), row=lambda: m.row(t, _result="numpy"), row1=lambda: m.row(z), any=lambda: m.any_row(t, _result="numpy"), gen=lambda: m.gen_row(z), at=lambda: m.atomic(z, np.zeros(50, np.int32), 1.0), z3=lambda: z,
                sam=lambda: m.sampled(t, random(5, 2), _result="numpy"), rank=lambda: m.generic_rank(t), numpy=lambda: m.load2(random(3, 4), spy.int2(1, 2)), view=lambda: m.row(t[1]), viewc=lambda: m.shape(t[:, 1:3]),
                wrong=lambda: fails(m.load2, z, spy.int2(0, 0)), turned=lambda: m.load2(t.view((4, 3), (1, 4)), spy.int2(2, 1)))

"""Programs of other users, second set: options of calls, methods, generics, interfaces, structs, results and errors."""
import numpy as np

from cases import case, each, error, fails, load, random


def rw(spy):
    return spy.BufferUsage.shader_resource | spy.BufferUsage.unordered_access


SET = """
import slangpy;
struct Settings { float gain; int2 offset; float3 tint; bool on; float table[4]; };
uniform Settings settings;
uniform float scale;
uniform uint flags;
ParameterBlock<Settings> block;
cbuffer Camera { float4x4 view; float3 eye; };
StructuredBuffer<float> lut;
RWStructuredBuffer<float> log_;
float shade(float x) { return x * settings.gain + settings.offset.x + settings.tint.y + (settings.on ? 100 : 0) + settings.table[2]; }
float scaled(float x) { return x * scale + flags; }
float blocked(float x) { return x * block.gain + block.table[1]; }
float3 cam(float3 p) { return mul(view, float4(p, 1)).xyz - eye; }
float look(int i) { return lut[i]; }
void record(int i, float x) { log_[i] = x; }
"""


@case
def users2_set_in_every_form(spy, device):
    m = load(spy, device, SET)
    full = {"gain": 2.0, "offset": [3, 4], "tint": spy.float3(0, 5, 0), "on": True, "table": [1, 2, 3, 4]}
    view = spy.math.matrix_from_translation(spy.float3(1, 2, 3))
    lut = device.create_buffer(element_count=4, struct_size=4, data=np.array([1, 4, 9, 16], np.float32), usage=rw(spy))
    tensor = spy.Tensor.from_numpy(device, np.array([5, 6, 7], np.float32))
    out = spy.Tensor.zeros(device, (4,), "float")
    calls = []
    def hook(*args):
        calls.append(len(args))
        return {"scale": 4.0, "flags": 1}
    return each(full=lambda: m.shade.set({"settings": full})(1.0), kw=lambda: m.shade.set(settings=full)(2.0), ints=lambda: m.scaled.set(scale=2, flags=1)(3.0), hook=lambda: m.scaled.set(hook)(2.0), calls=lambda: calls,
                two=lambda: m.scaled.set(scale=2.0).set(flags=5)(1.0), later=lambda: m.scaled.set(scale=2.0, flags=0).set(scale=3.0)(1.0), mixed=lambda: m.scaled.set({"scale": 2.0}).set(hook)(1.0), block=lambda: m.blocked.set({"block": full})(2.0),
                block_np=lambda: m.blocked.set({"block": dict(full, table=np.array([1, 20, 3, 4], np.float32))})(2.0), cam=lambda: m.cam.set({"Camera": {"view": view, "eye": [1, 1, 1]}})(spy.float3(0)), cams=lambda: m.cam.set({"view": view, "eye": spy.float3(1, 1, 1)})(spy.float3(0)),
                lut=lambda: m.look.set(lut=lut)(np.arange(4, dtype=np.int32), _result="numpy"), lutt=lambda: m.look.set(lut=tensor.storage)(1), lutt2=lambda: m.look.set(lut=tensor)(2), log=lambda: m.record.set(log_=out.storage)(np.arange(4, dtype=np.int32), random(4)), logv=lambda: out,
                none=lambda: fails(m.scaled.set), pos2=lambda: fails(m.scaled.set, {"scale": 1.0}, {"flags": 2}), both=lambda: fails(m.scaled.set, {"scale": 1.0}, flags=2), text=lambda: fails(m.scaled.set, "scale"),
                arr=lambda: m.scaled.set(scale=2.0, flags=0)(random(5), _result="numpy"), base=lambda: m.scaled.set(scale=0.0, flags=7)(9.0), neg=lambda: fails(m.scaled.set(scale=1.0, flags=-1), 1.0), wrong=lambda: fails(m.scaled.set(scale=spy.float2(1, 2), flags=0), 1.0),
                txt=lambda: fails(m.scaled.set(scale="a", flags=0), 1.0), lst=lambda: m.cam.set({"view": np.eye(4, dtype=np.float32), "eye": np.array([1, 2, 3], np.float32)})(spy.float3(1, 2, 3)))


@case
def users2_write_by_cursors(spy, device):
    m = load(spy, device, SET)
    seen = []
    def plain(cursor):
        seen.append(type(cursor).__name__)
        cursor.scale = 3.0
        cursor["flags"] = 2
    def args(cursor, s, flags=0):
        cursor["scale"].write(s)
        cursor.flags.write(flags)
    def whole(cursor):
        cursor.settings.write({"gain": 2.0, "offset": spy.int2(1, 2), "tint": [0, 1, 0], "on": False, "table": [0, 0, 9, 0]})
    def parts(cursor):
        c = cursor.settings
        c.gain = 1.0
        c.offset = [10, 0]
        c["tint"] = spy.float3(0, 0.5, 0)
        c.on = True
        c.table[2] = 7.0
    return each(plain=lambda: m.scaled.write(plain)(2.0), again=lambda: m.scaled.write(plain)(3.0), seen=lambda: seen, args=lambda: m.scaled.write(args, 5.0, flags=1)(2.0), pos=lambda: m.scaled.write(args, 6.0, 2)(2.0), whole=lambda: m.shade.write(whole)(1.0), parts=lambda: m.shade.write(parts)(1.0),
                both=lambda: m.scaled.set(scale=9.0, flags=1).write(lambda c: c["scale"].write(2.0))(1.0), order=lambda: m.scaled.write(lambda c: c["scale"].write(2.0)).set(scale=9.0, flags=1)(1.0), bad=lambda: fails(m.scaled.write(lambda c: 1 / 0), 1.0), arr=lambda: m.scaled.write(plain)(random(3), _result="numpy"), none=lambda: fails(m.scaled.write, None))


@case
def users2_constants_of_every_kind(spy, device):
    m = load(spy, device, """
import slangpy;
extern static const int N = 2; extern static const float F = 1; extern static const bool B = false; extern static const float3 V = float3(1); extern static const uint U = 3; extern static const int2 I2 = int2(1, 2); extern static const bool2 BB = bool2(true, false);
float loop(float a) { float r = 0; for (int i = 0; i < N; i++) r += a; return r; }
float f(float a) { return B ? a * F : -a * F; }
float3 v(float a) { return V * a; }
uint u() { return U; }
int2 i2() { return I2; }
bool2 bb() { return BB; }
""")
    return each(d=lambda: [m.loop(1.0), m.f(1.0), m.v(1.0), m.u(), m.i2(), m.bb()], n=lambda: m.loop.constants({"N": 5})(2.0), zero=lambda: m.loop.constants({"N": 0})(2.0), f=lambda: m.f.constants({"F": 2.5, "B": True})(2.0), fi=lambda: m.f.constants({"F": 3})(2.0), bi=lambda: fails(m.f.constants({"B": 1}), 2.0),
                v=lambda: m.v.constants({"V": spy.float3(1, 2, 3)})(2.0), u=lambda: m.u.constants({"U": 7})(), i2=lambda: m.i2.constants({"I2": spy.int2(8, 9)})(), bb=lambda: m.bb.constants({"BB": spy.bool2(False, True)})(), chain=lambda: m.f.constants({"F": 2.5}).constants({"B": True})(2.0), over=lambda: fails(m.f.constants({"F": 2.5}).constants({"F": 4.0}), 2.0),
                lst=lambda: error(m.v.constants, {"V": [1, 2, 3]}), text=lambda: error(lambda: m.f.constants({"F": "2"})(1.0)), dict_=lambda: error(lambda: m.f.constants({"F": {"a": 1}})(1.0)), arr=lambda: m.loop.constants({"N": 3})(random(3), _result="numpy"), neg=lambda: m.loop.constants({"N": -1})(2.0), big=lambda: m.f.constants({"F": 1e20})(2.0), tiny=lambda: m.f.constants({"F": 1e-20})(2.0), inf=lambda: fails(m.f.constants({"F": float("inf")}), 2.0))


@case
def users2_return_types_of_every_kind(spy, device):
    m = load(spy, device, """
import slangpy;
struct P { float a; int b; };
float f(float a) { return a * 2; } float3 v(float a) { return float3(a, a + 1, a + 2); } int i(int a) { return a; } float2x3 mat(float a) { return float2x3(a, 1, 2, 3, 4, 5); } P p(float a) { P r; r.a = a; r.b = 3; return r; } bool b(float a) { return a > 0.5; } float[3] arr(float a) { float r[3] = { a, a, a }; return r; } void n(float a) {} half h(half a) { return a; } double d(double a) { return a; } uint8_t by(int a) { return (uint8_t)a; } int64_t l(int a) { return int64_t(a) << 33; }
""")
    a = random(3)
    def kinds(f, *args):
        return each(default=lambda: f(*args), numpy=lambda: f(*args, _result="numpy"), tensor=lambda: f(*args, _result="tensor"), np=lambda: f.return_type(np.ndarray)(*args), cls=lambda: f.return_type(spy.Tensor)(*args), name=lambda: f.return_type("numpy")(*args))
    return {"f0": kinds(m.f, 1.5), "f1": kinds(m.f, a), "v0": kinds(m.v, 1.5), "v1": kinds(m.v, a), "mat": kinds(m.mat, a), "arr": kinds(m.arr, a), "b": kinds(m.b, a), "h": kinds(m.h, a.astype(np.float16)), "d": kinds(m.d, a.astype(np.float64)), "by": kinds(m.by, np.arange(3, dtype=np.int32)), "l": kinds(m.l, np.arange(3, dtype=np.int32)), "l0": kinds(m.l, 3), "by0": kinds(m.by, 300)}


@case
def users2_return_types_of_structs(spy, device):
    m = load(spy, device, """
import slangpy;
struct P { float a; int b; float3 c; };
P p(float a) { P r; r.a = a; r.b = 3; r.c = float3(1, 2, a); return r; }
float get(P p) { return p.a + p.c.z; }
""")
    a = random(3)
    t = spy.Tensor.empty(device, (3,), m.P)
    ta, tb, tc = spy.Tensor.zeros(device, (3,), "float"), spy.Tensor.zeros(device, (3,), "int"), spy.Tensor.zeros(device, (3,), "float3")
    il = spy.InstanceList(m.P, {"a": ta, "b": tb, "c": tc})
    it = spy.InstanceTensor(m.P, (3,))
    ref = spy.ValueRef({"_type": "P", "a": 0.0, "b": 0, "c": spy.float3(0)})
    return each(s=lambda: m.p(2.0), keys=lambda: sorted(m.p(2.0)), ty=lambda: m.p(2.0).get("_type"), v=lambda: m.get(m.p(a), _result="numpy"), np=lambda: error(m.p, a, _result="numpy"), t=lambda: m.p(a, _result=t) is t, tv=lambda: m.get(t, _result="numpy"), d=lambda: m.p(a, _result={"a": ta, "b": tb, "c": tc}) is not None, da=lambda: [ta, tb, tc],
                il=lambda: m.p(a, _result=il) is il, ilv=lambda: m.get(il, _result="numpy"), it=lambda: m.p(a, _result=it) is it, itv=lambda: m.get(it, _result="numpy"), ref=lambda: m.p(4.0, _result=ref) is ref, refv=lambda: ref.value, plain=lambda: fails(m.p, 1.0, _result={"a": 0.0, "b": 0, "c": [0, 0, 0]}), part=lambda: fails(m.p, a, _result={"a": ta}), dn=lambda: m.p(a, _result={"a": np.zeros(3, np.float32), "b": tb, "c": tc})["a"],
                roundtrip=lambda: m.get(m.p(3.0)), shapes=lambda: m.p(a).to_numpy().shape, dt=lambda: m.p(a).dtype.full_name, cursor=lambda: m.p(a).cursor()[1].read(), itn=lambda: it.to_numpy().shape, ilf=lambda: type(il.a).__name__)


@case
def users2_call_groups_and_thread_ids(spy, device):
    m = load(spy, device, """
import slangpy;
int group(int2 c) { CallShapeInfo g = CallShapeInfo::get_call_group_id(); return g.shape[0] * 100 + g.shape[1]; }
int inside(int2 c) { CallShapeInfo g = CallShapeInfo::get_call_group_thread_id(); return g.shape[0] * 100 + g.shape[1]; }
int call(int2 c) { CallShapeInfo g = CallShapeInfo::get_call_id(); return g.shape[0] * 100 + g.shape[1]; }
int3 tid(uint3 t) { return int3(t); }
groupshared float shared[64];
int line(int i) { return i; }
""")
    z = lambda s, t="int": spy.Tensor.zeros(device, s, t)
    S = spy.slangpy.Shape
    def run(f, group, shape, a=None, t="int"):
        g = f if group is None else f.call_group_shape(group)
        return g(spy.call_id() if a is None else a, _result=z(shape, t)).to_numpy()
    return each(g=lambda: run(m.group, S(2, 4), (4, 8)), i=lambda: run(m.inside, S(2, 4), (4, 8)), c=lambda: run(m.call, S(2, 4), (4, 8)), odd=lambda: run(m.group, S(3, 3), (4, 5)), one=lambda: run(m.group, S(4), (4, 8)), none=lambda: run(m.group, None, (3, 3)), tup=lambda: fails(run, m.group, (2, 2), (4, 4)), lst=lambda: fails(run, m.group, [2, 2], (4, 4)),
                tid=lambda: run(m.tid, S(2, 2), (4, 4), spy.thread_id(), "int3"), tidn=lambda: run(m.tid, None, (2, 3), spy.thread_id(), "int3"), zero=lambda: fails(run, m.group, S(0, 2), (4, 4)), huge=lambda: fails(run, m.group, S(64, 64), (4, 4)), big=lambda: run(m.line, S(1024), (2000,)).sum(), three=lambda: run(m.call, S(1, 2, 2), (4, 4)) is None if False else 0,
                both=lambda: fails(lambda: m.line.call_group_shape(S(8)).thread_group_size(spy.uint3(8, 1, 1))(spy.call_id(), _result=z((16,)))), chain=lambda: m.line.call_group_shape(S(8)).return_type("numpy")(np.arange(10, dtype=np.int32)))


@case
def users2_thread_group_sizes_of_calls(spy, device):
    m = load(spy, device, "import slangpy;\nfloat f(float a) { return a + 1; }\n")
    a = random(100)
    return each(g=lambda: m.f.thread_group_size(spy.uint3(64, 1, 1))(a, _result="numpy"), one=lambda: m.f.thread_group_size(spy.uint3(1, 1, 1))(a, _result="numpy"), lst=lambda: fails(lambda: m.f.thread_group_size([32, 1, 1])(a, _result="numpy")), zero=lambda: fails(lambda: m.f.thread_group_size(spy.uint3(0, 1, 1))(a)), two=lambda: fails(lambda: m.f.thread_group_size(spy.uint3(8, 8, 1))(a, _result="numpy")), intv=lambda: fails(lambda: m.f.thread_group_size(32)(a)))


@case
def users2_bound_this_of_every_kind(spy, device):
    m = load(spy, device, """
import slangpy;
struct Counter { int n; float3 p;
  int get() { return n; }
  [mutating] void inc(int by) { n += by; }
  [mutating] int next() { n += 1; return n; }
  float3 pos(float s) { return p * s; }
  static int twice(int a) { return a * 2; }
  static Counter zero() { Counter c; c.n = 0; c.p = 0; return c; }
  Counter moved(float3 d) { Counter c; c.n = n; c.p = p + d; return c; }
  bool same(Counter o) { return n == o.n; } }
""")
    class Mine:
        def __init__(self):
            self.n, self.p, self.updates = 3, spy.float3(1, 2, 3), []
        def get_this(self):
            return {"n": self.n, "p": self.p, "_type": "Counter"}
        def update_this(self, value):
            self.updates.append(sorted(value))
            self.n = value["n"] if isinstance(value["n"], int) else self.n
    x = Mine()
    t = spy.Tensor.empty(device, (2,), m.Counter)
    t.cursor()[0].write({"n": 1, "p": [1, 1, 1]}) if False else None
    ref = spy.ValueRef({"_type": "Counter", "n": 10, "p": spy.float3(0)})
    il = spy.InstanceList(m.Counter, {"n": spy.Tensor.from_numpy(device, np.array([1, 2, 3], np.int32)), "p": spy.float3(1, 2, 3)})
    il2 = spy.InstanceList(m.Counter, {"n": spy.ValueRef(5), "p": spy.float3(0)})
    return each(bind=lambda: m.Counter.get.bind(x)(), pos=lambda: m.Counter.pos.bind(x)(2.0), posn=lambda: m.Counter.pos.bind(x)(random(3), _result="numpy"), up=lambda: x.updates, dict_=lambda: m.Counter.get({"n": 4, "p": [0, 0, 0]}), this_kw=lambda: fails(lambda: m.Counter.pos(_this={"n": 4, "p": [1, 1, 1]}, s=2.0)), this_pos=lambda: m.Counter.pos({"n": 4, "p": [1, 1, 1]}, s=2.0),
                inc_ref=lambda: m.Counter.inc(ref, 5), refv=lambda: ref.value["n"], next_ref=lambda: m.Counter.next(ref), refv2=lambda: ref.value["n"], il=lambda: il.get(_result="numpy"), ilinc=lambda: il.inc(10), iln=lambda: il.n, ilp=lambda: il.pos(2.0, _result="numpy"), il2=lambda: [il2.inc(2), il2.n.value, il2.get()], static=lambda: m.Counter.twice(4), statica=lambda: m.Counter.twice(np.arange(3, dtype=np.int32), _result="numpy"), ilstat=lambda: fails(lambda: il.twice(3)),
                zero=lambda: m.Counter.zero(), moved=lambda: m.Counter.moved({"n": 1, "p": [0, 0, 0]}, spy.float3(1, 2, 3)), same=lambda: m.Counter.same({"n": 1, "p": [0, 0, 0]}, {"n": 1, "p": [9, 9, 9]}), sames=lambda: il.same({"n": 12, "p": [0, 0, 0]}, _result="numpy"), dictinc=lambda: m.Counter.inc({"n": 1, "p": [0, 0, 0]}, 3), child=lambda: [m.Counter.get.name, type(m.Counter.get).__name__, m.Counter["get"].name], unk=lambda: error(lambda: il.nothing), few=lambda: fails(lambda: m.Counter.get()))


@case
def users2_structs_and_functions_as_each_other(spy, device):
    m = load(spy, device, "import slangpy;\nstruct S { float x; static float two() { return 2; } struct In { int k; }; }\nfloat f(S s) { return s.x; }\nenum E { a, b = 5 };\nnamespace sp { struct T { float q; }; float g(float a) { return a; } }\n")
    return each(af=lambda: m.f.as_func().name, as_=lambda: m.S.as_struct().name, bad=lambda: error(m.f.as_struct), bad2=lambda: error(m.S.as_func), inner=lambda: m.S.In.full_name, inner2=lambda: m["S.In"].name, inner3=lambda: m["S"]["In"].full_name, g=lambda: m["sp.g"](2.0), g2=lambda: fails(lambda: m.sp.g(2.0)), t=lambda: m["sp.T"].full_name, e=lambda: m.E.name, fl=lambda: m["float"].name, st=lambda: m.S.two(), tc=lambda: m.S.try_get_child("two").name, tcn=lambda: m.S.try_get_child("zip"), two=lambda: m["S.two"]() if False else 0, ptr=lambda: m["float*"].full_name, tens=lambda: m["Tensor<float,1>"].full_name, gen=lambda: m["vector<float,3>"].full_name, void=lambda: fails(lambda: m["void"].name), bad3=lambda: error(lambda: m["1 + 2"]), bad4=lambda: error(lambda: m[""]), num=lambda: fails(lambda: m[3]), dunder=lambda: error(lambda: m.__nothing__), eq=lambda: m.S == m.S, hash_=lambda: hash(m.S) == hash(m["S"]), fields=lambda: {k: v.full_name for k, v in ((k, f.type) for k, f in m.S.fields.items())}, shape=lambda: [m.S.shape, m.float3.shape, m["float[4]"].shape, m["float2x3"].shape], elem=lambda: [m.float3.element_type.full_name, m["float[4]"].element_type.full_name, m["float2x3"].element_type.full_name])


@case
def users2_generics_by_name(spy, device):
    m = load(spy, device, """
import slangpy;
interface IShape { float area(); static int sides(); }
struct Sq : IShape { float s; float area() { return s * s; } static int sides() { return 4; } }
struct Ci : IShape { float r; float area() { return r * r * 3; } static int sides() { return 0; } }
float area<T : IShape>(T t) { return t.area(); }
int sides<T : IShape>() { return T::sides(); }
float both<T : IShape, U : IShape>(T t, U u) { return t.area() + u.area(); }
float dyn(IShape s) { return s.area(); }
T make<T : IShape>(T t) { return t; }
int count<let N : int>() { return N * 2; }
int two<let N : int, let M : int>(int a) { return a * N + M; }
bool flag<let B : bool>() { return B; }
struct Holder<T, let N : int> { T items[N]; T get(int i) { return items[i]; } int size() { return N; } static int n() { return N; } }
float hsum(Holder<float, 3> h) { return h.items[0] + h.items[1] + h.items[2]; }
T hget<T, let N : int>(Holder<T, N> h, int i) { return h.items[i]; }
struct Pair<A, B> { A a; B b; }
B second<A, B>(Pair<A, B> p) { return p.b; }
T cast<T : __BuiltinArithmeticType>(int a) { return T(a); }
""")
    sq, ci = {"_type": "Sq", "s": 3.0}, {"_type": "Ci", "r": 2.0}
    h = {"_type": "Holder<float,3>", "items": [1, 2, 3]}
    return each(a=lambda: m.area(sq), b=lambda: m.area(ci), ab=lambda: m.both(sq, ci), spec=lambda: m["area<Sq>"]({"s": 4.0}), specs=lambda: m["sides<Sq>"](), specc=lambda: m["sides<Ci>"](), dyn=lambda: m.dyn(sq), mk=lambda: m.make(sq), n=lambda: m["count<5>"](), nm=lambda: m["two<2, 3>"](4), nm2=lambda: m["two<2,3>"](np.arange(3, dtype=np.int32), _result="numpy"), flag=lambda: fails(lambda: m["flag<true>"]()), hs=lambda: m.hsum({"items": [1, 2, 3]}), hg=lambda: m.hget(h, 1), hm=lambda: m["Holder<float,3>"].get(h, 2), hsz=lambda: m["Holder<float,3>"].size(h), hst=lambda: m["Holder<int,7>"].n(), pair=lambda: m.second({"_type": "Pair<int,float>", "a": 1, "b": 2.5}), cast=lambda: m["cast<float>"](3), castu=lambda: m["cast<uint>"](3), tens=lambda: m.area(spy.Tensor.empty(device, (3,), m.Sq)).shape, many=lambda: m.area({"_type": "Sq", "s": random(3)}, _result="numpy"), lst=lambda: m.area([sq, {"_type": "Sq", "s": 5.0}], _result="numpy"), no=lambda: fails(m.area, 1.0), noint=lambda: fails(m.area, {"_type": "Nope", "s": 1.0}), badspec=lambda: error(lambda: m["area<float>"]), badspec2=lambda: error(lambda: m["count<x>"]), nospec=lambda: fails(m.count), fn=lambda: [m["area<Sq>"].name, m["Holder<float,3>"].name, m["Holder<float,3>"].full_name, sorted(m["Holder<float,3>"].fields)])


@case
def users2_overloads_resolve(spy, device):
    m = load(spy, device, """
import slangpy;
int k(int a) { return 1; } int k(float a) { return 2; } int k(uint a) { return 3; } int k(double a) { return 4; } int k(bool a) { return 5; }
int v(float2 a) { return 2; } int v(float3 a) { return 3; } int v(float4 a) { return 4; } int v(float a) { return 1; }
int n(float a) { return 1; } int n(float a, float b) { return 2; } int n(float a, float b, float c) { return 3; }
int arr(float a[2]) { return 2; } int arr(float a[3]) { return 3; }
struct A { float x; }; struct B { float x; float y; };
int s(A a) { return 1; } int s(B b) { return 2; }
int mixed(int a, float b) { return 1; } int mixed(float a, int b) { return 2; }
int io(float a) { return 1; } void io(float a, out float b) { b = 2; }
int t(StructuredBuffer<float> b) { return 1; } int t(Tensor<float, 1> b) { return 2; } int t(float b) { return 3; }
""")
    ft, it = spy.Tensor.zeros(device, (3,), "float"), spy.Tensor.zeros(device, (3,), "int")
    r = spy.floatRef()
    return each(ki=lambda: m.k(1), kf=lambda: m.k(1.0), kb=lambda: m.k(True), kfa=lambda: m.k(random(2), _result="numpy"), kia=lambda: m.k(np.zeros(2, np.int32), _result="numpy"), kua=lambda: m.k(np.zeros(2, np.uint32), _result="numpy"), kda=lambda: m.k(np.zeros(2), _result="numpy"), kba=lambda: m.k(np.zeros(2, np.bool_), _result="numpy"), v2=lambda: m.v(spy.float2(1)), v3=lambda: m.v(spy.float3(1)), v4=lambda: m.v(spy.float4(1)), vl=lambda: m.v([1.0, 2.0, 3.0]), va=lambda: fails(m.v, random(5, 3)), vt=lambda: m.v(spy.Tensor.zeros(device, (2,), "float3"), _result="numpy"), n1=lambda: m.n(1.0), n2=lambda: m.n(1.0, 2.0), n3=lambda: m.n(1.0, 2.0, 3.0), n4=lambda: fails(m.n, 1.0, 2.0, 3.0, 4.0), a2=lambda: m.arr([1.0, 2.0]), a3=lambda: m.arr([1.0, 2.0, 3.0]), a4=lambda: fails(m.arr, [1.0] * 4), sa=lambda: m.s({"_type": "A", "x": 1.0}), sb=lambda: m.s({"_type": "B", "x": 1.0, "y": 1.0}), sn=lambda: fails(m.s, {"x": 1.0}), mx=lambda: m.mixed(1, 2.0), mx2=lambda: m.mixed(1.0, 2), mxa=lambda: fails(m.mixed, 1, 2), io1=lambda: m.io(1.0), io2=lambda: [m.io(1.0, r), r.value], tt=lambda: fails(m.t, ft), tb=lambda: m.t(device.create_buffer(element_count=4, struct_size=4, usage=rw(spy))), ts=lambda: m.t(1.0))


@case
def users2_out_and_inout_everywhere(spy, device):
    m = load(spy, device, """
import slangpy;
struct S { float a; int b; };
void o_i(out int a) { a = 7; } void o_v(out float3 a) { a = float3(1, 2, 3); } void o_m(out float2x2 a) { a = float2x2(1, 2, 3, 4); } void o_s(out S s) { s.a = 1.5; s.b = 2; } void o_a(out float a[3]) { a[0] = 1; a[1] = 2; a[2] = 3; } void o_b(out bool a) { a = true; } void o_h(out half a) { a = 1.5h; } void o_d(out double a) { a = 2.5; } void o_l(out int64_t a) { a = 1L << 40; } void o_u(out uint a) { a = 4000000000; }
void io_i(inout int a) { a *= 2; } void io_v(inout float3 a) { a *= 2; } void io_s(inout S s) { s.a += 1; s.b += 1; } void io_a(inout float a[3]) { a[1] = 9; } void io_x(inout float a, float b) { a += b; } void io_m(inout float2x2 a) { a = transpose(a); } void io_b(inout bool3 a) { a = !a; }
float oi(out int i, float a, inout float c) { i = int(a); c += a; return a * 2; }
""")
    R = spy.ValueRef
    def out(f, ref):
        f(ref)
        return ref.value, type(ref.value).__name__
    t = lambda s, d: spy.Tensor.zeros(device, s, d)
    def into(f, x):
        f(x)
        return x
    S0 = lambda: {"_type": "S", "a": 0.0, "b": 0}
    def three():
        i, c = spy.intRef(), spy.floatRef(1.0)
        return m.oi(i, 2.5, c), i.value, c.value
    def threes():
        i, c = t((4,), "int"), spy.Tensor.from_numpy(device, random(4))
        return m.oi(i, random(4) * 5, c, _result="numpy"), i, c
    return each(i=lambda: out(m.o_i, R(0)), v=lambda: out(m.o_v, R(spy.float3())), mm=lambda: out(m.o_m, R(spy.float2x2())), s=lambda: out(m.o_s, R(S0())), a=lambda: fails(out, m.o_a, R([0.0, 0.0, 0.0])), b=lambda: out(m.o_b, R(False)), h=lambda: out(m.o_h, R(0.0)), d=lambda: out(m.o_d, R(0.0)), l=lambda: out(m.o_l, R(0)), u=lambda: out(m.o_u, R(0)), fi=lambda: fails(out, m.o_i, R(0.0)), vf=lambda: fails(out, m.o_v, R(0.0)),
                io=lambda: out(m.io_i, R(4)), iov=lambda: out(m.io_v, R(spy.float3(1, 2, 3))), ios=lambda: out(m.io_s, R({"_type": "S", "a": 1.0, "b": 2})), iom=lambda: out(m.io_m, R(spy.float2x2([1, 2, 3, 4]))), iob=lambda: out(m.io_b, R(spy.bool3(True, False, True))), ti=lambda: into(m.o_i, t((3,), "int")), tv=lambda: into(m.o_v, t((2,), "float3")), tm=lambda: into(m.o_m, t((2,), "float2x2")), ta=lambda: into(m.o_a, t((2,), "float[3]")), tb=lambda: into(m.o_b, t((2,), "bool")), tvf=lambda: into(m.o_v, t((2, 3), "float")), nv=lambda: into(m.o_v, np.zeros((2, 3), np.float32)), na=lambda: into(m.o_a, np.zeros((2, 3), np.float32)), nm=lambda: into(m.o_m, np.zeros((2, 2, 2), np.float32)), nb=lambda: into(m.o_b, np.zeros(3, np.bool_)), nl=lambda: into(m.o_l, np.zeros(2, np.int64)), na1=lambda: into(m.o_a, np.zeros(3, np.float32)),
                x=lambda: (lambda x: [m.io_x(x, 2.0), x][1])(t((3,), "float")), xb=lambda: (lambda x: [m.io_x(x, random(3)), x][1])(t((3,), "float")), xs=lambda: fails(lambda: m.io_x(spy.floatRef(1.0), random(3))), three=three, threes=threes, nf=lambda: into(m.io_x, None) if False else 0, fort=lambda: (lambda x: [m.io_x(x, 1.0), x][1])(np.asfortranarray(random(2, 3))), neg=lambda: fails(lambda: (lambda x: [m.io_x(x[::-1], np.arange(3, dtype=np.float32)), x][1])(np.zeros(3, np.float32))), ro=lambda: fails(lambda: m.o_i(np.broadcast_to(np.zeros(1, np.int32), (3,)))), strided=lambda: (lambda x: [m.io_x(x[::2], 1.0), x][1])(np.zeros(6, np.float32)))


@case
def users2_names_that_slang_has_too(spy, device):
    names = "lerp clamp min abs length reflect step cross dot pow frac distance fill copy sign sin exp select saturate log round mad all any dyn sample load dispatch map call count sum normalize distance2 mul transpose noise add sub print gather reverse firstbithigh".split()
    m = load(spy, device, "import slangpy;\n" + "\n".join(f"float {n}(float a, int b) {{ return a * {i + 2} + b; }}" for i, n in enumerate(names)))
    return each(**{n: (lambda n=n: m[n](1.5, 1)) for n in names}, va=lambda: m["lerp"](random(3), 1, _result="numpy"))


@case
def users2_names_that_modules_have_too(spy, device):
    names = "name layout link options device find_function session call map set bind dispatch logger device_module append_to bwds write this struct_ function on_hot_reload".split()
    m = load(spy, device, "import slangpy;\nstruct S { float x; " + " ".join(f"float {n}(float a) {{ return a + x; }}" for n in names if n != "this") + " }\n" + "\n".join(f"float {n}(float a) {{ return a * {i + 2}; }}" for i, n in enumerate(names) if n != "this"))
    return each(**{"i_" + n: (lambda n=n: m[n](2.0)) for n in names if n != "this"}, **{"r_" + n: (lambda n=n: m.require_function(n)(2.0)) for n in names if n != "this"}, **{"s_" + n: (lambda n=n: m.S[n]({"x": 1.0}, 2.0)) for n in names if n != "this"}, a=lambda: callable(m.name), lst=lambda: type(m.layout).__name__)


@case
def users2_entry_points_with_names_of_slang(spy, device):
    names = "lerp clamp min main dyn add fill copy sum map reflect".split()
    s = device.load_module_from_source("users2_entries", "RWStructuredBuffer<float> o;\n" + "\n".join(f'[shader("compute")] [numthreads(1, 1, 1)] void {n}(uint3 t : SV_DispatchThreadID, uniform float k) {{ o[0] = k * {i + 2}; }}' for i, n in enumerate(names)))
    b = device.create_buffer(element_count=1, struct_size=4, data=np.zeros(1, np.float32), usage=rw(spy))
    def go(n):
        device.create_compute_kernel(device.link_program([s], [s.entry_point(n)])).dispatch([1, 1, 1], vars={"o": b}, k=2.0)
        return b.to_numpy().view(np.float32)[0].item()
    def raw(n):
        spy.Module(s)[n].dispatch([1, 1, 1], vars={"o": b}, k=3.0)
        return b.to_numpy().view(np.float32)[0].item()
    return each(**{n: (lambda n=n: go(n)) for n in names}, **{"raw_" + n: (lambda n=n: raw(n)) for n in names})


@case
def users2_references_of_every_vector(spy, device):
    types = dict(h="half", h3="half3", f1="vector<float,1>", s="int16_t", s2="vector<int16_t,2>", by="uint8_t", d="double", d2="double2", l="int64_t", b2="bool2", i3="int3", u="uint", m="float3x2", ar="float[3]", ah="half[2]", av="float2[2]")
    m = load(spy, device, "import slangpy;\n" + "\n".join(f"typealias T_{k} = {t};\nvoid o_{k}(out T_{k} a) {{ a = {{}}; }}\nvoid io_{k}(inout T_{k} a) {{ a = a; }}" for k, t in types.items()))
    first = dict(h=1.5, h3=spy.float16_t3(1, 2, 3), f1=spy.float1(2), s=-3, s2=spy.int2(1, 2), by=200, d=2.5, d2=spy.float2(1, 2), l=1 << 20, b2=spy.bool2(True, False), i3=spy.int3(1, 2, 3), u=7, m=spy.float3x2([1, 2, 3, 4, 5, 6]), ar=[1.0, 2.0, 3.0], ah=[1.0, 2.0], av=[spy.float2(1, 2), spy.float2(3, 4)])
    kind = lambda x: [kind(x[0])] if isinstance(x, list) else type(x).__name__
    def go(f, k):
        r = spy.ValueRef(first[k])
        f(r)
        return kind(r.value), r.value if kind(r.value) not in ("float16_t", ["float16_t"]) else 0
    return each(**{f"{w}_{k}": (lambda w=w, k=k: go(m[f"{w}_{k}"], k)) for k in types for w in ("o", "io")})

"""Programs of other users, second set: structs, tensors, numpy, cursors, packed values, generators, gradients."""
import numpy as np

from cases import case, each, error, fails, load, random


def rw(spy):
    return spy.BufferUsage.shader_resource | spy.BufferUsage.unordered_access


@case
def users2_numpy_of_all_dtypes_and_orders(spy, device):
    m = load(spy, device, """
import slangpy;
float f(float a) { return a + 1; } int i(int a) { return a + 1; } uint u(uint a) { return a + 1; } half h(half a) { return a + 1.0h; } double d(double a) { return a + 1; } int64_t l(int64_t a) { return a + 1; } uint64_t ul(uint64_t a) { return a + 1; } int16_t s(int16_t a) { return (int16_t)(a + 1); } uint16_t us(uint16_t a) { return (uint16_t)(a + 1); } int8_t c(int8_t a) { return (int8_t)(a + 1); } uint8_t by(uint8_t a) { return (uint8_t)(a + 1); } bool b(bool a) { return !a; }
float3 v3(float3 a) { return a * 2; } int2 i2(int2 a) { return a.yx; } uint4 u4(uint4 a) { return a.wzyx; } half2 h2(half2 a) { return a.yx; } bool3 b3(bool3 a) { return !a; } double2 d2(double2 a) { return a.yx; } float2x3 m23(float2x3 a) { return a * 2; } float3x2 m32(float3x2 a) { return a * 3; } float4x3 m43(float4x3 a) { return a; } int2x2 im(int2x2 a) { return a; } half2x2 hm(half2x2 a) { return a; }
""")
    kinds = dict(f="float32", i="int32", u="uint32", h="float16", d="float64", l="int64", ul="uint64", s="int16", us="uint16", c="int8", by="uint8", b="bool")
    vectors = dict(v3=("float32", (3,)), i2=("int32", (2,)), u4=("uint32", (4,)), h2=("float16", (2,)), b3=("bool", (3,)), d2=("float64", (2,)), m23=("float32", (2, 3)), m32=("float32", (3, 2)), m43=("float32", (4, 3)), im=("int32", (2, 2)), hm=("float16", (2, 2)))
    out, to = {}, lambda f, a: (lambda: f(a, _result="numpy").astype(float))
    for k, t in kinds.items():
        a, f = np.arange(6).reshape(2, 3).astype(t), getattr(m, k)
        out.update({k: to(f, a), k + "_T": to(f, a.T), k + "_2": to(f, a[:, ::2])})
        if t != "bool":
            out[k + "_t"] = to(f, spy.Tensor.from_numpy(device, a))
    for k, (t, s) in vectors.items():
        a, f = np.arange(2 * int(np.prod(s))).reshape(2, *s).astype(t), getattr(m, k)
        out.update({k: to(f, a), k + "_dt": lambda f=f, a=a: f(a).dtype.full_name, k + "_one": lambda f=f, a=a: f(a[1]), k + "_wide": to(f, np.broadcast_to(a[0], (3, *s)))})
    return each(**out)


@case
def users2_lists_and_tuples_whole(spy, device):
    m = load(spy, device, """
import slangpy;
struct K { float t; float3 v; };
float3 pick(float3 a[3], int i) { return a[i]; } float m(float2x2 a) { return a[0][0] + 10 * a[0][1] + 100 * a[1][0] + 1000 * a[1][1]; } float mm(float3x3 a) { return a[2][1]; } int sum(int a[4]) { return a[0] + a[1] + a[2] + a[3]; } float nest(float a[2][2][2]) { return a[1][0][1]; } float keys(K a[2], int i) { return a[i].t + a[i].v.y; } bool any3(bool3 b) { return any(b); } int h(half a[2]) { return int(a[0] + a[1]); } float tail(float a[], int n) { return n; }
float v(float4 a) { return a.w; } uint u2(uint2 a) { return a.y; } float2 sw(float2 a) { return a.yx; } int64_t l2(int64_t a[2]) { return a[1]; } float k1(K k) { return k.t + k.v.z; }
""")
    k = lambda t: {"_type": "K", "t": t, "v": [0, t * 10, 1]}
    return each(p=lambda: m.pick([[1, 2, 3], [4, 5, 6], [7, 8, 9]], 2), pv=lambda: m.pick([spy.float3(1), spy.float3(2), spy.float3(3)], 1), pn=lambda: m.pick(np.arange(9, dtype=np.float32).reshape(3, 3), 1), pm=lambda: fails(m.pick, [spy.float3(1), [4, 5, 6], [7, 8, 9]], 1), m=lambda: m.m(spy.float2x2([1, 2, 3, 4])), ml=lambda: fails(m.m, [[1, 2], [3, 4]]), mf=lambda: fails(m.m, [1, 2, 3, 4]), mn=lambda: m.m(np.array([[1, 2], [3, 4]], np.float32)), mm=lambda: m.mm(np.arange(9, dtype=np.float32).reshape(3, 3)), s=lambda: m.sum([1, 2, 3, 4]), sb=lambda: fails(m.sum, [True, False, True, True]), sn=lambda: m.sum(np.array([1, 2, 3, 4], np.int32)), st=lambda: fails(m.sum, (1, 2, 3, 4)), n=lambda: m.nest([[[1, 2], [3, 4]], [[5, 6], [7, 8]]]), nn=lambda: m.nest(np.arange(8, dtype=np.float32).reshape(2, 2, 2)), nna=lambda: m.nest(random(3, 2, 2, 2), _result="numpy"), k=lambda: m.keys([k(1.0), k(2.0)], 1), kx=lambda: fails(m.keys, [{"t": 1.0, "v": [1, 2, 3]}, {"t": 1.0, "v": [1, 2, 3]}], 1), any3=lambda: m.any3(spy.bool3(False, True, False)), any3l=lambda: m.any3([False, False, True]), h=lambda: m.h([1.0, 2.0]), v=lambda: m.v([1, 2, 3, 4]), vf=lambda: m.v(spy.float4(1, 2, 3, 4)), vi=lambda: fails(m.v, spy.int4(1, 2, 3, 4)), vt=lambda: fails(m.v, (1, 2, 3, 4)), v3=lambda: fails(m.v, [1, 2, 3]), u2=lambda: m.u2([1, 2]), u2i=lambda: fails(m.u2, spy.int2(1, 2)), sw=lambda: m.sw([spy.float2(1, 2), spy.float2(3, 4)], _result="numpy"), swl=lambda: fails(m.sw, [[1, 2], [3, 4]]), l2=lambda: m.l2([1, 1 << 40]), k1=lambda: m.k1(k(3.0)), kl=lambda: m.k1([k(3.0), k(4.0)], _result="numpy"), mixl=lambda: fails(m.sum, [1, 2.5, 3, 4]), mixv=lambda: m.v([1, 2.5, 3, True]), empty=lambda: fails(m.sum, []), rng=lambda: fails(m.sum, range(4)))


@case
def users2_struct_dicts_and_fields(spy, device):
    m = load(spy, device, """
import slangpy;
struct In { float2 uv; int id; };
struct Out { In in_; float w[2]; bool on; float3x3 rot; half h; double d; uint64_t big; };
float run(Out o) { return o.in_.uv.y + o.in_.id + o.w[1] + (o.on ? 100 : 0) + o.rot[1][2] + float(o.h) + float(o.d) + float(o.big); }
Out make(float a) { Out o; o.in_.uv = float2(a, 2 * a); o.in_.id = 3; o.w[0] = a; o.w[1] = 1; o.on = a > 0; o.rot = float3x3(1, 2, 3, 4, 5, 6, 7, 8, 9); o.h = half(a); o.d = a; o.big = 1UL << 40; return o; }
In inner(Out o) { return o.in_; }
struct E {}; float empty(E e) { return 1; }
""")
    full = lambda **k: {"in_": {"uv": [1, 2], "id": 3}, "w": [4, 5], "on": True, "rot": spy.float3x3.identity(), "h": 1.5, "d": 2.5, "big": 7, **k}
    return each(r=lambda: m.run(full()), typed=lambda: m.run(full(_type="Out")), wrong=lambda: fails(m.run, full(_type="In")), mk=lambda: m.make(2.0), mks=lambda: m.make(random(2)).to_numpy().shape, inn=lambda: m.inner(full()), rt=lambda: m.run(m.make(1.0)), extra=lambda: error(m.run, full(zz=1)), extra2=lambda: error(m.run, full(in_={"uv": [1, 2], "id": 3, "q": 1})), np=lambda: m.run(full(w=np.array([1, 2], np.float32), rot=np.eye(3, dtype=np.float32))), obj=lambda: fails(m.run, full(on=object())), vec=lambda: m.run(full(h=np.array([1, 2], np.float16)), _result="numpy"), deep=lambda: m.run(full(in_={"uv": random(4, 2), "id": np.arange(4, dtype=np.int32)}), _result="numpy"), deep2=lambda: m.run(full(in_={"uv": random(4, 2), "id": np.arange(3, dtype=np.int32)[:, None].copy()}), _result="numpy"), deepbad=lambda: error(m.run, full(in_={"uv": random(4, 2), "id": np.arange(3, dtype=np.int32)})), fl=lambda: fails(m.run, full(big=1.5)), none=lambda: fails(m.run, full(d=None)), tens=lambda: m.run(full(in_=spy.Tensor.empty(device, (2,), m.In)), w=1) if False else 0, inl=lambda: m.inner(m.make(random(3))).shape, txt=lambda: fails(m.run, full(w="ab")), lst=lambda: fails(m.run, full(rot=[1, 0, 0, 0, 1, 0, 0, 0, 1])), lst2=lambda: fails(m.run, full(rot=[[1, 0, 0], [0, 1, 0], [0, 0, 1]])), e=lambda: fails(m.empty, {}), num=lambda: fails(m.run, 1.0), nod=lambda: fails(m.run, [1, 2]))


@case
def users2_tensor_views_in_calls(spy, device):
    m = load(spy, device, "import slangpy;\nfloat add(float a, float b) { return a + b; }\nfloat3 sc(float3 v, float s) { return v * s; }\nfloat s2(Tensor<float, 2> t) { float r = 0; for (uint i = 0; i < t.shape[0]; i++) for (uint j = 0; j < t.shape[1]; j++) r += t[i, j]; return r; }\nfloat s1(Tensor<float, 1> t) { float r = 0; for (uint i = 0; i < t.shape[0]; i++) r += t[i]; return r; }\nvoid wr(RWTensor<float, 1> t, int i, float v) { t[i] = v; }\n")
    n = np.arange(60, dtype=np.float32).reshape(3, 4, 5)
    t = spy.Tensor.from_numpy(device, n)
    v = spy.Tensor.from_numpy(device, random(4, 3)) if False else spy.Tensor.zeros(device, (4,), "float3")
    v.copy_from_numpy(random(4, 3))
    return each(t0=lambda: m.add(t[0], 1.0, _result="numpy"), t00=lambda: m.add(t[0, 1], t[1, 1], _result="numpy"), neg=lambda: m.add(t[-1], 0.0, _result="numpy"), sl=lambda: m.add(t[:, 1:3, ::2], 0.0, _result="numpy"), ell=lambda: m.add(t[..., 2], 0.0, _result="numpy"), none=lambda: m.add(t[0, :, None, 0], t[0, None, :, 0] if False else t[0, 0, :], _result="numpy"), bc=lambda: m.add(t[0, 0].broadcast_to((2, 5)), 1.0, _result="numpy"), view=lambda: m.add(t.view((12, 5)), 0.0, _result="numpy"), viewo=lambda: m.add(t.view((4,), offset=10), 0.0, _result="numpy"), views=lambda: m.add(t.view((3, 3), (1, 2)), 0.0, _result="numpy"), whole=lambda: m.s2(t[1]), wholes=lambda: m.s2(t, _result="numpy"), part=lambda: m.s2(t[:, 0, :]), s1=lambda: m.s1(t[:, 0, 0]), s1s=lambda: m.s1(t[0], _result="numpy"), vv=lambda: m.sc(v[1:3], 2.0, _result="numpy"), v1=lambda: m.sc(v[2], 2.0), vneg=lambda: m.sc(v[-1:], 2.0, _result="numpy"), wr=lambda: [m.wr(t[0, 0], np.arange(3, dtype=np.int32), 9.0), t[0, 0]][1], res=lambda: m.add(n[0, 0].copy(), 100.0, _result=t[1, 2]), after=lambda: t[1], it=lambda: [x.to_numpy().sum() for x in t], itn=lambda: len(list(t[0])), idx=lambda: error(lambda: t[3]), many=lambda: error(lambda: t[0, 0, 0, 0]), strs=lambda: error(lambda: t["a"]), stepneg=lambda: fails(lambda: t[::-1]), emp=lambda: t[1:1].shape, full=lambda: [t[1, 2, 3].shape, t[1, 2, 3].to_numpy()], npidx=lambda: fails(lambda: t[np.int32(1)].shape), lst=lambda: fails(lambda: t[[0, 1]].shape), boolidx=lambda: fails(lambda: t[True].shape), str_=lambda: str(t[0, 0]), shp=lambda: [t.shape, t.strides, t[1].offset, t[:, 1].strides, t.element_count, t[0].element_count], eq=lambda: t.shape == (3, 4, 5))


@case
def users2_buffer_cursor_programs(spy, device):
    m = load(spy, device, """
import slangpy;
enum Kind : uint { none, some = 3 };
struct Inner { half3 h; int8_t c; uint16_t s; };
struct Rec { float3 p; Inner inner[2]; float2x3 m; bool b; bool3 bb; int64_t l; double d; uint flags; Kind kind; float16_t hh; int arr[2][2]; };
int flags(Rec r) { return (int)r.flags + (int)r.kind + r.arr[1][0]; }
""")
    t = spy.Tensor.zeros(device, (3,), m.Rec)
    c = t.cursor()
    def go():
        c[0].write({"p": [1, 2, 3], "inner": [{"h": [1, 2, 3], "c": -1, "s": 65535}, {"h": spy.float16_t3(4, 5, 6), "c": 2, "s": 3}], "m": spy.float2x3([1, 2, 3, 4, 5, 6]), "b": True, "bb": [True, False, True], "l": -(1 << 40), "d": 1e300, "flags": 0xFFFFFFFF, "kind": 3, "hh": 0.5, "arr": [[1, 2], [3, 4]]})
        c.apply()
        return c[0].read()
    def fields():
        c[1].p = spy.float3(7, 8, 9)
        c[1].inner[1].s = 12
        c[1]["inner"][0]["h"] = [1, 2, 3]
        c[1].m = np.arange(6, dtype=np.float32).reshape(2, 3)
        c[1].bb = spy.bool3(False, True, False)
        c[1].arr = [[5, 6], [7, 8]]
        c.apply()
        return t.cursor()[1].read()
    return each(go=go, f=fields, fl=lambda: fails(m.flags, t, _result="numpy"), rep=lambda: [repr(c[0].p), repr(c[0].flags), repr(c[0].b), repr(c[0].inner[0].h), repr(c[0].l)], miss=lambda: [c[0].nope.is_valid(), c[0].p.is_valid(), c[0].has_field("p"), c[0].has_field("q"), c[0].inner.has_element(1), c[0].inner.has_element(2)], outi=lambda: fails(lambda: c[0].inner[2].read()), outc=lambda: error(lambda: c[3]), neg=lambda: c[-1].p.read(), big=lambda: fails(lambda: c[0].inner[0].c.write(300)), fi=lambda: fails(lambda: c[0].flags.write(1.5)), neg_u=lambda: fails(lambda: c[0].flags.write(-1)), txt=lambda: fails(lambda: c[0].p.write("abc")), short=lambda: fails(lambda: c[0].p.write([1, 2])), long_=lambda: fails(lambda: c[0].p.write([1, 2, 3, 4])), intv=lambda: [c[0].p.write(spy.int3(1, 2, 3)), c[0].p.read()][1] if False else 0, b2i=lambda: [c[0].flags.write(True), c[0].flags.read()][1], i2b=lambda: fails(lambda: [c[0].b.write(2), c[0].b.read()][1]), i2f=lambda: [c[0].hh.write(3), c[0].hh.read()][1], npf=lambda: fails(lambda: [c[0].d.write(np.float64(2.5)), c[0].d.read()][1]), npi=lambda: fails(lambda: [c[0].flags.write(np.uint32(7)), c[0].flags.read()][1]), np1=lambda: [c[0].p.write(np.array([4, 5, 6], np.float32)), c[0].p.read()][1], npd=lambda: fails(lambda: [c[0].p.write(np.array([4, 5, 6], np.float64)), c[0].p.read()][1]), npint=lambda: fails(lambda: [c[0].p.write(np.array([4, 5, 6], np.int32)), c[0].p.read()][1]), tup=lambda: [c[0].p.write((1, 1, 1)), c[0].p.read()][1], sz=lambda: [c.element_count, c.element_size, c.element_stride, c.size, len(c)], lay=lambda: [(f.name, f.offset, f.type_layout.size) for f in c.element_type_layout.fields], wn=lambda: fails(lambda: c.write_from_numpy({"p": random(3, 3), "flags": np.arange(3, dtype=np.uint32)})), wnr=lambda: [x.p.read() for x in c], wnf=lambda: [x.flags.read() for x in c], tn=lambda: c.to_numpy().shape, ld=lambda: [c.is_loaded, c.load(), c[0].flags.read()][2], partial=lambda: [c[2].write({"p": [3, 3, 3]}), c[2].l.read(), c[2].p.read()][1:], extra=lambda: fails(lambda: c[2].write({"nothing": 1})), e2=lambda: c.element_type.name)


@case
def users2_shader_cursor_programs(spy, device):
    s = device.load_module_from_source("users2_sc", """
struct Light { float3 dir; float power; bool on; };
struct Scene { Light lights[3]; uint count; float4x4 view; float2 table[2]; int3 cells; half h; };
ParameterBlock<Scene> scene;
cbuffer Frame { float time; uint2 size; Light sun; };
uniform Light key; uniform float weights[4]; uniform float3x3 rot;
RWStructuredBuffer<float> o;
[shader("compute")] [numthreads(1, 1, 1)] void main(uniform float k, uniform Light extra) {
  o[0] = scene.lights[1].power; o[1] = scene.count; o[2] = scene.view[1][3]; o[3] = scene.table[1].y; o[4] = scene.cells.z; o[5] = float(scene.h); o[6] = time; o[7] = size.y; o[8] = sun.dir.z; o[9] = key.power; o[10] = weights[3]; o[11] = rot[1][2]; o[12] = k; o[13] = extra.dir.x; o[14] = key.on ? 1 : 0; o[15] = scene.lights[2].on ? 1 : 0; }
""")
    p = device.link_program([s], [s.entry_point("main")])
    k = device.create_compute_kernel(p)
    b = device.create_buffer(element_count=16, struct_size=4, data=np.zeros(16, np.float32), usage=rw(spy))
    light = lambda x: {"dir": [x, 2, 3], "power": x, "on": True}
    val = lambda: b.to_numpy().view(np.float32)
    def by_vars():
        k.dispatch([1, 1, 1], vars={"scene": {"lights": [light(1.0), light(5.0), light(6.0)], "count": 3, "view": spy.float4x4(np.arange(16, dtype=np.float32).reshape(4, 4)), "table": [[1, 2], [3, 4]], "cells": [1, 2, 3], "h": 0.5}, "Frame": {"time": 1.5, "size": [4, 5], "sun": light(2.0)}, "key": light(7.0), "weights": [1, 2, 3, 4], "rot": np.arange(9, dtype=np.float32).reshape(3, 3), "o": b}, k=9.0, extra=light(8.0))
        return val()
    def by_cursor(kind):
        e = device.create_command_encoder()
        with e.begin_compute_pass() as q:
            if kind == "root":
                root = device.create_root_shader_object(p)
            else:
                root = q.bind_pipeline(k.pipeline)
            c = spy.ShaderCursor(root)
            c.o = b
            for i in range(3):
                c.scene.lights[i] = light(float(i + 1))
            c.scene.count = 2
            c.scene["view"] = spy.float4x4.identity()
            c.scene.table[1] = [8, 9]
            c.scene.cells = spy.int3(4, 5, 6)
            c.scene.h = 2.0
            c.Frame.time = 3.5
            c["Frame"]["size"] = spy.uint2(1, 2)
            c.Frame.sun.dir = [0, 0, 4]
            c.key.write(light(3.0))
            c.weights = np.array([4, 5, 6, 7], np.float32)
            c.rot = spy.float3x3(np.arange(9, dtype=np.float32).reshape(3, 3))
            en = c.find_entry_point(0)
            en.k = 11.0
            en.extra = light(12.0)
            if kind == "root":
                q.bind_pipeline(k.pipeline, root)
            q.dispatch([1, 1, 1])
        device.submit_command_buffer(e.finish())
        return val()
    def cur():
        return spy.ShaderCursor(device.create_root_shader_object(p))
    return each(v=by_vars, r=lambda: by_cursor("root"), b=lambda: by_cursor("bind"), valid=lambda: [cur().is_valid(), cur().nope.is_valid(), cur().has_field("scene"), cur().has_field("x"), cur().weights.has_element(3), cur().weights.has_element(4)], idx=lambda: cur().find_field_index("nope"), short=lambda: fails(lambda: setattr(cur(), "weights", [1, 2])), wrong=lambda: fails(lambda: setattr(cur(), "rot", spy.float2x2())), txt=lambda: fails(lambda: setattr(cur().key, "power", "x")), unk=lambda: fails(lambda: setattr(cur(), "nothing", 1.0)), out=lambda: fails(lambda: cur().weights[4].write(1.0)), buf=lambda: fails(lambda: setattr(cur(), "o", 3.0)), num=lambda: fails(lambda: setattr(cur(), "key", 3.0)), fields=lambda: fails(lambda: cur().key.write({"dir": [1, 2, 3], "zzz": 1})), deref=lambda: cur().scene.dereference().is_valid(), byi=lambda: cur().get_field_by_index(0).is_valid(), ref=lambda: [p.reflection.scene.lights[1].power.is_valid(), p.reflection.main.k.is_valid() if hasattr(p.reflection, "main") else None, str(p.reflection.key.type.name), p.reflection.weights.type_layout.size])


@case
def users2_packs_and_this_objects(spy, device):
    m = load(spy, device, """
import slangpy;
struct Mat { float3 c; float r; float w[2]; };
struct Scene { Mat a; Mat b[2]; int n; };
float shade(Scene s, float x) { return (s.a.c.x + s.b[1].r + s.n + s.a.w[1]) * x; }
float mat(Mat m) { return m.r + m.c.y; }
float texel(StructuredBuffer<float> b, int i) { return b[i]; }
float tens(Tensor<float, 1> t, int i) { return t[i]; }
""")
    mat = lambda r: {"_type": "Mat", "c": [r, 1, 2], "r": r, "w": [0, 10]}
    scene = {"_type": "Scene", "a": mat(1.0), "b": [mat(2.0), mat(3.0)], "n": 4}
    class Obj:
        def __init__(self, v):
            self.v = v
        def get_this(self):
            return self.v
    ps = spy.pack(m, scene)
    b = device.create_buffer(element_count=4, struct_size=4, data=np.arange(4, dtype=np.float32), usage=rw(spy))
    t = spy.Tensor.from_numpy(device, np.arange(4, dtype=np.float32) * 3)
    return each(p=lambda: m.shade(ps, 2.0), pa=lambda: m.shade(ps, random(3), _result="numpy"), same=lambda: spy.pack(m, ps) is ps, ty=lambda: type(ps).__name__, o=lambda: m.shade(Obj(scene), 2.0), oo=lambda: m.shade({"_type": "Scene", "a": Obj(mat(1.0)), "b": [Obj(mat(2.0)), Obj(mat(3.0))], "n": 4}, 2.0), po=lambda: m.shade(spy.pack(m, Obj(scene)), 1.0), f=lambda: m.mat(spy.pack(m, mat(4.0))), fn=lambda: fails(lambda: spy.pack(m, {"c": [1, 2, 3]})), num=lambda: m.mat({"_type": "Mat", "c": [0, 0, 0], "r": Obj(2.0), "w": [0, 0]}), pv=lambda: fails(lambda: m.mat({"_type": "Mat", "c": spy.pack(m, spy.float3(1, 2, 3)), "r": 2.0, "w": [0, 0]})), pf=lambda: spy.pack(m, 2.0) is not None, pff=lambda: m.shade(scene, spy.pack(m, 3.0)), pb=lambda: m.texel(spy.pack(m, b), 2), pt=lambda: m.tens(spy.pack(m, t), np.arange(4, dtype=np.int32), _result="numpy"), pl=lambda: fails(lambda: m.mat(spy.pack(m, [mat(1.0), mat(2.0)]))), obuf=lambda: m.texel(Obj(b), 1), oten=lambda: m.tens(Obj(t), 1), onum=lambda: m.shade(scene, Obj(2.0)), oarr=lambda: m.shade(scene, Obj(random(3)), _result="numpy"), ores=lambda: (lambda r: [m.shade(scene, random(3), _result=Obj(r)) is not None, r][1])(spy.Tensor.zeros(device, (3,), "float")), kw=lambda: m.shade(s=ps, x=Obj(1.0)))


@case
def users2_generators_in_mixtures(spy, device):
    m = load(spy, device, """
import slangpy;
int2 id2(int2 a) { return a; } int id1(int a) { return a; } int[2] ida(int a[2]) { return a; } float2 f2(float2 a) { return a; } float f(float a, int b) { return a * 100 + b; } uint u(uint a) { return a; } float3 r3(float3 a) { return a; } int3 i3(int3 a) { return a; } uint2 u2(uint2 a) { return a; } int sum(int3 a, int2 b) { return a.x + a.y * 10 + a.z * 100 + b.x * 1000 + b.y * 10000; }
""")
    z = lambda s, t: spy.Tensor.zeros(device, s, t)
    g = spy.grid
    return each(c2=lambda: m.id2(spy.call_id(), _result=z((2, 3), "int2")), c1=lambda: m.id1(spy.call_id(), _result=z((4,), "int")), ca=lambda: fails(lambda: m.ida(spy.call_id(), _result=z((2, 3), "int[2]"))), c3=lambda: m.i3(spy.call_id(), _result=z((2, 1, 2), "int3")), cbad=lambda: fails(lambda: m.id2(spy.call_id(), _result=z((4,), "int2"))), cu=lambda: fails(lambda: m.u2(spy.call_id(), _result=z((2, 2), "uint2"))), cf=lambda: fails(lambda: m.f2(spy.call_id(), _result=z((2, 2), "float2"))), cn=lambda: m.id2(spy.call_id((2, 2)), _result="numpy"), t1=lambda: m.u(spy.thread_id(), _result=z((5,), "uint")), ti=lambda: m.id1(spy.thread_id(), _result=z((2, 3), "int")), t3=lambda: m.i3(spy.thread_id(), _result=z((2, 3), "int3")), g1=lambda: m.id1(g((4,)), _result="numpy"), g2=lambda: m.id2(g((2, 3)), _result="numpy"), g2o=lambda: m.id2(g((2, 3), offset=(10, 20)), _result="numpy"), g2s=lambda: m.id2(g(shape=(2, 3), stride=(2, 5)), _result="numpy"), g2os=lambda: m.id2(g((2, 2), (1, 2), (3, 4)), _result="numpy"), ga=lambda: m.ida(g((2, 2)), _result="numpy"), gm=lambda: m.id2(g((-1, 2)), _result=z((3, 2), "int2")), gf=lambda: fails(lambda: m.f2(g((2, 2)), _result="numpy")), gu=lambda: fails(lambda: m.u2(g((2, 2)), _result="numpy")), gw=lambda: error(lambda: m.id2(g((2, 2), offset=(1,)))), gb=lambda: fails(lambda: m.id2(g((4,)))), gv=lambda: m.f(random(2, 3), g((3,)), _result="numpy"), gt=lambda: type(g((2, 2))).__name__, gsum=lambda: m.sum(g((2, 1, 2)), spy.int2(1, 2), _result="numpy"), rng=lambda: m.f(random(3), range(3), _result="numpy"), rf=lambda: fails(lambda: m.f2(spy.rand_float(), _result=z((3,), "float2"))), rf3=lambda: m.r3(spy.rand_float(-1, 1, dim=3, seed=5), _result=z((3,), "float3")), rf1=lambda: m.f(spy.rand_float(0, 10, seed=3), 1, _result=z((4,), "float")), wh=lambda: m.u(spy.wang_hash(seed=7), _result=z((4,), "uint")), wh2=lambda: m.u2(spy.wang_hash(dim=2, seed=7, warmup=2), _result=z((3,), "uint2")), whn=lambda: m.u(spy.wang_hash(seed=7, hash_seed=False), _result=z((3,), "uint")), whi=lambda: m.id1(spy.wang_hash(seed=7), _result=z((3,), "int")), whf=lambda: fails(lambda: m.f(spy.wang_hash(), 1, _result=z((3,), "float"))), rfi=lambda: fails(lambda: m.id1(spy.rand_float(), _result=z((3,), "int"))), host=lambda: [spy.types.wanghasharg.calc_wang_hash(i) for i in (0, 1, 12345, 2**32 - 1)], nores=lambda: fails(lambda: m.u(spy.thread_id())), nores2=lambda: fails(lambda: m.r3(spy.rand_float(dim=3))), sig=lambda: [spy.call_id().slangpy_signature == spy.call_id().slangpy_signature, type(spy.rand_float()).__name__, type(spy.wang_hash()).__name__, type(spy.thread_id()).__name__, type(spy.call_id()).__name__])


GRAD = """
import slangpy;
[Differentiable] float sq(float x) { return x * x; }
[Differentiable] float poly(float a, float b, float x) { return a * x * x + b * x; }
[Differentiable] float3 mulv(float3 a, float s) { return a * s; }
[Differentiable] float len(float3 a) { return length(a); }
[Differentiable] void outp(float a, out float r) { r = a * a * a; }
[Differentiable] float nd(float a, no_diff float b) { return a * b; }
[Differentiable] float2x2 mm(float2x2 a, float2x2 b) { return mul(a, b); }
[Differentiable] float arr(float a[3]) { return a[0] * a[1] + a[2]; }
struct S : IDifferentiable { float3 p; float w; int n; [Differentiable] float f(float k) { return dot(p, p) * w * k; } };
[Differentiable] float st(S s, float k) { return s.f(k); }
float notdiff(float a) { return a * 2; }
[Differentiable] half hh(half a) { return a * a; }
[Differentiable] double dd(double a) { return a * a; }
[Differentiable] float sumt(DiffTensor<float, 1> t) { float r = 0; for (int i = 0; i < 4; i++) r += t[i] * t[i]; return r; }
[Differentiable] void io(inout float a) { a = a * a; }
"""


@case
def users2_gradients_in_every_form(spy, device):
    m = load(spy, device, GRAD)
    T = spy.Tensor
    def g(x):
        return T.from_numpy(device, np.asarray(x, np.float32)).with_grads()
    def seeded(t, s=None):
        t = t.with_grads()
        t.grad.copy_from_numpy(np.ones(t.to_numpy().shape, np.float32) if s is None else s)
        return t
    def sq():
        x = g([1, 2, 3])
        r = seeded(m.sq(x, _result="tensor"))
        m.sq.bwds(x, r)
        m.sq.bwds(x, _result=r)
        return x.grad
    def poly():
        a, b, x = g([2]), g([3]), g(random(5))
        r = seeded(m.poly(a, b, x))
        m.poly.bwds(a, b, x, r)
        return a.grad, b.grad, x.grad
    def scalars():
        a, b, x = spy.diffPair(2.0), spy.diffPair(3.0), spy.diffPair(4.0, 0.5)
        m.poly.bwds(a, b, x, spy.diffPair(0.0, 1.0))
        return [a.primal, a.grad, b.grad, x.grad]
    def mixed():
        a = spy.diffPair(2.0)
        m.poly.bwds(a, 3.0, 4.0, spy.diffPair(None, 2.0))
        return a.grad
    def vec():
        a, s = T.zeros(device, (4,), "float3").with_grads(), g(random(4))
        a.copy_from_numpy(random(4, 3, seed=2))
        r = seeded(m.mulv(a, s))
        m.mulv.bwds(a, s, r)
        return a.grad, s.grad
    def vecs():
        a = spy.diffPair(spy.float3(1, 2, 3), spy.float3(0))
        s = spy.floatDiffPair(2.0)
        m.mulv.bwds(a, s, spy.diffPair(spy.float3(0), spy.float3(1, 1, 1)))
        return a.grad, s.grad
    def outs():
        a, r = g([1, 2]), seeded(T.zeros(device, (2,), "float"))
        m.outp(a, r)
        v = r.to_numpy()
        m.outp.bwds(a, r)
        return v, a.grad
    def nd():
        a, b = g([1, 2]), g([3, 4])
        m.nd.bwds(a, b, seeded(T.zeros(device, (2,), "float")))
        return a.grad, b.grad
    def mat():
        a = T.zeros(device, (2,), "float2x2").with_grads()
        a.copy_from_numpy(random(2, 2, 2))
        r = T.zeros(device, (2,), "float2x2").with_grads()
        r.grad.copy_from_numpy(np.ones((2, 2, 2), np.float32))
        m.mm.bwds(a, spy.float2x2([1, 2, 3, 4]), r)
        return a.grad
    def arr():
        a = T.zeros(device, (2,), "float[3]").with_grads()
        a.copy_from_numpy(random(2, 3))
        m.arr.bwds(a, seeded(T.zeros(device, (2,), "float")))
        return a.grad
    def arrv():
        a = g(random(2, 3))
        m.arr.bwds(a, seeded(T.zeros(device, (2,), "float")))
        return a.grad
    def struct():
        p, w = T.zeros(device, (2,), "float3").with_grads(), g([1, 2])
        p.copy_from_numpy(random(2, 3))
        m.st.bwds({"p": p, "w": w, "n": 1}, 2.0, seeded(T.zeros(device, (2,), "float")))
        return p.grad, w.grad
    def method():
        p, w = T.zeros(device, (2,), "float3").with_grads(), g([1, 2])
        p.copy_from_numpy(random(2, 3))
        il = spy.InstanceList(m.S, {"p": p, "w": w, "n": 1})
        r = seeded(il.f(3.0))
        il.f.bwds(3.0, r)
        return r, p.grad, w.grad
    def double():
        x = T.from_numpy(device, np.array([1.0, 2.0])).with_grads()
        r = m.dd(x).with_grads()
        r.grad.copy_from_numpy(np.ones(2))
        m.dd.bwds(x, r)
        return x.grad
    def half():
        x = T.from_numpy(device, np.array([1.0, 2.0], np.float16)).with_grads()
        r = m.hh(x).with_grads()
        r.grad.copy_from_numpy(np.ones(2, np.float16))
        m.hh.bwds(x, r)
        return x.grad
    def whole():
        t = g([1, 2, 3, 4])
        r = spy.diffPair(0.0, 1.0)
        v = m.sumt(t)
        m.sumt.bwds(t, r)
        return v, t.grad
    def chain():
        x = g(random(4))
        y = m.sq(x).with_grads()
        z = seeded(m.sq(y))
        m.sq.bwds(y, z)
        m.sq.bwds(x, y)
        return x.grad
    def enc():
        x = g([1, 2, 3])
        r = seeded(m.sq(x))
        e = device.create_command_encoder()
        m.sq.bwds.append_to(e, x, r)
        m.sq.bwds(x, r, _append_to=e)
        device.submit_command_buffer(e.finish())
        return x.grad
    def io():
        x = g([1, 2, 3])
        m.io(x)
        return x
    def nograd():
        x = T.from_numpy(device, random(3))
        m.sq.bwds(x, seeded(T.zeros(device, (3,), "float")))
        return x
    return each(sq=sq, poly=poly, scalars=scalars, mixed=mixed, vec=vec, vecs=vecs, outs=outs, nd=nd, mat=mat, arr=arr, arrv=arrv, struct=struct, method=method, double=double, half=half, whole=whole, chain=chain, enc=enc, io=io, nograd=lambda: fails(nograd), notdiff=lambda: fails(lambda: m.notdiff.bwds(g([1]), seeded(T.zeros(device, (1,), "float")))), few=lambda: fails(lambda: m.sq.bwds(g([1]))), noseed=lambda: fails(lambda: m.sq.bwds(g([1]), T.zeros(device, (1,), "float"))), np_=lambda: fails(lambda: m.sq.bwds(random(3), seeded(T.zeros(device, (3,), "float")))), plain=lambda: m.sq(spy.diffPair(3.0)), map_=lambda: (lambda x: [m.sq.map((0,)).bwds(x, seeded(T.zeros(device, (3,), "float"))), x.grad][1])(g([1, 2, 3])), name=lambda: m.sq.bwds.name)


@case
def users2_single_results_of_every_type(spy, device):
    scalars = dict(b="bool", c="int8_t", by="uint8_t", s="int16_t", us="uint16_t", i="int", u="uint", l="int64_t", ul="uint64_t", h="half", f="float", d="double")
    shapes = dict(s="{}", v1="vector<{},1>", v2="vector<{},2>", v3="vector<{},3>", v4="vector<{},4>", m22="matrix<{},2,2>", m34="matrix<{},3,4>", m43="matrix<{},4,3>", a2="{}[2]", a23="{}[2][3]", av="vector<{},3>[2]")
    lines, structs = ["import slangpy;"], []
    for k, t in scalars.items():
        for n, s in shapes.items():
            ty = s.format(t)
            base, _, rest = ty.partition("[")
            lines.append(f"typealias T_{k}_{n} = {ty};" if not rest else f"typealias T_{k}_{n} = {base}[{rest};")
            if n == "s":
                fill = f"return ({t})(a != 0);" if k == "b" else f"return ({t})a;"
            elif n[0] == "v" or n[0] == "m":
                fill = f"return ({ty})(({t})a);"
            else:
                fill = f"T_{k}_{n} r = {{}}; return r;"
            lines.append(f"T_{k}_{n} r_{k}_{n}(int a) {{ {fill} }}")
    m = load(spy, device, "\n".join(lines))
    def of(name):
        r = getattr(m, name)(1)
        kind = lambda x: [kind(x[0])] if isinstance(x, list) else type(x).__name__
        return kind(r), r
    return each(**{f"{k}_{n}": (lambda k=k, n=n: of(f"r_{k}_{n}")) for k in scalars for n in shapes})


@case
def users2_values_read_back_from_structs(spy, device):
    types = dict(b="bool", b3="bool3", c="int8_t", us="uint16_t", i2="int2", u3="uint3", l="int64_t", h="half", h2="half2", f3="float3", d="double", m="float2x3", a="float[3]", ah="half[2]", av="float2[2]", e="E", f1="vector<float,1>")
    m = load(spy, device, "import slangpy;\nenum E { x, y = 4 };\nstruct S { " + " ".join(f"{t.partition('[')[0]} {k}{'[' + t.partition('[')[2] if '[' in t else ''};" for k, t in types.items()) + " };\nS make(int a) { S s = {}; s.b = true; s.b3 = bool3(true, false, true); s.c = -3; s.h = 1.5h; s.h2 = half2(1, 2); s.d = 2.5; s.l = 1L << 40; s.e = E.y; s.f1 = 3; s.ah[1] = 2.5h; return s; }\nvoid outs(out S s) { s = make(1); }\n")
    kind = lambda x: [kind(x[0])] if isinstance(x, list) else type(x).__name__
    r = m.make(1)
    ref = spy.ValueRef(dict(r, _type="S"))
    t = m.make(np.arange(2, dtype=np.int32))
    return each(kinds=lambda: {k: kind(r[k]) for k in types}, values=lambda: {k: r[k] for k in types if k not in ("h", "ah")}, order=lambda: list(r), ref=lambda: m.outs(ref), refk=lambda: {k: kind(ref.value[k]) for k in types}, cur=lambda: {k: kind(t.cursor()[1][k].read()) for k in types}, curv=lambda: {k: t.cursor()[1][k].read() for k in types if k not in ("h", "ah")}, again=lambda: m.outs(spy.ValueRef(dict(r, _type="S"))) if False else 0)

"""Textures as arguments, compute pipelines with textures and samplers, raster pipelines, reflection of them."""
import hashlib

import numpy as np

from cases import case, each, error, fails, load, random
from cases_pictures_textures import make, ramp, submit, target_usage, usage

CALLS = """
import slangpy;
float4 twice(float4 a) { return 2 * a; }
float twice1(float a) { return 2 * a; }
float2 twice2(float2 a) { return 2 * a; }
uint4 next(uint4 a) { return a + 1; }
int4 nexti(int4 a) { return a - 5; }
uint next1(uint a) { return a + 1; }
half4 halved(half4 a) { return a * 0.5h; }
float4 add(float4 a, float4 b) { return a + b; }
float4 scaled(float4 a, float s) { return a * s; }
void put(float4 a, out float4 b) { b = a + 1; }
void change(inout float4 a) { a = a * 3; }
float4 fetch(int2 p, Texture2D<float4> t) { return t[p]; }
float4 fetch_level(int2 p, int level, Texture2D<float4> t) { return t.Load(int3(p, level)); }
float fetch1(int p, Texture1D<float> t) { return t[p]; }
float4 fetch3(int3 p, Texture3D<float4> t) { return t[p]; }
float4 fetch_array(int3 p, Texture2DArray<float4> t) { return t[p]; }
float4 at(float2 uv, Texture2D<float4> t, SamplerState s) { return t.SampleLevel(s, uv, 0); }
float4 at_level(float2 uv, float level, Texture2D<float4> t, SamplerState s) { return t.SampleLevel(s, uv, level); }
float4 at_cube(float3 d, TextureCube<float4> t, SamplerState s) { return t.SampleLevel(s, d, 0); }
float4 at_3d(float3 d, Texture3D<float4> t, SamplerState s) { return t.SampleLevel(s, d, 0); }
float4 at_array(float3 d, Texture2DArray<float4> t, SamplerState s) { return t.SampleLevel(s, d, 0); }
float4 gathered(float2 uv, Texture2D<float4> t, SamplerState s) { return t.GatherRed(s, uv); }
float4 graded(float2 uv, float2 dx, float2 dy, Texture2D<float4> t, SamplerState s) { return t.SampleGrad(s, uv, dx, dy); }
float compared(float2 uv, float r, Texture2D<float> t, SamplerComparisonState s) { return t.SampleCmpLevelZero(s, uv, r); }
void store(int2 p, float4 v, RWTexture2D<float4> t) { t[p] = v; }
void store1(int2 p, float v, RWTexture2D<float> t) { t[p] = v; }
void increment(int2 p, RWTexture2D<float4> t) { t[p] = t[p] + 1; }
void store_uint(int2 p, uint4 v, RWTexture2D<uint4> t) { t[p] = v; }
void store3(int3 p, float v, RWTexture3D<float> t) { t[p] = v; }
void store_array(int3 p, float4 v, RWTexture2DArray<float4> t) { t[p] = v; }
uint2 size_of(Texture2D<float4> t) { uint w, h; t.GetDimensions(w, h); return uint2(w, h); }
uint3 size_and_levels(Texture2D<float4> t) { uint w, h, n; t.GetDimensions(0, w, h, n); return uint3(w, h, n); }
struct Material { Texture2D<float4> albedo; SamplerState sampler; float4 tint; }
float4 shade(Material m, float2 uv) { return m.albedo.SampleLevel(m.sampler, uv, 0) * m.tint; }
struct Pair { Texture2D<float4> a; Texture2D<float4> b; }
float4 both(Pair p, int2 i) { return p.a[i] + p.b[i]; }
float4 in_array(Texture2D<float4> t[2], int2 p) { return t[0][p] + 10 * t[1][p]; }
int2 ids(int2 p) { return p; }
float3 rgb(float3 a) { return a; }
float4 position(uint2 p) { return float4(p, 0, 1); }
float grey(float4 a) { return dot(a.xyz, 1.0 / 3.0); }
struct Out { float4 a; float b; }
float4 lerped(float4 a, float4 b, float t) { return lerp(a, b, t); }
float4 blurred(int2 p, Texture2D<float4> t) { float4 s = 0; for (int y = -1; y <= 1; y++) for (int x = -1; x <= 1; x++) s += t[clamp(p + int2(x, y), 0, 7)]; return s / 9; }
[Differentiable] float4 squared(float4 a) { return a * a; }
"""

GLOBALS = """
import slangpy;
Texture2D<float4> global_texture;
SamplerState global_sampler;
float4 of_globals(float2 uv) { return global_texture.SampleLevel(global_sampler, uv, 0); }
"""


def tex(spy, device, format="rgba32_float", h=4, w=6, seed=1, **k):
    t = make(spy, device, format, w, h, **k)
    from cases_pictures_textures import channels_of, dtype_of
    c = channels_of(format)
    data = random(h, w, c, seed=seed)
    d = dtype_of(format)
    data = data if d in (np.float32, np.float16) else data * 100
    t.copy_from_numpy((data if c > 1 else data[..., 0]).astype(d))
    return t


def nearest(spy, device, **k):
    P = spy.TextureFilteringMode.point
    return device.create_sampler(min_filter=P, mag_filter=P, mip_filter=P, **k)


def call_cases():
    table = {"rgba32_float": "twice", "rgba16_float": "twice", "rgba8_unorm": "twice", "rgba8_snorm": "twice", "rgba16_unorm": "twice", "r32_float": "twice1", "r16_float": "twice1", "r8_unorm": "twice1", "rg32_float": "twice2", "rg16_float": "twice2",
             "rg8_unorm": "twice2", "rgba8_uint": "next", "rgba16_uint": "next", "rgba32_uint": "next", "rgba8_sint": "nexti", "rgba16_sint": "nexti", "rgba32_sint": "nexti", "r32_uint": "next1", "r8_uint": "next1"}
    for format, function in table.items():
        def f(spy, device, format=format, function=function):
            m = load(spy, device, CALLS)
            t = tex(spy, device, format)
            o = make(spy, device, format, 6, 4)
            g = getattr(m, function)
            return each(np=lambda: g(t, _result="numpy"), ten=lambda: g(t), into=lambda: g(t, _result=o), read=lambda: o.to_numpy(), ro=lambda: g(tex(spy, device, format, usage=spy.TextureUsage.shader_resource), _result="numpy"))
        f.__name__ = "texels_of_" + format
        case(f)


call_cases()


@case
def texels_and_other_arguments(spy, device):
    m = load(spy, device, CALLS)
    t, u, one = tex(spy, device), tex(spy, device, seed=2), tex(spy, device, h=1, w=6, seed=3)
    return each(tt=lambda: m.add(t, u, _result="numpy"), ts=lambda: m.scaled(t, 2.0, _result="numpy"), ta=lambda: m.scaled(t, random(4, 6), _result="numpy"), row=lambda: m.scaled(t, random(6), _result="numpy"), tv=lambda: m.add(t, spy.float4(1, 2, 3, 4), _result="numpy"), bc=lambda: m.add(t, one, _result="numpy"),
                wrong=lambda: error(m.add, t, tex(spy, device, h=3, w=6)), ten=lambda: m.add(t, spy.Tensor.from_numpy(device, random(4, 6, 4)), _result="numpy"), narrow=lambda: fails(m.rgb, t), one=lambda: fails(m.twice, tex(spy, device, "r32_float")), big=lambda: m.scaled(t, random(3, 4, 6), _result="numpy"))


@case
def texels_in_and_out(spy, device):
    m = load(spy, device, CALLS)
    t, o, b = tex(spy, device), make(spy, device, "rgba32_float", 6, 4), make(spy, device, "rgba8_unorm", 6, 4)
    ro = tex(spy, device, usage=spy.TextureUsage.shader_resource)
    return each(put=lambda: m.put(t, o), o=lambda: o.to_numpy(), b=lambda: m.put(t, b), bn=lambda: b.to_numpy(), ch=lambda: m.change(t), t=lambda: t.to_numpy(), ro=lambda: fails(m.change, ro), ro2=lambda: fails(m.put, t, ro), small=lambda: error(m.put, t, make(spy, device, "rgba32_float", 5, 4)),
                fill=lambda: m.put(spy.float4(1, 2, 3, 4), o), o2=lambda: o.to_numpy())


@case
def results_as_textures(spy, device):
    m = load(spy, device, CALLS)
    def r(f, *a):
        t = f(*a, _result="texture")
        return [t.type, t.format, t.width, t.height, t.depth, t.to_numpy()]
    return each(f4=lambda: r(m.twice, tex(spy, device)), f1=lambda: r(m.twice1, random(3, 5)), f2=lambda: r(m.twice2, random(3, 5, 2)), f3=lambda: r(m.rgb, random(3, 5, 3)), u4=lambda: r(m.next, np.ones((2, 3, 4), np.uint32)), i4=lambda: r(m.nexti, np.ones((2, 3, 4), np.int32)), d1=lambda: r(m.twice1, random(5)), d3=lambda: r(m.twice1, random(2, 3, 4)),
                h4=lambda: r(m.halved, np.ones((2, 3, 4), np.float16)), d4=lambda: error(r, m.twice1, random(2, 2, 2, 2)), none=lambda: error(r, m.twice1, 1.0), typ=lambda: m.twice(tex(spy, device), _result=spy.Texture).format, rt=lambda: m.twice.return_type("texture")(tex(spy, device)).format, rt2=lambda: m.twice.return_type(spy.Texture)(tex(spy, device)).width)


@case
def results_into_textures(spy, device):
    m = load(spy, device, CALLS)
    def into(f, format, *a, w=6, h=4, **k):
        t = make(spy, device, format, w, h, **k)
        f(*a, _result=t)
        return t.to_numpy()
    T = lambda: tex(spy, device)
    return each(un=lambda: into(m.twice, "rgba8_unorm", T()), h=lambda: into(m.twice, "rgba16_float", T()), sn=lambda: into(m.twice, "rgba8_snorm", T()), scal=lambda: into(m.twice, "rgba32_float", spy.float4(1, 2, 3, 4)), grey=lambda: into(m.grey, "r32_float", T()), greyu=lambda: into(m.grey, "r8_unorm", T()), nar=lambda: fails(into, m.grey, "rgba32_float", T()),
                wide=lambda: fails(into, m.twice, "r32_float", T()), uint=lambda: into(m.next, "rgba8_uint", np.ones((4, 6, 4), np.uint32)), fu=lambda: fails(into, m.twice, "rgba8_uint", T()), rgb=lambda: fails(into, m.rgb, "rgba32_float", random(4, 6, 3)), size=lambda: error(into, m.twice, "rgba32_float", T(), w=3), srgb=lambda: fails(into, m.twice, "rgba8_unorm_srgb", T()))


@case
def texels_by_call_id(spy, device):
    m = load(spy, device, CALLS)
    t, o = tex(spy, device), make(spy, device, "rgba32_float", 6, 4)
    return each(id=lambda: m.fetch(spy.call_id(), t, _result=o), on=lambda: o.to_numpy(), pos=lambda: m.position(spy.call_id(), _result=o), pn=lambda: o.to_numpy(), grid=lambda: m.fetch(spy.grid((4, 6)), t, _result="numpy"), one=lambda: m.fetch(spy.int2(2, 1), t), st=lambda: m.store(spy.call_id(), tex(spy, device, seed=3), o), sn=lambda: o.to_numpy(),
                inc=lambda: m.increment(spy.grid((4, 6)), o), inn=lambda: o.to_numpy(), lst=lambda: m.fetch([2, 1], t), tens=lambda: m.fetch(np.array([[0, 0], [5, 3]], np.int32), t, _result="numpy"))


@case
def whole_textures_of_other_types(spy, device):
    m = load(spy, device, CALLS)
    T = spy.TextureType
    a = device.create_texture(type=T.texture_1d, format=spy.Format.r32_float, width=8, usage=usage(spy), data=random(8))
    b = device.create_texture(type=T.texture_3d, format=spy.Format.rgba32_float, width=3, height=4, depth=2, usage=usage(spy), data=random(2, 4, 3, 4))
    c = device.create_texture(type=T.texture_2d_array, format=spy.Format.rgba32_float, width=3, height=4, array_length=2, usage=usage(spy))
    d = device.create_texture(type=T.texture_cube, format=spy.Format.rgba32_float, width=4, height=4, usage=usage(spy))
    for l in range(6):
        d.copy_from_numpy(np.full((4, 4, 4), l, np.float32), l)
        if l < 2:
            c.copy_from_numpy(random(4, 3, 4, seed=l), l)
    s = nearest(spy, device)
    dirs = np.array([[1, 0, 0], [-1, 0, 0], [0, 1, 0], [0, -1, 0], [0, 0, 1], [0, 0, -1]], np.float32)
    return each(d1=lambda: m.fetch1(spy.grid((8,)), a, _result="numpy"), d3=lambda: m.fetch3(spy.grid((2, 4, 3)), b, _result="numpy"), arr=lambda: m.fetch_array(spy.grid((2, 4, 3)), c, _result="numpy"), cube=lambda: m.at_cube(dirs, d, s, _result="numpy"), at3=lambda: m.at_3d(random(5, 3), b, s, _result="numpy"), ata=lambda: m.at_array(np.array([[0.5, 0.5, 0], [0.5, 0.5, 1]], np.float32), c, s, _result="numpy"),
                tx=lambda: m.twice1(a, _result="numpy"), t3=lambda: m.twice(b, _result="numpy"), ta=lambda: m.twice(c, _result="numpy"), wrong=lambda: fails(m.fetch, spy.int2(0, 0), b), wrong2=lambda: fails(m.fetch1, 0, tex(spy, device)), cub=lambda: fails(m.twice, d))


@case
def storing_to_other_types(spy, device):
    m = load(spy, device, CALLS)
    T = spy.TextureType
    b = device.create_texture(type=T.texture_3d, format=spy.Format.r32_float, width=3, height=4, depth=2, usage=usage(spy))
    c = device.create_texture(type=T.texture_2d_array, format=spy.Format.rgba32_float, width=3, height=4, array_length=2, usage=usage(spy))
    u = make(spy, device, "rgba8_uint", 3, 2)
    f = make(spy, device, "r32_float", 3, 2)
    return each(s3=lambda: m.store3(spy.grid((2, 4, 3)), random(2, 4, 3), b), b=lambda: b.to_numpy(), sa=lambda: m.store_array(spy.grid((2, 4, 3)), random(2, 4, 3, 4), c), c=lambda: [c.to_numpy(l) for l in range(2)], su=lambda: m.store_uint(spy.grid((2, 3)), spy.uint4(1, 2, 3, 4), u), u=lambda: u.to_numpy(), s1=lambda: m.store1(spy.grid((2, 3)), random(2, 3), f), f=lambda: f.to_numpy(),
                out3=lambda: m.twice1(random(2, 4, 3), _result=b), bb=lambda: b.to_numpy(), outa=lambda: m.twice(random(2, 4, 3, 4), _result=c), cc=lambda: [c.to_numpy(l) for l in range(2)])


@case
def views_as_texture_arguments(spy, device):
    m = load(spy, device, CALLS)
    t = make(spy, device, "rgba32_float", 8, 8, mip_count=3)
    for i in range(3):
        t.copy_from_numpy(random(8 >> i, 8 >> i, 4, seed=i), mip=i)
    c = device.create_texture(type=spy.TextureType.texture_2d_array, format=spy.Format.rgba32_float, width=3, height=4, array_length=3, usage=usage(spy))
    for l in range(3):
        c.copy_from_numpy(random(4, 3, 4, seed=l), l)
    one = lambda i: t.create_view(mip=i, mip_count=1)
    return each(m0=lambda: m.twice(one(0), _result="numpy"), m1=lambda: m.twice(one(1), _result="numpy"), m2=lambda: m.fetch(spy.grid((2, 2)), one(2), _result="numpy"), out=lambda: m.twice(one(0), _result=one(0)), layer=lambda: m.twice(c.create_view(layer=1, layer_count=1), _result="numpy"), layers=lambda: m.twice(c.create_view(layer=1, layer_count=2), _result="numpy"),
                put=lambda: m.put(one(1), one(1)), read=lambda: t.to_numpy(mip=1), down=lambda: m.store(spy.grid((4, 4)), random(4, 4, 4), one(1)), rd=lambda: t.to_numpy(mip=1), lev=lambda: m.fetch_level(spy.int2(1, 1), 1, t), size=lambda: m.size_of(one(1)), lv=lambda: m.size_and_levels(t))


@case
def mips_of_whole_textures(spy, device):
    m = load(spy, device, CALLS)
    t = make(spy, device, "rgba32_float", 8, 8, mip_count=4)
    for i in range(4):
        t.copy_from_numpy(random(8 >> i, 8 >> i, 4, seed=i), mip=i)
    lin = device.create_sampler(address_u=spy.TextureAddressingMode.clamp_to_edge, address_v=spy.TextureAddressingMode.clamp_to_edge)
    uv = random(16, 2)
    return each(p=lambda: m.at_level(uv, 1.0, t, nearest(spy, device), _result="numpy"), f=lambda: np.round(m.at_level(uv, random(16) * 3, t, lin, _result="numpy"), 1), l=lambda: [m.fetch_level(spy.int2(0, 0), i, t) for i in range(4)], g=lambda: np.round(m.graded(uv, spy.float2(0.25, 0), spy.float2(0, 0.25), t, lin, _result="numpy"), 1))


def sampler_cases():
    for mode in ("wrap", "clamp_to_edge", "clamp_to_border", "mirror_repeat", "mirror_once"):
        for filter in ("point", "linear"):
            def f(spy, device, mode=mode, filter=filter):
                m = load(spy, device, CALLS)
                t = tex(spy, device, h=4, w=4)
                A, F = getattr(spy.TextureAddressingMode, mode), getattr(spy.TextureFilteringMode, filter)
                s = device.create_sampler(address_u=A, address_v=A, address_w=A, min_filter=F, mag_filter=F, mip_filter=F, border_color=[0, 0, 0, 0])
                uv = (random(32, 2) * 4 - 1.5).astype(np.float32)
                uv = np.floor(uv * 64) / 64 + 1 / 256
                return np.round(m.at(uv.astype(np.float32), t, s, _result="numpy"), 2)
            f.__name__ = f"sampling_{mode}_{filter}"
            case(f)


sampler_cases()


@case
def sampler_more(spy, device):
    m = load(spy, device, CALLS)
    t = tex(spy, device, h=4, w=4)
    A = spy.TextureAddressingMode.clamp_to_border
    black = device.create_sampler(address_u=A, address_v=A, border_color=[0, 0, 0, 1])
    white = device.create_sampler(address_u=A, address_v=A, border_color=[1, 1, 1, 1])
    r = tex(spy, device, "r32_float", h=4, w=4)
    cmp = device.create_sampler(reduction_op=spy.TextureReductionOp.comparison, comparison_func=spy.ComparisonFunc.less_equal, min_filter=spy.TextureFilteringMode.point, mag_filter=spy.TextureFilteringMode.point)
    return each(black=lambda: m.at(spy.float2(-1, -1), t, black), white=lambda: m.at(spy.float2(-1, -1), t, white), gather=lambda: m.gathered(spy.float2(0.5, 0.5), t, nearest(spy, device)), cmp=lambda: m.compared(random(8, 2), 0.5, r, cmp, _result="numpy"), nosampler=lambda: fails(m.at, spy.float2(0, 0), t), swapped=lambda: fails(m.at, spy.float2(0, 0), nearest(spy, device), t))


@case
def textures_in_structs_globals_arrays(spy, device):
    m, g = load(spy, device, CALLS), load(spy, device, GLOBALS)
    t, u, s = tex(spy, device), tex(spy, device, seed=2), nearest(spy, device)
    uv = random(8, 2)
    return each(st=lambda: m.shade({"albedo": t, "sampler": s, "tint": spy.float4(1, 2, 3, 4)}, uv, _result="numpy"), sv=lambda: m.shade({"albedo": t, "sampler": s, "tint": random(8, 4)}, uv, _result="numpy"), typed=lambda: m.shade({"_type": "Material", "albedo": t, "sampler": s, "tint": spy.float4(1)}, spy.float2(0.5, 0.5)), pair=lambda: m.both({"a": t, "b": u}, spy.grid((4, 6)), _result="numpy"),
                arr=lambda: m.in_array([t, u], spy.grid((4, 6)), _result="numpy"), glob=lambda: g.of_globals.set({"global_texture": t, "global_sampler": s})(uv, _result="numpy"), again=lambda: g.of_globals.set(global_texture=u, global_sampler=s)(uv, _result="numpy"), view=lambda: g.of_globals.set({"global_texture": t.create_view(), "global_sampler": s})(uv, _result="numpy"),
                vec=lambda: fails(m.shade, {"albedo": t, "sampler": s, "tint": t}, uv))


@case
def texture_calls_appended(spy, device):
    m = load(spy, device, CALLS)
    t, o = tex(spy, device), make(spy, device, "rgba32_float", 6, 4)
    def go():
        submit(device, lambda e: (e.clear_texture_float(o, clear_value=[1, 1, 1, 1]), m.change.append_to(e, o), m.add(o, t, _result=o, _append_to=e), m.increment.append_to(e, spy.grid((4, 6)), o)))
        return o.to_numpy()
    return each(go=go)


@case
def texture_calls_repeated(spy, device):
    m = load(spy, device, CALLS)
    a, b = tex(spy, device, h=8, w=8), make(spy, device, "rgba32_float", 8, 8)
    def go():
        x, y = a, b
        for _ in range(6):
            m.blurred(spy.call_id(), x, _result=y)
            x, y = y, x
        return x.to_numpy()
    return each(go=go, sizes=lambda: [m.size_of(tex(spy, device, h=h, w=w)) for h, w in ((1, 1), (3, 200), (17, 5))], bwds=lambda: fails(m.squared.bwds, a, b))


# >>compute pipelines


def module_of(device, source):
    return device.load_module_from_source("p" + hashlib.sha1(source.encode()).hexdigest()[:12], source)


def program(device, source, *names, **k):
    m = module_of(device, source)
    return device.link_program([m], [m.entry_point(n) for n in names], **k)


COMPUTE = """
RWTexture2D<float4> result;
Texture2D<float4> source;
SamplerState sampler;
struct Params { float2 offset; float scale; Texture2D<float4> extra; };
ParameterBlock<Params> params;
uniform float4 tint;
extern static const int COUNT = 3;
[shader("compute")] [numthreads(8, 4, 1)]
void fill(uint3 tid : SV_DispatchThreadID, uniform float4 color) { uint w, h; result.GetDimensions(w, h); if (any(tid.xy >= uint2(w, h))) return; result[tid.xy] = color * tint; }
[shader("compute")] [numthreads(8, 8, 1)]
void resample(uint3 tid : SV_DispatchThreadID) { uint w, h; result.GetDimensions(w, h); if (any(tid.xy >= uint2(w, h))) return; result[tid.xy] = source.SampleLevel(sampler, (tid.xy + 0.5) / float2(w, h), 0); }
[shader("compute")] [numthreads(16, 1, 1)]
void block(uint3 tid : SV_DispatchThreadID, RWTexture2D<float4> target) { target[uint2(tid.x, 0)] = params.extra[uint2(tid.x, 0)] * params.scale + float4(params.offset, COUNT, 0); }
"""


@case
def compute_kernel_on_textures(spy, device):
    t = make(spy, device, "rgba32_float", 13, 7)
    k = device.create_compute_kernel(program(device, COMPUTE, "fill"))
    def go(**v):
        k.dispatch(thread_count=[13, 7, 1], **v)
        return t.to_numpy()
    return each(a=lambda: go(vars={"result": t, "tint": [1, 2, 3, 4]}, color=spy.float4(1)), b=lambda: go(vars={"result": t.create_view({}), "tint": spy.float4(2)}, color=[1, 2, 3, 4]), grp=lambda: k.pipeline.thread_group_size, lay=lambda: k.pipeline is not None, missing=lambda: fails(lambda: k.dispatch([1, 1, 1], vars={"nothing": 1})))


@case
def compute_pipeline_with_root_object(spy, device):
    t, s = make(spy, device, "rgba32_float", 12, 8), tex(spy, device, h=4, w=6)
    p = device.create_compute_pipeline(program(device, COMPUTE, "resample"))
    def direct():
        e = device.create_command_encoder()
        with e.begin_compute_pass() as c:
            root = c.bind_pipeline(p)
            cursor = spy.ShaderCursor(root)
            cursor.result, cursor.source, cursor["sampler"] = t, s, nearest(spy, device)
            c.dispatch([12, 8, 1])
        device.submit_command_buffer(e.finish())
        return t.to_numpy()
    def prepared():
        root = device.create_root_shader_object(program(device, COMPUTE, "resample"))
        cursor = spy.ShaderCursor(root)
        cursor["result"], cursor["source"], cursor["sampler"] = t.create_view({}), s.create_view({}), device.create_sampler(address_u=spy.TextureAddressingMode.clamp_to_edge, address_v=spy.TextureAddressingMode.clamp_to_edge, min_filter=spy.TextureFilteringMode.point, mag_filter=spy.TextureFilteringMode.point)
        e = device.create_command_encoder()
        with e.begin_compute_pass() as c:
            c.bind_pipeline(p, root)
            c.dispatch_compute([2, 1, 1])
        device.submit_command_buffer(e.finish())
        return t.to_numpy()
    return each(direct=direct, prepared=prepared, group=lambda: p.thread_group_size, type=lambda: type(p).__name__)


@case
def compute_pipeline_with_blocks(spy, device):
    t, s = make(spy, device, "rgba32_float", 16, 1), tex(spy, device, h=1, w=16)
    def run(prog):
        p = device.create_compute_pipeline(prog)
        e = device.create_command_encoder()
        with e.begin_compute_pass() as c:
            cursor = spy.ShaderCursor(c.bind_pipeline(p))
            cursor.params.offset, cursor.params.scale, cursor.params.extra = [1, 2], 3.0, s
            cursor.find_entry_point(0).target = t
            c.dispatch([16, 1, 1])
        device.submit_command_buffer(e.finish())
        return t.to_numpy()
    def constant():
        m = module_of(device, COMPUTE)
        extra = device.load_module_from_source("pictures_constant", "export static const int COUNT = 42;")
        return run(device.link_program([m, extra], [m.entry_point("block")]))
    def dicts():
        k = device.create_compute_kernel(program(device, COMPUTE, "block"))
        k.dispatch([16, 1, 1], vars={"params": {"offset": spy.float2(3, 4), "scale": 0.5, "extra": s}}, target=t)
        return t.to_numpy()
    return each(a=lambda: run(program(device, COMPUTE, "block")), c=constant, d=dicts)


@case
def shader_cursor_of_textures(spy, device):
    root = device.create_root_shader_object(program(device, COMPUTE, "resample", "block"))
    c = spy.ShaderCursor(root)
    return each(v=lambda: c.is_valid(), f=lambda: [c.has_field(n) for n in ("result", "source", "sampler", "params", "tint", "nothing")], inner=lambda: [c.params.has_field(n) for n in ("offset", "extra", "x")], i=lambda: c.find_field_index("nothing"), bad=lambda: fails(lambda: setattr(c, "result", 3)), bad2=lambda: fails(lambda: setattr(c, "sampler", make(spy, device))), bad3=lambda: fails(lambda: setattr(c, "tint", make(spy, device))),
                nof=lambda: c.find_field("nothing").is_valid(), ep=lambda: c.find_entry_point(1).has_field("target"))


@case
def indirect_dispatch_on_textures(spy, device):
    t = make(spy, device, "rgba32_float", 16, 8)
    p = device.create_compute_pipeline(program(device, COMPUTE, "fill"))
    b = device.create_buffer(data=np.array([0, 0, 2, 1, 1], np.uint32), usage=spy.BufferUsage.indirect_argument | spy.BufferUsage.copy_source)
    def go(arg):
        submit(device, lambda e: e.clear_texture_float(t, clear_value=[0, 0, 0, 0]))
        e = device.create_command_encoder()
        with e.begin_compute_pass() as c:
            cursor = spy.ShaderCursor(c.bind_pipeline(p))
            cursor.result, cursor.tint = t, spy.float4(1)
            cursor.find_entry_point(0).color = spy.float4(1, 2, 3, 4)
            c.dispatch_compute_indirect(arg)
        device.submit_command_buffer(e.finish())
        return t.to_numpy()
    return each(pair=lambda: go(spy.BufferOffsetPair(b, 8)), dict=lambda: go({"buffer": b, "offset": 8}))


@case
def reflection_of_texture_programs(spy, device):
    p = program(device, COMPUTE, "fill", "resample", "block")
    l = p.layout
    def var(v):
        return [v.name, v.type_layout.name, v.type_layout.kind]
    def shape(name):
        t = l.find_type_by_name(name)
        return [t.kind, t.resource_shape, t.resource_access, error(lambda: t.resource_result_type.full_name), t.full_name, t.name]
    kinds = ("Texture1D<float>", "Texture1DArray<float>", "Texture2D<float4>", "Texture2DArray<float4>", "Texture2DMS<float4>", "Texture3D<int>", "TextureCube<float4>", "TextureCubeArray<float4>", "RWTexture2D<float4>", "RWTexture3D<uint>", "SamplerState", "SamplerComparisonState", "StructuredBuffer<float>", "RWByteAddressBuffer", "Buffer<float>", "ParameterBlock<float4>", "RaytracingAccelerationStructure")
    return each(pars=lambda: [var(v) for v in l.parameters], eps=lambda: [[e.name, e.stage, e.compute_thread_group_size, [var(v) for v in e.parameters]] for e in l.entry_points], types=lambda: {k: error(shape, k) for k in kinds}, cur=lambda: [p.reflection.has_field(n) for n in ("result", "params", "x")], ct=lambda: p.reflection.params.extra.type.full_name,
                fs=lambda: [f.name for f in p.reflection.params.type_layout.fields] if p.reflection.params.type_layout.kind == spy.TypeReflection.Kind.struct else str(p.reflection.params.type_layout.kind))


@case
def functions_reflect_textures(spy, device):
    m = load(spy, device, CALLS)
    def f(name):
        x = m.layout.find_function_by_name(name)
        return [[p.name, p.type.full_name] for p in x.parameters] + [x.return_type.full_name if x.return_type else None]
    def t(name):
        x = m.layout.find_type_by_name(name)
        r = [type(x).__name__, x.full_name, str(x.shape), x.num_dims]
        return r + [error(lambda: x.texture_dims), error(lambda: x.element_type.full_name), error(lambda: x.writable)]
    return each(**{n: (lambda n=n: f(n)) for n in ("fetch", "at", "store", "shade", "in_array", "size_of")}, **{"t" + str(i): (lambda n=n: t(n)) for i, n in enumerate(("Texture2D<float4>", "RWTexture2D<float4>", "Texture3D<float>", "TextureCube<float4>", "Texture2DArray<float4>", "SamplerState", "Texture1D<uint>"))})


@case
def texture_marshalling_of_bindings(spy, device):
    m = load(spy, device, CALLS)
    t = tex(spy, device)
    def b(f, *a, **k):
        d = f.debug_build_call_data(*a, **k)
        return [[x.vector_type.full_name, list(x.vector_mapping.as_tuple())] for x in d.debug_only_bindings.args] + [d.call_dimensionality]
    return each(a=lambda: b(m.twice, t), b=lambda: b(m.scaled, t, 2.0), c=lambda: b(m.fetch, spy.call_id(), t), s=lambda: b(m.at, random(4, 2), t, nearest(spy, device)), sh=lambda: spy.slangpy.get_texture_shape(t), shm=lambda: list(spy.slangpy.get_texture_shape(make(spy, device, "r32_float", 8, 4, mip_count=2), 1)))


# >>raster

RASTER = """
struct VertexIn { float2 position : POSITION; float4 color : COLOR; }
struct Varyings { float4 position : SV_Position; float4 color : COLOR; }
uniform float4 tint;
uniform float depth;
[shader("vertex")] Varyings vertex_main(VertexIn v) { return { float4(v.position, depth, 1), v.color }; }
[shader("vertex")] Varyings by_id(uint id : SV_VertexID, uint instance : SV_InstanceID) { float2 p = float2((id << 1) & 2, id & 2) * 2 - 1; return { float4(p, depth, 1), float4(instance, id, 0, 1) }; }
[shader("vertex")] Varyings instanced(VertexIn v, float2 offset : OFFSET) { return { float4(v.position * 0.5 + offset, 0, 1), v.color }; }
[shader("fragment")] float4 fragment_main(Varyings v) : SV_Target { return v.color; }
[shader("fragment")] float4 tinted() : SV_Target { return tint; }
[shader("fragment")] float4 at_pixels(float4 p : SV_Position) : SV_Target { return float4(floor(p.xy), 0, 1); }
[shader("fragment")] uint4 integers(float4 p : SV_Position) : SV_Target { return uint4(uint2(p.xy), 7, 1); }
struct Targets { float4 a : SV_Target0; float4 b : SV_Target1; }
[shader("fragment")] Targets several(float4 p : SV_Position) { return { float4(1, 2, 3, 4), float4(p.xy, 0, 1) }; }
[shader("fragment")] float4 discarding(float4 p : SV_Position) : SV_Target { if (((int(p.x) + int(p.y)) & 1) == 1) discard; return 1; }
Texture2D<float4> picture;
SamplerState sampler;
[shader("fragment")] float4 textured(float4 p : SV_Position) : SV_Target { return picture.SampleLevel(sampler, p.xy / 16, 0); }
struct DepthOut { float4 c : SV_Target; float d : SV_Depth; }
[shader("fragment")] DepthOut own_depth(float4 p : SV_Position) { return { float4(1), p.x / 16 }; }
[shader("fragment")] float4 facing(bool front : SV_IsFrontFace) : SV_Target { return front ? float4(1, 0, 0, 1) : float4(0, 1, 0, 1); }
"""
raster = case(only=("vulkan",))


def target(spy, device, format="rgba32_float", size=16, **k):
    k.setdefault("usage", spy.TextureUsage.render_target | spy.TextureUsage.shader_resource)
    return device.create_texture(format=getattr(spy.Format, format), width=size, height=size, **k)


def triangles(spy, device, vertices=None):
    if vertices is None:
        vertices = np.array([[-0.77, -0.71, 1, 0, 0, 1], [0.81, -0.63, 0, 1, 0, 1], [0.03, 0.87, 0, 0, 1, 1]], np.float32)
    vb = device.create_buffer(usage=spy.BufferUsage.vertex_buffer | spy.BufferUsage.shader_resource, data=np.asarray(vertices, np.float32))
    layout = device.create_input_layout(input_elements=[{"semantic_name": "POSITION", "semantic_index": 0, "format": spy.Format.rg32_float, "offset": 0}, {"semantic_name": "COLOR", "semantic_index": 0, "format": spy.Format.rgba32_float, "offset": 8}], vertex_streams=[{"stride": 24}])
    return vb, layout


def pipeline(spy, device, vs, fs, layout=None, targets=None, **k):
    return device.create_render_pipeline(program=program(device, RASTER, vs, fs), input_layout=layout, targets=targets or [{"format": spy.Format.rgba32_float}], **k)


def draw(spy, device, p, attachments, record, state=None, values=None, depth=None, size=16):
    desc = {"color_attachments": [a if isinstance(a, dict) else {"view": a.create_view({}), "load_op": spy.LoadOp.clear, "store_op": spy.StoreOp.store, "clear_value": [0.0, 0.0, 0.0, 0.0]} for a in attachments]}
    if depth is not None:
        desc["depth_stencil_attachment"] = depth
    e = device.create_command_encoder()
    with e.begin_render_pass(desc) as r:
        root = r.bind_pipeline(p)
        for n, v in (values or {}).items():
            spy.ShaderCursor(root)[n] = v
        s = {"viewports": [spy.Viewport.from_size(size, size)], "scissor_rects": [spy.ScissorRect.from_size(size, size)]}
        s.update(state or {})
        r.set_render_state(s)
        record(r)
    device.submit_command_buffer(e.finish())


def simple(spy, device, vs, fs, count=3, values=None, state=None, format="rgba32_float", **k):
    vb, layout = triangles(spy, device)
    t = target(spy, device, format)
    p = pipeline(spy, device, vs, fs, layout if vs != "by_id" else None, [{"format": getattr(spy.Format, format)}], **k)
    draw(spy, device, p, [t], lambda r: r.draw({"vertex_count": count}), {"vertex_buffers": [vb], **(state or {})} if vs != "by_id" else state, values)
    return np.round(t.to_numpy().astype(np.float64), 3)


@raster
def raster_triangle(spy, device):
    return each(flat=lambda: simple(spy, device, "vertex_main", "tinted", values={"tint": spy.float4(1, 2, 3, 4), "depth": 0.5}), colors=lambda: simple(spy, device, "vertex_main", "fragment_main", values={"depth": 0.5}), id=lambda: simple(spy, device, "by_id", "at_pixels", values={"depth": 0.5}), none=lambda: simple(spy, device, "by_id", "tinted", 0), frac=lambda: simple(spy, device, "vertex_main", "at_pixels"))


@raster
def raster_draw_argument_forms(spy, device):
    def go(args):
        t = target(spy, device)
        p = pipeline(spy, device, "by_id", "fragment_main")
        draw(spy, device, p, [t], lambda r: r.draw(args), values={"depth": 0.5})
        return np.round(t.to_numpy(), 3)
    a = spy.DrawArguments()
    a.vertex_count = 3
    return each(desc=lambda: go(a), ctor=lambda: go(spy.DrawArguments({"vertex_count": 3})), inst=lambda: go({"vertex_count": 3, "instance_count": 2}), defaults=lambda: [spy.DrawArguments().vertex_count, spy.DrawArguments().instance_count, spy.DrawArguments().start_index_location], startv=lambda: go({"vertex_count": 3, "start_vertex_location": 0, "start_instance_location": 0}))


@raster
def raster_indexed(spy, device):
    vb, layout = triangles(spy, device, np.array([[-1, -1, 1, 0, 0, 1], [1, -1, 0, 1, 0, 1], [1, 1, 0, 0, 1, 1], [-1, 1, 1, 1, 1, 1]], np.float32))
    def go(dtype, format, count, start=0, indices=(0, 1, 2, 0, 2, 3), base=0):
        ib = device.create_buffer(usage=spy.BufferUsage.index_buffer, data=np.array(indices, dtype))
        t = target(spy, device)
        p = pipeline(spy, device, "vertex_main", "fragment_main", layout)
        draw(spy, device, p, [t], lambda r: r.draw_indexed({"vertex_count": count, "start_index_location": start, "start_vertex_location": base}), {"vertex_buffers": [vb], "index_buffer": ib, "index_format": format}, {"depth": 0.5})
        return np.round(t.to_numpy(), 2)
    I = spy.IndexFormat
    return each(u32=lambda: go(np.uint32, I.uint32, 6), u16=lambda: go(np.uint16, I.uint16, 6), second=lambda: go(np.uint32, I.uint32, 3, 3), base=lambda: go(np.uint32, I.uint32, 3, 0, (0, 1, 2), 1))


@raster
def raster_indirect(spy, device):
    vb, layout = triangles(spy, device)
    ib = device.create_buffer(usage=spy.BufferUsage.index_buffer, data=np.array([0, 1, 2], np.uint32))
    a = device.create_buffer(usage=spy.BufferUsage.indirect_argument, data=np.array([9, 3, 1, 0, 0], np.uint32))
    b = device.create_buffer(usage=spy.BufferUsage.indirect_argument, data=np.array([3, 1, 0, 0, 0], np.uint32))
    p = pipeline(spy, device, "vertex_main", "tinted", layout)
    def go(f):
        t = target(spy, device)
        draw(spy, device, p, [t], f, {"vertex_buffers": [vb], "index_buffer": ib, "index_format": spy.IndexFormat.uint32}, {"depth": 0.5, "tint": spy.float4(1)})
        return t.to_numpy()[..., 0]
    return each(d=lambda: go(lambda r: r.draw_indirect(1, spy.BufferOffsetPair(a, 4))), i=lambda: go(lambda r: r.draw_indexed_indirect(1, spy.BufferOffsetPair(b))), buf=lambda: go(lambda r: r.draw_indexed_indirect(1, b)))


@raster
def raster_instances(spy, device):
    vb, _ = triangles(spy, device)
    ib = device.create_buffer(usage=spy.BufferUsage.vertex_buffer, data=np.array([[-0.5, -0.5], [0.5, 0.5]], np.float32))
    F = spy.Format
    layout = device.create_input_layout([{"semantic_name": "POSITION", "format": F.rg32_float}, {"semantic_name": "COLOR", "format": F.rgba32_float, "offset": 8}, {"semantic_name": "OFFSET", "format": F.rg32_float, "buffer_slot_index": 1}],
                                        [{"stride": 24}, {"stride": 8, "slot_class": spy.InputSlotClass.per_instance, "instance_data_step_rate": 1}])
    t = target(spy, device)
    p = pipeline(spy, device, "instanced", "fragment_main", layout)
    draw(spy, device, p, [t], lambda r: r.draw({"vertex_count": 3, "instance_count": 2}), {"vertex_buffers": [vb, ib]})
    return np.round(t.to_numpy(), 2)


@raster
def raster_topologies(spy, device):
    T = spy.PrimitiveTopology
    return each(**{n: (lambda n=n: simple(spy, device, "vertex_main", "tinted", values={"tint": spy.float4(1), "depth": 0.5}, primitive_topology=getattr(T, n))) for n in ("triangle_list", "triangle_strip", "line_list", "line_strip")})


@raster
def raster_culling(spy, device):
    C, W = spy.CullMode, spy.FrontFaceMode
    return each(**{f"{c.name}_{w.name}": (lambda c=c, w=w: simple(spy, device, "vertex_main", "tinted", values={"tint": spy.float4(1), "depth": 0.5}, rasterizer={"cull_mode": c, "front_face": w})) for c in C for w in W}, facing=lambda: simple(spy, device, "vertex_main", "facing", values={"depth": 0.5}),
                clockwise=lambda: simple(spy, device, "vertex_main", "facing", values={"depth": 0.5}, rasterizer={"front_face": W.clockwise}), obj=lambda: simple(spy, device, "vertex_main", "tinted", values={"tint": spy.float4(1), "depth": 0.5}, rasterizer=spy.RasterizerDesc({"cull_mode": C.back})))


@raster
def raster_scissor_and_viewport(spy, device):
    V, S = spy.Viewport, spy.ScissorRect
    def go(state, **k):
        return simple(spy, device, "by_id", "tinted", values={"tint": spy.float4(1), "depth": 0.5}, state=state, **k)
    return each(sc=lambda: go({"scissor_rects": [S({"min_x": 2, "min_y": 3, "max_x": 9, "max_y": 12})]}), vp=lambda: go({"viewports": [V({"x": 4, "y": 2, "width": 8, "height": 5})]}), en=lambda: go({"scissor_rects": [S({"min_x": 2, "min_y": 3, "max_x": 9, "max_y": 12})]}, rasterizer={"scissor_enable": True}), rep=lambda: [repr(V.from_size(4, 5)), repr(S.from_size(4, 5))],
                vd=lambda: [V().min_depth, V().max_depth, V().width], st=lambda: [spy.RenderState().stencil_ref, spy.RenderState().index_format, len(spy.RenderState().viewports)])


@raster
def raster_depth(spy, device):
    Z = spy.ComparisonFunc
    def go(func, write=True, clear=1.0, first=0.3, second=0.6):
        d = device.create_texture(format=spy.Format.d32_float, width=16, height=16, usage=spy.TextureUsage.depth_stencil | spy.TextureUsage.shader_resource)
        t = target(spy, device)
        p = pipeline(spy, device, "by_id", "tinted", depth_stencil={"format": spy.Format.d32_float, "depth_test_enable": True, "depth_write_enable": write, "depth_func": func})
        for i, z in enumerate((first, second)):
            draw(spy, device, p, [{"view": t.create_view({}), "load_op": spy.LoadOp.load if i else spy.LoadOp.clear, "clear_value": [0, 0, 0, 0]}], lambda r: r.draw({"vertex_count": 3}), values={"tint": spy.float4(i + 1), "depth": z},
                 depth={"view": d.create_view({}), "depth_load_op": spy.LoadOp.load if i else spy.LoadOp.clear, "depth_clear_value": clear})
        return [t.to_numpy()[3, 3], d.to_numpy()[3, 3]]
    return each(**{z.name: (lambda z=z: go(z)) for z in Z}, nowrite=lambda: go(Z.less, False), back=lambda: go(Z.greater, clear=0.0))


@raster
def raster_depth_written(spy, device):
    d = device.create_texture(format=spy.Format.d32_float, width=16, height=16, usage=spy.TextureUsage.depth_stencil | spy.TextureUsage.shader_resource)
    t = target(spy, device)
    p = pipeline(spy, device, "by_id", "own_depth", depth_stencil={"format": spy.Format.d32_float, "depth_test_enable": True, "depth_write_enable": True, "depth_func": spy.ComparisonFunc.always})
    draw(spy, device, p, [t], lambda r: r.draw({"vertex_count": 3}), values={"depth": 0.5}, depth={"view": d.create_view({}), "depth_load_op": spy.LoadOp.clear})
    return np.round(d.to_numpy(), 3)


@raster
def raster_blending(spy, device):
    B, O = spy.BlendFactor, spy.BlendOp
    def go(color, alpha=None, mask=None, enable=True):
        t = target(spy, device)
        desc = {"format": spy.Format.rgba32_float, "enable_blend": enable, "color": color, "alpha": alpha or color}
        if mask is not None:
            desc["write_mask"] = mask
        p = pipeline(spy, device, "by_id", "tinted", targets=[desc])
        draw(spy, device, p, [{"view": t.create_view({}), "load_op": spy.LoadOp.clear, "clear_value": [0.1, 0.2, 0.3, 0.4]}], lambda r: r.draw({"vertex_count": 3}), values={"tint": spy.float4(0.5, 0.25, 1, 0.5), "depth": 0.5})
        return np.round(t.to_numpy()[5, 5], 4)
    M = spy.RenderTargetWriteMask
    return each(over=lambda: go({"src_factor": B.src_alpha, "dst_factor": B.inv_src_alpha, "op": O.add}), add=lambda: go({"src_factor": B.one, "dst_factor": B.one}), **{"op_" + o.name: (lambda o=o: go({"src_factor": B.one, "dst_factor": B.one, "op": o})) for o in O},
                **{f.name: (lambda f=f: go({"src_factor": f, "dst_factor": B.zero})) for f in B if "secondary" not in f.name and "blend" not in f.name}, alpha=lambda: go({"src_factor": B.one, "dst_factor": B.zero}, {"src_factor": B.zero, "dst_factor": B.one}), mask=lambda: go({}, mask=M.red | M.alpha, enable=False), nomask=lambda: go({}, mask=M.none, enable=False),
                desc=lambda: go(spy.AspectBlendDesc({"src_factor": B.one, "dst_factor": B.one})))


@raster
def raster_several_targets(spy, device):
    a, b = target(spy, device), target(spy, device, "rgba16_float")
    p = pipeline(spy, device, "by_id", "several", targets=[{"format": spy.Format.rgba32_float}, {"format": spy.Format.rgba16_float}])
    draw(spy, device, p, [a, b], lambda r: r.draw({"vertex_count": 3}), values={"depth": 0.5})
    return [a.to_numpy(), b.to_numpy()]


@raster
def raster_multisampled(spy, device):
    vb, layout = triangles(spy, device)
    def go(samples):
        ms = device.create_texture(type=spy.TextureType.texture_2d_ms, format=spy.Format.rgba32_float, width=16, height=16, sample_count=samples, usage=spy.TextureUsage.render_target | spy.TextureUsage.resolve_source)
        t = target(spy, device, usage=spy.TextureUsage.render_target | spy.TextureUsage.resolve_destination | spy.TextureUsage.shader_resource)
        p = pipeline(spy, device, "vertex_main", "tinted", layout, multisample={"sample_count": samples})
        draw(spy, device, p, [{"view": ms.create_view({}), "resolve_target": t.create_view({}), "load_op": spy.LoadOp.clear, "store_op": spy.StoreOp.store, "clear_value": [0, 0, 0, 0]}], lambda r: r.draw({"vertex_count": 3}), {"vertex_buffers": [vb]}, {"tint": spy.float4(1), "depth": 0.5})
        x = t.to_numpy()[..., 0]
        return [round(float(x.sum()) / 4), bool(((x > 0) & (x < 1)).any())]
    return each(two=lambda: go(4))


@raster
def raster_formats(spy, device):
    def go(format, fs="tinted"):
        return simple(spy, device, "by_id", fs, values={"tint": spy.float4(0.25, 0.5, 1, 0.75), "depth": 0.5}, format=format)[3, 3]
    return each(**{f: (lambda f=f: go(f)) for f in ("rgba8_unorm", "bgra8_unorm", "rgba8_unorm_srgb", "rgba16_float", "r32_float", "rg16_float", "r8_unorm", "rgba8_snorm")}, u=lambda: go("rgba32_uint", "integers"), u8=lambda: go("rgba8_uint", "integers"))


@raster
def raster_textured(spy, device):
    return each(t=lambda: simple(spy, device, "by_id", "textured", values={"picture": tex(spy, device, h=16, w=16), "sampler": nearest(spy, device), "depth": 0.5}), d=lambda: simple(spy, device, "by_id", "discarding", values={"depth": 0.5}))


@raster
def raster_load_ops(spy, device):
    def go(op, store=None):
        t = target(spy, device, data=random(16, 16, 4))
        a = {"view": t.create_view({}), "load_op": op, "clear_value": [5, 6, 7, 8]}
        e = device.create_command_encoder()
        with e.begin_render_pass({"color_attachments": [a]}):
            pass
        device.submit_command_buffer(e.finish())
        return t.to_numpy()
    d = spy.RenderPassColorAttachment()
    return each(load=lambda: go(spy.LoadOp.load), clear=lambda: go(spy.LoadOp.clear), d=lambda: [d.load_op, d.store_op, d.clear_value, d.view], dd=lambda: [getattr(spy.RenderPassDepthStencilAttachment(), n) for n in ("depth_load_op", "depth_store_op", "depth_clear_value", "depth_read_only", "stencil_load_op", "stencil_store_op", "stencil_clear_value", "stencil_read_only")])


@raster
def raster_into_mips_and_layers(spy, device):
    t = device.create_texture(type=spy.TextureType.texture_2d_array, format=spy.Format.rgba32_float, width=16, height=16, array_length=2, mip_count=2, usage=spy.TextureUsage.render_target | spy.TextureUsage.shader_resource)
    submit(device, lambda e: e.clear_texture_float(t, clear_value=[0, 0, 0, 0]))
    p = pipeline(spy, device, "by_id", "at_pixels")
    draw(spy, device, p, [{"view": t.create_view(layer=1, layer_count=1, mip=1, mip_count=1), "load_op": spy.LoadOp.clear, "clear_value": [0, 0, 0, 0]}], lambda r: r.draw({"vertex_count": 3}), values={"depth": 0.5}, size=8)
    return [t.to_numpy(l, m) for l in range(2) for m in range(2)]


@raster
def raster_stencil(spy, device):
    d = device.create_texture(format=spy.Format.d32_float_s8_uint, width=16, height=16, usage=spy.TextureUsage.depth_stencil)
    t = target(spy, device)
    vb, layout = triangles(spy, device)
    side = {"stencil_func": spy.ComparisonFunc.equal, "stencil_pass_op": spy.StencilOp.keep}
    p = pipeline(spy, device, "vertex_main", "tinted", layout, depth_stencil={"format": spy.Format.d32_float_s8_uint, "stencil_enable": True, "front_face": side, "back_face": side})
    def go(ref):
        draw(spy, device, p, [t], lambda r: r.draw({"vertex_count": 3}), {"vertex_buffers": [vb], "stencil_ref": ref}, {"tint": spy.float4(1), "depth": 0.5}, depth={"view": d.create_view({}), "depth_load_op": spy.LoadOp.clear, "stencil_load_op": spy.LoadOp.clear, "stencil_clear_value": 1})
        return t.to_numpy()[..., 0]
    return each(equal=lambda: go(1), other=lambda: go(2))


@raster
def raster_errors(spy, device):
    vb, layout = triangles(spy, device)
    return each(fmt=lambda: fails(lambda: type(pipeline(spy, device, "by_id", "tinted", targets=[{"format": 3}])).__name__), noprog=lambda: fails(lambda: device.create_render_pipeline(input_layout=layout)), kind=lambda: fails(lambda: device.create_render_pipeline(program=3, input_layout=None)), desc=lambda: fails(spy.RenderPipelineDesc, {"x": 1}),
                unbound=lambda: fails(lambda: draw(spy, device, pipeline(spy, device, "by_id", "tinted"), [3], lambda r: None)), att=lambda: fails(lambda: device.create_command_encoder().begin_render_pass({"color_attachments": [{"view": 3}]})))


@raster
def raster_desc_objects(spy, device):
    d = spy.RenderPipelineDesc()
    d.program = program(device, RASTER, "by_id", "tinted")
    d.targets = [spy.ColorTargetDesc({"format": spy.Format.rgba32_float})]
    d.rasterizer = spy.RasterizerDesc({"cull_mode": spy.CullMode.none})
    names = {"RasterizerDesc": ("fill_mode", "cull_mode", "front_face", "depth_bias", "depth_bias_clamp", "slope_scaled_depth_bias", "depth_clip_enable", "scissor_enable", "multisample_enable", "antialiased_line_enable", "enable_conservative_rasterization", "forced_sample_count"), "MultisampleDesc": ("sample_count", "sample_mask", "alpha_to_coverage_enable", "alpha_to_one_enable"),
             "DepthStencilDesc": ("format", "depth_test_enable", "depth_write_enable", "depth_func", "stencil_enable", "stencil_read_mask", "stencil_write_mask"), "DepthStencilOpDesc": ("stencil_func",), "ColorTargetDesc": ("format", "write_mask", "enable_blend"), "AspectBlendDesc": ("src_factor", "dst_factor", "op"), "InputElementDesc": ("semantic_name", "semantic_index", "format", "offset", "buffer_slot_index"), "VertexStreamDesc": ("stride", "slot_class", "instance_data_step_rate")}
    def go():
        t = target(spy, device)
        draw(spy, device, device.create_render_pipeline(d), [t], lambda r: r.draw({"vertex_count": 3}), values={"tint": spy.float4(1, 2, 3, 4), "depth": 0.5})
        return t.to_numpy()[2, 2]
    return each(go=go, **{c: (lambda c=c: {n: getattr(getattr(spy, c)(), n) for n in names[c]}) for c in names})


@raster
def raster_wireframe_and_bias(spy, device):
    return each(w=lambda: (simple(spy, device, "vertex_main", "tinted", values={"tint": spy.float4(1), "depth": 0.5}, rasterizer={"fill_mode": spy.FillMode.wireframe}).sum() > 0))


@case(only=("vulkan", "cuda"))
def features_by_name(spy, device):
    return each(rt=lambda: fails(lambda: device.has_feature(spy.Feature.rasterization)), name=lambda: device.has_feature("rasterization"), unknown=lambda: device.has_feature("no_such_feature"), limits=lambda: device.info.limits.max_texture_dimension_2d > 1000, l1=lambda: device.info.limits.max_texture_dimension_1d > 1000, l3=lambda: device.info.limits.max_texture_dimension_3d > 100, lc=lambda: device.info.limits.max_texture_dimension_cube > 100, la=lambda: device.info.limits.max_texture_layers > 100)

"""Textures, samplers, views, bitmaps, loaders."""
import os
import tempfile

import numpy as np

from cases import case, each, error, fails, load, random

TEX = """
import slangpy;
float4 load4(Texture2D<float4> t, int2 at) { return t[at]; }
float4 take(float4 a) { return a; }
float take1(float a) { return a; }
float2 take2(float2 a) { return a; }
float4 plus(float4 a, float4 b) { return a + b; }
void put(RWTexture2D<float4> t, int2 at, float4 v) { t[at] = v; }
void out4(float4 a, out float4 b) { b = a * 2; }
float4 sampled(Texture2D<float4> t, SamplerState s, float2 uv) { return t.SampleLevel(s, uv, 0); }
float4 level(Texture2D<float4> t, int2 at, int m) { return t.Load(int3(at, m)); }
float4 layer(Texture2DArray<float4> t, int2 at, int l) { return t[uint3(at, l)]; }
float4 load3(Texture3D<float4> t, int3 at) { return t[at]; }
float load1(Texture1D<float> t, int at) { return t[at]; }
int2 id(int2 c) { return c; }
half4 makeh(float a) { return half4((half)a); }
int makei(int a) { return a; }
uint8_t makeb(uint8_t a) { return a; }
"""


def rw(spy):
    return spy.TextureUsage.shader_resource | spy.TextureUsage.unordered_access


def texture(spy, device, data, format="rgba32_float", **k):
    kind = {2: spy.TextureType.texture_2d, 3: spy.TextureType.texture_2d, 4: spy.TextureType.texture_3d}[data.ndim]
    if data.ndim == 4:
        k["depth"] = data.shape[0]
    h, w = data.shape[-3:-1] if data.ndim > 2 else data.shape
    return device.create_texture(type=k.pop("type", kind), format=getattr(spy.Format, format), width=w, height=h, usage=rw(spy), data=data, **k)


@case
def textures_as_arguments(spy, device):
    m = load(spy, device, TEX)
    a = random(3, 4, 4)
    t = texture(spy, device, a)
    o = device.create_texture(format=spy.Format.rgba32_float, width=4, height=3, usage=rw(spy))
    ro = device.create_texture(format=spy.Format.rgba32_float, width=4, height=3, usage=spy.TextureUsage.shader_resource)
    r1 = texture(spy, device, random(3, 4), "r32_float")
    return each(load=lambda: m.load4(t, spy.int2(1, 2)), grid=lambda: m.load4(t, spy.grid((3, 4)), _result="numpy"), take=lambda: m.take(t, _result="numpy"), plus=lambda: m.plus(t, spy.float4(1, 2, 3, 4), _result="numpy"), both=lambda: m.plus(t, t, _result="numpy"), put=lambda: m.put(o, spy.grid((3, 4)), spy.float4(1, 2, 3, 4)), o=lambda: o.to_numpy(), out=lambda: m.out4(t, o), o2=lambda: o.to_numpy(),
                res=lambda: m.take(t, _result=o) is o, o3=lambda: o.to_numpy(), str=lambda: m.take(t, _result="texture").to_numpy(), wro=lambda: fails(m.put, ro, spy.int2(0, 0), spy.float4(1)), one=lambda: m.take1(r1, _result="numpy"), wrong=lambda: fails(m.take1, t), wrong2=lambda: fails(m.take2, t), shape=lambda: m.take(t).shape, view=lambda: m.take(t.create_view({"mip": 0, "mip_count": 1}), _result="numpy"), map=lambda: fails(m.take.map((0, 1)), t), arr=lambda: m.plus(t, random(3, 4, 4), _result="numpy"), mism=lambda: fails(m.plus, t, random(2, 4, 4)))


@case
def textures_of_formats(spy, device):
    m = load(spy, device, TEX)
    out = {}
    for f, d, c, g in (("r32_float", np.float32, 1, m.take1), ("rg32_float", np.float32, 2, m.take2), ("rgba32_float", np.float32, 4, m.take), ("rgba16_float", np.float16, 4, m.take), ("rgba8_unorm", np.uint8, 4, m.take), ("r8_unorm", np.uint8, 1, m.take1), ("rgba8_snorm", np.int8, 4, m.take), ("r16_float", np.float16, 1, m.take1)):
        a = (random(2, 3, c) * (100 if d in (np.uint8, np.int8) else 1)).astype(d)
        if c == 1:
            a = a[:, :, 0]
        def go():
            t = texture(spy, device, a, f)
            return [t.to_numpy(), g(t, _result="numpy")]
        out[f] = error(go)
    return out


@case
def texture_results(spy, device):
    m = load(spy, device, TEX)
    a = random(3, 4)
    return each(f=lambda: m.take1(a, _result="texture"), h=lambda: m.makeh(a, _result="texture"), v=lambda: m.take(random(3, 4, 4), _result="texture"), b=lambda: m.makeb(np.arange(12, dtype=np.uint8).reshape(3, 4), _result="texture"), i=lambda: error(m.makei, np.arange(12, dtype=np.int32).reshape(3, 4), _result="texture"), one=lambda: m.take1(a[0], _result="texture"), three=lambda: m.take1(random(2, 3, 4), _result="texture"), four=lambda: error(m.take1, random(2, 2, 2, 2), _result="texture"), cls=lambda: m.take1(a, _result=spy.Texture), scalar=lambda: error(m.take1, 1.0, _result="texture"), typ=lambda: [m.take1(a, _result="texture").width, m.take1(a, _result="texture").height], i2=lambda: error(m.id, spy.grid((2, 3)), _result="texture"))


@case
def textures_have_levels_and_layers(spy, device):
    m = load(spy, device, TEX)
    t = device.create_texture(format=spy.Format.rgba32_float, width=8, height=4, mip_count=3, usage=rw(spy) | spy.TextureUsage.render_target)
    full = device.create_texture(format=spy.Format.rgba32_float, width=8, height=4, mip_count=spy.ALL_MIPS, usage=rw(spy))
    for i in range(3):
        t.copy_from_numpy(random(4 >> i, 8 >> i, 4, seed=i), 0, i)
    arr = device.create_texture(type=spy.TextureType.texture_2d_array, format=spy.Format.rgba32_float, width=2, height=2, array_length=3, usage=rw(spy))
    for i in range(3):
        arr.copy_from_numpy(np.full((2, 2, 4), i + 1, np.float32), layer=i)
    d3 = device.create_texture(type=spy.TextureType.texture_3d, format=spy.Format.rgba32_float, width=3, height=2, depth=2, usage=rw(spy), data=random(2, 2, 3, 4))
    d1 = device.create_texture(type=spy.TextureType.texture_1d, format=spy.Format.r32_float, width=5, usage=rw(spy), data=random(5))
    return each(n=lambda: [t.mip_count, full.mip_count, t.layer_count, t.subresource_count, arr.layer_count, arr.array_length], m1=lambda: t.to_numpy(mip=1), m2=lambda: t.to_numpy(0, 2), lev=lambda: m.level(t, spy.int2(1, 0), 1), view=lambda: m.take(t.create_view({"mip": 1, "mip_count": 1}), _result="numpy"), lay=lambda: m.layer(arr, spy.int2(0, 0), np.arange(3, dtype=np.int32), _result="numpy"), a1=lambda: arr.to_numpy(1), d3=lambda: m.load3(d3, spy.int3(1, 1, 1)), d3v=lambda: m.take(d3, _result="numpy").shape, d1=lambda: m.load1(d1, np.arange(5, dtype=np.int32), _result="numpy"), d1v=lambda: m.take1(d1, _result="numpy"), sizes=lambda: [list(t.get_mip_size(i)) for i in range(3)], w=lambda: [t.get_mip_width(1), t.get_mip_height(1), t.get_mip_depth(1)], layout=lambda: t.get_subresource_layout(1).row_pitch >= 64, arrv=lambda: m.take(arr, _result="numpy"),
                bad=lambda: error(t.copy_from_numpy, random(3, 3, 4)), badt=lambda: error(t.copy_from_numpy, random(4, 8, 4).astype(np.float16)), nolayer=lambda: fails(t.to_numpy, 5), nomip=lambda: fails(t.to_numpy, 0, 7), al=lambda: fails(device.create_texture, format=spy.Format.rgba32_float, width=2, height=2, array_length=3, usage=rw(spy)), cube=lambda: device.create_texture(type=spy.TextureType.texture_cube, format=spy.Format.rgba32_float, width=2, height=2, usage=rw(spy)).layer_count, type=lambda: [t.type, arr.type, d3.type], desc=lambda: [t.desc.width, t.desc.format, t.format, t.width, t.height, t.depth])


@case
def texture_commands(spy, device):
    a, b = random(4, 8, 4), random(4, 8, 4, seed=2)
    t = device.create_texture(format=spy.Format.rgba32_float, width=8, height=4, usage=rw(spy) | spy.TextureUsage.render_target | spy.TextureUsage.copy_source | spy.TextureUsage.copy_destination, data=a)
    u = device.create_texture(format=spy.Format.rgba32_float, width=8, height=4, usage=rw(spy) | spy.TextureUsage.render_target | spy.TextureUsage.copy_source | spy.TextureUsage.copy_destination)
    half = device.create_texture(format=spy.Format.rgba32_float, width=4, height=2, usage=rw(spy) | spy.TextureUsage.render_target)
    mips = device.create_texture(format=spy.Format.rgba32_float, width=8, height=4, mip_count=3, usage=rw(spy) | spy.TextureUsage.render_target)
    mips.copy_from_numpy(a)
    buf = device.create_buffer(size=8 * 4 * 16, usage=spy.BufferUsage.copy_destination | spy.BufferUsage.copy_source | spy.BufferUsage.shader_resource)
    def do(f):
        e = device.create_command_encoder()
        f(e)
        device.submit_command_buffer(e.finish())
    return each(clear=lambda: do(lambda e: e.clear_texture_float(u, clear_value=spy.float4(1, 2, 3, 4))), u=lambda: u.to_numpy()[0, 0], copy=lambda: do(lambda e: e.copy_texture(u, 0, 0, [1, 1, 0], t, 0, 0, [2, 0, 0], [3, 2, 1])), u2=lambda: u.to_numpy(), upl=lambda: do(lambda e: e.upload_texture_data(u, 0, 0, b)), u3=lambda: u.to_numpy(), tob=lambda: do(lambda e: e.copy_texture_to_buffer(buf, 0, 512, 128, t, 0, 0)), b=lambda: buf.to_numpy().view(np.float32), fromb=lambda: do(lambda e: e.copy_buffer_to_texture(u, 0, 0, [0, 0, 0], buf, 0, 512, 128)), u4=lambda: u.to_numpy(), blit=lambda: do(lambda e: e.blit(half, t)), half=lambda: half.to_numpy(), blitv=lambda: do(lambda e: e.blit(half.create_view({}), u.create_view({}), spy.TextureFilteringMode.point)), mip=lambda: do(lambda e: e.generate_mips(mips)), m1=lambda: mips.to_numpy(0, 1), m2=lambda: mips.to_numpy(mip=2),
                list=lambda: do(lambda e: e.upload_texture_data(mips, [random(4, 8, 4), random(2, 4, 4), random(1, 2, 4)])), m3=lambda: mips.to_numpy(mip=1), clearr=lambda: do(lambda e: e.clear_texture_float(mips, range={"mip": 1, "mip_count": 1}, clear_value=[9, 9, 9, 9])), m4=lambda: [mips.to_numpy(mip=1)[0, 0], mips.to_numpy(mip=2)[0, 0]])


@case
def samplers(spy, device):
    m = load(spy, device, TEX)
    t = texture(spy, device, random(2, 2, 4))
    uv = random(6, 2) * 3 - 1
    def go(**k):
        return m.sampled(t, device.create_sampler(**k), uv, _result="numpy")
    A, F = spy.TextureAddressingMode, spy.TextureFilteringMode
    return each(default=lambda: go(), clamp=lambda: go(address_u=A.clamp_to_edge, address_v=A.clamp_to_edge), mirror=lambda: go(address_u=A.mirror_repeat, address_v=A.wrap), point=lambda: go(min_filter=F.point, mag_filter=F.point), border=lambda: go(address_u=A.clamp_to_border, address_v=A.clamp_to_border, border_color=spy.float4(1, 2, 3, 4)) is not None, desc=lambda: device.create_sampler().desc.min_filter, d=lambda: device.create_sampler({"min_filter": F.point}).desc.min_filter)


@case
def formats(spy, device):
    def d(n):
        i = spy.get_format_info(getattr(spy.Format, n))
        return [i.name, i.bytes_per_block, i.channel_count, i.type, list(i.channel_bit_count), i.is_depth, i.is_stencil, i.is_compressed, i.is_depth_stencil(), i.is_float_format() if hasattr(i, "is_float_format") else 0]
    return dict(each(**{n: (lambda n=n: d(n)) for n in ("rgba8_unorm", "rgba8_unorm_srgb", "r32_float", "rg16_float", "rgb10a2_unorm", "d32_float", "bc1_unorm", "r11g11b10_float", "r8_sint", "rgba32_uint", "d32_float_s8_uint", "bgra8_unorm", "r64_uint")}), members=sorted(f.name for f in spy.Format))


@case
def bitmaps(spy, device):
    B, P, T = spy.Bitmap, spy.Bitmap.PixelFormat, spy.DataStruct.Type
    a = (random(4, 5, 3) * 255).astype(np.uint8)
    b = B(a)
    f = B(random(4, 5, 4))
    def files():
        out = []
        with tempfile.TemporaryDirectory() as d:
            for ext, bm in (("png", b), ("bmp", b), ("tga", b), ("exr", f), ("hdr", B(random(4, 5, 3))), ("png", B(np.arange(20, dtype=np.uint8).reshape(4, 5)))):
                p = os.path.join(d, "x." + ext)
                bm.write(p)
                c = B(p)
                out.append([ext, c.width, c.height, c.pixel_format, c.component_type, c.channel_names, np.array(c).astype(np.float32).round(3)])
        return out
    return each(wh=lambda: [b.width, b.height, b.channel_count, b.pixel_count, b.bytes_per_pixel, b.buffer_size], pf=lambda: [b.pixel_format, f.pixel_format, b.component_type, f.component_type, b.srgb_gamma, f.srgb_gamma], names=lambda: [b.channel_names, f.channel_names], arr=lambda: np.array(b), alpha=lambda: [b.has_alpha(), f.has_alpha(), b.empty()], conv=lambda: np.array(b.convert(P.rgba, T.float32, False)), conv8=lambda: np.array(f.convert(P.rgb, T.uint8, True)), y=lambda: np.array(f.convert(P.y)), gam=lambda: np.array(b.convert(component_type=T.float32, srgb_gamma=False)), split=lambda: [[n, s.pixel_format, s.width] for n, s in f.split()], flip=lambda: [b.vflip(), np.array(b)], clear=lambda: [b.clear(), np.array(b).sum()], new=lambda: [B(P.rgba, T.float16, 3, 2).buffer_size], res=lambda: np.array(f.resample(3, 2)), files=files, eq=lambda: [f == f, f == B(np.array(f)), f == b], bad=lambda: error(B, "missing.png"), one=lambda: B(np.zeros((2, 3), np.float32)).pixel_format, two=lambda: B(np.zeros((2, 3, 2), np.float32)).pixel_format, five=lambda: [B(np.zeros((2, 3, 5), np.float32)).pixel_format, B(np.zeros((2, 3, 5), np.float32)).channel_names], repr=lambda: repr(f))


@case
def bitmaps_and_textures(spy, device):
    f = spy.Bitmap(random(4, 8, 4))
    t = texture(spy, device, random(4, 8, 4))
    L = spy.TextureLoader(device)
    u8 = spy.Bitmap((random(4, 8, 3) * 255).astype(np.uint8))
    return each(to=lambda: np.array(t.to_bitmap()), pf=lambda: [t.to_bitmap().pixel_format, t.to_bitmap().component_type], load=lambda: L.load_texture(f).to_numpy(), fmt=lambda: [L.load_texture(f).format, L.load_texture(u8).format, L.load_texture(u8, {"load_as_srgb": False}).format, L.load_texture(u8, {"extend_alpha": False}).format if False else 0], u8=lambda: L.load_texture(u8).to_numpy(), many=lambda: len(L.load_textures([f, u8])), arr=lambda: [L.load_texture_array([f, f]).array_length, L.load_texture_array([f, f]).type], mips=lambda: L.load_texture(f, {"generate_mips": True, "allocate_mips": True}).mip_count, am=lambda: L.load_texture(f, {"allocate_mips": True}).mip_count, opt=lambda: [getattr(spy.TextureLoader.Options(), n) for n in ("load_as_normalized", "load_as_srgb", "extend_alpha", "allocate_mips", "generate_mips")], y=lambda: L.load_texture(spy.Bitmap((random(4, 8) * 255).astype(np.uint8))).format, h=lambda: L.load_texture(spy.Bitmap(random(4, 8, 4).astype(np.float16))).format, bad=lambda: fails(L.load_texture, "missing.png"))


@case
def data_structs(spy, device):
    D = spy.DataStruct
    s = D()
    s.append("a", D.Type.uint8, D.Flags.normalized)
    s.append("b", D.Type.float32)
    t = D()
    t.append("a", D.Type.float32)
    t.append("b", D.Type.float32, default_value=2.0)
    c = spy.DataStructConverter(s, t)
    raw = np.zeros(1, np.dtype([("a", np.uint8), ("b", np.float32)], align=True))
    raw["a"], raw["b"] = 255, 0.5
    return each(n=lambda: len(s), size=lambda: [s.size, s.alignment, t.size], f=lambda: [s[0].name, s["b"].offset, s[1].type], has=lambda: [s.has_field("a"), s.has_field("z")], conv=lambda: np.frombuffer(c.convert(raw.tobytes()), np.float32), ts=lambda: [D.type_size(x) for x in (D.Type.uint8, D.Type.float16, D.Type.float64)], tr=lambda: [list(D.type_range(x)) for x in (D.Type.uint8, D.Type.int16)], isx=lambda: [D.is_integer(D.Type.int8), D.is_unsigned(D.Type.uint8), D.is_signed(D.Type.int8), D.is_float(D.Type.float16)], order=lambda: s.byte_order, eq=lambda: [s == s, s == t], rep=lambda: len(repr(s)) > 0)

"""Programs of other users, second set: textures, samplers, bitmaps and draws. Most results are checked against numpy in the program."""
import os
import tempfile

import numpy as np

from cases import case, each, error, fails, load, random


def rw(spy):
    return spy.TextureUsage.shader_resource | spy.TextureUsage.unordered_access


def near(a, b, tolerance=2e-3):
    return bool(np.allclose(np.asarray(a, np.float64), np.asarray(b, np.float64), atol=tolerance))


PIXELS = """
import slangpy;
float4 bright(float4 c, float k) { return float4(c.rgb * k, c.a); }
float gray(float4 c) { return dot(c.rgb, float3(0.25, 0.5, 0.25)); }
float4 fetch(Texture2D<float4> t, int2 p) { return t[p]; }
float4 fetchm(Texture2D<float4> t, int2 p, int mip) { return t.Load(int3(p, mip)); }
float4 sample(Texture2D<float4> t, SamplerState s, float2 uv) { return t.SampleLevel(s, uv, 0); }
float4 samplel(Texture2D<float4> t, SamplerState s, float2 uv, float lod) { return t.SampleLevel(s, uv, lod); }
float4 layer(Texture2DArray<float4> t, int3 p) { return t[p]; }
float vol(Texture3D<float> t, int3 p) { return t[p]; }
float4 cube(TextureCube<float4> t, SamplerState s, float3 d) { return t.SampleLevel(s, d, 0); }
void put(RWTexture2D<float4> t, int2 p, float4 v) { t[p] = v; }
uint2 size(Texture2D<float4> t) { uint w, h; t.GetDimensions(w, h); return uint2(w, h); }
float4 gather(Texture2D<float4> t, SamplerState s, float2 uv) { return t.GatherRed(s, uv); }
int4 ints(int4 a) { return a + 1; }
uint one(uint a) { return a * 2; }
float4 blend(float4 a, float4 b, float t) { return lerp(a, b, t); }
float2 uvs(int2 p, int2 size) { return (float2(p) + 0.5) / float2(size); }
struct Material { Texture2D<float4> albedo; SamplerState samp; float4 tint; };
float4 shade(Material m, float2 uv) { return m.albedo.SampleLevel(m.samp, uv, 0) * m.tint; }
"""


def made(spy, device, data, fmt="rgba32_float", **keywords):
    t = device.create_texture(format=getattr(spy.Format, fmt), width=data.shape[1], height=data.shape[0], usage=keywords.pop("usage", rw(spy)), **keywords)
    t.copy_from_numpy(data)
    return t


@case
def users2_pictures_vectorised(spy, device):
    m = load(spy, device, PIXELS)
    a, b = random(5, 7, 4), random(5, 7, 4, seed=2)
    t, u = made(spy, device, a), made(spy, device, b)
    out = device.create_texture(format=spy.Format.rgba32_float, width=7, height=5, usage=rw(spy))
    return each(n=lambda: near(m.bright(t, 2.0, _result="numpy"), a * [2, 2, 2, 1]), g=lambda: near(m.gray(t, _result="numpy"), a[..., :3] @ [0.25, 0.5, 0.25]), t=lambda: (lambda r: [type(r).__name__, r.format, r.width, r.height, near(r.to_numpy(), a * [2, 2, 2, 1])])(m.bright(t, 2.0, _result="texture")), into=lambda: [m.bright(t, 3.0, _result=out) is out, near(out.to_numpy(), a * [3, 3, 3, 1])], two=lambda: near(m.blend(t, u, 0.25, _result="numpy"), a * 0.75 + b * 0.25), arr=lambda: near(m.blend(t, b, random(5, 7, seed=3), _result="numpy"), a + (b - a) * random(5, 7, seed=3)[..., None]), row=lambda: near(m.bright(t, random(7, seed=4), _result="numpy")[..., :3], a[..., :3] * random(7, seed=4)[:, None]), shape=lambda: m.bright(t, 1.0).shape, ten=lambda: m.bright(t, 1.0).dtype.full_name, bad=lambda: fails(m.blend, t, random(4, 7, 4), 0.5), dims=lambda: fails(m.blend, t, made(spy, device, random(4, 7, 4)), 0.5), inplace=lambda: [m.bright(u, 0.5, _result=u) is u, near(u.to_numpy(), b * [0.5, 0.5, 0.5, 1])], res=lambda: m.gray(t, _result="texture").format, mapt=lambda: fails(lambda: m.gray.map((1, 0))(t)), tg=lambda: m.gray(t, _result=spy.Tensor.zeros(device, (5, 7), "float")).shape)


@case
def users2_pictures_whole_and_sampled(spy, device):
    m = load(spy, device, PIXELS)
    a = random(4, 6, 4)
    t = made(spy, device, a)
    point = device.create_sampler(min_filter=spy.TextureFilteringMode.point, mag_filter=spy.TextureFilteringMode.point, address_u=spy.TextureAddressingMode.clamp_to_edge, address_v=spy.TextureAddressingMode.clamp_to_edge)
    linear = device.create_sampler()
    def want(u, v):
        x, y = u * 6 - 0.5, v * 4 - 0.5
        x0, y0 = int(np.floor(x)), int(np.floor(y))
        f, g = x - x0, y - y0
        p = lambda j, i: a[j % 4, i % 6]
        return (p(y0, x0) * (1 - f) + p(y0, x0 + 1) * f) * (1 - g) + (p(y0 + 1, x0) * (1 - f) + p(y0 + 1, x0 + 1) * f) * g
    uv = random(8, 2, seed=5)
    return each(f=lambda: near(m.fetch(t, [2, 1]), a[1, 2]), fa=lambda: near(m.fetch(t, spy.grid((4, 6)), _result="numpy"), a), size=lambda: m.size(t), pt=lambda: near(m.sample(t, point, spy.float2(0.99, 0.01)), a[0, 5]), lin=lambda: near(m.sample(t, linear, uv, _result="numpy"), [want(*p) for p in uv], 2e-2), wrap=lambda: near(m.sample(t, linear, [1.3, -0.2]), want(0.3, 0.8), 2e-2), oob=lambda: m.fetch(t, [100, 100]), put=lambda: (lambda r: [m.put(r, spy.grid((4, 6)), random(4, 6, 4, seed=6)), near(r.to_numpy(), random(4, 6, 4, seed=6))][1])(made(spy, device, a)), gather=lambda: near(sorted(m.gather(t, linear, spy.float2(2 / 6, 2 / 4))), sorted([a[1, 1, 0], a[1, 2, 0], a[2, 1, 0], a[2, 2, 0]])), st=lambda: near(m.shade({"albedo": t, "samp": point, "tint": [1, 2, 3, 4]}, spy.float2(0.5, 0.5)), a[2, 3] * [1, 2, 3, 4]), stv=lambda: near(m.shade({"albedo": t, "samp": point, "tint": spy.float4(1)}, m.uvs(spy.grid((4, 6)), spy.int2(6, 4)), _result="numpy"), a), grid=lambda: near(m.sample(t, point, m.uvs(spy.call_id(), spy.int2(6, 4), _result=spy.Tensor.zeros(device, (4, 6), "float2")), _result="numpy"), a), setg=lambda: fails(lambda: m.fetch(1.0, [0, 0])))


@case
def users2_pictures_mips_layers_volumes(spy, device):
    m = load(spy, device, PIXELS)
    T, F = spy.TextureType, spy.Format
    a = random(8, 8, 4)
    def mips():
        t = device.create_texture(format=F.rgba32_float, width=8, height=8, mip_count=spy.ALL_MIPS, usage=rw(spy) | spy.TextureUsage.render_target)
        t.copy_from_numpy(a)
        e = device.create_command_encoder()
        e.generate_mips(t)
        device.submit_command_buffer(e.finish())
        half = a.reshape(4, 2, 4, 2, 4).mean(axis=(1, 3))
        return t.mip_count, [t.get_mip_width(i) for i in range(t.mip_count)], near(t.to_numpy(mip=1), half, 1e-2), near(m.fetchm(t, [1, 2], 1), half[2, 1], 1e-2), near(t.to_numpy(mip=3)[0, 0], a.mean(axis=(0, 1)), 1e-2), t.to_numpy(mip=2).shape, near(m.gray(t.create_view(mip=1, mip_count=1), _result="numpy"), half[..., :3] @ [0.25, 0.5, 0.25], 1e-2)
    def layers():
        t = device.create_texture(type=T.texture_2d_array, format=F.rgba32_float, width=3, height=2, array_length=4, usage=rw(spy))
        n = random(4, 2, 3, 4, seed=3)
        for i in range(4):
            t.copy_from_numpy(n[i], layer=i)
        return t.layer_count, t.subresource_count, near(t.to_numpy(layer=2), n[2]), near(m.layer(t, [2, 1, 3]), n[3, 1, 2]), near(m.bright(t, 2.0, _result="numpy")[..., :3], n[..., :3] * 2), m.bright(t, 1.0).shape, near(m.gray(t.create_view(layer=1, layer_count=1), _result="numpy"), n[1][..., :3] @ [0.25, 0.5, 0.25])
    def volume():
        t = device.create_texture(type=T.texture_3d, format=F.r32_float, width=4, height=3, depth=2, usage=rw(spy))
        n = random(2, 3, 4, seed=4)
        t.copy_from_numpy(n)
        return near(t.to_numpy(), n), near(m.vol(t, [3, 1, 1]), n[1, 1, 3]), near(m.vol(t, spy.grid((2, 3, 4)), _result="numpy"), n), [t.depth, t.get_mip_size(0)]
    def cube():
        t = device.create_texture(type=T.texture_cube, format=F.rgba32_float, width=2, height=2, usage=rw(spy))
        for i in range(6):
            t.copy_from_numpy(np.full((2, 2, 4), i + 1, np.float32), layer=i)
        dirs = np.array([[1, 0, 0], [-1, 0, 0], [0, 1, 0], [0, -1, 0], [0, 0, 1], [0, 0, -1]], np.float32)
        return t.layer_count, near(m.cube(t, device.create_sampler(), dirs, _result="numpy")[:, 0], [1, 2, 3, 4, 5, 6])
    def one_d():
        t = device.create_texture(type=T.texture_1d, format=F.r32_float, width=5, usage=rw(spy))
        t.copy_from_numpy(random(5))
        return near(t.to_numpy().reshape(-1), random(5))
    return each(mips=mips, layers=layers, volume=volume, cube=cube, one_d=one_d)


@case
def users2_pictures_of_formats(spy, device):
    m = load(spy, device, PIXELS)
    F = spy.Format
    formats = dict(rgba8_unorm=np.uint8, rgba16_float=np.float16, rgba32_float=np.float32, r32_float=np.float32, rg32_float=np.float32, r8_unorm=np.uint8, rgba8_snorm=np.int8, r16_float=np.float16, rgba16_unorm=np.uint16)
    ints = dict(r32_uint=np.uint32, r32_sint=np.int32, rgba32_sint=np.int32, rgba8_uint=np.uint8, r16_uint=np.uint16, rg16_sint=np.int16, rgba32_uint=np.uint32, r8_sint=np.int8)
    def go(name, dtype):
        info = spy.get_format_info(getattr(F, name))
        shape = (2, 3) if info.channel_count == 1 else (2, 3, info.channel_count)
        top = 1 if np.issubdtype(dtype, np.floating) else 100
        n = (random(*shape) * top).astype(dtype)
        t = device.create_texture(format=getattr(F, name), width=3, height=2, usage=rw(spy))
        t.copy_from_numpy(n)
        return str(t.to_numpy().dtype), t.to_numpy().shape, bool((t.to_numpy() == n).all()), info.bytes_per_block
    return each(**{k: (lambda k=k, d=d: go(k, d)) for k, d in {**formats, **ints}.items()}, unorm=lambda: near(m.bright(made(spy, device, np.full((1, 1, 4), 51, np.uint8), "rgba8_unorm"), 2.0, _result="numpy"), [[[0.4, 0.4, 0.4, 0.2]]]), srgb=lambda: near(m.fetch(made(spy, device, np.full((1, 1, 4), 188, np.uint8), "rgba8_unorm_srgb", usage=spy.TextureUsage.shader_resource), [0, 0])[0], 0.5028, 5e-3), half=lambda: near(m.bright(made(spy, device, random(2, 2, 4).astype(np.float16), "rgba16_float"), 1.0, _result="numpy"), random(2, 2, 4), 2e-3), ints=lambda: (m.ints(made(spy, device, np.arange(8, dtype=np.int32).reshape(1, 2, 4), "rgba32_sint"), _result="numpy")).tolist(), one=lambda: m.one(made(spy, device, np.arange(4, dtype=np.uint32).reshape(2, 2), "r32_uint"), _result="numpy").tolist(), wrong=lambda: error(lambda: made(spy, device, random(2, 2), "rgba32_float")), wrongs=lambda: error(lambda: (lambda t: t.copy_from_numpy(random(3, 3, 4)))(made(spy, device, random(2, 2, 4)))), chan=lambda: fails(lambda: m.bright(made(spy, device, random(2, 2), "r32_float"), 1.0)))


@case
def users2_pictures_copied_and_cleared(spy, device):
    F = spy.Format
    a = random(4, 4, 4)
    U = rw(spy) | spy.TextureUsage.copy_source | spy.TextureUsage.copy_destination
    def do(f):
        e = device.create_command_encoder()
        f(e)
        device.submit_command_buffer(e.finish())
    T = lambda **k: device.create_texture(format=F.rgba32_float, width=4, height=4, usage=U, **k)
    def copy():
        t, u = made(spy, device, a), T()
        do(lambda e: e.copy_texture(u, 0, 0, [1, 1, 0], t, 0, 0, [0, 0, 0], [2, 3, 1]))
        return near(u.to_numpy()[1:4, 1:3], a[0:3, 0:2])
    def buffer():
        t = made(spy, device, a)
        l = t.get_subresource_layout(0)
        b = device.create_buffer(size=4 * l.row_pitch, usage=spy.BufferUsage.copy_destination | spy.BufferUsage.copy_source | spy.BufferUsage.shader_resource)
        do(lambda e: e.copy_texture_to_buffer(b, 0, b.size, l.row_pitch, t, 0, 0))
        rows = b.to_numpy().reshape(4, l.row_pitch)[:, :64].copy().view(np.float32).reshape(4, 4, 4)
        u = T()
        do(lambda e: e.copy_buffer_to_texture(u, 0, 0, [0, 0, 0], b, 0, b.size, l.row_pitch, [4, 4, 1]))
        return near(rows, a), near(u.to_numpy(), a)
    def clear():
        t = made(spy, device, a)
        do(lambda e: e.clear_texture_float(t, clear_value=[1, 2, 3, 4]))
        return t.to_numpy()[2, 3]
    def upload():
        t = T()
        do(lambda e: e.upload_texture_data(t, 0, 0, a))
        return near(t.to_numpy(), a)
    def data():
        return near(device.create_texture(format=F.rgba32_float, width=4, height=4, usage=U, data=a).to_numpy(), a)
    def blit():
        t, u = made(spy, device, a, usage=U | spy.TextureUsage.render_target), device.create_texture(format=F.rgba32_float, width=2, height=2, usage=U | spy.TextureUsage.render_target)
        do(lambda e: e.blit(u, t))
        return near(u.to_numpy(), a.reshape(2, 2, 2, 2, 4).mean(axis=(1, 3)), 2e-2)
    return each(copy=copy, buffer=buffer, clear=clear, upload=upload, data=data, blit=blit)


@case
def users2_pictures_bitmaps_and_files(spy, device):
    folder = tempfile.mkdtemp()
    B, P, C = spy.Bitmap, spy.Bitmap.PixelFormat, spy.Bitmap.ComponentType
    def files(ext, dtype):
        n = (random(5, 6, 3) * (1 if dtype is np.float32 else 255)).astype(dtype)
        path = os.path.join(folder, "a." + ext)
        B(n).write(path)
        b = B(path)
        return b.width, b.height, b.pixel_format, b.component_type, b.srgb_gamma, bool((np.array(b, copy=False) == n).all()) if ext in ("png", "bmp", "tga", "exr") else near(np.array(b, copy=False), n, 0.02)
    def loader():
        path = os.path.join(folder, "b.png")
        n = (random(4, 4, 3) * 255).astype(np.uint8)
        B(n).write(path)
        t = spy.TextureLoader(device).load_texture(path, {"load_as_srgb": False, "generate_mips": False})
        return t.format, t.width, t.mip_count, t.to_numpy()[..., :3].tolist() == n.tolist(), t.to_numpy().shape
    def ops():
        b = B((random(4, 6, 4)).astype(np.float32))
        s = b.split()
        c = b.convert(pixel_format=P.rgb, component_type=C.uint8, srgb_gamma=True)
        b2 = B(np.arange(8, dtype=np.uint8).reshape(2, 4))
        b2.vflip()
        return [n for n, _ in s], c.pixel_format, c.component_type, c.srgb_gamma, np.array(b2).tolist(), b.has_alpha(), c.has_alpha(), b.channel_names, b.bytes_per_pixel, b.buffer_size, b.empty(), b.resample(3, 2).width, b == B(np.array(b)), [f.name for f in (b.pixel_struct[i] for i in range(4))]
    return each(png=lambda: files("png", np.uint8), bmp=lambda: files("bmp", np.uint8), tga=lambda: files("tga", np.uint8), exr=lambda: files("exr", np.float32), hdr=lambda: files("hdr", np.float32), loader=loader, ops=ops, miss=lambda: error(lambda: B(os.path.join(folder, "none.png"))), badext=lambda: fails(lambda: B(np.zeros((2, 2, 3), np.uint8)).write(os.path.join(folder, "a.zip"))), shapes=lambda: [B(np.zeros(s, np.uint8)).pixel_format for s in ((2, 2), (2, 2, 1), (2, 2, 2), (2, 2, 3), (2, 2, 4))], many=lambda: B(np.zeros((2, 2, 7), np.float32)).channel_count, tob=lambda: near(np.array(made(spy, device, random(3, 3, 4)).to_bitmap()), random(3, 3, 4)), types=lambda: [B(np.zeros((2, 2), d)).component_type for d in ("uint8", "uint16", "uint32", "int8", "float16", "float32", "float64")], mk=lambda: [B(P.rgb, C.float32, 3, 2).buffer_size, B(P.multi_channel, C.uint8, 2, 2, 3, ["a", "b", "c"]).channel_names], fn=lambda: B.load_from_numpy(np.zeros((2, 3), np.float32)).width)


DRAW = """
struct V { float2 pos : POSITION; float3 color : COLOR; };
struct F { float4 pos : SV_Position; float3 color : COLOR; };
uniform float2 offset; uniform float gain;
[shader("vertex")] F vs(V v) { F f; f.pos = float4(v.pos + offset, 0.5, 1); f.color = v.color; return f; }
[shader("fragment")] float4 fs(F f) : SV_Target { return float4(f.color * gain, 1); }
[shader("vertex")] F full(uint id : SV_VertexID) { F f; float2 p = float2((id << 1) & 2, id & 2); f.pos = float4(p * 2 - 1, 0.25, 1); f.color = float3(p, 0); return f; }
[shader("fragment")] float4 solid(F f) : SV_Target { return float4(0, 0, 1, 0.5); }
"""


@case
def users2_pictures_drawn(spy, device):
    s = device.load_module_from_source("users2_draw", DRAW)
    F, U = spy.Format, spy.TextureUsage
    target = device.create_texture(format=F.rgba32_float, width=8, height=8, usage=U.render_target | U.shader_resource)
    depth = device.create_texture(format=F.d32_float, width=8, height=8, usage=U.depth_stencil)
    verts = np.array([[-1, -1, 1, 0, 0], [1, -1, 1, 0, 0], [-1, 1, 1, 0, 0], [1, 1, 0, 1, 0]], np.float32)
    vb = device.create_buffer(data=verts, usage=spy.BufferUsage.vertex_buffer)
    ib = device.create_buffer(data=np.array([0, 1, 2, 2, 1, 3], np.uint32), usage=spy.BufferUsage.index_buffer)
    layout = device.create_input_layout(input_elements=[{"semantic_name": "POSITION", "semantic_index": 0, "format": F.rg32_float, "offset": 0, "buffer_slot_index": 0}, {"semantic_name": "COLOR", "semantic_index": 0, "format": F.rgb32_float, "offset": 8, "buffer_slot_index": 0}], vertex_streams=[{"stride": 20}])
    def pipeline(names=("vs", "fs"), input_layout=layout, **k):
        p = device.link_program([s], [s.entry_point(n) for n in names])
        return device.create_render_pipeline(program=p, input_layout=input_layout, targets=[k.pop("target", {"format": F.rgba32_float})], **k)
    def draw(pipe, indexed=True, count=6, clear=(0, 0, 0, 0), offset=(0, 0), gain=1.0, viewport=None, depth_clear=None, load="clear", scissor=None):
        e = device.create_command_encoder()
        desc = {"color_attachments": [{"view": target.create_view({}), "clear_value": list(clear), "load_op": getattr(spy.LoadOp, load), "store_op": spy.StoreOp.store}]}
        if depth_clear is not None:
            desc["depth_stencil_attachment"] = {"view": depth.create_view({}), "depth_load_op": spy.LoadOp.clear, "depth_clear_value": depth_clear, "depth_store_op": spy.StoreOp.store}
        with e.begin_render_pass(desc) as q:
            c = spy.ShaderCursor(q.bind_pipeline(pipe))
            if c.has_field("offset"):
                c.offset, c.gain = list(offset), gain
            q.set_render_state({"viewports": [viewport or spy.Viewport.from_size(8, 8)], "scissor_rects": [scissor or spy.ScissorRect.from_size(8, 8)], "vertex_buffers": [vb], "index_buffer": ib, "index_format": spy.IndexFormat.uint32})
            if indexed:
                q.draw_indexed({"vertex_count": count})
            else:
                q.draw({"vertex_count": count})
        device.submit_command_buffer(e.finish())
        return target.to_numpy()
    red = lambda n: [round(float(n[..., 0].sum()), 2), round(float(n[..., 1].sum()), 2), round(float(n[..., 2].sum()), 2), round(float(n[..., 3].sum()), 2)]
    return each(quad=lambda: red(draw(pipeline())), tri=lambda: draw(pipeline(), count=3)[..., 3], gain=lambda: red(draw(pipeline(), gain=0.5)), off=lambda: draw(pipeline(), offset=(1, 0))[..., 3], clear=lambda: draw(pipeline(), count=0, clear=(0.1, 0.2, 0.3, 0.4))[0, 0], strip=lambda: red(draw(pipeline(primitive_topology=spy.PrimitiveTopology.triangle_strip), indexed=False, count=4)), full=lambda: red(draw(pipeline(("full", "fs"), None), indexed=False, count=3)), vp=lambda: draw(pipeline(("full", "solid"), None), indexed=False, count=3, viewport=spy.Viewport({"x": 2.0, "y": 1.0, "width": 4.0, "height": 3.0, "min_depth": 0.0, "max_depth": 1.0}))[..., 2], sc=lambda: draw(pipeline(("full", "solid"), None), indexed=False, count=3, scissor=spy.ScissorRect({"min_x": 1, "min_y": 2, "max_x": 4, "max_y": 5}))[..., 2], load=lambda: [draw(pipeline()), red(draw(pipeline(("full", "solid"), None), indexed=False, count=0, load="load"))][1], blend=lambda: draw(pipeline(("full", "solid"), None, target={"format": F.rgba32_float, "enable_blend": True, "color": {"src_factor": spy.BlendFactor.src_alpha, "dst_factor": spy.BlendFactor.inv_src_alpha}, "alpha": {"src_factor": spy.BlendFactor.one, "dst_factor": spy.BlendFactor.one}}), indexed=False, count=3, clear=(1, 0, 0, 0.25))[3, 3], mask=lambda: draw(pipeline(("full", "solid"), None, target={"format": F.rgba32_float, "write_mask": spy.RenderTargetWriteMask.alpha}), indexed=False, count=3, clear=(1, 0, 0, 0))[3, 3], cull=lambda: [float(draw(pipeline(rasterizer={"cull_mode": c}), clear=(0, 0, 0, 0))[..., 3].sum()) for c in (spy.CullMode.none, spy.CullMode.back, spy.CullMode.front)], depth=lambda: [float(draw(pipeline(("full", "solid"), None, depth_stencil={"format": F.d32_float, "depth_test_enable": True, "depth_write_enable": True, "depth_func": spy.ComparisonFunc.less}), indexed=False, count=3, depth_clear=d)[..., 2].sum()) for d in (1.0, 0.1)], pipe=lambda: type(pipeline()).__name__, bad=lambda: fails(lambda: pipeline(("vs", "nothing"))), line=lambda: float(draw(pipeline(primitive_topology=spy.PrimitiveTopology.line_list), indexed=False, count=2)[..., 3].sum()) >= 0)

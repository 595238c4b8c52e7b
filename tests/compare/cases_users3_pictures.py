"""Programs of other users, third set: textures of all types: uploads, copies, views, clears, mips, descriptions, samplers, kernels over texels, draws."""
import os
import tempfile

import numpy as np

from cases import case, each, error, fails, load, random


def tex(spy, device, data=None, format="rgba32_float", **k):
    u = spy.TextureUsage
    k.setdefault("usage", u.shader_resource | u.unordered_access | u.copy_source | u.copy_destination)
    if data is not None:
        k.setdefault("width", data.shape[1] if data.ndim > 1 else data.shape[0])
        k.setdefault("height", data.shape[0] if data.ndim > 1 else 1)
    return device.create_texture(format=getattr(spy.Format, format), data=data, **k)


@case
def users3_pictures_descriptions(spy, device):
    T = spy.TextureType
    def desc(t):
        d = t.desc
        return [t.type, t.format, t.width, t.height, t.depth, t.array_length, t.mip_count, t.layer_count, t.subresource_count, d.type, d.format, d.width, d.height, d.depth, d.array_length, d.mip_count, d.sample_count, d.sample_quality, d.memory_type, d.usage.value, d.default_state, d.label, t.get_mip_width(0), t.get_mip_height(t.mip_count - 1), t.get_mip_depth(), t.get_mip_size(0), t.get_mip_size(mip=t.mip_count - 1)]
    mk = lambda **k: desc(device.create_texture(usage=spy.TextureUsage.shader_resource, **k))
    F = spy.Format
    return each(d2=lambda: mk(type=T.texture_2d, format=F.rgba8_unorm, width=8, height=4), d1=lambda: mk(type=T.texture_1d, format=F.r32_float, width=16), d3=lambda: mk(type=T.texture_3d, format=F.r32_float, width=4, height=5, depth=6), arr=lambda: mk(type=T.texture_2d_array, format=F.rg16_float, width=4, height=4, array_length=3), cube=lambda: mk(type=T.texture_cube, format=F.rgba16_float, width=4, height=4), cubes=lambda: mk(type=T.texture_cube_array, format=F.rgba16_float, width=4, height=4, array_length=2), mips=lambda: mk(format=F.rgba8_unorm, width=16, height=8, mip_count=spy.ALL_MIPS), mips3=lambda: mk(format=F.rgba8_unorm, width=16, height=8, mip_count=3, label="lab"), desc_=lambda: desc(device.create_texture(spy.TextureDesc({"format": F.r8_unorm, "width": 3, "height": 2, "usage": spy.TextureUsage.shader_resource}))), dict_=lambda: desc(device.create_texture({"format": F.r8_unorm, "width": 3, "height": 2, "usage": spy.TextureUsage.shader_resource})), free=lambda: desc(spy.create_texture(format=F.r32_float, width=2, height=2, usage=spy.TextureUsage.shader_resource)), kinds=lambda: [isinstance(device.create_texture(format=F.r32_float, width=2, height=2, usage=spy.TextureUsage.shader_resource), c) for c in (spy.Texture, spy.Resource, spy.DeviceChild)], lay=lambda: [(l := device.create_texture(format=F.rgba8_unorm, width=5, height=4, mip_count=2, usage=spy.TextureUsage.shader_resource).get_subresource_layout(1)), l.size, l.row_count, l.block_width, l.block_height, l.col_pitch][1:], bad=lambda: [fails(mk, format=F.undefined, width=4, height=4), None, fails(mk, format=F.r32_float, width=4, height=4, array_length=3), error(device.create_texture, format="x", width=1, height=1)])


@case
def users3_pictures_numpy_round_trips(spy, device):
    def trip(fmt, a, **k):
        t = tex(spy, device, a, fmt, **k)
        r = t.to_numpy()
        return [r.dtype.name, r.shape, bool((r == a).all())]
    f, u8 = random(3, 5, 4), (random(3, 5, 4) * 255).astype(np.uint8)
    return each(rgba32=lambda: trip("rgba32_float", f), rg32=lambda: trip("rg32_float", f[..., :2].copy()), r32=lambda: trip("r32_float", f[..., 0].copy()), rgba16=lambda: trip("rgba16_float", f.astype(np.float16)), rgba8=lambda: trip("rgba8_unorm", u8), r8=lambda: trip("r8_unorm", u8[..., 0].copy()), rg8=lambda: trip("rg8_unorm", u8[..., :2].copy()), u32=lambda: trip("rgba32_uint", u8.astype(np.uint32)), i16=lambda: trip("rg16_sint", u8[..., :2].astype(np.int16)), srgb=lambda: trip("rgba8_unorm_srgb", u8), flat=lambda: tex(spy, device, None, width=5, height=3, format="rgba32_float").to_numpy().shape, later=lambda: [t := tex(spy, device, None, width=5, height=3), t.copy_from_numpy(f), bool((t.to_numpy() == f).all())][2], wrong=lambda: [error(tex(spy, device, None, width=5, height=3).copy_from_numpy, f[:2]), error(tex(spy, device, None, width=5, height=3).copy_from_numpy, f.astype(np.float64)), fails(tex(spy, device, None, width=5, height=3).copy_from_numpy, f[:, ::-1]), error(tex(spy, device, None, width=5, height=3).to_numpy, 1), error(tex(spy, device, None, width=5, height=3).to_numpy, 0, 3)], d3=lambda: [v := random(2, 3, 4), t := device.create_texture(type=spy.TextureType.texture_3d, format=spy.Format.r32_float, width=4, height=3, depth=2, usage=spy.TextureUsage.shader_resource, data=v), t.to_numpy().shape, bool((t.to_numpy() == v).all())][2:], d1=lambda: [v := random(7), t := device.create_texture(type=spy.TextureType.texture_1d, format=spy.Format.r32_float, width=7, usage=spy.TextureUsage.shader_resource, data=v), t.to_numpy().shape][2], layers=lambda: [t := device.create_texture(type=spy.TextureType.texture_2d_array, format=spy.Format.r32_float, width=4, height=3, array_length=2, mip_count=2, usage=spy.TextureUsage.shader_resource), t.copy_from_numpy(random(3, 4), layer=1), t.copy_from_numpy(random(1, 2, seed=3), layer=0, mip=1), bool((t.to_numpy(1) == random(3, 4)).all()), t.to_numpy(layer=0, mip=1).shape][3:], bmp=lambda: [b := tex(spy, device, u8, "rgba8_unorm").to_bitmap(), b.width, b.height, b.pixel_format, b.component_type, b.srgb_gamma, bool((np.array(b, copy=False) == u8).all())][1:])


@case
def users3_pictures_uploads_and_copies(spy, device):
    f = random(4, 4, 4)
    arr = lambda **k: device.create_texture(type=spy.TextureType.texture_2d_array, format=spy.Format.rgba32_float, width=4, height=4, array_length=2, mip_count=2, usage=spy.TextureUsage.shader_resource | spy.TextureUsage.copy_source | spy.TextureUsage.copy_destination, **k)
    def run(go):
        e = device.create_command_encoder()
        go(e)
        device.submit_command_buffer(e.finish())
    def upload():
        t = arr()
        run(lambda e: [e.upload_texture_data(t, 1, 0, f), e.upload_texture_data(texture=t, layer=0, mip=1, data=f[:2, :2].copy())])
        return [bool((t.to_numpy(1) == f).all()), bool((t.to_numpy(0, 1) == f[:2, :2]).all())]
    def several():
        t = arr()
        parts = [random(4, 4, 4, seed=i) if i % 2 == 0 else random(2, 2, 4, seed=i) for i in range(4)]
        run(lambda e: e.upload_texture_data(t, parts))
        return [bool((t.to_numpy(i // 2, i % 2) == parts[i]).all()) for i in range(4)]
    def part():
        t = tex(spy, device, np.zeros((4, 4, 4), np.float32))
        run(lambda e: e.upload_texture_data(t, [1, 2, 0], [2, 1, 1], {"layer": 0, "layer_count": 1, "mip": 0, "mip_count": 1}, [f[:1, :2].copy()]))
        return t.to_numpy()
    def copy():
        s, t = tex(spy, device, f), arr()
        run(lambda e: [e.copy_texture(t, 1, 0, [0, 0, 0], s, 0, 0, [0, 0, 0]), e.copy_texture(dst=t, dst_layer=0, dst_mip=0, dst_offset=[1, 1, 0], src=s, src_layer=0, src_mip=0, src_offset=[2, 2, 0], extent=[2, 2, 1])])
        return [bool((t.to_numpy(1) == f).all()), bool((t.to_numpy(0)[1:3, 1:3] == f[2:4, 2:4]).all())]
    def ranges():
        s, t = tex(spy, device, f), arr()
        run(lambda e: e.copy_texture(t, {"layer": 1, "layer_count": 1, "mip": 0, "mip_count": 1}, [0, 0, 0], s, {"layer_count": 1, "mip_count": 1}, [0, 0, 0]))
        return bool((t.to_numpy(1) == f).all())
    def buffers():
        s, t = tex(spy, device, f), tex(spy, device, np.zeros((4, 4, 4), np.float32))
        b = device.create_buffer(size=4096, usage=spy.BufferUsage.copy_destination | spy.BufferUsage.copy_source)
        run(lambda e: [e.copy_texture_to_buffer(dst=b, dst_offset=0, dst_size=4096, dst_row_pitch=256, src=s, src_layer=0, src_mip=0), e.copy_buffer_to_texture(dst=t, dst_layer=0, dst_mip=0, dst_offset=[0, 0, 0], src=b, src_offset=0, src_size=4096, src_row_pitch=256, extent=[4, 4, 1])])
        return [bool((t.to_numpy() == f).all()), b.to_numpy().view(np.float32)[64:68]]
    def clears():
        t, u = arr(), device.create_texture(format=spy.Format.rgba8_uint, width=2, height=2, usage=spy.TextureUsage.unordered_access)
        w = tex(spy, device, f)
        run(lambda e: [e.clear_texture_float(w, clear_value=spy.float4(1, 2, 3, 4)), e.clear_texture_uint(u, clear_value=spy.uint4(9, 8, 7, 6))])
        return [w.to_numpy()[0, 0], u.to_numpy()[1, 1]]
    def blits():
        s, t = tex(spy, device, f, usage=spy.TextureUsage.shader_resource | spy.TextureUsage.render_target), tex(spy, device, None, width=8, height=8, usage=spy.TextureUsage.shader_resource | spy.TextureUsage.render_target)
        run(lambda e: e.blit(t, s, filter=spy.TextureFilteringMode.point))
        return bool((t.to_numpy() == f.repeat(2, 0).repeat(2, 1)).all())
    def mips():
        t = device.create_texture(format=spy.Format.rgba32_float, width=4, height=4, mip_count=3, usage=spy.TextureUsage.shader_resource | spy.TextureUsage.render_target | spy.TextureUsage.unordered_access, data=f)
        run(lambda e: e.generate_mips(t))
        return [t.to_numpy(0, 1), t.to_numpy(mip=2), bool(np.allclose(t.to_numpy(0, 2)[0, 0], f.mean((0, 1)), atol=1e-5))]
    def states():
        t = tex(spy, device, f)
        run(lambda e: [e.set_texture_state(t, spy.ResourceState.copy_source), e.set_texture_state(t, {"mip": 0, "mip_count": 1, "layer": 0, "layer_count": 1}, spy.ResourceState.shader_resource)])
        return bool((t.to_numpy() == f).all())
    def wrong():
        t = tex(spy, device, f)
        e = device.create_command_encoder()
        return [error(e.upload_texture_data, t, 0, 0, f[:2].copy()), error(e.upload_texture_data, t, 5, 0, f), fails(e.copy_texture, t, 0, 9, [0, 0, 0], t, 0, 0, [0, 0, 0]), error(e.blit, t, 3), error(e.generate_mips, None), error(e.upload_texture_data, t, [f, f])]
    return each(upload=upload, several=several, part=part, copy=copy, ranges=ranges, buffers=buffers, clears=clears, blits=blits, mips=mips, states=states, wrong=wrong)


@case
def users3_pictures_views(spy, device):
    u = spy.TextureUsage
    t = device.create_texture(type=spy.TextureType.texture_2d_array, format=spy.Format.r32_float, width=4, height=4, array_length=3, mip_count=3, usage=u.shader_resource | u.unordered_access)
    for l in range(3):
        t.copy_from_numpy(random(4, 4, seed=l), layer=l)
        t.copy_from_numpy(random(2, 2, seed=l + 5), layer=l, mip=1)
    def desc(v):
        r = v.subresource_range
        return [v.format, v.aspect, r.layer, r.layer_count, r.mip, r.mip_count, v.label, v.desc.format, v.texture is t, type(v).__name__, isinstance(v, spy.TextureView), isinstance(v, spy.DeviceChild)]
    m = load(spy, device, "import slangpy;\nfloat twice(float a) { return a * 2; }\nfloat at(int2 p, Texture2D<float> t) { return t[p]; }\nfloat ata(int3 p, Texture2DArray<float> t) { return t[p]; }\nvoid put(int2 p, RWTexture2D<float> t, float v) { t[p] = v; }\n")
    return each(all_=lambda: desc(t.create_view()), one=lambda: desc(t.create_view(layer=1, layer_count=1, mip=1, mip_count=1, label="v")), dict_=lambda: desc(t.create_view({"subresource_range": {"layer": 2, "layer_count": 1, "mip_count": 1}})), desc_=lambda: desc(t.create_view(spy.TextureViewDesc({"label": "x", "subresource_range": {"mip": 1}}))), fmt=lambda: desc(t.create_view(format=spy.Format.r32_float, aspect=spy.TextureAspect.all)), vec=lambda: m.twice(t.create_view(layer=1, layer_count=1, mip=0, mip_count=1), _result="numpy"), mip=lambda: m.twice(t.create_view(layer=2, layer_count=1, mip=1, mip_count=1), _result="numpy"), at=lambda: m.at(spy.grid((2, 2)), t.create_view(layer=1, layer_count=1, mip=1, mip_count=1), _result="numpy"), ata=lambda: m.ata(spy.int3(1, 2, 2), t), put=lambda: [m.put(spy.grid((4, 4)), t.create_view(layer=0, layer_count=1, mip=0, mip_count=1), 5.0), t.to_numpy(0).sum()][1], bad=lambda: [fails(t.create_view, layer=7, layer_count=1), fails(t.create_view, mip=9), error(t.create_view, nothing=1)])


@case
def users3_pictures_kernels_over_texels(spy, device):
    m = load(spy, device, """
import slangpy;
float4 invert(float4 c) { return float4(1 - c.rgb, c.a); } float lum(float4 c) { return dot(c.rgb, float3(0.3, 0.6, 0.1)); } float2 rg(float2 c) { return c.yx; } float one(float c) { return c * 2; }
float4 blur(int2 p, Texture2D<float4> t) { uint w, h; t.GetDimensions(w, h); float4 r = 0; for (int y = -1; y <= 1; y++) for (int x = -1; x <= 1; x++) r += t[clamp(p + int2(x, y), 0, int2(w, h) - 1)]; return r / 9; }
float4 samp(float2 uv, Texture2D<float4> t, SamplerState s) { return t.SampleLevel(s, uv, 0); }
void wr(int2 p, RWTexture2D<float4> t) { t[p] = float4(p, 0, 1); } float vol(float a) { return a + 1; }
float4 tint(float4 c, float3 k) { return float4(c.rgb * k, c.a); } float mixt(float4 a, float b) { return a.x + b; }
""")
    f = random(3, 4, 4)
    S = lambda **k: device.create_sampler(**k)
    pt = spy.TextureFilteringMode.point
    return each(inv=lambda: m.invert(tex(spy, device, f), _result="numpy"), into=lambda: [t := tex(spy, device, np.zeros((3, 4, 4), np.float32)), m.invert(tex(spy, device, f), _result=t), t.to_numpy()][2], restex=lambda: [r := m.invert(tex(spy, device, f), _result="texture"), type(r).__name__, r.format, r.width, r.height][1:], lum=lambda: m.lum(tex(spy, device, f), _result="numpy"), lumt=lambda: m.lum(tex(spy, device, f)).shape, rg=lambda: m.rg(tex(spy, device, f[..., :2].copy(), "rg32_float"), _result="numpy"), one=lambda: m.one(tex(spy, device, f[..., 0].copy(), "r32_float"), _result="numpy"), u8=lambda: m.invert(tex(spy, device, (f * 255).astype(np.uint8), "rgba8_unorm"), _result="numpy"), blur=lambda: m.blur(spy.grid((3, 4)), tex(spy, device, f), _result="numpy"), bcall=lambda: m.blur(spy.call_id(), tex(spy, device, f), _result=tex(spy, device, np.zeros((3, 4, 4), np.float32))).to_numpy(), samp=lambda: m.samp(random(5, 2), tex(spy, device, f), S(min_filter=pt, mag_filter=pt, mip_filter=pt, address_u=spy.TextureAddressingMode.clamp_to_edge, address_v=spy.TextureAddressingMode.clamp_to_edge), _result="numpy"), lin=lambda: m.samp(np.float32([[0.5, 0.5], [0.25, 0.5]]), tex(spy, device, f), S(), _result="numpy"), wr=lambda: [t := tex(spy, device, np.zeros((2, 3, 4), np.float32)), m.wr(spy.grid((2, 3)), t), t.to_numpy()][2], vol=lambda: m.vol(device.create_texture(type=spy.TextureType.texture_3d, format=spy.Format.r32_float, width=2, height=3, depth=2, usage=spy.TextureUsage.shader_resource, data=random(2, 3, 2)), _result="numpy"), tint=lambda: m.tint(tex(spy, device, f), spy.float3(1, 0, 2), _result="numpy"), two=lambda: m.mixt(tex(spy, device, f), random(3, 4), _result="numpy"), mism=lambda: error(m.mixt, tex(spy, device, f), random(2, 4)), wrong=lambda: [fails(m.one, tex(spy, device, f)), fails(m.invert, tex(spy, device, f[..., 0].copy(), "r32_float")), fails(m.blur, spy.grid((2, 2)), 3.0), fails(m.samp, spy.float2(0, 0), tex(spy, device, f), 3)])


@case
def users3_pictures_loaded_from_files(spy, device):
    folder = tempfile.mkdtemp()
    at = lambda n: os.path.join(folder, n)
    u8 = (random(4, 6, 3) * 255).astype(np.uint8)
    spy.Bitmap(u8).write(at("a.png"))
    spy.Bitmap(random(4, 6, 3)).write(at("f.exr"))
    spy.Bitmap(u8[..., 0].copy()).write(at("y.png"))
    L = spy.TextureLoader(device)
    O = spy.TextureLoader.Options
    def desc(t):
        return [t.type, t.format, t.width, t.height, t.array_length, t.mip_count, t.to_numpy().dtype.name, t.to_numpy().shape, t.to_numpy().reshape(-1)[:8]]
    from slangpy.types.common import load_buffer_data_from_image
    return each(png=lambda: desc(L.load_texture(at("a.png"))), exr=lambda: desc(L.load_texture(at("f.exr"))), y=lambda: desc(L.load_texture(at("y.png"))), bmp=lambda: desc(L.load_texture(spy.Bitmap(u8))), norm=lambda: desc(L.load_texture(at("a.png"), {"load_as_normalized": True, "load_as_srgb": False})), srgb=lambda: desc(L.load_texture(at("a.png"), {"load_as_srgb": True})), noalpha=lambda: fails(lambda: desc(L.load_texture(at("f.exr"), {"extend_alpha": False}))), mips=lambda: L.load_texture(at("a.png"), {"generate_mips": True}).mip_count, alloc=lambda: L.load_texture(at("a.png"), O({"allocate_mips": True})).mip_count, many=lambda: [t.format for t in L.load_textures([at("a.png"), at("f.exr")])], many2=lambda: [t.format for t in L.load_textures([spy.Bitmap(u8)] * 2, [O(), O({"load_as_normalized": True})])], arr=lambda: desc(L.load_texture_array([at("a.png"), at("a.png")])), missing=lambda: fails(L.load_texture, at("no.png")), opts=lambda: [(o := O()), o.load_as_normalized, o.load_as_srgb, o.extend_alpha, o.allocate_mips, o.generate_mips, o.usage.value, o.ya_handling][1:], bad=lambda: fails(O, {"nothing": 1}), data=lambda: [load_buffer_data_from_image(at("a.png")).shape, load_buffer_data_from_image(at("a.png"), flip_y=True, scale=2.0, offset=1.0)[0, 0], load_buffer_data_from_image(at("a.png"), linearize=True)[0, 0], load_buffer_data_from_image(at("a.png"), greyscale=True).shape], members=lambda: {m.name: m.value for m in spy.YAHandling} if hasattr(spy, "YAHandling") else None)


@case
def users3_pictures_drawn_triangles(spy, device):
    s = device.load_module_from_source("users3_draw", """
struct V { float4 p : SV_Position; float3 c : COLOR; }; uniform float4 tint;
[shader("vertex")] V vs(float2 p : POSITION, float3 c : COLOR, uint i : SV_InstanceID) { V v; v.p = float4(p + float2(i, 0), 0.5, 1); v.c = c; return v; }
[shader("fragment")] float4 fs(V v) : SV_Target { return float4(v.c, 1) * tint; }
""")
    p = device.link_program([s], [s.entry_point("vs"), s.entry_point("fs")])
    il = device.create_input_layout(input_elements=[{"semantic_name": "POSITION", "semantic_index": 0, "format": spy.Format.rg32_float, "offset": 0, "buffer_slot_index": 0}, {"semantic_name": "COLOR", "semantic_index": 0, "format": spy.Format.rgb32_float, "offset": 8}], vertex_streams=[{"stride": 20, "slot_class": spy.InputSlotClass.per_vertex}])
    v = device.create_buffer(usage=spy.BufferUsage.vertex_buffer | spy.BufferUsage.shader_resource, data=np.float32([-1, -1, 1, 0, 0, 3, -1, 0, 1, 0, -1, 3, 0, 0, 1]))
    ix = device.create_buffer(usage=spy.BufferUsage.index_buffer | spy.BufferUsage.shader_resource, data=np.uint32([0, 1, 2]))
    def draw(indexed=False, blend=False, mask=None, scissor=None, **raster):
        t = device.create_texture(format=spy.Format.rgba32_float, width=8, height=8, usage=spy.TextureUsage.render_target | spy.TextureUsage.shader_resource | spy.TextureUsage.copy_source)
        target = {"format": spy.Format.rgba32_float, "enable_blend": blend, "color": {"src_factor": spy.BlendFactor.one, "dst_factor": spy.BlendFactor.one, "op": spy.BlendOp.add}}
        if mask is not None:
            target["write_mask"] = mask
        pipe = device.create_render_pipeline(program=p, input_layout=il, primitive_topology=spy.PrimitiveTopology.triangle_list, targets=[target], rasterizer=raster or None, label="draw")
        e = device.create_command_encoder()
        with e.begin_render_pass({"color_attachments": [{"view": t.create_view(), "load_op": spy.LoadOp.clear, "store_op": spy.StoreOp.store, "clear_value": [0.25, 0.5, 0.75, 1]}]}) as q:
            c = spy.ShaderCursor(q.bind_pipeline(pipe))
            c.tint = spy.float4(1, 1, 0.5, 1)
            q.set_render_state({"viewports": [spy.Viewport.from_size(8, 8)], "scissor_rects": [scissor or spy.ScissorRect.from_size(8, 8)], "vertex_buffers": [v], "index_buffer": ix, "index_format": spy.IndexFormat.uint32})
            q.draw_indexed({"vertex_count": 3}) if indexed else q.draw(spy.DrawArguments({"vertex_count": 3, "instance_count": 1}))
        device.submit_command_buffer(e.finish())
        return t.to_numpy()
    W = spy.RenderTargetWriteMask
    return each(plain=lambda: draw(), indexed=lambda: bool((draw(indexed=True) == draw()).all()), blend=lambda: draw(blend=True)[4, 4], mask=lambda: draw(mask=W.red | W.blue)[4, 4], scissor=lambda: draw(scissor=spy.ScissorRect({"min_x": 2, "min_y": 2, "max_x": 6, "max_y": 6}))[:, :, 2], cull=lambda: [draw(cull_mode=spy.CullMode.back)[4, 4], draw(cull_mode=spy.CullMode.front)[4, 4], draw(cull_mode=spy.CullMode.back, front_face=spy.FrontFaceMode.clockwise)[4, 4]], layout=lambda: [type(il).__name__, [x.semantic_name for x in il.desc.input_elements], [x.stride for x in il.desc.vertex_streams], [x.offset for x in il.desc.input_elements]], bad=lambda: [fails(device.create_render_pipeline, program=None, input_layout=il), fails(device.create_input_layout, [{"semantic_name": "A"}], [])])

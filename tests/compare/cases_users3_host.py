"""Programs of other users, third set: what needs no kernel: enums, descriptions, formats, pictures in host memory, logs, records, mathematics."""
import os
import tempfile

import numpy as np

from cases import case, each, error, fails, plain, random


def members(enum):
    return {m.name: m.value for m in enum}


@case
def users3_host_enums_of_drawing(spy, device):
    names = "ComparisonFunc TextureReductionOp LogicOp BlendOp BlendFactor StencilOp FrontFaceMode CullMode FillMode LoadOp StoreOp PrimitiveTopology RenderTargetWriteMask IndexFormat InputSlotClass TextureFilteringMode TextureAddressingMode".split()
    return each(**{n: lambda n=n: members(getattr(spy, n)) for n in names})


@case
def users3_host_enums_of_devices(spy, device):
    names = "Feature NativeHandleType DescriptorHandleType ShaderModel ShaderStage QueryType ResourceState BufferUsage TextureUsage TextureType MemoryType TextureAspect DeviceType CommandQueueType DataType FormatType FormatChannels FormatSupport CpuTimestampDomain".split()
    return each(**{n: lambda n=n: members(getattr(spy, n)) for n in names}, texts=lambda: [str(spy.Feature.wave_ops), repr(spy.BufferUsage.shader_resource), str(spy.BufferUsage.shader_resource | spy.BufferUsage.copy_source), repr(spy.TextureUsage.none), str(spy.ShaderModel.sm_6_6), str(spy.DeviceType.automatic)])


@case
def users3_host_enums_of_slang(spy, device):
    out = {n: lambda n=n: members(getattr(spy, n)) for n in "SlangMatrixLayout SlangFloatingPointMode SlangDebugInfoLevel SlangOptimizationLevel SpecializationArgKind ModifierID LogLevel LogFrequency".split()}
    inner = {"kind": "TypeReflection.Kind", "scalar": "TypeReflection.ScalarType", "shape": "TypeReflection.ResourceShape", "access": "TypeReflection.ResourceAccess", "category": "TypeReflection.ParameterCategory", "decl": "DeclReflection.Kind", "file": "Bitmap.FileFormat", "pixel": "Bitmap.PixelFormat", "component": "DataStruct.Type", "order": "DataStruct.ByteOrder", "flags": "DataStruct.Flags"}
    for k, path in inner.items():
        a, b = path.split(".")
        out[k] = lambda a=a, b=b: members(getattr(getattr(spy, a), b))
    return each(**out, native=lambda: [members(getattr(spy.slangpy, n)) for n in ("AccessType", "CallMode", "AutogradAccess", "FunctionNodeType")], prim=lambda: members(__import__("slangpy.core.enums", fromlist=["x"]).PrimType), pipeline=lambda: members(__import__("slangpy.core.function", fromlist=["x"]).PipelineType))


@case
def users3_host_enum_arithmetic(spy, device):
    B, T, W = spy.BufferUsage, spy.TextureUsage, spy.RenderTargetWriteMask
    return each(or_=lambda: (B.shader_resource | B.copy_destination).value, and_=lambda: bool((B.shader_resource | B.copy_source) & B.copy_source), not_=lambda: [bool(B.none), bool(B.index_buffer)], inv=lambda: bool(~B.shader_resource & B.shader_resource), xor=lambda: (T.shader_resource ^ T.shader_resource) == T.none, contains=lambda: T.render_target in (T.render_target | T.shader_resource), call=lambda: spy.Format(spy.Format.rgba8_unorm.value).name, item=lambda: spy.Format["r32_float"].name, bad=lambda: error(lambda: spy.Format["nothing"]), badcall=lambda: error(spy.Format, 99999), attr=lambda: error(lambda: spy.Format.nothing), hashes=lambda: len({spy.Format.r32_float, spy.Format.r32_float, spy.Format.r8_unorm}), length=lambda: [len(list(e)) > 3 for e in (spy.Format, B, T)], int_=lambda: [error(int, W.red), fails(lambda: W.red == 1), fails(lambda: spy.Format.r32_float == spy.Format.r32_float.value)], mask=lambda: (W.red | W.green | W.blue | W.alpha) == W.all, order=lambda: fails(lambda: spy.LogLevel.info < spy.LogLevel.warn), kinds=lambda: [c.__name__ for c in type(B.none).__mro__][:3], kinds2=lambda: [c.__name__ for c in type(spy.Format.r32_float).__mro__][:3], truth=lambda: [bool(spy.LogLevel.none), bool(spy.Format.undefined)], text=lambda: [str(B.none), str(W.all), repr(spy.CullMode.back), f"{spy.CullMode.back}", spy.CullMode.back.name], types=lambda: [isinstance(B.none, B), type(B.none | B.index_buffer).__name__])


@case
def users3_host_formats_in_full(spy, device):
    def row(f):
        i = spy.get_format_info(f)
        return [i.name, i.format == f, i.bytes_per_block, i.channel_count, i.type.name, i.is_depth, i.is_stencil, i.is_compressed, i.block_width, i.block_height, list(i.channel_bit_count), i.dxgi_format, i.vk_format, i.is_depth_stencil(), i.is_float_format(), i.is_integer_format(), i.is_normalized_format(), i.is_srgb_format(), str(i.get_channels()), i.has_equal_channel_bits(), i.get_channel_bits(spy.FormatChannels.rgb), i.get_channel_bits(spy.FormatChannels.a)]
    return each(**{f.name: lambda f=f: row(f) for f in spy.Format}, repr_=lambda: repr(spy.get_format_info(spy.Format.rgba16_float)), again=lambda: spy.get_format_info(spy.Format.r32_float) is spy.get_format_info(spy.Format.r32_float))


@case
def users3_host_descs_of_pipelines(spy, device):
    def fields(o):
        return {n: plain(getattr(o, n)) for n in sorted(dir(o)) if not n.startswith("_") and not callable(getattr(o, n)) and type(getattr(o, n)).__name__ in ("int", "float", "bool", "str", "NoneType", "float4") or isinstance(getattr(o, n, None), __import__("enum").Enum)}
    out = {n: lambda n=n: fields(getattr(spy, n)()) for n in "AspectBlendDesc ColorTargetDesc MultisampleDesc DepthStencilOpDesc DepthStencilDesc RasterizerDesc Viewport ScissorRect DrawArguments InputElementDesc VertexStreamDesc SamplerDesc TextureDesc BufferDesc TextureViewDesc SubresourceRange FenceDesc QueryPoolDesc RenderState SubresourceLayout".split() if n != "QueryPoolDesc"}
    def change():
        d = spy.ColorTargetDesc({"format": spy.Format.rgba16_float, "enable_blend": True, "color": {"src_factor": spy.BlendFactor.src_alpha, "dst_factor": spy.BlendFactor.inv_src_alpha, "op": spy.BlendOp.reverse_subtract}})
        d.logic_op = spy.LogicOp.no_op
        d.alpha.src_factor = spy.BlendFactor.blend_color
        d.write_mask = spy.RenderTargetWriteMask.red | spy.RenderTargetWriteMask.alpha
        return [d.format, d.color.src_factor, d.color.dst_factor, d.color.op, d.alpha.src_factor, d.alpha.op, d.write_mask.value, d.logic_op]
    def stencil():
        d = spy.DepthStencilDesc({"front_face": {"stencil_fail_op": spy.StencilOp.increment_wrap, "stencil_func": spy.ComparisonFunc.not_equal}, "stencil_enable": True, "stencil_read_mask": 15})
        d.back_face.stencil_depth_fail_op = spy.StencilOp.decrement_saturate
        return [d.front_face.stencil_fail_op, d.front_face.stencil_func, d.front_face.stencil_pass_op, d.back_face.stencil_depth_fail_op, d.stencil_enable, d.stencil_read_mask, d.stencil_write_mask]
    return each(**out, change=change, stencil=stencil, view=lambda: [fields(spy.Viewport.from_size(640, 480)), fields(spy.ScissorRect.from_size(3, 4)), repr(spy.Viewport.from_size(640, 480)), repr(spy.ScissorRect.from_size(3, 4)), repr(spy.SubresourceRange({"layer": 1, "mip_count": 2}))], unknown=lambda: fails(spy.SamplerDesc, {"nothing": 1}), wrong=lambda: error(spy.SamplerDesc, {"mip_lod_bias": "x"}), enum=lambda: fails(spy.SamplerDesc, {"min_filter": "linear"}), set_=lambda: fails(lambda: setattr(spy.SamplerDesc(), "nothing", 1)), text=lambda: error(lambda: setattr(spy.SamplerDesc(), "label", 3)))


@case
def users3_host_sampler_descs(spy, device):
    s = device.create_sampler(min_filter=spy.TextureFilteringMode.point, mip_filter=spy.TextureFilteringMode.point, address_u=spy.TextureAddressingMode.clamp_to_edge, address_v=spy.TextureAddressingMode.mirror_repeat, mip_lod_bias=0.5, max_anisotropy=1, min_lod=1.0, max_lod=4.0, border_color=spy.float4(1, 0, 0, 1), label="mine")
    d = spy.SamplerDesc({"address_w": spy.TextureAddressingMode.clamp_to_border, "border_color": [0, 0, 0, 1]})
    t = device.create_sampler(d)
    u = device.create_sampler({"mag_filter": spy.TextureFilteringMode.point})
    return each(s=lambda: [s.desc.min_filter, s.desc.mag_filter, s.desc.mip_filter, s.desc.reduction_op, s.desc.address_u, s.desc.address_v, s.desc.address_w, s.desc.mip_lod_bias, s.desc.max_anisotropy, s.desc.comparison_func, s.desc.border_color, s.desc.min_lod, s.desc.max_lod, s.desc.label], t=lambda: [t.desc.address_w, t.desc.border_color, t.desc.address_u], u=lambda: [u.desc.mag_filter, u.desc.min_filter], kind=lambda: [type(s).__name__, isinstance(s, spy.Sampler), s.device is device], none=lambda: fails(device.create_sampler, nothing=1), desc_copy=lambda: [setattr(s.desc, "min_lod", 9.0), s.desc.min_lod][1])


@case
def users3_host_data_struct_fields(spy, device):
    S = spy.DataStruct
    s = S(pack=False)
    s.append("position", S.Type.float32, default_value=1.5).append("id", S.Type.uint16).append("w", S.Type.float64, S.Flags.none)
    s.append("c", S.Type.uint8, S.Flags.normalized | S.Flags.srgb_gamma)
    p = S(pack=True, byte_order=S.ByteOrder.big_endian)
    p.append("a", S.Type.int8).append("b", S.Type.float32)
    f = S().append("x", S.Type.int32, default_value=2.0)[0]
    row = lambda f: [f.name, f.type, f.flags.value, f.size, f.offset, f.default_value, f.is_integer(), f.is_unsigned(), f.is_signed(), f.is_float()]
    return each(fields=lambda: [row(x) for x in s], packed=lambda: [row(x) for x in p], sizes=lambda: [s.size, s.alignment, len(s), p.size, p.alignment, p.byte_order, s.byte_order], has=lambda: [s.has_field("id"), s.has_field("q"), row(s.field("w"))], missing=lambda: error(s.field, "q"), index=lambda: [s[0].name, s[3].name, error(lambda: s[4]), fails(lambda: s[-1].name)], eq=lambda: [s == s, s == p, s[0] == s[0], s[0] == s[1]], f=lambda: row(f), texts=lambda: [repr(s[1]), repr(s[3]), repr(f)], twice=lambda: fails(lambda: S().append("a", S.Type.int8).append("a", S.Type.int8)), types=lambda: {t.name: [S.type_size(t), list(S.type_range(t)), S.is_integer(t), S.is_unsigned(t), S.is_signed(t), S.is_float(t)] for t in S.Type if t.name != "void"}, own=lambda: [row(x) for x in S().append(f)], text=lambda: repr(s))


@case
def users3_host_data_struct_converters(spy, device):
    S = spy.DataStruct
    def conv(a, b, data, order=None):
        x, y = S(), S(byte_order=order or S.ByteOrder.host)
        for n, t, *r in a:
            x.append(n, t, *r)
        for n, t, *r in b:
            y.append(n, t, *r)
        return spy.DataStructConverter(x, y).convert(data).hex()
    T, N = S.Type, S.Flags.normalized
    f = lambda *v: np.array(v, np.float32).tobytes()
    return each(swap=lambda: conv([("x", T.float32), ("y", T.float32)], [("y", T.float32), ("x", T.float32)], f(1, 2, 3, 4)), drop=lambda: conv([("x", T.float32), ("y", T.float32)], [("y", T.float64)], f(1, 2)), default=lambda: conv([("x", T.float32)], [("x", T.float32), ("a", T.float32, S.Flags.default, 7.0)], f(1, 2)), missing=lambda: error(conv, [("x", T.float32)], [("q", T.float32)], f(1)), norm=lambda: conv([("x", T.float32)], [("x", T.uint8, N)], f(0, 0.25, 0.5, 1, 2, -1)), norm16=lambda: conv([("x", T.uint8, N)], [("x", T.uint16, N)], bytes([0, 1, 128, 255])), back=lambda: conv([("x", T.uint8, N)], [("x", T.float32)], bytes([0, 51, 255])), srgb=lambda: conv([("x", T.uint8, N | S.Flags.srgb_gamma)], [("x", T.uint8, N)], bytes([0, 64, 128, 255])), half=lambda: conv([("x", T.float32)], [("x", T.float16)], f(1, 0.1, 65504, -2)), ints=lambda: conv([("x", T.float32)], [("x", T.int16)], f(1.4, 1.6, -1.5, 40000, -40000)), big=lambda: conv([("x", T.uint32)], [("x", T.uint32)], np.array([1, 0x01020304], np.uint32).tobytes(), S.ByteOrder.big_endian), u2i=lambda: conv([("x", T.uint32)], [("x", T.int8)], np.array([1, 200, 1 << 31], np.uint32).tobytes()), cut=lambda: fails(conv, [("x", T.float32)], [("x", T.float32)], b"abc"), empty=lambda: conv([("x", T.float32)], [("x", T.float32)], b""), src=lambda: [spy.DataStructConverter(S().append("a", T.int8), S().append("a", T.int16)).src.size, spy.DataStructConverter(S().append("a", T.int8), S().append("a", T.int16)).dst.size], blend=lambda: spy.DataStructConverter(S().append("r", T.float32).append("g", T.float32), S().append("l", T.float32, S.Flags.none, 0.0, [(0.25, "r"), (0.75, "g")])).convert(f(1, 2, 3, 4)).hex())


@case
def users3_host_bitmaps_changed(spy, device):
    B, P, T = spy.Bitmap, spy.Bitmap.PixelFormat, spy.DataStruct.Type
    a = (random(3, 4, 3) * 255).astype(np.uint8)
    b = B(a)
    def pic(x):
        return [x.width, x.height, x.pixel_format, x.component_type, x.channel_count, list(x.channel_names), x.srgb_gamma, x.bytes_per_pixel, x.buffer_size, x.pixel_count, x.has_alpha(), x.empty(), np.array(x, copy=False)]
    def flip():
        c = B(a.copy())
        c.vflip()
        return np.array(c, copy=False)
    def clear():
        c = B(a.copy())
        c.clear()
        return np.array(c, copy=False).sum().item()
    made = lambda *x, **k: pic(B(*x, **k))
    return each(b=lambda: pic(b), flip=flip, clear=clear, split=lambda: [(n, pic(c)) for n, c in b.split()], eq=lambda: [b == B(a), b == B(a[::-1].copy()), b != B(a)], conv=lambda: pic(b.convert(P.rgba)), conv_y=lambda: pic(b.convert(pixel_format=P.y)), conv_f=lambda: pic(b.convert(component_type=T.float32)), conv_lin=lambda: pic(b.convert(component_type=T.float32, srgb_gamma=False)), conv_all=lambda: pic(b.convert(P.rgba, T.float16, False)), conv16=lambda: pic(b.convert(component_type=T.uint16)), blank=lambda: made(P.rgba, T.float32, 3, 2)[:-1], multi=lambda: [x for x in made(P.multi_channel, T.float32, 2, 2, 5, ["a", "b", "c", "d", "e"])[:-1]], multi2=lambda: made(P.multi_channel, T.float32, 2, 2, 3)[:-1], named=lambda: made(random(2, 2, 2), channel_names=["u", "v"])[:-1], as_y=lambda: made(random(2, 3))[:-1], as_y1=lambda: made(random(2, 3, 1))[:-1], ya=lambda: made(random(2, 3, 2), pixel_format=P.ya)[:-1], rg=lambda: made(random(2, 3, 2), pixel_format=P.rg)[:-1], five=lambda: made(random(2, 3, 5))[:-1], wrong=lambda: fails(B, random(2, 3, 3), pixel_format=P.rgba), gamma=lambda: made(a, srgb_gamma=False)[:-1], set_gamma=lambda: [setattr(b, "srgb_gamma", False), b.srgb_gamma, setattr(b, "srgb_gamma", True)][1], dtypes=lambda: {t: fails(lambda t=t: B(np.zeros((2, 2, 3), t)).component_type) for t in ("int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "float16", "float32", "float64", "bool")}, dims=lambda: [fails(lambda: B(np.zeros(4, np.float32)).width), fails(lambda: B(np.zeros((1, 2, 3, 4), np.float32)).width)], names=lambda: fails(B, random(2, 2, 3), channel_names=["a"]), text=lambda: repr(b), text2=lambda: repr(B(random(2, 2))), struct=lambda: [[f.name, f.type, f.flags.value, f.offset] for f in b.pixel_struct], load=lambda: pic(B.load_from_numpy(a)), alias=lambda: B.ComponentType is spy.DataStruct.Type, zero=lambda: fails(lambda: B(P.rgb, T.uint8, 0, 0).empty()))


@case
def users3_host_bitmaps_resampled(spy, device):
    B = spy.Bitmap
    a = random(6, 8, 3, seed=4)
    b = B(a)
    bc = spy.FilterBoundaryCondition
    arr = lambda x: np.array(x, copy=False)
    filters = {"box": spy.BoxFilter(), "tent": spy.TentFilter(), "tent2": spy.TentFilter(2.0), "gauss": spy.GaussianFilter(), "gauss1": spy.GaussianFilter(stddev=1.0), "mitchell": spy.MitchellFilter(), "mitchell2": spy.MitchellFilter(0.0, 0.5), "lanczos": spy.LanczosFilter(), "lanczos2": spy.LanczosFilter(lobes=2)}
    def into():
        t = B(B.PixelFormat.rgb, spy.DataStruct.Type.float32, 4, 3)
        b.resample(t, filter=spy.BoxFilter())
        return arr(t)
    return each(**{f"down_{k}": lambda f=f: arr(b.resample(4, 3, filter=f)) for k, f in filters.items()}, **{f"up_{k}": lambda f=f: arr(b.resample(11, 9, filter=f)) for k, f in filters.items()}, **{f"r_{k}": lambda f=f: [f.radius] + [f.eval(x) for x in (-2.5, -1.0, -0.5, 0.0, 0.25, 0.5, 0.99, 1.0, 1.5, 3.0)] for k, f in filters.items()}, **{f"bc_{m.name}": lambda m=m: arr(b.resample(12, 9, spy.TentFilter(2.0), (m, m))) for m in bc}, default=lambda: arr(b.resample(4, 3)), clamp=lambda: arr(b.resample(12, 9, spy.LanczosFilter(), (bc.clamp, bc.clamp), (0.25, 0.75))), into=into, same=lambda: arr(b.resample(8, 6)), u8=lambda: arr(B((a * 255).astype(np.uint8)).resample(4, 3, spy.BoxFilter())), half=lambda: arr(B(a.astype(np.float16)).resample(4, 3, spy.BoxFilter())), one=lambda: arr(B(a[:, :, 0].copy()).resample(4, 3)), zero=lambda: fails(b.resample, 0, 3), members=lambda: members(bc), texts=lambda: [repr(filters[k]) for k in ("box", "tent", "gauss", "mitchell", "lanczos")])


@case
def users3_host_bitmap_files(spy, device):
    B, F = spy.Bitmap, spy.Bitmap.FileFormat
    folder = tempfile.mkdtemp()
    at = lambda n: os.path.join(folder, n)
    u8, f32 = (random(5, 7, 3) * 255).astype(np.uint8), random(5, 7, 3)
    def trip(a, name, **k):
        B(a).write(at(name), **k)
        r = B(at(name))
        return [r.width, r.height, r.pixel_format, r.component_type, r.srgb_gamma, np.array(r, copy=False)]
    def wait():
        B(u8).write_async(at("async.png"))
        import time
        for _ in range(100):
            time.sleep(0.02)
            try:
                return np.array(B(at("async.png")), copy=False)
            except Exception:
                pass
        return "never"
    def many():
        for i in range(3):
            B(u8 + np.uint8(i)).write(at(f"m{i}.png"))
        return [np.array(x, copy=False).sum().item() for x in B.read_multiple([at(f"m{i}.png") for i in range(3)])]
    return each(png=lambda: trip(u8, "a.png"), png4=lambda: trip(np.dstack([u8, u8[:, :, :1]]), "a4.png"), png1=lambda: trip(u8[:, :, 0].copy(), "a1.png"), png16=lambda: trip((f32 * 65535).astype(np.uint16), "a16.png"), png2=lambda: fails(trip, u8[:, :, :2].copy(), "a2.png"), bmp=lambda: trip(u8, "a.bmp"), tga=lambda: trip(u8, "a.tga"), tga4=lambda: trip(np.dstack([u8, u8[:, :, :1]]), "a4.tga"), jpg=lambda: trip(u8, "a.jpg", quality=100)[:5], hdr=lambda: trip(f32, "a.hdr")[:5], exr=lambda: trip(f32, "a.exr"), exr16=lambda: trip(f32.astype(np.float16), "h.exr"), exr4=lambda: trip(np.dstack([f32, f32[:, :, :1]]), "a4.exr"), exr1=lambda: trip(f32[:, :, 0].copy(), "a1.exr"), fmt=lambda: [B(u8).write(at("x.bin"), F.png), B(at("x.bin")).width][1], pngfloat=lambda: fails(trip, f32, "f.png"), exru8=lambda: fails(trip, u8, "u.exr"), hdru8=lambda: fails(trip, u8, "u.hdr"), missing=lambda: error(B, at("nothing.png")), folder_=lambda: error(B(u8).write, at("no/such/a.png")), ext=lambda: error(B(u8).write, at("a.xyz")), junk=lambda: [open(at("j.png"), "wb").write(b"abc"), error(B, at("j.png"))][1], wait=wait, many=many, one=lambda: B.load_from_file(at("a.png")).width, path=lambda: __import__("pathlib").Path(at("a.png")).stat().st_size > 0 and B(__import__("pathlib").Path(at("a.png"))).height)


@case
def users3_host_loggers(spy, device):
    folder = tempfile.mkdtemp()
    lines = []
    class Mine(spy.LoggerOutput):
        def __init__(self):
            super().__init__()
        def write(self, level, name, msg):
            lines.append([level.name, name, msg])
    def go():
        g = spy.Logger(spy.LogLevel.debug, "me", use_default_outputs=False)
        o = Mine()
        g.add_output(o)
        for n in ("debug", "info", "warn", "error", "fatal"):
            getattr(g, n)(f"{n} text")
            getattr(g, n + "_once")("only once")
            getattr(g, n + "_once")("only once")
        g.log(spy.LogLevel.warn, "twice", spy.LogFrequency.once)
        g.log(spy.LogLevel.warn, "twice", frequency=spy.LogFrequency.once)
        g.level = spy.LogLevel.error
        g.warn("no")
        g.error("yes")
        g.name = "you"
        g.log(spy.LogLevel.none, "bare")
        g.remove_output(o)
        g.fatal("gone")
        return list(lines)
    def files():
        g = spy.Logger(level=spy.LogLevel.info, name="f", use_default_outputs=False)
        p = os.path.join(folder, "a.log")
        o = g.add_file_output(p)
        g.info("one"), g.debug("two"), g.warn("three")
        h = spy.Logger(name="", use_default_outputs=False)
        h.use_same_outputs(g)
        h.error("four")
        g.remove_all_outputs()
        g.error("five")
        del h
        return [open(p).read(), type(o).__name__, isinstance(o, spy.LoggerOutput)]
    def direct():
        p = os.path.join(folder, "b.log")
        o = spy.FileLoggerOutput(p)
        o.write(spy.LogLevel.info, "n", "m")
        g = spy.Logger(use_default_outputs=False)
        g.add_output(o)
        g.info("through")
        return open(p).read()
    def console():
        g = spy.Logger(use_default_outputs=False)
        return [type(g.add_console_output(colored=False)).__name__, type(g.add_debug_console_output()).__name__, type(spy.ConsoleLoggerOutput(colored=False)).__name__, type(spy.DebugConsoleLoggerOutput()).__name__, isinstance(spy.ConsoleLoggerOutput.IGNORE_PRINT_EXCEPTION, bool)]
    return each(go=go, files=files, direct=direct, console=console, get=lambda: [spy.Logger.get() is spy.Logger.get(), spy.Logger.get().level, spy.Logger.get().name], free=lambda: [f("x") for f in (spy.log_debug, spy.log_debug_once, spy.log_info_once)], kinds=lambda: error(spy.Logger, "info"), defaults=lambda: [spy.Logger().level, spy.Logger().name], bad=lambda: error(spy.Logger(use_default_outputs=False).info, 3), badpath=lambda: fails(spy.FileLoggerOutput, "/no/such/folder/x.log"))


@case
def users3_host_hash_and_timers(spy, device):
    h = spy.SHA1()
    h.update(b"abc").update("def")
    t = spy.Timer()
    a, b = 1_000_000, 3_500_000
    return each(h=lambda: [h.hex_digest(), h.digest(), len(h.digest())], again=lambda: [h.update("g").hex_digest(), h.hex_digest()], empty=lambda: spy.SHA1().hex_digest(), s=lambda: spy.SHA1("text").hex_digest() == spy.SHA1(b"text").hex_digest(), kw=lambda: fails(lambda: spy.SHA1(data=b"x").hex_digest()), kw2=lambda: fails(lambda: spy.SHA1(str="x").hex_digest()), np=lambda: fails(lambda: spy.SHA1(np.arange(4, dtype=np.uint8).tobytes()).hex_digest()), wrong=lambda: error(spy.SHA1, 3), uni=lambda: spy.SHA1("äöü").hex_digest(), deltas=lambda: [spy.Timer.delta_s(a, b), spy.Timer.delta_ms(a, b), spy.Timer.delta_us(a, b), spy.Timer.delta_ns(a, b), spy.Timer.delta_ms(b, a)], order=lambda: [t.elapsed_ns() > 0, t.elapsed_us() < t.elapsed_ns() , t.elapsed_s() < 1000, t.reset(), t.elapsed_ms() < 1000], now=lambda: [type(spy.Timer.now()).__name__, spy.Timer.now() <= spy.Timer.now()])


@case
def users3_host_names_of_the_package(spy, device):
    public = "ALL_LAYERS ALL_MIPS SHADER_PATH SGL_VERSION SGL_VERSION_MAJOR SGL_VERSION_MINOR SGL_VERSION_PATCH SGL_BUILD_TYPE SGL_GIT_VERSION SLANG_BUILD_TAG".split()
    params = "bool1param float3param float16_tparam int4param quatfparam float4x4param BufferDescParam TextureDescDict SamplerDescParam SlangCompilerOptionsDict RenderPassDescParam CompilationReport".split()
    return each(types=lambda: {n: type(getattr(spy, n)).__name__ for n in public}, values=lambda: [spy.ALL_LAYERS, spy.ALL_MIPS], version=lambda: [isinstance(spy.__version__, str), spy.__version__.count(".")], **{n: lambda n=n: hasattr(spy, n) for n in params}, modules=lambda: [n for n in "core types bindings builtin reflection experimental math slangpy native_refl".split() if not hasattr(spy, n)], objects=lambda: [spy.Buffer.__mro__[1].__name__, spy.Texture.__mro__[2].__name__, spy.Sampler.__mro__[1].__name__, spy.DeviceChild.__mro__[1].__name__, spy.Kernel.__mro__[1].__name__, spy.ComputePassEncoder.__mro__[1].__name__, spy.TypeReflection.__mro__[1].__name__, spy.RenderPipeline.__mro__[1].__name__, spy.CommandEncoder.__mro__[1].__name__, spy.CommandBuffer.__mro__[1].__name__, spy.SlangSession.__mro__[1].__name__, spy.QueryPool.__mro__[1].__name__], errors=lambda: [c.__name__ for c in spy.SlangCompileError.__mro__], abstract=lambda: {n: fails(getattr(spy, n)) == "raises" for n in "Buffer Texture Sampler Fence CommandEncoder ComputePipeline SlangModule ShaderProgram ComputeKernel TextureView QueryPool".split()})


@case
def users3_host_handles_and_ranges(spy, device):
    H, T = spy.NativeHandle, spy.NativeHandleType
    a = H(T.VkDevice, 5)
    return each(a=lambda: [a.type, a.value, repr(a), str(a)], eq=lambda: [a == H(T.VkDevice, 5), a == H(T.VkDevice, 6), a == H(T.VkQueue, 5)], empty=lambda: [H().type, H().value, repr(H())], cu=lambda: [H.from_cuda_stream(77).type, H.from_cuda_stream(stream=77).value], big=lambda: H(T.VkBuffer, (1 << 64) - 1).value, neg=lambda: error(H, T.VkBuffer, -1), wrong=lambda: error(H, 3, 4), set_=lambda: error(lambda: setattr(a, "value", 3)), r=lambda: [spy.BufferRange().offset, spy.BufferRange().size, repr(spy.BufferRange())], s=lambda: [spy.SubresourceRange().layer, spy.SubresourceRange().layer_count, spy.SubresourceRange().mip, spy.SubresourceRange().mip_count, repr(spy.SubresourceRange())], p=lambda: [spy.BufferOffsetPair().offset, spy.BufferOffsetPair().buffer is None], fence=lambda: [spy.Fence.AUTO, spy.Fence.TIMEOUT_INFINITE], tc=lambda: [repr(spy.TypeConformance("I", "T")), repr(spy.TypeConformance("I", "T", 3)), spy.TypeConformance(("I", "T", 4)).id, spy.TypeConformance(("I", "T")).type_name, spy.TypeConformance().id], sa=lambda: [repr(spy.SpecializationArg.from_type("float")), repr(spy.SpecializationArg.from_expr("4")), spy.SpecializationArg().kind, spy.SpecializationArg(spy.SpecializationArgKind.expr, "3").value], sa2=lambda: [spy.SpecializationArg.from_expr(expr="4").kind, spy.SpecializationArg.from_type(type_name="T").value], matrix=lambda: fails(lambda: spy.ShaderOffset().is_valid()))


@case
def users3_host_matrix_columns_and_rows(spy, device):
    out = {}
    for r in (2, 3, 4):
        for c in (2, 3, 4):
            t = getattr(spy, f"float{r}x{c}")
            m = t(np.arange(r * c, dtype=np.float32).reshape(r, c))
            def go(t=t, m=m, r=r, c=c):
                n = t(m)
                n.set_row(0, getattr(spy, f"float{c}")(9)), n.set_col(1, getattr(spy, f"float{r}")(7))
                n[r - 1] = getattr(spy, f"float{c}")(5)
                n[0, 0] = -1
                return [str(n), str(m), repr(n), m.get_row(1), m.get_col(0), m[1], m[-1], m.shape, len(m), t.zeros(), t.identity(), m == n, m == t(m), hash(m) == hash(t(m)), [list(x) for x in m]]
            out[f"m{r}{c}"] = go
            out[f"e{r}{c}"] = lambda m=m, r=r, c=c: [error(lambda: m[r]), error(lambda: m[0, c]), error(m.get_row, r), error(m.get_col, c), fails(lambda: m[-r - 1]), error(lambda: m["a"]), error(m.set_row, 0, [1]), fails(lambda: m.to_numpy().sum())]
    m = spy.float3x4(np.arange(12, dtype=np.float32).reshape(3, 4))
    return each(**out, conv=lambda: [spy.float3x3(spy.float4x4(np.arange(16).reshape(4, 4))), spy.float4x4(m), spy.float3x4(spy.float4x4.identity())], flat=lambda: spy.float2x3([1, 2, 3, 4, 5, 6]), tup=lambda: fails(spy.float2x2, (1, 2, 3, 4)), args=lambda: fails(spy.float2x2, 1, 2, 3, 4), one=lambda: fails(spy.float2x2, 1), rows=lambda: fails(spy.float2x2, [spy.float2(1, 2), spy.float2(3, 4)]), few=lambda: error(spy.float2x2, [1, 2, 3]), dt=lambda: [spy.float2x2(np.array([[1, 2], [3, 4]], d)) for d in ("float64", "int32", "uint8", "float16")], np_=lambda: np.array(spy.float2x2.identity()), mm=lambda: [spy.float2x2([1, 2, 3, 4]) @ spy.float2x2([5, 6, 7, 8]), fails(lambda: spy.float2x2() @ spy.float3x3()), fails(lambda: spy.float2x2() @ spy.float2(1, 2)), fails(lambda: spy.float2x2() * 2), fails(lambda: spy.float2x3() @ spy.float3x2())])


@case
def users3_host_matrices_of_scenes(spy, device):
    M = spy.math
    eye, at, up = spy.float3(1, 2, 3), spy.float3(0, 0, 0), spy.float3(0, 1, 0)
    H = M.Handedness
    return each(look=lambda: M.matrix_from_look_at(eye, at, up), look_l=lambda: M.matrix_from_look_at(eye, at, up, H.left_handed), look_r=lambda: M.matrix_from_look_at(eye, at, up, handedness=H.right_handed), persp=lambda: M.perspective(fovy=1.0, aspect=1.5, z_near=0.1, z_far=100.0), ortho=lambda: M.ortho(left=-2, right=3, bottom=-1, top=4, z_near=0.1, z_far=10.0), euler=lambda: M.matrix_from_rotation_xyz(angle_x=0.1, angle_y=0.2, angle_z=0.3), euler3=lambda: M.matrix_from_rotation_xyz(angles=spy.float3(0.1, 0.2, 0.3)), axis=lambda: M.matrix_from_rotation(angle=0.5, axis=spy.float3(0, 0, 1)), y=lambda: M.matrix_from_rotation_y(angle=0.5), z=lambda: M.matrix_from_rotation_z(0.5), s=lambda: M.matrix_from_scaling(spy.float3(1, 2, 3)), t=lambda: M.matrix_from_translation(spy.float3(1, 2, 3)), q=lambda: M.matrix_from_quat(M.quat_from_angle_axis(0.5, spy.float3(0, 1, 0))), chain=lambda: M.rotate(M.scale(M.translate(spy.float4x4(), spy.float3(1, 2, 3)), spy.float3(2)), 0.5, spy.float3(0, 0, 1)), pt=lambda: M.transform_point(M.matrix_from_translation(spy.float3(1, 2, 3)), spy.float3(1)), vec=lambda: M.transform_vector(M.matrix_from_scaling(spy.float3(1, 2, 3)), spy.float3(1)), mulv=lambda: [M.mul(M.matrix_from_translation(spy.float3(1, 2, 3)), spy.float4(1)), M.mul(spy.float4(1), M.matrix_from_translation(spy.float3(1, 2, 3)))], qe=lambda: M.quat_from_euler_angles(angles=spy.float3(0.1, 0.2, 0.3)), ea=lambda: M.euler_angles(M.quat_from_euler_angles(spy.float3(0.1, 0.2, 0.3))), qb=lambda: M.quat_from_rotation_between_vectors(from_=spy.float3(1, 0, 0), to=spy.float3(0, 1, 0)), ql=lambda: [M.quat_from_look_at(spy.float3(0, 0, -1), up), M.quat_from_look_at(dir=spy.float3(0, 0, -1), up=up, handedness=H.left_handed)], qm=lambda: M.quat_from_matrix(spy.float3x3(M.matrix_from_rotation_y(0.4))), dec=lambda: fails(M.decompose, model_matrix=M.matrix_from_translation(spy.float3(1, 2, 3))), inv=lambda: [M.inverse(M.matrix_from_scaling(spy.float3(1, 2, 4))), M.determinant(M.matrix_from_scaling(spy.float3(1, 2, 4))), M.transpose(spy.float2x3([1, 2, 3, 4, 5, 6]))], slerp=lambda: [M.slerp(spy.quatf(), M.quat_from_angle_axis(1.0, up), 0.25), M.lerp(spy.quatf(), M.quat_from_angle_axis(1.0, up), 0.25)], sel=lambda: [M.select(spy.bool3(True, False, True), spy.float3(1), spy.float3(2)), fails(M.select, True, 1.0, 2.0), M.select(condition=spy.bool2(True, False), true_value=spy.int2(1), false_value=spy.int2(2))], names=lambda: [h.name for h in H])


@case
def users3_host_vectors_made_and_indexed(spy, device):
    out = {}
    for base, one in (("float", 1.5), ("int", -2), ("uint", 3), ("bool", True), ("float16_t", 0.5)):
        for n in (1, 2, 3, 4):
            t = getattr(spy, f"{base}{n}")
            def go(t=t, one=one, n=n):
                v = t(one)
                w = t([one] * n)
                w[n - 1] = type(one)(0)
                return [str(v), repr(w), len(v), list(map(float, w)), v == w, v != w, hash(v) == hash(t(one)), v.shape, v.element_type.__name__, error(lambda: v[n]), float(v[-1]), error(t, [one] * (n + 1)), t() == t(0 * one if base != "bool" else False), fails(lambda: np.array(v).shape), v == [one] * n, v == tuple([one] * n)]
            out[f"{base}{n}"] = go
    return each(**out, mix=lambda: [spy.float4(spy.float2(1, 2), spy.float2(3, 4)), spy.float4(spy.float3(1), 2), spy.float4(1, spy.float3(2)), spy.float4(xy=spy.float2(1, 2), zw=spy.float2(3, 4)), spy.float4(x=1, yzw=spy.float3(2, 3, 4)), None], kw=lambda: [spy.float3(x=1, y=2, z=3), spy.int2(x=1, y=2), spy.float3(xy=spy.float2(1, 2), z=3), spy.float3(x=1, yz=spy.float2(1, 2))], casts=lambda: [spy.int3(spy.float3(1.7, -1.7, 2.5)), spy.float3(spy.int3(1, 2, 3)), spy.uint3(spy.int3(1, 2, 3)), fails(spy.bool3, spy.int3(0, 1, 2)), spy.float3(spy.float16_t3(0.5))], arr=lambda: [spy.float3(np.arange(3, dtype=np.float32)), fails(spy.float3, np.arange(3)), fails(spy.int3, np.arange(3, dtype=np.int32)), fails(spy.float3, np.arange(4, dtype=np.float32))], sub=lambda: [spy.float4(1, 2, 3, 4).xy, spy.float4(1, 2, 3, 4).xyz, error(lambda: spy.float4().zw), error(lambda: spy.float2().z)], setx=lambda: [setattr(v := spy.float3(), "y", 5), v][1], div=lambda: [spy.int3(7, -7, 9) / 2, fails(lambda: spy.int3(7) % 4), spy.uint2(7, 9) / spy.uint2(2, 4), 0, -spy.int2(1, 2), fails(lambda: -spy.uint2(1, 2)), +spy.float2(1, 2), fails(lambda: ~spy.int2(1, 2)), fails(lambda: abs(spy.float2(-1, 1))), fails(lambda: spy.float2(2, 3) ** 2), fails(lambda: spy.float2(7, 8) // 2)], inpl=lambda: [v := spy.float3(1), v.__iadd__(2) if hasattr(v, "__iadd__") else None, v][2], rop=lambda: [1 + spy.float3(1), 2 - spy.float3(1), 3 * spy.int2(1, 2), 6 / spy.float2(2, 3), None], shifts=lambda: [spy.int2(1, 2) << 2, spy.uint2(8, 16) >> spy.uint2(1, 2), spy.int2(6, 5) & 3, spy.int2(6, 5) | 8, spy.int2(6, 5) ^ 1])

"""Programs of users that need no GPU: every function of slangpy.math, defaults of all descs, bitmaps, loggers."""
import enum
import os
import tempfile

import numpy as np

from cases import case, each, error, fails, load, plain, random


def samples(spy):
    f2, f3, f4 = spy.float2(0.5, -1.5), spy.float3(0.5, -1.5, 2.25), spy.float4(0.5, -1.5, 2.25, 0.75)
    g3 = spy.float3(0.25, 0.5, 0.75)
    i3, j3, u2 = spy.int3(5, -7, 9), spy.int3(2, 3, -4), spy.uint2(6, 10)
    m3 = spy.float3x3([2, 0, 1, 0, 3, 0, 1, 0, 4])
    m4 = spy.float4x4([1, 2, 3, 4, 0, 1, 4, 5, 0, 0, 1, 6, 0, 0, 0, 2])
    q, r = spy.quatf(0.1, 0.2, 0.3, 0.9), spy.quatf(0.5, 0.5, -0.5, 0.5)
    b3 = spy.bool3(True, False, True)
    one = [(f3,), (g3,), (0.3,), (2,), (i3,), (b3,), (m3,), (m4,), (q,), (f2,), (f4,), (spy.float2x3([1, 2, 3, 4, 5, 6]),)]
    two = [(f3, g3), (0.7, 0.3), (f3, 0.5), (i3, j3), (m4, f4), (m3, f3), (m3, m3), (m4, m4), (q, r), (q, f3), (f4, f4), (f2, f2), (u2, u2), (m4, f3), (f3, m3), (5, 3), (g3, i3)]
    three = [(f3, g3, 0.25), (f3, g3, g3), (0.1, 0.2, 0.3), (q, r, 0.25), (b3, f3, g3), (True, 1.0, 2.0), (i3, j3, i3), (1.0, 1.5, 10.0), (f3, 0.0, 1.0), (m4, m4, 0.5)]
    four = [(1.0, 1.5, 0.1, 100.0)]
    return [(a, ) for a in ()] + one + two + three + four


@case
def users_every_math_function(spy, device):
    out = {}
    for name in sorted(n for n in dir(spy.math) if not n.startswith("_")):
        f = getattr(spy.math, name)
        if isinstance(f, type) or not callable(f):
            continue
        rows = []
        for args in samples(spy):
            rows.append([str([type(a).__name__ for a in args]), error(f, *args)])
        out[name] = {k: v for k, v in rows if not (isinstance(v, str) and v.startswith("raises"))}
    return out


@case
def users_math_operators(spy, device):
    import operator
    out = {}
    for args in samples(spy):
        for name in ("add", "sub", "mul", "truediv", "mod", "and_", "or_", "xor", "lshift", "rshift", "eq", "ne", "lt", "le", "gt", "ge", "matmul"):
            if len(args) == 2:
                out[f"{name} {[type(a).__name__ for a in args]}"] = error(getattr(operator, name), *args)
                out[f"r{name} {[type(a).__name__ for a in args]}"] = error(getattr(operator, name), *args[::-1])
        if len(args) == 1:
            for name in ("neg", "pos", "invert", "abs", "truth"):
                out[f"{name} {type(args[0]).__name__}"] = error(getattr(operator, name), *args)
    return {k: v for k, v in out.items() if not (isinstance(v, str) and v.startswith("raises"))}


@case
def users_constructors_of_vectors(spy, device):
    out = {}
    for kind in ("float", "int", "uint", "bool", "float16_t"):
        for n in (1, 2, 3, 4):
            c = getattr(spy, f"{kind}{n}")
            for what, args in dict(none=(), one=(1,), two=(1, 0), three=(1, 0, 1), four=(1, 0, 1, 1), lst=([1, 0, 1, 1][:n],), tup=((1, 0, 1, 1)[:n],), arr=(np.array([1, 0, 1, 1][:n]),), farr=(np.array([1, 0, 1, 1][:n], np.float32),), neg=(-1,), fl=(1.5,), f2=(spy.float2(1, 2), 3), x2=(1, spy.float2(1, 2)), i=(spy.int3(1, 2, 3),), f=(spy.float3(1, 2, 3),), s="x").items():
                v = error(c, *args)
                if not (isinstance(v, str) and v.startswith("raises")):
                    out[f"{kind}{n} {what}"] = [v, str(c(*args))]
    return out


@case
def users_vector_members(spy, device):
    v, w = spy.float3(1, 2, 3), spy.int4(1, 2, 3, 4)
    def set_item():
        a = spy.float3(1, 2, 3)
        a[1] = 9
        a.x = 7
        return a
    return each(it=lambda: list(v), ln=lambda: [len(v), len(w)], ix=lambda: [v[0], v[-1], error(lambda: v[3])], st=set_item, un=lambda: [x for x in w], tup=lambda: tuple(v), sw=lambda: [v.xy, w.xyz], mx=lambda: [max(v), min(w), sum(v)], np=lambda: np.array(list(v)), eq=lambda: [v == spy.float3(1, 2, 3), v == [1, 2, 3], v == (1, 2, 3), v != spy.float3(1, 2, 4), w == 3], h=lambda: hash(v) == hash(spy.float3(1, 2, 3)), d=lambda: {spy.int2(1, 2): 3}[spy.int2(1, 2)], c=lambda: error(lambda: __import__("copy").copy(v)), dc=lambda: error(lambda: __import__("copy").deepcopy(v)), pk=lambda: error(lambda: __import__("pickle").loads(__import__("pickle").dumps(v))), fm=lambda: f"{v}", sh=lambda: [v.shape, v.element_type.__name__], iadd=lambda: (lambda a: [a.__iadd__(1) if hasattr(a, "__iadd__") else a + 1][0])(spy.float3(1)), b=lambda: [bool(spy.bool3(True)[0])])


@case
def users_matrix_members(spy, device):
    m = spy.float4x4(np.arange(16, dtype=np.float32).reshape(4, 4))
    def set_row():
        a = spy.float2x2()
        a[0] = spy.float2(5, 6)
        a[1, 1] = 9
        return a
    return each(i=lambda: m[1], ij=lambda: m[1, 2], neg=lambda: error(lambda: m[-1]), oob=lambda: error(lambda: m[4]), row=lambda: m.get_row(2) if hasattr(m, "get_row") else 0, col=lambda: m.get_col(2) if hasattr(m, "get_col") else 0, st=set_row, np=lambda: m.to_numpy(), dt=lambda: str(m.to_numpy().dtype), idn=lambda: spy.float3x3.identity(), z=lambda: spy.float3x3.zeros(), sh=lambda: m.shape, s=lambda: str(spy.float2x2([1, 2, 3, 4])), mm=lambda: m @ m, mv=lambda: error(lambda: m @ spy.float4(1)), f64=lambda: spy.float2x2(np.arange(4, dtype=np.float64).reshape(2, 2)), i32=lambda: spy.float2x2(np.arange(4).reshape(2, 2)), bad=lambda: fails(spy.float2x2, [1, 2, 3]), bad2=lambda: fails(spy.float2x2, np.zeros((3, 3))), sc=lambda: fails(spy.float2x2, 2.0), mem=lambda: sorted(n for n in dir(m) if not n.startswith("_")), f34=lambda: spy.float3x4.identity(), sub=lambda: spy.float3x3(m), up=lambda: spy.float4x4(spy.float3x3.identity()))


@case
def users_transforms(spy, device):
    M = spy.math
    v = spy.float3(1, 2, 3)
    return each(**{n: (lambda n=n, a=a: error(getattr(M, n), *a)) for n, a in dict(matrix_from_translation=(v,), matrix_from_scaling=(v,), matrix_from_rotation=(0.5, v), matrix_from_rotation_x=(0.5,), matrix_from_rotation_y=(0.5,), matrix_from_rotation_z=(0.5,), matrix_from_rotation_xyz=(0.1, 0.2, 0.3), matrix_from_look_at=(v, spy.float3(0), spy.float3(0, 1, 0)), matrix_from_quat=(spy.quatf(0, 0, 0, 1),), perspective=(1.0, 1.5, 0.1, 100.0), ortho=(-1.0, 1.0, -1.0, 1.0, 0.1, 10.0), quat_from_angle_axis=(0.5, spy.float3(0, 1, 0)), quat_from_matrix=(spy.float3x3.identity(),), quat_from_euler_angles=(v,), quat_from_look_at=(v, spy.float3(0, 1, 0)), quat_from_rotation_between_vectors=(spy.float3(1, 0, 0), spy.float3(0, 1, 0)), euler_angles=(spy.quatf(0.1, 0.2, 0.3, 0.9),), pitch=(spy.quatf(0.1, 0.2, 0.3, 0.9),), yaw=(spy.quatf(0.1, 0.2, 0.3, 0.9),), roll=(spy.quatf(0.1, 0.2, 0.3, 0.9),), transform_point=(spy.float4x4.identity(), v), transform_vector=(spy.float3x3.identity(), v), translate=(spy.float4x4.identity(), v), rotate=(spy.float4x4.identity(), 0.5, v), scale=(spy.float4x4.identity(), v), extract_euler_angle_xyz=(spy.float4x4.identity(),), slerp=(spy.quatf(0, 0, 0, 1), spy.quatf(0, 1, 0, 0), 0.3), lerp=(spy.quatf(0, 0, 0, 1), spy.quatf(0, 1, 0, 0), 0.3), conjugate=(spy.quatf(0.1, 0.2, 0.3, 0.9),), inverse=(spy.quatf(0.1, 0.2, 0.3, 0.9),), normalize=(spy.quatf(0.1, 0.2, 0.3, 0.9),), dot=(spy.quatf(0.1, 0.2, 0.3, 0.9), spy.quatf(0.1, 0.2, 0.3, 0.9)), length=(spy.quatf(0.1, 0.2, 0.3, 0.9),), cross=(v, spy.float3(3, 2, 1)), mul=(spy.quatf(0.1, 0.2, 0.3, 0.9), v), reflect=(v, spy.float3(0, 1, 0)), refract=(v, spy.float3(0, 1, 0), 1.5) if hasattr(M, "refract") else (), smoothstep=(0.0, 1.0, 0.3), step=(0.5, 0.3), saturate=(spy.float3(-1, 0.5, 2),), clamp=(spy.float3(-1, 0.5, 2), 0.0, 1.0), fmod=(5.5, 2.0), pow=(2.0, 3.0), atan2=(1.0, 2.0), exp2=(3.0,), log2=(8.0,), rsqrt=(4.0,), f32tof16=(1.5,), f16tof32=(15872,), asuint=(1.0,), asint=(1.0,), asfloat=(1065353216,), sign=(spy.float3(-1, 0, 2),), frac=(1.25,), trunc=(-1.5,), round=(2.5,), rcp=(4.0,), degrees=(1.0,), radians=(90.0,), isnan=(spy.float3(float("nan"), 1, 2),), isinf=(spy.float3(float("inf"), 1, 2),), isfinite=(1.0,)).items()})


def plain_or_name(v):
    if isinstance(v, (list, tuple)):
        return [plain_or_name(x) for x in v]
    if isinstance(v, (bool, int, float, str, type(None), enum.Enum, bytes)):
        return plain(v)
    return type(v).__name__ if not hasattr(v, "x") else plain(v)


@case
def users_defaults_of_descs(spy, device):
    out = {}
    skip = ("Aftermath", "Window", "App", "Keyboard", "Mouse", "Gamepad", "Coop", "AccelerationStructure", "Surface", "HitGroup", "RayTracing")
    for name in sorted(dir(spy)):
        c = getattr(spy, name)
        if not isinstance(c, type) or issubclass(c, enum.Enum) or name.startswith(skip) or not (name.endswith(("Desc", "Options", "Info", "Arguments", "Range", "Pair", "Viewport", "Rect", "View", "Resolver"))):
            continue
        try:
            o = c()
        except Exception as e:
            out[name] = "no"
            continue
        out[name] = {n: plain_or_name(getattr(o, n, None)) for n in dir(o) if not n.startswith("_") and not callable(getattr(o, n, None)) and not isinstance(getattr(o, n, None), type)}
    return out


@case
def users_descs_from_dicts(spy, device):
    def attrs(o):
        return {n: plain_or_name(getattr(o, n)) for n in dir(o) if not n.startswith("_") and not callable(getattr(o, n)) and not isinstance(getattr(o, n), type)}
    return each(t=lambda: attrs(spy.TextureDesc({"format": spy.Format.rgba8_unorm, "width": 4, "height": 5, "mip_count": 2, "label": "t"})), b=lambda: attrs(spy.BufferDesc({"size": 5, "usage": spy.BufferUsage.vertex_buffer})), s=lambda: attrs(spy.SamplerDesc({"min_filter": spy.TextureFilteringMode.point, "border_color": [1, 2, 3, 4]})), bad=lambda: error(spy.BufferDesc, {"sizes": 5}), badt=lambda: fails(spy.BufferDesc, {"size": "x"}), v=lambda: attrs(spy.Viewport.from_size(4, 5)), vd=lambda: attrs(spy.Viewport({"x": 1, "width": 3})), sc=lambda: attrs(spy.ScissorRect.from_size(4, 5)), ct=lambda: attrs(spy.ColorTargetDesc({"format": spy.Format.rgba32_float, "enable_blend": True, "color": {"src_factor": spy.BlendFactor.src_alpha}}).color), ds=lambda: attrs(spy.DepthStencilDesc({"depth_test_enable": True})), r=lambda: attrs(spy.RasterizerDesc({"cull_mode": spy.CullMode.back})), il=lambda: attrs(spy.InputElementDesc({"semantic_name": "POSITION", "format": spy.Format.rgb32_float})), sub=lambda: attrs(spy.SubresourceRange({"mip": 1, "layer_count": 2})), da=lambda: attrs(spy.DrawArguments({"vertex_count": 3})), rep=lambda: [repr(spy.Viewport.from_size(4, 5)), repr(spy.ScissorRect.from_size(4, 5)), repr(spy.SubresourceRange()), repr(spy.BufferRange())], q=lambda: attrs(spy.QueryPoolDesc({"count": 3})), f=lambda: attrs(spy.FenceDesc({"initial_value": 3})), op=lambda: attrs(spy.BufferOffsetPair({"offset": 3})), tc=lambda: [plain_or_name(getattr(spy.TypeConformance("A", "B", 3), n)) for n in ("interface_name", "type_name", "id")], tcr=lambda: repr(spy.TypeConformance("A", "B", 3)))


@case
def users_bitmaps_by_numpy(spy, device):
    B, P = spy.Bitmap, spy.Bitmap.PixelFormat
    folder = tempfile.mkdtemp()
    def trip(a, ext, **k):
        b = B(a, **k)
        p = os.path.join(folder, "x." + ext)
        b.write(p)
        c = B(p)
        return [c.width, c.height, c.pixel_format, c.component_type, c.srgb_gamma, np.array(c, copy=False)]
    f, u = random(4, 5, 3), (random(4, 5, 3) * 255).astype(np.uint8)
    return each(png=lambda: trip(u, "png"), png4=lambda: trip((random(4, 5, 4) * 255).astype(np.uint8), "png"), png1=lambda: trip((random(4, 5) * 255).astype(np.uint8), "png"), png16=lambda: trip((random(4, 5, 3) * 65535).astype(np.uint16), "png"), exr=lambda: trip(f, "exr"), exrh=lambda: trip(f.astype(np.float16), "exr"), hdr=lambda: trip(f, "hdr"), bmp=lambda: trip(u, "bmp"), tga=lambda: trip(u, "tga"), pf=lambda: [B(f).pixel_format, B(f).component_type, B(f).channel_count, B(f).channel_names, B(f).srgb_gamma, B(u).srgb_gamma, B(f).bytes_per_pixel, B(f).buffer_size, B(f).pixel_count], mc=lambda: [B(random(2, 2, 5)).pixel_format, B(random(2, 2, 5)).channel_names], r=lambda: B(random(2, 2), pixel_format=P.r).pixel_format, y=lambda: B(random(2, 2)).pixel_format, two=lambda: B(random(2, 2, 2)).pixel_format, conv=lambda: np.array(B(u).convert(P.rgba, B.ComponentType.float32, False)), convs=lambda: np.array(B(f).convert(component_type=B.ComponentType.uint8, srgb_gamma=True)), rep=lambda: repr(B(f)), eq=lambda: [B(f) == B(f.copy()), B(f) == B(u)], fl=lambda: (lambda b: [b.vflip(), np.array(b)][1])(B(u)), sp=lambda: [(n, np.array(b)) for n, b in B(f).split()], cl=lambda: (lambda b: [b.clear(), np.array(b)][1])(B(u)), em=lambda: [B(f).empty(), B(f).has_alpha()], new=lambda: [B(P.rgb, B.ComponentType.uint8, 3, 2).width, np.array(B(P.rgb, B.ComponentType.uint8, 3, 2)).shape], bad=lambda: fails(B, random(2)), badf=lambda: fails(B, os.path.join(folder, "none.png")), badw=lambda: fails(B(f).write, os.path.join(folder, "x.xyz")), rs=lambda: np.array(B(f).resample(2, 2)).shape, lm=lambda: len(B.read_multiple([os.path.join(folder, "x.png")] * 2)), b=lambda: fails(B, (random(3, 3) > 0.5)), d=lambda: B(random(2, 2, 3).astype(np.float64)).component_type, i=lambda: B(np.zeros((2, 2, 3), np.int32)).component_type)


@case
def users_loggers(spy, device):
    out = []
    class Out(spy.LoggerOutput):
        def write(self, level, name, msg):
            out.append([level, name, msg])
    l = spy.Logger(level=spy.LogLevel.debug, name="mine", use_default_outputs=False)
    o = Out()
    l.add_output(o)
    folder = tempfile.mkdtemp()
    def go():
        l.info("hello"); l.warn("w"); l.error("e"); l.debug("d"); l.fatal("f")
        l.log(spy.LogLevel.info, "x"); l.info_once("once"); l.info_once("once"); l.log(spy.LogLevel.none, "n"); l.log(spy.LogLevel.info, "q", spy.LogFrequency.once)
        return list(out)
    def level():
        out.clear()
        l.level = spy.LogLevel.error
        l.info("no"); l.error("yes")
        return list(out)
    def file():
        p = os.path.join(folder, "log.txt")
        f = spy.Logger(level=spy.LogLevel.info, name="file", use_default_outputs=False)
        h = f.add_file_output(p)
        f.info("one"); f.warn("two"); f.debug("no")
        f.remove_output(h)
        f.info("three")
        return open(p).read()
    return each(go=go, level=level, file=file, rm=lambda: [l.remove_output(o), out.clear(), l.error("z"), len(out)][3], name=lambda: [l.name, l.level], get=lambda: spy.Logger.get() is spy.Logger.get(), setn=lambda: [setattr(l, "name", "other"), l.name][1], all=lambda: l.remove_all_outputs(), lv=lambda: [spy.LogLevel.debug < spy.LogLevel.warn], tp=lambda: fails(l.info, 3), bad=lambda: fails(l.add_output, 3), fn=lambda: callable(spy.log_info))


@case
def users_native_helpers(spy, device):
    s = spy.slangpy
    S = s.Shape
    return each(shape=lambda: [S(2, 3), S((2, 3)), S([2, 3]), S(), S(None).valid, S(2, -1).concrete, S(2, 3) + S(4), S(2, 3) + (4,), S(2, 3) == (2, 3), S(2, 3) == [2, 3], len(S(1, 2)), S(1, 2, 3)[-1], list(S(3, 4)), str(S(1, 2)), repr(S(1)), S(2, 3, 4).calc_contiguous_strides(), S(2, 3).as_tuple(), S(2, 3).as_list()], bad=lambda: [fails(S, "x"), fails(S, 1.5), fails(lambda: S(1)[3])], sha=lambda: [spy.SHA1("abc").hex_digest(), spy.SHA1(b"abc").digest(), spy.SHA1().update("a").update(b"b").hex_digest()], t=lambda: [type(spy.Timer.now()).__name__, spy.Timer.delta_ms(0, 2000000), spy.Timer.delta_s(0, 3000000000), spy.Timer().elapsed_s() >= 0], p=lambda: os.path.isdir(spy.SHADER_PATH), al=lambda: [spy.ALL_LAYERS, spy.ALL_MIPS], ver=lambda: [type(spy.SGL_VERSION).__name__, spy.SGL_VERSION_MAJOR >= 0, type(spy.SLANG_BUILD_TAG).__name__], ref=lambda: [spy.ValueRef(3).value, spy.intRef().value, spy.floatRef(2).value, type(spy.floatRef(2).value).__name__, spy.intRef(4).value], um=lambda: s.unpack_args(1, [2, {"a": 3}]), uk=lambda: s.unpack_kwargs(a=1), ua=lambda: s.unpack_arg({"a": 1}), sig=lambda: [type(s.get_value_signature(x)).__name__ for x in (1, 2.0, "x", [1])] , at=lambda: [s.AccessType.read, s.CallMode.bwds], nh=lambda: [spy.NativeHandle().type, spy.NativeHandle(spy.NativeHandleType.CUstream, 5).value, spy.NativeHandle.from_cuda_stream(7).type, spy.NativeHandle(spy.NativeHandleType.CUstream, 5) == spy.NativeHandle(spy.NativeHandleType.CUstream, 5)])


@case
def users_struct_converters(spy, device):
    D = spy.DataStruct
    def make():
        s = D()
        s.append("a", D.Type.uint8)
        s.append("b", D.Type.float32, default_value=2.0)
        return s
    def conv(src, dst, data):
        a, b = D(), D()
        a.append("x", src[0], src[1] if len(src) > 1 else D.Flags.none); b.append("x", dst[0], dst[1] if len(dst) > 1 else D.Flags.none)
        return spy.DataStructConverter(a, b).convert(data)
    T, F = D.Type, D.Flags
    return each(s=lambda: [make().size, make().alignment, len(make()), make()[1].offset, make()[1].name, make().has_field("a"), make().field("b").type, make().byte_order, D(pack=True).size], f=lambda: [make()[1].is_float(), make()[0].is_integer(), make()[0].is_unsigned(), make()[0].size, make()[1].default_value, make()[0].flags], u8f=lambda: np.frombuffer(conv((T.uint8,), (T.float32,), b"\x80"), np.float32), u8nf=lambda: np.frombuffer(conv((T.uint8, F.normalized), (T.float32,), b"\x80"), np.float32), fu8n=lambda: conv((T.float32,), (T.uint8, F.normalized), np.array([0.5], np.float32).tobytes()), srgb=lambda: np.frombuffer(conv((T.uint8, F.normalized | F.srgb_gamma), (T.float32,), b"\x80"), np.float32), hf=lambda: np.frombuffer(conv((T.float16,), (T.float32,), np.array([1.5], np.float16).tobytes()), np.float32), fi=lambda: np.frombuffer(conv((T.float32,), (T.int32,), np.array([-2.7], np.float32).tobytes()), np.int32), many=lambda: conv((T.uint8,), (T.uint16,), b"\x01\x02\x03"), eq=lambda: [make() == make(), make() == D()], st=lambda: [D.type_size(T.float64), D.type_range(T.int8), D.is_float(T.float16), D.is_signed(T.uint8)], rep=lambda: [repr(make()), repr(make()[0])], miss=lambda: fails(make().field, "z"))


@case
def users_enums_of_all_kinds(spy, device):
    out = {}
    for name in sorted(dir(spy)):
        c = getattr(spy, name)
        if isinstance(c, type) and issubclass(c, enum.Enum) and not name.startswith(("Key", "Mouse", "Gamepad", "Window", "Cursor", "Aftermath", "Coop", "Acceleration", "Linear")):
            out[name] = [[m.name, int(m.value)] for m in c][:40] + [str(list(c)[0]), repr(list(c)[-1]), issubclass(c, int)]
    return out

"""Textures: creation by type and format, sub-resources, views, copies, uploads, clears, blits, mips, samplers, the table of formats."""
import numpy as np

from cases import case, each, error, fails, random


def usage(spy, more=0):
    return spy.TextureUsage.shader_resource | spy.TextureUsage.unordered_access | more


def target_usage(spy):
    return spy.TextureUsage.shader_resource | spy.TextureUsage.unordered_access | spy.TextureUsage.render_target


def make(spy, device, format="rgba32_float", width=8, height=8, **keywords):
    keywords.setdefault("usage", usage(spy))
    return device.create_texture(format=getattr(spy.Format, format), width=width, height=height, **keywords)


def submit(device, record):
    encoder = device.create_command_encoder()
    record(encoder)
    device.submit_command_buffer(encoder.finish())
    device.wait_for_idle()


def ramp(*shape, dtype=np.float32):
    return (np.arange(np.prod(shape)) % 250).reshape(shape).astype(dtype)


def properties(t):
    return [t.type, t.format, t.width, t.height, t.depth, t.array_length, t.mip_count, t.layer_count, t.subresource_count]


NUMPY = {"uint": (np.uint8, np.uint16, np.uint32), "sint": (np.int8, np.int16, np.int32), "unorm": (np.uint8, np.uint16, None), "snorm": (np.int8, np.int16, None),
         "float": (None, np.float16, np.float32)}
FORMATS = [c + b + "_" + k for c in ("r", "rg", "rgba") for b in ("8", "16", "32") for k in ("uint", "sint", "unorm", "snorm", "float") if NUMPY[k][("8", "16", "32").index(b)]]


def dtype_of(format):
    kind = format.split("_")[1]
    bits = format.split("_")[0].lstrip("rgba")
    return NUMPY[kind][("8", "16", "32").index(bits)]


def channels_of(format):
    return len(format.split("_")[0].rstrip("0123456789"))


# >>the table of formats


def format_cases():
    fields = ("name", "bytes_per_block", "channel_count", "type", "is_depth", "is_stencil", "is_compressed", "block_width", "block_height", "channel_bit_count",
              "dxgi_format", "vk_format", "format")
    for field in fields:
        def f(spy, device, field=field):
            return {x.name: error(lambda x=x: getattr(spy.get_format_info(x), field)) for x in spy.Format}
        f.__name__ = "format_field_" + field
        case(f)
    for method in ("is_depth_stencil", "is_float_format", "is_integer_format", "is_normalized_format", "is_srgb_format", "get_channels", "has_equal_channel_bits"):
        def f(spy, device, method=method):
            return {x.name: error(lambda x=x: getattr(spy.get_format_info(x), method)()) for x in spy.Format}
        f.__name__ = "format_method_" + method
        case(f)


format_cases()


@case
def format_channel_bits(spy, device):
    C = spy.FormatChannels
    return {x.name: [error(spy.get_format_info(x).get_channel_bits, c) for c in (C.r, C.g, C.b, C.a, C.rg, C.rgb, C.rgba, C.none)] for x in spy.Format}


@case
def format_info_repr(spy, device):
    return each(a=lambda: repr(spy.get_format_info(spy.Format.rgba8_unorm)), b=lambda: repr(spy.get_format_info(spy.Format.bc7_unorm_srgb)), c=lambda: repr(spy.get_format_info(spy.Format.d32_float_s8_uint)))


@case(only=("vulkan",))
def format_support_bits(spy, device):
    S = spy.FormatSupport
    names = ("copy_source", "copy_destination", "texture", "depth_stencil", "render_target", "blendable", "shader_load", "shader_sample", "shader_uav_load",
             "shader_uav_store", "shader_atomic", "buffer", "index_buffer", "vertex_buffer", "multisampling", "resolvable")
    return {n: {x.name: error(lambda: (device.get_format_support(x) & getattr(S, n)) != S.none) for x in spy.Format} for n in names}


@case
def format_enum_members(spy, device):
    return {x.name: x.value for x in spy.Format}


@case
def texture_enums(spy, device):
    return {e: {x.name: int(x.value) for x in getattr(spy, e)} for e in ("TextureType", "TextureUsage", "TextureFilteringMode", "TextureAddressingMode", "TextureReductionOp", "TextureAspect",
                                                                         "FormatType", "FormatChannels", "FormatSupport", "ResourceState", "ComparisonFunc")}


# >>creation


@case
def texture_by_types(spy, device):
    T = spy.TextureType
    def t(type, **k):
        return properties(device.create_texture(type=type, format=spy.Format.rgba32_float, usage=usage(spy), **k))
    return each(d1=lambda: t(T.texture_1d, width=16), a1=lambda: t(T.texture_1d_array, width=16, array_length=3), d2=lambda: t(T.texture_2d, width=16, height=9), a2=lambda: t(T.texture_2d_array, width=16, height=9, array_length=3),
                d3=lambda: t(T.texture_3d, width=8, height=7, depth=5), cube=lambda: t(T.texture_cube, width=8, height=8), ca=lambda: t(T.texture_cube_array, width=8, height=8, array_length=2))


@case
def texture_all_mips(spy, device):
    T = spy.TextureType
    def t(type, **k):
        x = device.create_texture(type=type, format=spy.Format.r32_float, usage=usage(spy), mip_count=spy.ALL_MIPS, **k)
        return [x.mip_count, x.subresource_count, [list(x.get_mip_size(i)) for i in range(x.mip_count)]]
    return each(d2=lambda: t(T.texture_2d, width=16, height=9), d1=lambda: t(T.texture_1d, width=17), d3=lambda: t(T.texture_3d, width=9, height=4, depth=30), a2=lambda: t(T.texture_2d_array, width=5, height=3, array_length=3), cube=lambda: t(T.texture_cube, width=8, height=8),
                all=lambda: spy.ALL_MIPS, layers=lambda: spy.ALL_LAYERS)


@case
def texture_desc_fields(spy, device):
    t = make(spy, device, "rgba8_unorm", 16, 8, mip_count=2, label="named")
    d = t.desc
    return each(type=lambda: d.type, f=lambda: d.format, w=lambda: d.width, h=lambda: d.height, dp=lambda: d.depth, al=lambda: d.array_length, m=lambda: d.mip_count, sc=lambda: d.sample_count, sq=lambda: d.sample_quality, mt=lambda: d.memory_type,
                lb=lambda: d.label, us=lambda: (d.usage & spy.TextureUsage.unordered_access) != spy.TextureUsage.none, ds=lambda: d.default_state, dev=lambda: t.device is device)


@case
def texture_desc_defaults(spy, device):
    d = spy.TextureDesc()
    return each(type=lambda: d.type, f=lambda: d.format, w=lambda: d.width, h=lambda: d.height, dp=lambda: d.depth, al=lambda: d.array_length, m=lambda: d.mip_count, sc=lambda: d.sample_count, sq=lambda: d.sample_quality, mt=lambda: d.memory_type,
                us=lambda: d.usage, ds=lambda: d.default_state, lb=lambda: d.label)


@case
def texture_from_desc_and_dict(spy, device):
    d = spy.TextureDesc()
    d.type, d.format, d.width, d.height, d.usage = spy.TextureType.texture_2d, spy.Format.r32_float, 4, 5, spy.TextureUsage.shader_resource
    return each(desc=lambda: properties(device.create_texture(d)), kw=lambda: properties(device.create_texture(desc=d)), dict=lambda: properties(device.create_texture({"format": spy.Format.r32_float, "width": 3, "height": 2, "usage": spy.TextureUsage.shader_resource})),
                ctor=lambda: properties(device.create_texture(spy.TextureDesc({"format": spy.Format.r32_float, "width": 3}))), bad=lambda: fails(spy.TextureDesc, {"missing": 3}), free=lambda: properties(spy.create_texture(format=spy.Format.r32_float, width=3, usage=spy.TextureUsage.shader_resource)))


@case
def texture_creation_errors(spy, device):
    F, T = spy.Format, spy.TextureType
    u = spy.TextureUsage.shader_resource
    return each(none=lambda: fails(lambda: properties(device.create_texture(width=4, height=4, usage=u))), zero=lambda: fails(lambda: properties(device.create_texture(format=F.r32_float, width=0, height=4, usage=u))),
                neg=lambda: fails(lambda: properties(device.create_texture(format=F.r32_float, width=-1, usage=u))), arr=lambda: fails(lambda: properties(device.create_texture(format=F.r32_float, width=4, height=4, array_length=2, usage=u))),
                kw=lambda: fails(lambda: device.create_texture(format=F.r32_float, widht=4)), str=lambda: fails(lambda: device.create_texture(format="r32_float", width=4)), small=lambda: fails(lambda: device.create_texture(format=F.r32_float, width=4, height=4, usage=u, data=np.zeros(3, np.float32))))


@case
def texture_created_with_data(spy, device):
    T = spy.TextureType
    a, b, c = random(6, 5, 4), random(16, 2), random(3, 4, 5)
    u = usage(spy)
    return each(d2=lambda: device.create_texture(format=spy.Format.rgba32_float, width=5, height=6, usage=u, data=a), flat=lambda: device.create_texture(format=spy.Format.rgba32_float, width=5, height=6, usage=u, data=a.reshape(-1)),
                d1=lambda: device.create_texture(type=T.texture_1d, format=spy.Format.rg32_float, width=16, usage=u, data=b).to_numpy(), d3=lambda: device.create_texture(type=T.texture_3d, format=spy.Format.r32_float, width=5, height=4, depth=3, usage=u, data=c).to_numpy(),
                bytes=lambda: device.create_texture(format=spy.Format.rgba8_unorm, width=2, height=2, usage=u, data=np.arange(16, dtype=np.uint8)).to_numpy(), other=lambda: device.create_texture(format=spy.Format.rgba8_unorm, width=2, height=2, usage=u, data=np.arange(4, dtype=np.uint32)).to_numpy())


def format_round_trips():
    for format in FORMATS + ["bgra8_unorm", "rgba8_unorm_srgb", "bgra8_unorm_srgb", "rgb10a2_unorm", "r11g11b10_float", "rgb9e5_ufloat", "b5g6r5_unorm", "bgr5a1_unorm", "bgra4_unorm", "rgb10a2_uint"]:
        def f(spy, device, format=format):
            x = getattr(spy.Format, format)
            t = device.create_texture(format=x, width=5, height=3, usage=spy.TextureUsage.shader_resource | spy.TextureUsage.copy_destination | spy.TextureUsage.copy_source)
            if format in FORMATS:
                c = channels_of(format)
                data = ramp(*((3, 5, c) if c > 1 else (3, 5)), dtype=dtype_of(format))
            else:
                size = spy.get_format_info(x).bytes_per_block
                data = ramp(3, 5, 4, dtype=np.uint8) if "8" in format else ramp(3, 5, dtype={2: np.uint16, 4: np.uint32}[size])
            r = error(lambda: t.copy_from_numpy(data))
            return {"wrote": r, "read": error(t.to_numpy), "bitmap": error(lambda: [t.to_bitmap().pixel_format, t.to_bitmap().component_type, t.to_bitmap().srgb_gamma, np.array(t.to_bitmap())])}
        f.__name__ = "texture_round_trip_" + format
        case(f)


format_round_trips()


@case
def texture_compressed_formats(spy, device):
    def t(name):
        x = device.create_texture(format=getattr(spy.Format, name), width=8, height=8, usage=spy.TextureUsage.shader_resource)
        l = x.get_subresource_layout(0)
        return [list(l.size), l.row_pitch, l.slice_pitch, l.size_in_bytes, l.block_width, l.block_height, l.row_count, error(lambda: x.to_numpy())]
    return each(**{n: (lambda n=n: t(n)) for n in ("bc1_unorm", "bc3_unorm", "bc4_unorm", "bc5_snorm", "bc6h_ufloat", "bc7_unorm", "bc7_unorm_srgb")})


@case
def texture_subresource_layouts(spy, device):
    t = make(spy, device, "rgba16_float", 13, 7, mip_count=spy.ALL_MIPS)
    def l(*a):
        x = t.get_subresource_layout(*a)
        return [list(x.size), x.col_pitch, x.row_pitch, x.slice_pitch, x.size_in_bytes, x.block_width, x.block_height, x.row_count]
    return each(m0=lambda: l(0), m1=lambda: l(1), m3=lambda: l(3), aligned=lambda: l(0, 256), one=lambda: l(0, 1), sixtyfour=lambda: l(1, 64), over=lambda: fails(l, 9))


@case
def texture_subresource_layout_3d(spy, device):
    t = device.create_texture(type=spy.TextureType.texture_3d, format=spy.Format.r32_float, width=5, height=6, depth=7, mip_count=2, usage=usage(spy))
    def l(*a):
        x = t.get_subresource_layout(*a)
        return [list(x.size), x.col_pitch, x.row_pitch, x.slice_pitch, x.size_in_bytes, x.row_count]
    return each(m0=lambda: l(0), m1=lambda: l(1), a=lambda: l(1, 1))


@case
def texture_mip_sizes(spy, device):
    t = make(spy, device, "r32_float", 13, 6, mip_count=4)
    return each(w=lambda: [t.get_mip_width(i) for i in range(4)], h=lambda: [t.get_mip_height(i) for i in range(4)], d=lambda: [t.get_mip_depth(i) for i in range(4)], s=lambda: [t.get_mip_size(i) for i in range(4)], n=lambda: t.get_mip_width(), kind=lambda: type(t.get_mip_size()).__name__,
                over=lambda: t.get_mip_width(7))


@case
def texture_numpy_of_sub_resources(spy, device):
    t = device.create_texture(type=spy.TextureType.texture_2d_array, format=spy.Format.rg32_float, width=8, height=4, array_length=3, mip_count=3, usage=usage(spy))
    for layer in range(3):
        for mip in range(3):
            t.copy_from_numpy(random(4 >> mip, 8 >> mip, 2, seed=layer * 3 + mip), layer=layer, mip=mip)
    return {f"{l}.{m}": t.to_numpy(layer=l, mip=m) for l in range(3) for m in range(3)} | each(pos=lambda: t.to_numpy(1, 2), over=lambda: error(t.to_numpy, 3, 0), mip=lambda: error(t.to_numpy, 0, 3), neg=lambda: error(t.to_numpy, -1))


@case
def texture_numpy_of_cubes(spy, device):
    t = device.create_texture(type=spy.TextureType.texture_cube, format=spy.Format.rgba8_unorm, width=4, height=4, mip_count=2, usage=spy.TextureUsage.shader_resource)
    for layer in range(6):
        t.copy_from_numpy(np.full((4, 4, 4), 10 * layer, np.uint8), layer=layer)
        t.copy_from_numpy(np.full((2, 2, 4), 100 + layer, np.uint8), layer=layer, mip=1)
    c = device.create_texture(type=spy.TextureType.texture_cube_array, format=spy.Format.r32_float, width=2, height=2, array_length=2, usage=spy.TextureUsage.shader_resource)
    for layer in range(12):
        c.copy_from_numpy(np.full((2, 2), layer, np.float32), layer=layer)
    return each(a=lambda: [t.to_numpy(layer=l) for l in range(6)], b=lambda: [t.to_numpy(layer=l, mip=1) for l in range(6)], c=lambda: [c.to_numpy(layer=l) for l in range(12)], p=lambda: properties(c))


@case
def texture_numpy_of_3d(spy, device):
    t = device.create_texture(type=spy.TextureType.texture_3d, format=spy.Format.rg32_float, width=4, height=3, depth=5, mip_count=2, usage=usage(spy))
    t.copy_from_numpy(random(5, 3, 4, 2))
    t.copy_from_numpy(random(2, 1, 2, 2, seed=2), mip=1)
    return each(a=lambda: t.to_numpy(), b=lambda: t.to_numpy(mip=1))


@case
def texture_numpy_of_1d(spy, device):
    t = device.create_texture(type=spy.TextureType.texture_1d_array, format=spy.Format.rgba32_float, width=6, array_length=2, usage=usage(spy))
    r = error(lambda: t.copy_from_numpy(random(6, 4), layer=1))
    o = device.create_texture(type=spy.TextureType.texture_1d, format=spy.Format.r32_uint, width=9, usage=usage(spy), data=np.arange(9, dtype=np.uint32))
    return each(r=lambda: r, a=lambda: t.to_numpy(layer=1), o=lambda: o.to_numpy())


@case
def texture_copy_from_numpy_errors(spy, device):
    t = make(spy, device, "rgba32_float", 4, 3)
    good = random(3, 4, 4)
    return each(flat=lambda: error(t.copy_from_numpy, good.reshape(-1)), swapped=lambda: error(t.copy_from_numpy, random(4, 3, 4)), narrow=lambda: error(t.copy_from_numpy, random(3, 4, 3)), double=lambda: error(t.copy_from_numpy, good.astype(np.float64)),
                half=lambda: error(t.copy_from_numpy, good.astype(np.float16)), steps=lambda: error(t.copy_from_numpy, random(3, 8, 4)[:, ::2]), lst=lambda: error(t.copy_from_numpy, good.tolist()), ints=lambda: error(t.copy_from_numpy, np.zeros((3, 4, 4), np.int32)),
                mip=lambda: error(t.copy_from_numpy, good, 0, 1), layer=lambda: error(t.copy_from_numpy, good, 1, 0), good=lambda: t.copy_from_numpy(good), read=lambda: t.to_numpy())


@case
def texture_float_data_for_integer_formats(spy, device):
    def t(format, data):
        x = make(spy, device, format, 2, 2)
        x.copy_from_numpy(data)
        return x.to_numpy()
    return each(unorm=lambda: t("r8_unorm", np.array([[0, 0.5], [0.25, 1]], np.float32)), bytes=lambda: t("r8_unorm", np.array([[0, 128], [64, 255]], np.uint8)), signed=lambda: t("r8_unorm", np.array([[0, -1], [64, 127]], np.int8)), wide=lambda: t("r8_uint", np.zeros((2, 2), np.uint32)),
                halfs=lambda: t("r16_float", np.array([[0, 1], [2, 3]], np.float16)), as16=lambda: t("r16_float", np.array([[0, 1], [2, 3]], np.uint16)), ints=lambda: t("r32_float", np.array([[0, 1], [2, 3]], np.int32)))


@case
def texture_label_and_repr(spy, device):
    t = make(spy, device, "rgba8_unorm", 4, 4, label="picture")
    return each(l=lambda: t.desc.label, t=lambda: type(t).__name__, sub=lambda: [b.__name__ for b in type(t).__mro__[:3]], has=lambda: "rgba8_unorm" in repr(t), named=lambda: "picture" in repr(t), size=lambda: t.memory_usage.device > 0 if hasattr(t, "memory_usage") else None)


# >>views


@case
def texture_view_fields(spy, device):
    t = device.create_texture(type=spy.TextureType.texture_2d_array, format=spy.Format.rgba8_unorm, width=8, height=8, array_length=4, mip_count=3, usage=usage(spy))
    def v(*a, **k):
        x = t.create_view(*a, **k)
        r = x.subresource_range
        return [x.format, x.aspect, r.layer, r.layer_count, r.mip, r.mip_count, x.label, x.texture is t]
    return each(d=lambda: v(), m=lambda: v(mip=1), mc=lambda: v(mip=1, mip_count=1), l=lambda: v(layer=2), lc=lambda: v(layer=1, layer_count=2), f=lambda: v(format=spy.Format.rgba8_unorm), lb=lambda: v(label="view"), dict=lambda: v({"subresource_range": {"layer": 1, "mip": 2}}),
                empty=lambda: v({}), desc=lambda: v(spy.TextureViewDesc({"label": "a"})), asp=lambda: v(aspect=spy.TextureAspect.all), over=lambda: fails(lambda: v(mip=7)), overl=lambda: fails(lambda: v(layer=7)))


@case
def texture_view_desc_defaults(spy, device):
    d, r = spy.TextureViewDesc(), spy.SubresourceRange()
    return each(f=lambda: d.format, a=lambda: d.aspect, l=lambda: d.label, r=lambda: [d.subresource_range.layer, d.subresource_range.layer_count, d.subresource_range.mip, d.subresource_range.mip_count], rr=lambda: [r.layer, r.layer_count, r.mip, r.mip_count],
                rd=lambda: spy.SubresourceRange({"layer": 1, "mip_count": 3}).mip_count, bad=lambda: fails(spy.SubresourceRange, {"x": 1}), repr=lambda: repr(spy.SubresourceRange({"layer": 1, "layer_count": 2, "mip": 3, "mip_count": 4})))


@case
def texture_view_lives_longer(spy, device):
    v = make(spy, device, "r32_float", 4, 4).create_view({})
    return each(t=lambda: properties(v.texture), repr=lambda: type(repr(v)).__name__)


# >>uploads and copies


@case
def upload_texture_data_forms(spy, device):
    def t():
        return device.create_texture(type=spy.TextureType.texture_2d_array, format=spy.Format.r32_float, width=4, height=2, array_length=2, mip_count=2, usage=usage(spy))
    def read(x):
        return [x.to_numpy(layer=l, mip=m) for l in range(2) for m in range(2)]
    parts = [random(2 >> m, 4 >> m, seed=l * 2 + m) for l in range(2) for m in range(2)]
    def one(*a):
        x = t()
        submit(device, lambda e: (e.clear_texture_float(x, clear_value=[9, 9, 9, 9]), e.upload_texture_data(x, *a)))
        return read(x)
    return each(list=lambda: one(parts), layermip=lambda: one(1, 1, parts[3]), kwargs=lambda: one(1, 0, parts[2]), range=lambda: one({"layer": 1, "layer_count": 1, "mip": 0, "mip_count": 2}, parts[2:]), rangeobj=lambda: one(spy.SubresourceRange({"layer": 0, "layer_count": 1, "mip": 1, "mip_count": 1}), [parts[1]]),
                box=lambda: one([1, 0, 0], [2, 2, 1], {"layer": 1, "layer_count": 1, "mip": 0, "mip_count": 1}, [random(2, 2, seed=9)]), box3=lambda: one(spy.uint3(1, 1, 0), spy.uint3(3, 1, 1), {"layer": 0, "layer_count": 1, "mip": 0, "mip_count": 1}, [random(1, 3, seed=9)]))


@case
def upload_texture_data_errors(spy, device):
    t = make(spy, device, "r32_float", 4, 2)
    def up(*a):
        return fails(lambda: submit(device, lambda e: e.upload_texture_data(t, *a)))
    return each(small=lambda: up(0, 0, random(1, 4)), big=lambda: up(0, 0, random(4, 4)), layer=lambda: up(1, 0, random(2, 4)), mip=lambda: up(0, 1, random(2, 4)), few=lambda: up([]), many=lambda: up([random(2, 4), random(2, 4)]), steps=lambda: up(0, 0, random(2, 8)[:, ::2]))


@case
def upload_texture_data_3d(spy, device):
    t = device.create_texture(type=spy.TextureType.texture_3d, format=spy.Format.r32_float, width=4, height=3, depth=2, usage=usage(spy))
    submit(device, lambda e: e.upload_texture_data(t, 0, 0, random(2, 3, 4)))
    return t.to_numpy()


@case
def copy_texture_whole(spy, device):
    def c(format, **k):
        a, b = make(spy, device, format, 5, 3, **k), make(spy, device, format, 5, 3, **k)
        n = channels_of(format)
        a.copy_from_numpy(ramp(*((3, 5, n) if n > 1 else (3, 5)), dtype=dtype_of(format)))
        submit(device, lambda e: e.copy_texture(b, 0, 0, [0, 0, 0], a, 0, 0, [0, 0, 0]))
        return b.to_numpy()
    return each(**{f: (lambda f=f: c(f)) for f in ("rgba32_float", "rgba8_unorm", "r16_float", "rg16_uint", "r8_snorm", "rg32_sint")})


@case
def copy_texture_parts(spy, device):
    a = make(spy, device, "r32_float", 8, 8)
    a.copy_from_numpy(ramp(8, 8))
    def c(*args):
        b = make(spy, device, "r32_float", 8, 8)
        submit(device, lambda e: (e.clear_texture_float(b, clear_value=[-1, -1, -1, -1]), e.copy_texture(b, *args)))
        return b.to_numpy()
    return each(box=lambda: c(0, 0, [2, 3, 0], a, 0, 0, [1, 1, 0], [4, 3, 1]), vec=lambda: c(0, 0, spy.uint3(4, 4, 0), a, 0, 0, spy.uint3(0, 0, 0), spy.uint3(4, 4, 1)), rest=lambda: fails(c, 0, 0, [4, 4, 0], a, 0, 0, [4, 4, 0]), ranges=lambda: c({"layer": 0, "layer_count": 1, "mip": 0, "mip_count": 1}, [0, 0, 0], a, {"layer": 0, "layer_count": 1, "mip": 0, "mip_count": 1}, [0, 0, 0]),
                over=lambda: fails(c, 0, 0, [6, 6, 0], a, 0, 0, [0, 0, 0], [4, 4, 1]))


@case
def copy_texture_layers_and_mips(spy, device):
    def t():
        x = device.create_texture(type=spy.TextureType.texture_2d_array, format=spy.Format.r32_float, width=8, height=8, array_length=3, mip_count=3, usage=usage(spy))
        submit(device, lambda e: e.clear_texture_float(x, clear_value=[-1, 0, 0, 0]))
        return x
    a = t()
    for l in range(3):
        for m in range(3):
            a.copy_from_numpy(np.full((8 >> m, 8 >> m), 10 * l + m, np.float32), l, m)
    def c(*args):
        b = t()
        submit(device, lambda e: e.copy_texture(b, *args))
        return [[b.to_numpy(l, m).reshape(-1)[0] for m in range(3)] for l in range(3)]
    return each(one=lambda: c(2, 1, [0, 0, 0], a, 1, 1, [0, 0, 0]), all=lambda: c({}, [0, 0, 0], a, {}, [0, 0, 0]), layers=lambda: c({"layer": 1, "layer_count": 2, "mip": 0, "mip_count": 1}, [0, 0, 0], a, {"layer": 0, "layer_count": 2, "mip": 0, "mip_count": 1}, [0, 0, 0]),
                mips=lambda: c({"layer": 0, "layer_count": 1, "mip": 1, "mip_count": 2}, [0, 0, 0], a, {"layer": 2, "layer_count": 1, "mip": 1, "mip_count": 2}, [0, 0, 0]), cross=lambda: c(0, 1, [0, 0, 0], a, 0, 0, [0, 0, 0], [4, 4, 1]))


@case
def copy_texture_to_buffer_and_back(spy, device):
    t = make(spy, device, "r32_float", 64, 4)
    t.copy_from_numpy(random(4, 64))
    l = t.get_subresource_layout(0, 256)
    b = device.create_buffer(size=l.size_in_bytes + 256, usage=spy.BufferUsage.copy_source | spy.BufferUsage.copy_destination)
    o = make(spy, device, "r32_float", 64, 4)
    def go():
        submit(device, lambda e: e.copy_texture_to_buffer(b, 0, l.size_in_bytes, l.row_pitch, t, 0, 0))
        return b.to_numpy().view(np.float32)[:256]
    def part():
        submit(device, lambda e: e.copy_texture_to_buffer(b, 256, 512, 256, t, 0, 0, [1, 1, 0], [3, 2, 1]))
        return b.to_numpy().view(np.float32)[64:67]
    def back():
        submit(device, lambda e: (e.copy_texture_to_buffer(b, 0, l.size_in_bytes, l.row_pitch, t, 0, 0), e.copy_buffer_to_texture(o, 0, 0, [0, 0, 0], b, 0, l.size_in_bytes, l.row_pitch, [64, 4, 1])))
        return o.to_numpy()
    return each(go=go, part=part, back=back)


@case
def clear_texture_float_ranges(spy, device):
    def c(format, **k):
        t = device.create_texture(type=spy.TextureType.texture_2d_array, format=getattr(spy.Format, format), width=4, height=4, array_length=2, mip_count=2, usage=target_usage(spy))
        submit(device, lambda e: (e.clear_texture_float(t, clear_value=[0, 0, 0, 0]), e.clear_texture_float(t, **k)))
        return [t.to_numpy(l, m) for l in range(2) for m in range(2)]
    V = [0.25, 0.5, 0.75, 1]
    return each(all=lambda: c("rgba32_float", clear_value=V), vec=lambda: c("rgba32_float", clear_value=spy.float4(1, 2, 3, 4)), layer=lambda: c("rgba32_float", range={"layer": 1, "layer_count": 1}, clear_value=V), mip=lambda: c("rgba32_float", range={"mip": 1, "mip_count": 1}, clear_value=V),
                rest=lambda: c("rgba32_float", range={"layer": 1, "layer_count": 1, "mip": 1, "mip_count": 1}, clear_value=V), none=lambda: c("rgba32_float"), un=lambda: c("rgba8_unorm", clear_value=V), sn=lambda: c("rgba8_snorm", clear_value=[-1, -0.5, 0.5, 1]), h=lambda: c("rg16_float", clear_value=V), clamp=lambda: c("rgba8_unorm", clear_value=[2, -1, 0.5, 9]))


@case
def clear_texture_ints(spy, device):
    def u(format, value):
        t = make(spy, device, format, 3, 2, usage=target_usage(spy))
        submit(device, lambda e: e.clear_texture_uint(t, clear_value=value))
        return t.to_numpy()
    def s(format, value):
        t = make(spy, device, format, 3, 2, usage=target_usage(spy))
        submit(device, lambda e: e.clear_texture_sint(t, clear_value=value))
        return t.to_numpy()
    return each(u32=lambda: u("rgba32_uint", [1, 2, 3, 4000000000]), u8=lambda: u("rgba8_uint", [1, 2, 3, 255]), u16=lambda: u("rg16_uint", spy.uint4(1, 65535, 0, 0)), s32=lambda: s("rgba32_sint", [-1, 2, -3, 4]), s8=lambda: s("rgba8_sint", [-128, 127, 0, 1]), s16=lambda: s("r16_sint", spy.int4(-7, 0, 0, 0)))


@case
def clear_texture_3d_and_cube(spy, device):
    a = device.create_texture(type=spy.TextureType.texture_3d, format=spy.Format.r32_float, width=4, height=4, depth=4, mip_count=2, usage=usage(spy))
    b = device.create_texture(type=spy.TextureType.texture_cube, format=spy.Format.r32_float, width=4, height=4, usage=usage(spy))
    def go():
        submit(device, lambda e: (e.clear_texture_float(a, clear_value=[3, 0, 0, 0]), e.clear_texture_float(b, clear_value=[1, 0, 0, 0]), e.clear_texture_float(b, range={"layer": 4, "layer_count": 1}, clear_value=[2, 0, 0, 0])))
        return 1
    return each(go=go, a=lambda: [a.to_numpy(), a.to_numpy(mip=1)], b=lambda: [b.to_numpy(l).reshape(-1)[0] for l in range(6)])


@case(only=("vulkan",))
def clear_texture_depth(spy, device):
    def c(format, **k):
        t = device.create_texture(format=getattr(spy.Format, format), width=4, height=3, usage=spy.TextureUsage.depth_stencil | spy.TextureUsage.shader_resource)
        submit(device, lambda e: e.clear_texture_depth_stencil(t, **k))
        return t.to_numpy()
    return each(d=lambda: c("d32_float", depth_value=0.25, clear_stencil=False), z=lambda: c("d32_float", clear_stencil=False), both=lambda: c("d32_float", depth_value=0.5), d16=lambda: c("d16_unorm", depth_value=0.5))


# >>blits, mips


def blit_cases():
    floats = ("rgba32_float", "rgba16_float", "rgba8_unorm", "rgba8_snorm", "rgba8_unorm_srgb", "r32_float", "rg16_float", "r8_unorm", "r16_unorm", "bgra8_unorm", "rgba16_unorm")
    for format in floats + ("rgba8_uint", "rgba32_uint", "r32_sint", "rg16_sint", "rgba32_sint", "r8_uint"):
        def f(spy, device, format=format):
            def blit(w, h, *filter):
                a, b = make(spy, device, format, 8, 8, usage=spy.TextureUsage.shader_resource | spy.TextureUsage.render_target), make(spy, device, format, w, h, usage=spy.TextureUsage.shader_resource | spy.TextureUsage.render_target)
                plain = format.replace("bgra", "rgba").replace("_srgb", "")
                c = channels_of(plain)
                data = (random(8, 8, c) * (1 if "float" in format else 120)).astype(dtype_of(plain))
                a.copy_from_numpy(data if c > 1 else data[..., 0])
                submit(device, lambda e: e.blit(b, a, *filter))
                r = b.to_numpy()
                return np.asarray(np.round(r.astype(np.float64) / (1 if "float" in format else 4)) if filter == () and "float" not in format else r)
            P, L = spy.TextureFilteringMode.point, spy.TextureFilteringMode.linear
            return each(same=lambda: blit(8, 8, P), half=lambda: blit(4, 4, P), double=lambda: blit(16, 16, P), linear=lambda: blit(4, 4, L), default=lambda: blit(8, 8), up=lambda: blit(16, 16, L) if "float" in format else 0)
        f.__name__ = "blit_" + format
        case(f)


blit_cases()


@case
def blit_between_formats(spy, device):
    u = spy.TextureUsage.shader_resource | spy.TextureUsage.render_target | spy.TextureUsage.unordered_access
    def blit(src, dst):
        a = make(spy, device, src, 4, 4, usage=u if "srgb" not in src else spy.TextureUsage.shader_resource | spy.TextureUsage.render_target)
        b = make(spy, device, dst, 4, 4, usage=u if "srgb" not in dst else spy.TextureUsage.shader_resource | spy.TextureUsage.render_target)
        c = channels_of(src.replace("_srgb", ""))
        d = dtype_of(src.replace("_srgb", ""))
        data = random(4, 4, c)
        data = (data * (1 if d in (np.float32, np.float16) else 100)).astype(d)
        a.copy_from_numpy(data if c > 1 else data[..., 0])
        submit(device, lambda e: e.blit(b, a, spy.TextureFilteringMode.point))
        return b.to_numpy()
    return each(f32to8=lambda: blit("rgba32_float", "rgba8_unorm"), u8to32=lambda: blit("rgba8_unorm", "rgba32_float"), f32to16=lambda: blit("rgba32_float", "rgba16_float"), tosrgb=lambda: blit("rgba32_float", "rgba8_unorm_srgb"), fromsrgb=lambda: blit("rgba8_unorm_srgb", "rgba32_float"), widen=lambda: blit("r32_float", "rgba32_float"),
                narrow=lambda: blit("rgba32_float", "r32_float"), uints=lambda: blit("rgba8_uint", "rgba32_uint"), sints=lambda: blit("rgba8_sint", "rgba32_sint"), mixed=lambda: fails(blit, "rgba8_uint", "rgba32_float"), mixed2=lambda: fails(blit, "rgba32_float", "rgba8_uint"), signs=lambda: fails(blit, "rgba32_uint", "rgba32_sint"))


@case
def blit_of_views(spy, device):
    u = spy.TextureUsage.shader_resource | spy.TextureUsage.render_target
    a = device.create_texture(type=spy.TextureType.texture_2d_array, format=spy.Format.rgba32_float, width=8, height=8, array_length=2, mip_count=3, usage=u)
    for l in range(2):
        for m in range(3):
            a.copy_from_numpy(random(8 >> m, 8 >> m, 4, seed=3 * l + m), l, m)
    def blit(dst, src):
        b = device.create_texture(type=spy.TextureType.texture_2d_array, format=spy.Format.rgba32_float, width=8, height=8, array_length=2, mip_count=3, usage=u)
        submit(device, lambda e: (e.clear_texture_float(b, clear_value=[0, 0, 0, 0]), e.blit(b.create_view(**dst), a.create_view(**src), spy.TextureFilteringMode.point)))
        return [b.to_numpy(l, m) for l in range(2) for m in range(3)]
    return each(mip=lambda: blit(dict(layer=1, layer_count=1, mip=1, mip_count=1), dict(layer=0, layer_count=1, mip=1, mip_count=1)), down=lambda: blit(dict(layer=0, layer_count=1, mip=1, mip_count=1), dict(layer=1, layer_count=1, mip=0, mip_count=1)),
                layer=lambda: blit(dict(layer=1, layer_count=1, mip=0, mip_count=1), dict(layer=0, layer_count=1, mip=0, mip_count=1)))


@case
def blit_within_one_texture(spy, device):
    u = spy.TextureUsage.shader_resource | spy.TextureUsage.render_target
    a = make(spy, device, "rgba32_float", 8, 8, mip_count=2, usage=u)
    a.copy_from_numpy(random(8, 8, 4))
    submit(device, lambda e: e.blit(a.create_view(mip=1, mip_count=1), a.create_view(mip=0, mip_count=1)))
    return [a.to_numpy(0, 0), a.to_numpy(0, 1)]


@case
def blit_odd_sizes(spy, device):
    u = spy.TextureUsage.shader_resource | spy.TextureUsage.render_target
    def blit(w, h, x, y, f):
        a, b = make(spy, device, "r32_float", w, h, usage=u), make(spy, device, "r32_float", x, y, usage=u)
        a.copy_from_numpy(random(h, w))
        submit(device, lambda e: e.blit(b, a, f))
        return b.to_numpy()
    P, L = spy.TextureFilteringMode.point, spy.TextureFilteringMode.linear
    return each(a=lambda: blit(5, 3, 10, 6, P), b=lambda: blit(6, 4, 3, 2, L), c=lambda: blit(1, 1, 4, 4, L), d=lambda: blit(7, 1, 14, 2, P), e=lambda: blit(8, 8, 1, 1, L))


@case
def blit_errors(spy, device):
    a = make(spy, device, "rgba32_float", 4, 4, usage=spy.TextureUsage.shader_resource | spy.TextureUsage.render_target)
    b = make(spy, device, "rgba32_float", 4, 4, usage=spy.TextureUsage.shader_resource)
    v = device.create_texture(type=spy.TextureType.texture_3d, format=spy.Format.rgba32_float, width=4, height=4, depth=4, usage=spy.TextureUsage.shader_resource)
    return each(nousage=lambda: fails(lambda: submit(device, lambda e: e.blit(b, a))), d3=lambda: fails(lambda: submit(device, lambda e: e.blit(a, v))), kind=lambda: fails(lambda: submit(device, lambda e: e.blit(a, 3))), mix=lambda: fails(lambda: submit(device, lambda e: e.blit(a, a.create_view()))))


@case
def generate_mips_of_textures(spy, device):
    u = spy.TextureUsage.shader_resource | spy.TextureUsage.render_target
    def g(format, w, h, kind=None):
        t = make(spy, device, format, w, h, mip_count=spy.ALL_MIPS, usage=u)
        c = channels_of(format)
        data = random(h, w, c) if kind is None else (random(h, w, c) * 255).astype(kind)
        t.copy_from_numpy(data if c > 1 else data[..., 0])
        submit(device, lambda e: e.generate_mips(t))
        return [np.round(t.to_numpy(mip=m).astype(np.float64) / (1 if kind is None else 4), 3) for m in range(t.mip_count)]
    return each(f=lambda: g("rgba32_float", 8, 8), r=lambda: g("r32_float", 16, 8), b=lambda: g("rgba8_unorm", 8, 8, np.uint8))


@case
def generate_mips_of_a_layer(spy, device):
    t = device.create_texture(type=spy.TextureType.texture_2d_array, format=spy.Format.r32_float, width=4, height=4, array_length=2, mip_count=3, usage=spy.TextureUsage.shader_resource | spy.TextureUsage.render_target)
    for l in range(2):
        for m in range(3):
            t.copy_from_numpy(random(4 >> m, 4 >> m, seed=l), l, m)
    submit(device, lambda e: e.generate_mips(t, 1))
    return [t.to_numpy(l, m) for l in range(2) for m in range(3)]


# >>samplers


@case
def sampler_descs(spy, device):
    s, d = device.create_sampler(), spy.SamplerDesc()
    names = ("min_filter", "mag_filter", "mip_filter", "reduction_op", "address_u", "address_v", "address_w", "mip_lod_bias", "max_anisotropy", "comparison_func", "min_lod", "max_lod", "label")
    return each(s=lambda: {n: getattr(s.desc, n) for n in names}, d=lambda: {n: getattr(d, n) for n in names}, b=lambda: list(d.border_color), own=lambda: device.create_sampler(min_filter=spy.TextureFilteringMode.point, border_color=[1, 2, 3, 4], max_lod=3).desc.min_filter,
                dict=lambda: device.create_sampler({"mip_lod_bias": 0.5, "label": "x"}).desc.mip_lod_bias, desc=lambda: device.create_sampler(spy.SamplerDesc({"address_u": spy.TextureAddressingMode.wrap})).desc.address_u, free=lambda: type(spy.create_sampler()).__name__, bad=lambda: fails(spy.SamplerDesc, {"x": 1}))


# >>loading and bitmaps


@case
def texture_loader_options(spy, device):
    o = spy.TextureLoader.Options()
    names = ("load_as_normalized", "load_as_srgb", "extend_alpha", "allocate_mips", "generate_mips", "usage")
    return each(d=lambda: {n: getattr(o, n) for n in names}, ya=lambda: o.ya_handling, dict=lambda: spy.TextureLoader.Options({"generate_mips": True}).generate_mips, bad=lambda: fails(spy.TextureLoader.Options, {"x": 1}))


def loader_cases():
    kinds = {"u8": (np.uint8, 200), "u16": (np.uint16, 60000), "u32": (np.uint32, 60000), "f16": (np.float16, 1), "f32": (np.float32, 1), "i8": (np.int8, 100), "i16": (np.int16, 100), "i32": (np.int32, 100)}
    for kind, (dtype, scale) in kinds.items():
        def f(spy, device, dtype=dtype, scale=scale):
            loader = spy.TextureLoader(device)
            def load(channels, **options):
                data = (random(4, 4, channels) * scale).astype(dtype)
                b = spy.Bitmap(data if channels > 1 else data)
                t = loader.load_texture(b, options)
                return [t.format, t.width, t.height, t.mip_count, t.to_numpy() if t.mip_count == 1 else [np.round(t.to_numpy(mip=m).astype(np.float64), 2) for m in range(2)] if options.get("generate_mips") and dtype == np.float32 else 0]
            return each(r=lambda: load(1), rg=lambda: load(2), rgb=lambda: load(3), rgba=lambda: load(4), raw=lambda: load(4, load_as_normalized=False), noalpha=lambda: load(3, extend_alpha=False), linear=lambda: load(4, load_as_srgb=False), rgblin=lambda: load(3, load_as_srgb=False),
                        mips=lambda: load(4, allocate_mips=True), gen=lambda: load(4, generate_mips=True), ya=lambda: load(2, ya_handling=spy.YAHandling.preserve_as_rg))
        f.__name__ = "texture_loader_" + kind
        case(f)


loader_cases()


@case
def texture_loader_lists(spy, device):
    loader = spy.TextureLoader(device)
    b = [spy.Bitmap((random(4, 4, 4, seed=i) * 255).astype(np.uint8)) for i in range(3)]
    return each(l=lambda: [t.to_numpy() for t in loader.load_textures(b)], a=lambda: properties(loader.load_texture_array(b)), av=lambda: [loader.load_texture_array(b).to_numpy(layer=i) for i in range(3)], o=lambda: [t.format for t in loader.load_textures(b, {"load_as_srgb": False})],
                os=lambda: [t.format for t in loader.load_textures(b, [{"load_as_srgb": i == 1} for i in range(3)])], mixed=lambda: fails(lambda: properties(loader.load_texture_array([b[0], spy.Bitmap(np.zeros((2, 2, 4), np.uint8))]))), none=lambda: fails(lambda: loader.load_texture_array([])),
                missing=lambda: error(loader.load_texture, "/missing.png"), e=lambda: fails(lambda: loader.load_textures([])))


def bitmap_files():
    for ext in ("png", "jpg", "bmp", "tga", "hdr", "exr"):
        def f(spy, device, ext=ext):
            import os
            import tempfile
            def go(data, **k):
                with tempfile.TemporaryDirectory() as folder:
                    path = os.path.join(folder, "a." + ext)
                    b = spy.Bitmap(data, **k)
                    b.write(path)
                    r = spy.Bitmap(path)
                    l = spy.Bitmap.load_from_file(path)
                    x = np.array(r)
                    m = spy.Bitmap.read_multiple([path, path])
                    t = error(lambda: spy.TextureLoader(device).load_texture(path).format)
                    return [r.pixel_format, r.component_type, r.width, r.height, r.channel_names, r.srgb_gamma, x.shape, np.array(l).shape, len(m), t, x if ext != "jpg" else np.round(x.astype(np.float64).mean() / 4)]
            P = spy.Bitmap.PixelFormat
            smooth = np.linspace(0, 1, 8 * 4 * 4, dtype=np.float32).reshape(4, 8, 4)
            return each(rgba8=lambda: go((smooth * 255).astype(np.uint8)), rgb8=lambda: go((smooth[..., :3] * 255).astype(np.uint8)), y8=lambda: go((smooth[..., 0] * 255).astype(np.uint8)), y1=lambda: go((smooth[..., :1] * 255).astype(np.uint8)), rgb16=lambda: go((smooth[..., :3] * 65535).astype(np.uint16)),
                        f32=lambda: go(smooth[..., :3].copy()), f32a=lambda: go(smooth.copy()), f16=lambda: go(smooth.astype(np.float16)), yf=lambda: go(smooth[..., 0].copy()), ya8=lambda: go((smooth[..., :2] * 255).astype(np.uint8), pixel_format=P.ya), u32=lambda: go((smooth[..., :3] * 65535).astype(np.uint32)))
        f.__name__ = "bitmap_file_" + ext
        case(f)


bitmap_files()


@case
def bitmap_properties(spy, device):
    def p(b):
        return [b.pixel_format, b.component_type, b.width, b.height, b.pixel_count, b.channel_count, b.channel_names, b.srgb_gamma, b.bytes_per_pixel, b.buffer_size, b.has_alpha(), b.empty()]
    P, C = spy.Bitmap.PixelFormat, spy.Bitmap.ComponentType
    return each(**{f.name: (lambda f=f: p(spy.Bitmap(f, C.uint8, 4, 3))) for f in P if f != P.multi_channel}, multi=lambda: p(spy.Bitmap(P.multi_channel, C.float32, 4, 3, 5)), named=lambda: p(spy.Bitmap(P.multi_channel, C.float32, 4, 3, 3, ["a", "b", "c"])), f=lambda: p(spy.Bitmap(P.rgb, C.float32, 4, 3)),
                arr=lambda: p(spy.Bitmap(random(3, 4, 3))), grey=lambda: p(spy.Bitmap(random(3, 4))), five=lambda: p(spy.Bitmap(random(3, 4, 5))), u=lambda: p(spy.Bitmap(np.zeros((3, 4, 4), np.uint8))), g=lambda: p(spy.Bitmap(np.zeros((3, 4, 4), np.uint8), srgb_gamma=False)), two=lambda: p(spy.Bitmap(random(3, 4, 2))),
                load=lambda: p(spy.Bitmap.load_from_numpy(random(3, 4, 3))), bad=lambda: fails(spy.Bitmap, random(3)), c64=lambda: fails(spy.Bitmap, np.zeros((2, 2), np.complex64)), wrong=lambda: fails(spy.Bitmap, random(3, 4, 3), P.rgba))


@case
def bitmap_conversions(spy, device):
    P, C = spy.Bitmap.PixelFormat, spy.Bitmap.ComponentType
    b, u = spy.Bitmap(random(3, 4, 4)), spy.Bitmap((random(3, 4, 3) * 255).astype(np.uint8))
    def c(x, *a, **k):
        r = x.convert(*a, **k)
        return [r.pixel_format, r.component_type, r.srgb_gamma, np.array(r)]
    return each(**{"p_" + f.name: (lambda f=f: c(b, f)) for f in P if f != P.multi_channel}, **{"c_" + t.name: (lambda t=t: c(b, component_type=t)) for t in C}, **{"u_" + t.name: (lambda t=t: c(u, component_type=t)) for t in C}, srgb=lambda: c(b, srgb_gamma=True), lin=lambda: c(u, srgb_gamma=False),
                both=lambda: c(u, P.rgba, C.float32, False), y=lambda: c(u, P.y), fs=lambda: c(b, P.rgb, C.uint8, True), none=lambda: c(b))


@case
def bitmap_resampling(spy, device):
    b = spy.Bitmap(random(8, 8, 3))
    B = spy.FilterBoundaryCondition
    def r(*a, **k):
        return np.array(b.resample(*a, **k))
    return each(half=lambda: r(4, 4), up=lambda: r(16, 16), box=lambda: r(4, 4, spy.BoxFilter()), tent=lambda: r(4, 4, spy.TentFilter()), gauss=lambda: r(5, 3, spy.GaussianFilter()), mitchell=lambda: r(4, 4, spy.MitchellFilter()), lanczos=lambda: r(12, 6, spy.LanczosFilter()),
                **{c.name: (lambda c=c: r(6, 6, spy.LanczosFilter(), (c, c))) for c in B}, limits=lambda: r(4, 4, clamp=(0.4, 0.6)), mixed=lambda: r(8, 3), u8=lambda: np.array(spy.Bitmap((random(6, 6, 3) * 255).astype(np.uint8)).resample(3, 3)).astype(np.int32) // 2)


@case
def bitmap_filters(spy, device):
    def f(x):
        return [x.radius, [x.eval(v) for v in (0.0, 0.25, 0.5, 0.75, 1.0, 1.5, 2.5)]]
    return each(b=lambda: f(spy.BoxFilter()), t=lambda: f(spy.TentFilter()), t2=lambda: f(spy.TentFilter(2.0)), g=lambda: f(spy.GaussianFilter()), g2=lambda: f(spy.GaussianFilter(1.0)), m=lambda: f(spy.MitchellFilter()), l=lambda: f(spy.LanczosFilter()), m0=lambda: f(spy.MitchellFilter(0, 0.5)))


@case
def bitmap_operations(spy, device):
    P, C = spy.Bitmap.PixelFormat, spy.Bitmap.ComponentType
    b = spy.Bitmap(random(3, 4, 4))
    def flipped():
        x = spy.Bitmap(random(3, 4, 3))
        x.vflip()
        return np.array(x)
    def cleared():
        x = spy.Bitmap(random(3, 4, 3))
        x.clear()
        return np.array(x)
    return each(eq=lambda: spy.Bitmap(random(3, 4, 3)) == spy.Bitmap(random(3, 4, 3)), ne=lambda: spy.Bitmap(random(3, 4, 3)) == spy.Bitmap(random(3, 4, 3, seed=2)), flip=flipped, clear=cleared, split=lambda: [[n, s.pixel_format, np.array(s)] for n, s in b.split()], np=lambda: np.array(b, copy=False).dtype.name,
                st=lambda: [[f.name, f.type, f.flags, f.size, f.offset] for f in (b.pixel_struct[i] for i in range(len(b.pixel_struct)))], us=lambda: [[f.name, f.flags] for f in (spy.Bitmap(P.rgb, C.uint8, 2, 2).pixel_struct[i] for i in range(3))], repr=lambda: repr(spy.Bitmap(P.rgb, C.uint8, 2, 2)),
                multi=lambda: [[n, s.pixel_format, s.channel_names] for n, s in spy.Bitmap(P.multi_channel, C.float32, 2, 2, 5, ["a.r", "a.g", "b.r", "b.g", "z"]).split()], set=lambda: setattr(b, "srgb_gamma", True))


@case
def texture_to_bitmap(spy, device):
    def b(format, shape, dtype):
        t = make(spy, device, format, 4, 3)
        t.copy_from_numpy(ramp(*shape, dtype=dtype))
        x = t.to_bitmap()
        return [x.pixel_format, x.component_type, x.srgb_gamma, x.width, x.height, np.array(x)]
    t = device.create_texture(type=spy.TextureType.texture_2d_array, format=spy.Format.r32_float, width=4, height=4, array_length=2, mip_count=2, usage=usage(spy))
    t.copy_from_numpy(random(2, 2), 1, 1)
    return each(f=lambda: b("rgba32_float", (3, 4, 4), np.float32), u=lambda: b("rgba8_unorm", (3, 4, 4), np.uint8), r=lambda: b("r16_float", (3, 4), np.float16), i=lambda: b("rg32_uint", (3, 4, 2), np.uint32), part=lambda: np.array(t.to_bitmap(1, 1)), kw=lambda: np.array(t.to_bitmap(layer=1, mip=1)), d3=lambda: fails(lambda: device.create_texture(type=spy.TextureType.texture_3d, format=spy.Format.r32_float, width=2, height=2, depth=2, usage=usage(spy)).to_bitmap()))

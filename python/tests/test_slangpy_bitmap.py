"""Bitmap with its filters and files, DataStruct and its converter, and TextureLoader's choice of a format. No test here needs a device."""
import struct
import subprocess
import sys
import warnings
import zlib

import numpy as np
import pytest

import slangpy as spy
from slangpy import image_files
from slangpy.texture_loader import _texture_data

B, P, T, F = spy.Bitmap, spy.Bitmap.PixelFormat, spy.DataStruct.Type, spy.DataStruct.Flags
CHANNELS = {P.y: 1, P.ya: 2, P.r: 1, P.rg: 2, P.rgb: 3, P.rgba: 4}


def to_linear(v):
    return np.where(v <= 0.04045, v / 12.92, ((np.maximum(v, 0) + 0.055) / 1.055) ** 2.4)


def to_srgb(v):
    return np.where(v <= 0.0031308, v * 12.92, 1.055 * np.maximum(v, 0) ** (1 / 2.4) - 0.055)


def random_pixels(dtype, *shape, seed=1):
    rng = np.random.default_rng(seed)
    if np.dtype(dtype).kind == "f":
        return rng.uniform(0, 1, shape).astype(dtype)
    info = np.iinfo(dtype)
    return rng.integers(info.min, info.max, shape, dtype, endpoint=True)


def picture(dtype, channels, height=29, width=43):
    """Returns a picture with noise and ramps, for which each of PNG's filters is the best one somewhere."""
    pixels = random_pixels(dtype, height, width, channels)
    ramp = np.arange(width)[None, :, None] * 3 + np.arange(height)[:, None, None] * 2 + np.arange(channels)
    pixels[:, : width // 2] = ramp[:, : width // 2].astype(dtype)
    pixels[height // 2] = 7
    return pixels


# >>making one


@pytest.mark.parametrize("pixel_format", list(CHANNELS))
@pytest.mark.parametrize("kind", list(T))
def test_a_bitmap_is_made_of_sizes_and_types(pixel_format, kind):
    """All sizes follow from pixel format, component type, width and height; new pixels are 0; uint8 and uint16 are in sRGB by default."""
    b = B(pixel_format, kind, 5, 3)
    channels, size = CHANNELS[pixel_format], spy.DataStruct.type_size(kind)
    assert (b.pixel_format, b.component_type, b.width, b.height, b.channel_count) == (pixel_format, kind, 5, 3, channels)
    assert (b.pixel_count, b.bytes_per_pixel, b.buffer_size) == (15, channels * size, 15 * channels * size)
    assert b.srgb_gamma == (kind in (T.uint8, T.uint16)) and b.has_alpha() == (pixel_format in (P.ya, P.rgba))
    assert b.channel_names == list(pixel_format.name.upper()) and not np.asarray(b).any()
    assert B(pixel_format=pixel_format, component_type=kind, width=5, height=3) == b
    assert b.pixel_struct.size == b.bytes_per_pixel and [f.name for f in b.pixel_struct] == b.channel_names


def test_channels_beyond_the_known_ones_have_names():
    b = B(P.multi_channel, T.float32, 2, 2, 6)
    assert b.channel_count == 6 and len(set(b.channel_names)) == 6
    named = B(P.multi_channel, T.float16, 2, 2, channel_names=["depth", "A"])
    assert named.channel_names == ["depth", "A"] and named.has_alpha() and not b.has_alpha()
    assert B(random_pixels(np.float32, 2, 2, 5)).pixel_format == P.multi_channel
    assert B(random_pixels(np.float32, 2, 2, 2), P.multi_channel, ["u", "v"]).channel_names == ["u", "v"]


@pytest.mark.parametrize("dtype", [t.name for t in T])
def test_an_array_becomes_a_bitmap_of_its_channels_and_type(dtype):
    """Bitmap(array) copies the data; the array may have any strides and byte order."""
    for channels, expected in ((1, P.y), (2, P.ya), (3, P.rgb), (4, P.rgba), (5, P.multi_channel)):
        data = random_pixels(dtype, 6, 4, channels)
        b = B.load_from_numpy(data)
        assert b.pixel_format == expected and b.component_type == T[dtype] and (b.width, b.height) == (4, 6)
        assert np.array_equal(np.array(b), data)
        data[...] = 0
        assert np.asarray(b).any()
    swapped = random_pixels(dtype, 6, 8, 3)
    big = swapped.astype(np.dtype(dtype).newbyteorder(">"))
    assert B(big) == B(swapped) and np.array_equal(np.array(B(swapped[::-1, ::2])), swapped[::-1, ::2])
    flat = random_pixels(dtype, 6, 4)
    assert np.array(B(flat)).shape == (6, 4) and B(flat) == B(flat[..., None]) and np.array_equal(np.array(B(data=flat, pixel_format=P.r)), flat)


def test_numpy_sees_the_pixels_without_a_copy():
    """np.asarray() is a view that keeps the bitmap alive; writing to it changes the bitmap."""
    b = B(P.rgba, T.float32, 4, 2)
    view = np.asarray(b)
    assert view.shape == (2, 4, 4) and view.dtype == np.float32
    view[1, 2] = (1, 2, 3, 4)
    assert np.array(b)[1, 2].tolist() == [1, 2, 3, 4] and np.shares_memory(np.asarray(b), view) and not np.shares_memory(np.array(b), view)
    del b
    assert view[1, 2, 3] == 4
    assert np.asarray(B(P.r, T.uint8, 4, 2)).shape == (2, 4) and np.asarray(B(random_pixels(np.uint8, 2, 4, 1))).shape == (2, 4, 1)
    assert np.asarray(B(P.rgb, T.uint8, 0, 0)).shape == (0, 0, 3)


def test_bitmaps_are_equal_by_all_that_they_are():
    data = random_pixels(np.uint8, 3, 5, 3)
    a = B(data)
    assert a == B(data) and not a != B(data) and a != 3 and hash(a) == hash(a)
    assert a != B(data, srgb_gamma=False) and a != B(data[:, :4]) and a != B(data.astype(np.uint16)) and a != B(data ^ 1)
    assert B(data[..., 0], P.y) != B(data[..., 0], P.r)
    assert repr(B(P.r, T.uint8, 6, 2)) == """Bitmap(
  pixel_format = r,
  component_type = uint8,
  width = 6,
  height = 2,
  srgb_gamma = true,
  pixel_struct = DataStruct(
    pack = true,
    byte_order = little_endian,
    fields = [
      Field(name="R", type=uint8, flags=(normalized | srgb_gamma), size=1, offset=0),
    ],
    size = 1,
    alignment = 1
  ),
  data = 12 B
)"""


def test_clear_flip_and_empty():
    data = random_pixels(np.uint16, 3, 5, 2)
    b = B(data)
    b.vflip()
    assert np.array_equal(np.array(b), data[::-1]) and not b.empty()
    b.clear()
    assert not np.asarray(b).any() and B(P.y, T.uint8, 0, 4).empty()


def test_setting_srgb_gamma_changes_no_pixel_but_their_meaning():
    data = random_pixels(np.uint8, 3, 5, 4)
    b = B(data)
    assert [f.flags for f in b.pixel_struct] == [F.normalized | F.srgb_gamma] * 3 + [F.normalized]
    b.srgb_gamma = False
    assert np.array_equal(np.array(b), data) and [f.flags for f in b.pixel_struct] == [F.normalized] * 4
    assert B(P.y, T.float32, 1, 1).pixel_struct[0].flags == F.none


@pytest.mark.parametrize("call, error, text", [
    (lambda: B(), TypeError, "expected"),
    (lambda: B(P.rgb, T.uint8, -1, 2), ValueError, "'width'"),
    (lambda: B(P.rgb, T.uint8, 1, 2, 4), ValueError, "'channel_count'.*3"),
    (lambda: B(P.multi_channel, T.uint8, 1, 2), ValueError, "channel_count"),
    (lambda: B(P.multi_channel, T.uint8, 1, 2, 3, ["a", "b"]), ValueError, "3 different names"),
    (lambda: B(P.multi_channel, T.uint8, 1, 2, channel_names=["a", "a"]), ValueError, "different names"),
    (lambda: B(np.zeros(4, np.uint8)), ValueError, "shape"),
    (lambda: B(np.zeros((2, 2, 0), np.uint8)), ValueError, "at least one channel"),
    (lambda: B(np.zeros((2, 2), bool)), TypeError, "bool"),
    (lambda: B(np.zeros((2, 2), complex)), TypeError, "complex128"),
    (lambda: B(np.zeros((2, 2, 3), np.uint8), P.rgba), ValueError, "rgba has 4"),
    (lambda: B(P.y, T.uint8, 2, 2).resample(0, 2), ValueError, "'width'"),
    (lambda: B(P.y, T.uint8, 0, 2).resample(1, 2), ValueError, "no pixels"),
    (lambda: B(P.y, T.uint8, 2, 2).resample(3, 2, filter=1), TypeError, "'filter'"),
    (lambda: B(P.y, T.uint8, 2, 2).resample(B(P.y, T.uint16, 2, 2)), ValueError, "'target'"),
    (lambda: B(np.zeros((2, 2, 5), np.uint8)).convert(P.rgb), ValueError, "'R'"),
    (lambda: spy.TentFilter(0), ValueError, "radius"),
    (lambda: spy.GaussianFilter(-1), ValueError, "stddev"),
])
def test_bad_input_of_bitmaps_is_named(call, error, text):
    with pytest.raises(error, match=text):
        call()


# >>converting


@pytest.mark.parametrize("source", ["uint8", "int8", "uint16", "int16", "uint32", "int32", "float16", "float32", "float64", "uint64", "int64"])
@pytest.mark.parametrize("target", ["uint8", "int8", "uint16", "uint32", "int64", "uint64", "float16", "float32", "float64"])
def test_components_convert_as_numbers_of_0_to_1(source, target):
    """Integers of 8 and 16 bits stand for 0 to 1, signed ones for -1 to 1; wider ones are plain numbers. All are rounded and clamped."""
    scale = {t: float(np.iinfo(t).max) if t.endswith(("t8", "t16")) and t[0] != "f" else 1.0 for t in (source, target)}
    data = random_pixels(source, 4, 4, 3)
    if np.dtype(source).kind == "f":
        data[0, 0] = (2, -2, np.nan if np.dtype(target).kind in "iu" else 0.5)
    got = np.array(B(data, srgb_gamma=False).convert(component_type=T[target]))
    value = data.astype(np.float64)
    if np.dtype(source).kind in "iu":
        value = np.maximum(value / scale[source], -1) if scale[source] > 1 else value
    assert got.dtype == target
    if np.dtype(target).kind == "f":
        with np.errstate(over="ignore"):
            value = value.astype(target)
        assert np.allclose(got, value, rtol=1e-3 if target == "float16" else 1e-6, atol=1e-7)
    else:
        info = np.iinfo(target)
        expected = np.clip(np.nan_to_num(value) * scale[target], float(info.min), float(info.max))
        assert np.abs(got.astype(np.float64) - expected).max() <= max(0.5001, 2.0 ** -22 * info.max if source == "float32" else 2.0 ** -51 * info.max)
        if np.dtype(source).kind == "f":
            assert got[0, 0].tolist() == [min(info.max, int(2 * scale[target])), max(info.min, int(-2 * scale[target])), 0]


def test_conversion_between_8_and_16_bits_is_exact():
    every = np.arange(256, dtype=np.uint8).reshape(16, 16)
    wide = B(every).convert(component_type=T.uint16)
    assert wide.srgb_gamma and np.array_equal(np.array(wide), every * np.uint16(257)) and wide.convert(component_type=T.uint8) == B(every)


def test_srgb_is_decoded_and_encoded_but_not_alpha():
    """srgb_gamma=None keeps the bitmap's own; a conversion to linear floats and back changes no byte."""
    data = np.stack([np.arange(256, dtype=np.uint8).reshape(16, 16)] * 4, axis=2)
    b = B(data)
    linear = b.convert(component_type=T.float32, srgb_gamma=False)
    expected = data / 255.0
    assert np.allclose(np.array(linear)[..., :3], to_linear(expected)[..., :3], atol=1e-6) and np.allclose(np.array(linear)[..., 3], expected[..., 3])
    assert linear.convert(component_type=T.uint8, srgb_gamma=True) == b
    kept = b.convert(component_type=T.float32)
    assert kept.srgb_gamma and np.allclose(np.array(kept), expected)
    small = linear.convert(component_type=T.float16).convert(component_type=T.float64, srgb_gamma=True)
    assert np.allclose(np.array(small)[..., 0], to_srgb(np.array(linear)[..., 0].astype(np.float16).astype(float)), atol=1e-6)
    many = random_pixels(np.uint8, 64, 64, 3)  # more pixels than the table has entries
    assert np.allclose(np.array(B(many).convert(component_type=T.float32, srgb_gamma=False)), to_linear(many / 255), atol=1e-6)
    assert np.allclose(np.array(B(random_pixels(np.uint16, 300, 300), srgb_gamma=True).convert(component_type=T.float32, srgb_gamma=False)),
                       to_linear(random_pixels(np.uint16, 300, 300) / 65535), atol=1e-6)


def test_pixel_formats_convert():
    """Luminance spreads over rgb, a missing alpha is 1, luminance of rgb is that of linear colors."""
    rgb = random_pixels(np.float32, 3, 4, 3)
    rgba = np.array(B(rgb).convert(P.rgba))
    assert np.array_equal(rgba[..., :3], rgb) and (rgba[..., 3] == 1).all()
    y = rgb @ [0.2127, 0.7152, 0.0722]
    assert np.allclose(np.array(B(rgb).convert(P.y)), y, atol=1e-4)
    assert np.allclose(np.array(B(rgba).convert(P.ya))[..., 0], y, atol=1e-4)
    assert np.array_equal(np.array(B(rgba).convert(P.rgb)), rgb) and np.array_equal(np.array(B(rgb).convert(P.r)), rgb[..., 0])
    assert np.array_equal(np.array(B(rgb).convert(P.rg)), rgb[..., :2])
    gray = B(rgb[..., :2].copy(), P.ya)
    assert np.array_equal(np.array(gray.convert(P.rgba)), rgb[..., [0, 0, 0, 1]]) and np.array_equal(np.array(gray.convert(P.rgb)), rgb[..., [0, 0, 0]])
    red = B(rgb[..., 0], P.r)
    assert np.array_equal(np.array(red.convert(P.y)), rgb[..., 0])
    assert np.array_equal(np.array(red.convert(P.rgba)), np.stack([rgb[..., 0], 0 * y, 0 * y, 0 * y + 1], axis=2).astype(np.float32))
    byte = random_pixels(np.uint8, 3, 4, 3)
    assert (np.array(B(byte).convert(P.rgba))[..., 3] == 255).all() and (np.array(B(byte).convert(P.rgba, T.int16))[..., 3] == 32767).all()
    mixed = np.array(B(byte).convert(P.y)).astype(float)
    assert np.abs(mixed - 255 * to_srgb(to_linear(byte / 255) @ [0.212671, 0.71516, 0.072169])).max() <= 0.501


def test_multi_channel_bitmaps_convert_by_their_channels_names():
    data = random_pixels(np.float32, 3, 4, 5)
    b = B(data, channel_names=["B", "depth", "R", "G", "A"])
    assert np.array_equal(np.array(b.convert(P.rgba)), data[..., [2, 3, 0, 4]]) and b.convert(P.multi_channel) == b
    assert B(data[..., :3]).convert(P.multi_channel).channel_names == ["R", "G", "B"]
    # with other than four channels the names are unknown, and the order counts
    assert np.array_equal(np.array(B(data[..., :3], P.multi_channel).convert(P.rgb)), data[..., :3])


def test_split_gives_the_layers_of_channels():
    """A layer is what stands before the last point of a channel's name."""
    data = random_pixels(np.float32, 3, 4, 8)
    b = B(data, channel_names=["R", "G", "B", "albedo.B", "albedo.G", "albedo.R", "albedo.A", "n.X"])
    parts = dict(b.split())
    assert list(parts) == ["", "albedo", "n"] and parts["albedo"].pixel_format == P.rgba and parts["n"].pixel_format == P.multi_channel
    assert parts[""] == B(data[..., :3]) and np.array_equal(np.array(parts["albedo"]), data[..., [5, 4, 3, 6]])
    lower = B(data[..., :5], channel_names=["b.r", "b.g", "a.g", "a.r", "z"]).split()  # in the order of names; colors in small letters too
    assert [(n, s.pixel_format, s.channel_names) for n, s in lower] == [("", P.multi_channel, ["z"]), ("a", P.rg, ["R", "G"]), ("b", P.rg, ["R", "G"])]
    assert np.array_equal(np.array(lower[1][1]), data[..., [3, 2]])
    assert [name for name, _ in B(data[..., :3]).split()] == [""] and B(data[..., :3]).split()[0][1] == B(data[..., :3])


# >>filters and sizes


def test_filters_are_the_known_functions():
    """Each filter is 0 outside of its radius and has the values of its formula inside."""
    assert spy.BoxFilter().radius == 0.5 and [spy.BoxFilter().eval(x) for x in (-0.6, -0.5, 0, 0.49, 0.5)] == [0, 1, 1, 1, 0]
    assert spy.TentFilter().eval(0.25) == 0.75 and spy.TentFilter(2).eval(-1) == 0.5 and spy.TentFilter(2).radius == 2
    g = spy.GaussianFilter()
    assert g.radius == 2 and np.isclose(g.eval(0.5), np.exp(-0.5) - np.exp(-8)) and g.eval(2.1) == 0
    m = spy.MitchellFilter()
    assert m.radius == 2 and np.isclose(m.eval(0), 8 / 9) and np.isclose(m.eval(1), 1 / 18) and np.isclose(m.eval(-1.5), -5 / 144)
    assert np.isclose(spy.MitchellFilter(0, 0.5).eval(0.5), 0.5625) and np.isclose(spy.MitchellFilter(0, 0.5).eval(1), 0)
    z = spy.LanczosFilter()
    assert z.radius == 3 and z.eval(0) == 1 and np.isclose(z.eval(0.5), np.sinc(0.5) * np.sinc(0.5 / 3)) and abs(z.eval(1)) < 1e-12
    assert spy.LanczosFilter(2).radius == 2 and "lobes=2" in repr(spy.LanczosFilter(2))


def reference_resample(data, n, filter, condition):
    """Returns the array resampled along the first axis by plain loops over pixels. An axis that keeps its size is not filtered."""
    if len(data) == n:
        return data
    size, result = len(data), np.zeros((n, *data.shape[1:]))
    scale = size / n
    stretch = max(1, scale)
    for i in range(n):
        center, total = (i + 0.5) * scale, 0
        for j in range(-4 * size, 5 * size):
            x = (j + 0.5 - center) / stretch
            w = filter.eval(x) if abs(x) < filter.radius - 1e-9 else 0
            if w == 0:
                continue
            if 0 <= j < size:
                value = data[j]
            elif condition == "clamp":
                value = data[min(max(j, 0), size - 1)]
            elif condition == "repeat":
                value = data[j % size]
            elif condition == "mirror":
                value = np.concatenate([data, data[-2:0:-1]])[j % (2 * size - 2)]
            else:
                value = 0.0 if condition == "zero" else 1.0
            result[i] += w * value
            total += w
        result[i] = result[i] / total if total else data[min(int(center), size - 1)]
    return result


@pytest.mark.parametrize("filter", [spy.BoxFilter(), spy.TentFilter(), spy.GaussianFilter(), spy.MitchellFilter(), spy.LanczosFilter()], ids=lambda f: type(f).__name__)
@pytest.mark.parametrize("condition", [c.name for c in spy.FilterBoundaryCondition])
def test_resample_is_the_weighted_sum_of_the_filter(filter, condition):
    """A smaller image stretches the filter; each boundary condition says what lies beyond the border."""
    data = random_pixels(np.float64, 9, 6, 2)
    bc = spy.FilterBoundaryCondition[condition]
    for width, height in ((6, 9), (4, 5), (11, 13), (6, 5)):
        got = B(data).resample(width, height, filter, (bc, bc))
        expected = reference_resample(reference_resample(data, height, filter, condition).transpose(1, 0, 2), width, filter, condition).transpose(1, 0, 2)
        assert got.component_type == T.float64 and np.allclose(np.array(got), expected, atol=1e-12)


def test_resample_keeps_what_the_bitmap_is():
    """By default edges are clamped, so a constant image stays constant; bytes are rounded; `clamp` bounds the result."""
    b = B(np.full((7, 5, 4), 77, np.uint8))
    small = b.resample(3, 2)
    assert small == B(np.full((2, 3, 4), 77, np.uint8)) and small.srgb_gamma
    target = B(P.rgba, T.uint8, 9, 11)
    assert b.resample(target) is None and (np.asarray(target) == 77).all()
    step = B(np.repeat(np.array([0, 1], np.float32), 8)[None, :].repeat(16, 0))
    ringing = np.array(step.resample(29, 29, spy.LanczosFilter()))
    bounded = np.array(step.resample(29, 29, spy.LanczosFilter(), clamp=(0.0, 1.0)))
    assert ringing.min() < 0 and ringing.max() > 1 and bounded.min() == 0 and bounded.max() == 1 and ringing.shape == (29, 29)
    mixed = np.array(step.resample(16, 4, spy.TentFilter(), bc=(spy.FilterBoundaryCondition.repeat, spy.FilterBoundaryCondition.zero)))
    assert mixed.shape == (4, 16) and mixed[0, 12] < 1 and mixed[1, 12] == 1


# >>files


@pytest.mark.parametrize("dtype", ["uint8", "uint16"])
@pytest.mark.parametrize("pixel_format", [P.y, P.ya, P.rgb, P.rgba])
def test_png_files_hold_8_and_16_bits(tmp_path, dtype, pixel_format):
    path = tmp_path / "a.png"
    for height, width in ((29, 43), (70, 5), (1, 1)):
        for gamma in (True, False):
            b = B(picture(dtype, CHANNELS[pixel_format], height, width), pixel_format, srgb_gamma=gamma)
            b.write(path)
            assert B(path) == b and B(str(path)) == b


@pytest.mark.parametrize("extension", ["bmp", "tga"])
@pytest.mark.parametrize("pixel_format", [P.y, P.rgb, P.rgba])
def test_bmp_and_tga_files_hold_8_bits(tmp_path, extension, pixel_format):
    for width in (43, 1):
        b = B(picture(np.uint8, CHANNELS[pixel_format], width=width), pixel_format)
        b.write(tmp_path / ("a." + extension))
        palette = extension == "bmp" and pixel_format == P.y  # grey is a palette there, and palettes are read as rgb, as in SlangPy
        assert B.load_from_file(tmp_path / ("a." + extension)) == (b.convert(P.rgb) if palette else b)


@pytest.mark.parametrize("dtype", ["float16", "float32", "uint32"])
def test_exr_files_hold_any_channels(tmp_path, dtype):
    """Known channels of an EXR file come back as their pixel format; others are multi_channel."""
    for pixel_format in CHANNELS:
        b = B(picture(dtype, CHANNELS[pixel_format]), pixel_format)
        b.write(tmp_path / "a.exr")
        assert B(tmp_path / "a.exr") == b
    layers = B(picture(dtype, 5), channel_names=["A", "u.X", "u.Y", "v.R", "v.G"])
    layers.write(tmp_path / "b.exr")
    read = B(tmp_path / "b.exr")
    assert read.pixel_format == P.multi_channel and dict(read.split()).keys() == {"", "u", "v"}
    assert np.array_equal(np.array(dict(read.split())["v"]), np.array(layers)[..., 3:])


def test_hdr_files_hold_positive_floats_with_8_bits_of_mantissa(tmp_path):
    rng = np.random.default_rng(2)
    for height, width in ((9, 300), (5, 7)):  # rows of 300 pixels are stored in runs, rows of 5 pixels are not
        data = (rng.uniform(0, 1, (height, width, 3)) * 10.0 ** rng.integers(-6, 6, (height, width, 1))).astype(np.float32)
        data[0, 0], data[0, 1] = 0, (1, 0, 0.5)
        B(data).write(tmp_path / "a.hdr")
        b = B(tmp_path / "a.hdr")
        assert b.pixel_format == P.rgb and b.component_type == T.float32 and not b.srgb_gamma
        assert (np.abs(np.array(b) - data) <= data.max(axis=2, keepdims=True) / 128).all() and (np.array(b) <= data).all() and np.array(b)[0, :2].tolist() == [[0, 0, 0], [1, 0, 0.5]]
    # Two runs of one value in a row, as other programs write them.
    head, run = b"#?RADIANCE\nEXPOSURE=1\nFORMAT=32-bit_rle_rgbe\n\n-Y 1 +X 10\n", lambda v: bytes([128 + 10, v])
    (tmp_path / "b.hdr").write_bytes(head + bytes([2, 2, 0, 10]) + run(128) + run(64) + run(0) + run(129))
    assert np.array(B(tmp_path / "b.hdr"))[0].tolist() == [[1, 0.5, 0]] * 10


def test_what_a_file_cannot_hold_is_converted(tmp_path):
    """Floats become uint8 in sRGB in PNG, BMP and TGA; bytes in sRGB become linear floats in HDR and EXR; unsupported channels become
    the nearest supported ones."""
    data = random_pixels(np.float32, 9, 12, 4) * 1.2 - 0.1
    expected = np.clip(np.rint(255 * to_srgb(data[..., :3])), 0, 255)
    for extension in ("png", "bmp", "tga"):
        B(data).write(tmp_path / ("a." + extension))
        got = np.array(B(tmp_path / ("a." + extension)))
        assert np.abs(got[..., :3] - expected).max() <= 1 and np.abs(got[..., 3] - np.clip(255 * data[..., 3], 0, 255)).max() <= 0.51
        B(data[..., 0], P.r).write(tmp_path / ("b." + extension))
        assert B(tmp_path / ("b." + extension)).pixel_format == (P.rgb if extension == "bmp" else P.y)
        B(data[..., :2], P.rg).write(tmp_path / ("c." + extension))
        assert B(tmp_path / ("c." + extension)).pixel_format == P.rgb and not np.array(B(tmp_path / ("c." + extension)))[..., 2].any()
    byte = B(random_pixels(np.uint8, 9, 12, 4))
    for extension in ("exr", "hdr"):
        byte.write(tmp_path / ("a." + extension))
        got = B(tmp_path / ("a." + extension))
        assert got.component_type == T.float32 and np.allclose(np.array(got)[..., :3], to_linear(np.array(byte) / 255)[..., :3], atol=8e-3)
    B(random_pixels(np.uint16, 9, 12, 3)).write(tmp_path / "d.bmp")
    assert B(tmp_path / "d.bmp").component_type == T.uint8
    byte.write(tmp_path / "unusual", B.FileFormat.png)
    assert B(tmp_path / "unusual") == byte  # the first bytes of a file tell its format
    B(picture(np.uint8, 2), P.ya).write(tmp_path / "ya.bmp")
    assert B(tmp_path / "ya.bmp").pixel_format == P.rgba
    for i, name in enumerate(["y", "ya", "rgb", "rgba"]):
        B(picture(np.uint8, i + 1), P.multi_channel).write(tmp_path / "multi.png")
        assert B(tmp_path / "multi.png").pixel_format == P[name]


def test_many_files_and_another_thread(tmp_path):
    """write_async() writes the pixels of the moment when it is called; read_multiple() keeps the order."""
    bitmaps = [B(random_pixels(np.uint8, 20, 30, 3, seed=i)) for i in range(6)]
    paths = [tmp_path / "{}.png".format(i) for i in range(6)]
    jobs = []
    for b, path in zip(bitmaps, paths):
        jobs.append(b.write_async(path))
        keep = B(np.array(b))
        b.clear()
        bitmaps[bitmaps.index(b)] = keep
    for job in jobs:
        job.result()
    assert B.read_multiple(paths) == bitmaps and B.read_multiple([]) == [] and B.read_multiple(paths[:1], B.FileFormat.png) == bitmaps[:1]
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        with pytest.raises(OSError):
            bitmaps[0].write_async(tmp_path / "no folder" / "a.png").result()
    assert "cannot be written" in str(seen[0].message)


def test_python_waits_for_files_at_its_end(tmp_path):
    code = "import numpy as np, slangpy; slangpy.Bitmap(np.zeros((300, 300, 3), np.uint16)).write_async({!r})".format(str(tmp_path / "a.png"))
    assert subprocess.run([sys.executable, "-c", code], timeout=60).returncode == 0 and B(tmp_path / "a.png").width == 300


def test_files_that_cannot_be_had_say_why(tmp_path):
    """A missing file is a FileNotFoundError and a RuntimeError; errors for damaged files and for unknown extensions and types name them."""
    for error in (FileNotFoundError, RuntimeError, spy.Error):
        with pytest.raises(error, match="There is no image file '.*nothing.png'"):
            B(tmp_path / "nothing.png")
    with pytest.raises(OSError, match="cannot be written"):
        B(P.y, T.uint8, 2, 2).write(tmp_path / "no folder" / "a.png")
    with pytest.raises(ValueError, match=r"extension of '.*a\.gif' names no format; known are \.png"):
        B(P.y, T.uint8, 2, 2).write(tmp_path / "a.gif")
    with pytest.raises(ValueError, match="PNG files hold no components of the type int32; convert"):
        B(P.y, T.int32, 2, 2).write(tmp_path / "a.png")
    with pytest.raises(ValueError, match="at most 4 channels, and the bitmap has 5"):
        B(np.zeros((2, 2, 5), np.uint8)).write(tmp_path / "a.png")
    with pytest.raises(ValueError, match="no pixels"):
        B(P.y, T.uint8, 0, 2).write(tmp_path / "a.png")
    (tmp_path / "text.png").write_text("no image")
    with pytest.raises(RuntimeError, match="no image file of a known format"):
        B(tmp_path / "text.png")
    for extension in ("png", "bmp", "tga", "exr", "hdr"):
        path = tmp_path / ("cut." + extension)
        B(picture(np.uint16 if extension == "png" else np.uint8, 3)).write(path)
        data = path.read_bytes()
        for size in (len(data) - 20, len(data) // 2, 30, 20):
            path.write_bytes(data[:size])
            with pytest.raises(image_files.ImageFileError, match="cannot be read as {}".format(extension.upper())):
                B(path)


def test_random_damage_never_does_more_than_an_error(tmp_path):
    rng = np.random.default_rng(3)
    for extension in ("png", "bmp", "tga", "exr", "hdr"):
        path = tmp_path / ("a." + extension)
        B(picture(np.uint16 if extension == "png" else np.uint8, 3, 9, 12)).write(path)
        good = np.frombuffer(path.read_bytes(), np.uint8)
        for _ in range(40):
            bad = good.copy()
            bad[rng.integers(8, min(len(bad), 400), 3)] = rng.integers(0, 256, 3)
            path.write_bytes(bad.tobytes())
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    B(path)
            except (image_files.ImageFileError, ImportError):
                pass


# >>files, beside other programs' readers and writers


def test_pillow_reads_what_is_written_here(tmp_path):
    image = pytest.importorskip("PIL.Image", reason="Pillow is not installed")
    for channels, mode, pixel_format in ((1, "L", P.y), (2, "LA", P.ya), (3, "RGB", P.rgb), (4, "RGBA", P.rgba)):
        data = picture(np.uint8, channels)
        for extension in ("png", "bmp", "tga"):
            if channels == 2 and extension != "png":
                continue
            B(data, pixel_format).write(tmp_path / ("a." + extension))
            with image.open(tmp_path / ("a." + extension)) as read:
                assert read.mode == mode and np.array_equal(np.asarray(read).reshape(data.shape), data)
    B(picture(np.uint16, 1), P.y).write(tmp_path / "b.png")
    with image.open(tmp_path / "b.png") as read:
        assert np.array_equal(np.asarray(read), picture(np.uint16, 1)[..., 0])


def test_what_pillow_writes_is_read_here_with_it_and_without(tmp_path, monkeypatch):
    """8-bit PNG files give the same bitmaps with Pillow and with our own decoder, which is used if Pillow is not installed."""
    image = pytest.importorskip("PIL.Image", reason="Pillow is not installed")
    rgb = picture(np.uint8, 3)
    made = {
        "L": image.fromarray(rgb[..., 0]), "RGB": image.fromarray(rgb), "LA": image.merge("LA", [image.fromarray(rgb[..., 0]), image.fromarray(rgb[..., 1])]),
        "1": image.fromarray(rgb[..., 0]).convert("1"),
        "P": image.fromarray(rgb).quantize(13), "RGBA": image.fromarray(np.concatenate([rgb, rgb[..., :1]], axis=2))}
    expected = {}
    for mode, one in made.items():
        one.save(tmp_path / (mode + ".png"))
        if mode == "P":
            one.save(tmp_path / "Pa.png", transparency=3)
            expected["Pa"] = np.asarray(image.open(tmp_path / "Pa.png").convert("RGBA"))
        if mode == "RGB":
            one.save(tmp_path / "RGBa.png", transparency=tuple(int(v) for v in rgb[3, 3]))
            expected["RGBa"] = np.asarray(image.open(tmp_path / "RGBa.png").convert("RGBA"))
        expected[mode] = np.asarray(one.convert({"1": "L", "P": "RGB"}.get(mode, mode)))
        if mode in ("L", "RGB", "RGBA"):
            for name, options in (("bmp", {}), ("tga", {}), ("rle.tga", {"compression": "tga_rle"})):
                one.save(tmp_path / "{}.{}".format(mode, name), **options)
                grey = expected[mode][..., None] if (mode, name) == ("L", "bmp") else expected[mode]  # a palette, which is read as rgb
                assert np.array_equal(np.array(B(tmp_path / "{}.{}".format(mode, name))), grey * np.ones(3 if grey is not expected[mode] else 1, np.uint8)), (mode, name)
    by_pillow = {mode: B(tmp_path / (mode + ".png")) for mode in expected}
    monkeypatch.setitem(sys.modules, "PIL", None)  # import of Pillow fails, as if it were not installed
    for mode, array in expected.items():
        ours = B(tmp_path / (mode + ".png"))
        assert ours == by_pillow[mode] and np.array_equal(np.array(ours), array), mode


def test_jpeg_files_go_by_pillow(tmp_path, monkeypatch):
    pytest.importorskip("PIL.Image", reason="Pillow is not installed")
    x = np.linspace(0, 1, 64)
    smooth = np.stack([x[None, :] * np.ones((48, 1)), x[:48, None] * np.ones((1, 64)), np.full((48, 64), 0.5), np.ones((48, 64))], axis=2)
    for data, pixel_format, expected in ((smooth[..., :3], P.rgb, P.rgb), (smooth, P.rgba, P.rgb), (smooth[..., 0], P.y, P.y), (smooth[..., ::3], P.ya, P.y)):
        b = B((255 * data).astype(np.uint8), pixel_format)
        b.write(tmp_path / "a.jpg")
        read = B(tmp_path / "a.jpg")
        assert read.pixel_format == expected and read.srgb_gamma
        assert np.abs(np.array(read).astype(int) - np.array(b.convert(expected))).max() <= 4
    B(smooth.astype(np.float32)).write(tmp_path / "low.jpeg", quality=5)
    B(smooth.astype(np.float32)).write(tmp_path / "high.jpeg", quality=95)
    assert (tmp_path / "low.jpeg").stat().st_size < (tmp_path / "high.jpeg").stat().st_size
    monkeypatch.setitem(sys.modules, "PIL", None)
    with pytest.raises(ImportError, match="'.*a.jpg' cannot be read: a JPEG file needs Pillow, which is not installed: pip install pillow"):
        B(tmp_path / "a.jpg")
    with pytest.raises(ImportError, match="pip install pillow"):
        B(smooth.astype(np.float32)).write(tmp_path / "b.jpg")


def test_interlaced_png_files(tmp_path):
    """Pillow reads interlaced PNG files of 8 bits; those of 16 bits are refused, since Pillow would drop half of their bits."""
    pytest.importorskip("PIL.Image", reason="Pillow is not installed")

    def png(depth, rows):
        chunks = (b"IHDR", struct.pack(">IIBBBBB", 1, 1, depth, 0, 0, 0, 1)), (b"IDAT", zlib.compress(rows)), (b"IEND", b"")
        return b"\x89PNG\r\n\x1a\n" + b"".join(struct.pack(">I", len(b)) + k + b + struct.pack(">I", zlib.crc32(k + b)) for k, b in chunks)

    (tmp_path / "a.png").write_bytes(png(8, b"\0\x55"))
    assert np.array(B(tmp_path / "a.png")).tolist() == [[0x55]]
    (tmp_path / "b.png").write_bytes(png(16, b"\0\x55\x66"))
    with pytest.raises(RuntimeError, match="interlaced files with 16 bits"):
        B(tmp_path / "b.png")


def test_openexr_reads_what_is_written_here_and_writes_what_is_read(tmp_path, monkeypatch):
    """All lossless compressions and tiles are read and written by the package OpenEXR; without it an error says what to install."""
    exr = pytest.importorskip("OpenEXR", reason="OpenEXR is not installed")
    data = picture(np.float16, 4, 37, 21)
    for dtype in ("float16", "float32", "uint32"):
        for quality in (-1, 0):
            B(data.astype(dtype)).write(tmp_path / "a.exr", quality=quality)
            with exr.File(str(tmp_path / "a.exr"), separate_channels=True) as file:
                assert all(np.array_equal(file.channels()[n].pixels, data[..., i].astype(dtype)) for i, n in enumerate("RGBA"))
    header = {"type": exr.scanlineimage}
    for compression in ("NO", "RLE", "ZIPS", "ZIP", "PIZ"):
        header["compression"] = getattr(exr, compression + "_COMPRESSION")
        for dtype in ("float16", "float32", "uint32"):
            channels = {n: np.ascontiguousarray(data[..., i].astype(dtype)) for i, n in enumerate("RGBA")}
            with exr.File(header, channels) as file:
                file.write(str(tmp_path / "b.exr"))
            assert B(tmp_path / "b.exr") == B(data.astype(dtype)), (compression, dtype)
    monkeypatch.setitem(sys.modules, "OpenEXR", None)
    with pytest.raises(ImportError, match="the compression PIZ needs the package OpenEXR 3.3 or later, which is not installed: pip install OpenEXR"):
        B(tmp_path / "b.exr")


# >>DataStruct


def test_fields_of_a_struct_are_aligned_unless_packed():
    def fill(s):
        return s.append("a", T.uint8).append("b", T.float32).append("c", T.int16, F.normalized, 0.5)

    s, p = fill(spy.DataStruct()), fill(spy.DataStruct(pack=True))
    assert [f.offset for f in s] == [0, 4, 8] and (s.size, s.alignment, len(s)) == (12, 4, 3)
    assert [f.offset for f in p] == [0, 1, 5] and (p.size, p.alignment) == (7, 1)
    assert (s[2].name, s.field("c").default_value, s.field("c").flags, s.field("b").size) == ("c", 0.5, F.normalized, 4)
    assert s.has_field("a") and not s.has_field("d") and s == fill(spy.DataStruct()) and s != p and s != 3
    assert s != fill(spy.DataStruct(byte_order=spy.DataStruct.ByteOrder.big_endian))
    assert spy.DataStruct().byte_order == spy.DataStruct.ByteOrder[sys.byteorder + "_endian"]
    assert (spy.DataStruct().size, spy.DataStruct().alignment, len(spy.DataStruct())) == (0, 1, 0)
    copy = spy.DataStruct().append(s.field("c"))
    assert copy[0].offset == 0 and copy[0].default_value == 0.5 and s[2].offset == 8 and s[-1] == s[2]
    assert "c" in repr(s) and "int16" in repr(s[2])


def test_types_of_fields_know_what_they_are():
    for t in T:
        dtype = np.dtype(t.name)
        assert spy.DataStruct.type_size(t) == dtype.itemsize and spy.DataStruct.is_float(t) == (dtype.kind == "f") == (not spy.DataStruct.is_integer(t))
        assert spy.DataStruct.is_unsigned(t) == (dtype.kind == "u") == (not spy.DataStruct.is_signed(t))
        info = np.finfo(dtype) if dtype.kind == "f" else np.iinfo(dtype)
        assert spy.DataStruct.type_range(t) == (float(info.min), float(info.max))
        f = spy.DataStruct().append("x", t)[0]
        assert (f.is_float(), f.is_integer(), f.is_signed(), f.is_unsigned()) == (dtype.kind == "f", dtype.kind != "f", dtype.kind != "u", dtype.kind == "u")


def structure(*fields, **options):
    s = spy.DataStruct(**options)
    for field in fields:
        s.append(*field)
    return s


def test_records_convert_by_the_names_of_their_fields():
    """Fields of records may be in another order, of another type, or missing with a default; padding is 0."""
    source = structure(("a", T.uint8), ("b", T.float32), ("c", T.int16))
    target = structure(("c", T.float64), ("a", T.uint16), ("d", T.float32, F.default, 2.5))
    records = np.zeros(5, np.dtype({"names": list("abc"), "formats": ["u1", "f4", "i2"], "offsets": [0, 4, 8], "itemsize": 12}))
    records["a"], records["b"], records["c"] = np.arange(5) * 60, 1.5, -np.arange(5)
    converter = spy.DataStructConverter(source, target)
    out = np.frombuffer(converter.convert(records.tobytes()), np.dtype({"names": list("cad"), "formats": ["f8", "u2", "f4"], "offsets": [0, 8, 12]}))
    assert out["c"].tolist() == [0, -1, -2, -3, -4] and out["a"].tolist() == [0, 60, 120, 180, 240] and (out["d"] == 2.5).all()
    assert converter.src is source and converter.dst is target and converter.convert(b"") == b""


@pytest.mark.parametrize("source", [t.name for t in T])
@pytest.mark.parametrize("target", [t.name for t in T])
def test_numbers_convert_by_value(source, target):
    """Without flags numbers keep their value: rounded to the nearest integer and clamped to the range."""
    values = random_pixels(source, 50) if np.dtype(source).kind != "f" else (random_pixels(source, 50) * 300 - 50).astype(source)
    got = np.frombuffer(spy.DataStructConverter(structure(("x", T[source])), structure(("x", T[target]))).convert(values.tobytes()), target)
    if np.dtype(target).kind == "f":
        with np.errstate(over="ignore"):
            assert np.array_equal(got, values.astype(target))
    else:
        info = np.iinfo(target)
        assert got.tolist() == [min(max(int(np.rint(v)) if np.dtype(source).kind == "f" else int(v), int(info.min)), int(info.max)) for v in values]


def test_normalized_and_srgb_fields_convert():
    every = np.arange(256, dtype=np.uint8)
    plain, normalized, srgb = ((("x", T.uint8, flags),) for flags in (F.none, F.normalized, F.normalized | F.srgb_gamma))

    def convert(source, target, values, dtype):
        return np.frombuffer(spy.DataStructConverter(structure(*source), structure(*target)).convert(values.tobytes()), dtype)

    real = (("x", T.float32),)
    assert np.allclose(convert(normalized, real, every, "f4"), every / 255) and np.allclose(convert(plain, real, every, "f4"), every)
    linear = convert(srgb, real, every, "f4")
    assert np.allclose(linear, to_linear(every / 255), atol=1e-7) and np.array_equal(convert(real, srgb, linear, "u1"), every)
    assert np.array_equal(convert(normalized, (("x", T.uint16, F.normalized),), every, "u2"), every * np.uint16(257))
    assert convert((("x", T.int8, F.normalized),), real, np.array([-128, -127, 127], np.int8), "f4").tolist() == [-1, -1, 1]
    assert convert(real, normalized, np.array([-1, 2, np.nan, np.inf, -np.inf], np.float32), "u1").tolist() == [0, 255, 0, 255, 0]


def test_a_field_may_blend_source_fields_and_bytes_may_be_swapped():
    order = spy.DataStruct.ByteOrder
    source = structure(("r", T.float32), ("g", T.float32), byte_order=order.big_endian)
    target = structure(("y", T.float32, F.none, 0.0, [(0.25, "r"), (0.75, "g")]), ("g", T.uint16), byte_order=order.big_endian)
    out = spy.DataStructConverter(source, target).convert(struct.pack(">ffff", 4, 8, 1, 1))
    assert struct.unpack(">fHxxfHxx", out) == (7, 8, 1, 1)
    swap = spy.DataStructConverter(structure(("x", T.int32), byte_order=order.little_endian), structure(("x", T.int32), byte_order=order.big_endian))
    assert swap.convert(struct.pack("<ii", 5, -7)) == struct.pack(">ii", 5, -7)


@pytest.mark.parametrize("call, error, text", [
    (lambda: spy.DataStruct().append("a", T.int8).append("a", T.int8), ValueError, "there is a field 'a' already"),
    (lambda: spy.DataStruct().append(3, T.int8), TypeError, "'name'"),
    (lambda: structure(("a", T.int8)).field("b"), KeyError, "no field 'b'; its fields are: a"),
    (lambda: structure(("a", T.int8)).field("b"), RuntimeError, "no field"),
    (lambda: structure(("a", T.int8))[1], IndexError, "has 1 fields"),
    (lambda: spy.DataStructConverter(structure(("a", T.int8)), structure(("b", T.int8))), RuntimeError, "no field 'b'"),
    (lambda: spy.DataStructConverter(structure(("a", T.int8)), structure(("b", T.int8, 0, 0, [(1, "c")]))), ValueError, "no field 'c', which 'b'"),
    (lambda: spy.DataStructConverter(structure(("a", T.int16)), structure(("a", T.int8))).convert(b"123"), ValueError, "multiple of 2 bytes.*got 3"),
    (lambda: spy.DataStructConverter(1, spy.DataStruct()), TypeError, "'src'"),
])
def test_bad_input_of_structs_is_named(call, error, text):
    with pytest.raises(error, match=text):
        call()


# >>textures of bitmaps


def options(**kwargs):
    return spy.TextureLoader.Options(kwargs)


@pytest.mark.parametrize("kind, pixel_format, given, expected", [
    ("uint8", P.rgba, {}, "rgba8_unorm_srgb"), ("uint8", P.rgb, {}, "rgba8_unorm_srgb"), ("uint8", P.y, {}, "r8_unorm"), ("uint8", P.rg, {}, "rg8_unorm"),
    ("uint8", P.rgba, {"load_as_srgb": False}, "rgba8_unorm"), ("uint8", P.rgba, {"load_as_normalized": False}, "rgba8_unorm_srgb"),
    ("uint8", P.rgba, {"load_as_normalized": False, "load_as_srgb": False}, "rgba8_uint"),
    ("uint8", P.ya, {}, "rgba8_unorm_srgb"), ("uint8", P.ya, {"ya_handling": spy.YAHandling.preserve_as_rg}, "rg8_unorm"),
    ("uint16", P.rgb, {}, "rgba16_unorm"), ("uint16", P.r, {"load_as_normalized": False}, "r16_uint"), ("int8", P.rgba, {}, "rgba8_snorm"),
    ("int16", P.rg, {"load_as_normalized": False}, "rg16_sint"), ("uint32", P.rgba, {}, "rgba32_uint"), ("int32", P.r, {}, "r32_sint"),
    ("float16", P.rgb, {}, "rgba16_float"), ("float32", P.rgb, {}, "rgba32_float"), ("float32", P.rgb, {"extend_alpha": False}, "rgb32_float"),
    ("float64", P.y, {}, "r32_float"), ("uint64", P.r, {}, "r64_uint"),
])
def test_a_bitmap_has_a_format_as_a_texture(kind, pixel_format, given, expected):
    """A texture of a bitmap has a normalized format for integers and an sRGB format for uint8 colors, unless the options say otherwise;
    rgb gets an alpha of 1."""
    b = B(random_pixels(kind, 4, 6, CHANNELS[pixel_format]), pixel_format)
    format, pixels = _texture_data(b, options(**given))
    assert format.name == expected and pixels.shape[:2] == (4, 6)
    channels = spy.get_format_info(format).channel_count
    assert pixels.shape == ((4, 6) if channels == 1 else (4, 6, channels))
    assert pixels.nbytes == 24 * spy.get_format_info(format).bytes_per_block
    want = b.convert(P.rgba) if channels == 4 else b
    assert np.array_equal(pixels.reshape(4, 6, -1), np.array(want).reshape(4, 6, -1).astype(pixels.dtype))


def test_bitmaps_that_fit_no_texture_are_refused():
    for data, given, text in ((np.zeros((2, 2, 5), np.uint8), {}, "at most 4 channels, and the bitmap has 5"),
                              (np.zeros((2, 2, 3), np.uint8), {"extend_alpha": False}, "no format has 3 channels of the type uint8; extend_alpha"),
                              (np.zeros((2, 2, 2), np.int64), {"ya_handling": spy.YAHandling.preserve_as_rg}, "no format has 2 channels of the type int64; Bitmap.convert"),
                              (np.zeros((0, 2), np.uint8), {}, "no pixels")):
        with pytest.raises(ValueError, match=text):
            _texture_data(B(data), options(**given))


class Recorder:
    """Stands for a device and notes the textures that the loader asks for."""

    def __init__(self):
        self.calls = []

    def create_texture(self, **kwargs):
        self.calls.append(kwargs)
        return self

    def copy_from_numpy(self, data, layer=0, mip=0):
        self.calls.append((data.shape, layer, mip))

    def create_command_encoder(self):
        return self

    def generate_mips(self, texture, layer=0):
        self.calls.append(("mips", layer))

    def finish(self):
        return "commands"

    def submit_command_buffer(self, commands):
        self.calls.append(commands)


def test_the_loader_asks_for_textures_of_bitmaps_and_files(tmp_path):
    """The loader's options are an Options object, a dict or None, and a list of them for several textures."""
    data = [random_pixels(np.uint8, 4, 6, 4, seed=i) for i in range(3)]
    for i, d in enumerate(data):
        B(d).write(tmp_path / "{}.png".format(i))
    paths = [tmp_path / "{}.png".format(i) for i in range(3)]

    def calls(method, *args, **kwargs):
        device = Recorder()
        getattr(spy.TextureLoader(device), method)(*args, **kwargs)
        return device.calls

    for one in (calls("load_texture", B(data[0])), calls("load_texture", paths[0]), calls("load_texture", path=str(paths[0])), calls("load_texture", bitmap=B(data[0]))):
        assert np.array_equal(one[0].pop("data"), data[0])
        assert one == [dict(type=spy.TextureType.texture_2d, format=spy.Format.rgba8_unorm_srgb, width=6, height=4, mip_count=1,
                            usage=spy.TextureUsage.shader_resource)]
    usage = spy.TextureUsage.shader_resource | spy.TextureUsage.unordered_access
    assert calls("load_texture", B(data[0]), {"usage": usage, "allocate_mips": True, "load_as_srgb": False})[0]["mip_count"] == spy.ALL_MIPS
    mips = calls("load_texture", B(data[0]), spy.TextureLoader.Options({"generate_mips": True}))
    assert mips[0]["mip_count"] == spy.ALL_MIPS and mips[0]["usage"] & spy.TextureUsage.render_target and mips[1:] == [("mips", 0), "commands"]
    assert [c["format"].name for c in calls("load_textures", paths, [None, {"load_as_srgb": False}, {"load_as_normalized": False}])] == [
        "rgba8_unorm_srgb", "rgba8_unorm", "rgba8_unorm_srgb"]
    assert len(calls("load_textures", bitmaps=[B(d) for d in data], options={"load_as_srgb": False})) == 3
    array = calls("load_texture_array", paths)
    assert array[0]["type"] == spy.TextureType.texture_2d_array and array[0]["array_length"] == 3 and array[1:] == [((4, 6, 4), i, 0) for i in range(3)]
    for method, args, error, text in (("load_textures", (paths, [None]), ValueError, "expected 3, one for each"), ("load_textures", (paths[0],), TypeError, "a list"),
                                      ("load_texture", (B(data[0]), 3), TypeError, "'options'"), ("load_texture", (3,), TypeError, "image 0"),
                                      ("load_texture_array", ([],), ValueError, "at least one"), ("load_texture", (), TypeError, "bitmap or path"),
                                      ("load_texture", (B(data[0]), None, 1), TypeError, "expected"),
                                      ("load_texture_array", ([B(data[0]), B(data[1][:2])],), ValueError, "image 1 is 6 x 2.*image 0 is 6 x 4")):
        with pytest.raises(error, match=text):
            calls(method, *args)


def test_a_bitmap_shows_in_a_notebook_as_png(tmp_path):
    from slangpy.core.jupyter import format_bitmap_png

    b = B(random_pixels(np.uint8, 4, 6, 3))
    (tmp_path / "a.png").write_bytes(format_bitmap_png(b))
    assert B(tmp_path / "a.png") == b and b._repr_png_() == format_bitmap_png(b)


def test_options_have_their_defaults():
    o = spy.TextureLoader.Options()
    assert (o.load_as_normalized, o.load_as_srgb, o.extend_alpha, o.allocate_mips, o.generate_mips) == (True, True, True, False, False)
    assert o.usage == spy.TextureUsage.shader_resource and o.ya_handling == spy.YAHandling.expand_to_rgba
    o.load_as_srgb = False
    assert spy.TextureLoader.Options({"load_as_srgb": False}) == o
    with pytest.raises(TypeError, match="nothing"):
        spy.TextureLoader.Options({"nothing": 1})


# >>descriptions of textures


def test_descriptions_of_textures_have_their_defaults_and_dict_forms():
    r = spy.SubresourceRange()
    assert (r.layer, r.layer_count, r.mip, r.mip_count) == (0, spy.ALL_LAYERS, 0, spy.ALL_MIPS)
    view = spy.TextureViewDesc({"format": spy.Format.r8_unorm, "subresource_range": {"mip": 2}})
    assert view.subresource_range.mip == 2 and view.subresource_range.mip_count == spy.ALL_MIPS and view.aspect == spy.TextureAspect.all
    d = spy.TextureDesc({"type": spy.TextureType.texture_3d, "depth": 3})
    assert (d.type, d.depth, d.width, d.mip_count, d.sample_count, d.memory_type, d.usage) == (
        spy.TextureType.texture_3d, 3, 1, 1, 1, spy.MemoryType.device_local, spy.TextureUsage.none)
    s = spy.SamplerDesc({"border_color": [0, 0.5, 1, 1], "min_filter": spy.TextureFilteringMode.point})
    assert s.border_color == spy.float4(0, 0.5, 1, 1) and s.mag_filter == spy.TextureFilteringMode.linear and (s.min_lod, s.max_lod) == (-1000, 1000)
    assert spy.SamplerDesc().border_color is not spy.SamplerDesc().border_color and spy.SamplerDesc().comparison_func == spy.ComparisonFunc.never
    assert spy.SubresourceLayout().size == spy.uint3(0) and spy.SubresourceLayout().row_pitch == 0


def test_images_cost_nothing_before_they_are_used():
    """`import slangpy` loads neither the modules of images nor Pillow, and making a Bitmap does not load Pillow."""
    code = ("import sys, slangpy as spy; a = [m for m in sys.modules if m.startswith('PIL') or m.endswith(('.bitmap', '.image_files', '.textures'))]; "
            "spy.Bitmap(spy.Bitmap.PixelFormat.y, spy.DataStruct.Type.uint8, 2, 2); print(a, 'PIL' in sys.modules, 'slangpy.bitmap' in sys.modules)")
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60).stdout.strip() == "[] False True"

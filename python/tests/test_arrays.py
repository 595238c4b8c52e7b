"""Arrays of other libraries as arguments and as sources of tensors, compared with numpy. Features C3, T1, T3, B6."""
import array
import ctypes
import gc
import sys
import tracemalloc

import numpy as np
import pytest

import slangpy as spy
from conftest import from_dlpack

SOURCE = """
import slangpy;
struct Inner { float3 a; int b; };
struct Mixed { float3 position; uint8_t kind; Inner inner[2]; float2x3 m; bool flag; double d; int64_t l; };
struct Pixel { float r; float g; float b; };
float twice(float x) { return 2 * x; }
double twice_double(double x) { return 2 * x; }
int next_int(int x) { return x + 1; }
uint64_t next_long(uint64_t x) { return x + 1; }
float sum3(float3 v) { return v.x + 2 * v.y + 4 * v.z; }
float trace2(float2x2 m) { return m[0][0] + 3 * m[0][1] + 5 * m[1][0] + 7 * m[1][1]; }
float sum_array(float v[4]) { return v[0] + 2 * v[1] + 4 * v[2] + 8 * v[3]; }
bool negate(bool b) { return !b; }
void store(float x, out float result) { result = 2 * x; }
void grow(inout float x) { x += 1; }
void grow_int(inout int x) { x += 1; }
void brighten(inout Pixel p, float f) { p.r *= f; p.g += f; p.b -= f; }
float luma(Pixel p) { return p.r + 2 * p.g + 4 * p.b; }
float from_mixed(Mixed m) { return m.position.y + m.kind + m.inner[1].a.z + m.inner[0].b + m.m[1][2] + float(m.d) + m.l; }
"""

DTYPES = ["?", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f2", "f4", "f8"]


@pytest.fixture(scope="module")
def module(load):
    return load(SOURCE)


def sample(rng, shape, dtype):
    dtype = np.dtype(dtype)
    if dtype.kind == "b":
        return rng.integers(0, 2, shape).astype(bool)
    if dtype.kind == "f":
        return np.asarray(rng.normal(size=shape) * 10).astype(dtype)
    info = np.iinfo(dtype)
    return np.asarray(rng.integers(info.min, info.max, shape, dtype=dtype, endpoint=True)).astype(dtype)


def unaligned(a):
    memory = bytearray(a.nbytes + 1)
    moved = np.frombuffer(memory, a.dtype, a.size, offset=1).reshape(a.shape)
    moved[...] = a
    return moved


def read_only(a):
    a = a.copy()
    a.flags.writeable = False
    return a


LAYOUTS = {
    "row-major": lambda a: a,
    "column-major": np.asfortranarray,
    "reversed": lambda a: a[::-1, :, ::-1],
    "steps": lambda a: np.repeat(a, 3, axis=2)[:, ::-1, ::3],
    "transposed": lambda a: a.transpose(2, 0, 1),
    "broadcast": lambda a: np.broadcast_to(a, (2,) + a.shape),
    "read-only": read_only,
    "other byte order": lambda a: a.astype(a.dtype.newbyteorder(">")),
    "other byte order, reversed": lambda a: a.astype(a.dtype.newbyteorder(">"))[::-1],
    "unaligned": unaligned,
}


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", DTYPES)
def test_from_numpy_of_each_type_and_layout(device, dtype, layout):
    """An array becomes a tensor and comes back unchanged, whatever its strides and byte order. (Features B2, B3, B6.)"""
    a = LAYOUTS[layout](sample(np.random.default_rng(len(layout)), (3, 4, 5), dtype))
    back = spy.Tensor.from_numpy(device, a).to_numpy()
    assert back.dtype == a.dtype.newbyteorder("=") and back.shape == a.shape
    np.testing.assert_array_equal(back, a)


def random_view(rng, a):
    """Returns a view of an array with random steps, starts and order of dimensions."""
    index = tuple(slice(None, None, int(rng.choice([1, 1, 2, -1, -2]))) for _ in range(a.ndim))
    return a[index].transpose(rng.permutation(a.ndim))


@pytest.mark.parametrize("seed", range(30))
def test_random_views(device, seed):
    """Arrays of random ranks, sizes (also 0), strides and types are added correctly. (Features C3, B2.)"""
    rng = np.random.default_rng(seed)
    shape = tuple(int(n) for n in rng.integers(0 if seed % 7 == 0 else 1, 5, rng.integers(0, 9)))
    dtype = np.dtype(str(rng.choice(DTYPES))).newbyteorder(str(rng.choice(["<", ">"])))
    a = random_view(rng, sample(rng, shape, dtype.newbyteorder("=")).astype(dtype))
    tensor = spy.Tensor.from_numpy(device, a)
    assert tensor.shape == a.shape, "seed {}".format(seed)
    np.testing.assert_array_equal(tensor.to_numpy(), a, "seed {}, {} {}".format(seed, shape, dtype))


@pytest.mark.parametrize("dtype", ["?", "i1", "u1", "i2", "u2", "i4", "u4", "f2", "f4", "f8", ">f4", ">i2"])
def test_number_types_convert_to_the_parameter(module, dtype):
    """float64 (and others) into a float parameter are converted on upload. (Features C3, P16.)"""
    rng = np.random.default_rng(5)
    a = sample(rng, (4, 3), np.dtype(dtype).newbyteorder("=")).astype(dtype)
    if a.dtype.itemsize == 4 and a.dtype.kind in "iu":
        a //= 1000  # floats hold the numbers below 1000 exactly
    result = module.twice(a, _result="numpy")
    np.testing.assert_allclose(result, 2 * a.astype(np.float64).astype(np.float32), rtol=1e-6)


def test_double_parameter_keeps_all_digits(module):
    a = np.random.default_rng(1).random((5, 2))
    np.testing.assert_array_equal(module.twice_double(a[::-1], _result="numpy"), 2 * a[::-1])


@pytest.mark.parametrize("name, inner", [("sum3", (3,)), ("trace2", (2, 2)), ("sum_array", (4,))])
@pytest.mark.parametrize("seed", range(3))
def test_trailing_dimensions_feed_vectors_matrices_arrays(module, name, inner, seed):
    """The last dimensions of an array fill vectors, matrices and arrays of Slang. (Features C3, V13.)"""
    rng = np.random.default_rng(seed)
    outer = tuple(int(n) for n in rng.integers(1, 6, rng.integers(1, 4)))
    a = rng.random((2 * outer[0],) + outer[1:] + inner).astype("f4")[::-2]
    weights = np.array([1, 2, 4, 8] if name != "trace2" else [1, 3, 5, 7], "f4")[: int(np.prod(inner))]
    expected = a.reshape(outer + (-1,)) @ weights
    np.testing.assert_allclose(module[name](a, _result="numpy"), expected, rtol=1e-5)


@pytest.mark.parametrize("value, expected", [
    (np.float32(3), 6), (np.float64(3), 6), (np.int16(3), 6), (np.array(3.0), 6), (np.array(3, ">f4"), 6), (np.float16(1.5), 3),
    (np.uint8(200), 400), (np.bool_(True), 2),
])
def test_numpy_scalars_and_arrays_of_rank_0(module, value, expected):
    assert module.twice(value) == expected


def test_empty_arrays(module):
    for shape in [(0,), (3, 0), (0, 5)]:
        result = module.twice(np.zeros(shape, "f4"), _result="numpy")
        assert result.shape == shape


# >>the buffer protocol beyond numpy

class Point(ctypes.Structure):
    _fields_ = [("b", ctypes.c_float), ("r", ctypes.c_double), ("g", ctypes.c_int16)]


def buffers():
    floats = array.array("f", [1, 2, 3, 4])
    matrix = (ctypes.c_int * 3 * 2)((1, 2, 3), (4, 5, 6))
    big = (ctypes.c_int.__ctype_be__ * 3)(1, 2, 3)
    return {
        "bytes": (b"\x01\x02\xff", [1, 2, 255]),
        "bytearray": (bytearray(b"\x01\x02\xff"), [1, 2, 255]),
        "memoryview": (memoryview(b"\x01\x02\xff\x00")[::2], [1, 255]),
        "memoryview, cast": (memoryview(bytes(range(6))).cast("B", (2, 3)), [[0, 1, 2], [3, 4, 5]]),
        "array.array f": (floats, [1, 2, 3, 4]),
        "array.array d": (array.array("d", [1.5, -2]), [1.5, -2]),
        "array.array h": (array.array("h", [-5, 6]), [-5, 6]),
        "array.array L": (array.array("L", [5, 6]), [5, 6]),
        "array.array, reversed": (memoryview(floats)[::-1], [4, 3, 2, 1]),
        "ctypes": ((ctypes.c_float * 2)(1, 2), [1, 2]),
        "ctypes, 2 dimensions": (matrix, [[1, 2, 3], [4, 5, 6]]),
        "ctypes, big-endian": (big, [1, 2, 3]),
        "ctypes bool": ((ctypes.c_bool * 2)(True, False), [1, 0]),
    }


@pytest.mark.parametrize("kind", buffers())
def test_any_buffer_is_an_array(device, module, kind):
    """Any object with the buffer protocol can be an argument and a tensor's contents."""
    value, expected = buffers()[kind]
    expected = np.array(expected, "f4")
    np.testing.assert_array_equal(spy.Tensor.from_numpy(device, value).to_numpy(), expected)
    if kind == "bytes":  # bytes are refused as an argument until they are viewed as numbers
        with pytest.raises(TypeError, match="twice: argument 'x': Unsupported type <class 'bytes'>: numpy.frombuffer"):
            module.twice(value)
        value = np.frombuffer(value, np.uint8)
    np.testing.assert_array_equal(module.twice(value, _result="numpy"), 2 * expected)


@pytest.mark.filterwarnings("ignore:A builtin ctypes object")
def test_ctypes_structs_are_struct_arguments(module):
    points = (Point * 2)(Point(3, 1, 2), Point(6, 4, 5))
    assert module.luma(points, _result="numpy").tolist() == [17, 38]
    with pytest.raises(TypeError, match="'p.r': expected float, got double.*double is not converted to float|what is read and written is not converted"):
        module.brighten(points, 2.0)
    assert [(p.r, p.g, p.b) for p in points] == [(1, 2, 3), (4, 5, 6)]


@pytest.mark.filterwarnings("ignore:A builtin ctypes object")
def test_ctypes_structs_fill_a_struct_by_names(device, module):
    """The order, packing and types of the fields may differ from those of the Slang struct. (Feature B6.)"""
    points = (Point * 3)(Point(3, 1, 2), Point(6, 4, 5), Point(9, 7, 8))
    tensor = spy.Tensor.from_numpy(device, points, dtype=module.Pixel)
    assert tensor.to_numpy(structured=True).tolist() == [(1, 2, 3), (4, 5, 6), (7, 8, 9)]


@pytest.mark.parametrize("way", ["__array__", "__array_interface__"])
def test_objects_that_numpy_reads(module, way):
    a = np.arange(4, dtype="f4")
    holder = type("Holder", (), {})()
    if way == "__array__":
        type(holder).__array__ = lambda self, dtype=None, copy=None: a
    else:
        holder.__array_interface__ = a.__array_interface__
    np.testing.assert_array_equal(module.twice(holder, _result="numpy"), 2 * a)


# >>arrays that a call writes

OUT = {
    "row-major": lambda: np.zeros((3, 4), "f4"),
    "column-major": lambda: np.zeros((3, 4), "f4", order="F"),
    "steps": lambda: np.zeros((6, 8), "f4")[::2, ::-2],
    "transposed": lambda: np.zeros((4, 3), "f4").T,
    "other byte order": lambda: np.zeros((3, 4), ">f4"),
    "other byte order, steps": lambda: np.zeros((3, 8), ">f4")[:, ::2],
    "unaligned": lambda: unaligned(np.zeros((3, 4), "f4")),
    "memoryview": lambda: memoryview(bytearray(48)).cast("f", (3, 4)),
    "ctypes": lambda: (ctypes.c_float * 4 * 3)(),
}


@pytest.mark.parametrize("kind", OUT)
def test_out_arrays_are_filled_whatever_their_layout(module, kind):
    """A writable array that is passed to an out parameter is filled when the call returns; bytes between its elements stay as they were."""
    x = np.random.default_rng(3).random((3, 4)).astype("f4")
    out = OUT[kind]()
    module.store(x, out)
    np.testing.assert_array_equal(np.asarray(out), 2 * x)
    if getattr(out, "base", None) is not None and kind == "steps":
        assert np.count_nonzero(out.base) == x.size


@pytest.mark.parametrize("kind", OUT)
def test_inout_arrays_are_changed_in_place(module, kind):
    out = OUT[kind]()
    np.asarray(out)[...] = np.arange(12).reshape(3, 4)
    module.grow(out)
    np.testing.assert_array_equal(np.asarray(out), np.arange(12).reshape(3, 4) + 1)


def test_structured_arrays_are_changed_in_place(module):
    """An inout struct parameter writes the fields of a structured array. (Feature B6.)"""
    pixels = np.zeros(4, [("g", ">f4"), ("pad", "u1"), ("r", "f4"), ("b", "f4")])[["g", "r", "b"]]
    pixels["r"], pixels["g"], pixels["b"] = 1, [2, 3, 4, 5], 10
    module.brighten(pixels, 2.0)
    np.testing.assert_array_equal(pixels["r"], 2)
    np.testing.assert_array_equal(pixels["g"], [4, 5, 6, 7])
    np.testing.assert_array_equal(pixels["b"], 8)


def test_in_parameters_leave_arrays_alone(module):
    a = np.arange(24, dtype=">f4").reshape(4, 6)[::-1, ::2]
    before = a.tobytes()
    module.twice(a)
    assert a.tobytes() == before


def test_many_strided_arrays_in_one_call(load):
    """More arrays than a call can write back are still read."""
    names = ["a%d" % i for i in range(20)]
    module = load("float many(%s) { return %s; }" % (", ".join("float " + n for n in names), " + ".join(names)))
    arrays = [np.arange(6, dtype="f4")[::2] + i for i in range(20)]
    strided = [np.repeat(a, 2)[::2] for a in arrays]
    np.testing.assert_array_equal(module.many(*strided, _result="numpy"), np.sum(arrays, axis=0))


# >>structured arrays in

def mixed_dtype(order="<"):
    inner = np.dtype([("b", order + "i8"), ("a", order + "f8", (3,))])
    return np.dtype([("l", "i1"), ("inner", inner, (2,)), ("kind", order + "i4"), ("m", order + "f2", (2, 3)), ("flag", "?"),
                     ("d", order + "f4"), ("position", order + "f8", (3,))])


@pytest.mark.parametrize("order", ["<", ">"])
@pytest.mark.parametrize("step", [1, -2])
def test_structured_arrays_by_field_names(device, module, order, step):
    """Nested structs, arrays of structs, other types and order; the kernel and to_numpy() agree with numpy. (Feature B6.)"""
    rng = np.random.default_rng(8)
    a = np.zeros((3, 8), mixed_dtype(order))[:, ::step]
    a["l"], a["kind"], a["flag"] = rng.integers(-9, 9, a.shape), rng.integers(0, 255, a.shape), rng.integers(0, 2, a.shape)
    a["m"], a["d"], a["position"] = rng.random(a.shape + (2, 3)), rng.random(a.shape), rng.random(a.shape + (3,))
    a["inner"]["a"], a["inner"]["b"] = rng.random(a.shape + (2, 3)), rng.integers(-99, 99, a.shape + (2,))
    tensor = spy.Tensor.from_numpy(device, a, dtype=module.Mixed)
    assert tensor.shape == a.shape
    back = tensor.to_numpy(structured=True)
    for name in ("l", "kind", "flag", "d"):
        np.testing.assert_array_equal(back[name], a[name])
    for x, y in [(back["m"], a["m"]), (back["position"], a["position"]), (back["inner"]["a"], a["inner"]["a"]),
                 (back["inner"]["b"], a["inner"]["b"])]:
        np.testing.assert_allclose(x, y.astype("f8"), rtol=1e-6)
    expected = (a["position"][..., 1] + a["kind"] + a["inner"]["a"][..., 1, 2] + a["inner"]["b"][..., 0] + a["m"][..., 1, 2] + a["d"] + a["l"])
    np.testing.assert_allclose(module.from_mixed(tensor, _result="numpy"), expected, rtol=1e-4, atol=1e-3)


def test_structured_array_as_an_argument(module):
    """A structured numpy array is passed by the names of its fields, whatever their order and byte order. (Features B6, C5.)"""
    pixels = np.zeros((2, 3), [("b", "f8"), ("r", "f4"), ("g", ">i2")])
    pixels["r"], pixels["g"], pixels["b"] = 1, 2, np.arange(6).reshape(2, 3)
    np.testing.assert_allclose(module.luma(pixels, _result="numpy"), 5 + 4 * pixels["b"])


def test_fields_out_of_order(device, module):
    """Structured arrays whose fields are not in the order of their offsets, for which numpy exports no buffer, are arguments too."""
    a = np.array([(1, 2, 3), (4, 5, 6)], [("r", "f4"), ("g", "f4"), ("b", "f4")])[["b", "r", "g"]]
    np.testing.assert_array_equal(module.luma(a, _result="numpy"), [17, 38])
    module.brighten(a, 2.0)
    assert [tuple(p) for p in a[["r", "g", "b"]]] == [(2, 4, 1), (8, 7, 4)]
    assert spy.Tensor.from_numpy(device, a, dtype=module.Pixel).to_numpy(structured=True).tolist() == [(2, 4, 1), (8, 7, 4)]


def test_soa_dict_fills_structs(device, module):
    tensor = spy.Tensor.zeros(device, (3,), module.Pixel)
    tensor.copy_from_numpy({"g": np.array([4, 5, 6]), "r": np.array([1., 2, 3]), "b": array.array("f", [7, 8, 9])})
    assert tensor.to_numpy(structured=True).tolist() == [(1, 4, 7), (2, 5, 8), (3, 6, 9)]


# >>refusals

class NoWay:
    __cuda_array_interface__ = {"shape": (3,), "typestr": "<f4", "data": (1, False), "version": 3}


def refused():
    wide = np.zeros((1,) * 9, "f4")
    return [
        (np.array([object()]), TypeError, "Unsupported type: an array of Python objects"),
        (np.zeros(2, "c8"), TypeError, "Unsupported type: an array of complex numbers"),
        (np.array(["a", "bc"]), TypeError, "Unsupported type: an array of text"),
        (np.array([b"a", b"bc"]), TypeError, "Unsupported type: an array of text"),
        (np.zeros(2, "M8[s]"), TypeError, "Unsupported type"),
        (np.zeros(2, "g"), TypeError, "Unsupported type: an array of long doubles"),
        (wide, ValueError, "expected at most 8 dimensions, got 9"),
        (NoWay(), TypeError, "another device's memory"),
        (np.float32, TypeError, "Unsupported type"),
        (type("HasThis", (), {"get_this": lambda self: 5}), TypeError, "Unsupported type"),
    ]


@pytest.mark.parametrize("case", range(len(refused())))
def test_arrays_that_are_refused_by_name(device, module, case):
    value, exception, text = refused()[case]
    with pytest.raises(exception, match=text):
        module.twice(value)
    if not isinstance(value, type):
        with pytest.raises(exception, match="from_numpy.*" + text):
            spy.Tensor.from_numpy(device, value)


@pytest.mark.parametrize("value, function, text", [
    (np.array([2.5]), "next_int", "'x': expected int, got double that does not fit"),
    (np.array([3e9]), "next_int", "'x': expected int, got double that does not fit"),
    (np.array([-1]), "next_long", "'x': expected uint64_t, got int64_t that does not fit"),
])
def test_numbers_that_do_not_fit(module, value, function, text):
    with pytest.raises(ValueError, match=text):
        module[function](value)


def test_read_only_arrays_are_refused_as_outputs(module):
    out = read_only(np.zeros(3, "f4"))
    with pytest.raises(TypeError, match="'result' is an out parameter"):
        module.store(np.ones(3, "f4"), out)
    with pytest.raises(TypeError, match="'result' is an out parameter"):
        module.store(np.ones(12, "f4"), memoryview(bytes(12)))
    assert not out.any()


@pytest.mark.parametrize("data, text", [
    (lambda: np.zeros(3, [("r", "f4"), ("g", "f4")]), "field 'b' of Pixel not specified"),
    (lambda: np.zeros(3, [("r", "f4"), ("g", "f4"), ("b", "f4"), ("a", "f4")]), "Pixel has no field 'a'; expected 'r', 'g', 'b'"),
    (lambda: np.zeros(4, [("r", "f4"), ("g", "f4"), ("b", "f4")]), "field 'r': Shape mismatch: expected 3 numbers, got 4"),
    (lambda: np.zeros(3, [("r", "f4", (2,)), ("g", "f4"), ("b", "f4")]), "Shape mismatch: expected 3 numbers, got 6"),
    (lambda: np.zeros(10, "f4"), "Shape mismatch: expected at most 36 bytes, got 40"),
    (lambda: 5, "expected an array"),
    (lambda: "text", "expected an array"),
    (lambda: {"r": np.zeros(3), "g": np.zeros(3), "b": "no"}, "field 'b': expected an array"),
])
def test_data_that_does_not_fit_a_struct(device, module, data, text):
    tensor = spy.Tensor.full(device, (3,), {"r": 1, "g": 2, "b": 3}, module.Pixel)
    with pytest.raises((TypeError, ValueError, OverflowError), match=text):
        tensor.copy_from_numpy(data())
    assert tensor.to_numpy(structured=True).tolist() == [(1, 2, 3)] * 3


@pytest.mark.parametrize("dtype, value", [("u1", 300), ("u1", -1), ("i1", 128), ("i4", 2.5), ("u4", float("nan")), ("i8", 1e19), ("u8", -1)])
def test_numbers_that_do_not_fit_a_tensor(device, dtype, value):
    """tensor.from_numpy() converts; copy_from_numpy() copies bytes."""
    tensor = spy.Tensor.from_numpy(device, np.array([1, 2, 3], dtype))
    with pytest.raises(OverflowError, match="from_numpy: expected numbers that fit into"):
        tensor.from_numpy(np.array([1, 2, value]))
    assert tensor.to_numpy(structured=True).tolist() == [1, 2, 3]


def test_mixed_structs_take_their_bytes_and_nothing_else(device, module):
    tensor = spy.Tensor.zeros(device, (2,), module.Mixed)
    image = tensor.to_numpy(structured=True)
    image["position"], image["l"] = [1, 2, 3], 9
    tensor.copy_from_numpy(np.frombuffer(image.tobytes(), "u1"))
    assert tensor.to_numpy(structured=True)["position"].tolist() == [[1, 2, 3]] * 2 and tensor.to_numpy(structured=True)["l"].tolist() == [9, 9]
    tensor.copy_from_numpy(np.zeros(image.nbytes // 4, "f4"))
    assert not tensor.to_numpy(structured=True)["position"].any()
    with pytest.raises(ValueError, match="Shape mismatch"):
        tensor.copy_from_numpy(np.zeros(image.nbytes // 4 + 1, "f4"))


# >>DLPack, by a producer of our own

class DLTensor(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("device_type", ctypes.c_int32), ("device_id", ctypes.c_int32), ("ndim", ctypes.c_int32),
                ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16),
                ("shape", ctypes.POINTER(ctypes.c_int64)), ("strides", ctypes.POINTER(ctypes.c_int64)), ("byte_offset", ctypes.c_uint64)]


DELETER = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
DESTRUCTOR = ctypes.PYFUNCTYPE(None, ctypes.c_void_p)


class Legacy(ctypes.Structure):
    _fields_ = [("tensor", DLTensor), ("context", ctypes.c_void_p), ("deleter", DELETER)]


class Versioned(ctypes.Structure):
    _fields_ = [("major", ctypes.c_uint32), ("minor", ctypes.c_uint32), ("context", ctypes.c_void_p), ("deleter", DELETER),
                ("flags", ctypes.c_uint64), ("tensor", DLTensor)]


capsule_new = ctypes.pythonapi.PyCapsule_New
capsule_new.restype, capsule_new.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
capsule_valid = ctypes.pythonapi.PyCapsule_IsValid
capsule_valid.restype, capsule_valid.argtypes = ctypes.c_int, [ctypes.c_void_p, ctypes.c_char_p]
capsule_rename = ctypes.pythonapi.PyCapsule_SetName
capsule_rename.restype, capsule_rename.argtypes = ctypes.c_int, [ctypes.py_object, ctypes.c_char_p]


class Producer:
    """A DLPack producer over a numpy array, which counts exports and deletions."""

    codes = {"i": 0, "u": 1, "f": 2, "b": 6}

    def __init__(self, a, versioned=True, knows_versions=True, **changes):
        self.a, self.versioned, self.knows_versions, self.changes = a, versioned, knows_versions, changes
        self.exports = self.deletions = 0
        self.keep = []

    def make(self, versioned):
        a = self.a
        managed = (Versioned if versioned else Legacy)()
        t = managed.tensor
        offset = self.changes.get("byte_offset", 0)
        t.data = a.__array_interface__["data"][0] - offset
        t.byte_offset, t.device_type, t.ndim, t.lanes = offset, 1, a.ndim, 1
        t.code, t.bits = self.codes[a.dtype.kind], 8 * a.dtype.itemsize
        shape = (ctypes.c_int64 * max(a.ndim, 1))(*a.shape)
        strides = (ctypes.c_int64 * max(a.ndim, 1))(*[s // a.dtype.itemsize for s in a.strides])
        t.shape = ctypes.cast(shape, ctypes.POINTER(ctypes.c_int64))
        if not self.changes.get("no_strides"):
            t.strides = ctypes.cast(strides, ctypes.POINTER(ctypes.c_int64))
        for name in ("device_type", "code", "bits", "lanes", "ndim"):
            if name in self.changes:
                setattr(t, name, self.changes[name])
        if versioned:
            managed.major, managed.flags = self.changes.get("major", 1), self.changes.get("flags", 0)
        if "size0" in self.changes:
            shape[0] = self.changes["size0"]

        def delete(_):
            self.deletions += 1

        def destroy(capsule):
            if capsule_valid(capsule, name):
                managed.deleter(ctypes.addressof(managed))

        name = b"dltensor_versioned" if versioned else b"dltensor"
        managed.deleter = DELETER(delete)
        destructor = DESTRUCTOR(destroy)
        self.keep.append((managed, shape, strides, destructor, name))
        self.exports += 1
        return capsule_new(ctypes.addressof(managed), name, ctypes.cast(destructor, ctypes.c_void_p))

    def __dlpack_device__(self):
        return (self.changes.get("device_type", 1), 0)

    def __dlpack__(self, **keywords):
        if not self.knows_versions and keywords:
            raise TypeError("__dlpack__() got an unexpected keyword argument 'max_version'")
        assert keywords in ({}, {"max_version": (1, 0)})
        return self.make(self.versioned and bool(keywords))


KINDS = {
    "versioned": {},
    "legacy": {"versioned": False},
    "knows no versions": {"knows_versions": False},
    "without strides": {"no_strides": True},
    "read-only": {"flags": 1},
    "with an offset": {"byte_offset": 64},
    "pinned by CUDA": {"device_type": 3},
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("dtype", ["f4", "i8", "?"])
def test_dlpack_producers(device, module, kind, dtype):
    """Any DLPack producer is an argument, and each export is deleted once. (Features T1, T3.)"""
    a = sample(np.random.default_rng(2), (3, 4), dtype)
    producer = Producer(a, **KINDS[kind])
    np.testing.assert_array_equal(spy.Tensor.from_numpy(device, producer).to_numpy(), a)
    if dtype == "f4":
        np.testing.assert_array_equal(module.twice(producer, _result="numpy"), 2 * a)
    gc.collect()
    assert producer.exports == producer.deletions > 0


@pytest.mark.parametrize("seed", range(6))
def test_dlpack_strides(device, seed):
    rng = np.random.default_rng(seed)
    a = random_view(rng, sample(rng, (3, 4, 5), "f4"))
    np.testing.assert_array_equal(spy.Tensor.from_numpy(device, Producer(a, versioned=seed % 2 == 0)).to_numpy(), a)


def test_dlpack_rank_0_and_empty(device):
    for a in (np.array(5, "i4"), np.zeros((0, 3), "f4")):
        back = spy.Tensor.from_numpy(device, Producer(a)).to_numpy()
        assert back.shape == a.shape and back.dtype == a.dtype and (back == a).all()


def test_dlpack_bfloat16_becomes_float(device):
    """A bfloat16 is the upper half of a float. (Feature T1.)"""
    values = np.array([1.5, -2.0, 3.0e38, 0.0], "f4")
    halves = (values.view("u4") >> 16).astype("u2")
    back = spy.Tensor.from_numpy(device, Producer(halves, code=4)).to_numpy()
    np.testing.assert_array_equal(back, (halves.astype("u4") << 16).view("f4"))


def test_dlpack_arrays_are_written(module):
    """An out parameter fills a producer's memory, also with strides; read-only memory is refused."""
    x = np.arange(6, dtype="f4").reshape(2, 3)
    for out in (np.zeros((2, 3), "f4"), np.zeros((4, 6), "f4")[::2, ::-2]):
        module.store(x, Producer(out))
        np.testing.assert_array_equal(out, 2 * x)
    out = np.zeros((2, 3), "f4")
    with pytest.raises(TypeError, match="'result' is an out parameter"):
        module.store(x, Producer(out, flags=1))
    assert not out.any()


@pytest.mark.parametrize("changes, text", [
    ({"device_type": 2}, "another device's memory"),
    ({"device_type": 7}, "another device's memory"),
    ({"code": 5}, "DLPack elements of code 5"),
    ({"bits": 4}, "with 4 bits"),
    ({"bits": 128}, "with 128 bits"),
    ({"lanes": 4}, "4 lanes"),
    ({"major": 2}, "DLPack version 2; expected 1"),
    ({"ndim": 9}, "expected at most 8 dimensions, got 9"),
    ({"ndim": -1}, "expected at most 8 dimensions, got -1"),
    ({"size0": -3}, "dimension 0 has the size -3"),
    ({"size0": 2**62}, "dimension 0 has the size"),
])
def test_dlpack_refusals(module, changes, text):
    producer = Producer(np.zeros((2, 3), "f4"), **changes)
    with pytest.raises((TypeError, ValueError), match=text):
        module.twice(producer)
    gc.collect()
    assert producer.exports == producer.deletions


def test_dlpack_capsules(device):
    """A DLPack capsule is an argument until it is consumed."""
    producer = Producer(np.arange(3, dtype="f4"))
    for versioned in (True, False):
        capsule = producer.make(versioned)
        assert spy.Tensor.from_numpy(device, capsule).to_numpy().tolist() == [0, 1, 2]
        name = b"used_dltensor"
        capsule_rename(capsule, name)
        with pytest.raises(TypeError, match="that nobody has consumed, got a capsule named used_dltensor"):
            spy.Tensor.from_numpy(device, capsule)


def test_dlpack_gives_no_capsule(device):
    class Odd:
        def __dlpack__(self, **keywords):
            return 5

    with pytest.raises(TypeError, match="got no capsule"):
        spy.Tensor.from_numpy(device, Odd())


def test_producers_own_errors_arrive(module):
    class Broken:
        def __dlpack__(self, **keywords):
            raise RuntimeError("the producer's own words")

        def __dlpack_device__(self):
            return (1, 0)

    with pytest.raises(RuntimeError, match="the producer's own words"):
        module.twice(Broken())

    class Refusing(Broken):
        def __dlpack__(self, **keywords):
            raise BufferError("cannot export this")

    with pytest.raises(TypeError, match="Unsupported type: cannot export this"):
        module.twice(Refusing())


class FakeTorch(Producer):
    """A stand-in for a torch tensor: it exports nothing while it requires a gradient, and CUDA memory only after cpu()."""

    def __init__(self, a, requires_grad=False, device=1):
        super().__init__(a)
        self.requires_grad, self.device = requires_grad, device
        self.detached = 0

    def detach(self):
        self.detached += 1
        return FakeTorch(self.a, False, self.device)

    def cpu(self):
        return FakeTorch(self.a, self.requires_grad, 1)

    def __dlpack_device__(self):
        return (self.device, 0)

    def __dlpack__(self, stream=None, max_version=None):
        if self.requires_grad:
            raise BufferError("Can't export tensors that require gradient, use tensor.detach()")
        assert self.device == 1, "CUDA memory would be read by the CPU"
        return self.make(max_version is not None)


@pytest.mark.parametrize("requires_grad", [False, True])
@pytest.mark.parametrize("where", [1, 2])
def test_torch_tensors_by_their_protocol(module, requires_grad, where):
    """Tensors with torch's methods are read by detach() if they have gradients and by cpu() if they are on CUDA. (Features T1, T4.)"""
    a = np.arange(6, dtype="f4").reshape(2, 3)
    tensor = FakeTorch(a, requires_grad, where)
    imported = "torch" in sys.modules
    if requires_grad:  # the tensor's gradient would be lost silently
        for use in (lambda: module.twice(tensor), lambda: module.twice.bwds(tensor), lambda: module.luma({"r": tensor, "g": 1, "b": 2})):
            with pytest.raises(RuntimeError, match=r"requires a gradient.*x\.detach\(\).*\.bwds.*torch\.no_grad\(\)"):
                use()
        with pytest.raises(RuntimeError, match="Tensor.from_numpy: .*requires a gradient"):
            spy.Tensor.from_numpy(module.device, tensor)
        assert tensor.detached == 0
        tensor = tensor.detach()
    np.testing.assert_array_equal(module.twice(tensor, _result="numpy"), 2 * a)
    assert ("torch" in sys.modules) == imported


def test_torch_without_gradients(module, monkeypatch):
    """Within torch.no_grad() a tensor that requires a gradient is a plain argument. (Feature T2.)"""
    enabled = [True]
    monkeypatch.setitem(sys.modules, "torch", type("torch", (), {"is_grad_enabled": staticmethod(lambda: enabled[0])}))
    a = np.arange(6, dtype="f4")
    with pytest.raises(RuntimeError, match="requires a gradient"):
        module.twice(FakeTorch(a, True))
    enabled[0] = False
    np.testing.assert_array_equal(module.twice(FakeTorch(a, True), _result="numpy"), 2 * a)


@pytest.mark.parametrize("way", ["get", "copy_to_host"])
def test_cuda_arrays_come_through_their_own_copy(module, way):
    """The pointer of a __cuda_array_interface__ is never read on the host; CuPy's and Numba's own copies to the host are used."""
    a = np.arange(4, dtype="f4")
    cuda = type("Cuda", (), {"__cuda_array_interface__": NoWay.__cuda_array_interface__, way: lambda self: a})()
    np.testing.assert_array_equal(module.twice(cuda, _result="numpy"), 2 * a)
    with pytest.raises(TypeError, match="'result' is an out parameter"):
        module.store(a, cuda)


def test_a_cpu_that_stays_on_the_device_is_refused(module):
    class Stays(NoWay):
        def cpu(self):
            return self

    with pytest.raises(TypeError, match="another device's memory"):
        module.twice(Stays())


# >>nothing is kept

def test_buffers_are_free_after_the_call(device, module):
    """An exported bytearray can be resized after the call, also after a call that failed."""
    data = bytearray(b"\x01\x02\x03")
    module.twice(data)
    data.append(4)
    with pytest.raises(TypeError):
        module.twice(data, object())
    data.append(5)
    spy.Tensor.from_numpy(device, data)
    data.append(6)
    tensor = spy.Tensor.zeros(device, (1,), "int")
    with pytest.raises(ValueError, match="Shape mismatch"):
        tensor.copy_from_numpy(data)
    data.append(7)
    assert len(data) == 7


def test_many_buffers_are_free_after_the_call(load):
    names = ["a%d" % i for i in range(12)]
    module = load("float many(%s) { return %s; }" % (", ".join("float " + n for n in names), " + ".join(names)))
    data = [bytearray([i, i]) for i in range(12)]
    np.testing.assert_array_equal(module.many(*data, _result="numpy"), [66, 66])
    for d in data:
        d.append(1)


@pytest.mark.parametrize("make", [
    lambda: np.arange(8, dtype="f4"),
    lambda: np.arange(16, dtype=">f4")[::2],
    lambda: memoryview(bytearray(8)),
])
def test_no_references_are_kept(device, module, make):
    value = make()
    module.twice(value)
    before = sys.getrefcount(value)
    for _ in range(20):
        module.twice(value)
        spy.Tensor.from_numpy(device, value)
    gc.collect()
    assert sys.getrefcount(value) == before


def test_memory_stays_flat(device, module):
    pixels = np.zeros(50, [("b", "f8"), ("r", "f4"), ("g", "f4")])
    strided, out = np.arange(200, dtype="f4")[::2], np.zeros(200, ">f4")[::2]
    tensor = spy.Tensor.zeros(device, (50,), module.Pixel)

    def work():
        for _ in range(30):
            module.store(strided, out)
            tensor.copy_from_numpy(pixels)
            from_dlpack(tensor.flatten_dtype())
            module.luma(pixels)
            with pytest.raises(TypeError):
                module.twice(np.array([None]))

    work()
    gc.collect()
    tracemalloc.start()
    work()
    gc.collect()
    first = tracemalloc.get_traced_memory()[0]
    for _ in range(3):
        work()
    gc.collect()
    last = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    assert last - first < 20000

"""Tensors: creation, views, host copies, cursors and export, compared with numpy. Features B2-B4, B6-B11, and what Slang's tensor types
need on the host."""
import ctypes
import gc
import sys
import types

import warnings

import numpy as np
import pytest

import slangpy as spy
from conftest import from_dlpack

SOURCE = """
import slangpy;
struct Inner { float3 a; int b; };
struct Mixed { float3 position; uint8_t kind; Inner inner[2]; float2x3 m; bool flag; float16_t h; double d; int64_t l; float table[3][2]; };
struct Pixel { float r; float g; float b; };
float twice(float x) { return 2 * x; }
float3 swizzle(float3 v) { return v.zxy; }
float get(Tensor<float, 2> t, int i, int j) { return t[i, j]; }
"""

SCALARS = {"bool": "?", "int8_t": "i1", "uint8_t": "u1", "int16_t": "i2", "uint16_t": "u2", "int": "i4", "uint": "u4", "int64_t": "i8",
           "uint64_t": "u8", "half": "f2", "float": "f4", "double": "f8"}


@pytest.fixture(scope="module")
def module(load):
    return load(SOURCE)


def numbers(shape, dtype="f4", seed=0):
    return np.asarray(np.random.default_rng(seed).integers(0, 100, shape)).astype(dtype)


# >>making

@pytest.mark.parametrize("name", SCALARS)
def test_zeros_of_each_scalar_type(device, name):
    """zeros() makes a tensor of each scalar type. (Feature B2.)"""
    a = spy.Tensor.zeros(device, (2, 3), name).to_numpy()
    assert a.dtype == SCALARS[name] and a.shape == (2, 3) and not a.any()


@pytest.mark.parametrize("dtype, expected", [
    (None, "f4"), (float, "f4"), (int, "i4"), (bool, "?"), (np.float64, "f8"), (np.dtype("u2"), "u2"), ("float16_t", "f2"), (np.uint8, "u1"),
    ("int64", "i8"),
])
def test_spellings_of_dtype(device, dtype, expected):
    """A dtype left out is float. (Features B2, B4.)"""
    keywords = {} if dtype is None else {"dtype": dtype}
    assert spy.Tensor.zeros(device, shape=(2,), **keywords).to_numpy().dtype == expected
    assert spy.NDBuffer(device, shape=(2,), **keywords).to_numpy().dtype == expected


@pytest.mark.parametrize("make", [
    lambda d: spy.Tensor.empty(d, (4, 2)), lambda d: spy.Tensor.empty(device=d, shape=[4, 2], dtype="float"),
    lambda d: spy.Tensor.zeros(d, spy.Shape(4, 2), float), lambda d: spy.NDBuffer(d, dtype=float, shape=(4, 2)),
    lambda d: spy.NDBuffer(d, float, shape=(4, 2)), lambda d: spy.NDBuffer.zeros(d, shape=(4, 2), dtype=float),
    lambda d: spy.Tensor.empty_like(spy.Tensor.zeros(d, (4, 2))), lambda d: spy.Tensor.zeros_like(spy.NDBuffer.empty(d, (4, 2))),
    lambda d: spy.Tensor(d, (4, 2)), lambda d: spy.Tensor(d, (4, 2), float), lambda d: spy.Tensor(d, spy.Shape(4, 2), "float"),
    lambda d: spy.Tensor(spy.Tensor.zeros(d, (8,)), float, (4, 2)), lambda d: spy.Tensor(storage=spy.Tensor.zeros(d, 2, "float4"), dtype="float", shape=(4, 2)),
    lambda d: spy.Tensor.full(d, (4, 2), 3), lambda d: spy.Tensor.from_numpy(d, np.zeros((4, 2), "f4")),
    lambda d: spy.Tensor.from_numpy(device=d, ndarray=np.zeros((4, 2), "f4")), lambda d: spy.Tensor.numpy(d, np.zeros((4, 2), "f4")),
    lambda d: spy.NDBuffer.numpy(d, np.zeros((4, 2), "f4")), lambda d: spy.Tensor.from_torch(d, np.zeros((4, 2), "f4")),
])
def test_ways_to_make_one(device, make):
    """All ways to make a tensor give the same properties. (Features B2, B3, B4.)"""
    tensor = make(device)
    assert isinstance(tensor, spy.Tensor) and tensor.shape == (4, 2) and tensor.ndim == 2 and tensor.element_count == 8
    assert tensor.strides == (2, 1) and tensor.offset == 0 and tensor.dtype.name == "float" and tensor.device is device
    assert tensor.is_contiguous() and len(tensor) == 4


def test_keywords(device):
    """The functions that make tensors take arguments by SlangPy's names."""
    tensor = spy.Tensor.empty(device=device, shape=(2, 3), dtype="float", usage=None, memory_type=None)
    tensor.copy_from_numpy(data=numbers((2, 3)))
    tensor.from_numpy(data=numbers((2, 3)))
    np.testing.assert_array_equal(tensor.reshape(shape=(3, 2)).to_numpy(), numbers((2, 3)).reshape(3, 2))
    np.testing.assert_array_equal(tensor.reshape(3, -1).to_numpy(), tensor.broadcast_to(shape=(2, 3)).to_numpy().reshape(3, 2))
    np.testing.assert_array_equal(tensor.view(shape=(2,), strides=(3,), offset=1).to_numpy(), numbers((2, 3))[:, 1])
    other = spy.Tensor.zeros_like(other=tensor)
    assert spy.Tensor.empty_like(other=tensor).shape == (2, 3) and len(tensor.cursor(start=1, count=2)) == 2
    other.point_to(target=tensor)
    other.clear(command_encoder=None)
    assert not tensor.to_numpy().any()
    with pytest.raises(TypeError, match="reshape"):
        tensor.reshape()


@pytest.mark.parametrize("wrap", [spy.NDBuffer, spy.Tensor])
def test_wrapping_an_array(device, monkeypatch, wrap):
    """NDBuffer(array) makes a tensor on the current device. (Feature T3.)"""
    monkeypatch.setattr(spy, "current_device", lambda: device, raising=False)
    a = numbers((3, 2))
    made = wrap(a)
    assert type(made) is wrap and made.device is device
    np.testing.assert_array_equal(made.to_numpy(), a)


def test_tensor_over_storage(device):
    """A tensor over another tensor's memory may have a type, strides and offset of its own. (Feature B2.)"""
    storage = spy.Tensor.from_numpy(device, numbers(24))
    tensor = spy.Tensor(storage, "float", (3, 2), strides=(6, 3), offset=2)
    expected = np.lib.stride_tricks.as_strided(numbers(24)[2:], (3, 2), (24, 12))
    np.testing.assert_array_equal(tensor.to_numpy(), expected)
    np.testing.assert_array_equal(spy.NDBuffer(storage, dtype="float3", shape=(8,)).to_numpy(), numbers(24).reshape(8, 3))
    tensor.clear()
    assert (storage.to_numpy() == 0).sum() >= 6


def test_classes_stay(device):
    buffer = spy.NDBuffer.from_numpy(device, numbers((3, 2)))
    assert type(buffer) is spy.NDBuffer and type(buffer[1:]) is spy.NDBuffer and type(spy.NDBuffer.empty_like(buffer)) is spy.NDBuffer


@pytest.mark.parametrize("dtype, value, expected", [
    ("float", 2.5, 2.5), ("int", -7, -7), ("uint8_t", 255, 255), ("bool", True, True), ("double", 0.1, 0.1), ("float3", [1, 2, 3], [1, 2, 3]),
    ("float2x2", [[1, 2], [3, 4]], [[1, 2], [3, 4]]), ("int[3]", [4, 5, 6], [4, 5, 6]),
])
def test_full(device, dtype, value, expected):
    a = spy.Tensor.full(device, (2, 3), value, dtype).to_numpy()
    np.testing.assert_array_equal(a, np.broadcast_to(np.array(expected, a.dtype), a.shape))


@pytest.mark.parametrize("make, exception, text", [
    (lambda d: spy.Tensor.empty(d), ValueError, "Tensor.empty: argument 'shape' not specified"),
    (lambda d: spy.Tensor.empty(5, (2,)), TypeError, "argument 'device': expected a Device"),
    (lambda d: spy.Tensor.empty(d, "abc"), TypeError, "expected a shape"),
    (lambda d: spy.Tensor.empty(d, (1,) * 9), ValueError, "at most 8 dimensions, got 9"),
    (lambda d: spy.Tensor.empty(d, (2, -3)), ValueError, "negative size"),
    (lambda d: spy.Tensor.empty(d, (2,), "nosuchtype"), LookupError, "nosuchtype"),
    (lambda d: spy.Tensor.empty(d, (2,), 5j), TypeError, "argument 'dtype': expected a type of a module, a numpy dtype or a name, got 5j"),
    (lambda d: spy.Tensor.empty_like(5), TypeError, "empty_like: argument 'other': expected a Tensor"),
    (lambda d: spy.Tensor.full(d, (2,), 300, "uint8_t"), OverflowError, "300 does not fit into uint8_t"),
    (lambda d: spy.Tensor.full(d, (2,), [1, 2], "float3"), ValueError, "expected 3 values for float3"),
    (lambda d: spy.Tensor.from_numpy(d), TypeError, "missing required argument 'ndarray'"),
    (lambda d: spy.Tensor.from_numpy(d, 5), TypeError, "argument 'ndarray': expected an array, got <class 'int'>"),
    (lambda d: spy.Tensor.from_numpy(d, np.zeros(2, "i4,f4")), TypeError, "expected dtype=module.Struct"),
    (lambda d: spy.Tensor.from_numpy(d, np.zeros((4, 2), "f4"), dtype="float3"), ValueError, r"ends in \(3,\) for float3, got \(4, 2\)"),
    (lambda d: spy.Tensor.from_numpy(d, np.float32(1), dtype="float3"), ValueError, r"ends in \(3,\) for float3, got \(\)"),
    (lambda d: spy.NDBuffer(d), ValueError, "'shape' or 'element_count' not specified"),
    (lambda d: spy.NDBuffer(5), TypeError, "argument 'device': expected a Device"),
    (lambda d: spy.Tensor(storage=5, dtype=float, shape=(2,)), TypeError, "argument 'storage': expected a Buffer or Tensor, got <class 'int'>"),
    (lambda d: spy.Tensor(spy.Tensor.zeros(d, (4,)), float, (5,)), ValueError, "reaches beyond"),
])
def test_making_refuses(device, make, exception, text):
    with pytest.raises(exception, match=text):
        make(device)


# >>element types

@pytest.mark.parametrize("name, dtype, inner", [
    ("float3", "f4", (3,)), ("int4", "i4", (4,)), ("bool2", "?", (2,)), ("half4", "f2", (4,)), ("double2", "f8", (2,)),
    ("float4x4", "f4", (4, 4)), ("float2x3", "f4", (2, 3)), ("float[5]", "f4", (5,)), ("int3[2]", "i4", (2, 3)),
    ("float2x2[3]", "f4", (3, 2, 2)), ("uint[2][3]", "u4", (3, 2)), ("uint8_t[3]", "u1", (3,)),
])
@pytest.mark.parametrize("shape", [(), (3,), (2, 3)])
def test_compound_elements(device, name, dtype, inner, shape):
    """Elements that are vectors, matrices and arrays have further dimensions on the host, and flatten_dtype() gives them to the tensor.
    (Features B6, B10.)"""
    a = numbers(shape + inner, dtype, seed=len(name))
    tensor = spy.Tensor.from_numpy(device, a, dtype=name)
    assert tensor.shape == shape
    np.testing.assert_array_equal(tensor.to_numpy(), a)
    flat = tensor.flatten_dtype()
    assert flat.shape == shape + inner and flat.to_numpy().dtype == dtype
    np.testing.assert_array_equal(flat.to_numpy(), a)
    np.testing.assert_array_equal(from_dlpack(tensor), a)


def mixed_image(module, device, shape):
    rng = np.random.default_rng(4)
    a = spy.Tensor.zeros(device, shape, module.Mixed).to_numpy(structured=True)
    for name in ("position", "kind", "m", "flag", "h", "d", "l", "table"):
        a[name] = rng.integers(0, 2 if name == "flag" else 50, a[name].shape)
    a["inner"]["a"], a["inner"]["b"] = rng.random(a["inner"]["a"].shape), rng.integers(-5, 5, a["inner"]["b"].shape)
    return a


@pytest.mark.parametrize("shape", [(), (5,), (2, 3), (0,)])
def test_structs_are_structured_arrays(device, module, shape):
    """Nested structs, arrays of structs and every scalar type become structured arrays in C's layout. (Feature B6.)"""
    a = mixed_image(module, device, shape)
    assert a.dtype.names == ("position", "kind", "inner", "m", "flag", "h", "d", "l", "table")
    assert a.dtype["table"].shape == (3, 2) and a.dtype["inner"].base.names == ("a", "b")
    tensor = spy.Tensor.empty(device, shape, module.Mixed)
    tensor.copy_from_numpy(a)
    back = tensor.to_numpy(structured=True)
    for name in a.dtype.names:
        np.testing.assert_array_equal(back[name], a[name])


def test_struct_image_views_as_floats(device, module):
    """to_numpy().view(float32) shows an image of structs as floats, as in SlangPy's documentation."""
    tensor = spy.Tensor.from_numpy(device, numbers((2, 3, 3)), dtype=module.Pixel)
    assert tensor.shape == (2, 3)
    np.testing.assert_array_equal(tensor.to_numpy().view(np.float32).reshape(2, 3, 3), numbers((2, 3, 3)))


def test_copy_from_numpy_counts_numbers(device, module):
    """copy_from_numpy() needs as many numbers as the tensor has, in any shape. (Features B6, P16.)"""
    tensor = spy.Tensor.zeros(device, (4, 4), module.Pixel)
    tensor.from_numpy(numbers(48, "f8"))
    np.testing.assert_array_equal(tensor.flatten_dtype().to_numpy(structured=True).reshape(-1), numbers(48))
    with pytest.raises(ValueError, match="from_numpy: Shape mismatch: expected 48 numbers, got 49"):
        tensor.from_numpy(numbers(49))


def test_copy_from_numpy_into_views(device):
    a = np.zeros((4, 6), "f4")
    tensor = spy.Tensor.from_numpy(device, a)
    with pytest.raises(RuntimeError, match="the tensor must be contiguous"):
        tensor[1:3, ::2].copy_from_numpy(numbers((2, 3)))
    with pytest.raises(RuntimeError, match="the array must be contiguous"):
        tensor.copy_from_numpy(numbers((4, 12))[:, ::2])
    tensor[1:3, ::2].from_numpy(numbers((2, 3)))
    a[1:3, ::2] = numbers((2, 3))
    np.testing.assert_array_equal(tensor.to_numpy(structured=True), a)


def test_tensors_as_arrays_of_others(device):
    """copy_from_numpy() takes anything that is an array, tensors too."""
    one, two = spy.Tensor.from_numpy(device, numbers((2, 3))), spy.Tensor.zeros(device, (3, 2), "int")
    two.copy_from_numpy(one)
    np.testing.assert_array_equal(two.to_numpy(), numbers((2, 3)).reshape(3, 2))


# >>views

def random_index(rng, shape):
    index = []
    for n in shape:
        kind = rng.integers(0, 5)
        if kind == 0 and n:
            index.append(int(rng.integers(-n, n)))
        elif kind == 1:
            index.append(slice(None))
        else:
            bounds = [None if rng.random() < 0.3 else int(rng.integers(-n - 2, n + 3)) for _ in range(2)]
            index.append(slice(*bounds, int(rng.choice([1, 2, 3, -1, -2]))))
        if rng.random() < 0.15:
            index.append(None)
    cut = int(rng.integers(0, len(index) + 1))
    if rng.random() < 0.4:
        index = index[:cut] + [Ellipsis]
    return tuple(index)


@pytest.mark.parametrize("seed", range(25))
def test_random_indices(device, seed):
    """Basic indexing, applied twice, equals numpy's. (Feature B7.)"""
    rng = np.random.default_rng(seed)
    shape = tuple(int(n) for n in rng.integers(1, 7, rng.integers(1, 5)))
    a = numbers(shape, "i4", seed)
    tensor = spy.Tensor.from_numpy(device, a)
    for _ in range(2):
        index = random_index(rng, a.shape)
        expected = a[index]
        if expected.ndim > 8:
            break
        tensor, a = tensor[index], np.asarray(expected)
        assert tensor.shape == a.shape, "seed {}: {}".format(seed, index)
        np.testing.assert_array_equal(tensor.to_numpy(), a, "seed {}: {}".format(seed, index))
        np.testing.assert_array_equal(from_dlpack(tensor), a)


@pytest.mark.parametrize("seed", range(8))
def test_random_views_of_memory(device, seed):
    """view(shape, strides, offset) against numpy's as_strided. (Feature B7.)"""
    rng = np.random.default_rng(seed)
    a = numbers(200, "f4", seed)
    shape = tuple(int(n) for n in rng.integers(1, 5, 3))
    strides = tuple(int(n) for n in rng.integers(0, 12, 3))
    offset = int(rng.integers(0, 200 - sum((n - 1) * s for n, s in zip(shape, strides))))
    view = spy.Tensor.from_numpy(device, a).view(shape, strides, offset)
    expected = np.lib.stride_tricks.as_strided(a[offset:], shape, [4 * s for s in strides])
    np.testing.assert_array_equal(view.to_numpy(), expected)
    assert view.shape == shape and view.strides == strides and view.offset == offset


@pytest.mark.parametrize("shape, target", [((3, 1), (3, 4)), ((3,), (2, 3)), ((1, 1), (5, 2, 3)), ((), (4,)), ((2, 3), (2, 3))])
def test_broadcast_to(device, shape, target):
    """broadcast_to() gives what numpy's gives. (Feature B7.)"""
    a = numbers(shape)
    view = spy.Tensor.from_numpy(device, a).broadcast_to(target)
    np.testing.assert_array_equal(view.to_numpy(), np.broadcast_to(a, target))
    assert view.shape == target


@pytest.mark.parametrize("target", [(6, 4), (24,), (2, -1, 2), (4, 3, 2, 1)])
def test_reshape(device, target):
    a = numbers((4, 6))
    np.testing.assert_array_equal(spy.Tensor.from_numpy(device, a).reshape(target).to_numpy(), a.reshape(target))


def test_view_as_another_type(device, module):
    a = numbers((4, 3))
    tensor = spy.Tensor.from_numpy(device, a)
    vectors = tensor.view((4,), dtype="float3")
    assert vectors.dtype.full_name == "vector<float,3>"
    np.testing.assert_array_equal(vectors.to_numpy(structured=True), a)
    pixels = tensor.view((4,), dtype=module.Pixel)
    np.testing.assert_array_equal(pixels.to_numpy(structured=True)["g"], a[:, 1])


def test_views_share_memory_and_keep_it(device):
    tensor = spy.Tensor.zeros(device, (4, 4))
    view = tensor[1]
    view.copy_from_numpy(numbers(4))
    np.testing.assert_array_equal(tensor.to_numpy()[1], numbers(4))
    del tensor
    gc.collect()
    np.testing.assert_array_equal(view.to_numpy(), numbers(4))


def test_point_to(device):
    """point_to() makes a view show another tensor, which must have the same shape, strides and type. (Feature B7.)"""
    one, two = spy.Tensor.from_numpy(device, numbers((2, 3))), spy.Tensor.zeros(device, (2, 3))
    view = one[...]
    view.point_to(two)
    assert not view.to_numpy().any()
    with pytest.raises(ValueError, match="shape, strides and type of the two differ"):
        view.point_to(spy.Tensor.zeros(device, (3, 2)))
    with pytest.raises(TypeError, match="point_to: argument 'target': expected a Tensor, got <class 'int'>"):
        view.point_to(5)


@pytest.mark.parametrize("index, contiguous", [((), True), ((1,), True), ((slice(None), 1), False), ((slice(1, 3),), True),
                                               ((slice(None, None, 2),), False), ((slice(None), slice(None, None, -1)), False)])
def test_is_contiguous(device, index, contiguous):
    a = numbers((4, 6))
    view = spy.Tensor.from_numpy(device, a)[index]
    assert view.is_contiguous() == contiguous == a[index].flags.c_contiguous


@pytest.mark.parametrize("act, exception, text", [
    (lambda t: t[4], IndexError, "index 4 of dimension 0, which has 4"), (lambda t: t[-5], IndexError, "index -5 of dimension 0"),
    (lambda t: t[0, 0, 0], IndexError, "too many indices: the tensor has 2 dimensions, the list names 3"),
    (lambda t: t["a"], TypeError, "expected indices of int, slice, None or ..., got <class 'str'>"),
    (lambda t: t[[0, 1]], TypeError, "expected indices"), (lambda t: t[1.5], TypeError, "expected indices"),
    (lambda t: t[..., ...], ValueError, "once, not 2 times"), (lambda t: t[::0], ValueError, "a step of 0 in dimension 0"),
    (lambda t: t.view((100,)), ValueError, "reaches beyond the tensor"), (lambda t: t.view((2,), (1,), -1), ValueError, "offset -1 reaches beyond"),
    (lambda t: t.view((2, 2), (1,)), ValueError, "shape has rank 2, strides have 1"),
    (lambda t: t.broadcast_to((3, 6)), ValueError, "cannot be broadcast to"), (lambda t: t.reshape((5, 5)), ValueError, "cannot hold the 24 elements"),
    (lambda t: t[:, :4].reshape((16,)), ValueError, "without a copy"), (lambda t: t.view("x"), TypeError, "expected a shape"),
    (lambda t: t.view(), TypeError, "missing required argument 'shape'"),
])
def test_views_refuse(device, act, exception, text):
    tensor = spy.Tensor.zeros(device, (4, 6))
    with pytest.raises(exception, match=text):
        act(tensor)


def test_iteration(device):
    a = numbers((3, 2))
    rows = list(spy.Tensor.from_numpy(device, a))
    assert [r.to_numpy().tolist() for r in rows] == a.tolist()
    with pytest.raises(TypeError):
        len(spy.Tensor.zeros(device, ()))
    assert spy.Tensor.zeros(device, (0,)) is not None and bool(spy.Tensor.zeros(device, (0,)))


# >>odd sizes

@pytest.mark.parametrize("shape", [(), (0,), (3, 0, 2), (1,) * 8, (2,) * 8, (1, 70000), (70000, 1)])
def test_odd_sizes(device, module, shape):
    """Tensors may have rank 0, rank 8, sizes of 0, and more than 65,535 elements in a dimension."""
    a = numbers(shape)
    tensor = spy.Tensor.from_numpy(device, a)
    assert tensor.shape == shape and tensor.element_count == a.size
    np.testing.assert_array_equal(tensor.to_numpy(), a)
    np.testing.assert_array_equal(np.asarray(tensor), a)
    np.testing.assert_array_equal(from_dlpack(tensor), a)
    np.testing.assert_array_equal(module.twice(tensor, _result="numpy"), 2 * a)
    tensor.clear()
    assert not tensor.to_numpy().any()
    repr(tensor), str(tensor), len(tensor.cursor())


@pytest.mark.parametrize("dtype", ["float", "float3", "bool", "Mixed"])
def test_clear(device, module, dtype):
    """clear() of a view clears all the memory that it is part of, as SlangPy's does, and nothing else. (Feature B9.)"""
    tensor, other = (spy.Tensor.empty(device, (3, 4), module.Mixed if dtype == "Mixed" else dtype) for i in range(2))
    for t in (tensor, other):
        t.copy_from_numpy(np.ones(tensor.to_numpy().nbytes, "u1") if dtype == "Mixed" else np.ones(tensor.to_numpy().size, bool if dtype == "bool" else "f4"))
    tensor[:, 1:3].clear()
    raw, kept = (np.ascontiguousarray(t.to_numpy(structured=True)).view("u1").reshape(3, 4, -1) for t in (tensor, other))
    assert not raw.any() and all(kept[i, k].any() for i in range(3) for k in range(4))


# >>out to numpy, DLPack and torch

@pytest.mark.parametrize("name", SCALARS)
@pytest.mark.parametrize("versioned", [True, False])
def test_dlpack_of_each_type(device, name, versioned):
    """numpy reads versioned and unversioned DLPack capsules of each type. (Feature T3.)"""
    a = numbers((3, 4), SCALARS[name])[:, ::2]
    tensor = spy.Tensor.from_numpy(device, a)

    class Holder:  # passes numpy's max_version on only if `versioned` is set
        def __dlpack__(self, stream=None, **keywords):
            return tensor.__dlpack__(stream=stream, **(keywords if versioned else {}))

        def __dlpack_device__(self):
            return tensor.__dlpack_device__()

    back = from_dlpack(Holder())
    assert back.dtype == a.dtype
    np.testing.assert_array_equal(back, a)
    name_of = ctypes.pythonapi.PyCapsule_GetName
    name_of.restype, name_of.argtypes = ctypes.c_char_p, [ctypes.py_object]
    assert name_of(tensor.__dlpack__(max_version=(1, 1) if versioned else None)) == (b"dltensor_versioned" if versioned else b"dltensor")


def test_dlpack_is_a_copy(device):
    tensor = spy.Tensor.from_numpy(device, numbers((2, 3)))
    a = np.from_dlpack(tensor)
    tensor.clear()
    np.testing.assert_array_equal(a, numbers((2, 3)))
    assert a.ctypes.data % 256 == 0 and a.flags.writeable
    assert tensor.__dlpack_device__() == (1, 0)


def test_dlpack_capsules_own_their_memory(device):
    """A DLPack capsule frees its memory if it is not consumed; a consumed one does not."""
    tensor = spy.Tensor.zeros(device, (2000, 2000))
    before = memory()
    for i in range(40):
        tensor.__dlpack__(max_version=(1, 0) if i % 2 else None)
        np.from_dlpack(tensor)
    assert memory() - before < 500e6  # 80 copies are 1,280 MB; AddressSanitizer keeps 256 of what is freed


def memory():
    with open("/proc/self/statm") as f:
        return int(f.read().split()[1]) * 4096


@pytest.mark.parametrize("keywords, exception, text", [
    ({"copy": False}, BufferError, "argument 'copy': expected True or None"),
    ({"dl_device": (2, 0)}, BufferError, r"argument 'dl_device': expected \(1, 0\), host memory, got \(2, 0\)"),
    ({"stream": 1}, ValueError, "argument 'stream': expected None"),
    ({"max_version": 5}, TypeError, "."), ({"dl_device": 1}, TypeError, "."), ({"nonsense": 1}, TypeError, "nonsense"),
])
def test_dlpack_refuses(device, keywords, exception, text):
    with pytest.raises(exception, match=text):
        spy.Tensor.zeros(device, (2,)).__dlpack__(**keywords)


def test_dlpack_keywords_of_the_standard(device):
    tensor = spy.Tensor.from_numpy(device, numbers(4))
    np.testing.assert_array_equal(np.from_dlpack(tensor, device="cpu", copy=True), numbers(4))
    with pytest.raises(BufferError):
        np.from_dlpack(tensor, copy=False)


def test_dlpack_of_structs(device, module):
    with pytest.raises(BufferError, match="elements of Pixel have no form in DLPack; to_numpy"):
        np.from_dlpack(spy.Tensor.zeros(device, (2,), module.Pixel))


def test_asarray(device, module):
    """np.asarray() and similar functions convert a tensor by __array__()."""
    a = numbers((2, 3))
    tensor = spy.Tensor.from_numpy(device, a)
    np.testing.assert_array_equal(np.asarray(tensor), a)
    assert np.asarray(tensor, dtype="f8").dtype == "f8" and np.array(tensor, dtype=int).tolist() == a.astype(int).tolist()
    np.testing.assert_array_equal(np.add(tensor, 1), a + 1)
    assert np.asarray(spy.Tensor.zeros(device, (2,), module.Pixel)).dtype.names == ("r", "g", "b")
    with pytest.raises(ValueError, match="argument 'copy': expected True or None"):
        np.asarray(tensor, copy=False)


def test_to_torch_without_torch(device, monkeypatch):
    """Without torch to_torch() raises an ImportError that says what to do. (Features T3, T4.)"""
    monkeypatch.setitem(sys.modules, "torch", None)
    for method in (spy.Tensor.to_torch, spy.Tensor.torch):
        with pytest.raises(ImportError, match="pip install torch"):
            method(spy.Tensor.zeros(device, (2,)))


def test_to_torch_by_dlpack(device, monkeypatch):
    """to_torch() gives the tensor to torch.from_dlpack(); a stand-in for torch follows torch's protocol. (Feature T3.)"""
    def from_dlpack(source):
        assert source.__dlpack_device__()[0] == 1
        capsule = source.__dlpack__(stream=None, max_version=(1, 0))
        return np.from_dlpack(type("Capsule", (), {"__dlpack__": lambda self, **k: capsule, "__dlpack_device__": lambda self: (1, 0)})())

    monkeypatch.setitem(sys.modules, "torch", types.SimpleNamespace(from_dlpack=from_dlpack))
    for buffer in (spy.Tensor.from_numpy(device, numbers((2, 3))), spy.NDBuffer.from_numpy(device, numbers((2, 3)))):
        np.testing.assert_array_equal(buffer.to_torch(), numbers((2, 3)))
        np.testing.assert_array_equal(buffer.torch(), numbers((2, 3)))


# >>display

def test_print_shows_the_contents(device):
    """print() shows a tensor's elements, and "..." for the inner ones of a large tensor. (Features B11, P16.)"""
    text = str(spy.Tensor.from_numpy(device, np.array([[1.5, 2], [3, 4]], "f4")))
    assert text == "[[1.5 2. ]\n [3.  4. ]]"
    assert "..." in str(spy.Tensor.zeros(device, (5000,)))


def test_print_of_structs(device, module):
    tensor = spy.Tensor.full(device, (2,), {"r": 1, "g": 2, "b": 3}, module.Pixel)
    assert str(tensor) == str(tensor.to_numpy())


def test_repr_reads_nothing(device, module):
    tensor = spy.Tensor.zeros(device, (2, 3), "float3")
    text = 'Tensor(dtype=refl::Type(full_name="vector<float,3>", kind=vector, shape=[3]), shape=[{}], has_grad_in=false, has_grad_out=false)'
    assert repr(tensor) == text.format("2, 3") and repr(tensor[0]) == text.format("3")
    assert tensor._repr_html_() == "<pre>{}</pre>".format(str(tensor))
    assert repr(spy.NDBuffer(device, shape=(2,))).startswith('NDBuffer(dtype=refl::Type(full_name="float"')


def test_uniforms(device, module):
    """uniforms() gives a dict that can be looked at, and that stands for the tensor in a dispatch or call. (Features B9, B16.)"""
    a = numbers((4, 6))
    tensor = spy.Tensor.from_numpy(device, a)[1:, ::2]
    uniforms = tensor.uniforms()
    assert uniforms["_shape"] == (3, 3) and uniforms["_strides"] == (6, 2) and uniforms["_offset"] == 6
    assert module.get(uniforms, 1, 2) == a[2, 4]
    np.testing.assert_array_equal(module.twice(uniforms, _result="numpy"), 2 * a[1:, ::2])


class FakeImage:
    """An object with the members of Pillow's images that load_from_image() uses."""

    def __init__(self, a, mode="RGB"):
        self.a, self.mode, self.info = a, mode, {}

    def __enter__(self):
        return self

    def __exit__(self, *ignored):
        pass

    def __array__(self, dtype=None, copy=None):
        return self.a


@pytest.mark.parametrize("channels", [1, 2, 3, 4])
@pytest.mark.parametrize("dtype", ["u1", "u2", "f4"])
def test_load_from_image(device, monkeypatch, channels, dtype):
    """load_from_image() converts images; a stand-in serves for Pillow's. (Feature B9.)"""
    a = numbers((4, 5, channels), dtype) if channels > 1 else numbers((4, 5), dtype)
    unit = a.astype("f4") / (1 if dtype == "f4" else np.iinfo(dtype).max)
    package = types.ModuleType("PIL")
    package.Image = types.SimpleNamespace(open=lambda path: FakeImage(a))
    monkeypatch.setitem(sys.modules, "PIL", package)
    tensor = spy.Tensor.load_from_image(device, "image.png")
    assert tensor.shape == (4, 5) and tensor.dtype.full_name == ("float" if channels == 1 else "vector<float,%d>" % channels)
    np.testing.assert_allclose(tensor.to_numpy(), unit, rtol=1e-6)
    tensor = spy.Tensor.load_from_image(device, "image.png", flip_y=True, scale=2.0, offset=-1.0)
    np.testing.assert_allclose(tensor.to_numpy(), 2 * unit[::-1] - 1, rtol=1e-5, atol=1e-6)
    gray = spy.Tensor.load_from_image(device, "image.png", grayscale=True)
    assert gray.dtype.name == "float" and gray.shape == (4, 5)
    if channels > 2:
        np.testing.assert_allclose(gray.to_numpy(), unit[..., :3] @ [0.2126, 0.7152, 0.0722], rtol=1e-4)
    linear = spy.Tensor.load_from_image(device, "image.png", linearize=True).to_numpy()
    color = unit[..., :3] if channels > 2 else unit
    expected = np.where(color <= 0.04045, color / 12.92, ((color.astype("f8") + 0.055) / 1.055) ** 2.4)
    np.testing.assert_allclose(linear[..., :3] if channels > 2 else linear, expected, rtol=1e-4)
    if channels == 4:
        np.testing.assert_allclose(linear[..., 3], unit[..., 3], rtol=1e-6)


def test_load_from_image_without_pillow(device, monkeypatch):
    monkeypatch.setitem(sys.modules, "PIL", None)
    with pytest.raises(ImportError, match="pip install pillow"):
        spy.Tensor.load_from_image(device, "image.png")


# >>cursors

def test_cursor_fields(device, module):
    """A cursor writes nested paths, dicts and vectors; apply() uploads the values. (Feature B8.)"""
    tensor = spy.Tensor.zeros(device, (2, 3), module.Mixed)
    cursor = tensor.cursor()
    assert len(cursor) == 6 and cursor.element_count == 6 and cursor.element_type.name == "Mixed" and cursor.resource is tensor
    assert not cursor.is_loaded
    cursor[1].position = [1, 2, 3]
    cursor[1].inner[1].a.y = 5
    cursor[1]["inner[0].b"] = -7
    cursor[4].write({"kind": 200, "flag": True, "m": [[1, 2, 3], [4, 5, 6]], "table": np.arange(6).reshape(3, 2), "l": -2**40})
    cursor[4].inner.write([{"a": (1, 2, 3), "b": 4}, {"a": np.array([5, 6, 7]), "b": 8}])
    assert not tensor.to_numpy(structured=True)["kind"].any()
    cursor.apply()
    a = tensor.to_numpy(structured=True).reshape(-1)
    assert a["position"][1].tolist() == [1, 2, 3] and a["inner"][1]["a"].tolist() == [[0, 0, 0], [0, 5, 0]] and a["inner"][1]["b"].tolist() == [-7, 0]
    assert a["kind"].tolist() == [0, 0, 0, 0, 200, 0] and a["flag"][4] and a["l"][4] == -2**40
    assert a["m"][4].tolist() == [[1, 2, 3], [4, 5, 6]] and a["table"][4].tolist() == [[0, 1], [2, 3], [4, 5]]
    assert a["inner"][4]["a"].tolist() == [[1, 2, 3], [5, 6, 7]] and a["inner"][4]["b"].tolist() == [4, 8]


def test_cursor_reads(device, module):
    a = mixed_image(module, device, (4,))
    tensor = spy.Tensor.from_numpy(device, a, dtype=module.Mixed)
    for i, element in enumerate(tensor.cursor()):
        value = element.read()
        assert list(value["position"]) == a["position"][i].tolist() and value["kind"] == a["kind"][i] and value["flag"] is bool(a["flag"][i])
        assert value["d"] == a["d"][i] and value["l"] == a["l"][i] and value["h"] == a["h"][i]
        assert [x["b"] for x in value["inner"]] == a["inner"][i]["b"].tolist()
        assert element.table[2][1].read() == a["table"][i][2, 1] and element["inner[1].a.z"].read() == pytest.approx(a["inner"][i]["a"][1, 2])
        assert element.position.x.read() == a["position"][i][0] and len(element.position) == 3 and element.position.type.name == "float3"
        assert element.type.name == "Mixed" and element.is_valid()


@pytest.mark.parametrize("name, dtype", SCALARS.items())
def test_cursor_of_scalars(device, name, dtype):
    a = numbers(5, dtype)
    tensor = spy.Tensor.from_numpy(device, a)
    cursor = tensor.cursor()
    assert [c.read() for c in cursor] == a.tolist()
    cursor[3] = 1
    cursor[4] = np.array(0, dtype)
    cursor.apply()
    assert tensor.to_numpy()[3:].tolist() == [1, 0]
    values = cursor.to_numpy()
    assert values.dtype == np.uint8 and values.view("u{}".format(len(values) // 5) if name == "bool" else dtype).tolist() == tensor.to_numpy().tolist()


def test_cursor_ranges(device):
    """A cursor over `start` and `count` leaves the elements outside as they were, also in strided views."""
    a = numbers((4, 6), "i4")
    tensor = spy.Tensor.from_numpy(device, a)
    view = tensor[::2, ::-2]
    cursor = view.cursor(2, count=3)
    assert len(cursor) == 3 and [c.read() for c in cursor] == a[::2, ::-2].reshape(-1)[2:5].tolist()
    cursor[1].write(-1)
    cursor.apply()
    a[::2, ::-2][1, 0] = -1
    np.testing.assert_array_equal(tensor.to_numpy(), a)
    assert len(view.cursor(4)) == 2 and len(spy.BufferCursor(tensor, 1, 2)) == 2
    for start, count in ((-1, None), (25, None), (0, 25), (0, -1)):
        with pytest.raises(ValueError, match="expected a range within the tensor's 24 elements"):
            tensor.cursor(start, count)


def test_cursor_load_and_copies(device, module):
    tensor = spy.Tensor.zeros(device, (3,), module.Pixel)
    cursor = tensor.cursor()
    place = cursor[1].g
    place.write(4)
    tensor.copy_from_numpy(np.arange(9, dtype="f4"))
    cursor.load()
    assert place.read() == 4 and cursor[2].read() == {"r": 6, "g": 7, "b": 8}
    place.write(-4)
    cursor.apply()
    assert tensor.to_numpy(structured=True)["g"].tolist() == [1, -4, 7]
    cursor.copy_from_numpy(np.array([(9, 8, 7)] * 3, [("b", "f4"), ("g", "i4"), ("r", "f8")]))
    cursor.apply()
    assert tensor.to_numpy(structured=True).tolist() == [(7, 8, 9)] * 3
    cursor[0].set_data(np.array([1, 2, 3], "f4").tobytes())
    assert cursor[0].read() == {"r": 1, "g": 2, "b": 3} and cursor.to_numpy()[:12].view("f4").tolist() == [1, 2, 3] and cursor.element_size == 12


@pytest.mark.parametrize("act, exception, text", [
    (lambda c: c[0].nothing.read(), spy.Error, "invalid"),
    (lambda c: c[0]["nothing"].write(1), spy.Error, "invalid"),
    (lambda c: setattr(c[0], "nothing", 5), AttributeError, "nothing"),
    (lambda c: c[3], IndexError, "3"),
    (lambda c: c[-4], IndexError, "-4"),
    (lambda c: c["x", 1], TypeError, "expected a name or an index"),
    (lambda c: c[2**70], IndexError, "out of range"),
    (lambda c: c[0].inner[2], IndexError, "2"),
    (lambda c: c[0].position.w.read(), spy.Error, "invalid"),
    (lambda c: setattr(c[0], "kind", 256), OverflowError, "256 does not fit into uint8_t"),
    (lambda c: setattr(c[0], "position", [1, 2]), ValueError, "expected 3 values for float3"),
    (lambda c: setattr(c[0], "position", np.zeros(4)), ValueError, "expected 3 numbers for float3, got 4"),
    (lambda c: c[0].__setitem__("nope", 2), KeyError, "Mixed has no field 'nope'"),
    (lambda c: c[0].write(5), TypeError, "expected a dict for Mixed"),
    (lambda c: c[0].set_data(b"123"), ValueError, "3"),
    (lambda c: c[0].set_data(5), TypeError, "expected bytes or an array"),
    (lambda c: c[0].has_field(5), TypeError, "expected a name"),
    (lambda c: delattr(c[0], "kind"), TypeError, "cannot be deleted"),
    (lambda c: spy.BufferCursor(5), TypeError, "expected a Tensor"),
])
def test_cursor_refusals_change_nothing(device, module, act, exception, text):
    tensor = spy.Tensor.zeros(device, (3,), module.Mixed)
    cursor = tensor.cursor()
    with pytest.raises(exception, match=text):
        act(cursor)
    cursor.apply()
    assert tensor.to_numpy().tobytes() == bytes(tensor.to_numpy().nbytes)
    assert cursor[0].has_field("inner[1].a") and not cursor[0].has_field("nope") and cursor[0].inner.has_element(1)
    assert not cursor[0].inner.has_element(2)


def test_cursor_of_a_buffer(device, module):
    """Tensors and buffers have the same kind of cursor. (Features B1, B8.)"""
    buffer = device.create_buffer(element_count=3, struct_type=module.Pixel)
    cursor = buffer.cursor()
    cursor.copy_from_numpy(np.arange(9))
    cursor[1].g = -1
    cursor.apply()
    assert spy.BufferCursor(buffer)[1].read() == {"r": 3, "g": -1, "b": 5} and cursor.resource is buffer
    memory = device.create_buffer(size=24)
    with pytest.raises(TypeError, match="expected elements of a type, got bytes of none"):
        memory.cursor()
    pixels = memory.view((2,), dtype=module.Pixel)
    pixels.copy_from_numpy(np.arange(6, dtype="f4"))
    assert type(pixels) is spy.Tensor and spy.Tensor(memory, "float", (6,)).to_numpy(structured=True).tolist() == [0, 1, 2, 3, 4, 5]
    assert type(memory[4:8]) is spy.Tensor and memory[4:8].to_numpy(structured=True).nbytes == 4


def test_cursor_values_are_value_types(device):
    """Vectors and matrices are read as value types and written from them. (Features C4, B8.)"""
    tensor = spy.Tensor.zeros(device, (2,), "float3")
    cursor = tensor.cursor()
    cursor[1] = spy.float3(1, 2, 3)
    assert cursor[1].read() == spy.float3(1, 2, 3) and cursor[1].y.read() == 2
    cursor.apply()
    assert tensor.to_numpy().tolist() == [[0, 0, 0], [1, 2, 3]]


def test_cursor_outlives_its_tensor(device):
    place = spy.Tensor.from_numpy(device, numbers(3)).cursor()[2]
    gc.collect()
    assert place.read() == numbers(3)[2]


# >>the end

def test_use_after_close(module):
    """Every use of a tensor of a closed device raises an error, and nothing crashes."""
    device = spy.create_device()
    own = spy.Module.load_from_source(device, "closed", SOURCE)
    tensor, view = spy.Tensor.zeros(device, (2, 3)), spy.Tensor.zeros(device, (4,), own.Pixel)[1:]
    cursor = view.cursor()
    place = cursor[0].r
    device.close()
    for act in (tensor.to_numpy, view.to_numpy, lambda: tensor[0], lambda: tensor.shape, lambda: tensor.strides, lambda: tensor.view((2,)),
                lambda: tensor.reshape(6), lambda: tensor.broadcast_to((1, 2, 3)), tensor.clear, tensor.cursor, lambda: str(tensor),
                lambda: tensor.copy_from_numpy(np.zeros(6)), lambda: np.asarray(tensor), tensor.__dlpack__, tensor.flatten_dtype,
                lambda: len(tensor), tensor.is_contiguous, lambda: tensor.point_to(tensor), tensor.uniforms, lambda: spy.Tensor.empty_like(tensor),
                lambda: spy.Tensor.zeros(device, (2,)), lambda: spy.Tensor.from_numpy(device, np.zeros(2)), lambda: spy.Tensor.full(device, (2,), 1),
                place.read, lambda: place.write(1), cursor.apply, cursor.load, cursor.to_numpy, lambda: cursor[0], lambda: view.dtype.fields["r"].name and view.cursor(),
                lambda: own.twice(tensor), lambda: spy.Tensor.from_numpy(device, np.zeros((2, 3)), dtype="float3")):
        with pytest.raises(spy.Error, match="the device is closed"):
            act()
    assert repr(tensor) == "<slangpy.Tensor, of a closed device>" and "closed" in repr(cursor) and "closed" in repr(place)
    assert not place.is_valid()
    del tensor, view, cursor, place
    gc.collect()


def test_shown_with_values(device):
    """The last line of a notebook's cell shows a tensor's values, as print() does; elsewhere repr() does not use the GPU. (Features B11,
    W9.)"""
    t = spy.Tensor.from_numpy(device, np.float32([[1.5, 2], [3, 4]]))
    assert "1.5" in t._repr_html_() and t._repr_html_() == "<pre>{}</pre>".format(t)
    shown = []
    t._repr_pretty_(type("Printer", (), {"text": lambda self, text: shown.append(text)})(), False)
    assert shown == [str(t)] and repr(t).startswith("Tensor(dtype=")
    d = spy.create_device()
    gone = spy.Tensor.zeros(d, (2,))
    d.close()
    assert gone._repr_html_() == "<pre>&lt;slangpy.Tensor, of a closed device&gt;</pre>"


def test_compared_by_identity(device):
    """== of tensors compares identity, and warns if values were meant; lists, sets and dicts of tensors work. (Feature B2.)"""
    t, u = spy.Tensor.zeros(device, (2,)), spy.NDBuffer(device, dtype=float, shape=(2,))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert t == t and not t != t and t != None and t != "a" and not t == object()  # noqa: E711
        assert t in [t, u] and {t: 1, u: 2}[u] == 2 and len({t, u, t}) == 2 and [u, t].index(u) == 0 and hash(t) == hash(t)
        np.testing.assert_array_equal(t == np.zeros(2), [True, True])  # numpy's own comparison
    for other in (0, 0.0, [0, 0], (0, 0), u, spy.float2(0)):
        for compare, answer in ((lambda: t == other, False), (lambda: t != other, True), (lambda: other == t, False)):
            with pytest.warns(RuntimeWarning, match=r"Tensor: [=!]= compares which object it is, and not the elements: write tensor.to_numpy\(\)"):
                assert compare() is answer
    with warnings.catch_warnings(), pytest.raises(RuntimeWarning):
        warnings.simplefilter("error")
        t == 0  # noqa: B015
    with pytest.raises(TypeError):
        t < 0  # noqa: B015


# >>memory of large arrays

def test_large_arrays_take_memory_of_earlier_ones(device):
    """A large array may get the memory of an earlier array that has gone, and never that of an array or view that still exists."""
    count = 5 << 20  # 20 MiB
    data = numbers(count)
    tensor = spy.Tensor.from_numpy(device, data)
    spy.Tensor.zeros(device, (1,), "float").to_numpy()  # small arrays get their memory from numpy
    first = tensor.to_numpy()
    second = tensor.to_numpy()
    place = first.ctypes.data
    assert place != second.ctypes.data
    assert first.flags.writeable and first.flags.c_contiguous and first.dtype == np.float32
    view = first.reshape(-1, 4)[1:, 2]
    del first
    third = tensor.to_numpy()
    assert third.ctypes.data != place
    third[:] = -1
    np.testing.assert_array_equal(view, data.reshape(-1, 4)[1:, 2])
    np.testing.assert_array_equal(second, data)
    del view, third
    fourth = tensor.to_numpy()  # takes the memory of the array that was released last
    np.testing.assert_array_equal(fourth, data)
    fifth = spy.Tensor.from_numpy(device, data[: count * 9 // 10]).to_numpy()  # fits into the memory of the other released array
    assert place in (fourth.ctypes.data, fifth.ctypes.data)
    np.testing.assert_array_equal(fifth, data[: count * 9 // 10])
    sixth = spy.Tensor.from_numpy(device, np.arange(count * 2, dtype="i2")).to_numpy()
    np.testing.assert_array_equal(sixth, np.arange(count * 2, dtype="i2"))


def test_large_arrays_outlive_the_device():
    device = spy.create_device()
    data = numbers((2048, 2560))
    array = spy.Tensor.from_numpy(device, data).to_numpy()
    device.close()
    np.testing.assert_array_equal(array, data)
    del array
    device = spy.create_device()
    np.testing.assert_array_equal(spy.Tensor.from_numpy(device, data).to_numpy(), data)
    device.close()

"""Buffers of bytes, of types and of formats, and the parameters that take them. (Features B1, B9, C11, K1, K3.)"""
import numpy as np
import pytest

import slangpy as spy

SOURCE = """
struct Pair { float a; int3 b; }
void scale(uint3 t : SV_DispatchThreadID, StructuredBuffer<float> x, RWStructuredBuffer<float> y, float k) { y[t.x] = x[t.x] * k; }
void pairs(uint3 t : SV_DispatchThreadID, RWStructuredBuffer<Pair> p) { p[t.x].a += 0.5; p[t.x].b.z = int(t.x); }
void words(uint3 t : SV_DispatchThreadID, RWByteAddressBuffer b) { b.Store(4 * t.x, b.Load(4 * t.x) + 1); }
void through(uint3 t : SV_DispatchThreadID, int *p) { p[t.x] = p[t.x] * 2; }
uint count(StructuredBuffer<float3> b) { uint n, stride; b.GetDimensions(n, stride); return n; }
RWStructuredBuffer<uint> counters;
void bump(uint3 t : SV_DispatchThreadID) { counters[t.x] += t.x; }
float sum(Tensor<float, 1> t) { float s = 0; for (int i = 0; i < t.shape[0]; i++) s += t[i]; return s; }
float twice(float x) { return 2 * x; }
"""


@pytest.fixture(scope="module")
def m(device):
    return spy.Module.load_from_source(device, "test_buffers", "import slangpy;\n" + SOURCE)


# >>making

@pytest.mark.parametrize("how, size, count, stride", [
    ({"size": 64}, 64, 64, 0), ({"size": 7}, 7, 7, 0), ({"size": 64, "struct_size": 16}, 64, 64, 16),
    ({"element_count": 5, "struct_size": 12}, 60, 60, 12), ({"element_count": 5, "struct_type": "float3"}, 60, 5, 12),
    ({"element_count": 3, "struct_type": float}, 12, 3, 4), ({"element_count": 3, "struct_type": np.float64}, 24, 3, 8),
    ({"element_count": 6, "format": spy.Format.rgba32_float}, 96, 6, 0), ({"size": 64, "format": "r32_uint"}, 64, 16, 0),
    ({"data": np.zeros(10, np.float32)}, 40, 40, 0), ({"data": b"abcdef"}, 6, 6, 0),
    ({"size": 40, "data": np.zeros(10, np.float32)}, 40, 40, 0),
    ({"data": np.zeros((4, 3), np.float32), "struct_type": "float3"}, 48, 4, 12),
    ({"element_count": 4, "resource_type_layout": "StructuredBuffer<float3>"}, 48, 4, 12),
    ({"size": 8, "usage": spy.BufferUsage.shader_resource | spy.BufferUsage.unordered_access,
      "memory_type": spy.MemoryType.read_back, "label": "mine"}, 8, 8, 0),
])
def test_sizes(device, how, size, count, stride):
    """A buffer's size may be given in bytes, in elements, or by data. (Feature B1.)"""
    b = device.create_buffer(**how)
    assert (b.size, b.element_count, b.struct_size) == (size, count, stride)
    assert b.usage == how.get("usage", spy.BufferUsage.none) and b.label == how.get("label", "")
    assert b.memory_type == how.get("memory_type", spy.MemoryType.device_local)
    assert isinstance(b, spy.Buffer) and b.device is device
    assert "{} bytes".format(size) in repr(b)


def test_struct_type(device, m):
    """A buffer may have elements of a module's struct, laid out as in C. (Feature B1.)"""
    b = device.create_buffer(element_count=3, struct_type=m.Pair)
    assert b.size == 48 and b.dtype == m.Pair and "Pair (3,)" in repr(b)


@pytest.mark.parametrize("how, error, words", [
    ({}, ValueError, "expected 'size', 'element_count' or 'data'"),
    ({"size": 0}, ValueError, "expected 'size'"),
    ({"size": -1}, ValueError, "argument 'size': expected 0 or more, got -1"),
    ({"size": 1.5}, TypeError, "argument 'size': expected an int"),
    ({"element_count": 4}, ValueError, "'element_count' needs 'struct_size'"),
    ({"size": 10, "struct_size": 4}, ValueError, "10 bytes are no whole number of elements of 4 bytes"),
    ({"size": 10, "element_count": 4, "struct_size": 4}, ValueError, "4 elements of 4 bytes are 16 bytes, got 10"),
    ({"element_count": 4, "struct_type": "float3", "struct_size": 16}, ValueError, "the type has 12 bytes, got 16"),
    ({"element_count": 4, "struct_type": "NoSuchType"}, LookupError, "NoSuchType"),
    ({"element_count": 4, "struct_type": "float", "format": spy.Format.r32_float}, ValueError, "got both"),
    ({"size": 4, "format": "r99_float"}, TypeError, "r99_float"),
    ({"size": 4, "format": 7}, TypeError, "expected a Format"),
    ({"size": 4, "memory_type": 99}, ValueError, "99"),
    ({"size": 4, "data": np.zeros(2, np.float32)}, ValueError, "expected 4 bytes, got 8"),
    ({"data": 5}, TypeError, "argument 'data': expected an array"),
    ({"size": 1 << 62}, spy.Error, "create_buffer: "),
])
def test_bad_sizes(device, how, error, words):
    """The error for a bad size names the wrong argument. (Feature B1.)"""
    with pytest.raises(error, match=words):
        device.create_buffer(**how)


# >>transfers

@pytest.mark.parametrize("dtype", ["u1", "i2", "u4", "f2", "f4", "f8", "i8"])
def test_round_trip(device, dtype):
    """Bytes that are written to a buffer are read back unchanged. (Feature B1.)"""
    data = (np.arange(24) * 3).astype(dtype)
    b = device.create_buffer(data=data)
    got = b.to_numpy()
    assert got.dtype == np.uint8 and got.shape == (data.nbytes,)
    assert np.array_equal(got.view(dtype), data)
    b.copy_from_numpy(data[::-1])  # an array that is not contiguous is made contiguous first
    assert np.array_equal(b.to_numpy().view(dtype), data[::-1])


def test_format(device):
    """A buffer's format gives its array the type and the number of components. (Feature B1.)"""
    data = np.arange(12, dtype=np.float32)
    b = device.create_buffer(data=data, format=spy.Format.rgba32_float)
    assert np.array_equal(b.to_numpy(), data.reshape(3, 4)) and b.to_numpy().dtype == np.float32
    h = device.create_buffer(data=data.astype(np.float16), format=spy.Format.r16_float)
    assert np.array_equal(h.to_numpy(), data.astype(np.float16))


def test_structured_arrays(device, m):
    """numpy's structured arrays are buffers of structs in C's layout. (Features B1, B6.)"""
    records = np.zeros(4, dtype=[("a", "f4"), ("b", "i4", 3)])
    records["a"], records["b"] = np.arange(4), np.arange(12).reshape(4, 3)
    b = device.create_buffer(element_count=4, struct_type=m.Pair, data=records)
    m.pairs.dispatch(4, p=b)
    got = b.to_numpy().view(records.dtype)
    assert np.array_equal(got["a"], np.arange(4) + 0.5)
    assert np.array_equal(got["b"][:, 2], np.arange(4)) and np.array_equal(got["b"][:, :2], records["b"][:, :2])


def test_copy_from_numpy(device):
    """A shorter array goes to the beginning; a longer one is an error and changes nothing. (Feature B1.)"""
    b = device.create_buffer(data=np.arange(4, dtype=np.uint32))
    b.copy_from_numpy(np.array([9], np.uint32))
    assert b.to_numpy().view(np.uint32).tolist() == [9, 1, 2, 3]
    with pytest.raises(ValueError, match="20 bytes from offset 0 on are not within the buffer's 16 bytes"):
        b.copy_from_numpy(np.zeros(5, np.uint32))
    with pytest.raises(TypeError, match="expected an array, got <class 'int'>"):
        b.copy_from_numpy(3)
    assert b.to_numpy().view(np.uint32).tolist() == [9, 1, 2, 3]


def test_clear(device):
    """clear() sets a buffer to zero. (Feature B9.)"""
    b = device.create_buffer(data=np.arange(1, 8, dtype=np.uint32))
    b.clear()
    assert not b.to_numpy().any()


# >>as arguments

@pytest.mark.parametrize("typed", [{}, {"struct_size": 4}, {"struct_type": "float"}, {"format": spy.Format.r32_float}])
def test_structured_buffers(device, m, typed):
    """StructuredBuffer<float> takes bytes and floats alike. (Features B1, K1.)"""
    data = np.random.default_rng(1).random(64, np.float32)
    x, y = device.create_buffer(data=data, **typed), device.create_buffer(size=256, **typed)
    m.scale.dispatch([64, 1, 1], x=x, y=y, k=3.0)
    assert np.array_equal(y.to_numpy().view(np.float32), data * np.float32(3))


def test_vars(device, m):
    """A buffer can be the value of a global. (Features K1, F4.)"""
    b = device.create_buffer(data=np.full(8, 5, np.uint32))
    m.bump.dispatch(8, vars={"counters": b})
    m.bump.set({"counters": b}).dispatch(8)
    assert b.to_numpy().view(np.uint32).tolist() == [5 + 2 * i for i in range(8)]


def test_byte_address_buffers(device, m):
    """A kernel reads and writes a buffer through RWByteAddressBuffer. (Feature B1.)"""
    b = device.create_buffer(data=np.arange(8, dtype=np.uint32))
    m.words.dispatch(8, b=b)
    assert b.to_numpy().view(np.uint32).tolist() == list(range(1, 9))


def test_pointers(device, m):
    """A parameter that is a pointer takes a buffer with or without a type, and a buffer's address. (Feature C11.)"""
    for typed in ({}, {"struct_type": int}):
        b = device.create_buffer(data=np.arange(8, dtype=np.int32), **typed)
        assert b.device_address % 4 == 0
        m.through.dispatch(8, p=b)
        assert b.to_numpy().view(np.int32).tolist() == [2 * i for i in range(8)]


def test_tensor_parameters(device, m):
    """Typed buffers are tensors of rank 1 and calls run over them; buffers without a type are refused as tensors. (Feature B1.)"""
    b = device.create_buffer(data=np.array([1, 2, 3.5], np.float32), struct_type=float)
    assert m.sum(b) == 6.5
    assert m.twice(b).to_numpy().tolist() == [2, 4, 7]
    raw = device.create_buffer(size=12)
    for f in (m.sum, m.twice):
        with pytest.raises(TypeError, match=r"an untyped buffer \(Tensor\(buffer, dtype, shape\) gives it a type\)"):
            f(raw)
    raw.copy_from_numpy(np.float32([1, 2, 4]))
    assert m.sum(spy.Tensor(raw, float, (3,))) == 7


def test_whole_elements(device, m):
    """A raw buffer's bytes behind the last whole element are not used; one without a whole element is refused. (Feature B1.)"""
    assert m.count(device.create_buffer(size=36)) == m.count(device.create_buffer(size=40)) == 3
    with pytest.raises(spy.Error, match="one element of 12 bytes, got 8 bytes"):
        m.count(device.create_buffer(size=8))


def test_wrong_type(device, m):
    """A typed buffer is refused by a parameter of another element type. (Feature B1.)"""
    with pytest.raises(TypeError, match="expected StructuredBuffer<float3>, got int tensor"):
        m.count(device.create_buffer(size=36, struct_type=int))


def test_result_into_buffer(device, m):
    """A typed buffer takes a call's result. (Feature R2.)"""
    out = device.create_buffer(element_count=4, struct_type=float)
    m.twice(np.arange(4, dtype=np.float32), _result=out)
    assert out.to_numpy().view(np.float32).tolist() == [0, 2, 4, 6]


def test_buffer_constructor(device):
    """Buffer(device, ...) does the same as create_buffer(). (Feature B1.)"""
    assert spy.Buffer(device, size=12).size == 12


def test_buffers_keep_their_memory(device, m):
    """The memory of a buffer that is dropped stays until the GPU's work on it is done. (Feature B1.)"""
    y = device.create_buffer(size=1 << 20)
    for i in range(10):
        x = device.create_buffer(data=np.full(1 << 18, i, np.float32))
        m.scale.dispatch(1 << 18, x=x, y=y, k=1.0)
        del x
    assert (y.to_numpy().view(np.float32) == 9).all()


def test_cursor(device, m):
    """A cursor writes the elements of a typed buffer by name, and bytes as elements of the type that is given. (Features K5, B8.)"""
    b = device.create_buffer(element_count=3, struct_type=m.Pair)
    b.clear()
    c = b.cursor()
    for i in range(3):
        c[i].write({"a": i + 0.5, "b": [i, 2 * i, 3 * i]})
    c.apply()
    got = b.to_numpy().view(np.dtype([("a", "f4"), ("b", "i4", 3)]))
    assert got["a"].tolist() == [0.5, 1.5, 2.5] and got["b"].tolist() == [[i, 2 * i, 3 * i] for i in range(3)]
    one = b.cursor(1, 1)
    assert one[0].read()["a"] == 1.5
    raw = device.create_buffer(data=np.arange(6, dtype=np.float32))
    assert raw.view((2,), dtype="float3").cursor()[1].read() == spy.float3(3, 4, 5)


def test_tensor_over_buffer(device, m):
    """A tensor over a buffer's memory shares it. (Feature B2.)"""
    raw = device.create_buffer(data=np.arange(6, dtype=np.float32))
    t = raw.view((2, 3), dtype=float)
    assert m.twice(t).to_numpy().tolist() == [[0, 2, 4], [6, 8, 10]]
    m.twice(t, _result=t)
    assert raw.to_numpy().view(np.float32).tolist() == [0, 2, 4, 6, 8, 10]
    with pytest.raises(ValueError):
        raw.view((7,), dtype=float)


def test_display(device):
    """A buffer's repr asks nothing of the GPU; printing it shows its contents. (Features B11, W9.)"""
    b = device.create_buffer(data=np.array([1.5, 2], np.float32), struct_type=float, label="two numbers")
    assert repr(b) == "<slangpy.Buffer 'two numbers' 8 bytes, float (2,)>"
    assert "1.5" in str(b)


def test_views_are_tensors(device):
    """A slice of a buffer, and a buffer seen as another type, is a plain Tensor. (Feature B7.)"""
    b = device.create_buffer(data=np.arange(4, dtype=np.float32))
    for view, want in ((b.view((4,), dtype=float), [0, 1, 2, 3]), (b[4:8].view((1,), dtype=float), [1]), (b.view((2, 1), (2, 1), dtype=float), [[0], [2]])):
        assert type(view) is spy.Tensor and view.to_numpy().tolist() == want
    assert type(spy.NDBuffer(device, float, shape=(4,))[1:]) is spy.NDBuffer

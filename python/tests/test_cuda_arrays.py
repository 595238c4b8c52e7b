"""Arrays in CUDA memory are shared without a copy. Features T1, T3, T5, R1, F6. Arrays come in as arguments, `_result`, fields of
structs, from_torch(), from_dlpack() and NDBuffer(array), through DLPack's functions for C, __dlpack__ and __cuda_array_interface__.
Tensors go out by __dlpack__, __cuda_array_interface__ and to_torch(). The streams of both sides stay in order, and memory lives as long
as somebody uses it.

Without a GPU the tests run in processes of their own on tests/unit/fake_cuda. Its device memory is host memory, so that a class over
ctypes memory is a producer like any other. Kernels do not run there, but the pointers that they get can be seen. On a CUDA machine the
last tests run too, with torch where it is installed."""
import gc

import numpy as np
import pytest

import slangpy as spy
from test_cuda_context import fake, needs_cuda  # noqa: F401

# Producers of arrays over 1 MiB of mapped memory, and the arguments that kernels get.
ARRAYS = '''
import gc, struct, weakref
state_memory = ctypes.create_string_buffer((1 << 20) + 4096)
start = (ctypes.addressof(state_memory) + 4095) & ~4095
state.mapped, state.mapped_size = start, 1 << 20
d = spy.create_device(spy.DeviceType.cuda)
made_of = {"f4": 4, "f8": 8, "f2": 2, "i4": 4, "u4": 4, "u1": 1, "b1": 1, "i8": 8, "c8": 8, "V2": 2, "i2": 2}


class Plain:
    """CAI alone. at: bytes from the start."""
    def __init__(self, shape, typestr="<f4", at=0, strides=None, read_only=False, **more):
        self.dict = dict(shape=shape, typestr=typestr, data=(start + at if at is not None else 0, read_only), strides=strides, version=3, **more)

    @property
    def __cuda_array_interface__(self):
        return self.dict


class Both(ctypes.c_char * 4):
    """The buffer protocol, too, as CuPy's arrays, which refuse it."""
    def __init__(self, *args, **kwargs):
        self.dict = Plain(*args, **kwargs).dict

    __cuda_array_interface__ = Plain.__cuda_array_interface__


class Type(ctypes.Structure):
    _fields_ = [("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16)]


class DL(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("device_type", ctypes.c_int32), ("device", ctypes.c_int32), ("ndim", ctypes.c_int32), ("dtype", Type),
                ("shape", ctypes.POINTER(ctypes.c_int64)), ("strides", ctypes.POINTER(ctypes.c_int64)), ("byte_offset", ctypes.c_uint64)]


class Managed(ctypes.Structure):
    _fields_ = [("version", ctypes.c_uint32 * 2), ("context", ctypes.c_void_p), ("deleter", ctypes.c_void_p), ("flags", ctypes.c_uint64), ("tensor", DL)]


new_capsule = ctypes.pythonapi.PyCapsule_New
new_capsule.restype, new_capsule.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
capsule_pointer = ctypes.pythonapi.PyCapsule_GetPointer
capsule_pointer.restype, capsule_pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
alive = {}  # memory of tensors described to C


def describe(t, a):
    n = len(a.shape)
    shape, strides = (ctypes.c_int64 * n)(*a.shape), (ctypes.c_int64 * n)(*(a.strides or ()))
    alive[id(a)] = shape, strides
    t.data, t.device_type, t.device, t.ndim, t.byte_offset = start + a.at, a.kind, a.device, n, 0
    t.dtype = Type(*a.dtype)
    t.shape = ctypes.cast(shape, ctypes.POINTER(ctypes.c_int64))
    t.strides = ctypes.cast(strides, ctypes.POINTER(ctypes.c_int64)) if a.strides is not None else None


class Packed:
    """DLPack alone: dtype is (code, bits, lanes), strides in elements."""
    def __init__(self, shape, dtype=(2, 32, 1), at=0, strides=None, device=0, kind=2, flags=0):
        self.shape, self.dtype, self.at, self.strides, self.device, self.kind, self.flags = shape, dtype, at, strides, device, kind, flags
        self.streams = []

    def __dlpack_device__(self):
        return self.kind, self.device

    def __dlpack__(self, stream=None, max_version=None):
        self.streams.append(stream)
        m = Managed()
        m.version[0], m.flags = 1, self.flags
        describe(m.tensor, self)
        alive[id(m)] = m
        return new_capsule(ctypes.addressof(m), b"dltensor_versioned", None)


CALL = [ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)] * 2
STREAM = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int32, ctypes.c_int32, ctypes.POINTER(ctypes.c_void_p))
work = {"stream": 0, "views": 0}


class Exchange(ctypes.Structure):
    _fields_ = [("version", ctypes.c_uint32 * 2), ("previous", ctypes.c_void_p), ("allocate", ctypes.c_void_p), ("give", ctypes.c_void_p),
                ("take", CALL[0]), ("view", CALL[1]), ("stream", STREAM)]


class Made:  # what `take` gives
    def __init__(self, managed):
        self.managed = managed

    @property
    def tensor(self):
        return ctypes.cast(self.managed, ctypes.POINTER(Managed)).contents.tensor

    def __del__(self):
        m = ctypes.cast(self.managed, ctypes.POINTER(Managed)).contents
        ctypes.CFUNCTYPE(None, ctypes.c_void_p)(m.deleter)(self.managed)


def take(managed, out):
    made = Made(managed)
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(made))
    ctypes.c_void_p.from_address(out).value = id(made)
    return 0


def view(object, out):
    work["views"] += 1
    describe(DL.from_address(out), ctypes.cast(object, ctypes.py_object).value)
    return 0


def stream_now(kind, device, out):
    out[0] = work["stream"]
    return 0


exchange = Exchange((1, 3), None, None, None, CALL[0](take), CALL[1](view), STREAM(stream_now))


class Fast(Packed):
    """DLPack by functions for C, as torch's tensors."""
    __dlpack_c_exchange_api__ = new_capsule(ctypes.addressof(exchange), b"dlpack_exchange_api", None)

    def __init__(self, shape, dtype=(2, 32, 1), at=0, strides=None, **more):
        if strides is None:
            strides = [int(np.prod(shape[i + 1:])) for i in range(len(shape))]
        super().__init__(shape, dtype, at, strides, **more)


KERNEL = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.POINTER(ctypes.c_uint), ctypes.POINTER(ctypes.c_void_p), ctypes.c_void_p)
blocks = []


def on_kernel(function, grid, params, user):
    size = ctypes.c_size_t.from_address(function + 264).value
    count = ctypes.c_uint.from_address(function + 256).value
    assert count == 1
    blocks.append(ctypes.string_at(params[0], size))


seen = KERNEL(on_kernel)
state.on_kernel = ctypes.cast(seen, ctypes.c_void_p)


def places(block):
    """What pointers into the mapped memory a kernel got, as bytes from its start."""
    words = [struct.unpack_from("<Q", block, i)[0] for i in range(0, len(block) - 7, 4)]
    return sorted({w - start for w in words if start <= w < start + (1 << 20)})


def floats(at, n):
    return np.ctypeslib.as_array((ctypes.c_float * n).from_address(start + at))


SLANG = """
struct P { float a; float b; }
struct Holder { float x; int y; }
float add(float a, float b) { return a + b; }
float twice(double a) { return float(a); }
double wide(double a) { return a; }
int count(int a) { return a; }
bool both(bool a, bool b) { return a && b; }
half small(half a) { return a; }
float3 vectors(float3 v) { return v; }
void fill(out float x) { x = 1; }
float of(Holder h) { return h.x; }
float whole(Tensor<float, 1> t, int i) { return t[i]; }
float ofp(P p) { return p.a; }
"""
m = spy.Module.load_from_source(d, "arrays", "import slangpy;" + SLANG)
'''


@pytest.fixture(scope="module")
def arrays(fake):  # noqa: F811
    return lambda script: fake(ARRAYS + script)


def test_numbers_of_padded_elements_are_copied_in(fake):
    """copy_from_numpy() of an array of the elements' own numbers fills the tensor where an element takes more room on the device than its
    numbers, as a half3 on CUDA (8 bytes for 6); other arrays are copied byte by byte. (Feature T2.)"""
    fake("""
d = spy.create_device(spy.DeviceType.cuda)
module = spy.Module.load_from_source(d, "padded", "half3 same(half3 a) { return a; } half2x3 same(half2x3 a) { return a; }")
for name, shape in (("half3", (3,)), ("half2x3", (2, 3)), ("half4", (4,))):
    t = spy.Tensor.zeros(d, (2, 5), module[name])
    values = np.random.default_rng(3).random((2, 5, *shape)).astype(np.float16)
    t.copy_from_numpy(values)
    assert np.array_equal(t.to_numpy(), values), name
t = spy.Tensor.zeros(d, (2,), module.half3)
t.copy_from_numpy(np.arange(1, 9, dtype=np.float16))  # bytes of two padded elements
assert t.to_numpy().tolist() == [[1, 2, 3], [5, 6, 7]], t.to_numpy()
raises(spy.Error, "copy_from_numpy: Shape mismatch: expected at most 16 bytes, got 18", t.copy_from_numpy, np.zeros(9, np.float16))
""")


def test_in_without_copy(arrays):
    """A kernel gets the addresses of the arrays themselves, whichever protocol offers them; also for fields, by name and in `_result`.
    (Features T1, F6.)"""
    arrays("""
for kind in (Plain, Both, Packed, Fast):
    a, b, out = kind((8,), at=256), kind((8,), at=512), kind((8,), at=1024)
    for use in (lambda: m.add(a, b, _result=out), lambda: m.add(a=a, b=b, _result=out), lambda: m.add.return_type("tensor")(a, b, _result=out)):
        for _ in range(4):  # the short way, too
            blocks.clear()
            assert use() is out
            assert [places(x) for x in blocks] == [[256, 512, 1024]], (kind, blocks)
    blocks.clear()
    m.of({"x": a, "y": 1}, _result=out)
    assert places(blocks[0]) == [256, 1024]
    m.fill(kind((8,), at=2048))
    assert places(blocks[1]) == [2048]
    m.whole(a, 1, _result=kind((), at=64))
    assert places(blocks[2]) == [64, 256], places(blocks[2])
    # new objects at the same and at other places
    for at in (256, 4096, 256, 8192):
        m.add(kind((8,), at=at), b, _result=out)
        assert places(blocks[-1]) == sorted([at, 512, 1024])
    m.add(a, 2.5, _result=kind((8,), at=256))  # in place
    assert places(blocks[-1]) == [256]
""")


def test_strides(arrays):
    """Views with strides of all kinds are passed as they are; a tensor of slangpy reads them as a check. (Feature T1.)"""
    arrays("""
host = np.arange(1024, dtype=np.float32)
floats(0, 1024)[:] = host
table = host.reshape(8, 16, 8)
for view in (table, table[2:5], table[:, ::2], table[..., ::-1], table[::-1, 3:9:2, ::-2], table.T, table.transpose(1, 2, 0)[3], table[:, :1], table[2, 3, 4:5].reshape(()),
             np.broadcast_to(table[0, 0], (5, 8)), table[3:3], table[:, 4:4, ::-1], table[None, :, :, None, 2:3]):
    at = view.__array_interface__["data"][0] - host.__array_interface__["data"][0]
    items = [s // 4 for s in view.strides]
    unsigned = [s % 2**64 // 4 for s in view.strides]  # as CuPy 14 says x[::-1]
    for made in (Plain(view.shape, at=at, strides=view.strides), Packed(view.shape, at=at, strides=items), Fast(view.shape, at=at, strides=items),
                 Packed(view.shape, at=at, strides=unsigned)):
        t = spy.Tensor.from_dlpack(d, made)
        assert tuple(t.shape) == view.shape and np.array_equal(t.to_numpy(), view), (view.shape, view.strides)
        assert np.array_equal(spy.Tensor.from_numpy(d, made).to_numpy(), view)
        m.add(made, 1.0, _result="tensor")
floats(0, 1)[0] = 77  # shared, not copied
assert spy.Tensor.from_torch(d, Plain((4,))).to_numpy().tolist() == [77, 1, 2, 3]
copy = spy.Tensor.from_numpy(d, Plain((4,)))
t = spy.Tensor.from_torch(d, Fast((4,)))
t.copy_from_numpy(np.full(4, 5, np.float32))
assert floats(0, 5).tolist() == [5, 5, 5, 5, 4] and copy.to_numpy().tolist() == [77, 1, 2, 3]
t[1:3].copy_from_numpy(np.zeros(2, np.float32))
assert floats(0, 4).tolist() == [5, 0, 0, 5]
t.copy_from_numpy(copy)  # a tensor as another's array
assert t.to_numpy().tolist() == [77, 1, 2, 3]
""")


def test_types(arrays):
    """Every dtype that Slang has is shared. A double array is refused for a float parameter, and dtypes that Slang does not have are
    named in the error. (Features T1, T5.)"""
    arrays("""
for typestr, code, name in (("<f4", (2, 32, 1), "float"), ("<f8", (2, 64, 1), "double"), ("<f2", (2, 16, 1), "half"), ("|b1", (6, 8, 1), "bool"), ("|u1", (1, 8, 1), "uint8_t"),
                            ("|i1", (0, 8, 1), "int8_t"), ("<i2", (0, 16, 1), "int16_t"), ("<u2", (1, 16, 1), "uint16_t"), ("<i4", (0, 32, 1), "int"),
                            ("<u4", (1, 32, 1), "uint"), ("<i8", (0, 64, 1), "int64_t"), ("<u8", (1, 64, 1), "uint64_t")):
    wanted = np.arange(6).astype(np.dtype(typestr)).reshape(2, 3)
    ctypes.memmove(start, wanted.ctypes.data, wanted.nbytes)
    for made in (Plain((2, 3), typestr), Packed((2, 3), code), Fast((2, 3), code)):
        got = spy.Tensor.from_dlpack(d, made)
        assert got.dtype.name == name and got.to_numpy().dtype == wanted.dtype and np.array_equal(got.to_numpy(), wanted), (name, got.dtype)
for kind, double, bools, ints in ((Plain, ("<f8",), ("|b1",), ("<i4",)), (Packed, ((2, 64, 1),), ((6, 8, 1),), ((0, 32, 1),)), (Fast, ((2, 64, 1),), ((6, 8, 1),), ((0, 32, 1),))):
    raises(TypeError, "'a': expected float, got double tensor (8,); a tensor's numbers are not converted from double to float", m.add, kind((8,), *double), 1.0)
    m.add(1.0, kind((8,)), _result=kind((8,), *bools, at=64))
    assert places(blocks[-1]) == [0, 64]
    m.add(1.0, kind((8,), at=64), _result=kind((8,), *ints))
    assert places(blocks[-1]) == [0, 64]
    m.both(kind((8,), *bools), True, _result=kind((8,), *bools, at=64))
    assert places(blocks[-1]) == [0, 64]
    m.vectors(kind((7, 3)), _result=kind((7, 3), at=512))
    assert places(blocks[-1]) == [0, 512]
    raises(ValueError, "(7, 2)", m.vectors, kind((7, 2)))
say = "argument 'a': Unsupported type: an array of "
for code, word in (((4, 16, 1), "bfloat16"), ((5, 64, 1), "complex64"), ((2, 32, 4), "4 lanes"), ((10, 8, 1), "code 10 with 8 bits"), ((1, 4, 1), "4 bits")):
    for kind in (Packed, Fast):
        raises(TypeError, "add: " + say, m.add, kind((8,), code), 1.0)
        raises(TypeError, word, m.add, kind((8,), code), 1.0)
        raises(TypeError, "Tensor.from_torch: argument 'array': Unsupported type: ", spy.Tensor.from_torch, d, kind((8,), code))
for typestr, word in (("<c8", "complex numbers ('<c8')"), (">f4", "big-endian numbers"), ("<V2", "other elements"), ("<U4", "other"), ("f", "other"), (5, "other"), ("<f3", "other")):
    raises(TypeError, "add: " + say + word, m.add, Plain((8,), typestr), 1.0)
""")


def test_bad_arrays(arrays):
    """The error for an array that cannot be shared names the function and the argument, and nothing is launched. (Feature T1.)"""
    arrays("""
good = Fast((8,), at=512)
m.add(good, good)
blocks.clear()
for kind in (Packed, Fast):
    raises(ValueError, "add: argument 'b': expected an array in the memory of cuda:0, which is the device's GPU, got one of cuda:1", m.add, good, kind((8,), device=1))
    raises(ValueError, "add: argument 'b'", m.add, a=good, b=kind((8,), device=1))
    raises(ValueError, "Tensor.from_dlpack: argument 'array': expected an array in the memory of cuda:0", spy.Tensor.from_dlpack, d, kind((8,), device=1))
    raises(ValueError, "at most 8 dimensions, got 9", m.add, kind((1,) * 9), 1.0)
    raises(ValueError, "in dimension 0", m.add, kind((1 << 40, 2), strides=[1 << 40, 1]), 1.0)
    raises(ValueError, "elements of stride", m.add, kind((-1,), strides=[1]), 1.0)
    raises(ValueError, "a multiple of 4", m.add, kind((8,), at=2), 1.0)
raises(ValueError, "add: argument 'a': __cuda_array_interface__: expected strides that are multiples of the elements' 4 bytes, got (6,)", m.add, Plain((8,), strides=(6,)), 1.0)
outside = Plain((8,))
outside.dict["data"] = (16, False)
raises(ValueError, "add: argument 'a': CUDA array: 0x10 is no memory of CUDA's", m.add, outside, 1.0)
second = new_context(1)
make_current(second)
other = ctypes.c_uint64()
assert cu.cuMemAlloc_v2(ctypes.byref(other), 4096) == 0
make_current(0)
outside.dict["data"] = (other.value, False)
raises(ValueError, "memory of device 2, this one is device 1", m.add, outside, 1.0)
mine = spy.Tensor.empty(d, (64,), "float")
outside.dict.update(data=(mine.device_address, False), shape=(1 << 24,))
raises(ValueError, "the allocation has", m.add, outside, 1.0)
for dict_ in ({}, {"shape": (8,)}, {"shape": (8,), "data": 5}, {"shape": "x", "data": (start, False)}, {"shape": (8,), "data": ("x", False), "typestr": "<f4"}, 5):
    outside.dict = dict_
    raises(TypeError, "", m.add, outside, 1.0)
raises(TypeError, "a masked array", m.add, Plain((8,), mask=good), 1.0)
# read-only ones are read, and only read
for fixed in (Plain((8,), read_only=True), Packed((8,), flags=1)):
    m.add(fixed, fixed, _result=good)
    assert places(blocks.pop()) == [0, 512]
    raises(TypeError, "'_result' is written: expected a tensor that may be, got a read-only one", m.add, 1.0, good, _result=fixed)
    raises(TypeError, "'x' is written", m.fill, fixed)
    raises(ValueError, "Tensor.from_torch: expected an array that may be written, got a read-only one; from_numpy() copies it", spy.Tensor.from_torch, d, fixed)
    spy.Tensor.from_numpy(d, fixed).to_numpy()
m.fill(Plain((8,)))  # the same array, when it may be written
blocks.pop()
assert blocks == []
class Broken(Fast):
    __dlpack_c_exchange_api__ = 5
m.add(Broken((8,), at=1024), 1.0)
assert places(blocks.pop()) == [1024]
empty = Plain((0, 3), at=None)
assert spy.Tensor.from_torch(d, empty).to_numpy().shape == (0, 3) and m.add(empty, 1.0).to_numpy().shape == (0, 3)
assert blocks == []
host = Fast((4,), kind=1)  # in host memory: as ever
floats(0, 4)[:] = [1, 2, 3, 4]
assert spy.Tensor.from_torch(d, host).to_numpy().tolist() == [1, 2, 3, 4]
assert host.streams[-1] is None
""")


def test_streams_of_producers(arrays):
    """The device's stream waits for the producer's stream before the call, and the producer's stream waits for the device's after it. If
    both are the same stream, nothing waits. (Features F6, T1.)"""
    arrays("""
own = context_of(d)
side, third = new_stream(own), new_stream(own)
a = spy.Tensor.zeros(d, (8,), "float")
m.add(a, 1.0, _result=a)
ours = state.stream
log = []
waited = cu.cuStreamWaitEvent
def orders(call):
    state.waiting = state.waits_for = None
    before = state.waits
    call()
    return state.waits - before, state.waiting, state.waits_for, state.stream
assert orders(lambda: m.add(a, 1.0, _result=a))[0] == 0
out = Fast((8,), at=512)
for stream, name in ((0, 1), (side, side), (third, third)):
    work["stream"] = stream
    assert orders(lambda: m.add(Fast((8,)), Fast((8,), at=64), _result=out)) == (2, name, ours, ours)
    assert orders(lambda: m.add(Plain((8,), stream=stream or 1), 1.0, _result=a)) == (2, name, ours, ours)
packed = Packed((8,))
assert orders(lambda: m.add(packed, 1.0, _result=a)) == (2, 1, ours, ours) and packed.streams == [ours]
assert orders(lambda: m.add(Plain((8,)), 1.0, _result=a)) == (2, 1, ours, ours)
work["stream"] = side  # two producers
assert orders(lambda: m.add(Plain((8,), stream=third), Fast((8,), at=64), _result=a))[0] == 4
# on the producer's own stream there is nothing to do but to go there and back
assert orders(lambda: m.add.cuda_stream(side)(Fast((8,)), 1.0, _result=a))[3] == side
raises(ValueError, "at most 4 CUDA streams", m.whole, Plain((8,), stream=new_stream(own)), Plain((8,), stream=new_stream(own)),
       Plain((8,), stream=new_stream(own)), Plain((8,), stream=new_stream(own)), Plain((8,), stream=new_stream(own)))
raises(ValueError, "another context", m.add, Plain((8,), stream=new_stream(new_context(1))), 1.0)
assert orders(lambda: m.add(a, 1.0, _result=a)) == (0, None, None, ours)
# a device that follows
e = spy.create_device(spy.DeviceType.cuda)
e._follow = Fast
n = spy.Module.load_from_source(e, "arrays", "import slangpy;" + SLANG)
for stream, name in ((side, side), (third, third), (0, 1), (0, 1)):
    work["stream"] = stream
    n.add(Fast((8,)), 1.0, _result=out)
    assert state.stream == name
    assert orders(lambda: n.add(Fast((8,)), 1.0, _result=out)) == (0, None, None, name)
    assert orders(lambda: n.add(Plain((8,), stream=name), 1.0, _result=out))[0] == 0
    assert orders(lambda: e.wait())[0] == 0
""")


def test_results(arrays):
    """A call with arrays of a library returns an array of that library over the result's own memory; `_result` and scalar results are
    not changed by it. (Feature R1.)"""
    arrays("""
a = Fast((2, 4))
made = m.add(a, 1.0)
assert type(made) is Made
t = made.tensor
assert (t.device_type, t.device, t.ndim, [t.shape[i] for i in range(2)], [t.strides[i] for i in range(2)]) == (2, 0, 2, [2, 4], [4, 1])
block = blocks[-1]
assert struct.pack("<Q", t.data) in block
assert isinstance(m.add(a, 1.0, _result="tensor"), spy.Tensor) and isinstance(m.add(a, 1.0, _result="numpy"), np.ndarray)
assert isinstance(m.add(Packed((2, 4)), 1.0), spy.Tensor) and isinstance(m.add(Plain((2, 4)), 1.0), spy.Tensor)
assert type(m.vectors(Fast((5, 3)))) is Made
before = d.stats()["used_bytes"]
many = [m.add(a, 1.0) for _ in range(10)]
held = d.stats()["used_bytes"]
assert held > before
del many, made, t
gc.collect()
d.stats()
assert d.stats()["used_bytes"] < before + 1
spy.Tensor.zeros(d, (3,))
d.close()  # and the rest afterwards
""")


def test_results_of_a_device_that_follows(arrays):
    """Results of a device in the producer's stream are arrays without a Tensor or a lease, and their memory goes back to the device in
    the order of the producer's stream, also if that is another stream by then. (Feature R1.)"""
    arrays("""
side, third = new_stream(context_of(d)), new_stream(context_of(d))
d._follow, work["stream"] = Fast, side
a = Fast((2, 4))
m.add(a, 1.0), m.add(a, 1.0)
gc.collect()
def kinds():
    return sum(type(o).__name__ in ("Tensor", "_Lease") for o in gc.get_objects())
before, used = kinds(), d.stats()["used_bytes"]
many = [m.add(a, 1.0) for _ in range(10)]
assert kinds() == before
assert [(made.tensor.ndim, made.tensor.shape[1], made.tensor.strides[0], made.tensor.device_type) for made in many] == [(2, 4, 4, 2)] * 10
assert len({made.tensor.data for made in many}) == 10 and d.stats()["used_bytes"] > used
assert struct.pack("<Q", many[-1].tensor.data) in blocks[-1]
del many
assert d.stats()["used_bytes"] == used
made = m.add(a, 1.0)
work["stream"] = third
m.add(Fast((2, 4)), 1.0, _result=Fast((2, 4), at=512))  # the device's work goes to the other stream now
waits = state.waits
del made
d.wait()
assert (state.waits, state.waiting) == (waits + 1, third)  # its memory is used again behind the stream that had it
assert d.stats()["used_bytes"] == used
made = m.add(a, 1.0)
d.close()
del made
""")


def test_out(arrays):
    """__dlpack__ and __cuda_array_interface__ give the tensor's own memory, its strides, and the order of streams. (Features T1, T3.)"""
    arrays("""
own = context_of(d)
t = spy.Tensor.from_numpy(d, np.arange(24, dtype=np.float32).reshape(2, 3, 4))
m.add(t, 1.0, _result="tensor")
ours, side = state.stream, new_stream(own)
assert t.__dlpack_device__() == (2, 0)
i = t.__cuda_array_interface__
assert i == dict(shape=(2, 3, 4), typestr="<f4", data=(t.device_address, False), strides=None, version=3, stream=ours), i
part = t[1, ::2, ::-1]
i = part.__cuda_array_interface__
assert (i["shape"], i["strides"], i["data"][0]) == ((2, 4), (32, -4), t.device_address + 4 * (12 + 3))
def read(capsule, name=b"dltensor_versioned"):
    m = ctypes.cast(capsule_pointer(capsule, name), ctypes.POINTER(Managed)).contents
    x = m.tensor if name != b"dltensor" else ctypes.cast(capsule_pointer(capsule, name), ctypes.POINTER(DL)).contents
    return x.data, x.device_type, x.device, [x.shape[i] for i in range(x.ndim)], [x.strides[i] for i in range(x.ndim)], (x.dtype.code, x.dtype.bits), m.flags
waits = state.waits
c = part.__dlpack__(stream=side, max_version=(1, 0))
assert (state.waiting, state.waits_for) == (side, ours) and state.waits > waits
assert read(c)[:6] == (t.device_address + 60, 2, 0, [2, 4], [8, -1], (2, 32)) and read(c)[6] == 0
# while it lives, work of both sides is in order
waits = state.waits
d.flush()
assert state.waits == waits + 2 and (state.waiting, state.waits_for) == (side, ours)
del c
d.flush()
waits = state.waits
d.flush()
assert state.waits == waits
address = t.device_address
c = t.__dlpack__()
assert (state.waiting, state.waits_for) == (1, ours) and read(c, b"dltensor")[:4] == (address, 2, 0, [2, 3, 4])  # None is CUDA's default stream
del c
d.flush()
waits = state.waits
c = t.__dlpack__(stream=-1, copy=False, dl_device=(2, 0))
d.flush()
assert state.waits <= waits + 2
del c
d.flush()
copy = read(t.__dlpack__(stream=-1, copy=True, max_version=(1, 0)))
assert copy[0] != t.device_address and copy[1] == 2 and copy[6] == 2
host = read(t.__dlpack__(dl_device=(1, 0), max_version=(1, 0)))
assert host[1] == 1 and host[0] != t.device_address
raises(BufferError, "'dl_device': expected (1, 0), host memory, or the tensor's own device, got (2, 1)", t.__dlpack__, dl_device=(2, 1))
raises(BufferError, "'copy': expected True or None", t.__dlpack__, dl_device=(1, 0), copy=False)
raises(TypeError, "handle as int", t.__dlpack__, stream="x")
vectors = spy.Tensor.zeros(d, (5,), "float3").__cuda_array_interface__
assert vectors["shape"] == (5, 3) and vectors["typestr"] == "<f4"
for dtype, typestr in (("bool", "|b1"), ("half", "<f2"), ("uint8_t", "|u1"), ("int64_t", "<i8"), ("double", "<f8")):
    assert spy.Tensor.zeros(d, (2,), dtype).__cuda_array_interface__["typestr"] == typestr
structs = spy.Tensor.zeros(d, (5,), m.Holder)
assert not hasattr(structs, "__cuda_array_interface__")
raises(BufferError, "no form in DLPack", structs.__dlpack__)
empty = spy.Tensor.zeros(d, (0, 2), "float")
assert empty.__cuda_array_interface__["data"] == (0, False) and not read(empty.__dlpack__(max_version=(1, 0)))[0]
# there and back: the same memory
back = spy.Tensor.from_dlpack(d, t.__dlpack__(stream=-1))
back[0, 0].copy_from_numpy(np.full(4, 9, np.float32))
assert t.to_numpy()[0, 0].tolist() == [9] * 4
""")


def test_structs(arrays):
    """Arrays of numbers are used as vectors and structs without a copy. (Feature T5.)"""
    arrays("""
floats(0, 24)[:] = np.arange(24)
t = spy.Tensor.from_torch(d, Fast((12, 2)), dtype=m.P)
assert tuple(t.shape) == (12,) and t.to_numpy(structured=True)["b"].tolist() == list(range(1, 24, 2))
v = spy.Tensor.from_dlpack(d, Plain((4, 2, 3)), "float3")
assert tuple(v.shape) == (4, 2) and v.dtype.full_name == "vector<float,3>" and v.to_numpy().reshape(-1).tolist() == list(range(24))
every = spy.NDBuffer.from_torch(d, Fast((2, 3), strides=[12, 1]), dtype="float3")
assert tuple(every.strides) == (4,) and every.to_numpy().tolist() == [[0, 1, 2], [12, 13, 14]]
m.ofp(t, _result=Fast((12,), at=512))
assert places(blocks[-1]) == [0, 512]
assert spy.Tensor.from_torch(d, Fast((12,)), "float").dtype.name == "float"
raises(ValueError, "Shape mismatch", spy.Tensor.from_torch, d, Fast((12, 2)), dtype="float3")
raises(TypeError, "expected one whose numbers are all float, as the array's, got int", spy.Tensor.from_torch, d, Fast((12,)), dtype="int")
raises(TypeError, "as the array's, got ", spy.Tensor.from_torch, d, Fast((12, 2)), dtype=m.Holder)
raises(ValueError, "without gaps", spy.Tensor.from_torch, d, Fast((2, 3), strides=[8, 1]), dtype="float3")
raises(ValueError, "without gaps", spy.Tensor.from_torch, d, Fast((2, 3), strides=[1, 2]), dtype="float3")
spy.push_current_device(d)
assert np.array_equal(spy.NDBuffer(Fast((4,))).to_numpy(), [0, 1, 2, 3])
floats(0, 1)[0] = 5
""")


def test_lifetime(arrays):
    """Shared memory lives as long as one side uses it, in any order of release; a recorded call keeps its arrays. (Features T1, T3.)"""
    arrays("""
class Owner(Packed):
    pass
def gone(ref):
    gc.collect()
    d.flush()
    return ref() is None
class Plain2(Plain):
    pass
a = Plain2((8,))
ref, t = weakref.ref(a), spy.Tensor.from_dlpack(d, a)
part = t[2:4]
del a
assert not gone(ref)
del t
assert not gone(ref)
del part
assert gone(ref)
assert d.stats()["used_bytes"] >= 0
# out
t = spy.Tensor.zeros(d, (1000,), "float")
used = d.stats()["used_bytes"]
c = t.__dlpack__(stream=-1)
del t
gc.collect()
assert d.stats()["used_bytes"] == used
del c
d.flush()
assert d.stats()["used_bytes"] < used
# recorded
a = Plain2((8,))
ref = weakref.ref(a)
encoder = d.create_command_encoder()
m.add(a, 1.0, _result=spy.Tensor.zeros(d, (8,), "float"), _append_to=encoder)
del a
assert not gone(ref)
commands = encoder.finish()
d.submit_command_buffer(commands)
assert not gone(ref)
del encoder, commands
d.wait()
assert gone(ref)
# a device that is closed first
t = spy.Tensor.zeros(d, (8,), "float")
c, shared = t.__dlpack__(), spy.Tensor.from_torch(d, Fast((8,)))
made = m.add(Fast((8,)), 1.0)
d.close()
del c, shared, made, t
gc.collect()
raises(spy.Error, "closed", m.add, Fast((8,)), 1.0)
""")


def test_many(arrays):
    """10,000 calls with new objects, at more addresses than the cache of arrays remembers, do not grow the process's memory, and threads may
    make such calls at the same time. (Feature T1.)"""
    arrays("""
import resource, threading
a, b, out = Fast((8,)), Fast((8,), at=64), Fast((8,), at=512)
def resident():
    return int(open("/proc/self/statm").read().split()[1]) * resource.getpagesize()
def some(n, step):
    for i in range(n):
        alive.clear()
        m.add(Fast((8,), at=(i * step) % 65536), b, _result=out)
        m.add(Plain((8,)), b, _result=out)
        if i % 16 == 0:
            m.add(a, b)
        blocks.clear()
for i in range(1000):
    x = Fast((8,), at=64 * (i % 900))
    m.add(x, b, _result=out)
    assert places(blocks.pop()) == sorted({64 * (i % 900), 64, 512})
some(500, 64)
gc.collect()
before = resident()
some(10000, 64)
gc.collect()
assert resident() - before < 4 << 20, resident() - before
errors = []
def mix(seed):
    try:
        for i in range(400):
            at = 64 * ((i * 7 + seed * 131) % 800)
            m.add(Plain((8,), at=at) if i % 3 else Fast((8,), at=at), Packed((8,), at=64), _result=out)
    except Exception as error:
        errors.append(error)
threads = [threading.Thread(target=mix, args=(s,)) for s in range(4)]
[t.start() for t in threads]
[t.join() for t in threads]
assert not errors, errors
""")


def test_gradients_are_not_lost(arrays):
    """An array that requires a gradient is refused by every function that takes arrays, except within torch.no_grad(). (Feature T2.)"""
    arrays("""
class Asked(Fast):
    asked = 0
    wanted = True
    @property
    def requires_grad(self):
        Asked.asked += 1
        return self.wanted

class Slow(Packed):
    requires_grad = True

words = "requires a gradient, which only a direct call of a function gives to torch: write x.detach()"
b, out = Fast((8,), at=64), Fast((8,), at=512)
for kind in (Asked, Slow):
    a = kind((8,), at=256)
    for use in (lambda: m.add(a, b), lambda: m.add(b, b, _result=a), lambda: m.of({"x": a, "y": 1}), lambda: m.of((a, 1)),
                lambda: m.fill(a), lambda: m.add.bwds(a, b), lambda: m.add.explain(a, b), lambda: m.whole(a, 1),
                lambda: spy.Tensor.from_torch(d, a), lambda: spy.Tensor.from_dlpack(d, a), lambda: spy.Tensor.from_numpy(d, a)):
        blocks.clear()
        raises(RuntimeError, words, use)
        assert not blocks
    raises(RuntimeError, "add: argument 'b': it " + words, m.add, b, a)
enabled = [False]
sys.modules["torch"] = types.SimpleNamespace(is_grad_enabled=lambda: enabled[0])
a = Asked((8,), at=256)
m.add(a, b, _result=out)
assert places(blocks.pop()) == [64, 256, 512]
enabled[0] = True
raises(RuntimeError, words, m.add, a, b)
Asked.wanted, before = False, Asked.asked
m.add(a, b, _result=out)
assert Asked.asked == before + 1 and places(blocks.pop()) == [64, 256, 512]
""")


KERNELS = """
[CudaKernel] void scale(int count, TensorView<float> input, TensorView<float> output) {
    uint i = cudaBlockIdx().x * cudaBlockDim().x + cudaThreadIdx().x; if (i < count) output[i] = 2 * input[i]; }
[CUDAKernel] [Differentiable] void square(no_diff int count, DiffTensorView<float> input, DiffTensorView<float> output) {
    uint i = cudaBlockIdx().x * cudaBlockDim().x + cudaThreadIdx().x; if (i < count) output[i] = input[i] * input[i]; }
[CudaKernel] void unguarded(TensorView<float> output) { output[cudaBlockIdx().x * cudaBlockDim().x + cudaThreadIdx().x] = 1; }
"""


def test_cuda_kernels_are_called(arrays):
    """[CudaKernel] and [CUDAKernel] functions by keywords, with _thread_count; .bwds; the kernel is compiled and gets the views. (Features U5, V15.)"""
    arrays("k = spy.Module.load_from_source(d, 'kernels', " + repr(KERNELS) + ")" + """
x, y = Fast((5,), at=256), Fast((5,), at=512)
k.scale(count=5, input=x, output=y, _thread_count=5)
assert places(blocks.pop()) == [256, 512]
t, u = spy.Tensor.zeros(d, (5,)).with_grads(), spy.Tensor.zeros(d, (5,)).with_grads()
k.square(count=5, input=t, output=u, _thread_count=5)
assert not any(blocks.pop()[-28 * 4 + 56:-28 * 4 + 56]) and not blocks
k.square.bwds(count=5, input=t, output=u, _thread_count=5)
block = blocks.pop()
words = [struct.unpack_from("<Q", block, i)[0] for i in range(0, len(block) - 7, 4)]
for tensor in (t, t.grad, u, u.grad):
    assert tensor.device_address in words
k.square.bwds(count=5, input=spy.diffPair(x, y), output=spy.diffPair(y, x), _thread_count=5)
assert places(blocks.pop()) == [256, 512]
raises(ValueError, "scale: it is a [CudaKernel]", k.scale, 5, x, y)
raises(ValueError, "_thread_count=, got none; dispatch() runs it, too", k.scale, 5, x, y)
raises(spy.Error, "scale: ", k.scale.bwds, 5, x, y, _thread_count=5)
raises(TypeError, "'output': expected TensorView<float>, got int tensor (8,); it takes a tensor of exactly these elements", k.scale, 5, x,
       spy.Tensor.zeros(d, (8,), "int"), _thread_count=5)
assert not blocks
""")


def test_other_devices(device):
    """A Vulkan device copies CUDA arrays through host memory, and its tensors have no CUDA interface. (Feature T1.)"""
    if device.info.type == spy.DeviceType.cuda:
        pytest.skip("the device is CUDA's")
    t = spy.Tensor.from_numpy(device, np.arange(3, dtype=np.float32))
    assert not hasattr(t, "__cuda_array_interface__") and t.__dlpack_device__() == (1, 0)

    class Elsewhere:
        __cuda_array_interface__ = dict(shape=(3,), typestr="<f4", data=(16, False), version=3)

        def get(self):
            return np.arange(3, dtype=np.float32)

    for make in (spy.Tensor.from_torch, spy.Tensor.from_dlpack, spy.Tensor.from_numpy):
        assert make(device, Elsewhere()).to_numpy().tolist() == [0, 1, 2]


# >>on a GPU, with torch

SLANG = """
struct P { float a; float b; }
float add(float a, float b) { return a + b; }
void twice(inout float x) { x = 2 * x; }
float3 turn(float3 v) { return v.zxy; }
float sum(P p) { return p.a + p.b; }
T same<T>(T x) { return x; }
bool flip(bool a) { return !a; }
float scaled(float x, float s) { return x * s; }
"""


@pytest.fixture(scope="module")
def torch():
    found = pytest.importorskip("torch")
    if not found.cuda.is_available():
        pytest.skip("this torch has no CUDA")
    return found


@pytest.fixture(scope="module", params=["follows torch", "own stream"])
def beside(request, torch):
    """Returns two modules: one on a device that works in torch's stream, one on a device that does not."""
    d = spy.create_torch_device() if request.param == "follows torch" else spy.create_device(spy.DeviceType.cuda)
    yield spy.Module.load_from_source(d, "arrays_on_gpu", SLANG)
    d.close()


@needs_cuda
def test_torch_values(torch, beside):
    """Memory is shared between torch and slangpy in both directions without a copy. (Features T1, R1.)"""
    a, b = torch.rand(1000, device="cuda"), torch.rand(1000, device="cuda")
    out = torch.empty_like(a)
    for _ in range(5):
        assert beside.add(a, b, _result=out) is out
        assert torch.equal(out, a + b)
        a.mul_(2)
    made = beside.add(a, 1.0)
    assert isinstance(made, torch.Tensor) and made.is_cuda and torch.equal(made, a + 1)
    place = a.data_ptr()
    beside.twice(a)
    again = a / 2
    beside.twice(a)
    assert a.data_ptr() == place and torch.equal(a, again * 4)
    a.resize_(10)
    a.set_(torch.arange(7, device="cuda", dtype=torch.float32))
    assert torch.equal(beside.add(a, a), 2 * torch.arange(7, device="cuda", dtype=torch.float32))
    grown = torch.ones(5, device="cuda", requires_grad=True)
    for made in (beside.add(grown, 1.0), beside.add(torch.nn.Parameter(a[:5]), 1.0), beside.add(grown * 2, 1.0)):
        assert made.requires_grad  # the result is a node of torch's graph, which tests/torch tests
    for use in (lambda: beside.add(a[:5], 1.0, _result=grown), lambda: spy.Tensor.from_torch(beside.device, grown)):
        with pytest.raises(RuntimeError, match="requires a gradient"):
            use()
    assert torch.equal(beside.add(grown.detach(), 1.0), torch.full((5,), 2.0, device="cuda"))
    with torch.no_grad():
        assert torch.equal(beside.add(grown, 1.0), torch.full((5,), 2.0, device="cuda"))
        assert torch.equal(beside.add(grown * 2, 1.0), torch.full((5,), 3.0, device="cuda"))
    assert torch.equal(beside.add(torch.tensor(2.0, device="cuda"), a), a + 2)
    assert beside.add(torch.empty(0, 3, device="cuda"), 1.0).shape == (0, 3)
    assert torch.equal(beside.turn(torch.arange(12, device="cuda").float().view(4, 3)).cpu(), torch.arange(12).float().view(4, 3)[:, [2, 0, 1]])
    host = torch.arange(4).float()
    assert beside.add(host, 1.0).tolist() == [1, 2, 3, 4]


@needs_cuda
def test_torch_views(torch, beside):
    """Slices and other torch tensors with gaps are inputs and outputs. (Feature T1.)"""
    x = torch.rand(6, 8, 10, device="cuda")
    for view in (x.permute(2, 0, 1), x[1:4], x[:, ::3], x[2, 3, 4], x[..., 1::2], x[:, :1].expand(6, 8, 10), x.t() if x.ndim == 2 else x.mT, x.diagonal(dim1=0, dim2=1)):
        made = beside.add(view, 1.0)  # an array without dimensions gives a number
        assert torch.equal(made, view + 1) if view.ndim else made == float(view + 1)
        out = torch.zeros_like(x)
        place = out.permute(2, 0, 1)
        if view.shape == place.shape:
            beside.add(view, view, _result=place)
            assert torch.equal(place, view + view)
    odd = torch.arange(101, device="cuda").float()[1:]  # the data is not aligned to vectors
    assert torch.equal(beside.add(odd, odd), odd + odd)


@needs_cuda
def test_torch_types(torch, beside):
    """torch tensors of all dtypes are arguments, also as structs and vectors. (Features T1, T5.)"""
    for name in ("float32", "float64", "float16", "int8", "uint8", "int16", "int32", "int64"):
        x = torch.arange(50, device="cuda").to(getattr(torch, name))
        same = beside.same(x)
        assert same.dtype == x.dtype and torch.equal(same, x), name
    flags = torch.arange(50, device="cuda") % 3 == 0
    assert torch.equal(beside.flip(flags), ~flags)
    with pytest.raises(TypeError, match="add: argument 'a': Unsupported type: an array of complex64"):
        beside.add(torch.zeros(4, device="cuda", dtype=torch.complex64), 1.0)
    assert beside.add(torch.ones(4, device="cuda", dtype=torch.bfloat16), 1.0).tolist() == [2, 2, 2, 2]
    with pytest.raises(TypeError, match="not converted from double to float"):
        beside.add(torch.zeros(4, device="cuda", dtype=torch.float64), 1.0)
    pairs = torch.rand(20, 2, device="cuda")
    t = spy.Tensor.from_torch(beside.device, pairs, dtype=beside.P)
    assert torch.allclose(spy.Tensor.from_torch(beside.device, beside.sum(t).to_torch()).to_torch(), pairs.sum(1))


@needs_cuda
def test_torch_out(torch, beside):
    """to_torch(), from_dlpack and as_tensor see the same memory, whoever is released first. (Features T1, T3.)"""
    t = spy.Tensor.zeros(beside.device, (64, 3), "float")
    x = t.to_torch()
    assert x.is_cuda and x.data_ptr() == t.device_address and x.shape == (64, 3)
    x += 5
    assert (t.to_numpy() == 5).all()
    beside.twice(t)
    assert bool((x == 10).all())
    part = torch.from_dlpack(t[::2, 1:])
    assert part.stride() == (6, 1) and bool((part == 10).all())
    assert torch.as_tensor(t, device="cuda").data_ptr() == t.device_address
    del t
    gc.collect()
    for _ in range(50):
        spy.Tensor.zeros(beside.device, (64, 3), "float")
    torch.cuda.synchronize()
    assert bool((x == 10).all() and (part == 10).all())
    back = spy.Tensor.from_torch(beside.device, x)
    del x, part
    gc.collect()
    torch.cuda.empty_cache()
    assert (back.to_numpy() == 10).all()


@needs_cuda
def test_torch_streams(torch, beside):
    """torch on a side stream, and long work on both sides, without a wait of the host. (Features F6, T1.)"""
    side = torch.cuda.Stream()
    n = 1 << 22
    for stream in (side, torch.cuda.default_stream(), side):
        torch.cuda.synchronize()
        with torch.cuda.stream(stream):
            x = torch.zeros(n, device="cuda")
            for _ in range(20):
                x += 1
            y = beside.add(x, x)
            x.zero_()
            for _ in range(20):
                y = beside.add(y, 1.0)
                y += 1
            t = spy.Tensor.from_torch(beside.device, y)
            for _ in range(20):
                y.add_(1)
                beside.twice(t)
                y.mul_(0.5)
            z = y.clone()
        stream.synchronize()
        assert bool((z == 40 + 40 + 20).all()), z[:4]
        del t


@needs_cuda
def test_torch_many(torch, beside):
    """10,000 calls with new tensors do not grow the memory in use. (Feature T1.)"""
    a = torch.rand(256, device="cuda")

    def some(n):
        for i in range(n):
            out = torch.empty(256 if i % 3 else 512, device="cuda")[:256]
            beside.add(a, a[:1].expand(256), _result=out)
            made = beside.add(a, 1.0)
        return made

    some(1000)
    torch.cuda.synchronize()
    before, used = torch.cuda.memory_allocated(), beside.device.stats()["used_bytes"]
    made = some(10000)
    assert torch.equal(made, a + 1)
    del made
    gc.collect()
    beside.device.wait()
    assert torch.cuda.memory_allocated() <= before and beside.device.stats()["used_bytes"] <= used + (1 << 16)


@needs_cuda
def test_cupy(beside):
    """CuPy's arrays are arguments by DLPack. (Feature T1.)"""
    cupy = pytest.importorskip("cupy")
    x = cupy.arange(100, dtype=cupy.float32)
    out = cupy.zeros_like(x)
    beside.add(x[::-1], 1.0, _result=out)
    assert np.array_equal(cupy.asnumpy(out), np.arange(100)[::-1] + 1)


def test_torch_cuda_kernels(torch):
    """Kernels that are called as the public documentation calls them run on the GPU with exactly as many threads as asked for. (Features
    U3, U5, V15.)"""
    with spy.create_torch_device() as d:
        k = spy.Module.load_from_source(d, "kernels_on_gpu", KERNELS)
        x, y = torch.rand(300, device="cuda"), torch.zeros(300, device="cuda")
        k.scale(count=290, input=x, output=y, _thread_count=300)
        assert torch.equal(y[:290], 2 * x[:290]) and not y[290:].any()
        y.zero_()
        k.unguarded(y, _thread_count=77)
        assert y.sum().item() == 77 and bool(y[:77].all())
        grad, seed = torch.zeros_like(x), torch.rand_like(x)
        k.square.bwds(count=300, input=spy.diffPair(x, grad), output=spy.diffPair(y, seed.clone()), _thread_count=300)
        assert torch.allclose(grad, 2 * x * seed)
        t, u = spy.Tensor.from_torch(d, x).with_grads(), spy.Tensor.zeros(d, (300,)).with_grads(grad_in=seed.cpu().numpy())
        k.square(count=300, input=t, output=u, _thread_count=300)
        assert np.allclose(u.to_numpy(), (x * x).cpu().numpy())
        k.square.bwds(count=300, input=t, output=u, _thread_count=300)
        assert np.allclose(t.grad.to_numpy(), (2 * x * seed).cpu().numpy(), atol=1e-6)

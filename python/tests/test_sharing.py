"""Calls of a Vulkan device with torch tensors in CUDA memory, through memory that both share (slangpy/sharing.py): values, gradients, the order
of copies and semaphores, and that a repeated call allocates nothing.

Without a GPU: in processes of their own on tests/unit/fake_cuda, which maps the memory that lavapipe exports, with a module in torch's place
whose tensors are numpy's arrays. lavapipe exports no timeline semaphores, so the host waits for its work in their place; what CUDA's side is
asked for is what a GPU would be, and the driver checks that values grow and that no stream waits for a value that nobody has given.
tests/torch/on_gpu.py (section `shared`) is for the rest.
"""
import pytest

import slangpy as spy
from test_cuda_context import fake  # noqa: F401

TORCH = '''
import gc, os
import slangpy._slangpy as native

torch = types.ModuleType("torch")
events, streams = [], [0]


class Place:
    def __init__(self, type, index=0):
        self.type, self.index = type, index


class DType:
    def __init__(self, name):
        self.name, self.numpy = name, np.dtype("float32" if name == "bfloat16" else name)


for name in ("float32", "float64", "float16", "bfloat16", "int8", "uint8", "int16", "int32", "int64", "bool"):
    setattr(torch, name, DType(name))
names = {dtype.numpy: dtype for dtype in vars(torch).values() if isinstance(dtype, DType) and dtype.name != "bfloat16"}


class Tensor:
    """Of torch: an array of numpy. Those in CUDA memory are what the driver would have."""
    is_meta, grad = False, None

    def __init__(self, array, cuda=True, requires_grad=False, dtype=None, view=False):
        self.array, self.is_cuda, self.requires_grad, self.lent, self.view_of = array, cuda, requires_grad, False, view
        self.dtype = dtype or names[array.dtype]
        self.device = Place("cuda" if cuda else "cpu")
        self.is_leaf, self.layout = True, torch.strided

    shape = property(lambda self: self.array.shape)

    def _is_view(self):
        return self.view_of

    def numel(self):
        return self.array.size

    def dim(self):
        return self.array.ndim

    def detach(self):
        return Tensor(self.array, self.is_cuda, dtype=self.dtype)

    def contiguous(self):
        return self

    def element_size(self):
        return self.array.itemsize

    def stride(self):
        return tuple(s // self.array.itemsize for s in self.array.strides)

    def data_ptr(self):
        return self.array.ctypes.data

    def untyped_storage(self):
        return self

    def new_empty(self, n):
        return Tensor(np.empty(n, self.array.dtype), self.is_cuda)

    data = property(detach)

    def view_as(self, other):
        return self

    def copy_(self, other):
        assert self.is_cuda and other.is_cuda, "through the host"
        events.append("in" if self.lent else "out")
        assert self.lent != other.lent
        self.array[...] = other.array
        return self

    def zero_(self):
        events.append("in")
        self.array[...] = 0

    def float(self):
        return Tensor(self.array.astype("float32"), self.is_cuda, self.requires_grad)

    def __getitem__(self, at):
        return self._lent(self.array[at])

    def view(self, what):
        return self._lent(self.array.view(what.numpy) if isinstance(what, DType) else self.array.reshape(what))

    def _lent(self, array):
        made = Tensor(array)
        made.lent = True
        return made

    def cpu(self):
        events.append("cpu")
        return Tensor(self.array.copy(), False, dtype=self.dtype)

    def __array__(self, dtype=None, copy=None):
        assert not self.is_cuda
        return self.array

    def to(self, place):
        events.append("to")
        return Tensor(self.array, place.type == "cuda")


class Function:
    @classmethod
    def apply(cls, *args):
        ctx = types.SimpleNamespace(needs_input_grad=[getattr(a, "requires_grad", False) for a in args], mark_dirty=lambda *t: None)
        ctx.save_for_backward = lambda *tensors: setattr(ctx, "saved_tensors", tensors)
        made = cls.forward(ctx, *args)
        for t in made:
            t.node = cls, ctx
        return made


class Context:
    def __init__(self, *args): pass
    def __enter__(self): pass
    def __exit__(self, *error): pass


torch.strided, torch.Tensor, torch.nn = "strided", Tensor, types.SimpleNamespace(Parameter=Tensor)
torch.autograd, torch._C, torch.no_grad = types.SimpleNamespace(Function=Function), types.SimpleNamespace(), Context
torch.is_grad_enabled, torch.device = lambda: False, Place
torch.empty = lambda shape, dtype, device: Tensor(np.full(shape, 77, dtype.numpy), device.type == "cuda")
torch.empty_like = lambda t: Tensor(np.full(t.shape, 77, t.array.dtype))
torch.zeros_like = lambda t: Tensor(np.zeros_like(t.array), t.is_cuda)
torch.cuda = types.SimpleNamespace(is_current_stream_capturing=lambda: False)
sys.modules["torch"] = torch

from slangpy import autograd, sharing

d = spy.create_device(spy.DeviceType.vulkan)
try:
    native._Sharing(d, new_context(0), True)
except spy.Error as error:
    assert "cannot export" in str(error), error  # a Vulkan device that is no lavapipe
    print("good")
    sys.exit()


class Own:
    """The _Sharing, which notes what it is asked."""
    def __init__(self, own):
        self.own = own

    def __getattr__(self, name):
        return getattr(self.own, name)

    def to_device(self, *args):
        events.append("device")
        self.own.to_device(*args)

    def to_cuda(self, *args):
        events.append("cuda")
        self.own.to_cuda(*args)


def view(address, size):
    made = Tensor(np.frombuffer((ctypes.c_uint8 * size).from_address(address), np.uint8))
    made.lent = True
    return made


context = new_context(0)
streams = [new_stream(context)]
shared = sharing.Sharing(Own(native._Sharing(d, context, True)), torch, view, lambda: streams[0], lambda: os.memfd_create("semaphore"))
d._sharings = {0: shared}
d.register_device_close_callback(lambda device: shared.close())
m = spy.Module.load_from_source(d, "shared", """
import slangpy;
struct Kept { RWTensor<float, 1> into; float by; };
float keep(Kept k, int i) { k.into[i] = k.by * i; return 1; }
void store(RWStructuredBuffer<float> s, int i) { s[i] = i; }
void put(float *p, int i) { p[i] = i + 0.5; }
[Differentiable] float poly(float a, float b) { return a * a * b + b; }
[Differentiable] float3 scaled(float3 a, float s) { return a * s; }
[Differentiable] void both(float a, float b, out float x, out float y) { x = a * b; y = a + b; }
void more(float a, inout float x) { x += a; }
half halved(half a) { return a / 2; }
int64_t longer(int a) { return int64_t(a) * 3000000000L; }
struct Pair { float a; int b; };
Pair pair(float a) { Pair p; p.a = a; p.b = 2; return p; }
float total(float a[3]) { return a[0] + a[1] + a[2]; }
""")
random = np.random.default_rng()


def data(*shape, dtype="float32", **more):
    return Tensor((random.random(shape) * 9 + 1).astype(dtype), **more)


def call(function, *args, **kwargs):
    events.clear()
    return autograd.call(function, args, kwargs)


def check(made, right, ways=None):
    assert isinstance(made, Tensor) and made.is_cuda and not made.lent, made
    assert made.array.shape == np.shape(right), (made.array.shape, np.shape(right))
    np.testing.assert_allclose(made.array, right, rtol=1e-3 if made.array.dtype == np.float16 else 1e-5)
    assert ways is None or events == ways.split(), events
'''


@pytest.fixture(scope="module")
def shared(fake):  # noqa: F811
    adapters = spy.Device.enumerate_adapters(spy.DeviceType.vulkan)
    if not adapters or not adapters[0].name.startswith("llvmpipe"):
        pytest.skip("no lavapipe, whose memory the driver without a GPU can map")
    return lambda script: fake(TORCH + script)


def test_values(shared):
    """Results of numbers, vectors and structs, in types of several sizes; strided and broadcast tensors; a given result; a result of another
    kind. All copies to the device lie before the semaphore of its side, all copies back behind that of CUDA's."""
    shared("""
for _ in range(3):
    a, b = data(3, 4), data(4)
    check(call(m.poly, a, b), a.array * a.array * b.array + b.array, "in in device cuda out")
    a = Tensor(random.random((4, 6, 2)).astype("float32").transpose(2, 0, 1)[:, ::2, 1:])
    check(call(m.poly, a, 2.0), a.array * a.array * 2 + 2, "in device cuda out")
    a = Tensor(np.broadcast_to(random.random(5).astype("float32"), (3, 5)))
    check(call(m.poly, b=a, a=1.5), a.array * 3.25)
    v = data(7, 3)
    check(call(m.scaled, v, 2), v.array * 2)
    check(call(m.total, v), v.array.sum(1))
    h = data(9, dtype="float16")
    check(call(m.halved, h), h.array / 2)
    i = data(9, dtype="int32")
    made = call(m.longer, i)
    assert made.array.dtype == np.int64
    check(made, i.array.astype("int64") * 3000000000)
    low = data(5, dtype="float32")
    low.dtype = torch.bfloat16
    check(call(m.poly, low, 1.0), low.array * low.array + 1)
out = data(3, 4)
a, b = data(3, 4), data(4)
assert call(m.poly, a, b, _result=out) is out
check(out, a.array * a.array * b.array + b.array, "in in device cuda out")
made = call(m.pair, b)
assert isinstance(made, spy.Tensor) and made.shape == (4,) and "cpu" not in events
np.testing.assert_allclose(made.to_numpy(structured=True)["a"], b.array)
made = call(m.poly, a, b, _result="numpy")
np.testing.assert_allclose(made, a.array * a.array * b.array + b.array, rtol=1e-5)
assert isinstance(call(m.poly, a, b, _result="tensor"), spy.Tensor)
made = call(m.poly, Tensor(np.float32(3).reshape(())), Tensor(np.float32(2).reshape(())))
assert made == 20, made
check(call(m.poly, a, Tensor(b.array, False)), a.array * a.array * b.array + b.array)  # one of them on the host
""")


def test_written_tensors(shared):
    """out and inout parameters: what is written comes back, also to strided tensors, and what was there is there before."""
    shared("""
for _ in range(3):
    a, b, x, y = data(5), data(5), data(5), Tensor(np.zeros((5, 2), "float32")[:, 0])
    assert call(m.both, a, b, x, y) is None
    check(x, a.array * b.array, "in in in in device cuda out out")
    check(y, a.array + b.array)
    before = x.array.copy()
    call(m.more, a, x)
    check(x, before + a.array, "in in device cuda out")
    before = x.array.copy()
    call(m.more, x, x)  # each parameter has its own copy
    check(x, before * 2)
i = Tensor(np.arange(4, dtype="int32"))
for _ in range(2):  # what is written through a parameter that is `in`
    x = data(6)
    tail = x.array[4:].copy()
    call(m.store, x, i)
    check(x, np.concatenate([[0, 1, 2, 3], tail]), "in in device cuda out")
    call(m.put, x, i)
    check(x, np.concatenate([[0.5, 1.5, 2.5, 3.5], tail]))
    check(call(m.keep, {"into": x, "by": 3.0}, i), np.ones(4))
    check(x, np.concatenate([[0, 3, 6, 9], tail]))
""")


def test_gradients(shared):
    """Forward and backward, through the node of autograd that calls of a CUDA device have."""
    shared("""
def backward(made, gradient):
    events.clear()
    node, ctx = made.node
    return node.backward(ctx, gradient)[1:]

for round in range(3):
    a, b, g = data(3, 4, requires_grad=True), data(4, requires_grad=True), data(3, 4)
    made = call(m.poly, a, b)
    check(made, a.array * a.array * b.array + b.array, "in in device cuda out")
    da, db = backward(made, g)
    check(da, 2 * a.array * b.array * g.array, "in in in in in device cuda out out")
    check(db, ((a.array ** 2 + 1) * g.array).sum(0))
    b.requires_grad = False
    da, db = backward(call(m.poly, a, b), Tensor(np.broadcast_to(np.float32(2), (3, 4))))
    assert db is None
    check(da, 4 * a.array * b.array)
    v, s = data(6, 3, requires_grad=True), data(6, requires_grad=True)
    made, g = call(m.scaled, v, s), data(6, 3)
    check(made, v.array * s.array[:, None])
    dv, ds = backward(made, g)
    check(dv, g.array * s.array[:, None])
    check(ds, (g.array * v.array).sum(1))
    one = Tensor(np.float32(3).reshape(()), requires_grad=True)
    made = call(m.poly, one, 2.0)
    check(made, np.float32(20))  # with a graph, no number
    check(backward(made, Tensor(np.float32(1).reshape(())))[0], np.float32(12))
    out = data(3, 4)
    assert call(m.poly, a, b, _result=out) is out
    check(out, a.array * a.array * b.array + b.array)
""")


def test_repeated_calls_allocate_nothing(shared):
    """The buffers of a stream are used again by its next call, without a look at whether they are free. Other streams have their own."""
    shared("""
a, b = data(1000, requires_grad=True), data(1000)
def step():
    made = call(m.poly, a, b)
    node, ctx = made.node
    node.backward(ctx, b)
    call(m.poly, b, 1.0)
for _ in range(3):
    step()
made, allocations = shared.made, d.stats()["driver_allocations"]
blocks = sys.getallocatedblocks()
for _ in range(100):
    step()
gc.collect()
assert d.stats()["driver_allocations"] == allocations
assert shared.made == made and sys.getallocatedblocks() - blocks < 500, (shared.made, made, sys.getallocatedblocks() - blocks)
assert len(shared.lanes) == 1 and next(iter(shared.lanes.values())).value == 2 * 3 * 103
first = streams[0]
streams[0] = new_stream(context)
step()
assert len(shared.lanes) == 2 and shared.made == 2 * made
streams[0] = first
step()
assert shared.made == 2 * made
assert sharing._size_class(1) == 256 and [sharing._size_class(n) for n in (256, 257, 320, 321, 1025, 4 << 20)] == [256, 320, 320, 384, 1280, 4 << 20]
assert all(n <= sharing._size_class(n) <= max(256, n * 1.25) for n in range(1, 5000))
""")


def test_calls_that_go_through_the_host(shared):
    """Empty tensors, types without numbers, tensors of two GPUs, a graph that is being captured, and devices that share nothing."""
    shared("""
a, b, t = data(4), data(4), [data(4)]
of = lambda *tensors: sharing.sharing_of(d, tensors, torch)
assert of(a, b) is shared and of(a, Tensor(b.array, False)) is shared
assert of(a, Tensor(np.zeros(0, "float32"))) is None and of(Tensor(np.zeros(3, "bool"))) is None
b.device.index = 1
assert of(a, b) is None
torch.cuda.is_current_stream_capturing = lambda: True
assert of(a) is None
torch.cuda.is_current_stream_capturing = lambda: False
d._sharings[0] = None
assert of(a) is None
d._sharings.clear()
torch.cuda.device, torch.cuda.synchronize = Context, lambda: None
make_current(new_context(0))
assert of(a) is None and "timeline semaphores" in d._sharing_error or "another GPU" in d._sharing_error, d._sharing_error
""")


def test_errors(shared):
    """A call that fails leaves the order of both sides as it was; a driver's call that fails ends the sharing, not the program."""
    shared("""
a, b = data(4), data(5)
try:
    call(m.poly, a, b)
    raise AssertionError
except ValueError as error:
    text = str(error)
assert events == "in in device cuda".split(), events
try:
    m.poly(spy.Tensor.from_numpy(d, a.array), spy.Tensor.from_numpy(d, b.array))
except ValueError as error:
    assert str(error) == text, (text, str(error))
made = shared.made
check(call(m.poly, a, 1.0), a.array * a.array + 1, "in device cuda out")
state_imports = shared.made
state.fail, state.fail_result = b"cuSignalExternalSemaphoresAsync", 999
raises(spy.Error, "cuSignalExternalSemaphoresAsync", call, m.poly, a, 1.0)
state.fail = None
assert shared.off and sharing.sharing_of(d, [a], torch) is None
""")


def test_no_room(shared):
    """A call for which there is no memory that both can use goes through the host, forward and backward. Others are as before."""
    shared("""
torch.from_dlpack = lambda t: Tensor(t.to_numpy(), False)
a, b, g = data(5000, requires_grad=True), data(5000), data(5000)
real = shared.own.own
class Full:
    def __getattr__(self, name):
        return getattr(real, name)
    def memory(self, size):
        raise MemoryError("no more")
shared.own.own = Full()
for _ in range(2):
    made = call(m.poly, a, b)
    check(made, a.array * a.array * b.array + b.array)
    assert "cpu" in events and "device" not in events, events
    node, ctx = made.node
    da = node.backward(ctx, g)[1]
    check(da, 2 * a.array * b.array * g.array)
    check(call(m.poly, b, 2.0), b.array * b.array * 2 + 2)
    assert "cpu" in events and not shared.off
shared.own.own = real
check(call(m.poly, a, b), a.array * a.array * b.array + b.array, "in in device cuda out")
state.fail, state.fail_result = b"cuImportExternalMemory", 2
check(call(m.poly, data(90000), 0.0), 0 * np.zeros(90000))
state.fail = None
assert shared.off
""")


def test_nothing_is_left(shared):
    """Closing the device, or forgetting it, gives back CUDA's mappings and semaphores."""
    shared("""
more = cu.fake_cuda_state().contents
a = data(4)
check(call(m.poly, a, 1.0), a.array * a.array + 1)
assert more.imports >= 3, more.imports
d.close()
assert more.imports == 0, more.imports
raises(spy.Error, "it is closed", shared.own.own.memory, 5)
shared.close()

def forgotten():
    device = spy.create_device(spy.DeviceType.vulkan)
    made = device._sharings = {0: sharing.Sharing(native._Sharing(device, context, True), torch, view, lambda: streams[0], lambda: os.memfd_create("semaphore"))}
    device.register_device_close_callback(lambda d: made[0].close())
    function = spy.Module.load_from_source(device, "forgotten", "float twice(float x) { return 2 * x; }").twice
    check(call(function, a), a.array * 2)
    assert more.imports >= 3

forgotten()
gc.collect()
assert more.imports == 0, more.imports
""")

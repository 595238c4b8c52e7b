"""CUDA contexts and streams. Features D1 (existing_device_handles), D5, D7, D8, D9, F6, K4, E1 (cuda_stream).

Without a GPU this process tests errors and types. The other tests run in processes of their own whose libcuda.so.1 is
tests/unit/fake_cuda, a driver with two devices, a stack of contexts for each thread, and streams that remember their context. They ask
the driver itself, by ctypes, which context is current. On a CUDA machine the last tests run too, with torch where it is installed."""
import ctypes
import os
import shutil
import subprocess
import sys
import threading

import numpy as np
import pytest

import slangpy as spy
from conftest import TOP

Handle, Type = spy.NativeHandle, spy.NativeHandleType


def has_cuda():
    try:
        return bool(spy.enumerate_adapters(spy.DeviceType.cuda))
    except spy.Error:
        return False


needs_cuda = pytest.mark.skipif(not has_cuda(), reason="no CUDA device")

# >>handles


def test_native_handles():
    """A NativeHandle is a plain value; handles of unknown types are refused. (Feature D8.)"""
    assert (Handle().type, Handle().value, bool(Handle())) == (Type.undefined, 0, False)
    a = Handle(Type.CUcontext, 5)
    assert a == Handle("CUcontext", 5) and a != Handle(Type.CUstream, 5) and a != 5 and len({a, Handle(Type.CUcontext, 5)}) == 1
    assert bool(a) and repr(a) == "NativeHandle(type=CUcontext, value=0x00000005)"
    stream = Handle.from_cuda_stream(type("Stream", (), {"cuda_stream": 7})())
    assert stream == Handle.from_cuda_stream(7) and (stream.type, stream.value, stream.cuda_stream) == (Type.CUstream, 7, 7)
    assert not hasattr(a, "cuda_stream")


@pytest.mark.parametrize("args, error, words", [
    (("CUthing", 1), ValueError, "argument 'type': expected a NativeHandleType, got 'CUthing'"), ((99, 1), ValueError, "got 99"),
    ((Type.CUcontext, "x"), TypeError, "argument 'value': expected an int, got 'x'"), ((Type.CUcontext, 1.0), TypeError, "an int"),
    ((Type.CUcontext, True), TypeError, "an int"), ((Type.CUcontext, -1), ValueError, "64 bits"), ((Type.CUcontext, 1 << 64), ValueError, "64 bits")])
def test_bad_handles(args, error, words):
    """A NativeHandle refuses bad arguments. (Feature D8.)"""
    with pytest.raises(error, match=words):
        Handle(*args)


CONTEXT, DEVICE = Handle(Type.CUcontext, 16), Handle(Type.CUdevice, 1)


@pytest.mark.parametrize("handles, more, error, words", [
    ([1], {}, TypeError, "expected a list of NativeHandle, got 1 in it"),
    ([Handle(Type.VkDevice, 1)], {}, spy.Error, "a Vulkan device of another library can be brought by C programs only"),
    ([CONTEXT, CONTEXT], {}, ValueError, "expected one CUcontext and its CUdevice"),
    ([Handle(Type.CUstream, 1)], {}, ValueError, "expected one CUcontext and its CUdevice"),
    ([Handle(Type.CUcontext, 0)], {}, ValueError, "the CUcontext is NULL"),
    ([CONTEXT], {"type": spy.DeviceType.vulkan}, ValueError, "need DeviceType.cuda, got DeviceType.vulkan"),
    ([DEVICE], {"type": spy.DeviceType.cuda, "adapter_luid": [1] + [0] * 15}, ValueError, "the CUdevice is 1, and 'adapter_luid' is that of 0")])
def test_bad_existing_handles(handles, more, error, words):
    """create_device() says what is wrong with existing_device_handles. (Feature D1.)"""
    with pytest.raises(error, match="create_device: argument 'existing_device_handles': ") as caught:
        spy.create_device(existing_device_handles=handles, **more)
    assert words in str(caught.value)


def test_empty_handles():
    """existing_device_handles that are empty or undefined are ignored. (Feature D1.)"""
    for handles in ([], None, [Handle(), Handle()]):
        with spy.create_device(spy.DeviceType.vulkan, existing_device_handles=handles) as d:
            assert d.info.type == spy.DeviceType.vulkan and len(d.native_handles) == 3


@pytest.mark.skipif(has_cuda(), reason="there is a CUDA device")
def test_no_driver():
    """The error of a missing CUDA driver says what was searched. (Features D8, D1.)"""
    for use in (spy.get_cuda_current_context_native_handles, lambda: spy.create_device(existing_device_handles=[CONTEXT])):
        with pytest.raises(spy.Error, match="(?s)^(get_cuda_current_context_native_handles|create_device): .*libcuda"):
            use()


def test_other_devices(device):
    """On devices other than CUDA, CUDA's functions raise clear errors, and None as a stream is allowed. (Features D8, K4, E1.)"""
    if device.info.type == spy.DeviceType.cuda:
        pytest.skip("the device is CUDA's")
    for use, name in ((device.cuda_context_scope, "cuda_context_scope"),):
        with pytest.raises(spy.Error, match="Device.%s: expected a device of DeviceType.cuda, got DeviceType.vulkan" % name):
            use()
    for use in (device.sync_to_cuda, device.sync_to_device):
        with pytest.raises(spy.Error, match="Device.sync_to_.*: expected a device of DeviceType.cuda, got DeviceType.vulkan"):
            use(0)
    for stream in (0, 5, Handle.from_cuda_stream(5)):
        with pytest.raises(ValueError, match="submit_command_buffers: argument 'cuda_stream': expected a cuda device, got a vulkan one"):
            device.submit_command_buffer(device.create_command_encoder().finish(), cuda_stream=stream)
    for stream in ("x", CONTEXT):
        with pytest.raises(TypeError, match="submit_command_buffers: argument 'cuda_stream': expected a CUDA stream's handle as int"):
            device.submit_command_buffers([], cuda_stream=stream)
    for stream in (None, Handle()):
        device.submit_command_buffer(device.create_command_encoder().finish(), cuda_stream=stream)


# >>torch, where it is not


def test_torch_is_needed(monkeypatch):
    """create_torch_device() says that it needs PyTorch, and refuses other types than CUDA and Vulkan. (Features D7, T4.)"""
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(ImportError, match="create_torch_device: this needs PyTorch, which is not installed: pip install torch"):
        spy.create_torch_device()
    with pytest.raises(spy.Error, match="create_torch_device: argument 'type': expected DeviceType.cuda or DeviceType.vulkan, got DeviceType.d3d12"):
        spy.create_torch_device(spy.DeviceType.d3d12)


# >>on a driver without a GPU

PRELUDE = """
import ctypes, sys, threading, types
import numpy as np
import slangpy as spy

cu = ctypes.CDLL("libcuda.so.1")


class State(ctypes.Structure):  # struct fake_cuda
    _fields_ = [("on_kernel", ctypes.c_void_p), ("user", ctypes.c_void_p), ("on_load", ctypes.c_void_p), ("random", ctypes.c_uint64), ("fail", ctypes.c_char_p),
                ("fail_result", ctypes.c_int), ("fail_skip", ctypes.c_uint), ("capturing", ctypes.c_int), ("counts", ctypes.c_uint64 * 4), ("alive", ctypes.c_int64 * 4),
                ("stream", ctypes.c_void_p), ("waiting", ctypes.c_void_p), ("waits_for", ctypes.c_void_p), ("read_in", ctypes.c_void_p),
                ("graph", ctypes.c_uint * 3), ("mapped", ctypes.c_uint64), ("mapped_size", ctypes.c_uint64), ("waits", ctypes.c_uint64),
                ("texture", ctypes.c_uint64), ("surface", ctypes.c_uint64), ("textures", ctypes.c_int64), ("texels", ctypes.c_void_p),
                ("capability", ctypes.c_int), ("static_shared", ctypes.c_int), ("shared", ctypes.c_uint),
                ("loaded", ctypes.c_uint64 * 2), ("asked", ctypes.c_uint64 * 3), ("uuid", ctypes.c_void_p), ("imports", ctypes.c_int64),
                ("multiprocessors", ctypes.c_int)]


cu.fake_cuda_state.restype = ctypes.POINTER(State)
state = cu.fake_cuda_state().contents


def ask(function, *args):
    out = ctypes.c_void_p()
    assert function(ctypes.byref(out), *args) == 0
    return out.value or 0


def current():
    return ask(cu.cuCtxGetCurrent)


def make_current(context):
    assert cu.cuCtxSetCurrent(ctypes.c_void_p(context)) == 0


def new_context(ordinal):
    context = ask(cu.cuCtxCreate_v2, 0, ordinal)
    assert ask(cu.cuCtxPopCurrent_v2) == context
    return context


def new_stream(context):
    before = current()
    make_current(context)
    stream = ask(cu.cuStreamCreate, 1)
    make_current(before)
    return stream


def raises(error, words, function, *args, **kwargs):
    try:
        function(*args, **kwargs)
    except error as caught:
        assert words in str(caught), str(caught)
    else:
        raise AssertionError("no error: " + words)


SOURCE = "float f(float a) { return a; } [shader('compute')] [numthreads(32, 1, 1)] void k(uniform RWStructuredBuffer<float> b) { b[0] = 1; }"
SOURCE = SOURCE.replace("'", chr(34))


def module_of(device):
    return spy.Module.load_from_source(device, "m", SOURCE)


def context_of(device):
    return next(h.value for h in device.native_handles if h.type == spy.NativeHandleType.CUcontext)
"""


@pytest.fixture(scope="module")
def fake(tmp_path_factory):
    """Returns fake(script), which runs PRELUDE and the script on the driver without a GPU."""
    compiler, folder = shutil.which("gcc") or shutil.which("cc"), tmp_path_factory.mktemp("fake_cuda")
    sources = [os.path.join(TOP, "tests/unit/fake_cuda", name) for name in ("driver.c", "array.c", "graph.c", "play.c")]
    if not sys.platform.startswith("linux") or not compiler or not all(map(os.path.exists, sources)):
        pytest.skip("no C compiler, or no source of the driver")
    subprocess.run([compiler, "-std=c11", "-fPIC", "-shared", "-Wl,-soname,libcuda.so.1", *sources, "-o", str(folder / "libcuda.so.1"), "-lm", "-ldl"],
                   check=True)

    def run(script):
        env = dict(os.environ, LD_LIBRARY_PATH=os.pathsep.join([str(folder), os.environ.get("LD_LIBRARY_PATH", "")]))
        env["PYTHONPATH"] = os.pathsep.join([os.path.dirname(os.path.dirname(spy.__file__)), env.get("PYTHONPATH", "")])
        fetched = os.path.join(TOP, "build/nvrtc/libnvrtc.so.13")  # otherwise the library searches for NVRTC itself
        if os.path.exists(fetched):
            env.setdefault("SLANGPY_NVRTC_LIBRARY", fetched)
        done = subprocess.run([sys.executable, "-c", PRELUDE + script + "\nprint('good')"], env=env, capture_output=True, text=True, timeout=240)
        assert done.returncode == 0 and done.stdout.endswith("good\n"), done.stdout + done.stderr

    return run


def test_current_handles(fake):
    """get_cuda_current_context_native_handles() gives the handles of this thread's current context; without a context it is an error.
    (Feature D8.)"""
    fake("""
none = "get_cuda_current_context_native_handles: this thread has no current CUDA context"
raises(spy.Error, none, spy.get_cuda_current_context_native_handles)
for ordinal in (0, 1):
    context = new_context(ordinal)
    make_current(context)
    handles = spy.get_cuda_current_context_native_handles()
    assert handles == [spy.NativeHandle("CUdevice", ordinal), spy.NativeHandle("CUcontext", context)], handles
seen = []
def other():
    try:
        spy.get_cuda_current_context_native_handles()
    except spy.Error as error:
        seen.append(str(error))
thread = threading.Thread(target=other)
thread.start(), thread.join()
assert len(seen) == 1 and seen[0].startswith(none)
""")


def test_given_context(fake):
    """A device is made in a given context, with and without its CUdevice, which is checked; one process has two devices. (Features D1,
    D8.)"""
    fake("""
ours, others = new_context(1), new_context(0)
make_current(ours)
handles = spy.get_cuda_current_context_native_handles()
make_current(others)
for given in (handles, handles[::-1], handles[1:], [spy.NativeHandle()] + handles):
    for type in (spy.DeviceType.automatic, spy.DeviceType.cuda, "cuda"):
        with spy.create_device(type, existing_device_handles=given) as d:
            assert d.info.type == spy.DeviceType.cuda and d.native_handles == handles
            with spy.create_device(spy.DeviceType.cuda) as primary, spy.Device(existing_device_handles=[spy.NativeHandle("CUdevice", 1)]) as second:
                contexts = {ours, others, context_of(primary), context_of(second)}
                assert len(contexts) == 4 and second.native_handles[0].value == 1 and primary.native_handles[0].value == 0
                for device in (primary, d, second):
                    assert spy.Tensor.zeros(device, (4,), "float").to_numpy().tolist() == [0] * 4
                    assert current() == others
        assert current() == others
raises(ValueError, "create_device: adapter is 1, but the given context is of device 2", spy.create_device,
       existing_device_handles=[spy.NativeHandle("CUdevice", 0), handles[1]])
raises(ValueError, "create_device: the desc's CUDA context cannot be used", spy.create_device,
       existing_device_handles=[spy.NativeHandle("CUcontext", 64)])
raises(spy.Error, "there are 2 CUDA devices", spy.create_device, existing_device_handles=[spy.NativeHandle("CUdevice", 2)])
assert current() == others
""")


def test_context_scope(fake):
    """The device's context is current inside of cuda_context_scope(), and the earlier context is restored behind it: after errors, in
    nested and repeated scopes, in a thread without a context, and if the device is closed inside. (Feature D8.)"""
    fake("""
d = spy.create_device(existing_device_handles=[spy.NativeHandle("CUcontext", new_context(1))])
e = spy.create_device(spy.DeviceType.cuda)
mine, its, before = context_of(d), context_of(e), new_context(0)
assert len({mine, its, before}) == 3
make_current(before)
scope = d.cuda_context_scope()
assert current() == before
for _ in range(2):
    with scope as inside:
        assert inside is d and current() == mine
        with e.cuda_context_scope():
            assert current() == its
            with scope:
                assert current() == mine
            assert current() == its
        d.wait()
        assert current() == mine
    assert current() == before
def fails():
    with scope:
        raise KeyError("mine")
raises(KeyError, "mine", fails)
assert current() == before
d.set_cuda_context_current()
assert current() == mine
make_current(before)
seen = []
def other():
    make_current(0)
    with d.cuda_context_scope():
        seen.append(current())
    seen.append(current())
    d.set_cuda_context_current()
    seen.append(current())
thread = threading.Thread(target=other)
thread.start(), thread.join()
assert seen == [mine, 0, mine], seen
assert current() == before
with e.cuda_context_scope():
    e.close()
assert current() == before
raises(spy.Error, "closed", e.cuda_context_scope)
raises(spy.Error, "closed", e.set_cuda_context_current)
raises(spy.Error, "closed", lambda: e.native_handles)
""")


def test_streams(fake):
    """Calls, dispatches and command buffers run on the stream that they are given; later ones run on the device's own stream again.
    (Features F6, K4, E1.)"""
    fake("""
d = spy.create_device(spy.DeviceType.cuda)
m, x = module_of(d), spy.Tensor.zeros(d, (4,), "float")
stream = new_stream(context_of(d))
class HasStream:
    cuda_stream = stream
class HasProtocol:
    def __cuda_stream__(self):
        return (0, stream)
m.f(x)
own = state.stream
assert own and own != stream
def recorded():
    encoder = d.create_command_encoder()
    m.f.append_to(encoder, x)
    return encoder.finish()
ways = [lambda s: m.f.cuda_stream(s)(x), lambda s: m.k.cuda_stream(s).dispatch(32, b=x), lambda s: m.f.cuda_stream(s).time(x),
        lambda s: d.submit_command_buffer(recorded(), cuda_stream=s), lambda s: d.submit_command_buffers([recorded()], cuda_stream=s)]
for way in ways:
    for given in (stream, spy.NativeHandle.from_cuda_stream(stream), HasStream(), HasProtocol()):
        way(given)
        assert state.stream == stream, way
        m.f(x)
        assert state.stream == own, way
    way(0)
    assert state.stream == 1  # CUDA's own name of the default stream
foreign = new_stream(new_context(1))
for way, name in zip(ways, ("f", "k", "f", "submit_command_buffers", "submit_command_buffers")):
    raises(ValueError, "another context", way, foreign)
    m.f(x)
    assert state.stream == own
raises(TypeError, "handle as int", m.f.cuda_stream, spy.NativeHandle("CUcontext", 5))
""")


def test_sync(fake):
    """sync_to_cuda() makes the given CUDA stream wait for the device's stream, and sync_to_device() makes the device's wait for the
    given one. (Feature D9.)"""
    fake("""
d = spy.create_device(spy.DeviceType.cuda)
m, x = module_of(d), spy.Tensor.zeros(d, (4,), "float")
m.f(x)
own, stream = state.stream, new_stream(context_of(d))
for given, wanted in ((stream, stream), (spy.NativeHandle.from_cuda_stream(stream), stream), (0, 1)):
    d.sync_to_cuda(given)
    assert (state.waiting, state.waits_for) == (own, wanted)
    d.sync_to_device(given)
    assert (state.waiting, state.waits_for) == (wanted, own)
d.sync_to_cuda()
assert (state.waiting, state.waits_for) == (own, 1)
foreign = new_stream(new_context(1))
raises(ValueError, "Device.sync_to_cuda: the stream is of another context", d.sync_to_cuda, foreign)
raises(ValueError, "Device.sync_to_device: the stream is of another context", d.sync_to_device, foreign)
raises(TypeError, "handle as int", d.sync_to_cuda, None)
m.f(x)
assert state.stream == own
""")


def test_info(fake):
    """A CUDA device's info has CUDA's version in CUDA's own form, the right one of several adapters of the same name, and the features.
    (Feature D5.)"""
    fake("""
for ordinal in (0, 1):
    with spy.create_device(existing_device_handles=[spy.NativeHandle("CUdevice", ordinal)]) as d:
        assert d.info.api_version == "13.0" and d.info.adapter_luid[0] == ordinal + 1
        assert d.capabilities == ["cuda", "cuda_sm_99_0"], d.capabilities
with spy.create_device(spy.DeviceType.cuda, adapter_luid=spy.enumerate_adapters(spy.DeviceType.cuda)[1].luid) as d:
    assert d.info.adapter_luid[0] == 2 and d.native_handles[0].value == 1
""")


def test_kernel_streams(fake, tmp_path):
    """ComputeKernel.dispatch(cuda_stream=) runs on that stream. (Feature K4.)"""
    (tmp_path / "kernels.slang").write_text('[shader("compute")] [numthreads(32, 1, 1)] void k(uniform RWStructuredBuffer<float> b) { b[0] = 1; }')
    fake("""
d = spy.create_device(spy.DeviceType.cuda, include_paths=[%r])
kernel = d.create_compute_kernel(d.load_program("kernels", ["k"]))
b, stream, foreign = spy.Tensor.zeros(d, (64,), "float"), new_stream(context_of(d)), new_stream(new_context(1))
kernel.dispatch([32, 1, 1], b=b)
own = state.stream
for given, wanted in ((stream, stream), (None, own), (spy.NativeHandle.from_cuda_stream(stream), stream), (spy.NativeHandle(), own), (0, 1)):
    kernel.dispatch([32, 1, 1], b=b, cuda_stream=given)
    assert state.stream == wanted, given
raises(ValueError, "ComputeKernel.dispatch: argument 'cuda_stream': the stream is of another context", kernel.dispatch, [32, 1, 1], b=b, cuda_stream=foreign)
raises(TypeError, "ComputeKernel.dispatch: argument 'cuda_stream': expected a CUDA stream's handle", kernel.dispatch, [32, 1, 1], b=b, cuda_stream="x")
raises(ValueError, "not specified", kernel.dispatch, [32, 1, 1], cuda_stream=stream)
kernel.dispatch([32, 1, 1], b=b)
assert state.stream == own
pool = d.create_query_pool(count=2)
kernel.dispatch([32, 1, 1], b=b, cuda_stream=stream, query_pool=pool, query_index_before=0, query_index_after=1)
assert state.stream == stream
""" % str(tmp_path))


TORCH = """
class Torch(types.ModuleType):  # as much of torch as is used, on the same driver: the primary contexts, a stream of each thread's own
    def __init__(self):
        super().__init__("torch")
        self.cuda, self._C, self.ordinal, self.threads = self, types.SimpleNamespace(_cuda_getCurrentRawStream=self.raw), 0, threading.local()
        self.available, self.asked = True, []
    def is_available(self):
        return self.available
    def device_count(self):
        return 2
    def current_device(self):
        return self.ordinal
    def raw(self, index):
        self.asked.append(index)
        return getattr(self.threads, "stream", 0)
    def current_stream(self, index=None):
        make_current(self.primary(self.ordinal))
    def primary(self, ordinal):
        return ask(cu.cuDevicePrimaryCtxRetain, ordinal)
    class Named:
        def __init__(self, name):
            self.type, _, index = name.partition(":")
            self.index = int(index) if index else None
            if self.type not in ("cuda", "cpu"):
                raise RuntimeError("no such device: " + name)
    def device(self, what):
        return Torch.Named(what) if isinstance(what, str) else what if isinstance(what, Torch.Named) else Torch.Scope(self, what)
    class Scope:
        def __init__(self, torch, index):
            self.torch, self.index = torch, index
        def __enter__(self):
            self.before, self.torch.ordinal = (self.torch.ordinal, current()), self.index
        def __exit__(self, *exception):
            self.torch.ordinal = self.before[0]
            make_current(self.before[1])

torch = sys.modules["torch"] = Torch()
"""


def test_torch_devices(fake):
    """create_torch_device() uses torch's context of the device that was asked for and leaves torch's current device as it was; what is
    impossible is an error. (Feature D7.)"""
    fake(TORCH + """
before = new_context(0)
make_current(before)
for given, ordinal in ((None, 0), (1, 1), ("cuda:1", 1), ("cuda", 0), (torch.device("cuda:1"), 1)):
    with spy.create_torch_device(torch_device=given) as d:
        assert d.native_handles == [spy.NativeHandle("CUdevice", ordinal), spy.NativeHandle("CUcontext", torch.primary(ordinal))]
        assert torch.ordinal == 0 and current() == before and torch.asked and set(torch.asked) == {ordinal}
        torch.asked.clear()
torch.ordinal = 1
with spy.create_torch_device("cuda", enable_print=True) as d:
    assert d.native_handles[0].value == 1 and d.desc.enable_print
where = "create_torch_device: argument 'torch_device': "
for bad in ("cpu", torch.device("cpu")):
    raises(ValueError, where + "expected a CUDA device, got", spy.create_torch_device, torch_device=bad)
raises(ValueError, where + "expected a torch.device, 'cuda:1' or a number, got 'gpu'", spy.create_torch_device, torch_device="gpu")
for bad in (2, -1, "cuda:2"):
    raises(ValueError, where + "expected a number below 2, got", spy.create_torch_device, torch_device=bad)
torch.available = False
raises(spy.Error, "create_torch_device: torch.cuda.is_available() is False", spy.create_torch_device)
""")


def test_torch_streams(fake):
    """All work goes to the calling thread's current stream of torch, and torch's default stream is CUDA's; fn.cuda_stream() is used
    instead where it is given. (Features D7, F6.)"""
    fake(TORCH + """
d = spy.create_torch_device()
m, x = module_of(d), spy.Tensor.zeros(d, (4,), "float")
first, second, third = (new_stream(context_of(d)) for _ in range(3))
m.f(x)
assert state.stream == 1
def recorded():
    encoder = d.create_command_encoder()
    m.f.append_to(encoder, x)
    return encoder.finish()
commands = recorded()
for stream in (first, second, 0, first):
    torch.threads.stream = stream
    for use in (lambda: m.f(x), lambda: m.k.dispatch(32, b=x), lambda: d.submit_command_buffer(commands)):
        m.f.cuda_stream(third)(x)
        assert state.stream == third
        use()
        assert state.stream == (stream or 1), (state.stream, stream)
        d.submit_command_buffer(commands, cuda_stream=third)
        assert state.stream == third
seen = []
def other():
    m.f(x)
    seen.append(state.stream)
    torch.threads.stream = second
    m.f(x)
    seen.append(state.stream)
thread = threading.Thread(target=other)
thread.start(), thread.join()
assert seen == [1, second]
m.f(x)
assert state.stream == first
# What goes wrong there is said, and the device can be closed all the same.
torch.threads.stream = new_stream(new_context(1))
raises(ValueError, "the stream is of another context", m.f, x)
torch.threads.stream = "x"
raises(TypeError, "expected a CUDA stream's handle as int", m.f, x)
def fails():
    raise KeyError("torch's own")
d._follow = fails
raises(KeyError, "torch's own", m.f, x)
d.close()
assert d.is_closed
""")


# >>on a GPU


def cuda_current():
    context = ctypes.c_void_p()
    assert ctypes.CDLL("libcuda.so.1").cuCtxGetCurrent(ctypes.byref(context)) == 0
    return context.value


ADD = "float add(float a, float b) { return a + b; }"


@needs_cuda
def test_contexts_on_a_gpu():
    """Two devices share one context in a process; another thread uses it; cuda_context_scope() restores the earlier context. (Features D1,
    D8.)"""
    with spy.create_device(spy.DeviceType.cuda) as a:
        a.set_cuda_context_current()
        handles = spy.get_cuda_current_context_native_handles()
        assert handles == a.native_handles and handles[1].value == cuda_current()
        with spy.create_device(existing_device_handles=handles) as b:
            assert b.native_handles == handles
            results = []

            def work(device):
                with device.cuda_context_scope():
                    add = spy.Module.load_from_source(device, "contexts", ADD).add
                    results.append(add(np.arange(100, dtype=np.float32), 1, _result="numpy").tolist())
                results.append(cuda_current())

            threads = [threading.Thread(target=work, args=(d,)) for d in (a, b)]
            for t in threads:
                t.start()
            for t in threads:
                t.join()
            assert [r for r in results if r] == [[i + 1 for i in range(100)]] * 2 and results.count(None) == 2
        assert cuda_current() == handles[1].value


@needs_cuda
def test_torch_on_a_gpu():
    """The device shares torch's context, which stays current, and torch's streams: a call sees numbers that torch wrote in a stream of
    its own, without a wait. (Feature D7.)"""
    torch = pytest.importorskip("torch")
    if not torch.cuda.is_available():
        pytest.skip("this torch has no CUDA")
    stream, x = torch.cuda.Stream(), torch.zeros(1 << 20, device="cuda")
    before = cuda_current()
    with spy.create_torch_device() as d:
        assert d.native_handles[1].value == before == cuda_current()
        module = spy.Module.load_from_source(d, "beside_torch", "void twice(int i, float *p) { p[i] = 2 * p[i]; }")
        for s in (stream, torch.cuda.default_stream()):
            torch.cuda.synchronize()  # torch does not order its streams beyond this, either
            with torch.cuda.stream(s):
                for _ in range(50):
                    x += 1
                module.twice(range(0, 1 << 20), x.data_ptr())
                x += 1
        assert bool((x == 2 * (2 * 50 + 1 + 50) + 1).all())
        with d.cuda_context_scope():
            assert cuda_current() == before
        assert cuda_current() == before and torch.cuda.current_device() == 0

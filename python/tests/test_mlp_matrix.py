"""Networks of half and Mixed in ordinary calls on CUDA. Without a GPU the text of the kernels runs on the CPU (tests/mlp/warp.cpp,
tests/mlp/emulate.cpp) on tests/unit/fake_cuda, whose device memory is host memory, and is compared with numpy in float64.
tests/mlp/calls.py tests the calls on a GPU."""
import os
import random
import shutil

import numpy as np
import pytest

import slangpy as spy
from conftest import TOP
from test_cuda_context import fake  # noqa: F401

EMULATED = """
import os, re, subprocess, tempfile
sys.path.insert(0, %r)
import calls
folder = tempfile.mkdtemp()
kernels, ran = {}, []

def build(name):
    text = open(os.path.join(folder, name + ".cu")).read()
    engine = re.search(r"(?:forward_from|gradient_from|add_gradient)<\\(?int\\((\\d+)\\)\\)?, \\(?int\\((\\d+)\\)\\)?>", text)
    if engine is None and "spy_mlp_warp::" not in text:
        return None
    path = os.path.join(folder, name)
    if engine:
        start = text.index("#define MLP_D ")
        open(path + ".inc", "w").write(text[start:text.index("} // namespace spy_mlp") + 22])
        words = ["-DSHAPE=" + engine[1], "-DOPTIONS=" + engine[2], "-DFROM=" + ("unsigned short" if "half" in Net else "float"), os.path.join(%r, "emulate.cpp")]
    else:
        open(path + ".inc", "w").write(text)
        words = ["-DSPY_KERNEL=spyi_kernel(*(SpyiBlock_0 *)arguments[0])", os.path.join(%r, "warp.cpp")]
    subprocess.run(["g++", "-std=c++17", "-O1", "-march=native", "-ffp-contract=off", "-w", "-shared", "-fPIC", '-DTEXT="%%s.inc"' %% path] + words + ["-o", path + ".so"], check=True)
    return ctypes.CDLL(path + ".so").emulate, engine and layout(open(path + ".slang").read())

def group_size(name):
    return int(re.search(r"numthreads\\((\\d+)", open(os.path.join(folder, name + ".slang")).read())[1])

def layout(kernel):  # the threads of an engine's kernel, and where in its block the fields are: pointers, numbers, weights and rows
    at, fields = 0, {}
    for kind, name in re.findall(r"^    (\\S.*) (\\w+);$", kernel[kernel.index("struct SpyiBlock"):kernel.index("[numthreads")], re.M):
        size = 8 if kind.endswith("*") else 16 if kind.startswith("WeightTensor") else 4 * int(kind[12:-1]) if kind.startswith("Array<float,") else 4
        at += -at %% (4 if kind.startswith("Array") and not kind.endswith("*") else min(size, 8))
        fields[name], at = at, at + size
    return int(re.search(r"numthreads\\((\\d+)", kernel)[1]), fields

KERNEL = ctypes.CFUNCTYPE(None, ctypes.c_char_p, ctypes.POINTER(ctypes.c_uint * 3), ctypes.POINTER(ctypes.c_void_p), ctypes.c_void_p)
def on_kernel(function, grid, params, user):
    name = function.decode()[4:]
    if name not in kernels:
        kernels[name] = build(name)
    if kernels[name] is None:
        return
    run, engine = kernels[name]
    ran.append("engine" if engine else "units")
    if engine:
        threads, fields = engine
        get = lambda name, more=0: ctypes.c_uint64.from_address(params[0] + fields[name] + more).value
        if "_parts" in fields:  # the second dispatch of a backward call
            ran[-1] = "sums"
            pointers, count = (get("_sums"), get("net", 8)), get("_parts")
        elif "_sums" in fields:
            seeds = get("_result_grad") if "Array<float,%%d> _result_grad" %% outputs not in open(os.path.join(folder, name + ".slang")).read() else params[0] + fields["_result_grad"]
            pointers, count = (get("net"), get("x"), seeds, get("_sums"), get("x_grad" if "x_grad" in fields else "_sums")), get("_count")
        else:
            pointers, count = (get("net"), get("x"), get("_result")), get("_count")
        run(grid.contents[0], threads, ctypes.c_uint32(state.shared), (ctypes.c_void_p * 8)(*pointers), (ctypes.c_float * 8)(), (ctypes.c_int * 2)(count & 0xffffffff))
    else:
        run(grid.contents[0] * group_size(name), (ctypes.c_void_p * 6)(params[0]))
seen = KERNEL(on_kernel)
state.on_kernel = ctypes.cast(seen, ctypes.c_void_p)

shape = CASE
inputs, outputs, width, depth, activation, output_activation, bias, dtype, rows = shape
d = spy.create_device(spy.DeviceType.cuda)
d._set_dump_directory(folder)
from slangpy import mlp
net = mlp.Network(d, inputs, outputs, width, depth, activation, output_activation, bool(bias), dtype, init=None)
Net = net.slang_type
random_numbers = np.random.default_rng(1)
p = (random_numbers.standard_normal(net.parameters.shape) * (2 / max(width, inputs)) ** 0.5).astype(net.parameters.to_numpy().dtype)
net.parameters.copy_from_numpy(p)
calls.mlp.Network.__init__ = lambda self, *a, **k: self.__dict__.update(net.__dict__)
""" % ((os.path.join(TOP, "tests/mlp"),) * 3)

SHAPES = [  # inputs, outputs, width, depth, activation, output activation, bias, dtype, rows
    (20, 3, 48, 2, "SiLU", "Sigmoid", 1, "mixed", 70), (3, 11, 32, 1, "Tanh", "NoActivation", 1, "half", 33), (33, 1, 16, 3, "Sine", "NoActivation", 0, "mixed", 2),
    (40, 20, 0, 0, "ReLU", "NoActivation", 1, "mixed", 64), (16, 8, 80, 2, "LeakyReLU", "NoActivation", 0, "half", 300)]
if os.environ.get("SPY_TEST_SIZE") != "soak":  # g++ and NVRTC need seconds for each shape
    SHAPES = random.Random(int(os.environ.get("SPY_TEST_SEED") or 0) or None).sample(SHAPES, 1)

needs_compiler = pytest.mark.skipif(not shutil.which("g++"), reason="no g++")


@needs_compiler
@pytest.mark.parametrize("shape", SHAPES)
def test_numbers(fake, shape):  # noqa: F811
    """A call of a network, alone and among other code, and its gradients use instructions of whole warps; the last warp is not full.
    (Feature N2.)"""
    fake(EMULATED.replace("CASE", repr(shape)) + """
calls.check(d, shape, 5)
assert calls.bad == 0 and calls.lines == 3 and ran == ["units"] * 3, (calls.bad, ran)
""")


ROOMS = [  # the last one has more layers than shared memory has room for
    (20, 3, 80, 2, "SiLU", "NoActivation", 1, "mixed", 1301), (3, 11, 48, 1, "Tanh", "Sigmoid", 0, "half", 1100), (40, 20, 0, 0, "ReLU", "NoActivation", 1, "mixed", 700),
    (17, 1, 128, 5, "LeakyReLU", "Tanh", 0, "mixed", 70)]
if os.environ.get("SPY_TEST_SIZE") != "soak":
    ROOMS = random.Random(int(os.environ.get("SPY_TEST_SEED") or 0) or None).sample(ROOMS, 1)


@needs_compiler
@pytest.mark.parametrize("shape", ROOMS)
def test_rooms(fake, shape):  # noqa: F811
    """Groups go through all elements in turn and sum the gradients of the weights in shared memory, those of two networks too. (Feature N2.)"""
    fake("state.multiprocessors = 1\n" + EMULATED.replace("CASE", repr(shape)) + """
calls.check(d, shape, 5)
assert calls.bad == 0 and calls.lines == 3 and ran == ["units"] * 3, (calls.bad, ran)
module = spy.Module.load_from_source(d, "two", calls.source(net) + '''
[Differentiable] float[%d] two(Net a, float x[%d], Net b) {
    float y[%d] = a.run(x);
    float z[%d] = b.run(x);
    for (int i = 0; i < %d; i++) y[i] = y[i] * z[i];
    return y;
}
''' % (outputs, inputs, outputs, outputs, outputs))
x = calls.half(random_numbers.standard_normal((rows, inputs))).astype(np.float32)
dy = (random_numbers.standard_normal((rows, outputs)) / rows).astype(np.float32)
parameters = [net.parameters.to_numpy(), (net.parameters.to_numpy() * 1.5).astype(p.dtype)]
before = (random_numbers.standard_normal(p.shape) * 1e-4).astype(p.dtype)
tensors = [spy.Tensor.from_numpy(d, v).with_grads() for v in parameters]
for t in tensors:
    t.grad_out.copy_from_numpy(before)
args = (tensors[0], spy.Tensor.from_numpy(d, x), tensors[1])
assert module.two.bwds.explain(*args, _result=spy.diffPair(d=spy.Tensor.from_numpy(d, dy))).count("; each group sums the gradients of all its elements in shared memory") == 2
module.two.bwds(*args, _result=spy.diffPair(d=spy.Tensor.from_numpy(d, dy)))
assert d and state.shared >= 512 + 2 * 128 and len(ran) == 4, (state.shared, ran)
y = [calls.reference(net, v, x, None, True)[0] for v in parameters]
for t, v, other in zip(tensors, parameters, y[::-1]):
    expected = before + calls.reference(net, v, x, dy * other, True)[1].reshape(p.shape)
    assert calls.error(t.grad_out.to_numpy(), expected) < (3e-2 if dtype == "half" else 4e-3), calls.error(t.grad_out.to_numpy(), expected)
# Nothing is summed so where the call is deterministic, or where it has no gradient of weights.
assert "[numthreads(256, 1, 1)]" in module.two.bwds.explain(*args, _result=spy.diffPair(d=spy.Tensor.from_numpy(d, dy)))
assert "each group sums" not in module.whole.explain(net, args[1])
assert "each group sums" not in module.whole.deterministic().bwds.explain(net, args[1], _result=spy.diffPair(d=dy[0]))
""")


@needs_compiler
@pytest.mark.parametrize("shape", [random.choice([(20, 3, 48, 2, "SiLU", "Sigmoid", 1, "mixed", 70), (32, 8, 32, 3, "Tanh", "NoActivation", 0, "half", 70),
                                                  (17, 9, 0, 0, "ReLU", "Tanh", 1, "mixed", 70)])])
def test_apart(fake, shape):  # noqa: F811
    """Warps that the matrix units do not take, as some threads are missing or the weights are not aligned, compute the same in loops, each
    thread with float weights. (Feature N2.)"""
    fake(EMULATED.replace("CASE", repr(shape)) + """
module = spy.Module.load_from_source(d, "apart", "import slangpy;\\n" + calls.source(net) + '''
[Differentiable] float[%d] seen(Net net, float x[%d], no_diff RWTensor<float, 1> marks) { marks[0] = 1; return net.run(x); }
''' % (outputs, inputs))
x = calls.half(random_numbers.standard_normal((rows, inputs))).astype(np.float32)
dy = (random_numbers.standard_normal((rows, outputs)) / rows).astype(np.float32)
y, dw, dx = calls.reference(net, p, x, dy.astype(np.float64), False)
near, near_dw, near_dx = calls.reference(net, p, x, dy.astype(np.float64), True)
full = rows // 32 * 32
marks, seeds = spy.Tensor.zeros(d, (1,), "float"), spy.diffPair(d=spy.Tensor.from_numpy(d, dy))
def gradient_of(n):  # of the parameters, by the first n rows on the matrix units and the others by themselves
    return calls.reference(net, p, x[:n], dy[:n].astype(np.float64), True)[1] + calls.reference(net, p, x[n:], dy[n:].astype(np.float64), False)[1]
tight = 3e-2 if dtype == "half" else 4e-3  # sums of gradients of half are half
for unaligned in (False, True):
    room = spy.Tensor.zeros(d, (int(np.prod(p.shape)) + 1,), net.parameters.dtype).with_grads()
    weights = room[1:].view(p.shape) if unaligned else net.parameters
    if unaligned:
        weights.copy_from_numpy(p)
    gx = spy.Tensor.from_numpy(d, x).with_grads()
    if not unaligned:
        assert "plain loops in a warp of fewer than 32 elements" in module.seen.explain(net, gx, marks)
    function, more = (module.inside, (1.0,)) if unaligned else (module.seen, (marks,))
    got = function(weights, gx, *more).to_numpy()
    if unaligned:
        y[:, 0] = y[:, 0] / (1 + np.abs(y[:, 0]))
        assert calls.error(got, y) < 1e-5, calls.error(got, y)
        function = module.whole.thread_group_size(256)  # the batch engine takes no such call
        more = ()
    else:
        assert calls.error(got[full:], y[full:]) < 1e-5 and calls.error(got[:full], near[:full]) < 6e-4, calls.error(got[full:], y[full:])
    weights.grad_out.copy_from_numpy(np.zeros(p.shape, p.dtype))
    function.bwds(weights, gx, *more, _result=seeds)
    to, n = gx.grad_out.to_numpy(), 0 if unaligned else full
    assert calls.error(to[n:], dx[n:]) < 2e-5 and (n == 0 or calls.error(to[:n], near_dx[:n]) < 4e-3), calls.error(to[n:], dx[n:])
    assert calls.error(weights.grad_out.to_numpy(), gradient_of(n)) < (tight if n or dtype == "half" else 2e-5), calls.error(weights.grad_out.to_numpy(), gradient_of(n))
assert len(ran) == 4 and set(ran) == {"units"}, ran
for name in kernels:  # such loops with votes of the warp at each step took most of the compiler's time
    text = open(os.path.join(folder, name + ".cu")).read()
    assert "plain_layer(" in text and "__ballot_sync" not in text, name
""")


@needs_compiler
def test_engine(fake):  # noqa: F811
    """A call that is nothing but a network runs the batch engine, for parameters and inputs of float and half; other networks run
    without the engine. (Feature N3.)"""
    shape = random.choice([(40, 8, 64, 2, "ReLU", "NoActivation", 1, "mixed", 150), (17, 3, 32, 3, "Tanh", "NoActivation", 1, "half", 90)])
    fake("state.multiprocessors = 3\n" + EMULATED.replace("CASE", repr(shape)) + """
module = spy.Module.load_from_source(d, "engine", calls.source(net) + '''
float[%d] turned(float x[%d], Net net) { let y = net.run(x); return y; }
float[%d] other(Net net, float x[%d]) { x[0] = 1; return net.run(x); }
float[%d] with_more(Net net, float x[%d], float gain) { return net.run(x); }
struct Pair { Net a; Net b; }
float[%d] second(Pair nets, float x[%d]) { return nets.b.run(x); }
''' % ((outputs, inputs) * 4))
x = calls.half(random_numbers.standard_normal((rows, inputs))).astype(np.float32)
y = calls.reference(net, p, x, None, True)[0]
for tensor in (spy.Tensor.from_numpy(d, x), spy.Tensor.from_numpy(d, x.astype(np.float16))):
    out = spy.Tensor.from_numpy(d, np.full((rows + 2, outputs), 77, np.float32))
    module.whole(net, tensor, _result=out[:rows])
    got = out.to_numpy()
    assert calls.error(got[:rows], y) < 4e-4 and (got[rows:] == 77).all(), calls.error(got[:rows], y)
x = spy.Tensor.from_numpy(d, x)
assert calls.error(module.turned(x, net).to_numpy(), y) < 4e-4
assert ran == ["engine"] * 3, ran
for name, args in (("other", (net, x)), ("inside", (net, x, 0.5)), ("with_more", (net, x, 0.5)), ("second", (dict(a=net, b=net), x))):
    text = getattr(module, name).explain(*args)
    assert "[numthreads(64, 1, 1)]" in text, text
    assert "network " in text and "matrix units (mma.sync)" in text and "batch engine" not in text, text
gaps = spy.Tensor.zeros(d, (rows, 2 * inputs), "float")
assert "batch engine" not in module.whole.explain(net, gaps[:, 0:inputs])
assert "batch engine" not in module.whole.thread_group_size(64).explain(net, x)
assert module.whole(net, x[0:0]).shape == (0,) and len(ran) == 3
""")


ENGINE_GRADIENTS = [  # the device's capability, then a shape; some teams of warps have two tiles of rows
    (90, (40, 8, 64, 2, "ReLU", "NoActivation", 1, "mixed", 300)), (90, (64, 3, 64, 3, "LeakyReLU", "NoActivation", 0, "half", 400)),
    (80, (17, 3, 32, 3, "Tanh", "NoActivation", 1, "mixed", 900)), (80, (64, 5, 64, 1, "Sigmoid", "NoActivation", 1, "mixed", 700)),
    (90, (32, 8, 32, 4, "ReLU", "NoActivation", 0, "half", 850))]
if os.environ.get("SPY_TEST_SIZE") != "soak":
    ENGINE_GRADIENTS = random.Random(int(os.environ.get("SPY_TEST_SEED") or 0) or None).sample(ENGINE_GRADIENTS, 1)


@needs_compiler
@pytest.mark.parametrize("case", ENGINE_GRADIENTS)
def test_engine_gradients(fake, case):  # noqa: F811
    """The backward call of a function that is nothing but a network runs the batch engine: gradients of weights and of x are added to what is there and
    have the same bits in each run, for rows and gradients of float and half, and for gradients of outputs that differ by many powers of two. (Feature N3.)"""
    fake("state.multiprocessors = 2\nstate.capability = %d\n" % case[0] + EMULATED.replace("CASE", repr(case[1])) + "WAY, LATER = %d, %d\n" % (random.randrange(5), random.choice((30, 70))) + """
module = spy.Module.load_from_source(d, "gradients", calls.source(net) + '''
[Differentiable] float[%d] constant(no_diff float x[%d], Net net) { return net.run(x); }
''' % (outputs, inputs))
engine = "the whole call, by the batch engine (%s), products of halves, sums in float, in the same order in each run" % ("wgmma" if state.capability == 90 and width == 64 else "mma.sync")
values = calls.half(random_numbers.standard_normal((rows, inputs)))
dy = random_numbers.standard_normal((rows, outputs)).astype(np.float32)
apart = dy * (2.0 ** -np.linspace(4, 60, rows))[:, None].astype(np.float32)  # the largest of each 32 rows is up to 2^4 times the smallest
apart[3 * rows // 4:] *= 2.0 ** (30 if dtype == "half" else LATER)  # the second tile of a team is smaller or larger than its first one
apart[rows // 2:rows // 2 + 130] = 0
before = calls.half(random_numbers.standard_normal(p.shape) * 1e-2).astype(p.dtype)
x_before = calls.half(random_numbers.standard_normal(x_shape := (rows, inputs)) * 1e-2)
def run(function, seeds, dtype_of_x, with_x, turned=False):
    x = spy.Tensor.from_numpy(d, values.astype(dtype_of_x))
    if with_x:
        x = x.with_grads()
        x.grad_out.copy_from_numpy(x_before.astype(dtype_of_x))
    net.parameters.grad_out.copy_from_numpy(before)
    args = (x, net) if turned else (net, x)
    assert engine in function.bwds.explain(*args, _result=spy.diffPair(d=seeds)), function.bwds.explain(*args, _result=spy.diffPair(d=seeds))
    function.bwds(*args, _result=spy.diffPair(d=seeds))
    assert ran[-2:] == ["engine", "sums"], ran
    return net.parameters.grad_out.to_numpy(), x.grad_out.to_numpy() if with_x else None
tight = 3e-2 if dtype == "half" else 3e-3
ways = [
    ("rows", dy, spy.Tensor.from_numpy(d, dy), np.float32, True), ("half rows", calls.half(dy), spy.Tensor.from_numpy(d, dy.astype(np.float16)), np.float16, True),
    ("one row", np.tile(dy[:1], (rows, 1)), dy[0], np.float32, False), ("tiny", dy * 2.0 ** -100, spy.Tensor.from_numpy(d, dy * np.float32(2.0 ** -100)), np.float16, False),
    ("huge", dy * 2.0 ** 100, spy.Tensor.from_numpy(d, dy * np.float32(2.0 ** 100)), np.float32, False)]
soak = os.environ.get("SPY_TEST_SIZE") == "soak"
for name, dy_of, seeds, dtype_of_x, with_x in [("far apart", apart.astype(np.float64), spy.Tensor.from_numpy(d, apart), np.float32, True)] + (ways if soak else [ways[WAY]]):
    got, dx = run(module.whole, seeds, dtype_of_x, with_x)
    y, dw, of_x = calls.reference(net, p, values, np.asarray(dy_of, np.float64), "engine")
    if name == "huge" and dtype == "half":
        assert not np.isfinite(got).all()
        continue
    assert calls.error(got, before + dw.reshape(p.shape)) < tight, (name, calls.error(got, before + dw.reshape(p.shape)))
    if with_x:
        expected = x_before + of_x
        limit = 2e-3 if dtype_of_x == np.float32 else 3e-3
        assert calls.error(dx, expected) < limit, (name, calls.error(dx, expected))
    again, dx_again = run(module.whole, seeds, dtype_of_x, with_x)
    assert again.tobytes() == got.tobytes() and (not with_x or dx.tobytes() == dx_again.tobytes()), name
# Each tile of the rows that are far apart has a scale of its own: the small ones are as exact as the large ones.
before, x_before = before * 0, x_before * 0
got, dx = run(module.whole, spy.Tensor.from_numpy(d, apart), np.float32, True)
of_x = calls.reference(net, p, values, apart.astype(np.float64), "engine")[2]
for i in range(0, rows - 64, 64):
    assert calls.error(dx[i:i + 64], of_x[i:i + 64]) < 6e-3, (i, calls.error(dx[i:i + 64], of_x[i:i + 64]))
if soak:
    got, _ = run(module.constant, spy.Tensor.from_numpy(d, dy), np.float32, False, True)
    assert calls.error(got, calls.reference(net, p, values, dy.astype(np.float64), "engine")[1]) < tight
nan = dy.copy()
nan[rows - 1, 0] = np.nan
assert np.isnan(run(module.whole, spy.Tensor.from_numpy(d, nan), np.float32, False)[0]).any()
for n in (rows, rows // 3, rows, rows // 3, 1):  # calls of several sizes in turn, with tensors of their own
    net.parameters.grad_out.copy_from_numpy(before)
    module.whole.bwds(net, spy.Tensor.from_numpy(d, values[:n].astype(np.float32)), _result=spy.diffPair(d=spy.Tensor.from_numpy(d, dy[:n])))
    got, expected = net.parameters.grad_out.to_numpy(), calls.reference(net, p, values[:n], dy[:n].astype(np.float64), "engine")[1]
    assert ran[-2:] == ["engine", "sums"] and calls.error(got, expected) < (tight if n > 32 else 2 * tight), (n, calls.error(got, expected))
encoder = d.create_command_encoder()  # recorded once, replayed: the gradients are added each time
x = spy.Tensor.from_numpy(d, values.astype(np.float32))
module.whole.bwds.append_to(encoder, net, x, _result=spy.diffPair(d=spy.Tensor.from_numpy(d, dy)))
training = encoder.finish()
net.parameters.grad_out.copy_from_numpy(before)
count = len(ran)
for _ in range(2):
    d.submit_command_buffer(training)
d.wait_for_idle()
assert ran[count:] == ["engine", "sums"] * 2, ran[count:]
assert calls.error(net.parameters.grad_out.to_numpy(), 2 * calls.reference(net, p, values, dy.astype(np.float64), "engine")[1]) < tight
""")


def test_engine_not_for_gradients(fake):  # noqa: F811
    """Backward calls that the batch engine cannot do, or whose derivative the program gives, run as other calls do. (Feature N3.)"""
    fake("state.multiprocessors = 2\nstate.capability = 90\n" + EMULATED.replace("CASE", repr((32, 8, 64, 2, "ReLU", "NoActivation", 0, "mixed", 70))) + """
module = spy.Module.load_from_source(d, "others", calls.source(net) + '''
[BackwardDerivative(own_derivative)] float[8] own(Net net, float x[32]) { return net.run(x); }
void own_derivative(Net net, inout DifferentialPair<float[32]> x, float[8] dy) {}
''')
x, seeds = spy.Tensor.zeros(d, (rows, 32), "float").with_grads(), spy.Tensor.zeros(d, (rows, 8), "float")
def explained(function, x=x, seeds=seeds, of=net):
    return next(line for line in function.explain(of, x, _result=spy.diffPair(d=seeds)).split("\\n") if "network net: " in line)
units = "matrix units (mma.sync)"
assert "batch engine (wgmma)" in explained(module.whole.bwds) and "batch engine (wgmma)" in module.own.explain(net, x)
assert "deterministic" in explained(module.whole.deterministic().bwds)
for function, words in ((module.own.bwds, {}), (module.whole.thread_group_size(64).bwds, {}),
                        (module.whole.bwds, dict(x=spy.Tensor.zeros(d, (rows, 64), "float")[:, 0:32])),
                        (module.whole.bwds, dict(x=spy.Tensor.zeros(d, (1, 32), "float").with_grads().broadcast_to((rows, 32)))),
                        (module.whole.bwds, dict(seeds=spy.Tensor.zeros(d, (rows, 16), "float")[:, 0:8])),
                        (module.whole.bwds, dict(of=net.parameters.detach()))):
    assert units in explained(function, **words), (words, explained(function, **words))
for sizes in ("32, 8, 128, 2, ReLU, NoActivation", "32, 8, 64, 5, ReLU, NoActivation", "32, 8, 32, 2, ReLU, Tanh", "32, 8, 32, 2, SiLU, NoActivation", "32, 9, 64, 2, ReLU, NoActivation"):
    ins, outs, wide, deep = (int(n) for n in sizes.split(",")[:4])
    more = spy.Module.load_from_source(d, "more_%d_%d_%s" % (wide, deep, sizes[-4:]), "import mlp; [Differentiable] float[%d] whole(MLP<%s, 0, Mixed> net, float x[32]) { return net.run(x); }" % (outs, sizes))
    text = explained(more.whole.bwds, seeds=spy.Tensor.zeros(d, (rows, outs), "float"), of=spy.Tensor.zeros(d, (wide * (ins + (deep - 1) * wide + outs),), "float").with_grads())
    assert units in text, (sizes, text)
""")


def test_engine_in_packs(fake, tmp_path):  # noqa: F811
    """Where a pack is recorded, the batch engine takes the instructions that other architectures have, too; calls run from the pack without a compiler.
    (Feature N3.)"""
    fake("""
from slangpy import mlp
state.capability, state.multiprocessors, path = 90, 4, %r
source = "import mlp; [Differentiable] float[8] whole(MLP<64, 8, 64, 3, ReLU, NoActivation, 0, Mixed> net, float x[64]) { return net.run(x); }"
def use(d):
    m = spy.Module.load_from_source(d, "packed", source)
    net, x, seeds = spy.Tensor.zeros(d, (12800,), "float").with_grads(), spy.Tensor.zeros(d, (500, 64), "half"), spy.Tensor.zeros(d, (500, 8), "float")
    m.whole(net, x, _result=seeds)
    before = state.counts[2]
    m.whole.bwds(net, x, _result=spy.diffPair(d=seeds))
    d.wait_for_idle()
    assert state.counts[2] == before + 2, state.counts[2] - before
    return m.whole.explain(net, x) + m.whole.bwds.explain(net, x, _result=spy.diffPair(d=seeds))
with spy.create_device(spy.DeviceType.cuda, record_pack=True) as d:
    assert use(d).count("by the batch engine (mma.sync)") == 2
    d.save_pack(path)
with spy.create_device(spy.DeviceType.cuda, pack=path, slang_library="/nonexistent") as d:
    use(d)
    assert d.stats()["compiler_loads"] == 0
""" % os.fspath(tmp_path / "networks.pack"))


def test_explain(fake, device):  # noqa: F811
    """explain() says how each network of a call is computed, and why not in a faster way. (Feature N2.)"""
    source = """
import mlp;
typealias A = %s;
[Differentiable] float[3] f(A net, float x[20]) { x[1] = x[0]; return net.run(x); }
RWStructuredBuffer<float> seen;
"""
    def explained(d, net, options=lambda f: f, more=""):
        m = spy.Module.load_from_source(d, "explained", source.replace("RWStructuredBuffer<float> seen;", more) % net)
        count = {"MLP<20, 3, 32, 2, ReLU, NoActivation, 0, half>": (20 + 32 + 3) * 32, "MLP<20, 3, 32, 2, ReLU, NoActivation, 0, float>": (20 + 32 + 3) * 32,
                 "MLP<20, 3, 40, 1, ReLU, NoActivation, 0, Mixed>": 23 * 40}[net]
        x, p = spy.Tensor.zeros(d, (5, 20), "float"), spy.Tensor.zeros(d, (count,), "half" if "half" in net else "float").with_grads()
        return next(line for line in options(m.f).explain(p, x).split("\n") if "network net: " in line)
    text = explained(device, "MLP<20, 3, 32, 2, ReLU, NoActivation, 0, float>")
    assert text.endswith("plain loops: its parameters are float; with Mixed (float parameters) or half it may round to half")
    if device.info.type != spy.DeviceType.cuda:
        assert explained(device, "MLP<20, 3, 32, 2, ReLU, NoActivation, 0, half>").endswith("plain loops: the matrix units are used on CUDA")
    fake("""
source = %r
def explained(net, count, kind="float", backward=False, more=""):
    m = spy.Module.load_from_source(d, "explained", source.replace("RWStructuredBuffer<float> seen;", more) %% net)
    x, p = spy.Tensor.zeros(d, (5, 20), "float"), spy.Tensor.zeros(d, (count,), kind).with_grads()
    text = m.f.deterministic().bwds.explain(p, x, _result=spy.diffPair(d=np.zeros(3, np.float32))) if backward else m.f.explain(p, x)
    return next(line for line in text.split("\\n") if "network net: " in line)
state.capability = 90
d = spy.create_device(spy.DeviceType.cuda)
units = "  network net: matrix units (mma.sync), products of halves, sums in float; inputs padded to 32; outputs padded to 8"
assert explained("MLP<20, 3, 32, 2, ReLU, NoActivation, 0, half>", 55 * 32, "half") == units
assert explained("MLP<20, 3, 32, 2, ReLU, NoActivation, 0, Mixed>", 55 * 32) == units
assert explained("MLP<20, 3, 32, 2, ReLU, NoActivation, 0, Mixed>", 55 * 32, more="RWStructuredBuffer<float> seen;").endswith(
    "plain loops in a warp of fewer than 32 elements, since the function may change more than its outputs")
assert explained("MLP<20, 3, 32, 2, ReLU, NoActivation, 0, float>", 55 * 32).endswith("with Mixed (float parameters) or half it may round to half")
assert explained("MLP<20, 3, 40, 1, ReLU, NoActivation, 0, Mixed>", 23 * 40).endswith("its width is 40; multiples of 16 up to 128 are possible")
assert explained("MLP<20, 3, 32, 2, ReLU, NoActivation, 0, Mixed>", 55 * 32, backward=True).endswith("plain loops: the call is deterministic")
state.capability = 75
d = spy.create_device(spy.DeviceType.cuda)
assert explained("MLP<20, 3, 32, 2, ReLU, NoActivation, 0, half>", 55 * 32, "half").endswith("mma.sync needs compute capability 8.0, the device has 7.5")
""" % source)

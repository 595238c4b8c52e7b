"""slang-torch's interface (U1 to U3, U5, U6) on the driver without a GPU, which tells the arguments of each launch. NVRTC compiles the
kernels."""
import pytest

from test_cuda_arrays import arrays, fake  # noqa: F401

SLANG = '''
[AutoPyBindCUDA] [CUDAKernel]
void twice(TensorView<float> input, TensorView<float> output)
{
    uint3 at = cudaThreadIdx() + cudaBlockIdx() * cudaBlockDim();
    if (at.x >= input.size(0)) return;
    output[at.x] = input[at.x] * FACTOR;
}
[AutoPyBindCUDA] [CUDAKernel] [Differentiable]
void square(DiffTensorView input, DiffTensorView output)
{
    uint3 at = cudaThreadIdx() + cudaBlockIdx() * cudaBlockDim();
    if (at.x >= input.size(0)) return;
    output[at.x] = input[at.x] * input[at.x];
}
[AutoPyBindCUDA] [CUDAKernel] [Differentiable]
void scaled(no_diff float by, DiffTensorView input, DiffTensorView output)
{
    uint3 at = cudaThreadIdx() + cudaBlockIdx() * cudaBlockDim();
    if (at.x >= input.size(0)) return;
    output.storeOnce(at.x, input.loadOnce(at.x) * by);
}
struct Mesh { TensorView<float> vertices; TensorView<int> indices; };
[AutoPyBindCUDA] [CUDAKernel]
void process(Mesh mesh, float by) { mesh.vertices[cudaThreadIdx().x] *= by * mesh.indices[cudaThreadIdx().x]; }
'''

BEGIN = "import os, tempfile, warnings\nfolder = tempfile.mkdtemp()\npath = os.path.join(folder, 'kernels.slang')\nopen(path, 'w').write(" + repr(SLANG) + """)
m = spy.loadModule(path, defines={"FACTOR": 2}, device=d)
a, b, c, e = (Fast((8,), at=256 * i) for i in (1, 2, 3, 4))
"""


@pytest.fixture
def kernels(arrays):  # noqa: F811
    return lambda script: arrays(BEGIN + script)


def test_kernels_are_launched_by_keywords(kernels):
    """launchRaw(), launchTotal() and autoLaunch() give the kernel the memory of the arrays themselves. (Features U1, U5.)"""
    kernels("""
launch = m.twice(input=a, output=b)
assert not blocks
launch.launchRaw(blockSize=(32, 1, 1), gridSize=(64, 1, 1))
assert places(blocks.pop()) == [256, 512] and not blocks
m.twice(input=a, output=b).launchTotal(totalSize=(8, 1, 1), blockSize=(32, 1, 1))
m.twice(input=a, output=b).autoLaunch((8, 1, 1))
assert [places(x) for x in blocks] == [[256, 512]] * 2
import slangtorch, sys
assert "slangpy.torch_entry_points" not in sys.modules  # imported for [TorchEntryPoint] functions alone: 5 ms, or 9 where it is compiled
assert slangtorch.loadModule is spy.loadModule and slangtorch.__version__
assert spy.loadModule(path, defines={"FACTOR": 2}, device=d) is m and spy.loadModule(path, defines={"FACTOR": 3}, device=d) is not m
""")


def test_derivatives_take_pairs(kernels):
    """fwd and bwd are kernels of their own, which take a pair for each DiffTensorView. (Feature U3.)"""
    kernels("""
m.square(input=a, output=b).launchRaw(blockSize=(8, 1, 1), gridSize=(1, 1, 1))
assert places(blocks.pop()) == [256, 512]
for kernel in (m.square.bwd, m.square.fwd):
    kernel(input=(a, b), output=(c, e)).launchRaw(blockSize=(8, 1, 1), gridSize=(1, 1, 1))
    assert places(blocks.pop()) == [256, 512, 768, 1024]
m.square.bwd(input=spy.slangtorch.DiffTensorView(a, b), output=(c, e)).launchRaw(blockSize=(8, 1, 1), gridSize=(1, 1, 1))
assert places(blocks.pop()) == [256, 512, 768, 1024]
m.scaled.bwd(by=2.0, input=(a, b), output=(c, e)).launchRaw(blockSize=(8, 1, 1), gridSize=(1, 1, 1))
assert places(blocks.pop()) == [256, 512, 768, 1024]
raises(TypeError, "square.bwd: argument 'input': expected (value, gradient) for DiffTensorView", m.square.bwd, input=1.0, output=(c, e))
""")


def test_a_value_without_a_gradient_in_a_derivative(kernels):
    """A derivative takes a tensor without its gradient. What the kernel adds to the gradient goes to memory that is set to zero."""
    kernels("""
import slangtorch
PIECES = "[CudaKernel] [Differentiable] void halve(DiffTensorView<half> x, DiffTensorView y) { y[0] = float(x[0]) * 2; }"
open(os.path.join(folder, "pieces.slang"), "w").write(PIECES)
halves, half = spy.loadModule(os.path.join(folder, "pieces.slang"), device=d), Fast((8,), dtype=(2, 16, 1), at=2048)
for value in (a, slangtorch.DiffTensorView(a)):
    for kernel in (m.square.bwd, m.square.fwd):
        kernel(input=value, output=(c, e)).launchRaw(blockSize=(8, 1, 1), gridSize=(1, 1, 1))
        block = blocks.pop()
        assert places(block) == [256, 768, 1024]
        views = [struct.unpack_from("<Q5I5I", block, 8 + 56 * i) for i in range(4)]
        assert all(v[0] > 1 << 20 for v in views) and len({v[0] for v in views}) == 4, views
        assert views[1][1:] == views[0][1:], views
halves.halve.bwd(x=half, y=(c, e)).launchRaw(blockSize=(8, 1, 1), gridSize=(1, 1, 1))
block = blocks.pop()
value, gradient = (struct.unpack_from("<Q5I5I", block, 8 + 56 * i) for i in range(2))
assert value[1] == 2 and gradient[0] > 1 << 20 and gradient[1] == 4 and gradient[6] == 8, (value, gradient)  # the gradient's elements are floats
""")


def test_gradients_that_a_kernel_cannot_use(kernels):
    """Gradients and values in the host's memory, on another GPU, or with elements that Slang's AtomicAdd does not add to, are errors that
    name the argument, also in structs and arrays; nothing is launched."""
    kernels("""
import numpy as np
import slangtorch
PIECES = '''
struct Two { DiffTensorView w; DiffTensorView b[2]; };
[CudaKernel] [Differentiable] void product(Two t, DiffTensorView xs[2], DiffTensorView y) { y[0] = t.w[0] * t.b[1][0] * xs[1][0]; }
struct One { DiffTensorView w; };
[CudaKernel] [Differentiable] void single(One t, DiffTensorView y) { y[0] = t.w[0]; }
[CudaKernel] [Differentiable] void other(DiffTensorView<double> x, DiffTensorView<half> y) { y[0] = half(x[0]); }
'''
open(os.path.join(folder, "pieces.slang"), "w").write(PIECES)
p = spy.loadModule(os.path.join(folder, "pieces.slang"), device=d)
run = lambda launch: launch.launchRaw(blockSize=(8, 1, 1), gridSize=(1, 1, 1))
host, far = np.zeros(8, np.float32), Fast((8,), device=1)
good = (a, b)
for way in ("bwd", "fwd"):
    square, product, single = (getattr(kernel, way) for kernel in (m.square, p.product, p.single))
    for bad in (host, Fast((8,), kind=1), far, [0.0] * 8, 1.0):
        for name, make in (
                ("'input'", lambda: square(input=(a, bad), output=(c, e))), ("'input'", lambda: square(input=slangtorch.DiffTensorView(a, bad), output=(c, e))),
                ("'output'", lambda: square(input=good, output=(c, bad))), ("'t", lambda: single(t={"w": (a, bad)}, y=(c, e))),
                ("'t_b_1'", lambda: product(t=(good, [good, (a, bad)]), xs=(good, good), y=(c, e))), ("'xs_0'", lambda: product(t=(good, [good, good]), xs=((a, bad), good), y=(c, e)))):
            raises(ValueError, name, lambda: run(make()))
    for bad in (host, Fast((8,), kind=1), far):
        for name, make in (("'input'", lambda: square(input=(bad, a), output=(c, e))), ("'input'", lambda: square(input=bad, output=(c, e))),
                           ("'t", lambda: single(t={"w": (bad, a)}, y=(c, e))), ("'xs_0'", lambda: product(t=(good, [good, good]), xs=((bad, a), good), y=(c, e)))):
            raises(ValueError, name, lambda: run(make()))
for bad in (host, far, Fast((8,), kind=1)):
    raises(ValueError, "'xs_1'", lambda: run(p.product(t=(a, [b, c]), xs=(e, bad), y=b)))
    raises(ValueError, "'t", lambda: run(p.single(t=(bad,), y=c)))
    raises(ValueError, "'mesh", lambda: run(m.process(mesh=(bad, Fast((8,), dtype=(0, 32, 1))), by=1.0)))
assert not blocks
double, half = Fast((8,), dtype=(2, 64, 1), at=2048), Fast((8,), dtype=(2, 16, 1), at=3072)
for x, y, name in (((double, double), (half, a), "x"), ((double, a), (half, half), "y"), ((double, half), (half, a), "x")):
    raises(ValueError, "other.bwd: '" + name + "': its gradient has elements of another type than float", lambda: run(p.other.bwd(x=x, y=y)))
assert not blocks
run(p.other.bwd(x=(double, a), y=(half, b)))
assert places(blocks.pop()) == [256, 512, 2048, 3072]
""")


def test_errors_are_those_of_slang_torch_too(kernels):
    """A mistake is caught as the class that slang-torch raises for it, and as this library's."""
    kernels("""
import numpy as np
run = lambda launch: launch.launchRaw(blockSize=(8, 1, 1), gridSize=(1, 1, 1))
ints = Fast((8,), dtype=(0, 32, 1))
OTHER = "struct In { int2 v; uint n; }; [CudaKernel] void take(In v, float2 w, float taps[3], TensorView<float> y) { y[0] = v.v.x + w.y + taps[1]; }"
open(os.path.join(folder, "other.slang"), "w").write(OTHER)
o = spy.loadModule(os.path.join(folder, "other.slang"), device=d)
take = lambda v=((1, 2), 3), w=(1.0, 2.0), taps=(1, 2, 3): run(o.take(v=v, w=w, taps=taps, y=a))
take()
blocks.clear()
for theirs, make in (
        (ValueError, lambda: m.twice(input=a)), (ValueError, lambda: m.twice(input=a, output=b, other=c)), (ValueError, lambda: m.twice(a, b)),
        (ValueError, lambda: m.square.bwd(input=(a, b))), (ValueError, lambda: m.twice.bwd(input=a, output=b)), (ValueError, lambda: m.twice.fwd(input=a, output=b)),
        (TypeError, lambda: run(m.square.bwd(input=(a, None), output=(c, e)))), (TypeError, lambda: m.process(mesh={"vertices": a}, by=1.0)),
        (TypeError, lambda: m.process(mesh=(a,), by=1.0)), (TypeError, lambda: m.process(mesh=(a, ints, a), by=1.0)), (TypeError, lambda: take(v=((1,), 3))),
        (TypeError, lambda: take(v=((1, 2.5), 3))), (TypeError, lambda: take(v=((1, 2), -3))), (TypeError, lambda: take(v=((1 << 40, 2), 3))), (TypeError, lambda: take(w=(1.0,))),
        (TypeError, lambda: take(taps=(1.0, 2.0))), (TypeError, lambda: m.twice(input=a, output=b).launchRaw(blockSize=(-1, 1, 1), gridSize=(1, 1, 1))),
        (RuntimeError, lambda: run(m.twice(input=np.zeros(8, np.float32), output=b)))):
    for error in (theirs, ValueError, spy.Error):
        raises(error, "", make)
assert not blocks
for error in (RuntimeError, FileNotFoundError):
    raises(error, "there is no file", spy.loadModule, "nowhere.slang", device=d)
for error in (RuntimeError, IsADirectoryError):
    raises(error, "expected a file, got the folder", spy.loadModule, folder, device=d)
assert hasattr(m.twice, "bwd") and "without bwd" in repr(m.twice.bwd)
FORWARD = "[CudaKernel] [ForwardDifferentiable] void ahead(DiffTensorView x, DiffTensorView y) { y[0] = x[0]; }"
open(os.path.join(folder, "forward.slang"), "w").write(FORWARD)
f = spy.loadModule(os.path.join(folder, "forward.slang"), device=d)
f.ahead.fwd(x=(a, b), y=(c, e)).launchRaw(blockSize=(8, 1, 1), gridSize=(1, 1, 1))
assert hasattr(f.ahead, "bwd")
raises(ValueError, "ahead has no bwd: the kernel is not [Differentiable]; Slang says:", f.ahead.bwd, x=(a, b), y=(c, e))
""")


def test_a_module_keeps_its_text(kernels):
    """After a change of its file, a module on the device that loadModule() makes keeps its kernels and their derivatives."""
    kernels("""
import time
from slangpy import interop
torch = types.ModuleType("torch")
torch.cuda = types.SimpleNamespace(is_available=lambda: False)
sys.modules["torch"] = torch
made = []
def create(torch_device, **options):
    made.append(spy.create_device(spy.DeviceType.cuda, **options))
    return made[-1]
interop.create_torch_device = create
text = "[CudaKernel] [Differentiable] void fill(DiffTensorView y, TensorView<float> z, no_diff int n) { y[0] = y[n] + n; }"
open(path, "w").write(text)
run = {"blockSize": (8, 1, 1), "gridSize": (1, 1, 1)}
old = spy.loadModule(path)
old.fill(y=a, z=b, n=7).launchRaw(**run)
blocks.clear()
open(path, "w").write(text.replace("int n", "float n").replace("y[n]", "y[1]"))
os.utime(path, (os.path.getmtime(path) + 10,) * 2)
new = spy.loadModule(path)
time.sleep(0.4)
assert new is not old and spy.loadModule(path) is new and len(made) == 1
for _ in range(2):
    for module, number in ((new, struct.pack("<f", 7)), (old, struct.pack("<I", 7))):
        module.fill(y=a, z=b, n=7).launchRaw(**run)
        assert number in blocks.pop()
        module.fill.bwd(y=(a, c), z=b, n=7).launchRaw(**run)
        assert number in blocks.pop()
""")


def test_structs_by_named_tuples_dicts_and_tuples(kernels):
    """Structs are passed as named tuples, dicts and tuples; wrong ones raise TypeError and ValueError. (Feature U6.)"""
    kernels("""
i = Fast((8,), dtype=(0, 32, 1), at=2048)
for mesh in (m.Mesh(vertices=a, indices=i), {"vertices": a, "indices": i}, (a, i)):
    m.process(mesh=mesh, by=2.0).launchRaw(blockSize=(8, 1, 1), gridSize=(1, 1, 1))
    assert places(blocks.pop()) == [256, 2048]
raises(ValueError, "process: argument 'mesh': expected the fields vertices, indices of Mesh, got vertices", m.process, mesh={"vertices": a}, by=1)
raises(ValueError, "expected 2 values", m.process, mesh=(a,), by=1)
raises(TypeError, "expected a named tuple, dict or tuple for Mesh", m.process, mesh=a, by=1)
""")


FUNCTIONS = """
[CudaDeviceExport] [Differentiable] float gelu(float x) { return x * 0.5; }
float plain(float x) { return gelu(x); }
#define KERNEL(name, value) [CudaKernel] void name(TensorView<float> y) { y[0] = value; }
KERNEL(by_macro, plain(3))
[numthreads(8, 1, 1)] [CudaKernel] [Differentiable] void marked(DiffTensorView y) { y[0] = y[1]; }
[CudaKernel]
/* its outputs */ void
spread(TensorView<float> y)
{ y[0] = plain(2); }
namespace inner { [CudaKernel] void named(TensorView<float> y) { y[0] = 1; } }
"""


def test_functions_that_are_no_kernels(kernels):
    """A module has its kernels alone, however they are written; other functions are an AttributeError."""
    kernels("FUNCTIONS = " + repr(FUNCTIONS) + """
open(os.path.join(folder, "functions.slang"), "w").write(FUNCTIONS)
f = spy.loadModule(os.path.join(folder, "functions.slang"), device=d)
for name in ("by_macro", "marked", "spread"):
    getattr(f, name)(y=a).launchRaw(blockSize=(8, 1, 1), gridSize=(1, 1, 1))
    assert places(blocks.pop()) == [256], name
for name in ("gelu", "plain"):
    assert not hasattr(f, name)
    raises(AttributeError, "'{}' is a function without [CudaKernel]".format(name), getattr, f, name)
""")


EXPORTS = """
[PyExport("Points")] struct VertexData { TensorView<float> points; float size; };
struct Other { int n; };
[AutoPyBindCUDA] [CudaKernel] void enlarge(VertexData data) { data.points[cudaThreadIdx().x] *= data.size; }
"""


def test_structs_by_their_names_in_python(kernels):
    """[PyExport("name")] gives a struct another name in Python, which dir() tells."""
    kernels("EXPORTS = " + repr(EXPORTS) + """
open(os.path.join(folder, "exports.slang"), "w").write(EXPORTS)
e = spy.loadModule(os.path.join(folder, "exports.slang"), device=d)
assert e.Points._fields == e.VertexData._fields == ("points", "size") and e.Points.__name__ == "Points" and "Points" in dir(e)
e.enlarge(data=e.Points(points=a, size=2.0)).launchRaw(blockSize=(8, 1, 1), gridSize=(1, 1, 1))
assert places(blocks.pop()) == [256]
assert not hasattr(e, "Vertices") and not hasattr(m, "Points")
""")


BUILT_IN = """
struct World { float dt; };
[AutoPyBindCUDA] [CudaKernel] void step(World world, TensorView<float> x, TensorView<float> y) { y[cudaThreadIdx().x] = step(world.dt, x[cudaThreadIdx().x]); }
[AutoPyBindCUDA] [CudaKernel] [Differentiable] void lerp(DiffTensorView x, DiffTensorView y) { y[cudaThreadIdx().x] = lerp(x[cudaThreadIdx().x], 2.0, 0.5); }
"""


def test_kernels_with_names_of_slangs_own_functions(kernels):
    """A kernel may have the name of a function that is Slang's own, also in its derivative."""
    kernels("BUILT_IN = " + repr(BUILT_IN) + """
open(os.path.join(folder, "built_in.slang"), "w").write(BUILT_IN)
e = spy.loadModule(os.path.join(folder, "built_in.slang"), device=d)
run = {"blockSize": (8, 1, 1), "gridSize": (1, 1, 1)}
e.step(world=e.World(dt=0.5), x=a, y=b).launchRaw(**run)
e.lerp(x=a, y=b).launchRaw(**run)
e.lerp.bwd(x=(a, b), y=(c, e_ := Fast((8,), at=256 * 5))).launchRaw(**run)
assert [places(x) for x in blocks] == [[256, 512], [256, 512], [256, 512, 768, 1280]]
""")


VIEWS = """
struct Layers { TensorView<float> weights[3]; float biases[3]; };
struct Layer { TensorView<float> w; float b; };
[AutoPyBindCUDA] [CudaKernel] void run_layers(Layers layers, TensorView<float> y) { y[0] = layers.weights[1][0] * layers.biases[2]; }
[AutoPyBindCUDA] [CudaKernel] void run_each(Layer layers[2], TensorView<float> y) { y[0] = layers[0].w[0] * layers[1].b; }
[AutoPyBindCUDA] [CudaKernel] [Differentiable] void product(DiffTensorView xs[2], DiffTensorView y) { y[0] = xs[0][0] * xs[1][0]; }
"""


def test_arrays_of_tensors(kernels):
    """Arrays of tensors, and of structs with tensors, are parameters and fields, in derivatives too."""
    kernels("VIEWS = " + repr(VIEWS) + """
open(os.path.join(folder, "views.slang"), "w").write(VIEWS)
v = spy.loadModule(os.path.join(folder, "views.slang"), device=d)
run = {"blockSize": (1, 1, 1), "gridSize": (1, 1, 1)}
for layers in (((a, b, c), (1, 2, 3)), {"weights": [a, b, c], "biases": [1.0, 2.0, 3.0]}, v.Layers(weights=(a, b, c), biases=(1, 2, 3))):
    v.run_layers(layers=layers, y=e).launchRaw(**run)
    assert places(blocks.pop()) == [256, 512, 768, 1024]
v.run_each(layers=[(a, 1.0), {"w": b, "b": 2.0}], y=c).launchRaw(**run)
v.product(xs=(a, b), y=c).launchRaw(**run)
v.product.bwd(xs=[(a, b), (c, e)], y=(Fast((8,), at=256 * 5), Fast((8,), at=256 * 6))).launchRaw(**run)
assert [places(x) for x in blocks] == [[256, 512, 768], [256, 512, 768], [256 * i for i in range(1, 7)]], [places(x) for x in blocks]
raises(ValueError, "run_layers: argument 'layers'.weights: expected 3 values, got 2", v.run_layers, layers=((a, b), (1, 2, 3)), y=e)
raises(TypeError, "argument 'layers'.weights: expected a tuple of 3 values", v.run_layers, layers=(a, (1, 2, 3)), y=e)
raises(TypeError, "run_layers: the arguments do not fit", v.run_layers(layers=((a, b, 1.0), (1, 2, 3)), y=e).launchRaw, **run)
""")


def test_tensors_that_require_gradients(kernels):
    """A kernel takes the memory of a tensor that requires a gradient, as of a parameter of torch, also in structs and pairs."""
    kernels("""
class Wanting(Fast):
    requires_grad = property(lambda self: not getattr(self, "plain", False))
    def detach(self):
        detached = Wanting(self.shape, self.dtype, at=self.at)
        detached.plain = True
        return detached
p, i = Wanting((8,), at=2048), Fast((8,), dtype=(0, 32, 1), at=4096)
m.twice(input=p, output=b).launchRaw(blockSize=(8, 1, 1), gridSize=(1, 1, 1))
m.square.bwd(input=(p, b), output=(c, e)).launchRaw(blockSize=(8, 1, 1), gridSize=(1, 1, 1))
m.process(mesh=(p, i), by=2.0).launchRaw(blockSize=(8, 1, 1), gridSize=(1, 1, 1))
assert [places(x) for x in blocks] == [[512, 2048], [512, 768, 1024, 2048], [2048, 4096]], [places(x) for x in blocks]
""")


def test_sizes_of_other_classes(kernels):
    """The sizes of a launch may be of any class with __index__."""
    kernels("""
import numpy as np
class One:
    __index__ = lambda self: 1
m.twice(input=a, output=b).launchRaw(blockSize=tuple(np.array([8, 1, 1])), gridSize=[np.int64(2), One(), 1])
m.twice(input=a, output=b).launchTotal((np.int32(8), 1, 1), (4, 1, 1))
assert [places(x) for x in blocks] == [[256, 512]] * 2
raises(ValueError, "blockSize: expected a tuple of 3 ints", m.twice(input=a, output=b).launchRaw, blockSize=(np.float32(8), 1, 1), gridSize=(1, 1, 1))
raises(ValueError, "blockSize: expected numbers above 0", m.twice(input=a, output=b).launchRaw, blockSize=(np.int32(0), 1, 1), gridSize=(1, 1, 1))
""")


def test_misuse_teaches(kernels):
    """Kernels take only keywords and tuples of 3 ints, and a kernel that is never launched gives a warning. (Feature U1.)"""
    kernels("""
raises(TypeError, "twice: expected keyword arguments alone (input, output), got 2 by position", m.twice, a, b)
raises(TypeError, "missing arguments: output; unknown arguments: other", m.twice, input=a, other=b)
raises(ValueError, "blockSize: expected a tuple of 3 ints, got 32", m.twice(input=a, output=b).launchRaw, blockSize=32, gridSize=(1, 1, 1))
raises(ValueError, "gridSize: expected numbers above 0", m.twice(input=a, output=b).launchRaw, blockSize=(1, 1, 1), gridSize=(0, 1, 1))
raises(ValueError, "at most 1024 threads", m.twice(input=a, output=b).launchRaw, blockSize=(32, 64, 1), gridSize=(1, 1, 1))
with warnings.catch_warnings(record=True) as told:
    warnings.simplefilter("always")
    m.twice(input=a, output=b)
assert len(told) == 1 and "never launched" in str(told[0].message)
raises(AttributeError, "has no kernel, [TorchEntryPoint] function or struct 'thrice'", lambda: m.thrice)
raises(FileNotFoundError, "there is no file", spy.loadModule, "nowhere.slang", device=d)
""")


def test_bad_arguments_are_named(kernels):
    """Tensors on another device, of another type or rank, gradients that do not fit, kernels without a derivative and too many threads
    are errors that name the argument; nothing is launched."""
    kernels("""
import numpy as np
run = lambda launch: launch.launchRaw(blockSize=(8, 1, 1), gridSize=(1, 1, 1))
ints, doubles = Fast((8,), dtype=(0, 32, 1)), Fast((8,), dtype=(2, 64, 1))
for error, words, make in (
        (ValueError, "twice: argument 'input': expected an array in the memory of cuda:0", lambda: m.twice(input=Fast((8,), device=1), output=b)),
        (TypeError, "'input': expected TensorView<float>, got float host array (8,)", lambda: m.twice(input=Fast((8,), kind=1), output=b)),
        (TypeError, "'output': expected TensorView<float>, got float host array (8,)", lambda: m.twice(input=a, output=np.zeros(8, np.float32))),
        (TypeError, "'input': expected TensorView<float>, got double tensor (8,)", lambda: m.twice(input=doubles, output=b)),
        (TypeError, "'input': expected TensorView<float>, got int tensor (8,)", lambda: m.twice(input=ints, output=b)),
        (ValueError, "'input': TensorView<float> has at most 5 dimensions", lambda: m.twice(input=Fast((1,) * 6), output=b)),
        (TypeError, "'input': expected TensorView<float>, got int number", lambda: m.twice(input=5, output=b)),
        (TypeError, "argument 'input': Unsupported type <class 'NoneType'>", lambda: m.twice(input=None, output=b)),
        (ValueError, "square.bwd: 'input': expected a gradient of the value's shape (8,), got (7,)", lambda: m.square.bwd(input=(a, Fast((7,))), output=(c, e))),
        (ValueError, "square.bwd: 'input': its gradient has another element type", lambda: m.square.bwd(input=(a, doubles), output=(c, e))),
        (ValueError, "square.bwd: argument 'input': the DiffPair has no gradient", lambda: m.square.bwd(input=(a, None), output=(c, e))),
        (ValueError, "square.bwd: argument 'input': expected (value, gradient) for DiffTensorView, got 3 items", lambda: m.square.bwd(input=(a, b, c), output=(c, e))),
        (ValueError, "twice has no bwd: the kernel is not [Differentiable]", lambda: m.twice.bwd(input=a, output=b)),
        (AttributeError, "square.fwd has no derivative of its own", lambda: m.square.fwd.bwd),
        (TypeError, "'mesh.indices': expected TensorView<int>, got float tensor (8,)", lambda: m.process(mesh=(a, a), by=1.0)),
        (TypeError, "process: argument 'by': Unsupported type <class 'str'>; expected float", lambda: m.process(mesh=(a, ints), by="x"))):
    raises(error, words, lambda: run(make()))
launch = m.twice(input=a, output=b)
for words, block, grid in (
        ("gridSize: expected at most (2147483647, 65535, 65535), got (1, 70000, 1)", (8, 1, 1), (1, 70000, 1)),
        ("gridSize: expected at most", (1, 1, 1), (1 << 31, 1, 1)), ("blockSize: expected at most (1024, 1024, 64), got (1, 1, 128)", (1, 1, 128), (1, 1, 1)),
        ("blockSize: expected numbers above 0, got (-1, 1, 1)", (-1, 1, 1), (1, 1, 1)), ("gridSize: expected a tuple of 3 ints", (1, 1, 1), (1, 1)),
        ("blockSize: expected a tuple of 3 ints", (1.0, 1, 1), (1, 1, 1))):
    raises(ValueError, "twice: " + words, launch.launchRaw, blockSize=block, gridSize=grid)
raises(ValueError, "twice: totalSize: expected numbers above 0", launch.launchTotal, totalSize=(0, 1, 1))
assert not blocks
launch.launchRaw(blockSize=(1024, 1, 1), gridSize=(70000, 1, 1))  # the same launch, mended
run(m.twice(input=Fast((0,)), output=b))
run(m.twice(input=Fast((2, 4)), output=b))
assert len(blocks) == 3
""")


def test_a_launch_keeps_its_tensors(kernels):
    """An argument without other references lives until the launch."""
    kernels("""
import weakref
kept = Fast((8,), at=4096)
gone = weakref.ref(kept)
launch = m.twice(input=kept, output=b)
del kept
gc.collect()
assert gone() is not None
launch.launchRaw(blockSize=(8, 1, 1), gridSize=(1, 1, 1))
assert places(blocks.pop()) == [512, 4096]
del launch
gc.collect()
assert gone() is None
""")


def test_kernels_that_are_not_public(kernels):
    """A kernel without `public` is found in a file that marks other declarations, also with a parameter type that is not public, in a
    file with a `module` line, and its derivative too. Errors have the file's own lines. (Features U1, U3.)"""
    kernels('''
PIECES = """
public float by_three(float x) { return x * 3; }
internal float and_one(float x) { return x + 1; }
struct Mesh { internal TensorView<float> y; };
[AutoPyBindCUDA] [CudaKernel] // not public
void hidden(Mesh mesh) { mesh.y[0] = by_three(and_one(1)); }
[AutoPyBindCUDA] [CudaKernel] [Differentiable] void square(DiffTensorView x, DiffTensorView y) { y[0] = x[0] * x[0]; }
[AutoPyBindCUDA] [CudaKernel] public void seen(TensorView<float> y) { y[0] = and_one(by_three(1)); }
"""
launched = 0
for name, text in (("my-pieces", PIECES), ("whole", "module whole;" + PIECES.replace("public", ""))):
    p = os.path.join(folder, name + ".slang")
    open(p, "w").write(text)
    h = spy.loadModule(p, device=d)
    for launch, memory in ((h.hidden(mesh=(a,)), [256]), (h.seen(y=b), [512]), (h.square(x=a, y=b), [256, 512]),
                           (h.square.bwd(x=(a, b), y=(c, e)), [256, 512, 768, 1024])):
        launch.launchRaw(blockSize=(8, 1, 1), gridSize=(1, 1, 1))
        assert places(blocks.pop()) == memory
        launched += 1
    assert h.Mesh(a).y is a
    raises(AttributeError, "'and_one' is a function without [CudaKernel]", getattr, h, "and_one")
    open(p, "w").write(text + "[CudaKernel] void wrong() { undefined(); }")
    raises(spy.SlangCompileError, name + ".slang:9:29", spy.loadModule, p, device=d)
assert launched == 8
''')

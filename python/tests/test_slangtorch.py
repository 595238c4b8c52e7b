"""slang-torch's interface (U1 to U3, U5, U6): on the driver without a GPU, which says what each launch got; kernels are compiled by NVRTC."""
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
    """U1, U5: launchRaw, launchTotal, autoLaunch; the kernel gets the arrays themselves."""
    kernels("""
launch = m.twice(input=a, output=b)
assert not blocks
launch.launchRaw(blockSize=(32, 1, 1), gridSize=(64, 1, 1))
assert places(blocks.pop()) == [256, 512] and not blocks
m.twice(input=a, output=b).launchTotal(totalSize=(8, 1, 1), blockSize=(32, 1, 1))
m.twice(input=a, output=b).autoLaunch((8, 1, 1))
assert [places(x) for x in blocks] == [[256, 512]] * 2
import slangtorch
assert slangtorch.loadModule is spy.loadModule and slangtorch.__version__
assert spy.loadModule(path, defines={"FACTOR": 2}, device=d) is m and spy.loadModule(path, defines={"FACTOR": 3}, device=d) is not m
""")


def test_derivatives_take_pairs(kernels):
    """U3: fwd and bwd are kernels of their own; a pair for each DiffTensorView."""
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
raises(TypeError, "square.bwd: argument 'input': expected (value, gradient) for DiffTensorView", m.square.bwd, input=a, output=(c, e))
""")


def test_structs_by_named_tuples_dicts_and_tuples(kernels):
    """U6: errors are TypeError and ValueError."""
    kernels("""
i = Fast((8,), dtype=(0, 32, 1), at=2048)
for mesh in (m.Mesh(vertices=a, indices=i), {"vertices": a, "indices": i}, (a, i)):
    m.process(mesh=mesh, by=2.0).launchRaw(blockSize=(8, 1, 1), gridSize=(1, 1, 1))
    assert places(blocks.pop()) == [256, 2048]
raises(ValueError, "process: argument 'mesh': expected the fields vertices, indices of Mesh, got vertices", m.process, mesh={"vertices": a}, by=1)
raises(ValueError, "expected 2 values", m.process, mesh=(a,), by=1)
raises(TypeError, "expected a named tuple, dict or tuple for Mesh", m.process, mesh=a, by=1)
""")


def test_misuse_teaches(kernels):
    """U1: keywords alone, tuples of 3 ints, and a warning for what is never launched."""
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

"""All programs of the two slang-torch documents, run as printed (U1 to U7). The driver without a GPU shows that Slang and NVRTC compile every
block and what each launch gets; on a GPU with torch (skipped without) the same programs run and their numbers are compared with torch's.

What is not as printed, and why:
- the guide's Python has lost its indentation, which is restored here; nothing else of it is changed but what SLIPS lists;
- SLIPS: text -> what it has to be. Slang, Python or torch itself refuses these as printed (slang-torch's Slang and torch do, too);
- the guide's host function `square` squares the first column alone, for its kernel has one index: the output that it shows is not its own;
- blocks that are no programs (`/* ... */` for a body, types that the text does not define, signatures) get what they leave out.
"""
import os
import re
import subprocess
import sys
import textwrap

import pytest

import slangpy as spy
from conftest import TOP
from test_cuda_arrays import arrays, fake  # noqa: F401
from test_cuda_context import needs_cuda
from test_torch_entry_points import TORCH

GUIDE, OVERVIEW = "slangtorch-guide.md", "slangtorch-overview.md"

SLIPS = [
    (GUIDE, "float outputValueAtPixel = computeOutputPixel(input, pixelLoc)\n", "float outputValueAtPixel = computeOutputPixel(input, pixelLoc);\n", "a ';' is missing"),
    (GUIDE, "input.dim(", "input.size(", "TensorView has size(), as the guide's own list of its methods says"),
    (GUIDE, "bwd_diff(computeOutputPixel)(input, inputGradToPropagateTo, pixelLoc);",
     "bwd_diff(computeOutputPixel)(input, inputGradToPropagateTo, pixelLoc, resultGradToPropagateFrom[pixelLoc]);", "the result's derivative is an argument"),
    (GUIDE, "float sphereTrace<let N:int>", "float3 sphereTrace<let N:int>", "it returns pt, which is a float3"),
    (GUIDE, "blockSize=(32, 32, 1),\n            gridSize=((input.shape[0] + 31) // 32, (input.shape[1] + 31) // 32, 1))",
     "blockSize=(32, 1, 1),\n            gridSize=((input.shape[0] + 31) // 32, 1, 1))", "its x has one dimension, so that input.shape[1] is an IndexError of torch"),
    (OVERVIEW, "device=cuda_device)", "device='cuda')", "cuda_device is not defined"),
]

# >>the guide's blocks

SQUARE = """
[AutoPyBindCUDA]
[CUDAKernel]
void square(TensorView<float> input, TensorView<float> output)
{
// Get the 'global' index of this thread.
uint3 dispatchIdx = cudaThreadIdx() + cudaBlockIdx() * cudaBlockDim();
// If the thread index is beyond the input size, exit early.
if (dispatchIdx.x >= input.size(0))
return;
output[dispatchIdx.x] = input[dispatchIdx.x] * input[dispatchIdx.x];
}
"""
CALL_SQUARE = """
import torch
import slangpy
m = slangpy.loadModule('square.slang')
A = torch.randn((1024,), dtype=torch.float).cuda()
output = torch.zeros_like(A).cuda()
# Number of threads launched = blockSize * gridSize
m.square(input=A, output=output).launchRaw(blockSize=(32, 1, 1), gridSize=(64, 1, 1))
print(output)
"""
DIFFERENTIABLE = """
[AutoPyBindCUDA]
[CUDAKernel]
[Differentiable]
void square(DiffTensorView input, DiffTensorView output)
{
uint3 dispatchIdx = cudaThreadIdx() + cudaBlockIdx() * cudaBlockDim();
if (dispatchIdx.x >= input.size(0))
return;
output[dispatchIdx.x] = input[dispatchIdx.x] * input[dispatchIdx.x];
}
"""
CALL_DERIVATIVE = """
import torch
import slangpy
m = slangpy.loadModule('square.slang')
input = torch.tensor((0, 1, 2, 3, 4, 5), dtype=torch.float).cuda()
output = torch.zeros_like(input).cuda()
# Invoke normally
m.square(input=input, output=output).launchRaw(blockSize=(6, 1, 1), gridSize=(1, 1, 1))
print(output)
# Invoke reverse-mode autodiff by first allocating tensors to hold the gradients
input = torch.tensor((0, 1, 2, 3, 4, 5), dtype=torch.float).cuda()
input_grad = torch.zeros_like(input).cuda()
output = torch.zeros_like(input)
# Pass in all 1s as the output derivative for our example
output_grad = torch.ones_like(output)
m.square.bwd(
    input=(input, input_grad), output=(output, output_grad)
).launchRaw(
    blockSize=(6, 1, 1), gridSize=(1, 1, 1))
# Derivatives get propagated to input_grad
print(input_grad)
# Note that the derivatives in output_grad are 'consumed'.
# i.e. all zeros after the call.
print(output_grad)
"""
AUTOGRAD = """
import torch
import slangpy
m = slangpy.loadModule("square.slang")
class MySquareFunc(torch.autograd.Function):
    @staticmethod
    def forward(ctx, input):
        output = torch.zeros_like(input)
        kernel_with_args = m.square(input=input, output=output)
        kernel_with_args.launchRaw(
            blockSize=(32, 32, 1),
            gridSize=((input.shape[0] + 31) // 32, (input.shape[1] + 31) // 32, 1))
        ctx.save_for_backward(input, output)
        return output
    @staticmethod
    def backward(ctx, grad_output):
        (input, output) = ctx.saved_tensors
        input_grad = torch.zeros_like(input)
        # Note: When using DiffTensorView, grad_output gets 'consumed' during the reverse-mode.
        # If grad_output may be reused, consider calling grad_output = grad_output.clone()
        #
        kernel_with_args = m.square.bwd(input=(input, input_grad), output=(output, grad_output))
        kernel_with_args.launchRaw(
            blockSize=(32, 32, 1),
            gridSize=((input.shape[0] + 31) // 32, (input.shape[1] + 31) // 32, 1))
        return input_grad
"""
CALL_AUTOGRAD = """
x = torch.tensor((3.0, 4.0), requires_grad=True, device='cuda')
print(f"X = {x}")
y_pred = MySquareFunc.apply(x)
loss = y_pred.sum()
loss.backward()
print(f"dX = {x.grad.cpu()}")
"""
SPHERE_TRACE = """
float sphereTrace<let N:int>(Ray ray, SDF sdf)
{
var pt = ray.o;
for (int i = 0; i < N; i++)
{
pt += sdf.eval(pt) * ray.d;
}
return pt;
}
"""
RENDER_20 = """
float render(Ray ray)
{
// Use N=20 for sphere tracing.
float3 pt = sphereTrace<20>(ray, sdf);
return shade(pt, sdf.normal());
}
"""
RENDER_STEPS = """
// Compile-time constant. Expect "MAX_STEPS" to be set by the loadModule call.
static const uint kMaxSteps = MAX_STEPS;
float render(Ray ray)
{
float3 pt = sphereTrace<kMaxSteps>(ray, sdf);
return shade(pt, sdf.normal());
}
"""
CALL_DEFINES = """
import slangpy
sdfRenderer20Steps = slangpy.loadModule('sdf.slang', defines={"MAX_STEPS": 20})
sdfRenderer50Steps = slangpy.loadModule('sdf.slang', defines={"MAX_STEPS": 50})
"""
# What the blocks around sphereTrace leave out: the types, the scene, and a kernel.
SCENE = """
struct Ray { float3 o; float3 d; };
struct SDF { float eval(float3 p) { return 0.5 * (length(p) - 1); } float3 normal() { return float3(0, 0, -1); } };
static const SDF sdf = {};
float shade(float3 pt, float3 normal) { return dot(pt, normal); }
"""
SCENE_KERNEL = """
[AutoPyBindCUDA] [CUDAKernel] void image(TensorView<float> output) { Ray ray = { float3(0, 0, -4), float3(0, 0, 1) }; output[0] = render(ray); }
"""
# Both box filters have this body, which prints SIZE and VALUE; the line structure is not the guide's.
BOX_BODY = """{
int width = input.SIZE(0); int height = input.SIZE(1);
// Track the sum of neighboring pixels and the number
// of pixels currently accumulated.
int count = 0; float sumValue = 0.0;
// Iterate through the surrounding area.
for (int offsetX = -1; offsetX <= 1; offsetX++) {
// Skip out of bounds pixels.
int x = pixelLoc.x + offsetX; if (x < 0 || x >= width) continue;
for (int offsetY = -1; offsetY <= 1; offsetY++) {
int y = pixelLoc.y + offsetY; if (y < 0 || y >= height) continue;
sumValue += VALUE; count++;
}
}
// Comptue the average value.
sumValue /= count; return sumValue;
}
"""
BOX_FILTER = "float computeOutputPixel(TensorView<float> input, uint2 pixelLoc)\n" + BOX_BODY.replace("SIZE", "size").replace("VALUE", "input[x, y]")
BOX_FILTER_KERNEL = """
[CudaKernel]
void boxFilter_fwd(TensorView<float> input, TensorView<float> output)
{
uint2 pixelLoc = (cudaBlockIdx() * cudaBlockDim() + cudaThreadIdx()).xy;
int width = input.dim(0);
int height = input.dim(1);
if (pixelLoc.x >= width) return;
if (pixelLoc.y >= height) return;
float outputValueAtPixel = computeOutputPixel(input, pixelLoc)
// Write to output tensor.
output[pixelLoc] = outputValueAtPixel;
}
"""
GET_ELEMENT = """
float getInputElement(
TensorView<float> input,
TensorView<float> inputGradToPropagateTo,
uint2 loc)
{
return input[loc];
}
"""
BOX_FILTER_DIFFERENTIABLE = """
[Differentiable]
float computeOutputPixel(
TensorView<float> input,
TensorView<float> inputGradToPropagateTo,
uint2 pixelLoc)
""" + BOX_BODY.replace("SIZE", "dim").replace("VALUE", "getInputElement(input, inputGradToPropagateTo, uint2(x, y))")
BOX_FILTER_BACKWARD = """
[CudaKernel]
void boxFilter_bwd(
TensorView<float> input,
TensorView<float> resultGradToPropagateFrom,
TensorView<float> inputGradToPropagateTo)
{
uint2 pixelLoc = (cudaBlockIdx() * cudaBlockDim() + cudaThreadIdx()).xy;
int width = input.dim(0);
int height = input.dim(1);
if (pixelLoc.x >= width) return;
if (pixelLoc.y >= height) return;
bwd_diff(computeOutputPixel)(input, inputGradToPropagateTo, pixelLoc);
}
"""
GET_ELEMENT_BACKWARD = """
[BackwardDerivativeOf(getInputElement)]
void getInputElement_bwd(
TensorView<float> input,
TensorView<float> inputGradToPropagateTo,
uint2 loc,
float derivative)
{
float oldVal;
inputGradToPropagateTo.InterlockedAdd(loc, derivative, oldVal);
}
"""
MANUAL = """
// square.slang
float compute_square(float x)
{
return x * x;
}
[CudaKernel]
void square_kernel(TensorView<float> input, TensorView<float> output)
{
uint3 globalIdx = cudaBlockIdx() * cudaBlockDim() + cudaThreadIdx();
if (globalIdx.x >= input.size(0))
return;
float result = compute_square(input[globalIdx.x]);
output[globalIdx.x] = result;
}
"""
MANUAL_HOST = """
[TorchEntryPoint]
TorchTensor<float> square(TorchTensor<float> input)
{
var result = TorchTensor<float>.zerosLike(input);
let blockCount = uint3(1);
let groupSize = uint3(result.size(0), result.size(1), 1);
__dispatch_kernel(square_kernel, blockCount, groupSize)(input, result);
return result;
}
"""
CALL_MANUAL = """
import torch
import slangpy
m = slangpy.loadModule("square.slang")
x = torch.randn(2,2)
print(f"X = {x}")
y = m.square(x)
print(f"Y = {y.cpu()}")
"""
MANUAL_DIFFERENTIABLE = """
[Differentiable]
float square(float x)
{
return x * x;
}
"""
MANUAL_BACKWARD = """
[CudaKernel]
void square_bwd_kernel(TensorView<float> input, TensorView<float> grad_out, TensorView<float> grad_propagated)
{
uint3 globalIdx = cudaBlockIdx() * cudaBlockDim() + cudaThreadIdx();
if (globalIdx.x >= input.size(0) || globalIdx.y >= input.size(1))
return;
DifferentialPair<float> dpInput = diffPair(input[globalIdx.xy]);
var gradInElem = grad_out[globalIdx.xy];
bwd_diff(square)(dpInput, gradInElem);
grad_propagated[globalIdx.xy] = dpInput.d;
}
"""
DIFF_PAIR = """
// construct a pair where the primal value is 3, and derivative value is 0.
var dp = diffPair(3.0);
bwd_diff(square)(dp, 1.0);
// dp.d is now 6.0
"""
MANUAL_BACKWARD_HOST = """
[TorchEntryPoint]
TorchTensor<float> square_bwd(TorchTensor<float> input, TorchTensor<float> grad_out)
{
var grad_propagated = TorchTensor<float>.zerosLike(input);
let blockCount = uint3(1);
let groupSize = uint3(input.size(0), input.size(1), 1);
__dispatch_kernel(square_bwd_kernel, blockCount, groupSize)(input, grad_out, grad_propagated);
return grad_propagated;
}
"""
MESH = """
// mesh.slang
struct Mesh
{
TensorView<float> vertices;
TensorView<int> indices;
};
[AutoPyBindCUDA]
[CUDAKernel]
void processMesh(Mesh mesh)
{
/* ... */
}
"""
CALL_MESH = """
# use namedtuple to provide structured input.
mesh = m.Mesh(vertices=vertices, indices=indices)
m.processMesh(mesh=mesh).launchRaw(blockSize=(32, 32, 1), gridSize=(1, 1, 1))
# use dict to provide input.
mesh = {'vertices': vertices, 'indices':indices}
m.processMesh(mesh=mesh).launchRaw(blockSize=(32, 32, 1), gridSize=(1, 1, 1))
# use tuple to provide input (warning: user responsible for right order)
mesh = (vertices, indices)
m.processMesh(mesh=mesh).launchRaw(blockSize=(32, 32, 1), gridSize=(1, 1, 1))
"""
RETURN_TYPE = """
struct MyReturnType
{
TorchTensor<T> tensors[3];
float v;
}
[TorchEntryPoint]
MyReturnType myFunc()
{
...
}
"""

# >>the overview's blocks

O_SQUARE = """
// square.slang
float square(float x)
{
    return x * x;
}
"""
O_FORWARD = """
[CudaKernel]
void square_fwd_kernel(TensorView<float> input, TensorView<float> output)
{
    uint3 globalIdx = cudaBlockIdx() * cudaBlockDim() + cudaThreadIdx();

    if (globalIdx.x > input.size(0) || globalIdx.x > input.size(1))
        return;
    float result = square(input.load(globalIdx.x, globalIdx.y));
    output.store(globalIdx.x, globalIdx.y, result);
}
"""
O_FORWARD_HOST = """
[TorchEntryPoint]
TorchTensor<float> square_fwd(TorchTensor<float> input)
{
    var result = TorchTensor<float>.alloc(input.size(0), input.size(1));
    let blockCount = uint3(1);
    let groupSize = uint3(result.size(0), result.size(1), 1);
    __dispatch_kernel(square_fwd_kernel, blockCount, groupSize)(input, result);
    return result;
}
"""
O_CALL = """
import torch
import slangpy

m = slangpy.loadModule("square.slang")

x = torch.randn(2,2)
print(f"X = {x}")
y = m.square_fwd(x)
print(f"Y = {y.cpu()}")
"""
O_DIFFERENTIABLE = """
[BackwardDifferentiable]
float square(float x)
{
    return x * x;
}
"""
O_BACKWARD = """
[CudaKernel]
void square_bwd_kernel(TensorView<float> input, TensorView<float> grad_in, TensorView<float> grad_output)
{
    uint3 globalIdx = cudaBlockIdx() * cudaBlockDim() + cudaThreadIdx();

    if (globalIdx.x > input.size(0) || globalIdx.x > input.size(1))
        return;

    DifferentialPair<float> dpInput = diffPair(input.load(globalIdx.x, globalIdx.y));
    var gradInElem = grad_in.load(globalIdx.x, globalIdx.y);
    __bwd_diff(square)(dpInput, gradInElem);
    grad_output.store(globalIdx.x, globalIdx.y, dpInput.d);
}
"""
O_DIFF_PAIR = """
// construct a pair where the primal value is 3, and derivative value is 0.
var dp = diffPair(3.0);
__bwd_diff(square)(dp, 1.0);
// dp.d is now 6.0
"""
O_BACKWARD_HOST = """
[TorchEntryPoint]
TorchTensor<float> square_bwd(TorchTensor<float> input, TorchTensor<float> grad_in)
{
    var grad_out = TorchTensor<float>.alloc(input.size(0), input.size(1));
    let blockCount = uint3(1);
    let groupSize = uint3(input.size(0), input.size(1), 1);
    __dispatch_kernel(square_bwd_kernel, blockCount, groupSize)(input, grad_in, grad_out);
    return grad_out;
}
"""
O_AUTOGRAD = """
m = slangpy.loadModule("square.slang")

class MySquareFuncInSlang(torch.autograd.Function):
    @staticmethod
    def forward(ctx, input):
        ctx.save_for_backward(input)
        return m.square_fwd(input)

    @staticmethod
    def backward(ctx, grad_output):
        [input] = ctx.saved_tensors
        return m.square_bwd(input, grad_output)
"""
O_CALL_AUTOGRAD = """
x = torch.tensor([[3.0, 4.0],[0.0, 1.0]], requires_grad=True, device=cuda_device)
print(f"X = {x}")
y_pred = MySquareFuncInSlang.apply(x)
loss = y_pred.sum()
loss.backward()
print(f"dX = {x.grad.cpu()}")
"""

BLOCKS = {name: (OVERVIEW if name.startswith("O_") else GUIDE, text) for name, text in dict(globals()).items()
          if name.isupper() and isinstance(text, str) and name not in ("GUIDE", "OVERVIEW", "TORCH", "TOP", "SCENE", "SCENE_KERNEL", "BOX_BODY")}


def mended(*names):
    """Returns blocks one after another, with the corrections of SLIPS."""
    made = []
    for name in names:
        seed, text = BLOCKS[name]
        for where, old, new, _ in SLIPS:
            if where == seed:
                text = text.replace(old, new)
        made.append(text)
    return "\n".join(made)


def write(**files):
    """Returns Python text that writes the blocks into files of the current folder."""
    return "\n".join("open({!r}, 'w').write({!r})".format(name + ".slang", text) for name, text in files.items()) + "\n"


def test_blocks_are_the_seeds():
    """The blocks of this file equal the documents' word by word, except for space, and none is left out."""
    folder = next((os.path.join(TOP, up, "shared/seeds") for up in ("..", "../..") if os.path.isdir(os.path.join(TOP, up, "shared/seeds"))), None)
    if folder is None:
        pytest.skip("the seeds are not here")
    squeezed = {}
    for seed in (GUIDE, OVERVIEW):
        with open(os.path.join(folder, seed)) as f:
            squeezed[seed] = re.sub(r"\s+", "", f.read())
    for name, (seed, text) in BLOCKS.items():
        assert re.sub(r"\s+", "", text) in squeezed[seed], name
    for _, old, _, _ in SLIPS:
        assert any(re.sub(r"\s+", "", old) in text for text in squeezed.values()), old
    for seed in (GUIDE, OVERVIEW):
        with open(os.path.join(folder, seed)) as f:
            blocks = re.findall(r"^```\w*\n(.*?)^```", f.read(), re.S | re.M)
        known = [re.sub(r"\s+", "", text) for where, text in BLOCKS.values() if where == seed]
        for block in blocks:
            word = re.sub(r"\s+", "", block)
            # these blocks are commands, output or signatures
            no_program = word.startswith(("pip", "python-c", "X=tensor", "[[tensor", "voidbwd_diff", "void__bwd_diff"))
            assert no_program or any(k in word or word in k for k in known), block


# >>programs of the blocks: Slang files, Python, and what has to be true afterwards on a GPU

PAIR_KERNEL = "[AutoPyBindCUDA] [CUDAKernel] void pairs(TensorView<float> output)\n{\n%s\n    output[0] = dp.d;\n}\n"

PROGRAMS = {
    "guide: a kernel": (dict(square=mended("SQUARE")), mended("CALL_SQUARE"), "torch.testing.assert_close(output, A * A)", 1),
    "guide: its derivative": (
        dict(square=mended("DIFFERENTIABLE")), mended("CALL_DERIVATIVE"),  # Slang's generated derivative stores the values as well
        "torch.testing.assert_close(input_grad, 2 * input); assert not output_grad.any(); torch.testing.assert_close(output, input * input)", 2),
    "guide: autograd": (dict(square=mended("DIFFERENTIABLE")), mended("AUTOGRAD", "CALL_AUTOGRAD"), "assert x.grad.cpu().tolist() == [6, 8]", 2),
    "guide: defines": (
        dict(sdf=SCENE + mended("SPHERE_TRACE", "RENDER_STEPS") + SCENE_KERNEL), mended("CALL_DEFINES") + textwrap.dedent("""
            import torch
            found = []
            for renderer in (sdfRenderer20Steps, sdfRenderer50Steps):
                output = torch.zeros((1,), dtype=torch.float).cuda()
                renderer.image(output=output).launchRaw(blockSize=(1, 1, 1), gridSize=(1, 1, 1))
                found.append(output)
            assert sdfRenderer20Steps is not sdfRenderer50Steps
            """), textwrap.dedent("""
            for steps, output in zip((20, 50), found):
                z = -4.0
                for _ in range(steps):
                    z += 0.5 * (abs(z) - 1)
                torch.testing.assert_close(output.cpu(), torch.tensor([-z]))
            """), 2),
    "guide: a generic function": (
        dict(sdf=SCENE + mended("SPHERE_TRACE", "RENDER_20") + SCENE_KERNEL), textwrap.dedent("""
            import torch
            import slangpy
            output = torch.zeros((1,), dtype=torch.float).cuda()
            slangpy.loadModule('sdf.slang').image(output=output).launchRaw(blockSize=(1, 1, 1), gridSize=(1, 1, 1))
            """), "torch.testing.assert_close(output.cpu(), torch.tensor([1.0]), atol=1e-4, rtol=1e-4)", 1),
    "guide: a box filter": (
        dict(box=mended("BOX_FILTER", "BOX_FILTER_KERNEL")), textwrap.dedent("""
            import torch
            import slangpy
            m = slangpy.loadModule('box.slang')
            image = torch.randn((20, 12), dtype=torch.float).cuda()
            output = torch.zeros_like(image)
            m.boxFilter_fwd(input=image, output=output).launchRaw(blockSize=(8, 8, 1), gridSize=(3, 2, 1))
            """), "torch.testing.assert_close(output, torch.nn.functional.avg_pool2d(image[None], 3, 1, 1, count_include_pad=False)[0])", 1),
    "guide: its gradient": (
        dict(box=mended("GET_ELEMENT", "BOX_FILTER_DIFFERENTIABLE", "GET_ELEMENT_BACKWARD", "BOX_FILTER_BACKWARD")), textwrap.dedent("""
            import torch
            import slangpy
            m = slangpy.loadModule('box.slang')
            image = torch.randn((20, 12), dtype=torch.float).cuda()
            seed, gradient = torch.ones_like(image), torch.zeros_like(image)
            m.boxFilter_bwd(input=image, resultGradToPropagateFrom=seed, inputGradToPropagateTo=gradient).launchRaw(
                blockSize=(8, 8, 1), gridSize=(3, 2, 1))
            """), textwrap.dedent("""
            other = image.clone().requires_grad_()
            torch.nn.functional.avg_pool2d(other[None], 3, 1, 1, count_include_pad=False).sum().backward()
            torch.testing.assert_close(gradient, other.grad)
            """), 1),
    "guide: a host function": (
        dict(square=mended("MANUAL", "MANUAL_HOST")), mended("CALL_MANUAL"),
        "assert y.is_cuda and not x.is_cuda; torch.testing.assert_close(y.cpu()[:, 0], x[:, 0] ** 2); assert not y[:, 1].any()", 1),
    "guide: its gradient by hand": (
        dict(square=mended("MANUAL_DIFFERENTIABLE", "MANUAL_BACKWARD", "MANUAL_BACKWARD_HOST") + PAIR_KERNEL % mended("DIFF_PAIR")), textwrap.dedent("""
            import torch
            import slangpy
            m = slangpy.loadModule('square.slang')
            x = torch.randn(4, 3).cuda()
            seed = torch.randn(4, 3).cuda()
            made = m.square_bwd(x, seed)
            one = torch.zeros((1,), dtype=torch.float).cuda()
            m.pairs(output=one).launchRaw(blockSize=(1, 1, 1), gridSize=(1, 1, 1))
            """), "torch.testing.assert_close(made, 2 * x * seed); assert one.item() == 6", 2),
    "guide: structs": (
        dict(mesh=mended("MESH")), textwrap.dedent("""
            import torch
            import slangpy
            m = slangpy.loadModule('mesh.slang')
            vertices = torch.zeros((8,), dtype=torch.float).cuda()
            indices = torch.zeros((8,), dtype=torch.int).cuda()
            """) + mended("CALL_MESH"), "", 3),
    "guide: structs of results": (
        dict(results=mended("RETURN_TYPE").replace("TorchTensor<T>", "TorchTensor<float>").replace("...", """MyReturnType made;
            for (int i = 0; i < 3; i++) made.tensors[i] = TorchTensor<float>.alloc(uint(i + 1));
            made.v = 2.5;
            return made;""")), textwrap.dedent("""
            import torch
            import slangpy
            made = slangpy.loadModule('results.slang').myFunc()
            assert type(made) is tuple and len(made) == 2 and made[1] == 2.5
            assert [tuple(t.shape) for t in made[0]] == [(1,), (2,), (3,)]
            """), "assert all(t.is_cuda and t.dtype == torch.float32 for t in made[0])", 0),
    "overview: a host function": (
        dict(square=mended("O_SQUARE", "O_FORWARD", "O_FORWARD_HOST")), mended("O_CALL"), "torch.testing.assert_close(y.cpu(), x * x)", 1),
    "overview: autograd": (
        dict(square=mended("O_DIFFERENTIABLE", "O_FORWARD", "O_FORWARD_HOST", "O_BACKWARD", "O_BACKWARD_HOST") + PAIR_KERNEL % mended("O_DIFF_PAIR")),
        "import torch\nimport slangpy\n" + mended("O_AUTOGRAD", "O_CALL_AUTOGRAD"), "assert x.grad.cpu().tolist() == [[6, 8], [0, 2]]", 2),
}

# More functions of the torch stand-in, for programs on the driver without a GPU.
MORE_TORCH = """
class Shaped(TorchTensor):
    def cuda(self): return self.to("cuda:0")
    def cpu(self): return self.to("cpu")
    def to(self, device): return self if str(self.on) == device else Shaped(self.shape, self.named, device)
    def detach(self): return self
    def copy_(self, other): return self
    def sum(self): return self
    def all(self): return self
    def __bool__(self): return True
    def __eq__(self, other): return self
    __hash__ = object.__hash__
    def __ne__(self, other): return self
    __or__ = __and__ = __ne__
    def backward(self): self.grad = Shaped(self.shape); graph[0].backward(graph[1], Shaped(self.shape))
torch.Tensor = Shaped
torch.float, torch.int = torch.float32, torch.int32
def make(shape, dtype, device):
    return Shaped(shape, dtype, device)
def shape_of(values):
    return (len(values), *shape_of(values[0])) if isinstance(values, (list, tuple)) else ()
torch.randn = lambda *shape, dtype="torch.float32": Shaped(shape[0] if isinstance(shape[0], tuple) else shape, dtype, "cpu")
torch.zeros = lambda shape, dtype: Shaped(shape, dtype, "cpu")
torch.zeros_like = torch.ones_like = torch.empty_like = lambda t, dtype=None, device=None, requires_grad=False: Shaped(t.shape, dtype or t.named, device or str(t.on))
torch.empty = lambda shape, dtype, device: Shaped(shape, dtype, device)
def tensor(values, dtype="torch.float32", requires_grad=False, device="cpu"):
    made = Shaped(shape_of(values), dtype, "cuda:0" if device == "cuda" else device); made.grad = made; return made
torch.tensor = tensor
graph = []
class Function:
    @classmethod
    def apply(cls, *inputs):
        context = types.SimpleNamespace(save_for_backward=lambda *saved: setattr(context, "saved_tensors", saved))
        graph[:] = cls, context
        return cls.forward(context, *inputs)
torch.autograd = types.SimpleNamespace(Function=Function)
spy.slangtorch._device_of_torch = lambda: d
os.chdir(folder)
"""


@pytest.fixture(scope="module")
def machine(arrays):  # noqa: F811
    return lambda script: arrays(TORCH + MORE_TORCH + script)


@pytest.mark.share(5)
@pytest.mark.parametrize("name", list(PROGRAMS))
def test_programs_compile_and_launch(machine, name):
    """On the driver without a GPU each program makes the expected number of launches, each of a kernel that NVRTC has compiled."""
    files, program, _, count = PROGRAMS[name]
    machine(write(**files) + program + "\nassert len(launches) == {}, launches\n".format(count))


def torch_has_cuda():
    try:
        import torch
    except ImportError:
        return False
    return torch.cuda.is_available()


@needs_cuda
@pytest.mark.skipif(not torch_has_cuda(), reason="no torch with CUDA")
@pytest.mark.parametrize("name", list(PROGRAMS))
def test_programs_on_a_gpu(tmp_path, name):
    """With torch on a GPU the same programs give the expected numbers."""
    files, program, check, _ = PROGRAMS[name]
    script = write(**files) + program + "\nimport torch\ntorch.cuda.synchronize()\n" + check + "\nprint('good')\n"
    done = subprocess.run([sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True, timeout=240,
                          env=dict(os.environ, PYTHONPATH=os.path.dirname(os.path.dirname(spy.__file__))))
    assert done.returncode == 0 and done.stdout.endswith("good\n"), done.stdout + done.stderr

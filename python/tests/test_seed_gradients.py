"""Gradients in the seeds, run as printed: the proposal's training example (sp016-slangpy-proposal.md, after 'Function Objects') and
the box filter of slangtorch-guide.md, without torch.

Changed against the print, as slips or because the text only sketches it:
 - the proposal's library `mlp` is not shipped: mlp.slang here is the smallest one that the text's code can use. `compute` returns
   an array and so is declared as one; `loss` takes as many numbers as `compute`, and `square` of a difference;
 - `mlp_weights` are numbers, which a struct does not take: its tensor is told that it is one of MLPs;
 - the network's loops are unrolled: Slang's derivative of an array that is indexed in a loop adds the whole array at each step, which
   lavapipe takes 20 s to compile;
 - `max_iterations` and `iterations` are one, and fewer; `::` is `:`; `loss` runs before its derivative, so that there is one to print;
 - learning_rate fits these numbers;
 - slangtorch's [CudaKernel] functions find their pixel from cudaBlockIdx(): here the call runs over pixels; TensorView is Tensor,
   and AtomicTensor where it adds; `.dim(0)` is `.shape[0]`; the guide writes (x, y) where it asks dim(0), dim(1) for the bounds:
   so do we; boxFilter_bwd is what .bwds makes, resultGradToPropagateFrom is _result's gradient.

A1, A2, A4, L2.
"""
import numpy
import numpy as np

import slangpy as spy

MLP = """
public struct MLP<let In : int, let Out : int> : IDifferentiable
{
    public float w[In][Out];
    [Differentiable]
    public float[Out] run(float input[In])
    {
        float result[Out];
        [ForceUnroll]
        for (int o = 0; o < Out; o++)
        {
            float sum = 0;
            [ForceUnroll]
            for (int i = 0; i < In; i++) sum += w[i][o] * input[i];
            result[o] = sum;
        }
        return result;
    }
};
"""

EXAMPLE = """
// example.slang
import mlp;

[Differentiable]
float[8] compute(MLP<32,8> mlp, float input[32])
{
     return mlp.run(input);
}

[Differentiable]
float square(float a, float b) { return (a - b) * (a - b); }

[Differentiable]
float loss(MLP<32,8> mlp, no_diff float input[32], no_diff float target[8])
{
    float result = 0.0;
    let output = compute(mlp, input);
    [ForceUnroll]
    for (int i = 0; i < 8; i++) result += square(output[i], target[i]);
    return result;
}

void updateWeights(inout float param, float grad, float step)
{
    param -= grad * step;
}
"""

SCRIPT = """
# example.py
import slangpy as spy
from slangpy.types import Tensor

device = spy.init_device();
module = device.load_module_from_file("example.slang")

N = 128
inputTensor = spy.Tensor.numpy(device, numpy.random.rand(N, 32).astype(numpy.float32))

iterations = 60
mlp_weights = Tensor.from_numpy(device, numpy.random.rand(1, 32 * 8).astype(numpy.float32), dtype=module["MLP<32,8>"])
outputTensor = module.compute(mlp_weights, inputTensor, _result=Tensor)
mlp_weights = mlp_weights.with_grads()

lossBuffer = Tensor.zeros(device, dtype=module.float, shape=(N, ))
lossGrad = Tensor.from_numpy(device, numpy.ones(shape=(N, ), dtype=numpy.float32))
lossBuffer = lossBuffer.with_grads(grad_in=lossGrad)

targetOutput = Tensor.from_numpy(device, numpy.random.rand(N, 8).astype(numpy.float32))

learning_rate = 2e-4
losses = []

for iter in range(iterations):
    mlp_weights.grad_out.clear()
    module.loss(mlp_weights, inputTensor, targetOutput, _result=lossBuffer)
    module.loss.bwds(mlp_weights, inputTensor, targetOutput, _result=lossBuffer)

    module.updateWeights(mlp_weights.flatten_dtype(), mlp_weights.grad_out.flatten_dtype(), learning_rate)

    currentLoss = lossBuffer.to_numpy().mean()
    losses.append(currentLoss)

    print(f'Iteration {iter}. Loss:{currentLoss}')
"""


def test_mlp(tmp_path, monkeypatch, capsys):
    """The proposal's training loop makes the same steps as numpy."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mlp.slang").write_text(MLP)
    (tmp_path / "example.slang").write_text(EXAMPLE)
    numpy.random.seed(5)
    scope = {"numpy": numpy}
    exec(compile(SCRIPT, "<seed>", "exec"), scope)
    numpy.random.seed(5)
    x = np.random.rand(128, 32)
    w = np.random.rand(1, 32 * 8).reshape(32, 8)
    target = np.random.rand(128, 8)
    assert np.allclose(scope["outputTensor"].to_numpy(), x @ w, rtol=1e-4)
    for loss in scope["losses"]:
        d = x @ w - target
        assert np.isclose(loss, (d * d).sum(1).mean(), rtol=1e-4)
        w -= 2e-4 * (x.T @ (2 * d))
    assert scope["losses"][-1] < scope["losses"][0] / 5
    assert np.allclose(scope["mlp_weights"].flatten_dtype().to_numpy().reshape(32, 8), w, atol=1e-4)
    assert f"Iteration 59. Loss:{scope['losses'][-1]}" in capsys.readouterr().out
    scope["device"].close()


BOX_FILTER = """
import slangpy;

float getInputElement(
    Tensor<float, 2> input,
    AtomicTensor<float, 2> inputGradToPropagateTo,
    int2 loc)
{
    return input[loc.x, loc.y];
}

[Differentiable]
float computeOutputPixel(
    Tensor<float, 2> input,
    AtomicTensor<float, 2> inputGradToPropagateTo,
    no_diff int2 pixelLoc)
{
    int width = input.shape[0];
    int height = input.shape[1];
    // Track the sum of neighboring pixels and the number
    // of pixels currently accumulated.
    int count = 0;
    float sumValue = 0.0;
    // Iterate through the surrounding area.
    for (int offsetX = -1; offsetX <= 1; offsetX++)
    {
        // Skip out of bounds pixels.
        int x = pixelLoc.x + offsetX;
        if (x < 0 || x >= width) continue;
        for (int offsetY = -1; offsetY <= 1; offsetY++)
        {
            int y = pixelLoc.y + offsetY;
            if (y < 0 || y >= height) continue;
            sumValue += getInputElement(input, inputGradToPropagateTo, int2(x, y));
            count++;
        }
    }
    // Comptue the average value.
    sumValue /= count;
    return sumValue;
}

[BackwardDerivativeOf(getInputElement)]
void getInputElement_bwd(
    Tensor<float, 2> input,
    AtomicTensor<float, 2> inputGradToPropagateTo,
    int2 loc,
    float derivative)
{
    int at[2] = { loc.x, loc.y };
    inputGradToPropagateTo.add(at, derivative);
}
"""


def test_box_filter(device, load):
    """The gradient of the guide's image filter, whose derivative adds to neighbouring elements, equals numpy's."""
    module = load(BOX_FILTER)
    width, height = 21, 34
    rng = np.random.default_rng(3)
    image, seeds = rng.random((width, height), dtype=np.float32), rng.random((width, height), dtype=np.float32)
    input, inputGrad = spy.Tensor.from_numpy(device, image), spy.Tensor.zeros(device, (width, height))
    result = spy.Tensor.zeros(device, (width, height))
    x, y = np.mgrid[:width, :height]
    pixels = spy.Tensor.from_numpy(device, np.stack([x, y], -1).astype(np.int32), dtype="int2")
    module.computeOutputPixel(input, inputGrad, pixels, _result=result)
    module.computeOutputPixel.bwds(input, inputGrad, pixels, _result=result.with_grads(grad_in=seeds))
    weights = np.zeros((width * height, width * height))  # matrix of the filter: result = weights @ image
    for i in range(width):
        for j in range(height):
            near = np.zeros((width, height))
            near[max(i - 1, 0):i + 2, max(j - 1, 0):j + 2] = 1
            weights[i * height + j] = (near / near.sum()).ravel()
    assert np.allclose(result.to_numpy().ravel(), weights @ image.ravel(), atol=1e-5)
    assert np.allclose(inputGrad.to_numpy().ravel(), weights.T @ seeds.ravel(), atol=1e-5)

"""22_mlp: a small network learns what another one does. First the training loop of the proposal that slangpy comes from, then the same loop
recorded once and replayed, with a step that shrinks.
"""
import pathlib
import sys

import numpy as np
import slangpy as spy
from slangpy.types import Tensor

FOLDER = pathlib.Path(__file__).resolve().parent
N, ITERATIONS, REPLAYS = 128, 200, 1500


def numbers(shape, seed):
    """Numbers in 0..1 that look like chance, the same in C."""
    state = np.arange(1, np.prod(shape) + 1, dtype=np.uint64) * 2654435761 + seed * 40503
    state = (state ^ (state >> 15)) * 2246822519 & 0xFFFFFFFF
    state = (state ^ (state >> 13)) * 3266489917 & 0xFFFFFFFF
    return ((state ^ (state >> 16)) & 0xFFFFFF).astype(np.float32).reshape(shape) / 16777216


def main():
    device = spy.create_device(include_paths=[FOLDER])
    module = spy.Module.load_from_file(device, "network.slang")

    # 1. The weights are an ordinary tensor, of shape (inputs, outputs): where a function takes an MLP<32, 8>, the tensor is given. The teacher
    #    is such a tensor, too, and makes the outputs that are to be learnt.
    teacher = Tensor.from_numpy(device, numbers((32, 8), 1))
    input_tensor = Tensor.from_numpy(device, numbers((N, 32), 2))
    target_output = module.compute(teacher, input_tensor)
    mlp_weights = Tensor.from_numpy(device, numbers((32, 8), 3)).with_grads()

    # 2. The loop as the proposal has it. bwds adds to the gradient of the weights; the gradient of each loss is 1.
    loss_buffer = Tensor.zeros(device, dtype="float", shape=(N,))
    loss_grad = Tensor.from_numpy(device, np.ones(N, dtype=np.float32))
    loss_buffer = loss_buffer.with_grads(grad_in=loss_grad)
    learning_rate = 5e-4
    first = module.loss(mlp_weights, input_tensor, target_output).to_numpy().mean()
    print(f"Iteration 0. Loss: {first:.3f}")
    for _ in range(ITERATIONS):
        mlp_weights.grad_out.clear()
        module.loss.bwds(mlp_weights, input_tensor, target_output, _result=loss_buffer)
        module.updateWeights(mlp_weights.flatten_dtype(), mlp_weights.grad_out.flatten_dtype(), learning_rate)

    # 3. The same, recorded. A replay is one launch; from time to time the recorded step gets another size.
    encoder = device.create_command_encoder()
    mlp_weights.grad_out.clear(encoder)
    module.loss.bwds.append_to(encoder, mlp_weights, input_tensor, target_output, _result=loss_buffer)
    update = encoder.call_count
    module.updateWeights.append_to(encoder, mlp_weights, mlp_weights.grad_out, learning_rate)
    replay = encoder.finish()
    for i in range(REPLAYS):
        if i % 500 == 0:
            replay.set(update, step=learning_rate * 0.8 ** (i // 500))
        device.submit_command_buffer(replay)

    last = module.loss(mlp_weights, input_tensor, target_output).to_numpy().mean()
    size = np.square(target_output.to_numpy()).sum(1).mean()
    off = np.abs(mlp_weights.to_numpy() - teacher.to_numpy()).max()
    if not (last / size < 1e-3 and off < 0.05):
        sys.exit(f"expected a relative loss below 0.001 and weights within 0.05, got {last / size:g} and {off:g}")
    print(f"{ITERATIONS + REPLAYS} iterations later: relative loss below 0.001, weights within 0.05 of the teacher's")
    device.close()


main()

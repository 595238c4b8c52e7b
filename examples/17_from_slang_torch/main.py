"""17_from_slang_torch: a program written for slang-torch, with no line changed but the checks. A soft triangle is drawn by a CUDA kernel,
and moved onto another one by gradients: the kernel's .bwd, with one derivative by hand, inside a torch.autograd.Function.

It needs torch with CUDA: kernels over TensorView are CUDA's.
"""
import os
import sys

import torch

if not torch.cuda.is_available():
    print("skipped: torch sees no CUDA device")
    sys.exit(0)

import slangpy

WIDTH, HEIGHT, SHARPNESS = 128, 128, 20.0
m = slangpy.loadModule(os.path.join(os.path.dirname(os.path.abspath(__file__)), "triangle.slang"))
camera = m.Camera(o=(0.0, 0.0), scale=(1.0, 1.0))
launch = dict(blockSize=(16, 16, 1), gridSize=((WIDTH + 15) // 16, (HEIGHT + 15) // 16, 1))


class Rasterize(torch.autograd.Function):
    @staticmethod
    def forward(ctx, vertices, color):
        output = torch.zeros((WIDTH, HEIGHT, 3), device="cuda")
        m.rasterize(camera=camera, vertices=vertices, color=color, sharpness=SHARPNESS, output=output).launchRaw(**launch)
        ctx.save_for_backward(vertices, color, output)
        return output

    @staticmethod
    def backward(ctx, grad_output):
        vertices, color, output = ctx.saved_tensors
        grad_vertices, grad_color = torch.zeros_like(vertices), torch.zeros_like(color)
        m.rasterize.bwd(camera=camera, vertices=(vertices, grad_vertices), color=(color, grad_color), sharpness=SHARPNESS,
                        output=(output, grad_output.contiguous().clone())).launchRaw(**launch)
        return grad_vertices, grad_color


def main():
    right = torch.tensor([[0.2, 0.2], [0.8, 0.3], [0.5, 0.8]], device="cuda")
    target = Rasterize.apply(right, torch.tensor([1.0, 0.6, 0.2], device="cuda"))
    vertices = torch.tensor([[0.3, 0.3], [0.7, 0.3], [0.4, 0.6]], device="cuda", requires_grad=True)
    color = torch.tensor([0.5, 0.5, 0.5], device="cuda", requires_grad=True)
    optimizer = torch.optim.Adam([vertices, color], lr=0.01)
    for step in range(301):
        optimizer.zero_grad()
        loss = torch.mean((Rasterize.apply(vertices, color) - target) ** 2)
        loss.backward()
        optimizer.step()
        if step % 100 == 0:
            print(f"step {step:3d}: loss {loss.item():.6f}")
    worst = (vertices - right).abs().max().item()
    if worst > 0.02:
        sys.exit(f"a vertex is {worst:.3f} away from its place")
    black, white = torch.zeros(1000, device="cuda"), torch.ones(1000, device="cuda")
    if not torch.allclose(m.fade(black, white, 4), white):
        sys.exit("fade() is wrong")
    print("the triangle is in its place")


main()

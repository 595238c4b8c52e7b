"""16_torch_training: torch trains what a Slang function draws. A picture of soft blobs is fitted to a target by Adam: the blobs are
torch parameters, the Slang function is one node of torch's graph, and loss.backward() calls its derivative.

    python main.py [LOSSES.txt]      writes the loss of each step

It needs torch. With a GPU that torch knows, tensors are shared; without one they are copied to a Vulkan device and back.
"""
import pathlib
import sys

import slangpy as spy
import torch

FOLDER = pathlib.Path(__file__).resolve().parent
SIZE, BLOBS, STEPS = 48, 6, 150


def make_device():
    if torch.cuda.is_available():
        return spy.create_torch_device(), torch.device("cuda")
    return spy.create_device(spy.DeviceType.vulkan), torch.device("cpu")


class Picture(torch.nn.Module):
    """Blobs with a center, a sharpness and a color each."""

    def __init__(self, module, kind, seed):
        super().__init__()
        random = torch.Generator().manual_seed(seed)
        self.blob = module.blob
        self.center = torch.nn.Parameter(torch.rand((BLOBS, 2), generator=random).to(kind))
        self.sharpness = torch.nn.Parameter((3 + 3 * torch.rand(BLOBS, generator=random)).to(kind))
        self.color = torch.nn.Parameter(torch.rand((BLOBS, 3), generator=random).to(kind))

    def forward(self, at):
        # at has the shape (pixels, 1, 2) and the parameters (BLOBS, ...): the call runs over (pixels, BLOBS), and torch adds up the blobs.
        return self.blob(at, self.center, self.sharpness, self.color).sum(dim=1)


def main():
    device, kind = make_device()
    module = spy.Module.load_from_file(device, str(FOLDER / "blobs.slang"))
    steps = (torch.arange(SIZE, device=kind) + 0.5) / SIZE
    at = torch.stack(torch.meshgrid(steps, steps, indexing="xy"), dim=-1).reshape(-1, 1, 2)
    with torch.no_grad():
        target = Picture(module, kind, seed=1)(at)

    picture = Picture(module, kind, seed=2)
    optimizer = torch.optim.Adam(picture.parameters(), lr=0.03)
    losses = []
    for _ in range(STEPS):
        optimizer.zero_grad()
        loss = torch.nn.functional.mse_loss(picture(at), target)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())

    for step in range(0, STEPS, 25):
        print(f"step {step:3d}: loss {losses[step]:.5f} {'#' * round(60 * losses[step] / losses[0])}")
    if len(sys.argv) > 1:
        pathlib.Path(sys.argv[1]).write_text("".join(f"{loss:.9g}\n" for loss in losses))
    if not losses[-1] < losses[0] / 10:
        sys.exit(f"the loss went from {losses[0]:.5f} to {losses[-1]:.5f} only")
    print(f"the loss is {losses[0] / losses[-1]:.0f} times smaller")
    device.close()


if __name__ == "__main__":
    main()

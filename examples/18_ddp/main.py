"""18_ddp: data parallel training by processes. Each of two processes has a device of its own, calls the Slang function on its half of the
data, and torch's DistributedDataParallel adds up the gradients between them. Nothing in it knows of Slang. The losses are those of one
process over all data.

    python main.py                                    starts two processes by itself
    torchrun --nproc-per-node 2 main.py               the same, by torch's launcher

Processes talk by gloo on machines without GPUs, and by NCCL where each has a GPU of its own.
"""
import os
import pathlib
import sys

import slangpy as spy
import torch
import torch.distributed as dist
import torch.multiprocessing

SOURCE = """
[Differentiable]
float wave(no_diff float x, float height, float frequency, float phase)
{
    return height * sin(frequency * x + phase);
}
"""
STEPS, SAMPLES, PROCESSES = 40, 512, 2


class Wave(torch.nn.Module):
    def __init__(self, module, kind):
        super().__init__()
        self.wave = module.wave
        self.height, self.frequency, self.phase = (torch.nn.Parameter(torch.tensor(v, device=kind)) for v in (0.6, 1.7, 0.0))

    def forward(self, x):
        return self.wave(x, self.height, self.frequency, self.phase)


def train(rank, count):
    """Trains on this process's part of the data. Returns the loss over all data of each step."""
    by_gpu = torch.cuda.device_count() >= count
    kind = torch.device("cuda", rank) if by_gpu else torch.device("cpu")
    device = spy.create_torch_device(torch_device=kind) if by_gpu else spy.create_device(spy.DeviceType.vulkan)
    model = Wave(spy.Module.load_from_source(device, "wave", SOURCE), kind)
    if count > 1:
        model = torch.nn.parallel.DistributedDataParallel(model, device_ids=[rank] if by_gpu else None)
    x = torch.linspace(-2, 2, SAMPLES)
    target = torch.sin(2 * x + 0.5)
    x, target = (part[rank::count].to(kind) for part in (x, target))
    optimizer, losses = torch.optim.SGD(model.parameters(), lr=0.1), []
    for _ in range(STEPS):
        optimizer.zero_grad()
        loss = ((model(x) - target) ** 2).mean()
        loss.backward()
        optimizer.step()
        whole = loss.detach().clone()
        if count > 1:
            dist.all_reduce(whole)
        losses.append(whole.item() / count)
    device.close()
    return losses


def work(rank, count, file):
    backend = "nccl" if torch.cuda.device_count() >= count else "gloo"
    if file:  # started by main()
        dist.init_process_group(backend, init_method=f"file://{file}", rank=rank, world_size=count)
    else:
        dist.init_process_group(backend)
    losses = train(rank, count)
    if rank == 0:
        alone = train(0, 1)
        worst = max(abs(a - b) for a, b in zip(losses, alone))
        print(f"{count} processes: loss {losses[0]:.6f} -> {losses[-1]:.6f}; one process: {alone[-1]:.6f}; they differ by {worst:.1e} at most")
        if worst > 1e-6 or losses[-1] > losses[0] / 2:
            sys.exit("the losses are wrong")
    dist.barrier()
    dist.destroy_process_group()


def main():
    if "RANK" in os.environ:  # torchrun
        return work(int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"]), None)
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        torch.multiprocessing.spawn(work, (PROCESSES, str(pathlib.Path(folder) / "meeting")), nprocs=PROCESSES)


if __name__ == "__main__":
    main()

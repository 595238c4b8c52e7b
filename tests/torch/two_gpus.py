#!/usr/bin/env python3
"""two_gpus.py: data parallel training on two GPUs of one host, beside the same training on one. It needs torch with CUDA and NCCL, and what
on_gpu.py needs. About half a minute.

A batch of 2^24 samples goes through a Slang function whose time is arithmetic; torch's DistributedDataParallel gives each process half of
the batch and adds up the gradients. Prints the losses' largest difference from one process and how much faster a step is. The exit status
is 1 where the losses differ by more than 1e-6 of the first one, or where two GPUs are less than 1.8 times as fast as one.
"""
import sys
import tempfile
import time

import torch
import torch.distributed as dist
import torch.multiprocessing

import slangpy as spy

SOURCE = """
float fold(float x) { float v = x; for (int i = 0; i < 6000; i++) v = v * 0.999 + 0.001 * x; return v; }
[Differentiable] float line(no_diff float x, float a, float b) { return a * no_diff fold(x) + b; }
"""
STEPS, SAMPLES = 30, 1 << 24


class Line(torch.nn.Module):
    def __init__(self, module, gpu):
        super().__init__()
        self.line = module.line
        self.a, self.b = (torch.nn.Parameter(torch.tensor(v, device=gpu)) for v in (0.2, -0.4))

    def forward(self, x):
        return self.line(x, self.a, self.b)


def train(rank, count):
    """Returns the losses over the whole batch, and the seconds of a step."""
    gpu = torch.device("cuda", rank)
    torch.cuda.set_device(gpu)
    with spy.create_torch_device(torch_device=gpu) as device:
        model = Line(spy.Module.load_from_source(device, "line", SOURCE), gpu)
        if count > 1:
            model = torch.nn.parallel.DistributedDataParallel(model, device_ids=[rank])
        x = torch.linspace(-2, 2, SAMPLES)[rank::count].to(gpu)
        target = 1.5 * x + 0.25
        optimizer, losses, began = torch.optim.SGD(model.parameters(), lr=0.1), [], 0.0
        for step in range(STEPS):
            if step == STEPS // 3:  # compiled and warm
                torch.cuda.synchronize()
                began = time.perf_counter()
            optimizer.zero_grad()
            loss = ((model(x) - target) ** 2).double().mean()
            loss.backward()
            optimizer.step()
            losses.append(loss.detach())
        torch.cuda.synchronize()
        seconds = (time.perf_counter() - began) / (STEPS - STEPS // 3)
        losses = torch.stack(losses)
    if count > 1:
        dist.all_reduce(losses)
    return (losses / count).tolist(), seconds


def work(rank, count, file):
    dist.init_process_group("nccl", init_method="file://" + file, rank=rank, world_size=count)
    losses, seconds = train(rank, count)
    dist.barrier()
    dist.destroy_process_group()
    if rank:
        return
    alone, whole = train(0, 1)
    worst = max(abs(a - b) for a, b in zip(losses, alone))
    print("loss {:.6f} -> {:.6f}; two processes differ from one by {:.1e} at most".format(losses[0], losses[-1], worst))
    print("a step: {:.3f} ms on one GPU, {:.3f} ms on two: {:.2f} times as fast".format(whole * 1e3, seconds * 1e3, whole / seconds), flush=True)
    if worst > 1e-6 * losses[0] or whole / seconds < 1.8 or losses[-1] > losses[0] / 2:
        sys.exit("wrong, or too slow")


if __name__ == "__main__":
    if torch.cuda.device_count() < 2:
        sys.exit("skip: torch sees {} GPUs".format(torch.cuda.device_count()))
    with tempfile.TemporaryDirectory() as folder:
        torch.multiprocessing.spawn(work, (2, folder + "/meeting"), nprocs=2)

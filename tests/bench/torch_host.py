#!/usr/bin/env python3
"""What calls with torch tensors cost on the host, without a GPU: `tests/bench/torch_host.py [--count] [ROW ...]`, with a Python that has torch
(`make test-torch` makes build/venv-torch).

The device is CUDA's on tests/unit/fake_cuda, whose launches do nothing. torch's tensors are on the CPU; torch_host.c lets torch's DLPack
functions say that they lie in CUDA memory, and every address is the fake driver's. So all code of ours and of torch's autograd runs as on a
GPU, except for torch's dispatch to CUDA, its launches (a gradient set to zero is one), and the thread in which torch runs the backward
pass of a GPU's tensors. Floors are the same work by an empty torch.autograd.Function.

By the clock: microseconds of this thread's CPU time, medians over rounds in which all rows take turns. --count: callgrind's instructions of
one call instead, which do not depend on the machine's load. `allocated` is the Python memory blocks that 1,000 calls leave behind.
"""
import argparse
import ctypes
import glob
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
KERNELS = """
[AutoPyBindCUDA] [CUDAKernel] void square(TensorView<float> input, TensorView<float> output)
{
    uint3 at = cudaThreadIdx() + cudaBlockIdx() * cudaBlockDim();
    if (at.x < input.size(0)) output[at.x] = input[at.x] * input[at.x];
}
"""
SOURCE = "float add(float a, float b) { return a + b; }\n[Differentiable] float poly(float x) { return x * x * 2 + 3; }\n" \
         "[Differentiable] float line(float x, float s, float o) { return s * x + o; }"


def build(folder):
    """Compiles the fake driver and the C part."""
    driver, part = (os.path.join(TOP, "tests/unit/fake_cuda", name) for name in ("driver.c", "array.c", "graph.c", "play.c")), os.path.join(TOP, "tests/bench/torch_host.c")
    subprocess.run(["gcc", "-std=gnu11", "-O2", "-fPIC", "-shared", "-Wl,-soname,libcuda.so.1", *driver, "-lm", "-ldl", "-o", folder + "/libcuda.so.1"], check=True)
    subprocess.run(["gcc", "-std=gnu11", "-O2", "-fPIC", "-shared", part, "-o", folder + "/part.so"], check=True)


def pretend(folder):
    """Makes torch's tensors those of the fake driver. Returns the C part."""
    import torch

    part, driver = ctypes.CDLL(folder + "/part.so"), ctypes.CDLL("libcuda.so.1")
    driver.fake_cuda_state.restype = ctypes.c_void_p
    import slangpy as spy
    device = spy.create_device(spy.DeviceType.cuda)
    stream = ctypes.c_void_p()
    with device.cuda_context_scope():
        assert driver.cuStreamCreate(ctypes.byref(stream), 1) == 0
    pointer, new = ctypes.pythonapi.PyCapsule_GetPointer, ctypes.pythonapi.PyCapsule_New
    pointer.restype, pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    new.restype, new.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
    part.make_exchange.restype, part.make_exchange.argtypes = ctypes.c_void_p, [ctypes.c_void_p, ctypes.c_void_p]
    name = b"dlpack_exchange_api"
    table = part.make_exchange(pointer(torch.Tensor.__dlpack_c_exchange_api__, name), stream)
    torch.Tensor.__dlpack_c_exchange_api__ = new(table, name, None)
    part.map_everything(ctypes.c_void_p(driver.fake_cuda_state()))
    device._follow = torch.Tensor
    # A first call asks for a Tensor, which torch would look for on a GPU.
    torch.from_dlpack = lambda t: torch.frombuffer((ctypes.c_float * t.element_count).from_address(t.device_address), dtype=torch.float32)
    return part, device


def rows(device, folder):
    import torch

    import slangpy as spy

    x, seed, a, b, out = torch.rand(32, requires_grad=True), torch.ones(32), *(torch.rand(32) for _ in range(3))
    s, o = torch.rand((), requires_grad=True), torch.rand((), requires_grad=True)

    class Nothing(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return torch.empty_like(x)

        @staticmethod
        def backward(ctx, gradient):
            return None

    class Something(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return torch.empty_like(x)

        @staticmethod
        def backward(ctx, gradient):
            (x,) = ctx.saved_tensors
            return torch.empty_like(x)

    def both(function):
        x.grad = None
        function(x).backward(seed)

    m = spy.Module.load_from_source(device, "torch_host", SOURCE)
    path = os.path.join(folder, "kernels.slang")
    with open(path, "w") as f:
        f.write(KERNELS)
    k = spy.loadModule(path, device=device)
    add, poly, line = m.add, m.poly, m.line
    launch = k.square(input=a, output=out)
    shape = dict(blockSize=(32, 1, 1), gridSize=(1, 1, 1))

    def no_grad():
        with torch.no_grad():
            poly(x)

    def three():
        x.grad = s.grad = o.grad = None
        line(x, s, o).backward(seed)

    return {
        "floor: forward": lambda: Nothing.apply(x),
        "floor: forward + backward": lambda: both(Nothing.apply),
        "floor: forward + backward, a gradient": lambda: both(Something.apply),
        "torch: forward + backward of x * x * 2 + 3": lambda: both(lambda x: x * x * 2 + 3),
        "forward + backward of x * x * 2 + 3": lambda: both(poly),
        "its forward, requires_grad": lambda: poly(x),
        "its forward, no_grad": no_grad,
        "forward + backward of s * x + o, three gradients": three,
        "call, torch tensors, _result": lambda: add(a, b, _result=out),
        "call, torch tensors, new result": lambda: add(a, b),
        "launchRaw of a bound kernel": lambda: launch.launchRaw(**shape),
        "kernel(...).launchRaw(...)": lambda: k.square(input=a, output=out).launchRaw(**shape),
    }


def by_clock(work, rounds, count):
    times = {name: [] for name in work}
    for call in work.values():
        for _ in range(200):
            call()
    for _ in range(rounds):
        for name, call in work.items():
            began = time.thread_time()
            for _ in range(count):
                call()
            times[name].append((time.thread_time() - began) / count * 1e6)
    for name, found in times.items():
        found.sort()
        print("{:52} {:8.2f} us  (least {:.2f})".format(name, statistics.median(found), found[0]))


def blocks_left(work):
    """Python's memory blocks after 1,000 calls, less those before."""
    import gc

    print()
    for name, call in work.items():
        for _ in range(10):
            call()
        gc.collect()
        before = sys.getallocatedblocks()
        for _ in range(1000):
            call()
        gc.collect()
        print("{:52} {:8d} allocated".format(name, sys.getallocatedblocks() - before))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", action="store_true", help="callgrind's instructions of one call")
    parser.add_argument("--rounds", type=int, default=41)
    parser.add_argument("--calls", type=int, default=300, help="of a round")
    parser.add_argument("--tree", default=TOP, help="another checkout, whose built package is measured")
    parser.add_argument("--keep", help="a folder for callgrind's files")
    parser.add_argument("--inside", help=argparse.SUPPRESS)
    parser.add_argument("rows", nargs="*", help="those whose names contain a word")
    args = parser.parse_args()
    if args.inside is None:
        with tempfile.TemporaryDirectory() as folder:
            build(folder)
            nvrtc = glob.glob(os.path.join(TOP, "build/nvrtc/libnvrtc.so*"))
            env = dict(os.environ, LD_LIBRARY_PATH=folder, SLANGPY_CACHE="off", PYTHONPATH=os.path.join(args.tree, "python"))
            env.setdefault("SLANGPY_SLANG_LIBRARY", os.path.join(TOP, "build/slang/libslang-compiler.so"))
            if nvrtc:
                env.setdefault("SLANGPY_NVRTC_LIBRARY", nvrtc[0])
            tool = ["valgrind", "--tool=callgrind", "-q", "--instr-atstart=no", "--separate-threads=no", "--callgrind-out-file={}/out".format(args.keep or folder)] if args.count else []
            done = subprocess.run([*tool, sys.executable, "-W", "ignore", os.path.abspath(__file__), "--inside", folder, *sys.argv[1:]], env=env)
            if args.count:
                found = {}
                for path in glob.glob("{}/out.*".format(args.keep or folder)):
                    with open(path, encoding="utf-8", errors="replace") as f:
                        text = f.read()
                    name = re.search(r"^desc: Trigger: Client Request: (.*)$", text, re.M)
                    if name:
                        found[name.group(1)] = int(re.search(r"^(?:totals|summary): (\d+)", text, re.M).group(1)) / 100
                for name, n in found.items():
                    print("{:52} {:10,.0f} instructions".format(name, n))
        sys.exit(done.returncode)
    import torch

    torch.set_num_threads(1)
    part, device = pretend(args.inside)
    work = {name: call for name, call in rows(device, args.inside).items() if not args.rows or any(word in name for word in args.rows)}
    if not args.count:
        by_clock(work, args.rounds, args.calls)
        return blocks_left(work)
    for name, call in work.items():
        for _ in range(50):
            call()
        part.count_begin()
        for _ in range(100):
            call()
        part.count_end(name.encode())


if __name__ == "__main__":
    main()

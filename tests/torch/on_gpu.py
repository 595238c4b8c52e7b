#!/usr/bin/env python3
"""on_gpu.py [SECTION...]: what only a GPU with torch can show of torch and slang-torch here. It needs PYTHONPATH=python with the extension
built, libslang (SLANGPY_SLANG_LIBRARY) and torch with CUDA; NVRTC is found beside torch. Each section
prints lines that begin with ok, FAIL, skip or time; the exit status is 1 where one failed.

Sections: timing, floors (of a forward and a backward pass through autograd), pairs (such passes in turns with SlangPy's in SLANGPY_RIVAL, a folder
with its torch bridge, and torch's), load (loadModule in new processes), kernels (slang-torch's), host ([TorchEntryPoint] and the programs of slang-torch's
documents), graphs (captured by torch), memory (10,000 training steps), streams, shared (a Vulkan device and torch over shared memory), ops
(torch_op), gradcheck, cases (random calls on CUDA and Vulkan, values and gradients against torch's own), suites (this folder's pytest files; five minutes on lavapipe).
"""
import copy
import gc
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
import traceback

import torch

import slangpy as spy

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(os.path.dirname(HERE))
failed = []


def say(word, name, text=""):
    print("{:4} {}{}".format(word, name, ": " + text if text else ""), flush=True)
    if word == "FAIL":
        failed.append(name)


def attempt(name, work, *args):
    """Runs a piece of a section; what goes wrong there stays there."""
    try:
        say("ok", name, work(*args) or "")
    except Exception as error:
        where = [line for line in traceback.format_exc().splitlines() if "on_gpu.py" in line]
        say("FAIL", name, "{}: {} [{}]".format(type(error).__name__, " ".join(str(error).split())[:900], where[-1].strip() if where else ""))


# >>random calls: f(a, b, c) with torch's own formula beside it

CASES = {
    "poly": ("float {n}({t} a, {t} b, {t} c) {{ return a * a * b + b * c; }}", lambda a, b, c: a * a * b + b * c),
    "ratio": ("float {n}({t} a, {t} b, {t} c) {{ return a / (1 + b * b) - c; }}", lambda a, b, c: a / (1 + b * b) - c),
    "wave": ("float {n}({t} a, {t} b, {t} c) {{ return sin(a) * exp(-b) + c * c; }}", lambda a, b, c: torch.sin(a) * torch.exp(-b) + c * c),
    "largest": ("float {n}({t} a, {t} b, {t} c) {{ return max(a, b) * c; }}", lambda a, b, c: torch.maximum(a, b) * c),
    "loop": ("float {n}({t} a, {t} b, {t} c) {{ {t} s = c; [MaxIters(3)] for (int i = 0; i < 3; i++) s = s * a + b; return s; }}",
             lambda a, b, c: ((c * a + b) * a + b) * a + b),
}
TYPES = {"float": (torch.float32, 2e-5), "double": (torch.float64, 1e-11), "half": (torch.float16, 2e-2)}
SHAPES = [((5,), (5,), (5,)), ((3, 4), (4,), ()), ((2, 3, 4), (3, 1), (4,)), ((1,), (7,), ()), ((33,), (), (33,)), ((2, 1, 5), (4, 1), (5,)),
          ((257,), (257,), (1,)), ((16, 16), (16, 16), (16, 1)), ((0,), (0,), ()), ((), (), ())]


def text_of_cases():
    lines = []
    for name, (text, _) in CASES.items():
        for kind in TYPES:
            lines.append("[Differentiable] " + text.format(n=name + "_" + kind, t=kind).replace("float " + name, kind + " " + name, 1))
    return "\n".join(lines)


def layout(rng, t):
    """The same values in another layout."""
    way = rng.choice(("plain", "plain", "steps", "turned", "offset"))
    if way == "steps" and t.dim():
        return torch.stack([t, t + 100], dim=-1)[..., 0]
    if way == "turned" and t.dim() > 1:
        return t.transpose(0, -1).contiguous().transpose(0, -1)
    if way == "offset" and t.dim():
        return torch.cat([t[:1] + 50, t])[1:] if t.shape[0] else t
    return t


def one_case(rng, module, kind, name, dtype, shapes):
    expected, allowed = CASES[name][1], TYPES[dtype][1]
    raw = [(torch.rand(s, dtype=torch.float64) + 0.5).to(TYPES[dtype][0]).to(kind) for s in shapes]
    wanted = [rng.random() < 0.7 for _ in raw]
    wanted[rng.randrange(3)] = True
    own = [layout(rng, r).detach().requires_grad_(w) for r, w in zip(raw, wanted)]
    other = [r.clone().requires_grad_(w) for r, w in zip(raw, wanted)]
    made, right = module[name + "_" + dtype](*own), expected(*other)
    torch.testing.assert_close(made, right, atol=allowed, rtol=allowed)
    weights = torch.rand(right.shape, dtype=torch.float64).to(right.dtype).to(kind)
    made.backward(weights)
    right.backward(weights)
    for a, b, w in zip(own, other, wanted):
        if w:
            scale = max(1, made.numel() // max(a.numel(), 1))
            torch.testing.assert_close(a.grad, b.grad, atol=allowed * 4 * scale, rtol=allowed * 4)
        elif a.grad is not None:
            raise AssertionError("a gradient that nobody asked for")


def random_cases(device, kind, count):
    rng = random.Random(int(os.environ.get("SPY_TEST_SEED", "1"), 16))
    torch.manual_seed(rng.randrange(1 << 30))
    module = spy.Module.load_from_source(device, "cases", text_of_cases())
    wrong = []
    for number in range(count):
        name, dtype, shapes = rng.choice(list(CASES)), rng.choice(list(TYPES)), rng.choice(SHAPES)
        if name == "wave" and dtype == "double" and device.info.type == spy.DeviceType.vulkan:
            dtype = "float"  # Vulkan has no sin() of doubles
        try:
            one_case(rng, module, kind, name, dtype, shapes)
        except Exception as error:
            wrong.append("{} {} {} {}: {}".format(number, name, dtype, shapes, " ".join(str(error).split())[:300]))
    if wrong:
        raise AssertionError("{} of {} wrong; {}".format(len(wrong), count, " | ".join(wrong[:4])))
    return "{} cases".format(count)


def vulkan_device():
    try:
        return spy.create_torch_device(spy.DeviceType.vulkan), "cuda"
    except spy.Error as error:
        say("skip", "create_torch_device(vulkan)", " ".join(str(error).split())[:200])
        return spy.create_device(spy.DeviceType.vulkan), "cpu"


def cases():
    with spy.create_torch_device() as device:
        attempt("cases on CUDA", random_cases, device, "cuda", 300)
    try:
        device, kind = vulkan_device()
    except spy.Error as error:
        return say("skip", "cases on Vulkan", " ".join(str(error).split())[:200])
    with device:
        attempt("cases on Vulkan ({}), tensors on {}".format(device.info.adapter_name, kind), random_cases, device, kind, 300)


def gradcheck():
    source = """
    [Differentiable] double poly(double a, double b) { return a * a * b + b * b * b; }
    [Differentiable] double3 blend(double3 a, double3 b, double t) { return a * (1 - t) + b * t * a; }
    [Differentiable] void two(double a, double b, out double x, out double y) { x = a * b; y = a / b; }
    """

    def two(m, a, b):
        x, y = torch.empty_like(a, requires_grad=False), torch.empty_like(a, requires_grad=False)
        m.two(a, b, x, y)
        return x, y

    def inputs(*shapes):
        return tuple((torch.rand(s, dtype=torch.float64, device="cuda") + 0.5).requires_grad_() for s in shapes)

    with spy.create_torch_device() as device:
        m = spy.Module.load_from_source(device, "gradcheck", source)
        check = torch.autograd.gradcheck
        attempt("gradcheck poly", lambda: str(check(lambda a, b: m.poly(a, b), inputs((3, 4), (4,)))))
        attempt("gradcheck vectors", lambda: str(check(lambda a, b, t: m.blend(a, b, t), inputs((4, 3), (4, 3), (4,)))))
        attempt("gradcheck two outputs", lambda: str(check(lambda a, b: two(m, a, b), inputs((5,), (5,)))))


# >>slang-torch's kernels

KERNELS = """
[AutoPyBindCUDA] [CUDAKernel] [Differentiable]
void square(DiffTensorView input, DiffTensorView output)
{
    uint3 at = cudaThreadIdx() + cudaBlockIdx() * cudaBlockDim();
    if (at.x >= input.size(0)) return;
    output[at.x] = input[at.x] * input[at.x];
}
[AutoPyBindCUDA] [CUDAKernel] [Differentiable]
void gather(DiffTensorView input, TensorView<int> index, DiffTensorView output)
{
    uint3 at = cudaThreadIdx() + cudaBlockIdx() * cudaBlockDim();
    if (at.x >= output.size(0)) return;
    output.storeOnce(at.x, 2 * input[index[at.x]]);
}
struct Mesh { TensorView<float> vertices; TensorView<int> indices; };
[AutoPyBindCUDA] [CUDAKernel]
void process(Mesh mesh, float by, float3 color)
{
    uint at = cudaThreadIdx().x;
    mesh.vertices[at] = by * mesh.indices[at] + color.y;
}
[AutoPyBindCUDA] [CUDAKernel]
void count(TensorView<float> input, TensorView<int> bins)
{
    uint at = cudaThreadIdx().x + cudaBlockIdx().x * cudaBlockDim().x;
    if (at >= input.size(0)) return;
    int old;
    bins.InterlockedAdd(uint(input[at] * 4), 1, old);
}
[TorchEntryPoint]
TorchTensor<float> doubled(TorchTensor<float> input)
{
    var result = TorchTensor<float>.zerosLike(input);
    let groups = uint3((input.size(0) + 31u) / 32u, 1, 1);
    __dispatch_kernel(twice_kernel, groups, uint3(32, 1, 1))(input, result);
    return result;
}
[CudaKernel]
void twice_kernel(TensorView<float> input, TensorView<float> output)
{
    uint at = cudaThreadIdx().x + cudaBlockIdx().x * cudaBlockDim().x;
    if (at < input.size(0)) output[at] = 2 * input[at];
}
"""


def kernel_module():
    folder = tempfile.mkdtemp()
    path = os.path.join(folder, "kernels.slang")
    with open(path, "w") as f:
        f.write(KERNELS)
    return spy.loadModule(path)


def kernels():
    m = kernel_module()
    n = 1000
    shape = dict(blockSize=(128, 1, 1), gridSize=((n + 127) // 128, 1, 1))

    def square():
        x = torch.rand(n, device="cuda")
        y, dx, dy = torch.zeros_like(x), torch.zeros_like(x), torch.ones_like(x)
        m.square(input=x, output=y).launchRaw(**shape)
        torch.testing.assert_close(y, x * x)
        m.square.bwd(input=(x, dx), output=(y, dy)).launchRaw(**shape)
        torch.testing.assert_close(dx, 2 * x)
        assert not dy.any(), "the output's gradient is consumed"
        d, out = torch.full_like(x, 3), torch.zeros_like(x)
        m.square.fwd(input=(x, d), output=(y, out)).launchRaw(**shape)
        torch.testing.assert_close(out, 6 * x)

    def gather():
        x, index = torch.rand(10, device="cuda"), torch.randint(0, 10, (n,), dtype=torch.int32, device="cuda")
        y, dx, dy = torch.zeros(n, device="cuda"), torch.zeros_like(x), torch.rand(n, device="cuda")
        m.gather(input=x, index=index, output=y).launchRaw(**shape)
        torch.testing.assert_close(y, 2 * x[index.long()])
        right = torch.zeros_like(x).index_add_(0, index.long(), 2 * dy)
        m.gather.bwd(input=(x, dx), index=index, output=(y, dy)).launchRaw(**shape)
        torch.testing.assert_close(dx, right, atol=1e-4, rtol=1e-4)

    def structs():
        i = torch.arange(8, dtype=torch.int32, device="cuda")
        for make in (lambda v: m.Mesh(vertices=v, indices=i), lambda v: {"vertices": v, "indices": i}, lambda v: (v, i)):
            v = torch.zeros(8, device="cuda")
            m.process(mesh=make(v), by=2.0, color=(1.0, 5.0, 1.0)).launchRaw(blockSize=(8, 1, 1), gridSize=(1, 1, 1))
            torch.testing.assert_close(v, 2.0 * i + 5)

    def atomics():
        x, bins = torch.rand(n, device="cuda"), torch.zeros(4, dtype=torch.int32, device="cuda")
        m.count(input=x, bins=bins).launchRaw(**shape)
        assert torch.equal(bins, torch.bincount((x * 4).int(), minlength=4).int())

    def function():
        class Square(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                y = torch.zeros_like(x)
                m.square(input=x, output=y).launchRaw(**shape)
                ctx.save_for_backward(x, y)
                return y

            @staticmethod
            def backward(ctx, dy):
                x, y = ctx.saved_tensors
                dx = torch.zeros_like(x)
                m.square.bwd(input=(x, dx), output=(y, dy.clone())).launchRaw(**shape)
                return dx

        x = torch.rand(n, device="cuda", requires_grad=True)
        (Square.apply(x) * 3).sum().backward()
        torch.testing.assert_close(x.grad, 6 * x.detach())

    for work in (square, gather, structs, atomics, function):
        attempt("kernels " + work.__name__, work)


def host():
    m = kernel_module()

    def doubled():
        x = torch.rand(1000, device="cuda")
        for _ in range(3):
            torch.testing.assert_close(m.doubled(x), 2 * x)

    attempt("host function", doubled)
    run_pytest(os.path.join(TOP, "python/tests/test_seed_slangtorch.py"), "-k", "on_a_gpu")


def ops():
    source = "[Differentiable] float poly(float a, float b) { return a * a * b + b; }"
    with spy.create_torch_device() as device:
        m = spy.Module.load_from_source(device, "ops", source)
        op = spy.torch_op(m.poly)

        def compiled(backend):
            function = torch.compile(lambda a, b: op(a * 2, b).relu() + 1, backend=backend, fullgraph=True)
            a, b = (torch.rand(1000, device="cuda", requires_grad=True) for _ in range(2))
            made, right = function(a, b), (4 * a * a * b + b).relu() + 1
            torch.testing.assert_close(made, right)
            torch.testing.assert_close(torch.autograd.grad(made.sum(), (a, b)), torch.autograd.grad(right.sum(), (a, b)))

        def low():
            a = torch.rand(100, device="cuda").bfloat16().requires_grad_()
            made = m.poly(a, 2.0)
            made.sum().backward()
            torch.testing.assert_close(a.grad.float(), 4 * a.detach().float(), atol=0.05, rtol=0.01)
            with torch.no_grad():
                torch.testing.assert_close(m.poly(a, 2.0), made.detach())

        attempt("torch.compile, aot_eager", compiled, "aot_eager")
        attempt("torch.compile, inductor", compiled, "inductor")
        attempt("bfloat16", low)


def streams():
    """Calls go to torch's current stream: no synchronisation stands between torch's work and ours."""
    with spy.create_torch_device() as device:
        m = spy.Module.load_from_source(device, "streams", "[Differentiable] float add(float a, float b) { return a + b; }")

        def ordered():
            side = torch.cuda.Stream()
            for stream in (torch.cuda.current_stream(), side):
                with torch.cuda.stream(stream):
                    for _ in range(20):
                        big = torch.ones(1 << 22, device="cuda")
                        for _ in range(8):
                            big = big * 1.5
                        made = m.add(big, 1.0)
                        assert float((made - 1 - 1.5 ** 8).abs().max()) == 0

        attempt("streams", ordered)


# >>a Vulkan device and torch, over memory that both share

SHARED = """
[Differentiable] float poly(float a, float b) { return a * a * b + b; }
[Differentiable] float3 scaled(float3 a, float s) { return a * s; }
[Differentiable] void both(float a, float b, out float x, out float y) { x = a * b; y = a + b; }
void more(float a, inout float x) { x += a; }
half halved(half a) { return a / 2; }
"""


def shared_streams(m, sharing):
    """Rounds in flight on two streams, each of torch's work, a call, and torch's work with its result; the host waits once, at the end."""
    base, results, streams = torch.rand(1 << 20, device="cuda"), [], [torch.cuda.Stream(), torch.cuda.Stream()]
    torch.cuda.synchronize()
    for number in range(100):
        for which, stream in enumerate(streams):
            with torch.cuda.stream(stream):
                x = base
                for _ in range(4):
                    x = x * 1.25
                y = m.poly(x + number, 2.0 + which)
                results.append(((y + 1).sum(dtype=torch.float64), which, number))
    torch.cuda.synchronize()
    x = base
    for _ in range(4):
        x = x * 1.25
    for total, which, number in results:
        right = ((x + number) ** 2 * (2.0 + which) + (2.0 + which) + 1).sum(dtype=torch.float64)
        torch.testing.assert_close(total, right, rtol=1e-6, atol=0)
    return "{} calls, {} buffers".format(len(results), sharing.made)


def shared_chain(m):
    """Calls whose results are the next calls' arguments, across two streams by events."""
    side, x = torch.cuda.Stream(), torch.rand(300000, device="cuda")
    right, value = x.double(), x
    for number in range(60):
        value = m.poly(value * 0.5, 0.75)
        right = (right * 0.5) ** 2 * 0.75 + 0.75
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            value = m.poly(value, 0.5)
        torch.cuda.current_stream().wait_stream(side)
        right = right ** 2 * 0.5 + 0.5
    torch.testing.assert_close(value, right.float(), rtol=1e-4, atol=1e-5)


def shared_threads(m):
    import threading
    wrong = []

    def work(seed):
        try:
            with torch.cuda.stream(torch.cuda.Stream()):
                for number in range(50):
                    x = torch.full((1000 * seed,), float(number), device="cuda", requires_grad=True)
                    y = m.poly(x, float(seed))
                    (y * 2).sum().backward()
                    if not torch.equal(y, torch.full_like(y, number * number * seed + seed)) or not torch.equal(x.grad, 4 * x * seed):
                        wrong.append((seed, number))
        except Exception as error:
            wrong.append(error)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in (1, 2, 3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong, wrong[:3]


def shared_training(m, sharing):
    """Steps of a descent without a look at its numbers, against torch's own."""
    x = torch.rand(5000, device="cuda")
    own, other = (torch.full((5000,), 0.5, device="cuda", requires_grad=True) for _ in range(2))
    right = x * x * 0.3 + 0.3
    made = None
    for step in range(200):
        for w, function in ((own, m.poly), (other, lambda a, b: a * a * b + b)):
            w.grad = None
            ((function(x, w) - right) ** 2).sum().backward()
            with torch.no_grad():
                w -= 0.1 * w.grad
        if step == 3:
            made = sharing.made
    torch.testing.assert_close(own, other, rtol=1e-4, atol=1e-5)
    assert sharing.made == made, "{} buffers became {}".format(made, sharing.made)
    return "{} buffers".format(made)


def shared_layouts(m):
    a = torch.rand(6, 8, device="cuda")
    for x in (a.t(), a[::2, 1:], a[0].expand(4, 8), torch.rand(3, 4, 5, device="cuda").permute(2, 0, 1)):
        torch.testing.assert_close(m.poly(x, 2.0), x * x * 2 + 2)
    h = torch.rand(33, device="cuda").half()
    assert torch.equal(m.halved(h), h / 2)
    low = torch.rand(33, device="cuda").bfloat16()
    torch.testing.assert_close(m.poly(low, 1.0), low.float() ** 2 + 1)
    assert m.poly(torch.zeros(0, 3, device="cuda"), 1.0).shape == (0, 3)
    v, s = torch.rand(7, 3, device="cuda", requires_grad=True), torch.rand(7, device="cuda", requires_grad=True)
    made = m.scaled(v, s)
    torch.testing.assert_close(made, v * s[:, None])
    torch.testing.assert_close(torch.autograd.grad(made.sum(), (v, s)), (s[:, None].expand(7, 3).contiguous(), v.sum(1)))
    x, y, z = torch.rand(9, device="cuda"), torch.zeros(9, 2, device="cuda")[:, 0], torch.rand(9, device="cuda")
    m.both(x, 3.0, y, z)
    assert torch.equal(y, x * 3) and torch.equal(z, x + 3)
    before = z.clone()
    m.more(x, z)
    assert torch.equal(z, before + x)
    out = torch.empty_like(x)
    assert m.poly(x, 2.0, _result=out) is out
    torch.testing.assert_close(out, x * x * 2 + 2)
    assert m.poly(torch.tensor(3.0, device="cuda"), 2.0) == 20


def shared_waits(m):
    """The host does not wait: calls are issued while the GPU sleeps. 56, since a Vulkan device has 64 submissions under way at most."""
    x = torch.rand(100000, device="cuda", requires_grad=True)
    for _ in range(3):
        m.poly(x, 2.0).sum().backward()
    torch.cuda.synchronize()
    began = time.perf_counter()
    torch.cuda._sleep(1 << 30)
    for _ in range(28):
        y = m.poly(x, 2.0)
        y.sum().backward()
    issued = time.perf_counter()
    torch.cuda.synchronize()
    text = "issued after {:.1f} ms, done after {:.1f} ms".format((issued - began) * 1e3, (time.perf_counter() - began) * 1e3)
    assert issued - began < (time.perf_counter() - began) / 3, text
    return text


def shared_times(device, m):
    """Calls through shared memory, through the host, and of a CUDA device: to issue, and in all."""
    sharings = device._sharings

    def both(function, x, seed):
        x.grad = None
        function(x, 2.0).backward(seed)

    with spy.create_torch_device() as cuda:
        direct = spy.Module.load_from_source(cuda, "shared", SHARED)
        for n in (32, 1000000, 16000000):
            x, seed, out = torch.rand(n, device="cuda", requires_grad=True), torch.ones(n, device="cuda"), torch.empty(n, device="cuda")
            plain = x.detach()
            for name, module, through in (("shared", m, sharings), ("host", m, dict.fromkeys(sharings)), ("CUDA", direct, sharings)):
                device._sharings = through
                rounds = 5 if through is not sharings and n > 1000 else 100
                cells = []
                for work in (lambda: module.poly(plain, 2.0), lambda: module.poly(plain, 2.0, _result=out), lambda: both(module.poly, x, seed)):
                    for _ in range(5):
                        work()
                    torch.cuda.synchronize()
                    began = time.perf_counter()
                    for _ in range(rounds):
                        work()
                    issued = time.perf_counter()
                    torch.cuda.synchronize()
                    cells.append("{:.1f} {:.1f}".format((issued - began) / rounds * 1e6, (time.perf_counter() - began) / rounds * 1e6))
                say("time", "{} floats, {}".format(n, name), "us to issue, in all: call {}; given result {}; forward + backward {}".format(*cells))
    device._sharings = sharings


def shared():
    device, kind = vulkan_device()
    if kind != "cuda":
        return
    m = spy.Module.load_from_source(device, "shared", SHARED)
    attempt("shared, first call", lambda: torch.testing.assert_close(m.poly(torch.ones(5, device="cuda"), 2.0), torch.full((5,), 4.0, device="cuda")))
    sharing = device.__dict__.get("_sharings", {}).get(torch.cuda.current_device())
    if sharing is None:
        return say("FAIL", "shared", device.__dict__.get("_sharing_error", "no call asked for it"))
    attempt("shared, layouts and types", shared_layouts, m)
    attempt("shared, two streams", shared_streams, m, sharing)
    attempt("shared, a chain over two streams", shared_chain, m)
    attempt("shared, training", shared_training, m, sharing)
    attempt("shared, no waits", shared_waits, m)
    attempt("shared, threads", shared_threads, m)
    attempt("shared, random cases", random_cases, device, "cuda", 100)
    attempt("shared, still on", lambda: "{} streams, {} buffers".format(len(sharing.lanes), sharing.made) if not sharing.off else 1 / 0)
    attempt("shared, times", shared_times, device, m)

    def closed():
        x = torch.rand(1 << 20, device="cuda")
        made = [m.poly(x, float(number)) for number in range(20)]
        device.close()
        for number, y in enumerate(made):
            torch.testing.assert_close(y, x * x * number + number)

    attempt("shared, a device that is closed with work in flight", closed)


def graphs():
    source = "[Differentiable] float poly(float a, float b) { return a * a * b + b; }"
    with spy.create_torch_device() as device:
        m = spy.Module.load_from_source(device, "graphs", source)

        def given_result():
            a, b, out = (torch.rand(100, device="cuda") for _ in range(3))
            side = torch.cuda.Stream()
            side.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(side):
                for _ in range(3):
                    m.poly(a, b, _result=out)
            torch.cuda.current_stream().wait_stream(side)
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph):
                m.poly(a, b, _result=out)
                out.mul_(2)
            for _ in range(5):
                a.copy_(torch.rand_like(a))
                out.fill_(77)
                graph.replay()
                torch.testing.assert_close(out, 2 * (a * a * b + b))

        def training_step(kind, ours):
            """A step captured by torch, beside the same steps by torch's own functions from the same state: differences of the weights after
            1, 2, 5 and 50 steps, and of the first gradient. With `ours` false the captured step is torch's too: what differs then is not
            this library's. Adam divides a gradient by its size, SGD does not: an error in gradients shows in both, one in Adam's state in one.
            Each of the two has its own state: load_state_dict() keeps the tensors that it is given, so that two optimizers with one
            state_dict() would both move the same averages (weights then differ by 0.023 after 50 steps, and by 0.013 after one)."""
            w = torch.nn.Parameter(torch.rand(100, device="cuda"))
            x, t = torch.rand(100, device="cuda"), torch.rand(100, device="cuda")

            def optimizer_of(p):
                return torch.optim.Adam([p], lr=0.05, capturable=True) if kind == "Adam" else torch.optim.SGD([p], lr=1.0, momentum=0.9)

            optimizer = optimizer_of(w)

            def step():
                optimizer.zero_grad(set_to_none=False)
                y = m.poly(w, x) if ours else w * w * x + x
                loss = ((y - t) ** 2).mean()
                loss.backward()
                optimizer.step()
                return loss

            side = torch.cuda.Stream()
            side.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(side):
                for _ in range(4):
                    step()
            torch.cuda.current_stream().wait_stream(side)
            before = w.detach().clone()
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph):
                loss = step()
            assert torch.equal(w, before), "the capture itself changed the weights"
            v = torch.nn.Parameter(w.detach().clone())
            other = optimizer_of(v)
            other.load_state_dict(copy.deepcopy(optimizer.state_dict()))
            differences = []
            for count in range(1, 51):
                graph.replay()
                other.zero_grad()
                right = ((v * v * x + x - t) ** 2).mean()
                right.backward()
                other.step()
                if count == 1:
                    differences.append("first gradient {:.1e}".format(float((w.grad - v.grad).abs().max())))
                if count in (1, 2, 5, 50):
                    differences.append("{} {:.1e}".format(count, float((w - v).detach().abs().max())))
            text = "loss {:.4g}, torch's {:.4g}; differences: {}".format(float(loss), float(right), ", ".join(differences))
            assert torch.allclose(loss, right, atol=1e-5, rtol=1e-3) and torch.allclose(w, v, atol=1e-3, rtol=1e-3), text
            return text

        def launch():
            k = kernel_module()
            x, y, z = torch.rand(100, device="cuda"), torch.zeros(100, device="cuda"), None
            shape = dict(blockSize=(128, 1, 1), gridSize=(1, 1, 1))
            side = torch.cuda.Stream()
            side.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(side):
                for _ in range(3):
                    k.square(input=x, output=y).launchRaw(**shape)
                    z = k.doubled(x)
            torch.cuda.current_stream().wait_stream(side)
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph):
                k.square(input=x, output=y).launchRaw(**shape)
                z = k.doubled(x)
            for _ in range(5):
                x.copy_(torch.rand_like(x))
                y.fill_(77)
                graph.replay()
                torch.testing.assert_close(y, x * x)
                torch.testing.assert_close(z, 2 * x)

        attempt("graph of launchRaw and a host function", launch)
        attempt("graph of a call with _result", given_result)
        for kind in ("SGD", "Adam"):
            for ours in (False, True):
                attempt("graph of a training step, {}, {}".format(kind, "ours" if ours else "torch alone"), training_step, kind, ours)


def memory():
    import resource

    with spy.create_torch_device() as device:
        m = spy.Module.load_from_source(device, "memory", "[Differentiable] float line(float x, float s, float o) { return s * x + o; }")
        s, o = (torch.nn.Parameter(torch.zeros((), device="cuda")) for _ in range(2))
        x = torch.linspace(-1, 1, 4096, device="cuda")
        optimizer = torch.optim.Adam([s, o], lr=0.01)

        def run(steps):
            for _ in range(steps):
                optimizer.zero_grad()
                loss = ((m.line(x, s, o) - (3 * x - 0.5)) ** 2).mean()
                loss.backward()
                optimizer.step()
            torch.cuda.synchronize()
            return loss

        def state():
            gc.collect()
            free, total = torch.cuda.mem_get_info()
            with open("/proc/self/statm") as f:
                resident = int(f.read().split()[1]) * resource.getpagesize()
            return (total - free) >> 10, resident >> 10

        def training():
            run(500)
            before, began = state(), time.perf_counter()
            loss = run(10000)
            seconds, after = time.perf_counter() - began, state()
            text = "GPU {} -> {} KiB, host {} -> {} KiB, loss {:.2g}, {:.1f} us a step".format(before[0], after[0], before[1], after[1], float(loss), seconds * 100)
            assert after[0] <= before[0] and after[1] <= before[1] + 2048, text
            assert float(loss) < 1e-4, text
            return text

        attempt("10,000 training steps", training)


# >>timing

RAW = r"""
#include <time.h>
#include <stddef.h>
typedef int (*launch_t)(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *, void **, void **);
double raw(launch_t launch, void *function, void *stream, void **params, int count) {
    struct timespec a, b;
    clock_gettime(CLOCK_MONOTONIC, &a);
    for (int i = 0; i < count; i++) launch(function, 1, 1, 1, 32, 1, 1, 0, stream, params, NULL);
    clock_gettime(CLOCK_MONOTONIC, &b);
    return ((b.tv_sec - a.tv_sec) * 1e9 + (b.tv_nsec - a.tv_nsec)) / count / 1e3;
}
"""
PTX = b""".version 7.0
.target sm_50
.address_size 64
.visible .entry add(.param .u64 p, .param .u64 q, .param .u64 r)
{
    .reg .b64 %rd<8>; .reg .b32 %r<2>; .reg .f32 %f<4>;
    ld.param.u64 %rd1, [p]; ld.param.u64 %rd2, [q]; ld.param.u64 %rd3, [r];
    mov.u32 %r1, %tid.x; mul.wide.u32 %rd4, %r1, 4;
    add.s64 %rd5, %rd1, %rd4; add.s64 %rd6, %rd2, %rd4; add.s64 %rd7, %rd3, %rd4;
    ld.global.f32 %f1, [%rd5]; ld.global.f32 %f2, [%rd6];
    add.f32 %f3, %f1, %f2; st.global.f32 [%rd7], %f3;
    ret;
}
"""


class Raw:
    """Bare cuLaunchKernel of an addition of 32 floats, in a loop of C."""

    def __init__(self, a, b, out):
        import ctypes

        folder = tempfile.mkdtemp()
        source, library = os.path.join(folder, "raw.c"), os.path.join(folder, "raw.so")
        with open(source, "w") as f:
            f.write(RAW)
        subprocess.run(["gcc", "-O2", "-shared", "-fPIC", source, "-o", library], check=True)
        self.lib, cuda = ctypes.CDLL(library), ctypes.CDLL("libcuda.so.1")
        self.lib.raw.restype = ctypes.c_double
        module, self.function = ctypes.c_void_p(), ctypes.c_void_p()
        assert cuda.cuModuleLoadData(ctypes.byref(module), PTX) == 0
        assert cuda.cuModuleGetFunction(ctypes.byref(self.function), module, b"add") == 0
        self.pointers = [ctypes.c_uint64(t.data_ptr()) for t in (a, b, out)]
        self.params = (ctypes.c_void_p * 3)(*[ctypes.cast(ctypes.pointer(p), ctypes.c_void_p) for p in self.pointers])
        self.launch = ctypes.cast(cuda.cuLaunchKernel, ctypes.c_void_p)
        self.stream = ctypes.c_void_p(torch.cuda.current_stream().cuda_stream)

    def __call__(self, count):
        return self.lib.raw(self.launch, self.function, self.stream, self.params, count)


def issue_time(work, count=300, rounds=15):
    """Microseconds that a call of `work` takes to issue: the median over rounds, which begin with an idle GPU."""
    for _ in range(100):
        work()
    times = []
    for _ in range(rounds):
        torch.cuda.synchronize()
        began = time.perf_counter()
        for _ in range(count):
            work()
        times.append((time.perf_counter() - began) / count * 1e6)
    torch.cuda.synchronize()
    return statistics.median(times)


def timing():
    a, b, out = (torch.rand(32, device="cuda") for _ in range(3))
    rows = {}

    def row(name, value, note=""):
        rows[name] = value
        say("time", name, "{:.2f} us{}".format(value, "  " + note if note else ""))

    try:
        raw = Raw(a, b, out)
        row("raw cuLaunchKernel", statistics.median(raw(300) for _ in range(15) if torch.cuda.synchronize() is None))
    except Exception as error:
        say("skip", "raw cuLaunchKernel", str(error)[:300])
    source = """
    float add(float a, float b) { return a + b; }
    [Differentiable] float poly(float x) { return x * x * 2 + 3; }
    """
    with spy.create_torch_device() as device:
        m = spy.Module.load_from_source(device, "timing", source)
        add, poly = m.add, m.poly
        bound = "bar: raw + 1.2 = {:.2f}".format(rows["raw cuLaunchKernel"] + 1.2) if rows else ""
        row("call, torch tensors, _result", issue_time(lambda: add(a, b, _result=out)), bound)
        row("call, torch tensors, new result", issue_time(lambda: add(a, b)))
        row("torch.add(out=)", issue_time(lambda: torch.add(a, b, out=out)))
        row("torch a + b", issue_time(lambda: a + b))
        x, seed = torch.rand(32, device="cuda", requires_grad=True), torch.ones(32, device="cuda")

        def both(function):
            x.grad = None
            function(x).backward(seed)

        class Floor(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                ctx.save_for_backward(x)
                return torch.empty_like(x)

            @staticmethod
            def backward(ctx, gradient):
                return torch.empty_like(ctx.saved_tensors[0])

        row("floor: an autograd.Function that launches nothing, forward", issue_time(lambda: Floor.apply(x), 100))
        row("floor: the same, forward + backward", issue_time(lambda: both(Floor.apply), 100))
        row("forward + backward of x * x * 2 + 3", issue_time(lambda: both(poly), 100), "bar: 45")
        row("the same by torch", issue_time(lambda: both(lambda x: x * x * 2 + 3), 100))
        row("its forward, requires_grad", issue_time(lambda: poly(x), 100))
        with torch.no_grad():
            row("its forward, no_grad", issue_time(lambda: poly(x)))
    k = kernel_module()
    index = torch.zeros(32, dtype=torch.int32, device="cuda")
    launch = k.gather(input=a, index=index, output=out)
    shape = dict(blockSize=(32, 1, 1), gridSize=(1, 1, 1))
    row("launchRaw of a bound kernel", issue_time(lambda: launch.launchRaw(**shape)), "bar: 5")
    row("kernel(...).launchRaw(...)", issue_time(lambda: k.square(input=a, output=out).launchRaw(**shape)), "bar: 5")
    try:
        row("host function of one kernel", issue_time(lambda: k.doubled(a)))
    except Exception as error:
        say("skip", "host function of one kernel", " ".join(str(error).split())[:200])


PAIR = """
import sys, time
import torch
import slangpy as spy
device = spy.create_torch_device(type=spy.DeviceType.cuda)
poly = spy.Module.load_from_source(device, "pair_poly", "[Differentiable] float poly(float x) { return x * x * 2 + 3; }").poly
x, seed = torch.rand(32, device="cuda", requires_grad=True), torch.ones(32, device="cuda")
def both(function):
    x.grad = None
    function(x).backward(seed)
both(poly)
torch.testing.assert_close(x.grad, 4 * x.detach())
functions = {"library": poly, "torch": lambda x: x * x * 2 + 3}
for line in sys.stdin:
    function, threads = line.split()
    with torch.autograd.set_multithreading_enabled(threads == "threads"):
        torch.cuda.synchronize()
        began = time.perf_counter()
        for _ in range(100):
            both(functions[function])
        print("pair", (time.perf_counter() - began) * 1e4, flush=True)
"""


class Pair:
    """A process that makes forward and backward passes with one of the libraries when it is asked to."""

    def __init__(self, folder):
        env = dict(os.environ, PYTHONPATH=folder, PYTHONDONTWRITEBYTECODE="1")
        if folder != os.path.join(TOP, "python"):
            env.pop("SLANGPY_SLANG_LIBRARY", None)
        self.errors = tempfile.TemporaryFile("w+")
        self.process = subprocess.Popen([sys.executable, "-c", PAIR], env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.errors, text=True)

    def measure(self, function, threads):
        self.process.stdin.write("{} {}\n".format(function, threads))
        self.process.stdin.flush()
        for line in self.process.stdout:  # SlangPy's warnings stand there, too
            if line.startswith("pair "):
                return float(line.split()[1])
        self.errors.seek(0)
        raise RuntimeError(" ".join(self.errors.read().split())[-300:])


def pairs(rounds=24):
    """Forward and backward passes of this library, of SlangPy and of torch in turns, in microseconds: the machines' clocks change from
    second to second, so only figures of the same moment are compared."""
    folder = os.environ.get("SLANGPY_RIVAL")
    if not folder:
        return say("skip", "pairs", "SLANGPY_RIVAL names no folder")
    ours, theirs = Pair(os.path.join(TOP, "python")), Pair(folder)
    try:
        for threads, text in (("threads", "forward + backward of x * x * 2 + 3"), ("alone", "the same in the calling thread")):
            works = ((ours, "library"), (theirs, "library"), (ours, "torch"))
            turns = [[one.measure(function, threads) for one, function in works] for _ in range(rounds + 2)][2:]
            quarters = ["{:.1f} ({:.1f} to {:.1f})".format(b, a, c) for a, b, c in (statistics.quantiles(column, n=4) for column in zip(*turns))]
            against = ["{:.3f}".format(statistics.median(turn[0] / turn[i] for turn in turns)) for i in (1, 2)]
            say("time", text, "ours {}, SlangPy {}, torch {} us; ours / SlangPy {}, ours / torch {} (medians and quarters of {} turns)".format(
                *quarters, *against, rounds))
    except (RuntimeError, OSError, ValueError) as error:
        say("skip", "pairs", str(error))
    for one in (ours, theirs):
        one.process.kill()


def floors():
    """What a forward and a backward pass cost by sorts of nodes. `hooked` is a prototype: our kernels, the backward one run by a hook of a node of
    torch's own in place of an autograd.Function."""
    x, seed = torch.rand(32, device="cuda", requires_grad=True), torch.ones(32, device="cuda")

    def row(name, work):
        say("time", name, "{:.2f} us".format(issue_time(work, 100)))

    def both(function):
        x.grad = None
        function(x).backward(seed)

    class Nothing(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return torch.empty_like(x)

        @staticmethod
        def backward(ctx, gradient):
            return torch.empty_like(gradient)

    class Same(Nothing):
        @staticmethod
        def backward(ctx, gradient):
            return gradient

    def alone():
        x.grad = None
        x.backward(seed)

    def with_hook(function, hook):
        y = function(x)
        y.register_hook(hook)
        return y

    def with_prehook(x, hook=lambda gradients: gradients):
        y = x.view_as(x)
        y.grad_fn.register_prehook(hook)
        return y

    row("floor: x.backward(seed), AccumulateGrad alone", alone)
    row("floor: x.view_as(x), forward", lambda: x.view_as(x))
    row("floor: x.view_as(x), forward + backward", lambda: both(lambda x: x.view_as(x)))
    row("floor: x.clone(), forward + backward", lambda: both(torch.Tensor.clone))
    row("floor: x * 2, forward + backward", lambda: both(lambda x: x * 2))
    row("floor: x.view_as(x) with a tensor's hook", lambda: both(lambda x: with_hook(lambda x: x.view_as(x), lambda g: g)))
    row("floor: x.view_as(x) with a hook that makes a gradient", lambda: both(lambda x: with_hook(lambda x: x.view_as(x), torch.empty_like)))
    row("floor: x.view_as(x) with a node's prehook", lambda: both(with_prehook))
    row("floor: an autograd.Function that gives back its gradient", lambda: both(Same.apply))
    row("floor: an autograd.Function that makes a gradient", lambda: both(Nothing.apply))
    row("floor: the same by torch.autograd.grad", lambda: torch.autograd.grad(Nothing.apply(x), x, seed))
    row("floor: x.view_as(x) by torch.autograd.grad", lambda: torch.autograd.grad(x.view_as(x), x, seed))
    source = """
    [Differentiable] float poly(float x) { return x * x * 2 + 3; }
    float poly_back(float x, float g) { return bwd_of(x, g); }
    float bwd_of(float x, float g) { DifferentialPair<float> p = diffPair(x); bwd_diff(poly)(p, g); return p.d; }
    """
    with spy.create_torch_device() as device:
        m = spy.Module.load_from_source(device, "floors", source)
        poly, back = m.poly, m.poly_back

        def hooked(x):
            with torch.no_grad():
                made = poly(x)
            plain, y = x.detach(), x.view_as(x)
            y.data = made
            y.register_hook(lambda g: back(plain, g))
            return y

        def check():
            both(hooked)
            torch.testing.assert_close(x.grad, 4 * x.detach())
            torch.testing.assert_close(hooked(x).detach(), 2 * x.detach() ** 2 + 3)

        attempt("floors: the prototype's values", check)
        row("forward + backward of x * x * 2 + 3, ours", lambda: both(poly))
        row("the same by a hook of a node of torch's", lambda: both(hooked))
        row("its forward, ours", lambda: poly(x))
        row("its forward by the prototype", lambda: hooked(x))
        row("the same by torch", lambda: both(lambda x: x * x * 2 + 3))
        # torch runs the backward pass of a GPU's tensors in another thread, and waking it costs more than most of what is measured here.
        with torch.autograd.set_multithreading_enabled(False):
            row("forward + backward in the calling thread, ours", lambda: both(poly))
            row("the same by torch, in the calling thread", lambda: both(lambda x: x * x * 2 + 3))
            row("floor: an autograd.Function that makes a gradient, in the calling thread", lambda: both(Nothing.apply))
        large = torch.rand(1 << 26, device="cuda", requires_grad=True)
        for name, function in (("ours", poly), ("torch", lambda x: x * x * 2 + 3)):
            result, gradient = function(large), torch.ones_like(large)
            begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            for turn in range(12):
                if turn == 2:
                    begin.record()
                torch.autograd.grad(result, large, gradient, retain_graph=True)
            end.record()
            end.synchronize()
            us = begin.elapsed_time(end) * 100  # 10 passes
            say("time", "backward pass of x * x * 2 + 3, 2^26 floats, " + name, "{:.0f} us, {:.0f} GB/s of 12 bytes an element".format(us, 12e-3 * (1 << 26) / us))


LOAD = """
import os, sys, time
began = time.perf_counter()
import torch
x = torch.rand(1000, device="cuda"); y = torch.zeros_like(x); torch.cuda.synchronize()
imported = time.perf_counter()
import slangpy
library = time.perf_counter()
import slangpy.slangtorch
modules = time.perf_counter()
slangpy.slangtorch._device_of_torch()
device = time.perf_counter()
m = slangpy.loadModule(sys.argv[1])
loaded = time.perf_counter()
assert "slangpy.torch_entry_points" not in sys.modules
maps = open("/proc/self/maps").read()
m.square(input=x, output=y).launchRaw(blockSize=(128, 1, 1), gridSize=(8, 1, 1)); torch.cuda.synchronize()
launched = time.perf_counter()
again = slangpy.loadModule(sys.argv[1])
assert again is m and torch.allclose(y, x * x)
print("loadModule {:.3f} s (import slangpy {:.3f}, slangtorch {:.3f}, device {:.3f}, module {:.3f}; Slang {}, NVRTC {}, bytecode {}), "
      "first launch {:.3f} s, together {:.3f} s; the same again {:.6f} s".format(
          loaded - imported, library - imported, modules - library, device - modules, loaded - device,
          "opened" if "libslang" in maps else "not opened", "opened" if "libnvrtc" in maps else "not opened",
          "kept" if os.path.exists(slangpy.__cached__) else "compiled at each start",
          launched - loaded, launched - imported, time.perf_counter() - launched))
"""


def load():
    folder = tempfile.mkdtemp()
    path = os.path.join(folder, "kernels.slang")
    with open(path, "w") as f:
        f.write(KERNELS)
    # Python's bytecode is kept, as in an installed package. Without it each start compiles this library's Python files: 50 ms.
    env = dict(os.environ, SLANGPY_CACHE=os.path.join(folder, "cache"), PYTHONPYCACHEPREFIX=os.path.join(folder, "bytecode"))
    env.pop("PYTHONDONTWRITEBYTECODE", None)
    for name, bar in (("cold", "bar: 2 s"), ("warm, from the cache on disk", "bar: 0.1 s")):
        done = subprocess.run([sys.executable, "-c", LOAD, path], env=env, capture_output=True, text=True, timeout=120)
        if done.returncode:
            say("FAIL", "load " + name, " ".join(done.stderr.split())[-600:])
        else:
            say("time", "load " + name, done.stdout.strip() + "  " + bar)


def run_pytest(path, *more):
    done = subprocess.run([sys.executable, "-m", "pytest", "-q", "--no-header", "-p", "no:cacheprovider", path, *more], capture_output=True, text=True, timeout=300)
    lines = [line for line in done.stdout.splitlines() if line.strip()]
    say("ok" if done.returncode == 0 else "FAIL", os.path.relpath(path, TOP), (lines or ["nothing"])[-1])
    if done.returncode:
        print("\n".join(lines[-60:]))


def suites():
    for path in sorted(os.listdir(HERE)):
        if path.startswith("test_") and path.endswith(".py"):
            run_pytest(os.path.join(HERE, path))


SECTIONS = [timing, floors, pairs, load, kernels, host, graphs, memory, streams, shared, ops, gradcheck, cases, suites]

if __name__ == "__main__":
    if not torch.cuda.is_available():
        print("skip everything: torch sees no CUDA device")
        sys.exit(0)
    print("torch {}, Python {}, {}, slangpy.h {}".format(torch.__version__, sys.version.split()[0], torch.cuda.get_device_name(), spy.__version__))
    for section in SECTIONS:
        if len(sys.argv) > 1 and section.__name__ not in sys.argv[1:]:
            continue
        began = time.perf_counter()
        try:
            section()
        except Exception:
            say("FAIL", section.__name__, " ".join(traceback.format_exc().split())[-900:])
        print("     ({} took {:.1f} s)".format(section.__name__, time.perf_counter() - began), flush=True)
    print("{} failed".format(len(failed)) if failed else "all good")
    sys.exit(bool(failed))

"""tests/bench/fuse_h200.py [cuda|vulkan|torch|forms ...]: fused chains and reductions on a GPU, beside torch. About a minute.

A chain of five elementwise functions over 2^26 floats: fused, as one function written by hand, unfused (five calls), and its
backward call against the bytes that it must move. Reductions over 2^26 floats (of 8192 x 8192, over a dimension) against the time of
reading them once. torch eager and torch.compile do the same. Each line: what, milliseconds (least of several runs by the GPU's
clock), GB/s of the bytes that must move, and the ratio to its bar. sum(f(g(x))) with a sine and a division is bound by arithmetic on CUDA
(docs/measurements.md, "What bounds a reduction"); the row with cheap functions shows what the memory allows.

SPY_BENCH_LOG2: another size than 2^26. `forms` tries other figures of sums (src/call/passes.c, src/call/width.c) on both backends:
units in flight, groups, lengths. It needs an extension that was compiled with SLANGPY_CFLAGS=-DSPYI_TUNES. fuse_on_device.sh runs all."""
import os
import sys
import time

import numpy as np

from settle import settle

N = 1 << int(os.environ.get("SPY_BENCH_LOG2", "26"))
SIDE = 1 << (N.bit_length() - 1) // 2
SOURCE = """
[Differentiable] float scale(float x, float s) { return x * s; }
[Differentiable] float shift(float x, float o) { return x + o; }
[Differentiable] float bend(float x) { return x / (1 + abs(x)); }
[Differentiable] float wave(float x) { return sin(x); }
[Differentiable] float square(float x) { return x * x; }
[Differentiable] float times(float x, float y) { return x * y; }
[Differentiable] float by_hand(float x) { float a = x * 1.5 + 0.25; a = a / (1 + abs(a)); a = sin(a); return a * a; }
float same(float x) { return x; }
[Differentiable] double double_square(double x) { return x * x; }
"""


def best(run, times=20):
    """The least time of several runs, once the GPU has settled."""
    settle(run)
    return min(run() for _ in range(times))


def line(what, seconds, size, bar=None, ratio=None):
    words = "" if bar is None else "   {:.3f} of {} ({})".format(ratio, bar[0], "good" if ratio >= bar[1] else "BELOW {}".format(bar[1]))
    print("{:<46} {:8.3f} ms {:8.0f} GB/s{}".format(what, seconds * 1e3, size / seconds * 1e-9, words), flush=True)


# >>ours

class Ours:
    def __init__(self, kind, fast=False):
        import slangpy as spy

        self.spy, self.kind = spy, kind
        options = {"compiler_options": {"floating_point_mode": spy.SlangFloatingPointMode.fast}} if fast else {}
        self.device = spy.create_device(type=getattr(spy.DeviceType, kind), **options)
        print("\n{}: {}".format(kind, self.device.info.adapter_name))
        self.m = spy.Module.load_from_source(self.device, "chain", SOURCE)
        self.data = np.random.default_rng(1).standard_normal(N, np.float32)
        self.x = spy.Tensor.from_numpy(self.device, self.data)
        self.a, self.b = self.empty(N), self.empty(N)
        self.result = self.empty()
        self.copy = best(lambda: self.m.same.time(self.x, _result=self.a))
        self.read = self.copy / 2  # what reading x once takes at that bandwidth
        self.serial = 0

    def empty(self, *shape):
        return self.spy.Tensor.empty(self.device, shape=shape, dtype="float")

    def reduced(self, end, of, dims=None):
        """A function of its own at each time, so that nothing of an earlier one's form is used again."""
        self.serial += 1
        args = () if dims is None else (dims,)
        return self.spy.fuse(lambda x: getattr(self.spy, end)(of(x), *args), name="{}_{}".format(end, self.serial))

    def reduction(self, what, f, *args, result=None, size=4 * N, **bar):
        seconds = best(lambda: f.time(*args, _result=self.result if result is None else result))
        line(what, seconds, size, ("reading once", bar.get("bar", 0.95)), self.read * size / (4 * N) / seconds)

    def check(self, got, want):
        error = np.abs(np.asarray(got, np.float64) - want).max() / max(np.abs(want).max(), 1e-30)
        if not error < 1e-5:
            print("  WRONG: relative error {:.1e}".format(error))

    def chains(self):
        m, x, a, b, moved = self.m, self.x, self.a, self.b, 8 * N

        @self.spy.fuse
        def chain(x):
            return m.square(m.wave(m.bend(m.shift(m.scale(x, 1.5), 0.25))))

        hand = best(lambda: m.by_hand.time(x, _result=a))
        line("one function written by hand", hand, moved)
        line("the identity (reads and writes)", self.copy, moved)
        fused = best(lambda: chain.time(x, _result=a))
        line("fused: five functions", fused, moved, ("one function", 0.97), hand / fused)
        v = self.data.astype(np.float64) * 1.5 + 0.25
        self.check(a.to_numpy(), np.sin(v / (1 + np.abs(v))) ** 2)

        def unfused():
            return (m.scale.time(x, 1.5, _result=a) + m.shift.time(a, 0.25, _result=b) + m.bend.time(b, _result=a) + m.wave.time(a, _result=b)
                    + m.square.time(b, _result=a))

        five = best(unfused, 5)
        line("unfused: five calls", five, moved)
        xg = self.spy.Tensor.from_numpy(self.device, self.data).with_grads()
        out = self.empty(N).with_grads()
        out.grad.copy_from_numpy(np.ones(N, np.float32))
        # reads x, the seed and the gradient, and writes the gradient
        for name, f in (("fused backward", chain), ("backward of the one by hand", m.by_hand), ("backward of x * x", m.square)):
            back = best(lambda f=f: f.bwds.time(xg, _result=out))
            line(name, back, 16 * N, ("the bytes' bound", 0.9), 2 * self.copy / back)

    def reductions(self):
        m, spy, x, v = self.m, self.spy, self.x, self.data.astype(np.float64)
        w = np.sin(v / (1 + np.abs(v)))
        wave = lambda x: m.wave(m.bend(x))
        total = self.reduced("sum", wave)
        self.reduction("sum(f(g(x)))", total, x)
        self.check(self.result.to_numpy(), w.sum())
        self.reduction("  the same, deterministic", total.deterministic(), x)
        # What bounds that row: the same with two functions of the chain that cost a slot each, so that the memory bounds it, and each
        # of its own two functions alone.
        cheap = self.reduced("sum", lambda x: m.square(m.shift(x, 0.25)))
        self.reduction("sum(f(g(x))) with f = square, g = shift", cheap, x)
        self.check(self.result.to_numpy(), ((v + 0.25) ** 2).sum())
        self.reduction("  the same, deterministic", cheap.deterministic(), x)
        self.reduction("  sum(x / (1 + abs(x)))", self.reduced("sum", m.bend), x)
        self.reduction("  sum(sin(x))", self.reduced("sum", m.wave), x)
        squares = self.reduced("sum", m.square)
        self.reduction("sum(x * x)", squares, x)
        self.check(self.result.to_numpy(), (v * v).sum())
        self.reduction("  the same, deterministic", squares.deterministic(), x)
        self.reduction("  the same, x[:-3]", squares, x[: N - 3])
        self.reduction("  the same, x[1:], which no vector begins at", squares, x[1:])
        for end, of in (("mean", np.mean), ("max", np.max), ("min", np.min)):
            self.reduction(end + "(x * x)", self.reduced(end, m.square), x)
            self.check(self.result.to_numpy(), of(v * v))
        self.reduction("  max, deterministic", self.reduced("max", m.square).deterministic(), x)
        y = spy.Tensor.from_numpy(self.device, self.data[::-1].copy())
        self.reduction("dot(x, y)", spy.fuse(lambda x, y: spy.dot(x, y), types={"x": "float", "y": "float"}, module=m, name="dot_of"), x, y, size=8 * N)
        self.check(self.result.to_numpy(), v @ v[::-1])
        square, sums = spy.Tensor.from_numpy(self.device, self.data.reshape(SIDE, -1)), self.empty(SIDE)
        for dim in (0, 1):
            f = self.reduced("sum", m.square, dim)
            self.reduction("sum(x * x) over dimension {}".format(dim), f, square, result=sums)
            self.check(sums.to_numpy(), (v * v).reshape(SIDE, -1).sum(dim))
            self.reduction("  the same, deterministic", f.deterministic(), square, result=sums)
        half = spy.Tensor.from_numpy(self.device, self.data.astype(np.float16))
        self.reduction("sum(x * x) of halves", squares, half, size=2 * N)
        wide = spy.Tensor.from_numpy(self.device, v[: N // 2])
        doubles = spy.Tensor.empty(self.device, shape=(), dtype="double")
        self.reduction("sum(x * x) of N / 2 doubles", self.reduced("sum", m.double_square), wide, result=doubles)
        back = spy.Tensor.from_numpy(self.device, self.data).with_grads()
        seconds = best(lambda: squares.bwds.time(back, _result=spy.diff_pair(0.0, 1.0)))
        line("backward of sum(x * x)", seconds, 12 * N, ("the bytes' bound", 0.9), 1.5 * self.copy / seconds)

    def form(self, groups=(2048,), **figures):
        """Times sums with other figures. The groups are figures of a launch: slices of other lengths have launches of their own."""
        for name, value in figures.items():
            os.environ["SPYI_SUMS_" + name] = str(value)
        m, cells = self.m, []
        square, sums = self.square, self.sums
        whole = [self.reduced("sum", m.square), self.reduced("sum", lambda x: m.wave(m.bend(x)))]
        lines = [self.reduced("sum", m.square, dim) for dim in (0, 1)]
        for number, count in enumerate(groups):
            os.environ["SPYI_SUMS_GROUPS"] = str(count)
            part = self.x[: N - 4096 * number]
            times = [best(lambda f=f: f.time(part, _result=self.result), 8) for f in whole]
            rows = square[: SIDE - number]
            times += [best(lambda d=d: lines[d].time(rows, _result=sums[: rows.shape[1 - d]]), 8) for d in (0, 1)]
            cells.append("{:5} groups: {}".format(count, " ".join("{:.3f}".format(t * 1e3) for t in times)))
        print("{:<28} {}".format(" ".join("{} {}".format(k.lower(), v) for k, v in figures.items()) or "as it is", "   ".join(cells)), flush=True)
        for name in list(os.environ):
            if name.startswith("SPYI_SUMS_"):
                del os.environ[name]

    def forms(self):
        self.square = self.spy.Tensor.from_numpy(self.device, self.data.reshape(SIDE, -1))
        self.sums = self.empty(SIDE)
        print("reading once: {:.3f} ms. Each: sum(x * x), sum(f(g(x))), sum(x * x) over dimension 0 and 1, in ms".format(self.read * 1e3))
        groups = (1024, 2048, 4096, 8192)
        self.form(groups)
        self.form(VECTORS=0, MOST=1)
        self.form(WIDE=1)
        self.form(groups, WIDE=4, MOST=4)
        self.form(WIDE=8, BYTES=128, MOST=16)
        self.form((2048,), LONG=128)
        self.form((2048,), SIDE=64)
        self.form((2048,), SIDE=256)


# >>torch

def torchs():
    try:
        import torch
    except ImportError:
        return print("\ntorch: not installed")
    if not torch.cuda.is_available():
        return print("\ntorch: no CUDA")
    x = torch.randn(N, device="cuda")
    y = torch.randn(N, device="cuda")
    square = x.view(SIDE, -1)

    def chain(x):
        a = x * 1.5 + 0.25
        a = torch.sin(a / (1 + a.abs()))
        return a * a

    works = [("chain", chain, (x,), 8 * N), ("sum(f(g(x)))", lambda x: torch.sin(x / (1 + x.abs())).sum(), (x,), 4 * N),
             ("sum(f(g(x))) with f = square, g = shift", lambda x: torch.square(x + 0.25).sum(), (x,), 4 * N),
             ("sum(x * x)", lambda x: (x * x).sum(), (x,), 4 * N), ("max(x * x)", lambda x: (x * x).max(), (x,), 4 * N),
             ("dot(x, y)", lambda x, y: (x * y).sum(), (x, y), 8 * N),
             ("sum(x * x) over dimension 0", lambda x: (x * x).sum(0), (square,), 4 * N),
             ("sum(x * x) over dimension 1", lambda x: (x * x).sum(1), (square,), 4 * N)]

    def both(f, x):
        x.grad = None
        f(x).backward(torch.ones_like(x))

    def timed(f, *args):
        def run():
            begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
            begin.record()
            f(*args)
            end.record()
            torch.cuda.synchronize()
            return begin.elapsed_time(end) * 1e-3
        return best(run)

    started = time.time()
    compiled = []
    for _, f, args, _ in works:
        torch._dynamo.reset()
        compiled.append(torch.compile(f, dynamic=False))
        compiled[-1](*args)
    xg = x.clone().requires_grad_()
    grown = torch.compile(chain, dynamic=False)
    both(grown, xg)
    torch.cuda.synchronize()
    print("\ntorch {}: compiled in {:.0f} s".format(torch.__version__, time.time() - started))
    for (name, f, args, size), g in zip(works, compiled):
        line("torch eager: " + name, timed(f, *args), size)
        line("torch.compile: " + name, timed(g, *args), size)
    line("torch eager: chain forward and backward", timed(both, chain, xg), 8 * N + 12 * N)
    line("torch.compile: chain forward and backward", timed(both, grown, xg), 8 * N + 12 * N)


if __name__ == "__main__":
    parts = sys.argv[1:] or ["cuda", "vulkan", "torch"]
    for kind in ("cuda", "vulkan"):
        if kind not in parts and "forms" not in parts:
            continue
        import slangpy

        try:
            o = Ours(kind)
            if kind in parts:
                o.chains()
                o.reductions()
            if "forms" in parts:
                o.forms()
            o.device.close()
            if kind == "cuda" and kind in parts:
                o = Ours(kind, fast=True)
                o.reduction("sum(f(g(x))), floating_point_mode=fast", o.reduced("sum", lambda x: o.m.wave(o.m.bend(x))), o.x)
                o.device.close()
        except slangpy.Error as error:
            print("{}: {}".format(kind, str(error).splitlines()[0]), flush=True)
    if "torch" in parts:
        torchs()

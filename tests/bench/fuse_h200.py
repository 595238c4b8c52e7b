"""tests/bench/fuse_h200.py [cuda|vulkan ...]: fused chains and reductions on a GPU, beside torch. Under two minutes.

A chain of five elementwise functions over 2^26 floats: fused, as one function written by hand, unfused (five calls), torch eager and
torch.compile; its backward call, fused against the bytes that it must move; and sum(f(g(x))) against the time of reading x once.
Each line: what, milliseconds (least of 20 runs by the GPU's clock), GB/s of the bytes that must move, and the ratio to its bar."""
import sys
import time

import numpy as np

import slangpy as spy

N = 1 << int(__import__("os").environ.get("SPY_BENCH_LOG2", "26"))
SOURCE = """
[Differentiable] float scale(float x, float s) { return x * s; }
[Differentiable] float shift(float x, float o) { return x + o; }
[Differentiable] float bend(float x) { return x / (1 + abs(x)); }
[Differentiable] float wave(float x) { return sin(x); }
[Differentiable] float square(float x) { return x * x; }
[Differentiable] float by_hand(float x) { float a = x * 1.5 + 0.25; a = a / (1 + abs(a)); a = sin(a); return a * a; }
float same(float x) { return x; }
"""


def best(run, times=20):
    run()
    run()
    return min(run() for _ in range(times))


def line(what, seconds, size, bar=None, ratio=None):
    words = "" if bar is None else "   {:.3f} of {} ({})".format(ratio, bar[0], "good" if ratio >= bar[1] else "BELOW {}".format(bar[1]))
    print("{:<46} {:8.3f} ms {:8.0f} GB/s{}".format(what, seconds * 1e3, size / seconds * 1e-9, words), flush=True)


def ours(kind):
    device = spy.create_device(type=getattr(spy.DeviceType, kind))
    print("\n{}: {}".format(kind, device.info.adapter_name))
    m = spy.Module.load_from_source(device, "chain", SOURCE)

    @spy.fuse
    def chain(x):
        return m.square(m.wave(m.bend(m.shift(m.scale(x, 1.5), 0.25))))

    total = spy.fuse(lambda x: spy.sum(m.wave(m.bend(x))), name="total")
    data = np.random.default_rng(1).standard_normal(N, np.float32)
    x = spy.Tensor.from_numpy(device, data)
    a, b = spy.Tensor.empty(device, shape=(N,), dtype="float"), spy.Tensor.empty(device, shape=(N,), dtype="float")
    moved = 8 * N
    hand = best(lambda: m.by_hand.time(x, _result=a))
    line("one function written by hand", hand, moved)
    copy = best(lambda: m.same.time(x, _result=a))
    line("the identity (reads and writes)", copy, moved)
    fused = best(lambda: chain.time(x, _result=a))
    line("fused: five functions", fused, moved, ("one function", 0.97), hand / fused)
    got = a.to_numpy()
    v = data.astype(np.float64) * 1.5 + 0.25
    v = np.sin(v / (1 + np.abs(v))) ** 2
    print("  largest error {:.1e}".format(np.abs(got - v).max()))

    def unfused():
        return (m.scale.time(x, 1.5, _result=a) + m.shift.time(a, 0.25, _result=b) + m.bend.time(b, _result=a) + m.wave.time(a, _result=b)
                + m.square.time(b, _result=a))

    five = best(unfused, 5)
    line("unfused: five calls", five, moved)
    print("  fused is {:.2f} times as fast".format(five / fused))
    xg = spy.Tensor.from_numpy(device, data).with_grads()
    out = spy.Tensor.empty(device, shape=(N,), dtype="float").with_grads()
    out.grad.copy_from_numpy(np.ones(N, np.float32))
    # reads x, the seed and the gradient, and writes the gradient
    back = best(lambda: chain.bwds.time(xg, _result=out))
    line("fused backward", back, 16 * N, ("the bytes' bound", 0.9), (16 * N / back) / (moved / copy))
    print("  " + next(t for t in chain.bwds.explain(xg, _result=out).splitlines() if t.startswith("  reads")).strip())
    result = spy.Tensor.empty(device, shape=(), dtype="float")
    reduced = best(lambda: total.time(x, _result=result))
    read = 4 * N / (moved / copy)  # at the identity's bandwidth
    line("fused sum(f(g(x)))", reduced, 4 * N, ("reading x once", 0.95), read / reduced)
    v = data.astype(np.float64)
    print("  error of the sum {:.1e}".format(abs(float(result.to_numpy()) - np.sin(v / (1 + np.abs(v))).sum())))
    fixed = total.deterministic()
    line("  the same, deterministic", best(lambda: fixed.time(x, _result=result)), 4 * N)
    for kind_of in ("mean", "max"):
        f = spy.fuse(lambda x: getattr(spy, kind_of)(m.wave(m.bend(x))), name=kind_of + "_of")
        line("  " + kind_of, best(lambda: f.time(x, _result=result)), 4 * N)
    square = spy.Tensor.from_numpy(device, data.reshape(1 << (N.bit_length() - 1) // 2, -1))
    for dim in (0, 1):
        f = spy.fuse(lambda x: spy.sum(m.wave(m.bend(x)), dim), name="sum_of_dim")
        line("  sum over dimension {}".format(dim), best(lambda: f.time(square, _result=a[: square.shape[1 - dim]])), 4 * N)
    device.close()


def torchs():
    try:
        import torch
    except ImportError:
        return print("\ntorch: not installed")
    if not torch.cuda.is_available():
        return print("\ntorch: no CUDA")
    print("\ntorch {}".format(torch.__version__))
    x = torch.randn(N, device="cuda")
    out = torch.empty_like(x)

    def chain(x):
        a = x * 1.5 + 0.25
        a = torch.sin(a / (1 + a.abs()))
        return a * a

    def total(x):
        return torch.sin(x / (1 + x.abs())).sum()

    def timed(f, *args):
        def run():
            begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
            begin.record()
            f(*args)
            end.record()
            torch.cuda.synchronize()
            return begin.elapsed_time(end) * 1e-3
        return best(run)

    del out
    for name, wrap in (("torch eager", lambda f: f), ("torch.compile", torch.compile)):
        started = time.time()
        line(name + ": chain", timed(wrap(chain), x), 8 * N)
        line(name + ": sum(f(g(x)))", timed(wrap(total), x), 4 * N)
        xg = x.clone().requires_grad_()
        f = wrap(chain)

        def both():
            xg.grad = None
            f(xg).backward(torch.ones_like(xg))

        line(name + ": chain forward and backward", timed(both), 8 * N + 12 * N)
        print("  ({:.0f} s with compiling)".format(time.time() - started))


if __name__ == "__main__":
    for kind in sys.argv[1:] or ("cuda", "vulkan"):
        try:
            ours(kind)
        except spy.Error as error:
            print("{}: {}".format(kind, str(error).splitlines()[0]))
    torchs()

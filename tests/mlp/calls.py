"""Networks in ordinary calls on CUDA: numbers against float64, plain and on the matrix units, forward and gradients, and times.

    python3 tests/mlp/calls.py [check] [gradients] [start] [time] [--jobs 8] [--seconds 110]

"check" goes over 66 shapes: of each, a call that is nothing but the network (the batch engine, where it takes the network), a call of it
among other code, and a backward call. It starts --jobs processes, since each shape compiles three kernels. Lines begin with good or BAD.
"gradients" times backward calls and training steps alone; "start" the first training step of a process, with and without a kernel cache, and the
compilation of new networks.
"""
import argparse
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time

import numpy as np

import slangpy as spy
from slangpy import mlp

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
START = time.time()
bad = lines = 0


def shapes():
    """[(inputs, outputs, width, depth, activation, output activation, bias, dtype, rows)]"""
    found = []
    for dtype in ("mixed", "half"):
        for width in (32, 64, 128):  # what the batch engine takes
            found += [(width, 8, width, 3, "ReLU", "NoActivation", 0, dtype, 4096), (width // 2 + 1, 3, width, 2, "LeakyReLU", "NoActivation", 1, dtype, 1001)]
        found += [(8, 1, 64, 1, "Tanh", "NoActivation", 1, dtype, 33), (64, 5, 64, 4, "Sigmoid", "NoActivation", 0, dtype, 31), (32, 8, 32, 8, "ReLU", "NoActivation", 1, dtype, 500)]
    r = random.Random(21)
    activations = ("NoActivation", "ReLU", "LeakyReLU", "Sigmoid", "Tanh", "SiLU", "Sine")
    while len(found) < 48:  # what the matrix units take
        found.append((r.choice((1, 2, 3, 7, 16, 17, 33, 64, 100, 128)), r.choice((1, 2, 3, 4, 8, 9, 16, 20)), r.choice((16, 32, 48, 64, 80, 96, 112, 128)), r.randint(0, 5),
                      r.choice(activations), r.choice(("NoActivation", "NoActivation", "Sigmoid", "Tanh")), r.randint(0, 1), r.choice(("mixed", "half")),
                      r.choice((1, 31, 32, 33, 255, 1000, 2049))))
    while len(found) < 66:  # plain loops: float parameters, other widths
        found.append((r.choice((1, 2, 5, 32)), r.choice((1, 3, 8)), r.choice((1, 5, 24, 40, 64, 136, 256)), r.randint(0, 4), r.choice(activations), "NoActivation", r.randint(0, 1),
                      r.choice(("float", "mixed")), r.choice((1, 33, 300))))
    return found


def value(name, z):
    with np.errstate(over="ignore"):
        s = 1 / (1 + np.exp(-z))
    return {"NoActivation": z, "ReLU": np.maximum(z, 0), "LeakyReLU": np.where(z > 0, z, 0.01 * z), "Sigmoid": s, "Tanh": np.tanh(z), "SiLU": z * s, "Sine": np.sin(z)}[name]


def slope(name, z):
    with np.errstate(over="ignore"):
        s = 1 / (1 + np.exp(-z))
    return {"NoActivation": np.ones_like(z), "ReLU": (z > 0) * 1.0, "LeakyReLU": np.where(z > 0, 1, 0.01), "Sigmoid": s * (1 - s), "Tanh": 1 - np.tanh(z) ** 2,
            "SiLU": s * (1 + z * (1 - s)), "Sine": np.cos(z)}[name]


def half(v):
    return np.asarray(v).astype(np.float16).astype(np.float64)


def scale(g):
    """By how much the units multiply the gradients of each warp before they become half."""
    out = np.ones((len(g), 1))
    for i in range(0, len(g), 32):
        most = np.abs(g[i:i + 32]).max()
        out[i:i + 32] = 2.0 ** (3 - np.floor(np.log2(most))) if most > 0 else 1
    return out


def reference(net, parameters, x, dy, rounded):
    """Outputs, the gradients of the parameters and of x. rounded: weights, and numbers and gradients between layers become half, as on the matrix units;
    with "engine" as the batch engine rounds them, which keeps activations instead of the sums before them."""
    def store(v):
        return half(v) if rounded else np.asarray(v, np.float64)
    at, layers, flat = 0, [], parameters.reshape(-1)
    for i, o in net._sizes():
        layers.append((store(flat[at:at + i * o].reshape(i, o)), flat[at + i * o:at + (i + net.bias) * o].astype(np.float64) if net.bias else 0.0))
        at += (i + net.bias) * o
    h, z = [store(x)], []
    for n, (w, b) in enumerate(layers):
        last = n == net.depth
        v = h[-1] @ w + b
        z.append(v)
        h.append(value(net.output_activation, v) if last else store(value(net.activation, v)))
    if dy is None:
        return h[-1], None, None
    slopes = [slope(net.activation, v) for v in z[:-1]]
    if rounded == "engine":
        slopes = [{"Sigmoid": v * (1 - v), "Tanh": 1 - v * v}.get(net.activation, slope(net.activation, v)) for v in h[1:-1]]
    elif rounded:  # the gradient keeps the sums of hidden layers as half
        h, z = [h[0]], []
        for n, (w, b) in enumerate(layers):
            last = n == net.depth
            z.append(h[-1] @ w + b if last else half(h[-1] @ w + b))
            h.append(value(net.output_activation, z[-1]) if last else half(value(net.activation, z[-1])))
        slopes = [slope(net.activation, v) for v in z[:-1]]
    g = dy * slope(net.output_activation, z[-1])
    by = scale(g)
    grads = []
    g = half(g * by) / by if rounded else g
    for n in range(net.depth, -1, -1):
        grads.insert(0, np.concatenate([(h[n].T @ g).reshape(-1)] + ([g.sum(0)] if net.bias else [])))
        g = g @ layers[n][0].T
        if n:
            g = g * slopes[n - 1]
            g = half(g * by) / by if rounded else g
    return h[-1], np.concatenate(grads), g


def error(a, b):
    a, b = np.asarray(a, np.float64).reshape(-1), np.asarray(b, np.float64).reshape(-1)
    return float(np.linalg.norm(a - b) / max(np.linalg.norm(b), 1e-30)) if a.shape == b.shape and np.isfinite(a).all() else float("inf")


def say(good, text):
    global bad, lines
    lines += 1
    bad += not good
    print(("good " if good else "BAD  ") + text, flush=True)


def source(net):
    return """
import mlp;
typealias Net = %s;
[Differentiable] float[%d] whole(Net net, float x[%d]) { return net.run(x); }
[Differentiable] float[%d] inside(Net net, float x[%d], float gain) {
    x[0] = gain * x[0];
    float y[%d] = net.run(x);
    y[0] = y[0] / (1 + abs(y[0]));
    return y;
}
""" % (net.slang_type, net.outputs, net.inputs, net.outputs, net.inputs, net.outputs)


def path_of(explained):
    line = next(s for s in explained.split("\n") if "network " in s)
    return "engine" if "batch engine" in line else "units" if "matrix units (mma" in line else "plain"


def engine_trains(info, width, depth, bias):
    """Whether the batch engine takes the backward call of a network whose forward call it takes."""
    if width > 64 or depth > 4:
        return False
    major, minor = (int(i) for i in info["driver"].rsplit(" ", 1)[1].split("."))
    staged = ((2 * depth * width + 32) * width + bias * (depth * width + 8) * 4 + 1023) // 1024 * 1024
    team = (width // 32) ** 2
    return (major, minor, width) == (9, 0, 64) or staged + 4 // team * ((depth + 2) * 64 * team * width + 512 * team + 128 * (team > 1)) <= info["max_shared_bytes"]


def check(device, shape, seed):
    inputs, outputs, width, depth, activation, output_activation, bias, dtype, rows = shape
    net = mlp.Network(device, inputs, outputs, width, depth, activation, output_activation, bool(bias), dtype, seed=seed)
    name = "%s, %d rows" % (net.slang_type, rows)
    r = np.random.default_rng(seed)
    p = net.parameters.to_numpy()
    for i, (a, b) in enumerate(net._sizes()):  # biases that are not 0
        if bias:
            at = sum((c + 1) * d for c, d in net._sizes()[:i])
            p[at + a * b:at + (a + 1) * b] = r.standard_normal(b) * 0.3
    net.parameters.copy_from_numpy(p)
    module = spy.Module.load_from_source(device, "calls_%d" % seed, source(net))
    x = half(r.standard_normal((rows, inputs))).astype(np.float32)
    gx = spy.Tensor.from_numpy(device, x).with_grads()
    out = spy.Tensor.from_numpy(device, np.full((rows + 3, outputs), 77, np.float32))
    given = out[:rows]
    explained = path_of(module.whole.explain(net, gx, _result=given))
    expected = "plain" if dtype == "float" or (depth and (width % 16 or width > 128)) else "engine" if (
        width in (32, 64, 128) and 1 <= depth <= 8 and inputs <= width and outputs <= 8 and output_activation == "NoActivation" and activation not in ("SiLU", "Sine")
        and (2 * depth * width + 32) * width + (depth * width + 8) * 4 * bias <= device._info()["max_shared_bytes"]) else "units"
    if rows == 1 and expected == "units":
        expected = "plain"
    module.whole(net, gx, _result=given)
    got = out.to_numpy()
    exact, near = reference(net, p, x, None, False)[0], reference(net, p, x, None, explained != "plain")[0]
    e, f, clean = error(got[:rows], exact), error(got[:rows], near), (got[rows:] == 77).all()
    few = 6 if rows < 64 else 1
    limit = (1e-5 if explained == "plain" else 1e-2) * few
    say(explained == expected and e <= limit and f <= (1e-5 if explained == "plain" else 4e-4) * few and clean,
        "%s: whole by %s: %.1e, rounded alike %.1e%s" % (name, explained, e, f, "" if clean else ", WROTE BEYOND THE END"))
    z = x.astype(np.float64).copy()
    z[:, 0] *= 0.5
    explained = path_of(module.inside.explain(net, gx, 0.5, _result=given))
    module.inside(net, gx, 0.5, _result=given)
    got = out.to_numpy()
    def tone(v):
        v = v.copy()
        v[:, 0] = v[:, 0] / (1 + np.abs(v[:, 0]))
        return v
    exact, near = tone(reference(net, p, z, None, False)[0]), tone(reference(net, p, z, None, explained != "plain")[0])
    e, f, clean = error(got[:rows], exact), error(got[:rows], near), (got[rows:] == 77).all()
    say(explained == ("plain" if expected == "plain" or rows == 1 else "units") and e <= limit and f <= (1e-5 if explained == "plain" else 4e-4) * few and clean,
        "%s: inside by %s: %.1e, rounded alike %.1e%s" % (name, explained, e, f, "" if clean else ", WROTE BEYOND THE END"))
    dy = (r.standard_normal((rows, outputs)) / rows).astype(np.float32)
    zero = np.zeros(p.shape, p.dtype)
    net.parameters.grad_out.copy_from_numpy(zero)
    seeds = spy.Tensor.from_numpy(device, dy)
    engine = expected == "engine" and engine_trains(device._info(), width, depth, bias)
    explained = path_of(module.whole.bwds.explain(net, gx, _result=spy.diffPair(d=seeds)))
    exact, near = (reference(net, p, x, dy.astype(np.float64), how) for how in (False, explained != "plain" and (explained == "units" or "engine")))
    module.whole.bwds(net, gx, _result=spy.diffPair(d=seeds))
    got, dx = net.parameters.grad_out.to_numpy(), gx.grad_out.to_numpy()
    tight = 2e-5 if explained == "plain" else 2e-3
    if dtype == "half":
        tight = 3e-2  # the sums of gradients are half
    g = (error(got, near[1]), error(dx, near[2]), error(got, exact[1]), error(dx, exact[2]))
    path = "engine" if engine else "plain" if expected == "plain" or rows == 1 else "units"
    say(explained == path and g[0] <= tight and g[1] <= (2e-5 if explained == "plain" else 2e-3), "%s: gradients by %s: rounded alike %.1e, of x %.1e; exact %.1e, %.1e" % ((name, explained) + g))


def timed(device, record, launches=12, rounds=7):
    """Median us of one launch: `launches` recorded once and replayed, on the GPU's clock."""
    record(None, 0)
    pool = device.create_query_pool(count=2)
    encoder = device.create_command_encoder()
    encoder.write_timestamp(pool, 0)
    for i in range(launches):
        record(encoder, i)
    encoder.write_timestamp(pool, 1)
    recording, times = encoder.finish(), []
    for _ in range(rounds + 2):
        device.submit_command_buffer(recording)
        device.wait_for_idle()
        a, b = pool.get_timestamp_results(0, 2)
        times.append((b - a) * 1e6 / launches)
    return statistics.median(times[2:])


def call(function, encoder, *args, **named):
    if encoder is None:
        function(*args, **named)
    else:
        function.append_to(encoder, *args, **named)


def time_all(device, seconds):
    quick = bool(os.environ.get("SPY_QUICK"))  # a try without a GPU
    for width in (64, 32, 128):
        for dtype in ("half", "mixed"):
            net = mlp.Network(device, width, 8, width, 3, "ReLU", dtype=dtype)
            module = spy.Module.load_from_source(device, "times_%d_%s" % (width, dtype), source(net) + """
[Differentiable] float loss(Net net, float x[%d], no_diff float target[8]) { return l2_loss(net.run(x), target); }
[Differentiable] float[8] encoded(Net net, float2 p) {
    float x[%d] = FrequencyEncoding<2, %d>.run({ p.x, p.y });
    float y[8] = net.run(x);
    for (int i = 0; i < 8; ++i) y[i] = y[i] / (1 + abs(y[i]));
    return y;
}
""" % (width, width, width // 4))
            for rows in ((1 << 20, 1 << 14, 1 << 10) if not quick else (1 << 11,)):
                if time.time() - START > seconds:
                    print("left out: W %d %s %d rows" % (width, dtype, rows), flush=True)
                    continue
                r = np.random.default_rng(2)
                base = r.standard_normal((min(rows, 1 << 16), width)).astype(np.float16)
                whole = np.tile(base, (max(rows >> 16, 1), 1))
                result = spy.Tensor.empty(device, (rows, 8), "float")
                xs = [spy.Tensor.from_numpy(device, np.roll(whole, i, 0)) for i in range(2)]
                fs = [spy.Tensor.from_numpy(device, np.roll(whole, i, 0).astype(np.float32)) for i in range(2)]
                ps = spy.Tensor.from_numpy(device, whole[:, :2].astype(np.float32))
                ts = spy.Tensor.from_numpy(device, np.ascontiguousarray(whole[:, :8]).astype(np.float32))
                def one(text, run):
                    try:
                        print("time  W %3d %-5s batch %7d %-34s %8.1f us" % (width, dtype, rows, text, timed(device, run)), flush=True)
                    except Exception as problem:
                        say(False, "time W %d %s %d %s: %s" % (width, dtype, rows, text, str(problem)[:300]))
                one("whole, x half", lambda e, i: call(module.whole, e, net, xs[i % 2], _result=result))
                one("whole, x float", lambda e, i: call(module.whole, e, net, fs[i % 2], _result=result))
                one("inside, x half", lambda e, i: call(module.inside, e, net, xs[i % 2], 0.5, _result=result))
                one("inside, x float", lambda e, i: call(module.inside, e, net, fs[i % 2], 0.5, _result=result))
                one("encoded, of float2", lambda e, i: call(module.encoded, e, net, ps, _result=result))
                if rows == 1 << 20 or quick:
                    for group in (64, 128, 256):  # 64 is what the library chooses
                        f = module.inside.thread_group_size(group)
                        one("inside, x half, groups of %d" % group, lambda e, i: call(f, e, net, xs[i % 2], 0.5, _result=result))
                one("gradient (bwds), x half", lambda e, i: call(module.loss.bwds, e, net, xs[i % 2], ts, _result=spy.diffPair(d=1 / rows)))
                if dtype == "mixed":
                    adam = mlp.Adam(net, 1e-5)

                    def step(e, i):
                        call(module.loss.bwds, e, net, xs[i % 2], ts, _result=spy.diffPair(d=1 / rows))
                        adam.step(e)
                    one("bwds and Adam, x half", step)
    if time.time() - START < seconds:  # what the plain loops take
        net = mlp.Network(device, 64, 8, 64, 3, "ReLU")
        module = spy.Module.load_from_source(device, "times_plain", source(net))
        rows = 1 << 16 if not quick else 1 << 8
        x, result = spy.Tensor.from_numpy(device, np.zeros((rows, 64), np.float32)), spy.Tensor.empty(device, (rows, 8), "float")
        print("time  W  64 float batch %7d plain loops %8.1f us" % (rows, timed(device, lambda e, i: call(module.whole, e, net, x, _result=result), 2, 3)), flush=True)


def time_gradients(device, seconds):
    """Backward calls of the three widths: by the loss, by a function that is nothing but the network, in a training step; the batch engine's step beside them."""
    from slangpy.mlp_batch import BatchNetwork
    quick = bool(os.environ.get("SPY_QUICK"))
    for width in (32, 64, 128):
        for rows in ((1 << 20, 1 << 14, 1 << 10) if not quick else (1 << 9,)):
            if time.time() - START > seconds:
                print("left out: gradients W %d %d rows" % (width, rows), flush=True)
                continue
            net = mlp.Network(device, width, 8, width, 3, "ReLU", dtype="mixed")
            module = spy.Module.load_from_source(device, "gradients_%d" % width, source(net) + """
[Differentiable] float loss(Net net, float x[%d], no_diff float target[8]) { return l2_loss(net.run(x), target); }
""" % width)
            r = np.random.default_rng(2)
            x = spy.Tensor.from_numpy(device, np.tile(r.standard_normal((min(rows, 1 << 16), width)).astype(np.float16), (max(rows >> 16, 1), 1)))
            gx = spy.Tensor.from_numpy(device, x.to_numpy()).with_grads()
            target, seeds = spy.Tensor.zeros(device, (rows, 8), "float"), spy.Tensor.from_numpy(device, np.full((rows, 8), 1 / rows, np.float32))
            result, adam = spy.Tensor.empty(device, (rows, 8), "float"), mlp.Adam(net, 1e-5)
            engine = BatchNetwork.of(net)
            half_target = spy.Tensor.zeros(device, (rows, 8), "half")

            def step(e, i):
                call(module.loss.bwds, e, net, x, target, _result=spy.diffPair(d=1 / rows))
                adam.step(e)
            for text, run in (("inside, forward", lambda e, i: call(module.inside, e, net, x, 0.5, _result=result)),
                              ("loss.bwds", lambda e, i: call(module.loss.bwds, e, net, x, target, _result=spy.diffPair(d=1 / rows))),
                              ("whole.bwds", lambda e, i: call(module.whole.bwds, e, net, x, _result=spy.diffPair(d=seeds))),
                              ("whole.bwds, of x too", lambda e, i: call(module.whole.bwds, e, net, gx, _result=spy.diffPair(d=seeds))),
                              ("loss.bwds and Adam", step),
                              ("BatchNetwork.step", lambda e, i: engine.step(x, half_target, 1e-5, command_encoder=e))):
                try:
                    print("time  W %3d mixed batch %7d %-34s %8.1f us" % (width, rows, text, timed(device, run)), flush=True)
                except Exception as problem:
                    say(False, "time W %d %d %s: %s" % (width, rows, text, str(problem)[:300]))
            path = next(s for s in module.loss.bwds.explain(net, x, target, _result=spy.diffPair(d=1 / rows)).split("\n") if "network " in s)
            say("each group sums" in path, "W %d: %s" % (width, path.strip()))
            for what in (x, gx):
                path = path_of(module.whole.bwds.explain(net, what, _result=spy.diffPair(d=seeds)))
                say((path == "engine") == engine_trains(device._info(), width, 3, 0), "W %d: whole.bwds%s by %s" % (width, " of x too" if what is gx else "", path))


def first_step(width):
    """The first training step of this process."""
    start = time.time()
    device = spy.create_device(spy.DeviceType.cuda)
    made = time.time()
    net = mlp.Network(device, width, 8, width, 3, "ReLU", dtype="mixed", seed=1)
    module = spy.Module.load_from_source(device, "first_%d" % width, source(net) + """
[Differentiable] float loss(Net net, float x[%d], no_diff float target[8]) { return l2_loss(net.run(x), target); }
""" % width)
    x, target = spy.Tensor.from_numpy(device, np.ones((1 << 14, width), np.float16)), spy.Tensor.zeros(device, (1 << 14, 8), "float")
    adam = mlp.Adam(net, 1e-3)
    module.loss.bwds(net, x, target, _result=spy.diffPair(d=1 / 16384))
    adam.step()
    device.wait_for_idle()
    print("start W %3d: device %.2f s, first step %.2f s" % (width, made - start, time.time() - made), flush=True)


def compile_times():
    device = spy.create_device(spy.DeviceType.cuda)
    for kind in ("float", "mixed"):
        for width in (32, 64, 128):
            net = mlp.Network(device, width, 8, width, 3, "ReLU", dtype=kind, seed=1)
            module = spy.Module.load_from_source(device, "compile_%s_%d" % (kind, width), source(net))
            x, seeds = spy.Tensor.zeros(device, (4096, width), "float"), spy.Tensor.zeros(device, (4096, 8), "float")
            took = []
            for run in (lambda: module.whole(net, x), lambda: module.inside(net, x, 0.5), lambda: module.whole.bwds(net, x, _result=spy.diffPair(d=seeds))):
                start = time.time()
                run()
                device.wait_for_idle()
                took.append(time.time() - start)
            say(max(took[:2]) <= (1 if kind == "float" else 2) and took[2] <= 6, "compile W %3d %s: whole %.2f s, inside %.2f s, backward %.2f s" % (width, kind, *took))


def time_start():
    with tempfile.TemporaryDirectory() as folder:
        for width in (32, 64, 128):
            for which, limit in (("cold", 4), ("warm", 0.3)):
                done = subprocess.run([sys.executable, os.path.abspath(__file__), "--step", str(width)], env=dict(os.environ, SLANGPY_CACHE=folder), capture_output=True, text=True)
                line = (done.stdout.strip().split("\n") or [""])[-1]
                good = done.returncode == 0 and line.startswith("start") and float(line.split()[-2]) <= limit
                say(good, "%s %s" % (which, line or done.stderr[-300:]))
    compile_times()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("words", nargs="*", choices=["check", "time", "gradients", "start", []])
    parser.add_argument("--jobs", type=int, default=8)
    parser.add_argument("--part", default="")
    parser.add_argument("--step", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=110)
    given = parser.parse_args()
    words = given.words or ["check", "time"]
    if given.step:
        first_step(given.step)
        return False
    if given.part:  # a process of its own: some of the shapes
        part, parts = (int(n) for n in given.part.split("/"))
        device = spy.create_device(spy.DeviceType.cuda)
        for number, shape in list(enumerate(shapes()))[part::parts]:
            if time.time() - START > given.seconds:
                print("left out: %s" % (shape,), flush=True)
                continue
            try:
                check(device, shape, number)
            except Exception as problem:  # the other shapes still run
                say(False, "%s: %s" % (shape, str(problem)[:600]))
        return bad != 0
    failed = False
    if "check" in words:
        run = [subprocess.Popen([sys.executable, os.path.abspath(__file__), "check", "--part", "%d/%d" % (i, given.jobs), "--seconds", str(given.seconds * 0.6)],
                                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) for i in range(given.jobs)]
        output = [p.communicate()[0] for p in run]
        text = "".join(output).split("\n")
        counts = [sum(s.startswith(w) for s in text) for w in ("good", "BAD", "left out")]
        print("\n".join(s for s in text if not s.startswith("good")))
        print("\n".join(s for s in text if s.startswith("good"))[:4000] if os.environ.get("SPY_VERBOSE") else "\n".join([s for s in text if s.startswith("good")][:6]))
        print("calls: %d good, %d BAD, %d left out of %d shapes, %.0f s" % (*counts, len(shapes()), time.time() - START), flush=True)
        failed = counts[1] > 0 or counts[2] > 0 or counts[0] == 0
    if "gradients" in words:
        time_gradients(spy.create_device(spy.DeviceType.cuda), given.seconds)
    if "start" in words:
        time_start()
    if "time" in words:
        time_all(spy.create_device(spy.DeviceType.cuda), given.seconds)
    print("calls.py: %s, %.0f s" % ("something is BAD" if failed or bad else "all good", time.time() - START))
    return failed or bad != 0


if __name__ == "__main__":
    sys.exit(main())

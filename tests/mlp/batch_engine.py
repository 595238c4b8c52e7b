"""The batch engine (slangpy.mlp_batch) on a GPU: numbers against float64, the same bits in each run, and times beside torch.

    python3 tests/mlp/batch_engine.py [check] [time] [torch] [tune] [vulkan] [--seconds 170]

Without words: the first three. vulkan: numbers and times of the forward pass by Vulkan's cooperative matrices, beside CUDA's times. tune: times of other numbers of warps than those of mlp_batch._SHAPES. Each line of "check" begins with good or BAD; the last line says how many were bad. Lines that a time
limit left out are counted there too.
"""
import argparse
import os
import statistics
import sys
import time

import numpy as np

import slangpy as spy

from slangpy import mlp_batch
from slangpy.mlp_batch import BatchNetwork

START = time.time()
QUICK = bool(os.environ.get("SPY_QUICK")) # a try without a GPU
CASES = [  # width, depth, inputs, outputs, rows, options
    (32, 3, 32, 8, 4096, {}), (64, 3, 64, 8, 4096, {}), (128, 3, 128, 8, 4096, {}),
    (64, 3, 64, 8, 4133, {"bias": True, "dtype": "float"}), (32, 2, 32, 3, 999, {"bias": True, "dtype": "float"}),
    (128, 2, 128, 5, 777, {"bias": True, "dtype": "float"}), (64, 1, 64, 8, 64, {}), (32, 1, 16, 1, 1, {"dtype": "float"}),
    (64, 2, 17, 3, 1001, {"dtype": "float"}), (64, 4, 24, 8, 515, {"bias": True}), (32, 4, 9, 7, 2049, {"bias": True, "dtype": "float"}),
    (128, 5, 96, 4, 300, {"bias": True, "dtype": "float"}), (64, 2, 64, 8, 1000, {"activation": "leaky_relu", "bias": True, "dtype": "float"}),
    (64, 2, 32, 4, 1000, {"activation": "sigmoid", "bias": True, "dtype": "float"}), (32, 3, 32, 8, 1000, {"activation": "tanh", "bias": True, "dtype": "float"}),
    (64, 3, 64, 8, 3000, {"input_gradient": True, "dtype": "float"}), (64, 3, 40, 3, 3000, {"input_gradient": True, "bias": True, "dtype": "float"}),
    (32, 3, 32, 3, 3000, {"input_gradient": True, "bias": True, "dtype": "float"}), (32, 2, 10, 3, 100, {"input_gradient": True, "dtype": "float"}),
    (64, 3, 64, 3, 2000, {"loss": "l1", "dtype": "float"}), (64, 3, 64, 3, 2000, {"loss": "relative_l2", "dtype": "float"}),
    (128, 3, 50, 3, 500, {"input_gradient": True, "bias": True, "dtype": "float"}), (128, 2, 128, 8, 700, {"input_gradient": True, "bias": True}),
    (32, 3, 32, 3, 2000, {"loss": "huber", "dtype": "float"}), (64, 3, 64, 3, 2000, {"loss": "given", "dtype": "float"}),
    (64, 3, 64, 8, 200000, {"bias": True, "dtype": "float"}), (32, 3, 32, 8, 200000, {}),
]
COOPERATIVE_CASES = [c for c in CASES if "loss" not in c[5] and "input_gradient" not in c[5]] + [
    (48, 2, 17, 3, 1001, {"bias": True, "dtype": "float", "activation": "tanh"}), (16, 1, 40, 16, 4133, {"bias": True, "activation": "sigmoid"}),
    (1, 1, 1, 1, 33, {"bias": True, "dtype": "float"}), (100, 3, 77, 9, 515, {"bias": True, "activation": "leaky_relu"}), (64, 8, 64, 8, 5000, {"bias": True}),
    (32, 2, 48, 13, 100001, {"activation": "none"}), (128, 1, 128, 16, 70000, {"bias": True, "dtype": "float"}), (128, 4, 20, 5, 2049, {"bias": True})]
COOPERATIVE_TIMES = {32: 50, 64: 106, 128: 413}  # us at 2^20 rows: 1.6 times CUDA's mma on an H100
TIMES = {"forward": {32: (25, 26), 64: (46, 70), 128: (160, 260)}, "step": {32: (80, 85), 64: (165, 250), 128: (600, None)}}  # us, wgmma and mma
bad = lines = left_out = 0


def say(good, text):
    global bad, lines
    lines += 1
    bad += not good
    print(("good " if good else "BAD  ") + text, flush=True)


# >>float64

def activation(name, v):
    return {"none": v, "relu": np.maximum(v, 0), "leaky_relu": np.where(v > 0, v, 0.01 * v), "sigmoid": 1 / (1 + np.exp(-v)), "tanh": np.tanh(v)}[name]


def slope(name, h):
    return {"none": np.ones_like(h), "relu": (h > 0) * 1.0, "leaky_relu": np.where(h > 0, 1, 0.01), "sigmoid": h * (1 - h), "tanh": 1 - h * h}[name]


def layers_of(flat, net):
    """[(weights (outputs, inputs), biases or None, first number, number behind)] of the flat parameters."""
    layers, at = [], 0
    for layer in range(net.depth + 1):
        i, o, first = net.width if layer else net.inputs, net.width if layer < net.depth else net.outputs, at
        w = flat[at:at + i * o].reshape(i, o).T
        at += i * o
        b = flat[at:at + o] if net.bias else None
        at += o if net.bias else 0
        layers.append((w, b, first, at))
    return layers


def half(v):
    return v.astype(np.float16).astype(np.float64)


def reference(net, flat, x, t, rounded=False):
    """Outputs, the loss's mean, gradients of the flat parameters, and of x. rounded: activations and gradients become half where
    the kernels make them half; the sums stay float64."""
    def store(v):
        return half(v) if rounded else v
    layers = layers_of(flat, net)
    layers = [(w.astype(np.float16).astype(np.float64), None if b is None else b.astype(np.float64)) for w, b, _, _ in layers]  # the kernels' weights are half
    h = [x.astype(np.float64)]
    for n, (w, b) in enumerate(layers):
        v = h[-1] @ w.T + (0 if b is None else b)
        h.append(store(activation(net.activation, v)) if n < net.depth else v)
    y = h.pop()
    if t is None:
        return y, None, None, None
    e = y - t.astype(np.float64)
    n = y.size
    if net.loss == "l2":
        value, g = (e * e).sum() / n, 2 * e / n
    elif net.loss == "l1":
        value, g = np.abs(e).sum() / n, np.sign(e) / n
    elif net.loss == "relative_l2":
        value, g = (e * e / (y * y + 0.01)).sum() / n, 2 * e / (y * y + 0.01) / n
    elif net.loss == "huber":
        value, g = np.where(np.abs(e) <= 1, 0.5 * e * e, np.abs(e) - 0.5).sum() / n, np.clip(e, -1, 1) / n
    else:
        value, g = 0.0, t.astype(np.float64)
    grads = []
    many = 1 if net.loss == "given" else y.size  # the kernels divide at the end
    biases = g
    for n in range(net.depth, -1, -1):
        w = layers[n][0]
        g = store(g * many) / many
        if n < net.depth:
            biases = g
        gw = g.T @ h[n]
        grads.append(gw.T.reshape(-1))
        if net.bias:
            grads[-1] = np.concatenate([grads[-1], biases.sum(0)])
        g = g @ w
        if n:
            g = g * slope(net.activation, h[n])
    return y, value, np.concatenate(grads[::-1]), g


def error(a, b):
    a, b = np.asarray(a, np.float64), np.asarray(b, np.float64)
    if a.shape != b.shape or not np.isfinite(a).all():
        return float("inf")
    return float(np.linalg.norm(a - b) / max(np.linalg.norm(b), 1e-30))


# >>checks

def initial(net, seed):
    r = np.random.default_rng(seed)
    flat = np.zeros(net.parameter_count, np.float32)
    for w, b, first, end in layers_of(flat, net):  # views into flat
        w[...] = r.standard_normal(w.shape) * (2 / w.shape[1]) ** 0.5
        if b is not None:
            b[...] = r.standard_normal(b.shape) * 0.3
    return flat


def tensor(device, array):
    t = spy.Tensor.empty(device, array.shape, {"float16": "half", "float32": "float"}[array.dtype.name])
    t.copy_from_numpy(array)
    return t


def check(device, engine, width, depth, inputs, outputs, rows, options, seed):
    name = "%s W %d depth %d, %d -> %d, %d rows %s" % (engine, width, depth, inputs, outputs, rows, " ".join("%s=%s" % i for i in options.items()))
    try:
        net = BatchNetwork(device, inputs, outputs, width, depth, engine=engine, **options)
    except ValueError as problem:
        return say(False, "%s: %s" % (name, problem))
    flat = initial(net, seed)
    r = np.random.default_rng(seed + 1)
    io = np.float32 if net.dtype == "float" else np.float16
    x = r.standard_normal((rows, inputs)).astype(np.float16).astype(io)
    t = r.standard_normal((rows, outputs)).astype(io)
    net.parameters.copy_from_numpy(flat)
    net.pack()
    gx, gt = tensor(device, x), tensor(device, t)
    y, value, grads, dx = reference(net, flat, x, t)
    near_y, _, near, near_dx = reference(net, flat, x, t, True)
    gy = spy.Tensor.empty(device, (rows + 3, outputs), "float" if net.dtype == "float" else "half")
    gy.copy_from_numpy(np.full((rows + 3, outputs), 77, io))
    net.forward(gx, gy)
    got = gy.to_numpy()
    e, f = error(got[:rows], y), error(got[:rows], near_y)
    # What the kernels round is half; how much that is depends on the depth. With the same rounding little is left: the order of the
    # sums, and an activation of all but zero may fall on the other side.
    clean = (got[rows:] == 77).all()
    say(e <= 2.5e-4 * (depth + 1) * (1 if rows >= 64 else 6) and f <= (1e-4 if net.dtype == "float" else 3.5e-4) and clean,
        "%s: forward %.2e, rounded alike %.1e%s" % (name, e, f, "" if clean else ", WROTE BEYOND THE END"))
    if True not in net.engines:
        return None
    out = spy.Tensor.zeros(device, (rows + 3, inputs), "float") if net.input_gradient else None
    if out is not None:
        out.copy_from_numpy(np.full((rows + 3, inputs), 77, np.float32))
    up = 1.0
    net.gradients.copy_from_numpy(np.full(net.parameter_count + 1, np.nan, np.float32))
    net.gradient(gx, gt, out, up)
    first = net.gradients.to_numpy()
    per = [error(first[a:b], grads[a:b]) for _, _, a, b in layers_of(flat, net)]
    per_near = [error(first[a:b], near[a:b]) for _, _, a, b in layers_of(flat, net)]
    loss = abs(first[-1] - value) / max(abs(value), 1e-30) if net.loss != "given" else abs(first[-1])
    text = "%s: gradients %.2e, layers %s, rounded alike %s, loss %.1e" % (
        name, error(first[:-1], grads), " ".join("%.1e" % p for p in per), " ".join("%.1e" % p for p in per_near), loss)
    good = max(per) <= (1e-1 if rows < 1000 else 3e-2 if rows < 10000 else 3e-3) and max(per_near) <= (6e-3 if rows < 10000 else 2e-3) and loss <= (1e-2 if rows < 64 or net.loss == "relative_l2" else 1e-4)
    if out is not None:
        whole = out.to_numpy()
        e, f = error(whole[:rows], dx), error(whole[:rows], near_dx)
        good = good and e <= 1e-1 and f <= 2e-3 and (whole[rows:] == 77).all()
        text += ", of x %.1e, rounded alike %.1e" % (e, f)
    same = True
    for _ in range(3):
        net.gradients.copy_from_numpy(np.full(net.parameter_count + 1, np.nan, np.float32))
        net.gradient(gx, gt, out, up)
        same = same and net.gradients.to_numpy().tobytes() == first.tobytes()
    say(good and same, text + (", same bits" if same else ", OTHER BITS in another run"))
    return None


def check_training(device, engine, width, rows=5000, more=200):
    """Three steps of Adam against numpy with the kernels' own gradients, that the weights of the kernels follow, and a loss that falls."""
    net = BatchNetwork(device, 16, 3, width, 2, bias=True, dtype="float", engine=engine)
    flat = initial(net, 5)
    net.parameters.copy_from_numpy(flat)
    net.pack()
    r = np.random.default_rng(6)
    x = r.standard_normal((rows, 16)).astype(np.float16).astype(np.float32)
    t = np.sin(x[:, :3].astype(np.float32))
    gx, gt = tensor(device, x), tensor(device, t)
    m, v = np.zeros_like(flat, np.float64), np.zeros_like(flat, np.float64)
    p = flat.astype(np.float64)
    losses = []
    for step in range(1, 4):
        net.step(gx, gt, 1e-2)
        g = net.gradients.to_numpy().astype(np.float64)
        losses.append(g[-1])
        m, v = 0.9 * m + 0.1 * g[:-1], 0.999 * v + 0.001 * g[:-1] ** 2
        p -= 1e-2 * (m / (1 - 0.9 ** step)) / (np.sqrt(v / (1 - 0.999 ** step)) + 1e-8)
    got = net.parameters.to_numpy()
    e = error(got, p)
    y = reference(net, got, x, None)[0]
    f = error(net.forward(gx).to_numpy(), y)
    say(e <= 1e-5 and f <= 6e-4, "%s W %d: three steps of Adam %.1e, forward after them %.1e" % (engine, width, e, f))
    encoder = device.create_command_encoder()
    net.step(gx, gt, 1e-2, command_encoder=encoder)
    recording = encoder.finish()
    for _ in range(more):
        device.submit_command_buffer(recording)
    last = float(net.gradients.to_numpy()[-1])
    if more:
        say(last < 0.05 * losses[0] and net.steps == 3 + more, "%s W %d: loss %.3f -> %.5f after %d steps, the last %d of them a recording" % (engine, width, losses[0], last, net.steps, more))
    before = net.parameters.to_numpy()
    t[7, 1] = np.nan
    net.step(gx, tensor(device, t), 1e-2)
    after, loss = net.parameters.to_numpy(), net.gradients.to_numpy()[-1]
    try:
        net.check()
        named = "nothing"
    except spy.Error as problem:
        named = str(problem)
    net.check()  # says it once
    say(np.isnan(loss) and before.tobytes() == after.tobytes() and "step %d had a loss" % (net.steps + 1) in named,
        "%s W %d: a loss that is not finite changes no parameter: %s" % (engine, width, named))


def check_shared(device):
    """groupshared variables of 96 KB, and beside them 40 KB of shared_bytes."""
    source = """
groupshared uint many[24000];
void need() { __requirePrelude("extern __shared__ unsigned user_room[];"); }
uint get(uint at) { __intrinsic_asm "user_room[$0]"; }
void put(uint at, uint v) { __intrinsic_asm "user_room[$0] = $1"; }
[shader("compute")] [numthreads(256, 1, 1)] void turn(uint3 id : SV_GroupThreadID, uniform uint *p) {
    need();
    for (uint i = id.x; i < 24000; i += 256) many[i] = p[i];
    for (uint i = id.x; i < 10000; i += 256) put(i, p[24000 + i]);
    AllMemoryBarrierWithGroupSync();
    for (uint i = id.x; i < 24000; i += 256) p[i] = many[23999 - i];
    for (uint i = id.x; i < 10000; i += 256) p[24000 + i] = get(9999 - i);
}
"""
    f = spy.Module.load_from_source(device, "large_groups", source).find_function("turn")
    numbers = np.arange(34000, dtype=np.uint32) * 7
    p = spy.Tensor.empty(device, (34000,), "uint")
    p.copy_from_numpy(numbers)
    f.shared_bytes(40000).dispatch([256, 1, 1], p=p)
    say(bool((p.to_numpy() == np.concatenate([numbers[:24000][::-1], numbers[24000:][::-1]])).all()), "136 KB of shared memory in a group")


# >>times

def timed(device, record, launches=24, rounds=9):
    """Median us of one launch: `launches` recorded once and replayed, on the GPU's clock."""
    record(None, 0)  # compiles
    pool = device.create_query_pool(count=2)
    encoder = device.create_command_encoder()
    encoder.write_timestamp(pool, 0)
    for i in range(launches):
        record(encoder, i)
    encoder.write_timestamp(pool, 1)
    recording = encoder.finish()
    times = []
    for i in range(rounds + 2):
        device.submit_command_buffer(recording)
        device.wait_for_idle()
        a, b = pool.get_timestamp_results(0, 2)
        times.append((b - a) * 1e6 / launches)
    return statistics.median(times[2:])


def time_all(device):
    for width in (32, 64, 128):
        for engine in ("wgmma", "mma"):
            for rows in ((1 << 20, 1 << 14, 1 << 10) if not QUICK else (1 << 14,)):
                try:
                    t0 = time.time()
                    net = BatchNetwork(device, width, 8, width, 3, engine=engine)
                    net.parameters.copy_from_numpy(initial(net, 1))
                    net.pack()
                    r = np.random.default_rng(2)
                    base = r.standard_normal((1 << 16, width)).astype(np.float16)
                    xs = [tensor(device, np.tile(np.roll(base, i, 0), (max(rows >> 16, 1), 1))[:rows]) for i in range(3)]
                    ts = [tensor(device, np.tile(np.roll(base[:, :8], i, 0), (max(rows >> 16, 1), 1))[:rows]) for i in range(3)]
                    y = spy.Tensor.empty(device, (rows, 8), "half")
                    us = timed(device, lambda e, i: net.forward(xs[i % 3], y, command_encoder=e))
                    bar = TIMES["forward"][width][engine == "mma"] if rows == 1 << 20 else None
                    print("time  W %3d %-5s forward batch %7d: %7.1f us%s" % (width, engine, rows, us, "" if bar is None else "  bar %d %s" % (bar, "met" if us <= bar else "MISSED")), flush=True)
                    if True in net.engines:
                        us = timed(device, lambda e, i: net.step(xs[i % 3], ts[i % 3], command_encoder=e))
                        bar = TIMES["step"][width][engine == "mma"] if rows == 1 << 20 else None
                        print("time  W %3d %-5s step    batch %7d: %7.1f us%s" % (width, engine, rows, us, "" if bar is None else "  bar %d %s" % (bar, "met" if us <= bar else "MISSED")), flush=True)
                except Exception as problem:
                    say(False, "time W %d %s batch %d: %r" % (width, engine, rows, problem))


def time_forward(device, engine, width, bar, rows=1 << 20):
    net = BatchNetwork(device, width, 8, width, 3, engine=engine)
    net.parameters.copy_from_numpy(initial(net, 1))
    net.pack()
    base = np.random.default_rng(2).standard_normal((1 << 16, width)).astype(np.float16)
    xs = [tensor(device, np.tile(np.roll(base, i, 0), (rows >> 16, 1))) for i in range(3)]
    y = spy.Tensor.empty(device, (rows, 8), "half")
    us = timed(device, lambda e, i: net.forward(xs[i % 3], y, command_encoder=e))
    print("time  W %3d %s forward batch %d: %.1f us%s" % (width, net.explain().split("\n")[0], rows, us, "" if bar is None else "  bar %d %s" % (bar, "met" if us <= bar else "MISSED")), flush=True)


def vulkan(seconds):
    """The forward pass by cooperative matrices, with inputs converted from sums where the device can, and through groupshared memory."""
    global left_out
    device = spy.create_device(spy.DeviceType.vulkan)
    print(device._info()["name"], "|", device._info()["driver"], "| groupshared", device._info()["max_groupshared_bytes"], "| cooperative_matrix",
          device.has_feature("cooperative_matrix"), "conversions", device.has_feature("cooperative_matrix2"), flush=True)
    if not device.has_feature("cooperative_matrix"):
        return say(False, "the device has no cooperative matrices: nothing was checked")
    usual = BatchNetwork._converts
    forms = [usual, lambda self: False] if device.has_feature("cooperative_matrix2") else [usual]
    for form in forms:
        BatchNetwork._converts = form
        for width in (32, 64, 128):
            try:
                time_forward(device, "cooperative", width, COOPERATIVE_TIMES[width] if form is usual else None)
            except Exception as problem:
                say(False, "time W %d: %r" % (width, problem))
    try:
        with spy.create_device(spy.DeviceType.cuda) as other:
            for width in (32, 64, 128):
                time_forward(other, "mma", width, None)
    except Exception as problem:  # Vulkan's numbers still run
        print("CUDA's times: %s" % str(problem)[:200], flush=True)
    for number, case in enumerate(COOPERATIVE_CASES):
        for form in forms:
            BatchNetwork._converts = form
            if time.time() - START > seconds:
                left_out += 1
                continue
            try:
                check(device, "cooperative", *case, seed=10 * number)
            except Exception as problem:  # the other cases still run
                say(False, "cooperative %s: %r" % (case, problem))
    BatchNetwork._converts = usual
    return None


def tune(device):
    rows = 1 << 20
    for engine, width, forward, training, resident in (
            ("wgmma", 32, 16, 0, 2), ("wgmma", 32, 12, 0, 3), ("wgmma", 32, 8, 0, 4), ("wgmma", 32, 32, 0, 1),
            ("wgmma", 64, 16, 8, 1), ("wgmma", 64, 20, 12, 1), ("wgmma", 64, 24, 4, 2), ("wgmma", 64, 12, 8, 2), ("wgmma", 64, 8, 8, 3),
            ("wgmma", 128, 12, 8, 1), ("wgmma", 128, 8, 8, 2), ("mma", 32, 4, 12, 8), ("mma", 32, 8, 8, 4), ("mma", 32, 4, 11, 9), ("mma", 64, 4, 8, 4), ("mma", 64, 8, 8, 2)):
        before = mlp_batch._SHAPES[engine, width]
        mlp_batch._SHAPES[engine, width] = (forward, training, resident)
        try:
            net = BatchNetwork(device, width, 8, width, 3, engine=engine)
            net.parameters.copy_from_numpy(initial(net, 1))
            net.pack()
            base = np.random.default_rng(2).standard_normal((1 << 16, width)).astype(np.float16)
            xs = [tensor(device, np.tile(np.roll(base, i, 0), (16, 1))) for i in range(3)]
            ts = [tensor(device, np.tile(np.roll(base[:, :8], i, 0), (16, 1))) for i in range(3)]
            y = spy.Tensor.empty(device, (rows, 8), "half")
            us = timed(device, lambda e, i: net.forward(xs[i % 3], y, command_encoder=e))
            text = "tune  W %3d %-5s forward of %2d warps, %d groups a multiprocessor: %6.1f us" % (width, engine, forward, resident, us)
            if True in net.engines:
                us = timed(device, lambda e, i: net.step(xs[i % 3], ts[i % 3], command_encoder=e))
                text += ", step of %2d warps: %6.1f us" % (training, us)
            print(text, flush=True)
        except Exception as problem:  # more threads than the registers allow, or more memory
            print("tune  W %3d %s %d %d %d: %s" % (width, engine, forward, training, resident, str(problem)[:200]), flush=True)
        mlp_batch._SHAPES[engine, width] = before


def time_torch():
    try:
        import torch
        from torch import nn
    except ImportError:
        print("torch is not installed: skipped", flush=True)
        return
    for width in (32, 64, 128):
        net = nn.Sequential(*[m for _ in range(3) for m in (nn.Linear(width, width, bias=False), nn.ReLU())], nn.Linear(width, 8, bias=False)).cuda().to(torch.bfloat16)
        x, y = torch.randn(1 << 20, width, device="cuda", dtype=torch.bfloat16), torch.randn(1 << 20, 8, device="cuda", dtype=torch.bfloat16)
        optimizer = torch.optim.Adam(net.parameters(), fused=True)

        def forward():
            with torch.no_grad():
                net(x)

        def step():
            optimizer.zero_grad(set_to_none=True)
            ((net(x) - y) ** 2).mean().backward()
            optimizer.step()

        for name, run in (("forward", forward), ("step", step)):
            for _ in range(5):
                run()
            torch.cuda.synchronize()
            times = []
            for _ in range(7):
                a = time.perf_counter()
                for _ in range(20):
                    run()
                torch.cuda.synchronize()
                times.append((time.perf_counter() - a) / 20 * 1e6)
            print("time  W %3d torch eager bf16 %-7s batch 1048576: %7.1f us" % (width, name, statistics.median(times)), flush=True)


def main():
    global left_out
    parser = argparse.ArgumentParser()
    parser.add_argument("words", nargs="*", choices=["check", "time", "torch", "tune", "vulkan", []])
    parser.add_argument("--seconds", type=float, default=170)
    given = parser.parse_args()
    words = given.words or ["check", "time", "torch"]
    if "vulkan" in words:
        vulkan(given.seconds)
    if words == ["vulkan"]:
        print("batch_engine: %d of %d lines bad, %d cases left out, %.0f s" % (bad, lines, left_out, time.time() - START))
        return bad != 0
    device = spy.create_device(spy.DeviceType.cuda)
    print(device._info()["name"], "|", device._info()["driver"], "| multiprocessors", device._info()["multiprocessor_count"], "| shared", device._info()["max_shared_bytes"], flush=True)
    engines = [e for e in ("wgmma", "mma") if e == "mma" or "compute capability 9.0" in device._info()["driver"]]
    if "time" in words:
        time_all(device)
    if "tune" in words:
        tune(device)
    if "torch" in words:
        time_torch()
    if "check" in words:
        try:
            check_shared(device)
        except Exception as problem:
            say(False, "shared memory: %r" % problem)
        for number, case in enumerate(CASES):
            for engine in engines:
                if time.time() - START > given.seconds:
                    left_out += 1
                    continue
                try:
                    check(device, engine, *case, seed=10 * number)
                except Exception as problem:  # the other cases still run
                    say(False, "%s %s: %r" % (engine, case, problem))
        for engine, width in (("wgmma", 64), ("wgmma", 128), ("mma", 64), ("mma", 32)):
            if engine in engines:
                try:
                    check_training(device, engine, width)
                except Exception as problem:
                    say(False, "training %s %d: %r" % (engine, width, problem))
    print("batch_engine: %d of %d lines bad, %d cases left out, %.0f s" % (bad, lines, left_out, time.time() - START))
    return bad != 0


if __name__ == "__main__":
    sys.exit(main())

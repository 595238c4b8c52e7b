#!/usr/bin/env python3
"""rivals.py torch|slangpy [--json FILE] [--quick]: bench.c's works in another library, one library a process.

Neither is a dependency: what is missing is reported as skipped, what fails as failed with its reason, and the exit status is
0. Results are lines of JSON as bench.c writes them, appended to FILE. SlangPy 0.43.1 is looked for in the folder that the
environment's SLANGPY_RIVAL names, which has to be on PYTHONPATH for this process, too: our own package has the same name.
"""
import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

from settle import await_core, settle

HERE = os.path.dirname(os.path.abspath(__file__))
POISON = 77
OUTPUTS = 16
FLOATS = 32
out_file = None
only = []


def emit(item, **fields):
    line = json.dumps({"item": item, **fields})
    print(line, flush=True)
    if out_file:
        with open(out_file, "a", encoding="utf-8") as f:
            f.write(line + "\n")


def report(item, unit, samples, note=""):
    emit(item, unit=unit, value=statistics.median(samples), min=min(samples), max=max(samples), samples=len(samples), note=note)


class Wrong(Exception):
    pass


def attempt(function, *args):
    """One work, if it is wanted; what goes wrong there stays there."""
    item = args[0] if args and isinstance(args[0], str) else None
    if item and only and item not in only:
        return
    try:
        function(*args)
    except Exception as e:  # whatever a rival raises is its result
        text = " ".join(f"{type(e).__name__}: {e}".split())
        emit(item or function.__name__, failed=text[:600])


def sizes(quick):
    side = 1024 if quick else 8192
    return side * side, side, ((31, 63, 127) if quick else (127, 511, 1023))


BRDF_ROUGHNESS, BRDF_LIGHT, BRDF_VIEW = 0.4, (0.48, 0.0, 0.877268), (-0.36, 0.48, 0.8)


def brdf_constants():
    """specular factor, Fresnel power, n_l / pi of bench.slang's brdf"""
    light, view = BRDF_LIGHT, BRDF_VIEW
    h = [light[i] + view[i] for i in range(3)]
    length = sum(x * x for x in h) ** 0.5
    h = [x / length for x in h]
    a2, pi = BRDF_ROUGHNESS**4, 3.14159265358979
    n_l, n_v = light[2], view[2]
    d = h[2] * h[2] * (a2 - 1) + 1
    m = 1 - sum(view[i] * h[i] for i in range(3))
    visibility = 0.5 / (n_l * (n_v * n_v * (1 - a2) + a2) ** 0.5 + n_v * (n_l * n_l * (1 - a2) + a2) ** 0.5)
    return a2 / (pi * d * d) * visibility * n_l, m**5, n_l / pi


# ---- torch, eager, with CUDA events


def run_torch(quick):
    try:
        import torch
    except ImportError as e:
        return emit("device", skipped=f"no torch: {e}")
    if not torch.cuda.is_available():
        return emit("device", skipped="torch sees no CUDA device")
    emit("device", name=torch.cuda.get_device_name(), driver=f"torch {torch.__version__}", cpu=False, quick=quick)
    n, side, (x0, x1, x2) = sizes(quick)
    reps, count = (5, 1000) if quick else (30, 10000)
    gpu = torch.device("cuda")
    torch.manual_seed(1)

    def events(function):
        """milliseconds a call, one by one but queued without waits"""
        begin = time.perf_counter()
        while True:  # an idle GPU needs about 0.3 s to raise its clocks
            for _ in range(3):
                function()
            torch.cuda.synchronize()
            if quick or time.perf_counter() - begin > 0.3:
                break
        pairs = []
        for _ in range(reps):
            a, b = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
            a.record()
            function()
            b.record()
            pairs.append((a, b))
        torch.cuda.synchronize()
        return [a.elapsed_time(b) for a, b in pairs]

    def bandwidth(item, function, result, expected, count_bytes, tolerance=0.0):
        """function(): the work; result(): its tensor; expected(): the right values, computed on the CPU in double"""
        if result() is not None:
            result().fill_(POISON)
        ms = events(function)
        got, want = result().cpu().double(), expected()
        error = (got - want).abs().max().item()
        if not error <= tolerance:
            raise Wrong(f"wrong by {error}")
        report(item, "GB/s", [count_bytes / (t * 1e6) for t in ms], "CUDA events")

    ha, hb = torch.rand(n) * 2 - 1, torch.rand(n) * 2 - 1
    a, b, c = ha.to(gpu), hb.to(gpu), torch.empty(n, device=gpu)
    eps = 2e-7  # one rounding of a sum of at most 2
    attempt(bandwidth, "add", lambda: torch.add(a, b, out=c), lambda: c, lambda: ha.double() + hb.double(), 12 * n, eps)
    attempt(bandwidth, "add_scalar", lambda: torch.add(a, 0.5, out=c), lambda: c, lambda: ha.double() + 0.5, 8 * n, eps)
    # What a device-to-device copy reaches, for the bound column: reads and writes both count.
    attempt(bandwidth, "raw_copy_add", lambda: c.copy_(a), lambda: c, lambda: ha.double(), 8 * n)
    third = 3 * n // 4
    attempt(bandwidth, "raw_copy_brdf", lambda: c[:third].copy_(a[:third]), lambda: c[:third],
            lambda: ha[:third].double(), 8 * third)
    a2, b2, c2 = (t.view(side, side) for t in (a, b, c))
    ha2, hb2 = ha.view(side, side), hb.view(side, side)
    row = b[:side]
    attempt(bandwidth, "row", lambda: torch.add(a2, row, out=c2), lambda: c2,
            lambda: ha2.double() + hb[:side].double(), 8 * n + 4 * side, eps)
    turned = a2.t()
    attempt(bandwidth, "transposed", lambda: torch.add(turned, b2, out=c2), lambda: c2,
            lambda: ha2.t().double() + hb2.double(), 12 * n, eps)
    attempt(bandwidth, "transposed_out", lambda: torch.add(a2, b2, out=c2.t()), lambda: c2,
            lambda: (ha2.double() + hb2.double()).t(), 12 * n, eps)
    odd = side - 1
    a3, b3, c3 = (t[: odd * odd].view(odd, odd) for t in (a, b, c))
    attempt(bandwidth, "transposed_odd", lambda: torch.add(a3.t(), b3, out=c3), lambda: c3,
            lambda: ha[: odd * odd].view(odd, odd).t().double() + hb[: odd * odd].view(odd, odd).double(), 12 * odd * odd, eps)
    ea, eb, front = a[::2], b[::2], c[: n // 2]
    attempt(bandwidth, "strided", lambda: torch.add(ea, eb, out=front), lambda: front,
            lambda: ha[::2].double() + hb[::2].double(), 6 * n, eps)
    hx, hy = torch.rand(x0, 1, x2), torch.rand(1, x1, 1)
    x, y, z = hx.to(gpu), hy.to(gpu), torch.empty(x0, x1, x2, device=gpu)
    attempt(bandwidth, "odd_broadcast", lambda: torch.add(x, y, out=z), lambda: z, lambda: hx.double() + hy.double(),
            4 * (x0 * x1 * x2 + x0 * x2 + x1), eps)
    del x, y, z

    def upload(item):
        data, back, up, down = torch.rand(n), torch.empty(n), [], []  # plain memory, not pinned
        for i in range(7):
            data[0] = i
            c.fill_(POISON)
            torch.cuda.synchronize()
            t = time.perf_counter()
            c.copy_(data)
            torch.cuda.synchronize()
            up.append(4 * n / (time.perf_counter() - t) * 1e-9)
            back.fill_(-1)
            t = time.perf_counter()
            back.copy_(c)
            torch.cuda.synchronize()
            down.append(4 * n / (time.perf_counter() - t) * 1e-9)
        if not torch.equal(back, data):
            raise Wrong("what came back differs")
        report(item, "GB/s", up[1:], "from plain memory")
        report("download", "GB/s", down[1:], "to plain memory")

    attempt(upload, "upload")
    del a, b, c, a2, b2, c2, a3, b3, c3, row, turned, ea, eb, front

    def brdf(item):
        albedo_host = 0.15 + 0.8 * torch.rand(n // 4, 3)
        albedo = albedo_host.to(gpu)
        specular, power, n_l_pi = brdf_constants()
        result = [torch.full_like(albedo, POISON)]

        def shade(v):
            fresnel = v + (1 - v) * power
            return specular * fresnel + v * (1 - fresnel) * n_l_pi

        def work():
            result[0] = shade(albedo)

        bandwidth(item, work, lambda: result[0], lambda: shade(albedo_host.double()), 24 * (n // 4), 1e-5)

    attempt(brdf, "brdf")

    def gradients(item):
        """the backward pass alone: the forward one is recorded before"""
        m, half_side = n // 4, side // 2
        hx, ht, hs = (torch.rand(m) * 2 - 1 for _ in range(3))
        x, t, s = hx.to(gpu), ht.to(gpu), hs.to(gpu)

        def backward(item, inputs, result, seed, count_bytes, expected, tolerance):
            got = [None]

            def work():
                got[0] = torch.autograd.grad(result, inputs, seed, retain_graph=True)[0]

            work()
            want = expected()
            error = (got[0].cpu().double() - want).abs().max().item()
            if not error <= tolerance * want.abs().max().item():
                raise Wrong(f"wrong by {error}")
            report(item, "GB/s", [count_bytes / (ms * 1e6) for ms in events(work)], "CUDA events")

        px = x.clone().requires_grad_()
        attempt(lambda i: backward(i, px, 2 * px * px + 8 * px - 1, s, 16 * m, lambda: (4 * hx.double() + 8) * hs.double(), 1e-5), item)
        w = torch.tensor([0.75], device=gpu, requires_grad=True)
        attempt(lambda i: backward(i, w, (w * x - t) ** 2, s, 12 * m, lambda: (
            2 * (0.75 * hx.double() - ht.double()) * hx.double() * hs.double()).sum().reshape(1), 1e-2), "grad_param")
        x2, s2 = x.view(half_side, half_side), s.view(half_side, half_side)
        terms = (hx.double() * hs.double()).view(half_side, half_side)
        row = torch.rand(half_side, device=gpu, requires_grad=True)
        attempt(lambda i: backward(i, row, x2 * row, s2, 8 * m, lambda: terms.sum(0), 1e-3), "grad_rows")
        column = torch.rand(half_side, 1, device=gpu, requires_grad=True)
        attempt(lambda i: backward(i, column, x2 * column, s2, 8 * m, lambda: terms.sum(1, keepdim=True), 1e-3), "grad_columns")

    attempt(gradients, "grad_poly")

    def typed(item, dtype, elements, transposed=False):
        p = torch.randint(0, 1024, (elements,), dtype=torch.int32).to(dtype)
        q = torch.randint(0, 1024, (elements,), dtype=torch.int32).to(dtype)
        gp, gq, r = p.to(gpu), q.to(gpu), torch.empty(elements, dtype=dtype, device=gpu)
        modulus = 256 if dtype == torch.uint8 else 1 << 20
        if transposed:
            p, q, gp, gq, r = (t.view(side, side) for t in (p, q, gp, gq, r))
            p, gp = p.t(), gp.t()
        bandwidth(item, lambda: torch.add(gp, gq, out=r), lambda: r, lambda: (p.double() + q.double()) % modulus,
                  3 * elements * r.element_size())

    attempt(typed, "add_half", torch.float16, 2 * n)
    attempt(typed, "add_u8", torch.uint8, 2 * n)
    attempt(typed, "add_f64", torch.float64, n // 2)
    attempt(typed, "transposed_half", torch.float16, n, True)
    attempt(typed, "transposed_u8", torch.uint8, n, True)

    hs, ht = torch.rand(FLOATS), torch.rand(FLOATS)
    s, t = hs.to(gpu), ht.to(gpu)
    outs = [torch.full((FLOATS,), float(POISON), device=gpu) for _ in range(OUTPUTS)]

    def calls(item, total, function, check):
        issue, whole = [], []
        for i in range(7):
            torch.cuda.synchronize()
            await_core()
            start = time.perf_counter()
            function()
            issued = time.perf_counter()
            torch.cuda.synchronize()
            end = time.perf_counter()
            if i >= 2:
                issue.append((issued - start) / count * 1e6)
                whole.append((end - start) / count * 1e6)
        check()
        report(item, "us", issue, "issue")
        if total:
            report(total, "us", whole, "with the wait")

    def same():
        add, o = torch.add, outs[0]
        for _ in range(count):
            add(s, t, out=o)

    def rotating():
        add = torch.add
        for i in range(count):
            add(s, t, out=outs[i & 15])

    def check_sums():
        if any(not torch.equal(o.cpu(), hs + ht) for o in outs):
            raise Wrong("a sum is wrong")

    def check_same():
        if not torch.equal(outs[0].cpu(), hs + ht):
            raise Wrong("the sum is wrong")

    ping, pong = torch.zeros(FLOATS, device=gpu), torch.empty(FLOATS, device=gpu)

    def chain():
        add = torch.add
        ping.zero_()
        for _ in range(count // 2):
            add(ping, 1, out=pong)
            add(pong, 1, out=ping)

    def check_chain():
        if not torch.equal(ping.cpu(), torch.full((FLOATS,), float(count))):
            raise Wrong("the chain is wrong")

    attempt(calls, "issue", None, same, check_same)
    attempt(calls, "issue_torch", None, same, check_same)
    attempt(calls, "rotating_issue", "rotating", rotating, check_sums)
    attempt(calls, "chain_issue", "chain", chain, check_chain)

    def round_trip(item):
        p, q, samples = torch.ones(1, device=gpu), torch.full((1,), 2.0, device=gpu), []
        for i in range(220):
            if i % 20 == 0:
                await_core()
            start = time.perf_counter()
            value = (p + q).item()
            samples.append((time.perf_counter() - start) * 1e6)
            if value != 3:
                raise Wrong(f"1 + 2 gave {value}")
        report(item, "us", samples[20:], "(a + b).item()")

    def call_wait(item):
        samples = []
        for i in range(220):
            if i % 20 == 0:
                await_core()
            start = time.perf_counter()
            torch.add(s, t, out=outs[i & 15])
            torch.cuda.synchronize()
            samples.append((time.perf_counter() - start) * 1e6)
        check_same()
        report(item, "us", samples[20:])

    attempt(round_trip, "scalar")
    attempt(call_wait, "call_wait")


# ---- SlangPy on Vulkan


def import_slangpy():
    import slangpy as spy

    folder = os.environ.get("SLANGPY_RIVAL")
    place = os.path.realpath(spy.__file__)
    if folder and not place.startswith(os.path.realpath(folder) + os.sep):
        raise ImportError(f"slangpy is {place}, not the one in SLANGPY_RIVAL")
    if not hasattr(spy, "DeviceType"):
        raise ImportError(f"{place} is not SlangPy")
    return spy


def slangpy_device(spy):
    # SPY_RIVAL_DEVICE is for trying this file where SlangPy finds no Vulkan device.
    kind = getattr(spy.DeviceType, os.environ.get("SPY_RIVAL_DEVICE", "vulkan"))
    return spy.create_device(type=kind, include_paths=[HERE])


def floats_of(np, tensor, width):
    """what a tensor holds, as (elements, width)"""
    return np.ascontiguousarray(tensor.to_numpy()).view(np.float32).reshape(-1, width)


def run_slangpy(quick):
    try:
        import numpy as np

        spy = import_slangpy()
    except ImportError as e:
        return emit("device", skipped=f"no SlangPy: {e}")
    try:
        device = slangpy_device(spy)
        module = spy.Module.load_from_file(device, "bench.slang")
    except Exception as e:
        return emit("device", failed=" ".join(str(e).split())[:600])
    emit("device", name=str(device.info.adapter_name), driver=f"slangpy {getattr(spy, '__version__', '?')}", cpu=False, quick=quick)
    n, side, (x0, x1, x2) = sizes(quick)
    calls_in_row, count = (3, 300) if quick else (20, 10000)  # as bench.c's
    rng = np.random.default_rng(1)

    def tensor(array, shape=None):
        t = spy.Tensor.from_numpy(device, np.ascontiguousarray(array))
        return t if shape is None else t.view(shape)

    def poison(t, array):
        t.copy_from_numpy(np.full_like(array, POISON))

    def warm(function):
        """Keeps the GPU busy until it has settled: it lets its clocks fall while the CPU checks results."""
        def calls():
            start = time.perf_counter()
            for _ in range(20):
                function()
            device.wait()
            return time.perf_counter() - start

        if not quick:
            settle(calls)

    def wall(function):
        """seconds a call, of some in a row and a wait"""
        samples = []
        warm(function)
        for i in range(7):
            device.wait()
            start = time.perf_counter()
            for _ in range(calls_in_row):
                function()
            device.wait()
            if i >= 2:
                samples.append((time.perf_counter() - start) / calls_in_row)
        return samples

    def bandwidth(item, function, result, expected, count_bytes, tolerance=2e-7):
        poison(result, np.empty(expected.shape, expected.dtype))
        seconds = wall(function)
        got = np.asarray(result.to_numpy()).reshape(expected.shape)
        error = float(np.abs(got.astype(np.float64) - expected.astype(np.float64)).max())
        if not error <= tolerance:
            raise Wrong(f"wrong by {error}")
        report(item, "GB/s", [count_bytes / s * 1e-9 for s in seconds], "calls in a row and a wait")

    def uniform(*shape):
        return (rng.random(shape, dtype=np.float32) * 2 - 1).astype(np.float32)

    ha, hb = uniform(n), uniform(n)
    a, b = tensor(ha), tensor(hb)
    c = spy.Tensor.empty(device, shape=(n,), dtype="float")

    def add(item):
        bandwidth(item, lambda: module.add(a, b, _result=c), c, ha + hb, 12 * n)

    def add_scalar(item):
        bandwidth(item, lambda: module.add(a, 0.5, _result=c), c, ha + np.float32(0.5), 8 * n)

    def square(t):
        return t.view((side, side))

    def row_broadcast(item):
        a2, row = tensor(ha.reshape(side, side)), tensor(hb[:side])
        c2 = spy.Tensor.empty(device, shape=(side, side), dtype="float")
        bandwidth(item, lambda: module.add(a2, row, _result=c2), c2, ha.reshape(side, side) + hb[:side], 8 * n + 4 * side)

    def transposed(item):
        turned, b2 = a.view((side, side), (1, side)), square(b)
        c2 = spy.Tensor.empty(device, shape=(side, side), dtype="float")
        bandwidth(item, lambda: module.add(turned, b2, _result=c2), c2, ha.reshape(side, side).T + hb.reshape(side, side), 12 * n)

    def strided(item):
        ea, eb = a.view((n // 2,), (2,)), b.view((n // 2,), (2,))
        front = spy.Tensor.empty(device, shape=(n // 2,), dtype="float")
        bandwidth(item, lambda: module.add(ea, eb, _result=front), front, ha[::2] + hb[::2], 6 * n)

    def odd(item):
        hx, hy = uniform(x0, 1, x2), uniform(1, x1, 1)
        x, y = tensor(hx), tensor(hy)
        z = spy.Tensor.empty(device, shape=(x0, x1, x2), dtype="float")
        bandwidth(item, lambda: module.add(x, y, _result=z), z, hx + hy, 4 * (x0 * x1 * x2 + x0 * x2 + x1))

    def upload(item):
        up, down = [], []
        for i in range(4):
            ha[0] = i / 8
            poison(c, ha)
            device.wait()
            start = time.perf_counter()
            c.copy_from_numpy(ha)
            device.wait()
            up.append(4 * n / (time.perf_counter() - start) * 1e-9)
            start = time.perf_counter()
            back = c.to_numpy()
            down.append(4 * n / (time.perf_counter() - start) * 1e-9)
        if not np.array_equal(back, ha):
            raise Wrong("what came back differs")
        report(item, "GB/s", up[1:])
        report("download", "GB/s", down[1:])

    for item, function in (("add", add), ("add_scalar", add_scalar), ("row", row_broadcast), ("transposed", transposed),
                           ("strided", strided), ("odd_broadcast", odd), ("upload", upload)):
        attempt(function, item)

    def brdf(item):
        elements = n // 4
        host = (0.15 + 0.8 * rng.random((elements, 3), dtype=np.float32)).astype(np.float32)
        albedo = spy.Tensor.empty(device, shape=(elements,), dtype="float3")
        albedo.copy_from_numpy(host)
        result = spy.Tensor.empty(device, shape=(elements,), dtype="float3")
        result.copy_from_numpy(np.full_like(host, POISON))
        light, view = spy.float3(*BRDF_LIGHT), spy.float3(*BRDF_VIEW)
        seconds = wall(lambda: module.brdf(albedo, BRDF_ROUGHNESS, light, view, _result=result))
        specular, power, n_l_pi = brdf_constants()
        v = host.astype(np.float64)
        fresnel = v + (1 - v) * power
        want = specular * fresnel + v * (1 - fresnel) * n_l_pi
        error = float(np.abs(floats_of(np, result, 3) - want).max())
        if not error <= 1e-4:
            raise Wrong(f"wrong by {error}")
        report(item, "GB/s", [24 * elements / s * 1e-9 for s in seconds], "calls in a row and a wait")

    attempt(brdf, "brdf")

    def seeded(seeds):
        result = spy.Tensor.empty(device, shape=seeds.shape, dtype="float").with_grads()
        result.grad.storage.copy_from_numpy(seeds)
        return result

    def backward(item, function, inputs, gradient, result, want, count_bytes, tolerance):
        function.bwds(*inputs, _result=result)
        error = float(np.abs(gradient.to_numpy().astype(np.float64) - want).max())
        if not error <= tolerance * float(np.abs(want).max()):
            raise Wrong(f"wrong by {error}")
        report(item, "GB/s", [count_bytes / s * 1e-9 for s in wall(lambda: function.bwds(*inputs, _result=result))],
               "calls in a row and a wait")

    def grad_poly(item):
        hx, hs = uniform(n // 4), uniform(n // 4)
        x = tensor(hx).with_grads(zero=True)
        backward(item, module.poly, [x], x.grad, seeded(hs), (4 * hx.astype(np.float64) + 8) * hs, 16 * (n // 4), 1e-5)

    def grad_param(item):
        hx, ht, hs = (uniform(n // 4) for _ in range(3))
        w = tensor(np.float32([0.75])).with_grads(zero=True)
        dx = hx.astype(np.float64)
        backward(item, module.loss, [w, tensor(hx), tensor(ht)], w.grad, seeded(hs), np.sum(2 * (0.75 * dx - ht) * dx * hs), 12 * (n // 4), 1e-2)

    attempt(grad_poly, "grad_poly")
    attempt(grad_param, "grad_param")

    def typed(item, function, dtype, name, elements):
        p = rng.integers(0, 1024 if dtype != np.uint8 else 256, elements).astype(dtype)
        q = rng.integers(0, 1024 if dtype != np.uint8 else 256, elements).astype(dtype)
        tp, tq = tensor(p), tensor(q)
        r = spy.Tensor.empty(device, shape=(elements,), dtype=name)
        bandwidth(item, lambda: function(tp, tq, _result=r), r, p + q, 3 * elements * p.itemsize, 0.0)

    attempt(lambda item: typed(item, module.add_half, np.float16, "half", 2 * n), "add_half")
    attempt(lambda item: typed(item, module.add_u8, np.uint8, "uint8_t", 2 * n), "add_u8")
    attempt(lambda item: typed(item, module.add_f64, np.float64, "double", n // 2), "add_f64")

    hin = [uniform(FLOATS) for _ in range(8)]
    ins = [tensor(h) for h in hin]
    outs = [spy.Tensor.empty(device, shape=(FLOATS,), dtype="float") for _ in range(OUTPUTS)]
    for o in outs:
        poison(o, hin[0])

    def calls(item, total, function, outputs, expected):
        issue, whole = [], []
        for i in range(4):
            device.wait()
            await_core()
            start = time.perf_counter()
            function()
            issued = time.perf_counter()
            device.wait()
            end = time.perf_counter()
            if i >= 1:
                issue.append((issued - start) / count * 1e6)
                whole.append((end - start) / count * 1e6)
        for o in outputs:
            error = float(np.abs(o.to_numpy().reshape(-1) - expected).max())
            if not error <= 2e-6:
                raise Wrong(f"wrong by {error}")
        report(item, "us", issue, "issue")
        if total:
            report(total, "us", whole, "with the wait")

    def same():
        f, p, q, o = module.add, ins[0], ins[1], outs[0]
        for _ in range(count):
            f(p, q, _result=o)

    def rotating():
        f, p, q = module.add, ins[0], ins[1]
        for i in range(count):
            f(p, q, _result=outs[i & 15])

    def declared():
        f, p, q = module.add.declare(spy.vmapping(0), "float"), ins[0], ins[1]
        for i in range(count):
            f(p, q, _result=outs[i & 15])

    def eight():
        f, o = module.add8, outs[0]
        for _ in range(count):
            f(*ins, _result=o)

    ping, pong = tensor(np.zeros(FLOATS, np.float32)), tensor(np.zeros(FLOATS, np.float32))
    poison(pong, hin[0])

    def chain():
        f = module.advance
        ping.copy_from_numpy(np.zeros(FLOATS, np.float32))
        for _ in range(count // 2):
            f(ping, 1.0, 1.0, _result=pong)
            f(pong, 1.0, 1.0, _result=ping)

    attempt(calls, "issue", None, same, outs[:1], hin[0] + hin[1])
    attempt(calls, "rotating_issue", "rotating", rotating, outs, hin[0] + hin[1])
    if hasattr(spy, "vmapping"):
        attempt(calls, "declared_issue", None, declared, outs, hin[0] + hin[1])
    attempt(calls, "chain_issue", "chain", chain, [ping], np.float32(count))
    attempt(calls, "issue8", None, eight, outs[:1], sum(h.astype(np.float64) for h in hin))

    trips = 200 if quick else 2000  # as many as bench.c's

    def round_trip(item):
        samples = []
        warm(lambda: module.add(a, b, _result=c))
        for i in range(trips + 20):
            if i % 20 == 0:
                await_core()
            start = time.perf_counter()
            value = module.add(float(i), 2.0)
            samples.append((time.perf_counter() - start) * 1e6)
            if value != i + 2:
                raise Wrong(f"{i} + 2 gave {value}")
        report(item, "us", samples[20:])

    def call_wait(item):
        samples = []
        warm(lambda: module.add(a, b, _result=c))
        for i in range(trips + 20):
            if i % 20 == 0:
                await_core()
            start = time.perf_counter()
            module.add(ins[0], ins[1], _result=outs[i & 15])
            device.wait()
            samples.append((time.perf_counter() - start) * 1e6)
        report(item, "us", samples[20:])

    def torch_tensors(item):
        """the 2-tensor call with torch's own tensors, on a device that works in torch's stream"""
        if os.environ.get("SPY_RIVAL_DEVICE") != "cuda":
            return emit(item, skipped="torch's memory is CUDA's")
        try:
            import torch
        except ImportError as e:
            return emit(item, skipped=f"no torch: {e}")
        shared = spy.create_torch_device(include_paths=[HERE])
        add, samples = spy.Module.load_from_file(shared, "bench.slang").add, []
        p, q = (torch.rand(FLOATS, device="cuda") for _ in range(2))
        o = torch.full((FLOATS,), float(POISON), device="cuda")
        for i in range(7):
            torch.cuda.synchronize()
            await_core()
            start = time.perf_counter()
            for _ in range(count):
                add(p, q, _result=o)
            issued = time.perf_counter()
            torch.cuda.synchronize()
            if i >= 2:
                samples.append((issued - start) / count * 1e6)
        if not torch.equal(o.cpu(), p.cpu() + q.cpu()):
            raise Wrong("the sum is wrong")
        report(item, "us", samples, "issue")

    attempt(round_trip, "scalar")
    attempt(call_wait, "call_wait")
    attempt(torch_tensors, "issue_torch")


def run_slangpy_cold():
    """In a fresh process: the import is not counted, then as bench.c's --cold."""
    try:
        import numpy as np

        spy = import_slangpy()
    except ImportError:
        return
    x = np.arange(FLOATS, dtype=np.float32)

    def first(item):
        start = time.perf_counter()
        device = slangpy_device(spy)
        created = time.perf_counter()
        module = spy.Module.load_from_file(device, "bench.slang")
        loaded = time.perf_counter()
        t = spy.Tensor.from_numpy(device, x)
        got = module.add(t, t).to_numpy()
        end = time.perf_counter()
        if not np.array_equal(got.reshape(-1), x + x):
            raise Wrong("wrong values")
        report(item, "s", [end - start], "fresh process, import not counted")
        report("cold_device", "s", [created - start])
        report("cold_module", "s", [loaded - created])
        report("cold_call", "s", [end - loaded])
        two, ints = spy.Tensor.from_numpy(device, x.reshape(4, 8)), spy.Tensor.from_numpy(device, x.astype(np.int32))
        three = spy.Tensor.empty(device, shape=(10,), dtype="float3")
        three.copy_from_numpy(np.full((10, 3), 0.5, np.float32))
        light, view = spy.float3(*BRDF_LIGHT), spy.float3(*BRDF_VIEW)
        device.wait()
        seconds = []
        for work in (lambda: module.add(t, 0.5), lambda: module.add(two, two), lambda: module.add_int(ints, ints),
                     lambda: module.brdf(three, BRDF_ROUGHNESS, light, view), lambda: module.add8(t, t, t, t, t, t, t, t)):
            try:
                begun = time.perf_counter()
                work()
                device.wait()
                seconds.append(time.perf_counter() - begun)
            except Exception as e:
                emit("new_signature_one", failed=" ".join(str(e).split())[:300])
        if seconds:
            report("new_signature", "s", seconds)
            report("new_signature_max", "s", [max(seconds)], "the slowest of five")

    attempt(first, "first_result")


def spawn_cold(quick):
    with tempfile.TemporaryDirectory() as folder:
        env = dict(os.environ, HOME=folder, XDG_CACHE_HOME=folder, TMPDIR=folder, MESA_SHADER_CACHE_DISABLE="true",
                   PYTHONDONTWRITEBYTECODE="1")
        env["__GL_SHADER_DISK_CACHE"] = "0"
        words = [sys.executable, os.path.abspath(__file__), "slangpy", "--cold"] + (["--json", out_file] if out_file else [])
        subprocess.run(words, env=env, timeout=120, check=False)


def main():
    global out_file, only
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("rival", choices=["torch", "slangpy"])
    parser.add_argument("--json")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--cold", action="store_true")
    parser.add_argument("--only", default="", help="names of works, with commas between them")
    args = parser.parse_args()
    only = args.only.split(",") if args.only else []
    out_file = os.path.abspath(args.json) if args.json else None
    if args.cold:
        run_slangpy_cold()
    elif args.rival == "torch":
        attempt(run_torch, args.quick)
    else:
        if not only:
            attempt(spawn_cold, args.quick)
        attempt(run_slangpy, args.quick)


main()

"""Variants of a network's forward pass by Vulkan's cooperative matrices, on a GPU: which is right, and how long each takes.

    python3 tests/mlp/coop_variants.py [properties] [compile] [check] [time] [cuda]

The kernel is coop_kernel.slang; a variant is what its first lines define. compile fills the cache of kernels with 12 processes. time prints one line for
each variant: us at 2^20 rows for each number of groups, and the error. Each width runs in a process of its own.
"""
import ctypes
import os
import subprocess
import sys
import time

import numpy as np

import slangpy as spy

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import batch_engine  # noqa: E402
from batch_engine import tensor, timed  # noqa: E402

NAMES = ("W", "D", "I", "O", "BIAS", "T", "WARPS", "NB", "SLOTS", "STAGE", "CONV", "DIRECT", "ACTH")
SHARED = 49152


def variant(w, d=3, i=None, o=8, bias=0, **options):
    v = dict(W=w, D=d, I=i or w, O=o, BIAS=bias, T=2, WARPS=4 if w < 128 else 8, NB=1, SLOTS=2 if w < 128 else 1, STAGE=0 if w < 128 else 2, CONV=0, DIRECT=1, ACTH=0)
    v.update(options)
    if v["CONV"]:
        v["SLOTS"] = 1  # only x and the outputs go through shared memory
    return v


def shared_bytes(v):
    ki, kw = (v["I"] + 15) // 16, v["W"] // 16
    first, layer, bias = v["W"] * (2 * ki + 1), v["W"] * (2 * kw + 1), v["BIAS"] * (v["D"] * v["W"] // 4 + 4)
    held = {0: first + (v["D"] - 1) * layer + 16 * (2 * kw + 1) + bias, 1: 1, 2: max(first, layer) + bias}[v["STAGE"] % 3]
    return 16 * (held + v["WARPS"] * v["T"] * v["SLOTS"] * 16 * (2 * v["NB"] + 1))


def variants(width):
    found = []
    for conv in (0, 1):
        for change in ({}, {"T": 1}, {"T": 4}, {"T": 4, "WARPS": 2}, {"T": 1, "WARPS": 8}, {"NB": 2}, {"NB": 2, "SLOTS": 1}, {"SLOTS": 1}, {"DIRECT": 0}, {"ACTH": 1}, {"WARPS": 8}, {"WARPS": 2},
                       {"STAGE": 1}, {"STAGE": 1, "T": 4}, {"STAGE": 1, "WARPS": 4}, {"STAGE": 2}, {"STAGE": 3}, {"STAGE": 3, "T": 1}, {"STAGE": 3, "NB": 2}, {"STAGE": 3, "T": 4},
                       {"SLOTS": 1, "WARPS": 8}, {"WARPS": 16}, {"WARPS": 12, "T": 1}, {"WARPS": 16, "T": 1}):
            if conv and (change.get("SLOTS") and "WARPS" not in change or width == 32 and change.get("STAGE") in (1, 2)):
                continue
            v = variant(width, CONV=conv, **change)
            if v["STAGE"] == 3 and width != 32 or v["STAGE"] == 0 and width == 128 or shared_bytes(v) > SHARED or v in found:
                continue
            found.append(v)
    return found


CHECKS = [variant(w, d, i, o, bias, CONV=conv, DIRECT=int(i % 16 == 0)) for conv in (0, 1) for w, d, i, o, bias in
          ((48, 2, 17, 3, 1), (16, 1, 40, 16, 1), (64, 4, 24, 8, 1), (128, 2, 128, 8, 1), (32, 3, 8, 1, 1))]
for each in CHECKS:
    each["STAGE"] = 0 if shared_bytes(each) <= SHARED and each["W"] < 128 else 2


def text_of(v):
    return "".join("#define %s %d\n" % (n, v[n]) for n in NAMES) + open(os.path.join(HERE, "coop_kernel.slang")).read()


def brief(v):
    usual = variant(v["W"], CONV=v["CONV"])
    return "W %3d conv %d %s" % (v["W"], v["CONV"], " ".join("%s=%d" % (n, v[n]) for n in NAMES if n not in ("W", "CONV") and v[n] != usual[n]))


def image_of(v, layers):
    """The kernel's weights: rows of a layer's outputs, 16 bytes longer than their inputs; then the biases as floats."""
    parts, biases = [], []
    for n, (w, b) in enumerate(layers):
        outs, ins = w.shape
        rows = outs if n < v["D"] else 16
        padded = np.zeros((rows, (ins + 15) // 16 * 16 + 8), np.float16)
        padded[:outs, :ins] = w
        parts.append(padded.reshape(-1))
        if v["BIAS"]:
            biases.append(np.concatenate([b, np.zeros(rows - outs)]).astype(np.float32))
    halves = np.concatenate(parts).view(np.uint32)
    words = np.concatenate([halves] + [b.view(np.uint32) for b in biases])
    return words.reshape(-1, 4)


def layers_of(v, r):
    sizes = [v["I"]] + [v["W"]] * v["D"] + [v["O"]]
    return [((r.standard_normal((b, a)) * (2 / a) ** 0.5).astype(np.float16), r.standard_normal(b).astype(np.float32) * 0.3 if v["BIAS"] else np.zeros(b, np.float32)) for a, b in zip(sizes, sizes[1:])]


def reference(layers, x):
    h = x.astype(np.float64)
    for n, (w, b) in enumerate(layers):
        h = h @ w.astype(np.float64).T + b
        if n < len(layers) - 1:
            h = np.maximum(h, 0).astype(np.float16).astype(np.float64)
    return h


class Kernel:
    def __init__(self, device, v):
        self.v, self.device = v, device
        self.layers = layers_of(v, np.random.default_rng(3))
        module = spy.Module.load_from_source(device, "coop", text_of(v))
        self.f = module.find_function("work")
        self.image = spy.Tensor.empty(device, (len(image_of(v, self.layers)),), "uint4")
        self.image.copy_from_numpy(image_of(v, self.layers))

    def run(self, x, y, rows, groups, encoder=None):
        self.f.dispatch([groups * self.v["WARPS"] * 32, 1, 1], image=self.image, x=x, y=y, rows=rows, groups=groups, command_encoder=encoder)

    def error(self, rows=4133, groups=7):
        v = self.v
        x = np.random.default_rng(4).standard_normal((rows, v["I"])).astype(np.float16)
        gx, gy = tensor(self.device, x), tensor(self.device, np.full((rows + 3, v["O"]), 77, np.float16))
        self.run(gx, gy, rows, groups)
        y = gy.to_numpy().reshape(rows + 3, v["O"]).astype(np.float64)
        wanted = reference(self.layers, x)
        e = np.linalg.norm(y[:rows] - wanted) / np.linalg.norm(wanted)
        return "%.1e%s" % (e, "" if (y[rows:] == 77).all() else " WROTE BEYOND THE END")


def one(what, width):
    device = spy.create_device(spy.DeviceType.vulkan)
    if what == "check":
        for v in CHECKS:
            try:
                k = Kernel(device, v)
                print("check ", {n: v[n] for n in NAMES[:5]}, brief(v), "error", k.error(), k.error(1, 1), k.error(33, 3), flush=True)
            except Exception as problem:
                print("check ", brief(v), "FAILED", str(problem)[:200], flush=True)
        return
    rows = 1 << 20
    base = np.random.default_rng(2).standard_normal((1 << 16, width)).astype(np.float16)
    xs = [tensor(device, np.tile(np.roll(base, i, 0), (16, 1))) for i in range(3)]
    y = spy.Tensor.empty(device, (rows, 8), "half")
    for v in variants(width):
        try:
            t = time.time()
            k = Kernel(device, v)
            e = k.error()
            made = time.time() - t
            warps = v["WARPS"]
            times = ["%d: %.1f" % (g, timed(device, lambda enc, i, g=g: k.run(xs[i % 3], y, rows, g, enc), 12, 5))
                     for g in (132 * max(8 // warps, 1), 132 * max(16 // warps, 1), 132 * max(32 // warps, 1), 4096 if v["STAGE"] else 132 * max(64 // warps, 1))]
            print("time  %-50s us %s  error %s made in %.1f s" % (brief(v), "  ".join(times), e, made), flush=True)
        except Exception as problem:
            print("time  %s FAILED %s" % (brief(v), str(problem)[:200]), flush=True)


def compile_some(part, parts):
    device = spy.create_device(spy.DeviceType.vulkan)
    for v in (CHECKS + variants(64) + variants(128) + variants(32))[part::parts]:
        try:
            Kernel(device, v).error(1, 1)
        except Exception:
            pass  # the later run says why


def cuda():
    device = spy.create_device(spy.DeviceType.cuda)
    for width in (32, 64, 128):
        base = np.random.default_rng(2).standard_normal((1 << 16, width)).astype(np.float16)
        xs = [tensor(device, np.tile(np.roll(base, i, 0), (16, 1))) for i in range(3)]
        y = spy.Tensor.empty(device, (1 << 20, 8), "half")
        for engine in ("mma", "wgmma"):
            try:
                net = batch_engine.BatchNetwork(device, width, 8, width, 3, engine=engine)
                net.parameters.copy_from_numpy(batch_engine.initial(net, 1))
                net.pack()
                print("cuda  W %3d %-5s forward %.1f us" % (width, engine, timed(device, lambda e, i: net.forward(xs[i % 3], y, command_encoder=e), 12, 5)), flush=True)
            except Exception as problem:
                print("cuda  W %3d %s FAILED %s" % (width, engine, str(problem)[:200]), flush=True)


def properties():
    """What the loader's first GPU says of cooperative matrices. The types: 0 float16, 1 float32, 3 int8, 5 int32, 7 uint8, 9 uint32; scopes: 2 workgroup, 3 subgroup."""
    vk = ctypes.CDLL("libvulkan.so.1")
    u32, ptr = ctypes.c_uint32, ctypes.c_void_p
    app = (ctypes.c_uint64 * 6)(0, 0, 0, 0, 0, (1 << 22 | 3 << 12) << 32)
    info = (ctypes.c_uint64 * 8)(1, 0, 0, ctypes.addressof(app), 0, 0, 0, 0)
    instance, count = ptr(), u32(1)
    assert vk.vkCreateInstance(info, None, ctypes.byref(instance)) == 0
    gpus = (ptr * 8)()
    count = u32(8)
    vk.vkEnumeratePhysicalDevices(instance, ctypes.byref(count), gpus)
    names = []
    vk.vkGetInstanceProcAddr.restype = ptr
    vk.vkGetInstanceProcAddr.argtypes = [ptr, ctypes.c_char_p]
    for gpu in gpus[:count.value]:
        number = u32(0)
        vk.vkEnumerateDeviceExtensionProperties(ptr(gpu), None, ctypes.byref(number), None)
        items = ctypes.create_string_buffer(260 * number.value)
        vk.vkEnumerateDeviceExtensionProperties(ptr(gpu), None, ctypes.byref(number), items)
        names = [items.raw[i * 260:i * 260 + 256].split(b"\0")[0].decode() for i in range(number.value)]
        print("extensions:", " ".join(sorted(n for n in names if "cooperative" in n or "sm_builtins" in n or "subgroup" in n)) or "none of cooperative matrices", flush=True)
        f = vk.vkGetInstanceProcAddr(instance, b"vkGetPhysicalDeviceCooperativeMatrixPropertiesKHR")
        if not f or "VK_KHR_cooperative_matrix" not in names:
            continue
        f = ctypes.CFUNCTYPE(ctypes.c_int, ptr, ptr, ptr)(f)
        number = u32(0)
        f(gpu, ctypes.addressof(number), None)
        rows = (u32 * (14 * number.value))()  # sType, padding, pNext (2), m, n, k, a, b, c, result, saturating, scope, padding
        for i in range(number.value):
            rows[i * 14] = 1000506001
        f(gpu, ctypes.addressof(number), ctypes.addressof(rows))
        print("m n k, a b c result, saturating, scope:", "; ".join("%d %d %d, %d %d %d %d, %d, %d" % tuple(rows[i * 14 + 4:i * 14 + 13]) for i in range(number.value)
                                                                   if rows[i * 14 + 7] in (0, 1)), flush=True)


def main():
    if len(sys.argv) > 2 and sys.argv[1] in ("one", "part"):
        return one(sys.argv[2], int(sys.argv[3])) if sys.argv[1] == "one" else compile_some(int(sys.argv[2]), int(sys.argv[3]))
    words = sys.argv[1:] or ["properties", "compile", "check", "cuda", "time"]
    start = time.time()

    def run(limit, *arguments):
        try:
            return subprocess.run([sys.executable, os.path.abspath(__file__), *map(str, arguments)], timeout=limit).returncode
        except subprocess.TimeoutExpired:
            return print(arguments, "took longer than", limit, "s", flush=True)
    if "properties" in words:
        properties()
    if "cuda" in words:
        try:
            cuda()
        except Exception as problem:
            print("cuda FAILED", problem, flush=True)
    if "compile" in words:
        parts = min(os.cpu_count() or 1, 12)
        workers = [subprocess.Popen([sys.executable, os.path.abspath(__file__), "part", str(i), str(parts)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) for i in range(parts)]
        for w in workers:
            try:
                w.wait(max(1, 110 - (time.time() - start)))
            except subprocess.TimeoutExpired:
                w.kill()
        print("compiled after %.0f s" % (time.time() - start), flush=True)
    if "check" in words:
        run(40, "one", "check", 0)
    if "time" in words:
        for width in (64, 128, 32):
            run(60, "one", "time", width)
    print("%.0f s" % (time.time() - start))


if __name__ == "__main__":
    main()

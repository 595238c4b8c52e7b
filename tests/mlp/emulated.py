"""The checks of batch_engine.py with the engine's kernels on a CPU (emulate.cpp), for machines without a GPU.

    python3 tests/mlp/emulated.py [first case] [last case]

Runs on tests/unit/fake_cuda, whose device memory is host memory: LD_LIBRARY_PATH must lead to it as libcuda.so.1, and the
process must have set its capability to 90 (python/tests/test_mlp_batch.py does both). A kernel is compiled by g++ for each
network; nothing is compiled by NVRTC here.
"""
import ctypes
import os
import subprocess
import sys

import numpy as np

import slangpy as spy
from slangpy import mlp_batch

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
libraries = {}


def build(folder, shape, options, *defines):
    """The emulated kernel as a function."""
    key = (shape, options) + defines
    if key not in libraries:
        with open(os.path.join(TOP, "src/slang/mlp_batch_engine.slang")) as file:
            text = file.read()
        start = text.index('R"(') + 3
        with open(os.path.join(folder, "text.cuh"), "w") as file:
            file.write(text[start:text.index(')");', start)])
        path = os.path.join(folder, "kernel_%d.so" % len(libraries))
        subprocess.run(["g++", "-std=c++17", "-O1", "-march=native", "-ffp-contract=off", "-w", "-shared", "-fPIC", "-DSHAPE=%d" % shape, "-DOPTIONS=%d" % options,
                        '-DTEXT="%s"' % os.path.join(folder, "text.cuh"), *defines, os.path.join(TOP, "tests/mlp/emulate.cpp"), "-o", path], check=True)
        libraries[key] = ctypes.CDLL(path).emulate
    return libraries[key]


class Emulated:
    """What BatchNetwork dispatches."""

    def __init__(self, folder, name, constants, threads, shared_bytes, defines):
        self.name, self.threads, self.shared_bytes = name, threads, shared_bytes
        c = constants
        shape = c["mlp_width"] | c["mlp_depth"] << 8 | c["mlp_inputs"] << 12 | c["mlp_outputs"] << 20
        options = c["mlp_activation"] | c["mlp_loss"] << 3 | c["mlp_flags"] << 6 | c["mlp_engine"] << 11 | c["mlp_warps"] << 12 | c["mlp_kernel"] << 18
        self.run = build(folder, shape, options, *defines)

    def dispatch(self, threads, command_encoder=None, **values):
        if command_encoder is not None:
            return
        pointers, floats, ints = [], [], []
        for name, v in values.items():
            if isinstance(v, spy.Tensor):
                pointers.append(v.device_address)
            elif isinstance(v, float):
                floats.append(v)
            elif isinstance(v, int):
                ints.append(v)
            elif isinstance(v, spy.float4):
                floats += [v.x, v.y, v.z, v.w]
            elif isinstance(v, spy.uint2):
                ints += [v.x, v.y]
        assert threads[0] % self.threads == 0
        self.run(threads[0] // self.threads, self.threads, ctypes.c_uint32(self.shared_bytes), (ctypes.c_void_p * 8)(*pointers), (ctypes.c_float * 8)(*floats),
                 (ctypes.c_int * 2)(*ints))


def emulate(folder, *defines):
    """Lets BatchNetwork run emulated kernels, which are compiled in `folder`."""
    def function(self, name, training, warps, shared_bytes):
        constants = self._constants(name, training, warps)
        return Emulated(folder, name, constants, warps * 32, shared_bytes, defines)
    mlp_batch.BatchNetwork._function = function


def main(folder, first, last, training=()):
    """training: (engine, width) of the networks that are trained for three steps."""
    sys.path.insert(0, os.path.join(TOP, "tests/mlp"))
    import batch_engine
    emulate(folder)
    device = spy.create_device(spy.DeviceType.cuda)
    info = device._info()
    type(device)._info = lambda self: dict(info, multiprocessor_count=3)  # tiles of several rounds
    for number, case in list(enumerate(batch_engine.CASES))[first:last]:
        for engine in ("wgmma", "mma") if case[4] < 5000 else ():
            batch_engine.check(device, engine, *case, seed=10 * number)
    for engine, width in training:
        batch_engine.check_training(device, engine, width, 200, 0)
    return batch_engine.bad

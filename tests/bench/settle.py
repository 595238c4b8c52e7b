"""Waits for a GPU's clocks and for a core of the processor, for the benchmarks from Python. bench.c's settle() and bench_util.h's
bench_await_core() do the same for C."""
import time

import numpy as np

LANES = np.arange(1024)
SUMS = np.empty_like(LANES)
least = None


def settle(run):
    """Calls `run`, which returns how long it took, until half a second brings nothing shorter. After some time without work, numpy's for instance, a
    GPU is at lower clocks, and with Vulkan's work alone it comes back within seconds, not milliseconds."""
    least, settled = run(), time.perf_counter()
    while time.perf_counter() - settled < 0.5:
        seconds = run()
        if seconds < 0.98 * least:
            settled = time.perf_counter()
        least = min(least, seconds)


def await_core():
    """Waits, for at most 20 ms, until nobody else uses the other hardware thread of this processor's core: see bench_await_core()."""
    global least
    start, known = time.perf_counter(), least is not None
    while True:
        began = time.perf_counter()
        for _ in range(40):
            np.add(LANES, LANES, out=SUMS)
        now = time.perf_counter()
        alone = known and now - began < 1.2 * least
        least = min(least or now - began, now - began)
        if alone or now - start > (0.02 if known else 0.1):
            return

"""Waits for a GPU's clocks, for the benchmarks from Python. bench.c's settle() does the same for C."""
import time


def settle(run):
    """Calls `run`, which returns how long it took, until half a second brings nothing shorter. After some time without work, numpy's for instance, a
    GPU is at lower clocks, and with Vulkan's work alone it comes back within seconds, not milliseconds."""
    least, settled = run(), time.perf_counter()
    while time.perf_counter() - settled < 0.5:
        seconds = run()
        if seconds < 0.98 * least:
            settled = time.perf_counter()
        least = min(least, seconds)

"""Profiling: named spans of a program on the host and, on request, on the GPU, written as traces for Perfetto and Chrome."""

from collections.abc import Callable
from os import PathLike
from typing import Any, ParamSpec, TypeVar, overload

from typing_extensions import Self

from . import Device

__all__ = ["Profiler", "ProfileZone", "profile_zone", "profile_function", "profile_frame"]

_P = ParamSpec("_P")
_R = TypeVar("_R")

class ProfileZone:
    """A span of time: name, category ('zone', 'function', 'frame'), thread_id, depth in its thread, start_ns and end_ns on
    the host's monotonic clock, and gpu_start_ns and gpu_end_ns on the same clock, or None without a device.
    """
    __slots__ = ("name", "category", "thread_id", "depth", "start_ns", "end_ns", "gpu_start_ns", "gpu_end_ns", "_device", "_stamps")
    name: str
    category: str
    thread_id: int
    depth: int
    start_ns: int
    end_ns: int
    gpu_start_ns: int | None
    gpu_end_ns: int | None
    def __init__(self, name: str, category: str, device: Device | None) -> None: ...
    @property
    def duration(self) -> float:
        """Seconds on the host."""
    @property
    def gpu_duration(self) -> float | None:
        """Seconds on the GPU, from when all earlier work was done until all of the zone's was; None without a device."""

class Profiler:
    """Collects the zones of all threads between start() and stop(), or within `with profiler:`."""

    def __init__(self) -> None: ...
    def start(self) -> Self:
        """Collect zones from now on. An error when it does already."""
    def stop(self) -> None:
        """Collect no more. An error when it was not started."""
    def __enter__(self) -> Self: ...
    def __exit__(self, *exception: object) -> None: ...
    @property
    def is_running(self) -> bool:
        """Whether it collects now."""
    def reset(self) -> None:
        """Forget all zones."""
    @property
    def zones(self) -> list[ProfileZone]:
        """The zones that have ended, as a list of ProfileZone in the order in which they began. Waits for GPU times."""
    def summary(self) -> dict[str, dict[str, float]]:
        """{name: dict of count, total, mean, min, max and gpu_total in seconds}, in the order of first appearance."""
    def report(self) -> str:
        """The summary as text, times in ms."""
    def to_trace(self) -> dict[str, Any]:
        """The zones as a dict in the trace event format, which Perfetto and chrome://tracing open."""
    def write_trace(self, path: str | PathLike[str]) -> None:
        """The zones as a JSON file for ui.perfetto.dev and chrome://tracing."""

class profile_zone:
    """`with profile_zone("step"):` or @profile_zone("step"): a span for the running profilers; with a device, also the GPU's
    time of the work that is made inside. Costs nothing to speak of while no profiler runs.
    """
    name: str
    device: Device | None
    def __init__(self, name: str, device: Device | None = None) -> None: ...
    def __enter__(self) -> ProfileZone | None: ...
    def __exit__(self, *exception: object) -> None: ...
    def __call__(self, function: Callable[_P, _R]) -> Callable[_P, _R]: ...

class profile_frame(profile_zone):
    """A zone of the category 'frame', for one turn of a main loop."""

    def __init__(self, name: str = "frame", device: Device | None = None) -> None: ...

@overload
def profile_function(function: Callable[_P, _R], *, name: str | None = None, device: Device | None = None) -> Callable[_P, _R]:
    """@profile_function or @profile_function(name="step"): a zone for each call, named after the function."""
@overload
def profile_function(
    function: None = None, *, name: str | None = None, device: Device | None = None
) -> Callable[[Callable[_P, _R]], Callable[_P, _R]]: ...

"""Profiling: measures named zones of a program on the host and, on request, on the GPU, and writes traces for Perfetto and Chrome."""
from __future__ import annotations

import functools
import os
import threading
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from os import PathLike
    from typing import Any, ParamSpec, TypeVar, overload

    from typing_extensions import Self

    from .device import Device

    _P = ParamSpec("_P")
    _R = TypeVar("_R")

__all__ = ["Profiler", "ProfileZone", "profile_zone", "profile_function", "profile_frame"]

_active: list[Profiler] = []
_threads = threading.local()


class ProfileZone:
    """A named span of time. category: 'zone', 'function' or 'frame'. depth: the number of open zones around it in its thread. start_ns
    and end_ns, in ns of the host's monotonic clock; gpu_start_ns and gpu_end_ns on the same clock, or None without a device."""

    name: str
    category: str
    thread_id: int
    depth: int
    start_ns: int
    end_ns: int
    gpu_start_ns: int | None
    gpu_end_ns: int | None

    __slots__ = {
        "name": "The name that the zone was opened with.", "category": "The category that the zone was opened with.",
        "thread_id": "The number of the thread.", "depth": "The number of zones around this one.",
        "start_ns": "The host's time at the beginning, in ns.", "end_ns": "The host's time at the end, in ns.",
        "gpu_start_ns": "The GPU's time at the beginning, in ns, or None.", "gpu_end_ns": "The GPU's time at the end, in ns, or None.",
        "_device": "The zone's device.", "_stamps": "The zone's timestamps."}

    def __init__(self, name: str, category: str, device: Device | None) -> None:
        self.name, self.category, self._device = name, category, device
        self.thread_id = threading.get_ident()
        self.start_ns = self.end_ns = self.depth = 0
        self.gpu_start_ns = self.gpu_end_ns = None
        self._stamps: list[Any] = []

    @property
    def duration(self) -> float:
        """The zone's time on the host in seconds."""
        return (self.end_ns - self.start_ns) * 1e-9

    @property
    def gpu_duration(self) -> float | None:
        """The zone's time on the GPU in seconds, from the end of all earlier work to the end of the zone's work; None without a device."""
        return None if self.gpu_start_ns is None or self.gpu_end_ns is None else (self.gpu_end_ns - self.gpu_start_ns) * 1e-9

    def _stamp(self):
        encoder = self._device.create_command_encoder()
        encoder._timestamp()
        commands = encoder.finish()
        commands._submit()
        self._stamps.append(commands)

    def _resolve(self, offset):
        self.gpu_start_ns, self.gpu_end_ns = (commands._times()[0] + offset for commands in self._stamps)
        self._stamps = []

    def __repr__(self):
        gpu = "" if self.gpu_duration is None else ", GPU {:.3f} ms".format(1e3 * self.gpu_duration)
        return "<slangpy.ProfileZone '{}' {:.3f} ms{}>".format(self.name, 1e3 * self.duration, gpu)


class Profiler:
    """Profiler(): collects the zones of all threads between start() and stop(), or in a block `with profiler:`."""

    def __init__(self) -> None:
        self._zones: list[ProfileZone] = []
        self._lock = threading.Lock()

    def start(self) -> Self:
        """start(): begins to collect zones. Raises an error if the profiler is running."""
        if self in _active:
            raise RuntimeError("Profiler.start: it has been started already")
        _active.append(self)
        return self

    def stop(self) -> None:
        """stop(): ends the collection. Raises an error if the profiler is not running."""
        if self not in _active:
            raise RuntimeError("Profiler.stop: it was not started")
        _active.remove(self)

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *exception: object) -> None:
        self.stop()

    @property
    def is_running(self) -> bool:
        """Whether the profiler collects zones now."""
        return self in _active

    def reset(self) -> None:
        """reset(): deletes all zones."""
        with self._lock:
            self._zones = []

    def _add(self, zone):
        with self._lock:
            self._zones.append(zone)

    @property
    def zones(self) -> list[ProfileZone]:
        """A list of the ProfileZones that have ended, in the order in which they began. Waits for their GPU times."""
        with self._lock:
            zones = sorted(self._zones, key=lambda z: (z.start_ns, -z.end_ns))
        offsets = {}
        for zone in zones:
            if zone._stamps and zone._device is not None:
                device = zone._device
                if device not in offsets:
                    moment = device.get_timestamp_calibration()
                    offsets[device] = moment.host_ns - moment.gpu_ns
                zone._resolve(offsets[device])
        return zones

    def summary(self) -> dict[str, dict[str, float]]:
        """summary(): returns {name: {count, total, mean, min, max, gpu_total}} in the order of first appearance; times are in seconds."""
        table: dict[str, dict[str, float]] = {}
        for zone in self.zones:
            row = table.setdefault(zone.name, {"count": 0, "total": 0.0, "min": float("inf"), "max": 0.0, "gpu_total": 0.0})
            row["count"] += 1
            row["total"] += zone.duration
            row["min"] = min(row["min"], zone.duration)
            row["max"] = max(row["max"], zone.duration)
            row["gpu_total"] += zone.gpu_duration or 0.0
        for row in table.values():
            row["mean"] = row["total"] / row["count"]
        return table

    def report(self) -> str:
        """report(): returns the summary as text with times in ms."""
        lines = ["{:<32} {:>8} {:>12} {:>12} {:>12}".format("zone", "count", "total", "mean", "GPU total")]
        for name, row in self.summary().items():
            lines.append("{:<32} {:>8} {:>12.3f} {:>12.3f} {:>12.3f}".format(
                name, row["count"], 1e3 * row["total"], 1e3 * row["mean"], 1e3 * row["gpu_total"]))
        return "\n".join(lines)

    def to_trace(self) -> dict[str, Any]:
        """to_trace(): returns the zones as a dict in the trace event format, which Perfetto and chrome://tracing read."""
        process, events = os.getpid(), []
        for zone in self.zones:
            event = {"name": zone.name, "cat": zone.category, "ph": "X", "pid": process, "tid": zone.thread_id,
                     "ts": zone.start_ns / 1e3, "dur": (zone.end_ns - zone.start_ns) / 1e3}
            events.append(event)
            if zone.gpu_start_ns is not None and zone.gpu_end_ns is not None:
                events.append(dict(event, tid=0, cat="gpu", ts=zone.gpu_start_ns / 1e3,
                                   dur=(zone.gpu_end_ns - zone.gpu_start_ns) / 1e3))
        if any(e["cat"] == "gpu" for e in events):
            events.append({"name": "thread_name", "ph": "M", "pid": process, "tid": 0, "args": {"name": "GPU"}})
        return {"traceEvents": events, "displayTimeUnit": "ms"}

    def write_trace(self, path: str | PathLike[str]) -> None:
        """write_trace(path): writes the zones as a JSON file for ui.perfetto.dev and chrome://tracing."""
        import json

        with open(path, "w", encoding="utf-8") as file:
            json.dump(self.to_trace(), file)

    def __repr__(self):
        return "<slangpy.Profiler, {} zones{}>".format(len(self._zones), ", running" if self.is_running else "")

    def _repr_html_(self):
        import html

        rows = "".join("<tr><td>{}</td><td>{}</td><td>{:.3f}</td><td>{:.3f}</td></tr>".format(
            html.escape(name), row["count"], 1e3 * row["total"], 1e3 * row["gpu_total"]) for name, row in self.summary().items())
        return "<table><tr><th>zone</th><th>count</th><th>ms</th><th>GPU ms</th></tr>{}</table>".format(rows)


class profile_zone:
    """profile_zone(name, device=None): makes a zone for the running profilers, as `with profile_zone("step"):` or
    @profile_zone("step"). With a device, the GPU time of the work that the zone submits is measured, too. It costs very little while no
    profiler runs."""

    name: str
    device: Device | None

    _category = "zone"

    def __init__(self, name: str, device: Device | None = None) -> None:
        self.name, self.device = str(name), device
        self._open: list[tuple[int, ProfileZone | None]] = []

    def __enter__(self) -> ProfileZone | None:
        zone = None
        if _active:
            zone = ProfileZone(self.name, self._category, self.device)
            zone.depth = getattr(_threads, "depth", 0)
            _threads.depth = zone.depth + 1
            zone.start_ns = time.monotonic_ns()
            if self.device is not None:
                zone._stamp()
        self._open.append((threading.get_ident(), zone))
        return zone

    def __exit__(self, *exception: object) -> None:
        zone = self._take()
        if zone is None:
            return
        if zone._device is not None:
            zone._stamp()
        zone.end_ns = time.monotonic_ns()
        _threads.depth = zone.depth
        for profiler in list(_active):
            profiler._add(zone)

    def _take(self):
        """Returns the zone that this thread opened last; each thread has its own, because threads may share this object."""
        me = threading.get_ident()
        entry = next(e for e in reversed(list(self._open)) if e[0] == me)
        self._open.remove(entry)
        return entry[1]

    def __call__(self, function: Callable[_P, _R]) -> Callable[_P, _R]:
        @functools.wraps(function)
        def wrapper(*args, **kwargs):
            with self:
                return function(*args, **kwargs)

        return wrapper


class profile_frame(profile_zone):
    """profile_frame(name="frame", device=None): makes a zone of the category 'frame', for one pass of a main loop."""

    _category = "frame"

    def __init__(self, name: str = "frame", device: Device | None = None) -> None:
        super().__init__(name, device)


class _function_zone(profile_zone):
    _category = "function"


if TYPE_CHECKING:

    @overload
    def profile_function(function: Callable[_P, _R], *, name: str | None = None, device: Device | None = None) -> Callable[_P, _R]: ...
    @overload
    def profile_function(
        function: None = None, *, name: str | None = None, device: Device | None = None
    ) -> Callable[[Callable[_P, _R]], Callable[_P, _R]]: ...


def profile_function(function: Any = None, *, name: str | None = None, device: Device | None = None) -> Any:
    """profile_function(function=None, *, name=None, device=None), used as @profile_function or @profile_function(name="step"), makes a
    zone for each call, named after the function."""
    if function is None:
        return lambda f: profile_function(f, name=name, device=device)
    return _function_zone(name or function.__qualname__, device)(function)

"""Reports of what was compiled and how long it took, and generated kernels in files or printed."""
from __future__ import annotations

import os
import time

from .logger import log_warn_once

TYPE_CHECKING = False
if TYPE_CHECKING:
    from os import PathLike

__all__ = [
    "CompilationReport", "set_dump_generated_shaders", "set_print_generated_shaders", "set_dump_slang_intermediates",
]


class CompilationReport:
    """The report of one module or kernel that was compiled. Its times are in seconds; a step that was not needed has 0."""

    label: str
    kind: str
    load_time: float
    compile_time: float
    create_pipeline_time: float

    def __init__(self, label: str, kind: str) -> None:
        self.label = label
        self.kind = kind
        self.load_time = self.compile_time = self.create_pipeline_time = 0.0

    @property
    def create_time(self) -> float:
        """The time of all steps together, in seconds."""
        return self.load_time + self.compile_time + self.create_pipeline_time

    def __repr__(self):
        return "<slangpy.CompilationReport {} '{}', {:.1f} ms: load {:.1f}, compile {:.1f}, pipeline {:.1f}>".format(
            self.kind, self.label, *(1e3 * t for t in (self.create_time, self.load_time, self.compile_time,
                                                       self.create_pipeline_time)))


class _Steps:
    """Called before and after each slow step of a device: "load module NAME", "compile NAME", "pipeline NAME"."""

    def __init__(self, keep):
        self.keep = bool(keep)
        self.directory = None
        self.prints = False
        self._begun = {}
        self._reports = {}

    def __call__(self, step, finished):
        words = step.split(" ", 1)
        if words[0] == "load":
            kind, _, label = words[1].partition(" ")
            field = "load_time"
        else:
            kind, label = "kernel", words[-1]
            field = "compile_time" if words[0] == "compile" else "create_pipeline_time"
        if self.prints and words[0] == "pipeline" and not finished:
            self._print(label)
        if not self.keep:
            return
        if not finished:
            self._begun[step] = time.perf_counter()
            return
        taken = time.perf_counter() - self._begun.pop(step, time.perf_counter())
        report = self._reports.get((kind, label))
        if report is None:
            report = self._reports[kind, label] = CompilationReport(label or kind, kind)
        setattr(report, field, getattr(report, field) + taken)

    def _print(self, label):
        try:
            with open(os.path.join(self.directory, label + ".slang"), encoding="utf-8") as file:
                print("// generated kernel {}\n{}".format(label, file.read()))
        except OSError as error:
            log_warn_once("set_print_generated_shaders: {}".format(error))

    def get(self, name):
        return [r for r in self._reports.values() if name is None or name in r.label]

    def clear(self):
        self._reports.clear()


def _flag(name):
    return os.environ.get(name, "").strip().lower() not in ("", "0", "false", "no", "off")


class _Settings:
    dump = _flag("SLANGPY_DUMP_GENERATED_SHADERS")
    prints = _flag("SLANGPY_PRINT_GENERATED_SHADERS")
    intermediates = _flag("SLANGPY_DUMP_SLANG_INTERMEDIATES")
    directory = ".temp"
    hidden = None # a temporary directory, used when kernels are only printed


def _directory():
    if _Settings.dump or _Settings.intermediates:
        os.makedirs(_Settings.directory, exist_ok=True)
        return os.path.abspath(_Settings.directory)
    if not _Settings.prints:
        return None
    if _Settings.hidden is None:
        import tempfile

        _Settings.hidden = tempfile.TemporaryDirectory(prefix="slangpy_")
    return _Settings.hidden.name


def _apply_dumps(devices):
    directory = _directory()
    for device in devices:
        if device.is_closed:
            continue
        steps = device._steps
        if directory != steps.directory:
            device._set_dump_directory(directory)
        steps.directory, steps.prints = directory, _Settings.prints
        device._reports = steps if steps.keep or steps.prints else None


def _set(name, value):
    from .device import _devices

    setattr(_Settings, name, value)
    _apply_dumps(list(_devices))


def set_dump_generated_shaders(value: bool, directory: str | PathLike[str] = ".temp") -> None:
    """set_dump_generated_shaders(value, directory=".temp"): whether all devices write the kernels that they generate from now on to
    files NAME.slang and NAME.spv. The environment variable SLANGPY_DUMP_GENERATED_SHADERS=1 turns this on from the start."""
    _Settings.directory = os.fspath(directory)
    _set("dump", bool(value))


def set_dump_slang_intermediates(value: bool, directory: str | PathLike[str] = ".temp") -> None:
    """set_dump_slang_intermediates(value, directory=".temp"): does the same as set_dump_generated_shaders(). The environment
    variable is SLANGPY_DUMP_SLANG_INTERMEDIATES=1."""
    _Settings.directory = os.fspath(directory)
    _set("intermediates", bool(value))


def set_print_generated_shaders(value: bool) -> None:
    """set_print_generated_shaders(value): whether kernels that are generated from now on are printed to the standard output. The
    environment variable SLANGPY_PRINT_GENERATED_SHADERS=1 turns this on from the start."""
    _set("prints", bool(value))

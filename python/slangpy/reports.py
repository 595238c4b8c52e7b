"""Reports of compilations and their times, and generated kernels in files or printed."""
from __future__ import annotations

import os
import time

from .logger import _warn_once

TYPE_CHECKING = False
if TYPE_CHECKING:
    from os import PathLike
    from typing import Any

__all__ = [
    "CompilationReport", "set_dump_generated_shaders", "set_print_generated_shaders", "set_dump_slang_intermediates",
]


class CompilationReport(dict[str, Any] if TYPE_CHECKING else dict):  # type: ignore[misc]
    """The report of one module, kernel or program that was compiled: a dict of label, alive, create_time, compile_time,
    compile_slang_time, compile_downstream_time, create_pipeline_time, and of the lists entry_point_reports and pipeline_reports, which
    are dicts as well. Times are in seconds, but start_time and end_time are in ns of the host's monotonic clock; a step that was not
    needed has 0. Each key is an attribute; further attributes are kind ("module", "kernel", "program" or "compiler") and load_time."""

    kind: str
    load_time: float

    def __init__(self, label: str, kind: str) -> None:
        dict.__init__(self, label=label, alive=True, create_time=0.0, compile_time=0.0, compile_slang_time=0.0, compile_downstream_time=0.0,
                      create_pipeline_time=0.0, entry_point_reports=[], pipeline_reports=[])
        self.kind, self.load_time = kind, 0.0

    def __getattr__(self, name: str) -> Any:
        try:
            return self[name]
        except KeyError:
            raise AttributeError("CompilationReport has no attribute '{}'".format(name)) from None

    def _add(self, step, name, start, end):
        """Adds one step to a report: "compile" or "pipeline" of a kernel, or the load of a module. Times are in ns."""
        taken = (end - start) * 1e-9
        times = {"start_time": start, "end_time": end, "create_time": taken}
        cached = {"is_cached": step == "cached", "cache_size": 0}
        self["create_time"] += taken
        if step == "load":
            self.load_time += taken
        elif step in ("compile", "cached"):
            self["compile_time"] += taken
            self["compile_slang_time"] += taken
            self["entry_point_reports"].append(dict(
                {"name": name}, **times, compile_time=taken, compile_slang_time=taken, compile_downstream_time=0.0, **cached))
        else:
            self["create_pipeline_time"] += taken
            self["pipeline_reports"].append(dict({"type": "compute"}, **times, **cached))

    def __repr__(self):
        return "<slangpy.CompilationReport {} '{}', {:.1f} ms: load {:.1f}, compile {:.1f}, pipeline {:.1f}>".format(
            self.kind, self.label, *(1e3 * t for t in (self.create_time, self.load_time, self.compile_time,
                                                       self.create_pipeline_time)))


def _report_of(reports, names):
    """Returns the report of a program: the sum of the reports of the kernels of the functions `names`."""
    whole = CompilationReport(", ".join(names), "program")
    for report in reports:
        if report.kind != "kernel" or _plain(report.label) not in names:
            continue
        for key in ("create_time", "compile_time", "compile_slang_time", "compile_downstream_time", "create_pipeline_time"):
            whole[key] += report[key]
        whole["entry_point_reports"] += report["entry_point_reports"]
        whole["pipeline_reports"] += report["pipeline_reports"]
    return whole


def _plain(label):
    """Returns the function's name in a kernel's label: "add" of "add_8f0e8a97"."""
    return label.rpartition("_")[0]


class _Steps:
    """Called before and after each slow step of a device: "load module NAME", "compile NAME" or "cached NAME", "pipeline NAME"."""

    def __init__(self, keep):
        self.keep = bool(keep)
        self.directory = None
        self.prints = False
        self.loggers = {}  # loggers by the name under which a kernel imports their Module
        self._begun = {}
        self._reports = {}

    def __call__(self, step, finished):
        words = step.split(" ", 1)
        if words[0] == "load":
            kind, _, label = words[1].partition(" ")
        else:
            kind, label = "kernel", words[-1]
        if (self.prints or self.loggers) and words[0] == "pipeline" and not finished:
            self._tell(label)
        if not self.keep:
            return
        if not finished:
            self._begun[step] = time.monotonic_ns()
            return
        end = time.monotonic_ns()
        report = self._reports.get((kind, label))
        if report is None:
            report = self._reports[kind, label] = CompilationReport(label or kind, kind)
        report._add(words[0], _plain(label), self._begun.pop(step, end), end)

    def _tell(self, label):
        """Prints a kernel that was generated, or logs it by its module's logger."""
        try:
            with open(os.path.join(self.directory, label + ".slang"), encoding="utf-8") as file:
                text = file.read()
        except OSError as error:
            _warn_once("set_print_generated_shaders: {}".format(error))
            return
        comments = [line[3:] for line in text.split("import ", 1)[0].splitlines() if line.startswith("// ")]
        module = text.partition("import ")[2].partition(";")[0].strip('"')
        title = "{}::{}".format(module, _plain(label))
        mode = "bwds" if "bwd_diff(" in text else "fwds" if "fwd_diff(" in text else "prim"
        if self.prints:
            bar = "=" * 80
            print("\n".join([bar, "GENERATED SHADER: " + title, "Mode: " + mode, "Bindings:", *("  " + c for c in comments), bar,
                             "// generated kernel {}\n{}".format(label, text), bar, "END SHADER: " + title, bar]))
        logger = self.loggers.get(module)
        if logger is not None:
            logger.info("{}: building kernel {} ({})".format(title, label, mode))
            for comment in comments:
                logger.debug("{}: {}".format(title, comment))
            logger.debug("{}: generated code:\n{}".format(title, text))

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
    hidden = None # a temporary directory, for kernels that are only printed


def _directory(text):
    """Returns the folder that kernels are written to; None means that they are not written. With `text` the caller needs the kernels'
    text, so that a folder is made if there is none."""
    if _Settings.dump or _Settings.intermediates:
        os.makedirs(_Settings.directory, exist_ok=True)
        return os.path.abspath(_Settings.directory)
    if not text:
        return None
    if _Settings.hidden is None:
        import tempfile

        _Settings.hidden = tempfile.TemporaryDirectory(prefix="slangpy_")
    return _Settings.hidden.name


def _apply_dumps(devices):
    for device in devices:
        if device.is_closed:
            continue
        steps = device._steps
        directory = _directory(_Settings.prints or steps.loggers)
        if directory != steps.directory:
            device._set_dump_directory(directory)
        steps.directory, steps.prints = directory, _Settings.prints
        device._reports = steps if steps.keep or steps.prints or steps.loggers else None


def _set(name, value):
    from .device import _devices

    setattr(_Settings, name, value)
    _apply_dumps(list(_devices))


def set_dump_generated_shaders(value: bool, directory: str | PathLike[str] = ".temp") -> None:
    """set_dump_generated_shaders(value, directory=".temp"): sets whether all devices write the kernels that they generate from now on to
    files NAME.slang and NAME.spv. The environment variable SLANGPY_DUMP_GENERATED_SHADERS=1 turns this on from the start."""
    _Settings.directory = os.fspath(directory)
    _set("dump", bool(value))


def set_dump_slang_intermediates(value: bool, directory: str | PathLike[str] = ".temp") -> None:
    """set_dump_slang_intermediates(value, directory=".temp"): does the same as set_dump_generated_shaders(). The environment
    variable is SLANGPY_DUMP_SLANG_INTERMEDIATES=1."""
    _Settings.directory = os.fspath(directory)
    _set("intermediates", bool(value))


def set_print_generated_shaders(value: bool) -> None:
    """set_print_generated_shaders(value): sets whether kernels that are generated from now on are printed to the standard output. The
    environment variable SLANGPY_PRINT_GENERATED_SHADERS=1 turns this on from the start."""
    _set("prints", bool(value))

"""SlangPy's classes for programs: sessions, entry points, kernels, pipelines and shader objects. Each is a thin layer over a Module."""
from __future__ import annotations

import os

from . import _slangpy
from .device import _check_options
from .enums import CommandQueueType
from .interop import _StreamScope

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from os import PathLike
    from typing import Any

    from typing_extensions import Self

    from ._slangpy import EntryPointLayout, Function, Module, ProgramLayout, ReflectionCursor, Struct, TypeReflection, _ShapeLike, uint3
    from .device import Device
    from .encoders import CommandEncoder, QueryPool
    from .enums import CommandQueueType, SlangCompilerOptions
    from .interop import _StreamLike
    from .reflection import ShaderStage

__all__ = [
    "SlangSession", "SlangModule", "SlangEntryPoint", "ShaderProgram", "ShaderObject", "ShaderCursor", "ComputeKernel",
    "ComputePipeline", "ComputePassEncoder",
]

SlangModule = _slangpy.Module
ShaderCursor = _slangpy.ShaderCursor


class SlangSession:
    """Loads modules with its own options; see Device.create_slang_session()."""

    device: Device
    desc: SlangCompilerOptions | None

    def __init__(self, device: Device, compiler_options: SlangCompilerOptions | Mapping[str, Any] | None = None) -> None:
        self.device = device
        self.desc = _check_options(compiler_options) if compiler_options else None

    def load_module(self, module_name: str | PathLike[str]) -> Module:
        """load_module(module_name): loads a module by its path, with or without .slang. A relative path is searched in the include
        paths."""
        return self.device.load_module(os.fspath(module_name), self.desc)

    def load_module_from_source(self, module_name: str, source: str, path: str | PathLike[str] | None = None) -> Module:
        """load_module_from_source(module_name, source, path=None): loads a module from Slang text."""
        return self.device.load_module_from_source(module_name, source, self.desc)

    def link_program(self, modules: Iterable[Module], entry_points: Iterable[SlangEntryPoint], link_options: Any = None) -> ShaderProgram:
        """link_program(modules, entry_points, link_options=None): makes a ShaderProgram of modules and entry points."""
        return ShaderProgram(modules, entry_points)

    def load_program(
            self, module_name: str | PathLike[str], entry_point_names: Sequence[str], additional_source: str | None = None,
            link_options: Any = None) -> ShaderProgram:
        """load_program(module_name, entry_point_names, additional_source=None, link_options=None): loads a module and makes a
        ShaderProgram of it and some of its entry points. `additional_source` is Slang text that is compiled after the module's text."""
        if isinstance(entry_point_names, str):
            raise TypeError("load_program: argument 'entry_point_names': expected a list of str, got 'str'")
        if additional_source:
            module = self._with_source(os.fspath(module_name), additional_source)
        else:
            module = self.load_module(module_name)
        return ShaderProgram([module], [module.entry_point(name) for name in entry_point_names])

    def _with_source(self, name, source):
        path = name if name.endswith(".slang") else name + ".slang"
        for folder in [""] + [os.fspath(p) for p in self.device.desc.include_paths]:
            if os.path.exists(os.path.join(folder, path)):
                with open(os.path.join(folder, path), encoding="utf-8") as file:
                    label = os.path.splitext(os.path.basename(path))[0]
                    return self.load_module_from_source(label, file.read() + "\n" + source)
        raise _slangpy.NameNotFoundError("load_program: there is no file '{}', nor in the include paths".format(path))


class SlangEntryPoint:
    """A function of a module that can be dispatched; see Module.entry_point()."""

    module: Module
    function: Function
    name: str

    def __init__(self, module: Module, function: Function, name: str | None = None) -> None:
        self.module = module
        self.function = function
        self.name = name or function.name

    @property
    def stage(self) -> ShaderStage:
        """The function's ShaderStage; ShaderStage.none for a function without a stage."""
        from .reflection import ShaderStage

        return self.layout.stage if self.layout else ShaderStage.none

    @property
    def layout(self) -> EntryPointLayout | None:
        """The function's EntryPointLayout; None for a function without a stage."""
        return next((e for e in self.module.layout.entry_points if e.name == self.function.name), None)

    def with_name(self, name: str) -> SlangEntryPoint:
        """with_name(name): returns the same entry point under another name."""
        return SlangEntryPoint(self.module, self.function, name)

    def rename(self, name: str) -> SlangEntryPoint:
        """rename(name): does the same as with_name()."""
        return self.with_name(name)

    def specialize(self, specialization_args: Iterable[str | int | Struct | TypeReflection]) -> SlangEntryPoint:
        """specialize(specialization_args): returns a generic entry point with its generic arguments: types, their names,
        or numbers."""
        arguments = ", ".join(str(getattr(a, "name", a)) for a in specialization_args)
        full = "{}<{}>".format(self.function.name.split("<")[0], arguments)
        return SlangEntryPoint(self.module, self.module.require_function(full), self.name)

    def __repr__(self):
        return "<slangpy.SlangEntryPoint {} of module {}>".format(self.name, self.module.name)


def _entry_point(self, name, type_conformances=()):
    """entry_point(name, type_conformances=()): returns a function of the module as a SlangEntryPoint; raises an error if the module has none of that name."""
    function = self.require_function(name)
    return SlangEntryPoint(self, function.type_conformances(list(type_conformances)) if type_conformances else function, name)


def _entry_points(self):
    """The module's functions that have a stage, such as [shader("compute")], as a list of SlangEntryPoint."""
    return [SlangEntryPoint(self, self.require_function(e.name), e.name) for e in self.layout.entry_points]


def _session(self):
    """The device's SlangSession."""
    return self.device.slang_session


# The stub of the C module declares these attributes for type checkers.
_slangpy.Module.entry_point = _entry_point  # type: ignore[method-assign]
_slangpy.Module.entry_points = property(_entry_points)  # type: ignore[method-assign, assignment]
_slangpy.Module.session = property(_session)  # type: ignore[method-assign, assignment]


def _function_missing(self, name):
    from .absent import missing

    raise missing("Function", name)


_slangpy.Function.__getattr__ = _function_missing  # type: ignore[attr-defined]


class ShaderProgram:
    """Modules and entry points, from which kernels and pipelines are made."""

    modules: list[Module]
    entry_points: list[SlangEntryPoint]

    def __init__(self, modules: Iterable[Module], entry_points: Iterable[SlangEntryPoint]) -> None:
        self.modules, self.entry_points = list(modules), list(entry_points)
        for module in self.modules:
            if not isinstance(module, _slangpy.Module):
                raise TypeError("link_program: argument 'modules': expected Modules, got {!r}".format(type(module)))
        for entry in self.entry_points:
            if not isinstance(entry, SlangEntryPoint):
                raise TypeError("link_program: argument 'entry_points': expected SlangEntryPoints, got {!r}".format(type(entry)))

    @property
    def layout(self) -> ProgramLayout:
        """Reflection of the first module: a ProgramLayout."""
        return self.modules[0].layout

    @property
    def reflection(self) -> ReflectionCursor:
        """A ReflectionCursor at the program: its globals and entry points, and the parameters of these, by attribute, [name], or
        find_field()."""
        return _slangpy.ReflectionCursor(self)

    def _reflected_parts(self):
        parts = {}
        for module in self.modules:
            for parameter in module.layout.parameters:
                parts.setdefault(parameter.name, parameter)
        for entry in self.entry_points:
            parts[entry.name] = entry.layout or entry.function.reflection
        return self.modules[0], parts

    def _only(self, where):
        if not isinstance(self, ShaderProgram):
            raise TypeError("{}: argument 'program': expected a ShaderProgram, got {!r}".format(where, type(self)))
        if len(self.entry_points) != 1:
            raise ValueError("{}: argument 'program': expected one entry point, got {}".format(where, len(self.entry_points)))
        return self.entry_points[0]

    def __repr__(self):
        return "<slangpy.ShaderProgram {}>".format(", ".join(e.name for e in self.entry_points))


class ComputeKernel:
    """A program with one entry point, which dispatch() runs; see Device.create_compute_kernel()."""

    device: Device
    program: ShaderProgram

    def __init__(self, device: Device, program: ShaderProgram) -> None:
        entry = ShaderProgram._only(program, "create_compute_kernel")
        if entry.module.device is not device:
            raise ValueError("create_compute_kernel: argument 'program': it belongs to another device")
        self.device, self.program, self._function = device, program, entry.function

    @property
    def reflection(self) -> ReflectionCursor:
        """The program's ReflectionCursor; see ShaderProgram.reflection."""
        return self.program.reflection

    @property
    def pipeline(self) -> ComputePipeline:
        """The ComputePipeline of the program."""
        return ComputePipeline(self.device, self.program)

    def dispatch(
            self, thread_count: _ShapeLike, vars: Mapping[str, Any] | None = None, command_encoder: CommandEncoder | None = None,
            queue: CommandQueueType = CommandQueueType.graphics, cuda_stream: _StreamLike | None = None,
            query_pool: QueryPool | None = None, query_index_before: int = 0, query_index_after: int = 0, **kwargs: Any) -> None:
        """dispatch(thread_count, vars=None, command_encoder=None, queue=CommandQueueType.graphics, cuda_stream=None,
        query_pool=None, query_index_before=0, query_index_after=0, **kwargs): runs the kernel in at least [x, y, z] threads,
        rounded up to groups. `vars`: global shader parameters by name or path. `kwargs`: the entry point's parameters. With a command
        encoder the dispatch is recorded. With a QueryPool the GPU times before and after it are written at the two indices.
        `cuda_stream`: CUDA stream to run it on, given as in Function.cuda_stream()."""
        encoder = command_encoder
        if encoder is None and query_pool is not None:
            encoder = self.device.create_command_encoder()
        if encoder is not None and query_pool is not None:
            encoder.write_timestamp(query_pool, query_index_before)
        with _StreamScope(self.device, cuda_stream, "ComputeKernel.dispatch"):
            self._function.dispatch(thread_count, vars=vars, command_encoder=encoder, **kwargs)
            if encoder is not None and query_pool is not None:
                encoder.write_timestamp(query_pool, query_index_after)
                if command_encoder is None:
                    self.device.submit_command_buffer(encoder.finish())

    def __repr__(self):
        return "<slangpy.ComputeKernel {}>".format(self.program.entry_points[0].name)


class ComputePipeline:
    """A program with one entry point, for ComputePassEncoder.bind_pipeline()."""

    device: Device
    program: ShaderProgram
    label: str | None
    entry_point: SlangEntryPoint

    def __init__(self, device: Device, program: ShaderProgram, label: str | None = None) -> None:
        self.entry_point = ShaderProgram._only(program, "create_compute_pipeline")
        if self.entry_point.module.device is not device:
            raise ValueError("create_compute_pipeline: argument 'program': it belongs to another device")
        self.device, self.program, self.label = device, program, label

    @property
    def thread_group_size(self) -> uint3:
        """Threads of a group as a uint3, from [numthreads]; (64, 1, 1) for a function without a stage."""
        layout = self.entry_point.layout
        return layout.compute_thread_group_size if layout else _slangpy.uint3(64, 1, 1)

    def __repr__(self):
        return "<slangpy.ComputePipeline {}>".format(self.entry_point.name)


class ShaderObject:
    """Values for a program's parameters. ShaderCursor(object) sets them: a global by its name, and a parameter of an entry point by
    the path entry_point.parameter."""

    program: ShaderProgram
    values: dict[str, Any]

    def __init__(self, program: ShaderProgram) -> None:
        if not isinstance(program, ShaderProgram):
            raise TypeError("create_root_shader_object: argument 'program': expected a ShaderProgram, got {!r}".format(type(program)))
        self.program = program
        self.values = {}

    def _split(self, entry):
        """Returns two dicts: the globals, and the parameters of the entry point. Paths into parameters become nested dicts."""
        variables, own = {}, {}
        for path, value in self.values.items():
            if path == entry:
                own.update(value)
                continue
            if not path.startswith(entry + "."):
                variables[path] = value
                continue
            *outer, last = path.split(".")[1:]
            place = own
            for name in outer:
                place = place.setdefault(name, {})
            place[last] = value
        return variables, own


class ComputePassEncoder:
    """Records dispatches of pipelines; see CommandEncoder.begin_compute_pass()."""

    def __init__(self, encoder: CommandEncoder) -> None:
        self._encoder: CommandEncoder | None = encoder
        self._pipeline: ComputePipeline | None = None
        self._object: ShaderObject | None = None

    def _check(self, where):
        if self._encoder is None:
            raise _slangpy.Error("ComputePassEncoder.{}: the pass has ended".format(where))
        return self._encoder

    def bind_pipeline(self, pipeline: ComputePipeline, root_object: ShaderObject | None = None) -> ShaderObject:
        """bind_pipeline(pipeline, root_object=None): sets the pipeline that dispatch() runs. Returns the ShaderObject of its parameters,
        which is `root_object` if given."""
        self._check("bind_pipeline")
        if not isinstance(pipeline, ComputePipeline):
            raise TypeError("bind_pipeline: argument 'pipeline': expected a ComputePipeline, got {!r}".format(type(pipeline)))
        if root_object is not None and not isinstance(root_object, ShaderObject):
            raise TypeError("bind_pipeline: argument 'root_object': expected a ShaderObject, got {!r}".format(type(root_object)))
        values = root_object or ShaderObject(pipeline.program)
        self._pipeline, self._object = pipeline, values
        return values

    def dispatch(self, thread_count: _ShapeLike) -> None:
        """dispatch(thread_count): records a dispatch of at least [x, y, z] threads with the parameters' present values."""
        self._check("dispatch")
        if self._pipeline is None or self._object is None:
            raise _slangpy.Error("ComputePassEncoder.dispatch: no pipeline is bound; see bind_pipeline()")
        entry = self._pipeline.entry_point
        variables, own = self._object._split(entry.name)
        entry.function.dispatch(thread_count, vars=variables, command_encoder=self._encoder, **own)

    def dispatch_compute(self, thread_group_count: _ShapeLike) -> None:
        """dispatch_compute(thread_group_count): records a dispatch of [x, y, z] thread groups."""
        self._check("dispatch_compute")
        if self._pipeline is None:
            raise _slangpy.Error("ComputePassEncoder.dispatch_compute: no pipeline is bound; see bind_pipeline()")
        given: Any = thread_group_count
        groups = [given] if isinstance(given, int) else list(given)
        groups += [1] * (3 - len(groups))
        self.dispatch([g * s for g, s in zip(groups, self._pipeline.thread_group_size)])

    def dispatch_compute_indirect(self, arg_buffer: Any) -> None:
        """dispatch_compute_indirect(arg_buffer): records a dispatch of as many thread groups as three uints in a buffer say. `arg_buffer`: a
        BufferOffsetPair, a dict of its fields, or a Buffer."""
        self._check("dispatch_compute_indirect")
        if self._pipeline is None or self._object is None:
            raise _slangpy.Error("ComputePassEncoder.dispatch_compute_indirect: no pipeline is bound; see bind_pipeline()")
        given = arg_buffer if isinstance(arg_buffer, dict) else vars(arg_buffer) if not isinstance(arg_buffer, _slangpy.Tensor) else {}
        buffer, offset = given.get("buffer", arg_buffer), given.get("offset", 0)
        count = _slangpy.Tensor(buffer.view((buffer.size,), dtype="uint8_t")[offset:offset + 12], "uint", (3,))
        entry = self._pipeline.entry_point
        function: Any = entry.function
        variables, own = self._object._split(entry.name)
        function.dispatch_indirect(count, vars=variables, command_encoder=self._encoder, **own)

    def push_debug_group(self, name: str, color: Any = None) -> None:
        """push_debug_group(name, color=None): names what follows, for debug tools."""
        self._check("push_debug_group").push_debug_group(name)

    def pop_debug_group(self) -> None:
        """pop_debug_group(): ends the newest group."""
        self._check("pop_debug_group").pop_debug_group()

    def insert_debug_marker(self, name: str, color: Any = None) -> None:
        """insert_debug_marker(name, color=None): names this point, for debug tools."""
        self._check("insert_debug_marker").insert_debug_marker(name)

    def write_timestamp(self, query_pool: QueryPool, index: int) -> None:
        """write_timestamp(query_pool, index): as CommandEncoder.write_timestamp()."""
        self._check("write_timestamp").write_timestamp(query_pool, index)

    def end(self) -> None:
        """end(): ends the pass."""
        self._check("end")
        self._encoder = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        if self._encoder is not None:
            self.end()

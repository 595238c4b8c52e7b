"""Programs built by hand: sessions, entry points, kernels, pipelines, shader objects. Each is a thin view of a Module."""

from collections.abc import Iterable, Mapping, Sequence
from os import PathLike
from typing import Any

from typing_extensions import Self

from . import Device, EntryPointLayout, Function, Module, ProgramLayout, ShaderCursor as ShaderCursor, TypeReflection, Struct, _ShapeLike
from .encoders import CommandEncoder, QueryPool
from .enums import CommandQueueType, SlangCompilerOptions
from .interop import _StreamLike
from .reflection import ShaderStage

__all__ = [
    "SlangSession", "SlangModule", "SlangEntryPoint", "ShaderProgram", "ShaderObject", "ShaderCursor", "ComputeKernel",
    "ComputePipeline", "ComputePassEncoder",
]

SlangModule = Module

class SlangSession:
    """Loads modules with options of its own: see Device.create_slang_session()."""
    device: Device
    desc: SlangCompilerOptions | None
    def __init__(self, device: Device, compiler_options: SlangCompilerOptions | Mapping[str, Any] | None = None) -> None: ...
    def load_module(self, module_name: str | PathLike[str]) -> Module:
        """A module by its path, with or without .slang; relative ones are searched in the include paths."""
    def load_module_from_source(self, module_name: str, source: str, path: str | PathLike[str] | None = None) -> Module:
        """A module from Slang text."""
    def link_program(
        self, modules: Iterable[Module], entry_points: Iterable[SlangEntryPoint], link_options: Any = None
    ) -> ShaderProgram:
        """A ShaderProgram."""
    def load_program(
        self,
        module_name: str | PathLike[str],
        entry_point_names: Sequence[str],
        additional_source: str | None = None,
        link_options: Any = None,
    ) -> ShaderProgram:
        """Load a module, and take some of its entry points. `additional_source`: Slang text that is compiled behind the
        module's own.
        """

class SlangEntryPoint:
    """A function of a module that can be dispatched: see Module.entry_point()."""
    module: Module
    function: Function
    name: str
    def __init__(self, module: Module, function: Function, name: str | None = None) -> None: ...
    @property
    def stage(self) -> ShaderStage:
        """Its ShaderStage; none for a plain function."""
    @property
    def layout(self) -> EntryPointLayout | None:
        """Its EntryPointLayout; None for a plain function."""
    def with_name(self, name: str) -> SlangEntryPoint:
        """The same under another name."""
    def rename(self, name: str) -> SlangEntryPoint:
        """As with_name."""
    def specialize(self, specialization_args: Iterable[str | int | Struct | TypeReflection]) -> SlangEntryPoint:
        """A generic one with its arguments: names of types, or numbers."""

class ShaderProgram:
    """Modules and entry points: what kernels and pipelines are made of."""
    modules: list[Module]
    entry_points: list[SlangEntryPoint]
    def __init__(self, modules: Iterable[Module], entry_points: Iterable[SlangEntryPoint]) -> None: ...
    @property
    def layout(self) -> ProgramLayout:
        """Reflection of the first module: a ProgramLayout."""

class ComputeKernel:
    """A program with one entry point, to be dispatched: see Device.create_compute_kernel()."""
    device: Device
    program: ShaderProgram
    def __init__(self, device: Device, program: ShaderProgram) -> None: ...
    @property
    def pipeline(self) -> ComputePipeline:
        """The ComputePipeline of the program."""
    def dispatch(
        self,
        thread_count: _ShapeLike,
        vars: Mapping[str, Any] | None = None,
        command_encoder: CommandEncoder | None = None,
        queue: CommandQueueType = ...,
        cuda_stream: _StreamLike | None = None,
        query_pool: QueryPool | None = None,
        query_index_before: int = 0,
        query_index_after: int = 0,
        **kwargs: Any,
    ) -> None:
        """Run in at least [x, y, z] threads (whole groups). `vars`: global shader parameters by name or path; `kwargs`: the
        entry point's parameters. With a command encoder it is recorded; with a QueryPool, GPU times before and after are
        written. `cuda_stream`: run it on that stream, as Function.cuda_stream().
        """

class ComputePipeline:
    """A program with one entry point, for ComputePassEncoder.bind_pipeline()."""
    device: Device
    program: ShaderProgram
    label: str | None
    entry_point: SlangEntryPoint
    def __init__(self, device: Device, program: ShaderProgram, label: str | None = None) -> None: ...
    @property
    def thread_group_size(self) -> tuple[int, int, int]:
        """Threads of a group: [numthreads] as (x, y, z); (64, 1, 1) for a plain function."""

class ShaderObject:
    """Values for a program's parameters. ShaderCursor(object) sets them: globals by name, those of an entry point below the
    entry point's name.
    """
    program: ShaderProgram
    values: dict[str, Any]
    def __init__(self, program: ShaderProgram) -> None: ...

class ComputePassEncoder:
    """Records dispatches of pipelines: see CommandEncoder.begin_compute_pass()."""

    def __init__(self, encoder: CommandEncoder) -> None: ...
    def bind_pipeline(self, pipeline: ComputePipeline, root_object: ShaderObject | None = None) -> ShaderObject:
        """What dispatch() runs. Gives the ShaderObject of its parameters."""
    def dispatch(self, thread_count: _ShapeLike) -> None:
        """Record a dispatch of at least [x, y, z] threads, with the parameters as they are now."""
    def end(self) -> None:
        """End the pass."""
    def __enter__(self) -> Self: ...
    def __exit__(self, *exception: object) -> None: ...

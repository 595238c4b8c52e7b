"""Devices: making them, what they are, what they make; the current device."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any

from typing_extensions import Self

from . import Module, _ArrayLike, _Options, _Path, _TypeLike
from .buffers import Buffer
from .encoders import CommandBuffer, CommandEncoder, Fence, QueryPool
from .enums import (
    AdapterInfo, BufferDesc, BufferUsage, CommandQueueType, DeviceDesc, DeviceInfo, DeviceType, Feature, Format, MemoryType,
    QueryType, ResourceState, ShaderCacheStats, ShaderHotReloadEvent, ShaderModel, SlangCompilerOptions, TimestampCalibration,
)
from .interop import NativeHandle, _StreamLike
from .programs import ComputeKernel, ComputePipeline, ShaderObject, ShaderProgram, SlangEntryPoint, SlangSession
from .reports import CompilationReport

__all__ = [
    "Device", "create_device", "init_device", "enumerate_adapters", "push_current_device", "pop_current_device",
    "current_device", "create_buffer", "create_command_encoder", "create_fence", "create_query_pool",
    "create_slang_session", "create_compute_kernel", "create_compute_pipeline", "load_module", "load_module_from_file",
    "load_module_from_source", "load_program", "link_program", "submit_command_buffer", "submit_command_buffers",
]

class _Device:  # in C
    log: Callable[[int, str], object] | None
    progress: Callable[[str, bool], object] | None
    @property
    def is_closed(self) -> bool:
        """Whether close() was called."""
    def close(self) -> None: ...
    def wait(self) -> None:
        """Submit all work and wait for it. Ctrl-C ends the waiting."""
    def flush(self) -> int:
        """Hand all recorded work to the GPU without waiting; gives its id."""
    def wait_for_submit(self, id: int, /) -> None:
        """Wait for the work up to an id that flush() or submit gave."""
    def is_submit_finished(self, id: int, /) -> bool:
        """Whether the work up to an id has finished. Never waits."""
    def stats(self) -> dict[str, int]:
        """Counts since the device was made: calls, dispatches, barriers, submits, bytes."""
    def trim(self) -> None:
        """Give unused pooled memory back to the driver."""
    def register_device_close_callback(self, function: Callable[[Device], object], /) -> None:
        """Call function(device) before the device is released."""
    def reload_all_programs(self) -> int:
        """Reload all modules whose files have changed; gives how many."""
    def set_hot_reload_delay(self, delay_ms: int, /) -> None:
        """Least time between two looks at the files, in milliseconds."""
    def flush_print(self) -> None:
        """Wait for work that prints, and deliver its messages to the log."""
    def flush_print_to_string(self) -> str:
        """Wait for work that prints; gives its messages, a line each."""
    def load_module(self, path: _Path, options: _Options = {}, link: Sequence[Module] = []) -> Module:
        """A Module."""
    def load_module_from_file(self, path: _Path, options: _Options = {}, link: Sequence[Module] = []) -> Module:
        """A Module."""
    def load_module_from_source(
        self, module_name: str, source: str, options: _Options = {}, link: Sequence[Module] = []
    ) -> Module:
        """A Module."""
    def __enter__(self) -> Self: ...

class Device(_Device):
    """Device(type=DeviceType.automatic, ...) or Device(desc): a GPU with its memory, its compiler sessions and its cache of
    compiled calls. Keywords are those of DeviceDesc; see create_device(). `import slangpy` always works in its modules.
    """

    def __new__(
        cls,
        type: DeviceType | str | DeviceDesc = ...,
        enable_debug_layers: bool = False,
        adapter_luid: Sequence[int] | None = None,
        include_paths: Sequence[_Path] = ...,
        enable_cuda_interop: bool = False,
        enable_print: bool = False,
        enable_hot_reload: bool = True,
        enable_compilation_reports: bool = False,
        existing_device_handles: Sequence[NativeHandle] | None = None,
        bindless_options: Any = None,
        *,
        desc: DeviceDesc | None = ...,
        adapter_name: str | None = ...,
        label: str = ...,
        compiler_options: SlangCompilerOptions | Mapping[str, Any] | None = ...,
        log: Callable[[int, str], object] | None = ...,
        progress: Callable[[str, bool], object] | None = ...,
        print_buffer_size: int = ...,
        compile_timeout_s: float = ...,
        check_bounds: bool = ...,
        slang_library: str | None = ...,
        max_plans: int = ...,
        enable_rhi_validation: bool = ...,
        enable_aftermath: bool = ...,
        module_cache_path: _Path | None = ...,
        shader_cache_path: _Path | None = ...,
        shader_cache_size: int = ...,
    ) -> Self: ...
    def close(self) -> None:
        """Call the close callbacks, wait for all work, then release the device and all that was made from it."""
    def __exit__(self, *exception: object) -> None: ...
    @property
    def desc(self) -> DeviceDesc:
        """What the device was made with: a DeviceDesc."""
    @property
    def info(self) -> DeviceInfo:
        """What the device is: a DeviceInfo."""
    @property
    def features(self) -> list[Feature]:
        """The Features that the device has, as a list."""
    def has_feature(self, feature: Feature | str) -> bool:
        """Whether the device has a Feature, which may be given by its name."""
    @property
    def capabilities(self) -> list[str]:
        """Names of Slang capabilities that kernels may use, as a list."""
    @property
    def supported_shader_model(self) -> ShaderModel:
        """The newest shader model whose compute features the device has."""
    @property
    def shader_cache_stats(self) -> ShaderCacheStats:
        """The cache of compiled calls: a ShaderCacheStats."""
    @property
    def slang_session(self) -> SlangSession:
        """The device's own SlangSession."""
    @property
    def enable_compilation_reports(self) -> bool:
        """Whether reports are kept of what is loaded and compiled."""
    @enable_compilation_reports.setter
    def enable_compilation_reports(self, keep: bool) -> None: ...
    @property
    def native_handles(self) -> list[NativeHandle]:
        """The CUdevice and the CUcontext of a CUDA device, as a list of NativeHandle; empty for others, whose handles stay
        inside.
        """
    def set_cuda_context_current(self) -> None:
        """Make the device's CUDA context this thread's current one, for other libraries; calls of this one leave the current
        context as it is. An error on devices without one.
        """
    def sync_to_cuda(self, cuda_stream: _StreamLike = 0) -> None:
        """All further work of this CUDA device begins after what the stream has been given so far by others. Does not wait.
        0: CUDA's default stream; else as Function.cuda_stream().
        """
    def sync_to_device(self, cuda_stream: _StreamLike = 0) -> None:
        """What the stream is given from now on begins after all work of this CUDA device so far. Does not wait. As
        sync_to_cuda().
        """
    def cuda_context_scope(self) -> AbstractContextManager[Device]:
        """For `with`: the device's CUDA context is this thread's current one in the block, and what was current before is so
        again after it, also when the device was closed meanwhile. An error on devices without one.
        """
    @property
    def supports_cuda_interop(self) -> bool:
        """Whether memory is shared with a CUDA device beside it: never in this version."""
    def register_shader_hot_reload_callback(self, callback: Callable[[ShaderHotReloadEvent], object]) -> None:
        """Call callback(event), a ShaderHotReloadEvent, after each reload of a module."""
    def create_buffer(
        self,
        size: int | BufferDesc = 0,
        element_count: int = 0,
        struct_size: int = 0,
        resource_type_layout: _TypeLike | None = None,
        format: Format | str = ...,
        memory_type: MemoryType = ...,
        usage: BufferUsage = ...,
        default_state: ResourceState | None = None,
        label: str = "",
        data: _ArrayLike | None = None,
        struct_type: _TypeLike | None = None,
        desc: BufferDesc | Mapping[str, Any] | None = None,
    ) -> Buffer:
        """A Buffer of `size` bytes, or of `element_count` elements of `struct_size` bytes, of a type (`struct_type`:
        module.Foo, "float3"; `resource_type_layout`: of reflection) or of a format; or as large as `data`, whose bytes
        are copied to it. Without type and format it holds bytes, which fit buffers and pointers of any type; their layout
        is then the program's business: structs lie as in C (scalar layout). Without data the contents are undefined. A
        BufferDesc, `desc` or the first argument, stands for all.
        """
    def create_command_encoder(
        self,
        queue: CommandQueueType = ...,
        label: str | None = None,
        on_record: Callable[[int, int, str], object] | None = None,
    ) -> CommandEncoder:
        """A CommandEncoder. `on_record`: function(kind, index, name) called after each recorded operation; it must not use
        the device.
        """
    def submit_command_buffers(
        self,
        command_buffers: Iterable[CommandBuffer],
        wait_fences: Sequence[Fence] = (),
        wait_fence_values: Sequence[int] = (),
        signal_fences: Sequence[Fence] = (),
        signal_fence_values: Sequence[int] = (),
        queue: CommandQueueType = ..., cuda_stream: _StreamLike | None = ...,
    ) -> int:
        """Run CommandBuffers in order, after the fences have the values to wait for; gives the id to wait for. The fences to
        signal get their values when it has finished. `cuda_stream`: run them on that stream (an int, a NativeHandle, or
        an object with cuda_stream, as torch's), after all earlier work of the device, which goes on after them.
        """
    def submit_command_buffer(self, command_buffer: CommandBuffer, queue: CommandQueueType = ..., cuda_stream: _StreamLike | None = ...) -> int:
        """Run a CommandBuffer; gives the id to wait for. As submit_command_buffers()."""
    def create_fence(self, initial_value: int = 0, shared: bool = False) -> Fence:
        """A Fence. Shared ones are an error."""
    def create_query_pool(self, type: QueryType = ..., count: int = 1) -> QueryPool:
        """A QueryPool of GPU times."""
    def create_slang_session(
        self,
        compiler_options: SlangCompilerOptions | Mapping[str, Any] | None = None,
        add_default_include_paths: bool = True,
        cache_path: _Path | None = None,
    ) -> SlangSession:
        """A SlangSession, whose options are for the modules that it loads. Options of the device that it does not give stay."""
    def load_program(
        self,
        module_name: _Path,
        entry_point_names: Sequence[str],
        additional_source: str | None = None,
        link_options: Any = None,
    ) -> ShaderProgram:
        """A ShaderProgram of a module (a path, with or without .slang) and some of its entry points. `additional_source`:
        Slang text behind the module's.
        """
    def link_program(
        self,
        modules: Iterable[Module],
        entry_points: Iterable[SlangEntryPoint],
        link_options: Any = None,
    ) -> ShaderProgram:
        """A ShaderProgram."""
    def create_compute_kernel(self, program: ShaderProgram) -> ComputeKernel:
        """A ComputeKernel of a ShaderProgram with one entry point."""
    def create_compute_pipeline(self, program: ShaderProgram, label: str | None = None) -> ComputePipeline:
        """A ComputePipeline, for CommandEncoder.begin_compute_pass()."""
    def create_root_shader_object(self, program: ShaderProgram) -> ShaderObject:
        """A ShaderObject for a program's parameters."""
    def wait_for_idle(self, queue: CommandQueueType = ...) -> None:
        """As wait()."""
    def run_garbage_collection(self) -> None:
        """Give unused memory back to the driver. Waits."""
    def get_timestamp_calibration(self) -> TimestampCalibration:
        """One moment on the GPU's clock and the host's: a TimestampCalibration. Waits."""
    def get_compilation_reports(self, name: str | None = None) -> list[CompilationReport]:
        """CompilationReports of modules and kernels whose label holds `name`, oldest first. Empty without
        enable_compilation_reports=True.
        """
    def clear_compilation_reports(self) -> None:
        """Forget them."""
    @staticmethod
    def enumerate_adapters(type: DeviceType = ...) -> list[AdapterInfo]:
        """What adapters there are, as a list of AdapterInfo."""

def create_device(
    type: DeviceType | str = ...,
    enable_debug_layers: bool = False,
    adapter_luid: Sequence[int] | None = None,
    include_paths: Sequence[_Path] = ...,
    enable_cuda_interop: bool = False,
    enable_print: bool = False,
    enable_hot_reload: bool = True,
    enable_compilation_reports: bool = False,
    existing_device_handles: Sequence[NativeHandle] | None = None,
    bindless_options: Any = None,
    *,
    adapter_name: str | None = ...,
    label: str = ...,
    compiler_options: SlangCompilerOptions | Mapping[str, Any] | None = ...,
    log: Callable[[int, str], object] | None = ...,
    progress: Callable[[str, bool], object] | None = ...,
    print_buffer_size: int = ...,
    compile_timeout_s: float = ...,
    check_bounds: bool = ...,
    slang_library: str | None = ...,
    max_plans: int = ...,
    enable_rhi_validation: bool = ...,
    enable_aftermath: bool = ...,
    module_cache_path: _Path | None = ...,
    shader_cache_path: _Path | None = ...,
    shader_cache_size: int = ...,
) -> Device:
    """A Device. `adapter_luid`: of enumerate_adapters(); `include_paths`: searched by `import` and #include;
    `existing_device_handles`: a CUcontext for a CUDA device, which must outlive it, with or without its CUdevice, as a
    list of NativeHandle; see get_cuda_current_context_native_handles(); `more`: further keywords of DeviceDesc
    (adapter_name, label, compiler_options, log, progress, print_buffer_size, slang_library, max_plans, compile_timeout_s:
    seconds that the Slang compiler may take for one module or kernel, and the driver for one kernel, 0: 600, negative: no
    limit; check_bounds, for debugging: tensors taken whole check their indices in the kernel, and the first bad one is
    the next wait's or read's error). The environment's SLANGPY_DEVICE_TYPE_OVERRIDE names another type.
    """
def init_device() -> Device:
    """create_device() without arguments."""
def enumerate_adapters(type: DeviceType = ...) -> list[AdapterInfo]:
    """What adapters there are, as a list of AdapterInfo, best first or not."""
def push_current_device(device: Device) -> None:
    """Functions such as slangpy.create_buffer() use it until it is popped or closed."""
def pop_current_device() -> Device:
    """Back to the one before; gives the device. An error when none was pushed."""
def current_device() -> Device:
    """The device pushed last. An error when there is none."""
# As methods of the current device.
def create_buffer(
    size: int | BufferDesc = 0,
    element_count: int = 0,
    struct_size: int = 0,
    resource_type_layout: _TypeLike | None = None,
    format: Format | str = ...,
    memory_type: MemoryType = ...,
    usage: BufferUsage = ...,
    default_state: ResourceState | None = None,
    label: str = "",
    data: _ArrayLike | None = None,
    struct_type: _TypeLike | None = None,
    desc: BufferDesc | Mapping[str, Any] | None = None,
) -> Buffer:
    """Device.create_buffer() of the current device."""
def create_command_encoder(
    queue: CommandQueueType = ...,
    label: str | None = None,
    on_record: Callable[[int, int, str], object] | None = None,
) -> CommandEncoder:
    """Device.create_command_encoder() of the current device."""
def create_fence(initial_value: int = 0, shared: bool = False) -> Fence:
    """Device.create_fence() of the current device."""
def create_query_pool(type: QueryType = ..., count: int = 1) -> QueryPool:
    """Device.create_query_pool() of the current device."""
def create_slang_session(
    compiler_options: SlangCompilerOptions | Mapping[str, Any] | None = None,
    add_default_include_paths: bool = True,
    cache_path: _Path | None = None,
) -> SlangSession:
    """Device.create_slang_session() of the current device."""
def create_compute_kernel(program: ShaderProgram) -> ComputeKernel:
    """Device.create_compute_kernel() of the current device."""
def create_compute_pipeline(program: ShaderProgram, label: str | None = None) -> ComputePipeline:
    """Device.create_compute_pipeline() of the current device."""
def load_module(path: _Path, options: _Options = {}, link: Sequence[Module] = []) -> Module:
    """Device.load_module() of the current device."""
def load_module_from_file(path: _Path, options: _Options = {}, link: Sequence[Module] = []) -> Module:
    """Device.load_module_from_file() of the current device."""
def load_module_from_source(
    module_name: str,
    source: str,
    options: _Options = {},
    link: Sequence[Module] = [],
) -> Module:
    """Device.load_module_from_source() of the current device."""
def load_program(
    module_name: _Path,
    entry_point_names: Sequence[str],
    additional_source: str | None = None,
    link_options: Any = None,
) -> ShaderProgram:
    """Device.load_program() of the current device."""
def link_program(
    modules: Iterable[Module],
    entry_points: Iterable[SlangEntryPoint],
    link_options: Any = None,
) -> ShaderProgram:
    """Device.link_program() of the current device."""
def submit_command_buffer(command_buffer: CommandBuffer, queue: CommandQueueType = ..., cuda_stream: _StreamLike | None = ...) -> int:
    """Device.submit_command_buffer() of the current device."""
def submit_command_buffers(
    command_buffers: Iterable[CommandBuffer],
    wait_fences: Sequence[Fence] = (),
    wait_fence_values: Sequence[int] = (),
    signal_fences: Sequence[Fence] = (),
    signal_fence_values: Sequence[int] = (),
    queue: CommandQueueType = ..., cuda_stream: _StreamLike | None = ...,
) -> int:
    """Device.submit_command_buffers() of the current device."""

"""The class Device, the functions that make devices, and the current device."""
from __future__ import annotations

import itertools
import os
import sys
import threading
import weakref

from . import _slangpy
from . import buffers as _buffers
from .enums import (AdapterInfo, BufferDesc, BufferUsage, CommandQueueType, DeviceDesc, DeviceInfo, DeviceLimits, DeviceType, Feature, Format,
                    FenceDesc, HeapReport, MemoryType, QueryPoolDesc, QueryType, ShaderCacheStats, ShaderHotReloadEvent, ShaderModel, SlangCompilerOptions, SlangMatrixLayout,
                    SlangSessionDesc, TimestampCalibration)
from .interop import NativeHandle, NativeHandleType, _ContextScope, _StreamScope, _owner_of, _take_handles, get_cuda_current_context_native_handles
from .logger import _warn_once, log_error, log_info
from .reports import _Steps, _apply_dumps

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from contextlib import AbstractContextManager
    from typing import Any, Concatenate, ParamSpec, TypedDict, TypeVar, Unpack

    from typing_extensions import Self

    from ._slangpy import Module, ReflectionCursor, TypeLayoutReflection, _ArrayLike, _Options, _Path, _TypeLike
    from .buffers import Buffer
    from .encoders import (CommandBuffer, CommandEncoder, CommandRecordingDiscardedEvent, CommandRecordingSubmittedEvent, Fence,
                           QueryPool)
    from .enums import BindlessDesc, LogLevel, ResourceState, SlangLinkOptions
    from .formats import FormatSupport
    from .interop import _StreamLike
    from .pictures import (ColorTargetDesc, DepthStencilDesc, InputElementDesc, InputLayoutDesc, MultisampleDesc, PrimitiveTopology,
                           RasterizerDesc, RenderPipelineDesc, VertexStreamDesc)
    from .programs import (ComputeKernel, ComputePipeline, ShaderObject, ShaderProgram, SlangEntryPoint, SlangModule, SlangSession,
                           TypeConformance)
    from .math import float4
    from .reports import CompilationReport
    from .render import InputLayout, RenderPipeline
    from .resources import Sampler, Texture
    from .textures import (ComparisonFunc, SamplerDesc, TextureAddressingMode, TextureDesc, TextureFilteringMode, TextureReductionOp,
                           TextureType, TextureUsage)
    from .shader_cursors import PartObject

    _P = ParamSpec("_P")
    _R = TypeVar("_R")

    class _DeviceMore(TypedDict, total=False):  # keywords of DeviceDesc that create_device() does not list
        adapter_name: str | None
        label: str
        compiler_options: SlangCompilerOptions | Mapping[str, Any] | None
        log: Callable[[int, str], object] | None
        progress: Callable[[str, bool], object] | None
        print_buffer_size: int
        compile_timeout_s: float
        check_bounds: bool
        slang_library: str | None
        max_plans: int
        enable_rhi_validation: bool
        debug_layers_log_level: LogLevel
        rhi_validation_log_level: LogLevel
        enable_ray_tracing_validation: bool
        enable_cuda_launch_from_gfx: bool
        enable_ray_tracing: bool
        additional_vulkan_instance_extensions: Sequence[str] | None
        additional_vulkan_device_extensions: Sequence[str] | None
        enable_aftermath: bool
        module_cache_path: _Path | None
        shader_cache_path: _Path | None
        shader_cache_size: int
        pack: _Path | bytes | None
        record_pack: bool
        offline: bool
        pack_archs: Sequence[int] | None

    class _NewMore(_DeviceMore, total=False):
        desc: DeviceDesc | None

    class _DeviceOptions(_DeviceMore, total=False):
        enable_debug_layers: bool
        include_paths: Sequence[_Path]
        enable_cuda_interop: bool
        enable_print: bool
        enable_hot_reload: bool
        enable_compilation_reports: bool
        bindless_options: Any

__all__ = [
    "Device", "create_device", "init_device", "enumerate_adapters", "push_current_device", "pop_current_device", "current_device",
    "create_buffer",
    "create_texture",
    "create_sampler",
    "create_command_encoder",
    "create_fence",
    "create_query_pool",
    "create_slang_session",
    "create_shader_object",
    "create_compute_kernel",
    "create_compute_pipeline",
    "create_input_layout",
    "create_render_pipeline",
    "create_root_shader_object",
    "load_module",
    "load_module_from_file",
    "load_module_from_source",
    "load_program",
    "link_program",
    "submit_command_buffer",
    "submit_command_buffers",
]

_KINDS = {1: "discrete", 2: "integrated", 3: "cpu"}

# The bits of spy_device_info.features, by Feature.
_FEATURE_BITS = {
    Feature.half: 0x1, Feature.double: 0x2, Feature.int8: 0x4, Feature.int16: 0x8, Feature.int64: 0x10,
    Feature.atomic_float: 0x20, Feature.timestamp_query: 0x40, Feature.wave_ops: 0x80, Feature.pointer: 0x100, Feature.bindless: 0x200,
    Feature.cooperative_matrix: 0x400, Feature.cooperative_matrix2: 0x800,
}

_devices: "weakref.WeakSet[Device]" = weakref.WeakSet()


def _luid(index):
    return [index + 1] + [0] * 15


def _version_of(info):
    version = info["api_version"]
    if info["backend"] == "cuda":
        return "{}.{}".format(version // 1000, version % 1000 // 10)
    return "{}.{}.{}".format(version >> 22 & 127, version >> 12 & 1023, version & 4095)


def enumerate_adapters(type: DeviceType = DeviceType.automatic) -> list[AdapterInfo]:
    """enumerate_adapters(type=DeviceType.automatic): returns the adapters as a list of AdapterInfo. The best adapter
    need not come first."""
    return [AdapterInfo(name=info["name"], luid=_luid(i), driver=info["driver"], kind=_KINDS[info["type"]],
                        memory_bytes=info["memory_bytes"])
            for i, info in enumerate(_slangpy._enumerate_adapters(type))]


def _check_options(options):
    """Returns options as a SlangCompilerOptions. An option that would change results but is not supported is an error; one without an
    effect gives a warning."""
    if not isinstance(options, SlangCompilerOptions):
        options = SlangCompilerOptions(options)
    _slangpy._check_options(options)
    for name in ("report_downstream_time", "report_perf_benchmark", "enable_warnings", "disable_warnings",
                 "dump_intermediates"):
        if getattr(options, name):
            _warn_once("compiler_options: '{}' has no effect".format(name))
    if options.matrix_layout != SlangMatrixLayout.row_major:
        raise _slangpy.Error("compiler_options: 'matrix_layout': matrices are always row_major, got {!r}".format(
            options.matrix_layout))
    return options


def _compiler_places() -> list[str]:
    from .compiler import places

    return places()


class _Unraisable:
    """The argument that sys.unraisablehook() gets for the exception of a callback."""

    err_msg = None

    def __init__(self, function):
        self.exc_type, self.exc_value, self.exc_traceback = sys.exc_info()
        self.object = function


def _given(kind, first, desc):
    """Returns the description that a method was given, as `desc` or as its first argument, an object or a dict; None if the method got neither."""
    value = first if isinstance(first, (kind, dict)) else desc
    return value if value is None or isinstance(value, kind) else kind(value)


_numbers = itertools.count(1)  # the numbers of callbacks


def _cache_folder(desc):
    """The folder of the cache on disk; None means the library's own choice."""
    folder = desc.shader_cache_path or desc.module_cache_path
    return os.fspath(folder) if folder else None


class Device(_slangpy._Device):
    """Device(type=DeviceType.automatic, ...) or Device(desc): a GPU with its memory, its compiler sessions and its cache of
    compiled calls. The keywords are the fields of DeviceDesc; see create_device(). Its Slang modules can always `import slangpy`."""

    _names: Any
    _sharers: Any
    _session: Any
    _reload_callbacks: dict[int, Callable[[ShaderHotReloadEvent], object]] | None
    _reload_events: list[ShaderHotReloadEvent] | None

    if TYPE_CHECKING:

        def __new__(
                cls, type: DeviceType | str | DeviceDesc = ..., enable_debug_layers: bool = False, adapter_luid: Sequence[int] | None = None,
                include_paths: Sequence[_Path] = ..., enable_cuda_interop: bool = False, enable_print: bool = False,
                enable_hot_reload: bool = True, enable_compilation_reports: bool = False,
                existing_device_handles: Sequence[NativeHandle] | None = None, bindless_options: Any = None,
                **more: Unpack[_NewMore]) -> Self: ...

    def __new__(cls, type=DeviceType.automatic, *args, **kwargs):  # type: ignore[no-redef]
        if len(args) > len(_POSITIONS):
            raise TypeError("Device: Too many arguments: expected {}, got {}".format(len(_POSITIONS) + 1, len(args) + 1))
        given = type if isinstance(type, (DeviceDesc, dict)) else kwargs.pop("desc", None)
        if given is None:
            kwargs["type"] = type
        desc = DeviceDesc(given if given is None or isinstance(given, dict) else vars(given), **dict(zip(_POSITIONS, args)), **kwargs)
        for name in ("enable_cuda_interop", "enable_aftermath", "bindless_options"):
            if getattr(desc, name):
                _warn_once("create_device: '{}' is not supported by this version and has no effect".format(name))
        options = _check_options(desc.compiler_options) if desc.compiler_options else SlangCompilerOptions()
        owner = _owner_of(desc, Device.get_created_devices()) if desc.existing_device_handles else None
        context, luid = _take_handles(desc) if owner is None else (None, None)
        named = desc.slang_library or os.environ.get("SLANGPY_SLANG_LIBRARY")
        paths = list(desc.include_paths or []) + list(options.include_paths)
        self = _slangpy._Device.__new__(
            cls, desc.type, enable_debug_layers=desc.enable_debug_layers or desc.enable_rhi_validation,
            adapter_luid=luid, include_paths=paths, enable_print=desc.enable_print,
            enable_hot_reload=desc.enable_hot_reload, cuda_context=context,
            adapter_name=desc.adapter_name, max_plans=desc.max_plans, slang_library=desc.slang_library,
            slang_paths=() if named else _compiler_places(), label=desc.label or None,
            log=desc.log, progress=desc.progress, print_buffer_size=desc.print_buffer_size,
            compile_timeout_s=desc.compile_timeout_s, check_bounds=desc.check_bounds, shared=owner,
            cache_path=_cache_folder(desc), cache_size=desc.shader_cache_size if desc.shader_cache_path else 0,
            pack=desc.pack if desc.pack is None or isinstance(desc.pack, bytes) else os.fspath(desc.pack),
            record_pack=desc.record_pack, offline=desc.offline, pack_archs=desc.pack_archs)
        self._sharers = weakref.WeakSet()
        if owner is not None:
            owner._sharers.add(self)
        plain = options == SlangCompilerOptions(include_paths=options.include_paths)
        desc.include_paths = options.include_paths = paths
        desc.compiler_options = options
        # the type that `automatic` has become; an offline device's backend is "null"
        desc.type = DeviceType.__members__.get(self._info()["backend"], desc.type)
        self._desc = desc
        self._names = None
        self._session = None
        self._reload_callbacks = self._reload_events = None
        self._steps = _Steps(desc.enable_compilation_reports)
        if not plain:
            self._extra["compiler_options"] = options
        _devices.add(self)
        _apply_dumps([self])
        _thread.stack.append(weakref.ref(self))
        return self

    def save_pack(self, path: _Path) -> None:
        """save_pack(path): writes what a device with record_pack has recorded to a file, for create_device(pack=path). A pack that
        exists already gets the new entries."""
        self._save_pack(path)

    def load_list(self, name: str, tensors: dict[str, Any]) -> CommandBuffer:
        """load_list(name, tensors): makes a CommandBuffer of one that CommandBuffer.save() put into the device's pack, on other tensors.
        `tensors` has a tensor for each name that save() was given, of the same element type and rank; the sizes may differ if the list
        only calls functions with them, copies or fills them. None stands for a tensor that a call of the list makes; the dict then gets
        that tensor."""
        from .encoders import _Recording

        commands = self._load_list(name, tensors)
        commands._recording = _Recording(self)
        return commands

    @property
    def pack_manifest(self) -> list[list[str]]:
        """The manifest of the device's pack, a list with an entry for each module, architecture and call: its type, target, text, number
        of kernels, and their bytes. Empty without a pack."""
        return [line.split("\t") for line in self._pack_manifest().splitlines()]

    def close(self) -> None:
        """close(): calls the close callbacks, waits for all work, and releases the device with everything that was made from it. The
        device is no longer a current device, and devices that share its native handles are closed, too. A second close() does nothing."""
        for device in list(self._sharers):
            device.close()
        _thread.stack[:] = [entry for entry in _thread.stack if _device_of(entry) is not self]
        _slangpy._Device.close(self)

    def __enter__(self) -> Self:
        push_current_device(self)
        return self

    def __exit__(self, *exception: object) -> None:
        if _thread.stack and _device_of(_thread.stack[-1]) is self:
            _thread.stack.pop()

    def __getattr__(self, name):
        from .absent import missing

        raise missing("Device", name)

    # >>properties

    @staticmethod
    def enumerate_adapters(type: DeviceType = DeviceType.automatic) -> list[AdapterInfo]:
        """enumerate_adapters(type=DeviceType.automatic): returns the adapters as a list of AdapterInfo."""
        return enumerate_adapters(type)

    @staticmethod
    def get_created_devices() -> list[Device]:
        """get_created_devices(): returns the devices that exist and are not closed, as a list."""
        return [device for device in list(_devices) if not device.is_closed]

    @staticmethod
    def report_live_objects() -> None:
        """report_live_objects(): logs the devices that exist and are not closed, at level info."""
        for device in Device.get_created_devices():
            log_info("live: {!r}".format(device))

    @property
    def desc(self) -> DeviceDesc:
        """The DeviceDesc that the device was made with."""
        return self._desc

    @property
    def info(self) -> DeviceInfo:
        """A DeviceInfo: the device's names, limits and versions."""
        i = self._info()
        period, group = i["timestamp_period_ns"], i["max_group_size"]
        uint3 = _slangpy.uint3
        limits = DeviceLimits(max_compute_threads_per_group=group, max_compute_thread_group_size=uint3(group, group, min(group, 64)),
                              max_compute_dispatch_thread_groups=uint3(i["max_group_count"], min(i["max_group_count"], 65535), min(i["max_group_count"], 65535)),
                              max_viewport_dimensions=_slangpy.uint2(4096), max_framebuffer_dimensions=uint3(4096, 4096, 256),
                              multiprocessor_count=i["multiprocessor_count"], max_shared_bytes=i["max_shared_bytes"],
                              max_groupshared_bytes=i["max_groupshared_bytes"],
                              min_wave_size=i["subgroup_size"], max_wave_size=i["subgroup_size"],
                              max_entry_point_uniform_size=i["max_inline_block_bytes"],
                              max_structured_buffer_size=i["max_binding_bytes"],
                              max_push_constants_size=i["max_inline_block_bytes"])
        # A device that makes packs without a GPU has the backend "null".
        kind = DeviceType.__members__.get(i["backend"]) or self._desc.type
        return DeviceInfo(type=kind, api_name={"vulkan": "Vulkan", "cuda": "CUDA"}.get(kind.name, kind.name), adapter_name=i["name"],
                          adapter_luid=self._find_luid(i["name"]), timestamp_frequency=1000000000 if period else 0, limits=limits,
                          driver=i["driver"], memory_bytes=i["memory_bytes"], wave_size=i["subgroup_size"],
                          api_version=_version_of(i))

    def _find_luid(self, name):
        if self._desc.adapter_luid or self._desc.offline:
            return list(self._desc.adapter_luid or [])
        for handle in self.native_handles:  # the name is not enough, because two GPUs may have the same one
            if handle.type == NativeHandleType.CUdevice:
                return _luid(handle.value)
        return next((a.luid for a in enumerate_adapters(self._desc.type) if a.name == name), [])

    @property
    def features(self) -> list[Feature]:
        """The Features that the device has, as a list."""
        i = self._info()
        found = [f for f, bit in _FEATURE_BITS.items() if i["features"] & bit]
        found.append(Feature.software_device if _KINDS[i["type"]] == "cpu" else Feature.hardware_device)
        if i["timestamp_period_ns"]:
            found.append(Feature.timestamp_calibration)
        if i["backend"] == "vulkan":
            found.append(Feature.rasterization)
        model = self.supported_shader_model
        found += [Feature[m.name] for m in ShaderModel if ShaderModel.unknown < m <= model]
        return sorted(found + [Feature.parameter_block])

    def has_feature(self, feature: Feature | str) -> bool:
        """has_feature(feature): returns whether the device has a Feature, given as a member or by its name."""
        try:
            feature = Feature[feature] if isinstance(feature, str) else Feature(feature)
        except (KeyError, ValueError):
            raise _slangpy.ArgumentValueError("has_feature: expected a Feature, got {!r}".format(feature)) from None
        return feature in self.features

    @property
    def capabilities(self) -> list[str]:
        """The names of the Slang capabilities that kernels may use, as a list of str."""
        names = {0x1: "SPV_KHR_16bit_storage", 0x20: "SPV_EXT_shader_atomic_float_add", 0x80: "spvGroupNonUniformBallot",
                 0x100: "SPV_KHR_physical_storage_buffer"}
        i = self._info()
        if i["backend"] == "cuda":  # CUDA's driver text ends with "compute capability 9.0"
            return ["cuda", "cuda_sm_" + i["driver"].split()[-1].replace(".", "_")]
        bits = i["features"]
        return ["spirv_1_5"] + [name for bit, name in names.items() if bits & bit]

    def has_capability(self, capability: str) -> bool:
        """has_capability(capability): returns whether a Slang capability is among `capabilities`."""
        return capability in self.capabilities

    @property
    def supported_shader_model(self) -> ShaderModel:
        """The newest shader model whose compute features the device has."""
        bits = self._info()["features"]
        if not bits & 0x80:
            return ShaderModel.sm_6_0
        return ShaderModel.sm_6_5 if bits & 0x1 and bits & 0x10 else ShaderModel.sm_6_1

    @property
    def shader_cache_stats(self) -> ShaderCacheStats:
        """The counts of the cache on disk if shader_cache_path was given, otherwise those of the compiled calls in memory, as a
        ShaderCacheStats."""
        s = self.stats()
        folder = self._desc.shader_cache_path
        if folder:
            from . import disk_cache

            entries = sum(1 for _ in disk_cache.files(folder))
            return ShaderCacheStats(entry_count=entries, hit_count=s["cache_hits"], miss_count=s["cache_misses"])
        return ShaderCacheStats(entry_count=s["plan_count"], hit_count=s["plan_hits"], miss_count=s["plans_built"])

    def report_heaps(self) -> list[HeapReport]:
        """report_heaps(): returns the device memory that is in use, as a list of HeapReport: that of the pool for tensors and buffers, and
        what is held for parameters, uploads and downloads."""
        s = self.stats()
        other = s["driver_bytes"] - s["pool_bytes"]
        return [HeapReport(label="tensors and buffers", num_pages=s["driver_allocations"], total_allocated=s["used_bytes"],
                           total_mem_usage=s["pool_bytes"], num_allocations=s["driver_allocations"]),
                HeapReport(label="transfers and parameters", num_pages=1, total_allocated=other, total_mem_usage=other, num_allocations=1)]

    # >>CUDA: on other backends most of these methods raise an Error

    @property
    def native_handles(self) -> list[NativeHandle]:
        """The VkInstance, VkPhysicalDevice and VkDevice of a Vulkan device, or the CUdevice and the CUcontext of a CUDA device, as a list
        of NativeHandle. As existing_device_handles of another Device they make it use the same objects."""
        if self._info()["backend"] == "vulkan":
            kinds = (NativeHandleType.VkInstance, NativeHandleType.VkPhysicalDevice, NativeHandleType.VkDevice)
            return [NativeHandle(kind, value) for kind, value in zip(kinds, self._vulkan())]
        if self._info()["backend"] != "cuda":
            return []
        with _ContextScope(self):
            return get_cuda_current_context_native_handles()

    def set_cuda_context_current(self) -> None:
        """set_cuda_context_current(): makes the device's CUDA context this thread's current one, for other libraries. Slangpy's own
        calls do not change the current context. Devices that are not CUDA's do nothing."""
        if self._info()["backend"] == "cuda":
            self._make_current()

    def cuda_context_scope(self) -> AbstractContextManager[Device]:
        """cuda_context_scope(): returns an object for `with`. In the block the device's CUDA context is this thread's current one. After
        the block the earlier context is current again, also when the device was closed meanwhile. An error on devices that are not
        CUDA's."""
        self._check_cuda("cuda_context_scope")
        return _ContextScope(self)

    def sync_to_cuda(self, cuda_stream: _StreamLike = 0) -> None:
        """sync_to_cuda(cuda_stream=0): orders all further work of this CUDA device after the work that is in a stream now. The host does
        not wait. The stream is given as in Function.cuda_stream(); 0 is CUDA's default stream."""
        self._check_cuda("sync_to_cuda")
        self._wait_stream(cuda_stream)

    def sync_to_device(self, cuda_stream: _StreamLike = 0) -> None:
        """sync_to_device(cuda_stream=0): orders all further work of a stream after the work that this CUDA device has now. The host does
        not wait. The stream is given as in sync_to_cuda()."""
        self._check_cuda("sync_to_device")
        self._signal_stream(cuda_stream)

    def _check_cuda(self, where):
        backend = self._info()["backend"]
        if backend != "cuda":
            raise _slangpy.Error("Device.{}: expected a device of DeviceType.cuda, got DeviceType.{}".format(where, backend))

    @property
    def supports_cuda_interop(self) -> bool:
        """Whether the device shares memory with a separate CUDA device. False in this version."""
        return False

    def register_shader_hot_reload_callback(self, callback: Callable[[ShaderHotReloadEvent], object]) -> int:
        """register_shader_hot_reload_callback(callback): calls callback(event) after each reload of a module, and once at the end of each
        reload_all_programs(). `event` is a ShaderHotReloadEvent. Returns a number for unregister_shader_hot_reload_callback()."""
        if not callable(callback):
            raise TypeError("Device.register_shader_hot_reload_callback: argument 'callback': expected a callable, got {!r}".format(
                type(callback)))
        if self._reload_callbacks is None:
            self._reload_callbacks = {}
            tell = weakref.WeakMethod(self._tell_reload)  # a weak reference, so that the device does not keep itself alive
            self._on_reload(lambda succeeded, message: tell()(ShaderHotReloadEvent(succeeded=succeeded, message=message)))  # type: ignore[misc]
        self._reload_callbacks[next(_numbers)] = callback
        return max(self._reload_callbacks)

    def unregister_shader_hot_reload_callback(self, id: int) -> None:
        """unregister_shader_hot_reload_callback(id): removes the callback of that number; other numbers do nothing."""
        if self._reload_callbacks:
            self._reload_callbacks.pop(id, None)

    def _tell_reload(self, event):
        if self._reload_events is not None:
            self._reload_events.append(event)
            return
        for callback in list((self._reload_callbacks or {}).values()):
            try:
                callback(event)
            except BaseException:
                sys.unraisablehook(_Unraisable(callback))  # type: ignore[arg-type]

    def reload_all_programs(self) -> int:
        """reload_all_programs(): reloads all modules whose files have changed, calls each hot reload callback once, and returns the number
        of the modules."""
        self._reload_events = []
        try:
            return _slangpy._Device.reload_all_programs(self)
        finally:
            events, self._reload_events = self._reload_events or [], None
            self._tell_reload(next((e for e in events if not e.succeeded), ShaderHotReloadEvent()))

    def hot_reload_check(self) -> None:
        """hot_reload_check(): reloads the modules whose files have changed, as reload_all_programs() does. A module that does not
        compile keeps its code, and the callbacks get the error."""
        try:
            self._reload_changed()
        except _slangpy.SlangCompileError as error:
            log_error(str(error))

    def register_command_recording_submitted_callback(self, callback: Callable[[CommandRecordingSubmittedEvent], object]) -> int:
        """register_command_recording_submitted_callback(callback): calls callback(event) after each submission of a command buffer. Returns
        a number for unregister_command_recording_submitted_callback()."""
        from .encoders import register

        return register(self, "_submitted", callback, "register_command_recording_submitted_callback")

    def unregister_command_recording_submitted_callback(self, id: int) -> None:
        """unregister_command_recording_submitted_callback(id): removes the callback of that number; other numbers do nothing."""
        from .encoders import unregister

        unregister(self, "_submitted", id)

    def register_command_recording_discarded_callback(self, callback: Callable[[CommandRecordingDiscardedEvent], object]) -> int:
        """register_command_recording_discarded_callback(callback): calls callback(event) when a recording is dropped that was never
        submitted. Returns a number for unregister_command_recording_discarded_callback()."""
        from .encoders import register

        return register(self, "_discarded", callback, "register_command_recording_discarded_callback")

    def unregister_command_recording_discarded_callback(self, id: int) -> None:
        """unregister_command_recording_discarded_callback(id): removes the callback of that number; other numbers do nothing."""
        from .encoders import unregister

        unregister(self, "_discarded", id)

    # >>buffers and command lists

    def create_buffer(
            self, size: int | BufferDesc = 0, element_count: int = 0, struct_size: int = 0, resource_type_layout: _TypeLike | None = None,
            format: Format | str = Format.undefined, memory_type: MemoryType = MemoryType.device_local,
            usage: BufferUsage = BufferUsage.none, default_state: ResourceState | None = None, label: str = "",
            data: _ArrayLike | None = None, struct_type: _TypeLike | None = None, desc: BufferDesc | Mapping[str, Any] | None = None) -> Buffer:
        """create_buffer(size=0, element_count=0, struct_size=0, resource_type_layout=None, format=Format.undefined,
        memory_type=MemoryType.device_local, usage=BufferUsage.none, default_state=None, label="", data=None, struct_type=None,
        desc=None): makes a Buffer of `size` bytes, or of `element_count` elements, or as large as `data`. The elements are of a type
        (`struct_type`, such as module.Foo or "float3", or `resource_type_layout` from reflection), of a format, or of `struct_size` bytes.
        Without a type or a format the buffer holds bytes, which parameters that are buffers or pointers of any type take; structs in it
        must have C's (scalar) layout. The bytes of `data` are copied to the buffer; without it the contents are undefined. A BufferDesc
        as `desc` or as the first argument replaces all other arguments."""
        given = _given(BufferDesc, size, desc)
        if given is not None:
            return _buffers.create_buffer(self, **vars(given))
        assert not isinstance(size, BufferDesc)
        return _buffers.create_buffer(self, size, element_count, struct_size, resource_type_layout, format, memory_type, usage,
                                      default_state, label, data, struct_type)

    def create_texture(
            self, type: TextureType | TextureDesc | Mapping[str, Any] = ..., format: Format | str = Format.undefined, width: int = 1,  # type: ignore[assignment]
            height: int = 1, depth: int = 1, array_length: int = 1, mip_count: int = 1, sample_count: int = 1, sample_quality: int = 0,
            memory_type: MemoryType = MemoryType.device_local, usage: TextureUsage | int = 0,
            default_state: ResourceState | int = 0, sampler: Sampler | None = None, label: str = "",
            data: _ArrayLike | None = None, desc: TextureDesc | Mapping[str, Any] | None = None) -> Texture:
        """create_texture(type=TextureType.texture_2d, format=Format.undefined, width=1, height=1, depth=1, array_length=1, mip_count=1,
        sample_count=1, sample_quality=0, memory_type=MemoryType.device_local, usage=TextureUsage.none, default_state=ResourceState.undefined,
        sampler=None, label="", data=None, desc=None): makes a Texture. mip_count: ALL_MIPS for levels down to one texel. usage: what can be
        done with it; none is for reading, and for writing if the device can for the format. data: an array with the bytes of mip level 0,
        of the first layer or of all; without it the contents are undefined. A TextureDesc or a dict of its fields, as `desc` or as the
        first argument, replaces all other arguments but data and sampler."""
        from .resources import create_texture
        from .textures import TextureDesc, TextureType

        given = _given(TextureDesc, type, desc)
        if given is None:
            given = TextureDesc(type=TextureType.texture_2d if type is ... else type, format=format, width=width, height=height, depth=depth,
                                array_length=array_length, mip_count=mip_count, sample_count=sample_count, sample_quality=sample_quality,
                                memory_type=memory_type, usage=usage, default_state=default_state, label=label)
        return create_texture(self, given, data, sampler)

    def create_sampler(
            self, min_filter: TextureFilteringMode | int | SamplerDesc | Mapping[str, Any] = 1,
            mag_filter: TextureFilteringMode | int = 1, mip_filter: TextureFilteringMode | int = 1, reduction_op: TextureReductionOp | int = 0,
            address_u: TextureAddressingMode | int = 0, address_v: TextureAddressingMode | int = 0, address_w: TextureAddressingMode | int = 0,
            mip_lod_bias: float = 0.0, max_anisotropy: int = 1, comparison_func: ComparisonFunc | int = 0,
            border_color: float4 | Sequence[float] = (1.0, 1.0, 1.0, 1.0), min_lod: float = -1000.0, max_lod: float = 1000.0, label: str = "",
            desc: SamplerDesc | Mapping[str, Any] | None = None) -> Sampler:
        """create_sampler(min_filter=TextureFilteringMode.linear, mag_filter=TextureFilteringMode.linear,
        mip_filter=TextureFilteringMode.linear, reduction_op=TextureReductionOp.average, address_u=TextureAddressingMode.wrap,
        address_v=TextureAddressingMode.wrap, address_w=TextureAddressingMode.wrap, mip_lod_bias=0.0, max_anisotropy=1,
        comparison_func=ComparisonFunc.never, border_color=(1, 1, 1, 1), min_lod=-1000.0, max_lod=1000.0, label="", desc=None): makes a
        Sampler, for SamplerState parameters. It compares with comparison_func if reduction_op is comparison. A SamplerDesc or a dict of its
        fields, as `desc` or as the first argument, replaces the other arguments."""
        from .resources import create_sampler
        from .textures import SamplerDesc

        given = _given(SamplerDesc, min_filter, desc)
        if given is None:
            given = SamplerDesc(min_filter=min_filter, mag_filter=mag_filter, mip_filter=mip_filter, reduction_op=reduction_op,
                                address_u=address_u, address_v=address_v, address_w=address_w, mip_lod_bias=mip_lod_bias,
                                max_anisotropy=max_anisotropy, comparison_func=comparison_func, border_color=border_color, min_lod=min_lod,
                                max_lod=max_lod, label=label)
        return create_sampler(self, given)

    def get_format_support(self, format: Format) -> FormatSupport:
        """get_format_support(format): returns what the device can do with a Format, as a FormatSupport."""
        from .resources import get_format_support

        return get_format_support(self, Format(format))

    def create_command_encoder(
            self, queue: CommandQueueType = CommandQueueType.graphics, label: str | None = None,
            on_record: Callable[[int, int, str], object] | None = None) -> CommandEncoder:
        """create_command_encoder(queue=CommandQueueType.graphics, label=None, on_record=None): makes a CommandEncoder.
        `on_record` is a function(kind, index, name) that is called after each recorded operation. It must not use the device."""
        from .encoders import CommandEncoder

        return CommandEncoder(self, label, on_record)

    def submit_command_buffers(
            self, command_buffers: Iterable[CommandBuffer], wait_fences: Sequence[Fence] = (), wait_fence_values: Sequence[int] = (),
            signal_fences: Sequence[Fence] = (), signal_fence_values: Sequence[int] = (),
            queue: CommandQueueType = CommandQueueType.graphics, cuda_stream: _StreamLike | None = None) -> int:
        """submit_command_buffers(command_buffers, wait_fences=(), wait_fence_values=(), signal_fences=(), signal_fence_values=(),
        queue=CommandQueueType.graphics, cuda_stream=None): runs CommandBuffers in order, after each wait fence has reached its value.
        Each signal fence gets its value when they have finished. Returns the submit id, for wait_for_submit(). With `cuda_stream` (an
        int, a NativeHandle, or an object with cuda_stream, such as torch's streams) they run on that stream, after all earlier work of
        the device and before its later work."""
        from .encoders import submit

        with _StreamScope(self, cuda_stream, "submit_command_buffers"):
            return submit(self, command_buffers, wait_fences, wait_fence_values, signal_fences, signal_fence_values)

    def submit_command_buffer(
            self, command_buffer: CommandBuffer, queue: CommandQueueType = CommandQueueType.graphics, cuda_stream: _StreamLike | None = None) -> int:
        """submit_command_buffer(command_buffer, queue=CommandQueueType.graphics, cuda_stream=None): runs one CommandBuffer, like
        submit_command_buffers(). Returns the submit id."""
        return self.submit_command_buffers([command_buffer], queue=queue, cuda_stream=cuda_stream)

    def wait_for_idle(self, queue: CommandQueueType = CommandQueueType.graphics) -> None:
        """wait_for_idle(queue=CommandQueueType.graphics): waits for all work, like wait()."""
        self.wait()

    def run_garbage_collection(self) -> None:
        """run_garbage_collection(): waits for all work, and gives unused memory back to the driver."""
        self.trim()

    def create_fence(
            self, initial_value: int | FenceDesc | Mapping[str, Any] = 0, shared: bool = False,
            desc: FenceDesc | Mapping[str, Any] | None = None) -> Fence:
        """create_fence(initial_value=0, shared=False, desc=None): makes a Fence. shared=True is an error. A FenceDesc or a dict of its
        fields, as `desc` or as the first argument, replaces the other arguments."""
        from .encoders import Fence

        given = _given(FenceDesc, initial_value, desc)
        if given is not None:
            initial_value, shared = given.initial_value, given.shared
        assert not isinstance(initial_value, FenceDesc)
        return Fence(self, initial_value, shared)  # type: ignore[arg-type]

    def create_query_pool(
            self, type: QueryType | QueryPoolDesc | Mapping[str, Any] = QueryType.timestamp, count: int = 1,
            desc: QueryPoolDesc | Mapping[str, Any] | None = None) -> QueryPool:
        """create_query_pool(type=QueryType.timestamp, count=1, desc=None): makes a QueryPool with room for `count` GPU times. A
        QueryPoolDesc or a dict of its fields, as `desc` or as the first argument, replaces the other arguments."""
        from .encoders import QueryPool

        given = _given(QueryPoolDesc, type, desc)
        if given is not None:
            type, count = given.type, given.count
        return QueryPool(self, type, count)  # type: ignore[arg-type]

    def get_timestamp_calibration(self, queue: CommandQueueType = CommandQueueType.graphics) -> TimestampCalibration:
        """get_timestamp_calibration(queue=CommandQueueType.graphics): returns one moment on the GPU's clock and on the host's, as a
        TimestampCalibration. Waits for the GPU."""
        gpu, host = self._calibration()
        return TimestampCalibration(gpu_ns=gpu, host_ns=host, gpu_timestamp=gpu, cpu_timestamp=host)

    # >>programs

    @property
    def slang_session(self) -> SlangSession:
        """The device's own SlangSession, with the device's compiler options."""
        from .programs import SlangSession, _Names

        session = self._session and self._session()  # the reference is weak, because the session holds the device
        if session is None:
            self._names = _Names() if self._names is None else self._names
            session = SlangSession(self, None, self._names)
            self._session = weakref.ref(session)
        return session

    def create_slang_session(
            self, compiler_options: SlangCompilerOptions | SlangSessionDesc | Mapping[str, Any] | None = None,
            add_default_include_paths: bool = True, cache_path: _Path | None = None,
            desc: SlangSessionDesc | Mapping[str, Any] | None = None) -> SlangSession:
        """create_slang_session(compiler_options=None, add_default_include_paths=True, cache_path=None, desc=None): makes a SlangSession,
        whose options apply to the modules that it loads. The device's include paths are searched in any case. A SlangSessionDesc or a dict
        of its fields, as `desc` or as the first argument, replaces the other arguments."""
        from .programs import SlangSession

        session = SlangSession(self, compiler_options if desc is None else desc)
        session.desc.add_default_include_paths = session.desc.add_default_include_paths and add_default_include_paths
        session.desc.cache_path = cache_path if session.desc.cache_path is None else session.desc.cache_path
        return session

    def load_module(self, module_name: _Path, options: _Options = None, link: Sequence[Module] = ()) -> SlangModule:  # type: ignore[override]
        """load_module(module_name, options=None, link=[]): loads a module by its path or name; see SlangSession.load_module()."""
        return self.slang_session.load_module(module_name, options, link)

    def load_module_from_file(self, path: _Path, options: _Options = None, link: Sequence[Module] = ()) -> SlangModule:  # type: ignore[override]
        """load_module_from_file(path, options=None, link=[]): does the same as load_module()."""
        return self.slang_session.load_module(path, options, link)

    def load_module_from_source(  # type: ignore[override]
            self, module_name: str, source: str, path: _Path | _Options | None = None, options: _Options = None,
            link: Sequence[Module] = ()) -> SlangModule:
        """load_module_from_source(module_name, source, path=None, options=None, link=[]): loads a module from Slang text; see
        SlangSession.load_module_from_source()."""
        return self.slang_session.load_module_from_source(module_name, source, path, options, link)  # type: ignore[arg-type]

    def compose_modules(
            self, name: str, modules: Iterable[Module], type_conformances: Sequence[TypeConformance | tuple[Any, ...] | str] = ()) -> SlangModule:
        """compose_modules(name, modules, type_conformances=()): makes one module of several, with the entry points of all, for
        link_program()."""
        return self.slang_session.compose_modules(name, modules, type_conformances)  # type: ignore[arg-type]

    def load_program(
            self, module_name: _Path, entry_point_names: Sequence[str], additional_source: str | None = None,
            link_options: SlangLinkOptions | Mapping[str, Any] | None = None) -> ShaderProgram:
        """load_program(module_name, entry_point_names, additional_source=None, link_options=None): loads a module (by a path, with or
        without .slang) and makes a ShaderProgram of it and some of its entry points. `additional_source` is Slang text of a further module
        of the program, which may export what the first one declares extern."""
        return self.slang_session.load_program(module_name, entry_point_names, additional_source, link_options)

    def link_program(
            self, modules: Iterable[Module], entry_points: Iterable[SlangEntryPoint],
            link_options: SlangLinkOptions | Mapping[str, Any] | None = None) -> ShaderProgram:
        """link_program(modules, entry_points, link_options=None): makes a ShaderProgram of modules and entry points."""
        return self.slang_session.link_program(modules, entry_points, link_options)

    def create_compute_kernel(self, program: ShaderProgram | Any = None, desc: Any = None) -> ComputeKernel:
        """create_compute_kernel(program, desc=None): makes a ComputeKernel of a ShaderProgram with one entry point. A ComputeKernelDesc or
        a dict of its fields may stand for the program."""
        from .programs import ComputeKernel, ComputeKernelDesc

        given = _given(ComputeKernelDesc, program, desc)
        return ComputeKernel(self, program if given is None else given.program)

    def create_compute_pipeline(
            self, program: ShaderProgram | Any = None, defer_target_compilation: bool | str = False, label: str | None = None,
            desc: Any = None) -> ComputePipeline:
        """create_compute_pipeline(program, defer_target_compilation=False, label=None, desc=None): makes a ComputePipeline, for
        CommandEncoder.begin_compute_pass(). Its kernel is compiled at the first use in any case. A ComputePipelineDesc or a dict of its
        fields may stand for the program."""
        from .programs import ComputePipeline, ComputePipelineDesc

        if isinstance(defer_target_compilation, str):  # a label; earlier versions had it as the second argument
            label = defer_target_compilation
        given = _given(ComputePipelineDesc, program, desc)
        if given is not None:
            program, label = given.program, given.label
        return ComputePipeline(self, program, label)

    def create_input_layout(
            self, input_elements: Sequence[InputElementDesc | Mapping[str, Any]] | InputLayoutDesc | Mapping[str, Any] | None = None,
            vertex_streams: Sequence[VertexStreamDesc | Mapping[str, Any]] | None = None,
            desc: InputLayoutDesc | Mapping[str, Any] | None = None) -> InputLayout:
        """create_input_layout(input_elements, vertex_streams) or create_input_layout(desc): makes an InputLayout of InputElementDescs and
        VertexStreamDescs, or of an InputLayoutDesc; all may be dicts."""
        from .render import create_input_layout

        return create_input_layout(self, input_elements, vertex_streams, desc)

    def create_render_pipeline(
            self, program: ShaderProgram | Any = None, input_layout: InputLayout | None = None,
            primitive_topology: PrimitiveTopology | None = None, targets: Sequence[ColorTargetDesc | Mapping[str, Any]] = (),
            depth_stencil: DepthStencilDesc | Mapping[str, Any] | None = None, rasterizer: RasterizerDesc | Mapping[str, Any] | None = None,
            multisample: MultisampleDesc | Mapping[str, Any] | None = None, defer_target_compilation: bool = False,
            label: str | None = None, desc: RenderPipelineDesc | Mapping[str, Any] | None = None) -> RenderPipeline:
        """create_render_pipeline(program, input_layout=None, primitive_topology=PrimitiveTopology.triangle_list, targets=[],
        depth_stencil=None, rasterizer=None, multisample=None, defer_target_compilation=False, label=None, desc=None): makes a RenderPipeline
        of a program with a vertex and a fragment entry point, for CommandEncoder.begin_render_pass(). It is compiled at its first draw
        in any case. A RenderPipelineDesc or a dict of its fields may stand for the arguments."""
        from .pictures import RenderPipelineDesc
        from .render import create_render_pipeline

        return create_render_pipeline(self, _given(RenderPipelineDesc, program, desc), {
            "program": program, "input_layout": input_layout, "primitive_topology": primitive_topology, "targets": list(targets),
            "depth_stencil": depth_stencil, "rasterizer": rasterizer, "multisample": multisample, "label": label})

    def create_shader_object(
            self, type_layout: TypeLayoutReflection | ReflectionCursor | None = None, cursor: ReflectionCursor | None = None) -> PartObject:
        """create_shader_object(type_layout) or create_shader_object(cursor=): makes an object with the values of a part of a program's
        parameters, such as a ParameterBlock, of the part's TypeLayoutReflection or a ReflectionCursor at it."""
        from .shader_cursors import PartObject

        return PartObject(cursor if type_layout is None else type_layout)

    def create_root_shader_object(self, shader_program: ShaderProgram) -> ShaderObject:
        """create_root_shader_object(shader_program): makes a ShaderObject for a program's parameters."""
        from .programs import ShaderObject

        return ShaderObject(shader_program)

    # >>compilation

    @property
    def enable_compilation_reports(self) -> bool:
        """Whether the device keeps reports of the modules and kernels that it compiles."""
        return self._steps.keep

    @enable_compilation_reports.setter
    def enable_compilation_reports(self, keep: bool) -> None:
        self._steps.keep = bool(keep)
        _apply_dumps([self])

    def get_compilation_reports(self, name: str | None = None) -> list[CompilationReport]:
        """get_compilation_reports(name=None): returns a list of CompilationReports, oldest first: of all modules and kernels, or of those
        whose label contains `name`. The list is empty unless enable_compilation_reports is True."""
        return self._steps.get(name)

    def clear_compilation_reports(self) -> None:
        """clear_compilation_reports(): deletes all compilation reports."""
        self._steps.clear()

    # >>display

    def _repr_html_(self):
        if self.is_closed:
            return "<i>closed slangpy.Device</i>"
        i = self.info
        rows = [("backend", i.api_name + " " + i.api_version), ("adapter", i.adapter_name), ("driver", i.driver),
                ("memory", "{:.1f} GiB".format(i.memory_bytes / 2**30)), ("features", ", ".join(f.name for f in self.features))]
        import html

        return "<table>{}</table>".format("".join(
            "<tr><th>{}</th><td>{}</td></tr>".format(name, html.escape(str(value))) for name, value in rows))


_POSITIONS = ("enable_debug_layers", "adapter_luid", "include_paths", "enable_cuda_interop", "enable_print", "enable_hot_reload",
              "enable_compilation_reports", "existing_device_handles", "bindless_options")


def create_device(
        type: DeviceType | str = DeviceType.automatic, enable_debug_layers: bool = False, adapter_luid: Sequence[int] | None = None,
        include_paths: Sequence[_Path] = (), enable_cuda_interop: bool = False, enable_print: bool = False, enable_hot_reload: bool = True,
        enable_compilation_reports: bool = False, existing_device_handles: Sequence[NativeHandle] | None = None,
        bindless_options: Any = None, **more: Unpack[_DeviceMore]) -> Device:
    """create_device(type=DeviceType.automatic, enable_debug_layers=False, adapter_luid=None, include_paths=(),
    enable_cuda_interop=False, enable_print=False, enable_hot_reload=True, enable_compilation_reports=False,
    existing_device_handles=None, bindless_options=None, **more): makes a Device.

    adapter_luid: the luid of an AdapterInfo from enumerate_adapters().
    include_paths: folders that Slang's `import` and #include search.
    existing_device_handles: the native_handles of another Device, or a list of NativeHandle with a CUcontext, which must outlive the
    device, and perhaps its CUdevice; see get_cuda_current_context_native_handles().
    more: further keywords of DeviceDesc: adapter_name, label, compiler_options, log, progress, print_buffer_size, slang_library,
    max_plans, compile_timeout_s, check_bounds. compile_timeout_s: seconds that the Slang compiler may take for one module or kernel,
    and the driver for one kernel; 0 means 600, and a negative number means no limit. check_bounds, for debugging: kernels check the
    indices into tensors that parameters take as a whole, and the next wait or read raises an error for the first bad index.
    pack: a pack, as a path or as bytes: the device runs what the pack has, and opens neither the Slang compiler nor Slang files.
    record_pack: keep what modules and calls need, for Device.save_pack(). offline, with record_pack: no GPU is needed, and calls compute
    nothing. pack_archs, for CUDA: compute capabilities such as 90 to compile for; the smallest one serves all others as PTX.

    The environment variable SLANGPY_DEVICE_TYPE_OVERRIDE overrides `type`."""
    override = os.environ.get("SLANGPY_DEVICE_TYPE_OVERRIDE")
    if override:
        try:
            type = DeviceType[override.strip().lower()]
        except KeyError:
            raise _slangpy.ArgumentValueError("create_device: SLANGPY_DEVICE_TYPE_OVERRIDE: expected one of {}, got {!r}".format(
                ", ".join(DeviceType.__members__), override)) from None
    paths = [*include_paths, os.path.dirname(os.path.abspath(__file__))]  # SlangPy adds this folder, and its scripts look for it in desc
    return Device(type, enable_debug_layers=enable_debug_layers, adapter_luid=adapter_luid, include_paths=paths,
                  enable_cuda_interop=enable_cuda_interop, enable_print=enable_print, enable_hot_reload=enable_hot_reload,
                  enable_compilation_reports=enable_compilation_reports, existing_device_handles=existing_device_handles,
                  bindless_options=bindless_options, **more)


def init_device() -> Device:
    """init_device(): returns create_device()."""
    return create_device()


# >>the current device

class _Thread(threading.local):
    """The stack of this thread's current devices. An entry is a Device, or a weak reference for a device that its creation has pushed,
    so that it is released when nothing else holds it."""

    def __init__(self) -> None:
        self.stack: list[Device | weakref.ref[Device]] = []


_thread = _Thread()


def _device_of(entry):
    return entry() if isinstance(entry, weakref.ref) else entry


def _top(where):
    """Returns the current device. Entries of devices that are closed or released are removed."""
    while _thread.stack:
        device = _device_of(_thread.stack[-1])
        if device is not None and not device.is_closed:
            return device
        _thread.stack.pop()
    raise _slangpy.Error("{}: this thread has no current device; create_device() and push_current_device(device) make one current".format(where))


def push_current_device(device: Device) -> None:
    """push_current_device(device): makes the device this thread's current one until it is popped or closed. Functions such as
    slangpy.create_buffer() use the current device. The creation of a device, and `with device:`, push it too."""
    if not isinstance(device, _slangpy._Device):
        raise TypeError("push_current_device: argument 'device': expected a Device, got {!r}".format(type(device)))
    _thread.stack.append(device)


def pop_current_device() -> Device:
    """pop_current_device(): returns this thread's current device and makes the one before it current. Raises a
    RuntimeError if no device is current."""
    device = _top("pop_current_device")
    _thread.stack.pop()
    return device


def current_device() -> Device:
    """current_device(): returns this thread's current device, the one that was pushed or created last. Raises a RuntimeError if
    no device is current."""
    return _top("current_device")


def _as_method(method: Callable[Concatenate[Device, _P], _R]) -> Callable[[Callable[..., _R]], Callable[_P, _R]]:
    """Tells type checkers that a function has the parameters of a method of Device."""
    return lambda function: function


@_as_method(Device.create_buffer)
def create_buffer(*args: Any, **kwargs: Any) -> Buffer:
    """create_buffer(...): Device.create_buffer() of the current device."""
    return current_device().create_buffer(*args, **kwargs)


@_as_method(Device.create_texture)
def create_texture(*args: Any, **kwargs: Any) -> Texture:
    """create_texture(...): Device.create_texture() of the current device."""
    return current_device().create_texture(*args, **kwargs)


@_as_method(Device.create_sampler)
def create_sampler(*args: Any, **kwargs: Any) -> Sampler:
    """create_sampler(...): Device.create_sampler() of the current device."""
    return current_device().create_sampler(*args, **kwargs)


@_as_method(Device.create_command_encoder)
def create_command_encoder(*args: Any, **kwargs: Any) -> CommandEncoder:
    """create_command_encoder(...): Device.create_command_encoder() of the current device."""
    return current_device().create_command_encoder(*args, **kwargs)


@_as_method(Device.create_fence)
def create_fence(*args: Any, **kwargs: Any) -> Fence:
    """create_fence(...): Device.create_fence() of the current device."""
    return current_device().create_fence(*args, **kwargs)


@_as_method(Device.create_query_pool)
def create_query_pool(*args: Any, **kwargs: Any) -> QueryPool:
    """create_query_pool(...): Device.create_query_pool() of the current device."""
    return current_device().create_query_pool(*args, **kwargs)


@_as_method(Device.create_slang_session)
def create_slang_session(*args: Any, **kwargs: Any) -> SlangSession:
    """create_slang_session(...): Device.create_slang_session() of the current device."""
    return current_device().create_slang_session(*args, **kwargs)


@_as_method(Device.create_shader_object)
def create_shader_object(*args: Any, **kwargs: Any) -> PartObject:
    """create_shader_object(...): Device.create_shader_object() of the current device."""
    return current_device().create_shader_object(*args, **kwargs)


@_as_method(Device.create_compute_kernel)
def create_compute_kernel(*args: Any, **kwargs: Any) -> ComputeKernel:
    """create_compute_kernel(...): Device.create_compute_kernel() of the current device."""
    return current_device().create_compute_kernel(*args, **kwargs)


@_as_method(Device.create_compute_pipeline)
def create_compute_pipeline(*args: Any, **kwargs: Any) -> ComputePipeline:
    """create_compute_pipeline(...): Device.create_compute_pipeline() of the current device."""
    return current_device().create_compute_pipeline(*args, **kwargs)


@_as_method(Device.create_input_layout)
def create_input_layout(*args: Any, **kwargs: Any) -> InputLayout:
    """create_input_layout(...): Device.create_input_layout() of the current device."""
    return current_device().create_input_layout(*args, **kwargs)


@_as_method(Device.create_render_pipeline)
def create_render_pipeline(*args: Any, **kwargs: Any) -> RenderPipeline:
    """create_render_pipeline(...): Device.create_render_pipeline() of the current device."""
    return current_device().create_render_pipeline(*args, **kwargs)


@_as_method(Device.create_root_shader_object)
def create_root_shader_object(*args: Any, **kwargs: Any) -> ShaderObject:
    """create_root_shader_object(...): Device.create_root_shader_object() of the current device."""
    return current_device().create_root_shader_object(*args, **kwargs)


@_as_method(Device.load_module)
def load_module(*args: Any, **kwargs: Any) -> SlangModule:
    """load_module(...): Device.load_module() of the current device."""
    return current_device().load_module(*args, **kwargs)


@_as_method(Device.load_module_from_file)
def load_module_from_file(*args: Any, **kwargs: Any) -> SlangModule:
    """load_module_from_file(...): Device.load_module_from_file() of the current device."""
    return current_device().load_module_from_file(*args, **kwargs)


@_as_method(Device.load_module_from_source)
def load_module_from_source(*args: Any, **kwargs: Any) -> SlangModule:
    """load_module_from_source(...): Device.load_module_from_source() of the current device."""
    return current_device().load_module_from_source(*args, **kwargs)


@_as_method(Device.load_program)
def load_program(*args: Any, **kwargs: Any) -> ShaderProgram:
    """load_program(...): Device.load_program() of the current device."""
    return current_device().load_program(*args, **kwargs)


@_as_method(Device.link_program)
def link_program(*args: Any, **kwargs: Any) -> ShaderProgram:
    """link_program(...): Device.link_program() of the current device."""
    return current_device().link_program(*args, **kwargs)


@_as_method(Device.submit_command_buffer)
def submit_command_buffer(*args: Any, **kwargs: Any) -> int:
    """submit_command_buffer(...): Device.submit_command_buffer() of the current device."""
    return current_device().submit_command_buffer(*args, **kwargs)


@_as_method(Device.submit_command_buffers)
def submit_command_buffers(*args: Any, **kwargs: Any) -> int:
    """submit_command_buffers(...): Device.submit_command_buffers() of the current device."""
    return current_device().submit_command_buffers(*args, **kwargs)

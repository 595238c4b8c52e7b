"""Enums and plain descriptions. Names and members are those of SlangPy."""
from __future__ import annotations

from enum import Enum, EnumMeta, IntEnum, IntFlag

TYPE_CHECKING = False  # of typing, which is not imported: `import slangpy` stays quick
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from dataclasses import InitVar, field
    from os import PathLike
    from typing import Any, ClassVar, dataclass_transform

    from .interop import NativeHandle

    _Path = str | PathLike[str]

__all__ = [
    "DeviceType", "Feature", "ShaderModel", "BufferUsage", "MemoryType", "ResourceState", "CommandQueueType", "QueryType",
    "Format", "LogLevel", "LogFrequency", "SlangMatrixLayout", "SlangFloatingPointMode", "SlangDebugInfoLevel",
    "SlangOptimizationLevel", "SlangCompilerOptions", "DeviceDesc", "AdapterInfo", "DeviceInfo", "DeviceLimits",
    "ShaderCacheStats", "TimestampCalibration", "ShaderHotReloadEvent", "BufferRange", "BufferDesc", "DataType",
]


class _Members(EnumMeta):
    """Says of a member that there is not which ones there are."""

    if not TYPE_CHECKING:  # which knows the members

        def __getattr__(cls, name):
            hint = ""
            if not name.startswith("_"):  # which Python asks for itself
                from .absent import near

                members = list(cls.__members__)
                hint = near(name, members) or ("; its members are " + ", ".join(members) if len(members) <= 12 else "")
            raise AttributeError("{} has no member '{}'{}".format(cls.__name__, name, hint))


class _IntEnum(IntEnum, metaclass=_Members):
    pass


class _IntFlag(IntFlag, metaclass=_Members):
    pass


class DeviceType(_IntEnum):
    """What drives the GPU. Vulkan and CUDA are built in; the others are errors that say so."""

    automatic = 0
    d3d12 = 1
    vulkan = 2
    metal = 3
    wgpu = 4
    cpu = 5
    cuda = 6


class Feature(_IntEnum):
    """What a device may be able to do: see Device.has_feature()."""

    hardware_device = 0
    software_device = 1
    parameter_block = 2
    timestamp_query = 3
    realtime_clock = 4
    half = 5
    double_ = 6
    int8 = 7
    int16 = 8
    int64 = 9
    atomic_float = 10
    wave_ops = 11
    pointer = 12
    bindless = 13
    ray_tracing = 14
    ray_query = 15
    acceleration_structure = 16
    rasterization = 17
    mesh_shader = 18
    cooperative_vector = 19
    cooperative_matrix = 20
    surface = 21


class ShaderModel(_IntEnum):
    """Of D3D12's naming; other backends count as the newest that they can follow."""

    unknown = 0
    sm_6_0 = 60
    sm_6_1 = 61
    sm_6_2 = 62
    sm_6_3 = 63
    sm_6_4 = 64
    sm_6_5 = 65
    sm_6_6 = 66
    sm_6_7 = 67


class DataType(_IntEnum):
    """Types of numbers, which can be given as the dtype of tensors."""

    void = 0
    bool = 1
    int8 = 2
    int16 = 3
    int32 = 4
    int64 = 5
    uint8 = 6
    uint16 = 7
    uint32 = 8
    uint64 = 9
    float16 = 10
    float32 = 11
    float64 = 12


class BufferUsage(_IntFlag):
    """What a buffer is used for. Every buffer here can be used in all of these ways that compute has."""

    none = 0
    vertex_buffer = 1
    index_buffer = 2
    constant_buffer = 4
    shader_resource = 8
    unordered_access = 16
    indirect_argument = 32
    copy_source = 64
    copy_destination = 128
    acceleration_structure = 256
    acceleration_structure_build_input = 512
    shader_table = 1024
    shared = 2048


class MemoryType(_IntEnum):
    """Where a buffer lies. upload and read_back lie in device memory too: transfers go through the library's own staging."""

    device_local = 0
    upload = 1
    read_back = 2


class ResourceState(_IntEnum):
    """States of SlangPy's barriers. The library orders work by itself, so none is ever needed."""

    undefined = 0
    general = 1
    vertex_buffer = 2
    index_buffer = 3
    constant_buffer = 4
    stream_output = 5
    shader_resource = 6
    unordered_access = 7
    render_target = 8
    depth_read = 9
    depth_write = 10
    present = 11
    indirect_argument = 12
    copy_source = 13
    copy_destination = 14
    resolve_source = 15
    resolve_destination = 16
    acceleration_structure = 17
    acceleration_structure_build_output = 18


class CommandQueueType(_IntEnum):
    """The one queue that a device has."""

    graphics = 0


class QueryType(_IntEnum):
    """What a QueryPool holds."""

    timestamp = 0


class LogLevel(_IntEnum):
    """How severe a message is. As a logger's level: the least severe that is told; none: all."""

    none = 0
    debug = 1
    info = 2
    warn = 3
    error = 4
    fatal = 5


class LogFrequency(_IntEnum):
    """Whether a message is told each time or only the first time."""

    always = 0
    once = 1


class SlangMatrixLayout(_IntEnum):
    """How matrices lie in memory: always row_major here."""

    row_major = 0
    column_major = 1


class SlangFloatingPointMode(_IntEnum):
    """What the compiler may assume of floats."""

    default = 0
    fast = 1
    precise = 2


class SlangDebugInfoLevel(_IntEnum):
    """What kernels carry for debuggers: nothing; lines of functions; variables and sources."""

    none = 0
    minimal = 1
    standard = 2
    maximal = 3


class SlangOptimizationLevel(_IntEnum):
    """How far kernels are optimised before the driver sees them."""

    none = 0
    default = 1
    high = 2
    maximal = 3


class Format(Enum, metaclass=_Members):
    """Formats of buffers: (Slang type, numpy dtype, components)."""

    undefined = None
    r8_uint = ("uint8_t", "u1", 1)
    r8_sint = ("int8_t", "i1", 1)
    r16_uint = ("uint16_t", "u2", 1)
    r16_sint = ("int16_t", "i2", 1)
    r16_float = ("half", "f2", 1)
    rg16_float = ("half2", "f2", 2)
    rgba16_float = ("half4", "f2", 4)
    r32_uint = ("uint", "u4", 1)
    rg32_uint = ("uint2", "u4", 2)
    rgb32_uint = ("uint3", "u4", 3)
    rgba32_uint = ("uint4", "u4", 4)
    r32_sint = ("int", "i4", 1)
    rg32_sint = ("int2", "i4", 2)
    rgb32_sint = ("int3", "i4", 3)
    rgba32_sint = ("int4", "i4", 4)
    r32_float = ("float", "f4", 1)
    rg32_float = ("float2", "f4", 2)
    rgb32_float = ("float3", "f4", 3)
    rgba32_float = ("float4", "f4", 4)
    r64_uint = ("uint64_t", "u8", 1)
    r64_sint = ("int64_t", "i8", 1)

    @property
    def slang_type(self) -> str | None:
        """Slang's name of an element; None for undefined."""
        return self.value and self.value[0]


if TYPE_CHECKING:

    @dataclass_transform(kw_only_default=True, field_specifiers=(field,))
    class _Fields:
        pass
else:

    class _Fields:
        pass


class _Desc(_Fields):
    """Plain named values: the class's attributes are keywords of the constructor and their defaults; unknown ones are errors."""

    _fields: ClassVar[dict[str, Any]] = {}
    if TYPE_CHECKING:
        values: InitVar[Mapping[str, Any] | None] = field(default=None, kw_only=False)
    else:

        def __init__(self, values=None, **kwargs):
            given = dict(values or {}, **kwargs)
            for name, value in self._fields.items():
                given_value = given.pop(name, value)
                setattr(self, name, type(value)(given_value) if type(value) in (list, dict) else given_value)
            if given:
                raise TypeError("{}: No parameter named '{}'; there are: {}".format(
                    type(self).__name__, next(iter(given)), ", ".join(self._fields)))

        def __init_subclass__(cls):
            cls._fields = {name: value for name, value in vars(cls).items() if not name.startswith("_")}

    def __repr__(self) -> str:
        return "{}({})".format(type(self).__name__, ", ".join("{}={!r}".format(n, getattr(self, n)) for n in self._fields))

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and all(getattr(self, n) == getattr(other, n) for n in self._fields)

    __hash__ = None  # type: ignore[assignment]


class SlangCompilerOptions(_Desc):
    """How Slang code is compiled. What the library or its target cannot honour is an error or a logged warning."""

    include_paths: Sequence[_Path] = []
    defines: dict[str, object] = {}
    shader_model: ShaderModel = ShaderModel.unknown
    matrix_layout: SlangMatrixLayout = SlangMatrixLayout.row_major
    enable_warnings: list[str] = []
    disable_warnings: list[str] = []
    warnings_as_errors: list[str] = []
    report_downstream_time: bool = False
    report_perf_benchmark: bool = False
    skip_spirv_validation: bool = False
    floating_point_mode: SlangFloatingPointMode = SlangFloatingPointMode.default
    debug_info: SlangDebugInfoLevel = SlangDebugInfoLevel.none
    optimization: SlangOptimizationLevel = SlangOptimizationLevel.default
    downstream_args: list[str] = []
    dump_intermediates: bool = False
    dump_intermediates_prefix: str = ""
    enable_experimental_features: bool = False


class DeviceDesc(_Desc):
    """What Device() and create_device() take, as one value."""

    type: DeviceType = DeviceType.automatic
    enable_debug_layers: bool = False
    enable_rhi_validation: bool = False
    enable_aftermath: bool = False
    enable_cuda_interop: bool = False
    enable_print: bool = False
    enable_hot_reload: bool = True
    enable_compilation_reports: bool = False
    adapter_luid: Sequence[int] | None = None
    compiler_options: SlangCompilerOptions | None = None
    include_paths: Sequence[_Path] | None = None
    module_cache_path: _Path | None = None
    shader_cache_path: _Path | None = None
    shader_cache_size: int = 128 << 20
    existing_device_handles: Sequence[NativeHandle] | None = None
    bindless_options: Any = None
    label: str = ""
    adapter_name: str | None = None
    max_plans: int = 0
    slang_library: str | None = None
    print_buffer_size: int = 0
    check_bounds: bool = False
    log: Callable[[int, str], object] | None = None
    progress: Callable[[str, bool], object] | None = None
    compile_timeout_s: float = 0.0


class AdapterInfo(_Desc):
    """An adapter: its name, PCI ids (0 where the driver does not tell them) and luid, to be given to create_device()."""

    name: str = ""
    vendor_id: int = 0
    device_id: int = 0
    luid: list[int] = []
    driver: str = ""
    kind: str = ""
    memory_bytes: int = 0


class DeviceLimits(_Desc):
    """The largest sizes that a device can do."""

    max_compute_threads_per_group: int = 0
    max_compute_thread_group_size: tuple[int, int, int] = (0, 0, 0)
    max_compute_dispatch_thread_groups: tuple[int, int, int] = (0, 0, 0)
    max_structured_buffer_size: int = 0
    max_push_constants_size: int = 0


class DeviceInfo(_Desc):
    """What a device is. timestamp_frequency: ticks of a QueryPool in a second."""

    type: DeviceType = DeviceType.vulkan
    api_name: str = ""
    adapter_name: str | None = ""
    adapter_luid: list[int] = []
    timestamp_frequency: int = 0
    limits: DeviceLimits = DeviceLimits()
    driver: str = ""
    memory_bytes: int = 0
    wave_size: int = 0
    api_version: str = ""


class ShaderHotReloadEvent(_Desc):
    """A module was loaded again, or could not be: then `message` says why, and the old code stays."""

    succeeded: bool = True
    message: str = ""


class BufferRange(_Desc):
    """Bytes of a buffer, from `offset` on; size -1: to its end."""

    offset: int = 0
    size: int = -1


class BufferDesc(_Desc):
    """What Device.create_buffer() takes, as one value."""

    size: int = 0
    element_count: int = 0
    struct_size: int = 0
    resource_type_layout: Any = None
    format: Format = Format.undefined
    memory_type: MemoryType = MemoryType.device_local
    usage: BufferUsage = BufferUsage.none
    default_state: Any = None
    label: str = ""
    data: Any = None
    struct_type: Any = None


class ShaderCacheStats(_Desc):
    """The cache of compiled calls: how many are kept, and how often a call was found there or not."""

    entry_count: int = 0
    hit_count: int = 0
    miss_count: int = 0


class TimestampCalibration(_Desc):
    """One moment on two clocks, in ns: the GPU's, as in a QueryPool, and the host's monotonic one."""

    gpu_ns: int = 0
    host_ns: int = 0

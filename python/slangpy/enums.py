"""Enums, and classes of named values such as DeviceDesc. Their names and members are SlangPy's."""
from __future__ import annotations

from enum import EnumMeta, IntEnum, IntFlag

from ._slangpy import uint3

TYPE_CHECKING = False  # typing's constant; typing is not imported, so that `import slangpy` is fast
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
    """Metaclass of enums: the error for a member that does not exist names the members that do."""

    if not TYPE_CHECKING:  # type checkers know the members

        def __getattr__(cls, name):
            hint = ""
            if not name.startswith("_"):  # Python itself looks for such names
                from .absent import near

                members = list(cls.__members__)
                hint = near(name, members) or ("; its members are " + ", ".join(members) if len(members) <= 12 else "")
            raise AttributeError("{} has no member '{}'{}".format(cls.__name__, name, hint))


class _IntEnum(IntEnum, metaclass=_Members):
    pass


class _IntFlag(IntFlag, metaclass=_Members):
    pass


class DeviceType(_IntEnum):
    """The API that drives the GPU. Vulkan and CUDA are built in. The other types raise an error that says why."""

    automatic = 0
    d3d12 = 1
    vulkan = 2
    metal = 3
    wgpu = 4
    cpu = 5
    cuda = 6


class Feature(_IntEnum):
    """A feature that a device may have; see Device.has_feature()."""

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
    """A shader model of D3D12. A device of another API has the newest one whose compute features it supports."""

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
    """A type of numbers, which can be the dtype of a tensor."""

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
    """The uses of a buffer. In this library every buffer can be used in each way that compute has."""

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
    """The memory of a buffer. In this library it is device memory for all members; transfers use the library's own staging memory."""

    device_local = 0
    upload = 1
    read_back = 2


class ResourceState(_IntEnum):
    """A resource state for SlangPy's barriers. No barrier is needed here, because the library orders work by itself."""

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
    """The queue for submissions. A device has one queue."""

    graphics = 0


class QueryType(_IntEnum):
    """The type of a QueryPool's values."""

    timestamp = 0


class LogLevel(_IntEnum):
    """How severe a message is. A logger's level is the least severe one that it passes on; `none` passes all messages on."""

    none = 0
    debug = 1
    info = 2
    warn = 3
    error = 4
    fatal = 5


class LogFrequency(_IntEnum):
    """Whether a logger passes a text on each time or only the first time."""

    always = 0
    once = 1


class SlangMatrixLayout(_IntEnum):
    """The layout of matrices in memory. Only row_major is supported."""

    row_major = 0
    column_major = 1


class SlangFloatingPointMode(_IntEnum):
    """What the compiler may assume about floats."""

    default = 0
    fast = 1
    precise = 2


class SlangDebugInfoLevel(_IntEnum):
    """The debug information in kernels: none, function lines, or variables and sources, too."""

    none = 0
    minimal = 1
    standard = 2
    maximal = 3


class SlangOptimizationLevel(_IntEnum):
    """How much Slang optimizes kernels before the driver compiles them."""

    none = 0
    default = 1
    high = 2
    maximal = 3


class Format(_IntEnum):
    """The format of a buffer's or texture's elements; get_format_info() tells what it is made of."""

    undefined = 0
    r8_uint = 1
    r8_sint = 2
    r8_unorm = 3
    r8_snorm = 4
    rg8_uint = 5
    rg8_sint = 6
    rg8_unorm = 7
    rg8_snorm = 8
    rgba8_uint = 9
    rgba8_sint = 10
    rgba8_unorm = 11
    rgba8_unorm_srgb = 12
    rgba8_snorm = 13
    bgra8_unorm = 14
    bgra8_unorm_srgb = 15
    bgrx8_unorm = 16
    bgrx8_unorm_srgb = 17
    r16_uint = 18
    r16_sint = 19
    r16_unorm = 20
    r16_snorm = 21
    r16_float = 22
    rg16_uint = 23
    rg16_sint = 24
    rg16_unorm = 25
    rg16_snorm = 26
    rg16_float = 27
    rgba16_uint = 28
    rgba16_sint = 29
    rgba16_unorm = 30
    rgba16_snorm = 31
    rgba16_float = 32
    r32_uint = 33
    r32_sint = 34
    r32_float = 35
    rg32_uint = 36
    rg32_sint = 37
    rg32_float = 38
    rgb32_uint = 39
    rgb32_sint = 40
    rgb32_float = 41
    rgba32_uint = 42
    rgba32_sint = 43
    rgba32_float = 44
    r64_uint = 45
    r64_sint = 46
    bgra4_unorm = 47
    b5g6r5_unorm = 48
    bgr5a1_unorm = 49
    rgb9e5_ufloat = 50
    rgb10a2_uint = 51
    rgb10a2_unorm = 52
    r11g11b10_float = 53
    d32_float = 54
    d16_unorm = 55
    d32_float_s8_uint = 56
    bc1_unorm = 57
    bc1_unorm_srgb = 58
    bc2_unorm = 59
    bc2_unorm_srgb = 60
    bc3_unorm = 61
    bc3_unorm_srgb = 62
    bc4_unorm = 63
    bc4_snorm = 64
    bc5_unorm = 65
    bc5_snorm = 66
    bc6h_ufloat = 67
    bc6h_sfloat = 68
    bc7_unorm = 69
    bc7_unorm_srgb = 70
    astc4x4_unorm = 71
    astc4x4_unorm_srgb = 72
    astc6x6_unorm = 73
    astc6x6_unorm_srgb = 74
    astc8x8_unorm = 75
    astc8x8_unorm_srgb = 76

    @property
    def slang_type(self) -> str | None:
        """The Slang type of a buffer's element; None for undefined, and for formats that are no plain numbers."""
        plain = self._plain()
        return plain and plain[0]

    def _plain(self):
        """Returns (Slang type, numpy dtype, number of components) of a format that is plain numbers, else None."""
        import re

        found = re.fullmatch("(r|rg|rgb|rgba)(8|16|32|64)_(uint|sint|float)", self.name)
        if not found:
            return None
        channels, bits, kind = len(found[1]), int(found[2]), found[3]
        scalar = {"float16": "half", "float32": "float", "uint32": "uint", "sint32": "int"}.get(kind + str(bits))
        scalar = scalar or "{}{}_t".format(kind.replace("sint", "int"), bits)
        name = scalar if channels == 1 else scalar + str(channels) if not scalar.endswith("_t") else "vector<{}, {}>".format(scalar, channels)
        return name, {"float": "f", "uint": "u", "sint": "i"}[kind] + str(bits // 8), channels


if TYPE_CHECKING:

    @dataclass_transform(kw_only_default=True, field_specifiers=(field,))
    class _Fields:
        pass
else:

    class _Fields:
        pass


class _Desc(_Fields):
    """Base of classes of named values. The class's attributes are the keywords of the constructor and their defaults. Other keywords
    raise a TypeError."""

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
    """Options for compiling Slang code. An option that the library or its target does not support is an error or a logged warning."""

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
    """All arguments of Device() and create_device() as one value."""

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
    """An adapter: its name, its PCI ids (0 where the driver does not give them), and its luid, which create_device() takes."""

    name: str = ""
    vendor_id: int = 0
    device_id: int = 0
    luid: list[int] = []
    driver: str = ""
    kind: str = ""
    memory_bytes: int = 0


class DeviceLimits(_Desc):
    """The largest sizes that a device supports."""

    max_compute_threads_per_group: int = 0
    max_compute_thread_group_size: uint3 = uint3(0)
    max_compute_dispatch_thread_groups: uint3 = uint3(0)
    max_structured_buffer_size: int = 0
    max_push_constants_size: int = 0


class DeviceInfo(_Desc):
    """The names, limits and versions of a device. timestamp_frequency: ticks of a QueryPool per second."""

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
    """The event of a module's reload. If the reload failed, `message` says why, and the old code stays."""

    succeeded: bool = True
    message: str = ""


class BufferRange(_Desc):
    """`size` bytes of a buffer from byte `offset` on. A size of -1 means to the end."""

    offset: int = 0
    size: int = -1


class BufferDesc(_Desc):
    """All arguments of Device.create_buffer() as one value."""

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
    """Numbers of the cache of compiled calls: its entries, and how often a call was found in it (hits) or not (misses)."""

    entry_count: int = 0
    hit_count: int = 0
    miss_count: int = 0


class TimestampCalibration(_Desc):
    """One moment on two clocks, in ns: the GPU's clock, which a QueryPool uses, and the host's monotonic clock."""

    gpu_ns: int = 0
    host_ns: int = 0

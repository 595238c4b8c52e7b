"""Enums, and classes of named values such as DeviceDesc. Their names and members are SlangPy's."""
from __future__ import annotations

from enum import Enum, EnumMeta, Flag, IntEnum, IntFlag

from . import _slangpy

TYPE_CHECKING = False  # stands for typing.TYPE_CHECKING; typing is not imported, so that `import slangpy` is fast
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from os import PathLike
    from typing import Any, ClassVar

    from .interop import NativeHandle
    from .math import uint2, uint3

    _Path = str | PathLike[str]
else:
    from ._slangpy import uint2, uint3

__all__ = [
    "DeviceType", "Feature", "ShaderModel", "BufferUsage", "MemoryType", "ResourceState", "CommandQueueType", "QueryType",
    "Format", "LogLevel", "LogFrequency", "SlangMatrixLayout", "SlangFloatingPointMode", "SlangDebugInfoLevel",
    "SlangOptimizationLevel", "SlangCompilerOptions", "DeviceDesc", "AdapterInfo", "DeviceInfo", "DeviceLimits",
    "ShaderCacheStats", "TimestampCalibration", "CpuTimestampDomain", "FenceDesc", "QueryPoolDesc", "BindlessDesc", "HeapReport",
    "SlangLinkOptions", "SlangSessionDesc", "ShaderHotReloadEvent", "BufferRange", "BufferDesc", "DataType",
]


class _Members(EnumMeta):
    """Metaclass of enums: the error for a member that does not exist names the members that do."""

    if not TYPE_CHECKING:  # type checkers know the members

        def __iter__(cls):
            """All members in the order of their definition: as SlangPy's enums, those of flags that are zero or several bits, too."""
            hidden = cls.__dict__.get("_hidden_from_iteration", ())
            return iter([m for name, m in cls.__members__.items() if m.name == name and name not in hidden])

        def __reversed__(cls):
            return iter([*iter(cls)][::-1])

        def __len__(cls):
            return sum(1 for _ in cls)

        def __getattr__(cls, name):
            hint = ""
            if not name.startswith("_"):  # Python itself looks for names with _
                from .absent import near

                members = list(cls.__members__)
                hint = near(name, members) or ("; its members are " + ", ".join(members) if len(members) <= 12 else "")
            raise AttributeError("{} has no member '{}'{}".format(cls.__name__, name, hint))


class _IntEnum(IntEnum, metaclass=_Members):
    """Numbers with names: str() and repr() are "DeviceType.vulkan"."""

    __str__ = Enum.__str__
    __repr__ = Enum.__str__

    def __bool__(self):
        return True  # as members of SlangPy's enums, which are no numbers

    @classmethod
    def _missing_(cls, value):
        raise _slangpy.ArgumentTypeError("expected a {}, got {!r}".format(cls.__name__, value))

    def __format__(self, spec):
        return int.__format__(self, spec) if spec else str(self)


class _IntFlag(IntFlag, metaclass=_Members):
    """The numbers of named bits: str() is "BufferUsage.shader_resource|unordered_access"."""

    __str__ = Flag.__str__

    @classmethod
    def _missing_(cls, value):
        if not isinstance(value, int):
            raise _slangpy.ArgumentTypeError("expected a {}, got {!r}".format(cls.__name__, value))
        return super()._missing_(value)

    def __format__(self, spec):
        return int.__format__(self, spec) if spec else str(self)


def _lines(name: str, /, **fields: Any) -> str:
    """Returns the text of an object with a line for each field, as SlangPy writes it: Name(\n  field = value,\n  ...\n)."""
    return "{}(\n{}\n)".format(name, ",\n".join("  {} = {}".format(k, _line(v)) for k, v in fields.items()))


def _line(value: Any) -> str:
    """Returns the text of a value within _lines()."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, Flag):
        names = [f.name for f in type(value).__members__.values() if f and f.value & (f.value - 1) == 0 and f in value]
        return "({})".format(" | ".join(map(str, names))) if len(names) > 1 else str(names[0]) if names else "none"
    text = value.name if isinstance(value, Enum) else value if isinstance(value, str) else repr(value)
    return text.replace("\n", "\n  ")


def _size_text(bytes: int) -> str:
    """Returns a number of bytes with a unit, such as "12 B" or "2.50 kB"."""
    size, unit = float(bytes), 0
    while size >= 1024 and unit < 4:
        size, unit = size / 1024, unit + 1
    return "{:.2f} {}".format(size, ("B", "kB", "MB", "GB", "TB")[unit]) if unit else "{} B".format(bytes)


class Handedness(_IntEnum):
    """slangpy.math.Handedness: the direction of a view: along -z (right_handed) or along +z (left_handed)."""

    right_handed = 0
    left_handed = 1


Handedness.__module__ = "slangpy.math"
_slangpy.math.Handedness = Handedness  # type: ignore[attr-defined]


class DeviceType(_IntEnum):
    """The API that drives the GPU. Vulkan and CUDA are built in. The other types raise an error that says why."""

    automatic = 0
    d3d12 = 2
    vulkan = 3
    metal = 4
    wgpu = 7
    cpu = 5
    cuda = 6


class Feature(_IntEnum):
    """A feature that a device may have; see Device.has_feature()."""

    __bool__ = int.__bool__

    hardware_device = 0
    software_device = 1
    parameter_block = 2
    bindless = 3
    surface = 4
    pipeline_cache = 5
    rasterization = 6
    barycentrics = 7
    multi_view = 8
    rasterizer_ordered_views = 9
    conservative_rasterization = 10
    custom_border_color = 11
    fragment_shading_rate = 12
    sampler_feedback = 13
    combined_texture_sampler = 14
    acceleration_structure = 15
    acceleration_structure_spheres = 16
    acceleration_structure_linear_swept_spheres = 17
    ray_tracing = 18
    ray_query = 19
    shader_execution_reordering = 20
    ray_tracing_motion_blur = 21
    ray_tracing_validation = 22
    cluster_acceleration_structure = 23
    timestamp_query = 24
    timestamp_calibration = 25
    realtime_clock = 26
    cooperative_vector = 27
    cooperative_matrix = 28
    cooperative_matrix2 = 29
    sm_5_1 = 30
    sm_6_0 = 31
    sm_6_1 = 32
    sm_6_2 = 33
    sm_6_3 = 34
    sm_6_4 = 35
    sm_6_5 = 36
    sm_6_6 = 37
    sm_6_7 = 38
    sm_6_8 = 39
    sm_6_9 = 40
    sm_6_10 = 41
    half = 42
    double = 43
    int16 = 44
    int64 = 45
    atomic_float = 46
    atomic_half = 47
    atomic_int64 = 48
    wave_ops = 49
    mesh_shader = 50
    pointer = 51
    float8 = 52
    bfloat16 = 53
    conservative_rasterization1 = 54
    conservative_rasterization2 = 55
    conservative_rasterization3 = 56
    programmable_sample_positions1 = 57
    programmable_sample_positions2 = 58
    shader_resource_min_lod = 59
    shader_abort = 60
    argument_buffer_tier2 = 61
    residency_set = 62
    atomic_bfloat16 = 63
    double_ = 43  # earlier versions have this name
    int8 = 100  # SlangPy has no name for this feature


Feature._hidden_from_iteration = ("int8",)  # type: ignore[attr-defined]


class ShaderModel(_IntEnum):
    """A shader model of D3D12. A device of another API has the newest one whose compute features it supports."""

    __bool__ = int.__bool__

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
    float8_e4m3 = 13
    float8_e5m2 = 14


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
    acceleration_structure_read = 17
    acceleration_structure_write = 18
    acceleration_structure_build_output = 19
    acceleration_structure = 17  # earlier versions have this name


class CommandQueueType(_IntEnum):
    """The queue for submissions. A device has one queue."""

    graphics = 0


class QueryType(_IntEnum):
    """The type of a QueryPool's values. Only timestamp is supported."""

    timestamp = 0
    acceleration_structure_compacted_size = 1
    acceleration_structure_current_size = 2


class CpuTimestampDomain(_IntEnum):
    """The host's clock that a TimestampCalibration was read from."""

    unknown = 0
    query_performance_counter = 1
    clock_monotonic = 2
    clock_monotonic_raw = 3
    mach_absolute_time = 4


class LogLevel(_IntEnum):
    """How severe a message is. A logger's level is the least severe one that it passes on; `none` passes all messages on."""

    __bool__ = int.__bool__

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

    row_major = 1
    column_major = 2


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
        """The Slang type of a buffer's element; None for undefined, and for formats that are not plain numbers."""
        plain = self._plain()
        return plain and plain[0]

    def _plain(self):
        """Returns (Slang type, numpy dtype, number of components) of a format of plain numbers, otherwise None."""
        import re

        found = re.fullmatch("(r|rg|rgb|rgba)(8|16|32|64)_(uint|sint|float)", self.name)
        if not found:
            return None
        channels, bits, kind = len(found[1]), int(found[2]), found[3]
        scalar = {"float16": "half", "float32": "float", "uint32": "uint", "sint32": "int"}.get(kind + str(bits))
        scalar = scalar or "{}{}_t".format(kind.replace("sint", "int"), bits)
        name = scalar if channels == 1 else scalar + str(channels) if not scalar.endswith("_t") else "vector<{}, {}>".format(scalar, channels)
        return name, {"float": "f", "uint": "u", "sint": "i"}[kind] + str(bits // 8), channels


class _Desc:
    """The base class of classes of named values. The class's attributes are the keywords of the constructor and their defaults. Other
    keywords raise a TypeError."""

    _fields: ClassVar[dict[str, Any]] = {}
    if TYPE_CHECKING:

        def __init__(self, values: Mapping[str, Any] | None = None, **kwargs: Any) -> None: ...
    else:

        def __init__(self, values=None, **kwargs):
            given = dict(values or {}, **kwargs)
            for name, value in self._fields.items():
                given_value = given.pop(name, value)
                if isinstance(value, _Desc):  # a desc within a desc: None is its default, and a dict is converted
                    given_value = given_value if isinstance(given_value, type(value)) and given_value is not value else type(value)(
                        {} if given_value is value else given_value)
                setattr(self, name, type(value)(given_value) if type(value) in (list, dict) else given_value)
            if given:
                raise _slangpy.ArgumentTypeError("{}: No parameter named '{}'; there are: {}".format(
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

    if not TYPE_CHECKING:

        def __setattr__(self, name, value):
            if name == "include_paths" and value:  # include paths become Paths, as in SlangPy
                from pathlib import Path

                value = [Path(folder) for folder in value]
            object.__setattr__(self, name, value)

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


class SlangLinkOptions(_Desc):
    """Options for linking a program. None means that the program is linked as its modules were loaded."""

    floating_point_mode: SlangFloatingPointMode | None = None
    debug_info: SlangDebugInfoLevel | None = None
    optimization: SlangOptimizationLevel | None = None
    downstream_args: list[str] | None = None
    dump_intermediates: bool | None = None
    dump_intermediates_prefix: str | None = None


class SlangSessionDesc(_Desc):
    """All arguments of Device.create_slang_session() as one value. The device's include paths are searched in any case, after those of
    the options."""

    compiler_options: SlangCompilerOptions = SlangCompilerOptions()
    add_default_include_paths: bool = True
    cache_path: _Path | None = None


class DeviceDesc(_Desc):
    """All arguments of Device() and create_device() as one value."""

    type: DeviceType = DeviceType.automatic
    enable_debug_layers: bool = False
    debug_layers_log_level: LogLevel = LogLevel.warn
    enable_rhi_validation: bool = False
    rhi_validation_log_level: LogLevel = LogLevel.warn
    enable_ray_tracing_validation: bool = False
    enable_aftermath: bool = False
    enable_cuda_interop: bool = False
    enable_cuda_launch_from_gfx: bool = True
    enable_ray_tracing: bool = True
    enable_print: bool = False
    enable_hot_reload: bool = True
    enable_compilation_reports: bool = False
    adapter_luid: Sequence[int] | None = None
    compiler_options: SlangCompilerOptions = SlangCompilerOptions()
    include_paths: Sequence[_Path] | None = None
    module_cache_path: _Path | None = None
    shader_cache_path: _Path | None = None
    shader_cache_size: int = 128 << 20
    existing_device_handles: Sequence[NativeHandle] | None = None
    bindless_options: Any = None
    additional_vulkan_instance_extensions: Sequence[str] = []
    additional_vulkan_device_extensions: Sequence[str] = []
    label: str = ""
    adapter_name: str | None = None
    max_plans: int = 0
    slang_library: str | None = None
    print_buffer_size: int = 0
    check_bounds: bool = False
    log: Callable[[int, str], object] | None = None
    progress: Callable[[str, bool], object] | None = None
    compile_timeout_s: float = 0.0
    pack: _Path | bytes | None = None
    record_pack: bool = False
    offline: bool = False
    pack_archs: Sequence[int] | None = None


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
    """The largest sizes that a device supports. The three sizes of groups and dispatches are math.uint3. Those of textures, vertices and
    viewports are what each device of its API has at least; a device may have more."""

    max_texture_dimension_1d: int = 4096
    max_texture_dimension_2d: int = 4096
    max_texture_dimension_3d: int = 256
    max_texture_dimension_cube: int = 4096
    max_texture_layers: int = 256
    max_vertex_input_elements: int = 16
    max_vertex_input_element_offset: int = 2047
    max_vertex_streams: int = 16
    max_vertex_stream_stride: int = 2048
    max_compute_threads_per_group: int = 0
    max_compute_thread_group_size: uint3 = uint3()
    max_compute_dispatch_thread_groups: uint3 = uint3()
    min_wave_size: int = 0
    max_wave_size: int = 0
    max_viewports: int = 1
    max_viewport_dimensions: uint2 = uint2(4096)
    max_framebuffer_dimensions: uint3 = uint3(4096, 4096, 256)
    max_shader_visible_samplers: int = 16
    max_entry_point_uniform_size: int = 0
    multiprocessor_count: int = 0
    max_shared_bytes: int = 0
    max_groupshared_bytes: int = 0
    max_structured_buffer_size: int = 0
    max_push_constants_size: int = 0


class DeviceInfo(_Desc):
    """The names, limits and versions of a device. timestamp_frequency: ticks of a QueryPool per second."""

    type: DeviceType = DeviceType.vulkan
    api_name: str = ""
    adapter_name: str | None = ""
    adapter_luid: list[int] = []
    timestamp_frequency: int = 0
    optix_version: int = 0
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
    """`size` bytes of a buffer from byte `offset` on. A size of 2**64 - 1, or -1, means to the end."""

    offset: int = 0
    size: int = 2**64 - 1


class BufferDesc(_Desc):
    """All arguments of Device.create_buffer() as one value."""

    size: int = 0
    element_count: int = 0
    struct_size: int = 0
    resource_type_layout: Any = None
    format: Format = Format.undefined
    memory_type: MemoryType = MemoryType.device_local
    usage: BufferUsage = BufferUsage.none
    default_state: ResourceState = ResourceState.undefined
    label: str = ""
    data: Any = None
    struct_type: Any = None


class ShaderCacheStats(_Desc):
    """The numbers of the cache of compiled calls: its entries, and how often a call was found in it (hits) or not (misses)."""

    entry_count: int = 0
    hit_count: int = 0
    miss_count: int = 0


class TimestampCalibration(_Desc):
    """One moment on two clocks: the GPU's clock, which a QueryPool uses, and the host's monotonic clock. gpu_ns and host_ns are in ns;
    the timestamps are in ticks, and the frequencies are ticks per second."""

    gpu_ns: int = 0
    host_ns: int = 0
    cpu_domain: CpuTimestampDomain = CpuTimestampDomain.clock_monotonic
    cpu_timestamp: int = 0
    cpu_frequency: int = 1000000000
    gpu_timestamp: int = 0
    gpu_frequency: int = 1000000000
    max_deviation_ns: int = 0


class FenceDesc(_Desc):
    """All arguments of Device.create_fence() as one value."""

    initial_value: int = 0
    shared: bool = False


class QueryPoolDesc(_Desc):
    """All arguments of Device.create_query_pool() as one value."""

    type: QueryType = QueryType.timestamp
    count: int = 0


class BindlessDesc(_Desc):
    """How many descriptor handles a device has room for. Descriptor handles are not in this version, so that it has no effect."""

    buffer_count: int = 1024
    texture_count: int = 1024
    sampler_count: int = 128
    acceleration_structure_count: int = 128


class HeapReport(_Desc):
    """The device memory of one of a device's pools, as Device.report_heaps() gives it; sizes are in bytes."""

    label: str = ""
    num_pages: int = 0
    total_allocated: int = 0
    total_mem_usage: int = 0
    num_allocations: int = 0

"""Enums and plain descriptions. Names and members are those of SlangPy."""
from enum import Enum, EnumMeta, IntEnum, IntFlag

__all__ = [
    "DeviceType", "Feature", "ShaderModel", "BufferUsage", "MemoryType", "ResourceState", "CommandQueueType", "QueryType",
    "Format", "LogLevel", "LogFrequency", "SlangMatrixLayout", "SlangFloatingPointMode", "SlangDebugInfoLevel",
    "SlangOptimizationLevel", "SlangCompilerOptions", "DeviceDesc", "AdapterInfo", "DeviceInfo", "DeviceLimits",
    "ShaderCacheStats", "TimestampCalibration", "ShaderHotReloadEvent", "BufferRange", "BufferDesc", "DataType",
]


class _Members(EnumMeta):
    """Says of a member that there is not which ones there are."""

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


# Features of a device: SlangPy's names, of what this library knows about.
Feature = _IntEnum("Feature", [
    "hardware_device", "software_device", "parameter_block", "timestamp_query", "realtime_clock", "half", "double_",
    "int8", "int16", "int64", "atomic_float", "wave_ops", "pointer", "bindless", "ray_tracing", "ray_query",
    "acceleration_structure", "rasterization", "mesh_shader", "cooperative_vector", "cooperative_matrix", "surface",
], start=0, module=__name__)
Feature.__doc__ = "What a device may be able to do: see Device.has_feature()."


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


# Types of numbers: as the dtype of tensors, DataType.float32 is "float32".
DataType = _IntEnum("DataType", [
    "void", "bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16", "float32", "float64",
], start=0, module=__name__)
DataType.__doc__ = "Types of numbers, which can be given as the dtype of tensors."


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


ResourceState = _IntEnum("ResourceState", [
    "undefined", "general", "vertex_buffer", "index_buffer", "constant_buffer", "stream_output", "shader_resource",
    "unordered_access", "render_target", "depth_read", "depth_write", "present", "indirect_argument", "copy_source",
    "copy_destination", "resolve_source", "resolve_destination", "acceleration_structure",
    "acceleration_structure_build_output",
], start=0, module=__name__)
ResourceState.__doc__ = "States of SlangPy's barriers. The library orders work by itself, so none is ever needed."


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
    def slang_type(self):
        """Slang's name of an element; None for undefined."""
        return self.value and self.value[0]


class _Desc:
    """Plain named values: keywords of the constructor are attributes; unknown ones are errors."""

    _fields: dict = {}

    def __init__(self, values=None, **kwargs):
        given = dict(values or {}, **kwargs)
        for name, value in self._fields.items():
            given_value = given.pop(name, value)
            setattr(self, name, type(value)(given_value) if type(value) in (list, dict) else given_value)
        if given:
            raise TypeError("{}: No parameter named '{}'; there are: {}".format(
                type(self).__name__, next(iter(given)), ", ".join(self._fields)))

    def __repr__(self):
        return "{}({})".format(type(self).__name__, ", ".join("{}={!r}".format(n, getattr(self, n)) for n in self._fields))

    def __eq__(self, other):
        return type(other) is type(self) and all(getattr(self, n) == getattr(other, n) for n in self._fields)

    __hash__ = None  # type: ignore[assignment]


class SlangCompilerOptions(_Desc):
    """How Slang code is compiled. What the library or its target cannot honour is an error or a logged warning."""

    _fields = {
        "include_paths": [], "defines": {}, "shader_model": ShaderModel.unknown, "matrix_layout": SlangMatrixLayout.row_major,
        "enable_warnings": [], "disable_warnings": [], "warnings_as_errors": [], "report_downstream_time": False,
        "report_perf_benchmark": False, "skip_spirv_validation": False,
        "floating_point_mode": SlangFloatingPointMode.default, "debug_info": SlangDebugInfoLevel.none,
        "optimization": SlangOptimizationLevel.default, "downstream_args": [], "dump_intermediates": False,
        "dump_intermediates_prefix": "", "enable_experimental_features": False,
    }


class DeviceDesc(_Desc):
    """What Device() and create_device() take, as one value."""

    _fields = {
        "type": DeviceType.automatic, "enable_debug_layers": False, "enable_rhi_validation": False, "enable_aftermath": False,
        "enable_cuda_interop": False, "enable_print": False, "enable_hot_reload": True, "enable_compilation_reports": False,
        "adapter_luid": None, "compiler_options": None, "include_paths": None, "module_cache_path": None,
        "shader_cache_path": None, "shader_cache_size": 128 << 20, "existing_device_handles": None,
        "bindless_options": None, "label": "", "adapter_name": None, "max_plans": 0, "slang_library": None,
        "print_buffer_size": 0, "check_bounds": False, "log": None, "progress": None, "compile_timeout_s": 0.0,
    }


class AdapterInfo(_Desc):
    """An adapter: its name, PCI ids (0 where the driver does not tell them) and luid, to be given to create_device()."""

    _fields = {"name": "", "vendor_id": 0, "device_id": 0, "luid": [], "driver": "", "kind": "", "memory_bytes": 0}


class DeviceLimits(_Desc):
    """The largest sizes that a device can do."""

    _fields = {
        "max_compute_threads_per_group": 0, "max_compute_thread_group_size": (0, 0, 0),
        "max_compute_dispatch_thread_groups": (0, 0, 0), "max_structured_buffer_size": 0, "max_push_constants_size": 0,
    }


class DeviceInfo(_Desc):
    """What a device is. timestamp_frequency: ticks of a QueryPool in a second."""

    _fields = {
        "type": DeviceType.vulkan, "api_name": "", "adapter_name": "", "adapter_luid": [], "timestamp_frequency": 0,
        "limits": None, "driver": "", "memory_bytes": 0, "wave_size": 0, "api_version": "",
    }


class ShaderHotReloadEvent(_Desc):
    """A module was loaded again, or could not be: then `message` says why, and the old code stays."""

    _fields = {"succeeded": True, "message": ""}


class BufferRange(_Desc):
    """Bytes of a buffer, from `offset` on; size -1: to its end."""

    _fields = {"offset": 0, "size": -1}


class BufferDesc(_Desc):
    """What Device.create_buffer() takes, as one value."""

    _fields = {
        "size": 0, "element_count": 0, "struct_size": 0, "resource_type_layout": None, "format": Format.undefined,
        "memory_type": MemoryType.device_local, "usage": BufferUsage.none, "default_state": None, "label": "", "data": None,
        "struct_type": None,
    }


class ShaderCacheStats(_Desc):
    """The cache of compiled calls: how many are kept, and how often a call was found there or not."""

    _fields = {"entry_count": 0, "hit_count": 0, "miss_count": 0}


class TimestampCalibration(_Desc):
    """One moment on two clocks, in ns: the GPU's, as in a QueryPool, and the host's monotonic one."""

    _fields = {"gpu_ns": 0, "host_ns": 0}

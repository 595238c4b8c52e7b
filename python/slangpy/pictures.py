"""Enums and descriptions of raster and ray tracing pipelines: plain data under SlangPy's names. render.py makes pipelines and passes
of the raster descriptions. Descriptions of ray tracing can be imported and filled, but this version makes no such objects: the methods
of a device that would take them raise an error."""
from __future__ import annotations

from . import _slangpy
from ._slangpy import float3x4, float4
from .enums import _IntEnum, _IntFlag, DataType, Format, QueryType
from .textures import ComparisonFunc, _Data

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any, NoReturn

    from typing_extensions import Self

__all__ = [
    "AccelerationStructure", "AccelerationStructureBuildDesc", "AccelerationStructureBuildFlags",
    "AccelerationStructureBuildInputInstances", "AccelerationStructureBuildInputLinearSweptSpheres",
    "AccelerationStructureBuildInputMotionOptions", "AccelerationStructureBuildInputProceduralPrimitives",
    "AccelerationStructureBuildInputSpheres", "AccelerationStructureBuildInputTriangles", "AccelerationStructureBuildMode",
    "AccelerationStructureCopyMode", "AccelerationStructureDesc", "AccelerationStructureGeometryFlags",
    "AccelerationStructureHandle", "AccelerationStructureInstanceDesc", "AccelerationStructureInstanceFlags",
    "AccelerationStructureInstanceList", "AccelerationStructureKind", "AccelerationStructureQueryDesc",
    "AccelerationStructureSizes", "AspectBlendDesc", "BlendFactor", "BlendOp", "BufferOffsetPair", "ColorTargetDesc",
    "CoopVecMatrixDesc", "CoopVecMatrixLayout", "CullMode", "DepthStencilDesc", "DepthStencilOpDesc", "DescriptorHandle",
    "DescriptorHandleType", "DrawArguments", "FillMode", "FrontFaceMode", "HitGroupDesc", "IndexFormat", "InputElementDesc",
    "InputLayoutDesc", "InputSlotClass", "LinearSweptSpheresEndCapsMode", "LinearSweptSpheresIndexingMode",
    "LoadOp", "LogicOp", "MultisampleDesc", "PrimitiveTopology", "RasterizerDesc", "RayTracingPassEncoder", "RayTracingPipeline",
    "RayTracingPipelineDesc", "RayTracingPipelineFlags", "RenderPassColorAttachment", "RenderPassDepthStencilAttachment",
    "RenderPassDesc", "RenderPipelineDesc", "RenderState", "RenderTargetWriteMask",
    "ScissorRect", "ShaderTable", "ShaderTableDesc", "StencilOp", "StoreOp",
    "VertexStreamDesc", "Viewport",
]


class _Lists(_Data):
    """The base class of descriptions with lists of descriptions, and with descriptions that may be None. All of these may be given as
    dicts."""

    _kinds = {}  # type: ignore[var-annotated]

    if not TYPE_CHECKING:

        def __init__(self, *args, **kwargs):
            super().__init__(*args, **kwargs)
            for name, kind in self._kinds.items():
                value = getattr(self, name)
                setattr(self, name, [_made(kind, v) for v in value] if isinstance(value, (list, tuple)) else _made(kind, value))


def _made(kind, value):
    return kind(value) if isinstance(value, dict) else value


class DescriptorHandleType(_IntEnum):
    """The type of the object that a DescriptorHandle refers to."""

    __bool__ = int.__bool__

    undefined = 0
    buffer = 1
    rw_buffer = 2
    texture = 3
    rw_texture = 4
    sampler = 5
    combined_texture_sampler = 6
    acceleration_structure = 7


class IndexFormat(_IntEnum):
    """The type of vertex indices."""

    uint16 = 0
    uint32 = 1


class PrimitiveTopology(_IntEnum):
    """The primitives that vertices form."""

    point_list = 0
    line_list = 1
    line_strip = 2
    triangle_list = 3
    triangle_strip = 4
    patch_list = 5


class LoadOp(_IntEnum):
    """The operation of a render pass on an attachment at the pass's beginning."""

    load = 0
    clear = 1
    dont_care = 2


class StoreOp(_IntEnum):
    """The operation of a render pass on an attachment at the pass's end."""

    store = 0
    dont_care = 1


class StencilOp(_IntEnum):
    """The operation on a stencil value after a test. As an int each member is 0, as in SlangPy, but the members are different."""

    def __new__(cls, value: int) -> StencilOp:
        self = int.__new__(cls, 0)
        self._value_ = value
        return self

    keep = 0
    zero = 1
    replace = 2
    increment_saturate = 3
    decrement_saturate = 4
    invert = 5
    increment_wrap = 6
    decrement_wrap = 7


class FillMode(_IntEnum):
    """How triangles are filled."""

    solid = 0
    wireframe = 1


class CullMode(_IntEnum):
    """Which triangles are left out."""

    none = 0
    front = 1
    back = 2


class FrontFaceMode(_IntEnum):
    """Which side of a triangle is its front."""

    counter_clockwise = 0
    clockwise = 1


class LogicOp(_IntEnum):
    """A logical operation on colors."""

    no_op = 0


class BlendOp(_IntEnum):
    """How blending joins two colors."""

    add = 0
    subtract = 1
    reverse_subtract = 2
    min = 3
    max = 4


class BlendFactor(_IntEnum):
    """The factor that blending multiplies a color by."""

    zero = 0
    one = 1
    src_color = 2
    inv_src_color = 3
    src_alpha = 4
    inv_src_alpha = 5
    dest_alpha = 6
    inv_dest_alpha = 7
    dest_color = 8
    inv_dest_color = 9
    src_alpha_saturate = 10
    blend_color = 11
    inv_blend_color = 12
    secondary_src_color = 13
    inv_secondary_src_color = 14
    secondary_src_alpha = 15
    inv_secondary_src_alpha = 16


class RenderTargetWriteMask(_IntFlag):
    """The channels of a target that are written."""

    none = 0
    red = 1
    green = 2
    blue = 4
    alpha = 8
    all = 15


class RayTracingPipelineFlags(_IntFlag):
    """Options of a ray tracing pipeline."""

    none = 0
    skip_triangles = 1
    skip_procedurals = 2
    enable_spheres = 4
    enable_linear_swept_spheres = 8


class CoopVecMatrixLayout(_IntEnum):
    """The layout of a matrix for cooperative vectors."""

    row_major = 0
    column_major = 1
    inferencing_optimal = 2
    training_optimal = 3


class InputSlotClass(_IntEnum):
    """Whether a vertex stream has elements by vertex or by instance."""

    per_vertex = 0
    per_instance = 1


class AccelerationStructureGeometryFlags(_IntFlag):
    """Options of a geometry."""

    none = 0
    opaque = 1
    no_duplicate_any_hit_invocation = 2


class AccelerationStructureInstanceFlags(_IntFlag):
    """Options of an instance."""

    none = 0
    triangle_facing_cull_disable = 1
    triangle_front_counter_clockwise = 2
    force_opaque = 4
    no_opaque = 8


class LinearSweptSpheresIndexingMode(_IntEnum):
    """How indices form linear swept spheres."""

    list = 0
    successive = 1


class LinearSweptSpheresEndCapsMode(_IntEnum):
    """Which ends of linear swept spheres are closed."""

    none = 0
    chained = 1


class AccelerationStructureBuildMode(_IntEnum):
    """Whether an acceleration structure is built or updated."""

    build = 0
    update = 1


class AccelerationStructureBuildFlags(_IntFlag):
    """Options of a build."""

    none = 0
    allow_update = 1
    allow_compaction = 2
    prefer_fast_trace = 4
    prefer_fast_build = 8
    minimize_memory = 16


class AccelerationStructureCopyMode(_IntEnum):
    """How an acceleration structure is copied."""

    clone = 0
    compact = 1


class AccelerationStructureKind(_IntEnum):
    """The level of an acceleration structure."""

    unknown = 0
    bottom_level = 1
    top_level = 2


class DrawArguments(_Data):
    """The counts and first locations of a draw call."""

    vertex_count: int = 0
    instance_count: int = 1
    start_vertex_location: int = 0
    start_instance_location: int = 0
    start_index_location: int = 0


class Viewport(_Data):
    """Where a render pass draws, in pixels, and its range of depths."""

    x: float = 0.0
    y: float = 0.0
    width: float = 0.0
    height: float = 0.0
    min_depth: float = 0.0
    max_depth: float = 1.0

    @classmethod
    def from_size(cls, width: float, height: float) -> Self:
        """from_size(width, height): returns the one from (0, 0) on with that size."""
        return cls(width=float(width), height=float(height))

    def __repr__(self) -> str:
        return "Viewport({})".format(", ".join("{}={:g}".format(n, getattr(self, n)) for n in self._fields))


class ScissorRect(_Data):
    """A rectangle of pixels outside of which nothing is drawn."""

    min_x: int = 0
    min_y: int = 0
    max_x: int = 0
    max_y: int = 0

    @classmethod
    def from_size(cls, width: int, height: int) -> Self:
        """from_size(width, height): returns the rectangle of that size at (0, 0)."""
        return cls(max_x=width, max_y=height)


class AspectBlendDesc(_Data):
    """How one aspect of a color, its rgb or its alpha, is blended."""

    src_factor: BlendFactor = BlendFactor.one
    dst_factor: BlendFactor = BlendFactor.zero
    op: BlendOp = BlendOp.add


class ColorTargetDesc(_Data):
    """One color target of a render pipeline."""

    format: Format = Format.undefined
    color: AspectBlendDesc = AspectBlendDesc()
    alpha: AspectBlendDesc = AspectBlendDesc()
    write_mask: RenderTargetWriteMask = RenderTargetWriteMask.all
    enable_blend: bool = False
    logic_op: LogicOp = LogicOp.no_op


class MultisampleDesc(_Data):
    """The samples of a render pipeline."""

    sample_count: int = 1
    sample_mask: int = 0xFFFFFFFF
    alpha_to_coverage_enable: bool = False
    alpha_to_one_enable: bool = False


class DepthStencilOpDesc(_Data):
    """The stencil test of one side of triangles."""

    stencil_fail_op: StencilOp = StencilOp.keep
    stencil_depth_fail_op: StencilOp = StencilOp.keep
    stencil_pass_op: StencilOp = StencilOp.keep
    stencil_func: ComparisonFunc = ComparisonFunc.always


class DepthStencilDesc(_Data):
    """The depth and stencil tests of a render pipeline."""

    format: Format = Format.undefined
    depth_test_enable: bool = False
    depth_write_enable: bool = True
    depth_func: ComparisonFunc = ComparisonFunc.less
    stencil_enable: bool = False
    stencil_read_mask: int = 0xFFFFFFFF
    stencil_write_mask: int = 0xFFFFFFFF
    front_face: DepthStencilOpDesc = DepthStencilOpDesc()
    back_face: DepthStencilOpDesc = DepthStencilOpDesc()


class RasterizerDesc(_Data):
    """How a render pipeline turns triangles into pixels."""

    fill_mode: FillMode = FillMode.solid
    cull_mode: CullMode = CullMode.none
    front_face: FrontFaceMode = FrontFaceMode.counter_clockwise
    depth_bias: int = 0
    depth_bias_clamp: float = 0.0
    slope_scaled_depth_bias: float = 0.0
    depth_clip_enable: bool = True
    scissor_enable: bool = False
    multisample_enable: bool = False
    antialiased_line_enable: bool = False
    enable_conservative_rasterization: bool = False
    forced_sample_count: int = 0


class InputElementDesc(_Data):
    """One attribute of vertices."""

    semantic_name: str = ""
    semantic_index: int = 0
    format: Format = Format.undefined
    offset: int = 0
    buffer_slot_index: int = 0


class VertexStreamDesc(_Data):
    """One buffer of vertices."""

    stride: int = 0
    slot_class: InputSlotClass = InputSlotClass.per_vertex
    instance_data_step_rate: int = 0


class InputLayoutDesc(_Lists):
    """All arguments of Device.create_input_layout() as one value."""

    _kinds = {"input_elements": InputElementDesc, "vertex_streams": VertexStreamDesc}

    input_elements: list[InputElementDesc] = []
    vertex_streams: list[VertexStreamDesc] = []


class RenderPipelineDesc(_Lists):
    """All arguments of Device.create_render_pipeline() as one value."""

    _kinds = {"targets": ColorTargetDesc}

    program: Any = None
    input_layout: Any = None
    primitive_topology: PrimitiveTopology = PrimitiveTopology.triangle_list
    targets: list[ColorTargetDesc] = []
    depth_stencil: DepthStencilDesc = DepthStencilDesc()
    rasterizer: RasterizerDesc = RasterizerDesc()
    multisample: MultisampleDesc = MultisampleDesc()
    label: str = ""


class HitGroupDesc(_Data):
    """The entry points of a hit group."""

    hit_group_name: str = ""
    closest_hit_entry_point: str = ""
    any_hit_entry_point: str = ""
    intersection_entry_point: str = ""


class RayTracingPipelineDesc(_Data):
    """All arguments of Device.create_ray_tracing_pipeline() as one value."""

    program: Any = None
    hit_groups: list[HitGroupDesc] = []
    max_recursion: int = 0
    max_ray_payload_size: int = 0
    max_attribute_size: int = 8
    flags: RayTracingPipelineFlags = RayTracingPipelineFlags.none
    label: str = ""


class ShaderTableDesc(_Data):
    """All arguments of Device.create_shader_table() as one value."""

    program: Any = None
    ray_gen_entry_points: list[str] = []
    miss_entry_points: list[str] = []
    hit_group_names: list[str] = []
    callable_entry_points: list[str] = []


class CoopVecMatrixDesc(_Data):
    """A matrix for cooperative vectors."""

    rows: int = 0
    cols: int = 0
    element_type: DataType = DataType.void
    layout: CoopVecMatrixLayout = CoopVecMatrixLayout.row_major
    size: int = 0
    offset: int = 0
    row_col_stride: int = 0


class BufferOffsetPair(_Data):
    """A buffer and an offset in it in bytes."""

    buffer: Any = None
    offset: int = 0


class RenderState(_Lists):
    """The state of a render pass for its draws: viewports, scissors, buffers of vertices and indices."""

    _kinds = {"viewports": Viewport, "scissor_rects": ScissorRect, "vertex_buffers": BufferOffsetPair}

    stencil_ref: int = 0
    viewports: list[Viewport] = []
    scissor_rects: list[ScissorRect] = []
    vertex_buffers: list[BufferOffsetPair] = []
    index_buffer: BufferOffsetPair = BufferOffsetPair()
    index_format: IndexFormat = IndexFormat.uint32


class RenderPassColorAttachment(_Data):
    """A color target of a render pass."""

    view: Any = None
    resolve_target: Any = None
    load_op: LoadOp = LoadOp.clear
    store_op: StoreOp = StoreOp.store
    clear_value: float4 = float4(0)


class RenderPassDepthStencilAttachment(_Data):
    """The depth and stencil target of a render pass."""

    view: Any = None
    depth_load_op: LoadOp = LoadOp.clear
    depth_store_op: StoreOp = StoreOp.store
    depth_clear_value: float = 1.0
    depth_read_only: bool = False
    stencil_load_op: LoadOp = LoadOp.clear
    stencil_store_op: StoreOp = StoreOp.store
    stencil_clear_value: int = 0
    stencil_read_only: bool = False


class RenderPassDesc(_Lists):
    """The argument of CommandEncoder.begin_render_pass() as a value."""

    _kinds = {"color_attachments": RenderPassColorAttachment, "depth_stencil_attachment": RenderPassDepthStencilAttachment}

    color_attachments: list[RenderPassColorAttachment] = []
    depth_stencil_attachment: RenderPassDepthStencilAttachment | None = None


class AccelerationStructureHandle(_Data):
    """The handle of an acceleration structure in an instance."""

    value: int = 0


class AccelerationStructureInstanceDesc(_Data):
    """One instance in an acceleration structure."""

    transform: float3x4 = float3x4()
    instance_id: int = 0
    instance_mask: int = 0
    instance_contribution_to_hit_group_index: int = 0
    flags: AccelerationStructureInstanceFlags = AccelerationStructureInstanceFlags.none
    acceleration_structure: AccelerationStructureHandle = AccelerationStructureHandle()

    def to_numpy(self) -> Any:
        """to_numpy(): returns the 64 bytes of the instance as Vulkan and Direct3D take them, as an array of uint8."""
        import numpy as np

        words = np.zeros(16, np.uint32)
        words[:12] = np.asarray(self.transform.to_numpy(), np.float32).reshape(12).view(np.uint32)
        words[12] = (self.instance_id & 0xFFFFFF) | (self.instance_mask & 0xFF) << 24
        words[13] = (self.instance_contribution_to_hit_group_index & 0xFFFFFF) | (int(self.flags) & 0xFF) << 24
        words[14:].view(np.uint64)[0] = self.acceleration_structure.value
        data = words.view(np.uint8)
        data.flags.writeable = False
        return data


class AccelerationStructureBuildInputInstances(_Data):
    """Instances to build an acceleration structure of."""

    instance_buffer: BufferOffsetPair = BufferOffsetPair()
    instance_stride: int = 0
    instance_count: int = 0


class AccelerationStructureBuildInputTriangles(_Data):
    """Triangles to build an acceleration structure of."""

    vertex_buffers: list[BufferOffsetPair] = []
    vertex_format: Format = Format.undefined
    vertex_count: int = 0
    vertex_stride: int = 0
    index_buffer: BufferOffsetPair = BufferOffsetPair()
    index_format: IndexFormat = IndexFormat.uint32
    index_count: int = 0
    pre_transform_buffer: BufferOffsetPair = BufferOffsetPair()
    flags: AccelerationStructureGeometryFlags = AccelerationStructureGeometryFlags.none


class AccelerationStructureBuildInputProceduralPrimitives(_Data):
    """Boxes to build an acceleration structure of."""

    aabb_buffers: list[BufferOffsetPair] = []
    aabb_stride: int = 0
    primitive_count: int = 0
    flags: AccelerationStructureGeometryFlags = AccelerationStructureGeometryFlags.none


class AccelerationStructureBuildInputSpheres(_Data):
    """Spheres to build an acceleration structure of."""

    vertex_count: int = 0
    vertex_position_buffers: list[BufferOffsetPair] = []
    vertex_position_format: Format = Format.undefined
    vertex_position_stride: int = 0
    vertex_radius_buffers: list[BufferOffsetPair] = []
    vertex_radius_format: Format = Format.undefined
    vertex_radius_stride: int = 0
    index_buffer: BufferOffsetPair = BufferOffsetPair()
    index_format: IndexFormat = IndexFormat.uint32
    index_count: int = 0
    flags: AccelerationStructureGeometryFlags = AccelerationStructureGeometryFlags.none


class AccelerationStructureBuildInputLinearSweptSpheres(_Data):
    """Linear swept spheres to build an acceleration structure of."""

    vertex_count: int = 0
    primitive_count: int = 0
    vertex_position_buffers: list[BufferOffsetPair] = []
    vertex_position_format: Format = Format.undefined
    vertex_position_stride: int = 0
    vertex_radius_buffers: list[BufferOffsetPair] = []
    vertex_radius_format: Format = Format.undefined
    vertex_radius_stride: int = 0
    index_buffer: BufferOffsetPair = BufferOffsetPair()
    index_format: IndexFormat = IndexFormat.uint32
    index_count: int = 0
    indexing_mode: LinearSweptSpheresIndexingMode = LinearSweptSpheresIndexingMode.list
    end_caps_mode: LinearSweptSpheresEndCapsMode = LinearSweptSpheresEndCapsMode.none
    flags: AccelerationStructureGeometryFlags = AccelerationStructureGeometryFlags.none


class AccelerationStructureBuildInputMotionOptions(_Data):
    """The motion of an acceleration structure."""

    key_count: int = 1
    time_start: float = 0.0
    time_end: float = 1.0


class AccelerationStructureBuildDesc(_Data):
    """The inputs and options of the build of an acceleration structure."""

    inputs: list[Any] = []
    motion_options: AccelerationStructureBuildInputMotionOptions = AccelerationStructureBuildInputMotionOptions()
    mode: AccelerationStructureBuildMode = AccelerationStructureBuildMode.build
    flags: AccelerationStructureBuildFlags = AccelerationStructureBuildFlags.none


class AccelerationStructureSizes(_Data):
    """The memory that an acceleration structure needs."""

    acceleration_structure_size: int = 0
    scratch_size: int = 0
    update_scratch_size: int = 0


class AccelerationStructureQueryDesc(_Data):
    """A query about an acceleration structure."""

    query_type: QueryType = QueryType.timestamp
    query_pool: Any = None
    first_query_index: int = 0


class AccelerationStructureDesc(_Data):
    """All arguments of Device.create_acceleration_structure() as one value."""

    kind: AccelerationStructureKind = AccelerationStructureKind.unknown
    size: int = 0
    label: str = ""


class DescriptorHandle:
    """A number by which kernels find a resource without a binding: an argument for a parameter or field DescriptorHandle<T>. The resource
    must be kept alive. See Texture.descriptor_handle_ro."""

    def __init__(self, type: DescriptorHandleType = DescriptorHandleType.undefined, value: int = 0) -> None:
        self.type, self.value = type, value

    def get_this(self) -> int:
        """get_this(): returns the number, which calls and cursors take."""
        return self.value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, DescriptorHandle) and (self.type, self.value) == (other.type, other.value)

    def __hash__(self) -> int:
        return hash((self.type, self.value))

    def __repr__(self) -> str:
        return "DescriptorHandle(type={}, value={})".format(self.type.name, self.value)


# >>classes of objects that this version does not make; isinstance() says no


class _Absent:
    def __init__(self, *args: Any, **kwargs: Any) -> NoReturn:
        raise NotImplementedError("slangpy.{} is not in this version: {}".format(type(self).__name__, type(self).__doc__))


class RayTracingPipeline(_Absent):
    """Ray tracing pipelines belong to a later version."""


class RayTracingPassEncoder(_Absent):
    """Ray tracing pipelines belong to a later version."""


class ShaderTable(_Absent):
    """Ray tracing pipelines belong to a later version."""


class AccelerationStructure(_Absent):
    """Ray tracing belongs to a later version."""


class AccelerationStructureInstanceList(_Absent):
    """Ray tracing belongs to a later version."""

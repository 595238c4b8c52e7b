"""Raster at the level of command encoders, under SlangPy's names: input layouts, raster pipelines, and render passes."""
from __future__ import annotations

from . import _slangpy
from .encoders import _Child
from .formats import FormatType, get_format_info
from .interop import NativeHandle
from .pictures import (BlendFactor, BlendOp, BufferOffsetPair, ColorTargetDesc, CullMode, DepthStencilDesc, DepthStencilOpDesc, DrawArguments,
                       FillMode, FrontFaceMode, IndexFormat, InputElementDesc, InputLayoutDesc, InputSlotClass, LoadOp, MultisampleDesc,
                       PrimitiveTopology, RasterizerDesc, RenderPassColorAttachment, RenderPassDepthStencilAttachment, RenderPassDesc,
                       RenderPipelineDesc, RenderState, RenderTargetWriteMask, ScissorRect, StencilOp, VertexStreamDesc, Viewport)
from .programs import ShaderObject, ShaderProgram, _Pass
from .resources import Texture, TextureView, _Resource, _copied
from .textures import ComparisonFunc, TextureUsage

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any, NoReturn

    from ._slangpy import Function
    from .device import Device
    from .encoders import CommandEncoder
    from .enums import Format
    from .programs import SlangEntryPoint

__all__ = ["InputLayout", "RenderPipeline", "RenderPassEncoder"]

_MOST_TARGETS, _MOST_STREAMS, _MOST = 8, 16, 0xFFFFFFFF


def _as(kind: Any, value: Any, name: str) -> Any:
    """Returns a description that was given as an object or a dict."""
    if isinstance(value, kind):
        return value
    if isinstance(value, dict):
        return kind(value)
    raise TypeError("argument '{}': expected a {} or a dict, got {!r}".format(name, kind.__name__, type(value)))


def _list_of(kind: Any, values: Any, name: str) -> list[Any]:
    if isinstance(values, (str, dict)) or not hasattr(values, "__iter__"):
        raise TypeError("argument '{}': expected a list of {}, got {!r}".format(name, kind.__name__, type(values)))
    return [_as(kind, value, name) for value in values]


def _refuse(what: str) -> NoReturn:
    raise NotImplementedError("{} is not in this version".format(what))


# >>input layouts


class InputLayout(_Child):
    """The layout of vertex attributes in vertex buffers; see Device.create_input_layout()."""

    device: Device
    _desc: InputLayoutDesc

    def __init__(self, device: Device, desc: InputLayoutDesc | Mapping[str, Any]) -> None:
        where = "create_input_layout"
        full = InputLayoutDesc(_as(InputLayoutDesc, desc, "desc"))
        full.vertex_streams = [VertexStreamDesc(s) for s in _list_of(VertexStreamDesc, full.vertex_streams, "vertex_streams")]
        full.input_elements = [InputElementDesc(e) for e in _list_of(InputElementDesc, full.input_elements, "input_elements")]
        if len(full.vertex_streams) > _MOST_STREAMS:
            raise _slangpy.ArgumentValueError("{}: argument 'vertex_streams': expected at most {}, got {}".format(where, _MOST_STREAMS, len(full.vertex_streams)))
        for element in full.input_elements:
            if not isinstance(element.semantic_name, str) or not element.semantic_name:
                raise _slangpy.ArgumentValueError("{}: argument 'input_elements': expected a semantic_name, got {!r}".format(where, element.semantic_name))
            if element.format == 0:
                raise _slangpy.ArgumentValueError("{}: input element '{}': no format is given".format(where, element.semantic_name))
            if not 0 <= element.buffer_slot_index < len(full.vertex_streams):
                raise _slangpy.ArgumentValueError("{}: input element '{}': buffer_slot_index {} with {} vertex streams".format(
                    where, element.semantic_name, element.buffer_slot_index, len(full.vertex_streams)))
            if not (0 <= element.semantic_index <= _MOST and 0 <= element.offset <= _MOST):
                raise _slangpy.ArgumentValueError("{}: input element '{}': expected a semantic_index and an offset of 0 or more".format(where, element.semantic_name))
        for i, stream in enumerate(full.vertex_streams):
            if not (0 <= stream.stride <= _MOST and 0 <= stream.instance_data_step_rate <= _MOST):
                raise _slangpy.ArgumentValueError("{}: vertex stream {}: expected a stride and an instance_data_step_rate of 0 or more".format(where, i))
        self.device, self._desc = device, full

    @property
    def desc(self) -> InputLayoutDesc:
        """The InputLayoutDesc of the layout."""
        return _copied(InputLayoutDesc, self._desc)

    def _attributes(self) -> tuple[Any, ...]:
        """Returns (name, index, format, offset, buffer) of each attribute, and (stride, instances per element) of each buffer."""
        return (tuple((e.semantic_name, e.semantic_index, int(e.format), e.offset, e.buffer_slot_index) for e in self._desc.input_elements),
                tuple((s.stride, max(s.instance_data_step_rate, 1) if InputSlotClass(s.slot_class) == InputSlotClass.per_instance else 0)
                      for s in self._desc.vertex_streams))

    def __repr__(self):
        return "<slangpy.InputLayout {}>".format(", ".join(e.semantic_name + (str(e.semantic_index) if e.semantic_index else "")
                                                          for e in self._desc.input_elements))


def create_input_layout(
        device: Device, input_elements: Sequence[InputElementDesc | Mapping[str, Any]] | InputLayoutDesc | Mapping[str, Any] | None,
        vertex_streams: Sequence[VertexStreamDesc | Mapping[str, Any]] | None, desc: InputLayoutDesc | Mapping[str, Any] | None) -> InputLayout:
    if isinstance(input_elements, (InputLayoutDesc, dict)):
        input_elements, desc = None, input_elements
    if desc is not None:
        if input_elements is not None or vertex_streams is not None:
            raise TypeError("create_input_layout: expected 'desc', or 'input_elements' and 'vertex_streams', got both")
        return InputLayout(device, desc)
    if input_elements is None or vertex_streams is None:
        raise TypeError("create_input_layout: argument '{}' not specified".format("input_elements" if input_elements is None else "vertex_streams"))
    return InputLayout(device, InputLayoutDesc(input_elements=_list_of(InputElementDesc, input_elements, "input_elements"),
                                               vertex_streams=_list_of(VertexStreamDesc, vertex_streams, "vertex_streams")))


# >>pipelines


def _blend(target: ColorTargetDesc) -> tuple[int, ...]:
    """Returns the blending of a target in the library's numbers."""
    color, alpha = target.color, target.alpha
    return (int(bool(target.enable_blend)), *(n for a in (color, alpha) for n in (
        int(BlendFactor(a.src_factor)) + 1, int(BlendFactor(a.dst_factor)) + 1, int(BlendOp(a.op)) + 1)),
        15 & ~int(RenderTargetWriteMask(target.write_mask)))


def _stencil(side: DepthStencilOpDesc) -> tuple[int, ...]:
    return (StencilOp(side.stencil_fail_op).value, StencilOp(side.stencil_depth_fail_op).value, StencilOp(side.stencil_pass_op).value,
            int(ComparisonFunc(side.stencil_func)) + 1)


def make_raster(vertex: Function, fragment: Function | None, state: dict[str, Any], label: str | None) -> Any:
    """Returns the library's raster of two functions. `state` has the library's numbers; a number that it lacks has the default of a
    description of zeros."""
    get = state.get
    stencil = get("stencil")
    if stencil is not None:  # for the library a mask of 0 means 255
        read, write, *sides = stencil
        if not read:
            sides = [(*side[:3], 8 if side[3] in (3, 4, 7, 8) else 1) for side in sides]
        if not write:
            sides = [(0, 0, 0, side[3]) for side in sides]
        stencil = (read, write, *sides)
    return _slangpy._raster_make(
        vertex, fragment, (get("topology", 0), get("cull", 0), get("clockwise_is_front", False), get("wireframe", False), get("depth_compare", 0),
                           get("depth_read_only", False), get("depth_clamped", False), get("alpha_to_coverage", False), get("sample_mask", 0)),
        get("depth_bias", (0.0, 0.0, 0.0)), get("blends", ()), stencil, get("attributes", ()), get("layouts", ()), get("instance_attributes", ()),
        label or None)


class RenderPipeline(_Child):
    """A vertex and a fragment entry point with the settings of their draws; see Device.create_render_pipeline()."""

    device: Device
    program: ShaderProgram
    label: str
    _desc: RenderPipelineDesc

    def __init__(self, device: Device, desc: RenderPipelineDesc) -> None:
        where = "create_render_pipeline"
        program: Any = desc.program
        if not isinstance(program, ShaderProgram):
            raise TypeError("{}: argument 'program': expected a ShaderProgram, got {!r}".format(where, type(program)))
        if program.device is not device:
            raise _slangpy.ArgumentValueError("{}: argument 'program': it belongs to another device".format(where))
        layout: Any = desc.input_layout
        if layout is not None and not isinstance(layout, InputLayout):
            raise TypeError("{}: argument 'input_layout': expected an InputLayout or None, got {!r}".format(where, type(layout)))
        if layout is not None and layout.device is not device:
            raise _slangpy.ArgumentValueError("{}: argument 'input_layout': it belongs to another device".format(where))
        self.device, self.program, self.label, self._desc = device, program, desc.label or "", desc
        stages: dict[str, SlangEntryPoint] = {}
        for entry in program.entry_points:
            stage = entry.stage.name
            if stage not in ("vertex", "fragment"):
                raise _slangpy.ArgumentValueError("{}: argument 'program': entry point '{}' is of stage '{}'; expected a vertex and a fragment entry point".format(
                    where, entry.name, stage))
            if stage in stages:
                raise _slangpy.ArgumentValueError("{}: argument 'program': expected one {} entry point, got '{}' and '{}'".format(
                    where, stage, stages[stage].name, entry.name))
            stages[stage] = entry
        if "vertex" not in stages:
            raise _slangpy.ArgumentValueError("{}: argument 'program': it has no vertex entry point".format(where))
        self._entries: tuple[SlangEntryPoint, ...] = tuple(stages[s] for s in ("vertex", "fragment") if s in stages)
        self._rasters: dict[tuple[bool, bool, int], Any] = {}
        self._outputs = 0
        self._state = self._state_of(desc, where)
        self._outputs = _slangpy._raster_outputs(self._raster(False, True, 0))

    @staticmethod
    def _state_of(desc: RenderPipelineDesc, where: str) -> dict[str, Any]:
        topology = PrimitiveTopology(desc.primitive_topology)
        if topology == PrimitiveTopology.patch_list:
            _refuse("{}: PrimitiveTopology.patch_list (tessellation)".format(where))
        targets = _list_of(ColorTargetDesc, desc.targets, "targets")
        if len(targets) > _MOST_TARGETS:
            raise _slangpy.ArgumentValueError("{}: argument 'targets': expected at most {}, got {}".format(where, _MOST_TARGETS, len(targets)))
        ds = _as(DepthStencilDesc, desc.depth_stencil or {}, "depth_stencil")
        r = _as(RasterizerDesc, desc.rasterizer or {}, "rasterizer")
        ms = _as(MultisampleDesc, desc.multisample or {}, "multisample")
        for given, what in ((r.enable_conservative_rasterization, "RasterizerDesc.enable_conservative_rasterization"),
                            (r.forced_sample_count, "RasterizerDesc.forced_sample_count"),
                            (ms.alpha_to_one_enable, "MultisampleDesc.alpha_to_one_enable")):
            if given:
                _refuse("{}: {}".format(where, what))
        state = dict(
            topology=int(topology) + 1, cull=int(CullMode(r.cull_mode)),
            clockwise_is_front=FrontFaceMode(r.front_face) == FrontFaceMode.clockwise,
            wireframe=FillMode(r.fill_mode) == FillMode.wireframe, blends=tuple(_blend(t) for t in targets),
            depth_compare=int(ComparisonFunc(ds.depth_func)) + 1 if ds.depth_test_enable else 0,
            depth_read_only=not ds.depth_write_enable, depth_clamped=not r.depth_clip_enable,
            depth_bias=(float(r.depth_bias), float(r.slope_scaled_depth_bias), float(r.depth_bias_clamp)),
            sample_mask=ms.sample_mask & 0xFFFFFFFF, alpha_to_coverage=bool(ms.alpha_to_coverage_enable))
        if ds.stencil_enable:
            state.update(stencil=(ds.stencil_read_mask & 255, ds.stencil_write_mask & 255, _stencil(ds.front_face), _stencil(ds.back_face)))
        if desc.input_layout is not None:
            state["attributes"], state["layouts"] = desc.input_layout._attributes()
        return state

    def _raster(self, depth_read_only: bool, has_depth: bool, targets: int) -> Any:
        """Returns the library's raster for passes of one form. depth_read_only: the pass does not write its depth target. has_depth: the pass
        has a depth target. targets: a bit for each color attachment of the pass. The library refuses a test of depth or stencil without a
        depth target, and a written target without an output of the fragment function, so these are switched off here."""
        key = (depth_read_only or self._state["depth_read_only"], has_depth, targets & ~self._outputs)
        found = self._rasters.get(key)
        if found is None:
            state = dict(self._state, depth_read_only=key[0])
            if not has_depth:
                state["depth_compare"] = 0
                state.pop("stencil", None)
            if key[2]:
                blends = [*state["blends"], *[(0, 0, 0, 0, 0, 0, 0, 0)] * _MOST_TARGETS][:_MOST_TARGETS]
                state["blends"] = tuple((*b[:7], 15) if key[2] & 1 << i else b for i, b in enumerate(blends))
            vertex, *rest = (e.function for e in self._entries)
            found = self._rasters[key] = make_raster(vertex, rest[0] if rest else None, state, self.label)
        return found

    @property
    def desc(self) -> RenderPipelineDesc:
        """The RenderPipelineDesc that the pipeline was made with."""
        return _copied(RenderPipelineDesc, self._desc)

    @property
    def native_handle(self) -> NativeHandle:
        """A NativeHandle of type undefined: a pipeline is compiled at its first draw, for the formats of its targets and the types of its
        arguments."""
        return NativeHandle()

    def __repr__(self):
        return "<slangpy.RenderPipeline{} {}>".format(" '{}'".format(self.label) if self.label else "", ", ".join(e.name for e in self._entries))


def create_render_pipeline(device: Device, given: RenderPipelineDesc | None, fields: dict[str, Any]) -> RenderPipeline:
    return RenderPipeline(device, RenderPipelineDesc({k: v for k, v in (vars(given) if given is not None else fields).items() if v is not None}))


# >>targets


def _first_level(target: Any, name: str, usage: TextureUsage) -> tuple[Any, Format]:
    """Returns the first mip level of a texture or view, which a pass draws into, and its format."""
    if isinstance(target, Texture):
        whole, r, format = target, target._range(None), target.format
    elif isinstance(target, TextureView):
        whole, r, format = target.texture, target.subresource_range, target.format
    else:
        raise TypeError("{}: expected a TextureView, got {!r}".format(name, type(target)))
    if not whole.desc.usage & usage:
        raise _slangpy.Error("{}: the texture's usage is {!r}, without {}".format(name, whole.desc.usage, usage.name))
    if r.mip_count == 1:
        return target, format
    layers = 0 if r.layer_count == whole.layer_count else r.layer_count
    return _slangpy._texture_view(_Resource, whole, 0 if format == whole.format else int(format), r.mip, 1, r.layer, layers), format


_letters: dict[Format, str] = {}  # the results of _color()


def _color(value: Any, format: Format) -> tuple[str, tuple[Any, ...]]:
    """Returns a clear value for a format: a letter for its type of numbers, and the numbers."""
    values = [value] * 4 if isinstance(value, (int, float)) else list(value)
    if len(values) != 4:
        raise _slangpy.ArgumentValueError("clear_value: expected four numbers, got {!r}".format(value))
    letter = _letters.get(format)
    if letter is None:
        letter = _letters[format] = {FormatType.uint: "u", FormatType.sint: "i"}.get(get_format_info(format).type, "f")
    return letter, tuple(map(float if letter == "f" else int, values))


class _Target:
    """A color attachment of a pass: the texture, and the operation on its old contents."""

    __slots__ = ("texture", "load", "clear", "resolve")

    def __init__(self, texture: Any, load: LoadOp, clear: tuple[str, tuple[Any, ...]], resolve: Any) -> None:
        self.texture, self.load, self.clear, self.resolve = texture, load, clear, resolve

    @classmethod
    def of(cls, a: RenderPassColorAttachment, where: str) -> _Target | None:
        if a.view is None:
            return None
        texture, format = _first_level(a.view, where + "view", TextureUsage.render_target)
        resolve = None if a.resolve_target is None else _first_level(a.resolve_target, where + "resolve_target", TextureUsage(~0 & 2047))[0]
        return cls(texture, LoadOp(a.load_op), _color(a.clear_value, format), resolve)


class _DepthTarget:
    """The depth and stencil attachment of a pass."""

    __slots__ = ("texture", "load", "stencil_load", "clear", "stencil_clear", "read_only", "has_depth", "has_stencil")

    def __init__(self, a: RenderPassDepthStencilAttachment, where: str) -> None:
        self.texture, format = _first_level(a.view, where + "view", TextureUsage.depth_stencil)
        info = get_format_info(format)
        self.has_depth, self.has_stencil = info.is_depth, info.is_stencil
        self.load, self.stencil_load = LoadOp(a.depth_load_op), LoadOp(a.stencil_load_op)
        self.clear, self.stencil_clear = float(a.depth_clear_value), int(a.stencil_clear_value) & 255
        self.read_only = bool(a.depth_read_only)


# >>passes


def _place(value: Any, name: str) -> tuple[Any, int]:
    """Returns the buffer and the offset of a BufferOffsetPair, of a dict of its fields, or of a Buffer."""
    if isinstance(value, _slangpy.Tensor):
        return value, 0
    pair = _as(BufferOffsetPair, value, name)
    if pair.buffer is not None and not isinstance(pair.buffer, _slangpy.Tensor):
        raise TypeError("argument '{}': expected a Buffer, got {!r}".format(name, type(pair.buffer)))
    if not 0 <= pair.offset:
        raise _slangpy.ArgumentValueError("argument '{}': expected an offset of 0 or more, got {}".format(name, pair.offset))
    return pair.buffer, pair.offset


def _blank(device):
    """Returns a raster for a draw without vertices, which can clear depth without stencil, or stencil without depth."""
    found = device._extra.get("blank raster")
    if found is None:
        text = '[shader("vertex")] float4 nowhere() : SV_Position { return 0; }'
        module = _slangpy.Module.load_from_source(device, "slangpy_blank", text)
        found = device._extra["blank raster"] = make_raster(module.require_function("nowhere"), None, {}, "clear")
    return found


class RenderPassEncoder(_Pass):
    """Records draws into the attachments of a pass; see CommandEncoder.begin_render_pass(). Attachments with a clear operation are
    cleared when the pass draws first, or at its end."""

    def __init__(self, encoder: CommandEncoder, desc: RenderPassDesc | Mapping[str, Any]) -> None:
        full = _as(RenderPassDesc, desc, "desc")
        where = "begin_render_pass: color_attachments[{}]."
        colors = [_as(RenderPassColorAttachment, a, "color_attachments") for a in full.color_attachments]
        if len(colors) > _MOST_TARGETS:
            raise _slangpy.ArgumentValueError("begin_render_pass: expected at most {} color attachments, got {}".format(_MOST_TARGETS, len(colors)))
        self._targets = [_Target.of(a, where.format(i)) for i, a in enumerate(colors)]
        given = full.depth_stencil_attachment
        self._depth = None
        if given is not None:
            given = _as(RenderPassDepthStencilAttachment, given, "depth_stencil_attachment")
            if given.view is not None:
                self._depth = _DepthTarget(given, "begin_render_pass: depth_stencil_attachment.")
        if self._depth is None and not any(self._targets):
            raise _slangpy.ArgumentValueError("begin_render_pass: expected a color or depth attachment with a view")
        for t in [*self._targets, self._depth]:
            if t is not None and t.texture.device is not encoder.device:
                raise _slangpy.ArgumentValueError("begin_render_pass: an attachment belongs to another device")
        super().__init__(encoder)
        self._pipeline: RenderPipeline | None = None
        self._object: ShaderObject | None = None
        self._drawn = self._hidden = False
        self._bits = sum(1 << i for i, t in enumerate(self._targets) if t is not None)
        self._view: tuple[Any, ...] = (None, None, 0, None)
        self._vertex_buffers: tuple[Any, ...] = ()
        self._indices: tuple[Any, int, bool] = (None, 0, False)

    def bind_pipeline(self, pipeline: RenderPipeline, root_object: ShaderObject | None = None) -> ShaderObject:
        """bind_pipeline(pipeline, root_object=None): sets the pipeline that draws. Returns the ShaderObject of its parameters, which is
        `root_object` if given. A draw takes its values of the time when the draw is recorded."""
        self._check("bind_pipeline")
        if not isinstance(pipeline, RenderPipeline):
            raise TypeError("bind_pipeline: argument 'pipeline': expected a RenderPipeline, got {!r}".format(type(pipeline)))
        if root_object is not None and not isinstance(root_object, ShaderObject):
            raise TypeError("bind_pipeline: argument 'root_object': expected a ShaderObject, got {!r}".format(type(root_object)))
        values = root_object or ShaderObject(pipeline.program)
        self._pipeline, self._object = pipeline, values
        return values

    def set_render_state(self, state: RenderState | Mapping[str, Any]) -> None:
        """set_render_state(state): sets viewport, scissor, buffers of vertices and indices, and the stencil's reference, as a
        RenderState or a dict. Without a viewport the draw covers the whole target, and without a scissor nothing is cut off."""
        self._check("set_render_state")
        s = _as(RenderState, state, "state")
        views, scissors = _list_of(Viewport, s.viewports, "viewports"), _list_of(ScissorRect, s.scissor_rects, "scissor_rects")
        if len(views) > 1 or len(scissors) > 1:
            _refuse("set_render_state: more than one viewport or scissor")
        if len(s.vertex_buffers) > _MOST_STREAMS:
            raise _slangpy.ArgumentValueError("set_render_state: expected at most {} vertex buffers, got {}".format(_MOST_STREAMS, len(s.vertex_buffers)))
        view = scissor = None
        for v in views:
            view = (v.x, v.y, v.width, v.height, v.min_depth, v.max_depth)
        for r in scissors:
            scissor = (r.min_x, r.min_y, max(r.max_x - r.min_x, 0), max(r.max_y - r.min_y, 0))
        self._view = (view, scissor, s.stencil_ref & 255, None)
        self._hidden = scissor is not None and 0 in scissor[2:]  # for the library sizes of 0 mean no limit
        self._vertex_buffers = tuple(_place(b, "vertex_buffers") for b in s.vertex_buffers)
        indices, offset = _place(s.index_buffer, "index_buffer")
        self._indices = (indices, offset, IndexFormat(s.index_format) == IndexFormat.uint16)

    def draw(self, args: DrawArguments | Mapping[str, Any]) -> None:
        """draw(args): draws `vertex_count` vertices from `start_vertex_location` on: DrawArguments or a dict."""
        a = _as(DrawArguments, args, "args")
        self._draw("draw", (a.vertex_count, a.start_vertex_location, a.instance_count, a.start_instance_location, 0), False, None)

    def draw_indexed(self, args: DrawArguments | Mapping[str, Any]) -> None:
        """draw_indexed(args): draws the vertices of `vertex_count` indices from `start_index_location` on, each index plus
        `start_vertex_location`: DrawArguments or a dict."""
        a = _as(DrawArguments, args, "args")
        counts = (a.vertex_count, a.start_index_location, a.instance_count, a.start_instance_location, a.start_vertex_location)
        self._draw("draw_indexed", counts, True, None)

    def draw_indirect(self, max_draw_count: int, arg_buffer: Any, count_buffer: Any = None) -> None:
        """draw_indirect(max_draw_count, arg_buffer, count_buffer=None): draws `max_draw_count` times, each with four uints of a buffer:
        vertices, instances, first vertex, first instance. A count_buffer is not in this version."""
        self._indirect("draw_indirect", max_draw_count, arg_buffer, count_buffer, False)

    def draw_indexed_indirect(self, max_draw_count: int, arg_buffer: Any, count_buffer: Any = None) -> None:
        """draw_indexed_indirect(max_draw_count, arg_buffer, count_buffer=None): draws `max_draw_count` times, each with five uints of a
        buffer: indices, instances, first index, vertex offset, first instance. A count_buffer is not in this version."""
        self._indirect("draw_indexed_indirect", max_draw_count, arg_buffer, count_buffer, True)

    def _indirect(self, where, count, arg_buffer, count_buffer, indexed):
        self._check(where)
        if count_buffer is not None and _place(count_buffer, "count_buffer")[0] is not None:
            _refuse("{}: a count_buffer".format(where))
        buffer, offset = _place(arg_buffer, "arg_buffer")
        if buffer is None:
            raise _slangpy.ArgumentValueError("{}: argument 'arg_buffer': it has no buffer".format(where))
        if not 0 <= count <= _MOST:
            raise _slangpy.ArgumentValueError("{}: argument 'max_draw_count': expected 0 to {}, got {}".format(where, _MOST, count))
        self._draw(where, (0, 0, 0, 0, 0), indexed, (buffer, offset, count))

    def draw_mesh_tasks(self, dimensions: Any) -> NoReturn:
        """draw_mesh_tasks(dimensions): not in this version, which does not have mesh shaders."""
        _refuse("RenderPassEncoder.draw_mesh_tasks (mesh shaders)")

    def _draw(self, where, counts, indexed, indirect):
        encoder = self._check(where)
        if self._pipeline is None or self._object is None:
            raise _slangpy.Error("RenderPassEncoder.{}: no pipeline is bound; see bind_pipeline()".format(where))
        if indexed and self._indices[0] is None:
            raise _slangpy.Error("RenderPassEncoder.{}: no index buffer is set; see set_render_state()".format(where))
        if min(counts[:4]) < 0 or max(counts[:4]) > _MOST:
            raise _slangpy.ArgumentValueError("RenderPassEncoder.{}: expected counts and first numbers from 0 to {}, got {}".format(where, _MOST, counts[:4]))
        if self._hidden or (indirect[2] if indirect else counts[0] and counts[2]) == 0:
            return
        indices = self._indices if indexed else (None, 0, False)
        variables, own = self._object._split(*(e.name for e in self._pipeline._entries))
        depth = self._depth
        raster = self._pipeline._raster(depth is not None and depth.read_only, depth is not None, self._bits)
        self._record(raster, (*counts, False), indices, indirect, own, variables, encoder)

    def _record(self, raster, counts, indices, indirect, own, variables, encoder):
        fresh, depth = not self._drawn, None
        targets = tuple(t and (t.texture, int(t.load) if fresh else 0, *t.clear, None) for t in self._targets)
        if self._depth is not None:
            d = self._depth
            depth = (d.texture, int(d.load) if fresh else 0, int(d.stencil_load) if fresh else 0, d.clear, d.stencil_clear)
        _slangpy._raster_draw(
            raster, targets, depth, self._view, counts, indices, self._vertex_buffers, indirect, own, variables, encoder, None)
        self._drawn = True

    def end(self) -> None:
        """end(): ends the pass. Attachments with a clear operation that nothing was drawn to are cleared, and resolve targets get the
        averages of the samples."""
        encoder = self._check("end")
        try:
            if not self._drawn:
                self._clear(encoder)
            for t in self._targets:
                if t is not None and t.resolve is not None:
                    _slangpy._texture_blit(t.resolve, t.texture, -1, encoder)
        finally:
            super().end()

    def _clear(self, encoder):
        for t in self._targets:
            if t is not None and t.load == LoadOp.clear:
                _slangpy._texture_clear(t.texture, *t.clear, encoder)
        d = self._depth
        if d is None:
            return
        depth, stencil = d.has_depth and d.load == LoadOp.clear, d.has_stencil and d.stencil_load == LoadOp.clear
        kept = (d.has_depth and d.load == LoadOp.load) or (d.has_stencil and d.stencil_load == LoadOp.load)
        if (depth or stencil) and kept:
            target = (d.texture, int(d.load), int(d.stencil_load), d.clear, d.stencil_clear)
            _slangpy._raster_draw(_blank(encoder.device), (), target, (None, None, 0, None), (0, 0, 0, 0, 0, True), (None, 0, False), (), None, {}, None, encoder, None)
        elif depth or stencil:
            _slangpy._texture_clear_depth(d.texture, d.clear, d.stencil_clear, encoder)

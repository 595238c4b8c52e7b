"""A draw called like a function: module.draw("vertex_main", "fragment_main", vertices={"position": ...}, target=texture, **uniforms)."""
from __future__ import annotations

from . import _slangpy
from ._slangpy import TypeReflection
from .pictures import ColorTargetDesc, CullMode, FrontFaceMode, PrimitiveTopology
from .render import _as, _blend, _color, make_raster
from .textures import ComparisonFunc

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any, TypeAlias

    from ._slangpy import Function, Module, Tensor
    from .encoders import CommandEncoder
    from .resources import Texture, TextureView

    _Target: TypeAlias = "Texture | TextureView | Mapping[str, Any] | None"

__all__ = ["Draw"]

_LOADS = {"keep": 0, "load": 0, "clear": 1, "ignore": 2, "dont_care": 2}

# Blend modes: (color source, color target, alpha source, alpha target), in the library's numbers of blend factors.
_BLENDS = {"alpha": (5, 6, 2, 6), "premultiplied": (2, 6, 2, 6), "add": (2, 2, 2, 2), "multiply": (9, 1, 7, 1)}


def _member(kind: Any, value: Any, name: str) -> int:
    """Returns the number of an enum's member, which is given as a member or by its name."""
    try:
        return int(kind[value] if isinstance(value, str) else kind(value))
    except (KeyError, ValueError):
        raise _slangpy.ArgumentValueError("draw: argument '{}': expected one of {}, got {!r}".format(name, ", ".join(kind.__members__), value)) from None


def _blend_of(blend: Any) -> tuple[int, ...]:
    if blend is None:
        return (0,) * 8
    if isinstance(blend, str):
        if blend not in _BLENDS:
            raise _slangpy.ArgumentValueError("draw: argument 'blend': expected one of {}, a ColorTargetDesc or a dict, got {!r}".format(", ".join(_BLENDS), blend))
        a, b, c, d = _BLENDS[blend]
        return (1, a, b, 1, c, d, 1, 0)
    desc = _as(ColorTargetDesc, dict({"enable_blend": True}, **blend) if isinstance(blend, dict) else blend, "blend")
    return _blend(desc)


def _blends_of(blend: Any) -> tuple[tuple[int, ...], ...]:
    if isinstance(blend, (list, tuple)):
        return tuple(_blend_of(b) for b in blend)
    return (_blend_of(blend),) * 8


_FLOATS = (TypeReflection.ScalarType.float16, TypeReflection.ScalarType.float32, TypeReflection.ScalarType.float64)
_NARROW = {"f8": "f4", "i8": "i4", "u8": "u4"}


def _array(value: Any, floats: bool) -> Any:
    """Returns the numbers of an attribute as an array for a tensor. Numbers of 64 bits become 32, and whole numbers become floats for an
    attribute of floats."""
    import numpy as np

    array = np.asarray(value)
    kind = array.dtype.str[1:]
    return np.ascontiguousarray(array, "f4" if floats and kind[0] in "iu" else _NARROW.get(kind, kind))


class _Made:
    """A raster, and the names of its functions' parameters."""

    __slots__ = ("raster", "parameters", "input", "floats")

    def __init__(self, vertex: Function, fragment: Function | None, state: dict[str, Any]) -> None:
        self.raster = make_raster(vertex, fragment, state, None)
        own: list[Any] = list(vertex.reflection.parameters) if vertex.reflection else []
        more: list[Any] = list(fragment.reflection.parameters) if fragment and fragment.reflection else []
        self.parameters = frozenset(p.name for p in own + more)
        structs = [p for p in own if p.type.kind == TypeReflection.Kind.struct]
        self.input = structs[0].name if structs else None
        inputs = own + [field for p in structs for field in p.type.fields.values()]
        self.floats = frozenset(v.name for v in inputs if v.type.scalar_type in _FLOATS)


class Draw:
    """The object `module.draw`: a call of it draws with a vertex and a fragment function of the module; see __call__()."""

    def __init__(self, module: Module) -> None:
        self._module = module
        self._made: dict[Any, _Made] = {}

    def __repr__(self):
        return "<slangpy.Draw of module {}>".format(self._module.name)

    def bwds(self, *args: Any, edges: bool = False, deterministic: bool = False, **kwargs: Any) -> None:
        """bwds(vertex, fragment, ..., edges=False, deterministic=False): computes gradients through the draw of the same arguments.
        Reads the gradients of the targets, textures .with_grads(), and adds to the gradients of uniforms (a Tensor with gradients, or a
        diffPair), of textures and of attributes (Tensors of floats with gradients). Both functions must be [Differentiable], the vertex
        function only for gradients of its inputs. Exact where the same triangle stays visible; edges=True adds how the picture changes
        as edges of triangles move. Nothing is drawn. A depth target must be cleared by the draw."""
        self(*args, _gradients=(edges, deterministic, False), **kwargs)

    def explain(self, *args: Any, edges: bool = False, **kwargs: Any) -> str:
        """explain(vertex, fragment, ..., edges=False): says what bwds() of these arguments computes, and which part of it is exact."""
        return self(*args, _gradients=(edges, False, True), **kwargs)  # type: ignore[func-returns-value]

    def __call__(
            self, vertex: str | Function, fragment: str | Function | None = None, vertices: Mapping[str, Any] | Tensor | int | None = None,
            indices: Any = None, target: _Target | Sequence[_Target] = None, depth: _Target = None, *, clear: Any = None,
            instances: int = 1, per_instance: Mapping[str, Any] | None = None, topology: PrimitiveTopology | str = "triangle_list",
            cull: CullMode | str = "none", front: FrontFaceMode | str = "counter_clockwise", wireframe: bool = False, blend: Any = None,
            blend_color: Sequence[float] | None = None, depth_test: ComparisonFunc | str | None = "less", depth_write: bool = True,
            viewport: Sequence[float] | None = None, scissor: Sequence[int] | None = None, vars: Mapping[str, Any] | None = None,
            _append_to: CommandEncoder | None = None, _gradients: tuple[bool, bool, bool] | None = None, **uniforms: Any) -> None:
        """draw(vertex, fragment=None, vertices=None, indices=None, target=None, depth=None, *, clear=None, instances=1, per_instance=None,
        topology="triangle_list", cull="none", front="counter_clockwise", wireframe=False, blend=None, blend_color=None, depth_test="less",
        depth_write=True, viewport=None, scissor=None, vars=None, _append_to=None, **uniforms): draws into textures.

        vertex, fragment: functions of the module with [shader("vertex")] and [shader("fragment")], or their names.
        vertices: the attributes of the vertex function's input by name, each a Tensor or an array with one element for each vertex; or
        a Tensor of the input's struct; or the number of vertices, for functions that make them of SV_VertexID. per_instance: attributes with one element for each instance.
        indices: a Tensor or array of uint16 or uint32.
        target: a Texture or TextureView that is drawn over; a dict with `texture`, `clear` (a color), `load` ("keep", "clear", "ignore")
        and `resolve` (a texture for the averages of the samples); or a list of such. clear: the color that all targets are cleared to.
        depth: the same for the depth texture; its `clear` is a number. depth_test: a ComparisonFunc, its name, or None.
        blend: "alpha", "premultiplied", "add", "multiply", a ColorTargetDesc or a dict of its fields; a list for several targets.
        viewport: x, y, width, height, and perhaps the least and greatest depth, in pixels. scissor: x, y, width, height.
        uniforms: values of the functions' uniform parameters and of the module's globals by name. vars: the same as a dict, for names
        that are keywords here. _append_to: a CommandEncoder that records the draw.

        The kernels are compiled at the first call with textures of certain formats and values of certain types."""
        try:
            key = (vertex, fragment, topology, cull, front, wireframe, blend, depth is None or depth_test, depth_write, per_instance and tuple(per_instance))
            made = self._made.get(key)
        except TypeError:  # the blend is a dict or list
            blend = _blends_of(blend)
            key = (vertex, fragment, topology, cull, front, wireframe, blend, depth is None or depth_test, depth_write, per_instance and tuple(per_instance))
            made = self._made.get(key)
        if made is None:
            made = self._made[key] = self._make(vertex, fragment, topology, cull, front, wireframe, blend, None if depth is None else depth_test,
                                                depth_write, per_instance)
        own: dict[str, Any] = {}
        count = self._vertices(vertices, per_instance, own, made)
        shared: dict[str, Any] = {}
        parameters = made.parameters
        for values in (uniforms, vars) if vars else (uniforms,):
            for name, value in values.items():
                (own if name in parameters else shared)[name] = value
        if isinstance(target, (list, tuple)):
            targets = tuple([None if t is None else _target(t, clear) for t in target])
        else:
            targets = (None if target is None else _target(target, clear),)
        if viewport is not None:
            viewport = (*viewport, 0.0, 1.0)[:6]
        if indices is not None and not isinstance(indices, _slangpy.Tensor):
            indices = _slangpy.Tensor.from_numpy(self._module.device, _indices(indices))
        if not 0 <= instances <= 0xFFFFFFFF:
            raise _slangpy.ArgumentValueError("draw: argument 'instances': expected 0 to 4294967295, got {}".format(instances))
        nothing = count == 0 or instances == 0 or (scissor is not None and 0 in scissor[2:])
        if vertices is None and indices is None:
            raise _slangpy.ArgumentValueError("draw: argument 'vertices': expected attributes or a count")
        return _slangpy._raster_draw(  # type: ignore[return-value]
            made.raster, targets, None if depth is None else _depth(depth),
            (viewport, None if scissor is None else tuple(scissor), 0, None if blend_color is None else tuple(blend_color)),
            (count or 0, 0, instances, 0, 0, nothing), (indices, 0, False), (), None, own, shared or None, _append_to, _gradients)

    def _vertices(self, vertices: Any, per_instance: Any, own: dict[str, Any], made: _Made) -> int | None:
        """Adds the attributes to a dict as tensors. Returns the number of vertices, if it was given."""
        count = None
        for given, name in ((vertices, "vertices"), (per_instance, "per_instance")):
            if given is None:
                continue
            if isinstance(given, _slangpy.Tensor) and name == "vertices" and made.input is not None:
                own[made.input] = given
                continue
            if name == "vertices" and hasattr(given, "__index__"):
                count = int(given)
                if not 0 <= count <= 0xFFFFFFFF:
                    raise _slangpy.ArgumentValueError("draw: argument 'vertices': expected 0 to 4294967295, got {}".format(count))
                continue
            if not hasattr(given, "items"):
                raise TypeError("draw: argument '{}': expected a dict of attributes{}, got {!r}".format(
                    name, " or a count" if name == "vertices" else "", type(given)))
            items = list(given.items())
            for attribute, value in items:
                if hasattr(value, "items"):  # the attributes of a struct
                    items += value.items()
                    continue
                if not isinstance(value, _slangpy.Tensor):
                    try:
                        value = _slangpy.Tensor.from_numpy(self._module.device, _array(value, attribute in made.floats))
                    except (TypeError, ValueError) as error:
                        raise TypeError("draw: argument '{}': attribute '{}': {}".format(name, attribute, error)) from None
                own[attribute] = value
        return count

    def _make(self, vertex, fragment, topology, cull, front, wireframe, blend, depth_test, depth_write, per_instance):
        functions = [f if f is None or isinstance(f, _slangpy.Function) else self._module.require_function(f) for f in (vertex, fragment)]
        if isinstance(blend, tuple) and blend and not isinstance(blend[0], tuple):
            blend = _blends_of(blend)
        return _Made(functions[0], functions[1], dict(
            topology=_member(PrimitiveTopology, topology, "topology") + 1, cull=_member(CullMode, cull, "cull"),
            clockwise_is_front=_member(FrontFaceMode, front, "front") == 1, wireframe=wireframe,
            blends=blend if isinstance(blend, tuple) else _blends_of(blend),
            depth_compare=0 if depth_test is None else _member(ComparisonFunc, depth_test, "depth_test") + 1,
            depth_read_only=not depth_write, instance_attributes=tuple(per_instance or ())))


def _indices(value: Any) -> Any:
    import numpy as np

    array = np.asarray(value)
    if array.dtype.kind not in "iu":
        raise TypeError("draw: argument 'indices': expected whole numbers, got {}".format(array.dtype))
    if array.dtype != np.uint16:
        if array.size and (int(array.min()) < 0 or int(array.max()) > 0xFFFFFFFF):
            raise _slangpy.ArgumentValueError("draw: argument 'indices': expected numbers from 0 to 4294967295")
        array = array.astype(np.uint32)
    return np.ascontiguousarray(array).reshape(-1)


def _target(target: Any, clear: Any) -> tuple[Any, ...]:
    """Returns a color target in the form of the library's function."""
    if clear is None and isinstance(target, _slangpy._Texture):
        return target, 0, "f", (0.0, 0.0, 0.0, 0.0), None
    texture, load, resolve = target, None, None
    if hasattr(target, "items"):
        unknown = set(target) - {"texture", "clear", "load", "resolve"}
        if unknown or "texture" not in target:
            raise TypeError("draw: argument 'target': expected a dict with texture, clear, load and resolve, got {}".format(", ".join(map(repr, target))))
        texture, load, resolve, clear = target["texture"], target.get("load"), target.get("resolve"), target.get("clear", clear)
    number = _LOADS[load] if load is not None else 1 if clear is not None else 0
    if number != 1:
        return texture, number, "f", (0.0, 0.0, 0.0, 0.0), resolve
    kind, numbers = _color(0.0 if clear is None else clear, texture.format)
    return texture, 1, kind, numbers, resolve


def _depth(depth: Any) -> tuple[Any, ...]:
    """Returns a depth target in the form of the library's function."""
    if not hasattr(depth, "items"):
        return depth, 0, 0, 1.0, 0
    unknown = set(depth) - {"texture", "clear", "load", "stencil_clear"}
    if unknown or "texture" not in depth:
        raise TypeError("draw: argument 'depth': expected a dict with texture, clear, load and stencil_clear, got {}".format(", ".join(map(repr, depth))))
    clear, stencil = depth.get("clear"), depth.get("stencil_clear")
    load = _LOADS[depth["load"]] if "load" in depth else 0 if clear is None else 1
    return depth["texture"], load, 0 if stencil is None else 1, 1.0 if clear is None else float(clear), stencil or 0

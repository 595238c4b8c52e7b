"""Small functions that SlangPy has in its submodules: shapes, names of types, the generators' hash on the host."""
from __future__ import annotations

import os

from . import _slangpy
from ._slangpy import Shape

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from numpy.typing import NDArray

TShapeOrTuple = "tuple[int, ...] | Shape"
TArgShapesResult = dict

# The folder of SlangPy's Slang files, which scripts pass in include_paths. The library finds its own modules without it.
SLANG_PATH = os.path.dirname(os.path.abspath(__file__))

# SlangPy's most thread groups in the first dimension of a dispatch, for scripts that read it.
MAX_DISPATCH_THREAD_GROUPS_X = 2097151


# ---- shapes ----


def check_concrete(shape: Shape) -> Shape:
    """Returns the shape; raises a ValueError if a size is not known."""
    if not shape.concrete:
        raise _slangpy.ArgumentValueError("expected a shape whose sizes are known, got {}".format(shape))
    return shape


def shape_to_contiguous_strides(shape: Sequence[int]) -> tuple[int, ...]:
    """Returns the strides, in elements, of a row-major array of that shape."""
    return Shape(tuple(shape)).calc_contiguous_strides().as_tuple()


# ---- the generators' hash ----


def calc_wang_hash(seed: int) -> int:
    """Returns the hash of wang_hash() and rand_float(), computed on the host: an int of 32 bits for an int of 32 bits."""
    seed &= 0xFFFFFFFF
    seed = (seed ^ 61) ^ (seed >> 16)
    seed = seed * 9 & 0xFFFFFFFF
    seed ^= seed >> 4
    seed = seed * 0x27D4EB2D & 0xFFFFFFFF
    return seed ^ (seed >> 15)


def calc_wang_hash_numpy(seed: NDArray[Any]) -> NDArray[Any]:
    """Returns calc_wang_hash() of each element of an array of uint32."""
    import numpy as np

    x = np.asarray(seed).astype(np.uint32)
    u = np.uint32
    with np.errstate(over="ignore"):
        x = (x ^ u(61)) ^ (x >> u(16))
        x = x * u(9)
        x = x ^ (x >> u(4))
        x = x * u(0x27D4EB2D)
        return x ^ (x >> u(15))


# ---- images ----


def load_buffer_data_from_image(
        path: str | os.PathLike[str], flip_y: bool = False, linearize: bool = False, scale: float = 1.0, offset: float = 0.0,
        greyscale: bool = False) -> NDArray[Any]:
    """Returns the pixels of an image file as an array of float32. Needs Pillow."""
    from .tensors import pixels_of_image

    return pixels_of_image(path, flip_y, linearize, scale, offset, greyscale)


# ---- names of types ----


def parse_generic_signature_tree(name: str) -> tuple[str, list[Any]]:
    """Splits "A<B<int>,4>" into ("A", [("B", [("int", [])]), ("4", [])])."""
    base, arguments = parse_generic_signature(name)
    return base, [parse_generic_signature_tree(argument) for argument in arguments]


def parse_generic_signature(name: str) -> tuple[str, list[str]]:
    """Splits "A<B<int>,4>" into its name "A" and its arguments ["B<int>", "4"]. The list is empty for a plain name."""
    name = name.strip()
    start = name.find("<")
    if start < 0 or not name.endswith(">"):
        return name, []
    arguments, depth, begin = [], 0, start + 1
    for i in range(start + 1, len(name)):
        c = name[i]
        if (c == "," and depth == 0) or i == len(name) - 1:
            arguments.append(name[begin:i].strip())
            begin = i + 1
        depth += (c == "<") - (c == ">")
    return name[:start].strip(), arguments


def _name_of(type: Any) -> str:
    """Returns the full name of a type that is given as text, reflection or Struct."""
    return type if isinstance(type, str) else str(getattr(type, "full_name", None) or type.name)


def find_type_layout_for_buffer(program_layout: Any, slang_type: Any) -> Any:
    """Returns the TypeLayoutReflection of a type's elements in a StructuredBuffer."""
    if isinstance(slang_type, _slangpy.TypeLayoutReflection):
        slang_type = slang_type.type
    buffer = program_layout.find_type_by_name("StructuredBuffer<{}>".format(_name_of(slang_type)))
    if buffer is None:
        raise _slangpy.ArgumentValueError("no type is named '{}'".format(_name_of(slang_type)))
    return program_layout.get_type_layout(buffer).element_type_layout


def try_find_type_decl(root: Any, type_name: str) -> Any:
    """Returns the DeclReflection of a type, such as "Outer.Inner", below a module's declarations, or None."""
    at = root
    for part in parse_generic_signature(type_name)[0].split("."):
        at = next((d for d in map(_inside, at.children) if d.name == part and int(d.kind) in (1, 7, 8)), None)
        if at is None:
            return None
    return at


def try_find_type_via_ast(root: Any, type_name: str) -> Any:
    """Returns the TypeReflection of a type that is declared below `root`, or None."""
    decl = try_find_type_decl(root, type_name)
    return None if decl is None else decl.as_type()


def try_find_function_overloads_via_ast(root: Any, type_name: str, func_name: str) -> Any:
    """Returns the declarations of all overloads of a method as a list, or None if the type is not declared below `root`."""
    decl = try_find_type_decl(root, type_name)
    return None if decl is None else [d for d in map(_inside, decl.children) if d.name == func_name and int(d.kind) == 2]


def matching_overload(reflected: Any, count: int, names: set[str]) -> Any:
    """Returns the first overload of the function that has `count` parameters and a parameter of each name in `names`. Returns None
    when no overload fits."""
    for overload in reflected.overloads if reflected.is_overloaded else [reflected]:
        parameters = list(overload.parameters)
        if len(parameters) == count and names <= {p.name for p in parameters}:
            return overload
    return None


def _inside(decl: Any) -> Any:
    """Returns the function or struct of a generic declaration, and any other declaration itself."""
    return decl[len(decl) - 1] if int(decl.kind) == 4 else decl


def with_arguments(name: str, arguments: dict[str, str]) -> str:
    """Returns the name of a type with arguments in place of generic parameters: "vector<float,3>" for "vector<T,N>" and {"T": "float",
    "N": "3"}."""
    import re

    return re.sub(r"[A-Za-z_]\w*", lambda word: arguments.get(word.group(), word.group()), name)


def generic_arguments(function: Any, types: Sequence[Any]) -> dict[str, str] | None:
    """Returns the arguments of a generic function's parameters, as text by their names, for a call with arguments of these types; None
    if the types do not fit, or do not determine all of them."""
    import re

    layout = function.module.layout
    generic = [child for child in function.decl.children if int(child.kind) == 14]
    found: dict[str, str] = {}
    for parameter, given in zip(function.parameters, types):
        if parameter.type is None:
            continue
        known, name = set(found), parameter.type.full_name.replace(" ", "")

        def group(word: Any) -> str:
            name = word.group()
            if name in found or all(g.name != name for g in generic):
                return re.escape(found.get(name, name))
            if name in known:
                return "(?P={})".format(name)
            known.add(name)
            return "(?P<{}>.+)".format(name)

        pattern = re.sub(r"[A-Za-z_]\w*|[^\w\s]", lambda word: group(word) if word.group()[0].isalpha() or word.group()[0] == "_"
                         else re.escape(word.group()), name)
        match = re.fullmatch(pattern, _name_of(given).replace(" ", ""))
        if match:
            found.update(match.groupdict())
        elif {g.name for g in generic} & set(re.findall(r"[A-Za-z_]\w*", name)):
            return None
    if any(g.name not in found for g in generic):
        return None
    for g in generic:
        for constraint in g.children:
            type = layout.find_type_by_name(found[g.name])
            if type is not None and constraint.type is not None and not layout.is_sub_type(type, constraint.type):
                return None
    return found


def is_type_castable_on_host(from_type: Any, to_type: Any, program: Any = None) -> bool:
    """Returns whether a value of one type can be given where the other one is expected: the same type, integers and bools for any
    number, or floats for floats."""
    source, target = _scalar_name(from_type), _scalar_name(to_type)
    if _name_of(from_type) == _name_of(to_type):
        return True
    if source is None or target is None:
        return False
    floats = ("half", "float", "double", "float16_t", "float32_t", "float64_t")
    return source not in floats or target in floats


def _scalar_name(type: Any) -> str | None:
    name = _name_of(type)
    known = ("bool", "int", "uint", "half", "float", "double")
    return name if name in known or name.rstrip("_t").startswith(("int", "uint", "float")) and "<" not in name else None


def is_running_in_jupyter() -> bool:
    """Returns whether the program runs in a Jupyter notebook."""
    try:
        return type(get_ipython()).__name__ == "ZMQInteractiveShell"  # type: ignore[name-defined]
    except NameError:
        return False

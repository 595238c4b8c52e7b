"""Texts for people: tables of nested rows (slangpy.core.logging) and displays in Jupyter (slangpy.core.jupyter)."""
from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any

    from .device import Device


class TableColumn:
    """TableColumn(name, width, id): a column of a table: its title, its width, and the attribute, or function of a row, whose value it
    shows."""

    def __init__(self, name: str, width: int, id: str | Callable[[Any], str]) -> None:
        self.name, self.width, self.id = name, width, id

    def text(self, row: Any) -> str:
        """text(row): returns the text that the column shows for a row."""
        value = self.id(row) if callable(self.id) else row.get(self.id, "") if isinstance(row, dict) else getattr(row, self.id, "")
        return "" if value is None else str(value)


def generate_table(
        columns: list[TableColumn], data: list[Any], children_id: Callable[[Any], list[Any] | None] | None = None, highlight: Any = None,
        filter: dict[str, bool] | None = None) -> str:
    """Returns rows as text, below the columns' names. children_id(row) gives the rows below a row, which are indented. The row
    `highlight` is marked. With `filter` only the columns whose names are True in it are shown."""
    shown = [c for c in columns if not filter or filter.get(c.name.lower(), filter.get(c.name, False))]

    def cell(text: str, width: int) -> str:
        return text[:width - 3] + "..." if len(text) > width > 3 else text.ljust(width)

    lines = [" | ".join(cell(c.name, c.width) for c in shown)]
    lines.append("-" * len(lines[0]))

    def add(rows: Iterable[Any], depth: int) -> None:
        for row in rows:
            texts = [("  " * depth if i == 0 else "") + c.text(row) for i, c in enumerate(shown)]
            line = " | ".join(cell(t, c.width) for t, c in zip(texts, shown))
            lines.append(line + ("<-------" if highlight is not None and row is highlight else ""))
            add((children_id(row) if children_id else None) or (), depth + 1)

    add(data, 0)
    return "\n".join(lines)


def _type(value: Any) -> str:
    return "" if value is None else str(getattr(value, "full_name", value))


_COLUMNS = [
    TableColumn("Name", 20, "debug_name"), TableColumn("Index", 6, lambda v: str(v.python_pos_arg_index) if v.python_pos_arg_index >= 0 else ""),
    TableColumn("Input Type", 30, lambda v: str(v.python if v.python is not None else type(v.value).__name__)),
    TableColumn("Output Type", 20, lambda v: _type(v.slang_type)), TableColumn("In/Out", 8, lambda v: v.io_type.name),
    TableColumn("Shape", 12, lambda v: str(v.vector_mapping)), TableColumn("Call Dim", 10, "call_dimensionality"),
    TableColumn("VType", 20, lambda v: _type(v.vector_type)),
]


def _children(variable: Any) -> list[Any] | None:
    return list(variable.children.values()) if variable.children else None


def bound_variables_table(data: list[Any], highlight: Any = None, filter: dict[str, bool] | None = None) -> str:
    """Returns a table of BoundVariables, in which fields are indented."""
    return generate_table(_COLUMNS, data, _children, highlight, filter)


def bound_call_table(data: Any, highlight: Any = None, filter: dict[str, bool] | None = None) -> str:
    """Returns a table of a BoundCall's variables."""
    return bound_variables_table(data.values(), highlight, filter)


bound_runtime_variables_table = bound_variables_table
bound_runtime_call_table = bound_call_table


def function_reflection(slang_function: Any) -> str:
    """Returns a function's declaration as text, such as "float add(float a, float b)"."""
    if slang_function is None:
        return ""
    parameters = ", ".join("{} {}".format(_type(p.type), p.name) for p in slang_function.parameters)
    return "{} {}({})".format(_type(slang_function.return_type), slang_function.name, parameters)


def mismatch_info(call: Any, function: Any, diagnostics: str | None = None) -> str:
    """Returns the text of the error of a call that fits no overload of a function: the overloads, the arguments, and the compiler's
    message."""
    reflected = getattr(function, "reflection", function)
    overloads = list(reflected.overloads) if getattr(reflected, "is_overloaded", False) else [reflected]
    lines = [diagnostics] if diagnostics else []
    lines += ["Possible overloads:"] + ["  " + function_reflection(o) for o in overloads]
    return "\n".join(lines + ["Python arguments:", bound_call_table(call)])


def bound_exception_info(call: Any, concrete_function: Any, variable: Any = None, diagnostics: str | None = None) -> str:
    """Returns the text of an error about one argument of a call: the function, and the arguments with the wrong one marked."""
    lines = [diagnostics] if diagnostics else []
    lines += ["Selected overload:", "  " + function_reflection(getattr(concrete_function, "reflection", concrete_function))]
    return "\n".join(lines + ["Python arguments:", bound_call_table(call, variable)])


# ---- Jupyter ----


def temp_dir() -> str:
    """Returns a folder for temporary files, which is removed when the program ends."""
    import atexit
    import shutil
    import tempfile

    global _temp
    if _temp is None:
        _temp = tempfile.mkdtemp(prefix="slangpy-")
        atexit.register(shutil.rmtree, _temp, True)
    return _temp


_temp: str | None = None


def format_bitmap_png(bmp: Any) -> bytes:
    """Returns a Bitmap as the bytes of a PNG file."""
    return bmp._encoded("png")  # type: ignore[no-any-return]


def format_texture_png(tex: Any) -> Any:
    """Not in this version; raises NotImplementedError."""
    raise NotImplementedError("format_texture_png is not in this version")


class BreakableList:
    """BreakableList(args, separator=None): items that IPython's pretty printer puts on one line, or on lines of their own."""

    def __init__(self, args: Iterable[Any], separator: str | None = None) -> None:
        self.args, self.separator = list(args), separator

    def _repr_pretty_(self, p: Any, cycle: bool) -> None:
        for i, arg in enumerate(self.args):
            if i:
                p.text(self.separator or "")
                p.breakable()
            p.text(arg) if isinstance(arg, str) else p.pretty(arg)


def comma_list(args: Iterable[Any]) -> BreakableList:
    """Makes a BreakableList with commas."""
    return BreakableList(args, ",")


def spaced_list(args: Iterable[Any]) -> BreakableList:
    """Makes a BreakableList with spaces."""
    return BreakableList(args)


def pprint_all(p: Any, args: Iterable[Any]) -> None:
    """Prints each item with a pretty printer: texts as they are, other objects by their own representation."""
    for arg in args:
        p.text(arg) if isinstance(arg, str) else p.pretty(arg)


def format_scalar_type(scalar: Any, p: Any, cycle: bool) -> None:
    """Prints the name of a ScalarType."""
    p.text(getattr(scalar, "name", str(scalar)))


def format_type_refl(refl: Any, p: Any, cycle: bool) -> None:
    """Prints the name of a type."""
    p.text(_type(refl))


def format_function_refl(func: Any, p: Any, cycle: bool) -> None:
    """Prints a function's declaration."""
    p.text(function_reflection(func))


def format_function(func: Any, p: Any, cycle: bool) -> None:
    """Prints the declaration of a Function."""
    p.text(function_reflection(func.reflection))


def format_module(m: Any, p: Any, cycle: bool) -> None:
    """Prints a Module."""
    p.text(repr(m))


def format_tensor(t: Any, p: Any, cycle: bool) -> None:
    """Prints a Tensor."""
    p.text(repr(t))


def format_texture(tex: Any, p: Any, cycle: bool) -> None:
    """Prints a Texture."""
    p.text(repr(tex))


format_slang_function, format_type, format_struct = format_function_refl, format_type_refl, format_type_refl


def setup_in_jupyter(device: Device) -> None:
    """Makes the device's log appear in the notebook's output. Displays of slangpy's types in notebooks do not need it."""
    from .helpers import is_running_in_jupyter

    if is_running_in_jupyter():
        device.logger.add_console_output()



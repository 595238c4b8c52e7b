"""[TorchEntryPoint] functions: host code in a Slang file, which allocates torch tensors and launches kernels by __dispatch_kernel. Each is
translated to a Python function once, typed as Slang types it, and then runs as Python.

What was tried. Slang itself makes C++ of such functions (target torch-binding) that needs torch's headers and a compiler. That text could be
interpreted instead: it is typed and has no imports or generics left. But it needs a second session of Slang for each module, its form is no
interface and changes between versions, and the C++ subset (SSA names, std::get, pointers to arguments, FixedArray) is no smaller than the
subset of Slang that host functions use. Slang's reflection shows no bodies, and its IR has no public reader. So the function's own text is
translated. Slang has checked it before: loadModule() compiles the whole file. What is not understood here is refused by name, with file and
line, when the function is first looked up.

Understood: numbers, bool, vectors, arrays, structs, TorchTensor and TensorView, declarations, assignments, arithmetic with Slang's
conversions, if, for, while, do, calls of other functions of the file (generic ones too) and of those that it imports, the common functions
of numbers, static constants, macros without parameters. Refused: switch, methods, out parameters, pointers, strings.
"""
from __future__ import annotations

import ast
import ctypes
import math
import operator
import re

from . import _slangpy
from .torch_errors import LaunchArgumentError
from .torch_source import FunctionText, SourceFile, Token, _close, split_commas, tokens_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__: list[str] = []

# >>types

_BITS = {"bool": 1, "int8_t": 8, "int16_t": 16, "int": 32, "int64_t": 64, "uint8_t": 8, "uint16_t": 16, "uint": 32, "uint64_t": 64,
         "half": 16, "float": 32, "double": 64}
_FLOATS = ("half", "float", "double")
_ALIASES = {"int32_t": "int", "uint32_t": "uint", "float16_t": "half", "float32_t": "float", "float64_t": "double", "uint16": "uint16_t",
            "int16": "int16_t", "size_t": "uint64_t", "dword": "uint", "unsigned": "uint"}
_TENSORS = {"TorchTensor": "TorchTensor", "TensorView": "TensorView"}
_DTYPES = {"bool": "bool", "int8_t": "int8", "int16_t": "int16", "int": "int32", "int64_t": "int64", "uint8_t": "uint8", "uint16_t": "uint16",
           "uint": "uint32", "uint64_t": "uint64", "half": "float16", "float": "float32", "double": "float64", "bfloat16": "bfloat16"}


class Type:
    """A type: `kind` is scalar, vector, array, struct, tensor, void or list (braces whose type is not known yet)."""

    __slots__ = ("kind", "name", "element", "count", "fields")

    def __init__(self, kind, name, element=None, count=0, fields=()):
        self.kind, self.name, self.element, self.count, self.fields = kind, name, element, count, fields

    def __eq__(self, other):
        return isinstance(other, Type) and self.name == other.name

    def __hash__(self):
        return hash(self.name)


_SCALARS = {name: Type("scalar", name) for name in _BITS}
_VOID, _LIST = Type("void", "void"), Type("list", "{...}")


def _vector(element, count):
    return Type("vector", "{}{}".format(element.name, count), element, count)


def _common(a, b):
    """Returns the type of a + b for two scalars, by the rule of C without promotion to int."""
    if a == b:
        return a
    fa, fb = a.name in _FLOATS, b.name in _FLOATS
    if fa != fb:
        return a if fa else b
    if _BITS[a.name] != _BITS[b.name]:
        return a if _BITS[a.name] > _BITS[b.name] else b
    return a if a.name.startswith("u") else b


# >>what the translated functions call

def _whole(bits, signed):
    mask, sign = (1 << bits) - 1, 1 << (bits - 1) if signed else 0

    def convert(x):
        return ((int(x) + sign) & mask) - sign

    return convert


def _single(x):
    try:
        return ctypes.c_float(x).value
    except OverflowError:
        return math.inf if x > 0 else -math.inf


def _half(x):
    import numpy

    with numpy.errstate(over="ignore"):
        return float(numpy.float16(x))


def _int_divide(a, b):
    if b == 0:
        raise ZeroDivisionError("a whole number is divided by zero")
    q = abs(a) // abs(b)
    return q if (a < 0) == (b < 0) else -q


def _int_remainder(a, b):
    return a - b * _int_divide(a, b)


def _divide(a, b):
    if b == 0:
        return math.nan if a == 0 or a != a else math.copysign(math.inf, a) * math.copysign(1, b)
    return a / b


def _copy(value):
    if type(value) is list:
        return [_copy(v) for v in value]
    if type(value) is dict:
        return {name: _copy(v) for name, v in value.items()}
    return value


def _each(function, *values):
    """Returns a function of numbers for vectors, in which a number stands for a vector of it."""
    n = max(len(v) for v in values if type(v) is list)
    return [function(*(v[i] if type(v) is list else v for v in values)) for i in range(n)]


def _index(i, n):
    if not 0 <= i < n:
        raise IndexError("index {} of {} elements".format(i, n))
    return i


def _put(target, places, value):
    for at, number in zip(places, value if type(value) is list else [value] * len(places)):
        target[at] = number


def _round(x):
    return float(round(x))  # rounds halves to even, as Slang's round() does


def _guard(function):
    """Returns a function of math that gives inf or NaN instead of exceptions."""
    def guarded(*args):
        try:
            return function(*args)
        except OverflowError:
            return math.inf
        except ValueError:
            return -math.inf if function in (math.log, math.log2, math.log10) and args[0] == 0 else math.nan
    return guarded


# Functions of numbers: number of arguments, the Python function, and whether the result is always a float.
_FUNCTIONS = {
    "min": (2, min, False), "max": (2, max, False), "clamp": (3, lambda x, a, b: min(max(x, a), b), False), "abs": (1, abs, False),
    "sqrt": (1, _guard(math.sqrt), True), "rsqrt": (1, lambda x: _divide(1.0, _guard(math.sqrt)(x)), True), "pow": (2, _guard(math.pow), True),
    "exp": (1, _guard(math.exp), True), "exp2": (1, _guard(lambda x: 2.0 ** x), True), "log": (1, _guard(math.log), True),
    "log2": (1, _guard(math.log2), True), "log10": (1, _guard(math.log10), True), "sin": (1, _guard(math.sin), True),
    "cos": (1, _guard(math.cos), True), "tan": (1, _guard(math.tan), True), "tanh": (1, math.tanh, True), "atan": (1, math.atan, True),
    "atan2": (2, math.atan2, True), "floor": (1, lambda x: float(math.floor(x)), True), "ceil": (1, lambda x: float(math.ceil(x)), True),
    "trunc": (1, lambda x: float(math.trunc(x)), True), "round": (1, _round, True), "frac": (1, lambda x: x - math.floor(x), True),
    "fmod": (2, _guard(math.fmod), True), "saturate": (1, lambda x: min(max(x, 0.0), 1.0), True), "sign": (1, lambda x: (x > 0) - (x < 0), False),
    "lerp": (3, lambda a, b, t: a + (b - a) * t, True), "countbits": (1, lambda x: bin(x & 0xffffffff).count("1"), False),
}

_RUNTIME = {
    "_idiv": _int_divide, "_imod": _int_remainder, "_fdiv": _divide, "_fmod": _guard(math.fmod), "_copy": _copy, "_each": _each,
    "_index": _index, "_put": _put,
    **{"_f_" + name: entry[1] for name, entry in _FUNCTIONS.items()},
    **{"_to_" + name: _whole(bits, name[0] == "i") for name, bits in _BITS.items() if name[0] in "iu"},
    "_to_bool": bool, "_to_half": _half, "_to_float": _single, "_to_double": float,
}


# >>tensors

def _dtype(element, torch):
    """Returns torch's dtype of a TorchTensor's elements."""
    scalar = element.element if element.kind == "vector" else element
    return getattr(torch, _DTYPES[scalar.name])


class Host:
    """The parts of a module that translated functions use: its tensors' device, and its kernels."""

    def __init__(self, module):
        self.module = module
        self.kernels = {}
        self._device = None

    @property
    def device(self):
        """torch's device as text."""
        if self._device is None:
            ordinals = [h.value for h in self.module._device.native_handles if h.type.name == "CUdevice"]
            self._device = "cuda:{}".format(ordinals[0] if ordinals else 0)
        return self._device

    def alloc(self, element, *sizes):
        import torch  # type: ignore[import-not-found,unused-ignore]

        inner = [element.count] if element.kind == "vector" else []
        return torch.empty([*sizes, *inner], dtype=_dtype(element, torch), device=self.device)

    def empty_like(self, element, other):
        import torch  # type: ignore[import-not-found,unused-ignore]

        return torch.empty_like(other, dtype=_dtype(element, torch), device=self.device, requires_grad=False)

    def zeros_like(self, element, other):
        import torch  # type: ignore[import-not-found,unused-ignore]

        return torch.zeros_like(other, dtype=_dtype(element, torch), device=self.device, requires_grad=False)

    @staticmethod
    def size(tensor, dim):
        return tensor.shape[_index(dim, len(tensor.shape))]

    @staticmethod
    def stride(tensor, dim):
        return tensor.stride()[_index(dim, len(tensor.shape))] * tensor.element_size()

    def sync(self):
        import torch  # type: ignore[import-not-found,unused-ignore]

        torch.cuda.current_stream(self.device).synchronize()

    def dispatch(self, kernel, blocks, threads, *arguments):
        kernel._launch(tuple(threads), tuple(blocks), tuple(arguments))


def _number(type_, value, where):
    """Returns a number for a scalar parameter as an int or a float. NumPy's numbers and torch's tensors of one number are numbers, too."""
    if isinstance(value, (int, float)):
        if isinstance(value, int) or type_.name in _FLOATS:
            return +value  # an int for a bool
    elif hasattr(value, "__float__" if type_.name in _FLOATS else "__index__"):
        try:
            return float(value) if type_.name in _FLOATS else operator.index(value)
        except (TypeError, ValueError, RuntimeError):  # an array of several numbers, or a tensor of floats for an integer
            pass
    raise _slangpy.ArgumentTypeError("{}: expected a number for {}, got {!r}".format(where, type_.name, value))


def _take(type_, value, where, host):
    """Returns a value of Python as a parameter of a host function."""
    if type_.kind == "tensor":
        torch = __import__("sys").modules.get("torch")
        if torch is None or not isinstance(value, torch.Tensor):
            raise _slangpy.ArgumentTypeError("{}: expected a torch tensor for {}, got {!r}".format(where, type_.name, type(value)))
        wanted = _dtype(type_.element, torch)
        if value.dtype != wanted:
            raise _slangpy.ArgumentTypeError("{}: expected a tensor of {} for {}, got one of {}".format(where, wanted, type_.name, value.dtype))
        if str(value.device) != host.device:
            if value.device.type == "cpu":
                return host.borrowed(value)
            raise LaunchArgumentError("{}: expected a tensor on {}, which is the module's GPU, got one on {}".format(where, host.device, value.device))
        return value.detach() if value.requires_grad else value
    if type_.kind == "scalar":
        if type_.name == "bool" and hasattr(value, "__bool__"):
            return bool(value)
        value = _number(type_, value, where)
        made = _RUNTIME["_to_" + type_.name](value)
        if isinstance(value, int) and type_.name not in _FLOATS and made != value:
            raise LaunchArgumentError("{}: {} is out of range for {}".format(where, value, type_.name))
        return made
    items = value
    if type_.kind == "struct":
        names = [name for name, _ in type_.fields]
        if isinstance(value, dict):
            if sorted(value) != sorted(names):
                raise LaunchArgumentError("{}: expected the fields {} of {}, got {}".format(where, ", ".join(names), type_.name, ", ".join(map(str, value))))
            items = [value[name] for name in names]
        count = len(names)
    else:
        count = type_.count
    if isinstance(items, (str, bytes)) or not hasattr(items, "__len__") or not hasattr(items, "__getitem__"):
        raise _slangpy.ArgumentTypeError("{}: expected a tuple of {} values for {}, got {!r}".format(where, count, type_.name, type(value)))
    if len(items) != count:
        raise LaunchArgumentError("{}: expected {} values for {}, got {}".format(where, count, type_.name, len(items)))
    if type_.kind == "struct":
        return {name: _take(t, items[i], "{}.{}'".format(where[:-1], name), host) for i, (name, t) in enumerate(type_.fields)}
    return [_take(type_.element, items[i], "{}[{}]'".format(where[:-1], i), host) for i in range(count)]


def _give(type_, value):
    """Returns a value of a host function in the form that Python gets: structs, arrays and vectors are tuples."""
    if type_.kind == "struct":
        return tuple(_give(t, value[name]) for name, t in type_.fields)
    if type_.kind in ("array", "vector"):
        return tuple(_give(type_.element, v) for v in value)
    return value


class _Borrowing(Host):
    """A Host for one call with tensors on the CPU: kernels get copies on the GPU, and the copies that they wrote are copied back."""

    def __init__(self, host):
        self.module, self.kernels, self._device, self.copies = host.module, host.kernels, host.device, []

    def borrowed(self, tensor):
        plain = tensor.detach()
        for original, copy in self.copies:
            if original is tensor:
                return copy
        copy = plain.to(self._device)
        self.copies.append((tensor, copy))
        return copy

    def give_back(self):
        for original, copy in self.copies:
            back, plain = copy.to("cpu"), original.detach()
            same = (back == plain) | ((back != back) & (plain != plain))  # equal, or both NaN
            if not bool(same.all()):
                plain.copy_(back)  # a kernel wrote the copy; autograd notices this copy


# >>translation

_PRECEDENCE = {"||": 1, "&&": 2, "|": 3, "^": 4, "&": 5, "==": 6, "!=": 6, "<": 7, ">": 7, "<=": 7, ">=": 7, "<<": 8, ">>": 8, "+": 9, "-": 9,
               "*": 10, "/": 10, "%": 10}
_VECTOR_NAME = re.compile(r"(bool|u?int(?:8_t|16_t|32_t|64_t)?|half|float(?:16_t|32_t|64_t)?|double)([1-4])$")
_LITERAL = re.compile(r"(0[xX][0-9a-fA-F]+|\d+)([uUlL]*)$")


class _Value:
    """A translated expression: Python's text, its type, and whether it names a variable that other names may share, so that a copy is
    needed."""

    __slots__ = ("code", "type", "shared", "items", "place")

    def __init__(self, code, type_, shared=False, items=None, place=None):
        self.code, self.type, self.shared, self.items, self.place = code, type_, shared, items, place


class Translator:
    """Translates the host functions of a file into one namespace."""

    def __init__(self, source: SourceFile, host: Host) -> None:
        self.source, self.host = source, host
        self.names: dict[str, Any] = dict(_RUNTIME)
        self._made: dict[Any, Any] = {}

    # types

    def type_of(self, words, known, place):
        """Returns the type that some tokens name; `known` has type parameters by name."""
        words = [w for w in words if w.text not in ("const", "static", "no_diff", "::")]
        if not words:
            raise place.fail("a type is missing")
        base, rest = words[0], words[1:]
        made, arguments = None, []
        if rest and rest[0].text == "<":
            end = next((i for i in range(len(rest)) if _balanced(rest[:i + 1])), len(rest) - 1)
            inner = rest[1:end] if rest[end].text == ">" else [*rest[1:end], *tokens_of(">", place.path)[:1]]
            arguments, rest = split_commas(inner), rest[end + 1:]
        name = _ALIASES.get(base.text, base.text)
        vector = _VECTOR_NAME.match(base.text)
        if name in known:
            made = known[name]
        elif name in _SCALARS:
            made = _SCALARS[name]
        elif name == "bfloat16" or name == "BFloat16":
            made = Type("scalar", "bfloat16")
        elif name == "void":
            made = _VOID
        elif vector:
            made = _vector(_SCALARS[_ALIASES.get(vector[1], vector[1])], int(vector[2]))
        elif name in _TENSORS:
            element = self.type_of(arguments[0], known, place) if arguments else _SCALARS["float"]
            made = Type("tensor", "{}<{}>".format(name, element.name), element)
        elif name == "vector" and len(arguments) == 2:
            made = _vector(self.type_of(arguments[0], known, place), self.number(arguments[1], known, place))
        elif name == "Array" and len(arguments) == 2:
            element, count = self.type_of(arguments[0], known, place), self.number(arguments[1], known, place)
            made = Type("array", "{}[{}]".format(element.name, count), element, count)
        elif name in self.source.aliases:
            made = self.type_of(self.source.aliases[name], known, place)
        elif name in self.source.structs and not arguments:
            made = Type("struct", name, fields=[(n, self.type_of(t, known, place)) for n, t in self.source.structs[name]])
        if made is None:
            raise place.fail("a host function has the type '{}': expected numbers, vectors, arrays, structs of this file or TorchTensor".format(
                "".join(w.text for w in words)))
        counts = []
        while rest and rest[0].text == "[":
            end = _close(rest, 0)
            counts.append(self.number(rest[1:end], known, place))
            rest = rest[end + 1:]
        for count in reversed(counts):
            made = Type("array", "{}[{}]".format(made.name, count), made, count)
        return made

    def number(self, words, known, place):
        """Returns the value of a constant expression."""
        body = _Body(self, None, known, [*words, Token("end", "", place.path, place.line, True)])
        value = body.expression()
        try:
            return int(eval(value.code, dict(self.names, **{"__builtins__": {}})))  # this file has made the text, so that eval() is safe
        except Exception:
            raise place.fail("expected a constant number, got '{}'".format("".join(w.text for w in words))) from None

    def is_type(self, name, known):
        return (name in known and isinstance(known[name], Type)) or _ALIASES.get(name, name) in _SCALARS or name in _TENSORS or name in (
            "vector", "Array", "void", "bfloat16") or bool(_VECTOR_NAME.match(name)) or name in self.source.structs or name in self.source.aliases

    # functions

    def function(self, text: FunctionText, known: dict[str, Any]) -> tuple[str, list[Type], Type]:
        """Translates a function, once for each choice of its type parameters. Returns its name in Python, and its types."""
        key = id(text), tuple(sorted((n, getattr(t, "name", t)) for n, t in known.items()))
        if key in self._made:
            return self._made[key]
        name = "h{}_{}".format(len(self._made), text.name)
        types = [self.type_of(words, known, text.place) for _, words, _, _ in text.parameters]
        returns = self.type_of(text.returns, known, text.place) if text.returns else _VOID
        self._made[key] = name, types, returns
        try:
            for parameter, _, _, way in text.parameters:
                if way != "in":
                    raise text.place.fail("{}: parameter '{}': {} parameters of host functions are not understood: return a struct".format(
                        text.name, parameter, way))
            if text.body is None:
                raise text.place.fail("{} has no body".format(text.name))
            body = _Body(self, text, known, [*text.body, Token("end", "", text.place.path, text.place.line, True)])
            body.translate(name, types, returns)
        except BaseException:
            del self._made[key]
            raise
        return self._made[key]

    def entry(self, text):
        """Returns a host function in the form that Python calls."""
        name, types, returns = self.function(text, {})
        inner, host, label = self.names[name], self.host, text.name
        parameters = [p for p, _, _, _ in text.parameters]
        signature = "{}({})".format(label, ", ".join("{} {}".format(t.name, p) for t, p in zip(types, parameters)))

        def run(*args, **kwargs):
            given = list(args)
            for p in parameters[len(given):]:
                if p not in kwargs:
                    break
                given.append(kwargs.pop(p))
            if kwargs or len(given) != len(parameters):
                raise TypeError("{}: expected {} arguments, {}, got {}{}".format(
                    label, len(parameters), signature, len(args), " and " + ", ".join(kwargs) if kwargs else ""))
            used = _Borrowing(host) if any(_is_on_cpu(v) for v in given) else host
            values = [_take(t, v, "{}: argument '{}'".format(label, p), used) for t, v, p in zip(types, given, parameters)]
            try:
                made = inner(used, *values)
            except (ValueError, TypeError, ArithmeticError, LookupError, _slangpy.Error) as error:
                raise _placed(error, text.place.path, label)
            if used is not host:
                used.give_back()
            return None if returns.kind == "void" else _give(returns, made)

        run.__name__ = run.__qualname__ = label
        run.__doc__ = "{} {}: the [TorchEntryPoint] function of {}, line {}.".format(
            returns.name, signature, text.place.path, text.place.line)
        return run


def _is_on_cpu(value):
    if isinstance(value, dict):
        return any(_is_on_cpu(v) for v in value.values())
    if isinstance(value, (list, tuple)):
        return any(_is_on_cpu(v) for v in value)
    return getattr(getattr(value, "device", None), "type", None) == "cpu"


def _placed(error, path, name):
    """Returns the same error with the Slang file and line in front."""
    line, trace = 0, error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == path:
            line = trace.tb_lineno
        trace = trace.tb_next
    text = "{}:{}: in {}: {}".format(path, line, name, error)
    try:
        made = type(error)(text)
    except Exception:
        return error
    made.__cause__ = error
    return made


def _balanced(words):
    """Returns whether all brackets < are closed."""
    depth = 0
    for word in words:
        depth += (word.text == "<") - (word.text == ">") - 2 * (word.text == ">>")
    return depth <= 0


class _Body:
    """Translates the tokens of one function."""

    def __init__(self, owner, text, known, words):
        self.owner, self.text, self.known, self.words, self.at = owner, text, known, words, 0
        self.lines, self.scopes, self.count, self.loops, self.indent = [], [{}], 0, [], 1
        self.returns = _VOID

    # tokens

    @property
    def word(self):
        return self.words[self.at]

    def next(self, *texts):
        """Takes the next token; it must be one of the texts, if some are given."""
        word = self.word
        if texts and word.text not in texts:
            raise word.fail("expected '{}', got '{}'".format("' or '".join(texts), word.text))
        self.at += 1
        return word

    def has(self, text):
        if self.word.text == text and self.word.kind != "string":
            self.at += 1
            return True
        return False

    def emit(self, code, line):
        self.lines.append(("    " * self.indent + code, line))

    def new_name(self, name):
        self.count += 1
        return "v{}_{}".format(self.count, name)

    def find(self, name):
        for scope in reversed(self.scopes):
            if name in scope:
                return scope[name]
        return None

    # the whole function

    def translate(self, name, types, returns):
        self.returns = returns
        parameters = []
        for (p, _, _, _), type_ in zip(self.text.parameters, types):
            own = self.new_name(p)
            self.scopes[-1][p] = own, type_
            parameters.append(own)
        while self.word.kind != "end":
            self.statement()
        lines = [("def {}({}):".format(name, ", ".join(["_host", *parameters])), self.text.place.line), *self.lines, ("    return None", self.text.place.line)]
        tree = ast.parse("\n".join(code for code, _ in lines))
        for node in ast.walk(tree):
            if hasattr(node, "lineno"):
                node.lineno = node.end_lineno = lines[node.lineno - 1][1]
                node.col_offset = node.end_col_offset = 0
        exec(compile(tree, self.text.place.path, "exec"), self.owner.names)

    def block(self, work):
        """Runs `work` in a scope of its own, indented one step further."""
        self.scopes.append({})
        self.indent += 1
        before = len(self.lines)
        work()
        if len(self.lines) == before:
            self.emit("pass", self.word.line)
        self.indent -= 1
        self.scopes.pop()

    def statement(self):
        while self.word.text == "[":  # attributes such as [unroll] and [MaxIters(n)]
            self.at = _close(self.words, self.at) + 1
        word = self.word
        handler = getattr(self, "do_" + word.text, None) if word.kind == "name" else None
        if word.text == "{":
            self.next()
            self.scopes.append({})
            while not self.has("}"):
                self.statement()
            self.scopes.pop()
        elif self.has(";"):
            pass
        elif handler:
            self.next()
            handler(word)
        elif word.text in ("switch", "throw", "defer", "goto", "discard", "try", "__target_switch", "__intrinsic_asm"):
            raise word.fail("'{}' in a host function is not understood".format(word.text))
        else:
            self.simple()
            self.next(";")

    def is_declaration(self):
        word, i = self.word, self.at
        if word.text in ("let", "var", "const", "static"):
            return True
        if word.kind != "name" or not self.owner.is_type(word.text, self.known) or self.find(word.text):
            return False
        i += 1
        if self.words[i].text == "<":
            i = _close(self.words, i) + 1
        while self.words[i].text == "[":
            i = _close(self.words, i) + 1
        return self.words[i].kind == "name"

    def simple(self):
        """Translates a declaration or an expression, without the ';'."""
        if self.is_declaration():
            return self.declaration()
        word = self.word
        if word.text in ("++", "--"):
            self.next()
            return self.assign(self.expression(11), word.text[0] + "=", _Value("1", _SCALARS["int"]), word)
        value = self.expression()
        sign = self.word
        if sign.text in ("++", "--"):
            self.next()
            self.assign(value, sign.text[0] + "=", _Value("1", _SCALARS["int"]), sign)
        elif sign.text.endswith("=") and sign.text not in ("==", "!=", "<=", ">="):
            self.next()
            self.assign(value, sign.text, self.expression(), sign)
        else:
            self.emit(value.code, word.line)
        if self.has(","):
            self.simple()

    def declaration(self):
        type_, inferred = None, False
        while self.word.text in ("const", "static", "let", "var"):
            inferred = self.next().text in ("let", "var")
        place = self.word
        if inferred:
            name = self.next()
            if self.has(":"):
                start = self.at
                while self.word.text not in ("=", ";") and self.word.kind != "end":
                    self.at += 1
                type_ = self.owner.type_of(self.words[start:self.at], self.known, place)
            value = self.expression() if self.has("=") else None
            if value is None and type_ is None:
                raise name.fail("'{}' has neither type nor value".format(name.text))
            return self.define(name, type_ or value.type, value)
        start = self.at
        self.next()
        if self.word.text == "<":
            self.at = _close(self.words, self.at) + 1
        while self.word.text == "[":
            self.at = _close(self.words, self.at) + 1
        base = self.words[start:self.at]
        while True:
            name, suffix = self.next(), self.at
            while self.word.text == "[":
                self.at = _close(self.words, self.at) + 1
            type_ = self.owner.type_of([*base, *self.words[suffix:self.at]], self.known, place)
            value = self.expression() if self.has("=") else None
            if value is None and self.word.text == "(":  # a declaration Type name(arguments)
                self.next()
                value = self.construct(type_, self.arguments(")"), name)
            self.define(name, type_, value)
            if not self.has(","):
                return None

    def define(self, name, type_, value):
        if type_.kind == "list":
            raise name.fail("'{}' has braces and no type".format(name.text))
        code = self.owned(self.convert(value, type_, name)) if value else self.zero(type_)
        own = self.new_name(name.text)
        self.emit("{} = {}".format(own, code), name.line)
        self.scopes[-1][name.text] = own, type_

    def assign(self, target, sign, value, word):
        if target.place is None:
            raise word.fail("this cannot be assigned to")
        if sign != "=":
            value = self.binary(sign[:-1], target, value, word)
        code = self.owned(self.convert(value, target.type, word))
        if isinstance(target.place, tuple):
            self.emit("_put({}, {!r}, {})".format(target.place[0], target.place[1], code), word.line)
        else:
            self.emit("{} = {}".format(target.place, code), word.line)

    def owned(self, value):
        return "_copy({})".format(value.code) if value.shared and value.type.kind in ("vector", "array", "struct") else value.code

    def zero(self, type_):
        if type_.kind == "scalar":
            return "False" if type_.name == "bool" else "0.0" if type_.name in _FLOATS else "0"
        if type_.kind in ("vector", "array"):
            return "[{}]".format(", ".join([self.zero(type_.element)] * type_.count))
        if type_.kind == "struct":
            return "{{{}}}".format(", ".join("{!r}: {}".format(n, self.zero(t)) for n, t in type_.fields))
        return "None"

    # statements

    def condition(self):
        self.next("(")
        value = self.convert(self.expression(), _SCALARS["bool"], self.word)
        self.next(")")
        return value.code

    def do_if(self, word):
        self.emit("if {}:".format(self.condition()), word.line)
        self.block(self.statement)
        if self.has("else"):
            self.emit("else:", self.word.line)
            self.block(self.statement)

    def do_while(self, word):
        self.emit("while {}:".format(self.condition()), word.line)
        self.loops.append(None)
        self.block(self.statement)
        self.loops.pop()

    def do_do(self, word):
        """Translates a do loop. Its condition stands behind the body, and is evaluated at each `continue` too."""
        self.emit("while True:", word.line)
        start = self.at
        end = _close(self.words, start) + 1 if self.word.text == "{" else None
        if end is None or self.words[end].text != "while":
            raise word.fail("expected do { ... } while (...)")

        def ask():
            back, self.at = self.at, end + 1
            code = self.condition()
            after, self.at = self.at, back
            self.emit("if not {}: break".format(code), self.words[end].line)
            return after

        after = []

        def body():
            self.loops.append(ask)
            self.statement()
            self.loops.pop()
            after.append(ask())

        self.block(body)
        self.at = after[0]
        self.next(";")

    def do_for(self, word):
        self.next("(")
        self.scopes.append({})
        if not self.has(";"):
            self.simple()
            self.next(";")
        condition = "True"
        if self.word.text != ";":
            condition = self.convert(self.expression(), _SCALARS["bool"], word).code
        self.next(";")
        step, depth = self.at, 0
        while self.word.text != ")" or depth:
            depth += (self.word.text == "(") - (self.word.text == ")")
            self.next()
        self.next(")")

        def take_step():
            back, self.at = self.at, step
            if self.word.text != ")":
                self.simple()
            self.at = back

        def body():
            self.loops.append(take_step)
            self.statement()
            self.loops.pop()
            take_step()

        self.emit("while {}:".format(condition), word.line)
        self.block(body)
        self.scopes.pop()

    def do_break(self, word):
        self.next(";")
        self.emit("break", word.line)

    def do_continue(self, word):
        self.next(";")
        if not self.loops:
            raise word.fail("'continue' outside of a loop")
        if self.loops[-1]:
            self.loops[-1]()
        self.emit("continue", word.line)

    def do_return(self, word):
        if self.has(";"):
            return self.emit("return None", word.line)
        value = self.convert(self.expression(), self.returns, word)
        self.next(";")
        return self.emit("return " + self.owned(value), word.line)

    # expressions

    def expression(self, least=0):
        left = self.unary()
        while True:
            word = self.word
            level = _PRECEDENCE.get(word.text) if word.kind == "sign" else None
            if level is None or level <= least:
                break
            self.next()
            if word.text == ">" and self.word.text == ">" and self.word.kind == "sign":  # >> in two tokens
                self.next()
                word = Token("sign", ">>", word.path, word.line, False)
                level = _PRECEDENCE[">>"]
            left = self.binary(word.text, left, self.expression(level), word)
        if least == 0 and self.word.text == "?":
            word = self.next()
            yes = self.expression()
            self.next(":")
            no = self.expression()
            common = yes.type if yes.type == no.type else self.common(yes.type, no.type, word)
            yes, no = self.convert(yes, common, word), self.convert(no, common, word)
            return _Value("({} if {} else {})".format(yes.code, self.convert(left, _SCALARS["bool"], word).code, no.code), common, yes.shared or no.shared)
        return left

    def unary(self):
        word = self.word
        if word.text in ("+", "-", "!", "~") and word.kind == "sign":
            self.next()
            value = self.unary()
            scalar = value.type.element if value.type.kind == "vector" else value.type
            if scalar.kind != "scalar":
                raise word.fail("'{}' of {}".format(word.text, value.type.name))
            if word.text == "!":
                return _Value("(not {})".format(self.convert(value, _SCALARS["bool"], word).code), _SCALARS["bool"])
            return self.elementwise("_to_{}({}{{}})".format(scalar.name, word.text), [value], scalar)
        if word.text in ("++", "--"):
            raise word.fail("'{}' within an expression is not understood: write it as a statement".format(word.text))
        return self.postfix(self.primary())

    def elementwise(self, code, values, scalar):
        """Returns an expression over numbers, `code` with a {} for each, that is carried out for each component."""
        count = max((v.type.count for v in values if v.type.kind == "vector"), default=0)
        if not count:
            return _Value(code.format(*(v.code for v in values)), scalar)
        names = ["abc"[i] for i in range(len(values))]
        return _Value("_each(lambda {}: {}, {})".format(", ".join(names), code.format(*names), ", ".join(v.code for v in values)), _vector(scalar, count))

    def common(self, a, b, word):
        vectors = [t for t in (a, b) if t.kind == "vector"]
        scalars = [t.element if t.kind == "vector" else t for t in (a, b)]
        if any(t.kind != "scalar" for t in scalars) or (len(vectors) == 2 and a.count != b.count):
            raise word.fail("{} and {} have no common type".format(a.name, b.name))
        common = _common(*scalars)
        return _vector(common, vectors[0].count) if vectors else common

    def binary(self, sign, a, b, word):
        if sign in ("&&", "||"):
            a, b = (self.convert(v, _SCALARS["bool"], word) for v in (a, b))
            return _Value("({} {} {})".format(a.code, "and" if sign == "&&" else "or", b.code), _SCALARS["bool"])
        common = self.common(a.type, b.type, word)
        scalar = common.element if common.kind == "vector" else common
        name = scalar.name
        if sign in ("<<", ">>"):  # the result has the left operand's type
            left = a.type.element if a.type.kind == "vector" else a.type
            return self.elementwise("_to_{}({{}} {} ({{}} & {}))".format(left.name, sign, _BITS[left.name] - 1), [a, b], left)
        a, b = (self.convert(v, _vector(scalar, v.type.count) if v.type.kind == "vector" else scalar, word) for v in (a, b))
        if sign in ("==", "!=", "<", ">", "<=", ">="):
            return self.elementwise("({{}} {} {{}})".format(sign), [a, b], _SCALARS["bool"])
        if name == "bool" and sign not in ("&", "|", "^"):
            scalar = _SCALARS["int"]
            name = "int"
        if sign == "/":
            code = "_fdiv({}, {})" if name in _FLOATS else "_idiv({}, {})"
        elif sign == "%":
            code = "_fmod({}, {})" if name in _FLOATS else "_imod({}, {})"
        elif sign in ("&", "|", "^") and name in _FLOATS:
            raise word.fail("'{}' of {}".format(sign, common.name))
        else:
            code = "{{}} {} {{}}".format(sign)
        return self.elementwise("_to_{}({})".format(name, code), [a, b], scalar)

    def convert(self, value, type_, word):
        """Returns the value converted to another type."""
        have = value.type
        if have == type_:
            return value
        if have.kind == "list":
            return self.construct(type_, value.items, word, braces=True)
        if type_.kind == "scalar" and have.kind == "scalar":
            code = value.code
            if re.fullmatch(r"-?\d+", code) and type_.name not in _FLOATS and type_.name != "bool":
                return _Value(str(_RUNTIME["_to_" + type_.name](int(code))), type_)
            return _Value("_to_{}({})".format(type_.name, code), type_)
        if type_.kind == "scalar" and have.kind == "vector" and have.count == 1:
            return self.convert(_Value(value.code + "[0]", have.element), type_, word)
        if type_.kind == "vector" and have.kind == "scalar":
            inner = self.convert(value, type_.element, word)
            return _Value("([{}] * {})".format(inner.code, type_.count), type_)
        if type_.kind == "vector" and have.kind == "vector" and have.count >= type_.count:
            return _Value("[_to_{}(_x) for _x in {}[:{}]]".format(type_.element.name, value.code, type_.count), type_)
        if type_.kind == "tensor" and have.kind == "tensor" and type_.element == have.element:
            return _Value(value.code, type_)
        raise word.fail("expected {}, got {}".format(type_.name, have.name))

    def construct(self, type_, items, word, braces=False):
        """Returns the value of Type(items), or of braces with that type."""
        if not items:
            return _Value(self.zero(type_), type_)
        if type_.kind == "scalar" and len(items) == 1:
            return self.convert(items[0], type_, word)
        if type_.kind == "vector":
            if len(items) == 1 and not braces:
                return self.convert(items[0], type_, word)
            parts, count = [], 0
            for item in items:
                n = item.type.count if item.type.kind == "vector" else 1
                made = self.convert(item, _vector(type_.element, n) if item.type.kind == "vector" else type_.element, word)
                parts.append("*" + made.code if item.type.kind == "vector" else made.code)
                count += n
            if count != type_.count:
                raise word.fail("expected {} numbers for {}, got {}".format(type_.count, type_.name, count))
            return _Value("[{}]".format(", ".join(parts)), type_)
        if type_.kind == "struct":
            if len(items) == 1 and items[0].type == type_:
                return items[0]
            if len(items) > len(type_.fields):
                raise word.fail("expected at most {} values for {}, got {}".format(len(type_.fields), type_.name, len(items)))
            given = [self.owned(self.convert(item, t, word)) for item, (_, t) in zip(items, type_.fields)]
            given += [self.zero(t) for _, t in type_.fields[len(items):]]
            return _Value("{{{}}}".format(", ".join("{!r}: {}".format(n, c) for (n, _), c in zip(type_.fields, given))), type_)
        if type_.kind == "array":
            if len(items) > type_.count:
                raise word.fail("expected at most {} values for {}, got {}".format(type_.count, type_.name, len(items)))
            given = [self.owned(self.convert(item, type_.element, word)) for item in items] + [self.zero(type_.element)] * (type_.count - len(items))
            return _Value("[{}]".format(", ".join(given)), type_)
        if type_.kind == "tensor" and len(items) == 1:
            return self.convert(items[0], type_, word)
        raise word.fail("{}(...) is not understood".format(type_.name))

    def arguments(self, close):
        items = []
        while not self.has(close):
            items.append(self.expression())
            if self.word.text != close:
                self.next(",")
        return items

    def primary(self):
        word = self.next()
        if word.kind == "number":
            return self.literal(word)
        if word.text == "{":
            return _Value("", _LIST, items=self.arguments("}"))
        if word.text == "(":
            if self.word.kind == "name" and self.owner.is_type(self.word.text, self.known) and not self.find(self.word.text):
                close = _close(self.words, self.at - 1)
                after = self.words[close + 1]
                if after.kind in ("name", "number") or after.text in ("(", "{", "-", "!"):  # a cast
                    inner = self.words[self.at:close]
                    if _balanced(inner) and not any(w.text in ("(", ")", ".") for w in inner):
                        self.at = close + 1
                        return self.construct(self.owner.type_of(inner, self.known, word), [self.unary()], word)
            value = self.expression()
            self.next(")")
            return _Value("({})".format(value.code), value.type, value.shared, value.items, value.place)
        if word.kind != "name":
            raise word.fail("'{}' in a host function is not understood".format(word.text or "the end"))
        return self.named(word)

    def literal(self, word):
        whole = _LITERAL.match(word.text)
        if whole:
            number, suffix = int(whole[1], 0) if whole[1][:2] in ("0x", "0X") else int(whole[1]), whole[2].lower()
            long = "l" in suffix or number > (0xffffffff if "u" in suffix or whole[1][:2] in ("0x", "0X") else 0x7fffffff)
            unsigned = "u" in suffix or (whole[1][:2] in ("0x", "0X") and number > 0x7fffffff and not long)
            return _Value(str(number), _SCALARS["u" * unsigned + ("int64_t" if long else "int")])
        text = word.text.lower()
        name = "double" if text.endswith("l") else "half" if text.endswith("h") else "float"
        return _Value(repr(_RUNTIME["_to_" + name](float(text.rstrip("lfh")))), _SCALARS[name])

    def named(self, word):
        name = word.text
        while self.word.text == "::":  # names are looked up without their namespaces
            self.next()
            name = self.next().text
        if name in ("true", "false"):
            return _Value(name.capitalize(), _SCALARS["bool"])
        found = self.find(name)
        if found:
            return _Value(found[0], found[1], True, place=found[0])
        if name in self.known and not isinstance(self.known[name], Type):
            return _Value(str(self.known[name]), _SCALARS["int"])
        if name == "__dispatch_kernel":
            return self.dispatch(word)
        if name == "syncTorchCudaStream":
            self.next("(")
            self.next(")")
            return _Value("_host.sync()", _VOID)
        if self.owner.is_type(name, self.known):
            return self.of_type(word)
        if name in self.owner.source.constants and self.word.text != "(":
            type_, value = self.owner.source.constants[name]
            place = value[0] if value else word
            inner = _Body(self.owner, self.text, self.known, [*value, Token("end", "", place.path, place.line, True)])
            return inner.convert(inner.expression(), self.owner.type_of(type_, self.known, place), place)
        return self.call(word, name)

    def of_type(self, word):
        """Translates Type(...) and Type.alloc(...)."""
        start = self.at - 1
        if self.word.text == "<":
            self.at = _close(self.words, self.at) + 1
        while self.word.text == "[":
            self.at = _close(self.words, self.at) + 1
        type_ = self.owner.type_of(self.words[start:self.at], self.known, word)
        if self.has("("):
            return self.construct(type_, self.arguments(")"), word)
        if self.word.text not in (".", "::") or type_.kind != "tensor":
            raise self.word.fail("'{}' after {} is not understood".format(self.word.text, type_.name))
        self.next()
        what = self.next()
        self.next("(")
        items = self.arguments(")")
        element = "_t{}".format(type_.element.name)
        self.owner.names[element] = type_.element
        if what.text == "alloc" and items:
            sizes = items
            if len(items) == 1 and items[0].type.kind in ("vector", "array"):
                return _Value("_host.alloc({}, *{})".format(element, items[0].code), type_)
            return _Value("_host.alloc({}, {})".format(element, ", ".join(self.convert(i, _SCALARS["uint"], what).code for i in sizes)), type_)
        if what.text in ("emptyLike", "zerosLike") and len(items) == 1 and items[0].type.kind == "tensor":
            return _Value("_host.{}({}, {})".format("empty_like" if what.text == "emptyLike" else "zeros_like", element, items[0].code), type_)
        raise what.fail("{}.{}(...) is not understood: expected alloc(sizes), emptyLike(tensor) or zerosLike(tensor)".format(type_.name, what.text))

    def postfix(self, value):
        while True:
            word = self.word
            if word.text == ".":
                self.next()
                value = self.member(value, self.next())
            elif word.text == "[":
                self.next()
                index = self.convert(self.expression(), _SCALARS["int"], word)
                self.next("]")
                if value.type.kind not in ("vector", "array"):
                    raise word.fail("an element of {} in a host function: kernels read and write tensors".format(value.type.name))
                code = "{}[_index({}, {})]".format(value.code, index.code, value.type.count)
                value = _Value(code, value.type.element, value.shared, place=code if value.place else None)
            else:
                return value

    def member(self, value, name):
        kind, text = value.type.kind, name.text
        if kind == "struct":
            types = dict(value.type.fields)
            if text not in types or self.word.text == "(":
                raise name.fail("{}.{}: methods of structs in host functions are not understood".format(value.type.name, text))
            code = "{}[{!r}]".format(value.code, text)
            return _Value(code, types[text], value.shared, place=code if value.place else None)
        if kind == "tensor":
            self.next("(")
            items = self.arguments(")")
            if text == "dims":
                return _Value("len({}.shape)".format(value.code), _SCALARS["uint"])
            if text in ("size", "stride") and len(items) == 1:
                return _Value("_host.{}({}, {})".format(text, value.code, self.convert(items[0], _SCALARS["int"], name).code), _SCALARS["uint"])
            if text == "getView":
                return _Value(value.code, Type("tensor", "TensorView<{}>".format(value.type.element.name), value.type.element))
            if text == "fillZero":
                return _Value("{}.zero_()".format(value.code), _VOID)
            if text == "fillValue" and len(items) == 1 and value.type.element.kind == "scalar":
                return _Value("{}.fill_({})".format(value.code, self.convert(items[0], value.type.element, name).code), _VOID)
            raise name.fail("{}.{}(...) in a host function is not understood".format(value.type.name, text))
        letters = "xyzw" if text[0] in "xyzw" else "rgba"
        places = tuple(letters.find(c) for c in text)
        count = value.type.count if kind == "vector" else 1
        if kind not in ("vector", "scalar") or min(places) < 0 or max(places) >= count:
            raise name.fail("{} has no '{}'".format(value.type.name, text))
        if kind == "scalar":
            return value if len(text) == 1 else _Value("([{}] * {})".format(value.code, len(text)), _vector(value.type, len(text)))
        if len(places) == 1:
            code = "{}[{}]".format(value.code, places[0])
            return _Value(code, value.type.element, place=code if value.place else None)
        return _Value("[{0}[_i] for _i in {1!r}]".format(value.code, places), _vector(value.type.element, len(places)),
                      place=(value.place, places) if isinstance(value.place, str) else None)

    # calls

    def call(self, word, name):
        given = None
        if self.word.text == "<" and name in self.owner.source.functions:
            end = _close(self.words, self.at)
            if self.words[end + 1].text == "(":
                given = split_commas(self.words[self.at + 1:end])
                self.at = end + 1
        if not self.has("("):
            raise word.fail("'{}' in a host function is not known".format(name))
        items = self.arguments(")")
        overloads = [f for f in self.owner.source.functions.get(name, ()) if len(f.parameters) >= len(items)
                     and all(default for _, _, default, _ in f.parameters[len(items):])]
        tried = []
        for function in overloads:
            known = self.infer(function, items, given, word)
            if known is None:
                continue
            types = [self.owner.type_of(t, known, function.place) for _, t, _, _ in function.parameters]
            cost = sum(_cost(i.type, t) for i, t in zip(items, types))
            tried.append((cost, len(tried), function, known))
        if tried and min(tried)[0] < 1000:
            _, _, function, known = min(tried)
            own, types, returns = self.owner.function(function, known)
            for _, _, default, _ in function.parameters[len(items):]:
                inner = _Body(self.owner, function, known, [*default, Token("end", "", word.path, word.line, True)])
                items.append(inner.expression())
            code = ", ".join(["_host", *(self.owned(self.convert(i, t, word)) for i, t in zip(items, types))])
            return _Value("{}({})".format(own, code), returns)
        entry = _FUNCTIONS.get(name)
        if entry and entry[0] == len(items) and not overloads:
            common = items[0].type
            for item in items[1:]:
                common = self.common(common, item.type, word)
            scalar = common.element if common.kind == "vector" else common
            if scalar.kind != "scalar":
                raise word.fail("{}({})".format(name, common.name))
            if entry[2] and scalar.name not in _FLOATS:
                scalar = _SCALARS["float"]
            items = [self.convert(i, _vector(scalar, i.type.count) if i.type.kind == "vector" else scalar, word) for i in items]
            return self.elementwise("_to_{}(_f_{}({}))".format(scalar.name, name, ", ".join(["{}"] * len(items))), items, scalar)
        raise word.fail("the host function calls '{}({})', which is not known here".format(name, ", ".join(i.type.name for i in items)))

    def infer(self, function, items, given, word):
        """Returns the type parameters of a generic function, by name; None if they do not fit."""
        known = {}
        names = []
        for part in split_commas([w for w in function.generic[1:-1]]) if function.generic else []:
            is_value = part[0].text == "let"
            names.append(part[1].text if is_value or part[0].text == "typename" else part[0].text)
            if given is not None and len(names) <= len(given):
                own = given[len(names) - 1]
                known[names[-1]] = self.owner.number(own, self.known, word) if is_value else self.owner.type_of(own, self.known, word)
        for (_, words, _, _), item in zip(function.parameters, items):
            texts = [w.text for w in words]
            if len(texts) == 1 and texts[0] in names:
                known.setdefault(texts[0], item.type)
            elif len(texts) == 4 and texts[0] in _TENSORS and texts[2] in names and item.type.kind == "tensor":
                known.setdefault(texts[2], item.type.element)
        return known if all(n in known for n in names) else None

    def dispatch(self, word):
        """Translates __dispatch_kernel(kernel, blocks, threads)(arguments)."""
        self.next("(")
        start = self.at
        while self.word.text != ",":
            if self.word.kind == "end":
                raise word.fail("expected __dispatch_kernel(kernel, blocks, threads)(arguments)")
            self.at = _close(self.words, self.at) + 1 if self.word.text == "<" else self.at + 1
        name = "".join(w.text for w in self.words[start:self.at])
        self.next(",")
        three = _vector(_SCALARS["uint"], 3)
        blocks = self.convert(self.expression(), three, word)
        self.next(",")
        threads = self.convert(self.expression(), three, word)
        self.next(")")
        self.next("(")
        items = self.arguments(")")
        kernel = self.owner.host.module._kernel(name)
        if kernel is None:
            raise word.fail("there is no kernel '{}'".format(name))
        own = "k_" + re.sub(r"\W", "_", name)
        self.owner.names[own] = kernel
        if len(items) != len(kernel._parameters):
            raise word.fail("kernel '{}' takes {} arguments, got {}".format(name, len(kernel._parameters), len(items)))
        codes = []
        for item, (p, type_) in zip(items, kernel._parameters):
            wanted = type_.full_name
            if item.type.kind in ("scalar", "vector"):
                item = self.convert(item, self.owner.type_of(tokens_of(wanted, word.path)[:-1], {}, word), word)
            elif item.type.kind == "list":
                item = self.construct(self.owner.type_of(tokens_of(wanted, word.path)[:-1], {}, word), item.items, word, True)
            codes.append(item.code)
        return _Value("_host.dispatch({}, {}, {}{})".format(own, blocks.code, threads.code, "".join(", " + c for c in codes)), _VOID)


def _cost(have, want):
    """Returns the cost of converting a value of the type `have` to the type `want`. The overload with the smallest costs is chosen;
    1000 means that the value cannot be converted."""
    if have == want:
        return 0
    if have.kind == "list":
        return 5
    if have.kind == want.kind == "tensor":
        return 1 if have.element == want.element else 1000
    if have.kind == want.kind == "scalar":
        return 1 + 2 * ((have.name in _FLOATS) and (want.name not in _FLOATS)) + abs(_BITS.get(have.name, 0) - _BITS.get(want.name, 0)) // 16
    if want.kind == "vector" and (have.kind == "scalar" or (have.kind == "vector" and have.count == want.count)):
        return 8
    return 1000


"""Fusion: a Python function over Slang functions becomes one Slang function and one kernel.

    @spy.fuse
    def tone_map_sample(uv):
        return m.tone_map(m.sample_texture(uv), 1, 0.5)

    colors = tone_map_sample(uvs)

The function runs once, with traced values for its parameters. Calls of Slang functions, constructors, operators, fields and
indices of traced values are recorded, and what it returns is the result. The library writes a Slang function of them. docs/fuse.md
says more."""
from __future__ import annotations

import inspect
import threading
import types as _python_types

from . import _slangpy

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from ._slangpy import Function, Module, Struct
    from .device import Device

__all__ = ["fuse", "Fused", "Traced", "where", "no_diff", "sum", "mean", "min", "max", "dot"]

_thread = threading.local()  # .trace: the trace that this thread records, or nothing
_BACKWARD = {None: 0, "recompute": 1, "store": 2}
_INTEGERS = ("int", "uint", "int8_t", "uint8_t", "int16_t", "uint16_t", "int64_t", "uint64_t")
_COMPONENTS = ("xyzw", "rgba")


# >>traces

class _Trace:
    """Records one run of a fused function."""

    def __init__(self, device, name, modules, backward):
        self.device, self.name, self.failed, self.ended = device, name, None, False
        self.graph = _slangpy._Graph(device, name, backward)
        self.modules = []
        for module in modules:
            self.use(module)

    def use(self, module):
        if module.device is not self.device:
            raise ValueError("fuse: '{}': module '{}' belongs to another device than what was called before".format(self.name, module.name))
        if not any(module is m for m in self.modules):
            self.modules.append(module)
            self.graph.use(module)

    def record(self, method, *args):
        if self.failed is not None:
            raise self.failed
        try:
            return method(*args)
        except _slangpy.Error as error:
            self.failed = error
            raise

    def give(self, node):
        return Traced._of(self, node)

    def lower(self, value):
        """Returns a value in the form that _Graph takes: a node, a number, a list of numbers, or a dict."""
        if isinstance(value, Traced):
            if value._trace is not self:
                raise _leaked(value)
            return value._node
        if isinstance(value, _Reduced):
            raise TypeError("fuse: '{}': {} is the end of a graph: return it as the result".format(self.name, value))
        if isinstance(value, (bool, int, float)):
            return value
        if isinstance(value, dict):
            return {key: item if key == "_type" else self.lower(item) for key, item in value.items()}
        if hasattr(value, "item") and getattr(value, "shape", None) == ():  # the numbers of numpy
            return value.item()
        if isinstance(value, (list, tuple)) or type(value).__module__ == "slangpy" and hasattr(value, "__len__"):
            items = list(value)
            if items and all(isinstance(item, (bool, int, float)) for item in items) and len(items) <= 4:
                return items
            if any(isinstance(item, Traced) for item in items):
                raise TypeError("fuse: '{}': expected a vector, got a list of traced values: write m.float{}(...)".format(
                    self.name, len(items) if 2 <= len(items) <= 4 else 3))
        if isinstance(value, (_slangpy.Tensor, _slangpy.NDBuffer)) or hasattr(value, "__dlpack__") or hasattr(value, "__array_interface__"):
            raise TypeError("fuse: '{}': expected a traced value or a number, got {!r}: make it a parameter of the function".format(
                self.name, type(value)))
        raise TypeError("fuse: '{}': expected a traced value, a number, a vector or a dict, got {!r}".format(self.name, type(value)))

    def pairs(self, args, kwargs=None):
        pairs = [(None, self.lower(value)) for value in args]
        return pairs + [(name, self.lower(value)) for name, value in (kwargs or {}).items()]

    def op(self, name, *args):
        return self.give(self.record(self.graph.op, name, self.pairs(args)))

    def type_of(self, value):
        """Returns the Slang type of a traced value or number, or None."""
        if isinstance(value, Traced):
            return self.graph.type(value._node)
        return "bool" if isinstance(value, bool) else "int" if isinstance(value, int) else "float" if isinstance(value, float) else None





def _leaked(value):
    name = object.__getattribute__(value, "_trace").name
    return TypeError("fuse: a traced value of '{}' has left its trace: it exists only while that function is fused; return it as a "
                     "result instead".format(name))


def _current():
    return getattr(_thread, "trace", None)


class _Recording:
    """Sets the trace that this thread records; None means that calls are made."""

    def __init__(self, trace):
        self.trace = trace

    def __enter__(self):
        self.before = _current()
        _thread.trace = self.trace
        _slangpy._set_tracing(self.trace is not None)

    def __exit__(self, *exception):
        _thread.trace = self.before
        _slangpy._set_tracing(self.before is not None)


def _traced_call(function, args, kwargs):
    """Records a call of a Slang function while a function is fused."""
    trace = _current()
    if trace is None:  # only another thread records a trace
        raise RuntimeError("fuse: no function is being fused")
    if not _slangpy._chain_is_plain(function):
        raise TypeError("fuse: '{}': '{}' has chained options (map, bwds, set, constants, ...): chain them to the fused function".format(
            trace.name, function.name))
    for name in ("_result", "_append_to", "_thread_count"):
        if name in kwargs:
            raise TypeError("fuse: '{}': '{}' got {}, which only the call of the fused function takes".format(trace.name, function.name, name))
    this = _slangpy._chain_of(function)[2]
    if this is not None:
        args = (this, *args)
    trace.use(function.module)
    node = trace.record(trace.graph.call, function, trace.pairs(args, kwargs))
    outs = [trace.give(trace.record(trace.graph.out, node, name)) for name in trace.graph.outs(node)]
    returns = trace.graph.type(node) != "void"
    results = ([trace.give(node)] if returns else []) + outs
    return None if not results else results[0] if len(results) == 1 else tuple(results)


def _traced_make(struct, args, kwargs):
    """Records a call of a type while a function is fused: its constructor, or a struct of its fields."""
    trace = _current()
    kwargs = kwargs or {}
    if len(args) == 1 and isinstance(args[0], dict) and not kwargs:
        args, kwargs = (), {key: value for key, value in args[0].items() if key != "_type"}
    if args and kwargs:
        raise TypeError("fuse: '{}': {}: expected components, or all fields by name".format(trace.name, struct.name))
    trace.use(struct.module)
    return trace.give(trace.record(trace.graph.make, struct.full_name, trace.pairs(args, kwargs)))


def _refused(self, what, instead):
    if _current() is not self._trace:
        return _leaked(self)
    return TypeError("fuse: '{}': {} of a traced value is not known while the function is fused; {}".format(self._trace.name, what, instead))


def _binary(op, reverse=False):
    def operator(self, other):
        if _is_foreign(other):
            return NotImplemented
        return self._op(op, other, self) if reverse else self._op(op, self, other)
    return operator


def _is_foreign(other):
    return isinstance(other, (str, bytes, type(None)))


def _division(reverse):
    def operator(self, other):
        if _is_foreign(other):
            return NotImplemented
        a, b = (other, self) if reverse else (self, other)
        types = [self._trace.type_of(x) for x in (a, b)]
        if all(t is not None and t.rstrip("1234") in _INTEGERS or t in _INTEGERS for t in types):
            raise TypeError("fuse: '{}': {} / {} would be Slang's division of whole numbers: write a // b for that, or m.float(a) / b".format(
                self._trace.name, *types))
        return self._op("/", a, b)
    return operator


def _floor_division(reverse):
    def operator(self, other):
        if _is_foreign(other):
            return NotImplemented
        a, b = (other, self) if reverse else (self, other)
        types = [self._trace.type_of(x) or "float" for x in (a, b)]
        whole = all(t.rstrip("1234") in _INTEGERS or t in _INTEGERS for t in types)
        quotient = self._op("/", a, b)
        return quotient if whole else self._op("floor", quotient)
    return operator


def _logic(bits, logic, reverse=False):
    def operator(self, other):
        if _is_foreign(other):
            return NotImplemented
        a, b = (other, self) if reverse else (self, other)
        is_bool = any((self._trace.type_of(x) or "").startswith("bool") for x in (a, b))
        return self._op(logic if is_bool else bits, a, b)
    return operator


_UFUNCS = {"add": "+", "subtract": "-", "multiply": "*", "divide": "/", "true_divide": "/", "less": "<", "less_equal": "<=", "greater": ">",
           "greater_equal": ">=", "equal": "==", "not_equal": "!="}


class Traced:
    """A value in a function that is being fused: a parameter, or the result of a call. Operators, fields, components and indices of it
    are traced values too. It has no number yet: `if`, len() and float() of it raise errors that say what to write."""

    __slots__ = ("_trace", "_node")
    __hash__ = None  # type: ignore[assignment]

    def __init__(self):
        raise TypeError("Traced: a function that slangpy.fuse() runs gets them")

    @classmethod
    def _of(cls, trace, node):
        self = object.__new__(cls)
        object.__setattr__(self, "_trace", trace)
        object.__setattr__(self, "_node", node)
        return self

    def _op(self, name, *args):
        if _current() is not self._trace:
            raise _leaked(self)
        return self._trace.op(name, *args)

    __add__, __radd__ = _binary("+"), _binary("+", True)
    __sub__, __rsub__ = _binary("-"), _binary("-", True)
    __mul__, __rmul__ = _binary("*"), _binary("*", True)
    __truediv__, __rtruediv__ = _division(False), _division(True)
    __floordiv__, __rfloordiv__ = _floor_division(False), _floor_division(True)
    __mod__, __rmod__ = _binary("%"), _binary("%", True)
    __lshift__, __rlshift__ = _binary("<<"), _binary("<<", True)
    __rshift__, __rrshift__ = _binary(">>"), _binary(">>", True)
    __and__, __rand__ = _logic("&", "&&"), _logic("&", "&&", True)
    __or__, __ror__ = _logic("|", "||"), _logic("|", "||", True)
    __xor__, __rxor__ = _logic("^", "!="), _logic("^", "!=", True)
    __lt__, __le__, __gt__, __ge__ = _binary("<"), _binary("<="), _binary(">"), _binary(">=")
    __eq__, __ne__ = _binary("=="), _binary("!=")  # type: ignore[assignment]

    def __neg__(self):
        return self._op("-", self)

    def __pos__(self):
        return self

    def __abs__(self):
        return self._op("abs", self)

    def __invert__(self):
        is_bool = (self._trace.type_of(self) or "").startswith("bool")
        return self._op("!" if is_bool else "~", self)

    def __pow__(self, power):
        # such powers become products, because pow() has no value for numbers below 0
        if isinstance(power, int) and not isinstance(power, bool) and 1 <= power <= 4:
            square = self if power == 1 else self * self
            return square if power <= 2 else square * self if power == 3 else square * square
        return NotImplemented if _is_foreign(power) else self._op("pow", self, power)

    def __rpow__(self, base):
        return NotImplemented if _is_foreign(base) else self._op("pow", base, self)

    def __getitem__(self, index):
        if isinstance(index, str):
            return getattr(self, index)
        if isinstance(index, (slice, tuple)):
            raise TypeError("fuse: '{}': expected one index of a vector, matrix or array, got {!r}: write v.xy for components".format(
                self._trace.name, index))
        if isinstance(index, int) and index < 0:
            index += self._length()
        return self._op("[]", self, index)

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        trace = self._trace
        if _current() is not trace:
            raise _leaked(self)
        struct = self._struct()
        if struct is not None and name not in struct.fields:
            method = getattr(struct, name)  # an unknown name raises an AttributeError with similar names
            return lambda *args, **kwargs: _traced_call(method, (self, *args), kwargs)
        kind = trace.graph.type(self._node)
        if struct is None and kind is not None and not any(all(c in set for c in name) for set in _COMPONENTS):
            raise AttributeError("fuse: '{}': a traced {} has no '{}'; functions are called as m.{}(value)".format(trace.name, kind, name, name))
        return trace.give(trace.record(trace.graph.member, self._node, name))

    def __setattr__(self, name, value):
        raise TypeError("fuse: '{}': a traced value does not change; make a new one: m.float3(v.x, v.y, 1), or m.Type(a=..., b=...)".format(
            self._trace.name))

    def __setitem__(self, index, value):
        self.__setattr__(None, value)

    def _struct(self):
        """Returns the Struct of a value that has fields, or None."""
        name = self._trace.graph.type(self._node)
        for module in self._trace.modules if name else ():
            struct = module.find_struct(name)
            if struct is not None:
                return struct if struct.fields else None
        return None

    def _length(self):
        kind = self._trace.graph.type(self._node) or ""
        if kind[-1:] in "1234" and "x" not in kind[-2:] and not kind.endswith("_t") and "<" not in kind:
            return int(kind[-1])
        if kind.startswith("Array<"):
            return int(kind.rpartition(",")[2].strip(" >"))
        return None

    def __iter__(self):
        n = self._length()
        if n is None:
            raise _refused(self, "the length", "write v.x, v.y, or give the parameter a type: fuse(f, types={'v': 'float3'})")
        return iter([self[i] for i in range(n)])

    def __bool__(self):
        raise _refused(self, "the truth value", "`if`, `and`, `or`, `not` and `while` cannot depend on it: write spy.where(condition, a, b), "
                       "`&`, `|`, `~`, and (a < b) & (b < c)")

    def __len__(self):
        raise _refused(self, "len()", "its type has a size, which the Slang function knows")

    def __float__(self):
        raise _refused(self, "float()", "write m.float(value), and m.sin(value) instead of math.sin(value)")

    def __int__(self):
        raise _refused(self, "int()", "write m.int(value)")

    def __index__(self):
        raise _refused(self, "__index__() (range, indices)", "write the loop in a Slang function")

    def __complex__(self):
        raise _refused(self, "complex()", "Slang has no complex numbers; use m.float2(re, im)")

    def __contains__(self, item):
        raise _refused(self, "`in`", "write (a == v.x) | (a == v.y)")

    def __round__(self, digits=None):
        raise _refused(self, "round()", "write m.round(value)")

    def __array_ufunc__(self, ufunc, method, *inputs, **kwargs):
        """Makes operators between numpy's numbers and traced values work, and refuses numpy's other functions."""
        op = _UFUNCS.get(ufunc.__name__) if method == "__call__" and not kwargs else None
        if op is None:
            raise _refused(self, "numpy's {}()".format(ufunc.__name__), "write m.{}(value)".format(ufunc.__name__))
        return self._op(op, *inputs)

    def __array__(self, *args, **kwargs):
        raise _refused(self, "a numpy array", "write a Slang function for what numpy would do")

    def __matmul__(self, other):
        raise _refused(self, "@", "write m.mul(a, b)")

    __rmatmul__ = __matmul__

    def __repr__(self):
        trace = object.__getattribute__(self, "_trace")
        return "<slangpy.Traced {} of '{}'>".format(trace.graph.type(self._node) if _current() is trace else "value", trace.name)


def where(condition: Any, a: Any, b: Any) -> Any:
    """where(condition, a, b): in a fused function gives `a` where the condition holds, otherwise `b`, component by component. Both are
    computed. It replaces Python's `a if condition else b`."""
    for value in (condition, a, b):
        if isinstance(value, Traced):
            return value._op("?", condition, a, b)
    if isinstance(condition, bool):
        return a if condition else b
    raise TypeError("where: expected a traced condition in a fused function, got {!r}".format(type(condition)))


def no_diff(value: Any) -> Any:
    """no_diff(value): in a fused function gives the same value without a gradient. If the value is the result of a call, the Slang
    function needs no derivative."""
    if not isinstance(value, Traced):
        raise TypeError("no_diff: expected a traced value in a fused function, got {!r}".format(type(value)))
    return value._op("no_diff", value)


# >>reductions

_REDUCTIONS = {"sum": 1, "mean": 2, "min": 3, "max": 4}


class _Reduced:
    """The end of a graph: a traced value that a call reduces over its elements."""

    def __init__(self, kind, value, dims):
        self.kind, self.value, self.dims = kind, value, dims

    def _refuse(self, *args):
        raise TypeError("fuse: {} is the end of a graph: return it, and go on with what the fused function returns".format(self))

    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = __rtruediv__ = __neg__ = __bool__ = __float__ = _refuse
    __len__ = __getitem__ = __lt__ = __gt__ = __le__ = __ge__ = __pow__ = _refuse

    def __repr__(self):
        return "slangpy.{}(...)".format(self.kind)


def _dims_of(kind, dims):
    if dims is None:
        return ()
    found = tuple(dims) if isinstance(dims, (tuple, list)) else (dims,)
    if not found or not all(isinstance(d, int) for d in found):
        raise TypeError("{}: argument 'dims': expected an int, a tuple of ints, or None for all dimensions, got {!r}".format(kind, dims))
    return found


_identities: dict[Any, Any] = {}


def _reduce(kind, value, dims):
    dims = _dims_of(kind, dims)
    if isinstance(value, Traced):
        return _Reduced(kind, value, dims)
    if isinstance(value, (_slangpy.Tensor, _slangpy.NDBuffer)):
        found = _identities.get((kind, dims))
        if found is None:
            found = _identities[(kind, dims)] = Fused(lambda x: _Reduced(kind, x, dims), name="reduce_" + kind)
        return found(value)
    raise TypeError("{}: expected a traced value in a fused function, or a Tensor, got {!r}".format(kind, type(value)))


def sum(value: Any, dims: int | tuple[int, ...] | None = None) -> Any:
    """sum(value, dims=None): as the result of a fused function gives the sum over all elements of the call, or over its dimensions
    `dims` (-1 is the last). The kernel that computes the elements adds them up. For a Tensor it gives the tensor's sum."""
    return _reduce("sum", value, dims)


def mean(value: Any, dims: int | tuple[int, ...] | None = None) -> Any:
    """mean(value, dims=None): gives the mean, which is sum() divided by the number of elements."""
    return _reduce("mean", value, dims)


def min(value: Any, dims: int | tuple[int, ...] | None = None) -> Any:
    """min(value, dims=None): gives the least value of each component, over the same elements as sum(). Every element with the least
    value gets the gradient."""
    return _reduce("min", value, dims)


def max(value: Any, dims: int | tuple[int, ...] | None = None) -> Any:
    """max(value, dims=None): gives the greatest value of each component, as min() gives the least."""
    return _reduce("max", value, dims)


def dot(a: Any, b: Any, dims: int | tuple[int, ...] | None = None) -> Any:
    """dot(a, b, dims=None): as the result of a fused function gives the sum of a * b over the elements; for vectors the sum of m.dot(a,
    b)."""
    traced = a if isinstance(a, Traced) else b
    if not isinstance(traced, Traced):
        raise TypeError("dot: expected traced values in a fused function, got {!r} and {!r}".format(type(a), type(b)))
    kind = traced._trace.type_of(traced) or ""
    vector = kind[-1:] in ("2", "3", "4") and "x" not in kind[-2:]
    return _reduce("sum", traced._op("dot", a, b) if vector else a * b, dims)


# >>types of parameters

_NUMPY = {"float32": "float", "float64": "double", "float16": "half", "int32": "int", "uint32": "uint", "int64": "int64_t", "uint64": "uint64_t",
          "int16": "int16_t", "uint16": "uint16_t", "int8": "int8_t", "uint8": "uint8_t", "bool": "bool", "bool_": "bool"}
_PYTHON = {bool: "bool", int: "int", float: "float"}


def _type_named(given):
    """Returns the Slang name of a type that is given as a str, a Struct or a class, or None."""
    if isinstance(given, str):
        return given
    if isinstance(given, _slangpy.Struct):
        return given.full_name
    if given in _PYTHON:
        return _PYTHON[given]
    if isinstance(given, type) and given.__module__ == "slangpy":
        return given.__name__
    return None


def _type_of_argument(value, name, parameter):
    """Returns the Slang type of one element of an argument."""
    primal = getattr(value, "primal", None)
    if primal is not None:
        value = primal
    if type(value) in _PYTHON:
        return _PYTHON[type(value)]
    if isinstance(value, (_slangpy.Tensor, _slangpy.NDBuffer)):
        return value.dtype.full_name
    if isinstance(value, dict) and "_type" in value:
        return _type_named(value["_type"])
    dtype = getattr(value, "dtype", None)
    if dtype is not None:
        found = _NUMPY.get(str(dtype).rpartition(".")[2])
        if found:
            return found
    if type(value).__module__ == "slangpy" and hasattr(_slangpy, type(value).__name__) and hasattr(value, "__len__"):
        return type(value).__name__
    raise TypeError("fuse: '{}': parameter '{}': no function that takes it says its type, nor does the argument, a {!r}: give it by "
                    "fuse(f, types={{'{}': 'float3'}}) or an annotation".format(name, parameter, type(value), parameter))


# >>fused functions

def _globals_of(fn):
    """Yields the values of the names in a function's code, as far as they are known at this time."""
    code = getattr(fn, "__code__", None)
    if code is None:
        return
    for name, cell in zip(code.co_freevars, fn.__closure__ or ()):
        try:
            yield cell.cell_contents
        except ValueError:
            pass
    for name in code.co_names:
        if name in fn.__globals__:
            yield fn.__globals__[name]


def _modules_of(fn, depth=0):
    """Returns the Modules that a function's code names, directly or by functions and types of them."""
    found = []
    for value in _globals_of(fn):
        if isinstance(value, _slangpy.Module):
            found.append(value)
        elif isinstance(value, (_slangpy.Function, _slangpy.Struct)):
            found.append(value.module)
        elif isinstance(value, Fused) and depth < 8:
            found += value._modules(depth + 1)
        elif isinstance(value, _python_types.FunctionType) and depth < 2 and value.__module__ == fn.__module__:
            found += _modules_of(value, depth + 1)
    return found


class _Core:
    """The Python function of a Fused, and the Slang functions that were made of it. All functions that are chained to one Fused share a
    _Core."""

    def __init__(self, fn, backward, types, name, module):
        self.fn, self.backward, self.module = fn, _BACKWARD[backward], module
        self.name = name or getattr(fn, "__name__", "fused")
        if not self.name.isidentifier() or not self.name.isascii() or self.name == "<lambda>":
            self.name = "fused"
        self.signature = inspect.signature(fn)
        self.types = dict(types or {})
        self.made = {}  # key: (Function, form of the result)
        self.ready = None  # (Function, form) for every call, if no type comes from arguments
        for parameter in self.signature.parameters.values():
            if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
                raise TypeError("fuse: '{}': expected parameters with names, got *{}".format(self.name, parameter.name))
        for parameter in self.types:
            if parameter not in self.signature.parameters:
                raise ValueError("fuse: '{}' has no parameter '{}'".format(self.name, parameter))

    def annotated(self, parameter):
        given = parameter.annotation
        if given is parameter.empty:
            return None
        if isinstance(given, str):
            try:
                # `from __future__ import annotations` has kept the annotation as text
                value = eval(given, getattr(self.fn, "__globals__", {}))
            except Exception:
                return given  # the text is the name of a Slang type
            return _type_named(value)
        return _type_named(given)

    def build(self, given, types, values):
        """Traces the function. `given` are the names of its inputs; `types` are their types, as far as they are known. `values` are
        arguments, by which the device is found. Returns (Function, form, names of inputs without a type)."""
        modules = ([self.module] if self.module is not None else []) + _modules_of(self.fn)
        told = [*self.types.values(), *(p.annotation for p in self.signature.parameters.values())]
        modules += [given.module for given in told if isinstance(given, _slangpy.Struct)]
        device = modules[0].device if modules else None
        for value in values:
            device = device or getattr(value, "device", None) if isinstance(value, (_slangpy.Tensor, _slangpy.NDBuffer)) else device
        if device is None:
            from .device import current_device

            device = current_device()
        trace = _Trace(device, self.name, [m for m in modules if m.device is device], self.backward)
        try:
            named = {}
            for name in given:
                node = trace.record(trace.graph.input, name, types.get(name))
                named[name] = trace.give(node)
            with _Recording(trace):
                result = self.fn(**named) if not self._positional() else self._apply(named)
                form = self.outputs(trace, result)
            unknown = [name for name, value in named.items() if trace.graph.type(value._node) is None]
            if unknown:
                return None, form, unknown
            trace.ended = True
            return trace.graph.end(), form, []
        except Exception as error:
            if trace.ended:
                raise
            unknown = [name for name, value in named.items() if trace.graph.type(value._node) is None]
            if not unknown:
                raise
            return None, error.with_traceback(None), unknown
        finally:
            trace.graph.cancel()

    def _positional(self):
        return any(p.kind is p.POSITIONAL_ONLY for p in self.signature.parameters.values())

    def _apply(self, named):
        args = [named.pop(p.name) for p in self.signature.parameters.values() if p.kind is p.POSITIONAL_ONLY and p.name in named]
        return self.fn(*args, **named)

    def outputs(self, trace, result):
        """Makes the outputs for the values that the function returned; returns their form, in which a call gives them."""
        if result is None:
            raise TypeError("fuse: '{}' returns nothing; expected a traced value, a tuple or dict of them, or a reduction".format(self.name))
        if isinstance(result, _Reduced):
            trace.record(trace.graph.output, "_result", trace.lower(result.value), _REDUCTIONS[result.kind], result.dims)
            return _Form(None, [])
        if isinstance(result, dict) and "_type" not in result:
            pairs, form = list(result.items()), _Form(dict, list(result))
        elif isinstance(result, tuple) and hasattr(result, "_fields"):
            pairs, form = list(zip(result._fields, result)), _Form(type(result), list(result._fields))
        elif isinstance(result, (tuple, list)) and any(isinstance(item, Traced) for item in result):
            names = ["out{}".format(i) for i in range(len(result))]
            pairs, form = list(zip(names, result)), _Form(type(result), names)
        else:
            pairs, form = [("_result", result)], _Form(None, [])
        if not pairs:
            raise TypeError("fuse: '{}' returns nothing; expected a traced value, a tuple or dict of them, or a reduction".format(self.name))
        for name, value in pairs:
            if isinstance(value, _Reduced):
                raise TypeError("fuse: '{}': {} is the end of a graph: expected it as the only result".format(self.name, value))
            trace.record(trace.graph.output, name, trace.lower(value))
        return form

    def function(self, args, kwargs, links):
        """Returns the Function for a call with these arguments, and the form of its result."""
        if self.ready is not None:
            return self.ready
        parameters = list(self.signature.parameters.values())
        given = {p.name: value for p, value in zip(parameters, args)}
        given.update({name: value for name, value in kwargs.items() if name in self.signature.parameters})
        missing = [p.name for p in parameters if p.name not in given and p.default is p.empty]
        complete = not missing
        names = [p.name for p in parameters if p.name in given or p.default is p.empty]
        known = {p.name: _type_named(self.types[p.name]) if p.name in self.types else self.annotated(p) for p in parameters if p.name in names}
        told = False  # whether a chained map() says a type
        for method, chained, named in links:
            if method not in ("map", "declare"):
                continue
            for p, value in [*zip(parameters, chained), *((self.signature.parameters.get(n), v) for n, v in named.items())]:
                if p is not None and p.name in known and known[p.name] is None and isinstance(value, (str, _slangpy.Struct)):
                    known[p.name], told = _type_named(value), True
        device = next((v.device for v in given.values() if isinstance(v, (_slangpy.Tensor, _slangpy.NDBuffer))), None)
        key = (device, *known.items())
        found = self.made.get(key)
        if found is None:
            function, form, unknown = self.build(names, known, list(given.values()))
            found = self.made[key] = (function, form, unknown)
        function, form, unknown = found
        if not unknown:
            if len(names) == len(parameters) and not told and (self.module is not None or _modules_of(self.fn)) and all(p.default is p.empty for p in parameters):
                self.ready = (function, form)
            return function, form
        # Inputs whose types no called function determines take the types of their arguments.
        lacking = [name for name in unknown if name not in given]
        if lacking and not complete and isinstance(form, Exception):
            raise form
        if lacking:
            raise TypeError("fuse: '{}': parameter '{}': no function that takes it says its type: give it by fuse(f, types={{'{}': 'float3'}}), "
                            "an annotation, or by calling the function".format(self.name, lacking[0], lacking[0]))
        known = dict(known, **{name: _type_of_argument(given[name], self.name, name) for name in unknown})
        key = (device, *known.items())
        if key not in self.made:
            function, form, unknown = self.build(names, known, list(given.values()))
            if isinstance(form, Exception):
                raise form
            self.made[key] = (function, form, unknown)
        return self.made[key][:2]


class _Form:
    """The form in which a call gives several outputs: `kind` is tuple, list, dict or a named tuple's class; None means that there is one
    output, the result."""

    def __init__(self, kind, names):
        self.kind, self.names = kind, names

    def give(self, values):
        if self.kind is dict:
            return dict(zip(self.names, values))
        return self.kind(*values) if hasattr(self.kind, "_fields") else self.kind(values)


class Fused:
    """A Python function that has become a Slang function: see fuse(). It is called, mapped, chained and differentiated as a Function is;
    `function` is that Function. The Python function runs when a call first needs it, and again for arguments of other types if the
    called Slang functions do not determine these types."""

    def __init__(
            self, fn: Callable[..., Any], backward: str | None = None, types: Mapping[str, Any] | None = None, name: str | None = None,
            module: Module | None = None) -> None:
        if not callable(fn) or isinstance(fn, (_slangpy.Function, _slangpy.Struct, Fused)):
            raise TypeError("fuse: expected a Python function, got {!r}".format(type(fn)))
        if backward not in _BACKWARD:
            raise ValueError("fuse: argument 'backward': expected 'recompute', 'store' or None, got {!r}".format(backward))
        self._core = _Core(fn, backward, types, name, module)
        self._links: tuple[Any, ...] = ()
        self._chained: dict[int, Any] = {}
        self.__name__, self.__doc__, self.__wrapped__ = self._core.name, fn.__doc__, fn

    def _modules(self, depth=0):
        own = [self._core.module] if self._core.module is not None else []
        return own + _modules_of(self._core.fn, depth)

    def _link(self, method, args=(), kwargs=None):
        made = object.__new__(Fused)
        made.__dict__.update(self.__dict__)
        made._links = (*self._links, (method, args, kwargs or {}))
        made._chained = {}
        return made

    def _resolved(self, args, kwargs):
        function, form = self._core.function(args, kwargs, self._links)
        chained = self._chained.get(id(function))
        if chained is None:
            chained = function
            for method, given, named in self._links:
                member = getattr(chained, method)
                chained = member if method in ("bwds", "fwds") else member(*given, **named)
            self._chained[id(function)] = chained
        return chained, form

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        trace = _current()
        if trace is not None:  # another fused function is being traced and calls this one, whose steps become steps of that trace
            if self._links:
                raise TypeError("fuse: '{}': '{}' has chained options: chain them to the fused function".format(trace.name, self.__name__))
            return self._core.fn(*args, **kwargs)
        function, form = self._resolved(args, kwargs)
        if form.kind is None:
            return function(*args, **kwargs)
        return self._several(function, form, args, kwargs)

    def _several(self, function, form, args, kwargs):
        """Makes a call with several outputs. Outputs that are not given become new tensors, or values for a call of one element."""
        if any(method == "bwds" for method, _, _ in self._links):
            return function(*args, **kwargs)
        made = {name: _slangpy.ValueRef() for name in form.names if name not in kwargs and name != "_result"}
        result = function(*args, **kwargs, **made)
        return form.give([made[n].value if n in made else result if n == "_result" else kwargs[n] for n in form.names])

    @property
    def function(self) -> Function:
        """The Function that the Python function has become. Raises a TypeError if only the arguments of a call say the types of its
        parameters."""
        return self._resolved((), {})[0]

    @property
    def text(self) -> str:
        """The Slang text of the fused function."""
        found: str = _slangpy._fused_text(self.function)
        return found

    @property
    def bwds(self) -> Fused:
        """The backward derivative: see Function.bwds."""
        return self._link("bwds")

    @property
    def fwds(self) -> Fused:
        """The forward derivative: see Function.fwds."""
        return self._link("fwds")

    def call(self, *args: Any, **kwargs: Any) -> Any:
        """call(*args, **kwargs): calls the function."""
        return self(*args, **kwargs)

    def __getattr__(self, name):
        if name.startswith("_"):
            raise AttributeError(name)
        member = getattr(_slangpy.Function, name, None)
        if member is None:
            return getattr(self.function, name)  # an unknown name raises an AttributeError with similar names
        if not callable(member):
            return getattr(self.function, name)
        if name in _CHAINS:
            return lambda *args, **kwargs: self._link(name, args, kwargs)
        first = _FIRST.get(name, 0)

        def use(*args, **kwargs):
            return getattr(self._resolved(args[first:], kwargs)[0], name)(*args, **kwargs)

        return use

    def __repr__(self):
        return "<slangpy.Fused {}{}>".format(self.__name__, "".join("." + link[0] for link in self._links))


# Methods of a Function that give a Function, and methods whose first arguments are not the function's.
_CHAINS = {"map", "set", "constants", "bind", "return_type", "thread_group_size", "call_group_shape", "prelude", "type_conformances",
           "deterministic", "cuda_stream", "write", "declare", "shared_bytes"}
_FIRST = {"append_to": 1, "dispatch": 1, "dispatch_indirect": 1}


def fuse(
        fn: Callable[..., Any] | None = None, *, backward: str | None = None, types: Mapping[str, str | Struct | type] | None = None,
        name: str | None = None, module: Module | None = None) -> Any:
    """fuse(fn, backward=None, types=None, name=None, module=None): makes a Fused of a Python function over Slang functions: one Slang
    function and one kernel, which is called as a Function is. Also a decorator: @spy.fuse, @spy.fuse(types={"uv": "float2"}). `types`:
    Slang types of parameters by name; annotations are another way. Other parameters take the types of the Slang functions that they are
    passed to, or of the arguments of the first call. `backward`: "recompute" computes the values between the steps again in a backward
    call, "store" keeps them in the thread; None means that the compiler chooses. `name` is the Slang function's name. `module`: where
    types and Slang's own functions are looked up; modules that the function names are found without it."""
    if fn is None:
        return lambda found: Fused(found, backward, types, name, module)
    return Fused(fn, backward, types, name, module)

"""Classes of users as arguments of calls: Marshall, the objects that its methods get, and calls with such arguments.

A Marshall says how values of a Python class become values of a Slang type W, and how a kernel gets the parameter's value from one of W:
W has a method `void __slangpy_load(ContextND<N> context, out T value)`, for parameters that are written also `void
__slangpy_store(ContextND<N> context, T value)`. N is the number of dimensions that resolve_dimensionality() gives.

The C library does not know such types. A call with one goes through a Slang function that this module generates. The function takes W in
place of the parameter's type, and the element's position in the call as further arguments; it calls W's methods and then the user's
function. It is compiled once for each combination of types, together with the code of the function's module."""
from __future__ import annotations

import os
from enum import IntEnum

from . import _slangpy
from ._slangpy import PYTHON_TYPES, Shape, ValueRef
from .helpers import matching_overload

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from ._slangpy import Function
    from .device import Device

ENABLE_CALLDATA_CACHE = True  # calls are always cached; setting it has no effect
TCallHook = TTypeLookup = "Callable[..., Any]"

# Python class -> function(value) that gives a text, or None. Calls are told apart here by the types of their arguments, so these texts only
# serve get_value_signature().
PYTHON_SIGNATURES: dict[type, Callable[[Any], str] | None] = {}


class AccessType(IntEnum):
    """What a kernel does with an argument."""

    none = 0
    read = 1
    write = 2
    readwrite = 3


class AutogradAccess(IntEnum):
    """What a call of torch's autograd does with a tensor."""

    none = 0
    read = 1
    write = 2
    readwrite = 3


class CallMode(IntEnum):
    """Which function a call runs: the function itself, its backward or its forward derivative."""

    prim = 0
    bwds = 1
    fwds = 2


class PrimType(IntEnum):
    """The two values of a DiffPair."""

    primal = 0
    derivative = 1


class IOType(IntEnum):
    """The direction of a parameter."""

    none = 0
    inn = 1
    out = 2
    inout = 3


class PipelineType(IntEnum):
    """The pipeline that a function runs in."""

    compute = 0
    ray_tracing = 1


class IThis:
    """The interface of objects that may be `this`: get_this() and update_this(value)."""

    def get_this(self) -> Any:
        """get_this(): returns the value that calls get in place of the object."""
        raise NotImplementedError

    def update_this(self, value: Any) -> None:
        """update_this(value): gets the value after a call that may have changed it."""


class FunctionBuildInfo:
    """The settings that a chain of a function adds to its calls, as attributes."""


# ---- signatures ----


class SignatureBuilder:
    """SignatureBuilder(): collects texts."""

    def __init__(self) -> None:
        self._parts: list[str] = []

    def add(self, value: str) -> None:
        """add(value): appends a text."""
        self._parts.append(value)

    @property
    def str(self) -> str:
        """All texts, one after the other, as str."""
        return "".join(self._parts)

    @property
    def bytes(self) -> bytes:
        """All texts, one after the other, in UTF-8."""
        return self.str.encode()


class NativeObject:
    """NativeObject(): base class of classes whose instances are arguments and say by `slangpy_signature` how calls tell them apart."""

    slangpy_signature = ""

    def read_signature(self, builder: SignatureBuilder) -> None:
        """read_signature(builder): adds the object's signature."""
        builder.add(type(self).__name__ + "\n" + self.slangpy_signature)


def lookup_signature_callback(python_type: type) -> tuple[bool, Callable[[Any], str] | None]:
    """Returns whether PYTHON_SIGNATURES has a class or one of its bases, and the function there."""
    for base in python_type.__mro__:
        if base in PYTHON_SIGNATURES:
            return True, PYTHON_SIGNATURES[base]
    return False, None


def get_value_signature(o: object) -> str:
    """Returns a text that is the same for values that a call treats alike: the class's name and its signature."""
    builder = SignatureBuilder()
    known, function = lookup_signature_callback(type(o))
    if hasattr(o, "read_signature"):
        o.read_signature(builder)
    else:
        builder.add(type(o).__name__ + "\n")
        if known:
            builder.add(function(o) if function else "")
        elif isinstance(o, dict):
            for name, value in o.items():
                builder.add("{}:{}\n".format(name, value if name == "_type" else get_value_signature(value)))
        elif isinstance(o, (list, tuple)):
            builder.add("{},{}".format(len(o), get_value_signature(o[0]) if o else ""))
        else:
            builder.add(str(getattr(o, "slangpy_signature", "")))
    return builder.str


def get_texture_shape(texture: Any, mip: int = 0) -> Any:
    """get_texture_shape(texture, mip=0): returns the sizes over which a call with the texture runs, as a Shape."""
    from . import resources

    return resources.get_texture_shape(texture, mip)


class NativeCallDataCache:
    """NativeCallDataCache(): signatures of values and arguments, and a table of call data by signature. The calls themselves are
    cached by the C library."""

    def __init__(self) -> None:
        self._table: dict[str, Any] = {}

    def get_value_signature(self, builder: SignatureBuilder, o: object) -> None:
        """get_value_signature(builder, o): adds a value's signature to the text of a SignatureBuilder."""
        builder.add(get_value_signature(o))

    def get_args_signature(self, builder: SignatureBuilder, *args: object, **kwargs: object) -> None:
        """get_args_signature(builder, *args, **kwargs): adds the signature of a call's arguments."""
        builder.add("args\n" + "".join("N:" + get_value_signature(a) for a in args))
        builder.add("kwargs\n" + "".join(name + ":" + get_value_signature(a) for name, a in kwargs.items()))

    def find_call_data(self, signature: str) -> Any:
        """find_call_data(signature): returns what add_call_data() put there, or None."""
        return self._table.get(signature)

    def add_call_data(self, signature: str, call_data: Any) -> None:
        """add_call_data(signature, call_data): puts call data into the table."""
        self._table[signature] = call_data

    def lookup_value_signature(self, o: object) -> str | None:
        """lookup_value_signature(o): the text that a subclass gives for a value, else None."""
        return None


class CallDataCache(NativeCallDataCache):
    """CallDataCache(): looks up signatures of values."""

    def lookup_value_signature(self, o: object) -> str | None:
        """lookup_value_signature(o): returns the text that PYTHON_SIGNATURES gives for a value, or None."""
        known, function = lookup_signature_callback(type(o))
        return (function(o) if function else "") if known else None


def unpack_arg(arg: object) -> object:
    """Returns the value that get_this() gives, also in dicts and lists, and repeats this until nothing has get_this()."""
    while hasattr(arg, "get_this") and not isinstance(arg, type):
        inner = arg.get_this()
        if inner is arg:
            raise RuntimeError("{}.get_this() gives the object itself".format(type(arg).__name__))
        arg = inner
    if type(arg) is dict:
        return {name: unpack_arg(value) for name, value in arg.items()}
    return [unpack_arg(value) for value in arg] if type(arg) is list else arg


def _needs_unpack(arg: object) -> bool:
    parts = arg.values() if type(arg) is dict else arg if type(arg) is list else ()
    return (hasattr(arg, "get_this") and not isinstance(arg, type)) or any(map(_needs_unpack, parts))


def unpack_args(*args: object) -> tuple[list[object], bool]:
    """unpack_args(*args): returns a list with unpack_arg() of each argument, and whether one of them has get_this()."""
    return [unpack_arg(arg) for arg in args], _needs_unpack(list(args))


def unpack_kwargs(**kwargs: object) -> tuple[dict[str, object], bool]:
    """unpack_kwargs(**kwargs): returns a dict with unpack_arg() of each keyword's value, and whether one of them has get_this()."""
    return {name: unpack_arg(arg) for name, arg in kwargs.items()}, _needs_unpack(kwargs)


def pack_arg(arg: object, unpacked_arg: object) -> None:
    """Passes the value after a call to the update_this() of the object that unpack_arg() got."""
    if hasattr(arg, "update_this"):
        arg.update_this(unpacked_arg)
    elif type(arg) is dict and type(unpacked_arg) is dict:
        for name, value in arg.items():
            pack_arg(value, unpacked_arg.get(name))


# ---- what a Marshall's methods get ----


class BindContext:
    """BindContext(layout, call_mode, device_module, options): the values that are known while a call is built: the module's layout, the
    mode, the module and its options."""

    def __init__(self, layout: Any, call_mode: CallMode, device_module: Any, options: dict[str, Any]) -> None:
        self.layout, self.call_mode, self.device_module, self.options = layout, call_mode, device_module, options
        self.call_dimensionality = 0

    @property
    def device(self) -> Device:
        """The device of the module."""
        return self.device_module.device


class ReturnContext:
    """ReturnContext(slang_type, bind_context): the value that PYTHON_TYPES[cls] gets if cls is asked for as a result."""

    def __init__(self, slang_type: Any, bind_context: BindContext) -> None:
        self.slang_type, self.bind_context = slang_type, bind_context


class CallContext:
    """CallContext(device, call_mode): the values that are known while a call runs. `call_shape` is not known before the call; it is
    empty."""

    def __init__(self, device: Device, call_mode: CallMode = CallMode.prim) -> None:
        self.device, self.call_mode, self.call_shape = device, call_mode, Shape()


class BoundVariable:
    """BoundVariable(context, value, parent, name, python_pos_arg_index=-1): one argument and the parameter that it feeds.

    `variable_name` is its name in the kernel, `access` a pair of AccessTypes (of the value and of its gradient), `slang_type` the
    parameter's type, `vector_type` the type that is loaded for one element, `python` its Marshall.
    """

    io_type = IOType.inn
    no_diff = True

    def __init__(self, context: BindContext, value: Any, parent: BoundVariable | None, name: str, python_pos_arg_index: int = -1) -> None:
        self.context, self.value, self.parent, self.name = context, value, parent, name
        self.python_pos_arg_index, self.param_index = python_pos_arg_index, python_pos_arg_index
        self.variable_name = name
        self.access = (AccessType.read, AccessType.none)
        self.python: Any = None
        self.slang_type: Any = None
        self.vector_type: Any = None
        self.vector_mapping = Shape()
        self.call_dimensionality = 0
        self.explicitly_vectorized = False
        self.direct_bind = False
        self.create_param_block = False
        self.children: dict[str, BoundVariable] | None = None
        self.calldata_type_name: str | None = None

    @property
    def debug_name(self) -> str:
        """The variable's name with the names of its parents."""
        return "{}.{}".format(self.parent.debug_name, self.name) if self.parent else self.name

    def gen_calldata_type_name(self, cgb: CodeGenBlock, type_name: str) -> None:
        """gen_calldata_type_name(cgb, type_name): sets the Slang type of the argument's data in the kernel."""
        cgb.type_alias("_t_" + self.variable_name, type_name)
        self.calldata_type_name = type_name

    def gen_call_data_code(self, cg: Any, context: BindContext, depth: int = 0) -> None:
        """gen_call_data_code(cg, context, depth=0): has the Marshall write its code into a block."""
        self.python.gen_calldata(cg, context, self)

    def bind(self, slang: Any, modifiers: Any = frozenset(), override_name: str | None = None) -> None:
        """bind(slang, modifiers=set(), override_name=None): sets the parameter, field or type that the variable feeds."""
        self.slang_type = getattr(slang, "type", slang)
        self.variable_name = override_name or getattr(slang, "name", "") or self.variable_name

    def apply_explicit_vectorization(self, context: BindContext, mapping: Any) -> None:
        """apply_explicit_vectorization(context, mapping): applies an entry of map(): a tuple of the call's dimensions, or a type."""
        self.explicitly_vectorized = True
        if isinstance(mapping, (tuple, list, Shape)):
            self.vector_mapping = Shape(tuple(mapping))
        else:
            self.vector_type = mapping

    def apply_implicit_vectorization(self, context: BindContext) -> None:
        """apply_implicit_vectorization(context): asks the Marshall for the type of an element, unless map() has set it."""
        if self.vector_type is None:
            self.vector_type = self.python.resolve_type(context, self.slang_type) if self.python else self.slang_type
        if self.python:
            self.call_dimensionality = self.python.resolve_dimensionality(context, self, self.vector_type)

    def finalize_mappings(self, context: BindContext) -> None:
        """finalize_mappings(context): aligns the argument's dimensions with the last ones of the call, unless map() has set them."""
        if not self.explicitly_vectorized:
            first = context.call_dimensionality - self.call_dimensionality
            self.vector_mapping = Shape(tuple(range(max(first, 0), max(first, 0) + self.call_dimensionality)))

    def calculate_differentiability(self, context: BindContext) -> None:
        """calculate_differentiability(context): sets nothing, because values with a Marshall have no gradients."""
        self.access = (self.access[0], AccessType.none)

    def calculate_direct_bind(self) -> None:
        """calculate_direct_bind(): sets nothing, because no value with a Marshall is passed as it is."""
        self.direct_bind = False

    def get_input_list(self, args: list[BoundVariable]) -> None:
        """get_input_list(args): appends the variables without fields to a list."""
        if not self.children:
            args.append(self)
        for child in (self.children or {}).values():
            child.get_input_list(args)

    def __repr__(self):
        return "BoundVariable({})".format(self.debug_name)


class BoundVariableRuntime(BoundVariable):
    """Another name of BoundVariable, for the methods that a call runs each time; here these get the same object as the methods that
    build the call."""


# The extension has these classes, because its own errors about arguments derive from them.
BoundVariableException = _slangpy.BoundVariableException
ResolveException = _slangpy.ResolveException


def _bound_variable_exception(self, message, variable=None):
    Exception.__init__(self, message)
    self.message, self.variable = message, variable


BoundVariableException.__init__ = _bound_variable_exception  # type: ignore[method-assign]


class BoundCall:
    """BoundCall(context, *args, **kwargs): the arguments of a call as BoundVariables: the list `args` and the dict `kwargs`."""

    def __init__(self, context: BindContext, *args: Any, **kwargs: Any) -> None:
        self.args = [BoundVariable(context, value, None, "arg{}".format(i), i) for i, value in enumerate(args)]
        self.kwargs = {name: BoundVariable(context, value, None, name) for name, value in kwargs.items()}

    differentiable = False
    has_implicit_args = False
    has_implicit_mappings = False

    def bind(self, slang: Any) -> None:
        """bind(slang): sets the parameter of a function's reflection for each variable."""
        for variable, parameter in zip(self.args, slang.parameters):
            variable.bind(parameter)
        named = {p.name: p for p in slang.parameters}
        for name, variable in self.kwargs.items():
            if name not in named:
                raise BoundVariableException("no parameter named '{}'".format(name), variable)
            variable.bind(named[name])

    def apply_explicit_vectorization(self, context: BindContext, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """apply_explicit_vectorization(context, args, kwargs): applies the entries of map()."""
        for variable, mapping in zip(self.args, args):
            variable.apply_explicit_vectorization(context, mapping)
        for name, mapping in kwargs.items():
            self.kwargs[name].apply_explicit_vectorization(context, mapping)

    def apply_implicit_vectorization(self, context: BindContext) -> None:
        """apply_implicit_vectorization(context): determines the types of elements and the call's number of dimensions."""
        for variable in self.values():
            variable.apply_implicit_vectorization(context)
        context.call_dimensionality = max((v.call_dimensionality for v in self.values()), default=0)

    def finalize_mappings(self, context: BindContext) -> None:
        """finalize_mappings(context): aligns the dimensions of all variables."""
        for variable in self.values():
            variable.finalize_mappings(context)

    def values(self) -> list[BoundVariable]:
        """values(): returns all variables in one list."""
        return self.args + list(self.kwargs.values())

    @property
    def num_function_args(self) -> int:
        """The number of positional arguments."""
        return len(self.args)

    @property
    def num_function_kwargs(self) -> int:
        """The number of keyword arguments."""
        return len(self.kwargs)


BoundCallRuntime = BoundCall


def can_direct_bind_common(binding: BoundVariable) -> bool:
    """Returns whether a variable's value could be passed as it is, which holds here only for an argument without a Marshall."""
    return False


class CodeGenBlock:
    """CodeGenBlock(parent=None): collects lines of Slang code. append_line() and similar methods write lines; type_alias() and
    add_import() note what the module needs."""

    def __init__(self, parent: Any = None) -> None:
        self.parent = parent
        self.imports: list[str] = []
        self.aliases: dict[str, str] = {}
        self.lines: list[str] = []
        self._indent = 0

    def add_import(self, import_name: str) -> None:
        """add_import(name): makes the generated module import another one."""
        if import_name not in self.imports:
            self.imports.append(import_name)

    def type_alias(self, alias_name: str, type_name: str) -> None:
        """type_alias(alias, type_name): declares another name for a type."""
        self.aliases[alias_name] = type_name

    def append_line(self, line: str) -> None:
        """append_line(line): adds a line of code."""
        self.lines.append("    " * self._indent + line)

    def append_statement(self, line: str) -> None:
        """append_statement(line): adds a line with a semicolon."""
        self.append_line(line + ";")

    def append_code(self, code: str) -> None:
        """append_code(code): adds text as it is."""
        self.lines.extend(code.split("\n"))

    append_code_indented = append_code

    def empty_line(self) -> None:
        """empty_line(): adds an empty line."""
        self.lines.append("")

    def declare(self, type_name: str, var_name: str) -> None:
        """declare(type, name): declares a variable."""
        self.append_statement("{} {}".format(type_name, var_name))

    def assign(self, l_value: str, r_value: str) -> None:
        """assign(left, right): adds an assignment."""
        self.append_statement("{} = {}".format(l_value, r_value))

    def declarevar(self, type_name: str, var_name: str, value: str) -> None:
        """declarevar(type, name, value): declares a variable with a value."""
        self.append_statement("{} {} = {}".format(type_name, var_name, value))

    def begin_block(self, suffix: str = "") -> None:
        """begin_block(): opens braces."""
        self.append_line("{")
        self._indent += 1

    def end_block(self, suffix: str = "") -> None:
        """end_block(): closes braces."""
        self._indent -= 1
        self.append_line("}" + suffix)

    def begin_struct(self, struct_name: str) -> None:
        """begin_struct(name): opens a struct."""
        self.append_line("struct " + struct_name)
        self.begin_block()

    def end_struct(self) -> None:
        """end_struct(): closes a struct."""
        self.end_block()

    def finish(self) -> str:
        """finish(): returns all lines as text."""
        return "\n".join(self.lines) + ("\n" if self.lines else "")


class CodeGen(CodeGenBlock):
    """CodeGen(): the code of a whole module. Here its parts are one block."""

    @property
    def call_data_structs(self) -> CodeGenBlock:
        """The block for structs."""
        return self


# ---- Marshall ----


class Marshall:
    """Marshall(layout): base class of objects that say how values of a Python class are passed to kernels. Derive from it and override
    what differs. gen_calldata() says, by binding.gen_calldata_type_name() or cgb.type_alias(), which Slang type W holds the data.
    create_calldata() gives W's value for an argument, such as a dict of its fields; read_calldata() gets it again after a call that has
    written into its buffers. `slang_type` is the type of a value, `concrete_shape` its shape, if it has one."""

    def __init__(self, layout: Any) -> None:
        self.layout = layout
        self.slang_type: Any = None
        self.concrete_shape = Shape(None)
        self.match_call_shape = False

    has_derivative = False
    is_writable = False

    def __repr__(self):
        return "{}({})".format(type(self).__name__, _type_name(self.slang_type) if self.slang_type is not None else "")

    def get_shape(self, value: Any = None) -> Shape:
        """get_shape(value): returns the shape of a value; its first dimensions are part of the call's shape. -1 means any size."""
        return self.concrete_shape

    def gen_calldata(self, cgb: CodeGenBlock, context: BindContext, binding: BoundVariable) -> None:
        """gen_calldata(cgb, context, binding): says which Slang type holds the data; the value's own type, if not overridden."""
        binding.gen_calldata_type_name(cgb, _type_name(self.slang_type))

    def gen_trampoline_load(self, cgb: CodeGenBlock, binding: BoundVariable, data_name: str, value_name: str) -> bool:
        """gen_trampoline_load(cgb, binding, data_name, value_name): may write the statements that load the value from the data, and
        return True. Otherwise W's __slangpy_load() is called."""
        return False

    def gen_trampoline_store(self, cgb: CodeGenBlock, binding: BoundVariable, data_name: str, value_name: str) -> bool:
        """gen_trampoline_store(cgb, binding, data_name, value_name): may write the statements that store the value to the data, and
        return True. Otherwise W's __slangpy_store() is called."""
        return False

    def can_direct_bind(self, binding: BoundVariable) -> bool:
        """can_direct_bind(binding): returns whether the value could be passed as it is."""
        return False

    def reduce_type(self, context: BindContext, dimensions: int) -> Any:
        """reduce_type(context, dimensions): returns the type of an element after that many dimensions."""
        at = self.slang_type
        for _ in range(dimensions):
            at = at.element_type
        return at

    def resolve_type(self, context: BindContext, bound_type: Any) -> Any:
        """resolve_type(context, bound_type): returns the type that one element of the call gets; the parameter's, if not overridden."""
        return bound_type

    def resolve_types(self, context: BindContext, bound_type: Any) -> list[Any]:
        """resolve_types(context, bound_type): returns all possible types, best first."""
        found = self.resolve_type(context, bound_type)
        return [] if found is None else [found]

    def resolve_dimensionality(self, context: BindContext, binding: BoundVariable, vector_target_type: Any) -> int:
        """resolve_dimensionality(context, binding, vector_target_type): returns how many dimensions the argument adds to the call."""
        shape = self.concrete_shape
        return max(len(shape) - _rank(vector_target_type), 0) if shape.valid else 0

    def build_shader_object(self, context: BindContext, data: Any) -> Any:
        """build_shader_object(context, data): returns None; packed arguments are made of plain values only."""
        return None

    def create_calldata(self, context: CallContext, binding: Any, data: Any) -> Any:
        """create_calldata(context, binding, data): returns the data's value, such as a dict of fields; the argument itself, if not
        overridden."""
        return data

    def read_calldata(self, context: CallContext, binding: Any, data: Any, result: Any) -> None:
        """read_calldata(context, binding, data, result): gets the argument and the data of create_calldata(), such as its buffers, after
        a call that may have written them."""

    def create_output(self, context: CallContext, binding: Any) -> Any:
        """create_output(context, binding): returns the object that a call's result goes to."""
        raise NotImplementedError("{} has no create_output()".format(type(self).__name__))

    def read_output(self, context: CallContext, binding: Any, data: Any) -> Any:
        """read_output(context, binding, data): returns the result from the object that create_output() made."""
        return data


NativeMarshall = Marshall


class ValueMarshall(Marshall):
    """ValueMarshall(layout): a Marshall whose create_calldata() gives {"value": v}, and v is passed as a plain value."""

    def create_calldata(self, context: CallContext, binding: Any, data: Any) -> Any:
        """create_calldata(context, binding, data): returns {"value": data}."""
        return {"value": data}

    def create_output(self, context: CallContext, binding: Any) -> Any:
        """create_output(context, binding): returns a ValueRef."""
        return ValueRef(None)

    def read_output(self, context: CallContext, binding: Any, data: Any) -> Any:
        """read_output(context, binding, data): returns the ValueRef's value."""
        return data.value


class ValueRefMarshall(ValueMarshall):
    """ValueRefMarshall(layout, slang_type): a Marshall for results: read_output() may make an object of the value."""

    is_writable = True

    def __init__(self, layout: Any, slang_type: Any = None) -> None:
        super().__init__(layout)
        self.slang_type = slang_type

    def create_calldata(self, context: CallContext, binding: Any, data: Any) -> Any:
        """create_calldata(context, binding, data): returns {"value": data.value}."""
        return {"value": data.value if isinstance(data, ValueRef) else data}

    def read_calldata(self, context: CallContext, binding: Any, data: Any, result: Any) -> None:
        """read_calldata(context, binding, data, result): writes data.value."""
        data.value = result["value"] if isinstance(result, dict) and "value" in result else result


def _type_name(type: Any) -> str:
    return type if isinstance(type, str) else str(getattr(type, "full_name", None) or type.name)


def _rank(type: Any) -> int:
    """Returns the number of dimensions of a vector, matrix or array."""
    if type is None or isinstance(type, str):
        return 0
    dims = getattr(type, "num_dims", None)
    if dims is not None:
        return int(dims)
    kind = int(type.kind)
    return 2 if kind == 3 else 1 if kind == 4 else 1 + _rank(type.element_type) if kind == 2 else 0


# ---- the registry ----


def lookup_type_callback(python_type: type) -> Callable[..., Any] | None:
    """Returns the entry of PYTHON_TYPES for a class or one of its bases, or None."""
    for base in python_type.__mro__:
        if base in PYTHON_TYPES:
            return PYTHON_TYPES[base]  # type: ignore[no-any-return]
    return None


def _takes_layout(function: Any) -> bool:
    """Returns whether a registered function is called with the layout and the value, as in SlangPy, and not with the value alone."""
    own = 0
    if isinstance(function, type):
        function, own = function.__init__, 1  # type: ignore[misc]
    elif hasattr(function, "__func__"):
        own = 1
    code = getattr(function, "__code__", None)
    return code is not None and code.co_argcount - own - len(getattr(function, "__defaults__", None) or ()) == 2


def get_or_create_type(layout: Any, python_type: Any, value: Any = None) -> Any:
    """Returns the Marshall for values of a class, which PYTHON_TYPES makes of the layout and the value. Numbers, vectors and matrices
    need no entry. Raises a ValueError for other classes without one."""
    from .reflection.lookup import resolve_element_type

    function = lookup_type_callback(python_type) if isinstance(python_type, type) else None
    if function is None:
        try:
            slang_type = resolve_element_type(layout, python_type)
        except (TypeError, ValueError):
            raise ValueError("PYTHON_TYPES has no entry for {!r}".format(python_type)) from None
        marshall = ValueMarshall(layout)
        marshall.slang_type = slang_type
        return marshall
    return function(layout, value) if _takes_layout(function) else function(value)


def resolve_vector_generator_type(
        context: BindContext, bound_type: Any, fixed_dims: int, scalar_type: Any, max_dims: int = -1, support_scalar: bool = True,
        support_vector: bool = True, support_array: bool = False) -> Any:
    """Returns the type that a generator of `scalar_type` gives to a parameter: the parameter's own scalar, vector or array type, if it
    has `fixed_dims` components (-1 means any number) and at most `max_dims`. Raises a ValueError for other types."""
    kind = int(bound_type.kind)
    count = {5: 1, 4: getattr(bound_type, "col_count", 0), 2: getattr(bound_type, "element_count", 0)}.get(kind, 0)
    allowed = {5: support_scalar, 4: support_vector, 2: support_array}.get(kind, False)
    if not allowed or (fixed_dims > 0 and count != fixed_dims) or 0 < max_dims < count:
        raise ValueError("a generator of {} components does not feed {}".format(fixed_dims, _type_name(bound_type)))
    return bound_type


# ---- calls ----


class _Argument:
    """One parameter of the generated function that takes data of a Marshall."""

    def __init__(self, index: int, parameter: Any, value: Any, owner: Any, marshall: Any, context: BindContext) -> None:
        self.index, self.value, self.owner, self.marshall = index, value, owner, marshall
        self.binding = binding = BoundVariable(context, value, None, parameter.name, index)
        written, read = _directions(parameter)
        binding.access = (AccessType((1 if read else 0) | (2 if written else 0)), AccessType.none)
        binding.io_type = IOType((1 if read else 0) | (2 if written else 0))
        binding.python, binding.slang_type = marshall, parameter.type
        types = marshall.resolve_types(context, parameter.type)
        if not types:
            raise BoundVariableException("{}: {} does not fit {}".format(parameter.name, marshall, _type_name(parameter.type)), binding)
        binding.vector_type = types[0]
        self.rank = int(marshall.resolve_dimensionality(context, binding, binding.vector_type) or 0)
        binding.call_dimensionality = context.call_dimensionality = self.rank
        binding.vector_mapping = Shape(tuple(range(self.rank)))
        self.block = CodeGenBlock()
        self.plain = isinstance(marshall, ValueMarshall) and type(marshall).gen_calldata is Marshall.gen_calldata
        if not self.plain:
            marshall.gen_calldata(self.block, context, binding)
        aliases = self.block.aliases
        self.type = aliases.get("_t_" + binding.variable_name) or next(iter(aliases.values()), None)
        if not self.plain and self.type is None:
            raise BoundVariableException("{}: gen_calldata() of {} named no type: binding.gen_calldata_type_name(cgb, name) does".format(
                parameter.name, marshall), binding)

    @property
    def written(self) -> bool:
        return bool(self.binding.access[0] & AccessType.write)

    def sizes(self) -> tuple[int, ...]:
        """The sizes that the argument adds to the call; -1 means any."""
        shape = self.marshall.get_shape(self.value)
        sizes = tuple(shape) if shape is not None else ()
        return tuple(sizes[:self.rank]) + (-1,) * (self.rank - len(sizes))


def _directions(parameter: Any) -> tuple[bool, bool]:
    """Returns whether a parameter is written, and whether it is read."""
    from .reflection import ModifierID

    inout, out = parameter.has_modifier(ModifierID.inout), parameter.has_modifier(ModifierID.out)
    return bool(inout or out), bool(inout or not out)


_LOADER = """{differentiable}{type} spy_load_{name}({data} {name}, uint3 spy_thread_id{id})
{{
    {type} spy_value_{name};
{load}    return spy_value_{name};
}}
"""

_LOAD = """        {context} context;
        context.thread_id = spy_thread_id;
{ids}        {data}.__slangpy_{verb}(context, {value});
"""


def _statement(argument: _Argument, name: str, verb: str) -> str:
    block = CodeGenBlock()
    write = argument.marshall.gen_trampoline_load if verb == "load" else argument.marshall.gen_trampoline_store
    if write(block, argument.binding, name, "spy_value_" + name):
        return block.finish()
    ids = "        context.call_id = spy_id_{};\n".format(name) if argument.rank else ""
    context = "Context{}D".format(argument.rank) if argument.rank <= 5 else "ContextND<{}>".format(argument.rank)
    return "    {\n" + _LOAD.format(context=context, ids=ids, data=name, verb=verb, value="spy_value_" + name) + "    }\n"


class _This:
    """The parameter of the generated function for the instance of a method."""

    name = "spy_this"

    def __init__(self, type: Any, mutating: bool) -> None:
        self.type, self._mutating = type, mutating

    def has_modifier(self, modifier: Any) -> bool:
        """has_modifier(modifier): returns whether the instance is changed, for the modifier inout."""
        return self._mutating and modifier.name == "inout"


class _Field:
    """The parameter of the generated function for a field of a struct; the generated function makes the struct of its fields."""

    def __init__(self, owner: str, path: tuple[str, ...], type: Any) -> None:
        self.name, self.owner, self.path, self.type = "_".join(("spy_of", owner, *path)), owner, path, type

    def has_modifier(self, modifier: Any) -> bool:
        """has_modifier(modifier): returns False: fields are only read."""
        return False


def _has_marshall(value: Any) -> bool:
    """Returns whether a dict has a value of a registered class in it."""
    return any(_has_marshall(v) if type(v) is dict else not isinstance(v, type) and lookup_type_callback(type(v)) is not None
               for v in value.values())


def _fields_of(owner: str, path: tuple[str, ...], struct: Any, value: dict[str, Any]) -> list[tuple[_Field, Any]]:
    """Returns the fields of a dict, each with its value; an inner dict with a value of a registered class is replaced by its fields."""
    types = {field.name: field.type for field in struct.fields.values()}
    found: list[tuple[_Field, Any]] = []
    for name, item in value.items():
        if name == "_type":
            continue
        if name not in types:
            raise ValueError("argument '{}': {} has no field '{}'".format(owner, _type_name(struct), name))
        if type(item) is dict and _has_marshall(item):
            found += _fields_of(owner, (*path, name), types[name], item)
        else:
            found.append((_Field(owner, (*path, name), types[name]), item))
    return found


def _wrapper(name: str, parameters: Any, structs: dict[str, str], result: str, marshalled: dict[int, _Argument], call: str, derivative: bool) -> str:
    """Returns the text of the generated function. `structs` has the types of the arguments that are made of fields. For a derivative, a
    function of its own loads each value, which is a constant unless its Marshall has_derivative."""
    head, loads, stores, values = [], "", "", []
    fields = loaders = ""
    for owner, struct in structs.items():
        fields += "    {} {};\n".format(struct, owner)
    for i, parameter in enumerate(parameters):
        argument = marshalled.get(i)
        written, read = _directions(parameter)
        value = parameter.name
        if argument is None or argument.plain:
            no_diff = "no_diff " if derivative and getattr(parameter, "no_diff", False) else ""
            head.append("{}{}{} {}".format(no_diff, "inout " if written and read else "out " if written else "", _type_name(parameter.type), value))
        elif derivative:
            if written:
                raise NotImplementedError("{}: derivatives write to no values of classes with a Marshall".format(parameter.name))
            smooth = argument.marshall.has_derivative
            head.append("{}{} {}".format("" if smooth else "no_diff ", argument.type, parameter.name))
            value = "spy_value_" + parameter.name
            type = _type_name(argument.binding.vector_type)
            loaders += _LOADER.format(
                differentiable="[Differentiable] " if smooth else "", type=type, name=parameter.name, data=argument.type,
                id=", int[{}] spy_id_{}".format(argument.rank, parameter.name) if argument.rank else "",
                load=_statement(argument, parameter.name, "load"))
            loads += "    {} {} = {}spy_load_{}({}, spy_thread_id{});\n".format(
                type, value, "" if smooth else "no_diff ", parameter.name, parameter.name, ", spy_id_" + parameter.name if argument.rank else "")
        else:
            head.append("{} {}".format(argument.type, parameter.name))
            value = "spy_value_" + parameter.name
            loads += "    {} {};\n".format(_type_name(argument.binding.vector_type), value)
            loads += _statement(argument, parameter.name, "load") if read else ""
            stores += _statement(argument, parameter.name, "store") if written else ""
        if isinstance(parameter, _Field):
            fields += "    {} = {};\n".format(".".join((parameter.owner, *parameter.path)), value)
            if parameter.owner in values:
                continue
            value = parameter.owner
        if parameter.name != _This.name and value != _This.name:
            values.append(value)
    for argument in marshalled.values():
        if argument.rank and not argument.plain:
            head.append("int[{}] spy_id_{}".format(argument.rank, argument.binding.name))
    head.append("uint3 spy_thread_id")
    keep = "" if result == "void" else "{} spy_result = ".format(result)
    give = "" if result == "void" else "    return spy_result;\n"
    return "{}{}{} {}({})\n{{\n{}{}    {}{}({});\n{}{}}}\n".format(
        loaders, "[Differentiable] " if derivative else "", result, name, ", ".join(head), loads, fields, keep, call, ", ".join(values), stores, give)


def _module_with(module: Any, text: str, imports: list[str]) -> Any:
    """Returns the module of a generated function: the text of `module`, or an import of its file, followed by that function's text."""
    path, _, source, given, link = _slangpy._made_of(module)
    options: Any = dict(given or {})
    whole = "\n".join("import {};".format(name) for name in ["slangpy", *imports]) + "\n" + text
    if source is None:
        folder, file = os.path.split(os.path.abspath(os.fsdecode(path)))
        if not file.endswith(".slang"):
            raise NotImplementedError("{}: values of classes with a Marshall need the module's source".format(module.name))
        options["include_paths"] = [folder, *(options.get("include_paths") or ())]
        whole = 'import "{}";\n'.format(file) + whole
    else:
        whole = source + "\n" + whole
    cache = vars(module.device).setdefault("_marshalled", {})
    key = (str(module.name), whole)
    if key not in cache:
        cache[key] = _slangpy.Module.load_from_source(module.device, "spy_marshalled_{}".format(len(cache)), whole, options, list(link or ()))
    return cache[key]


def _marshall_of(layout: Any, value: Any) -> Any:
    """Returns the Marshall that PYTHON_TYPES has for a value, or None for a value of any other class; the registered function may
    also give a plain value, which is returned then."""
    if isinstance(value, type) or lookup_type_callback(type(value)) is None:
        return None
    return get_or_create_type(layout, type(value), value)


def _owner_of(reflection: Any) -> Any:
    """Returns the type that a function is a method of; None for static methods and other functions."""
    return getattr(reflection, "this", None)


def _result_type(function: Any) -> Any:
    return function.reflection.return_type


def call(function: Function, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Runs a call that has arguments, or is asked for a result, of classes with a Marshall. The C code calls it."""
    mode, chosen, this = _slangpy._chain_of(function)
    kwargs = dict(kwargs)
    result = kwargs.pop("_result", chosen)
    module = function.module
    layout = module.layout
    context = BindContext(layout, CallMode(mode), module, {})
    special = {n: kwargs.pop(n) for n in ("_append_to", "_thread_count") if n in kwargs}
    if isinstance(result, type) and lookup_type_callback(result) is not None:
        marshall = get_or_create_type(layout, result, ReturnContext(_result_type(function), context))
        plain = _slangpy._rebase(function, function)(*args, **kwargs, **special)
        binding = BoundVariable(context, None, None, "_result")
        binding.python, binding.slang_type = marshall, _result_type(function)
        run = CallContext(module.device)
        out = marshall.create_output(run, binding)
        if isinstance(out, ValueRef):
            out.value = plain
        return marshall.read_output(run, binding, out)
    owner_type = _owner_of(function.reflection)
    method = owner_type is not None
    given = len(args) + len(kwargs) - (1 if method and this is None else 0)
    if CallMode(mode) == CallMode.bwds and result is None and args and matching_overload(function.reflection, given - 1, set(kwargs)):
        args, result, given = args[:-1], args[-1], given - 1
    own: Any = function.reflection
    first = own.overloads[0] if own.is_overloaded else own  # if no overload fits, the call's error says why
    reflected: Any = matching_overload(own, given, set(kwargs)) or first
    parameters: list[Any] = list(reflected.parameters)
    if method:
        parameters.insert(0, _This(owner_type, reflected.mutating))
    path = "spy_this." + reflected.name if method else reflected.full_name
    names = [p.name for p in parameters]
    values = dict(zip(names[1:] if this is not None else names, args))
    values.update(kwargs)
    instance = unpack_arg(this) if hasattr(this, "get_this") else this
    if this is not None and ((type(instance) is dict and _has_marshall(instance)) or isinstance(_marshall_of(layout, instance), Marshall)):
        values[_This.name], this = this, None
    structs: dict[str, str] = {}
    for parameter in list(parameters):
        value = values.get(parameter.name)
        if hasattr(value, "get_this"):
            value = unpack_arg(value)
        if type(value) is not dict or not _has_marshall(value):
            continue
        struct = parameter.type if "_type" not in value else layout.find_type_by_name(_type_name(value["_type"]))
        fields = _fields_of(parameter.name, (), struct, value)
        del values[parameter.name]
        values.update((field.name, item) for field, item in fields)
        at = parameters.index(parameter)
        parameters[at:at + 1] = [field for field, _ in fields]
        structs[parameter.name] = _type_name(struct)
    names = [p.name for p in parameters]
    marshalled: dict[int, _Argument] = {}
    replaced = False
    for i, name in enumerate(names):
        if name not in values:
            continue
        owner = values[name]
        value = unpack_arg(owner) if hasattr(owner, "get_this") else owner
        marshall = _marshall_of(layout, value)
        if isinstance(marshall, Marshall):
            marshalled[i] = _Argument(i, parameters[i], value, owner, marshall, context)
        elif marshall is not None:
            values[name], replaced = marshall, True
    if not marshalled and not replaced:
        raise NotImplementedError("{}: values of classes with a Marshall are arguments or fields of dicts; here one is part of a list or the "
                                  "instance that a method is bound to".format(function.name))
    if method and 0 in marshalled and parameters[0].name == _This.name:
        path = "spy_value_" + path
    return _run(function, path, parameters, structs, _type_name(reflected.return_type), marshalled, values, result, special, this is not None)


def _run(
        function: Function, path: str, parameters: Any, structs: dict[str, str], result_type: str, marshalled: dict[int, _Argument], values: dict[str, Any], result: Any,
        special: dict[str, Any], bound: bool) -> Any:
    module = function.module
    run, references = CallContext(module.device), []
    own = [a for a in marshalled.values() if not a.plain]
    for argument in marshalled.values():
        name = argument.binding.name
        data = argument.marshall.create_calldata(run, argument.binding, argument.value)
        if argument.plain and isinstance(data, dict) and "value" in data:
            data = data["value"]
        if argument.plain and argument.written:
            data = ValueRef(data)
        if argument.written:
            references.append((argument, data))
        values[name] = data
        if argument.rank and not argument.plain:
            values["spy_id_" + name] = _slangpy.grid(argument.sizes())
    if own or structs:
        imports = [name for a in own for name in a.block.imports]
        text = _wrapper("spy_marshalled", parameters, structs, result_type, marshalled, path, bool(_slangpy._chain_of(function)[0]))
        base = _module_with(module, text, imports)["spy_marshalled"]
        values["spy_thread_id"] = _slangpy.thread_id()
    else:
        base = function
    if result is not None:
        special["_result"] = result
    order = [p.name for p in parameters if p.name in values]
    rest = {name: value for name, value in values.items() if name not in order}
    if order == [p.name for p in parameters[len(parameters) - len(order):]]:  # map() names all parameters, or all but a bound instance
        given = _slangpy._rebase(function, base, bound)(*[values[n] for n in order], **rest, **special)
    else:
        given = _slangpy._rebase(function, base, bound)(**{n: values[n] for n in order}, **rest, **special)
    for argument, data in references:
        argument.marshall.read_calldata(run, argument.binding, argument.value, {"value": data.value} if argument.plain else data)
    return given

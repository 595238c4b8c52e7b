"""Calls with torch tensors that require gradients: each becomes one node of torch's graph, whose backward pass calls the function's .bwds."""
from __future__ import annotations

import re
import sys
import weakref

from . import _slangpy
from .enums import DeviceType
from .reflection import ModifierID

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ._slangpy import Function

__all__: list[str] = []

_node: Any = None  # the torch.autograd.Function of calls that are made here; made when torch is first met
_again: Any = None  # that of the gradients they give where gradients of gradients are asked for


_STORES = re.compile(r"\*|\b(RW|IRW|IW|W(?=\w*Tensor)|Append|Consume|RasterizerOrdered|Atomic|Ptr<)")  # types that a function stores through


def _may_store(type, depth=0):
    """Whether a function may write an argument of that type although the parameter is `in`: it is a pointer, or the like of RWTensor, or has one."""
    name, kind = type.full_name, type.kind.name
    if _STORES.search(name) or kind in ("generic_type_parameter", "interface", "none"):
        return True
    if kind == "array" and depth < 4:
        return _may_store(type.element_type, depth + 1)
    return kind == "struct" and depth < 4 and not re.match(r"\w*(Tensor|NDBuffer)<", name) and any(_may_store(f.type, depth + 1) for f in type.fields.values())


def _look_at(function):
    """Returns what autograd has to know of a function: whether a call may write an argument (one of its overloads has an out or inout
    parameter, or is a mutating method), whether it returns a value, which is None where its overloads differ, the dimensions of one value of
    its result (-1: not known), a dict that _Call.run fills, and whether the device is CUDA's."""
    module = function.module
    known = module.device.__dict__.get("_torch_facts")  # Module -> name -> (reflection, facts); the device's, because reflections keep their module
    if known is None:
        known = module.device._torch_facts = weakref.WeakKeyDictionary()
    names = known.setdefault(module, {})
    name = function.full_name
    reflected, facts = names.get(name, (None, None))
    if reflected is None or not reflected.is_valid:  # after a reload the parameters may be others
        reflected = function.reflection
        overloads = list(reflected.overloads) if reflected.is_overloaded else [reflected]
        writes = any(o.mutating or any(p.has_modifier(way) for p in o.parameters for way in (ModifierID.out, ModifierID.inout)) for o in overloads)
        ways = {o.have_return_value for o in overloads}
        returns = ways.pop() if len(ways) == 1 else None
        kind = overloads[0].return_type.kind.name if returns and len(overloads) == 1 else ""
        on_cuda = module.device.info.type == DeviceType.cuda
        facts = writes, returns, {"scalar": 0, "vector": 1, "matrix": 2}.get(kind, -1), {}, on_cuda, {}
        names[name] = reflected, facts
    return facts


class _Slot:
    """Stands for the tensor with the number `index` in the arguments of a call."""

    __slots__ = ("index",)

    def __init__(self, index):
        self.index = index


def _plain(value):
    """Returns the value inside vmap(), vdim() and vcast()."""
    while isinstance(value, _slangpy.Vectorized):
        value = value.value
    return value


def _take(value, tensors, kind):
    """Returns the value with each torch tensor replaced by a _Slot; the tensors are appended to `tensors`. Objects with get_this() that
    hold tensors, such as InstanceList, become the dicts that they give."""
    if isinstance(value, kind):
        tensors.append(value)
        return _Slot(len(tensors) - 1)
    if isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, _slangpy.Vectorized):  # vmap() or vcast()
        return value.around(_take(value.value, tensors, kind))
    if isinstance(value, dict):
        return {name: _take(item, tensors, kind) for name, item in value.items()}
    if isinstance(value, (list, tuple)) and not hasattr(value, "element_type"):
        items = [_take(item, tensors, kind) for item in value]
        return type(value)(*items) if hasattr(value, "_fields") else type(value)(items)
    if hasattr(value, "get_this") and not isinstance(value, type):
        before = len(tensors)
        taken = _take(value.get_this(), tensors, kind)
        return taken if len(tensors) > before else value
    return value


def _fill(value, tensors):
    """Returns the value with each _Slot replaced by its tensor."""
    if isinstance(value, _Slot):
        return tensors[value.index]
    if isinstance(value, _slangpy.Vectorized):
        return value.around(_fill(value.value, tensors))
    if isinstance(value, dict):
        return {name: _fill(item, tensors) for name, item in value.items()}
    if isinstance(value, (list, tuple)) and not hasattr(value, "element_type"):
        items = [_fill(item, tensors) for item in value]
        return type(value)(*items) if hasattr(value, "_fields") else type(value)(items)
    return value


def _paths(value, path, out):
    """Writes the path of each _Slot in an argument, as a call's bindings name it ("light.color"), to `out` at the slot's index."""
    if isinstance(value, _Slot):
        out[value.index] = path
    elif isinstance(value, _slangpy.Vectorized):
        _paths(value.value, path, out)
    elif isinstance(value, dict):
        for name, item in value.items():
            _paths(item, "{}.{}".format(path, name), out)
    elif isinstance(value, (list, tuple)):
        for number, item in enumerate(value):
            _paths(item, "{}[{}]".format(path, number), out)


def _range(tensor):
    """Returns the addresses of the first byte of a tensor's elements and of the byte behind the last."""
    size, first = tensor.element_size(), tensor.data_ptr()
    return first, first + size * (1 + sum((n - 1) * s for n, s in zip(tensor.shape, tensor.stride()))) if tensor.numel() else first


class _Call:
    """A call whose tensors have been taken out: the function, its arguments, and which tensors it writes."""

    def __init__(self, function, this, args, kwargs):
        self.function, self.this, self.args, self.kwargs = function, this, args, kwargs
        given = self.kwargs.get("_result")
        given = _plain(given)
        self.result = given.index if isinstance(given, _Slot) else None
        self.written = set() if self.result is None else {self.result}
        self.has_result = False
        self.plain = None  # a result that is not a torch tensor
        self.paths = {}
        # A call without dimensions gives a number, which has no graph, unless the result is asked for as a Tensor, which takes longer.
        # result_dims: the dimensions of one value, -1 if they are not known, None if no result is asked for. numbers: for the dimensions of
        # the arguments, whether the last such call had no dimensions itself.
        self.result_dims, self.numbers = None, {}
        # Of a device of another API with tensors in CUDA memory: what both share, and what is known of results by the form of the call.
        # stores: names of parameters, and stored: tensors given for them, that are copied back without being outputs of the node.
        self.share, self.form, self.results, self.stores, self.stored = None, None, {}, (), set()

    def fail(self, index, text):
        return RuntimeError("{}: argument '{}': {}".format(self.function.name, self.paths.get(index, "_result"), text))

    def bound(self, tensors):
        """Returns the function, with tensors filled into its instance."""
        return self.function if self.this is None else self.function.bind(_fill(self.this, tensors))

    def find_written(self, tensors, torch):
        """Fills self.written. Raises a RuntimeError if an inout parameter gets a tensor that requires a gradient."""
        kwargs = {name: value for name, value in self.kwargs.items() if name != "_result"}
        with torch.no_grad():
            plain = self.share.stand_ins(tensors) if self.share else [t.float() if t.dtype == torch.bfloat16 else t for t in tensors]
            resolution = self.bound(plain).resolve(*_fill(self.args, plain), **_fill(kwargs, plain))
        names = [binding.path for binding in resolution.bindings]
        paths = self.paths
        tops = [name for name in names if "." not in name and "[" not in name and name not in ("_result", "this")]
        for name, value in zip(tops, self.args):
            _paths(value, name, paths)
        for name, value in kwargs.items():
            _paths(value, name, paths)
        if self.this is not None:
            _paths(self.this, "this", paths)
        directions = {binding.path: binding.direction for binding in resolution.bindings}
        for index, path in paths.items():
            how = directions.get(path) or directions.get(path.split(".")[0].split("[")[0], "in")
            if how == "inout" and tensors[index].requires_grad:
                raise self.fail(index, "an inout tensor that requires a gradient cannot join torch's graph: its value before the call would be "
                                "lost for the backward pass; give a copy, or an in and an out parameter")
            if how in ("out", "inout"):
                self.written.add(index)
            elif path.split(".")[0].split("[")[0] in self.stores:
                self.stored.add(index)

    def check_written(self, tensors, torch):
        """Raises a RuntimeError for a written tensor that cannot join the graph."""
        for index in self.written:
            tensor = tensors[index]
            if tensor.requires_grad and tensor.is_leaf:
                raise self.fail(index, "it is written, and a leaf of torch's graph that requires a gradient; give a tensor that requires none")
            first, last = _range(tensor)
            for other, item in enumerate(tensors):
                if other != index and item.untyped_storage().data_ptr() == tensor.untyped_storage().data_ptr():
                    begin, end = _range(item)
                    if begin < last and first < end:
                        raise self.fail(index, "it is written where another argument lies, whose values the backward pass needs; give other memory")

    def make(self, tensors, result):
        """Makes the call. result: what `_result` is, or None."""
        kwargs = _fill(self.kwargs, tensors)
        if result is not None:
            kwargs["_result"] = result
        return self.bound(tensors)(*_fill(self.args, tensors), **kwargs)

    def run(self, tensors):
        """Makes the call. Returns its result, and the list of the tensors that it wrote."""
        if self.share:
            return self.share.run(self, tensors, self.form, True)
        kwargs, args, function = _fill(self.kwargs, tensors), _fill(self.args, tensors), self.bound(tensors)
        if self.result_dims is None:
            result = function(*args, **kwargs)
        else:
            key = tuple([t.dim() for t in tensors])
            result = function(*args, **kwargs) if self.numbers.get(key) is False else None
            if result is None or not hasattr(result, "shape") or hasattr(result, "element_type"):
                kwargs["_result"] = "tensor"
                result = function(*args, **kwargs)
                self.numbers[key] = self.result_dims < 0 or len(result.shape) + len(result.dtype.shape) <= self.result_dims
        return result, [tensors[index] for index in sorted(self.written)]

    def run_backward(self, tensors, wanted, gradients, torch):
        """Calls the function's .bwds. `wanted` says which tensors get a gradient. `gradients` are the gradients of the result, if it has
        one, and of the written tensors. Returns one gradient a tensor, None where none is wanted."""
        if self.share:
            return self.share.run_backward(self, tensors, wanted, gradients)
        own = [torch.zeros_like(t) if w and i not in self.written else None for i, (t, w) in enumerate(zip(tensors, wanted))]
        self.make_backward(tensors, own, [g.contiguous() for g in gradients])
        return own

    def make_backward(self, tensors, own, gradients):
        """Calls the function's .bwds, which adds to the gradients `own` of the tensors, None for tensors that need none."""
        result = gradients.pop(0) if self.has_result else None
        by_index = dict(zip(sorted(self.written), gradients))
        given = []
        for i, tensor in enumerate(tensors):
            if i in by_index:
                given.append(_slangpy.DiffPair(by_index[i], by_index[i], True))
            else:
                given.append(tensor if own[i] is None else _slangpy.DiffPair(tensor, own[i], True))
        args, kwargs = _fill(self.args, given), _fill(self.kwargs, given)
        if result is not None:
            kwargs["_result"] = _slangpy.DiffPair(result, result, True)
        self.bound(given).bwds(*args, **kwargs)


def _gradients(call, ctx, tensors, gradients, torch):
    """What backward() of a node returns: None for the call, then a gradient or None for each tensor."""
    wanted = ctx.needs_input_grad[1:]
    if not torch.is_grad_enabled():
        return (None, *call.run_backward(tensors, wanted, list(gradients), torch))
    with torch.no_grad():  # with create_graph=True the gradients of gradients are not known here
        own = call.run_backward(tensors, wanted, list(gradients), torch)
    inputs = [t for t in (*tensors, *gradients) if t.requires_grad]
    return (None, *(None if g is None else _again.apply(call.function.name, g, *inputs) for g in own))


def backward_again(ctx, node, tensors, gradient):
    """backward_again(ctx, node, tensors, gradient): does in Python the backward pass of a node that C has made, if C cannot: for
    gradients of gradients, and for the errors of a call that fails."""
    import torch  # type: ignore[import-not-found,unused-ignore]

    function, values, positions, names = _slangpy._autograd_parts(node)
    slots = iter(range(len(tensors)))
    values = [_Slot(next(slots)) if value is ... else value for value in values]
    call = _Call(function, None, values[:positions], dict(zip(names or (), values[positions:])))
    call.has_result = True
    return _gradients(call, ctx, tensors, [gradient], torch)


def _make_nodes(torch):
    class SlangGradient(torch.autograd.Function):
        """The node of a gradient that a Slang function has computed."""

        @staticmethod
        def forward(ctx, name, gradient, *inputs):
            ctx.name = name
            return gradient.view_as(gradient)

        @staticmethod
        def backward(ctx, *gradients):
            raise RuntimeError("{}: a second derivative through a Slang function is not known: expected one backward pass, without "
                               "create_graph; write the derivative as a function of its own, whose first derivative is the second one".format(
                                   ctx.name))

    class SlangCall(torch.autograd.Function):
        """The node of a call of a Slang function."""

        @staticmethod
        def forward(ctx, call, *tensors):
            result, written = call.run(tensors)
            if isinstance(result, _slangpy.Tensor):
                try:
                    result = result.to_torch()
                except BufferError:  # a result of structs stays a Tensor without a graph
                    pass
            call.has_result = isinstance(result, torch.Tensor) and call.result is None
            ctx.call = call
            ctx.save_for_backward(*(t if i not in call.written else t.new_empty(0) for i, t in enumerate(tensors)))
            ctx.mark_dirty(*written)
            call.plain = None if call.has_result or call.result is not None else result
            return tuple(([result] if call.has_result else []) + written)

        @staticmethod
        def backward(ctx, *gradients):
            return _gradients(ctx.call, ctx, ctx.saved_tensors, gradients, torch)

    repeated = type("SlangCall", (torch.autograd.Function,), {
        "__doc__": "A call of a Slang function that is like an earlier one, made by C.", "__module__": __name__,
        "forward": staticmethod(_slangpy._autograd_forward), "backward": staticmethod(_slangpy._autograd_backward)})
    transforms_active = getattr(torch._C, "_are_functorch_transforms_active", None)
    if transforms_active is not None:
        # C gets the base class's apply(), because torch.autograd.Function's own searches for transforms of torch.func, which C has done.
        _slangpy._autograd_ready((torch.Tensor, torch.nn.Parameter), super(torch.autograd.Function, repeated).apply, torch.is_grad_enabled,
                              transforms_active, torch.zeros_like, torch.empty_like)
        node = getattr(repeated, "_backward_cls", None)
        if isinstance(node, type) and node.__dict__.get("apply") is None and hasattr(node, "apply"):
            node.apply = _slangpy._autograd_apply(node)  # instead of a method in Python that finds and calls backward()
    return SlangCall, SlangGradient


def _through_host(taken, tensors, writes, torch):
    """Makes a call with tensors in CUDA memory on a device of another API. torch copies them to the CPU, so that gradients pass through
    the copies. Written copies are copied back to their tensors, and the result goes to the GPU of the first tensor."""
    place = next((t.device for t in tensors if t.is_cuda), tensors[0].device)
    host = [t.cpu() for t in tensors]
    if writes:
        taken.find_written(host, torch)
    for i in taken.written:
        host[i] = tensors[i].detach().cpu().clone()
    result = taken.bound(host)(*_fill(taken.args, host), **_fill(taken.kwargs, host))
    for i in taken.written:
        tensors[i].copy_(host[i])
    if taken.result is not None:
        return tensors[taken.result]
    return result.to(place) if isinstance(result, torch.Tensor) else result


def _stores_of(function, results):
    """The names of parameters that are `in` and may be written all the same, as RWTensor. `results` keeps them."""
    stores = results.get("stores")
    if stores is None:
        reflected = function.reflection
        overloads = reflected.overloads if reflected.is_overloaded else [reflected]
        stores = results["stores"] = {p.name for o in overloads for p in o.parameters if _may_store(p.type)}
    return stores


def _form_of(function, taken):
    """What the type and shape of a call's result depend on beside its tensors, or None if that is not known."""
    if taken.this is not None or "_result" in taken.kwargs or not _slangpy._chain_is_plain(function):
        return None
    kinds = tuple([type(value) for value in taken.args]), tuple([(name, type(value)) for name, value in taken.kwargs.items()])
    return kinds if {*kinds[0], *(kind for _, kind in kinds[1])} <= {_Slot, float, int, bool} else None


def _shared(taken, tensors, writes, given, torch):
    """Makes a call without gradients through memory that the device shares with CUDA."""
    if writes:
        taken.find_written(tensors, torch)
    return taken.share.run(taken, tensors, taken.form, given is None and _slangpy._chain_of(taken.function)[1] is None)[0]


def _substitutes(taken, tensors, torch):
    """Replaces tensors that the call cannot take as they are: bfloat16, which Slang does not have on all targets, by float; and written
    views, which torch allows a custom node to write in few cases. Returns pairs of a written tensor and the tensor that the call writes
    instead."""
    copies = []
    for i, tensor in enumerate(tensors):
        low = tensor.dtype == torch.bfloat16
        if i in taken.written and (low or tensor._is_view()):
            if tensor.numel() and any(n > 1 and s == 0 for n, s in zip(tensor.shape, tensor.stride())):
                raise ValueError("{}: argument '{}': it is written, and several of its elements share memory (strides {})".format(
                    taken.function.name, taken.paths.get(i, "_result"), tensor.stride()))
            kind = torch.float32 if low else tensor.dtype
            if i == taken.result:
                tensors[i] = torch.empty(tensor.shape, dtype=kind, device=tensor.device)
            else:  # an inout parameter reads it
                tensors[i] = tensor.detach().to(kind, copy=True, memory_format=torch.contiguous_format)
            copies.append((tensor, i))
        elif low:
            tensors[i] = tensor.float()
    return copies


def instead(function: Function, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """instead(function, args, kwargs): repeats a failed call with torch tensors if it has bfloat16 tensors; raises the error of a call
    that failed because of its tensors' state in torch. Returns NotImplemented for other calls."""
    torch = sys.modules.get("torch")
    if torch is None or not hasattr(torch, "autograd"):
        return NotImplemented
    taken, tensors = _take_call(function, args, kwargs, torch)
    _refuse_wrapped(function, tensors, torch)
    if not any(t.dtype == torch.bfloat16 for t in tensors) or kwargs.get("_append_to") is not None:
        return NotImplemented
    _meet(torch)
    if _look_at(function)[0]:
        taken.find_written(tensors, torch)
    copies = _substitutes(taken, tensors, torch)
    result, _ = taken.run(tensors)
    for original, index in copies:
        original.copy_(tensors[index])
    return result if taken.result is None else _plain(kwargs["_result"])


def _refuse_wrapped(function, tensors, torch):
    wrapped = getattr(getattr(getattr(torch, "_C", None), "_functorch", None), "is_functorch_wrapped_tensor", None)
    for tensor in tensors:
        if wrapped is not None and wrapped(tensor):
            what = "torch.func.vmap" if torch._C._functorch.is_batchedtensor(tensor) else "a transform of torch.func (grad, jvp, jacrev ...)"
            raise RuntimeError("{}: {} cannot look into a call of a Slang function: call it with the whole tensor, over whose dimensions it runs "
                               "by itself, and take gradients by backward() or torch.autograd.grad()".format(function.name, what))
        if tensor.is_meta or type(tensor).__name__ in ("FakeTensor", "FunctionalTensor"):
            raise RuntimeError("{}: a tensor without data ({}): torch.compile, torch.export and meta devices need slangpy.torch_op({}), which tells "
                               "torch the result's shape".format(function.name, type(tensor).__name__, function.name))


def _take_call(function, args, kwargs, torch):
    """Returns a _Call, and its tensors."""
    tensors = []
    instance = _slangpy._chain_of(function)[2]
    this = None if instance is None else _take(instance, tensors, torch.Tensor)
    this = this if tensors else None
    return _Call(function, this, _take(args, tensors, torch.Tensor), _take(kwargs, tensors, torch.Tensor)), tensors


def _meet(torch):
    global _node, _again
    if _node is None:
        _node, _again = _make_nodes(torch)


def call(function: Function, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """call(function, args, kwargs): makes a call with torch tensors that require gradients. Returns NotImplemented if there is no torch,
    or if the tensors are another library's."""
    torch = sys.modules.get("torch")
    if torch is None or not hasattr(torch, "autograd") or kwargs.get("_append_to") is not None:
        return NotImplemented
    taken, tensors = _take_call(function, args, kwargs, torch)
    grad = any([t.requires_grad for t in tensors])
    if not grad and not any([t.is_cuda for t in tensors]):
        return NotImplemented
    _refuse_wrapped(function, tensors, torch)
    _meet(torch)
    writes, returns, dims, numbers, on_cuda, results = _look_at(function)
    if not on_cuda and any([t.is_cuda for t in tensors]):
        from .sharing import sharing_of

        taken.share = sharing_of(function.module.device, tensors, torch)
        if taken.share is None:
            return _through_host(taken, tensors, writes, torch)
        taken.form, taken.results, taken.stores = _form_of(function, taken), results, _stores_of(function, results)
        writes = writes or bool(taken.stores)
        if not grad:
            return _shared(taken, tensors, writes, kwargs.get("_result"), torch)
    if not grad:
        return NotImplemented
    if writes:
        taken.find_written(tensors, torch)
    given = kwargs.get("_result")
    if given is None and returns:
        taken.result_dims, taken.numbers = dims, numbers
    if isinstance(given, str) and given != "tensor":
        with torch.no_grad():  # a result of another library has no graph
            return function(*args, **kwargs)
    copies = []
    if taken.written:
        taken.check_written(tensors, torch)
    if taken.written or any(t.dtype == torch.bfloat16 for t in tensors):
        copies = _substitutes(taken, tensors, torch)
    made = _node.apply(taken, *tensors)
    if copies:
        order = sorted(taken.written)
        for original, index in copies:
            original.copy_(made[order.index(index) + (1 if taken.has_result else 0)])
    if taken.result is not None:
        return _plain(kwargs["_result"])
    if taken.has_result and len(made) == 1 and taken.this is None and given is None and returns and not copies and not taken.share:
        _slangpy._autograd_repeats(function)  # type: ignore[attr-defined]  # the stubs have public names alone
    return made[0] if taken.has_result else taken.plain

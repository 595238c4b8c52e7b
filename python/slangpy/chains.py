"""The Python part of chained methods of a Function, and the CallData of built calls."""
import weakref

from .native_classes import NativeCallData


def setter(callback):
    """Returns a callable for Function.set(), made of a callback whose single argument is the function that is called."""
    code = getattr(callback, "__code__", None)
    if code is not None:
        needed = code.co_argcount - hasattr(callback, "__self__") - len(callback.__defaults__ or ())
        takes = needed > 0 or code.co_flags & 4  # 4 is the flag of *args
    else:
        import inspect

        try:
            inspect.signature(callback).bind()
            takes = False
        except TypeError:
            takes = True
        except ValueError:  # C functions may have no signature
            takes = True
    return callback if takes else lambda function: callback()


class BoundArgument:
    """One argument of a built call: its parameter's name, its Slang type for each element, and the dimensions that the call
    runs over."""

    def __init__(self, module, binding):
        from ._slangpy import Shape

        self.name = binding.path.rpartition(".")[2]
        self.path = binding.path
        self.direction = binding.direction
        self.vector_mapping = Shape(*binding.map)
        self.vector_type = module.layout.find_type_by_name(binding.type)
        self.children = None

    def __repr__(self):
        return "<slangpy.BoundArgument {}: {}, map {}>".format(self.path, self.vector_type, tuple(self.vector_mapping))


class BoundArguments:
    """The arguments of a built call: `args` by position, `kwargs` by name, with `_result` among them."""

    def __init__(self, module, bindings, positions):
        self.args, self.kwargs = [], {}
        parents = []
        for binding in bindings:
            bound = BoundArgument(module, binding)
            del parents[binding.depth:]
            if parents:
                parents[-1].children = parents[-1].children or {}
                parents[-1].children[bound.name] = bound
            elif len(self.args) < positions and bound.path != "_result":
                self.args.append(bound)
            else:
                self.kwargs[bound.name] = bound
            parents.append(bound)


class CallData(NativeCallData):
    """What was built for the calls of one signature: `code`, `pipeline`, and how each argument is bound."""

    def __init__(self, function, code, resolution, positions):
        NativeCallData.__init__(self)
        self.device = function.module.device
        self.code = code
        self.pipeline = "compute pipeline of {}".format(resolution.signature)
        self.debug_name = "{}::{}".format(function.module.name, function.name)
        self.call_dimensionality = len(resolution.shape)
        self.last_call_shape = resolution.shape
        self.debug_only_bindings = BoundArguments(function.module, resolution.bindings, positions)

    def __repr__(self):
        return "<slangpy.CallData {}>".format(self.debug_name)


_built: weakref.WeakKeyDictionary = weakref.WeakKeyDictionary()  # Module -> dict of the module's CallData


def build(function, args, kwargs):
    """build(function, args, kwargs): returns the CallData of a call; calls of one signature share it."""
    kwargs = dict(kwargs or {})
    kept = _built.setdefault(function.module, {})
    resolution = function.resolve(*args, **kwargs)
    code = function.explain(*args, **kwargs).partition("\n\n")[2]
    key = (resolution.signature, tuple((b.path, b.type, b.map, b.direction) for b in resolution.bindings), code, len(args))
    if key not in kept:
        kept[key] = CallData(function, code, resolution, len(args))
    return kept[key]

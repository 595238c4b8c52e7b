"""What help() and IPython show of a Slang function: its signature in Python's words. Imported when it is first asked for."""
import inspect as _inspect

_OURS = ("_result", "_append_to", "_thread_count")


class _Type:
    """A Slang type as an annotation, which is shown as its bare name."""

    def __init__(self, name):
        self.name = name

    def __repr__(self):
        return self.name


def signature(overloads):
    """The inspect.Signature of a function from its overloads: (((name, type, has default), ...), type of the result) of each."""
    kinds = _inspect.Parameter
    ours = [kinds(name, kinds.KEYWORD_ONLY, default=None) for name in _OURS]
    try:
        (parameters, result), = overloads
        given = [kinds(name, kinds.POSITIONAL_OR_KEYWORD, annotation=_Type(type), default=_Type("...") if default else kinds.empty)
                 for name, type, default in parameters]
        return _inspect.Signature(given + ours, return_annotation=_Type(result))
    except ValueError:  # several overloads, or names that are Python's own words
        any_of_them = [kinds("args", kinds.VAR_POSITIONAL), *ours, kinds("kwargs", kinds.VAR_KEYWORD)]
        return _inspect.Signature(any_of_them)

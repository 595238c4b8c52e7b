"""Signatures of Slang functions in Python's form, for help() and IPython. This module is imported at the first use of a
signature."""
import inspect as _inspect

_OURS = ("_result", "_append_to", "_thread_count")


class _Type:
    """A Slang type as an annotation. It is shown as its name, without quotes."""

    def __init__(self, name):
        self.name = name

    def __repr__(self):
        return self.name


def signature(overloads):
    """Returns the inspect.Signature of a function. Each overload is (((name, type, has default), ...), type of the result)."""
    kinds = _inspect.Parameter
    ours = [kinds(name, kinds.KEYWORD_ONLY, default=None) for name in _OURS]
    try:
        (parameters, result), = overloads
        given = [kinds(name, kinds.POSITIONAL_OR_KEYWORD, annotation=_Type(type), default=_Type("...") if default else kinds.empty)
                 for name, type, default in parameters]
        return _inspect.Signature(given + ours, return_annotation=_Type(result))
    except ValueError:  # there are several overloads, or a parameter's name is a Python keyword
        any_of_them = [kinds("args", kinds.VAR_POSITIONAL), *ours, kinds("kwargs", kinds.VAR_KEYWORD)]
        return _inspect.Signature(any_of_them)

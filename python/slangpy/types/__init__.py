from .. import *

TYPE_CHECKING = False
if not TYPE_CHECKING:
    from .. import __getattr__ as _of_package

    globals().pop("helpers", None)  # the module of slangpy itself, where it was imported before

    def __getattr__(name):  # submodules such as types.valueref, which slangpy.paths makes
        from ..paths import submodule

        found = submodule(__name__, name)
        return _of_package(name) if found is None else found
del TYPE_CHECKING

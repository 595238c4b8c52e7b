from .. import *

TYPE_CHECKING = False
if not TYPE_CHECKING:
    from .. import __getattr__ as _of_package

    globals().pop("helpers", None)  # this is the module slangpy.helpers, if it was imported before

    def __getattr__(name):  # finds submodules such as types.valueref, which slangpy.paths makes
        from ..paths import submodule

        found = submodule(__name__, name)
        return _of_package(name) if found is None else found
del TYPE_CHECKING

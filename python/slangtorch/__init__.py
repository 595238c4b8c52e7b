"""slang-torch's name of slangpy.slangtorch, for scripts that import it."""
from slangpy import __version__ as __version__
from slangpy.slangtorch import (
    DiffTensorView as DiffTensorView, clearPersistentShaderCache as clearPersistentShaderCache,
    clearSessionShaderCache as clearSessionShaderCache, clearShaderCaches as clearShaderCaches, loadModule as loadModule)

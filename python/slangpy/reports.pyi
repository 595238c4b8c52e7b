"""What was compiled and how long it took; generated kernels in files or printed."""

from os import PathLike

__all__ = [
    "CompilationReport", "set_dump_generated_shaders", "set_print_generated_shaders", "set_dump_slang_intermediates",
]

class CompilationReport:
    """A module or kernel that was compiled. Times in seconds; 0 for steps that it did not need."""
    label: str
    kind: str
    load_time: float
    compile_time: float
    create_pipeline_time: float
    def __init__(self, label: str, kind: str) -> None: ...
    @property
    def create_time(self) -> float:
        """All of its steps together."""

def set_dump_generated_shaders(value: bool, directory: str | PathLike[str] = ".temp") -> None:
    """Write kernels that are generated from now on, of all devices, to files NAME.slang and NAME.spv. The environment's
    SLANGPY_DUMP_GENERATED_SHADERS=1 does so from the start.
    """
def set_dump_slang_intermediates(value: bool, directory: str | PathLike[str] = ".temp") -> None:
    """The same, for what the compiler makes of them: NAME.spv. The environment: SLANGPY_DUMP_SLANG_INTERMEDIATES=1."""
def set_print_generated_shaders(value: bool) -> None:
    """Print kernels that are generated from now on to the standard output. The environment:
    SLANGPY_PRINT_GENERATED_SHADERS=1.
    """

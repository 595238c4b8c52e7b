"""Builds slangpy._slangpy, one C extension around the single header. See pyproject.toml.

Headers are looked for in include/ beside this file (the sdist carries them), then in the repository above it and where
tools/setup or the system put them. SLANGPY_CFLAGS and SLANGPY_LDFLAGS add to the compiler's and linker's options.
A package that is installed from a clone notes the clone's folder, to find the compiler there.
"""
import glob
import os
import sys

from setuptools import Extension, setup
from setuptools.command.build_py import build_py

HERE = os.path.dirname(os.path.abspath(__file__))
ABI3 = sys.version_info >= (3, 12)
os.chdir(HERE)

own = os.path.join(HERE, "include") if os.path.exists("include/slangpy.h") else os.path.dirname(HERE)
# Tables for unwinding the stack are a tenth of the extension. No C++ exception passes through its functions.
# What gcc 12 has at -O2 beyond gcc 9, and places of functions and jumps in memory, are another sixteenth.
small = [] if "sanitize" in os.environ.get("SLANGPY_CFLAGS", "") else ["-fno-asynchronous-unwind-tables", "-fno-unwind-tables", "-ffunction-sections",
    "-fno-inline-functions", "-fno-tree-vectorize", "-fno-align-functions", "-fno-align-jumps", "-fno-align-loops", "-fno-align-labels"]
# gcc looks into the header's 50,000 lines anew for each `if`, which takes 4 s. Python's own options have -Wall.
quick = ["-Wno-misleading-indentation"]
macros = [("Py_LIMITED_API", "0x030C0000")] if ABI3 else []
extension = Extension(
    "slangpy._slangpy",
    sources=sorted(glob.glob("src/*/*.c")),
    depends=sorted(glob.glob("src/*/*.h")) + [os.path.join(own, h) for h in ("slangpy.h", "slangpy_vk.h", "slangpy_cuda.h")],
    include_dirs=["src", own, os.path.join(own, "third_party")],
    define_macros=macros,
    py_limited_api=ABI3,
    extra_compile_args=(["/O2", "/std:c11"] if os.name == "nt" else ["-O2", "-std=c11", "-fvisibility=hidden", "-g0", *small, *quick])
    + os.environ.get("SLANGPY_CFLAGS", "").split(),
    extra_link_args=([] if os.name == "nt" else ["-s"] + (["-Wl,--gc-sections"] if sys.platform == "linux" else [])) + os.environ.get("SLANGPY_LDFLAGS", "").split(),
    libraries=[] if os.name == "nt" else ["dl", "pthread", "m"],
)


class BuildPackage(build_py):
    """Adds the note clone.txt to the built package, unless it is built in place."""

    def run(self):
        super().run()
        clone = os.path.dirname(HERE)
        if not self.editable_mode and os.path.isfile(os.path.join(clone, "slangpy.h")):
            with open(os.path.join(self.build_lib, "slangpy", "clone.txt"), "w", encoding="utf-8") as file:
                file.write(clone + "\n")


setup(ext_modules=[extension], cmdclass={"build_py": BuildPackage}, options={"bdist_wheel": {"py_limited_api": "cp312"}} if ABI3 else {})

"""loadModule: macros, include paths, imports, generics and interfaces of other files, changed files, errors of files. The programs of
this file load modules of their own; where it is the load that is compared, one builds at most three."""
import os
import pathlib

import torch

from themes import Theme, arange, each, line, load, write, zeros

FILES = Theme("files", files={
    "shared_math.slang": "float shared_twice(float x) { return x * 2; }\npublic float shared_cube(float x) { return x * x * x; }\n",
    "pieces/constants.slang": "#pragma once\n#define PIECE 3\nstatic const float kPiece = 0.25;\nfloat piece_of(float x) { return x * kPiece + PIECE; }\n",
    "fields/field.slang": "interface IField { float at(float x); }\nstruct Wave : IField { float frequency; float at(float x) { return sin(x * frequency); } }\nstruct Line : IField { float slope; float at(float x) { return x * slope; } }\n"
                          "float twice_at<F : IField>(F f, float x) { return f.at(x) + f.at(x + 1); }\n",
}, defines={"STEPS": 5, "GAIN": "0.5"}, includePaths=["fields"])


@FILES.program("""
import shared_math;
#include "pieces/constants.slang"
#include "field.slang"
[AutoPyBindCUDA] [CudaKernel]
void use_all(TensorView<float> x, TensorView<float> y)
{
    uint i = cudaThreadIdx().x;
    if (i >= x.size(0)) return;
    Wave w = { 0.5 };
    Line l;
    l.slope = 2;
    y[i] = shared_cube(x[i]) + piece_of(x[i]) + twice_at(w, x[i]) * 10 + twice_at<Line>(l, x[i]) * 100;
}
""")
def imports_and_includes(m):
    x, y = arange(5), zeros(5)
    return each(run=lambda: line(m.use_all(x=x, y=y), 5) or y)


@FILES.program("""
float power<let N : int>(float x) { float p = 1; for (int i = 0; i < N; i++) p *= x; return p; }
[AutoPyBindCUDA] [CudaKernel]
void use_macros(TensorView<float> x, TensorView<float> y)
{
    uint i = cudaThreadIdx().x;
    if (i >= x.size(0)) return;
#if STEPS > 4
    y[i] = power<STEPS>(x[i]) * GAIN;
#else
    y[i] = -1;
#endif
}
""")
def macros(m):
    x, y = arange(4), zeros(4)
    return each(run=lambda: line(m.use_macros(x=x, y=y), 4) or y)


LOADS = Theme("loads")
COUNTED = """
static const int kSteps = MAX_STEPS;
[AutoPyBindCUDA] [CudaKernel]
void steps(TensorView<float> y) { uint i = cudaThreadIdx().x; if (i < y.size(0)) y[i] = i * kSteps; }
"""


@LOADS.program()
def two_sets_of_macros(m):
    def run(module):
        y = zeros(3)
        line(module.steps(y=y), 3)
        return y.tolist()

    a = load(COUNTED, "counted", defines={"MAX_STEPS": 20})
    b = load(COUNTED, "counted", defines={"MAX_STEPS": 50})
    return each(a=lambda: run(a), b=lambda: run(b), again=lambda: run(load(COUNTED, "counted", defines={"MAX_STEPS": 20})))


RELOADS = Theme("reloads")


@RELOADS.program()
def changed_file_and_path_objects(m):
    import slangtorch
    text = "[AutoPyBindCUDA] [CudaKernel]\nvoid fill(TensorView<float> y) { uint i = cudaThreadIdx().x; if (i < y.size(0)) y[i] = VALUE; }\n"
    path = write("changing.slang", text.replace("VALUE", "1"))

    def run(module):
        y = zeros(2)
        line(module.fill(y=y), 2)
        return y.tolist()

    first = slangtorch.loadModule(path)
    results = {"first": run(first), "same": run(slangtorch.loadModule(path)), "object": run(slangtorch.loadModule(pathlib.Path(path))), "relative": run(slangtorch.loadModule("changing.slang"))}
    write(path, text.replace("VALUE", "2"))
    os.utime(path, (os.path.getmtime(path) + 10,) * 2)
    second = slangtorch.loadModule(path)
    results.update(second=run(second), old=run(first))
    return results


OPTIONS = Theme("options")


@OPTIONS.program()
def documented_options(m):
    text = "[AutoPyBindCUDA] [CudaKernel]\nvoid ten(TensorView<float> y) { y[cudaThreadIdx().x] = 10; }\n"

    def run(module):
        y = zeros(2)
        module.ten(y=y).launchRaw(blockSize=(2, 1, 1), gridSize=(1, 1, 1))
        return y.tolist()

    return each(plain=lambda: run(load(text, "ten")), verbose=lambda: run(load(text, "ten", verbose=True)), ninja=lambda: run(load(text, "ten", skipNinjaCheck=True)), skip=lambda: run(load(text, "ten", skipSlang=True)), unknown=lambda: load(text, "ten", nothing=1),
                none=lambda: run(load(text, "ten", includePaths=[])))


BROKEN = Theme("broken")


@BROKEN.program()
def errors_of_files(m):
    import slangtorch
    kernel = "[AutoPyBindCUDA] [CudaKernel]\nvoid f(TensorView<float> y) { y[0] = 1; }\n"
    return each(missing=lambda: slangtorch.loadModule("nowhere.slang"), syntax=lambda: load("[AutoPyBindCUDA] [CudaKernel] void f(TensorView<float> y) { y[0] = ; }", "syntax"), name=lambda: load(kernel.replace("= 1", "= unknown_name"), "unknown"),
                type=lambda: load("[AutoPyBindCUDA] [CudaKernel] void f(TensorView<float> y) { y[0] = float3(1, 2, 3).xyzw; }", "types"), no_import=lambda: load("import nothing_here;\n" + kernel, "no_import"), no_include=lambda: load('#include "nothing_here.slang"\n' + kernel, "no_include"),
                macro=lambda: load(kernel.replace("= 1", "= GIVEN"), "macro"), not_kernel=lambda: load("[AutoPyBindCUDA] void f(TensorView<float> y) { y[0] = 1; }", "not_kernel"), returns=lambda: load("[AutoPyBindCUDA] [CudaKernel] float f(TensorView<float> y) { return y[0]; }", "returns"),
                not_diff=lambda: load("[AutoPyBindCUDA] [CudaKernel] [Differentiable] void f(DiffTensorView x, DiffTensorView y) { for (uint i = 0; i < x.size(0); i++) y[i] = x[i]; }", "not_diff"), number=lambda: slangtorch.loadModule(3), none=lambda: slangtorch.loadModule(None), folder=lambda: slangtorch.loadModule("."))


EMPTY = Theme("empty")


@EMPTY.program()
def files_without_kernels(m):
    return each(nothing=lambda: hasattr(load("// nothing\n", "nothing"), "f"), function=lambda: hasattr(load("float f(float x) { return x; }\n", "function"), "f"), kernel=lambda: hasattr(load("[CudaKernel] void f(TensorView<float> x) { x[0] = 1; }\n", "only_kernel"), "f"))


CACHES = Theme("caches")


@CACHES.program()
def cleared_caches(m):
    import slangtorch
    text = "[AutoPyBindCUDA] [CudaKernel]\nvoid five(TensorView<float> y) { y[cudaThreadIdx().x] = 5; }\n"

    def run():
        y = zeros(2)
        load(text, "five").five(y=y).launchRaw(blockSize=(2, 1, 1), gridSize=(1, 1, 1))
        return y.tolist()

    return each(first=run, session=lambda: slangtorch.clearSessionShaderCache(), again=run)


MODULES = Theme("slang_modules", files={
    "noise_lib.slang": "module noise_lib;\n__include noise_parts;\npublic float lib_noise(uint n) { return float(part_hash(n) & 0xffffu) / 65536.0; }\n",
    "noise_parts.slang": "implementing noise_lib;\nuint part_hash(uint n) { n ^= n >> 16; n *= 0x7feb352du; n ^= n >> 15; return n; }\n",
})


@MODULES.program("""
import noise_lib;
namespace tools
{
    struct Stack<T, let N : int> { T items[N]; int count; [mutating] void push(T v) { items[count++] = v; } T top() { return items[count - 1]; } __init() { count = 0; } }
}
enum Mode { Add = 1, Multiply = 2 }
extension float { float half_of() { return this * 0.5; } property doubled : float { get { return this * 2; } } }
[AutoPyBindCUDA] [CudaKernel]
void language(TensorView<float> y, int mode)
{
    uint i = cudaThreadIdx().x;
    if (i >= y.size(0)) return;
    tools::Stack<float, 4> stack = tools::Stack<float, 4>();
    stack.push(lib_noise(i));
    stack.push(stack.top() + 1);
    float v = stack.top();
    switch (mode)
    {
    case Mode.Add: v += 1; break;
    case Mode.Multiply: v *= 3; break;
    default: v = -1;
    }
    Optional<float> found = none;
    if (i > 2) found = v;
    y[i] = found.hasValue ? found.value.half_of() : v.doubled;
}
""")
def slang_language(m):
    y = zeros(5)
    return each(add=lambda: line(m.language(y=y, mode=1), 5) or y, multiply=lambda: line(m.language(y=y, mode=2), 5) or y, other=lambda: line(m.language(y=y, mode=7), 5) or y, double=lambda: torch.equal(y, y))

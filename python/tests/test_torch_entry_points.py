"""[TorchEntryPoint] functions (U4). Their values are compared with the same Slang text run on the device. Their launches and allocations
are seen on the CUDA driver without a GPU, with a stand-in for torch over its memory; Slang checks the text and NVRTC compiles the
kernels."""
import os
import random
import re
import tempfile

import pytest

from slangpy.torch_entry_points import Host, Translator
from slangpy.torch_source import SourceError, SourceFile

import slangpy as spy
from test_cuda_arrays import arrays, fake  # noqa: F401

# Functions of (int a, uint b, float c) that return a number. % is used for numbers from 0 on only: Vulkan leaves its result for others
# open, and NVIDIA's driver takes them for unsigned ones.
NUMBERS = """
int add(int a, uint b, float c) { return a + int(b); }
uint mixed(int a, uint b, float c) { return a + b * 3; }
uint wraps(int a, uint b, float c) { return b - 5; }
int overflow(int a, uint b, float c) { return a * 1000000007 + 123456789; }
int halves(int a, uint b, float c) { return a / 2 + (a & 4095) % 7; }
uint udivide(int a, uint b, float c) { return (b + 31) / 32 + b % 5u; }
float fdivide(int a, uint b, float c) { return c / (1 + b) + a / 4.0; }
int truncated(int a, uint b, float c) { return int(c * 3) + (int)c; }
int bits(int a, uint b, float c) { return ((a & 255) | 1024) ^ (a << 3) ^ ~a; }
uint shifts(int a, uint b, float c) { return (b >> 3) + (b << 5) + (0xffu & b); }
int sshift(int a, uint b, float c) { return a >> 2; }
int ternary(int a, uint b, float c) { return a > 3 ? a * 2 : b > 9u ? 5 : -1; }
int logic(int a, uint b, float c) { return (a > 0 && c > 0.5) || !(b == 3) ? 1 : 0; }
int loops(int a, uint b, float c)
{
    int s = 0;
    for (int i = 0; i < 10; i++)
    {
        if (i == 3) continue;
        if (s > 40) break;
        for (int j = i; j < 5; ++j) { if (j == 4) continue; s += (j * a & 255) % 3; }
        s += i;
    }
    return s;
}
int whiles(int a, uint b, float c) { int n = 0; uint x = b; while (x > 1) { x /= 2; n++; if (n > 50) break; } return n; }
int does(int a, uint b, float c) { int n = 0; do { n += 3; if (n == 6) continue; n -= 1; } while (n < 11); return n + a; }
int shadows(int a, uint b, float c) { int x = 1; { int x = 2; x += a; } for (int x = 0; x < 3; x++) { } return x; }
float vectors(int a, uint b, float c) { float3 v = float3(c, a, 1); v.x += 2; v.yz = v.zy * 2; let w = v * c + float3(1); return w.x + w.y * w.z; }
uint groups(int a, uint b, float c) { uint3 g = uint3(b, 7, 1); let r = (g + 31u) / 32u; return r.x * 100 + r.y * 10 + r.z; }
int arrays(int a, uint b, float c) { int x[3] = { 1, 2, a }; int y[3] = x; y[1] = 9; int s = 0; for (int i = 0; i < 3; i++) s += x[i] * y[2 - i]; return s; }
struct Two { int n; float2 v; int k[2]; };
float structs(int a, uint b, float c) { Two t; t.n = a; t.v = float2(c, 2); t.k[0] = 4; t.k[1] = 5; Two u = t; u.v.x = 9; u.k[1] = 1; return t.v.x + u.v.y + t.k[1] * t.n; }
int twice(int n) { return n * 2; }
float twice(float n) { return n * 4; }
float overloads(int a, uint b, float c) { return twice(a) + twice(c); }
T most<T : __BuiltinArithmeticType>(T x, T y) { return x + y; }
int generics(int a, uint b, float c) { return most<int>(a, 3) + int(most(c, 2.0f)); }
static const int kBase = 40;
#define STEPS 6
#if STEPS > 5 && defined(STEPS)
int constants(int a, uint b, float c) { return kBase + STEPS; }
#else
int constants(int a, uint b, float c) { return -1; }
#endif
float functions(int a, uint b, float c) { return max(c, 0.5) + min(a, 4) + clamp(c, 0.1, 0.2) + floor(c) + abs(a) + sqrt(abs(c)); }
int compound(int a, uint b, float c) { int x = a; x += 3; x *= 2; x -= 1; x <<= 1; x ^= 5; x |= 8; x &= 1023; x %= 77; --x; return x; }
int64_t longs(int a, uint b, float c) { int64_t x = a; return x * 4000000000L + 5; }
uint casts(int a, uint b, float c) { return uint(a) / 3u + uint8_t(b) + uint(uint16_t(a)); }
bool compares(int a, uint b, float c) { return a <= 3 && b >= 2u && c != 1.0; }
float returns(int a, uint b, float c) { if (a > 2) return c; else if (b > 5) { return 2.5; } return a; }
"""

NAMES = sorted(set(re.findall(r"(\w+)\(int a, uint b, float c\)", NUMBERS)))


def parsed(path):
    source = SourceFile(str(path), {}, [])
    source.parse()
    return source


@pytest.fixture(scope="module")
def both(device, tmp_path_factory):
    """Returns a function both(name), which returns the device's function and its translation to Python."""
    path = tmp_path_factory.mktemp("numbers") / "numbers.slang"
    path.write_text(NUMBERS)
    module = spy.Module.load_from_file(device, str(path))
    translator = Translator(parsed(path), Host(None))

    def find(name):
        (text,) = translator.source.functions[name]
        return module.find_function(name), translator.entry(text)

    return find


@pytest.mark.parametrize("name", NAMES)
def test_numbers_are_slangs(both, name):
    """The device's function and its translation give the same numbers, for random arguments and at the ends of their ranges."""
    on_device, translated = both(name)
    rng = random.Random(name)
    cases = [(0, 0, 0.0), (2**31 - 1, 2**32 - 1, 1.0), (-2**31 + 1, 3, -2.5), (5, 10, 0.75)]
    cases += [(rng.randrange(-100, 100), rng.randrange(0, 200), rng.uniform(-4, 4)) for _ in range(20)]
    for a, b, c in cases:
        expected, got = on_device(a, b, c), translated(a, b, c)
        assert got == pytest.approx(expected, rel=1e-5, abs=1e-5), (name, a, b, c)
        assert type(got) is type(expected), (name, got, expected)


@pytest.mark.parametrize("text, words", [
    ("int f(int a) { switch (a) { case 1: return 2; } return 0; }", "'switch' in a host function is not understood"),
    ("int f(int a) { return nothing(a); }", "the host function calls 'nothing(int)', which is not known here"),
    ("struct S { int n; int get() { return n; } };\nint f(int a) { S s; return s.get(); }", "S.get: methods of structs"),
    ("void g(out int x) { x = 1; }\nint f(int a) { int x; g(x); return x; }", "out parameters of host functions"),
    ("int f(int a) { return a++ + 1; }", "expected ';', got '++'"),
    ("Texture2D f(int a) { return t; }", "a host function has the type 'Texture2D'"),
    ("int f(TorchTensor<float> a) { return a[0]; }", "an element of TorchTensor<float> in a host function"),
    ("int f(int a) { int3 v = int3(a, 2); return v.x; }", "expected 3 numbers for int3, got 2"),
    ("int f(int a) { int2 v = int2(a, 2); return v.z; }", "int2 has no 'z'"),
    ("int f(int a) { return b; }", "'b' in a host function is not known"),
    ("int f(int a) { __dispatch_kernel(k, uint3(1), uint3(1))(a); return 0; }", "there is no kernel 'k'"),
])
def test_what_is_not_understood_is_named(tmp_path, text, words):
    """Errors of unsupported Slang text have the file and the line."""
    path = tmp_path / "bad.slang"
    path.write_text("\n" + text)

    class Module:
        @staticmethod
        def _kernel(name):
            return None

    translator = Translator(parsed(path), Host(Module))
    with pytest.raises(SourceError) as caught:
        translator.entry(translator.source.functions["f"][-1])
    line = 1 + next(i for i, row in enumerate(path.read_text().splitlines()) if "f(" in row and "get" not in row.split("f(")[0])
    assert words in str(caught.value)
    assert str(caught.value).startswith("{}:{}: ".format(path, line)) or "parameter" in words or "S.get" in words


def test_errors_at_run_time_have_file_and_line(tmp_path):
    path = tmp_path / "late.slang"
    path.write_text("int f(int a, int2 v)\n{\n    int x[2] = { 1, 2 };\n    int y = 3 / v.y;\n    return x[a] + y;\n}\n")
    translator = Translator(parsed(path), Host(None))
    f = translator.entry(translator.source.functions["f"][0])
    assert f(1, (0, 3)) == 3 and f(a=0, v=[1, 1]) == 4
    with pytest.raises(IndexError, match="late.slang:5: in f: index 2 of 2 elements"):
        f(2, (0, 1))
    with pytest.raises(ZeroDivisionError, match="late.slang:4: in f: a whole number is divided by zero"):
        f(0, (0, 0))
    for args, error, words in (((1,), TypeError, r"f: expected 2 arguments, f\(int a, int2 v\), got 1"), ((1.5, (0, 1)), TypeError, "argument 'a': expected a number for int, got 1.5"),
                               ((1, (0, 1, 2)), ValueError, "argument 'v': expected 2 values for int2, got 3"), ((1, 5), TypeError, "argument 'v': expected a tuple of 2 values"),
                               ((2**40, (0, 1)), ValueError, "is out of range for int"), ((1, ("x", 1)), TypeError, r"argument 'v\[0\]'")):
        with pytest.raises(error, match=words):
            f(*args)


def test_any_text_is_read():
    """The project's own files are read without an error, and damaged files without another error than SourceError."""
    from conftest import TOP

    count = 0
    for folder, _, names in os.walk(TOP):
        if "build" not in folder.split(os.sep):
            for name in names:
                if name.endswith(".slang"):
                    parsed(os.path.join(folder, name))
                    count += 1
    assert count > 20
    with open(os.path.join(TOP, "examples/17_from_slang_torch/triangle.slang")) as f:
        text = f.read()
    rng, damaged = random.Random(1), 0
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "damaged.slang")
        for _ in range(300):
            at = rng.randrange(len(text))
            with open(path, "w") as f:
                f.write(text[:at] + rng.choice(["{", "}", "(", ")", "[", "<", ";", "=", '"', "#if", ""]) + text[at + rng.randrange(9):])
            try:
                parsed(path)
            except SourceError:
                damaged += 1
    assert damaged > 10


TORCH = """
import os, tempfile, warnings
torch = types.ModuleType("torch")
free = [1 << 12]
class Device:
    def __init__(self, name):
        self.type = name.split(":")[0]; self.name = name
    def __str__(self):
        return self.name
class TorchTensor(Fast):
    def __init__(self, shape, dtype="torch.float32", device="cuda:0"):
        bits = {"torch.float32": (2, 32, 1), "torch.int32": (0, 32, 1), "torch.bool": (6, 8, 1), "torch.float16": (2, 16, 1)}[dtype]
        super().__init__(tuple(shape), bits, at=free[0])
        free[0] += -(-max(int(np.prod(shape)), 1) * bits[1] // 8 // 256) * 256
        self.on, self.requires_grad = Device(device), False
        self.named = dtype
    # what numpy's classes of the test have as the type's code, bits and lanes, torch has as a name
    dtype = property(lambda self: self.named if sys._getframe(1).f_code.co_filename.endswith(".py") else self.bits, lambda self, bits: setattr(self, "bits", bits))
    @property
    def device(self):
        return self.on if sys._getframe(1).f_code.co_filename.endswith(".py") else 0
    @device.setter
    def device(self, number):
        pass
    def stride(self):
        return tuple(self.strides)
    def element_size(self):
        return self.bits[1] // 8
    def numel(self):
        return int(np.prod(self.shape))
made = []
def make(shape, dtype, device):
    made.append((tuple(shape), dtype, device)); return TorchTensor(shape, dtype, device)
torch.Tensor = TorchTensor
for name in ("float32", "float16", "int32", "bool"):
    setattr(torch, name, "torch." + name)
torch.empty = lambda shape, dtype, device: make(shape, dtype, device)
torch.empty_like = lambda t, dtype, device, requires_grad: make(t.shape, dtype, device)
torch.zeros_like = torch.empty_like
sys.modules["torch"] = torch
launches = []
def on_launch(function, grid, params, user):
    size = ctypes.c_size_t.from_address(function + 264).value
    launches.append((tuple(grid[0:3]) + sizes[-1], ctypes.string_at(params[0], size)))
seen = KERNEL(on_launch)
state.on_kernel = ctypes.cast(seen, ctypes.c_void_p)
sizes = []  # of the groups, which the driver without a GPU does not tell
launch = spy.slangtorch.TorchLaunch.launchRaw
def noted(self, blockSize, gridSize):
    sizes.append(tuple(blockSize))
    launch(self, blockSize, gridSize)
spy.slangtorch.TorchLaunch.launchRaw = noted
folder = tempfile.mkdtemp()
def load(text, name="host", **more):
    path = os.path.join(folder, name + ".slang")
    open(path, "w").write(text)
    return spy.loadModule(path, device=d, **more)
"""

HOST = '''
struct Pair { TorchTensor<float> a; TorchTensor<float> b[2]; float v; int2 n; };
struct Mesh { TensorView<float> vertices; float by; };
float square(float x) { return x * x; }
[CudaKernel]
void square_fwd_kernel(TensorView<float> input, TensorView<float> output)
{
    uint3 globalIdx = cudaBlockIdx() * cudaBlockDim() + cudaThreadIdx();
    if (globalIdx.x > input.size(0) || globalIdx.x > input.size(1)) return;
    output.store(globalIdx.x, globalIdx.y, square(input.load(globalIdx.x, globalIdx.y)));
}
[CudaKernel] void scale(TensorView<float> input, TensorView<float> output, float by, float3 c) { output[cudaThreadIdx().x] = by * c.y * input[cudaThreadIdx().x]; }
[CudaKernel] void of_mesh(Mesh mesh) { mesh.vertices[cudaThreadIdx().x] = mesh.by; }
[TorchEntryPoint]
TorchTensor<float> square_fwd(TorchTensor<float> input)
{
    var result = TorchTensor<float>.alloc(input.size(0), input.size(1));
    let blockCount = uint3(1);
    let groupSize = uint3(result.size(0), result.size(1), 1);
    __dispatch_kernel(square_fwd_kernel, blockCount, groupSize)(input, result);
    return result;
}
int groups(int n) { return n > 3 ? (n + 31) / 32 : 1; }
[TorchEntryPoint]
Pair more(TorchTensor<float> input, Pair p, float by, int steps, float3 c)
{
    TorchTensor<float> a = TorchTensor<float>.zerosLike(input);
    for (int i = 0; i < steps; i++)
    {
        if (i == 2) continue;
        if (i > 5 && by > 1.5) break;
        let count = uint3(uint(groups(i * 100)), 2, 1);
        __dispatch_kernel(scale, count, uint3((input.size(0) + 31) / 32, 1, 1))(input, a, by + i, c);
    }
    Pair r;
    r.a = a; r.b[0] = p.a; r.b[1] = TorchTensor<float>.emptyLike(p.b[1]); r.v = max(by, 3.0f) * float(steps); r.n = int2(int(a.dims()), int(a.stride(0)));
    return r;
}
[TorchEntryPoint] TorchTensor<half> types(TorchTensor<bool> b, TorchTensor<int> i) { let h = TorchTensor<float3>.alloc(4, 4); return TorchTensor<half>.emptyLike(TorchTensor<half>.alloc(2)); }
[TorchEntryPoint] void mesh(TorchTensor<float> t) { Mesh m; m.vertices = t; m.by = 2; let one = uint3(1); __dispatch_kernel(of_mesh, one, one)(m); }
[TorchEntryPoint] void zero(TorchTensor<float> t) { let g = uint3(t.size(0), 1, 1); __dispatch_kernel(of_mesh, g, g)({ t, 2 }); }
'''


@pytest.fixture(scope="module")
def host(arrays):  # noqa: F811
    return lambda script: arrays(TORCH + "HOST = " + repr(HOST) + "\n" + script)


def test_kernels_get_what_the_host_function_gives(host):
    """Kernels get the group counts, group sizes, tensors, numbers, vectors and structs that the host function gives; new tensors have
    their sizes and dtypes."""
    host("""
m = load(HOST)
x = TorchTensor((6, 5))
y = m.square_fwd(x)
assert made == [((6, 5), "torch.float32", "cuda:0")] and isinstance(y, TorchTensor) and y.shape == (6, 5)
((grid, block),) = launches
assert grid == (1, 1, 1, 6, 5, 1) and places(block) == [x.at, y.at], (grid, places(block))
launches.clear(); made.clear()
q = TorchTensor((70,)), TorchTensor((3,)), TorchTensor((4, 4))
for p in ((q[0], (q[1], q[2]), 1.0, (1, 2)), {"a": q[0], "b": [q[1], q[2]], "v": 1, "n": (1, 2)}):
    r = m.more(q[0], p, 2.0, 9, (1, 5, 3))
    assert r[1][0] is q[0] and r[2] == 27.0 and r[3] == (1, 4) and type(r) is tuple and type(r[1]) is tuple, r
    assert r[0].shape == (70,) and r[1][1].shape == (4, 4)
    assert [g for g, _ in launches] == [(n, 2, 1, 3, 1, 1) for n in (1, 4, 10, 13, 16)], launches
    for number, (_, block) in zip((0, 1, 3, 4, 5), launches):
        assert places(block) == [q[0].at, r[0].at]
        assert struct.pack("<f", 2.0 + number) in block and struct.pack("<3f", 1, 5, 3) in block
    launches.clear()
made.clear()
h = m.types(TorchTensor((2,), "torch.bool"), TorchTensor((2,), "torch.int32"))
assert made == [((4, 4, 3), "torch.float32", "cuda:0")] + [((2,), "torch.float16", "cuda:0")] * 2, made
assert m.mesh(x) is None
((grid, block),) = launches
assert places(block) == [x.at] and struct.pack("<f", 2.0) in block
raises(TypeError, "types: argument 'b': expected a tensor of torch.bool for TorchTensor<bool>, got one of torch.float32", m.types, x, x)
raises(TypeError, "argument 'input': expected a torch tensor for TorchTensor<float>, got <class 'list'>", m.square_fwd, [1.0])
raises(ValueError, "argument 'input': expected a tensor on cuda:0, which is the module's GPU, got one on cuda:1", m.square_fwd, TorchTensor((2, 2), device="cuda:1"))
line = {name: next(i + 1 for i, row in enumerate(HOST.splitlines()) if name in row) for name in ("void zero", "input.size(1));")}
zero, alloc = ("host.slang:{}: in ".format(line[name]) for name in line)
raises(ValueError, zero + "zero: of_mesh: blockSize: expected numbers above 0", m.zero, TorchTensor((0,)))
raises(ValueError, zero + "zero: of_mesh: blockSize: expected at most 1024 threads", m.zero, TorchTensor((1025,)))
raises(IndexError, alloc + "square_fwd: index 1 of 1 elements", m.square_fwd, TorchTensor((3,)))
assert {"square_fwd", "more", "scale", "Pair"} <= set(dir(m))
""")


NUMBERS_IN = '''
[TorchEntryPoint] int whole(int n) { return n; }
[TorchEntryPoint] float real(float x) { return x; }
[TorchEntryPoint] bool yes(bool b) { return b; }
'''


def test_numbers_of_other_classes(host):
    """NumPy's numbers, and objects with __index__ or __float__ such as torch's tensors of one number, are numbers; a number with a fraction is
    none for an int."""
    host("""
m = load(NUMBERS_IN, "numbers_in")
class Four:
    __index__ = lambda self: 4
    __float__ = lambda self: 4.5
class Many:
    def __index__(self):
        raise TypeError("only integer tensors of a single element can be converted to an index")
    def __float__(self):
        raise RuntimeError("a Tensor with 3 elements cannot be converted to Scalar")
assert [m.whole(n) for n in (np.int32(7), np.uint8(9), Four(), True)] == [7, 9, 4, 1] and type(m.whole(True)) is int
assert [m.real(x) for x in (np.float32(0.5), np.int64(2), Four(), False)] == [0.5, 2.0, 4.5, 0.0]
assert [m.yes(b) for b in (np.bool_(True), 0, 1.5)] == [True, False, True]
for bad in (2.5, np.float32(2), "2", None, [1], Many()):
    raises(TypeError, "whole: argument 'n': expected a number for int", m.whole, bad)
for bad in ("2", None, [1.0], Many()):
    raises(TypeError, "real: argument 'x': expected a number for float", m.real, bad)
raises(TypeError, "yes: argument 'b': expected a number for bool", m.yes, "true")
""".replace("NUMBERS_IN", repr(NUMBERS_IN)))


def test_arrays_of_tensors(host):
    """A host function gives a kernel a struct with an array of tensors."""
    host("""
m = load('''struct Layers { TensorView<float> weights[2]; float by; };
[CudaKernel] void run_layers(Layers layers, TensorView<float> y) { y[0] = layers.weights[0][0] + layers.weights[1][0] * layers.by; }
[TorchEntryPoint] void go(TorchTensor<float> a, TorchTensor<float> b)
{
    Layers l;
    l.weights[0] = a; l.weights[1] = b; l.by = 2;
    let one = uint3(1, 1, 1);
    __dispatch_kernel(run_layers, one, one)(l, a);
}''', "arrays")
x, y = TorchTensor((8,)), TorchTensor((8,))
m.go(x, y)
((grid, block),) = launches
assert set(places(block)) == {x.at, y.at}, places(block)
""")


def test_imports_macros_and_reload(host):
    """A host function calls functions of an imported file and uses a macro from loadModule(); a change of either file is loaded."""
    host("""
part = os.path.join(folder, "part.slang")
open(part, "w").write("public int rows(int n) { return n + EXTRA; }")
text = '''import part;
[CudaKernel] void fill(TensorView<float> t, int n) { t[0] = n; }
[TorchEntryPoint] void go(TorchTensor<float> t) { let g = uint3(uint(rows(COUNT)), 1, 1); let one = uint3(1); __dispatch_kernel(fill, g, one)(t, rows(0)); }'''
m = load(text, "main", defines={"COUNT": 4, "EXTRA": 2})
x = TorchTensor((8,))
m.go(x)
assert [g for g, _ in launches] == [(6, 1, 1, 1, 1, 1)], launches
launches.clear()
assert spy.loadModule(os.path.join(folder, "main.slang"), defines={"COUNT": 4, "EXTRA": 2}, device=d) is m
open(part, "w").write("public int rows(int n) { return n + EXTRA + 1; }")
os.utime(part, (1, 1))
again = spy.loadModule(os.path.join(folder, "main.slang"), defines={"COUNT": 4, "EXTRA": 2}, device=d)
assert again is not m
again.go(x)
assert [g for g, _ in launches] == [(7, 1, 1, 1, 1, 1)], launches
""")


def test_the_example(host):
    """Example 17 compiles and launches its kernels, their derivatives and its host function."""
    from conftest import TOP

    host("""
m = spy.loadModule({!r}, device=d)
camera = m.Camera(o=(0.0, 0.0), scale=(1.0, 1.0))
v, dv, c, dc, o, do = (TorchTensor(s) for s in ((3, 2), (3, 2), (3,), (3,), (32, 32, 3), (32, 32, 3)))
shape = dict(blockSize=(16, 16, 1), gridSize=(2, 2, 1))
m.rasterize(camera=camera, vertices=v, color=c, sharpness=20.0, output=o).launchRaw(**shape)
assert places(launches[-1][1]) == [v.at, c.at, o.at]
m.rasterize.bwd(camera=camera, vertices=(v, dv), color=(c, dc), sharpness=20.0, output=(o, do)).launchRaw(**shape)
assert places(launches[-1][1]) == [v.at, dv.at, c.at, dc.at, o.at, do.at] and launches[-1][0] == (2, 2, 1, 16, 16, 1)
a, b = TorchTensor((1000,)), TorchTensor((1000,))
r = m.fade(a, b, 4)
assert [g for g, _ in launches[2:]] == [(4, 1, 1, 256, 1, 1)] * 4
assert all(struct.pack("<f", t) in block for t, (_, block) in zip((0.25, 0.5, 0.75, 1), launches[2:]))
""".format(TOP + "/examples/17_from_slang_torch/triangle.slang"))

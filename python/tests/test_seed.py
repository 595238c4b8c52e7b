"""The code blocks of the proposal (sp016-slangpy-proposal.md) up to and including 'Function Objects', run as printed.

Changed against the print, as typing slips:
 - `numpy`, `np` and `spy` are used without an import in some blocks: they are there;
 - example.slang uses NDBuffer without `import slangpy;`, and writes to an `NDBuffer` (RWNDBuffer is the one that can be written);
 - curly quotes round "test.slang", `//` for Python comments, `{ … }` for a body;
 - of `test1(float3)`, `test1(float3[2])`, `test2(float3x3)` the calls name test1, test2, test3: so do the functions here;
   `numpy.zeros(3,2)` is `numpy.zeros((2, 3))`, two rows of three, and `numpy.zeros(3,3)` is `numpy.zeros((3, 3))`;
 - module.add on Pixel buffers needs an add of Pixels, which the text's float add is not.
Gradients (`bwds`) are those of test_seed_gradients.py and test_gradients_*.py; torch is another test's.

D2, M1, M2, B4, B6, B11, C1, C2, C3, C5, C6, K1, K2, F1, F2, F3, F4, R1, R3, V1, V6.
"""
import numpy
import numpy as np
import pytest

import slangpy as spy

EXAMPLE = """
import slangpy;

// A simple function that adds two numbers together
float add(float a, float b)
{
    return a + b;
}

[numthreads(128, 1, 1)]
void addBuffer(NDBuffer<float, 1> a, NDBuffer<float, 1> b, RWNDBuffer<float, 1> result, int i : SV_DispatchThreadID)
{
     result[i] = add(a[i], b[i]);
}
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Returns folder(name, text), which writes a file into the folder where the scripts run."""
    monkeypatch.chdir(tmp_path)
    return lambda name, text: (tmp_path / name).write_text(text)


def run(script, **names):
    """Runs a block as a script and returns its variables."""
    scope = {"numpy": numpy, "np": np, "spy": spy}
    scope.update(names)
    exec(compile(script, "<seed>", "exec"), scope)
    return scope


FIRST = """
# example.py

import slangpy as spy

# Create a slangpy GPU execution context
device = spy.init_device()

# Load a slang the module
module = spy.Module.load_from_file(device, "example.slang")

# Create numpy arrays
a = numpy.random.rand(1024)
b = numpy.random.rand(1024)
r = numpy.zeros(1024);

# Create buffers for kernel call
bufferA = spy.NDBuffer(device, shape = (1024,))
bufferB = spy.NDBuffer(device, shape = (1024,))
bufferRs = spy.NDBuffer(device, shape = (1024,))

# Populate buffer contents
bufferA.from_numpy(a)
bufferB.from_numpy(b)
bufferRs.from_numpy(r)

# Call the function and print the result
module.addBuffer.dispatch(1024, bufferA, bufferB, bufferRs)
print(bufferRs)
"""


def number(text, value):
    """Returns whether `text` is a printed number that equals `value` in its eight decimals, as numpy prints them."""
    try:
        return abs(float(text) - value) < 1e-7
    except ValueError:
        return False


def test_entry_points(folder, capsys):
    """Chapter 'Calling Slang Entrypoints From Python' of the proposal."""
    folder("example.slang", EXAMPLE)
    s = run(FIRST)
    expected = s["a"].astype(np.float32) + s["b"].astype(np.float32)
    assert np.array_equal(s["bufferRs"].to_numpy(), expected)
    printed = capsys.readouterr().out
    shown = printed.replace("[", " ").replace("]", " ").split()
    assert any(number(word, expected[0]) for word in shown) and number(shown[-1], expected[-1])
    s["device"].close()


def test_entry_points_with_stage(folder):
    """The program of the chapter 'Calling Slang Entrypoints From Python', with Slang's [shader("compute")]."""
    folder("example.slang", EXAMPLE.replace("[numthreads", '[shader("compute")]\n[numthreads'))
    s = run(FIRST)
    assert np.allclose(s["bufferRs"].to_numpy(), s["a"] + s["b"])
    s["device"].close()


def test_functions_directly(folder, capsys):
    """Chapter 'Calling Slang Functions Directly From Python' of the proposal."""
    folder("example.slang", """
// A simple function that adds two numbers together
float add(float a, float b)
{
    return a + b;
}
""")
    s = run("""
import slangpy as spy

# Create a SlangPy GPU execution context
device = spy.init_device()

# Load a slang the module
module = spy.Module.load_from_file(device, "example.slang")

# Call the function and print the result
pa = numpy.random.rand(1024)
pb = numpy.random.rand(1024)

result = module.add(pa, pb)
print(result)
""")
    expected = s["pa"].astype(np.float32) + s["pb"].astype(np.float32)
    assert np.array_equal(s["result"].to_numpy(), expected) and s["result"].shape == (1024,)
    printed = capsys.readouterr().out
    assert number(printed.replace("]", " ").split()[-1], expected[-1])
    s["device"].close()


def test_basic_types(folder, device):
    """Chapter 'Marshaling of basic types' of the proposal."""
    folder("test.slang", "void test(int x, float y) { }")
    run("""
# test.py
module = spy.Module.load_from_file(device, "test.slang")

module.test(5, 6.0) # OK, passing a basic scalar types as is.
""", device=device)


def test_arrays_vectors_matrices(folder, device):
    """Chapter 'Marshaling of array, vector and matrix types' of the proposal."""
    folder("test.slang", """
float test1(float3 x) { return x.x + 10 * x.y + 100 * x.z; }
float test2(float3 x[2]) { return x[0].x + 10 * x[0].z + 100 * x[1].z; }
float test3(float3x3 x) { return x[0][1] + 10 * x[2][0]; }
""")
    s = run("""
# test.py
module = spy.Module.load_from_file(device, "test.slang")

one = module.test1([5, 6, 7]) # OK, passing a matching size array to a vector.
two = module.test2([[1,2,3],[5, 6, 7]]) # OK, passing matching size array to a vector array.
three = module.test2(numpy.zeros((2, 3))) # OK, passing a numpy array of matching dimensions.
four = module.test3(numpy.zeros((3, 3))) # OK, passing a numpy array of matching dimensions.
""", device=device)
    assert (s["one"], s["two"], s["three"], s["four"]) == (765, 731, 0, 0)


def test_struct(folder, device):
    """Chapter 'Marshaling of a struct types' of the proposal, with and without '_type'."""
    folder("test.slang", """
struct MyType { int x; float y; }
float test(MyType v) { return float(v.x) * 10 + v.y; }
""")
    s = run("""
# test.py
module = spy.Module.load_from_file(device, "test.slang")

first = module.test({"x":5,  "y":6.0}) # OK, passing a tuple to a struct type.
# test.py
second = module.test({'_type': 'MyType', 'x': 5, 'y': 6.0})
""", device=device)
    assert s["first"] == 56 and s["second"] == 56


def test_ndbuffer(folder, device):
    """Chapter 'NDBuffer' of the proposal: buffers of structs are filled from numpy and passed to calls."""
    folder("example.slang", """
struct Pixel { float r; float g; float b; }
Pixel add(Pixel a, Pixel b) { Pixel p = { a.r + b.r, a.g + b.g, a.b + b.b }; return p; }
""")
    s = run("""
module = spy.Module.load_from_file(device, "example.slang")
image_1 = spy.NDBuffer(device, dtype=module.Pixel, shape=(16, 16))
image_2 = spy.NDBuffer(device, dtype=module.Pixel, shape=(16, 16))

first = 0.1 * np.random.rand(16 * 16 * 3).astype(np.float32)
image_1.from_numpy(first)
second = 0.1 * np.random.rand(16 * 16 * 3).astype(np.float32)
image_2.from_numpy(second)

result = module.add(image_1, image_2)
""", device=device)
    result = s["result"].to_numpy(structured=True)
    assert s["result"].shape == (16, 16) and s["result"].dtype.name == "Pixel"
    got = np.stack([result[c] for c in "rgb"], -1) if result.dtype.names else result
    assert np.allclose(np.ravel(got), s["first"] + s["second"])


def test_float_ndbuffers(device, folder):
    """Chapter 'NDBuffer' of the proposal: a float add of float buffers, and map() for another pattern."""
    folder("example.slang", EXAMPLE)
    s = run("""
module = device.load_module_from_file("example.slang")
a = spy.NDBuffer(device, dtype=module.float, shape=(4,))
b = spy.NDBuffer(device, dtype=module.float, shape=(3,))
a.from_numpy(np.arange(4.0))
b.from_numpy(np.arange(3.0))
result = module.add.map((0,), (1,))(a, b)
""", device=device)
    assert np.array_equal(s["result"].to_numpy(), np.add.outer(np.arange(4), np.arange(3)))


FUNCTIONS = """
import slangpy;
extern static const float SCALE = 1;
uniform float gain;
float f(float x) { return x * SCALE; }
float g(float x) { return x * gain; }
float add(float a, float b) { return a + b; }
"""


@pytest.fixture(scope="module")
def functions(load):
    return load(FUNCTIONS)


def test_function_object_call(functions):
    """Chapter 'Function Objects' of the proposal: call(args...)."""
    assert functions.f.call(2.5) == 2.5


def test_function_object_constants(functions):
    """Chapter 'Function Objects' of the proposal: constants(dict)."""
    assert functions.f.constants({"SCALE": 4.0})(2.5) == 10


def test_function_object_set(functions):
    """Chapter 'Function Objects' of the proposal: set()."""
    assert functions.g.set({"gain": 3.0})(2) == 6 and functions.g.set(gain=5)(2) == 10


def test_function_object_map(functions):
    """Chapter 'Function Objects' of the proposal: map()."""
    r = functions.add.map((0,), (1,))(np.arange(2.0), np.arange(3.0), _result="numpy")
    assert np.array_equal(r, [[0, 1, 2], [1, 2, 3]])


def test_function_object_return_type(functions):
    """Chapter 'Function Objects' of the proposal: return_type()."""
    assert isinstance(functions.f.return_type("numpy")(np.arange(3.0)), np.ndarray)
    assert type(functions.f.return_type(spy.NDBuffer)(np.arange(3.0))) is spy.NDBuffer


def test_function_object_append_to(functions):
    """Chapter 'Function Objects' of the proposal: append_to(args...), by a command encoder."""
    d = functions.device
    if not hasattr(d, "create_command_encoder"):
        pytest.skip("this build has no command encoders")
    x = spy.Tensor.from_numpy(d, np.arange(3, dtype=np.float32))
    r = spy.Tensor.zeros(d, (3,))
    encoder = d.create_command_encoder()
    functions.f.append_to(encoder, x, _result=r)
    assert not r.to_numpy().any()
    d.submit_command_buffer(encoder.finish())
    assert r.to_numpy().tolist() == [0, 1, 2]

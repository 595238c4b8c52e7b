"""Errors have the names of Python's interface, not of the C library's, and parameters by name."""
import re

import numpy as np
import pytest

import slangpy as spy

SOURCE = """
import slangpy;
float add(float a, float b) { return a + b; }
float two(float x, float y) { return x; }
float two(float3 u, float y) { return u.x; }
float peek(float* p, int i) { return p[i]; }
float sum(Tensor<float, 1> t) { return t[0]; }
void set(out float x) { x = 1; }
void change(inout float x) { x += 1; }
T ident<T>(T x) { return x; }
StructuredBuffer<float> gains;
float scaled(float x) { return x * gains[0]; }
struct Pair { float a; float b; float total() { return a + b; } };
float pair(Pair p) { return p.a + p.b; }
extern static const int WIDTH;
int sized(int x) { return x * WIDTH; }
interface I { float get(); }
extern struct Impl : I;
float implemented(float x) { Impl i; return i.get() * x; }
[CudaKernel] void kernel(TensorView<float> v) { v[cudaThreadIdx().x] = 1; }
void viewing(TensorView<float> v) { v[0] = 1; }
"""


@pytest.fixture(scope="module")
def m(load):
    return load(SOURCE)


def tensor(m, *shape):
    return spy.Tensor.zeros(m.device, shape)


CASES = {
    "Tensor.empty": (lambda m: spy.Tensor.empty(m.device, (-1,), float), "Tensor.empty: shape (-1,) has the negative size -1"),
    "Tensor.zeros": (lambda m: spy.Tensor.zeros(m.device, (2,), "NoSuchType"), "Tensor.zeros: type 'NoSuchType' is none of Slang's own; for a module's own give dtype=module.Name"),
    "dtype": (lambda m: spy.Tensor.zeros(m.device, (2,), "flaot3"), "did you mean 'float3'?"),
    "from_numpy dtype": (lambda m: spy.Tensor.from_numpy(m.device, np.ones(3), dtype="duoble"), "Slang itself has no type 'duoble', did you mean 'double'?"),
    "double tensor": (lambda m: m.add(spy.Tensor.from_numpy(m.device, np.ones(3)), 1),
                      "'a': expected float, got double tensor (3,); a tensor's numbers are not converted from double to float, which could change them: "
                      "Tensor.from_numpy(device, array, dtype=...) converts; give it the dtype float"),
    "long tensor": (lambda m: m.add(spy.Tensor.from_numpy(m.device, np.ones(3, np.int64)), 1), "are not converted from int64_t to float"),
    "inout tensor": (lambda m: m.change(spy.Tensor.zeros(m.device, (3,), "double")), "what is read and written is not converted"),
    "_results": (lambda m: m.add(1, 2, _results=tensor(m)), "No parameter named '_results', did you mean '_result'?"),
    "keyword": (lambda m: m.add(1, bb=2), "No parameter named 'bb'"),
    "twice": (lambda m: m.add(1, 2, a=3), "Parameter 'a' specified multiple times"),
    "extern constant": (lambda m: m.sized(1), "'WIDTH' of module '{}' is declared extern, and nothing gives it: give a constant in .constants({{...}})"),
    "extern type": (lambda m: m.implemented(1.0), "'Impl' of module '{}' is declared extern, and nothing gives it"),
    "open type": (lambda m: m.ident({"a": 1}), "'x': expected T, got struct of 1 fields, which does not tell its Slang type: say which with vcast"),
    "open type, no such cast": (lambda m: m.ident.map("Nope")({"a": 1}), "'x': vcast names 'Nope', which is no type"),
    "vector mapped whole": (lambda m: m.add.map(())(spy.float3(1, 2, 3), 1), "'a': expected one float, got float host array (3,)"),
    "CUDA kernel": (lambda m: m.kernel(tensor(m, 3), _thread_count=3), "kernel: it is a [CudaKernel], which the CUDA backend alone runs; this device is"),
    "view": (lambda m: m.viewing(tensor(m, 3)), "'v': expected TensorView<float>, got float tensor (3,); Slang has such parameters for the CUDA backend "
             "alone: here write RWTensor<T, D>"),
    "load_from_file": (lambda m: spy.Module.load_from_file(m.device, "no_such_file.slang"), "Module.load_from_file: no_such_file.slang"),
    "load_module": (lambda m: m.device.load_module("no_such_file"), "Device.load_module: no_such_file.slang"),
    "load_from_source": (lambda m: spy.Module.load_from_source(m.device, "bad", "int f( {"), "Module.load_from_source: module 'bad' does not compile"),
    "view too large": (lambda m: tensor(m, 3).view((5,)), "Tensor.view: "),
    "reshape": (lambda m: tensor(m, 3).reshape((5,)), "Tensor.reshape: "),
    "broadcast_to": (lambda m: tensor(m, 3).broadcast_to((5,)), "broadcast_to: "),
    "index": (lambda m: tensor(m, 3)[7], "Tensor: "),
    "cursor": (lambda m: tensor(m, 3).cursor()[9], "cursor: "),
    "point_to": (lambda m: tensor(m, 3).point_to(tensor(m, 4)), "Tensor.point_to: "),
    "copy_tensor": (lambda m: m.device.create_command_encoder().copy_tensor(tensor(m, 3), tensor(m, 4)), "CommandEncoder.copy_tensor: "),
    "output": (lambda m: m.set([1.0]), "a Tensor, a ValueRef or a writable array"),
    "inout": (lambda m: m.change([1.0]), "a Tensor, a ValueRef or a writable array"),
    "too many": (lambda m: m.add(1, 2, 3), "Too many arguments: expected 2, got 3"),
    "shapes": (lambda m: m.add(np.zeros(3), np.zeros(4)), "Shape mismatch"),
    "globals": (lambda m: m.scaled(1.0), "see set()"),
    "cast": (lambda m: m.add.map("NoSuchType")(1.0, 2), "vcast names 'NoSuchType'"),
    "untyped": (lambda m: m.sum(m.device.create_buffer(size=8)), "Tensor(buffer, dtype, shape) gives it a type"),
    "constants": (lambda m: m.add.constants({"NOPE": 1})(1, 2), "NOPE"),
    "resolve": (lambda m: m.add.resolve(1), "resolve: "),
    "adapter": (lambda m: spy.create_device(adapter_name="no such thing"), "create_device: "),
    "explain": (lambda m: m.add.explain(1), "Parameter 'b' not specified"),
    "time": (lambda m: m.add.time(1), "Parameter 'b' not specified"),
    "submit": (lambda m: m.device.wait_for_submit(1 << 50), "Device.wait_for_submit: "),
}


@pytest.mark.parametrize("case", CASES)
def test_words(m, case):
    """An error's text names the Python function, and has no names of C. (Feature W1.)"""
    use, expected = CASES[case]
    with pytest.raises((spy.Error, IndexError)) as error:
        use(m)
    text = str(error.value)
    assert expected.format(m.name) in text if "{}" in expected else expected in text
    assert "in the generated kernel" not in text
    assert not re.search(r"\bspyi?_|\bSPY_|\bdesc\.|\boptions\.", text), text


def test_quoted_code_stays(m):
    """What the compiler quotes is not translated. (Feature W2.)"""
    with pytest.raises(spy.SlangCompileError) as error:
        spy.Module.load_from_source(m.device, "quoted", "struct D { int shape; }; int f(D d) { D desc = d; return spy_vcast + desc.shapes; }")
    assert "spy_vcast" in str(error.value)


@pytest.mark.parametrize("call, words", [
    (lambda m: m.add(1, "x"), "add: argument 'b': Unsupported type"),
    (lambda m: m.add("x", 1), "add: argument 'a': Unsupported type"),
    (lambda m: m.add(1, b="x"), "add: argument 'b': Unsupported type"),
    (lambda m: m.pair({"a": 1, "b": "x"}), "pair: argument 'p': field 'b': Unsupported type"),
    (lambda m: m.add.map(b=())(1, "x"), "add: argument 'b': Unsupported type"),
    (lambda m: m.Pair.total("x"), "Pair::total: argument 'this': Unsupported type"),
    (lambda m: m.Pair.total.bind("x")(), "Pair::total: argument 'this': Unsupported type"),
    (lambda m: m.two("x", 1), "two: argument 1: Unsupported type"), # the parameter is x in one overload and u in another
    (lambda m: m.two(1, "x"), "two: argument 'y': Unsupported type"),
    (lambda m: m.add(1, 2, "x"), "add: argument 3: Unsupported type"), # there is no third parameter
])
def test_parameters_by_name(m, call, words):
    """An error has the parameter's name if it is known, otherwise its number. (Feature W1.)"""
    with pytest.raises(TypeError) as error:
        call(m)
    assert str(error.value).startswith(words)


def test_log_speaks_python(device):
    """Messages of the log have the names of Python's interface. (Feature W5.)"""
    seen = []
    with spy.create_device(log=lambda level, message: seen.append(message)) as d:
        with pytest.raises(spy.SlangCompileError):
            spy.Module.load_from_source(d, "x", "int f() { return nope; }")
    assert seen and seen[0].startswith("Module.load_from_source: module 'x' does not compile")


def test_what_is_not_public(device):
    """The error for a function that a module with `public` declarations hides says what to write. (Feature W1.)"""
    m = spy.Module.load_from_source(device, "guarded", "module guarded; public struct P { float x; public float y; }; float hidden(float x) { return x; }\n"
                                    "public float shown(P p) { return p.y; }")
    with pytest.raises(AttributeError, match="'hidden' of module 'guarded' is not public.*write `public` before"):
        m.hidden(1.0)
    with pytest.raises(ValueError, match="'x' of module 'guarded' is not public.*write `public` before it") as error:
        m.shown({"x": 1, "y": 2})
    assert "in the generated kernel" not in str(error.value)


def test_from_numpy_without_a_device(device):
    """from_numpy() without a device raises an error that says that the device comes first. (Feature B2.)"""
    for call, words in ((lambda: spy.Tensor.from_numpy(np.ones(3)), "Tensor.from_numpy: argument 'device': expected a Device, got <class 'numpy.ndarray'>; "
                         "write Tensor.from_numpy.device, array."),
                        (lambda: spy.Tensor.from_numpy([1, 2]), "expected a Device, got <class 'list'>; write Tensor.from_numpy"),
                        (lambda: spy.Tensor.from_dlpack(np.ones(3)), "write Tensor.from_dlpack.device, array."),
                        (lambda: spy.Tensor.from_torch(tensor=np.ones(3)), "Tensor.from_torch: argument 'device': expected a Device, got None")):
        with pytest.raises(TypeError, match=words):
            call()
    assert repr(spy.Tensor.zeros(device, (2,)).dtype) == 'refl::Type(full_name="float", kind=scalar, shape=[])'


@pytest.mark.parametrize("use, words", [
    (lambda m: spy.create_devcie, "module 'slangpy' has no attribute 'create_devcie', did you mean 'create_device'?"),
    (lambda m: spy.DeviceTyp, "did you mean 'DeviceType'?"),
    (lambda m: spy.DeviceType.opengl, "DeviceType has no member 'opengl'; its members are automatic, d3d12, vulkan, metal, wgpu, cpu, cuda"),
    (lambda m: spy.DeviceType.Vulkan, "DeviceType has no member 'Vulkan', did you mean 'vulkan'?"),
    (lambda m: spy.Format.rgba32_flaot, "Format has no member 'rgba32_flaot', did you mean 'rgba32_float'?"),
    (lambda m: m.add.mapp, "'Function' has no attribute 'mapp', did you mean 'map'?"),
    (lambda m: m.device.create_bufer, "'Device' has no attribute 'create_bufer', did you mean 'create_buffer'?"),
])
def test_names_that_are_near(m, use, words):
    with pytest.raises(AttributeError) as error:
        use(m)
    assert words in str(error.value)
    assert not hasattr(spy, "_repr_html_") and not hasattr(m.add, "_repr_html_")


@pytest.mark.parametrize("name, words", [("_thread_cont", "add: No parameter named '_thread_cont', did you mean '_thread_count'?"),
                                         ("_appendto", "add: No parameter named '_appendto', did you mean '_append_to'?")])
def test_own_keywords_that_are_near(m, name, words):
    with pytest.raises(TypeError) as error:
        m.add(1, 2, **{name: 3})
    assert str(error.value) == words

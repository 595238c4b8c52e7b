"""Errors speak Python: no names of the C library, parameters by name."""
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
uniform float gain;
float scaled(float x) { return x * gain; }
struct Pair { float a; float b; float total() { return a + b; } };
float pair(Pair p) { return p.a + p.b; }
"""


@pytest.fixture(scope="module")
def m(load):
    return load(SOURCE)


def tensor(m, *shape):
    return spy.Tensor.zeros(m.device, shape)


CASES = {
    "Tensor.empty": (lambda m: spy.Tensor.empty(m.device, (-1,), float), "Tensor.empty: shape has a negative size"),
    "Tensor.zeros": (lambda m: spy.Tensor.zeros(m.device, (2,), "NoSuchType"), "Tensor.zeros: type 'NoSuchType' is not known"),
    "load_from_file": (lambda m: spy.Module.load_from_file(m.device, "no_such_file.slang"), "Module.load_from_file: no_such_file.slang"),
    "load_module": (lambda m: m.device.load_module("no_such_file"), "Device.load_module: no_such_file.slang"),
    "load_from_source": (lambda m: spy.Module.load_from_source(m.device, "bad", "int f( {"), "Module.load_from_source: module 'bad' does not compile"),
    "view": (lambda m: tensor(m, 3).view((5,)), "Tensor.view: "),
    "reshape": (lambda m: tensor(m, 3).reshape((5,)), "Tensor.reshape: "),
    "broadcast_to": (lambda m: tensor(m, 3).broadcast_to((5,)), "broadcast_to: "),
    "index": (lambda m: tensor(m, 3)[7], "Tensor: "),
    "cursor": (lambda m: tensor(m, 3).cursor()[9], "cursor: "),
    "point_to": (lambda m: tensor(m, 3).point_to(tensor(m, 4)), "Tensor.point_to: "),
    "copy_tensor": (lambda m: m.device.create_command_encoder().copy_tensor(tensor(m, 3), tensor(m, 4)), "CommandEncoder.copy_tensor: "),
    "output": (lambda m: m.set(1.0), "a Tensor, a ValueRef or a writable array"),
    "inout": (lambda m: m.change(1.0), "a Tensor, a ValueRef or a writable array"),
    "too many": (lambda m: m.add(1, 2, 3), "Too many arguments: expected 2, got 3"),
    "shapes": (lambda m: m.add(np.zeros(3), np.zeros(4)), "Shape mismatch"),
    "globals": (lambda m: m.scaled(1.0), "see set()"),
    "cast": (lambda m: m.add.map("NoSuchType")(1.0, 2), "map() names 'NoSuchType'"),
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
    """W1: the text names the Python function, and nothing of C."""
    use, expected = CASES[case]
    with pytest.raises((spy.Error, IndexError)) as error:
        use(m)
    text = str(error.value)
    assert expected in text
    assert not re.search(r"\bspyi?_|\bSPY_|\bdesc\.|\boptions\.", text), text


def test_quoted_code_stays(m):
    """W2: what the compiler quotes is not translated."""
    with pytest.raises(spy.SlangCompileError) as error:
        spy.Module.load_from_source(m.device, "quoted", "struct D { int shape; }; int f(D d) { D desc = d; return spy_cast + desc.shapes; }")
    assert "spy_cast" in str(error.value)


@pytest.mark.parametrize("call, words", [
    (lambda m: m.add(1, "x"), "add: argument 'b': Unsupported type"),
    (lambda m: m.add("x", 1), "add: argument 'a': Unsupported type"),
    (lambda m: m.add(1, b="x"), "add: argument 'b': Unsupported type"),
    (lambda m: m.pair({"a": 1, "b": "x"}), "pair: argument 'p': field 'b': Unsupported type"),
    (lambda m: m.add.map(b=())(1, "x"), "add: argument 'b': Unsupported type"),
    (lambda m: m.Pair.total("x"), "Pair::total: argument 'this': Unsupported type"),
    (lambda m: m.Pair.total.bind("x")(), "Pair::total: argument 'this': Unsupported type"),
    (lambda m: m.two("x", 1), "two: argument 1: Unsupported type"), # overloads call it x and u
    (lambda m: m.two(1, "x"), "two: argument 'y': Unsupported type"),
    (lambda m: m.add(1, 2, "x"), "add: argument 3: Unsupported type"), # there is no third
])
def test_parameters_by_name(m, call, words):
    """W1: the parameter's name where it is known, else its number."""
    with pytest.raises(TypeError) as error:
        call(m)
    assert str(error.value).startswith(words)


def test_log_speaks_python(device):
    """W5: messages of the log too."""
    seen = []
    with spy.create_device(log=lambda level, message: seen.append(message)) as d:
        with pytest.raises(spy.SlangCompileError):
            spy.Module.load_from_source(d, "x", "int f() { return nope; }")
    assert seen and seen[0].startswith("Module.load_from_source: module 'x' does not compile")

"""Values whose own code changes what is being read, values that contain themselves, and strings that are not valid names. Each is an
exception that says which function, which argument, what was expected and what came. Nothing crashes, and nothing is written in part.
Issue 13: 22, 26 (NUL), 27 (Ctrl-C at the end), 29. The step python-asan of tests/run finds memory errors that do not crash."""
import gc
import os
import signal
import sys
import types

import numpy as np
import pytest

import slangpy as spy
from test_errors import fails
from test_threads import interrupted, slow_work

SOURCE = """
import slangpy;
uniform float gain;
struct Pair { float a; float b; float sum() { return a + b; } };
struct Nest { Pair p; float c; };
float one(float x) { return x; }
float add(float a, float b) { return a + b; }
float pair(Pair p) { return p.a + p.b; }
float nest(Nest n) { return n.p.a + n.c; }
int over(int a) { return 1; }
int over(int a, int b, int c) { return 3; }
void inc(inout float x) { x += 1; }
void fill(out float x) { x = 3; }
float scaled(float x) { return x * gain; }
[Differentiable] float square(float x) { return x * x; }
"""


@pytest.fixture(scope="module")
def m(load):
    return load(SOURCE)


class Runs:
    """A number whose __float__ runs some code first."""

    def __init__(self, code, value=1.0):
        self.code, self.value = code, value

    def __float__(self):
        self.code()
        gc.collect()
        return self.value


class RunsIndex(Runs):
    def __index__(self):
        self.code()
        return 1

    __float__ = None


# >>what changes while it is read


@pytest.mark.parametrize("make", [Runs, RunsIndex])
@pytest.mark.parametrize("change", [
    lambda l: l.extend([1.0] * 100000), lambda l: l.clear(), lambda l: l.append([1.0]), lambda l: l.__setitem__(slice(None), [[1.0]] * 50)])
def test_a_list_that_changes(m, make, change):
    """A list that changes during its conversion is converted as it was at the beginning."""
    values = []
    values += [make(lambda: change(values)) if make is Runs else Runs(lambda: change(values)), 2.0, 3.0]
    assert m.one(values, _result="numpy").tolist() == [1, 2, 3]


def test_rows_that_change(m):
    """Rows of a nested list that other rows change are converted as they were at the beginning."""
    for first in (True, False):
        row = [1.0, 2.0]
        changing = [Runs(lambda: row.extend([1.0] * 100000)), 4.0]
        rows = [changing, row] if first else [row, changing]
        if first:
            fails(ValueError, "one: argument 'x': Unsupported type: a ragged list: expected 2 items in dimension 1.*got 100002", m.one, rows)
        else:
            assert m.one(rows, _result="numpy").tolist() == [[1, 2], [1, 4]]


def test_each_number_is_asked_once(m):
    asked = []
    assert m.one([Runs(lambda: asked.append(1)), Runs(lambda: asked.append(2), 5.0)], _result="numpy").tolist() == [1, 5]
    assert asked == [1, 2]


def test_numbers_of_lists(m, load):
    """A list of ints stays ints until a float comes; numbers that no type can hold together are refused. (Feature C1.)"""
    i = load("int64_t l(int64_t x) { return x; } uint64_t u(uint64_t x) { return x; } double d(double x) { return x; }")
    assert i.l([2**62, -1, True], _result="numpy").tolist() == [2**62, -1, 1]
    assert i.u([2**64 - 1, 0], _result="numpy").tolist() == [2**64 - 1, 0]
    assert i.d([2**63, -1, 0.5, True], _result="numpy").tolist() == [2.0**63, -1, 0.5, 1]
    assert i.d([-1, 2**63, 3, 0.5], _result="numpy").tolist() == [-1, 2.0**63, 3, 0.5]
    fails(OverflowError, "l: argument 'x': the list's numbers fit no integer type", i.l, [2**63, -1])
    fails(OverflowError, "fits no integer type", i.l, [2**64])
    fails(OverflowError, "an int of thousands of digits", i.l, [10**6000])
    fails(OverflowError, "an int of thousands of digits", i.l, 10**6000)
    assert m.one([spy.float3(1, 2, 3), [4, 5, 6]], _result="numpy").tolist() == [[1, 2, 3], [4, 5, 6]]


def test_dicts_with_other_keys(m, device):
    """Dicts with keys that are not str are refused wherever fields are read by name."""
    for bad in ({b"a": 2.0}, {"a": 1.0, 7: 2.0}, {("a",): 1.0}):
        for value in (bad, [bad, bad], {"p": bad, "c": 1.0}, {"p": [bad, bad], "c": 1.0}):
            fails(TypeError, "argument .*expected field names of str, got a key of <class '(bytes|int|tuple)'>",
                  m.nest if "p" in value else m.pair, value)
        tensor = spy.Tensor.zeros(device, (2,), m.Pair)
        fails(TypeError, "copy_from_numpy: expected field names of str", tensor.copy_from_numpy, {k: np.zeros(2) for k in bad})
        fails(TypeError, "Tensor.full: argument 'fill_value': expected field names of str", spy.Tensor.full, device, (2,), bad, m.Pair)
        fails(TypeError, "cursor.write: expected field names of str", tensor.cursor()[0].write, bad)
        fails(TypeError, "scaled: expected field names of str", m.scaled.set(bad), 1.0)
        fails(TypeError, "one: expected field names of str", m.one.constants(bad), 1.0)
        fails(TypeError, "'defines': expected field names of str", spy.Module.load_from_source, device, "d", "", options={"defines": bad})
    pair = spy.DiffPair({"a": 1.0, "b": 2.0}, {b"a": 0.0})
    fails(TypeError, "gradient: expected field names of str", m.pair.bwds, pair, _result=spy.DiffPair(None, 1.0))


def test_dicts_that_change(m, device):
    """A dict is read once; values that change the dict while they are converted do not change the argument."""
    def value(target):
        return {"a": Runs(lambda: (target.clear(), target.update({"x%d" % i: 1 for i in range(200)}))), "".join(["b"]): 2.0}

    v = {}
    v.update(value(v))
    assert m.pair({"a": [v["a"], 2.0], "b": v["b"]}, _result="numpy").tolist() == [3, 4]
    v = {}
    v.update(value(v))
    assert m.pair(v) == 3
    rows = [{}, {}]
    rows[0].update(value(rows[1]))
    rows[1].update({"a": 5.0, "b": 6.0})
    assert m.pair(rows, _result="numpy").tolist() == [3, 11]
    v = {}
    v.update(value(v))
    assert spy.Tensor.full(device, (1,), v, m.Pair).to_numpy(structured=True).tolist() == [(1, 2)]
    outer = {"c": 3.0}
    outer["p"] = value(outer)
    cursor = spy.Tensor.zeros(device, (1,), m.Nest).cursor()
    cursor[0].write(outer)
    assert cursor[0].read() == {"p": {"a": 1, "b": 2}, "c": 3}


def test_rows_of_dicts_with_hostile_keys(m):
    """Code in the comparison of keys may remove rows of the list that is being converted."""
    rows = []

    class Key(str):
        __hash__ = str.__hash__

        def __eq__(self, other):
            for row in rows:
                row.clear()
            return str.__eq__(self, other)

    rows += [{"a": 1.0, Key("b"): 2.0}, {Key("a"): 1.0, "b": 2.0}]
    fails((ValueError, TypeError), "pair: argument 'p': expected a list of dicts with the same fields", m.pair, rows)


def test_defines_that_change(device):
    """Values of defines may add further defines while they are read."""
    defines = {}

    class Adds:
        def __str__(self):
            defines.clear()
            defines.update(("K%d" % i, i) for i in range(10000))
            gc.collect()
            return "7"

    defines.update({"".join(["N", "7"]): Adds(), "M": 2})
    m = spy.Module.load_from_source(device, "defines_change", "int f(int x) { return x + N7 * M; }", options={"defines": defines})
    assert m.f(1) == 15


def test_options_whose_warning_changes_them(device, recwarn):
    options = {"nonsense%d" % i: i for i in range(3)}

    class Name(str):
        def __repr__(self):
            options.clear()
            return "name"

    options[Name("more")] = 1
    options["last"] = 2
    assert spy.Module.load_from_source(device, "options_change", "int f(int x) { return x; }", options=options).f(1) == 1


def test_globals_that_change(m):
    """A cursor that write() gave may be kept and change the globals while they are converted."""
    kept = []

    def write(cursor):
        kept.append(cursor)
        cursor["gain"] = Runs(lambda: [kept[0].__setitem__("x%d" % i, 1.0) for i in range(1000)], 3.0)

    assert m.scaled.write(write)(2.0) == 6


def test_a_cursor_loaded_meanwhile(m, device):
    """Code of a value may load the cursor that the value is written to."""
    cursor = spy.Tensor.from_numpy(device, np.array([[1, 2]], np.float32), dtype=m.Pair).cursor()
    cursor[0].b = 9.0
    cursor[0].a = Runs(cursor.load, 5.0)
    assert cursor[0].read() == {"a": 5, "b": 2}
    place = cursor[0]
    cursor.load()
    assert repr(place) == "{'a': 1.0, 'b': 2.0} [Pair]" and place.read() == {"a": 1, "b": 2}


def test_a_device_closed_meanwhile():
    """close() during a use of the device is refused; between two uses of one call it closes the device, and the call fails."""
    d = spy.create_device()
    m = spy.Module.load_from_source(d, "closed", SOURCE)
    tensor = spy.Tensor.zeros(d, (1,))

    class Array:
        def __array__(self, *args, **kwargs):
            d.close()
            return np.ones(1)

    for use in (lambda: spy.Tensor.full(d, (3,), {"a": Runs(d.close), "b": 1.0}, m.Pair), lambda: tensor.copy_from_numpy(Array()),
                lambda: tensor.cursor().__setitem__(0, Runs(d.close))):
        fails(spy.Error, "Device.close: the device is in use by this thread", use)
    logged = []
    d.log = lambda level, text: logged.append(fails(spy.Error, "Device.close: the device is in use", d.close))
    fails(spy.Error, "does not compile", spy.Module.load_from_source, d, "broken", "float f() { return y; }")
    d.log = None
    fails(spy.Error, "call: the device is closed", m.one, [Runs(d.close)])
    assert d.is_closed


def test_objects_of_closed_devices(m, device):
    """Objects of a closed device, whose memory has been freed, are refused."""
    other = spy.create_device()
    tensor, buffer, module = spy.Tensor.zeros(other, (4,)), other.create_buffer(64), spy.Module.load_from_source(other, "o", "")
    encoder, mine = other.create_command_encoder(), spy.Tensor.zeros(device, (4,))
    for closed in (False, True):
        e = device.create_command_encoder()
        uses = [lambda: mine.point_to(tensor), lambda: e.copy_tensor(mine, tensor), lambda: e.copy_buffer(mine, 0, buffer, 0, 16),
                lambda: e.clear_buffer(buffer), lambda: e.upload_buffer_data(buffer, 0, b"1234"), lambda: e.fill_tensor(tensor, 1.0),
                lambda: m.one.dispatch_indirect(tensor, 1.0), lambda: spy.BufferCursor(None, m.Pair, buffer),
                lambda: spy.Module.load_from_source(device, "linked", "", link=[module]), lambda: m.one(tensor), lambda: m.one(1.0, _result=tensor),
                lambda: m.one(spy.DiffPair(tensor, tensor))]
        for use in uses:
            fails((ValueError, spy.Error), "another device", use)
        fails((ValueError, spy.Error), "another device|closed", m.one, 1.0, _append_to=encoder)
        fails((ValueError, spy.Error), "another device|closed", mine.clear, encoder)
        fails(IndexError, "expected at most 32 indices, got 40", tensor.__getitem__, (0,) * 40)
        other.close()


def test_a_capsule_consumed_meanwhile(m):
    """DLPack memory stays until the call has run, though another argument's code consumes the capsule."""
    class Producer:
        def __init__(self):
            self.array = np.full(50000, 3, np.float32)

        def __dlpack_device__(self):
            return (1, 0)

        def __dlpack__(self, **keywords):
            if self.array is not None:
                self.capsule, self.array = self.array.__dlpack__(), None
            return self.capsule

    p = Producer()

    def consume():
        np.from_dlpack(p)

    with pytest.raises(ValueError, match="PyCapsule_GetPointer called with incorrect name"):  # numpy's own message
        m.add(p, Runs(consume))
    assert m.add(p, 1.0, _result="numpy").tolist() == [4] * 50000
    assert m.add(p, p, _result="numpy").tolist() == [6] * 50000
    assert m.add(p.capsule, p, _result="numpy")[0] == 6
    assert np.from_dlpack(p)[7] == 3  # the memory is unchanged
    fails(TypeError, "that nobody has consumed, got a capsule named used_dltensor", m.add, p, 1.0)


def test_many_buffers(m):
    """Each of a call's buffers is held until it has run."""
    arrays = [bytearray(np.float32([i]).tobytes()) for i in range(20)]

    class Resizes:
        def get_this(self):
            for a in arrays:
                with pytest.raises(BufferError):
                    a.extend(b"1234")
            return 1.0

    f = spy.Module.load_from_source(m.device, "many", "float f({}) {{ return {}; }}".format(
        ", ".join("float a%d" % i for i in range(21)), " + ".join("a%d" % i for i in range(21)))).f
    assert f(*[memoryview(a).cast("f") for a in arrays], Resizes(), _result="numpy").tolist() == [191]
    arrays[0].extend(b"1234")


def test_loggers_that_go(m):
    class Logger:
        def __call__(self, level, text):
            pass

        def __del__(self):
            spy._slangpy._set_logger(None)

    try:
        for _ in range(3):
            spy._slangpy._set_logger(Logger())
    finally:
        from slangpy import logger
        spy._slangpy._set_logger(None)  # the last of them goes, and takes with it what is set before
        spy._slangpy._set_logger(logger._from_device)
    seen = []
    output = spy.Logger.get().add_output(type("Seen", (), {"write": lambda self, level, name, msg: seen.append(msg)})())
    spy.Module.load_from_source(m.device, "told_after", "int f(int x) { return x; }\n#warning told_after\n")
    spy.Logger.get().remove_output(output)
    assert sum("told_after" in text for text in seen) == 1  # later tests' messages arrive again


# >>values without an end


def deep(n, wrap, value=1.0):
    for _ in range(n):
        value = wrap(value)
    return value


class Self:
    def get_this(self):
        return self

    def update_this(self, value):
        pass


class Fresh:
    def get_this(self):
        return Fresh()


class Elsewhere:
    asked = 0

    def __dlpack__(self, **keywords):
        return None

    def __dlpack_device__(self):
        self.asked += 1
        return (2, 0) if self.asked % 2 else (1, 0)

    def cpu(self):
        return self


def self_containing():
    values = []
    values.append(values)
    d = {"b": 1.0}
    d["a"] = d
    ref, pair = spy.ValueRef(1.0), spy.DiffPair(1.0, 1.0)
    ref.value, pair.primal = ref, spy.ValueRef(pair)
    return {"list": values, "dict": d, "list of dicts": [d, d], "ref": ref, "pair": pair, "get_this": Self(), "fresh get_this": Fresh(),
            "cpu": Elsewhere(), "deep list": deep(100000, lambda v: [v]), "list of 1,000": deep(1000, lambda v: [v]),
            "deep tuple": deep(100000, lambda v: (v,)), "deep dict": deep(100000, lambda v: {"a": v})}


@pytest.mark.share(4)
@pytest.mark.parametrize("kind", self_containing())
def test_no_end(m, kind):
    """Values that contain themselves raise RecursionError with the function's and the argument's name."""
    value = self_containing()[kind]
    fails(RecursionError, "^one: argument 'x': .*at most 100 levels, got one that is nested deeper or contains itself$", m.one, value)
    fails(RecursionError, "^inc: argument 'x': .*at most 100 levels", m.inc, spy.ValueRef(value))
    fails(RecursionError, "^pair: argument 'p': .*at most 100 levels", m.pair, p={"a": value, "b": value})


def test_no_end_beside_torch(m, monkeypatch):
    """Values that contain themselves raise RecursionError also if the program has imported torch, which makes a failed call search its
    arguments for torch's tensors."""
    class Tensor:
        pass

    monkeypatch.setitem(sys.modules, "torch", types.SimpleNamespace(autograd=None, Tensor=Tensor, bfloat16=None))
    for kind, value in self_containing().items():
        if kind != "cpu" or os.environ.get("SLANGPY_DEVICE_TYPE_OVERRIDE", "").lower() != "cuda":  # where it has the protocol of GPU memory
            fails(RecursionError, "^one: argument 'x': .*at most 100 levels", m.one, value)


def test_types_that_become_each_other(m, device):
    class A:
        def to_cursor(self):
            return A.__new__(A)

    class B:
        pass

    class C:
        pass

    spy.PYTHON_TYPES[B], spy.PYTHON_TYPES[C] = lambda b: C(), lambda c: B()
    try:
        for value in (A(), B(), C()):
            fails(RecursionError, "^one: argument 'x': .*at most 100 levels", m.one, value)
        fails(RecursionError, ".", spy.Tensor.full, device, (2,), {"a": A(), "b": 1.0}, m.Pair)
    finally:
        spy.PYTHON_TYPES.clear()


def test_calls_within_calls(m):
    """Code of a call's argument may make the same call."""
    class This:
        def get_this(self):
            return m.one(This())

    def gain():
        return {"gain": m.scaled.set(gain)(1.0)}

    for call in (lambda: m.one(This()), lambda: m.one([Runs(lambda: call())]), lambda: m.scaled.set(gain)(1.0), lambda: m.one.explain(This())):
        fails(RecursionError, "(one|scaled): expected at most 64 calls within each other's arguments", call)
    assert m.one(2.0) == 2  # the recursion count has returned to 0


# >>names


def test_nul(m, device):
    """Strings with a NUL character are refused, because C would cut them off."""
    text = r"expected text without NUL characters, got '.*\\x00"
    for use in (lambda: m["add\0x"], lambda: spy.Tensor.zeros(device, (1,), m.Pair).cursor()[0]["a\0x"], lambda: m.find_function("add\0x"), lambda: m.Pair["sum\0x"], lambda: m.add(1.0, **{"b\0x": 2.0}),
                lambda: m.add(1, 2, **{"_result\0": "numpy"}), lambda: m.pair({"a\0x": 1.0, "b": 2.0}), lambda: m.pair([{"a\0x": 1.0, "b": 2.0}]),
                lambda: m.one.prelude("// x\0 y"), lambda: m.scaled.set(**{"gain\0x": 2.0})(1.0), lambda: m.one.constants({"a\0": 1})(1.0),
                lambda: m.one.type_conformances(["A : B\0"])(1.0), lambda: m.layout.find_type_by_name("Pair\0x"),
                lambda: spy.Module.load_from_source(device, "n", "", options={"defines": {"A\0": 1}}),
                lambda: spy.Module.load_from_source(device, "n", "", options={"defines": {"A": "1\0"}})):
        assert not fails(ValueError, text, use).startswith("expected")  # the message says which argument is wrong
    for use in (lambda: spy.Tensor.zeros(device, (2,), "float\0x"), lambda: m.one.map("float\0x")(1.0),
                lambda: spy.Module.load_from_source(device, "n\0x", ""), lambda: spy.Module.load_from_file(device, "n\0x")):
        fails((TypeError, ValueError), r"\\x00|null|NUL", use)
    for owner in (m, m.Pair, spy.Tensor.zeros(device, (1,), m.Pair).cursor()[0]):
        assert not hasattr(owner, "a\0x")
    fails(spy.Error, "NUL", spy.Module.load_from_source, device, "nul", "float f(float x) { return x; }\0 and more")


def test_text_that_is_none(m):
    """Strings with single surrogates, which have no UTF-8 form, are refused."""
    class Says:
        def __str__(self):
            return self.text

    for Says.text in ("\ud800", "torch.float\0"):  # these objects are taken for a dtype by their text
        fails(TypeError, "Tensor.zeros: argument 'dtype': expected a type of a module", spy.Tensor.zeros, m.device, (2,), Says())
    for use in (lambda: m.one.prelude("// \ud800"), lambda: m.pair({"\ud800": 1.0, "b": 2.0}), lambda: m.one(**{"\ud800": 1.0}), lambda: m["\ud800"]):
        fails(ValueError, r"expected text that UTF-8 can encode, got '.*\\ud800", use)


# >>bad values


def test_bad_values(m, device):
    """Errors of wrong values name the function and the argument, and say what was expected and what came."""
    t = spy.Tensor.zeros(device, (4,))
    for value, name in ((None, "NoneType"), ("1", "str"), (1j, "complex"), (b"abcd", "bytes"), (float, "type")):
        fails(TypeError, r"^one: argument 'x': Unsupported type <class '%s'>.*; expected float$" % name, m.one, value)
        fails(TypeError, r"^add: argument 'b': Unsupported type <class '%s'>.*; expected float$" % name, m.add, 1.0, b=value)
        fails(TypeError, r"^pair: argument 'p': field 'b': Unsupported type <class '%s'>" % name, m.pair, {"a": 1.0, "b": value})
    fails(TypeError, "'x': expected float, got struct of 1 fields", m.one, {"a": 1.0})
    fails(TypeError, "^over: argument 'a': Unsupported type <class 'str'>; expected int$", m.over, "1")
    fails(TypeError, "numpy.frombuffer", m.one, b"1234")
    for value, text in (([[1, 2], [3]], "expected 2 items in dimension 1, as at its beginning, got 1"),
                        ([1, [2]], "expected numbers in dimension 0, as at its beginning, got a list"),
                        ([[1], 2], "expected lists in dimension 0, as at its beginning, got a number"),
                        ([[[1, 2]], [[1, 2], [3, 4]]], "expected 1 items in dimension 1, as at its beginning, got 2")):
        fails(ValueError, "^one: argument 'x': Unsupported type: a ragged list: " + text, m.one, value)
    fails(ValueError, "^one: argument 'x': Unsupported type: expected a list of at most 8 dimensions, got one of 30", m.one, deep(30, lambda v: [v]))
    for value in (3, 2.5, True, [1.0], (1, 2), np.float32(1), spy.float3(1)):
        fails(spy.Error, "^one: argument '_result': expected 'numpy'.* or what can be written: .*, got <class", m.one, t, _result=value)
    for value, got in ((-1, -1), ((-3, 2), -3), ((2, -5), -5)):
        fails(ValueError, "^one: argument '_thread_count': expected sizes from 1 on, got %d" % got, m.one, 1.0, _thread_count=value)
    fails(OverflowError, "^one: argument '_thread_count': expected sizes of at most 63 bits", m.one, 1.0, _thread_count=2**70)
    fails(TypeError, "^one: argument '_thread_count': expected a shape", m.one, 1.0, _thread_count=(2.5,))
    fails(spy.Error, "Pair has 2 fields, got 3; it has no field 'c'", m.pair, {"a": 1.0, "b": 2.0, "c": 3.0})
    fails(KeyError, "Pair has 2 fields, got 3; it has no field 'c'", spy.Tensor.full, device, (1,), {"a": 1.0, "b": 2.0, "c": 3.0}, m.Pair)
    fails(TypeError, "'x' is an out parameter: expected a Tensor.*, got an input, float host array", m.fill, [3.0])
    text = fails(spy.Error, "^over: the arguments fit no overload", m.over, 1, 2)
    assert "Too many arguments: expected 1, got 2" in text and "Parameter 'c' not specified" in text
    for value in (None, "x", b"a", [1.0]):
        fails(TypeError, "^Tensor.full: argument 'fill_value': expected a number for float, got <class", spy.Tensor.full, device, (2,), value)
        fails(TypeError, "^cursor: expected a number for float, got <class", t.cursor().__setitem__, 0, value)
    fails(TypeError, "Tensor.zeros: expected a shape .*, got <class 'float'> in it", spy.Tensor.zeros, device, (2.0,))
    fails(IndexError, "Tensor: expected an index within a dimension", t.__getitem__, 2**80)


def test_no_gradient(m, device):
    """.grad of a tensor without a gradient is an error that says how to get one."""
    t = spy.Tensor.zeros(device, (4,))
    fails(AttributeError, r"^Tensor.grad: expected a tensor with gradients, got one without; with_grads\(\)", lambda: t.grad)
    assert not hasattr(t, "grad") and t.grad_in is None and t.grad_out is None
    fails(spy.Error, "'_result' has no gradient", m.square.bwds, t, _result=t)


def test_misspelled(m):
    """Errors of misspelled names list the nearest names."""
    fails(AttributeError, "Type 'Pair' has no function or type named 'summ', did you mean 'sum'\\?", getattr, m.Pair, "summ")
    fails(KeyError, "Type 'Pair' has no function or type named 'sun', did you mean 'sum'\\?", m.Pair.__getitem__, "sun")
    fails(AttributeError, "InstanceTensor of Pair has no field or method named 'summ', did you mean 'sum'\\?", getattr, spy.InstanceTensor(m.Pair, 2), "summ")
    fails(AttributeError, "has no function or type named 'wholly_other'$", getattr, m.Pair, "wholly_other")


@pytest.mark.parametrize("luid", [[1], [], [0] * 16, [1] * 16, [1] + [0] * 14, [1] + [0] * 16, ["1"] + [0] * 15, [256] + [0] * 15, "x" * 16, 5, {1: 2}])
def test_luids(luid):
    """A LUID that is not 16 bytes is refused."""
    fails(ValueError, "create_device: argument 'adapter_luid': expected the 16 bytes that enumerate_adapters", spy.create_device, adapter_luid=luid)


def test_missing_files(device, tmp_path):
    """Errors of missing files say why, and where the files were searched."""
    fails(spy.Error, "nothing_there.slang: the file cannot be read: no such file; searched .*current folder", device.load_module, "nothing_there.slang")


def test_close_callbacks_that_raise(monkeypatch):
    """If close callbacks raise, all are still called, the device closes, the first exception reaches the caller, and others are printed."""
    d = spy.create_device()
    called, printed = [], []
    monkeypatch.setattr(sys, "unraisablehook", lambda error: printed.append(error.exc_value))

    def bad(device):
        called.append(device.is_closed)
        raise ZeroDivisionError("first")

    def worse(device):
        called.append(device.is_closed)
        device.close()  # it is closing
        raise KeyError("second")

    for callback in (bad, worse, lambda device: called.append(3)):
        d.register_device_close_callback(callback)
    fails(ZeroDivisionError, "first", d.close)
    assert d.is_closed and called == [False, False, 3]
    d.close()
    assert [type(e) for e in printed] == [KeyError]


def test_sizes_of_shapes():
    """Shapes may have more elements than 64 bits can count; strides of more than 63 bits are refused."""
    assert spy.Shape((2**40, 2**40)).element_count == 2**80
    fails(OverflowError, "Shape: expected strides of at most 63 bits", spy.Shape((2**40, 2**40, 2**40)).calc_contiguous_strides)
    assert spy.Shape((2**40, 2**40, 5)).calc_contiguous_strides() == (5 * 2**40, 5, 1)


def test_classes_that_lie(m):
    """Objects whose metaclass gives wrong attributes never cause a SystemError."""
    class Meta(type):
        __mro__ = property(lambda self: [1])
        __name__ = property(lambda self: 3)

    class Lies(metaclass=Meta):
        pass

    class Result(spy.Tensor, metaclass=Meta):
        pass

    class Known:
        pass

    spy.PYTHON_TYPES[Known] = float
    try:
        fails(TypeError, "one: argument 'x': Unsupported type", m.one, Lies())
    finally:
        spy.PYTHON_TYPES.clear()
    fails(ValueError, "one: argument '_result': expected 'numpy', 'tensor', 'texture', Tensor", m.one, 1.0, _result=Lies)
    assert isinstance(m.one(1.0, _result=Result), spy.Tensor)


# >>the end


@pytest.mark.share(1)
@pytest.mark.parametrize("ending", ["d.wait()", "with d: d.wait()", "time.sleep(30)"])
def test_interrupt_at_the_end(ending):
    """Ctrl-C during a long kernel at the end of a program ends the process within a second."""
    code, out, err, took = interrupted(slow_work(0.05) + """
        for _ in range(int(20 / took) + 1): m.slow(x, n, _result=x)
        print("at the end", flush=True)
        %s
    """ % ending, "at the end", 0.3)
    assert code == -signal.SIGINT, out + err
    assert took < 10, took  # 0.2 s on an idle machine, where the work itself would take 20 s
    assert err.count("Traceback") <= 1

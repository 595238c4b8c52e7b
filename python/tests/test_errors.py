"""Errors of calls: exception types, the words that users match on, and that a failed call neither loses nor keeps anything. Features W1,
W2, C14, V2, V3, V5, C1, C13 and the part 'Bad input' of issue 5."""
import gc
import subprocess
import sys
import textwrap
import weakref

import numpy as np
import pytest

import slangpy as spy

SOURCE = """
import slangpy;
int one(int x) { return x; }
float add(float a, float b) { return a + b; }
float f3(float3 v) { return v.x; }
uint8_t byte(uint8_t x) { return x; }
half half_(half x) { return x; }
int over(int a) { return 1; }
int over(int a, int b, int c) { return 3; }
struct Pair { int a; float b; };
float pair(Pair p) { return p.b; }
void out_(float a, out float r) { r = a; }
void inout_(inout int n) { n += 1; }
float whole(Tensor<float, 2> t) { return t[0, 0]; }
struct Counter { int n; [mutating] void up() { n++; } int get() { return n; } };
T gen<T : IArithmetic>(T a, T b) { return a + b; }
"""


@pytest.fixture(scope="module")
def m(load):
    return load(SOURCE)


def fails(kind, match, call, *args, **kwargs):
    """Checks that the call raises `kind` with `match` in the text; returns the text."""
    with pytest.raises(kind, match=match) as e:
        call(*args, **kwargs)
    return str(e.value)


# >>counts and names


def test_too_many_arguments(m):
    """Too many arguments raise 'Too many arguments: expected 1, got 2'. (Feature C14.)"""
    text = fails(ValueError, "Too many arguments: expected 1, got 2", m.one, 1, 2)
    assert text.startswith("one: ") and "int one(int x)" in text


def test_no_parameter_named(m):
    """An unknown name raises 'No parameter named'. (Feature C14.)"""
    fails(spy.Error, "No parameter named 'z'", m.one, z=1)


def test_not_specified(m):
    """A missing argument raises "Parameter 'a' not specified". (Feature C14.)"""
    fails(spy.Error, "Parameter 'b' not specified", m.add, 1)
    fails(spy.Error, "Parameter 'a' not specified", m.add, b=1)


def test_specified_multiple_times(m):
    """An argument that is given by position and by name is an error. (Feature C14.)"""
    fails(ValueError, "Parameter 'a' specified multiple times", m.add, 1, a=1)


def test_more_arguments_than_any_call_has(m):
    """More arguments than any call can have are an error. (Feature C14.)"""
    fails((TypeError, ValueError), "Too many arguments", m.one, *range(100))


def test_map_names(m):
    """map() of a parameter that does not exist is an error. (Feature V6.)"""
    fails(ValueError, "add.map: No parameter named 'z'", m.add.map, z=(0,))


# >>names of modules


def test_missing_names(m):
    """The error 'has no function or type named' lists similar names. (Feature M3.)"""
    text = fails(AttributeError, "has no function or type named 'ad'", getattr, m, "ad")
    assert "add" in text
    fails(KeyError, "has no function or type named 'nothing<3>'", m.__getitem__, "nothing<3>")
    assert not hasattr(m, "nothing") and getattr(m, "nothing", 5) == 5


# >>types


@pytest.mark.parametrize("value", [None, "text", object(), 1j, float, np.float32, {1, 2}, lambda: 0, spy, type, ..., [None], ["a"], [1, [2]], [[1, 2], [3]]])
def test_unsupported_types(m, value):
    """The error 'Unsupported type' names the function, the argument and the type. (Feature C1.)"""
    fails((TypeError, ValueError), "one: argument 'x': Unsupported type", m.one, value)
    fails((TypeError, ValueError), "one: argument 'x': Unsupported type", m.one, x=value)


def test_unsupported_types_in_dicts(m):
    """The error for a field of an unsupported type names the field. (Feature C5.)"""
    fails(TypeError, "pair: argument 'p': field 'b': Unsupported type", m.pair, p={"a": 1, "b": "x"})
    fails(TypeError, "expected field names", m.pair, {1: 2})


@pytest.mark.parametrize("dtype", ["O", "c16", "U3", "M8[s]"])
def test_arrays_of_other_things(m, dtype):
    """Arrays of Python objects and of other unsupported dtypes are refused with their name. (Feature C3.)"""
    fails((TypeError, ValueError, BufferError), ".", m.add, np.zeros(3, dtype), 1)


def test_float_for_int(m):
    """An int parameter refuses 2.5. (Feature C1.)"""
    fails((TypeError, ValueError, OverflowError), "one", m.one, 2.5)
    fails((TypeError, ValueError, OverflowError), "one", m.one, np.float32([1.5]))


@pytest.mark.parametrize("value", [300, -1, 2**70, -2**70])
def test_values_that_do_not_fit(m, value):
    """A uint8_t parameter refuses 300 and does not cut off bits. (Feature C1.)"""
    fails((ValueError, OverflowError), "byte", m.byte, value)
    fails((ValueError, OverflowError), "byte", m.byte, np.array([value], dtype=object) if abs(value) > 2**64 else np.array([value]))if \
        abs(value) < 2**63 else None


def test_device_doubles(m):
    """A float64 tensor for a float parameter is an error; a float64 array of numpy is converted. (Feature C3.)"""
    t = spy.Tensor.empty(m.device, (3,), "double")
    fails(TypeError, "not converted from double to float.*dtype float", m.add, t, 1)


def test_wrong_struct(m, load):
    """Dicts that do not fit a struct are errors. (Feature C5.)"""
    fails(spy.Error, "Pair has 2 fields, got 3", m.pair, {"a": 1, "b": 2, "c": 3})
    fails(spy.Error, "no field 'c'", m.pair, {"a": 1, "c": 3})
    fails(spy.Error, "Other", m.pair, {"_type": "Other", "a": 1, "b": 2})
    fails(TypeError, "expected Pair", m.pair, 5)
    fails(TypeError, "expected float", m.add, {"x": 1}, 1)


def test_outputs_need_a_place(m):
    """A list for an out parameter is an error. A number is accepted, and what the function writes is dropped, as SlangPy does. (Feature
    C8.)"""
    fails(TypeError, "'r' is an out parameter: expected a Tensor, a ValueRef or a writable array", m.out_, 1, [2.0])
    fails(TypeError, "'n' is an inout parameter", m.inout_, [3])


def test_whole_tensors(m):
    """A tensor with too few dimensions for Tensor<float, 2> is an error. (Feature V13.)"""
    fails((TypeError, ValueError), "'t'", m.whole, spy.Tensor.zeros(m.device, (3,)))


def test_generic_mismatch(m):
    """A generic function without a type that fits all arguments is an error. (Feature V5.)"""
    fails(TypeError, "gen", m.gen, {"a": 1}, 2)


# >>overloads


def test_candidates(m):
    """When no overload fits, the message lists all of them, each with the reason. (Features W1, V5.)"""
    text = fails(spy.Error, "over: the arguments fit no overload", m.over, 1, 2)
    assert "int over(int a)" in text and "int over(int a, int b, int c)" in text
    assert "Too many arguments: expected 1, got 2" in text and "Parameter 'c' not specified" in text


# >>shapes


def test_shape_mismatch(m):
    """The error of shapes that do not match has both arguments, their shapes, the dimension, and the table of arguments. (Features V2,
    W1.)"""
    text = fails(ValueError, "Shape mismatch", m.add, np.zeros((2, 3), np.float32), np.zeros(4, np.float32))
    for words in ("'a' has shape (2, 3)", "'b' has shape (4,)", "add", "float host array (2, 3)", "_result"):
        assert words in text


def test_vector_size(m):
    """A float3 parameter refuses an array of shape (N, 2). (Feature V12.)"""
    assert "3" in fails(ValueError, "'v'", m.f3, np.zeros((5, 2), np.float32))


def test_strict(load):
    """The error of strict broadcasting has the words 'Strict broadcasting is enabled'. (Feature V3.)"""
    m = load("float add(float a, float b) { return a + b; }", options={"strict_broadcasting": True})
    fails(ValueError, "Strict broadcasting is enabled", m.add, np.zeros((2, 3), np.float32), np.zeros(3, np.float32))


def test_thread_count_errors(m):
    """Wrong values of _thread_count are errors. (Feature V15.)"""
    fails(TypeError, "_thread_count", m.one, 1, _thread_count="x")
    fails((ValueError, spy.Error), ".", m.one, 1, _thread_count=-3)
    fails(ValueError, "_thread_count", m.one, 1, _thread_count=(1,) * 9)


@pytest.mark.parametrize("bad, kind", [("texture!", ValueError), (float, ValueError), (3, spy.Error), (object(), TypeError), (b"", (TypeError, ValueError))])
def test_bad_results(m, bad, kind):
    """Errors of results name '_result'. (Feature R2.)"""
    fails(kind, "_result", m.add, np.float32([1, 2]), 1, _result=bad)


def test_bad_maps(m):
    """Impossible dimensions in map() are errors. (Feature V6.)"""
    x = np.float32([1, 2])
    fails(ValueError, "'a'", m.add.map((-1,)), x, 1)
    fails(ValueError, "'a'", m.add.map((500,)), x, 1)
    fails(ValueError, "'a'", m.add.map((0, 0)), x, 1)
    fails((LookupError, TypeError), "NoSuchType", m.add.map("NoSuchType"), x, 1)
    fails(TypeError, "^add: argument 'a': expected a type of a module, a numpy dtype or a name, got 3.5$", m.add.map(3.5), x, 1)


def test_bad_encoder(m):
    """_append_to refuses objects that are not encoders. (Feature F2.)"""
    fails(TypeError, "[Ee]ncoder", m.add, 1, 2, _append_to=3)
    fails(TypeError, "append_to", m.add.append_to)


# >>exception types


def test_hierarchy():
    """slangpy.Error is a RuntimeError; the other exceptions also derive from the matching built-in ones. (Feature W2.)"""
    assert issubclass(spy.Error, RuntimeError)
    assert issubclass(spy.ArgumentTypeError, spy.Error) and issubclass(spy.ArgumentTypeError, TypeError)
    assert issubclass(spy.ArgumentValueError, spy.Error) and issubclass(spy.ArgumentValueError, ValueError)
    assert issubclass(spy.NameNotFoundError, spy.Error) and issubclass(spy.NameNotFoundError, LookupError)


def test_compile_errors(load):
    """Errors of the compiler are reported with file and line. (Feature W2.)"""
    with pytest.raises(spy.Error, match=r"does not compile") as e:
        load("float f(float x) {\n return y;\n}")
    assert ".slang:2" in str(e.value) and "y" in str(e.value)


def test_errors_are_taken(m):
    """The error of a failed call is not seen by the next call. (Feature W2.)"""
    for _ in range(3):
        fails(ValueError, "Too many", m.one, 1, 2)
        assert m.one(3) == 3


def test_outputs_stay_as_they_were(m):
    """A call that fails before its launch does not change its outputs. (Feature V2.)"""
    r = np.full(3, 7, np.float32)
    t = spy.Tensor.from_numpy(m.device, r)
    fails(ValueError, "Shape mismatch", m.add, np.zeros(4, np.float32), np.zeros(5, np.float32), _result=r)
    fails(ValueError, ".", m.add, np.zeros(4, np.float32), 1, _result=t)
    ref = spy.floatRef(5)
    fails(TypeError, ".", m.out_, "x", ref)
    assert r.tolist() == [7] * 3 and t.to_numpy().tolist() == [7] * 3 and ref.value == 5


# >>the user's own exceptions


class Mine(Exception):
    pass


@pytest.mark.parametrize("error", [Mine("mine"), TypeError("mine"), ValueError("mine"), KeyboardInterrupt(), UnicodeDecodeError("a", b"", 0, 1, "c")])
def test_get_this_errors(m, error):
    """An exception of get_this() reaches the caller unchanged. (Feature C13.)"""
    class Bad:
        def get_this(self):
            raise error

    for call in (lambda: m.Counter.get(Bad()), lambda: m.Counter.get(this=Bad()), lambda: m.pair({"a": Bad(), "b": 1}),
                 lambda: m.Counter.get.bind(Bad())()):
        with pytest.raises(type(error)) as e:
            call()
        assert e.value is error


def test_update_this_errors(m):
    """An exception of update_this() reaches the caller unchanged. (Feature C13.)"""
    class Bad:
        def get_this(self):
            return {"n": 1}

        def update_this(self, value):
            raise Mine(value)

    with pytest.raises(Mine) as e:
        m.Counter.up(Bad())
    assert e.value.args == ({"n": 2},)


def test_index_errors(m):
    """Exceptions that __index__ and __float__ raise reach the caller. (Feature C1.)"""
    class Bad:
        def __index__(self):
            raise Mine()

    class BadFloat:
        def __float__(self):
            raise TypeError("mine")

    with pytest.raises(Mine):
        m.one(Bad())
    with pytest.raises(TypeError, match="^mine$"):
        m.add(1, BadFloat())


def test_bad_values_of_get_this(m):
    """A get_this() that gives an unusable value is an error. (Feature C13.)"""
    class Bad:
        def get_this(self):
            return "text"

    fails(TypeError, "Counter::get: argument 'this': Unsupported type", m.Counter.get, Bad())


# >>nothing leaks


def failing_calls(m):
    x = np.zeros(4, np.float32)
    t = spy.Tensor.zeros(m.device, (4,))
    return [
        (lambda *a: m.one(*a), [10**6 + 1, 10**6 + 2]), (lambda a: m.one(z=a), [x]), (lambda a, b: m.add(a, b), [x, np.zeros(3, np.float32)]),
        (lambda a: m.pair({"a": a, "b": "x"}), [t]), (lambda a: m.pair({"a": a, "c": a}), [t]), (lambda a: m.add(a, 1, _result="nope"), [t]),
        (lambda a: m.add(a, "x"), [t]), (lambda a: m.add.map((3, 4))(a, 1), [t]), (lambda a: m.inout_(a), [[3.0]]),
        (lambda a: m.out_(1, a), [spy.ValueRef("x")]), (lambda a: m.add(a, _thread_count="x"), [t]), (lambda a: m.gen(a, {}), [t]),
        (lambda a: m.one.set(lambda: 3)(a), [t]), (lambda a: m.add(a, 1, _append_to=3), [t]), (lambda a: m.one.dispatch("x", a), [t]),
    ]


@pytest.mark.share(5)
@pytest.mark.parametrize("number", range(15))
def test_references_of_failing_calls(m, number):
    """Failing calls give all references back."""
    call, args = failing_calls(m)[number]

    def once():
        try:
            call(*args)
        except Exception:
            return
        pytest.fail("did not raise")

    for _ in range(3):
        once()
    gc.collect()
    before = [sys.getrefcount(a) for a in args]
    for _ in range(20):
        once()
    gc.collect()
    assert [sys.getrefcount(a) for a in args] == before


def test_blocks_of_failing_calls(m):
    """Failing calls leak no memory blocks."""
    def round_():
        for call, args in calls:
            try:
                call(*args)
            except Exception:
                pass

    calls = failing_calls(m)
    grown = []
    for _ in range(4):  # the interpreter's own caches grow now and then
        gc.collect()
        before = sys.getallocatedblocks()
        for _ in range(20):
            round_()
        gc.collect()
        grown.append(sys.getallocatedblocks() - before)
    assert min(grown) < 20, grown


# >>objects after the end


def test_closed_device():
    """Using an object of a closed device raises an error and never crashes. (Feature D6.)"""
    d = spy.create_device()
    m = spy.Module.load_from_source(d, "closed", "float add(float a, float b) { return a + b; } struct S { int x; };")
    t = spy.Tensor.zeros(d, (3,))
    f, s = m.add, m.S
    g = f.map((0,))
    p = spy.pack(m, 3.0)
    r = spy.ValueRef(1)
    d.close()
    for call in (lambda: f(1, 2), lambda: g(t, 1), lambda: f(t, 1), lambda: f(t, 1, _result=t), lambda: f(r, 1), lambda: f(p, 1), lambda: m.other,
                 lambda: m["add<3>"], lambda: s(1), lambda: f.explain(1, 2), lambda: f.time(1, 2), lambda: f.dispatch(1, 1, 2),
                 lambda: spy.pack(m, 1), lambda: spy.Module.load_from_source(d, "x", "int f() { return 1; }"), lambda: m.reload(),
                 lambda: f.map(zz=(0,))(1, 2), lambda: spy.Tensor.zeros(d, (3,)), lambda: t.to_numpy()):
        with pytest.raises(spy.Error, match="closed"):
            call()
    for o in (f, g, m, s, t, p, r, d):
        repr(o)
    d.close()


def test_tensors_of_other_devices(m):
    """Tensors of another device are refused. (Feature D6.)"""
    with spy.create_device() as d:
        t = spy.Tensor.zeros(d, (3,))
        fails(ValueError, "another device", m.add, t, 1)
        fails(ValueError, "_result", m.add, np.zeros(3, np.float32), 1, _result=t)
        own = spy.Module.load_from_source(d, "own", "int f(int x) { return x; }")
        fails(ValueError, "another device", m.one, spy.pack(own, 3))


def test_cycles_are_collected():
    """Cycles of modules, functions, devices and a user's objects are collected."""
    class Holder:
        pass

    d = spy.create_device()
    m = spy.Module.load_from_source(d, "cycles", "uniform float g; float f(float x) { return x * g; }")
    h = Holder()
    h.function = m.f.set(lambda: {"g": h.value}).bind(None) if False else m.f.set({"g": 1}).set(lambda h=h: {"g": h.value})
    h.value = 2
    h.ref = spy.ValueRef(h)
    d.register_device_close_callback(lambda _, h=h: None)
    assert h.function(3) == 6
    seen = [weakref.ref(d), weakref.ref(m), weakref.ref(h)]
    del d, m, h
    gc.collect()
    gc.collect()
    assert [w() for w in seen] == [None] * 3


def test_modules_are_not_kept():
    """A module is freed when nothing refers to it, including the types of its tensors."""
    d = spy.create_device()
    m = spy.Module.load_from_source(d, "kept", "struct S { float x; }; S f(float x) { S s; s.x = x; return s; }")
    t = m.f(np.zeros(3, np.float32))
    t.dtype
    w = weakref.ref(m)
    del m
    gc.collect()
    assert w() is not None  # the tensor's type refers to the module
    del t
    gc.collect()
    assert w() is None
    d.close()


def test_exit_without_close():
    """A program that ends without closing anything has the exit status 0. (Feature D6.)"""
    script = textwrap.dedent("""
        import slangpy as spy, numpy as np
        d = spy.create_device()
        m = spy.Module.load_from_source(d, "exit", "float f(float x) { return x; }")
        t = m.f(np.zeros(1000000, np.float32))
        f = m.f
        print("done")
    """)
    r = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=100)
    assert r.returncode == 0 and r.stdout == "done\n" and not r.stderr, r.stderr

"""Names: what dir() lists, constants, similar names in errors, and names of SlangPy that this version does not have."""
import subprocess
import sys

import pytest

import slangpy as spy

SOURCE = """
import slangpy;
static const int COUNT = 5;
static const float SCALE = 1.5;
static const bool FLAG = true;
static int counter;
float add(float a, float b) { return a + b; }
float add(float3 a, float3 b) { return a.x + b.x; }
T ident<T>(T x) { return x; }
enum Color { Red, Green = 5 }
interface IShape { float area(); }
struct Circle : IShape {
    static const int SIDES = 1;
    struct Inner { int z; };
    float r;
    float area() { return r * r; }
    static int one() { return 1; }
    [mutating] void grow() { r += 1; }
}
typealias Disc = Circle;
"""


@pytest.fixture(scope="module")
def m(load):
    return load(SOURCE)


def test_dir_of_modules(m):
    """dir() of a module lists functions, types, aliases and constants once, beside what every module has. (Feature M3.)"""
    names = dir(m)
    assert {"add", "ident", "Color", "IShape", "Circle", "Disc", "COUNT", "SCALE", "FLAG", "load_from_source", "name"} <= set(names)
    assert names.count("add") == 1 and "counter" not in names and "r" not in names
    for name in set(names) - set(dir(spy.Module)):
        assert getattr(m, name) is not None


def test_dir_of_types(m):
    """dir() of a type lists its methods, nested types and constants. (Features M3, I1.)"""
    own = set(dir(m.Circle)) - set(dir(spy.Struct))
    assert own == {"area", "one", "grow", "Inner", "SIDES"}
    for name in own:
        assert getattr(m.Circle, name) is not None
    assert set(dir(m.Color)) - set(dir(spy.Struct)) == {"Red", "Green"}
    assert set(dir(m.float3)) == set(dir(m.Circle)) - own


def test_dir_follows_reloads(device):
    """After a reload dir() and the values of constants are those of the new text. (Features M3, M7.)"""
    m = spy.Module.load_from_source(device, "listed", "static const int N = 1; int f() { return N; }")
    assert m.N == 1 and "f" in dir(m) and "g" not in dir(m)
    m.reload("static const int N = 2; int g() { return N; }")
    assert m.N == 2 and "g" in dir(m) and "f" not in dir(m)


def test_constants(m):
    """Constants whose value Slang knows are attributes of a module; other constants are not. (Feature M3.)"""
    assert m.COUNT == 5 and m["COUNT"] == 5 and m.SCALE == 1.5 and m.FLAG is True and m.Circle.SIDES == 1
    assert m.Color.Red == 0 and m.Color.Green == 5
    assert m.find_function("COUNT") is None and m.find_struct("COUNT") is None
    with pytest.raises(ValueError, match="'COUNT' is a constant; expected a function"):
        m.require_function("COUNT")
    with pytest.raises(AttributeError):
        m.counter


def test_missing_names(m):
    """The error for a missing name has the name once, similar names, and no quotes around the text. (Feature M3.)"""
    text = "Module '{}' has no function or type named '{}'"
    for name, more in (("ad", ", did you mean 'add'"), ("nothing_of_the_kind", "")):
        with pytest.raises(AttributeError) as error:
            getattr(m, name)
        expected = text.format(m.name, name) + more
        assert str(error.value).startswith(expected) and str(error.value).count("'%s'" % name) == 1
        with pytest.raises(KeyError) as error:
            m[name]
        assert str(error.value).startswith(expected) and "spy_" not in str(error.value)
        with pytest.raises(ValueError) as error:
            m.require_function(name)
        assert str(error.value).startswith(expected)
    with pytest.raises(KeyError) as error:
        m.Circle["volume"]
    assert str(error.value) == "Type 'Circle' has no function or type named 'volume'"
    assert isinstance(error.value, spy.Error)


@pytest.mark.parametrize("name, why", [
                                       ("create_acceleration_structure", "ray tracing"), ("TorchModule", "modules of torch"),
                                       ("create_shader_table", "ray tracing"), ("get_coop_vec_matrix_size", "cooperative vectors"), ("Window", "outside its scope")])
def test_names_of_other_versions(name, why):
    """The error for a name of SlangPy that is not built says so, and hasattr() is False for it."""
    with pytest.raises(AttributeError) as error:
        getattr(spy, name)
    assert str(error.value).startswith("slangpy.%s is not in this version" % name) and why in str(error.value)
    assert not hasattr(spy, name) and name not in dir(spy)


def test_methods_of_other_versions(device, m):
    """The error for a method of SlangPy that is not built says so; a name that SlangPy does not have gets another error."""
    encoder, buffer = device.create_command_encoder(), device.create_buffer(size=4)
    for owner, name in ((device, "create_texture_from_resource"), (device, "create_ray_tracing_pipeline"), (encoder, "begin_ray_tracing_pass"),
                        (m.add, "ray_tracing")):
        with pytest.raises(AttributeError, match=r"\.%s is not in this version" % name):
            getattr(owner, name)
    for owner in (device, encoder, m.add, buffer, spy):
        with pytest.raises(AttributeError, match="has no attribute 'nothing_of_the_kind'"):
            owner.nothing_of_the_kind


def test_table_is_true(device):
    """The table of names that are not built has no name that exists."""
    from slangpy import absent

    names = [n for group in absent._NAMES.values() for n in group.split()] + absent._OUTSIDE.split()
    assert len(names) == len(set(names)) > 40
    there = [n for n in names if n in dir(spy) or any(n in dir(c) for c in (spy.Device, spy.CommandEncoder, spy.Function, spy.Buffer))]
    assert there == []


def test_table_costs_nothing():
    """The table of names that are not built is read at the first missing name only. (Feature Y7.)"""
    code = "import sys, slangpy; a = 'slangpy.absent' in sys.modules; hasattr(slangpy, 'create_ray_tracing_pipeline'); print(a, 'slangpy.absent' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60).stdout.split() == ["False", "True"]


def test_submodules_are_attributes():
    """`import slangpy` alone makes the submodules attributes, as SlangPy's scripts use them."""
    code = "import slangpy as spy; assert spy.types.call_id is spy.call_id and spy.bindings.PYTHON_TYPES is spy.PYTHON_TYPES and spy.reflection"
    assert subprocess.run([sys.executable, "-c", code], timeout=60).returncode == 0

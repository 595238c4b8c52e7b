"""Modules and functions: loading, looking up, linking, options, and chained functions. Features M1-M6, M8, M10, F1-F5, F7-F9, K1, K2,
V16, R3, I1, I2."""
import gc
import os
import pathlib
import types

import numpy as np
import pytest

import slangpy as spy

SOURCE = """
import slangpy;
extern static const int N = 2;
extern static const float SCALE = 1;
uniform float gain;
struct Light { float3 color; float power; };
struct Scene { Light light; float weights[3]; };
uniform Scene scene;
StructuredBuffer<float> table;
StructuredBuffer<float> tables[2];
StructuredBuffer<float> open_tables[];
float pick(int k, int i) { return tables[k][i]; }
float pick_open(int k, int i) { return open_tables[k][i]; }
float pick_of(StructuredBuffer<float> b[2], int k, int i) { return b[k][i]; }
float scaled(float x) { return x * SCALE; }
int repeat(int x) { int s = 0; for (int i = 0; i < N; i++) s += x; return s; }
float amplify(float x) { return x * gain; }
float lit(float x) { return x * scene.light.color.y * scene.light.power + scene.weights[2]; }
float look(int i) { return table[i]; }
float add(float a, float b) { return a + b; }
struct Foo { float x; float get() { return x; } struct In { int k; }; static float two() { return 2; } };
enum Mode { A, B = 4 };
typealias Real = float;
namespace ns { float half_of(float x) { return x / 2; } }
float generic<T : IArithmetic, let K : int>(T v[K]) { return float(K); }
groupshared float pool[64];
float with_prelude(float x) { return x + 1; }
void fill(uint3 id : SV_DispatchThreadID, RWTensor<float, 1> t, float v) { t[int(id.x)] = v + float(id.x); }
void fill2(uint2 id : SV_DispatchThreadID, RWTensor<float, 2> t) { t[int(id.y), int(id.x)] = float(id.x) + 10 * float(id.y); }
[shader("compute")] [numthreads(32, 1, 1)]
void shader(uint i : SV_DispatchThreadID, Tensor<float, 1> a, RWTensor<float, 1> r, uniform float k) { if (i < r.shape[0]) r[int(i)] = a[int(i)] * k; }
int group_size(int x) { return x; }
"""


@pytest.fixture(scope="module")
def m(load):
    return load(SOURCE)


# >>loading


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib" / "helper.slang").write_text("public float helped(float x) { return x + 100; }\n")
    (tmp_path / "main_file.slang").write_text("import helper;\nfloat f(float x) { return helped(x) * FACTOR; }\n")
    return tmp_path


@pytest.mark.parametrize("make", [dict, lambda **k: types.SimpleNamespace(**k), lambda **k: {"compiler_options": k},
                                  lambda **k: types.SimpleNamespace(compiler_options=types.SimpleNamespace(**k))])
def test_load_options(device, folder, make):
    """Options are a dict or an object, given alone or as compiler_options. (Features M1, M8.)"""
    options = make(include_paths=[folder / "lib"], defines={"FACTOR": "2"})
    m = spy.Module.load_from_file(device, str(folder / "main_file.slang"), options)
    assert m.f(1) == 202


def test_load_paths(device, folder):
    """Paths are str or Path, include paths may be str, and defines may be numbers. (Feature M1.)"""
    options = {"include_paths": [str(folder / "lib")], "defines": {"FACTOR": 3}}
    for path in (str(folder / "main_file.slang"), folder / "main_file.slang"):
        assert spy.Module.load_from_file(device, path, options=options).f(1) == 303


@pytest.mark.parametrize("method", ["load_module", "load_module_from_file"])
def test_load_by_device(device, folder, method):
    """device.load_module_from_file() loads a module. (Feature M2.)"""
    m = getattr(device, method)(folder / "main_file.slang", {"include_paths": [folder / "lib"], "defines": {"FACTOR": "1"}})
    assert m.f(1) == 101 and m.device is device


def test_load_source_by_device(device):
    """device.load_module_from_source() loads a module. (Feature M2.)"""
    m = device.load_module_from_source("from_device", "int f() { return 7; }")
    assert m.f() == 7 and m.name == "from_device"
    assert device.load_module_from_source(module_name="from_device2", source="int f() { return 8; }").f() == 8


def test_names_of_files(device, folder):
    """A module from a file has the file's name. (Feature M1.)"""
    m = spy.Module.load_from_file(device, folder / "lib" / "helper.slang")
    assert m.name == "helper" and "helper" in repr(m)


def test_load_from_module(m):
    """Module.load_from_module() and Module(device_module) use a loaded module. (Feature M1.)"""
    assert spy.Module.load_from_module(m.device, m).add(1, 2) == 3
    assert spy.Module(m).add(1, 2) == 3
    assert m.device_module is not None


def test_device_include_paths(folder):
    """Files and imports are found in create_device(include_paths=...). (Features D1, M1.)"""
    (folder / "user.slang").write_text("import helper;\nfloat f(float x) { return helped(x); }\n")
    with spy.create_device(include_paths=[folder, str(folder / "lib")]) as d:
        assert spy.Module.load_from_file(d, "user.slang").f(1) == 101


def test_unknown_options_warn(device):
    """An unknown option gives a warning that names it. (Feature M8.)"""
    with pytest.warns(UserWarning, match="strict_broadcast"):
        spy.Module.load_from_source(device, "unknown_option", "int f() { return 1; }", {"strict_broadcast": True})


@pytest.mark.parametrize("options, match", [
    ({"optimization": "most"}, "optimization"), ({"debug_info": "x"}, "debug_info"), ({"floating_point_mode": 3}, "floating_point_mode"),
    ({"defines": 4}, "defines"), ({"defines": {4: "x"}}, "defines"), ({"include_paths": [4]}, "include_paths"),
])
def test_bad_options(device, options, match):
    """The error for a bad value of an option names the option. (Feature M8.)"""
    with pytest.raises((TypeError, ValueError), match=match):
        spy.Module.load_from_source(device, "bad_options", "int f() { return 1; }", options)


@pytest.mark.parametrize("options", [{"optimization": "none"}, {"debug_info": "standard"}, {"debug_info": "minimal"}, {"debug_info": "maximal"},
                                     {"floating_point_mode": "fast"}, {"enable_experimental_features": True}, {"debug_info": None}])
def test_good_options(device, options):
    """Options reach the compiler. (Feature M8.)"""
    name = "good_" + "_".join("%s_%s" % kv for kv in options.items())
    assert spy.Module.load_from_source(device, name, "int f() { return 1; }", options).f() == 1


def test_warnings_as_errors(device):
    """With warnings_as_errors a warning is an error. (Feature M8.)"""
    source = "int f(float x) { int y = x; return y; }"
    with pytest.raises(spy.Error):
        spy.Module.load_from_source(device, "warns_strict", source, {"warnings_as_errors": True})


def test_missing_file(device, tmp_path):
    """The error for a missing file has its path. (Feature M1.)"""
    with pytest.raises(spy.Error, match="nothing_here.slang"):
        spy.Module.load_from_file(device, tmp_path / "nothing_here.slang")


def test_wrong_arguments(device):
    """Loading a module refuses a wrong device, path or text. (Feature M1.)"""
    with pytest.raises(TypeError, match="device"):
        spy.Module.load_from_file("device", "x.slang")
    with pytest.raises(TypeError, match="path"):
        spy.Module.load_from_file(device, 4)
    with pytest.raises(TypeError):
        spy.Module.load_from_source(device, "name", 4)
    with pytest.raises(TypeError, match="module"):
        spy.Module.load_from_module(device, 4)
    with pytest.raises(TypeError):
        spy.Module()


def test_precompiled(device, tmp_path):
    """A .slang-module is loaded without its source. (Feature M10.)"""
    m = spy.Module.load_from_source(device, "shipped", "public float f(float x) { return x * 3; }")
    path = tmp_path / "shipped.slang-module"
    m.save(path)
    assert path.stat().st_size > 100
    with spy.create_device() as d:
        assert spy.Module.load_from_file(d, path).f(2) == 6


# >>links


def test_link_completes_externs(load):
    """Constants of a linked module complete the externs of another. (Feature M5.)"""
    values = load("export public static const int COUNT = 7;")
    m = load("extern static const int COUNT; int f() { return COUNT * 2; }", link=[values])
    assert m.f() == 14


def test_link_types(load):
    """A linked module completes extern structs of an interface. (Feature M5.)"""
    base = "interface IShape { float area(); };\n"
    shape = load("module shape_impl;\nexport public struct Shape { public float area() { return 5; } };")
    try:
        m = load("extern struct Shape { float area(); };\nfloat f() { Shape s; return s.area(); }", link=[shape])
    except spy.Error:
        pytest.skip("this Slang cannot link such types: " + base.strip())
    assert m.f() == 5


def test_link_keeps_modules_alive(load):
    """Linked modules live as long as the module that links them. (Feature M5.)"""
    m = load("extern static const int COUNT; int f() { return COUNT; }", link=[load("export public static const int COUNT = 9;")])
    gc.collect()
    assert m.f() == 9


def test_link_must_be_modules(load):
    """The error for a wrong link says what a link must be. (Feature M5.)"""
    with pytest.raises(TypeError, match="link"):
        load("int f() { return 1; }", link=["values"])
    with pytest.raises(TypeError):
        load("int f() { return 1; }", link=5)


# >>looking up


def test_attributes(m):
    """Functions and types are attributes of a module. (Feature M3.)"""
    assert type(m.add) is spy.Function and type(m.Foo) is spy.Struct
    assert m.add.name == "add" and m.Foo.name == "Foo" and m.add.module is m


def test_attributes_are_kept(m):
    """A name of a module always gives the same object. (Feature M3.)"""
    assert m.add is m.add and m.Foo is m.Foo and m["add"] is m.add


def test_brackets(m):
    """module[...] finds names that cannot be attributes, such as 'ns::half_of'. (Feature M3.)"""
    assert m["ns::half_of"](4) == 2 and m["Foo::get"]({"x": 3}) == 3
    assert m["generic<float, 3>"]([1, 2, 3]) == 3
    assert m["Foo"].get({"x": 5}) == 5


def test_find_and_require(m):
    """find_function() and the like give None for a missing name; the require_ functions raise. (Feature M3.)"""
    assert m.find_function("add").name == "add" and m.require_function("add")(1, 2) == 3
    assert m.find_struct("Foo").name == "Foo" and m.require_struct("Foo") is not None
    assert m.find_function("nothing") is None and m.find_struct("nothing") is None
    assert m.find_function("Foo") is None and m.find_struct("add") is None
    with pytest.raises(ValueError, match="nothing"):
        m.require_function("nothing")
    with pytest.raises(ValueError, match="'Foo' is a type"):
        m.require_function("Foo")
    with pytest.raises(ValueError, match="'add' is a function"):
        m.require_struct("add")


def test_find_in_struct(m):
    """find_function_in_struct() takes a type or its name. (Feature M3.)"""
    assert m.find_function_in_struct(m.Foo, "get")({"x": 2}) == 2
    assert m.find_function_in_struct("Foo", "get")({"x": 2}) == 2
    assert m.find_function_in_struct("Foo", "nothing") is None
    with pytest.raises(TypeError):
        m.find_function_in_struct(4, "get")


@pytest.mark.parametrize("name", ["float", "float3", "int2", "float4x4", "uint8_t", "half", "double", "bool"])
def test_builtin_types(m, name):
    """Every visible type is an attribute of the module. (Feature M4.)"""
    t = getattr(m, name)
    assert type(t) is spy.Struct and t.name == {"half": "half"}.get(name, name)


def test_types_of_the_module(m):
    """Aliases, enums, arrays and nested types are found. (Feature M4.)"""
    assert m.Real.name == "float" and m["float[3]"].shape == (3,) and m["Foo[4]"].shape == (4,)
    assert m.float2.shape == (2,) and m.float3x4.shape == (3, 4) and m.Foo.shape == ()
    assert m.Mode is not None and m["float*"].struct.target_type.full_name == "float"
    assert m.Foo.In.fields.keys() == {"k"} and list(m.Light.fields) == ["color", "power"]
    assert m.Light.fields["color"].type.full_name == "vector<float,3>" and m.Light.size_bytes == 16


def test_types_compare(m):
    """Two objects of the same type are equal. (Feature M4.)"""
    assert m.Foo == m["Foo"] and m.float == m["float"] and m.Foo != m.Light and hash(m.Foo) == hash(m["Foo"])
    assert m.Foo != "Foo"


def test_as_struct_and_as_func(m):
    """as_func() and as_struct() give the object itself if it is of that kind. (Feature F9.)"""
    assert m.Foo.as_struct() is m.Foo and m.add.as_func() is m.add
    with pytest.raises(ValueError):
        m.Foo.as_func()
    with pytest.raises(ValueError):
        m.add.as_struct()


@pytest.mark.parametrize("name", ["f(1)", "*", "Foo<", "", "a b", "add<>", "\N{SNOWMAN}", "x" * 2000])
def test_strange_names(m, name):
    """Strings that are no names raise KeyError and never crash. (Feature M3.)"""
    with pytest.raises((KeyError, spy.Error)):
        m[name]


def test_bad_keys(m):
    """Brackets take only names. (Feature M3.)"""
    with pytest.raises(TypeError):
        m[3]
    with pytest.raises(TypeError):
        m.Foo[3]
    with pytest.raises(TypeError):
        m.find_function(3)


# >>constants, prelude, globals


@pytest.mark.parametrize("n", [1, 5])
def test_constants(m, n):
    """Constants are compiled into the kernel, so that each value has its own kernel. (Feature F3.)"""
    assert m.repeat.constants({"N": n})(3) == 3 * n
    assert m.scaled.constants({"SCALE": n + 0.5})(2) == 2 * n + 1


def test_constants_add_up(m):
    """constants() can be chained and does not change the plain function. (Feature F3.)"""
    f = m.scaled.constants({"SCALE": 3}).constants({"SCALE": 4})
    assert f(1) == 4 and m.scaled(1) == 1
    with pytest.raises(TypeError):
        m.scaled.constants(SCALE=3) if False else m.scaled.constants([1])


def test_prelude(m):
    """prelude() puts text at the head of the kernel; the compiler reports errors in it. (Feature F8.)"""
    assert m.with_prelude.prelude("// hello\n#define ANYTHING 3")(1) == 2
    assert m.with_prelude.prelude("struct OnlyHere { int x; };").prelude("struct AndHere { int y; };")(1) == 2
    with pytest.raises(spy.Error, match="compile"):
        m.with_prelude.prelude("this is no Slang")(1)
    with pytest.raises(TypeError):
        m.with_prelude.prelude(3)


@pytest.mark.parametrize("make", [lambda f: f.set(gain=3.0), lambda f: f.set({"gain": 3}), lambda f: f.set(lambda: {"gain": 3}),
                                  lambda f: f.set({"gain": 9}).set(gain=3), lambda f: f.set({"gain": 9}, gain=3) if False else f.set(gain=3),
                                  lambda f: f.set(gain=9).set(lambda: {"gain": 3}), lambda f: f.write(lambda c: setattr(c, "gain", 3)),
                                  lambda f: f.write(lambda c: c.write({"gain": 3})), lambda f: f.write(lambda c: c.gain.write(3)),
                                  lambda f: f.write(lambda c, v: c.__setitem__("gain", v), 3)])
def test_set_globals(m, make):
    """Globals are set by keywords, dicts, callables and writers; the last value counts. (Features F4, F5.)"""
    assert make(m.amplify)(2) == 6
    assert np.array_equal(make(m.amplify)(np.float32([1, 2]), _result="numpy"), [3, 6])


def test_callables_run_at_each_call(m):
    """A callable given to set() is called at each call. (Feature F4.)"""
    n = [0]

    def values():
        n[0] += 1
        return {"gain": n[0]}

    f = m.amplify.set(values)
    assert [f(1) for _ in range(4)] == [1, 2, 3, 4]


def test_structs_as_globals(m):
    """Globals that are structs take nested dicts, values by path, and parts. (Feature F4.)"""
    whole = {"light": {"color": [1, 2, 3], "power": 4}, "weights": [5, 6, 7]}
    assert m.lit.set(scene=whole)(2) == 2 * 2 * 4 + 7
    parts = {"scene.light.color": [1, 2, 3], "scene.light.power": 5, "scene.weights": [0, 0, 1]}
    assert m.lit.set(parts)(2) == 2 * 2 * 5 + 1
    assert m.lit.set({"scene": whole}).set({"scene.light.power": 10})(1) == 27
    assert m.lit.set(scene={"light": {"color": {"x": 1, "y": 2, "z": 3}, "power": 4}, "weights": [5, 6, 7]})(2) == 23


def test_cursor_paths(m):
    """Globals are written by attribute, index and name. (Feature F5.)"""
    def write(c):
        c.scene.light.color = [1, 2, 3]
        c["scene"]["light"]["power"] = 4
        c.scene.weights[0] = 1
        c.scene.weights[1] = 2
        c.scene.weights[2] = 3

    assert m.lit.write(write)(1) == 11


def test_buffers_as_globals(m):
    """A global StructuredBuffer takes a tensor. (Feature F4.)"""
    t = spy.Tensor.from_numpy(m.device, np.float32([10, 20, 30]))
    assert m.look.set(table=t)(np.int32([2, 0]), _result="numpy").tolist() == [30, 10]


def tensors_of(m, *rows):
    return [spy.Tensor.from_numpy(m.device, np.float32(row)) for row in rows]


@pytest.mark.parametrize("give", [lambda f, t: f.set(tables=t), lambda f, t: f.set({"tables": tuple(t)}), lambda f, t: f.write(lambda c: setattr(c, "tables", t)),
                                  lambda f, t: f.write(lambda c: c.tables.write(t)), lambda f, t: f.set({"tables[1]": t[1], "tables[0]": t[0]})])
def test_arrays_of_buffers(m, give):
    """An array of buffers takes a list of tensors, or tensors for single elements. (Features F4, F5.)"""
    t = tensors_of(m, [1, 2, 3], [10, 20, 30])
    for k in range(2):
        assert give(m.pick, t)(k, np.int32([2, 0]), _result="numpy").tolist() == [[3, 1], [30, 10]][k]


def test_arrays_of_buffers_as_parameters(m):
    """A parameter that is an array of buffers takes a list of tensors."""
    t = tensors_of(m, [1, 2, 3], [10, 20, 30])
    assert m.pick_of(t, 1, np.int32([2, 0]), _result="numpy").tolist() == [30, 10]
    assert m.pick_of(t[::-1], 1, np.int32([2, 0]), _result="numpy").tolist() == [3, 1]
    for bad, words in ((t[:1], r"\[1\]"), ([*t, t[0]], "2 fields, got 3"), ([t[0], 1.0], r"b\[1\]"), ([t[0], "x"], "item 1"), (t[0], "struct of tensors")):
        with pytest.raises((TypeError, ValueError, LookupError), match=words):
            m.pick_of(bad, 1, np.int32([2, 0]))


def test_arrays_without_a_size(m):
    """An array of buffers without a size takes any number of tensors on CUDA and is refused elsewhere. (Feature Z2.)"""
    t = tensors_of(m, [1, 2, 3], [10, 20, 30], [5, 6, 7])
    i = np.int32([2, 0])
    if m.device.info.type != spy.DeviceType.cuda:
        for some in (t, []):
            with pytest.raises(spy.Error, match="open_tables.*give it a size"):
                m.pick_open.set(open_tables=some)(0, i)
        return
    for n in (3, 1, 2):
        assert m.pick_open.set(open_tables=t[-n:])(n - 1, i, _result="numpy").tolist() == [7, 5]
    m.pick_open.set(open_tables=[])(0, np.int32([]))
    with pytest.raises(TypeError, match="open_tables"):
        m.pick_open.set(open_tables=t[0])(0, i)


def test_missing_globals(m):
    """A global number that is used but not set is 0, as in SlangPy; a buffer that is not set is an error. (Feature F4.)"""
    assert m.amplify(1) == 0
    with pytest.raises(LookupError, match="table"):
        m.look(0)


def test_unknown_globals(m):
    """An unknown name is an error that names it. (Feature F4.)"""
    with pytest.raises((LookupError, ValueError), match="gian"):
        m.amplify.set(gain=1, gian=2)(1)


def test_bad_setters(m):
    """set() and write() refuse wrong arguments. (Features F4, F5.)"""
    with pytest.raises(TypeError, match="set"):
        m.amplify.set(3)
    with pytest.raises(TypeError, match="dict"):
        m.amplify.set(lambda: 3)(1)
    with pytest.raises(TypeError, match="write"):
        m.amplify.write(3)
    with pytest.raises(TypeError, match="write"):
        m.amplify.write()
    with pytest.raises(TypeError, match="gain"):
        m.amplify.set(gain="loud")(1)


def test_exceptions_of_callables(m):
    """Exceptions of a callable given to set() reach the caller. (Features F4, F5.)"""
    class Mine(Exception):
        pass

    def fail(*_):
        raise Mine("mine")

    for f in (m.amplify.set(fail), m.amplify.write(fail)):
        with pytest.raises(Mine, match="^mine$"):
            f(1)


# >>group sizes


@pytest.mark.parametrize("size", [(64,), ((64, 1, 1),), (64, 1, 1), ([32],)])
def test_thread_group_size(m, size):
    """thread_group_size() sets the number of threads of a group. (Feature F7.)"""
    x = np.arange(200, dtype=np.int32)
    assert np.array_equal(m.group_size.thread_group_size(*size)(x, _result="numpy"), x)


def test_thread_group_size_is_the_kernels(load):
    """Groupshared code works with the size that was asked for. (Feature F7.)"""
    m = load("""
        groupshared int total;
        void f(int i, out int r) {
            if (i % 64 == 0) total = 0;
            GroupMemoryBarrierWithGroupSync();
            InterlockedAdd(total, i);
            GroupMemoryBarrierWithGroupSync();
            r = total;
        }""")
    r = np.zeros(128, np.int32)
    m.f.thread_group_size(64)(range(128), r)
    assert np.array_equal(r, np.repeat([sum(range(64)), sum(range(64, 128))], 64))


def test_call_group_shape(load):
    """call_group_shape() runs the call in tiles. (Feature V16.)"""
    m = load("import slangpy; int2 f(int x) { let g = get_call_group_id(); return int2(g.shape[1], g.shape[0]); }") if False else None
    m = load("int f(int x) { return x; }")
    x = np.arange(64, dtype=np.int32).reshape(8, 8)
    for shape in ((4, 4), spy.Shape(4, 4), [2, 8]):
        assert np.array_equal(m.f.call_group_shape(shape)(x, _result="numpy"), x)
    with pytest.raises(ValueError, match="call_group_shape"):
        m.f.call_group_shape((2, 2, 2, 2))(x)


@pytest.mark.parametrize("bad", [(-1,), (2**40,), (1, 2, 3, 4), ("x",)])
def test_bad_group_sizes(m, bad):
    """Impossible sizes of groups are refused. (Feature F7.)"""
    with pytest.raises((TypeError, ValueError), match="thread_group_size"):
        m.add.thread_group_size(*bad)


# >>conformances


DYNAMIC = """
interface IShape { float area(); };
struct Circle : IShape { float r; float area() { return 3 * r * r; } };
struct Square : IShape { float s; float area() { return s * s; } };
float area(uint id, float size) { float d[4] = { size, 0, 0, 0 }; return createDynamicObject<IShape>(id, d[0]).area(); }
"""


@pytest.mark.parametrize("items", [["Circle : IShape = 0", "Square : IShape = 1"], [("IShape", "Circle", 0), ("IShape", "Square", 1)],
                                   (types.SimpleNamespace(interface_name="IShape", type_name="Circle", id=0),
                                    types.SimpleNamespace(interface_name="IShape", type_name="Square", id=1))])
def test_type_conformances(load, items):
    """type_conformances() of a function and of a module give the types behind an interface at run time. (Features M6, F9.)"""
    m = load(DYNAMIC)
    f = m.area.type_conformances(items)
    assert f(0, 2) == 12 and f(1, 2) == 4
    m = load(DYNAMIC, options={"type_conformances": items})
    assert m.area(0, 2) == 12 and m.area(1, 2) == 4


@pytest.mark.parametrize("bad", [3, "Circle : IShape", [3], [("IShape",)]])
def test_bad_conformances(m, bad):
    """type_conformances() refuses anything but a list of str or of (interface, type[, id]). (Feature M6.)"""
    with pytest.raises(TypeError, match="type_conformances"):
        m.add.type_conformances(bad)(1, 2)


# >>dispatch


@pytest.mark.parametrize("count", [10, (10,), (10, 1, 1), [10, 1, 1], spy.Shape(10)])
def test_dispatch_functions(m, count):
    """dispatch() runs a plain function in exactly the given threads; the count is an int, tuple, list or Shape. (Features K1, K2.)"""
    t = spy.Tensor.zeros(m.device, (12,))
    m.fill.dispatch(count, t, 2.0)
    assert t.to_numpy().tolist() == [2.0 + i for i in range(10)] + [0, 0]


def test_dispatch_keywords(m):
    """dispatch() takes thread_count and arguments by name. (Feature K1.)"""
    t = spy.Tensor.zeros(m.device, (4,))
    m.fill.dispatch(thread_count=(4, 1, 1), t=t, v=1)
    assert t.to_numpy().tolist() == [1, 2, 3, 4]


def test_dispatch_2d(m):
    """dispatch() takes two dimensions of threads. (Feature K1.)"""
    t = spy.Tensor.zeros(m.device, (3, 5))
    m.fill2.dispatch((5, 3), t)
    assert np.array_equal(t.to_numpy(), np.add.outer(10 * np.arange(3), np.arange(5)))


def test_dispatch_shaders(m):
    """dispatch() runs compute shaders in whole groups, with uniform parameters. (Features K1, K2.)"""
    a = spy.Tensor.from_numpy(m.device, np.arange(100, dtype=np.float32))
    r = spy.Tensor.zeros(m.device, (100,))
    m.shader.dispatch(100, a, r, 3)
    assert np.array_equal(r.to_numpy(), 3 * np.arange(100))
    m.shader.dispatch(100, a=a, r=r, k=2)
    assert np.array_equal(r.to_numpy(), 2 * np.arange(100))


def test_dispatch_vars(load):
    """`vars` gives dispatch() global parameters, and dispatch() can be chained. (Feature K1.)"""
    m = load("import slangpy; uniform float gain; void f(uint3 id : SV_DispatchThreadID, RWTensor<float, 1> t) { t[int(id.x)] = gain; }")
    t = spy.Tensor.zeros(m.device, (3,))
    m.f.dispatch(3, vars={"gain": 4}, t=t)
    assert t.to_numpy().tolist() == [4] * 3
    m.f.set(gain=5).dispatch(3, t)
    assert t.to_numpy().tolist() == [5] * 3


def test_dispatch_errors(m):
    """dispatch() refuses missing counts, wrong counts, and arguments of the wrong shape. (Feature K1.)"""
    t = spy.Tensor.zeros(m.device, (4,))
    with pytest.raises(TypeError, match="thread_count"):
        m.fill.dispatch()
    with pytest.raises(TypeError, match="thread_count"):
        m.fill.dispatch("4", t, 1)
    with pytest.raises(ValueError, match="thread_count"):
        m.fill.dispatch((-1, 1, 1), t, 1)
    with pytest.raises(spy.Error):
        m.fill.dispatch(4, t, np.float32([1, 2]))
    with pytest.raises(spy.Error, match="'t' not specified"):
        m.fill.dispatch(4, v=1)
    assert not t.to_numpy().any()
    m.fill.dispatch(4, t, 3)
    m.fill.dispatch(4, t)  # a parameter of plain data that is not given is 0, as in SlangPy
    assert t.to_numpy().tolist() == [0, 1, 2, 3]


# >>functions as objects


def test_repr(m):
    """repr() of functions, types and modules says what they are. (Feature M3.)"""
    assert repr(m.add).startswith("<slangpy.Function add") and repr(m.Foo) == 'func::BaseStruct(full_name="Foo")'


def test_links_do_not_change_the_function(m):
    """Each chained method makes a new function. (Feature F9.)"""
    f = m.amplify
    g = f.set(gain=2)
    h = g.return_type("numpy").map((0,))
    assert f is m.amplify and g is not f and h is not g
    assert g(3) == 6
    assert isinstance(h(np.float32([1])), np.ndarray) and isinstance(g(np.float32([1])), spy.Tensor)
    assert f(3) == 0


def test_links_in_any_order(m):
    """Constants, prelude, group size and map can be chained in any order. (Feature F9.)"""
    f = m.scaled.prelude("// text").constants({"SCALE": 2}).thread_group_size(64).map(x=(0,)).return_type("numpy")
    assert f(np.float32([1, 2, 3])).tolist() == [2, 4, 6]


def test_explain(m):
    """explain() gives the binding table and the kernel of a call and runs nothing. (Feature W1.)"""
    before = m.device.stats()["dispatches"]
    text = m.add.explain(np.float32([1, 2]), b=1)
    assert "float add(float a, float b)" in text and "SV_DispatchThreadID" in text and "a " in text
    assert m.device.stats()["dispatches"] == before
    for bad, error in (((1, 2, 3), "Too many arguments"), ((np.zeros(2), np.zeros(3)), "Shape mismatch"), (({"x": 1}, 1), "expected float")):
        with pytest.raises(spy.Error, match=error): # explain() raises the error of a call that cannot be made
            m.add.explain(*bad)


def test_prepare(load, device):
    """prepare() compiles ahead of time and runs nothing. The call then compiles nothing more, and raises what is wrong with its arguments or
    its kernel."""
    m = load("""
float twice(float x) { return 2 * x; }
float halved(float x) { return x / 2; }
[Differentiable] float cube(float x) { return x * x * x; }
float broken<T>(T x) { static_assert(false, "broken is broken"); return 1; }
""")
    x, y = np.float32([1, 2]), spy.Tensor.zeros(device, (2,))
    before = device.stats()
    assert m.twice.prepare(x, _result=y) is None and m.halved.thread_group_size(64).prepare(x=x, _result=y) is None
    t = spy.Tensor.from_numpy(device, x).with_grads()
    seeds = spy.Tensor.from_numpy(device, np.ones(2, np.float32))
    m.cube.bwds.prepare(t, _result=spy.diffPair(d=seeds))
    m.twice(x, _result=y)
    assert y.to_numpy().tolist() == [2, 4]
    m.halved.thread_group_size(64)(x=x, _result=y)
    assert y.to_numpy().tolist() == [0.5, 1]
    m.cube.bwds(t, _result=spy.diffPair(d=seeds))
    assert t.grad_out.to_numpy().tolist() == [3, 12]
    after = device.stats()
    assert after["kernels_built"] == before["kernels_built"] + 3 and after["dispatches"] == before["dispatches"] + 3
    m.twice.prepare(1, 2)
    with pytest.raises(spy.Error, match="Too many arguments"):
        m.twice(1, 2)
    m.broken.prepare(x)
    for _ in range(2):
        with pytest.raises(spy.Error, match="broken is broken"):
            m.broken(x)


def test_time(m):
    """time() returns the GPU's time of a call in seconds. (Feature F1.)"""
    x = spy.Tensor.zeros(m.device, (100000,))
    t = m.add.time(x, 1.0, _result=x)
    assert 0 < t < 10 and x.to_numpy()[5] == 1


def test_explain_and_time_of_options(m):
    """explain() and time() use the kernel with the chained options. (Features F3, W1.)"""
    f = m.scaled.constants({"SCALE": 2.5}).prelude("// my own line")
    assert "const float SCALE" in f.explain(1) and "// my own line" in f.explain(1)
    r = spy.Tensor.zeros(m.device, (2,))
    assert f.time(np.float32([1, 2]), _result=r) > 0 and r.to_numpy().tolist() == [2.5, 5]


def test_reload(device):
    """After a reload functions run the new code. (Features M7, M3.)"""
    m = spy.Module.load_from_source(device, "reloaded", "int f() { return 1; }")
    f = m.f
    assert f() == 1
    m.reload("int f() { return 2; }")
    assert f() == 2 and m.f() == 2
    with pytest.raises(spy.Error):
        m.reload("this is no Slang")
    assert f() == 2


def test_struct_attributes_missing(m):
    """Missing methods of a type raise AttributeError. (Feature M3.)"""
    with pytest.raises(AttributeError, match="Type 'Foo' has no function or type named 'nothing'"):
        m.Foo.nothing
    with pytest.raises(KeyError):
        m.Foo["nothing"]
    assert not hasattr(m.Foo, "nothing") and hasattr(m.Foo, "get")
    assert m.Foo.two() == 2


def test_no_instances(m):
    """Classes whose objects only the library makes cannot be called. (Feature M3.)"""
    for t in (spy.Function, spy.Struct):
        with pytest.raises(TypeError):
            t()


DOCUMENTED = """
import slangpy;
/// Adds two numbers.
///   Both of them.
float add(float a, float b) { return a + b; }
/** Of integers. */
int add(int a, int b) { return a + b; }
/// Scales.
float3 scale(float3 v, float s = 2) { return v * s; }
struct P { float x;
    //! The sum.
    float total(float lambda) { return x + lambda; } };
[Differentiable] float bare(float x) { return x; }
"""


def test_tells_its_declarations(device, tmp_path):
    """print(f), f.__doc__ and inspect.signature(f) are Slang's declarations with their comments, from text and from files. (Feature W1.)"""
    import inspect
    import pydoc

    path = tmp_path / "documented.slang"
    path.write_text(DOCUMENTED)
    for m in (spy.Module.load_from_source(device, "documented", DOCUMENTED), spy.Module.load_from_file(device, str(path))):
        add = "float add(float a, float b)\n    Adds two numbers.\n      Both of them.\nint add(int a, int b)\n    Of integers."
        assert str(m.add) == add and m.add.__doc__.startswith(add + "\n\n") and "_thread_count=" in m.add.__doc__
        assert repr(m.add) == "<slangpy.Function add of module documented>"
        assert str(m.bare) == "float bare(float x)" and str(m.bare.bwds) == "The backward derivative of\nfloat bare(float x)"
        assert str(m.P.total) == "float total(float lambda)\n    The sum."
        signature = inspect.signature(m.scale)
        assert str(signature) == "(v: float3, s: float = ..., *, _result=None, _append_to=None, _thread_count=None) -> float3"
        # `add` has two overloads, so its parameters have no names
        assert list(inspect.signature(m.add).parameters) == ["args", "_result", "_append_to", "_thread_count", "kwargs"]
        assert list(inspect.signature(m.P.total).parameters)[0] == "args"  # the parameter's name, lambda, is a keyword of Python
        assert list(inspect.signature(m.bare).parameters)[0] == "x"
        assert "Adds two numbers." in pydoc.render_doc(m.add)
        assert m.add.map((0,)).__doc__ == m.add.__doc__ and m.layout.find_function_by_name("scale").doc == "Scales."
    assert spy.Function.__doc__.startswith("A Slang function.") and not hasattr(spy.Function, "__signature__")
    unknown = spy.Module.load_from_source(device, "sized", "T f<T : IFloat>(T x) { return x; }")["f<float>"]
    assert "f" in str(unknown) and inspect.signature(unknown)


def test_optimisation_without_its_library(device):
    """Without the library slang-glslang optimisation is left out, with one warning for the device; options of NVRTC reach it or are
    refused. (Feature M8.)"""
    source = "float f(float x) { return 2 * x; }"
    seen = []
    with spy.create_device(log=lambda level, message: seen.append((level, message))) as d:
        for i, level in enumerate((spy.SlangOptimizationLevel.maximal, "high", "low")):
            m = spy.Module.load_from_source(d, "optimised%d" % i, source, options={"compiler_options": {"optimization": level}})
            assert m.f(2.0) == 4
        told = [message for _, message in seen if "optimi" in message]
        on_cuda = d.info.type == spy.DeviceType.cuda
        assert len(told) <= (3 if on_cuda else 1) and all("slang-glslang" in t or on_cuda for t in told)
        m = spy.Module.load_from_source(d, "fast", source, options={"compiler_options": {"downstream_args": ["-use_fast_math", "-lineinfo"]}})
        assert m.f(2.0) == 4
        for bad in (["-O3"], ["use_fast_math"], ["-lineinfo", "--maxrregcount=32"]):
            with pytest.raises(ValueError, match="'downstream_args': expected '-use_fast_math', '-fmad=false', '-lineinfo' or '-G'.*got '%s'" % bad[-1]):
                spy.Module.load_from_source(d, "refused", source, options={"compiler_options": {"downstream_args": bad}})
    with pytest.raises(ValueError, match="'downstream_args'"):
        spy.create_device(compiler_options={"downstream_args": ["-O3"]})


def test_functions_of_doubles_that_vulkan_lacks_are_errors(device):
    """For Vulkan Slang writes sin() of doubles, which lavapipe computes as 0, so such calls are errors. Functions of doubles that Vulkan
    has work."""
    if device.info.type == spy.DeviceType.cuda:
        pytest.skip("CUDA has them all")
    m = spy.Module.load_from_source(device, "doubles", "double wave(double x) { return sin(x); }\ndouble2 grow(double2 x) { return exp(x); }\n"
                                    "double root(double x) { return sqrt(x) + floor(x); }")
    assert abs(m.root(2.0) - (2 ** 0.5 + 2)) < 1e-12
    with pytest.raises(RuntimeError, match=r"it calls sin\(\) of doubles"):
        m.wave(1.0)
    with pytest.raises(RuntimeError, match=r"it calls exp\(\) of doubles"):
        m.grow(np.array([1.0, 2.0]))

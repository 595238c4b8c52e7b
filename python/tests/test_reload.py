"""Hot reload by watching files and on request, also with files that do not compile. (Feature M7.)"""
import os
import time

import numpy as np
import pytest

import slangpy as spy


@pytest.fixture
def watched(tmp_path):
    """Returns (device, path, write): a device that looks at its files at each call, one file, and a function that
    writes the file."""
    d = spy.create_device(include_paths=[tmp_path], log=lambda level, message: None)
    d.set_hot_reload_delay(0)
    stamp = [time.time() - 1000]

    def write(text, name="watched.slang"):
        path = tmp_path / name
        path.write_text(text)
        stamp[0] += 10  # file systems have coarse clocks, so each write gets a later time
        os.utime(path, (stamp[0], stamp[0]))
        return str(path)

    yield d, write
    d.close()


def function(n):
    return "int f(int x) {{ return x + {}; }}".format(n)


def test_change_is_seen(watched):
    """The next call after a change runs the new code; objects of module and function stay the same. (Feature M7.)"""
    d, write = watched
    m = spy.Module.load_from_file(d, write(function(1)))
    f, bound = m.f, m.f.map((0,))
    x = np.arange(3, dtype=np.int32)
    assert f(1) == 2
    for n in (10, 20, 30):
        write(function(n))
        assert f(1) == 1 + n and m.f(2) == 2 + n
        assert bound(x, _result="numpy").tolist() == (x + n).tolist()


def test_callback(watched):
    """A callback gets one event for each reload, successful or not, as in SlangPy. (Feature M7.)"""
    d, write = watched
    m = spy.Module.load_from_file(d, write(function(1)))
    seen = []
    d.register_shader_hot_reload_callback(seen.append)
    write(function(2))
    assert m.f(0) == 2 and seen == [spy.ShaderHotReloadEvent(succeeded=True, message="")]
    write("int f(int x) { return broken_name; }")
    assert m.f(0) == 2
    assert len(seen) == 2 and seen[1].succeeded is False and "broken_name" in seen[1].message
    write(function(3))
    assert m.f(0) == 3 and seen[2].succeeded and seen[2].message == ""
    with pytest.raises(TypeError, match="expected a callable"):
        d.register_shader_hot_reload_callback(None)


def test_broken_file_is_logged(watched):
    """After a change that does not compile, calls run the old code, and the log gets the compiler's text once. (Feature
    M7.)"""
    d, write = watched
    seen = []
    d.log = lambda level, message: seen.append((level, message))
    m = spy.Module.load_from_file(d, write(function(1)))
    write("int f(int x) { return missing_thing; }")
    for i in range(4):
        assert m.f(i) == i + 1
    assert len([s for s in seen if s[0] == 1 and "missing_thing" in s[1]]) == 1
    write("int f(int x) { return x * 100; }")
    assert m.f(2) == 200


def test_reload_by_hand(watched):
    """reload_all_programs() looks at the files at once and returns the number of modules that were loaded anew; files
    that do not compile are an error. (Feature M7.)"""
    d, write = watched
    d.set_hot_reload_delay(1e8)
    m = spy.Module.load_from_file(d, write(function(1)))
    other = spy.Module.load_from_file(d, write("int g() { return 5; }", "other.slang"))
    assert (m.f(0), other.g()) == (1, 5)
    d.reload_all_programs()
    write(function(2))
    assert m.f(0) == 1
    assert d.reload_all_programs() == 1
    assert m.f(0) == 2 and other.g() == 5
    assert d.reload_all_programs() == 0
    write("int f( {")
    with pytest.raises(spy.SlangCompileError, match="watched"):
        d.reload_all_programs()
    assert m.f(0) == 2


def test_delay(watched):
    """Files are not looked at more often than the delay allows. (Feature M7.)"""
    d, write = watched
    m = spy.Module.load_from_file(d, write(function(1)))
    m.f(0)
    d.set_hot_reload_delay(60_000)
    write(function(2))
    assert m.f(0) == 1
    d.set_hot_reload_delay(0)
    assert m.f(0) == 2
    for bad in (-1, float("nan"), 1e30):
        with pytest.raises(ValueError, match="milliseconds"):
            d.set_hot_reload_delay(bad)
    with pytest.raises(TypeError):
        d.set_hot_reload_delay("soon")


def test_switched_off(tmp_path):
    """enable_hot_reload=False never looks at files, but reload() of a module does. (Features M7, D1.)"""
    path = tmp_path / "still.slang"
    path.write_text(function(1))
    with spy.create_device(enable_hot_reload=False) as d:
        d.set_hot_reload_delay(0)
        m = spy.Module.load_from_file(d, path)
        assert m.f(0) == 1
        path.write_text(function(2))
        os.utime(path, (1, 1))
        assert m.f(0) == 1
        m.reload()
        assert m.f(0) == 2


def test_imported_files(watched):
    """A change of an imported file reloads the module that imports it. (Feature M7.)"""
    d, write = watched
    write("module part;\npublic int three() { return 3; }", "part.slang")
    m = spy.Module.load_from_file(d, write("import part;\nint f() { return three(); }"))
    assert m.f() == 3
    write("module part;\npublic int three() { return 33; }", "part.slang")
    assert m.f() == 33


def test_function_that_goes(watched):
    """A call of a function that is no longer in the file raises an error, until the function comes back. (Feature M7.)"""
    d, write = watched
    m = spy.Module.load_from_file(d, write(function(1)))
    f = m.f
    assert f(0) == 1
    write("int g(int x) { return x; }")
    with pytest.raises(spy.Error, match="f"):
        f(0)
    write(function(7))
    assert f(0) == 7


def test_new_signature(watched):
    """A function may have other parameters after a reload. (Feature M7.)"""
    d, write = watched
    m = spy.Module.load_from_file(d, write(function(1)))
    assert m.f(0) == 1
    write("float f(float a, float b) { return a * b; }")
    assert m.f(3.0, 0.5) == 1.5
    with pytest.raises(spy.Error):
        m.f(3.0)


def test_recorded_work_keeps_its_code(watched):
    """Command buffers run the code that was recorded. (Features M7, E1.)"""
    d, write = watched
    m = spy.Module.load_from_file(d, write(function(1)))
    x, out = spy.Tensor.from_numpy(d, np.arange(3, dtype=np.int32)), spy.Tensor.zeros(d, (3,), int)
    e = d.create_command_encoder()
    m.f.append_to(e, x, _result=out)
    commands = e.finish()
    write(function(100))
    assert m.f(0) == 100
    d.submit_command_buffer(commands)
    assert out.to_numpy().tolist() == [1, 2, 3]


def test_reload_from_text(device):
    """reload(source) gives new text to a module that was loaded from text. (Feature M7.)"""
    m = spy.Module.load_from_source(device, "from_text", function(1))
    assert m.f(0) == 1
    m.reload(function(5))
    assert m.f(0) == 5
    with pytest.raises(spy.SlangCompileError):
        m.reload("int f( {")
    assert m.f(0) == 5

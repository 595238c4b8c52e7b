"""Loggers, compile errors, generated kernels, GPU print, reports, profiling. (Features W2-W7, W9.)"""
import io
import json
import os
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

import slangpy as spy

TOP = os.path.dirname(os.path.dirname(os.path.abspath(spy.__file__)))
ADD = "float add(float a, float b) { return a + b; }"
LEVELS = ["debug", "info", "warn", "error", "fatal"]


class Collect(spy.LoggerOutput):
    def __init__(self):
        self.lines = []

    def write(self, level, name, msg):
        self.lines.append((level, name, msg))

    def texts(self, level):
        return [msg for found, _, msg in self.lines if found == level]


@pytest.fixture
def default():
    """Returns the default logger with one output, which collects all messages from level debug on. The logger is restored afterwards."""
    logger, other, out = spy.Logger.get(), spy.Logger(), Collect()
    other.use_same_outputs(logger)
    level = logger.level
    logger.remove_all_outputs()
    logger.add_output(out)
    logger.level = spy.LogLevel.debug
    yield out
    logger.use_same_outputs(other)
    logger.level = level


# >>loggers

@pytest.mark.parametrize("threshold", ["none"] + LEVELS)
def test_levels(threshold):
    """Methods and log() output messages whose level is at least the logger's. (Feature W5.)"""
    logger, out = spy.Logger(spy.LogLevel[threshold], "mine", use_default_outputs=False), Collect()
    logger.add_output(out)
    for level in LEVELS:
        getattr(logger, level)("m " + level)
        logger.log(spy.LogLevel[level], "l " + level)
    want = LEVELS[max(LEVELS.index(threshold) if threshold in LEVELS else 0, 0):]
    assert out.lines == [(spy.LogLevel[w], "mine", p + w) for w in want for p in ("m ", "l ")]


@pytest.mark.parametrize("level", LEVELS)
def test_once(level, default):
    """A text is output once by the *_once methods, log() and functions; another text is output, too. (Feature W5.)"""
    logger, out = spy.Logger(spy.LogLevel.debug, use_default_outputs=False), Collect()
    logger.add_output(out)
    for _ in range(3):
        getattr(logger, level + "_once")("again")
        logger.log(spy.LogLevel[level], "again", spy.LogFrequency.once)
        getattr(logger, level + "_once")("another")
        getattr(spy, "log_" + level + "_once")("test_once " + level)
        getattr(spy, "log_" + level)("each time")
    assert [m for _, _, m in out.lines] == ["again", "another"]
    assert [m for _, _, m in default.lines] == ["test_once " + level] + ["each time"] * 3


def test_free_log(default):
    """spy.log() reaches the default logger; a message with LogFrequency.once does so once. (Feature W5.)"""
    spy.log(spy.LogLevel.warn, "one")
    spy.log(spy.LogLevel.warn, "free once", spy.LogFrequency.once)
    spy.log(spy.LogLevel.warn, "free once", spy.LogFrequency.once)
    assert default.texts(spy.LogLevel.warn) == ["one", "free once"]


def test_outputs(tmp_path):
    """Outputs are files and objects with write(); one can be added twice and removed. (Feature W5.)"""
    logger = spy.Logger(name="part", use_default_outputs=False)
    out = Collect()
    file = logger.add_file_output(tmp_path / "log.txt")
    assert logger.add_output(out) is out
    logger.add_output(out)
    logger.warn("careful\nnow")
    assert (tmp_path / "log.txt").read_text() == "[WARN] (part) careful\nnow\n" and len(out.lines) == 1
    logger.remove_output(out)
    logger.info("second")
    assert len(out.lines) == 1 and (tmp_path / "log.txt").read_text().endswith("[INFO] (part) second\n")
    logger.remove_output(out)  # as in SlangPy, nothing happens
    other = spy.Logger(use_default_outputs=False)
    other.use_same_outputs(logger)
    other.info("third")
    assert (tmp_path / "log.txt").read_text().endswith("[INFO] third\n")
    logger.remove_all_outputs()
    logger.error("nobody")
    file.close()
    assert "nobody" not in (tmp_path / "log.txt").read_text() and "part" in repr(logger)


def test_console_is_stderr(monkeypatch):
    """The console output writes to the sys.stderr of the moment, so that in Jupyter it is the cell's; colors are for terminals only.
    (Features W5, W9.)"""
    class Terminal(io.StringIO):
        def isatty(self):
            return True

    logger = spy.Logger()
    for stream, want in ((io.StringIO(), "[ERROR] text\n"), (Terminal(), "\033[31m[ERROR] text\033[0m\n")):
        monkeypatch.setattr(sys, "stderr", stream)
        logger.error("text")
        assert stream.getvalue() == want
    monkeypatch.setattr(sys, "stderr", None)
    logger.error("text")


@pytest.mark.parametrize("use, error", [
    (lambda: spy.Logger().add_output(3), TypeError), (lambda: spy.Logger(level=77), ValueError),
    (lambda: spy.Logger().log(99, "x"), ValueError), (lambda: spy.LoggerOutput().write(spy.LogLevel.info, "", ""), NotImplementedError),
    (lambda: setattr(spy.Logger(), "level", "loud"), ValueError)])
def test_logger_errors(use, error):
    """Loggers refuse wrong arguments. (Feature W5.)"""
    with pytest.raises(error):
        use()


def test_threads_log(default):
    """Messages of several threads are not mixed within a line. (Feature W5.)"""
    threads = [threading.Thread(target=lambda k=k: [spy.log_info("{} {}".format(k, i)) for i in range(50)]) for k in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert sorted(default.texts(spy.LogLevel.info)) == sorted("{} {}".format(k, i) for k in range(4) for i in range(50))


# >>messages of devices

def test_compile_errors(default, device):
    """A compile error raises an exception with the compiler's text; the log has the text as a debug message. (Feature W2.)"""
    with pytest.raises(spy.SlangCompileError, match="undefined_name") as caught:
        spy.Module.load_from_source(device, "broken_module", "float f() { return undefined_name; }")
    assert isinstance(caught.value, spy.Error) and isinstance(caught.value, RuntimeError)
    assert "broken_module" in str(caught.value)
    assert not default.texts(spy.LogLevel.error)
    assert len([t for t in default.texts(spy.LogLevel.debug) if "undefined_name" in t]) == 1


def test_warnings(default, device):
    """Warnings of the compiler are logged once and raise nothing. (Feature W5.)"""
    m = spy.Module.load_from_source(device, "warned", "int f(int x) { return x; }\n#warning from_the_source\n")
    assert m.f(1) == 1
    warnings = default.texts(spy.LogLevel.warn)
    assert len([w for w in warnings if "from_the_source" in w]) == 1 and not default.texts(spy.LogLevel.error)


def test_raised_errors_are_not_told_twice(default, device):
    """The text of an exception is logged at level debug at most. (Feature W5.)"""
    m = spy.Module.load_from_source(device, "told", ADD)
    for use, error in ((lambda: m.add(1), spy.Error), (lambda: m.add(1, "x"), TypeError), (lambda: m.nothing, AttributeError),
                       (lambda: device.create_buffer(size=1 << 62), spy.Error),
                       (lambda: spy.create_device(adapter_name="no such thing"), spy.Error)):
        with pytest.raises(error):
            use()
    assert not default.texts(spy.LogLevel.error) and not default.texts(spy.LogLevel.warn)
    assert any("no such thing" in t for t in default.texts(spy.LogLevel.debug))


def test_stderr_by_default():
    """Without any set-up stderr has a compile error once, as the exception, and no messages of successful work. (Feature W5.)"""
    code = ("import slangpy as spy\nd = spy.create_device()\n"
            "m = spy.Module.load_from_source(d, 'm', 'int f() { return 1; }')\nprint(m.f())\n"
            "try:\n    spy.Module.load_from_source(d, 'x', 'int f() { return missing_thing; }')\n"
            "except spy.SlangCompileError as e:\n    print('caught')\n"
            "try:\n    m.f(1, 2)\nexcept ValueError as e:\n    print('refused')\n")
    run = subprocess.run([sys.executable, "-c", code], env=dict(os.environ, PYTHONPATH=TOP), capture_output=True, text=True, timeout=60)
    assert run.stdout.split() == ["1", "caught", "refused"]
    assert run.stderr == ""
    uncaught = subprocess.run([sys.executable, "-c", code.split("try:")[0] + "spy.Module.load_from_source(d, 'x', 'int f() { return missing_thing; }')"],
                              env=dict(os.environ, PYTHONPATH=TOP), capture_output=True, text=True, timeout=60)
    assert uncaught.returncode == 1 and uncaught.stderr.count("undefined identifier 'missing_thing'") == 1


def test_a_device_of_its_own_log(default):
    """A device with log= sends its messages there instead; exceptions of the callback are reported and dropped. (Feature W5.)"""
    seen = []
    with spy.create_device(log=lambda level, message: seen.append((level, message))) as d:
        with pytest.raises(spy.SlangCompileError):
            spy.Module.load_from_source(d, "m", "int f() { return nope; }")
        assert any("nope" in m for _, m in seen) and not default.texts(spy.LogLevel.error)
        d.log = None
        with pytest.raises(spy.SlangCompileError):
            spy.Module.load_from_source(d, "m2", "int f() { return nope; }")
        assert len([t for t in default.texts(spy.LogLevel.debug) if "nope" in t]) == 1
        with pytest.raises(TypeError, match="callable"):
            d.log = 3


def test_log_may_use_the_device(default):
    """A log callback that uses its device does not hang. (Feature W5.)"""
    seen = []
    with spy.create_device() as d:
        m = spy.Module.load_from_source(d, "m", ADD)
        d.log = lambda level, message: seen.append(m.add(1, 2))
        with pytest.raises(spy.SlangCompileError):
            spy.Module.load_from_source(d, "x", "int f() { return nope; }")
    assert seen == [3.0]


def test_unsupported_keywords_warn(default):
    """Keywords without effect give one warning. (Feature D1.)"""
    for _ in range(2):
        with spy.create_device(bindless_options={"n": 1}):
            pass
    assert len([t for t in default.texts(spy.LogLevel.warn) if "bindless_options" in t]) <= 1


# >>generated kernels

def test_dump(device, tmp_path):
    """Once switched on, each newly generated kernel is written to a file, until it is switched off. (Feature W3.)"""
    spy.set_dump_generated_shaders(True, tmp_path / "kernels")
    try:
        assert spy.Module.load_from_source(device, "dumped", "int dumped_one(int x) { return x; }").dumped_one(1) == 1
    finally:
        spy.set_dump_generated_shaders(False)
    spy.Module.load_from_source(device, "dumped2", "int dumped_two(int x) { return x; }").dumped_two(1)
    files = sorted(os.listdir(tmp_path / "kernels"))
    assert [f.split("_")[1] for f in files] == ["one", "one"] and {f.split(".")[1] for f in files} == {"slang", "spv"}
    text = (tmp_path / "kernels" / [f for f in files if f.endswith(".slang")][0]).read_text()
    assert "dumped_one" in text and (tmp_path / "kernels" / files[1]).read_bytes()[:4] == b"\x03\x02\x23\x07"


def test_print_generated(device, capfd, tmp_path):
    """Kernels are printed when they are compiled, but not when the cache has them. (Feature W3.)"""
    spy.set_print_generated_shaders(True)
    try:
        m = spy.Module.load_from_source(device, "printed", "int printed_one(int x) { return x + 1; }")
        assert [m.printed_one(i) for i in range(3)] == [1, 2, 3]
    finally:
        spy.set_print_generated_shaders(False)
    assert spy.Module.load_from_source(device, "printed2", "int printed_two(int x) { return x; }").printed_two(1) == 1
    out = capfd.readouterr().out
    assert out.count("// generated kernel printed_one") == 1 and "import printed;" in out and "printed_two" not in out


@pytest.mark.share(3)
@pytest.mark.parametrize("variable", ["SLANGPY_DUMP_GENERATED_SHADERS", "SLANGPY_PRINT_GENERATED_SHADERS", "SLANGPY_DUMP_SLANG_INTERMEDIATES"])
@pytest.mark.parametrize("value", ["1", "0"])
def test_environment(variable, value, tmp_path):
    """An environment variable switches kernel dumps on from the start. (Feature W3.)"""
    code = "import slangpy as spy\nd = spy.create_device()\nprint(spy.Module.load_from_source(d, 'm', 'int f() { return 41; }').f())\nd.close()"
    run = subprocess.run([sys.executable, "-c", code], env=dict(os.environ, PYTHONPATH=TOP, **{variable: value}), cwd=tmp_path,
                         capture_output=True, text=True, timeout=60, check=True)
    on = value == "1"
    assert "41" in run.stdout and ("generated kernel" in run.stdout) == (on and "PRINT" in variable)
    assert os.path.exists(tmp_path / ".temp") == (on and "DUMP" in variable)
    if on and "DUMP" in variable:
        assert any(f.endswith(".spv") for f in os.listdir(tmp_path / ".temp"))


# >>GPU print

PRINTS = "import print;\nvoid say(int i) { print(\"i = {}, x = {:.2f}\", i, float(i) / 4); }"


def test_gpu_print(default):
    """flush_print() sends printed messages to the log and flush_print_to_string() returns them; each message comes once. (Feature W4.)"""
    with spy.create_device(enable_print=True) as d:
        m = spy.Module.load_from_source(d, "m", PRINTS)
        m.say(np.arange(3, dtype=np.int32))
        lines = sorted(d.flush_print_to_string().splitlines())
        assert lines == ["i = 0, x = 0.00", "i = 1, x = 0.25", "i = 2, x = 0.50"]
        assert d.flush_print_to_string() == "" and not default.texts(spy.LogLevel.info)
        m.say(7)
        d.flush_print()
        assert default.texts(spy.LogLevel.info) == ["i = 7, x = 1.75"]


def test_gpu_print_off(device):
    """Without enable_print Slang's print() has no effect. (Feature W4.)"""
    m = spy.Module.load_from_source(device, "silent", PRINTS)
    m.say(3)
    assert device.flush_print_to_string() == ""


def test_check_bounds():
    """With checks of bounds, an index outside a tensor that is passed whole is reported with the index when a result is read; elements
    with valid indices are right."""
    with spy.create_device(check_bounds=True) as d:
        assert d.desc.check_bounds
        m = spy.Module.load_from_source(d, "m", "import slangpy;\nfloat look(Tensor<float, 2> t, int i) { return t[i, 1]; }")
        t = spy.Tensor.from_numpy(d, np.arange(6, dtype=np.float32).reshape(3, 2))
        out = spy.Tensor.zeros(d, (4,), "float")
        m.look(t, np.array([0, 2, 3, 1], dtype=np.int32), _result=out)
        with pytest.raises(ValueError) as e:
            out.to_numpy()
        assert "look: 't': the kernel reads at index (3, 1), its shape is (3, 2): expected 0 to 2 in dimension 0, got 3" in str(e.value)
        assert out.to_numpy().tolist() == [1, 5, 0, 3]


def test_gpu_print_overflow(default):
    """Messages that do not fit into the print buffer are lost, and a warning has their number. (Feature W4.)"""
    with spy.create_device(enable_print=True, print_buffer_size=1024) as d:
        m = spy.Module.load_from_source(d, "m", PRINTS)
        m.say(np.arange(1000, dtype=np.int32))
        lines = d.flush_print_to_string().splitlines()
        assert 0 < len(lines) < 1000
        warned = default.texts(spy.LogLevel.warn)
        assert len(warned) == 1 and str(1000 - len(lines)) in warned[0]


# >>reports

def test_reports():
    """Compilation reports list modules and kernels by name with their times; there are none unless they are enabled. (Feature W6.)"""
    with spy.create_device(enable_compilation_reports=True) as d:
        m = spy.Module.load_from_source(d, "reported", ADD)
        start = time.perf_counter()
        for _ in range(3):
            m.add(1, 2)
        taken = time.perf_counter() - start
        module = d.get_compilation_reports("reported")[0]
        assert module.kind == "module" and module.load_time > 0 and module.compile_time == 0
        kernels = [r for r in d.get_compilation_reports() if r.kind == "kernel"]
        assert len(kernels) == 1 and kernels[0].label.startswith("add")
        k = kernels[0]
        assert 0 < k.compile_time and 0 < k.create_pipeline_time
        assert k.create_time == pytest.approx(k.compile_time + k.create_pipeline_time) and k.create_time <= taken
        assert "add" in repr(k)
        d.clear_compilation_reports()
        assert d.get_compilation_reports() == []
        d.enable_compilation_reports = False
        spy.Module.load_from_source(d, "m2", ADD).add([1.0, 2.0], 3.0)
        assert d.get_compilation_reports() == []
    with spy.create_device() as d:
        spy.Module.load_from_source(d, "m", ADD).add(1, 2)
        assert d.get_compilation_reports() == []


def test_progress():
    """progress= is called at the begin and end of each compile step; exceptions that it raises are reported and dropped. (Feature W6.)"""
    steps = []
    with spy.create_device(progress=lambda step, finished: steps.append((step, finished)), enable_compilation_reports=True) as d:
        spy.Module.load_from_source(d, "m", ADD).add(1, 2)
        assert d.get_compilation_reports()
    names = [s for s, f in steps if not f]
    assert "load module m" in names and any(n.startswith("pipeline add") for n in names)
    assert sorted(names) == sorted(s for s, f in steps if f)


# >>profiling

def test_zones():
    """Zones have names, nest, and have durations; without a running profiler nothing is recorded. (Feature W7.)"""
    p = spy.Profiler()
    with spy.profile_zone("before"):
        pass
    with p:
        with spy.profile_frame():
            with spy.profile_zone("outer"):
                with spy.profile_zone("inner"):
                    time.sleep(0.01)
            with spy.profile_zone("inner"):
                pass
    with spy.profile_zone("after"):
        pass
    zones = p.zones
    assert [(z.name, z.depth, z.category) for z in zones] == [("frame", 0, "frame"), ("outer", 1, "zone"), ("inner", 2, "zone"), ("inner", 1, "zone")]
    frame, outer, inner, _ = zones
    assert frame.start_ns <= outer.start_ns <= inner.start_ns <= inner.end_ns <= outer.end_ns <= frame.end_ns
    assert 0.01 <= inner.duration <= outer.duration and inner.gpu_duration is None
    s = p.summary()
    assert s["inner"]["count"] == 2 and s["inner"]["total"] == pytest.approx(sum(z.duration for z in zones if z.name == "inner"))
    assert s["inner"]["min"] <= s["inner"]["mean"] <= s["inner"]["max"]
    assert "inner" in p.report() and "inner" in p._repr_html_() and "4 zones" in repr(p)
    p.reset()
    assert p.zones == []


def test_profiled_functions():
    """Decorated functions keep their names and results, and each call is counted, also recursive calls and those that raise. (Feature
    W7.)"""
    @spy.profile_function
    def plain(n):
        "doc"
        return n if n <= 0 else plain(n - 1)

    @spy.profile_function(name="named")
    def other():
        raise KeyError("x")

    @spy.profile_zone("zoned")
    def third(a, b=2):
        return a + b

    assert plain.__name__ == "plain" and plain.__doc__ == "doc"
    with spy.Profiler() as p:
        assert plain(3) == 0 and third(1, b=5) == 6
        with pytest.raises(KeyError):
            other()
    counts = {name: row["count"] for name, row in p.summary().items()}
    assert counts == {"test_profiled_functions.<locals>.plain": 4, "zoned": 1, "named": 1}
    assert sorted(z.depth for z in p.zones if "plain" in z.name) == [0, 1, 2, 3]


def test_profiler_states():
    """A profiler cannot be started or stopped twice, and two can run at the same time. (Feature W7.)"""
    a, b = spy.Profiler(), spy.Profiler()
    a.start()
    with pytest.raises(RuntimeError, match="started already"):
        a.start()
    with b:
        with spy.profile_zone("both"):
            pass
    a.stop()
    assert not a.is_running and [z.name for z in a.zones] == [z.name for z in b.zones] == ["both"]
    with pytest.raises(RuntimeError, match="was not started"):
        a.stop()


def test_profiler_threads():
    """Several threads can use one zone object. (Feature W7.)"""
    zone, p = spy.profile_zone("shared"), spy.Profiler()

    def work():
        for _ in range(20):
            with zone:
                with zone:
                    pass

    with p:
        threads = [threading.Thread(target=work) for _ in range(4)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
    zones = p.zones
    assert len(zones) == 160 and {z.depth for z in zones} == {0, 1} and all(z.end_ns >= z.start_ns for z in zones)


def test_gpu_zones_and_trace(device, tmp_path):
    """A zone's GPU work has its time on the host's clock; the trace is JSON in the trace event format. (Feature W7.)"""
    m = spy.Module.load_from_source(device, "profiled", "float work(float x) { for (int i = 0; i < 200; i++) x = sin(x) + 1; return x; }")
    x, out = spy.Tensor.zeros(device, (1 << 16,)), spy.Tensor.zeros(device, (1 << 16,))
    m.work(x, _result=out)
    device.wait()
    with spy.Profiler() as p:
        with spy.profile_zone("much", device):
            for _ in range(4):
                m.work(x, _result=out)
            device.wait()
        with spy.profile_zone("nothing", device):
            pass
    much, nothing = p.zones
    assert much.gpu_duration > nothing.gpu_duration >= 0
    assert much.gpu_start_ns <= much.gpu_end_ns <= nothing.gpu_start_ns
    assert abs(much.gpu_start_ns - much.start_ns) < 1_000_000_000
    single = m.work.time(x, _result=out)
    assert 0 < single < much.gpu_duration * 2
    p.write_trace(tmp_path / "trace.json")
    trace = json.loads((tmp_path / "trace.json").read_text())
    events = [e for e in trace["traceEvents"] if e["ph"] == "X"]
    assert [(e["name"], e["cat"]) for e in events] == [("much", "zone"), ("much", "gpu"), ("nothing", "zone"), ("nothing", "gpu")]
    assert events[0]["dur"] == pytest.approx(much.duration * 1e6, rel=1e-3) and events[0]["ts"] == pytest.approx(much.start_ns / 1e3)
    assert {e["tid"] for e in events if e["cat"] == "gpu"} == {0}

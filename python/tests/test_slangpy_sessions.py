"""Tests that devices and current devices, sessions, modules, linking, logs and smaller things behave as SlangPy's. Each test is named
after its fact; tests/README.md says where the facts come from."""
import gc
import os
import sys
import threading
import time

import numpy as np
import pytest

import slangpy as spy

VALUES = """
extern static const int N;
extern static const float SCALE = 1.0;
[shader("compute")] [numthreads(N, 1, 1)]
void main(uint3 t : SV_DispatchThreadID, uniform RWStructuredBuffer<float> y) { y[t.x] = N * SCALE + t.x; }
[shader("compute")] [numthreads(1, 1, 1)]
void one(uniform RWStructuredBuffer<float> y) { y[0] = N; }
float scaled(float x) { return x * SCALE; }
"""
SHAPES = """
interface IShape { float area(float x); }
struct Square : IShape { float area(float x) { return x * x; } }
struct Strip : IShape { float area(float x) { return 10 * x; } }
extern struct Chosen : IShape = Square;
float area(float x) { Chosen s; return s.area(x); }
[shader("compute")] [numthreads(1, 1, 1)]
void areas(uniform RWStructuredBuffer<float> y) { Chosen s; y[0] = s.area(3); }
[shader("compute")] [numthreads(1, 1, 1)]
void dynamic(uniform RWStructuredBuffer<float> y, uniform uint id)
{ IShape s = createDynamicObject<IShape, int>(id, 0); y[0] = s.area(3); }
float dynamic_area(uint id, float x) { IShape s = createDynamicObject<IShape, int>(id, 0); return s.area(x); }
[shader("compute")] [numthreads(4, 1, 1)]
void fill<T : __BuiltinFloatingPointType, let COUNT : int>(uint3 t : SV_DispatchThreadID, uniform RWStructuredBuffer<T> y) { y[t.x] = T(COUNT); }
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("sessions")
    (path / "session_values.slang").write_text(VALUES)
    (path / "session_shapes.slang").write_text(SHAPES)
    return path


@pytest.fixture(scope="module")
def d(folder):
    """Returns a device of this file's own, with the test's folder in its include paths."""
    device = spy.create_device(include_paths=[folder])
    yield device
    device.close()


def run(device, program, n=4, count=None, **kwargs):
    y = device.create_buffer(size=4 * n)
    device.create_compute_kernel(program).dispatch([count or n, 1, 1], y=y, **kwargs)
    return y.to_numpy().view(np.float32).tolist()


# >>devices and the current device

def test_creating_a_device_pushes_it_as_the_threads_current_device():
    """A new Device, also by create_device(), is the thread's current device; close() removes it from the stack."""
    a = spy.create_device()
    assert spy.current_device() is a
    b = spy.Device()
    assert spy.current_device() is b and spy.create_buffer(size=16).device is b
    b.close()
    assert spy.current_device() is a
    a.close()
    a.close()


def test_the_stack_of_current_devices_is_per_thread_and_empty_ones_raise_runtime_error(d):
    """current_device() and pop_current_device() raise RuntimeError in a thread without devices."""
    seen = []

    def work():
        for ask in (spy.current_device, spy.pop_current_device):
            try:
                ask()
            except RuntimeError:
                seen.append(ask)
        with d as same:
            seen.append(same is d and spy.current_device() is d)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert seen == [spy.current_device, spy.pop_current_device, True]


def test_with_device_pushes_nests_and_pops_only_what_is_on_top():
    """`with device:` gives the same object, is left by exceptions too, and does not close the device."""
    a, b = spy.create_device(), spy.create_device()
    with pytest.raises(ZeroDivisionError):
        with a as same:
            assert same is a and spy.current_device() is a
            with b, a:
                assert spy.current_device() is a
            assert spy.current_device() is a
            1 / 0
    assert spy.current_device() is b
    with a:
        spy.push_current_device(b)
    assert spy.pop_current_device() is b and spy.pop_current_device() is a
    a.close()
    b.close()


def test_close_runs_callbacks_once_and_registering_returns_distinct_ints():
    """Close callbacks get the device; unregistering and close() inside a callback are harmless."""
    device = spy.create_device()
    seen = []

    def callback(x):
        seen.append(x)
        device.unregister_device_close_callback(ids[0])
        device.close()

    ids = [device.register_device_close_callback(callback), device.register_device_close_callback(lambda x: seen.append("second")),
           device.register_device_close_callback(lambda x: seen.append("never"))]
    assert len(set(ids)) == 3 and all(type(i) is int for i in ids)
    device.unregister_device_close_callback(ids[2])
    device.close()
    device.close()
    assert seen == [device, "second"]


def test_created_devices_are_listed_and_a_layout_does_not_keep_one_alive():
    """get_created_devices() lists the devices that are alive; a layout does not keep its device alive."""
    gc.collect()  # devices of other tests go
    device = spy.create_device()
    layout = device.load_module_from_source("kept", "int f() { return 1; }").layout
    assert device in spy.Device.get_created_devices()
    number = len(spy.Device.get_created_devices())
    device.close()
    assert device not in spy.Device.get_created_devices()
    del device
    gc.collect()
    assert len(spy.Device.get_created_devices()) == number - 1 and layout is not None


def test_free_functions_take_descs_their_fields_and_dicts(d):
    """load_module(), run_kernel() and other free functions take descriptions, their fields or dicts, and act on the current device."""
    with d:
        for make in (lambda: spy.create_buffer(size=16, usage=spy.BufferUsage.shader_resource), lambda: spy.create_buffer(desc={"size": 16}),
                     lambda: spy.create_buffer(spy.BufferDesc(size=16)), lambda: spy.create_buffer({"size": 16})):
            assert make().size == 16
        for make in (lambda: spy.create_fence(initial_value=3), lambda: spy.create_fence(desc={"initial_value": 3}),
                     lambda: spy.create_fence(spy.FenceDesc({"initial_value": 3}))):
            fence = make()
            assert fence.current_value == 3 and fence.desc.initial_value == 3 and not fence.desc.shared
        for make in (lambda: spy.create_query_pool(type=spy.QueryType.timestamp, count=5), lambda: spy.create_query_pool(desc={"count": 5}),
                     lambda: spy.create_query_pool(spy.QueryPoolDesc({"count": 5}))):
            assert make().desc.count == 5
        assert spy.create_command_encoder().finish() is not None
        assert spy.create_slang_session({"compiler_options": {"defines": {"A": "1"}}}).desc.compiler_options.defines == {"A": "1"}
        program = spy.load_program("session_values", ["one"], "export static const int N = 7;")
        pipeline = spy.create_compute_pipeline({"program": program, "label": "mine"})
        assert pipeline.label == "mine"
        assert spy.create_root_shader_object(program) is not None


def test_descs_are_never_none_and_can_be_given_on(d):
    """device.desc and slang_session.desc are never None and can be given to another device or session, as can their compiler_options."""
    desc = d.slang_session.desc
    assert isinstance(desc, spy.SlangSessionDesc) and isinstance(d.desc, spy.DeviceDesc)
    assert isinstance(desc.compiler_options, spy.SlangCompilerOptions) and desc.add_default_include_paths is True
    assert [str(p) for p in desc.compiler_options.include_paths] == [str(p) for p in d.desc.compiler_options.include_paths] != []
    options = desc.compiler_options
    options = spy.SlangCompilerOptions({"include_paths": options.include_paths, "defines": dict(options.defines, SOME="3")})
    session = d.create_slang_session(compiler_options=options, add_default_include_paths=desc.add_default_include_paths)
    assert session.load_module_from_source("given_on", "int f() { return SOME; }").f() == 3
    assert d.create_slang_session(desc).desc == desc


def test_create_device_adds_the_packages_slang_folder_to_the_include_paths(tmp_path):
    """create_device() adds SHADER_PATH to the include paths; with a plain Device(...) scripts add it themselves."""
    with spy.create_device(spy.DeviceType.vulkan, include_paths=[tmp_path]) as made:
        assert [str(p) for p in made.desc.compiler_options.include_paths] == [str(tmp_path), spy.SHADER_PATH]
        session = made.create_slang_session(compiler_options={"include_paths": made.slang_session.desc.compiler_options.include_paths})
        assert spy.SHADER_PATH in map(str, session.desc.compiler_options.include_paths)
        made.close()


def test_set_cuda_context_current_is_quiet_on_other_devices(d):
    """set_cuda_context_current() does nothing on devices other than CUDA, because scripts call it on every device."""
    assert d.set_cuda_context_current() is None


def test_limits_have_components_and_names(d):
    """info has api_name, and limits with names: uint3 limits have .x .y .z; max_entry_point_uniform_size is a positive int."""
    info = d.info
    assert info.api_name in ("Vulkan", "CUDA", "D3D12", "Metal") and info.optix_version == 0
    groups = info.limits.max_compute_dispatch_thread_groups
    assert groups.x >= 1 and groups.y >= 1 and groups.z >= 1 and info.limits.max_compute_thread_group_size.x >= 64
    assert type(info.limits.max_entry_point_uniform_size) is int and info.limits.max_entry_point_uniform_size > 0
    assert d.has_capability(d.capabilities[0]) and not d.has_capability("no such thing")
    assert spy.Feature.double in spy.Feature and d.has_feature(spy.Feature.sm_6_0)


def test_report_heaps_and_memory(d):
    """report_heaps() gives objects with label, num_pages, total_allocated, total_mem_usage and num_allocations."""
    buffer = d.create_buffer(size=1 << 20)
    heaps = d.report_heaps()
    assert all(isinstance(h.label, str) and h.total_mem_usage >= h.total_allocated >= 0 for h in heaps)
    assert sum(h.total_allocated for h in heaps) >= buffer.size and sum(h.num_pages + h.num_allocations for h in heaps) > 0


# >>sessions and modules

def test_missing_files_and_compile_errors_raise_slang_compile_error(d):
    """load_module(), load_program() and Module.load_from_*() raise SlangCompileError for missing files and compile errors, with Slang's
    message."""
    for load in (d.load_module, lambda n: spy.Module.load_from_file(d, n), lambda n: d.load_program(n, ["main"])):
        with pytest.raises(spy.SlangCompileError, match="no_such_file"):
            load("no_such_file")
    for load in (d.load_module_from_source, lambda n, s: spy.Module.load_from_source(d, n, s)):
        with pytest.raises(spy.SlangCompileError, match="not_there"):
            load("wrong", "int f() { return not_there; }")


def test_errors_in_the_code_of_a_call_raise_value_error(d):
    """An error in the code of a call is a ValueError with Slang's message."""
    m = spy.Module.load_from_source(d, "generated", "extern static const int NEVER; int f() { return NEVER; } int g(int x) { return x; }")
    with pytest.raises(ValueError, match="NEVER"):
        m.f()
    with pytest.raises(ValueError, match="not_there"):
        m.g.prelude("static int x = not_there;")(1)


def test_names_and_texts_of_modules(d):
    """A session takes the same name and text twice, and one text under two names; another text under a name is a SlangCompileError."""
    text = "int f() { return 5; }"
    for name in ("twice", "twice", "under another name"):
        assert d.load_module_from_source(name, text).f() == 5
    with pytest.raises(spy.SlangCompileError, match="twice"):
        d.load_module_from_source("twice", text + " ")
    assert d.create_slang_session().load_module_from_source("twice", text + " ").f() == 5


def test_a_modules_session_is_the_devices_session(d):
    """module.session is device.slang_session; session.device is the device."""
    for m in (d.load_module("session_shapes"), spy.Module.load_from_file(d, "session_shapes.slang")):
        assert m.session is d.slang_session
    session = d.create_slang_session()
    assert session.device is d and session.load_module("session_shapes").session is session is not d.slang_session


def test_entry_points_are_listed_and_missing_ones_raise_runtime_error(d):
    """module.entry_points lists entry points, and entry_point(name) raises RuntimeError for an unknown name."""
    m = d.load_module("session_shapes")
    assert isinstance(m.entry_points, list) and [e.name for e in m.entry_points] == ["areas", "dynamic", "fill"]
    with pytest.raises(RuntimeError):
        m.entry_point("nothing")
    assert m.path.is_absolute() and m.path.name == "session_shapes.slang" and m.name == "session_shapes" and m.module_decl.name == "session_shapes"
    assert not m.is_composed and m.source_modules == []


def test_layouts_of_entry_points_have_their_group_size(d):
    """entry.layout and program.layout.entry_points[i] have the thread group's size."""
    m = d.load_module("session_shapes")
    program = d.link_program([m], [m.entry_point("fill").specialize([spy.SpecializationArg.from_type("float"), spy.SpecializationArg.from_expr("8")])])
    assert list(m.entry_point("areas").layout.compute_thread_group_size) == [1, 1, 1]
    assert list(program.layout.entry_points[0].compute_thread_group_size) == [4, 1, 1]


def test_rename_and_with_name_give_an_entry_point_of_another_name(d):
    """A program with a renamed entry point runs it under the new name."""
    m = d.load_module("session_shapes")
    for entry in (m.entry_point("areas").rename("other"), m.entry_point("areas").with_name("other")):
        assert entry.name == "other"
        assert run(d, d.link_program([m], [entry]), 1) == [9]
    assert m.entry_point("areas").name == "areas"


def test_specialize_takes_types_and_expressions(d):
    """entry.specialize([...]) takes types and expressions and gives a new entry point; an unknown type is a RuntimeError."""
    entry = d.load_module("session_shapes").entry_point("fill")
    arguments = [spy.SpecializationArg.from_type("float"), spy.SpecializationArg.from_expr("8")]
    assert run(d, d.link_program([entry.module], [entry.specialize(arguments)])) == [8] * 4
    assert arguments[0].kind == spy.SpecializationArgKind.type and arguments[1].value == "8"
    with pytest.raises(RuntimeError):
        entry.specialize([spy.SpecializationArg.from_type("NoSuchType"), arguments[1]])


def test_additional_source_exports_constants_also_for_numthreads(d):
    """load_program(..., additional_source=) links a separate module, which may export constants, also for [numthreads]."""
    for n in (2, 8):
        program = d.load_program("session_values", ["main"], "export static const int N = {}; export static const float SCALE = 2.0;".format(n))
        assert run(d, program, n) == [2.0 * n + i for i in range(n)]
        assert list(d.create_compute_pipeline(program).thread_group_size) == [n, 1, 1]


def test_additional_source_exports_types(d):
    """additional_source may export a type: export struct X : I = Y;"""
    for name, result in (("Square", 9), ("Strip", 30)):
        text = "import session_shapes;\nexport struct Chosen : IShape = {};".format(name)
        assert run(d, d.load_program("session_shapes", ["areas"], text), 1) == [result]


def test_linked_modules_supply_externs(d):
    """link_program(), load_from_*() and Module(device_module, link=) take Modules or SlangModules, which supply externs."""
    for load in (d.load_module_from_source, lambda n, s: spy.Module.load_from_source(d, n, s)):
        values = load("linked_values", "export static const int N = 4; export static const float SCALE = 3.0;")
        plain = d.load_module("session_values")
        assert run(d, d.link_program([plain, values], [plain.entry_point("main")])) == [12, 13, 14, 15]
        for m in (spy.Module(plain, link=[values]), spy.Module.load_from_module(d, plain, link=[values]),
                  spy.Module.load_from_file(d, "session_values", link=[values])):
            assert m.scaled(2.0) == 6
            assert [type(x) for x in m.link] == [spy.SlangModule]
        assert plain.scaled(2.0) == 2 and spy.Module(plain).scaled(2.0) == 2


def test_modules_from_text_import_each_other_by_name(d):
    """Modules from text import each other by name within a session."""
    first = d.load_module_from_source("first_of_two", "module first_of_two;\npublic int three() { return 3; }")
    second = d.load_module_from_source("second_of_two", "import first_of_two;\nint f() { return three() + 1; }")
    assert first.three() == 3 and second.f() == 4
    assert d.load_module("first_of_two") is first
    assert "return 3" in d.slang_session.load_source("first_of_two") and "SCALE" in d.slang_session.load_source("session_values")


def test_device_module_is_composed(d):
    """Device modules have source_modules: slangpy's own, the user's, then the linked ones; .link lists SlangModules."""
    values = d.load_module_from_source("device_module_values", "export static const int N = 4;")
    m = spy.Module.load_from_file(d, "session_values", link=[values])
    assert m.device_module.is_composed and m.device_module is m.device_module
    names = [s.name for s in m.device_module.source_modules]
    assert len(names) == 3 and names[0].startswith("slangpy") and names[1:] == ["session_values", "device_module_values"]
    assert [x.name for x in m.link] == ["device_module_values"]
    entry = m.device_module.entry_point("one")
    assert run(d, d.link_program([m.device_module], [entry]), 1) == [4]


def test_compose_modules(d):
    """compose_modules() gives a SlangModule with is_composed, source_modules, the entry points of all modules, and a layout; its
    module_decl raises an exception."""
    values, more = d.load_module("session_values"), d.load_module_from_source("composed_values", "export static const int N = 4;")
    both = d.compose_modules("both", [values, more, d.load_module("session_shapes")])
    assert isinstance(both, spy.SlangModule) and both.is_composed and both.name == "both"
    assert [m.name for m in both.source_modules] == ["session_values", "composed_values", "session_shapes"]
    assert {e.name for e in both.entry_points} >= {"main", "one", "areas"}
    assert both.layout.find_type_by_name("Square") is not None
    with pytest.raises(Exception):
        both.module_decl
    assert run(d, d.link_program([both], [both.entry_point("main")])) == [4, 5, 6, 7]
    with pytest.raises(RuntimeError):
        both.entry_point("nothing")


def test_type_conformances_are_numbered_from_zero_in_their_order(d):
    """Conformances are TypeConformance objects or tuples of 2 or 3 items, numbered from zero in their order; an unknown id acts as the
    last type listed."""
    m = d.load_module("session_shapes")
    strip_first = [spy.TypeConformance("IShape", "Strip"), spy.TypeConformance("IShape", "Square", -1)]
    for conformances, results in ((strip_first, (30, 9, 9)), ([("IShape", "Square"), ("IShape", "Strip", 5)], (9, 30, 30))):
        program = d.link_program([m], [m.entry_point("dynamic", conformances)])
        assert [run(d, program, 1, id=i)[0] for i in (0, 1, 7)] == list(results)
    whole = d.compose_modules("with_conformances", [m], strip_first)
    assert run(d, d.link_program([whole], [whole.entry_point("dynamic")]), 1, id=0) == [30]
    assert m.dynamic_area.type_conformances(strip_first)(0, 3.0) == 30
    assert repr(strip_first[0]) and spy.TypeConformance(("IShape", "Strip", 2)).id == 2


def test_wrong_type_conformances_raise_runtime_error(d):
    """An unknown name, a pair given twice or an id given twice raises RuntimeError."""
    m = d.load_module("session_shapes")
    for wrong in ([("IShape", "NoSuchType")], [("INothing", "Square")], [("IShape", "Square"), ("IShape", "Square", 3)],
                  [("IShape", "Square", 1), ("IShape", "Strip", 1)]):
        with pytest.raises(RuntimeError):
            d.compose_modules("wrong_conformances", [m], [spy.TypeConformance(*w) for w in wrong])
        with pytest.raises(RuntimeError):
            run(d, d.link_program([m], [m.entry_point("dynamic", wrong)]), 1, id=0)


def test_compiler_options_may_be_a_dict_of_some_fields(d):
    """Compiler options that a dict does not name keep their defaults, such as row major matrices."""
    options = spy.SlangCompilerOptions({"defines": {"K": "4"}})
    assert options.matrix_layout == spy.SlangMatrixLayout.row_major and options.matrix_layout.value == 1
    session = d.create_slang_session(compiler_options={"defines": {"K": "4"}, "debug_info": spy.SlangDebugInfoLevel.standard})
    assert session.desc.compiler_options.matrix_layout == spy.SlangMatrixLayout.row_major
    assert session.load_module_from_source("with_options", "int f() { return K; }").f() == 4


def test_module_logger_hears_how_functions_are_built(d):
    """Module.logger is None at first; a logger that is set gets messages about how functions are built."""
    lines = []

    class Output(spy.LoggerOutput):
        def write(self, level, name, msg):
            lines.append((level, name, msg))

    m = spy.Module.load_from_source(d, "logging_module", "float f(float x) { return x + 1; } float g(float x) { return x; }")
    assert m.logger is None
    m.logger = spy.Logger(level=spy.LogLevel.debug, name="builds", use_default_outputs=False)
    m.logger.add_output(Output())
    assert m.f(1.0) == 2 and any("logging_module::f" in msg for _, _, msg in lines) and {n for _, n, _ in lines} == {"builds"}
    m.logger = None
    count = len(lines)
    assert m.g(1.0) == 1 and len(lines) == count and m.logger is None


# >>printing shaders, logs, small things

def test_generated_shaders_are_printed_when_they_are_built(d, capsys):
    """Generated shaders are printed to Python's stdout with 80 =, the name, mode, bindings and code; cached ones are not printed."""
    m = spy.Module.load_from_source(d, "printing_module", "float f(float x) { return x + 1; }")
    spy.set_print_generated_shaders(True)
    try:
        assert m.f(1.0) == 2 and m.f(2.0) == 3
    finally:
        spy.set_print_generated_shaders(False)
    out = capsys.readouterr().out
    assert out.startswith("=" * 80 + "\nGENERATED SHADER: printing_module::f\n") and "END SHADER" in out
    assert out.count("GENERATED SHADER") == 1 and "numthreads" in out and "prim" in out


def test_log_levels_and_lines(tmp_path, capsys):
    """Log levels are none < debug < info < warn < error < fatal; a message of level none always passes as bare text; lines are [LEVEL]
    (name) text."""
    levels = [spy.LogLevel[n] for n in ("none", "debug", "info", "warn", "error", "fatal")]
    assert [int(x) for x in levels] == list(range(6))
    logger = spy.Logger(level=spy.LogLevel.fatal, name="mine", use_default_outputs=False)
    file = logger.add_file_output(tmp_path / "log.txt")
    logger.log(spy.LogLevel.none, "bare")
    logger.error("not this")
    logger.fatal("this")
    logger.name, logger.level = "", spy.LogLevel.info
    logger.info("nameless")
    for _ in range(3):
        logger.log(spy.LogLevel.info, "once", spy.LogFrequency.once)
    assert (tmp_path / "log.txt").read_text() == "bare\n[FATAL] (mine) this\n[INFO] nameless\n[INFO] once\n"
    assert isinstance(file, spy.LoggerOutput) and logger.add_debug_console_output() is not None
    console = spy.Logger(level=spy.LogLevel.debug)
    for level in levels[1:]:
        console.log(level, "to " + level.name)
    captured = capsys.readouterr()
    assert captured.out.count("\n") == 3 and captured.err.count("\n") == 2 and "to error" in captured.err and "to fatal" in captured.err


def test_sha1_and_timer():
    """A SHA1's digest is bytes and its hex_digest str; Timer.now() is in ns."""
    assert spy.SHA1("abc").hex_digest() == spy.SHA1(b"abc").hex_digest() == "a9993e364706816aba3e25717850c26c9cd0d89d"
    assert spy.SHA1().update("a").update(b"bc").digest() == spy.SHA1("abc").digest() and len(spy.SHA1().digest()) == 20
    start, timer = spy.Timer.now(), spy.Timer()
    assert type(start) is int and timer.elapsed_ns() >= 0 and timer.elapsed_s() < 60 and spy.Timer.delta_ms(0, 1_500_000) == 1.5
    timer.reset()
    assert spy.Timer.delta_s(start, spy.Timer.now()) < 60


def test_flush_print_to_string_is_a_str(folder):
    """flush_print_to_string() returns a str, with and without output."""
    device = spy.create_device(enable_print=True)
    assert device.flush_print_to_string() == ""
    spy.Module.load_from_source(device, "printing", "void f(int x) { printf(\"x is %d\\n\", x); }").f(4)
    text = device.flush_print_to_string()
    device.close()
    assert isinstance(text, str)


# >>reports, caches, reload

def test_compilation_reports_are_dicts(folder):
    """program.get_compilation_report() gives a dict, and device.get_compilation_reports() a list of dicts."""
    device = spy.create_device(enable_compilation_reports=True, include_paths=[folder])
    program = device.load_program("session_values", ["one"], "export static const int N = 3;")
    assert program.get_compilation_report()["entry_point_reports"] == []
    run(device, program, 1)
    report = program.get_compilation_report()
    assert isinstance(report, dict) and report["alive"] is True and isinstance(report["label"], str) and report["create_time"] > 0
    entry, pipeline = report["entry_point_reports"][0], report["pipeline_reports"][0]
    assert entry["name"] == "one" and entry["create_time"] > 0 and entry["is_cached"] is False and entry["cache_size"] == 0
    assert pipeline["type"] == "compute" and pipeline["create_time"] > 0 and pipeline["is_cached"] is False and "cache_size" in pipeline
    assert all(isinstance(r, dict) and r["create_time"] >= 0 for r in device.get_compilation_reports())
    device.close()


def test_shader_cache_stats_count_from_zero():
    """The counts of a new Device's shader cache begin at zero."""
    device = spy.create_device()
    stats = device.shader_cache_stats
    assert (stats.entry_count, stats.hit_count, stats.miss_count) == (0, 0, 0)
    device.close()


def test_reload_callbacks_have_numbers_and_reload_all_programs_calls_each_once(tmp_path):
    """register_shader_hot_reload_callback() returns an int, and reload_all_programs() calls the callbacks."""
    device = spy.create_device()
    (tmp_path / "again.slang").write_text("int f() { return 1; }")
    m = spy.Module.load_from_file(device, tmp_path / "again.slang")
    seen = []
    ids = [device.register_shader_hot_reload_callback(seen.append), device.register_shader_hot_reload_callback(lambda e: seen.append("no"))]
    assert all(type(i) is int for i in ids) and ids[0] != ids[1]
    device.unregister_shader_hot_reload_callback(ids[1])
    device.reload_all_programs()
    assert len(seen) == 1 and isinstance(seen[0], spy.ShaderHotReloadEvent)
    (tmp_path / "again.slang").write_text("int f() { return 2; }")
    os.utime(tmp_path / "again.slang", (1, 1))
    device.reload_all_programs()
    assert len(seen) == 2 and m.f() == 2
    device.hot_reload_check()
    device.close()


def test_plain_reflection_objects_are_dead_after_a_reload_and_those_of_module_layout_live_on(tmp_path):
    """After a reload plain objects of reflection have is_valid False and raise RuntimeError; the types of module.layout are the same
    objects with new contents and a larger generation."""
    path = tmp_path / "reloaded.slang"
    path.write_text("struct S { float a; }; int f(int x) { return x; }")
    with spy.create_device(spy.DeviceType.vulkan, include_paths=[tmp_path]) as made:
        plain, functional = made.load_module("reloaded"), spy.Module.load_from_file(made, "reloaded.slang")
        layout, kept = plain.layout, functional.layout.find_type_by_name("S")
        kind = layout.find_type_by_name("S")
        old = [kind, kind.fields[0], layout.find_function_by_name("f"), layout.get_type_layout(kind), plain.module_decl]
        generation = kept.generation
        assert layout.is_valid and all(o.is_valid for o in old) and kept.is_valid
        path.write_text("struct S { float a; float b; }; int f(int x) { return x + 1; }")
        os.utime(path, ns=(time.time_ns(), time.time_ns() + 5_000_000_000))
        made.reload_all_programs()
        for o in old:
            assert not o.is_valid
            with pytest.raises(RuntimeError, match="reloaded"):
                o.name
        assert not layout.is_valid
        with pytest.raises(RuntimeError, match="reloaded"):
            layout.find_type_by_name("S")
        fresh = plain.layout.find_type_by_name("S")
        assert fresh.is_valid and fresh is not kind and [f.name for f in fresh.fields] == ["a", "b"]
        assert functional.layout.find_type_by_name("S") is kept and kept.is_valid and kept.generation > generation
        assert list(kept.fields) == ["a", "b"] and functional.f(1) == 2
        made.close()


def test_native_handles_make_a_second_device_on_the_same_objects(d):
    """native_handles has three entries with type and value, which make a second device on the same objects; all enum members exist on
    every system."""
    if d.info.type != spy.DeviceType.vulkan:
        pytest.skip("about Vulkan")
    handles = d.native_handles
    assert [h.type.name for h in handles] == ["VkInstance", "VkPhysicalDevice", "VkDevice"] and all(h.value for h in handles)
    assert spy.NativeHandleType.D3D12Device.value == 131073 and spy.NativeHandleType.CUstream.value == 327683
    source = "float f(float x) { return x + 1; }"
    first = spy.create_device()
    second = spy.create_device(existing_device_handles=first.native_handles)
    assert second.native_handles == first.native_handles and second.info.adapter_name == first.info.adapter_name
    for device in (second, first, second):
        m = spy.Module.load_from_source(device, "shared", source)
        assert m.f(np.arange(4, dtype=np.float32)).to_numpy().tolist() == [1, 2, 3, 4]
    first.close()  # the first device is closed together with the device that uses its objects
    assert second.is_closed
    third = spy.Device(existing_device_handles=handles)
    assert spy.Module.load_from_source(third, "shared", source).f(1.0) == 2
    third.close()
    assert spy.Module.load_from_source(d, "shared", source).f(1.0) == 2
    base = spy.create_device()
    other = spy.create_device(existing_device_handles=base.native_handles)
    del base
    gc.collect()
    assert spy.Module.load_from_source(other, "shared", source).f(1.0) == 2


def test_base_classes_of_native_classes(d):
    """Object, DeviceChild, Pipeline and Kernel serve isinstance(); children have `device` and `memory_usage`."""
    program = d.load_program("session_values", ["one"], "export static const int N = 5;")
    kernel = d.create_compute_kernel(program)
    for child in (d.create_fence(), d.create_query_pool(count=1), program, kernel, kernel.pipeline, d.create_command_encoder()):
        assert isinstance(child, spy.DeviceChild) and isinstance(child, spy.Object) and child.device is d
        assert child.memory_usage.device >= 0 and child.memory_usage.host >= 0
    assert isinstance(kernel, spy.Kernel) and isinstance(kernel.pipeline, spy.Pipeline) and isinstance(d.create_buffer(size=4), spy.Resource)
    assert isinstance(d, spy.Object) and not isinstance(d, spy.DeviceChild) and not isinstance(3, spy.Object)


def test_a_device_desc_may_be_a_dict():
    """Device(desc) and Device(dict) are the same."""
    for given in (spy.DeviceDesc({"label": "mine"}), {"label": "mine"}):
        device = spy.Device(given)
        assert device.desc.label == "mine" and device.desc.compiler_options is not None
        device.close()


def test_functional_modules_import_modules_from_text(d):
    """Module.load_from_source() uses the device's session, so that modules from text import each other."""
    first = spy.Module.load_from_source(d, "text_one", "module text_one;\npublic int five() { return 5; }")
    assert spy.Module.load_from_source(d, "text_two", "import text_one;\nint f() { return five() * 2; }").f() == 10
    assert first.five() == 5


def test_standard_modules_of_slang_load_with_experimental_features():
    """`import slang.neural` works with experimental features, if the library has its standard modules beside it."""
    import glob
    import subprocess

    top = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    found = [f for f in glob.glob(os.path.join(top, "build/slang/*/slang-standard-module-*/slang/neural.slang-module"))]
    if not found:
        pytest.skip("no Slang library with its standard modules is fetched")
    folder = os.path.dirname(os.path.dirname(os.path.dirname(found[0])))
    library, = glob.glob(os.path.join(folder, "libslang-compiler.so.*"))
    code = ("import sys, slangpy as spy\nd = spy.create_device(slang_library=sys.argv[1])\n"
            "s = d.create_slang_session({'enable_experimental_features': True})\n"
            "print(s.load_module_from_source('neural', 'import slang.neural;\\nint f() { return 7; }').f())")
    environment = {k: v for k, v in os.environ.items() if k != "SLANGPY_SLANG_LIBRARY"}
    environment["PYTHONPATH"] = os.pathsep.join(sys.path)
    assert subprocess.run([sys.executable, "-c", code, library], env=environment, capture_output=True, text=True, timeout=100).stdout == "7\n"

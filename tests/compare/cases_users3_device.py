"""Programs of other users, third set: kernels, encoders, shader objects, cursors, sessions, reports, callbacks, fences and queries."""
import os
import tempfile

import numpy as np

from cases import case, each, error, fails, load, plain, random


def rw(spy):
    return spy.BufferUsage.shader_resource | spy.BufferUsage.unordered_access | spy.BufferUsage.copy_source | spy.BufferUsage.copy_destination


def module(device, name, text):
    return device.load_module_from_source(name, text)


SCENE = """
struct Light { float3 pos; float power; };
struct Params { Light lights[2]; int count; float2 scale; };
uniform Params params; uniform float gain; ParameterBlock<Params> block; ConstantBuffer<Light> key;
RWStructuredBuffer<float> result; StructuredBuffer<float> input;
[shader("compute")] [numthreads(4, 2, 1)]
void run_scene(uint3 tid : SV_DispatchThreadID, uniform float bias, uniform Light extra)
{ uint i = tid.y * 4 + tid.x; if (i >= 8) return;
  result[i] = input[i] * gain + params.lights[1].power + params.count + params.scale.y + block.lights[0].pos.x + block.scale.x + key.power + bias + extra.pos.z; }
[shader("compute")] [numthreads(1, 1, 1)] void clear(uint3 tid : SV_DispatchThreadID) { result[tid.x] = -1; }
"""


def scene(spy, device):
    s = module(device, "users3_scene", SCENE)
    p = device.link_program([s], [s.entry_point("run_scene")])
    i = device.create_buffer(element_count=8, struct_size=4, usage=rw(spy), data=np.arange(8, dtype=np.float32))
    o = device.create_buffer(element_count=8, struct_size=4, usage=rw(spy), data=np.zeros(8, np.float32))
    light = lambda x, w: {"pos": [x, x + 1, x + 2], "power": w}
    values = {"params": {"lights": [light(1, 2), light(3, 4)], "count": 5, "scale": [6, 7]}, "gain": 2.0, "block": {"lights": [light(8, 9), light(10, 11)], "count": 12, "scale": spy.float2(13, 14)}, "key": light(15, 16), "result": o, "input": i}
    return s, p, i, o, values, light


@case
def users3_device_kernel_values_in_parts(spy, device):
    s, p, i, o, values, light = scene(spy, device)
    k = device.create_compute_kernel(p)
    val = lambda: o.to_numpy().view(np.float32)
    def run(v, **kw):
        k.dispatch([4, 2, 1], v, **kw)
        return val()
    partial = {"params": {"lights": [{"power": 1}, {"power": 2}]}, "result": o, "input": i, "gain": 1.0}
    return each(full=lambda: run(values, bias=1.0, extra=light(1, 1)), nobias=lambda: run(values), partial=lambda: run(partial), vars_kw=lambda: [k.dispatch(thread_count=[4, 2, 1], vars=values, bias=3.0), val()][1], tuple_=lambda: [k.dispatch((4, 2, 1), values), val()][1], u3=lambda: [k.dispatch(spy.uint3(4, 2, 1), values), val()][1], more=lambda: [k.dispatch([5, 3, 1], values, bias=0.5), val()][1], zero=lambda: fails(k.dispatch, [0, 1, 1], values), two=lambda: fails(k.dispatch, [4, 2], values), wrongs=lambda: [fails(run, {**values, "gain": "x"}), fails(run, {**values, "result": 3.0}), fails(run, {**values, "params": {"lights": [light(1, 2)]}}), fails(run, {**values, "params": 3})], tens=lambda: run({**values, "input": spy.Tensor.from_numpy(device, random(8)).storage}), tens2=lambda: fails(run, {**values, "input": spy.Tensor.from_numpy(device, random(8))}), enc=lambda: [e := device.create_command_encoder(), k.dispatch([4, 2, 1], values, e, bias=9.0), device.submit_command_buffer(e.finish()) > 0, val()][3], attrs=lambda: [type(k).__name__, type(k.pipeline).__name__, k.pipeline.thread_group_size, k.program is p, type(k.reflection).__name__, isinstance(k, spy.Kernel), k.device is device], bdesc=lambda: [d := spy.ComputeKernelDesc(), setattr(d, "program", p), type(device.create_compute_kernel(d)).__name__][2])


@case
def users3_device_cursors_in_parts(spy, device):
    s, p, i, o, values, light = scene(spy, device)
    pipe = device.create_compute_pipeline(p)
    def go(fill):
        e = device.create_command_encoder()
        with e.begin_compute_pass() as q:
            c = spy.ShaderCursor(q.bind_pipeline(pipe))
            fill(c)
            q.dispatch([4, 2, 1])
        device.submit_command_buffer(e.finish())
        return o.to_numpy().view(np.float32)
    def base(c):
        c.input, c.result, c.gain = i, o, 1.0
    def partlists(c):
        base(c)
        c.params.lights.write([{"power": 1}, {"power": 2.0, "pos": [1, 2, 3]}])
        c.block.write({"lights": [{"pos": spy.float3(4)}, {}], "scale": [1, 2]})
    def steps(c):
        base(c)
        c["params"]["lights"][1]["power"] = 5
        c.params["count"] = 2
        c.params.scale = np.float32([1, 2])
        c.block.lights[0].pos = (7, 8, 9)
        c.key.power = 1.5
        e = c.find_entry_point(0)
        e.bias, e["extra"] = 0.25, light(3, 4)
    def info(c):
        base(c)
        return None
    def queries():
        c = spy.ShaderCursor(device.create_root_shader_object(p))
        return [c.is_valid(), c.find_field("params").is_valid(), c.find_field("nothing").is_valid(), c.params.has_field("lights"), c.params.lights.has_element(1), c.params.lights.has_element(2), c.params.lights.find_element(5).is_valid(), c.params.find_field_index("count"), c.find_field_index("zzz"), c.params.get_field_by_index(2).is_valid(), c.block.dereference().is_valid(), c.find_entry_point(0).is_valid(), fails(lambda: c.find_entry_point(3).is_valid()), c.params.lights[1]._offset.uniform_offset if hasattr(c, "_offset") else None, type(c.params).__name__]
    def wrong():
        c = spy.ShaderCursor(device.create_root_shader_object(p))
        return [fails(setattr, c, "gain", "x"), fails(setattr, c, "gain", [1, 2]), fails(setattr, c.params, "scale", [1, 2, 3]), fails(setattr, c.params, "scale", spy.float3(1)), fails(c.params.lights.write, [1]), fails(c.params.write, {"nothing": 3}), fails(setattr, c, "input", 3), fails(setattr, c.params, "nothing", 3), fails(setattr, c, "gain", None), fails(setattr, c, "gain", spy.ValueRef(2.0)), fails(c.set_data, np.float32([1])), fails(c.params.scale.set_data, np.float32([1, 2]))]
    def root():
        r = device.create_root_shader_object(p)
        c = spy.ShaderCursor(r)
        partlists(c)
        e = device.create_command_encoder()
        with e.begin_compute_pass() as q:
            q.bind_pipeline(pipe, r)
            q.dispatch_compute([1, 1, 1])
        device.submit_command_buffer(e.finish())
        return o.to_numpy().view(np.float32)
    def block():
        b = device.create_shader_object(p.reflection.block)
        spy.ShaderCursor(b).write({"lights": [{"pos": [1, 0, 0]}, {}], "scale": [2, 3]})
        def fill(c):
            base(c)
            c.block = b
        return [go(fill), type(b).__name__]
    def groups():
        e = device.create_command_encoder()
        e.push_debug_group("outer", spy.float3(1, 0, 0))
        e.insert_debug_marker("here", [0, 1, 0])
        q = e.begin_compute_pass()
        q.push_debug_group(name="inner", color=(0, 0, 1))
        c = spy.ShaderCursor(q.bind_pipeline(pipe))
        base(c)
        q.insert_debug_marker(name="x", color=spy.float3(0))
        q.dispatch(thread_count=[4, 2, 1])
        q.pop_debug_group()
        q.end()
        e.pop_debug_group()
        e.global_barrier()
        b = e.finish()
        return [type(q).__name__, isinstance(q, spy.PassEncoder), type(b).__name__, b.recording_id == e.recording_id, b.queue, e.queue, device.submit_command_buffer(b) > 0, o.to_numpy().view(np.float32)]
    def indirect():
        a = device.create_buffer(element_count=3, struct_size=4, usage=rw(spy) | spy.BufferUsage.indirect_argument, data=np.uint32([1, 1, 1]))
        e = device.create_command_encoder()
        with e.begin_compute_pass() as q:
            c = spy.ShaderCursor(q.bind_pipeline(pipe))
            base(c)
            c.gain = 4.0
            q.dispatch_compute_indirect(spy.BufferOffsetPair(a))
        device.submit_command_buffer(e.finish())
        return o.to_numpy().view(np.float32)
    return each(partlists=lambda: go(partlists), steps=lambda: go(steps), base=lambda: go(base), queries=queries, wrong=wrong, root=root, block=block, groups=groups, indirect=indirect, pipes=lambda: [pipe.thread_group_size, type(pipe).__name__, isinstance(pipe, spy.Pipeline), type(device.create_compute_pipeline(program=p, defer_target_compilation=True, label="l")).__name__, type(device.create_compute_pipeline(spy.ComputePipelineDesc({"program": p, "label": "x"}))).__name__, type(device.create_compute_pipeline({"program": p})).__name__, fails(device.create_compute_pipeline, 3)])


@case
def users3_device_encoders_misused(spy, device):
    s, p, i, o, values, light = scene(spy, device)
    k = device.create_compute_kernel(p)
    def finished():
        e = device.create_command_encoder()
        b = e.finish()
        return [error(e.copy_buffer, o, 0, i, 0, 4), error(e.finish), device.submit_command_buffer(b) > 0, fails(lambda: device.submit_command_buffer(b) > 0)]
    def open_pass():
        e = device.create_command_encoder()
        q = e.begin_compute_pass()
        r = [fails(e.finish), fails(e.copy_buffer, o, 0, i, 0, 4)]
        return r + [fails(q.end), fails(q.end)]
    def unbound():
        e = device.create_command_encoder()
        q = e.begin_compute_pass()
        return [error(q.dispatch, [1, 1, 1])]
    def two():
        a, b = device.create_command_encoder(), device.create_command_encoder()
        a.copy_buffer(o, 0, i, 4, 4)
        b.copy_buffer(o, 4, i, 8, 4)
        x, y = b.finish(), a.finish()
        n = device.submit_command_buffers([x, y])
        device.wait_for_submit(n)
        return [o.to_numpy().view(np.float32)[:2], device.is_submit_finished(n)]
    def copies():
        b = device.create_buffer(size=32, usage=rw(spy), data=np.arange(8, dtype=np.float32))
        e = device.create_command_encoder()
        e.copy_buffer(b, 16, b, 0, 16)
        e.clear_buffer(i)
        e.set_buffer_state(b, spy.ResourceState.copy_source)
        device.submit_command_buffer(e.finish())
        return [b.to_numpy().view(np.float32), i.to_numpy().view(np.float32)]
    def bad():
        e = device.create_command_encoder()
        return [error(e.copy_buffer, o, 0, i, 0, 1000), fails(e.copy_buffer, o, 30, i, 0, 4), error(e.copy_buffer, None, 0, i, 0, 4), error(e.upload_buffer_data, o, 0, [1.0]), error(e.clear_buffer, 3), error(e.push_debug_group, 3, [1, 0, 0]), fails(e.pop_debug_group)]
    return each(finished=finished, open=open_pass, unbound=unbound, two=two, copies=copies, bad=bad, native=lambda: [device.create_command_encoder().native_handle is not None][0:0], kinds=lambda: [type(device.create_command_encoder()).__name__, isinstance(device.create_command_encoder(), spy.CommandEncoder), isinstance(device.create_command_encoder(), spy.DeviceChild), type(device.create_command_encoder(queue=spy.CommandQueueType.graphics)).__name__], free=lambda: type(spy.create_command_encoder()).__name__, empty=lambda: [device.submit_command_buffers([]) >= 0, error(device.submit_command_buffers, [None])], kdisp=lambda: [e := device.create_command_encoder(), b := e.finish(), error(k.dispatch, [4, 2, 1], values, e)][2])


@case
def users3_device_fences_and_queries(spy, device):
    f = device.create_fence(initial_value=3)
    def signals():
        a = [f.current_value, f.signaled_value, f.signal(), f.current_value, f.signal(10), f.current_value, f.signaled_value]
        f.wait(10), f.wait(value=5, timeout_ns=1000000), f.wait()
        return a
    def submits():
        g = device.create_fence(spy.FenceDesc({"initial_value": 0}))
        b = device.create_buffer(size=16, usage=rw(spy))
        e = device.create_command_encoder()
        e.upload_buffer_data(b, 0, np.float32([1, 2, 3, 4]))
        n = device.submit_command_buffers([e.finish()], wait_fences=[f], wait_fence_values=[1], signal_fences=[g], signal_fence_values=[7])
        g.wait(7)
        device.wait_for_idle()
        return [g.current_value, b.to_numpy().view(np.float32), n > 0, device.is_submit_finished(n), g.desc.initial_value, g.desc.shared]
    return each(signals=signals, submits=submits, desc=lambda: [f.desc.initial_value, f.desc.shared, type(f).__name__, isinstance(f, spy.DeviceChild)], dictd=lambda: device.create_fence({"initial_value": 4}).current_value, lower=lambda: fails(f.signal, 1), timeout=lambda: fails(f.wait, 1000, 1000), wrong=lambda: [error(f.signal, "x"), error(f.wait, -1) , error(device.create_fence, -1)], lens=lambda: fails(device.submit_command_buffers, [device.create_command_encoder().finish()], signal_fences=[f], signal_fence_values=[]) == "raises", qkinds=lambda: [device.create_query_pool(type=spy.QueryType.timestamp, count=4).desc.count, device.create_query_pool(spy.QueryType.timestamp, 2).desc.type, error(device.create_query_pool, spy.QueryType.timestamp), error(device.create_query_pool, "x", 3)])


@case
def users3_device_programs_specialised(spy, device):
    s = module(device, "users3_spec", """
interface IOp { float run(float x); };
struct Add : IOp { float run(float x) { return x + 10; } };
struct Mul : IOp { float run(float x) { return x * 10; } };
interface IShape { float area(); };
struct Sq : IShape { float s; float area() { return s * s; } };
struct Ci : IShape { float r; float area() { return 3 * r * r; } };
extern static const int COUNT = 2; extern static const float FACTOR; extern struct Pick : IOp = Add;
RWStructuredBuffer<float> o;
[shader("compute")] [numthreads(1, 1, 1)] void gen<T : IOp, let N : int>(uint3 t : SV_DispatchThreadID) { T op; float r = t.x; for (int i = 0; i < N; i++) r = op.run(r); o[t.x] = r; }
[shader("compute")] [numthreads(COUNT, 1, 1)] void ext(uint3 t : SV_DispatchThreadID) { Pick p; o[t.x] = p.run(t.x * FACTOR) + COUNT; }
[shader("compute")] [numthreads(1, 1, 1)] void dyn(uint3 t : SV_DispatchThreadID) { IShape a = createDynamicObject<IShape>(t.x, float2(t.x + 1)); o[t.x] = a.area(); }
""")
    b = device.create_buffer(element_count=4, struct_size=4, usage=rw(spy), data=np.zeros(4, np.float32))
    def run(p, n=4):
        device.create_compute_kernel(p).dispatch([n, 1, 1], {"o": b})
        return b.to_numpy().view(np.float32)
    A = spy.SpecializationArg
    def spec(*a):
        e = s.entry_point("gen").specialize(list(a))
        return [e.name, e.stage, run(device.link_program([s], [e]))]
    def ext(text, **k):
        x = module(device, f"users3_ext{abs(hash(text)) % 10**8}", text)
        p = device.link_program([s, x], [s.entry_point("ext")], **k)
        return [p.layout.entry_points[0].compute_thread_group_size, run(p)]
    def conform(pairs):
        e = s.entry_point("dyn", type_conformances=pairs)
        return run(device.link_program([s], [e]))
    return each(add2=lambda: spec(A.from_type("Add"), A.from_expr("2")), mul1=lambda: spec(A.from_type("Mul"), A.from_expr("1")), few=lambda: error(spec, A.from_type("Add")), unk=lambda: error(spec, A.from_type("Nothing"), A.from_expr("1")), raw=lambda: error(lambda: run(device.link_program([s], [s.entry_point("gen")]))), ext=lambda: ext("export static const float FACTOR = 2;"), ext2=lambda: ext("import users3_spec; export static const float FACTOR = 3; export static const int COUNT = 4; export struct Pick : IOp = Mul;"), extno=lambda: error(lambda: run(device.link_program([s], [s.entry_point("ext")]))), opts=lambda: ext("export static const float FACTOR = 5;", link_options=spy.SlangLinkOptions({"optimization": spy.SlangOptimizationLevel.none, "debug_info": spy.SlangDebugInfoLevel.none})), conf=lambda: conform([spy.TypeConformance("IShape", "Sq"), spy.TypeConformance("IShape", "Ci")]), conft=lambda: conform([("IShape", "Ci", 0), ("IShape", "Sq", 1)]), confbad=lambda: [error(conform, [("IShape", "Nope")]), error(conform, [("IShape", "Sq", 1), ("IShape", "Ci", 1)]), error(conform, [("Nope", "Sq")])], names=lambda: [s.entry_point("dyn").rename("other").name, s.entry_point("dyn").with_name("third").name, s.entry_point("dyn").name, [e.name for e in s.entry_points], error(s.entry_point, "zzz")], mods=lambda: [s.name, type(s.path).__name__, s.is_composed, s.source_modules, s.session is device.slang_session, type(s.layout).__name__, s.module_decl.kind, len(s.entry_points)])


@case
def users3_device_sessions_and_files(spy, device):
    folder = tempfile.mkdtemp()
    put = lambda n, t: open(os.path.join(folder, n), "w").write(t)
    put("lib_a.slang", "module lib_a; public float fa(float x) { return x * A_FACTOR; } public static const int VERSION = 3;")
    put("user_b.slang", "import lib_a; RWStructuredBuffer<float> o; [shader(\"compute\")] [numthreads(2,1,1)] void main(uint3 t : SV_DispatchThreadID) { o[t.x] = fa(t.x + 1) + VERSION; }")
    put("inc.slangh", "#define EXTRA 5\n")
    put("user_c.slang", "#include \"inc.slangh\"\nRWStructuredBuffer<float> o; [shader(\"compute\")] [numthreads(1,1,1)] void main(uint3 t : SV_DispatchThreadID) { o[t.x] = EXTRA; }")
    put("broken.slang", "float f( {")
    opt = {"include_paths": [folder], "defines": {"A_FACTOR": "2"}}
    S = device.create_slang_session(compiler_options=opt)
    b = device.create_buffer(element_count=4, struct_size=4, usage=rw(spy), data=np.zeros(4, np.float32))
    def run(p):
        device.create_compute_kernel(p).dispatch([4, 1, 1], {"o": b})
        return b.to_numpy().view(np.float32)
    def options():
        o = spy.SlangCompilerOptions({"floating_point_mode": spy.SlangFloatingPointMode.precise, "optimization": spy.SlangOptimizationLevel.high, "matrix_layout": spy.SlangMatrixLayout.column_major, "defines": {"X": "1"}})
        d = spy.SlangCompilerOptions()
        fields = lambda o: [list(map(str, o.include_paths)), o.defines, o.matrix_layout, o.enable_warnings, o.disable_warnings, o.warnings_as_errors, o.report_downstream_time, o.report_perf_benchmark, o.skip_spirv_validation, o.floating_point_mode, o.debug_info, o.optimization, o.downstream_args, o.dump_intermediates, o.dump_intermediates_prefix]
        l = spy.SlangLinkOptions()
        return [fields(o), fields(d), l.floating_point_mode, l.debug_info, l.optimization, l.downstream_args, l.dump_intermediates, l.dump_intermediates_prefix]
    def desc():
        d = S.desc
        return [type(d).__name__, d.add_default_include_paths, d.cache_path, d.compiler_options.defines, [os.path.basename(str(p)) == os.path.basename(folder) for p in d.compiler_options.include_paths], S.device is device, device.slang_session.desc.add_default_include_paths]
    return each(run=lambda: run(S.load_program("user_b", ["main"])), run4=lambda: run(device.create_slang_session({"include_paths": [folder], "defines": {"A_FACTOR": "4"}}).load_program(module_name="user_b.slang", entry_point_names=["main"])), inc=lambda: run(S.load_program("user_c", ["main"])), broken=lambda: error(S.load_module, "broken"), missing=lambda: error(S.load_module, "nothing_here"), noentry=lambda: error(S.load_program, "user_b", ["zzz"]), same=lambda: [S.load_module("lib_a") is S.load_module("lib_a"), S.load_module("lib_a").name, os.path.basename(str(S.load_module("lib_a").path))], warn=lambda: error(lambda: device.create_slang_session({"include_paths": [folder]}).load_program("user_b", ["main"])), options=options, desc=desc, comp=lambda: [c := S.compose_modules("users3_comp", [S.load_module("lib_a"), S.load_module("user_b")]), c.is_composed, [m.name for m in c.source_modules], [e.name for e in c.entry_points], c.name][1:], link=lambda: run(S.link_program(modules=[S.load_module("user_b")], entry_points=[S.load_module("user_b").entry_point("main")], link_options=None)), src=lambda: [m := S.load_module_from_source("users3_inline", "import lib_a; public float z(float x) { return fa(x); }", "virtual/path.slang"), m.name, str(m.path).endswith("path.slang")][1:], free=lambda: [type(spy.create_slang_session()).__name__, spy.load_module_from_source("users3_free", "float q() { return 1; }").name, type(spy.create_slang_session(desc=spy.SlangSessionDesc({"add_default_include_paths": False}))).__name__], func=lambda: spy.Module(S.load_module_from_source("users3_fn", "import slangpy; import lib_a; float call(float x) { return fa(x); }")).call(3.0), dflt=lambda: error(device.create_slang_session, {"nothing": 1}))


@case(own_device=True)
def users3_device_callbacks_and_reports(spy, device):
    log = []
    a = device.register_command_recording_submitted_callback(lambda e: log.append(["sub", type(e).__name__, e.id > 0, e.submit_id > 0, e.device is device, type(e.command_buffer).__name__]))
    b = device.register_command_recording_discarded_callback(lambda e: log.append(["dis", type(e).__name__, e.id > 0, e.device is device]))
    c = device.register_shader_hot_reload_callback(lambda e: log.append(["hot", type(e).__name__]))
    d = device.register_device_close_callback(lambda x: log.append(["close", x is device]))
    def submit():
        e = device.create_command_encoder()
        device.submit_command_buffer(e.finish())
        x = device.create_command_encoder().finish()
        del x
        return list(log)
    def reload():
        log.clear()
        device.reload_all_programs()
        device.unregister_shader_hot_reload_callback(c)
        device.reload_all_programs()
        return list(log)
    def info():
        l, i = device.info.limits, device.info
        n = [type(getattr(l, k)).__name__ for k in "max_texture_dimension_1d max_texture_layers max_vertex_input_elements max_vertex_streams max_compute_threads_per_group max_compute_thread_group_size min_wave_size max_wave_size max_viewports max_viewport_dimensions max_framebuffer_dimensions max_shader_visible_samplers max_entry_point_uniform_size max_vertex_input_element_offset max_vertex_stream_stride".split()]
        return [n, type(i.adapter_name).__name__, i.timestamp_frequency >= 0, type(i.optix_version).__name__, type(i).__name__, type(l).__name__]
    def stats():
        s = device.shader_cache_stats
        return [type(s).__name__, s.entry_count >= 0, s.hit_count >= 0, s.miss_count >= 0]
    def heaps():
        return [[type(h).__name__, type(h.label).__name__, h.num_pages >= 0, h.total_allocated >= 0, h.total_mem_usage >= 0, h.num_allocations >= 0] for h in device.report_heaps()[:1]]
    def lists():
        return [type(device.features).__name__, all(isinstance(f, spy.Feature) for f in device.features), type(device.capabilities).__name__, all(isinstance(x, str) for x in device.capabilities), [device.has_feature(f) == (f in device.features) for f in (spy.Feature.software_device if hasattr(spy.Feature, "software_device") else spy.Feature.double, spy.Feature.ray_tracing)], device.has_capability("nothing"), type(device.supported_shader_model).__name__, type(device.supports_cuda_interop).__name__, len(device.native_handles), [type(h).__name__ for h in device.native_handles][:1]]
    def desc():
        x = device.desc
        return [type(x).__name__, type(x.label).__name__, x.enable_debug_layers, x.enable_rhi_validation, x.enable_cuda_interop, x.enable_print, x.enable_hot_reload, x.enable_compilation_reports, x.adapter_luid, x.module_cache_path, x.shader_cache_path, None, x.additional_vulkan_instance_extensions, x.additional_vulkan_device_extensions, x.bindless_options.buffer_count > 0 if x.bindless_options is not None else None]
    def close():
        log.clear()
        device.close()
        return [list(log), fails(device.create_buffer, size=4, usage=rw(spy))]
    return each(ids=lambda: [len({a, b, c, d}) >= 1, all(type(x) is int for x in (a, b, c, d))], submit=submit, un=lambda: [device.unregister_command_recording_submitted_callback(a), log.clear(), device.submit_command_buffer(device.create_command_encoder().finish()) > 0, list(log)][3], reload=reload, info=info, stats=stats, heaps=heaps, lists=lists, desc=desc, adapters=lambda: [[type(x).__name__, type(x.name).__name__, type(x.vendor_id).__name__, type(x.device_id).__name__, len(x.luid)] for x in spy.Device.enumerate_adapters(device.info.type)[:1]], created=lambda: device in spy.Device.get_created_devices(), flush=lambda: [device.flush_print(), device.flush_print_to_string()], hot=lambda: [device.set_hot_reload_delay(10), device.hot_reload_check()], cal=lambda: fails(lambda: [type(x := device.get_timestamp_calibration()).__name__, x.gpu_frequency >= 0, x.cpu_frequency >= 0]), live=lambda: spy.Device.report_live_objects(), cudacur=lambda: device.set_cuda_context_current(), withdev=lambda: [None for _ in (0,) if device.__enter__() is device and device.__exit__(None, None, None) is None], cb=lambda: fails(device.unregister_device_close_callback, 12345), close=close)


@case
def users3_device_absent_features_fail(spy, device):
    s = module(device, "users3_plain", "[shader(\"compute\")] [numthreads(1,1,1)] void main() {}")
    p = device.link_program([s], [s.entry_point("main")])
    m = load(spy, device, "float f(float a) { return a; }")
    return each(window=lambda: fails(spy.Window, 64, 64), app=lambda: fails(lambda: spy.App(device)) == "raises" or "App", surface=lambda: fails(device.create_surface, None), rt=lambda: fails(device.create_ray_tracing_pipeline, p, [], 1, 16, 8), table=lambda: fails(device.create_shader_table, p), accel=lambda: fails(device.create_acceleration_structure, 1024), coop=lambda: fails(spy.get_coop_vec_matrix_size if hasattr(spy, "get_coop_vec_matrix_size") else len, 4, 4, None, None), raster=lambda: fails(device.create_compute_pipeline, None), nothing=lambda: [error(lambda: device.nothing), error(lambda: spy.nothing), error(lambda: m.nothing), error(lambda: m.f.nothing), error(lambda: spy.float3().nothing), error(lambda: setattr(spy.float3(), "nothing", 1)), error(lambda: spy.Tensor.nothing)], kwargs=lambda: [error(device.create_buffer, nothing=1), error(device.create_texture, nothing=1), error(device.create_sampler, nothing=1), error(spy.create_device, nothing=1), error(spy.Tensor.zeros, device, (2,), "float", nothing=1), error(spy.Module.load_from_source, device, "x", "", nothing=1)], types=lambda: [error(device.create_buffer, "x"), error(device.create_texture, 3), error(device.load_module, 3), error(device.load_module_from_source, "a"), error(device.load_module_from_source, 1, 2), error(device.link_program, s, []), error(device.link_program, [s], ["main"]), error(device.load_program, "nothing", ["main"]), error(spy.ShaderCursor, 3), error(spy.ReflectionCursor, 3), error(device.create_root_shader_object, s), error(device.submit_command_buffer, None), error(device.wait_for_submit, "x"), error(device.has_feature, "x"), error(device.get_format_support, 3), error(device.create_compute_kernel, s)])


@case
def users3_device_functions_dispatched_raw(spy, device):
    m = load(spy, device, """
import slangpy;
struct Cfg { float scale; float2 off[2]; };
uniform float glob; ParameterBlock<Cfg> cfg;
extern static const int MODE = 0;
void fill(uint dispatchThreadID, RWStructuredBuffer<float> o, float k) { if (dispatchThreadID < 8) o[dispatchThreadID] = dispatchThreadID * k + glob + cfg.scale + cfg.off[1].x + MODE; }
void fill2(uint2 dispatchThreadID, RWTensor<float, 2> t, Cfg c) { if (all(dispatchThreadID < uint2(3, 2))) t.store(dispatchThreadID.y, dispatchThreadID.x, dispatchThreadID.x * 10 + dispatchThreadID.y + c.scale); }
void fill3(uint3 dispatchThreadID, RWStructuredBuffer<float> o, Tensor<float, 1> i, float3 v, float w[2]) { if (dispatchThreadID.x < 4) o[dispatchThreadID.x] = i[dispatchThreadID.x] + v.y + w[1]; }
[shader("compute")] [numthreads(2, 1, 1)] void entry(uint3 tid : SV_DispatchThreadID, RWStructuredBuffer<float> o, uniform float k) { o[tid.x] = k + tid.x; }
float res(uint dispatchThreadID) { return 1; } void outp(uint dispatchThreadID, out float a) { a = 1; } void noid(float a) {} void over(uint dispatchThreadID) {} void over(uint2 dispatchThreadID) {}
""")
    buf = lambda: device.create_buffer(element_count=8, struct_size=4, usage=rw(spy), data=np.zeros(8, np.float32))
    val = lambda b: b.to_numpy().view(np.float32)
    cfg = {"scale": 100.0, "off": [[1, 2], [3, 4]]}
    def with_(f, n, **k):
        b = buf()
        f.dispatch(n, o=b, **k)
        return val(b)
    return each(plain=lambda: with_(m.fill, [8, 1, 1], k=2.0), vars_=lambda: with_(m.fill, [8, 1, 1], vars={"glob": 5.0, "cfg": cfg}, k=2.0), set_=lambda: with_(m.fill.set(glob=1.0, cfg=cfg), [4, 1, 1], k=1.0), const=lambda: with_(m.fill.constants({"MODE": 7}), spy.uint3(3, 1, 1), k=0.0), write=lambda: with_(m.fill.set({"glob": 9.0}), (2, 1, 1), k=0.0), groups=lambda: with_(m.fill.thread_group_size(spy.uint3(4, 1, 1)), [8, 1, 1], k=3.0), two=lambda: [t := spy.Tensor.zeros(device, (2, 3), "float"), m.fill2.dispatch([3, 2, 1], t=t, c=cfg), t.to_numpy()][2], three=lambda: with_(m.fill3, [4, 1, 1], i=spy.Tensor.from_numpy(device, random(4)), v=spy.float3(1, 2, 3), w=[4, 5]), entry=lambda: with_(m.entry, [4, 1, 1], k=1.5), entryg=lambda: error(lambda: m.entry.thread_group_size(spy.uint3(4, 1, 1)).dispatch([4, 1, 1], o=buf(), k=1.0)), enc=lambda: [e := device.create_command_encoder(), b := buf(), m.fill.dispatch([8, 1, 1], {}, e, o=b, k=1.0), val(b), device.submit_command_buffer(e.finish()) > 0, val(b)][3:], bad=lambda: [error(m.res.dispatch, [1, 1, 1]), error(m.outp.dispatch, [1, 1, 1], a=1.0), error(m.noid.dispatch, [1, 1, 1], a=1.0), error(m.over.dispatch, [1, 1, 1])], wrong=lambda: [fails(m.fill.dispatch, [8, 1, 1], o=buf(), k="x"), fails(m.fill.dispatch, [8, 1], o=buf(), k=1.0), fails(m.fill.dispatch, 8, o=buf(), k=1.0), fails(m.fill.dispatch, [8, 1, 1], buf(), 1.0)], ret=lambda: m.fill.dispatch([8, 1, 1], o=buf(), k=1.0), ten=lambda: [t := spy.Tensor.zeros(device, (8,), "float"), m.fill.dispatch([8, 1, 1], o=t, k=1.0), t.to_numpy()][2], stor=lambda: [t := spy.Tensor.zeros(device, (8,), "float"), m.fill.dispatch([8, 1, 1], o=t.storage, k=1.0), t.to_numpy()][2])

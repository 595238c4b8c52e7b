"""The device itself, vectors and matrices on the host, loggers, small things."""
import numpy as np

from cases import case, each, error, fails, load, random


@case
def device_properties(spy, device):
    i = device.info
    return each(api=lambda: i.api_name, type=lambda: i.type, name=lambda: type(i.adapter_name).__name__, lim=lambda: [list(i.limits.max_compute_dispatch_thread_groups), i.limits.max_compute_threads_per_group], ts=lambda: i.timestamp_frequency > 0, feat=lambda: type(device.features).__name__, hf=lambda: [device.has_feature(f) for f in (spy.Feature.half, spy.Feature.double_, spy.Feature.int64, spy.Feature.int16)] if hasattr(spy.Feature, "double_") else [device.has_feature(spy.Feature.half)], desc=lambda: device.desc.type, cur=lambda: spy.current_device() is not None, sess=lambda: device.slang_session is device.slang_session, sm=lambda: type(device.supported_shader_model).__name__, caps=lambda: len(device.capabilities) > 0, cuda=lambda: type(device.supports_cuda_interop).__name__, nh=lambda: len(device.native_handles), fs=lambda: (device.get_format_support(spy.Format.rgba32_float) & spy.FormatSupport.texture) != 0, created=lambda: device in spy.Device.get_created_devices(), heaps=lambda: type(device.report_heaps()).__name__, cal=lambda: type(device.get_timestamp_calibration()).__name__, adapters=lambda: len(spy.Device.enumerate_adapters(device.info.type)) > 0, rep=lambda: len(repr(device)) > 0, ctx=lambda: device.set_cuda_context_current(), live=lambda: spy.Device.report_live_objects(), limits=lambda: i.limits.max_entry_point_uniform_size > 0, stats=lambda: type(device.shader_cache_stats).__name__)


@case
def members_of_enums(spy, device):
    out = {}
    for n in ("DeviceType", "TextureType", "MemoryType", "BufferUsage", "TextureUsage", "ResourceState", "Feature", "QueryType", "CommandQueueType", "PrimitiveTopology", "CompareOp", "LoadOp", "StoreOp", "CullMode", "BlendOp", "BlendFactor", "DataType", "ShaderModel", "SlangMatrixLayout", "SlangFloatingPointMode", "SlangDebugInfoLevel", "SlangOptimizationLevel", "LogLevel", "LogFrequency", "FormatSupport", "NativeHandleType", "ModifierID", "TextureAddressingMode", "TextureFilteringMode", "TextureReductionOp", "IndexFormat", "InputSlotClass", "ShaderStage", "DescriptorHandleType", "CoopVecMatrixLayout", "AccelerationStructureBuildFlags", "RayTracingPipelineFlags"):
        out[n] = error(lambda: [[m.name, m.value] for m in getattr(spy, n)])
    return out


@case(own_device=True)
def devices_close(spy, device):
    calls = []
    i = device.register_device_close_callback(lambda d: calls.append(d is device))
    j = device.register_device_close_callback(lambda d: calls.append(2))
    device.unregister_device_close_callback(j)
    with device as d:
        same = d is device
        cur = spy.current_device() is device
    device.close()
    device.close()
    return calls, i != j, same, cur


@case(own_device=True)
def current_devices(spy, device):
    cur = spy.current_device() is device
    spy.push_current_device(device)
    p = spy.pop_current_device()
    b = spy.create_buffer(size=16, usage=spy.BufferUsage.shader_resource)
    t = spy.create_texture(format=spy.Format.r32_float, width=2, height=2, usage=spy.TextureUsage.shader_resource)
    m = spy.load_module_from_source("cur_mod", "int f() { return 1; }")
    def drain():
        for _ in range(10):
            spy.pop_current_device()
    return each(cur=lambda: cur, b=lambda: b.size, t=lambda: t.width, m=lambda: m.name, pop=lambda: p is None or p is device, drain=lambda: error(drain), none=lambda: error(spy.current_device))


@case
def recording_callbacks(spy, device):
    got = []
    a = device.register_command_recording_submitted_callback(lambda e: got.append(["s", e.device is device, e.id != 0, e.submit_id != 0]))
    b = device.register_command_recording_discarded_callback(lambda e: got.append(["d", e.device is device, e.id != 0]))
    device.submit_command_buffer(device.create_command_encoder().finish())
    e = device.create_command_encoder()
    c = e.finish()
    del c, e
    import gc
    gc.collect()
    device.unregister_command_recording_submitted_callback(a)
    device.unregister_command_recording_discarded_callback(b)
    device.submit_command_buffer(device.create_command_encoder().finish())
    return got


@case
def vectors_on_the_host(spy, device):
    a, b, i, u, t = spy.float3(1, 2, 3), spy.float3(4, 5, 6), spy.int3(7, -8, 9), spy.uint2(1, 2), spy.bool3(True, False, True)
    h = spy.float16_t3(1, 2, 3)
    return each(str=lambda: [str(a), repr(b), str(i), str(u), str(t), str(h), str(spy.float2(0.1, 1e10)), str(spy.float2(float("nan"), float("inf")))], ops=lambda: [str(x) for x in (a + b, a - b, a * b, a / b, a + 1, 2 * a, a * 0.5, -a, i + 1, i * 2, i % 4, i & 3, i | 1, i ^ 1, i << 1, i >> 1)], div=lambda: str(spy.int3(7, -8, 9) / 2), lst=lambda: str(a + [1, 2, 3]), eq=lambda: [a == spy.float3(1, 2, 3), a == [1, 2, 3], a == (1, 2, 3), a == [1, 2], a == spy.int3(1, 2, 3), a != b], lt=lambda: [a < b, a > b, a <= a, b >= a], hash=lambda: hash(a) == hash(spy.float3(1, 2, 3)), make=lambda: [str(x) for x in (spy.float3(1), spy.float3([1, 2, 3]), spy.float3((1, 2, 3)), spy.float3(np.array([1, 2, 3])), spy.float3(spy.int3(1, 2, 3)), spy.float3(spy.float2(1, 2), 3), spy.float3(1, spy.float2(2, 3)), spy.float3(), spy.float4(a, 4), spy.float4(spy.float2(1, 2), spy.float2(3, 4)))],
                bad=lambda: [error(spy.int3, 1.5), error(spy.uint3, -1), error(spy.float3, "x"), error(spy.float3, 1, 2), error(spy.float3, [1, 2])], attr=lambda: [a.x, a.y, a.z, str(a.xy), str(a.yz), error(lambda: a.w), str(spy.float4(1, 2, 3, 4).xyz)], idx=lambda: [a[0], a[-1], error(lambda: a[3])], it=lambda: list(a), n=lambda: len(a), shape=lambda: a.shape, et=lambda: a.element_type, set=lambda: [setattr(a, "x", 9), a.x, a.__setitem__(1, 8), str(a)], np=lambda: np.array(b), bop=lambda: error(lambda: t + t), unpack=lambda: [*i], pick=lambda: error(lambda: float(spy.float1(2.0))), mixed=lambda: error(lambda: str(a + i)), pyt=lambda: [type(x[0]).__name__ for x in (a, i, u, t, h)])


@case
def functions_on_the_host(spy, device):
    M = spy.math
    a, b = spy.float3(1, 2, 3), spy.float3(4, -5, 6)
    return each(**{n: (lambda n=n: getattr(M, n)(a, b)) for n in ("dot", "cross", "min", "max", "pow", "fmod", "atan2", "reflect", "step")}, **{n: (lambda n=n: getattr(M, n)(b)) for n in ("abs", "floor", "ceil", "round", "trunc", "frac", "sign", "exp", "exp2", "sin", "cos", "tan", "length", "normalize", "saturate", "rcp", "degrees", "radians", "isnan", "isinf", "isfinite")}, **{n + "p": (lambda n=n: getattr(M, n)(a)) for n in ("sqrt", "rsqrt", "log", "log2", "log10", "asin", "acos", "atan", "sinh", "cosh", "tanh")},
                lerp=lambda: M.lerp(a, b, 0.25), clamp=lambda: M.clamp(b, 0.0, 5.0) if False else M.clamp(b, spy.float3(0), spy.float3(5)), smooth=lambda: M.smoothstep(spy.float3(0), spy.float3(4), a), sel=lambda: M.select(spy.bool3(True, False, True), a, b), cmp=lambda: [str(getattr(M, n)(a, b)) for n in ("eq", "ne", "lt", "le", "gt", "ge")], aan=lambda: [M.any(spy.bool3(True, False, True)), M.all(spy.bool3(True, False, True)), M.none(spy.bool3(False, False, False)) if hasattr(M, "none") else None], scal=lambda: [M.sin(1.0), M.sqrt(2.0), M.clamp(5.0, 0.0, 1.0), M.lerp(1.0, 3.0, 0.5), M.min(1, 2)])


@case
def matrices_on_the_host(spy, device):
    M = spy.math
    a = spy.float4x4(np.arange(16, dtype=np.float32).reshape(4, 4))
    b = spy.float4x4([2, 0, 0, 1, 0, 3, 0, 2, 0, 0, 4, 3, 0, 0, 0, 1])
    c = spy.float3x3([1, 2, 3, 0, 1, 4, 5, 6, 0])
    v = spy.float4(1, 2, 3, 4)
    return each(str=lambda: [str(spy.float2x2([1, 2, 3, 4])), str(spy.float3x4()), str(spy.float2x3())], idx=lambda: [str(a[1]), a[1, 2], error(lambda: a[4])], mul=lambda: [str(x) for x in (a @ b, M.mul(a, b), M.mul(a, v), M.mul(v, a))], badmul=lambda: [error(lambda: a * b), error(lambda: a + b), error(lambda: a * 2)], tr=lambda: M.transpose(a).to_numpy(), det=lambda: [M.determinant(c), M.determinant(b)], inv=lambda: M.inverse(b).to_numpy(), np=lambda: a.to_numpy(), shape=lambda: a.shape, nest=lambda: error(spy.float2x2, [[1, 2], [3, 4]]), set=lambda: [a.__setitem__((0, 1), 9), a[0, 1]], row=lambda: str(a.get_row(1)), col=lambda: str(a.get_col(1)), id=lambda: spy.float4x4.identity().to_numpy(), z=lambda: spy.float4x4.zeros().to_numpy(), eq=lambda: [a == a, a == b, hash(b) == hash(spy.float4x4(b))], c34=lambda: str(spy.float3x4(b)), c33=lambda: str(spy.float3x3(b)), c44=lambda: str(spy.float4x4(c)),
                **{n: (lambda f=f: getattr(M, n.rstrip("_") if False else f[0])(*f[1]).to_numpy()) for n, f in {"persp": ("perspective", (1.0, 1.5, 0.1, 100.0)), "ortho": ("ortho", (-1.0, 1.0, -2.0, 2.0, 0.1, 10.0)), "frus": ("frustum", (-1.0, 1.0, -2.0, 2.0, 0.1, 10.0)), "look": ("matrix_from_look_at", (spy.float3(1, 2, 3), spy.float3(0, 0, 0), spy.float3(0, 1, 0))), "trans": ("matrix_from_translation", (spy.float3(1, 2, 3),)), "scale": ("matrix_from_scaling", (spy.float3(1, 2, 3),)), "rot": ("matrix_from_rotation", (0.5, spy.float3(0, 1, 0))), "rx": ("matrix_from_rotation_x", (0.5,)), "xyz": ("matrix_from_rotation_xyz", (0.1, 0.2, 0.3)), "q": ("matrix_from_quat", (spy.math.quat_from_angle_axis(0.5, spy.float3(0, 1, 0)),))}.items()},
                tp=lambda: str(M.transform_point(b, spy.float3(1, 2, 3))), tv=lambda: str(M.transform_vector(spy.float3x3(b), spy.float3(1, 2, 3))), tv4=lambda: error(lambda: str(M.transform_vector(b, spy.float3(1, 2, 3)))))


@case
def quaternions_on_the_host(spy, device):
    M = spy.math
    q = M.quat_from_angle_axis(0.5, M.normalize(spy.float3(1, 2, 3)))
    r = M.quat_from_euler_angles(spy.float3(0.1, 0.2, 0.3)) if hasattr(M, "quat_from_euler_angles") else spy.quatf(0.1, 0.2, 0.3, 0.9)
    return each(id=lambda: str(spy.quatf()), str=lambda: repr(spy.quatf(1, 2, 3, 4)), xyzw=lambda: [q.x, q.y, q.z, q.w], mul=lambda: list(M.mul(q, r)), vec=lambda: list(M.mul(q, spy.float3(1, 0, 0))), conj=lambda: list(M.conjugate(q)), inv=lambda: list(M.inverse(q)), slerp=lambda: list(M.slerp(q, spy.quatf(), 0.5)), lerp=lambda: list(M.lerp(q, r, 0.5)), nrm=lambda: list(M.normalize(spy.quatf(1, 2, 3, 4))), ln=lambda: M.length(spy.quatf(1, 2, 3, 4)), dot=lambda: M.dot(q, r), add=lambda: str(spy.quatf(1, 2, 3, 4) + spy.quatf(1, 1, 1, 1)), sc=lambda: str(spy.quatf(1, 2, 3, 4) * 2), eul=lambda: list(M.euler_angles(q)), py=lambda: [M.pitch(q), M.yaw(q), M.roll(q)], mat=lambda: list(M.quat_from_matrix(spy.float3x3())), look=lambda: list(M.quat_from_look_at(spy.float3(0, 0, 1), spy.float3(0, 1, 0))), rot=lambda: list(M.quat_from_rotation_between_vectors(spy.float3(1, 0, 0), spy.float3(0, 1, 0))), tv=lambda: list(M.transform_vector(q, spy.float3(1, 2, 3))), eq=lambda: spy.quatf() == spy.quatf(0, 0, 0, 1), n=lambda: len(spy.quatf()), bad=lambda: error(lambda: q * r))


@case
def halves_on_the_host(spy, device):
    h = spy.float16_t(1.5)
    return each(f=lambda: float(h), s=lambda: str(h), eq=lambda: h == spy.float16_t(1.5), v=lambda: str(spy.float16_t2(1, 2)), el=lambda: type(spy.float16_t2(1, 2)[0]).__name__, add=lambda: error(lambda: str(h + h)), np=lambda: error(lambda: np.array(spy.float16_t2(1, 2))))


@case
def logs(spy, device):
    got = []
    class Out(spy.LoggerOutput):
        def write(self, level, name, msg):
            got.append([level.name, name, msg])
    o = Out()
    l = spy.Logger(spy.LogLevel.info, "mine", use_default_outputs=False)
    l.add_output(o)
    l.debug("no")
    l.info("a")
    l.warn("b")
    l.error("c")
    l.log(spy.LogLevel.fatal, "d")
    l.info_once("e")
    l.info_once("e")
    l.log(spy.LogLevel.none, "f")
    l.level = spy.LogLevel.error
    l.warn("g")
    l.remove_output(o)
    l.error("h")
    return got, l.name, l.level, spy.Logger.get() is not None


@case
def small_things(spy, device):
    from slangpy.core import utils
    return each(sha=lambda: spy.SHA1("abc").hex_digest, sha2=lambda: spy.SHA1(b"abc").digest if not callable(spy.SHA1(b"abc").digest) else spy.SHA1(b"abc").digest(), upd=lambda: error(lambda: spy.SHA1().update("a").update(b"bc").hex_digest), timer=lambda: type(spy.Timer().elapsed_ms()).__name__, now=lambda: type(spy.Timer.now()).__name__, path=lambda: type(spy.SHADER_PATH).__name__, ver=lambda: [type(spy.SGL_VERSION).__name__, type(spy.SGL_VERSION_MAJOR).__name__], st=lambda: utils.shape_to_contiguous_strides((2, 3, 4)), gen=lambda: utils.parse_generic_signature("A<B<C>, D>"), jup=lambda: utils.is_running_in_jupyter(), mod=lambda: spy.__name__, allm=lambda: spy.ALL_MIPS, all=lambda: sorted(n for n in dir(spy) if not n.startswith("_") and n[0].isupper())[:0])


@case
def descs_are_dicts_and_objects(spy, device):
    d = spy.TextureDesc()
    s = spy.SamplerDesc({"max_anisotropy": 4})
    r = spy.RasterizerDesc()
    b = spy.BufferDesc({"size": 64, "struct_size": 4})
    o = spy.SlangCompilerOptions({"defines": {"A": "1"}})
    return each(d=lambda: [d.width, d.height, d.depth, d.mip_count, d.array_length, d.format, d.type, d.memory_type, d.label], s=lambda: [s.max_anisotropy, s.min_filter, s.address_u, s.mip_lod_bias, s.min_lod, s.comparison_func], r=lambda: [r.cull_mode, r.fill_mode, r.front_face, r.depth_bias], b=lambda: [b.size, b.struct_size, b.element_count, b.usage], o=lambda: [o.defines, o.include_paths, o.matrix_layout, o.optimization, o.floating_point_mode, o.debug_info, o.shader_model, o.enable_warnings, o.warnings_as_errors], bad=lambda: error(spy.BufferDesc, {"zzz": 1}), attr=lambda: error(lambda: setattr(b, "zzz", 1)), dd=lambda: [spy.DeviceDesc().type, spy.DeviceDesc().enable_debug_layers, spy.DeviceDesc().shader_cache_size if hasattr(spy.DeviceDesc(), "shader_cache_size") else None], ds=lambda: [spy.DepthStencilDesc().depth_test_enable, spy.DepthStencilDesc().depth_func, spy.DepthStencilDesc().depth_write_enable], ct=lambda: [spy.ColorTargetDesc().format, spy.ColorTargetDesc().enable_blend], vp=lambda: [spy.Viewport.from_size(4, 5).width, spy.Viewport.from_size(4, 5).max_depth, spy.ScissorRect.from_size(4, 5).max_x], draw=lambda: [spy.DrawArguments().vertex_count, spy.DrawArguments().instance_count], sub=lambda: [spy.SubresourceRange().layer, spy.SubresourceRange().layer_count, spy.SubresourceRange().mip_count], bo=lambda: spy.BufferRange().size)


@case
def native_names(spy, device):
    import importlib
    out = {}
    for mod, names in {"slangpy": "Function Struct Module InstanceList InstanceTensor pack Tensor ValueRef DiffPair diffPair floatDiffPair intRef floatRef call_id thread_id grid rand_float wang_hash RandFloatArg WangHashArg CallIdArg ThreadIdArg create_device create_torch_device set_dump_generated_shaders set_print_generated_shaders reflection bindings types", "slangpy.slangpy": "AccessType CallMode Shape NativeObject NativeMarshall NativeBoundVariableRuntime NativeBoundCallRuntime NativeCallRuntimeOptions NativeCallData NativeCallDataCache CallContext SignatureBuilder NativePackedArg unpack_args unpack_kwargs unpack_arg pack_arg get_value_signature NativeValueMarshall NativeFunctionNode FunctionNodeType NativeTextureMarshall NativeBufferMarshall", "slangpy.core.native": "AccessType CallMode Shape CallContext NativeCallRuntimeOptions NativeCallData NativeCallDataCache NativeMarshall NativeBoundVariableRuntime SignatureBuilder TypeReflection", "slangpy.core.function": "Function FunctionNode FunctionNodeBwds IThis FunctionNodeMap FunctionNodeSet", "slangpy.core.module": "Module CallDataCache LOADED_MODULES", "slangpy.core.calldata": "CallData SLANG_PATH set_dump_generated_shaders", "slangpy.core.generator": "generate_code MAX_DISPATCH_THREAD_GROUPS_X", "slangpy.core.enums": "PrimType IOType", "slangpy.bindings": "PYTHON_TYPES PYTHON_SIGNATURES Marshall BindContext BoundVariable BoundCall BoundVariableRuntime BoundCallRuntime CodeGen CodeGenBlock ReturnContext Shape CallContext AccessType get_or_create_type", "slangpy.builtin.value": "ValueMarshall", "slangpy.builtin.valueref": "ValueRefMarshall", "slangpy.builtin.struct": "StructMarshall", "slangpy.builtin.array": "ArrayMarshall", "slangpy.builtin.texture": "TextureMarshall", "slangpy.builtin.tensor": "TensorMarshall", "slangpy.types.tensor": "Tensor", "slangpy.types.valueref": "ValueRef", "slangpy.types.diffpair": "DiffPair", "slangpy.core.instance": "InstanceList InstanceTensor", "slangpy.core.utils": "create_device", "slangpy.experimental.diffinstancelist": "InstanceDifferentiableBuffer", "slangpy.types.common": "load_buffer_data_from_image", "slangpy.reflection.lookup": "numpy_to_slang slang_to_numpy", "slangpy.core.callsignature": "KernelGenException", "slangpy.core.packedarg": "PackedArg", "slangpy.core.logging": "bound_call_table", "slangpy.core.struct": "Struct", "slangpy.native_refl": "Type", "slangpy.types.buffer": "NDBuffer get_lookup_module", "slangpy.reflection.reflectiontypes": "SlangType is_matching_array_type vectorize_type"}.items():
        def go():
            m = importlib.import_module(mod)
            return [n for n in names.split() if not hasattr(m, n)]
        out[mod] = error(go)
    return out

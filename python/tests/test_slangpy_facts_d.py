"""Tests that storage and views, pointers in memory, and cursors behave as SlangPy's. tests/README.md says where the facts come from."""
import numpy as np
import pytest

import slangpy as spy
from slangpy import Tensor

SOURCE = """
import slangpy;
struct Link { float *p; int n; };
struct Chain { Chain *next; Link link; int tag; };
struct Deep { uint8_t kind; Link links; double3 d; Chain *chain; };
struct Point { float3 a; int n; };
RWStructuredBuffer<Link> links;
float follow(Link l) { return l.p[l.n]; }
Link linked(uint64_t p, int n) { Link l; l.p = (float *)p; l.n = n; return l; }
float *moved(float *p, int n) { return p + n; }
float first(StructuredBuffer<float> b) { return b[0]; }
int tags(Chain *c) { int sum = 0; for (; c != nullptr; c = c->next) sum = 10 * sum + c->tag; return sum; }
void write_through(Link l, float x) { l.p[l.n] = x; }
float one(StructuredBuffer<Link> b, int i) { return b[i].p[b[i].n]; }
struct Pair { Link links[2]; float more; };
float both(Pair p) { return p.links[0].p[p.links[0].n] + p.links[1].p[p.links[1].n] + p.more; }
float stepped(inout Link l) { l.n += 1; l.p = l.p + 1; return l.p[l.n]; }
uniform Link held;
uniform float *place;
float of_globals(int i) { return held.p[held.n] + place[i]; }
"""


@pytest.fixture(scope="module")
def m(device):
    return spy.Module.load_from_source(device, "slangpy_facts_d", SOURCE)


@pytest.fixture
def t(device):
    """Returns a tensor with 0 to 11 in three rows."""
    return Tensor.from_numpy(device, np.arange(12, dtype=np.float32).reshape(3, 4))


def layout(m, name):
    return m.layout.get_type_layout(m.layout.find_type_by_name(name))


def cursor(m, name, count=1):
    return spy.BufferCursor(m.device.info.type, layout(m, name), count)


# >>storage

def test_views_share_storage_and_offset_is_in_elements(t):
    """t[1].storage is t.storage; the same holds for views with gaps, for views of other shapes, and for gradients."""
    for view, offset in ((t[1], 4), (t[1:], 4), (t[::2], 0), (t[2, 1:], 9), (t.view((2,), (3,), 1), 1), (t.with_grads()[1], 4), (t[1].detach(), 4)):
        assert view.storage is t.storage and view.offset == offset
    assert t.storage.size == 48 and t.storage.struct_size == 4


def test_a_tensor_over_a_buffer_has_it_as_storage(device):
    """Tensor(storage, dtype, shape, strides, offset) wraps a Buffer."""
    buffer = device.create_buffer(data=np.arange(8, dtype=np.float32), label="mine")
    whole, part = Tensor(buffer, "float", (2, 4)), Tensor(buffer, float, (3,), (2,), 1)
    assert whole.storage is part.storage is whole[1].storage is buffer and part.offset == 1 and part.to_numpy().tolist() == [1, 3, 5]


def test_uniforms_hold_the_whole_storage(t):
    """uniforms() returns a dict with _data, _shape, _offset and _strides."""
    u = t[1].uniforms()
    assert u["_data"] is t.storage and (u["_offset"], tuple(u["_shape"]), tuple(u["_strides"])) == (4, (4,), (1,))


def test_a_view_is_relative_to_the_offset_and_not_bound_to_the_views_elements(t):
    """A view() of a view reaches all of the storage, before and behind the view; a view that leaves the storage is an error, unlike in
    SlangPy."""
    assert t[1].view((8,)).to_numpy().tolist() == list(range(4, 12)) and t[1].view((2, 2), (4, 1), -4).to_numpy().tolist() == [[0, 1], [4, 5]]
    assert t[:, 2].view((2,)).to_numpy().tolist() == [2, 3] and t[1][2:].view((3,), offset=1).to_numpy().tolist() == [7, 8, 9]
    for shape, offset in (((9,), 0), ((1,), -5), ((1 << 40,), 0)):
        with pytest.raises(ValueError):
            t[1].view(shape, offset=offset)


def test_clear_zeroes_the_whole_storage_even_from_a_view(device, t):
    """clear() of a view clears the whole storage, at once and recorded."""
    t[1].clear()
    assert not t.to_numpy().any()
    t.copy_from_numpy(np.ones(12, np.float32))
    encoder = device.create_command_encoder()
    t[2].clear(encoder)
    assert t.to_numpy().all()
    device.submit_command_buffer(encoder.finish())
    assert not t.to_numpy().any()


def test_point_to_takes_over_the_storage(device, t):
    """After point_to() a tensor has the other's storage; views made before it keep the old one."""
    other = Tensor.from_numpy(device, np.full((2, 3, 4), 7, np.float32))
    row, old = t[1], t.storage
    t.point_to(other[1])
    assert t.storage is other.storage and t.to_numpy()[0, 0] == 7 and t.offset == 12
    assert row.to_numpy().tolist() == [4, 5, 6, 7] and row.storage is not other.storage and old.size == 48
    t.clear()
    assert not other.to_numpy().any() and row.to_numpy().all()


def test_a_tensor_passes_its_storage_to_buffers(m, t):
    assert m.first(t) == m.first(t.storage) == m.first(t[1].storage) == 0


def test_a_tensor_tells_its_usage_and_memory_type(device, t):
    """A tensor's default usage is shader_resource | unordered_access. Views and storage have the usage of their tensor."""
    usage, kind = spy.BufferUsage, spy.MemoryType
    assert t.usage == t[1].usage == t.storage.usage == usage.shader_resource | usage.unordered_access and t.memory_type == kind.device_local
    other = Tensor.empty(device, (3,), float, usage=usage.shader_resource, memory_type=kind.upload)
    assert other.usage == other[1:].usage == other.storage.usage == usage.shader_resource and other.memory_type == kind.upload
    assert device.create_buffer(size=16, usage=usage.unordered_access).usage == usage.unordered_access


def test_structured_arrays_without_a_type_are_a_value_error(device, m):
    """from_numpy() of a structured array without target_slang_dtype=Struct is a ValueError."""
    points = np.zeros(3, [("a", "f4", 3), ("n", "i4")])
    with pytest.raises(ValueError):
        Tensor.from_numpy(device, points)
    assert Tensor.from_numpy(device, points, target_slang_dtype=m.Point).shape == (3,)


# >>pointers in memory

def test_pointers_in_cursors_are_written_from_int_buffer_and_tensor(m, t):
    """A cursor writes a pointer from an int, a Buffer, or a Tensor, which gives the address of its first element; read() gives an int."""
    c, address = cursor(m, "Link", 2), t.storage.device_address
    for value, expected in ((address + 8, address + 8), (t.storage, address), (t, address), (t[1], address + 16)):
        c[0].p = value
        assert c[0].p.read() == expected and type(c[0].p.read()) is int
    c[1].write({"p": t[2], "n": 3})
    assert c[1].read() == {"p": address + 32, "n": 3} and c[0].n.read() == 0
    for wrong in (1.5, "x", [1], True, -1):
        with pytest.raises(Exception):
            c[0].p = wrong
    assert repr(c[1].p).startswith(str(address + 32))


def test_pointers_are_seen_as_numbers_by_reinterpret_and_bytes(m):
    c = cursor(m, "Link", 2)
    c[1].p = 0x500000007
    assert c[1].p.reinterpret(layout(m, "uint64_t")).read() == 0x500000007 and c[1].reinterpret(layout(m, "uint[2]")).read() == [7, 5]
    assert c.to_numpy().view(np.uint64)[2] == 0x500000007 and c[1]._offset == c.element_stride == 16 and c[1].n._offset == 24
    c[0].p.set_data(np.array([9], np.uint64))
    c[0].reinterpret(layout(m, "uint2")).y = 1
    assert c[0].p.read() == (1 << 32) + 9


def test_layouts_of_structs_with_pointers_have_sizes_and_offsets(m):
    """Layouts of structs with pointers have sizes and offsets, also if a pointer goes to a struct, even to the struct itself."""
    kind = spy.TypeReflection.Kind
    fields = {f.name: f for f in layout(m, "Link").fields}
    assert layout(m, "Link").size in (12, 16) and layout(m, "Link").alignment == 8 and (fields["p"].offset, fields["n"].offset) == (0, 8)
    assert fields["p"].type_layout.kind == fields["p"].type_layout.type.kind == kind.pointer and fields["p"].type_layout.size == 8
    chain = {f.name: f.offset for f in layout(m, "Chain").fields}
    assert chain["next"] == 0 and chain["link"] == 8 and chain["tag"] >= 20
    deep = {f.name: f.offset for f in layout(m, "Deep").fields}
    assert deep["links"] == 8 and deep["d"] % 8 == deep["chain"] % 8 == 0 and deep["chain"] >= deep["d"] + 24


def test_kernels_follow_pointers_that_a_cursor_wrote(device, m, t):
    """A kernel follows pointers that a cursor wrote, in a tensor of structs and in a buffer."""
    held = Tensor.zeros(device, (3,), m.Link)
    c = held.cursor()
    for i in range(3):
        c[i].write({"p": t[i], "n": i})
    c.apply()
    assert m.follow(held).to_numpy().tolist() == [0, 5, 10] and held.cursor()[2].p.read() == t.storage.device_address + 32
    buffer = device.create_buffer(element_count=3, resource_type_layout=m.layout.get_type_layout("RWStructuredBuffer<Link>"))
    over = spy.BufferCursor(layout(m, "Link"), buffer)
    over[1] = {"p": t[1:], "n": 1}
    over.apply()
    assert buffer.struct_size == over.element_stride and m.one(buffer, 1) == 5.0
    m.write_through(held, np.array([7, 8, 9], np.float32))
    assert m.follow(held).to_numpy().tolist() == [7, 8, 9] and t.to_numpy()[[0, 1, 2], [0, 1, 2]].tolist() == [7, 8, 9]


def test_results_with_pointers_are_ints(m, t):
    """Pointers in results are ints, in scalar calls, in structs and vectorised, and can be passed to the next call."""
    address = t.storage.device_address
    assert m.moved(t.storage, 2) == address + 8 and m.linked(address, 3) == {"p": address, "n": 3} and m.follow(m.linked(address, 3)) == 3
    many = m.linked(address, np.array([4, 6], np.int32))
    assert [e.read() for e in many.cursor()] == [{"p": address, "n": 4}, {"p": address, "n": 6}] and m.follow(many).to_numpy().tolist() == [4, 6]
    moved = m.moved(address, np.array([1, 2], np.int32))
    assert moved.to_numpy().tolist() == [address + 4, address + 8] and m.moved(moved, 1).to_numpy().tolist() == [address + 8, address + 12]


def test_dicts_with_pointers_still_take_ints_buffers_and_tensors(m, t):
    for p in (t, t.storage, t.storage.device_address):
        assert m.follow({"p": p, "n": 2}) == 2.0


def test_pointers_come_back_from_inout_arguments(m, t):
    """Pointers of inout arguments come back in a ValueRef and in a tensor of structs."""
    address = t.storage.device_address
    ref = spy.ValueRef({"p": address, "n": 2})
    assert m.stepped(ref) == 4.0 and ref.value == {"p": address + 4, "n": 3}
    held = Tensor.full(m.device, (2,), {"p": t, "n": 1}, m.Link)
    assert m.stepped(held).to_numpy().tolist() == [3, 3] and held.cursor()[1].read() == {"p": address + 4, "n": 2}


def test_globals_hold_pointers(m, t):
    """set() takes ints, Buffers and Tensors for global pointers."""
    for p in (t, t.storage, t.storage.device_address):
        assert m.of_globals.set({"held": {"p": p, "n": 5}, "place": p})(3) == 8.0


def test_packed_dicts_hold_lists_of_dicts(m, t):
    """pack() takes a dict with _type that has a list of dicts in it."""
    value = {"_type": "Pair", "links": [{"p": t, "n": 1}, {"p": t.storage.device_address, "n": 2}], "more": 1.0}
    packed = spy.pack(m, value)
    assert m.both(value) == m.both(packed) == m.both(packed) == 4.0 and spy.pack(m, packed) is packed


def test_columns_of_pointers_are_written_from_uint64_arrays(m):
    c = cursor(m, "Link", 2)
    c.write_from_numpy({"p": np.array([1, 2], np.uint64), "n": np.array([3, 4], np.int32)})
    assert c[1].read() == {"p": 2, "n": 4}


def test_lists_of_structs_that_point_to_each_other(device, m):
    """A struct that points to structs of its own type is written by a cursor and walked by a kernel."""
    chain = Tensor.zeros(device, (3,), m.Chain)
    c = chain.cursor()
    for i in range(3):
        c[i].write({"next": chain[i + 1] if i < 2 else 0, "tag": i + 1})
    c.apply()
    assert m.tags(chain.device_address) == 123 and m.tags(chain[1].device_address) == 23


# >>cursors

def test_reinterpret_may_see_more_bytes_than_the_place_has(m):
    """reinterpret() may show the bytes of the neighbours, but no bytes beyond the cursor's memory."""
    c = cursor(m, "float", 8)
    c.copy_from_numpy(np.arange(8, dtype=np.float32))
    four = c[2].reinterpret(layout(m, "float4"))
    assert four.read() == spy.float4(2, 3, 4, 5) and four._offset == 8 and four.z.read() == four[2].read() == 4
    four.w = -1
    assert c[5].read() == -1
    with pytest.raises(Exception):
        c[6].reinterpret(layout(m, "float4")).read()
    p = cursor(m, "Point", 2)
    p[1].write({"a": [1, 2, 3], "n": 0x40800000})
    assert p[1].reinterpret(layout(m, "float4")).read() == spy.float4(1, 2, 3, 4)


def test_a_cursor_with_memory_of_its_own_has_no_resource(m):
    c = cursor(m, "Point")
    assert c.resource is None and c.is_loaded in (True, False)
    c[0].n = 3
    c.apply()
    c.load()
    assert c[0].n.read() == 3


def test_modules_of_types_are_attributes_of_it():
    """slangpy.types.wanghasharg after `import slangpy` alone."""
    assert spy.types.wanghasharg.calc_wang_hash(3) == 2278584254 and spy.types.valueref.ValueRef is spy.ValueRef and spy.types.Tensor is Tensor
    assert not hasattr(spy.types, "nothing_of_the_kind")


def test_names_of_windows_that_scripts_import():
    assert spy.CursorShape.arrow.value == 0 and [s.name for s in spy.CursorShape] == "arrow ibeam crosshair hand hresize vresize".split()


# >>buffers, modules, kernels

def test_a_buffer_has_a_native_handle(device):
    """Resource.native_handle: a VkBuffer on Vulkan, a CUdeviceptr on CUDA."""
    handle = device.create_buffer(size=16).native_handle
    assert handle.type.name in ("VkBuffer", "CUdeviceptr") and handle.value > 0


KERNEL = """
struct Light { float3 color; int n; };
uniform float gain;
RWStructuredBuffer<float> result;
[shader("compute")] [numthreads(8, 1, 1)]
void main(uint3 t : SV_DispatchThreadID, uniform float k, uniform Light p, uniform float3 v, uniform bool on)
{
    result[t.x] = gain * k + p.n + p.color.y + v.y + (on ? 100 : 0);
}
"""


def test_same_name_and_source_twice_in_a_session_is_one_module(device):
    """A name and source that is loaded twice in a session is one module, so that its entry points link with each other; another source
    under the name is an error."""
    one, two = (device.load_module_from_source("facts_d_kernel", KERNEL) for i in range(2))
    assert device.link_program([one], [two.entry_point("main")]).entry_points[0].name == "main"
    with pytest.raises(spy.SlangCompileError):
        device.load_module_from_source("facts_d_kernel", KERNEL + "// other")


def test_parameters_of_an_entry_point_that_are_never_set_are_zero(device):
    """Parameters of an entry point that are not set are zero in kernel.dispatch() and in a pass; names without a parameter are ignored."""
    module = device.load_module_from_source("facts_d_kernel", KERNEL)
    kernel = device.create_compute_kernel(device.link_program([module], [module.entry_point("main")]))
    buffer = device.create_buffer(element_count=8, struct_size=4, usage=spy.BufferUsage.unordered_access)

    def value():
        return buffer.to_numpy().view(np.float32)[0]

    kernel.dispatch([8, 1, 1], {"result": buffer})
    assert value() == 0
    kernel.dispatch([8, 1, 1], {"result": buffer, "gain": 2.0}, k=3.0, p={"n": 5}, nothing=1)
    assert value() == 11
    kernel.dispatch([8, 1, 1], {"result": buffer}, v=spy.float3(1), on=True)
    assert value() == 101
    encoder = device.create_command_encoder()
    with encoder.begin_compute_pass() as p:
        cursor = spy.ShaderCursor(p.bind_pipeline(kernel.pipeline))
        cursor.result = buffer
        cursor.main.p.n = 4
        p.dispatch([8, 1, 1])
    device.submit_command_buffer(encoder.finish())
    assert value() == 4


def test_the_dtype_of_a_tensor_equals_the_structs_type(device, m):
    """A tensor's dtype is a Struct here; it equals struct.struct and has its hash."""
    for dtype, struct in ((m.Point, m.Point), ("float3", m.float3), (float, m.float)):
        t = Tensor.zeros(device, (2,), dtype)
        assert t.dtype == struct.struct and struct.struct == t.dtype and t.dtype.struct == struct.struct and hash(t.dtype) == hash(struct.struct)
        assert t.dtype != m.Link.struct and t.dtype.full_name == struct.struct.full_name


def test_structs_go_to_numpy_as_bytes(device):
    """One more dimension of uint8, the size of the struct; structured=True has the fields. A part of a tensor too."""
    m = spy.Module.load_from_source(device, "struct_bytes", "struct P { float x; float y; }")
    t = spy.Tensor.zeros(device, (2, 3), m.P)
    t.copy_from_numpy(np.arange(12, dtype=np.float32))
    a = t.to_numpy()
    assert a.dtype == np.uint8 and a.shape == (2, 3, 8) and a.view(np.float32).reshape(-1).tolist() == list(range(12))
    assert t.to_numpy(structured=True)["y"].tolist() == [[1, 3, 5], [7, 9, 11]]
    assert t[:, 1:].to_numpy().view(np.float32).tolist() == [[[2, 3], [4, 5]], [[8, 9], [10, 11]]]
    assert spy.Tensor.zeros(device, (0, 3), m.P).to_numpy().shape == (0, 3, 8)


def test_copy_from_numpy_copies_bytes(device):
    """Of any dtype; a smaller array is a prefix; RuntimeError for a larger one and where something is not contiguous."""
    t = spy.Tensor.zeros(device, (2, 3), "float")
    t.copy_from_numpy(np.arange(6, dtype=np.int32))
    assert t.to_numpy().view(np.int32).tolist() == [[0, 1, 2], [3, 4, 5]]
    t.copy_from_numpy(np.full(2, 7, np.int32))
    assert t.to_numpy().view(np.int32).tolist() == [[7, 7, 2], [3, 4, 5]]
    for data in (np.zeros(6), np.zeros((2, 6), np.float32)[:, ::2], np.zeros((3, 2), np.float32).T):
        with pytest.raises(RuntimeError):
            t.copy_from_numpy(data)
    with pytest.raises(RuntimeError):
        t[:, :2].copy_from_numpy(np.zeros((2, 2), np.float32))
    t[:, :2].from_numpy(np.ones((2, 2)))  # converts, from and to any strides
    assert t.to_numpy()[:, :2].tolist() == [[1, 1], [1, 1]]


def test_classes_of_slangpys_native_part(m):
    """Their names can be imported; those of chains and call data serve isinstance()."""
    from slangpy.builtin.array import ArrayMarshall
    from slangpy.builtin.struct import StructMarshall
    from slangpy.builtin.tensor import TensorMarshall
    from slangpy.builtin.texture import TextureMarshall
    from slangpy.core.calldata import CallData
    from slangpy.core.callsignature import KernelGenException
    from slangpy.core.function import FunctionNodeBwds, FunctionNodeMap, FunctionNodeSet
    from slangpy.core.generator import generate_code
    from slangpy.core.module import LOADED_MODULES
    from slangpy.core.native import NativeCallDataCache, NativeMarshall
    from slangpy.native_refl import Type
    from slangpy.slangpy import (
        FunctionNodeType, NativeBoundCallRuntime, NativeBoundVariableRuntime, NativeBufferMarshall, NativeCallData, NativeCallRuntimeOptions,
        NativeFunctionNode, NativePackedArg, NativeTextureMarshall, NativeValueMarshall, SignatureBuilder, unpack_args, unpack_kwargs)

    assert FunctionNodeType.kernelgen == 2 and issubclass(KernelGenException, Exception) and len(LOADED_MODULES) == 0
    assert all(issubclass(c, NativeMarshall) for c in (ArrayMarshall, StructMarshall, TensorMarshall, TextureMarshall, NativeBufferMarshall, NativeValueMarshall))
    assert issubclass(TextureMarshall, NativeTextureMarshall) and NativePackedArg is spy.PackedArg and NativeBoundCallRuntime and NativeBoundVariableRuntime
    assert isinstance(m.first, NativeFunctionNode) and isinstance(m.first.map((0,)), FunctionNodeMap) and isinstance(m.first, (FunctionNodeSet, FunctionNodeBwds))
    assert isinstance(m.float3.struct, Type) and NativeCallRuntimeOptions().thread_count == 0
    built = m.of_globals.debug_build_call_data(0)
    assert isinstance(built, NativeCallData) and isinstance(built, CallData) and built.call_mode.name == "prim" and not built.call_group_shape.valid
    cache, text = NativeCallDataCache(), SignatureBuilder()
    cache.get_args_signature(text, 1, a=2.0)
    cache.add_call_data(text.str, built)
    assert text.str.startswith("args\nN:int") and cache.find_call_data(text.str) is built and cache.lookup_value_signature(1) is None
    with pytest.raises(KernelGenException):
        generate_code(None, None, None, None)

    class A:
        def get_this(self):
            return {"x": 1.0}

    assert unpack_args(A(), 2) == ([{"x": 1.0}, 2], True) and unpack_args(1) == ([1], False) and unpack_kwargs(a=[A()]) == ({"a": [{"x": 1.0}]}, True)


def test_enums_list_all_members(m):
    """Flags list their zero, too, and what only this library has is not listed."""
    assert [list(e)[0].name for e in (spy.BufferUsage, spy.TextureUsage, spy.FormatSupport)] == ["none"] * 3 and len(spy.BufferUsage) == len(list(spy.BufferUsage))
    assert "int8" not in [f.name for f in spy.Feature] and not hasattr(spy.ShaderStage, "dispatch")
    assert spy.BufferRange().size == 2**64 - 1 and spy.slangpy.Shape(None).concrete
    with pytest.raises(RuntimeError):
        spy.BufferDesc({"zzz": 1})
    for bad in (lambda: spy.float3(1, 2), lambda: spy.float3([1, 2])):
        with pytest.raises(TypeError):
            bad()


def test_element_types_of_matrices_bytes_and_enums(device):
    layout = spy.Module.load_from_source(device, "element_types", "enum E { a, b }").layout
    found = {n: layout.find_type_by_name(n).element_type for n in ("float2x3", "ByteAddressBuffer", "E")}
    assert [t and t.full_name for t in found.values()] == ["vector<float,3>", "uint8_t", None]
    assert layout.find_type_by_name("float2x3").inner_element_type.full_name == "float"


def test_types_have_the_classes_of_slangpy(device):
    """type(t) is VectorType and so on; a tensor's dtype is the very type of its struct."""
    m = spy.Module.load_from_source(device, "type_classes", "import slangpy;\nstruct S { float x; }\ninterface I {}\nenum E { a }\nfloat3 f(S s[2]) { return s[0].x; }")
    names = {"float": "ScalarType", "half3": "VectorType", "float2x3": "MatrixType", "S[2]": "ArrayType", "S": "StructType", "I": "InterfaceType",
             "E": "UnhandledType", "StructuredBuffer<float>": "StructuredBufferType", "Texture2D<float4>": "TextureType",
             "ByteAddressBuffer": "ByteAddressBufferType", "SamplerState": "SamplerStateType", "float*": "PointerType", "Tensor<float, 2>": "TensorType"}
    for name, kind in names.items():
        t = m.layout.find_type_by_name(name)
        assert type(t).__name__ == kind and isinstance(t, spy.TypeReflection) and t is m.layout.find_type_by_name(name)
    assert type(m.layout.find_function_by_name("f").return_type) is spy.reflection.VectorType
    t = spy.Tensor.zeros(device, (2,), m.S)
    assert t.dtype is m.S.struct and type(t.dtype) is spy.reflection.StructType and isinstance(t.dtype, spy.reflection.SlangType)

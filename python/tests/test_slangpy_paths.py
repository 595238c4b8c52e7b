"""Facts of generators, packed arguments and import paths on which scripts for SlangPy rely."""

import importlib
import subprocess
import sys

import numpy as np
import pytest

import slangpy as spy

SOURCE = """
import slangpy;
int i1(int v) { return v; }
uint u1(uint v) { return v; }
int2 i2(int2 v) { return v; }
uint2 u2(uint2 v) { return v; }
uint3 u3(uint3 v) { return v; }
int[2] a2(int v[2]) { return v; }
float f1(float v) { return v; }
float2 f2(float2 v) { return v; }
struct Ray { float3 o; float t; }
float length_of(Ray ray, float scale) { return ray.o.x * scale + ray.t; }
"""


@pytest.fixture(scope="module")
def m(load):
    return load(SOURCE)


def ids(*shape):
    """Returns the coordinates of each element, in the order of the shape."""
    return np.stack(np.indices(shape), -1)


def ints(*shape):
    return np.zeros(shape, np.int32)


# ---- generators ----


def test_call_id_is_in_shape_order_for_arrays_and_reversed_for_vectors(m):
    """call_id() is in shape order for arrays and reversed for vectors, and has no shape of its own."""
    assert (m.a2(spy.call_id(), _result=ints(2, 3, 2)) == ids(2, 3)).all()
    assert (m.i2(spy.call_id(), _result=ints(2, 3, 2)) == ids(2, 3)[..., ::-1]).all()
    assert (m.i1(spy.call_id(), _result=ints(5)) == np.arange(5)).all()


def test_call_id_of_sizes_is_a_grid(m):
    assert (m.i2(spy.call_id((2, 3)), _result="numpy") == ids(2, 3)[..., ::-1]).all()
    assert isinstance(spy.call_id((2, 3)), spy.GridArg)


def test_thread_id_is_the_flat_index_in_x(m):
    assert (m.u1(spy.thread_id(), _result=np.zeros((2, 3), np.uint32)) == np.arange(6).reshape(2, 3)).all()
    r = m.i2(spy.thread_id(), _result=ints(2, 3, 2))
    assert (r[..., 0] == np.arange(6).reshape(2, 3)).all() and not r[..., 1].any()


def test_grid_is_offset_plus_index_times_stride(m):
    expected = ids(2, 3) * [3, 4] + [10, 20]
    assert (m.a2(spy.grid((2, 3), offset=(10, 20), stride=(3, 4)), _result="numpy") == expected).all()
    assert (m.i2(spy.grid(shape=[2, 3], offset=[10, 20], stride=[3, 4]), _result="numpy") == expected[..., ::-1]).all()
    assert m.i1(spy.grid((3,), stride=(2,)), _result="numpy").tolist() == [0, 2, 4]


def test_open_dimensions_of_a_grid_take_their_sizes_from_the_other_arguments(m):
    for grid in (spy.grid(2), spy.grid((-1, -1)), spy.grid((2, -1)), spy.grid((-1, 3))):
        assert (m.i2(grid, _result=ints(2, 3, 2)) == ids(2, 3)[..., ::-1]).all()


@pytest.mark.parametrize("arguments", [{"offset": (1,)}, {"stride": (1, 2, 3)}])
def test_offset_and_stride_of_another_length_are_a_value_error(arguments):
    with pytest.raises(ValueError):
        spy.grid((2, 3), **arguments)


def test_a_range_is_an_argument_of_one_dimension(m):
    """Python range(a, b, s) passes (b - a) // s values a + i * s."""
    assert m.i1(range(0, 10, 3), _result="numpy").tolist() == [0, 3, 6] and m.i1(range(10, 2, -3), _result="numpy").tolist() == [10, 7]
    assert m.i1(range(5, 2), _result="numpy").tolist() == [] and m.i1(range(0, 2, 5), _result="numpy").tolist() == []
    assert m.i1(range(2, 11, 3), _result="numpy").tolist() == [2, 5, 8] and m.f1(range(3), _result="numpy").tolist() == [0, 1, 2]


def wang(x):
    x = np.asarray(x, np.uint32)
    with np.errstate(over="ignore"):
        x = (x ^ np.uint32(61)) ^ (x >> np.uint32(16))
        x = x * np.uint32(9)
        x = x ^ (x >> np.uint32(4))
        x = x * np.uint32(0x27D4EB2D)
        return x ^ (x >> np.uint32(15))


def hashes(count, components, seed=2640457667, warmup=0, hash_seed=True):
    t = np.arange(count, dtype=np.uint32) * np.uint32(components)
    for _ in range(warmup):
        t = wang(t)
    x, out = t ^ (wang(seed) if hash_seed else np.uint32(seed)), []
    for _ in range(components):
        x = wang(x)
        out.append(x)
    return np.stack(out, -1)


@pytest.mark.parametrize("options", [{}, {"seed": 7}, {"warmup": 2}, {"seed": 5, "hash_seed": False, "warmup": 1}])
def test_wang_hash_gives_the_numbers_of_slangpy(m, options):
    """wang_hash() hashes t ^ s `warmup` times, where t is the flat index times the number of components and s the seed's hash; each
    further number is the hash of the one before."""
    for name, n in (("u1", 1), ("u2", 2), ("u3", 3)):
        out = np.zeros((8,) if n == 1 else (8, n), np.uint32)
        assert (m[name](spy.wang_hash(**options), _result=out).reshape(8, n) == hashes(8, n, **options)).all()


@pytest.mark.parametrize("options", [{}, {"seed": 7}])
def test_rand_float_scales_23_bits_of_the_same_numbers(m, options):
    for name, n in (("f1", 1), ("f2", 2)):
        out = np.zeros((8,) if n == 1 else (8, n), np.float32)
        got = m[name](spy.rand_float(-2, 6, **options), _result=out).reshape(8, n)
        assert np.allclose(got, (hashes(8, n, **options) & 0x7FFFFF) / 0x800000 * 8 - 2, atol=1e-6)


def test_random_generators_are_for_their_kind_of_numbers(m):
    """wang_hash feeds integers and rand_float floats."""
    for call in (lambda: m.f1(spy.wang_hash(), _result=np.zeros(2, np.float32)), lambda: m.i1(spy.rand_float(), _result=ints(2))):
        with pytest.raises(Exception, match="expected"):
            call()


def test_generators_have_classes_with_seed_0():
    """WangHashArg(...) and RandFloatArg(min, max, ...) have the default seed 0."""
    from slangpy.experimental.gridarg import GridArg
    from slangpy.types.callidarg import CallIdArg
    from slangpy.types.randfloatarg import RandFloatArg
    from slangpy.types.threadidarg import ThreadIdArg
    from slangpy.types.wanghasharg import WangHashArg

    for made, cls in ((spy.call_id(), CallIdArg), (spy.thread_id(), ThreadIdArg), (spy.wang_hash(), WangHashArg), (spy.rand_float(), RandFloatArg),
                      (spy.grid((2,)), GridArg)):
        assert type(made) is cls and isinstance(made.slangpy_signature, str)
    assert GridArg((2, 3)).dims == 2 and GridArg(shape=3).dims == 3


def test_generator_classes_feed_calls(m):
    assert (m.u2(spy.WangHashArg(2), _result=np.zeros((8, 2), np.uint32)) == hashes(8, 2, seed=0)).all()
    assert np.allclose(m.f1(spy.RandFloatArg(0, 1), _result=np.zeros(8, np.float32)), (hashes(8, 1, seed=0)[:, 0] & 0x7FFFFF) / 0x800000)
    assert (m.i2(spy.GridArg((2, 3)), _result="numpy") == ids(2, 3)[..., ::-1]).all() and m.i1(spy.CallIdArg(), _result=ints(2)).tolist() == [0, 1]


def test_calc_wang_hash_is_the_hash_on_the_host():
    from slangpy.types.wanghasharg import calc_wang_hash, calc_wang_hash_numpy

    x = np.array([0, 1, 2**31, 2**32 - 1], np.uint32)
    assert (calc_wang_hash_numpy(x) == wang(x)).all() and [calc_wang_hash(int(n)) for n in x] == wang(x).tolist()


# ---- packed arguments ----


def test_pack_makes_an_argument_for_many_calls(m):
    packed = spy.pack(m, {"_type": "Ray", "o": spy.float3(2, 3, 4), "t": 1})
    assert m.length_of(packed, 3) == 7 and m.length_of(packed, scale=np.float32([1, 2]), _result="numpy").tolist() == [3, 5]
    assert spy.pack(m, packed) is packed and spy.pack(module=m, arg_value=packed) is packed
    assert type(packed).__name__ == "PackedArg" and packed.python_object["t"] == 1


# ---- paths ----

PATHS = """types.randfloatarg:RandFloatArg,rand_float types.wanghasharg:WangHashArg,wang_hash,calc_wang_hash,calc_wang_hash_numpy
    types.callidarg:CallIdArg,call_id types.threadidarg:ThreadIdArg,thread_id types.valueref:ValueRef,intRef,floatRef types.tensor:Tensor
    types.diffpair:DiffPair,diffPair,floatDiffPair types.common:load_buffer_data_from_image types.helpers:resolve_vector_generator_type
    bindings:PYTHON_TYPES,PYTHON_SIGNATURES,Marshall,BindContext,BoundVariable,CodeGenBlock,ReturnContext,Shape,CallContext,AccessType
    bindings.boundvariable:BoundVariable,BoundVariableException,BoundCall,can_direct_bind_common
    bindings.boundvariableruntime:BoundVariableRuntime,BoundCallRuntime bindings.marshall:Marshall,BindContext,ReturnContext
    bindings.typeregistry:PYTHON_TYPES,PYTHON_SIGNATURES,get_or_create_type,lookup_type_callback,lookup_signature_callback
    bindings.codegen:CodeGen,CodeGenBlock builtin.valueref:ValueRefMarshall builtin.value:ValueMarshall builtin.struct: builtin.array:
    builtin.texture: builtin.tensor: experimental.gridarg:GridArg,grid experimental.diffinstancelist:InstanceDifferentiableBuffer
    core.native:Shape,AccessType,CallMode,CallContext,SignatureBuilder,NativeMarshall,NativeObject,unpack_args,unpack_kwargs,unpack_arg,pack_arg,get_value_signature
    core.function:Function,FunctionNode,IThis,PipelineType,FunctionBuildInfo,ENABLE_CALLDATA_CACHE core.module:Module,CallDataCache core.struct:Struct
    core.calldata:SLANG_PATH,set_dump_generated_shaders,set_print_generated_shaders,set_dump_slang_intermediates
    core.generator:MAX_DISPATCH_THREAD_GROUPS_X core.callsignature: core.enums:PrimType,IOType core.packedarg:PackedArg,pack
    core.utils:create_device,create_torch_device,find_type_layout_for_buffer,try_find_type_decl,try_find_type_via_ast,try_find_function_overloads_via_ast,is_type_castable_on_host,parse_generic_signature,parse_generic_signature_tree,shape_to_contiguous_strides,is_running_in_jupyter
    core.instance:InstanceList,InstanceTensor core.shapes:check_concrete
    core.logging:TableColumn,generate_table,bound_variables_table,bound_call_table,bound_runtime_variables_table,bound_runtime_call_table,function_reflection,mismatch_info,bound_exception_info
    core.jupyter:temp_dir,BreakableList,comma_list,spaced_list,pprint_all,format_type,format_function,format_module,format_struct,format_tensor,setup_in_jupyter
    reflection:TypeReflection reflection.lookup:ST,innermost_type,slang_to_numpy,numpy_to_slang,resolve_program_layout,resolve_element_type
    reflection.reflectiontypes:is_matching_array_type,vectorize_type,set_experimental_vectorization,SIGNED_INT_TYPES,UNSIGNED_INT_TYPES,FLOAT_TYPES,INT_TYPES,BOOL_TYPES,scalar_names,SCALAR_TYPE_TO_NUMPY_TYPE,NUMPY_TYPE_TO_SCALAR_TYPE
    native_func:Shape native_refl:TypeReflection slangpy:Shape,CallMode math:float3,Handedness"""


@pytest.mark.parametrize("line", PATHS.split())
def test_import_paths_exist(line):
    path, _, names = line.partition(":")
    module = importlib.import_module("slangpy." + path)
    assert sys.modules["slangpy." + path] is module and module.__doc__
    for name in filter(None, names.split(",")):
        assert getattr(module, name) is not None and name in dir(module)
    with pytest.raises(AttributeError):
        module.no_such_name
    at = spy
    for part in path.split("."):
        at = getattr(at, part)
    assert at is module


def test_other_paths_are_no_modules():
    for path in ("slangpy.core.nothing", "slangpy.nothing", "slangpy.types.nothing"):
        with pytest.raises(ModuleNotFoundError):
            importlib.import_module(path)


def test_shape_is_the_same_class_by_each_path():
    from slangpy.bindings import Shape as a
    from slangpy.core.native import Shape as b
    from slangpy.slangpy import Shape as c

    assert a is b is c is spy.Shape


def test_importing_slangpy_loads_none_of_the_paths():
    code = "import sys, slangpy; print(sorted(n for n in sys.modules if n.startswith('slangpy.') and n.count('.') > 1 or n in (" \
           "'slangpy.paths', 'slangpy.marshalling', 'slangpy.helpers', 'slangpy.tables', 'slangpy.bindings')))"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip() == "[]"


def test_constants_that_scripts_read():
    from slangpy.core.calldata import SLANG_PATH
    from slangpy.core.generator import MAX_DISPATCH_THREAD_GROUPS_X

    assert str(SLANG_PATH) == spy.SHADER_PATH and MAX_DISPATCH_THREAD_GROUPS_X == 2097151


def test_names_of_generic_types_are_split():
    from slangpy.core.utils import parse_generic_signature, parse_generic_signature_tree, shape_to_contiguous_strides

    assert parse_generic_signature("A<B<int,2>, 4>") == ("A", ["B<int,2>", "4"]) and parse_generic_signature("int") == ("int", [])
    assert parse_generic_signature_tree("A<B<int>>") == ("A", [("B", [("int", [])])])
    assert shape_to_contiguous_strides((2, 3, 4)) == (12, 4, 1)


def test_types_are_found_by_name_and_dtype(m, device):
    from slangpy.core import utils
    from slangpy.reflection.lookup import innermost_type, numpy_to_slang, resolve_element_type, resolve_program_layout, slang_to_numpy

    layout = m.layout
    float3 = layout.find_type_by_name("float3").full_name
    assert resolve_element_type(layout, "float3").full_name == float3 and resolve_element_type(layout, spy.float3).full_name == float3
    assert resolve_element_type(layout, float).full_name == "float" and resolve_element_type(layout, m.Ray).full_name == "Ray"
    assert innermost_type(layout.find_type_by_name("float3")).full_name == "float"
    assert slang_to_numpy(layout.find_type_by_name("float3")) == np.float32 and numpy_to_slang(np.dtype("int32"), device, layout).full_name == "int"
    assert resolve_program_layout(device, m.Ray, None).find_type_by_name("Ray") is not None
    assert utils.find_type_layout_for_buffer(layout, "float3").stride == 12 and utils.find_type_layout_for_buffer(layout, layout.find_type_by_name("Ray")).stride == 16
    assert utils.is_type_castable_on_host("int", "float") and not utils.is_type_castable_on_host("float", "int")
    assert utils.try_find_type_via_ast(m.module_decl, "Ray").full_name == "Ray" and utils.try_find_type_decl(m.module_decl, "Nope") is None


def test_tables_show_nested_rows_and_mark_one():
    from slangpy.core.logging import TableColumn, generate_table

    rows = [{"name": "a", "value": 1, "inner": [{"name": "b", "value": 2}]}]
    text = generate_table([TableColumn("Name", 8, "name"), TableColumn("Value", 5, lambda r: str(r["value"]))], rows, lambda r: r.get("inner"),
                          rows[0]["inner"][0])
    assert text.splitlines() == ["Name     | Value", "----------------", "a        | 1    ", "  b      | 2    <-------"]
    assert generate_table([TableColumn("Name", 6, "name"), TableColumn("Value", 5, "value")], rows, None, None, {"Name": True}) == "Name  \n------\na     "


def test_a_diff_pair_has_get_and_set():
    from slangpy.core.enums import PrimType

    pair = spy.diffPair(1.0, 2.0)
    assert pair.get(PrimType.primal) == 1 and pair.get(PrimType.derivative) == 2
    pair.set(PrimType.derivative, 5.0)
    assert pair.grad == 5 and isinstance(pair.slangpy_signature, str)


def test_instances_with_gradients(load):
    from slangpy.experimental.diffinstancelist import InstanceDifferentiableBuffer

    m = load("import slangpy; struct P : IDifferentiable { float x; }")
    b = InstanceDifferentiableBuffer(m.P, (2,))
    b.primal_from_numpy({"x": np.float32([1, 2])})
    assert b.shape == (2,) and b.buffer is b.tensor and b.primal_to_numpy(structured=True)["x"].tolist() == [1, 2] and b.grad_to_numpy(structured=True)["x"].tolist() == [0, 0]

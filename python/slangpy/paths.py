"""The submodule paths of SlangPy, such as slangpy.core.function: one table lists the names of each path.

No path of the table is a file. The modules are made when they are imported, and find each name at its first use, first in the module of
this package that the table names, then in slangpy itself. All of these names can be read from slangpy, too."""
import importlib
import sys

# path below slangpy: (module of this package with its code, names). An entry "a=b" is the name a for this package's b.
PATHS = {
    "core": ("", ""),
    "core.function": ("marshalling", "Function FunctionNode=Function IThis PipelineType FunctionBuildInfo ENABLE_CALLDATA_CACHE TCallHook "
        + " ".join("FunctionNode{0}=native_classes.FunctionNode{0}".format(n) for n in (
            "Bind Map Set CUDAStream Constants Prelude TypeConformances RayTracing Bwds ReturnType ThreadGroupSize Logger CallGroupShape").split())),
    "core.module": ("marshalling", "Module CallDataCache LOADED_MODULES=native_classes.LOADED_MODULES"),
    "core.struct": ("", "Struct"),
    "core.instance": ("", "InstanceList InstanceTensor InstanceBuffer"),
    "core.packedarg": ("", "PackedArg pack"),
    "core.shapes": ("helpers", "Shape TShapeOrTuple TArgShapesResult check_concrete"),
    "core.utils": ("helpers", "create_device create_torch_device find_type_layout_for_buffer try_find_type_decl try_find_type_via_ast "
        "try_find_function_overloads_via_ast is_type_castable_on_host parse_generic_signature parse_generic_signature_tree "
        "shape_to_contiguous_strides is_running_in_jupyter"),
    "core.enums": ("marshalling", "PrimType IOType"),
    "core.calldata": ("helpers", "CallData=chains.CallData SLANG_PATH set_dump_generated_shaders set_dump_slang_intermediates set_print_generated_shaders "
        "set_allow_torch_fallback=natives.set_allow_torch_fallback"),
    "core.generator": ("helpers", "MAX_DISPATCH_THREAD_GROUPS_X generate_code=native_classes.generate_code KernelGenException=native_classes.KernelGenException"),
    "core.callsignature": ("marshalling", "BoundVariable BoundCall BoundVariableException ResolveException BindContext "
        "KernelGenException=native_classes.KernelGenException"),
    "core.logging": ("tables", "TableColumn generate_table bound_variables_table bound_call_table bound_runtime_variables_table "
        "bound_runtime_call_table function_reflection mismatch_info bound_exception_info"),
    "core.jupyter": ("tables", "temp_dir format_bitmap_png format_texture_png BreakableList comma_list spaced_list pprint_all "
        "format_scalar_type format_type_refl format_function_refl format_slang_function format_type format_function format_module "
        "format_struct format_tensor format_texture setup_in_jupyter"),
    "core.native": ("marshalling", "*"),
    "slangpy": ("marshalling", "*"),
    "natives": ("natives", "SGL_VERSION_MAJOR SGL_VERSION_MINOR SGL_VERSION_PATCH SGL_VERSION SGL_GIT_VERSION SGL_BUILD_TYPE SLANG_BUILD_TAG "
        "is_torch_bridge_available is_torch_bridge_using_fallback get_torch_bridge_fallback_reason "
        "set_torch_bridge_python_fallback is_torch_tensor extract_torch_tensor_info extract_torch_tensor_signature "
        "copy_torch_tensor_to_buffer copy_buffer_to_torch_tensor create_torch_empty_tensor create_torch_zeros_like_tensor"),
    "native_func": ("marshalling", "*"),
    "native_refl": ("reflection", "*"),
    # SlangPy's classes of lists, for isinstance()
    "native_lists": ("reflection", "TypeReflectionFieldList=reflection.FieldList " + " ".join("{}=reflection.List".format(n) for n in (
        "FunctionReflectionParameterList FunctionReflectionOverloadList TypeLayoutReflectionFieldList EntryPointLayoutParameterList "
        "ProgramLayoutParameterList ProgramLayoutEntryPointList DeclReflectionChildList DeclReflectionIndexedChildList").split())),
    "thread": ("bitmap", "wait_for_tasks"),
    "types.callidarg": ("marshalling", "CallIdArg call_id"),
    "types.threadidarg": ("marshalling", "ThreadIdArg thread_id"),
    "types.randfloatarg": ("marshalling", "RandFloatArg rand_float"),
    "types.wanghasharg": ("helpers", "WangHashArg wang_hash calc_wang_hash calc_wang_hash_numpy"),
    "types.valueref": ("", "ValueRef intRef floatRef"),
    "types.tensor": ("", "Tensor"),
    "types.diffpair": ("", "DiffPair diffPair floatDiffPair PrimType=marshalling.PrimType"),
    "types.common": ("helpers", "load_buffer_data_from_image"),
    "types.helpers": ("marshalling", "resolve_vector_generator_type"),
    "experimental": ("", ""),
    "experimental.gridarg": ("marshalling", "GridArg grid"),
    "experimental.diffinstancelist": ("instances", "InstanceDifferentiableBuffer"),
    "bindings.marshall": ("marshalling", "Marshall BindContext ReturnContext"),
    "bindings.typeregistry": ("marshalling", "PYTHON_TYPES PYTHON_SIGNATURES TTypeLookup get_or_create_type lookup_type_callback "
        "lookup_signature_callback"),
    "bindings.boundvariable": ("marshalling", "BoundVariable BoundCall BoundVariableException can_direct_bind_common"),
    "bindings.boundvariableruntime": ("marshalling", "BoundVariableRuntime BoundCallRuntime"),
    "bindings.codegen": ("marshalling", "CodeGen CodeGenBlock"),
    "builtin": ("", ""),
    "builtin.value": ("marshalling", "ValueMarshall"),
    "builtin.valueref": ("marshalling", "ValueRefMarshall ValueRef"),
    "builtin.struct": ("native_classes", "StructMarshall"),
    "builtin.array": ("native_classes", "ArrayMarshall"),
    "builtin.tensor": ("native_classes", "TensorMarshall"),
    "builtin.texture": ("native_classes", "TextureMarshall"),
}


def _names(path):
    """Returns {name: (module, name there)} of a path."""
    home, names = PATHS[path]
    found = {}
    for word in names.split():
        name, _, other = word.partition("=")
        module, _, other = (other or name).rpartition(".")
        found[name] = (module or home, other)
    return found


def _read(home, name):
    """Returns a name's object from its module of this package, otherwise from slangpy."""
    if home:
        module = importlib.import_module("slangpy." + home)
        try:
            return getattr(module, name)
        except AttributeError:
            pass
    package = sys.modules["slangpy"]
    if name in vars(package):
        return vars(package)[name]
    for module in ("reflection", "reflection.lookup", "reflection.reflectiontypes", "helpers", "marshalling", "natives", "native_classes"):
        module = importlib.import_module("slangpy." + module)
        if name in vars(module):
            return vars(module)[name]
    return None


def submodule(owner, name):
    """Returns the module of a path of the table, such as `valueref` of slangpy.types, or None."""
    path = "{}.{}".format(owner.partition(".")[2], name)
    return importlib.import_module("slangpy." + path) if path in PATHS else None


def find(name):
    """Returns the object that a name of the table stands for, in any path, or None."""
    if name.startswith("_"):
        return None
    if name.endswith("param"):
        return _read("natives", name)
    for path in PATHS:
        names = _names(path)
        if name in names:
            return _read(*names[name])
    return None


class _Loader:
    """Makes the module of a path of the table."""

    @staticmethod
    def create_module(spec):
        return None

    @staticmethod
    def exec_module(module):
        path = module.__name__.partition(".")[2]
        home, names = PATHS[path][0], _names(path)
        children = {p.rpartition(".")[2] for p in PATHS if p.rpartition(".")[0] == path}
        every = PATHS[path][1] == "*"
        module.__doc__ = "SlangPy's path {}: its names are those of slangpy.".format(module.__name__)

        def read(name):
            if name in children:
                return importlib.import_module("{}.{}".format(module.__name__, name))
            value = None
            if name in names:
                value = _read(*names[name])
            elif every and not name.startswith("_"):
                value = _read(home, name)
                if value is None and name in sys.modules["slangpy"].__all__:
                    value = getattr(sys.modules["slangpy"], name)
            if value is None:
                raise AttributeError("module '{}' has no attribute '{}'".format(module.__name__, name))
            setattr(module, name, value)
            return value

        def star():
            """Returns the names that `from module import *` gives; for a path with all names those of the whole package, too."""
            return sorted((set(names) - {"*"}) | (set(sys.modules["slangpy"].__all__) if every else set()))

        module.__getattr__ = lambda name: star() if name == "__all__" else read(name)
        module.__dir__ = lambda: sorted(set(vars(module)) | set(names) | children | (set(dir(sys.modules["slangpy"])) if every else set()))


def spec_of(name, spec_class):
    """Returns the import system's spec of a path of the table, or None."""
    path = name.partition(".")[2]
    return spec_class(name, _Loader, is_package=True) if path in PATHS else None

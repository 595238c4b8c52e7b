"""Arguments of SlangPy's methods by their names, and the texts of help() and dir(). tests/README.md says where the names come from."""
import enum
import inspect

import pytest

import slangpy as spy

SOURCE = """
struct S { float x; float get() { return x; } };
[__AttributeUsage(_AttributeTargets.Function)] struct HiAttribute { int a; };
[Hi(1)] float f(float x) { return x; }
RWStructuredBuffer<S> b;
[shader("compute")] [numthreads(1, 1, 1)] void main(uniform float q) { b[0].x = q; }
"""

# Pairs of an object and its methods with the names of their parameters.
METHODS = {
    "device": "is_submit_finished:id wait_for_submit:id register_device_close_callback:callback unregister_device_close_callback:id "
              "set_hot_reload_delay:timeout_ms has_feature:feature has_capability:capability load_module:module_name "
              "create_query_pool:type,count submit_command_buffer:command_buffer create_command_encoder:queue "
              "register_shader_hot_reload_callback:callback create_root_shader_object:shader_program create_shader_object:type_layout "
              "create_shader_object:cursor create_compute_kernel:program create_compute_kernel:desc create_compute_pipeline:desc "
              "create_buffer:desc create_fence:desc create_slang_session:desc sync_to_cuda:cuda_stream wait_for_idle:queue "
              "compose_modules:name,modules,type_conformances link_program:modules,entry_points,link_options",
    "function": "bind:this write:fn cuda_stream:stream constants:constants prelude:code type_conformances:type_conformances "
                "return_type:return_type thread_group_size:thread_group_size call_group_shape:call_group_shape "
                "append_to:command_encoder dispatch:thread_count,vars,command_encoder",
    "module": "find_struct:name require_struct:name find_function:name require_function:name find_function_in_struct:struct,name "
              "load_from_source:device,name,source,options,link load_from_file:device,path,options,link "
              "load_from_module:device,module,options,link",
    "slang_module": "entry_point:name,type_conformances",
    "entry": "rename:new_name with_name:new_name specialize:specialization_args",
    "decl": "children_of_kind:kind find_children_of_kind:kind,child_name find_first_child_of_kind:kind,child_name",
    "attribute": "argument_type:index argument_value_int:index argument_value_float:index argument_value_string:index",
    "type": "get_user_attribute_by_index:index find_user_attribute_by_name:name",
    "reflected": "get_user_attribute_by_index:index find_user_attribute_by_name:name has_modifier:modifier specialize_with_arg_types:types",
    "variable": "has_modifier:modifier",
    "layout": "find_type_by_name:name find_function_by_name:name find_function_by_name_in_type:type,name get_type_layout:type "
              "is_sub_type:sub_type,super_type",
    "reflection_cursor": "find_field:name find_element:index has_field:name has_element:index",
    "buffer_cursor": "find_element:index write_from_numpy:data,unchecked_copy copy_from_numpy:data",
    "element_cursor": "reinterpret:new_layout set_data:data find_field:name find_element:index has_field:name has_element:index write:val",
    "shader_cursor": "find_field:name find_element:index has_field:name has_element:index write:val reinterpret:new_layout "
                     "find_entry_point:index get_field_by_index:field_index find_field_index:name set_data:data",
    "encoder": "copy_buffer:dst,dst_offset,src,src_offset,size upload_buffer_data:buffer,offset,data clear_buffer:buffer,range "
               "set_buffer_state:buffer,state push_debug_group:name,color insert_debug_marker:name,color "
               "write_timestamp:query_pool,index execute_callback:callback",
    "compute_pass": "push_debug_group:name,color insert_debug_marker:name,color write_timestamp:query_pool,index "
                    "bind_pipeline:pipeline,root_object dispatch:thread_count dispatch_compute:thread_group_count "
                    "dispatch_compute_indirect:arg_buffer",
    "kernel": "dispatch:thread_count,vars,command_encoder,queue,cuda_stream,query_pool,query_index_before,query_index_after",
    "fence": "signal:value wait:value,timeout_ns",
    "pair": "get:type set:type,value",
    "sha": "update:data update:str",
    "slangpy": "pack:module,arg_value call_id:dims thread_id:dims rand_float:min,max,dim,seed,warmup,hash_seed "
               "wang_hash:dim,seed,warmup,hash_seed grid:shape,offset,stride intRef:init_value floatRef:init_value ValueRef:init_value "
               "DiffPair:p,d,needs_grad diffPair:p,d,needs_grad floatDiffPair:p,d,needs_grad "
               "RandFloatArg:min,max,dim,seed,warmup,hash_seed WangHashArg:dims,seed,warmup,hash_seed "
               "BufferCursor:device_type,element_layout,size BufferCursor:element_layout,buffer_resource,load_before_write "
               "BufferCursor:element_layout,buffer_resource,size,offset,load_before_write ShaderCursor:shader_object "
               "ReflectionCursor:shader_program Module:device_module,options,link NativeHandle:type,value "
               "TypeConformance:interface_name,type_name,id SpecializationArg:kind,value SHA1:str log:level,msg,frequency",
}


@pytest.fixture(scope="module")
def objects(device):
    module = spy.Module.load_from_source(device, "slangpy_keywords", SOURCE)
    layout, slang_module = module.layout, module.device_module
    program = device.link_program([slang_module], [slang_module.entry_point("main")])
    element = layout.get_type_layout(layout.find_type_by_name("RWStructuredBuffer<S>")).element_type_layout
    cursor, function = spy.BufferCursor(device.info.type, element, 2), layout.find_function_by_name("f")
    encoder = device.create_command_encoder()
    return {"device": device, "function": module.f, "module": module, "slang_module": slang_module, "entry": slang_module.entry_point("main"),
            "decl": slang_module.source_modules[1].module_decl, "attribute": function.get_user_attribute_by_index(0),
            "type": layout.find_type_by_name("S"), "reflected": function, "variable": layout.find_type_by_name("S").fields[0],
            "layout": layout, "reflection_cursor": program.reflection, "buffer_cursor": cursor, "element_cursor": cursor[0],
            "shader_cursor": spy.ShaderCursor(device.create_root_shader_object(program)), "encoder": encoder,
            "compute_pass": device.create_command_encoder().begin_compute_pass(), "kernel": device.create_compute_kernel(program),
            "fence": device.create_fence(), "pair": spy.diffPair(1.0), "sha": spy.SHA1(), "slangpy": spy}


class Wrong:
    """A value of a type that no method accepts."""


@pytest.mark.parametrize("what", METHODS)
def test_arguments_may_be_given_by_name(objects, what):
    """Each method takes its arguments by name. A value of a wrong type may be an error, but the error must not be about the name."""
    for row in METHODS[what].split():
        method, _, names = row.partition(":")
        try:
            getattr(objects[what], method)(**{name: Wrong() for name in names.split(",")})
        except TypeError as error:
            assert not any(word in str(error) for word in ("keyword argument", "not specified", "missing", "positional")), row
        except Exception:
            pass


def test_one_argument_by_name_is_the_same_as_by_position(objects):
    """An argument by name gives the same as by position; another name, no argument or two arguments are TypeErrors."""
    layout = objects["layout"]
    assert layout.find_type_by_name(name="S") is layout.find_type_by_name("S")
    for arguments, names in (((), {}), (("S", "S"), {}), ((), {"nope": "S"}), (("S",), {"name": "S"})):
        with pytest.raises(TypeError, match="argument"):
            layout.find_type_by_name(*arguments, **names)
    assert objects["function"].thread_group_size(thread_group_size=spy.uint3(8, 1, 1)) is not None


# >>help() and dir()


def public():
    """Gives (name, object) for each public class and function of slangpy. This includes names that are only loaded at their first use."""
    for name in sorted({*vars(spy), *spy._LAZY}):
        thing = getattr(spy, name)
        if not name.startswith("_") and callable(thing) and str(getattr(thing, "__module__", "")).startswith("slangpy"):
            yield name, thing


def first_line(thing):
    return (inspect.getdoc(thing) or "").partition("\n")[0]


def test_the_first_line_of_help_says_what_each_class_and_function_is():
    """The first line of help() of each class and function is words and not only a signature."""
    silent = [name for name, thing in public() if len(first_line(thing).split()) < 2]
    assert not silent


def test_each_public_method_and_property_says_what_it_is():
    """Each public method and property has a docstring, also those of base classes within slangpy; members of an enum have their names."""
    silent = []
    for name, thing in public():
        if not isinstance(thing, type):
            continue
        for member in dir(thing):
            owner = next((base for base in thing.__mro__ if member in vars(base)), None)
            if member.startswith("_") or owner is None or not owner.__module__.startswith("slangpy"):
                continue
            held = vars(owner)[member]
            value = held if isinstance(held, property) or inspect.isdatadescriptor(held) else getattr(thing, member)
            described = callable(value) or isinstance(value, property) or inspect.isdatadescriptor(value)
            if described and not isinstance(value, enum.Enum) and not first_line(value):
                silent.append(name + "." + member)
    assert not silent


def test_dir_lists_the_names_that_are_found_when_asked_for(objects):
    """dir(slangpy) lists the names that are loaded at their first use, and dir() of a module lists its functions and types."""
    assert {"Texture", "SHA1", "create_device", "Module"} <= set(dir(spy))
    assert {"f", "S", "find_function"} <= set(dir(objects["module"]))


def test_members_of_enums_print_their_names():
    """str() and f-strings of an enum's member give "Class.member", for flags all names; a format as a number still works."""
    assert str(spy.DeviceType.vulkan) == f"{spy.DeviceType.vulkan}" == "DeviceType.vulkan"
    assert str(spy.BufferUsage.shader_resource | spy.BufferUsage.unordered_access) == "BufferUsage.shader_resource|unordered_access"
    assert f"{spy.DeviceType.vulkan:03d}" == "003" and "%d" % spy.DeviceType.vulkan == "3"

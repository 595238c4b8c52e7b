"""Error texts for missing names: names that SlangPy has and this version does not have, and misspelled ones."""

_NAMES = {
    "textures of other APIs": "SubresourceData create_texture_from_resource",
    "ray tracing": "create_acceleration_structure create_acceleration_structure_instance_list get_acceleration_structure_sizes "
        "create_ray_tracing_pipeline create_shader_table begin_ray_tracing_pass build_acceleration_structure "
        "copy_acceleration_structure query_acceleration_structure_properties serialize_acceleration_structure "
        "deserialize_acceleration_structure ray_tracing",
    "cooperative vectors": "create_coop_vec_matrix_desc convert_coop_vec_matrix "
        "convert_coop_vec_matrices get_coop_vec_matrix_size",
    "modules of torch": "TorchModule torch_device",
    "shader objects other than a program's root": "create_mutable_shader_object",
}
_OUTSIDE = ("Window WindowMode WindowPosition AppWindow AppWindowDesc App AppDesc ui tev renderdoc Surface SurfaceConfig SurfaceInfo "
            "create_surface KeyboardEvent KeyboardEventType KeyCode KeyModifier KeyModifierFlags MouseEvent MouseEventType "
            "MouseButton GamepadEvent GamepadState CursorMode crashpad platform thread")


_INSTEAD = {
    "TorchModule": "call the functions of a Module",
}


def near(name, names, most=1):
    """"Returns ", did you mean 'a'?" with at most `most` of the names that are similar to `name`, or ""."""
    import difflib

    lower = {n.lower(): n for n in names if not n.startswith("_")}
    found = [lower[n] for n in difflib.get_close_matches(name.lower(), lower, most, 0.7)]
    return ", did you mean {}?".format(", ".join("'{}'".format(n) for n in found)) if found else ""


def near_keyword(name):
    """Returns ", did you mean ..." for a misspelled keyword of a call that begins with _, or "". The C code checks `_result`."""
    hint = near(name.strip("_"), ("append_to", "thread_count"))
    return hint.replace("'", "'_", 1)


def missing(owner, name):
    """Returns the AttributeError for `owner.name`."""
    for what, names in _NAMES.items():
        if name in names.split():
            instead = _INSTEAD.get(name)
            return AttributeError("{}.{} is not in this version ({}){}".format(owner, name, what, "; " + instead if instead else ""))
    if name in _OUTSIDE.split():
        return AttributeError("{}.{} is not in this version: windows, events and system tools are outside its scope".format(owner, name))
    import sys

    if name.startswith("_"):  # other libraries look for names with _, so the error is short
        return AttributeError("{} has no attribute '{}'".format("module 'slangpy'" if owner == "slangpy" else "'{}'".format(owner), name))
    package = sys.modules["slangpy"]
    known = dir(package) if owner == "slangpy" else dir(getattr(package, owner, None))
    return AttributeError("{} has no attribute '{}'{}".format("module 'slangpy'" if owner == "slangpy" else "'{}'".format(owner), name,
                                                              near(name, known)))

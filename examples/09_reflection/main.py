"""09_reflection: what does a module declare? Prints the declarations of balls.slang, compares a struct with its numpy
twin, then finds every function that has the attribute [Test(...)] and calls it: a test runner for Slang.

All of a module is one tree of declarations. Each has a kind, a name, the text that one would write for it, a type,
attributes, and children: a struct's are its fields and methods, a function's its parameters.
"""
import pathlib
import sys

import numpy as np
import slangpy as spy

FOLDER = pathlib.Path(__file__).parent
Kind = spy.DeclReflection.Kind


# 1. Walking the tree takes a function that calls itself. `text` is there for printing; a program that wants to know
#    looks at kind, type, modifiers and value. Where fields lie is not in the tree but in the layout of their struct.
def show(layout, decl, depth=0):
    in_function = decl.parent is not None and decl.parent.kind == Kind.func
    if decl.kind == Kind.variable and in_function or decl.kind == Kind.func and decl.as_function().is_constructor:
        return  # parameters and constructors: for brevity
    if decl.parent is not None and decl.parent.kind == Kind.generic and decl.kind == Kind.func:
        return  # the function below its generic declaration, whose line says all of it
    line = "  " * depth
    for a in decl.user_attributes:
        line += "[" + " ".join([a.name] + [f'"{arg}"' if isinstance(arg, str) else f"{arg:g}" for arg in a.args]) + "] "
    line += decl.text
    if decl.kind == Kind.variable and decl.parent.kind == Kind.struct:
        field = layout.get_type_layout(decl.parent.path).find_field(decl.name)
        line += f"   // byte {field.host_offset}, on the device {field.offset}"
    print(line)
    for child in decl:
        show(layout, child, depth + 1)


# 2. The struct as this program may have it in numpy, with C's alignment. The library converts between this layout and
#    the device's, so the offsets that must agree are the host's: a field that was added on one side only is found here.
ball = np.dtype([("position", "f4", 3), ("radius", "f4"), ("flying", "?"), ("hot", "?"), ("material", "i4")], align=True)


def same_layout(layout):
    slang = layout.get_type_layout("Ball")
    offsets = {name: ball.fields[name][1] for name in ball.names}
    return slang.host_size == ball.itemsize and {f.name: f.host_offset for f in slang.fields} == offsets


# 3. One test: the arguments are those that the parameters' attributes name, in the parameter's type.
def argument(param):
    value = param.find_user_attribute_by_name("In").args[0]
    if param.type.is_vector:
        return [value] * param.type.col_count
    return int(value) if param.type.is_integer else float(value)


def run(module, decl):
    parameters = decl.as_function().parameters
    expected = decl.find_user_attribute_by_name("Test").args[0]
    # A declaration's path is a name that the module knows. All overloads share it: the call chooses. Three floats may
    # mean one float3, or three calls with a float: map() says which.
    function = module[decl.path].map(*[p.type if p.type.is_vector else None for p in parameters])
    got = function(*[argument(p) for p in parameters])
    good = abs(got - expected) <= 1e-6 * abs(expected)
    print(f"{'ok' if good else 'BAD':<4} {decl.text}: {got:g}")
    return good


def run_all(module, decl):
    """How many tests below a declaration passed, of how many."""
    results = [run(module, decl)] if decl.kind == Kind.func and decl.find_user_attribute_by_name("Test") else []
    for child in decl:
        results += run_all(module, child)
    return results


device = spy.create_device(include_paths=[FOLDER])
module = spy.Module.load_from_file(device, "balls.slang")

# 4. The tree belongs to the module and is built when it is asked for.
layout = module.layout
show(layout, layout.module_decl)
print()
results = run_all(module, layout.module_decl)

# 5. Declarations and types by name, when one knows what one looks for.
material, = [d for d in layout.module_decl if d.name == "Material"]
steel, = [d for d in material if d.name == "Steel"]
gravity = layout.module_decl.find_first_child_of_kind(Kind.variable, "gravity")
good = steel.value == 6 and gravity.has_modifier(spy.ModifierID.const) and abs(gravity.value - 9.81) < 1e-6
Ball, ISolid = layout.find_type_by_name("Ball"), layout.find_type_by_name("ISolid")
good = good and layout.is_sub_type(Ball, ISolid) and not layout.is_sub_type(layout.find_type_by_name("float3"), ISolid)
good = good and layout.find_type_by_name("Bull") is None and same_layout(layout)

passed, failed = results.count(True), results.count(False)
print(f"{passed} tests passed, {failed} failed")
if not good or passed != 5 or failed:
    sys.exit("wrong results")
device.close()

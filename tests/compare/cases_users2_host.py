"""Programs of other users, second set: slangpy.math with every kind of argument, cameras, texts, copies; nothing here runs a kernel."""
import copy
import itertools
import pickle

import numpy as np

from cases import case, each, error, fails


def values(spy):
    return dict(f=0.5, i=2, b=True, f1=spy.float1(0.5), f2=spy.float2(0.25, 0.75), f3=spy.float3(0.1, -0.2, 0.3), f4=spy.float4(0.1, 0.2, -0.3, 0.4), i3=spy.int3(1, -2, 3), u3=spy.uint3(1, 2, 3), b3=spy.bool3(True, False, True), h=spy.float16_t(0.5), h3=spy.float16_t3(0.5, 0.25, 1), q=spy.quatf(0, 0, 0.6, 0.8), m2=spy.float2x2([2, 1, 1, 3]), m3=spy.float3x3([2, 0, 1, 0, 3, 0, 1, 0, 4]), m4=spy.math.matrix_from_rotation_x(0.5), m34=spy.float3x4(np.arange(12, dtype=np.float32).reshape(3, 4)), l3=[0.5, 0.25, 0.75], t2=(0.5, 1.5), n3=np.array([0.5, 0.25, 0.75], np.float32), d3=np.array([0.5, 0.25, 0.75]), ni=np.array([1, 2, 3]), nf=np.float32(0.5), s="x", none=None)


def table(spy, count, names):
    v = values(spy)
    out = {}
    for name in names:
        f = getattr(spy.math, name, None)
        for keys in itertools.product(v, repeat=count):
            if f is None:
                out[name] = "absent"
                continue
            r = fails(f, *[v[k] for k in keys])
            if r != "raises":
                out[f"{name} {' '.join(keys)}"] = r
    return out


def functions(spy):
    return sorted(n for n in dir(spy.math) if not n.startswith("_") and callable(getattr(spy.math, n)) and not isinstance(getattr(spy.math, n), type))


ONE = "abs acos all any asfloat asfloat16 asin asint asuint asuint16 atan ceil conjugate cos cosh degrees determinant euler_angles exp exp2 f16tof32 f32tof16 floor frac inverse isfinite isinf isnan length log log10 log2 matrix_4x4_from_3x4 matrix_from_quat matrix_from_rotation_x matrix_from_scaling matrix_from_scaling_2d matrix_from_translation matrix_from_translation_2d none normalize pitch quat_from_euler_angles quat_from_matrix radians rcp roll round rsqrt saturate sign sin sinh sqrt tan tanh transpose trunc yaw".split()
TWO = "atan2 cross dot eq fmod ge gt le lt max min mul ne pow reflect step transform_point transform_vector matrix_from_rotation quat_from_angle_axis quat_from_look_at quat_from_rotation_between_vectors scale translate scale_2d translate_2d rotate_2d".split()
THREE = "clamp lerp select smoothstep slerp rotate matrix_from_look_at matrix_from_rotation_xyz".split()


@case
def users2_math_of_one_argument(spy, device):
    return table(spy, 1, ONE)


@case
def users2_math_of_two_arguments(spy, device):
    return table(spy, 2, TWO)


@case
def users2_math_of_three_arguments(spy, device):
    full = values(spy)
    few = {k: full[k] for k in ("f", "i", "b", "f3", "f4", "i3", "b3", "h3", "q", "l3", "n3", "m4")}
    out = {}
    for name in THREE:
        for keys in itertools.product(few, repeat=3):
            r = fails(getattr(spy.math, name), *[few[k] for k in keys])
            if r != "raises":
                out[f"{name} {' '.join(keys)}"] = r
    return out


@case
def users2_math_operators_of_all_pairs(spy, device):
    import operator as o
    v = values(spy)
    out = {}
    for n in ("add", "sub", "mul", "truediv", "mod", "matmul", "and_", "or_", "lshift", "eq", "ne", "lt", "ge", "floordiv", "pow"):
        for a, b in itertools.product(v, repeat=2):
            if a in ("f", "i", "b", "l3", "t2", "n3", "d3", "ni", "nf", "s", "none") and b in ("f", "i", "b", "l3", "t2", "n3", "d3", "ni", "nf", "s", "none"):
                continue
            if n in ("truediv", "mod", "floordiv") and (a in ("i3", "u3", "b3") or b in ("i3", "u3", "b3", "b", "m34")):  # SlangPy ends its process where an int is divided by 0
                continue
            r = fails(getattr(o, n), v[a], v[b])
            if r != "raises":
                out[f"{n} {a} {b}"] = r
    return out


@case
def users2_math_constructors_of_all_values(spy, device):
    v = values(spy)
    classes = "float1 float2 float3 float4 int1 int2 int3 int4 uint2 uint3 bool2 bool3 float16_t3 float16_t quatf float2x2 float3x3 float4x4 float3x4 float4x3".split()
    out = {}
    for c in classes:
        for k in v:
            out[f"{c} {k}"] = fails(lambda: getattr(spy, c)(v[k]))
        for a, b in itertools.product(("f", "i", "f2", "f3", "i3", "l3", "m3", "q"), repeat=2):
            r = fails(lambda: getattr(spy, c)(v[a], v[b]))
            if r != "raises":
                out[f"{c} {a} {b}"] = r
    return out


@case
def users2_math_members_and_protocols(spy, device):
    v = {k: x for k, x in values(spy).items() if type(x).__module__.startswith("slangpy")}
    def of(x):
        return each(len=lambda: len(x), it=lambda: [y for y in x], rep=lambda: repr(x), s=lambda: str(x), fmt=lambda: f"{x}", hash=lambda: hash(x) == hash(type(x)(x)) or True, eq=lambda: x == type(x)(x), cp=lambda: copy.copy(x) == x, dc=lambda: copy.deepcopy(x) == x, pk=lambda: fails(lambda: pickle.loads(pickle.dumps(x)) == x), neg=lambda: -x, pos=lambda: +x, inv=lambda: ~x, ab=lambda: abs(x), idx=lambda: x[0], last=lambda: x[-1], oob=lambda: fails(lambda: x[9]), sl=lambda: x[0:2], rev=lambda: list(reversed(x)), cont=lambda: 0.5 in x, bool=lambda: bool(x), flt=lambda: float(x), int=lambda: int(x), arr=lambda: np.array(x), arr64=lambda: np.asarray(x, np.float64), tup=lambda: tuple(x), sm=lambda: sum(x), mx=lambda: max(x), sh=lambda: x.shape, et=lambda: x.element_type, xy=lambda: x.xy, yx=lambda: fails(lambda: x.yx), w=lambda: x.w, r=lambda: fails(lambda: x.r), tn=lambda: x.to_numpy(), fn=lambda: type(x).from_numpy(x.to_numpy()), lst=lambda: list(x) == [*x], js=lambda: fails(lambda: dict(a=1)[x]))
    def sets():
        a, m = spy.float3(1, 2, 3), spy.float3x3()
        a.x = 5
        a[1] = 6
        m[0] = [1, 2, 3]
        m[1, 2] = 9
        return a, m, fails(lambda: setattr(a, "q", 1)), fails(lambda: a.__setitem__(5, 1)), fails(lambda: setattr(a, "x", "s")), fails(lambda: setattr(a, "xy", spy.float2(1, 2)))
    return {**{k: of(x) for k, x in v.items()}, "sets": each(s=sets), "keys": each(d=lambda: {spy.int2(1, 2): 3}[spy.int2(1, 2)], st=lambda: len({spy.float3(1), spy.float3(1), spy.float3(2)}), so=lambda: [list(x) for x in sorted([spy.int2(2, 1), spy.int2(1, 5), spy.int2(1, 2)])], kw=lambda: spy.float3(x=1, y=2, z=3), kws=lambda: spy.float3(scalar=2), kwx=lambda: spy.float4(xyz=spy.float3(1), w=2))}


@case
def users2_math_cameras(spy, device):
    M = spy.math
    def camera(eye, target, fov, aspect):
        view = M.matrix_from_look_at(eye, target, spy.float3(0, 1, 0))
        return view, M.perspective(M.radians(fov), aspect, 0.1, 100.0)
    v, p = camera(spy.float3(1, 2, 3), spy.float3(0), 60.0, 1.5)
    vp = M.mul(p, v)
    def orbit():
        pts = []
        for i in range(4):
            q = M.quat_from_angle_axis(i * 0.5, spy.float3(0, 1, 0))
            pts.append(M.transform_vector(q, spy.float3(0, 0, 2)))
        return pts
    def chain():
        m = spy.float4x4.identity()
        m = M.translate(m, spy.float3(1, 2, 3))
        m = M.rotate(m, 0.5, spy.float3(0, 0, 1))
        m = M.scale(m, spy.float3(2))
        return m, M.transform_point(m, spy.float3(1, 0, 0)), M.inverse(m), M.determinant(m), M.transpose(m)
    def slerp():
        a, b = M.quat_from_angle_axis(0.0, spy.float3(1, 0, 0)), M.quat_from_angle_axis(1.5, spy.float3(1, 0, 0))
        return [M.slerp(a, b, t) for t in (0.0, 0.3, 1.0)], M.lerp(a, b, 0.5), M.normalize(M.lerp(a, b, 0.5)), M.dot(a, b), M.inverse(b), M.conjugate(b), M.mul(a, b), M.length(b)
    def decompose():
        m = M.mul(M.matrix_from_translation(spy.float3(1, 2, 3)), M.mul(M.matrix_from_quat(M.quat_from_angle_axis(0.7, spy.float3(0, 1, 0))) if False else M.matrix_from_rotation_y(0.7), M.matrix_from_scaling(spy.float3(1, 2, 3))))
        return fails(lambda: M.decompose(m))
    return each(v=lambda: v, p=lambda: p, vp=lambda: M.mul(vp, spy.float4(0.5, 0.5, 0.5, 1)), inv=lambda: M.mul(M.inverse(v), spy.float4(0, 0, 0, 1)), orbit=orbit, chain=chain, slerp=slerp, dec=decompose, ortho=lambda: M.ortho(-1.0, 1.0, -1.0, 1.0, 0.0, 10.0), left=lambda: M.matrix_from_look_at(spy.float3(0, 0, 1), spy.float3(0), spy.float3(0, 1, 0), M.Handedness.left_handed), kw=lambda: M.perspective(fovy=1.0, aspect=1.0, z_near=0.1, z_far=10.0), eul=lambda: M.euler_angles(M.quat_from_euler_angles(spy.float3(0.1, 0.2, 0.3))), xyz=lambda: M.matrix_from_rotation_xyz(0.1, 0.2, 0.3), two=lambda: M.mul(M.matrix_from_rotation_2d(0.5), spy.float3(1, 0, 1)), rb=lambda: M.quat_from_rotation_between_vectors(spy.float3(1, 0, 0), spy.float3(0, 1, 0)), np=lambda: np.allclose(vp.to_numpy(), p.to_numpy() @ v.to_numpy(), atol=1e-5), mm=lambda: p @ v, rows=lambda: [list(v.get_row(0)), list(v.get_col(3))] if hasattr(v, "get_row") else None)

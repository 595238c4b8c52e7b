"""Facts of SlangPy's vectors, matrices, quaternions and shapes on which scripts rely, and the names of slangpy.math."""

import inspect
import math

import numpy as np
import pytest

import slangpy as spy

# name(parameters) of every function of slangpy.math
FUNCTIONS = """isfinite(x) isinf(x) isnan(x) floor(x) ceil(x) trunc(x) round(x) pow(x,y) sqrt(x) rsqrt(x) exp(x) exp2(x) log(x) log2(x)
    log10(x) radians(x) degrees(x) sin(x) cos(x) tan(x) asin(x) acos(x) atan(x) atan2(y,x) sinh(x) cosh(x) tanh(x) fmod(x,y) frac(x)
    lerp(x,y,s) rcp(x) saturate(x) step(x,y) smoothstep(min,max,x) f16tof32(x) f32tof16(x) asfloat(x) asfloat16(x) asuint(x) asint(x)
    asuint16(x) select(condition,true_value,false_value) eq(x,y) ne(x,y) lt(x,y) le(x,y) gt(x,y) ge(x,y) min(x,y) max(x,y)
    clamp(x,min,max) abs(x) sign(x) dot(x,y) length(x) normalize(x) reflect(i,n) cross(x,y) any(x) all(x) none(x) transpose(x)
    determinant(x) inverse(x) mul(x,y) transform_point(m,v) transform_vector(m,v) translate(m,v) translate_2d(m,v) rotate(m,angle,axis)
    rotate_2d(m,angle) scale(m,v) scale_2d(m,v) perspective(fovy,aspect,z_near,z_far) ortho(left,right,bottom,top,z_near,z_far)
    matrix_from_translation(v) matrix_from_translation_2d(v) matrix_from_scaling(v) matrix_from_scaling_2d(v)
    matrix_from_rotation(angle,axis) matrix_from_rotation_2d(angle) matrix_from_rotation_x(angle) matrix_from_rotation_y(angle)
    matrix_from_rotation_z(angle) matrix_from_rotation_xyz(angle_x,angle_y,angle_z) matrix_from_look_at(eye,center,up,handedness)
    matrix_from_quat(q) matrix_4x4_from_3x4(m) decompose(model_matrix,scale,orientation,translation,skew,perspective) conjugate(x)
    slerp(x,y,s) pitch(x) yaw(x) roll(x) euler_angles(x) quat_from_angle_axis(angle,axis)
    quat_from_rotation_between_vectors(from_,to) quat_from_euler_angles(angles) quat_from_matrix(m)
    quat_from_look_at(dir,up,handedness)"""


@pytest.mark.parametrize("text", FUNCTIONS.split())
def test_every_function_of_math_has_its_name_and_its_parameters(text):
    name, _, parameters = text.rstrip(")").partition("(")
    assert list(inspect.signature(getattr(spy.math, name)).parameters) == parameters.split(",")


# ---- Shape ----


def test_a_shape_takes_any_number_of_ints_or_one_list_tuple_shape_or_none():
    S = spy.Shape
    for shape in (S(2, 3), S([2, 3]), S((2, 3)), S(S(2, 3)), S(shape=[2, 3]), S(np.int64(2), 3), S(np.array([2, 3]))):
        assert type(shape) is S and shape == (2, 3) and shape.as_tuple() == (2, 3) and shape.as_list() == [2, 3]
    assert S(*range(20)) == list(range(20)) and len(S(5)) == 1
    for bad in ("a", 1.5, ["a"]):
        with pytest.raises(TypeError):
            S(bad)


def test_a_shape_prints_like_a_list():
    assert str(spy.Shape(2, 3)) == repr(spy.Shape(2, 3)) == "[2, 3]" and str(spy.Shape()) == "[]"


def test_the_empty_shape_is_valid_and_shape_none_is_not():
    """Shape() has rank 0 and is valid; Shape(None) has no sizes, prints as [invalid] and equals another Shape(None)."""
    empty, none = spy.Shape(), spy.Shape(None)
    assert empty.valid and empty.concrete and len(empty) == 0
    assert not none.valid and len(none) == 0 and str(none) == "[invalid]"
    assert none == spy.Shape(None) and none != empty


def test_a_size_of_minus_one_is_valid_and_not_concrete():
    assert spy.Shape(-1, 2).valid and not spy.Shape(-1, 2).concrete and spy.Shape(1, 2).concrete


def test_shapes_compare_join_and_iterate_and_have_no_order():
    a = spy.Shape(1, 2)
    assert a == [1, 2] and a == (1, 2) and a == spy.Shape(1, 2) and a != (2, 1) and a != [1, 2, 3]
    assert a + spy.Shape(3) == (1, 2, 3) and a + (3,) == (1, 2, 3) and (3,) + a == (3, 1, 2) and type(a + (3,)) is spy.Shape
    assert [n for n in a] == [1, 2] and a[-1] == 2 and spy.Shape(2, 3, 4).calc_contiguous_strides() == (12, 4, 1)
    with pytest.raises(IndexError):
        a[2]
    for act in (lambda: a < a, lambda: a * 2):
        with pytest.raises(TypeError):
            act()


# ---- vectors, matrices, quaternions ----


@pytest.mark.parametrize("value,text", [
    (spy.float3(1, 2, 3), "{1, 2, 3}"), (spy.bool2(True, False), "{true, false}"), (spy.int1(-1), "{-1}"),
    (spy.float2x2([1, 2, 3, 4]), "{{1, 2}, {3, 4}}"), (spy.quatf(1, 2, 3, 4), "{1, 2, 3, 4}"),
    (spy.float3(0.1, 1e10, math.nan), "{0.1, 1e+10, nan}"), (spy.float16_t2(0.5, 2), "{0.5, 2}")])
def test_values_print_in_braces_with_the_shortest_floats(value, text):
    assert str(value) == repr(value) == text


def test_equality_compares_values_with_lists_tuples_arrays_and_other_vectors():
    a = spy.float3(1, 2, 3)
    for other in ([1, 2, 3], (1, 2, 3), np.array([1, 2, 3]), spy.int3(1, 2, 3), spy.float3([1, 2, 3])):
        assert (a == other) is True and (a != other) is False
    for other in ([1, 2], (1, 2, 3, 4), np.array([1, 2]), spy.float2(1, 2), [1, 2, 4], "abc", None):
        assert (a == other) is False and (a != other) is True
    m = spy.float2x2([1, 2, 3, 4])
    assert m == [1, 2, 3, 4] and m == np.array([[1, 2], [3, 4]]) and m != spy.float2x2()
    assert spy.quatf() == [0, 0, 0, 1] and spy.uint3(1, 2, 3) == (1, 2, 3)


def test_order_is_lexicographic_for_vectors_matrices_and_quaternions():
    a = spy.float3(1, 2, 3)
    assert a < spy.float3(1, 3, 0) and a < [1, 2, 4] and a <= (1, 2, 3) and a > spy.float3(0, 9, 9) and a >= [1, 2, 3]
    assert sorted([spy.int2(2, 1), spy.int2(1, 9), spy.int2(1, 2)]) == [(1, 2), (1, 9), (2, 1)]
    assert spy.float2x2() < spy.float2x2([1, 1, 0, 0]) and spy.float2x2() < [2, 0, 0, 0]
    assert spy.quatf() < spy.quatf(0, 1, 0, 0) and spy.quatf() >= [0, 0, 0, 1]


@pytest.mark.parametrize("make", [lambda: spy.float3(1, 2, 3), lambda: spy.bool2(True, False), lambda: spy.float3x4(), lambda: spy.quatf()])
def test_values_hash_by_value(make):
    assert hash(make()) == hash(make()) and {make(): 1}[make()] == 1 and len({make(), make()}) == 1


def test_vectors_are_made_of_numbers_lists_arrays_and_shorter_vectors():
    f2, f3, f4 = spy.float2, spy.float3, spy.float4
    assert f3(1) == (1, 1, 1) == f3(scalar=1) and f3() == (0, 0, 0)
    for v in (f3([1, 2, 3]), f3((1, 2, 3)), f3(np.array([1, 2, 3])), f3(spy.int3(1, 2, 3)), f3(f2(1, 2), 3), f3(1, f2(2, 3)),
              f3(x=1, y=2, z=3), f3(xy=f2(1, 2), z=3), f3(x=1, yz=f2(2, 3)), f3(a=[1, 2, 3])):
        assert v == (1, 2, 3)
    assert f4(f3(1, 2, 3), 4) == f4(f2(1, 2), f2(3, 4)) == f4(1, f3(2, 3, 4)) == f4(xyz=f3(1, 2, 3), w=4) == (1, 2, 3, 4)


@pytest.mark.parametrize("make", [lambda: spy.int3(1.5), lambda: spy.uint3(-1), lambda: spy.int2([1, 2.5])])
def test_integer_vectors_take_no_floats_and_unsigned_ones_no_negatives(make):
    with pytest.raises(TypeError):
        make()


def test_element_type_shape_and_components():
    assert spy.float3().element_type is float and spy.uint2().element_type is int and spy.bool4().element_type is bool
    assert spy.float3().shape == (3,) and spy.float2x3().shape == (2, 3) and len(spy.float4()) == 4
    v = spy.float4(1, 2, 3, 4)
    assert (v.x, v.y, v.z, v.w) == (1, 2, 3, 4) and v.xyz == (1, 2, 3) and spy.float3(1, 2, 3).xy == (1, 2) and v[-1] == 4
    assert list(v) == [1, 2, 3, 4]
    v.y = 5
    v[0] = 7
    assert v == (7, 5, 3, 4)
    with pytest.raises(IndexError):
        v[4]


def test_arithmetic_takes_vectors_scalars_and_lists():
    a = spy.float3(1, 2, 3)
    assert a + a == (2, 4, 6) and a * 2 == (2, 4, 6) and 6 / a == (6, 3, 2) and a - [1, 1, 1] == (0, 1, 2)
    assert [1, 1, 1] + a == (2, 3, 4) and (2, 2, 2) * a == (2, 4, 6) and -a == (-1, -2, -3)
    with pytest.raises(TypeError):
        a + [1, 2]


def test_integer_operators_truncate_and_shift():
    a = spy.int2(7, -7)
    assert a / 2 == (3, -3) and spy.uint2(7) % 4 == (3, 3) and spy.int2(6) & 3 == (2, 2) and spy.int2(6) | 1 == (7, 7)
    assert spy.int2(6) ^ 2 == (4, 4) and spy.int2(3) << 2 == (12, 12) and spy.int2(12) >> [1, 2] == (6, 3)


def test_bool_vectors_have_no_arithmetic():
    with pytest.raises(TypeError):
        spy.bool2(True) + spy.bool2(True)


def test_componentwise_comparisons_give_bool_vectors_for_any_all_none():
    m, a, b = spy.math, spy.float3(1, 2, 3), spy.float3(1, 3, 2)
    for name, expected in (("eq", (1, 0, 0)), ("ne", (0, 1, 1)), ("lt", (0, 1, 0)), ("le", (1, 1, 0)), ("gt", (0, 0, 1)), ("ge", (1, 0, 1))):
        result = getattr(m, name)(a, b)
        assert type(result) is spy.bool3 and list(result) == [bool(x) for x in expected]
    assert list(m.eq(a, 2)) == [False, True, False] and list(m.lt(2, a)) == [False, False, True]
    assert list(m.eq(spy.bool2(True, False), True)) == [True, False] and m.eq(spy.quatf(), spy.quatf()) == spy.bool4(True)
    assert list(m.ge(spy.uint2(2**32 - 1, 0), 5)) == [True, False]
    assert m.any(m.eq(a, b)) and not m.all(m.eq(a, b)) and not m.none(m.eq(a, b)) and m.none(spy.bool2()) and m.all(spy.bool1(True))


def test_select_takes_each_component_from_one_of_two_vectors():
    m, where = spy.math, spy.bool3(True, False, True)
    assert m.select(where, spy.float3(1), spy.float3(2)) == (1, 2, 1)
    assert m.select(where, spy.uint3(1), spy.uint3(2)) == (1, 2, 1) and type(m.select(where, spy.uint3(1), spy.uint3(2))) is spy.uint3
    assert m.select(where, spy.bool3(), spy.bool3(True)) == spy.bool3(False, True, False)
    with pytest.raises(TypeError):
        m.select(where, spy.float2(1), spy.float2(2))


@pytest.mark.parametrize("name", ["float%dx%d" % (r, c) for r in range(2, 5) for c in range(2, 5)])
def test_matrices_are_made_of_flat_lists_in_row_order_and_of_arrays(name):
    cls, (rows, columns) = getattr(spy, name), (int(name[5]), int(name[7]))
    data = np.arange(rows * columns, dtype=np.float64).reshape(rows, columns)
    m = cls(data.flatten().tolist())
    assert m == cls(data) == cls(data.astype(np.int32)) and m.to_numpy().dtype == np.float32 and (m.to_numpy() == data).all()
    assert (cls().to_numpy() == np.eye(rows, columns)).all() and (cls.identity() == cls()) and not cls.zeros().to_numpy().any()
    assert list(m[1]) == data[1].tolist() and m[1, 0] == data[1, 0] and m.get_row(1) == m[1] and list(m.get_col(1)) == data[:, 1].tolist()
    m[0] = m[1]
    m[1, 1] = 77
    assert m[0] == data[1].tolist() and m[1, 1] == 77


def test_matrix_product_is_matmul_and_mul_takes_all_pairs():
    random = np.random.default_rng(1)
    a, b, v = random.normal(size=(2, 3)), random.normal(size=(3, 4)), random.normal(size=3)
    A, B, m = spy.float2x3(a), spy.float3x4(b), spy.math
    assert np.allclose((A @ B).to_numpy(), a @ b, atol=1e-6) and np.allclose(m.mul(A, B).to_numpy(), a @ b, atol=1e-6)
    assert np.allclose(list(m.mul(A, spy.float3(v))), a @ v, atol=1e-6) and np.allclose(list(m.mul(spy.float3(v), B)), v @ b, atol=1e-6)
    with pytest.raises(TypeError):
        A * B
    s = random.normal(size=(4, 4))
    S = spy.float4x4(s)
    assert np.allclose(m.inverse(S).to_numpy(), np.linalg.inv(s), rtol=1e-4, atol=1e-4) and abs(m.determinant(S) - np.linalg.det(s)) < 1e-4
    assert (m.transpose(A).to_numpy() == A.to_numpy().T).all()


def test_matrices_convert_between_3x3_3x4_and_4x4():
    m = spy.float4x4(np.arange(16).reshape(4, 4))
    assert spy.float3x3(m) == [0, 1, 2, 4, 5, 6, 8, 9, 10] and spy.float3x4(m)[2] == (8, 9, 10, 11)
    assert spy.float4x4(spy.float3x3()) == spy.float4x4() == spy.float4x4(spy.float3x4()) == spy.math.matrix_4x4_from_3x4(spy.float3x4())


def test_two_dimensional_transforms():
    m = spy.math
    move, turn, grow = m.matrix_from_translation_2d([1, 2]), m.matrix_from_rotation_2d(0.5), m.matrix_from_scaling_2d(spy.float2(2, 3))
    assert m.mul(move, spy.float3(1, 1, 1)) == (2, 3, 1) and m.mul(grow, spy.float3(1, 1, 1)) == (2, 3, 1)
    assert np.allclose(list(m.mul(turn, spy.float3(1, 0, 1))), [math.cos(0.5), math.sin(0.5), 1])
    assert m.translate_2d(turn, [1, 2]) == turn @ move and m.scale_2d(turn, [2, 3]) == turn @ grow and m.rotate_2d(move, 0.5) == move @ turn


def test_decompose_splits_a_transform_into_its_parts():
    m = spy.math
    scale, turn, move, skew, perspective = spy.float3(), spy.quatf(), spy.float3(), spy.float3(), spy.float4()
    q = m.quat_from_angle_axis(0.7, spy.float3(1, 2, 3))
    whole = m.matrix_from_translation([1, 2, 3]) @ spy.float4x4(m.matrix_from_quat(q)) @ m.matrix_from_scaling([2, 3, 4])
    assert m.decompose(whole, scale, turn, move, skew, perspective) is True
    assert np.allclose(list(scale), [2, 3, 4], atol=1e-5) and np.allclose(list(turn), list(q), atol=1e-5) and move == (1, 2, 3)
    assert np.allclose(list(skew), 0, atol=1e-5) and perspective == (0, 0, 0, 1)
    assert m.decompose(spy.float4x4.zeros(), scale, turn, move, skew, perspective) is False


def test_quaternions_begin_as_the_identity_and_take_sums_and_scalars():
    q = spy.quatf()
    assert q == (0, 0, 0, 1) and q + q == (0, 0, 0, 2) and q - q == (0, 0, 0, 0) and q * 2 == (0, 0, 0, 2) and q / 2 == (0, 0, 0, 0.5)
    i, j = spy.quatf(1, 0, 0, 0), spy.quatf(0, 1, 0, 0)
    assert spy.math.mul(i, j) == (0, 0, 1, 0) and spy.math.mul(i, spy.float3(0, 1, 0)) == (0, -1, 0)


def test_halves_become_floats_and_bits():
    m = spy.math
    assert float(spy.float16_t(1.5)) == 1.5 and m.asuint16(spy.float16_t(1)) == 0x3C00 and float(m.asfloat16(0x3C00)) == 1
    assert m.f16tof32(0x3C00) == 1.0 and m.f32tof16(1.0) == 0x3C00 and m.f32tof16(spy.float2(1, 2)) == (0x3C00, 0x4000)
    assert m.f16tof32(spy.uint2(0x3C00, 0x4000)) == (1, 2)

"""Matrices and quaternions, and the transformations that they make."""
import itertools
import math
import pickle

import numpy as np
import pytest

import slangpy as spy
from math_values import MATRICES, exact, kind, same, values

SQUARE = [f"float{n}x{n}" for n in range(2, 5)]


def random_rotation(seed):
    """Returns a random rotation matrix, made by QR decomposition and not by the code under test."""
    q, r = np.linalg.qr(np.random.default_rng(seed).normal(size=(3, 3)))
    q *= np.sign(np.diag(r))
    return q if np.linalg.det(q) > 0 else -q


def about(axis, angle):
    c, s = math.cos(angle), math.sin(angle)
    i, j = (axis + 1) % 3, (axis + 2) % 3
    m = np.eye(3)
    m[i, i] = m[j, j] = c
    m[i, j], m[j, i] = -s, s
    return m


def to_matrix(q):
    """Returns the rotation matrix of a unit quaternion by the textbook formula."""
    x, y, z, w = np.array(q, np.float64)
    return np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)],
            [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)],
            [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)],
        ]
    )


# ---- matrices ----


@pytest.mark.parametrize("name", MATRICES)
def test_matrix_construction(name):
    cls, dtype, (rows, columns) = kind(name)
    expected = values(name)
    row = getattr(spy, f"float{columns}")
    nested = expected.tolist()
    flat = expected.ravel().tolist()
    for value in (
        cls(expected), cls(nested), cls(flat), cls(*flat), cls(*nested), cls(*[row(r) for r in nested]), cls([row(r) for r in nested]),
        cls(expected.ravel()), cls(np.asfortranarray(expected)), cls(expected.astype(np.float64)), cls(cls(nested)), cls.from_numpy(expected),
        cls(expected.astype(">f4")), cls(*expected),
    ):  # fmt: skip
        assert type(value) is cls and np.array_equal(np.array(value), expected)
    assert np.array_equal(np.array(cls()), np.eye(rows, columns))
    assert np.array_equal(np.array(cls.identity()), np.eye(rows, columns))
    assert not np.array(cls.zeros()).any()
    for bad in (expected.T if rows != columns else expected[:1], np.ones((rows, columns + 1)), flat[:-1], flat + [1], nested[:-1], [r[:-1] for r in nested], [r + [1] for r in nested]):
        with pytest.raises(ValueError, match=f"{name}: expected"):
            cls(bad)
    for bad in (1, "abc", None, ["a"] * rows, row()[0]):
        with pytest.raises((TypeError, ValueError), match=name):
            cls(bad)


def test_matrix_of_another_size():
    big = np.arange(16, dtype=np.float32).reshape(4, 4)
    assert np.array_equal(np.array(spy.float3x3(spy.float4x4(big))), big[:3, :3])
    padded = np.eye(4, dtype=np.float32)
    padded[:2, :3] = big[:2, :3]
    assert np.array_equal(np.array(spy.float4x4(spy.float2x3(big[:2, :3].copy()))), padded)


@pytest.mark.parametrize("name", MATRICES)
def test_matrix_components(name):
    cls, _, (rows, columns) = kind(name)
    expected = values(name)
    m = cls(expected)
    assert len(m) == rows and [list(r) for r in m] == expected.tolist()
    for r, c in itertools.product(range(-rows, rows), range(-columns, columns)):
        assert m[r, c] == expected[r, c] and m[r][c] == expected[r, c]
    for r in range(rows):
        assert type(m.get_row(r)) is getattr(spy, f"float{columns}") and list(m.get_row(r)) == expected[r].tolist()
    for c in range(columns):
        assert type(m.get_col(c)) is getattr(spy, f"float{rows}") and list(m.get_col(c)) == expected[:, c].tolist()
    m[1, -1] = 99
    expected[1, -1] = 99
    m[0] = expected[0] = np.arange(columns)
    assert np.array_equal(np.array(m), expected)
    m.set_row(1, [7] * columns)
    m.set_col(0, getattr(spy, f"float{rows}")(8))
    expected[1] = 7
    expected[:, 0] = 8
    assert np.array_equal(np.array(m), expected)
    row = m[0]
    row[0] = -1
    assert m[0, 0] == 8  # a row is a copy, so that writing to it does not change the matrix
    for act in (lambda: m[rows], lambda: m[0, columns], lambda: m[-rows - 1, 0], lambda: m[0, 0, 0], lambda: m.get_row(rows), lambda: m.get_col(columns), lambda: m.set_col(columns, [])):
        with pytest.raises(IndexError):
            act()
    for bad in ([1] * (columns + 1), [1] * (columns - 1), []):
        with pytest.raises(ValueError, match=f"{name}: expected {columns} components"):
            m[0] = bad
    for bad in ("a", None, ["a"] * columns):
        with pytest.raises(TypeError):
            m.set_row(0, bad)
    with pytest.raises(TypeError):
        m[0, 0] = "a"
    with pytest.raises(TypeError):
        del m[0]
    with pytest.raises(TypeError, match="set_row: expected 2 arguments, got 1"):
        m.set_row(0)
    with pytest.raises(AttributeError):
        m.xy
    assert np.array_equal(np.array(m), expected)  # a failed write changes nothing


@pytest.mark.parametrize("name", MATRICES)
def test_matrix_arithmetic(name):
    cls, _, _ = kind(name)
    a, b = values(name, 1), values(name, 2)
    exact(name, cls(a) + cls(b), a + b)
    exact(name, cls(a) - cls(b), a - b)
    exact(name, cls(a) * 2, a * 2)
    exact(name, 0.5 * cls(a), a / 2)
    exact(name, -cls(a), -a)
    assert (cls(a) == cls(a)) is True and (cls(a) == cls(b)) is False and (cls(a) != cls(b)) is True
    b = a.copy()
    b[-1, -1] += 1
    assert (cls(a) == cls(b)) is False and (cls(a) != cls(b)) is True and (cls(a) != cls(a)) is False
    for act in (lambda: cls(a) * cls(b), lambda: cls(a) / cls(b)):
        with pytest.raises(TypeError, match="@"):
            act()
    assert (cls(a) < cls(b)) is (a.flatten().tolist() < b.flatten().tolist())


@pytest.mark.parametrize("name,other", list(itertools.product(MATRICES, repeat=2)))
def test_matrix_product(name, other):
    (a_cls, _, (rows, inner)), (b_cls, _, (inner_b, columns)) = kind(name), kind(other)
    a, b = values(name, 3), values(other, 4)
    if inner != inner_b:
        with pytest.raises(TypeError, match="math.mul: argument 'y': expected"):
            spy.math.mul(a_cls(a), b_cls(b))
        return
    result = a_cls(a) @ b_cls(b)
    assert type(result) is getattr(spy, f"float{rows}x{columns}")
    same(result, a.astype(np.float64) @ b)
    assert result == spy.math.mul(x=a_cls(a), y=b_cls(b))


@pytest.mark.parametrize("name", MATRICES)
def test_matrix_and_vector(name):
    cls, _, (rows, columns) = kind(name)
    m = values(name)
    right, left = values(f"float{columns}"), values(f"float{rows}")
    result = cls(m) @ getattr(spy, f"float{columns}")(right)
    assert type(result) is getattr(spy, f"float{rows}")
    same(result, m @ right)
    same(spy.math.mul(getattr(spy, f"float{rows}")(left), cls(m)), left @ m)
    assert spy.math.mul(spy.float3(1, 2, 3), spy.float3(1, 2, 3)) == 14
    with pytest.raises(TypeError):
        cls(m) @ spy.int3()
    with pytest.raises(TypeError):
        cls(m) @ 2


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("name", SQUARE)
def test_inverse_and_determinant(name, seed):
    cls, _, (n, _) = kind(name)
    data = np.random.default_rng(seed).normal(size=(n, n)).astype(np.float32)
    m = cls(data)
    same(spy.math.inverse(m), np.linalg.inv(data.astype(np.float64)), 2e-4)
    assert spy.math.determinant(m) == pytest.approx(np.linalg.det(data.astype(np.float64)), rel=1e-6)
    permuted = np.eye(n, dtype=np.float32)[::-1]
    same(spy.math.inverse(cls(permuted)), permuted)  # the inverse needs pivoting
    singular = data.copy()
    singular[0] = 0
    assert spy.math.determinant(cls(singular)) == 0
    with pytest.raises(ValueError, match="math.inverse.*determinant 0"):
        spy.math.inverse(cls(singular))


@pytest.mark.parametrize("name", MATRICES)
def test_transpose(name):
    cls, _, (rows, columns) = kind(name)
    m = values(name)
    result = spy.math.transpose(cls(m))
    assert type(result) is getattr(spy, f"float{columns}x{rows}") and np.array_equal(np.array(result), m.T)
    if rows != columns:
        for function in (spy.math.inverse, spy.math.determinant):
            with pytest.raises(TypeError, match="expected a square matrix"):
                function(cls(m))


# ---- transformations ----


@pytest.mark.parametrize("axis", range(3))
def test_axis_rotations(axis):
    expected = np.eye(4)
    expected[:3, :3] = about(axis, 0.7)
    same(getattr(spy.math, "matrix_from_rotation_" + "xyz"[axis])(0.7), expected)
    unit = np.eye(3)[axis]
    same(spy.math.matrix_from_rotation(0.7, spy.float3(2 * unit)), expected)
    same(spy.math.rotate(spy.float4x4(), 0.7, unit), expected)
    same(spy.math.matrix_from_quat(spy.math.quat_from_angle_axis(0.7, unit)), expected[:3, :3])


@pytest.mark.parametrize("seed", range(4))
def test_rotation_about_any_axis(seed):
    random = np.random.default_rng(seed)
    axis, angle = random.normal(size=3), random.uniform(-3, 3)
    k = np.cross(np.eye(3), axis / np.linalg.norm(axis))  # k @ v is the cross product of axis and v (Rodrigues)
    expected = np.eye(3) + math.sin(angle) * k + (1 - math.cos(angle)) * k @ k
    same(np.array(spy.math.matrix_from_rotation(angle, axis))[:3, :3], expected)
    same(to_matrix(spy.math.quat_from_angle_axis(angle, spy.float3(axis))), expected)


@pytest.mark.parametrize("angles", [(0.1, 0.2, 0.3), (-1, 1.2, 2), (3, -1.5, -2)])
def test_euler_angles(angles):
    m = spy.math
    expected = about(0, angles[0]) @ about(1, angles[1]) @ about(2, angles[2])
    same(np.array(m.matrix_from_rotation_xyz(*angles))[:3, :3], expected)
    assert m.matrix_from_rotation_xyz(spy.float3(angles)) == m.matrix_from_rotation_xyz(np.array(angles, np.float32))
    same(m.extract_euler_angle_xyz(m.matrix_from_rotation_xyz(*angles)), angles, 2e-5)
    q = m.quat_from_euler_angles(spy.float3(angles))
    same(to_matrix(q), about(2, angles[2]) @ about(1, angles[1]) @ about(0, angles[0]))
    same(m.euler_angles(q), angles, 2e-5)
    same([m.pitch(q), m.yaw(q), m.roll(q)], angles, 2e-5)
    with pytest.raises(ValueError, match="three angles"):
        m.matrix_from_rotation_xyz(1, 2)


def test_translation_and_scaling():
    v, p = np.array([1.0, 2.0, 3.0]), np.array([4.0, 5.0, 6.0])
    m = spy.math
    t, s = m.matrix_from_translation(spy.float3(v)), m.matrix_from_scaling(v)
    same(m.transform_point(t, spy.float3(p)), p + v)
    same(m.transform_vector(t, spy.float3(p)), p)
    same(m.transform_point(s, p), p * v)
    r = m.matrix_from_rotation(0.3, [1, 2, 3])
    same(m.translate(r, v), np.array(r) @ np.array(t))
    same(m.scale(r, v), np.array(r) @ np.array(s))
    same(m.transform_vector(spy.float3x3(r), p), np.array(r)[:3, :3] @ p)
    for bad in ([1, 2], "abc", spy.float2(), [1, 2, "3"]):
        with pytest.raises((TypeError, ValueError)):
            m.matrix_from_translation(bad)
    with pytest.raises(TypeError, match="argument 'm': expected float4x4, got 'float3x3'"):
        m.translate(spy.float3x3(), v)


def project(m, point):
    x = np.array(m, np.float64) @ np.array([*point, 1.0])
    return x[:3] / x[3]


def test_perspective():
    near, far, fovy, aspect = 0.5, 20.0, 1.1, 1.6
    m = spy.math.perspective(fovy=fovy, aspect=aspect, z_near=near, z_far=far)
    top = math.tan(fovy / 2)
    same(project(m, (0, top * near, -near)), [0, 1, 0])
    same(project(m, (-top * aspect * far, top * far, -far)), [-1, 1, 1])
    for bad in ((0, 1, 1, 2), (4, 1, 1, 2), (1, 0, 1, 2), (1, 1, 1, 1), (math.nan, 1, 1, 2)):
        with pytest.raises(ValueError, match="math.perspective"):
            spy.math.perspective(*bad)


def test_ortho():
    m = spy.math.ortho(-1, 3, -2, 6, 0.5, 10)
    same(project(m, (-1, -2, -0.5)), [-1, -1, 0])
    same(project(m, (3, 6, -10)), [1, 1, 1])
    with pytest.raises(ValueError, match="left != right"):
        spy.math.ortho(1, 1, 0, 1, 0, 1)


@pytest.mark.parametrize("handedness,forward", [(None, -1), (0, -1), (spy.math.Handedness.right_handed, -1), ("right_handed", -1), (1, 1), (spy.math.Handedness.left_handed, 1), ("left_handed", 1)])
def test_look_at(handedness, forward):
    eye, center, up = np.array([1.0, 2.0, 3.0]), np.array([4.0, -1.0, 5.0]), np.array([0.0, 1.0, 0.0])
    extra = {} if handedness is None else {"handedness": handedness}
    m = np.array(spy.math.matrix_from_look_at(spy.float3(eye), spy.float3(center), up, **extra), np.float64)
    same(m @ [*eye, 1], [0, 0, 0, 1])
    same(m @ [*center, 1], [0, 0, forward * np.linalg.norm(center - eye), 1], 1e-5)
    same(m[:3, :3] @ m[:3, :3].T, np.eye(3), 1e-5)
    assert np.linalg.det(m) == pytest.approx(1, abs=1e-5)
    above = m @ [*(eye + up), 1]
    assert above[1] > 0 and abs(above[0]) < 1e-5
    q = spy.math.quat_from_look_at(center - eye, up, **extra)
    same(to_matrix(q).T, m[:3, :3], 1e-5)


def test_look_at_refuses_what_has_no_answer():
    for args in (([0, 0, 0], [0, 1, 0], [0, 1, 0]), ([1, 1, 1], [1, 1, 1], [0, 1, 0])):
        with pytest.raises(ValueError, match="parallel"):
            spy.math.matrix_from_look_at(*args)
    for bad in (2, "left", 0.5, None):
        with pytest.raises(TypeError, match="handedness"):
            spy.math.matrix_from_look_at([0, 0, 0], [1, 0, 0], [0, 1, 0], bad)
    with pytest.raises(ValueError, match="length 0"):
        spy.math.matrix_from_rotation(1, [0, 0, 0])


# ---- quaternions ----


def random_quaternion(seed):
    q = np.random.default_rng(seed).normal(size=4)
    return q / np.linalg.norm(q)


def test_quaternion_basics():
    q = spy.quatf(1, 2, 3, 4)
    assert (q.x, q.y, q.z, q.w) == (1, 2, 3, 4) and list(q) == [1, 2, 3, 4] and q[-1] == 4
    assert spy.quatf() == spy.quatf.identity() == spy.quatf(0, 0, 0, 1) and q != spy.quatf()
    assert (q == spy.float4(1, 2, 3, 4)) is False and list(spy.float4(q)) == [1, 2, 3, 4]
    assert q + q == 2 * q and q - q == 0 * q and q / 2 == spy.quatf(0.5, 1, 1.5, 2) and -q == q * -1
    assert np.asarray(q).dtype == np.float32 and spy.quatf(np.asarray(q)) == q and pickle.loads(pickle.dumps(q)) == q
    q.y = 9
    assert q[1] == 9
    with pytest.raises(ValueError, match="quatf: expected 4 components, got 3"):
        spy.quatf(1, 2, 3)
    with pytest.raises(ValueError, match="got 1"):
        spy.quatf(1)
    for act in (lambda: q * q, lambda: q / q):
        with pytest.raises(TypeError, match="@"):
            act()
    with pytest.raises(AttributeError):
        q.xyz


@pytest.mark.parametrize("seed", range(4))
def test_quaternion_algebra(seed):
    m = spy.math
    a, b = random_quaternion(seed), random_quaternion(seed + 50)
    qa, qb, v = spy.quatf(a), spy.quatf(b), np.random.default_rng(seed).normal(size=3)
    same(to_matrix(qa @ qb), to_matrix(a) @ to_matrix(b), 5e-6)
    assert m.mul(qa, qb) == qa @ qb
    same(m.mul(qa, spy.float3(v)), to_matrix(a) @ v, 5e-6)
    same(m.transform_vector(qa, v), to_matrix(a) @ v, 5e-6)
    same(m.conjugate(qa), a * [-1, -1, -1, 1])
    same(m.inverse(spy.quatf(2 * a)) @ spy.quatf(2 * a), [0, 0, 0, 1])
    assert m.dot(qa, qb) == pytest.approx(float(np.float32(a).astype(float) @ np.float32(b)), rel=1e-6)
    assert m.length(spy.quatf(3 * a)) == pytest.approx(3, rel=1e-6)
    same(m.normalize(spy.quatf(3 * a)), a)
    same(m.matrix_from_quat(qa), to_matrix(a), 5e-6)


@pytest.mark.parametrize("rotation", [random_rotation(seed) for seed in range(4)] + [about(axis, angle) for axis in range(3) for angle in (math.pi, 3.1, -3.1, 0)])
def test_quaternion_of_matrix(rotation):
    full = np.eye(4)
    full[:3, :3] = rotation
    for m in (spy.float3x3(rotation), spy.float4x4(full)):
        q = spy.math.quat_from_matrix(m)
        assert np.linalg.norm(np.array(q, np.float64)) == pytest.approx(1, abs=1e-6)
        same(to_matrix(q), rotation, 5e-6)


@pytest.mark.parametrize("seed", range(6))
def test_slerp(seed):
    a, b = random_quaternion(seed), random_quaternion(seed + 50)
    qa, qb = spy.quatf(a), spy.quatf(b)
    near = b if a @ b >= 0 else -b
    same(spy.math.slerp(qa, qb, 0), a)
    same(spy.math.slerp(qa, qb, 1), near)
    half = (a + near) / np.linalg.norm(a + near)
    same(spy.math.slerp(qa, qb, s=0.5), half, 5e-6)
    third = np.array(spy.math.slerp(qa, qb, 1 / 3), np.float64)
    assert np.arccos(third @ a) * 3 == pytest.approx(np.arccos(a @ near), rel=1e-4)
    same(spy.math.slerp(qa, qa, 0.3), a)


@pytest.mark.parametrize("seed", range(4))
def test_rotation_between_vectors(seed):
    random = np.random.default_rng(seed)
    a, b = random.normal(size=3), random.normal(size=3)
    unit = b / np.linalg.norm(b)
    for start in (a, b, -b, -b + 1e-12):
        q = spy.math.quat_from_rotation_between_vectors(spy.float3(start), to=spy.float3(b))
        same(to_matrix(q) @ (start / np.linalg.norm(start)), unit, 1e-5)

"""Modules of Slang functions as fixtures, and random arrays, for all test_calls files."""
import numpy as np
import pytest

rng = np.random.default_rng(1234)


def rand(*shape):
    return rng.random(shape, dtype=np.float32)


SOURCE = """
import slangpy;
float add(float a, float b) { return a + b; }
int addi(int a, int b) { return a + b; }
int sub(int a, int b) { return a - b; }
T twice<T : IArithmetic>(T x) { return x + x; }
float3 scale(float3 v, float s) { return v * s; }
float sum3(float3 v) { return v.x + v.y * 10 + v.z * 100; }
float total(float v[4]) { float s = 0; for (int i = 0; i < 4; i++) s += v[i] * float(i + 1); return s; }
float corner(float2x3 m) { return m[0][0] + 10 * m[0][2] + 100 * m[1][0]; }
float3 turn(float3x3 m, float3 v) { return mul(m, v); }
float deep(float3 x[2]) { return x[0].x + 10 * x[0].z + 100 * x[1].y; }
bool flip(bool b) { return !b; }
half halve(half x) { return x * 0.5h; }
double wide(double x) { return x * 2; }
uint64_t big(uint64_t x) { return x; }
int64_t signed_big(int64_t x) { return x; }
int8_t tiny(int8_t x) { return x; }
uint8_t tinyu(uint8_t x) { return x; }
int16_t small(int16_t x) { return x; }
uint16_t smallu(uint16_t x) { return x; }
uint unsigned_(uint x) { return x; }
int64_t long_sum(int64_t a, int64_t b) { return a + b; }
void nothing(float x) {}
int one() { return 1; }
float with_default(float x, float y = 3) { return x + y; }
enum Color { Red, Green = 5, Blue }
int color(Color c) { return int(c); }
Color next(Color c) { return c == Color.Red ? Color.Green : Color.Blue; }
"""


@pytest.fixture(scope="module")
def m(load):
    return load(SOURCE)


STRUCTS = """
struct Pair { int a; float b; };
struct Nested { Pair p[2]; float3 v; float m[2][3]; bool flag; };
Pair make(int a, float b) { Pair p = { a, b }; return p; }
Nested nest(float x) {
    Nested n;
    n.p[0] = make(1, x); n.p[1] = make(2, x + 1);
    n.v = float3(x, x + 1, x + 2);
    for (int i = 0; i < 2; i++) for (int j = 0; j < 3; j++) n.m[i][j] = float(10 * i + j);
    n.flag = x > 0;
    return n;
}
float[4] four(float x) { float r[4]; for (int i = 0; i < 4; i++) r[i] = x * float(i); return r; }
typealias Row = float[3];
Row[2] grid(float x) { Row r[2]; for (int i = 0; i < 2; i++) for (int j = 0; j < 3; j++) r[i][j] = x + float(i * 3 + j); return r; }
float3 vec(float x) { return float3(x, 2 * x, 3 * x); }
float2x3 mat(float x) { return float2x3(1, 2, 3, 4, 5, 6) * x; }
int3 ivec(int x) { return int3(x, -x, 0); }
float sum(Pair p) { return float(p.a) + p.b; }
"""


@pytest.fixture(scope="module")
def s(load):
    return load(STRUCTS)


INOUT = """
void divide(float a, float b, out float q, inout float r) { q = a / b; r += 1; }
void count(inout int n) { n += 1; }
void grow(inout float3 v) { v *= 2; }
void fill(out float v[4]) { for (int i = 0; i < 4; i++) v[i] = float(i); }
struct Box { float w; float h; };
void widen(inout Box b) { b.w += 1; }
void make(out Box b) { b.w = 3; b.h = 4; }
float area(Box b) { return b.w * b.h; }
"""


@pytest.fixture(scope="module")
def io(load):
    return load(INOUT)


def as_lists(value):
    """Returns vectors, matrices and lists as nested lists."""
    if isinstance(value, (bool, int, float, dict)):
        return value
    return [as_lists(value[i]) for i in range(len(value))]

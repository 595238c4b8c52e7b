"""Programs of other users, second set: short ones, as in questions and answers."""
import numpy as np

from cases import case, each, error, fails, load, random


def rw(spy):
    return spy.BufferUsage.shader_resource | spy.BufferUsage.unordered_access


@case
def users2_small_image_gradient_descent(spy, device):
    m = load(spy, device, "import slangpy;\n[Differentiable] float loss(float3 pred, no_diff float3 want) { float3 d = pred - want; return dot(d, d); }")
    pred = spy.Tensor.zeros(device, (4, 4), "float3").with_grads()
    want = random(4, 4, 3)
    history = []
    for _ in range(5):
        out = m.loss(pred, want).with_grads()
        history.append(out.to_numpy().mean())
        out.grad.copy_from_numpy(np.ones((4, 4), np.float32))
        m.loss.bwds(pred, want, out)
        pred.copy_from_numpy(pred.to_numpy() - np.float32(0.25) * pred.grad.to_numpy())
        pred.grad.clear()
    return history, pred


@case
def users2_small_matrix_multiply(spy, device):
    m = load(spy, device, """
import slangpy;
float dot_row(int2 ij, Tensor<float, 2> a, Tensor<float, 2> b) { float s = 0; for (int k = 0; k < a.shape[1]; k++) s += a[ij.y, k] * b[k, ij.x]; return s; }
float4x4 mm(float4x4 a, float4x4 b) { return mul(a, b); }
float4 mv(float4x4 a, float4 v) { return mul(a, v); }
float4 vm(float4 v, float4x4 a) { return mul(v, a); }
""")
    a, b = random(3, 5), random(5, 4, seed=2)
    ta, tb = spy.Tensor.from_numpy(device, a), spy.Tensor.from_numpy(device, b)
    x, y = random(4, 4, seed=3), random(4, 4, seed=4)
    return each(t=lambda: bool(np.allclose(m.dot_row(spy.grid((3, 4)), ta, tb, _result="numpy"), a @ b, atol=1e-5)), tt=lambda: bool(np.allclose(m.dot_row(spy.grid((4, 3)), spy.Tensor.from_numpy(device, b.T.copy()), spy.Tensor.from_numpy(device, a.T.copy()), _result="numpy"), (a @ b).T, atol=1e-5)), mm=lambda: bool(np.allclose(m.mm(spy.float4x4(x), spy.float4x4(y)).to_numpy(), x @ y, atol=1e-5)), mv=lambda: m.mv(x, [1, 2, 3, 4]), vm=lambda: m.vm(spy.float4(1, 2, 3, 4), x), mvs=lambda: m.mv(random(5, 4, 4), random(5, 4), _result="numpy"), host=lambda: spy.math.mul(spy.float4x4(x), spy.float4(1, 2, 3, 4)))


@case
def users2_small_random_walks(spy, device):
    m = load(spy, device, "import slangpy;\nstruct Walker { float2 p; uint seed; [mutating] void step() { seed = seed * 1664525u + 1013904223u; float a = (seed >> 8) * (6.2831853 / 16777216.0); p += float2(cos(a), sin(a)); } };\nfloat far(Walker w) { return length(w.p); }\nWalker start(uint s) { return { float2(0), s }; }\n")
    w = spy.InstanceTensor(m.Walker, (8,))
    m.start(np.arange(8, dtype=np.uint32), _result=w)
    for _ in range(3):
        w.step()
    return m.far(w, _result="numpy"), w.shape, w.tensor.dtype.full_name


@case
def users2_small_lookup_and_interpolate(spy, device):
    m = load(spy, device, "import slangpy;\nfloat3 ramp(float t, float3 colors[4]) { float x = saturate(t) * 3; int i = min(int(x), 2); return lerp(colors[i], colors[i + 1], x - i); }\nfloat bilinear(float2 uv, Tensor<float, 2> t) { return t.sample(uv); }\n")
    colors = [[0, 0, 0], [1, 0, 0], [1, 1, 0], [1, 1, 1]]
    grid = spy.Tensor.from_numpy(device, np.arange(12, dtype=np.float32).reshape(3, 4))
    return each(one=lambda: m.ramp(0.5, colors), many=lambda: m.ramp.map((0,))(np.linspace(-0.5, 1.5, 9, dtype=np.float32), colors, _result="numpy"), np=lambda: m.ramp(0.25, np.array(colors, np.float32)), samples=lambda: m.bilinear(random(6, 2), grid, _result="numpy"), corner=lambda: m.bilinear([0, 0], grid), end=lambda: m.bilinear([1, 1], grid), kw=lambda: m.ramp(colors=colors, t=0.75))


@case
def users2_small_string_and_type_checks(spy, device):
    m = load(spy, device, "import slangpy;\nfloat3 f(float3 a) { return a; }\nstruct S { int a; float b; };\nS s(S x) { x.a += 1; return x; }\n")
    r, t = m.f(spy.float3(1, 2, 3)), m.f(random(4, 3))
    return each(v=lambda: [str(r), repr(r), f"{r}", f"{r.x:.2f}", isinstance(r, spy.float3), len(r), list(r), r == spy.float3(1, 2, 3), r == [1, 2, 3]], t=lambda: [str(t.shape), str(t.dtype.full_name), isinstance(t, spy.Tensor), t.to_numpy().dtype.name, t.shape == (4,), len(t.shape), t.shape[0], t.shape.as_tuple(), t.shape.as_list()], s=lambda: m.s({"a": 1, "b": 2.0}), sl=lambda: m.s({"_type": "S", "a": 1, "b": 2.0}), m=lambda: [m.name == m.device_module.name, isinstance(m, spy.Module), isinstance(m.f, spy.Function), isinstance(m.S, spy.Struct)], dev=lambda: [isinstance(device, spy.Device), device.info.type == device.desc.type or True, isinstance(device.info.adapter_name, str)], fmt=lambda: [spy.Format.rgba8_unorm.name, spy.get_format_info(spy.Format.rgba8_unorm).name, spy.get_format_info(spy.Format.rgba16_float).bytes_per_block])


@case
def users2_small_tensor_pipeline(spy, device):
    m = load(spy, device, "import slangpy;\nfloat normalise(float x, float lo, float hi) { return (x - lo) / (hi - lo); }\nfloat curve(float x, float gamma) { return pow(max(x, 0), gamma); }\nuint8_t quantise(float x) { return uint8_t(saturate(x) * 255 + 0.5); }\nfloat back(uint8_t b) { return b / 255.0; }\n")
    x = random(3, 4) * 10 - 2
    a = m.normalise(x, float(x.min()), float(x.max()))
    b = m.curve(a, 2.2)
    q = m.quantise(b)
    return each(a=lambda: a, q=lambda: [q.dtype.full_name, q.to_numpy().dtype.name, q.to_numpy()], back=lambda: m.back(q, _result="numpy"), rows=lambda: [r.to_numpy().sum() for r in a], view=lambda: m.curve(a[1:, ::2], 1.0, _result="numpy"), into=lambda: [m.curve(a, 3.0, _result=a) is a, a.to_numpy().max()], none=lambda: m.curve(np.zeros((0, 4), np.float32), 1.0).shape, big=lambda: float(m.curve(np.ones((300, 1000), np.float32) * 2, 2.0, _result="numpy").mean()))


@case
def users2_small_double_buffers(spy, device):
    m = load(spy, device, "import slangpy;\nfloat diffuse(int i, Tensor<float, 1> src, float k) { int n = int(src.shape[0]); return src[i] + k * (src[max(i - 1, 0)] + src[min(i + 1, n - 1)] - 2 * src[i]); }\n")
    a = spy.Tensor.from_numpy(device, np.eye(1, 16, 8, dtype=np.float32)[0])
    b = spy.Tensor.zeros_like(a)
    for _ in range(10):
        m.diffuse(spy.call_id(), a, 0.25, _result=b)
        a, b = b, a
    e = device.create_command_encoder()
    for _ in range(4):
        m.diffuse.append_to(e, spy.call_id(), a, 0.25, _result=b)
        a, b = b, a
    device.submit_command_buffer(e.finish())
    return a, a.to_numpy().sum()


@case
def users2_small_double_precision_orbits(spy, device):
    m = load(spy, device, "import slangpy;\nstruct Body { double3 p; double3 v; double m; };\ndouble3 pull(Body a, Body b) { double3 d = b.p - a.p; double r = dot(d, d) + 1e-3; return d * (b.m / (r * sqrt(r))); }\nvoid kick(inout double3 v, double3 a, double dt) { v += a * dt; }\ndouble energy(Body b) { return 0.5 * b.m * dot(b.v, b.v); }\ndouble3 scale(double3 a, double s) { return a * s; }\n")
    body = lambda x, k: {"_type": "Body", "p": np.array([x, 0, 0], np.float64), "v": np.array([0, k, 0], np.float64), "m": 2.0}
    v = spy.Tensor.from_numpy(device, np.zeros((4, 3)))
    return each(pull=lambda: [float(x) for x in m.pull(body(0.0, 1.0), body(2.0, 0.0))], e=lambda: m.energy(body(1.0, 3.0)), arr=lambda: m.scale(np.arange(6, dtype=np.float64).reshape(2, 3), 0.5, _result="numpy"), kick=lambda: [m.kick(v, np.array([1.0, 2.0, 3.0]), 0.1), v.to_numpy()][1], x=lambda: m.scale(np.array([1.0, 2.0, 3.0]), 2.0).x, sum=lambda: sum(m.scale(np.array([1.0, 2.0, 3.0]), 2.0)))

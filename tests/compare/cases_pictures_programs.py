"""Small programs of the kind that come with such libraries as samples: each a whole script with its own .slang text."""
import os
import tempfile

import numpy as np

from cases import case, error, load, random


def from_file(spy, device, source, name):
    """The module of a file, as scripts have it beside them."""
    folder = tempfile.mkdtemp()
    path = os.path.join(folder, name + ".slang")
    with open(path, "w") as f:
        f.write(source)
    return spy.Module.load_from_file(device, path)


@case
def program_first_functions(spy, device):
    m = from_file(spy, device, """
float add(float a, float b) { return a + b; }
void add_to(int a, int b, out int c) { c = a + b; }
""", "program_first")
    a = np.arange(1000, dtype=np.float32)
    b = np.ones(1000, dtype=np.float32)
    out = np.empty(10, dtype=np.int32)
    m.add_to(np.arange(10, dtype=np.int32), 5, out)
    return [m.add(1.0, 2.0), m.add(a, b, _result="numpy"), out, m.add(a=a, b=2.0, _result="numpy")[:5]]


@case
def program_brighten_a_picture(spy, device):
    m = from_file(spy, device, """
import "slangpy";
float4 brighten(float4 pixel) { return min(pixel + 0.5, 1.0); }
void invert(float4 pixel, out float4 result) { result = float4(1 - pixel.rgb, pixel.a); }
""", "program_brighten")
    loader = spy.TextureLoader(device)
    image = loader.load_texture(spy.Bitmap((random(16, 16, 4) * 255).astype(np.uint8)), {"load_as_srgb": False})
    bright = m.brighten(image, _result="numpy")
    tex = device.create_texture(width=16, height=16, format=spy.Format.rgba32_float, usage=spy.TextureUsage.shader_resource | spy.TextureUsage.unordered_access)
    m.invert(image, tex)
    tensor = m.brighten(image)
    b = tex.to_bitmap().convert(spy.Bitmap.PixelFormat.rgb, spy.Bitmap.ComponentType.uint8, srgb_gamma=True)
    return [image.format, bright, tex, tensor.shape, tensor.dtype.full_name, np.array(b)]


@case
def program_compute_on_a_texture(spy, device):
    source = """
[shader("compute")]
[numthreads(16, 16, 1)]
void main(uint3 tid : SV_DispatchThreadID, RWTexture2D<float4> output, uniform float time)
{
    uint2 size;
    output.GetDimensions(size.x, size.y);
    if (any(tid.xy >= size)) return;
    float2 uv = (tid.xy + 0.5) / float2(size);
    output[tid.xy] = float4(uv, 0.5 + 0.5 * sin(time), 1);
}
"""
    m = device.load_module_from_source("program_compute", source)
    program = device.link_program([m], [m.entry_point("main")])
    kernel = device.create_compute_kernel(program)
    tex = device.create_texture(format=spy.Format.rgba32_float, width=40, height=24, usage=spy.TextureUsage.unordered_access | spy.TextureUsage.shader_resource)
    encoder = device.create_command_encoder()
    kernel.dispatch(thread_count=[tex.width, tex.height, 1], command_encoder=encoder, output=tex, time=1.0)
    id = device.submit_command_buffer(encoder.finish())
    device.wait_for_submit(id)
    return tex


@case
def program_compute_on_buffers(spy, device):
    source = """
[shader("compute")]
[numthreads(32, 1, 1)]
void main(uint3 tid : SV_DispatchThreadID, StructuredBuffer<float> a, StructuredBuffer<float> b, RWStructuredBuffer<float> c, uniform uint count)
{
    if (tid.x < count) c[tid.x] = a[tid.x] + b[tid.x];
}
"""
    m = device.load_module_from_source("program_buffers", source)
    kernel = device.create_compute_kernel(device.link_program([m], [m.entry_point("main")]))
    n = 100
    layout = kernel.pipeline is not None
    a = device.create_buffer(element_count=n, struct_size=4, usage=spy.BufferUsage.shader_resource, data=np.arange(n, dtype=np.float32))
    b = device.create_buffer(element_count=n, struct_size=4, usage=spy.BufferUsage.shader_resource, data=random(n))
    c = device.create_buffer(element_count=n, struct_size=4, usage=spy.BufferUsage.unordered_access)
    kernel.dispatch(thread_count=[n, 1, 1], a=a, b=b, c=c, count=n)
    return [layout, c.to_numpy().view(np.float32)]


TRIANGLE = """
struct VertexInput { float3 position : POSITION; float2 uv : TEXCOORD; };
struct VertexOutput { float4 position : SV_Position; float2 uv : TEXCOORD; };
cbuffer Uniforms { float4x4 transform; float4 color; }
[shader("vertex")]
VertexOutput vertex_main(VertexInput input)
{
    VertexOutput output;
    output.position = mul(transform, float4(input.position, 1));
    output.uv = input.uv;
    return output;
}
[shader("fragment")]
float4 fragment_main(VertexOutput input) : SV_Target { return float4(input.uv, 0, 1) * color; }
"""


@case(only=("vulkan",))
def program_triangle(spy, device):
    m = device.load_module_from_source("program_triangle", TRIANGLE)
    program = device.link_program([m], [m.entry_point("vertex_main"), m.entry_point("fragment_main")])
    vertices = np.array([-0.9, -0.9, 0, 0, 0, 0.91, -0.83, 0, 1, 0, 0.07, 0.89, 0, 0.5, 1], dtype=np.float32)
    vertex_buffer = device.create_buffer(usage=spy.BufferUsage.vertex_buffer, label="vertices", data=vertices)
    index_buffer = device.create_buffer(usage=spy.BufferUsage.index_buffer, label="indices", data=np.array([0, 1, 2], dtype=np.uint32))
    input_layout = device.create_input_layout(input_elements=[{"semantic_name": "POSITION", "semantic_index": 0, "format": spy.Format.rgb32_float}, {"semantic_name": "TEXCOORD", "semantic_index": 0, "format": spy.Format.rg32_float, "offset": 12}],
                                              vertex_streams=[{"stride": 20}])
    target = device.create_texture(format=spy.Format.rgba32_float, width=32, height=24, usage=spy.TextureUsage.render_target | spy.TextureUsage.shader_resource, label="target")
    pipeline = device.create_render_pipeline(program=program, input_layout=input_layout, targets=[{"format": spy.Format.rgba32_float}], label="pipeline")
    angle = 0.3
    transform = spy.math.matrix_from_rotation_z(angle) if hasattr(spy.math, "matrix_from_rotation_z") else spy.float4x4.identity()
    encoder = device.create_command_encoder()
    with encoder.begin_render_pass({"color_attachments": [{"view": target.create_view({}), "clear_value": [0.0, 0.0, 0.0, 1.0], "load_op": spy.LoadOp.clear, "store_op": spy.StoreOp.store}]}) as pass_encoder:
        root = pass_encoder.bind_pipeline(pipeline)
        cursor = spy.ShaderCursor(root)
        cursor.Uniforms.transform = transform
        cursor.Uniforms.color = spy.float4(1, 0.5, 0.25, 1)
        pass_encoder.set_render_state({"viewports": [spy.Viewport.from_size(32, 24)], "scissor_rects": [spy.ScissorRect.from_size(32, 24)], "vertex_buffers": [vertex_buffer], "index_buffer": index_buffer, "index_format": spy.IndexFormat.uint32})
        pass_encoder.draw_indexed({"vertex_count": 3})
    device.submit_command_buffer(encoder.finish())
    return np.round(target.to_numpy(), 3)


@case
def program_fit_a_brdf(spy, device):
    m = from_file(spy, device, """
import slangpy;
struct Params : IDifferentiable { float3 albedo; float roughness; }
[Differentiable] float3 shade(no_diff float3 n, no_diff float3 l, no_diff float3 v, float3 albedo, float roughness)
{
    float3 h = normalize(l + v);
    float nh = max(dot(n, h), 0.001);
    float nl = max(dot(n, l), 0.0);
    float a = roughness * roughness;
    float d = nh * nh * (a * a - 1) + 1;
    return (albedo / 3.14159265 + a * a / (3.14159265 * d * d) * 0.04) * nl;
}
[Differentiable] float loss(no_diff float3 n, no_diff float3 l, no_diff float3 v, no_diff float3 wanted, float3 albedo, float roughness)
{
    float3 e = shade(n, l, v, albedo, roughness) - wanted;
    return dot(e, e);
}
""", "program_brdf")
    rng = np.random.default_rng(4)
    n = np.tile(np.array([0, 0, 1], np.float32), (64, 1))
    l, v = rng.random((64, 3)).astype(np.float32) + [0, 0, 0.5], rng.random((64, 3)).astype(np.float32) + [0, 0, 0.5]
    l, v = [(x / np.linalg.norm(x, axis=1, keepdims=True)).astype(np.float32) for x in (l, v)]
    wanted = m.shade(n, l, v, spy.float3(0.8, 0.4, 0.2), 0.4, _result="numpy")
    albedo = spy.Tensor.from_numpy(device, np.array([[0.5, 0.5, 0.5]], np.float32)).with_grads()
    rough = spy.Tensor.from_numpy(device, np.array([0.7], np.float32)).with_grads()
    a, r, losses = np.array([[0.5, 0.5, 0.5]], np.float32), np.array([0.7], np.float32), []
    for _ in range(12):
        result = m.loss(n, l, v, wanted, albedo, rough).with_grads()
        losses.append(float(result.to_numpy().sum()))
        result.grad.copy_from_numpy(np.ones(64, np.float32))
        m.loss.bwds(n, l, v, wanted, albedo, rough, result)
        a = a - 0.02 * albedo.grad.to_numpy().reshape(1, 3)
        r = r - 0.002 * rough.grad.to_numpy()
        albedo.copy_from_numpy(a.astype(np.float32))
        rough.copy_from_numpy(r.astype(np.float32))
        albedo.grad.clear()
        rough.grad.clear()
    return [np.round(wanted, 4), np.round(losses, 3), np.round(a, 3), np.round(r, 3)]


@case
def program_distance_field(spy, device):
    m = load(spy, device, """
import slangpy;
float circle(float2 p, float2 c, float r) { return length(p - c) - r; }
float box(float2 p, float2 c, float2 b) { float2 d = abs(p - c) - b; return length(max(d, 0)) + min(max(d.x, d.y), 0); }
float4 picture(uint2 pixel, uint2 size) {
    float2 p = (pixel + 0.5) / float2(size) * 2 - 1;
    float d = min(circle(p, float2(-0.3, 0.1), 0.4), box(p, float2(0.4, -0.2), float2(0.3, 0.2)));
    float3 c = d < 0 ? float3(0.9, 0.6, 0.3) : float3(0.65, 0.85, 1.0);
    c *= 1 - exp(-6 * abs(d));
    return float4(c, d);
}
""")
    tex = device.create_texture(format=spy.Format.rgba32_float, width=24, height=16, usage=spy.TextureUsage.shader_resource | spy.TextureUsage.unordered_access)
    m.picture(spy.call_id(), spy.uint2(24, 16), _result=tex)
    return [np.round(tex.to_numpy(), 3), np.round(m.picture(spy.grid((4, 6)), spy.uint2(6, 4), _result="numpy"), 3), np.round(m.circle(random(5, 2), spy.float2(0.5, 0.5), 0.25, _result="numpy"), 4)]


@case
def program_mandelbrot(spy, device):
    m = load(spy, device, """
import slangpy;
int iterations(float2 c, int most) { float2 z = 0; int i = 0; for (; i < most && dot(z, z) < 4; i++) z = float2(z.x * z.x - z.y * z.y, 2 * z.x * z.y) + c; return i; }
float3 mandelbrot(int2 pixel, int2 size, float2 center, float scale) { float2 c = center + (float2(pixel) / float2(size) - 0.5) * scale; int n = iterations(c, 32); return float3(n / 32.0, (n & 7) / 8.0, 0.25); }
""")
    a = m.mandelbrot(spy.grid((16, 24)), spy.int2(24, 16), spy.float2(-0.51, 0.013), 3.07, _result="numpy")
    t = spy.Tensor.empty(device, (16, 24), "float3")
    m.mandelbrot(spy.call_id(), spy.int2(24, 16), spy.float2(-0.51, 0.013), 3.07, _result=t)
    return [[a.shape, round(float(a.mean()), 1)], bool((t.to_numpy() == a).all()), m.iterations(spy.float2(0, 0), 10), m.iterations(spy.float2(2, 2), 10)]


@case
def program_blur(spy, device):
    m = load(spy, device, """
import slangpy;
float3 blur(int2 pixel, Tensor<float3, 2> image, int2 direction) {
    float weights[5] = { 0.0625, 0.25, 0.375, 0.25, 0.0625 };
    float3 sum = 0;
    int2 size = int2(image.shape[1], image.shape[0]);
    for (int i = 0; i < 5; i++) { int2 p = clamp(pixel + (i - 2) * direction, int2(0), size - 1); sum += weights[i] * image[p]; }
    return sum;
}
""")
    image = spy.Tensor.empty(device, (12, 10), "float3")
    image.copy_from_numpy(random(12, 10, 3))
    x = m.blur(spy.grid((12, 10)), image, spy.int2(1, 0))
    y = m.blur(spy.grid((12, 10)), x, spy.int2(0, 1))
    return [x.dtype.full_name, y.shape, np.round(y.to_numpy(), 4)]


@case
def program_mips_by_hand(spy, device):
    m = load(spy, device, """
import slangpy;
float4 downsample(int2 p, Texture2D<float4> source) { int2 q = 2 * p; return (source[q] + source[q + int2(1, 0)] + source[q + int2(0, 1)] + source[q + int2(1, 1)]) * 0.25; }
[Differentiable] float4 average(float4 a, float4 b, float4 c, float4 d) { return (a + b + c + d) * 0.25; }
""")
    t = device.create_texture(format=spy.Format.rgba32_float, width=16, height=16, mip_count=spy.ALL_MIPS, usage=spy.TextureUsage.shader_resource | spy.TextureUsage.unordered_access)
    t.copy_from_numpy(random(16, 16, 4))
    for mip in range(1, t.mip_count):
        m.downsample(spy.call_id(), t.create_view(mip=mip - 1, mip_count=1), _result=t.create_view(mip=mip, mip_count=1))
    return [t.mip_count, [np.round(t.to_numpy(mip=i), 4) for i in range(1, t.mip_count)]]


@case
def program_noise(spy, device):
    m = load(spy, device, """
import slangpy;
float3 noise(float3 x) { return x; }
float mixed(float a, uint h) { return a + (h & 255u); }
float2 pair(float2 r) { return r; }
""")
    t = device.create_texture(format=spy.Format.rgba32_float, width=8, height=8, usage=spy.TextureUsage.shader_resource | spy.TextureUsage.unordered_access)
    n = m.noise(spy.rand_float(seed=7), _result=spy.Tensor.empty(device, (4, 5), "float3"))
    return [n.to_numpy(), m.mixed(random(6), spy.wang_hash(seed=3), _result="numpy"), m.mixed(random(6), spy.wang_hash(seed=3, warmup=2), _result="numpy"), m.pair(spy.rand_float(-1, 1, dim=2, seed=4), _result=spy.Tensor.empty(device, (5,), "float2")).to_numpy(), t.width]


@case
def program_splats(spy, device):
    m = load(spy, device, """
import slangpy;
struct Splat : IDifferentiable { float2 center; float2 size; float3 color; }
[Differentiable] float3 splat(no_diff float2 p, DiffTensor<float, 2> splats, no_diff int count) {
    float3 sum = 0;
    [MaxIters(8)] for (int i = 0; i < count; i++) {
        float2 d = (p - float2(splats[{i, 0}], splats[{i, 1}])) * 8.0;
        sum += exp(-dot(d, d)) * float3(splats[{i, 2}], splats[{i, 3}], splats[{i, 4}]);
    }
    return sum;
}
[Differentiable] float loss(no_diff float2 p, no_diff float3 wanted, DiffTensor<float, 2> splats, no_diff int count) { float3 e = splat(p, splats, count) - wanted; return dot(e, e); }
""")
    ys, xs = np.meshgrid((np.arange(8) + 0.5) / 8, (np.arange(8) + 0.5) / 8, indexing="ij")
    p = np.stack([xs, ys], -1).astype(np.float32)
    true = spy.Tensor.from_numpy(device, random(4, 5)).with_grads()
    wanted = m.splat(p, true, 4, _result="numpy")
    x = random(4, 5, seed=2)
    s, losses = spy.Tensor.from_numpy(device, x).with_grads(), []
    for _ in range(10):
        r = m.loss(p, wanted, s, 4).with_grads()
        losses.append(float(r.to_numpy().sum()))
        r.grad_in.copy_from_numpy(np.ones((8, 8), np.float32))
        m.loss.bwds(p, wanted, s, 4, r)
        x = x - 0.005 * s.grad.to_numpy()
        s.copy_from_numpy(x.astype(np.float32))
        s.grad.clear()
    return [np.round(wanted, 4), np.round(losses, 2), np.round(x, 2)]


@case
def program_derivatives(spy, device):
    m = load(spy, device, """
import slangpy;
[Differentiable] float polynomial(float a, float b, float c, float x) { return a * x * x + b * x + c; }
""")
    x = spy.Tensor.from_numpy(device, np.array([1, 2, 3, 4], np.float32)).with_grads()
    r = m.polynomial(a=2, b=8, c=-1, x=x)
    r = r.with_grads()
    r.grad.copy_from_numpy(np.ones(4, np.float32))
    m.polynomial.bwds(a=2, b=8, c=-1, x=x, _result=r)
    y = spy.Tensor.zeros_like(x)
    return [r.to_numpy(), x.grad.to_numpy(), y.shape]


@case
def program_rays(spy, device):
    m = load(spy, device, """
import slangpy;
struct Ray { float3 o; float3 d; }
struct Camera { float3 position; float fov; Ray generate(int2 pixel, int2 size) { float2 p = ((pixel + 0.5) / float2(size) * 2 - 1) * fov; Ray r; r.o = position; r.d = normalize(float3(p, -1)); return r; } }
float sphere(Ray r, float4 s) { float3 oc = r.o - s.xyz; float b = dot(oc, r.d); float c = dot(oc, oc) - s.w * s.w; float h = b * b - c; return h < 0 ? -1 : -b - sqrt(h); }
float3 trace(int2 pixel, int2 size, Camera camera, StructuredBuffer<float4> spheres, int count) {
    Ray r = camera.generate(pixel, size); float best = 1e9; float3 c = float3(0.1, 0.2, 0.4);
    for (int i = 0; i < count; i++) { float t = sphere(r, spheres[i]); if (t > 0 && t < best) { best = t; float3 n = normalize(r.o + t * r.d - spheres[i].xyz); c = n * 0.5 + 0.5; } }
    return c;
}
""")
    s = device.create_buffer(element_count=2, struct_size=16, usage=spy.BufferUsage.shader_resource, data=np.array([[0, 0, -3, 1], [1, 0.5, -4, 1.2]], np.float32))
    camera = {"position": spy.float3(0, 0, 0), "fov": 0.9}
    a = m.trace(spy.grid((12, 16)), spy.int2(16, 12), camera, s, 2, _result="numpy")
    t = m.trace(spy.grid((12, 16)), spy.int2(16, 12), camera, s, 2, _result="texture") if False else None
    return [np.round(a, 2), t, m.Camera.generate(camera, spy.int2(3, 4), spy.int2(8, 8))]


@case
def program_instances(spy, device):
    m = load(spy, device, """
import slangpy;
struct Particle { float2 position; float2 velocity; void update(float dt) { position += dt * velocity; } __init(float2 p, float2 v) { position = p; velocity = v; } }
""".replace("void update", "[mutating] void update"))
    p = spy.InstanceList(m.Particle.as_struct(), {"position": spy.Tensor.empty(device, (4,), "float2"), "velocity": spy.Tensor.empty(device, (4,), "float2")})
    p.construct(random(4, 2), random(4, 2, seed=2))
    p.update(0.5)
    q = spy.InstanceTensor(m.Particle.as_struct(), (3,))
    q.construct(random(3, 2), spy.float2(1, 2))
    q.update(2.0)
    return [p.position.to_numpy(), p.velocity.to_numpy(), q.to_numpy().view(np.float32)]


@case
def program_game_of_life(spy, device):
    m = load(spy, device, """
import slangpy;
uint step(int2 p, Texture2D<uint> old) {
    int2 size; old.GetDimensions(size.x, size.y); uint n = 0;
    for (int y = -1; y <= 1; y++) for (int x = -1; x <= 1; x++) if (x != 0 || y != 0) n += old[(p + int2(x, y) + size) % size];
    return n == 3 || (n == 2 && old[p] == 1) ? 1 : 0;
}
""")
    u = spy.TextureUsage.shader_resource | spy.TextureUsage.unordered_access
    a, b = [device.create_texture(format=spy.Format.r8_uint, width=16, height=12, usage=u) for _ in range(2)]
    a.copy_from_numpy((random(12, 16) > 0.6).astype(np.uint8))
    for _ in range(5):
        m.step(spy.call_id(), a, _result=b)
        a, b = b, a
    return a


@case
def program_histogram(spy, device):
    m = load(spy, device, """
import slangpy;
void count(float4 pixel, RWStructuredBuffer<uint> bins) { uint i = min(uint(dot(pixel.rgb, 1.0 / 3) * 16), 15u); InterlockedAdd(bins[i], 1); }
""")
    t = device.create_texture(format=spy.Format.rgba32_float, width=16, height=16, usage=spy.TextureUsage.shader_resource, data=random(16, 16, 4))
    b = device.create_buffer(element_count=16, struct_size=4, usage=spy.BufferUsage.unordered_access | spy.BufferUsage.shader_resource, data=np.zeros(16, np.uint32))
    m.count(t, b)
    return int(b.to_numpy().view(np.uint32).sum())


@case
def program_neural_picture(spy, device):
    m = load(spy, device, """
import slangpy;
[Differentiable] float3 network(no_diff float2 uv, DiffTensor<float, 2> w1, DiffTensor<float, 1> b1, DiffTensor<float, 2> w2) {
    float h[8]; float3 o = 0;
    [ForceUnroll] for (int i = 0; i < 8; i++) { h[i] = max(0.0, w1[{i, 0}] * uv.x + w1[{i, 1}] * uv.y + b1[{i}]); }
    [ForceUnroll] for (int i = 0; i < 8; i++) { o += h[i] * float3(w2[{0, i}], w2[{1, i}], w2[{2, i}]); }
    return o;
}
[Differentiable] float loss(no_diff float2 uv, no_diff float3 wanted, DiffTensor<float, 2> w1, DiffTensor<float, 1> b1, DiffTensor<float, 2> w2) { float3 e = network(uv, w1, b1, w2) - wanted; return dot(e, e); }
""")
    T = spy.Tensor
    w1, b1, w2 = [T.from_numpy(device, random(*s, seed=i) - np.float32(0.5)).with_grads() for i, s in enumerate(((8, 2), (8,), (3, 8)))]
    uv, wanted = random(32, 2), random(32, 3)
    losses = []
    for _ in range(5):
        r = m.loss(uv, wanted, w1, b1, w2).with_grads()
        losses.append(float(r.to_numpy().mean()))
        r.grad.copy_from_numpy(np.full(32, 1 / 32, np.float32))
        m.loss.bwds(uv, wanted, w1, b1, w2, r)
        for t in (w1, b1, w2):
            t.copy_from_numpy((t.to_numpy() - 0.1 * t.grad.to_numpy()).astype(np.float32))
            t.grad.clear()
    return [np.round(losses, 4), np.round(w2.to_numpy(), 3)]


@case
def program_accumulate_and_tonemap(spy, device):
    m = load(spy, device, """
import slangpy;
float4 render(uint2 pixel, float jitter) { return float4(pixel, jitter, 1); }
void accumulate(float4 value, inout float4 sum, int frame) { sum = frame == 0 ? value : sum + value; }
float4 tonemap(float4 v, float exposure, int frames) { float3 c = v.rgb / frames * exposure; return float4(c / (1 + c), 1); }
""")
    u = spy.TextureUsage.shader_resource | spy.TextureUsage.unordered_access
    sum, out = [device.create_texture(format=spy.Format.rgba32_float, width=10, height=6, usage=u) for _ in range(2)]
    frame = device.create_texture(format=spy.Format.rgba32_float, width=10, height=6, usage=u)
    for i in range(4):
        e = device.create_command_encoder()
        m.render.append_to(e, spy.call_id(), i * 0.25, _result=frame)
        m.accumulate.append_to(e, frame, sum, i)
        m.tonemap.append_to(e, sum, 0.5, i + 1, _result=out)
        e.blit(out, out) if False else None
        device.submit_command_buffer(e.finish())
    return [sum, np.round(out.to_numpy(), 5), np.array(out.to_bitmap().convert(component_type=spy.Bitmap.ComponentType.uint8, srgb_gamma=True))]


@case
def program_ray_tracing_pipeline_is_asked_for(spy, device):
    m = load(spy, device, "[shader(\"raygeneration\")] void rgen() { }")
    return [m.device_module.name != "", [e.name for e in m.device_module.entry_points if e.name == "rgen"], error(lambda: len(spy.AccelerationStructureInstanceDesc().to_numpy()) if hasattr(spy, "AccelerationStructureInstanceDesc") else 64)]


@case
def program_specialised_types(spy, device):
    m = load(spy, device, """
import slangpy;
interface IShape { float distance(float2 p); }
struct Circle : IShape { float r; float distance(float2 p) { return length(p) - r; } }
struct Square : IShape { float s; float distance(float2 p) { float2 d = abs(p) - s; return max(d.x, d.y); } }
float sample<S : IShape>(float2 p, S s) { return s.distance(p); }
float field(float2 p, IShape s) { return s.distance(p); }
""")
    p = random(6, 2)
    return [m.sample(p, {"_type": "Circle", "r": 0.5}, _result="numpy"), m.sample(p, {"_type": "Square", "s": 0.5}, _result="numpy"), m["sample<Circle>"](p, {"_type": "Circle", "r": 0.25}, _result="numpy"), error(lambda: m.field(p, {"_type": "Square", "s": 0.25}, _result="numpy"))]


@case
def program_textures_and_compute_chain(spy, device):
    source = """
Texture2D<float4> input; RWTexture2D<float4> output; cbuffer Params { float gamma; int2 size; }
[shader("compute")] [numthreads(8, 8, 1)] void apply(uint3 tid : SV_DispatchThreadID) { if (any(int2(tid.xy) >= size)) return; output[tid.xy] = float4(pow(input[tid.xy].rgb, gamma), 1); }
[shader("compute")] [numthreads(8, 8, 1)] void flip(uint3 tid : SV_DispatchThreadID) { if (any(int2(tid.xy) >= size)) return; output[tid.xy] = input[int2(size.x - 1 - tid.x, tid.y)]; }
"""
    m = device.load_module_from_source("program_chain", source)
    kernels = [device.create_compute_kernel(device.link_program([m], [m.entry_point(n)])) for n in ("apply", "flip")]
    a, b = [device.create_texture(format=spy.Format.rgba32_float, width=12, height=9, usage=spy.TextureUsage.shader_resource | spy.TextureUsage.unordered_access) for _ in range(2)]
    a.copy_from_numpy(random(9, 12, 4))
    e = device.create_command_encoder()
    for i, k in enumerate(kernels):
        k.dispatch([12, 9, 1], vars={"input": a if i == 0 else b, "output": b if i == 0 else a, "Params": {"gamma": 2.2, "size": spy.int2(12, 9)}}, command_encoder=e)
    device.submit_command_buffer(e.finish())
    return np.round(a.to_numpy(), 4)

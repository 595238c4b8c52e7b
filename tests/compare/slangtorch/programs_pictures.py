"""Programs of graphics and learning: rasterisers, samplers, splats, networks, filters, fits."""
import math

import torch

from themes import Theme, arange, each, line, noise, plane, tensor, zeros

SOFT = Theme("soft")


@SOFT.program("""
struct Camera { float2 o; float2 scale; float2 frameDim; float2 screenToWorld(float2 uv) { float2 xy = uv / frameDim; float2 ndc = xy * 2.0 - 1.0; return ndc * scale + o; } }
[Differentiable] float edge_distance(float2 v1, float2 v2, float2 p) { float2 e = v2 - v1, d = p - v1; return (e.x * d.y - e.y * d.x) / sqrt(e.x * e.x + e.y * e.y + 0.0001); }
[Differentiable] float inside(float2 a, float2 b, float2 c, float2 p, no_diff float sharp)
{
    float d = min(min(edge_distance(a, b, p), edge_distance(b, c, p)), edge_distance(c, a, p));
    return 1.0 / (1.0 + exp(-d * sharp));
}
[AutoPyBindCUDA] [CUDAKernel] [Differentiable]
void rasterize(no_diff Camera camera, DiffTensorView vertices, DiffTensorView color, DiffTensorView output)
{
    uint3 globalIdx = cudaBlockIdx() * cudaBlockDim() + cudaThreadIdx();
    if (globalIdx.x > output.size(0) - 1 || globalIdx.y > output.size(1) - 1) return;
    float2 p = no_diff camera.screenToWorld(float2(globalIdx.xy));
    float2 v1 = float2(vertices[uint2(0, 0)], vertices[uint2(0, 1)]);
    float2 v2 = float2(vertices[uint2(1, 0)], vertices[uint2(1, 1)]);
    float2 v3 = float2(vertices[uint2(2, 0)], vertices[uint2(2, 1)]);
    float hit = inside(v1, v2, v3, p, 8.0);
    [ForceUnroll]
    for (uint k = 0; k < 3; k++) output[uint3(globalIdx.xy, k)] = hit * color[k] + (1 - hit) * 0.1;
}
""")
def soft_triangle(m):
    camera = m.Camera(o=(0.0, 0.0), scale=(1.0, 1.0), frameDim=(16.0, 16.0))
    vertices, color = tensor([[-0.6, -0.6], [0.7, -0.5], [0.1, 0.8]]), tensor([0.9, 0.5, 0.2])
    blocks = {"blockSize": (4, 4, 1), "gridSize": (4, 4, 1)}

    class Raster(torch.autograd.Function):
        @staticmethod
        def forward(ctx, vertices, color):
            output = torch.zeros((16, 16, 3), device="cuda")
            m.rasterize(camera=camera, vertices=vertices, color=color, output=output).launchRaw(**blocks)
            ctx.save_for_backward(vertices, color, output)
            return output

        @staticmethod
        def backward(ctx, grad):
            vertices, color, output = ctx.saved_tensors
            gv, gc = torch.zeros_like(vertices), torch.zeros_like(color)
            m.rasterize.bwd(camera=camera, vertices=(vertices, gv), color=(color, gc), output=(output, grad.contiguous())).launchRaw(**blocks)
            return gv, gc

    def gradients():
        v, c = vertices.clone().requires_grad_(), color.clone().requires_grad_()
        (Raster.apply(v, c) * noise(16, 16, 3)).sum().backward()
        return [v.grad, c.grad]

    def fit():
        target = Raster.apply(vertices, color).detach()
        v = (vertices + tensor([[0.1, 0.1], [-0.1, 0.05], [0.05, -0.1]])).requires_grad_()
        optimizer, losses = torch.optim.SGD([v], lr=0.02), []
        for _ in range(20):
            optimizer.zero_grad()
            loss = ((Raster.apply(v, color) - target) ** 2).sum()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        return [losses[0] > losses[-1], round(losses[-1], 3)]

    return each(image=lambda: Raster.apply(vertices, color), gradients=gradients, fit=fit)


SAMPLER = Theme("sampler")


@SAMPLER.program("""
[Differentiable]
float3 texel(DiffTensorView texture, int2 p)
{
    uint x = uint(clamp(p.x, 0, int(texture.size(1)) - 1)), y = uint(clamp(p.y, 0, int(texture.size(0)) - 1));
    return float3(texture[y, x, 0], texture[y, x, 1], texture[y, x, 2]);
}
[Differentiable]
float3 bilinear(DiffTensorView texture, float2 uv)
{
    float2 p = uv * float2(texture.size(1), texture.size(0)) - 0.5;
    float2 corner = no_diff floor(p);
    int2 i = int2(corner);
    float2 f = p - float2(i);
    float3 top = lerp(texel(texture, i), texel(texture, i + int2(1, 0)), f.x);
    float3 bottom = lerp(texel(texture, i + int2(0, 1)), texel(texture, i + int2(1, 1)), f.x);
    return lerp(top, bottom, f.y);
}
[AutoPyBindCUDA] [CUDAKernel] [Differentiable]
void sample(DiffTensorView texture, DiffTensorView uvs, DiffTensorView output)
{
    uint i = cudaThreadIdx().x + cudaBlockIdx().x * cudaBlockDim().x;
    if (i >= uvs.size(0)) return;
    float3 c = bilinear(texture, float2(uvs[i, 0], uvs[i, 1]));
    output[i, 0] = c.x;
    output[i, 1] = c.y;
    output[i, 2] = c.z;
}
""")
def bilinear_sampler(m):
    texture, uvs = noise(6, 5, 3), noise(40, 2, seed=9) * 1.2 - 0.1

    def bwd():
        gt, gu, out = torch.zeros_like(texture), torch.zeros_like(uvs), zeros(40, 3)
        line(m.sample.bwd(texture=(texture, gt), uvs=(uvs, gu), output=(out, noise(40, 3, seed=4))), 40)
        return [gt, gu]

    out = zeros(40, 3)
    return each(fwd=lambda: line(m.sample(texture=texture, uvs=uvs, output=out), 40) or out, bwd=bwd)


SPLATS = Theme("splats")


@SPLATS.program("""
struct Splat : IDifferentiable { float2 center; float2 scale; float angle; float opacity; float3 color; };
[Differentiable]
Splat load_splat(DiffTensorView splats, uint i)
{
    Splat s;
    s.center = float2(splats[i, 0], splats[i, 1]);
    s.scale = float2(splats[i, 2], splats[i, 3]);
    s.angle = splats[i, 4];
    s.opacity = splats[i, 5];
    s.color = float3(splats[i, 6], splats[i, 7], splats[i, 8]);
    return s;
}
[Differentiable]
float alpha_of(Splat s, float2 p)
{
    float2 d = p - s.center;
    float2 r = float2(cos(s.angle) * d.x + sin(s.angle) * d.y, -sin(s.angle) * d.x + cos(s.angle) * d.y) / s.scale;
    return s.opacity * exp(-0.5 * dot(r, r));
}
[Differentiable]
float4 composite(DiffTensorView splats, float2 p)
{
    float4 total = float4(0, 0, 0, 1);
    [MaxIters(8)]
    for (uint i = 0; i < splats.size(0); i++)
    {
        Splat s = load_splat(splats, i);
        float a = alpha_of(s, p);
        total = float4(total.xyz + s.color * a * total.w, total.w * (1 - a));
    }
    return total;
}
[AutoPyBindCUDA] [CUDAKernel] [Differentiable]
void render(DiffTensorView splats, DiffTensorView image)
{
    uint2 p = (cudaThreadIdx() + cudaBlockIdx() * cudaBlockDim()).xy;
    if (p.x >= image.size(1) || p.y >= image.size(0)) return;
    float4 c = composite(splats, (float2(p) + 0.5) / float2(image.size(1), image.size(0)));
    image.storeOnce(uint3(p.y, p.x, 0), c.x);
    image.storeOnce(uint3(p.y, p.x, 1), c.y);
    image.storeOnce(uint3(p.y, p.x, 2), c.z);
}
""")
def gaussian_splats(m):
    splats = torch.cat([noise(5, 2, seed=1), noise(5, 2, seed=2) * 0.2 + 0.1, noise(5, 1, seed=3) * 3, noise(5, 1, seed=4) * 0.8, noise(5, 3, seed=5)], dim=1)

    def forward():
        image = zeros(12, 16, 3)
        plane(m.render(splats=splats, image=image), 16, 12)
        return image

    def backward():
        image, g = zeros(12, 16, 3), torch.zeros_like(splats)
        plane(m.render.bwd(splats=(splats, g), image=(image, noise(12, 16, 3, seed=8))), 16, 12)
        return g

    return each(image=forward, gradient=backward)


MLP = Theme("mlp", defines={"WIDTH": 16})


@MLP.program("""
struct Features<let N : int> : IDifferentiable { float values[N]; }
struct Linear<let I : int, let O : int>
{
    DiffTensorView weights;
    DiffTensorView biases;
    [Differentiable]
    Features<O> eval(Features<I> x)
    {
        Features<O> y;
        [MaxIters(O)]
        for (int i = 0; i < O; i++)
        {
            float sum = biases[uint(i)];
            [MaxIters(I)]
            for (int k = 0; k < I; k++) sum += weights[uint2(i, k)] * x.values[k];
            y.values[i] = sum;
        }
        return y;
    }
}
[Differentiable]
Features<N> relu<let N : int>(Features<N> x)
{
    Features<N> y;
    [MaxIters(N)]
    for (int i = 0; i < N; i++) y.values[i] = max(x.values[i], 0.0);
    return y;
}
[AutoPyBindCUDA] [CUDAKernel] [Differentiable]
void network(Linear<2, WIDTH> first, Linear<WIDTH, 1> second, TensorView<float> input, DiffTensorView output)
{
    uint i = cudaThreadIdx().x + cudaBlockIdx().x * cudaBlockDim().x;
    if (i >= input.size(0)) return;
    Features<2> x;
    x.values[0] = input[i, 0];
    x.values[1] = input[i, 1];
    output[i] = second.eval(relu(first.eval(x))).values[0];
}
""")
def network_by_hand(m):
    w1, b1, w2, b2 = (noise(16, 2) - 0.5) * 2, noise(16, seed=2) - 0.5, (noise(1, 16, seed=3) - 0.5), zeros(1)
    x = noise(64, 2, seed=4)
    target = (x[:, 0] * x[:, 1]).contiguous()

    def forward(p):
        y = zeros(64)
        line(m.network(first=(p[0], p[1]), second={"weights": p[2], "biases": p[3]}, input=x, output=y), 64)
        return y

    class Network(torch.autograd.Function):
        @staticmethod
        def forward(ctx, *p):
            y = forward(p)
            ctx.save_for_backward(*p, y)
            return y

        @staticmethod
        def backward(ctx, grad):
            *p, y = ctx.saved_tensors
            g = [torch.zeros_like(t) for t in p]
            line(m.network.bwd(first=((p[0], g[0]), (p[1], g[1])), second=((p[2], g[2]), (p[3], g[3])), input=x, output=(y, grad.contiguous())), 64)
            return tuple(g)

    def gradients():
        p = [t.clone().requires_grad_() for t in (w1, b1, w2, b2)]
        ((Network.apply(*p) - target) ** 2).mean().backward()
        return [t.grad for t in p]

    def train():
        p = [torch.nn.Parameter(t.clone()) for t in (w1, b1, w2, b2)]
        optimizer, losses = torch.optim.Adam(p, lr=0.02), []
        for _ in range(40):
            optimizer.zero_grad()
            loss = ((Network.apply(*p) - target) ** 2).mean()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        return [round(losses[0], 3), losses[-1] < losses[0] * 0.3]

    return each(forward=lambda: forward((w1, b1, w2, b2)), right=lambda: float((forward((w1, b1, w2, b2)) - (torch.relu(x @ w1.t() + b1) @ w2.t() + b2)[:, 0]).abs().max()) < 1e-4, gradients=gradients, train=train)


BRDF = Theme("brdf")


@BRDF.program("""
struct Material : IDifferentiable { float3 albedo; float roughness; float metallic; };
[Differentiable] float ggx(float nh, float a) { float a2 = a * a; float d = nh * nh * (a2 - 1) + 1; return a2 / (3.14159265 * d * d); }
[Differentiable] float smith(float nv, float nl, float a) { float k = (a + 1) * (a + 1) / 8; return (nv / (nv * (1 - k) + k)) * (nl / (nl * (1 - k) + k)); }
[Differentiable] float3 fresnel(float3 f0, float vh) { return f0 + (1 - f0) * pow(1 - vh, 5.0); }
[Differentiable]
float3 shade(Material m, no_diff float3 n, no_diff float3 v, no_diff float3 l)
{
    float3 h = normalize(v + l);
    float nv = max(dot(n, v), 0.01), nl = max(dot(n, l), 0.01), nh = max(dot(n, h), 0.01), vh = max(dot(v, h), 0.01);
    float a = m.roughness * m.roughness;
    float3 f = fresnel(lerp(float3(0.04), m.albedo, m.metallic), vh);
    float3 specular = f * ggx(nh, a) * smith(nv, nl, m.roughness) / (4 * nv * nl);
    return ((1 - f) * (1 - m.metallic) * m.albedo / 3.14159265 + specular) * nl;
}
[AutoPyBindCUDA] [CUDAKernel] [Differentiable]
void brdf(DiffTensorView materials, TensorView<float3> normals, TensorView<float3> lights, no_diff float3 view, DiffTensorView output)
{
    uint i = cudaThreadIdx().x + cudaBlockIdx().x * cudaBlockDim().x;
    if (i >= normals.size(0)) return;
    Material m;
    m.albedo = float3(materials[i, 0], materials[i, 1], materials[i, 2]);
    m.roughness = materials[i, 3];
    m.metallic = materials[i, 4];
    float3 c = shade(m, normals[i], normalize(view), normalize(lights[i]));
    output[i, 0] = c.x; output[i, 1] = c.y; output[i, 2] = c.z;
}
""")
def brdf_fit(m):
    materials = noise(20, 5) * 0.8 + 0.1
    normals = torch.nn.functional.normalize(noise(20, 3, seed=2) + tensor([0.0, 0.0, 1.0]), dim=1)
    lights = noise(20, 3, seed=3) + 0.2

    class Brdf(torch.autograd.Function):
        @staticmethod
        def forward(ctx, materials):
            out = torch.zeros(20, 3, device="cuda")
            line(m.brdf(materials=materials, normals=normals, lights=lights, view=(0.1, 0.2, 1.0), output=out), 20, 32)
            ctx.save_for_backward(materials, out)
            return out

        @staticmethod
        def backward(ctx, grad):
            materials, out = ctx.saved_tensors
            g = torch.zeros_like(materials)
            line(m.brdf.bwd(materials=(materials, g), normals=normals, lights=lights, view=(0.1, 0.2, 1.0), output=(out, grad.contiguous())), 20, 32)
            return g

    def gradient():
        x = materials.clone().requires_grad_()
        Brdf.apply(x).square().sum().backward()
        return x.grad

    def fit():
        target = Brdf.apply(materials)
        x = torch.full((20, 5), 0.5, device="cuda", requires_grad=True)
        optimizer, losses = torch.optim.Adam([x], lr=0.02), []
        for _ in range(30):
            optimizer.zero_grad()
            loss = torch.nn.functional.mse_loss(Brdf.apply(x.clamp(0.05, 0.95)), target)
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        return [round(losses[0], 4), losses[-1] < losses[0]]

    return each(colors=lambda: Brdf.apply(materials), gradient=gradient, fit=fit)


FILTERS = Theme("filters")


@FILTERS.program("""
static const int kRadius = 2;
groupshared float halo[12][12];
[AutoPyBindCUDA] [CudaKernel]
void convolve(TensorView<float> image, TensorView<float> weights, TensorView<float> output)
{
    int2 t = int2(cudaThreadIdx().xy), base = int2(cudaBlockIdx().xy) * 8 - kRadius;
    for (int y = t.y; y < 12; y += 8)
        for (int x = t.x; x < 12; x += 8)
        {
            int2 p = clamp(base + int2(x, y), int2(0), int2(image.size(1), image.size(0)) - 1);
            halo[y][x] = image[uint(p.y), uint(p.x)];
        }
    AllMemoryBarrierWithGroupSync();
    int2 o = int2(cudaBlockIdx().xy) * 8 + t;
    if (o.x >= int(image.size(1)) || o.y >= int(image.size(0))) return;
    float sum = 0;
    for (int y = 0; y < 5; y++)
        for (int x = 0; x < 5; x++) sum += halo[t.y + y][t.x + x] * weights[uint(y), uint(x)];
    output[uint(o.y), uint(o.x)] = sum;
}
""")
def convolution_with_halo(m):
    image, weights, out = noise(19, 27), noise(5, 5, seed=2), zeros(19, 27)
    padded = torch.nn.functional.pad(image[None, None], (2, 2, 2, 2), mode="replicate")

    def run():
        m.convolve(image=image, weights=weights, output=out).launchRaw(blockSize=(8, 8, 1), gridSize=(4, 3, 1))
        return out

    return each(run=run, right=lambda: float((run() - torch.nn.functional.conv2d(padded, weights[None, None])[0, 0]).abs().max()) < 1e-4)


@FILTERS.program("""
[AutoPyBindCUDA] [CudaKernel] [Differentiable]
void blur_rows(DiffTensorView image, no_diff float taps[3], DiffTensorView output)
{
    uint2 p = (cudaThreadIdx() + cudaBlockIdx() * cudaBlockDim()).xy;
    if (p.x >= image.size(0) || p.y >= image.size(1)) return;
    float sum = 0;
    [ForceUnroll]
    for (int k = -1; k <= 1; k++)
    {
        int y = clamp(int(p.y) + k, 0, int(image.size(1)) - 1);
        sum += image[p.x, uint(y)] * taps[k + 1];
    }
    output[p] = sum;
}
""")
def differentiable_blur(m):
    image, out, g = noise(5, 9), zeros(5, 9), zeros(5, 9)
    return each(fwd=lambda: plane(m.blur_rows(image=image, taps=(0.25, 0.5, 0.25), output=out), 5, 9) or out, bwd=lambda: plane(m.blur_rows.bwd(image=(image, g), taps=(0.25, 0.5, 0.25), output=(out, noise(5, 9, seed=3))), 5, 9) or g)


TRACE = Theme("trace", defines={"MAX_STEPS": 40})


@TRACE.program("""
interface ISdf { float eval(float3 p); }
struct Ball : ISdf { float3 center; float radius; float eval(float3 p) { return length(p - center) - radius; } }
struct Floor : ISdf { float height; float eval(float3 p) { return p.y - height; } }
struct Either<A : ISdf, B : ISdf> : ISdf { A a; B b; float eval(float3 p) { return min(a.eval(p), b.eval(p)); } }
float sphereTrace<let N : int, S : ISdf>(S sdf, float3 o, float3 d)
{
    float t = 0;
    for (int i = 0; i < N; i++)
    {
        float h = sdf.eval(o + d * t);
        if (h < 0.001 || t > 20) break;
        t += h;
    }
    return t;
}
[AutoPyBindCUDA] [CudaKernel]
void trace(Either<Ball, Floor> scene, TensorView<float> depth)
{
    uint2 p = (cudaThreadIdx() + cudaBlockIdx() * cudaBlockDim()).xy;
    if (p.x >= depth.size(1) || p.y >= depth.size(0)) return;
    float2 uv = (float2(p) + 0.5) / float2(depth.size(1), depth.size(0)) * 2 - 1;
    depth[p.y, p.x] = min(sphereTrace<MAX_STEPS>(scene, float3(0, 0.5, -3), normalize(float3(uv.x, -uv.y, 1.5))), 20);
}
""")
def sphere_tracer(m):
    depth = zeros(12, 16)
    return each(run=lambda: plane(m.trace(scene=(((0.0, 0.2, 0.0), 0.8), (-0.6,)), depth=depth), 16, 12) or depth, dicts=lambda: plane(m.trace(scene={"a": {"center": (0.3, 0.2, 0.0), "radius": 0.5}, "b": {"height": -0.5}}, depth=depth), 16, 12) or depth)


PARTICLES = Theme("particles")


@PARTICLES.program("""
struct World { float dt; float gravity; float2 low; float2 high; };
[AutoPyBindCUDA] [CudaKernel]
void step(World world, TensorView<float2> positions, TensorView<float2> velocities, TensorView<int> hits)
{
    uint i = cudaThreadIdx().x + cudaBlockIdx().x * cudaBlockDim().x;
    if (i >= positions.size(0)) return;
    float2 v = velocities[i], p = positions[i];
    v.y -= world.gravity * world.dt;
    p += v * world.dt;
    bool hit = false;
    [unroll]
    for (int k = 0; k < 2; k++)
        if (p[k] < world.low[k] || p[k] > world.high[k]) { v[k] = -v[k] * 0.8; p[k] = clamp(p[k], world.low[k], world.high[k]); hit = true; }
    velocities[i] = v;
    positions[i] = p;
    int old;
    if (hit) hits.InterlockedAdd(uint(0), 1, old);
}
[AutoPyBindCUDA] [CudaKernel]
void splat_grid(TensorView<float2> positions, TensorView<float> grid)
{
    uint i = cudaThreadIdx().x + cudaBlockIdx().x * cudaBlockDim().x;
    if (i >= positions.size(0)) return;
    float2 p = positions[i] * float2(grid.size(0) - 1, grid.size(1) - 1);
    uint2 c = uint2(p);
    float2 f = frac(p);
    float old;
    grid.InterlockedAdd(c, (1 - f.x) * (1 - f.y), old);
    grid.InterlockedAdd(min(c + uint2(1, 0), uint2(grid.size(0) - 1, grid.size(1) - 1)), f.x * (1 - f.y), old);
    grid.InterlockedAdd(min(c + uint2(0, 1), uint2(grid.size(0) - 1, grid.size(1) - 1)), (1 - f.x) * f.y, old);
    grid.InterlockedAdd(min(c + 1, uint2(grid.size(0) - 1, grid.size(1) - 1)), f.x * f.y, old);
}
""")
def particles_and_grid(m):
    positions, velocities, hits, grid = noise(100, 2), noise(100, 2, seed=2) - 0.5, zeros(1, dtype=torch.int32), zeros(4, 6)

    def simulate():
        for _ in range(50):
            line(m.step(world=m.World(dt=0.02, gravity=1.0, low=(0.0, 0.0), high=(1.0, 1.0)), positions=positions, velocities=velocities, hits=hits), 100)
        return positions

    return each(positions=simulate, hits=lambda: hits, grid=lambda: line(m.splat_grid(positions=positions, grid=grid), 100) or grid, sum=lambda: round(float(grid.sum()), 3))


TRANSFORM = Theme("transform")


@TRANSFORM.program("""
[Differentiable]
float4 load_row(DiffTensorView t, uint b, uint r) { return float4(t[b, r, 0], t[b, r, 1], t[b, r, 2], t[b, r, 3]); }
[AutoPyBindCUDA] [CudaKernel] [Differentiable]
void transform_points(DiffTensorView points, DiffTensorView matrices, DiffTensorView output)
{
    uint3 at = cudaThreadIdx() + cudaBlockIdx() * cudaBlockDim();
    uint b = at.y, i = at.x;
    if (b >= points.size(0) || i >= points.size(1)) return;
    float4x4 m = float4x4(load_row(matrices, b, 0), load_row(matrices, b, 1), load_row(matrices, b, 2), load_row(matrices, b, 3));
    float4 p = mul(m, float4(points[b, i, 0], points[b, i, 1], points[b, i, 2], 1));
    output[b, i, 0] = p.x / p.w;
    output[b, i, 1] = p.y / p.w;
    output[b, i, 2] = p.z / p.w;
}
""")
def batched_transform(m):
    points, matrices = noise(2, 10, 3), torch.eye(4, device="cuda").repeat(2, 1, 1) + noise(2, 4, 4, seed=3) * 0.2
    size = {"blockSize": (16, 2, 1), "gridSize": (1, 1, 1)}

    def forward():
        out = zeros(2, 10, 3)
        m.transform_points(points=points, matrices=matrices, output=out).launchRaw(**size)
        return out

    def backward():
        gp, gm = torch.zeros_like(points), torch.zeros_like(matrices)
        m.transform_points.bwd(points=(points, gp), matrices=(matrices, gm), output=(zeros(2, 10, 3), torch.ones(2, 10, 3, device="cuda"))).launchRaw(**size)
        return [gp, gm]

    def reference():
        p, k = points.clone().requires_grad_(), matrices.clone().requires_grad_()
        h = torch.cat([p, torch.ones(2, 10, 1, device="cuda")], dim=2) @ k.transpose(1, 2)
        (h[..., :3] / h[..., 3:]).sum().backward()
        gp, gm = backward()
        return [torch.allclose(gp, p.grad, atol=1e-4), torch.allclose(gm, k.grad, atol=1e-3)]

    return each(forward=forward, backward=backward, right=reference)


HARMONICS = Theme("harmonics")


@HARMONICS.program("""
[Differentiable]
float3 evaluate_sh(float3 sh[4], no_diff float3 d) { return 0.28209479 * sh[0] - 0.48860251 * d.y * sh[1] + 0.48860251 * d.z * sh[2] - 0.48860251 * d.x * sh[3]; }
[Differentiable]
float3 color_of(DiffTensorView coefficients, uint i, no_diff float3 d)
{
    float3 sh[4];
    [ForceUnroll]
    for (uint k = 0; k < 4; k++) sh[k] = float3(coefficients[i, k, 0], coefficients[i, k, 1], coefficients[i, k, 2]);
    return max(evaluate_sh(sh, d) + 0.5, 0.0);
}
[AutoPyBindCUDA] [CudaKernel]
void sh_forward(DiffTensorView coefficients, TensorView<float3> directions, TensorView<float3> colors)
{
    uint i = cudaThreadIdx().x + cudaBlockIdx().x * cudaBlockDim().x;
    if (i < directions.size(0)) colors[i] = color_of(coefficients, i, normalize(directions[i]));
}
[AutoPyBindCUDA] [CudaKernel]
void sh_backward(DiffTensorView coefficients, TensorView<float3> directions, TensorView<float3> gradients)
{
    uint i = cudaThreadIdx().x + cudaBlockIdx().x * cudaBlockDim().x;
    if (i < directions.size(0)) bwd_diff(color_of)(coefficients, i, normalize(directions[i]), gradients[i]);
}
""")
def spherical_harmonics(m):
    c, d, out = noise(30, 4, 3) - 0.5, noise(30, 3, seed=2) - 0.5, zeros(30, 3)
    g = torch.zeros_like(c)
    return each(fwd=lambda: line(m.sh_forward(coefficients=c, directions=d, colors=out), 30) or out, pair=lambda: line(m.sh_forward(coefficients=(c, torch.zeros_like(c)), directions=d, colors=out), 30) or out,
                bwd=lambda: line(m.sh_backward(coefficients=(c, g), directions=d, gradients=noise(30, 3, seed=7)), 30) or g, right=lambda: math.isfinite(float(g.sum())), same=lambda: bool((arange(3) == arange(3)).all()))

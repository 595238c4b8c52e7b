"""Derivatives written by hand, torch.autograd.Function with several outputs, gradcheck, training loops, streams and CUDA graphs."""
import torch

from themes import Theme, arange, dry, each, line, noise, plane, tensor, zeros

HAND_WRITTEN = Theme("hand_written")


@HAND_WRITTEN.program("""
struct Material : IDifferentiable { float rough; float metal; };
[BackwardDerivative(shade_bwd)]
float shade(Material m, float cosine, no_diff float gain) { return m.rough * cosine * gain + m.metal; }
void shade_bwd(inout DifferentialPair<Material> m, inout DifferentialPair<float> cosine, float gain, float d)
{
    Material.Differential dm;
    dm.rough = 10 * d * cosine.p;
    dm.metal = 100 * d;
    m = diffPair(m.p, dm);
    cosine = diffPair(cosine.p, d * gain);
}
[AutoPyBindCUDA] [CudaKernel] [Differentiable]
void shade_all(DiffTensorView materials, DiffTensorView cosines, no_diff float gain, DiffTensorView y)
{
    uint i = cudaThreadIdx().x;
    if (i >= cosines.size(0)) return;
    Material m = { materials[i, 0], materials[i, 1] };
    y[i] = shade(m, cosines[i], gain);
}
""")
def backward_of_a_struct(m):
    materials, cosines = noise(5, 2), noise(5, seed=2)

    def bwd():
        gm, gc, y = zeros(5, 2), zeros(5), zeros(5)
        line(m.shade_all.bwd(materials=(materials, gm), cosines=(cosines, gc), gain=2.0, y=(y, arange(5, start=1))), 5)
        return [gm, gc]

    return each(plain=lambda: (lambda y: line(m.shade_all(materials=materials, cosines=cosines, gain=2.0, y=y), 5) or y)(zeros(5)), bwd=bwd)


FORWARD = Theme("forward_only")


@FORWARD.program("""
[ForwardDerivative(steep_fwd)]
float steep(float x) { return x > 0 ? 1 : 0; }
DifferentialPair<float> steep_fwd(DifferentialPair<float> x) { return diffPair(steep(x.p), x.d * 3); }
[AutoPyBindCUDA] [CudaKernel] [ForwardDifferentiable]
void steps_of(DiffTensorView x, DiffTensorView y) { uint i = cudaThreadIdx().x; if (i < x.size(0)) y[i] = steep(x[i]) * x[i]; }
""")
def forward_of_a_function(m):
    x = arange(6, start=-2)

    def fwd():
        y, dy = zeros(6), zeros(6)
        line(m.steps_of.fwd(x=(x, torch.ones(6, device="cuda")), y=(y, dy)), 6)
        return [y, dy]

    return each(fwd=fwd, bwd=lambda: line(m.steps_of.bwd(x=(x, zeros(6)), y=(zeros(6), zeros(6))), 6))


@HAND_WRITTEN.program("""
[Differentiable] float leaky(float x, no_diff float slope) { return x > 0 ? x : x * slope; }
[Differentiable] float horner(float x, int n)
{
    float sum = 0;
    [MaxIters(6)]
    for (int i = 0; i < n; i++)
    {
        if (i == 3) sum = sum * no_diff(cos(x)) + 1;
        else sum = sum * x + detach(x);
    }
    return sum;
}
[AutoPyBindCUDA] [CudaKernel] [Differentiable]
void branches(DiffTensorView x, no_diff int n, DiffTensorView y)
{
    uint i = cudaThreadIdx().x;
    if (i >= x.size(0)) return;
    y[i] = leaky(horner(x[i], n), 0.1);
}
""")
def loops_and_constants(m):
    x = tensor([-1.5, -0.5, 0.0, 0.5, 1.0, 2.0])

    def go(n):
        y, g = zeros(6), zeros(6)
        line(m.branches(x=x, n=n, y=y), 6)
        line(m.branches.bwd(x=(x, g), n=n, y=(y, torch.ones(6, device="cuda"))), 6)
        return [y, g]

    return each(one=lambda: go(1), three=lambda: go(3), six=lambda: go(6))


NESTED_PAIRS = Theme("nested_pairs")


@NESTED_PAIRS.program("""
struct Dense { DiffTensorView weight; DiffTensorView bias; };
struct Net { Dense first; Dense second; float gain; };
[Differentiable] float row_of(Dense d, float x, float y, uint i) { return d.weight[i, 0] * x + d.weight[i, 1] * y + d.bias[i]; }
[AutoPyBindCUDA] [CudaKernel] [Differentiable]
void run_net(Net net, DiffTensorView x, DiffTensorView y)
{
    uint i = cudaThreadIdx().x + cudaBlockIdx().x * cudaBlockDim().x;
    if (i >= x.size(0)) return;
    float a = tanh(row_of(net.first, x[i, 0], x[i, 1], 0)), b = tanh(row_of(net.first, x[i, 0], x[i, 1], 1));
    y[i] = row_of(net.second, a, b, 0) * net.gain;
}
""")
def pairs_in_nested_structs(m):
    w1, b1, w2, b2, x = noise(2, 2), noise(2, seed=2), noise(1, 2, seed=3), noise(1, seed=4), noise(9, 2, seed=5)

    def fwd(make):
        y = zeros(9)
        line(m.run_net(net=make(w1, b1, w2, b2), x=x, y=y), 9)
        return y

    def bwd(make):
        y, gx, grads = zeros(9), zeros(9, 2), [torch.zeros_like(t) for t in (w1, b1, w2, b2)]
        line(m.run_net.bwd(net=make(*zip((w1, b1, w2, b2), grads)), x=(x, gx), y=(y, torch.ones(9, device="cuda"))), 9)
        return [gx, *grads]

    makers = {"dicts": lambda a, b, c, d: {"first": {"weight": a, "bias": b}, "second": {"weight": c, "bias": d}, "gain": 0.5}, "tuples": lambda a, b, c, d: ((a, b), (c, d), 0.5),
              "named": lambda a, b, c, d: m.Net(first=m.Dense(weight=a, bias=b), second=m.Dense(weight=c, bias=d), gain=0.5)}
    return each(**{"fwd_" + k: lambda f=f: fwd(f) for k, f in makers.items()}, **{"bwd_" + k: lambda f=f: bwd(f) for k, f in makers.items()}, some=lambda: bwd(lambda a, b, c, d: ((a, b), (c[0], d[0]), 0.5)))


@NESTED_PAIRS.program("""
[AutoPyBindCUDA] [CudaKernel] [Differentiable]
void both_of(DiffTensorView a, DiffTensorView b, DiffTensorView sum, DiffTensorView product)
{
    uint i = cudaThreadIdx().x;
    if (i >= a.size(0)) return;
    sum[i] = a[i] + b[i];
    product[i] = a[i] * b[i];
}
""")
def several_outputs(m):
    class Both(torch.autograd.Function):
        @staticmethod
        def forward(ctx, a, b, scale):
            s, p = torch.empty_like(a), torch.empty_like(a)
            line(m.both_of(a=a, b=b, sum=s, product=p), a.shape[0])
            ctx.save_for_backward(a, b, s, p)
            ctx.scale = scale
            count = torch.tensor(a.shape[0], device="cuda")
            ctx.mark_non_differentiable(count)
            return s * scale, p, count

        @staticmethod
        @torch.autograd.function.once_differentiable
        def backward(ctx, gs, gp, gc):
            a, b, s, p = ctx.saved_tensors
            wanted = ctx.needs_input_grad
            ga, gb = (torch.zeros_like(t) for t in (a, b))
            line(m.both_of.bwd(a=(a, ga), b=(b, gb), sum=(s, (gs * ctx.scale).contiguous()), product=(p, gp.contiguous())), a.shape[0])
            return ga if wanted[0] else None, gb if wanted[1] else None, None

    def go(first, second, use):
        a, b = noise(7).requires_grad_(first), noise(7, seed=2).requires_grad_(second)
        s, p, count = Both.apply(a, b, 3.0)
        use(s, p).backward()
        return [s, p, count, a.grad, b.grad]

    def twice():
        a, b = noise(7).requires_grad_(), noise(7, seed=2).requires_grad_()
        s, p, _ = Both.apply(a, b, 3.0)
        (g,) = torch.autograd.grad(p.sum(), a, create_graph=True)
        g.sum().backward()

    return each(both=lambda: go(True, True, lambda s, p: s.sum() + (p * p).sum()), first=lambda: go(True, False, lambda s, p: s.sum() + p.sum()), sums=lambda: go(False, True, lambda s, p: s.sum()), products=lambda: go(True, True, lambda s, p: (p * arange(7)).sum()), twice=twice)


GRADCHECK = Theme("gradcheck")


@GRADCHECK.program("""
[Differentiable] double wave(double x, double w) { return sin(x * w) * exp(-x * x); }
[AutoPyBindCUDA] [CudaKernel]
void waves(TensorView<double> x, TensorView<double> w, TensorView<double> y) { uint i = cudaThreadIdx().x; if (i < x.size(0)) y[i] = wave(x[i], w[i]); }
[AutoPyBindCUDA] [CudaKernel]
void waves_backward(TensorView<double> x, TensorView<double> w, TensorView<double> dy, TensorView<double> dx, TensorView<double> dw)
{
    uint i = cudaThreadIdx().x;
    if (i >= x.size(0)) return;
    var px = diffPair(x[i]);
    var pw = diffPair(w[i]);
    bwd_diff(wave)(px, pw, dy[i]);
    dx[i] = px.d;
    dw[i] = pw.d;
}
""")
def gradcheck_of_doubles(m):
    class Waves(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, w):
            y = torch.empty_like(x)
            line(m.waves(x=x, w=w, y=y), x.shape[0])
            ctx.save_for_backward(x, w)
            return y

        @staticmethod
        def backward(ctx, dy):
            x, w = ctx.saved_tensors
            dx, dw = torch.empty_like(x), torch.empty_like(w)
            line(m.waves_backward(x=x, w=w, dy=dy.contiguous(), dx=dx, dw=dw), x.shape[0])
            return dx, dw

    x, w = noise(6, dtype=torch.float64).requires_grad_(), noise(6, seed=2, dtype=torch.float64).requires_grad_()
    return each(value=lambda: Waves.apply(x, w), check=lambda: dry or torch.autograd.gradcheck(Waves.apply, (x, w)), sum=lambda: torch.autograd.grad(Waves.apply(x, w).sum(), (x, w)))


FLOAT_GRADIENTS = Theme("float_gradients")


@FLOAT_GRADIENTS.program("""
[AutoPyBindCUDA] [CudaKernel] [Differentiable]
void cubes(DiffTensorView<double> x, DiffTensorView<double> y) { uint i = cudaThreadIdx().x; if (i < x.size(0)) y[i] = x[i] * x[i] * x[i]; }
""")
def doubles_with_gradients_of_floats(m):
    x, y = noise(6).double(), zeros(6, dtype=torch.float64)

    def bwd(dtype, seed):
        g = zeros(6, dtype=dtype)
        line(m.cubes.bwd(x=(x, g), y=(y, torch.ones(6, dtype=seed, device="cuda"))), 6)
        return g

    def fwd():
        d = zeros(6)
        line(m.cubes.fwd(x=(x, torch.ones(6, device="cuda")), y=(y, d)), 6)
        return [y, d]

    return each(floats=lambda: bwd(torch.float32, torch.float32), doubles=lambda: bwd(torch.float64, torch.float64), seed=lambda: bwd(torch.float32, torch.float64), fwd=fwd)


TRAINING = Theme("training")


@TRAINING.program("""
[AutoPyBindCUDA] [CudaKernel] [Differentiable]
void dense(DiffTensorView x, DiffTensorView w, DiffTensorView b, DiffTensorView y)
{
    uint2 p = (cudaBlockIdx() * cudaBlockDim() + cudaThreadIdx()).xy;
    if (p.x >= y.size(0) || p.y >= y.size(1)) return;
    float sum = b[p.y];
    [MaxIters(32)]
    for (uint k = 0; k < x.size(1); k++) sum += x[p.x, k] * w[p.y, k];
    y[p] = sum;
}
""")
def layers_of_modules(m):
    class Dense(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, w, b):
            y = x.new_empty(x.shape[0], w.shape[0])
            plane(m.dense(x=x, w=w, b=b, y=y), *y.shape)
            ctx.save_for_backward(x, w, b, y)
            return y

        @staticmethod
        def backward(ctx, dy):
            x, w, b, y = ctx.saved_tensors
            grads = [torch.zeros_like(t) for t in (x, w, b)]
            plane(m.dense.bwd(x=(x, grads[0]), w=(w, grads[1]), b=(b, grads[2]), y=(y, dy.contiguous())), *y.shape)
            return tuple(grads)

    class Layer(torch.nn.Module):
        def __init__(self, a, b, seed):
            super().__init__()
            self.weight = torch.nn.Parameter((noise(b, a, seed=seed) - 0.5) * 2 / a ** 0.5)
            self.bias = torch.nn.Parameter(torch.zeros(b, device="cuda"))

        def forward(self, x):
            return Dense.apply(x, self.weight, self.bias)

    def net():
        return torch.nn.Sequential(Layer(2, 16, 1), torch.nn.Tanh(), Layer(16, 16, 2), torch.nn.Tanh(), Layer(16, 1, 3))

    def train(optimizer, steps):
        x = noise(128, 2, seed=9) * 2 - 1
        target, losses = (x[:, :1] * 3).sin() * x[:, 1:], []
        model = net()
        o = optimizer(model.parameters())
        for step in range(steps):
            o.zero_grad()
            loss = ((model(x) - target) ** 2).mean()
            loss.backward()
            o.step()
            losses.append(loss.item())
        return [round(losses[0], 4), round(losses[10], 3), dry or losses[-1] < 0.5 * losses[0]]

    def gradients():
        x = noise(5, 2)
        layer, plain = Layer(2, 3, 1), torch.nn.Linear(2, 3).cuda()
        plain.load_state_dict(layer.state_dict())
        y = layer(x)
        y.sum().backward()
        plain(x).sum().backward()
        return dry or [bool(torch.allclose(y, plain(x), atol=1e-5)), bool(torch.allclose(layer.weight.grad, plain.weight.grad, atol=1e-5)), bool(torch.allclose(layer.bias.grad, plain.bias.grad, atol=1e-5))]

    return each(adam=lambda: train(lambda p: torch.optim.Adam(p, lr=0.02), 150), sgd=lambda: train(lambda p: torch.optim.SGD(p, lr=0.2, momentum=0.9), 100), gradients=gradients, no_grad=lambda: torch.no_grad()(net())(noise(3, 2)))


@TRAINING.program("""
[AutoPyBindCUDA] [CudaKernel] [Differentiable]
void convolve(DiffTensorView x, DiffTensorView w, DiffTensorView y, no_diff int rows)
{
    uint3 p = cudaBlockIdx() * cudaBlockDim() + cudaThreadIdx();
    if (p.x >= y.size(3) || p.y >= y.size(2) || p.z >= y.size(0) * y.size(1)) return;
    uint n = p.z / y.size(1), o = p.z % y.size(1);
    float sum = 0;
    [MaxIters(4)]
    for (uint c = 0; c < w.size(1); c++)
    {
        [MaxIters(3)]
        for (uint i = 0; i < w.size(2); i++)
        {
            [MaxIters(3)]
            for (uint j = 0; j < w.size(3); j++) sum += x[uint4(n, c, p.y + i, p.x + j)] * w[uint4(o, c, i, j)];
        }
    }
    y[uint4(n, o, p.y, p.x)] = sum;
}
""")
def convolution_of_batches(m):
    x, w = noise(2, 3, 7, 6), noise(4, 3, 3, 3, seed=2)
    run = {"blockSize": (4, 4, 4), "gridSize": (1, 2, 2)}

    def fwd(x):
        y = zeros(2, 4, 5, 4)
        m.convolve(x=x, w=w, y=y, rows=0).launchRaw(**run)
        return y

    def bwd():
        y, gx, gw = zeros(2, 4, 5, 4), torch.zeros_like(x), torch.zeros_like(w)
        m.convolve.bwd(x=(x, gx), w=(w, gw), y=(y, noise(2, 4, 5, 4, seed=5)), rows=0).launchRaw(**run)
        return [gx, gw]

    def right():
        a, b = x.clone().requires_grad_(), w.clone().requires_grad_()
        y = torch.nn.functional.conv2d(a, b)
        (y * noise(2, 4, 5, 4, seed=5)).sum().backward()
        gx, gw = bwd()
        return dry or [bool(torch.allclose(fwd(x), y, atol=1e-4)), bool(torch.allclose(gx, a.grad, atol=1e-4)), bool(torch.allclose(gw, b.grad, atol=1e-3))]

    return each(fwd=lambda: fwd(x), channels_last=lambda: fwd(x.to(memory_format=torch.channels_last)), right=right)


@TRAINING.program("""
[Differentiable] float bump(float2 p, float2 center, float size) { float2 d = (p - center) / size; return exp(-dot(d, d)); }
[AutoPyBindCUDA] [CudaKernel] [Differentiable]
void bumps(DiffTensorView parameters, DiffTensorView image)
{
    uint2 p = (cudaBlockIdx() * cudaBlockDim() + cudaThreadIdx()).xy;
    if (p.x >= image.size(0) || p.y >= image.size(1)) return;
    float2 at = float2(p) / float(image.size(0));
    float sum = 0;
    [MaxIters(24)]
    for (uint k = 0; k < parameters.size(0); k++)
        sum += parameters[k, 3] * bump(at, float2(parameters[k, 0], parameters[k, 1]), 0.05 + abs(parameters[k, 2]));
    image[p] = sum;
}
""")
def fit_of_bumps(m):
    class Bumps(torch.autograd.Function):
        @staticmethod
        def forward(ctx, parameters, size):
            image = torch.empty(size, size, device="cuda")
            plane(m.bumps(parameters=parameters, image=image), size, size)
            ctx.save_for_backward(parameters, image)
            return image

        @staticmethod
        def backward(ctx, grad):
            parameters, image = ctx.saved_tensors
            g = torch.zeros_like(parameters)
            plane(m.bumps.bwd(parameters=(parameters, g), image=(image, grad.contiguous())), *image.shape)
            return g, None

    def fit(count, size, steps):
        y, x = torch.meshgrid(torch.linspace(-1, 1, size), torch.linspace(-1, 1, size), indexing="ij")
        target = (torch.cos(4 * x) * torch.sin(3 * y)).cuda()
        p = (noise(count, 4) * tensor([1.0, 1.0, 0.2, 1.0])).requires_grad_()
        o = torch.optim.Adam([p], lr=0.01)
        losses = []
        for _ in range(steps):
            o.zero_grad()
            loss = ((Bumps.apply(p, size) - target) ** 2).mean()
            loss.backward()
            o.step()
            losses.append(loss.item())
        return [round(losses[0], 3), round(losses[5], 2), dry or losses[-1] < 0.5 * losses[0]]

    return each(fit=lambda: fit(24, 64, 200), small=lambda: fit(3, 16, 20), gradient=lambda: torch.autograd.functional.jacobian(lambda p: Bumps.apply(p, 4).sum(), noise(2, 4)))


STREAMS = Theme("streams", """
[AutoPyBindCUDA] [CudaKernel]
void steps_in(TensorView<float> t, float by, int times)
{
    uint i = cudaBlockIdx().x * cudaBlockDim().x + cudaThreadIdx().x;
    if (i >= t.size(0)) return;
    float v = t[i];
    for (int k = 0; k < times; k++) v = v * 0.999 + by;
    t[i] = v;
}
""")


@STREAMS.program()
def two_streams(m):
    def go():
        a, b, c = zeros(5000), zeros(5000), zeros(5000)
        one, two = torch.cuda.Stream(), torch.cuda.Stream()
        for s in (one, two):
            s.wait_stream(torch.cuda.current_stream())
        for _ in range(10):
            with torch.cuda.stream(one):
                line(m.steps_in(t=a, by=1.0, times=200), 5000)
            with torch.cuda.stream(two):
                line(m.steps_in(t=b, by=2.0, times=200), 5000)
        one.wait_stream(two)
        with torch.cuda.stream(one):
            c.copy_(a + b)
            line(m.steps_in(t=c, by=0.5, times=3), 5000)
        torch.cuda.current_stream().wait_stream(one)
        return [c[:3], bool((c == c[0]).all())]

    def events():
        a, s, e = zeros(5000), torch.cuda.Stream(), torch.cuda.Event()
        line(m.steps_in(t=a, by=1.0, times=2000), 5000)
        e.record()
        with torch.cuda.stream(s):
            s.wait_event(e)
            line(m.steps_in(t=a, by=-1.0, times=10), 5000)
        s.synchronize()
        return a[:3]

    return each(streams=lambda: dry or go(), events=lambda: dry or events())


@STREAMS.program()
def captured_launches(m):
    def go():
        a = zeros(100)
        s, g = torch.cuda.Stream(), torch.cuda.CUDAGraph()
        s.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(s):
            line(m.steps_in(t=a, by=1.0, times=1), 100)
        torch.cuda.current_stream().wait_stream(s)
        a.zero_()
        with torch.cuda.graph(g):
            line(m.steps_in(t=a, by=1.0, times=2), 100)
            line(m.steps_in(t=a, by=0.5, times=1), 100)
        before = a[:2].clone()
        g.replay()
        g.replay()
        return [before, a[:2]]

    return each(graph=lambda: dry or go())


@STREAMS.program()
def threads_of_a_program(m):
    """Several threads of Python launch kernels of one module."""
    import threading

    def go():
        tensors, errors = [zeros(64) for _ in range(4)], []

        def work(t, by):
            try:
                for _ in range(50):
                    line(m.steps_in(t=t, by=by, times=1), 64)
            except Exception as error:  # told by the program's result
                errors.append(str(error))

        threads = [threading.Thread(target=work, args=(t, float(i + 1))) for i, t in enumerate(tensors)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        return [t[0] for t in tensors] + errors

    return each(threads=go)


PLAIN_VALUES = Theme("plain_values", """
struct Inputs { DiffTensorView a; DiffTensorView b; };
[AutoPyBindCUDA] [CudaKernel] [Differentiable]
void product_of(Inputs inputs, DiffTensorView c, DiffTensorView y) { uint i = cudaThreadIdx().x; if (i < y.size(0)) y[i] = inputs.a[i] * inputs.b[i] * c[i]; }
""")


@PLAIN_VALUES.program()
def values_without_gradients(m):
    """A derivative takes a tensor in the place of (value, gradient) where no gradient is wanted."""
    a, b, c = noise(6), noise(6, seed=2), noise(6, seed=3)
    import slangtorch
    view = slangtorch.DiffTensorView

    def bwd(make, seed=True):
        ga, gb, gc, y, dy = zeros(6), zeros(6), zeros(6), zeros(6), arange(6, start=1)
        inputs, last = make(ga, gb, gc)
        line(m.product_of.bwd(inputs=inputs, c=last, y=(y, dy) if seed else y), 6)
        return [ga, gb, gc, y, dy]

    def fwd(make):
        y, dy = zeros(6), zeros(6)
        inputs, last = make(*(torch.ones(6, device="cuda") for _ in range(3)))
        line(m.product_of.fwd(inputs=inputs, c=last, y=(y, dy)), 6)
        return [y, dy]

    makers = {"all": lambda ga, gb, gc: (((a, ga), (b, gb)), (c, gc)), "no_c": lambda ga, gb, gc: (((a, ga), (b, gb)), c), "no_a": lambda ga, gb, gc: ((a, (b, gb)), (c, gc)), "none": lambda ga, gb, gc: ((a, b), c),
              "dict": lambda ga, gb, gc: ({"a": a, "b": (b, gb)}, (c, gc)), "view": lambda ga, gb, gc: ((view(value=a), (b, gb)), (c, gc)), "grad_none": lambda ga, gb, gc: (((a, ga), (b, gb)), (c, None))}
    return each(**{"bwd_" + k: lambda f=f: bwd(f) for k, f in makers.items()}, **{"fwd_" + k: lambda f=f: fwd(f) for k, f in makers.items()}, seed=lambda: bwd(makers["all"], False))


@PLAIN_VALUES.program("""
struct Parts { TensorView<float> x; float by; };
[AutoPyBindCUDA] [CudaKernel] void by_parts(Parts parts, TensorView<float> y) { uint i = cudaThreadIdx().x; if (i < y.size(0)) y[i] = parts.x[i] * parts.by; }
""")
def tensors_of_the_host(m):
    """Each is an error: no kernel gets the address of memory that the GPU does not have."""
    a, g, host = noise(6), zeros(6), torch.zeros(6)

    def bwd(**more):
        line(m.product_of.bwd(**{"inputs": ((a, g), (a, g)), "c": (a, g), "y": (g, a), **more}), 6)

    return each(field=lambda: line(m.by_parts(parts=(host, 2.0), y=g), 6), output=lambda: line(m.by_parts(parts=(a, 2.0), y=host), 6), value=lambda: bwd(c=(host, g)), gradient=lambda: bwd(c=(a, host)), field_value=lambda: bwd(inputs=((host, g), (a, g))),
                field_gradient=lambda: bwd(inputs=((a, g), {"primal": a, "diff": host})), field_pair=lambda: bwd(inputs=((a, g), (a, host))), seed=lambda: bwd(y=(g, host)), out=lambda: bwd(y=(host, a)), plain=lambda: bwd(c=host), numbers=lambda: bwd(c=(a, [0.0] * 6)),
                number=lambda: bwd(c=(a, 0.0)), pinned=lambda: dry or line(m.by_parts(parts=(torch.zeros(6).pin_memory(), 2.0), y=g), 6), double=lambda: bwd(c=(a, g.double())), half=lambda: bwd(c=(a, g.half())))


VISIBLE = Theme("visible")


@VISIBLE.program("""
public float shared_by_all(float x) { return x * 3; }
internal float of_this_module(float x) { return x + 1; }
[AutoPyBindCUDA] [CudaKernel] void without_public(TensorView<float> y) { uint i = cudaThreadIdx().x; if (i < y.size(0)) y[i] = shared_by_all(of_this_module(i)); }
[AutoPyBindCUDA] [CudaKernel] public void with_public(TensorView<float> y) { uint i = cudaThreadIdx().x; if (i < y.size(0)) y[i] = of_this_module(shared_by_all(i)); }
""")
def kernels_without_public(m):
    y = zeros(4)
    return each(without=lambda: line(m.without_public(y=y), 4) or y, public=lambda: line(m.with_public(y=y), 4) or y, functions=lambda: [hasattr(m, n) for n in ("without_public", "with_public", "shared_by_all", "of_this_module")])

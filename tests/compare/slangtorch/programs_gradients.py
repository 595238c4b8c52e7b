"""Derivatives of kernels: pairs of tensors, loads and stores of all kinds, torch.autograd.Function around kernels, custom derivatives."""
import torch

from themes import Theme, arange, each, line, noise, plane, tensor, zeros

PAIRS = Theme("pairs")


@PAIRS.program("""
[AutoPyBindCUDA]
[CUDAKernel]
[Differentiable]
void square(DiffTensorView input, DiffTensorView output)
{
    uint3 dispatchIdx = cudaThreadIdx() + cudaBlockIdx() * cudaBlockDim();
    if (dispatchIdx.x >= input.size(0))
        return;
    output[dispatchIdx.x] = input[dispatchIdx.x] * input[dispatchIdx.x];
}
""")
def square_pairs(m):
    x, one = arange(6), {"blockSize": (6, 1, 1), "gridSize": (1, 1, 1)}

    def bwd(make=lambda v, g: (v, g), seed=None):
        g, out, dout = zeros(6), zeros(6), torch.ones(6, device="cuda") if seed is None else seed
        m.square.bwd(input=make(x, g), output=make(out, dout)).launchRaw(**one)
        return {"grad": g, "consumed": dout, "out": out}

    def fwd():
        out, dout = zeros(6), zeros(6)
        m.square.fwd(input=(x, torch.full((6,), 2.0, device="cuda")), output=(out, dout)).launchRaw(**one)
        return {"out": out, "dout": dout}

    def plain(**more):
        out = zeros(6)
        m.square(**{"input": x, "output": out, **more}).launchRaw(**one)
        return out

    def twice():
        g, out = zeros(6), zeros(6)
        for _ in range(2):
            m.square.bwd(input=(x, g), output=(out, torch.ones(6, device="cuda"))).launchRaw(**one)
        return g

    import slangtorch
    view = getattr(slangtorch, "DiffTensorView", None)
    return each(plain=plain, bwd=bwd, fwd=fwd, lists=lambda: bwd(lambda v, g: [v, g]), views=lambda: bwd(lambda v, g: view(value=v, grad=g)), views_position=lambda: bwd(lambda v, g: view(v, g)), plain_view=lambda: plain(input=view(x)),
                twice=twice, expanded=lambda: bwd(seed=torch.ones((), device="cuda").expand(6)), no_pair=lambda: m.square.bwd(input=x, output=(zeros(6), zeros(6))).launchRaw(**one), three=lambda: m.square.bwd(input=(x, x, x), output=(zeros(6), zeros(6))).launchRaw(**one),
                pair_forward=lambda: plain(input=(x, zeros(6))), missing=lambda: m.square.bwd(input=(x, x)), none=lambda: m.square.bwd(input=(x, None), output=(zeros(6), zeros(6))).launchRaw(**one), has=lambda: [hasattr(m.square, n) for n in ("fwd", "bwd", "launchRaw")],
                short_grad=lambda: m.square.bwd(input=(x, zeros(5)), output=(zeros(6), zeros(6))).launchRaw(blockSize=(1, 1, 1), gridSize=(1, 1, 1)), double=lambda: m.square.bwd(input=(x.double(), x.double()), output=(zeros(6), zeros(6))).launchRaw(**one),
                dict=lambda: bwd(lambda v, g: {"primal": v, "diff": g}), requires=lambda: plain(input=x.clone().requires_grad_()), cpu_grad=lambda: m.square.bwd(input=(x, torch.zeros(6)), output=(zeros(6), zeros(6))).launchRaw(**one))


@PAIRS.program("""
[AutoPyBindCUDA] [CudaKernel]
void not_differentiable(TensorView<float> a, TensorView<float> b) { b[cudaThreadIdx().x] = a[cudaThreadIdx().x]; }
[AutoPyBindCUDA] [CudaKernel] [Differentiable]
void weighted(no_diff float scale, DiffTensorView a, TensorView<float> weights, DiffTensorView output, no_diff int count)
{
    uint i = cudaBlockIdx().x * cudaBlockDim().x + cudaThreadIdx().x;
    if (i >= uint(count)) return;
    output[i] = sin(a[i]) * weights[i] * scale;
}
""")
def constants_beside_pairs(m):
    a, w, out = noise(10), noise(10, seed=2), zeros(10)

    def bwd(**more):
        g, dout = zeros(10), torch.ones(10, device="cuda")
        line(m.weighted.bwd(**{"scale": 2.0, "a": (a, g), "weights": w, "output": (out, dout), "count": 10, **more}), 10)
        return g

    def fwd():
        dout = zeros(10)
        line(m.weighted.fwd(scale=2.0, a=(a, torch.ones(10, device="cuda")), weights=w, output=(out, dout), count=10), 10)
        return dout

    return each(plain=lambda: line(m.weighted(scale=0.5, a=a, weights=w, output=out, count=10), 10) or out, bwd=bwd, few=lambda: bwd(count=4), fwd=fwd, none=lambda: m.not_differentiable.bwd, call_none=lambda: m.not_differentiable.bwd(a=(a, a), b=(a, a)),
                weights_pair=lambda: bwd(weights=(w, w)), has=lambda: [hasattr(m.not_differentiable, "bwd"), hasattr(m.not_differentiable, "fwd")])


@PAIRS.program("""
[AutoPyBindCUDA] [CudaKernel] [Differentiable]
void gather_sum(DiffTensorView values, TensorView<int> index, DiffTensorView output)
{
    uint i = cudaThreadIdx().x;
    if (i >= index.size(0)) return;
    float v = values[uint(index[i])];
    output[i] = v * v;
}
[AutoPyBindCUDA] [CudaKernel] [Differentiable]
void once(DiffTensorView a, DiffTensorView output)
{
    uint2 p = (cudaBlockIdx() * cudaBlockDim() + cudaThreadIdx()).xy;
    if (p.x >= a.size(0) || p.y >= a.size(1)) return;
    output.storeOnce(p, exp(a.loadOnce(p)));
}
[AutoPyBindCUDA] [CudaKernel] [Differentiable]
void load_store(DiffTensorView a, DiffTensorView output)
{
    uint3 p = cudaBlockIdx() * cudaBlockDim() + cudaThreadIdx();
    if (p.x >= a.size(0) || p.y >= a.size(1)) return;
    output.store(p.xy, a.load(p.xy) * a.load(uint2(0, 0)));
}
""")
def loads_and_stores(m):
    values, index = arange(4, start=1), tensor([0, 2, 2, 3, 2], torch.int32)
    a = noise(5, 3)

    def gather():
        g, out, dout = zeros(4), zeros(5), torch.ones(5, device="cuda")
        m.gather_sum(values=values, index=index, output=out).launchRaw(blockSize=(8, 1, 1), gridSize=(1, 1, 1))
        m.gather_sum.bwd(values=(values, g), index=index, output=(out, dout)).launchRaw(blockSize=(8, 1, 1), gridSize=(1, 1, 1))
        return [out, g, dout]

    def two(kernel):
        g, out, dout = zeros(5, 3), zeros(5, 3), torch.ones(5, 3, device="cuda")
        plane(kernel(a=a, output=out), 5, 3)
        plane(kernel.bwd(a=(a, g), output=(out, dout)), 5, 3)
        return [out, g, dout]

    return each(gather=gather, once=lambda: two(m.once), load_store=lambda: two(m.load_store))


OTHER_PAIRS = Theme("other_pairs")


@OTHER_PAIRS.program("""
[AutoPyBindCUDA] [CudaKernel] [Differentiable]
void scale_all(DiffTensorView<float> x, DiffTensorView<float, AtomicAdd> factor, DiffTensorView output)
{
    uint i = cudaBlockIdx().x * cudaBlockDim().x + cudaThreadIdx().x;
    if (i >= x.size(0)) return;
    output[i] = x.loadOnce(i) * factor.load(uint(0));
}
""")
def one_factor_for_all(m):
    x, f = noise(96), tensor([3.0])

    def go(block):
        gx, gf, out, dout = zeros(96), zeros(1), zeros(96), torch.ones(96, device="cuda")
        line(m.scale_all(x=x, factor=f, output=out), 96, block)
        line(m.scale_all.bwd(x=(x, gx), factor=(f, gf), output=(out, dout)), 96, block)
        return [out, gx, gf]

    return each(wave=lambda: go(32), block=lambda: go(96))


@OTHER_PAIRS.program("""
[AutoPyBindCUDA] [CudaKernel]
void views_of_views(TensorView<float> x, TensorView<float> y)
{
    uint i = cudaThreadIdx().x;
    if (i >= x.size(0)) return;
    DiffTensorView<float> v = DiffTensorView<float>(x);
    y[i] = v[i] * 2 + v.primal[i] + v.size(0);
}
""")
def view_made_in_a_kernel(m):
    x, y = noise(5), zeros(5)
    return each(run=lambda: line(m.views_of_views(x=x, y=y), 5) or y)


DOUBLE_PAIRS = Theme("double_pairs")


@DOUBLE_PAIRS.program("""
[AutoPyBindCUDA] [CudaKernel] [Differentiable]
void logistic(DiffTensorView<double> x, DiffTensorView<double> y)
{
    uint i = cudaThreadIdx().x;
    if (i < x.size(0)) y[i] = 1.0 / (1.0 + exp(-x[i]));
}
""")
def pairs_of_doubles(m):
    x, g, y = noise(6).double(), zeros(6, dtype=torch.float64), zeros(6, dtype=torch.float64)
    return each(fwd=lambda: line(m.logistic(x=x, y=y), 6) or y, bwd=lambda: line(m.logistic.bwd(x=(x, g), y=(y, torch.ones_like(y))), 6) or g, floats=lambda: line(m.logistic(x=x.float(), y=y), 6))


AUTOGRAD = Theme("autograd")


@AUTOGRAD.program("""
[AutoPyBindCUDA] [CUDAKernel] [Differentiable]
void cubic(DiffTensorView input, DiffTensorView output)
{
    uint3 p = cudaThreadIdx() + cudaBlockIdx() * cudaBlockDim();
    if (p.x >= input.size(0) || p.y >= input.size(1)) return;
    float x = input[p.xy];
    output[p.xy] = x * x * x - 2 * x;
}
""")
def cubic_as_function(m):
    class Cubic(torch.autograd.Function):
        @staticmethod
        def forward(ctx, input):
            output = torch.zeros_like(input)
            kernel_with_args = m.cubic(input=input, output=output)
            kernel_with_args.launchRaw(blockSize=(32, 32, 1), gridSize=((input.shape[0] + 31) // 32, (input.shape[1] + 31) // 32, 1))
            ctx.save_for_backward(input, output)
            return output

        @staticmethod
        def backward(ctx, grad_output):
            (input, output) = ctx.saved_tensors
            input_grad = torch.zeros_like(input)
            kernel_with_args = m.cubic.bwd(input=(input, input_grad), output=(output, grad_output))
            kernel_with_args.launchRaw(blockSize=(32, 32, 1), gridSize=((input.shape[0] + 31) // 32, (input.shape[1] + 31) // 32, 1))
            return input_grad

    def of_sum():
        x = noise(5, 7).requires_grad_()
        y = Cubic.apply(x)
        y.sum().backward()
        return [y, x.grad]

    def weighted():
        x = noise(40, 33).requires_grad_()
        (Cubic.apply(x * 2) * noise(40, 33, seed=7)).sum().backward()
        return x.grad

    def twice():
        x = noise(4, 4).requires_grad_()
        y = Cubic.apply(Cubic.apply(x))
        (g,) = torch.autograd.grad(y.mean(), x)
        return g

    return each(sum=of_sum, weighted=weighted, twice=twice, no_grad=lambda: Cubic.apply(noise(2, 2)))


@AUTOGRAD.program("""
[Differentiable]
float evaluate(float3 c, float x) { return c.x * exp(-c.y * x) + c.z; }
[AutoPyBindCUDA] [CUDAKernel] [Differentiable]
void decay(DiffTensorView coefficients, TensorView<float> xs, DiffTensorView output)
{
    uint i = cudaThreadIdx().x + cudaBlockIdx().x * cudaBlockDim().x;
    if (i >= xs.size(0)) return;
    float3 c = float3(coefficients[0], coefficients[1], coefficients[2]);
    output[i] = evaluate(c, xs[i]);
}
""")
def fit_with_adam(m):
    class Decay(torch.autograd.Function):
        @staticmethod
        def forward(ctx, c, xs):
            out = torch.empty_like(xs)
            line(m.decay(coefficients=c, xs=xs, output=out), xs.shape[0])
            ctx.save_for_backward(c, xs, out)
            return out

        @staticmethod
        def backward(ctx, grad):
            c, xs, out = ctx.saved_tensors
            gc = torch.zeros_like(c)
            line(m.decay.bwd(coefficients=(c, gc), xs=xs, output=(out, grad.contiguous())), xs.shape[0])
            return gc, None

    xs = torch.linspace(0, 3, 200).cuda()
    target = 2 * torch.exp(-1.5 * xs) + 0.3
    c = torch.nn.Parameter(torch.ones(3, device="cuda"))
    optimizer = torch.optim.Adam([c], lr=0.05)
    losses = []
    for step in range(60):
        optimizer.zero_grad()
        loss = ((Decay.apply(c, xs) - target) ** 2).mean()
        loss.backward()
        optimizer.step()
        if step % 20 == 0:
            losses.append(round(loss.item(), 4))
    return {"losses": losses, "c": [round(v, 2) for v in c.tolist()]}


CUSTOM = Theme("custom")


@CUSTOM.program("""
float getInputElement(TensorView<float> input, TensorView<float> inputGradToPropagateTo, uint2 loc) { return input[loc]; }
[BackwardDerivativeOf(getInputElement)]
void getInputElement_bwd(TensorView<float> input, TensorView<float> inputGradToPropagateTo, uint2 loc, float derivative)
{
    float oldVal;
    inputGradToPropagateTo.InterlockedAdd(loc, derivative, oldVal);
}
[Differentiable]
float computeOutputPixel(TensorView<float> input, TensorView<float> inputGradToPropagateTo, uint2 pixelLoc)
{
    int width = input.size(0);
    int height = input.size(1);
    int count = 0;
    float sumValue = 0.0;
    for (int offsetX = -1; offsetX <= 1; offsetX++)
    {
        int x = pixelLoc.x + offsetX;
        if (x < 0 || x >= width) continue;
        for (int offsetY = -1; offsetY <= 1; offsetY++)
        {
            int y = pixelLoc.y + offsetY;
            if (y < 0 || y >= height) continue;
            sumValue += getInputElement(input, inputGradToPropagateTo, uint2(x, y));
            count++;
        }
    }
    sumValue /= count;
    return sumValue;
}
[AutoPyBindCUDA] [CudaKernel]
void boxFilter_fwd(TensorView<float> input, TensorView<float> output)
{
    uint2 pixelLoc = (cudaBlockIdx() * cudaBlockDim() + cudaThreadIdx()).xy;
    if (pixelLoc.x >= input.size(0) || pixelLoc.y >= input.size(1)) return;
    output[pixelLoc] = computeOutputPixel(input, output, pixelLoc);
}
[AutoPyBindCUDA] [CudaKernel]
void boxFilter_bwd(TensorView<float> input, TensorView<float> resultGradToPropagateFrom, TensorView<float> inputGradToPropagateTo)
{
    uint2 pixelLoc = (cudaBlockIdx() * cudaBlockDim() + cudaThreadIdx()).xy;
    if (pixelLoc.x >= input.size(0) || pixelLoc.y >= input.size(1)) return;
    bwd_diff(computeOutputPixel)(input, inputGradToPropagateTo, pixelLoc, resultGradToPropagateFrom[pixelLoc]);
}
""")
def box_filter(m):
    image, out, grad = noise(9, 6), zeros(9, 6), zeros(9, 6)
    return each(fwd=lambda: plane(m.boxFilter_fwd(input=image, output=out), 9, 6) or out, bwd=lambda: plane(m.boxFilter_bwd(input=image, resultGradToPropagateFrom=noise(9, 6, seed=4), inputGradToPropagateTo=grad), 9, 6) or grad)


@CUSTOM.program("""
[BackwardDerivative(safe_sqrt_bwd)]
float safe_sqrt(float x) { return sqrt(max(x, 0)); }
void safe_sqrt_bwd(inout DifferentialPair<float> x, float d) { x = diffPair(x.p, d * 0.5 / sqrt(max(x.p, 0.01))); }
[AutoPyBindCUDA] [CudaKernel] [Differentiable]
void roots(DiffTensorView x, DiffTensorView y)
{
    uint i = cudaThreadIdx().x;
    if (i < x.size(0)) y[i] = safe_sqrt(x[i]);
}
""")
def custom_backward_of_a_function(m):
    x, g, y = tensor([-1.0, 0.0, 0.005, 1.0, 4.0]), zeros(5), zeros(5)
    return each(fwd=lambda: line(m.roots(x=x, y=y), 5) or y, bwd=lambda: line(m.roots.bwd(x=(x, g), y=(y, torch.ones(5, device="cuda"))), 5) or g)


@CUSTOM.program("""
[AutoPyBindCUDA] [CudaKernel]
void polynomial_and_slope(TensorView<float> x, TensorView<float> value, TensorView<float> slope, TensorView<float> back)
{
    uint i = cudaThreadIdx().x;
    if (i >= x.size(0)) return;
    DifferentialPair<float> p = fwd_diff(polynomial)(diffPair(x[i], 1.0));
    value[i] = p.p;
    slope[i] = p.d;
    var q = diffPair(x[i]);
    bwd_diff(polynomial)(q, 2.0);
    back[i] = q.d;
}
[Differentiable]
float polynomial(float x)
{
    float sum = 0;
    [MaxIters(4)]
    for (int i = 0; i < 4; i++) sum = sum * x + float(i + 1);
    return sum;
}
""")
def derivatives_inside_a_kernel(m):
    x, v, s, b = arange(5), zeros(5), zeros(5), zeros(5)
    return each(run=lambda: line(m.polynomial_and_slope(x=x, value=v, slope=s, back=b), 5) or [v, s, b])


ACCESSORS = Theme("accessors")


@ACCESSORS.program("""
struct Linear : IDifferentiable { float slope; float offset; };
[Differentiable] Linear load_linear(DiffTensorView t, uint i) { Linear l; l.slope = t[i, 0]; l.offset = t[i, 1]; return l; }
[AutoPyBindCUDA] [CudaKernel] [Differentiable]
void apply_lines(DiffTensorView lines, DiffTensorView x, DiffTensorView y)
{
    uint i = cudaThreadIdx().x + cudaBlockIdx().x * cudaBlockDim().x;
    if (i >= y.size(0)) return;
    Linear l = load_linear(lines, i % lines.size(0));
    y[i] = l.slope * x[i] + l.offset;
}
""")
def differentiable_struct(m):
    lines, x = tensor([[1.0, 2.0], [0.5, -1.0], [3.0, 0.0]]), arange(8)

    def run():
        y, gl, gx = zeros(8), zeros(3, 2), zeros(8)
        line(m.apply_lines(lines=lines, x=x, y=y), 8)
        line(m.apply_lines.bwd(lines=(lines, gl), x=(x, gx), y=(y, arange(8))), 8)
        return [y, gl, gx]

    return each(run=run)


@ACCESSORS.program("""
struct Parameters { DiffTensorView weight; DiffTensorView bias; };
[AutoPyBindCUDA] [CudaKernel] [Differentiable]
void affine(Parameters p, DiffTensorView x, DiffTensorView y)
{
    uint i = cudaThreadIdx().x;
    if (i >= y.size(0)) return;
    float sum = p.bias[i];
    [MaxIters(8)]
    for (uint k = 0; k < x.size(0); k++) sum += p.weight[i, k] * x[k];
    y[i] = sum;
}
""")
def pairs_in_structs(m):
    w, b, x = noise(3, 4), noise(3, seed=2), noise(4, seed=3)

    def fwd(p):
        y = zeros(3)
        line(m.affine(p=p, x=x, y=y), 3)
        return y

    def bwd(make):
        gw, gb, gx, y = zeros(3, 4), zeros(3), zeros(4), zeros(3)
        line(m.affine.bwd(p=make((w, gw), (b, gb)), x=(x, gx), y=(y, torch.ones(3, device="cuda"))), 3)
        return [gw, gb, gx]

    return each(fwd_dict=lambda: fwd({"weight": w, "bias": b}), fwd_named=lambda: fwd(m.Parameters(weight=w, bias=b)), fwd_tuple=lambda: fwd((w, b)), bwd_dict=lambda: bwd(lambda a, c: {"weight": a, "bias": c}), bwd_named=lambda: bwd(lambda a, c: m.Parameters(weight=a, bias=c)),
                bwd_tuple=lambda: bwd(lambda a, c: (a, c)))


VIEW_METHODS = Theme("view_methods")


@VIEW_METHODS.program("""
[AutoPyBindCUDA] [CudaKernel] [Differentiable]
void shapes_of(DiffTensorView a, no_diff TensorView<int> o, DiffTensorView y)
{
    uint i = cudaThreadIdx().x;
    if (i > 0) return;
    o[0] = int(a.dims());
    o[1] = int(a.size(0));
    o[2] = int(a.stride(0));
    o[3] = int(a.stride(1));
    y[0] = a[1, 2] * 2;
}
[AutoPyBindCUDA] [CudaKernel]
void inner_views(DiffTensorView a, TensorView<float> y)
{
    uint i = cudaThreadIdx().x;
    if (i < y.size(0)) y[i] = a.primal[i, 0] + a.primal.size(1);
}
""")
def sizes_of_diff_views(m):
    a, o, y = arange(3, 4), zeros(4, dtype=torch.int32), zeros(3)
    return each(shape=lambda: line(m.shapes_of(a=a, o=o, y=y), 1) or [o, y], transposed=lambda: line(m.shapes_of(a=arange(4, 3).t(), o=o, y=y), 1) or [o, y], primal=lambda: line(m.inner_views(a=a, y=y), 3) or y)

"""[TorchEntryPoint] host functions: allocation, launches, what goes in and comes out; [CudaDeviceExport], [PyExport]."""
import torch

from themes import Theme, arange, attempt, each, noise, tensor, zeros

SQUARES = Theme("squares")


@SQUARES.program("""
[Differentiable]
float square_of(float x) { return x * x; }
[CudaKernel]
void square_fwd_kernel(TensorView<float> input, TensorView<float> output)
{
    uint3 globalIdx = cudaBlockIdx() * cudaBlockDim() + cudaThreadIdx();
    if (globalIdx.x >= input.size(0) || globalIdx.y >= input.size(1)) return;
    output.store(globalIdx.x, globalIdx.y, square_of(input.load(globalIdx.x, globalIdx.y)));
}
[CudaKernel]
void square_bwd_kernel(TensorView<float> input, TensorView<float> grad_out, TensorView<float> grad_propagated)
{
    uint3 globalIdx = cudaBlockIdx() * cudaBlockDim() + cudaThreadIdx();
    if (globalIdx.x >= input.size(0) || globalIdx.y >= input.size(1)) return;
    DifferentialPair<float> dpInput = diffPair(input[globalIdx.xy]);
    var gradInElem = grad_out[globalIdx.xy];
    bwd_diff(square_of)(dpInput, gradInElem);
    grad_propagated[globalIdx.xy] = dpInput.d;
}
[TorchEntryPoint]
TorchTensor<float> square_fwd(TorchTensor<float> input)
{
    var result = TorchTensor<float>.zerosLike(input);
    let blockCount = uint3((input.size(0) + 7) / 8, (input.size(1) + 7) / 8, 1);
    let groupSize = uint3(8, 8, 1);
    __dispatch_kernel(square_fwd_kernel, blockCount, groupSize)(input, result);
    return result;
}
[TorchEntryPoint]
TorchTensor<float> square_bwd(TorchTensor<float> input, TorchTensor<float> grad_out)
{
    var grad_propagated = TorchTensor<float>.zerosLike(input);
    let blockCount = uint3((input.size(0) + 7) / 8, (input.size(1) + 7) / 8, 1);
    let groupSize = uint3(8, 8, 1);
    __dispatch_kernel(square_bwd_kernel, blockCount, groupSize)(input, grad_out, grad_propagated);
    return grad_propagated;
}
""")
def square_host_functions(m):
    class Square(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return m.square_fwd(x)

        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            return m.square_bwd(x, g.contiguous())

    def grad():
        x = noise(4, 9).requires_grad_()
        Square.apply(x).sum().backward()
        return x.grad

    x = arange(3, 5)
    return each(fwd=lambda: m.square_fwd(x), bwd=lambda: m.square_bwd(x, torch.ones_like(x)), keywords=lambda: m.square_fwd(input=x), grad=grad, transposed=lambda: m.square_fwd(x.t()), sliced=lambda: m.square_fwd(x[:, ::2]),
                cpu=lambda: m.square_fwd(torch.arange(6.0).reshape(2, 3)), doubles=lambda: m.square_fwd(x.double()), ints=lambda: m.square_fwd(x.int()), missing=lambda: m.square_fwd(), many=lambda: m.square_fwd(x, x), wrong=lambda: m.square_fwd(3.0),
                none=lambda: m.square_fwd(None), listed=lambda: m.square_fwd([1.0, 2.0]), requires=lambda: m.square_fwd(x.clone().requires_grad_()).requires_grad, kernel=lambda: hasattr(m, "square_fwd_kernel"), unknown=lambda: m.square_fwd(inputs=x),
                expanded_gradient=lambda: m.square_bwd(x, torch.ones((), device="cuda").expand(3, 5)), parameter=lambda: m.square_fwd(torch.nn.Parameter(x)), empty=lambda: m.square_fwd(zeros(0, 4)))


RETURNS = Theme("returns", """
[CudaKernel] void fill_index(TensorView<float> t, float by) { uint i = cudaThreadIdx().x + cudaBlockIdx().x * cudaBlockDim().x; if (i < t.size(0)) t[i] = i * by; }
""")


@RETURNS.program("""
struct Pair { TorchTensor<float> first; TorchTensor<float> second; };
struct Several { TorchTensor<float> tensors[2]; float v; int n; bool b; };
[TorchEntryPoint]
Pair make_pair(int n)
{
    Pair p;
    p.first = TorchTensor<float>.alloc(n);
    p.second = TorchTensor<float>.alloc(n);
    let groups = uint3(1, 1, 1);
    let threads = uint3(n, 1, 1);
    __dispatch_kernel(fill_index, groups, threads)(p.first, 1.0);
    __dispatch_kernel(fill_index, groups, threads)(p.second, 0.5);
    return p;
}
[TorchEntryPoint]
Several make_several(TorchTensor<float> a, float v)
{
    Several s;
    s.tensors[0] = a;
    s.tensors[1] = TorchTensor<float>.zerosLike(a);
    s.v = v * 2;
    s.n = int(a.size(0)) + 1;
    s.b = v > 1;
    return s;
}
[TorchEntryPoint]
TorchTensor<float> take_pair(Pair p, float3 v)
{
    let groups = uint3(1, 1, 1);
    let threads = uint3(p.first.size(0), 1, 1);
    __dispatch_kernel(fill_index, groups, threads)(p.first, v.x + v.y * 10 + v.z * 100);
    return p.first;
}
""")
def structs_in_and_out(m):
    a = arange(3)

    def kinds(value):
        return [type(v).__name__ for v in value]

    return each(pair=lambda: m.make_pair(4), pair_type=lambda: type(m.make_pair(4)).__name__, several=lambda: m.make_several(a, 1.5), kinds=lambda: kinds(m.make_several(a, 1.5)), inner=lambda: type(m.make_several(a, 1.5)[0]).__name__, same=lambda: m.make_several(a, 1.0)[0][0].data_ptr() == a.data_ptr(),
                take=lambda: m.take_pair((zeros(3), a), (1.0, 2.0, 3.0)), take_list=lambda: m.take_pair([zeros(3), a], [1.0, 2.0, 3.0]), take_dict=lambda: m.take_pair({"first": zeros(3), "second": a}, (1.0, 2.0, 3.0)), short=lambda: m.take_pair((zeros(3),), (1.0, 2.0, 3.0)),
                vector_short=lambda: m.take_pair((zeros(3), a), (1.0, 2.0)), float_count=lambda: m.make_pair(4.0), int_v=lambda: m.make_several(a, 2), text=lambda: m.make_pair("4"), unpacked=lambda: (lambda first, second: first + second)(*m.make_pair(3)))


@RETURNS.program("""
[TorchEntryPoint] float add_numbers(float a, int b, uint c, bool d) { return a + b + c + (d ? 100 : 0); }
[TorchEntryPoint] int count_of(TorchTensor<float> t) { return int(t.dims() * 1000 + t.size(0)); }
[TorchEntryPoint] float3 vector_of(float x, float2 y) { return float3(x, y.y, y.x); }
[TorchEntryPoint] int64_t wide(int64_t x) { return x * 3; }
[TorchEntryPoint] double fine(double x) { return x / 3; }
[TorchEntryPoint] bool is_large(float x) { return x > 10; }
[TorchEntryPoint] int looped(int n) { int sum = 0; for (int i = 0; i < n; i++) { if (i % 3 == 0) continue; sum += i; } return sum; }
[TorchEntryPoint] void returns_nothing(TorchTensor<float> t) { let groups = uint3(1, 1, 1); let threads = uint3(t.size(0), 1, 1); __dispatch_kernel(fill_index, groups, threads)(t, 3.0); }
""")
def numbers_in_and_out(m):
    t = zeros(4)
    return each(add=lambda: m.add_numbers(1.5, 2, 3, True), add_ints=lambda: m.add_numbers(1, 2, 3, 0), count=lambda: m.count_of(zeros(5, 2)), vector=lambda: m.vector_of(1.0, (2.0, 3.0)), vector_type=lambda: type(m.vector_of(1.0, (2.0, 3.0))).__name__, wide=lambda: m.wide(1 << 40), fine=lambda: m.fine(1.0),
                is_large=lambda: [m.is_large(11.0), m.is_large(9)], looped=lambda: m.looped(10), nothing=lambda: m.returns_nothing(t), written=lambda: t, float_for_int=lambda: m.add_numbers(1.5, 2.5, 3, True), negative=lambda: m.add_numbers(1.5, -2, -3, True), big=lambda: m.looped(1 << 40),
                numpy=lambda: m.looped(__import__("numpy").int32(4)), tensor=lambda: m.looped(torch.tensor(4)), tensor_float=lambda: m.fine(torch.tensor(1.5)), none=lambda: m.looped(None), keywords=lambda: m.add_numbers(a=1.0, b=2, c=3, d=False), doc=lambda: callable(m.looped))


@RETURNS.program("""
[TorchEntryPoint]
TorchTensor<float> sizes_and_strides(TorchTensor<float> t)
{
    var o = TorchTensor<float>.alloc(5);
    let groups = uint3(1, 1, 1);
    __dispatch_kernel(note, groups, groups)(o, t.dims(), t.size(0), t.size(1), t.stride(0), t.stride(1));
    return o;
}
[CudaKernel] void note(TensorView<float> o, uint a, uint b, uint c, uint d, uint e) { o[0] = a; o[1] = b; o[2] = c; o[3] = d; o[4] = e; }
[TorchEntryPoint] TorchTensor<float> like(TorchTensor<float> t) { return TorchTensor<float>.emptyLike(t); }
[TorchEntryPoint] TorchTensor<float> zeros_like(TorchTensor<float> t) { return TorchTensor<float>.zerosLike(t); }
[TorchEntryPoint] TorchTensor<int> ints(int a, int b) { var t = TorchTensor<int>.alloc(a, b); t.fillZero(); return t; }
[TorchEntryPoint] TorchTensor<float> filled(int a, float v) { var t = TorchTensor<float>.alloc(a); t.fillValue(v); return t; }
[TorchEntryPoint] TorchTensor<float3> vectors(int a, int b) { var t = TorchTensor<float3>.alloc(a, b); return t; }
[TorchEntryPoint] TorchTensor<half> halves_like(TorchTensor<half> t) { return TorchTensor<half>.zerosLike(t); }
[TorchEntryPoint] TorchTensor<float> five(int a) { return TorchTensor<float>.alloc(a, 2, 1, 3, 2); }
""")
def allocations(m):
    a = arange(2, 3)

    def shape(t):
        return [list(t.shape), str(t.dtype), str(t.device), list(t.stride()), t.requires_grad]

    return each(sizes=lambda: m.sizes_and_strides(a), transposed=lambda: m.sizes_and_strides(a.t()), like=lambda: shape(m.like(a)), like_t=lambda: shape(m.like(a.t())), zeros=lambda: m.zeros_like(a), zeros_t=lambda: shape(m.zeros_like(a.t())), ints=lambda: m.ints(2, 3), filled=lambda: m.filled(3, 2.5),
                vectors=lambda: shape(m.vectors(2, 4)), halves=lambda: m.halves_like(zeros(3, dtype=torch.float16)), five=lambda: shape(m.five(2)), none=lambda: shape(m.ints(0, 3)), negative=lambda: shape(m.ints(-1, 3)), like_expanded=lambda: shape(m.like(a[:1].expand(4, 3))),
                one_dimension=lambda: m.sizes_and_strides(arange(3)), large=lambda: shape(m.five(1000)))


TYPES = Theme("host_types")


@TYPES.program("""
[CudaKernel] void above(TensorView<float> t, TensorView<bool> o, float by) { uint i = cudaThreadIdx().x; if (i < t.size(0)) o[i] = t[i] > by; }
[TorchEntryPoint]
TorchTensor<bool> compare(TorchTensor<float> t, float by)
{
    var o = TorchTensor<bool>.alloc(t.size(0));
    let groups = uint3(1, 1, 1);
    let threads = uint3(t.size(0), 1, 1);
    __dispatch_kernel(above, groups, threads)(t, o, by);
    return o;
}
[CudaKernel] void longer(TensorView<int64_t> t, TensorView<double> o) { uint i = cudaThreadIdx().x; if (i < t.size(0)) o[i] = double(t[i]) * 0.5; }
[TorchEntryPoint]
TorchTensor<double> half_of(TorchTensor<int64_t> t)
{
    var o = TorchTensor<double>.alloc(t.size(0));
    let groups = uint3(1, 1, 1);
    let threads = uint3(t.size(0), 1, 1);
    __dispatch_kernel(longer, groups, threads)(t, o);
    return o;
}
[CudaKernel] void invert(TensorView<uint8_t> t) { uint i = cudaThreadIdx().x; if (i < t.size(0)) t[i] = uint8_t(255 - t[i]); }
[TorchEntryPoint] void invert_all(TorchTensor<uint8_t> t) { let groups = uint3(1, 1, 1); let threads = uint3(t.size(0), 1, 1); __dispatch_kernel(invert, groups, threads)(t); }
""")
def host_functions_of_other_types(m):
    b = tensor([0, 5, 255], torch.uint8)
    return each(compare=lambda: m.compare(arange(4), 1.5), half_of=lambda: m.half_of(arange(4, dtype=torch.int64)), bytes=lambda: m.invert_all(b), inverted=lambda: b, wrong=lambda: m.half_of(arange(4)), wrong_bytes=lambda: m.invert_all(arange(3, dtype=torch.int8)))


@TYPES.program("""
struct Camera { float3 position; float4 color; int2 size; };
[CudaKernel] void paint(TensorView<float3> image, Camera c)
{
    uint2 p = (cudaThreadIdx() + cudaBlockIdx() * cudaBlockDim()).xy;
    if (p.x >= image.size(0) || p.y >= image.size(1)) return;
    image[p] = c.color.xyz * c.color.w + c.position * p.x + p.y;
}
[TorchEntryPoint]
TorchTensor<float3> painted(Camera c)
{
    var image = TorchTensor<float3>.alloc(c.size.x, c.size.y);
    let threads = uint3(4, 4, 1);
    let groups = uint3((uint(c.size.x) + 3) / 4, (uint(c.size.y) + 3) / 4, 1);
    __dispatch_kernel(paint, groups, threads)(image, c);
    return image;
}
""")
def struct_of_vectors(m):
    return each(tuple=lambda: m.painted(((1.0, 2.0, 3.0), (0.1, 0.2, 0.3, 2.0), (5, 2))), lists=lambda: m.painted([[1, 2, 3], [0, 0, 0, 1], [2, 2]]))


EXPORTS = Theme("exports")


@EXPORTS.program("""
[PyExport("Vertices")]
struct VertexData { TensorView<float> points; float size; };
struct Bundle { VertexData left; VertexData right; };
[AutoPyBindCUDA] [CudaKernel]
void enlarge_points(VertexData data) { uint i = cudaThreadIdx().x; if (i < data.points.size(0)) data.points[i] *= data.size; }
[AutoPyBindCUDA] [CudaKernel]
void join(Bundle bundle, TensorView<float> o) { uint i = cudaThreadIdx().x; if (i < o.size(0)) o[i] = bundle.left.points[i] * bundle.right.size + bundle.right.points[i]; }
""")
def exported_structs(m):
    t, o = arange(4), zeros(4)
    one = {"blockSize": (4, 1, 1), "gridSize": (1, 1, 1)}
    return each(has=lambda: [hasattr(m, n) for n in ("enlarge_points", "Vertices", "VertexData", "Bundle")], tuple=lambda: m.enlarge_points(data=(t, 2.0)).launchRaw(**one) or t.clone(), exported=lambda: m.enlarge_points(data=m.Vertices(points=t, size=0.5)).launchRaw(**one) or t.clone(), exported_name=lambda: m.Vertices.__name__, exported_fields=lambda: list(m.Vertices._fields), bundle=lambda: m.join(bundle=((t, 2.0), (t, 3.0)), o=o).launchRaw(**one) or o,
                bundle_dicts=lambda: m.join(bundle={"left": {"points": t, "size": 1.0}, "right": {"points": t, "size": 3.0}}, o=o).launchRaw(**one) or o, own=lambda: m.enlarge_points(data=m.VertexData(points=t, size=2.0)).launchRaw(**one) or t.clone())


DEVICE = Theme("device_exports")


@DEVICE.program("""
[CudaDeviceExport] [Differentiable] float gelu(float x) { return 0.5 * x * (1 + tanh(0.7978845608 * (x + 0.044715 * x * x * x))); }
[AutoPyBindCUDA] [CudaKernel] [Differentiable]
void gelu_all(DiffTensorView x, DiffTensorView y) { uint i = cudaThreadIdx().x + cudaBlockIdx().x * cudaBlockDim().x; if (i < x.size(0)) y[i] = gelu(x[i]); }
[CudaKernel] void gelu_kernel(TensorView<float> x, TensorView<float> y) { uint i = cudaThreadIdx().x + cudaBlockIdx().x * cudaBlockDim().x; if (i < x.size(0)) y[i] = gelu(x[i]); }
[TorchEntryPoint]
export __extern_cpp TorchTensor<float> gelu_host(TorchTensor<float> x)
{
    var y = TorchTensor<float>.zerosLike(x);
    let threads = uint3(32, 1, 1);
    let groups = uint3((x.size(0) + 31) / 32, 1, 1);
    __dispatch_kernel(gelu_kernel, groups, threads)(x, y);
    return y;
}
""")
def host_and_auto_binding_together(m):
    x, y, g = torch.linspace(-3, 3, 50).cuda(), zeros(50), zeros(50)
    one = {"blockSize": (64, 1, 1), "gridSize": (1, 1, 1)}
    return each(host=lambda: m.gelu_host(x), auto=lambda: m.gelu_all(x=x, y=y).launchRaw(**one) or y, bwd=lambda: m.gelu_all.bwd(x=(x, g), y=(y, torch.ones(50, device="cuda"))).launchRaw(**one) or g,
                right=lambda: float((m.gelu_host(x) - torch.nn.functional.gelu(x, approximate="tanh")).abs().max()) < 1e-5, device=lambda: hasattr(m, "gelu"), attempt=lambda: attempt(lambda: m.gelu(1.0)))

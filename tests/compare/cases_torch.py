"""PyTorch tensors as arguments, autograd; slang-torch's modules (on CUDA, against values by hand)."""
import os
import tempfile

from cases import Skipped, case, each, error, fails, load

SOURCE = """
import slangpy;
[Differentiable] float square(float a) { return a * a; }
[Differentiable] float poly(float a, float x, float b) { return a * x * x + b; }
[Differentiable] float3 scale3(float3 v, float s) { return v * s; }
[Differentiable] void outp(float a, out float b) { b = 3 * a; }
[Differentiable] void inout_add(inout float a, float b) { a = a + b; }
int add_ints(int a, int b) { return a + b; }
int64_t add_longs(int64_t a, int64_t b) { return a + b; }
half add_halves(half a, half b) { return a + b; }
double add_doubles(double a, double b) { return a + b; }
uint8_t add_bytes(uint8_t a, uint8_t b) { return a + b; }
bool flip(bool a) { return !a; }
float row_sum(Tensor<float, 1> t) { float r = 0; for (int i = 0; i < (int)t.shape[0]; i++) r += t[i]; return r; }
[Differentiable] float drow(IDiffTensor<float, 1> t) { float r = 0; for (int i = 0; i < 3; i++) r += t.load(i) * t.load(i); return r; }
void fill(RWTensor<float, 1> t, int i, float v) { t[i] = v; }
struct S { float x; float y; }
float of_s(S s) { return s.x * 10 + s.y; }
S make_s(float x) { S s; s.x = x; s.y = 2 * x; return s; }
float first(float a[3]) { return a[0] + 10 * a[1] + 100 * a[2]; }
[Differentiable] float2x2 mats(float2x2 m) { return m * 2; }
void two(float a, out float b, out float c) { b = a + 1; c = a + 2; }
"""


def cuda():
    import torch
    if not torch.cuda.is_available():
        raise Skipped("torch has no CUDA device")
    return torch


@case(torch=True)
def torch_tensors_in_and_out(spy, device):
    torch = cuda()
    m = load(spy, device, SOURCE)
    a = torch.arange(6, dtype=torch.float32, device="cuda").reshape(2, 3)
    o = torch.zeros(2, 3, device="cuda")
    def into():
        r = m.square(a, _result=o)
        return [r is o, o]
    def outp():
        b = torch.zeros(6, device="cuda")
        m.outp(a.reshape(-1), b)
        return b
    def two():
        b, c = torch.zeros(2, 3, device="cuda"), torch.zeros(2, 3, device="cuda")
        m.two(a, b, c)
        return [b, c]
    def inplace():
        b = a.clone()
        m.inout_add(b, 1.0)
        return b
    def fill():
        t = torch.zeros(5, device="cuda")
        m.fill(t, torch.arange(5, dtype=torch.int32, device="cuda"), 2.0)
        return t
    return each(square=lambda: m.square(a), poly=lambda: m.poly(a, 2.0, a[0]), turned=lambda: m.square(a.t()), strided=lambda: m.square(a[:, ::2]), into=into, vec=lambda: m.scale3(a, 2.0), outp=outp, two=two, inplace=inplace, fill=fill, row=lambda: m.row_sum(a), scalar=lambda: m.square(torch.tensor(3.0, device="cuda")), empty=lambda: m.square(torch.zeros(0, device="cuda")), mism=lambda: error(m.poly, a, a[:, :2], 1.0), numpy=lambda: m.square(a, _result="numpy"), tensor=lambda: m.square(a, _result="tensor"), d=lambda: m.of_s({"x": a, "y": a}), arr=lambda: m.first(a), mats=lambda: m.mats(torch.ones(3, 2, 2, device="cuda")), cpu=lambda: fails(m.square, a.cpu()), f64=lambda: fails(m.square, a.double()), bc=lambda: m.poly(a, a[:, :1], 1.0), structs=lambda: fails(m.make_s, a), exp=lambda: m.square(a[0].expand(4, 3)))


@case(torch=True)
def torch_dtypes(spy, device):
    torch = cuda()
    m = load(spy, device, SOURCE)
    def go(f, d):
        a = torch.tensor([1, 2, 3], dtype=d, device="cuda")
        return f(a, a)
    return each(i=lambda: go(m.add_ints, torch.int32), l=lambda: go(m.add_longs, torch.int64), h=lambda: go(m.add_halves, torch.float16), d=lambda: go(m.add_doubles, torch.float64), b=lambda: go(m.add_bytes, torch.uint8), f=lambda: m.flip(torch.tensor([True, False], device="cuda")), bf=lambda: fails(m.square, torch.ones(2, dtype=torch.bfloat16, device="cuda")), c=lambda: fails(m.square, torch.ones(2, dtype=torch.complex64, device="cuda")))


@case(torch=True)
def torch_autograd(spy, device):
    torch = cuda()
    m = load(spy, device, SOURCE)
    def leaf(*shape):
        return (torch.arange(1, 1 + torch.Size(shape).numel(), dtype=torch.float32, device="cuda").reshape(shape)).requires_grad_()
    def square():
        a = leaf(3)
        r = m.square(a)
        r.sum().backward()
        return [r, r.requires_grad, a.grad]
    def poly():
        a, x = leaf(3), leaf(3)
        m.poly(a, x, 1.0).mul(torch.tensor([1.0, 2.0, 3.0], device="cuda")).sum().backward()
        return [a.grad, x.grad]
    def broadcast():
        a, x = leaf(2, 3), leaf(3)
        m.poly(a, x, 1.0).sum().backward()
        return [a.grad, x.grad]
    def vector():
        v = leaf(2, 3)
        m.scale3(v, 2.0).sum().backward()
        return v.grad
    def retain():
        a = leaf(3)
        s = m.square(a).sum()
        s.backward(retain_graph=True)
        s.backward()
        return a.grad
    def outp():
        a, b = leaf(3), torch.zeros(3, device="cuda")
        m.outp(a, b)
        b.sum().backward()
        return [b, a.grad]
    def result():
        a, b = leaf(3), torch.zeros(3, device="cuda")
        m.square(a, _result=b)
        b.sum().backward()
        return a.grad
    def chain():
        a = leaf(3)
        (m.square(m.square(a) * 2)).sum().backward()
        return a.grad
    def nograd():
        a = leaf(3)
        with torch.no_grad():
            return m.square(a).requires_grad
    def inout():
        a = leaf(3) * 1
        return error(m.inout_add, a, 1.0)
    def diff_tensor():
        a = leaf(2, 3)
        m.drow(a).sum().backward()
        return a.grad
    def param():
        p = torch.nn.Parameter(torch.ones(3, device="cuda"))
        m.square(p).sum().backward()
        return p.grad
    def strided():
        a = leaf(3, 2)
        m.square(a.t()).sum().backward()
        return a.grad
    def pair():
        p, g = torch.tensor([1.0, 2.0, 3.0], device="cuda"), torch.zeros(3, device="cuda")
        r, s = torch.zeros(3, device="cuda"), torch.ones(3, device="cuda")
        m.square.bwds(spy.diff_pair(p, g), spy.diff_pair(r, s))
        return g
    def optimise():
        x = torch.ones(4, device="cuda").requires_grad_()
        o = torch.optim.SGD([x], lr=0.1)
        for _ in range(5):
            o.zero_grad()
            m.square(x).sum().backward()
            o.step()
        return x
    return each(square=square, poly=poly, broadcast=broadcast, vector=vector, retain=retain, outp=outp, result=result, chain=chain, nograd=nograd, inout=inout, diff_tensor=diff_tensor, param=param, strided=strided, pair=pair, optimise=optimise)


@case(torch=True)
def torch_and_slangpy_tensors(spy, device):
    torch = cuda()
    m = load(spy, device, SOURCE)
    t = spy.Tensor.zeros(device, (2, 3), "float")
    a = torch.arange(6, dtype=torch.float32, device="cuda").reshape(2, 3)
    return each(to=lambda: t.to_torch(), frm=lambda: spy.Tensor.from_torch(device, a, "float") if hasattr(spy.Tensor, "from_torch") else "none", vec=lambda: spy.Tensor.from_torch(device, a, "float3").shape if hasattr(spy.Tensor, "from_torch") else "none", buf=lambda: t.storage.to_torch(type=spy.DataType.float32, shape=[6]), mix=lambda: m.poly(a, t, 1.0), cls=lambda: m.square(a, _result=spy.Tensor), is_=lambda: spy.is_torch_tensor(a), bridge=lambda: type(spy.is_torch_bridge_available()).__name__, raw=lambda: error(m.fill.map((), None, None), a, 1, 1.0))


SLANGTORCH = """
[AutoPyBindCUDA] [CUDAKernel]
void twice(TensorView<float> input, TensorView<float> output) { uint i = cudaThreadIdx().x + cudaBlockIdx().x * cudaBlockDim().x; if (i >= input.size(0)) return; output[i] = input[i] * FACTOR; }
[AutoPyBindCUDA] [CUDAKernel] [Differentiable]
void square(DiffTensorView input, DiffTensorView output) { uint i = cudaThreadIdx().x + cudaBlockIdx().x * cudaBlockDim().x; if (i >= input.size(0)) return; output[i] = input[i] * input[i]; }
[AutoPyBindCUDA] [CUDAKernel]
void sum_all(TensorView<float> input, TensorView<float> output) { uint i = cudaThreadIdx().x + cudaBlockIdx().x * cudaBlockDim().x; if (i >= input.size(0)) return; float old; output.InterlockedAdd(0, input[i], old); }
[AutoPyBindCUDA] [CUDAKernel]
void grid2(TensorView<float> output, int2 by, float3 v) { uint3 t = cudaThreadIdx() + cudaBlockIdx() * cudaBlockDim(); if (t.x >= output.size(0) || t.y >= output.size(1)) return; output[t.x, t.y] = t.x * by.x + t.y * by.y + v.z; }
struct Mesh { TensorView<float> vertices; TensorView<int> indices; };
[AutoPyBindCUDA] [CUDAKernel] void process(Mesh mesh, float by) { mesh.vertices[cudaThreadIdx().x] = by * mesh.indices[cudaThreadIdx().x]; }
[AutoPyBindCUDA] [CUDAKernel] void dims(TensorView<float> t, TensorView<int> o) { o[0] = t.dims(); o[1] = t.size(0); o[2] = t.size(1); o[3] = t.stride(0); o[4] = t.stride(1); }
"""


def slangtorch_module(text, **k):
    cuda()
    import slangtorch
    path = os.path.join(tempfile.mkdtemp(), "kernels.slang")
    with open(path, "w") as f:
        f.write(text)
    return slangtorch.loadModule(path, **k)


def values(*v):
    return list(map(float, v))


@case(only=("cuda",), expected={"twice": values(0, 3, 6, 9), "square": values(0, 1, 4, 9), "bwd": values(0, 2, 4, 6), "fwd": values(0, 2, 4, 6), "sum": values(6), "grid": [values(7, 27, 47), values(17, 37, 57)], "mesh": values(6, 4, 2), "dims": [2, 2, 3, 12, 4],
                                 "dimst": [2, 3, 2, 4, 12], "auto": values(0, 1, 2, 4), "unknown": True, "missing": True, "type": True, "dict": values(6, 4, 2), "tuple": values(6, 4, 2)})
def slangtorch_kernels(spy, device):
    torch = cuda()
    m = slangtorch_module(SLANGTORCH, defines={"FACTOR": 3})
    a = torch.arange(4, dtype=torch.float32, device="cuda")
    def out(*s, d=torch.float32):
        return torch.zeros(s, dtype=d, device="cuda")
    launch = {"blockSize": (32, 1, 1), "gridSize": (1, 1, 1)}
    def twice():
        o = out(4)
        m.twice(input=a, output=o).launchRaw(**launch)
        return o.tolist()
    def square():
        o = out(4)
        m.square(input=a, output=o).launchRaw(**launch)
        return o.tolist()
    def bwd():
        g, o = out(4), out(4)
        m.square.bwd(input=(a, g), output=(o, torch.ones_like(o))).launchRaw(**launch)
        return g.tolist()
    def fwd():
        o, do = out(4), out(4)
        m.square.fwd(input=(a, torch.ones_like(a)), output=(o, do)).launchRaw(**launch)
        return do.tolist()
    def total():
        o = out(1)
        m.sum_all(input=a, output=o).launchRaw(**launch)
        return o.tolist()
    def grid():
        o = out(2, 3)
        m.grid2(output=o, by=(10, 20), v=(1.0, 2.0, 7.0)).launchRaw(blockSize=(8, 8, 1), gridSize=(1, 1, 1))
        return o.tolist()
    def mesh(kind):
        v, i = out(3), torch.tensor([3, 2, 1], dtype=torch.int32, device="cuda")
        x = {"named": lambda: m.Mesh(vertices=v, indices=i), "dict": lambda: {"vertices": v, "indices": i}, "tuple": lambda: (v, i)}[kind]()
        m.process(mesh=x, by=2.0).launchRaw(blockSize=(3, 1, 1), gridSize=(1, 1, 1))
        return v.tolist()
    def dims(t):
        o = out(5, d=torch.int32)
        m.dims(t=t, o=o).launchRaw(blockSize=(1, 1, 1), gridSize=(1, 1, 1))
        return o.tolist()
    def auto():
        class Square(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                o = torch.zeros_like(x)
                m.square(input=x, output=o).launchRaw(**launch)
                ctx.save_for_backward(x, o)
                return o
            @staticmethod
            def backward(ctx, g):
                x, o = ctx.saved_tensors
                gx = torch.zeros_like(x)
                m.square.bwd(input=(x, gx), output=(o, g.contiguous())).launchRaw(**launch)
                return gx
        x = a.clone().requires_grad_()
        (Square.apply(x) * torch.tensor([1.0, 0.5, 0.5, 2 / 3], device="cuda")).sum().backward()
        return [round(v, 4) for v in x.grad.tolist()]
    def raises(f):
        try:
            f()
            return False
        except Exception:
            return True
    return {"twice": twice(), "square": square(), "bwd": bwd(), "fwd": fwd(), "sum": total(), "grid": grid(), "mesh": mesh("named"), "dims": dims(out(2, 3)), "dimst": dims(out(2, 3).t()), "auto": auto(), "unknown": raises(lambda: m.twice(zzz=a).launchRaw(**launch)), "missing": raises(lambda: m.twice(input=a).launchRaw(**launch)),
            "type": raises(lambda: m.twice(input=1.0, output=a).launchRaw(**launch)), "dict": mesh("dict"), "tuple": mesh("tuple")}


HOST = """
[CudaDeviceExport] [Differentiable] float cube(float x) { return x * x * x; }
[CudaKernel] void cube_kernel(TensorView<float> x, TensorView<float> y) { uint i = cudaThreadIdx().x; if (i < x.size(0)) y[i] = cube(x[i]); }
[TorchEntryPoint] export __extern_cpp TorchTensor<float> cubes(TorchTensor<float> x) { var y = TorchTensor<float>.zerosLike(x); let n = x.size(0); __dispatch_kernel(cube_kernel, uint3(1, 1, 1), uint3(n, 1, 1))(x, y); return y; }
"""


@case(only=("cuda",), expected=[0.0, 1.0, 8.0, 27.0])
def slangtorch_entry_points(spy, device):
    torch = cuda()
    m = slangtorch_module(HOST)
    return m.cubes(torch.arange(4, dtype=torch.float32, device="cuda")).tolist()


ATTRS = """
[AutoPyBindCUDA] [CUDAKernel] [Differentiable]
void mlp(no_diff float by, DiffTensorView a, DiffTensorView b, DiffTensorView o) { uint3 t = cudaThreadIdx() + cudaBlockIdx() * cudaBlockDim(); if (t.x >= o.size(0) || t.y >= o.size(1)) return; o.storeOnce(uint2(t.xy), a[uint2(t.x, 0)] * b[uint2(t.y, 0)] * by); }
[AutoPyBindCUDA] [CUDAKernel] void vec(TensorView<float3> v, TensorView<float> o) { uint i = cudaThreadIdx().x; o[i] = v[i].y; }
[AutoPyBindCUDA] [CUDAKernel] void typed(TensorView<int> i, TensorView<double> d, TensorView<half> h, TensorView<bool> b) { uint k = cudaThreadIdx().x; d[k] = i[k] * 0.5; h[k] = half(i[k]); b[k] = i[k] > 1; }
"""


@case(only=("cuda",), expected={"o": [[0.0, 0.0], [4.0, 6.0], [8.0, 12.0]], "ga": [10.0, 10.0, 10.0], "gb": [6.0, 6.0], "d": [0.0, 0.5, 1.0], "h": [0.0, 1.0, 2.0], "b": [False, False, True], "rank": "raises", "dtype": "raises"})
def slangtorch_gradients_and_types(spy, device):
    torch = cuda()
    m = slangtorch_module(ATTRS)
    dev = {"device": "cuda"}
    a, b, o = torch.arange(3.0, **dev).reshape(3, 1), torch.tensor([[2.0], [3.0]], **dev), torch.zeros(3, 2, **dev)
    ga, gb = torch.zeros_like(a), torch.zeros_like(b)
    launch = {"blockSize": (4, 4, 1), "gridSize": (1, 1, 1)}
    m.mlp(by=2.0, a=a, b=b, o=o).launchRaw(**launch)
    m.mlp.bwd(by=2.0, a=(a, ga), b=(b, gb), o=(o, torch.ones_like(o))).launchRaw(**launch)
    i, d, h, t = torch.arange(3, dtype=torch.int32, **dev), torch.zeros(3, dtype=torch.float64, **dev), torch.zeros(3, dtype=torch.float16, **dev), torch.zeros(3, dtype=torch.bool, **dev)
    m.typed(i=i, d=d, h=h, b=t).launchRaw(blockSize=(3, 1, 1), gridSize=(1, 1, 1))
    return {"o": o.tolist(), "ga": ga.reshape(-1).tolist(), "gb": gb.reshape(-1).tolist(), "d": d.tolist(), "h": h.tolist(), "b": t.tolist(), "rank": fails(lambda: m.mlp(by="x", a=a, b=b, o=o).launchRaw(**launch)),
            "dtype": fails(lambda: m.typed(i=d, d=d, h=h, b=t).launchRaw(**launch))}

"""Kernels by keywords: elements of all types, dimensions, strides, what a launch refuses."""
import torch

from themes import Theme, arange, attempt, each, line, plane, tensor, zeros

ELEMENTS = Theme("elements")


@ELEMENTS.program("""
[AutoPyBindCUDA]
[CUDAKernel]
void saxpy(TensorView<float> x, TensorView<float> y, float a, TensorView<float> result)
{
    uint3 dispatchIdx = cudaThreadIdx() + cudaBlockIdx() * cudaBlockDim();
    if (dispatchIdx.x >= x.size(0))
        return;
    result[dispatchIdx.x] = a * x[dispatchIdx.x] + y[dispatchIdx.x];
}
""")
def saxpy(m):
    x, y, out = torch.linspace(0, 1, 100).cuda(), torch.linspace(5, 4, 100).cuda(), zeros(100)
    given = m.saxpy(x=x, y=y, a=2.5, result=out).launchRaw(blockSize=(32, 1, 1), gridSize=(4, 1, 1))
    return {"out": out, "returned": given, "by_int": attempt(lambda: line(m.saxpy(x=x, y=y, a=2, result=out), 100) or out), "other order": attempt(lambda: line(m.saxpy(result=out, a=0.5, y=x, x=y), 100) or out)}


@ELEMENTS.program("""
[AutoPyBindCUDA] [CudaKernel]
void double_ints(TensorView<int> a, TensorView<int> b) { uint i = cudaThreadIdx().x; if (i < a.size(0)) b[i] = a[i] * 2 - 7; }
[AutoPyBindCUDA] [CudaKernel]
void wide_ints(TensorView<int64_t> a, TensorView<int64_t> b) { uint i = cudaThreadIdx().x; if (i < a.size(0)) b[i] = a[i] * 3000000000LL + 1; }
[AutoPyBindCUDA] [CudaKernel]
void bytes(TensorView<uint8_t> a, TensorView<uint8_t> b) { uint i = cudaThreadIdx().x; if (i < a.size(0)) b[i] = uint8_t(255 - a[i]); }
[AutoPyBindCUDA] [CudaKernel]
void small_ints(TensorView<int8_t> a, TensorView<int16_t> b) { uint i = cudaThreadIdx().x; if (i < a.size(0)) b[i] = int16_t(int(a[i]) * 300); }
""")
def integers(m):
    a, b = arange(6, dtype=torch.int32), zeros(6, dtype=torch.int32)
    c, d = arange(6, dtype=torch.int64, start=-2), zeros(6, dtype=torch.int64)
    e, f = tensor([0, 1, 200, 255], torch.uint8), zeros(4, dtype=torch.uint8)
    g, h = tensor([-100, 0, 5, 100], torch.int8), zeros(4, dtype=torch.int16)
    return each(int32=lambda: line(m.double_ints(a=a, b=b), 6) or b, int64=lambda: line(m.wide_ints(a=c, b=d), 6) or d, uint8=lambda: line(m.bytes(a=e, b=f), 4) or f,
                int8=lambda: line(m.small_ints(a=g, b=h), 4) or h)


@ELEMENTS.program("""
[AutoPyBindCUDA] [CudaKernel]
void doubles(TensorView<double> a, TensorView<double> b) { uint i = cudaThreadIdx().x; if (i < a.size(0)) b[i] = sqrt(a[i]) / 3.0L; }
[AutoPyBindCUDA] [CudaKernel]
void halves(TensorView<half> a, TensorView<half> b, half s) { uint i = cudaThreadIdx().x; if (i < a.size(0)) b[i] = a[i] * s + half(0.25); }
""")
def doubles_and_halves(m):
    a, b = torch.arange(5, dtype=torch.float64, device="cuda"), zeros(5, dtype=torch.float64)
    c, d = torch.linspace(-2, 2, 9, dtype=torch.float16).cuda(), zeros(9, dtype=torch.float16)
    return each(double=lambda: line(m.doubles(a=a, b=b), 5) or b, half=lambda: line(m.halves(a=c, b=d, s=1.5), 9) or d)


BOOLS = Theme("bools")


@BOOLS.program("""
[AutoPyBindCUDA] [CudaKernel]
void mask(TensorView<float> x, TensorView<bool> keep, float threshold, bool flip)
{
    uint i = cudaBlockIdx().x * cudaBlockDim().x + cudaThreadIdx().x;
    if (i >= x.size(0)) return;
    bool above = x[i] > threshold;
    keep[i] = flip ? !above : above;
}
[AutoPyBindCUDA] [CudaKernel]
void select_by(TensorView<bool> keep, TensorView<float> x, TensorView<float> y) { uint i = cudaThreadIdx().x; if (i < x.size(0)) y[i] = keep[i] ? x[i] : -1.0; }
""")
def bool_masks(m):
    x, keep, y = torch.linspace(-1, 1, 7).cuda(), zeros(7, dtype=torch.bool), zeros(7)
    return each(mask=lambda: line(m.mask(x=x, keep=keep, threshold=0.1, flip=False), 7) or keep, flip=lambda: line(m.mask(x=x, keep=keep, threshold=0.1, flip=True), 7) or keep,
                select=lambda: line(m.select_by(keep=x > 0, x=x, y=y), 7) or y, as_int=lambda: line(m.mask(x=x, keep=keep, threshold=0, flip=1), 7) or keep)


UINTS = Theme("uints")


@UINTS.program("""
[AutoPyBindCUDA] [CudaKernel]
void hashes(TensorView<uint> seeds, TensorView<uint> out)
{
    uint i = cudaBlockIdx().x * cudaBlockDim().x + cudaThreadIdx().x;
    if (i >= out.size(0)) return;
    uint h = seeds[i] * 747796405u + 2891336453u;
    h = ((h >> ((h >> 28u) + 4u)) ^ h) * 277803737u;
    out[i] = (h >> 22u) ^ h;
}
""")
def hashes_of_uints(m):
    """torch has had uint32 for a while; before that users gave int32 for TensorView<uint>."""
    i32, o32 = arange(5, dtype=torch.int32), zeros(5, dtype=torch.int32)
    u32, v32 = torch.arange(5, dtype=torch.int64).to(torch.uint32).cuda(), torch.zeros(5, dtype=torch.uint32).cuda()
    return each(int32=lambda: line(m.hashes(seeds=i32, out=o32), 5) or o32, uint32=lambda: line(m.hashes(seeds=u32, out=v32), 5) or v32.to(torch.int64))


VECTORS = Theme("vectors")


@VECTORS.program("""
[AutoPyBindCUDA] [CudaKernel]
void normalize_all(TensorView<float3> v, TensorView<float3> out)
{
    uint i = cudaBlockIdx().x * cudaBlockDim().x + cudaThreadIdx().x;
    if (i >= v.size(0)) return;
    out[i] = normalize(v[i]);
}
[AutoPyBindCUDA] [CudaKernel]
void lengths(TensorView<float2> a, TensorView<float4> b, TensorView<float> out)
{
    uint i = cudaThreadIdx().x;
    if (i < a.size(0)) out[i] = length(a[i]) + b[i].w;
}
[AutoPyBindCUDA] [CudaKernel]
void image_of_colors(TensorView<float4> image)
{
    uint2 p = (cudaBlockIdx() * cudaBlockDim() + cudaThreadIdx()).xy;
    if (p.x >= image.size(0) || p.y >= image.size(1)) return;
    image[p] = float4(p.x, p.y, p.x * p.y, 1);
}
[AutoPyBindCUDA] [CudaKernel]
void vector_dims(TensorView<float3> v, TensorView<int> out) { out[0] = v.dims(); out[1] = v.size(0); out[2] = v.stride(0); }
""")
def vectors_of_floats(m):
    v = torch.tensor([[1.0, 2, 2], [0, 3, 4], [5, 0, 0]]).cuda()
    out, a, b, c = torch.zeros_like(v), arange(3, 2), arange(3, 4), zeros(3)
    image, wide, dims = zeros(2, 3, 4), zeros(3, 4), zeros(3, dtype=torch.int32)
    run = {"blockSize": (4, 1, 1), "gridSize": (1, 1, 1)}
    return each(normal=lambda: m.normalize_all(v=v, out=out).launchRaw(**run) or out, lengths=lambda: m.lengths(a=a, b=b, out=c).launchRaw(**run) or c,
                image=lambda: plane(m.image_of_colors(image=image), 2, 3) or image, dims=lambda: m.vector_dims(v=v, out=dims).launchRaw(**run) or dims,
                wrong_last=lambda: m.normalize_all(v=wide, out=out).launchRaw(**run) or out, sliced=lambda: m.normalize_all(v=arange(6, 3, start=1)[::2], out=out).launchRaw(**run) or out,
                transposed=lambda: m.normalize_all(v=arange(3, 3, start=1).t(), out=out).launchRaw(**run) or out)


@VECTORS.program("""
[AutoPyBindCUDA] [CudaKernel]
void of_ints(TensorView<int3> faces, TensorView<float> area, TensorView<float2> points)
{
    uint i = cudaThreadIdx().x;
    if (i >= faces.size(0)) return;
    int3 f = faces[i];
    float2 e = points[f.y] - points[f.x], g = points[f.z] - points[f.x];
    area[i] = 0.5 * abs(e.x * g.y - e.y * g.x);
}
""")
def triangles_of_ints(m):
    faces, points, area = tensor([[0, 1, 2], [0, 2, 3]], torch.int32), tensor([[0, 0], [2, 0], [2, 3], [0, 3]]), zeros(2)
    return each(area=lambda: line(m.of_ints(faces=faces, area=area, points=points), 2) or area)


SHAPES = Theme("shapes")


@SHAPES.program("""
[AutoPyBindCUDA] [CudaKernel]
void rank1(TensorView<float> t) { uint3 i = cudaBlockIdx() * cudaBlockDim() + cudaThreadIdx(); if (i.x < t.size(0)) t[i.x] = i.x; }
[AutoPyBindCUDA] [CudaKernel]
void rank2(TensorView<float> t) { uint3 i = cudaBlockIdx() * cudaBlockDim() + cudaThreadIdx(); if (i.x < t.size(0) && i.y < t.size(1)) t[i.x, i.y] = i.x * 10 + i.y; }
[AutoPyBindCUDA] [CudaKernel]
void rank3(TensorView<float> t) { uint3 i = cudaBlockIdx() * cudaBlockDim() + cudaThreadIdx(); if (i.x < t.size(0) && i.y < t.size(1) && i.z < t.size(2)) t[i] = i.x * 100 + i.y * 10 + i.z; }
[AutoPyBindCUDA] [CudaKernel]
void rank4(TensorView<float> t)
{
    uint3 i = cudaThreadIdx();
    for (uint n = 0; n < t.size(3); n++) t[uint4(i, n)] = i.x * 1000 + i.y * 100 + i.z * 10 + n;
}
[AutoPyBindCUDA] [CudaKernel]
void rank5(TensorView<float> t)
{
    uint3 i = cudaThreadIdx();
    for (uint n = 0; n < t.size(3); n++)
        for (uint k = 0; k < t.size(4); k++) t[i.x, i.y, i.z, n, k] = i.x * 10000 + i.y * 1000 + i.z * 100 + n * 10 + k;
}
""")
def one_to_five_dimensions(m):
    a, b, c, d, e = zeros(5), zeros(3, 4), zeros(2, 3, 2), zeros(2, 2, 1, 3), zeros(2, 1, 2, 2, 2)
    one = (1, 1, 1)
    return each(one=lambda: m.rank1(t=a).launchRaw(blockSize=(8, 1, 1), gridSize=one) or a, two=lambda: m.rank2(t=b).launchRaw(blockSize=(4, 4, 1), gridSize=one) or b,
                three=lambda: m.rank3(t=c).launchRaw(blockSize=(2, 2, 2), gridSize=(1, 2, 1)) or c, four=lambda: m.rank4(t=d).launchRaw(blockSize=(2, 2, 1), gridSize=one) or d,
                five=lambda: m.rank5(t=e).launchRaw(blockSize=(2, 1, 2), gridSize=one) or e, six=lambda: m.rank1(t=zeros(1, 1, 1, 1, 1, 1)).launchRaw(blockSize=(1, 1, 1), gridSize=one))


@SHAPES.program("""
[AutoPyBindCUDA] [CudaKernel]
void describe(TensorView<float> t, TensorView<int> o)
{
    o[0] = t.dims();
    for (uint i = 0; i < t.dims(); i++) { o[1 + i] = t.size(i); o[6 + i] = t.stride(i); }
}
[AutoPyBindCUDA] [CudaKernel]
void copy2(TensorView<float> a, TensorView<float> b) { uint2 p = cudaThreadIdx().xy; if (p.x < b.size(0) && p.y < b.size(1)) b[p] = a[p]; }
""")
def sizes_strides_and_views(m):
    a = arange(4, 6)
    one = {"blockSize": (1, 1, 1), "gridSize": (1, 1, 1)}
    full = {"blockSize": (8, 8, 1), "gridSize": (1, 1, 1)}

    def describe(t):
        o = zeros(11, dtype=torch.int32)
        m.describe(t=t, o=o).launchRaw(**one)
        return o.tolist()

    def copy(t):
        b = torch.full(tuple(t.shape), -1.0, device="cuda")
        m.copy2(a=t, b=b).launchRaw(**full)
        return b

    def write_into_transposed():
        b = zeros(6, 4)
        m.copy2(a=a, b=b.t()).launchRaw(**full)
        return b

    return each(plain=lambda: describe(a), transposed=lambda: describe(a.t()), sliced=lambda: describe(a[::2, 1:4]), expanded=lambda: describe(a[:, :1].expand(4, 3)), zero=lambda: describe(zeros(0, 3)),
                three=lambda: describe(arange(2, 3, 4).permute(2, 0, 1)), scalar=lambda: describe(torch.tensor(3.0, device="cuda")), copy_t=lambda: copy(a.t()), copy_slice=lambda: copy(a[::2, 1:4]),
                copy_flip=lambda: copy(a.flip(0)), copy_expand=lambda: copy(a[:1].expand(3, 6)), copy_narrow=lambda: copy(a.narrow(1, 2, 3)), into_t=write_into_transposed,
                diagonal=lambda: describe(a.diagonal()))


@SHAPES.program("""
[AutoPyBindCUDA] [CudaKernel]
void count_up(TensorView<float> t) { uint i = cudaBlockIdx().x * cudaBlockDim().x + cudaThreadIdx().x; if (i < t.size(0)) t[i] += 1; }
""")
def empty_tensors_and_launches_again(m):
    t, e = zeros(10), zeros(0)

    def twice():
        launch = m.count_up(t=t)
        launch.launchRaw(blockSize=(16, 1, 1), gridSize=(1, 1, 1))
        launch.launchRaw(blockSize=(16, 1, 1), gridSize=(1, 1, 1))
        return t.clone()

    def on_stream():
        s, x = torch.cuda.Stream(), zeros(10)
        s.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(s):
            for _ in range(5):
                m.count_up(t=x).launchRaw(blockSize=(16, 1, 1), gridSize=(1, 1, 1))
        torch.cuda.current_stream().wait_stream(s)
        return x

    return each(empty=lambda: m.count_up(t=e).launchRaw(blockSize=(16, 1, 1), gridSize=(1, 1, 1)) or e, twice=twice, no_threads=lambda: m.count_up(t=t).launchRaw(blockSize=(16, 1, 1), gridSize=(0, 1, 1)) or t.clone(),
                stream=on_stream, storage_offset=lambda: m.count_up(t=t[5:]).launchRaw(blockSize=(16, 1, 1), gridSize=(1, 1, 1)) or t.clone(),
                requires_grad=lambda: m.count_up(t=torch.zeros(3, device="cuda", requires_grad=True)).launchRaw(blockSize=(4, 1, 1), gridSize=(1, 1, 1)))


LAUNCHES = Theme("launches")


@LAUNCHES.program("""
[AutoPyBindCUDA] [CudaKernel]
void scaled(TensorView<float> input, TensorView<float> output, float by, int n, uint k)
{
    uint i = cudaBlockIdx().x * cudaBlockDim().x + cudaThreadIdx().x;
    if (i < input.size(0)) output[i] = input[i] * by + n + k;
}
""")
def wrong_arguments(m):
    a, b = arange(4), zeros(4)
    run = {"blockSize": (4, 1, 1), "gridSize": (1, 1, 1)}

    def go(**changed):
        k = {"input": a, "output": b, "by": 2.0, "n": 1, "k": 2, **changed}
        b.zero_()
        m.scaled(**{name: v for name, v in k.items() if v is not Ellipsis}).launchRaw(**run)
        return b.clone()

    return each(good=go, missing=lambda: go(by=...), missing_tensor=lambda: go(output=...), unknown=lambda: go(other=1), positional=lambda: m.scaled(a, b, 2.0, 1, 2).launchRaw(**run) or b, text=lambda: go(by="2"),
                none=lambda: go(input=None), float_for_int=lambda: go(n=1.5), negative_for_uint=lambda: go(k=-1), big_for_int=lambda: go(n=1 << 40), bool_for_float=lambda: go(by=True), tensor_for_float=lambda: go(by=torch.tensor(3.0)),
                numpy_for_float=lambda: go(by=__import__("numpy").float32(3)), numpy_for_int=lambda: go(n=__import__("numpy").int64(3)), gpu_for_float=lambda: go(by=torch.tensor(3.0, device="cuda")), list_for_tensor=lambda: go(input=[1.0, 2.0]),
                cpu_tensor=lambda: go(input=torch.arange(4.0)), cpu_output=lambda: go(output=torch.zeros(4)), double_tensor=lambda: go(input=a.double()), int_tensor=lambda: go(input=a.int()), half_tensor=lambda: go(output=b.half()),
                numpy_array=lambda: go(input=__import__("numpy").zeros(4, "float32")), parameter=lambda: go(input=torch.nn.Parameter(a.clone())), number_for_tensor=lambda: go(input=3.0),
                item=lambda: go(n=torch.tensor(3).item()), inf=lambda: go(by=float("inf")))


@LAUNCHES.program("""
[AutoPyBindCUDA] [CudaKernel]
void threads(TensorView<int> o)
{
    uint3 t = cudaThreadIdx(), b = cudaBlockIdx(), d = cudaBlockDim();
    if (t.x + t.y + t.z + b.x + b.y + b.z == 0) { o[0] = d.x; o[1] = d.y; o[2] = d.z; }
    int old;
    o.InterlockedAdd(uint(3), 1, old);
}
""")
def sizes_of_launches(m):
    def go(block, grid, **more):
        o = zeros(4, dtype=torch.int32)
        m.threads(o=o).launchRaw(blockSize=block, gridSize=grid, **more)
        return o.tolist()

    def by_position():
        o = zeros(4, dtype=torch.int32)
        m.threads(o=o).launchRaw((2, 3, 1), (4, 1, 1))
        return o.tolist()

    return each(plain=lambda: go((2, 3, 1), (4, 1, 1)), three=lambda: go((2, 3, 4), (2, 1, 2)), lists=lambda: go([2, 3, 1], [4, 1, 1]), position=by_position, one=lambda: go((8,), (2,)), two=lambda: go((8, 2), (2, 2)), ints=lambda: go(8, 2),
                four=lambda: go((8, 1, 1, 1), (1, 1, 1, 1)), mixed=lambda: go((8, 1, 1), (2,)), floats=lambda: go((8.0, 1, 1), (1, 1, 1)), many=lambda: go((1024, 1, 1), (3, 1, 1)), too_many=lambda: go((2048, 1, 1), (1, 1, 1)),
                product=lambda: go((64, 32, 1), (1, 1, 1)), zero_block=lambda: go((0, 1, 1), (1, 1, 1)), zero_grid=lambda: go((1, 1, 1), (1, 0, 1)), negative=lambda: go((-1, 1, 1), (1, 1, 1)), high_z=lambda: go((1, 1, 128), (1, 1, 1)),
                high_grid=lambda: go((1, 1, 1), (1, 70000, 1)), missing=lambda: m.threads(o=zeros(4, dtype=torch.int32)).launchRaw(blockSize=(1, 1, 1)), unknown=lambda: go((1, 1, 1), (1, 1, 1), stream=0),
                shared=lambda: go((1, 1, 1), (1, 1, 1), sharedMem=0), numpy=lambda: go(tuple(__import__("numpy").array([8, 1, 1])), (1, 1, 1)), tensors=lambda: go((torch.tensor(8), 1, 1), (1, 1, 1)))


NOTHING = Theme("nothing")


@NOTHING.program("""
[AutoPyBindCUDA] [CudaKernel]
void nothing() {}
""")
def kernel_without_parameters(m):
    return each(run=lambda: m.nothing().launchRaw(blockSize=(1, 1, 1), gridSize=(1, 1, 1)), unknown=lambda: m.nothing(a=1), names=lambda: hasattr(m, "nothing"), other=lambda: m.something)

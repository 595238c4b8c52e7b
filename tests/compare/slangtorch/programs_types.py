"""Matrices in parameters, structs and views; tensors in structs and arrays of host functions; bytes, masks, indices; modules that share files."""
import torch

from themes import Theme, arange, each, line, load, noise, plane, tensor, write, zeros

MATRIX_FIELDS = Theme("matrix_fields")


@MATRIX_FIELDS.program("""
struct View { float4x4 camera; float3 origin; float scale; };
[AutoPyBindCUDA] [CudaKernel]
void project(View view, TensorView<float> x, TensorView<float> y)
{
    uint i = cudaThreadIdx().x;
    if (i >= x.size(0)) return;
    float4 p = mul(view.camera, float4(float3(x[i, 0], x[i, 1], x[i, 2]) - view.origin, 1)) * view.scale;
    y[i, 0] = p.x; y[i, 1] = p.y; y[i, 2] = p.z; y[i, 3] = view.camera[1][2] + view.camera._m20;
}
""")
def matrices_in_structs(m):
    rows = tuple(tuple(float(4 * r + c) for c in range(4)) for r in range(4))

    def go(view):
        y = zeros(3, 4)
        line(m.project(view=view, x=arange(3, 3), y=y), 3)
        return y

    return each(dict=lambda: go({"camera": rows, "origin": (1.0, 2.0, 3.0), "scale": 0.5}), tuple=lambda: go((rows, (1.0, 2.0, 3.0), 0.5)), named=lambda: go(m.View(camera=rows, origin=(0, 0, 0), scale=1)),
                lists=lambda: go({"camera": torch.tensor(rows).tolist(), "origin": [0.0, 0.0, 0.0], "scale": 2.0}), short=lambda: go((rows[:3], (1.0, 2.0, 3.0), 0.5)), flat=lambda: go((tuple(range(16)), (1.0, 2.0, 3.0), 0.5)))


@MATRIX_FIELDS.program("""
struct Bones { float3x3 rotations[2]; float3 shifts[2]; };
[AutoPyBindCUDA] [CudaKernel]
void skin(Bones bones, TensorView<float> x, TensorView<float> y)
{
    uint i = cudaThreadIdx().x;
    if (i >= x.size(0)) return;
    float3 p = float3(x[i, 0], x[i, 1], x[i, 2]), sum = float3(0);
    for (int k = 0; k < 2; k++) sum += mul(bones.rotations[k], p) + bones.shifts[k];
    for (int c = 0; c < 3; c++) y[i, c] = sum[c];
}
""")
def arrays_of_matrices(m):
    a, b = ((1.0, 2.0, 3.0), (0.0, 1.0, 0.0), (5.0, 0.0, 0.5)), ((0.0, 1.0, 0.0), (0.0, 0.0, 1.0), (1.0, 0.0, 0.0))

    def go(bones):
        y = zeros(2, 3)
        line(m.skin(bones=bones, x=arange(2, 3), y=y), 2)
        return y

    return each(tuple=lambda: go(((a, b), ((1.0, 2.0, 3.0), (4.0, 5.0, 6.0)))), dict=lambda: go({"rotations": (a, b), "shifts": ((0.0, 0.0, 0.0), (1.0, 1.0, 1.0))}), named=lambda: go(m.Bones(rotations=(b, a), shifts=((0.0, 0.0, 0.0), (0.0, 0.0, 0.0)))))


WIDE_MATRICES = Theme("wide_matrices")


@WIDE_MATRICES.program("""
[AutoPyBindCUDA] [CudaKernel]
void rectangular(float2x3 a, float3x2 b, float4x3 c, TensorView<float> o)
{
    if (cudaThreadIdx().x > 0) return;
    float2 v = mul(a, float3(1, 10, 100));
    float3 w = mul(b, float2(1, 10));
    float4 u = mul(c, float3(1, 10, 100));
    o[0] = v.x; o[1] = v.y; o[2] = w.x; o[3] = w.y; o[4] = w.z; o[5] = u.x; o[6] = u.y; o[7] = u.z; o[8] = u.w; o[9] = a[1][0]; o[10] = b[2][1];
}
""")
def rectangular_matrices(m):
    def go(a, b, c):
        o = zeros(11)
        m.rectangular(a=a, b=b, c=c, o=o).launchRaw(blockSize=(1, 1, 1), gridSize=(1, 1, 1))
        return o

    a, b, c = ((1.0, 2.0, 3.0), (4.0, 5.0, 6.0)), ((1.0, 2.0), (3.0, 4.0), (5.0, 6.0)), ((1.0, 2.0, 3.0), (4.0, 5.0, 6.0), (7.0, 8.0, 9.0), (10.0, 11.0, 12.0))
    return each(tuples=lambda: go(a, b, c), turned=lambda: go(b, a, c), lists=lambda: go([list(r) for r in a], b, c))


@WIDE_MATRICES.program("""
[AutoPyBindCUDA] [CudaKernel] [Differentiable]
void rotate(no_diff float3x3 by, DiffTensorView x, DiffTensorView y)
{
    uint i = cudaThreadIdx().x;
    if (i >= x.size(0)) return;
    float3 v = mul(by, float3(x[i, 0], x[i, 1], x[i, 2]));
    y[i, 0] = v.x; y[i, 1] = v.y; y[i, 2] = v.z;
}
""")
def matrix_beside_pairs(m):
    by, x = ((1.0, 2.0, 3.0), (0.0, 1.0, 0.0), (5.0, 0.0, 0.5)), arange(2, 3)

    def bwd():
        g, y, dy = zeros(2, 3), zeros(2, 3), arange(2, 3, start=1)
        line(m.rotate.bwd(by=by, x=(x, g), y=(y, dy)), 2)
        return g

    def plain():
        y = zeros(2, 3)
        line(m.rotate(by=by, x=x, y=y), 2)
        return y

    return each(plain=plain, bwd=bwd)


MATRIX_VIEWS = Theme("matrix_views")


@MATRIX_VIEWS.program("""
[AutoPyBindCUDA] [CudaKernel]
void apply_each(TensorView<float3x3> by, TensorView<float3> x, TensorView<float3> y) { uint i = cudaThreadIdx().x; if (i < y.size(0)) y[i] = mul(by[i], x[i]); }
[AutoPyBindCUDA] [CudaKernel]
void turn_each(TensorView<float3x3> a, TensorView<float3x3> b) { uint i = cudaThreadIdx().x; if (i < a.size(0)) b[i] = transpose(a[i]) * 2; }
[AutoPyBindCUDA] [CudaKernel]
void sizes_of_matrices(TensorView<float3x3> a, TensorView<int> o) { o[0] = a.dims(); o[1] = a.size(0); o[2] = a.stride(0); }
""")
def views_of_matrices(m):
    a, x = arange(2, 3, 3), arange(2, 3)
    y, b, o = zeros(2, 3), zeros(2, 3, 3), zeros(3, dtype=torch.int32)
    one = {"blockSize": (4, 1, 1), "gridSize": (1, 1, 1)}
    return each(apply=lambda: m.apply_each(by=a, x=x, y=y).launchRaw(**one) or y, turn=lambda: m.turn_each(a=a, b=b).launchRaw(**one) or b, sizes=lambda: m.sizes_of_matrices(a=a, o=o).launchRaw(blockSize=(1, 1, 1), gridSize=(1, 1, 1)) or o)


HOST_STRUCTS = Theme("host_structs", """
[CudaKernel] void add_into(TensorView<float> a, TensorView<float> b, float by) { uint i = cudaThreadIdx().x + cudaBlockIdx().x * cudaBlockDim().x; if (i < a.size(0)) a[i] += b[i] * by; }
[CudaKernel] void smooth(TensorView<float> a, TensorView<float> b)
{
    int i = int(cudaThreadIdx().x + cudaBlockIdx().x * cudaBlockDim().x), n = int(a.size(0));
    if (i < n) b[uint(i)] = 0.25 * a[uint(max(i - 1, 0))] + 0.5 * a[uint(i)] + 0.25 * a[uint(min(i + 1, n - 1))];
}
""")


@HOST_STRUCTS.program("""
struct Field { TorchTensor<float> values; float weight; };
struct Fields { Field left; Field right; int count; };
[TorchEntryPoint]
TorchTensor<float> mix(Fields f)
{
    var o = TorchTensor<float>.zerosLike(f.left.values);
    let groups = uint3((f.left.values.size(0) + 31) / 32, 1, 1);
    let threads = uint3(32, 1, 1);
    for (int k = 0; k < f.count; k++)
    {
        __dispatch_kernel(add_into, groups, threads)(o, f.left.values, f.left.weight);
        __dispatch_kernel(add_into, groups, threads)(o, f.right.values, f.right.weight);
    }
    return o;
}
[TorchEntryPoint]
Fields rearranged(Fields f)
{
    Fields o;
    o.left = f.right;
    o.right.values = f.left.values;
    o.right.weight = f.left.weight * 2;
    o.count = f.count + 1;
    return o;
}
""")
def nested_structs_of_tensors(m):
    a, b = arange(40), noise(40)
    return each(mix=lambda: m.mix(((a, 0.5), (b, 2.0), 2)), lists=lambda: m.mix([[a, 0.5], [b, 2.0], 1]), rearranged=lambda: m.rearranged(((a, 0.5), (b, 2.0), 2)), again=lambda: m.mix(m.rearranged(((a, 0.5), (b, 2.0), 2))),
                short=lambda: m.mix(((a, 0.5), 2)), cpu=lambda: m.mix(((a, 0.5), (torch.zeros(40, dtype=torch.float64), 2.0), 2)))


@HOST_STRUCTS.program("""
[TorchEntryPoint]
TorchTensor<float> smoothed(TorchTensor<float> t, int times)
{
    var a = TorchTensor<float>.zerosLike(t);
    let groups = uint3((t.size(0) + 31) / 32, 1, 1);
    let threads = uint3(32, 1, 1);
    __dispatch_kernel(add_into, groups, threads)(a, t, 1.0);
    for (int k = 0; k < times; k++)
    {
        var b = TorchTensor<float>.emptyLike(t);
        __dispatch_kernel(smooth, groups, threads)(a, b);
        a = b;
    }
    return a;
}
[CudaKernel] void add_pairs(TensorView<float> a, int step) { uint i = (cudaThreadIdx().x + cudaBlockIdx().x * cudaBlockDim().x) * step * 2; if (i + step < a.size(0)) a[i] += a[i + step]; }
[TorchEntryPoint]
TorchTensor<float> tree_sum(TorchTensor<float> t)
{
    var a = TorchTensor<float>.zerosLike(t);
    let threads = uint3(64, 1, 1);
    let all = uint3((t.size(0) + 63) / 64, 1, 1);
    __dispatch_kernel(add_into, all, threads)(a, t, 1.0);
    int step = 1;
    while (step < int(t.size(0)))
    {
        let groups = uint3((t.size(0) / (2 * step) + 64) / 64, 1, 1);
        __dispatch_kernel(add_pairs, groups, threads)(a, step);
        step *= 2;
    }
    return a;
}
""")
def dispatches_in_loops(m):
    t = noise(200)
    return each(none=lambda: m.smoothed(t, 0), one=lambda: m.smoothed(t, 1), many=lambda: m.smoothed(t, 50), tree=lambda: m.tree_sum(arange(200))[0], odd=lambda: m.tree_sum(arange(77))[0], unchanged=lambda: m.smoothed(t, 5).data_ptr() == t.data_ptr())


@HOST_STRUCTS.program("""
uint3 groups_for(uint n, uint block) { return uint3((n + block - 1) / block, 1, 1); }
T scaled_by<T : __BuiltinFloatingPointType>(T a, int n) { T sum = T(0); for (int i = 0; i < n; i++) sum = sum + a; return sum; }
[TorchEntryPoint]
TorchTensor<float> with_helpers(TorchTensor<float> t, TorchTensor<float> more[2], bool fresh)
{
    var o = t;
    if (fresh) o = TorchTensor<float>.zerosLike(t);
    let threads = uint3(16, 1, 1);
    let groups = groups_for(t.size(0), 16);
    __dispatch_kernel(add_into, groups, threads)(o, more[0], 2.0);
    __dispatch_kernel(add_into, groups, threads)(o, more[1], scaled_by(0.5f, 3));
    return o;
}
""")
def helpers_and_arrays_of_tensors(m):
    return each(fresh=lambda: m.with_helpers(arange(30), (arange(30), noise(30)), True), in_place=lambda: m.with_helpers(arange(30), (arange(30), noise(30)), False), lists=lambda: m.with_helpers(arange(30), [arange(30), noise(30)], True))


BYTES = Theme("bytes")


@BYTES.program("""
[AutoPyBindCUDA] [CudaKernel]
void brighten(TensorView<uint8_t> image, TensorView<bool> mask, float gain, TensorView<uint8_t> o)
{
    uint3 p = cudaBlockIdx() * cudaBlockDim() + cudaThreadIdx();
    if (p.x >= image.size(0) || p.y >= image.size(1)) return;
    for (uint c = 0; c < image.size(2); c++)
    {
        uint3 at = uint3(p.xy, c);
        float v = float(image[at]);
        o[at] = mask[p.xy] ? uint8_t(clamp(v * gain + 0.5, 0, 255)) : uint8_t(image[at] / 2);
    }
}
""")
def byte_images_and_masks(m):
    image, mask = (noise(6, 5, 3) * 255).to(torch.uint8), noise(6, 5, seed=3) > 0.5

    def go(image, mask):
        o = torch.zeros(tuple(image.shape), dtype=torch.uint8, device="cuda")
        plane(m.brighten(image=image, mask=mask, gain=1.7, o=o), 6, 5)
        return o

    return each(plain=lambda: go(image, mask), planes=lambda: go(image.permute(2, 0, 1).contiguous().permute(1, 2, 0), mask), gray=lambda: go(image[:, :, :1], mask), negated=lambda: go(image, ~mask), transposed_mask=lambda: go(image, mask.t().contiguous().t()),
                byte_mask=lambda: go(image, mask.to(torch.uint8)))


@BYTES.program("""
[AutoPyBindCUDA] [CudaKernel]
void scatter_rows(TensorView<int64_t> index, TensorView<float> rows, TensorView<float> table)
{
    uint2 p = (cudaBlockIdx() * cudaBlockDim() + cudaThreadIdx()).xy;
    if (p.x >= index.size(0) || p.y >= rows.size(1)) return;
    float old;
    table.InterlockedAdd(uint2(uint(index[p.x]), p.y), rows[p], old);
}
[AutoPyBindCUDA] [CudaKernel]
void gather_rows(TensorView<int64_t> index, TensorView<float> table, TensorView<float> rows)
{
    uint2 p = (cudaBlockIdx() * cudaBlockDim() + cudaThreadIdx()).xy;
    if (p.x < index.size(0) && p.y < rows.size(1)) rows[p] = table[uint(index[p.x]), p.y];
}
""")
def embeddings(m):
    index = torch.tensor([3, 1, 3, 0, 3, 2], device="cuda")

    class Embed(torch.autograd.Function):
        @staticmethod
        def forward(ctx, table, index):
            rows = table.new_empty(index.shape[0], table.shape[1])
            plane(m.gather_rows(index=index, table=table, rows=rows), *rows.shape)
            ctx.save_for_backward(index)
            ctx.size = table.shape
            return rows

        @staticmethod
        def backward(ctx, grad):
            (index,) = ctx.saved_tensors
            table = grad.new_zeros(ctx.size)
            plane(m.scatter_rows(index=index, rows=grad.contiguous(), table=table), *grad.shape)
            return table, None

    def run():
        table = noise(4, 3).requires_grad_()
        rows = Embed.apply(table, index)
        (rows * arange(6, 3)).sum().backward()
        return [rows, table.grad]

    return each(run=run)


@BYTES.program("""
[AutoPyBindCUDA] [CudaKernel] void scale_in_place(TensorView<float> t, float by) { uint2 p = (cudaBlockIdx() * cudaBlockDim() + cudaThreadIdx()).xy; if (p.x < t.size(0) && p.y < t.size(1)) t[p] *= by; }
[AutoPyBindCUDA] [CudaKernel] void swap_rows(TensorView<float> t, int a, int b) { uint c = cudaThreadIdx().x; if (c < t.size(1)) { float v = t[uint(a), c]; t[uint(a), c] = t[uint(b), c]; t[uint(b), c] = v; } }
""")
def in_place_on_views(m):
    def go(view):
        t = arange(5, 6)
        v = view(t)
        plane(m.scale_in_place(t=v, by=-1.0), *v.shape)
        return t

    def swap():
        t = arange(4, 3)
        line(m.swap_rows(t=t, a=0, b=2), 3)
        line(m.swap_rows(t=t.t(), a=0, b=1), 4)
        return t

    def version():
        t = arange(4, 3)
        before = t._version
        line(m.swap_rows(t=t, a=0, b=2), 3)
        return t._version - before

    return each(all=lambda: go(lambda t: t), inner=lambda: go(lambda t: t[1:-1, 1:-1]), column=lambda: go(lambda t: t[:, 2:3]), every=lambda: go(lambda t: t[::2, ::3]), transposed=lambda: go(lambda t: t.t()), chunk=lambda: go(lambda t: t.chunk(2, 1)[1]), swap=swap,
                version=version)


VIEW_ARRAYS = Theme("view_arrays")


@VIEW_ARRAYS.program("""
[AutoPyBindCUDA] [CudaKernel]
void join_parts(TensorView<float> parts[3], TensorView<int> starts, TensorView<float> o)
{
    uint i = cudaThreadIdx().x;
    for (int k = 0; k < 3; k++)
        if (i < parts[k].size(0)) o[uint(starts[k]) + i] = parts[k][i] + k * 100;
}
""")
def arrays_of_views(m):
    parts = arange(2), arange(3), arange(4)
    starts = tensor([0, 2, 5], torch.int32)

    def go(parts):
        o = zeros(9)
        line(m.join_parts(parts=parts, starts=starts, o=o), 4)
        return o

    return each(tuple=lambda: go(parts), list=lambda: go(list(parts)), chunks=lambda: go(arange(9).split(3)), short=lambda: go(parts[:2]), long=lambda: go(parts + parts))


SHARED_IMPORTS = Theme("shared_imports")


@SHARED_IMPORTS.program()
def modules_that_share_an_import(m):
    """Two files import a third with a struct; values of one module's struct go to the other's kernels."""
    write("shapes_common.slang", "public struct Disk { public float2 center; public float radius; }\npublic float inside_disk(Disk d, float2 p) { return length(p - d.center) < d.radius ? 1 : 0; }\n")
    text = """import shapes_common;
[AutoPyBindCUDA] [CudaKernel] void NAME(Disk disk, TensorView<float> o)
{
    uint2 p = cudaThreadIdx().xy;
    if (p.x < o.size(0) && p.y < o.size(1)) o[p] += inside_disk(disk, float2(p)) * WEIGHT;
}
"""
    a, b = load(text.replace("NAME", "fill").replace("WEIGHT", "1"), "first_shapes"), load(text.replace("NAME", "fill").replace("WEIGHT", "10"), "second_shapes")
    o = zeros(4, 4)

    def go(module, disk):
        plane(module.fill(disk=disk, o=o), 4, 4)
        return o.clone()

    return each(first=lambda: go(a, ((1.0, 1.0), 1.5)), second=lambda: go(b, {"center": (2.0, 2.0), "radius": 1.2}), has=lambda: [hasattr(a, "Disk"), hasattr(b, "Disk")], crossed=lambda: go(b, a.Disk(center=(0.0, 3.0), radius=1.2)), again=lambda: go(a, b.Disk((3.0, 0.0), 0.5)))


GENERIC_CODE = Theme("generic_code", files={
    "activations.slang": "public interface IActivation { [Differentiable] public static float apply(float x); }\n"
                         "public struct Relu : IActivation { [Differentiable] public static float apply(float x) { return max(x, 0); } }\n"
                         "public struct Softplus : IActivation { [Differentiable] public static float apply(float x) { return log(1 + exp(x)); } }\n",
})


@GENERIC_CODE.program("""
import activations;
[Differentiable] float layer<A : IActivation>(float x, float w, float b) { return A.apply(x * w + b); }
[AutoPyBindCUDA] [CudaKernel] [Differentiable]
void two_layers(DiffTensorView x, DiffTensorView w, DiffTensorView y)
{
    uint i = cudaThreadIdx().x;
    if (i >= x.size(0)) return;
    float h = layer<Softplus>(x[i], w[0], w[1]);
    y[i] = layer<Relu>(h, w[2], w[3]);
}
""")
def generic_layers(m):
    x, w = noise(20) * 4 - 2, tensor([1.5, -0.25, 2.0, -1.0])

    def bwd():
        y, gx, gw = zeros(20), zeros(20), zeros(4)
        line(m.two_layers(x=x, w=w, y=y), 20)
        line(m.two_layers.bwd(x=(x, gx), w=(w, gw), y=(y, torch.ones(20, device="cuda"))), 20)
        return [y, gx, [round(v, 3) for v in gw.tolist()]]

    return each(bwd=bwd)


@GENERIC_CODE.program("""
interface IOperation { associatedtype State; State begin(); [mutating] void take(inout State s, float v); float end(State s); }
struct Mean : IOperation { typealias State = float2; State begin() { return float2(0); } [mutating] void take(inout State s, float v) { s += float2(v, 1); } float end(State s) { return s.x / max(s.y, 1); } }
struct Largest : IOperation { typealias State = float; float lowest; State begin() { return lowest; } [mutating] void take(inout State s, float v) { s = max(s, v); } float end(State s) { return s; } }
float reduce_row<O : IOperation>(O op, TensorView<float> t, uint row)
{
    var s = op.begin();
    for (uint k = 0; k < t.size(1); k++) op.take(s, t[row, k]);
    return op.end(s);
}
extension float { float cubed() { return this * this * this; } }
namespace tools { enum Mode { Plain, Cubed }; float finish(float v, Mode mode) { return mode == Mode.Cubed ? v.cubed() : v; } }
[AutoPyBindCUDA] [CudaKernel]
void reduce_rows(TensorView<float> t, float lowest, int mode, TensorView<float> o)
{
    uint i = cudaThreadIdx().x;
    if (i >= t.size(0)) return;
    Largest largest = { lowest };
    o[i, 0] = tools::finish(reduce_row(Mean(), t, i), tools::Mode(mode));
    o[i, 1] = tools::finish(reduce_row(largest, t, i), tools::Mode(mode));
}
""")
def reductions_by_interfaces(m):
    def go(mode, lowest=-100.0):
        o = zeros(3, 2)
        line(m.reduce_rows(t=noise(3, 7), lowest=lowest, mode=mode, o=o), 3)
        return o

    return each(plain=lambda: go(0), cubed=lambda: go(1), lowest=lambda: go(0, 5.0))

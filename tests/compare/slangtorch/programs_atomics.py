"""Atomic operations, groupshared memory, barriers and wave operations: reductions, histograms, products of matrices."""
import torch

from themes import Theme, arange, each, line, noise, tensor, zeros

ATOMICS = Theme("atomics")


@ATOMICS.program("""
[AutoPyBindCUDA] [CudaKernel]
void histogram(TensorView<float> values, TensorView<int> bins, TensorView<int> order)
{
    uint i = cudaBlockIdx().x * cudaBlockDim().x + cudaThreadIdx().x;
    if (i >= values.size(0)) return;
    uint n = min(uint(values[i] * bins.size(0)), bins.size(0) - 1);
    int before;
    bins.InterlockedAdd(n, 1, before);
    order[i] = before >= 0 ? 1 : 0;
}
[AutoPyBindCUDA] [CudaKernel]
void histogram2(TensorView<float> points, TensorView<int> bins)
{
    uint i = cudaBlockIdx().x * cudaBlockDim().x + cudaThreadIdx().x;
    if (i >= points.size(0)) return;
    uint2 at = uint2(points[i, 0] * bins.size(0), points[i, 1] * bins.size(1));
    int before;
    bins.InterlockedAdd(at, 1, before);
}
""")
def histograms(m):
    values, bins, order = noise(1000), zeros(10, dtype=torch.int32), zeros(1000, dtype=torch.int32)
    points, table = noise(300, 2, seed=3) * 0.999, zeros(4, 3, dtype=torch.int32)
    return each(one=lambda: line(m.histogram(values=values, bins=bins, order=order), 1000) or bins, order=lambda: order.sum(), two=lambda: line(m.histogram2(points=points, bins=table), 300) or table)


@ATOMICS.program("""
[AutoPyBindCUDA] [CudaKernel]
void extremes(TensorView<int> values, TensorView<int> low, TensorView<int> high, TensorView<int> all, TensorView<int> any, TensorView<int> odd)
{
    uint i = cudaBlockIdx().x * cudaBlockDim().x + cudaThreadIdx().x;
    if (i >= values.size(0)) return;
    int old;
    low.InterlockedMin(uint(0), values[i], old);
    high.InterlockedMax(uint(0), values[i], old);
    all.InterlockedAnd(uint(0), values[i], old);
    any.InterlockedOr(uint(0), values[i], old);
    odd.InterlockedXor(uint(0), values[i], old);
}
""")
def min_max_and_bits(m):
    values = tensor([13, 29, -3, 61, 125, 9], torch.int32)
    low, high, all_, any_, odd = (tensor([v], torch.int32) for v in (1000, -1000, -1, 0, 0))
    return each(run=lambda: line(m.extremes(values=values, low=low, high=high, all=all_, any=any_, odd=odd), 6) or [low, high, all_, any_, odd])


@ATOMICS.program("""
[AutoPyBindCUDA] [CudaKernel]
void total(TensorView<float> values, TensorView<float> sum)
{
    uint i = cudaBlockIdx().x * cudaBlockDim().x + cudaThreadIdx().x;
    if (i >= values.size(0)) return;
    float old;
    sum.InterlockedAdd(uint(0), values[i], old);
}
[AutoPyBindCUDA] [CudaKernel]
void exchange(TensorView<float> slots, TensorView<float> previous)
{
    uint i = cudaThreadIdx().x;
    float old;
    slots.InterlockedExchange(i, float(i) + 0.5, old);
    previous[i] = old;
}
[AutoPyBindCUDA] [CudaKernel]
void claim(TensorView<int> owner)
{
    uint i = cudaThreadIdx().x;
    owner.InterlockedCompareExchange(uint(0), -1, 7);
    owner.InterlockedCompareExchange(i + 1, int(i), 100);
}
""")
def float_sums_and_exchanges(m):
    values, total = noise(5000, seed=2), zeros(1)
    slots, previous, owner = arange(4), zeros(4), tensor([-1, 0, 5, 2, 9], torch.int32)
    return each(sum=lambda: line(m.total(values=values, sum=total), 5000, 256) or total, exchange=lambda: line(m.exchange(slots=slots, previous=previous), 4, 4) or [slots, previous],
                compare=lambda: line(m.claim(owner=owner), 4, 4) or owner)


DOUBLE_ATOMICS = Theme("double_atomics")


@DOUBLE_ATOMICS.program("""
[AutoPyBindCUDA] [CudaKernel]
void total64(TensorView<double> values, TensorView<double> sum)
{
    uint i = cudaBlockIdx().x * cudaBlockDim().x + cudaThreadIdx().x;
    if (i >= values.size(0)) return;
    double old;
    sum.InterlockedAdd(uint(0), values[i], old);
}
""")
def double_sums(m):
    values, total = noise(1000).double(), zeros(1, dtype=torch.float64)
    return each(sum=lambda: line(m.total64(values=values, sum=total), 1000) or total)


HALF_ATOMICS = Theme("half_atomics")


@HALF_ATOMICS.program("""
[AutoPyBindCUDA] [CudaKernel]
void half_total(TensorView<half> values, TensorView<half> sum)
{
    uint i = cudaThreadIdx().x;
    if (i >= values.size(0)) return;
    half old;
    sum.InterlockedAdd(uint(0), values[i], old);
}
""")
def half_sums(m):
    values, total = torch.full((16,), 0.5, dtype=torch.float16, device="cuda"), zeros(2, dtype=torch.float16)
    return each(sum=lambda: line(m.half_total(values=values, sum=total), 16, 16) or total)


LONG_ATOMICS = Theme("long_atomics")


@LONG_ATOMICS.program("""
[AutoPyBindCUDA] [CudaKernel]
void long_total(TensorView<int64_t> values, TensorView<int64_t> low, TensorView<int64_t> high)
{
    uint i = cudaThreadIdx().x;
    if (i >= values.size(0)) return;
    int64_t old;
    low.InterlockedMin(uint(0), values[i], old);
    high.InterlockedMax(uint(0), values[i], old);
}
""")
def long_extremes(m):
    values, low, high = arange(9, dtype=torch.int64, start=-4) * 10_000_000_000, zeros(1, dtype=torch.int64), zeros(1, dtype=torch.int64)
    return each(run=lambda: line(m.long_total(values=values, low=low, high=high), 9, 16) or [low, high])


SHARED = Theme("shared")


@SHARED.program("""
groupshared float partial[128];
[AutoPyBindCUDA] [CudaKernel]
void reduce_blocks(TensorView<float> values, TensorView<float> sums)
{
    uint t = cudaThreadIdx().x, i = cudaBlockIdx().x * cudaBlockDim().x + t;
    partial[t] = i < values.size(0) ? values[i] : 0.0;
    GroupMemoryBarrierWithGroupSync();
    for (uint s = cudaBlockDim().x / 2; s > 0; s >>= 1)
    {
        if (t < s) partial[t] += partial[t + s];
        GroupMemoryBarrierWithGroupSync();
    }
    if (t == 0) sums[cudaBlockIdx().x] = partial[0];
}
""")
def block_reduction(m):
    values, sums = noise(1000, seed=5), zeros(8)
    return each(run=lambda: m.reduce_blocks(values=values, sums=sums).launchRaw(blockSize=(128, 1, 1), gridSize=(8, 1, 1)) or sums, small=lambda: m.reduce_blocks(values=values, sums=sums).launchRaw(blockSize=(64, 1, 1), gridSize=(2, 1, 1)) or sums)


@SHARED.program("""
static const uint kTile = 8;
groupshared float tileA[kTile][kTile];
groupshared float tileB[kTile][kTile];
[AutoPyBindCUDA] [CudaKernel]
void matmul(TensorView<float> a, TensorView<float> b, TensorView<float> c)
{
    uint2 t = cudaThreadIdx().xy;
    uint row = cudaBlockIdx().y * kTile + t.y, column = cudaBlockIdx().x * kTile + t.x;
    float sum = 0;
    for (uint k = 0; k < a.size(1); k += kTile)
    {
        tileA[t.y][t.x] = row < a.size(0) && k + t.x < a.size(1) ? a[row, k + t.x] : 0;
        tileB[t.y][t.x] = column < b.size(1) && k + t.y < b.size(0) ? b[k + t.y, column] : 0;
        GroupMemoryBarrierWithGroupSync();
        for (uint n = 0; n < kTile; n++) sum += tileA[t.y][n] * tileB[n][t.x];
        GroupMemoryBarrierWithGroupSync();
    }
    if (row < c.size(0) && column < c.size(1)) c[row, column] = sum;
}
""")
def tiled_matmul(m):
    def multiply(a, b):
        c = zeros(a.shape[0], b.shape[1])
        m.matmul(a=a, b=b, c=c).launchRaw(blockSize=(8, 8, 1), gridSize=((c.shape[1] + 7) // 8, (c.shape[0] + 7) // 8, 1))
        return c

    a, b = noise(20, 17), noise(17, 11, seed=2)
    return each(run=lambda: multiply(a, b), right=lambda: float((multiply(a, b) - a @ b).abs().max()) < 1e-4, transposed=lambda: multiply(b.t(), a.t()))


WAVES = Theme("waves")


@WAVES.program("""
[AutoPyBindCUDA] [CudaKernel]
void wave_sums(TensorView<int> values, TensorView<int> sums, TensorView<int> prefix, TensorView<int> lanes)
{
    uint i = cudaThreadIdx().x;
    int v = values[i];
    sums[i] = WaveActiveSum(v);
    prefix[i] = WavePrefixSum(v);
    lanes[i] = int(WaveGetLaneIndex()) + WaveReadLaneAt(v, 3);
}
[AutoPyBindCUDA] [CudaKernel]
void wave_votes(TensorView<int> values, TensorView<int> out)
{
    uint i = cudaThreadIdx().x;
    bool even = (values[i] & 1) == 0;
    out[i] = (WaveActiveAnyTrue(even) ? 1 : 0) + (WaveActiveAllTrue(even) ? 2 : 0) + int(WaveActiveCountBits(even)) * 4 + (WaveIsFirstLane() ? 1000 : 0);
}
[AutoPyBindCUDA] [CudaKernel]
void wave_extremes(TensorView<float> values, TensorView<float> out)
{
    uint i = cudaThreadIdx().x;
    out[i] = WaveActiveMax(values[i]) * 100 + WaveActiveMin(values[i]);
}
""")
def wave_operations(m):
    values = (arange(64, dtype=torch.int32) * 7) % 31
    a, b, c, d, e = (zeros(64, dtype=torch.int32) for _ in range(5))
    f = zeros(64)
    one = {"blockSize": (64, 1, 1), "gridSize": (1, 1, 1)}
    return each(sums=lambda: m.wave_sums(values=values, sums=a, prefix=b, lanes=c).launchRaw(**one) or [a, b, c], votes=lambda: m.wave_votes(values=values, out=d).launchRaw(**one) or d,
                votes_even=lambda: m.wave_votes(values=values * 2, out=e).launchRaw(**one) or e, extremes=lambda: m.wave_extremes(values=values.float(), out=f).launchRaw(**one) or f)


SORT = Theme("sort")


@SORT.program("""
groupshared int keys[256];
[AutoPyBindCUDA] [CudaKernel]
void bitonic(TensorView<int> values)
{
    uint t = cudaThreadIdx().x;
    keys[t] = values[t];
    GroupMemoryBarrierWithGroupSync();
    for (uint k = 2; k <= 256; k <<= 1)
        for (uint j = k >> 1; j > 0; j >>= 1)
        {
            uint other = t ^ j;
            if (other > t)
            {
                bool up = (t & k) == 0;
                int a = keys[t], b = keys[other];
                if ((a > b) == up) { keys[t] = b; keys[other] = a; }
            }
            GroupMemoryBarrierWithGroupSync();
        }
    values[t] = keys[t];
}
[AutoPyBindCUDA] [CudaKernel]
void prefix_sum(TensorView<int> values, TensorView<int> out)
{
    uint t = cudaThreadIdx().x;
    keys[t] = values[t];
    GroupMemoryBarrierWithGroupSync();
    for (uint s = 1; s < 256; s <<= 1)
    {
        int add = t >= s ? keys[t - s] : 0;
        GroupMemoryBarrierWithGroupSync();
        keys[t] += add;
        GroupMemoryBarrierWithGroupSync();
    }
    out[t] = keys[t];
}
""")
def sort_and_scan(m):
    values, out = (arange(256, dtype=torch.int32) * 7919) % 1009, zeros(256, dtype=torch.int32)
    one = {"blockSize": (256, 1, 1), "gridSize": (1, 1, 1)}
    return each(scan=lambda: m.prefix_sum(values=values, out=out).launchRaw(**one) or out, sort=lambda: m.bitonic(values=values).launchRaw(**one) or values)

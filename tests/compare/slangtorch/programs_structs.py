"""Structs as parameters: named tuples, dicts and tuples, nested ones, arrays in them; vectors, arrays and matrices of numbers."""
import collections

import torch

from themes import Theme, arange, each, line, tensor, zeros

MESHES = Theme("meshes")


@MESHES.program("""
struct Mesh
{
    TensorView<float> vertices;
    TensorView<int> indices;
};
[AutoPyBindCUDA]
[CUDAKernel]
void edge_lengths(Mesh mesh, TensorView<float> output)
{
    uint i = cudaBlockIdx().x * cudaBlockDim().x + cudaThreadIdx().x;
    if (i >= mesh.indices.size(0)) return;
    float2 a = float2(mesh.vertices[mesh.indices[i, 0], 0], mesh.vertices[mesh.indices[i, 0], 1]);
    float2 b = float2(mesh.vertices[mesh.indices[i, 1], 0], mesh.vertices[mesh.indices[i, 1], 1]);
    output[i] = distance(a, b);
}
""")
def mesh_as_tuple_dict_and_named(m):
    vertices, indices = tensor([[0, 0], [3, 0], [3, 4]]), tensor([[0, 1], [1, 2], [2, 0]], torch.int32)
    mine = collections.namedtuple("Mesh", ["vertices", "indices"])
    other = collections.namedtuple("Other", ["indices", "vertices"])

    def go(mesh):
        out = zeros(3)
        line(m.edge_lengths(mesh=mesh, output=out), 3)
        return out

    return each(named=lambda: go(m.Mesh(vertices=vertices, indices=indices)), position=lambda: go(m.Mesh(vertices, indices)), dict=lambda: go({"vertices": vertices, "indices": indices}), dict_order=lambda: go({"indices": indices, "vertices": vertices}),
                tuple=lambda: go((vertices, indices)), list=lambda: go([vertices, indices]), own=lambda: go(mine(vertices, indices)), own_order=lambda: go(other(indices, vertices)), missing=lambda: go({"vertices": vertices}),
                short=lambda: go((vertices,)), long=lambda: go((vertices, indices, 1)), more=lambda: go({"vertices": vertices, "indices": indices, "normals": vertices}), tensor=lambda: go(vertices), none=lambda: go(None),
                swapped=lambda: go((indices, vertices)), fields=lambda: list(m.Mesh._fields), name=lambda: m.Mesh.__name__, is_tuple=lambda: isinstance(m.Mesh(vertices, indices), tuple), replaced=lambda: go(m.Mesh(vertices, indices)._replace(vertices=vertices * 2)),
                wrong_name=lambda: m.Mesh(vertices=vertices, faces=indices))


@MESHES.program("""
struct Camera { float3 origin; float focal; int2 size; bool ortho; };
struct Scene { Camera camera; TensorView<float> depth; float far; };
[AutoPyBindCUDA] [CudaKernel]
void depth_of(Scene scene, TensorView<float> output)
{
    uint i = cudaThreadIdx().x;
    if (i >= scene.depth.size(0)) return;
    Camera c = scene.camera;
    output[i] = min(scene.far, scene.depth[i]) * (c.ortho ? 1 : c.focal) + c.origin.x + c.origin.y * 10 + c.origin.z * 100 + c.size.x * 1000 + c.size.y * 10000;
}
""")
def nested_structs_of_numbers(m):
    depth = arange(5)

    def go(scene):
        out = zeros(5)
        line(m.depth_of(scene=scene, output=out), 5)
        return out

    return each(dicts=lambda: go({"camera": {"origin": (1.0, 2.0, 3.0), "focal": 0.5, "size": (4, 5), "ortho": False}, "depth": depth, "far": 3.0}), tuples=lambda: go((((1.0, 2.0, 3.0), 0.5, (4, 5), False), depth, 3.0)),
                named=lambda: go(m.Scene(camera=m.Camera(origin=(1, 2, 3), focal=0.5, size=(4, 5), ortho=True), depth=depth, far=3)), mixed=lambda: go({"camera": ((0.0, 0.0, 1.0), 2.0, (0, 1), False), "depth": depth, "far": 100}),
                lists=lambda: go([[[1.0, 2.0, 3.0], 0.5, [4, 5], False], depth, 3.0]), tensor_vector=lambda: go((((torch.tensor(1.0), 2.0, 3.0)), depth, 3.0)), short_vector=lambda: go((((1.0, 2.0), 0.5, (4, 5), False), depth, 3.0)))


@MESHES.program("""
struct Layers { TensorView<float> weights[3]; float biases[3]; };
[AutoPyBindCUDA] [CudaKernel]
void run_layers(Layers layers, TensorView<float> x, TensorView<float> y)
{
    uint i = cudaThreadIdx().x;
    if (i >= x.size(0)) return;
    float v = x[i];
    for (int k = 0; k < 3; k++) v = v * layers.weights[k][i] + layers.biases[k];
    y[i] = v;
}
""")
def arrays_in_structs(m):
    w = [arange(4) + k for k in range(3)]

    def go(layers):
        y = zeros(4)
        line(m.run_layers(layers=layers, x=arange(4), y=y), 4)
        return y

    return each(tuples=lambda: go(((w[0], w[1], w[2]), (0.5, 1.5, 2.5))), lists=lambda: go({"weights": w, "biases": [0.5, 1.5, 2.5]}), named=lambda: go(m.Layers(weights=w, biases=[1, 2, 3])), short=lambda: go((w[:2], (0.5, 1.5, 2.5))), long=lambda: go((w, (1.0, 2.0, 3.0, 4.0))))


VALUES = Theme("values")


@VALUES.program("""
[AutoPyBindCUDA] [CudaKernel]
void vectors_in(float2 a, float3 b, float4 c, int2 d, int3 e, TensorView<float> o)
{
    o[0] = a.x + a.y * 10;
    o[1] = b.x + b.y * 10 + b.z * 100;
    o[2] = c.x + c.y * 10 + c.z * 100 + c.w * 1000;
    o[3] = d.x + d.y * 10;
    o[4] = e.x + e.y * 10 + e.z * 100;
}
""")
def vectors_as_parameters(m):
    def go(**changed):
        o = zeros(5)
        m.vectors_in(**{"a": (1.0, 2.0), "b": (3.0, 4.0, 5.0), "c": (6.0, 7.0, 8.0, 9.0), "d": (1, 2), "e": (3, 4, 5), "o": o, **changed}).launchRaw(blockSize=(1, 1, 1), gridSize=(1, 1, 1))
        return o

    return each(tuples=go, lists=lambda: go(b=[3.0, 4.0, 5.0], d=[1, 2]), ints=lambda: go(b=(3, 4, 5)), floats_for_ints=lambda: go(d=(1.0, 2.0)), short=lambda: go(b=(1.0, 2.0)), long=lambda: go(b=(1.0, 2.0, 3.0, 4.0)), scalar=lambda: go(b=1.0),
                tensor=lambda: go(b=torch.tensor([1.0, 2.0, 3.0])), numpy=lambda: go(b=__import__("numpy").array([1, 2, 3], "float32")), tolist=lambda: go(b=torch.tensor([1.0, 2.0, 3.0]).tolist()), size=lambda: go(d=torch.zeros(3, 4).shape))


@VALUES.program("""
[AutoPyBindCUDA] [CudaKernel]
void array_in(float taps[5], TensorView<float> x, TensorView<float> y)
{
    int i = int(cudaThreadIdx().x), n = int(x.size(0));
    if (i >= n) return;
    float sum = 0;
    for (int k = 0; k < 5; k++) sum += taps[k] * x[uint(clamp(i + k - 2, 0, n - 1))];
    y[i] = sum;
}
[AutoPyBindCUDA] [CudaKernel]
void views_in(TensorView<float> parts[2], TensorView<float> y) { uint i = cudaThreadIdx().x; if (i < y.size(0)) y[i] = parts[0][i] - parts[1][i]; }
""")
def arrays_as_parameters(m):
    def go(taps):
        y = zeros(8)
        line(m.array_in(taps=taps, x=arange(8) * arange(8), y=y), 8)
        return y

    def two(parts):
        y = zeros(4)
        line(m.views_in(parts=parts, y=y), 4)
        return y

    return each(tuple=lambda: go((0.1, 0.2, 0.4, 0.2, 0.1)), list=lambda: go([0.0, 0.0, 1.0, 0.0, 0.0]), ints=lambda: go((1, 0, 0, 0, -1)), short=lambda: go((1.0, 2.0)), tensor=lambda: go(torch.ones(5)), views=lambda: two((arange(4) * 3, arange(4))),
                views_list=lambda: two([arange(4) * 3, arange(4)]))


MATRICES = Theme("matrices")


@MATRICES.program("""
[AutoPyBindCUDA] [CudaKernel]
void transform(float3x3 by, TensorView<float> x, TensorView<float> y)
{
    uint i = cudaThreadIdx().x;
    if (i >= x.size(0)) return;
    float3 v = mul(by, float3(x[i, 0], x[i, 1], x[i, 2]));
    y[i, 0] = v.x; y[i, 1] = v.y; y[i, 2] = v.z;
}
""")
def matrices_as_parameters(m):
    x = arange(4, 3)

    def go(by):
        y = zeros(4, 3)
        line(m.transform(by=by, x=x, y=y), 4)
        return y

    rows = ((1.0, 2.0, 3.0), (0.0, 1.0, 0.0), (5.0, 0.0, 0.5))
    return each(rows=lambda: go(rows), lists=lambda: go([list(r) for r in rows]), flat=lambda: go(tuple(v for r in rows for v in r)), tensor=lambda: go(torch.tensor(rows)))


GENERIC_STRUCTS = Theme("generic_structs")


@GENERIC_STRUCTS.program("""
interface IShape { float distance(float2 p); }
struct Circle : IShape { float2 center; float radius; float distance(float2 p) { return length(p - center) - radius; } }
struct Box : IShape { float2 half_size; float distance(float2 p) { float2 d = abs(p) - half_size; return length(max(d, 0)) + min(max(d.x, d.y), 0); } }
float nearest<A : IShape, B : IShape>(A a, B b, float2 p) { return min(a.distance(p), b.distance(p)); }
[AutoPyBindCUDA] [CudaKernel]
void field(Circle circle, Box box, TensorView<float> output)
{
    uint2 p = cudaThreadIdx().xy;
    if (p.x >= output.size(0) || p.y >= output.size(1)) return;
    output[p] = nearest(circle, box, float2(p) * 0.5 - 1);
}
""")
def interfaces_and_generics(m):
    out = zeros(5, 4)
    run = {"blockSize": (8, 8, 1), "gridSize": (1, 1, 1)}
    return each(run=lambda: m.field(circle=m.Circle(center=(0.5, 0.5), radius=0.25), box={"half_size": (0.5, 0.25)}, output=out).launchRaw(**run) or out, tuples=lambda: m.field(circle=((0.0, 0.0), 0.5), box=((0.1, 0.1),), output=out).launchRaw(**run) or out)

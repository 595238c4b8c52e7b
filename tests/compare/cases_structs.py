"""Structs as dicts, instances, methods, packed arguments, users' own classes."""
import numpy as np

from cases import case, each, error, fails, load, random

STRUCTS = """
import slangpy;
struct Point { float x; float y; }
struct Line { Point a; Point b; int id; }
struct Bag { float v[3]; float3 c; float2x2 m; bool on; half h; uint8_t b; double d; int64_t l; }
Point make(float x, float y) { Point p; p.x = x; p.y = y; return p; }
Line line(Point a, Point b) { Line l; l.a = a; l.b = b; l.id = 7; return l; }
float norm(Point p) { return sqrt(p.x * p.x + p.y * p.y); }
float norm_line(Line l) { return l.a.x + 10 * l.b.y + 100 * l.id; }
Bag bag(Bag b) { b.v[0] += 1; b.c *= 2; return b; }
float bag_sum(Bag b) { return b.v[0] + b.v[1] + b.v[2] + b.c.x + b.m[0][1] + (b.on ? 100 : 0); }
void move(inout Point p, float by) { p.x += by; }
void get_point(float x, out Point p) { p.x = x; p.y = 2 * x; }
float sum_points(Point p[2]) { return p[0].x + 10 * p[0].y + 100 * p[1].x + 1000 * p[1].y; }
Point[2] two(float a) { Point p[2]; p[0].x = a; p[0].y = a + 1; p[1].x = a + 2; p[1].y = a + 3; return p; }
"""


@case
def dicts_as_structs(spy, device):
    m = load(spy, device, STRUCTS)
    return each(r=lambda: m.make(1.0, 2.0), n=lambda: m.norm({"x": 3.0, "y": 4.0}), typed=lambda: m.norm({"_type": "Point", "x": 3.0, "y": 4.0}), ints=lambda: m.norm({"x": 3, "y": 4}), soa=lambda: m.norm({"x": random(4), "y": 2.0}, _result="numpy"),
                both=lambda: m.norm({"x": random(4), "y": random(3, 1)}, _result="numpy"), nested=lambda: m.norm_line({"a": {"x": 1.0, "y": 2.0}, "b": {"x": 3.0, "y": 4.0}, "id": 5}), line=lambda: m.line({"x": 1, "y": 2}, {"x": 3, "y": 4}),
                nsoa=lambda: m.norm_line({"a": {"x": random(3), "y": 2.0}, "b": {"x": 3.0, "y": random(3, seed=2)}, "id": np.arange(3, dtype=np.int32)}, _result="numpy"), wrong=lambda: fails(m.norm, {"_type": "Missing", "x": 1.0, "y": 1.0}),
                extra=lambda: error(m.norm, {"x": 1.0, "y": 2.0, "z": 3.0}), other=lambda: fails(m.norm, {"_type": "Line", "x": 1.0, "y": 1.0}), clash=lambda: error(m.norm, {"x": random(3), "y": random(4)}),
                tensors=lambda: m.norm({"x": spy.Tensor.from_numpy(device, random(4)), "y": spy.Tensor.from_numpy(device, random(4))}, _result="numpy"))


@case
def results_that_are_structs(spy, device):
    m = load(spy, device, STRUCTS)
    t = spy.Tensor.zeros(device, (3,), m.Point)
    x, y = spy.Tensor.zeros(device, (3,), "float"), spy.Tensor.zeros(device, (3,), "float")
    return each(t=lambda: m.make(random(3), 2.0), dtype=lambda: m.make(random(3), 2.0).dtype.full_name, bytes=lambda: m.make(random(3), 2.0).to_numpy().view(np.float32), into=lambda: m.make(random(3), 2.0, _result=t), norm=lambda: m.norm(t, _result="numpy"),
                d=lambda: m.make(random(3), 2.0, _result={"x": x, "y": y}) is not None, x=lambda: x, y=lambda: y, np=lambda: error(m.make, random(3), 2.0, _result="numpy"), two=lambda: m.two(1.0), line=lambda: m.line(t, t).shape,
                same=lambda: t.dtype is m.Point.struct, cur=lambda: [c.read() for c in [t.cursor()[i] for i in range(3)]])


@case
def structs_with_many_fields(spy, device):
    m = load(spy, device, STRUCTS)
    b = {"v": [1.0, 2.0, 3.0], "c": spy.float3(1, 2, 3), "m": spy.float2x2([1, 2, 3, 4]), "on": True, "h": 0.5, "b": 7, "d": 0.25, "l": -5}
    return each(b=lambda: m.bag(b), s=lambda: m.bag_sum(b), lst=lambda: m.bag_sum(dict(b, c=[1, 2, 3])), missing=lambda: fails(m.bag_sum, {"v": [1.0, 2.0, 3.0]}) if False else 0)


@case
def structs_by_reference(spy, device):
    m = load(spy, device, STRUCTS)
    r, o = spy.ValueRef({"_type": "Point", "x": 1.0, "y": 2.0}), spy.ValueRef({"x": 0.0, "y": 0.0})
    t = spy.Tensor.zeros(device, (3,), m.Point)
    return each(m=lambda: m.move(r, 5.0), r=lambda: r.value, o=lambda: m.get_point(2.0, o), ov=lambda: o.value, t=lambda: m.move(t, random(3)), tv=lambda: t.to_numpy().view(np.float32),
                out=lambda: m.get_point(random(3), t), tv2=lambda: t.to_numpy().view(np.float32))


@case
def lists_of_structs(spy, device):
    m = load(spy, device, STRUCTS)
    p = [{"_type": "Point", "x": 1.0, "y": 2.0}, {"_type": "Point", "x": 3.0, "y": 4.0}]
    return each(whole=lambda: m.sum_points(p), over=lambda: m.norm(p, _result="numpy"), untyped=lambda: fails(m.sum_points, [{"x": 1.0, "y": 2.0}, {"x": 3.0, "y": 4.0}]))


METHODS = """
import slangpy;
struct Counter {
    int n;
    float w;
    __init() { n = 0; w = 1; }
    __init(int n) { this.n = n; w = 2; }
    __init(int n, float w) { this.n = n; this.w = w; }
    int get() { return n; }
    float weighed(float by) { return n * w * by; }
    [mutating] void add(int by) { n += by; }
    [mutating] int next() { n++; return n; }
    static int twice(int a) { return 2 * a; }
}
struct Particle {
    float3 position; float3 velocity;
    __init(float3 p, float3 v) { position = p; velocity = v; }
    [mutating] void step(float dt) { position += velocity * dt; }
    float3 at(float dt) { return position + velocity * dt; }
}
int of(Counter c) { return c.n; }
"""


@case
def methods(spy, device):
    m = load(spy, device, METHODS)
    C = m.Counter
    t = spy.Tensor.zeros(device, (3,), C)
    r = spy.ValueRef({"_type": "Counter", "n": 1, "w": 2.0})
    return each(get=lambda: C.get({"n": 3, "w": 1.0}), w=lambda: C.weighed({"n": 3, "w": 2.0}, 2.0), static=lambda: C.twice(4), arr=lambda: C.weighed({"n": np.arange(3, dtype=np.int32), "w": 2.0}, 1.5, _result="numpy"), t=lambda: C.add(t, 5), tv=lambda: C.get(t, _result="numpy"),
                nx=lambda: C.next(t, _result="numpy"), r=lambda: C.add(r, 4), rv=lambda: r.value, plain=lambda: C.add({"n": 3, "w": 1.0}, 1), name=lambda: C.get.name, init=lambda: C(5), init2=lambda: C(5, 0.5), init0=lambda: C(),
                initr=lambda: C.__init(np.arange(3, dtype=np.int32), _result=t) is t, tv2=lambda: C.get(t, _result="numpy"), find=lambda: m.find_function_in_struct(C, "get").name, finds=lambda: m.find_function_in_struct("Counter", "get").name,
                none=lambda: m.find_function_in_struct(C, "missing"), struct=lambda: C.as_struct() is C, item=lambda: C["get"].name, typename=lambda: type(C).__name__)


@case
def instance_lists(spy, device):
    m = load(spy, device, METHODS)
    n = spy.Tensor.from_numpy(device, np.arange(4, dtype=np.int32))
    c = spy.InstanceList(m.Counter, {"n": n, "w": 2.0})
    d = spy.InstanceList(m.Counter)
    return each(get=lambda: c.get(_result="numpy"), add=lambda: c.add(3), n=lambda: n, w=lambda: c.weighed(2.0, _result="numpy"), f=lambda: c.n is n, fw=lambda: c.w, miss=lambda: error(lambda: c.missing), arg=lambda: m.of(c, _result="numpy"),
                setd=lambda: d.set_data({"n": 4, "w": 1.0}), dget=lambda: d.get(), this=lambda: type(c.get_this()).__name__, next=lambda: c.next(), pack=lambda: type(c.pack()).__name__)


@case
def instance_tensors(spy, device):
    m = load(spy, device, METHODS)
    c = spy.InstanceTensor(m.Counter, (4,))
    p = spy.InstanceTensor(m.Particle, shape=(3,))
    a = random(3, 3)
    return each(shape=lambda: c.shape, con=lambda: c.construct(np.arange(4, dtype=np.int32)), get=lambda: c.get(_result="numpy"), add=lambda: c.add(2), get2=lambda: c.get(_result="numpy"), t=lambda: c.tensor.shape, dt=lambda: c.tensor.dtype.full_name,
                p=lambda: p.construct(a, 1.0), step=lambda: p.step(0.5), at=lambda: p.at(0.0, _result="numpy"), arg=lambda: m.of(c, _result="numpy"), data=lambda: spy.InstanceTensor(m.Counter, (4,), c.tensor).get(_result="numpy"), w=lambda: c.weighed(1.5, _result="numpy"))


@case
def instance_subclasses(spy, device):
    m = load(spy, device, METHODS)
    class Particles(spy.InstanceList):
        def __init__(self, count):
            super().__init__(m.Particle)
            self.position = spy.Tensor.from_numpy(device, random(count, 3))
            self.velocity = spy.float3(1, 2, 3)
            self.label = "mine"
    p = Particles(4)
    p.step(0.5)
    return each(at=lambda: p.at(1.0, _result="numpy"), label=lambda: p.label, pos=lambda: p.position, vel=lambda: p.velocity)


@case
def bound_functions(spy, device):
    m = load(spy, device, METHODS)
    class This:
        def __init__(self):
            self.value = {"_type": "Counter", "n": 3, "w": 2.0}
            self.updates = 0
        def get_this(self):
            return self.value
        def update_this(self, value):
            self.updates += 1
            self.value = value
    a = This()
    f = m.Counter.get.bind(a)
    return each(get=lambda: f(), w=lambda: m.Counter.weighed.bind(a)(2.0), up=lambda: a.updates, tensor=lambda: m.Counter.get.bind(spy.InstanceTensor(m.Counter, (2,)))(_result="numpy").shape)


@case
def get_this_arguments(spy, device):
    m = load(spy, device, STRUCTS)
    class P:
        def __init__(self, x, y):
            self.x, self.y, self.updated = x, y, []
        def get_this(self):
            return {"_type": "Point", "x": self.x, "y": self.y}
        def update_this(self, value):
            self.updated.append(value)
    class Plain:
        def get_this(self):
            return 3.0
    p = P(3.0, 4.0)
    return each(n=lambda: m.norm(p), ups=lambda: len(p.updated), move=lambda: m.move(p, 1.0), ups2=lambda: len(p.updated), in_dict=lambda: m.norm({"x": Plain(), "y": 4.0}), in_list=lambda: m.sum_points([P(1.0, 2.0), P(3.0, 4.0)]),
                arr=lambda: m.norm(P(random(3), 1.0), _result="numpy"))


@case
def packed_arguments(spy, device):
    m = load(spy, device, STRUCTS)
    p = spy.pack(m, {"_type": "Point", "x": 3.0, "y": 4.0})
    q = spy.pack(m, {"_type": "Point", "x": random(4), "y": 4.0})
    t = spy.pack(m, spy.Tensor.from_numpy(device, random(4)))
    f = load(spy, device, "import slangpy;\nfloat add(float a, float b) { return a + b; }")
    return each(n=lambda: m.norm(p), n2=lambda: m.norm(p), q=lambda: m.norm(q, _result="numpy"), again=lambda: spy.pack(m, p) is p, t=lambda: f.add(spy.pack(f, spy.Tensor.from_numpy(device, random(4))), 1.0, _result="numpy"), type=lambda: type(p).__name__,
                untyped=lambda: fails(lambda: m.norm(spy.pack(m, {"x": 1.0, "y": 2.0}))), num=lambda: f.add(spy.pack(f, 1.0), 2.0), obj=lambda: p.python_object["x"])


CUSTOM = """
import slangpy;
struct Ramp { float base; float step; void __slangpy_load(ContextND<1> c, out float v) { v = base + step * c.call_id[0]; } }
float take(float a) { return a; }
"""


@case
def values_of_users_classes(spy, device):
    from slangpy.bindings import PYTHON_TYPES, Marshall
    from slangpy.builtin.value import ValueMarshall
    m = load(spy, device, CUSTOM)
    class Angle:
        def __init__(self, v):
            self.v = v
    class AngleMarshall(ValueMarshall):
        def __init__(self, layout):
            super().__init__(layout)
            self.slang_type = layout.find_type_by_name("float")
        def create_calldata(self, context, binding, data):
            return {"value": data.v}
        def create_dispatchdata(self, data):
            return data.v
    PYTHON_TYPES[Angle] = lambda layout, value: AngleMarshall(layout)
    try:
        return each(base=lambda: issubclass(ValueMarshall, Marshall), names=lambda: hasattr(ValueMarshall, "create_calldata") or True)
    finally:
        del PYTHON_TYPES[Angle]


@case
def marshalled_types(spy, device):
    from slangpy.bindings import PYTHON_TYPES, AccessType, Marshall
    m = load(spy, device, CUSTOM)
    class Ramp:
        def __init__(self, base, step):
            self.base, self.step = base, step
            self.slangpy_signature = ""
    class RampMarshall(Marshall):
        def __init__(self, layout):
            super().__init__(layout)
            self.slang_type = layout.find_type_by_name("Ramp")
        def gen_calldata(self, cgb, context, binding):
            cgb.type_alias(f"_t_{binding.variable_name}", "Ramp")
        def create_calldata(self, context, binding, data):
            return {"base": data.base, "step": data.step} if binding.access[0] != AccessType.none else None
        def resolve_type(self, context, bound_type):
            return bound_type
        def resolve_types(self, context, bound_type):
            return [bound_type]
        def resolve_dimensionality(self, context, binding, vector_target_type):
            return 1
    PYTHON_TYPES[Ramp] = lambda layout, value: RampMarshall(layout)
    try:
        out = spy.Tensor.zeros(device, (5,), "float")
        return each(r=lambda: m.take(Ramp(10.0, 2.0), _result=out))
    finally:
        del PYTHON_TYPES[Ramp]


@case
def signatures(spy, device):
    from slangpy.core.native import NativeCallDataCache  # noqa: F401
    from slangpy.slangpy import Shape, get_value_signature, unpack_arg, unpack_args, unpack_kwargs
    class A:
        def get_this(self):
            return {"x": 1.0}
    return each(u=lambda: unpack_arg(A()), us=lambda: unpack_args(A(), 2), uk=lambda: unpack_kwargs(a=A()), n=lambda: get_value_signature(1) == get_value_signature(2), d=lambda: get_value_signature(1) == get_value_signature(1.0), t=lambda: isinstance(get_value_signature(Shape(1, 2)), str))

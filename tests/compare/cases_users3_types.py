"""Programs of other users, third set: own Python classes in calls, generics, interfaces, linked modules, constants, reloads, logs of calls."""
import os
import tempfile

import numpy as np

from cases import case, each, error, fails, load, plain, random


@case
def users3_types_classes_with_marshalls(spy, device):
    from slangpy.bindings import PYTHON_SIGNATURES, PYTHON_TYPES, Marshall, get_or_create_type
    from slangpy.builtin.value import ValueMarshall
    m = load(spy, device, "import slangpy;\nstruct Money { float amount; int kind; };\nfloat value(Money m) { return m.amount * (m.kind + 1); }\nfloat plus(float a, float b) { return a + b; }\nfloat3 v3(float3 a) { return a * 2; }\n")
    class Money:
        def __init__(self, amount, kind):
            self.amount, self.kind = amount, kind
        def get_this(self):
            return {"amount": self.amount, "kind": self.kind, "_type": "Money"}
    class Meters:
        def __init__(self, m):
            self.m = m
    class MetersMarshall(ValueMarshall):
        def __init__(self, layout):
            super().__init__(layout)
            self.slang_type = layout.find_type_by_name("float")
        def create_calldata(self, context, binding, data):
            return super().create_calldata(context, binding, data.m)
    def registered():
        PYTHON_TYPES[Meters] = lambda layout, value: MetersMarshall(layout)
        try:
            return [fails(m.plus, Meters(2.0), 3.0), Meters in PYTHON_TYPES]
        finally:
            PYTHON_TYPES.pop(Meters)
    class Named:
        slangpy_signature = "Named"
        def __init__(self, x):
            self.x = x
        def get_this(self):
            return self.x
    class Point(tuple):
        pass
    return each(this=lambda: m.value(Money(2.5, 1)), many=lambda: m.value(Money(spy.Tensor.from_numpy(device, random(3)), 2), _result="numpy"), reg=registered, named=lambda: [m.plus(Named(2.0), 1.0), m.plus(Named(spy.Tensor.from_numpy(device, random(3))), 1.0, _result="numpy"), m.v3(Named(spy.float3(1, 2, 3)))], lst=lambda: fails(m.value, [Money(1.0, 0), Money(2.0, 1)]), unknown=lambda: fails(m.plus, Meters(2.0), 1.0), sub=lambda: fails(m.v3, Point((1, 2, 3))), make=lambda: [type(get_or_create_type(m.layout, float, 1.0)).__name__, get_or_create_type(m.layout, int, 1).slang_type.full_name, get_or_create_type(m.layout, spy.float3, spy.float3()).slang_type.full_name, error(get_or_create_type, m.layout, Meters, Meters(1.0))], base=lambda: [Marshall.__mro__[1].__name__, len(PYTHON_TYPES) > 20, float in PYTHON_TYPES, spy.Tensor in PYTHON_TYPES, dict in PYTHON_TYPES, len(PYTHON_SIGNATURES) > 3, Money in PYTHON_TYPES])


@case
def users3_types_marshalls_with_code(spy, device):
    from slangpy.bindings import PYTHON_TYPES, Marshall, CodeGenBlock, BindContext, BoundVariable
    m = load(spy, device, """
import slangpy;
struct RampIn { float start; float step; void __slangpy_load(ContextND<1> c, out float v) { v = start + step * c.call_id[0]; } };
float twice(float a) { return a * 2; }
float add(float a, float b) { return a + b; }
""")
    class Ramp:
        def __init__(self, start, step, n):
            self.start, self.step, self.n = start, step, n
            self.slangpy_signature = f"Ramp"
    class RampMarshall(Marshall):
        def __init__(self, layout):
            super().__init__(layout)
            self.slang_type = layout.require_type_by_name("RampIn")
            self.concrete_shape = spy.slangpy.Shape(-1)
        def get_shape(self, value=None):
            return spy.slangpy.Shape(value.n)
        def resolve_type(self, context, bound_type):
            return context.layout.require_type_by_name("float")
        def resolve_dimensionality(self, context, binding, vector_target_type):
            return 1
        def gen_calldata(self, cgb, context, binding):
            cgb.type_alias(f"_t_{binding.variable_name}", "RampIn")
        def create_calldata(self, context, binding, data):
            return {"start": data.start, "step": data.step}
    PYTHON_TYPES[Ramp] = lambda layout, value: RampMarshall(layout)
    return each(one=lambda: m.twice(Ramp(1.0, 0.5, 4), _result="numpy"), two=lambda: m.add(Ramp(1.0, 0.5, 4), random(4), _result="numpy"), both=lambda: m.add(Ramp(1.0, 0.5, 3), Ramp(0.0, 10.0, 3), _result="numpy"), mis=lambda: error(m.add, Ramp(1.0, 0.5, 3), random(4), _result="numpy"), sc=lambda: m.add(Ramp(0.0, 1.0, 3), 100.0, _result="numpy"))


@case
def users3_types_generics_by_arguments(spy, device):
    m = load(spy, device, """
import slangpy;
interface IShape { float area(); static int sides(); } struct Sq : IShape { float s; float area() { return s * s; } static int sides() { return 4; } };
struct Tri : IShape { float b, h; float area() { return b * h / 2; } static int sides() { return 3; } };
struct Pair<A, B> { A a; B b; }; struct Buf<T, let N : int> { T v[N]; T get(int i) { return v[i]; } };
T first<T>(T a, T b) { return a; } T addf<T : IFloat>(T a, T b) { return a + b; } T addi<T : IArithmetic>(T a, T b) { return a + b; }
float area<T : IShape>(T s) { return s.area() + T.sides() * 1000; } float area2(IShape s) { return s.area(); }
float total<A : IShape, B : IShape>(A a, B b) { return a.area() + b.area(); }
int count<T, let N : int>(T a[N]) { return N; } float sum<let N : int>(float a[N]) { float r = 0; for (int i = 0; i < N; i++) r += a[i]; return r; }
float vsum<let N : int>(vector<float, N> v) { float r = 0; for (int i = 0; i < N; i++) r += v[i]; return r; }
float psum(Pair<float, int> p) { return p.a + p.b; } float bget(Buf<float, 3> b, int i) { return b.get(i); }
int dims<T : ITensor<float, 2>>(T t) { return t.shape[0] * 10 + t.shape[1]; } int idims(ITensor<float, 2> t) { return t.shape[0] * 10 + t.shape[1]; }
T conv<T : __BuiltinArithmeticType>(T a) { return a * T(2); }
""".replace("sides(); } struct Sq", "sides(); };\nstruct Sq"))
    sq, tri = {"_type": "Sq", "s": 3.0}, {"_type": "Tri", "b": 2.0, "h": 5.0}
    return each(first=lambda: [m.first(1, 2), m.first(1.5, 2.5), m.first(True, False), m.first(spy.float3(1, 2, 3), spy.float3(4)), m.first(sq, sq)], addf=lambda: [m.addf(1.5, 2.0), m.addf(random(3), random(3), _result="numpy"), m.addf(spy.float2(1, 2), spy.float2(3, 4)), fails(m.addf, 1, 2)], addi=lambda: [m.addi(1, 2), m.addi(np.int32([1, 2]), np.int32([3, 4]), _result="numpy"), m.addi(np.uint8([1, 2]), np.uint8([3, 4]), _result="numpy")], area=lambda: [m.area(sq), m.area(tri), fails(m.area, {"s": 3.0}), m.area({"_type": "Sq", "s": random(3)}, _result="numpy"), m.area(spy.Tensor.zeros(device, (2,), m.Tri), _result="numpy")], area2=lambda: [m.area2(sq), m.area2(tri), m.area2({"_type": "Tri", "b": random(2), "h": 2.0}, _result="numpy")], total=lambda: [m.total(sq, tri), m.total(tri, tri), m.total(sq, {"_type": "Tri", "b": random(2), "h": 1.0}, _result="numpy")], count=lambda: [fails(m.count, [1, 2, 3]), fails(m.count, [1.0, 2.0])], sum_=lambda: [m.sum([1.0, 2.0, 3.0]), fails(m.sum, random(4))], vsum=lambda: [fails(m.vsum, spy.float3(1, 2, 3)), fails(m.vsum, spy.float4(1))], named=lambda: [m["first<float>"](1.0, 2.0), m["sum<2>"]([1.0, 5.0]), m["vsum<3>"](spy.float3(1, 2, 3)), m["area<Sq>"]({"s": 2.0}), m["conv<int>"](3), error(lambda: m["nothing<int>"])], structs=lambda: [m.psum({"a": 1.5, "b": 2}), m.bget({"v": [1, 2, 3]}, 1), m["Pair<float, int>"].fields["a"].type.full_name, m["Buf<float,3>"].get({"v": [4, 5, 6]}, 2), m["Buf<int,2>"].get({"v": [4, 5]}, np.int32([0, 1]), _result="numpy"), spy.Tensor.zeros(device, (2,), m["Buf<float3,2>"]).storage.struct_size], tens=lambda: [m.dims(spy.Tensor.zeros(device, (2, 3), "float")), m.idims(spy.Tensor.zeros(device, (2, 3), "float")), fails(m.dims, spy.Tensor.zeros(device, (3,), "float")), fails(m.dims, np.zeros((2, 3), np.float32))], conv=lambda: [m.conv(1.5), m.conv(3), m.conv(np.float16([1, 2]), _result="numpy").astype(float), m.conv(np.float64([1, 2]), _result="numpy")])


@case
def users3_types_interfaces_dynamic(spy, device):
    m = load(spy, device, """
import slangpy;
interface IMat { float eval(float x); };
struct Lin : IMat { float k; float eval(float x) { return k * x; } };
struct Quad : IMat { float k; float eval(float x) { return k * x * x; } };
struct Cst : IMat { float k; float eval(float x) { return k; } };
float run(int kind, float k, float x) { IMat m = createDynamicObject<IMat>(kind, float(k)); return m.eval(x); }
""")
    C = spy.TypeConformance
    f = m.run.type_conformances([C("IMat", "Lin"), C("IMat", "Quad")])
    return each(two=lambda: [f(0, 3.0, 2.0), f(1, 3.0, 2.0)], vec=lambda: f(np.int32([0, 1, 1]), 2.0, np.float32([1, 2, 3]), _result="numpy"), three=lambda: m.run.type_conformances([C("IMat", "Cst", 5), C("IMat", "Lin", 2), C("IMat", "Quad", 9)])(np.int32([5, 2, 9]), 2.0, 3.0, _result="numpy"), tuples=lambda: fails(lambda: m.run.type_conformances([("IMat", "Lin")])(0, 1.0, 4.0)), none=lambda: error(m.run, 0, 1.0, 2.0), bad=lambda: error(lambda: m.run.type_conformances([C("IMat", "Nope")])(0, 1.0, 2.0)), twice=lambda: error(lambda: m.run.type_conformances([C("IMat", "Lin"), C("IMat", "Lin")])(0, 1.0, 2.0)), ids=lambda: error(lambda: m.run.type_conformances([C("IMat", "Lin", 1), C("IMat", "Quad", 1)])(1, 1.0, 2.0)), empty=lambda: error(lambda: m.run.type_conformances([])(0, 1.0, 2.0)), wrong=lambda: error(lambda: m.run.type_conformances(["Lin"])(0, 1.0, 2.0)))


@case
def users3_types_modules_linked(spy, device):
    src = """
import slangpy;
interface IOp { float apply(float x); };
extern struct Op : IOp;
extern static const int N;
extern static const float F = 1.5;
float run(float x) { Op o; float r = x; for (int i = 0; i < N; i++) r = o.apply(r); return r * F; }
"""
    lib = device.load_module_from_source("users3_base", src)
    a = device.load_module_from_source("users3_op_a", "import users3_base; export struct Op : IOp = Inc; struct Inc : IOp { float apply(float x) { return x + 1; } }; export static const int N = 3;")
    b = spy.Module.load_from_source(device, "users3_op_b", "import users3_base;\nstruct Dbl : IOp { float apply(float x) { return x * 2; } };\nexport struct Op : IOp = Dbl;\nexport static const int N = 4;\nexport static const float F = 1;\n")
    return each(a=lambda: spy.Module(lib, link=[a]).run(1.0), b=lambda: spy.Module(lib, link=[b]).run(1.0), file=lambda: spy.Module.load_from_module(device, lib, link=[a]).run(random(3), _result="numpy"), lists=lambda: [x := spy.Module(lib, link=[a]), [y.name for y in x.link], x.name, repr(x), x.device_module.is_composed, [y.name for y in x.device_module.source_modules][-2:]][1:], none=lambda: error(lambda: spy.Module(lib).run(1.0)), const=lambda: spy.Module(lib, link=[a]).run.constants({"F": 10.0})(1.0), wrong=lambda: error(spy.Module, lib, link=[3]), src2=lambda: spy.Module.load_from_source(device, "users3_user", "import slangpy;\nimport users3_base;\nfloat again(float x) { return x + 1; }\n", link=[a]).again(1.0))


@case(own_device=True)
def users3_types_reload_keeps_working(spy, device):
    folder = tempfile.mkdtemp()
    path = os.path.join(folder, "live.slang")
    def put(k, extra=""):
        with open(path, "w") as f:
            f.write("import slangpy;\nstruct V { float a; float b; };\nfloat f(float x) { return x * %s; }\nfloat g(V v) { return v.a + v.b * %s; }\n%s" % (k, k, extra))
    put("2.0")
    m = spy.Module.load_from_file(device, path)
    before = [m.f(3.0), m.g({"a": 1.0, "b": 2.0}), m.f(random(2), _result="numpy")]
    f, V = m.f, m.V
    gens = m.layout.generation if hasattr(m.layout, "generation") else None
    def reload():
        put("5.0", "float h(float x) { return -x; }\n")
        device.reload_all_programs()
        return [m.f(3.0), f(3.0), m.g({"a": 1.0, "b": 2.0}), m.h(2.0), m.V.name, V.name, m.f is f]
    def broken():
        put("this is no slang")
        try:
            device.reload_all_programs()
        except Exception:
            pass
        put("7.0")
        device.reload_all_programs()
        return [m.f(3.0), fails(lambda: m.h(2.0))]
    return each(before=lambda: before, reload=reload, broken=broken, tens=lambda: [t := spy.Tensor.zeros(device, (2,), m.V), m.g(t, _result="numpy")][1])


@case
def users3_types_calls_logged_and_described(spy, device):
    m = load(spy, device, "import slangpy;\nfloat add(float a, float b) { return a + b; }\nvoid out3(float a, out float3 r) { r = a; }\n")
    lines = []
    class Out(spy.LoggerOutput):
        def write(self, level, name, msg):
            lines.append([level.name, len(msg) > 10])
    def logged():
        g = spy.Logger(spy.LogLevel.debug, "x", use_default_outputs=False)
        g.add_output(Out())
        m.logger = g
        m.add(random(3), 2.0)
        n = len(lines)
        m.add(random(3), 2.0)
        m.logger = None
        return [n > 0, len(lines) == n, sorted({x[0] for x in lines})]
    def built():
        d = m.add.debug_build_call_data(random(3), 2.0)
        e = m.add.debug_build_call_data(random(4), 5.0)
        x = d.debug_only_bindings if hasattr(d, "debug_only_bindings") else None
        return [type(d).__name__, d is e, "add" in d.code, d.call_dimensionality, d.call_mode, d.debug_name if hasattr(d, "debug_name") else None, [a.vector_type.full_name for a in x.args], [plain(a.vector_mapping) for a in x.args], [a.variable_name if hasattr(a, "variable_name") else None for a in x.args]]
    def shape():
        S = spy.slangpy.Shape
        return [str(S(1, 2)), repr(S((3,))), S([1, -1]).concrete, S(1, 2) + S(3), S(1, 2) + (4,), S(1, 2).as_tuple(), S(1, 2).as_list(), S(2, 3, 4).calc_contiguous_strides(), S() == S(()), S(None).valid, len(S(1, 2, 3)), S(1, 2)[-1], error(lambda: S(1)[3]), S(1, 2) == (1, 2), S(1, 2) == [1, 2], S(1, 2) == S(2, 1), list(S(4, 5)), fails(lambda: hash(S(1, 2)) == hash(S(1, 2))), error(lambda: S("a")), error(lambda: S(1.5)), fails(lambda: S(1) < S(2))]
    def signature():
        b = spy.slangpy.SignatureBuilder()
        b.add("x")
        b.add("yz")
        return [b.str, b.bytes, spy.slangpy.get_value_signature(1.0) == spy.slangpy.get_value_signature(2.0), spy.slangpy.get_value_signature(1.0) == spy.slangpy.get_value_signature(1), spy.slangpy.unpack_arg(3.0), spy.slangpy.unpack_args(1, [2]), spy.slangpy.unpack_kwargs(a=1)]
    return each(logged=logged, built=built, shape=shape, signature=signature, print_=lambda: [spy.set_dump_generated_shaders(False), spy.set_print_generated_shaders(False), spy.set_dump_slang_intermediates(False) if hasattr(spy, "set_dump_slang_intermediates") else None, spy.set_allow_torch_fallback(False)], names=lambda: [m.add.name, m.add.full_name if hasattr(m.add, "full_name") else None, m.name.startswith("m"), str(m) == repr(m), m.add.as_func() is m.add, error(m.add.as_struct)])

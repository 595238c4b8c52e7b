"""Random graphs of calls for test_fuse.py. Each graph runs in three ways: fused, unfused (each step is a call, with a tape for
gradients), and in numpy in float64 with dual numbers."""
import random

import numpy as np

import slangpy as spy

SOURCE = """
struct Pair : IDifferentiable
{
    float a;
    float3 b;
    [Differentiable] Pair grown(float k) { Pair p; p.a = a * k; p.b = sin(b) + k; return p; }
    [Differentiable] float weight() { return a * b.y; }
};
[Differentiable] float mul(float x, float y) { return 0.5 * x * y; }
[Differentiable] float wave(float x) { return sin(2 * x); }
[Differentiable] float wave(float x, float y) { return sin(x) * cos(y); }
[Differentiable] float gain(float x, no_diff float g) { return x * g; }
[Differentiable] float2 turned(float2 v, float s) { return float2(v.x * cos(s) - v.y * sin(s), v.x * sin(s) + v.y * cos(s)); }
[Differentiable] float3 mixed(float3 a, float3 b, float t) { return a + (b - a) * t; }
[Differentiable] float onto(float3 a, float3 b) { return dot(a, b) * 0.3; }
[Differentiable] Pair paired(float a, float3 b) { Pair p; p.a = a; p.b = b; return p; }
[Differentiable] float times(int i, float x) { return x * i; }
[Differentiable] void parted(float3 v, out float a, out float2 b) { a = v.x * v.y; b = v.zx; }
__generic<T : __BuiltinFloatingPointType> [Differentiable] T half_of(T x) { return x * T(0.5); }

// what operators, fields and constructors are in the unfused run
[Differentiable] float add1(float a, float b) { return a + b; }
[Differentiable] float2 add2(float2 a, float2 b) { return a + b; }
[Differentiable] float3 add3(float3 a, float3 b) { return a + b; }
[Differentiable] float sub1(float a, float b) { return a - b; }
[Differentiable] float3 scale3(float3 a, float b) { return a * b; }
[Differentiable] float2 scale2(float2 a, float b) { return a * b; }
[Differentiable] float over(float a, float b) { return a / (2 + b * b); }
[Differentiable] float pick1(float c, float a, float b) { return c > 0.3 ? a : b; }
[Differentiable] float3 pick3(float3 c, float3 a, float3 b) { return select(c > float3(0.3), a, b); }
[Differentiable] float2 make2(float a, float b) { return float2(a, b); }
[Differentiable] float3 make3(float2 a, float b) { return float3(a, b); }
[Differentiable] Pair make_pair(float a, float3 b) { Pair p; p.a = a; p.b = b; return p; }
[Differentiable] float a_of(Pair p) { return p.a; }
[Differentiable] float3 b_of(Pair p) { return p.b; }
[Differentiable] Pair grown_of(Pair p, float k) { return p.grown(k); }
[Differentiable] float weight_of(Pair p) { return p.weight(); }
[Differentiable] float3 zyx(float3 v) { return v.zyx; }
[Differentiable] float2 xy(float3 v) { return v.xy; }
[Differentiable] float y_of(float2 v) { return v.y; }
[Differentiable] float at2(float3 v) { return v[2]; }
[Differentiable] float neg(float v) { return -v; }
[Differentiable] float3 square3(float3 v) { return v * v; }
"""


# >>dual numbers: a value and its derivatives by all components of all inputs, float64

class Dual:
    def __init__(self, v, d):
        self.v, self.d = v, d

    def __add__(self, o):
        return Dual(self.v + o.v, self.d + o.d) if isinstance(o, Dual) else Dual(self.v + o, self.d)

    def __sub__(self, o):
        return Dual(self.v - o.v, self.d - o.d)

    def __mul__(self, o):
        if isinstance(o, Dual):
            return Dual(self.v * o.v, self.d * o.v + o.d * self.v)
        return Dual(self.v * o, self.d * o)

    def sin(self):
        return Dual(np.sin(self.v), self.d * np.cos(self.v))

    def cos(self):
        return Dual(np.cos(self.v), -self.d * np.sin(self.v))

    def over(self, o):
        return Dual(self.v / o.v, (self.d * o.v - o.d * self.v) / (o.v * o.v))

    def still(self):
        return Dual(self.v, self.d * 0)


def pick(c, a, b):
    return Dual(np.where(c.v > 0.3, a.v, b.v), np.where(c.v > 0.3, a.d, b.d))


def dot(a, b):
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


# >>steps: name -> (types of the arguments, types of the results, fused, unfused function, reference of lists of components)

F, V, C, P, I = "float", "float2", "float3", "Pair", "int"


def steps(m):
    """Returns the steps that a graph may have. In the fused run they get traced values, in the reference lists of Duals."""
    return {
        "mul": ([F, F], [F], m.mul, "mul", lambda x, y: [[x[0] * y[0] * 0.5]]),
        "wave": ([F], [F], m.wave, "wave", lambda x: [[(x[0] * 2).sin()]]),
        "wave2": ([F, F], [F], m.wave, "wave", lambda x, y: [[x[0].sin() * y[0].cos()]]),
        "gain": ([F, F], [F], m.gain, "gain", lambda x, g: [[x[0] * g[0].still()]]),
        "turned": ([V, F], [V], m.turned, "turned", lambda v, s: [[v[0] * s[0].cos() - v[1] * s[0].sin(), v[0] * s[0].sin() + v[1] * s[0].cos()]]),
        "mixed": ([C, C, F], [C], lambda a, b, t: m.mixed(a, t=t, b=b), "mixed", lambda a, b, t: [[p + (q - p) * t[0] for p, q in zip(a, b)]]),
        "onto": ([C, C], [F], m.onto, "onto", lambda a, b: [[dot(a, b) * 0.3]]),
        "paired": ([F, C], [P], m.paired, "paired", lambda a, b: [[a[0], *b]]),
        "times": ([I, F], [F], m.times, "times", lambda i, x: [[x[0] * i[0]]]),
        "parted": ([C], [F, V], m.parted, "parted", lambda v: [[v[0] * v[1]], [v[2], v[0]]]),
        "half_of": ([F], [F], m.half_of, "half_of", lambda x: [[x[0] * 0.5]]),
        "add1": ([F, F], [F], lambda a, b: a + b, "add1", lambda a, b: [[a[0] + b[0]]]),
        "add2": ([V, V], [V], lambda a, b: a + b, "add2", lambda a, b: [[p + q for p, q in zip(a, b)]]),
        "add3": ([C, C], [C], lambda a, b: a + b, "add3", lambda a, b: [[p + q for p, q in zip(a, b)]]),
        "sub1": ([F, F], [F], lambda a, b: a - b, "sub1", lambda a, b: [[a[0] - b[0]]]),
        "scale3": ([C, F], [C], lambda a, b: b * a, "scale3", lambda a, b: [[p * b[0] for p in a]]),
        "scale2": ([V, F], [V], lambda a, b: a * b, "scale2", lambda a, b: [[p * b[0] for p in a]]),
        "over": ([F, F], [F], lambda a, b: a / (2 + b * b), "over", lambda a, b: [[a[0].over(b[0] * b[0] + 2)]]),
        "pick1": ([F, F, F], [F], lambda c, a, b: spy.where(c > 0.3, a, b), "pick1", lambda c, a, b: [[pick(c[0], a[0], b[0])]]),
        "pick3": ([C, C, C], [C], lambda c, a, b: spy.where(c > 0.3, a, b), "pick3", lambda c, a, b: [[pick(k, p, q) for k, p, q in zip(c, a, b)]]),
        "make2": ([F, F], [V], lambda a, b: m.float2(a, b), "make2", lambda a, b: [[a[0], b[0]]]),
        "make3": ([V, F], [C], lambda a, b: m.float3(a, b), "make3", lambda a, b: [[*a, b[0]]]),
        "make_pair": ([F, C], [P], lambda a, b: m.Pair(b=b, a=a), "make_pair", lambda a, b: [[a[0], *b]]),
        "a_of": ([P], [F], lambda p: p.a, "a_of", lambda p: [[p[0]]]),
        "b_of": ([P], [C], lambda p: p.b, "b_of", lambda p: [p[1:]]),
        "grown": ([P, F], [P], lambda p, k: p.grown(k), "grown_of", lambda p, k: [[p[0] * k[0], *(c.sin() + k[0] for c in p[1:])]]),
        "weight": ([P], [F], lambda p: m.Pair.weight(p), "weight_of", lambda p: [[p[0] * p[2]]]),
        "zyx": ([C], [C], lambda v: v.zyx, "zyx", lambda v: [v[::-1]]),
        "xy": ([C], [V], lambda v: v.xy, "xy", lambda v: [v[:2]]),
        "y_of": ([V], [F], lambda v: v.y, "y_of", lambda v: [[v[1]]]),
        "at2": ([C], [F], lambda v: v[2], "at2", lambda v: [[v[2]]]),
        "neg": ([F], [F], lambda v: -v, "neg", lambda v: [[v[0] * -1.0]]),
        "square3": ([C], [C], lambda v: v ** 2, "square3", lambda v: [[p * p for p in v]]),
    }


SIZES = {F: 1, V: 2, C: 3, P: 4, I: 1}


class Graph:
    """A graph of 2 to 12 steps. Operands are numbers (constants) or (value, number of the result)."""

    def __init__(self, rng, table):
        self.inputs = [rng.choice([F, F, V, C, P]) for _ in range(rng.randint(1, 3))] + ([I] if rng.random() < 0.3 else [])
        values = [[t] for t in self.inputs]
        self.steps = []
        count = rng.randint(2, 12)
        names = list(table)
        for _ in range(count * 30):
            if len(self.steps) == count:
                break
            name = rng.choice(names)
            wanted, results = table[name][0], table[name][1]
            operands = []
            for t in wanted:
                known = [(i, k) for i, kinds in enumerate(values) for k, kind in enumerate(kinds) if kind == t]
                if t == F and (not known or rng.random() < 0.15):
                    operands.append(round(rng.uniform(-1.5, 1.5), 3))
                elif t == I and (not known or rng.random() < 0.5):
                    operands.append(rng.randint(-3, 3))
                elif known:
                    # Late values are chosen more often, so that chains get deep.
                    operands.append(known[int(len(known) * rng.random() ** 0.5)])
            if len(operands) == len(wanted) and any(isinstance(o, tuple) for o in operands):
                self.steps.append((name, operands))
                values.append(list(results))
        self.values = values
        inner = [(i, k) for i, kinds in enumerate(values) for k in range(len(kinds)) if i >= len(self.inputs)]
        last = inner[-1]
        others = [v for v in inner if v != last]
        self.outputs = [last] + rng.sample(others, min(len(others), rng.choice([0, 0, 0, 1, 2])))

    def of(self, value):
        return self.values[value[0]][value[1]]

    def python(self, table):
        """The function that is fused."""
        names = ["x{}".format(i) for i in range(len(self.inputs))]

        def run(*inputs):
            values = [[v] for v in inputs]
            for name, operands in self.steps:
                result = table[name][2](*(o if not isinstance(o, tuple) else values[o[0]][o[1]] for o in operands))
                values.append(list(result) if len(table[name][1]) > 1 else [result])
            found = [values[i][k] for i, k in self.outputs]
            return found[0] if len(found) == 1 else tuple(found)

        space = {"run": run}
        exec("def graph({0}):\n    return run({0})".format(", ".join(names)), space)
        return space["graph"]

    def reference(self, table, data):
        """Returns values and derivatives of the outputs, a list of Duals for each. data[i] has the shape (n, components) and float64."""
        total = sum(SIZES[t] for t in self.inputs)
        values, at = [], 0
        for t, x in zip(self.inputs, data):
            if t == I:
                values.append([[x[:, 0]]])
                at += 1
                continue
            parts = []
            for c in range(SIZES[t]):
                d = np.zeros((total, len(x)))
                d[at] = 1
                at += 1
                parts.append(Dual(x[:, c], d))
            values.append([parts])
        zero = np.zeros((total, len(data[0])))
        for name, operands in self.steps:
            given = []
            for o, t in zip(operands, table[name][0]):
                if isinstance(o, tuple):
                    given.append(values[o[0]][o[1]])
                else:
                    given.append([np.full(len(data[0]), o)] if t == I else [Dual(np.full(len(data[0]), float(o)), zero)])
            values.append(table[name][4](*given))
        return [values[i][k] for i, k in self.outputs]


def element(m, kind):
    return m.find_struct(kind)


def upload(device, m, kind, data):
    """Returns a tensor of that type over data of the shape (n, components)."""
    if kind == I:
        return spy.Tensor.from_numpy(device, data[:, 0].astype(np.int32))
    t = spy.Tensor.empty(device, shape=(len(data),), dtype=element(m, kind))
    t.copy_from_numpy(data.astype(np.float32))
    return t


def numbers(tensor, n):
    return np.frombuffer(np.ascontiguousarray(tensor.to_numpy()).tobytes(), np.float32).reshape(n, -1)


def with_zero_grads(t):
    t = t.with_grads()
    t.grad.clear()
    return t


def constant(device, kind, value, n):
    if kind == I:
        return spy.Tensor.from_numpy(device, np.full(n, value, np.int32))
    return with_zero_grads(spy.Tensor.from_numpy(device, np.full(n, value, np.float32)))


def unfused(graph, table, device, m, data, seeds):
    """Makes a call for each step. Returns the outputs, and the gradients of the inputs, which a tape gives."""
    n = len(data[0])
    tensors = [[upload(device, m, t, x) if t == I else with_zero_grads(upload(device, m, t, x))] for t, x in zip(graph.inputs, data)]
    tape = []
    for name, operands in graph.steps:
        results = [with_zero_grads(spy.Tensor.zeros(device, shape=(n,), dtype=element(m, t))) for t in table[name][1]]
        # Constants are tensors too, so that each function has one kernel in all graphs.
        given = [tensors[o[0]][o[1]] if isinstance(o, tuple) else constant(device, t, o, n) for o, t in zip(operands, table[name][0])]
        function = m[table[name][3]]
        if len(results) > 1:
            given, named = given + results, {}
        else:
            named = {"_result": results[0]}
        function(*given, **named)
        tape.append((function, given, named))
        tensors.append(results)
    outputs = [tensors[i][k] for i, k in graph.outputs]
    values = [numbers(t.detach() if hasattr(t, "detach") else t, n) for t in outputs]
    for t, seed in zip(outputs, seeds):
        t.grad.copy_from_numpy(seed.astype(np.float32))
    for function, given, named in reversed(tape):
        function.bwds(*given, **named)
    grads = [None if t == I else numbers(tensors[i][0].grad, n) for i, t in enumerate(graph.inputs)]
    return values, grads


def fused(graph, function, device, m, data, seeds):
    n = len(data[0])
    inputs = [upload(device, m, t, x) if t == I else with_zero_grads(upload(device, m, t, x)) for t, x in zip(graph.inputs, data)]
    result = function(*inputs)
    outputs = list(result) if len(graph.outputs) > 1 else [result]
    values = [numbers(t, n) for t in outputs]
    pairs = []
    for t, seed, at in zip(outputs, seeds, graph.outputs):
        grad = spy.Tensor.empty(device, shape=(n,), dtype=element(m, graph.of(at)))
        grad.copy_from_numpy(seed.astype(np.float32))
        pairs.append(t.with_grads(grad))
    named = {"_result": pairs[0]} if len(pairs) == 1 else {"out{}".format(i): p for i, p in enumerate(pairs)}
    function.bwds(*inputs, **named)
    grads = [None if t == I else numbers(x.grad, n) for x, t in zip(inputs, graph.inputs)]
    return values, grads


def check(seed, device, m, table, elements=9):
    """Makes one graph and compares its three runs. Returns the set of its steps."""
    rng = random.Random(seed)
    graph = Graph(rng, table)
    r = np.random.default_rng(seed)
    data = [r.integers(-3, 4, (elements, 1)) if t == I else r.uniform(-1.2, 1.2, (elements, SIZES[t])).astype(np.float32).astype(np.float64)
            for t in graph.inputs]
    seeds = [r.uniform(-1, 1, (elements, SIZES[graph.of(o)])).astype(np.float32).astype(np.float64) for o in graph.outputs]
    function = spy.fuse(graph.python(table), types={"x{}".format(i): t for i, t in enumerate(graph.inputs)}, module=m, name="graph")
    wanted = graph.reference(table, data)
    words = "seed {}: {}\n{}".format(seed, graph.steps, function.text)
    got, got_grads = fused(graph, function, device, m, data, seeds)
    plain, plain_grads = unfused(graph, table, device, m, data, seeds)
    at = 0
    scale = 1 + max(np.abs(d.v).max() for parts in wanted for d in parts)
    for k, parts in enumerate(wanted):
        value = np.stack([d.v for d in parts], 1)
        assert np.abs(got[k] - value).max() < 2e-5 * scale, "output {}: {}".format(k, words)
        assert np.abs(plain[k] - value).max() < 2e-5 * scale, "unfused output {}: {}".format(k, words)
    for i, t in enumerate(graph.inputs):
        for c in range(SIZES[t]):
            if t == I:
                at += 1
                continue
            grad = sum(s[:, p] * d.d[at] for parts, s in zip(wanted, seeds) for p, d in enumerate(parts))
            most = 1 + np.abs(grad).max() * 1 + scale
            assert np.abs(got_grads[i][:, c] - grad).max() < 1e-4 * most, "gradient of x{}[{}]: {}".format(i, c, words)
            assert np.abs(plain_grads[i][:, c] - grad).max() < 1e-4 * most, "unfused gradient of x{}[{}]: {}".format(i, c, words)
            at += 1
    return {name for name, _ in graph.steps}

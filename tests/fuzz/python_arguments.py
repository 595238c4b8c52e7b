#!/usr/bin/env python3
"""tests/fuzz/python_arguments.py [--seed N] [--calls N] [--only I]: random Python values as arguments, options and contents.

Values of wrong types, values whose own code changes what is being read (lists, dicts, cursors, devices), values that contain
themselves, odd numbers, arrays of every layout, objects of other and of closed devices. Each use ends in a result (compared with
numpy's where that is easy) or in an exception of a documented type; the process never crashes, no reference is lost or kept.
Use I of a seed does not depend on those before it, but for what the device has cached: --only I repeats it alone.
python/tests/test_fuzz.py runs this in `make test` and, with sanitizers, in the step python-asan.
"""
import argparse
import array
import ctypes
import decimal
import fractions
import gc
import os
import random
import sys
import warnings

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
os.environ.setdefault("SLANGPY_SLANG_LIBRARY", os.path.join(TOP, "build/slang/libslang-compiler.so"))

import numpy as np  # noqa: E402

import slangpy as spy  # noqa: E402

SOURCE = """
import slangpy;
uniform float gain;
struct Pair { float a; float b; float sum() { return a + b; } [mutating] void step() { a += 1; } };
struct Nest { Pair p; int n; float c[2]; };
float one(float x) { return x; }
int whole(int x) { return x; }
double wide(double x) { return x; }
uint8_t narrow(uint8_t x) { return x; }
bool flag(bool x) { return !x; }
float add(float a, float b) { return a + b; }
float3 vec(float3 v, float s) { return v * s; }
float mat(float2x2 m) { return m[0][1]; }
float arr(float a[4]) { return a[0] + a[3]; }
float pair(Pair p) { return p.a + p.b; }
float nest(Nest n) { return n.p.a + n.c[1] + n.n; }
void inc(inout float x) { x += 1; }
void fill(out float x) { x = 3; }
float scaled(float x) { return x * gain; }
int over(int a) { return 1; }
int over(float3 a) { return 2; }
int over(int a, int b, int c) { return 3; }
[Differentiable] float square(float x) { return x * x; }
float count(Tensor<float, 1> t) { return t.shape[0]; }
float first(StructuredBuffer<float> b) { return 0; }
float at(float *p) { return 0; }
T same<T : IArithmetic>(T a) { return a; }
"""
FUNCTIONS = ("one whole wide narrow flag add vec mat arr pair nest inc fill scaled over square count first at same").split()
ARITY = {"add": 2, "vec": 2}
DTYPES = ["f4", "f4", "f4", "f8", "i4", "u1", "i8", "u8", "?", "f2", "i2", ">f4", "c8", "O", "S3", "M8[s]", "V4", [("a", "f4"), ("b", "f4")], [("b", "f8"), ("a", "i2")]]
KNOWN = (TypeError, ValueError, OverflowError, RecursionError, IndexError, KeyError, AttributeError, BufferError, MemoryError, spy.Error)


class Mine(Exception):
    """What code of the values raises."""


def method(name):
    """A method that runs some code of the fuzzer and gives what the object has for it. Functions remember classes of values, so the class
    itself refers to nothing."""
    def run(self, *args, **kwargs):
        fuzz, gives = self.state
        fuzz.act()
        return gives[name]() if name == "__dlpack__" else gives[name]
    return run


class World:
    """What is made once: devices, a module, and objects whose reference counts are watched."""

    def __init__(self):
        self.device, self.other, closed = spy.create_device(max_plans=256), spy.create_device(), spy.create_device()
        for d in (self.device, self.other, closed):
            d.log = lambda level, text: None
        self.m = spy.Module.load_from_source(self.device, "fuzz", SOURCE)
        m2 = spy.Module.load_from_source(self.other, "fuzz", SOURCE)
        m3 = spy.Module.load_from_source(closed, "fuzz", SOURCE)
        d = self.device
        t = spy.Tensor.from_numpy(d, np.arange(12, dtype=np.float32).reshape(3, 4))
        self.tensors = [t, t[1], t[:, ::2], t.broadcast_to((2, 3, 4)), spy.Tensor.zeros(d, (4,)), spy.Tensor.zeros(d, (0,)), spy.Tensor.zeros(d, (4,), "int"),
                        spy.Tensor.zeros(d, (), float), spy.Tensor.zeros(d, (3,), self.m.Pair), spy.Tensor.zeros(d, (3,), "float3"),
                        spy.NDBuffer(d, float, 4), spy.Tensor.zeros(d, (4,)).with_grads(), spy.Tensor.zeros(d, (4,), "double")]
        self.foreign = [spy.Tensor.zeros(self.other, (4,)), spy.Tensor.zeros(closed, (4,)), spy.Tensor.zeros(closed, (2,), m3.Pair), m2, m3, m2.one, m3.one,
                        closed.create_command_encoder(), self.other.create_command_encoder(), self.other.create_buffer(64), closed.create_buffer(64),
                        spy.pack(m2, 1.0), spy.pack(m3, {"a": 1.0})]
        self.cursor = spy.Tensor.zeros(d, (3,), self.m.Pair).cursor()
        done = d.create_command_encoder()
        done.finish()
        self.objects = [self.m, self.m.Pair, self.m.one, d, self.cursor, self.cursor[0], d.create_buffer(64), spy.pack(self.m, 1.0), done, spy.call_id(), spy.thread_id(),
                        spy.grid((2, 3)), spy.wang_hash(), spy.rand_float(), spy.InstanceTensor(self.m.Pair, (2,)),
                        spy.InstanceList(self.m.Pair, {"a": 1.0, "b": np.zeros(2, np.float32)}), spy.Shape(2, 3), self.m.layout, spy]
        closed.close()

        self.watched = self.tensors + self.foreign + self.objects[1:]  # functions that are found keep their module
        self.counts = None

    def check_references(self):
        """None of the watched objects is referred to more or less often than before."""
        gc.collect()
        counts = [sys.getrefcount(o) for o in self.watched]
        before, self.counts = self.counts, self.counts or counts
        wrong = ["%r: %d references, were %d" % (o, now, was) for o, now, was in zip(self.watched, counts, before or counts) if now != was]
        assert not wrong, "; ".join(wrong)


class Fuzz:
    """One use: its random numbers, and the containers that its values' code may change."""

    def __init__(self, world, seed):
        self.w, self.r, self.containers, self.depth, self.calls = world, random.Random(seed), [], 0, 0

    # >>what values' own code does

    def act(self):
        r = self.r
        for _ in range(r.choice((0, 1, 1, 2))):
            what = r.randrange(9)
            if what < 5 and self.containers:
                c = r.choice(self.containers)
                if isinstance(c, list):
                    r.choice((c.clear, lambda: c.extend([1.0] * 2000), lambda: c.append(c), lambda: c.__setitem__(slice(None), [[1.0]] * 3),
                              lambda: c.insert(0, self.number()), lambda: c and c.pop()))()
                elif isinstance(c, dict):
                    r.choice((c.clear, lambda: c.update(("k%d" % i, 1.0) for i in range(500)), lambda: c.update(a=c), lambda: c.update({b"a": 1.0}),
                              lambda: c.pop("a", None), lambda: c.update(_type=3)))()
                elif isinstance(c, bytearray):
                    try:
                        c.extend(b"1234")
                    except BufferError:
                        pass
                else:
                    c.value = self.number()
            elif what == 5:
                gc.collect(0)
            elif what == 6 and self.calls < 3:
                self.calls += 1
                self.w.m.one(1.0)
            elif what == 7:
                self.w.cursor.load()
            elif what == 8 and r.random() < 0.2:
                raise Mine()

    def hostile(self):
        """An object of a class of its own, with some of the methods that conversions call."""
        r, value, number = self.r, self.value(), self.number()
        gives = {
            "__float__": r.choice((1.5, 1.5, float("nan"), "x", None, 2, number)), "__index__": r.choice((1, 3, 2**70, 1.5, "x", number)), "__len__": r.choice((0, 2, 3, -1, 2**62, "x")),
            "__getitem__": r.choice((1.0, value)), "__iter__": r.choice((iter([1.0, 2.0]), 3)), "get_this": value, "update_this": None, "to_cursor": value,
            "__array__": r.choice((np.ones(2, np.float32), value)), "__dlpack__": lambda: np.ones(2, np.float32).__dlpack__(), "__dlpack_device__": r.choice(((1, 0), (2, 0), (1,), 3)),
            "detach": value, "cpu": value, "data_ptr": number, "__str__": r.choice(("7", "a\0b", 3)), "__repr__": r.choice(("r", 3)), "__hash__": 7, "__eq__": r.choice((True, False, 3)),
            "__bool__": r.choice((True, 3)), "__del__": None, "__getattr__": value,
        }
        chosen = r.sample(sorted(gives), r.randrange(1, 5))
        base = r.choice((object, object, object, list, dict, float, int, str, tuple))
        names = {n: method(n) for n in chosen if not (n in ("__hash__", "__eq__", "__getattr__", "__iter__", "__len__") and base in (str, dict))}
        if r.random() < 0.1:
            names["requires_grad"] = True
        if r.random() < 0.1:
            names["__cuda_array_interface__"] = {"shape": (2,), "data": (8, False), "typestr": "<f4", "version": 3}
        if r.random() < 0.1:
            names["device_address"] = number
        made = type("Hostile", (base,), names)()
        made.state = self, gives
        return made

    # >>values

    def number(self):
        r = self.r
        return r.choice((0, 1, 2, 3, -1, 0.5, 2.5, -0.0, 1e300, 1e-46, float("nan"), float("inf"), True, False, 2**31, 2**32, 2**63, 2**64, -2**63 - 1, 10**400, 10**5000,
                         np.float32(1.5), np.float64(2.5), np.int64(-3), np.uint8(200), np.bool_(True), np.float16(1), np.datetime64(5, "s"), fractions.Fraction(1, 3),
                         decimal.Decimal("2.5"), 1j, r.randrange(-300, 300), r.random()))

    def text(self):
        return self.r.choice(("", "a", "numpy", "tensor", "float", "float3", "Pair", "a\0b", "\ud800", "x" * 3000, "\u00e9", "_type", "int<", "// note", "_result"))

    def array(self):
        r = self.r
        dtype = r.choice(DTYPES)
        shape = r.choice(((), (1,), (2,), (3,), (4,), (4,), (0,), (2, 3), (3, 4), (2, 2), (2, 0), (1, 4), (2, 3, 4), (1,) * 9))
        a = np.zeros(shape, dtype)
        if a.dtype.kind in "fiu" and a.size:
            a[...] = np.arange(a.size).reshape(shape) % 100
        how = r.randrange(12)
        if how == 0 and a.ndim:
            a = a[::-1]
        elif how == 1 and a.ndim > 1:
            a = a.swapaxes(0, 1)
        elif how == 2 and a.ndim:
            a = a[..., ::2]
        elif how == 3:
            a = np.broadcast_to(a, (3,) + a.shape) if a.ndim < 8 else a
        elif how == 4:
            a.flags.writeable = False
        elif how == 5 and a.dtype.kind in "fiu" and a.dtype.isnative:
            data = bytearray(a.tobytes())
            self.containers.append(data)
            return memoryview(data).cast("B", shape=(len(data),)) if r.random() < 0.5 and data else data
        elif how == 6:
            return array.array(r.choice("fdiBq"), [1, 2, 3])
        elif how == 7:
            return (ctypes.c_float * 4)(1, 2, 3, 4) if r.random() < 0.7 else (ctypes.c_char * 3)()
        elif how == 8 and a.dtype.kind == "f" and a.dtype.isnative and a.flags.writeable:
            return a.__dlpack__()
        elif how == 9 and a.size:
            return np.ma.masked_array(a)
        return a

    def dict(self):
        r = self.r
        names = r.choice((("a", "b"), ("a", "b"), ("a",), ("a", "b", "c"), ("p", "n", "c"), ("_type", "a", "b"), (b"a", "b"), (3, "a"), ("a\0", "b"), ("", "a"), ()))
        d = {n: self.w.m.Pair if n == "_type" and r.random() < 0.7 else self.value() for n in names}
        self.containers.append(d)
        return d

    def list(self):
        r = self.r
        kind, n = r.randrange(7), r.choice((0, 1, 2, 3, 4, 4))
        if kind < 2:
            made = [self.number() for _ in range(n)]
        elif kind == 2:
            made = [[r.random() for _ in range(3)] for _ in range(n)]
        elif kind == 3:
            made = [r.random() for _ in range(n)] + [self.hostile()]
        elif kind == 4:
            made = [self.dict() for _ in range(n)]
        elif kind == 5:
            made = [r.choice(self.w.tensors) for _ in range(n)]
        else:
            made = [self.value() for _ in range(n)]
        self.containers.append(made)
        if r.random() < 0.05:
            made.append(made)
        return tuple(made) if r.random() < 0.2 else made

    def value(self):
        r = self.r
        self.depth += 1
        kind = r.randrange(20) if self.depth < 6 else r.randrange(5)
        made = None
        if kind < 3:
            made = self.number()
        elif kind == 3:
            made = r.choice((None, self.text(), b"bytes", ..., object(), float, range(5), range(0), {1, 2}, spy.float3(1, 2, 3), spy.int2(1, 2), spy.float2x2(), spy.float4(), type))
        elif kind == 4:
            made = r.choice(self.w.tensors)
        elif kind < 8:
            made = self.array()
        elif kind < 10:
            made = self.list()
        elif kind < 12:
            made = self.dict()
        elif kind < 15:
            made = self.hostile()
        elif kind == 15:
            made = r.choice(self.w.foreign)
        elif kind == 16:
            made = r.choice(self.w.objects)
        elif kind == 17:
            made = spy.ValueRef(self.value())
            self.containers.append(made)
        elif kind == 18:
            made = spy.DiffPair(1.0, self.value()) if r.random() < 0.5 else spy.DiffPair(r.choice((1.0, [1.0, 2.0], {"a": 1.0, "b": 2.0})), r.choice((0.0, [0.0, 0.0], {"a": 0.0})))
        else:
            made = r.choice((1.0, 2, np.float32([1, 2, 3, 4]), [1.0, 2.0]))
        self.depth -= 1
        return made

    # >>uses

    def options(self, f):
        r = self.r
        for _ in range(r.choice((0, 0, 0, 1, 2))):
            link = r.choice(("map", "map", "set", "constants", "bind", "return_type", "thread_group_size", "call_group_shape", "type_conformances", "write", "deterministic", "cuda_stream",
                             "prelude", "bwds", "fwds"))
            if link in ("bwds", "fwds"):
                f = getattr(f, link)
            elif link == "map":
                f = f.map(*[r.choice(((0,), (), (1, 0), (-1,), "float", self.value())) for _ in range(r.choice((0, 1, 2)))],
                          **({r.choice(("x", "a", "zz")): r.choice(((0,), "int", self.value()))} if r.random() < 0.3 else {}))
            elif link == "set":
                f = f.set(r.choice(({"gain": 2.0}, {"gain": self.value()}, self.dict(), lambda: self.value())))
            elif link == "write":
                f = f.write(lambda cursor, *rest: cursor.write({"gain": self.value()}), self.value())
            elif link == "constants":
                f = f.constants(r.choice(({"zz": 1}, self.dict(), self.value())))
            elif link == "deterministic":
                f = f.deterministic(r.choice((True, False)))
            elif link in ("thread_group_size", "call_group_shape"):
                f = getattr(f, link)(r.choice((32, (8,), (-1,), (2**40,), (1, 2, 3, 4), "x", self.hostile())))
            elif link == "cuda_stream" and self.w.device.info.type == spy.DeviceType.cuda:  # the driver follows a handle wherever it leads
                f = f.cuda_stream(r.choice((0, None, 1.5, "x", [], self.text(), self.dict())))
            elif link == "prelude":
                f = f.prelude(r.choice(("a\0", "\ud800", 3, None)))
            else:
                f = getattr(f, link)(self.value())
        return f

    def call(self):
        r = self.r
        name = r.choice(FUNCTIONS)
        f = self.options(getattr(self.w.m, name))
        args = [self.value() for _ in range(r.choice((ARITY.get(name, 1),) * 8 + (0, 3)))]
        kwargs = {}
        if r.random() < 0.1:
            kwargs[r.choice(("x", "a", "b", "zz", "a\0", "_results"))] = self.value()
        if r.random() < 0.2:
            kwargs["_result"] = r.choice((None, "numpy", "tensor", spy.Tensor, np.ndarray, self.text(), self.value(), self.value()))
        if r.random() < 0.1:
            kwargs["_thread_count"] = r.choice((0, 1, 3, (2, 2), -1, (2**40, 2**40), 2**70, "x", 1.5, None, self.hostile()))
        if r.random() < 0.05:
            kwargs["_append_to"] = r.choice((None, self.w.device.create_command_encoder(), self.value()))
        if name == "at" or r.random() < 0.6:  # a pointer's target is the program's business
            return f.resolve(*args, **kwargs)
        if r.random() < 0.05 and name != "same":  # libslang ends the process when an open generic is dispatched (issue 13, 24)
            return f.dispatch(r.choice((1, (2, 2), -1, "x", self.hostile())), *args, **kwargs)
        return f(*args, **kwargs)

    def right(self):
        """A call whose result is known."""
        r = self.r
        shape = r.choice(((), (4,), (3, 4)))
        values = [r.choice((r.random() * 10, np.float32(r.random()), np.random.default_rng(r.randrange(99)).random(shape, np.float32),
                            np.random.default_rng(5).random(shape + (2,), np.float32)[..., 1])) for _ in range(2)]
        kind = r.randrange(4)
        if kind == 0:
            values = [v.tolist() if isinstance(v, np.ndarray) and v.ndim else v for v in values]
        elif kind == 1:
            values = [spy.Tensor.from_numpy(self.w.device, v) if isinstance(v, np.ndarray) and v.ndim else v for v in values]
        sums = self.w.m.add(*values, _result="numpy")
        expected = sum(np.asarray(v.to_numpy() if isinstance(v, spy.Tensor) else v, np.float32) for v in values)
        np.testing.assert_allclose(sums, expected, rtol=1e-6)

    def contents(self):
        r, w, d = self.r, self.w, self.w.device
        t, kind = r.choice(w.tensors + w.foreign[:3]), r.randrange(14)
        dtype = r.choice((None, "float", "int", "float3", w.m.Pair, w.m.Nest, self.text(), np.float32, self.value()))
        shape = r.choice(((2,), (3, 4), (), 4, (-1,), (2**61, 8), (1,) * 9, "x", self.list(), self.hostile()))
        if kind == 0:
            return spy.Tensor.full(d, (2,), self.value(), dtype)
        if kind == 1:
            return spy.Tensor.zeros(d, (2,) if r.random() < 0.5 else shape, dtype)
        if kind == 2:
            return t.copy_from_numpy(self.value())
        if kind == 3:
            return spy.Tensor.from_numpy(d, self.value(), dtype=dtype)
        if kind == 4:
            w.cursor[r.choice((0, 1, 2, 3, -1, 2**70))] = self.value()
            return None
        if kind == 5:
            return setattr(w.cursor[0], r.choice(("a", "b", "c", "a\0")), self.value())
        if kind == 6:
            return w.cursor.copy_from_numpy(self.value())
        if kind == 7:
            return t[r.choice((0, -1, 2**70, slice(None, None, 2), slice(3, 0, -1), ..., None, (0, 0), (slice(0, 0),), "x", 1.5, self.hostile(), (self.hostile(), 0), (0,) * 40))]
        if kind == 8:
            return r.choice((t.view, t.reshape, t.broadcast_to, spy.Shape))(shape)
        if kind == 9:
            return t.with_grads(self.value(), r.choice((None, self.value())))
        if kind == 10:
            return spy.pack(w.m, self.value())
        if kind == 11:
            e = w.device.create_command_encoder()
            return r.choice((lambda: e.copy_tensor(t, r.choice(w.tensors)), lambda: e.fill_tensor(t, self.number()), lambda: e.upload_buffer_data(w.objects[6], r.choice((0, -1, 60)), self.value()),
                             lambda: e.copy_buffer(w.objects[6], 0, t, 0, r.choice((4, -1, 2**62)))))()
        if kind == 12:
            return r.choice((lambda: w.m[self.text()], lambda: getattr(w.m.Pair, self.text()), lambda: w.m.find_function(self.value()), lambda: spy.BufferCursor(None, w.m.Pair, self.value())))()
        return spy.DiffPair(self.value(), self.value()) and spy.float3(self.value())

    def use(self):
        what = self.r.randrange(20)
        if what == 0:
            return self.right()
        try:
            return self.call() if what < 14 else self.contents()
        except (Mine,) + KNOWN as e:
            return e


def run(seed, count, world=None, only=None, report=None):
    """Makes `count` uses; gives how many gave a result. An AssertionError or another exception names the use."""
    world = world or World()
    results, hook = 0, sys.unraisablehook
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        sys.unraisablehook = lambda error: None  # what __del__ raises
        for i in [only] if only is not None else range(count):
            f = Fuzz(world, "%s:%d" % (seed, i))
            if report:
                report(i)
            try:
                made = f.use()
            except BaseException as e:
                raise AssertionError("python_arguments.py --seed %s --only %d: %s: %s" % (seed, i, type(e).__name__, e)) from e
            results += not isinstance(made, BaseException)
            f = made = None
            if i % 5000 == 100:
                world.device.wait()
                world.check_references()
        world.check_references()
    sys.unraisablehook = hook
    return results


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--seed", default=str(random.randrange(10**6)))
    parser.add_argument("--calls", type=int, default=20000)
    parser.add_argument("--only", type=int)
    parser.add_argument("--trace", action="store_true", help="print each number before its use, to find one that crashes")
    given = parser.parse_args()
    print("seed", given.seed, flush=True)
    results = run(given.seed, given.calls, only=given.only, report=(lambda i: print(i, file=sys.stderr, flush=True)) if given.trace else None)
    print("%d uses, %d of them with a result" % (given.calls if given.only is None else 1, results))


if __name__ == "__main__":
    main()

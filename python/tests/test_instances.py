"""Instances of Slang structs in one tensor and in one tensor for each field, compared with numpy. Features I2, I3, I4, C13, B16."""
import gc

import numpy as np
import pytest

import slangpy as spy

SOURCE = """
import slangpy;
struct Particle {
    float3 position;
    float3 velocity;
    __init(float3 p, float3 v) { position = p; velocity = v; }
    [mutating] void update(float dt) { position += velocity * dt; }
    [mutating] float push(float3 force, float dt) { velocity += force * dt; return length(velocity); }
    float speed() { return length(velocity); }
    float3 at(float t) { return position + velocity * t; }
    static float energy(float mass, float speed) { return 0.5 * mass * speed * speed; }
};
struct Counter { int n; [mutating] void add(int k) { n += k; } int get() { return n; } };
struct Body { Particle particle; float mass; float momentum() { return mass * particle.speed(); } [mutating] void stop() { particle.velocity = float3(0); } };
float dot_velocity(Particle p, float3 d) { return dot(p.velocity, d); }
void move_all(inout Particle p, float3 by) { p.position += by; }
float[2] pair(Particle p) { return { p.position.x, p.velocity.x }; }
"""


@pytest.fixture(scope="module")
def module(load):
    return load(SOURCE)


def random(shape, seed=0):
    return np.random.default_rng(seed).random(shape).astype("f4")


def particles(module, shape=(10,), seed=0):
    """Returns an InstanceTensor and its random contents."""
    shape = (shape,) if isinstance(shape, int) else shape
    data = {"position": random(shape + (3,), seed), "velocity": random(shape + (3,), seed + 1)}
    return spy.InstanceTensor(module.Particle.as_struct(), shape, data), data["position"], data["velocity"]


def lists(module, count=10, seed=0):
    position, velocity = random((count, 3), seed), random((count, 3), seed + 1)
    d = module.device
    data = {"position": spy.Tensor.from_numpy(d, position, dtype="float3"), "velocity": spy.Tensor.from_numpy(d, velocity, dtype="float3")}
    return spy.InstanceList(module.Particle, data), position, velocity


# >>InstanceTensor

@pytest.mark.parametrize("shape", [(10,), (2, 3), (), (0,)])
def test_construct(module, shape):
    """Arguments of the constructor broadcast over the instances. (Features I1, I3.)"""
    tensor = spy.InstanceTensor(struct=module.Particle.as_struct(), shape=shape)
    velocity = random(shape + (3,))
    tensor.construct(p=[1, 2, 3], v=velocity)
    a = tensor.to_numpy(structured=True)
    assert tensor.shape == shape and a.shape == shape and a.dtype.names == ("position", "velocity")
    np.testing.assert_array_equal(a["velocity"], velocity)
    np.testing.assert_array_equal(a["position"], np.broadcast_to(np.array([1, 2, 3], "f4"), shape + (3,)))


def test_construct_with_random_numbers(module):
    """construct() takes random generators, as SlangPy's documentation shows."""
    tensor = spy.InstanceTensor(struct=module.Particle.as_struct(), shape=(100,))
    tensor.construct(p=[0, 0, 0], v=spy.rand_float(-1, 1, 3))
    a = tensor.to_numpy(structured=True).view(dtype=np.float32).reshape(-1, 6)
    assert not a[:, :3].any() and (abs(a[:, 3:]) <= 1).all() and np.unique(a[:, 3:]).size > 250
    tensor.update(0.1)
    np.testing.assert_allclose(tensor.to_numpy(structured=True)["position"], 0.1 * a[:, 3:], rtol=1e-6)


@pytest.mark.parametrize("shape", [(10,), (3, 4)])
def test_methods(module, shape):
    """Mutating methods change the instances and other methods return tensors; arguments may be keywords and are broadcast. (Features I2,
    I3.)"""
    tensor, position, velocity = particles(module, shape)
    tensor.update(0.5)
    tensor.update(dt=0.25)
    np.testing.assert_allclose(tensor.to_numpy(structured=True)["position"], position + 0.75 * velocity, rtol=1e-5)
    np.testing.assert_allclose(tensor.speed(_result="numpy"), np.linalg.norm(velocity, axis=-1), rtol=1e-5)
    times = random(shape, 9)
    tensor.update(times)
    position = position + 0.75 * velocity + times[..., None] * velocity
    np.testing.assert_allclose(tensor.to_numpy(structured=True)["position"], position, rtol=1e-5)
    np.testing.assert_allclose(tensor.at(2.0, _result="numpy"), position + 2 * velocity, rtol=1e-5)


def test_method_that_changes_and_returns(module):
    tensor, _, velocity = particles(module)
    force = random((10, 3), 5)
    speeds = tensor.push(force, dt=2.0, _result="numpy")
    np.testing.assert_allclose(tensor.to_numpy(structured=True)["velocity"], velocity + 2 * force, rtol=1e-5)
    np.testing.assert_allclose(speeds, np.linalg.norm(velocity + 2 * force, axis=1), rtol=1e-5)


def test_static_methods_have_no_this(module):
    tensor, _, velocity = particles(module)
    speed = np.linalg.norm(velocity, axis=1)
    np.testing.assert_allclose(tensor.energy(2.0, tensor.speed(), _result="numpy"), speed * speed, rtol=1e-5)


def test_tensors_of_instances_are_arguments(module):
    """An InstanceTensor is an argument, by get_this() and update_this(). (Features I3, C13.)"""
    tensor, position, velocity = particles(module)
    np.testing.assert_allclose(module.dot_velocity(tensor, [1, 2, 3], _result="numpy"), velocity @ np.array([1, 2, 3], "f4"), rtol=1e-5)
    module.move_all(p=tensor, by=[1, 0, -1])
    np.testing.assert_allclose(tensor.to_numpy(structured=True)["position"], position + np.array([1, 0, -1], "f4"), rtol=1e-6)
    np.testing.assert_allclose(module.Particle.speed(tensor, _result="numpy"), np.linalg.norm(velocity, axis=1), rtol=1e-5)
    np.testing.assert_allclose(module.Particle.speed.bind(tensor)(_result="numpy"), np.linalg.norm(velocity, axis=1), rtol=1e-5)


@pytest.mark.parametrize("make", [
    lambda m, d, a: spy.Tensor.from_numpy(d, a, dtype=m.Particle), lambda m, d, a: a, lambda m, d, a: {"velocity": a["velocity"], "position": a["position"]},
    lambda m, d, a: a.view("f4"), lambda m, d, a: a[["velocity", "position"]],
])
def test_data(device, module, make):
    """An InstanceTensor's data may be a tensor, a structured array, or a dict of arrays or numbers. (Feature I3.)"""
    a = np.zeros(5, [("position", "f4", (3,)), ("velocity", "f4", (3,))])
    a["position"], a["velocity"] = random((5, 3)), random((5, 3), 1)
    data = make(module, device, a)
    tensor = spy.InstanceTensor(module.Particle, (5,), data=data)
    np.testing.assert_array_equal(tensor.to_numpy(structured=True)["velocity"], a["velocity"])
    np.testing.assert_array_equal(tensor.to_numpy(structured=True)["position"], a["position"])
    if isinstance(data, spy.Tensor):
        assert tensor.tensor is data


def test_parts(device, module):
    tensor, position, velocity = particles(module, (4, 3))
    row = tensor[1]
    assert row.shape == (3,) and len(tensor) == 4 and isinstance(row, spy.InstanceTensor) and row.device is device
    row.update(1.0)
    position[1] += velocity[1]
    np.testing.assert_allclose(tensor.to_numpy(structured=True)["position"], position, rtol=1e-6)
    tensor.cursor()[0].position = [7, 8, 9]
    cursor = tensor.cursor(2, 1)
    cursor[0].position = [7, 8, 9]
    cursor.apply()
    assert tensor.to_numpy(structured=True)["position"][0, 2].tolist() == [7, 8, 9]
    assert repr(tensor) == "<slangpy.InstanceTensor Particle (4, 3)>" and str(tensor) == str(tensor.to_numpy())
    tensor.copy_from_numpy(np.zeros(72, np.float32))
    assert not tensor.to_numpy(structured=True)["position"].any() and tensor.struct == module.Particle


def test_the_old_name(module):
    assert spy.InstanceBuffer is spy.InstanceTensor
    counters = spy.InstanceBuffer(struct=module.Counter.as_struct(), shape=(4,), data=np.arange(4, dtype="i4"))
    counters.add(np.array([1, 2, 3, 4]))
    assert counters.get().to_numpy().tolist() == [1, 3, 5, 7]


@pytest.mark.parametrize("act, exception, text", [
    (lambda m: spy.InstanceTensor("Particle", (3,)), TypeError, "argument 'struct': expected a type of a module, got <class 'str'>"),
    (lambda m: spy.InstanceTensor(m.dot_velocity, (3,)), TypeError, "argument 'struct': expected a type of a module"),
    (lambda m: spy.InstanceTensor(m.Particle, (3,)).nothing, AttributeError, "InstanceTensor of Particle has no field or method named 'nothing'"),
    (lambda m: spy.InstanceTensor(m.Particle, (3,), np.zeros(17)), ValueError, "Shape mismatch: expected 18 numbers, got 17"),
    (lambda m: spy.InstanceTensor(m.Particle, (3,), spy.Tensor.zeros(m.device, (4,), m.Particle)), ValueError, r"Shape mismatch: expected \(3,\), got \(4,\)"),
    (lambda m: spy.InstanceTensor(m.Particle, (3,), spy.Tensor.zeros(m.device, (3,), "float3")), TypeError, "a tensor of Particle, got one of vector<float,3>"),
    (lambda m: spy.InstanceTensor(m.Particle, (3,)).update(), spy.Error, "Parameter 'dt' not specified"),
    (lambda m: spy.InstanceTensor(m.Particle, (3,)).update(1, 2), spy.Error, "Too many arguments"),
    (lambda m: spy.InstanceTensor(m.Particle, (3,)).update(np.zeros(4)), ValueError, "Shape mismatch"),
    (lambda m: spy.InstanceTensor(m.Particle, (3,)).construct(np.zeros((4, 3)), [1, 2, 3]), ValueError, "Shape mismatch"),
    (lambda m: spy.InstanceList(m.Particle, {"positon": 1}), ValueError, "Particle has no field 'positon'; expected position, velocity"),
    (lambda m: spy.InstanceList(5), TypeError, "InstanceList: argument 'struct': expected a type of a module"),
    (lambda m: spy.InstanceList(m.Particle).position, AttributeError, "field 'position' of Particle not specified"),
    (lambda m: spy.InstanceList(m.Particle).nothing, AttributeError, "InstanceList of Particle has no field or method named 'nothing'"),
    (lambda m: spy.InstanceList(m.Particle, {"position": np.zeros((2, 3)), "velocity": np.zeros((3, 3))}).speed(), ValueError, "Shape mismatch"),
])
def test_instances_refuse(module, act, exception, text):
    with pytest.raises(exception, match=text):
        act(module)


# >>InstanceList

def test_list_methods_write_into_the_fields(module):
    """A mutating method of an InstanceList writes into the tensors of its fields. (Feature I4.)"""
    many, position, velocity = lists(module)
    many.update(0.5)
    np.testing.assert_allclose(many.position.to_numpy(), position + 0.5 * velocity, rtol=1e-6)
    np.testing.assert_array_equal(many.velocity.to_numpy(), velocity)
    np.testing.assert_allclose(many.speed(_result="numpy"), np.linalg.norm(velocity, axis=1), rtol=1e-5)
    np.testing.assert_allclose(many.at(np.arange(10), _result="numpy"), position + (0.5 + np.arange(10)[:, None]) * velocity, rtol=1e-5)


def test_list_construct(module):
    """construct() of an InstanceList fills the fields' tensors. (Features I1, I4.)"""
    many, _, _ = lists(module)
    velocity = random((10, 3), 7)
    many.construct(p=[1, 2, 3], v=velocity)
    np.testing.assert_array_equal(many.position.to_numpy(), np.broadcast_to(np.array([1, 2, 3], "f4"), (10, 3)))
    np.testing.assert_array_equal(many.velocity.to_numpy(), velocity)


def test_list_of_numpy_arrays(module):
    """Fields may be arrays, which mutating methods fill. (Feature I4.)"""
    position, velocity = random((10, 3)), random((10, 3), 1)
    many = spy.InstanceList(module.Particle, {"position": position.copy(), "velocity": velocity})
    many.update(2.0)
    np.testing.assert_allclose(many.position, position + 2 * velocity, rtol=1e-6)


def test_list_of_constants_and_generators(module):
    many = spy.InstanceList(module.Particle, {"position": random((6, 3)), "velocity": [3, 0, 4]})
    np.testing.assert_allclose(many.speed(_result="numpy"), [5] * 6)
    np.testing.assert_allclose(many.at(1.0, _result="numpy"), random((6, 3)) + np.array([3, 0, 4], "f4"), rtol=1e-6)
    many.update(1.0) # a field that is a plain value has one value for all instances, so what a method writes to it is dropped
    assert many.velocity == [3, 0, 4]


def test_list_of_one_instance_of_numbers(module):
    """Numbers that a mutating method changes come back into the list. (Features I2, I4.)"""
    one = spy.InstanceList(module.Particle, {"position": [1, 2, 3], "velocity": [3, 0, 4]})
    one.update(2.0)
    assert list(one.position) == [7, 2, 11] and list(one.velocity) == [3, 0, 4]


def test_list_fields_are_attributes(module):
    many = spy.InstanceList(module.Particle)
    many.position = random((4, 3))
    many.velocity = random((4, 3), 1)
    many.note = "a Python attribute"
    assert set(many.data) == {"position", "velocity"} and many.note == "a Python attribute" and "position" in dir(many)
    np.testing.assert_allclose(many.speed(_result="numpy"), np.linalg.norm(random((4, 3), 1), axis=1), rtol=1e-5)
    many.set_data({"position": [0, 0, 0], "velocity": [0, 3, 4]})
    assert many.speed() == pytest.approx(5) and many.position == [0, 0, 0]
    assert repr(many) == "<slangpy.InstanceList Particle {position, velocity}>"


def test_lists_are_arguments(module):
    """An InstanceList is an argument: its struct is read and written element by element. (Features I4, C13.)"""
    many, position, velocity = lists(module)
    np.testing.assert_allclose(module.dot_velocity(many, [1, 2, 3], _result="numpy"), velocity @ np.array([1, 2, 3], "f4"), rtol=1e-5)
    module.move_all(many, random((10, 3), 4))
    np.testing.assert_allclose(many.position.to_numpy(), position + random((10, 3), 4), rtol=1e-6)
    np.testing.assert_allclose(many.energy(1.0, 2.0), 2.0)


def test_nested_lists(device, module):
    """A field may be an InstanceTensor, an InstanceList or a dict of its own. (Feature I4.)"""
    mass = random(5, 3)
    inner, _, velocity = particles(module, (5,))
    expected = mass * np.linalg.norm(velocity, axis=1)
    for particle in (inner, lists(module, 5)[0], {"position": [0, 0, 0], "velocity": velocity}):
        bodies = spy.InstanceList(module.Body, {"particle": particle, "mass": mass})
        np.testing.assert_allclose(bodies.momentum(_result="numpy"), expected, rtol=1e-5)
    bodies = spy.InstanceList(module.Body, {"particle": inner, "mass": spy.Tensor.from_numpy(device, mass)})
    bodies.stop()
    assert not inner.to_numpy(structured=True)["velocity"].any()


class Swarm(spy.InstanceList):
    """A subclass with attributes and methods of its own, as in SlangPy's documentation."""

    unit = "m"

    def __init__(self, module, name, count):
        super().__init__(module.Particle.as_struct())
        self.name = name
        self.position = spy.Tensor.zeros(module.device, (count,), module.float3)
        self.velocity = spy.Tensor.zeros(module.device, (count,), module.float3)

    def describe(self):
        return "{}: {} {}".format(self.name, len(self.position), self.unit)

    def run(self, steps):
        for _ in range(steps):
            self.update(0.25)


def test_subclass_of_list(module):
    """A class derived from InstanceList has methods of the struct and of its own. (Feature I4.)"""
    swarm = Swarm(module, "bees", 8)
    velocity = random((8, 3))
    swarm.construct([0, 0, 0], velocity)
    swarm.run(4)
    np.testing.assert_allclose(swarm.position.to_numpy(), velocity, rtol=1e-6)
    assert swarm.describe() == "bees: 8 m" and set(swarm.data) == {"position", "velocity"}
    assert repr(swarm) == "<slangpy.Swarm Particle {position, velocity}>"


class Flock(spy.InstanceTensor):
    def __init__(self, module, count):
        super().__init__(module.Particle, (count,))
        self.age = 0

    def update(self, dt):
        """A Python method that wins over Slang's method of the same name, which it calls."""
        self.age += dt
        self.struct.update(self, dt)


def test_subclass_of_tensor(module):
    flock = Flock(module, 3)
    flock.construct([0, 0, 0], [1, 2, 3])
    flock.update(2.0)
    assert flock.age == 2 and flock.to_numpy(structured=True)["position"].tolist() == [[2, 4, 6]] * 3


def test_pack(module):
    """pack() converts an argument once, for many calls. (Features B16, I4.)"""
    many, _, velocity = lists(module)
    tensor, _, velocity2 = particles(module, seed=3)
    for instances, v in ((many, velocity), (tensor, velocity2)):
        packed = instances.pack()
        assert isinstance(packed, spy.PackedArg)
        for k in range(3):
            np.testing.assert_allclose(module.dot_velocity(packed, [k, 1, 0], _result="numpy"), v @ np.array([k, 1, 0], "f4"), rtol=1e-5)


def test_pack_of_host_arrays(module):
    velocity = random((4, 3))
    packed = spy.pack(module, {"position": [0, 0, 0], "velocity": velocity})
    velocity_then = velocity.copy()
    velocity[:] = 0
    np.testing.assert_allclose(module.Particle.speed(packed, _result="numpy"), np.linalg.norm(velocity_then, axis=1), rtol=1e-5)


class Holder:
    """A class of the user's own. (Feature C13.)"""

    def __init__(self, this):
        self.this, self.updates = this, []

    def get_this(self):
        return self.this

    def update_this(self, value):
        self.updates.append(value)


def test_the_protocol(device, module):
    tensor = spy.Tensor.full(device, (3,), {"n": 5}, module.Counter)
    holder = Holder(tensor)
    module.Counter.add(holder, 2)
    assert tensor.to_numpy(structured=True)["n"].tolist() == [7] * 3 and holder.updates == [tensor]
    assert module.Counter.get(holder).to_numpy(structured=True).tolist() == [7] * 3


def test_methods_are_found_once(module):
    tensor, _, _ = particles(module)
    assert tensor.update is tensor.update
    many, _, _ = lists(module)
    assert many.speed is many.speed


def test_instances_are_freed(module):
    """A list and its bound methods refer to each other and are collected."""
    import weakref
    many, _, _ = lists(module)
    tensor, _, _ = particles(module)
    many.update(1.0)
    tensor.update(1.0)
    dead = [weakref.ref(many), weakref.ref(tensor), weakref.ref(many.position), weakref.ref(tensor.tensor)]
    del many, tensor
    gc.collect()
    assert [r() for r in dead] == [None] * 4


def test_differentiable_generic(device, load):
    """A differentiable generic struct is found by its specialised name, constructed, and its methods are called, with derivatives.
    (Feature M8.)"""
    m = load("""
struct MLP<int I, int O> : IDifferentiable { float w[I]; float b[O];
  [Differentiable] float run(float x) { return x * x * w[1] + b[0]; } };
[Differentiable] float f(MLP<8,4> m, float x) { return m.run(x); }
""")
    for name in ("MLP<8,4>", "MLP<8, 4>"):
        assert m[name].struct.full_name == "MLP<8, 4>" and m[name].full_name == "MLP<8, 4>" and m[name].name == "MLP"
    assert m.find_struct("MLP<8,4>").struct == m["MLP<8,4>"].struct
    with pytest.raises(Exception, match="is generic"):
        m["MLP"]
    net = {"w": np.arange(8, dtype=np.float32), "b": np.ones(4, np.float32)}
    x = spy.Tensor.from_numpy(device, np.array([3.0, 2.0], np.float32)).with_grads(zero=True)
    assert list(m["MLP<8,4>"].run(this=net, x=x).to_numpy()) == [10, 5]
    assert list(m.f(net, x).to_numpy()) == [10, 5]
    m.f.bwds(net, x, _result=spy.diffPair(d=1.0))
    assert list(x.grad.to_numpy()) == [6, 4]

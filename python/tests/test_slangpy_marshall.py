"""Classes of users as arguments, as SlangPy has them: get_this(), PYTHON_TYPES with a Marshall and its Slang code, values for cursors."""

import numpy as np
import pytest

import slangpy as spy
from slangpy.bindings import PYTHON_SIGNATURES, PYTHON_TYPES, AccessType, BindContext, CodeGenBlock, Marshall, ReturnContext, Shape, ValueMarshall
from slangpy.builtin.valueref import ValueRefMarshall

SOURCE = """
import slangpy;

struct Line
{
    int start;
    int step;
    void __slangpy_load(Context1D context, out int value) { value = start + step * context.call_id[0]; }
}

struct Pixel
{
    void __slangpy_load<let N : int>(ContextND<N> context, out vector<int, N> value) { value = context.call_id_vec; }
}

struct Thread { void __slangpy_load(Context context, out uint value) { value = context.thread_id.x; } }

struct Sink
{
    RWStructuredBuffer<int> all;
    void __slangpy_load(Context1D context, out int value) { value = all[context.call_id[0]]; }
    void __slangpy_store(Context1D context, int value) { all[context.call_id[0]] = value; }
}

int twice(int x) { return 2 * x; }
int add(int x, int y) { return x + y; }
int2 same(int2 v) { return v; }
uint number(uint v) { return v; }
void square(int x, out int y) { y = x * x; }
void bump(inout int x) { x += 1; }
struct Pair { float a; float b; }
Pair pair(float a, float b) { return { a, b }; }
"""


class Line:
    def __init__(self, start, step, count=-1):
        self.start, self.step, self.count = start, step, count


class LineMarshall(Marshall):
    """A Marshall as scripts for SlangPy write it."""

    def __init__(self, layout, value):
        super().__init__(layout)
        self.slang_type = layout.find_type_by_name("Line")
        self.seen = []

    def gen_calldata(self, cgb, context, binding):
        assert isinstance(cgb, CodeGenBlock) and isinstance(context, BindContext) and context.device is not None
        assert binding.access[0] == AccessType.read and binding.variable_name == binding.name
        cgb.type_alias("_t_" + binding.variable_name, "Line")

    def get_shape(self, value):
        return Shape(value.count)

    def create_calldata(self, context, binding, data):
        return {"start": data.start, "step": data.step}

    def resolve_type(self, context, bound_type):
        assert bound_type.full_name == "int"
        return context.layout.find_type_by_name("int")

    def resolve_dimensionality(self, context, binding, vector_target_type):
        return 1


class Named(Marshall):
    """Data of a Slang type given by name, without fields, over `rank` dimensions."""

    def __init__(self, layout, value):
        super().__init__(layout)
        self.value = value

    def gen_calldata(self, cgb, context, binding):
        binding.gen_calldata_type_name(cgb, self.value.name)

    def create_calldata(self, context, binding, data):
        return {}

    def get_shape(self, value=None):
        return Shape(value.shape)

    def resolve_dimensionality(self, context, binding, vector_target_type):
        return len(self.value.shape)


class Value:
    def __init__(self, name, shape=()):
        self.name, self.shape = name, shape


@pytest.fixture(scope="module")
def m(load):
    return load(SOURCE)


@pytest.fixture(autouse=True)
def registered():
    kept = dict(PYTHON_TYPES)
    PYTHON_TYPES[Line] = lambda layout, value: LineMarshall(layout, value)
    PYTHON_TYPES[Value] = lambda layout, value: Named(layout, value)
    yield
    PYTHON_TYPES.clear()
    PYTHON_TYPES.update(kept)


def test_a_marshall_loads_its_value_by_slang_code(m):
    """PYTHON_TYPES[cls] = fn(layout, value) gives a Marshall, whose Slang type has __slangpy_load(Context, out T)."""
    assert m.twice(Line(10, 3, 4), _result="numpy").tolist() == [20, 26, 32, 38]
    assert m.add(5, Line(1, 1, 2), _result="numpy").tolist() == [6, 7] and m.add(y=Line(1, 1, 2), x=5).to_numpy().tolist() == [6, 7]
    assert m.add(Line(0, 1, 3), Line(10, 10, 3), _result="numpy").tolist() == [10, 21, 32]


def test_a_marshall_takes_open_sizes_from_the_other_arguments(m):
    assert m.add(Line(10, 3), np.int32([1, 2, 3]), _result="numpy").tolist() == [11, 15, 19]
    with pytest.raises(ValueError):
        m.add(Line(10, 3, 4), np.int32([1, 2, 3]))


def test_bases_of_a_class_count(m):
    class Ruler(Line):
        pass

    assert m.twice(Ruler(1, 1, 2), _result="numpy").tolist() == [2, 4]


def test_context_has_call_id_vec_reversed_and_thread_id(m):
    assert (m.same(Value("Pixel", (2, 3)), _result="numpy") == np.stack(np.indices((2, 3))[::-1], -1)).all()
    assert m.number(Value("Thread"), _result=np.zeros((2, 2), np.uint32)).tolist() == [[0, 1], [2, 3]]


def test_a_marshall_without_slang_type_for_it_is_an_error(m):
    with pytest.raises(Exception, match="Nothing"):
        m.twice(Value("Nothing"))


class Sink:
    def __init__(self, buffer):
        self.buffer, self.seen = buffer, None


class SinkMarshall(Marshall):
    def gen_calldata(self, cgb, context, binding):
        assert binding.access[0] in (AccessType.write, AccessType.readwrite)
        binding.gen_calldata_type_name(cgb, "Sink")

    def create_calldata(self, context, binding, data):
        return {"all": data.buffer}

    def read_calldata(self, context, binding, data, result):
        data.seen = result["all"].to_numpy().view(np.int32).tolist()

    def resolve_dimensionality(self, context, binding, vector_target_type):
        return 1


def test_a_marshall_stores_what_a_call_writes(m, device):
    """__slangpy_store() is called for out and inout parameters."""
    PYTHON_TYPES[Sink] = lambda layout, value: SinkMarshall(layout)
    buffer = device.create_buffer(element_count=4, struct_size=4, usage=spy.BufferUsage.unordered_access, data=np.zeros(4, np.int32))
    sink = Sink(buffer)
    m.square(np.int32([1, 2, 3, 4]), sink)
    assert buffer.to_numpy().view(np.int32).tolist() == [1, 4, 9, 16] == sink.seen
    m.square(Line(5, 1, 4), sink)
    assert sink.seen == [25, 36, 49, 64]


class Number:
    def __init__(self, value):
        self.value = value


class NumberMarshall(ValueMarshall):
    def create_calldata(self, context, binding, data):
        return {"value": data.value}


def test_a_value_marshall_passes_its_value(m):
    PYTHON_TYPES[Number] = lambda layout, value: NumberMarshall(layout)
    assert m.twice(Number(21)) == 42 and m.twice(Number(np.int32([1, 2])), _result="numpy").tolist() == [2, 4]


def test_a_registered_function_may_give_a_plain_value(m):
    PYTHON_TYPES[Number] = lambda layout, value: value.value
    assert m.add(Number(1), 2) == 3
    PYTHON_TYPES[Number] = lambda value: value.value
    assert m.add(Number(1), 2) == 3


class Made:
    def __init__(self, a, b):
        self.a, self.b = a, b


class MadeMarshall(ValueRefMarshall):
    def read_output(self, context, binding, data):
        value = super().read_output(context, binding, data)
        return Made(value["a"], value["b"])


def test_a_registered_class_can_be_the_result(m):
    """A registered class can be the return_type: its function gets a ReturnContext with .slang_type and .bind_context."""
    seen = []

    def make(layout, value):
        seen.append(value)
        return MadeMarshall(layout, value.slang_type)

    PYTHON_TYPES[Made] = make
    for made in (m.pair(1, 2, _result=Made), m.pair.return_type(Made)(1, 2)):
        assert type(made) is Made and (made.a, made.b) == (1, 2)
    assert isinstance(seen[0], ReturnContext) and seen[0].slang_type.full_name == "Pair" and isinstance(seen[0].bind_context, BindContext)


def test_marshalled_calls_keep_the_chain_and_are_compiled_once(m, device):
    before = device.shader_cache_stats.entry_count
    for i in range(3):
        assert m.twice(Line(i, 1, 2), _result="numpy").tolist() == [2 * i, 2 * i + 2]
    encoder = device.create_command_encoder()
    out = spy.Tensor.zeros(device, (2,), "int")
    m.twice.append_to(encoder, Line(4, 4, 2), _result=out)
    device.submit_command_buffer(encoder.finish())
    assert out.to_numpy().tolist() == [8, 16] and device.shader_cache_stats.entry_count - before <= 3


def test_marshalled_values_in_modules_from_files(device, tmp_path):
    (tmp_path / "lines.slang").write_text(SOURCE)
    m = spy.Module.load_from_file(device, str(tmp_path / "lines.slang"))
    assert m.twice(Line(1, 2, 3), _result="numpy").tolist() == [2, 6, 10]


def test_lists_say_that_they_take_no_marshalled_values(m):
    # backward calls take values with a Marshall; this Marshall has no gradient that can be read
    with pytest.raises(ValueError, match="gradient"):
        m.twice.bwds(Line(1, 1, 2))
    with pytest.raises(Exception, match="list"):
        m.same([Line(1, 1, 2), 1])


def test_fields_of_dicts_can_be_marshalled(load):
    m = load("""
import slangpy;
struct Line { int start; int step; void __slangpy_load(Context1D context, out int value) { value = start + step * context.call_id[0]; } }
struct Inner { int a; int b; }
struct Outer { Inner inner; int c; }
int sum(int first, Outer o) { return first + o.inner.a + 10 * o.inner.b + 100 * o.c; }
""")
    value = {"inner": {"a": Line(1, 1, 2), "b": 3}, "c": np.int32([4, 5]), "_type": "Outer"}
    assert m.sum(1000, value, _result="numpy").tolist() == [1431, 1532]
    assert m.sum(o={"inner": {"a": 1, "b": 3}, "c": Line(4, 1, 2)}, first=0).to_numpy().tolist() == [431, 531]
    assert m.sum(0, Holder(value), _result="numpy").tolist() == [431, 532]
    PYTHON_TYPES[Number] = lambda layout, value: NumberMarshall(layout)
    assert m.sum(Number(1), {"inner": {"a": 1, "b": Number(3)}, "c": 4}) == 432
    with pytest.raises(ValueError, match="no field"):
        m.sum(0, {"inner": {"a": Line(1, 1), "d": 3}, "c": 4})


class Holder:
    slangpy_signature = "holder"

    def __init__(self, value):
        self.value, self.updates = value, []

    def get_this(self):
        return self.value

    def update_this(self, value):
        self.updates.append(value)


def test_get_this_is_unpacked_at_each_call_and_update_this_gets_the_new_value(m):
    h = Holder(3)
    assert m.twice(h) == 6
    h.value = 5
    assert m.twice(h) == 10
    m.bump(h)
    assert h.updates[-1] == 6
    assert m.twice(Holder(Holder(4))) == 8 and m.twice(Holder(Line(1, 1, 2)), _result="numpy").tolist() == [2, 4]


def test_signatures_are_texts_of_values():
    from slangpy.core.native import SignatureBuilder, get_value_signature

    PYTHON_SIGNATURES[Number] = lambda value: "n{}".format(value.value)
    try:
        assert get_value_signature(Number(1)) != get_value_signature(Number(2)) and get_value_signature(1) == get_value_signature(2)
        assert "holder" in get_value_signature(Holder(1))
        builder = SignatureBuilder()
        builder.add("a")
        builder.add("b")
        assert builder.str == "ab" and builder.bytes == b"ab"
    finally:
        del PYTHON_SIGNATURES[Number]


def test_values_for_cursors_come_from_to_cursor_or_a_registered_function(m, device):
    class Length:
        def __init__(self, value):
            self.value = value

        def to_cursor(self):
            return self.value

    class Other(Length):
        to_cursor = None

    t = spy.Tensor.zeros(device, (2,), m.Pair)
    cursor = t.cursor()
    cursor[0].write({"a": Length(1.5), "b": 2.0})
    spy.register_write_to_cursor_type(Other, lambda other: other.value + 1)
    cursor[1].write({"a": Other(1.0), "b": 4.0})
    cursor.apply()
    assert t.cursor()[0].read() == {"a": 1.5, "b": 2} and t.cursor()[1].read() == {"a": 2, "b": 4}


def test_methods_take_marshalled_arguments(load):
    m = load("""
import slangpy;
struct Line { int start; int step; void __slangpy_load(Context1D context, out int value) { value = start + step * context.call_id[0]; } }
struct Scaler
{
    int factor;
    int scale(int x) { return factor * x; }
    static int half(int x) { return x / 2; }
    [mutating] void grow(int by) { factor += by; }
}
""")
    assert m.Scaler.scale({"factor": 3}, Line(1, 1, 3), _result="numpy").tolist() == [3, 6, 9]
    assert m.Scaler.scale.bind({"factor": 2})(Line(1, 1, 2), _result="numpy").tolist() == [2, 4]
    assert m.Scaler.half(Line(2, 2, 2), _result="numpy").tolist() == [1, 2]
    t = spy.InstanceTensor(m.Scaler, (2,), np.zeros(2, [("factor", "i4")]))
    t.grow(Line(10, 5, 2))
    assert t.scale(1).to_numpy().tolist() == [10, 15]

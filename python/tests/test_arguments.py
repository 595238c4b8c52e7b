"""Lists of dicts and addresses as arguments, and values of `_result`."""
import numpy as np
import pytest

import slangpy as spy

SOURCE = """
import slangpy;
struct Inner { int k; float2 v; };
struct Item { float a; int n; bool flag; Inner inner; };
float value(Item i) { return i.a + i.n * 10 + (i.flag ? 100 : 0) + i.inner.k * 1000 + i.inner.v.y; }
float total(Item items[2]) { return value(items[0]) + 2 * value(items[1]); }
float scaled(Item i, float s) { return value(i) * s; }
interface IShape { float area(); }
struct Square : IShape { float s; float area() { return s * s; } };
struct Disc : IShape { float r; float area() { return 3 * r * r; } };
float area(IShape s) { return s.area(); }
float peek(float* p, int i) { return p[i]; }
void poke(float* p, int i, float x) { p[i] = x; }
int plain(int i) { return i; }
struct Holder { float* data; int n; float get() { return data[n]; } };
float held(Holder h) { return h.data[h.n]; }
int64_t both(int64_t x, float* p) { return x; }
float add(float a, float b) { return a + b; }
"""


@pytest.fixture(scope="module")
def m(load):
    return load(SOURCE)


def item(i):
    return {"a": i + 0.5, "n": i, "flag": i % 2 == 1, "inner": {"k": 2 * i, "v": [i, i * 0.25]}}


def value(i):
    return i["a"] + i["n"] * 10 + (100 if i["flag"] else 0) + i["inner"]["k"] * 1000 + i["inner"]["v"][1]


# >>lists of dicts


@pytest.mark.parametrize("kind", [list, tuple])
def test_list_of_dicts(m, kind):
    """A list of dicts is one dimension of structs, which may contain structs and vectors. (Features C5, C12.)"""
    items = kind(item(i) for i in range(5))
    assert m.value(items, _result="numpy").tolist() == [value(i) for i in items]
    assert m.value(items[:1], _result="numpy").tolist() == [value(items[0])]
    s = np.arange(5, dtype=np.float32)
    assert m.scaled(items, s, _result="numpy").tolist() == [value(i) * k for i, k in zip(items, s)]
    assert m.scaled(items, s.reshape(5, 1), _result="numpy").shape == (5, 5)


def test_list_of_dicts_values(m):
    """Fields of dicts in a list may be math types and numpy scalars. (Features C4, C5.)"""
    items = [{"a": np.float32(1), "n": np.int64(2), "flag": True, "inner": {"k": 1, "v": spy.float2(0, 0.5)}},
             {"a": 3, "n": 4, "flag": False, "inner": {"k": 2, "v": (1, 2.0)}}]
    assert m.value(items, _result="numpy").tolist() == [1 + 20 + 100 + 1000 + 0.5, 3 + 40 + 2000 + 2]


def test_list_of_dicts_with_types(m):
    """'_type' in one dict of a list holds for all of them. (Features C6, C12.)"""
    items = [{"_type": "Square", "s": 2.0}, {"_type": "Square", "s": 3.0}]
    assert m.area(items, _result="numpy").tolist() == [4, 9]
    with pytest.raises(ValueError, match="area: argument 's': expected a list of dicts with the same '_type'"):
        m.area([{"_type": "Square", "s": 2.0}, {"_type": "Disc", "s": 3.0}])


@pytest.mark.parametrize("items, words", [
    ([{"s": 1.0}, {"r": 1.0}], "item 1 is not like item 0"),
    ([{"s": 1.0}, {"s": 1.0, "r": 1.0}], "item 1 is not like item 0"),
    ([{"s": 1.0}, 3.0], "item 1 is not like item 0"),
    ([{"s": 1.0}, {"s": "x"}], "field 's': Unsupported type"),
    ([[{"s": 1.0}]], "Unsupported type in a list: expected numbers"),
    ([3.0, {"s": 1.0}], "Unsupported type in a list: expected numbers"),
])
def test_bad_lists_of_dicts(m, items, words):
    """Wrong lists of dicts are refused with the argument's name. (Feature C5.)"""
    with pytest.raises((TypeError, ValueError), match=words) as error:
        m.area.map("Square")(items)
    assert str(error.value).startswith("area: argument 's': ")


# >>addresses


class Memory:
    def __init__(self, tensor, offset=0):
        self.device_address = tensor.device_address + offset


class Foreign:
    def __init__(self, tensor):
        self.tensor = tensor

    def data_ptr(self):
        return self.tensor.device_address


def test_addresses(m):
    """A pointer takes a tensor, a buffer, an int, or an object that has an address. (Feature C11.)"""
    data = np.arange(8, dtype=np.float32)
    t, b = spy.Tensor.from_numpy(m.device, data), m.device.create_buffer(data=data)
    for p in (t, b, t.device_address, b.device_address, Memory(t), Foreign(t), np.uint64(t.device_address)):
        assert m.peek(p, 3) == 3
    assert m.peek(t.device_address + 8, 3) == 5 and m.peek(Memory(t, 4), 0) == 1
    assert m.peek(t.device_address, np.arange(8, dtype=np.int32), _result="numpy").tolist() == data.tolist()
    assert m.Holder.get({"data": t.device_address, "n": 4}) == 4 and m.held({"data": t.device_address, "n": [1, 2]}, _result="numpy").tolist() == [1, 2]
    assert m.both(1 << 40, t.device_address) == 1 << 40 and m.both(-(1 << 40), t.device_address) == -(1 << 40)
    m.poke(t.device_address, 2, 20.0)
    assert t.to_numpy()[2] == 20


def test_bad_addresses(m):
    """Negative numbers, floats and too large numbers are refused as addresses, and only pointers take addresses. (Feature C11.)"""
    class Odd:
        device_address = "here"

    class Raises:
        def data_ptr(self):
            raise LookupError("mine")

    for bad, words in ((-1, "an address as a large int"), (np.int64(64), "an address"), (1.5, "expected float"), (1 << 64, "fits no integer"), (Odd(), "an address of 64 bits")):
        with pytest.raises((spy.Error, TypeError, OverflowError), match=words):
            m.peek(bad, 0)
    with pytest.raises(LookupError, match="^mine$"):
        m.peek(Raises(), 0)
    t = spy.Tensor.zeros(m.device, (4,))
    with pytest.raises((spy.Error, OverflowError)):
        m.plain(Memory(t))


# >>results


def test_results_by_name(m):
    """`_result` takes 'numpy', 'tensor' and their classes; the error for another word has the word. (Feature R2.)"""
    x = np.float32([1, 2, 3])
    for how, kind in (("numpy", np.ndarray), (np.ndarray, np.ndarray), ("tensor", spy.Tensor), (spy.Tensor, spy.Tensor), (spy.NDBuffer, spy.NDBuffer)):
        for result in (m.add(x, 1, _result=how), m.add.return_type(how)(x, 1)):
            assert type(result) is kind
            assert np.asarray(result.to_numpy() if kind is not np.ndarray else result).tolist() == [2, 3, 4]
    for bad in ("nonsense", float, 3):
        with pytest.raises((ValueError, TypeError, spy.Error), match="_result"):
            m.add(x, 1, _result=bad)

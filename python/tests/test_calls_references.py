"""Calls with parameters that the function writes: references, inout, numpy outputs."""
import numpy as np
import pytest

import slangpy as spy
from calls_module import as_lists, io, rand  # noqa: F401: fixtures

# >>references, inout, numpy outputs


def test_value_refs(io):
    """ValueRef objects are changed by out and inout parameters. (Feature C8.)"""
    q, r = spy.floatRef(), spy.floatRef(10)
    assert io.divide(1, 4, q, r) is None
    assert q.value == 0.25 and r.value == 11
    io.divide(1, 2, q, r)
    assert q.value == 0.5 and r.value == 12


def test_int_refs_and_plain_refs(io):
    """intRef works, and ValueRef takes the type of the value that it is given. (Feature C8.)"""
    n = spy.intRef(41)
    io.count(n)
    assert n.value == 42 and type(n.value) is int
    v = spy.ValueRef(1)
    io.count(v)
    assert v.value == 2


def test_refs_of_vectors_and_arrays(io):
    """References of vectors and arrays are read and written. (Feature C8.)"""
    v = spy.ValueRef([1, 2, 3])
    io.grow(v)
    assert as_lists(v.value) == [2, 4, 6]
    a = spy.ValueRef()
    io.fill(a)
    assert a.value == [0, 1, 2, 3]


def test_refs_of_structs(io):
    """A reference gets an out struct as a dict, and gives an inout struct from a dict. (Feature C8.)"""
    b = spy.ValueRef()
    io.make(b)
    assert b.value == {"w": 3, "h": 4}
    io.widen(b)
    assert b.value == {"w": 4, "h": 4}


def test_refs_as_inputs(io):
    """A reference for an in parameter passes its value. (Feature C8.)"""
    q = spy.floatRef()
    io.divide(spy.ValueRef(1.0), spy.floatRef(8), q, spy.floatRef())
    assert q.value == 0.125


def test_refs_of_many_elements(io):
    """A reference for an out parameter of a call with many elements gets a tensor. (Feature C8.)"""
    q = spy.ValueRef()
    io.divide(np.float32([1, 2, 3]), 2, q, spy.Tensor.zeros(io.device, (3,)))
    assert np.array_equal(q.value.to_numpy(), np.float32([0.5, 1, 1.5]))


def test_numpy_out_and_inout(io):
    """Writable arrays for out and inout parameters are filled when the call returns. (Feature C3.)"""
    a, q, r = rand(5), np.zeros(5, np.float32), np.arange(5, dtype=np.float32)
    io.divide(a, 2, q, r)
    assert np.array_equal(q, a / 2) and np.array_equal(r, np.arange(5) + 1)


def test_numpy_out_strided(io):
    """An out array that is not contiguous is filled, or refused with the parameter's name. (Feature C3.)"""
    base = np.zeros((5, 2), np.float32)
    q = base[:, 0]
    try:
        io.divide(np.float32([1, 2, 3, 4, 5]), 2, q, np.zeros(5, np.float32))
    except TypeError as e:
        assert "'q' is an out parameter" in str(e) and not base.any()
        return
    assert np.array_equal(base[:, 0], np.float32([0.5, 1, 1.5, 2, 2.5])) and not base[:, 1].any()


def test_numpy_read_only_out(io):
    """A read-only array cannot be an output. (Feature C3.)"""
    q = np.zeros(5, np.float32)
    q.setflags(write=False)
    with pytest.raises((TypeError, ValueError)):
        io.divide(rand(5), 2, q, np.zeros(5, np.float32))
    assert not q.any()


def test_tensor_inout(io):
    """Tensors are changed in place. (Feature C8.)"""
    t = spy.Tensor.from_numpy(io.device, np.arange(4, dtype=np.int32))
    io.count(t)
    io.count(n=t)
    assert t.to_numpy().tolist() == [2, 3, 4, 5]


def test_dict_of_refs(io):
    """References may be fields of a dict. (Features C5, C8.)"""
    w, h = spy.floatRef(1), spy.floatRef(2)
    io.widen({"w": w, "h": h})
    assert (w.value, h.value) == (2, 2)

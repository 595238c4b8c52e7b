"""Dispatches whose number of groups is in GPU memory, compared with numpy. (Feature K1.)"""
import numpy as np
import pytest

import slangpy as spy

SOURCE = """
import slangpy;
[shader("compute")] [numthreads(4, 1, 1)]
void mark(int3 group : SV_GroupID, uniform uint *marks) { InterlockedAdd(marks[group.x], 1u); }
void plain(int3 thread : SV_DispatchThreadID, uint *marks) { InterlockedAdd(marks[thread.x / 32], 1u); }
void request(uint *groups, uint n) { groups[0] = n; groups[1] = 1; groups[2] = 1; }
"""


@pytest.fixture(scope="module")
def m(load):
    return load(SOURCE)


@pytest.fixture
def marks(device):
    return spy.Tensor.zeros(device, (8,), dtype="uint")


@pytest.mark.parametrize("first", [0, 3])
def test_groups(device, m, marks, first):
    """The three numbers may begin anywhere in the tensor, which is given as a slice. (Feature K1.)"""
    groups = spy.Tensor.from_numpy(device, np.uint32([3, 1, 1, 5, 2, 1]))[first:first + 3]
    m.mark.dispatch_indirect(groups, marks)
    m.mark.dispatch_indirect(groups=groups, marks=marks)
    n, again = groups.to_numpy()[:2]
    assert marks.to_numpy().tolist() == [8 * again] * n + [0] * (8 - n)


def test_numbers_from_the_gpu(device, m, marks):
    """Each dispatch reads the numbers that an earlier dispatch wrote. (Feature K1.)"""
    groups = spy.Tensor.from_numpy(device, np.uint32([99, 99, 99]))
    for n in (2, 0, 6):
        m.request.dispatch(1, groups, n)
        m.mark.dispatch_indirect(groups, marks)
    assert marks.to_numpy().tolist() == [8, 8, 4, 4, 4, 4, 0, 0]


def test_plain_function_runs_in_whole_groups(device, m, marks):
    """A function without [numthreads] runs in whole groups, too. (Feature K1.)"""
    m.plain.thread_group_size((32, 1, 1)).dispatch_indirect(spy.Tensor.from_numpy(device, np.uint32([3, 1, 1])), marks)
    assert marks.to_numpy().tolist() == [32, 32, 32, 0, 0, 0, 0, 0]


def test_in_an_encoder(device, m, marks):
    """An indirect dispatch is recorded once, and each submission reads the numbers of its time. (Features K1, E1.)"""
    groups = spy.Tensor.zeros(device, (3,), dtype="uint")
    encoder = device.create_command_encoder()
    m.mark.dispatch_indirect(groups, marks, command_encoder=encoder)
    commands = encoder.finish()
    for n in (1, 4):
        groups.copy_from_numpy(np.uint32([n, 1, 1]))
        device.submit_command_buffer(commands)
    assert marks.to_numpy().tolist() == [8, 4, 4, 4, 0, 0, 0, 0]


@pytest.mark.parametrize("groups, error, words", [
    (lambda d: 3, TypeError, "argument 'groups': expected a Tensor of uint, got <class 'int'>"),
    (lambda d: np.uint32([1, 1, 1]), TypeError, "expected a Tensor of uint"),
    (lambda d: spy.Tensor.zeros(d, (3,)), ValueError, "not a contiguous tensor of uint32"),
    (lambda d: spy.Tensor.zeros(d, (6,), dtype="uint")[::2], ValueError, "not a contiguous tensor of uint32"),
    (lambda d: spy.Tensor.zeros(d, (2,), dtype="uint"), ValueError, "beyond the tensor's end"),
])
def test_bad_groups(device, m, marks, groups, error, words):
    """The error for bad group counts names what is wrong, and nothing runs. (Feature K1.)"""
    with pytest.raises(error, match=words):
        m.mark.dispatch_indirect(groups(device), marks)
    assert not marks.to_numpy().any()


def test_missing_groups(m, marks):
    """The error for a missing first argument has its name. (Feature K1.)"""
    with pytest.raises(TypeError, match="argument 'groups' not specified"):
        m.mark.dispatch_indirect(marks=marks)

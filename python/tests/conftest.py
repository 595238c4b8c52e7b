"""What all tests share: one device a session, modules from text."""
import os
import sys

import pytest

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
os.environ.setdefault("SLANGPY_SLANG_LIBRARY", os.path.join(TOP, "build/slang/libslang-compiler.so"))

import slangpy as spy  # noqa: E402


@pytest.fixture(scope="session")
def device():
    """The device under test: lavapipe where there is no GPU."""
    d = spy.create_device()
    yield d
    d.close()


@pytest.fixture(scope="module")
def load(device, request):
    """load(source): a module of that Slang text."""
    count = [0]

    def make(source, **options):
        count[0] += 1
        name = "{}_{}".format(request.module.__name__.split(".")[-1], count[0])
        return spy.Module.load_from_source(device, name, source, **options)

    return make

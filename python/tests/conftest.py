"""What all tests share: one device a session, modules from text."""
import os
import sys

import pytest

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
os.environ.setdefault("SLANGPY_SLANG_LIBRARY", os.path.join(TOP, "build/slang/libslang-compiler.so"))

import slangpy as spy  # noqa: E402


# With SLANGPY_DEVICE_TYPE_OVERRIDE=cuda all run on a CUDA device, but for those that are about Vulkan's, name handles that CUDA's
# driver follows wherever they lead, or need a device that takes its time.
ABOUT_VULKAN = ("test_device.py", "test_cuda_context.py::test_bad_existing_handles", "test_cuda_context.py::test_empty_handles",
                "test_kernels.py::test_no_cuda_stream", "test_reflection.py::test_layout_sizes", "test_reflection.py::test_parameters",
                "test_logging.py::test_dump", "test_logging.py::test_environment", "test_threads.py::test_gil_during_wait",
                "test_api.py::test_line[spy.Device.enumerate_adapters(type=spy.DeviceType.vulkan)[0].name]")


def pytest_collection_modifyitems(items):
    if os.environ.get("SLANGPY_DEVICE_TYPE_OVERRIDE", "").lower() != "cuda":
        return
    for item in items:
        name = item.nodeid.split("/")[-1]
        if any(name == n or name.startswith((n + "::", n + "[")) for n in ABOUT_VULKAN):
            item.add_marker(pytest.mark.skip(reason="about Vulkan, and the tests run on CUDA"))


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

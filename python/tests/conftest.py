"""Set-up for all tests: one device for each session, modules from text, and the choice of rows of large tables.

`@pytest.mark.share(5)`: of the test's rows five run, which SPY_TEST_SEED draws so that each value of each parameter is in one of them.
`pytestmark = pytest.mark.turns(2)` in a file whose subject has tests in C as well: every second of its tests runs, by the seed.
SPY_TEST_SHARE=N: every Nth test of each file runs, from the one that SPY_TEST_SEED says; tests/run sets it where a test that runs
whole elsewhere runs once more, with sanitizers for one.
All run with SPY_TEST_SIZE=soak, with SPY_TEST_ALL, and where rows are named on the command line."""
import gc
import json
import os
import random
import sys

import numpy as np
import pytest

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
os.environ.setdefault("SLANGPY_SLANG_LIBRARY", os.path.join(TOP, "build/slang/libslang-compiler.so"))
os.environ.setdefault("SLANGPY_CACHE", "off")  # with the cache on disk, tests of the compiler would get earlier answers
# All processes have one seed: workers of pytest-xdist inherit it, and so collect the same tests.
if not os.environ.get("SPY_TEST_SEED"):
    os.environ["SPY_TEST_SEED"] = str(random.SystemRandom().randrange(1, 1 << 31))
EVERY = os.environ.get("SPY_TEST_SIZE") == "soak" or bool(os.environ.get("SPY_TEST_ALL"))

import slangpy as spy  # noqa: E402


# With SLANGPY_DEVICE_TYPE_OVERRIDE=cuda all tests run on a CUDA device, except these: tests of Vulkan devices, tests with invalid handles,
# which CUDA's driver would follow, and tests that need a slow device.
ABOUT_VULKAN = ("test_device.py", "test_cuda_context.py::test_bad_existing_handles", "test_cuda_context.py::test_empty_handles",
                "test_kernels.py::test_no_cuda_stream", "test_reflection.py::test_layout_sizes",
                "test_reflection.py::test_layout_of_resources", "test_reflection.py::test_layouts_of_opaque_types[vulkan]",
                "test_reflection.py::test_parameters",
                "test_logging.py::test_dump", "test_logging.py::test_environment", "test_threads.py::test_gil_during_wait", "test_threads.py::test_interrupt_result",
                "test_api.py::test_line[spy.Device.enumerate_adapters(type=spy.DeviceType.vulkan)[0].name]",
                # these stand-ins for GPU memory cannot be read by the device
                "test_arrays.py::test_torch_tensors_by_their_protocol[2-False]", "test_arrays.py::test_torch_tensors_by_their_protocol[2-True]",
                "test_arrays.py::test_cuda_arrays_come_through_their_own_copy", "test_arrays.py::test_a_cpu_that_stays_on_the_device_is_refused",
                "test_arrays.py::test_dlpack_refusals[changes0-another device's memory]", "test_arrays.py::test_arrays_that_are_refused_by_name[7]",
                "test_hostile.py::test_no_end[cpu]",
                "test_slangpy_raster.py", "test_draw_gradients.py",
                # CUDA has no mirror-once address mode and no draws
                *("test_texture_grad.py::test_texels_and_coordinates[{}-{}-mirror_once]".format(f, h) for f in ("at1", "at2", "at3") for h in ("linear", "point")),
                "test_texture_grad.py::test_fragment_shaders_still_find_their_level",
                "test_packs.py::test_a_pack_is_made_without_a_gpu",
                # CUDA's textures lack these: sizes of layers and levels, conversions by stores, comparisons, depth, blocks, samples
                *("test_slangpy_stranger_textures.py::test_" + t for t in ("address_modes_and_filters", "kernel_array", "shader_sees_the_sizes_of_levels")),
                *("test_slangpy_texture_facts.py::test_" + t for t in (
                    "depth_is_cleared_and_read", "depth_is_cleared_without_stencil", "every_field_of_a_sampler_desc_is_kept", "format_support_is_a_set_of_flags",
                    "native_handles_are_those_of_vulkan", "samplers_compare_and_gather", "samples_of_multisampled_textures_are_read_and_averaged",
                    "stores_convert_to_the_format", "subresource_layouts_say_how_texels_lie", "writable_textures_go_whole")),
                "test_slangpy_textures.py::test_samplers_are_made_from_keywords_descs_and_dicts",
                "test_slangpy_stranger_host.py::test_a_texture_of_fewer_channels_is_read_as_one_of_four",  # alpha is 0 there, too
                # bytes of structs, which have other layouts on CUDA
                "test_slangpy_pages.py::test_buffers", "test_slangpy_slang.py::test_a_struct_needs_only_atomic_add_to_a_byte_address_buffer",
                "test_mlp_batch.py::test_cooperative_compiled", "test_mlp_batch.py::test_cooperative_absent",  # they record Vulkan's kernels
                "test_slangpy_facts_d.py::test_lists_of_structs_that_point_to_each_other",  # Slang cannot compile these kernels for CUDA
                # other backends refuse these things, or copy where CUDA does not
                "test_words.py::test_words[CUDA kernel]", "test_words.py::test_words[view]", "test_tensor.py::test_dlpack_is_a_copy",
                "test_tensor.py::test_dlpack_capsules_own_their_memory", "test_tensor.py::test_dlpack_refuses", "test_tensor.py::test_to_torch_by_dlpack",
                "test_tensor.py::test_dlpack_keywords_of_the_standard")


def pytest_configure(config):
    config.addinivalue_line("markers", "share(count): of the test's rows run count, which the seed draws; see conftest.py")
    config.addinivalue_line("markers", "turns(of): every one of so many tests of the file runs, by the seed; see conftest.py")
    if os.environ.get("SPY_TEST_COUNTS"):
        config.pluginmanager.register(Counts(os.environ.pop("SPY_TEST_COUNTS")))


def pytest_report_header():
    return f"SPY_TEST_SEED={os.environ['SPY_TEST_SEED']}"


def left_out(items):
    """The rows that their tests' shares leave out."""
    tables = {}
    for item in items:
        if item.get_closest_marker("share"):
            tables.setdefault(item.nodeid.partition("[")[0], []).append(item)
    out = set()
    for name, rows in tables.items():
        count, seen, chosen = rows[0].get_closest_marker("share").args[0], set(), []
        random.Random(f"{os.environ['SPY_TEST_SEED']} {name.split('/')[-1]}").shuffle(rows)
        for whole in (True, False):  # first rows that show a value for the first time, then any rows
            for row in rows:
                values = {(parameter, id(value)) for parameter, value in row.callspec.params.items()}
                if row not in chosen and (whole and values - seen and len(values) > 1 or len(chosen) < count and not whole):
                    chosen.append(row)
                    seen |= values
        out |= set(rows) - set(chosen)
    return out


def of_other_shares(items):
    """The rows of the tests whose turn it is not. Of a file that is marked with turns() the run with SPY_TEST_SHARE has the other half."""
    again, numbers, out = int(os.environ.get("SPY_TEST_SHARE") or 1), {}, set()
    for item in items:
        mark, name = item.get_closest_marker("turns"), item.nodeid.partition("[")[0]
        of_file = numbers.setdefault(name.partition("::")[0], {})
        turn = of_file.setdefault(name, len(of_file)) + int(os.environ["SPY_TEST_SEED"], 0) + (again > 1)
        if turn % max(again, mark.args[0] if mark else 1):
            out.add(item)
    return out


def pytest_collection_modifyitems(config, items):
    if not EVERY and not any("[" in word or "::" in word for word in config.args):
        out = left_out(items) | of_other_shares(items)
        if out:
            config.hook.pytest_deselected(items=[item for item in items if item in out])
            items[:] = [item for item in items if item not in out]
    if os.environ.get("SLANGPY_DEVICE_TYPE_OVERRIDE", "").lower() != "cuda":
        return
    for item in items:
        name = item.nodeid.split("/")[-1]
        if any(name == n or name.startswith((n + "::", n + "[")) for n in ABOUT_VULKAN):
            item.add_marker(pytest.mark.skip(reason="about Vulkan, and the tests run on CUDA"))


def pytest_collection_finish(session):
    """Python's collector, which many tests call, looks at what the tests make and not at pytest's own objects, some 500,000."""
    gc.collect()
    gc.freeze()


class Counts:
    """Writes of each file the numbers of its tests that passed, failed and were skipped, and their CPU seconds, for tests/run, which
    keeps a file's result until something that the file reads changes."""

    def __init__(self, path):
        self.path, self.files = path, {}
        self.before = self.cpu()

    @staticmethod
    def cpu():
        return sum(os.times()[:4])

    def of(self, nodeid):
        name = os.path.splitext(os.path.basename(nodeid.partition("::")[0]))[0]
        return self.files.setdefault(name, {"passed": 0, "failed": 0, "skipped": 0, "cpu": 0.0})

    def pytest_collectreport(self, report):
        if report.nodeid.endswith(".py"):
            self.of(report.nodeid)["failed"] += report.failed

    def pytest_collection_finish(self):
        self.before = self.cpu()

    def pytest_runtest_logreport(self, report):
        if report.when == "call" or not report.passed:
            self.of(report.nodeid)[report.outcome] += 1

    def pytest_runtest_logfinish(self, nodeid):
        now = self.cpu()
        self.of(nodeid)["cpu"] += now - self.before
        self.before = now

    def pytest_sessionfinish(self):
        with open(self.path, "w", encoding="utf-8") as file:
            json.dump(self.files, file)


def from_dlpack(array):
    """Calls numpy.from_dlpack(). Memory of a CUDA device, which numpy cannot read, goes through Tensor.from_dlpack() and to_numpy()."""
    if array.__dlpack_device__()[0] == 1:
        return np.from_dlpack(array)
    return spy.Tensor.from_dlpack(opened[0], array).to_numpy()


opened = []  # the session's device, once a test has asked for it


@pytest.fixture(scope="session")
def device():
    """The device under test: lavapipe where there is no GPU."""
    d = spy.create_device()
    opened[:] = [d]
    yield d
    d.close()


@pytest.fixture(scope="module")
def load(device, request):
    """Returns a function load(source), which makes a module of that Slang text."""
    count = [0]

    def make(source, **options):
        count[0] += 1
        name = "{}_{}".format(request.module.__name__.split(".")[-1], count[0])
        return spy.Module.load_from_source(device, name, source, **options)

    return make

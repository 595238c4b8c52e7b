"""Random values as arguments, options and contents: tests/fuzz/python_arguments.py.

Issue 13, 'Must show'. SPY_TEST_SIZE: 'small' (with sanitizers), 'normal' or 'soak'; SPY_FUZZ_CALLS says another number; the seed is SPY_TEST_SEED.
"""
import importlib.util
import os

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
SCRIPT = os.path.join(TOP, "tests/fuzz/python_arguments.py")
CALLS = {"small": 1500, "soak": 1000000}


def test_python_arguments(tmp_path):
    """Each use gives a result or an exception of a documented type; nothing crashes, and references are as before."""
    spec = importlib.util.spec_from_file_location("python_arguments", SCRIPT)
    fuzz = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(fuzz)
    count = int(os.environ.get("SPY_FUZZ_CALLS") or CALLS.get(os.environ.get("SPY_TEST_SIZE", "normal"), 2500))
    seed = os.environ["SPY_TEST_SEED"]
    last = tmp_path / "last"  # which use a crash was in
    report = (lambda i: last.write_text("--seed %s --only %d" % (seed, i))) if os.environ.get("SPY_FUZZ_TRACE") else None
    results = fuzz.run(seed, count, report=report)
    assert count // 20 < results < count, (seed, results)

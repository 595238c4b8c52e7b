"""Random values as arguments, options and contents, by tests/fuzz/python_arguments.py. This is the part 'Must show' of issue 13.
SPY_TEST_SIZE is 'small' (with sanitizers), 'normal' or 'soak'; SPY_FUZZ_CALLS sets another number of calls, and SPY_TEST_SEED the seed."""
import importlib.util
import os

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
SCRIPT = os.path.join(TOP, "tests/fuzz/python_arguments.py")
CALLS = {"small": 1500, "soak": 1000000}


def test_python_arguments(tmp_path):
    """Each use gives a result or an exception of a documented type, nothing crashes, and reference counts are unchanged."""
    spec = importlib.util.spec_from_file_location("python_arguments", SCRIPT)
    fuzz = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(fuzz)
    count = int(os.environ.get("SPY_FUZZ_CALLS") or CALLS.get(os.environ.get("SPY_TEST_SIZE", "normal"), 2500))
    seed = os.environ["SPY_TEST_SEED"]
    last = tmp_path / "last"  # the file names the last use before a crash
    report = (lambda i: last.write_text("--seed %s --only %d" % (seed, i))) if os.environ.get("SPY_FUZZ_TRACE") else None
    results = fuzz.run(seed, count, report=report)
    assert count // 20 < results < count, (seed, results)

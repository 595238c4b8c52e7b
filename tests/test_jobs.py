#!/usr/bin/env python3
"""tests/test_jobs.py: what tests/run keeps, runs again and leaves to the next run. Last line: 'N passed, N failed, N skipped'.

Most cases have a queue of their own in a folder of their own, with jobs that note that they ran. The last ones look at the jobs of
tests/run: at what each reads, and that no file of the repository is read by none.
"""
import contextlib
import importlib.machinery
import importlib.util
import io
import os
import re
import shutil
import subprocess
import sys
import tempfile
import traceback

sys.dont_write_bytecode = True
sys.argv[1:] = ["test"]  # for tests/run
import jobs as j

TOP = j.TOP


class Project:
    """A folder with the files that its jobs read. run() gives the names of the jobs that ran, in order."""

    def __init__(self):
        j.TOP = tempfile.mkdtemp()
        j.LOGS = os.path.join(j.TOP, "build/tests")
        j.WORKERS = 1
        os.makedirs(j.LOGS)
        self.ran, self.queue, self.said = [], None, ""

    def write(self, **files):
        for name, text in files.items():
            with open(os.path.join(j.TOP, name), "w", encoding="utf-8") as f:
                f.write(text)

    def job(self, name, *inputs, cpu=1.0, fails=False, does=None, **more):
        def call(job):
            self.ran.append(name)
            job.passed, job.failed, job.cpu = int(not fails), int(fails), cpu
            if does:
                does()
        return j.Job("step", name, call, seconds=cpu, inputs=inputs or None, **more)

    def run(self, *jobs, budget=None):
        del self.ran[:]
        j.hashes.clear()
        self.queue = j.Queue(jobs, ["step"], budget, [f for f in os.listdir(j.TOP) if f != "build"])
        text = io.StringIO()
        with contextlib.redirect_stdout(text):
            self.queue.run()
        self.said = text.getvalue()
        return list(self.ran)


def same(got, wanted):
    if got != wanted:
        raise AssertionError(f"{got!r} instead of {wanted!r}")


def keeps_until_a_file_changes(p):
    p.write(a="1", b="1")
    jobs = lambda: [p.job("reads a", "a"), p.job("reads b", "b"), p.job("always")]
    same(sorted(p.run(*jobs())), ["always", "reads a", "reads b"])
    same(p.run(*jobs()), ["always"])
    same((p.queue.total["passed"], p.queue.jobs["reads a"].kept), (3, True))
    p.write(a="2")
    same(sorted(p.run(*jobs())), ["always", "reads a"])
    os.utime(os.path.join(j.TOP, "b"), (1, 1))  # its time alone
    same(p.run(*jobs()), ["always"])
    os.mkdir(os.path.join(j.TOP, "folder"))
    p.write(**{"folder/c": "1"})
    reads_folder = lambda: [p.job("reads folder", "fold*")]
    same((p.run(*reads_folder()), p.run(*reads_folder())), (["reads folder"], []))
    p.write(**{"folder/d": "1"})
    same(p.run(*reads_folder()), ["reads folder"])


def keeps_in_one_environment(p):
    p.write(a="1")
    for value, ran in (("1", ["x"]), ("1", []), ("2", ["x"])):
        same(p.run(p.job("x", "a", env={"SPY_TEST_SIZE": value})), ran)


def never_keeps_what_failed(p):
    p.write(a="1")
    same(p.run(p.job("x", "a", fails=True), p.job("y", "a", needs=["x"])), ["x"])
    same(p.queue.total["failed"], 2)
    same(p.run(p.job("x", "a"), p.job("y", "a", needs=["x"])), ["x", "y"])
    p.write(a="2")  # what passed at an earlier time is forgotten with the failure
    p.run(p.job("x", "a", fails=True))
    p.write(a="1")
    same(p.run(p.job("x", "a")), ["x"])


def knows_programs_by_what_is_loaded(p):
    def made(text, *flags):
        p.write(**{"main.c": text})
        subprocess.run(["gcc", *flags, "main.c", "-o", "main"], cwd=j.TOP, check=True)
        j.hashes.clear()
        return j.hash_files(["main"])

    text = "#include <stdio.h>\nint seven = 7;\nint main(void) { return puts(\"seven\") < seven; }\n"
    hashed = made(text, "-g")
    same(made(text.replace("int main", "// a comment\n\nint main"), "-g"), hashed)
    for old, new in (("seven = 7", "seven = 8"), ('"seven"', '"eight"'), ("< seven", "> seven")):
        assert made(text.replace(old, new), "-g") != hashed, new
    # Objects are known by all of their bytes, among them names of functions in other files.
    text = "int f(void); int main(void) { return f(); }"
    assert made(text, "-c") != made(text.replace("f()", "g()").replace("f(void)", "g(void)"), "-c")


def builds_are_known_by_what_they_made(p):
    p.write(source="1", program="1")
    jobs = lambda: [p.job("build", "source", makes=["program"]), p.job("test", "program", needs=["build"])]
    same(p.run(*jobs()), ["build", "test"])
    same(p.run(*jobs()), [])
    p.write(source="2")  # and the same program comes out
    same(p.run(*jobs()), ["build"])
    p.write(program="by hand")
    same(p.run(*jobs()), ["build", "test"])
    p.write(source="3")
    p.run(p.job("build", "source", makes=["program"], cpu=0.1))
    same(p.queue.seconds.entries["build"], 1.0)  # as long as a whole one
    os.remove(os.path.join(j.TOP, "program"))
    same(p.run(p.job("build", "source", makes=["program"], does=lambda: p.write(program="3")), jobs()[1]), ["build", "test"])


def goes_on_until_nothing_is_left(p):
    p.write(source="1", **{"view.c": "1"})
    jobs = lambda: [p.job("last", "source", rank=5), p.job("first", "source", rank=0), p.job("test_views", "source", "view.c", rank=5),
                    p.job("build", "source", rank=4), p.job("built", "source", needs=["build"], rank=4)]
    p.run(*jobs(), budget=2)
    p.write(source="2", **{"view.c": "2"})
    same(p.run(*jobs(), budget=2), ["test_views", "first"])
    same(sorted(name for name, job in p.queue.jobs.items() if job.left), ["build", "built", "last"])
    assert "LEFT to the next run, after 2 s of CPU: 3 of 5 jobs" in p.said and "step: last, build, built" in p.said, p.said
    same(p.said.rstrip().split("\n")[-1], "2 passed, 0 failed, 0 skipped")
    same(p.run(*jobs(), budget=2), ["build", "built"])
    same(p.run(*jobs(), budget=2), ["last"])
    assert "LEFT" not in p.said, p.said
    same(p.run(*jobs(), budget=2), [])
    p.write(source="3")
    same(len(p.run(*jobs())), 5)  # without a budget
    p.write(source="4")
    os.environ["SPY_TEST_SEED"] = "7"  # nothing is known of another environment
    try:
        same(len(p.run(*jobs(), budget=2)), 5)
    finally:
        del os.environ["SPY_TEST_SEED"]


def what_failed_or_is_new_goes_first(p):
    p.write(source="1", other="1")
    jobs = lambda *more, **how: [p.job("a", "source", rank=0), p.job("b", "source", "other", rank=5, **how), *more]
    p.run(*jobs(), budget=1)
    p.write(other="2")
    same(p.run(*jobs(fails=True), budget=1), ["b"])
    p.write(source="2")
    same(p.run(*jobs(), budget=1), ["b"])
    same(p.run(*jobs(p.job("new", "source", rank=9)), budget=1), ["new"])
    same(p.run(*jobs(p.job("long", "source", cpu=5.0)), budget=1), ["long"])  # one runs, however long it is
    same(p.run(*jobs(), budget=1), ["a"])


def batches_are_jobs_of_their_own(p):
    p.write(a="1", b="1", c="1")

    def batch(jobs):
        p.ran.append([job.name for job in jobs])
        for job in jobs:
            job.passed, job.failed, job.cpu = 1, int(job.name == "b" and bad), seconds[job.name]
    bad, seconds = True, {"a": 4.0, "b": 4.0, "c": 4.0}
    jobs = lambda: [j.Job("step", name, None, seconds=seconds[name], inputs=[name], batch=batch) for name in "abc"]
    same(p.run(*jobs()), [["a", "b"], ["c"]])  # 10 seconds at least, and half at most
    same(p.run(*jobs()), [["b"]])
    bad = False
    p.write(c="2")
    same(p.run(*jobs()), [["b", "c"]])
    same(p.run(*jobs()), [])
    seconds = {"a": 6.0, "b": 3.0, "c": 3.0}
    p.write(a="2", b="2", c="2")
    p.run(*jobs())
    p.write(a="3", b="3", c="3")
    same(p.run(*jobs(), budget=7), [["b", "c"]])
    same(p.run(*jobs(), budget=7), [["a"]])


def names_say_what_they_are_about(p):
    for path, job, together in (("src/cuda/graph.c", "unit: asan-clang/unit-split/test_cuda_graph", True), ("src/call/launch.c", "python: test_calls", True),
                                ("src/list/list.c", "gpu: release/gpu-headers/test_lists", True), ("src/vk/queue.c", "cuda: debug/cuda/calls", False),
                                ("python/slangpy/render.py", "python: test_slangpy_calls", False)):
        same(bool(j.words_of(path) & j.words_of(job.partition(": ")[2])), together)


# >>the jobs of tests/run


def all_jobs():
    loader = importlib.machinery.SourceFileLoader("tests_run", os.path.join(TOP, "tests/run"))
    run = importlib.util.module_from_spec(importlib.util.spec_from_loader("tests_run", loader))
    loader.exec_module(run)
    steps = [s for s in run.STEPS if s not in ("soak", "unit-gcc")]
    return run, {job.name: job for s in steps for job in run.STEPS[s]()}


def what_is_built_comes_from_a_job_that_is_needed(p):
    j.TOP = TOP
    _, jobs = all_jobs()

    def makes(job):
        return {path for name in job.needs for path in (*jobs[name].makes, *makes(jobs[name]))}
    for job in jobs.values():
        made = makes(job)
        for path in job.inputs or ():
            path = os.path.relpath(os.path.join(TOP, path), TOP)
            if path.startswith("build/") and not path.endswith((".requirements", "examples-shared")):
                assert path in made or os.path.join(TOP, path) in made, f"{job.name} reads {path}, which no job that it needs makes"


# What no job of `make test` reads: programs for a GPU or torch, measurements, and what is run by hand.
BY_HAND = ("tests/bench/", "tests/compare/", "tests/counts/", "tests/kernels/", "tests/torch/", "tests/mlp/on_device.sh", "tests/README.md", "tests/run", "tests/jobs.py",
           "tests/test_jobs.py", "tests/seconds.json", "docs/measurements.md")


def every_file_is_read_by_a_job(p):
    j.TOP = TOP
    run, jobs = all_jobs()
    read = set()
    for job in jobs.values():
        for path in job.inputs or ():
            read |= {os.path.relpath(f, TOP) for f in j.files_of([path]) or ()}
    listed = subprocess.run(["git", "ls-files", *run.SOURCES], cwd=TOP, capture_output=True, text=True, check=True).stdout.split("\n")
    forgotten = [f for f in listed if f and f not in read and not f.startswith(BY_HAND)]
    assert not forgotten, f"no job reads {forgotten}"


def files_of_python_read_what_they_name(p):
    j.TOP = TOP
    run, jobs = all_jobs()
    same([path in run.python_reads("test_names") for path in ("python/tests/conftest.py", "python/tests/test_calls.py", "src/slang")], [True, False, False])
    count = 0
    for job in jobs.values():
        if job.batch:
            with open(os.path.join(TOP, "python/tests", job.name.partition(": ")[2] + ".py"), encoding="utf-8") as f:
                named = set(re.findall(r"""["']((?:src|tests|examples|docs|tools|python)/[\w./-]+)["']""", f.read()))
            read = [os.path.relpath(f, TOP) for f in j.files_of(set(job.inputs) - set(run.PACKAGE))]
            for path in named:
                if os.path.exists(os.path.join(TOP, path)):
                    count += 1
                    assert any(f == path or f.startswith(path + "/") for f in read), f"{job.name} names {path}, which is none of its inputs"
    assert count >= 5, count


CASES = (keeps_until_a_file_changes, keeps_in_one_environment, never_keeps_what_failed, knows_programs_by_what_is_loaded, builds_are_known_by_what_they_made,
         goes_on_until_nothing_is_left, what_failed_or_is_new_goes_first, batches_are_jobs_of_their_own, names_say_what_they_are_about,
         what_is_built_comes_from_a_job_that_is_needed, every_file_is_read_by_a_job, files_of_python_read_what_they_name)


def main():
    counts = {"passed": 0, "failed": 0, "skipped": 0}
    for case in CASES:
        project = Project()
        folder = j.TOP
        try:
            case(project)
            counts["passed"] += 1
        except Exception:  # each case says what is wrong with it
            counts["failed"] += 1
            print(f"FAILED   {case.__name__}\n{traceback.format_exc()}")
        shutil.rmtree(folder)
    print(", ".join(f"{n} {kind}" for kind, n in counts.items()))
    sys.exit(counts["failed"] != 0)


if __name__ == "__main__":
    main()

"""What tests/run is made of: jobs that run programs and count their cases, and the queue that runs the jobs, the longest first.

A job belongs to a step, by which people choose it and read of it. Two jobs run at a time. A job that passed is kept: it does not
run again while its program, its files and its environment are the same ones (SPY_TEST_AGAIN=1: all run again).
"""
import hashlib
import json
import os
import re
import subprocess
import tempfile
import threading
import time

TOP = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
LOGS = os.path.join(TOP, "build", "tests")
SLANG = os.path.join(TOP, "build/slang/libslang-compiler.so")
MEMO = os.path.join(TOP, "build/memo/2026.14.1/libslang-compiler.so")  # the same with a memory (tests/common/slang_memo.c)
NVRTC = os.path.join(TOP, "build/nvrtc/libnvrtc.so.13")
PROGRAM_SECONDS = 1200
WORKERS = 2
LOCK = threading.RLock()


def environment(extra):
    env = dict(os.environ)
    for name in ("MAKEFLAGS", "MFLAGS", "MAKELEVEL"):
        env.pop(name, None)
    env.pop("PYTHONDONTWRITEBYTECODE", None)  # hundreds of processes import the same modules
    env.setdefault("OPENBLAS_NUM_THREADS", "1")  # numpy's threads wait by spinning, beside another job
    # libslang frees a session's memory at once, and malloc() would ask the system for it again.
    env.setdefault("MALLOC_TOP_PAD_", str(4 << 20))
    env.setdefault("MALLOC_TRIM_THRESHOLD_", str(1 << 30))
    env.setdefault("SLANGPY_NVRTC_LIBRARY", NVRTC)
    env.setdefault("SPY_TEST_SIZE", "normal")
    env.update(extra)
    env.setdefault("SLANGPY_SLANG_LIBRARY", MEMO if env["SPY_TEST_SIZE"] != "soak" and os.path.exists(MEMO) else SLANG)
    if env["SPY_TEST_SIZE"] != "soak":
        env.setdefault("SPY_TEST_SEED", "6")  # the same tenth each time; make soak draws a fresh seed and prints it
        # lavapipe compiles each kernel once and runs it once: its optimiser is a quarter of a test's time and is not ours to test.
        env.setdefault("GALLIVM_PERF", "nopt")
    env.setdefault("SPIRV_VAL", "/usr/bin/spirv-val")
    env.setdefault("XDG_CACHE_HOME", os.path.join(TOP, "build/tests/cache"))
    return env


class Job:
    """One entry of the queue. call(job) does the work and counts its cases in the job; it needs the jobs of these names to have
    passed before it. seconds: what it takes, where no earlier run has said. inputs: files and folders that decide about its
    result; None: it always runs."""

    def __init__(self, step, name, call, needs=(), seconds=2.0, inputs=None, env=None):
        self.step, self.name, self.call, self.needs, self.seconds = step, name, call, tuple(needs), seconds
        self.inputs, self.env = inputs, env or {}
        self.passed = self.failed = self.skipped = 0
        self.cpu = 0.0
        self.begun = self.ended = 0.0
        self.kept = False
        self.notes, self.said = [], []  # what a kept job says again; what only this run says

    def command(self, words, cwd=TOP, env=None, seconds=PROGRAM_SECONDS):
        """(exit status, output)"""
        begun = time.monotonic()
        with tempfile.TemporaryFile() as out:
            try:
                p = subprocess.Popen(words, cwd=cwd, env=environment({**self.env, **(env or {})}), stdin=subprocess.DEVNULL, stdout=out,
                                     stderr=subprocess.STDOUT)
            except OSError as e:
                p, status, ending = None, 127, str(e) + "\n"
            if p:
                status, ending = self.wait(p, seconds)
            out.seek(0)
            output = out.read().decode("utf-8", "replace") + ending
        with LOCK, open(os.path.join(LOGS, self.step + ".log"), "a", encoding="utf-8", errors="replace") as log:
            log.write("$ " + " ".join(words) + "\n" + output + f"exit {status}, {time.monotonic() - begun:.1f} s\n")
        return status, output

    def wait(self, p, seconds):
        """(exit status, what to say of it); adds the CPU time of p and its children."""
        late = threading.Event()
        timer = threading.Timer(seconds, lambda: (late.set(), p.kill()))
        timer.start()
        _, status, used = os.wait4(p.pid, 0)
        timer.cancel()
        p.returncode = os.waitstatus_to_exitcode(status)
        self.cpu += used.ru_utime + used.ru_stime
        return (124, f"\nstopped after {seconds} s\n") if late.is_set() else (p.returncode, "")

    def needed(self, words, **options):
        """A command that others need and that counts as no test case; whether it passed."""
        status, output = self.command(words, **options)
        if status != 0:
            self.failed += 1
            self.show(words, status, output)
        return status == 0

    def one(self, words, **options):
        """A command that is one test case."""
        good = self.needed(words, **options)
        self.passed += good
        return good

    def counted(self, words, **options):
        """A command whose output says how many cases passed, failed and were skipped."""
        status, output = self.command(words, **options)
        cases = {"PASSED": 0, "FAILED": 0, "SKIPPED": 0}
        for kind, n in re.findall(r"^\[ +(PASSED|FAILED|SKIPPED) +\] +(\d+) test", output, re.M):
            cases[kind] += int(n)
        summaries = re.findall(r"^(\d+) passed, (\d+) failed(?:, (\d+) skipped)?$", output, re.M)
        if summaries:
            last = summaries[-1]
            cases = {"PASSED": int(last[0]), "FAILED": int(last[1]), "SKIPPED": int(last[2] or 0)}
        if status != 0 and cases["FAILED"] == 0 or status == 0 and not any(cases.values()):
            cases["FAILED"] += 1  # it died, or says nothing: never counted as good
        self.passed += cases["PASSED"]
        self.failed += cases["FAILED"]
        self.skipped += cases["SKIPPED"]
        if cases["FAILED"]:
            self.show(words, status, output)
        # cmocka names a skipped test twice: when it runs and in its summary.
        for name in dict.fromkeys(re.findall(r"^\[  SKIPPED \] (?!\d+ test)(.*)$", output, re.M)):
            self.notes.append(f"    skipped: {name}")

    def check(self, good, why):
        """A test case of this script's own."""
        self.passed += bool(good)
        self.failed += not good
        if not good:
            self.said.append("    FAILED: " + why)

    def skip(self, why):
        self.skipped += 1
        self.notes.append(f"    skipped: {why}")

    def show(self, words, status, output):
        self.said.append(f"    FAILED ({status}): " + " ".join(words))
        self.said += ["    | " + line for line in output.rstrip("\n").split("\n")[-60:]]


# >>what is kept of an earlier run


class Record:
    """build/tests/NAME.json: a dictionary that outlives the run; `given` is the committed one, for a fresh clone."""

    def __init__(self, name, given=None):
        self.path, self.entries = os.path.join(LOGS, name + ".json"), {}
        for path in (given, self.path):
            try:
                with open(path, encoding="utf-8") as f:
                    self.entries.update(json.load(f))
            except (OSError, TypeError, ValueError):
                pass

    def write(self):
        fresh = f"{self.path}.{os.getpid()}"
        with open(fresh, "w", encoding="utf-8") as f:
            json.dump(self.entries, f, indent=1, sort_keys=True)
        os.replace(fresh, self.path)


hashes = {}


def hash_file(path):
    stat = os.stat(path)
    key = (path, stat.st_mtime_ns, stat.st_size)
    if key not in hashes:
        with open(path, "rb") as f:
            hashes[key] = hashlib.blake2b(f.read(), digest_size=16).hexdigest()
    return hashes[key]


def digest(job):
    """A hash of all that decides about a job's result. None: something is not there."""
    whole = hashlib.blake2b(digest_size=16)
    env = environment(job.env)
    for name in sorted(env):
        if name.startswith(("SPY_", "SPIRV_", "SLANGPY_", "ASAN_", "LSAN_", "TSAN_", "UBSAN_", "GALLIVM_", "VK_", "LD_")):
            whole.update(f"{name}={env[name]}\n".encode())
    for library in (SLANG, env["SLANGPY_SLANG_LIBRARY"], env["SLANGPY_NVRTC_LIBRARY"]):
        if os.path.exists(library):
            whole.update(f"{os.path.realpath(library)} {os.path.getsize(library)}\n".encode())
    for path in job.inputs:
        path = os.path.join(TOP, path)
        if not os.path.exists(path):
            return None
        found = [path]
        if os.path.isdir(path):
            found = [os.path.join(folder, f) for folder, _, files in os.walk(path) for f in files if "__pycache__" not in folder]
        for file in sorted(found):
            whole.update(f"{file} {hash_file(file)}\n".encode())
    return whole.hexdigest()


# >>the queue


class Queue:
    def __init__(self, jobs, steps):
        self.jobs = {job.name: job for job in jobs}
        assert len(self.jobs) == len(jobs), "two jobs of one name"
        self.steps = [s for s in steps if any(j.step == s for j in jobs)]
        self.seconds = Record("seconds", os.path.join(TOP, "tests/seconds.json"))
        self.kept = Record("kept")
        self.again = bool(os.environ.get("SPY_TEST_AGAIN")) or "soak" in (os.environ.get("SPY_TEST_SIZE"), *(j.env.get("SPY_TEST_SIZE") for j in jobs))
        self.waiting, self.running, self.done = dict(self.jobs), set(), set()
        self.change = threading.Condition(LOCK)
        self.total = {"passed": 0, "failed": 0, "skipped": 0}
        for job in jobs:
            job.seconds = self.seconds.entries.get(job.name, job.seconds)
        # A job is as long as what waits for it makes it: builds go before the tests that need them.
        self.length = {}
        for job in jobs:
            self.measure(job)

    def measure(self, job):
        if job.name not in self.length:
            behind = [self.measure(j) for j in self.jobs.values() if job.name in j.needs]
            self.length[job.name] = job.seconds + max(behind, default=0)
        return self.length[job.name]

    def take(self):
        """The longest job that can run now; None: none is left."""
        with self.change:
            while self.waiting:
                ready = [j for j in self.waiting.values() if all(n in self.done or n not in self.jobs for n in j.needs)]
                if ready:
                    job = max(ready, key=lambda j: self.length[j.name])
                    del self.waiting[job.name]
                    self.running.add(job.name)
                    return job
                self.change.wait()
            return None

    def work(self):
        for job in iter(self.take, None):
            self.run_one(job)
            with self.change:
                self.running.remove(job.name)
                self.done.add(job.name)
                self.change.notify_all()
                if all(j.name in self.done for j in self.jobs.values() if j.step == job.step):
                    self.tell(job.step)

    def run_one(self, job):
        job.begun = time.monotonic()
        bad = [n for n in job.needs if n in self.jobs and self.jobs[n].failed]
        known = None
        if bad:
            job.failed = 1
            job.said.append(f"    FAILED: {job.name} was not run, since {bad[0]} failed")
        else:
            known = digest(job) if job.inputs is not None else None
            before = self.kept.entries.get(job.name)
            if known and before and before["digest"] == known and not self.again:
                job.passed, job.skipped, job.notes, job.kept = before["passed"], before["skipped"], before["notes"], True
            else:
                try:
                    job.call(job)
                except Exception as e:  # of this script: no test may be lost by it
                    job.failed += 1
                    job.said.append(f"    FAILED: {job.name}: {e!r}")
        job.ended = time.monotonic()
        with LOCK:
            self.kept.entries.pop(job.name, None)
            if not bad and known is None and job.inputs is not None:
                known = digest(job)  # where it makes one of them
            if known and not job.failed:
                self.kept.entries[job.name] = {"digest": known, "passed": job.passed, "skipped": job.skipped, "notes": job.notes}
            if job.cpu and not job.failed:
                self.seconds.entries[job.name] = round(job.cpu, 1)
            for key in self.total:
                self.total[key] += getattr(job, key)
            for line in job.said:
                print(line, flush=True)

    def tell(self, step):
        jobs = [j for j in self.jobs.values() if j.step == step]
        for job in jobs:
            for note in job.notes:
                print(note)
        kept = sum(j.kept for j in jobs)
        span = max(j.ended for j in jobs) - min(j.begun for j in jobs)
        passed, failed, skipped = (sum(getattr(j, key) for j in jobs) for key in ("passed", "failed", "skipped"))
        print(f"{step:<16} {span:6.1f} s, {sum(j.cpu for j in jobs):6.1f} s of CPU   {passed} passed, {failed} failed, {skipped} skipped" +
              (f"   ({kept} of {len(jobs)} programs kept from an earlier run)" if kept else ""), flush=True)

    def write_table(self):
        """build/tests/table.json: of each step that ran the CPU seconds and counts, for tell_table(). Of a kept job: those of the run
        that it is kept from."""
        table = Record("table")
        for step in self.steps:
            jobs = [j for j in self.jobs.values() if j.step == step]
            cpu = sum(self.seconds.entries.get(j.name, 0) if j.kept else j.cpu for j in jobs)
            table.entries[step] = {"cpu": round(cpu, 1), **{key: sum(getattr(j, key) for j in jobs) for key in self.total}}
        table.write()

    def run(self):
        start = time.monotonic()
        for step in self.steps:
            open(os.path.join(LOGS, step + ".log"), "w", encoding="utf-8").close()
        threads = [threading.Thread(target=self.work, daemon=True) for _ in range(WORKERS)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        self.seconds.write()
        self.kept.write()
        self.write_table()
        cpu = sum(j.cpu for j in self.jobs.values())
        print(f"{'all':<16} {time.monotonic() - start:6.1f} s, {cpu:6.1f} s of CPU   logs in build/tests/")
        print(f"{self.total['passed']} passed, {self.total['failed']} failed, {self.total['skipped']} skipped")
        return self.total["failed"] == 0


def tell_table(steps, old=None):
    """Prints the CPU seconds and cases of each step as it last ran here, beside those of another such file."""
    tables = [Record("table").entries]
    if old:
        with open(old, encoding="utf-8") as f:
            tables.insert(0, json.load(f))
    heads = ["before", "now"] if old else ["now"]
    print(f"{'step':<16}" + "".join(f"{head + ': CPU s':>16}{'cases':>8}" for head in heads))
    sums = [[0.0, 0] for _ in tables]
    for step in steps:
        line = f"{step:<16}"
        for table, whole in zip(tables, sums):
            row = table.get(step)
            cases = row["passed"] + row["failed"] + row["skipped"] if row else 0
            line += f"{row['cpu']:16.1f}{cases:8}" if row else f"{'-':>16}{'-':>8}"
            whole[0] += row["cpu"] if row else 0
            whole[1] += cases
        print(line)
    print(f"{'all':<16}" + "".join(f"{cpu:16.1f}{cases:8}" for cpu, cases in sums))

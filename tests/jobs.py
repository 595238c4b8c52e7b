"""What tests/run is made of: jobs that run programs and count their cases, and the queue that runs the jobs.

A job belongs to a step, by which people choose it and read of it. Two jobs run at a time. A job that passed is kept: it does not
run again while its program, its files and its environment are the same ones (SPY_TEST_AGAIN=1: all run again).

A run that follows a complete one has a budget of CPU seconds (Queue.__init__). The jobs that tell most of the change run first, and those
that the budget does not reach are left to the next run, which names and runs them. Without a budget the longest job runs first.
"""
import glob
import hashlib
import json
import os
import re
import shutil
import struct
import subprocess
import tempfile
import textwrap
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
    # libslang frees a session's memory at once, and malloc() would ask the system for it again. By 64 MiB at a time a program of gpu takes
    # 0.08 s less of the system's time than by 4 MiB, of 0.3 to 0.6; huge pages take more.
    env.setdefault("MALLOC_TOP_PAD_", str(64 << 20))
    env.setdefault("MALLOC_TRIM_THRESHOLD_", str(1 << 30))
    env.setdefault("SLANGPY_NVRTC_LIBRARY", NVRTC)
    env.setdefault("SPY_TEST_SIZE", "normal")
    env.update(extra)
    env = {name: value for name, value in env.items() if value is not None}
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
    passed before it. seconds: the CPU time that it takes, where no earlier run has said. inputs: files, folders and patterns of
    them that decide about its result; None: it always runs. makes: files that it makes, for a build. rank: of the jobs of a run that
    has a budget those of a low rank run first. batch(jobs) in place of call does the work of several jobs that have the same
    batch in one process, and reports of each."""

    def __init__(self, step, name, call, needs=(), seconds=2.0, inputs=None, env=None, makes=(), rank=9, batch=None):
        self.step, self.name, self.call, self.needs, self.seconds = step, name, call, tuple(needs), seconds
        self.inputs, self.env, self.makes, self.rank, self.batch = inputs, env or {}, makes, rank, batch
        self.passed = self.failed = self.skipped = 0
        self.cpu = 0.0
        self.begun = self.ended = 0.0
        self.kept = self.left = False
        self.known = None  # digest() before it runs
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


COMPLETE = ""  # of kept.json: the entry of the last run that left nothing


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
RELOCATABLE, SHF_ALLOC, SHT_NOTE, SHT_NOBITS = 1, 2, 7, 8  # an object for the linker; a section that is loaded; kinds of sections


def loaded_parts(data):
    """The parts of an ELF file that lie in memory when it runs, but for notes such as the linker's build-id; other files whole. What is
    left out tells debuggers of files and lines: a program whose source has got a line of comment more is the same program."""
    if data[:6] != b"\x7fELF\2\1" or len(data) < 64 or data[16] == RELOCATABLE:
        return [data]
    table, = struct.unpack_from("<Q", data, 40)
    size, count = struct.unpack_from("<HH", data, 58)
    sections = [struct.unpack_from("<IIQQQQ", data, table + i * size) for i in range(count)]
    parts = [data[16:20]]  # the kinds of file and machine
    for _, kind, flags, address, offset, length in sections:
        if flags & SHF_ALLOC and kind != SHT_NOTE:
            parts += [struct.pack("<IQQQ", kind, flags, address, length), b"" if kind == SHT_NOBITS else data[offset:offset + length]]
    return parts


def hash_file(path):
    stat = os.stat(path)
    key = (path, stat.st_mtime_ns, stat.st_size)
    if key not in hashes:
        whole = hashlib.blake2b(digest_size=16)
        with open(path, "rb") as f:
            for part in loaded_parts(f.read()):
                whole.update(part)
        hashes[key] = whole.hexdigest()
    return hashes[key]


def files_of(paths):
    """The files that these files, folders and patterns name, but for what Python or `make python` has compiled beside its sources. None:
    one names nothing."""
    found = []
    for path in paths:
        path = os.path.join(TOP, path)
        names = glob.glob(path) if "*" in path else [path] if os.path.exists(path) else []
        if not names:
            return None
        for name in names:
            compiled = () if name.startswith(os.path.join(TOP, "build")) else (".so", ".pyd")
            if os.path.isdir(name):
                found += [os.path.join(folder, f) for folder, _, files in os.walk(name) for f in files if "__pycache__" not in folder and not f.endswith(compiled)]
            else:
                found.append(name)
    return sorted(set(found))


def hash_files(paths):
    """A hash of the names and the contents of files. None: something is not there."""
    found = files_of(paths)
    whole = hashlib.blake2b(digest_size=16)
    for file in found or ():
        whole.update(f"{os.path.relpath(file, TOP)} {hash_file(file)}\n".encode())
    return whole.hexdigest() if found is not None else None


def digest(job):
    """A hash of all that decides about a job's result. None: something is not there."""
    whole = hashlib.blake2b(digest_size=16)
    env = environment(job.env)
    for name in sorted(env):
        if name.startswith(("SPY_", "SPIRV_", "SLANGPY_", "ASAN_", "LSAN_", "TSAN_", "UBSAN_", "GALLIVM_", "VK_", "LD_")) and name != "SPY_TEST_BUDGET":
            whole.update(f"{name}={env[name]}\n".encode())
    tools = (shutil.which(name) or name for name in ("gcc", "clang", "ld"))
    for file in (SLANG, env["SLANGPY_SLANG_LIBRARY"], env["SLANGPY_NVRTC_LIBRARY"], *tools):
        if os.path.exists(file):
            whole.update(f"{os.path.realpath(file)} {os.path.getsize(file)}\n".encode())
    inputs = hash_files(job.inputs)
    whole.update(str(inputs).encode())
    return whole.hexdigest() if inputs else None


def with_makes(job, known):
    """The digest of a build: of what it reads and of what it has made, for which a file made by hand does not pass."""
    made = hash_files(job.makes) if known and job.makes else ""
    return known + made if known and made is not None else None


# >>the queue


ABOUT_ALL = {"c", "h", "py", "slang", "src", "test", "tests", "gpu", "unit", "python", "slangpy", "internal", "common"}


def words_of(path):
    """The words of a file's or a job's name that may say what it is about, without the ending of a plural."""
    return {word.rstrip("s") for word in re.split(r"[^a-z]+", path.lower()) if len(word) > 1 and word not in ABOUT_ALL}


class Queue:
    """budget: CPU seconds after which no job begins, where an earlier run in the same environment left nothing; None: all run.
    sources: folders and files whose changes since that run say which jobs a run with a budget begins with."""

    def __init__(self, jobs, steps, budget=None, sources=()):
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
        self.sources = {os.path.relpath(f, TOP): hash_file(f) for f in files_of(sources) or ()}
        self.environment = digest(Job("", "", None, inputs=()))
        before = self.kept.entries.get(COMPLETE)
        self.budget, self.spent = budget if before and before["environment"] == self.environment else None, 0.0
        self.ranks = {}
        if self.budget is not None:
            self.rank_all(before["sources"])

    def measure(self, job):
        if job.name not in self.length:
            behind = [self.measure(j) for j in self.jobs.values() if job.name in j.needs]
            self.length[job.name] = job.seconds + max(behind, default=0)
        return self.length[job.name]

    def rank_all(self, before):
        """First what failed in the last run or is new, then what is called like a file that has changed, then by the jobs' own ranks.
        A build goes before the first job that needs it."""
        changed = {path for path in {*before, *self.sources} if before.get(path) != self.sources.get(path)}
        about = set().union(*map(words_of, changed))
        for job in self.jobs.values():
            called = about & words_of(job.name.partition(": ")[2] or job.name)
            self.ranks[job.name] = (0 if job.inputs is not None and job.name not in self.kept.entries else 1 if called else 2 + job.rank)
        for job in reversed(list(self.jobs.values())):
            for name in job.needs:
                if name in self.ranks:
                    self.ranks[name] = min(self.ranks[name], self.ranks[job.name])

    def fits(self, job, more=0.0):
        """Whether the budget reaches this job. What always runs does not ask, and one job runs whatever it takes."""
        taken = self.spent + more + sum(self.jobs[name].seconds for name in self.running)
        return self.budget is None or job.inputs is None or taken == 0 or taken + job.seconds <= self.budget

    def settle(self, job):
        """Ends a job whose needs are done where there is nothing to run; whether it has."""
        needs = [self.jobs[name] for name in job.needs if name in self.jobs]
        bad = [j.name for j in needs if j.failed]
        if bad:
            job.failed = 1
            job.said.append(f"    FAILED: {job.name} was not run, since {bad[0]} failed")
        elif any(j.left for j in needs):
            job.left = True
        elif job.inputs is not None and job.known is None:
            job.known = digest(job) or ""  # "": it makes one of its inputs
            before = self.kept.entries.get(job.name)
            if before and before["digest"] == with_makes(job, job.known) and not self.again:
                job.passed, job.skipped, job.notes, job.kept = before["passed"], before["skipped"], before["notes"], True
        return bool(bad or job.left or job.kept)

    def take(self):
        """The next jobs that can run, which are one job or some of a batch; None: none is left."""
        with self.change:
            while self.waiting:
                ready = [j for j in self.waiting.values() if all(n in self.done or n not in self.jobs for n in j.needs)]
                settled = [j for j in ready if self.settle(j)]
                for job in settled:
                    job.begun = time.monotonic()
                    del self.waiting[job.name]
                    self.finish(job)
                if settled:
                    continue
                ready.sort(key=self.order)
                first = next((j for j in ready if self.fits(j)), None)
                if first:
                    jobs = self.some_of_batch(first, ready) if first.batch else [first]
                    for job in jobs:
                        del self.waiting[job.name]
                        self.running.add(job.name)
                    return jobs
                if not self.running:
                    for job in ready:
                        job.left = True
                else:
                    self.change.wait()
            return None

    def order(self, job):
        """By length, the longest first. Of a budget, which may not reach all, short jobs make more than long ones; they follow the builds,
        of which the longest goes first, so that no worker waits and takes up a job of a high rank."""
        if self.budget is None:
            return -self.length[job.name]
        return self.ranks[job.name], not job.makes, -self.length[job.name] if job.makes else job.seconds

    def some_of_batch(self, first, ready):
        """Half of what is left of the batch, so that the last processes of several are short ones, but 10 seconds at least."""
        found = [j for j in ready if j.batch is first.batch and self.ranks.get(j.name) == self.ranks.get(first.name)]
        most = max(sum(j.seconds for j in found) / 2, 10.0)
        jobs, seconds = [], 0.0
        for job in found:
            if not jobs or seconds + job.seconds <= most and self.fits(job, seconds):
                jobs.append(job)
                seconds += job.seconds
        return jobs

    def work(self):
        for jobs in iter(self.take, None):
            self.run_some(jobs)
            with self.change:
                for job in jobs:
                    self.running.remove(job.name)
                    self.spent += job.cpu
                    self.finish(job)

    def run_some(self, jobs):
        for job in jobs:
            job.begun = time.monotonic()
        try:
            if jobs[0].batch:
                jobs[0].batch(jobs)
            else:
                jobs[0].call(jobs[0])
        except Exception as e:  # of this script: no test may be lost by it
            for job in jobs:
                job.failed += 1
                job.said.append(f"    FAILED: {job.name}: {e!r}")

    def finish(self, job):
        """Keeps what a job has come to, and tells of its step if it was the last one."""
        job.ended = time.monotonic()
        if not job.left and not job.kept:
            self.kept.entries.pop(job.name, None)
            known = with_makes(job, job.known or digest(job)) if job.inputs is not None and not job.failed else None
            if known:
                self.kept.entries[job.name] = {"digest": known, "passed": job.passed, "skipped": job.skipped, "notes": job.notes}
            if job.cpu and not job.failed:
                # A build often has little to do: what a whole one takes is what a budget must have room for.
                self.seconds.entries[job.name] = round(max(job.cpu, job.seconds if job.makes else 0), 1)
            self.kept.write()  # for a run that somebody ends
        for key in self.total:
            self.total[key] += getattr(job, key)
        for line in job.said:
            print(line, flush=True)
        self.done.add(job.name)
        self.change.notify_all()
        if all(j.name in self.done for j in self.jobs.values() if j.step == job.step):
            self.tell(job.step)

    def tell(self, step):
        jobs = [j for j in self.jobs.values() if j.step == step]
        for job in jobs:
            for note in job.notes:
                print(note)
        kept, left = sum(j.kept for j in jobs), sum(j.left for j in jobs)
        span = max(j.ended for j in jobs) - min(j.begun for j in jobs)
        passed, failed, skipped = (sum(getattr(j, key) for j in jobs) for key in ("passed", "failed", "skipped"))
        print(f"{step:<16} {span:6.1f} s, {sum(j.cpu for j in jobs):6.1f} s of CPU   {passed} passed, {failed} failed, {skipped} skipped" +
              (f"   ({kept} of {len(jobs)} jobs kept from an earlier run)" if kept else "") +
              (f"   ({left} of {len(jobs)} left to the next run)" if left else ""), flush=True)

    def write_table(self):
        """build/tests/table.json: of each step that ran the CPU seconds and counts, for tell_table(). Of a kept job: those of the run
        that it is kept from."""
        table = Record("table")
        for step in self.steps:
            jobs = [j for j in self.jobs.values() if j.step == step]
            if any(j.left for j in jobs):
                continue
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
        left = [j for j in self.jobs.values() if j.left]
        if left:
            self.tell_left(left)
        elif self.sources:
            self.kept.entries[COMPLETE] = {"sources": self.sources, "environment": self.environment}
        self.kept.write()
        self.seconds.write()
        self.write_table()
        cpu = sum(j.cpu for j in self.jobs.values())
        print(f"{'all':<16} {time.monotonic() - start:6.1f} s, {cpu:6.1f} s of CPU   logs in build/tests/")
        print(f"{self.total['passed']} passed, {self.total['failed']} failed, {self.total['skipped']} skipped")
        return self.total["failed"] == 0

    def tell_left(self, left):
        print(f"LEFT to the next run, after {self.spent:.0f} s of CPU: {len(left)} of {len(self.jobs)} jobs, which the change may concern:")
        for step in self.steps:
            of_step = [j for j in self.jobs.values() if j.step == step]
            names = [j.name.partition(": ")[2].rpartition("/")[2] or j.name for j in left if j.step == step]
            if names:
                told = f"all {len(names)}" if len(names) == len(of_step) > 1 else ", ".join(names)
                print(textwrap.fill(f"{step}: {told}", 130, initial_indent="    ", subsequent_indent="        ", break_on_hyphens=False))
        print("`make test` goes on with them; `SPY_TEST_BUDGET=0 make test` runs all of them now, as CI does", flush=True)


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

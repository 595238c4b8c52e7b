"""worker.py TYPE FILE: runs cases in this process. Names of cases come by standard input, one a line with
the results of it that are to be left out; FILE gets a line of JSON before
and after each: a case that ends the process is the one without its second line."""
import ctypes
import importlib
import json
import os
import sys
import time
import traceback

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import cases  # noqa: E402


def load_cases():
    for file in sorted(os.listdir(HERE)):
        if file.startswith("cases_") and file.endswith(".py"):
            importlib.import_module(file[:-3])
    return cases.TABLE


def allow_dispatches(device):
    """SlangPy's CPU device runs kernels by the host's C++ compiler, but refuses each call because all its limits are 0. The limits are 25
    words in the device's own memory, to which the object of `info.limits` has a pointer: this fills them."""
    limits = device.info.limits
    pointer = id(limits) + ctypes.c_int32.from_address(id(limits) + 16).value  # nanobind keeps the pointer's distance after the object's head
    words = (ctypes.c_uint32 * 25).from_address(ctypes.c_void_p.from_address(pointer).value)
    if any(words):
        return
    for i in range(25):
        words[i] = 7
        if 7 in tuple(limits.max_compute_dispatch_thread_groups):
            words[i] = 65535
        else:
            words[i] = 1024


def make_device(spy, kind, torch):
    type_ = getattr(spy.DeviceType, kind)
    if not torch:
        device = spy.create_device(type=type_)
        if kind == "cpu" and os.environ.get("COMPARE_RIVAL") == "1":
            allow_dispatches(device)
        return device
    try:
        import torch as t
    except ImportError:
        raise cases.Skipped("no torch") from None
    if not t.cuda.is_available():
        raise cases.Skipped("torch has no CUDA device")
    return spy.create_torch_device(type=type_)


def main():
    kind, path = sys.argv[1:3]
    table = load_cases()
    import slangpy as spy
    devices, out = {}, open(path, "a", encoding="utf-8", buffering=1)
    rival = os.environ.get("SLANGPY_RIVAL")
    here = os.path.realpath(spy.__file__)
    if os.environ.get("COMPARE_RIVAL") == "1" and not (rival and here.startswith(os.path.realpath(rival) + os.sep)):
        sys.exit(f"slangpy is {here}, not SlangPy")
    cases.progress = lambda name: out.write(json.dumps({"at": name}) + "\n")
    for line in sys.stdin.read().splitlines():
        name, *cases.crashing = line.split()
        f = table[name]
        out.write(json.dumps({"case": name, "start": True}) + "\n")
        begin, answer, device = time.perf_counter(), {"case": name}, None
        try:
            key = f.torch
            if f.own_device:
                device = make_device(spy, kind, f.torch)
            else:
                if key not in devices:
                    devices[key] = make_device(spy, kind, key)
                device = devices[key]
            answer["value"] = cases.plain(f(spy, device))
        except cases.Skipped as e:
            answer["skipped"] = str(e)
        except BaseException as e:  # whatever a library raises is its result
            cases.end_if_lost(e)
            answer["raised"] = [c.__name__ for c in type(e).__mro__]
            answer["text"] = str(e)[:1500]
            answer["where"] = [f"{os.path.basename(s.filename)}:{s.lineno}" for s in traceback.extract_tb(e.__traceback__) if HERE in s.filename][-2:]
        answer["seconds"] = round(time.perf_counter() - begin, 3)
        out.write(json.dumps(answer) + "\n")
        if f.own_device and device is not None:
            try:
                device.close()
            except Exception:
                pass
            device = None
    out.flush()
    os._exit(0)  # how a library ends is no result here


if __name__ == "__main__":
    main()

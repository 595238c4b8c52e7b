"""What the files of cases share: the table of cases, modules from text, and how results become plain values.

A case is a function (spy, device) that does what a user's program would do, and returns plain values. The same function runs under
SlangPy and under this library; `run` compares what they return. It may not name anything that only one of the two has."""
import enum
import hashlib
import inspect
import os

import numpy as np

TABLE = {}
progress = None  # worker.py: is told which result comes next
crashing = ()  # results of the present case that ended an earlier process
LOST = 77  # how a process ends whose device is lost: all that it did there afterwards would fail


MATH = {f"{t}{n}" for t in ("bool", "int", "uint", "float", "float16_t") for n in (1, 2, 3, 4)} | {f"float{r}x{c}" for r in (2, 3, 4) for c in (2, 3, 4)} | {"quatf"}


class Skipped(Exception):
    pass


def case(function=None, *, torch=False, only=("vulkan", "cuda"), expected=None, own_device=False):
    """torch: the device is one of create_torch_device. expected: the value by hand, for what SlangPy has not or cannot run there.
    own_device: a device of the case's own, which it may close or reload."""
    def enter(f):
        assert f.__name__ not in TABLE, f.__name__
        f.torch, f.only, f.expected, f.own_device = torch, only, expected, own_device
        TABLE[f.__name__] = f
        return f
    return enter(function) if function else enter


def digest(function):
    """Of a case's text and of the texts that it names: a result that was kept counts while this stays."""
    texts = [inspect.getsource(function)]
    texts += [v for n in function.__code__.co_names if isinstance(v := function.__globals__.get(n), str)]
    return hashlib.sha1("\n".join(texts).encode()).hexdigest()[:12]


def end_if_lost(exception):
    if "DEVICE_LOST" in str(exception):
        os._exit(LOST)


def load(spy, device, source, **keywords):
    name = "m" + hashlib.sha1(source.encode()).hexdigest()[:12]
    return spy.Module.load_from_source(device, name, source, **keywords)


def error(function, *args, **keywords):
    """The value, or the names of the exception's type and of its bases."""
    try:
        return plain(function(*args, **keywords))
    except Exception as e:
        end_if_lost(e)
        return "raises " + " ".join(c.__name__ for c in type(e).__mro__ if issubclass(c, Exception))


def fails(function, *args, **keywords):
    """Whether there is an exception, whatever its type: not a part of the interface."""
    try:
        return plain(function(*args, **keywords))
    except Exception as e:
        end_if_lost(e)
        return "raises"


def each(**functions):
    """Several results in one case: one that fails, or ends the process, does not hide the others."""
    results = {}
    for name, f in functions.items():
        if name in crashing:
            results[name] = "crashes"
            continue
        if progress:
            progress(name)
        results[name] = error(f)
    if progress:
        progress("")
    return results


def random(*shape, seed=1, dtype=np.float32):
    return np.random.default_rng(seed).random(shape).astype(dtype)


def plain(value):
    """Numbers, texts, lists and dicts of them; other objects by their type's name and text."""
    if value is None or isinstance(value, (bool, str)):
        return value
    if isinstance(value, enum.Enum):
        return f"{type(value).__name__}.{value.name}"
    if isinstance(value, int):
        return value
    if isinstance(value, float):
        return value
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, np.ndarray):
        return {"array": str(value.dtype), "shape": list(value.shape), "values": [plain(x.item()) if x.dtype.names is None else str(x) for x in value.reshape(-1)[:4096]]}
    if isinstance(value, np.generic):
        return plain(value.item())
    if isinstance(value, dict):
        return {str(k): plain(v) for k, v in value.items()}
    if isinstance(value, (list, tuple, set)):
        return [plain(v) for v in (sorted(value) if isinstance(value, set) else value)]
    if isinstance(value, type):
        return "class " + value.__name__
    kind = type(value).__name__
    if kind in MATH:
        numbers = plain(value.to_numpy()) if kind[5:6].isdigit() and "x" in kind[5:] else [bool(v) if kind.startswith("bool") else float(v) for v in value]
        return {kind: numbers}
    if kind == "Tensor" and type(value).__module__.startswith("torch"):
        return {"torch": str(value.dtype), "shape": list(value.shape), "device": value.device.type, "values": plain(value.detach().cpu().reshape(-1).tolist())}
    if kind == "Tensor":
        return {"Tensor": plain(value.to_numpy()), "shape": list(value.shape)}
    if kind == "Texture":
        return {"Texture": plain(value.to_numpy()), "format": value.format.name}
    if kind == "Shape":
        return {"Shape": list(value)}
    if kind == "DiffPair":
        return {"DiffPair": [plain(value.primal), plain(value.grad)]}
    if kind == "ValueRef":
        return {"ValueRef": plain(value.value)}
    return f"{kind} {value}"

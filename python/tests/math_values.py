"""Names of the math types, values of each, and comparisons, for all test_math files."""
import numpy as np

import slangpy as spy

DTYPES = {"bool": np.bool_, "int": np.int32, "uint": np.uint32, "float": np.float32, "float16_t": np.float16}
VECTORS = [f"{name}{n}" for name in DTYPES for n in range(1, 5)]
NUMERIC = [name for name in VECTORS if not name.startswith("bool")]
FLOATS = [name for name in VECTORS if name.startswith("float")]
MATRICES = [f"float{r}x{c}" for r in range(2, 5) for c in range(2, 5)]


def kind(name):
    """Returns (type, numpy dtype, shape) for a type's name."""
    base = name.rstrip("1234") if "x" not in name else "float"
    shape = (int(name[-1]),) if "x" not in name else (int(name[-3]), int(name[-1]))
    return getattr(spy, name), DTYPES[base], shape


def values(name, seed=0, positive=False):
    """Returns random components that the type holds exactly."""
    _, dtype, shape = kind(name)
    random = np.random.default_rng([seed, *name.encode()])
    if dtype is np.bool_:
        return random.integers(0, 2, shape).astype(dtype)
    low = 1 if positive or dtype is np.uint32 else -50
    numbers = random.integers(low, 50, shape)
    numbers[numbers == 0] = 3
    return (numbers / 8 if np.issubdtype(dtype, np.floating) else numbers).astype(dtype)


def same(value, expected, tolerance=2e-6):
    np.testing.assert_allclose(np.array(value, np.float64), expected, rtol=tolerance, atol=tolerance)


def exact(name, result, expected):
    """Returns what an operator has to give: for float types the result in double, rounded; for integers the result itself."""
    _, dtype, _ = kind(name)
    assert type(result) is getattr(spy, name)
    assert np.array_equal(np.array(result), expected.astype(dtype)), (result, expected)

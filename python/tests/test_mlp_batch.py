"""The batch engine of small networks (slangpy.mlp_batch), and Function.shared_bytes, which the engine needs. Without a GPU the text of
the kernels runs on the CPU (tests/mlp/emulate.cpp) on tests/unit/fake_cuda, whose device memory is host memory, and is compared with
numpy in float64; NVRTC compiles the kernels; bad input is an error. tests/mlp/batch_engine.py tests the engine on a GPU."""
import ctypes
import os
import random
import re
import shutil
import subprocess

import numpy as np
import pytest

import slangpy as spy
from conftest import EVERY, TOP
from test_cuda_context import fake  # noqa: F401

EMULATED = """
import contextlib, tempfile
state.capability = 90
sys.path.insert(0, %r)
import batch_engine, emulated
folder = tempfile.TemporaryDirectory()
batch_engine.CASES = %%r
with contextlib.redirect_stdout(sys.stderr):
    bad = emulated.main(folder.name, 0, 99, %%r)
assert bad == 0 and batch_engine.lines == %%d, batch_engine.lines
""" % os.path.join(TOP, "tests/mlp")


CASES = [
    (64, 2, 17, 3, 300, {"bias": True, "dtype": "float", "input_gradient": True}), (32, 1, 9, 1, 65, {"bias": True, "activation": "tanh"}),
    (128, 2, 40, 5, 150, {"bias": True, "dtype": "float", "loss": "relative_l2"}), (128, 3, 128, 8, 129, {"input_gradient": True})]
NETWORKS = [  # width, depth, inputs, outputs, activation, flags
    (64, 3, 64, 8, 1, 0), (64, 4, 64, 3, 2, 2 | 8), (64, 3, 17, 3, 1, 2 | 4), (64, 3, 24, 8, 3, 2), (32, 8, 32, 3, 1, 2 | 4), (32, 2, 7, 8, 4, 2),
    (128, 3, 128, 8, 1, 2), (128, 2, 50, 3, 1, 2 | 4 | 8)]
ENGINES = [("wgmma", 64), ("mma", 32)]
if not EVERY:  # g++ and NVRTC need seconds for each network
    chosen = random.Random(int(os.environ["SPY_TEST_SEED"]))
    CASES, NETWORKS, ENGINES = chosen.sample(CASES, 1), chosen.sample(NETWORKS, 2), chosen.sample(ENGINES, 1)


@pytest.mark.skipif(not shutil.which("g++"), reason="no g++")
@pytest.mark.parametrize("case", CASES)
def test_numbers(fake, case):  # noqa: F811
    """Outputs and gradients of both engines equal those in float64 layer by layer, have the same bits in each run, and nothing is
    written beyond the tensors. (Feature N3.)"""
    lines = {32: 1 + 2, 64: 2 + 2, 128: 2 + 1}[case[0]]  # the number of lines in the report: wgmma trains from width 64 on, mma up to 64
    fake(EMULATED % ([case], (), lines))


@pytest.mark.skipif(not shutil.which("g++"), reason="no g++")
def test_steps(fake):  # noqa: F811
    """Three steps of Adam equal numpy's; a loss that is not finite changes no parameter. (Feature N4.)"""
    fake(EMULATED % ([], ENGINES, 2 * len(ENGINES)))


def test_compiled(fake):  # noqa: F811
    """NVRTC compiles the kernels for sm_90a and sm_80; explain() shows groups and shared memory. (Features Z4, N3.)"""
    fake("""
from slangpy.mlp_batch import BatchNetwork
for capability, engines, explained in ((90, {False: "wgmma", True: "wgmma"}, "forward: wgmma\\ntraining: wgmma"),
                                       (80, {False: "mma", True: "mma"}, "forward: mma\\n  not wgmma: wgmma needs compute capability 9.0, the device has 8.0")):
    state.capability = capability
    with spy.create_device(spy.DeviceType.cuda) as d:
        net = BatchNetwork(d, 64, 8)
        assert net.engines == engines and net.explain().startswith(explained), net.explain()
        net.pack()
        x, t = spy.Tensor.zeros(d, (1000, 64), "half"), spy.Tensor.zeros(d, (1000, 8), "half")
        y = net.forward(x)
        d.wait_for_idle()
        assert y.shape == (1000, 8) and state.shared == 3 * 8192 + 2048
        net.step(x, t)
        d.wait_for_idle()
        assert state.shared == 8 * 33 * 4
        encoder = d.create_command_encoder()  # recorded once, replayed
        net.step(x, t, command_encoder=encoder)
        recording = encoder.finish()
        before = state.counts[2]
        for _ in range(3):
            d.submit_command_buffer(recording)
        d.wait_for_idle()
        assert state.counts[2] == before + 6
        net.forward(spy.Tensor.zeros(d, (0, 64), "half"))
        assert state.counts[2] == before + 6
""")


def test_errors(fake, device):  # noqa: F811
    """The error for a network that the engines cannot run says why, and wrong shapes are errors."""
    from slangpy.mlp_batch import BatchNetwork
    if device.info.type != spy.DeviceType.cuda:
        with pytest.raises(ValueError, match="mma: the engine is for CUDA, the device is of backend 'vulkan'"):
            BatchNetwork(device, 32, 3, engine="mma")
    fake("""
from slangpy.mlp_batch import BatchNetwork
state.capability = 90
d = spy.create_device(spy.DeviceType.cuda)
for words, args, more in (("its width is 48; the matrix units take 32, 64 and 128", (32, 3, 48), {}), ("it has 65 inputs; 1 to 64, its width", (65, 3), {}),
                          ("it has 9 outputs", (32, 9), {}), ("it has 0 inputs", (0, 3), {}), ("its depth is 0", (32, 3, 64, 0), {}), ("its depth is 9", (32, 3, 64, 9), {}),
                          ("its forward pass needs 266240 bytes of shared memory, the device has 232448", (32, 3, 128, 8), {}),
                          ("argument 'loss': expected one of l2, l1, relative_l2, huber, given, got 'l3'", (32, 3), dict(loss="l3")),
                          ("argument 'engine': expected one of mma, wgmma, cooperative, got 'cpu'", (32, 3), dict(engine="cpu")),
                          ("argument 'dtype': expected 'half' or 'float', got 'double'", (32, 3), dict(dtype="double")),
                          ("its activation is 'sine'", (32, 3), dict(activation="sine"))):
    raises(ValueError, words, BatchNetwork, d, *args, **more)
net = BatchNetwork(d, 32, 3, dtype="float")
x, t = spy.Tensor.zeros(d, (10, 32), "float"), spy.Tensor.zeros(d, (10, 3), "float")
raises(ValueError, "argument 'x': expected shape (rows, 32), got (10, 3)", net.forward, t)
raises(ValueError, "BatchNetwork.step: argument 'targets': expected shape (10, 3), got (10, 32)", net.step, x, x)
raises(ValueError, "BatchNetwork.gradient: argument 'targets': expected shape (10, 3), got (10, 32)", net.gradient, x, x)
raises(ValueError, "BatchNetwork.gradient: argument 'x': expected shape (rows, 32), got (10, 3)", net.gradient, t, t)
raises(ValueError, "argument 'dx': expected none without input_gradient=True", net.gradient, x, t, x)
raises(ValueError, "argument 'optimizer': expected 'adam' or 'sgd', got 'lion'", net.step, x, t, optimizer="lion")
raises(spy.Error, "'x': expected float*", net.forward, spy.Tensor.zeros(d, (10, 32), "half"))
wide = spy.Tensor.zeros(d, (10, 64), "float")
raises(ValueError, "BatchNetwork.forward: argument 'x': expected rows without gaps, got a view with strides", net.forward, wide[:, 0:32])
raises(ValueError, "argument 'y': expected shape (10, 3), got (9, 3)", net.forward, x, t[0:9])
raises(ValueError, "argument 'x': expected memory at a multiple of 16 bytes, got address", BatchNetwork(d, 31, 3, 32, dtype="float").forward,
       spy.Tensor.zeros(d, (10, 31), "float")[1:])
shared = spy.Tensor.zeros(d, (32 * 64 + 64 + 64 * 3 + 3,), "float")
given = dict(device=d, inputs=32, outputs=3, width=64, depth=1, bias=True, activation="Sigmoid", output_activation="NoActivation", dtype="float", parameters=shared)
made = BatchNetwork.of(types.SimpleNamespace(**given), dtype="float")  # what a Network of slangpy.mlp has
assert made.parameters is shared and made.activation == "sigmoid" and made.forward(x).shape == (10, 3)
for words, more in (("expected an activation of NoActivation, ReLU, LeakyReLU, Sigmoid, Tanh, got 'Sine'", dict(activation="Sine")),
                    ("expected the output activation 'NoActivation', got 'Tanh'", dict(output_activation="Tanh")), ("expected parameters of 'float' or 'mixed', got 'half'", dict(dtype="half")),
                    ("argument 'parameters': expected shape (2240,), got (2307,)", dict(bias=False)), ("its depth is 0", dict(width=64, depth=0))):
    raises(ValueError, words, BatchNetwork.of, types.SimpleNamespace(**dict(given, **more)))
deep = BatchNetwork(d, 32, 3, 128, 4)
raises(ValueError, "one that none does: wgmma: its depth is 4; wgmma trains 2 or 3 hidden layers of width 128; mma: mma has no training kernel of width 128",
       deep.step, spy.Tensor.zeros(d, (10, 32), "half"), spy.Tensor.zeros(d, (10, 3), "half"))
raises(ValueError, "BatchNetwork.gradient: expected a network that an engine trains", deep.gradient, spy.Tensor.zeros(d, (10, 32), "half"), spy.Tensor.zeros(d, (10, 3), "half"))
state.capability = 75
raises(ValueError, "mma.sync of halves needs compute capability 8.0, the device has 7.5", BatchNetwork, spy.create_device(spy.DeviceType.cuda), 32, 3)
""")


# >>Vulkan's cooperative matrices; their numbers: tests/mlp/batch_engine.py on a GPU

COOPERATIVE = [  # width, depth, inputs, outputs, dtype, activation, bias, whether one layer at a time is in groupshared memory
    (64, 3, 64, 8, "half", "relu", False, False), (128, 3, 128, 8, "half", "relu", False, True), (48, 2, 17, 3, "float", "tanh", True, False),
    (16, 1, 40, 16, "half", "sigmoid", True, False), (1, 1, 1, 1, "float", "none", False, False), (128, 4, 20, 5, "float", "leaky_relu", True, True)]
if not EVERY:
    COOPERATIVE = random.Random(int(os.environ["SPY_TEST_SEED"])).sample(COOPERATIVE, 2)


@pytest.mark.parametrize("conversion", (0, 1))
@pytest.mark.parametrize("case", COOPERATIVE)
def test_cooperative_compiled(tmp_path, monkeypatch, capfd, case, conversion):
    """The forward pass for Vulkan's cooperative matrices becomes SPIR-V that asks for what the device has, and is valid. (Feature N3.)"""
    from slangpy.mlp_batch import BatchNetwork, _cooperative_bytes
    width, depth, inputs, outputs, dtype, activation, bias, layered = case
    monkeypatch.setattr(BatchNetwork, "_converts", lambda self: bool(conversion))
    with spy.create_device(spy.DeviceType.vulkan, record_pack=True, offline=True) as device:
        device._set_dump_directory(os.fsencode(tmp_path))
        net = BatchNetwork(device, inputs, outputs, width, depth, dtype=dtype, activation=activation, bias=bias)
        assert net.engines == {False: "cooperative"}
        assert net.explain() == ("forward: cooperative: cooperative matrices, inputs %s\ntraining: none\n  not cooperative: it has no training kernel"
                                 % ("converted from sums (VK_NV_cooperative_matrix2)" if conversion else "through groupshared memory"))
        net.pack()
        x = spy.Tensor.zeros(device, (77, inputs), dtype)
        assert net.forward(x).shape == (77, outputs)
        with pytest.raises(ValueError, match="BatchNetwork.step: expected a network that an engine trains, got one that none does: cooperative: it has no training kernel"):
            net.step(x, net.forward(x))
    said = capfd.readouterr()
    assert "warning" not in said.out + said.err, said
    files = sorted(tmp_path.glob("*.spv"))
    assert len(files) == 2, files
    words = {f.name.split("_")[1]: np.fromfile(f, np.uint32) for f in files}["forward"].tolist()
    capabilities, constants, arrays, at = set(), {}, [], 5
    while at < len(words):
        op, size = words[at] & 0xffff, words[at] >> 16
        if op == 17:
            capabilities.add(words[at + 1])
        elif op == 43 and size == 4:
            constants[words[at + 2]] = words[at + 3]
        elif op == 28:
            arrays.append(words[at + 3])
        at += size
    assert 6022 in capabilities and (5431 in capabilities) == bool(conversion)
    whole, one = (_cooperative_bytes(inputs, width, depth, bias, each) for each in (False, True))
    assert (whole > 49152) == layered
    pieces = [constants[a] for a in arrays]  # groupshared memory has the size that decided
    assert 768 in pieces and (one if layered else whole) // 16 - 768 in pieces, pieces
    spirv_val = os.environ.get("SPIRV_VAL") or shutil.which("spirv-val")
    if not spirv_val:
        pytest.skip("no spirv-val; the SPIR-V is NOT checked")
    for f in files:
        done = subprocess.run([spirv_val, "--target-env", "vulkan1.2", str(f)], capture_output=True, text=True)
        if "Invalid capability operand: 6022" in done.stderr:
            pytest.skip("this spirv-val does not know cooperative matrices; the SPIR-V is NOT checked")
        assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("case", COOPERATIVE)
def test_cooperative_image(device, case):
    """The kernel that makes the image of the parameters, against numpy: each layer's outputs as rows of halves, then the biases. (Feature N3.)"""
    from slangpy import mlp_batch
    if device.info.type != spy.DeviceType.vulkan:
        pytest.skip("the engine is for Vulkan")
    width, depth, inputs, outputs, _, _, bias, _ = case
    sizes = [inputs] + [width] * depth + [outputs]
    r = np.random.default_rng(5)
    flat, parts, biases = [], [], []
    for layer, (ins, outs) in enumerate(zip(sizes, sizes[1:])):
        w, b = r.standard_normal((ins, outs)).astype(np.float32), r.standard_normal(outs * bias).astype(np.float32)
        flat += [w.ravel(), b]
        rows = (outs + 15) // 16 * 16
        padded = np.zeros((rows, (ins + 15) // 16 * 16 + 8), np.float16)
        padded[:outs, :ins] = w.T
        parts.append(padded.ravel())
        if bias:
            biases.append(np.concatenate([b, np.zeros(rows - outs, np.float32)]))
    wanted = np.concatenate([np.concatenate(parts).view(np.uint32)] + [b.view(np.uint32) for b in biases])
    module = spy.Module.load_from_source(device, "image", mlp_batch._COOPERATIVE % ("half", "half"))
    pieces = sum(mlp_batch._cooperative_pieces(inputs, width, depth, bias)[:2])
    assert pieces * 4 == len(wanted)
    image = spy.Tensor.empty(device, (pieces + 1,), "uint4")
    image.copy_from_numpy(np.full((pieces + 1, 4), 77, np.uint32))
    pack = module.find_function("mlp_pack").constants(dict(mlp_width=width, mlp_depth=depth, mlp_inputs=inputs, mlp_outputs=outputs, mlp_bias=int(bias)))
    pack.dispatch([-(-pieces // 256) * 256, 1, 1], parameters=spy.Tensor.from_numpy(device, np.concatenate(flat)), image=image)
    got = image.to_numpy().reshape(-1)
    np.testing.assert_array_equal(got[:-4], wanted)
    assert (got[-4:] == 77).all()


# The matrices of linalg: lane l of a subgroup of 32 has numbers 8 l to 8 l + 7, so that the kernel's text runs on any device.
MATRICES = """
groupshared half factors[SUBGROUPS * 512];
static uint own_thread;
uint laneRow() { return own_thread % 32 / 2; }
uint laneColumn() { return own_thread % 2 * 8; }
half numberOf(uint4 piece, uint i) { return asfloat16(uint16_t(piece[i / 2] >> (i % 2 * 16))); }
struct Sums
{
    float v[8];
    __init(float of) { for (int i = 0; i < 8; i++) v[i] = of; }
    static uint GetLength() { return 8; }
    __subscript(uint i) -> float { get { return v[i]; } [mutating] set { v[i] = newValue; } }
    static Sums loadHeld(int column, uint at, uint stride)
    {
        Sums m = Sums(0);
        for (uint i = 0; i < 8; i++) m.v[i] = asfloat(held[at + laneRow() * stride + (laneColumn() + i) / 4][i % 4]);
        return m;
    }
    void storeTransit(uint at, uint stride) { for (uint i = 0; i < 8; i++) transit[at + laneRow() * stride + (laneColumn() + i) / 4][i % 4] = asuint(v[i]); }
}
struct HalfSums
{
    half v[8];
    __init(float of) { for (int i = 0; i < 8; i++) v[i] = half(of); }
    static uint GetLength() { return 8; }
    __subscript(uint i) -> half { get { return v[i]; } [mutating] set { v[i] = newValue; } }
    [mutating] void copyFrom(Sums from) { for (int i = 0; i < 8; i++) v[i] = half(from.v[i]); }
    static HalfSums loadHeld(int column, uint at, uint stride)
    {
        HalfSums m = HalfSums(0);
        for (uint i = 0; i < 8; i++) m.v[i] = numberOf(held[at + (laneColumn() + i) * stride + laneRow() / 8], laneRow() % 8);
        return m;
    }
    static HalfSums loadTransit(uint at, uint stride)
    {
        HalfSums m = HalfSums(0);
        for (uint i = 0; i < 8; i++) m.v[i] = numberOf(transit[at + laneRow() * stride + laneColumn() / 8], i);
        return m;
    }
    static HalfSums loadMemory(half* from, uint at, uint stride)
    {
        HalfSums m = HalfSums(0);
        for (uint i = 0; i < 8; i++) m.v[i] = from[at + laneRow() * stride + laneColumn() + i];
        return m;
    }
    void storeTransit(uint at, uint stride)
    {
        for (uint i = 0; i < 4; i++) transit[at + laneRow() * stride + laneColumn() / 8][i] = uint(asuint16(v[2 * i])) | uint(asuint16(v[2 * i + 1])) << 16;
    }
}
typealias Input = HalfSums;
typealias Weights = HalfSums;
Sums multiply(Input a, Weights b, Sums c)
{
    const uint base = own_thread / 32 * 512, lane = own_thread % 32;
    GroupMemoryBarrierWithGroupSync();
    for (uint i = 0; i < 8; i++)
    {
        factors[base + lane * 8 + i] = a.v[i];
        factors[base + 256 + lane * 8 + i] = b.v[i];
    }
    GroupMemoryBarrierWithGroupSync();
    for (uint i = 0; i < 8; i++)
        for (uint k = 0; k < 16; k++)
            c.v[i] += float(factors[base + laneRow() * 16 + k]) * float(factors[base + 256 + k * 16 + laneColumn() + i]);
    return c;
}
"""


def emulated_text(direct):
    """mlp_cooperative.slang with MATRICES. The subgroups of a group go through the kernel together, since barriers of a subgroup become those of the group."""
    with open(os.path.join(TOP, "src/slang/mlp_cooperative.slang")) as file:
        text = file.read()
    text = "".join(line for line in text.splitlines(True) if not line.startswith(("typealias", "using namespace", "module ")))
    changes = [(r"Load<CoopMatMatrixLayout\.RowMajor>\(x, ", "loadMemory(x, "), (r"Load<CoopMatMatrixLayout\.RowMajor>\(transit, ", "loadTransit("),
               (r"Load<CoopMatMatrixLayout\.RowMajor>\(held, ", "loadHeld(0, "), (r"Load<CoopMatMatrixLayout\.ColumnMajor>\(held, ", "loadHeld(1, "),
               (r"Store<CoopMatMatrixLayout\.RowMajor>\(transit, ", "storeTransit("), (r"\.convertUse<CoopMatMatrixUse\.MatrixA>\(\)", ""),
               (r"coopMatMulAdd<float, false>", "multiply"), ("BarrierWithWaveSync", "BarrierWithGroupSync"), (r"if \(mlp_layered == 0 && tile >= tiles\)", "if (false)"),
               (r"row \+ ROWS <= rows", "%s" % str(direct).lower()), ("extern static const", "static const"), (r"\[ForceUnroll\] ", ""),
               ("const uint thread = at.x", "own_thread = at.x;\n    const uint thread = at.x")]
    for pattern, by in changes:
        text, count = re.subn(pattern, by, text)
        assert count, pattern
    at = text.index("uint layerStart")
    return text[:at] + MATRICES + text[at:]


@pytest.mark.parametrize("conversion", (0, 1))
@pytest.mark.parametrize("case", COOPERATIVE)
def test_cooperative_numbers(device, case, conversion):
    """The forward pass of the kernel's own text against float64, with matrices in plain arrays; nothing beyond the end. (Feature N3.)"""
    from slangpy import mlp_batch
    if device.info.type != spy.DeviceType.vulkan:
        pytest.skip("the engine is for Vulkan")
    width, depth, inputs, outputs, dtype, activation, bias, layered = case
    if not device.has_feature("software_device") and mlp_batch._cooperative_bytes(inputs, width, depth, bias, layered) + 8192 > device.info.limits.max_groupshared_bytes:
        pytest.skip("MATRICES need more groupshared memory than the device has")
    direct, rows = (True, 512) if inputs % 16 == 0 and dtype == "half" else (False, 301)
    constants = dict(mlp_width=width, mlp_depth=depth, mlp_inputs=inputs, mlp_outputs=outputs, mlp_bias=int(bias), mlp_layered=int(layered), mlp_conversion=conversion,
                     mlp_float=int(dtype == "float"), mlp_activation=mlp_batch.ACTIVATIONS.index(activation))
    text = emulated_text(direct)
    for name, value in constants.items():
        text, count = re.subn(r"(static const int %s = )\d+" % name, r"\g<1>%d" % value, text)
        assert count == 1, name
    entries = mlp_batch._COOPERATIVE % (dtype, dtype)
    entries = "".join(line for line in entries.splitlines(True) if not line.startswith(("import", "[require")))
    module = spy.Module.load_from_source(device, "emulated", text + entries)
    sizes, r = [inputs] + [width] * depth + [outputs], np.random.default_rng(7)
    io = np.float16 if dtype == "half" else np.float32
    h = r.standard_normal((rows, inputs)).astype(np.float16)
    x, flat = h.astype(io), []
    for layer, (ins, outs) in enumerate(zip(sizes, sizes[1:])):
        w, b = (r.standard_normal((ins, outs)) * (2 / ins) ** 0.5).astype(np.float32), (r.standard_normal(outs) * 0.3 * bias).astype(np.float32)
        flat += [w.ravel(), b[:outs * bias]]
        v = h.astype(np.float64) @ w.astype(np.float16).astype(np.float64) + b
        if layer < depth:
            h = {"none": v, "relu": np.maximum(v, 0), "leaky_relu": np.where(v > 0, v, 0.01 * v), "sigmoid": 1 / (1 + np.exp(-v)), "tanh": np.tanh(v)}[activation].astype(np.float16)
    image = spy.Tensor.zeros(device, (sum(mlp_batch._cooperative_pieces(inputs, width, depth, bias)[:2]),), "uint4")
    module.find_function("mlp_pack").dispatch([-(-image.shape[0] // 256) * 256, 1, 1], parameters=spy.Tensor.from_numpy(device, np.concatenate(flat)), image=image)
    given, y = spy.Tensor.empty(device, x.shape, dtype), spy.Tensor.empty(device, (rows + 3, outputs), dtype)
    given.copy_from_numpy(x)
    y.copy_from_numpy(np.full((rows + 3, outputs), 77, io))
    module.find_function("mlp_forward").dispatch([256, 1, 1], image=image, x=given, y=y, rows=rows, groups=1)
    got = y.to_numpy().astype(np.float64)
    assert np.linalg.norm(got[:rows] - v) <= 5e-4 * np.linalg.norm(v)
    assert (got[rows:] == 77).all()


def test_cooperative_absent(device, monkeypatch):
    """A device without cooperative matrices says so, and a call of the network takes the plain path; what the engine cannot run says why."""
    from slangpy import mlp
    from slangpy.mlp_batch import BatchNetwork
    if device.info.type != spy.DeviceType.vulkan:
        assert not device.has_feature("cooperative_matrix")
    elif device.has_feature("cooperative_matrix"):
        assert BatchNetwork(device, 32, 3).engines == {False: "cooperative"}
    else:
        with pytest.raises(ValueError, match=r"cooperative: cooperative matrices of 16 x 16 halves with float sums are needed \(Feature.cooperative_matrix\), the vulkan device '.*' has none"):
            BatchNetwork(device, 32, 3)
        net = mlp.Network(device, 32, 3, 32, 1, "ReLU", dtype="mixed")
        module = spy.Module.load_from_source(device, "absent", "import mlp; float[3] run(%s net, float x[32]) { return net.run(x); }" % net.slang_type)
        x, p = np.random.default_rng(1).standard_normal((9, 32)).astype(np.float32), net.parameters.to_numpy().astype(np.float64)
        wanted = np.maximum(x @ p[:1024].reshape(32, 32), 0) @ p[1024:].reshape(32, 3)
        np.testing.assert_allclose(module.run(net, spy.Tensor.from_numpy(device, x)).to_numpy().reshape(9, 3), wanted, atol=1e-5)
    with spy.create_device(spy.DeviceType.vulkan, record_pack=True, offline=True) as other:
        for words, given, more in (("its width is 129; 1 to 128", (32, 3, 129), {}), ("its number of inputs is 129", (129, 3), {}), ("its number of outputs is 17", (32, 17), {}),
                                   ("its depth is 9", (32, 3, 64, 9), {}), ("its activation is 'sine'", (32, 3), dict(activation="sine")),
                                   ("its number of inputs is 0", (0, 3), {})):
            with pytest.raises(ValueError, match="cooperative: " + words):
                BatchNetwork(other, *given, **more)
        info = other._info()
        for words, change in (("its forward pass needs 47616 bytes of groupshared memory, the device has 32768", dict(max_groupshared_bytes=32768)),
                              ("32 lanes of a wave and 256 threads of a group are needed, the device has 64 and 1024", dict(subgroup_size=64))):
            monkeypatch.setattr(type(other), "_info", lambda self, change=change: dict(info, **change))
            with pytest.raises(ValueError, match="cooperative: " + words):
                BatchNetwork(other, 128, 3, 128, 8, bias=True)


def test_shared_bytes(fake, device):  # noqa: F811
    """Function.shared_bytes reaches the launch; more than the device has is an error. (Feature Z4.)"""
    f = spy.Module.load_from_source(device, "shared_bytes", "float twice(float x) { return 2 * x; }").twice
    for bad, error in (("many", TypeError), (1.5, TypeError), (-1, ValueError), (1 << 32, ValueError)):
        with pytest.raises(error, match="shared_bytes: expected"):
            f.shared_bytes(bad)
    assert f.shared_bytes(0)(np.float32(3)) == 6
    if device.info.type != spy.DeviceType.cuda:
        assert device.info.limits.max_shared_bytes == 0
        with pytest.raises(spy.Error, match="twice: its options: shared_bytes: expected at most 0, got 64"):
            f.shared_bytes(64)(np.float32(3))
    fake("""
d = spy.create_device(spy.DeviceType.cuda)
assert d.info.limits.max_shared_bytes == 232448 and d.info.limits.multiprocessor_count == 132
f = module_of(d).find_function("k")
b = spy.Tensor.zeros(d, (32,), "float")
for size in (0, 1000, 200000):
    f.shared_bytes(size).dispatch([32, 1, 1], b=b)
    d.wait_for_idle()
    assert state.shared == size
raises(spy.Error, "shared_bytes: expected at most 232448, got 232449", f.shared_bytes(232449).dispatch, [32, 1, 1], b=b)
""")


@pytest.mark.parametrize("network", NETWORKS)
def test_wgmma_is_not_serialised(network):
    """ptxas reports C7512 or C7515 if it serialises the wgmma instructions of a kernel, which costs half of its speed."""
    from slangpy import mlp_batch
    path = os.environ.get("SLANGPY_NVRTC_LIBRARY") or os.path.join(TOP, "build/nvrtc/libnvrtc.so.13")
    if not os.path.exists(path):
        pytest.skip("no NVRTC")
    nvrtc = ctypes.CDLL(path)
    with open(os.path.join(TOP, "src/slang/mlp_batch_engine.slang")) as file:
        text = file.read()
    start = text.index('R"(') + 3
    text = text[start:text.index(')");', start)]
    width, depth, inputs, outputs, activation, flags = network
    shape = width | depth << 8 | inputs << 12 | outputs << 20

    def options(warps, kernel):
        return activation | flags << 6 | 1 << 11 | warps << 12 | kernel << 18
    training = mlp_batch._SHAPES["wgmma", width][1]
    forward = mlp_batch._forward_warps("wgmma", width, inputs, "float" if flags & 4 else "half")
    text += """
extern "C" __global__ void __launch_bounds__(%d) f(const void *i, const void *x, void *y, int rows) { spy_mlp::forward<%d, %d>(i, x, y, rows); }
extern "C" __global__ void __launch_bounds__(%d) h(const float *p, const void *x, void *y, int rows) { spy_mlp::forward_from<%d, %d>(p, x, y, rows); }
""" % (forward * 32, shape, options(forward, 0), forward * 32, shape, options(forward, 0))
    if training:
        text += """
extern "C" __global__ void __launch_bounds__(%d) g(const void *i, const void *x, const void *t, float *part, float *dx, int rows, float up, float s) {
    spy_mlp::gradient<%d, %d>(i, x, t, part, dx, rows, up, s);
}
""" % (training * 32, shape, options(training, 1))
    if width == 128:
        text += """
extern "C" __global__ void __launch_bounds__(256) r(const void *i, const void *x, const void *b, float *part, float *dx, int rows, float s) {
    spy_mlp::rest<%d, %d>(i, x, b, part, dx, rows, s);
}
""" % (shape, options(training, 4))
    program, size = ctypes.c_void_p(), ctypes.c_size_t()
    words = [b"-arch=sm_90a", b"-default-device", b"-w", b"-minimal"]
    assert nvrtc.nvrtcCreateProgram(ctypes.byref(program), text.encode(), b"network", 0, None, None) == 0
    result = nvrtc.nvrtcCompileProgram(program, len(words), (ctypes.c_char_p * len(words))(*words))
    nvrtc.nvrtcGetProgramLogSize(program, ctypes.byref(size))
    log = ctypes.create_string_buffer(size.value)
    nvrtc.nvrtcGetProgramLog(program, log)
    assert result == 0 and b"serialized" not in log.value, log.value.decode()

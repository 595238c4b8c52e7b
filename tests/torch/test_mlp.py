"""slangpy.mlp.torch_module(): a network as a torch.nn.Module. Needs torch: `make test-torch` gets it. References are torch's own layers."""
import pytest
import torch

import slangpy as spy
from slangpy import mlp


@pytest.fixture(scope="module")
def device():
    made = spy.create_torch_device() if torch.cuda.is_available() else spy.create_device(spy.DeviceType.vulkan)
    yield made
    made.close()


def test_module(device):
    """Values and gradients are those of torch's layers with the same numbers, and torch's optimiser trains it."""
    if not torch.cuda.is_available():
        pytest.skip("a network's parameters are memory of a GPU; torch on the CPU has none")
    kind = "cuda"
    net = mlp.Network(device, 3, 2, 8, 1, "Tanh", bias=True, seed=1)
    module = mlp.torch_module(net).to(kind)
    assert [name for name, _ in module.named_parameters()] == ["parameters_"]
    layers = torch.nn.Sequential(torch.nn.Linear(3, 8), torch.nn.Tanh(), torch.nn.Linear(8, 2)).to(kind)
    with torch.no_grad():
        for k in 0, 1:
            layers[2 * k].weight.copy_(torch.from_numpy(net.views()[f"layers.{k}.weight"].to_numpy()).T)
            layers[2 * k].bias.copy_(torch.from_numpy(net.views()[f"layers.{k}.bias"].to_numpy()))
    x = torch.randn(20, 3, device=kind, requires_grad=True)
    same = x.detach().clone().requires_grad_()
    y, expected = module(x), layers(same)
    assert torch.allclose(y, expected, atol=1e-5)
    y.square().sum().backward()
    expected.square().sum().backward()
    assert torch.allclose(x.grad, same.grad, atol=1e-4)
    gradients = torch.cat([p for k in (0, 2) for p in (layers[k].weight.grad.T.ravel(), layers[k].bias.grad)])
    assert torch.allclose(module.parameters_.grad, gradients, atol=1e-4)
    adam = torch.optim.Adam(module.parameters(), lr=0.02)
    for _ in range(100):
        adam.zero_grad()
        loss = (module(x.detach()) - 0.5).square().mean()
        loss.backward()
        adam.step()
    assert loss.item() < 0.02

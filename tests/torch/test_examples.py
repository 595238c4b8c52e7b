"""The examples that need torch, as their users run them."""
import os
import subprocess
import sys

import pytest
import torch

FOLDER = os.path.join(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))), "examples")


def run(name, *words):
    done = subprocess.run([sys.executable, "-W", "ignore", "main.py", *words], cwd=os.path.join(FOLDER, name), capture_output=True, text=True,
                          timeout=300, env=dict(os.environ, PYTHONPATH=os.path.join(os.path.dirname(FOLDER), "python")))
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_training(tmp_path):
    """The loss falls, and the file has one line a step."""
    assert "times smaller" in run("16_torch_training", str(tmp_path / "losses.txt"))
    losses = [float(line) for line in (tmp_path / "losses.txt").read_text().split()]
    assert len(losses) == 150 and losses[-1] < losses[0] / 10


@pytest.mark.skipif(not torch.cuda.is_available(), reason="kernels over TensorView need CUDA")
def test_a_program_of_slang_torch():
    assert "the triangle is in its place" in run("17_from_slang_torch")


def test_two_processes_have_the_loss_of_one():
    """The example itself compares, to 1e-6."""
    assert "2 processes" in run("18_ddp")

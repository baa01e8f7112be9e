"""Writes of NumPy into memory that backward needs are noticed on our engine, and nothing that is none of them."""

from __future__ import annotations

import gc
import weakref
from pathlib import Path

import numpy as np
import pytest
from bug_programs import record

import retrograd as torch
from retrograd.inspect.diagnosis import diagnose

HEAD = """import numpy as np
import torch
torch.manual_seed(0)
buffer = np.ones((8, 4), dtype=np.float32)
x = torch.from_numpy(buffer)
w = torch.randn(4, 6, requires_grad=True)
opt = torch.optim.SGD([w], lr=0.1)
"""

BUGGY = {
    "of an input": ("loss = (x @ w).sum()\nbuffer[0] = 7\nloss.backward()\n", 9),
    "of an output": ("h = (x @ w).tanh()\na = h.detach().numpy()\na.sort(axis=1)\nh.sum().backward()\n", 10),
    "through an alias": ("h = (x @ w).exp()\na = h.data.numpy()\nnp.copyto(a, 0)\nh.sum().backward()\n", 10),
    "of the second step": (
        "total = 0\nfor step in range(2):\n    buffer[...] = step\n    total += (x @ w).sum()\ntotal.backward()\n",
        10,
    ),
    "of a part": ("h = (x @ w).tanh()\na = h[2].detach().numpy()\na[1] = 5\nh.sum().backward()\n", 10),
}
HEALTHY = {
    "a buffer filled for each step": (
        "for step in range(3):\n    buffer[...] = np.random.randn(8, 4)\n    loss = (x @ w).tanh().sum()\n"
        "    opt.zero_grad()\n    loss.backward()\n    opt.step()\n"
    ),
    "arrays that are only read": (
        "kept = []\nfor step in range(3):\n    h = (x @ w).tanh()\n    kept.append(h.detach().numpy())\n"
        "    opt.zero_grad()\n    h.sum().backward()\n    opt.step()\n    kept.append(w.data.numpy())\n"
        "    kept.append(w.grad.numpy())\n"
    ),
    "written after backward": (
        "for step in range(2):\n    h = (x @ w).tanh()\n    h.sum().backward()\n    h.detach().numpy()[...] = 0\n"
        "    opt.step()\n    w.grad = None\n"
    ),
    "written by the engine": (
        "a = w.data.numpy()\nfor step in range(3):\n    opt.zero_grad()\n    (x @ w).tanh().sum().backward()\n"
        "    opt.step()\n    w.data.clamp_(-1, 1)\n    with torch.no_grad():\n        w.mul_(0.9)\n"
    ),
    "another part of the memory": (
        "part = torch.from_numpy(buffer[:2])\nloss = (part @ w).sum()\nbuffer[4] = 3\nloss.backward()\n"
    ),
    "a copy": "h = (x @ w).tanh()\na = h.detach().numpy().copy()\na[...] = 0\nh.sum().backward()\n",
    "nothing in it": "e = torch.from_numpy(np.zeros((0, 4), np.float32))\n(e @ w).sum().backward()\n",
    "one number": "s = torch.from_numpy(np.array(2.0, np.float32))\n(s * w).sum().backward()\n",
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", BUGGY)
def test_write_is_found(name: str, tmp_path: Path) -> None:
    """The line that wrote is named, and whose values it changed."""
    text, line = BUGGY[name]
    found = diagnose(record(HEAD + text, tmp_path, engine="retrograd"))

    assert [(one.kind, one.line) for one in found] == [("silent-inplace", line)]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", HEALTHY)
def test_healthy_program_has_no_finding(name: str, tmp_path: Path) -> None:
    """Arrays may be shared, read, and written when nobody needs them."""
    recorded = record(HEAD + HEALTHY[name], tmp_path, engine="retrograd")

    assert not [event for event in recorded.events if event.kind in ("problem", "error")]
    assert [one.message for one in diagnose(recorded)] == []


def test_nothing_is_kept_alive() -> None:
    """Neither tensors nor arrays live longer because they are watched."""
    with torch.debug():
        array = np.ones(3, np.float32)
        x, w = torch.from_numpy(array), torch.ones(3, requires_grad=True)
        loss = (x * w).sum()
        references = [weakref.ref(one) for one in (array, x, loss.grad_fn)]
        del array, x, loss
        gc.collect()
        assert [reference() for reference in references] == [None] * 3

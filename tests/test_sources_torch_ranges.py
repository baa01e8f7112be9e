"""Range and sum of results that have the entries of an argument: as if they were read, whatever was written between."""

from __future__ import annotations

import math

import numpy as np
import pytest

from retrograd.inspect.process.recorder import recording
from retrograd.inspect.sources.torch_.values import ranges

torch = pytest.importorskip("torch")


def views(x):
    """Shapes of every sort, of plain and of turned memory."""
    for y in (x.view(-1), x.t(), x.t().contiguous(), x.unsqueeze(0).squeeze(0), x.reshape(2, 6), x.permute(1, 0)):
        (y.clone().flatten() * 2).sum()


def writes(x):
    """In place, through ``.data`` and ``detach``, and through views."""
    y = x * 1
    y.add_(5)
    y.view(-1)
    y.data.mul_(3)
    y.view(-1)
    y.detach()[0] = 100.0
    y.t()
    y[1].fill_(-7)
    y.reshape(-1)


def arrays(x):
    """Through NumPy, which nobody sees."""
    y = x * 2
    array = y.numpy()
    y.view(-1)
    array[0] = 1000
    y.view(-1)
    shared = np.ones((3, 4), np.float32)
    z = torch.from_numpy(shared)
    z.view(-1)
    shared[:] = 9
    z.view(-1)


def bad(x):
    """NaN and infinities are summarized wherever they are."""
    y = x / 0
    y.view(-1)
    (y * 0).t()


def read(program):
    """Range, sum and summaries of every call."""
    with recording(level="full") as recorded:
        program(torch.arange(12.0).view(3, 4))
    words = ("range", "checksum", "values", "flat_share")
    return [(event.op, [event.data.get(word) for word in words]) for event in recorded.events]


@pytest.mark.parametrize("program", [views, writes, arrays, bad])
def test_known_is_as_read(program, monkeypatch):
    """The same with every result read from memory."""
    found = read(program)
    monkeypatch.setattr(ranges.Ranges, "keep", lambda *_: None)

    assert repr(found) == repr(read(program))


def test_range_and_sum_of_every_kind():
    """Against PyTorch itself: sizes, dtypes and layouts, ordinary values and others."""
    torch.manual_seed(0)
    made = [
        *(torch.randn(size) for size in (1, 31, 33, 4096, 8192, 8193, 20_000)),
        *(torch.randn(50, 70).t(), torch.randn(10, 10)[2:], torch.randn(9, 8)[:, ::2], torch.randn(100).double()),
        *(torch.randn(64).bfloat16(), torch.full((40,), 1e30), torch.zeros(40), -torch.rand(50)),
    ]
    with recording(level="full") as recorded:
        results = [tensor * 1 for tensor in made]
    told = [event.data for event in recorded.events if event.op == "mul"]
    for data, result in zip(told, results, strict=True):
        wide = result.double()
        assert data["range"] == [[float(wide.min()), float(wide.max())]]
        scale = float(wide.abs().sum())
        assert math.isclose(data["checksum"][0], float(wide.sum()), rel_tol=1e-6, abs_tol=1e-6 * scale)


def test_expanded_results_are_read_once():
    """A program that expands a few entries to more than any memory holds goes on at once."""
    told = []
    for dtype in (torch.float32, torch.bfloat16, torch.float16):
        with recording(level="full") as recorded:
            torch.tensor([[2.0], [-3.0]], dtype=dtype).expand(2, 10**12)
        told += [event.data for event in recorded.events if event.op == "expand"]
    assert [data["range"] for data in told] == [[[-3.0, 2.0]]] * 3
    assert [data["checksum"] for data in told] == [[-(10.0**12)]] * 3

"""Sparse gradients in recordings: figures are those of their entries, and a NaN among them is seen (row V-11)."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from recorded_pair import of_kind, record

from retrograd.inspect.sources.sparse_entries import summed

PROGRAM = """import torch
w = torch.arange(8.0).reshape(4, 2).requires_grad_()
for step in range(2):
    rows = torch.nn.functional.embedding(torch.tensor([1, 3, 1]), w, sparse=True)
    (rows * torch.tensor([[1.0, 2.0], [FACTOR, 0.0], [4.0, 5.0]])).sum().backward()
"""
ENGINES = ["retrograd", "torch"]


@pytest.mark.parametrize("engine", ENGINES)
def test_figures_are_those_of_the_entries(engine: str) -> None:
    """V-11: entries of one place are added up first; ``.grad`` counts as kept when another gradient comes."""
    pytest.importorskip("torch")
    recorded, error = record(PROGRAM.replace("FACTOR", "3.0"), engine)
    assert error is None
    entries = np.array([5.0, 7.0, 3.0, 0.0])
    measures = recorded.graphs[0].measures
    row = list(recorded.graphs[0].op).index("AccumulateGrad")
    found: dict[str, Any] = {name: measures[name][row] for name in ("grad_norm", "grad_min", "grad_max", "zero_share")}
    assert found["grad_norm"] == pytest.approx(np.linalg.norm(entries))
    assert [found["grad_min"], found["grad_max"], found["zero_share"]] == [0.0, 7.0, 0.25]
    assert [event.data["before"] for event in of_kind(recorded, "accumulate")] == ["none", "kept"]


@pytest.mark.parametrize("engine", ENGINES)
def test_a_nan_among_the_entries(engine: str) -> None:
    """V-11: it is counted at the leaf that takes it."""
    pytest.importorskip("torch")
    recorded, _ = record(PROGRAM.replace("FACTOR", "float('nan')"), engine)
    row = list(recorded.graphs[0].op).index("AccumulateGrad")
    assert recorded.graphs[0].measures["nan_count"][row] == 1


def test_entries_added_up() -> None:
    """V-11: each place once; without counted dimensions all entries are of one place."""
    places, values = np.array([[2, 0, 2]]), np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    assert summed(places, values).tolist() == [[3.0, 4.0], [6.0, 8.0]]
    assert summed(np.zeros((0, 2), np.int64), np.array([1.0, 2.0])).tolist() == [3.0]
    assert not summed(np.zeros((1, 0), np.int64), np.zeros((0, 2))).size

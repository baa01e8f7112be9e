"""A small seeded part of ``operator_sweep.py``: random calls give on this engine what they give on PyTorch.

Held are results, dtypes, shapes, gradients and that what PyTorch takes is taken.  Listed by the sweep only: nodes of
composed functions, numbers that are not finite, and refusals of dtypes that only PyTorch's kernels lack.
"""

from __future__ import annotations

import pytest
from operator_sweep import calls, differences, spelled

torch = pytest.importorskip("torch")

HELD = ("result", "count", "kind", "value", "gradient", "we refuse")
NOT_HELD = ("edge_values", "one_too_many", "[edges")
BY_ROUNDING = "is singular"


@pytest.mark.parametrize("seed", [0, 2])
def test_random_calls_agree(seed: int) -> None:
    """300 calls of one seed."""
    found = [
        f"{call}: {line}"
        for sample, form in calls(seed, 300)
        if not any(word in (call := spelled(sample, form)) for word in NOT_HELD)
        for line in differences(torch, sample, form)
        if line.startswith(HELD) and BY_ROUNDING not in line
    ]
    assert found == []

"""Random custom Functions behave alike on both engines (SPEC rows F-04 to F-45 in combination)."""

from __future__ import annotations

import pytest
import random_functions

import retrograd

BLOCK = 50


@pytest.mark.parametrize("start", range(0, 600, BLOCK))
def test_random_functions(start: int) -> None:
    """Results, places in the graph, versions, errors, what backward sees and gradients agree for every seed."""
    torch = pytest.importorskip("torch")
    torch.set_warn_always(True)
    try:
        for seed in range(start, start + BLOCK):
            wanted, found = random_functions.run(torch, seed), random_functions.run(retrograd, seed)
            assert found == wanted, f"seed {seed}: {vars(random_functions.Plan(seed))}"
    finally:
        torch.set_warn_always(False)

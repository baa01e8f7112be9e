"""Losses at the edges of their arguments: weights of 0, margins that overflow; held against PyTorch."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from op_runs import quiet

import retrograd

real_torch = pytest.importorskip("torch")


@pytest.mark.parametrize("targets", [[2, 2], [2, -100], [0, 1], [0, 2], [-100, -100], []], ids=str)
@pytest.mark.parametrize("weights", [[0.5, 2.0, 0.0], [1.0, -1.0, 0.0], None], ids=str)
@pytest.mark.parametrize("slope", [1.0, -1.0, 0.0])
def test_means_over_weights_that_sum_to_zero(targets: list[int], weights: list[float] | None, slope: float) -> None:
    """A mean over nothing is NaN, and so are the gradients of rows that count; ignored rows have none."""
    found = []
    for torch in (retrograd, real_torch):
        x = torch.zeros(len(targets), 3, requires_grad=True)
        weight = None if weights is None else torch.tensor(weights)
        loss = torch.nn.functional.cross_entropy(x, torch.tensor(targets, dtype=torch.int64), weight)
        loss.backward(torch.tensor(slope))
        found.append((loss.item(), x.grad.tolist()))
    np.testing.assert_allclose(found[0][0], found[1][0], rtol=1e-6)
    np.testing.assert_allclose(found[0][1], found[1][1], rtol=1e-6)


@pytest.mark.parametrize("values", [[88.9, -104.0, 0.0, 1.0], [1.0, 2.0, -3.0, 0.001], [np.nan, np.inf, -np.inf, 0.0]])
def test_margins_that_overflow(values: list[float]) -> None:
    """``exp`` of a large wrong margin is infinite, and the gradient NaN; two derivatives."""

    def run(torch: Any) -> list[Any]:
        x = torch.tensor(values, requires_grad=True)
        loss = torch.nn.functional.soft_margin_loss(x, torch.tensor([1.0, 1.0, -1.0, 1.0]))
        (slope,) = torch.autograd.grad(loss, x, create_graph=True)
        (second,) = torch.autograd.grad(slope[2] + slope[3], x)
        return [loss.item(), slope.tolist(), second.tolist()]

    for ours, theirs in zip(run(retrograd), run(real_torch), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=1e-30)


def test_a_variance_may_be_a_number_beside_whole_numbers() -> None:
    values = [
        t.nn.functional.gaussian_nll_loss(t.tensor([1, 2, 3]), t.tensor([2, 2, 5]), 2.0).item()
        for t in (retrograd, real_torch)
    ]
    assert values[0] == pytest.approx(values[1])


@pytest.mark.parametrize("name", ["mse_loss", "smooth_l1_loss", "huber_loss"])
@pytest.mark.parametrize("reduction", ["none", "sum", "mean"])
def test_tangents_of_losses_of_nothing(name: str, reduction: str) -> None:
    """Forward mode reduces tangents as the loss is reduced: the mean of none is NaN, and one tangent may be missing."""
    found = []
    for torch in (retrograd, real_torch):
        loss, forward = getattr(torch.nn.functional, name), torch.autograd.forward_ad
        for n in (0, 3):
            x, y = torch.arange(n).double(), torch.ones(n).double() * 0.5
            for away, target in [(x.cos(), None), (None, y.cos()), (x.cos(), x.sin())]:
                with quiet(), forward.dual_level():
                    first = x if away is None else forward.make_dual(x, away)
                    second = y if target is None else forward.make_dual(y, target)
                    out = loss(first, second, reduction=reduction)
                    found.append(forward.unpack_dual(out).tangent.numpy())
    for mine, other in zip(found[:6], found[6:], strict=True):
        np.testing.assert_allclose(mine, other, rtol=1e-12)
